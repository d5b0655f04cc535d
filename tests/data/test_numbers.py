"""Decimal text to floats: the bits of Python's own `float`, and of exact arithmetic for float32."""

import random
import struct
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numba import njit

from linsep.data.compiled.numbers import HARD, NO_NUMBER, doubtful, exactly, fives, number


@njit
def read(text, powers):
    return number(text, np.uint64(0), powers)


def value_of(text):
    """The float that the compiled reader gives, by way of Python where it asks for that."""
    status, end, value = read(np.frombuffer(text.encode() + b"\n", np.uint8), fives())
    assert status != NO_NUMBER
    assert end == len(text)
    return float(text) if status == HARD else value, status == HARD


def bits(value):
    return struct.pack("=d", value)


def hard_share(texts):
    hard = 0
    for text in texts:
        value, by_python = value_of(text)
        assert bits(value) == bits(float(text)), text
        hard += by_python
    return hard / len(texts)


def random_floats(n):
    rng = random.Random(0)
    drawn = (struct.unpack("=d", rng.getrandbits(64).to_bytes(8, "little"))[0] for _ in range(n))
    return [value for value in drawn if np.isfinite(value)]


@pytest.mark.slow
def test_shortest_forms_of_all_floats():
    """What repr writes: 17 digits at most, any exponent; nearly all without Python's help."""
    assert hard_share([repr(value) for value in random_floats(20_000)]) < 0.01


@pytest.mark.parametrize("form", ["{:.17g}", "{:.18e}", "{:.9g}", "{:.3e}"])
def test_other_forms_of_all_floats(form):
    assert hard_share([form.format(value) for value in random_floats(5_000)]) < 0.05


def test_integers_times_powers_of_ten():
    rng = random.Random(1)
    texts = [
        f"{rng.choice(['', '-', '+'])}{rng.getrandbits(rng.randint(1, 63))}e{rng.randint(-345, 289)}"
        for _ in range(20_000)
    ]
    assert hard_share(texts) < 0.1


def test_the_middle_between_two_floats():
    """19 digits of a midpoint, and its neighbours in the last digit: the hardest that fit into a word."""
    rng = random.Random(2)
    texts = []
    for _ in range(5_000):
        middle = Fraction(2 * (rng.getrandbits(52) | 1 << 52) + 1) * Fraction(2) ** rng.randint(-80, 70)
        scale = 18 - len(str(int(middle))) + 1 if middle >= 1 else 18
        digits = int(middle * Fraction(10) ** scale)
        texts += [f"{digits + d}e{-scale}" for d in (-1, 0, 1) if len(str(digits + d)) <= 19]
    hard_share(texts)


HARD_CASES = [
    "0", "-0", "0e999", "1e-400", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623158e308",
    "9007199254740993", "9007199254740993e0", "9007199254740992.5", "1e23", "8.5e22", "6.0221409e23", ".5", "5.",
    "+.5e+1", "123456789012345678901234567890", "0.000000000000000000000000000001", "18446744073709551615",
    "18446744073709551616", "1" * 400, "0." + "0" * 400 + "1", "1e22", "1e-22", "9007199254740993e22",
    "4503599627370496.5", "4503599627370497.5",
]  # fmt: skip


@pytest.mark.parametrize("text", HARD_CASES, ids=lambda text: text[:24])
def test_hard_cases(text):
    assert bits(value_of(text)[0]) == bits(float(text))


@pytest.mark.slow
@settings(max_examples=500)
@given(text=st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,5})?", fullmatch=True))
def test_any_number(text):
    assert bits(value_of(text)[0]) == bits(float(text))


@pytest.mark.parametrize("text", ["", "-", "+", ".", "e5", "1e", "1e+", "-.e1", "x", "nan", "inf", "--1"])
def test_no_numbers(text):
    assert read(np.frombuffer(text.encode() + b"\n", np.uint8), fives())[0] == NO_NUMBER


@njit
def is_doubtful(value, array):
    return doubtful(value, array)


def nearest_float32(text):
    """The float32 nearest to a decimal number, ties to the even one, by exact arithmetic."""
    exact = Fraction(text)
    with np.errstate(over="ignore"):
        guess = np.float32(float(text))
        around = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    return min(
        filter(np.isfinite, around),
        key=lambda f: (abs(Fraction(float(f)) - exact), int(np.float32(f).view(np.uint32)) & 1),
    )


def test_float32_is_rounded_once():
    """Near the middle of two float32 rounding to float64 first would err: those are found, and read exactly."""
    rng = random.Random(3)
    for _ in range(3_000):
        middle = Fraction(2 * (rng.getrandbits(23) | 1 << 23) + 1) * Fraction(2) ** rng.randint(-60, 60)
        scale = Fraction(10) ** rng.randint(20, 45)
        text = f"{int(middle * scale) + rng.randint(-1, 1)}e{-len(str(int(scale))) + 1}"
        value = float(text)
        read_as = exactly(text.encode(), np.float32) if is_doubtful(value, np.empty(1, np.float32)) else value
        assert np.float32(read_as) == nearest_float32(text), text


@pytest.mark.parametrize("text", ["1e-45", "1.1e-38", "7e-46", "3.4028235e38", "1.1754943e-38"])
def test_float32_beyond_normal_numbers(text):
    assert is_doubtful(float(text), np.empty(1, np.float32)) or np.float32(float(text)) == nearest_float32(text)
    assert np.float32(exactly(text.encode(), np.float32)) == nearest_float32(text)


def test_float32_overflow():
    assert exactly(b"3.5e38", np.float32) == np.inf
    assert is_doubtful(3.5e38, np.empty(1, np.float32))
    assert not is_doubtful(3.5e38, np.empty(1))


FAR_AWAY = {
    "1e-20000000": 0.0, "-1e-20000000": -0.0, "1e20000000": np.inf, "-1e20000000": -np.inf,
    "1e-99999999999999999999": 0.0, "1e99999999999999999999": np.inf, "0e99999999999999999999": 0.0,
    "1" * 5_000 + "e-20000000": 0.0, "1" * 5_000: np.inf, "0." + "0" * 9_000 + "1": 0.0,
    "1" + "0" * 9_000 + "e-9000": 1.0, "0." + "0" * 9_000 + "1e9001": 1.0, "1e-" + "0" * 9_000 + "1": 0.1,
    "0." + "0" * 100_001 + "1e1000010": np.inf, "0." + "0" * 100_001 + "1e100002": 1.0,
    "1" + "0" * 100_001 + "e-1000010": 0.0, "0." + "0" * 100_001 + "1e-1000010": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("text", FAR_AWAY, ids=lambda text: f"{text[:24]} of {len(text)}")
def test_exponents_and_digits_of_any_length(text):
    assert bits(value_of(text)[0]) == bits(FAR_AWAY[text])
    for dtype in (np.float64, np.float32):
        assert bits(exactly(text.encode(), dtype)) == bits(float(dtype(FAR_AWAY[text])))


def rounded(value):
    """The float32 nearest to a fraction above 0, ties to the even one."""
    if value >= 2**128 - 2**103:
        return np.inf
    with np.errstate(over="ignore"):
        guess = min(np.float32(float(value)), np.finfo(np.float32).max)
    around = {guess, *(np.nextafter(guess, np.float32(end)) for end in (0, 2**127))}
    return float(min(around, key=lambda f: (abs(Fraction(float(f)) - value), int(f.view(np.uint32)) & 1)))


def spelled(digits, exponent, shift):
    """Digits times a power of ten as text: with zeros before them, with zeros after them, or with the point inside."""
    zeros, middle = "0" * abs(shift), len(digits) // 2
    if shift > 0:
        return f"0.{zeros}{digits}e{exponent + shift + len(digits)}"
    if shift < 0:
        return f"{digits}{zeros}e{exponent + shift}"
    return f"{digits[:middle]}.{digits[middle:]}e{exponent + len(digits) - middle}"


def long_digits(rng):
    """Digits and an exponent: the middle of two float32, a hair below or above it, or the middle's first digits."""
    low = rng.choice([-150, rng.randint(-150, 103)])
    middle = (2 * rng.getrandbits(23) + 1 if low == -150 else (1 << 24) + 2 * rng.getrandbits(23) + 1) * Fraction(
        2
    ) ** low
    if rng.random() < 0.1:
        middle = Fraction(2**128 - 2**103)
    digits, exponent = str(int(middle * 10**150)), -150  # all middles are multiples of 2^-150
    more = rng.choice([0, 1, 30, 800, 4_400, 6_000])
    kind = rng.choice(["at", "below", "above", "noise"])
    if kind == "below":
        digits, exponent = str(int(digits) - 1) + "9" * more, exponent - more
    elif kind == "above":
        digits, exponent = digits + "0" * more + "1", exponent - more - 1
    elif kind == "noise":
        noise = "".join(rng.choices("0123456789", k=more))
        digits, exponent = digits[:9] + noise, exponent + len(digits) - 9 - more
    return digits, exponent


def test_long_decimals_are_rounded_once():
    rng = random.Random(4)
    for _ in range(400):
        digits, exponent = long_digits(rng)
        value = Fraction(Decimal(digits)) * Fraction(10) ** exponent
        text = spelled(digits, exponent, rng.choice([0, 0, 7, -7, 5_000, -5_000]))
        assert exactly(text.encode(), np.float32) == rounded(value), text
        assert exactly(b"-" + text.encode(), np.float32) == -rounded(value), text
        assert exactly(text.encode(), np.float64) == float(value)
