"""Newton's method for the soft margin with squared slacks: a few steps, whatever the condition, for few features.

P(w) = ½ ||w||² + C ||(1 - Z w)+||² is a quadratic as long as the same rows have slacks. A step goes to the minimum of
the present one, (1 + 2C Z_Iᵀ Z_I) w = 2C Z_Iᵀ 1 over the rows I with slacks, or to the best of its halves on the way.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, solve

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.products import blocks, features_of, times

STEPS = 30
"""Steps, at most."""
HALVES = 10
"""Times that a step is halved, at most."""


def minimise(data: Dense | Csr, signs: Array, cost: float, weights: Array, jobs: int = 1) -> tuple[Array, int]:
    """Return the w with the least P(w), beginning with `weights`, and the steps; all features are alike.

    Examples
    --------
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
    size = features_of(data) + 1
    square, total = np.zeros((size, size)), np.zeros(size)
    for lo, hi in blocks(data):
        rows, y = np.flatnonzero(chosen[lo:hi]), signs[lo:hi][chosen[lo:hi]]
        if isinstance(data, Dense):
            part = data.values[lo:hi][rows].astype(np.float64, copy=False)
        else:
            here = slice(data.indptr[lo], data.indptr[hi])
            ends = data.indptr[lo : hi + 1] - data.indptr[lo]
            part = sp.csr_array((data.values[here], data.indices[here], ends), (hi - lo, data.features))[rows].toarray()
        part = np.column_stack([part.astype(np.float64, copy=False), np.full(len(rows), data.bias)])
        square += part.T @ part
        total += y @ part
    return square, total
