"""The search for a game's value in the L1 norm: linear programs on a few rows and columns, weighed by all of them.

A program's lambda proves an upper bound on the whole game, and one pass over all rows turns its weights into a lower
one. Rows below the program's value come in, and rows far above it leave; likewise columns, where there are too many of
them. New rows are looked for at a program's weights, and half-way between them and the best ones so far: a corner alone
fits the rows of its program only, and the bracket would close slowly. Both answers are corners wherever that will do,
so that they bear few entries.
"""

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from linsep.core.arrays import Array
from linsep.solvers.programs.l1_rows import L1Rows
from linsep.solvers.programs.linear_program import mixture
from linsep.solvers.programs.signed_rows import beside, column

Watch = Callable[[float, float], None]
Start = tuple[Array | None, Array | None]

WHOLE = 1 << 17
"""Entries of data that are one program."""
FIRST, MORE = 200, 100
"""Rows of the first program, and rows or columns that come in at a time; of rows, a third of all if that is more."""
ENTRIES = 1 << 20
"""Entries of the largest program that has all columns from the start."""
IDLE = 3
"""Rows, or columns, that a program keeps for each that is at its value; `FIRST`, or ten times `MORE`, are no burden."""
STEPS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0])
"""How far to go from the best answer towards a new one."""
HALF = 0.5
"""Where between the two to look for new rows and columns."""
ROUNDING = 1e-12
"""Values nearer to 0 than this are 0, beside entries near 1."""
FEASIBLE = 1e-10
"""HiGHS's tolerance."""
METHODS = "highs-ipm", "highs-ds"
"""The interior point method, which ends at a corner too, is several times faster; the simplex method fails less."""


class Search:
    """The bracket, what proves it, and the rows and columns of the next program."""

    def __init__(self, rows: L1Rows, enough: float, tol: float, deadline: float | None, watch: Watch | None) -> None:
        self.rows, self.enough, self.tol, self.watch = rows, enough, tol, watch
        self.deadline = math.inf if deadline is None else deadline
        self.lower, self.upper = -math.inf, math.inf
        self.weights, self.scores = np.zeros(rows.width), np.zeros(rows.count)
        self.proof, self.dual, self.sure = np.zeros(0, np.int64), np.zeros(0), False
        self.centre, self.centre_sums = np.zeros(0), np.zeros(0)
        self.working, self.columns = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.whole = rows.data.values.size + rows.count * (rows.width - rows.features) <= WHOLE
        self.programs = 0

    def size(self, value: float) -> float:
        """Return a score of the data's own scale."""
        return float(np.ldexp(value, self.rows.exponent))

    def narrow(self) -> bool:
        """Tell whether the bracket is as narrow as was asked."""
        return self.upper - self.lower <= max(self.tol * abs(self.upper), ROUNDING)

    def useless(self) -> bool:
        """Tell whether the value is known to be of no use.

        Only where no weight may be below 0 can it be less than 0; a bound of 0 is then no more than a doubt, unless
        nothing was rounded.
        """
        doubt = not len(self.rows.mirrored) and abs(self.upper) <= ROUNDING and not self.sure
        return self.upper <= max(self.enough, ROUNDING) and not doubt

    def over(self) -> bool:
        """Tell whether there is nothing more to do, or no time for it."""
        return self.narrow() or (self.useless() and not self.whole) or time.monotonic() >= self.deadline

    def begin(self, starts: Iterable[Start]) -> None:
        """Take in what is known, and choose the rows and columns of the first program.

        Where a weight may be of either sign, two of +1/2 and -1/2 have a value of 0.
        """
        rows, everywhere = self.rows, np.arange(self.rows.count)
        if len(rows.mirrored) or not rows.width:
            self.lower = 0.0
        alone = np.array([rows.lowest()])
        self.offer_dual(alone, np.ones(1), rows.chosen(alone).T @ np.ones(1), sure=True)
        spread = np.concatenate([evenly(np.flatnonzero(rows.signs == sign), FIRST // 2) for sign in (-1.0, 1.0)])
        dual = rows.balanced(spread)
        sums = rows.chosen(spread).T @ dual
        pays = self.offer_dual(spread, dual, sums)
        self.columns = np.sort(least(-pays, np.arange(rows.width), MORE))
        working = [alone, spread]
        for w, given in starts:
            if w is not None:
                working.append(least(self.offer_weights(rows.allowed(w)), everywhere, MORE))
            if given is not None:
                given = rows.shares(given)
                self.offer_dual(everywhere, given, rows.sums(given))
                working.append(least(-given, everywhere, min(FIRST, int(np.count_nonzero(given)))))
        if not self.over():
            self.offer_weights(rows.allowed(sums))
        if self.lower == -math.inf:
            self.offer_weights(np.eye(1, rows.width, int(np.argmax(pays)))[0])
        self.working = everywhere if self.whole else np.unique(np.concatenate(working))

    def offer_weights(self, w: Array) -> Array:
        """Weigh all rows by w, and by what lies between it and the best weights so far; return the scores."""
        scores = self.rows.scores(w)
        if not w.any():
            return scores
        steps = STEPS if self.lower > -math.inf else STEPS[-1:]
        lowest = np.array([(self.scores + a * (scores - self.scores)).min() for a in steps])
        corner = self.upper - lowest[-1] <= self.tol * self.upper
        k = len(steps) - 1 if corner else int(np.argmax(lowest))
        if lowest[k] > self.lower:
            self.weights = w if steps[k] == 1.0 else self.weights + steps[k] * (w - self.weights)
            self.scores = scores if steps[k] == 1.0 else self.scores + steps[k] * (scores - self.scores)
            self.lower = float(lowest[k])
            self.tell()
        return scores

    def offer_dual(self, rows: Array, dual: Array, sums: Array, sure: bool = False) -> Array:
        """See what a lambda on these rows proves; return what each feature pays."""
        pays = self.rows.pays(sums)
        upper = float(pays.max()) if len(pays) else 0.0
        if upper < self.upper:
            held = dual > 0
            self.upper, self.proof, self.dual, self.sure = upper, rows[held], dual[held], sure
            self.tell()
        return pays

    def tell(self) -> None:
        """Tell the bracket to whom it may concern."""
        if self.watch is not None:
            self.watch(self.size(self.lower), self.size(self.upper))

    def run(self) -> None:
        """Solve program after program, until all is done or nothing moves any more."""
        moves = True
        while moves and not self.over():
            Z = self.rows.chosen(self.working)
            if Z.nnz * (1 + self.rows.signed) <= ENTRIES:
                self.columns = np.union1d(self.columns, Z.indices)
            self.programs += 1
            mirrored = np.isin(self.columns, self.rows.mirrored)
            corner = corners(Z[:, self.columns], mirrored, self.deadline)
            if corner is None:
                return
            w, dual = np.zeros(self.rows.width), corner[1]
            w[self.columns] = corner[0]
            sums, inside = Z.T @ dual, Z @ w
            pays = self.offer_dual(self.working, dual, sums)
            if self.over():
                return
            scores = self.offer_weights(w)
            moves = self.renew_columns(pays, dual, sums, inside.min()) | self.renew_rows(scores, inside)

    def renew_rows(self, scores: Array, inside: Array) -> bool:
        """Take in rows below the program's value, let go of rows far above it; return whether there are new ones."""
        known, value = self.working, inside.min()
        most = IDLE * int(np.count_nonzero(inside <= value + FEASIBLE)) + FIRST
        more = max(MORE, len(known) // 3)
        between = self.scores + HALF * (scores - self.scores)
        new = np.union1d(below(scores, value, more), below(between, value, more))
        new = np.setdiff1d(new, known)
        self.working = np.union1d(least(inside, known, most), new)
        return len(new) > 0

    def renew_columns(self, pays: Array, dual: Array, sums: Array, value: float) -> bool:
        """Take in columns that pay more than the value, let go of those that pay far less; return whether any is new.

        They are looked for half-way to a lambda that no column pays much for, and at the corner only if there is none.
        """
        known = self.columns
        new = np.setdiff1d(np.flatnonzero(pays > value), known)
        if not len(new):
            return False
        between = self.mix(dual, sums)
        inner = new[between[new] > value]
        new = least(-between[inner], inner, MORE) if len(inner) else least(-pays[new], new, MORE)
        most = IDLE * int(np.count_nonzero(pays[known] >= value - FEASIBLE)) + 10 * MORE
        self.columns = np.union1d(least(-pays[known], known, most), new)
        return True

    def mix(self, dual: Array, sums: Array) -> Array:
        """Bring a lambda on all rows nearer to the one of a program; return what columns pay half-way."""
        rows = self.rows
        if not len(self.centre):
            self.centre = rows.balanced(np.arange(rows.count))
            self.centre_sums = rows.sums(self.centre)
        old = self.centre_sums
        highest = [rows.pays(old + a * (sums - old)).max() for a in STEPS]
        k = int(np.argmin(highest))
        if highest[k] < rows.pays(old).max():
            self.centre *= 1.0 - STEPS[k]
            self.centre[self.working] += STEPS[k] * dual
            self.centre_sums = old + STEPS[k] * (sums - old)
            self.offer_dual(np.arange(rows.count), self.centre, self.centre_sums)
        return rows.pays(old + HALF * (sums - old))


def evenly(rows: Array, most: int) -> Array:
    """Return at most so many of the rows, at even distances."""
    return rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]


def least(keys: Array, items: Array, most: int) -> Array:
    """Return at most so many of the items, those of the smallest keys."""
    return items[np.argsort(keys, kind="stable")[:most]] if len(items) > most else items


def below(scores: Array, value: float, most: int) -> Array:
    """Return rows of the smallest scores below the value, one for each score: rows that are alike come in once."""
    rows = np.flatnonzero(scores < value)
    lowest = least(scores[rows], rows, 4 * most)
    _, first = np.unique(scores[lowest], return_index=True)
    return lowest[first[:most]]


def corners(Z: Any, mirrored: Array, deadline: float) -> tuple[Array, Array] | None:
    """Solve max t with Z u >= t, sum |u_j| = 1, u_j >= 0 unless mirrored; return u and lambda, both at a corner."""
    n, p = Z.shape
    payoff = beside(Z, -Z[:, np.flatnonzero(mirrored)])
    k = payoff.shape[1]
    bounds = np.tile([0.0, np.inf], (k + 1, 1))
    bounds[k, 0] = -np.inf
    program: Any = {
        "c": np.append(np.zeros(k), -1.0), "A_ub": beside(-payoff, column(n)), "b_ub": np.zeros(n), "bounds": bounds,
        "A_eq": sp.csc_array(np.append(np.ones(k), 0.0)[None]), "b_eq": np.ones(1),
    }  # fmt: skip
    options: Any = {"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE}
    for method in METHODS:
        left = deadline - time.monotonic()
        if left <= 0.0:
            return None
        limit = {"time_limit": left} if left < math.inf else {}
        asked = program | {"method": method, "options": options | limit}
        result = linprog(**asked)
        if result.x is not None:
            both = mixture(result.x[:k])
            u = both[:p].copy()
            u[mirrored] -= both[p:]
            return u, mixture(-result.ineqlin.marginals)
    return None
