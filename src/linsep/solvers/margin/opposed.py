"""Rows that rule out every separator at a glance: one that is 0, or two that are each other's opposites.

Each signed row z = y [x, bias] has a 64-bit number h(z), the sum over its entries of sign(z_j) g(j, |z_j|) for a g that
mixes bits: whole numbers modulo 2^64, so that h(-z) = -h(z) exactly, whatever the order of entries. Opposites are
sought among rows whose numbers are, and compared entry by entry.
"""

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.threads import split
from linsep.solvers.products import features_of, rows_of

AT_ONCE = 1 << 18
"""Entries of the data that are mixed together, at most."""
TRIES = 16
"""Pairs of rows that are compared, at most: the numbers of rows that differ are never equal, but by malice."""
ONE, TWO, THREE = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F))
"""Odd numbers whose bits are well mixed."""
HALF = np.uint64(32)


def opposed_rows(data: Dense | Csr, signs: Array) -> Array:
    """Return the number of a row that is 0, or of two rows with z_i = -z_j; no number where there are none.

    Rows that store a column twice are found only where their opposites store it alike.

    Examples
    --------
    >>> X = Dense(np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0]]), bias=1.0)
    >>> opposed_rows(X, np.array([1.0, 1.0, -1.0]))
    array([0, 2])
    """
    numbers = _numbers(data, signs)
    for i in np.flatnonzero(numbers == 0)[:TRIES]:
        if not len(_entries(data, signs, i)[0]):
            return np.array([i])
    turned = np.negative(numbers)
    low, side = np.minimum(numbers, turned), numbers < turned
    order = np.lexsort((side, low))
    meet = (low[order[1:]] == low[order[:-1]]) & (side[order[1:]] != side[order[:-1]])
    for k in np.flatnonzero(meet)[:TRIES]:
        i, j = np.sort(order[k : k + 2])
        (columns, values), (others, opposites) = _entries(data, signs, i), _entries(data, signs, j)
        if np.array_equal(columns, others) and np.array_equal(values, -opposites):
            return np.array([i, j])
    return np.zeros(0, np.int64)


def _numbers(data: Dense | Csr, signs: Array) -> Array:
    """Return h(z_i) for each row."""
    rows = rows_of(data)
    numbers = np.empty(rows, np.uint64)
    entries = data.values.size
    for lo, hi in split(rows, max(-(-entries // AT_ONCE), 1)) if rows else []:
        if isinstance(data, Dense):
            mixed = _mixed(np.arange(features_of(data), dtype=np.uint64), data.values[lo:hi])
            numbers[lo:hi] = mixed.sum(axis=1, dtype=np.uint64)
        else:
            ends = data.indptr[lo : hi + 1].astype(np.int64)
            here = slice(ends[0], ends[-1])
            sums = np.zeros(ends[-1] - ends[0] + 1, np.uint64)
            np.cumsum(_mixed(data.indices[here].astype(np.uint64), data.values[here]), out=sums[1:])
            numbers[lo:hi] = np.diff(sums[ends - ends[0]])
    numbers += _mixed(np.array([features_of(data)], np.uint64), np.array([data.bias]))
    return np.where(signs > 0, numbers, np.negative(numbers))


def _mixed(columns: Array, values: Array) -> Array:
    """Return sign(v) g(j, |v|) for each entry."""
    values = np.asarray(values, np.float64)
    bits: Array = np.abs(values).view(np.uint64)
    bits = bits + columns * ONE
    for odd in (TWO, THREE):
        bits ^= bits >> HALF
        bits *= odd
    bits ^= bits >> HALF
    np.negative(bits, out=bits, where=values < 0)
    bits[values == 0] = 0
    return bits


def _entries(data: Dense | Csr, signs: Array, i: int) -> tuple[Array, Array]:
    """Return the columns and the values of z_i that are not 0, in order."""
    if isinstance(data, Dense):
        values, columns = data.values[i], np.arange(features_of(data))
    else:
        here = slice(data.indptr[i], data.indptr[i + 1])
        values, columns = data.values[here], data.indices[here]
    values, columns = np.append(values * signs[i], data.bias * signs[i]), np.append(columns, features_of(data))
    order = np.lexsort((np.abs(values), columns))
    order = order[values[order] != 0]
    return columns[order], values[order]
