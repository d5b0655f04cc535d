"""Least squares row by row: the rule of Widrow and Hoff, also called LMS or the delta rule."""

from typing import NamedTuple

from linsep.engine.step import promises


@promises(settles=False)
class WidrowHoff(NamedTuple):
    """Descend (y - w.x)² of one row: w += rate (y - w.x) x, the gradient's factor 2 being in the rate.

    A step multiplies the row's own error by 1 - rate ||x||²: with rate >= 2 / max ||x||² it need not shrink any more,
    and the weights may run away. For rate < 1 / R², R = max ||x||, and any u: sum of (y - score)² <=
    ||u||² / rate + (sum of (y - u.x)²) / (1 - rate R²). Source: Widrow and Hoff (1960); bound: Cesa-Bianchi, Long and
    Warmuth (1996). Here y is a label, -1 or +1; for a stream of real y see
    :mod:`linsep.estimators.least_squares`.

    >>> WidrowHoff(rate=0.5).step(score=0.5, y=-1.0, xx=1.0)
    -0.75
    """

    rate: float = 0.01

    def step(self, score: float, y: float, xx: float) -> float:
        return self.rate * (y - score)
