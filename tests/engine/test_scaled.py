"""Weights that carry a scale: folded, reset and averaged like plain floats."""

import math

import numpy as np
import pytest

from linsep import OnlineClassifier
from tests.contracts.table import problem
from tests.rules import Keep

X, y = problem(reals=True, n=50, p=4)


def naive(rule, rows, labels):
    """The weights before each round in plain floats, with the bias feature last, and after the last."""
    w, before = np.zeros(rows.shape[1] + 1), []
    for t, (x, label) in enumerate(zip(rows, 2.0 * labels - 1, strict=True), start=1):
        x = np.append(x, 1.0)
        before.append(w)
        keep, amount = rule.step(w @ x, label, x @ x, w @ w, float(t))
        w = keep * w + amount * x
    return np.array(before), w


def weights(learner):
    return np.append(learner.coef_, learner.intercept_)


CASES = {
    "half": Keep(0.5, 0.5, 1.0),
    "a little": Keep(1 - 1e-9, 1 - 1e-9, 1.0),
    "1e-3": Keep(1e-3, 1e-3, 1.0),
    "1e-200": Keep(1e-200, 1e-200, 1.0),
    "1e-200 now and then": Keep(1.0, 1e-200, 7.0),
    "0 always": Keep(0.0, 0.0, 1.0),
    "0 now and then": Keep(0.9, 0.0, 7.0),
    "0 and 1e-200": Keep(1e-200, 0.0, 7.0),
    "growing, and 0": Keep(1e20, 0.0, 7.0),
    "another sign": Keep(-0.7, 0.3, 7.0),
    "no shrinking": Keep(1.0, 1.0, 1.0),
}

readouts = pytest.mark.parametrize("readout", ["last", "average"])


@pytest.mark.parametrize("case", CASES)
@readouts
def test_shrinking_is_multiplication(case, readout):
    rule = CASES[case]
    before, last = naive(rule, X, y)
    learner = OnlineClassifier(rule, intercept_scaling=1.0, readout=readout, log=True).partial_fit(X, y, classes=[0, 1])
    expected = last if readout == "last" else before.mean(axis=0)
    size = np.abs(before).max() if readout == "average" else np.abs(last).max()
    np.testing.assert_allclose(weights(learner), expected, rtol=0, atol=1e-11 * size)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_average_is_right_at_every_round(case):
    """Not only where the last fold happens to leave it."""
    rule = CASES[case]
    before, _ = naive(rule, X, y)
    learner = OnlineClassifier(rule, intercept_scaling=1.0, readout="average", log=False)
    for t in range(len(y)):
        learner.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        mean = before[: t + 1].mean(axis=0)
        np.testing.assert_allclose(weights(learner), mean, rtol=0, atol=1e-11 * max(1, np.abs(before[: t + 1]).max()))


@pytest.mark.parametrize("keep", [1.0, 0.9, 1e-3, 1e-200, 0.0, -0.5])
@readouts
def test_a_rule_is_told_the_norm_of_the_weights(keep, readout):
    rule = Keep(keep, keep, 1.0, pause=math.inf, told=1.0)
    before, last = naive(rule, X, y)
    learner = OnlineClassifier(rule, intercept_scaling=1.0, readout=readout).partial_fit(X, y, classes=[0, 1])
    expected = last if readout == "last" else before.mean(axis=0)
    np.testing.assert_allclose(weights(learner), expected, rtol=0, atol=1e-11 * np.abs(before).max())


def test_the_log_has_what_was_kept():
    rule = CASES["0 now and then"]
    log = OnlineClassifier(rule, intercept_scaling=1.0, log=True).partial_fit(X, y, classes=[0, 1]).log_
    assert log.keeps.tolist() == [0.0 if t % 7 == 0 else 0.9 for t in log.rounds]
    assert (log.amounts == 0).tolist() == [t % 3 == 0 for t in log.rounds]
    assert log.rounds.tolist() == list(range(1, len(y) + 1))
