"""Isotonic calibration: scikit-learn's values, by weights that are repetitions, at any size of scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from linsep.solvers.calibration import Isotonic, fit_isotonic
from tests.solvers.test_platt import problems

NEW = np.linspace(-10, 120, 261)


@given(problem=problems(), weigh=st.booleans())
def test_scikit_learn_has_the_same_values(problem, weigh):
    scores, positive = problem
    weights = np.linspace(0.5, 3, len(scores)) if weigh else None
    other = IsotonicRegression(out_of_bounds="clip").fit(scores, positive.astype(float), sample_weight=weights)
    found = fit_isotonic(scores, positive, np.empty(0) if weights is None else weights)
    for asked in (scores, NEW):
        np.testing.assert_allclose(found.probabilities(asked), other.predict(asked), atol=1e-12)


@given(problem=problems(), counts=st.lists(st.integers(0, 3), min_size=40, max_size=40))
def test_weights_are_repetitions(problem, counts):
    scores, positive = problem
    counts = np.array(counts[: len(scores)])
    weighted = fit_isotonic(scores, positive, counts.astype(float))
    repeated = fit_isotonic(np.repeat(scores, counts), np.repeat(positive, counts))
    np.testing.assert_allclose(weighted.probabilities(NEW), repeated.probabilities(NEW), atol=1e-12)


@given(problem=problems())
def test_corners_rise_and_no_more_are_kept_than_needed(problem):
    scores, positive = problem
    x, y = fit_isotonic(scores, positive)
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()
    assert 0 <= y[0] <= y[-1] <= 1
    level = (y[1:-1] == y[:-2]) & (y[1:-1] == y[2:])
    assert not level.any()


@given(problem=problems(), exponent=st.integers(-1000, 1000))
def test_scores_may_be_of_any_size(problem, exponent):
    scores, positive = problem
    large = np.ldexp(scores, exponent)
    between = (scores[:-1] + scores[1:]) / 2
    found, plain = fit_isotonic(large, positive), fit_isotonic(scores, positive)
    np.testing.assert_allclose(
        found.probabilities(np.ldexp(between, exponent)), plain.probabilities(between), atol=1e-12
    )


def test_no_difference_of_scores_overflows():
    steps = Isotonic(np.array([-1.7e308, 0.0, 1.7e308]), np.array([0.0, 0.25, 1.0]))
    np.testing.assert_allclose(steps.probabilities([-1.7e308, -0.85e308, 0.85e308]), [0.0, 0.125, 0.625])


def test_subnormal_scores_are_told_apart():
    steps = Isotonic(np.array([0.0, 2e-323]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(steps.probabilities([0.0, 1e-323, 2e-323, 1.0]), [0.0, 0.5, 1.0, 1.0])


@pytest.mark.parametrize("weights", [np.empty(0), np.zeros(2)])
def test_no_rows_are_answered_by_one_half(weights):
    rows = len(weights)
    steps = fit_isotonic(np.arange(rows), np.ones(rows, bool), weights)
    assert steps.probabilities([-1.0, 3.0]).tolist() == [0.5, 0.5]
