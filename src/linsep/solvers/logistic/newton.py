"""Newton's method for logistic regression.

Few weights: the curvature is formed and factored. Many: conjugate gradients to the accuracy asked for; each product
with the curvature is one read of the data. The preconditioner is the curvature's diagonal and, on sparse rows, the rows
that bend f most (:class:`Preconditioner`).

On nearly separable rows f is almost flat in some directions, and a whole Newton step goes far beyond where its
quadratic model holds. Once a step had to be shortened a lot, conjugate gradients end where scores would move by more
than a radius (a trust region, after Steihaug, 1983), which grows again when whole steps succeed.

On sparse rows with a prior, dual coordinate ascent leads near the optimum first, and often all the way.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr
from linsep.engine.runtime import one_blas_thread, split
from linsep.solvers.logistic.dual_ascent import approach
from linsep.solvers.logistic.objective import ROUNDING, Iterate, LogisticProblem, LogisticSolution, LossTerms
from linsep.solvers.logistic.separation import endless, heaviest, runs_off, separated
from linsep.solvers.products import TABLE_ENTRIES, add_up, as_table, sweep, times, times_transposed
from linsep.validation.errors import InvalidDataError

FEW = 500
"""Weights of a group up to which its curvature is formed and factored."""
PRODUCTS = 250
"""Products with the curvature that one step may take."""
FLAT, SMALL = 1e-4, 1e-4
"""Without a minimum, the search ends when a step lowers f by no more than the first share of it, or when weights that
separate all rows have lowered f to the second share of what it is for weights of 0."""
SHORT, GROWTH = 0.25, 4.0
"""A step shortened to less than the first share sets the radius, and the next whole step multiplies it by the other."""
PROMISED = 1e-6
"""If no part of a step that should lower f by this share does so, the step is sought within a radius of 1."""
HEAVY, MOST_HEAVY, MOST_FACTORED = 10.0, 200, 2000
"""A row is heavy if it bends f by more than the first number times the prior along itself. At most so many rows are,
and at most so many rows times classes of a softmax."""
LARGEST = 1e12
"""The largest entry of the preconditioner's tables: beside it, 1 still has some digits."""
HALVINGS = 40
"""Number of times that a step that does not lower f is halved."""


def direction(
    problem: LogisticProblem, spread: Array, gradient: Array, aim: Array, radius: Array
) -> tuple[Array, Array, Array]:
    """Return the step of each column, its scores X step, and whether the radius of its group cut it short.

    Conjugate gradients leave a residual below `aim`, unless scores would move by more than the radius.
    """
    features = problem.data.n_features + 1
    if features * (gradient.shape[1] if problem.multinomial else 1) <= FEW and np.isinf(radius).all():
        step = _factored(problem, spread, gradient)
        return step, times(problem.data, step, problem.jobs), np.zeros_like(radius, bool)
    return _conjugate(problem, spread, gradient, aim, radius)


def farthest(problem: LogisticProblem, moves: Array) -> Array:
    """Return how far the scores of each group move at most; of a softmax, relative to the mean of the row."""
    if problem.multinomial:
        return np.abs(moves - moves.mean(axis=1, keepdims=True)).max(keepdims=True, initial=0.0)[0]
    return np.abs(moves).max(axis=0, initial=0.0)


def _conjugate(
    problem: LogisticProblem, spread: Array, gradient: Array, aim: Array, radius: Array
) -> tuple[Array, Array, Array]:
    preconditioner = Preconditioner(problem, spread)
    left = -gradient
    step, moved = np.zeros_like(gradient), np.zeros_like(spread)
    way = preconditioner.solve(left)
    height = problem.groups(left * way)
    cut = np.zeros_like(radius, bool)
    for _ in range(PRODUCTS):
        scores, product = sweep(problem.data, way, partial(_turned, problem, spread), problem.jobs)
        product += problem.penalty * way
        bend = problem.groups(way * product)
        length = np.where((bend > 0) & (height > 0), height / np.where(bend > 0, bend, 1.0), 0.0)
        if np.isfinite(radius).any():
            room = radius - farthest(problem, moved)
            reach = length * farthest(problem, scores)
            cut |= reach > room
            length = np.where(reach > room, length * np.maximum(room, 0.0) / np.where(reach > 0, reach, 1.0), length)
        step += length * way
        moved += length * scores
        left -= length * product
        open_ = (np.sqrt(problem.groups(left**2)) > aim) & ~cut
        if not (open_ & (length > 0)).any():
            break
        nearer = preconditioner.solve(left)
        lower = problem.groups(nearer * left)
        way *= np.where(open_ & (height > 0), lower / np.where(height > 0, height, 1.0), 0.0)
        way += np.where(open_, nearer, 0.0)
        height = np.where(open_, lower, 0.0)
    return step, moved, cut


def _turned(problem: LogisticProblem, spread: Array, scores: Array, lo: int, hi: int) -> Array:
    return problem.curved(spread[lo:hi], scores, lo, hi)


class Preconditioner:
    """The curvature with the heavy rows H of sparse data whole, and of all others the diagonal: P = D' + Hᵀ S H.

    S is how much the loss bends at a row, a number for each column, or for a softmax a matrix diag(p) - p pᵀ. With
    S = F Fᵀ, Woodbury's formula is P⁻¹ = D'⁻¹ - D'⁻¹ Hᵀ F (I + Fᵀ H D'⁻¹ Hᵀ F)⁻¹ Fᵀ H D'⁻¹. A row that is much longer
    than others gives the curvature an eigenvalue far from all others; each takes conjugate gradients some products.
    """

    def __init__(self, problem: LogisticProblem, spread: Array) -> None:
        bent = problem.counts * spread * (1.0 - spread) if problem.multinomial else spread
        self.diagonal = times_transposed(problem.data, bent, problem.jobs, squares=True) + problem.penalty
        self.diagonal[self.diagonal <= 0] = 1.0  # such a weight does nothing, and never moves
        heavy = heavy_rows(problem, bent)
        self.rows: Any = None
        if len(heavy):
            self._set_heavy(problem, heavy, spread, bent[heavy])

    def _set_heavy(self, problem: LogisticProblem, heavy: Array, spread: Array, bent: Array) -> None:
        bias = sp.csr_array(np.full((len(heavy), 1), problem.data.bias))
        self.rows = sp.hstack([problem.data.take(heavy).to_scipy().astype(np.float64), bias], format="csr")
        self.columns = self.rows.T.tocsr()
        floor = np.where(problem.penalty > 0, problem.penalty, self.diagonal / 1000)
        rest = np.maximum(self.diagonal - self.columns.power(2) @ bent, floor)
        tables = np.stack([((self.rows / one) @ self.columns).toarray() for one in rest.T])
        if problem.multinomial:
            q = np.sqrt(spread[heavy])  # diag(p) - p pᵀ = F Fᵀ for F = diag(q) (I - q qᵀ)
            F = q[:, :, None] * (np.eye(q.shape[1]) - q[:, :, None] * q[:, None, :])
            F *= np.sqrt(problem.row_weights[heavy, None, None] if len(problem.row_weights) else 1.0)
            turned = np.einsum("lij,jlm->iljm", tables, F)
            tables = np.einsum("ilk,iljm->ikjm", F, turned, optimize=True).reshape(1, q.size, q.size)
        else:
            F = np.sqrt(bent)
            tables *= F.T[:, :, None] * F.T[:, None, :]
        if not np.abs(tables).max() < LARGEST:
            self.rows = None  # the inverses would be rounding
            return
        self.diagonal, self.F = rest, F
        self.inverses = np.stack([linalg.inv(t + np.eye(len(t)), check_finite=False) for t in tables])

    def solve(self, left: Array) -> Array:
        """Return P⁻¹ left, of each column."""
        found = left / self.diagonal
        if self.rows is None:
            return found
        scores = self.rows @ found
        if self.F.ndim == 3:
            inner = np.einsum("ilk,il->ik", self.F, scores)
            back = np.einsum("ilk,ik->il", self.F, (self.inverses[0] @ inner.ravel()).reshape(inner.shape))
        else:
            back = self.F * (self.inverses @ (self.F * scores).T[:, :, None])[:, :, 0].T
        return found - (self.columns @ back) / self.diagonal


def heavy_rows(problem: LogisticProblem, bent: Array) -> Array:
    """Return the numbers of the heavy rows of sparse data, the heaviest first."""
    if not isinstance(problem.data, Csr) or not len(problem.data.values):
        return np.empty(0, np.intp)
    data = problem.data
    squares = np.add.reduceat(np.append(np.square(data.values, dtype=np.float64), 0.0), data.indptr[:-1])
    squares[np.diff(data.indptr) == 0] = 0.0
    weight = bent.max(axis=1) * (squares + data.bias**2)
    limit = min(MOST_HEAVY, MOST_FACTORED // bent.shape[1] if problem.multinomial else MOST_HEAVY)
    most = np.argsort(-weight, kind="stable")[:limit]
    return most[weight[most] > HEAVY * problem.penalty[0, 0]]


def _factored(problem: LogisticProblem, spread: Array, gradient: Array) -> Array:
    features, columns = gradient.shape
    if problem.multinomial:
        curvature = _curvature(problem, spread).reshape(1, features * columns, features * columns)
        curvature[0] += np.diag(np.repeat(problem.penalty.ravel(), columns))
        return _solved(curvature[0], -gradient.ravel()).reshape(features, columns)
    curvatures = _curvature(problem, spread) + np.diag(problem.penalty.ravel())
    return np.stack([_solved(*pair) for pair in zip(curvatures, -gradient.T, strict=True)], axis=1)


def _curvature(problem: LogisticProblem, spread: Array) -> Array:
    """Return Xᵀ D X for each column, (columns, features, features), or for a softmax as (features, columns) twice."""
    rows, features, columns = problem.data.n_rows, problem.data.n_features + 1, spread.shape[1]
    shape = (features, columns, features, columns) if problem.multinomial else (columns, features, features)
    total = np.zeros(shape)
    tasks = [
        partial(_share, problem, spread, lo, hi, shape) for lo, hi in split(rows, rows * features // TABLE_ENTRIES)
    ]
    add_up(total, tasks if rows else [], problem.jobs)
    return total


def _share(problem: LogisticProblem, spread: Array, lo: int, hi: int, shape: tuple[int, ...]) -> Array:
    table, part, out = _table(problem, lo, hi), spread[lo:hi], np.empty(shape)
    if not problem.multinomial:
        for k in range(part.shape[1]):
            np.matmul(table.T, part[:, k, None] * table, out=out[k])
        return out
    counts = problem.row_weights[lo:hi] if len(problem.row_weights) else 1.0
    for k in range(part.shape[1]):
        for m in range(k + 1):
            bent = counts * part[:, k] * (float(k == m) - part[:, m])
            out[:, k, :, m] = out[:, m, :, k] = table.T @ (bent[:, None] * table)
    return out


def _table(problem: LogisticProblem, lo: int, hi: int) -> Array:
    """Return a few rows as a table, the constant feature last."""
    data = problem.data
    out = np.full((hi - lo, data.n_features + 1), data.bias)
    out[:, :-1] = as_table(data.slice(lo, hi))
    return out


def _solved(curvature: Array, right: Array) -> Array:
    """Solve by Cholesky's factors, scaled to a diagonal of 1; where it is singular, with the least ridge that helps."""
    scale = np.sqrt(np.where(curvature.diagonal() > 0, curvature.diagonal(), 1.0))
    curvature = curvature / scale / scale[:, None]
    for ridge in 10.0 ** np.arange(-14, 2):
        try:
            factors = linalg.cho_factor(curvature + ridge * np.eye(len(right)), check_finite=False)
        except linalg.LinAlgError:
            continue
        return linalg.cho_solve(factors, right / scale) / scale
    raise InvalidDataError("the curvature is too large for float64: divide all of X by one factor")


@one_blas_thread()
def newton(
    problem: LogisticProblem, *, tol: float = 1e-6, max_iter: int = 100, start: Array | None = None
) -> LogisticSolution:
    """Minimise f to a certified gap of `tol` f.

    Without a prior there is no certificate: it ends when the quadratic model expects less than `tol` f of a step.
    `problem` is one of :func:`linsep.solvers.logistic.objective.problem_of`. `max_iter` limits epochs of dual ascent
    and steps together. `start` are weights to begin with, (features + 1, columns).

    >>> from linsep.engine.data_kinds import Dense
    >>> from linsep.solvers.logistic.objective import problem_of
    >>> table = Dense(np.array([[0.0], [1.0], [2.0], [3.0]]), bias=1.0)
    >>> found = newton(problem_of(table, np.array([0, 1, 0, 1], np.int32), np.empty(0), classes=2))
    >>> found.weights.ravel().round(2), found.converged
    (array([ 0.3 , -0.22]), True)
    """
    search = NewtonSearch(problem, tol, max_iter, start)
    while not search.ended():
        search.step()
    return problem.solution(search.at, search.history, search.gap, search.iterations, search.converged, search.cause)


class NewtonSearch:
    """A run of Newton's method."""

    def __init__(self, problem: LogisticProblem, tol: float, max_iter: int, start: Array | None) -> None:
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        zeros = np.zeros((problem.data.n_features + 1, len(problem.positives)))
        begin = approach(problem, zeros, tol, max_iter if start is None else 0)
        weights = begin.weights if start is None else np.array(start, np.float64)
        scores = times(problem.data, weights, problem.jobs)
        self.small = SMALL * problem.evaluate(np.zeros_like(scores)).losses
        self.at = _point(problem, weights, scores, problem.evaluate(scores))
        self.steepest = self._steepness()
        self.gap = begin.gap
        self.history = [*begin.history[:-1], -self.at.value]
        self.iterations = begin.epochs
        self.cause = endless(problem)
        self.converged = self.stuck = False
        self.done = np.zeros(len(self.at.values), bool)
        self.radius = np.full(len(self.at.values), np.inf)
        """Limit of a step, in scores of each group."""

    def ended(self) -> bool:
        """Return whether the goal is reached, or nothing is left to do."""
        gaps = self.problem.certified(self.at.gradient, self.at.seen.residuals)
        self.gap = min(self.gap, float(gaps.sum())) if not np.isnan(gaps).any() else np.nan
        enough = self.tol * self.at.value
        self.converged = self.converged or bool(self.gap <= enough)
        apart = separated(self.problem, self.at.seen, self.at.scores)
        if apart.any() and self.cause is None:
            self.cause = heaviest(self.at.weights)
        self.done = (apart & (self.at.values <= self.small)) | (gaps <= enough / len(gaps))
        return self.converged or self.stuck or bool(self.done.all()) or self.iterations >= self.max_iter

    def step(self) -> None:
        """Take one step, as long as it should be: the whole, half of it, a quarter."""
        problem, at = self.problem, self.at
        gradient = np.where(self.done, 0.0, at.gradient)
        step, moves, cut = direction(problem, at.seen.spread, gradient, self._aim(), self.radius)
        slope = problem.groups(gradient * step)
        if np.isnan(self.gap) and self._settled(slope, step, moves, cut):
            return
        lengths, seen = _search_line(problem, at, step, moves, slope)
        if not lengths.any():
            promised = bool((-slope > PROMISED * at.values).any())
            self.stuck = not promised or bool(np.isfinite(self.radius).any())
            self.radius = np.ones_like(self.radius)
            return
        self.at = _point(problem, at.weights + lengths * step, at.scores + lengths * moves, seen)
        if self.at.value >= at.value and not self._flatter(at):
            self.at, self.stuck = at, True
            return
        before, after = at.value, self.at.value
        self.gap = np.inf
        self.iterations += 1
        self.history.append(-after)
        short = (lengths > 0) & (lengths < SHORT)
        self.stuck = self.cause is not None and before - after <= FLAT * before and not (short | cut).any()
        moved = farthest(problem, lengths * moves) if short.any() else self.radius
        self.radius = np.where(cut, np.where(lengths == 1, GROWTH, 1.0) * self.radius, np.inf)
        self.radius = np.where(short, GROWTH * moved, self.radius)

    def _settled(self, slope: Array, step: Array, moves: Array, cut: Array) -> bool:
        """Return, without a prior, whether the model expects next to nothing of the step, in any group."""
        self.done = self.done | ((-slope / 2 <= self.tol * self.at.value / len(slope)) & ~cut)
        if self.cause is None and (runs_off(self.problem, step, moves) & (slope < 0)).any():
            self.cause = heaviest(step)
        self.converged = bool(self.done.all())
        return self.converged

    def _flatter(self, before: Iterate) -> bool:
        """Return whether a step that did not lower f, as far as its digits show, halved the certified gap at least."""
        points = (self.at, before)
        gaps = [float(self.problem.certified(at.gradient, at.seen.residuals).sum()) for at in points]
        return gaps[0] <= gaps[1] / 2

    def _aim(self) -> Array:
        """Return how small a step's residual has to be: less and less, but no less than the certificate asks for."""
        steep = self._steepness()
        fallen = 1.0 if self.cause is not None else steep / np.where(self.steepest > 0, self.steepest, 1.0)
        forced = steep * np.minimum(0.1, fallen)
        wanted = 2.0 * self.tol * self.at.value / len(steep) * self.problem.penalty[0, 0]
        return np.maximum(forced, 0.5 * np.sqrt(wanted))

    def _steepness(self) -> Array:
        return np.sqrt(self.problem.groups(self.at.gradient**2))


def _point(problem: LogisticProblem, weights: Array, scores: Array, seen: LossTerms) -> Iterate:
    if problem.free_bias:
        seen = problem.settle_bias(weights, scores, seen)
    return problem.iterate(weights, scores, seen)


def _search_line(
    problem: LogisticProblem, at: Iterate, step: Array, moves: Array, slope: Array
) -> tuple[Array, LossTerms]:
    """Return for each group the largest length, 1 or a half so often, that lowers f by its share of the slope."""
    lengths = np.where(slope < 0, 1.0, 0.0)
    unseen = -slope <= ROUNDING * at.values  # what such a step gains is lost in rounding
    for _ in range(HALVINGS):
        seen = problem.evaluate(at.scores + lengths * moves)
        values = seen.losses + problem.prior(at.weights + lengths * step)
        fine = values <= at.values + 1e-4 * lengths * slope + np.where(unseen, ROUNDING * at.values, 0.0)
        if fine.all():
            return lengths, seen
        lengths = np.where(fine, lengths, lengths / 2)
    lengths = np.where(fine, lengths, 0.0)
    return lengths, problem.evaluate(at.scores + lengths * moves)
