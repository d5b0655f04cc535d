"""Predict and evaluate with workers: each worker reads some bytes, row groups or rows of the files.

Lines, faults and unknown features are counted as by one reader, so that the predictions are the same, byte for byte.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from linsep.cli.jobs.predicting import Output, lines_of, writer
from linsep.cli.jobs.reading import RowCount, reading_for
from linsep.data.errors import NO_ROWS, DataError
from linsep.data.parts import PartReader, Reading
from linsep.data.sources import sources_of
from linsep.distributed.cluster import engine_of
from linsep.distributed.engine import Engine
from linsep.distributed.predicting import tasks_of
from linsep.distributed.shard import Task
from linsep.distributed.sources import Files
from linsep.evaluation.scoring import Scoring, predictions, scoring_of
from linsep.models.save_load import Saved


class PredictQuestion(NamedTuple):
    """The settings that all parts share: the reading options, the model, and the output for each row."""

    reading: Reading
    saved: Saved
    output: Output


class EvaluateQuestion(NamedTuple):
    """The settings that all parts share: the reading options, the model, and the threshold, if any."""

    reading: Reading
    model: Any
    threshold: float | None


class PartLines(NamedTuple):
    """The lines of a part, its counts, and what is wrong with the row after the last line, if something is."""

    lines: bytes
    counts: RowCount
    error: DataError | None


class PartScores(NamedTuple):
    """The scores of a part, and its counts."""

    scoring: Scoring
    counts: RowCount


def predict_parts(
    saved: Saved, data: list[str], output: Output, client: Any, options: dict[str, Any], count: RowCount
) -> Iterator[bytes]:
    """Yield the lines of predictions of each part, and add to the counts.

    At a malformed row, if asked to, raise after the lines before it.
    """
    with _open_parts(saved, data, client, options) as (engine, tasks, reading):
        for lines, found, error in engine.each(predict_part, tasks, PredictQuestion(reading, saved, output)):
            count.plus(found)
            if lines:
                yield lines
            if error is not None:
                raise DataError(error.file, error.reason, error.line, error.column)
    _refuse_no_rows(data, count)


def evaluate_parts(
    saved: Saved, data: list[str], client: Any, options: dict[str, Any], threshold: float | None, count: RowCount
) -> Iterator[tuple[Scoring, int]]:
    """Yield the scores of each part, and the number of parts; add to the counts."""
    with _open_parts(saved, data, client, options) as (engine, tasks, reading):
        for found in engine.each(evaluate_part, tasks, EvaluateQuestion(reading, saved.model, threshold)):
            count.plus(found.counts)
            yield found.scoring, len(tasks)
    _refuse_no_rows(data, count)


def _refuse_no_rows(data: list[str], count: RowCount) -> None:
    """Refuse files without a row, as one reader does."""
    if not count.rows + count.rejected:
        raise DataError(sources_of(data)[0].name, NO_ROWS)


@contextmanager
def _open_parts(
    saved: Saved, data: list[str], client: Any, options: dict[str, Any]
) -> Iterator[tuple[Engine, Sequence[Task], Reading]]:  # fmt: skip
    """Give the engine, the parts of the files, and how they are read."""
    plan = Files(data, reading_for(saved, data, options))
    with engine_of(client, -1) as engine:
        yield engine, tasks_of(plan, engine), plan.reading


def predict_part(task: Task, question: PredictQuestion) -> PartLines:
    """Return the lines of a part's predictions."""
    write, lines, count, error = writer(question.saved, question.output), [], RowCount(), None
    once = PartReader(task.shard.part, question.reading)
    try:
        for part in once.aligned_parts():
            count.add(part.X)
            lines.append(lines_of(part, write))
            error = part.error
    except DataError as fault:
        error = fault
    return PartLines(b"".join(lines), count.end(once.form, once.policy.rejected, once.unseen), error)


def evaluate_part(task: Task, question: EvaluateQuestion) -> PartScores:
    """Score the predictions for a part."""
    scoring, count = scoring_of(question.model, question.threshold), RowCount()
    once = PartReader(task.shard.part, question.reading)
    for part in once:
        block = once.dataset([part], question.reading.form)
        if len(block):
            count.add(block.X)
            found = predictions(question.model, block.X)
            scoring.add_predictions(block.y, found)
    return PartScores(scoring, count.end(once.form, once.policy.rejected, once.unseen))
