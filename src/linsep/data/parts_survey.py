"""What parts of the data hold, found by a look at each, and put together."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from linsep.data.dataset import as_labels
from linsep.data.form import Form
from linsep.data.rows import NO_INDEX, Rows
from linsep.data.svmlight.form import Svmlight
from linsep.engine.arrays import Array


class Survey(NamedTuple):
    """What some rows hold.

    Attributes
    ----------
    rows : int
        How many there are.
    labels : array
        The distinct ones, in order; NaN is that of rows without.
    seen : array of bytes, or None
        The columns with an entry, as bits; None where rows are dense, and have all.
    low, high : int
        The lowest and the highest index as written, where these settle something.
    weighted : bool
        Whether some have a weight.
    rejected, unseen : int
        As in :class:`~linsep.data.dataset.Dataset`.
    """

    rows: int
    labels: Array
    seen: Array | None
    low: int
    high: int
    weighted: bool
    rejected: int
    unseen: int

    @property
    def columns(self) -> Any:
        """Which columns have an entry, as far as the last that does, or a few more; None where all have.

        Those of svmlight text that is not settled yet are numbered as they are written.
        """
        return None if self.seen is None else np.unpackbits(self.seen).astype(bool)


class Tally:
    """Counts what rows hold, part after part.

    >>> tally = Tally()
    >>> tally.add(Rows(np.array([1.0, -1.0]), np.array([0, 1, 2]), np.array([0, 2]), np.ones(2), np.arange(2), 2))
    >>> tally.columns, tally.labels
    (array([ True, False,  True]), array([-1.,  1.]))
    """

    def __init__(self) -> None:
        self.rows, self.weighted, self.labels = 0, False, np.empty(0)
        self.columns: Array | None = np.zeros(0, bool)

    def add(self, rows: Rows) -> None:
        """Count more rows."""
        if not len(rows):
            return
        self.rows += len(rows)
        self.weighted |= rows.weights is not None
        self.labels = _together(self.labels, np.unique(rows.labels))
        if rows.indices is None or self.columns is None:
            self.columns = None
            return
        lacking = int(rows.indices.max(initial=-1)) + 1 - len(self.columns)
        if lacking > 0:
            self.columns = np.concatenate([self.columns, np.zeros(max(lacking, len(self.columns)), bool)])
        self.columns[rows.indices] = True

    def survey(self, form: Form, rejected: int, unseen: int) -> Survey:
        """Return what was counted of rows that were read in a form."""
        low, high = (form.low, form.high) if isinstance(form, Svmlight) else (NO_INDEX, -1)
        seen = None if self.columns is None else np.packbits(self.columns)
        return Survey(self.rows, as_labels(self.labels), seen, low, high, self.weighted, rejected, unseen)


def merged(surveys: Iterable[Survey]) -> Survey:
    """Return what all rows hold.

    >>> one = Survey(2, np.array([1]), np.packbits([True, False]), 1, 1, False, 0, 0)
    >>> other = Survey(1, np.array([0.5]), np.packbits([False, True]), 2, 2, False, 1, 0)
    >>> all = merged([one, other])
    >>> all.rows, all.labels, all.columns[:3], all.rejected
    (3, array([0.5, 1. ]), array([ True,  True, False]), 1)
    """
    total = Survey(0, np.empty(0), np.empty(0, np.uint8), NO_INDEX, -1, False, 0, 0)
    for one in surveys:
        seen = None if one.seen is None or total.seen is None else _either(one.seen, total.seen)
        labels = _together(total.labels, one.labels)
        low, high = min(total.low, one.low), max(total.high, one.high)
        counts = (total.rejected + one.rejected, total.unseen + one.unseen)
        total = Survey(total.rows + one.rows, labels, seen, low, high, total.weighted or one.weighted, *counts)
    return total._replace(labels=as_labels(total.labels))


def _together(some: Array, others: Array) -> Array:
    """Return the distinct labels of both, in order."""
    if not len(some) or not len(others):
        return some if len(some) else others
    return np.unique(np.concatenate([some, others]))


def _either(some: Array, others: Array) -> Array:
    """Return the bits that are set in one of both."""
    short, long = sorted((some, others), key=len)
    both = long.copy()
    both[: len(short)] |= short
    return both
