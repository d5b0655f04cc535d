"""The constant feature's value where the first row chooses it."""

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense

AUTO = "auto"
"""The value of `intercept_scaling` with which the first row chooses."""
NO_ENTRY = 1.0
"""The constant feature's value after a first row of zeros only."""


def typical_size(values: Array) -> float | None:
    """Return the size of the entry at which the sizes, summed from the largest on, reach half of their total.

    Return None if no entry is a finite number other than 0. The result is one of the sizes |x_j|: it has as few bits
    as the data, zeros do not change it, and c x has |c| times the size of x.

    >>> typical_size(np.array([0.0, 1.0, -2.0, 1.0, 1.0, 1.0])), typical_size(np.array([1000.0, 3.0, 0.5]))
    (1.0, 1000.0)
    """
    sizes = np.sort(np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64)))[::-1]
    if not len(sizes):
        return None
    sums = np.cumsum(sizes / sizes[0])
    return float(sizes[np.searchsorted(sums, sums[-1] / 2)])


def first_entries(data: Dense | Csr, row_weights: Array) -> Array | None:
    """Return the entries of the first row whose weight is not 0, duplicate columns summed; None without such a row.

    >>> first_entries(Dense(np.array([[1.0, 0.0], [2.0, 3.0]]), 0.0), np.array([0.0, 1.0]))
    array([2., 3.])
    """
    rows = np.flatnonzero(row_weights)[:1] if len(row_weights) else np.arange(min(data.n_rows, 1))
    if not len(rows):
        return None
    if isinstance(data, Dense):
        entries: Array = data.values[rows[0]]
        return entries
    row = data.slice(int(rows[0]), int(rows[0]) + 1)
    distinct, places = np.unique(row.indices, return_inverse=True)
    return row.values if len(distinct) == len(row.indices) else np.bincount(places, row.values)
