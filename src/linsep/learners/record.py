"""The log of updates: room for it while training, and the record that users read."""

from dataclasses import dataclass

import numpy as np

from linsep.core.examples import Array
from linsep.core.readouts import Log

FIRST_ROOM = 1024


@dataclass(frozen=True)
class Record:
    """The updates of a run, in order.

    Attributes
    ----------
    rows : array of int64
        The row of each update, as numbered in X, or from the start of the stream.
    rounds : array of int64
        Its round, counted from 1 over all epochs.
    classes : array of int32, or None for a binary learner
        One-vs-rest: the class whose machine moved. Pairs: (k, 2), the true class and its rival. Numbers into
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
        names = log.classes.shape[1]
        classes = None if names == 0 else log.classes[:n, 0] if names == 1 else log.classes[:n]
        rest = (a[:n] if len(a) else None for a in (log.amounts, log.keeps))
        return cls(log.rows[:n], log.rounds[:n], classes, *rest)

    def of_classes(self, known: int) -> "Record":
        """Return the updates of the first `known` classes alone; of two, the second's, as a binary learner's."""
        assert self.classes is not None
        keep = self.classes < known if known != 2 else self.classes == 1
        classes = None if known == 2 else self.classes[keep]
        amounts, keeps = (None if a is None else a[keep] for a in (self.amounts, self.keeps))
        return Record(self.rows[keep], self.rounds[keep], classes, amounts, keeps)


def no_log() -> Log:
    """Return the log that keeps nothing."""
    none = np.empty(0, np.int64)
    return Log(none, none, np.empty((0, 0), np.int32), np.empty(0), np.empty(0), np.zeros(1, np.int64))


def empty_log(names: int, amounts: bool, keeps: bool) -> Log:
    """Return a log with its first room; `names` is how many classes an update names."""
    n = FIRST_ROOM
    return Log(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, names), np.int32),
        np.empty(n if amounts else 0),
        np.empty(n if keeps else 0),
        np.zeros(1, np.int64),
    )


def entry_bytes(log: Log) -> int:
    """Return the size of one update in the log."""
    return sum(a.itemsize * (a.shape[1] if a.ndim == 2 else 1) for a in log[:-1] if len(a))


def enlarged(log: Log, needed: int) -> Log:
    """Return the log with at least twice its room, and at least `needed` free."""
    return _with_room(log, [log], 2 * len(log.rows) + needed)


def merged(logs: list[Log]) -> Log:
    """Return the updates of several logs in one, ordered by round and class, with room for more."""
    total = sum(int(log.filled[0]) for log in logs)
    whole = _with_room(logs[0], logs, total + FIRST_ROOM)
    order = np.lexsort((whole.classes[:total, 0], whole.rounds[:total]))
    for a in whole[:-1]:
        if len(a):
            a[:total] = a[:total][order]
    return whole


def _with_room(kind: Log, logs: list[Log], room: int) -> Log:
    """Return the logs' updates one after the other, in a log of that kind with that much room."""
    arrays = [np.empty((room if len(a) else 0, *a.shape[1:]), a.dtype) for a in kind[:-1]]
    whole = Log._make([*arrays, np.zeros(1, np.int64)])
    for log in logs:
        lo, n = int(whole.filled[0]), int(log.filled[0])
        for new, old in zip(whole[:-1], log[:-1], strict=True):
            if len(new):
                new[lo : lo + n] = old[:n]
        whole.filled[0] += n
    return whole


def admitted(log: Log, place: int, background: int | None) -> Log:
    """Return the log with a class more, numbered `place`: the background machine's updates so far are its own too."""
    log = _with_room(log, [log], len(log.rows))
    n = int(log.filled[0])
    old = log.classes[:n].copy()
    log.classes[:n][old >= place] += 1
    if background is None:
        return log
    chosen = np.flatnonzero(old[:, 0] == background)
    twins = Log._make([*(a[chosen] if len(a) else a for a in log[:-1]), np.array([len(chosen)])])
    twins.classes[:] = place
    return merged([log, twins])
