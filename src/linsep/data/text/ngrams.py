"""Documents to rows of n-gram counts, hashed or numbered by a vocabulary, and weights of rare n-grams.

An n-gram g of hash h(g), a number of 32 bits with a sign, counts in column |h(g)| mod n_features, with the sign of h(g)
if signs alternate, so that n-grams that meet in a column cancel on average (Weinberger et al. 2009). The same columns
and values as scikit-learn's HashingVectorizer.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from linsep.data.compiled.text import CONTEXTUAL, hash_documents, list_grams, lower_contextual, not_utf8, tables
from linsep.data.names import Vocabulary, frozen
from linsep.data.rows import entries_of_rows, indptr_without
from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError

LARGEST = 1 << 31
"""Bytes of a document, and columns, must be fewer."""


class Grams(NamedTuple):
    """The n-grams of a document: of characters or words, `low` to `high` of them."""

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

    def take(self, keep: Array) -> "Counts":
        """Return the rows of a mask."""
        indptr, entries = entries_of_rows(self.indptr, keep)
        return Counts(indptr, self.indices[entries], self.values[entries], self.faults[keep])

    def without(self, lost: Array) -> "Counts":
        """Return the rows except the entries of a mask."""
        if not lost.any():
            return self
        return Counts(indptr_without(self.indptr, lost), self.indices[~lost], self.values[~lost], self.faults)


def hash_text(text: Array, begins: Array, ends: Array, grams: Grams, dtype: Any = np.float64) -> Counts:
    """Hash the documents text[begins[i]:ends[i]], as bytes.

    >>> rows = hash_text(np.frombuffer(b"no no yes", np.uint8), np.array([0]), np.array([9]), Grams(unit=False))
    >>> rows.indices, rows.values
    (array([369542, 992878], dtype=int32), array([-1.,  2.]))
    """
    text, begins, ends = prepare(text, begins, ends, grams.lowercase)
    lengths, faults = np.empty(len(begins), np.int64), np.empty(len(begins), np.int64)
    parts: list[tuple[Array, Array]] = []
    first, needed = 0, 0
    while first < len(begins):
        space = max(int(ends[-1] - begins[first]) // 4, needed)
        indices, values = np.empty(space, np.int32), np.empty(space, dtype)
        before = first
        first, needed = hash_documents(
            text, begins, ends, first, *grams[:-1], *tables(grams.lowercase), lengths, indices, values, faults
        )
        entries = int(lengths[before:first].sum())
        parts.append((indices[:entries], values[:entries]))
    indices, values = parts[0] if len(parts) == 1 else _concatenate(parts, dtype)
    return Counts(np.concatenate([[0], np.cumsum(lengths)]), indices, values, faults)


def prepare(text: Array, begins: Array, ends: Array, lowercase: bool) -> tuple[Array, Array, Array]:
    """Return documents with those lower-cased that the compiled code leaves to Python; not to be written to."""
    if len(begins) and int(np.max(ends - begins)) >= LARGEST:
        raise InvalidDataError(f"document {int(np.argmax(ends - begins)):,} has 2³¹ bytes or more: cut it to parts")
    whole = text.tobytes() if lowercase else b""
    if any(capital[:1] in whole and capital in whole for capital in CONTEXTUAL):
        marks = zip(begins.tolist(), ends.tolist(), strict=True)
        text, begins, ends = join_documents([lower_contextual(whole[i:k]) for i, k in marks])
    return frozen(text, np.uint8), frozen(begins, np.int64), frozen(ends, np.int64)


def to_unit(indptr: Array, values: Array) -> None:
    """Divide the values of every row by the row's length; squares are rounded as the compiled code rounds them."""
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    norms = np.sqrt(np.bincount(rows, values * values, len(lengths)))
    norms[norms == 0] = 1
    np.divide(values, norms[rows], out=values, casting="same_kind")


def _concatenate(parts: list[tuple[Array, Array]], dtype: Any) -> tuple[Array, Array]:
    """Return the columns and the values of all parts."""
    empty = (np.empty(0, np.int32), np.empty(0, dtype))
    indices, values = zip(empty, *parts, strict=True)
    return np.concatenate(indices), np.concatenate(values)


def join_documents(documents: list[bytes]) -> tuple[Array, Array, Array]:
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


def list_ngrams(text: Array, begins: Array, ends: Array, grams: Grams) -> Listed:
    """List the n-grams of the documents text[begins[i]:ends[i]]: of each, first those with the fewest pieces."""
    text, begins, ends = prepare(text, begins, ends, grams.lowercase)
    return Listed(*list_grams(text, begins, ends, grams.chars, grams.low, grams.high, *tables(grams.lowercase)))


def tokens(text: str | bytes, analyzer: str = "word", lowercase: bool = True) -> list[str]:
    """Return the words (or the characters, for analyzer "char") of a document in order.

    >>> tokens("The Perceptron's 2nd mistake: naïve_Bayes, a Σίσυφος!")
    ['the', 'perceptron', '2nd', 'mistake', 'naïve_bayes', 'σίσυφος']
    """
    data = text.encode() if isinstance(text, str) else text
    grams = Grams(analyzer == "char", lowercase=lowercase)
    clean, begins, ends, _, faults = list_ngrams(
        np.frombuffer(data, np.uint8), np.array([0]), np.array([len(data)]), grams
    )
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
    clean, firsts, lasts, lengths, faults = list_ngrams(text, begins, ends, grams)
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


class Frequencies:
    """In how many documents each column was seen: what is rare weighs more, ln((1 + n) / (1 + its documents)) + 1.

    >>> frequencies = Frequencies(3)
    >>> frequencies.see(documents=2, columns=np.array([0, 1, 0]))
    >>> frequencies.weights(np.array([0, 1, 2]), np.float64).round(3)
    array([1.   , 1.405, 2.099])
    """

    def __init__(self, width: int = 0) -> None:
        self.documents = 0
        self._width = width
        self._counts: Array | None = None
        self._few: tuple[Array, Array] = np.empty(0, np.int64), np.empty(0, np.int64)
        """Columns in order and their counts, all others being 0, until a count for each column is asked for."""

    @property
    def counts(self) -> Array:
        """The documents of each column."""
        if self._counts is None:
            self._counts = np.zeros(self._width, np.int64)
            self._counts[self._few[0]] = self._few[1]
        return self._counts

    @counts.setter
    def counts(self, counts: Array) -> None:
        self._counts = counts

    @property
    def width(self) -> int:
        """The number of columns."""
        return self._width if self._counts is None else len(self._counts)

    def widen(self, width: int) -> None:
        """Make room for this many columns, or more."""
        if width > self.width:
            more = max(width, 2 * self.width) - self.width
            self.counts = np.concatenate([self.counts, np.zeros(more, np.int64)])

    def see(self, documents: int, columns: Array, times: Any = 1) -> None:
        """Count documents: each of the columns was in one document, or in `times`."""
        self.documents += documents
        np.add.at(self.counts, columns, times)

    def state(self) -> dict[str, Any]:
        """Return what was counted, ready for JSON."""
        columns, counts = self._few
        if self._counts is not None:
            columns = np.flatnonzero(self._counts)
            counts = self._counts[columns]
        return {"documents": self.documents, "columns": columns.tolist(), "in": counts.tolist()}

    @classmethod
    def restored(cls, state: dict[str, Any], width: int) -> Self:
        """Return what a state was taken from, with room for this many columns; it takes memory for those counted alone.

        >>> Frequencies.restored({"documents": 5, "columns": [1], "in": [3]}, 2).counts
        array([0, 3])
        """
        columns, counts = (np.array(state[name], np.int64) for name in ("columns", "in"))
        documents = state["documents"]
        sound = (
            type(documents) is int and 0 <= documents < 1 << 62 and columns.ndim == 1 and columns.shape == counts.shape
        )
        outside = (columns < 0) | (columns >= width) | (counts < 0) | (counts > documents) if sound else True
        if np.any(outside) or np.any(columns[1:] <= columns[:-1]):
            raise ValueError("the documents that columns were seen in are not counted as they should be")
        frequencies = cls(width)
        frequencies.documents, frequencies._few = documents, (columns, counts)
        return frequencies

    def weights(self, columns: Array, dtype: Any) -> Array:
        """Return the weights of columns."""
        seen = self._of(columns).astype(dtype) + np.ones(1, dtype)
        return np.log(np.dtype(dtype).type(1 + self.documents) / seen) + np.ones(1, dtype)

    def _of(self, columns: Array) -> Array:
        """Return the documents of some columns."""
        few, counts = self._few
        if self._counts is not None:
            return np.asarray(self._counts[columns])
        if not len(few):
            return np.zeros(len(columns), np.int64)
        place = np.minimum(np.searchsorted(few, columns), len(few) - 1)
        return np.where(few[place] == columns, counts[place], 0)

    def weigh(self, indptr: Array, indices: Array, values: Array, unit: bool) -> None:
        """Multiply the values of rows by the weights of their columns; those of unit rows have length 1 then."""
        values *= self.weights(indices, values.dtype)
        if unit:
            to_unit(indptr, values)
