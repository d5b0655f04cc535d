"""What `linsep fit` prints after a training: a summary, one line, or JSON."""

from pathlib import Path
from typing import Any

from linsep.cli.jobs.record import TrainingRecord
from linsep.cli.jobs.saved_models import name_of
from linsep.cli.jobs.training import Trained
from linsep.cli.options.common import Show
from linsep.cli.terminal.learner_facts import MIXED, facts_in_words
from linsep.cli.terminal.output import facts, percent, print_json, seconds, size, stdout, title
from linsep.cli.terminal.text import word, words


def show_summary(trained: Trained, record: TrainingRecord, out: Path, report: Path | None, show: Show) -> None:
    """Print what matters, after the model is written."""
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
        line = f"{word(out)}: {record.rows:,} rows{learned}{judged}, {seconds(record.seconds['all'])}"
        stdout().print(line, soft_wrap=True)
        return
    time, earlier = record.seconds, ", those before included" if record.resumed else ""
    told = not trained.streamed or trained.work is not None
    parts = [f"{part} {seconds(time[part])}" for part in time if part != "all"] if told else []
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


def _mistakes(record: TrainingRecord) -> str:
    """Return the mistakes; those of shards also as the theorem counts them, each times the weight of its shard."""
    mixed = record.mixed_mistakes
    weighted = "" if mixed is None else f"; {mixed:,.{0 if mixed >= 1000 else 1}f} weighted by shard"
    return f"{record.mistakes:,}, {record.updates:,} updates{weighted}"


def _workers(record: TrainingRecord) -> str | None:
    """Return who worked, and what they were sent."""
    moved = "" if record.moved is None else f"; {size(record.moved)} of weights moved in an epoch"
    return None if record.workers is None else record.workers + moved


def _labels(classes: Any, most: int = 8) -> str:
    shown = words(classes[:most].tolist())
    return f"{len(classes)}: {shown}{', ...' if len(classes) > most else ''}"
