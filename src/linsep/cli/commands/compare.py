"""`linsep compare`: learners side by side."""

from importlib import import_module
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.options.common import (
    Brief,
    Json,
    Quiet,
    Report,
    Show,
    Sources,
    TimeLimit,
    check_holdout,
    check_time_limit,
    learner_options,
    maps_from,
    quarantine_file,
    reader_options,
    reading_words,
    show_of,
)
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.terminal.text import word, words

if TYPE_CHECKING:
    from rich.console import Console

    from linsep.cli.jobs.comparing import Attempt, Contest

EXAMPLES = """
linsep compare train.svm
linsep compare train.svm --test test.svm --epochs 20 --report comparison.html
linsep compare train.svm --map scale --learner winnow --learner perceptron
"""
RAN_OUT, HOLDOUT = "*", 0.25
SPARE = ("rows/s", "time", "mistakes")
"""Columns that a narrow terminal does without, the first first."""


def run(
    ctx: typer.Context,
    data: Sources,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Test rows. Default: some of DATA."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help=f"How many are set aside, of each class. Default: {HOLDOUT}."),
    ] = None,
    time_limit: TimeLimit = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
    report: Report = None,
) -> None:
    """Rank learners by their error on the same split.

    All learners of the table but those for small data, with variants: several classes one against the rest, other
    solvers, standardised columns. Or the learners that are named. Each takes those options that it has. A learner that
    can't take the data is listed with the reason. All rows are in memory.
    """
    from linsep.cli.jobs.comparing import Contest, candidates_of, choose_learners, rank
    from linsep.cli.jobs.reading import read_rows
    from linsep.cli.terminal.output import percent, print_json, stderr, stdout
    from linsep.cli.terminal.progress import LearnerBar

    show_as = show_of(json, brief, quiet)
    check_time_limit(time_limit)
    check_holdout(holdout, test)
    check_targets({"--report": report}, [*data, *(test or [])], quarantine_file(ctx))
    options = learner_options(ctx)
    if report is not None:
        import_module("linsep.cli.pages.evaluation")  # so that a missing matplotlib is an error before the work
    names = choose_learners(options.learners)
    candidates = candidates_of(names, options.parameters, options.maps)
    maps_from(options.maps)  # so that a wrong map is an error before the work
    with interruptible(report, in_place=[quarantine_file(ctx)]):
        rows = read_rows(data, test, reader_options(ctx), show_as is not Show.NOTHING)
        contest = Contest.of(*rows, HOLDOUT if holdout is None else holdout, options.parameters["random_state"])
        candidates = candidates if options.learners else contest.variants(candidates)
        bar = LearnerBar(stderr(), len(candidates))
        with bar.shown("comparing", show_as is not Show.NOTHING) as tell:
            attempts = rank(list(contest.attempts(candidates, tell, time_limit)))
        if report is not None:
            from linsep.cli.pages.evaluation import write_comparison

            mapped = [word for name in options.maps for word in ("--map", name)]
            named = [word for name in options.learners for word in ("--learner", name)]
            share = ["--holdout", f"{holdout:g}"] if holdout is not None else []
            compared, read = [*mapped, *named, *share], reading_words(reader_options(ctx))
            write_comparison(report, data, test, contest, attempts, read, compared, options.parameters)
        best = attempts[0]
        command = _command(data, reader_options(ctx), best)
        if show_as is Show.JSON:
            print_json(as_json(contest, attempts) | {"command": command or None})
        elif show_as is Show.BRIEF:
            line = f"{best.name}: error {percent(best.error)}" if best.error is not None else "no learner could"
            stdout().print(line, soft_wrap=True)
        elif show_as is Show.ALL:
            show(stdout(), data, test, contest, attempts, bar.compiling)
            if report is not None:
                stdout().print(f"\nreport  {word(report)}", soft_wrap=True)
            if command:
                stdout().print(f"\n{command}", soft_wrap=True)
        if best.error is None:
            raise typer.Exit(1)


def _command(data: list[str], options: dict[str, Any], best: "Attempt") -> str:
    """Return the command that fits the winner on all rows; empty if there is none."""
    if best.error is None or best.candidate is None:
        return ""
    return join(["linsep", "fit", *data, *reading_words(options), *best.candidate.words, "-o", "model.linsep"])


def as_json(contest: "Contest", attempts: "list[Attempt]") -> dict[str, Any]:
    """Return the ranking, for machines."""
    return {
        "rows": len(contest.train.y),
        "test_rows": len(contest.test.y),
        "features": contest.train.X.shape[1],
        "classes": contest.classes,
        "learners": [attempt_as_json(attempt) for attempt in attempts],
    }


def attempt_as_json(attempt: "Attempt") -> dict[str, Any]:
    """Return what is known of a candidate, for machines."""
    assert attempt.candidate is not None
    own = {name: value for name, value in attempt._asdict().items() if name not in ("scores", "candidate")}
    return own | {"options": attempt.candidate.words}


def show(
    console: "Console", data: list[str], test: list[str] | None, contest: "Contest", attempts: "list[Attempt]",
    compiling: float,
) -> None:  # fmt: skip
    """Print the ranking."""
    from linsep.cli.jobs.comparing import count_of
    from linsep.cli.terminal.output import note, print_table, title
    from linsep.estimators.registry import LEARNERS

    title(console, f"{count_of(attempts)} on {words(data)}")
    judges = f"{len(contest.test.y):,} of {words(test)}" if test else f"{len(contest.test.y):,} set aside"
    rows, features, classes = len(contest.train.y), contest.train.X.shape[1], len(contest.classes)
    note(console, f"{rows:,} training rows, {judges} test rows; {features:,} features; {classes} classes")
    console.print()
    print_table(console, _table([attempt for attempt in attempts if attempt.error is not None]), *SPARE)
    for why in dict.fromkeys(attempt.why for attempt in attempts if attempt.why is not None):
        console.print()
        note(console, f"{'; '.join(attempt.name for attempt in attempts if attempt.why == why)}: {why}")
    console.print()
    if any(attempt.settled is False for attempt in attempts):
        note(console, f"{RAN_OUT} was not done at the end: rows that no line separates, or more --epochs are needed")
    if compiling >= 1:
        note(console, f"compiling took {compiling:.0f} s on top, once")
    tried = {attempt.candidate.learner for attempt in attempts if attempt.candidate is not None}
    left = [name for name in LEARNERS if name not in tried]
    if left and all(LEARNERS[name].small for name in left):
        note(console, f"left out, as their time grows faster than the data: {', '.join(left)}")
    note(console, "interval: of 95 %, for the error on rows like these; time: of training")


def _table(attempts: "list[Attempt]") -> Any:
    from linsep.cli.terminal.output import Text, percent, seconds, short, table

    made = table("learner", ">error", ">interval", ">mistakes", ">time", ">rows/s")
    for attempt in attempts:
        assert attempt.scores is not None
        low, high = attempt.scores.interval
        best = "bold green" if attempt.error == attempts[0].error else ""
        made.add_row(
            attempt.name + ("" if attempt.settled else f" {RAN_OUT}"), Text(percent(attempt.scores.error), best),
            f"{100 * low:.1f}–{100 * high:.1f} %", "" if attempt.mistakes is None else f"{attempt.mistakes:,}",
            seconds(attempt.seconds or 0.0), short(attempt.rows_per_second or 0.0),
        )  # fmt: skip
    return made
