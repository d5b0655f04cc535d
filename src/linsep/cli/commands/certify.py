"""`linsep certify`: what can be proved of data, and of a run on them."""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import UsageError
from linsep.cli.options.common import (
    Brief,
    Json,
    Quiet,
    Report,
    Show,
    Sources,
    TimeLimit,
    as_option,
    as_words,
    check_time_limit,
    learner_from,
    learner_options,
    quarantine_file,
    reader_options,
    show_of,
)
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.terminal.text import say, word

if TYPE_CHECKING:
    from linsep.certificates.certificate import Certificate
    from linsep.data.dataset import Dataset
    from linsep.data.streaming import Stream
    from linsep.estimators.base.learner import Learner

EXAMPLES = """
linsep certify train.csv --label income
linsep certify train.svm --learner perceptron --report run.html
linsep certify train.svm --stream --model model.linsep -o train.cert
"""
PASSES, BIAS = 10, 1.0


def run(
    ctx: typer.Context,
    data: Sources,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="CERT", help="A file for the certificate, for verify.")
    ] = None,
    time_limit: TimeLimit = None,
    passes: Annotated[
        int | None,
        typer.Option(metavar="T", min=1, help=f"State bounds for one pass and for T. Default: {PASSES}."),
    ] = None,
    bias: Annotated[
        float | None, typer.Option(metavar="B", help="The constant feature's value, 0 for none. Default: 1.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(metavar="E", help="The error rate for which a sample size is stated.")
    ] = 0.05,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="The confidence of statements about new rows.")
    ] = 0.95,
    least_error: Annotated[
        bool, typer.Option("--least-error", help="Bound the errors of every hyperplane.")
    ] = False,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Scale columns for a small bound.")
    ] = False,
    risk: Annotated[
        bool, typer.Option("--risk", help="Bound a run's errors on new rows; with --stream, those of the model.")
    ] = False,
    shifting: Annotated[
        bool, typer.Option("--shifting", help="With --learner, bound mistakes against weights that shift.")
    ] = False,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Bound a model's risk by its errors on these rows.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read the rows in passes; needs --model.")
    ] = False,
    report: Report = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Prove margins of data, and bounds on mistakes.

    A certificate states whether a hyperplane separates the rows. The bounds are those of the perceptron and of Winnow,
    in any order of the rows. With --learner, a run over the rows is held to its theorem, too: one pass in the order of
    the files, unless --epochs and --shuffle are given.
    """
    show_as = show_of(json, brief, quiet)
    _refuse(time_limit, bias, epsilon, confidence)
    if str(out) == "-" and json:
        raise UsageError("-o - and --json both write to the standard output: give one of them")
    target = None if str(out) == "-" else out
    check_targets({"-o": target, "--report": report}, list(data), quarantine_file(ctx))
    learner, began = _learner(ctx, passes, bias), perf_counter()
    if report is not None:
        import_module("linsep.cli.pages.certificate")  # so that a missing matplotlib is an error before the work

    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.jobs.reading import load_rows, open_stream
    from linsep.cli.terminal.progress import bracket_bar
    from linsep.engine.runtime import threads

    if shifting and learner is None:
        raise UsageError("--shifting is about a run: name a learner, such as -l perceptron")
    if stream and (model is None or learner is not None or report is not None or scaling):
        other = "--learner" if learner is not None else "--report" if report is not None else "--scaling"
        raise UsageError(
            "--stream certifies a model: add --model, such as one of linsep fit --stream" if model is None
            else f"{other} needs all rows in memory: remove --stream"
        )  # fmt: skip
    if risk and learner is None and not stream:
        raise UsageError(
            "--risk is about a run: name a learner, such as -l perceptron, or use --model on held-out rows"
        )
    if model is not None and (learner is not None or bias is not None):
        raise UsageError("--model: the model has its own weights and bias; remove --learner and --bias")
    with interruptible(target, report, in_place=[quarantine_file(ctx)]):
        saved = None if model is None else opened_classifier(model, only_predicts=False)
        rows = (open_stream if stream else load_rows)(ctx, data, show_as is not Show.NOTHING, saved)
        plan: dict[str, Any] = {"epsilon": epsilon, "delta": round(1 - confidence, 12), "time_limit": time_limit}
        plan |= {"least_error": least_error, "scaling": scaling}
        plan["n_jobs"] = threads(reader_options(ctx).get("n_jobs", -1))
        with bracket_bar(time_limit, shown=show_as is Show.ALL) as watch:
            plan |= {"watch": watch} | ({"held_out": risk} if stream else {})
            plan |= (
                {"risk": risk, "shifting": shifting}
                if learner is not None
                else {"model": None if saved is None else saved.model}
            )
            cert = _certify(rows, learner, plan, passes or PASSES, BIAS if bias is None else bias)
        if rows.rejected and show_as is not Show.NOTHING:
            say(f"{ctx.command_path}: {rows.rejected:,} malformed row{'s' * (rows.rejected != 1)} left out")
        written = _write(ctx, cert, rows, learner, data, out, report)
        _show(cert, data, learner, written, perf_counter() - began, show_as, str(out) == "-")


def _refuse(time_limit: float | None, bias: float | None, epsilon: float, confidence: float) -> None:
    """Refuse numbers that make no sense."""
    for option, share in (("--epsilon", epsilon), ("--confidence", confidence)):
        if not 0 < share < 1:
            raise UsageError(f"{option} {share:g}: it is a share, between 0 and 1")
    check_time_limit(time_limit)
    if bias is not None and not 0 <= bias < float("inf"):
        raise UsageError(f"--bias {bias:g}: give a number of at least 0")


def _learner(ctx: typer.Context, passes: int | None, bias: float | None) -> "Learner | None":
    """Return the learner that was named, to be trained once in the order of the files unless options disagree."""
    from linsep.cli.options.learners import described, option
    from linsep.estimators.registry import LEARNERS

    training = learner_options(ctx)
    parameters = {name: value for name, value in training.parameters.items() if name not in ("n_jobs", "random_state")}
    if not training.learners:
        if parameters:
            raise UsageError(
                f"{option(next(iter(parameters)))} is an option of learners: name one, such as -l perceptron"
            )
        return None
    if passes is not None:
        raise UsageError("--passes: with a learner, bounds are stated for its own passes, --epochs")
    if bias is not None:
        raise UsageError("--bias: with a learner it is --intercept-scaling, or --no-fit-intercept for none")
    entry = LEARNERS[training.learner]
    usual = {"max_iter": 1, "shuffle": False, "log": True, **entry.row_by_row} if entry.online else {}
    usual = {name: value for name, value in usual.items() if name in described(training.learner)}
    return learner_from(training.learner, {**usual, **parameters, "random_state": training.parameters["random_state"]})


def _certify(
    rows: "Dataset | Stream", learner: "Learner | None", plan: dict[str, Any], passes: int, bias: float
) -> "Certificate":
    from linsep.certificates.certify import certify
    from linsep.cli.jobs.training import fit_quietly
    from linsep.data.streaming import Stream

    if isinstance(rows, Stream):
        return certify(rows, passes=passes, **plan)
    if learner is None:
        return certify(rows.X, rows.y, bias=bias, passes=passes, **plan)
    fit_quietly(learner, rows.X, rows.y)
    return learner.certificate(rows.X, rows.y, **plan)


def _write(
    ctx: typer.Context, cert: "Certificate", rows: "Dataset | Stream", learner: "Learner | None", data: list[str],
    out: Path | None, report: Path | None,
) -> dict[str, Path]:  # fmt: skip
    """Write what was asked for; return the files."""
    from linsep.data.streaming import Stream

    written = {}
    if str(out) == "-":
        typer.echo(cert.text(), nl=False)
    elif out is not None:
        cert.save(out)
        written["certificate"] = out
    if report is not None and not isinstance(rows, Stream):
        from linsep.cli.pages.certificate import certify_report

        certify_report(cert, rows, learner, data, commands(ctx, data, out)).write(report)
        written["report"] = report
    return written


def commands(ctx: typer.Context, data: list[str], out: Path | None) -> list[list[str]]:
    """Return the commands that make the certificate again and check it, with every option that affects it."""
    from linsep.cli.options.learners import parameter_words

    training, options = learner_options(ctx), reader_options(ctx)
    cert = "data.cert" if out is None or str(out) == "-" else str(out)
    read = [*as_words(options), *(word for name in training.maps for word in ("--map", name))]
    dropped = ["--on-error", "skip"] if options.get("on_error") in ("skip", "quarantine") else []
    trains = ["--learner", training.learner] if training.learners else []
    trains += parameter_words(training.parameters, [training.learner])
    own = {param.name: param.default for param in ctx.command.params}
    columns = as_option("--model", str(ctx.params["model"])) if ctx.params["model"] is not None else []
    for name in ("least_error", "scaling", "risk", "shifting"):
        trains += [f"--{name.replace('_', '-')}"] if ctx.params[name] else []
    for name in ("time_limit", "passes", "bias", "epsilon", "confidence"):
        trains += as_option(f"--{name.replace('_', '-')}", ctx.params[name]) if ctx.params[name] != own[name] else []
    return [
        ["linsep", "certify", *data, *read, *dropped, *trains, *columns, "-o", cert],
        ["linsep", "verify", cert, *data, *read, *dropped, *columns],
    ]


def _show(
    cert: "Certificate", data: list[str], learner: "Learner | None", written: dict[str, Path], took: float,
    show_as: Show, aside: bool,
) -> None:  # fmt: skip
    from linsep.cli.terminal.certificate import as_json, in_a_line, show
    from linsep.cli.terminal.output import print_json, stderr, stdout

    console = stderr() if aside else stdout()
    if show_as is Show.JSON:
        print_json(as_json(cert, learner) | {name: str(path) for name, path in written.items()} | {"seconds": took})
    elif show_as is Show.BRIEF:
        console.print(word(in_a_line(cert, learner)), soft_wrap=True)
    elif show_as is Show.ALL:
        show(console, cert, data, learner, written, took)
