"""Several classes: one binary classifier a class against the rest, or one for all ("joint"), for every online learner.

    python -m benchmarks.joint [--rows 3000] [--orders 3] [--seconds 600] [--epochs 10]

Each set is cut to at most `--rows` rows to learn from and as many to be judged by, drawn anew for each order. A figure
is the test error in per cent with the learner's defaults, the mean over the orders; a time is processor time. Winnow
gets entries divided by their largest size. Real sets are those of LINSEP_DATA; without it they are skipped.
"""

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Annotated, NamedTuple

import numpy as np
import typer
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_classification

from benchmarks import data
from benchmarks.bias import Set, both, npz, standardized
from benchmarks.data import DataMissing
from benchmarks.timing import clock
from linsep.estimators.registry import LEARNERS

WAYS = ("ovr", "joint")
BOUNDED = ("winnow", "balanced-winnow")
"""Learners of entries up to 1."""


def letters() -> Set:
    """Return 26 classes in 16 dimensions, two clusters each."""
    X, y = make_classification(
        8000, 16, n_informative=14, n_redundant=0, n_classes=26, n_clusters_per_class=2, class_sep=2.5, random_state=0
    )
    return standardized(X, y)


def satellite() -> Set:
    """Return 6 classes of unequal sizes in 36 dimensions, whose clusters overlap."""
    X, y = make_classification(
        6400, 36, n_informative=12, n_redundant=20, n_classes=6, n_clusters_per_class=1, class_sep=1.2,
        weights=[0.24, 0.11, 0.21, 0.1, 0.11, 0.23], random_state=1,
    )  # fmt: skip
    return standardized(X, y)


def blobs() -> Set:
    """Return 12 round clusters in 3 dimensions, a class each: most classes lie between others."""
    X, y = make_blobs(6000, 3, centers=12, cluster_std=1.5, random_state=2)
    return standardized(X, y)


def mnist() -> Set:
    """Return the rows of MNIST to be judged by."""
    split = data.mnist()
    return Set(split.X_test, split.y_test)


SETS: dict[str, Callable[[], Set]] = {
    "iris": lambda: standardized(*load_iris(return_X_y=True)),
    "digits": lambda: Set(*load_digits(return_X_y=True)),
    "wine, standardized": lambda: standardized(*load_wine(return_X_y=True)),
    "26 letters, generated": letters,
    "satellite, generated": satellite,
    "12 blobs, generated": blobs,
    "MNIST, 0 to 1": mnist,
    "USPS": lambda: npz("usps", "train", "test"),
    "covtype, standardized": lambda: standardized(*npz("covtype", "all")),
    "covtype, columns to 1": lambda: both(data.covtype()),
    "20newsgroups, tf-idf": lambda: both(data.newsgroups()),
    "20newsgroups, counts": lambda: both(data.newsgroups_counted()),
}


class Trial(NamedTuple):
    """Error and seconds of both ways, the means over the orders."""

    errors: tuple[float, ...]
    seconds: tuple[float, ...]


def tried(name: str, rows: Set, most: int, epochs: int, orders: int, stop: float) -> Trial:
    """Return the errors of a learner on a set."""
    found = []
    for seed in range(orders):
        if found and perf_counter() > stop:
            break
        order = np.random.default_rng(seed).permutation(len(rows.y))
        n = min(most, 2 * len(order) // 3)
        train, test = order[:n], order[n : 2 * n]
        X, y, X_test, y_test = rows.X[train], rows.y[train], rows.X[test], rows.y[test]
        if name in BOUNDED:
            largest = float(abs(X).max())
            X, X_test = X / largest, X_test / largest
        for way in WAYS:
            clf = LEARNERS[name].make_online(multi_class=way, max_iter=epochs, random_state=seed)
            if name == "logistic-regression":
                clf.set_params(solver="sgd", readout="average")
            if name in BOUNDED:
                clf.set_params(x_max=None)
            if len(found) < len(WAYS):
                clone(clf).set_params(max_iter=1).fit(X[:200], y[:200])  # compiled, where it is not yet
            spent, _ = clock(partial(clf.fit, X, y), process_time)
            found.append((100 * (1 - clf.score(X_test, y_test)), spent))
    table = np.array(found).reshape(-1, len(WAYS), 2).mean(axis=0)
    return Trial(tuple(table[:, 0].tolist()), tuple(table[:, 1].tolist()))


def run(
    rows: Annotated[int, typer.Option(help="The most rows to learn from.")] = 3000,
    orders: Annotated[int, typer.Option(help="The orders of each set.")] = 3,
    epochs: Annotated[int, typer.Option(help="The epochs.")] = 10,
    seconds: Annotated[float, typer.Option(help="When to stop drawing orders.")] = 600,
    learner: Annotated[list[str] | None, typer.Option(help="A learner. Default: all online learners.")] = None,
) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    names = learner or [name for name, entry in LEARNERS.items() if entry.online and not entry.small]
    trials: dict[str, list[Trial]] = {name: [] for name in names}
    began, works = perf_counter(), len(SETS) * len(names)
    for k, (label, load) in enumerate(SETS.items()):
        try:
            loaded = load()
        except DataMissing as missing:
            print(f"{label}: skipped, {missing}")
            continue
        print(f"{label}, test error in per cent: ovr, joint (difference)")
        for j, name in enumerate(names):
            stop = began + seconds * (k * len(names) + j + 1) / works
            trial = tried(name, loaded, rows, epochs, orders, stop)
            trials[name].append(trial)
            ovr, joint = trial.errors
            print(f"    {name:22s}{ovr:7.2f}{joint:7.2f}  ({joint - ovr:+.2f})", flush=True)
    print("\nlearner, sets where joint is better and worse by 0.1 points, mean and worst difference, time joint / ovr")
    for name, of in trials.items():
        gains = np.array([trial.errors[1] - trial.errors[0] for trial in of])
        ratio = sum(trial.seconds[1] for trial in of) / sum(trial.seconds[0] for trial in of)
        better, worse = int(np.sum(gains < -0.1)), int(np.sum(gains > 0.1))
        print(f"{name:24s}{better:3d}{worse:3d}  {gains.mean():+7.2f}  {gains.max():+7.2f}  {ratio:.2f}")


if __name__ == "__main__":
    typer.run(run)
