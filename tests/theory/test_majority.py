"""Perceptron against Winnow: the compiled race against one in whole numbers, on the same bits, and its bounds."""

import math

import numpy as np
import pytest

from linsep import Perceptron, Winnow
from linsep.theory.bounds import fall
from linsep.theory.majority import versus
from tests.fits import fit

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def words(seed, count):
    """The first words of SplitMix64, in Python's integers."""
    found = []
    for i in range(1, count + 1):
        z = (seed + i * STEP) % 2**64
        z = (z ^ (z >> 30)) * FIRST % 2**64
        z = (z ^ (z >> 27)) * SECOND % 2**64
        found.append(z ^ (z >> 31))
    return found


def drawn(features, rounds, seed):
    """The rows of a race, each from the lowest bit of its first word on."""
    width = -(-features // 64)
    bits = np.array(words(seed, rounds * width), "<u8").reshape(rounds, width).view(np.uint8)
    return 2 * np.unpackbits(bits, axis=1, bitorder="little")[:, :features].astype(int) - 1


def raced(X, k):
    """The rounds of the perceptron's and of Winnow's mistakes, and the first in which Winnow's score is nearly 0.

    e^{2 eta} = (k + 1) / (k - 1), so that (k + 1)^c (k - 1)^(m - c) are Winnow's weights after m mistakes: integers.
    """
    y = np.sign(X[:, :k].sum(axis=1))
    v, counts, m, tie = np.zeros(X.shape[1], int), np.zeros(X.shape[1], int), 0, math.inf
    wrong = [], []
    for t, x in enumerate(y[:, None] * X, start=1):
        if v @ x <= 0:
            v += x
            wrong[0].append(t)
        w = [(k + 1) ** c * (k - 1) ** (m - c) for c in counts.tolist()]
        score = sum(a * b for a, b in zip(w, x.tolist(), strict=True))
        if m and abs(score) * 10**12 < sum(w):
            tie = min(tie, t)
        if score <= 0:
            counts += x > 0
            m += 1
            wrong[1].append(t)
    return *wrong, tie


def test_the_words_are_those_of_splitmix64():
    assert words(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize(
    ("features", "k", "seed"),
    [(1, 1, 3), (2, 1, 0), (64, 1, 5), (65, 3, 0), (63, 3, 1), (130, 5, 2**64 - 1), (40, 9, 7)],
)
def test_the_race_is_that_of_whole_numbers(features, k, seed):
    """Up to the first round that floats can't decide; a power of two, k = 3, and 0, k = 1, they always can."""
    race = versus(features, k, 400, seed)
    perceptron, winnow, tie = raced(drawn(features, 400, seed), k)
    assert race.perceptron_rounds.tolist() == perceptron
    last = math.inf if k <= 3 else tie
    assert last > 100
    assert [t for t in race.winnow_rounds.tolist() if t < last] == [t for t in winnow if t < last]
    assert (race.perceptron, race.winnow) == (len(perceptron), len(race.winnow_rounds))


def test_the_learners_of_this_package_race_alike():
    X, k = drawn(200, 1500, 11).astype(float), 5
    y = np.sign(X[:, :k].sum(axis=1))
    race = versus(200, k, 1500, 11)
    shared = {"max_iter": 1, "shuffle": False, "fit_intercept": False, "log": True}
    assert fit(Perceptron(**shared), X, y).log_.rounds.tolist() == race.perceptron_rounds.tolist()
    assert fit(Winnow(delta=1 / k, **shared), X, y).log_.rounds.tolist() == race.winnow_rounds.tolist()


@pytest.mark.parametrize(("features", "k"), [(30, 15), (64, 1), (1000, 1), (1000, 5), (300, 299), (20_000, 5)])
def test_both_bounds_hold(features, k):
    race = versus(features, k, 3000, 2)
    assert race.perceptron <= race.perceptron_bound == k * features
    assert race.winnow <= race.winnow_bound <= 2 * k**2 * math.log(features)
    assert race.winnow_bound == pytest.approx(math.log(features) / fall(1 / k))


def test_few_relevant_features_favour_winnow_and_many_the_perceptron():
    """k is below N / (2 ln N), or above it."""
    few, many = versus(10_000, 5, 3000), versus(300, 151, 3000)
    assert few.winnow * 5 < few.perceptron
    assert few.winnow_bound < few.perceptron_bound
    assert many.perceptron_bound < many.winnow_bound


def test_one_relevant_feature_is_halving():
    """What has disagreed once is out: log2 N mistakes at most, and at the end one feature is left."""
    for seed in range(5):
        race = versus(4096, 1, 500, seed)
        assert 0 < race.winnow <= race.winnow_bound == pytest.approx(12)
        assert race.winnow_rounds.max() < 100


def test_the_signs_are_fair():
    """Of the first 2^20 signs the mean, and that of neighbours' products, are within 5 standard errors of 0."""
    X = drawn(1024, 1024, 42)
    assert abs(X.mean()) < 5 / 1024
    assert abs((X[:, 1:] * X[:, :-1]).mean()) < 5 / 1024
    assert abs((X[1:] * X[:-1]).mean()) < 5 / 1024


def test_the_best_progress_is_at_the_best_rate():
    for delta in (0.01, 0.2, 0.9):
        rate = math.atanh(delta)
        assert fall(delta) == pytest.approx(rate * delta - math.log(math.cosh(rate)), rel=1e-9)
        assert fall(delta) >= delta**2 / 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 4), "relevant=4 has no majority"),
        ((10, 11), "odd number from 1 to features=10"),
        ((10, -1), "relevant=-1"),
        ((0, 1), "features=0"),
        ((10, 3, 0), "rounds=0"),
        ((10, 3, 2**31), "rounds=2147483648"),
        ((10, 3, 5, -1), "seed=-1"),
        ((10, 3, 5, 2**64), "seed=18446744073709551616"),
    ],
)
def test_what_is_no_race_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        versus(*arguments)


def test_only_whole_numbers_count():
    with pytest.raises(TypeError):
        versus(10.5, 3)
    assert versus(np.int32(10), np.int8(3), np.int64(20)).rounds == 20
