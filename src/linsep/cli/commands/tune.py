"""`linsep tune`: search learners, maps and parameters."""

from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.options.common import (
    Brief,
    Json,
    Quiet,
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
from linsep.cli.terminal.text import words

if TYPE_CHECKING:
    from rich.console import Console

    from linsep.cli.jobs.comparing import Attempt, Contest
    from linsep.cli.jobs.tuning import Result

EXAMPLES = """
linsep tune train.svm
linsep tune train.csv --label income --candidates 100 --test test.csv
linsep tune train.svm --learner passive-aggressive --learner pegasos --time-limit 60
"""
HOLDOUT, CANDIDATES, SHOWN = 0.25, 40, 10


def run(
    ctx: typer.Context,
    data: Sources,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Rows to judge the winner by; the search does not see them."),
    ] = None,
    holdout: Annotated[float, typer.Option(metavar="SHARE", help="How many are set aside, of each class.")] = HOLDOUT,
    candidates: Annotated[int, typer.Option(metavar="N", min=1, help="How many combinations to try.")] = CANDIDATES,
    time_limit: TimeLimit = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
) -> None:
    """Search learners, maps and parameters by successive halving on held-out rows.

    All candidates learn some of the rows, the best third three times as many, until those that are left have learned
    all. Options that are given are not varied. The same seed gives the same result, without a time limit. All rows are
    in memory.
    """
    from linsep.cli.jobs.comparing import Contest, choose_learners, refuse_foreign, rows_with_labels
    from linsep.cli.jobs.reading import read_rows
    from linsep.cli.jobs.tuning import draw_candidates, halve, leaders, round_sizes
    from linsep.cli.terminal.output import print_json, stderr, stdout
    from linsep.cli.terminal.progress import LearnerBar

    show_as, options = show_of(json, brief, quiet), learner_options(ctx)
    check_time_limit(time_limit)
    check_holdout(holdout)
    check_targets({}, [*data, *(test or [])], quarantine_file(ctx))
    maps_from(options.maps)  # so that a wrong map is an error before the work
    names = choose_learners(options.learners)
    refuse_foreign(options.parameters, names)
    seed = options.parameters["random_state"]
    with interruptible(in_place=[quarantine_file(ctx)]):
        rows, judges = read_rows(data, test, reader_options(ctx), show_as is not Show.NOTHING)
        contest = Contest.of(rows, None, holdout, seed)
        X, classes = contest.train.X, len(contest.classes)
        drawn = draw_candidates(names, options.parameters, options.maps, X, classes, candidates, seed)
        bar = LearnerBar(stderr(), sum(count for count, _ in round_sizes(len(contest.train.y), len(drawn))))
        with bar.shown("searching", show_as is not Show.NOTHING) as tell:
            results = list(halve(contest, drawn, seed, tell, time_limit))
            ranked = leaders(results)
            tested = None
            if judges is not None and ranked and ranked[0].attempt.error is not None:
                final = Contest(rows_with_labels(rows), rows_with_labels(judges))
                [tested] = final.attempts({"the winner": ranked[0].candidate}, tell)
    command = _command(data, reader_options(ctx), ranked)
    if show_as is Show.JSON:
        print_json(as_json(contest, ranked, tested, command))
    elif show_as is Show.BRIEF:
        stdout().print(command or "no candidate could be trained", soft_wrap=True)
    elif show_as is Show.ALL:
        show(stdout(), data, test, contest, ranked, tested, command)
    if not command:
        raise typer.Exit(1)


def _command(data: list[str], options: dict[str, Any], ranked: "list[Result]") -> str:
    """Return the command that fits the winner; empty if there is none."""
    if not ranked or ranked[0].attempt.error is None:
        return ""
    return join(["linsep", "fit", *data, *reading_words(options), *ranked[0].candidate.words, "-o", "model.linsep"])


def as_json(contest: "Contest", ranked: "list[Result]", tested: "Attempt | None", command: str) -> dict[str, Any]:
    """Return the ranking, for machines."""
    return {
        "rows": len(contest.train.y),
        "held_out": len(contest.test.y),
        "features": contest.train.X.shape[1],
        "classes": contest.classes,
        "candidates": [
            {
                "learner": result.candidate.learner,
                "options": result.candidate.words,
                "round": result.round,
                "rows": result.rows,
                "error": result.attempt.error,
                "seconds": result.attempt.seconds,
                "why": result.attempt.why,
            }
            for result in ranked
        ],
        "test_error": None if tested is None else tested.error,
        "command": command or None,
    }


def show(
    console: "Console", data: list[str], test: list[str] | None, contest: "Contest", ranked: "list[Result]",
    tested: "Attempt | None", command: str,
) -> None:  # fmt: skip
    """Print the best candidates, why others failed, and the command that fits the winner."""
    from linsep.cli.terminal.output import note, percent, title

    able = [result for result in ranked if result.attempt.error is not None]
    title(console, f"{len(ranked)} candidates on {words(data)}")
    rows, features, classes = len(contest.train.y), contest.train.X.shape[1], len(contest.classes)
    note(
        console,
        f"{rows:,} rows to learn from, {len(contest.test.y):,} set aside to be judged by; {features:,} features; "
        f"{classes} classes",
    )
    console.print()
    if able:
        console.print(_table(able[:SHOWN]))
        console.print()
    if len(able) > SHOWN:
        note(console, f"{len(able) - SHOWN} more candidates are not shown: --json has all")
    reasons: dict[str, list[str]] = {}
    for result in ranked:
        if result.attempt.why is not None:
            reasons.setdefault(result.attempt.why, []).append(result.candidate.learner)
    for why, names in reasons.items():
        note(console, f"{', '.join(dict.fromkeys(names))}: {why}")
    if not command:
        note(console, "no candidate could be trained")
        return
    note(
        console,
        "the error of the best is the smallest of many on the same rows, and lower than on new ones: add --test FILE",
    )
    if tested is not None and tested.scores is not None and test is not None:
        low, high = tested.scores.interval
        console.print(
            f"test error  {percent(tested.scores.error)} on {tested.scores.rows:,} rows of {words(test)}, "
            f"interval {100 * low:.1f}–{100 * high:.1f} %; trained on all rows of {words(data)}",
            soft_wrap=True,
        )
    console.print(f"\n{command}", soft_wrap=True)


def _table(ranked: "list[Result]") -> Any:
    from linsep.cli.terminal.output import Text, percent, seconds, table

    made = table("learner", ">error", ">interval", ">rows", ">time", "settings")
    made.columns[-1].no_wrap = False
    for result in ranked:
        attempt = result.attempt
        assert attempt.scores is not None
        low, high = attempt.scores.interval
        best = "bold green" if result is ranked[0] else ""
        made.add_row(
            result.candidate.learner, Text(percent(attempt.scores.error), best), f"{100 * low:.1f}–{100 * high:.1f} %",
            f"{result.rows:,}", seconds(attempt.seconds or 0.0), " ".join(_settings(result)),
        )  # fmt: skip
    return made


def _settings(result: "Result") -> list[str]:
    """Return the maps and the settings that were drawn."""
    return [*(f"--map {name}" for name in result.candidate.maps), *result.candidate.settings]
