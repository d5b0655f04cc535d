"""`linsep predict`: write one line of predictions for each row."""

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
linsep predict model.linsep test.svm --explain 3
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
            help="Files, patterns in quotes, a folder, or - for the standard input. Default: -.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The file of the predictions. Default: the standard output."),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write scores instead of labels; of more than two classes, one for each.")
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", "--proba",
            help="Write a probability for each class, of learners that have them, after a line with the classes.",
        ),
    ] = False,
    explain: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1,
            help="Write each label with the N features that add most to its score, above or below 0.",
        ),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", show_default=False,
            help="Write the classes of the columns as the first line. Default: with --probabilities.",
        ),
    ] = None,
    readout: Readout = None,
    normalize: Normalize = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:  # fmt: skip
    """Write a label, scores or probabilities for each line.

    Fields are separated by tabs. Rows of a pipe are predicted as they come, those of CSV too. The line of a blank line,
    or of a malformed one that is skipped, is empty. Tables have a line for each row, and none for the names of the
    columns.
    """
    pool, options = pool_of(workers, scheduler), reader_options(ctx)
    if pool is not None:
        refuse_unsplittable(pool.option, data or ["-"], options)
        refuse_threads(pool, options)
    kinds = {"--scores": scores, "--probabilities": probabilities, "--explain": explain is not None}
    chosen = [option for option, given in kinds.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)}: give one of them")
    if header and not (scores or probabilities):
        raise UsageError("--header names the columns of --scores and --probabilities: add one of these")
    target = None if str(out) == "-" else out
    check_targets({"-o": target}, [], options.get("quarantine"))
    if target is not None and target.exists() and model.exists() and target.samefile(model):
        raise UsageError(f"--out {out} is the model: give another name")
    check_targets({}, [model, *(data or [])], options.get("quarantine"))

    from linsep.cli.jobs.models import opened_classifier
    from linsep.cli.jobs.predicting import Output, predict

    what = "scores" if scores else "probabilities" if probabilities else "labels"
    live = target is None or (target.exists() and not target.is_file())
    with interruptible(
        None if live else target,
        in_place=[options.get("quarantine")],
        otherwise=lambda: "the lines so far are written" if live else None,
    ):
        output = Output(what, explain or 0, probabilities if header is None else header)
        predict(with_readout(opened_classifier(model), readout, normalize), data or ["-"], output, out, options, pool)
