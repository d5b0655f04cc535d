"""What fit shows while it learns: a bar on a terminal; elsewhere lines at powers of two, as Vowpal Wabbit has them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any

from linsep.cli.output import percent, short, stderr, text_column

if TYPE_CHECKING:
    from linsep.data.blocks import Progress
    from linsep.training.state import TrainingState

PATIENCE = 1.0
"""Seconds after which work that should have begun must be compiling: machine code on disk loads faster."""
BLINK = 0.1
"""Seconds between two looks for the bar."""
STEP = 1.25
"""From one point of the curve to the next, the rows grow by this factor."""
COMPILING = "compiling, as in every first run of its kind (once; what is compiled is kept on disk) ..."


class Watching:
    """Follows a training: the rows and errors so far, kept as a curve, and shown.

    Attributes
    ----------
    curve : list of (int, int or None)
        Rows learned, and how many of them had been predicted wrongly before; None where nobody counts.
    """

    def __init__(self, shown: bool = True) -> None:
        self.console = stderr()
        terminal = self.console.is_terminal and os.environ.get("TERM") != "dumb"
        self.bar = Bar(self.console) if shown and terminal else None
        self.lines = shown and not terminal
        self.restart()

    def restart(self) -> None:
        """Forget what was seen."""
        self.curve: list[tuple[int, int | None]] = []
        self.first_epoch: tuple[int, int | None] | None = None
        self._line, self._power, self._epochs = (0, 0), 1, 0
        self._began, self._seen, self._before = 0.0, 0, (0, 0)

    @contextmanager
    def reading(self) -> "Iterator[Any]":
        """Show how far the reading has come; give what is told of it."""
        with self._unless_begun() as begun, self._showing("reading"):

            def tell(now: "Progress") -> None:
                begun()
                if self.bar is not None:
                    self.bar.read(now)

            yield tell

    @contextmanager
    def learning(self, rows: int | None, before: "TrainingState | None" = None) -> Iterator[None]:
        """Show how far the learning has come, of so many rows in all; None if only the reader knows.

        What a machine has learned `before` does not count.
        """
        self._began = self._began or perf_counter()
        if before is not None:
            self._before, self._epochs = (int(before.tally.rounds[0]), before.errors or 0), before.epochs
        with self._unless_begun() as self._begun, self._showing("learning", rows):
            yield

    @contextmanager
    def solving(self, what: str) -> "Iterator[None]":
        """Show that something is at work of which nobody can tell how far it has come."""
        with self._showing(what):
            yield

    def told(self, now: "Progress") -> None:
        """Hear how far the reading has come, while rows are learned as they are read."""
        if self.bar is not None:
            self.bar.read(now)

    def __call__(self, state: "TrainingState") -> int:
        """Look at the machine; return after how many rows to look again."""
        rows, errors = self._of(state)
        if rows and not self._seen:
            self._begun()
        self._seen = rows
        if self.first_epoch is None and state.epochs > self._epochs:
            self.first_epoch = rows, errors
            self._note(rows, errors)
        if not self.curve or rows >= STEP * self.curve[-1][0]:
            self._note(rows, errors)
        if rows >= self._power:
            self._tell_line(rows, errors)
            self._power = 1 << rows.bit_length()
        speed = rows / max(perf_counter() - self._began, 1e-9)
        if self.bar is not None:
            self.bar.learn(rows, errors, speed)
        wait = max(1, int(BLINK * speed)) if self.bar is not None else self._power
        return max(1, min(self._power - rows, int((STEP - 1) * rows) + 1, wait))

    def end(self, state: "TrainingState") -> None:
        """Look for the last time."""
        rows, errors = self._of(state)
        self._note(rows, errors)
        if self.first_epoch is None:
            self.first_epoch = rows, errors
        if rows > self._line[0]:
            self._tell_line(rows, errors)

    def _note(self, rows: int, errors: int | None) -> None:
        if rows > (self.curve[-1][0] if self.curve else 0):
            self.curve.append((rows, errors))

    def _of(self, state: "TrainingState") -> tuple[int, int | None]:
        rows, errors = int(state.tally.rounds[0]) - self._before[0], state.errors
        return rows, None if errors is None else errors - self._before[1]

    def _tell_line(self, rows: int, errors: int | None) -> None:
        if not self.lines:
            return
        before, wrong = self._line
        if not before:
            self._say(f"{'rows':>12}  {'error':>8}  {'since':>8}  {'rows/s':>8}")
        cells = ["-", "-"] if errors is None else [percent(errors / rows), percent((errors - wrong) / (rows - before))]
        speed = short(rows / max(perf_counter() - self._began, 1e-9))
        self._say(f"{rows:>12,}  {cells[0]:>8}  {cells[1]:>8}  {speed:>8}")
        self._line = rows, errors or 0

    def _say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    @contextmanager
    def _showing(self, what: str, rows: int | None = None) -> Iterator[None]:
        if self.bar is None:
            yield
        else:
            with self.bar.showing(what, rows):
                yield

    @contextmanager
    def _unless_begun(self) -> Iterator[Any]:
        """Say that something is compiled, unless the work has begun within a second."""
        timer = Timer(PATIENCE, self._say_compiling)
        timer.daemon = True
        timer.start()
        try:
            yield timer.cancel
        finally:
            timer.cancel()

    def _say_compiling(self) -> None:
        if self.bar is not None:
            self.bar.describe(COMPILING)
        elif self.lines:
            self._say(COMPILING)


class Bar:
    """A bar on a terminal, by bytes read or by rows learned."""

    def __init__(self, console: Any) -> None:
        self.console = console
        self.bars: Any = None
        self.task: Any = None
        self.what, self.by_rows = "", False

    @contextmanager
    def showing(self, what: str, rows: int | None) -> Iterator[None]:
        """Show a bar for the time of some work."""
        from rich import progress as bars

        columns = (
            bars.SpinnerColumn(), text_column("{task.description}"), bars.BarColumn(bar_width=20),
            bars.TaskProgressColumn(), text_column("{task.fields[said]}"), bars.TimeRemainingColumn(compact=True),
        )  # fmt: skip
        self.what, self.by_rows = what, rows is not None
        with bars.Progress(*columns, console=self.console, transient=True) as self.bars:
            self.task = self.bars.add_task(what, total=rows, said="")
            yield

    def describe(self, what: str) -> None:
        """Say what is going on."""
        self.bars.update(self.task, description=what)

    def read(self, now: "Progress") -> None:
        """Move on, as far as the reading has come."""
        if not self.by_rows:
            self.bars.update(self.task, completed=now.done, total=now.total)
        if self.what == "reading":
            speed = f"{now.rows:,} rows, {short(now.done / max(now.seconds, 1e-9))}B/s"
            self.bars.update(self.task, said=speed, description=self.what)

    def learn(self, rows: int, errors: int | None, speed: float) -> None:
        """Say how many rows have been learned, how fast, and how many of them were mistaken before."""
        if not rows:
            return
        error = "" if errors is None else f", error {percent(errors / rows)}"
        self.bars.update(self.task, said=f"{rows:,} rows, {short(speed)} rows/s{error}", description=self.what)
        if self.by_rows:
            self.bars.update(self.task, completed=rows)
