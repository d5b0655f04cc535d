"""Dual coordinate ascent for logistic regression on sparse rows: a quick way near the optimum.

The dual has one number in [0, 1] for each row and column: the probability a of the wrong answer (multinomial: a
distribution over the classes for each row). The weights are σ² Σ c y a x over all rows (multinomial: for class k,
σ² Σ c ([y = k] - a_k) x). A visit to a row makes a = s(-y w.x) true for the weights after the visit, by Newton's
method, and moves them along x: one read of the row, as in a perceptron's pass, but with the step that is best for the
dual.
"""

from functools import cache
from math import exp
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.core.digest import engine_digest
from linsep.core.examples import Csr
from linsep.core.memory import prefetch
from linsep.core.passes import Kernel, compiled
from linsep.core.verbs import word
from linsep.solvers.products import frozen

AHEAD = 8
"""How many rows ahead of the current one the pass prefetches."""
EASE = 0.1
"""See :class:`Ascent`."""
NEAR = 0.1
"""A row is solved when Newton's method began its last step this near: the step has squared what is left."""


class Ascent:
    """The state of the ascent: `weights`, and `wrong`, the dual's numbers, (rows, columns).

    A free bias is held by a prior too, but around the bias of the epoch before: where it comes to rest, nothing holds
    it. That prior's variance is `EASE` times what the features of a row have together: the bias, which all rows
    share, then makes no visit shorter.
    """

    def __init__(
        self,
        data: Csr,
        codes: Array,
        row_weights: Array,
        columns: int,
        multinomial: bool,
        variance: float,
        free_bias: bool = False,
    ) -> None:
        self.weights = np.zeros((data.features + 1, columns))
        self.wrong = np.zeros((len(codes), columns))
        if multinomial:
            self.wrong[np.arange(len(codes)), codes] = 1.0
        bias_move = data.bias
        if free_bias:
            bias_move = EASE * float(np.vdot(data.values, data.values)) / max(1, len(codes)) / data.bias
        labels = (frozen(codes, np.int32), frozen(row_weights))
        self._problem = (data.values, data.indices, data.indptr, data.bias, bias_move, *labels, variance, multinomial)
        self._random = np.random.default_rng(0)
        self._free_bias = free_bias
        self._centre = np.zeros(columns)

    def epoch(self) -> None:
        """Visit every row once, in a random order that is the same in every run."""
        one_epoch()(self._problem, self._random.permutation(len(self.wrong)), self.weights, self.wrong)
        if self._free_bias:
            pull = self.weights[-1] - self._centre
            self._centre = self.weights[-1].copy()
            self.weights[-1] += pull


@cache
def one_epoch() -> Kernel:
    """Return the kernel that visits the rows of a problem in an order, and changes `weights` and `wrong`."""
    digest = engine_digest()

    def kernel(problem: Any, order: Array, weights: Array, wrong: Array) -> None:
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        values, indices, indptr, bias, bias_move, codes, row_weights, variance, multinomial = problem
        features, columns = weights.shape[0] - 1, weights.shape[1]
        column = weights.reshape(weights.size)
        z, u, new, move = np.empty(columns), np.empty(columns), np.empty(columns), np.empty(columns)
        for p in range(order.shape[0]):
            if p + 2 * AHEAD < order.shape[0]:
                prefetch(indptr, order[p + 2 * AHEAD])
                ahead = order[p + AHEAD]
                for k in range(indptr[ahead], indptr[ahead + 1], 16):
                    prefetch(values, k)
                    prefetch(indices, k)
            i = order[p]
            c = row_weights[i] if row_weights.shape[0] > 0 else 1.0
            if c == 0.0:
                continue
            start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
            norm = bias * bias_move
            if columns == 1:
                score = column[features] * bias
                for k in range(start, stop):
                    v = np.float64(values[k])
                    score += column[np.uintp(indices[k])] * v
                    norm += v * v
                y = 2.0 * codes[i] - 1.0
                a = solved(wrong[i, 0], y * score, norm * variance * c)
                amount = variance * c * y * (a - wrong[i, 0])
                wrong[i, 0] = a
                for k in range(start, stop):
                    column[np.uintp(indices[k])] += amount * values[k]
                column[features] += amount * bias_move
                continue
            for m in range(columns):
                z[m] = weights[features, m] * bias
            for k in range(start, stop):
                j, v = np.uintp(indices[k]), np.float64(values[k])
                norm += v * v
                for m in range(columns):
                    z[m] += weights[j, m] * v
            if multinomial:
                solve_classes(wrong[i], z, norm * variance * c, u, new, move)
                for m in range(columns):
                    move[m] = variance * c * (wrong[i, m] - new[m])
                    wrong[i, m] = new[m]
            else:
                for m in range(columns):
                    y = 1.0 if codes[i] == m else -1.0
                    a = solved(wrong[i, m], y * z[m], norm * variance * c)
                    move[m] = variance * c * y * (a - wrong[i, m])
                    wrong[i, m] = a
            for k in range(start, stop):
                j, v = np.uintp(indices[k]), np.float64(values[k])
                for m in range(columns):
                    weights[j, m] += move[m] * v
            for m in range(columns):
                weights[features, m] += move[m] * bias_move

    return compiled(kernel, digest)


@word
def solved(a: float, margin: float, q: float) -> float:
    """Return s(u) for u + margin + q (s(u) - a) = 0, nearly: Newton's steps, each halved until it helps."""
    u = -margin
    t = 1.0 / (1.0 + exp(margin))
    h = q * (t - a)
    for _ in range(8):
        before = abs(h)
        step = h / (1.0 + q * t * (1.0 - t))
        for _ in range(30):
            t = 1.0 / (1.0 + exp(step - u))
            h = u - step + margin + q * (t - a)
            if abs(h) <= before:
                break
            step *= 0.5
        u -= step
        if before < NEAR:
            break
    return t


@word
def solve_classes(a: Array, z: Array, q: float, u: Array, new: Array, move: Array) -> None:
    """Solve u = z + q (a - softmax(u)) nearly, as :func:`solved` does, and write softmax(u) to `new`."""
    classes = z.shape[0]
    u[:] = z
    move[:] = 0.0
    softmax(u, move, new)
    before = 0.0
    for k in range(classes):
        before = max(before, q * abs(new[k] - a[k]))
    for _ in range(8):
        # (I + q (diag(a) - a aᵀ)) move = h, by the formula for a diagonal plus a matrix of rank one.
        along = spread = 0.0
        for k in range(classes):
            stiff = 1.0 + q * new[k]
            move[k] = (u[k] - z[k] + q * (new[k] - a[k])) / stiff
            along += new[k] * move[k]
            spread += new[k] / stiff
        for k in range(classes):
            move[k] += q * new[k] / (1.0 + q * new[k]) * along / spread
        after = 0.0
        for _ in range(30):
            softmax(u, move, new)
            after = 0.0
            for k in range(classes):
                after = max(after, abs(u[k] - move[k] - z[k] + q * (new[k] - a[k])))
            if after <= before:
                break
            for k in range(classes):
                move[k] *= 0.5
        for k in range(classes):
            u[k] -= move[k]
        if before < NEAR:
            break
        before = after


@word
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
