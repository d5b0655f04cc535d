"""The record of a training, which the model file stores and `linsep fit` shows."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linsep.cli.jobs.models import AT_ONCE, progressive_of, shards_of, solver_facts
from linsep.cli.jobs.training import Trained, TrainingTask
from linsep.cli.options.common import as_words
from linsep.models.pipelines import last_of
from linsep.theory.drift import Rise, rises


@dataclass
class TrainingRecord:
    """The record of a training. Model files store the fields by these names."""

    learner: str
    data: list[str]
    rows: int
    features: int
    maps: list[str]
    labels: int
    calibrated: str | None
    options: list[str]
    """The options of the reader, as words of a command."""
    rejected: int
    unseen: int
    order: str
    epochs: int
    """Epochs, or steps of a solver."""
    seed: int
    resumed: bool
    progressive_error: float | None
    progressive_of: str | None
    """The readout whose predictions the progressive error counts, if it is not the one that predicts."""
    curve: list[list[int]]
    windows: list[list[int]]
    """Of a stream: rows and errors at the end of each window of its first epoch."""
    rises: list[dict[str, Any]]
    """The windows in which the error rises (:mod:`linsep.theory.drift`)."""
    mistakes: int | None
    """None for a learner that does not go row by row."""
    updates: int | None
    found: dict[str, Any]
    """Numbers and verdicts of a solver."""
    shards: int | None
    mixing: str | None
    mixed_mistakes: float | None
    workers: str | None
    moved: int | None
    """Bytes of weights that were sent in an epoch."""
    remarks: list[str]
    test: dict[str, Any] | None
    learned: int
    """Rows learned in all epochs."""
    seconds: dict[str, float]
    date: str

    def stored(self) -> dict[str, Any]:
        """Return the record as a model file has it."""
        return asdict(self)

    @classmethod
    def of(cls, task: TrainingTask, trained: Trained) -> "TrainingRecord":
        """Return the record of a training that has ended."""
        learner, test, work, curve = trained.learner, trained.test, trained.work, task.progress.curve
        mixed = shards_of(learner) or {}
        start = {} if work is None or work.started is None else {"start": work.started}
        windows = curve.windows if trained.streamed and work is None else []
        by_rows = getattr(learner, "t_", 0) > 0
        return cls(
            learner=type(learner).__name__,
            data=task.sources,
            rows=trained.rows,
            features=int(trained.model.n_features_in_),
            maps=[repr(step) for step in task.maps],
            labels=len(learner.classes_),
            calibrated=getattr(last_of(trained.model), "method", None),
            options=as_words(task.options),
            rejected=trained.rejected,
            unseen=trained.unseen,
            order=_order(learner, trained.streamed, work is not None),
            epochs=task.epochs if trained.streamed and work is None else int(learner.n_iter_),
            seed=int(learner.seed_),
            resumed=task.resume is not None,
            progressive_error=curve.progressive_error,
            progressive_of=progressive_of(learner, sharded=mixed.get("shards", 1) > 1 or work is not None),
            curve=[[rows, errors] for rows, errors in curve.points if errors is not None],
            windows=[list(point) for point in windows],
            rises=[rise._asdict() for rise in rises_of(windows)],
            mistakes=int(_total(learner.mistakes_)) if by_rows else None,
            updates=int(_total(learner.updates_)) if by_rows else None,
            found=solver_facts(learner),
            shards=mixed.get("shards"),
            mixing=mixed.get("mixing"),
            mixed_mistakes=mixed.get("mixed_mistakes"),
            workers=None if work is None else work.description,
            moved=None if work is None else work.moved,
            remarks=task.remarks,
            test=None if test is None else {"error": test.error, "rows": test.rows, "of": trained.test_name},
            learned=curve.rows or trained.rows,
            seconds={**start, "read": trained.read_seconds, "learn": trained.learn_seconds},
            date=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def rises_of(windows: list[tuple[int, int]]) -> list[Rise]:
    """Return where the error rises, of rows and errors at the end of each window."""
    if not windows:
        return []
    rows, errors = np.diff(np.array(windows).T, prepend=0)
    return rises(rows, errors)


FORGETS = "--learner moving-average, whose mean forgets old weights"
"""Advice if the error of an average rises."""


def between(record: TrainingRecord, rise: dict[str, Any]) -> str:
    """Return the rows of the window in which the error rises."""
    return f"between rows {rise['row']:,} and {record.windows[rise['window']][0]:,}"


def last_error(record: TrainingRecord) -> float:
    """Return the error of the last window."""
    (before, wrong), (rows, errors) = [[0, 0], *record.windows][-2:]
    return (errors - wrong) / (rows - before)


def averages(record: TrainingRecord) -> bool:
    """Return whether a mean of all weights, or a vote of them, predicts, which never forgets what came before."""
    return record.learner in ("AveragedPerceptron", "VotedPerceptron")


def _total(counts: Any) -> Any:
    return counts.sum() if hasattr(counts, "sum") else counts


def _order(learner: Any, streamed: bool, apart: bool) -> str:
    if streamed:
        return "as in the files"
    if not getattr(learner, "t_", 0):
        return AT_ONCE
    orders = {False: "as in the files", True: "random, new in each epoch", "once": "random", "blocks": "random blocks"}
    return orders[learner.shuffle] + (" within each shard" if apart and learner.shuffle is not False else "")
