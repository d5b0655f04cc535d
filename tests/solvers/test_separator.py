"""The search for a separator: its verdicts, its ends, and the rows that rule one out at a glance."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin import hard as home
from linsep.solvers.margin.delta import delta_bound
from linsep.solvers.margin.hard import opposed_rows, separator
from tests.exact import fractions
from tests.problems import integer_rows
from tests.solvers.rows import dense, frozen, signed, sparse

kinds = pytest.mark.parametrize("kind", [dense, sparse])


def find(X, y, bias=0.0, kind=dense, **more):
    return separator(kind(X, bias), np.asarray(y, float), **more)


def wide(n, p, seed=0, noise=0.0):
    """More features than a working set of few rows can span, as in texts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.2)
    X[:, 0] += 0.1
    y = np.sign(X @ rng.normal(size=p))
    return X, np.where(rng.random(n) < noise, -y, y)


def opposites(Z):
    """The pairs (i, j) with z_i = -z_j and the rows that are 0, one by one."""
    pairs = {(i, j) for i in range(len(Z)) for j in range(i + 1, len(Z)) if (Z[i] == -Z[j]).all() and Z[i].any()}
    return pairs | {(i,) for i in range(len(Z)) if not Z[i].any()}


@kinds
@given(integer_rows(span=1, max_features=3), st.sampled_from([0.0, 2.0]))
def test_opposed_rows_are_those_of_a_plain_search(kind, rows, bias):
    X, y = rows
    found = opposed_rows(kind(X, bias), np.asarray(y, float))
    every = opposites(signed(X, y, bias))
    assert tuple(found) in every if every else not len(found)


def test_entries_in_any_order_and_zeros_of_either_sign():
    values = np.array([1.0, 2.0, 0.0, 2.0, 1.0, -0.0, 5.0])
    data = Csr(
        frozen(values),
        frozen(np.array([0, 3, 1, 3, 0, 2, 4], np.int32)),
        frozen(np.array([0, 3, 6, 7], np.int32)),
        5,
        1.0,
    )
    assert opposed_rows(data, np.array([1.0, -1.0, 1.0])).tolist() == [0, 1]
    assert not len(opposed_rows(data, np.array([1.0, 1.0, 1.0])))
    assert opposed_rows(dense([[0.0, -0.0], [1.0, 0.0]]), np.array([1.0, -1.0])).tolist() == [0]


def test_opposites_far_apart_among_many_rows():
    X = np.random.default_rng(0).normal(size=(3000, 200)).astype(np.float32)
    y = np.ones(3000)
    X[2999], y[2999] = X[1], -1.0
    for data in (Dense(frozen(X), 0.5), sparse(X, 0.5)):
        assert opposed_rows(data, y).tolist() == [1, 2999]
        assert not len(opposed_rows(data, np.ones(3000)))


def test_numbers_that_agree_by_malice_do_not_fool(monkeypatch):
    from linsep.solvers.margin import hard as opposed

    monkeypatch.setattr(opposed, "_mixed", lambda columns, values: np.sign(values).astype(np.int64).astype(np.uint64))
    assert not len(opposed_rows(dense([[1.0, -1.0], [2.0, 3.0], [-4.0, 5.0]]), np.array([1.0, 1.0, -1.0])))


@pytest.mark.slow
@kinds
@given(integer_rows(), st.sampled_from([0.0, 1.0]))
def test_the_verdict_is_right(kind, rows, bias):
    X, y = rows
    found, Z = find(X, y, bias, kind), signed(X, y, bias)
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0), maxiter=10_000)
    distance = np.linalg.norm(Z.T @ a) / a.sum()
    assert found.separable is bool(distance > 1e-6)
    assert found.dual.sum() == pytest.approx(1.0)
    assert np.linalg.norm(Z.T @ found.dual) == pytest.approx(found.upper, abs=1e-12)
    if found.separable:
        assert found.lower <= distance * (1 + 1e-9)
        assert found.upper <= distance * 1.006
        w = fractions(found.weights[None])[0]
        assert all(int(s) * (x @ w[:-1] + w[-1] * Fraction(bias)) > 0 for s, x in zip(y, fractions(X), strict=True))


def test_a_witness_of_two_rows_is_found_at_once():
    X, y = wide(500, 50)
    X[400], y[400] = X[3], -y[3]
    seen = []
    found = find(X, y, 1.0, watch=lambda lower, upper: seen.append((lower, upper)))
    assert (found.separable, found.converged, found.upper, found.iterations) == (False, True, 0.0, 1)
    assert found.support.tolist() == [3, 400]
    assert seen == [(found.lower, 0.0)]
    assert find(np.vstack([X, np.zeros(50)]), np.append(y, 1.0)).support.tolist() == [500]


def test_a_margin_of_no_use_is_not_bracketed():
    X, y = wide(300, 40)
    close = find(X, y)
    assert close.separable is True
    assert close.gap <= 0.005
    soon = find(X, y, enough=2 * close.upper)
    assert soon.separable is True
    assert soon.converged
    assert soon.lower > 0
    assert soon.gap > 0.005
    assert soon.iterations < close.iterations


@kinds
def test_without_promise_the_search_ends(kind, monkeypatch):
    """Where no working set is large enough, a margin that is small enough and rows that stay wrong are the end."""
    X, y = wide(600, 60, noise=0.1)
    monkeypatch.setattr(home, "FULL", 8)
    found = find(X, y, 1.0, kind, enough=0.5)
    assert found.separable is None
    assert not found.converged
    assert found.upper <= 0.5
    assert found.iterations < 100
    assert np.linalg.norm(signed(X, y, 1.0).T @ found.dual) == pytest.approx(found.upper, rel=1e-9)


@kinds
def test_a_separator_is_found_without_working_sets(kind, monkeypatch):
    X, y = wide(400, 60)
    monkeypatch.setattr(home, "FULL", 8)
    found = find(X, y, 1.0, kind, enough=10.0)
    assert found.separable is True
    assert (signed(X, y, 1.0) @ found.weights).min() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_a_start_is_begun_with(bias, monkeypatch):
    X, y = wide(400, 60)
    monkeypatch.setattr(home, "FULL", 8)
    R = float(np.hypot(np.linalg.norm(X, axis=1), bias).max())
    bound = delta_bound(dense(X, bias), y, radius=R, passes=1000)
    warm = find(X, y, bias, enough=1e-9, start=bound.dual)
    assert warm.separable is True
    first = np.linalg.norm(signed(X, y, bias).T @ bound.dual) / bound.dual.sum()
    assert warm.history[0][1] == pytest.approx(first, rel=1e-9)
    again = find(X, y, bias, enough=1e-9, start=warm.dual)
    assert again.iterations == 1
    assert again.upper == pytest.approx(warm.upper, rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_deadline_and_who_watches(noise, monkeypatch):
    X, y = wide(2000, 100, noise=noise)
    monkeypatch.setattr(home, "FULL", 8)
    found = find(X, y, tol=1e-12, deadline=time.monotonic() - 1.0, enough=1e-12)
    assert not found.converged
    seen = []
    begin = time.monotonic()
    found = find(
        X, y, tol=-1.0, max_iter=10**9, deadline=begin + 0.3, enough=1e-12, watch=lambda *pair: seen.append(pair)
    )
    assert time.monotonic() - begin < 2.0
    lower, upper = np.array(seen).T
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert len(set(seen)) == len(seen) > 1
    assert (lower[-1], upper[-1]) == pytest.approx((found.lower, found.upper))


HOSTILE = {
    "huge": ([[1e300, 1.0], [-1e300, 2.0], [1e299, -3.0]], [1, -1, 1], True),
    "tiny": ([[1e-310, 0.0], [-2e-310, 3e-310]], [1, -1], True),
    "one row": ([[1.0, 2.0]], [-1], True),
    "one class": ([[1.0, 2.0], [1.5, 2.0], [3.0, 0.0]], [1, 1, 1], True),
    "opposites": ([[1e300, 1e-310], [-1e300, -1e-310]], [1, 1], False),
    "all zero": ([[0.0, 0.0], [0.0, 0.0]], [1, -1], False),
}


@kinds
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("error")
def test_hostile_rows(name, kind):
    X, y, expected = HOSTILE[name]
    found = find(np.asarray(X), y, kind=kind, enough=1e-320)
    assert found.separable is expected
    assert math.isfinite(found.lower)
    assert math.isfinite(found.upper)


def test_rows_that_nearly_cancel_get_no_wrong_verdict():
    for last in (1.0 + 2.0**-52, 1.0 - 2.0**-53):
        found = find([[1.0, 1.0], [1.0, last]], [1, -1])
        assert found.separable in (None, True, False)
        if found.separable:
            w = fractions(found.weights[None])[0]
            assert w[0] + w[1] > 0 > w[0] + w[1] * Fraction(last)
