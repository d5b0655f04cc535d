"""Floats as integers: each is an odd integer times a power of two, and powers of two are put aside by row and column.

A sum of lambda_i z_i is 0 in a column whatever power of two the column is multiplied by; a power of two of a row goes
into its lambda_i. So rows of 1e300 beside rows of 1e-300 cost no more than their 53 bits.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array
from linsep.theory.modular import centred

WIDTH = 16
"""Bits of a digit of a long integer."""


class Form(NamedTuple):
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

    def residues(self, prime: int) -> Any:
        """Return the integers modulo a prime, as a csc_array."""
        powers = np.array([pow(2, k, prime) for k in range(int(self.exponent.max(initial=0)) + 1)])
        values = centred((self.mantissa % prime * powers[self.exponent]).astype(np.float64), prime)
        return sp.csc_array((values, (self.row, self.column)), shape=self.shape)

    def part(self, rows: Array, columns: Array) -> "Form":
        """Return some rows and columns, numbered by their places there."""
        row, column = np.full(self.shape[0], -1), np.full(self.shape[1], -1)
        row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
        inside = (row[self.row] >= 0) & (column[self.column] >= 0)
        entries = row[self.row[inside]], column[self.column[inside]], self.mantissa[inside], self.exponent[inside]
        return Form(*entries, (len(rows), len(columns)), self.shifts[rows], self.sizes[rows])

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


def form_of(rows: Any) -> Form:
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
    exponent -= _least(column, exponent, Z.shape[1])[column]
    widths = np.zeros(Z.shape[1], np.int64)
    np.maximum.at(widths, column, _bits(mantissa, exponent))
    order = np.argsort(widths, kind="stable")[np.count_nonzero(widths == 0) :]
    places = np.zeros(Z.shape[1], np.int64)
    places[order] = np.arange(len(order))
    by_column = np.argsort(places[column], kind="stable")
    row, column, mantissa, exponent = (a[by_column] for a in (row, places[column], mantissa, exponent))
    return Form(row, column, mantissa, exponent, (Z.shape[0], len(order)), shifts, sizes)


def _bits(mantissa: Array, exponent: Array) -> Array:
    """Return the bit lengths of integers."""
    return exponent + np.frexp(np.abs(mantissa).astype(np.float64))[1]


def _least(groups: Array, values: Array, size: int) -> Array:
    """Return the least value of each group, 0 where there is none."""
    least = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(least, groups, values)
    return np.where(least == np.iinfo(np.int64).max, 0, least)
