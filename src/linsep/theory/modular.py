"""Elimination modulo a prime, in matrix products of float64 that are exact.

Remainders modulo a prime below 2^21 are at most 2^20 in size, so that a sum of 4,096 products of two of them is below
2^53 and rounds nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.core.arrays import Array

PRIMES = (2097143, 2097133, 2097131, 2097097, 2097091, 2097083)
"""The largest below 2^21, each tried where those before it have bad luck."""
MOST_ROWS = 4096
AT_ONCE = 256
"""Columns that are eliminated between two looks at the clock."""


class BadPrimeError(Exception):
    """The rank modulo this prime is not the rank."""


class Echelon(NamedTuple):
    """What elimination modulo a prime has found: on the columns seen, V[others] = ratios V[rows]."""

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
