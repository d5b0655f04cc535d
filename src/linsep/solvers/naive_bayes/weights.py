"""Naive Bayes: the weights that follow from the counts of each class.

The product of a class's prior and its features' probabilities is largest where the sum of their logarithms is, which is
linear in counts, in presence, in one-hot columns, and, where the classes share a feature's variance, in its value:

    multinomial   w_cj = ln p_cj                      b_c = ln prior_c
    categorical   the same, p_c summing to 1 over the columns of each variable
    bernoulli     w_cj = ln p_cj / (1 - p_cj)         b_c = ln prior_c + sum of ln(1 - p_cj)
    gaussian      w_cj = (m_cj - m_j) / v_j           b_c = ln prior_c - sum of (m_cj² - m_j²) / (2 v_j)
    complement    w_cj = -ln q_cj                     b_c = 0

q_c is p of the rows of all classes but c: a class with few rows is known by many (Rennie, Shih, Teevan and Karger,
2003, "Tackling the poor assumptions of naive Bayes text classifiers"). m_j, the mean of all rows, drops out of every
comparison of classes. Two classes have one column, the second's less the first's, taken as the logarithm of one
quotient, which is known to twice the bits of a float: where two probabilities are equal, the weight is 0 and not nearly
0, and a weight is off by its own last bit alone.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.naive_bayes.counts import Moments, count, empty_table, merge_moments, moments, weight_of
from linsep.solvers.naive_bayes.precision import Pair, added, log_quotient, plus, product, sums
from linsep.solvers.naive_bayes.rows import present
from linsep.validation.errors import InvalidDataError

EPS = float(np.finfo(float).eps)
TOO_LARGE = "the counts are too large for float64: divide all of X by one factor"
AT_ONCE = 1 << 11
"""Features whose logarithms are taken in one go, so that they stay in the cache on their way."""
SUM_ROWS = 64
KINDS = ("multinomial", "complement", "bernoulli", "categorical", "gaussian")
MOST = 2.0**960
"""Sums of counts are below: weights are made of products of pairs of float64, which want some room above it."""
NONE = np.empty((0, 0))
NO_GROUPS = np.empty(0, np.int64)
TABLES = ("feature_count", "mean", "squares")
PER_CLASS = ("class_count", *TABLES)


class BayesWeights(NamedTuple):
    """The weights, and how much goes into each intercept."""

    weights: Array
    """(features + 1, columns): one column for two classes, else one for each; the last row is the constant feature."""
    size: Array
    """(columns,): by how much each intercept may be off, in units of eps."""


def priors_of(wanted: Any, weight: Array, labels: Sequence[Any]) -> Array:
    """Return the probability of each class: its share of the weight of all rows, "uniform", or as given.

    >>> priors_of(None, np.array([1.0, 3.0]), "ab"), priors_of("uniform", np.array([1.0, 3.0]), "ab")
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """
    if wanted is None:
        empty = np.flatnonzero(weight == 0)
        if len(empty):
            raise ValueError(
                f"the class {labels[empty[0]]!r} has had no rows, and by its share of them no probability: state "
                "priors=, or start without `classes` to let it join when its first row comes"
            )
        return weight / weight.sum()
    if isinstance(wanted, str):
        return np.full(len(labels), 1 / len(labels))
    priors = np.asarray(wanted, np.float64)
    if priors.shape != (len(labels),) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-9:
        raise ValueError(f"priors={wanted!s:.60}: give {len(labels)} numbers above 0 that add up to 1")
    return priors


def multinomial(counts: Array, priors: Array, alpha: float, labels: Sequence[Any]) -> BayesWeights:
    """Return the weights of counts: p_cj = (N_cj + s) / (N_c + s * features).

    `counts` is N, (classes, features), `alpha` is s, `priors` are the classes' probabilities and `labels` their names.

    >>> multinomial(np.array([[3.0, 1.0], [0.0, 5.0]]), np.array([0.5, 0.5]), 1.0, "ab").weights.round(3)
    array([[-1.54 ],
           [ 0.944],
           [ 0.   ]])
    """
    refuse_impossible(counts, alpha, labels)
    with np.errstate(over="ignore"):
        totals = _finite(_sums(counts.T) + alpha * counts.shape[1])
    if len(counts) == 2:
        exact = added(sums(counts.T, np.zeros(1, int)), _product(alpha, np.full((1, 2), float(counts.shape[1]))))
        return _found(lambda part: (_log_odds(plus(counts.T[part], alpha), exact), None), counts.shape[1], priors)
    at_once = np.tile(totals, (AT_ONCE, 1))

    def logs(part: slice) -> tuple[Array, None]:
        chances = counts.T[part] + alpha
        return _logs(np.divide(chances, at_once[: len(chances)], out=chances)), None

    return _found(logs, counts.shape[1], priors)


def complement(counts: Array, alpha: float, labels: Sequence[Any]) -> BayesWeights:
    """Return the weights of counts by the counts of all other classes: rare features there have large weights.

    For two classes they are those of :func:`multinomial` with equal priors.

    >>> complement(np.array([[3.0, 1.0], [0.0, 5.0]]), 1.0, "ab").weights.round(3)
    array([[-1.54 ],
           [ 0.944],
           [ 0.   ]])
    """
    others = np.asfortranarray(np.maximum(counts.sum(axis=0) - counts, 0.0))
    refuse_impossible(others, alpha, labels, "has a complement, the rows of all other classes, that never")
    found = multinomial(others, np.ones(len(counts)), alpha, labels)
    return found._replace(weights=0.0 - found.weights)


def categorical(counts: Array, groups: Array, priors: Array, alpha: float, labels: Sequence[Any]) -> BayesWeights:
    """Return the weights of one-hot columns: as :func:`multinomial`, over the columns of each variable.

    `groups` states to which variable each column belongs, 0 and up.
    """
    refuse_impossible(counts, alpha, labels)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    seen = sums(counts.T[order], np.cumsum(sizes) - sizes)
    totals = added(seen, _product(alpha, np.tile(sizes[:, None].astype(np.float64), len(counts))))

    def logs(part: slice) -> tuple[Array, None]:
        whole = Pair(totals.high[groups[part]], totals.low[groups[part]])
        if len(counts) == 2:
            return _log_odds(plus(counts.T[part], alpha), whole), None
        return _logs((counts.T[part] + alpha) / whole.high), None

    return _found(logs, len(groups), priors)


def bernoulli(weight: Array, counts: Array, priors: Array, alpha: float, labels: Sequence[Any]) -> BayesWeights:
    """Return the weights of presence: p_cj = (N_cj + s) / (N_c + 2 s), N_c the rows of the class (`weight`)."""
    refuse_impossible(counts, alpha, labels)
    refuse_impossible(weight[:, None] - counts, alpha, labels, "always")
    totals = _finite(weight + 2 * alpha)
    exact = plus(weight[None], 2 * alpha)

    def logs(part: slice) -> tuple[Array, Array]:
        if len(counts) == 2:
            rest = plus(weight, -counts.T[part])
            low = np.where(rest.high > 0.0, rest.low, 0.0)
            without = added(Pair(np.maximum(rest.high, 0.0), low), Pair(np.full_like(low, alpha), np.zeros_like(low)))
            return _log_odds(plus(counts.T[part], alpha), without), _log_odds(without, exact)
        present = (counts.T[part] + alpha) / totals
        absent = (np.maximum(weight - counts.T[part], 0.0) + alpha) / totals
        return _logs(present / absent), _logs(absent)

    return _found(logs, counts.shape[1], priors)


def gaussian(found: Moments, priors: Array, floor: float, labels: Sequence[Any]) -> BayesWeights:
    """Return the weights of values with one variance for all classes: that around the class means, over all rows.

    Sums depend in their last bits on how arrays lie in memory, so that this is fixed here: by columns.

    A feature without any variance has weight 0 if its means are equal, and is an error if they are not; `floor`, as a
    share of the largest variance, is the least that a variance counts as.

    >>> found = Moments(np.array([2.0, 2.0]), np.array([[1.0], [5.0]]), np.array([[2.0], [2.0]]))
    >>> gaussian(found, np.array([0.5, 0.5]), 0.0, "ab").weights
    array([[  4.],
           [-12.]])
    """
    weight, mean, squares = found.weight, np.asfortranarray(found.mean), np.asfortranarray(found.squares)
    if not weight.all():
        label = labels[int(np.argmin(weight))]
        raise InvalidDataError(f"the class {label!r} has had no rows, and so has no mean: give it some")
    rows = weight.sum()
    variance = squares.sum(axis=0) / rows
    largest = np.abs(mean).max(axis=0)
    flat = np.sqrt(variance) <= 4 * EPS * largest
    same = np.ptp(mean, axis=0) <= 8 * EPS * largest
    variance = np.maximum(variance, floor * variance.max(initial=0.0))
    degenerate = np.flatnonzero(flat & ~same & (variance <= (4 * EPS * largest) ** 2))
    if len(degenerate):
        j = int(degenerate[0])
        low, high = (labels[int(c)] for c in (mean[:, j].argmin(), mean[:, j].argmax()))
        raise InvalidDataError(
            f"feature {j} does not vary within any class, and its means differ (class {low!r}: {mean[:, j].min():g}, "
            f"class {high!r}: {mean[:, j].max():g}): its variance is 0, and its weight infinite; {_cure(flat, floor)}"
        )
    variance = np.where(flat & same, np.inf, variance)
    first = mean[0] if len(mean) == 2 else (weight / rows) @ mean
    others = mean[1:] if len(mean) == 2 else mean
    with np.errstate(over="ignore", invalid="ignore"):
        table = (others - first) / variance
        terms = table * (-0.5 * (others + first))
    if not (np.isfinite(table).all() and np.isfinite(terms).all()):
        j = int(np.argmin(np.isfinite(table + terms).all(axis=0)))
        raise InvalidDataError(
            f"the weight of feature {j} is too large for float64: divide the column by its largest entry"
        )
    return _found(lambda part: (table.T[part], terms.T[part]), len(first), priors, unit=0.0)


def _cure(flat: Array, floor: float) -> str:
    """Return what helps where a feature does not vary, given which do not."""
    if flat.all():
        return (
            "no feature varies within a class, so that variance_floor, a share of the largest variance, is 0 as well: "
            "give rows that differ within a class, or use LinearProgram, which needs no variance"
        )
    share = (
        f"raise variance_floor above {floor:g}"
        if floor
        else "set variance_floor (for example, 1e-9 of the largest variance)"
    )
    return f"{share}, or omit the feature: alone it separates these classes"


def refuse_impossible(counts: Array, alpha: float, labels: Sequence[Any], never: str = "never") -> None:
    """Raise a ValueError that names the first class and feature whose probability is 0."""
    if alpha == 0 and (counts <= 0).any():
        c, j = (int(k[0]) for k in np.nonzero(counts <= 0))
        raise InvalidDataError(
            f"the class {labels[c]!r} {never} has feature {j}, which with alpha=0 makes a probability of 0, and "
            "of its logarithm no weight: use alpha > 0, or leave the feature out"
        )


def _finite(totals: Array) -> Array:
    if not np.isfinite(totals).all():
        raise InvalidDataError(TOO_LARGE)
    return totals


def _sums(table: Array) -> Array:
    """Return the sum of each column, of blocks of rows first, which is faster than row by row and rounds less."""
    whole = len(table) - len(table) % SUM_ROWS
    blocks = table[:whole].reshape(-1, SUM_ROWS * table.shape[1]).sum(axis=0)
    return blocks.reshape(SUM_ROWS, -1).sum(axis=0) + table[whole:].sum(axis=0)


def _logs(chances: Array) -> Array:
    """Return the logarithms of what each class has, in place: for two the logarithm of their quotient, for one 0."""
    if chances.shape[1] <= 2:
        chances = chances[:, -1:] / chances[:, :1]
    return np.log(chances, out=chances)


def _log_odds(a: Pair, b: Pair) -> Array:
    """Return the logarithm of (a_1 / b_1) / (a_0 / b_0), (features, 1), for two classes, one a column."""
    exponent = -np.frexp(np.maximum(a.high, b.high).max(axis=0))[1]
    (a0, a1), (b0, b1) = (
        (of.columns(slice(0, 1)), of.columns(slice(1, 2))) for of in (a.scaled(exponent), b.scaled(exponent))
    )
    return log_quotient(product(a1, b0), product(a0, b1))


def _product(a: float, b: Array) -> Pair:
    return product(Pair(np.full_like(b, a), np.zeros_like(b)), Pair(b, np.zeros_like(b)))


def _found(
    parts: Callable[[slice], tuple[Array, Array | None]], features: int, priors: Array, unit: float = 1.0
) -> BayesWeights:
    """Return the weights, filled in by `parts` for some features: with the terms of the intercepts, if any.

    Both are (features, columns). `unit` is what a term counts for beside its size: the logarithm of a quotient that is
    rounded is off by a few eps however small it is.
    """
    own = _logs(np.array(priors, np.float64)[None])[0]
    weights, size, found = np.empty((features + 1, len(own))), 2.0 + 2.0 * np.abs(own), [own]
    unit = unit if len(own) > 1 else 0.0
    for lo in range(0, features, AT_ONCE):
        part = slice(lo, min(lo + AT_ONCE, features))
        weights[part], terms = parts(part)
        if terms is not None:
            found.append(sums(terms, np.zeros(1, int)).high[0])
            size += 4 * np.abs(terms).sum(axis=0) + 3 * unit * len(terms)
    weights[-1] = [math.fsum(of) for of in zip(*found, strict=True)]
    return BayesWeights(weights, size)


class ClassCounts(NamedTuple):
    """The counts of each class; more rows give other counts, and change nothing in these.

    >>> rows, codes = Dense(np.array([[2.0, 0.0], [1.0, 3.0]]), 1.0), np.array([0, 1], np.int32)
    >>> counts = ClassCounts.start("multinomial", classes=2, features=2).plus(rows, codes, np.empty(0))
    >>> counts.feature_count, counts.admitted(np.array([1])).class_count
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
    def start(
        cls, kind: str, classes: int, features: int, groups: Array = NO_GROUPS, binarize: float = 0.0
    ) -> "ClassCounts":
        """Return the counts of no rows."""
        tables = ("mean", "squares") if kind == "gaussian" else ("feature_count",)
        zeros = {name: empty_table(classes, features) for name in tables}
        return cls(kind, np.zeros(classes), **zeros, groups=groups, binarize=binarize)

    def plus(self, data: Dense | Csr, codes: Array, row_weights: Array) -> "ClassCounts":
        """Return the counts with these rows added; no row may store a column twice, unless it is of counts."""
        classes = len(self.class_count)
        if self.kind == "gaussian":
            return self._with(merge_moments(self._moments, moments(data, codes, row_weights, classes)))
        before = self.feature_count
        table = np.array(before, order="F") if self.class_count.any() else empty_table(*before.shape)
        parts = present(data, self.binarize) if self.kind == "bernoulli" else [(slice(None), data)]
        with np.errstate(over="ignore"):
            for rows, part in parts:
                count(part, codes[rows], row_weights[rows], classes, table=table)
        weight = self.class_count + weight_of(codes, row_weights, classes)
        return self._replace(class_count=weight, feature_count=table)._in_range()

    def joined(self, other: "ClassCounts") -> "ClassCounts":
        """Return the counts of the rows of both, which have the same classes and features."""
        if self.kind == "gaussian":
            return self._with(merge_moments(self._moments, other._moments))
        with np.errstate(over="ignore"):
            counts = np.asfortranarray(self.feature_count + other.feature_count)
        return self._replace(class_count=self.class_count + other.class_count, feature_count=counts)._in_range()

    @property
    def _moments(self) -> Moments:
        return Moments(self.class_count, self.mean, self.squares)

    def _with(self, found: Moments) -> "ClassCounts":
        return self._replace(class_count=found.weight, mean=found.mean, squares=found.squares)

    def _in_range(self) -> Self:
        """Return the counts, if their sums are in range; else raise a ValueError."""
        with np.errstate(over="ignore"):
            totals = self.feature_count.sum(axis=1)
        if not np.all(totals + self.class_count < MOST):
            raise InvalidDataError(TOO_LARGE)
        return self

    def admitted(self, places: Array) -> "ClassCounts":
        """Return the counts with new classes, without rows so far, before those at these places."""
        tables = {name: table for name, table in self._asdict().items() if name in PER_CLASS and table.size}
        return self._replace(**{name: np.insert(table, places, 0.0, axis=0) for name, table in tables.items()})

    @property
    def features(self) -> int:
        """The number of features."""
        return int((self.mean if self.kind == "gaussian" else self.feature_count).shape[1])

    def widened(self, more: int) -> "ClassCounts":
        """Return the counts with more features, which were 0 in all rows so far."""
        tables = {name: table for name, table in self._asdict().items() if name in TABLES and table.size}
        wide = {name: np.pad(table, ((0, 0), (0, more))) for name, table in tables.items()}
        fields: dict[str, Any] = {name: np.asfortranarray(table) for name, table in wide.items()}
        return self._replace(**fields)

    def found(self, priors: Array, alpha: float, floor: float, labels: Sequence[Any]) -> BayesWeights:
        """Return the weights."""
        counts = self.feature_count
        if self.kind == "gaussian":
            return gaussian(self._moments, priors, floor, labels)
        if self.kind == "complement":
            return complement(counts, alpha, labels)
        if self.kind == "bernoulli":
            return bernoulli(self.class_count, counts, priors, alpha, labels)
        if self.kind == "categorical":
            return categorical(counts, self.groups, priors, alpha, labels)
        return multinomial(counts, priors, alpha, labels)

    def log_probabilities(self, alpha: float) -> Array:
        """Return ln p_cj, (classes, features), not for "gaussian"; -ln q_cj for "complement"."""
        counts = self.feature_count
        if self.kind == "complement":
            counts = np.maximum(counts.sum(axis=0) - counts, 0.0)
        if self.kind == "bernoulli":
            totals = (self.class_count + 2 * alpha)[:, None]
        elif self.kind == "categorical":
            totals = np.array([np.bincount(self.groups, row)[self.groups] for row in counts + alpha])
        else:
            totals = (counts + alpha).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: Array = np.log(counts + alpha) - np.log(totals)
        return 0.0 - logs if self.kind == "complement" else logs

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
