"""The update log: storage while training, the record that users read, and the shards that were mixed."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.readouts import Log

FIRST_ROOM = 1 << 14


@dataclass(frozen=True)
class Record:
    """The updates of a run, in order.

    Attributes
    ----------
    rows : array of int64
        The row of each update, as numbered in X, or from the start of the stream.
    rounds : array of int64
        Its round, counted from 1 over all epochs.
    classes : array of int64, or None for a binary learner
        One-vs-rest: the class whose binary classifier moved. Pairs: (k, 2), the true class and its rival. Numbers into
        `classes_`.
    amounts : array of float64, or None where every step is +1 or -1
        What multiplied x.
    keeps : array of float64, or None for a rule that never shrinks
        What multiplied the weights before.
    """

    rows: Array
    rounds: Array
    classes: Array | None
    amounts: Array | None
    keeps: Array | None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, log: Log) -> "Record":
        """Return what is filled of a log."""
        n = int(log.filled[0])
        columns = [np.ascontiguousarray(a) for a in log.numbers[:n].T]
        names = len(columns) - 2
        classes = None if names == 0 else columns[2] if names == 1 else log.numbers[:n, 2:].copy()
        sizes = [np.ascontiguousarray(a) for a in log.sizes[:n].T]
        amounts, keeps = (sizes[k] if k < len(sizes) else None for k in (0, 1))
        return cls(columns[0], columns[1], classes, amounts, keeps)

    def same_updates(self, other: "Record") -> bool:
        """Return whether both have the same updates in the same rounds.

        The last bits of amounts may differ, as single rows are summed in another order than those of a pass.
        """

        def sizes(record: Record, amounts: Array | None) -> Array:
            return np.ones(len(record)) if amounts is None else np.abs(amounts)

        def numbers(record: Record) -> Array:
            classes = np.empty((len(record), 0)) if record.classes is None else record.classes
            return np.column_stack([record.rows, record.rounds, classes])

        amounts = ((self.amounts, other.amounts), (self.keeps, other.keeps))
        return np.array_equal(numbers(self), numbers(other)) and all(
            np.allclose(sizes(self, a), sizes(other, b), rtol=1e-9, atol=0.0) for a, b in amounts
        )

    def of_classes(self, known: int) -> "Record":
        """Return the updates of the first `known` classes alone; of two, the second's, as a binary learner's."""
        assert self.classes is not None
        keep = self.classes < known if known != 2 else self.classes == 1
        classes = None if known == 2 else self.classes[keep]
        amounts, keeps = (None if a is None else a[keep] for a in (self.amounts, self.keeps))
        return Record(self.rows[keep], self.rounds[keep], classes, amounts, keeps)


def empty_log(names: int, sizes: int, room: int = FIRST_ROOM, scored: bool = False) -> Log:
    """Return a log whose updates name that many classes and have that many sizes, with their scores if asked."""
    numbers, scores = np.empty((room, 2 + names), np.int64), np.empty(room if scored else 0)
    return Log(numbers, np.empty((room, sizes)), scores, np.zeros(1, np.int64))


def empty_like(log: Log) -> Log:
    """Return a log of that kind before its first update."""
    room = FIRST_ROOM if len(log.numbers) else 0
    return _log_like(log, room)


def no_log() -> Log:
    """Return the log that keeps nothing."""
    return empty_log(0, 0, room=0)


def trimmed(log: Log) -> Log:
    """Return the log without its free room; one that is open stays so."""
    return _with_room([log], max(int(log.filled[0]), 1)) if len(log.numbers) else log


def line_bytes(log: Log) -> int:
    """Return the size of one update in the log."""
    return 8 * (log.numbers.shape[1] + log.sizes.shape[1] + (len(log.scores) > 0))


def enlarged(log: Log, needed: int) -> Log:
    """Return the log with at least four times its room, and at least `needed` free; room costs nothing until used."""
    return _with_room([log], 4 * len(log.numbers) + needed)


def merged(logs: list[Log]) -> Log:
    """Return the updates of several logs in one, ordered by round and class, with room for more."""
    total = sum(int(log.filled[0]) for log in logs)
    whole = _with_room(logs, total + FIRST_ROOM)
    order = np.lexsort((whole.numbers[:total, 2], whole.numbers[:total, 1]))
    for lines in _lines(whole):
        lines[:total] = lines[:total][order]
    return whole


def appended(log: Log, more: Log) -> Log:
    """Return a log with the updates of another after its own, in its own room where there is enough."""
    lo, n = int(log.filled[0]), int(more.filled[0])
    if lo + n > len(log.numbers):
        log = enlarged(log, n)
    for lines, new in zip(_lines(log), _lines(more), strict=True):
        lines[lo : lo + n] = new[:n]
    log.filled[0] += n
    return log


def _lines(log: Log) -> list[Array]:
    """Return the arrays of a log that have a line for each update."""
    return [log.numbers, log.sizes, *([log.scores] if len(log.scores) else [])]


def _log_like(log: Log, room: int) -> Log:
    return empty_log(log.numbers.shape[1] - 2, log.sizes.shape[1], room, len(log.scores) > 0)


def _with_room(logs: list[Log], room: int) -> Log:
    """Return the logs' updates one after the other, in a log with that much room."""
    whole = _log_like(logs[0], room)
    for log in logs:
        lo, n = int(whole.filled[0]), int(log.filled[0])
        for lines, more in zip(_lines(whole), _lines(log), strict=True):
            lines[lo : lo + n] = more[:n]
        whole.filled[0] += n
    return whole


def admitted(log: Log, place: int, background: int | None) -> Log:
    """Return the log with a class more, numbered `place`, which has the updates of the background so far."""
    log = _with_room([log], len(log.numbers))
    n = int(log.filled[0])
    classes = log.numbers[:n, 2:]
    twins = np.flatnonzero(classes[:, 0] == background) if background is not None else np.empty(0, np.intp)
    classes[classes >= place] += 1
    if background is None:
        return log
    copies = lines_of(log, twins)
    copies.numbers[:, 2] = place
    return merged([log, copies])


def lines_of(log: Log, lines: Array) -> Log:
    """Return some updates of a log, in a log of their own."""
    part = _log_like(log, max(len(lines), 1))
    for own, all_ in zip(_lines(part), _lines(log), strict=True):
        own[: len(lines)] = all_[lines]
    part.filled[0] = len(lines)
    return part


class Mixed(NamedTuple):
    """All mixes of a run, a line for each shard, in the order in which they were added.

    A line of `numbers` is the epoch (from 1), the shard (from 0), the rounds before it, and its own. `mistakes` and
    `shares` have a column for each binary classifier.
    """

    numbers: Array
    mistakes: Array
    shares: Array

    def then(self, more: "Mixed") -> "Mixed":
        """Return these mixes and some that came later."""
        return Mixed(*(np.concatenate(parts) for parts in zip(self, more, strict=True)))

    def admitted(self, place: int) -> "Mixed":
        """Return these mixes with a binary classifier more, which has so far been as the last one was."""
        return Mixed(self.numbers, *(np.insert(lines, place, lines[:, -1], axis=1) for lines in self[1:]))

    def cuts(self) -> Array:
        """Return where each mix begins among the lines, and where the last one ends."""
        return np.append(np.flatnonzero(self.numbers[:, 1] == 0), len(self.numbers))

    def among(self, rounds: Array, column: int) -> list[list[list[int]]]:
        """Return how many of these rounds, which rise, each shard had, and its share, mix by mix.

        Rounds outside of all shards are those of serial passes, before, between or after mixes: one shard alone.
        """
        _, _, before, own = self.numbers.T
        begins, ends = (np.searchsorted(rounds, at, side="right").tolist() for at in (before, before + own))
        shares, found, done = self.shares[:, column].tolist(), [], 0
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
        The mistakes that it made; (lines, classes) where each class has a binary classifier of its own.
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
        """Return the mixes of some binary classifiers, or of one, as users see them."""
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
