"""A rule of one's own, in a file of its own: what is compiled of it is then kept on disk."""

from typing import NamedTuple


class Margin(NamedTuple):
    """A perceptron that is not content until y * score is above `want`; with want = 0 it is the perceptron."""

    want: float = 1.0

    def step(self, score, y, xx):
        return y if y * score <= self.want else 0.0
