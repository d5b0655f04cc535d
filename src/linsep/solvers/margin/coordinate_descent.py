"""Dual coordinate descent for the linear support vector machine (Hsieh et al. 2008), compiled.

Row i has a dual variable a_i, and the weights are w = sum of a_i y_i x_i at all times. With z = y_i w·x_i, a step
solves the dual for a_i alone,

    a_i <- the point of [0, top_i] nearest to a_i - G / (||x_i||² + soft_i),      G = z - 1 + soft_i a_i,

where the hinge has top_i = C_i, soft_i = 0, and the squared hinge top_i = infinity, soft_i = 1 / (2 C_i). Row i has the
share C_i loss_i - a_i (1 - z) + soft_i a_i² / 2 >= 0 in the duality gap: the gap is their sum, and what a pass adds up
on its way is an estimate of it that costs nothing.

A random order of rows is bound by memory. A pass visits blocks of neighbours, the blocks in random order: on common
data it needs as many passes, each of half the time; and runs of one label are no longer than a block.
"""

from functools import cache
from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import FOUR, ONE, THREE, TWO, Csr, Dense, RowPlace, announce, fetch, gather, row
from linsep.engine.multimethods import inlined, multimethod
from linsep.engine.native import prefetch, unsigned
from linsep.engine.passes import AHEAD
from linsep.engine.tiers import Tiered, tiered

NEIGHBOURS = 16
"""Neighbours that are visited in their order."""
STILL = 1e-12
"""A violation up to this is not worth a step: margins are known no better."""
GONE = -1
"""The entry in the list of rows of a row that was left out."""

shift = multimethod(0)
"""shift(data, x, amount, weights): add amount * x to the weights, the constant feature's excepted."""


@shift.when(Dense)
def _(X: Dense, x: RowPlace, amount: float, weights: Array) -> None:
    for j in range(X.values.shape[1]):
        weights[j] += amount * X.values[x.i, j]


@shift.when(Csr)
def _(X: Csr, x: RowPlace, amount: float, weights: Array) -> None:
    k = x.start
    while k + FOUR <= x.stop:
        weights[unsigned(X.indices[k])] += amount * X.values[k]
        weights[unsigned(X.indices[k + ONE])] += amount * X.values[k + ONE]
        weights[unsigned(X.indices[k + TWO])] += amount * X.values[k + TWO]
        weights[unsigned(X.indices[k + THREE])] += amount * X.values[k + THREE]
        k += FOUR
    while k < x.stop:
        weights[unsigned(X.indices[k])] += amount * X.values[k]
        k += ONE


@inlined
def place(blocks: Array, visit: int) -> Any:
    """Return the position in the list of rows of a pass's visit."""
    return np.intp(blocks[visit // NEIGHBOURS]) * NEIGHBOURS + visit % NEIGHBOURS


@inlined
def upcoming(rows: Array, blocks: Array, visit: int) -> Any:
    """Return the row of a later visit, to be prefetched; the last row where the visit has none."""
    return rows[min(place(blocks, visit), rows.shape[0] - 1)]


@cache
def one_pass(Data: type[Any]) -> Tiered:
    """Return the kernel of a pass over rows.

    It changes `dual` and `weights`, and returns (gap, least, most, moved): the estimated gap of the rows visited, the
    extreme violations (projected gradients) and the count of steps. `rows` is the ascending list of rows to visit, in
    which rows at a bound whose gradient lies beyond low or high become GONE. `costs` are the C_i, `squares` the
    ||x_i||² with the constant feature's share, `soft` is True for the squared hinge, and a step moves the constant
    feature's weight by `pull` times its amount.
    """

    def kernel(
        data_: Any, signs: Array, costs: Array, squares: Array, dual: Array, weights: Array, rows: Array,
        blocks: Array, soft: bool, pull: float, low: float, high: float,
    ) -> tuple[float, float, float, int]:  # fmt: skip
        X = Data(*data_)
        last = weights.shape[0] - 1
        visits, size = blocks.shape[0] * NEIGHBOURS, rows.shape[0]
        gap: Any = 0.0
        least, most, moved = 0.0, 0.0, 0
        for visit in range(visits):
            if visit + 2 * AHEAD < visits:
                announce(X, upcoming(rows, blocks, visit + 2 * AHEAD))
                prefetch(dual, upcoming(rows, blocks, visit + 2 * AHEAD))
                prefetch(squares, upcoming(rows, blocks, visit + 2 * AHEAD))
                fetch(X, upcoming(rows, blocks, visit + AHEAD))
            p = place(blocks, visit)
            if p >= size:
                continue
            i = rows[p]
            x = row(X, i)
            z = signs[i] * gather(X, x, weights)
            a, cost = dual[i], costs[i]
            top = np.inf if soft else cost
            diagonal = 0.5 / cost if soft else 0.0
            slope = z - 1.0 + diagonal * a
            missing, beyond = 1.0 - z if z < 1.0 else 0.0, z - 1.0 if z > 1.0 else 0.0
            if soft:
                missing -= diagonal * a
                gap += cost * (missing * missing) + a * beyond
            else:
                gap += (cost - a) * missing + a * beyond
            violation = slope
            if a == 0.0:
                if slope > high:
                    rows[p] = GONE
                violation = min(slope, 0.0)
            elif a == top:
                if slope < low:
                    rows[p] = GONE
                violation = max(slope, 0.0)
            least = violation if violation < least else least
            most = violation if violation > most else most
            if abs(violation) > STILL:
                stiffness = squares[i] + diagonal
                step = slope / stiffness if stiffness > 0.0 else slope * np.inf
                dual[i] = min(max(a - step, 0.0), top)
                amount = signs[i] * (dual[i] - a)
                shift(X, x, amount, weights)
                weights[last] += amount * pull
                moved += 1
        return gap, least, most, moved

    return Tiered(kernel, _work, name=f"one_pass_{Data.__name__}")


def _work(data: tuple[Any, ...], signs: Array, *others: Any) -> int:
    rows = others[4]
    return len(rows) * (2 * data[0].size // max(1, len(signs)) + 16)


def pull_of(bias: float, common: float, rows: int, swift: float, free: bool) -> float:
    """Return by how much a step of size 1 moves the constant feature's weight: as if `swift` rows moved it at once.

    `common` is the ||x||² of a common row. Unless the bias is free, the weight moves no more than that of a feature.
    """
    pull = common * min(1.0, swift / rows) / bias
    return pull if free else min(pull, bias, key=abs)


def squared_norms(data: Dense | Csr) -> Array:
    """Return ||x_i||² for each row, the constant feature not counted; columns stored twice add up.

    >>> squared_norms(Dense(np.array([[1.0, 2.0], [0.0, 3.0]]), bias=1.0))
    array([5., 9.])
    """
    if isinstance(data, Dense):
        return np.einsum("ij,ij->i", data.values, data.values, dtype=np.float64)
    out = np.empty(data.n_rows)
    _add_squares(data.values, data.indices, data.indptr, np.zeros(data.features), out)
    return out


@tiered(lambda values, indices, indptr, sums, out: 2 * len(values))
def _add_squares(values: Array, indices: Array, indptr: Array, sums: Array, out: Array) -> None:
    """Write ||x_i||² to `out`; `sums` are zeros, one for each feature."""
    for i in range(out.shape[0]):
        start, stop = np.intp(indptr[i]), np.intp(indptr[i + 1])
        total, rising = 0.0, True
        for k in range(start, stop):
            v = np.float64(values[k])
            total += v * v
            rising = rising and (k == start or indices[k] > indices[k - 1])
        if not rising:
            for k in range(start, stop):
                sums[unsigned(indices[k])] += values[k]
            total = 0.0
            for k in range(start, stop):
                v = sums[unsigned(indices[k])]
                total += v * v
                sums[unsigned(indices[k])] = 0.0
        out[i] = total
