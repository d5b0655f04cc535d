"""Signed rows z_i = y_i x_i, scaled for linear programs.

Rows may be multiplied by numbers above 0, and columns be mixed by any invertible matrix: the solution stays. A solver
with tolerances sees margins in one form that are lost in another.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
BYTES_AN_ENTRY, BYTES_A_LINE = 200, 1000
"""Memory that HiGHS takes for a nonzero entry, and for a row or a column: at most 180, and some 250, as measured."""
ROUNDS = 8
"""Number of times that rows and columns are scaled towards 1."""
FAR = 2.0**20
"""Limit of the weights of balanced rows, for a margin of 1: HiGHS's tolerance is 2^-23."""
NEAR = 2.0**10
"""The same for orthogonal columns, which need no far weights."""
SMALL = 1 << 22
"""Entries of the largest table that is made orthogonal."""


class Budget(NamedTuple):
    """The limits of a program."""

    max_iter: int = 1_000_000
    """The most steps of the simplex method."""
    time_limit: float = 600.0
    """The most seconds."""
    max_memory: float = 2.0**31
    """The most bytes, by an estimate made before anything is built."""


USUAL = Budget()
"""The default limits."""


class ProgramRows(NamedTuple):
    """The rows that count, times their signs, brought near 1 by a power of two."""

    matrix: Any
    """csr_array (rows that count, features, and the constant one if there is a bias): y_i [x_i, beta] 2^-exponent."""
    present: Array
    """Numbers of the rows in the data."""
    exponent: int
    """Of the power of two."""
    features: int
    """Of the data, the constant one not counted."""
    rows: int
    """Of the data, those of weight 0 counted."""

    def weights(self, w: Array) -> Array:
        """Return weights with a last one for the constant feature."""
        return np.append(w, 0.0) if len(w) == self.features else w

    def dual(self, coefficients: Array) -> Array:
        """Return the coefficients of all rows of the data."""
        whole = np.zeros(self.rows)
        whole[self.present] = coefficients
        return whole

    def size(self, value: float) -> float:
        """Return a score of the data's own scale."""
        return float(np.ldexp(value, self.exponent))


def program_rows(data: Dense | Csr, signs: Array, row_weights: Array, budget: Budget, copies: int = 1) -> ProgramRows:
    """Return the rows as programs take them, or a ValueError that states how large such a program would be."""
    present = np.flatnonzero(row_weights > 0) if len(row_weights) else np.arange(data.n_rows)
    features = data.n_features
    entries = int(np.count_nonzero(data.values)) + (data.n_rows if data.bias else 0)
    refuse_large(len(present), features + (data.bias != 0), copies * entries, budget)
    X = data.to_scipy()
    Z = (X[present] if len(present) < data.n_rows else X).astype(np.float64)
    if data.bias:
        Z = beside(Z, column(len(present), data.bias))
    Z.sum_duplicates()
    Z.eliminate_zeros()
    exponent = int(exponents(np.max(np.abs(Z.data), initial=0.0)))
    counts = np.diff(Z.indptr)
    Z.data = np.ldexp(Z.data * np.repeat(signs[present], counts), -exponent)
    return ProgramRows(Z, present, exponent, features, data.n_rows)


def refuse_large(rows: int, columns: int, entries: int, budget: Budget) -> None:
    """Raise a ValueError when a program would take more memory than it may."""
    needed = BYTES_AN_ENTRY * entries + BYTES_A_LINE * (rows + columns)
    if needed > budget.max_memory:
        raise ValueError(
            f"a linear program of {rows:,} rows and {columns:,} columns with {entries:,} nonzero entries takes about "
            f"{needed / 2**30:.3g} GiB, more than max_memory={budget.max_memory:g} bytes "
            f"({budget.max_memory / 2**30:.3g} GiB): raise max_memory, give fewer rows, or use MaxMargin or "
            "Perceptron, which take little more than the data"
        )


def column(rows: int, value: float = 1.0) -> Any:
    """Return a constant column."""
    return sp.csr_array(np.full((rows, 1), value))


def beside(*blocks: Any) -> Any:
    """Return matrices of as many rows, side by side."""
    return sp.hstack(blocks, format="csr")


def exponents(sizes: Any) -> Array:
    """Return e with size 2^-e in [1/2, 1) for each size, 0 where it is 0."""
    return np.frexp(sizes)[1].astype(np.int64)


def scaled(Z: Any, rows: Array, columns: Array) -> Any:
    """Return Z with row i times 2^rows[i] and column j times 2^columns[j]."""
    powers = np.repeat(rows, np.diff(Z.indptr)) + columns[Z.indices]
    return sp.csr_array((np.ldexp(Z.data, powers), Z.indices, Z.indptr), shape=Z.shape)


def separates(Z: Any, w: Array) -> bool:
    """Return whether z_i·w > 0 for all rows: an exact statement about the floats."""
    below, doubtful = _doubts(Z, w)
    return not below.any() and all(_exact(Z, i, w) > 0 for i in doubtful)


def mistakes(Z: Any, w: Array) -> Array:
    """Return the rows with z_i·w <= 0, decided without rounding."""
    below, doubtful = _doubts(Z, w)
    return np.sort([*np.flatnonzero(below), *(i for i in doubtful if _exact(Z, i, w) <= 0)]).astype(np.int64)


def _doubts(Z: Any, w: Array) -> tuple[Array, list[int]]:
    """Return which scores are below 0 for certain, and the numbers of those that rounding leaves open."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores, sizes = Z @ w, abs(Z) @ np.abs(w)
        slack = (np.diff(Z.indptr) + 2) * EPS * sizes + TINY
        below = scores < -slack
        sure = below | (scores > slack)
    return below, np.flatnonzero(~sure).tolist()


def _exact(Z: Any, i: int, w: Array) -> Fraction:
    span = slice(Z.indptr[i], Z.indptr[i + 1])
    terms = zip(Z.data[span].tolist(), w[Z.indices[span]].tolist(), strict=True)
    return sum((Fraction(z) * Fraction(v) for z, v in terms), Fraction(0))


class ProgramForm(NamedTuple):
    """Rows that are separable where z_i are."""

    matrix: Any
    """csr_array (rows, columns)."""
    rows: Array
    """Row i was multiplied by 2^rows[i]."""
    back: Callable[[Array], Array]
    """Turns weights of the columns into weights of the data, up to a factor."""
    reach: float
    """The largest weight; with 1, the margin has no limit, and else 1 is its limit."""


def plain(Z: Any) -> ProgramForm:
    """Return the rows as they are."""
    return ProgramForm(Z, np.zeros(Z.shape[0], np.int64), lambda w: w, 1.0)


def balanced(Z: Any) -> ProgramForm:
    """Return the rows with the largest |entry| of each row and column near 1 (Ruiz, 2001), by powers of two."""
    sizes = abs(Z)
    rows, columns = (np.zeros(n, np.int64) for n in Z.shape)
    for _ in range(ROUNDS):
        now = scaled(sizes, rows, columns)
        rows = rows - exponents(now.max(axis=1).toarray()) // 2
        columns = columns - exponents(now.max(axis=0).toarray()) // 2
    return ProgramForm(scaled(Z, rows, columns), rows, lambda w: np.ldexp(w, columns - columns.max()), FAR)


def orthogonal(Z: Any) -> ProgramForm:
    """Return balanced rows with orthogonal columns: those far from 0 and nearly alike become as good as any others."""
    form = balanced(Z)
    Q, R, order = linalg.qr(form.matrix.toarray(), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > sizes[0] * max(Z.shape) * EPS))
    further = -exponents(np.abs(Q[:, :rank]).max(axis=1))

    def back(w: Array) -> Array:
        mixed = np.zeros(Z.shape[1])
        mixed[order[:rank]] = linalg.solve_triangular(R[:rank, :rank], w)
        return form.back(mixed)

    return ProgramForm(sp.csr_array(np.ldexp(Q[:, :rank], further[:, None])), form.rows + further, back, NEAR)


def program_forms(Z: Any) -> Iterator[ProgramForm]:
    """Yield the forms of rows that programs are solved in, one after the other until one decides."""
    yield plain(Z)
    yield balanced(Z)
    if Z.shape[0] * Z.shape[1] <= SMALL:
        yield orthogonal(Z)
