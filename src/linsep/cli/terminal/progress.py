"""Progress bars: one line on stderr, and only on a terminal.

All bars are made by :func:`progress_bar`. What they show is never read again: results come from the work itself.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import isfinite, log
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
        """Return the text of the moment."""
        return Text(self.text_format.format(task=task), style=self.style)


class Bar:
    """A bar that is shown, or nothing where there is no terminal."""

    def __init__(self, progress: Progress | None = None, title: str = "", total: float | None = None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(title, total=total, text="")

    @property
    def shown(self) -> bool:
        """Whether anybody sees the bar."""
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
        What is done.
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
        """Return the text of the moment."""
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
        """Return the time of the moment."""
        took = task.elapsed or 0.0
        if self.limit is None or took <= self.limit:
            return Text(f"{took:.0f} s" + ("" if self.limit is None else f" of {seconds(self.limit)}"), "dim")
        return Text(f"{took:.0f} s, exact check", "dim")


@contextmanager
def bracket_bar(limit: float | None, shown: bool = True) -> Iterator[Watch | None]:
    """Show the bracket of the moment closing, and the time; yield a `watch`, or None without a terminal."""
    columns: Any = {"amount": PlainColumn(""), "last": ClockColumn(limit)}
    with progress_bar("", shown=shown, total=FULL, width=16, **columns) as bar:
        bar.update(text="scanning the rows")

        def watch(name: str, lower: float, upper: float) -> None:
            text, closed = bracket(name, lower, upper)
            bar.update(text=text, completed=closed)

        yield watch if bar.shown else None
