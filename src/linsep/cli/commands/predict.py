"""`linsep predict`: from a model and rows to answers, one line each."""

from pathlib import Path
from typing import Annotated

import typer

from linsep.cli.errors import UsageError
from linsep.cli.options.common import Model, reader_options
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.cli.options.readouts import Normalize, Readout, with_readout
from linsep.cli.options.workers import Scheduler, Workers, pool_of, refuse_threads, refuse_unsplittable

EXAMPLES = """
linsep predict model.linsep test.svm -o labels.txt
linsep predict model.linsep test.svm --scores
cat test.svm | linsep predict model.linsep -
linsep predict model.linsep test.svm --workers 2
"""


def run(
    ctx: typer.Context,
    model: Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA]...", show_default=False,
            help="Files, patterns in quotes, a folder, or - for the standard input (if none is given, too).",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where the answers go, if not to the standard output."),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write scores instead of labels; of more than two classes, one for each.")
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "--proba", help="Write probabilities, of learners that have them.")
    ] = False,
    readout: Readout = None,
    normalize: Normalize = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:  # fmt: skip
    """Write a label, scores or probabilities for each line.

    Rows of a pipe are answered as they come, those of CSV too. The line of a blank line, or of a malformed one that is
    skipped, is empty. Tables have a line for each row, and none for the names of the columns.
    """
    pool, options = pool_of(workers, scheduler), reader_options(ctx)
    if pool is not None:
        refuse_unsplittable(pool.option, data or ["-"], options)
        refuse_threads(pool, options)
    if scores and probabilities:
        raise UsageError("--scores and --probabilities: give one of them")
    target = None if str(out) == "-" else out
    check_targets({"-o": target}, [], options.get("quarantine"))
    if target is not None and target.exists() and model.exists() and target.samefile(model):
        raise UsageError(f"--out {out} is the model: give another name")
    check_targets({}, [model, *(data or [])], options.get("quarantine"))

    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.jobs.predicting import predict

    what = "scores" if scores else "probabilities" if probabilities else "labels"
    live = target is None or (target.exists() and not target.is_file())
    with interruptible(
        None if live else target,
        in_place=[options.get("quarantine")],
        otherwise=lambda: "the lines so far are written" if live else None,
    ):
        predict(with_readout(opened_classifier(model), readout, normalize), data or ["-"], what, out, options, pool)
