"""Names of problems and bounds are read as they are written, and every theorem is known to all who need it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep.certificates import checker, mixed_checker, replay, schema, theorems
from linsep.certificates.schema import FormError, MistakeBound, ProblemKey, check_form

biases = st.floats(0, 1e308, allow_subnormal=True)
awkward = st.sampled_from(
    ["", "pairs", "a, b", "x, bias 1", "class x", "no bias", "best bias, 3", "a: b", "two\nlines"]
)
keys = st.one_of(
    st.builds(ProblemKey, biases, st.sampled_from(["binary", "pairs"])),
    st.builds(ProblemKey, biases, st.just("best bias")),
    st.builds(ProblemKey, biases, st.just("class"), st.one_of(awkward, st.text())),
)


@pytest.mark.slow
@given(keys)
def test_names_of_problems_are_read_as_they_are_written(key):
    assert ProblemKey.parse(str(key)) == key


@given(st.lists(keys, unique=True, max_size=9))
def test_different_problems_have_different_names(known):
    assert len({str(key) for key in known}) == len(known)


@pytest.mark.parametrize(
    "name", ["", "bias", "bias x", "bias -1", "pairs", "pairs,bias 1", "class a", "best bias", "x"]
)
def test_other_names_are_refused(name):
    with pytest.raises(FormError, match="is not the name of a problem"):
        ProblemKey.parse(name)


@given(
    st.builds(MistakeBound, st.sampled_from(["perceptron", "Winnow", "balanced Winnow"]), st.none() | st.integers(1))
)
def test_names_of_bounds_are_read_as_they_are_written(bound):
    assert MistakeBound.parse(str(bound)) == bound


@pytest.mark.parametrize(
    "claim", ["mistakes at most", "perceptron's margin at most", "mistakes at most, by the regret"]
)
def test_other_claims_are_no_bounds_of_a_learner(claim):
    assert MistakeBound.parse(claim) is None


def test_every_theorem_has_a_form_a_checker_and_words():
    assert set(schema.THEOREMS) == set(theorems.THEOREMS) == set(checker.CHECKED_THEOREMS)
    for name, theorem in theorems.THEOREMS.items():
        parameters = {field for field in theorem.__dataclass_fields__ if field not in ("name", "unit_steps")}
        assert parameters <= set(schema.THEOREMS[name])
        assert ("steps" in schema.THEOREMS[name]) == (name == "passive_aggressive")
        assert theorem.unit_steps == (name not in replay.STEPPED)
        assert all(callable(getattr(kind, name)) for kind in (checker.SignedProblem, mixed_checker.MixedProblem))


def test_a_field_that_is_missing_is_named():
    facts = {"format": "linsep certificate", "version": 1, "problems": {}, "runs": {}, "claims": {}, "risk": {}}
    with pytest.raises(FormError, match="its rows are no number"):
        check_form(facts | {"data": {"classes": ["a"], "remarks": [], "features": 1}})
