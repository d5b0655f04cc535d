"""X W and Xᵀ R for tables and sparse rows, the constant feature included, with the same bits on any number of threads.

The rows are cut into blocks that depend on the data alone. The blocks' shares of Xᵀ R are added in the order of the
blocks, however many threads made them. A table's values are read in their own type: a few rows at a time become
float64, never the whole.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.native import unsigned
from linsep.engine.runtime import one_blas_thread, share, split
from linsep.engine.tiers import tiered

Weigh = Callable[[Array, int, int], Array]

TABLE_ENTRIES = 1 << 16
"""Entries of a table that are multiplied at a time: they fit the processor's cache as float64."""
FEWEST_ROWS = 64
"""Rows that a table is multiplied by at a time at least: each such block has sums as large as the weights."""
MOST_BLOCKS = 16
"""Blocks that sparse rows are cut into at most: no more threads than this find work."""


@one_blas_thread()
def times(data: Dense | Csr, weights: Array, jobs: int = 1) -> Array:
    """Return X W, (rows, columns), for weights of shape (features + 1, columns).

    >>> times(Dense(np.array([[1.0, 2.0], [0.0, 3.0]]), bias=1.0), np.array([[1.0], [1.0], [0.5]]))
    array([[3.5],
           [3.5]])
    """
    data, weights = read_only(data), freeze(weights)
    out = np.empty((data.n_rows, weights.shape[1]))
    share([partial(_times, data, weights, lo, hi, out) for lo, hi in blocks(data)], jobs)
    return out


@one_blas_thread()
def times_transposed(data: Dense | Csr, coefficients: Array, jobs: int = 1, *, squares: bool = False) -> Array:
    """Return Xᵀ R, (features + 1, columns), for coefficients R of shape (rows, columns).

    With `squares` each stored entry of X is squared first.

    >>> times_transposed(Dense(np.array([[1.0, 2.0], [0.0, 3.0]]), bias=1.0), np.array([[1.0], [2.0]]))
    array([[1.],
           [8.],
           [3.]])
    """
    data, coefficients = read_only(data), freeze(coefficients)
    total = np.zeros((data.n_features + 1, coefficients.shape[1]))
    tasks = [partial(_transposed, data, coefficients[lo:hi], lo, hi, squares) for lo, hi in blocks(data)]
    add_up(total, tasks, jobs)
    return total


@one_blas_thread()
def sweep(data: Dense | Csr, weights: Array, weigh: Weigh, jobs: int = 1) -> tuple[Array, Array]:
    """Return U = X W and Xᵀ R for R = weigh(U[lo:hi], lo, hi), each block of rows read once for both.

    >>> table = Dense(np.array([[1.0, 2.0], [0.0, 3.0]]), bias=1.0)
    >>> U, total = sweep(table, np.array([[1.0], [1.0], [0.5]]), lambda U, lo, hi: U - 3)
    >>> total.ravel()
    array([0.5, 2.5, 1. ])
    """
    data, weights = read_only(data), freeze(weights)
    out = np.empty((data.n_rows, weights.shape[1]))
    total = np.zeros(weights.shape)

    def both(lo: int, hi: int) -> Array:
        _times(data, weights, lo, hi, out)
        return _transposed(data, freeze(weigh(out[lo:hi], lo, hi)), lo, hi)

    add_up(total, [partial(both, lo, hi) for lo, hi in blocks(data)], jobs)
    return out, total


def blocks(data: Dense | Csr) -> list[tuple[int, int]]:
    """Cut the rows into ranges, the same for any number of threads.

    A sparse block's sums are as large as the weights: it has some eight entries for each of them, so that the work on
    the entries prevails.
    """
    rows, features = data.n_rows, data.n_features
    if isinstance(data, Dense):
        return split(rows, min(-(-rows * features // TABLE_ENTRIES), rows // FEWEST_ROWS)) if rows else []
    return split(rows, min(MOST_BLOCKS, len(data.values) // (8 * (features + 1)))) if rows else []


def pieces(data: Dense | Csr, step: int) -> Iterator[tuple[slice, Dense | Csr]]:
    """Yield `step` rows at a time, one at least, with their places."""
    step = max(1, step)
    for lo in range(0, data.n_rows, step):
        hi = min(lo + step, data.n_rows)
        yield slice(lo, hi), data.slice(lo, hi)


def as_table(data: Dense | Csr) -> Array:
    """Return the rows as a table without the constant feature; columns stored twice add up."""
    return data.values if isinstance(data, Dense) else data.to_scipy().toarray()


def gather_rows(data: Csr, rows: Array) -> tuple[Array, Array, Array]:
    """Return the values, the columns and the ends of these rows, in any order; none are checked, for speed."""
    entries, ends = data.entries(rows)
    return data.values[entries], data.indices[entries], ends


def largest_entry(data: Dense | Csr) -> float:
    """Return the largest |entry|, the constant feature's among them.

    >>> largest_entry(Dense(np.array([[1.0, -3.0]]), bias=2.0))
    3.0
    """
    high, low = float(np.max(data.values, initial=0.0)), float(np.min(data.values, initial=0.0))
    return max(high, -low, abs(data.bias))


def freeze(array: Array, kind: type = np.float64) -> Array:
    """Return the array as read-only and in C order, the one kind that kernels are compiled for."""
    return frozen(np.ascontiguousarray(array, kind))


def read_only(data: Dense | Csr) -> Dense | Csr:
    """Return the data with arrays that can't be written to, the one kind that kernels are compiled for.

    >>> read_only(Dense(np.ones((2, 2)), bias=0.0)).values.flags.writeable
    False
    """
    return type(data)._make(frozen(part) if isinstance(part, np.ndarray) else part for part in data)


def _times(data: Dense | Csr, weights: Array, lo: int, hi: int, out: Array) -> None:
    if isinstance(data, Csr):
        rows = data.values, data.indices, data.indptr, data.bias
        if weights.shape[1] == 1:
            times_column(*rows, weights.reshape(-1), lo, hi, out.reshape(-1))
        else:
            times_columns(*rows, weights, lo, hi, out)
        return
    np.matmul(data.values[lo:hi].astype(np.float64, copy=False), weights[:-1], out=out[lo:hi])
    out[lo:hi] += data.bias * weights[-1]


def _transposed(data: Dense | Csr, coefficients: Array, lo: int, hi: int, squares: bool = False) -> Array:
    out = np.zeros((data.n_features + 1, coefficients.shape[1]))
    if isinstance(data, Csr):
        rows = data.values, data.indices, data.indptr
        if out.shape[1] == 1 and not squares:
            transposed_times_column(*rows, coefficients.reshape(-1), lo, hi, out.reshape(-1))
        else:
            transposed_times_columns(*rows, coefficients, lo, hi, squares, out)
    else:
        table = data.values[lo:hi].astype(np.float64, copy=False)
        np.matmul((table * table if squares else table).T, coefficients, out=out[:-1])
    out[-1] = data.bias ** (2 if squares else 1) * coefficients.sum(axis=0)
    return out


def add_up(total: Array, tasks: Sequence[Callable[[], Array]], jobs: int) -> None:
    """Add the tasks' results to `total` in their order, holding as many at a time as there are threads."""
    for first in range(0, len(tasks), jobs):
        for part in share(tasks[first : first + jobs], jobs):
            total += part


def _work(values: Array, indices: Array, indptr: Array, *others: Any) -> int:
    """Return the products of a call that ends with the arguments lo, hi, ..., out."""
    lo, hi = (other for other in others if isinstance(other, int) and not isinstance(other, bool))
    return (hi - lo) * (len(values) // max(1, len(indptr) - 1) + 4) * (others[-1].size // len(others[-1]))


@tiered(_work)
def times_column(
    values: Array, indices: Array, indptr: Array, bias: float, weights: Array, lo: int, hi: int, out: Array
) -> None:
    """Write the products of rows lo to hi with one column of weights."""
    last = weights.shape[0] - 1
    for i in range(lo, hi):
        even = odd = 0.0  # two sums: an addition need not wait for the one before
        start, stop = np.intp(indptr[i]), np.intp(indptr[i + 1])
        for k in range(start, stop - 1, 2):
            even += weights[unsigned(indices[k])] * values[k]
            odd += weights[unsigned(indices[k + 1])] * values[k + 1]
        if (stop - start) % 2:
            even += weights[unsigned(indices[stop - 1])] * values[stop - 1]
        out[i] = even + odd + weights[last] * bias


@tiered(_work)
def times_columns(
    values: Array, indices: Array, indptr: Array, bias: float, weights: Array, lo: int, hi: int, out: Array
) -> None:
    """Write the products of rows lo to hi with several columns of weights."""
    last, columns = weights.shape[0] - 1, weights.shape[1]
    for i in range(lo, hi):
        for c in range(columns):
            out[i, c] = weights[last, c] * bias
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, v = unsigned(indices[k]), np.float64(values[k])
            for c in range(columns):
                out[i, c] += weights[j, c] * v


@tiered(_work)
def transposed_times_column(
    values: Array, indices: Array, indptr: Array, coefficients: Array, lo: int, hi: int, out: Array
) -> None:
    """Add rows lo to hi times their coefficients, the first of which is that of row lo."""
    for i in range(lo, hi):
        r = coefficients[i - lo]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[unsigned(indices[k])] += r * values[k]


@tiered(_work)
def transposed_times_columns(
    values: Array, indices: Array, indptr: Array, coefficients: Array, lo: int, hi: int, squares: bool, out: Array
) -> None:
    """Add rows lo to hi, or the squares of their entries, times their coefficients of each column."""
    columns = out.shape[1]
    for i in range(lo, hi):
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, v = unsigned(indices[k]), np.float64(values[k])
            v = v * v if squares else v
            for c in range(columns):
                out[j, c] += coefficients[i - lo, c] * v
