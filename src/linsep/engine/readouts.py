"""Readouts: which hypothesis of a run predicts, and the sums that an average needs.

`Last` keeps nothing: the last weights predict. `Average` keeps what the exact average of the weights before
each round needs, in O(nonzeros) an update. With w = scale * s, the sum of the weights before each round is

    mass * s - u,    mass = sum of the scales so far,    u = sum over updates of mass * (step of s),

and for weights that never shrink mass is the number of rounds: the textbook's a = v - u/m. A sample weight counts as
that many rounds.

`RecentAverage` forgets: a round counts r = 1 - 1/N times as much as the next, so that a <- r a + w / N once there were
many rounds. It is the same sum with a mass that grows: round t weighs r^-t. Where these weights get large, all are
multiplied by a power of two, which changes no average.

`Log` and `Tally` record the run: its updates in order, and its counts.
"""

from typing import Any, NamedTuple

from linsep.engine.arrays import Array
from linsep.engine.links import factor, norm1, norm2
from linsep.engine.multimethods import multimethod


class Last(NamedTuple):
    """The weights at the end."""


class Average(NamedTuple):
    """The average of the weights before each round; `clock` is the weight of all rounds so far."""

    u: Array
    mass: Array
    clock: Array


class RecentAverage(NamedTuple):
    """The average of the weights before each round, of which each round counts `growth` times the one before it.

    `latest` is the weight of the last round; 0 before the first.
    """

    u: Array
    mass: Array
    clock: Array
    latest: Array
    growth: Array


AVERAGES = (Average, RecentAverage)
"""Averages of all rounds, whose u, mass and clock mean the same."""


class LastWithLosses(NamedTuple):
    """The weights at the end, and the sum of the losses of all rounds in each column."""

    losses: Array


class AverageWithLosses(NamedTuple):
    """Like `Average`, but a weighted row counts as one round, and losses are summed as in `LastWithLosses`."""

    u: Array
    mass: Array
    clock: Array
    losses: Array


MASS_LIMIT, TOTAL_LIMIT = 2.0**432, 2.0**1000
"""Single rows are learned while an average's masses and totals are not above."""
LATEST_LIMIT, SHRINK = 2.0**64, 2.0**-64
"""A round of a larger weight than the first makes all weights shrink by the second."""
MISTAKES, UPDATES, SKIPPED = range(3)


class Tally(NamedTuple):
    """Counts of a run.

    `rounds` is one number. `counts` has a row each for mistakes, updates and mistakes without a step, and a column for
    each binary classifier (for class pairs all is in the first). `errors` is one number: of several classes,
    each against the rest, how often the true one's score was not above all others; below 0 where that is not known.
    """

    rounds: Array
    counts: Array
    errors: Array


class Log(NamedTuple):
    """The updates of a run, in order; `filled` of the room is used, and no room means that none are kept.

    A line of `numbers` is the row, the round, and the classes that the update names: none (binary), one, or the true
    class and its rival. A line of `sizes` is the amount, and what was kept, where they are not 1; else empty. `scores`
    are those before each update, for readouts that predict with earlier hypotheses; else there is no room for them.
    """

    numbers: Array
    sizes: Array
    scores: Array
    filled: Array


tick = multimethod(0)
"""tick(readout, w, weight): a round begins; the weights as they are count `weight` times."""
see = multimethod(0)
"""see(readout, rule, w, score, y, c): the rule is shown a row's score and y; add its loss if losses are summed."""
note = multimethod(0)
"""note(readout, j, c, d): d was added to s[j, c]."""
has_room = multimethod(0)
"""has_room(readout, j, c, d): whether all numbers of the readout stay in range if s[j, c] changes by up to d."""
bank = multimethod(0)
"""bank(readout, w, lo, hi): keep the sum so far, before the meaning of s changes."""


@tick.when(Last)
@tick.when(LastWithLosses)
def _(readout: Last, w: Any, weight: float) -> None:
    pass


@tick.when(Average)
def _(readout: Average, w: Any, weight: float) -> None:
    readout.clock[0] += weight
    for c in range(readout.mass.shape[0]):
        readout.mass[c] += weight * factor(w, c)


@tick.when(RecentAverage)
def _(readout: RecentAverage, w: Any, weight: float) -> None:
    latest = readout.latest[0]
    if latest > LATEST_LIMIT:
        for c in range(readout.mass.shape[0]):
            for j in range(readout.u.shape[0]):
                readout.u[j, c] *= SHRINK
            readout.mass[c] *= SHRINK
        readout.clock[0] *= SHRINK
        latest *= SHRINK
    latest = latest * readout.growth[0] if latest > 0 else 1.0
    readout.latest[0] = latest
    readout.clock[0] += weight * latest
    for c in range(readout.mass.shape[0]):
        readout.mass[c] += weight * latest * factor(w, c)


@tick.when(AverageWithLosses)
def _(readout: AverageWithLosses, w: Any, weight: float) -> None:
    readout.clock[0] += 1.0
    for c in range(readout.mass.shape[0]):
        readout.mass[c] += factor(w, c)


@see.when(Last)
@see.when(Average)
@see.when(RecentAverage)
def _(readout: Any, rule: Any, w: Any, score: float, y: float, c: int) -> None:
    pass


@see.when(LastWithLosses)
@see.when(AverageWithLosses)
def _(readout: Any, rule: Any, w: Any, score: float, y: float, c: int) -> None:
    readout.losses[c] += rule.loss(score, y, norm2(w, c), norm1(w, c))


@note.when(Last)
@note.when(LastWithLosses)
def _(readout: Last, j: int, c: int, d: float) -> None:
    pass


@note.when(Average)
@note.when(RecentAverage)
@note.when(AverageWithLosses)
def _(readout: Average, j: int, c: int, d: float) -> None:
    readout.u[j, c] += readout.mass[c] * d


@has_room.when(Last)
@has_room.when(LastWithLosses)
def _(readout: Last, j: int, c: int, d: float) -> bool:
    return True


@has_room.when(Average)
@has_room.when(RecentAverage)
@has_room.when(AverageWithLosses)
def _(readout: Average, j: int, c: int, d: float) -> bool:
    mass = abs(readout.mass[c])
    return mass <= MASS_LIMIT and abs(readout.u[j, c]) + mass * d <= TOTAL_LIMIT


@bank.when(Last)
@bank.when(LastWithLosses)
def _(readout: Last, w: Any, lo: int, hi: int) -> None:
    pass


@bank.when(Average)
@bank.when(RecentAverage)
@bank.when(AverageWithLosses)
def _(readout: Average, w: Any, lo: int, hi: int) -> None:
    for c in range(lo, hi):
        for j in range(w.s.shape[0]):
            readout.u[j, c] -= readout.mass[c] * w.s[j, c]
        readout.mass[c] = 0.0
