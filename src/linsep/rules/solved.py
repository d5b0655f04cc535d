"""The rule of weights that were solved for, all rows at once."""

from typing import NamedTuple

from linsep.engine.step import promises


@promises(reads="sign")
class Solved(NamedTuple):
    """No step: the weights solve a problem of all rows, and no single row updates them.

    >>> Solved().step(score=-1.0, y=1.0, xx=4.0)
    0.0
    """

    def step(self, score: float, y: float, xx: float) -> float:
        return 0.0
