"""A line about what is proved so far, on stderr and only on a terminal."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite, log

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task

from linsep.cli.terminal.output import Text, percent, seconds, stderr, text_column

CLOSED = 0.002
"""The relative gap at which the bar is full; it fills with the logarithm of the gap."""
FULL = 1.001
"""What the bar is filled up to: more than any bracket is closed, as a full one would stop."""
Watch = Callable[[str, float, float], None]


def bracket(name: str, lower: float, upper: float) -> tuple[str, float]:
    """Return what is told of a bracket, and how much of it is closed, from 0 to 1.

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


class Clock(ProgressColumn):
    """The time that the search has taken, of how much; what is found by then is checked in exact arithmetic."""

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
    """Show the bracket of the moment closing, and the time; give whom to tell, None without a terminal."""
    console = stderr()
    if not shown or not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield None
        return
    columns = SpinnerColumn(), BarColumn(bar_width=16), text_column("{task.description}"), Clock(limit)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("looking at the rows", total=FULL)

        def watch(name: str, lower: float, upper: float) -> None:
            text, closed = bracket(name, lower, upper)
            bar.update(task, description=text, completed=closed)

        yield watch
