"""`linsep fit`: from files to a model."""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.failures import Interrupted, Usage
from linsep.cli.options import NAMED, Json, Quiet, Report, Sources, as_said, given, learner_from, reading
from linsep.cli.targets import check_targets

if TYPE_CHECKING:
    from linsep.cli.training import Task, Trained
    from linsep.learners.learner import Learner
    from linsep.models.file import Saved

EXAMPLES = """
linsep fit train.svm -o model.linsep
linsep fit train.csv --label income -o model.linsep --holdout 0.2
linsep fit train.svm -o model.linsep --stream --epochs 2 --test test.svm
linsep fit more.svm --resume model.linsep -o model.linsep
"""


def run(
    ctx: typer.Context,
    data: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="The file that the model is written to.")],
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="FILE", help="Rows to judge the model by; again for more.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Judge the model by this share of the rows, held out.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="MODEL", help="Go on training this model.")
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Learn rows as they come, in the order of the files, in bounded memory, and once unless --epochs says "
            "more; no log is kept unless --log says so (voters keep it, and the rows of their mistakes). Otherwise all "
            "rows are read into memory first, and learned in a random order.",
        ),
    ] = False,
    open_labels: Annotated[
        bool,
        typer.Option(
            "--open-labels", help="With --stream: let labels that are still unknown come when the model is resumed."
        ),
    ] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="platt|isotonic",
            help="Turn scores into probabilities, by what they were worth on rows not yet learned: five folds, each "
            "held out once, or with --stream each row before it is learned.",
        ),
    ] = None,
    report: Report = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Train a learner on files, and write the model to a file.

    While it runs, the progressive error is shown: each row is predicted before it is learned.
    """
    began = perf_counter()
    if holdout is not None and not 0 < holdout < 1:
        raise Usage(f"--holdout {holdout:g}: it is a share of the rows, between 0 and 1")
    if test and holdout is not None:
        raise Usage("--test and --holdout both say what to judge the model by: give one of them")
    if calibrate not in (None, "platt", "isotonic"):
        raise Usage(f"--calibrate {calibrate}: there are platt and isotonic")
    options = reading(ctx)
    check_targets({"-o": out, "--report": report, "--quarantine": options.get("quarantine")}, [*data, *(test or [])])

    from linsep.cli.counted import counted
    from linsep.cli.streaming import streamed
    from linsep.cli.training import Task, in_memory
    from linsep.cli.watching import Watching
    from linsep.data.sources import sources_of

    if report is not None:
        import_module("linsep.plots.report")  # so that a missing matplotlib is told before the work
    for name in test or ():
        sources_of(name)  # so that a missing file is told before the work
    if resume is not None and calibrate is not None:
        raise Usage(f"--calibrate: {resume} goes on with what it has")
    learner, epochs, saved = _chosen(ctx, resume, stream)
    options = counted(options, learner, data) if saved is None else options
    seed = given(ctx).parameters["random_state"] if saved is None else learner.seed_
    task = Task(
        data, options, learner, epochs, seed, Watching(shown=not (json or quiet)), test, holdout, saved,
        report is not None, _maps(ctx, resume, stream), open_labels, calibrate,
        None if saved is None else saved.model,
    )  # fmt: skip
    try:
        trained = streamed(task) if stream else in_memory(task)
        about = _about(task, trained)
        _save(trained, out, about)
    except KeyboardInterrupt:
        kept = f"{out} is as it was before" if out.exists() else "nothing was written"
        raise Interrupted(kept=kept) from None
    if task.interrupted:
        raise Interrupted(kept=f"{out} has what was learned from {trained.rows:,} rows")
    about["seconds"]["all"] = perf_counter() - began
    if report is not None:
        _report(trained, about, task, out, report)
        about["seconds"]["all"] = perf_counter() - began
    for remark in task.remarks:
        typer.echo(f"linsep fit: {remark}", err=True)
    _tell(trained, about, out, json, quiet)


def _report(trained: "Trained", about: dict[str, Any], task: "Task", out: Path, report: Path) -> None:
    """Write the page."""
    from linsep.cli.fit_report import fit_report

    try:
        fit_report(trained, about, task.watching, str(out)).write(report)
    except KeyboardInterrupt:
        raise Interrupted(kept=f"{out} is written, the report is not") from None
    about["report"] = str(report)


def _chosen(ctx: typer.Context, resume: Path | None, stream: bool) -> "tuple[Learner, int, Saved | None]":
    """Return the learner to train, new or resumed, for how many epochs, and the model that it is resumed from."""
    from linsep.learners.base import OnlineLearner
    from linsep.learners.voter import Voter

    told = given(ctx)
    parameters = {name: value for name, value in told.parameters.items() if name != "n_jobs"}
    if stream and "shuffle" in parameters:
        raise Usage("--stream learns rows in the order of the files: leave out --shuffle")
    if stream and parameters.get("select") is not None:
        raise Usage("--select locates a row among all of them: leave out --stream")
    saved, learner = None, None
    if resume is None:
        learner = learner_from(told.learner, parameters)
    else:
        saved, learner = _resumed(ctx, resume, parameters, stream)
    if stream and resume is None and "solver" not in parameters:
        from linsep.cli.learner_options import described

        solver = described(told.learner).get("solver")
        if solver is not None and "stream" in solver.choices:
            learner.set_params(solver="stream")
    if stream and not hasattr(learner, "partial_fit"):
        raise Usage(f"{_called(learner)} sees all rows at once: leave out --stream")
    if stream and (parameters.get("max_iter") or 1) > 1 and not isinstance(learner, OnlineLearner):
        raise Usage("--stream adds each row to the sums once: leave out --epochs")
    known = learner.get_params(deep=False)
    if stream and "log" in known and "log" not in parameters and resume is None and not isinstance(learner, Voter):
        learner.set_params(log=False)  # it would grow with the stream
    epochs = (parameters.get("max_iter") or 1) if stream else getattr(learner, "_most_epochs", 1)
    return learner.set_params(n_jobs=1) if "n_jobs" in known else learner, epochs, saved


def _called(learner: Any) -> str:
    """Return a learner's name, with its solver where it has several."""
    from linsep.cli.answering import name_of

    solver = getattr(learner, "solver", None)
    return name_of(learner) + ("" if solver is None else f" by --solver {solver}")


def _maps(ctx: typer.Context, resume: Path | None, stream: bool) -> list[Any]:
    """Return the maps before the learner."""
    said = given(ctx).maps
    if said and stream:
        raise Usage("--map looks at all rows before the first is learned: leave out --stream, or convert the data")
    if said and resume is not None:
        raise Usage(f"--map: {resume} goes on with the features that it has")
    from linsep.cli.mapping import maps_from

    return maps_from(said) if said else []


def _resumed(ctx: typer.Context, resume: Path, parameters: dict[str, Any], stream: bool) -> "tuple[Saved, Learner]":
    from linsep.cli.answering import learner_of, name_of
    from linsep.models.estimators import is_calibrated, is_pipeline
    from linsep.models.file import opened

    saved, told = opened(resume), given(ctx)
    if getattr(ctx.get_parameter_source("seed"), "name", "") == "COMMANDLINE":
        raise Usage(f"{resume} goes on with the seed that it has: leave out --seed")
    if is_pipeline(saved.model):
        raise Usage(f"{resume} is a pipeline: --resume goes on with learners")
    if is_calibrated(saved.model) and not stream:
        raise Usage(f"{resume} is calibrated, and goes on with rows as they come: add --stream")
    name, learner = name_of(saved.model), learner_of(saved.model)
    if ctx.meta[NAMED] and told.learner != name:
        raise Usage(f"{resume} is of the learner {name}: leave out --learner {told.learner}")
    known = learner.get_params(deep=False)
    if not hasattr(learner, "partial_fit"):
        raise Usage(f"{resume} is of the learner {_called(learner)}, which sees all rows at once: fit it anew")
    if "warm_start" not in known and not stream:
        raise Usage(f"{resume} is of the learner {name}, which goes on with rows as they come: add --stream")
    said = {of: value for of, value in parameters.items() if of != "random_state"}
    learner_from(name, said)
    return saved, learner.set_params(**said, **({"warm_start": True} if "warm_start" in known else {}))


def _save(trained: "Trained", out: Path, about: dict[str, Any]) -> None:
    from linsep.models.file import save

    passing = {"warm_start": False, "n_jobs": None}
    known = trained.learner.get_params(deep=False)
    trained.learner.set_params(**{name: value for name, value in passing.items() if name in known})
    save(trained.model, out, data=trained.seen, about=about)


def _about(task: "Task", trained: "Trained") -> dict[str, Any]:
    """Return how the model came to be, as its file tells it."""
    from datetime import UTC, datetime

    from linsep.cli.found import found
    from linsep.models.estimators import last_of

    first = task.watching.first_epoch
    counted = None if first is None or first[1] is None or not first[0] else first[1] / first[0]
    learner, test = trained.learner, trained.test
    rounds = getattr(learner, "t_", 0)
    return {
        "learner": type(learner).__name__,
        "data": task.sources,
        "rows": trained.rows,
        "features": int(trained.model.n_features_in_),
        "maps": [repr(step) for step in task.maps],
        "labels": len(learner.classes_),
        "calibrated": getattr(last_of(trained.model), "method", None),
        "options": as_said(task.options),
        "rejected": trained.rejected,
        "unseen": trained.unseen,
        "order": _order(learner, trained.streamed),
        "epochs": task.epochs if trained.streamed else int(learner.n_iter_),
        "seed": int(learner.seed_),
        "resumed": task.resume is not None,
        "progressive_error": counted,
        "curve": [[rows, errors] for rows, errors in task.watching.curve if errors is not None],
        "mistakes": int(_total(learner.mistakes_)) if rounds else None,
        "updates": int(_total(learner.updates_)) if rounds else None,
        "found": found(learner),
        "remarks": task.remarks,
        "test": None if test is None else {"error": test.error, "rows": test.rows, "of": trained.test_name},
        "learned": task.watching.curve[-1][0] if task.watching.curve else trained.rows,
        "seconds": {"read": trained.read_seconds, "learn": trained.learn_seconds},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _total(counts: Any) -> Any:
    return counts.sum() if hasattr(counts, "sum") else counts


def _order(learner: Any, streamed: bool) -> str:
    from linsep.cli.inspect import AT_ONCE

    if streamed:
        return "as in the files"
    if not getattr(learner, "t_", 0):
        return AT_ONCE
    if learner.select is not None:
        return f"the {learner.select} misclassified row each time"
    orders = {False: "as in the files", True: "random, anew in each epoch", "once": "random", "blocks": "random blocks"}
    return orders[learner.shuffle]


def _tell(trained: "Trained", about: dict[str, Any], out: Path, json: bool, quiet: bool) -> None:
    from linsep.cli.output import facts, percent, seconds, size, stdout, tell_json, title

    if json:
        tell_json({"model": str(out), "bytes": out.stat().st_size, **about})
        return
    test = trained.test
    error = None if test is None else f"{percent(test.error)} of {test.rows:,} rows ({trained.test_name})"
    progressive = about["progressive_error"]
    if quiet:
        judged = "" if test is None else f", test error {percent(test.error)}"
        learned = "" if progressive is None else f", progressive error {percent(progressive)}"
        typer.echo(f"{out}: {about['rows']:,} rows{learned}{judged}, {seconds(about['seconds']['all'])}")
        return
    from linsep.cli.answering import name_of
    from linsep.cli.found import as_told

    time, earlier = about["seconds"], ", those before included" if about["resumed"] else ""
    parts = [f"read {seconds(time['read'])}", f"learn {seconds(time['learn'])}"] if not trained.streamed else []
    solved = about["mistakes"] is None
    unit = "step" if solved and not trained.streamed else "epoch"
    console = stdout()
    title(console, name_of(trained.learner), ", ".join(about["data"]))
    facts(
        console,
        {
            "rows": f"{about['rows']:,}"
            + (f" ({about['rejected']:,} malformed ones left out)" if about["rejected"] else ""),
            "features": f"{about['features']:,}",
            "maps": ", ".join(about["maps"]) or None,
            "labels": _labels(trained.learner.classes_),
            "order": f"{about['order']}; {about['epochs']} {unit}{'s' * (about['epochs'] != 1)}",
            "progressive error": None if progressive is None else f"{percent(progressive)} in its first epoch",
            "mistakes": None if solved else f"{about['mistakes']:,}, {about['updates']:,} updates{earlier}",
            **as_told(about["found"]),
            "test error": error,
            "time": ", ".join([*parts, f"{seconds(time['all'])} in all"]),
            "probabilities": about["calibrated"],
            "report": about.get("report"),
            "model": f"{out}, {size(out.stat().st_size)}",
        },
    )


def _labels(classes: Any, most: int = 8) -> str:
    shown = ", ".join(map(str, classes[:most].tolist()))
    return f"{len(classes)}: {shown}{', ...' if len(classes) > most else ''}"
