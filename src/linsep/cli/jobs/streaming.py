"""`linsep fit --stream`: rows are learned as they come, in the order of the files, in bounded memory.

New labels may occur in any block, and a binary classifier that represents all labels to come costs time. So the labels
of the first block are taken for all labels; if another occurs, training restarts with that classifier. The result is
the same. Pipes can't be read again and are read with that classifier from the start.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

import linsep
from linsep.cli.errors import UsageError
from linsep.cli.jobs.reading import pipe_input, without_known
from linsep.cli.jobs.training import (
    BLOCK_ROWS,
    Seen,
    Trained,
    TrainingTask,
    judge,
    judge_by_files,
    marks_all,
    name_sources,
    refuse_no_rows,
)
from linsep.data.dataset import Dataset
from linsep.data.streaming import Stream
from linsep.data.svmlight import Svmlight
from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.models.pipelines import learner_of
from linsep.models.save_load import Saved
from linsep.theory.exchangeability import LabelOrder
from linsep.training.epochs import refuse_many_rounds
from linsep.validation.errors import InvalidDataError


class NewLabelError(Exception):
    """A label that the first rows did not have."""


def train_on_stream(task: TrainingTask) -> Trained:
    """Learn from the files, and judge the model by rows that it has not seen."""
    began = perf_counter()
    rows = _open(task)
    share = task.holdout
    if share is not None and not rows.reader.rereadable:
        raise UsageError("--holdout reads the rows held out a second time, at the end, and a pipe is read only once")
    if task.epochs > 1 and not rows.reader.rereadable:
        raise UsageError(f"--epochs {task.epochs} reads the rows {task.epochs} times, and a pipe is read only once")
    try:
        closed = (
            task.resume is None
            and rows.reader.rereadable
            and not task.open_labels
            and isinstance(task.learner, OnlineLearner)
            and task.learner.multi_class != "joint"
        )
        count, known = _learn_epochs(task, rows, share, closed, began)
    except NewLabelError:
        task.model, task.learned, rows = clone(task.model), 0, _open(task)
        task.progress.restart()
        count, known = _learn_epochs(task, rows, share, closed=False, began=began)
    learner = learner_of(task.model)
    if len(learner.classes_) < 2:
        raise InvalidDataError(f"all rows have the label {learner.classes_[0]}: a separator needs two labels at least")
    seen = Seen(rows.form, known if marks_all(learner) else None)
    trained = Trained(learner, task.model, seen, count, rows.rejected, rows.unseen, True, 0.0, perf_counter() - began)
    if task.interrupted:
        trained.rows = task.progress.curve.rows or task.learned
        return trained
    if share is not None:
        judge(task, trained, _held_or_kept(rows, share, held=True), f"{100 * share:g} % of the rows, held out")
    judge_by_files(task, trained)
    return trained


def _learn_epochs(
    task: TrainingTask, rows: Stream, share: float | None, closed: bool, began: float
) -> tuple[int, Array]:
    """Learn all epochs, for no longer than the time limit after `began`; return the rows of an epoch, and its columns.

    A training that starts again because of a new label has the time that is left.
    """
    known, labels, order, count = _known_columns(task.resume), None, StreamOrder(), 0
    with _keep_if_interrupted(task), _watched(task), name_sources(task.sources):
        for epoch in range(task.epochs):
            count = 0
            with task.progress.learning(None, getattr(_current_learner(task), "_state", None) if epoch == 0 else None):
                for block in _held_or_kept(rows, share, held=False):
                    if closed and labels is None and len(block):
                        labels = np.unique(block.y)
                        closed = len(labels) > 1
                    _learn(task, block, labels if closed else None)
                    if epoch == 0:
                        order.add(block.y)
                    count += len(block)
                    task.out_of_time = task.time_limit is not None and perf_counter() - began > task.time_limit
                    if epoch == 0 and marks_all(_current_learner(task)):
                        seen = block.seen_columns()
                        seen[: len(known)] |= known
                        known = seen
                    if task.out_of_time:
                        break
            refuse_no_rows(count, task.sources)
            if task.out_of_time:
                task.epochs = epoch + 1
                task.remarks.append(f"--time-limit {task.time_limit:g}: ended after {task.learned:,} rows")
                break
            refuse_many_rounds(task.epochs, count)
            if epoch == 0 and isinstance(task.learner, OnlineLearner):
                task.progress.end(_current_learner(task)._state)
                _current_learner(task)._progressive.active = False
        if isinstance(task.learner, OnlineLearner):
            task.progress.end(_current_learner(task)._state)
    task.remarks += order.warnings()
    return count, known


class StreamOrder:
    """The order of a stream's labels, and a warning if it is no random order."""

    def __init__(self) -> None:
        self.order, self.codes = LabelOrder(), dict[Any, int]()

    def add(self, labels: Array) -> None:
        """Add the labels of the next rows."""
        distinct, inverse = np.unique(labels, return_inverse=True)
        codes = [self.codes.setdefault(label, len(self.codes)) for label in distinct.tolist()]
        self.order.add(np.array(codes, np.intp)[inverse])

    def warnings(self) -> list[str]:
        """Return the warning, if any."""
        found = self.order.test()
        if not found.refuted:
            return []
        label = list(self.codes)[found.label]
        warning = (
            f"the rows are not in random order (label {label}: {found.what}): the progressive error is no estimate for "
            "new rows, and the last rows count most; shuffle the files, or omit --stream"
        )
        return [warning]


def _current_learner(task: TrainingTask) -> Any:
    """Return the learner itself, as it is by now; a calibration makes its own, which may not be there yet."""
    return getattr(task.model, "estimator_", task.model)


@contextmanager
def _watched(task: TrainingTask) -> Iterator[None]:
    """Let a learner that goes row by row learn in place, and watch it."""
    if isinstance(task.learner, OnlineLearner):
        with task.model._training_in_place(), _current_learner(task)._watched(task.progress):
            yield
    else:
        yield


@contextmanager
def _keep_if_interrupted(task: TrainingTask) -> Iterator[None]:
    """Let Ctrl-C end the training of a stream, which may have no other end; what was learned is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if len(getattr(task.model, "classes_", ())) < 2:
            raise
        task.interrupted = True
        if isinstance(task.learner, OnlineLearner):
            task.progress.end(_current_learner(task)._state)


def _learn(task: TrainingTask, block: Dataset, labels: Array | None) -> None:
    """Learn a block, of which all labels are among some, if these are given."""
    model, learner = task.model, _current_learner(task)
    if not len(block):
        return
    if labels is not None and not np.isin(block.y, labels).all():
        raise NewLabelError
    if hasattr(learner, "classes_") and not (learner._open or getattr(learner, "open_labels_", False)):
        new = np.setdiff1d(block.y, learner.classes_)
        if len(new):
            raise InvalidDataError(
                f"the label {new[0]} is new to the model: train it from the start with --open-labels"
            )
    if block.X.shape[1] > getattr(learner, "n_features_in_", 0):
        model.grow(block.X.shape[1])
    model.partial_fit(block.X, block.y, classes=labels, sample_weight=block.weights)
    task.learned += len(block)


def _open(task: TrainingTask) -> Stream:
    """Return the rows; those of a pipe as they come.

    Indices of svmlight are columns as they are, as nobody can look where they begin. A resumed training
    accepts new indices, too; of other formats, the columns are those of the model.
    """
    handle, before = pipe_input(task.sources), None if task.resume is None else task.resume.form
    how = {"block_rows": BLOCK_ROWS, "progress": task.progress.read, **task.options}
    if isinstance(before, Svmlight):
        without_known(before, task.options)
        if task.options.get("format", "svmlight") != "svmlight":
            raise UsageError(f"the model was trained on svmlight data: remove --format {task.options['format']}")
        how |= {"once": True, "format": "svmlight", "zero_based": before.zero_based}
    elif before is not None:
        how |= {"like": task.resume}
    else:
        how |= {"once": not task.options.get("idf", False)}
    if handle is not None:
        how["n_jobs"] = 1
    rows = linsep.stream(task.sources if handle is None else handle, **how)
    for source in rows.reader.sources:
        source.live = handle is not None
    form = rows.reader.form
    if isinstance(form, Svmlight) and form.grows:
        if "zero_based" not in how:
            form.zero_based = True
        form.high = form.first - 1 if before is None else form.first - 1 + before.width
    return rows


def _known_columns(resume: Saved | None) -> Array:
    """Return which columns the data had that a model was trained on before."""
    known = None if resume is None or resume.form is None else resume.form.known
    return np.zeros(0, bool) if known is None else np.array(known)


def _held_or_kept(rows: Stream, share: float | None, held: bool) -> Iterator[Dataset]:
    """Yield the blocks of a stream: all rows, or of those only the ones that are held out, or are not."""
    first = 0
    for block in rows:
        if share is None:
            yield block
        else:
            chosen = np.diff(np.floor(np.arange(first, first + len(block) + 1) * share + 1e-9)) > 0
            first += len(block)
            yield block.some(np.flatnonzero(chosen == held))
