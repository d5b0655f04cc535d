"""Logistic regression by batch gradient ascent, as in the notes: w += ε (Σ x (y - p) - w / σ²) over all rows.

ε = 1 / L, where L bounds the curvature of f: λ / 4 + 1 / σ² for a column on its own, λ / 2 + 1 / σ² for a softmax, with
λ the largest eigenvalue of Xᵀ C X. No such step can lower the log-likelihood.
"""

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.runtime import one_blas_thread
from linsep.solvers.logistic.objective import ROUNDING, Iterate, LogisticProblem, LogisticSolution
from linsep.solvers.logistic.separation import endless, heaviest, separated
from linsep.solvers.products import sweep, times_transposed

ROUNDS = 30
"""Power iterations for λ."""
MARGIN = 1.05
"""Factor of L over the estimate of λ, which is never too large."""


@one_blas_thread()
def gradient_ascent(
    problem: LogisticProblem, *, tol: float = 1e-6, max_iter: int = 1000, start: Array | None = None
) -> LogisticSolution:
    """Climb the log-likelihood until a step improves it by no more than `tol` of itself.

    The parameters and the result are those of :func:`linsep.solvers.logistic.newton.newton`. `converged` is True if it
    no longer improves; `optimality` states how far the optimum can be at most, which after a stop by `tol` may still be
    much.

    >>> from linsep.engine.data_kinds import Dense
    >>> from linsep.solvers.logistic.objective import problem_of
    >>> table = Dense(np.array([[0.0], [1.0], [2.0], [3.0]]), bias=1.0)
    >>> found = gradient_ascent(problem_of(table, np.array([0, 1, 0, 1], np.int32), np.empty(0), classes=2))
    >>> found.weights.ravel().round(2), found.converged
    (array([ 0.3 , -0.22]), True)
    """
    zeros = np.zeros((problem.data.n_features + 1, len(problem.positives)))
    at = problem.at(zeros if start is None else np.array(start, np.float64))
    cause = endless(problem)
    history, rate, iterations, settled = [-at.value], 1.0 / lipschitz(problem), 0, False
    while not settled and iterations < max_iter:
        iterations += 1
        ahead = problem.at(at.weights - rate * at.gradient)
        if ahead.value > at.value - rate / 2 * float((at.gradient**2).sum()) + ROUNDING * at.value:
            rate /= 2  # L was set too low after all
            continue
        settled = at.value - ahead.value <= tol * ahead.value
        if ahead.value > at.value:
            break
        at = ahead
        history.append(-at.value)
        if separated(problem, at.seen, at.scores).any():
            cause = heaviest(at.weights) if cause is None else cause
            break
    return problem.solution(at, history, _gap(problem, at), iterations, settled, cause)


def _gap(problem: LogisticProblem, at: Iterate) -> float:
    """Return the certified gap; a free bias is moved to its best for that, and what the move gains is added."""
    if not problem.free_bias or not problem.penalty.any():
        return float(problem.certified(at.gradient, at.seen.residuals).sum())
    weights, scores = at.weights.copy(), at.scores.copy()
    problem.settle_bias(weights, scores, at.seen)
    moved = problem.at(weights)
    return max(0.0, at.value - moved.value) + float(problem.certified(moved.gradient, moved.seen.residuals).sum())


def lipschitz(problem: LogisticProblem) -> float:
    """Return L, from power iterations; it is never more than the bound Σ c ||x||² for λ, and rarely too small.

    >>> from linsep.engine.data_kinds import Dense
    >>> from linsep.solvers.logistic.objective import problem_of
    >>> table = Dense(np.array([[3.0], [4.0]]), bias=0.0)
    >>> lipschitz(problem_of(table, np.array([0, 1]), np.empty(0), classes=2, prior_variance=None))
    6.25
    """
    data, jobs = problem.data, problem.jobs
    counts = problem.row_weights[:, None] if len(problem.row_weights) else np.ones((data.n_rows, 1))
    trace = float(times_transposed(data, counts, jobs, squares=True).sum())
    way = np.random.default_rng(0).uniform(0.5, 1.0, (data.n_features + 1, 1))
    largest = 0.0
    for _ in range(ROUNDS if trace > 0 else 0):
        scores, product = sweep(data, way / np.linalg.norm(way), lambda moved, lo, hi: counts[lo:hi] * moved, jobs)
        largest = max(largest, float((counts * scores**2).sum()))
        height = np.abs(product).max()
        if height == 0.0:
            break
        way = product / height
    share = 0.5 if problem.multinomial else 0.25
    bound = share * min(MARGIN * largest, trace) + float(problem.penalty.max(initial=0.0))
    return bound if bound > 0 else 1.0
