"""Bounds: limits, inequalities, best choices by grid, and a run that meets its bound exactly."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from linsep.theory import bounds

sizes = st.floats(1e-3, 1e3)
shares = st.floats(1e-6, 1.0, exclude_max=True)
close = pytest.approx


def tight(p):
    """Mistakes of the perceptron, written out, on x_i = e_i with label +1, until it makes none."""
    w, mistakes = np.zeros(p), 0
    while True:
        before = mistakes
        for x in np.eye(p):
            if w @ x <= 0:
                w, mistakes = w + x, mistakes + 1
        if mistakes == before:
            return mistakes


@pytest.mark.parametrize("p", [1, 2, 7, 40])
def test_the_perceptron_bound_is_tight(p):
    assert bounds.perceptron(1.0, 1 / math.sqrt(p)) == close(tight(p))


@given(radius=sizes, margin=sizes, bias=st.floats(-1e3, 1e3), factor=st.floats(0.01, 100))
def test_the_best_bias_value(radius, margin, bias, factor):
    best = bounds.with_bias(radius, margin, bias)
    assert best == close(((radius + abs(bias)) / margin) ** 2)
    value = bounds.best_bias(radius, bias)
    if value > 1e-3:
        assert bounds.with_bias(radius, margin, bias, value) == close(best)
        assert bounds.with_bias(radius, margin, bias, value * factor) >= best * (1 - 1e-9)
    exact = (radius**2 + factor**2) * (1 + bias**2 / factor**2) / margin**2
    assert bounds.with_bias(radius, margin, bias, factor) == close(exact)


@given(radius=sizes, margin=sizes, shortfall=st.floats(0, 1e3), passes=st.integers(1, 50))
def test_the_delta_trick_and_regret_contain_novikoff(radius, margin, shortfall, passes):
    novikoff = bounds.perceptron(radius, margin)
    assert bounds.delta_trick(radius, margin, 0.0, passes) == novikoff
    bound = bounds.delta_trick(radius, margin, shortfall, passes)
    assert bound == close((radius + passes**0.5 * shortfall) ** 2 / margin**2)
    assert bounds.regret(radius, 1 / margin, 0.0) == close(novikoff)
    k = bounds.regret(radius, 1 / margin, shortfall)
    assert k == close(radius / margin * k**0.5 + shortfall)
    assert bounds.regret(radius, 0.0, shortfall) == close(shortfall)


@given(d=shares, entries=sizes)
def test_the_best_rate_is_the_best(d, entries):
    margin = d * entries
    best = bounds.best_rate(margin, entries)
    least = bounds.winnow(1000, margin, entries)
    assert bounds.winnow(1000, margin, entries, best) == close(least, rel=1e-6)
    for factor in np.geomspace(0.1, 10, 41):
        assert bounds.winnow(1000, margin, entries, best * factor) >= least * (1 - 1e-6)
    assert bounds.fall(margin, entries) >= (margin / entries) ** 2 / 2 * (1 - 1e-12)
    assert least <= 2 * math.log(1000) / d**2 * (1 + 1e-9)
    formula = ((1 + d) * math.log(1 + d) + (1 - d) * math.log(1 - d)) / 2
    assert bounds.fall(margin, entries) == close(formula, rel=1e-9, abs=1e-15)


@given(d=shares, z=st.floats(1e-3, 30), entries=sizes)
def test_what_a_mistake_takes(d, z, entries):
    rate = z / entries
    expected = z * d - math.log(math.cosh(z))
    assert bounds.fall(d * entries, entries, rate) == close(expected, rel=1e-9, abs=1e-14)
    bound = bounds.winnow(50, d * entries, entries, rate)
    assert bound == close(math.log(50) / expected, rel=1e-6) if expected > 1e-9 else bound > 1e6


def test_winnow_in_its_limits():
    assert bounds.winnow(1024, 3.0, entries=3.0) == 10.0
    assert bounds.winnow(1, 0.5) == 0.0
    assert bounds.best_rate(1.0) == math.inf
    assert bounds.winnow_with_noise(8, 1.0, 0.0) == close(3.0)
    assert bounds.winnow_with_noise(8, 1.0, 0.1) == math.inf
    assert bounds.winnow(1000, 1e-8) == close(2 * math.log(1000) * 1e16, rel=1e-9)
    assert bounds.winnow(1000, 0.5, rate=1e6) == math.inf
    assert bounds.balanced_winnow(50, 0.3, rate=0.2) == bounds.winnow(100, 0.3, rate=0.2)
    assert bounds.balanced_winnow(50, 0.3, bias=True) == bounds.winnow(102, 0.3)
    eta = 0.3
    assert bounds.winnow_with_noise(100, 0.5, 7.0, rate=eta) == close(
        (math.log(100) + eta * 7.0) / bounds.fall(0.5, rate=eta)
    )


@given(p=st.floats(2, 100), radius=sizes, margin=sizes, norm=sizes)
def test_p_norm_is_the_perceptron_at_2(p, radius, margin, norm):
    assert bounds.p_norm(2, radius, margin) == bounds.perceptron(radius, margin)
    assert bounds.p_norm(p, radius, margin, norm) == close((p - 1) * (norm * radius / margin) ** 2)


def test_p_norm_is_near_winnow_at_2_ln_n():
    n, margin = 10**5, 0.1
    p = 2 * math.log(n)
    assert bounds.p_norm(p, n ** (1 / p), margin) < 4 * bounds.winnow(n, margin)


@given(radius=sizes, norm=sizes, c=st.floats(1e-6, 1e6), losses=st.floats(0, 1e3))
def test_passive_aggressive(radius, norm, c, losses):
    plain = (radius * norm) ** 2
    assert bounds.passive_aggressive(radius, norm) == bounds.romma(radius, norm) == close(plain)
    first = bounds.passive_aggressive_1(radius, norm, c, losses)
    assert first == close(max(radius**2, 1 / c) * (norm**2 + 2 * c * losses))
    second = bounds.passive_aggressive_2(radius, norm, c, losses)
    assert second == close((radius**2 + 1 / (2 * c)) * (norm**2 + 2 * c * losses))
    assert bounds.passive_aggressive_2(radius, norm, 1e12, 0.0) == close(plain, rel=1e-5)
    assert min(first, second) >= plain * (1 - 1e-12)
    assert bounds.multiclass_pairs(radius, norm) == 2 * bounds.perceptron(radius, norm)


@given(weights=st.lists(st.floats(0.0, 1e3), min_size=1, max_size=30), scale=st.sampled_from([1e-300, 1.0, 1e300]))
def test_weighted_mistakes_are_no_more_than_their_number(weights, scale):
    found = bounds.weighted_mistakes([c * scale for c in weights])
    assert 0 <= found <= np.count_nonzero(weights) * (1 + 1e-12)
    assert bounds.weighted_mistakes([scale] * 7) == close(7.0)
    if min(weights) > 1e-3:
        assert found == close(sum(weights) ** 2 / sum(c * c for c in weights))
    assert bounds.weighted_mistakes([]) == bounds.weighted_mistakes([0.0]) == 0.0


@given(k=st.integers(0, 200).map(lambda i: 2 * i + 1), n=st.integers(500, 10**6))
def test_majorities(k, n):
    """R² = N and gamma = 1/sqrt(k) for the perceptron, delta = 1/k and 2 ln N / delta² for Winnow."""
    perceptron, winnow = bounds.majority(k, n)
    assert perceptron == close(bounds.perceptron(math.sqrt(n), 1 / math.sqrt(k)))
    assert winnow == close(2 * math.log(n) * k * k)
    assert winnow >= bounds.winnow(n, 1 / k)
    assert (winnow < perceptron) == (k < n / (2 * math.log(n)))


@given(e=st.floats(1e-3, 0.5), d=st.floats(1e-6, 0.5), v=st.integers(1, 1000))
def test_sample_size(e, d, v):
    m = bounds.sample_size(e, d, v)
    enough = max(4 / e * math.log2(2 / d), 8 * v / e * math.log2(13 / e))
    assert isinstance(m, int)
    assert enough <= m < enough + 1
    assert bounds.sample_size(e / 2, d, v) > m
    assert bounds.sample_size(e, d, v + 1) >= m


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.perceptron(1.0, 0.0), "margin=0.0: a finite number above 0"),
        (lambda: bounds.perceptron(math.nan, 1.0), "radius=nan"),
        (lambda: bounds.perceptron(math.inf, 1.0), "radius=inf"),
        (lambda: bounds.with_bias(1.0, 1.0, math.inf), "bias=inf: a finite number"),
        (lambda: bounds.with_bias(1.0, 1.0, 1.0, value=0.0), "value=0.0"),
        (lambda: bounds.delta_trick(1.0, 1.0, -1.0), "shortfall=-1.0: a finite number, 0 or more"),
        (lambda: bounds.delta_trick(1.0, 1.0, 1.0, passes=0), "passes=0: a whole number, 1 or more"),
        (lambda: bounds.winnow(10, 1.5), "margin=1.5 with entries=1.0.*divide the margin"),
        (lambda: bounds.winnow(10, 0.5, rate=-1.0), "rate=-1.0"),
        (lambda: bounds.winnow(0, 0.5), "features=0"),
        (lambda: bounds.balanced_winnow(0, 0.5), "features=0"),
        (lambda: bounds.best_rate(math.nan), "margin=nan"),
        (lambda: bounds.p_norm(1.5, 1.0, 1.0), "p=1.5: .* 2 or more"),
        (lambda: bounds.passive_aggressive_1(1.0, 1.0, 0.0, 1.0), "aggressiveness=0.0"),
        (lambda: bounds.majority(4, 10), "k=4 of features=10: a majority is of an odd number"),
        (lambda: bounds.majority(11, 10), "k=11 of features=10"),
        (lambda: bounds.sample_size(0.0, 0.1, 3), "epsilon=0.0: it is a probability"),
        (lambda: bounds.sample_size(0.1, 1.0, 3), "delta=1.0: it is a probability"),
        (lambda: bounds.weighted_mistakes([1.0, math.nan]), "weights=nan"),
    ],
    ids=lambda of: of.split(":")[0] if isinstance(of, str) else "",
)
def test_impossible_numbers_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
