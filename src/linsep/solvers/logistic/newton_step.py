"""The step of Newton's method for logistic regression: curvature × step = -gradient.

Few weights: the curvature is formed and factored. Many: conjugate gradients, preconditioned by the curvature's
diagonal, to the accuracy asked for; each product with the curvature is one read of the data.
"""

from functools import partial

import numpy as np
from scipy import linalg, sparse

from linsep.core.arrays import Array
from linsep.core.examples import Dense
from linsep.core.threads import split
from linsep.solvers.logistic.objective import Logistic, curved
from linsep.solvers.products import add_up, features_of, rows_of, sweep, times, times_transposed

FEW = 500
"""Weights of a group up to which its curvature is formed and factored."""
PRODUCTS = 250
"""Products with the curvature that one step may take."""
BLOCK = 1 << 16
"""Entries of a table that are multiplied at a time."""


def direction(problem: Logistic, spread: Array, gradient: Array, aim: Array) -> tuple[Array, Array]:
    """Return the step of each column and its scores X step; conjugate gradients leave a residual below `aim`."""
    features = features_of(problem.data) + 1
    if features * (gradient.shape[1] if problem.multinomial else 1) <= FEW:
        step = _factored(problem, spread, gradient)
        return step, times(problem.data, step, problem.jobs)
    return _conjugate(problem, spread, gradient, aim)


def _conjugate(problem: Logistic, spread: Array, gradient: Array, aim: Array) -> tuple[Array, Array]:
    scale = 1.0 / _diagonal(problem, spread)
    left = -gradient
    step, moved = np.zeros_like(gradient), np.zeros_like(spread)
    way = scale * left
    height = problem.groups(left * way)
    for _ in range(PRODUCTS):
        scores, product = sweep(problem.data, way, partial(_turned, problem, spread), problem.jobs)
        product += problem.penalty * way
        bend = problem.groups(way * product)
        length = np.where((bend > 0) & (height > 0), height / np.where(bend > 0, bend, 1.0), 0.0)
        step += length * way
        moved += length * scores
        left -= length * product
        open_ = np.sqrt(problem.groups(left**2)) > aim
        if not (open_ & (length > 0)).any():
            break
        lower = problem.groups(scale * left**2)
        way *= np.where(open_ & (height > 0), lower / np.where(height > 0, height, 1.0), 0.0)
        way += np.where(open_, scale, 0.0) * left
        height = np.where(open_, lower, 0.0)
    return step, moved


def _turned(problem: Logistic, spread: Array, scores: Array, lo: int, hi: int) -> Array:
    return curved(problem, spread[lo:hi], scores, lo, hi)


def _diagonal(problem: Logistic, spread: Array) -> Array:
    """Return the diagonal of the curvature, 1 where it is 0: such a weight does nothing, and never moves."""
    counts = problem.row_weights[:, None] if len(problem.row_weights) else 1.0
    bent = counts * spread * (1.0 - spread) if problem.multinomial else spread
    diagonal = times_transposed(problem.data, bent, problem.jobs, squares=True) + problem.penalty
    return np.where(diagonal > 0, diagonal, 1.0)


def _factored(problem: Logistic, spread: Array, gradient: Array) -> Array:
    features, columns = gradient.shape
    if problem.multinomial:
        curvature = _curvature(problem, spread).reshape(1, features * columns, features * columns)
        curvature[0] += np.diag(np.repeat(problem.penalty.ravel(), columns))
        return _solved(curvature[0], -gradient.ravel()).reshape(features, columns)
    curvatures = _curvature(problem, spread) + np.diag(problem.penalty.ravel())
    return np.stack([_solved(*pair) for pair in zip(curvatures, -gradient.T, strict=True)], axis=1)


def _curvature(problem: Logistic, spread: Array) -> Array:
    """Return Xᵀ D X for each column, (columns, features, features), or for a softmax as (features, columns) twice."""
    rows, features, columns = rows_of(problem.data), features_of(problem.data) + 1, spread.shape[1]
    shape = (features, columns, features, columns) if problem.multinomial else (columns, features, features)
    total = np.zeros(shape)
    tasks = [partial(_share, problem, spread, lo, hi, shape) for lo, hi in split(rows, rows * features // BLOCK)]
    add_up(total, tasks if rows else [], problem.jobs)
    return total


def _share(problem: Logistic, spread: Array, lo: int, hi: int, shape: tuple[int, ...]) -> Array:
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


def _table(problem: Logistic, lo: int, hi: int) -> Array:
    """Return a few rows as a table, the constant feature last."""
    data = problem.data
    out = np.full((hi - lo, features_of(data) + 1), data.bias)
    if isinstance(data, Dense):
        out[:, :-1] = data.values[lo:hi]
        return out
    first, last = data.indptr[lo], data.indptr[hi]
    cut = (data.values[first:last], data.indices[first:last], data.indptr[lo : hi + 1] - first)
    out[:, :-1] = sparse.csr_matrix(cut, shape=(hi - lo, data.features)).toarray()
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
    raise ValueError("the curvature is too large for float64: divide all of X by one factor")
