"""svmlight and libsvm text: `label [qid:n] index:value index:value ... [# comment]`, one row a line.

Labels are numbers. Indices rise within a row and are whole numbers from 0 or from 1; which of the two is said by the
user or found by a look at all rows. Values are decimal numbers, read to the nearest float. A `qid` is checked and left
out, a comment is left out; blank lines are no rows.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from linsep.data.digest import data_digest
from linsep.data.errors import Fault, shown
from linsep.data.numbers import HARD, NO_NUMBER, ONE, digit, doubtful, exactly, fives, number
from linsep.data.rows import NO_INDEX, Rows, without
from linsep.data.slabs import Slabs
from linsep.engine.arrays import Array
from linsep.engine.kernel_cache import cached_njit
from linsep.engine.multimethods import cold, inlined
from linsep.engine.passes import Kernel, compiled

NEWLINE, RETURN, SPACE, TAB, COLON, HASH, SMALL_Q = 10, 13, 32, 9, 58, 35, 113
BAD_LABEL, BAD_INDEX, BAD_VALUE, FALLING, TOO_HIGH, BAD_QID, NO_COLON, TOO_LARGE, TWO_QIDS = range(9)
REASONS = {
    BAD_LABEL: "{} is not a label: a row begins with a number",
    BAD_INDEX: "{} is not index:value",
    BAD_VALUE: "{} is not a finite number",
    FALLING: "index {} is not above the one before it: indices must rise within a row",
    TOO_HIGH: "index {} is too large",
    BAD_QID: "{} is not qid:number",
    TWO_QIDS: "{} is the second qid: a row has one at most",
    TOO_LARGE: "{} is too large for the type of the values",
    NO_COLON: "{} is not index:value: there is no colon after the index",
}
MOST_FAULTS, MOST_HARD = 256, 256
"""Faults and hard numbers after which the compiled reader lets Python deal with them, and goes on."""
slabs = Slabs()
BEFORE_QID, AFTER_QID = np.int64(-2), np.int64(-1)
"""What stands for the last index of a row that has had none yet."""
TWO, THREE, NINE, TEN = (np.uint64(k) for k in (2, 3, 9, 10))


@cached_njit(nogil=True)
def lines_in(text: Array) -> int:
    """Return how many lines there are."""
    lines = 0
    for k in range(text.shape[0]):
        lines += 1 if text[k] == NEWLINE else 0
    return lines


@inlined
def _ends(text: Any, k: Any) -> bool:
    """Tell whether a label or a value may end before text[k]."""
    c = text[k]
    return c in (SPACE, TAB, NEWLINE, HASH) or (c == RETURN and text[k + ONE] == NEWLINE)


@cold
def _qid(text: Any, k: Any) -> tuple[Any, bool]:
    """Return where a `qid:number` ends, and whether it is one."""
    begin = k
    while not _ends(text, k):
        k += ONE
    if k - begin < np.uint64(5) or text[begin + ONE] != 105 or text[begin + TWO] != 100 or text[begin + THREE] != COLON:
        return k, False
    for j in range(begin + THREE + ONE, k):
        if digit(text[j]) > NINE:
            return k, False
    return k, True


@inlined
def _parse(
    text: Array, begin: int, labels: Array, places: Array, indptr: Array, indices: Array, values: Array,
    faults: Array, hard: Array, powers: Array, counts: Array,
) -> Any:  # fmt: skip
    """Read rows from text[begin:], which ends with a newline, until its end or until there are too many faults.

    `counts` holds the rows, entries, faults and hard numbers so far, the lowest and highest index, and the lines.
    Returns where it stopped. A row at fault leaves a line in `faults` (where the fault begins, the reason) and nothing
    else.
    """
    k, stop = np.uint64(begin), np.uint64(text.shape[0])
    top = np.uint64(np.iinfo(indices.dtype).max)
    n, m, f, h, low, high, lines = counts
    while k < stop:
        row, first, hard_before = k, m, h
        reason = -1
        while text[k] == SPACE or text[k] == TAB:
            k += ONE
        at = k
        if not (text[k] == NEWLINE or text[k] == HASH or (text[k] == RETURN and text[k + ONE] == NEWLINE)):
            status, k, value = number(text, k, powers)
            full = status == HARD and h == hard.shape[0]
            if status == HARD and not full:
                hard[h, 0], hard[h, 1], hard[h, 2] = -n - 1, at, k
                h += 1
            if status == NO_NUMBER or not _ends(text, k):
                reason = BAD_LABEL
            last = BEFORE_QID
            bottom = low
            while reason < 0 and not full:
                while text[k] == SPACE or text[k] == TAB:
                    k += ONE
                if text[k] == NEWLINE or text[k] == HASH or (text[k] == RETURN and text[k + ONE] == NEWLINE):
                    break
                at = k
                if text[k] == SMALL_Q and last < 0:
                    k, fine = _qid(text, k)
                    if not fine:
                        reason = BAD_QID
                    elif last == AFTER_QID:
                        reason = TWO_QIDS
                    last = AFTER_QID
                    continue
                index = np.uint64(0)
                d = digit(text[k])
                while d <= NINE:
                    index = index * TEN + d
                    k += ONE
                    d = digit(text[k])
                if k == at:
                    reason = BAD_INDEX
                elif text[k] != COLON:
                    reason = NO_COLON
                elif k - at > np.uint64(18) or index > top:
                    reason = TOO_HIGH
                elif np.int64(index) <= last:
                    reason = FALLING
                else:
                    last = np.int64(index)
                    k += ONE
                    at = k
                    status, k, entry = number(text, k, powers)
                    if status == NO_NUMBER or not _ends(text, k):
                        reason = BAD_VALUE
                    elif status == HARD or doubtful(entry, values):
                        full = h == hard.shape[0]
                        if not full:
                            hard[h, 0], hard[h, 1], hard[h, 2] = m, at, k
                            h += 1
                    if m == first:
                        bottom = min(low, last)
                    indices[m] = last
                    values[m] = entry
                    m += 1
            if full or (reason >= 0 and f == faults.shape[0]):
                counts[:] = n, first, f, hard_before, low, high, lines
                return row
            if reason >= 0:
                faults[f, 0], faults[f, 1] = at, reason
                f += 1
                m, h = first, hard_before
            else:
                labels[n], places[n] = value, lines
                n += 1
                indptr[n] = m
                low, high = bottom, max(high, last)
        while text[k] != NEWLINE:
            k += ONE
        k += ONE
        lines += 1
    counts[:] = n, m, f, h, low, high, lines
    return stop


@cache
def _reader() -> Kernel:
    digest = data_digest()

    def kernel(
        text: Array, begin: int, labels: Array, places: Array, indptr: Array, indices: Array, values: Array,
        faults: Array, hard: Array, powers: Array, counts: Array,
    ) -> Any:  # fmt: skip
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return _parse(text, begin, labels, places, indptr, indices, values, faults, hard, powers, counts)

    return compiled(kernel, digest)


def parse(text: Array, dtype: Any = np.float64, index: Any = np.int32) -> Rows:
    r"""Read a block of whole lines, the last of which ends with a newline.

    >>> rows = parse(np.frombuffer(b"1 3:0.5 7:2e3  # a comment\n-1\n", np.uint8))
    >>> rows.labels, rows.indices, rows.values, rows.indptr
    (array([ 1., -1.]), array([3, 7], dtype=int32), array([5.e-01, 2.e+03]), array([0, 2, 2]))
    """
    text = text.view()
    text.flags.writeable = False  # numba compiles anew for arrays that can be written to
    most_rows = lines_in(text)
    labels, places, indptr = np.empty(most_rows), np.empty(most_rows, np.int64), np.zeros(most_rows + 1, np.int64)
    indices, values = slabs.room(len(text) // 4 + 1, index, dtype)  # " 1:1" is the shortest entry
    faulty, hard = np.empty((MOST_FAULTS, 2), np.int64), np.empty((MOST_HARD, 3), np.int64)
    counts = np.array([0, 0, 0, 0, NO_INDEX, -1, 0])
    found: list[list[int]] = []
    lost: list[int] = []
    begin = 0
    while begin < len(text):
        before = begin
        begin = int(_reader()(text, begin, labels, places, indptr, indices, values, faulty, hard, fives(), counts))
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
    rows = Rows(labels[:n], indptr[: n + 1], *slabs.take(m), places[:n], lines, faults, low=low, high=high)
    return _of_others(rows, lost) if lost else rows


def _of_others(rows: Rows, lost: list[int]) -> Rows:
    """Return the rows but for those of some numbers, whose indices count for nothing, either."""
    rows = without(rows, lost)
    assert rows.indices is not None
    low, high = (int(rows.indices.min()), int(rows.indices.max())) if len(rows.indices) else (NO_INDEX, -1)
    return replace(rows, low=low, high=high)


def _faults(text: Array, found: list[list[int]]) -> list[Fault]:
    """Return the first fault of each line; faults are given by where they begin, in rising order, and the reasons."""
    if not found:
        return []
    ends = np.flatnonzero(text == NEWLINE)
    lines, first = np.unique(np.searchsorted(ends, [at for at, _ in found]), return_index=True)
    found = [found[k] for k in first]
    begins = np.append(0, ends + 1)[lines]
    places = zip(found, lines.tolist(), begins.tolist(), ends[lines].tolist(), strict=True)
    return [_fault(text[begin:end].tobytes(), line, at - begin, reason) for (at, reason), line, begin, end in places]


def _fault(row: bytes, line: int, at: int, reason: int) -> Fault:
    """Return what is told of a fault at row[at]."""
    words = row[at:].split(maxsplit=1)
    word = words[0] if words else b""
    if reason == FALLING:
        word = word.split(b":")[0]
    return Fault(line, at + 1, REASONS[reason].format(shown(word)), row)
