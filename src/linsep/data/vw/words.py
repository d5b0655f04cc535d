"""The words of Vowpal Wabbit text, compiled: what stands before the first bar, a namespace, a value."""

from typing import Any

import numpy as np

from linsep.data.numbers import NO_NUMBER, ONE
from linsep.data.vw.lean import called, written_out
from linsep.data.vw.names import name_at
from linsep.data.vw.numbers import number_for

NEWLINE, RETURN, SPACE, TAB, COLON, BAR, QUOTE = 10, 13, 32, 9, 58, 124, 39
MOST_LETTERS = 255
"""Bytes that the name of a namespace may have: where names are kept, each of its features is kept with it."""
FINE = -1
BAD_LABEL, BAD_IMPORTANCE, BAD_BASE, TOO_MANY, NEGATIVE, AFTER_TAG, EARLY_TAB, NO_BAR = range(8)
NO_NAMESPACE, LONG_NAMESPACE, BAD_SCALE, NO_NAME, BAD_VALUE, TOO_LARGE, BAD_BYTE = range(8, 15)
REASONS = {
    BAD_LABEL: "{} is not a label: it is a number, or missing",
    BAD_IMPORTANCE: "{} is not an importance: a number that is not negative",
    BAD_BASE: "{} is not a base: a number",
    TOO_MANY: "{} is one word too many: label, importance, base and tag stand before the first |",
    NEGATIVE: "importance {} is negative",
    AFTER_TAG: "{} follows the tag, which must be the last word before the first |",
    EARLY_TAB: "there is a tab before the first |, up to which Vowpal Wabbit would pass over the row: write blanks",
    NO_BAR: "{} is not followed by a |, after which features stand",
    NO_NAMESPACE: "{} has no namespace before the colon",
    LONG_NAMESPACE: f"{{}} is too long for a namespace, which has {MOST_LETTERS} bytes at most",
    BAD_SCALE: "{} is not a finite number to scale a namespace",
    NO_NAME: "{} has no name before the colon",
    BAD_VALUE: "{} is not a finite number; for a word as value, write it as a part of the name",
    TOO_LARGE: "{} is too large for the type of the values, or becomes so by its scale or by what it is added to",
    BAD_BYTE: "{} has a control byte in it, such as NUL or a carriage return",
}


@written_out
def line_ends(text: Any, k: Any) -> bool:
    """Tell whether the line ends before text[k]."""
    return text[k] == NEWLINE or (text[k] == RETURN and text[k + ONE] == NEWLINE)


@written_out
def _word_ends(text: Any, k: Any) -> bool:
    """Tell whether a word, its value included, may end before text[k]."""
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
    """Read what stands before the first bar: where that is, where a fault is, and its reason."""
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


@written_out
def value_after(
    text: Any, begin: Any, k: Any, scale: float, values: Any, powers: Any, known: Any, hard: Any, counts: Any
) -> tuple[Any, Any, int, float]:
    """Read `[:value]` after the name text[begin:k]: where it ends, where a fault is, its reason, and the value."""
    if text[k] != COLON:
        return k, begin, FINE if _word_ends(text, k) else BAD_BYTE, scale
    if k == begin:
        return k, begin, NO_NAME, scale
    k += ONE
    at = k
    status, k, value = number_for(text, k, values, powers, known, hard, counts)
    if status == NO_NUMBER or not _word_ends(text, k):
        return k, at, BAD_VALUE, value
    return k, at, FINE, values.dtype.type(value) * scale
