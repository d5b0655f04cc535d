"""Train every online learner of the table on the same rows, and measure it; certify a perceptron's run."""

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np

from linsep.certificates.certificate import Certificate, Result, verify
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.terminal.progress import LearnerReport
from linsep.demo.data_sets import DataSet
from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.perceptron import Perceptron
from linsep.estimators.registry import LEARNERS

ONLINE = {name: entry for name, entry in LEARNERS.items() if entry.online and not entry.small}
"""The learners that are tried: those that go row by row, count their mistakes, and are for data of any size."""
ENOUGH = 0.01
"""Seconds of training after which no further repetition is timed."""
FEWEST = 3
RAN_OUT, LIMITED = "*", "°"
"""The marks of learners that did not settle, and of those that can't fit every data set."""


class Trial(NamedTuple):
    """The results of a learner on a data set.

    `settled` is false where it ran out of epochs while still making mistakes, `limited` true for a learner that states
    of itself that it can't fit every data set.
    """

    name: str
    bound: str
    mistakes: int
    test_error: float
    rows_per_second: float
    settled: bool
    limited: bool

    @property
    def marked(self) -> str:
        """The name, with marks."""
        return self.name + ("" if self.settled else f" {RAN_OUT}") + (f" {LIMITED}" if self.limited else "")


def trials(data: DataSet, seed: int, tell: LearnerReport) -> Iterator[Trial]:
    """Try every learner of the table that can go row by row, so, with its own defaults."""
    for name, entry in ONLINE.items():
        tell.begin(name)
        first = entry.make_online(random_state=seed, max_iter=1)
        fit_quietly(first, data.X, data.y)
        first.predict(data.X_test)
        tell.ready()
        learner = entry.make_online(random_state=seed, max_iter=data.epochs)
        settled, speed = time_fits(learner, data)
        error = 1 - learner.score(data.X_test, data.y_test)
        limited = learner.__sklearn_tags__().classifier_tags.poor_score
        yield Trial(name, entry.bound, int(np.sum(learner.mistakes_)), error, speed, settled, limited)


def time_fits(learner: OnlineLearner, data: DataSet) -> tuple[bool, float]:
    """Fit a few times; return whether it settled, and the rounds per second of the fastest fit."""
    began, fits, best = perf_counter(), 0, np.inf
    while fits < FEWEST or perf_counter() - began < ENOUGH:
        start = perf_counter()
        settled = fit_quietly(learner, data.X, data.y)
        best = min(best, perf_counter() - start)
        fits += 1
    return settled, learner.t_ / best


class CertifiedRun(NamedTuple):
    """Rows of two classes, a perceptron that went over them once, its certificate, and what its check found."""

    X: Array
    y: Array
    perceptron: Perceptron
    certificate: Certificate
    result: Result


def certify_run(data: DataSet) -> CertifiedRun:
    """Certify one pass over a data set, its first class against all others, and check the certificate."""
    y = np.where(data.y == 0, data.labels[0], "other")
    perceptron = Perceptron(max_iter=1, shuffle=False, log=True)
    fit_quietly(perceptron, data.X, y)
    certificate = perceptron.certificate(data.X, y)
    return CertifiedRun(data.X, y, perceptron, certificate, verify(certificate, data.X, y))
