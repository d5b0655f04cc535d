"""`predict` and `evaluate` on files of any size and on clusters: each shard is predicted where it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from linsep.distributed import work
from linsep.distributed.cluster import engine_of
from linsep.distributed.engine import Engine
from linsep.distributed.shard import Task
from linsep.distributed.sources import ShardSource, source_of
from linsep.engine.arrays import Array
from linsep.evaluation.scoring import Scores, scoring_of
from linsep.validation.errors import ParameterError

WHAT = ("labels", "scores", "probabilities")


def predict(
    model: Any, source: Any, *, client: Any = None, what: str = "labels", n_jobs: int | None = -1, **options: Any
) -> Array:
    r"""Return a model's predictions for all rows, in order.

    Parameters
    ----------
    model : a fitted learner, a pipeline that ends in one, or a calibrated one
        If its model file records how its data were read, the rows are read in the same way.
    source : path, list of paths, glob, folder; Dask dataframe or Dask array
        As in :func:`fit`.
    client : distributed.Client, address of a scheduler, or None
        The workers; None is `n_jobs` threads of this process.
    what : "labels", "scores" or "probabilities", default="labels"
        The results of `predict`, `decision_function` or `predict_proba`.
    n_jobs : int or None, default=-1
        Threads, if there is no client.
    **options
        The options of :func:`linsep.read` and of the format.

    Returns
    -------
    array
        (rows,), or (rows, classes) if each class has a score.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linsep import Perceptron, distributed
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:1\n-1 2:1\n")
    >>> clf = distributed.fit(Perceptron(shards=2, random_state=0), path)
    >>> distributed.predict(clf, path)
    array([ 1, -1])
    """
    found = list(predictions(model, source, client=client, what=what, n_jobs=n_jobs, **options))
    return np.concatenate(found) if found else work.no_predictions(model, what)


def predictions(
    model: Any, source: Any, *, client: Any = None, what: str = "labels", n_jobs: int | None = -1, **options: Any
) -> Iterator[Array]:
    """Yield a model's predictions shard by shard, in order; parameters as in :func:`predict`."""
    if what not in WHAT:
        raise ParameterError(f"what={what!r}: it is one of {', '.join(WHAT)}")
    if what == "probabilities" and not hasattr(model, "predict_proba"):
        raise ParameterError(f"{type(model).__name__} has no probabilities: calibrate it, or take its scores")
    with _opened(model, source, None, client, n_jobs, options) as (_, engine, tasks, reading):
        yield from engine.each(work.predict, tasks, work.Question(reading, model, what))


def evaluate(
    model: Any, source: Any, y: Any = None, *, client: Any = None, n_jobs: int | None = -1, **options: Any
) -> Scores:
    r"""Score a model's predictions against the labels of all rows.

    Parameters are those of :func:`predict`, and `y`: the labels of a Dask array, as in :func:`fit`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linsep import Perceptron, distributed
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:1\n-1 2:1\n")
    >>> scores = distributed.evaluate(distributed.fit(Perceptron(shards=2, random_state=0), path), path)
    >>> scores.rows, scores.error
    (2, 0.0)
    """
    with _opened(model, source, y, client, n_jobs, options) as (opened, engine, tasks, reading):
        if not opened.labelled:
            raise TypeError("a Dask array has no labels in it: give them as y")
        scoring = scoring_of(model)
        for part in engine.each(work.evaluate, tasks, work.Question(reading, model)):
            scoring.plus(part)
    return scoring.result()


@contextmanager
def _opened(
    model: Any, source: Any, y: Any, client: Any, n_jobs: int | None, options: dict[str, Any]
) -> Iterator[tuple[ShardSource, Engine, Sequence[Task], Any]]:
    """Give the source, the engine, the shards, and how they are read."""
    if getattr(model, "form_", None) is not None:
        options = {"like": model, **options}
    with engine_of(client, n_jobs) as engine:
        opened = source_of(source, y, options, engine)
        tasks = tasks_of(opened, engine)
        yield opened, engine, tasks, opened.reading


def tasks_of(source: ShardSource, engine: Engine) -> Sequence[Task]:
    """Return the shards to predict, once it is settled how they are read."""
    tasks = source.tasks()
    if not source.settled:
        source.settle(list(engine.each(work.scan, tasks, source.reading)))
    return tasks
