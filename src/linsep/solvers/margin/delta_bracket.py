"""What a w and an a prove of the tightest Delta-trick bound: F(w) from above, the sum of a from below."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from linsep.core.arrays import Array
from linsep.solvers.margin.soft import Descent

FAR = 4.0
"""The most by which w is stretched for the least F, unless it separates."""
SURE = 1e-4
"""The accuracy to which scales and shares are sought; the bounds err by its square."""
TINY = float(np.finfo(np.float64).tiny)


class Bracket:
    """The best w and a so far, for min F(w) = R ||w|| + root ||(1 - Z w)+||."""

    def __init__(
        self, descent: Descent, radius: float, root: float, watch: Callable[[float, float], None] | None
    ) -> None:
        self.descent, self.radius, self.root, self.watch = descent, radius, root, watch
        self.upper, self.lower = math.inf, 0.0
        self.told = 0.0, math.inf
        self.weights, self.point = np.zeros(len(descent.weights)), np.zeros(len(descent.weights))
        self.dual = np.zeros(len(descent.dual))

    def gap(self, upper: float = math.inf) -> float:
        """Return the relative gap (upper² - lower²) / upper², for an upper bound that is hoped for if it is smaller."""
        upper = min(upper, self.upper)
        return max(1.0 - (self.lower / upper) ** 2, 0.0) if upper > 0.0 else 0.0

    def prove(self, weights: Array, dual: Array) -> None:
        """See by how much w and a narrow the bracket."""
        self._fall_to(weights)
        self.rise_to(dual, self.descent.summed(dual))

    def tell(self) -> None:
        """Tell who watches if the bracket has become narrower."""
        if self.watch is not None and self.told != (self.lower, self.upper):
            self.watch(self.lower, self.upper)
        self.told = self.lower, self.upper

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

    Examples
    --------
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
    found: Any = minimize_scalar(function, bounds=(0.0, end), method="bounded", options={"xatol": SURE})
    return float(found.x)


def _products(a: Array, b: Array) -> Array:
    """Return the inner products of two vectors."""
    return np.array([[a @ a, a @ b], [a @ b, b @ b]])
