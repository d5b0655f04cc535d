"""The perceptron's rule; under other links it is Winnow, balanced Winnow and the p-norm perceptron."""

from typing import NamedTuple

from linsep.engine.step import promises


@promises(reads="sign", unit=True)
class Perceptron(NamedTuple):
    """On a mistake, add the example: s += y x where y * score <= 0.

    A score of 0 is a mistake, so that weights 0 are moved by the first row. Source: Rosenblatt (1958);
    at most (R / gamma)² mistakes (Novikoff, 1962).

    >>> Perceptron().step(score=0.0, y=-1.0, xx=4.0), Perceptron().step(score=0.1, y=1.0, xx=4.0)
    (-1.0, 0.0)
    """

    def step(self, score: float, y: float, xx: float) -> float:
        return y if y * score <= 0 else 0.0
