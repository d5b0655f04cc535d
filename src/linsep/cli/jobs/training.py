"""From files to a model: what `linsep fit` does, apart from what it shows.

All rows are read into memory and learned epoch after epoch in an order of their own, as `fit` of a learner does. How
they are learned as they come is in :mod:`linsep.cli.jobs.streaming`.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep.cli.errors import UsageError
from linsep.cli.jobs.models import name_of
from linsep.cli.jobs.reading import RowCount, options_for_test_rows, remark_on_labels
from linsep.cli.options.common import make_pipeline
from linsep.cli.terminal.output import size as size_of
from linsep.cli.terminal.progress import TrainingProgress
from linsep.data.dataset import Dataset
from linsep.data.format import Format
from linsep.data.sources import sources_of
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import ColumnIndexError
from linsep.estimators.base.learner import Learner
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.calibration import CalibratedClassifier, Method
from linsep.estimators.registry import LEARNERS
from linsep.evaluation.scoring import Scores, predictions, scoring_of
from linsep.models.pipelines import learner_of
from linsep.models.save_load import Saved
from linsep.training.history import OtherRows
from linsep.transforms.scaling import unequal_columns
from linsep.validation.errors import InvalidDataError

BLOCK_ROWS = 20_000
HELD_OUT = 0x484F4C44
"""Beside the seed, what the choice of the rows held out depends on: the order of epochs is another."""


class Work(NamedTuple):
    """The workers that learned shards."""

    description: str
    """The workers, in words."""
    moved: int | None
    """Bytes of weights that went to a worker and came back from all shards in an epoch; None where nothing moved."""
    started: float | None
    """Seconds until workers were there, if there were any."""


@dataclass
class Trained:
    """A model, and how it came to be."""

    learner: Learner
    model: Any
    """The learner, or a pipeline of the maps before it and it."""
    seen: "Seen | None"
    """None if the model records how its data were read."""
    rows: int
    rejected: int
    unseen: int
    streamed: bool
    read_seconds: float
    learn_seconds: float
    test: Scores | None = None
    test_name: str = ""
    gathered: Any = None
    """Predictions for the test rows or, without a test, for the rows learned from: a report shows them."""
    shown: Scores | None = None
    """The scores of these predictions."""
    work: Work | None = None
    """The workers, if the work was shared."""

    def saved(self) -> Saved:
        """Return the model as if it had been saved and opened."""
        if self.seen is None:
            return Saved(self.model, self.model.form_)
        return Saved(self.model, self.seen.form.like(self.seen.seen_columns, strict=False))


class Seen:
    """The format of the data and the columns that they had, as `save` stores them."""

    block = False

    def __init__(self, form: Format | None, known: Array | None) -> None:
        assert form is not None  # the data are read from files
        self.form, self.known = form, known

    def seen_columns(self) -> Array:
        """Return a mask of the columns that the data had."""
        return np.ones(self.form.width, bool) if self.known is None else self.known.astype(bool, copy=False)


@dataclass
class TrainingTask:
    """The parameters of a training."""

    sources: list[str]
    options: dict[str, Any]
    """Options of the reader."""
    learner: Learner
    epochs: int
    seed: int
    progress: TrainingProgress
    test: list[str] | None = None
    holdout: float | None = None
    resume: Saved | None = None
    report: bool = False
    maps: list[Any] = field(default_factory=list)
    open_labels: bool = False
    calibrate: str | None = None
    """The method of calibration; None omits it."""
    model: Any = None
    """The model that a stream trains: the learner, or the learner with a calibration."""
    interrupted: bool = False
    out_of_time: bool = False
    remarks: list[str] = field(default_factory=list)
    """Warnings of a solver."""
    time_limit: float | None = None
    """Seconds after which a stream is learned no further."""
    learned: int = 0
    """Rows of a stream that were learned to the end of their block."""

    def __post_init__(self) -> None:
        if self.model is None:
            self.model = self.learner
        if self.calibrate is not None:
            self.model = CalibratedClassifier(self.learner, method=cast("Method", self.calibrate), on="progressive")

    def like(self) -> dict[str, Any]:
        """Return how a model that is resumed has its data read."""
        return {"like": self.resume} if self.resume is not None and self.resume.form is not None else {}


def train_in_memory(task: TrainingTask) -> Trained:
    """Read all rows, learn them epoch after epoch, and judge the model by rows that it has not seen."""
    began = perf_counter()
    _refuse_too_much(task.sources)
    with task.progress.reading() as tell:
        data = linsep.read(task.sources, progress=tell, **task.options, **task.like())
    train, held = _split(len(data), task.holdout, task.seed)
    read_done = perf_counter()
    rows = data if train is None else data.some(train)
    refuse_no_rows(len(rows), task.sources)
    X = rows.X
    remark = None if task.maps else remark_on_sizes(X, task.learner, data.feature_names)
    task.remarks += [] if remark is None else [remark]
    with name_sources(task.sources):
        for step in task.maps:
            X = step.fit_transform(X)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = _fit(task, X, rows)
    learner = learner_of(model)
    task.remarks += [str(of.message) for of in caught if not _of_rounds(of.category, learner)]
    seen = Seen(data.form, data.seen_columns() if marks_all(learner) else None)
    done = perf_counter()
    trained = Trained(
        learner, make_pipeline(task.maps, model), seen, len(rows), data.rejected, data.unseen, False,
        read_done - began, done - read_done,
    )  # fmt: skip
    if held is not None:
        judge(task, trained, [data.some(held)], "held out", held)
    judge_by_files(task, trained)
    if task.report and trained.gathered is None:
        _score(task, trained, [rows])
    return trained


def _of_rounds(kind: type, learner: Learner) -> bool:
    """Return True for a warning about mistakes in the last epoch: the summary shows these errors."""
    return issubclass(kind, ConvergenceWarning) and getattr(learner, "t_", 0) > 0


def _fit(task: TrainingTask, X: Any, rows: Dataset) -> Any:
    """Return the learner, or it with a calibration, trained on all rows; one that goes row by row is watched."""
    learner, progress = task.learner, task.progress
    if task.calibrate is not None:
        model = CalibratedClassifier(learner, method=cast("Method", task.calibrate))
        with progress.solving(f"learning, and {model.cv} times more to calibrate"):
            return model.fit(X, rows.y, sample_weight=rows.weights)
    if not isinstance(learner, OnlineLearner) or learner._sees_all_rows:
        with progress.solving("solving"):
            return learner.fit(X, rows.y, sample_weight=rows.weights)
    before = getattr(learner, "_state", None)
    with _the_same_rows(task), progress.learning(learner._most_epochs * len(rows), before), learner._watched(progress):
        learner.fit(X, rows.y, sample_weight=rows.weights)
    progress.end(learner._state)
    return learner


@contextmanager
def _the_same_rows(task: TrainingTask) -> Iterator[None]:
    """Name the way to continue with other rows if a learner that keeps rows refuses them."""
    try:
        yield
    except OtherRows:
        if task.resume is None:
            raise
        name = name_of(task.learner)
        raise UsageError(f"{name} continues with the rows that it was trained on: add --stream for others") from None


def _refuse_too_much(sources: list[str]) -> None:
    """Refuse files that are larger than the memory that is free, before it is filled."""
    if "-" in sources:
        return
    size = sum(source.size or 0 for source in sources_of(sources))
    free = _free_memory()
    if free is not None and size > free:
        raise UsageError(
            f"the files have {size_of(size)}, and {size_of(free)} of memory are free: --stream learns them in bounded "
            "memory, in the order of the files"
        )


def remark_on_sizes(X: Any, learner: Learner, names: Any = None) -> str | None:
    """Return a remark if the sizes of columns differ so much that standardised columns may be learned far better."""
    known = {entry.name: entry for entry in LEARNERS.values()}.get(type(learner).__name__)
    if known is None or not known.sizes_matter or learner._traits.weights_of_rows:
        return None
    found = unequal_columns(X)
    if found is None:
        return None
    column, size, median = found
    name = f"column {column}" if names is None or len(names) <= column else f"column {names[column]!s}"
    return (
        f"{name} has entries of size {size:.2g}, the median column {median:.2g}: --map standardize may lower the "
        "error; linsep compare tries both"
    )


def _free_memory() -> int | None:
    """Return the bytes of memory that are free or could be freed, where the system reports them."""
    try:
        with open("/proc/meminfo") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return None


def _split(n: int, holdout: float | None, seed: int) -> tuple[Array | None, Array | None]:
    """Return the training rows and the held-out rows, each in the order of the data; None for all and none."""
    if holdout is None:
        return None, None
    order = np.random.default_rng([seed, HELD_OUT]).permutation(n)
    few = min(max(1, round(holdout * n)), n)
    return np.sort(order[few:]), np.sort(order[:few])


def refuse_no_rows(n: int, sources: list[str]) -> None:
    """Raise an error that names the files if they have no rows to learn from."""
    if n == 0:
        raise InvalidDataError(f"{', '.join(map(str, sources))}: there are no rows to learn from")


@contextmanager
def name_sources(sources: list[str]) -> Iterator[None]:
    """Name the files in the error of a column index out of range, which only damaged binary data have."""
    try:
        yield
    except ColumnIndexError as error:
        names = ", ".join(map(str, sources))
        raise InvalidDataError(f"{names}: {error}: the data are damaged; -O verify=true finds the place") from None


def marks_all(learner: Learner) -> bool:
    """Return True if features without an entry have weights, so that the model stores which columns had entries."""
    return learner._weighs_unseen_features


def judge_by_files(task: TrainingTask, trained: Trained) -> None:
    """Score the rows of test files, if there are any."""
    if task.test is not None:
        options = options_for_test_rows(task.options)
        blocks = linsep.stream(task.test, block_rows=BLOCK_ROWS, like=trained.saved(), **options)
        judge(task, trained, blocks, ", ".join(task.test))
        task.remarks += RowCount(known=1).end(blocks.form, blocks.rejected, blocks.unseen).remarks()


def judge(task: TrainingTask, trained: Trained, blocks: Any, name: str, places: Array | None = None) -> None:
    """Score rows that were not learned from; `places` has their places in the data, if they are a part of the data."""
    trained.test, trained.test_name = _score(task, trained, blocks, places), name
    if not trained.test.rows:
        raise InvalidDataError(f"{name}: there are no test rows")
    task.remarks += remark_on_labels(trained.test, trained.learner.classes_)


def _score(task: TrainingTask, trained: Trained, blocks: Any, places: Array | None = None) -> Scores:
    """Score the predictions for some rows; gather them for a report."""
    scoring = scoring_of(trained.model)
    if task.report:
        from linsep.cli.pages.evaluation import Evaluation

        trained.gathered = Evaluation(trained.saved(), places)
    for block in blocks:
        if len(block):
            found = predictions(trained.model, block.X)
            scoring.add_predictions(block.y, found)
            if trained.gathered is not None:
                trained.gathered.add(block, found)
    trained.shown = scoring.result()
    return trained.shown


def fit_quietly(learner: Learner, X: Any, y: Any, weights: Any = None) -> bool:
    """Fit without warnings, and return whether the learner settled: no mistakes, or steps, are left.

    >>> from linsep import Perceptron
    >>> fit_quietly(Perceptron(), [[0], [0]], [0, 1])
    False
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        learner.fit(X, y, sample_weight=weights)
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return not warned and getattr(learner, "_settled", True)
