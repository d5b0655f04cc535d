"""Freund and Schapire's table of 1999, and how near a study on MNIST comes to it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from linsep.demo.digits_study import METHODS, StudyRun, mean_errors
from linsep.plots.experiment_curves import name_of

SUPPORT, MISTAKES = "SupVec", "Mistake"
COUNTS = (SUPPORT, MISTAKES)
NAMES = {name_of(method): method for method in METHODS}
"""The rows of the table that are errors, by name."""
Figures = dict[float, float]
PUBLISHED: dict[tuple[int, str], Figures] = {
    (1, "vote"): {0.1: 10.7, 1: 8.5, 2: 8.3, 3: 8.2, 4: 8.2, 10: 8.1},
    (1, "average"): {0.1: 10.9, 1: 8.7, 2: 8.5, 3: 8.4, 4: 8.3, 10: 8.3},
    (1, "last"): {0.1: 16.0, 1: 14.7, 2: 13.6, 3: 13.9, 4: 13.7, 10: 13.5},
    (1, "random"): {0.1: 22.0, 1: 15.7, 2: 14.7, 3: 14.3, 4: 14.1, 10: 13.8},
    (1, SUPPORT): {0.1: 2489, 1: 19795, 2: 24263, 3: 26704, 4: 28322, 10: 32994},
    (1, MISTAKES): {0.1: 3342, 1: 25461, 2: 48431, 3: 70915, 4: 93090, 10: 223657},
    (2, "vote"): {0.1: 6.0, 1: 2.8, 2: 2.4, 3: 2.2, 4: 2.1},
    (2, MISTAKES): {0.1: 2150, 1: 10201, 2: 15290, 3: 19093, 4: 22100},
    (3, "vote"): {0.1: 5.4, 1: 2.3, 2: 1.9},
}
"""By degree and row, the figures after so many epochs: errors in per cent, and counts."""
POINTS = {"vote": 0.5, "average": 0.5, "last": 3.0, "random": 3.0}
"""How far an error may be from the published one; what depends on the last row, or on a draw, may be further."""
SHARE = 0.02
"""How far a count may be from the published one, from one epoch on: before, it depends too much on the order."""

ROUNDING = 1e-9
"""What a difference of two figures may be off by: 9.2 - 8.7 is a little less or more than 0.5."""


class Cell(NamedTuple):
    """A cell of the table: what was measured, what was published if known, and the goal where there is one."""

    degree: int
    row: str
    epochs: float
    measured: float
    published: float | None
    allowed: float | None
    """The most that the two may differ by."""

    @property
    def difference(self) -> float | None:
        """By how much the measured figure is above the published one."""
        return None if self.published is None else self.measured - self.published

    @property
    def within(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.difference is None or self.allowed is None:
            return None
        return abs(self.difference) <= self.allowed + ROUNDING


def cells(runs: Sequence[StudyRun]) -> Iterator[Cell]:
    """Yield the cells of one degree, row by row; figures are means over the seeds."""
    degree, epochs = runs[0].degree, runs[0].epochs
    rows = {name: 100 * mean_errors(runs, method) for name, method in NAMES.items()}
    rows[SUPPORT] = np.mean([run.support for run in runs], axis=0)
    rows[MISTAKES] = np.mean([run.mistakes for run in runs], axis=0)
    for name, figures in rows.items():
        known = PUBLISHED.get((degree, name), {})
        for number, measured in zip(epochs, figures.tolist(), strict=True):
            published = known.get(number)
            yield Cell(degree, name, number, measured, published, allowed(name, number, published))


def allowed(row: str, epochs: float, published: float | None) -> float | None:
    """Return by how much a figure may differ from the published one, if there is a goal.

    >>> allowed("vote", 1, 8.5), allowed("Mistake", 1, 10_000), allowed("Mistake", 0.1, 10_000)
    (0.5, 200.0, None)
    """
    if published is None:
        return None
    if row in COUNTS:
        return SHARE * published if epochs >= 1 else None
    return POINTS[row]
