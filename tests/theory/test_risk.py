"""Risk from mistakes: the bound recomputed in many digits, how often it fails, and that a smaller one would fail."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import beta, binom, norm

from linsep import AveragedPerceptron, Perceptron
from linsep.theory.risk import (
    GRID,
    SCALES,
    GridPoint,
    anytime,
    compression,
    described,
    estimate,
    held_out,
    pac_bayes,
)
from tests.fits import fit

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


@given(rows=st.integers(1, 3000), share=st.floats(0, 1), confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_held_out_is_the_quantile_of_the_beta_distribution(rows, share, confidence):
    errors = int(share * rows)
    expected = 1.0 if errors == rows else beta.ppf(confidence, errors + 1, rows - errors)
    assert held_out(errors, rows, confidence) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("errors", "rows", "kept"), [(0, 20, 3), (2, 30, 5), (4, 60, 0), (0, 12, 11), (25, 40, 15)])
def test_compression_is_the_least_that_fractions_allow(errors, rows, kept):
    doubt = Fraction(1, 20) / (rows * comb(rows, kept))
    found = compression(errors, rows, kept)

    def tail(r):
        r, n = Fraction(r), rows - kept
        return sum(comb(n, i) * r**i * (1 - r) ** (n - i) for i in range(errors + 1))

    if errors == rows - kept:
        assert found == 1.0
        return
    assert tail(min(1.0, found * (1 + 1e-12))) <= doubt <= tail(found * (1 - 1e-9))


def test_the_rows_of_the_mistakes_give_the_weights_of_a_run():
    """The premise of `compression`: a run over the rows that it mistook, in their order, makes the same mistakes."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-4, 5, (300, 6)).astype(float), rng.choice([-1, 1], 300, p=[0.3, 0.7])
    y = np.where(X[:, 0] + X[:, 1] > 2, y, -1)
    clf = fit(Perceptron(max_iter=4, shuffle=False, log=True), X, y)
    kept = np.unique(clf.log_.rows)
    assert 10 < len(kept) < 250
    alone = fit(Perceptron(max_iter=4, shuffle=False, log=True), X[kept], y[kept])
    assert np.array_equal(alone.coef_, clf.coef_)
    assert np.array_equal(kept[alone.log_.rows], clf.log_.rows)


def test_risks_of_runs_are_within_their_bounds():
    """Of 150 runs on rows of a known distribution, no bound fails; each may in 5 % of them."""
    rng = np.random.default_rng(1)
    u = np.array([2.0, -1.0, 0.5, 0.0])
    below = np.zeros(3, int)
    for seed in range(150):
        X = rng.normal(size=(400, 4))
        y = np.where(X @ u + 0.3 * rng.normal(size=400) > 0, 1, -1)
        clf = fit(Perceptron(max_iter=3, random_state=seed, fit_intercept=False, log=True), X, y)
        average = fit(AveragedPerceptron(max_iter=3, random_state=seed, fit_intercept=False), X, y)
        new = rng.normal(size=(4000, 4))
        truth = np.where(new @ u + 0.3 * rng.normal(size=4000) > 0, 1, -1)
        kept = np.unique(clf.log_.rows)
        rest = np.setdiff1d(np.arange(400), kept)
        w = average.coef_[0]
        margins = y * (X @ w) / np.linalg.norm(w) / np.linalg.norm(X, axis=1)
        wrong = np.mean(clf.predict(new) != truth), np.mean(average.predict(new) != truth)
        below += [
            wrong[0] > compression(int(np.sum(clf.predict(X[rest]) != y[rest])), 400, len(kept)),
            wrong[1] > pac_bayes(margins).bound,
            wrong[0] > held_out(int(np.sum(clf.predict(new[:200]) != truth[:200])), 200),
        ]
    assert below[0] == below[1] == 0
    assert below[2] <= 15


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.sampled_from([0.5, 0.95, 0.99]))
def test_pac_bayes_by_the_formula(margins, confidence):
    found, n = pac_bayes(margins, confidence), len(margins)
    best = 1.0
    for scale in SCALES:
        error = norm.cdf(-scale * np.array(margins)).mean()
        most = (scale**2 / 2 + np.log((n + 1) * len(SCALES) / (1 - confidence))) / n
        risks = np.linspace(error, 1, 20_001)[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(error > 0, error * np.log(error / risks), 0.0)
            down = np.where(error < 1, (1 - error) * np.log((1 - error) / (1 - risks)), 0.0)
        best = min(best, risks[up + down <= most].max(initial=error))
    assert found.randomised == pytest.approx(best, abs=1e-4)
    assert found.bound == min(1.0, 2 * found.randomised)


def test_what_is_no_count_and_no_margin_is_refused():
    for call, words in [
        (lambda: held_out(3, 2), "between 0 and rounds"),
        (lambda: compression(5, 10, kept=6), "errors are counted on the 4 rows without an update"),
        (lambda: pac_bayes([2.0]), "numbers from -1 to 1"),
        (lambda: pac_bayes([]), "one for each row"),
        (lambda: pac_bayes([np.nan]), "numbers from -1 to 1"),
        (lambda: held_out(1, 2, confidence=1.0), "confidence"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
