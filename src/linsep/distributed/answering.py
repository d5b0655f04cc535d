"""`predict` and `evaluate` on files of any size and on clusters: each part is answered where it lies."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from linsep.distributed import work
from linsep.distributed.connecting import engine_of
from linsep.distributed.engines import Engine
from linsep.distributed.plans import plan_of
from linsep.engine.arrays import Array
from linsep.evaluation.scoring import Scores, Scoring

WHAT = ("labels", "scores", "probabilities")


def predict(
    model: Any, source: Any, *, client: Any = None, what: str = "labels", n_jobs: int | None = -1, **options: Any
) -> Array:
    r"""Return a model's answers to all rows, in their order.

    Parameters
    ----------
    model : a fitted learner, a pipeline that ends in one, or a calibrated one
        If it was loaded from a file that tells how its data were read, the rows are read in the same way.
    source : path, list of paths, glob, folder; Dask dataframe or Dask array
        As in :func:`fit`.
    client : distributed.Client, address of a scheduler, or None
        Who works; None is `n_jobs` threads of this process.
    what : "labels", "scores" or "probabilities", default="labels"
        What is asked: `predict`, `decision_function` or `predict_proba`.
    n_jobs : int or None, default=-1
        Threads, where there is no client.
    **options
        Those of :func:`linsep.read` and of the format.

    Returns
    -------
    array
        (rows,), or (rows, classes) where each class has a score.

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
    found = list(answers(model, source, client=client, what=what, n_jobs=n_jobs, **options))
    return np.concatenate(found) if found else work.no_answers(model, what)


def answers(
    model: Any, source: Any, *, client: Any = None, what: str = "labels", n_jobs: int | None = -1, **options: Any
) -> Iterator[Array]:
    """Yield a model's answers part by part, as they come; parameters as in :func:`predict`."""
    if what not in WHAT:
        raise ValueError(f"what={what!r}: it is one of {', '.join(WHAT)}")
    if what == "probabilities" and not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} has no probabilities: calibrate it, or take its scores")
    with _asked(model, source, None, client, n_jobs, options) as (_, engine, tasks, reading):
        yield from engine.each(work.answer, tasks, work.Question(reading, model, what))


def evaluate(
    model: Any, source: Any, y: Any = None, *, client: Any = None, n_jobs: int | None = -1, **options: Any
) -> Scores:
    r"""Return how well a model's answers agree with the labels of all rows.

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
    with _asked(model, source, y, client, n_jobs, options) as (plan, engine, tasks, reading):
        if not plan.labelled:
            raise TypeError("a Dask array has no labels in it: give them as y")
        scoring = Scoring(model.classes_)
        for part in engine.each(work.judge, tasks, work.Question(reading, model)):
            scoring.plus(part)
    return scoring.result()


@contextmanager
def _asked(
    model: Any, source: Any, y: Any, client: Any, n_jobs: int | None, options: dict[str, Any]
) -> Iterator[tuple[Any, Engine, Sequence[work.Task], Any]]:
    """Give where the rows come from, who answers, the parts, and how they are read."""
    if getattr(model, "form_", None) is not None:
        options = {"like": model, **options}
    with engine_of(client, n_jobs) as engine:
        plan = plan_of(source, y, options, engine)
        tasks = tasks_of(plan, engine)
        yield plan, engine, tasks, plan.reading


def tasks_of(plan: Any, engine: Engine) -> Sequence[work.Task]:
    """Return the parts to be answered, once it is settled how they are read."""
    tasks: Sequence[work.Task] = plan.tasks()
    if not plan.settled:
        plan.settle(list(engine.each(work.scan, tasks, plan.reading)))
    return tasks
