"""Passive-aggressive rules: the least change of w after which the row has margin 1, hard or softened.

MIRA with a single constraint (the true class against one rival) is PA; with slack, PA-I. Source: Crammer, Dekel,
Keshet, Shalev-Shwartz and Singer (2006). With loss l = (1 - y score)+ and any u whose hinge losses are l*:
PA, on rows with y u.x >= 1: sum of l² <= R² ||u||²; PA-I: mistakes <= max(R², 1/C) (||u||² + 2 C sum of l*);
PA-II: sum of l² <= (R² + 1/(2C)) (||u||² + 2 C sum of l*²).
"""

from typing import NamedTuple


class PassiveAggressive(NamedTuple):
    """PA: tau = l / ||x||², so that the row's margin becomes 1.

    >>> PassiveAggressive().step(score=-1.0, y=1.0, xx=4.0)
    0.5
    """

    def step(self, score: float, y: float, xx: float) -> float:
        loss = 1 - y * score
        return y * loss / xx if loss > 0 and xx > 0 else 0.0


class PassiveAggressiveI(NamedTuple):
    """PA-I: tau = min(C, l / ||x||²), so that one wrong label moves w by at most C ||x||.

    >>> PassiveAggressiveI(C=0.25).step(score=-1.0, y=1.0, xx=4.0)
    0.25
    """

    C: float = 1.0

    def step(self, score: float, y: float, xx: float) -> float:
        loss = 1 - y * score
        return y * min(self.C, loss / xx) if loss > 0 and xx > 0 else 0.0


class PassiveAggressiveII(NamedTuple):
    """PA-II: tau = l / (||x||² + 1/(2C)), a softer limit.

    >>> PassiveAggressiveII(C=0.125).step(score=-1.0, y=1.0, xx=4.0)
    0.25
    """

    C: float = 1.0

    def step(self, score: float, y: float, xx: float) -> float:
        loss = 1 - y * score
        return y * loss / (xx + 0.5 / self.C) if loss > 0 and xx > 0 else 0.0
