"""Hinge loss with shrinkage: the linear support vector machine by stochastic subgradient steps."""

from typing import NamedTuple

from linsep.engine.step import promises


@promises(settles=False, needs_norm=False)
class Hinge(NamedTuple):
    """Descend alpha/2 ||w||² + (1 - y w.x)+ with the step 1 / (alpha t).

    keep = 1 - 1/t, and y x / (alpha t) is added where y score < 1. Source: Pegasos (Shalev-Shwartz, Singer, Srebro and
    Cotter, 2011).

    >>> Hinge(alpha=0.5).step(score=0.0, y=1.0, xx=1.0, ww=0.0, t=4.0)
    (0.75, 0.5)
    """

    alpha: float = 1e-4

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return 1 - 1 / t, y / (self.alpha * t) if y * score < 1 else 0.0
