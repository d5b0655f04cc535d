"""The work on one shard, on any worker: scan, learn, count, predict, evaluate; rows are cached if there is room."""

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from linsep.data.dataset import Dataset
from linsep.data.parts import Profile
from linsep.distributed.packing import PackedGain, PackedState, pack_gain, unpack_state
from linsep.distributed.shard import LoadedRows, Task
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense, first_beyond
from linsep.estimators.base.bias import first_entries
from linsep.evaluation.scoring import Scoring, predictions, scoring_of
from linsep.models.pipelines import last_of
from linsep.solvers.naive_bayes.weights import ClassCounts
from linsep.training.epochs import explain, order_of
from linsep.training.mixing import fork, gain_of
from linsep.training.state import StoppedError
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import LARGEST, canonical, refuse_bad_entries, without_duplicates
from linsep.validation.labels import clean, codes_among

SHARE = 0.4
"""The share of the memory of a worker, or of this machine, that cached rows may take."""
OVER = 100
"""The number of finished runs that are remembered."""


def room() -> float:
    """Return how many bytes may be cached in this process."""
    try:
        from distributed import get_worker

        limit = get_worker().memory_manager.memory_limit
    except (ImportError, ValueError):  # there is no Dask, or this is no worker of it
        limit = None
    return SHARE * (limit or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


class RowCache:
    """Objects of several runs, cached while there is room.

    Objects of one run do not evict each other: each is used once an epoch, so the last one used is needed last.
    Objects of other runs are evicted.

    Examples
    --------
    >>> cache = RowCache(lambda: 100)
    >>> cache.keep("run", 1, "rows", 60), cache.keep("run", 2, "more", 60), cache.find("run", 1), cache.find("run", 2)
    (True, False, 'rows', None)
    """

    def __init__(self, limit: Callable[[], float] = room) -> None:
        self.limit, self._lock = limit, Lock()
        self._over: deque[Hashable] = deque(maxlen=OVER)
        self._kept: dict[tuple[Hashable, Hashable], tuple[Any, int]] = {}

    def find(self, run: Hashable, key: Hashable) -> Any:
        """Return a cached object, or None."""
        with self._lock:
            return self._kept.get((run, key), (None, 0))[0]

    def keep(self, run: Hashable, key: Hashable, thing: Any, size: int) -> bool:
        """Cache an object in place of the old one of that key; return whether there is room."""
        with self._lock:
            self._kept.pop((run, key), None)
            limit = self.limit()
            if run in self._over or self._used(run) + size > limit:
                return False
            while self._used() + size > limit:
                del self._kept[next(of for of in self._kept if of[0] != run)]
            self._kept[run, key] = thing, size
            return True

    def has_room(self, run: Hashable, size: int) -> bool:
        """Return whether an object of a run could be cached; objects of other runs would be evicted."""
        with self._lock:
            return self._used(run) + size <= self.limit()

    def drop(self, run: Hashable) -> None:
        """Drop all objects of a run that is over; work that still runs for it caches nothing."""
        with self._lock:
            self._over.append(run)
            self._kept = {of: thing for of, thing in self._kept.items() if of[0] != run}

    def _used(self, run: Hashable = None) -> int:
        """Return the bytes of a run's objects, or of all."""
        return sum(size for of, (_, size) in self._kept.items() if run is None or of[0] == run)


ROW_CACHE = RowCache()
"""The cache of this process."""


ROWS = 20_000
"""Rows that are predicted at a time."""
STREAMED = 10_000
"""Rows that are learned at a time, if not all fit into memory."""
AnyReading = Any
"""The reading of rows: a Reading of files and tables, or an ArrayReading."""
METHODS = {"labels": "predict", "scores": "decision_function", "probabilities": "predict_proba"}
"""The method of a model for each kind of prediction."""


class Job(NamedTuple):
    """The data that all shards share in all epochs."""

    run: str
    """The name under which rows are cached."""
    reading: AnyReading
    learner: Any
    """Without its state, but with its classes, its number of features and its seed."""
    distinct: bool = False
    """If True, duplicate columns of a row are summed first."""


class Epoch(NamedTuple):
    """The data that all shards share in one epoch."""

    job: Job
    start: PackedState
    number: int


class Question(NamedTuple):
    """The prediction to make: what all shards share."""

    reading: AnyReading
    model: Any
    what: str = "labels"


class Examples(NamedTuple):
    """Rows, codes of labels and weights, as the engine reads them."""

    data: Dense | Csr
    codes: Array
    weights: Array


def profile(task: Task, shared: tuple[str, AnyReading]) -> Profile:
    """Return the number of rows, the labels and the columns of a shard; cache its rows if there is room."""
    shard, (run, reading) = task.shard, shared
    if not ROW_CACHE.has_room(run, shard.memory):
        return scan(task, reading)
    rows: LoadedRows = shard.load(reading)
    ROW_CACHE.keep(run, task.number, rows, rows.nbytes)
    return rows.profile


def first_row(task: Task, job: Job) -> Array | None:
    """Return the entries of the first row of a shard whose weight is not 0; None if there is none."""
    cached = ROW_CACHE.find(job.run, task.number)
    loaded = not (cached is None or isinstance(cached, Examples))
    for block in [cached.finish(job.reading.form)] if loaded else task.shard.blocks(job.reading, STREAMED):
        rows = _validate(job, block, task.first)
        entries = first_entries(rows.data, rows.weights)
        if entries is not None:
            return entries
    return None


def learn(task: Task, shared: Epoch) -> PackedGain:
    """Learn the rows of a shard, from the weights that the epoch starts with; return the gain."""
    learner, start = shared.job.learner, unpack_state(shared.start)
    shard = fork(start)
    for first, rows in examples(task, shared.job, in_one=learner.shuffle is not False):
        order = order_of(learner, shared.number, rows.data.n_rows, task.number)
        try:
            shard.run(*rows, order, first)
        except StoppedError as stop:
            with _among_all(rows.data, first):
                explain(StoppedError(first + stop.row, stop.status), rows.data, type(shard.rule).__name__)
    return pack_gain(gain_of(shard, start))


def count(task: Task, shared: Job) -> ClassCounts:
    """Return the counts of naive Bayes in a shard."""
    learner = shared.learner
    tally = learner._started(len(learner.classes_), learner.n_features_in_)
    cached = learner.kind != "gaussian"  # moments are merged, and depend on where the blocks end
    for first, rows in examples(task, shared, in_one=False) if cached else stream_blocks(task, shared):
        with _among_all(rows.data, first):
            refuse_bad_entries(rows.data)
        tally = tally.plus(learner._distinct(rows.data), rows.codes, rows.weights)
    return tally


def scan(task: Task, reading: AnyReading) -> Profile:
    """Return the number of rows, the labels and the columns of a shard; cache nothing."""
    found: Profile = task.shard.scan(reading)
    return found


def columns(task: Task, _: None) -> Any:
    """Return the schema of the columns of a dataframe's shard."""
    return task.shard.columns()


def words(task: Task, reading: AnyReading) -> dict[str, Any]:
    """Return the state of a form that has read a dataframe's shard: words, n-grams and their counts."""
    state: dict[str, Any] = task.shard.words(reading)
    return state


def predict(task: Task, question: Question) -> Array:
    """Return a model's predictions for the rows of a shard."""
    model, blocks = question.model, task.shard.blocks(question.reading, ROWS)
    found = [getattr(model, METHODS[question.what])(block.X) for block in blocks]
    return np.concatenate(found) if found else no_predictions(model, question.what)


def no_predictions(model: Any, what: str) -> Array:
    """Return a model's predictions for no rows, of the right type and shape."""
    last = last_of(model)  # a pipeline predicts as its last step does
    found: Array = getattr(last, METHODS[what])(csr_array((1, last.n_features_in_)))[:0]
    return found


def evaluate(task: Task, question: Question) -> Scoring:
    """Score a model's predictions for the rows of a shard."""
    scoring = scoring_of(question.model)
    for block in task.shard.blocks(question.reading, ROWS):
        found = predictions(question.model, block.X)
        scoring.add(block.y, found.labels, found.scores, found.probabilities)
    return scoring


def examples(task: Task, job: Job, in_one: bool) -> Iterator[tuple[int, Examples]]:
    """Yield the rows of a shard, each time after the number of the first: all, or blocks if they do not fit."""
    cached: LoadedRows | Examples | None = ROW_CACHE.find(job.run, task.number)
    if isinstance(cached, Examples):
        yield task.first, cached
    elif cached is None and not in_one and not ROW_CACHE.has_room(job.run, task.shard.memory):
        yield from stream_blocks(task, job)
    else:
        rows: LoadedRows = cached or task.shard.load(job.reading)
        valid = _validate(job, rows.finish(job.reading.form), task.first)
        ROW_CACHE.keep(job.run, task.number, valid, valid.data.nbytes + valid.codes.nbytes + valid.weights.nbytes)
        yield task.first, valid


def stream_blocks(task: Task, job: Job) -> Iterator[tuple[int, Examples]]:
    """Yield the rows of a shard in blocks, each after the number of its first."""
    first = task.first
    for block in task.shard.blocks(job.reading, STREAMED):
        yield first, _validate(job, block, first)
        first += len(block)


def _validate(job: Job, block: Dataset, first: int) -> Examples:
    """Validate a block and convert it to the engine's types."""
    learner = job.learner
    data = canonical(learner, block.X, bias=learner._bias, reset=False)
    labels = clean(block.y, data.n_rows)
    with _among_all(data, first):
        learner._check_entries(data)
    codes = codes_among(labels, learner.classes_)
    weights = learner._row_weights(codes, learner.classes_, block.weights, data, whole=False)
    return Examples(without_duplicates(data) if job.distinct else data, codes, weights)


@contextmanager
def _among_all(data: Dense | Csr, first: int) -> Iterator[None]:
    """Let an error name the place of an entry among all rows, instead of among the rows of this block."""
    try:
        yield
    except InvalidDataError as error:
        flat = np.ravel(data.values)
        k = first_beyond(flat, min(LARGEST, float(np.finfo(flat.dtype).max)))
        if k < 0:
            text = f"{error}; rows are counted from row {first:,} of all" if first else str(error)
            raise InvalidDataError(text) from None
        row, column = data.place(k)
        kind = "NaN" if np.isnan(flat[k]) else f"{flat[k]}"
        raise InvalidDataError(
            f"Input X contains {kind} (row {first + row:,}, column {column:,}): fill missing values in, or drop the row"
        ) from None


def forget(run: str) -> None:
    """Drop the cached rows of a run."""
    ROW_CACHE.drop(run)
