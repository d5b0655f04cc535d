"""Stochastic gradient descent on a loss, with a penalty on the weights and a rate that follows a schedule.

Each rule is a loss l(score, y) with its slope g, the derivative by the score. With rate_t = rate / (offset + t)^power,

    w <- max(0, 1 - rate_t shrink) w - rate_t g x,

which descends l(w.x, y) + shrink/2 ||w||² of one row. With `lasso` above 0 the weights are then pulled towards 0 by
`pull` = rate_t lasso (:class:`linsep.engine.links.Clipped`), which adds lasso ||w||_1. `loss` is the sum of l and the
penalties. y is -1 or +1 for labels, any number for targets. A slope beyond ±1e12 is cut off there. Source: Bottou
(2012), and scikit-learn's SGDClassifier, whose losses these are.
"""

from math import exp, log
from typing import Any, NamedTuple

from linsep.engine.multimethods import inlined
from linsep.engine.step import promises

STEEPEST = 1e12
LINEAR = 36.0
"""Beyond this |y score|, ln(1 + e^-z) is -z or e^-z to the last bit or so."""


@inlined
def rate_at(rule: Any, t: float) -> float:
    """Return the rate of round t: rate / (offset + t)^power.

    >>> rate_at(HingeDescent(rate=1.0, offset=1.0, power=0.5), 3.0)
    0.5
    """
    if rule.power == 0.0:
        return rule.rate
    if rule.power == 1.0:
        return rule.rate / (rule.offset + t)
    return rule.rate / (rule.offset + t) ** rule.power


@inlined
def descend(rule: Any, slope: float, t: float) -> tuple[float, float]:
    """Return (keep, amount) of a step against the slope."""
    rate = rate_at(rule, t)
    return max(0.0, 1.0 - rate * rule.shrink), -rate * min(max(slope, -STEEPEST), STEEPEST)


@inlined
def penalty(rule: Any, ww: float, w1: float) -> float:
    """Return shrink/2 ||w||² + lasso ||w||_1."""
    return 0.5 * rule.shrink * ww + rule.lasso * w1


@promises(settles=False, needs_norm=False, targets=True)
class HingeDescent(NamedTuple):
    """l = (margin - y score)+. The support vector machine's loss with margin 1, the perceptron's with margin 0.

    >>> HingeDescent(rate=0.5).step(score=0.0, y=-1.0, xx=1.0, ww=0.0, t=1.0), HingeDescent().loss(0.25, 1.0, 0.0, 0.0)
    ((1.0, -0.5), 0.75)
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0
    margin: float = 1.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return penalty(self, ww, w1) + max(0.0, self.margin - y * score)

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return descend(self, -y if y * score <= self.margin else 0.0, t)


@promises(settles=False, needs_norm=False, targets=True)
class SquaredHingeDescent(NamedTuple):
    """l = ((1 - y score)+)².

    >>> (
    ...     SquaredHingeDescent(rate=0.5).step(score=0.5, y=1.0, xx=1.0, ww=0.0, t=1.0),
    ...     SquaredHingeDescent().loss(0.5, 1.0, 0.0, 0.0),
    ... )
    ((1.0, 0.5), 0.25)
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return penalty(self, ww, w1) + max(0.0, 1.0 - y * score) ** 2

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return descend(self, -2.0 * y * max(0.0, 1.0 - y * score), t)


@promises(settles=False, needs_norm=False, targets=True)
class LogLossDescent(NamedTuple):
    """l = ln(1 + e^{-y score}).

    >>> LogLossDescent().step(score=0.0, y=-1.0, xx=1.0, ww=0.0, t=1.0)
    (1.0, -0.5)
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        z = y * score
        return penalty(self, ww, w1) + (-z if z < -LINEAR else exp(-z) if z > LINEAR else log(1.0 + exp(-z)))

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        z = y * score
        miss = exp(-z) / (1 + exp(-z)) if z > 0 else 1 / (1 + exp(z))
        return descend(self, -y * miss, t)


@promises(settles=False, needs_norm=False, targets=True)
class ModifiedHuberDescent(NamedTuple):
    """l = ((1 - y score)+)², but -4 y score where y score < -1: outliers count linearly.

    >>> (
    ...     ModifiedHuberDescent().loss(-2.0, 1.0, 0.0, 0.0),
    ...     ModifiedHuberDescent().step(score=-2.0, y=1.0, xx=1.0, ww=0.0, t=1.0),
    ... )
    (8.0, (1.0, 4.0))
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        z = y * score
        return penalty(self, ww, w1) + (-4.0 * z if z < -1.0 else max(0.0, 1.0 - z) ** 2)

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        z = y * score
        return descend(self, -4.0 * y if z < -1.0 else -2.0 * y * max(0.0, 1.0 - z), t)


@promises(settles=False, needs_norm=False, targets=True)
class SquaredErrorDescent(NamedTuple):
    """l = (score - y)² / 2.

    >>> (
    ...     SquaredErrorDescent(rate=0.1).step(score=0.5, y=1.5, xx=1.0, ww=0.0, t=1.0),
    ...     SquaredErrorDescent().loss(0.5, 1.5, 0.0, 0.0),
    ... )
    ((1.0, 0.1), 0.5)
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return penalty(self, ww, w1) + 0.5 * (score - y) * (score - y)

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return descend(self, score - y, t)


@promises(settles=False, needs_norm=False, targets=True)
class HuberDescent(NamedTuple):
    """l = (score - y)² / 2 up to |score - y| = epsilon, and epsilon |score - y| - epsilon²/2 beyond.

    >>> (
    ...     HuberDescent(epsilon=0.5).loss(2.0, 0.0, 0.0, 0.0),
    ...     HuberDescent(epsilon=0.5).step(score=2.0, y=0.0, xx=1.0, ww=0.0, t=1.0),
    ... )
    (0.875, (1.0, -0.5))
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0
    epsilon: float = 0.1

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        miss = abs(score - y)
        return penalty(self, ww, w1) + (
            0.5 * miss * miss if miss <= self.epsilon else self.epsilon * (miss - 0.5 * self.epsilon)
        )

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        return descend(self, min(max(score - y, -self.epsilon), self.epsilon), t)


@promises(settles=False, needs_norm=False, targets=True)
class EpsilonInsensitiveDescent(NamedTuple):
    """l = (|score - y| - epsilon)+.

    >>> (
    ...     EpsilonInsensitiveDescent().loss(1.0, 0.0, 0.0, 0.0),
    ...     EpsilonInsensitiveDescent().step(score=1.0, y=0.0, xx=1.0, ww=0.0, t=1.0),
    ... )
    (0.9, (1.0, -1.0))
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0
    epsilon: float = 0.1

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return penalty(self, ww, w1) + max(0.0, abs(score - y) - self.epsilon)

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        slope = 1.0 if score - y > self.epsilon else -1.0 if y - score > self.epsilon else 0.0
        return descend(self, slope, t)


@promises(settles=False, needs_norm=False, targets=True)
class SquaredEpsilonInsensitiveDescent(NamedTuple):
    """l = ((|score - y| - epsilon)+)².

    >>> SquaredEpsilonInsensitiveDescent(epsilon=0.5).step(score=1.0, y=0.0, xx=1.0, ww=0.0, t=1.0)
    (1.0, -1.0)
    """

    rate: float = 1.0
    offset: float = 0.0
    power: float = 0.0
    shrink: float = 0.0
    lasso: float = 0.0
    epsilon: float = 0.1

    def loss(self, score: float, y: float, ww: float, w1: float) -> float:
        return penalty(self, ww, w1) + max(0.0, abs(score - y) - self.epsilon) ** 2

    def pull(self, t: float) -> float:
        return rate_at(self, t) * self.lasso

    def step(self, score: float, y: float, xx: float, ww: float, t: float) -> tuple[float, float]:
        beyond = max(0.0, abs(score - y) - self.epsilon)
        return descend(self, 2.0 * beyond if score > y else -2.0 * beyond, t)
