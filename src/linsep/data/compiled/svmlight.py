"""svmlight text to rows, compiled."""

import re
from typing import Any

import numpy as np

from linsep.data.compiled.intrinsics import called, text_kernel, written_out
from linsep.data.compiled.numbers import (
    HARD,
    NINE,
    NO_NUMBER,
    ONE,
    PATTERN,
    TEN,
    THREE,
    TWO,
    digit,
    doubtful,
    doubtful_values,
    number,
)
from linsep.engine.arrays import Array

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
"""Faults and hard numbers after which the compiled reader returns them to Python, and continues."""
BEFORE_QID, AFTER_QID = np.int64(-2), np.int64(-1)
"""Placeholder for the last index of a row without an entry."""


@written_out
def _ends(text: Any, k: Any) -> bool:
    """Return whether a label or a value may end before text[k]."""
    c = text[k]
    return c in (SPACE, TAB, NEWLINE, HASH) or (c == RETURN and text[k + ONE] == NEWLINE)


@called
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


PLAIN_ROWS = re.compile(rb"(?:[ \t]*+" + PATTERN + rb"(?:[ \t]++\d{1,18}+:" + PATTERN + rb")*+[ \t]*+\r?\n)*+")
"""Rows without a comment, a qid or a fault in the form of a number."""


def _read_in_python(
    text: Any, begin: int, labels: Array, places: Array, indptr: Array, indices: Array, values: Array,
    faults: Array, hard: Array, powers: Array, counts: Array,
) -> Any:  # fmt: skip
    """Do what `read_rows` does by a regular expression, `split` and `float`, if rows are plain and without fault."""
    raw = bytes(text[begin:])
    if PLAIN_ROWS.fullmatch(raw):
        rows = [row.replace(b":", b" ").split() for row in raw.split(b"\n")[:-1]]
        first = np.array([float(row[0]) for row in rows])
        places_of = np.array([int(place) for row in rows for place in row[1::2]], np.int64)
        entries = np.array([float(entry) for row in rows for entry in row[2::2]])
        ends = np.cumsum([len(row) // 2 for row in rows])
        falls = np.diff(places_of) <= 0
        falls[(ends - 1)[(ends > 0) & (ends < len(places_of))]] = False  # the next row begins
        doubt = doubtful_values(entries) if values.itemsize == 4 else not np.isfinite(entries).all()
        high = int(places_of.max(initial=-1))
        if not (doubt or falls.any()) and np.isfinite(first).all() and high <= np.iinfo(indices.dtype).max:
            n, m, lines = counts[0], counts[1], counts[6]
            labels[n : n + len(rows)], places[n : n + len(rows)] = first, np.arange(lines, lines + len(rows))
            indptr[n + 1 : n + 1 + len(rows)] = m + ends
            indices[m : m + len(entries)], values[m : m + len(entries)] = places_of, entries
            counts[4], counts[5] = min(counts[4], places_of.min(initial=counts[4])), max(counts[5], high)
            counts[[0, 1, 6]] += len(rows), len(entries), len(rows)
            return len(text)
    template: Any = read_rows.template
    return template(text, begin, labels, places, indptr, indices, values, faults, hard, powers, counts)


@text_kernel(lambda text, begin, *others: len(text) - begin, python=_read_in_python, a_byte=1)
def read_rows(
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
