"""Documents to rows of hashed n-gram counts, compiled.

An n-gram g of hash h(g), a number of 32 bits with a sign, counts in column |h(g)| mod n_features, with the sign of h(g)
if signs alternate, so that n-grams that meet in a column cancel on average (Weinberger et al. 2009). The same columns
and values as scikit-learn's HashingVectorizer.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from linsep.data.digest import data_digest
from linsep.data.text.hashing import murmur
from linsep.data.text.utf8 import CONTEXTUAL, ONE, lowered, tables
from linsep.data.text.vocabulary import FULL, HALF, frozen
from linsep.data.text.words import pieces, room
from linsep.engine.arrays import Array
from linsep.engine.passes import Kernel, compiled

LARGEST = 1 << 31
"""Bytes of a document, and columns, must be fewer."""
MIDDLE = np.uint64(1 << 31)


class Grams(NamedTuple):
    """Which n-grams of a document count, and how: of characters or words, with `low` to `high` of them."""

    chars: bool = False
    low: int = 1
    high: int = 1
    n_features: int = 1 << 20
    signed: bool = True
    binary: bool = False
    unit: bool = True
    lowercase: bool = True


class Counts(NamedTuple):
    """A row for each document. `faults` has the place of its first byte that is not UTF-8, or -1; its row is empty."""

    indptr: Array
    indices: Array
    values: Array
    faults: Array


@register_jitable
def grams_of(n: int, low: int, high: int) -> int:
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
        values[m + i] = 1 if binary else np.int64(row[i] & FULL) - np.int64(MIDDLE)
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
        total = grams_of(np.int64(n), low, high) if fault < 0 else 0
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
def _hasher() -> Kernel:
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


def hash_text(text: Array, begins: Array, ends: Array, grams: Grams, dtype: Any = np.float64) -> Counts:
    """Hash the documents text[begins[i]:ends[i]], as bytes.

    >>> rows = hash_text(np.frombuffer(b"no no yes", np.uint8), np.array([0]), np.array([9]), Grams(unit=False))
    >>> rows.indices, rows.values
    (array([369542, 992878], dtype=int32), array([-1.,  2.]))
    """
    text, begins, ends = ready(text, begins, ends, grams.lowercase)
    lengths, faults = np.empty(len(begins), np.int64), np.empty(len(begins), np.int64)
    parts: list[tuple[Array, Array]] = []
    first, needed = 0, 0
    while first < len(begins):
        space = max(int(ends[-1] - begins[first]) // 4, needed)
        indices, values = np.empty(space, np.int32), np.empty(space, dtype)
        before = first
        first, needed = _hasher()(
            text, begins, ends, first, *grams[:-1], *tables(grams.lowercase), lengths, indices, values, faults
        )
        entries = int(lengths[before:first].sum())
        parts.append((indices[:entries], values[:entries]))
    indices, values = parts[0] if len(parts) == 1 else _stacked(parts, dtype)
    return Counts(np.concatenate([[0], np.cumsum(lengths)]), indices, values, faults)


def ready(text: Array, begins: Array, ends: Array, lowercase: bool) -> tuple[Array, Array, Array]:
    """Return documents with those lower-cased that the compiled code leaves to Python; not to be written to."""
    if len(begins) and int(np.max(ends - begins)) >= LARGEST:
        raise ValueError(f"document {int(np.argmax(ends - begins)):,} has 2³¹ bytes or more: cut it to parts")
    whole = text.tobytes() if lowercase else b""
    if any(capital[:1] in whole and capital in whole for capital in CONTEXTUAL):
        marks = zip(begins.tolist(), ends.tolist(), strict=True)
        text, begins, ends = joined([lowered(whole[i:k]) for i, k in marks])
    return frozen(text, np.uint8), frozen(begins, np.int64), frozen(ends, np.int64)


def to_unit(indptr: Array, values: Array) -> None:
    """Divide the values of every row by the row's length; squares are rounded as `_write` rounds them."""
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    norms = np.sqrt(np.bincount(rows, values * values, len(lengths)))
    norms[norms == 0] = 1
    np.divide(values, norms[rows], out=values, casting="same_kind")


def _stacked(parts: list[tuple[Array, Array]], dtype: Any) -> tuple[Array, Array]:
    """Return the columns and the values of all parts."""
    empty = (np.empty(0, np.int32), np.empty(0, dtype))
    indices, values = zip(empty, *parts, strict=True)
    return np.concatenate(indices), np.concatenate(values)


def joined(documents: list[bytes]) -> tuple[Array, Array, Array]:
    """Return documents as one text, and where each begins and ends."""
    marks = np.cumsum([0, *map(len, documents)])
    return np.frombuffer(b"".join(documents), np.uint8), marks[:-1], marks[1:]
