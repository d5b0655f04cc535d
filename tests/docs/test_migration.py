"""The tables of scikit-learn's migration page have every parameter of both sides, and none that is not there."""

import inspect
import re

import pytest
from sklearn import calibration, linear_model, naive_bayes

import linsep
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "migration" / "sklearn.md").read_text(encoding="utf-8")
SECTIONS = {
    (title, to): body
    for title, to, body in re.findall(r"^### (\w+) to (\w+)\n(.*?)(?=^##|\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
}


def parameters(kind):
    return (
        set(kind().get_params())
        if kind is not linsep.CalibratedClassifier
        else set(kind(linsep.Perceptron()).get_params(deep=False))
    )


def named(cell):
    """Return the bare names in a cell: `C`, not `"hinge"` or `C=1`."""
    return re.findall(r"`(\w+)`", cell)


def table(body):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
    return rows[2:]


@pytest.mark.parametrize(("theirs", "ours"), SECTIONS, ids=lambda name: name)
def test_tables_have_every_parameter(theirs, ours):
    home = next(module for module in (linear_model, naive_bayes, calibration) if hasattr(module, theirs))
    there = set(inspect.signature(getattr(home, theirs)).parameters)
    here = parameters(getattr(linsep, ours))
    rows = table(SECTIONS[theirs, ours])
    listed = [name for left, _, _ in rows for name in named(left)]
    assert sorted(listed) == sorted(there)
    for left, right, _ in rows:
        names = named(left) if right == "same" else named(right)
        assert set(names) <= here, (left, right)
        assert names or right == "none"
        if right == "none":
            assert not set(named(left)) & here, left


def test_all_classes_have_a_table():
    assert {theirs for theirs, _ in SECTIONS} == {
        "Perceptron", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor", "SGDClassifier",
        "LogisticRegression", "MultinomialNB", "CalibratedClassifierCV",
    }  # fmt: skip
