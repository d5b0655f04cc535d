"""What was mixed: the rows, the mistakes and the weight of every shard, mix by mix."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array


class Mixed(NamedTuple):
    """All mixes of a run, a line for each shard, in the order in which they were added.

    A line of `numbers` is the epoch (from 1), the shard (from 0), the rounds before it, and its own. `mistakes` and
    `shares` have a column for each machine.
    """

    numbers: Array
    mistakes: Array
    shares: Array

    def then(self, more: "Mixed") -> "Mixed":
        """Return these mixes and some that came later."""
        return Mixed(*(np.concatenate(parts) for parts in zip(self, more, strict=True)))

    def admitted(self, place: int) -> "Mixed":
        """Return these mixes with a machine more, which has so far been as the last one was."""
        return Mixed(self.numbers, *(np.insert(lines, place, lines[:, -1], axis=1) for lines in self[1:]))

    def cuts(self) -> Array:
        """Return where each mix begins among the lines, and where the last one ends."""
        return np.append(np.flatnonzero(self.numbers[:, 1] == 0), len(self.numbers))

    def among(self, rounds: Array, machine: int) -> list[list[list[int]]]:
        """Return how many of these rounds, which rise, each shard had, and its share, mix by mix.

        Rounds outside of all shards are those of serial passes, before, between or after mixes: one shard alone.
        """
        _, _, before, own = self.numbers.T
        begins, ends = (np.searchsorted(rounds, at, side="right").tolist() for at in (before, before + own))
        shares, found, done = self.shares[:, machine].tolist(), [], 0
        for lo, hi in pairwise(self.cuts().tolist()):
            found += [[[begins[lo] - done, 1]]] if begins[lo] > done else []
            found.append([[ends[k] - begins[k], shares[k]] for k in range(lo, hi)])
            done = ends[hi - 1]
        return found + ([[[len(rounds) - done, 1]]] if len(rounds) > done else [])

    def shards(self, epochs: int) -> list[int]:
        """Return the number of shards in each epoch; 0 for epochs without a mix."""
        return np.bincount(self.numbers[:, 0] - 1, minlength=epochs).tolist()

    def totals(self) -> Array:
        """Return the sum of the shares of each line's mix."""
        cuts = self.cuts()
        return np.repeat(np.add.reduceat(self.shares, cuts[:-1]), np.diff(cuts), axis=0)


def same_mixes(some: Mixed | None, others: Mixed | None) -> bool:
    """Return whether both have the same shards with the same mistakes and shares, or neither has any."""
    if some is None or others is None:
        return some is others
    return all(map(np.array_equal, some, others))


@dataclass(frozen=True)
class Mixes:
    """The shards of all epochs, a line each.

    Attributes
    ----------
    epochs : array of int64
        The epoch, counted from 1.
    shards : array of int64
        The shard, counted from 0.
    rows : array of int64
        The rows that the shard learned from.
    mistakes : array of int64
        The mistakes that it made; (lines, classes) where each class has a machine of its own.
    weights : array of float64
        Its weight mu in the mix, in the form of `mistakes`; those of an epoch sum up to 1.
    """

    epochs: Array
    shards: Array
    rows: Array
    mistakes: Array
    weights: Array

    @classmethod
    def of(cls, mixed: Mixed, machines: slice | int) -> "Mixes":
        """Return the mixes of some machines, or of one, as users see them."""
        epochs, shards, _, rows = mixed.numbers.T.copy()
        weights = mixed.shares / mixed.totals()
        return cls(epochs, shards, rows, mixed.mistakes[:, machines].copy(), weights[:, machines].copy())

    def __len__(self) -> int:
        return len(self.epochs)

    @property
    def mixed_mistakes(self) -> Array:
        """The sum of mu times mistakes over all shards so far, at the end of each epoch: what the bound is about.

        Epochs without shards, before or between these, are not counted; each mistake of theirs counts as one.
        """
        sums = np.cumsum(self.weights * self.mistakes, axis=0)
        last = np.append(np.flatnonzero(np.diff(self.epochs)), len(self.epochs) - 1)
        return sums[last]
