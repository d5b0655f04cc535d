"""ROMMA: the shortest w that meets the new row's constraint and one that represents all rows before it.

With s = w.x and den = ||x||² ||w||² - s², an update is

    w <- ((||x||² ||w||² - y s) / den) w + (||w||² (y - s) / den) x,

and the first is y x / ||x||². Where x and w are parallel (den <= 0, here up to rounding) there is no such w: no step.
On rows with y u.x >= 1 it makes at most R² ||u||² mistakes, as the perceptron. Source: Li and Long (2002).
A step gives the row margin 1 at once: the same row again changes nothing, and a multiple of the step overshoots, by
more and more. A row's weight is thus 1, or 0 to leave the row out.
"""

from typing import NamedTuple

from linsep.engine.step import promises

PARALLEL = 1e-12
"""den / (||x||² ||w||²), the squared sine of the angle, below which rounding would decide the step."""


@promises(weighted=False)
class Romma(NamedTuple):
    """Update on a mistake.

    >>> Romma().step(score=0.0, y=1.0, xx=4.0, ww=0.0, t=1.0)
    (1.0, 0.25)
    >>> Romma().step(score=-0.5, y=1.0, xx=1.0, ww=1.0, t=2.0)
    (2.0, 2.0)
    """

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        if y * score > 0 or xx == 0:
            return 1.0, 0.0
        if ww == 0:
            return 1.0, y / xx
        den = xx * ww - score * score
        if den <= PARALLEL * xx * ww:
            return 1.0, 0.0
        return (xx * ww - y * score) / den, ww * (y - score) / den


@promises(weighted=False)
class AggressiveRomma(NamedTuple):
    """Update when the margin is below 1; start again with y x / ||x||² when that alone meets both constraints.

    >>> AggressiveRomma().step(score=0.5, y=1.0, xx=1.0, ww=0.25, t=2.0)
    (0.0, 1.0)
    """

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        if y * score >= 1 or xx == 0:
            return 1.0, 0.0
        if ww == 0:
            return 1.0, y / xx
        if xx * ww <= y * score:
            return 0.0, y / xx
        den = xx * ww - score * score
        if den <= PARALLEL * xx * ww:
            return 1.0, 0.0
        return (xx * ww - y * score) / den, ww * (y - score) / den
