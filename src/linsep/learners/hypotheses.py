"""The hypotheses of a run, told by its log: v_{k+1} = keep_k v_k + amount_k x_{place_k}, and v_0 = 0."""

from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.core.votes import recurrence


class Hypotheses(NamedTuple):
    """Those of one column of weights, in order; none of them is here, only how each follows from the one before."""

    places: Array
    """Which row made each update."""
    amounts: Array
    keeps: Array
    times: Array
    """When each update was made."""
    norms: Array
    """The squared norm of each hypothesis: one more than updates."""
    begin: float
    end: float

    @property
    def counts(self) -> Array:
        """The time that each hypothesis was used for, the round included that it failed in: c_0, c_1, ..."""
        return np.diff(self.times, prepend=self.begin, append=self.end)

    @property
    def scales(self) -> Array:
        """The inverse of each hypothesis' norm; 0 for v = 0."""
        positive = self.norms > 0
        return np.divide(
            1.0, np.sqrt(np.where(positive, self.norms, 1.0)), out=np.zeros(len(self.norms)), where=positive
        )

    def until(self, time: float) -> "Hypotheses":
        """Return those that there were by that time."""
        n = int(np.searchsorted(self.times, time, side="right"))
        return Hypotheses(
            self.places[:n], self.amounts[:n], self.keeps[:n], self.times[:n], self.norms[: n + 1],
            self.begin, float(time),
        )  # fmt: skip

    def longest(self) -> int:
        """Return the hypothesis that was used the longest, the first of several."""
        return int(np.argmax(self.counts))

    def paused(self, times: Array) -> tuple["Hypotheses", Array]:
        """Return them with an update that changes nothing at each of these times; and the hypotheses before those."""
        at = np.searchsorted(self.times, times, side="right")
        return Hypotheses(
            np.insert(self.places, at, 0),
            np.insert(self.amounts, at, 0.0),
            np.insert(self.keeps, at, 1.0),
            np.insert(self.times, at, times),
            np.insert(self.norms, at + 1, self.norms[at]),
            self.begin,
            self.end,
        ), at + np.arange(len(at))

    def mixed(self, shares: Array) -> tuple[Array, float]:
        """Return what the sum of share_k v_k has of each update's row, and of v_0: R_k = share_k + keep_k R_{k+1}."""
        backwards = recurrence(self.keeps[::-1].copy(), shares[-2::-1].copy(), float(shares[-1]))[::-1]
        return self.amounts * backwards[1:], float(backwards[0])

    def shares(self, readout: str, normalize: bool) -> tuple[Array, float]:
        """Return how much each hypothesis has in a readout that is linear in them, and what to divide the sum by.

        Division comes last, so that sums of whole numbers are exact, and a score of 0 is 0 after it, too.
        """
        if readout == "average":
            whole = self.end - self.begin
            counts = self.counts * self.scales if normalize else self.counts
            return counts, whole if whole > 0 else 1.0
        which = len(self.norms) - 1 if readout == "last" else self.longest()
        norm = float(np.sqrt(self.norms[which])) if normalize and self.norms[which] > 0 else 1.0
        return np.where(np.arange(len(self.norms)) == which, 1.0, 0.0), norm


def norms_of(amounts: Array, keeps: Array, scores: Array, squared: Array, first: float) -> Array:
    """Return ||v_k||² of all: ||keep v + amount x||² = keep² ||v||² + amount (2 keep v.x + amount ||x||²)."""
    with np.errstate(over="ignore", invalid="ignore"):  # a length beyond float64 is infinite
        return recurrence(keeps * keeps, amounts * (2.0 * keeps * scores + amounts * squared), first)
