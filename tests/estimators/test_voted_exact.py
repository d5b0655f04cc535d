"""The vote where it is hard: zeros, ties and cancellation, huge numbers, and sums whose rounding adds up."""

from fractions import Fraction

import numpy as np
import pytest

from tests import voted_references as ref
from tests.estimators.readouts import agree, ask, columns, every_form, naive
from tests.estimators.test_voted import build, some
from tests.fits import fit

SIGNS = np.array([1, -1] * 6)
HOSTILE = {
    "zero rows": (np.repeat([[0, 0], [1, 2], [0, 0], [-1, 1]], 3, axis=0), SIGNS),
    "nothing but zeros": (np.zeros((12, 3)), SIGNS),
    "repeated rows": (np.tile([[2, -1], [1, 1], [-3, 1]], (4, 1)), np.tile([1, 1, -1], 4)),
    "contradictions": (np.tile([[2, -1], [2, -1], [1, 3], [1, 3]], (3, 1)), SIGNS),
    "opposite rows": (
        np.tile([[2, -1], [-2, 1], [1, 3], [-1, -3]], (3, 1)),
        np.ones(12, int) - 2 * (np.arange(12) > 9),
    ),
    "one feature": (np.arange(-6, 6)[:, None], SIGNS),
    "one feature, one value": (np.ones((12, 1)), SIGNS),
    "orthogonal rows": (np.eye(12), SIGNS),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_hostile_integers(case, beta):
    X, y = HOSTILE[case][0].astype(float), HOSTILE[case][1]
    asked = np.vstack([X, -X, 0 * X[:1]])
    learner = fit(build(beta), X, y)
    agree(learner, naive(learner, X, (y + 1) // 2), asked, columns(learner, asked))


@every_form
def test_huge_integers(classes, multi_class):
    """Products near 2^46 and sums below 2^53, against Python's own integers; many scores cancel to 0 or to 1."""
    rng = np.random.default_rng(3)
    X = 2**23 * rng.integers(-1, 2, (12, 3)) + rng.integers(-1, 2, (12, 3))
    codes = rng.permutation(np.arange(12) % classes)
    learner = fit(build(multi_class=multi_class), X.astype(float), codes)
    assert learner.t_ * 3 * 2**46 < 2**53
    asked = np.vstack([X, [[0, 0, 1], [1, -1, 0], [2**23, 0, -(2**23)]]])
    machines = naive(learner, X.astype(object), codes)
    agree(learner, machines, asked.astype(float), asked.astype(object).T, normalized=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-3, 1e5])
def test_real_numbers_vote_as_exact_sums_do(scale):
    """Wherever |v_k.x| exceeds 1e-12 of its terms' absolute sum; the rows asked are nearly orthogonal to some v_k."""
    rng = np.random.default_rng(8)
    X, y = scale * rng.normal(size=(150, 3)), rng.permutation(np.arange(150) % 2)
    learner = fit(build(max_iter=2), X, y)
    log = learner.log_
    v = np.cumsum((2 * y[log.rows] - 1)[:, None] * X[log.rows], axis=0)
    odd = np.cross(v[::4], rng.normal(size=3))
    asked = np.vstack([odd, odd + np.abs(odd) * 10 ** rng.uniform(-10, -7, odd.shape)])
    low, high = exact_vote(X, 2 * y - 1, log, learner.survival_, asked)
    assert np.all(low[: len(odd)] < high[: len(odd)])
    assert np.mean(low[len(odd) :] == high[len(odd) :]) > 0.7
    found = learner.decision_function(asked) * learner.t_
    assert np.all((found > low - 1e-6) & (found < high + 1e-6))


def exact_vote(X, y, log, counts, asked):
    """The least and the most that the vote may be, in rationals: hypotheses near 0 may vote either way."""
    low, high = np.zeros(len(asked)), np.zeros(len(asked))
    for n, x in enumerate(asked):
        score = size = Fraction(0)
        terms = [[Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, x, strict=True)] for row in X]
        for k, c in enumerate(counts):
            sure = abs(score) > size / 10**12 or size == 0
            low[n] += c if sure and score > 0 else -c
            high[n] += -c if sure and score <= 0 else c
            if k < len(log.rows):
                score += int(y[log.rows[k]]) * sum(terms[log.rows[k]])
                size += sum(map(abs, terms[log.rows[k]]))
    return low, high


def test_rounding_that_always_goes_one_way():
    """So many mistakes that a plain running sum, each addition rounded down, is off by more than 1e-12 of the terms.

    The second feature, that the row asked does not have, makes every round a mistake. The first climbs from -1 by equal
    steps of 2^-18 and a little, for all but half a unit in the last place, until one hypothesis is just above 0.
    """
    crossing, step = 2**18, 2.0**-18 + 0.49 * 2.0**-53
    start = float(Fraction(4, 10**12) - crossing * Fraction(step))
    X = np.column_stack([np.full(crossing + 9, step), np.resize([2.0, -2.0], crossing + 9)])
    X[0] = start, 1.0
    just_above = Fraction(start) + crossing * Fraction(step)
    assert just_above > (abs(Fraction(start)) + crossing * Fraction(step)) / 10**12
    learner = build(log="auto").partial_fit(X, np.ones(len(X)), classes=[-1, 1])
    assert learner.mistakes_ == learner.t_ == len(X)
    # Hypothesis k is start + (k - 1) step, and the one after the last mistake has no vote.
    positive = 9 - 1
    vote = learner.decision_function([[1.0, 0.0]])[0]
    assert round(vote * learner.t_) == 2 * positive - learner.t_


def test_weights_that_cancel_are_zero_however_they_are_rounded():
    """In a contradiction v_k returns to 0, and stays 0 when divided by its norm."""
    X = np.repeat([[0.1, 0.7, -1 / 3], [1.7, 0.3, 1e-3], [0.2, -np.pi, 5.0]], 2, axis=0)
    learner = fit(build(shuffle=False, max_iter=2), X, [0, 1] * 3)
    asked = np.vstack([X, np.eye(3)])
    machines = naive(learner, X, np.array([0, 1] * 3))
    assert np.sum(np.abs(machines[0].v).max(axis=1) < 1e-15) > 2
    agree(learner, machines, asked, columns(learner, asked), normalized=1e-6)


@every_form
@pytest.mark.parametrize("readout", ["last", "longest"])
def test_a_score_of_zero_is_zero_after_division_too(classes, multi_class, readout):
    """Rows of integers: v.x is 0, or equal for two classes of a pair, in exact numbers."""
    X, y = some(classes, n=200, seed=6)
    learner = fit(build(1.0, multi_class=multi_class), X, y)
    asked = np.array([[a, b, c, d] for a in range(-3, 4) for b in range(-3, 4) for c in range(-3, 4) for d in (0, 1.0)])
    plain, divided = ask(learner, asked, readout), ask(learner, asked, readout, normalize=True)
    assert np.any(plain == 0)
    assert np.array_equal(divided == 0, plain == 0)
    if classes == 2 or multi_class == "joint":
        assert np.array_equal(ref.labels(divided), ref.labels(plain))
