"""Freund and Schapire's study of digits: voted perceptrons of several degrees, read in seven ways as epochs go by."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from linsep.cli.jobs.training import fit_quietly
from linsep.demo.data_sets import DataSet
from linsep.engine.arrays import Array
from linsep.estimators.kernel_perceptron import KernelPerceptron
from linsep.estimators.voted_perceptron import VotedPerceptron
from linsep.training.state import TrainingState, TrainingWatch

Method = tuple[str, bool]
"""A readout, and whether each of the weight vectors is divided by its norm first."""
METHODS: tuple[Method, ...] = (
    ("vote", False), ("average", False), ("average", True), ("last", False), ("last", True), ("random", False),
    ("random", True),
)  # fmt: skip
"""The study's seven; a vote is the same with norms and without."""
EPOCHS = (0.1, 1.0, 2.0, 3.0, 4.0)
MORE_EPOCHS = (*EPOCHS, 10.0)
"""Epochs after which the methods are compared; degree 1, which gains longest, has one more."""
CACHE = 4_000.0
"""Megabytes of kernel values that are kept from epoch to epoch, at most."""
DEGREES = (1, 2, 3)
QUICK = (0.1, 1.0, 2.0)
"""Epochs of the demo's quick form."""
ABOUT = (
    "A run passes through many hypotheses. Which should predict: all of them in a vote, their average, the last, or "
    "one at random? All readouts of a degree d come from one run: T epochs of perceptrons with the kernel (1 + x.y)^d, "
    "on the digits' raw pixels. Their test errors:"
)
Tell = Callable[[str, float], None]
"""Called with the current step and the share of a run that is done."""


class Split(NamedTuple):
    """Training rows and test rows, with pixels as they are stored."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array


class StudyRun(NamedTuple):
    """A run of ten binary classifiers, and its results after some numbers of epochs."""

    degree: int
    seed: int
    epochs: tuple[float, ...]
    errors: dict[Method, Array]
    """The share of test rows that a method gets wrong."""
    mistakes: Array
    """Of all classifiers together."""
    support: Array
    """Rows that at least one classifier was wrong about, each counted once."""
    learning: float
    reading: float
    """Seconds that the training took, and all predictions for the test rows together."""


def small_digits(seed: int = 0) -> Split:
    """Return the digits that come with scikit-learn, 8 x 8 pixels from 0 to 16, a quarter of them set aside.

    >>> [len(part) for part in small_digits()]
    [1347, 1347, 450, 450]
    """
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    return Split(X, y, X_test, y_test)


def epochs_of(degree: int) -> tuple[float, ...]:
    """Return the epochs after which a degree's methods are compared.

    >>> epochs_of(1)[-1], epochs_of(2)[-1]
    (10.0, 4.0)
    """
    return MORE_EPOCHS if degree == 1 else EPOCHS


def study(
    data: Split,
    degrees: Sequence[int] = (1, 2, 3),
    epochs: Sequence[float] | None = None,
    seeds: Sequence[int] = (0,),
    tell: Tell | None = None,
    n_jobs: int | None = None,
) -> Iterator[StudyRun]:
    """Run every degree with every seed, one after the other.

    Parameters
    ----------
    data : Split
        The digits, or any rows of three classes or more.
    degrees : sequence of int, default=(1, 2, 3)
        The degrees d of the kernel (1 + x.y)^d.
    epochs : sequence of float, optional
        Epochs after which to compare, rising; by default those of :func:`epochs_of`.
    seeds : sequence of int, default=(0,)
        Each is one permutation of the rows, which all epochs share.
    tell : callable, optional
        Called with the current step and the share of the work that is done.
    n_jobs : int, optional
        Threads; they change no number.

    Examples
    --------
    >>> (run,) = study(small_digits(), degrees=[2], epochs=[1])
    >>> bool(run.errors["vote", False][0] < run.errors["random", False][0])
    True
    """
    wanted = [(degree, seed) for degree in degrees for seed in seeds]
    for k, (degree, seed) in enumerate(wanted):

        def report(what: str, share: float, k: int = k, degree: int = degree, seed: int = seed) -> None:
            if tell is not None:
                which = f", seed {seed}" if len(seeds) > 1 else ""
                tell(f"degree {degree}{which}: {what}", (k + share) / len(wanted))

        yield one_run(data, degree, tuple(epochs or epochs_of(degree)), seed, report, n_jobs)


def one_run(data: Split, degree: int, epochs: tuple[float, ...], seed: int, tell: Tell, n_jobs: int | None) -> StudyRun:
    """Train ten binary classifiers once, and predict after each number of epochs."""
    rows = len(data.y)
    rounds = rounds_of(epochs, rows)
    clf = classifiers(degree, seed, n_jobs)
    began = perf_counter()
    tell("learning", 0.0)
    with clf._watched(_watch(tell, rounds[-1])):
        learn(clf, data.X, data.y, ceil(rounds[-1] / rows))
    learned = perf_counter()
    tell("reading", 0.5)
    readings = clf.readings(data.X_test, rounds=rounds)
    wrong = {method: np.mean(readings.predict(*method) != data.y_test, axis=1) for method in METHODS}
    tell("done", 1.0)
    return StudyRun(
        degree, seed, epochs, wrong, readings.mistakes, readings.support, learned - began, perf_counter() - learned
    )


def rounds_of(epochs: Sequence[float], rows: int) -> list[int]:
    """Return how many rounds so many epochs are.

    >>> rounds_of([0.1, 1, 4], 60_000)
    [6000, 60000, 240000]
    """
    rounds = [round(number * rows) for number in epochs]
    if not rounds or rounds[0] < 1 or any(b <= a for a, b in pairwise(rounds)):
        raise ValueError(f"epochs={list(epochs)}: give numbers that rise, the first of {1 / rows:g} or more")
    return rounds


def classifiers(degree: int, seed: int, n_jobs: int | None) -> VotedPerceptron | KernelPerceptron:
    """Return a classifier for each class with the kernel (1 + x.y)^degree; of degree 1 without a kernel."""
    shared: dict[str, Any] = {"multi_class": "ovr", "shuffle": "once", "random_state": seed, "n_jobs": n_jobs}
    if degree == 1:
        return VotedPerceptron(fit_intercept=True, intercept_scaling=1.0, **shared)
    return KernelPerceptron(kernel="poly", degree=degree, gamma=1.0, coef0=1.0, cache_size=CACHE, **shared)


def learn(clf: VotedPerceptron | KernelPerceptron, X: Any, y: Array, epochs: int) -> None:
    """Train for that many epochs, also after the last mistake: hypotheses that predict rightly still collect votes."""
    clf.set_params(max_iter=epochs, warm_start=False)
    fit_quietly(clf, X, y)
    clf.set_params(warm_start=True)
    while clf.t_ < epochs * len(y):
        fit_quietly(clf, X, y)


def _watch(tell: Tell, rounds: int) -> TrainingWatch:
    def watch(state: TrainingState) -> int:
        tell("learning", 0.5 * min(1.0, int(state.tally.rounds[0]) / rounds))
        return max(1, rounds // 200)

    return watch


def mean_errors(runs: Sequence[StudyRun], method: Method) -> Array:
    """Return a method's errors, averaged over runs that differ in their seeds alone."""
    return np.mean([run.errors[method] for run in runs], axis=0)


def by_degree(runs: Sequence[StudyRun]) -> dict[int, list[StudyRun]]:
    """Return runs by their degree."""
    return {degree: [run for run in runs if run.degree == degree] for degree in sorted({run.degree for run in runs})}


def read_digits(data: DataSet, seed: int, quick: bool) -> list[StudyRun]:
    """Run the small form of the study on the demo's digits, with their pixels as they were."""
    split = Split(data.factor * data.X, data.y, data.factor * data.X_test, data.y_test)
    return list(study(split, DEGREES, QUICK if quick else None, [seed]))
