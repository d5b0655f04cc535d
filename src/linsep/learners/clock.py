"""How much time has passed in a run: a round counts once, or as often as its row weighs."""

from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array

NO_ROUNDS = np.empty(0, np.int64)


class Clock(NamedTuple):
    """The weight of all rounds up to some of them; where no row was ever weighted, that is their number.

    >>> Clock().at(np.array([3, 5]))
    array([3., 5.])
    >>> Clock().after(np.array([1, 2, 3]), np.array([0.5, 2.0, 0.5])).at(np.array([2, 3]))
    array([2.5, 3. ])
    """

    rounds: Array = NO_ROUNDS
    """Rounds whose time is known, rising; none where time is the number of rounds."""
    times: Array = NO_ROUNDS

    @property
    def plain(self) -> bool:
        """Whether every round so far counted once."""
        return not len(self.rounds)

    def at(self, rounds: Array) -> Array:
        """Return the time after each of these rounds, which must be 0 or known."""
        if self.plain:
            return rounds.astype(np.float64)
        place = np.searchsorted(self.rounds, rounds)
        return np.where(rounds > 0, self.times[np.minimum(place, len(self.times) - 1)], 0.0)

    def after(self, rounds: Array, weights: Array) -> "Clock":
        """Return the clock after more rounds, all of which follow those before, of these weights."""
        before = float(self.times[-1]) if len(self.times) else float(rounds[0] - 1) if len(rounds) else 0.0
        times = np.cumsum(np.append(before, weights))[1:]
        return Clock(np.append(self.rounds, rounds), np.append(self.times, times))

    def at_these(self, rounds: Array) -> "Clock":
        """Return a clock that knows the time after these rounds only."""
        return Clock(rounds, self.at(rounds))


def refuse_endless(time: float) -> None:
    """Raise a ValueError if a run has taken more time than float64 holds."""
    if not np.isfinite(time):
        raise ValueError("the sample weights add up to more than float64 holds: divide all by one factor")
