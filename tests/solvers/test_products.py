"""X W and Xᵀ R: equal to the plain products, and to themselves on any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers import products
from linsep.solvers.products import blocks, sweep, times, times_transposed


def frozen(array):
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def as_csr(X, bias):
    X = sp.csr_matrix(X)
    return Csr(frozen(X.data), frozen(X.indices), frozen(X.indptr), X.shape[1], bias)


def sparse_table(rows, features, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.3)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "csr", "float32"])
def test_products_are_the_plain_ones(kind, columns):
    X = sparse_table(200, 7)
    X = X.astype(np.float32) if kind == "float32" else X
    data = as_csr(X, 2.0) if kind == "csr" else Dense(frozen(X), 2.0)
    rng = np.random.default_rng(1)
    W, R = rng.normal(size=(8, columns)), rng.normal(size=(200, columns))
    full = np.column_stack([X.astype(np.float64), np.full(200, 2.0)])
    np.testing.assert_allclose(times(data, W), full @ W, atol=1e-12)
    np.testing.assert_allclose(times_transposed(data, R), full.T @ R, atol=1e-12)
    np.testing.assert_allclose(times_transposed(data, R, squares=True), (full**2).T @ R, atol=1e-12)
    U, total = sweep(data, W, lambda scores, lo, hi: scores * R[lo:hi])
    np.testing.assert_allclose(U, full @ W, atol=1e-12)
    np.testing.assert_allclose(total, full.T @ (full @ W * R), atol=1e-11)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_threads_change_no_bit(kind, monkeypatch):
    monkeypatch.setattr(products, "TABLE_ENTRIES", 500)
    X = sparse_table(3000, 5)
    data = as_csr(X, 1.0) if kind == "csr" else Dense(frozen(X), 1.0)
    assert len(blocks(data)) > 4
    rng = np.random.default_rng(1)
    W, R = rng.normal(size=(6, 2)), rng.normal(size=(3000, 2))
    for jobs in (2, 3):
        assert (times(data, W, jobs) == times(data, W)).all()
        assert (times_transposed(data, R, jobs) == times_transposed(data, R)).all()
        pair = [sweep(data, W, lambda scores, lo, hi: scores * R[lo:hi], n) for n in (1, jobs)]
        assert all((a == b).all() for a, b in zip(*pair, strict=True))


def test_repeated_and_unsorted_columns_add_up():
    data = Csr(
        frozen([1.0, 2.0, 4.0]), frozen(np.array([1, 0, 1], np.int32)), frozen(np.array([0, 3], np.int32)), 2, 1.0
    )
    assert times(data, np.array([[1.0], [10.0], [100.0]])).item() == 2 + 50 + 100
    np.testing.assert_array_equal(times_transposed(data, np.array([[3.0]])).ravel(), [6.0, 15.0, 3.0])


@pytest.mark.parametrize("shape", [(0, 3), (4, 0)])
def test_no_rows_or_no_features(shape):
    for data in (Dense(frozen(np.zeros(shape)), 1.0), as_csr(np.zeros(shape), 1.0)):
        W, R = np.ones((shape[1] + 1, 1)), np.ones((shape[0], 1))
        np.testing.assert_array_equal(times(data, W), np.ones((shape[0], 1)))
        assert times_transposed(data, R)[-1] == shape[0]
