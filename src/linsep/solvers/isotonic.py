"""Isotonic calibration: the probability of a class as the best function of a score that never falls."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from linsep.core.arrays import Array

NO_WEIGHTS = np.empty(0)


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
    rows at all are answered by 1/2.

    Parameters
    ----------
    scores : array, (rows,)
        Finite numbers.
    positive : array of bool, (rows,)
        Which rows are of the class.
    weights : array, (rows,), optional
        How many rows each row counts as; 0 leaves it out.

    Notes
    -----
    Zadrozny and Elkan (2002), "Transforming classifier scores into accurate multiclass probability estimates".

    Examples
    --------
    >>> steps = fit_isotonic([1, 2, 3, 4, 5, 6], [False, False, True, False, True, True])
    >>> steps.x, steps.y
    (array([1., 2., 3., 4., 5., 6.]), array([0. , 0. , 0.5, 0.5, 1. , 1. ]))
    """
    s, member = np.asarray(scores, np.float64), np.asarray(positive, bool)
    w = np.ones(len(s)) if len(weights) == 0 else np.asarray(weights, np.float64)
    if not w.all():
        s, member, w = s[w > 0], member[w > 0], w[w > 0]
    if not len(s):
        return Isotonic(np.zeros(1), np.full(1, 0.5))
    w = w / w.max()
    points, place = np.unique(s, return_inverse=True)
    mass = np.bincount(place, w)
    found = isotonic_regression(np.bincount(place, w * member) / mass, weights=mass)
    ends = np.unique(np.concatenate([found.blocks[:-1], found.blocks[1:] - 1]))
    return Isotonic(points[ends], np.clip(found.x[ends], 0.0, 1.0))
