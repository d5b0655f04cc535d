"""How a study of digits is written down: tables beside the published figures, the figure, and every number."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from benchmarks.digits_1999 import COUNTS, Cell
from linsep.cli.terminal.output import seconds as in_words
from linsep.cli.terminal.output import table
from linsep.demo.digits_study import METHODS, StudyRun, by_degree, mean_errors
from linsep.plots.experiment_curves import name_of, vote_panels


class Cost(NamedTuple):
    """What a study took."""

    seconds: float
    first_degree: float | None
    """Seconds of degree 1, one seed, to its 10th epoch; None if that was not run."""
    peak_bytes: int


class Goal(NamedTuple):
    """A goal for the whole study, what was measured, and whether it counts for what was run."""

    name: str
    measured: float
    most: float
    unit: str

    @property
    def reached(self) -> bool:
        """Whether it is met."""
        return self.measured <= self.most


def figure_of(value: float, row: str) -> str:
    """Return a measured figure as it is written."""
    return f"{value:,.0f}" if row in COUNTS else f"{value:.2f}"


def beside(cell: Cell) -> list[str]:
    """Return the published figure and the difference as they are written, or nothing where none is known."""
    if cell.published is None or cell.difference is None:
        return []
    if cell.row in COUNTS:
        return [f"{cell.published:,.0f}", f"{100 * cell.difference / cell.published:+.1f} %"]
    return [f"{cell.published:.1f}", f"{cell.difference:+.2f}"]


def written(cell: Cell) -> str:
    """Return a cell on one line."""
    known = beside(cell)
    return figure_of(cell.measured, cell.row) + (f" ({', '.join(known)})" if known else "")


def rows_of(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return cells by their rows."""
    return {row: [cell for cell in found if cell.row == row] for row in dict.fromkeys(cell.row for cell in found)}


def on_screen(found: Sequence[Cell]) -> Table:
    """Return a degree's table; below a measured figure stand the published one and the difference, where known."""
    by_row = rows_of(found)
    made = table("", *(f">T = {cell.epochs:g}" for cell in next(iter(by_row.values()))))
    colours = {None: "dim", True: "green", False: "bold red"}
    for row, of_row in by_row.items():
        texts = [
            Text.assemble(
                figure_of(cell.measured, row), *((f"\n{figure}", colours[cell.within]) for figure in beside(cell))
            )
            for cell in of_row
        ]
        made.add_row(row, *texts)
    return made


def in_markdown(degree: int, found: Sequence[Cell]) -> list[str]:
    """Return a degree's table as lines of Markdown; figures in brackets are the published one and the difference."""
    by_row = rows_of(found)
    epochs = [f"T = {cell.epochs:g}" for cell in next(iter(by_row.values()))]
    lines = [f"## Degree {degree}", "", f"| | {' | '.join(epochs)} |", f"|---|{'---:|' * len(epochs)}"]
    for row, of_row in by_row.items():
        texts = [written(cell) + (" **!**" if cell.within is False else "") for cell in of_row]
        lines.append(f"| {row} | {' | '.join(texts)} |")
    return [*lines, ""]


def verdicts(found: Sequence[Cell], judged: Sequence[Goal], cost: Cost) -> list[str]:
    """Return sentences about how many cells are near enough, and what the study took."""
    with_goal = [cell for cell in found if cell.within is not None]
    near = sum(bool(cell.within) for cell in with_goal)
    told = [f"{near} of {len(with_goal)} cells that have a goal are within it."]
    told += [
        f"Not within: degree {cell.degree}, {cell.row}, T = {cell.epochs:g}: {written(cell)}."
        for cell in with_goal
        if not cell.within
    ]
    told.append(f"It took {in_words(cost.seconds)} and {cost.peak_bytes / 1e9:.1f} GB at most.")
    for goal in judged:
        amount, most = (
            (in_words(goal.measured), in_words(goal.most))
            if goal.unit == "s"
            else (f"{goal.measured / 1e9:.1f} GB", f"{goal.most / 1e9:.0f} GB")
        )
        told.append(f"Goal of {most} for {goal.name}: {amount}, {'reached' if goal.reached else 'NOT reached'}.")
    return told


def write_table(file: Path, runs: Sequence[StudyRun], found: Sequence[Cell], said: Sequence[str]) -> None:
    """Write the tables as Markdown."""
    seeds = sorted({run.seed for run in runs})
    many = f"means over the seeds {', '.join(map(str, seeds))}" if len(seeds) > 1 else f"seed {seeds[0]}"
    about = (
        f"Test error in per cent after T epochs, {many}; Mistake adds up the ten machines, SupVec counts the distinct "
        "rows that a machine or more was wrong about. In brackets: the published figure where it is known, and how "
        "far the measured one is from it; **!** is beyond the goal."
    )
    lines = ["# Freund and Schapire's digits on MNIST", "", about, ""]
    for degree in by_degree(runs):
        lines += in_markdown(degree, [cell for cell in found if cell.degree == degree])
    lines += [f"- {sentence}" for sentence in said]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_figure(file: Path, runs: Sequence[StudyRun]) -> None:
    """Draw error against epochs, a panel for each degree."""
    panels = {
        f"degree {degree}": (of_degree[0].epochs, {method: mean_errors(of_degree, method) for method in METHODS})
        for degree, of_degree in by_degree(runs).items()
    }
    vote_panels(panels).savefig(file, dpi=150, facecolor="white")


def record(
    runs: Sequence[StudyRun], found: Sequence[Cell], judged: Sequence[Goal], cost: Cost, threads: int
) -> dict[str, Any]:
    """Return everything as JSON has it."""
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("linsep", "numba", "numpy", "scikit-learn", "scipy")},
        },
        "machine": {"processor": platform.machine(), "system": platform.system(), "cores": os.cpu_count()},
        "threads": threads,
        "runs": [
            run._asdict()
            | {
                "errors": {name_of(method): shares.tolist() for method, shares in run.errors.items()},
                "mistakes": run.mistakes.tolist(),
                "support": run.support.tolist(),
            }
            for run in runs
        ],
        "cells": [cell._asdict() | {"difference": cell.difference, "within": cell.within} for cell in found],
        "goals": [goal._asdict() | {"reached": goal.reached} for goal in judged],
        "cost": cost._asdict(),
    }
