"""The n-grams of documents by name: listed, counted, kept so that hashed columns can be read."""

from typing import Any, NamedTuple

import numpy as np

from linsep.data.compiled.ngrams import listing_kernel
from linsep.data.compiled.utf8 import not_utf8, tables
from linsep.data.rows import Spelling
from linsep.data.text.grams import Counts, Grams, ready, to_unit
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array


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
        raise ValueError(not_utf8(data, int(faults[0])))
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


class Names:
    """The n-grams seen, each once, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._seen = Vocabulary()

    def __len__(self) -> int:
        return len(self._seen)

    def take(self, spelling: Spelling) -> None:
        """Keep n-grams."""
        self._seen.take(spelling)

    def columns(self, n_features: int) -> Array:
        """Return the column of every name."""
        return np.abs(self._seen.hashes.view(np.int32).astype(np.int64)) % n_features

    def of(self, column: int, n_features: int) -> list[str]:
        """Return the names of a column."""
        return [self._seen.name(i) for i in np.flatnonzero(self.columns(n_features) == column).tolist()]

    def collisions(self, n_features: int) -> int:
        """Return how many columns have more than one name."""
        return int(np.count_nonzero(np.unique(self.columns(n_features), return_counts=True)[1] > 1))
