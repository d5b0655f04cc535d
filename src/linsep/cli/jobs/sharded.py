"""`linsep fit` on shards that need not fit into memory: by threads of this process, or by the workers of a cluster.

Every epoch is kept in a file beside the model until that is written: if it was cut off, the same command resumes there.
"""

import warnings
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from linsep import distributed
from linsep.cli.errors import UsageError
from linsep.cli.jobs.training import Trained, TrainingTask, Work, judge_by_files
from linsep.cli.options.common import LearnerOptions, learner_from
from linsep.cli.options.workers import WorkerPool, start_workers, task_slots
from linsep.cli.terminal.progress import ShardsTrainingProgress
from linsep.cli.terminal.text import say
from linsep.distributed.training import SHARDS
from linsep.engine.runtime import threads
from linsep.estimators.base.learner import Learner
from linsep.estimators.registry import LEARNERS
from linsep.models.save_load import opened


class Sharing(NamedTuple):
    """The workers and the checkpoint of a training on shards."""

    progress: ShardsTrainingProgress
    pool: WorkerPool | None
    """The workers; None is threads of this process."""
    kept: Path | None
    """The file that each epoch is written to."""
    stream: bool = False
    """If True, rows are learned in the order of the files."""

    @property
    def left(self) -> str | None:
        """The epochs that are kept of an interrupted run, in words; None if there are none."""
        if self.kept is None or not self.kept.exists():
            return None
        epochs = len(opened(self.kept).about["history"])
        return f"{self.kept} has {epochs} epoch{'s' * (epochs != 1)}: the same command resumes from there"


def learner_for(options: LearnerOptions, option: str, stream: bool) -> tuple[Learner, int]:
    """Return the learner to train on shards and its epochs; refuse a learner that is not trained on shards."""
    parameters = {name: value for name, value in options.parameters.items() if name != "n_jobs"}
    name = options.learner
    if stream and "shuffle" in parameters:
        raise UsageError("--stream learns rows in the order of the files: leave out --shuffle")
    if LEARNERS[name].no_mixing:
        raise UsageError(f"{option}: {name} is not trained on shards, as {LEARNERS[name].no_mixing}")
    learner: Any = learner_from(name, parameters)
    if learner._traits.counts_rows:
        return learner, 1
    learner.set_params(shards=learner.shards or SHARDS, n_jobs=options.parameters.get("n_jobs", -1))
    if learner._sees_all_rows:
        raise UsageError(f"--solver {learner.solver} sees all rows at once: with {option}, it is sgd")
    if learner._no_mixing:
        raise UsageError(f"{option}: {name} is not trained on shards, as {learner._no_mixing}")
    if stream:
        learner.set_params(shuffle=False, log=parameters.get("log", False))  # it would grow with the stream
        return learner, parameters.get("max_iter") or 1
    return learner, learner._most_epochs


def train_on_shards(task: TrainingTask, sharing: Sharing) -> Trained:
    """Learn the shards of files, and judge the model by rows that it has not seen."""
    began, learner, pool, seen = perf_counter(), task.learner, sharing.pool, sharing.progress
    with ExitStack() as stack:
        with seen.solving(f"starting {pool.workers} workers" if pool and pool.workers else "connecting"):
            client = stack.enter_context(start_workers(pool))
        workers = threads(getattr(learner, "n_jobs", -1)) if client is None else task_slots(client)
        if pool is not None:
            _remark_idle(workers, getattr(learner, "shards", None))
        with seen.learning_shards(task.epochs, sharing.kept):
            _fit(task, sharing, client)
        done = perf_counter()
    who = Work(f"{workers} thread{'s' * (workers != 1)}", None, None)
    if pool is not None:
        lost = f", {seen.lost} lost on the way" if seen.lost else ""
        who = Work(pool.description(workers) + lost, seen.moved, seen.began - began)
    trained = Trained(
        learner, learner, None, seen.rows, seen.rejected, 0, sharing.stream, seen.scanned,
        done - seen.began - seen.scanned, work=who,
    )  # fmt: skip
    judge_by_files(task, trained)
    return trained


def _fit(task: TrainingTask, sharing: Sharing, client: Any) -> None:
    """Train; if the cluster fails, report what is saved."""
    counts = task.learner._traits.counts_rows
    options = {name: value for name, value in task.options.items() if name != "n_jobs"}
    try:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # the mistakes are shown
            distributed.fit(
                task.learner, task.sources, client=client, epochs=None if counts else task.epochs,
                checkpoint=None if counts else sharing.kept, progress=sharing.progress.shards, **options,
            )  # fmt: skip
    except distributed.ClusterError as error:
        raise UsageError("; ".join(filter(None, (str(error), sharing.left)))) from error


def _remark_idle(workers: int, shards: int | None) -> None:
    """Warn about idle workers if there are more workers than shards."""
    if shards is not None and workers > shards:
        say(
            f"linsep fit: {workers} workers, and shards for {shards} of them: --shards {workers}, or more, is work for "
            "all (and another model)"
        )
