"""`linsep verify`: whether a certificate holds."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from linsep.cli.options.common import (
    Brief,
    Json,
    Quiet,
    Show,
    Sources,
    TimeLimit,
    check_time_limit,
    quarantine_file,
    show_of,
)
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.terminal.text import say, word, words

if TYPE_CHECKING:
    from rich.console import Console

    from linsep.certificates.certificate import Result

EXAMPLES = """
linsep verify train.cert train.svm
linsep verify income.cert train.csv --label income --json
linsep verify train.cert train.svm --time-limit 60
linsep verify train.cert train.svm --stream
"""
NARROW, LONG = 76, 24
"""Columns below which claims are wrapped, and characters of a value that holds."""
PLURAL = {"fails": "fail", "holds": "hold"}
COLOURS = {
    "fails": "bold red",
    "not in time": "bold red",
    "needs rows": "bold red",
    "holds": "green",
    "not checked": "yellow",
}


def run(
    ctx: typer.Context,
    cert: Annotated[
        Path, typer.Argument(metavar="CERT", show_default=False, help="A file that certify has written.")
    ],
    data: Sources,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read the rows in passes, one block in memory at a time.")
    ] = False,
    time_limit: TimeLimit = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Check a certificate in exact arithmetic.

    The data are read with the options of certify: give the same options. It ends with 0 if no claim fails, with 1
    if one does, if the data are others, or if claims are left unchecked: by the time limit, or by --stream, which can't
    replay runs.
    """
    from linsep.certificates.certificate import Certificate, verify
    from linsep.cli.jobs.reading import load_rows, open_stream
    from linsep.cli.terminal.output import print_json, stderr, stdout
    from linsep.data.streaming import Stream

    show_as = show_of(json, brief, quiet)
    check_time_limit(time_limit)
    check_targets({}, [cert, *data], quarantine_file(ctx))
    with interruptible(in_place=[quarantine_file(ctx)]):
        stated, began = Certificate.load(cert), perf_counter()
        rows, console = (open_stream if stream else load_rows)(ctx, data, show_as is not Show.NOTHING), stderr()
        of = (rows,) if isinstance(rows, Stream) else (rows.X, rows.y)
        if console.is_terminal and show_as is Show.ALL:
            with console.status("checking in exact arithmetic"):
                result = verify(stated, *of, time_limit=time_limit)
        else:
            result = verify(stated, *of, time_limit=time_limit)
        if rows.rejected and show_as is not Show.NOTHING:
            say(f"{ctx.command_path}: {rows.rejected:,} malformed row{'s' * (rows.rejected != 1)} left out")
        took = perf_counter() - began
        if show_as is Show.JSON:
            checks = [{"claim": claim, "status": status, "detail": detail} for claim, status, detail in result.checks]
            print_json({"holds": bool(result), "checks": checks, "seconds": took})
        elif show_as is not Show.NOTHING:
            show(stdout(), f"{word(cert)} on {words(data)}", result, took, show_as is Show.BRIEF)
        if not result:
            raise typer.Exit(1)


def show(console: "Console", name: str, result: "Result", took: float, brief: bool) -> None:
    """Print what became of each claim, failures first, and how many hold."""
    from rich.table import Table

    from linsep.cli.terminal.output import Text, note, seconds, title

    many = {status: sum(of == status for _, of, _ in result.checks) for status in COLOURS}
    counts = ", ".join(
        f"{count:,} {status if count == 1 else PLURAL.get(status, status)}" for status, count in many.items() if count
    )
    if not brief:
        title(console, name)
        console.print()
        made = Table.grid(padding=(0, 2, 0, 0))
        for place in range(3):
            made.add_column(no_wrap=place < 2 - (console.width < NARROW))
        open_ones = Table.grid(padding=(0, 2, 0, 0))
        for claim, status, detail in sorted(result.checks, key=lambda check: list(COLOURS).index(check[1])):
            if status == "not checked":
                open_ones.add_row(
                    Text(status, COLOURS[status]), Text.assemble(f"{word(claim)}: ", (word(detail), "dim"))
                )
            else:
                made.add_row(
                    Text(status, COLOURS[status]), Text(word(claim)), Text(word(_short_detail(status, detail)), "dim")
                )
        console.print(made)
        if open_ones.rows:
            console.print(open_ones)
        console.print()
    end = "every claim that can be checked holds" if result else "it does not hold for these data"
    if result.unchecked and not result.failures:
        end = "the time limit came before all claims were checked"
    line = Text.assemble((end, "bold green" if result else "bold red"), f": {counts}; {seconds(took)}")
    console.print(line, soft_wrap=brief)
    if [claim for claim, _ in result.failures] == ["data"] and not brief:
        note(console, "are they read as they were for certify? --label, --map, -O and --on-error must be the same")


def _short_detail(status: str, detail: str) -> str:
    """Return a value once where both are the same.

    >>> _short_detail("holds", "stated 0.5, found 0.5"), _short_detail("fails", "stated 2, found 3")
    ('0.5', 'stated 2, found 3')
    """
    stated, mark, found = detail.removeprefix("stated ").partition(", found ")
    if status != "holds" or not mark or stated != found:
        return detail
    return found if len(found) <= LONG else f"{found[:LONG]}…"
