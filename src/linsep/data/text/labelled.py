"""Text with labels: `label<TAB>text`, one row a line, in UTF-8.

A label is a word as it is written; all that follows the first TAB is the text, further TABs too. Blank lines are no
rows, and a line may end with CR LF.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from linsep.data.errors import RowError, shown
from linsep.data.rows import Rows, without
from linsep.data.text.grams import Grams, hash_text
from linsep.data.text.names import count_text
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array

NEWLINE, RETURN, TAB = 10, 13, 9
LONGEST_LABEL = 256
"""Bytes that a label may have: labels are kept in an array in which each takes as much room as the longest."""

EMPTY = "the label before the TAB is empty"
NOT_UTF8 = "{} is not UTF-8: convert the file"


class _Lines:
    """The lines of a part: where each begins, where it ends, where its first TAB is; what is wrong with some."""

    def __init__(self, text: Array) -> None:
        self.text, self.newlines = text, np.flatnonzero(text == NEWLINE)
        self.begins = np.concatenate([[0], self.newlines + 1])[:-1]
        returns = (self.newlines > self.begins) & (text[self.newlines - 1] == RETURN)
        self.ends = self.newlines - returns
        tabs = np.append(np.flatnonzero(text == TAB), len(text))
        self.tabs = np.minimum(tabs[np.searchsorted(tabs, self.begins)], self.ends)
        self.fine = self.ends > self.begins
        self.faults: list[RowError] = []

    def blame(self, line: int, at: int, reason: str) -> None:
        """Say what is wrong with a line at text[at]."""
        begin = int(self.begins[line])
        row = self.text[begin : self.newlines[line]].tobytes()
        self.faults.append(RowError(line, at - begin + 1, reason, row))
        self.fine[line] = False

    def shown(self, begin: int, end: int) -> str:
        """Return a part of the text for an error message."""
        return shown(self.text[begin:end].tobytes())

    def check(self) -> None:
        """Find lines with a NUL byte, without a TAB, or with a label that is empty or too long."""
        zeros = np.flatnonzero(self.text == 0)
        lines, first = np.unique(np.searchsorted(self.newlines, zeros), return_index=True)
        for line, at in zip(lines.tolist(), zeros[first].tolist(), strict=True):
            self.blame(line, at, "there is a NUL byte: this is no text")
        sizes = self.tabs - self.begins
        odd = self.fine & ((self.tabs == self.ends) | (sizes == 0) | (sizes > LONGEST_LABEL))
        for line in np.flatnonzero(odd).tolist():
            begin, tab, end = (int(where[line]) for where in (self.begins, self.tabs, self.ends))
            if tab < end:
                long = f"the label {self.shown(begin, tab)} has more than {LONGEST_LABEL} bytes"
                self.blame(line, begin, EMPTY if tab == begin else long)
            elif self.text[begin:end].tobytes().isspace():
                self.fine[line] = False
            else:
                self.blame(line, begin, f"{self.shown(begin, end)} has no TAB: a row is label<TAB>text")

    def labels(self) -> Array:
        """Return the labels of the lines that are fine; finds those that are not UTF-8 or only white space."""
        seen, rows = Vocabulary(), np.flatnonzero(self.fine)
        numbers = seen.number(self.text, self.begins[rows], self.tabs[rows])
        letters, marks = seen.spelling
        whole, words = letters.tobytes(), []
        wrong: dict[int, tuple[int, str]] = {}
        for number, (begin, end) in enumerate(pairwise(marks.tolist())):
            try:
                words.append(whole[begin:end].decode())
                if words[-1].isspace():
                    wrong[number] = 0, EMPTY
            except UnicodeDecodeError as error:
                words.append("")
                wrong[number] = error.start, NOT_UTF8.format(shown(whole[begin + error.start : end][:4]))
        lost = np.isin(numbers, list(wrong))
        for line, number in zip(rows[lost].tolist(), numbers[lost].tolist(), strict=True):
            place, reason = wrong[number]
            self.blame(line, int(self.begins[line]) + place, reason)
        return np.array(words, np.str_)[numbers[~lost]]


def parse(text: Array, how: Grams, dtype: Any = np.float64, *, named: bool = False) -> Rows:
    r"""Read a block of whole lines, the last of which ends with a newline.

    Parameters
    ----------
    text : array of bytes
    how : Grams
        Which n-grams of a text count, and how.
    dtype : float64 or float32
        The type of the values.
    named : bool, default=False
        Whether n-grams are not hashed but numbered in the order in which they are first seen in this block; `names`
        spells them.

    >>> rows = parse(np.frombuffer(b"spam\tfree, free money\nham\tfree\n", np.uint8), Grams(unit=False), named=True)
    >>> rows.labels, rows.indices, rows.values, rows.indptr
    (array(['spam', 'ham'], dtype='<U4'), array([0, 1, 0], dtype=int32), array([2., 1., 1.]), array([0, 2, 3]))
    """
    lines = _Lines(text)
    lines.check()
    labels = lines.labels()
    places = np.flatnonzero(lines.fine)
    begins, ends = lines.tabs[places] + 1, lines.ends[places]
    seen = Vocabulary() if named else None
    if seen is not None:
        counts, _ = count_text(text, begins, ends, how, seen, dtype=dtype)
    else:
        counts = hash_text(text, begins, ends, how, dtype)
    lost = np.flatnonzero(counts.faults >= 0)
    for row in lost.tolist():
        at = int(begins[row] + counts.faults[row])
        lines.blame(int(places[row]), at, NOT_UTF8.format(lines.shown(at, min(at + 4, int(ends[row])))))
    names = None if seen is None else seen.spelling
    rows = Rows(
        labels, counts.indptr, counts.indices, counts.values, places, len(lines.newlines), sorted(lines.faults),
        names=names,
    )  # fmt: skip
    return without(rows, lost) if len(lost) else rows
