"""Tests of exchangeability by the order of labels: seldom wrong on random orders, and seen where rows are sorted."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from linsep.theory.exchangeability import LEVEL, LabelOrder


def test_of(codes):
    order = LabelOrder()
    order.add(codes)
    return order.test()


test_of.__test__ = False


@pytest.mark.parametrize("counts", [[5, 5], [50, 50], [300, 3], [40, 30, 20, 1]])
def test_random_orders_are_refuted_as_seldom_as_is_said(counts):
    codes, rng = np.repeat(np.arange(len(counts)), counts), np.random.default_rng(0)
    values = np.array([test_of(rng.permutation(codes)).p_value for _ in range(1000)])
    for level in (LEVEL, 0.05, 0.2):
        assert np.mean(values <= level) <= level


@pytest.mark.parametrize(
    "codes",
    [np.repeat([0, 1], 30), np.repeat([1, 0, 1, 0], 40), np.tile([0, 1], 40), np.repeat(np.arange(10), 30),
     np.random.default_rng(0).random(2000) < np.linspace(0.3, 0.7, 2000)],
)  # fmt: skip
def test_orders_that_are_not_random_are_refuted(codes):
    assert test_of(codes.astype(int)).refuted


@pytest.mark.parametrize("codes", [[], [0], [0, 0, 0], [0, 1], [0, 0, 1]])
def test_a_few_rows_refute_nothing(codes):
    assert test_of(np.array(codes, int)).p_value == 1


def test_how_rows_are_cut_into_blocks_changes_nothing():
    codes = np.random.default_rng(0).integers(0, 4, 1000) ** 2
    cut = LabelOrder()
    for part in np.array_split(codes, 37):
        cut.add(part)
    assert cut.test() == test_of(codes)


def test_runs_are_hypergeometric():
    rng, codes = np.random.default_rng(0), np.repeat([0, 1], [6, 9])
    runs = []
    for _ in range(4000):
        shuffled = rng.permutation(codes)
        runs.append(int(np.sum((shuffled == 0) & (np.append(1, shuffled[:-1]) != 0))))
    share = np.bincount(runs, minlength=7) / 4000
    np.testing.assert_allclose(share, hypergeom(15, 10, 6).pmf(np.arange(7)), atol=0.025)
