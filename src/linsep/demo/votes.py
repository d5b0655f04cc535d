"""What the demo shows of votes: the digits read by all hypotheses of a run, or by one of them."""

from collections.abc import Sequence

from rich.table import Table

from linsep.cli.terminal.output import Text, table
from linsep.demo.data_sets import DataSet
from linsep.demo.digits_study import METHODS, Run, Split, study
from linsep.training.votes import reading_name

DEGREES = (1, 2, 3)
QUICK = (0.1, 1.0, 2.0)
"""Epochs of the demo's quick form."""
ABOUT = (
    "A run passes through many hypotheses. Which should answer: all of them in a vote, their average, the last, or one "
    "at random? All answers of a degree d are read from one run: T epochs of perceptrons with the kernel (1 + x.y)^d, "
    "on the digits' raw pixels. Their test errors:"
)


def read_digits(data: DataSet, seed: int, quick: bool) -> list[Run]:
    """Run the small form of the study on the demo's digits, with their pixels as they were."""
    split = Split(data.factor * data.X, data.y, data.factor * data.X_test, data.y_test)
    return list(study(split, DEGREES, QUICK if quick else None, [seed]))


def vote_table(runs: Sequence[Run]) -> Table:
    """Return a table of methods by degrees, at the end of each run."""
    made = table("answer", *(f">d = {run.degree}, T = {run.epochs[-1]:g}" for run in runs), pad=True)
    least = [min(shares[-1] for shares in run.errors.values()) for run in runs]
    for method in METHODS:
        errors = [run.errors[method][-1] for run in runs]
        cells = [
            Text(f"{100 * error:.1f} %", style="bold green" if error == best else "")
            for error, best in zip(errors, least, strict=True)
        ]
        made.add_row(reading_name(*method), *cells)
    made.add_section()
    made.add_row("mistakes while learning", *(f"{run.mistakes[-1]:,}" for run in runs))
    made.add_row("distinct rows among them", *(f"{run.support[-1]:,}" for run in runs))
    return made
