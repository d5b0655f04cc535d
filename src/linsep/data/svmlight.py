"""svmlight and libsvm text: `label [qid:n] index:value index:value ... [# comment]`, one row a line.

Labels are numbers. Indices rise within a row and are whole numbers from 0 or from 1; the user states which, or all rows
are scanned. Values are decimal numbers, read to the nearest float. A `qid` is checked and left out, a comment is left
out; blank lines are no rows.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linsep.data.compiled.numbers import exactly, fives
from linsep.data.compiled.svmlight import (
    BAD_LABEL,
    FALLING,
    MOST_FAULTS,
    MOST_HARD,
    NEWLINE,
    REASONS,
    TOO_HIGH,
    TOO_LARGE,
    read_rows,
)
from linsep.data.errors import RowError, quote
from linsep.data.format import LineFormat, RowErrors, flag, whole
from linsep.data.rows import NO_INDEX, Rows, ScratchArena
from linsep.engine.arrays import Array

arena = ScratchArena()


@dataclass
class Svmlight(LineFormat):
    """svmlight text.

    Parameters
    ----------
    n_features : int, optional
        The number of features; by default the highest index of all rows decides.
    zero_based : bool, optional
        If True, indices begin at 0; by default they do if an index 0 occurs anywhere in the sources.
    """

    name: ClassVar[str] = "svmlight"
    n_features: int | None = None
    zero_based: bool | None = None
    low: int = field(default=NO_INDEX, init=False, repr=False)
    high: int = field(default=-1, init=False, repr=False)
    grows: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_features is not None:
            self.n_features = whole("n_features", self.n_features)
        self.zero_based = flag("zero_based", self.zero_based, none=True)

    @property
    def first(self) -> int:
        """The lowest index there can be."""
        return 0 if self.zero_based else 1

    @property
    def settled(self) -> bool:
        """Return whether the first index and the number of features are known."""
        return self.zero_based is not None and (self.n_features is not None or self.grows)

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        return max(self.high + 1 - self.first, 0) if self.n_features is None else self.n_features

    def read_once(self) -> None:
        """Settle what only a scan could decide, as the source can be read only once."""
        self.zero_based, self.grows = bool(self.zero_based), self.n_features is None

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        return parse(text, dtype)

    def note(self, low: int, high: int) -> None:
        """Keep the lowest and the highest index of rows that were seen, here or elsewhere."""
        self.low, self.high = min(self.low, low), max(self.high, high)

    def take(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Keep the lowest and the highest index; return the rows with an index outside of the stated range."""
        least = 1 if self.zero_based is False else 0
        most = NO_INDEX
        if self.n_features is not None and self.known is None:
            most = self.n_features - (1 if self.zero_based else 0)
        if rows.low >= least and rows.high <= most:
            if not self.grows:
                self.note(rows.low, rows.high)
            return rows, {}
        assert rows.indices is not None
        outside = np.flatnonzero((rows.indices < least) | (rows.indices > most))
        wrong: RowErrors = {}
        for entry, row in zip(outside.tolist(), rows.rows_of_entries(outside).tolist(), strict=True):
            index = int(rows.indices[entry])
            low = "index 0, but indices begin at 1 here; pass zero_based=True if they begin at 0"
            high = f"index {index} is beyond the {self.n_features} features that were stated"
            wrong.setdefault(row, (b"%d:" % index, low if index < least else high))
        kept = rows.without(list(wrong)).indices
        if kept is not None and len(kept):
            self.note(int(kept.min()), int(kept.max()))
        return rows, wrong

    def describe_index(self, index: int) -> tuple[bytes, str]:
        """Return an index as it is written, and what to call it."""
        return b"%d:" % index, f"index {index} is one that"

    def settle(self) -> str | None:
        """Fix where indices begin and how many features there are."""
        if self.zero_based is None:
            self.zero_based = self.low == 0
            if self.zero_based and self.high == self.n_features:
                return (
                    f"the indices go from 0 to {self.high}, which is one feature more than the {self.n_features} "
                    "that were stated"
                )
        if not self.grows:
            self.n_features = self.width
        return None

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows with columns counted from 0; None if an index 0 shows that they may have been so before."""
        if self.zero_based is None and self.low == 0:
            return None
        return rows if rows.indices is None else replace(rows, indices=rows.indices - self.first)

    def finish(self, rows: Rows) -> Rows:
        """Count columns from 0; as many as have been seen, if they grow."""
        assert rows.indices is not None
        if self.grows and len(rows.indices):
            self.note(NO_INDEX, int(rows.indices.max()))
        np.subtract(rows.indices, self.first, out=rows.indices)
        return rows


def parse(text: Array, dtype: Any = np.float64, index: Any = np.int32) -> Rows:
    r"""Read a block of whole lines, the last of which ends with a newline.

    >>> rows = parse(np.frombuffer(b"1 3:0.5 7:2e3  # a comment\n-1\n", np.uint8))
    >>> rows.labels, rows.indices, rows.values, rows.indptr
    (array([ 1., -1.]), array([3, 7], dtype=int32), array([5.e-01, 2.e+03]), array([0, 2, 2]))
    """
    text = text.view()
    text.flags.writeable = False  # numba compiles again for arrays that can be written to
    most_rows = np.count_nonzero(text == NEWLINE)
    labels, places, indptr = np.empty(most_rows), np.empty(most_rows, np.int64), np.zeros(most_rows + 1, np.int64)
    indices, values = arena.reserve(len(text) // 4 + 1, index, dtype)  # " 1:1" is the shortest entry
    faulty, hard = np.empty((MOST_FAULTS, 2), np.int64), np.empty((MOST_HARD, 3), np.int64)
    counts = np.array([0, 0, 0, 0, NO_INDEX, -1, 0])
    found: list[list[int]] = []
    lost: list[int] = []
    begin = 0
    while begin < len(text):
        before = begin
        begin = int(read_rows(text, begin, labels, places, indptr, indices, values, faulty, hard, fives(), counts))
        if index is np.int32 and TOO_HIGH in faulty[: counts[2], 1]:
            return parse(text, dtype, np.int64)
        found += faulty[: counts[2]].tolist()
        for entry, at, end in hard[: counts[3]].tolist():
            value = exactly(text[at:end].tobytes(), np.float64 if entry < 0 else dtype)
            if entry < 0:
                labels[-entry - 1] = value
            else:
                values[entry] = value
            if not np.isfinite(value):
                row_of_entry = np.searchsorted(indptr[: counts[0] + 1], entry, "right") - 1
                lost.append(-entry - 1 if entry < 0 else int(row_of_entry))
                found.append([at, BAD_LABEL if entry < 0 else TOO_LARGE])
        if begin == before:
            hard = np.empty((4 * len(hard), 3), np.int64)
        counts[2:4] = 0
    n, m, _, _, low, high, lines = counts.tolist()
    faults = _faults(text, sorted(found))
    rows = Rows(labels[:n], indptr[: n + 1], *arena.keep(m), places[:n], lines, faults, low=low, high=high)
    return _of_others(rows, lost) if lost else rows


def _of_others(rows: Rows, lost: list[int]) -> Rows:
    """Return the rows but for those of some numbers, whose indices count for nothing, either."""
    rows = rows.without(lost)
    assert rows.indices is not None
    low, high = (int(rows.indices.min()), int(rows.indices.max())) if len(rows.indices) else (NO_INDEX, -1)
    return replace(rows, low=low, high=high)


def _faults(text: Array, found: list[list[int]]) -> list[RowError]:
    """Return the first fault of each line; faults are given by where they begin, in rising order, and the reasons."""
    if not found:
        return []
    ends = np.flatnonzero(text == NEWLINE)
    lines, first = np.unique(np.searchsorted(ends, [at for at, _ in found]), return_index=True)
    found = [found[k] for k in first]
    begins = np.append(0, ends + 1)[lines]
    places = zip(found, lines.tolist(), begins.tolist(), ends[lines].tolist(), strict=True)
    return [_fault(text[begin:end].tobytes(), line, at - begin, reason) for (at, reason), line, begin, end in places]


def _fault(row: bytes, line: int, at: int, reason: int) -> RowError:
    """Return the error of a fault at row[at]."""
    words = row[at:].split(maxsplit=1)
    word = words[0] if words else b""
    if reason == FALLING:
        word = word.split(b":")[0]
    return RowError(line, at + 1, REASONS[reason].format(quote(word)), row)
