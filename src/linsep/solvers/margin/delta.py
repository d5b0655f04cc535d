"""Bracket the tightest Delta-trick bound on the mistakes of a perceptron.

With z_i = y_i x_i, R the largest ||z_i|| and any w, T passes over the rows in any order make at most F(w)² mistakes:

    F(w) = R ||w|| + sqrt(T) ||(1 - Z w)+||,     and min F = max sum of a_i over a >= 0 with ||a|| <= sqrt(T)
                                                             and ||sum of a_i z_i|| <= R.

At the best w the slacks xi = (1 - Z w)+ satisfy w = 2C sum of xi_i z_i with 2C = sqrt(T) ||w|| / (R ||xi||): it is the
soft margin with squared slacks at that cost C. So the search descends on the soft margin's dual and corrects C on its
way, until r(C) = ln(sqrt(T) ||w|| / (R ||a||)), which falls with C, is 0. Where F is least at a w without slacks, C
grows without bound, and where it is least at w = 0, C goes to 0: neither keeps the bracket from closing.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import one_blas_thread
from linsep.solvers import BracketWatch
from linsep.solvers.margin.hard import HardMargin
from linsep.solvers.margin.soft import SoftDescent, minimise, tame

FAR = 4.0
"""The most by which w is stretched for the least F, unless it separates."""
SURE = 1e-4
"""The accuracy to which scales and shares are sought; the bounds err by its square."""
TINY = float(np.finfo(np.float64).tiny)
FALL = -0.3
"""Slope of r against ln C on common data."""
STEEP, FLAT = -1.0, -0.1
"""The steepest and the flattest fall that a step reckons with."""
STRIDE = math.log(8.0)
"""The longest step of ln C."""
SHORT = 0.05
"""A step of ln C from which the fall of r is not read: the rest of the search would be seen in it."""
SMALLEST, LARGEST = 1e-12, 1e12
"""Bounds on C R²."""
READY = 0.2
"""C is corrected once the gap of the soft margin, and the last change of r, are no larger than this share of |r|."""
LAG = 2.0
"""The remaining change of r, as a multiple of its last change."""
EARLY = 1.1
"""The estimate of the gap, as a multiple of that asked for, at which the true one is computed."""
SELDOM = 10
"""Passes between two proofs, at most."""
LONG, FEW, STIFF = 100, 256, 1e8
"""Passes after which a problem with fewer features is left to Newton's method, unless C R² is larger than this."""


def relative_gap(lower: float, upper: float) -> float:
    """Return (upper² - lower²) / upper², no less than 0; 0 where upper is 0."""
    return max(1.0 - (lower / upper) ** 2, 0.0) if upper > 0.0 else 0.0


class DeltaBracket:
    """The best w and a so far, for min F(w) = R ||w|| + root ||(1 - Z w)+||."""

    def __init__(self, descent: SoftDescent, radius: float, root: float, watch: BracketWatch | None) -> None:
        self.descent, self.radius, self.root, self.watch = descent, radius, root, watch
        self.upper, self.lower = math.inf, 0.0
        self.reported = 0.0, math.inf
        self.weights, self.point = np.zeros(len(descent.weights)), np.zeros(len(descent.weights))
        self.dual = np.zeros(len(descent.dual))

    def gap(self, upper: float = math.inf) -> float:
        """Return the relative gap (upper² - lower²) / upper², for an upper bound that is hoped for if it is smaller."""
        return relative_gap(self.lower, min(upper, self.upper))

    def prove(self, weights: Array, dual: Array) -> None:
        """See by how much w and a narrow the bracket."""
        self._fall_to(weights)
        self.rise_to(dual, self.descent.summed(dual))

    def report(self) -> None:
        """Report the bracket if it has become narrower."""
        if self.watch is not None and self.reported != (self.lower, self.upper):
            self.watch(self.lower, self.upper)
        self.reported = self.lower, self.upper

    def _fall_to(self, weights: Array) -> None:
        """Take w at its best scale if its F is the least so far."""
        margins = self.descent.signs * self.descent.scores(weights)
        scale, upper = best_scale(margins, self.radius * float(np.linalg.norm(weights)), self.root)
        if upper < self.upper:
            self.upper, self.weights = max(upper, self.lower), weights * scale

    def rise_to(self, dual: Array, point: Array) -> None:
        """Mix a, with the sum of a_i z_i, into the best one so far as far as that makes the sum of a larger.

        The best a is bound by ||a|| and ||sum of a_i z_i|| alike. Of two that are each bound by another, both from the
        neighbourhood of the best, a mixture is better than either.
        """
        sums = np.array([np.sum(self.dual), np.sum(dual)])
        sizes, lengths = _products(self.dual, dual), _products(self.point, point)

        def stretch(share: float) -> float:
            mix = np.array([1.0 - share, share])
            square = max(mix @ sizes @ mix / self.root**2, mix @ lengths @ mix / self.radius**2, TINY)
            return 1.0 / math.sqrt(square)

        def total(share: float) -> float:
            return float(sums @ (1.0 - share, share)) * stretch(share)

        share = max((_least(lambda share: -total(share), 1.0), 1.0), key=total)
        if self.lower < (lower := total(share)) < math.inf:
            old, new = (1.0 - share) * stretch(share), share * stretch(share)
            self.dual, self.point = old * self.dual + new * dual, old * self.point + new * point
            self.lower = min(lower, self.upper)


def best_scale(margins: Array, length: float, root: float) -> tuple[float, float]:
    """Return the t >= 0 with the least F(t w), and that F, given the margins Z w and R ||w||.

    >>> best_scale(np.array([0.5, 4.0]), 1.0, 10.0)
    (2.0, 2.0)
    """

    def bound(t: float) -> float:
        slacks = np.maximum(1.0 - t * margins, 0.0)
        return t * length + root * math.sqrt(float(slacks @ slacks))

    scales = [0.0]
    if length > 0.0:
        scales += [1.0, _least(bound, FAR)]
        if (least := float(np.min(margins))) > 0.0:
            scales.append(1.0 / least)
    return min(((t, bound(t)) for t in scales), key=lambda pair: pair[1])


def _least(function: Callable[[float], float], end: float) -> float:
    """Return where a function that falls and then rises is least between 0 and `end`."""
    found: Any = optimize.minimize_scalar(function, bounds=(0.0, end), method="bounded", options={"xatol": SURE})
    return float(found.x)


def _products(a: Array, b: Array) -> Array:
    """Return the inner products of two vectors."""
    return np.array([[a @ a, a @ b], [a @ b, b @ b]])


class DeltaBound(NamedTuple):
    """The bound, and the proof of how tight it is."""

    weights: Array
    """(features + 1,): w, as a multiple of 2**exponent."""
    exponent: int
    """0, unless the data are so large or small that floats could not hold w."""
    dual: Array
    """(rows,): a."""
    upper: float
    """F(w): no order of the rows leads to more than upper² mistakes."""
    lower: float
    """The sum of a: no w has a smaller F."""
    cost: float
    """C R², with which the search ended."""
    iterations: int
    """Passes over the rows."""
    converged: bool
    """True if the bracket is as narrow as asked for."""

    @property
    def gap(self) -> float:
        """The relative gap of the bound, (upper² - lower²) / upper²."""
        return relative_gap(self.lower, self.upper)


@one_blas_thread()
@np.errstate(over="ignore", under="ignore", invalid="ignore")
def delta_bound(
    data: Dense | Csr, signs: Array, *, radius: float, passes: float = 1, tol: float = 0.005, max_iter: int = 2000,
    start: DeltaBound | HardMargin | None = None, deadline: float | None = None,
    watch: BracketWatch | None = None, seed: int = 0, jobs: int = 1,
) -> DeltaBound:  # fmt: skip
    """Find the w of the tightest bound, and the a that proves it.

    Parameters
    ----------
    data, signs, deadline, watch, seed, jobs
        As for all solvers: see :mod:`linsep.solvers`; the bracket is that of F.
    radius : float
        R, the largest ||x_i|| with the constant feature. Where floats can't hold it, it is found again.
    passes : float, default=1
        T, the passes of the perceptron.
    tol : float, default=0.005
        The relative gap (upper² - lower²) / upper² at which to stop.
    max_iter : int, default=2000
        The most passes of the search over the rows.
    start : DeltaBound or HardMargin, optional
        The solution of a similar problem with the same rows: for other `passes`, or another constant feature; or their
        hard margin, which is the solution where T is large.

    >>> X = Dense(np.array([[2.0, 0.0], [2.0, 1.0], [-2.0, 1.0]]), bias=0.0)
    >>> found = delta_bound(X, np.array([1.0, 1.0, -1.0]), radius=5**0.5, passes=4, tol=1e-9)
    >>> round(found.lower**2, 6), round(found.upper**2, 6), found.weights.round(6)
    (1.25, 1.25, array([0.5, 0. , 0. ]))
    """
    data, exponent = tame(data)
    descent = SoftDescent(data, signs, np.zeros(0), "l2", True, jobs)
    radius = math.ldexp(radius, -exponent)
    if not 0.0 < radius < math.inf:
        radius = math.hypot(math.sqrt(float(np.max(descent.norms, initial=0.0))), data.bias) or 1.0
    bracket = DeltaBracket(descent, radius, math.sqrt(passes), watch)
    bracket.prove(np.zeros(data.n_features + 1), np.ones(data.n_rows))
    search = DeltaSearch(bracket, tol, max_iter, seed)
    if start is not None:
        search.begin_with(start, exponent)
    bracket.report()
    while bracket.gap() > tol and search.passes < max_iter and (deadline is None or time.monotonic() < deadline):
        search.one_round()
        bracket.report()
    return DeltaBound(
        bracket.weights, -exponent, bracket.dual, bracket.upper, bracket.lower, search.cost, search.passes,
        bracket.gap() <= tol,
    )  # fmt: skip


class DeltaSearch:
    """Descend on the soft margin's dual at a cost that is corrected on the way."""

    def __init__(self, bracket: DeltaBracket, tol: float, max_iter: int, seed: int) -> None:
        self.bracket, self.descent = bracket, bracket.descent
        self.tol, self.max_iter = tol, max_iter
        self.rng = np.random.default_rng(seed)
        self.passes = self.proved = 0
        self.fall, self.last = FALL, math.inf
        self.before: tuple[float, float] | None = None
        self._set_cost(1.0)

    def begin_with(self, start: DeltaBound | HardMargin, exponent: int) -> None:
        """Begin at the solution of a similar problem."""
        bracket, descent = self.bracket, self.descent
        if start.dual.shape != descent.dual.shape:
            rows = len(descent.dual)
            raise ValueError(f"the start has {len(start.dual)} rows, the data {rows}: begin with one for the same rows")
        weights = np.ldexp(start.weights, exponent + (start.exponent if isinstance(start, DeltaBound) else 0))
        weights[-1] *= descent.data.bias != 0.0
        bracket.prove(weights, start.dual)
        if isinstance(start, DeltaBound):
            descent.dual = start.dual.copy()
            descent.weights = descent.summed(descent.dual)
            self._set_cost(start.cost)

    def one_round(self) -> None:
        """Make a pass or a few; update the proved bounds and correct C if that is due."""
        if self.passes >= LONG and self.descent.data.n_features < FEW and self.cost <= STIFF:
            self._jump()
            return
        bracket, descent = self.bracket, self.descent
        estimate, spent = descent.one_round(self.rng, self.passes - self.began, self.max_iter - self.passes)
        self.passes += spent
        point = descent.weights.copy()
        point[-1] = descent.data.bias * float(descent.dual @ descent.signs)
        bracket.rise_to(descent.dual, point)
        off = self._off()
        due = not len(descent.rows) or bracket.gap(self._hoped(estimate)) <= EARLY * self.tol
        if due or self.passes >= min(self.proved + SELDOM, self.max_iter):
            self._prove()
        if due:
            descent.recall()
        change, self.last = off - self.last, off
        if max(estimate, abs(change)) <= READY * abs(off):
            self._correct(off + LAG * change)

    def _jump(self) -> None:
        """Solve the soft margin at this C by Newton's method, and correct C."""
        descent = self.descent
        weights, steps = minimise(descent.data, descent.signs, descent.cost, descent.weights, descent.jobs)
        slacks = np.maximum(1.0 - descent.signs * descent.scores(weights), 0.0)
        descent.dual = 2.0 * descent.cost * slacks
        descent.weights = descent.summed(descent.dual)
        self.bracket.prove(weights, descent.dual)
        self.passes += steps
        self._correct(self._off())

    def _off(self) -> float:
        """Return r = ln(sqrt(T) ||w|| / (R ||a||)): how far C is from the best, in its effect."""
        length = self.bracket.root * float(np.linalg.norm(self.descent.weights))
        size = self.bracket.radius * float(np.linalg.norm(self.descent.dual))
        return math.log(length / size) if length > 0.0 and size > 0.0 else -STRIDE

    def _correct(self, off: float) -> None:
        """Move C to where r is thought to be 0; half as far as before at most where the last step went too far."""
        place, longest = math.log(self.cost), STRIDE
        if self.before is not None:
            came, was = place - self.before[0], self.before[1]
            if abs(came) > SHORT:
                self.fall = min(max((off - was) / came, STEEP), FLAT)
            if off * was < 0.0:
                longest = abs(came) / 2.0
        self.before = place, off
        step = min(max(-off / self.fall, -longest), longest)
        self._set_cost(min(max(math.exp(place + step), SMALLEST), LARGEST))

    def _set_cost(self, cost: float) -> None:
        """Set C R², and bring the variables to the scale that is best for it."""
        descent = self.descent
        descent.set_cost(cost / self.bracket.radius**2)
        total, quadratic = descent.terms(descent.weights, descent.dual)
        if quadratic > 0.0:
            descent.weights *= total / quadratic
            descent.dual *= total / quadratic
        self.cost, self.began, self.last = cost, self.passes, math.inf

    def _hoped(self, estimate: float) -> float:
        """Return the F that the soft margin's objective P promises, given its gap: F² <= P (2 R² + T / C)."""
        descent, bracket = self.descent, self.bracket
        total, quadratic = descent.terms(descent.weights, descent.dual)
        primal = 0.5 * total**2 / quadratic / max(1.0 - estimate, 0.01) if quadratic > 0.0 else math.inf
        return bracket.radius * math.sqrt(primal * (2.0 + bracket.root**2 / self.cost))

    def _prove(self) -> None:
        """See what the descent's variables prove."""
        found = self.descent.proof()
        self.proved = self.passes
        self.bracket.prove(found.weights, found.dual)
