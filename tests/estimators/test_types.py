"""The types of parameters that are words name exactly the words that are accepted."""

import inspect
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import pytest
from sklearn.utils._param_validation import StrOptions

import linsep
from linsep.data.errors import POLICIES, OnError
from linsep.data.registry import FORMATS, FormatName
from linsep.estimators.base.online import OnlineLearner, Shared
from linsep.transforms import Scale, ScaleColumns, Standardize

CLASSES = {
    entry.learner.__name__: entry.learner for entry in linsep.LEARNERS.values()
} | {
    kind.__name__: kind
    for kind in (
        linsep.CalibratedClassifier, linsep.LeastSquaresRegression, linsep.OnlineClassifier,
        linsep.PassiveAggressiveRegressor, Scale, ScaleColumns, Standardize,
    )
}  # fmt: skip


def words(hint):
    """Return the words of the literals in a type, or None if it has none, and whether any text is accepted."""
    if hint is str:
        return {"any text"}
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return set().union(*map(words, get_args(hint)))
    return set()


def hints_of(kind):
    shared = get_type_hints(Shared) if issubclass(kind, OnlineLearner) else {}
    return shared | get_type_hints(kind.__init__)


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_words_are_literals(kind):
    hints, checked = hints_of(kind), 0
    for name, constraints in kind._parameter_constraints.items():
        accepted = set().union(*(c.options for c in constraints if isinstance(c, StrOptions)))
        if accepted and name in inspect.signature(kind).parameters and name != "priors":
            assert words(hints[name]) == accepted, name
            checked += 1
    assert checked or not any(isinstance(c, StrOptions) for cs in kind._parameter_constraints.values() for c in cs)


def test_formats_and_policies_are_literals():
    assert set(get_args(FormatName)) == set(FORMATS)
    assert set(get_args(OnError)) == set(POLICIES)
    for function in (linsep.read, linsep.stream, linsep.convert):
        hints = get_type_hints(function)
        assert words(hints["format"]) == set(FORMATS)
        assert words(hints["on_error"]) == set(POLICIES)
