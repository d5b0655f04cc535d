"""Rows of tables and of sparse data."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep.engine.data_kinds import Csr, Dense


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("rows", [[4, 0, 0, -1], [], slice(1, 4), np.arange(6) % 2 == 0], ids=str)
def test_rows_are_those_of_scipy(rows, index):
    X = sp.random_array((6, 5), density=0.4, format="csr", rng=np.random.default_rng(3))
    X.data[:], X.indices, X.indptr = np.arange(X.nnz) + 1.0, X.indices.astype(index), X.indptr.astype(index)
    data, table = Csr(X.data, X.indices, X.indptr, 5, 1.0), Dense(X.toarray(), 1.0)
    chosen = np.asarray(rows, np.intp) if isinstance(rows, list) else rows
    part = data.take(chosen)
    assert np.array_equal(part.to_scipy().toarray(), table.take(chosen).values)
    assert np.array_equal(part.values, X[chosen].data)
    assert part.indices.dtype == part.indptr.dtype == index
    assert np.array_equal(data.slice(2, 5).to_scipy().toarray(), table.slice(2, 5).values)
    assert np.shares_memory(data.slice(2, 5).values, data.values)
    row, column = data.place(4)
    assert table.values[row, column] == data.values[4] == np.ravel(table.values)[row * 5 + column]
    assert table.place(row * 5 + column) == (row, column)
