"""`fit` on files of any size and on clusters: shards are learned where they are, and mixed after every epoch."""

import os
import uuid
from collections.abc import Callable
from contextlib import closing
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from linsep.data.errors import DataError
from linsep.data.parts import Profile
from linsep.distributed import work
from linsep.distributed.checkpoint import Checkpoint, identity_of
from linsep.distributed.cluster import engine_of
from linsep.distributed.engine import Engine
from linsep.distributed.packing import pack_state, unpack_gain
from linsep.distributed.sources import source_of
from linsep.engine.arrays import Array
from linsep.engine.readouts import MISTAKES
from linsep.engine.step import reads_norm
from linsep.estimators.base.learner import Learner, refuse_one_class
from linsep.estimators.base.online import OnlineLearner
from linsep.models.save_load import Saved
from linsep.training.epochs import Enough, refuse_overflow
from linsep.training.mixing import ShardMix, compute_image
from linsep.training.state import TrainingState
from linsep.validation.errors import ParameterError
from linsep.validation.labels import clean

AnyLearner = TypeVar("AnyLearner", bound=Learner)
PathLike = str | os.PathLike[str]

SHARDS = 8
"""The default number of shards; it changes the model, so it does not depend on the number of workers."""


class TrainingStatus(NamedTuple):
    """The progress of a training."""

    epoch: int
    """From 1; 0 while the shards are scanned."""
    shards: int
    """Shards of this epoch that are done ..."""
    of: int
    """... of how many."""
    rows: int
    """Rows learned so far, in all epochs; during the scan, rows counted so far."""
    mistakes: int
    """Mistakes so far."""
    sent: int
    """Bytes of weights sent so far, to each worker and back."""
    seconds: float
    errors: int | None = None
    """Rows that were predicted wrongly before they were learned; None if they are not counted."""
    rejected: int = 0
    """Malformed rows that an epoch skips."""
    gone: int = 0
    """Workers that have left or died since the training began; others do their work."""
    waiting: bool = False
    """True if no worker is left, and the training waits for one."""


Report = Callable[[TrainingStatus], None]


def fit(
    learner: AnyLearner, source: Any, y: Any = None, *, client: Any = None, epochs: int | None = None,
    checkpoint: PathLike | None = None, progress: Report | None = None, **options: Any,
) -> AnyLearner:  # fmt: skip
    r"""Train a learner on shards of data that need not fit into memory, by threads or by the workers of a cluster.

    Iterative parameter mixing (McDonald, Hall and Mann, 2010): in every epoch each shard is learned from the weights
    that the epoch began with, and the weights are mixed in the order of the shards. The result depends only on the
    learner, its seed, the data and the number of shards: not on the workers, their number, or which of them die.

    Parameters
    ----------
    learner : an online learner that mixes, or NaiveBayes
        Its `shards` (8 if None), `mixing`, `shuffle` and seed are part of the algorithm. With `shuffle=False` rows are
        learned in the order of the data, in memory that does not grow with a shard; otherwise each shard is held in
        memory while it is learned, in an order of its own. NaiveBayes counts, in one pass.
    source : path, list of paths, glob, folder; Dask dataframe or Dask array
        Text is cut into ranges of bytes, Parquet into row groups, binary files into rows; a compressed text file is one
        shard at least. Workers read the files under the same names. A dataframe has a column of labels (`label=`), an
        array comes with `y`.
    y : Dask array, optional
        The labels of a Dask array.
    client : distributed.Client, address of a scheduler, or None
        The workers; None is threads of this process, `n_jobs` of the learner.
    epochs : int, optional
        Maximum number of epochs. Default: the learner's `max_iter`.
    checkpoint : path, optional
        A model file that is written after every epoch. If it exists, from the same learner and data, training resumes
        from it, and gives the same weights as an uninterrupted run.
    progress : callable, optional
        Called with a :class:`TrainingStatus` after every shard.
    **options
        The options of :func:`linsep.read` and of the format.

    Returns
    -------
    learner
        The given learner, trained. It has a log only with `log=True`; `mixes_` records its shards.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linsep import AveragedPerceptron, distributed
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:1\n-1 2:1\n+1 1:2\n-1 2:2 3:1\n")
    >>> clf = distributed.fit(AveragedPerceptron(shards=2, random_state=0), path)
    >>> clf.predict([[1, 0, 0], [0, 1, 0]]), clf.mixes_.rows
    (array([ 1, -1]), array([3, 1, 3, 1]))
    """
    _refuse(learner, epochs)
    with engine_of(client, getattr(learner, "n_jobs", None)) as engine:
        run = DistributedTraining(learner, engine, source, y, options, progress)
        try:
            if learner._traits.counts_rows:
                run.count()
            else:
                run.train(epochs, checkpoint)
        finally:
            run.source.release()
            engine.everywhere(work.forget, run.name)
    return learner


def _refuse(learner: Any, epochs: int | None) -> None:
    if not isinstance(learner, Learner):
        raise TypeError(f"distributed.fit takes a learner of linsep, and not {type(learner).__name__}")
    if learner._no_mixing:
        raise ParameterError(f"{type(learner).__name__} is not trained on shards, as {learner._no_mixing}")
    if epochs is not None and (learner._traits.counts_rows or epochs < 1):
        raise ParameterError(
            f"epochs={epochs}: " + ("one pass counts all" if epochs > 0 else "there must be one at least")
        )
    learner._validate_params()
    if isinstance(learner.class_weight, str):
        raise ParameterError(
            'class_weight="balanced" needs all labels at once: pass a dict of weights to distributed.fit'
        )
    if isinstance(learner, OnlineLearner):
        learner._check_shards()


class DistributedTraining:
    """A training run: its shards, and their profile."""

    def __init__(
        self, learner: Any, engine: Engine, source: Any, y: Any, options: dict[str, Any], progress: Report | None
    ) -> None:  # fmt: skip
        self.name, self.learner, self.engine, self.options = uuid.uuid4().hex, learner, engine, options
        self.source = source_of(source, y, options, engine)
        self.twin = clone(learner)
        self._progress, self._began, self._sent = progress, perf_counter(), 0
        self._last = TrainingStatus(0, 0, 0, 0, 0, 0, 0.0)
        engine.notice = self._report_waiting
        self._rows = self._rejected = 0

    def profile(self, count: int) -> Profile:
        """Profile all shards, and set the classes and the number of features of the learner's twin."""
        source, twin = self.source, self.twin
        tasks = source.shards(count)
        profiles = []
        with closing(self.engine.each(work.profile, tasks, (self.name, source.reading))) as each:
            for found in each:
                profiles.append(found)
                self._rows, self._rejected = self._rows + found.rows, self._rejected + found.rejected
                self._report(0, len(profiles), len(tasks))
        profile = source.settle(profiles)
        if not profile.rows:
            raise DataError(source.name, "there are no rows")
        firsts = np.cumsum([0, *(found.rows for found in profiles)]).tolist()
        self.tasks = [task._replace(first=firsts[task.number]) for task in tasks if profiles[task.number].rows]
        clean(profile.labels, len(profile.labels))
        refuse_one_class(profile.labels)
        twin.classes_, twin._open, twin.n_features_in_ = profile.labels, False, source.width
        if source.form is not None:
            twin.form_ = source.form.like(lambda: profile.seen_columns(source.width), strict=False)
        return profile

    def count(self) -> None:
        """Count the rows of all shards."""
        profile = self.profile(self.source.pieces)
        twin, shared = self.twin, work.Job(self.name, self.source.reading, self.twin)
        with closing(self.engine.each(work.count, self.tasks, shared)) as tallies:
            tally = next(tallies)
            self._report(1, 1, len(self.tasks))
            for done, more in enumerate(tallies, 2):
                tally = tally.joined(more)
                self._report(1, done, len(self.tasks))
        self._take_over(twin._resume_with(tally, profile.labels, open_labels=False))

    def train(self, epochs: int | None, path: PathLike | None) -> None:
        """Learn all shards, epoch after epoch, and mix."""
        twin = self.twin
        profile = self.profile(twin.shards or SHARDS)
        checkpoint = Checkpoint(path, identity_of(twin, self.source.identity(self.tasks), self.options))
        history: list[list[int]] = []
        saved = checkpoint.load()
        if saved is None:
            state = self._start(profile)
        else:
            state, history = self._resume(saved)
        enough, most = Enough(twin, state), twin._most_epochs if epochs is None else epochs
        if len(history) > most:
            raise ParameterError(
                f"{path} has {len(history)} epochs already, and {most} are wanted: delete it, or name another file"
            )
        over = [enough.after(np.array(made), profile.rows) for made in history]
        job = work.Job(self.name, self.source.reading, _bare(twin, state.bias), reads_norm(type(state.rule)))
        while not any(over) and state.epochs < most:
            before = state.tally.counts.sum(axis=1)
            self._epoch(state, job)
            made = state.tally.counts.sum(axis=1) - before
            history.append(made.tolist())
            over.append(enough.after(made, profile.rows))
            twin._state, twin.n_iter_ = state, state.epochs
            if path is not None:
                compute_image(state)
                checkpoint.write(twin, history)
        compute_image(state)
        twin._state, twin.n_iter_ = state, state.epochs
        self._take_over(twin)
        if enough.more_helps:
            self.learner._warn_of_mistakes(most, depth=4)

    def _epoch(self, state: TrainingState, job: work.Job) -> None:
        """Learn all shards from the same weights, and mix them."""
        mix = ShardMix(state, job.learner.mixing)
        start = pack_state(mix.start)
        self._sent += start.nbytes
        shared = work.Epoch(job, start, state.epochs)
        self._report(state.epochs + 1, 0, len(self.tasks), state)
        with closing(self.engine.each(work.learn, self.tasks, shared)) as each:
            for done, back in enumerate(each, 1):
                mix.add(unpack_gain(back))
                self._sent += back.nbytes
                self._report(state.epochs + 1, done, len(self.tasks), state)
        mix.end()
        refuse_overflow(state)
        state.epochs += 1

    def _start(self, profile: Profile) -> TrainingState:
        """Return the state before the first round."""
        twin = self.twin
        twin.seed_ = twin._draw_seed()
        bias = twin._first_bias(self._first_row()) if twin._reads_first_row else twin._wanted_bias
        state = twin._start(twin.n_features_in_, len(twin.classes_), profile.rows, bias, open_labels=False)
        if twin.log == "auto":
            state.log = state.log.closed("shards may be of any size; log=True keeps one")
        else:
            state.keep_log(twin.log, profile.weighted or twin.class_weight is not None, 0)
        return state

    def _first_row(self) -> Array | None:
        """Return the entries of the first row whose weight is not 0."""
        job = work.Job(self.name, self.source.reading, self.twin)
        for task in self.tasks:
            with closing(self.engine.each(work.first_row, [task], job)) as each:
                entries: Array | None = next(each)
            if entries is not None:
                return entries
        return None

    def _resume(self, saved: Saved) -> tuple[TrainingState, list[list[int]]]:
        """Return the state of an interrupted run, and the mistakes and updates of its epochs."""
        twin, model = self.twin, saved.model
        if not np.array_equal(model.classes_, twin.classes_) or model.n_features_in_ != twin.n_features_in_:
            raise ParameterError("the checkpoint is of other classes or features: delete it, or give another")
        twin.seed_ = model.seed_
        return model._readable().whole().copy(), [list(map(int, made)) for made in saved.about["history"]]

    def _take_over(self, twin: Any) -> None:
        """Copy what the twin has learned to the learner."""
        learner, own = self.learner, twin.get_params(deep=False)
        kept = {name: value for name, value in vars(learner).items() if name in own}
        learner.__dict__ = kept | {name: value for name, value in vars(twin).items() if name not in own}

    def _report(self, epoch: int, done: int, of: int, state: TrainingState | None = None) -> None:
        """Report the shards of an epoch that are done."""
        if self._progress is None:
            return
        rows, mistakes, errors = self._rows, 0, None
        if state is not None:
            tally = state.tally
            rows, mistakes, errors = int(tally.rounds[0]), int(tally.counts[MISTAKES].sum()), state.errors
        seconds = perf_counter() - self._began
        gone = self.engine.gone
        self._last = TrainingStatus(epoch, done, of, rows, mistakes, self._sent, seconds, errors, self._rejected, gone)
        self._progress(self._last)

    def _report_waiting(self) -> None:
        """Report that no worker is left."""
        if self._progress is not None:
            seconds = perf_counter() - self._began
            self._progress(self._last._replace(seconds=seconds, gone=self.engine.gone, waiting=True))


def _bare(twin: Any, bias: float) -> Any:
    """Return a learner to send to workers: with the bias of its state, but without its state and its form."""
    bare = clone(twin).set_params(**({"intercept_scaling": bias} if bias else {}))
    for name in ("classes_", "_open", "n_features_in_", "seed_"):
        setattr(bare, name, getattr(twin, name))
    return bare
