"""ROC AUC and average precision, from the distinct scores of rows and how often each occurs.

scikit-learn's functions take all rows at once; these counts add up over blocks of rows and over machines.
"""

from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array

MOST_SCORES = 1 << 22
"""Distinct scores that are kept, 24 bytes each; of more, the last bits are dropped."""


class Steps(NamedTuple):
    """Counts of rows with a score of at least `scores[k]`, the highest score first.

    Attributes
    ----------
    scores : array
        The distinct scores, falling.
    false, true : arrays
        Negative and positive rows with that score or a higher one.
    """

    scores: Array
    false: Array
    true: Array


class Ranking:
    """Scores of positive and negative rows, counted.

    Results are exact up to `most` distinct scores. Beyond that, scores are rounded towards 0 to fewer bits, as many as
    fit: rows whose scores become equal are ties. Neither the order of the rows nor the size of blocks changes a result.

    Parameters
    ----------
    most : int, default=4,194,304
        The number of distinct scores to keep.

    Examples
    --------
    >>> ranking = Ranking().add(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    >>> ranking.roc_auc, round(ranking.average_precision, 4)
    (0.75, 0.8333)
    """

    def __init__(self, most: int = MOST_SCORES) -> None:
        self.most, self.dropped = most, 0
        self._parts = [(np.empty(0), np.zeros((2, 0), np.int64))]
        self._joined = 0

    def add(self, scores: Array, positive: Array) -> "Ranking":
        """Count the rows of a block: their scores, and whether each is positive."""
        self._parts.append(_counted(np.asarray(scores, np.float64), np.array([~positive, positive], np.int64)))
        return self._join_if_many()

    def plus(self, later: "Ranking") -> "Ranking":
        """Add the counts of other rows."""
        self._parts += later._parts
        self.dropped = max(self.dropped, later.dropped)
        return self._join_if_many()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        return all(np.array_equal(one, two) for one, two in zip(self._join(), other._join(), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _join_if_many(self) -> "Ranking":
        if sum(len(scores) for scores, _ in self._parts) > 2 * self._joined + (1 << 16):
            self._join()
        return self

    def _join(self) -> tuple[Array, Array]:
        """Put the blocks together: distinct scores, and the negative and positive rows with each."""
        if len(self._parts) > 1:
            together = np.concatenate([scores for scores, _ in self._parts])
            counts = np.concatenate([counts for _, counts in self._parts], axis=1)
            self._parts = [_counted(self._cut(together), counts)]
        while len(self._parts[0][0]) > self.most:
            self.dropped += 1
            scores, counts = self._parts[0]
            self._parts = [_counted(self._cut(scores), counts)]
        self._joined = len(self._parts[0][0])
        return self._parts[0]

    def _cut(self, scores: Array) -> Array:
        """Return the scores without their last bits."""
        if not self.dropped:
            return scores
        return (scores.view(np.int64) & np.int64(-1 << self.dropped)).view(np.float64)

    @property
    def counts(self) -> tuple[int, int]:
        """The number of negative and of positive rows."""
        negative, positive = self._join()[1].sum(axis=1).tolist()
        return negative, positive

    @property
    def steps(self) -> Steps:
        """Return the counts at each threshold, the highest first."""
        scores, counts = self._join()
        false, true = np.cumsum(counts[:, ::-1], axis=1)
        return Steps(scores[::-1], false, true)

    @property
    def roc_auc(self) -> float | None:
        """The share of pairs of a positive and a negative row in which the positive row's score is higher.

        Equal scores count half. None if all rows are of one kind.
        """
        negative, positive = self.counts
        if not negative or not positive:
            return None
        _, false, true = self.steps
        here = np.diff(true, prepend=0)
        above = float(np.sum((negative - false) * here.astype(np.float64)))
        level = float(np.sum(np.diff(false, prepend=0) * here.astype(np.float64)))
        return (above + level / 2) / (float(negative) * positive)

    @property
    def average_precision(self) -> float | None:
        """The mean of the precision at the score of each positive row; None if there is none."""
        positive = self.counts[1]
        if not positive:
            return None
        _, false, true = self.steps
        return float(np.sum(np.diff(true, prepend=0) / positive * (true / (false + true))))


def _counted(scores: Array, counts: Array) -> tuple[Array, Array]:
    """Return the distinct scores in rising order, and the sums of the counts of each."""
    order = np.argsort(scores, kind="stable")
    scores, counts = scores[order], counts[:, order]
    if not len(scores):
        return scores, counts
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    return scores[starts], np.add.reduceat(counts, starts, axis=1)
