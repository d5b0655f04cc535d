"""Run epochs over the rows: order, stopping, and classes shared among threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.passes import BAD_SCORE
from linsep.engine.readouts import MISTAKES, UPDATES
from linsep.engine.runtime import share, split, threads
from linsep.engine.step import settles
from linsep.training.mixing import Shards
from linsep.training.progressive import count_errors
from linsep.training.state import IN_ORDER, NOT_SEEN, StoppedError, TrainingState
from linsep.training.weights import in_range
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import refuse_bad_entries

SHUFFLED_TOGETHER = 64
"""Rows that shuffle="blocks" keeps together."""


SCORES_AT_ONCE = 1 << 20
"""Scores that threads which share the classes write down before errors are counted."""


class Team:
    """A state for as many passes as wanted, its classes shared among threads where it has a column for each.

    No thread sees all scores of a row, so that errors are counted after each span of rows, from a table of scores.
    A state that is watched, or whose average is tested, learns on one thread: both need all classes between rows.
    :meth:`join` puts the columns together again; only then is the state up to date.
    """

    def __init__(self, state: TrainingState, jobs: int) -> None:
        watched = state.watch is not None or state.progressive is not None
        alone = jobs == 1 or state.columns == 1 or state.pair or state.dual is not None or watched
        cuts = [] if alone else split(state.columns, jobs)
        self.state, self.jobs, self.seen = state, jobs, NOT_SEEN
        if cuts and state.compared_labels:
            self.seen = np.empty((max(1, SCORES_AT_ONCE // state.columns), state.columns))
        self.blocks = [state.block(lo, hi, self.seen) for lo, hi in cuts]

    def run(self, data: Any, codes: Array, weights: Array, order: Array, first: int) -> None:
        """Make one pass over the rows."""
        if not self.blocks:
            self.state.run(data, codes, weights, order, first)
            return
        rows = len(order) or data.n_rows
        step = len(self.seen) or rows
        for lo in range(0, rows, step):
            span = lo, min(rows, lo + step)
            share([partial(block.run, data, codes, weights, order, first, span) for block in self.blocks], self.jobs)
            if len(self.seen):
                visited = order[slice(*span)] if len(order) else np.arange(*span)
                self._count_errors(codes[visited], weights[visited] != 0 if len(weights) else slice(None))

    def _count_errors(self, codes: Array, learned: Any) -> None:
        """Count the errors of the rows seen, of those that were learned."""
        scores = self.seen[: len(codes)][learned]
        errors = count_errors(scores, codes[learned], self.state.compared_labels, False)
        for block in self.blocks:
            block.tally.errors[0] += errors

    def totals(self) -> Array:
        """Return the sums over all columns of mistakes, updates and mistakes without a step."""
        return np.sum([state.tally.counts.sum(axis=1) for state in self.blocks or [self.state]], axis=0)

    def join(self) -> None:
        """Bring the state up to date."""
        if self.blocks:
            self.state.join(self.blocks)


class Settings(Protocol):
    """The parameters that drivers read."""

    tol: float | None
    n_iter_no_change: int
    shuffle: bool | str
    n_jobs: int | None
    shards: int | None
    mixing: str
    seed_: int

    @property
    def _most_epochs(self) -> int: ...


def refuse_many_rounds(epochs: int, rows: int, before: int = 0) -> None:
    """Raise a ValueError if so many epochs are more rounds than int64 counts."""
    most = (np.iinfo(np.int64).max - before) // max(1, rows)
    if epochs > most:
        raise ParameterError(
            f"{epochs:,} epochs of {rows:,} rows are more rounds than int64 counts: ask for {most:,} epochs at most"
        )


def train(how: Settings, state: TrainingState, data: Any, codes: Array, weights: Array) -> tuple[int, "Enough"]:
    """Pass over all rows until an epoch makes no update, `tol` is reached, or `max_iter` epochs are done.

    Returns
    -------
    epochs : int
        The epochs made.
    enough : Enough
        The reason why they ended, and whether more would help.
    """
    refuse_many_rounds(how._most_epochs, data.n_rows, int(state.tally.rounds[0]))
    jobs, enough = threads(how.n_jobs), Enough(how, state)
    team = Team(state, jobs) if how.shards is None else Shards(state, how.shards, how.mixing, jobs)
    with explained(data, state):
        for epoch in range(1, how._most_epochs + 1):  # noqa: B007  (the last epoch is returned)
            before = team.totals()
            team.run(data, codes, weights, order_of(how, state.epochs, data.n_rows), 0)
            state.epochs += 1
            if enough.after(team.totals() - before, data.n_rows):
                break
    team.join()
    refuse_overflow(state)
    return epoch, enough


def one_pass(
    how: Settings, state: TrainingState, data: Any, codes: Array, weights: Array, order: Array, first: int
) -> None:
    """Make one pass; an error leaves the state unusable."""
    team = Team(state, threads(how.n_jobs))
    with explained(data, state):
        team.run(data, codes, weights, order, first)
    team.join()


@contextmanager
def explained(data: Dense | Csr, state: TrainingState) -> Iterator[None]:
    """Replace a StoppedError of a pass by a ValueError that names the fault of the data or the rule."""
    try:
        yield
    except StoppedError as stop:
        explain(stop, data, type(state.rule).__name__)


def refuse_overflow(state: TrainingState) -> None:
    """Raise a ValueError when a sum, or what an average is made of, has left the range of float64."""
    if not in_range(state.link, state.readout):
        raise InvalidDataError("the sum of the updates is too large for float64: divide all of X by one factor")


def explain(stop: StoppedError, data: Dense | Csr, rule: str) -> None:
    """Raise a ValueError with the reason why a pass stopped."""
    refuse_bad_entries(data)
    if stop.status == BAD_SCORE:
        raise InvalidDataError(
            f"the score of row {stop.row} is too large for float64: divide all of X by one factor"
        ) from None
    raise InvalidDataError(f"the rule {rule} gave a step that is not a finite number at row {stop.row}") from None


class Enough:
    """Decide when to stop: after an epoch without an update, or by `tol`.

    Attributes
    ----------
    done : bool
        True if the last epoch was without a mistake, or `tol` is reached.
    """

    def __init__(self, how: Settings, state: TrainingState) -> None:
        self.how, self.settles = how, settles(type(state.rule))
        self.best, self.patience, self.done = np.inf, how.n_iter_no_change, False
        self._mistakes: list[int] = []
        self._no_updates = False

    def after(self, made: Array, rows: int) -> bool:
        """Return whether an epoch over so many rows, which made these mistakes and updates, was the last."""
        how = self.how
        self._mistakes.append(int(made[MISTAKES]))
        self.done = bool(made[MISTAKES] == 0)
        self._no_updates = bool(made[UPDATES] == 0) and self.settles
        if self._no_updates:
            return True
        if how.tol is None:
            return False
        share = made[MISTAKES] / rows
        self.patience = how.n_iter_no_change if share < self.best - how.tol else self.patience - 1
        self.best = min(self.best, share)
        self.done = self.done or self.patience == 0
        return self.patience == 0

    @property
    def more_helps(self) -> bool:
        """Return whether mistakes remain and still fall; True after a single epoch, which shows no trend.

        They fall if the last epoch made fewer than each in the first half, by more than chance: the square root.
        """
        if self.done or self._no_updates or not self.settles or not self._mistakes:
            return False
        early = min(self._mistakes[: len(self._mistakes) // 2], default=None)
        return early is None or self._mistakes[-1] <= early - early**0.5


def order_of(how: Settings, epoch: int, n: int, shard: int = 0) -> Array:
    """Return the order of an epoch, counted from 0: it depends on the seed and the epoch alone.

    Shards whose rows lie apart have orders of their own.
    """
    if how.shuffle is False:
        return IN_ORDER
    rng = np.random.default_rng([how.seed_, 0 if how.shuffle == "once" else epoch, *([shard] if shard else [])])
    if how.shuffle != "blocks":
        return rng.permutation(n)
    starts = SHUFFLED_TOGETHER * rng.permutation(-(-n // SHUFFLED_TOGETHER))
    order = np.add.outer(starts, rng.permutation(SHUFFLED_TOGETHER)).ravel()
    return order if n % SHUFFLED_TOGETHER == 0 else order[order < n]
