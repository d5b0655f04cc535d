"""Blocks of rows: as the data have them, and their products and distances exact where they can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linsep.engine.data_kinds import Csr, Dense
from linsep.kernels import blocks
from linsep.kernels.blocks import block_of
from linsep.kernels.functions import Linear, Polynomial, RadialBasis, kernel_matrix
from tests.kernels.kernel_forms import both, table, whole


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [slice(None), slice(2, 5), slice(0, 0), slice(None, None, 2), [5, 0, 0, 3], []])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_blocks_are_rows_of_the_data(dtype, kind, rows):
    rows = rows if isinstance(rows, slice) else np.array(rows, np.int64)
    X = whole(7, 5).astype(dtype)
    X[4] = 0.0
    sparse = csr_array(X)
    block = block_of(Dense(frozen(X), 1.0), rows)
    assert block.dtype == np.float64
    assert block.flags.c_contiguous
    assert np.array_equal(block, X[rows])
    parts = frozen(sparse.data), frozen(sparse.indices.astype(kind)), frozen(sparse.indptr.astype(kind))
    block = block_of(Csr(*parts, 5, 1.0), rows)
    assert isinstance(block, csr_array)
    assert block.dtype == np.float64
    assert np.array_equal(block.toarray(), X[rows])


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def test_little_of_large_data_is_not_copied_and_repeated_columns_are_summed():
    X = frozen(whole(7, 5))
    assert np.shares_memory(block_of(Dense(X, 0.0), slice(1, 3)), X)
    values, indices = np.array([1.0, 2.0, 4.0, 8.0, 16.0], np.float32), np.array([3, 0, 3, 3, 1], np.int32)
    before = values.copy(), indices.copy()
    data = Csr(frozen(values), frozen(indices), frozen(np.array([0, 4, 4, 5], np.int32)), 4, 0.0)
    block = block_of(data, slice(None))
    assert np.array_equal(block.toarray(), [[2.0, 0, 0, 13], [0, 0, 0, 0], [0, 16, 0, 0]])
    assert block.has_canonical_format
    assert np.array_equal(data.values, before[0])
    assert np.array_equal(data.indices, before[1])
    for kernel in (Linear(), Polynomial(2), RadialBasis(0.01)):
        assert np.array_equal(kernel(block, block), kernel(block.toarray(), block.toarray()))
        assert np.array_equal(kernel.diagonal(block), kernel.diagonal(block.toarray()))


@pytest.mark.parametrize("rows", [np.array([7]), np.array([0, 99])])
def test_rows_that_are_not_there(rows):
    X = csr_array(whole(7, 5))
    with pytest.raises(IndexError):
        block_of(Csr(X.data, X.indices, X.indptr, 5, 0.0), rows)
    with pytest.raises(IndexError):
        block_of(Dense(X.toarray(), 0.0), rows)


def test_rows_of_different_lengths():
    for kernel in (Linear(), Polynomial(2), RadialBasis(1.0)):
        for form in (np.array, csr_array):
            with pytest.raises(ValueError, match="rows of 3 and of 4 features"):
                kernel_matrix(kernel, form(np.ones((2, 3))), form(np.ones((2, 4))))


@pytest.mark.parametrize("wide", [10**6, 2**40])
def test_many_features_are_never_written_out(wide):
    rng = np.random.default_rng(0)
    used = np.sort(rng.choice(10**6, 12, replace=False)) + (wide - 10**6)
    A, B = whole(5, 12), whole(6, 12, seed=2)
    A[:, -1], B[:, -3:] = 1.0, 0.0

    def spread(X):
        small = csr_array(X)
        kind = np.int32 if wide < 2**31 else np.int64
        return csr_array((small.data, used[small.indices].astype(kind), small.indptr.astype(kind)), (len(X), wide))

    for kernel in (Linear(), Polynomial(3), RadialBasis(0.1)):
        K = kernel_matrix(kernel, spread(A), spread(B))
        np.testing.assert_allclose(K, table(kernel, A, B), rtol=1e-15)
        empty = spread(np.zeros((2, 12)))
        assert np.array_equal(kernel(empty, spread(B)), kernel(csr_array((2, 12)), csr_array(B)))
        assert np.array_equal(kernel(spread(B), empty), kernel(csr_array(B), csr_array((2, 12))))


@both
@pytest.mark.parametrize("size", [1e-170, 1e-30, 1.0, 1e30, 1e150])
def test_equal_rows_have_a_radial_kernel_of_exactly_1(left, right, size):
    X = np.random.default_rng(0).normal(size=(40, 97)) * size
    gamma = min(1 / size, 1e300) / size if size > 1e-150 else 1e300
    K = kernel_matrix(RadialBasis(gamma), left(X), right(np.vstack([X[3], X])))
    assert np.array_equal(np.diagonal(K, 1), np.ones(40))
    assert K[3, 0] == 1.0
    assert K.min() >= 0.0
    assert K.max() == 1.0


def test_many_equal_rows_are_all_found(monkeypatch):
    monkeypatch.setattr(blocks, "PAIRS", 4)
    X = np.repeat(np.random.default_rng(0).normal(size=(1, 97)) * 1e6, 11, axis=0)
    X[5] = 0.0
    equal = np.equal.outer(np.arange(11) == 5, np.arange(11) == 5)
    assert np.array_equal(RadialBasis(1.0)(X, X), equal)


@pytest.mark.slow
@both
@given(
    seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1.0, 1e4, 1e9]), step=st.sampled_from([1.0, 1e-3, 1e-9])
)
def test_near_rows_are_told_apart(left, right, seed, offset, step):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 6)) + offset
    B = A[[4, 2, 0]] + step * rng.normal(size=(3, 6))
    kernel = RadialBasis(1 / step**2)
    expected = table(kernel, A, B)
    distances = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    blur = 2.0**-52 * (A.shape[1] + 4) * ((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1))
    error = np.abs(kernel(left(A), right(B)) - expected)
    assert np.all(error <= kernel.gamma * blur + 1e-14)
    assert np.all(error[distances < blur / 4] <= 1e-14)
