"""Decide in integers whether rows can be separated: the simplex method on few rows and columns, and more as needed.

Powers of two of rows and columns are put aside, so that z_i are integers. In the variables u = (w, t) the program is

    max t   with   z_i·w - t >= -r_i   for all rows i.

Its numbers r_i are free: they are 0 for the first basis, so that this is feasible, and random elsewhere, so that no two
ratios are equal. Whatever they are, a ray of the program is a w that separates, and a finite optimum is a lambda >= 0
with sum lambda_i z_i = 0, since neither depends on r. One of the two is always reached.

The dictionary holds integers over one common denominator, and each division of a pivot has no remainder (Edmonds 1967).
Rows that w misclassifies, and columns in which lambda does not cancel, are added until there are none.
"""

import math
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.solvers.exact.linear_systems import DyadicMatrix, TooMuchError, form_of

FIRST = 64
"""Rows, and columns, that the first table may have; at least so many are added at a time."""
BLOCK = 1 << 12
"""Cells that are updated between two checks of the deadline."""
PIVOTS = 8
"""Pivots for each line of the table by the largest coefficient; then Bland's rule, which always ends, takes over."""
LENGTHS = (8, 16, 24, 32, 52)
"""Bits of each weight that are tried, one after the other."""


class Decision(NamedTuple):
    """Integers that prove whether rows can be separated: one of the two lists is empty."""

    weights: list[int]
    """w times 2^-exponent, one for each column: z_i·w > 0 for all rows."""
    exponent: int
    dual: list[int]
    """lambda >= 0, one for each row, with sum lambda_i z_i = 0."""


def decide_exactly(rows: Any, first: Any = None, *, deadline: float | None = None) -> Decision | None:
    """Return weights that separate the rows z_i, or the dependency that proves there are none; None at the deadline.

    `rows` are dense or sparse floats of any exponent, times their signs. `first` are rows in the order in which they are
    taken into the first basis: those of a basis that a solver in floats ended with save most of the work.

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
        return _Search(form, math.inf if deadline is None else deadline).run(order.tolist(), np.shape(rows)[1])
    except TooMuchError:
        return None


class _Search:
    """The rows as integers; tables of some rows and columns are solved until the answer holds for all of them."""

    def __init__(self, form: DyadicMatrix, deadline: float) -> None:
        self.form, self.deadline = form, deadline
        by_row = np.lexsort((form.column, form.row))
        self.row, self.column = form.row[by_row], form.column[by_row]
        pairs = zip(form.mantissa[by_row].tolist(), form.exponent[by_row].tolist(), strict=True)
        self.values = np.fromiter((m << e for m, e in pairs), object, len(by_row))
        self.starts = np.searchsorted(self.row, np.arange(form.shape[0]))

    def run(self, order: list[int], width: int) -> Decision:
        """Return the decision; `order` are the rows of the first basis, `width` is the number of columns of the data."""
        columns = self.form.shape[1]
        counts = np.bincount(self.column, minlength=columns)
        across = np.sort(np.argsort(-counts, kind="stable")[:FIRST])
        inside = np.array(order[: max(FIRST, 2 * len(across))])
        while True:
            table = _Table(self._part(inside, across), self.deadline)
            separates, vector = table.solve()
            if separates:
                w = _spread(vector, across, columns)
                scores = self._scores(w)
                wrong = np.flatnonzero(scores <= 0)
                if not len(wrong):
                    return Decision(*self._short(w, width), [])
                more = wrong[np.argsort(scores[wrong], kind="stable")[: max(FIRST, len(inside))]]
            else:
                dual = _spread(vector, inside, self.form.shape[0])
                sums = self._sums(dual)
                wrong = np.flatnonzero(sums)
                if not len(wrong):
                    return Decision([], 0, self._whole(dual))
                sizes = abs(sums[wrong])
                across = np.union1d(across, wrong[np.argsort(-sizes, kind="stable")[: max(FIRST, len(across))]])
                more = np.zeros(0, np.int64)
            basis = inside[table.basis()]
            rest = np.setdiff1d(inside, basis)
            inside = np.concatenate([basis, more, rest])

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
    """The dictionary of the program: each line is an integer combination, over `unit`, of the variables at 0.

    Variables 0 to p - 1 are w, variable p is t, and the slack z_i·w - t + r_i of row i is variable p + 1 + i. The last
    column holds the values.
    """

    def __init__(self, Z: Array, deadline: float) -> None:
        rows, self.t = Z.shape
        self.deadline = deadline
        self.cells = np.hstack([Z, np.full((rows, 1), -1, object), np.zeros((rows, 1), object)])
        self.unit = 1
        self.zero = np.arange(self.t + 1)
        """The variables that are 0, by column."""
        self.lines = self.t + 1 + np.arange(rows)
        """The variables that are not, by line."""

    def basis(self) -> Array:
        """Return the rows whose slacks are 0."""
        return self.zero[self.zero > self.t] - self.t - 1

    def solve(self) -> tuple[bool, list[int]]:
        """Return True and a w that separates the rows, or False and a lambda of rows that cancel out."""
        for i in range(len(self.lines)):
            free = np.flatnonzero((self.zero <= self.t) & (self.cells[i, :-1] != 0))
            if len(free):
                self._pivot(i, int(free[0]))
        for j in np.flatnonzero(self.zero <= self.t):  # no row depends on this variable, the others being 0
            if self.zero[j] == self.t:
                return True, self._ray(int(j))
        kept = self.zero > self.t
        self.zero, self.cells = self.zero[kept], self.cells[:, np.append(kept, True)]
        self._set_values()
        return self._climb()

    def _set_values(self) -> None:
        """Choose r: at random, and in proportion to the line's coefficients."""
        rng = np.random.default_rng(0)
        for i in np.flatnonzero(self.lines > self.t):
            size = int(abs(self.cells[i, :-1]).max(initial=0)) * int(rng.integers(1 << 20, 1 << 21))
            self.cells[i, -1] = (1 + (size << 64) // self.unit) * self.unit

    def _climb(self) -> tuple[bool, list[int]]:
        """Pivot until t is unbounded, or at its largest."""
        line = int(np.flatnonzero(self.lines == self.t)[0])
        slacks, pivots = self.lines > self.t, 0
        while True:
            gains = self.cells[line, :-1]
            rising = np.flatnonzero(gains > 0)
            if not len(rising):
                dual = np.zeros(len(self.lines), object)
                dual[self.basis()] = -gains
                return False, dual.tolist()
            bland = pivots > PIVOTS * sum(self.cells.shape)
            j = min(rising, key=lambda j: self.zero[j] if bland else -gains[j])
            blocking = np.flatnonzero(slacks & (self.cells[:, j] < 0))
            if not len(blocking):
                return True, self._ray(int(j))
            i = blocking[0]
            for other in blocking[1:]:
                ahead = self.cells[other, -1] * self.cells[i, j] - self.cells[i, -1] * self.cells[other, j]
                if ahead > 0 or (ahead == 0 and self.lines[other] < self.lines[i]):
                    i = other
            self._pivot(int(i), int(j))
            slacks[i] = True
            pivots += 1

    def _ray(self, j: int) -> list[int]:
        """Return the w of the direction in which the variable of a column grows."""
        ray = np.zeros(self.t, object)
        if self.zero[j] < self.t:
            ray[self.zero[j]] = self.unit
        weights = self.lines < self.t
        ray[self.lines[weights]] = self.cells[weights, j]
        return ray.tolist()

    def _pivot(self, i: int, j: int) -> None:
        """Exchange the variables of a line and of a column."""
        cells, unit = self.cells, self.unit
        pivot, ours = cells[i, j], cells[i].copy()
        factors = cells[:, j].copy()
        step = max(1, BLOCK // cells.shape[1])
        for lo in range(0, len(cells), step):
            if time.monotonic() > self.deadline:
                raise TooMuchError
            part = slice(lo, lo + step)
            cells[part] = (cells[part] * pivot - factors[part, None] * ours) // unit
        cells[:, j], cells[i] = factors, -ours
        cells[i, j] = unit
        if pivot < 0:
            np.negative(cells, out=cells)
        self.unit = abs(pivot)
        self.zero[j], self.lines[i] = self.lines[i], self.zero[j]
