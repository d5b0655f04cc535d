"""Numbers as sums of two floats, for what must be known better than one float can tell."""

from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array

SPLITTER = 2.0**27 + 1
"""What cuts a float into two halves of 26 bits (Veltkamp)."""


class Pair(NamedTuple):
    """high + low, the low part no larger than the rounding of the high one: some 106 bits."""

    high: Array
    low: Array

    def scaled(self, exponent: Array) -> "Pair":
        """Return this times 2^exponent."""
        return Pair(np.ldexp(self.high, exponent), np.ldexp(self.low, exponent))

    def columns(self, part: slice) -> "Pair":
        """Return some columns."""
        return Pair(self.high[:, part], self.low[:, part])


def plus(a: Array, b: Array | float) -> Pair:
    """Return a + b without rounding (Knuth).

    Examples
    --------
    >>> plus(np.array([1.0]), 2.0**-60)
    Pair(high=array([1.]), low=array([8.67361738e-19]))
    """
    total = a + b
    back = total - a
    return Pair(total, (a - (total - back)) + (b - back))


def added(a: Pair, b: Pair) -> Pair:
    """Return a + b."""
    total = plus(a.high, b.high)
    return plus(total.high, total.low + (a.low + b.low))


def product(a: Pair, b: Pair) -> Pair:
    """Return a * b, for numbers that are neither as large nor as small as floats go (Dekker)."""
    high = a.high * b.high
    (a_top, a_rest), (b_top, b_rest) = _halves(a.high), _halves(b.high)
    low = a_rest * b_rest - (((high - a_top * b_top) - a_rest * b_top) - a_top * b_rest)
    return plus(high, low + (a.high * b.low + a.low * b.high))


def log_quotient(a: Pair, b: Pair) -> Array:
    """Return ln(a / b), as good as its logarithm is: 0 where they are equal, and the difference where they nearly are.

    Examples
    --------
    >>> one = Pair(np.ones(1), np.zeros(1))
    >>> log_quotient(Pair(np.ones(1), np.full(1, 1e-20)), one), log_quotient(one, one)
    (array([1.e-20]), array([0.]))
    """
    quotient = a.high / b.high
    times_b = product(Pair(quotient, np.zeros_like(quotient)), b)
    left = added(a, Pair(-times_b.high, -times_b.low)).high / b.high
    return np.log(quotient) + left / quotient


def sums(terms: Array, starts: Array) -> Pair:
    """Return the sum of each stretch of terms, as if summed exactly and then rounded, for some million terms at most.

    The leading bits, cut off where the stretch's sum has its last, add up without rounding in any order; what is left
    is so small that its rounding does not matter (Rump). No stretch may be empty; stretches run along the first axis.

    Examples
    --------
    >>> sums(np.array([1.0, 1e16, 1.0, -1e16, 0.1, 0.2]), np.array([0, 4])).high
    array([2. , 0.3])
    """
    lengths = np.diff(np.append(starts, len(terms)))
    largest = np.maximum.reduceat(np.abs(terms), starts, axis=0)
    spread = np.frexp(lengths.astype(np.float64))[1]
    exponents = np.frexp(largest)[1] + spread.reshape(-1, *[1] * (terms.ndim - 1))
    cut = np.repeat(np.ldexp(1.0, np.minimum(exponents, 1022)), lengths, axis=0)
    leading = (terms + cut) - cut
    return plus(np.add.reduceat(leading, starts, axis=0), np.add.reduceat(terms - leading, starts, axis=0))


def _halves(a: Array) -> tuple[Array, Array]:
    top = SPLITTER * a
    top = top - (top - a)
    return top, a - top
