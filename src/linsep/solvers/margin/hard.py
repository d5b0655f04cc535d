"""The hard margin: bracket the widest gap between two classes, or prove that there is none.

Each signed row z = y [x, bias] has a 64-bit number h(z), the sum over its entries of sign(z_j) g(j, |z_j|) for a g that
mixes bits: whole numbers modulo 2^64, so that h(-z) = -h(z) exactly, in any order of entries. Opposites are
sought among rows whose numbers are, and compared entry by entry.

With z_i = y_i x_i, the largest margin of a unit w through the origin is the distance from 0 to the hull of the z_i:

    max over w of min_i z_i·w / ||w||  =  min over lambda of ||sum of lambda_i z_i||,  lambda >= 0, sum 1.

Any w bounds it from below and any lambda from above. Two searches take turns at lambda (see
:mod:`linsep.solvers.margin.search`); passes over all rows measure the gap between the bounds, and each step takes time
linear in the entries. With a free bias the margin is half the distance between the hulls of the two classes: the same
problem, with lambda summing to 1 in each class.
"""

from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread, split
from linsep.solvers import BracketWatch
from linsep.solvers.margin.hull import Points
from linsep.solvers.margin.search import FULL, HardDescent, MarginBracket, WolfeSearch

AT_ONCE = 1 << 18
"""Entries of the data that are mixed together, at most."""
TRIES = 16
"""Pairs of rows that are compared, at most: the numbers of rows that differ are never equal, but by malice."""
ONE, TWO, THREE = (np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F))
"""Odd numbers whose bits are well mixed."""
HALF = np.uint64(32)
SMALL = 256
"""The corral with which Wolfe's algorithm, having the first turn, stops to let coordinate descent try."""
TURN = 64
"""Passes of coordinate descent in its first turn; each is twice as long as the one before."""
DUST = 1e-14
"""Weights that a witness can do without: they are what rounding left of 0."""
NONE = np.zeros(0)


def opposed_rows(data: Dense | Csr, signs: Array) -> Array:
    """Return the number of a row that is 0, or of two rows with z_i = -z_j; no number where there are none.

    Rows that store a column twice are found only where their opposites store it alike.

    >>> X = Dense(np.array([[1.0, 2.0], [3.0, 0.0], [1.0, 2.0]]), bias=1.0)
    >>> opposed_rows(X, np.array([1.0, 1.0, -1.0]))
    array([0, 2])
    """
    numbers = _numbers(data, signs)
    for i in np.flatnonzero(numbers == 0)[:TRIES]:
        if not len(_entries(data, signs, i)[0]):
            return np.array([i])
    turned = np.negative(numbers)
    low, side = np.minimum(numbers, turned), numbers < turned
    order = np.lexsort((side, low))
    meet = (low[order[1:]] == low[order[:-1]]) & (side[order[1:]] != side[order[:-1]])
    for k in np.flatnonzero(meet)[:TRIES]:
        i, j = np.sort(order[k : k + 2])
        (columns, values), (others, opposites) = _entries(data, signs, i), _entries(data, signs, j)
        if np.array_equal(columns, others) and np.array_equal(values, -opposites):
            return np.array([i, j])
    return np.zeros(0, np.int64)


def _numbers(data: Dense | Csr, signs: Array) -> Array:
    """Return h(z_i) for each row."""
    rows = data.n_rows
    numbers = np.empty(rows, np.uint64)
    entries = data.values.size
    for lo, hi in split(rows, max(-(-entries // AT_ONCE), 1)) if rows else []:
        if isinstance(data, Dense):
            mixed = _mixed(np.arange(data.n_features, dtype=np.uint64), data.values[lo:hi])
            numbers[lo:hi] = mixed.sum(axis=1, dtype=np.uint64)
        else:
            ends = data.indptr[lo : hi + 1].astype(np.int64)
            here = slice(ends[0], ends[-1])
            sums = np.zeros(ends[-1] - ends[0] + 1, np.uint64)
            np.cumsum(_mixed(data.indices[here].astype(np.uint64), data.values[here]), out=sums[1:])
            numbers[lo:hi] = np.diff(sums[ends - ends[0]])
    numbers += _mixed(np.array([data.n_features], np.uint64), np.array([data.bias]))
    return np.where(signs > 0, numbers, np.negative(numbers))


def _mixed(columns: Array, values: Array) -> Array:
    """Return sign(v) g(j, |v|) for each entry."""
    values = np.asarray(values, np.float64)
    bits: Array = np.abs(values).view(np.uint64)
    bits = bits + columns * ONE
    for odd in (TWO, THREE):
        bits ^= bits >> HALF
        bits *= odd
    bits ^= bits >> HALF
    np.negative(bits, out=bits, where=values < 0)
    bits[values == 0] = 0
    return bits


def _entries(data: Dense | Csr, signs: Array, i: int) -> tuple[Array, Array]:
    """Return the columns and the values of z_i that are not 0, in order."""
    if isinstance(data, Dense):
        values, columns = data.values[i], np.arange(data.n_features)
    else:
        here = slice(data.indptr[i], data.indptr[i + 1])
        values, columns = data.values[here], data.indices[here]
    values, columns = np.append(values * signs[i], data.bias * signs[i]), np.append(columns, data.n_features)
    order = np.lexsort((np.abs(values), columns))
    order = order[values[order] != 0]
    return columns[order], values[order]


class HardMargin(NamedTuple):
    """The largest margin from both sides, and what proves it."""

    weights: Array
    """(features + 1,): min_i y_i w·x_i = 1 on separable data; else the unit w of the best lower bound, as also where
    floats can't hold that one."""
    dual: Array
    """(rows,): lambda, summing to 1 (to 1/2 in each class with a free bias): ||sum of lambda_i y_i x_i|| = upper."""
    lower: float
    """The margin of `weights`: the largest is no smaller; negative where a row is on the wrong side."""
    upper: float
    """The largest margin is no larger."""
    iterations: int
    """Passes over all rows."""
    separable: bool | None
    """True: `weights` separates, beyond rounding. False: `dual` is the witness, which sums up to 0 but for rounding.
    None: open."""
    converged: bool
    """True if the bracket was closed to `tol`, or the witness found, within the budget."""
    radius: float
    """The largest ||x_i||, the constant feature included where it is penalised."""
    history: Array
    """(proofs, 2): the bracket after each step, or after some passes of coordinate descent."""

    @property
    def support(self) -> Array:
        """The rows with weight in `dual`: the support vectors, or the rows of the witness."""
        return np.flatnonzero(self.dual)

    @property
    def gap(self) -> float:
        """The relative gap, (upper - lower) / upper, no less than 0; 0 with a witness, which leaves nothing open."""
        return max(self.upper - self.lower, 0.0) / self.upper if self.separable is not False else 0.0


@one_blas_thread()
def hard_margin(
    data: Dense | Csr, signs: Array, row_weights: Array, *, tol: float = 1e-3, max_iter: int = 1000,
    penalize_bias: bool = True, zero: float = 1e-10, seed: int = 0, jobs: int = 1, enough: float = 0.0,
    start: Array | None = None, deadline: float | None = None, watch: BracketWatch | None = None,
) -> HardMargin:  # fmt: skip
    """Find the largest margin, or the rows that prove there is none.

    Parameters
    ----------
    data, signs, row_weights, seed, jobs, deadline, watch
        As for all solvers: see :mod:`linsep.solvers`. Weights above 0 change nothing: repeated rows have the same hull.
    tol : float, default=1e-3
        The relative gap (upper - lower) / upper at which to stop. Rounding allows about 1e-12 on common data.
    max_iter : int, default=1000
        The most passes over all rows.
    penalize_bias : bool, default=True
        If True, the constant feature counts as a feature like all others, in ||w|| as in ||x||; else the bias is free.
    zero : float, default=1e-10
        The point of the hull that counts as 0, as a share of the largest ||x_i||. It is refined as far as floats allow.
    enough : float, default=0.0
        A margin that is no larger needs no further search: a w that separates is enough then; and where only
        coordinate descent can get on, so are some passes that bring no such w nearer.
    start : float64 array of shape (rows,), optional
        A multiple of some lambda to begin with.

    >>> X = Dense(np.array([[2.0, 0.0], [3.0, 1.0], [0.0, 0.0]]), bias=1.0)
    >>> found = hard_margin(X, np.array([1.0, 1.0, -1.0]), np.zeros(0), penalize_bias=False)
    >>> found.weights, found.upper, found.support
    (array([ 1.,  0., -1.]), 1.0, array([0, 2]))
    """
    points = Points(data, signs, row_weights, not penalize_bias and data.bias != 0.0, jobs)
    naught = points.present & (points.norms == 0.0)
    if points.groups == 1 and naught.any() and not naught.all():
        others = (points.present & ~naught).astype(np.float64)
        found = hard_margin(
            data, signs, others, tol=tol, max_iter=max_iter, zero=zero, seed=seed, jobs=jobs, enough=enough,
            start=None if start is None else start * others, deadline=deadline,
            watch=None if watch is None else lambda lower, upper: watch(min(lower, 0.0), min(upper, 0.0)),
        )  # fmt: skip
        return _with_a_zero_row(found, int(np.argmax(naught)))
    finite = not enough or min(int(points.present.sum()), data.n_features + 2) <= FULL
    bracket = MarginBracket(points, tol, zero, max_iter, enough=enough, lasting=finite, deadline=deadline, watch=watch)
    descent, walk = HardDescent(bracket, data, seed), WolfeSearch(bracket)
    if start is not None:
        descent.begin_with(start)
    if finite:
        walk.take_turn(room=SMALL)
    passes = TURN
    while not bracket.done():
        descent.take_turn(passes)
        if descent.support <= FULL or (finite and not bracket.separates):
            walk.restart_from(descent)
            walk.take_turn(passes)
        passes *= 2
    return _result(bracket, data.bias)


def _result(bracket: MarginBracket, bias: float) -> HardMargin:
    """Return what was found, in the data's unit."""
    points, unit = bracket.points, bracket.points.scale
    weights, dual, upper = bracket.unit.copy(), bracket.dual, bracket.upper
    if points.groups == 2:
        weights[-1] = (bracket.nearest[0] - bracket.nearest[1]) / 2 / bias / unit
    if bracket.separates:
        stretch = unit / bracket.lower
        weights *= stretch if np.isfinite(stretch) else 1.0
    elif bracket.vanished:
        dual = np.where(dual > DUST, dual, 0.0)
        dual /= np.bincount(points.group, dual)[points.group]
        upper = float(np.linalg.norm(points.point(dual))) / points.groups
    separable = True if bracket.separates else False if bracket.vanished else None
    return HardMargin(
        weights, dual / points.groups, bracket.lower / unit, upper / unit, bracket.passes, separable, bracket.proved(),
        points.radius / unit, np.array(bracket.history) / unit,
    )  # fmt: skip


def _with_a_zero_row(found: HardMargin, row: int) -> HardMargin:
    """Add a row that is 0 to the solution for the other rows: the zero row alone is the witness."""
    dual = np.zeros(len(found.dual))
    dual[row] = 1.0
    lower, history = min(found.lower, 0.0), np.minimum(found.history, 0.0)
    return found._replace(dual=dual, lower=lower, upper=0.0, separable=False, converged=True, history=history)


def separator(
    data: Dense | Csr, signs: Array, *, enough: float = 0.0, tol: float = 0.005, max_iter: int = 2000,
    start: Array | None = None, deadline: float | None = None,
    watch: BracketWatch | None = None, seed: int = 0, jobs: int = 1,
) -> HardMargin:  # fmt: skip
    """Find a w that separates and the margin to `tol`; or rows that rule it out; or a margin of at most `enough`.

    The search ends where

    - a w separates, and the bracket is as narrow as `tol` or the margin no larger than `enough`;
    - a point of the hull is 0 but for rounding: `separable` is False and `dual` the witness, of few rows. A row that is
      0, and two rows that are each other's opposites, are found at once;
    - the margin is no larger than `enough`, no w separates, and for long none has come nearer to it (the rows on the
      wrong side did not become half as many in 32 passes): `separable` is None. Where either the rows or the features
      are up to some 1500, the search is finite and does not end like that;
    - the deadline or the budget is reached.

    Parameters
    ----------
    data, signs, tol, max_iter, enough, start, deadline, watch, seed, jobs
        As in :func:`linsep.solvers.margin.hard.hard_margin`. The constant feature is one like all others.

    >>> X = Dense(np.array([[2.0, 0.0], [3.0, 1.0], [2.0, 0.0]]), bias=1.0)
    >>> found = separator(X, np.array([1.0, 1.0, -1.0]))
    >>> found.separable, found.support
    (False, array([0, 2]))
    """
    rows = opposed_rows(data, signs)
    if len(rows):
        found = _ruled_out(data, signs, rows, jobs)
        if watch is not None:
            watch(found.lower, found.upper)
        return found
    return hard_margin(
        data, signs, NONE, tol=tol, max_iter=max_iter, seed=seed, jobs=jobs, enough=enough, start=start,
        deadline=deadline, watch=watch,
    )  # fmt: skip


def _ruled_out(data: Dense | Csr, signs: Array, rows: Array, jobs: int) -> HardMargin:
    """Return the solution that consists of these rows, whose mean is 0."""
    points = Points(data, signs, NONE, False, jobs)
    radius = points.radius / points.scale
    dual = np.zeros(data.n_rows)
    dual[rows] = 1.0 / len(rows)
    return HardMargin(
        np.zeros(data.n_features + 1), dual, -radius, 0.0, 1, False, True, radius, np.array([[-radius, 0.0]])
    )
