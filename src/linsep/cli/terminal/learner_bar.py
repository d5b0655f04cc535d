"""A bar over learners that train one after the other, on stderr and only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, Task

from linsep.cli.terminal.output import Text

PATIENCE = 0.4
"""Seconds after which a first fit that is not done must be compiling: machine code on disk loads faster."""


class Tell(NamedTuple):
    """Who is told which learner begins, and that it is compiled and trains from now on."""

    begin: Callable[[str], None]
    ready: Callable[[], None]


class AtWork(ProgressColumn):
    """The learner at work and, when its first fit drags on, why."""

    def render(self, task: Task) -> Text:
        """Return the line of the moment."""
        learner, since = task.fields["learner"], task.fields["since"]
        compiling = since is not None and perf_counter() - since > PATIENCE
        return Text(f"compiling {learner} ... (once; kept on disk)" if compiling else learner)


class LearnerBar:
    """The bar; `compiling` adds up the seconds of first fits that dragged on."""

    def __init__(self, console: Console, total: int) -> None:
        self.console, self.total, self.compiling = console, total, 0.0

    @contextmanager
    def shown(self, title: str, visible: bool = True) -> Iterator[Tell]:
        """Show it while learners train; give whom to tell."""
        columns = (SpinnerColumn(), title, BarColumn(bar_width=12), MofNCompleteColumn(), AtWork())
        with Progress(
            *columns, console=self.console, transient=True, disable=not (visible and self.console.is_terminal)
        ) as bar:
            task = bar.add_task("", total=self.total, learner="", since=None)
            since = perf_counter()

            def begin(learner: str) -> None:
                nonlocal since
                since = perf_counter()
                bar.update(task, learner=learner, since=since)

            def ready() -> None:
                took = perf_counter() - since
                self.compiling += took if took > PATIENCE else 0.0
                bar.update(task, advance=1, since=None)

            yield Tell(begin, ready)
