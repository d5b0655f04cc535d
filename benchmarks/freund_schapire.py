"""Freund and Schapire's digits of 1999 on MNIST: seven ways to answer, degrees 1 to 4, beside the published figures.

Raw pixels from 0 to 255, the kernel (1 + x.y)^d, ten machines of one digit against the rest, one random permutation
that all epochs share. Degree 1 is followed for 10 epochs, others for 4. The table, the figure of error against epochs,
and a file with every number are written to a folder; several seeds are averaged.

The goals: errors within 0.5 points of those published (3 for the last hypothesis and for a random one), counts within
2 % from one epoch on; all of it in 25 minutes and 10 GB on two cores, degree 1 in 4 minutes.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import data
from benchmarks.data import DataMissing
from benchmarks.digits_1999 import COUNTS, cells
from benchmarks.digits_report import Cost, Goal, figure_of, on_screen, record, verdicts, write_figure, write_table
from benchmarks.timing import Line, Row, Skip
from linsep.cli.terminal.output import note, stdout, title
from linsep.demo.digits_study import Split, StudyRun, Tell, by_degree, epochs_of, study

DEGREES, HIGH = (1, 2, 3, 4), (5, 6)
JOBS = 2
MINUTES, FIRST_MINUTES, GIGABYTES = 25, 4, 10
"""What the default study may take, what its degree 1 may, and the memory of its process."""
OUTPUT = Path("build/freund_schapire")
TABLE, FIGURE, NUMBERS = "table.md", "error_by_epochs.png", "study.json"
TRAINING, TESTING = 60_000, 10_000


def mnist() -> Split:
    """Return MNIST as float64 pixels from 0 to 255, from LINSEP_DATA, or from OpenML where that is not set."""
    if os.environ.get("LINSEP_DATA"):
        X, y, X_test, y_test = data.mnist()
        return Split(*(part for pair in ((pixels(X), y), (pixels(X_test), y_test)) for part in pair))
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml("mnist_784", version=1, as_frame=False)
    except OSError as error:
        raise DataMissing(
            f"MNIST can't be fetched from OpenML ({error}): connect to the network, or set LINSEP_DATA to a folder "
            "with mnist/train.npz and mnist/test.npz"
        ) from error
    X, y = np.asarray(found.data, np.float64), np.asarray(found.target).astype(np.int64)
    if X.shape != (TRAINING + TESTING, 784):
        raise DataMissing(f"OpenML's mnist_784 has the shape {X.shape}, not {(TRAINING + TESTING, 784)}")
    return Split(X[:TRAINING], y[:TRAINING], X[TRAINING:], y[TRAINING:])


def pixels(X: Any) -> Any:
    """Return pixels as they are stored, of such from 0 to 1."""
    return np.rint(255.0 * X.astype(np.float64))


def peak_bytes() -> int:
    """Return the most memory that this process has held so far; 0 where the system does not tell."""
    try:
        import resource
    except ModuleNotFoundError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextmanager
def bar() -> Iterator[Tell]:
    """Show how far the study has come, on stderr and only on a terminal; give whom to tell."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TaskProgressColumn(),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("reading MNIST", total=1.0)
        yield lambda what, share: shown.update(task, description=what, completed=share)


def cost_of(runs: Sequence[StudyRun], seconds: float) -> Cost:
    """Return what a study took."""
    first = [run for run in runs if run.degree == 1 and run.epochs == epochs_of(1)]
    slowest = max((run.learning + run.reading for run in first), default=None)
    return Cost(seconds, slowest, peak_bytes())


def goals(runs: Sequence[StudyRun], cost: Cost) -> list[Goal]:
    """Return the goals that can be judged by what was run."""
    found = []
    ran = [(run.degree, run.epochs) for run in runs]
    if ran == [(degree, epochs_of(degree)) for degree in DEGREES]:
        found.append(Goal("degrees 1 to 4", cost.seconds, 60.0 * MINUTES, "s"))
    if cost.first_degree is not None:
        found.append(Goal("degree 1, 10 epochs, all methods", cost.first_degree, 60.0 * FIRST_MINUTES, "s"))
    if cost.peak_bytes and set(DEGREES) <= {run.degree for run in runs}:
        found.append(Goal("peak memory", cost.peak_bytes, GIGABYTES * 1e9, "B"))
    return found


def options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.freund_schapire", description=__doc__.splitlines()[0])
    parser.add_argument("--degrees", type=int, nargs="+", metavar="D", help="of the kernel (1 + x.y)^D; 1 to 4")
    parser.add_argument("--high", action="store_true", help="degrees 5 and 6, too")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], metavar="N", help="one run of every degree each")
    parser.add_argument(
        "--epochs", type=float, nargs="+", metavar="T",
        help="compare after these, in all degrees; .1 1 2 3 4, and 10 for degree 1, if not said",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="DIR", help=f"{OUTPUT} if not said")
    asked = parser.parse_args(given)
    chosen = asked.degrees or list(DEGREES)
    asked.degrees = sorted({*chosen, *(HIGH if asked.high else ())})
    for name, least, values in (("--degrees", 1, asked.degrees), ("--seeds", 0, asked.seeds)):
        if min(values) < least:
            parser.error(f"{name}: {min(values)} is below {least}")
    asked.seeds = sorted(set(asked.seeds))
    if asked.epochs and (min(asked.epochs) <= 0 or asked.epochs != sorted(set(asked.epochs))):
        parser.error("--epochs: give numbers above 0 that rise")
    return asked


def main(given: Sequence[str] | None = None) -> None:
    """Run the study that the command line asks for, print its tables, and write its files."""
    asked = options(given)
    asked.output.mkdir(parents=True, exist_ok=True)
    began = perf_counter()
    with bar() as tell, threadpool_limits(1):
        split = mnist()
        runs = list(study(split, asked.degrees, asked.epochs, asked.seeds, tell, JOBS))
    cost = cost_of(runs, perf_counter() - began)
    found = [cell for of_degree in by_degree(runs).values() for cell in cells(of_degree)]
    judged = goals(runs, cost)
    said = verdicts(found, judged, cost)
    out = stdout()
    note(out, "Test error in %; below it, where it is known, the published figure and the difference.")
    for degree in by_degree(runs):
        title(out, f"\ndegree {degree}")
        out.print(on_screen([cell for cell in found if cell.degree == degree]))
    for sentence in said:
        out.print(sentence)
    write_table(asked.output / TABLE, runs, found, said)
    write_figure(asked.output / FIGURE, runs)
    written = json.dumps(record(runs, found, judged, cost, JOBS), indent=2)
    (asked.output / NUMBERS).write_text(written + "\n", encoding="utf-8")
    out.print(f"{asked.output}: {TABLE}, {FIGURE} and {NUMBERS}", soft_wrap=True)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group: the default study in a process of its own, once; its files stay in OUTPUT."""
    try:
        mnist()
    except DataMissing as missing:
        yield Skip("Freund and Schapire's study on MNIST", str(missing))
        return
    root = Path(__file__).resolve().parent.parent
    subprocess.run(
        [sys.executable, "-m", "benchmarks.freund_schapire"], cwd=root, check=True, stdout=subprocess.DEVNULL
    )
    told = json.loads((root / OUTPUT / NUMBERS).read_text(encoding="utf-8"))
    for goal in told["goals"]:
        yield Row(f"study: {goal['name']}", "its goal", goal["measured"], goal["most"], 1.0, unit=goal["unit"])
    for degree, row in dict.fromkeys((cell["degree"], cell["row"]) for cell in told["cells"]):
        of_row = [cell for cell in told["cells"] if (cell["degree"], cell["row"]) == (degree, row)]
        if any(cell["within"] is not None for cell in of_row):
            yield furthest(degree, row, of_row)


def furthest(degree: int, row: str, of_row: Sequence[dict[str, Any]]) -> Row:
    """Return the line of the cell that is furthest from the published one, of what it may."""
    judged = [cell for cell in of_row if cell["within"] is not None]
    worst = max(judged, key=lambda cell: abs(cell["difference"]) / cell["allowed"])
    unit = "" if row in COUNTS else "%"
    told = "; ".join(
        f"T={cell['epochs']:g}: {figure_of(cell['measured'], row)} ({cell['published']:,g})" for cell in judged
    )
    ours = max(abs(worst["difference"]), 1e-9)
    return Row(
        f"study: degree {degree}, {row}, furthest off", "published", ours, worst["allowed"], 1.0, told, unit=unit
    )


if __name__ == "__main__":
    try:
        main()
    except DataMissing as missing:
        sys.exit(str(missing))
