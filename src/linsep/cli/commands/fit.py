"""`linsep fit`: from files to a model."""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import Interrupted, UsageError
from linsep.cli.jobs.fit_checks import checked, refuse_for_shards, shared_by
from linsep.cli.options.common import (
    Brief,
    Json,
    Quiet,
    Report,
    Show,
    Sources,
    learner_options,
    reader_options,
    show_of,
)
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.options.workers import Scheduler, Workers, crew_of, refuse_for_parts, refuse_threads
from linsep.cli.terminal.text import say

if TYPE_CHECKING:
    from linsep.cli.jobs.sharded import Sharing
    from linsep.cli.jobs.training import Task, Trained

EXAMPLES = """
linsep fit train.svm -o model.linsep
linsep fit train.csv --label income -o model.linsep --holdout 0.2
linsep fit train.svm -o model.linsep --stream --epochs 2 --test test.svm
linsep fit more.svm --resume model.linsep -o model.linsep
linsep fit train.svm -o model.linsep --shards 8 --workers 2
"""


def run(
    ctx: typer.Context,
    data: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="The file that the model is written to.")],
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="FILE", help="Rows to judge the model by; again for more.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Judge the model by this share of the rows.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="MODEL", help="Continue to train this model.")
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="With shards: discard the epochs of an interrupted run."
        ),
    ] = False,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Learn rows in the order of the files, once or for --epochs, in bounded memory.",
        ),
    ] = False,
    open_labels: Annotated[
        bool,
        typer.Option(
            "--open-labels", help="With --stream: accept new labels when the model is resumed."
        ),
    ] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="sigmoid|isotonic",
            help="Turn scores into probabilities, calibrated on rows held out.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    report: Report = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Train a learner on files, and write the model to a file.

    The progressive error is shown while it runs: each row is predicted before it is learned.
    """
    show = show_of(json, brief, quiet)
    began, crew, options = perf_counter(), crew_of(workers, scheduler), reader_options(ctx)
    said = shared_by(crew, learner_options(ctx), stream)
    checked(test, holdout, calibrate, resume)
    if said is not None:
        refuse_for_parts(said, data, options)
        refuse_for_shards(said, holdout, calibrate, resume, learner_options(ctx).maps, open_labels)
    if crew is not None:
        refuse_threads(crew, options)
    kept = None if said is None or (out.exists() and not out.is_file()) else Path(f"{out}.epochs")
    targets = {"-o": out, "--report": report, "the epochs of -o": kept}
    check_targets(targets, [*data, *(test or [])], options.get("quarantine"))

    from linsep.cli.jobs.fit_setup import chosen, maps_of
    from linsep.cli.jobs.training import Task

    if restart:
        if kept is None:
            raise UsageError(
                "--restart discards the epochs of shards that MODEL.epochs keeps: add --shards, or omit it"
            )
        kept.unlink(missing_ok=True)

    from linsep.cli.jobs.word_counts import counted
    from linsep.cli.options.learners import in_options
    from linsep.cli.terminal.fit_summary import about_of, tell
    from linsep.cli.terminal.shard_progress import WatchingShards
    from linsep.data.sources import sources_of

    if report is not None:
        import_module("linsep.plots.report")  # so that a missing matplotlib is told before the work
    for name in test or ():
        sources_of(name)  # so that a missing file is told before the work
    watching, sharing, saved = WatchingShards(shown=show is Show.ALL), None, None
    watching.console.quiet = show is Show.NOTHING
    if said is None:
        learner, epochs, saved = chosen(learner_options(ctx), resume, stream)
    else:
        from linsep.cli.jobs.sharded import Sharing, learner_for

        learner, epochs = learner_for(learner_options(ctx), said, stream)
        sharing = Sharing(watching, crew, kept, stream)
    options = counted(options, learner, data) if saved is None else options
    seed = learner_options(ctx).parameters["random_state"] if saved is None else learner.seed_
    task = Task(
        data, options, learner, epochs, seed, watching, test, holdout, saved,
        report is not None, maps_of(learner_options(ctx).maps, resume, stream), open_labels, calibrate,
        None if saved is None else saved.model,
    )  # fmt: skip
    with interruptible(
        out, report, in_place=[options.get("quarantine")], otherwise=lambda: None if sharing is None else sharing.left
    ):
        trained = _trained(task, stream, sharing)
        about = about_of(task, trained)
        _save(trained, out, about)
        if kept is not None and hasattr(trained.learner, "t_"):  # what was counted has no epochs
            kept.unlink(missing_ok=True)
        if task.interrupted:
            raise Interrupted(kept=f"{out} has what was learned from {trained.rows:,} rows")
        about["seconds"]["all"] = perf_counter() - began
        if report is not None:
            from linsep.cli.pages.training import fit_report

            fit_report(trained, about, watching, str(out)).write(report)
            about["report"] = str(report)
            about["seconds"]["all"] = perf_counter() - began
        if show is not Show.NOTHING:
            for remark in task.remarks:
                say(f"linsep fit: {in_options(remark)}")
            tell(trained, about, out, show)


def _trained(task: "Task", stream: bool, sharing: "Sharing | None") -> "Trained":
    """Train as was said."""
    if sharing is not None:
        from linsep.cli.jobs.sharded import scaled

        return scaled(task, sharing)
    from linsep.cli.jobs.streaming import streamed
    from linsep.cli.jobs.training import in_memory

    return streamed(task) if stream else in_memory(task)


def _save(trained: "Trained", out: Path, about: dict[str, Any]) -> None:
    from linsep.models.save_load import save

    passing = {"warm_start": False, "n_jobs": None}
    known = trained.learner.get_params(deep=False)
    trained.learner.set_params(**{name: value for name, value in passing.items() if name in known})
    save(trained.model, out, data=trained.seen, about=about)
