"""Rows as a format reads them, a part of a file at a time; only here are rows sliced, filtered and joined."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from sys import getrefcount
from threading import local
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from linsep.data.errors import RowError
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order

NO_INDEX = 1 << 62
MUCH = 1 << 24
"""Bytes above which copying with several threads is faster."""

CHUNK_ENTRIES, MOST_CHUNKS = 1 << 20, 3
"""Entries of a chunk, and chunks of that size that a thread keeps."""


class Spelling(NamedTuple):
    """Names in UTF-8, one after the other: name i is letters[marks[i]:marks[i + 1]]."""

    letters: Array
    marks: Array


@dataclass(frozen=True)
class Rows:
    """Rows of a part of a file.

    Sparse rows are `indptr`, `indices`, `values`, columns rising within a row; dense rows are those of a matrix
    `values`, and have no `indptr`. Labels are numbers (NaN: none) or words. `places` holds the line of each row, from 0
    at the part's first; `lines` counts all lines, blank and malformed ones included. `low` and `high` are the
    lowest and the highest index as written, where columns are not decided yet. `names` are the names of the columns, if
    these are numbered for this part only; if columns are hashed, `name_columns` holds the column of each name.
    """

    labels: Array
    indptr: Array | None
    indices: Array | None
    values: Array
    places: Array
    lines: int
    faults: list[RowError] = field(default_factory=list)
    weights: Array | None = None
    low: int = NO_INDEX
    high: int = -1
    names: Spelling | None = None
    name_columns: Array | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def matrix(self, width: int) -> Any:
        """Return the rows as learners take them: a csr_array of this width, or an array."""
        if self.indptr is None or self.indices is None:
            return self.values
        return as_csr(self.values, self.indices, self.indptr, width)

    def without(self, lost: Any) -> Self:
        """Return the rows except those of some numbers."""
        keep = np.ones(len(self), bool)
        keep[lost] = False
        weights = None if self.weights is None else self.weights[keep]
        left = replace(self, labels=self.labels[keep], places=self.places[keep], weights=weights)
        if self.indptr is None or self.indices is None:
            return replace(left, values=self.values[keep])
        indptr, entries = entries_of_rows(self.indptr, keep)
        return replace(left, indptr=indptr, indices=self.indices[entries], values=self.values[entries])

    def without_entries(self, lost: Array) -> Self:
        """Return sparse rows except the entries of a mask."""
        assert self.indptr is not None
        assert self.indices is not None
        indptr = indptr_without(self.indptr, lost)
        return replace(self, indptr=indptr, indices=self.indices[~lost], values=self.values[~lost])

    def between(self, begin: int, end: int) -> Self:
        """Return the rows from one number to before another, as views."""
        here = slice(begin, end)
        weights = None if self.weights is None else self.weights[here]
        part = replace(self, labels=self.labels[here], places=self.places[here], weights=weights)
        if self.indptr is None or self.indices is None:
            return replace(part, values=self.values[here])
        indptr = self.indptr[begin : end + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        return replace(part, indptr=indptr - indptr[0], indices=self.indices[entries], values=self.values[entries])

    def rows_of_entries(self, entries: Any) -> Any:
        """Return the numbers of the rows that entries are in."""
        assert self.indptr is not None
        return np.searchsorted(self.indptr, entries, "right") - 1

    def renumber(self, numbers: Array, signs: Array | None = None) -> Self:
        """Return sparse rows whose column k becomes numbers[k], in order; equal columns add up, by their signs."""
        assert self.indptr is not None
        assert self.indices is not None
        indptr, indices, values = sum_duplicates(self.indptr, self.indices, self.values, numbers, signs)
        return replace(self, indptr=indptr, indices=indices, values=values, names=None)


def join_rows(parts: list[Rows], jobs: int = 1) -> Rows:
    """Return the rows of some parts, one at least, in arrays of their own."""
    weights = None
    if any(rows.weights is not None for rows in parts):
        weights = np.concatenate([np.ones(len(rows)) if rows.weights is None else rows.weights for rows in parts])
    indptr = indices = None
    sparse = [(rows.indptr, rows.indices) for rows in parts if rows.indptr is not None and rows.indices is not None]
    if sparse:
        ends = np.cumsum([0, *(len(entries) for _, entries in sparse)])
        indptr = np.concatenate([[0], *(marks[1:] + end for (marks, _), end in zip(sparse, ends, strict=False))])
        indices = _concatenate([entries for _, entries in sparse], jobs)
    return replace(
        parts[0],
        labels=np.concatenate([rows.labels for rows in parts]),
        indptr=indptr,
        indices=indices,
        values=_concatenate([rows.values for rows in parts], jobs),
        places=np.concatenate([rows.places for rows in parts]),
        weights=weights,
    )


def in_blocks(parts: Iterable[Rows], count: int, least: int) -> Iterator[list[Rows]]:
    """Yield the rows in groups of `count`, each as a list of parts; the last group may have fewer rows.

    If `least` is below `count`, a group is yielded as soon as it has so many rows.
    """
    waiting: list[Rows] = []
    n_rows = 0
    for rows in parts:
        waiting.append(rows)
        n_rows += len(rows)
        while n_rows >= least:
            n_rows -= min(count, n_rows)
            yield _first_rows(waiting, count)
    if n_rows:
        yield waiting


def _first_rows(waiting: list[Rows], count: int) -> list[Rows]:
    """Remove the first rows of a list of parts, as many as there are up to `count`, and return them."""
    taken: list[Rows] = []
    while count and waiting:
        rows = waiting.pop(0)
        if len(rows) > count:
            waiting.insert(0, rows.between(count, len(rows)))
            rows = rows.between(0, count)
        taken.append(rows)
        count -= len(rows)
    return taken


def as_csr(values: Array, indices: Array, indptr: Array, width: int) -> sp.csr_array:
    """Return sparse rows without a copy, but for indptr, whose type must be that of the indices."""
    small = len(values) < 2**31 and width <= 2**31
    kind = np.dtype(np.int32 if small and indices.dtype == np.int32 else np.int64)
    parts = (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    X = sp.csr_array((len(indptr) - 1, width), dtype=values.dtype)
    X.data, X.indices, X.indptr = parts
    return X


def entries_of_rows(indptr: Array, keep: Array) -> tuple[Array, Array]:
    """Return the indptr of the rows of a mask, and the mask of their entries.

    >>> entries_of_rows(np.array([0, 2, 3]), np.array([False, True]))
    (array([0, 1]), array([False, False,  True]))
    """
    lengths = np.diff(indptr)
    return np.concatenate([[0], np.cumsum(lengths[keep])]), np.repeat(keep, lengths)


def indptr_without(indptr: Array, lost: Array) -> Array:
    """Return the indptr of sparse rows without the entries of a mask.

    >>> indptr_without(np.array([0, 2, 3]), np.array([True, False, False]))
    array([0, 1, 2])
    """
    return indptr - np.concatenate([[0], np.cumsum(lost)])[indptr]


def sum_duplicates(
    indptr: Array, indices: Array, values: Array, numbers: Array, signs: Array | None = None
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return sparse entries whose column k becomes numbers[k], in order; equal columns add up, by their signs.

    >>> sum_duplicates(np.array([0, 3]), np.array([0, 1, 2]), np.ones(3), np.array([5, 1, 5]))
    (array([0, 2]), array([1, 5]), array([1., 2.]))
    """
    values = values if signs is None else values * signs[indices]
    X: Any = sp.csr_array((len(indptr) - 1, int(numbers.max(initial=-1)) + 1), dtype=values.dtype)
    X.data, X.indices, X.indptr = values.copy(), numbers[indices], indptr.astype(numbers.dtype)
    X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices, X.data


def _concatenate(arrays: list[Array], jobs: int) -> Array:
    """Return arrays one after the other, in the widest of their types; threads share the copying."""
    kind = max((array.dtype for array in arrays), key=lambda dtype: dtype.itemsize)
    ends = np.cumsum([0, *map(len, arrays)]).tolist()
    whole = np.empty((ends[-1], *arrays[0].shape[1:]), kind)

    def copy(k: int) -> None:
        whole[ends[k] : ends[k + 1]] = arrays[k]

    for _ in in_order(copy, range(len(arrays)), jobs if whole.nbytes > MUCH else 1):
        pass
    return whole


class Chunk:
    """A chunk of memory for indices and values, handed out from its beginning to its end."""

    def __init__(self, size: int, index: Any, dtype: Any) -> None:
        self.indices, self.values, self.used = np.empty(size, index), np.empty(size, dtype), 0
        self.unshared = self._references()

    def _references(self) -> int:
        return getrefcount(self.indices) + getrefcount(self.values)

    def fits(self, entries: int, index: Any, dtype: Any) -> bool:
        """Return whether there is room for so many entries; reuse the chunk if nobody refers to any of it."""
        if (self.indices.dtype, self.values.dtype) != (index, dtype):
            return False
        if self._references() == self.unshared:
            self.used = 0
        return len(self.values) - self.used >= entries


class ScratchArena(local):
    """Each thread's own chunks of memory; a chunk is reused when all of its entries have been dropped."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def reserve(self, entries: int, index: Any, dtype: Any) -> tuple[Array, Array]:
        """Return arrays for so many entries; call `keep` before the next call."""
        found = next((chunk for chunk in self.chunks if chunk.fits(entries, index, dtype)), None)
        if found is None:
            found = Chunk(max(CHUNK_ENTRIES, entries), index, dtype)
        self.chunks = [found, *(chunk for chunk in self.chunks if chunk is not found)][:MOST_CHUNKS]
        return found.indices[found.used :], found.values[found.used :]

    def keep(self, entries: int) -> tuple[Array, Array]:
        """Return the first entries of the arrays that were reserved last; they are handed out only once."""
        chunk = self.chunks[0]
        if len(chunk.values) > CHUNK_ENTRIES:
            self.chunks.pop(0)
        begin, chunk.used = chunk.used, chunk.used + entries
        return chunk.indices[begin : chunk.used], chunk.values[begin : chunk.used]
