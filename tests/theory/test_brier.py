"""The Brier score: its parts against Fractions, its identity, and how often its interval holds what it claims to."""

from fractions import Fraction
from itertools import groupby

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, example, given
from scipy.stats import binom
from sklearn.metrics import brier_score_loss

from linsep.theory.brier import brier_score

EIGHTHS = st.integers(0, 8).map(lambda k: k / 8)
rows = st.lists(st.tuples(EIGHTHS, st.integers(0, 1), st.integers(1, 4)), min_size=1, max_size=30)


def mean(pairs):
    """The mean of values with their weights, exactly."""
    pairs = [(Fraction(value), Fraction(weight)) for value, weight in pairs]
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def exact(rows, bins=None):
    """(value, reliability, resolution, uncertainty, within variance, within covariance) by their definitions."""
    rows = [(Fraction(h), Fraction(y), Fraction(c)) for h, y, c in rows]
    total, base = sum(c for *_, c in rows), mean((y, c) for _, y, c in rows)

    def group(row):
        return row[0] if bins is None else min(int(row[0] * bins), bins - 1)

    reliability = resolution = variance = covariance = Fraction(0)
    for _, members in groupby(sorted(rows, key=group), group):
        members = list(members)
        share = sum(c for *_, c in members) / total
        said, seen = mean((h, c) for h, _, c in members), mean((y, c) for _, y, c in members)
        reliability += share * (said - seen) ** 2
        resolution += share * (seen - base) ** 2
        variance += share * mean(((h - said) ** 2, c) for h, _, c in members)
        covariance += 2 * share * mean(((h - said) * (y - seen), c) for h, y, c in members)
    value = mean(((h - y) ** 2, c) for h, y, c in rows)
    return value, reliability, resolution, base * (1 - base), variance, covariance


def score_of(rows, **more):
    h, y, c = map(np.array, zip(*rows, strict=True))
    return brier_score(y, h, labels=[0, 1], sample_weight=c, **more)


def parts(score):
    return score[:6]


@given(rows=rows, bins=st.sampled_from([None, 1, 2, 3, 5]))
def test_the_parts_are_those_of_the_definition_and_add_up(rows, bins):
    expected = exact(rows, bins)
    value, reliability, resolution, uncertainty, variance, covariance = expected
    assert value == reliability - resolution + uncertainty + variance - covariance
    score = score_of(rows, bins=bins)
    np.testing.assert_allclose(parts(score), [float(part) for part in expected], rtol=0, atol=1e-15)
    if bins is None:
        assert score.within_variance == score.within_covariance == 0


@given(rows=rows)
def test_on_groups_the_distance_to_their_means_is_the_score_above_that_of_the_means(rows):
    """E(h - p)² = E(h - y)² - E(p - y)², p being the share of each group, to the last digit."""
    seen = {h: mean((y, c) for k, y, c in rows if k == h) for h, _, _ in rows}
    above = mean(((seen[h] - Fraction(h)) ** 2, c) for h, _, c in rows)
    assert above == mean(((Fraction(h) - y) ** 2, c) for h, y, c in rows) - mean(
        ((seen[h] - y) ** 2, c) for h, y, c in rows
    )
    assert above == exact(rows)[1]


@pytest.mark.parametrize("seed", range(3))
def test_what_a_forecast_loses_is_its_distance_from_the_truth(seed):
    """By simulation: the difference of two empirical scores is the distance, within 4 standard errors."""
    rng = np.random.default_rng(seed)
    truth = rng.random(100_000)
    said = np.clip(truth + rng.normal(0, 0.2, len(truth)), 0, 1)
    y = rng.random(len(truth)) < truth
    losses = (said - y) ** 2 - (truth - y) ** 2
    gained = brier_score(y, said, bins=10).value - brier_score(y, truth, bins=10).value
    assert gained == pytest.approx(losses.mean(), abs=1e-12)
    distances = (said - truth) ** 2
    off = (losses - distances).std() / np.sqrt(len(y))
    assert abs(gained - distances.mean()) < 4 * off
    assert distances.mean() > 20 * off


def test_the_truth_has_the_least_score_whatever_else_is_said():
    rng = np.random.default_rng(0)
    y = rng.random(50_000) < 0.3
    scores = [brier_score(y, np.full(len(y), h)).value for h in (0.0, 0.2, 0.3, 0.4, 1.0)]
    assert np.argmin(scores) == 2


@given(rows=rows)
def test_a_weight_is_repetition(rows):
    again = [(h, y, 1) for h, y, c in rows for _ in range(c)]
    np.testing.assert_allclose(parts(score_of(rows)), parts(score_of(again)), atol=1e-15)
    absent = [*rows, (0.5, 1, 0), (0.77, 0, 0)]
    np.testing.assert_allclose(parts(score_of(rows)), parts(score_of(absent)), atol=1e-15)
    for group, of in zip(score_of(rows).groups[0], score_of(absent).groups[0], strict=True):
        np.testing.assert_allclose(group, of, atol=1e-14)


def test_the_value_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 2, 3], 200)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 200)]
    c = rng.random(200)
    assert brier_score(y, p, sample_weight=c).value == pytest.approx(
        brier_score_loss(y, p, sample_weight=c, scale_by_half=False), rel=1e-13
    )
    two = y[y != "c"]
    assert brier_score(two, p[: len(two), 0]).value == pytest.approx(
        brier_score_loss(two, p[: len(two), 0], pos_label="b"), rel=1e-13
    )


def test_classes_add_up_each_by_itself():
    rng = np.random.default_rng(2)
    p = rng.multinomial(4, [0.2, 0.3, 0.5], 60) / 4
    y = rng.integers(0, 3, 60)
    alone = np.array([parts(brier_score(y == k, p[:, k])) for k in range(3)])
    score = brier_score(y, p)
    np.testing.assert_allclose(parts(score), alone.sum(axis=0), atol=1e-14)
    assert len(score.groups) == 3
    two = brier_score(y > 0, np.column_stack([p[:, 0], 1 - p[:, 0]]))
    assert parts(two) == parts(brier_score(y > 0, 1 - p[:, 0]))


@given(heads=st.integers(0, 40), tails=st.integers(0, 40))
@example(heads=9, tails=0)  # 1/9, nine times, is 1 + 2**-52
def test_the_interval_of_certain_forecasts_holds_all_that_their_mistakes_do_not_rule_out(heads, tails):
    """Said 0 always, the loss is a coin. No v outside of the interval makes as many heads, or tails, likely."""
    assume(heads + tails > 0)  # there is no score of nothing
    score = brier_score([1] * heads + [0] * tails, np.zeros(heads + tails), labels=[0, 1])
    low, high = score.interval
    assert 0 <= low <= score.value <= high <= 1
    assert 0 <= score.reliability <= 1
    assert 0 <= score.uncertainty <= 0.25
    n = heads + tails
    assert low == 0 or binom.sf(heads - 1, n, low * (1 - 1e-9)) <= 0.025
    assert high == 1 or binom.cdf(heads, n, high * (1 + 1e-9)) <= 0.025
    hoeffding = np.sqrt(np.log(2 / 0.05) / (2 * n))
    assert low >= score.value - hoeffding - 1e-12
    assert high <= score.value + hoeffding + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_holds_the_expected_value_as_often_as_it_says(weighted):
    """Also of few rows and rare events, where a normal interval fails more often."""
    rng = np.random.default_rng(3)
    held, normal, runs = 0, 0, 300
    for _ in range(runs):
        y = rng.random(20) < 0.03
        said = np.where(rng.random(20) < 0.5, 0.0, 0.1)
        c = rng.integers(1, 4, 20) if weighted else np.ones(20)
        expected = 0.5 * 0.03 + 0.5 * (0.03 * 0.81 + 0.97 * 0.01)
        score = brier_score(y, said, labels=[False, True], confidence=0.9, sample_weight=c)
        held += score.interval[0] <= expected <= score.interval[1]
        losses = (said - y) ** 2
        normal += abs(losses.mean() - expected) <= 1.645 * losses.std(ddof=1) / np.sqrt(20)
    assert held >= 0.9 * runs
    assert normal < 0.9 * runs


def test_more_rows_and_less_confidence_make_the_interval_narrower():
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    y = rng.random(4000) < p
    cases = (100, 0.95), (4000, 0.95), (4000, 0.5)
    width = [np.ptp(brier_score(y[:n], p[:n], confidence=c).interval) for n, c in cases]
    assert width[0] > 4 * width[1] > 4 * width[2]
    assert brier_score(y, p).confidence == 0.95


def test_three_classes_have_losses_up_to_2():
    wrong = np.array([[1.0, 0.0, 0.0]] * 5)
    score = brier_score([1, 2, 1, 2, 1], wrong, labels=[0, 1, 2])
    assert score.value == 2
    assert score.interval[0] < 2 == score.interval[1]


@pytest.mark.parametrize(
    ("y", "expected"), [([1, 1], 0.25), ([0, 0], 0.25), ([-1, -1], 0.25), ([True, True], 0.25), ([-1, 1], 0.25)]
)
def test_one_class_alone_is_known_where_its_name_says_which(y, expected):
    assert brier_score(y, [0.5, 0.5]).value == expected
    assert brier_score([y[0]], [1.0]).value == (y[0] != 1)


@pytest.mark.parametrize(
    ("y", "p", "more", "told"),
    [
        ([0, 1], [0.5, 1.5], {}, r"p has 1.5 at \(1,\)"),
        ([0, 1], [0.5, np.nan], {}, r"p has nan at \(1,\)"),
        ([0, 1], [[0.5, 0.2], [0.5, 0.5]], {}, "p of row 0 has the sum 0.7"),
        ([0, 1, 1], [0.5, 0.5], {}, "y has 3 labels and p has 2 rows"),
        ([], [], {}, "one row at least"),
        (["a", "a"], [0.5, 0.5], {}, "pass labels="),
        ([0, 1], [[0.2, 0.3, 0.5]] * 2, {}, "p is that of 3 classes, and y has 2"),
        ([0, 7], [0.5, 0.5], {"labels": [0, 1]}, "the label 7"),
        ([0, 1], [0.5, 0.5], {"labels": [1, 0]}, "sorted order"),
        ([0, 1], [0.5, 0.5], {"bins": 0}, "bins=0"),
        ([0, 1], [0.5, 0.5], {"confidence": 95}, "confidence=95"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [0, 0]}, "zero"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1, -1]}, "[Nn]egative"),
    ],
)
def test_bad_input_is_refused(y, p, more, told):
    with pytest.raises(ValueError, match=told):
        brier_score(y, p, **more)
