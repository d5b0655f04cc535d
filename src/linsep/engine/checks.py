"""Compiled scans of the input: bad entries, unsorted indices, distinct labels."""

from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.kernel_cache import cached_njit
from linsep.engine.native import unsigned


@cached_njit(nogil=True)
def first_beyond(values: Array, limit: float) -> int:
    """Return the position of the first entry of a flat array that is not a number within [-limit, limit], or -1."""
    for k in range(values.shape[0]):
        if not abs(values[k]) <= limit:
            return k
    return -1


@cached_njit(nogil=True)
def highest_index(indices: Array) -> int:
    """Return the highest index, read as an unsigned number: a negative one is higher than any."""
    top = unsigned(indices[0])
    for k in range(indices.shape[0]):
        j = unsigned(indices[k])
        top = j if j > top else top
    return top


@cached_njit(nogil=True)
def numbered(labels: Array, low: int, high: int) -> tuple[Array, Array]:
    """Return the distinct labels in order, and the number of each label among them; all lie in low to high."""
    places = np.zeros(high - low + 1, np.int32)
    for label in labels:
        places[label - low] = 1
    distinct = np.flatnonzero(places) + low
    for k in range(distinct.shape[0]):
        places[distinct[k] - low] = k
    codes = np.empty(labels.shape[0], np.int32)
    for i in range(labels.shape[0]):
        codes[i] = places[labels[i] - low]
    return distinct, codes


@cached_njit(nogil=True)
def rises(indices: Array, indptr: Array) -> bool:
    """Tell whether in every row each index is above the one before it."""
    falls = 0
    for k in range(1, indices.shape[0]):
        falls += 1 if indices[k] <= indices[k - 1] else 0
    for i in range(1, indptr.shape[0] - 1):
        k = indptr[i]
        if indptr[i - 1] < k < indices.shape[0] and indices[k] <= indices[k - 1]:
            falls -= 1
    return falls == 0


class ColumnIndexError(ValueError):
    """A column index that is negative or beyond the last column."""


def place_of(position: int, width: int, indices: Any = None, indptr: Any = None) -> tuple[int, int]:
    """Return the row and column of an entry, given its position in the flat values."""
    if indices is None:
        return divmod(position, width)
    return int(np.searchsorted(indptr, position, side="right")) - 1, int(indices[position])
