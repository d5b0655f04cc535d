"""Candidates side by side: the same training rows, the same test rows.

A candidate is a learner with its parameters and the feature maps before it. `linsep compare` and `linsep tune` try
candidates by :meth:`Contest.attempts`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from linsep.cli.errors import UsageError, explain
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.options.common import learner_from, maps_from
from linsep.cli.options.learners import LEFT_OUT, described, option, owners, parameter_words
from linsep.cli.terminal.progress import LearnerReport
from linsep.data.dataset import Dataset
from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.estimators.registry import LEARNERS
from linsep.evaluation.scoring import Scores, Scoring
from linsep.transforms.scaling import unequal_columns
from linsep.validation.errors import InvalidDataError


@dataclass(frozen=True)
class Candidate:
    """A learner with its parameters, and the maps before it, as options write them.

    `chosen` has the parameters that the command chose; the others were given.
    """

    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    maps: tuple[str, ...] = ()
    chosen: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> list[str]:
        """Choices of the command, as options."""
        return parameter_words(self.chosen, [self.learner])

    @property
    def words(self) -> list[str]:
        """The options that make the command `linsep fit` train this candidate."""
        maps = [word for name in self.maps for word in ("--map", name)]
        return ["--learner", self.learner, *maps, *parameter_words(self.parameters | self.chosen, [self.learner])]

    def make(self, **more: Any) -> Any:
        """Return the learner, with these parameters on top."""
        return learner_from(self.learner, self.parameters | self.chosen | more)


VARIANTS = {
    "logistic-regression": {"solver": ["sgd"]},
    "naive-bayes": {"kind": ["complement", "bernoulli", "gaussian"]},
}
"""Settings that are compared beside the default, by learner."""


class Attempt(NamedTuple):
    """The results of a candidate; `why` is the reason if it failed, and all else is None then.

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
    out_of_time: bool = False
    """True if there was no time to try it."""
    candidate: Candidate | None = None


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
        self, candidates: dict[str, Candidate], tell: LearnerReport, time_limit: float | None = None
    ) -> Iterator[Attempt]:
        """Try candidates one after the other, by the names under which they are shown, while there is time."""
        began = perf_counter()
        mapped: dict[tuple[str, ...], Contest] = {(): self}
        for name, candidate in candidates.items():
            tell.begin(name)
            limit = {}
            if time_limit is not None:
                left = time_limit - (perf_counter() - began)
                if left <= 0:
                    tell.ready()
                    why = f"--time-limit {time_limit:g} was over before it began"
                    yield Attempt(name, why=why, out_of_time=True, candidate=candidate)
                    continue
                limit = {"time_limit": left} if "time_limit" in described(candidate.learner) else {}
            try:
                try:
                    if candidate.maps not in mapped:
                        mapped[candidate.maps] = self.map_features(maps_from(candidate.maps))
                    mapped[candidate.maps]._compile(candidate, limit)
                finally:
                    tell.ready()
                yield mapped[candidate.maps]._attempt(name, candidate, limit)
            except ValueError as error:
                found = explain(error)
                if found is None:
                    raise
                yield Attempt(name, why=found[1], candidate=candidate)

    def _compile(self, candidate: Candidate, limit: dict[str, Any]) -> None:
        """Compile what a candidate runs, so that no compiling is counted in its time."""
        few = self.train.some(np.unique(self.train.y, return_index=True)[1])
        first = candidate.make(**limit, **({"max_iter": 1} if LEARNERS[candidate.learner].online else {}))
        with suppress(ValueError):  # a row of each class may be too few
            fit_quietly(first, few.X, few.y, few.weights)
            first.predict(few.X)

    def _attempt(self, name: str, candidate: Candidate, limit: dict[str, Any]) -> Attempt:
        learner, began = candidate.make(**limit), perf_counter()
        settled = fit_quietly(learner, self.train.X, self.train.y, self.train.weights)
        took = perf_counter() - began
        scores = Scoring(learner.classes_).add(self.test.y, learner.predict(self.test.X)).result()
        mistakes, updates, rounds = None, None, len(self.train.y)
        if isinstance(learner, OnlineLearner) and learner.t_:
            mistakes, updates, rounds = int(np.sum(learner.mistakes_)), int(np.sum(learner.updates_)), learner.t_
        return Attempt(
            name, scores.error, scores, mistakes, updates, learner.n_iter_, took, rounds / took, settled,
            candidate=candidate,
        )  # fmt: skip

    def variants(self, candidates: dict[str, Candidate]) -> dict[str, Candidate]:
        """Return the candidates, and others that differ by one setting that often matters.

        These are the other form of several classes, other solvers and kinds, and standardised columns, where the sizes
        of the columns differ much. What the user has given is not varied.
        """
        found = dict(candidates)
        X = self.train.X
        standardized = all(not of.maps for of in candidates.values()) and unequal_columns(X) is not None
        for name, candidate in candidates.items():
            settings: dict[str, list[str]] = dict(VARIANTS.get(name, {}))
            if len(self.classes) > 2 and "ovr" in getattr(described(name).get("multi_class"), "choices", ()):
                settings["multi_class"] = ["ovr"]
            for parameter, values in settings.items():
                for value in values if parameter not in candidate.parameters else ():
                    found[f"{name}, {value}"] = replace(candidate, chosen={parameter: value})
            if standardized and LEARNERS[name].sizes_matter:
                found[f"{name}, standardize"] = replace(candidate, maps=("standardize",))
        return found


def candidates_of(names: list[str], parameters: dict[str, Any], maps: tuple[str, ...]) -> dict[str, Candidate]:
    """Return a candidate for each learner, with those parameters that it has; refuse one that none has."""
    refuse_foreign(parameters, names)
    return {
        name: Candidate(name, {key: of for key, of in parameters.items() if key in (*LEFT_OUT, *described(name))}, maps)
        for name in names
    }


def refuse_foreign(parameters: dict[str, Any], names: list[str]) -> None:
    """Refuse a parameter that none of the learners has."""
    for parameter in parameters:
        if parameter not in LEFT_OUT and not set(owners(parameter)) & set(names):
            having = ", ".join(owners(parameter))
            raise UsageError(f"none of these learners has {option(parameter)}; it is an option of {having}")


def rank(attempts: list[Attempt]) -> list[Attempt]:
    """Return the attempts by error, then by time; those that failed come last."""
    return sorted(attempts, key=lambda a: (a.error is None, a.error or 0.0, a.seconds or 0.0))


def count_of(attempts: list[Attempt]) -> str:
    """Return how many learners were tried, and how many variants of them.

    >>> count_of([Attempt("romma", candidate=Candidate("romma")), Attempt("romma, ovr", candidate=Candidate("romma"))])
    '1 learner and 1 variant'
    """
    learners = len({attempt.candidate.learner for attempt in attempts if attempt.candidate is not None})
    variants = len(attempts) - learners
    some = f" and {variants} variant{'s' * (variants != 1)}" if variants else ""
    return f"{learners} learner{'s' * (learners != 1)}{some}"


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
