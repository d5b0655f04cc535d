"""Predict and evaluate with workers: each worker reads some bytes, row groups or rows of the files.

Lines, faults and unknown features are counted as by one reader, so that the predictions are the same, byte for byte.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from linsep.cli.jobs.predicting import Output, lines_of, writer
from linsep.cli.jobs.reading import reading_for
from linsep.data.errors import DataError
from linsep.data.parts import PartReader, Reading
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
    """The lines of a part, and what is wrong with the row after the last of them, if something is."""

    lines: bytes
    error: DataError | None


class PartScores(NamedTuple):
    """The scores of a part, and the number of malformed rows and unseen features."""

    scoring: Scoring
    rejected: int
    unseen: int


def predict_parts(
    saved: Saved, data: list[str], output: Output, client: Any, options: dict[str, Any]
) -> Iterator[bytes]:
    """Yield the lines of predictions of each part; raise at a malformed row, if asked to, after those before it."""
    with _open_parts(saved, data, client, options) as (engine, tasks, reading):
        for lines, error in engine.each(predict_part, tasks, PredictQuestion(reading, saved, output)):
            yield lines
            if error is not None:
                raise DataError(error.file, error.reason, error.line, error.column)


def evaluate_parts(
    saved: Saved, data: list[str], client: Any, options: dict[str, Any], threshold: float | None
) -> Iterator[tuple[PartScores, int]]:
    """Yield the scores of each part, and the number of parts."""
    with _open_parts(saved, data, client, options) as (engine, tasks, reading):
        for found in engine.each(evaluate_part, tasks, EvaluateQuestion(reading, saved.model, threshold)):
            yield found, len(tasks)


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
    write, lines = writer(question.saved, question.output), []
    try:
        for part in PartReader(task.shard.part, question.reading).aligned_parts():
            lines.append(lines_of(part, write))
            if part.error is not None:
                return PartLines(b"".join(lines), part.error)
    except DataError as error:
        return PartLines(b"".join(lines), error)
    return PartLines(b"".join(lines), None)


def evaluate_part(task: Task, question: EvaluateQuestion) -> PartScores:
    """Score the predictions for a part."""
    scoring, once = scoring_of(question.model, question.threshold), PartReader(task.shard.part, question.reading)
    for part in once:
        block = once.dataset([part], question.reading.form)
        if len(block):
            found = predictions(question.model, block.X)
            scoring.add(block.y, found.labels, found.scores, found.probabilities)
    return PartScores(scoring, once.policy.rejected, once.unseen)
