"""Decimal text to the nearest float, compiled.

A number of at most 19 digits, zeros before them not counted, is its digits, an integer m, times a power of ten, 10^e.
Where m < 2^53 and |e| <= 22 both are floats and one multiplication or division rounds correctly (Clinger 1990).
Elsewhere m is multiplied with the first 128 bits of 5^e, and the product's leading bits are rounded unless what was cut
off could change the result (Eisel and Lemire 2021). What is left, about one number in 10^18 and those with more digits,
is marked, to be read by Python's own `float`, which is exact.
"""

import math
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from linsep.data.compiled.intrinsics import (
    bits_of_float,
    called,
    eight_bytes,
    float_of_bits,
    leading_zeros,
    trailing_zeros,
    wide_product,
    written_out,
)
from linsep.engine.arrays import Array

READ, HARD, NO_NUMBER = range(3)
"""Results of reading a number: read; to be read exactly; not a number."""
LOWEST, HIGHEST = -342, 308
"""Powers of ten beyond which 19 digits are 0 or infinite."""
MOST_DIGITS, FAR = 19, 100_000
"""Digits that fit into a word, and exponents that are not read to their end here."""
ZERO, ONE, TWO, THREE, NINE, TEN = (np.uint64(k) for k in (0, 1, 2, 3, 9, 10))
POINT, PLUS, MINUS, SMALL_E, LARGE_E = 46, 43, 45, 101, 69
FOUR, EIGHT, SIXTEEN = (np.uint64(k) for k in (4, 8, 16))
HIGH_HALVES, SIXES, THREES, ZEROS = (np.uint64(0x0101010101010101 * byte) for byte in (0xF0, 0x06, 0x33, 0x30))
PAIRS, FIRST, SECOND = (np.uint64(w) for w in (0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001))
TENS = np.array([10.0**k for k in range(23)])
TENS.flags.writeable = False
WHOLE_TENS = np.array([10**k for k in range(8)], np.uint64)
WHOLE_TENS.flags.writeable = False


@cache
def fives() -> Array:
    """Return the first 128 bits of 5^e for every e from LOWEST to HIGHEST, as two words each, cut off, not rounded.

    For -27 <= e < 0, where 5^-e has at most 64 bits, they are rounded up, as the proof of the algorithm asks for.
    """
    table = np.empty((HIGHEST - LOWEST + 1, 2), np.uint64)
    for row, e in enumerate(range(LOWEST, HIGHEST + 1)):
        power = 5 ** abs(e)
        if e < 0:
            z = (power - 1).bit_length()
            power = (1 << (z + 127 if e >= -27 else 2 * z + 128)) // power + 1
        shift = power.bit_length() - 128
        word = power >> shift if shift > 0 else power << -shift
        table[row] = word >> 64, word & (2**64 - 1)
    table.flags.writeable = False
    return table


PATTERN = rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?+"
"""A number as a regular expression, for text that Python's own `float` reads."""


def doubtful_values(values: Array) -> bool:
    """Return whether :func:`doubtful` is true of any of these float64, written as float32; or one is not finite."""
    size = np.abs(values)
    halfway = values.view(np.uint64) & np.uint64((1 << 29) - 1) == np.uint64(1 << 28)
    return bool((halfway | ((size < 2.0**-126) & (values != 0.0)) | ~(size <= 3.4028234663852886e38)).any())


@written_out
def doubtful(value: float, array: Any) -> bool:
    """Return whether a correctly rounded float64, written to this array, might not be the nearest number of its type.

    Rounded to float32 once more, it errs only where it lies halfway between two, or beyond the normal numbers.
    """
    if array.itemsize == 8:
        return False
    size = abs(value)
    halfway = bits_of_float(value) & np.uint64((1 << 29) - 1) == np.uint64(1 << 28)
    return halfway or (size < 2.0**-126 and value != 0.0) or size > 3.4028234663852886e38


def exactly(text: bytes, dtype: Any) -> float:
    """Return the number of type `dtype` nearest to a decimal number; infinity for one that is too large.

    >>> exactly(b"1.00000005960464477540", np.float32) > 1  # a hair above the middle of two float32
    True
    """
    nearest = float(text)
    if np.dtype(dtype) == np.float64 or not np.isfinite(nearest):
        return nearest
    with np.errstate(over="ignore"):
        guess = float(np.float32(nearest))
        other = float(np.nextafter(np.float32(guess), np.float32(np.inf if guess < nearest else -np.inf)))
    if guess == nearest or nearest != _middle(guess, other):
        return guess
    # A float64 between two float32 lies on the same side of their middle as the text, unless it is the middle.
    # Decimals are compared without the power of ten being written out, whatever the exponent and the digits.
    exact, middle = Decimal(text.decode()), Decimal(nearest)
    if exact == middle:
        return guess
    return max(guess, other) if exact > middle else min(guess, other)


def _middle(one: float, other: float) -> float:
    """Return the number halfway between two neighbouring float32; infinity counts as the float32 after the largest."""
    one, other = (math.copysign(2.0**128, end) if math.isinf(end) else end for end in (one, other))
    return (one + other) / 2


@written_out
def scale_by_ten(m: Any, e: int, powers: Any) -> tuple[float, int]:
    """Return m * 10^e for a word m, correctly rounded, and READ; or HARD where this method can't decide."""
    if m == ZERO:
        return 0.0, READ
    if e < LOWEST or e > HIGHEST:
        return 0.0, HARD
    shift = leading_zeros(m)
    m <<= shift
    row = e - LOWEST
    high, low = wide_product(m, powers[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        high2, _ = wide_product(m, powers[row, 1])
        low += high2
        high += ONE if low < high2 else ZERO
        if low == np.uint64(0xFFFFFFFFFFFFFFFF) and high & np.uint64(0x1FF) == np.uint64(0x1FF):
            return 0.0, HARD
    upper = high >> np.uint64(63)
    mantissa = high >> (upper + np.uint64(9))
    exponent = ((217706 * e) >> 16) + 1023 + 63 + np.int64(upper) - np.int64(shift)
    if exponent <= 0 or exponent >= 2046:
        return 0.0, HARD
    if low <= ONE and mantissa & np.uint64(3) == ONE and high << (np.uint64(55) - upper) == ZERO:
        return 0.0, HARD
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    if mantissa >= np.uint64(1 << 53):
        mantissa >>= ONE
        exponent += 1
    bits = (mantissa & np.uint64((1 << 52) - 1)) | (np.uint64(exponent) << np.uint64(52))
    return float_of_bits(bits), READ


@written_out
def digit(byte: Any) -> Any:
    """Return the value of a digit; above 9 for any other byte."""
    return np.uint64(byte) - np.uint64(48)


@written_out
def eight_digits(digits: Any) -> Any:
    """Return the number of eight digits, a byte each, the first digit lowest.

    Neighbours are joined to numbers of two, four and eight digits.
    """
    digits = digits * TEN + (digits >> EIGHT)
    pairs, others = digits & PAIRS, (digits >> SIXTEEN) & PAIRS
    return (pairs * FIRST + others * SECOND) >> np.uint64(32)


@written_out
def digits_at(text: Any, k: Any, m: Any) -> tuple[Any, Any]:
    """Return where a run of digits ends that begins at text[k], and m with these digits after its own.

    Eight digits are read as one word.
    """
    stop = np.uint64(text.shape[0])
    while k + EIGHT <= stop:
        word_ = eight_bytes(text, k)
        high = word_ & HIGH_HALVES
        above = (word_ + SIXES) & HIGH_HALVES
        if high | (above >> FOUR) != THREES:
            break
        m = m * np.uint64(100_000_000) + eight_digits(word_ - ZEROS)
        k += EIGHT
    d = digit(text[k])
    while d <= NINE:
        m = m * TEN + d
        k += ONE
        d = digit(text[k])
    return k, m


@called
def _leading_zeros(text: Any, k: Any) -> int:
    """Return how many zeros a number begins with, before and after its point."""
    zeros = 0
    while text[k] == 48 or text[k] == POINT:
        zeros += 1 if text[k] == 48 else 0
        k += ONE
    return zeros


@written_out
def number(text: Any, k: Any, powers: Any) -> tuple[int, Any, float]:
    """Read the number that begins at text[k]: what became of it, where it ends, and its value.

    [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. The text must end with a byte that
    no number contains.
    """
    negative = text[k] == MINUS
    if negative or text[k] == PLUS:
        k += ONE
    m, e = ZERO, np.int64(0)
    start = begin = k
    d = digit(text[k])
    while d <= NINE:
        m = m * TEN + d
        k += ONE
        d = digit(text[k])
    digits = np.int64(k - begin)
    if text[k] == POINT:
        k += ONE
        begin = k
        k, m = digits_at(text, k, m)
        e = -np.int64(k - begin)
        digits -= e
    if digits == 0:
        return NO_NUMBER, k, 0.0
    if text[k] == SMALL_E or text[k] == LARGE_E:
        k += ONE
        down = text[k] == MINUS
        if down or text[k] == PLUS:
            k += ONE
        begin = k
        x = np.int64(0)
        d = digit(text[k])
        while d <= NINE:
            x = x * 10 + np.int64(d) if x < FAR else x
            k += ONE
            d = digit(text[k])
        if k == begin:
            return NO_NUMBER, k, 0.0
        if x >= FAR:  # it was cut short, and zeros before or after the digits may make up for it
            return HARD, k, 0.0
        e += -x if down else x
    if digits > MOST_DIGITS and digits - _leading_zeros(text, start) > MOST_DIGITS:
        return HARD, k, 0.0
    if -22 <= e <= 22 and m <= np.uint64(1 << 53):
        value, status = np.float64(m), READ
        value = value / TENS[-e] if e < 0 else value * TENS[e]
    else:
        value, status = scale_by_ten(m, e, powers)
    return status, k, -value if negative else value


@written_out
def short_number(text: Any, k: Any) -> tuple[Any, float]:
    """Read a number of one digit, a point and up to seven digits: return where it ends, and its value.

    Return k itself for any other text. The digits are below 2^53 and are divided once, by a power of ten, so that the
    value is that of `number`; but there is no loop, whose end the processor can't predict.
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
                value = np.float64(first * WHOLE_TENS[n] + eight_digits(digits)) / TENS[n]
                return end, -value if negative else value
    return k, 0.0


@written_out
def quick_number(text: Any, k: Any, powers: Any) -> tuple[int, Any, float]:
    """Read a number as `number` does; short numbers without a loop.

    svmlight text is read by `number` alone: with this function, rows of values 1 took 78 ms instead of 42 ms.
    """
    end, value = short_number(text, k)
    status = READ
    if end == k:
        status, end, value = number(text, k, powers)
    return status, end, value
