"""Documents to rows of n-gram counts: hashed, or numbered by a vocabulary.

An n-gram g of hash h(g), a number of 32 bits with a sign, counts in column |h(g)| mod n_features, with the sign of h(g)
if signs alternate, so that n-grams that meet in a column cancel on average (Weinberger et al. 2009). The same columns
and values as scikit-learn's HashingVectorizer.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.data.compiled.ngrams import hashing_kernel, listing_kernel
from linsep.data.compiled.utf8 import CONTEXTUAL, lowered, not_utf8, tables
from linsep.data.text.vocabulary import Vocabulary, frozen
from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError

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
        raise InvalidDataError(f"document {int(np.argmax(ends - begins)):,} has 2³¹ bytes or more: cut it to parts")
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


class Listed(NamedTuple):
    """All n-grams of some documents, in order: n-gram i is clean[begins[i]:ends[i]].

    `lengths` has the number of each document's n-grams, `faults` the place of its first byte that is not UTF-8, or -1;
    such a document has no n-grams.
    """

    clean: Array
    begins: Array
    ends: Array
    lengths: Array
    faults: Array


def listed(text: Array, begins: Array, ends: Array, grams: Grams) -> Listed:
    """List the n-grams of the documents text[begins[i]:ends[i]]: of each, first those with the fewest pieces."""
    text, begins, ends = ready(text, begins, ends, grams.lowercase)
    return Listed(*listing_kernel()(text, begins, ends, grams.chars, grams.low, grams.high, *tables(grams.lowercase)))


def tokens(text: str | bytes, analyzer: str = "word", lowercase: bool = True) -> list[str]:
    """Return the words (or the characters, for analyzer "char") of a document in order.

    >>> tokens("The Perceptron's 2nd mistake: naïve_Bayes, a Σίσυφος!")
    ['the', 'perceptron', '2nd', 'mistake', 'naïve_bayes', 'σίσυφος']
    """
    data = text.encode() if isinstance(text, str) else text
    grams = Grams(analyzer == "char", lowercase=lowercase)
    clean, begins, ends, _, faults = listed(np.frombuffer(data, np.uint8), np.array([0]), np.array([len(data)]), grams)
    if faults[0] >= 0:
        raise InvalidDataError(not_utf8(data, int(faults[0])))
    whole = clean.tobytes()
    return [whole[i:k].decode() for i, k in zip(begins.tolist(), ends.tolist(), strict=True)]


def count_text(
    text: Array, begins: Array, ends: Array, grams: Grams, vocabulary: Vocabulary, *, grow: bool = True,
    dtype: Any = np.float64,
) -> tuple[Counts, int]:  # fmt: skip
    """Count the n-grams of the documents text[begins[i]:ends[i]]; the column of one is its number in a vocabulary.

    Unless the vocabulary may grow, n-grams that are not in it are left out; how many is returned beside the rows.

    >>> vocabulary, how = Vocabulary(), Grams(unit=False)
    >>> rows, _ = count_text(np.frombuffer(b"no no yes", np.uint8), np.array([0]), np.array([9]), how, vocabulary)
    >>> rows.indices, rows.values, vocabulary.names()
    (array([0, 1], dtype=int32), array([2., 1.]), ['no', 'yes'])
    """
    clean, firsts, lasts, lengths, faults = listed(text, begins, ends, grams)
    columns = vocabulary.number(clean, firsts, lasts, grow)
    entries = np.repeat(np.arange(len(lengths)) << 32, lengths) | columns
    unseen = 0
    if not grow:
        entries = entries[columns >= 0]
        unseen = len(columns) - len(entries)
    entries.sort(kind="stable")  # rows are in order already: only what is within them has to be moved
    new = np.ones(len(entries), bool)
    np.not_equal(entries[1:], entries[:-1], out=new[1:])
    at = np.flatnonzero(new)
    indices = (entries[at] & ((1 << 32) - 1)).astype(np.int32)
    indptr = np.searchsorted(entries[at], np.arange(len(lengths) + 1) << 32)
    values = np.ones(len(at), dtype) if grams.binary else np.diff(at, append=len(entries)).astype(dtype)
    if grams.unit:
        to_unit(indptr, values)
    return Counts(indptr, indices, values, faults), unseen
