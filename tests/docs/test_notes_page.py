"""docs/explanation/notes.md names code, figures, claims and tests that exist, and has every figure of the notes."""

import re
import warnings
from importlib import import_module

import numpy as np
import pytest

from linsep import BalancedWinnow, PassiveAggressive, Perceptron, certify, plots
from linsep.plots import notes
from linsep.plots.notes.catalogue import FIGURES, NOTES
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "notes.md").read_text(encoding="utf-8")
ROWS = [
    [re.findall("`(.*?)`", cell) for cell in line[1:-1].split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| section")
]


def column(number):
    return sorted({name for row in ROWS for name in row[number]})


@pytest.fixture(scope="module")
def claims():
    X, y = np.array([[0, 1], [1, 0], [2, 1], [1, 2]]) / 2, [0, 1, 1, 0]
    found = [certify(X, y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learners = (kind(max_iter=1, shuffle=False) for kind in (Perceptron, BalancedWinnow, PassiveAggressive))
        found += [learner.fit(X, y).certificate(X, y) for learner in learners]
    return {name.partition(": ")[2] for cert in found for name in cert.claims} | set(found[1].facts)


def test_every_note_has_a_section():
    assert re.findall(r"^## Note (\d+): (.*)$", PAGE, flags=re.MULTILINE) == list(NOTES.items())
    assert all(len(row) == 5 for row in ROWS)


@pytest.mark.parametrize("name", column(1))
def test_the_code_exists(name):
    module, _, last = name.rpartition(".")
    assert hasattr(import_module(module), last)


def test_the_figures_exist_and_none_is_left_out():
    named = column(2)
    assert {name.removeprefix("notes.") for name in named if name.startswith("notes.")} == set(FIGURES)
    for name in named:
        module, last = name.split(".")
        assert last in {"notes": notes, "plots": plots}[module].__all__


def test_the_claims_are_made(claims):
    assert set(column(3)) <= claims


@pytest.mark.parametrize("name", column(4))
def test_the_test_exists(name):
    path, _, function = name.partition("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")
