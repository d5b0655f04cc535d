"""Shards: rows/s by one and by two, what an epoch of the engine costs, accuracy of mixing, and a model on paper.

The goals: two threads, or two worker processes, on more than 1 GB of text have 1.6 x the rows/s of one; an epoch of a
million weights costs less than 0.3 s beside learning, on two workers of this machine; iterative mixing is within 0.3
points of serial training after ten epochs.

`python -m benchmarks.scale --write` writes what was found to docs/studies/scale.json, the two pictures, and the tables
of docs/studies/shards.md. `--parts speed` measures only that anew, and `--parts` alone makes tables and
pictures again from the numbers as they are.
"""

import argparse
import json
import os
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import scale_accuracy, scale_overhead, scale_report, scale_speed
from benchmarks.data import DataMissing
from benchmarks.timing import Line, Row, Skip

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS, PAGE = DOCS / "studies" / "scale.json", DOCS / "studies" / "shards.md"
Keep = Callable[[str, Any], None]


def speed(repeats: int, keep: Keep) -> Iterator[Line]:
    """Yield the rows of one against two."""
    for line in scale_speed.lines(repeats):
        if isinstance(line, scale_speed.Speed):
            keep("speed", line)
        else:
            yield line


def overhead(repeats: int, keep: Keep) -> Iterator[Line]:
    """Yield the rows of what an epoch costs beside learning."""
    found = []
    for cost in scale_overhead.costs():
        found.append(cost)
        if cost.weights == scale_overhead.WEIGHTS:
            yield cost.row()
    keep("overhead", found)


def accuracy(repeats: int, keep: Keep) -> Iterator[Line]:
    """Yield the rows of iterative mixing beside serial training."""
    found: list[scale_accuracy.Run] = []
    for name in scale_accuracy.SETS:
        try:
            of_set = list(scale_accuracy.runs([name]))
        except DataMissing as missing:
            yield Skip(f"{name}, iterative mixing, test error", str(missing))
            continue
        found += of_set
        for group in scale_accuracy.grouped(of_set).values():
            yield from (scale_accuracy.row(group, method) for method in ("iterative", "iterative, files"))
    if {run.set for run in found} == set(scale_accuracy.SETS):
        keep("accuracy", found)


def shards(repeats: int, keep: Keep) -> Iterator[Line]:
    """Yield nothing but what is missing: accuracy by the number of shards has no goal, and is for the page."""
    try:
        keep("shards", [run for name in scale_accuracy.SETS for run in scale_accuracy.by_shards(name)])
    except DataMissing as missing:
        yield Skip("accuracy by the number of shards", str(missing))


PARTS = {"speed": speed, "overhead": overhead, "accuracy": accuracy, "shards": shards}


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    for part in (speed, overhead, accuracy):
        yield from part(repeats, lambda name, found: None)


def about() -> dict[str, Any]:
    """Return where and when a part was measured."""
    names = ("linsep", "numba", "numpy", "scikit-learn", "scipy", "dask", "distributed")
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
        "machine": {"processor": platform.machine(), "system": platform.system(), "cores": os.cpu_count()},
        "load_after": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
    }


def written(told: dict[str, Any]) -> None:
    """Write the numbers, and make the tables and the pictures of them."""
    from benchmarks import scale_figures

    NUMBERS.write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    missing = [part for part in PARTS if part not in told]
    if missing:
        sys.exit(
            f"{NUMBERS} has no {', '.join(missing)} yet, and so there are no tables and pictures: measure that, too"
        )
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), told), encoding="utf-8")
    figures = {
        "accuracy": scale_figures.accuracy_figure(scale_report.runs_of(told)),
        "model": scale_figures.model_figure(scale_report.measured_costs(told)),
    }
    for name, figure in figures.items():
        scale_figures.save(figure, DOCS / "images" / f"scale_{name}.png")


def with_tables(page: str, told: dict[str, Any]) -> str:
    """Return a page with the tables of a study between its marks."""
    for name, table in scale_report.TABLES.items():
        made = "\n".join(table(told))
        page = re.sub(
            f"(<!-- table: {name} -->\n).*?(<!-- end of table -->)", rf"\g<1>\n{made}\n\n\g<2>", page, flags=re.DOTALL
        )
    return page


def main(given: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS), help="all if not said")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds; the best one counts")
    parser.add_argument("--write", action="store_true", help="write the numbers, tables and pictures of the docs")
    asked = parser.parse_args(given)
    told = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {"about": {}}

    def keep(name: str, found: Any) -> None:
        told[name] = scale_report.numbers(name, found)
        told["about"][name] = about()

    out = Console()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in asked.parts:
            for line in PARTS[part](asked.repeats, keep):
                said = f"{line.ratio:.2f} (goal {line.goal:.3g}); {line.note}" if isinstance(line, Row) else line.why
                out.print(f"{line.work}: {said}", highlight=False, soft_wrap=True)
    if asked.write:
        written(told)


if __name__ == "__main__":
    main()
