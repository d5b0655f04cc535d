"""Square systems of integers, solved exactly: from a solution modulo a prime to one modulo its powers (Dixon, 1982).

With A x = b and x = x_0 + x_1 q + x_2 q² + ..., x_k = A^-1 b_k modulo q, and b_{k+1} = (b_k - A x_k) / q has no
remainder. From x modulo a power of q, twice as long as they are, the fractions can be told by Euclid's algorithm.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.theory.dyadic import WIDTH, Form
from linsep.theory.modular import PRIMES, centred, inverse

DOUBT = 40
"""Bits beyond those that tell a fraction: a wrong one looks right with a chance of 2^-40, before it is checked."""


class TooMuchError(Exception):
    """The deadline has passed, or the integers grow too long."""


class Limits(NamedTuple):
    """What a search may take."""

    deadline: float
    bits: int

    def check(self) -> None:
        """Raise TooMuchError after the deadline."""
        if time.monotonic() > self.deadline:
            raise TooMuchError


class System(NamedTuple):
    """Find lambda on `rows`, given that on `free`, so that all sums over `columns` are 0: there is one solution."""

    rows: Array
    columns: Array
    free: Array
    given: Array


def lifted(form: Form, residues: Any, system: System, prime: int, limits: Limits) -> tuple[list[int], int]:
    """Return lambda on the system's rows as integers over one denominator."""
    size = len(system.rows)
    solver = inverse(residues[system.rows][:, system.columns].toarray(), prime, limits.check)
    known = form.part(system.free, system.columns)
    matrix = form.part(system.rows, system.columns)
    length = max(known.length(), matrix.length())
    A = matrix.digits(length)
    rest = -(known.digits(length) @ system.given).reshape(length, size)
    powers = np.array([float(pow(2, WIDTH * k, prime)) for k in range(length)])
    most = 8 * limits.bits // (size + 1) // PRIMES[-1].bit_length() + 8
    digits: list[Array] = []
    attempt = 4
    while len(digits) < most:
        limits.check()
        digit = centred(centred(powers @ centred(rest, prime), prime) @ solver, prime)
        digits.append(digit)
        rest = _divided(rest - (A @ digit).reshape(length, size), prime)
        if len(digits) >= attempt:
            attempt += 2 + attempt // 4
            found = _fractions(np.array(digits), prime)
            if found is not None:
                return found
    raise TooMuchError


def _divided(digits: Array, prime: int) -> Array:
    """Return long integers divided by the prime, which leaves no remainder: long division from the highest digit."""
    result, remainder = np.empty_like(digits), np.zeros(digits.shape[1])
    for k in reversed(range(len(digits))):
        current = digits[k] + remainder * 2.0**WIDTH
        result[k] = np.rint(current * (1.0 / prime))
        remainder = current - result[k] * prime
    return result


def _fractions(digits: Array, prime: int) -> tuple[list[int], int] | None:
    """Return numerators and their denominator, if there are some of half the modulus's length.

    The denominator of a mixture is that of all, but for small factors that cancel by chance and are found one by one.
    """
    modulus = prime ** len(digits)
    most = math.isqrt(modulus >> DOUBT + 1)
    mixture = digits @ np.random.default_rng(0).integers(1, 1 << 10, digits.shape[1]).astype(np.float64)
    factor = denominator = _denominator(int(_assembled(mixture[:, None], prime)[0]), modulus, most)
    values = _assembled(digits, prime) if factor else digits[0]
    while factor and denominator <= most:
        values = values * factor % modulus
        large = np.flatnonzero(np.minimum(values, modulus - values) > most)
        if not len(large):
            return [int(v) if 2 * v < modulus else int(v - modulus) for v in values], denominator
        factor = _denominator(int(values[large[0]]), modulus, most)
        denominator *= factor
    return None


def _assembled(digits: Array, base: int) -> Array:
    """Return the integers whose digits, lowest first, are the rows of an array."""
    numbers = digits.astype(np.int64).astype(object)
    while len(numbers) > 1:
        if len(numbers) % 2:
            numbers = np.vstack([numbers, np.zeros_like(numbers[:1])])
        numbers, base = numbers[::2] + numbers[1::2] * base, base * base
    return numbers[0]


def _denominator(value: int, modulus: int, most: int) -> int:
    """Return the least d > 0 with d value = n modulo the modulus, d and |n| up to `most`; 0 where there is none."""
    r, following, d, next_d = modulus, value % modulus, 0, 1
    while following > most:
        quotient, remainder = divmod(r, following)
        r, following, d, next_d = following, remainder, next_d, d - quotient * next_d
    return abs(next_d) if abs(next_d) <= most else 0
