"""Platt's sigmoid: the minimum that other solvers find, at any size of scores, by weights that are repetitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration

from linsep.solvers.calibration import fit_platt


def targets(positive, weights):
    """What Lin, Lin and Weng put in the place of labels."""
    yes, no = weights[positive].sum(), weights[~positive].sum()
    return np.where(positive, (yes + 1) / (yes + 2), 1 / (no + 2))


def loss(point, scores, positive):
    """Their loss, as they write it."""
    t, z = targets(positive, np.ones(len(scores))), point[0] * scores + point[1]
    return np.sum(t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z))


@st.composite
def problems(draw, max_rows=40):
    """Scores with ties, noise and outliers; members that they tell of, or not.

    Scores are multiples of a power of two, so that sums are exact: scikit-learn takes scores that differ by rounding
    alone for one, and linsep does not.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, max_rows))
    unit = 2.0 ** -draw(st.integers(0, 10))
    scores = (rng.normal(size=n) / unit).round() * unit + draw(st.sampled_from([0.0, 5.0]))
    scores[0] += draw(st.sampled_from([1.0, 100.0]))
    slope = draw(st.sampled_from([-2.0, 0.0, 1.0, 1e9]))
    return scores, rng.random(n) < expit(slope * (scores - np.median(scores)))


@given(problem=problems())
def test_it_is_the_minimum_that_scipy_finds(problem):
    scores, positive = problem
    found = fit_platt(scores, positive)
    other = minimize(loss, [0.0, 0.0], problem, "Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
    mine = loss([found.slope, found.offset], scores, positive)
    assert mine <= other.fun + 1e-9
    assert found.converged
    assert found.gap <= 1e-10


@settings(max_examples=12)
@given(problem=problems(), weigh=st.booleans())
def test_scikit_learn_has_the_same_probabilities(problem, weigh):
    scores, positive = problem
    weights = np.linspace(0.5, 3, len(scores)) if weigh else None
    other = _SigmoidCalibration().fit(scores, positive.astype(float), sample_weight=weights)
    found = fit_platt(scores, positive, np.empty(0) if weights is None else weights)
    np.testing.assert_allclose(found.probabilities(scores), other.predict(scores), atol=2e-4)


@given(problem=problems())
def test_the_gradient_is_0_for_the_smoothed_labels(problem):
    scores, positive = problem
    found = fit_platt(scores, positive)
    rest = found.probabilities(scores) - targets(positive, np.ones(len(scores)))
    assert abs(rest.sum()) <= 1e-8 * len(scores)
    assert abs(rest @ scores) <= 1e-8 * np.abs(scores).sum() or found.slope == 0


@given(problem=problems(), counts=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_weights_are_repetitions(problem, counts):
    scores, positive = problem
    counts = np.array(counts[: len(scores)])
    weighted = fit_platt(scores, positive, counts.astype(float))
    repeated = fit_platt(np.repeat(scores, counts), np.repeat(positive, counts))
    np.testing.assert_allclose(weighted.probabilities(scores), repeated.probabilities(scores), atol=1e-8)


@given(problem=problems(), exponent=st.integers(-900, 1000))
def test_scores_may_be_of_any_size(problem, exponent):
    scores, positive = problem
    large = np.ldexp(scores, exponent)
    found, plain = fit_platt(large, positive), fit_platt(scores, positive)
    assert found.slope == np.ldexp(plain.slope, -exponent)
    assert found.offset == plain.offset
    assert np.array_equal(found.probabilities(large), plain.probabilities(scores))


def test_scores_that_separate_have_a_finite_slope():
    scores = np.repeat([-1e5, 1e5], 50)
    found = fit_platt(scores, scores > 0)
    assert found.converged
    np.testing.assert_allclose(found.probabilities([-1e5, 1e5]), [1 / 52, 51 / 52], rtol=1e-9)


@pytest.mark.parametrize("member", [True, False])
def test_an_outlier_is_no_obstacle(member):
    rng = np.random.default_rng(3)
    scores = np.append(rng.normal(size=500), 1e12)
    positive = np.append(rng.random(500) < 0.5, member)
    found = fit_platt(scores, positive)
    rest = found.probabilities(scores) - targets(positive, np.ones(501))
    assert found.converged
    assert abs(rest.sum()) < 1e-6
    assert abs(rest @ scores) < 1e-6 * 1e12


CONSTANT = {
    "none at all": ([], [], 0.5),
    "one row": ([3.0], [True], 2 / 3),
    "all alike": ([7.0, 7.0, 7.0, 7.0], [True, False, False, False], (2 / 3 + 3 * 1 / 5) / 4),
    "only members": ([1.0, 2.0, 3.0], [True, True, True], 4 / 5),
    "no members": ([1.0, 2.0, 3.0], [False, False, False], 1 / 5),
    "too small to be told apart": ([5e-324, 1e-323, 0.0], [True, False, True], (2 * 3 / 4 + 1 / 3) / 3),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_where_scores_tell_nothing_the_share_of_members_is_left(name):
    scores, positive, share = CONSTANT[name]
    found = fit_platt(np.array(scores), np.array(positive, bool))
    assert found.slope == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.probabilities([-1e300, 0.0, 1e300]), share, rtol=1e-12)


HOSTILE = {
    "the largest": ([1.7e308, -1.7e308, 1e10, -3.0], [1, 0, 0, 1], []),
    "neighbours": ([1.0, 1.0 + 2.0**-52], [0, 1], []),
    "large weights": ([1.0, 2.0, 3.0], [0, 1, 1], [1e308] * 3),
    "small weights": ([1.0, 2.0, 3.0], [0, 1, 1], [1e-320, 1e-310, 5e-324]),
    "far apart": ([5e-324, 1.0, -1.7e308], [0, 1, 1], [1.0, 1e-300, 1e300]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_comes_the_answers_are_probabilities(name):
    scores, positive, weights = (np.array(part, float) for part in HOSTILE[name])
    found = fit_platt(scores, positive, weights)
    assert np.isfinite([found.slope, found.offset]).all()
    answers = found.probabilities([*scores, 0.0, 1.7e308, -1.7e308])
    assert ((answers >= 0) & (answers <= 1)).all()


def test_a_budget_that_ends_early_is_told():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    found = fit_platt(scores, scores > 0, max_iter=1)
    assert (found.iterations, found.converged) == (1, False)
    assert found.gap > 1e-10
