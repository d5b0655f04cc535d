"""Least squares: the weights W with the least ||XW - Y||², for all rows at once or block by block.

The weights of least squares solve XᵀX W = XᵀY, and these sums are all that has to be kept of the rows. Summed up as
they stand they are good for half of the digits only, as XᵀX has the condition of X squared. The triangle T of a QR
decomposition of [1 | X | Y] holds them as TᵀT in the same memory and keeps all digits: new rows are set below it, and
reflections turn both into one triangle again. The column of ones comes first, so that what is below the first row of T
is the triangle of rows with their mean taken away: the intercept is free for any weights.

Three ways lead there: the formula of one feature, the triangle of :mod:`linsep.solvers.least_squares`, and for wide
sparse data LSMR (Fong and Saunders, 2011), which only multiplies by X and by its transpose. All take the mean away
from rows and targets where there is an intercept, so that the constant feature's value does not matter, and find the
shortest weights where several are best. A row's weight is how many rows it counts as.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dtpqrt, dtrcon

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread
from linsep.solvers.products import as_table, times, times_transposed

MOST_NUMBERS = 10**8
"""Numbers that a triangle may have, 0.8 GB: those of 10,000 columns."""
BLOCK_NUMBERS = 1 << 18
"""Numbers of a block of rows that is worked into the triangle at a time, if its columns are few."""
TALL = 1024
"""Rows of a block where columns are many."""
PANEL = 16
"""Columns whose reflections are applied together."""
SHAKY = float(np.sqrt(np.finfo(np.float64).eps))
"""1 / condition below which the error of the weights, eps times the condition squared, may be as large as they are."""
FEW_NUMBERS = 4 * 10**6
"""Numbers of a triangle, 32 MB, up to which it is the way chosen."""
LITTLE_WORK = 2 * 10**10
"""Products up to which sparse rows are worked into a triangle: about a second."""
TOGETHER = 16
"""Targets that LSMR follows in one walk over the rows; more would need more memory."""


class Targets(Protocol):
    """A table of targets that is asked for some of its rows and columns at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, at: Any) -> Any:
        """Return targets[a:b, c:d] as an array of floats."""


@dataclass(frozen=True)
class OneHot:
    """Labels as a table of targets: 1.0 in the column of the row's class, else 0.0."""

    codes: Array
    classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.codes), self.classes

    def __getitem__(self, at: Any) -> Array:
        rows, columns = at
        return (self.codes[rows, None] == np.arange(self.classes)[columns]).astype(np.float64)


class Triangle(NamedTuple):
    """The sums of products of [1 | X | Y]: rows that have the same, a triangle once they are as many as the columns."""

    table: Array
    rows: int
    """The number of rows in it."""
    features: int
    bias: float
    """The constant feature's value; with 0.0 there is no column of ones."""


class LeastSquaresFit(NamedTuple):
    """The weights, and what is known of them."""

    weights: Array
    """(features + 1, targets): the shortest ones where several are best; the last row is the constant feature's."""
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


def start_triangle(features: int, targets: int, bias: float) -> Triangle:
    """Return the triangle of no rows.

    >>> line = absorb(start_triangle(1, 1, bias=1.0), Dense(np.array([[0.0], [1.0]]), 1.0), np.array([[1.0], [3.0]]))
    >>> solve_triangle(absorb(line, Dense(np.array([[2.0]]), 1.0), np.array([[5.0]]))).weights.round(9)
    array([[2.],
           [1.]])
    """
    return Triangle(np.empty((0, int(bias != 0) + features + targets)), 0, features, bias)


def refuse_too_wide(rows: int | None, columns: int) -> None:
    """Raise a ValueError when a triangle of so many columns takes too much memory; rows are None for a stream."""
    height = columns if rows is None else min(rows, columns)
    if height * columns > MOST_NUMBERS:
        raise ValueError(
            f"the sums of {columns:,} columns (features, constant and targets) take {height * columns * 8 / 1e9:,.1f} "
            f"GB, more than the {MOST_NUMBERS * 8 / 1e9:g} GB allowed: use solver='iterative', or fewer features"
        )


@one_blas_thread()
def absorb(triangle: Triangle, data: Dense | Csr, targets: Targets, row_weights: Array | None = None) -> Triangle:
    """Return the triangle with these rows worked in; a row's weight is how many rows it counts as.

    The triangle given is left as it is. Memory: a block of rows and the triangle.
    """
    rows, columns = data.n_rows, triangle.table.shape[1]
    weights = np.empty(0) if row_weights is None else row_weights
    step = max(min(columns, TALL), BLOCK_NUMBERS // columns)
    table, own = triangle.table, False
    for lo in range(0, rows, step):
        hi = min(lo + step, rows)
        block = _block(triangle, data, targets, weights[lo:hi], lo, hi)
        if len(table) == columns:
            table, own = dtpqrt(0, min(PANEL, columns), table, block, overwrite_a=own, overwrite_b=True)[0], True
        else:
            table, own = _triangular(np.concatenate([table, block])), True
    return triangle._replace(table=table, rows=triangle.rows + rows)


def with_targets(triangle: Triangle, places: Array) -> Triangle:
    """Return the triangle with more targets, 0.0 in all rows so far, before the given ones."""
    first = int(triangle.bias != 0) + triangle.features
    return triangle._replace(table=np.insert(triangle.table, first + places, 0.0, axis=1))


def with_features(triangle: Triangle, more: int) -> Triangle:
    """Return the triangle with more features, 0.0 in all rows so far, after the others."""
    places = np.full(more, int(triangle.bias != 0) + triangle.features)
    return triangle._replace(table=np.insert(triangle.table, places, 0.0, axis=1), features=triangle.features + more)


@one_blas_thread()
@np.errstate(over="ignore", invalid="ignore")
def solve_triangle(triangle: Triangle, mix: Array | None = None) -> LeastSquaresFit:
    """Return the least squares weights of all rows that were worked in; for the targets Y times `mix`, if it is given.

    Where the condition allows, by substitution. Else columns are distinguished by a QR decomposition with pivoting of
    the columns, each divided by its length: what is left of one beside the others counts if it is more than rounding
    makes. Of all weights that are then best, the shortest are found by a second decomposition.
    """
    first, features = int(triangle.bias != 0), triangle.features
    table: Any = triangle.table
    if len(table) < table.shape[1]:
        table = np.linalg.qr(table, mode="r")
    end = first + features
    Y = table[:, end:] if mix is None else table[:, end:] @ mix
    R, Z = table[first:end, first:end], Y[first:end]
    sizes = lengths(table[:end, first:end])
    sizes[sizes == 0] = 1.0
    scaled = R / sizes
    kept = _least_stretch(scaled) if len(R) == features > 0 else 0.0
    if kept > SHAKY:
        weights, rank = solve_triangular(scaled, Z, check_finite=False) / sizes[:, None], features
    else:
        weights, rank, kept = _shortest(scaled, Z, sizes, triangle.rows)
    off = R @ weights - Z
    whole = lengths(lengths(R)[:, None])[0] or 1.0
    return LeastSquaresFit(
        weights=np.vstack([weights, _constants(table[:1], Y[:1], weights, triangle)]),
        residuals=np.hypot(lengths(off), lengths(Y[end:])),
        optimality=relative(lengths((R / whole).T @ off), Y[first:], Y[:first], triangle.rows) if rank else 0.0,
        solver="exact",
        rank=rank,
        condition=max(1 / kept, 1.0) if rank else 1.0,
    )


def relative(gradients: Array, targets: Array, means: Array, rows: int) -> float:
    """Return the largest of the gradients' lengths, each divided by that of its target, or by the rounding of it."""
    sizes = lengths(targets)
    wholes = np.maximum(sizes, noise(rows) * np.hypot(sizes, lengths(means)))
    return float(np.divide(gradients, wholes, out=np.zeros_like(wholes), where=wholes > 0).max(initial=0.0))


def noise(rows: int) -> float:
    """Return what rounding may make of sums of so many terms, relatively."""
    return float(np.finfo(np.float64).eps) * rows


def lengths(columns: Array) -> Array:
    """Return the Euclidean length of each column, free of overflow."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    divisors = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.square(columns / divisors).sum(axis=0))


def _triangular(rows: Array) -> Array:
    """Return rows as they are if they are fewer than their columns, else a triangle with the same sums."""
    return rows if len(rows) < rows.shape[1] else np.asfortranarray(np.linalg.qr(rows, mode="r"))


def _least_stretch(triangle: Array) -> float:
    """Return about the least ||Tv|| of all v with ||v|| = 1, in the norm of sums."""
    return float(dtrcon(triangle)[0] * np.abs(triangle).sum(axis=0).max())


def _shortest(scaled: Array, Z: Array, sizes: Array, rows: int) -> tuple[Array, int, float]:
    """Return the shortest weights that are best, the rank, and 1 / condition of the columns that the rank counts."""
    if not scaled.size:
        return np.zeros((len(sizes), Z.shape[1])), 0, 1.0
    Q, T, order = qr(scaled, mode="economic", pivoting=True, check_finite=False)
    rank = int(np.count_nonzero(np.abs(np.diagonal(T)) > noise(max(rows, len(sizes)))))
    if rank == 0:
        return np.zeros((len(sizes), Z.shape[1])), 0, 1.0
    kept, Z = _least_stretch(T[:rank, :rank]), Q[:, :rank].T @ Z
    if rank == len(sizes):
        weights = np.empty_like(Z)
        weights[order] = solve_triangular(T, Z, check_finite=False)
        return weights / sizes[:, None], rank, kept
    spanned = np.empty((rank, len(sizes)))
    spanned[:, order] = T[:rank] * sizes[order]
    span, corner = np.linalg.qr(spanned.T)
    return span @ solve_triangular(corner, Z, trans="T", check_finite=False), rank, kept


def _constants(means: Array, Y: Array, weights: Array, triangle: Triangle) -> Array:
    """Return the constant feature's weights, given all others, from the triangle's first row."""
    if triangle.bias == 0 or means[0, 0] == 0:
        return np.zeros((1, weights.shape[1]))
    return (Y - means[:, 1 : 1 + triangle.features] @ weights) / (means[0, 0] * triangle.bias)


def _block(triangle: Triangle, data: Dense | Csr, targets: Targets, weights: Array, lo: int, hi: int) -> Array:
    """Return rows lo to hi of [1 | X | Y], each times the root of its weight, in the order that LAPACK reads."""
    first, features = int(triangle.bias != 0), triangle.features
    block = np.empty((hi - lo, triangle.table.shape[1]), order="F")
    block[:, :first] = 1.0
    block[:, first : first + features] = as_table(data.slice(lo, hi))
    block[:, first + features :] = targets[lo:hi, :]
    if len(weights):
        block *= np.sqrt(weights)[:, None]
    return block


def least_squares(
    data: Dense | Csr, targets: Targets, row_weights: Array | None = None, *, solver: str = "auto", tol: float = 1e-8,
    max_iter: int = 1000, jobs: int = 1,
) -> LeastSquaresFit:  # fmt: skip
    """Return the best weights by the solver named, or by the one that suits the data.

    >>> found = least_squares(Dense(np.array([[1.0], [2.0], [3.0]]), bias=0.0), np.array([[1.0], [3.0], [2.0]]))
    >>> found.solver, found.weights.round(4).tolist()  # 1-D: the sum of x y / the sum of x²
    ('formula', [[0.9286], [0.0]])
    """
    weights = np.empty(0) if row_weights is None else row_weights
    if solver == "auto":
        solver = choose_solver(data, targets.shape[1])
    if solver == "formula":
        return by_formula(data, targets, weights)
    if solver == "exact":
        return by_triangle(data, targets, weights)
    return by_iteration(data, targets, weights, tol, max_iter, jobs)


def choose_solver(data: Dense | Csr, targets: int) -> str:
    """Return the solver for such data: the formula for one feature, else a triangle unless it is large or slow."""
    rows, features = data.n_rows, data.n_features
    if features == 1:
        return "formula"
    columns = features + 1 + targets
    numbers = min(rows, columns) * columns
    if numbers > FEW_NUMBERS or (isinstance(data, Csr) and rows * numbers > LITTLE_WORK):
        return "iterative"
    return "exact"


def by_formula(data: Dense | Csr, targets: Targets, weights: Array) -> LeastSquaresFit:
    """Return the weight of a single feature: the sum of x y / the sum of x², means taken away with an intercept."""
    if data.n_features != 1:
        raise ValueError(f"the formula is for one feature, and X has {data.n_features}: use solver='auto'")
    c = weights if len(weights) else np.ones(data.n_rows)
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
    residuals, optimality = lengths(off) * np.sqrt(c.sum()), relative(gradients, y, means[:, 1:], len(x))
    weights = np.vstack([w / size, constant])
    return LeastSquaresFit(weights, residuals, optimality, "formula", rank=int(varies), condition=1.0)


def by_triangle(data: Dense | Csr, targets: Targets, weights: Array) -> LeastSquaresFit:
    """Return the weights by orthogonal reflections of blocks of rows: as stable as the data allow."""
    features, many = data.n_features, targets.shape[1]
    refuse_too_wide(data.n_rows, features + 1 + many)
    return solve_triangle(absorb(start_triangle(features, many, data.bias), data, targets, weights))


@np.errstate(over="ignore", invalid="ignore")
def by_iteration(
    data: Dense | Csr, targets: Targets, weights: Array, tol: float, max_iter: int, jobs: int
) -> LeastSquaresFit:
    """Return the weights by LSMR, until ||Xᵀ(XW - Y)|| <= tol ||X|| ||Y|| or the budget is used up.

    Memory: some (rows + features) x 16 targets. Columns of very different lengths make it slow: scale them.
    """
    columns = targets.shape[1]
    groups = [slice(a, min(a + TOGETHER, columns)) for a in range(0, columns, TOGETHER)]
    centred = Centred(data, weights, jobs)
    found = [_lsmr(centred, targets[:, group], tol, max_iter) for group in groups]
    return LeastSquaresFit(
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
        self.weights = (weights if len(weights) else np.ones(data.n_rows))[:, None]
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


class LsmrState(NamedTuple):
    """The state of LSMR in the letters of the paper: one column, or one number, for each target still on the way."""

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

    def of(self, which: Array) -> "LsmrState":
        """Return the walk of some targets."""
        return LsmrState(*(a[..., which] for a in self))


def _lsmr(A: Centred, y: Array, tol: float, max_iter: int) -> LeastSquaresFit:
    """Follow each target on its own, all in the same walks over the rows, until it is done."""
    b, means = A.targets(y)
    sizes, u = _normed(b)
    alpha, v = _normed(A.transposed(u))
    one, zero = np.ones_like(alpha), np.zeros_like(alpha)
    walk = LsmrState(u, v, v, np.zeros_like(v), alpha, alpha, alpha * sizes, one, one, one, zero, alpha)
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
    return LeastSquaresFit(W, lengths(off), optimality, "iterative", max(iterations, 1), converged=not len(left))


def _further(A: Centred, at: LsmrState) -> tuple[LsmrState, Array]:
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
    walk = LsmrState(u, v, h, h_bar, alpha, c * alpha, -s_bar * at.zeta_bar, rho, rho_bar, c_bar, s_bar, norm)
    return walk, zeta / rho / rho_bar * h_bar


def _normed(a: Array) -> tuple[Array, Array]:
    """Return the lengths of the columns, and the columns divided by them."""
    sizes = lengths(a)
    return sizes, a / np.where(sizes > 0, sizes, 1.0)
