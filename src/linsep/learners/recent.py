"""The rows that a calibration is learned from: scores of rows that the learner had not seen, and their labels."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array

FIRST, SHARE, BLOCK = 16, 8, 1024
"""Rows are scored in blocks: of 16 at first, then of an eighth of the rows before, of 1,024 at most."""


class Recent(NamedTuple):
    """Scores before learning, in the order in which they came."""

    scores: Array
    """(rows,) for two classes, else (rows, classes); NaN where a class was not known yet."""
    codes: Array
    weights: Array

    @classmethod
    def none(cls) -> "Recent":
        """Return no rows."""
        return cls(np.empty(0), np.empty(0, np.int32), np.empty(0))

    def followed_by(self, more: "Recent", window: int) -> "Recent":
        """Return the last `window` of these rows and those that came after them; rows of weight 0 are left out."""
        if not more.weights.all():
            more = more.at(np.flatnonzero(more.weights))
        if len(self.codes) and len(more.codes):
            more = Recent(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))
        elif not len(more.codes):
            return self
        return Recent(*(part[-window:] for part in more))

    def spread(self, window: int) -> "Recent":
        """Return at most `window` rows, evenly from all: where they stand is not when they came."""
        rows = len(self.codes)
        return self if rows <= window else self.at(np.arange(window) * rows // window)

    def at(self, rows: Array) -> "Recent":
        """Return some of the rows."""
        return Recent(*(part[rows] for part in self))

    def renumbered(self, known: Array, now: Array) -> "Recent":
        """Return the rows with a column for each class that is known now; none of them where :func:`widened` has none.

        They were of the classes known before.
        """
        scores = widened(self.scores, known, now) if len(self.codes) else None
        if scores is None:
            return Recent.none()
        return Recent(scores, np.searchsorted(now, known).astype(np.int32)[self.codes], self.weights)

    def problems(self, classes: int) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the scores, the members and the weights for each map: the second of two classes, else each class."""
        for code in [1] if classes == 2 else range(classes if classes > 2 else 0):
            scores = self.scores if self.scores.ndim == 1 else self.scores[:, code]
            there = ~np.isnan(scores)
            yield scores[there], (self.codes == code)[there], self.weights[there]


def widened(scores: Array, known: Array, now: Array) -> Array | None:
    """Return scores with a column for each class that is known now: NaN for those that were not.

    What two classes have is one score for both, of which no columns can be made: then there are none.
    """
    if len(known) == len(now):
        return scores
    if len(known) <= 2:
        return None
    wide = np.full((len(scores), len(now)), np.nan)
    wide[:, np.searchsorted(now, known)] = scores
    return wide


def _ramp() -> list[int]:
    """Return where blocks end until they are of full length."""
    ends = [FIRST]
    while ends[-1] // SHARE < BLOCK:
        ends.append(ends[-1] + max(FIRST, ends[-1] // SHARE))
    return ends


RAMP = _ramp()


def blocks(done: int, rows: int) -> list[tuple[int, int]]:
    """Return the spans of so many rows that are scored before any of them is learned, after `done` others.

    They end at places that do not depend on how the rows are handed over, and where the rows end.

    >>> blocks(0, 40), blocks(40, 30), blocks(100_000, 1500)
    ([(0, 16), (16, 32), (32, 40)], [(0, 8), (8, 24), (24, 30)], [(0, 839), (839, 1500)])
    """
    end, full = done + rows, RAMP[-1]
    first = full + BLOCK * max(1, (done - full) // BLOCK + 1)
    ends = [*(cut for cut in RAMP if done < cut < end), *range(first, end, BLOCK), end]
    return [(start - done, stop - done) for start, stop in zip([done, *ends], ends, strict=False)]
