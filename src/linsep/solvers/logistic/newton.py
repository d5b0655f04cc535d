"""Logistic regression by Newton's method: few steps, each a system of linear equations.

On sparse rows with a prior, dual coordinate ascent leads near the optimum first, and often all the way.
"""

from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.core.blas import one_blas_thread
from linsep.solvers.logistic.directions import runs_off
from linsep.solvers.logistic.dual_start import approach
from linsep.solvers.logistic.newton_step import direction
from linsep.solvers.logistic.objective import (
    ROUNDING,
    Logistic,
    Look,
    Solution,
    centred,
    certified,
    look,
    prior,
    settle_bias,
)
from linsep.solvers.logistic.separation import endless, heaviest, separated
from linsep.solvers.products import features_of, times, times_transposed

FLAT, FEW_STEPS = 1e-2, 6
"""Without a minimum, the search ends when a step lowers f by no more than this share of it, or after so many steps."""
HALVINGS = 40
"""How often a step that does not lower f is halved."""


class Point(NamedTuple):
    """Where the search stands."""

    weights: Array
    scores: Array
    seen: Look
    gradient: Array
    values: Array
    """f of each group."""


@one_blas_thread()
def newton(problem: Logistic, *, tol: float = 1e-6, max_iter: int = 100, start: Array | None = None) -> Solution:
    """Minimise f to a certified gap of `tol` f.

    Without a prior there is no certificate: it ends when the quadratic model expects less than `tol` f of a step.

    Parameters
    ----------
    problem : Logistic
        What to minimise: see :func:`linsep.solvers.logistic.objective.problem_of`.
    tol : float, default=1e-6
        The gap to reach, relative to f.
    max_iter : int, default=100
        Epochs of dual ascent and Newton steps at most.
    start : array, (features + 1, columns), optional
        Weights to begin with.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.core.examples import Dense
    >>> from linsep.solvers.logistic.objective import problem_of
    >>> table = Dense(np.array([[0.0], [1.0], [2.0], [3.0]]), bias=1.0)
    >>> found = newton(problem_of(table, np.array([0, 1, 0, 1], np.int32), np.empty(0), classes=2))
    >>> found.weights.ravel().round(2), found.converged
    (array([ 0.3 , -0.22]), True)
    """
    search = Search(problem, tol, max_iter, start)
    while not search.ended():
        search.step()
    return search.solution()


class Search:
    """A run of Newton's method."""

    def __init__(self, problem: Logistic, tol: float, max_iter: int, start: Array | None) -> None:
        self.problem, self.tol, self.max_iter = problem, tol, max_iter
        zeros = np.zeros((features_of(problem.data) + 1, len(problem.positives)))
        begin = approach(problem, zeros, tol, max_iter if start is None else 0)
        weights = begin.weights if start is None else np.array(start, np.float64)
        scores = times(problem.data, weights, problem.jobs)
        self.at = _point(problem, weights, scores, look(problem, scores))
        self.steepest = self._steepness()
        self.gap = begin.gap
        self.history = [*begin.history[:-1], -float(self.at.values.sum())]
        self.iterations = begin.epochs
        self.cause = endless(problem)
        self.infinite = self.cause is not None
        self.converged = self.stuck = False
        self.done = np.zeros(len(self.at.values), bool)

    def ended(self) -> bool:
        """Tell whether the goal is reached, or nothing is left to do."""
        gaps = certified(self.problem, self.at.gradient, self.at.seen.residuals)
        self.gap = min(self.gap, float(gaps.sum())) if not np.isnan(gaps).any() else np.nan
        enough = self.tol * self.at.values.sum()
        self.converged = self.converged or bool(self.gap <= enough)
        apart = separated(self.problem, self.at.seen, self.at.scores)
        if apart.any() and not self.infinite:
            self.infinite, self.cause = True, heaviest(self.at.weights)
        self.done = apart | (gaps <= enough / len(gaps))
        return self.converged or self.stuck or bool(self.done.all()) or self.iterations >= self.max_iter

    def step(self) -> None:
        """Take one step, as long as it should be: the whole, half of it, a quarter."""
        problem, at = self.problem, self.at
        gradient = np.where(self.done, 0.0, at.gradient)
        step, moves = direction(problem, at.seen.spread, gradient, self._aim())
        slope = problem.groups(gradient * step)
        if np.isnan(self.gap) and self._settled(slope, step, moves):
            return
        lengths, seen = _search_line(problem, at, step, moves, slope)
        if not lengths.any():
            self.stuck = True
            return
        self.at = _point(problem, at.weights + lengths * step, at.scores + lengths * moves, seen)
        if self.at.values.sum() >= at.values.sum() and not self._flatter(at):
            self.at, self.stuck = at, True
            return
        before, after = float(at.values.sum()), float(self.at.values.sum())
        self.gap = np.inf
        self.iterations += 1
        self.history.append(-after)
        self.stuck = self.infinite and (before - after <= FLAT * before or self.iterations >= FEW_STEPS)

    def solution(self) -> Solution:
        """Return what was found."""
        at = self.at
        norm = float(np.sqrt((at.gradient**2).sum()))
        cause = self.cause if self.infinite else None
        reached = self.converged and not self.infinite
        value = float(at.values.sum())
        weights = centred(self.problem, at.weights)
        return Solution(weights, value, self.history, norm, self.gap, self.iterations, reached, self.infinite, cause)

    def _settled(self, slope: Array, step: Array, moves: Array) -> bool:
        """Tell, without a prior, whether the model expects next to nothing of the step, in any group."""
        self.done = self.done | (-slope / 2 <= self.tol * self.at.values.sum() / len(slope))
        if not self.infinite and (runs_off(self.problem, step, moves) & (slope < 0)).any():
            self.infinite, self.cause = True, heaviest(step)
        self.converged = bool(self.done.all())
        return self.converged

    def _flatter(self, before: Point) -> bool:
        """Tell whether a step that did not lower f, as far as its digits show, halved the certified gap at least."""
        points = (self.at, before)
        gaps = [float(certified(self.problem, at.gradient, at.seen.residuals).sum()) for at in points]
        return gaps[0] <= gaps[1] / 2

    def _aim(self) -> Array:
        """Return how small a step's residual has to be: less and less, but no less than the certificate asks for."""
        steep = self._steepness()
        fallen = 1.0 if self.infinite else steep / np.where(self.steepest > 0, self.steepest, 1.0)
        forced = steep * np.minimum(0.1, fallen)
        wanted = 2.0 * self.tol * self.at.values.sum() / len(steep) * self.problem.penalty[0, 0]
        return np.maximum(forced, 0.5 * np.sqrt(wanted))

    def _steepness(self) -> Array:
        return np.sqrt(self.problem.groups(self.at.gradient**2))


def _point(problem: Logistic, weights: Array, scores: Array, seen: Look) -> Point:
    if problem.free_bias:
        seen = settle_bias(problem, weights, scores, seen)
    gradient = problem.penalty * weights - times_transposed(problem.data, seen.residuals, problem.jobs)
    return Point(weights, scores, seen, gradient, seen.losses + prior(problem, weights))


def _search_line(problem: Logistic, at: Point, step: Array, moves: Array, slope: Array) -> tuple[Array, Look]:
    """Return for each group the largest length, 1 or a half so often, that lowers f by its share of the slope."""
    lengths = np.where(slope < 0, 1.0, 0.0)
    unseen = -slope <= ROUNDING * at.values  # what such a step gains is lost in rounding
    for _ in range(HALVINGS):
        seen = look(problem, at.scores + lengths * moves)
        values = seen.losses + prior(problem, at.weights + lengths * step)
        fine = values <= at.values + 1e-4 * lengths * slope + np.where(unseen, ROUNDING * at.values, 0.0)
        if fine.all():
            return lengths, seen
        lengths = np.where(fine, lengths, lengths / 2)
    lengths = np.where(fine, lengths, 0.0)
    return lengths, look(problem, at.scores + lengths * moves)
