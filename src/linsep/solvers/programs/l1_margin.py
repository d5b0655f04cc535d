"""Bracket Winnow's margin on data of any size.

Nothing is copied but the rows that are asked for. All is in the unit 2^exponent, which brings the largest entry near 1.

A program's lambda proves an upper bound on the whole game, and one pass over all rows turns its weights into a lower
one. Rows below the program's value come in, and rows far above it leave; likewise columns, where there are too many of
them. New rows are looked for at a program's weights, and half-way between them and the best ones so far: a corner alone
fits the rows of its program only, and the bracket would close slowly. Both solutions are corners wherever that will do,
so that they bear few entries.

With z_i = y_i [x_i, beta], lambda >= 0 of sum 1, and weights u >= 0 of sum 1 (the bias being two features, +beta and
-beta), or of any sign with ||u||_1 <= 1 for balanced Winnow,

    max over u of min_i z_i·u   =   min over lambda of max_j (sum of lambda_i z_i)_j    (of |...| for any sign).

Any u and any lambda bracket the value.
"""

import math
import time
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import optimize

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers import BracketWatch
from linsep.solvers.products import gather_rows, largest_entry, times, times_transposed
from linsep.solvers.programs.linear_program import matrix_game, mixture
from linsep.solvers.programs.program_rows import beside, column, exponents

FAR = 1000
"""The largest power of two that vectors are multiplied by: what lies beyond is left to the result."""
WHOLE = 1 << 17
"""Entries of data that are one program."""
FIRST, MORE = 200, 100
"""Rows of the first program, and rows or columns that come in at a time; of rows, a third of all if that is more."""
ENTRIES = 1 << 20
"""Entries of the largest program that has all columns from the start."""
IDLE = 3
"""Rows, or columns, that a program keeps for each that is at its value; `FIRST`, or ten times `MORE`, are no burden."""
STEPS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0])
"""Steps from the best solution towards a new solution."""
HALF = 0.5
"""Point between the two at which new rows and columns are searched."""
ROUNDING = 1e-12
"""Values nearer to 0 than this are 0, beside entries near 1."""
FEASIBLE = 1e-10
"""HiGHS's tolerance."""
METHODS = "highs-ipm", "highs-ds"
"""The interior point method, which ends at a corner too, is several times faster; the simplex method fails less."""


class L1Rows:
    """The rows of one game: `signed` weights are of any sign, others are >= 0, and the constant one is of any sign."""

    def __init__(self, data: Dense | Csr, signs: Array, signed: bool) -> None:
        self.data, self.signs, self.signed = data, signs, signed
        self.count, self.features = data.n_rows, data.n_features
        self.width = self.features + (data.bias != 0.0)
        """Features, and the constant one if there is a bias."""
        self.exponent = int(exponents(largest_entry(data)))
        self.mirrored = np.arange(0 if signed else self.features, self.width)
        """The features whose weights may be below 0."""

    def scores(self, w: Array) -> Array:
        """Return z_i·w for all rows."""
        whole = np.zeros((self.features + 1, 1))
        whole[: self.width, 0] = w
        return self._scaled(times, whole)[:, 0] * self.signs

    def sums(self, dual: Array) -> Array:
        """Return the sum of lambda_i z_i over all rows."""
        return self._scaled(times_transposed, (dual * self.signs)[:, None])[: self.width, 0]

    def _scaled(self, product: Any, vector: Array) -> Array:
        power = min(max(self.exponent, -FAR), FAR)
        return np.ldexp(product(self.data, np.ldexp(vector, -power)), power - self.exponent)

    def pays(self, sums: Array) -> Array:
        """Return what a weight of sum 1 gains on each feature: s_j, or |s_j| where the weight may be below 0."""
        pays = sums.copy()
        pays[self.mirrored] = np.abs(pays[self.mirrored])
        return pays

    def allowed(self, weights: Array) -> Array:
        """Return weights made >= 0 where they must be, with sum |w_j| = 1; all 0 where nothing is left of them."""
        w = np.where(np.isfinite(weights), weights, 0.0)[: self.width]
        if not self.signed:
            w[: self.features] = np.maximum(w[: self.features], 0.0)
        w = np.ldexp(w, -exponents(np.max(np.abs(w), initial=0.0)))
        return w / (np.abs(w).sum() or 1.0)

    def shares(self, dual: Array) -> Array:
        """Return the lambda with these shares; those that are not above 0 do not count."""
        finite = np.where(np.isfinite(dual), dual, 0.0)
        return mixture(np.ldexp(finite, -exponents(np.max(np.abs(finite), initial=0.0))))

    def balanced(self, rows: Array) -> Array:
        """Return the lambda that has half its weight on either class, on these rows."""
        positive = self.signs[rows] > 0
        counts = np.array([np.count_nonzero(~positive), np.count_nonzero(positive)])
        return mixture(1.0 / counts[positive.astype(np.int64)])

    def chosen(self, rows: Array) -> Any:
        """Return these rows as a csr_array."""
        data, signs = self.data, self.signs[rows]
        Z: Any
        if isinstance(data, Csr):
            values, columns, ends = gather_rows(data, rows)
            Z = sp.csr_array((self._in_unit(values), columns, ends), shape=(len(rows), self.features))
            Z.sum_duplicates()
        else:
            Z = sp.csr_array(self._in_unit(data.values[rows]))
        if data.bias:
            Z = beside(Z, column(len(rows), float(np.ldexp(data.bias, -self.exponent))))
        Z.data *= np.repeat(signs, np.diff(Z.indptr))
        Z.eliminate_zeros()
        return Z

    def _in_unit(self, values: Array) -> Array:
        return np.ldexp(values.astype(np.float64), -self.exponent)

    def lowest(self) -> int:
        """Return the row whose best feature pays least: alone it proves the most."""
        values, signs = self.data.values, self.signs
        high, low = np.zeros(self.count), np.zeros(self.count)
        if isinstance(self.data, Csr):
            counts = np.diff(self.data.indptr)
            filled = np.flatnonzero(counts)
            if len(filled):
                high[filled] = np.maximum.reduceat(values, self.data.indptr[filled])
                low[filled] = np.minimum.reduceat(values, self.data.indptr[filled])
            partly = counts < self.features
            high[partly], low[partly] = np.maximum(high[partly], 0.0), np.minimum(low[partly], 0.0)
        elif self.features:
            high, low = values.max(axis=1), values.min(axis=1)
        best = np.maximum(high, -low) if self.signed else np.where(signs > 0, high, -low)
        return int(np.argmin(best))


L1Start = tuple[Array | None, Array | None]


class L1Search:
    """The bracket, what proves it, and the rows and columns of the next program."""

    def __init__(
        self, rows: L1Rows, enough: float, tol: float, deadline: float | None, watch: BracketWatch | None
    ) -> None:
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
        """Return whether the bracket is as narrow as was asked."""
        return self.upper - self.lower <= max(self.tol * abs(self.upper), ROUNDING)

    def useless(self) -> bool:
        """Return whether the value is known to be at most `enough`.

        Only where no weight may be below 0 can it be less than 0; a bound of 0 is then no more than a doubt, unless
        nothing was rounded.
        """
        doubt = not len(self.rows.mirrored) and abs(self.upper) <= ROUNDING and not self.sure
        return self.upper <= max(self.enough, ROUNDING) and not doubt

    def over(self) -> bool:
        """Return whether there is nothing more to do, or no time for it."""
        return self.narrow() or (self.useless() and not self.whole) or time.monotonic() >= self.deadline

    def begin(self, starts: Iterable[L1Start]) -> None:
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
            self.report()
        return scores

    def offer_dual(self, rows: Array, dual: Array, sums: Array, sure: bool = False) -> Array:
        """See what a lambda on these rows proves; return what each feature pays."""
        pays = self.rows.pays(sums)
        upper = float(pays.max()) if len(pays) else 0.0
        if upper < self.upper:
            held = dual > 0
            self.upper, self.proof, self.dual, self.sure = upper, rows[held], dual[held], sure
            self.report()
        return pays

    def report(self) -> None:
        """Report the bracket."""
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
            mirrored = np.flatnonzero(np.isin(self.columns, self.rows.mirrored))
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
        """Take in rows below the program's value, drop rows far above it; return whether there are new ones."""
        known, value = self.working, inside.min()
        most = IDLE * int(np.count_nonzero(inside <= value + FEASIBLE)) + FIRST
        more = max(MORE, len(known) // 3)
        between = self.scores + HALF * (scores - self.scores)
        new = np.union1d(below(scores, value, more), below(between, value, more))
        new = np.setdiff1d(new, known)
        self.working = np.union1d(least(inside, known, most), new)
        return len(new) > 0

    def renew_columns(self, pays: Array, dual: Array, sums: Array, value: float) -> bool:
        """Take in columns that pay more than the value, drop those that pay far less; return whether any is new.

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
    """Return u and lambda of the game, both at a corner; None where the time, or both methods, did not suffice."""
    options: Any = {"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE}
    for method in METHODS:
        left = deadline - time.monotonic()
        if left <= 0.0:
            return None
        limit = {"time_limit": left} if left < math.inf else {}
        u, dual, result = matrix_game(Z, mirrored, partial(optimize.linprog, method=method, options=options | limit))
        if result.x is not None:
            return u, dual
    return None


class L1Margin(NamedTuple):
    """The value of the game, from both sides."""

    weights: Array
    """(features + 1,): u, with min_i y_i u·x_i = lower; the last one is that of +beta less that of -beta. The sum of
    |u_j| is 1 without a bias and weights below 0, else at most 1, and 0 where nothing better than that was found."""
    dual: Array
    """(rows,): lambda, which proves `upper`."""
    lower: float
    """The value that `weights` reach, to rounding."""
    upper: float
    """The value that no weights exceed, to rounding."""
    converged: bool
    """True if the bracket is within `tol`, or the value can't be used."""
    programs: int
    """The number of linear programs solved."""


def l1_margin(
    data: Dense | Csr, signs: Array, *, signed: bool, enough: float, tol: float = 0.003,
    starts: Iterable[L1Start] = (), deadline: float | None = None, watch: BracketWatch | None = None,
) -> L1Margin:  # fmt: skip
    """Find the largest margin that weights of L1 norm 1 have, and rows that prove there is none larger.

    Where no weights have a margin above 0, lambda proves it: max_j (sum of lambda_i z_i)_j is 0 to rounding, or below 0
    if it can be (weights >= 0, no bias); it is 0 exactly if one row does that alone.

    Parameters
    ----------
    data, signs, deadline, watch
        As for all solvers: see :mod:`linsep.solvers`.
    signed : bool
        If True, weights below 0 are allowed, as in balanced Winnow; else only that of the constant feature is.
    enough : float
        The search ends once the value is known to be at most this. Small data, which are one program, are solved
        to the end nevertheless.
    tol : float, default=0.003
        The search ends where upper - lower <= tol * upper.
    starts : pairs of weights (features + 1,) and lambda (rows,), or None for either
        Start values; any weights and any lambda will do, of any size.

    >>> X = Dense(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), bias=1.0)
    >>> found = l1_margin(X, np.array([1.0, 1.0, -1.0, -1.0]), signed=False, enough=0.0)
    >>> found.weights, found.lower, found.upper
    (array([ 0.667, 0. , 0. , -0.333]), 0.333, 0.333)
    """
    rows = L1Rows(data, signs, signed)
    search = L1Search(rows, float(np.ldexp(enough, -rows.exponent)), tol, deadline, watch)
    search.begin(starts)
    search.run()
    w, dual = np.zeros(rows.features + 1), np.zeros(rows.count)
    w[: rows.width], dual[search.proof] = search.weights, search.dual
    converged = search.narrow() or search.useless()
    return L1Margin(w, dual, search.size(search.lower), search.size(search.upper), converged, search.programs)
