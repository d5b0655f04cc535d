"""`linsep verify`: whether a certificate holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

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
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="MODEL", help="The model of certify --model."),
    ] = None,
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
    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.jobs.reading import load_rows, open_stream
    from linsep.cli.terminal.output import print_json, stderr, stdout
    from linsep.data.streaming import Stream

    show_as = show_of(json, brief, quiet)
    check_time_limit(time_limit)
    check_targets({}, [cert, *data], quarantine_file(ctx))
    with interruptible(in_place=[quarantine_file(ctx)]):
        stated, began = Certificate.load(cert), perf_counter()
        saved, console = None if model is None else opened_classifier(model), stderr()
        rows = (open_stream if stream else load_rows)(ctx, data, show_as is not Show.NOTHING, saved)
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
    from linsep.cli.terminal.output import Text, is_unlimited, note, seconds, title

    many = {status: sum(of == status for _, of, _ in result.checks) for status in COLOURS}
    counts = ", ".join(
        f"{count:,} {status if count == 1 else PLURAL.get(status, status)}" for status, count in many.items() if count
    )
    if not brief:
        title(console, name)
        for lines in _claims(result.checks, None if is_unlimited(console) else console.width):
            console.print()
            for line in lines:
                console.print(line, soft_wrap=True)
        console.print()
    end = "every claim that can be checked holds" if result else "it does not hold for these data"
    if result.unchecked and not result.failures:
        late = many["not in time"]
        end = "the time limit came before all claims were checked" if late else "runs need all rows: omit --stream"
    line = Text.assemble((end, "bold green" if result else "bold red"), f": {counts}; {seconds(took)}")
    console.print(line, soft_wrap=brief)
    if [claim for claim, _ in result.failures] == ["data"] and not brief:
        note(
            console,
            "are they read as they were for certify? --label, --map, -O, --on-error and --model must be the same",
        )


def _claims(checks: Sequence[tuple[str, str, str]], width: int | None) -> Iterator[list[Any]]:
    """Yield blocks of lines: failures by their whole names, what holds by problem, then what was not checked."""
    by_status = {of: [(claim, detail) for claim, status, detail in checks if status == of] for of in COLOURS}
    for status in ("fails", "not in time", "needs rows"):
        if by_status[status]:
            yield _lines(status, by_status[status], width)
    problems: dict[str, list[tuple[str, str]]] = {}
    for claim, detail in by_status["holds"]:
        problem, _, name = claim.rpartition(": ")
        problems.setdefault(problem, []).append((name, _short_detail(detail)))
    for problem, claims in problems.items():
        yield [word(problem)] * bool(problem) + _lines("holds", claims, width)
    if by_status["not checked"]:
        yield _lines("not checked", by_status["not checked"], width)


def _lines(status: str, claims: list[tuple[str, str]], width: int | None) -> list[Any]:
    """Return a line for each claim, with its value in a column; text wider than the terminal continues on the next."""
    from linsep.cli.terminal.output import Text, wrap

    lines, indent = [], len(status) + 2
    edge = max(len(word(name)) for name, _ in claims) + 2
    for name, detail in ((word(name), word(detail)) for name, detail in claims):
        if width is None or indent + edge + len(detail) <= width:
            parts = [(name.ljust(edge), detail)]
        else:
            names, details = wrap(name, width - indent, whole=False), wrap(detail, width - indent - 2, whole=False)
            parts = [*((part, "") for part in names), *(("  ", part) for part in details)]
        for first, (left, right) in zip([status] + [""] * len(parts), parts, strict=False):
            lines.append(Text.assemble((first.ljust(indent), COLOURS[status]), left, (right, "dim")))
    return lines


def _short_detail(detail: str) -> str:
    """Return the value of a claim that holds once if both are the same.

    >>> _short_detail("stated 0.5, found 0.5"), _short_detail("stated 0.25, found 0.2")
    ('0.5', 'stated 0.25, found 0.2')
    """
    stated, mark, found = detail.removeprefix("stated ").partition(", found ")
    return found if mark and stated == found else detail
