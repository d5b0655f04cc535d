"""`linsep evaluate`: the error of a model on labelled rows."""

from math import floor, log10
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.errors import UsageError
from linsep.cli.options.common import Brief, Json, Model, Quiet, Report, Show, Sources, reader_options, show_of
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.options.readouts import Normalize, Readout, as_options, with_readout
from linsep.cli.options.workers import (
    Scheduler,
    WorkerPool,
    Workers,
    pool_of,
    refuse_threads,
    refuse_unsplittable,
    start_workers,
)
from linsep.cli.terminal.text import say, word, words
from linsep.validation.errors import InvalidDataError

if TYPE_CHECKING:
    from rich.console import Console

    from linsep.cli.jobs.reading import RowCount
    from linsep.evaluation.scoring import Scores

EXAMPLES = """
linsep evaluate model.linsep test.svm
linsep evaluate model.linsep test.svm --report evaluation.html
linsep evaluate model.linsep 'test*.svm' --json
linsep evaluate model.linsep 'test*.svm' --workers 2
"""
MOST_CLASSES, MOST_ACROSS = 40, 20
"""Classes that the table shows, and those of a matrix if there is room for them."""
QUANTILES = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
"""The quantiles that are shown."""
MOST_CONFUSIONS = 10


def run(
    ctx: typer.Context,
    model: Model,
    data: Sources,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            help="Of two classes: the precision and recall of the rows whose probability of the second class is T or "
            "more; of a model without probabilities, of the rows whose score is.",
        ),
    ] = None,
    readout: Readout = None, normalize: Normalize = None,
    workers: Workers = None, scheduler: Scheduler = None, json: Json = False, brief: Brief = False,
    quiet: Quiet = False, report: Report = None,
) -> None:  # fmt: skip
    """Measure the error of a model on rows with labels.

    Error, precision and recall of each class, ROC AUC, average precision, the confusion matrix, the distribution of
    margins; log-loss, Brier score and calibration where the model gives probabilities. Data are read in blocks, and so
    may be larger than memory.
    """
    show_as = show_of(json, brief, quiet)
    pool, options = pool_of(workers, scheduler), reader_options(ctx)
    if pool is not None:
        refuse_unsplittable(pool.option, data, options)
        refuse_threads(pool, options)
        if report is not None:
            raise UsageError(
                f"--report shows rows, and with {pool.option} these stay where they are: leave one of them out"
            )

    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.terminal.output import percent, print_json, stdout

    check_targets({"--report": report}, [model, *data], options.get("quarantine"))
    with interruptible(report, in_place=[options.get("quarantine")]):
        saved, began = with_readout(opened_classifier(model), readout, normalize), perf_counter()
        if threshold is not None and len(saved.model.classes_) != 2:
            raise UsageError(
                f"--threshold divides two classes, and the model has {len(saved.model.classes_)}: remove --threshold"
            )
        gathered = _gathering(saved) if report is not None else None
        scores, count = (
            _scored(saved, data, options, gathered, show_as, threshold)
            if pool is None
            else _shared(saved, data, options, pool, show_as, threshold)
        )
        if not scores.rows:
            raise InvalidDataError(f"{', '.join(data)}: there is no row with a label")
        took = perf_counter() - began
        if show_as is not Show.NOTHING:
            from linsep.cli.jobs.reading import remark_on_labels

            for remark in [*count.remarks(), *remark_on_labels(scores, saved.model.classes_)]:
                say(f"linsep evaluate: warning: {remark}")
        if gathered is not None and report is not None:
            again = [
                *as_options(readout, normalize),
                *(["--threshold", f"{threshold:g}"] if threshold is not None else []),
            ]
            gathered.write(report, str(model), data, scores, again)
        if show_as is Show.JSON:
            print_json(as_json(scores) | {"unseen": count.unseen, "rejected": count.rejected, "seconds": took})
        elif show_as is Show.BRIEF:
            stdout().print(f"error {percent(scores.error)} ({scores.wrong:,} of {scores.rows:,} rows)", soft_wrap=True)
        elif show_as is Show.ALL:
            show(stdout(), str(model), saved, data, scores, count, took)
            if report is not None:
                stdout().print(f"\nreport  {word(report)}", soft_wrap=True)


def _scored(
    saved: Any, data: list[str], options: dict[str, Any], gathered: Any, show_as: Show, threshold: float | None
) -> "tuple[Scores, RowCount]":
    """Return the metrics of the predictions, and the counts; a report collects both."""
    from linsep.cli.jobs.reading import RowCount, rows_for
    from linsep.cli.terminal.progress import reading_bar
    from linsep.evaluation.scoring import predictions, scoring_of

    scoring, count = scoring_of(saved.model, threshold), RowCount()
    with reading_bar("evaluating", show_as is not Show.NOTHING) as tell:
        rows = rows_for(saved, data, {"progress": tell, **options})
        for block in rows:
            if len(block):
                count.add(block.X)
                found = predictions(saved.model, block.X)
                scoring.add_predictions(block.y, found)
                if gathered is not None:
                    gathered.add(block, found)
    return scoring.result(), count.end(rows.form, rows.rejected, rows.unseen)


def _shared(
    saved: Any, data: list[str], options: dict[str, Any], pool: WorkerPool, show_as: Show, threshold: float | None
) -> "tuple[Scores, RowCount]":
    """Return the metrics of predictions that workers make and score, and the counts."""
    from linsep.cli.jobs.parallel import evaluate_parts
    from linsep.cli.jobs.reading import RowCount
    from linsep.cli.terminal.progress import parts_bar
    from linsep.evaluation.scoring import scoring_of

    scoring, count = scoring_of(saved.model, threshold), RowCount()
    with parts_bar("evaluating", show_as is not Show.NOTHING) as tell, start_workers(pool) as client:
        for found, of in evaluate_parts(saved, data, client, options, threshold, count):
            scoring.plus(found)
            tell(of)
    return scoring.result(), count


def _gathering(saved: Any) -> Any:
    """Return what gathers a report; it needs matplotlib, which is looked for before the work."""
    from linsep.cli.pages.evaluation import Evaluation

    return Evaluation(saved)


def as_json(scores: "Scores") -> dict[str, Any]:
    """Return what was counted, for machines."""
    at = scores.threshold
    return {
        "rows": scores.rows,
        "wrong": scores.wrong,
        "error": scores.error,
        "interval": scores.interval,
        "accuracy": scores.accuracy,
        "macro_f1": scores.macro_f1,
        "unlabelled": scores.unlabelled,
        "roc_auc": scores.roc_auc,
        "average_precision": scores.average_precision,
        "threshold": None
        if at is None
        else at._asdict() | {"precision": at.precision, "recall": at.recall, "f1": at.f1},
        "log_loss": scores.log_loss,
        "brier": scores.brier,
        "calibration_error": scores.calibration_error,
        "calibration": None if scores.calibration is None else [group._asdict() for group in scores.calibration],
        "margins": scores.margins,
        "classes": [part._asdict() for part in scores.classes],
        "confusion": [
            {"label": scores.classes[i].label, "predicted": scores.classes[j].label, "rows": int(n)}
            for i, j, n in _pairs(scores)
        ],
    }


def _pairs(scores: "Scores") -> list[tuple[int, int, int]]:
    """Return the counts of true and predicted classes."""
    found = scores.confusion.tocoo()
    return sorted(zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True))


def show(
    console: "Console", model: str, saved: Any, data: list[str], scores: "Scores", count: "RowCount", took: float
) -> None:  # fmt: skip
    """Print all of it."""
    from linsep.cli.jobs.models import name_of, readout_name
    from linsep.cli.terminal.output import facts, percent, seconds, short, title

    low, high = scores.interval
    title(console, f"{name_of(saved.model)} of {word(model)} on {words(data)}")
    console.print()
    facts(
        console,
        {
            "error": f"{percent(scores.error)}, {scores.wrong:,} of {scores.rows:,} rows; between {percent(low)} and "
            f"{percent(high)} on rows like these (95 %)",
            "macro F1": f"{scores.macro_f1:.3f}",
            "readout": readout_name(saved.model),
            "ROC AUC": _areas(scores),
            "threshold": None if scores.threshold is None else threshold_words(scores),
            "log-loss": None if scores.log_loss is None else f"{scores.log_loss:.4f}",
            "Brier": None if scores.brier is None else f"{scores.brier:.4f}",
            "calibration": None if scores.calibration_error is None else f"off by {percent(scores.calibration_error)}",
            "unlabelled": f"{scores.unlabelled:,} rows left out" if scores.unlabelled else None,
            "malformed": f"{count.rejected:,} rows left out" if count.rejected else None,
            "unseen": f"{count.unseen:,} entries of features that the training data did not have"
            if count.unseen
            else None,
            "time": f"{seconds(took)}, {short(scores.rows / took)} rows/s",
        },
    )
    console.print()
    _show_classes(console, scores)
    console.print()
    _show_confusion(console, scores)
    _show_margins(console, scores)
    _show_calibration(console, scores)


def _areas(scores: "Scores") -> str | None:
    """Return ROC AUC and average precision, and of which classes."""
    if scores.roc_auc is None or scores.average_precision is None:
        return None
    two = scores.ranking is not None
    of = f"of {word(scores.classes[1].label)}" if two else "means of each class against the rest"
    return f"{scores.roc_auc:.4f}; average precision {scores.average_precision:.4f}, {of}"


def threshold_words(scores: "Scores") -> str:
    """Return what a threshold finds, in words."""
    at = scores.threshold
    assert at is not None
    found, of = at.true_positives + at.false_positives, at.true_positives + at.false_negatives
    return (
        f"{at.of} of class {word(scores.classes[1].label)} at least {at.threshold:g}: {found:,} rows, precision "
        f"{_decimals(at.precision)}, recall {_decimals(at.recall)} (of {of:,}), F1 {_decimals(at.f1)}"
    )


def _decimals(share: float) -> str:
    return "–" if share != share else f"{share:.3f}"


def _show_classes(console: "Console", scores: "Scores") -> None:
    from linsep.cli.terminal.output import note, table

    made = table("class", ">rows", ">predicted", ">precision", ">recall", ">F1")
    shown = scores.classes[:MOST_CLASSES]
    for part in shown:
        shares = map(_decimals, (part.precision, part.recall, part.f1))
        made.add_row(_cut(part.label), f"{part.rows:,}", f"{part.predicted:,}", *shares)
    console.print(made)
    if len(shown) < len(scores.classes):
        note(console, f"and {len(scores.classes) - len(shown):,} more classes: --json has them all")


def _show_confusion(console: "Console", scores: "Scores") -> None:
    """Print the matrix, if there is room for it; else the mistakes that are made most."""
    from linsep.cli.terminal.output import Text, note, table

    if len(scores.classes) <= MOST_ACROSS:
        names = [_cut(part.label, 10) for part in scores.classes]
        made = table("true / predicted", *(f">{name}" for name in names))
        for i, row in enumerate(scores.confusion.toarray().tolist()):
            cells = (Text(f"{n:,}" if n else "·", _colour(i == j, n)) for j, n in enumerate(row))
            made.add_row(names[i], *cells)
        widths = [
            max(len(name), *(len(f"{n:,}") for n in column))
            for name, column in zip(names, scores.confusion.toarray().T.tolist(), strict=True)
        ]
        if max(map(len, [*names, "true / predicted"])) + sum(width + 2 for width in widths) <= console.width:
            console.print(made)
            return
    worst = sorted((pair for pair in _pairs(scores) if pair[0] != pair[1]), key=lambda pair: -pair[2])
    made = table("true", "predicted", ">rows")
    for i, j, n in worst[:MOST_CONFUSIONS]:
        made.add_row(_cut(scores.classes[i].label), _cut(scores.classes[j].label), f"{n:,}")
    console.print(made)
    note(console, f"the most frequent of {len(worst):,} confusions")


def _colour(right: bool, rows: int) -> str:
    return "dim" if not rows else "green" if right else "red"


def _show_margins(console: "Console", scores: "Scores") -> None:
    from linsep.cli.terminal.output import table

    if scores.margins is None:
        return
    console.print()
    unit, name = _unit(max(abs(margin) for margin in scores.margins.values()))
    made = table("rows", *(f">{_share(share)}" for share in QUANTILES))
    made.add_row(f"margin{name} <=", *(f"{scores.margins[share] / unit:.2f}" for share in QUANTILES))
    console.print(made)


def _unit(largest: float) -> tuple[float, str]:
    """Return a power of ten in which numbers up to the largest have few digits, and how it is called.

    >>> _unit(2_000_000), _unit(31), _unit(0.0002), _unit(0)
    ((1000000.0, ' / 1e6'), (1.0, ''), (0.001, ' / 1e-3'), (1.0, ''))
    """
    if largest == 0 or 0.1 <= largest < 1000:
        return 1.0, ""
    power = 3 * floor(log10(largest) / 3 + (1 if largest < 0.1 else 0))
    return 10.0**power, f" / 1e{power}"


def _share(share: float) -> str:
    return "least" if share == 0 else "all" if share == 1 else f"{100 * share:g} %"


def _show_calibration(console: "Console", scores: "Scores") -> None:
    from linsep.cli.terminal.output import percent, table

    if not scores.calibration:
        return
    console.print()
    made = table("probability", ">rows", ">mean", ">observed")
    for group in scores.calibration:
        made.add_row(
            f"{group.low:.1f} to {group.high:.1f}",
            f"{group.rows:,}",
            percent(group.mean_probability),
            percent(group.observed),
        )
    console.print(made)


def _cut(label: Any, most: int = 30) -> str:
    text = word(label)
    return text if len(text) <= most else text[: most - 1] + "…"
