"""Disjoint combinations cancel exactly and are no more than the fewest errors, which all sets of rows are tried for."""

import time
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.solvers.exact import disjoint
from linsep.solvers.exact.disjoint import disjoint_combinations, fewer_errors
from tests.solvers.gordan import minimal_witnesses

tables = st.integers(1, 3).flatmap(
    lambda p: st.lists(st.lists(st.integers(-3, 3), min_size=p, max_size=p), min_size=1, max_size=9)
)


def fewest(Z, owners):
    """The least number of owners in all sets of rows that cancel."""
    sets = [{owners[i] for i in found} for found in minimal_witnesses(Z)]
    every = sorted(set(owners))
    return next(k for k in range(len(every) + 1) for out in combinations(every, k) if all({*out} & of for of in sets))


def check(Z, owners, found):
    seen = set()
    for rows, values in found:
        assert min(values) > 0
        assert rows == sorted(set(rows))
        for column in Z.T.tolist():
            assert sum(Fraction(column[i]) * v for i, v in zip(rows, values, strict=True)) == 0
        of = {owners[i] for i in rows}
        assert not of & seen
        seen |= of


@settings(max_examples=60)
@given(tables, st.integers(1, 2), st.integers(-9, 9))
def test_combinations_cancel_and_are_no_more_than_the_fewest_errors(rows, each, scale):
    Z = np.ldexp(np.array(rows, float), scale)
    owners = [i // each for i in range(len(Z))]
    found = disjoint_combinations(sp.csr_array(Z), np.array(owners), np.ones(Z.shape[1]))
    check(Z, owners, found)
    assert bool(found) == bool(minimal_witnesses(Z))
    assert len(found) <= fewest(Z, owners)


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_twins_are_all_found(size):
    half = np.random.default_rng(0).normal(size=(40, 3)) * size
    Z = np.vstack([half, -half, np.zeros((2, 3))])
    found = disjoint_combinations(sp.csr_array(Z), np.arange(82), np.ones(3))
    check(Z, range(82), found)
    assert len(found) == 42


def test_columns_of_other_sizes_change_little():
    """On a line with labels at random a set has three rows, and there are sets for most of the rows."""
    rng = np.random.default_rng(1)
    x, signs = rng.normal(size=90), rng.choice([-1.0, 1.0], 90)
    counts = []
    for scale in (1.0, 2.0**-300, 2.0**300):
        Z = signs[:, None] * np.column_stack([scale * x, np.ones(90)])
        found = disjoint_combinations(sp.csr_array(Z), np.arange(90), np.array([1.0 / scale, 0.0]))
        check(Z, range(90), found)
        counts.append(len(found))
    assert min(counts) >= 20


def test_rows_that_can_be_separated_have_none():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(200, 4))
    Z *= np.sign(Z @ [1.0, 2.0, -1.0, 0.5])[:, None]
    assert disjoint_combinations(sp.csr_array(Z), np.arange(200), np.array([1.0, 0.0, 0.0, 0.0])) == []


def test_the_deadline_ends_the_search():
    Z = sp.csr_array(np.random.default_rng(3).normal(size=(400, 5)))
    assert disjoint_combinations(Z, np.arange(400), np.ones(5), deadline=time.monotonic() - 1) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-3, 3)), min_size=1, max_size=8))
def test_the_best_step_has_no_better_one(pairs):
    scores, change = np.array(pairs, float).T
    turns = sorted({-a / b for a, b in pairs if b})
    tried = [0.0, *turns, *(t + 0.5 for t in turns), *(t - 0.5 for t in turns)]
    tried += [(a + b) / 2 for a, b in pairwise(turns)]
    t = disjoint._best_step(scores, change)
    assert np.sum(scores + t * change <= 0) == min(np.sum(scores + t * change <= 0) for t in tried)


def test_fewer_errors_are_found_and_never_more():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    Z = sp.csr_array(np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1.0, -1.0)[:, None] * X)
    for start in (np.ones(3), np.zeros(3), np.array([1.0, 0.0, 0.0])):
        w = fewer_errors(Z, start)
        assert np.sum(Z @ w <= 0) <= min(np.sum(Z @ start <= 0), 25)
