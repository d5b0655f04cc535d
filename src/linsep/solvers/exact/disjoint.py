"""Find many disjoint sets of rows that cancel: a lower bound on the errors of every halfspace.

Where sum a_i z_i = 0 with a_i > 0, no w has z_i·w > 0 for all rows of the sum: every w errs on one of them at least
(Gordan, 1873). Sets without a common row count apart, so that m of them prove m errors. The largest number of such
sets is hard to find, and so is the least number of errors (Johnson and Preparata, 1978). The search is greedy:

1. a row of zeros cancels alone, and so do a row and its negative: twins of different labels;
2. weights of few errors are sought. A set needs one of their errors e, and most sets that are found need no other: a
   linear program writes -z_e as a sum of rows that are right, and one of its vertices has few of them;
3. programs look for sets in what is left, until what is left can be separated or the time is over.

Programs are solved in floats and on some rows first; each set is found again in integers before it counts.
"""

import math
import time
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from linsep.engine.arrays import Array
from linsep.solvers.exact.dependencies import witness
from linsep.solvers.programs.linear_program import decide
from linsep.solvers.programs.program_rows import Budget, exponents, scaled

FIRST = 512
"""Rows of the first program for an error, and twice that of its largest; more come in where they help."""
TURNS = 8
"""Programs for one error, at most."""
SMALL = 1e-9
"""Residual that a program leaves of a row of length about 1, written as a sum of others."""
MOST_BITS = 1 << 26
"""Bits of all integers, at most."""
RAYS = 64
"""Directions between two full turns through the columns in which fewer errors are sought."""


class NullCombination(NamedTuple):
    """Rows that cancel: the sum of values_i z_i is 0."""

    rows: list[int]
    """The rows, in ascending order."""
    values: list[int]
    """Their factors, all above 0."""


def disjoint_combinations(Z: Any, owners: Array, w: Array, *, deadline: float | None = None) -> list[NullCombination]:
    """Return combinations of rows that cancel exactly, no two with a row of one owner.

    Parameters
    ----------
    Z : csr_array, (rows, columns)
        The rows z_i = y_i x_i.
    owners : array, (rows,)
        The owner of each row: itself or, for pairs of classes, the row of the data.
    w : array, (columns,)
        Weights of few errors, which guide the search.
    deadline : float, optional
        The value of time.monotonic() at which to stop.

    Examples
    --------
    >>> Z = sp.csr_array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [3.0, 2.0], [0.0, -1.0]])
    >>> disjoint_combinations(Z, np.arange(5), np.array([1.0, 1.0]))
    [NullCombination(rows=[2, 4], values=[1, 1]), NullCombination(rows=[0, 1], values=[2, 1])]
    """
    return _Packing(Z, owners, math.inf if deadline is None else deadline).run(w)


class _Packing:
    """The rows that are left, and the combinations that were found."""

    def __init__(self, Z: Any, owners: Array, deadline: float) -> None:
        self.Z, self.owners, self.deadline = Z, owners, deadline
        self.free = np.ones(Z.shape[0], bool)
        self.found: list[NullCombination] = []
        self.bits = 0
        largest = np.zeros(Z.shape[1])
        np.maximum.at(largest, Z.indices, np.abs(Z.data))
        self.near = scaled(Z, np.zeros(Z.shape[0], np.int64), -exponents(largest))
        sizes = np.zeros(Z.shape[0])
        filled = np.flatnonzero(np.diff(Z.indptr))
        sizes[filled] = np.maximum.reduceat(np.abs(self.near.data), self.near.indptr[filled]) if len(filled) else 0.0
        self.powers = -exponents(sizes)
        self.near = scaled(self.near, self.powers, np.zeros(Z.shape[1], np.int64))

    def over(self) -> bool:
        return time.monotonic() >= self.deadline or self.bits > MOST_BITS

    def take(self, rows: Array, values: list[int]) -> None:
        """Count a combination, and let its owners' rows go."""
        chosen = sorted((int(i), v) for i, v in zip(rows.tolist(), values, strict=True) if v)
        self.found.append(NullCombination([i for i, _ in chosen], [v for _, v in chosen]))
        self.bits += sum(v.bit_length() for _, v in chosen)
        self.free &= ~np.isin(self.owners, self.owners[[i for i, _ in chosen]])

    def take_exactly(self, rows: Array, guess: Array) -> bool:
        """Find integers for rows that cancel in floats; return whether there are any."""
        values = witness(self.Z[rows], guess, deadline=None if math.isinf(self.deadline) else self.deadline)
        if values is None:
            return False
        self.take(rows, values)
        return True

    def run(self, w: Array) -> list[NullCombination]:
        self.twins()
        right = self.Z @ w > 0
        for e in np.flatnonzero(self.free & ~right)[np.argsort((self.Z @ w)[self.free & ~right])].tolist():
            if self.over():
                return self.found
            if self.free[e]:
                self.surround(e, np.flatnonzero(self.free & right))
        while self.free.any() and not self.over():
            rows = np.flatnonzero(self.free)
            left = min(self.deadline - time.monotonic(), 600.0)
            rest = decide(self.Z[rows], Budget(time_limit=left))
            held = np.flatnonzero(rest.dual > 0)
            if rest.separable is not False or not self.take_exactly(rows[held], rest.dual[held]):
                break
        return self.found

    def twins(self) -> None:
        """Take each row of zeros, and each two rows z and -z."""
        waiting = defaultdict[bytes, list[int]](list)
        ends = self.Z.indptr.tolist()
        for i in range(self.Z.shape[0]):
            if not self.free[i]:
                continue
            where, values = self.Z.indices[ends[i] : ends[i + 1]], self.Z.data[ends[i] : ends[i + 1]]
            if not values.any():
                self.take(np.array([i]), [1])
                continue
            places = where.tobytes()
            others = waiting[places + (-values).tobytes()]
            while others and not self.free[others[-1]]:
                others.pop()
            if others:
                self.take(np.array([others.pop(), i]), [1, 1])
            else:
                waiting[places + values.tobytes()].append(i)

    def surround(self, e: int, others: Array) -> None:
        """Take a combination of row e with some of the other rows, if there is one."""
        target, away = -self.near[[e]].toarray()[0], np.zeros(len(others), bool)
        columns = np.flatnonzero(np.bincount(self.near[others].indices, minlength=self.Z.shape[1]))
        if len(others) == 0 or np.delete(target, columns).any():
            return
        rows = self.near[others][:, columns]
        distances = rows @ target[columns]
        away[np.argsort(-distances, kind="stable")[:FIRST]] = True
        for _ in range(TURNS):
            if self.over():
                return
            inside = np.flatnonzero(away)
            rest, a, y = _written_as(rows[inside], target[columns], self.deadline)
            if a is None or y is None:
                return
            if rest <= SMALL:
                held = np.flatnonzero(a > 0)
                chosen = np.append(others[inside[held]], e)
                self.take_exactly(chosen, np.append(self._guess(a[held], others[inside[held]], e), 1.0))
                return
            gains = rows @ y
            more = np.flatnonzero((gains > SMALL) & ~away)
            if not len(more):
                return
            away[more[np.argsort(-gains[more], kind="stable")[:FIRST]]] = True

    def _guess(self, a: Array, rows: Array, e: int) -> Array:
        """Return factors of scaled rows as those of the rows themselves, beside 1 for row e."""
        return np.ldexp(a, np.clip(self.powers[rows] - self.powers[e], -1000, 1000))


def _written_as(rows: Any, target: Array, deadline: float) -> tuple[float, Array | None, Array | None]:
    """Return what is left of a target that is written as a sum of a_i rows, the a_i >= 0, and y of the dual program."""
    k = rows.shape[1]
    unit = sp.eye_array(k, format="csr")
    seconds = max(min(deadline - time.monotonic(), 600.0), 0.01)
    result = linprog(
        np.append(np.zeros(rows.shape[0]), np.ones(2 * k)), A_eq=sp.hstack([rows.T, unit, -unit], format="csc"),
        b_eq=target, method="highs-ds", options={"time_limit": seconds},
    )  # fmt: skip
    if result.x is None:
        return math.inf, None, None
    return float(result.fun or 0.0), result.x[: rows.shape[0]], result.eqlin.marginals


def fewer_errors(Z: Any, w: Array, *, deadline: float | None = None, seed: int = 0) -> Array:
    """Return weights that err on no more rows than w, z_i·w <= 0: the best along one direction after the other.

    Along a direction d the errors of w + t d change at t = -z_i·w / z_i·d alone, so that sorting finds the best t
    (Li and Lin, 2007). Directions are the columns, and random ones after them; it stops where none helps.

    Examples
    --------
    >>> Z = sp.csr_array(np.array([[1.0, 1.0], [2.0, 1.0], [-3.0, -1.0], [4.0, 1.0], [0.0, -1.0]]))
    >>> w = fewer_errors(Z, np.array([1.0, 0.0]))
    >>> int(np.sum(Z @ w <= 0))
    1
    """
    rng, end = np.random.default_rng(seed), math.inf if deadline is None else deadline
    columns, w, scores = Z.tocsc(), np.array(w, np.float64), Z @ w
    errors, moved = int(np.sum(scores <= 0)), True
    while moved and errors:
        moved = False
        for j in [*rng.permutation(Z.shape[1]).tolist(), *([-1] * RAYS)]:
            if time.monotonic() >= end:
                return w
            d = rng.normal(size=Z.shape[1]) * np.abs(w) if j < 0 else None
            change = columns[:, [j]].toarray()[:, 0] if d is None else Z @ d
            t = _best_step(scores, change)
            after = w + t * d if d is not None else w.copy()
            after[j] += t if d is None else 0.0
            new = Z @ after
            if int(np.sum(new <= 0)) < errors:
                w, scores, errors, moved = after, new, int(np.sum(new <= 0)), True
    return w


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _best_step(scores: Array, change: Array) -> float:
    """Return the t for which the fewest numbers scores + t change are 0 or less, in the middle of an interval."""
    moving = np.flatnonzero(change)
    at = -scores[moving] / change[moving]
    order = np.argsort(at, kind="stable")
    at, rising = at[order], change[moving][order] > 0
    if not len(at) or not np.isfinite(at).all():
        return 0.0
    wrong = np.append(np.sum(rising), np.sum(rising) - np.cumsum(np.where(rising, 1, -1)))
    ends = np.concatenate([[2 * at[0] - at[-1] - 1.0], at, [2 * at[-1] - at[0] + 1.0]])
    wrong = np.where(np.diff(ends) > 0, wrong, len(scores) + 1)
    k = int(np.argmin(wrong))
    return float(ends[k] / 2 + ends[k + 1] / 2)
