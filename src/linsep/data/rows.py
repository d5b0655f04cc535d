"""Rows as a format gives them, a part of a file at a time; they are filtered, cut and joined here."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.data.errors import RowError
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order

NO_INDEX = 1 << 62
MUCH = 1 << 24
"""Bytes above which it pays to copy with several threads."""


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
    lowest and the highest index as written, where that is not settled yet. `names` are the names of the columns, if
    these are numbered for this part only.
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

    def __len__(self) -> int:
        return len(self.labels)


def without(rows: Rows, lost: Any) -> Rows:
    """Return the rows but for those of some numbers."""
    keep = np.ones(len(rows), bool)
    keep[lost] = False
    weights = None if rows.weights is None else rows.weights[keep]
    left = replace(rows, labels=rows.labels[keep], places=rows.places[keep], weights=weights)
    if rows.indptr is None or rows.indices is None:
        return replace(left, values=rows.values[keep])
    lengths = np.diff(rows.indptr)
    entries = np.repeat(keep, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths[keep])])
    return replace(left, indptr=indptr, indices=rows.indices[entries], values=rows.values[entries])


def without_entries(rows: Rows, lost: Array) -> Rows:
    """Return sparse rows but for the entries that a mask tells."""
    assert rows.indptr is not None
    assert rows.indices is not None
    indptr = rows.indptr - np.concatenate([[0], np.cumsum(lost)])[rows.indptr]
    return replace(rows, indptr=indptr, indices=rows.indices[~lost], values=rows.values[~lost])


def cut(rows: Rows, count: int) -> tuple[Rows, Rows]:
    """Return the first rows, and the rest, as views."""
    return _part(rows, 0, count), _part(rows, count, len(rows))


def _part(rows: Rows, begin: int, end: int) -> Rows:
    here = slice(begin, end)
    weights = None if rows.weights is None else rows.weights[here]
    part = replace(rows, labels=rows.labels[here], places=rows.places[here], weights=weights)
    if rows.indptr is None or rows.indices is None:
        return replace(part, values=rows.values[here])
    indptr = rows.indptr[begin : end + 1]
    entries = slice(int(indptr[0]), int(indptr[-1]))
    return replace(part, indptr=indptr - indptr[0], indices=rows.indices[entries], values=rows.values[entries])


def joined(parts: list[Rows], jobs: int = 1) -> Rows:
    """Return the rows of some parts, one at least, in arrays of their own."""
    weights = None
    if any(rows.weights is not None for rows in parts):
        weights = np.concatenate([np.ones(len(rows)) if rows.weights is None else rows.weights for rows in parts])
    indptr = indices = None
    sparse = [(rows.indptr, rows.indices) for rows in parts if rows.indptr is not None and rows.indices is not None]
    if sparse:
        ends = np.cumsum([0, *(len(entries) for _, entries in sparse)])
        indptr = np.concatenate([[0], *(marks[1:] + end for (marks, _), end in zip(sparse, ends, strict=False))])
        indices = _stacked([entries for _, entries in sparse], jobs)
    return replace(
        parts[0],
        labels=np.concatenate([rows.labels for rows in parts]),
        indptr=indptr,
        indices=indices,
        values=_stacked([rows.values for rows in parts], jobs),
        places=np.concatenate([rows.places for rows in parts]),
        weights=weights,
    )


def _stacked(arrays: list[Array], jobs: int) -> Array:
    """Return arrays one after the other, in the widest of their types; threads share the copying."""
    kind = max((array.dtype for array in arrays), key=lambda dtype: dtype.itemsize)
    ends = np.cumsum([0, *map(len, arrays)]).tolist()
    whole = np.empty((ends[-1], *arrays[0].shape[1:]), kind)

    def copy(k: int) -> None:
        whole[ends[k] : ends[k + 1]] = arrays[k]

    for _ in in_order(copy, range(len(arrays)), jobs if whole.nbytes > MUCH else 1):
        pass
    return whole


def renumbered(rows: Rows, numbers: Array, signs: Array | None = None) -> Rows:
    """Return sparse rows whose column k becomes numbers[k], in order; those that become one add up, by their signs."""
    assert rows.indptr is not None
    assert rows.indices is not None
    indptr, indices, values = added_up(rows.indptr, rows.indices, rows.values, numbers, signs)
    return replace(rows, indptr=indptr, indices=indices, values=values, names=None)


def added_up(
    indptr: Array, indices: Array, values: Array, numbers: Array, signs: Array | None = None
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return sparse entries whose column k becomes numbers[k], in order; those that become one add up, by their signs.

    >>> added_up(np.array([0, 3]), np.array([0, 1, 2]), np.ones(3), np.array([5, 1, 5]))
    (array([0, 2]), array([1, 5]), array([1., 2.]))
    """
    values = values if signs is None else values * signs[indices]
    X: Any = sp.csr_array((len(indptr) - 1, int(numbers.max(initial=-1)) + 1), dtype=values.dtype)
    X.data, X.indices, X.indptr = values.copy(), numbers[indices], indptr.astype(numbers.dtype)
    X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices, X.data
