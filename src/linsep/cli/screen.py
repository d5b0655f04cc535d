"""What the demo shows: results on stdout, progress on stderr and only on a terminal."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill, indent

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from linsep import __version__
from linsep.cli.data_sets import DataSet
from linsep.cli.learner_bar import LearnerBar, Tell
from linsep.cli.output import Stdout, short, table
from linsep.cli.trials import Trial
from linsep.learners.table import LEARNERS

RAN_OUT, LIMITED = "*", "°"
NARROW = 76
"""Columns below which a table has no room for the bounds: they are listed once, at the end."""


class Screen:
    """The demo's output, from top to bottom."""

    def __init__(self) -> None:
        self.out, self.err = Stdout(highlight=False), Console(stderr=True)
        self.compiling = 0.0

    def headline(self, *parts: str) -> None:
        """Say what follows."""
        self.out.print(Text(" · ".join([f"linsep {__version__}", *parts]), style="bold"))
        self._say(
            "Each X is divided by its largest entry, one factor for the whole set: Winnow takes entries up to 1, and a "
            "separator of the one is a separator of the other."
        )

    @contextmanager
    def progress(self, title: str) -> Iterator[Tell]:
        """Show a bar over the learners while they train."""
        bar = LearnerBar(self.err, len(LEARNERS))
        with bar.shown(title) as tell:
            yield tell
        self.compiling += bar.compiling

    def results(self, data: DataSet, trials: Sequence[Trial]) -> None:
        """Show a data set and its table."""
        rows, features = data.X.shape
        self.out.print()
        self.out.print(Text.assemble((data.name, "bold cyan"), f", {data.about}"))
        machines = f"; mistakes of all {data.classes} one-vs-rest machines" if data.classes > 2 else ""
        self._say(
            f"{rows:,} rows to learn from, {len(data.y_test):,} to be judged by; {features:,} features, divided by "
            f"{data.factor:.4g}; {data.classes} classes; at most {data.epochs} epochs{machines}"
        )
        self.out.print(_table(trials, bounds=self.out.width >= NARROW))

    def notes(self, trials: Sequence[Trial]) -> None:
        """Explain marks, times and letters."""
        self.out.print()
        if not all(trial.settled for trial in trials):
            self._note(RAN_OUT, "still made mistakes in its last epoch: not separable, or more epochs are needed")
        if any(trial.limited for trial in trials):
            self._note(LIMITED, "by its nature can't fit every data set: see its description")
        first = f"; compiling took {self.compiling:.0f} s on top, once" if self.compiling >= 1 else ""
        self._note("rows/s", f"rows learned from in a second, in the fastest of a few fits, on one thread{first}")
        self._note("bound", "for separable rows in any order: R is their largest norm, gamma the margin of the best u")
        if self.out.width < NARROW:
            for name, bound in {trial.name: trial.bound for trial in trials}.items():
                self._note("", f"{name}: {bound}")

    def pictures(self, files: Sequence[Path]) -> None:
        """Say where the pictures are, or how to get them."""
        if not files:
            self.out.print("\nNo picture: drawing needs matplotlib, pip install 'linsep\\[plot]'")
            return
        self.out.print(Text("\nThe perceptron's boundary on two iris species, update by update", style="bold"))
        for file in files:
            self.out.print(Text(f"  {file}"), soft_wrap=True)

    def first_steps(self, code: str) -> None:
        """Show what to try next."""
        self.out.print(Text(f"\nNext, in {_python()}", style="bold"), soft_wrap=True)
        text = Syntax("", "python", theme="ansi_light", background_color="default").highlight(indent(code, "  "))
        text.rstrip()
        self.out.print(text, soft_wrap=True)

    def _say(self, sentence: str) -> None:
        self.out.print(Text(fill(sentence, self.out.width - 1)))

    def _note(self, mark: str, meaning: str) -> None:
        self.out.print(Text(fill(f"{mark:8}{meaning}", self.out.width - 1, subsequent_indent=" " * 8), style="dim"))


def _table(trials: Sequence[Trial], bounds: bool) -> Table:
    made = table("learner", ">mistakes", ">test error", ">rows/s", pad=True)
    if bounds:
        made.add_column("bound on mistakes")
    best = min(trial.test_error for trial in trials)
    for trial in trials:
        marks = ("" if trial.settled else f" {RAN_OUT}") + (f" {LIMITED}" if trial.limited else "")
        error = Text(f"{100 * trial.test_error:.1f} %", style="bold green" if trial.test_error == best else "")
        cells = [Text(trial.name + marks), Text(f"{trial.mistakes:,}"), error, Text(short(trial.rows_per_second))]
        made.add_row(*cells, *([Text(trial.bound)] if bounds else []))
    return made


def _python() -> str:
    """Return the command that starts this interpreter, as short as it can be typed here."""
    found = shutil.which("python")
    if found and Path(found).parent == Path(sys.executable).parent:
        return "python"
    return min(sys.executable, os.path.relpath(sys.executable), key=len)
