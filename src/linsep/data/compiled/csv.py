"""CSV text, compiled: where its rows are, and plain numbers straight into a matrix."""

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linsep.data.compiled.intrinsics import WORK_A_BYTE, text_kernel
from linsep.data.compiled.numbers import HARD, NO_NUMBER, ONE, PATTERN, doubtful, doubtful_values, number
from linsep.engine.arrays import Array
from linsep.engine.tiers import tiered

NEWLINE, RETURN, QUOTE = 10, 13, 34
SKIP, LETTERS = -1, -2
"""Places of cells that are not read, and of those that are kept as text."""
SINGLE = np.empty(0, np.float32)


class RowMarks(NamedTuple):
    """Positions of the rows of a text: begin, end, first line (from 0), fields, and the end of the last row."""

    begins: Array
    ends: Array
    lines: Array
    fields: Array
    stop: int


@tiered(lambda text, *others: WORK_A_BYTE * len(text))
def _mark_rows(
    text: Array, delimiter: int, begins: Array, ends: Array, lines: Array, fields: Array
) -> tuple[int, int]:  # fmt: skip
    """Find the rows of a text as Arrow does; return how many there are, and where the last whole one ends.

    A field that begins with a quote ends at the next single quote; what follows is as it is.
    """
    n = k = line = begin = first_line = 0
    count, start, inside = 1, True, False
    while k < text.shape[0]:
        c = text[k]
        line += 1 if c == NEWLINE else 0
        if inside:
            if c == QUOTE:
                inside = k + 1 < text.shape[0] and text[k + 1] == QUOTE
                k += 1 if inside else 0
        elif start and c == QUOTE:
            inside, start = True, False
        elif c in (NEWLINE, RETURN):
            end = k
            if c == RETURN and k + 1 < text.shape[0] and text[k + 1] == NEWLINE:
                k += 1
                line += 1
            if end > begin:
                begins[n], ends[n], lines[n], fields[n] = begin, end, first_line, count
                n += 1
            begin, first_line, count, start = k + 1, line, 1, True
        else:
            start = c == delimiter
            count += 1 if start else 0
        k += 1
    return n, begin


def mark_rows(text: Array, delimiter: int) -> RowMarks:
    r"""Return where the rows of a text are; blank lines are none.

    >>> rows = mark_rows(np.frombuffer(b'a,"b\nc"\n\nd,e\n', np.uint8), ord(","))
    >>> rows.begins, rows.lines, rows.fields
    (array([0, 9]), array([0, 3]), array([2, 2]))
    """
    text = text.view()
    text.flags.writeable = False
    most = np.count_nonzero(text == NEWLINE) + np.count_nonzero(text == RETURN) + 1
    marks = [np.empty(most, np.int64) for _ in range(4)]
    n, stop = _mark_rows(text, delimiter, *marks)
    begins, ends, lines, fields = (mark[:n] for mark in marks)
    return RowMarks(begins, ends, lines, fields, stop)


def _fill_in_python(
    text: Any, delimiter: int, places: Array, values: Array, aside: Array, letters: Array, marks: Array,
    hard: Array, powers: Array, single: bool,
) -> tuple[int, int]:  # fmt: skip
    """Do what `fill_numbers` does by a regular expression, `split` and `float`; none of the numbers is left unread."""
    raw, separator, width = bytes(text), bytes([delimiter]), values.shape[1]
    if not _rows_of(separator, tuple((places < 0).tolist())).fullmatch(raw):
        return -1, 0
    cells = raw.replace(b"\r\n", b"\n").replace(b"\n", separator).split(separator)[:-1]
    n = len(cells) // len(places)
    for j, place in enumerate(places.tolist()):
        column = cells[j :: len(places)]
        if place == LETTERS:
            marks[1 : n + 1] = np.cumsum([len(cell) for cell in column])
            letters[: marks[n]] = np.frombuffer(b"".join(column), np.uint8)
        elif place >= 0:
            numbers = np.array([float(cell) for cell in column])
            if not np.isfinite(numbers).all() or (single and place < width and doubtful_values(numbers)):
                template: Any = fill_numbers.template
                n, h = template(text, delimiter, places, values, aside, letters, marks, hard, powers, single)
                return n, h
            table, at = (values, place) if place < width else (aside, place - width)
            table[:n, at] = numbers
    return n, 0


@cache
def _rows_of(separator: bytes, skipped: tuple[bool, ...]) -> re.Pattern[bytes]:
    """Return the expression of rows of numbers, and of any text where a field is skipped."""
    between = re.escape(separator)
    fields = [rb'[^\n\r"' + between + rb"]*+" if skip else PATTERN for skip in skipped]
    return re.compile(rb"(?:" + between.join(fields) + rb"\r?\n)*+")


@text_kernel(python=_fill_in_python, a_byte=1)
def fill_numbers(
    text: Array, delimiter: int, places: Array, values: Array, aside: Array, letters: Array, marks: Array,
    hard: Array, powers: Array, single: bool,
) -> tuple[int, int]:  # fmt: skip
    """Read rows of plain numbers; return how many there are, and how many numbers are to be read exactly.

    Field j goes to column places[j] of the values or, beyond these, of what is kept aside; or its text to the letters.
    Returns -1 rows where the text holds anything else: blanks, quotes, empty fields, too many or too few of them.
    """
    k, stop, last, width = np.uint64(0), np.uint64(text.shape[0]), places.shape[0] - 1, values.shape[1]
    n = h = 0
    used = np.int64(0)
    while k < stop:
        for j in range(last + 1):
            place, begin = places[j], k
            if place < 0:
                while text[k] not in (delimiter, NEWLINE, RETURN, QUOTE):
                    k += ONE
                if place == LETTERS:
                    size = np.int64(k - begin)
                    letters[used : used + size] = text[begin:k]
                    used += size
                    marks[n + 1] = used
            else:
                status, k, value = number(text, k, powers)
                if status == NO_NUMBER:
                    return -1, 0
                if status == HARD or (single and place < width and doubtful(value, SINGLE)):
                    if h == hard.shape[0]:
                        return -1, 0
                    hard[h, 0], hard[h, 1], hard[h, 2], hard[h, 3] = n, place, begin, k
                    h += 1
                if place < width:
                    values[n, place] = value
                else:
                    aside[n, place - width] = value
            if j == last and text[k] == RETURN:
                k += ONE
            if text[k] != (delimiter if j < last else NEWLINE):
                return -1, 0
            k += ONE
        n += 1
    return n, h
