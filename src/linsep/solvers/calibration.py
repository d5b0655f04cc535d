"""Fit calibration maps: Platt's sigmoid, isotonic regression, and one temperature for all classes."""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import expit, logit, softmax

from linsep.engine.arrays import Array

NO_WEIGHTS = np.empty(0)
SURE = 2.0**-52
"""Least distance of a target from 0 and 1: at 0 or 1, separating scores would have no best slope."""
CLOSE, GOOD = 1e-20, 1e-10
"""Newton's method stops at the first gap; where rounding stops it before, it is well below the second."""
SUFFICIENT, HALVINGS = 1e-4, 60
STEEPEST = 2.0**20
"""The largest slope of a temperature, on scores within ±1: scores that separate have no best one."""


class Platt(NamedTuple):
    """Pr(y = 1 | s) = 1 / (1 + e^-(slope s + offset)), and how it was found.

    >>> Platt(slope=2.0, offset=-1.0).probabilities([0.0, 0.5, 400.0]).round(2)
    array([0.27, 0.5 , 1.  ])
    """

    slope: float
    offset: float
    gap: float = 0.0
    """By how much the mean loss could still be lower, as Newton's method estimates it."""
    iterations: int = 0
    converged: bool = True

    def probabilities(self, scores: Any) -> Array:
        """Return the probability of the class, given scores; however large these are, it is one."""
        with np.errstate(over="ignore"):
            return expit(self.slope * np.asarray(scores, np.float64) + self.offset)


def fit_platt(scores: Any, positive: Any, weights: Array = NO_WEIGHTS, max_iter: int = 100) -> Platt:
    """Return the sigmoid of most likely slope and offset, for smoothed labels.

    It minimises the sum of w_i [ln(1 + e^z_i) - t_i z_i], z = slope s + offset, with the targets (N+ + 1) / (N+ + 2)
    for rows of the class and 1 / (N- + 2) for others, N the sum of the weights of either: so that the best slope is
    finite on scores that separate; without rows the probability is 1/2. Newton's method with backtracking, on
    centred and scaled scores: the sum is strictly convex, and so it gets to the minimum from anywhere. All sums are
    numpy's own, whose bits do not depend on the number of threads.

    `scores` are finite numbers of any size, `positive` states which rows are of the class, and `weights` how many rows
    each row counts as; 0 leaves it out. `max_iter` is the most steps; a dozen are the rule.

    Platt (1999), "Probabilistic outputs for support vector machines"; Lin, Lin and Weng (2007), "A note on Platt's
    probabilistic outputs". Where all scores are the same, or too small for a slope to separate them, the slope is 0.

    >>> sigmoid = fit_platt([-3.0, -1.0, 1.0, 3.0], [False, False, True, True])
    >>> sigmoid.probabilities([-3.0, 0.0, 3.0]).round(2), sigmoid.converged
    (array([0.2, 0.5, 0.8]), True)
    """
    s, member, w = _counted(scores, positive, weights)
    if not len(s):
        return Platt(0.0, 0.0)
    t = _targets(member, w)
    w = w / w.max()
    w = w / w.sum()
    flat = Platt(0.0, float(logit((w * t).sum())))
    if s.min() == s.max():
        return flat
    exponent = int(np.frexp(np.abs(s).max())[1])
    u = np.ldexp(s, -exponent)
    centre = (w * u).sum()
    u -= centre
    radius = np.abs(u).max()
    found = _newton(u / radius, t, w, flat.offset, max_iter)
    with np.errstate(over="ignore"):
        steep = found.slope / radius
        slope, offset = float(np.ldexp(steep, -exponent)), float(found.offset - steep * centre)
    return found._replace(slope=slope, offset=offset) if np.isfinite([slope, offset]).all() else flat


def _counted(scores: Any, positive: Any, weights: Array) -> tuple[Array, Array, Array]:
    """Return the rows that count: their scores, whether they are of the class, and their weights."""
    s, member = np.asarray(scores, np.float64), np.asarray(positive, bool)
    w = np.ones(len(s)) if len(weights) == 0 else np.asarray(weights, np.float64)
    return (s, member, w) if w.all() else (s[w > 0], member[w > 0], w[w > 0])


def _targets(member: Array, w: Array) -> Array:
    """Return what the probability of each row is to be: not quite its label."""
    with np.errstate(over="ignore"):
        high, low = 1 - 1 / (w[member].sum() + 2), 1 / (w[~member].sum() + 2)
    return np.where(member, min(high, 1 - SURE), max(low, SURE))


def _newton(u: Array, t: Array, w: Array, offset: float, max_iter: int) -> Platt:
    """Minimise the loss of weights with sum 1, from slope 0."""
    a, b, gap = 0.0, offset, np.inf
    z = np.full(len(u), b)
    fall, loss = _loss(z, t, w)
    for iteration in range(max_iter):
        residual, curvature = w * (expit(z) - t), w * fall / (1 + fall) ** 2
        total = curvature.sum()
        # Less their mean under the curvature, the scores have a direction of their own, apart from the offset's: there
        # is no determinant that could come out as 0.
        mean = (curvature * u).sum() / total if total > 0 else 0.0
        apart = u - mean
        down, across, bend = (residual * apart).sum(), residual.sum(), (curvature * apart**2).sum()
        if not (bend > 0 and total > 0):
            return Platt(a, b, gap, iteration, False)
        da = -down / bend
        db = -across / total - mean * da
        drop = float(down**2 / bend + across**2 / total)
        gap = drop / 2
        if gap <= CLOSE:
            return Platt(a, b, gap, iteration, True)
        step = 1.0
        for _ in range(HALVINGS):
            z = (a + step * da) * u + (b + step * db)
            fall, lower = _loss(z, t, w)
            if lower <= loss - SUFFICIENT * step * drop:
                break
            step /= 2
        else:
            return Platt(a, b, gap, iteration, gap <= GOOD)
        a, b, loss = float(a + step * da), float(b + step * db), lower
    return Platt(a, b, gap, max_iter, gap <= GOOD)


def _loss(z: Array, t: Array, w: Array) -> tuple[Array, float]:
    """Return e^-|z|, and the mean of ln(1 + e^z) - t z."""
    fall = np.exp(-np.abs(z))
    return fall, float((w * (np.log1p(fall) + np.maximum(z, 0.0) - t * z)).sum())


class Isotonic(NamedTuple):
    """A probability that never falls: `y` at the scores `x`, straight lines between, level beyond the ends.

    >>> Isotonic(np.array([-1.0, 1.0]), np.array([0.25, 0.75])).probabilities([-9.0, 0.0, 9.0])
    array([0.25, 0.5 , 0.75])
    """

    x: Array
    y: Array

    def probabilities(self, scores: Any) -> Array:
        """Return the probability of the class, given scores."""
        exponent = -np.frexp(np.abs(self.x[[0, -1]]).max())[1]  # so that no difference of scores overflows
        inside = np.clip(np.asarray(scores, np.float64), self.x[0], self.x[-1])
        return np.clip(np.interp(np.ldexp(inside, exponent), np.ldexp(self.x, exponent), self.y), 0.0, 1.0)


def fit_isotonic(scores: Any, positive: Any, weights: Array = NO_WEIGHTS) -> Isotonic:
    """Return the function of the score, among those that never fall, of the least squares to the labels 0 and 1.

    Rows of one score are one point. By scipy's pool-adjacent-violators; the ends of its level stretches are kept. No
    rows at all are given 1/2. The parameters are those of :func:`fit_platt`.

    Zadrozny and Elkan (2002), "Transforming classifier scores into accurate multiclass probability estimates".

    >>> steps = fit_isotonic([1, 2, 3, 4, 5, 6], [False, False, True, False, True, True])
    >>> steps.x, steps.y
    (array([1., 2., 3., 4., 5., 6.]), array([0. , 0. , 0.5, 0.5, 1. , 1. ]))
    """
    s, member, w = _counted(scores, positive, weights)
    if not len(s):
        return Isotonic(np.zeros(1), np.full(1, 0.5))
    w = w / w.max()
    points, place = np.unique(s, return_inverse=True)
    mass = np.bincount(place, w)
    found = optimize.isotonic_regression(np.bincount(place, w * member) / mass, weights=mass)
    ends = np.unique(np.concatenate([found.blocks[:-1], found.blocks[1:] - 1]))
    return Isotonic(points[ends], np.clip(found.x[ends], 0.0, 1.0))


class Temperature(NamedTuple):
    """Pr(class c | s) = e^(slope s_c) / sum over k of e^(slope s_k).

    Of two classes with one score it is 1 / (1 + e^-(slope s)) for the second.
    The slope is the inverse of the temperature. The most probable class is that of the highest score.

    >>> Temperature(2.0).probabilities([[0.0, 0.5, 400.0], [1.0, 1.0, 1.0]]).round(2)
    array([[0.  , 0.  , 1.  ],
           [0.33, 0.33, 0.33]])
    """

    slope: float

    def probabilities(self, scores: Any) -> Array:
        """Return the probability of each class, (rows, classes), or of the second one, (rows,), given scores."""
        s = np.asarray(scores, np.float64)
        with np.errstate(over="ignore"):
            if s.ndim == 1:
                return expit(self.slope * s)
            below = 0.5 * s - 0.5 * s.max(axis=1, keepdims=True)  # halves: their difference does not overflow
            return softmax(2.0 * (self.slope * below), axis=1)


def fit_temperature(scores: Any, codes: Any, weights: Array = NO_WEIGHTS) -> Temperature:
    """Return the temperature of the most likely labels.

    It minimises the sum of w_i [ln sum_k e^(slope s_ik) - slope s_iy], which is convex in the slope: its derivative is
    brought to 0 between 0 and a largest slope. `scores` are (rows, classes), or (rows,) for two classes; rows with NaN
    are left out. No rows at all give the slope 0.

    Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks".

    >>> fit_temperature([[0.0, 4.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]], [1, 0, 1, 0]).probabilities([[0, 4]]).round(2)
    array([[0.25, 0.75]])
    """
    s = np.asarray(scores, np.float64)
    if s.ndim == 1:
        s = np.column_stack([np.zeros(len(s)), s])
    w = np.ones(len(s)) if len(weights) == 0 else np.asarray(weights, np.float64)
    kept = (w > 0) & ~np.isnan(s).any(axis=1)
    s, own, w = s[kept], np.asarray(codes, np.intp)[kept], w[kept]
    if not len(s):
        return Temperature(0.0)
    exponent = int(np.frexp(np.abs(s).max())[1])  # so that no difference of scores overflows
    u = np.ldexp(s, -exponent - 1)
    u -= u.max(axis=1, keepdims=True)
    radius = float(-u.min())
    if radius == 0.0:
        return Temperature(0.0)
    u /= radius
    at_label = u[np.arange(len(u)), own]
    w = w / w.max()

    def derivative(slope: float) -> float:
        return float((w * ((softmax(slope * u, axis=1) * u).sum(axis=1) - at_label)).sum())

    if derivative(0.0) >= 0.0:
        found = 0.0
    elif derivative(STEEPEST) <= 0.0:
        found = STEEPEST
    else:
        found = float(optimize.brentq(derivative, 0.0, STEEPEST, xtol=1e-14, rtol=1e-14, maxiter=500))
    with np.errstate(over="ignore"):
        slope = float(np.ldexp(found / radius, -exponent - 1))
    return Temperature(slope if np.isfinite(slope) else float(np.finfo(np.float64).max))
