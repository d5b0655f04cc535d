"""Learners side by side: the same training rows, the same to be judged by."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.cli.errors import UsageError, explain
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.options.common import learner_from
from linsep.cli.options.learners import LEFT_OUT, option, owners
from linsep.cli.terminal.progress import LearnerReport
from linsep.data.dataset import Dataset
from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.registry import LEARNERS
from linsep.evaluation.scoring import Scores, Scoring
from linsep.validation.errors import InvalidDataError


class Attempt(NamedTuple):
    """The results of a learner; `why` is the reason if it failed, and all else is None then.

    `settled` is false where it ran out of epochs while still making mistakes, or of steps on its way. Learners that see
    all rows at once make no mistakes that are counted; their rows per second are those of the data.
    """

    name: str
    error: float | None = None
    scores: Scores | None = None
    mistakes: int | None = None
    updates: int | None = None
    epochs: int | None = None
    seconds: float | None = None
    rows_per_second: float | None = None
    settled: bool | None = None
    why: str | None = None


@dataclass(frozen=True)
class Contest:
    """Training rows and test rows."""

    train: Dataset
    test: Dataset

    @classmethod
    def of(cls, data: Dataset, test: Dataset | None, holdout: float, seed: int) -> "Contest":
        """Return all rows and others to be judged by, or a part of the rows set aside for that."""
        rows = rows_with_labels(data)
        if test is not None:
            return cls(rows, rows_with_labels(test))
        aside = set_aside(rows.y, holdout, seed)
        return cls(rows.some(np.flatnonzero(~aside)), rows.some(np.flatnonzero(aside)))

    def map_features(self, maps: list[Any]) -> "Contest":
        """Return the rows with other features, by maps fitted on the training rows."""
        train, test = self.train, self.test
        for step in maps:
            train = replace(train, X=step.fit_transform(train.X))
            test = replace(test, X=step.transform(test.X))
        return Contest(train, test)

    @property
    def classes(self) -> Array:
        """The labels of the training rows."""
        return np.unique(self.train.y)

    def attempts(
        self, names: list[str], parameters: dict[str, Any], tell: LearnerReport, time_limit: float | None = None
    ) -> Iterator[Attempt]:  # fmt: skip
        """Try learners one after the other, each with those parameters that it has, while there is time."""
        refuse_foreign(parameters, names)
        began = perf_counter()
        for name in names:
            tell.begin(name)
            own = {key: value for key, value in parameters.items() if key in LEFT_OUT or name in owners(key)}
            if time_limit is not None:
                left = time_limit - (perf_counter() - began)
                if left <= 0:
                    tell.ready()
                    yield Attempt(name, why=f"--time-limit {time_limit:g} was over before it began")
                    continue
                own |= {"time_limit": left} if name in owners("time_limit") else {}
            try:
                yield self._attempt(name, own, tell)
            except ValueError as error:
                found = explain(error)
                if found is None:
                    raise
                tell.ready()
                yield Attempt(name, why=found[1])

    def _attempt(self, name: str, parameters: dict[str, Any], tell: LearnerReport) -> Attempt:
        few = self.train.some(np.unique(self.train.y, return_index=True)[1])
        once = {"max_iter": 1} if LEARNERS[name].online else {}
        first = learner_from(name, parameters | once)
        fit_quietly(first, few.X, few.y, few.weights)
        first.predict(few.X)
        tell.ready()
        learner, began = learner_from(name, parameters), perf_counter()
        settled = fit_quietly(learner, self.train.X, self.train.y, self.train.weights)
        took = perf_counter() - began
        scores = Scoring(learner.classes_).add(self.test.y, learner.predict(self.test.X)).result()
        mistakes, updates, rounds = None, None, len(self.train.y)
        if isinstance(learner, OnlineLearner) and learner.t_:
            mistakes, updates, rounds = int(np.sum(learner.mistakes_)), int(np.sum(learner.updates_)), learner.t_
        return Attempt(name, scores.error, scores, mistakes, updates, learner.n_iter_, took, rounds / took, settled)


def refuse_foreign(parameters: dict[str, Any], names: list[str]) -> None:
    """Refuse a parameter that none of the learners has."""
    for parameter in parameters:
        if parameter not in LEFT_OUT and not set(owners(parameter)) & set(names):
            having = ", ".join(owners(parameter))
            raise UsageError(f"none of these learners has {option(parameter)}; it is an option of {having}")


def rank(attempts: list[Attempt]) -> list[Attempt]:
    """Return the attempts by error, then by time; those that failed come last."""
    return sorted(attempts, key=lambda a: (a.error is None, a.error or 0.0, a.seconds or 0.0))


def choose_learners(names: tuple[str, ...]) -> list[str]:
    """Return the learners that were named, each once; all of the table if none was, but those for small data."""
    return list(dict.fromkeys(names or (name for name, entry in LEARNERS.items() if not entry.small)))


def rows_with_labels(data: Dataset) -> Dataset:
    """Return the rows that have a label."""
    rows = data
    if data.y.dtype.kind == "f" and np.isnan(data.y).any():
        rows = data.some(np.flatnonzero(~np.isnan(data.y)))
    if not len(rows):
        raise InvalidDataError("there is no row with a label")
    return rows


def set_aside(y: Array, share: float, seed: int) -> Array:
    """Return which rows to set aside: that share of each class, as nearly as it can be.

    >>> aside = set_aside(np.repeat([0, 1], [80, 20]), 0.25, seed=0)
    >>> int(aside[:80].sum()), int(aside[80:].sum())
    (20, 5)
    """
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    counted = np.floor(np.arange(len(y) + 1) * share + 1e-9)
    aside = np.zeros(len(y), bool)
    aside[order[np.diff(counted) > 0]] = True
    if not aside.any() or aside.all():
        raise InvalidDataError(f"{len(y):,} rows are too few to set a share of {share:g} aside")
    return aside
