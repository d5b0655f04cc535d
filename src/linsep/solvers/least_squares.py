"""Least squares: the weights W with the least ||XW - Y||², for several targets at once.

Three ways lead there: the formula of one feature, the triangle of :mod:`linsep.solvers.normal_equations`, and for wide
sparse data LSMR (Fong and Saunders, 2011), which only multiplies by X and by its transpose. All take the mean away
from rows and targets where there is an intercept, so that the constant feature's value does not matter, and find the
shortest weights where several are best. A row's weight is how many rows it counts as.
"""

from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.normal_equations import (
    Targets,
    absorb,
    begin,
    lengths,
    noise,
    refuse_too_wide,
    relative,
    solve_triangle,
)
from linsep.solvers.products import features_of, rows_of, times, times_transposed

FEW_NUMBERS = 4 * 10**6
"""Numbers of a triangle, 32 MB, up to which it is the way chosen."""
LITTLE_WORK = 2 * 10**10
"""Products up to which sparse rows are worked into a triangle: about a second."""
TOGETHER = 16
"""Targets that LSMR follows in one walk over the rows; more would need more memory."""


class LeastSquares(NamedTuple):
    """The weights, and what is known of them."""

    weights: Array
    """(features + 1, targets); the last row is the constant feature's."""
    residuals: Array
    """||XW - Y|| of each target."""
    optimality: float
    """The largest ||Xᵀ(XW - Y)|| / (||X|| ||Y||) of the targets, means taken away where there is an intercept."""
    solver: str
    """The way that led there."""
    iterations: int = 1
    converged: bool = True
    rank: int | None = None
    """Of the features, the constant one taken out; None where it is not known."""
    condition: float | None = None
    """About the condition of the columns that the rank counts, each divided by its length before means were taken."""


def least_squares(
    data: Dense | Csr,
    targets: Targets,
    row_weights: Array | None = None,
    *,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 1000,
    jobs: int = 1,
) -> LeastSquares:
    """Return the best weights by the solver named, or by the one that suits the data.

    Examples
    --------
    >>> import numpy as np
    >>> found = least_squares(Dense(np.array([[1.0], [2.0], [3.0]]), bias=0.0), np.array([[1.0], [3.0], [2.0]]))
    >>> found.solver, found.weights.round(4).tolist()  # 1-D: the sum of x y / the sum of x²
    ('formula', [[0.9286], [0.0]])
    """
    weights = np.empty(0) if row_weights is None else row_weights
    if solver == "auto":
        solver = suitable(data, targets.shape[1])
    if solver == "formula":
        return by_formula(data, targets, weights)
    if solver == "exact":
        return by_triangle(data, targets, weights)
    return by_iteration(data, targets, weights, tol, max_iter, jobs)


def suitable(data: Dense | Csr, targets: int) -> str:
    """Return the solver for such data: the formula for one feature, else a triangle unless it is large or slow."""
    rows, features = rows_of(data), features_of(data)
    if features == 1:
        return "formula"
    columns = features + 1 + targets
    numbers = min(rows, columns) * columns
    if numbers > FEW_NUMBERS or (isinstance(data, Csr) and rows * numbers > LITTLE_WORK):
        return "iterative"
    return "exact"


def by_formula(data: Dense | Csr, targets: Targets, weights: Array) -> LeastSquares:
    """Return the weight of a single feature: the sum of x y / the sum of x², means taken away with an intercept."""
    if features_of(data) != 1:
        raise ValueError(f"the formula is for one feature, and X has {features_of(data)}: use solver='auto'")
    c = weights if len(weights) else np.ones(rows_of(data))
    x, y = times(data._replace(bias=0.0), np.array([[1.0], [0.0]])), targets[:, :]
    size, root = np.abs(x).max(initial=0.0) or 1.0, np.sqrt(c / c.sum())[:, None]
    x, y = root * x / size, root * y
    means = root.T @ np.hstack([x, y]) if data.bias else np.zeros((1, 1 + y.shape[1]))
    whole, x, y = lengths(x)[0], x - root * means[0, :1], y - root * means[0, 1:]
    spread = lengths(x)[0]
    varies = bool(spread > noise(len(x)) * whole)
    w = (x.T @ y) / (x.T @ x) if varies else np.zeros((1, y.shape[1]))
    off = x * w - y
    gradients = np.abs(x.T @ off)[0] / spread if varies else np.zeros(y.shape[1])
    constant = (means[:, 1:] - means[:, :1] * w) / data.bias if data.bias else np.zeros_like(w)
    return LeastSquares(
        weights=np.vstack([w / size, constant]),
        residuals=lengths(off) * np.sqrt(c.sum()),
        optimality=relative(gradients, y, means[:, 1:], len(x)),
        solver="formula",
        rank=int(varies),
        condition=1.0,
    )


def by_triangle(data: Dense | Csr, targets: Targets, weights: Array) -> LeastSquares:
    """Return the weights by orthogonal reflections of blocks of rows: as stable as the data allow."""
    features, many = features_of(data), targets.shape[1]
    refuse_too_wide(rows_of(data), features + 1 + many)
    found = solve_triangle(absorb(begin(features, many, data.bias), data, targets, weights))
    return LeastSquares(
        found.weights, found.residuals, found.optimality, "exact", rank=found.rank, condition=found.condition
    )


def by_iteration(
    data: Dense | Csr, targets: Targets, weights: Array, tol: float, max_iter: int, jobs: int
) -> LeastSquares:
    """Return the weights by LSMR, until ||Xᵀ(XW - Y)|| <= tol ||X|| ||Y|| or the budget is used up.

    Memory: some (rows + features) x 16 targets. Columns of very different lengths make it slow: scale them.
    """
    columns = targets.shape[1]
    groups = [slice(a, min(a + TOGETHER, columns)) for a in range(0, columns, TOGETHER)]
    centred = Centred(data, weights, jobs)
    found = [_lsmr(centred, targets[:, group], tol, max_iter) for group in groups]
    return LeastSquares(
        weights=np.hstack([part.weights for part in found]),
        residuals=np.concatenate([part.residuals for part in found]),
        optimality=max(part.optimality for part in found),
        solver="iterative",
        iterations=max(part.iterations for part in found),
        converged=all(part.converged for part in found),
    )


class Centred:
    """X times the roots of the row weights, its mean taken away where there is an intercept; nothing is copied.

    The constant feature's weight is 0 throughout, and found at last.
    """

    def __init__(self, data: Dense | Csr, weights: Array, jobs: int) -> None:
        self.data, self.jobs, self.bias = data._replace(bias=0.0), jobs, data.bias
        self.weights = (weights if len(weights) else np.ones(rows_of(data)))[:, None]
        self.roots = np.sqrt(self.weights)
        self.total = float(self.weights.sum())
        self.mean = times_transposed(self.data, self.weights, jobs) / self.total
        if not self.bias:
            self.mean = np.zeros_like(self.mean)
        self.mean_size = float(lengths(self.mean)[0] * np.sqrt(self.total))

    def times(self, v: Array) -> Array:
        """Return A V."""
        return self.roots * (times(self.data, v, self.jobs) - (self.mean * v).sum(axis=0))

    def transposed(self, u: Array) -> Array:
        """Return Aᵀ U."""
        u = self.roots * u
        return times_transposed(self.data, u, self.jobs) - self.mean * u.sum(axis=0)

    def targets(self, y: Array) -> tuple[Array, Array]:
        """Return the targets as A's rows are, and the means taken from them."""
        means = (self.weights * y).sum(axis=0) / self.total if self.bias else np.zeros(y.shape[1])
        return self.roots * (y - means), means


class Walk(NamedTuple):
    """Where LSMR is, in the letters of the paper; one column, or one number, for each target still on the way."""

    u: Array
    v: Array
    h: Array
    h_bar: Array
    alpha: Array
    alpha_bar: Array
    zeta_bar: Array
    """||Aᵀr||, with a sign."""
    rho: Array
    rho_bar: Array
    c_bar: Array
    s_bar: Array
    norm: Array
    """||A|| so far, from below."""

    def of(self, which: Array) -> "Walk":
        """Return the walk of some targets."""
        return Walk(*(a[..., which] for a in self))


def _lsmr(A: Centred, y: Array, tol: float, max_iter: int) -> LeastSquares:
    """Follow each target on its own, all in the same walks over the rows, until it is done."""
    b, means = A.targets(y)
    sizes, u = _normed(b)
    alpha, v = _normed(A.transposed(u))
    one, zero = np.ones_like(alpha), np.zeros_like(alpha)
    walk = Walk(u, v, v, np.zeros_like(v), alpha, alpha, alpha * sizes, one, one, one, zero, alpha)
    W, norms = np.zeros_like(v), np.maximum(alpha, A.mean_size or 1.0)
    rounding = noise(len(b)) * A.mean_size
    left, iterations = np.flatnonzero((alpha > rounding) & (sizes > 0)), 0
    walk = walk.of(left)
    while len(left) and iterations < max_iter:
        iterations += 1
        walk, steps = _further(A, walk)
        W[:, left] += steps
        norms[left] = walk.norm
        going = np.abs(walk.zeta_bar) > np.maximum(tol * walk.norm, rounding) * sizes[left]
        left, walk = left[going], walk if going.all() else walk.of(going)
    off = A.times(W) - b
    optimality = relative(lengths(A.transposed(off)) / norms, b, A.roots.max() * means[None], len(b))
    W[-1] = (means - (A.mean * W).sum(axis=0)) / A.bias if A.bias else 0.0
    return LeastSquares(W, lengths(off), optimality, "iterative", max(iterations, 1), converged=not len(left))


def _further(A: Centred, at: Walk) -> tuple[Walk, Array]:
    """Return where LSMR is one iteration later, and what it adds to the weights."""
    beta, u = _normed(A.times(at.v) - at.alpha * at.u)
    alpha, v = _normed(A.transposed(u) - beta * at.v)
    rho = np.hypot(at.alpha_bar, beta)
    c, s = at.alpha_bar / rho, beta / rho
    theta = s * alpha
    theta_bar = at.s_bar * rho
    rho_bar = np.hypot(at.c_bar * rho, theta)
    c_bar, s_bar = at.c_bar * rho / rho_bar, theta / rho_bar
    zeta = c_bar * at.zeta_bar
    h_bar = at.h - theta_bar / at.rho * (rho / at.rho_bar) * at.h_bar
    h = v - theta / rho * at.h
    norm = np.hypot(at.norm, np.hypot(alpha, beta))
    walk = Walk(u, v, h, h_bar, alpha, c * alpha, -s_bar * at.zeta_bar, rho, rho_bar, c_bar, s_bar, norm)
    return walk, zeta / rho / rho_bar * h_bar


def _normed(a: Array) -> tuple[Array, Array]:
    """Return the lengths of the columns, and the columns divided by them."""
    sizes = lengths(a)
    return sizes, a / np.where(sizes > 0, sizes, 1.0)
