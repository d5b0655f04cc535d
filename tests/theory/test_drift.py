"""A rise of the error is found where it is, and seldom where it is not."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from linsep.theory.drift import rises
from linsep.theory.exchangeability import LEVEL


def test_steady_streams_have_few_rises():
    rng = np.random.default_rng(0)
    rows = np.full(100, 500)
    found = [bool(rises(rows, rng.binomial(500, rate, 100))) for rate in rng.uniform(0, 0.5, 400)]
    assert np.mean(found) <= 5 * LEVEL


def test_a_learner_that_gets_better_is_no_rise():
    rng = np.random.default_rng(1)
    rate = 0.05 + 0.45 / np.sqrt(np.arange(1, 81))
    assert not any(rises(np.full(80, 300), rng.binomial(300, rate)) for _ in range(200))


@pytest.mark.parametrize("at", [3, 20, 60])
def test_a_rise_is_found_where_it_is(at):
    rng = np.random.default_rng(at)
    rate = np.where(np.arange(80) < at, 0.1, 0.3)
    for _ in range(50):
        [only] = rises(np.full(80, 1000), rng.binomial(1000, rate))
        assert only.window == at
        assert only.row == 1000 * at
        assert only.before == pytest.approx(0.1, abs=0.04)


def test_two_rises():
    found = rises([1000] * 12, [100, 90, 95, 400, 150, 90, 92, 88, 95, 500, 100, 90])
    assert [rise.window for rise in found] == [3, 9]


def test_the_statistic_is_that_of_the_likelihood_ratio():
    for bad in range(11, 60):
        table = [[30, 270], [bad, 100 - bad]]
        statistic = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic / 2
        found = rises([500, 150, 150, 100], [400, 10, 20, bad])
        assert bool(found) == (statistic >= np.log(4 / LEVEL))


@pytest.mark.parametrize("rows", [[], [5], [5, 5], [0, 0, 0], [5, 0, 5, 5]])
def test_little_to_compare(rows):
    assert rises(rows, rows) == []
