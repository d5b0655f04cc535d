"""What is done with a shard, wherever that is: look at it, learn from it, count it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from linsep.data.dataset import Dataset
from linsep.data.errors import DataError
from linsep.data.parts_survey import Survey
from linsep.distributed.pieces import Held, piece_of
from linsep.distributed.shelf import SHELF
from linsep.distributed.wire import Sent, Start, received, sent_back
from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense, first_beyond
from linsep.evaluation.scoring import Scoring, answers
from linsep.solvers.naive_bayes.weights import ClassCounts
from linsep.training.epochs import explain, order_of
from linsep.training.mixing import fork, gain_of
from linsep.training.state import StoppedError
from linsep.validation.inputs import LARGEST, canonical, refuse_bad_entries, without_duplicates
from linsep.validation.labels import clean, codes_among

ROWS = 20_000
"""Rows that are answered at a time."""
STREAMED = 10_000
"""Rows that are learned at a time, where not all can be kept."""
Reading = Any
"""How rows are read: data/parts_spans.Reading, or array_pieces.AsTheyAre."""
ASKED = {"labels": "predict", "scores": "decision_function", "probabilities": "predict_proba"}
"""How a model is asked."""
Task = tuple[Any, int, int]
"""A shard: its rows, or where they are; its number; the number of its first row."""


class Look(NamedTuple):
    """What all shards are looked at for."""

    run: str
    """A name for what is kept."""
    reading: Reading


class Job(NamedTuple):
    """What all shards are told, in all epochs."""

    run: str
    reading: Reading
    learner: Any
    """Without a machine, but with its classes, its width and its seed."""
    distinct: bool = False
    """Whether a row must not store a column twice."""


class Epoch(NamedTuple):
    """What all shards are told in one epoch."""

    job: Job
    start: Start
    number: int


class Question(NamedTuple):
    """What is asked of a model."""

    reading: Reading
    model: Any
    what: str = "labels"


class Examples(NamedTuple):
    """Rows as learners see them."""

    data: Dense | Csr
    codes: Array
    weights: Array


def look(task: Task, shared: Look) -> Survey:
    """Return what all shards together decide: their rows, labels, columns."""
    part, number, _ = task
    piece = piece_of(part)
    if not SHELF.has_room(shared.run, piece.room):
        return piece.surveyed(shared.reading)
    found = piece.parsed(shared.reading)
    SHELF.keep(shared.run, number, found, found.nbytes)
    return found.survey


def learn(task: Task, shared: Epoch) -> Sent:
    """Return what a shard gains from its rows, from the weights that the epoch begins with."""
    learner, start = shared.job.learner, received(shared.start)
    shard = fork(start)
    for first, rows in examples(task, shared.job, in_one=learner.shuffle is not False):
        order = order_of(learner, shared.number, rows.data.n_rows, task[1])
        try:
            shard.run(*rows, order, first)
        except StoppedError as stop:
            with _among_all(rows.data, first):
                explain(StoppedError(first + stop.row, stop.status), rows.data, type(shard.rule).__name__)
    return sent_back(gain_of(shard, start))


def count(task: Task, shared: Job) -> ClassCounts:
    """Return what naive Bayes counts in a shard."""
    learner = shared.learner
    tally = learner._started(len(learner.classes_), learner.n_features_in_)
    kept = learner.kind != "gaussian"  # moments are merged, and depend on where the blocks end
    for first, rows in examples(task, shared, in_one=False) if kept else streamed(task, shared):
        with _among_all(rows.data, first):
            refuse_bad_entries(rows.data)
        tally = tally.plus(learner._distinct(rows.data), rows.codes, rows.weights)
    return tally


def scan(task: Task, reading: Reading) -> Survey:
    """Return what all parts together decide, and keep nothing."""
    return piece_of(task[0]).surveyed(reading)


def columns(task: Task, _: None) -> Any:
    """Return the types of the columns of frames."""
    return task[0].columns()


def words(task: Task, reading: Reading) -> dict[str, Any]:
    """Return what a form has seen in frames: words, n-grams, and how many have them."""
    return task[0].words(reading)


def answer(task: Task, question: Question) -> Array:
    """Return a model's answers to the rows of a part."""
    model, blocks = question.model, piece_of(task[0]).blocks(question.reading, ROWS)
    found = [getattr(model, ASKED[question.what])(block.X) for block in blocks]
    return np.concatenate(found) if found else no_answers(model, question.what)


def no_answers(model: Any, what: str) -> Array:
    """Return a model's answers to no rows."""
    return getattr(model, ASKED[what])(np.zeros((1, model.n_features_in_)))[:0]


def judge(task: Task, question: Question) -> Scoring:
    """Return how well a model answers the rows of a part."""
    scoring = Scoring(question.model.classes_)
    for block in piece_of(task[0]).blocks(question.reading, ROWS):
        found = answers(question.model, block.X)
        scoring.add(block.y, found.labels, found.scores, found.probabilities)
    return scoring


def examples(task: Task, job: Job, in_one: bool) -> Iterator[tuple[int, Examples]]:
    """Yield the rows of a shard, each time after the number of the first: all, or blocks where there is no room."""
    part, number, first = task
    piece = piece_of(part)
    kept: Held | Examples | None = SHELF.find(job.run, number)
    if isinstance(kept, Examples):
        yield first, kept
    elif kept is None and not in_one and not SHELF.has_room(job.run, piece.room):
        yield from streamed(task, job)
    else:
        rows = _as_seen(job, (kept or piece.parsed(job.reading)).finished(job.reading.form), first)
        SHELF.keep(job.run, number, rows, rows.data.nbytes + rows.codes.nbytes + rows.weights.nbytes)
        yield first, rows


def streamed(task: Task, job: Job) -> Iterator[tuple[int, Examples]]:
    """Yield the rows of a shard in blocks, each after the number of its first."""
    part, _, first = task
    for block in piece_of(part).blocks(job.reading, STREAMED):
        yield first, _as_seen(job, block, first)
        first += len(block)


def _as_seen(job: Job, block: Dataset, first: int) -> Examples:
    """Return a block as the learner sees it, checked."""
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
    """Tell the place of an entry that is at fault among all rows, where that of these rows would be told."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        flat = np.ravel(data.values)
        k = first_beyond(flat, min(LARGEST, float(np.finfo(flat.dtype).max)))
        if k < 0:
            raise ValueError(f"{error}; rows are counted from row {first:,} of all" if first else str(error)) from None
        row, column = data.place(k)
        kind = "NaN" if np.isnan(flat[k]) else f"{flat[k]}"
        raise ValueError(
            f"Input X contains {kind} (row {first + row:,}, column {column:,}): fill missing values in, or drop the row"
        ) from None


def forget(run: str) -> None:
    """Let go of the rows of a run."""
    SHELF.drop(run)
