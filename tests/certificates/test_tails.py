"""Tails of binomials and of the normal distribution: those of scipy and of fractions, in any context of decimal."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, norm

from linsep.certificates import tails
from linsep.theory.risk import compression, pac_bayes

counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=40)
@given(counts, st.sampled_from([0.5, 0.95, 0.999, 1 - 1e-9]))
def test_the_binomial_limit_is_that_of_clopper_and_pearson(count, confidence):
    errors, rows = count
    found = float(tails.binomial_limit(errors, rows, tails.doubt_of(confidence)))
    exact = float(beta.ppf(confidence, errors + 1, rows - errors)) if errors < rows else 1.0
    assert exact - 1e-12 <= found <= exact + 2e-9 + 1e-7 * (confidence > 0.9999)


@given(st.integers(0, 6), st.integers(0, 12), st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)]))
def test_the_binomial_limit_in_fractions(errors, more, doubt):
    rows = errors + more + 1
    r = tails.binomial_limit(errors, rows, tails.doubt_of(float(1 - doubt)))

    def tail(r):
        return sum(math.comb(rows, k) * r**k * (1 - r) ** (rows - k) for k in range(errors + 1))

    exact = 1 - Fraction(float(1 - doubt))
    assert tail(r) <= exact
    assert tail(r - Fraction(2, 10**9)) > exact or r == 1


def test_many_rows():
    found = float(tails.binomial_limit(20_000, 200_000, tails.doubt_of(0.95)))
    assert found == pytest.approx(float(beta.ppf(0.95, 20_001, 180_000)), abs=2e-9)


@given(st.integers(1, 2000), st.integers(0, 2000))
def test_choices(n, k):
    k = min(k, n)
    exact = math.log(math.comb(n, k))
    assert float(tails.choices_log(n, k)) == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert tails.choices_log(n, k) >= 0


def test_the_normal_tail_is_rounded_up():
    for x in np.linspace(-12, 12, 97):
        found = float(tails.normal_tail(Decimal(float(x))))
        assert norm.sf(x) * (1 - 1e-13) <= found <= norm.sf(x) * (1 + 1e-13) + 2e-20


@pytest.mark.parametrize("seed", range(3))
def test_pac_bayes_is_that_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    margins = np.floor(rng.uniform(-0.2, [0.2, 0.6, 0.95][seed], 4000) * tails.GRID).astype(int)
    known = pac_bayes(margins / tails.GRID, 1 - 0.05 / tails.price_of(1.0))
    counts = [*zip(*(a.tolist() for a in np.unique(margins, return_counts=True)), strict=True)]
    found = float(tails.pac_bayes_limit(counts, 0, 0.95, round(2 * math.log2(known.scale)), 1.0))
    assert known.bound - 1e-9 <= found <= known.bound + 1e-8
    zeros = [tails.pac_bayes_limit(counts, wrong, 0.95, 10, 1.0) for wrong in (0, 100)]
    assert zeros[0] < zeros[1] or zeros[0] == 1
    assert len(tails.SCALES) == 29


@pytest.mark.parametrize(("errors", "rows", "kept", "passes"), [(0, 1000, 10, 1), (3, 5000, 100, 7), (0, 20, 19, 3)])
def test_compression_shares_the_doubt(errors, rows, kept, passes):
    doubt = tails.doubt_of_compression(0.95, rows, kept, passes, 0.0)
    found = float(tails.binomial_limit(errors, rows - kept, doubt))
    shares = passes * (passes + 1) * tails.price_of(0.0)
    assert found == pytest.approx(compression(errors, rows, kept, 1 - 0.05 / shares), abs=1e-8)


def test_a_bias_that_may_come_from_the_rows_has_a_price():
    """The shares of 0, of 1 and of all other floats of 64 bits are 1 together."""
    assert 2 * Fraction(1, tails.price_of(1.0)) + 2**64 * Fraction(1, tails.price_of(0.3)) == 1
    assert tails.doubt_of_compression(0.95, 100, 5, 1, 0.3) < tails.doubt_of_compression(0.95, 100, 5, 1, 1.0)


def test_the_context_of_decimal_changes_nothing():
    def found():
        doubt = tails.doubt_of_compression(0.95, 500, 20, 3, 0.5)
        return tails.binomial_limit(3, 480, doubt), tails.pac_bayes_limit([(700, 90), (-3, 10)], 1, 0.9, 5, 1.0)

    known = found()
    with decimal.localcontext(decimal.Context(prec=2, rounding=decimal.ROUND_DOWN, Emax=9, Emin=-9)):
        assert found() == known


def test_a_bound_holds_as_often_as_it_says():
    """The risk of a perceptron's last weights in the plane is an angle: at most half of the bounds at 50 % fail."""
    rng, fails = np.random.default_rng(0), 0
    for _ in range(200):
        X = rng.normal(size=(60, 2))
        y, w, kept = np.sign(X[:, 0]), np.zeros(2), set()
        for i, x in enumerate(X):
            if y[i] * (w @ x) <= 0:
                w, kept = w + y[i] * x, kept | {i}
        others = np.setdiff1d(np.arange(60), [*kept])
        errors = int(np.sum(y[others] * (X[others] @ w) <= 0))
        doubt = tails.doubt_of_compression(0.5, 60, len(kept), 1, 0.0)
        risk = math.acos(np.clip(w[0] / np.linalg.norm(w), -1, 1)) / math.pi
        fails += risk > tails.binomial_limit(errors, len(others), doubt)
    assert fails <= 100
