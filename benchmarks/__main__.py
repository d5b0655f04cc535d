"""Run the benchmarks and print their table."""

import json
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.timing import Line, Row, Skip, amount
from linsep.engine.tiers import compiling

GROUPS = (
    "epochs", "multiclass", "narrow", "links", "one_row", "memory_limit", "start", "memory", "accuracy", "reading",
    "vowpal", "command_line", "batch", "certificates", "votes",
)  # fmt: skip
LONG = ("freund_schapire", "scale")
"""Groups that take so long that they are run only where they are named."""
WIDE = 170
QUIET = 0.5


def measured(name: str, repeats: int) -> Iterator[Line]:
    """Yield the lines of a group, which is kept from starting threads of its own and from running in Python."""
    with threadpool_limits(1), compiling("always"), warnings.catch_warnings():
        # Ten epochs on data that are not separable: running out of them is no news here.
        warnings.simplefilter("ignore")
        yield from import_module(f"benchmarks.{name}").lines(repeats)


def table_of(lines: list[Line]) -> Table:
    """Return the table."""
    table = Table(title="linsep against its goals (ratio = peer / ours: more is better)")
    for heading in ("work", "against"):
        table.add_column(heading)
    for heading in ("ours", "peer", "ratio", "goal"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reached")
    table.add_column("note")
    for line in lines:
        if isinstance(line, Skip):
            table.add_row(line.work, "", "", "", "", "", "skipped", line.why, style="dim")
            continue
        verdict = "[green]yes[/green]" if line.reached else "[red]no[/red]"
        sides = (amount(line.ours, line.unit), amount(line.peer, line.unit))
        figures = (f"{line.ratio:.2f}", f"{line.goal:.3g}")
        table.add_row(line.work, line.against, *sides, *figures, verdict, line.note)
    return table


def versions() -> dict[str, str]:
    """Return the versions of linsep, of what it stands on and of the peers that are installed."""
    found = {"python": platform.python_version()}
    for name in ("linsep", "numba", "numpy", "scikit-learn", "scipy", "river", "vowpalwabbit"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def load() -> float:
    """Return how many programs wanted a processor over the last minute; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def record(study: dict[str, Any], group: str, lines: list[Line], repeats: int, load_before: float) -> dict[str, Any]:
    """Return a study with the rows of one group, and when and where they were measured, in place of earlier ones."""
    about = {
        "about": headings()[group],
        "date": date.today().isoformat(),
        "repeats": repeats,
        "load_before": round(load_before, 1),
        "cores": os.cpu_count(),
        "processor": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
    }
    rows = [
        {"group": group, **asdict(line)}
        | ({"ratio": line.ratio, "reached": line.reached} if isinstance(line, Row) else {})
        for line in lines
    ]
    groups = study.get("groups", {}) | {group: about}
    every = [row for row in study.get("rows", []) if row["group"] != group] + rows
    order = [name for name in (*GROUPS, *LONG) if name in groups]
    return {
        "groups": {name: groups[name] for name in order},
        "rows": sorted(every, key=lambda row: order.index(row["group"])),
    }


def headings() -> dict[str, str]:
    """Return what each group is about: the first line of its module."""
    texts = {name: Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8") for name in (*GROUPS, *LONG)}
    return {name: text.splitlines()[0].strip('"') for name, text in texts.items()}


def show_groups() -> None:
    """Print the groups and what each is about."""
    for name, text in headings().items():
        print(f"{name:17s}{text}")


def check_names(only: list[str], everything: bool) -> list[str]:
    """Return the groups asked for, all but the long ones if none was named."""
    for name in only:
        if name not in GROUPS + LONG:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(GROUPS + LONG)}", param_hint="--only")
    return [*GROUPS, *LONG] if everything else only or list(GROUPS)


def run(
    only: Annotated[list[str] | None, typer.Option(help="A group to run; may be given more than once.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run the groups that take hours, too.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the results to this file; other groups in it are kept.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds of each row; the best one counts.")] = 10,
    list_groups: Annotated[bool, typer.Option("--list", help="List the groups and stop.")] = False,
) -> None:
    """Time linsep against its peers, in the same run, and print a table with its goals.

    Real data are read from the folder that LINSEP_DATA names; rows that need them are skipped without it.
    """
    if list_groups:
        return show_groups()
    names = check_names(only or [], everything)
    err = Console(stderr=True)
    if load() > QUIET:
        err.print(f"The load is {load():.1f}: other programs share caches and memory; trust no ratio.")
    if not os.environ.get("LINSEP_DATA"):
        err.print("LINSEP_DATA is not set: rows on MNIST and 20newsgroups are skipped.")
    study = json.loads(json_file.read_text(encoding="utf-8")) if json_file and json_file.exists() else {}
    every: list[Line] = []
    for name in names:
        load_before, lines = load(), []
        for line in measured(name, repeats):
            lines.append(line)
            told = line.why if isinstance(line, Skip) else f"{line.ratio:.2f} (goal {line.goal:.3g})"
            err.print(f"{line.work}: {told}", highlight=False, soft_wrap=True)
        every += lines
        study = record(study, name, lines, repeats, load_before)
        if json_file is not None:
            json_file.write_text(json.dumps(study, indent=2) + "\n", encoding="utf-8")
    Console(width=None if sys.stdout.isatty() else WIDE).print(table_of(every))


if __name__ == "__main__":
    typer.run(run)
