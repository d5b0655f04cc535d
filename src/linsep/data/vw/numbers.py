"""Numbers in Vowpal Wabbit text, compiled: the commonest at once, those that only Python can read exactly later."""

from typing import Any

import numpy as np

from linsep.data.numbers import (
    EIGHT,
    FOUR,
    HARD,
    HIGH_HALVES,
    LARGE_E,
    MINUS,
    NINE,
    ONE,
    POINT,
    READ,
    SIXES,
    SMALL_E,
    TEN,
    TENS,
    THREES,
    ZERO,
    ZEROS,
    digit,
    doubtful,
    eight_bytes,
    number,
    trailing_zeros,
)
from linsep.data.vw.lean import called, written_out
from linsep.data.vw.names import whole

HARDS = 3
"""Where the count of hard numbers is among the reader's counts."""
TWO, THREE = np.uint64(2), np.uint64(3)
WHOLE_TENS = np.array([10**k for k in range(8)], np.uint64)
WHOLE_TENS.flags.writeable = False


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
def _short(text: Any, k: Any) -> tuple[Any, float]:
    """Read a number of one digit, a point and up to seven digits: where it ends, and its value.

    It ends where it begins if it is no such number. Its digits are below 2^53 and are divided once, by a power of ten:
    the value is what `number` gives, but there is no loop whose end is hard to foresee.
    """
    negative = text[k] == MINUS
    begin = k + (ONE if negative else ZERO)
    first = digit(text[begin])
    if begin + TEN <= np.uint64(text.shape[0]) and first <= NINE and text[begin + ONE] == POINT:
        eight = eight_bytes(text, begin + TWO)
        other = ((eight & HIGH_HALVES) | (((eight + SIXES) & HIGH_HALVES) >> FOUR)) ^ THREES
        if other != ZERO:
            n = trailing_zeros(other) >> THREE
            end = begin + TWO + n
            if text[end] != SMALL_E and text[end] != LARGE_E:
                up = np.uint64(56) - (n << THREE)
                digits = ((eight << up) << EIGHT) - ((ZEROS << up) << EIGHT)
                m = first * WHOLE_TENS[n] + np.uint64(whole(digits))
                value = np.float64(m) / TENS[n]
                return end, -value if negative else value
    return k, 0.0


@written_out
def number_for(
    text: Any, k: Any, array: Any, powers: Any, known: Any, hard: Any, counts: Any
) -> tuple[int, Any, float]:
    """Read a number that goes to this array, as `number` does; HARD is left where Python has not read it yet."""
    at = k
    k, value = _short(text, k)
    status = READ
    if k == at:
        status, k, value = number(text, k, powers)
    if status == HARD or (status == READ and doubtful(value, array)):
        found = _known(np.float64(at), known)
        if found >= 0:
            return READ, k, known[found, 1]
        status = HARD
        if counts[HARDS] < hard.shape[0]:
            hard[counts[HARDS], 0], hard[counts[HARDS], 1], hard[counts[HARDS], 2] = at, k, array.itemsize
        counts[HARDS] += 1
    return status, k, value
