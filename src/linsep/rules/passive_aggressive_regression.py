"""Passive-aggressive regression, and passive-aggressive rules as scikit-learn's SGD estimators have them.

The least change of w after which the loss l of a row is 0, hard or softened:

    tau = min(C, l / (||x||² - apart² + soft)).

| variant | C        | soft     |
|---------|----------|----------|
| PA      | infinity | 0        |
| PA-I    | C        | 0        |
| PA-II   | infinity | 1 / (2C) |

`apart` is 0, or the constant feature's value to leave that feature out of ||x||², as scikit-learn does. `keep` is what
the weights are multiplied with before each step, and `lasso` how far each round then pulls them towards 0. Source:
Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006).
"""

from math import inf
from typing import Any, NamedTuple

from linsep.engine.multimethods import inlined
from linsep.engine.step import promises


@inlined
def tau(rule: Any, loss: float, size: float) -> float:
    """Return how far to move for a loss on a row whose squared length is `size`."""
    return min(rule.C, loss / (size + rule.soft)) if loss > 0 and size + rule.soft > 0 else 0.0


@promises(targets=True)
class PassiveAggressiveRegression(NamedTuple):
    """l = (|y - score| - epsilon)+, and w += sign(y - score) tau x.

    For ||x|| <= R and any u, whose losses are l*: PA, where all l* are 0: sum of l² <= R² ||u||².
    PA-I: sum of tau (2 l - tau ||x||²) <= ||u||² + 2 C sum of l*.
    PA-II: sum of l² <= (R² + 1/(2C)) (||u||² + 2 C sum of l*²).

    >>> PassiveAggressiveRegression(epsilon=0.5).step(score=0.0, y=2.0, xx=3.0)
    0.5
    >>> PassiveAggressiveRegression(C=0.25).step(score=1.0, y=0.0, xx=1.0)
    -0.25
    """

    C: float = inf
    soft: float = 0.0
    epsilon: float = 0.1

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return max(0.0, abs(y - score) - self.epsilon)

    def step(self, score: float, y: float, xx: float) -> float:
        amount = tau(self, abs(y - score) - self.epsilon, xx)
        return amount if y > score else -amount


@promises(needs_norm=False, targets=True)
class ShrinkingRegression(NamedTuple):
    """Passive-aggressive regression with weights that shrink, the bias left out of ||x||².

    >>> ShrinkingRegression(epsilon=0.5, apart=1.0, keep=0.5).step(score=0.0, y=2.0, xx=4.0, ww=0.0, t=1.0)
    (0.5, 0.5)
    """

    C: float = inf
    soft: float = 0.0
    epsilon: float = 0.1
    apart: float = 0.0
    keep: float = 1.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return max(0.0, abs(y - score) - self.epsilon)

    def pull(self, t: float) -> float:
        return self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        amount = tau(self, abs(y - score) - self.epsilon, xx - self.apart * self.apart)
        return self.keep, amount if y > score else -amount


@promises(needs_norm=False, targets=True)
class ShrinkingPassiveAggressive(NamedTuple):
    """l = (1 - y score)+ and w += y tau x, with weights that shrink, the bias left out of ||x||².

    >>> ShrinkingPassiveAggressive(C=0.25, apart=1.0).step(score=-1.0, y=1.0, xx=5.0, ww=0.0, t=1.0)
    (1.0, 0.25)
    """

    C: float = inf
    soft: float = 0.0
    apart: float = 0.0
    keep: float = 1.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return max(0.0, 1.0 - y * score)

    def pull(self, t: float) -> float:
        return self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return self.keep, y * tau(self, 1.0 - y * score, xx - self.apart * self.apart)
