"""All that naive Bayes keeps of the rows so far, whatever its kind."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.naive_bayes.counts import Moments, count, empty_table, merged, moments, weight_of
from linsep.solvers.naive_bayes.rows import present
from linsep.solvers.naive_bayes.weights import TOO_LARGE, Found, bernoulli, categorical, gaussian, multinomial

KINDS = ("multinomial", "bernoulli", "categorical", "gaussian")
MOST = 2.0**960
"""Sums of counts are below: weights are made of products of pairs of float64, which want some room above it."""
NONE = np.empty((0, 0))
NO_GROUPS = np.empty(0, np.int64)


class Tally(NamedTuple):
    """The counts of each class; more rows give another tally, and change nothing in this one.

    Examples
    --------
    >>> rows, codes = Dense(np.array([[2.0, 0.0], [1.0, 3.0]]), 1.0), np.array([0, 1], np.int32)
    >>> tally = Tally.start("multinomial", classes=2, features=2).plus(rows, codes, np.empty(0))
    >>> tally.feature_count, tally.admitted(np.array([1])).class_count
    (array([[2., 0.],
           [1., 3.]]), array([1., 0., 1.]))
    """

    kind: str
    class_count: Array
    """(classes,): rows, or the sum of their weights."""
    feature_count: Array = NONE
    """(classes, features): the sum of each feature, or the rows where it is present; not for "gaussian"."""
    mean: Array = NONE
    """(classes, features), for "gaussian"."""
    squares: Array = NONE
    """(classes, features), for "gaussian": of deviations from the mean."""
    groups: Array = NO_GROUPS
    """(features,), for "categorical": the variable of each column, 0 and up."""
    binarize: float = 0.0
    """For "bernoulli": what an entry must exceed to be present."""

    @classmethod
    def start(cls, kind: str, classes: int, features: int, groups: Array = NO_GROUPS, binarize: float = 0.0) -> "Tally":
        """Return the tally of no rows."""
        tables = ("mean", "squares") if kind == "gaussian" else ("feature_count",)
        zeros = {name: empty_table(classes, features) for name in tables}
        return cls(kind, np.zeros(classes), **zeros, groups=groups, binarize=binarize)

    def plus(self, data: Dense | Csr, codes: Array, row_weights: Array) -> "Tally":
        """Return the tally of these rows too; no row may store a column twice, unless it is of counts."""
        classes = len(self.class_count)
        if self.kind == "gaussian":
            mine = Moments(self.class_count, self.mean, self.squares)
            weight, mean, squares = merged(mine, moments(data, codes, row_weights, classes))
            return self._replace(class_count=weight, mean=mean, squares=squares)
        before = self.feature_count
        table = np.array(before, order="F") if self.class_count.any() else empty_table(*before.shape)
        parts = present(data, self.binarize) if self.kind == "bernoulli" else [(slice(None), data)]
        with np.errstate(over="ignore"):
            for rows, part in parts:
                count(part, codes[rows], row_weights[rows], classes, table=table)
        weight = self.class_count + weight_of(codes, row_weights, classes)
        return self._replace(class_count=weight, feature_count=table)._in_range()

    def joined(self, other: "Tally") -> "Tally":
        """Return the tally of the rows of both, which have the same classes and features."""
        if self.kind == "gaussian":
            parts = (Moments(tally.class_count, tally.mean, tally.squares) for tally in (self, other))
            weight, mean, squares = merged(*parts)
            return self._replace(class_count=weight, mean=mean, squares=squares)
        with np.errstate(over="ignore"):
            counts = np.asfortranarray(self.feature_count + other.feature_count)
        return self._replace(class_count=self.class_count + other.class_count, feature_count=counts)._in_range()

    def _in_range(self) -> Self:
        """Return the tally, if the sums of its counts are in range; else raise a ValueError."""
        with np.errstate(over="ignore"):
            totals = self.feature_count.sum(axis=1)
        if not np.all(totals + self.class_count < MOST):
            raise ValueError(TOO_LARGE)
        return self

    def admitted(self, places: Array) -> "Tally":
        """Return the tally with new classes, without rows so far, before those at these places."""
        tables = {name: table for name, table in self._asdict().items() if name in PER_CLASS and table.size}
        return self._replace(**{name: np.insert(table, places, 0.0, axis=0) for name, table in tables.items()})

    def widened(self, more: int) -> "Tally":
        """Return the tally with more features, which were 0 in all rows so far."""
        tables = {name: table for name, table in self._asdict().items() if name in TABLES and table.size}
        wide = {name: np.pad(table, ((0, 0), (0, more))) for name, table in tables.items()}
        fields: dict[str, Any] = {name: np.asfortranarray(table) for name, table in wide.items()}
        return self._replace(**fields)

    def found(self, priors: Array, smoothing: float, floor: float, labels: Sequence[Any]) -> Found:
        """Return the weights."""
        counts = self.feature_count
        if self.kind == "gaussian":
            return gaussian(Moments(self.class_count, self.mean, self.squares), priors, floor, labels)
        if self.kind == "bernoulli":
            return bernoulli(self.class_count, counts, priors, smoothing, labels)
        if self.kind == "categorical":
            return categorical(counts, self.groups, priors, smoothing, labels)
        return multinomial(counts, priors, smoothing, labels)

    def refuse_unsound(self, classes: int, features: int) -> Self:
        """Raise a ValueError when these can't be the counts of so many classes and features."""
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r:.40} is no kind of naive Bayes")
        like = self.start(self.kind, classes, features, np.zeros(features if self.kind == "categorical" else 0, int))
        for name in (*PER_CLASS, "groups"):
            table, wanted = getattr(self, name), getattr(like, name)
            if not isinstance(table, np.ndarray) or table.shape != wanted.shape or table.dtype != wanted.dtype:
                raise ValueError(f"{name} is not an array of {wanted.dtype} of shape {wanted.shape}")
            if not np.isfinite(table).all() or (name != "mean" and (table < 0).any()):
                raise ValueError(f"{name} has a number that no count can be")
        if len(self.groups) and self.groups.max() >= features:
            raise ValueError("groups has the number of a variable that can't exist")
        if type(self.binarize) is not float or not 0 <= self.binarize < np.inf:
            raise ValueError(f"binarize is {self.binarize!r:.40}")
        return self


TABLES = ("feature_count", "mean", "squares")
PER_CLASS = ("class_count", *TABLES)
