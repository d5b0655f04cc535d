"""A rule of one's own that serves many tests: each rule is compiled for itself, and numbers are data to it."""

from typing import NamedTuple

from linsep.engine.step import promises


@promises(reads="sign")
class Keep(NamedTuple):
    """Keep a share of the weights in every round, another in every `period`-th; add the row, or leave it out.

    Every `pause`-th row is left out. A step is divided by 1 + `told` ||w||², so that the norm that a rule is told
    shows. It reads nothing of the score, and so no more than its sign; its steps are no ±1 all the same.
    """

    keep: float
    other: float
    period: float
    amount: float = 1.0
    pause: float = 3.0
    told: float = 0.0

    def step(self, score, y, xx, ww, t):
        keep = self.other if t % self.period == 0 else self.keep
        return keep, self.amount * y / (1 + self.told * ww) if t % self.pause != 0 else 0.0
