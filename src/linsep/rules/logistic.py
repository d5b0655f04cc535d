"""Stochastic logistic regression, with or without a Gaussian prior."""

from math import exp
from typing import NamedTuple

from linsep.engine.step import promises


@promises(settles=False, needs_norm=False)
class Logistic(NamedTuple):
    """Climb the log-likelihood of one row: w += rate_t (1 - p(y | x)) y x, with p(y | x) = 1 / (1 + e^{-y score}).

    rate_t = rate / t^power. A prior N(0, v) on the weights, shared among n rows, also shrinks them (MAP):
    keep = 1 - rate_t * shrink with shrink = 1 / (n v).

    >>> Logistic(rate=0.5).step(score=0.0, y=-1.0, xx=1.0, ww=0.0, t=1.0)
    (1.0, -0.25)
    >>> Logistic(rate=0.5, shrink=0.1).step(score=0.0, y=1.0, xx=1.0, ww=0.0, t=1.0)
    (0.95, 0.25)
    """

    rate: float = 0.1
    power: float = 0.0
    shrink: float = 0.0

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        rate = self.rate if self.power == 0 else self.rate / t**self.power
        z = y * score
        miss = exp(-z) / (1 + exp(-z)) if z > 0 else 1 / (1 + exp(z))
        return 1 - rate * self.shrink, rate * miss * y
