"""Documents to n-grams, compiled: counted by hash, or listed."""

from functools import cache
from typing import Any

import numpy as np
from numba.extending import register_jitable

from linsep.data.compiled.digest import data_digest
from linsep.data.compiled.hashing import murmur
from linsep.data.compiled.name_table import HALF, LOW_HALF
from linsep.data.compiled.numbers import ONE
from linsep.data.compiled.words import pieces, room
from linsep.engine.arrays import Array
from linsep.engine.kernel_cache import CompiledKernel, compiled
from linsep.engine.multimethods import inlined

MIDDLE = np.uint64(1 << 31)
"""What stands for a count of 0."""


@register_jitable
def gram_count(n: int, low: int, high: int) -> int:
    """Return how many n-grams n pieces have."""
    top = min(high, n)
    return (top - low + 1) * (2 * n - low - top + 2) // 2 if top >= low else 0


@register_jitable
def _count(
    clean: Any, begins: Any, n: Any, chars: bool, low: int, high: int, n_features: int, signed: bool,
    table: Any, size: Any,
) -> Any:  # fmt: skip
    """Count the n-grams in a table that is nearly in order of columns; return where it ends.

    A column's place is its share of the table, or the next free one. An entry is the column, then 2³¹ + its count.
    """
    scale = (np.uint64(size) << HALF) // np.uint64(n_features)
    mask = np.uint64(n_features - 1) if n_features & (n_features - 1) == 0 else np.uint64(0)
    gap = np.uint64(0) if chars else ONE
    end = np.uint64(0)
    for length in range(low, np.int64(min(high, n)) + 1):
        for i in range(np.uint64(n) - np.uint64(length) + ONE):
            h = murmur(clean, np.uint64(begins[i]), np.uint64(begins[i + np.uint64(length)]) - gap, 0)
            negative = h >= np.uint32(1 << 31)
            column = np.uint64(np.uint32(0 - h) if negative else h)
            column = column & mask if mask else column % np.uint64(n_features)
            place = column * scale >> HALF
            while table[place] and table[place] >> HALF != column:
                place += ONE
            entry = table[place] if table[place] else column << HALF | MIDDLE
            table[place] = entry - ONE if negative and signed else entry + ONE
            end = max(end, place + ONE)
    return end


@register_jitable
def _sorted_row(table: Any, end: Any, row: Any) -> Any:
    """Move the entries of a table, nearly in order, to a row that is in order, and return how many there are."""
    n = np.uint64(0)
    for place in range(end):
        row[n] = table[place]
        n += ONE if table[place] else np.uint64(0)
        table[place] = 0
    for i in range(ONE, n):
        entry = row[i]
        k = np.uint64(i)
        while k and row[k - ONE] > entry:
            row[k] = row[k - ONE]
            k -= ONE
        row[k] = entry
    return n


@register_jitable
def _write(row: Any, n: Any, binary: bool, unit: bool, indices: Any, values: Any, m: Any) -> None:
    """Write a row's columns and values from m on; those of a unit row have length 1.

    Squares are of the values' type, as scikit-learn's are: in float32 those of large counts are rounded.
    """
    squares = 0.0
    for i in range(n):
        indices[m + i] = row[i] >> HALF
        values[m + i] = 1 if binary else np.int64(row[i] & LOW_HALF) - np.int64(MIDDLE)
        squares += values[m + i] * values[m + i]
    if unit and squares > 0.0:
        norm = np.sqrt(squares)
        for i in range(n):
            values[m + i] = values[m + i] / norm


@register_jitable
def _hash(
    text: Any, begins: Any, ends: Any, first: Any,
    chars: bool, low: Any, high: Any, n_features: Any, signed: bool, binary: bool, unit: bool,
    fold: Any, small: Any, kinds: Any, lengths: Any, indices: Any, values: Any, faults: Any,
) -> Any:  # fmt: skip
    """Hash the documents from the first on until there is no room; return the next one and the room that it needs."""
    longest = 0
    for i in range(first, begins.shape[0]):
        longest = max(longest, ends[i] - begins[i])
    low_text, clean = np.empty(room(longest), np.uint8), np.empty(room(longest), np.uint8)
    starts = np.empty(room(longest), np.uint32)
    table, row = np.zeros(1, np.uint64), np.empty(1, np.uint64)
    m = np.uint64(0)
    for i in range(first, begins.shape[0]):
        n, fault = pieces(text, begins[i], ends[i], chars, fold, small, kinds, low_text, clean, starts)
        faults[i] = fault - begins[i] if fault >= 0 else -1
        total = gram_count(np.int64(n), low, high) if fault < 0 else 0
        most = min(total, n_features)
        if np.int64(m) + most > indices.shape[0]:
            return i, most
        size = 16
        while size < 2 * total and size < n_features:
            size *= 2
        if size + most > table.shape[0]:
            table, row = np.zeros(size + most, np.uint64), np.empty(size + most, np.uint64)
        lengths[i] = 0
        if total:
            end = _count(clean, starts, n, chars, low, high, n_features, signed, table, size)
            entries = _sorted_row(table, end, row)
            _write(row, entries, binary, unit, indices, values, m)
            m += entries
            lengths[i] = entries
    return begins.shape[0], 0


@cache
def hashing_kernel() -> CompiledKernel:
    """Return the compiled `_hash`."""
    digest = data_digest()

    def kernel(
        text: Array, begins: Array, ends: Array, first: int,
        chars: bool, low: int, high: int, n_features: int, signed: bool, binary: bool, unit: bool,
        fold: Array, small: Array, kinds: Array, lengths: Array, indices: Array, values: Array, faults: Array,
    ) -> Any:  # fmt: skip
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return _hash(
            text, begins, ends, first, chars, low, high, n_features, signed, binary, unit,
            fold, small, kinds, lengths, indices, values, faults,
        )  # fmt: skip

    return compiled(kernel, digest)


@inlined
def _list(
    text: Any, begins: Any, ends: Any, chars: bool, low: Any, high: Any, fold: Any, small: Any, kinds: Any,
) -> Any:  # fmt: skip
    """Return what `Listed` of linsep.data.text.ngrams holds."""
    documents = begins.shape[0]
    lengths, faults = np.empty(documents, np.int64), np.empty(documents, np.int64)
    counts = np.empty(documents, np.int64)
    longest = size = 0
    for i in range(documents):
        longest = max(longest, ends[i] - begins[i])
        size += ends[i] - begins[i] + 1
    small_text, clean = np.empty(room(longest), np.uint8), np.empty(room(size), np.uint8)
    starts = np.empty(size + 1, np.int64)
    w = s = total = 0
    for i in range(documents):
        n, fault = pieces(text, begins[i], ends[i], chars, fold, small, kinds, small_text, clean[w:], starts[s:])
        n = np.int64(n) if fault < 0 else np.int64(0)
        faults[i] = fault - begins[i] if fault >= 0 else -1
        counts[i], lengths[i] = n, gram_count(n, low, high)
        total += lengths[i]
        if n:
            for k in range(s, s + n + 1):
                starts[k] += w
            s += int(n) + 1
            w = int(starts[s - 1])
    firsts, lasts = np.empty(total, np.int64), np.empty(total, np.int64)
    gap = 0 if chars else 1
    m = s = 0
    for i in range(documents):
        for length in range(low, min(high, counts[i]) + 1):
            for k in range(s, s + counts[i] - length + 1):
                firsts[m], lasts[m] = starts[k], starts[k + length] - gap
                m += 1
        s += counts[i] + 1 if counts[i] else 0
    return clean, firsts, lasts, lengths, faults


@cache
def listing_kernel() -> CompiledKernel:
    """Return the compiled `_list`."""
    digest = data_digest()

    def kernel(
        text: Array, begins: Array, ends: Array, chars: bool, low: int, high: int,
        fold: Array, small: Array, kinds: Array,
    ) -> Any:  # fmt: skip
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return _list(text, begins, ends, chars, low, high, fold, small, kinds)

    return compiled(kernel, digest)
