"""The references of the vote agree with each other, with those of the plain perceptron, and with sums made by hand."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from linsep import rules
from tests import references
from tests import voted_references as ref
from tests.problems import epochs, float_rows, integer_rows


def test_the_ten_rows_of_the_lecture():
    state = ref.voted(ref.TEN, ref.TEN_SIGNS, range(10))
    assert state.mistakes == [(1, 0), (4, 3), (8, 7), (10, 9)]
    assert state.v.tolist() == [[0, 0], [1, 0], [0, 3], [-3, 2], [-2, 3]]
    assert state.c.tolist() == [1, 3, 4, 2, 0]
    x = np.array([[1.0], [1.0]])
    assert ref.margins(state, x)[:, 0].tolist() == [0, 1, 3, -1, 1]
    assert ref.answers([state], x, "vote") == [(-1 + 3 + 4 - 2) / 10]
    assert ref.answers([state], x, "average") == [(3 * 1 + 4 * 3 - 2) / 10]
    assert ref.answers([state], x, "average", normalize=True) == pytest.approx((3 + 4 - 2 / np.sqrt(13)) / 10)
    assert ref.answers([state], x, "last") == [1]
    assert ref.answers([state], x, "last", normalize=True) == pytest.approx(1 / np.sqrt(13))
    assert ref.answers([state], x, "longest") == [3]
    assert ref.plurality([state], x).tolist() == [[0.3, 0.7]]
    assert ref.drawable([state], x)[0].ravel().tolist() == [0, 1, 1, 1, 3, 3, 3, 3, -1, -1]


@given(problem=integer_rows(), beta=st.sampled_from([0.0, 1.0]), seed=st.integers(0, 99))
def test_two_classes_are_a_plain_run_kept_whole(problem, beta, seed):
    X, y = problem
    order, c = epochs(seed, len(X), 2), np.arange(len(X)) % 3
    plain = references.online(references.perceptron, X, y, order, beta, c)
    state = ref.voted(ref.with_bias(X, beta), y, order, c)
    assert state.mistakes == plain.mistakes == state.updates
    assert np.array_equal(state.v[state.used], plain.before)
    assert state.c.sum() == sum(plain.counts)
    np.testing.assert_allclose(ref.average(state.c, state.v), plain.average(), rtol=1e-14)


@given(problem=integer_rows(classes=3))
def test_pairs_are_a_plain_run_kept_whole(problem):
    X, codes = problem
    order = epochs(0, len(X), 2)
    plain = references.pair(references.perceptron, X, codes, order, 0.0)
    state = ref.voted_pairs(X, codes, order)
    assert state.mistakes == plain.mistakes
    assert np.array_equal(state.v[state.used], plain.before)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [False, True])
@given(problem=integer_rows(classes=3))
def test_dual_weights_are_the_same_hypotheses(pair, problem):
    X, codes = problem
    order, rule = epochs(1, len(X), 2), rules.Perceptron()
    primal = ref.trained(ref.voted_pairs if pair else ref.voted, X, codes, order, pair=pair)
    of_kernel = ref.trained(ref.dual_pairs if pair else ref.dual, X @ X.T, codes, order, rule, pair=pair)
    for a, b in zip(primal, of_kernel, strict=True):
        assert a.mistakes == b.mistakes
        assert np.array_equal(a.v, b.v @ X)
        np.testing.assert_allclose(ref.norms(a), ref.norms(b, X @ X.T), rtol=1e-12)


RULES = {
    "PA": (rules.PassiveAggressive(), references.passive_aggressive()),
    "PA-I": (rules.PassiveAggressiveI(0.1), references.passive_aggressive(0.1)),
    "PA-II": (rules.PassiveAggressiveII(0.1), references.passive_aggressive(0.1, squared=True)),
    "logistic": (rules.Logistic(0.3, 0.5, 0.1), references.logistic(0.3, 0.5, 10, 1.0)),
    "ROMMA": (rules.Romma(), references.romma()),
}


@pytest.mark.parametrize("name", RULES)
@given(problem=float_rows())
def test_dual_weights_of_other_rules_are_plain_runs(name, problem):
    X, y = problem
    rule, plain = RULES[name]
    order = epochs(1, len(X), 2)
    run, state = references.online(plain, X, y, order), ref.dual(X @ X.T, y, order, rule)
    sure = min(run.tie, len(order))
    assert [t for t, _ in state.mistakes if t <= sure] == [t for t, _ in run.mistakes if t <= sure]
    if run.tie == np.inf:
        np.testing.assert_allclose(state.v[-1] @ X, run.w, rtol=0, atol=1e-7 * (1 + np.abs(run.w).max()))
