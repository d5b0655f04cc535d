"""The hard margin: the widest gap between two classes, bracketed from both sides at every step.

With z_i = y_i x_i, the largest margin of a unit w through the origin is the distance from 0 to the hull of the z_i:

    max over w of min_i z_i·w / ||w||  =  min over lambda of ||sum of lambda_i z_i||,  lambda >= 0, sum 1.

Any w bounds it from below and any lambda from above. Two searches take turns at lambda (see
:mod:`linsep.solvers.margin.search`); passes over all rows tell how far apart the bounds are, and each step takes time
linear in the entries. With a free bias the margin is half the distance between the hulls of the two classes: the same
problem, with lambda summing to 1 in each class.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.core.blas import one_blas_thread
from linsep.core.examples import Csr, Dense
from linsep.solvers.margin.hull_points import Points
from linsep.solvers.margin.search import FULL, Bracket, Descent, Walk
from linsep.solvers.products import features_of

SMALL = 256
"""The corral with which Wolfe's algorithm, having the first turn, stops to let coordinate descent try."""
TURN = 64
"""Passes of coordinate descent in its first turn; each is twice as long as the one before."""
DUST = 1e-14
"""Weights that a witness can do without: they are what rounding left of 0."""


class HardMargin(NamedTuple):
    """What the solver found."""

    weights: Array
    """(features + 1,): min_i y_i w·x_i = 1 on separable data; else the unit w of the best lower bound, as also where
    floats can't hold that one."""
    dual: Array
    """(rows,): lambda, summing to 1 (to 1/2 in each class with a free bias): ||sum of lambda_i y_i x_i|| = upper."""
    lower: float
    """The margin of `weights`: the largest is no smaller; negative where a row is on the wrong side."""
    upper: float
    """The largest margin is no larger."""
    iterations: int
    """Passes over all rows."""
    separable: bool | None
    """True: `weights` separates, beyond rounding. False: `dual` is the witness, which sums up to 0 but for rounding.
    None: open."""
    converged: bool
    """Whether the bracket was closed to `tol`, or the witness found, within the budget."""
    radius: float
    """The largest ||x_i||, the constant feature included where it is penalised."""
    history: Array
    """(proofs, 2): the bracket after each step, or after some passes of coordinate descent."""

    @property
    def support(self) -> Array:
        """The rows with weight in `dual`: the support vectors, or the rows of the witness."""
        return np.flatnonzero(self.dual)

    @property
    def gap(self) -> float:
        """The relative gap, (upper - lower) / upper, no less than 0; 0 with a witness, which leaves nothing open."""
        return max(self.upper - self.lower, 0.0) / self.upper if self.separable is not False else 0.0


@one_blas_thread()
def hard_margin(
    data: Dense | Csr, signs: Array, row_weights: Array, *, tol: float = 1e-3, max_iter: int = 1000,
    penalize_bias: bool = True, zero: float = 1e-10, seed: int = 0, jobs: int = 1, enough: float = 0.0,
    start: Array | None = None, deadline: float | None = None, watch: Callable[[float, float], None] | None = None,
) -> HardMargin:  # fmt: skip
    """Find the largest margin, or the rows that prove there is none.

    Parameters
    ----------
    data : Dense or Csr
        The rows; `data.bias` is the constant feature's value, 0.0 where there is none.
    signs : float64 array of shape (rows,)
        +1 or -1 for each row.
    row_weights : array of shape (rows,) or (0,)
        Rows of weight 0 are absent; other weights change nothing, as repeated rows have the same hull.
    tol : float, default=1e-3
        The relative gap (upper - lower) / upper at which to stop. Rounding allows about 1e-12 on common data.
    max_iter : int, default=1000
        The most passes over all rows.
    penalize_bias : bool, default=True
        Whether the constant feature counts as a feature like all others, in ||w|| as in ||x||; else the bias is free.
    zero : float, default=1e-10
        The point of the hull that counts as 0, as a share of the largest ||x_i||. It is refined as far as floats allow.
    seed : int, default=0
        Seed of the order of rows.
    jobs : int, default=1
        Threads for the passes that prove.
    enough : float, default=0.0
        A margin that is no larger is not worth more search: a w that separates is enough then; and where only
        coordinate descent can get on, so are some passes that bring no such w nearer.
    start : float64 array of shape (rows,), optional
        A multiple of some lambda to begin with.
    deadline : float, optional
        The value of time.monotonic() at which to return with what is found.
    watch : callable, optional
        Called with (lower, upper) each time that the bracket has become narrower.

    Examples
    --------
    >>> import numpy as np
    >>> X = Dense(np.array([[2.0, 0.0], [3.0, 1.0], [0.0, 0.0]]), bias=1.0)
    >>> found = hard_margin(X, np.array([1.0, 1.0, -1.0]), np.zeros(0), penalize_bias=False)
    >>> found.weights, found.upper, found.support
    (array([ 1.,  0., -1.]), 1.0, array([0, 2]))
    """
    points = Points(data, signs, row_weights, not penalize_bias and data.bias != 0.0, jobs)
    naught = points.present & (points.norms == 0.0)
    if points.groups == 1 and naught.any() and not naught.all():
        others = (points.present & ~naught).astype(np.float64)
        found = hard_margin(
            data, signs, others, tol=tol, max_iter=max_iter, zero=zero, seed=seed, jobs=jobs, enough=enough,
            start=None if start is None else start * others, deadline=deadline,
            watch=None if watch is None else lambda lower, upper: watch(min(lower, 0.0), min(upper, 0.0)),
        )  # fmt: skip
        return _with_a_zero_row(found, int(np.argmax(naught)))
    finite = not enough or min(int(points.present.sum()), features_of(data) + 2) <= FULL
    bracket = Bracket(points, tol, zero, max_iter, enough=enough, lasting=finite, deadline=deadline, watch=watch)
    descent, walk = Descent(bracket, data, seed), Walk(bracket)
    if start is not None:
        descent.begin_with(start)
    if finite:
        walk.take_turn(room=SMALL)
    passes = TURN
    while not bracket.done():
        descent.take_turn(passes)
        if descent.support <= FULL or (finite and not bracket.separates):
            walk.hear_of(descent)
            walk.take_turn(passes)
        passes *= 2
    return _result(bracket, data.bias)


def _result(bracket: Bracket, bias: float) -> HardMargin:
    """Return what was found, in the data's unit."""
    points, unit = bracket.points, bracket.points.scale
    weights, dual, upper = bracket.unit.copy(), bracket.dual, bracket.upper
    if points.groups == 2:
        weights[-1] = (bracket.nearest[0] - bracket.nearest[1]) / 2 / bias / unit
    if bracket.separates:
        stretch = unit / bracket.lower
        weights *= stretch if np.isfinite(stretch) else 1.0
    elif bracket.vanished:
        dual = np.where(dual > DUST, dual, 0.0)
        dual /= np.bincount(points.group, dual)[points.group]
        upper = float(np.linalg.norm(points.point(dual))) / points.groups
    separable = True if bracket.separates else False if bracket.vanished else None
    return HardMargin(
        weights, dual / points.groups, bracket.lower / unit, upper / unit, bracket.passes, separable, bracket.proved(),
        points.radius / unit, np.array(bracket.history) / unit,
    )  # fmt: skip


def _with_a_zero_row(found: HardMargin, row: int) -> HardMargin:
    """Return the answer with a row that is 0, given that for the other rows: it is the witness by itself."""
    dual = np.zeros(len(found.dual))
    dual[row] = 1.0
    lower, history = min(found.lower, 0.0), np.minimum(found.history, 0.0)
    return found._replace(dual=dual, lower=lower, upper=0.0, separable=False, converged=True, history=history)
