"""Vowpal Wabbit text to rows, compiled: names and their hashes, numbers, the entries of a row in order.

As in Vowpal Wabbit with its default, `--hash strings`: a name of digits only is that number plus the seed, any other is
its MurmurHash3 with the seed. The seed of a namespace is 0, that of a feature is the hash of its namespace; the default
namespace has the hash 0. The last bits of a feature's hash are its column. A feature without a name has the hash of its
namespace plus its number among those of the namespace. A feature whose value is a word has the hash of the word, with
the feature's hash as the seed, and the value 1 for any scale.
"""

from typing import Any

import numpy as np

from linsep.data.compiled.intrinsics import called, eight_bytes, text_kernel, trailing_zeros, written_out
from linsep.data.compiled.names import add_name, finish_hash, forget_names, hash_four_bytes, rebuild_slots
from linsep.data.compiled.numbers import (
    EIGHT,
    HARD,
    NO_NUMBER,
    ONE,
    READ,
    TEN,
    ZERO,
    ZEROS,
    digit,
    doubtful,
    eight_digits,
    quick_number,
)

HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES, ONES, HIGH_BITS = (np.uint64(int(byte * 8, 16)) for byte in ("ff", "01", "80"))
BLANKS, COLONS, BARS, ABOVE_NINE = (np.uint64(int(byte * 8, 16)) for byte in ("21", "3a", "7c", "76"))
HARDS = 3
"""Index of the count of hard numbers in the reader's counts."""
NO_COLUMN = np.uint64(0xFFFFFFFFFFFFFFFF)
FEW = 24
"""Entries that are sorted by insertion; longer rows are sorted digit by digit."""
MOST_DIGITS = 1 << 11
"""Values that a digit may have."""
NEWLINE, RETURN, SPACE, TAB, COLON, BAR, QUOTE = 10, 13, 32, 9, 58, 124, 39
PLUS, MINUS, POINT, CASE = 43, 45, 46, 32
LOWER_A, LOWER_F, LOWER_I, LOWER_N = 97, 102, 105, 110
MOST_LETTERS = 255
"""Bytes that the name of a namespace may have: where names are kept, each of its features is kept with it."""
FINE = -1
BAD_LABEL, BAD_IMPORTANCE, BAD_BASE, TOO_MANY, NEGATIVE, AFTER_TAG, EARLY_TAB, NO_BAR = range(8)
NO_NAMESPACE, LONG_NAMESPACE, BAD_SCALE, NO_NAME, BAD_VALUE, TOO_LARGE, BAD_BYTE = range(8, 15)
REASONS = {
    BAD_LABEL: "{} is not a label: it is a number, or missing",
    BAD_IMPORTANCE: "{} is not an importance: a number that is not negative",
    BAD_BASE: "{} is not a base: a number",
    TOO_MANY: "{} is one word too many: label, importance, base and tag come before the first |",
    NEGATIVE: "importance {} is negative",
    AFTER_TAG: "{} follows the tag, which must be the last word before the first |",
    EARLY_TAB: "there is a tab before the first |, up to which Vowpal Wabbit would pass over the row: write blanks",
    NO_BAR: "{} is not followed by a |, which precedes the features",
    NO_NAMESPACE: "{} has no namespace before the colon",
    LONG_NAMESPACE: f"{{}} is too long for a namespace, which has {MOST_LETTERS} bytes at most",
    BAD_SCALE: "{} is not a finite number to scale a namespace",
    NO_NAME: "{} has no name before the colon, and vocabulary=True gives columns by name: name it, or hash the names",
    BAD_VALUE: "{} is neither a finite number nor a word",
    TOO_LARGE: "{} is too large for the type of the values, or becomes so by its scale or by what it is added to",
    BAD_BYTE: "{} has a control byte in it, such as NUL or a carriage return",
}
HASHED, NAMED, NUMBERED = range(3)
"""Treatment of names: hashed columns; hashed columns with kept names; columns numbered by first sight."""
ROWS, ENTRIES, FAULTS = range(3)
LINES, ROOM, NAMES, SLOTTED, MORE_NAMES = range(HARDS + 1, HARDS + 6)
"""Counts so far, HARDS among them, and requests: entries of a row to sort, room for names."""
MOST_FAULTS, MOST_HARD = 256, 4096
"""Faults and hard numbers after which the compiled reader returns them to Python, and continues."""
MOST_BITS = 31
ENOUGH = 1 << 12
"""Entries of a row that can be sorted without asking for more memory."""


@written_out
def _eight(text: Any, k: Any) -> Any:
    """Return the eight bytes from text[k] on as a word, the first one lowest; bytes beyond the text are 0."""
    if k + EIGHT <= np.uint64(text.shape[0]):
        return eight_bytes(text, k)
    word = ZERO
    for j in range(np.uint64(text.shape[0]) - k):
        word |= np.uint64(text[k + np.uint64(j)]) << np.uint64(8 * j)
    return word


@written_out
def _stops(word: Any) -> Any:
    """Return a word whose lowest bit is in the first byte that is no part of a name: a control, a blank, `:` or `|`."""
    colons, bars = word ^ COLONS, word ^ BARS
    return (((word - BLANKS) & ~word) | ((colons - ONES) & ~colons) | ((bars - ONES) & ~bars)) & HIGH_BITS


@written_out
def name_at(text: Any, k: Any, seed: Any) -> tuple[Any, Any]:
    """Return where the name that begins at text[k] ends, and its hash."""
    begin, h, other = k, np.uint32(seed), ZERO
    word = _eight(text, k)
    stops = _stops(word)
    while stops == ZERO:
        digits = word - ZEROS
        other |= (digits | (digits + ABOVE_NINE)) & HIGH_BITS
        h = hash_four_bytes(hash_four_bytes(h, word & LOW_HALF), word >> HALF)
        k += EIGHT
        word = _eight(text, k)
        stops = _stops(word)
    length = trailing_zeros(stops) >> np.uint64(3)
    k += length
    if length > ZERO:
        unused = np.uint64(64) - EIGHT * length
        digits = (word << unused) - (ZEROS << unused)
        other |= (digits | (digits + ABOVE_NINE)) & HIGH_BITS
        word &= ALL_ONES >> unused
    else:
        word = digits = ZERO
    if other == ZERO:
        return k, np.uint32(
            seed + (np.uint32(eight_digits(digits)) if k - begin < EIGHT else _long_whole(text, begin, k))
        )
    if length >= np.uint64(4):
        h = hash_four_bytes(h, word & LOW_HALF)
        word >>= HALF
    return k, finish_hash(h, word, k - begin)


@called
def _long_whole(text: Any, begin: Any, end: Any) -> Any:
    """Return the last 32 bits of the number whose digits are text[begin:end]."""
    whole = ZERO
    for k in range(begin, end):
        whole = whole * TEN + digit(text[k])
    return np.uint32(whole & LOW_HALF)


@called
def _known(at: Any, known: Any) -> int:
    """Return which of the numbers that Python has read begins at text[at], or -1."""
    low, high = 0, known.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if known[middle, 0] < at:
            low = middle + 1
        else:
            high = middle
    return low if low < known.shape[0] and known[low, 0] == at else -1


@written_out
def number_for(
    text: Any, k: Any, array: Any, powers: Any, known: Any, hard: Any, counts: Any
) -> tuple[int, Any, float]:
    """Read a number that goes to this array, as `number` does; HARD is left where Python has not read it yet."""
    at = k
    status, k, value = quick_number(text, k, powers)
    if status == HARD or (status == READ and doubtful(value, array)):
        found = _known(np.float64(at), known)
        if found >= 0:
            return READ, k, known[found, 1]
        status = HARD
        if counts[HARDS] < hard.shape[0]:
            hard[counts[HARDS], 0], hard[counts[HARDS], 1], hard[counts[HARDS], 2] = at, k, array.itemsize
        counts[HARDS] += 1
    return status, k, value


@called
def _insert(keys: Any, n: Any) -> None:
    """Sort a few keys."""
    for k in range(ONE, n):
        key, j = keys[k], np.uint64(k)
        while j > ZERO and keys[j - ONE] > key:
            keys[j] = keys[j - ONE]
            j -= ONE
        keys[j] = key


@called
def _sort(keys: Any, n: Any, bits: int, starts: Any) -> Any:
    """Sort keys[:n] by the `bits` bits of their columns, digit by digit from the last; returns where they are then.

    Each digit moves them between keys[:n] and keys[n:2n]. More keys use longer, and so fewer, digits.
    """
    width = 6 if n < np.uint64(256) else 9 if n < np.uint64(4096) else 11
    source, target = ZERO, n
    for shift in range(0, bits, width):
        down, last = np.uint64(32 + shift), np.uint64((1 << width) - 1)
        starts[: 1 << width] = 0
        for k in range(source, source + n):
            starts[(keys[k] >> down) & last] += ONE
        total = target
        for j in range(last + ONE):
            starts[j], total = total, total + starts[j]
        for k in range(source, source + n):
            key = keys[k]
            place = starts[(key >> down) & last]
            keys[place] = key
            starts[(key >> down) & last] = place + ONE
        source, target = target, source
    return source


@called
def order(indices: Any, values: Any, first: Any, m: Any, bits: int, keys: Any, copy: Any, starts: Any) -> Any:
    """Sort the entries of a row from `first` to `m` by column and add up those of one column; returns their new end.

    Those of one column are added in the order of the text: a key is the column and, below it, the place in the row.
    `keys` has room for twice the entries, `copy` for as many, `starts` for MOST_DIGITS.
    """
    n = np.uint64(m - first)
    end = np.uint64(first)
    for k in range(n):
        keys[k] = np.uint64(indices[end + k]) << HALF | k
        copy[k] = values[end + k]
    source = ZERO
    if n <= np.uint64(FEW):
        _insert(keys, n)
    else:
        source = _sort(keys, n, bits, starts)
    last = NO_COLUMN
    for k in range(source, source + n):
        column, value = keys[k] >> HALF, copy[keys[k] & LOW_HALF]
        if column == last:
            values[end - ONE] += value
        else:
            indices[end], values[end] = column, value
            end += ONE
        last = column
    return np.int64(end)


@called
def all_finite(values: Any, first: Any, m: Any) -> bool:
    """Return whether all of values[first:m] are finite."""
    zero = 0.0
    for k in range(first, m):
        zero += values[k] * 0.0
    return zero == 0.0


@written_out
def line_ends(text: Any, k: Any) -> bool:
    """Return whether the line ends before text[k]."""
    return text[k] == NEWLINE or (text[k] == RETURN and text[k + ONE] == NEWLINE)


@written_out
def _word_ends(text: Any, k: Any) -> bool:
    """Return whether a word, its value included, may end before text[k]."""
    return text[k] in (SPACE, TAB, BAR) or line_ends(text, k)


@written_out
def past_blanks(text: Any, k: Any) -> Any:
    """Return where the next word, bar or end of line is."""
    while text[k] == SPACE or text[k] == TAB:
        k += ONE
    return k


@written_out
def _past_spaces(text: Any, k: Any) -> Any:
    while text[k] == SPACE:
        k += ONE
    return k


@called
def label(
    text: Any, k: Any, n: Any, labels: Any, importances: Any, powers: Any, known: Any, hard: Any, counts: Any
) -> tuple[Any, Any, int]:
    """Read the text before the first bar: where that is, where a fault is, and its reason."""
    labels[n], importances[n] = np.nan, 1.0
    parts, tagged, begin = 0, False, _past_spaces(text, k)
    while True:
        k = at = _past_spaces(text, k)
        if text[k] == BAR:
            return k, at, FINE
        if text[k] == TAB:
            return k, at, EARLY_TAB
        if line_ends(text, k):
            return k, begin, NO_BAR
        if tagged:
            return k, at, AFTER_TAG
        status, k, value = number_for(text, k, labels, powers, known, hard, counts)
        while not _word_ends(text, k):
            if text[k] < SPACE:
                return k, at, BAD_BYTE
            status = NO_NUMBER
            k += ONE
        if text[k] == BAR:
            return k, at, FINE
        if text[at] == QUOTE:
            tagged = True
            continue
        if status == NO_NUMBER or not np.isfinite(value) or parts == TOO_MANY:
            return k, at, parts
        if parts == 0:
            labels[n] = value
        elif parts == 1:
            importances[n] = value
            if value < 0:
                return k, at, NEGATIVE
        parts += 1


@called
def namespace(
    text: Any, k: Any, importances: Any, powers: Any, known: Any, hard: Any, counts: Any
) -> tuple[Any, Any, int, Any, Any, float]:
    """Read `name[:scale]` after a bar: its end, where a fault is and why, where the name ends, its hash, the scale."""
    at = k
    seed, scale = np.uint32(0), 1.0
    if _word_ends(text, k):
        return k, at, FINE, k, seed, scale
    k, seed = name_at(text, k, seed)
    end = k
    if text[k] == COLON and k == at:
        return k, at, NO_NAMESPACE, end, seed, scale
    if end - at > np.uint64(MOST_LETTERS):
        return k, at, LONG_NAMESPACE, end, seed, scale
    if text[k] == COLON:
        k += ONE
        at = k
        status, k, scale = number_for(text, k, importances, powers, known, hard, counts)
        fine = status != NO_NUMBER and _word_ends(text, k) and np.isfinite(scale)
        return k, at, FINE if fine else BAD_SCALE, end, seed, scale
    return k, at, FINE if _word_ends(text, k) else BAD_BYTE, end, seed, scale


@called
def _begins_a_number(text: Any, k: Any) -> bool:
    """Return whether a value begins as a number, NaN or infinity does: with anything behind it is no word."""
    if text[k] == PLUS or text[k] == MINUS or text[k] == POINT or digit(text[k]) < TEN:
        return True
    if text[k] | CASE == LOWER_N:
        return text[k + ONE] | CASE == LOWER_A and text[k + ONE + ONE] | CASE == LOWER_N
    return text[k] | CASE == LOWER_I and text[k + ONE] | CASE == LOWER_N and text[k + ONE + ONE] | CASE == LOWER_F


@called
def _word_value(text: Any, k: Any, seed: Any) -> tuple[Any, Any]:
    """Return where the word that begins at text[k] ends, and its hash."""
    return name_at(text, k, seed)


@written_out
def value_after(
    text: Any, begin: Any, k: Any, h: Any, unnamed: Any, mode: Any, scale: float, values: Any, powers: Any, known: Any,
    hard: Any, counts: Any,
) -> tuple[Any, Any, int, float, Any, Any, Any]:  # fmt: skip
    """Read `[:value]` after the name text[begin:k], whose hash is h, and after so many features without a name.

    Returns where the value ends, where a fault is, its reason, the value, the end and the hash of the name, to which a
    value that is a word belongs, and the number of features without a name.
    """
    end = k
    if text[k] != COLON:
        return k, begin, FINE if _word_ends(text, k) else BAD_BYTE, scale, end, h, unnamed
    k += ONE
    at = k
    status, k, value = number_for(text, k, values, powers, known, hard, counts)
    if status == NO_NUMBER or not _word_ends(text, k):
        if _word_ends(text, at) or _begins_a_number(text, at):
            return k, at, BAD_VALUE, value, end, h, unnamed
        k, h = _word_value(text, at, h)
        return k, at, FINE if _word_ends(text, k) else BAD_VALUE, 1.0, k, h, unnamed
    if end == begin:
        if mode == NUMBERED:
            return k, begin, NO_NAME, value, end, h, unnamed
        h, unnamed = np.uint32(h + unnamed), np.uint32(unnamed + np.uint32(1))
    return k, at, FINE, values.dtype.type(value) * scale, end, h, unnamed


@text_kernel()
def most_in(text: Any) -> Any:
    """Return the most rows and entries that there can be: lines, and blanks, one of which precedes each entry."""
    lines = blanks = 0
    for k in range(text.shape[0]):
        lines += 1 if text[k] == NEWLINE else 0
        blanks += 1 if text[k] == SPACE or text[k] == TAB else 0
    return lines, blanks + 1


@text_kernel(lambda text, begin, *others: len(text) - begin, _nrt=False)
def read_rows(
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
    rebuild_slots(slots, hashes, counts[SLOTTED], named)
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
            unnamed = np.uint32(0)
            while reason == FINE:
                k = word = past_blanks(text, k)
                if text[k] == BAR or line_ends(text, k):
                    break
                k, h = name_at(text, k, seed)
                k, at, reason, value, end, h, unnamed = value_after(
                    text, word, k, h, unnamed, mode, scale, values, powers, known, hard, counts
                )
                values[m] = value
                if not np.isfinite(values[m]):
                    reason = TOO_LARGE
                if values[m] != 0.0:
                    place = np.int64(h & mask)
                    if mode != HASHED and end != word:
                        number, named = add_name(
                            text, word, end, space, space_end, h, slots, hashes, marks, letters, named
                        )
                        full |= number < 0
                        place = number if mode == NUMBERED else place
                    indices[m] = place
                    falls += 1 if place <= last else 0
                    last = place
                    m += 1
        if reason == FINE and (full or (falls and m - first > copy.shape[0])):
            counts[ROOM] = max(counts[ROOM], m - first)
            counts[MORE_NAMES] = full
            forget_names(slots, hashes, named_before, named)
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
            forget_names(slots, hashes, named_before, named)
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
