"""Decide exactly whether rows can be separated: the simplex method on few rows and columns, and more as needed.

Powers of two of rows and columns are put aside, so that z_i are integers. In the variables u = (w, t) the program is

    max t   with   a_i·u >= -r_i,   a_i = (z_i, -1),   for all rows i.

The numbers r_i are free. They are 0 for the first basis, so that u = 0 is feasible, and differ for all other rows, so
that no two ratios are equal. A ray of the program is a w that separates, and an optimum is a lambda >= 0 with sum
lambda_i z_i = 0. Neither depends on r, and one of the two is always reached.

Signs are decided by exact solutions of the basis's two systems. The ratios, which depend on r, are decimal numbers.
Rows that w misclassifies, and columns in which lambda does not cancel, are added until there are none.
"""

import itertools
import math
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.solvers.exact.linear_systems import (
    PRIMES,
    BadPrimeError,
    DyadicMatrix,
    Limits,
    System,
    TooMuchError,
    eliminate_by_pieces,
    form_of,
    lift,
)

FIRST = 64
"""Rows, and columns, that the first table may have; at least so many are added at a time."""
PIVOTS = 8
"""Pivots for each row and column of the table by the largest coefficient; Bland's rule, which always ends, follows."""
FEW = 12
"""Unknowns of a system that is solved by elimination of integers: a larger one is lifted from a prime."""
LENGTHS = (8, 16, 24, 32, 52)
"""Bits of each weight that are tried, one after the other."""
ANY = 1 << 60
"""Bits that solutions may have: the deadline is the limit."""
DIGITS = Context(40, Emin=MIN_EMIN, Emax=MAX_EMAX)


class Decision(NamedTuple):
    """Integers that prove whether rows can be separated: one of the two lists is empty."""

    weights: list[int]
    """w times 2^-exponent, one for each column: z_i·w > 0 for all rows."""
    exponent: int
    dual: list[int]
    """lambda >= 0, one for each row, with sum lambda_i z_i = 0."""


def decide_exactly(rows: Any, first: Any = None, *, deadline: float | None = None) -> Decision | None:
    """Return weights that separate the rows z_i, or the dependency that proves there are none; None at the deadline.

    `rows` are dense or sparse floats of any exponent, times their signs. `first` are all rows, in the order in which
    they enter the first basis: the basis of a solver in floats saves most of the work.

    >>> decide_exactly([[1e8, 1.0], [-1e8 - 1, -1.0]])
    Decision(weights=[-2, 200000001], exponent=0, dual=[])
    >>> decide_exactly([[0.5, 1.0], [-0.75, 0.0], [0.0, -3.0]]).dual
    [3, 2, 1]
    """
    form = form_of(rows)
    count = form.shape[0]
    empty = np.flatnonzero(np.isneginf(form.sizes))
    if len(empty):
        return Decision([], 0, [int(i == empty[0]) for i in range(count)])
    order = np.arange(count) if first is None else np.asarray(first)
    try:
        return _Search(form, math.inf if deadline is None else deadline).run(order, np.shape(rows)[1])
    except TooMuchError:
        return None


class _Search:
    """The rows as integers; tables of some rows and columns are solved until the solution holds for all of them."""

    def __init__(self, form: DyadicMatrix, deadline: float) -> None:
        self.form, self.limits = form, Limits(deadline, ANY)
        by_row = np.lexsort((form.column, form.row))
        self.row, self.column, self.values = (a[by_row] for a in (form.row, form.column, form.integers()))
        self.starts = np.searchsorted(self.row, np.arange(form.shape[0]))

    def run(self, order: Array, width: int) -> Decision:
        """Return the decision; the first basis takes rows in this `order`, and the data have `width` columns."""
        columns = self.form.shape[1]
        counts = np.bincount(self.column, minlength=columns)
        across = np.sort(np.argsort(-counts, kind="stable")[:FIRST])
        inside = order[: max(FIRST, 2 * len(across))]
        hidden = 0
        while hidden < len(PRIMES):
            table = _Table(self.form.part(inside, across), self._part(inside, across), PRIMES[hidden], self.limits)
            separates, vector = table.solve()
            more = np.zeros(0, np.int64)
            if separates:
                w = _spread(vector, across, columns)
                scores = self._scores(w)
                wrong = np.flatnonzero(scores <= 0)
                if not len(wrong):
                    return Decision(*self._short(w, width), [])
                wrong = np.setdiff1d(wrong, inside)
                more = wrong[np.argsort(scores[wrong], kind="stable")[: max(FIRST, len(inside))]]
            else:
                dual = _spread(vector, inside, self.form.shape[0])
                sums = abs(self._sums(dual))
                wrong = np.flatnonzero(sums)
                if not len(wrong):
                    return Decision([], 0, self._whole(dual))
                wrong = np.setdiff1d(wrong, across)
                across = np.append(across, wrong[np.argsort(-sums[wrong], kind="stable")[: max(FIRST, len(across))]])
            hidden = 0 if len(wrong) else hidden + 1
            basis = inside[table.basis]
            inside = np.concatenate([basis, more, inside[~np.isin(inside, basis)]])
        raise TooMuchError

    def _part(self, rows: Array, columns: Array) -> Array:
        """Return some rows and columns as a table of Python's integers."""
        place, across = np.full(self.form.shape[0], -1), np.full(self.form.shape[1], -1)
        place[rows], across[columns] = np.arange(len(rows)), np.arange(len(columns))
        inside = (place[self.row] >= 0) & (across[self.column] >= 0)
        part = np.zeros((len(rows), len(columns)), object)
        part[place[self.row[inside]], across[self.column[inside]]] = self.values[inside]
        return part

    def _scores(self, w: Array) -> Array:
        """Return z_i·w for all rows."""
        return np.add.reduceat(self.values * w[self.column], self.starts)

    def _sums(self, dual: Array) -> Array:
        """Return the sum of lambda_i z_i."""
        kept = np.flatnonzero(dual[self.row])
        kept = kept[np.argsort(self.column[kept], kind="stable")]
        columns, starts = np.unique(self.column[kept], return_index=True)
        sums = np.zeros(self.form.shape[1], object)
        sums[columns] = np.add.reduceat(self.values[kept] * dual[self.row[kept]], starts)
        return sums

    def _whole(self, dual: Array) -> list[int]:
        """Return lambda for the rows themselves, without a common factor."""
        held = np.flatnonzero(dual)
        shifts = self.form.shifts[held]
        values = [v << int(k) for v, k in zip(dual[held], shifts.max() - shifts, strict=True)]
        common = math.gcd(*values)
        return _spread([v // common for v in values], held, len(dual)).tolist()

    def _short(self, w: Array, width: int) -> tuple[list[int], int]:
        """Return w for the rows themselves, with as few bits as still separate them, and the exponent of its unit."""
        for length in LENGTHS:
            rounded = np.array([_rounded(v, length) for v in w], object)
            if (self._scores(rounded) > 0).all():
                w = rounded
                break
        held = np.flatnonzero(w)
        powers = self.form.powers[held]
        values = [v << int(k) for v, k in zip(w[held], powers.max() - powers, strict=True)]
        unit = min((v & -v).bit_length() - 1 for v in values)
        whole = _spread([v >> unit for v in values], self.form.origin[held], width)
        return whole.tolist(), unit - int(powers.max())


def _spread(values: Iterable[int], places: Array, size: int) -> Array:
    """Return a vector with these values at these places, and 0 elsewhere."""
    whole = np.zeros(size, object)
    whole[places] = list(values)
    return whole


def _rounded(value: int, length: int) -> int:
    """Return an integer rounded to so many leading bits."""
    beyond = max(value.bit_length() - length, 0)
    return (value + (1 << beyond >> 1)) >> beyond << beyond


class _Table:
    """Some rows and columns of the program: the rows are a_i, the last column is that of t."""

    def __init__(self, form: DyadicMatrix, Z: Array, prime: int, limits: Limits) -> None:
        self.rows, self.t = Z.shape
        self.limits = limits
        self.cells = np.hstack([Z, np.full((self.rows, 1), -1, object)])
        self.sizes = [max(abs(v) for v in line) for line in self.cells.tolist()]
        row, column = np.append(form.row, np.arange(self.rows)), np.append(form.column, np.full(self.rows, self.t))
        ones = np.ones(self.rows, np.int64)
        numbers = np.append(form.mantissa, -ones), np.append(form.exponent, 0 * ones)
        self.by_row = _with_units(row, column, *numbers, self.rows, self.t + 1)
        self.by_column = _with_units(column, row, *numbers, self.t + 1, self.rows)
        self.columns, self.basis = self._independent(prime)

    def _independent(self, prime: int) -> tuple[Array, Array]:
        """Return independent columns, with that of t if possible, and the first rows that are independent on them."""
        residues = self.by_row.residues(prime)[: self.rows].T.tocsc()
        found = eliminate_by_pieces(residues[: self.t], prime, self.limits.check)
        columns = np.append(found.rows, self.t)
        more = eliminate_by_pieces(residues[columns], prime, self.limits.check)
        return (columns, more.columns) if len(more.rows) == len(columns) else (found.rows, found.columns)

    def _solution(self, form: DyadicMatrix, rows: Array, columns: Array, other: int, given: int) -> list[int]:
        """Solve sum of c_i form_i + given form_other = 0 over the columns; return a positive multiple of c."""
        if len(rows) <= FEW:
            part = form.part(np.append(rows, other), columns)
            table = np.zeros(part.shape, object)
            table[part.row, part.column] = part.integers()
            table[-1] *= -given
            return _eliminated(table.T)
        system = System(rows, columns, np.array([other]), np.array([float(given)]))
        for prime in PRIMES:
            try:
                return lift(form, form.residues(prime), system, prime, self.limits)[0]
            except BadPrimeError:
                continue
        raise TooMuchError

    def solve(self) -> tuple[bool, Array]:
        """Return True and a w that separates the rows, or False and a lambda of rows that cancel out.

        A prime of bad luck hides rows and columns: the solution then holds for the other rows and columns only.
        """
        if self.t not in self.columns:  # the scores of some w are 1 in all rows
            w = self._solution(self.by_column, self.columns, self.basis, self.t, 1)
            return True, _spread(w, self.columns, self.t)
        rng, slacks = np.random.default_rng(0), np.zeros(self.rows, object)
        for i in np.setdiff1d(np.arange(self.rows), self.basis).tolist():
            slacks[i] = Decimal(self.sizes[i] * ((i << 20) + int(rng.integers(1, 1 << 20))))
        with localcontext(DIGITS):
            for pivots in itertools.count():
                dual = self._solution(self.by_row, self.basis, self.columns, self.rows + self.t, 1)
                rising = [k for k, v in enumerate(dual) if v < 0]
                if not rising:
                    return False, _spread(dual, self.basis, self.rows)
                bland = pivots > PIVOTS * sum(self.cells.shape)
                k = min(rising, key=lambda k: self.basis[k] if bland else dual[k] * self.sizes[self.basis[k]])
                ray = self._solution(self.by_column, self.columns, self.basis, self.t + 1 + int(self.basis[k]), -1)
                growth = self.cells[:, self.columns] @ np.array(ray, object)
                growth[np.delete(self.basis, k)] = 0
                blocking = np.flatnonzero(growth < 0)
                if not len(blocking):
                    return True, _spread(ray, self.columns, self.t + 1)[: self.t]
                steps = {i: slacks[i] / -growth[i] for i in blocking.tolist()}
                i = min(steps, key=lambda i: i if bland else steps[i])
                slacks = np.array([s + steps[i] * v if v else s for s, v in zip(slacks, growth, strict=True)], object)
                slacks[i] = Decimal(0)
                self.basis[k] = i
        raise AssertionError


def _eliminated(table: Array) -> list[int]:
    """Return a positive multiple of the x with A x = b, for a table [A, b] of integers (Bareiss 1968)."""
    unit = 1
    for j in range(len(table)):
        i = j + int(np.flatnonzero(table[j:, j])[0])
        table[[i, j]] = table[[j, i]]
        line = table[j].copy()
        table = (table * line[j] - table[:, j, None] * line) // unit  # without a remainder
        table[j], unit = line, line[j]
    return (table[:, -1] if unit > 0 else -table[:, -1]).tolist()


def _with_units(row: Array, column: Array, mantissa: Array, exponent: Array, rows: int, columns: int) -> DyadicMatrix:
    """Return a matrix of integers with a unit matrix below it."""
    unit, zeros = np.arange(columns), np.zeros(rows + columns, np.int64)
    places = np.append(row, rows + unit), np.append(column, unit)
    numbers = np.append(mantissa, np.ones(columns, np.int64)), np.append(exponent, 0 * unit)
    return DyadicMatrix(*places, *numbers, (rows + columns, columns), zeros, zeros, zeros[:columns], zeros[:columns])
