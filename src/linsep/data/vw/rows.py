"""Vowpal Wabbit text to rows, compiled: blocks of whole lines, columns hashed or numbered as their names appear."""

from functools import cache
from typing import Any

import numpy as np

from linsep.data.digest import data_digest
from linsep.data.errors import Fault, shown
from linsep.data.numbers import ONE, exactly, fives
from linsep.data.rows import Spelling
from linsep.data.slabs import Slabs
from linsep.data.text.hashed_names import HashedRows
from linsep.data.vw.lean import written_out
from linsep.data.vw.names import name_at
from linsep.data.vw.numbers import HARDS
from linsep.data.vw.order import MOST_DIGITS, all_finite, order
from linsep.data.vw.seen import find_slots, forget, room_for, seen
from linsep.data.vw.words import (
    BAR,
    FINE,
    NEWLINE,
    NO_BAR,
    REASONS,
    SPACE,
    TAB,
    TOO_LARGE,
    TOO_MANY,
    label,
    line_ends,
    namespace,
    past_blanks,
    value_after,
)
from linsep.engine.arrays import Array
from linsep.engine.kernel_cache import cached_njit
from linsep.engine.passes import Kernel

HASHED, NAMED, NUMBERED = range(3)
"""What becomes of names: columns by hash; the same, and they are kept; columns by number of appearance."""
ROWS, ENTRIES, FAULTS = range(3)
LINES, ROOM, NAMES, SLOTTED, MORE_NAMES = range(HARDS + 1, HARDS + 6)
"""What is counted so far, HARDS among it, and what is asked for: entries of a row to sort, room for names."""
MOST_FAULTS, MOST_HARD = 256, 4096
"""Faults and hard numbers after which the compiled reader lets Python deal with them, and goes on."""
MOST_BITS = 31
ENOUGH = 1 << 12
"""Entries of a row that can be sorted without asking for more memory."""
slabs = Slabs()


@cached_njit(nogil=True)
def most_in(text: Array) -> tuple[int, int]:
    """Return how many rows and entries there can be: lines, and blanks, as one precedes each, with one to spare."""
    lines = blanks = 0
    for k in range(text.shape[0]):
        lines += 1 if text[k] == NEWLINE else 0
        blanks += 1 if text[k] == SPACE or text[k] == TAB else 0
    return lines, blanks + 1


@written_out
def _parse(
    text: Any, begin: Any, bits: Any, mode: Any, labels: Any, importances: Any, places: Any, indptr: Any, indices: Any,
    values: Any, faults: Any, powers: Any, known: Any, hard: Any, counts: Any, keys: Any, copy: Any, starts: Any,
    slots: Any, hashes: Any, marks: Any, letters: Any,
) -> Any:  # fmt: skip
    """Read rows from text[begin:], which ends with a newline, until its end or until there are too many faults.

    Returns where it stopped. A row at fault leaves a line in `faults` (its number, where it begins and ends, where the
    fault is, the reason) and nothing else. From the first row on with a number that Python must read, such numbers are
    gathered in `hard` and nothing is kept: the next call begins with that row, and finds them in `known`. A row with
    more entries than there is room to sort, or more names than there is room for, asks for more likewise.

    What is done for each feature is written out in here (`inline`) and arrays are not counted (`_nrt`): calls that take
    many arrays, and counting them, take three times as long as the reading.
    """
    k, stop, again = np.uint64(begin), np.uint64(text.shape[0]), np.uint64(begin)
    mask = np.uint32((1 << bits) - 1)
    n, m, f, line, named = counts[ROWS], counts[ENTRIES], counts[FAULTS], counts[LINES], counts[NAMES]
    find_slots(slots, hashes, counts[SLOTTED], named)
    counts[HARDS] = 0
    while k < stop and counts[HARDS] <= hard.shape[0]:
        row, first, named_before, last, falls = k, m, named, np.int64(-1), 0
        full, reason, at = False, FINE, k
        k = past_blanks(text, k)
        blank = line_ends(text, k)
        if not blank:
            k, at, reason = label(text, row, n, labels, importances, powers, known, hard, counts)
        while reason == FINE and text[k] == BAR:
            space = k + ONE
            k, at, reason, space_end, seed, scale = namespace(text, space, importances, powers, known, hard, counts)
            while reason == FINE:
                k = word = past_blanks(text, k)
                if text[k] == BAR or line_ends(text, k):
                    break
                k, h = name_at(text, k, seed)
                end = k
                k, at, reason, value = value_after(text, word, k, scale, values, powers, known, hard, counts)
                values[m] = value
                if not np.isfinite(values[m]):
                    reason = TOO_LARGE
                if values[m] != 0.0:
                    place = np.int64(h & mask)
                    if mode != HASHED:
                        number, named = seen(text, word, end, space, space_end, h, slots, hashes, marks, letters, named)
                        full |= number < 0
                        place = number if mode == NUMBERED else place
                    indices[m] = place
                    falls += 1 if place <= last else 0
                    last = place
                    m += 1
        if reason == FINE and (full or (falls and m - first > copy.shape[0])):
            counts[ROOM] = max(counts[ROOM], m - first)
            counts[MORE_NAMES] = full
            forget(slots, hashes, named_before, named)
            m, named = first, named_before
            break
        if reason == FINE and falls:
            top = bits
            while mode == NUMBERED and top < MOST_BITS and named >> top:
                top += 1
            m = order(indices, values, first, m, top, keys, copy, starts)
            reason = FINE if all_finite(values, first, m) else TOO_LARGE
        while text[k] != NEWLINE:
            k += ONE
        k += ONE
        kept = reason == FINE and not blank and counts[HARDS] == 0
        if kept:
            places[n] = line
            n += 1
            indptr[n] = m
        else:
            forget(slots, hashes, named_before, named)
            m, named = first, named_before
        if counts[HARDS] == 0 and reason != FINE:
            if f == faults.shape[0]:
                break
            faults[f, 0], faults[f, 1], faults[f, 2], faults[f, 3], faults[f, 4] = line, row, k, at, reason
            f += 1
        if counts[HARDS] == 0:
            line += 1
            again = k
    counts[ROWS], counts[ENTRIES], counts[FAULTS], counts[LINES] = n, m, f, line
    counts[NAMES], counts[SLOTTED] = named, named
    return again


@cache
def _reader() -> Kernel:
    digest = data_digest()

    def kernel(
        text: Array, begin: int, bits: int, mode: int, labels: Array, importances: Array, places: Array, indptr: Array,
        indices: Array, values: Array, faults: Array, powers: Array, known: Array, hard: Array, counts: Array,
        keys: Array, copy: Array, starts: Array, slots: Array, hashes: Array, marks: Array,
        letters: Array,
    ) -> Any:  # fmt: skip
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return _parse(
            text, begin, bits, mode, labels, importances, places, indptr, indices, values, faults, powers, known, hard,
            counts, keys, copy, starts, slots, hashes, marks, letters,
        )  # fmt: skip

    return cached_njit(nogil=True, error_model="numpy", _nrt=False)(kernel)


def parse(text: Array, dtype: Any = np.float64, bits: int = 18, mode: int = HASHED) -> HashedRows:
    r"""Read a block of whole lines, the last of which ends with a newline.

    Each value is the number of type `dtype` nearest to the text, then multiplied with the scale of its namespace and
    added to others of its column. Values of 0 are left out.

    >>> rows = parse(np.frombuffer(b"1 2.5 'first| 7:0.5 3 3\n|a:2 x\n", np.uint8))
    >>> rows.labels, rows.weights, rows.indptr
    (array([ 1., nan]), array([2.5, 1. ]), array([0, 2, 3]))
    >>> rows.indices.tolist(), rows.values.tolist()
    ([3, 7, 55432], [2.0, 0.5, 2.0])
    """
    text = text.view()
    text.flags.writeable = False  # the reader is compiled once, for texts that can't be written to
    most_rows, most_entries = most_in(text)
    labels, importances, places = np.empty(most_rows + 1), np.empty(most_rows + 1), np.empty(most_rows, np.int64)
    indptr = np.zeros(most_rows + 1, np.int64)
    indices, values = slabs.room(most_entries, np.int32, dtype)
    rows = (labels, importances, places, indptr, indices, values)
    faulty, hard = np.empty((MOST_FAULTS, 5), np.int64), np.empty((MOST_HARD, 3), np.int64)
    known, counts = np.empty((0, 2)), np.zeros(MORE_NAMES + 1, np.int64)
    counts[ROOM] = ENOUGH
    names = room_for(1, 1) if mode == HASHED else room_for(len(text) // 32 + 1, len(text) // 4 + 1)
    faults: list[Fault] = []
    begin = 0
    while begin < len(text):
        room = counts[ROOM]
        scratch = np.empty(2 * room, np.uint64), np.empty(room, dtype), np.empty(MOST_DIGITS, np.uint64)
        if counts[MORE_NAMES]:
            names = room_for(4 * len(names.hashes), 4 * len(names.letters), names)
            counts[MORE_NAMES] = counts[SLOTTED] = 0
        begin = int(_reader()(text, begin, bits, mode, *rows, faulty, fives(), known, hard, counts, *scratch, *names))
        faults += [_fault(text, *line) for line in faulty[: counts[FAULTS]].tolist()]
        counts[FAULTS] = 0
        read = [
            (at, exactly(bytes(text.data[at:end]), np.float64 if size == 8 else np.float32))
            for at, end, size in hard[: counts[HARDS]].tolist()
        ]
        known = np.concatenate([known[known[:, 0] >= begin], np.array(read).reshape(-1, 2)])
    n, m, named = int(counts[ROWS]), int(counts[ENTRIES]), int(counts[NAMES])
    weights = None if np.all(importances[:n] == 1) else importances[:n]
    spelling = Spelling(names.letters[: names.marks[named]].copy(), names.marks[: named + 1].copy())
    return HashedRows(
        labels[:n], indptr[: n + 1], *slabs.take(m), places[:n], most_rows, faults, weights,
        names=None if mode == HASHED else spelling,
        columns=names.hashes[:named].astype(np.int64) & ((1 << bits) - 1) if mode == NAMED else None,
    )  # fmt: skip


def _fault(text: Array, number: int, row: int, end: int, at: int, reason: int) -> Fault:
    """Return what is told of a fault at text[at], in the line text[row:end] of this number."""
    line = text[row : end - 1].tobytes()
    if reason <= TOO_MANY and b"|" not in line:
        reason = NO_BAR
    rest = line[at - row :]
    word = b"" if rest[:1].isspace() else rest.replace(b"|", b" ").strip().split(b" ")[0]
    return Fault(number, at - row + 1, REASONS[reason].format(shown(word)), line)
