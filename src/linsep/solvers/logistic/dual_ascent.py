"""Dual coordinate ascent for logistic regression on sparse rows.

The dual has one number in [0, 1] for each row and column: the probability a of the wrong class (multinomial: a
distribution over the classes for each row). The weights are σ² Σ c y a x over all rows (multinomial: for class k,
σ² Σ c ([y = k] - a_k) x). A visit to a row makes a = s(-y w.x) true for the weights after the visit, by Newton's
method, and moves them along x: one read of the row, as in a perceptron's pass, but with the step that is best for the
dual.
"""

from math import exp, inf
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr
from linsep.engine.multimethods import inlined
from linsep.engine.native import prefetch, unsigned
from linsep.engine.tiers import tiered
from linsep.solvers.logistic.objective import LogisticProblem
from linsep.solvers.products import freeze, times, times_transposed

AHEAD = 8
"""Number of rows that the pass prefetches."""
EASE = 0.1
"""See :class:`Ascent`."""
NEAR = 0.1
"""A row is solved when Newton's method began its last step this near: the step has squared what is left."""
STIFF = 300.0
"""Mean σ² c ||x||² up to which dual ascent is tried: the epochs that it needs grow with this number."""
PATIENCE = 20
"""It continues while the gap falls so fast that this many more epochs will do."""
LEAST = 4
"""Epochs after which its speed is judged."""
LARGEST = 709.782712893384
"""exp of more is beyond float64."""


class Ascent:
    """The state of the ascent: `weights`, and `wrong`, the dual's numbers, (rows, columns).

    A free bias is held by a prior too, but around the bias of the epoch before: where it comes to rest, nothing holds
    it. That prior's variance is `EASE` times what the features of a row have together: the bias, which all rows
    share, then makes no visit shorter.
    """

    def __init__(
        self, data: Csr, codes: Array, row_weights: Array, columns: int, multinomial: bool, variance: float,
        free_bias: bool = False,
    ) -> None:  # fmt: skip
        self.weights = np.zeros((data.features + 1, columns))
        self.wrong = np.zeros((len(codes), columns))
        if multinomial:
            self.wrong[np.arange(len(codes)), codes] = 1.0
        bias_move = data.bias
        if free_bias:
            bias_move = EASE * float(np.vdot(data.values, data.values)) / max(1, len(codes)) / data.bias
        labels = (freeze(codes, np.int32), freeze(row_weights))
        self._problem = (data.values, data.indices, data.indptr, data.bias, bias_move, *labels, variance)
        self._multinomial = multinomial
        self._random = np.random.default_rng(0)
        self._free_bias = free_bias
        self._centre = np.zeros(columns)

    def epoch(self) -> None:
        """Visit every row once, in a random order that is the same in every run."""
        order, columns = self._random.permutation(len(self.wrong)), self.weights.shape[1]
        if columns == 1:
            visit_rows(self._problem, order, self.weights.reshape(-1), self.wrong.reshape(-1))
        else:
            visit_rows_of_classes(
                self._problem, order, self.weights, self.wrong, self._multinomial, *np.empty((4, columns))
            )
        if self._free_bias:
            pull = self.weights[-1] - self._centre
            self._centre = self.weights[-1].copy()
            self.weights[-1] += pull


def _work(problem: Any, order: Array, weights: Array, *others: Any) -> int:
    return (4 * len(problem[0]) + 64 * len(order)) * (weights.size // len(weights))


@inlined
def fetch_ahead(values: Array, indices: Array, indptr: Array, order: Array, p: int) -> None:
    """Prefetch a row that will be visited soon."""
    if p + 2 * AHEAD < order.shape[0]:
        prefetch(indptr, order[p + 2 * AHEAD])
        ahead = order[p + AHEAD]
        for k in range(indptr[ahead], indptr[ahead + 1], 16):
            prefetch(values, k)
            prefetch(indices, k)


@tiered(_work)
def visit_rows(problem: Any, order: Array, weights: Array, wrong: Array) -> None:
    """Visit the rows of a problem of two classes in an order; change `weights` and `wrong`."""
    values, indices, indptr, bias, bias_move, codes, row_weights, variance = problem
    last = weights.shape[0] - 1
    for p in range(order.shape[0]):
        fetch_ahead(values, indices, indptr, order, p)
        i = order[p]
        c = row_weights[i] if row_weights.shape[0] > 0 else 1.0
        if c == 0.0:
            continue
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        norm = bias * bias_move
        score = weights[last] * bias
        for k in range(start, stop):
            v = np.float64(values[k])
            score += weights[unsigned(indices[k])] * v
            norm += v * v
        y = 2.0 * codes[i] - 1.0
        a = solve_row(wrong[i], y * score, norm * variance * c)
        amount = variance * c * y * (a - wrong[i])
        wrong[i] = a
        for k in range(start, stop):
            weights[unsigned(indices[k])] += amount * values[k]
        weights[last] += amount * bias_move


@tiered(_work)
def visit_rows_of_classes(
    problem: Any, order: Array, weights: Array, wrong: Array, multinomial: bool, z: Array, u: Array, new: Array,
    move: Array,
) -> None:  # fmt: skip
    """Visit the rows of a problem of many classes in an order; change `weights` and `wrong`.

    Work space: `z`, `u`, `new` and `move`, of one entry for each class.
    """
    values, indices, indptr, bias, bias_move, codes, row_weights, variance = problem
    last, columns = weights.shape[0] - 1, weights.shape[1]
    for p in range(order.shape[0]):
        fetch_ahead(values, indices, indptr, order, p)
        i = order[p]
        c = row_weights[i] if row_weights.shape[0] > 0 else 1.0
        if c == 0.0:
            continue
        start, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        norm = bias * bias_move
        for m in range(columns):
            z[m] = weights[last, m] * bias
        for k in range(start, stop):
            j, v = unsigned(indices[k]), np.float64(values[k])
            norm += v * v
            for m in range(columns):
                z[m] += weights[j, m] * v
        if multinomial:
            solve_classes(wrong, i, z, norm * variance * c, u, new, move)
            for m in range(columns):
                move[m] = variance * c * (wrong[i, m] - new[m])
                wrong[i, m] = new[m]
        else:
            for m in range(columns):
                y = 1.0 if codes[i] == m else -1.0
                a = solve_row(wrong[i, m], y * z[m], norm * variance * c)
                move[m] = variance * c * y * (a - wrong[i, m])
                wrong[i, m] = a
        for k in range(start, stop):
            j, v = unsigned(indices[k]), np.float64(values[k])
            for m in range(columns):
                weights[j, m] += move[m] * v
        for m in range(columns):
            weights[last, m] += move[m] * bias_move


@inlined
def power(x: float) -> float:
    """Return exp(x); infinity where Python raises an OverflowError."""
    return inf if x > LARGEST else exp(x)


@inlined
def solve_row(a: float, margin: float, q: float) -> float:
    """Return s(u) for u + margin + q (s(u) - a) = 0, nearly: Newton's steps, each halved until it helps."""
    u = -margin
    t = 1.0 / (1.0 + power(margin))
    h = q * (t - a)
    for _ in range(8):
        before = abs(h)
        step = h / (1.0 + q * t * (1.0 - t))
        for _ in range(30):
            t = 1.0 / (1.0 + power(step - u))
            h = u - step + margin + q * (t - a)
            if abs(h) <= before:
                break
            step *= 0.5
        u -= step
        if before < NEAR:
            break
    return t


@inlined
def solve_classes(a: Array, i: int, z: Array, q: float, u: Array, new: Array, move: Array) -> None:
    """Solve u = z + q (a_i - softmax(u)) nearly, as :func:`solve_row` does, and write softmax(u) to `new`."""
    classes = z.shape[0]
    for k in range(classes):
        u[k], move[k] = z[k], 0.0
    softmax(u, move, new)
    before = 0.0
    for k in range(classes):
        before = max(before, q * abs(new[k] - a[i, k]))
    for _ in range(8):
        # (I + q (diag(a) - a aᵀ)) move = h, by the formula for a diagonal plus a matrix of rank one.
        along = spread = 0.0
        for k in range(classes):
            stiff = 1.0 + q * new[k]
            move[k] = (u[k] - z[k] + q * (new[k] - a[i, k])) / stiff
            along += new[k] * move[k]
            spread += new[k] / stiff
        for k in range(classes):
            move[k] += q * new[k] / (1.0 + q * new[k]) * along / spread
        after = 0.0
        for _ in range(30):
            softmax(u, move, new)
            after = 0.0
            for k in range(classes):
                after = max(after, abs(u[k] - move[k] - z[k] + q * (new[k] - a[i, k])))
            if after <= before:
                break
            for k in range(classes):
                move[k] *= 0.5
        for k in range(classes):
            u[k] -= move[k]
        if before < NEAR:
            break
        before = after


@inlined
def softmax(u: Array, move: Array, out: Array) -> None:
    """Write the softmax of u - move to `out`."""
    top = u[0] - move[0]
    for k in range(1, u.shape[0]):
        top = max(top, u[k] - move[k])
    total = 0.0
    for k in range(u.shape[0]):
        out[k] = exp(u[k] - move[k] - top)
        total += out[k]
    for k in range(u.shape[0]):
        out[k] /= total


class AscentResult(NamedTuple):
    """Weights to begin with, what is known of them, and how they were found."""

    weights: Array
    gap: float
    """f - min f is at most this; infinite where that is not known."""
    history: list[float]
    epochs: int


def approach(problem: LogisticProblem, weights: Array, tol: float, max_iter: int) -> AscentResult:
    """Return the best weights found by dual ascent until its gap is at most `tol` f, or no longer falls quickly.

    Without a prior, on a table, or with rows too long for the prior, `weights` are returned unchanged.
    """
    data, counts, columns = problem.data, problem.row_weights, len(problem.positives)
    best = AscentResult(weights, np.inf, [], 0)
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
        value, left, gap = judge(problem, found, ascent.wrong, tol)
        if not best.history or value < -best.history[-1]:
            best = AscentResult(found, gap, [*best.history, -value], epochs)
        if left <= tol * value:
            break
        remaining = _epochs_to(tol * value, left, before, epochs - last)
        if epochs >= LEAST and remaining > PATIENCE:
            break
        before, last, check = left, epochs, epochs + max(1, int(min(remaining, PATIENCE) / 2))
    return best


def judge(problem: LogisticProblem, weights: Array, wrong: Array, tol: float) -> tuple[float, float, float]:
    """Return f, how far the ascent has to go, and a bound on f - min f; a free bias is moved to its best first.

    The bound is the duality gap: the relative entropy of the dual's probabilities to the model's, plus
    ||w - σ² Σ c y a x||² / (2 σ²), which the ascent keeps at 0 but for a free bias and rounding. This costs a read of
    the data: where the first part alone is above `tol` f, it states how far there is to go, and the bound is infinite.
    """
    scores = times(problem.data, weights, problem.jobs)
    seen = problem.evaluate(scores)
    if problem.free_bias:
        seen = problem.settle_bias(weights, scores, seen)
        wrong = _balanced(problem, wrong)
    value = float((seen.losses + problem.prior(weights)).sum())
    left = max(_divergence(problem, wrong, scores), 0.0)  # rounding may leave less than 0
    if left > tol * value:
        return value, left, np.inf
    own = problem.residuals(wrong, problem.targets())
    away = problem.penalty * weights - times_transposed(problem.data, own, problem.jobs)
    held = problem.penalty[:, 0] > 0
    gap = left + float((away[held] ** 2 / problem.penalty[held]).sum()) / 2
    if problem.free_bias and not problem.balanced(own).all():
        return value, gap, np.inf
    return value, gap, gap


def _epochs_to(goal: float, gap: float, before: float, epochs: int) -> float:
    """Return how many more epochs the gap needs to the goal, as fast as it fell in the last ones."""
    if not gap < before:
        return np.inf
    return float(epochs * np.log(gap / goal) / np.log(before / gap)) if np.isfinite(before) else LEAST


def _stiffness(problem: LogisticProblem, data: Csr) -> float:
    norm = float(np.vdot(data.values, data.values)) / max(1, len(problem.codes)) + data.bias**2
    counts = float(problem.row_weights.mean()) if len(problem.row_weights) else 1.0
    return norm * counts / float(problem.penalty[0, 0])


def _balanced(problem: LogisticProblem, wrong: Array) -> Array:
    """Return dual numbers near these whose residuals sum to 0 in each column, as a free bias asks for.

    Each is changed by a small share of itself; NaN where no small share will do.
    """
    counts, targets = problem.counts, problem.targets()
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


def _divergence(problem: LogisticProblem, wrong: Array, scores: Array) -> float:
    """Return the relative entropy of the dual's probabilities to the model's, summed over all rows."""
    counts = problem.counts
    if np.isnan(wrong).any():
        return np.inf
    if problem.multinomial:
        return float((counts * special.rel_entr(wrong, special.softmax(scores, axis=1))).sum())
    margins = np.where(problem.targets(), scores, -scores)
    pairs = special.rel_entr(wrong, special.expit(-margins)) + special.rel_entr(1.0 - wrong, special.expit(margins))
    return float((counts * pairs).sum())
