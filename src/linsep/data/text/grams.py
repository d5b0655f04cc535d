"""Documents to rows of hashed n-gram counts, compiled.

An n-gram g of hash h(g), a number of 32 bits with a sign, counts in column |h(g)| mod n_features, with the sign of h(g)
if signs alternate, so that n-grams that meet in a column cancel on average (Weinberger et al. 2009). The same columns
and values as scikit-learn's HashingVectorizer.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.data.compiled.ngrams import hashing_kernel
from linsep.data.compiled.utf8 import CONTEXTUAL, lowered, tables
from linsep.data.text.vocabulary import frozen
from linsep.engine.arrays import Array

LARGEST = 1 << 31
"""Bytes of a document, and columns, must be fewer."""


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
        first, needed = hashing_kernel()(
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
