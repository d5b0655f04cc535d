"""Accuracy by epoch of serial training, of shards mixed once, and of shards mixed after every epoch.

Serial: one machine over all rows. One-shot: eight shards, each trained alone for all epochs, mixed once (`merge`).
Iterative: eight shards that are cut anew and mixed after every epoch, `fit` with shards=8; and the same with shards
that keep their rows, as ranges of files do, by `distributed.fit`. Errors are those on test rows; MNIST and 20newsgroups
come with theirs, of covtype a fifth is drawn.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import linsep
from benchmarks import data
from benchmarks.data import Array, Split
from benchmarks.timing import Row
from linsep import AveragedPerceptron, PassiveAggressive, Perceptron, distributed
from linsep.data.npz.writer import Writer
from linsep.engine.runtime import split as ranges

SHARDS, EPOCHS, SEEDS = 8, 10, (0, 1, 2, 3, 4)
SETS: dict[str, Callable[[], Split]] = {
    "MNIST": data.mnist,
    "20newsgroups, tf-idf": data.newsgroups,
    "covtype": data.covtype,
    "20newsgroups, counts": data.newsgroups_counted,
}
KINDS: dict[str, Any] = {
    "averaged perceptron": AveragedPerceptron,
    "perceptron": Perceptron,
    "passive-aggressive, pairs": partial(PassiveAggressive, multi_class="joint"),
}
BEHIND = (
    ("20newsgroups, tf-idf", "passive-aggressive, pairs"),
    ("20newsgroups, counts", "averaged perceptron"),
    ("20newsgroups, counts", "perceptron"),
)
"""Sets and learners for which ten epochs of mixing were not enough, as the page says."""
METHODS = ("serial", "one-shot", "iterative", "iterative, files")
MANY, LATE = (0, 2, 8, 32), (10, 30)
"""Numbers of shards, and of epochs, to be compared."""
POINTS = 0.3
"""How much less accurate than serial training iterative mixing may be after all epochs, in points."""


class Run(NamedTuple):
    """Shares of test rows that are answered right after each epoch, by method."""

    set: str
    learner: str
    seed: int
    accuracy: dict[str, list[float]]


def runs(sets: Sequence[str] = tuple(SETS), seeds: Sequence[int] = SEEDS, epochs: int = EPOCHS) -> Iterator[Run]:
    """Yield a run for every set, learner and seed."""
    for name in sets:
        found = SETS[name]()
        for learner in KINDS:
            for seed in seeds:
                yield Run(name, learner, seed, compared(found, KINDS[learner], seed, epochs))


def compared(found: Split, kind: Any, seed: int, epochs: int = EPOCHS, shards: int = SHARDS) -> dict[str, list[float]]:
    """Return the accuracy of each method after each epoch."""

    def made(**more: Any) -> Any:
        return kind(max_iter=1, warm_start=True, random_state=seed, n_jobs=2, log=False, **more)

    order = np.random.default_rng(seed).permutation(len(found.y))
    cuts = [order[begin:end] for begin, end in ranges(len(order), shards)]
    return {
        "serial": [scored(model, found) for model in epoch_by_epoch(made(), found.X, found.y, epochs)],
        "one-shot": once(made, [(found.X[cut], found.y[cut]) for cut in cuts], found, epochs),
        "iterative": [scored(model, found) for model in epoch_by_epoch(made(shards=shards), found.X, found.y, epochs)],
        "iterative, files": from_file(kind, seed, found, order, epochs, shards),
    }


class ByShards(NamedTuple):
    """The share of test rows that an averaged perceptron answers right after some epochs; no shards is serial."""

    set: str
    shards: int
    seed: int
    accuracy: list[float]
    """After each of `LATE` epochs."""


def by_shards(name: str, seeds: Sequence[int] = SEEDS[:3]) -> Iterator[ByShards]:
    """Yield the accuracy for several numbers of shards."""
    found = SETS[name]()
    for shards in MANY:
        for seed in seeds:
            model = AveragedPerceptron(
                max_iter=1, warm_start=True, random_state=seed, n_jobs=2, log=False, shards=shards or None
            )
            walk = enumerate(epoch_by_epoch(model, found.X, found.y, LATE[-1]), 1)
            yield ByShards(name, shards, seed, [scored(after, found) for epoch, after in walk if epoch in LATE])


def epoch_by_epoch(model: Any, X: Any, y: Any, epochs: int) -> Iterator[Any]:
    """Yield a model after each epoch; after one without a mistake it stays as it is."""
    made, rests = 0, False
    for _ in range(epochs):
        if not rests:
            before, made = made, int(np.sum(model.fit(X, y).mistakes_))
            rests = made == before
        yield model


def once(made: Callable[[], Any], parts: Sequence[tuple[Any, Any]], found: Split, epochs: int) -> list[float]:
    """Return the accuracy of the mix of models that were trained on parts, each alone, for 1, 2, ... epochs."""
    alone = [epoch_by_epoch(made(), X, y, epochs) for X, y in parts]
    even = [1.0] * len(parts)
    return [scored(linsep.merge(models, weights=even), found) for models in zip(*alone, strict=True)]


def from_file(kind: Any, seed: int, found: Split, order: Any, epochs: int, shards: int) -> list[float]:
    """Return the accuracy of shards of a file, which keep their rows; training goes on from a checkpoint."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        with Writer(path) as writer:
            writer.write(found.X[order], found.y[order])
        shared: dict[str, Any] = {"shards": shards, "random_state": seed, "n_jobs": 2, "log": False}
        models = (
            distributed.fit(
                kind(**shared), path, epochs=count, checkpoint=Path(folder) / "run.linsep", dtype=found.X.dtype
            )
            for count in range(1, epochs + 1)
        )
        return [scored(model, found) for model in models]


def scored(model: Any, found: Split) -> float:
    """Return the share of test rows that are answered right."""
    return float(model.score(found.X_test, found.y_test))


def mean(found: Sequence[Run], method: str) -> Array:
    """Return the mean accuracy of runs after each epoch."""
    return np.asarray(np.mean([run.accuracy[method] for run in found], axis=0))


def grouped(found: Sequence[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return runs by set and learner."""
    keys = dict.fromkeys((run.set, run.learner) for run in found)
    return {key: [run for run in found if (run.set, run.learner) == key] for key in keys}


def row(found: Sequence[Run], method: str) -> Row:
    """Return the line of the table: the mean test error of a method beside that of serial training."""
    name, learner, _, _ = found[0]
    ours, peer = (100 * (1 - float(mean(found, which)[-1])) for which in (method, "serial"))
    each = ", ".join(
        f"{100 * (1 - run.accuracy[method][-1]):.2f} ({100 * (1 - run.accuracy['serial'][-1]):.2f})" for run in found
    )
    work = f"{name}, {learner}, {method}, test error"
    return Row(work, "serial", ours, peer, peer / (peer + POINTS), f"seeds: {each}", unit="%")
