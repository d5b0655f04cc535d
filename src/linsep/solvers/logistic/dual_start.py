"""Come near the optimum of logistic regression by dual ascent, as long as that is quicker than Newton's method."""

from typing import NamedTuple

import numpy as np
from scipy import special

from linsep.core.arrays import Array
from linsep.core.examples import Csr
from linsep.solvers.logistic.dual_ascent import Ascent
from linsep.solvers.logistic.objective import Logistic, balanced, look, prior, residuals_of, settle_bias
from linsep.solvers.products import times, times_transposed

STIFF = 300.0
"""Mean σ² c ||x||² up to which dual ascent is tried: the epochs that it needs grow with this number."""
PATIENCE = 20
"""It goes on while the gap falls so fast that this many more epochs will do."""
LEAST = 4
"""Epochs after which its speed is judged."""


class Start(NamedTuple):
    """Weights to begin with, what is known of them, and how they were found."""

    weights: Array
    gap: float
    """f - min f is at most this; infinite where that is not known."""
    history: list[float]
    epochs: int


def approach(problem: Logistic, weights: Array, tol: float, max_iter: int) -> Start:
    """Return the best weights found by dual ascent until its gap is at most `tol` f, or no longer falls quickly.

    Where it is of no use, that is without a prior, on a table or with rows too long for the prior, `weights` come back.
    """
    data, counts, columns = problem.data, problem.row_weights, len(problem.positives)
    best = Start(weights, np.inf, [], 0)
    if not isinstance(data, Csr) or not problem.penalty[:-1].any() or _stiffness(problem, data) > STIFF:
        return best
    variance = float(1.0 / problem.penalty[0, 0])
    ascent = Ascent(data, problem.codes, counts, columns, problem.multinomial, variance, problem.free_bias)
    before, last, check = np.inf, 0, 2  # the first epoch never suffices
    for epochs in range(1, max_iter + 1):
        ascent.epoch()
        best = best._replace(epochs=epochs)
        if epochs < check and epochs < max_iter:
            continue
        found = ascent.weights.copy()
        value, left, gap = judged(problem, found, ascent.wrong, tol)
        if not best.history or value < -best.history[-1]:
            best = Start(found, gap, [*best.history, -value], epochs)
        if left <= tol * value:
            break
        remaining = _epochs_to(tol * value, left, before, epochs - last)
        if epochs >= LEAST and remaining > PATIENCE:
            break
        before, last, check = left, epochs, epochs + max(1, int(min(remaining, PATIENCE) / 2))
    return best


def judged(problem: Logistic, weights: Array, wrong: Array, tol: float) -> tuple[float, float, float]:
    """Return f, how far the ascent has to go, and a bound on f - min f; a free bias is moved to its best first.

    The bound is the duality gap: the relative entropy of the dual's probabilities to the model's, plus
    ||w - σ² Σ c y a x||² / (2 σ²), which the ascent keeps at 0 but for a free bias and rounding. This costs a read of
    the data: where the first part alone is above `tol` f, it tells how far there is to go, and the bound is infinite.
    """
    scores = times(problem.data, weights, problem.jobs)
    seen = look(problem, scores)
    if problem.free_bias:
        seen = settle_bias(problem, weights, scores, seen)
        wrong = _balanced(problem, wrong)
    value = float((seen.losses + prior(problem, weights)).sum())
    left = _divergence(problem, wrong, scores)
    if left > tol * value:
        return value, left, np.inf
    own = residuals_of(problem, wrong, problem.targets())
    away = problem.penalty * weights - times_transposed(problem.data, own, problem.jobs)
    held = problem.penalty[:, 0] > 0
    gap = left + float((away[held] ** 2 / problem.penalty[held]).sum()) / 2
    if problem.free_bias and not balanced(problem, own).all():
        return value, gap, np.inf
    return value, gap, gap


def _epochs_to(goal: float, gap: float, before: float, epochs: int) -> float:
    """Return how many more epochs the gap needs to the goal, as fast as it fell in the last ones."""
    if not gap < before:
        return np.inf
    return float(epochs * np.log(gap / goal) / np.log(before / gap)) if np.isfinite(before) else LEAST


def _stiffness(problem: Logistic, data: Csr) -> float:
    norm = float(np.vdot(data.values, data.values)) / max(1, len(problem.codes)) + data.bias**2
    counts = float(problem.row_weights.mean()) if len(problem.row_weights) else 1.0
    return norm * counts / float(problem.penalty[0, 0])


def _balanced(problem: Logistic, wrong: Array) -> Array:
    """Return dual numbers near these whose residuals sum to 0 in each column, as a free bias asks for.

    Each is changed by a small share of itself; NaN where no small share will do.
    """
    counts = problem.row_weights[:, None] if len(problem.row_weights) else np.ones((len(wrong), 1))
    targets = problem.targets()
    if problem.multinomial:
        weighted = counts * wrong
        excess = (counts * targets).sum(axis=0) - weighted.sum(axis=0)
        turn = np.linalg.lstsq(np.diag(weighted.sum(axis=0)) - weighted.T @ wrong, excess)[0]
        factor = 1.0 + turn - (wrong @ turn)[:, None]
        return np.where(factor.min(initial=1.0) > 0, wrong * factor, np.nan)
    signs = np.where(targets, 1.0, -1.0)
    excess = (counts * signs * wrong).sum(axis=0)
    room = (counts * wrong * (1.0 - wrong)).sum(axis=0)
    turn = excess / np.maximum(room, np.finfo(float).tiny)
    return np.where(np.abs(turn).max() < 1, wrong * (1.0 - signs * turn * (1.0 - wrong)), np.nan)


def _divergence(problem: Logistic, wrong: Array, scores: Array) -> float:
    """Return the relative entropy of the dual's probabilities to the model's, summed over all rows."""
    counts = problem.row_weights[:, None] if len(problem.row_weights) else 1.0
    if np.isnan(wrong).any():
        return np.inf
    if problem.multinomial:
        return float((counts * special.rel_entr(wrong, special.softmax(scores, axis=1))).sum())
    margins = np.where(problem.targets(), scores, -scores)
    pairs = special.rel_entr(wrong, special.expit(-margins)) + special.rel_entr(1.0 - wrong, special.expit(margins))
    return float((counts * pairs).sum())
