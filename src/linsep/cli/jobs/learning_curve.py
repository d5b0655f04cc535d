"""The learning curve of a training: rows and errors so far, as model files and reports have them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linsep.training.state import TrainingState

STEP = 1.25
"""From one point of the curve to the next, the rows grow by this factor."""


class LearningCurve:
    """Records how many rows were learned, and how many of them were predicted wrongly before.

    Attributes
    ----------
    points : list of (int, int or None)
        Rows and errors; None for errors that nobody counts.
    first_epoch : (int, int or None) or None
        Rows and errors at the end of the first epoch.
    before : (int, int)
        Rows and errors of earlier trainings, which a resumed learner has counted and the curve has not.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget all rows."""
        self.points: list[tuple[int, int | None]] = []
        self.first_epoch: tuple[int, int | None] | None = None
        self.before, self._epochs = (0, 0), 0

    @property
    def rows(self) -> int:
        """The rows of the last point; 0 if there is none."""
        return self.points[-1][0] if self.points else 0

    @property
    def progressive_error(self) -> float | None:
        """The share of the first epoch's rows that were predicted wrongly; None if nobody counted."""
        if self.first_epoch is None or self.first_epoch[1] is None or not self.first_epoch[0]:
            return None
        return self.first_epoch[1] / self.first_epoch[0]

    def resume(self, state: "TrainingState") -> None:
        """Leave out what was learned before."""
        self.before, self._epochs = (int(state.tally.rounds[0]), state.errors or 0), state.epochs

    def counts(self, state: "TrainingState") -> tuple[int, int | None]:
        """Return the rows and errors of this training so far."""
        rows, errors = int(state.tally.rounds[0]) - self.before[0], state.errors
        return rows, None if errors is None else errors - self.before[1]

    def observe(self, state: "TrainingState") -> tuple[int, int | None]:
        """Record a point if the rows have grown enough, or the first epoch has ended; return rows and errors."""
        rows, errors = self.counts(state)
        if self.first_epoch is None and state.epochs > self._epochs:
            self.first_epoch = rows, errors
            self.add(rows, errors)
        if not self.points or rows >= STEP * self.rows:
            self.add(rows, errors)
        return rows, errors

    def end(self, state: "TrainingState") -> tuple[int, int | None]:
        """Record the last point; return rows and errors."""
        rows, errors = self.counts(state)
        self.add(rows, errors)
        if self.first_epoch is None:
            self.first_epoch = rows, errors
        return rows, errors

    def add(self, rows: int, errors: int | None) -> None:
        """Add a point, unless no row was learned since the last."""
        if rows > self.rows:
            self.points.append((rows, errors))
