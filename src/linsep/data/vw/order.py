"""The entries of a row in the order of their columns, those of one column added up; compiled."""

from typing import Any

import numpy as np

from linsep.data.numbers import ONE, ZERO
from linsep.data.vw.lean import called

HALF, LOW_HALF, NO_COLUMN = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)
FEW = 24
"""Entries that are sorted by insertion; longer rows are sorted digit by digit."""
MOST_DIGITS = 1 << 11
"""Values that a digit may have."""


@called
def _insert(keys: Any, n: Any) -> None:
    """Sort a few keys."""
    for k in range(ONE, n):
        key, j = keys[k], np.uint64(k)
        while j > ZERO and keys[j - ONE] > key:
            keys[j] = keys[j - ONE]
            j -= ONE
        keys[j] = key


@called
def _sort(keys: Any, n: Any, bits: int, starts: Any) -> Any:
    """Sort keys[:n] by the `bits` bits of their columns, digit by digit from the last; returns where they are then.

    Each digit moves them between keys[:n] and keys[n:2n]. More keys are worth longer, and so fewer, digits.
    """
    width = 6 if n < np.uint64(256) else 9 if n < np.uint64(4096) else 11
    source, target = ZERO, n
    for shift in range(0, bits, width):
        down, last = np.uint64(32 + shift), np.uint64((1 << width) - 1)
        starts[: 1 << width] = 0
        for k in range(source, source + n):
            starts[(keys[k] >> down) & last] += ONE
        total = target
        for j in range(last + ONE):
            starts[j], total = total, total + starts[j]
        for k in range(source, source + n):
            key = keys[k]
            place = starts[(key >> down) & last]
            keys[place] = key
            starts[(key >> down) & last] = place + ONE
        source, target = target, source
    return source


@called
def order(indices: Any, values: Any, first: Any, m: Any, bits: int, keys: Any, copy: Any, starts: Any) -> Any:
    """Sort the entries of a row from `first` to `m` by column and add up those of one column; returns their new end.

    Those of one column are added in the order of the text: a key is the column and, below it, the place in the row.
    `keys` has room for twice the entries, `copy` for as many, `starts` for MOST_DIGITS.
    """
    n = np.uint64(m - first)
    end = np.uint64(first)
    for k in range(n):
        keys[k] = np.uint64(indices[end + k]) << HALF | k
        copy[k] = values[end + k]
    source = ZERO
    if n <= np.uint64(FEW):
        _insert(keys, n)
    else:
        source = _sort(keys, n, bits, starts)
    last = NO_COLUMN
    for k in range(source, source + n):
        column, value = keys[k] >> HALF, copy[keys[k] & LOW_HALF]
        if column == last:
            values[end - ONE] += value
        else:
            indices[end], values[end] = column, value
            end += ONE
        last = column
    return np.int64(end)


@called
def all_finite(values: Any, first: Any, m: Any) -> bool:
    """Tell whether all of values[first:m] are finite."""
    zero = 0.0
    for k in range(first, m):
        zero += values[k] * 0.0
    return zero == 0.0
