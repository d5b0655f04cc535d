"""Find powers of two of the columns for which the perceptron's bound is small.

Where column j is multiplied by s_j > 0, weights w become w_j / s_j, and the scores stay the same. The bound of T passes

    F = R ||w|| + sqrt(T) ||(1 - Zw)+||  becomes  R(s) ||w / s|| + sqrt(T) ||(1 - Zw)+||,

with R(s)² = max_i sum_j s_j² x_ij², so that the losses do not depend on s. Two steps take turns: the w of the least
bound for a scaling, and the scaling of the least R(s) ||w / s|| for a w. The second is convex in d = s². With a mixture
lambda of the rows and q_j = sum_i lambda_i x_ij², by the inequality of Cauchy and Schwarz

    (sum_j |w_j| sqrt(q_j))²  <=  max_i sum_j d_j x_ij² · sum_j w_j² / d_j,

with equality for d_j = |w_j| / sqrt(q_j) where lambda is best. The best lambda is found by multiplying lambda_i by
sum_j d_j x_ij², again and again (Titterington, 1976). At last s is rounded to powers of two, which keeps floats exact.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin.delta import delta_bound

TURNS, STEPS = 16, 1000
"""Turns of the two steps, and of the second step's iterations, at most."""
SETTLED = 1e-4
"""The relative gap at which those iterations end."""
FAINT = 1e-3
"""A column keeps at least this share of the largest column's part in the scores: a later turn may need it."""
ROUGH = 0.005
"""The gap of bounds on the way."""
LESS = 0.998
"""A turn that lowers the bound less than by this factor is the last."""
OFFSETS = tuple(k / 8 for k in range(8))
"""Offsets added to logarithms before rounding: the best offset counts."""
FARTHEST = 400
"""Exponents of two, at most."""


class ColumnScaling(NamedTuple):
    """Powers of two of the columns, and the bound that they lead to."""

    exponents: Array
    """For each feature; the column is multiplied by 2^exponent."""
    bias: float
    """The constant feature's value, a power of two; 0 if there is none."""
    bound: float
    """F² for the scaled rows, in floats."""


def scaled_columns(data: Dense | Csr, exponents: Array, bias: float) -> Dense | Csr:
    """Return rows whose columns are multiplied by powers of two, with another constant feature.

    Examples
    --------
    >>> scaled_columns(Dense(np.array([[3.0, 0.5]]), bias=1.0), np.array([-1, 2]), 4.0)
    Dense(values=array([[1.5, 2. ]]), bias=4.0)
    """
    values = data.values.astype(np.float64)
    powers = exponents[data.indices] if isinstance(data, Csr) else exponents
    return data._replace(values=frozen(np.ldexp(values, powers)), bias=bias)


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def column_scaling(
    data: Dense | Csr, signs: Array, *, passes: float = 1, deadline: float | None = None, jobs: int = 1
) -> ColumnScaling:
    """Find a scaling of the columns, and a constant feature, of a small bound for so many passes.

    The first scaling makes the columns' largest entries alike; if it leads to a w of 0 alone, their deviations.

    Examples
    --------
    >>> X = Dense(np.array([[1.0, 500.0], [2.0, -500.0], [-1.0, 700.0], [-2.0, -700.0]]), bias=0.0)
    >>> signs = np.array([1.0, 1.0, -1.0, -1.0])
    >>> found = column_scaling(X, signs)
    >>> bool(found.exponents[0] - found.exponents[1] > 8), round(found.bound)
    (True, 3)
    """
    columns = _Columns(data, signs, passes, math.inf if deadline is None else deadline, jobs)
    best = columns.bounded(np.zeros(data.n_features + 1), data.bias)
    for start in columns.starts():
        logs = columns.improved(start)
        if logs is not None:
            rounded = [np.floor(logs + offset) for offset in OFFSETS]
            return min([best, *map(columns.bounded, rounded)], key=lambda of: of.bound)
    return best


class _Columns:
    """The columns, the constant feature last if there is one, and logarithms of base 2 of their factors."""

    def __init__(self, data: Dense | Csr, signs: Array, passes: float, deadline: float, jobs: int) -> None:
        self.data, self.signs, self.passes, self.deadline, self.jobs = data, signs, passes, deadline, jobs
        X: Any = sp.csr_array(data.to_scipy()).astype(np.float64)
        constant: Any = sp.csr_array(np.full((X.shape[0], 1), float(data.bias != 0)))
        self.X: Any = sp.csr_array(sp.hstack([X, constant]))
        self.X.eliminate_zeros()
        self.most = np.zeros(self.X.shape[1])
        np.maximum.at(self.most, self.X.indices, np.abs(self.X.data))
        self.used = self.most > 0
        self.logs = np.log2(self.most, out=np.zeros(len(self.most)), where=self.used)
        self.near = self.X.copy()
        self.near.data = self.X.data / self.most[self.X.indices]
        self.squares = self.near.copy()
        self.squares.data = np.square(self.near.data)

    def starts(self) -> list[Array]:
        """Return the first logarithms: those that make the largest entries alike, or the deviations."""
        n = self.X.shape[0]
        means, squares = (np.asarray(of.sum(axis=0)).ravel() / n for of in (self.near, self.squares))
        spread = np.sqrt(np.maximum(squares - means**2, squares * 1e-6))
        spread[-1] = 1.0
        return [-self.logs, -self.logs - np.log2(np.where(self.used & (spread > 0), spread, 1.0))]

    def solved(self, logs: Array, bias: float) -> tuple[float, Array]:
        """Return the bound for a scaling, infinite where floats can't hold it, and its weights."""
        whole, part = np.floor(logs).astype(np.int64), np.exp2(logs - np.floor(logs))
        rows = scaled_columns(self.data, whole[:-1], bias)
        exact = np.array_equal(scaled_columns(rows, -whole[:-1], bias).values, self.data.values)
        factors = part[:-1][rows.indices] if isinstance(rows, Csr) else part[:-1]
        rows = rows._replace(values=frozen(rows.values * factors))
        radius = float(np.sqrt((self.squares @ np.exp2(2 * (logs + self.logs))).max(initial=0.0)))
        if not (exact and np.isfinite(rows.values).all() and 0 < radius < math.inf):
            return math.inf, np.zeros(len(logs))
        found = delta_bound(
            rows, self.signs, radius=radius, passes=self.passes, tol=ROUGH, jobs=self.jobs,
            deadline=None if math.isinf(self.deadline) else self.deadline,
        )  # fmt: skip
        return found.upper**2, found.weights

    def bounded(self, logs: Array, bias: float | None = None) -> ColumnScaling:
        """Return a scaling by powers of two with its bound; the constant feature may have another value."""
        near = logs - np.floor(np.median(logs[:-1][self.used[:-1]])) if self.used[:-1].any() else logs
        near = np.where(self.used, np.clip(near, -FARTHEST, FARTHEST), 0.0)
        if bias is None:
            bias = math.ldexp(1.0, int(near[-1])) if self.data.bias else 0.0
        near[-1] = math.log2(bias) if bias else 0.0
        return ColumnScaling(near[:-1].astype(np.int64), bias, self.solved(near, bias)[0])

    def improved(self, logs: Array) -> Array | None:
        """Return the logarithms of a small bound that turns lead to; None where no weights were of use."""
        best, least = None, math.inf
        for _ in range(TURNS):
            if time.monotonic() >= self.deadline:
                break
            logs = np.where(self.used, np.clip(logs, -FARTHEST, FARTHEST), 0.0)
            bound, w = self.solved(logs, math.exp2(logs[-1]) if self.data.bias else 0.0)
            if not w.any():
                break
            enough = bound > LESS * least
            best, least = (logs, bound) if bound < least else (best, least)
            if enough:
                break
            logs = self.scaling(w, logs)
        return best

    def scaling(self, w: Array, logs: Array) -> Array:
        """Return the logarithms of the least R(s) ||w / s|| for weights of rows that are scaled already."""
        parts = np.abs(w) * np.exp2(logs + self.logs)
        parts = np.maximum(parts, FAINT * parts.max(initial=0.0)) * self.used
        mixture = np.full(self.squares.shape[0], 1 / self.squares.shape[0])
        d = np.zeros(len(parts))
        for _ in range(STEPS):
            q = self.squares.T @ mixture
            d = np.divide(parts, np.sqrt(q), out=np.zeros(len(parts)), where=q > 0)
            lengths = self.squares @ d
            value = float(mixture @ lengths)
            if not value > 0 or lengths.max() <= (1 + SETTLED) * value:
                break
            mixture *= lengths / value
        return np.where(d > 0, np.log2(d, out=np.zeros(len(d)), where=d > 0) / 2 - self.logs, logs)
