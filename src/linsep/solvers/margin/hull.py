"""Find the point of a convex hull nearest to the origin (Wolfe's algorithm, compiled).

Rows z_i belong to one group or to two. Weights lambda_i >= 0 sum to a constant in each group, and

    minimise ||v||², v = sum of lambda_i z_i.

The rows with free weights are the corral. It is kept affinely independent, so that its best point is the solution of
one linear system, by a Cholesky factor of G + lift · [same group] that is extended and cut as rows come and go (G holds
the products z_i·z_j). Where a weight would fall below 0, the step ends there and its row leaves; then rows come in
whose slopes z_i·v lie farthest below that of their group. Each step makes ||v|| smaller, so that no corral comes twice.

Slopes are updated by differences. A caller who hands in fresh ones, summed from the rows themselves, gets a solution
that is refined as by iterative refinement: to rounding, although G has the squared condition of the rows.
"""

import math
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.multimethods import inlined
from linsep.engine.runtime import split
from linsep.engine.tiers import tiered
from linsep.solvers.products import gather_rows, largest_entry, times, times_transposed
from linsep.validation.errors import InvalidDataError

AT_ONCE = 1 << 17
"""Entries of the data that are copied together, at most."""
PIVOT = 1e-14
"""A row whose pivot is below this share of its square depends on the corral, up to the rounding of floats."""
TINY = 1e-15
"""A weight that is not larger is 0."""
TOGETHER, WORTHY = 8, 0.5
"""Of the rows that promise this share of the most that any does, the corral takes in up to an eighth of its size."""
EPS = float(np.finfo(np.float64).eps)


class Points:
    """The rows z_i = y_i x_i, times a power of two that brings the largest entry near 1; never copied as a whole."""

    def __init__(self, data: Dense | Csr, signs: Array, row_weights: Array, apart: bool, jobs: int) -> None:
        self.data = data._replace(bias=0.0) if apart else data
        self.signs, self.jobs = signs, jobs
        self.groups = 2 if apart else 1
        self.group = (signs > 0).astype(np.int64) if apart else np.zeros(len(signs), np.int64)
        self.present = row_weights > 0 if len(row_weights) else np.ones(len(signs), np.bool_)
        if len(np.unique(self.group[self.present])) < self.groups:
            raise InvalidDataError("a margin needs rows, and with a free bias rows of both signs: some are missing")
        self.scale = math.ldexp(1.0, -max(math.frexp(largest_entry(self.data))[1], -1000))
        self.norms = self._norms()
        self.radius = float(self.norms[self.present].max())

    def point(self, dual: Array) -> Array:
        """Return v, the sum of dual_i z_i."""
        return times_transposed(self.data, (dual * self.signs * self.scale)[:, None], self.jobs)[:, 0]

    def slopes(self, v: Array) -> Array:
        """Return z_i·v for each row; infinity for those that are absent."""
        slopes = times(self.data, (v * self.scale)[:, None], self.jobs)[:, 0]
        slopes *= self.signs
        slopes[~self.present] = np.inf
        return slopes

    def products(self, a: Array, b: Array) -> Array:
        """Return z_i·z_j for the rows a and the rows b."""
        out = np.empty((len(a), len(b)))
        for to in self._parts(len(b)):
            right = self._copied(b[to]).T
            for at in self._parts(len(a)):
                product = self._copied(a[at]) @ right
                out[at, to] = product if isinstance(self.data, Dense) else product.toarray()
        out += (self.data.bias * self.scale) ** 2
        out *= self.signs[a][:, None] * self.signs[b]
        return out

    def rounding(self) -> float:
        """Return the most by which rounding may change z·w for a unit w."""
        return rounding_of(self.data, self.radius)

    def _norms(self) -> Array:
        norms = np.empty(len(self.signs))
        for part in self._parts(len(norms)):
            rows = self._copied(np.arange(part.start, part.stop))
            if isinstance(self.data, Dense):
                squares = np.einsum("ij,ij->i", rows, rows)
            else:
                rows.sum_duplicates()
                squares = rows.power(2).sum(axis=1)
            norms[part] = np.sqrt(squares + (self.data.bias * self.scale) ** 2)
        return norms

    def _parts(self, count: int) -> list[slice]:
        """Cut `count` rows so that copies of them stay small."""
        data = self.data
        width = data.n_features if isinstance(data, Dense) else -(-len(data.values) // data.n_rows)
        return [slice(lo, hi) for lo, hi in split(count, -(-count * width // AT_ONCE))]

    def _copied(self, rows: Array) -> Any:
        """Return these rows, scaled, without signs and constant feature."""
        if isinstance(self.data, Dense):
            return np.multiply(self.data.values[rows], self.scale, dtype=np.float64)
        values, columns, ends = gather_rows(self.data, rows)
        values = np.multiply(values, self.scale, dtype=np.float64)
        return sp.csr_array((values, columns, ends), (len(rows), self.data.features))


def rounding_of(data: Dense | Csr, radius: float) -> float:
    """Return the most by which rounding may change x·w for a unit w, `radius` being the largest ||x||.

    >>> rounding_of(Dense(np.ones((1, 2)), bias=0.0), 1.0) == 4 * EPS
    True
    """
    longest = int(np.diff(data.indptr).max(initial=0)) if isinstance(data, Csr) else data.n_features
    return (longest + 2) * EPS * radius


@inlined
def _forward(factor: Array, size: int, sides: Array) -> None:
    """Solve L x = b for each row b of `sides`, in place."""
    for i in range(size):
        for c in range(sides.shape[0]):
            x = sides[c, i] / factor[i, i]
            sides[c, i] = x
            for k in range(size - i - 1):
                sides[c, i + 1 + k] -= factor[i, i + 1 + k] * x


@inlined
def _backward(factor: Array, size: int, sides: Array) -> None:
    """Solve Lᵀ x = b for each row b of `sides`, in place."""
    for i in range(size - 1, -1, -1):
        for c in range(sides.shape[0]):
            x = sides[c, i] / factor[i, i]
            sides[c, i] = x
            for j in range(i):
                sides[c, j] -= factor[i, j] * x


@inlined
def _cut(factor: Array, size: int, gone: int) -> None:
    """Take a row out of the factor: the rows below move up and are turned triangular again."""
    for i in range(gone, size - 1):
        for j in range(i + 2):
            factor[i, j] = factor[i + 1, j]
        a, b = factor[i, i], factor[i, i + 1]
        length = sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        factor[i, i], factor[i, i + 1] = length, 0.0
        for t in range(i + 2, size):
            a, b = factor[t, i], factor[t, i + 1]
            factor[t, i], factor[t, i + 1] = cosine * a + sine * b, cosine * b - sine * a
    for i in range(gone, size - 1):
        for j in range(i):
            factor[j, i] = factor[i, j]


@inlined
def _extend(gram: Array, group: Array, members: Array, factor: Array, size: int, lift: float, row: int) -> bool:
    """Add a row to the corral, unless it depends on it."""
    for i in range(size):
        factor[size, i] = gram[row, members[i]] + (lift if group[members[i]] == group[row] else 0.0)
    square = gram[row, row] + lift
    pivot = square
    for i in range(size):
        x = factor[size, i] / factor[i, i]
        factor[size, i] = x
        pivot -= x * x
        for k in range(size - i - 1):
            factor[size, i + 1 + k] -= factor[i, i + 1 + k] * x
    independent = pivot > PIVOT * square
    if independent:
        factor[size, size] = sqrt(pivot)
        members[size] = row
        for i in range(size):
            factor[i, size] = factor[size, i]
    return independent


@inlined
def _find_levels(group: Array, members: Array, size: int, sides: Array, sums: Array, levels: Array) -> None:
    """Find the slope of each group at the corral's best point: the one that leaves the groups' sums as they are."""
    for c in range(sides.shape[0]):
        sums[0, c] = sums[1, c] = 0.0
    for i in range(size):
        for c in range(sides.shape[0]):
            sums[group[members[i]], c] += sides[c, i]
    if levels.shape[0] == 1:
        levels[0] = -sums[0, 0] / sums[0, 1]
    else:
        determinant = sums[0, 1] * sums[1, 2] - sums[0, 2] * sums[1, 1]
        levels[0] = (sums[1, 0] * sums[0, 2] - sums[0, 0] * sums[1, 2]) / determinant
        levels[1] = (sums[0, 0] * sums[1, 1] - sums[1, 0] * sums[0, 1]) / determinant


@tiered(lambda gram, group, *others: 16 * len(group) ** 2)
def descend(
    gram: Array, group: Array, groups: int, weights: Array, moves: Array, slopes: Array, members: Array, factor: Array,
    sides: Array, sums: Array, levels: Array, gains: Array, free: Array, barred: Array,
    size: int, lift: float, slack: float, budget: int,
) -> tuple[int, int]:  # fmt: skip
    """Go down to the best point of the working set; return the corral's size and the rounds that it took.

    `gram` holds the products z_i·z_j of the working set, `group` the group of each row, 0 or 1. Changed are `weights`,
    the lambda_i; `moves`, what is added to each in all, free of the rounding of lambda_i itself; `slopes`, the z_i·v;
    and the corral: `members` are positions in the working set, `factor` is its Cholesky factor L, with Lᵀ above the
    diagonal, so that both are read along their rows. Rows that have a weight and are not among the members are taken in
    first. `lift`, about the largest ||z||², is added to the products within
    a group, `slack` is how far a slope may lie below its group's, and `budget` the most rounds.

    Work space: `sides` (groups + 1, room), `sums` (2, 3), `levels` (groups,), and for each row of the working set
    `gains`, `free` and `barred`, both False.
    """
    rows = slopes.shape[0]
    for i in range(size):
        free[members[i]] = True
    for t in range(rows):
        if weights[t] > 0.0 and not free[t] and _extend(gram, group, members, factor, size, lift, t):
            free[t] = True
            size += 1
    moved = True
    for spent in range(budget):
        for i in range(size):
            sides[0, i] = -slopes[members[i]]
            for c in range(groups):
                sides[c + 1, i] = 1.0 if group[members[i]] == c else 0.0
        _forward(factor, size, sides)
        _backward(factor, size, sides)
        _find_levels(group, members, size, sides, sums, levels)
        step = 1.0
        for i in range(size):
            move = sides[0, i]
            for c in range(groups):
                move += levels[c] * sides[c + 1, i]
            sides[0, i] = move
            if weights[members[i]] + step * move < 0.0:
                step = -weights[members[i]] / move
        for i in range(size):
            move = step * sides[0, i]
            weights[members[i]] += move
            moves[members[i]] += move
            for t in range(rows):
                slopes[t] += move * gram[members[i], t]
        moved = moved or step > 0.0
        if step < 1.0:
            for i in range(size - 1, -1, -1):
                row = members[i]
                if sides[0, i] < 0.0 and weights[row] <= TINY:
                    weights[row], free[row], barred[row] = 0.0, False, step == 0.0
                    _cut(factor, size, i)
                    size -= 1
                    for t in range(i, size):
                        members[t] = members[t + 1]
            continue
        if moved:
            for t in range(rows):
                barred[t] = False
        moved = False
        worst = slack
        for t in range(rows):
            gains[t] = 0.0
            if not free[t] and not barred[t]:
                gain = levels[group[t]] - slopes[t]
                gains[t] = abs(gain) if weights[t] > 0.0 else gain
                worst = max(worst, gains[t])
        held, most = size, size + 1 + size // TOGETHER
        for t in range(rows):
            if gains[t] > slack and gains[t] >= WORTHY * worst and size < most:
                free[t] = _extend(gram, group, members, factor, size, lift, t)
                barred[t] = not free[t]
                size += free[t]
        if size == held:
            return size, spent + 1
    return size, budget


class Corral:
    """A working set of rows with their products, and the corral within it."""

    def __init__(self, groups: int, lift: float, most: int) -> None:
        self.groups, self.lift, self.most = groups, lift, most
        self.rows = np.zeros(0, np.int64)
        self.group = np.zeros(0, np.int64)
        self.size = 0
        self._gram = np.zeros((0, 0))
        self._factor = np.zeros((0, 0))
        self._members = np.zeros(0, np.int64)

    def take(self, rows: Array, group: Array, products: Any) -> None:
        """Take more rows in; products(a, b) returns z_i·z_j for the rows a and b."""
        old = len(self.rows)
        self.rows, self.group = np.append(self.rows, rows), np.append(self.group, group)
        if (need := len(self.rows)) > len(self._gram):
            room = max(need, min(2 * need, self.most))
            self._gram, self._factor = _roomy(self._gram, room), _roomy(self._factor, room)
            self._members = np.append(self._members, np.zeros(room - len(self._members), np.int64))
        block = products(self.rows, rows)
        self._gram[:need, old:need] = block
        self._gram[old:need, :need] = block.T

    def keep(self, kept: Array) -> None:
        """Keep only the rows at these positions; the corral too, if all of it is among them."""
        place = np.full(len(self.rows), -1)
        place[kept] = np.arange(len(kept))
        self._gram[: len(kept), : len(kept)] = self._gram[np.ix_(kept, kept)]
        members = place[self._members[: self.size]]
        self._members[: self.size] = members
        self.size = self.size if (members >= 0).all() else 0
        self.rows, self.group = self.rows[kept], self.group[kept]

    def descend(self, weights: Array, slopes: Array, slack: float, budget: int) -> tuple[Array, Array]:
        """Go down to the best point of the working set; return its weights, and by how much rounding changed them."""
        after, moves = weights.copy(), np.zeros(len(weights))
        rows = len(weights)
        space = (
            np.empty((self.groups + 1, len(self._factor))), np.empty((2, 3)), np.zeros(self.groups), np.zeros(rows),
            np.zeros(rows, np.bool_), np.zeros(rows, np.bool_),
        )  # fmt: skip
        self.size, _ = descend(
            self._gram, self.group, self.groups, after, moves, slopes, self._members, self._factor, *space, self.size,
            self.lift, slack, budget,
        )  # fmt: skip
        rounded = np.where(after > EPS, weights + moves, 0.0)
        return rounded, np.where(rounded > 0.0, moves - (rounded - weights), 0.0)


def _roomy(square: Array, room: int) -> Array:
    larger = np.zeros((room, room))
    larger[: len(square), : len(square)] = square
    return larger
