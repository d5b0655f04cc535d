"""From a file of more than 1 GB to a model and to answers, by one and by two: threads, then worker processes.

The rows are the sparse ones of the other groups, all distinct, as svmlight text in a temporary folder; all sides read
it from the system's cache. The wall clock runs, as the work is shared among cores; sides take turns, and the best of
three rounds or more counts. A pair holds only if both sides give the same bits. Clusters start before the clock does.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import linsep
from benchmarks import scale_text
from benchmarks.timing import Line, Row, Skip, race
from linsep import AveragedPerceptron, distributed

SEEDS = 4
"""Of 200,000 rows each, 1.3 GB in all."""
SHARDS, EPOCHS = 8, (1, 10)
GOAL = 1.6
ROOM = 4e9
"""Bytes that must be free on the disk."""


class Pair(NamedTuple):
    """The same work by one and by two."""

    work: str
    by: str
    """threads or workers."""
    epochs: int
    """0 where nothing is learned."""
    rows: int
    """Of the file; each epoch goes over all of them."""
    one: float
    """Seconds by one."""
    two: float
    """Seconds by two."""
    same: bool
    """Whether both gave the same bits."""

    @property
    def ratio(self) -> float:
        """How many times faster two are."""
        return self.one / self.two

    def row(self, note: str = "") -> Row:
        """Return the line of the table."""
        each = f"rows/s: {self.rows / self.two:,.0f} against {self.rows / self.one:,.0f}"
        times = f", {self.epochs} epoch{'s' * (self.epochs > 1)}" if self.epochs else ""
        told = "; ".join(part for part in (each, note, "" if self.same else "NOT the same bits") if part)
        return Row(f"{self.work}{times}, 2 {self.by}", f"1 {self.by[:-1]}", self.two, self.one, GOAL, told, self.same)


def learner(epochs: int, jobs: int = 1) -> AveragedPerceptron:
    """Return what learns."""
    return AveragedPerceptron(shards=SHARDS, max_iter=epochs, random_state=0, n_jobs=jobs, log=False)


def timed(work: str, by: str, epochs: int, rows: int, run: Callable[[int, int], Any], repeats: int) -> Pair:
    """Return what a work, which is told of epochs and of who does it, takes by one and by two."""
    found = race(lambda: run(epochs, 2), lambda: run(epochs, 1), repeats, perf_counter)
    same = np.array_equal(_bits(found.our_result), _bits(found.peer_result))
    return Pair(work, by, epochs, rows, found.peer, found.ours, same)


def _bits(result: Any) -> Any:
    return np.append(result.coef_, result.intercept_) if hasattr(result, "coef_") else result


def by_threads(path: Path, rows: int, repeats: int) -> Iterator[Pair]:
    """Yield the pairs of threads of this process."""

    def fit(epochs: int, jobs: int) -> Any:
        return distributed.fit(learner(epochs, jobs), path)

    yield from (timed("file to model", "threads", epochs, rows, fit, repeats) for epochs in EPOCHS)
    model = fit(1, 2)
    predict = partial(distributed.predict, model, path)
    yield timed("file to labels", "threads", 0, rows, lambda _, jobs: predict(n_jobs=jobs), repeats)
    X, y = linsep.read(path)
    for epochs in EPOCHS:
        yield timed(
            "fit(X, y) in memory",
            "threads",
            epochs,
            rows,
            lambda epochs, jobs: learner(epochs, jobs).fit(X, y),
            repeats,
        )


def by_workers(path: Path, rows: int, repeats: int, clients: dict[int, Any]) -> Iterator[Pair]:
    """Yield the pairs of worker processes."""

    def fit(epochs: int, count: int) -> Any:
        return distributed.fit(learner(epochs), path, client=clients[count])

    yield from (timed("file to model", "workers", epochs, rows, fit, repeats) for epochs in EPOCHS)
    model = fit(1, 2)
    yield timed(
        "file to labels",
        "workers",
        0,
        rows,
        lambda _, count: distributed.predict(model, path, client=clients[count]),
        repeats,
    )


class Speed(NamedTuple):
    """All that was timed, and what rows take."""

    pairs: list[Pair]
    bytes: int
    """Of the file."""
    kept: int
    """Bytes that its rows take in memory."""
    start: float
    """Seconds in which a cluster of two workers and one of one start, which is not counted in any pair."""


def lines(repeats: int, seeds: int = SEEDS, rows: int = scale_text.ROWS) -> Iterator[Line | Speed]:
    """Yield the rows of the table, and at last all that they are made of."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < ROOM:
        why = f"{free / 1e9:.1f} GB are free where temporary files go, and {ROOM / 1e9:.0f} are needed"
        yield Skip("file to model, 1 GB and more", why)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        count = scale_text.write(path, seeds, rows)
        size = path.stat().st_size
        pairs = []
        for pair in by_threads(path, count, repeats):
            pairs.append(pair)
            yield pair.row(f"{size / 1e9:.1f} GB")
        began = perf_counter()
        with distributed.local_workers(2) as two, distributed.local_workers(1) as one:
            start = perf_counter() - began
            for pair in by_workers(path, count, repeats, {1: one, 2: two}):
                pairs.append(pair)
                yield pair.row(f"{size / 1e9:.1f} GB")
        X, _ = linsep.read(path)
        yield Speed(pairs, size, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, start)
