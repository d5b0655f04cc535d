"""`linsep certify`: what can be proved of data, and of a run on them."""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.failures import Interrupted, Usage
from linsep.cli.options import Json, Quiet, Report, Sources, as_said, given, learner_from, reading
from linsep.cli.targets import check_targets

if TYPE_CHECKING:
    from linsep.data.dataset import Dataset
    from linsep.learners.learner import Learner
    from linsep.theory.certificates import Certificate

EXAMPLES = """
linsep certify train.csv --label income
linsep certify train.csv --label income -o income.cert --time 10
linsep certify train.svm --learner perceptron --report run.html
"""
PASSES, BIAS = 10, 1.0


def run(
    ctx: typer.Context,
    data: Sources,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="CERT", help="A file for the certificate, for verify.")
    ] = None,
    time: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For the search; what is proved by then is certified.")
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(metavar="T", min=1, help=f"Bounds are stated for one pass and for so many; {PASSES} if not said."),
    ] = None,
    bias: Annotated[
        float | None, typer.Option(metavar="B", help="The constant feature's value, 0 for none; 1 if not said.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(metavar="E", help="The error rate for which a sample size is stated.")
    ] = 0.05,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="How sure statements about new rows are to be.")
    ] = 0.95,
    report: Report = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Prove what can be proved of data: whether a hyperplane separates them, margins, and bounds on mistakes.

    The bounds are those of the perceptron and of Winnow, in any order of the rows. With --learner, a run over the rows
    is held to its theorem, too: one pass in the order of the files, unless --epochs and --shuffle say otherwise.
    """
    _refuse(time, bias, epsilon, confidence)
    check_targets({"-o": out, "--report": report, "--quarantine": reading(ctx).get("quarantine")}, list(data))
    learner, began = _learner(ctx, passes, bias), perf_counter()
    if report is not None:
        import_module("linsep.cli.certify_report")  # so that a missing matplotlib is told before the work

    from linsep.cli.bracket_bar import bracket_bar
    from linsep.cli.labelled import labelled
    from linsep.core.threads import threads

    rows = labelled(ctx, data)
    plan: dict[str, Any] = {"epsilon": epsilon, "delta": round(1 - confidence, 12), "time_limit": time}
    plan["n_jobs"] = threads(reading(ctx).get("n_jobs", -1))
    try:
        with bracket_bar(time, shown=not (json or quiet)) as watch:
            cert = _certified(rows, learner, {"watch": watch, **plan}, passes or PASSES, BIAS if bias is None else bias)
        written = _write(ctx, cert, rows, learner, data, out, report)
    except KeyboardInterrupt:
        raise Interrupted from None
    _tell(cert, data, learner, written, perf_counter() - began, json, quiet)


def _refuse(time: float | None, bias: float | None, epsilon: float, confidence: float) -> None:
    """Refuse numbers that make no sense."""
    for option, share in (("--epsilon", epsilon), ("--confidence", confidence)):
        if not 0 < share < 1:
            raise Usage(f"{option} {share:g}: it is a share, between 0 and 1")
    if time is not None and not time > 0:
        raise Usage(f"--time {time:g}: give a number of seconds above 0")
    if bias is not None and not 0 <= bias < float("inf"):
        raise Usage(f"--bias {bias:g}: give a number of at least 0")


def _learner(ctx: typer.Context, passes: int | None, bias: float | None) -> "Learner | None":
    """Return the learner that was named, to be trained once in the order of the files unless it was said otherwise."""
    from linsep.cli.learner_options import described, option
    from linsep.learners.table import LEARNERS

    told = given(ctx)
    parameters = {name: value for name, value in told.parameters.items() if name not in ("n_jobs", "random_state")}
    if not told.learners:
        if parameters:
            raise Usage(f"{option(next(iter(parameters)))} is an option of learners: name one, such as -l perceptron")
        return None
    if passes is not None:
        raise Usage("--passes: with a learner, bounds are stated for its own passes, --epochs")
    if bias is not None:
        raise Usage("--bias: with a learner it is --intercept-scaling, or --no-fit-intercept for none")
    usual = {"max_iter": 1, "shuffle": False, "log": True} if LEARNERS[told.learner].online else {}
    if parameters.get("select") is not None:
        usual.pop("max_iter", None)
    usual = {name: value for name, value in usual.items() if name in described(told.learner)}
    return learner_from(told.learner, {**usual, **parameters, "random_state": told.parameters["random_state"]})


def _certified(
    rows: "Dataset", learner: "Learner | None", plan: dict[str, Any], passes: int, bias: float
) -> "Certificate":
    from linsep.cli.quiet import quiet_fit
    from linsep.theory.certifying import certify

    if learner is None:
        return certify(rows.X, rows.y, bias=bias, passes=passes, **plan)
    quiet_fit(learner, rows.X, rows.y)
    return learner.certificate(rows.X, rows.y, **plan)


def _write(
    ctx: typer.Context, cert: "Certificate", rows: "Dataset", learner: "Learner | None", data: list[str],
    out: Path | None, report: Path | None,
) -> dict[str, Path]:  # fmt: skip
    """Write what was asked for; return the files."""
    written = {}
    if out is not None:
        from linsep.models.aside import aside

        with aside(out) as draft:
            cert.save(draft)
        written["certificate"] = out
    if report is not None:
        from linsep.cli.certify_report import certify_report

        said = [*as_said(reading(ctx)), *(word for name in given(ctx).maps for word in ("--map", name))]
        certify_report(cert, rows, learner, data, said, out).write(report)
        written["report"] = report
    return written


def _tell(
    cert: "Certificate", data: list[str], learner: "Learner | None", written: dict[str, Path], took: float,
    json: bool, quiet: bool,
) -> None:  # fmt: skip
    from linsep.cli.certificate_screen import as_json, in_a_line, show
    from linsep.cli.output import stdout, tell_json

    if json:
        tell_json(as_json(cert) | {name: str(path) for name, path in written.items()} | {"seconds": took})
    elif quiet:
        stdout().print(in_a_line(cert), soft_wrap=True)
    else:
        show(stdout(), cert, data, learner, written, took)
