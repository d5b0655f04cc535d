"""The soft margin: linear support vector machines with hinge or squared hinge loss and their duality gap.

    minimise P(w) = ½ ||w||² + sum of C_i loss(1 - y_i w·x_i),     loss(t) = max(0, t) or max(0, t)²,     C_i = C c_i

    maximise D(a) = sum of a_i - ½ ||sum of a_i y_i x_i||² - [squared hinge] sum of a_i² / (4 C_i),
             0 <= a_i <= C_i, or a_i >= 0 for the squared hinge

For any w and any such a, D(a) <= P(w). The solution is w = sum of a_i y_i x_i. Its gap (P - D) / P bounds the distance
from the best objective. All sums of the gap are computed again, row by row, free of the rounding of the search.

The constant feature is a feature like any other, its weight v a part of ||w||, unless the bias is free: then the dual
has one more condition, sum of a_i y_i = 0. Either way v would follow each single step, and a pass would be spent on its
trembling. So the search holds v back: it minimises P + m/2 (v - v_0)², with m so large that v follows the mean of some
thousand rows, and moves v_0 on after each pass (the method of multipliers; v_0 goes farther where it keeps going one
way). For the proof, what the sum of a_i y_i lacks is taken from the variables between their bounds, which the dual does
not feel at its best point. A free bias is the best one for the weights found.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, solve

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread
from linsep.solvers.margin.coordinate_descent import GONE, NEIGHBOURS, STILL, one_pass, pull_of, squared_norms
from linsep.solvers.margin.hull import rounding_of
from linsep.solvers.products import (
    as_table,
    blocks,
    freeze,
    largest_entry,
    read_only,
    times,
    times_transposed,
)
from linsep.validation.errors import InvalidDataError

TAME = 200
"""Numbers between 2**-TAME and 2**TAME have squares of squares, and sums of them, that floats hold."""
STEPS = 30
"""Steps, at most."""
HALVES = 10
"""Times that a step is halved, at most."""
KEPT = 0.25
"""Rows at a bound are left out of the passes if their slope is above this share of the largest violation."""
EARLY = 1.2
"""The estimate of the gap, as a multiple of that asked for, at which the true one is computed: it is a little late."""
LONGEST = 5
"""Passes between two proofs that the search is not over, at most: each fails a pass later than the one before."""
SWIFT = 1000.0
"""Rows whose steps together move the bias freely."""
ALONE = 20
"""Passes before the search begins to extrapolate."""
TOGETHER = 5
"""Passes in one order whose limit is guessed."""
RISE = 4.0
"""The factor between two costs on the way up."""
MOST_COSTS = 40
"""Costs on the way, at most."""
EASY = 0.01
"""The estimated gap at which a cost on the way is left behind."""
PATIENCE = 100
"""Passes at one cost on the way, at most."""
TINY = float(np.finfo(np.float64).tiny)
"""Rows that cost less than any normal number are absent."""


def tame(data: Dense | Csr) -> tuple[Dense | Csr, int]:
    """Return the data, or a copy of them times 2**-exponent where floats would lose their squares; and the exponent.

    >>> tame(Dense(np.array([[2.0**1000]]), bias=0.0))
    (Dense(values=array([[0.5]]), bias=0.0), 1001)
    >>> tame(Dense(np.array([[3.0]]), bias=0.0))
    (Dense(values=array([[3.]]), bias=0.0), 0)
    """
    largest = largest_entry(data)
    exponent = math.frexp(largest)[1]
    if largest == 0.0 or abs(exponent) <= TAME:
        return data, 0
    values = np.ldexp(data.values.astype(np.float64), -exponent)
    return data._replace(values=freeze(values), bias=math.ldexp(data.bias, -exponent)), exponent


def best_bias(scores: Array, signs: Array, costs: Array, soft: bool) -> float:
    """Return the b at which the sum of C_i loss(1 - y_i (s_i + b)) is least; the middle one of many for the hinge.

    The loss of row i bends at b = y_i - s_i: that of a positive row falls to the left of it, that of a negative row
    rises to the right of it. Between two bends, the sum is linear or quadratic.

    >>> best_bias(np.array([3.0, 0.0]), np.array([1.0, -1.0]), np.array([1.0, 1.0]), soft=False)
    -1.5
    """
    if not len(scores):
        return 0.0
    order = np.argsort(signs - scores, kind="stable")
    bends, positive, costs = (signs - scores)[order], signs[order] > 0.0, costs[order]

    def beside(amounts: Array) -> tuple[Array, Array]:
        """Sum the amounts of negative rows to the left and of positive rows to the right of each stretch."""
        left = np.append(0.0, np.cumsum(np.where(positive, 0.0, amounts)))
        right = np.append(np.cumsum(np.where(positive, amounts, 0.0)[::-1])[::-1], 0.0)
        return left, right

    left, right = beside(costs)
    if soft:
        weight, moment = left + right, np.add(*beside(costs * bends))
        k = int(np.argmax(np.append(weight[1:] * bends >= moment[1:], True)))
        ends = bends[max(k - 1, 0)] if k else -np.inf, bends[k] if k < len(bends) else np.inf
        return float(np.clip(moment[k] / weight[k], *ends)) if weight[k] > 0.0 else float(bends[min(k, len(bends) - 1)])
    rounding = 1e-12 * float(np.sum(costs))
    k = int(np.argmax(left - right >= -rounding))
    ends = bends[max(k - 1, 0)], bends[min(k, len(bends) - 1)]
    return float(ends[0] + ends[1]) / 2.0 if left[k] - right[k] <= rounding else float(ends[0])


def minimise(data: Dense | Csr, signs: Array, cost: float, weights: Array, jobs: int = 1) -> tuple[Array, int]:
    """Minimise P with squared slacks by Newton's method from `weights`; return w and the steps; all features are alike.

    P(w) = ½ ||w||² + C ||(1 - Z w)+||² is a quadratic as long as the same rows have slacks. A step goes to the minimum
    of the present one, (1 + 2C Z_Iᵀ Z_I) w = 2C Z_Iᵀ 1 over the rows I with slacks, or to the best of its halves.

    >>> X = Dense(np.array([[1.0], [3.0]]), bias=0.0)
    >>> minimise(X, np.array([1.0, 1.0]), 2.0, np.zeros(2))
    (array([0.8, 0. ]), 2)
    """

    def slacks_of(w: Array) -> Array:
        return np.maximum(1.0 - signs * times(data, w[:, None], jobs)[:, 0], 0.0)

    def objective(w: Array, slacks: Array) -> float:
        return 0.5 * float(w @ w) + cost * float(slacks @ slacks)

    slacks = slacks_of(weights)
    before = objective(weights, slacks)
    steps = 0
    while steps < STEPS:
        steps += 1
        square, total = _sums(data, signs, slacks > 0.0)
        try:
            target = solve(np.eye(len(square)) + 2.0 * cost * square, 2.0 * cost * total, assume_a="pos")
        except LinAlgError:
            break
        for halved in range(HALVES):
            w = weights + 0.5**halved * (target - weights)
            lower = objective(w, rest := slacks_of(w))
            if lower < before:
                break
        else:
            break
        same = halved == 0 and np.array_equal(rest > 0.0, slacks > 0.0)
        weights, slacks, before = w, rest, lower
        if same:
            break
    return weights, steps


def _sums(data: Dense | Csr, signs: Array, chosen: Array) -> tuple[Array, Array]:
    """Return Z_Iᵀ Z_I and Z_Iᵀ 1."""
    size = data.n_features + 1
    square, total = np.zeros((size, size)), np.zeros(size)
    for lo, hi in blocks(data):
        rows, y = np.flatnonzero(chosen[lo:hi]), signs[lo:hi][chosen[lo:hi]]
        part = as_table(data.slice(lo, hi).take(rows)).astype(np.float64, copy=False)
        part = np.column_stack([part, np.full(len(rows), data.bias)])
        square += part.T @ part
        total += y @ part
    return square, total


class SoftMargin(NamedTuple):
    """The weights of a soft margin, and the proof of their quality."""

    weights: Array
    """(features + 1,): w; the last entry is the constant feature's: the intercept is weights[-1] * bias."""
    dual: Array
    """(rows,): a, with sum of a_i y_i x_i equal to the weights (all but the last where the bias is free)."""
    primal: float
    """P(w)."""
    dual_objective: float
    """D(a): no weights have a lower objective."""
    gap: float
    """(P - D) / P; 0 where P is 0."""
    iterations: int
    """Passes made over the rows that were not left out."""
    converged: bool
    """True if the gap is as small as asked for."""
    rounding: float
    """The most by which rounding may change a score: weights whose y_i w·x_i are all above it separate the rows."""


@one_blas_thread()
@np.errstate(over="ignore", invalid="ignore")
def soft_margin(
    data: Dense | Csr, signs: Array, row_weights: Array, *, C: float, loss: Literal["l1", "l2"], tol: float = 1e-3,
    max_iter: int = 1000, seed: int = 0, penalize_bias: bool = True, jobs: int = 1,
) -> SoftMargin:  # fmt: skip
    """Find the soft margin by dual coordinate descent.

    Parameters
    ----------
    data, signs, row_weights, seed, jobs
        As for all solvers: see :mod:`linsep.solvers`; the row weights are c.
    C : float
        The cost of a unit of loss, above 0.
    loss : {"l1", "l2"}
        The hinge, or its square.
    tol : float, default=1e-3
        The gap (P - D) / P at which to stop.
    max_iter : int, default=1000
        The most passes.
    penalize_bias : bool, default=True
        If True, the constant feature's weight is a part of ||w||; else the bias is free.

    >>> X = Dense(np.array([[2.0, 0.0], [3.0, 1.0], [0.0, 0.0]]), bias=1.0)
    >>> found = soft_margin(X, np.array([1, 1, -1]), np.zeros(0), C=10.0, loss="l1", tol=1e-9, penalize_bias=False)
    >>> found.weights, found.dual, found.primal
    (array([ 1.,  0., -1.]), array([0.5, 0. , 0.5]), 0.5)
    """
    if not 0.0 < C < np.inf:
        why = "the cost of a unit of loss is a number above 0; use the hard margin for no loss at all"
        raise ValueError(f"C is {C!r}: {why}")
    if loss not in ("l1", "l2"):
        raise ValueError(f"loss is {loss!r}: use 'l1' for the hinge or 'l2' for its square")
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: at least one pass is needed")
    if not math.isfinite(C * float(np.sum(row_weights) if len(row_weights) else data.n_rows)):
        raise _too_large(C, row_weights)
    descent = SoftDescent(data, signs, row_weights, loss, penalize_bias, jobs)
    rng = np.random.default_rng(seed)
    passes = failures = due = 0
    for cost in descent.costs_up_to(C):
        descent.set_cost(cost)
        began, ready = passes, False
        while cost < C and not ready and passes < max_iter // 2:
            estimate, spent = descent.one_round(rng, passes - began, max_iter // 2 - passes)
            passes += spent
            ready = estimate <= EASY or passes - began >= PATIENCE or not len(descent.rows)
    began = passes
    while True:
        estimate, spent = descent.one_round(rng, passes - began, max_iter - passes)
        passes += spent
        if passes == max_iter or not len(descent.rows) or (estimate <= EARLY * tol and passes >= due):
            found = descent.proof()
            if not math.isfinite(found.primal) or not math.isfinite(found.dual_objective):
                raise _too_large(C, row_weights)
            if found.gap <= tol or passes == max_iter or not descent.recall():
                return found._replace(iterations=passes, converged=found.gap <= tol)
            failures = min(failures + 1, LONGEST)
            due = passes + failures


class SoftDescent:
    """The search: dual variables, weights and the rows that are still visited."""

    def __init__(
        self, data: Dense | Csr, signs: Array, row_weights: Array, loss: str, penalize_bias: bool, jobs: int
    ) -> None:
        n = data.n_rows
        self.data, self.jobs, self.soft = read_only(data), jobs, loss == "l2"
        self.free = data.bias != 0.0 and not penalize_bias
        self.signs = freeze(signs)
        self.row_weights = np.asarray(row_weights, np.float64) if len(row_weights) else np.ones(n)
        self.norms = squared_norms(self.data)
        if not np.all(np.isfinite(self.norms)):
            i = int(np.argmin(np.isfinite(self.norms)))
            what = f"row {i} has an entry that is not a number, or too large to be squared"
            raise InvalidDataError(f"{what}: scale the columns")
        self.dual = np.zeros(n)
        self.weights = np.zeros(data.n_features + 1)
        self.cost = 0.0

    def costs_up_to(self, C: float) -> list[float]:
        """Return costs that lead up to C, from one at which a common row needs few steps.

        The variables of rows within the margin are as large as the cost, and a step is no larger than 1 / ||x||²: the
        solution at a lower cost, scaled up, saves them the way.
        """
        present = self.row_weights > 0.0
        if not present.any():
            return [C]
        common = float(np.mean(self.norms[present])) + (0.0 if self.free else self.data.bias**2)
        common *= float(np.mean(self.row_weights[present]))
        costs = [C]
        while costs[-1] * common > RISE and len(costs) < MOST_COSTS:
            costs.append(costs[-1] / RISE)
        return costs[::-1]

    def set_cost(self, C: float) -> None:
        """Set the cost of a unit of loss, and scale the variables up as far as the dual gains by it."""
        n = len(self.dual)
        self.costs = freeze(C * self.row_weights)
        self.present = self.costs >= TINY
        self.tops = np.full(n, np.inf) if self.soft else self.costs
        self.diagonal = np.divide(0.5, self.costs, out=np.zeros(n), where=self.present & self.soft)
        self.pull = self._pull()
        self.squares = freeze(self.norms + self.pull * self.data.bias)
        if self.cost > 0.0:
            total, quadratic = self.terms(self.weights[:-1] if self.free else self.weights, self.dual)
            scale = min(C / self.cost, total / quadratic) if quadratic > 0.0 else 1.0
            self.weights *= scale
            self.dual = np.minimum(self.dual * scale, self.tops)
        self.rows = np.flatnonzero(self.present)
        self.low, self.high = -np.inf, np.inf
        self.off, self.stride = 0.0, 1.0
        self.cost = C

    def _pull(self) -> float:
        """Return by how much a step of size 1 moves the constant feature's weight."""
        bias, count = self.data.bias, int(np.count_nonzero(self.present))
        if bias == 0.0 or count == 0:
            return bias
        common = float(np.mean(self.norms[self.present])) + 1.0 / float(np.mean(self.costs[self.present]))
        return pull_of(bias, common, count, SWIFT, self.free)

    def one_round(self, rng: np.random.Generator, before: int, budget: int) -> tuple[float, int]:
        """Visit the rows once or, after many passes, a few times in one order, and extrapolate.

        Returns an estimate of the gap as it was on the way, and the passes made.
        """
        blocks = rng.permutation(-(-len(self.rows) // NEIGHBOURS))
        count = min(TOGETHER, budget) if before >= ALONE else 1
        rows, path = self.rows.copy(), []
        for k in range(1, count + 1):
            if count > 1:
                path.append(self.dual[rows])
            gap, least, most, moved = self._pass(blocks, leave_out=k == count)
        self.rows = self.rows[self.rows != GONE] if moved else self.rows[:0]
        self.low = KEPT * least if least < 0.0 else -np.inf
        self.high = KEPT * most if most > 0.0 else np.inf
        last = self.weights[-1]
        off = self.data.bias * float(np.sum(self.dual * self.signs)) - (0.0 if self.free else last)
        dual_objective = self._dual_objective(self.weights[:-1], self.dual)
        dual_objective -= last * (off + (0.0 if self.free else 0.5 * last))
        if count == TOGETHER:
            self._extrapolate(rows, np.array([*path, self.dual[rows]]))
        if self.pull != self.data.bias:
            self._move_bias()
        return relative(dual_objective + gap, dual_objective), count

    def _pass(self, blocks: Array, leave_out: bool) -> tuple[float, float, float, int]:
        return one_pass(Csr if isinstance(self.data, Csr) else Dense)(
            tuple(self.data), self.signs, self.costs, self.squares, self.dual, self.weights, self.rows, blocks,
            self.soft, self.pull, self.low if leave_out else -np.inf, self.high if leave_out else np.inf,
        )  # fmt: skip

    def _move_bias(self) -> None:
        """Move what the bias is drawn to, farther where it keeps going one way."""
        bias = self.data.bias
        off = bias * float(np.sum(self.dual * self.signs)) - (0.0 if self.free else self.weights[-1])
        self.stride = 2.0 * self.stride if off * self.off > 0.0 and abs(off) > 0.5 * abs(self.off) else 1.0
        self.weights[-1] += self.stride * self.pull / bias * off
        self.off = off

    def _extrapolate(self, rows: Array, path: Array) -> None:
        """Extrapolate the passes by a linear recurrence (Anderson), if the dual is larger there."""
        steps = np.diff(path, axis=0)
        gram = np.einsum("ki,li->kl", steps, steps)
        size = float(np.trace(gram))
        if size == 0.0:
            return
        shares = np.linalg.solve(gram / size + 1e-10 * np.eye(len(gram)), np.ones(len(gram)))
        shares /= np.sum(shares)
        dual = self.dual.copy()
        dual[rows] = np.clip(np.einsum("k,ki->i", shares, path[1:]), 0.0, self.tops[rows])
        weights = self.summed(dual)
        moved = float(np.sum((dual - self.dual) * self.signs))
        weights[-1] = self.weights[-1] + self.pull * moved
        gain = self._dual_objective(weights[:-1], dual) - self._dual_objective(self.weights[:-1], self.dual)
        gain -= moved * self.data.bias * (self.weights[-1] + weights[-1]) / 2.0
        if gain > 0.0:
            self.dual, self.weights = dual, weights

    def proof(self) -> SoftMargin:
        """Recompute all sums and the gap."""
        dual = self.dual if self.pull == self.data.bias else self._balanced()
        weights = self.summed(dual)
        if self.free:
            weights[-1] = 0.0
        half_square = 0.5 * float(np.sum(np.square(weights)))
        scores = self.scores(weights)
        if self.free:
            bias = best_bias(scores[self.present], self.signs[self.present], self.costs[self.present], self.soft)
            weights[-1] = bias / self.data.bias
            scores += bias
        losses = np.maximum(1.0 - self.signs * scores, 0.0)
        primal = half_square + float(np.sum(self.costs * (np.square(losses) if self.soft else losses)))
        dual_objective = self._dual_objective(weights[:-1] if self.free else weights, dual)
        gap = relative(primal, dual_objective)
        return SoftMargin(weights, dual, primal, dual_objective, gap, 0, False, self._rounding(weights))

    def recall(self) -> bool:
        """Let all rows be visited whose variables lie between their bounds or want to; state whether any can move."""
        last = self.weights[-1]
        self.weights = self.summed(self.dual)
        if self.pull != self.data.bias:
            self.weights[-1] = last
        slopes = self.signs * self.scores(self.weights) - 1.0 + self.diagonal * self.dual
        wanting = np.where(slopes > 0.0, self.dual > 0.0, self.dual < self.tops) & (np.abs(slopes) > STILL)
        between = (self.dual > 0.0) & (self.dual < self.tops)
        self.rows = np.flatnonzero((wanting | between) & self.present)
        self.low, self.high = -np.inf, np.inf
        return bool(np.any(wanting[self.rows])) or self.pull != self.data.bias

    def summed(self, dual: Array) -> Array:
        """Return the sum of a_i y_i x_i."""
        return times_transposed(self.data, (dual * self.signs)[:, None], self.jobs)[:, 0]

    def _rounding(self, weights: Array) -> float:
        """Return the most by which rounding may change a score."""
        radius = math.hypot(math.sqrt(float(np.max(self.norms, initial=0.0))), self.data.bias)
        return rounding_of(self.data, radius) * float(np.linalg.norm(weights))

    def scores(self, weights: Array) -> Array:
        """Return w·x_i for each row."""
        return times(self.data, weights[:, None], self.jobs)[:, 0]

    def terms(self, weights: Array, dual: Array) -> tuple[float, float]:
        """Return the sum of a_i and the quadratic form of the dual."""
        quadratic = float(np.sum(np.square(weights))) + float(np.sum(self.diagonal * np.square(dual)))
        return float(np.sum(dual)), quadratic

    def _dual_objective(self, weights: Array, dual: Array) -> float:
        """Return D(a), given the weights that are penalised."""
        total, quadratic = self.terms(weights, dual)
        return total - 0.5 * quadratic

    def _balanced(self) -> Array:
        """Return dual variables near the current ones whose sum of a_i y_i agrees with the bias; is 0 if it is free.

        What is too much is taken from the variables by their distance to the nearer bound; if that is not enough for a
        free bias, the class with the larger sum is scaled down.
        """
        target = 0.0 if self.free else self.weights[-1] / self.data.bias
        off = float(np.sum(self.dual * self.signs)) - target
        room = np.minimum(self.dual, self.tops - self.dual)
        total = float(np.sum(room))
        share = min(max(off / total, -1.0), 1.0) if total > 0.0 else 0.0
        dual = np.clip(self.dual - self.signs * room * share, 0.0, self.tops)
        if not self.free or abs(off) <= total:
            return dual
        heavy = self.signs * off > 0.0
        return np.where(heavy, dual * (float(np.sum(dual[~heavy])) / float(np.sum(dual[heavy]))), dual)


def relative(primal: float, dual_objective: float) -> float:
    """Return (P - D) / P, no less than 0; 0 where P is 0, and infinity where either is not a number.

    >>> relative(4.0, 3.0)
    0.25
    """
    if not math.isfinite(primal - dual_objective):
        return math.inf
    return max(primal - dual_objective, 0.0) / primal if primal > 0.0 else 0.0


def _too_large(C: float, row_weights: Array) -> ValueError:
    weights = f" and sample weights up to {float(np.max(row_weights)):g}" if len(row_weights) else ""
    return ValueError(
        f"the objective is too large for float64, with C={C:g}{weights}: lower C, divide the weights by the largest, "
        "or use the hard margin (C=None) for no loss at all"
    )
