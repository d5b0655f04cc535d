"""From files to a model: what `linsep fit` does, apart from what it shows.

All rows are read into memory and learned epoch after epoch in an order of their own, as `fit` of a learner does; or
they are learned as they come, in the order of the files and in bounded memory, as `partial_fit` does.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep.cli.answering import answers
from linsep.cli.failures import BadData, Usage
from linsep.cli.live import live_input
from linsep.cli.scoring import Scores, Scoring
from linsep.cli.watching import Watching
from linsep.core.links import EXPONENTIAL, Imaged
from linsep.data.dataset import Dataset
from linsep.data.form import Form
from linsep.data.reading import Stream
from linsep.data.svmlight.form import Svmlight
from linsep.learners.base import OnlineLearner
from linsep.models.file import Saved

Array = NDArray[Any]

BLOCK_ROWS = 20_000
HELD_OUT = 0x484F4C44
"""Beside the seed, what the choice of the rows held out depends on: the order of epochs is another."""


@dataclass
class Trained:
    """A model, and how it came to be."""

    learner: OnlineLearner
    seen: "Seen"
    rows: int
    rejected: int
    unseen: int
    streamed: bool
    read_seconds: float
    learn_seconds: float
    test: Scores | None = None
    test_name: str = ""
    gathered: Any = None
    """What a report shows of the answers to some rows: those of the test or, without one, those learned from."""
    shown: Scores | None = None
    """What the answers to those rows are worth."""

    def saved(self) -> Saved:
        """Return the model as if it had been saved and opened."""
        return Saved(self.learner, self.seen.form.like(self.seen.columns(), strict=False))


class Seen:
    """How data were read, and the columns they had, as `save` wants to know them."""

    block = False

    def __init__(self, form: Form, known: Array | None) -> None:
        self.form, self.known = form, known

    def columns(self) -> list[Any]:
        """Return a row, and no label, with an entry in every column that the data had; dense where that is all."""
        if self.known is None:
            return [(np.empty(0), None)]
        from scipy.sparse import csr_array

        return [(csr_array(self.known[None]), None)]


@dataclass
class Task:
    """What is to be done."""

    sources: list[str]
    options: dict[str, Any]
    """Those of the reader."""
    learner: OnlineLearner
    epochs: int
    seed: int
    watching: Watching
    test: list[str] | None = None
    holdout: float | None = None
    resume: Saved | None = None
    report: bool = False

    def like(self) -> dict[str, Any]:
        """Return how a model that is resumed has its data read."""
        return {"like": self.resume} if self.resume is not None and self.resume.form is not None else {}


def in_memory(task: Task) -> Trained:
    """Read all rows, learn them epoch after epoch, and judge the model by rows that it has not seen."""
    began = perf_counter()
    with task.watching.reading() as tell:
        data = linsep.read(task.sources, progress=tell, **task.options, **task.like())
    train, held = _split(len(data), task.holdout, task.seed)
    read_done = perf_counter()
    learner, rows = task.learner, data if train is None else _of(data, train)
    _refuse_no_rows(len(rows))
    passes = learner.max_iter if learner.select is None else 1
    with (
        task.watching.learning(passes * len(rows), getattr(learner, "_machine", None)),
        learner.watched(task.watching),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the errors are told anyway
        learner.fit(rows.X, rows.y, sample_weight=rows.weights)
    task.watching.end(learner._machine)
    seen = Seen(_form(data.form), _columns([data], data.X.shape[1]) if _marks_all(learner) else None)
    done = perf_counter()
    trained = Trained(
        learner, seen, len(rows), data.rejected, data.unseen, False, read_done - began, done - read_done
    )  # fmt: skip
    if held is not None:
        _judge(task, trained, [_of(data, held)], f"{len(held):,} rows held out")
    _judge_by_files(task, trained)
    if task.report and trained.gathered is None:
        _scored(task, trained, [rows])
    return trained


def streamed(task: Task) -> Trained:
    """Learn rows as they come, in the order of the files, in bounded memory."""
    began = perf_counter()
    rows = _opened(task)
    every = None if task.holdout is None else max(2, round(1 / task.holdout))
    learner, known, count = task.learner, _known(task.resume), 0
    if every is not None and not rows.reader.again:
        raise Usage("--holdout reads the rows held out a second time, at the end, and a pipe is read only once")
    if task.epochs > 1 and not rows.reader.again:
        raise Usage(f"--epochs {task.epochs} reads the rows {task.epochs} times, and a pipe is read only once")
    with learner.watched(task.watching), learner.in_place():
        for epoch in range(task.epochs):
            count = 0
            with task.watching.learning(None, getattr(learner, "_machine", None) if epoch == 0 else None):
                for block in _kept(rows, every, held=False):
                    _learn(learner, block)
                    count += len(block)
                    if epoch == 0 and _marks_all(learner):
                        known = _columns([block], block.X.shape[1], known)
            _refuse_no_rows(count)
            if epoch == 0:
                task.watching.end(learner._machine)
    if len(learner.classes_) < 2:
        raise BadData(f"all rows have the label {learner.classes_[0]}: a separator needs two labels at least")
    seen = Seen(_form(rows.form), known if _marks_all(learner) else None)
    trained = Trained(learner, seen, count, rows.rejected, rows.unseen, True, 0.0, perf_counter() - began)
    if every is not None:
        _judge(task, trained, _kept(rows, every, held=True), f"every {every}th row, held out")
    _judge_by_files(task, trained)
    return trained


def _opened(task: Task) -> Stream:
    """Return the rows; those of a pipe as they come.

    Indices of svmlight are columns as they are, as nobody can look where they begin. Where training goes on, it goes on
    with new ones, too; of other formats, the columns are those of the model.
    """
    handle, before = live_input(task.sources), None if task.resume is None else task.resume.form
    how = {"block_rows": BLOCK_ROWS, "progress": task.watching.told, **task.options}
    if isinstance(before, Svmlight):
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


def _known(resume: Saved | None) -> Array:
    """Return which columns the data had that a model was trained on before."""
    known = None if resume is None or resume.form is None else resume.form.known
    return np.zeros(0, bool) if known is None else np.array(known)


def _learn(learner: OnlineLearner, block: Dataset) -> None:
    if not len(block):
        return
    if block.X.shape[1] > getattr(learner, "n_features_in_", 0):
        learner.grow(block.X.shape[1])
    learner.partial_fit(block.X, block.y, sample_weight=block.weights)


def _kept(rows: Any, every: int | None, held: bool) -> Iterator[Dataset]:
    """Yield the blocks of a stream: all rows, or of those only the ones that are held out, or are not."""
    first = 0
    for block in rows:
        if every is None:
            yield block
        else:
            chosen = np.arange(first, first + len(block)) % every == every - 1
            first += len(block)
            yield _of(block, np.flatnonzero(chosen == held))


def _of(data: Dataset, rows: Array) -> Dataset:
    """Return some rows."""
    from dataclasses import replace

    return replace(data, X=data.X[rows], y=data.y[rows], weights=None if data.weights is None else data.weights[rows])


def _split(n: int, holdout: float | None, seed: int) -> tuple[Array | None, Array | None]:
    """Return the rows to learn from and those held out, each in the order of the data; None for all and none."""
    if holdout is None:
        return None, None
    order = np.random.default_rng([seed, HELD_OUT]).permutation(n)
    few = min(max(1, round(holdout * n)), n)
    return np.sort(order[few:]), np.sort(order[:few])


def _refuse_no_rows(n: int) -> None:
    if n == 0:
        raise BadData("there are no rows to learn from")


def _marks_all(learner: OnlineLearner) -> bool:
    """Whether a feature that was never seen has weight all the same, so that it must be known which were seen."""
    link = learner._machine.link
    return isinstance(link, Imaged) and link.form == EXPONENTIAL


def _columns(blocks: list[Dataset], width: int, known: Array | None = None) -> Array:
    """Return which columns have an entry."""
    seen = np.zeros(width, bool)
    if known is not None:
        seen[: len(known)] = known
    for block in blocks:
        seen[block.X.indices if hasattr(block.X, "indices") else slice(None)] = True
    return seen


def _form(form: Form | None) -> Form:
    assert form is not None
    return form


def _judge_by_files(task: Task, trained: Trained) -> None:
    if task.test is not None:
        options = {name: value for name, value in task.options.items() if name in ("format", "on_error", "n_jobs")}
        blocks = linsep.stream(task.test, block_rows=BLOCK_ROWS, like=trained.saved(), **options)
        _judge(task, trained, blocks, ", ".join(task.test))


def _judge(task: Task, trained: Trained, blocks: Any, name: str) -> None:
    """Score rows that were not learned from."""
    trained.test, trained.test_name = _scored(task, trained, blocks), name
    if not trained.test.rows:
        raise BadData(f"{name}: there are no rows to be judged by")


def _scored(task: Task, trained: Trained, blocks: Any) -> Scores:
    """Return what the answers to some rows are worth; a report shows them."""
    scoring = Scoring(trained.learner.classes_)
    if task.report:
        from linsep.cli.reports import Evaluation

        trained.gathered = Evaluation(trained.saved())
    for block in blocks:
        if len(block):
            found = answers(trained.learner, block.X)
            scoring.add(block.y, found.labels, found.scores, found.probabilities)
            if trained.gathered is not None:
                trained.gathered.add(block, found)
    trained.shown = scoring.result()
    return trained.shown
