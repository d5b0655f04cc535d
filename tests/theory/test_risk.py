"""Risk from mistakes: the bound recomputed in many digits, how often it fails, and that a smaller one would fail."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom

from linsep.theory.risk import GRID, GridPoint, anytime, described, estimate

counts = st.integers(1, 10**6).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))


def recomputed(k, m, confidence, texts):
    """The formula in 40 digits, from the description alone."""
    with localcontext(prec=40):
        delta = 1 - Decimal(confidence)
        values = [Decimal(1)]
        for s, prior in ([Fraction(text) for text in pair] for pair in texts):
            s, prior = (Decimal(v.numerator) / v.denominator for v in (s, prior))
            values.append((1 - (-(s * k - (prior * delta).ln()) / m).exp()) / (1 - (-s).exp()))
        return min(values)


@given(count=counts, confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_formula(count, confidence):
    found = anytime(*count, confidence)
    exact = recomputed(*count, confidence, described())
    assert float(found.bound) == pytest.approx(float(exact), rel=1e-12)
    assert float(found.vote) == min(1.0, 2 * float(found.bound))
    assert estimate(*count) == count[0] / count[1] <= found.bound <= 1


def test_the_grid_is_short_and_exact():
    assert len(GRID) == 17
    assert sum(prior for _, prior in GRID) == 1
    assert all(Fraction(float(v)) == v for point in GRID for v in point)
    assert [GridPoint(*map(Fraction, pair)) for pair in described()] == list(GRID)
    assert {a.s / b.s for a, b in pairwise(GRID)} == {2}


def test_arrays_are_taken_as_they_are():
    rounds = np.arange(1, 1001)
    mistakes = np.cumsum(np.random.default_rng(0).random(1000) < 0.1)
    curve = anytime(mistakes, rounds)
    assert curve.bound.shape == curve.vote.shape == (1000,)
    for t in (1, 10, 1000):
        assert curve.bound[t - 1] == anytime(int(mistakes[t - 1]), t).bound
    assert anytime(3, [10, 100]).bound.shape == (2,)


@given(count=counts)
def test_more_mistakes_and_more_confidence_make_it_larger(count):
    k, m = count
    bound = anytime(k, m).bound
    assert bound <= anytime(min(k + 1, m), m).bound
    assert bound <= anytime(k, m, 0.99).bound
    assert anytime(k, 2 * m).bound <= bound


def test_its_size():
    """Near what a fixed s, the best one, would give; and 0 mistakes cost little more than ln(1/delta)/n."""
    for k, m, most in [(0, 1000, 0.005), (42, 12665, 0.0059), (727, 11791, 0.0702), (10**5, 10**6, 0.1012)]:
        assert k / m < anytime(k, m).bound < most
    for k, m in [(0, 1000), (10, 1000), (1000, 10**5), (10**6, 10**8), (10**8, 10**9)]:
        fine = [
            anytime(k, m, 0.95, [GridPoint(Fraction(float(s)), Fraction(1))]).bound for s in np.geomspace(1e-5, 16, 500)
        ]
        assert anytime(k, m).bound - k / m < 1.65 * (min(fine) - k / m)


def simulated(seed, runs=400, rounds=1500):
    """Mistakes and average risks of learners whose risk changes with what has happened."""
    rng = np.random.default_rng(seed)
    start = rng.choice([0.02, 0.1, 0.5], runs)
    mistakes, risk = np.zeros((runs, rounds)), np.zeros((runs, rounds))
    made = np.zeros(runs)
    for t in range(rounds):
        risk[:, t] = start / (1 + 0.01 * made)
        mistakes[:, t] = rng.random(runs) < risk[:, t]
        made += mistakes[:, t]
    n = np.arange(1, rounds + 1)
    return np.cumsum(mistakes, axis=1), np.cumsum(risk, axis=1) / n, n


def failures(bound, risks):
    return int(np.any(risks > bound, axis=1).sum())


@pytest.mark.parametrize("seed", range(2))
def test_it_fails_as_rarely_as_it_says_and_a_smaller_one_does_not(seed):
    mistakes, risks, n = simulated(seed)
    for confidence in (0.5, 0.95):
        allowed = binom.ppf(0.999, len(risks), 1 - confidence)
        assert failures(anytime(mistakes, n, confidence).bound, risks) <= allowed
    allowed = binom.ppf(0.999, len(risks), 0.05)
    assert failures(estimate(mistakes, n), risks) > allowed
    excess = anytime(mistakes, n).bound - mistakes / n
    assert failures(mistakes / n + excess / 2, risks) > allowed


def test_impossible_numbers_are_named():
    for k, m in [(-1, 5), (6, 5), (0, 0), (np.nan, 5), (0, np.inf)]:
        with pytest.raises(ValueError, match="mistakes are between 0 and rounds"):
            anytime(k, m)
        with pytest.raises(ValueError, match="mistakes are between 0 and rounds"):
            estimate(k, m)
    for confidence in (0.0, 1.0, 95, np.nan):
        with pytest.raises(ValueError, match="it is a probability between 0 and 1"):
            anytime(1, 5, confidence)
    half = GridPoint(Fraction(1), Fraction(1, 2))
    for grid in ([half], [half, GridPoint(Fraction(0), Fraction(1, 2))], [GridPoint(1, 2), GridPoint(2, -1)]):
        with pytest.raises(ValueError, match="priors above 0 that add up to 1"):
            anytime(1, 5, 0.95, grid)
    for grid in ([], [GridPoint(Fraction(1), Fraction(1, 65))] * 65):
        with pytest.raises(ValueError, match="it has 1 to 64"):
            anytime(1, 5, 0.95, grid)
