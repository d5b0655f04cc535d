"""Solve square integer systems exactly (Dixon, 1982).

A sum of lambda_i z_i is 0 in a column multiplied by any power of two; a power of two of a row goes
into its lambda_i. So rows of 1e300 beside rows of 1e-300 cost no more than their 53 bits.

Remainders modulo a prime below 2^21 are at most 2^20 in size, so that a sum of 4,096 products of two of them is below
2^53 and rounds nothing.

With A x = b and x = x_0 + x_1 q + x_2 q² + ..., x_k = A^-1 b_k modulo q, and b_{k+1} = (b_k - A x_k) / q has no
remainder. From x modulo a power of q, twice as long as they are, Euclid's algorithm computes the fractions.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array

WIDTH = 16
"""Bits of a digit of a long integer."""
PRIMES = (2097143, 2097133, 2097131, 2097097, 2097091, 2097083)
"""The largest below 2^21, each tried where those before it have bad luck."""
MOST_ROWS = 4096
AT_ONCE = 256
"""Columns that are eliminated between two looks at the clock."""
DOUBT = 40
"""Bits beyond those that determine a fraction: a wrong one looks right with a chance of 2^-40, before it is checked."""


class DyadicMatrix(NamedTuple):
    """Rows z_i as integers: entry = mantissa 2^exponent, times 2^shifts[row], times a power of two of its column."""

    row: Array
    column: Array
    """Of each entry that is not 0, by column; columns without any are left out, those of long integers come last."""
    mantissa: Array
    """Odd integers."""
    exponent: Array
    """0 or more."""
    shape: tuple[int, int]
    shifts: Array
    sizes: Array
    """log2 of each row's largest |entry|; -inf for a row of zeros."""
    origin: Array
    """The column of the rows that each column comes from."""
    powers: Array
    """The power of two that each column was divided by."""

    def integers(self) -> Array:
        """Return the integers, of any length, in an array of objects."""
        pairs = zip(self.mantissa.tolist(), self.exponent.tolist(), strict=True)
        return np.fromiter((m << e for m, e in pairs), object, len(self.row))

    def residues(self, prime: int) -> Any:
        """Return the integers modulo a prime, as a csc_array."""
        powers = np.array([pow(2, k, prime) for k in range(int(self.exponent.max(initial=0)) + 1)])
        values = centred((self.mantissa % prime * powers[self.exponent]).astype(np.float64), prime)
        return sp.csc_array((values, (self.row, self.column)), shape=self.shape)

    def part(self, rows: Array, columns: Array) -> "DyadicMatrix":
        """Return some rows and columns, numbered by their places there."""
        row, column = np.full(self.shape[0], -1), np.full(self.shape[1], -1)
        row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
        inside = (row[self.row] >= 0) & (column[self.column] >= 0)
        entries = row[self.row[inside]], column[self.column[inside]], self.mantissa[inside], self.exponent[inside]
        shape = len(rows), len(columns)
        kept = self.origin[columns], self.powers[columns]
        return DyadicMatrix(*entries, shape, self.shifts[rows], self.sizes[rows], *kept)

    def length(self) -> int:
        """Return how many digits the longest integer has, at most."""
        return (int(_bits(self.mantissa, self.exponent).max(initial=1)) - 1) // WIDTH + 1

    def digits(self, length: int) -> Any:
        """Return the digits of the integers, transposed: a csr_array (length times columns, rows), lowest first."""
        places = np.arange(0, 64, WIDTH)
        ones = (1 << WIDTH) - 1
        pieces = (np.abs(self.mantissa)[:, None] >> places & ones) << (self.exponent % WIDTH)[:, None]
        values = np.stack([pieces & ones, pieces >> WIDTH], axis=2) * np.sign(self.mantissa)[:, None, None]
        digit = (self.exponent // WIDTH)[:, None, None] + np.arange(len(places))[:, None] + np.arange(2)
        used = values != 0
        at = digit * self.shape[1] + self.column[:, None, None]
        row = np.broadcast_to(self.row[:, None, None], used.shape)
        shape = (length * self.shape[1], self.shape[0])
        return sp.csr_array((values[used].astype(np.float64), (at[used], row[used])), shape=shape)


def form_of(rows: Any) -> DyadicMatrix:
    """Return rows as integers, or a ValueError where they have entries that are no numbers."""
    Z: Any = rows if sp.issparse(rows) else np.asarray(rows)
    if Z.ndim != 2 or Z.dtype.kind not in "fiub":
        raise ValueError(f"rows are numbers in a table, not {Z.dtype} in {Z.ndim} dimensions: give a 2-D float array")
    if Z.dtype.kind in "iu" and math.prod(Z.shape) and max(int(Z.max()), -int(Z.min())) > 1 << 53:
        raise ValueError("an integer beyond 2^53 would be rounded: give floats, or divide by a power of two")
    Z = sp.csr_array(Z, dtype=np.float64, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    row, column = (indices.astype(np.int64) for indices in Z.tocoo().coords)
    if not np.isfinite(Z.data).all():
        k = int(np.argmin(np.isfinite(Z.data)))
        raise ValueError(f"row {row[k]}, column {column[k]} is {Z.data[k]}: only finite numbers can be added up to 0")
    sizes = np.full(Z.shape[0], -np.inf)
    np.maximum.at(sizes, row, np.log2(np.abs(Z.data)))
    fractions, exponent = np.frexp(Z.data)
    mantissa = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((mantissa & -mantissa).astype(np.float64))[1].astype(np.int64) - 1
    mantissa, exponent = mantissa >> zeros, exponent.astype(np.int64) - 53 + zeros
    shifts = _least(row, exponent, Z.shape[0])
    exponent -= shifts[row]
    powers = _least(column, exponent, Z.shape[1])
    exponent -= powers[column]
    widths = np.zeros(Z.shape[1], np.int64)
    np.maximum.at(widths, column, _bits(mantissa, exponent))
    order = np.argsort(widths, kind="stable")[np.count_nonzero(widths == 0) :]
    places = np.zeros(Z.shape[1], np.int64)
    places[order] = np.arange(len(order))
    by_column = np.argsort(places[column], kind="stable")
    row, column, mantissa, exponent = (a[by_column] for a in (row, places[column], mantissa, exponent))
    shape = Z.shape[0], len(order)
    return DyadicMatrix(row, column, mantissa, exponent, shape, shifts, sizes, order, powers[order])


def _bits(mantissa: Array, exponent: Array) -> Array:
    """Return the bit lengths of integers."""
    return exponent + np.frexp(np.abs(mantissa).astype(np.float64))[1]


def _least(groups: Array, values: Array, size: int) -> Array:
    """Return the least value of each group, 0 where there is none."""
    least = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(least, groups, values)
    return np.where(least == np.iinfo(np.int64).max, 0, least)


class BadPrimeError(Exception):
    """The rank modulo this prime is not the rank."""


class Echelon(NamedTuple):
    """The result of elimination modulo a prime: on the columns seen, V[others] = ratios V[rows]."""

    rows: Array
    """Of the pivots."""
    columns: Array
    """Of the pivots: each the first that its predecessors do not span."""
    others: Array
    ratios: Array

    def null_space(self) -> Array:
        """Return a basis of all n with n V = 0."""
        basis = np.zeros((len(self.others), len(self.rows) + len(self.others)))
        basis[:, self.rows] = -self.ratios
        basis[np.arange(len(self.others)), self.others] = 1.0
        return basis


def centred(values: Array, prime: int) -> Array:
    """Return remainders of least size; exact for integers below 2^53."""
    return values - prime * np.rint(values * (1.0 / prime))


def eliminate(V: Array, prime: int) -> Echelon:
    """Return the pivots of a matrix of remainders by halving it: all work is in matrix products."""
    rows, columns = V.shape
    present = np.flatnonzero(V.any(axis=1))
    if columns > 1 and len(present):
        return _extended(eliminate(V[:, : columns // 2], prime), V[:, columns // 2 :], columns // 2, prime)
    first = present[:1]
    others = np.delete(np.arange(rows), first)
    inverses = np.array([float(pow(int(V[i, 0]), -1, prime)) for i in first])
    ratios = centred(V[others][:, : len(first)] * inverses, prime)
    return Echelon(first, np.zeros(len(first), np.int64), others, ratios)


def _extended(seen: Echelon, V: Array, before: int, prime: int) -> Echelon:
    """Return the elimination of `before` columns, continued to those of V."""
    if not len(seen.others):
        return seen
    more = eliminate(centred(V[seen.others] - seen.ratios @ V[seen.rows], prime), prime)
    old = centred(seen.ratios[more.others] - more.ratios @ seen.ratios[more.rows], prime)
    rows, columns = np.append(seen.rows, seen.others[more.rows]), np.append(seen.columns, before + more.columns)
    return Echelon(rows, columns, seen.others[more.others], np.hstack([old, more.ratios]))


def eliminate_by_pieces(V: Any, prime: int, check: Callable[[], None]) -> Echelon:
    """Return what `eliminate` does, of a dense or a csc matrix, with a call of `check` every 256 columns."""
    rows, columns = V.shape
    none = np.zeros(0, np.int64)
    seen = Echelon(none, none, np.arange(rows), np.zeros((rows, 0)))
    for begin in range(0, columns, AT_ONCE):
        check()
        piece: Any = V[:, begin : begin + AT_ONCE]
        dense = piece.toarray() if hasattr(piece, "toarray") else piece
        seen = _extended(seen, dense, begin, prime)
    return seen


def inverse(A: Array, prime: int, check: Callable[[], None]) -> Array:
    """Return the inverse of a square matrix of remainders: below A, the identity is eliminated to A^-1 A."""
    found = eliminate_by_pieces(np.vstack([A, np.eye(len(A))]), prime, check)
    if len(found.rows) < len(A) or found.rows.max(initial=-1) >= len(A):
        raise BadPrimeError
    result = np.empty(A.shape)
    result[:, found.rows] = found.ratios
    return result


class TooMuchError(Exception):
    """The deadline has passed, or the integers grow too long."""


class Limits(NamedTuple):
    """The deadline of a search, and the bits that its solution may have."""

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


def lift(form: DyadicMatrix, residues: Any, system: System, prime: int, limits: Limits) -> tuple[list[int], int]:
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
