"""The update log: storage while training, the record that users read, and the shards that were mixed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.readouts import Log

FIRST_ROOM = 1 << 14
"""Updates that a new log has room for."""
LEAST_LIMIT = 1 << 20
"""Bytes that an automatic log may always take."""


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
        One-vs-rest: the class of the binary classifier updated. Pairs: (k, 2), the true class and its rival. Numbers
        into `classes_`.
    amounts : array of float64, or None where every step is +1 or -1
        Factors of x.
    keeps : array of float64, or None for a rule that never shrinks
        Factors of the weights before the update.
    """

    rows: Array
    rounds: Array
    classes: Array | None
    amounts: Array | None
    keeps: Array | None

    def __len__(self) -> int:
        return len(self.rows)

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


def lines_with_room(names: int, sizes: int, room: int, scored: bool = False) -> Log:
    """Return room for updates that name that many classes and have that many sizes, with their scores if `scored`."""
    numbers, scores = np.empty((room, 2 + names), np.int64), np.empty(room if scored else 0)
    return Log(numbers, np.empty((room, sizes)), scores, np.zeros(1, np.int64))


NO_LINES = lines_with_room(0, 0, 0)


@dataclass(frozen=True)
class UpdateLog:
    """The updates of a run in training: their lines, the room for more, and the limit of both.

    Methods return another log. Lines that are written stay; copies share them, and count their own.
    """

    lines: Log = NO_LINES
    limit: float = np.inf
    """Bytes that the lines may take."""
    reason: str = ""
    """The reason why no log is kept; empty if updates are logged, or before training."""
    data_bytes: int = 0
    """The size of the rows so far, which an automatic log's limit is a share of."""

    def __len__(self) -> int:
        return int(self.lines.filled[0])

    @property
    def is_open(self) -> bool:
        """Return whether updates are logged."""
        return len(self.lines.numbers) > 0

    @property
    def numbers(self) -> Array:
        """The row, the round and the classes of each update."""
        return self.lines.numbers[: len(self)]

    @property
    def sizes(self) -> Array:
        """The amount of each update, and the factor of the weights before, where they are not 1."""
        return self.lines.sizes[: len(self)]

    @property
    def scores(self) -> Array:
        """The score before each update, where scores are kept."""
        return self.lines.scores[: len(self)]

    @property
    def line_bytes(self) -> int:
        """The size of one update."""
        return 8 * (self.lines.numbers.shape[1] + self.lines.sizes.shape[1] + (len(self.lines.scores) > 0))

    @property
    def nbytes(self) -> int:
        """The size of all updates."""
        return len(self) * self.line_bytes

    def opened(self, names: int, sizes: int, scored: bool) -> "UpdateLog":
        """Return a log with room for updates of that form."""
        return replace(self, lines=lines_with_room(names, sizes, FIRST_ROOM, scored))

    def closed(self, reason: str) -> "UpdateLog":
        """Return a log that keeps nothing, for that reason."""
        return replace(self, lines=NO_LINES, reason=reason)

    def allowing(self, data_bytes: int) -> "UpdateLog":
        """Return a log that may grow to 5 % of that much data."""
        return replace(self, limit=max(self.limit, LEAST_LIMIT, 0.05 * data_bytes))

    def within_limit(self) -> "UpdateLog":
        """Return the log, closed if it has outgrown its limit."""
        if self.nbytes <= self.limit:
            return self
        limit = "1 MiB" if self.limit == LEAST_LIMIT else f"{self.limit:,.0f} bytes, 5 % of the data"
        return self.closed(f"it outgrew {limit}; log=True keeps a log of any size")

    def enlarged(self, needed: int) -> "UpdateLog":
        """Return a log with at least four times the room and `needed` lines free, closed if it outgrew its limit.

        Room costs nothing until it is used.
        """
        kept = self.within_limit()
        return kept._with_room(4 * len(self.lines.numbers) + needed) if kept.is_open else kept

    def copy(self) -> "UpdateLog":
        """Return a log that counts its own updates; those so far are shared."""
        return replace(self, lines=self.lines._replace(filled=self.lines.filled.copy()))

    def trimmed(self) -> "UpdateLog":
        """Return a log without free room, sharing no memory with this one; an open log stays open."""
        return self._with_room(max(len(self), 1)) if self.is_open else self

    def emptied(self) -> "UpdateLog":
        """Return a log of this form before its first update."""
        return replace(self, lines=self._room(FIRST_ROOM)) if self.is_open else self

    def only(self, which: Array) -> "UpdateLog":
        """Return a log of some of the updates."""
        part = self._room(max(len(which), 1))
        for own, lines in zip(_columns(part), _columns(self.lines), strict=True):
            own[: len(which)] = lines[which]
        part.filled[0] = len(which)
        return replace(self, lines=part)

    def merged(self, others: Iterable["UpdateLog"]) -> "UpdateLog":
        """Return the updates of several logs in one, ordered by round and class, with room for more."""
        logs = [self, *others]
        total = sum(map(len, logs))
        log = self._with_room(total + FIRST_ROOM, logs)
        order = np.lexsort((log.numbers[:, 2], log.numbers[:, 1]))
        for lines in _columns(log.lines):
            lines[:total] = lines[:total][order]
        return log

    def appended(self, more: "UpdateLog") -> "UpdateLog":
        """Return a log with the updates of another after its own, in its own room where there is enough."""
        lo, n = len(self), len(more)
        log = self if lo + n <= len(self.lines.numbers) else self._with_room(4 * len(self.lines.numbers) + n)
        for lines, new in zip(_columns(log.lines), _columns(more.lines), strict=True):
            lines[lo : lo + n] = new[:n]
        log.lines.filled[0] += n
        return log

    def with_new_class(self, place: int, background: int | None) -> "UpdateLog":
        """Return the log with a class more, numbered `place`, which has the updates of the background so far."""
        log = self._with_room(len(self.lines.numbers))
        classes = log.numbers[:, 2:]
        twins = np.flatnonzero(classes[:, 0] == background) if background is not None else np.empty(0, np.intp)
        classes[classes >= place] += 1
        if background is None:
            return log
        copies = log.only(twins)
        copies.numbers[:, 2] = place
        return log.merged([copies])

    def record(self) -> Record:
        """Return the updates as users see them."""
        columns = [np.ascontiguousarray(a) for a in self.numbers.T]
        names = len(columns) - 2
        classes = None if names == 0 else columns[2] if names == 1 else self.numbers[:, 2:].copy()
        sizes = [np.ascontiguousarray(a) for a in self.sizes.T]
        amounts, keeps = (sizes[k] if k < len(sizes) else None for k in (0, 1))
        return Record(columns[0], columns[1], classes, amounts, keeps)

    def _room(self, room: int) -> Log:
        lines = self.lines
        return lines_with_room(lines.numbers.shape[1] - 2, lines.sizes.shape[1], room, len(lines.scores) > 0)

    def _with_room(self, room: int, logs: Sequence["UpdateLog"] | None = None) -> "UpdateLog":
        """Return the updates of logs, of this one if None are given, in new memory with that much room."""
        whole = self._room(room)
        for log in [self] if logs is None else logs:
            lo, n = int(whole.filled[0]), len(log)
            for lines, more in zip(_columns(whole), _columns(log.lines), strict=True):
                lines[lo : lo + n] = more[:n]
            whole.filled[0] += n
        return replace(self, lines=whole)


def _columns(lines: Log) -> list[Array]:
    """Return the arrays that have a line for each update."""
    return [lines.numbers, lines.sizes, *([lines.scores] if len(lines.scores) else [])]


class MixLog(NamedTuple):
    """All mixes of a run, a line for each shard, in the order in which they were added.

    A line of `numbers` is the epoch (from 1), the shard (from 0), the rounds before it, and its own. `mistakes` and
    `shares` have a column for each binary classifier.
    """

    numbers: Array
    mistakes: Array
    shares: Array

    def then(self, more: "MixLog") -> "MixLog":
        """Return these mixes and some that came later."""
        return MixLog(*(np.concatenate(parts) for parts in zip(self, more, strict=True)))

    def admitted(self, place: int) -> "MixLog":
        """Return these mixes with a binary classifier more, which has so far been as the last one was."""
        return MixLog(self.numbers, *(np.insert(lines, place, lines[:, -1], axis=1) for lines in self[1:]))

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

    def shards(self, epochs: int) -> Iterator[tuple[int, int]]:
        """Yield, for consecutive epochs, their number of shards (0 without a mix), and how many epochs have it."""
        done, counts = 0, np.unique(self.numbers[:, 0], return_counts=True)
        for epoch, count in zip(*(a.tolist() for a in counts), strict=True):
            yield from ((0, epoch - done - 1), (count, 1))
            done = epoch
        yield 0, epochs - done

    def totals(self) -> Array:
        """Return the sum of the shares of each line's mix."""
        cuts = self.cuts()
        return np.repeat(np.add.reduceat(self.shares, cuts[:-1]), np.diff(cuts), axis=0)


def same_mixes(some: MixLog | None, others: MixLog | None) -> bool:
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
    def of(cls, mixed: MixLog, columns: slice | int) -> "Mixes":
        """Return the mixes of some binary classifiers, or of one, as users see them."""
        epochs, shards, _, rows = mixed.numbers.T.copy()
        weights = mixed.shares / mixed.totals()
        return cls(epochs, shards, rows, mixed.mistakes[:, columns].copy(), weights[:, columns].copy())

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
