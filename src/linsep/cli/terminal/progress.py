"""Progress on stderr: bars on a terminal; elsewhere, fit prints a line at every power of two.

All bars are made by :func:`progress_bar`. What they show is never read again: results come from the work itself.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import isfinite, log
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from linsep.cli.terminal.output import Text, percent, seconds, short, stderr

if TYPE_CHECKING:
    from linsep.data.blocks import Progress as ReadingProgress
    from linsep.distributed.training import TrainingStatus
    from linsep.training.progressive import ProgressiveErrors
    from linsep.training.state import TrainingState

PATIENCE = 0.4
"""Seconds after which a first fit that is not done must be compiling: machine code on disk loads faster."""
CLOSED = 0.002
"""The relative gap at which a bracket's bar is full; it fills with the logarithm of the gap."""
FULL = 1.001
"""The end of a bracket's bar: beyond any gap, as a full bar would stop."""
Watch = Callable[[str, float, float], None]


class PlainColumn(TextColumn):
    """A column of text as it is: without markup, control characters escaped."""

    def render(self, task: Task) -> Text:
        """Return the current text."""
        return Text(self.text_format.format(task=task), style=self.style)


class Bar:
    """A bar that is shown, or nothing where there is no terminal."""

    def __init__(self, progress: Progress | None = None, title: str = "", total: float | None = None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(title, total=total, text="")

    @property
    def shown(self) -> bool:
        """True if the bar is on a terminal."""
        return self._progress is not None

    def update(self, **changes: Any) -> None:
        """Change what the bar shows: `completed`, `total`, `description`, `advance`, or the `text` beside it."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, **changes)


def is_shown(console: Console) -> bool:
    """Return whether bars can be drawn on a console."""
    return console.is_terminal and os.environ.get("TERM") != "dumb"


@contextmanager
def progress_bar(
    title: str, *, shown: bool = True, total: float | None = None, width: int = 24,
    amount: ProgressColumn | None = None, last: ProgressColumn | None = None, console: Console | None = None,
) -> Iterator[Bar]:  # fmt: skip
    """Show a bar for the time of some work.

    Parameters
    ----------
    title : str
        Description of the work.
    shown : bool, default=True
        If False, nothing is shown.
    total : float, optional
        The amount of work; None if not known yet.
    width : int, default=24
        Columns of the bar itself.
    amount, last : rich.progress.ProgressColumn, optional
        The columns after the bar, and at the end. Default: the share that is done, and the time that remains.
    console : rich.console.Console, optional
        Default: stderr.
    """
    console = console or stderr()
    if not shown or not is_shown(console):
        yield Bar()
        return
    columns = (
        SpinnerColumn(), PlainColumn("{task.description}"), BarColumn(bar_width=width), amount or TaskProgressColumn(),
        PlainColumn("{task.fields[text]}"), last or TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress, title, total)


@contextmanager
def reading_bar(title: str, shown: bool = True) -> "Iterator[Callable[[ReadingProgress], None] | None]":
    """Show how far the reading has come; yield a function for `progress=`, or None without a terminal."""
    with progress_bar(title, shown=shown) as bar:

        def report(now: "ReadingProgress") -> None:
            text = f"{now.rows:,} rows, {short(now.rows_per_second)} rows/s"
            bar.update(completed=now.done, total=now.total, text=text)

        yield report if bar.shown else None


@contextmanager
def parts_bar(title: str, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Show how many parts are done; yield a function to call after each part with the number of all parts."""
    with progress_bar(title, shown=shown) as bar:
        done = count(1)

        def report(of: int) -> None:
            now = next(done)
            bar.update(completed=now, total=of, text=f"{now} of {of} parts")

        yield report


@contextmanager
def items_bar(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show how many of some items are done; yield a function to call with the name of the next item."""
    with progress_bar(title, total=total, amount=MofNCompleteColumn(), last=PlainColumn("")) as bar:
        done = count()
        yield lambda name: bar.update(completed=next(done), text=name)


class LearnerReport(NamedTuple):
    """Functions to call when a learner begins, and when it is compiled and trains from now on."""

    begin: Callable[[str], None]
    ready: Callable[[], None]


class LearnerColumn(ProgressColumn):
    """The learner at work and, when its first fit drags on, why."""

    def render(self, task: Task) -> Text:
        """Return the current text."""
        learner, since = task.fields.get("learner", ""), task.fields.get("since")
        compiling = since is not None and perf_counter() - since > PATIENCE
        return Text(f"compiling {learner} ... (once; kept on disk)" if compiling else learner)


class LearnerBar:
    """A bar over learners that train one after the other; `compiling` adds up the seconds of slow first fits."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total, self.compiling = console, total, 0.0

    @contextmanager
    def shown(self, title: str, visible: bool = True) -> Iterator[LearnerReport]:
        """Show the bar while learners train."""
        columns: Any = {"amount": MofNCompleteColumn(), "last": LearnerColumn()}
        with progress_bar(title, shown=visible, total=self.total, width=12, console=self.console, **columns) as bar:
            since = perf_counter()

            def begin(learner: str) -> None:
                nonlocal since
                since = perf_counter()
                bar.update(learner=learner, since=since)

            def ready() -> None:
                took = perf_counter() - since
                self.compiling += took if took > PATIENCE else 0.0
                bar.update(advance=1, since=None)

            yield LearnerReport(begin, ready)


def bracket(name: str, lower: float, upper: float) -> tuple[str, float]:
    """Return a bracket in words, and how much of it is closed, from 0 to 1.

    A bracket that is not known yet is left out.

    >>> bracket("margin", 0.25, 0.5)
    ("perceptron's margin 0.25 to 0.5, gap 50.0 %", 0.11...)
    >>> bracket("mistakes (T = 10)", 49.0, 100.0)[0]
    "perceptron's mistakes (T = 10) 49 to 100, gap 51.0 %"
    >>> bracket("Winnow's margin", float("-inf"), 1.0), bracket("exact check", float("nan"), float("nan"))
    (("Winnow's margin at most 1", 0.0), ('exact check', 0.0))
    """
    called = f"perceptron's {name}" if name.startswith(("margin", "mistakes")) else name
    if not isfinite(upper):
        return called, 0.0
    if not isfinite(lower) or upper <= 0 or lower <= 0:
        return f"{called} at most {upper:.4g}", 0.0
    gap = max((upper - lower) / upper, 0.0)
    closed = min(log(max(gap, CLOSED)) / log(CLOSED), 1.0)
    return f"{called} {lower:.4g} to {upper:.4g}, gap {percent(gap)}", closed


class ClockColumn(ProgressColumn):
    """The time that a search has taken, of its limit; the result is then checked in exact arithmetic."""

    def __init__(self, limit: float | None) -> None:
        super().__init__()
        self.limit = limit

    def render(self, task: Task) -> Text:
        """Return the current time."""
        took = task.elapsed or 0.0
        if self.limit is None or took <= self.limit:
            return Text(f"{took:.0f} s" + ("" if self.limit is None else f" of {seconds(self.limit)}"), "dim")
        return Text(f"{took:.0f} s, exact check", "dim")


@contextmanager
def bracket_bar(limit: float | None, shown: bool = True) -> Iterator[Watch | None]:
    """Show the current bracket and the time; yield a `watch`, or None without a terminal."""
    columns: Any = {"amount": PlainColumn(""), "last": ClockColumn(limit)}
    with progress_bar("", shown=shown, total=FULL, width=16, **columns) as bar:
        bar.update(text="scanning the rows")

        def watch(name: str, lower: float, upper: float) -> None:
            text, closed = bracket(name, lower, upper)
            bar.update(text=text, completed=closed)

        yield watch if bar.shown else None


FIRST_WINDOW, MOST_WINDOWS = 1000, 200
"""The rows of a window at first, and how many windows there may be before each two are joined."""
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
    windows : list of (int, int)
        Rows and errors in the first epoch at the end of each window.
    before : (int, int)
        Rows and errors of earlier trainings, which a resumed learner has counted and the curve has not.

    Parameters
    ----------
    window : int, optional
        The rows of a window; an average is judged by blocks, so that its windows end with the next block. Default:
        1,000, and twice as many whenever there are MOST_WINDOWS.
    """

    def __init__(self, window: int | None = None) -> None:
        self._given = window
        self.restart()

    def restart(self) -> None:
        """Forget all rows."""
        self.points: list[tuple[int, int | None]] = []
        self.first_epoch: tuple[int, int | None] | None = None
        self.before, self._epochs = (0, 0), 0
        self.window = self._given or FIRST_WINDOW
        self.windows: list[tuple[int, int]] = []
        self._average: ProgressiveErrors | None = None
        """Kept for the end of a training, when the state has it no more."""

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
        """Return the rows and errors of this training so far.

        Of an average, the errors are those of the average, which are counted in the first epoch only.
        """
        self._average = average = state.progressive or self._average
        rows, errors = int(state.tally.rounds[0]) - self.before[0], state.errors
        if average is not None and average.rows:
            return rows, average.errors if average.rows == rows else None
        return rows, None if errors is None else errors - self.before[1]

    def observe(self, state: "TrainingState") -> tuple[int, int | None]:
        """Record a point if the rows have grown enough, or the first epoch has ended; return rows and errors."""
        rows, errors = self.counts(state)
        if self.first_epoch is None:
            self._add_window(rows, errors)
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
            self._add_window(rows, errors, at_end=True)
            self.first_epoch = rows, errors
        return rows, errors

    def _add_window(self, rows: int, errors: int | None, at_end: bool = False) -> None:
        """End a window, if there are rows enough for one; join windows where the size was not given."""
        last = self.windows[-1][0] if self.windows else 0
        if errors is None or rows == last or not (at_end or rows // self.window > last // self.window):
            return
        self.windows.append((rows, errors))
        if self._given is None and len(self.windows) >= MOST_WINDOWS:
            self.window *= 2
            ends = {rows // self.window: (rows, errors) for rows, errors in reversed(self.windows)}
            self.windows = [ends[k] for k in sorted(ends) if k] or self.windows[-1:]

    def add(self, rows: int, errors: int | None) -> None:
        """Add a point, unless no row was learned since the last."""
        if rows > self.rows:
            self.points.append((rows, errors))


COMPILING_PATIENCE = 1.0
"""Seconds after which work that should have begun must be compiling: machine code on disk loads faster."""
BLINK = 0.1
"""Seconds between two updates of the bar."""
COMPILING = "compiling, as in every first run of its kind (once; what is compiled is kept on disk) ..."


class TrainingProgress:
    """Shows how far a training has come; it is called with the state of the learner, and keeps the curve up to date.

    Attributes
    ----------
    curve : LearningCurve
        Rows and errors so far.
    """

    def __init__(self, shown: bool = True, window: int | None = None) -> None:
        self.console, self.curve, self.bar = stderr(), LearningCurve(window), Bar()
        terminal = is_shown(self.console)
        self.bars, self.lines = shown and terminal, shown and not terminal
        self._what, self._by_rows = "", False
        self.restart()

    def restart(self) -> None:
        """Begin with the first row again."""
        self.curve.restart()
        self._line, self._power, self._began, self._seen = (0, 0), 1, 0.0, 0

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Show how far the reading has come; yield a function for `progress=`."""
        with self._unless_begun() as begun, self._bar("reading"):

            def report(now: "ReadingProgress") -> None:
                begun()
                self.read(now)

            yield report

    @contextmanager
    def learning(self, rows: int | None, before: "TrainingState | None" = None) -> Iterator[None]:
        """Show how far the learning has come, of so many rows in all; None if unknown.

        Rows that a learner has learned `before` do not count.
        """
        self._began = self._began or perf_counter()
        if before is not None:
            self.curve.resume(before)
        with self._unless_begun() as self._begun, self._bar("learning", rows):
            yield

    @contextmanager
    def solving(self, what: str) -> Iterator[None]:
        """Show that some work is done that does not report how far it has come."""
        with self._bar(what):
            yield

    def read(self, now: "ReadingProgress") -> None:
        """Show how far the reading has come."""
        if not self._by_rows:
            self.bar.update(completed=now.done, total=now.total)
        if self._what == "reading":
            text = f"{now.rows:,} rows, {short(now.done / max(now.seconds, 1e-9))}B/s"
            self.bar.update(text=text, description=self._what)

    def __call__(self, state: "TrainingState") -> int:
        """Record and show the state; return after how many rows to call again."""
        rows, errors = self.curve.observe(state)
        if rows and not self._seen:
            self._begun()
        self._seen = rows
        if rows >= self._power:
            self._print_line(rows, errors)
            self._power = 1 << rows.bit_length()
        speed = rows / max(perf_counter() - self._began, 1e-9)
        if self.bar.shown and rows:
            self._show_rows(rows, errors, speed)
        wait = max(1, int(BLINK * speed)) if self.bar.shown else self._power
        window = self.curve.window - rows % self.curve.window
        return max(1, min(self._power - rows, int((STEP - 1) * rows) + 1, wait, window))

    def end(self, state: "TrainingState") -> None:
        """Record and print the last state."""
        rows, errors = self.curve.end(state)
        if rows > self._line[0]:
            self._print_line(rows, errors)

    def _show_rows(self, rows: int, errors: int | None, speed: float) -> None:
        first = self.curve.progressive_error
        early = "" if first is None else f", error {percent(first)} in the first epoch"
        error = early if errors is None else f", error {percent(errors / rows)}"
        self.bar.update(text=f"{rows:,} rows, {short(speed)} rows/s{error}", description=self._what)
        if self._by_rows:
            self.bar.update(completed=rows)

    def _print_line(self, rows: int, errors: int | None) -> None:
        if not self.lines:
            return
        before, wrong = self._line
        if not before:
            self._print(f"{'rows':>12}  {'error':>8}  {'since':>8}  {'rows/s':>8}")
        cells = ["-", "-"] if errors is None else [percent(errors / rows), percent((errors - wrong) / (rows - before))]
        speed = short(rows / max(perf_counter() - self._began, 1e-9))
        self._print(f"{rows:>12,}  {cells[0]:>8}  {cells[1]:>8}  {speed:>8}")
        self._line = rows, errors or 0

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    @contextmanager
    def _bar(self, what: str, rows: int | None = None) -> Iterator[None]:
        self._what, self._by_rows = what, rows is not None
        with progress_bar(what, shown=self.bars, total=rows, width=20, console=self.console) as self.bar:
            yield
        self.bar = Bar()

    @contextmanager
    def _unless_begun(self) -> Iterator[Any]:
        """Report that something is compiled, unless the work has begun within a second."""
        timer = Timer(COMPILING_PATIENCE, self._report_compiling)
        timer.daemon = True
        timer.start()
        try:
            yield timer.cancel
        finally:
            timer.cancel()

    def _report_compiling(self) -> None:
        self.bar.update(description=COMPILING)
        if self.lines:
            self._print(COMPILING)


class ShardsTrainingProgress(TrainingProgress):
    """Shows how far a training on shards has come: a bar, or a line each time the rows have doubled.

    Attributes
    ----------
    rows, rejected, lost : int
        Rows of an epoch, malformed ones that were left out, and workers that were lost.
    began, scanned : float
        The time at which workers were ready, by `perf_counter`, and the seconds until all shards had been scanned once.
    """

    def __init__(self, shown: bool = True, window: int | None = None) -> None:
        super().__init__(shown, window)
        self.rows, self.rejected, self.scanned, self.began, self.lost = 0, 0, 0.0, 0.0, 0
        self.start: TrainingStatus | None = None
        """The progress at the start of the first epoch of this run."""
        self.last: TrainingStatus | None = None

    @property
    def moved(self) -> int | None:
        """Bytes of weights that were sent in an epoch, on average."""
        if self.start is None or self.last is None or not self.last.sent:
            return None
        return round(self.last.sent / (self.last.epoch - self.start.epoch + 1))

    @contextmanager
    def learning_shards(self, epochs: int, checkpoint: Path | None) -> Iterator[None]:
        """Show how far the learning has come, of so many epochs; report the checkpoint that is resumed."""
        self.epochs, self.checkpoint = epochs, checkpoint
        resumed = checkpoint is not None and checkpoint.exists()
        with self._bar("scanning the shards"):
            yield
        if resumed and self.start is None:
            self._print(f"linsep fit: {checkpoint} has all epochs already")
        last, start = self.last, self.start
        if last is None or start is None:
            return
        if last.rows > start.rows and self._line != (last.epoch, last.shards):
            self._print_shards(last, self._speed(last, start))

    def shards(self, now: "TrainingStatus") -> None:
        """Record and show how far the training has come."""
        if now.gone > self.lost or now.waiting:
            self._report_lost(now)
        if now.waiting:
            return
        if now.epoch == 0:
            self.began = self.began or perf_counter() - now.seconds
            self.rows, self.rejected, self.scanned = now.rows, now.rejected, now.seconds
            text = f"{now.shards} of {now.of} shards, {now.rows:,} rows"
            self.bar.update(completed=now.shards, total=now.of, text=text)
            return
        if self.start is None:
            self._begin(now)
        self.last = now
        self._learned(now, now if self.start is None else self.start)

    def _report_lost(self, now: "TrainingStatus") -> None:
        self.lost = now.gone
        if self.bars or self.lines:
            what = "one is waited for, a minute at most" if now.waiting else "others do the work again"
            self._print(f"linsep fit: {now.gone} worker{'s' * (now.gone != 1)} lost so far; {what}")

    def _begin(self, now: "TrainingStatus") -> None:
        self.start, self.curve.before = now, (now.rows, now.errors or 0)
        if now.epoch > 1:
            self._print(f"linsep fit: resumes after epoch {now.epoch - 1}, which {self.checkpoint} has")

    def _learned(self, now: "TrainingStatus", start: "TrainingStatus") -> None:
        """Record and show what was learned since this run began."""
        rows, errors = now.rows - start.rows, None if now.errors is None else now.errors - self.curve.before[1]
        speed = self._speed(now, start)
        self.curve.add(rows, errors)
        if now.epoch == 1 and now.shards == now.of:
            self.curve.first_epoch = rows, errors
        self._show_shards(now, speed)
        if rows and rows >= self._power:
            self._print_shards(now, speed)
            self._power = 1 << rows.bit_length()

    def _speed(self, now: "TrainingStatus", start: "TrainingStatus") -> float:
        return (now.rows - start.rows) / max(now.seconds - start.seconds, 1e-9)

    def _show_shards(self, now: "TrainingStatus", speed: float) -> None:
        what = "learning" if self.epochs == 1 else f"epoch {now.epoch} of {self.epochs}"
        text = f"{now.shards} of {now.of} shards" + (f", {short(speed)} rows/s" if speed else "")
        text += f", {now.mistakes:,} mistakes" if now.mistakes else ""
        done, all = (now.epoch - 1) * now.of + now.shards, self.epochs * now.of
        self.bar.update(description=what, completed=done, total=all, text=text)

    def _print_shards(self, now: "TrainingStatus", speed: float) -> None:
        if not self.lines:
            return
        if self._line == (0, 0):
            self._print(f"{'epoch':>8}  {'shards':>12}  {'rows':>14}  {'mistakes':>12}  {'rows/s':>8}")
        self._line = now.epoch, now.shards
        shards = f"{now.shards} of {now.of}"
        self._print(f"{now.epoch:>8,}  {shards:>12}  {now.rows:>14,}  {now.mistakes:>12,}  {short(speed):>8}")
