"""`linsep fit`: from files to a model."""

from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import Interrupted, UsageError
from linsep.cli.options.common import (
    Brief,
    Json,
    LearnerOptions,
    Quiet,
    Report,
    Show,
    Sources,
    TimeLimit,
    check_holdout,
    check_time_limit,
    learner_options,
    reader_options,
    show_of,
)
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.options.workers import Scheduler, WorkerPool, Workers, pool_of, refuse_threads, refuse_unsplittable
from linsep.cli.terminal.text import say, word, words

if TYPE_CHECKING:
    from linsep.cli.jobs.record import TrainingRecord
    from linsep.cli.jobs.sharded import Sharing
    from linsep.cli.jobs.training import Trained, TrainingTask

EXAMPLES = """
linsep fit train.svm -o model.linsep
linsep fit train.csv --label income -o model.linsep --holdout 0.2
linsep fit train.svm -o model.linsep --stream --epochs 2 --test test.svm
linsep fit more.svm --resume model.linsep -o model.linsep
"""
FEW_ROWS = 50
"""Rows below which the short line has mistakes instead of an error rate."""
MOST_RISES = 3
"""Rises of the error that are listed."""


def run(
    ctx: typer.Context,
    data: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="The file that the model is written to.")],
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="FILE", help="Test rows; repeatable.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Hold out this share of the rows as test rows.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="MODEL", help="Resume training of this model.")
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
            help="Train on rows as they arrive, in bounded memory.",
        ),
    ] = False,
    open_labels: Annotated[
        bool,
        typer.Option(
            "--open-labels", help="With --stream: accept new labels when the model is resumed."
        ),
    ] = False,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS", min=1, help="With --stream: the rows of a window, in which a rising error is looked for."
        ),
    ] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="Add probabilities: sigmoid, isotonic or temperature."),
    ] = None,
    time_limit: TimeLimit = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    report: Report = None,
    json: Json = False,
    brief: Brief = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Train a learner on files, and write the model to a file."""
    show = show_of(json, brief, quiet)
    began, pool, options = perf_counter(), pool_of(workers, scheduler), reader_options(ctx)
    check_time_limit(time_limit)
    sharding = shards_option(pool, learner_options(ctx), stream)
    if window is not None and (not stream or sharding is not None):
        raise UsageError(
            "--window goes with --stream, without shards: rows have no other order in which an error rises; remove "
            "--window"
        )
    if open_labels and not stream:
        raise UsageError("--open-labels: only a stream is learned before all its labels are known; add --stream")
    check_options(test, holdout, calibrate, resume)
    if sharding is not None:
        refuse_unsplittable(sharding, data, options)
        refuse_with_shards(sharding, holdout, calibrate, resume, learner_options(ctx).maps, open_labels)
    if pool is not None:
        refuse_threads(pool, options)
    kept = None if sharding is None or (out.exists() and not out.is_file()) else Path(f"{out}.epochs")
    targets = {"-o": out, "--report": report, "the epochs of -o": kept}
    check_targets(targets, [*data, *(test or [])], options.get("quarantine"))

    from linsep.cli.jobs.fit_setup import choose_learner, limit_time, maps_of, with_word_counts
    from linsep.cli.jobs.record import TrainingRecord
    from linsep.cli.jobs.training import TrainingTask

    if restart and kept is None:
        raise UsageError(
            "--restart discards a checkpoint, which only --stream --shards N, --workers and --scheduler write; remove "
            "--restart"
        )

    from linsep.cli.options.learners import in_options
    from linsep.cli.terminal.progress import ShardsTrainingProgress
    from linsep.data.sources import sources_of

    if report is not None:
        import_module("linsep.plots.report")  # so that a missing matplotlib is an error before the work
    for name in test or ():
        sources_of(name)  # so that a missing file is an error before the work
    progress, sharing, saved = ShardsTrainingProgress(show is Show.ALL, window), None, None
    progress.console.quiet = show is Show.NOTHING
    if sharding is None:
        learner, epochs, saved = choose_learner(learner_options(ctx), resume, stream)
    else:
        from linsep.cli.jobs.sharded import Sharing, learner_for

        learner, epochs = learner_for(learner_options(ctx), sharding, stream)
        sharing = Sharing(progress, pool, kept, stream)
    options = with_word_counts(options, learner, data) if saved is None else options
    seed = learner_options(ctx).parameters["random_state"] if saved is None else learner.seed_
    if time_limit is not None:
        limit_time(learner, time_limit, stream and sharding is None)
    task = TrainingTask(
        data, options, learner, epochs, seed, progress, test, holdout, saved,
        report is not None, maps_of(learner_options(ctx).maps, resume, stream), open_labels, calibrate,
        None if saved is None else saved.model, time_limit=time_limit,
    )  # fmt: skip
    if restart and kept is not None:  # last, as an error above must not cost the epochs
        kept.unlink(missing_ok=True)
    with interruptible(
        out, report, in_place=[options.get("quarantine")], otherwise=lambda: None if sharing is None else sharing.left
    ):
        trained = _train(task, stream, sharing)
        record = TrainingRecord.of(task, trained)
        _save(trained, out, record)
        if kept is not None and hasattr(trained.learner, "t_"):  # what was counted has no epochs
            kept.unlink(missing_ok=True)
        if task.interrupted:
            raise Interrupted(kept=f"{out} has what was learned from {trained.rows:,} rows")
        record.seconds["all"] = perf_counter() - began
        if report is not None:
            from linsep.cli.pages.training import fit_report

            fit_report(trained, record, progress.curve, str(out)).write(report)
            record.seconds["all"] = perf_counter() - began
        if show is not Show.NOTHING:
            for remark in task.remarks:
                say(f"linsep fit: {in_options(remark)}")
            show_summary(trained, record, out, report, show)


def check_options(test: list[str] | None, holdout: float | None, calibrate: str | None, resume: Path | None) -> None:
    """Refuse wrong values, and what contradicts itself."""
    check_holdout(holdout, test)
    if calibrate not in (None, "sigmoid", "isotonic", "temperature"):
        raise UsageError(f"--calibrate {calibrate}: choose sigmoid, isotonic or temperature")
    if resume is not None and calibrate is not None:
        raise UsageError(f"--calibrate: {resume} continues with what it has")


def shards_option(pool: WorkerPool | None, options: LearnerOptions, stream: bool) -> str | None:
    """Return the option that asks for shards of files, as the command spells it; None without such an option.

    >>> (
    ...     shards_option(WorkerPool(2), LearnerOptions((), {}), False),
    ...     shards_option(None, LearnerOptions((), {"shards": 4}), True),
    ... )
    ('--workers 2', '--stream --shards 4')
    """
    shards = options.parameters.get("shards")
    if pool is not None:
        return pool.option
    return f"--stream --shards {shards}" if stream and shards is not None else None


def refuse_with_shards(
    sharding: str, holdout: float | None, calibrate: str | None, resume: Path | None, maps: tuple[str, ...],
    open_labels: bool,
) -> None:  # fmt: skip
    """Refuse what is not for rows in shards."""
    if holdout is not None:
        raise UsageError(f"--holdout takes rows from all of them: with {sharding}, judge the model by --test FILE")
    if calibrate is not None:
        raise UsageError(
            f"--calibrate looks at each row before it is learned, in one process: leave it out with {sharding}"
        )
    if resume is not None:
        raise UsageError(
            f"--resume: {sharding} starts from the first epoch; the same command resumes an interrupted run"
        )
    if maps:
        raise UsageError(
            f"--map looks at all rows before the first is learned, and {sharding} can't: convert the data first"
        )
    if open_labels:
        raise UsageError(f"--open-labels: {sharding} looks for all labels first, and is not resumed")


def _train(task: "TrainingTask", stream: bool, sharing: "Sharing | None") -> "Trained":
    """Train with the options."""
    if sharing is not None:
        from linsep.cli.jobs.sharded import train_on_shards

        return train_on_shards(task, sharing)
    from linsep.cli.jobs.streaming import train_on_stream
    from linsep.cli.jobs.training import train_in_memory

    return train_on_stream(task) if stream else train_in_memory(task)


def _save(trained: "Trained", out: Path, record: "TrainingRecord") -> None:
    from linsep.models.save_load import save

    passing = {"warm_start": False, "n_jobs": None}
    known = trained.learner.get_params(deep=False)
    trained.learner.set_params(**{name: value for name, value in passing.items() if name in known})
    save(trained.model, out, data=trained.seen, about=record.stored())


def show_summary(trained: "Trained", record: "TrainingRecord", out: Path, report: Path | None, show: Show) -> None:
    """Print what matters, after the model is written."""
    from linsep.cli.jobs.models import MIXED, facts_in_words, name_of
    from linsep.cli.terminal.output import facts, percent, print_json, seconds, size, stdout, title

    if show is Show.JSON:
        written = {} if report is None else {"report": str(report)}
        print_json({"model": str(out), "bytes": out.stat().st_size, **record.stored(), **written})
        return
    test = trained.test
    error = None if test is None else f"{percent(test.error)} of {test.rows:,} rows ({word(trained.test_name)})"
    progressive = record.progressive_error
    of = "" if record.progressive_of is None else f" ({record.progressive_of})"
    if show is Show.BRIEF:
        judged = "" if test is None else f", test error {percent(test.error)}"
        learned = "" if progressive is None else f", progressive error {percent(progressive)}{of}"
        if record.rows < FEW_ROWS:
            learned = "" if record.mistakes is None else f", {record.mistakes:,} mistake{'s' * (record.mistakes != 1)}"
        line = f"{word(out)}: {record.rows:,} rows{learned}{judged}, {seconds(record.seconds['all'])}"
        stdout().print(line, soft_wrap=True)
        return
    time, earlier = record.seconds, ", those before included" if record.resumed else ""
    timed = not trained.streamed or trained.work is not None
    parts = [f"{part} {seconds(time[part])}" for part in time if part != "all"] if timed else []
    solved = record.mistakes is None
    unit = "step" if solved and not trained.streamed else "epoch"
    console = stdout()
    title(console, name_of(trained.learner), words(record.data))
    facts(
        console,
        {
            "rows": f"{record.rows:,}" + (f" ({record.rejected:,} malformed left out)" if record.rejected else ""),
            "features": f"{record.features:,}",
            "maps": ", ".join(record.maps) or None,
            "labels": _labels(trained.learner.classes_),
            "order": f"{record.order}; {record.epochs} {unit}{'s' * (record.epochs != 1)}",
            "progressive error": None if progressive is None else f"{percent(progressive)} in its first epoch{of}",
            "error rises": _rises(record),
            "mistakes": None if solved else _mistakes(record) + earlier,
            "shards": None if record.shards is None else f"{record.shards}, {MIXED[str(record.mixing)]}",
            "workers": _workers(record),
            **facts_in_words(record.found),
            "test error": error,
            "time": ", ".join([*parts, f"{seconds(time['all'])} in all"]),
            "probabilities": record.calibrated,
            "report": None if report is None else word(report),
            "model": f"{word(out)}, {size(out.stat().st_size)}",
        },
    )


def _mistakes(record: "TrainingRecord") -> str:
    """Return the mistakes; those of shards also as the theorem counts them, each times the weight of its shard."""
    mixed = record.mixed_mistakes
    weighted = "" if mixed is None else f"; {mixed:,.{0 if mixed >= 1000 else 1}f} weighted by shard"
    return f"{record.mistakes:,}, {record.updates:,} updates{weighted}"


def _rises(record: "TrainingRecord") -> str | None:
    """Return where the error of a stream rises, if it does."""
    from linsep.cli.jobs.record import FORGETS, averages, between, last_error
    from linsep.cli.terminal.output import percent

    if not record.rises:
        return None
    shown = [
        f"{between(record, rise)}, from {percent(rise['before'])} to {percent(rise['error'])}"
        for rise in record.rises[:MOST_RISES]
    ]
    more = [f"and {len(record.rises) - MOST_RISES} more times"] * (len(record.rises) > MOST_RISES)
    last = f"{percent(last_error(record))} in the last window"
    return "; ".join([*shown, *more, last]) + (f"\ntry {FORGETS}" if averages(record) else "")


def _workers(record: "TrainingRecord") -> str | None:
    """Return who worked, and what they were sent."""
    from linsep.cli.terminal.output import size

    moved = "" if record.moved is None else f"; {size(record.moved)} of weights moved in an epoch"
    return None if record.workers is None else record.workers + moved


def _labels(classes: Any, most: int = 8) -> str:
    shown = words(classes[:most].tolist())
    return f"{len(classes)}: {shown}{', ...' if len(classes) > most else ''}"
