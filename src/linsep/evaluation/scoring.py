"""Score predictions block by block, in constant memory.

scikit-learn's metrics take all rows at once, and its confusion matrix is dense: neither adds up over blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.models.pipelines import is_calibrated
from linsep.theory.ranking import MOST_SCORES, Ranking
from linsep.theory.risk import wilson
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.labels import kind_of, margins_of, predicted_labels

BINS = 10
"""Groups of rows by the probability they were given."""
SHARES = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
"""The quantiles of margins that are reported."""
MOST_MARGINS = 1 << 20
"""Margins that are kept; of more rows, every second, fourth, ... is."""
MOST_RANKED = 100
"""Classes up to which rows are ranked for each class: of more, that would take longer than predicting."""
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""A smaller probability of the true class counts as this one in the log-loss, as in scikit-learn."""
MOST_STRANGE = 1000
"""Labels that a model does not know: of more, something else is wrong."""


class Predictions(NamedTuple):
    """The predictions of a model for some rows; probabilities are None if the model has none."""

    scores: Array
    labels: Array
    probabilities: Array | None


def predictions(model: Any, X: Any) -> Predictions:
    """Return the predictions of a learner, or of a pipeline that ends in a learner.

    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0]], ["no", "yes"])
    >>> predictions(clf, [[3, 0]]).labels
    array(['yes'], dtype='<U3')
    """
    scores = model.decision_function(X)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    labels = model.predict(X) if is_calibrated(model) else predicted_labels(scores, model.classes_)
    return Predictions(scores, labels, probabilities)


class ClassScores(NamedTuple):
    """The scores of a class; a share of no rows is NaN."""

    label: Any
    rows: int
    predicted: int
    precision: float
    recall: float
    f1: float


class Group(NamedTuple):
    """Rows with about the same probability: its mean, and the observed share of rows for which the event happened."""

    low: float
    high: float
    rows: int
    mean_probability: float
    observed: float


class AtThreshold(NamedTuple):
    """Precision and recall of the second class for rows with at least this probability or score.

    Attributes
    ----------
    threshold : float
    of : str
        The number that is compared: "probability" or "score".
    true_positives, false_positives, false_negatives, true_negatives : int
        The counts of rows.
    """

    threshold: float
    of: str
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def precision(self) -> float:
        """The share of the rows found that are of the second class; NaN if none is found."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """The share of the second class that is found; NaN if the class has no rows."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return _ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Scores:
    """Scores of the predictions for labelled rows.

    Attributes
    ----------
    rows, wrong : int
        Rows with a label, and those of them that were predicted wrongly.
    unlabelled : int
        Rows without a label; they count for nothing else.
    classes : list of ClassScores
        Each class; classes outside the model are last.
    confusion : csr_array, (classes, classes)
        Rows of a class, down, that were predicted as another, across.
    macro_f1 : float
        The mean of F1 over classes that have rows or predictions.
    brier : float or None
        The mean of (p - y)² for the second of two classes; of more classes, of its sum over all of them.
    calibration : list of Group or None
        Rows by the probability of the second class, or of the predicted class if there are more than two.
    calibration_error : float or None
        The mean distance, over all rows, of a group's mean probability from the observed share.
    margins : dict or None
        Quantiles of y * score, or of the score of the true class less the best rival's.
    log_loss : float or None
        The mean of -ln p for the probability p of the true class; a p below 2.2e-16 counts as that.
    roc_auc, average_precision : float or None
        Of the second of two classes. Of more, the mean over the classes that have rows, each against the rest; None
        beyond 100 classes.
    ranking : Ranking or None
        The counts behind both, of two classes.
    threshold : AtThreshold or None
        Counts at the threshold, if there is one.
    """

    rows: int
    wrong: int
    unlabelled: int
    classes: list[ClassScores]
    confusion: sp.csr_array
    macro_f1: float
    brier: float | None
    calibration: list[Group] | None
    calibration_error: float | None
    margins: dict[float, float] | None
    log_loss: float | None = None
    roc_auc: float | None = None
    average_precision: float | None = None
    ranking: Ranking | None = None
    threshold: AtThreshold | None = None

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return self.wrong / self.rows if self.rows else float("nan")

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return 1 - self.error

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % for the error on rows like these.

        >>> low, high = Scoring(["a", "b"]).add(["a"] * 100, ["a"] * 93 + ["b"] * 7).result().interval
        >>> round(low, 3), round(high, 3)
        (0.034, 0.137)
        """
        low, high = wilson(self.error, max(self.rows, 1))
        return max(0.0, min(float(low), self.error)), min(1.0, max(float(high), self.error))


class Scoring:
    """Count predictions block by block.

    Parameters
    ----------
    classes : array
        The labels of the model, as in `classes_`.
    threshold : float, optional
        Count what it finds of the second class: rows with that probability or a higher one, or that score if there are
        no probabilities.
    calibrated : bool, default=False
        If True, rows are ranked by their probabilities; otherwise by their scores.

    Examples
    --------
    >>> scores = Scoring(["ham", "spam"]).add(["ham", "ham", "spam"], ["ham", "spam", "spam"]).result()
    >>> scores.rows, scores.wrong, scores.confusion.toarray().tolist()
    (3, 1, [[1, 1], [0, 1]])
    """

    def __init__(self, classes: Any, threshold: float | None = None, calibrated: bool = False) -> None:
        self.known = np.asarray(classes)
        if threshold is not None and len(self.known) != 2:
            raise ParameterError(
                f"threshold={threshold:g} divides two classes, and the model has {len(self.known)}: remove threshold="
            )
        self.calibrated = calibrated
        self.rankings: list[Ranking] = []
        self.logs: float | None = None
        self.threshold, self.threshold_of = threshold, "score"
        self.found = np.zeros((2, 2), np.int64)
        self.strange: list[Any] = []
        self.counts: Any = sp.csr_array((len(self.known), len(self.known)), dtype=np.int64)
        self.unlabelled = 0
        self.squares: float | None = None
        self.groups = np.zeros((3, BINS))
        self.margins = Margins()

    def add(self, y: Any, labels: Any, scores: Any = None, probabilities: Any = None) -> "Scoring":
        """Count the predictions for a block.

        Parameters
        ----------
        y : array, (rows,)
            The true labels; NaN is none.
        labels : array, (rows,)
            The predictions.
        scores : array, (rows,) or (rows, classes), optional
            Result of `decision_function`.
        probabilities : array, (rows, classes), optional
            Result of `predict_proba`.
        """
        truth = np.asarray(y)
        if truth.dtype.kind == "f" and np.isnan(truth).any():
            there = ~np.isnan(truth)
            self.unlabelled += int(np.count_nonzero(~there))
            parts = (None if part is None else np.asarray(part)[there] for part in (labels, scores, probabilities))
            return self.add(truth[there], *parts) if there.any() else self
        codes, predicted = self._codes(truth), np.searchsorted(self.known, np.asarray(labels))
        self._count(np.ones(len(codes), np.int64), codes, predicted)
        if scores is not None and len(self.known) > 1:
            self.margins.add(margins_of(codes, np.asarray(scores)))
        if probabilities is not None:
            self._add_probabilities(codes, predicted, np.asarray(probabilities))
        if 1 < len(self.known) <= MOST_RANKED and (scores is not None or probabilities is not None):
            by_probability = scores is None or (self.calibrated and probabilities is not None)
            self._rank(codes, np.asarray(probabilities if by_probability else scores))
        if self.threshold is not None:
            if probabilities is not None:
                self.threshold_of = "probability"
            given = np.asarray(scores) if probabilities is None else np.asarray(probabilities)[:, 1]
            above = given >= self.threshold
            self.found += np.bincount(2 * (codes == 1) + above, minlength=4).reshape(2, 2)
        return self

    def add_predictions(self, y: Any, found: Predictions) -> "Scoring":
        """Count the predictions of a model for a block, with all that it predicts."""
        return self.add(y, found.labels, found.scores, found.probabilities)

    def _rank(self, codes: Array, by: Array) -> None:
        """Count what ranks the rows of each class; of two classes, that of the second."""
        classes = len(self.known)
        if not self.rankings:
            self.rankings = [Ranking(MOST_SCORES // k) for k in ([1] if classes == 2 else [classes] * classes)]
        if classes == 2:
            self.rankings[0].add(by if by.ndim == 1 else by[:, 1], codes == 1)
            return
        for k, ranking in enumerate(self.rankings):
            ranking.add(by[:, k], codes == k)

    def plus(self, later: "Scoring") -> "Scoring":
        """Add the counts of later rows."""
        for label in later.strange:
            if label not in self.strange:
                self.strange.append(label)
        known = len(self.known)
        places = np.array([*range(known), *(known + self.strange.index(label) for label in later.strange)], np.intp)
        counts = later.counts.tocoo()
        self._count(counts.data, places[counts.row], places[counts.col])
        self.unlabelled += later.unlabelled
        if later.squares is not None:
            self.squares = (self.squares or 0.0) + later.squares
        if later.logs is not None:
            self.logs = (self.logs or 0.0) + later.logs
            self.threshold_of = later.threshold_of
        self.groups += later.groups
        self.margins.plus(later.margins)
        if self.rankings and later.rankings:
            self.rankings = [mine.plus(other) for mine, other in zip(self.rankings, later.rankings, strict=True)]
        self.rankings = self.rankings or later.rankings
        self.found += later.found
        return self

    def _count(self, rows: Array, codes: Array, predicted: Array) -> None:
        size = len(self.known) + len(self.strange)
        self.counts.resize(size, size)
        self.counts += sp.coo_array((rows, (codes, predicted)), shape=(size, size)).tocsr()

    def _codes(self, truth: Array) -> Array:
        """Return the numbers of labels; labels outside the model get the next codes."""
        if len(truth) and kind_of(truth[0]) != kind_of(self.known[0]):
            raise InvalidDataError(
                f"the labels are like {truth[:1].tolist()[0]!r}, but the model's are {shown(self.known)}"
            )
        places = np.minimum(np.searchsorted(self.known, truth), len(self.known) - 1)
        codes = np.where(self.known[places] == truth, places, -1)
        for label in np.unique(truth[codes < 0]).tolist():
            if label not in self.strange:
                self.strange.append(label)
            if len(self.strange) > MOST_STRANGE:
                raise InvalidDataError(f"the labels {shown(self.strange)} are none of the model's, {shown(self.known)}")
            codes[truth == label] = len(self.known) + self.strange.index(label)
        return codes

    def _add_probabilities(self, codes: Array, predicted: Array, p: Array) -> None:
        classes = len(self.known)
        squares = np.square(p - (np.arange(classes) == codes[:, None])).sum(axis=1) + (codes >= classes)
        self.squares = (self.squares or 0.0) + float(squares.sum()) / (2 if classes == 2 else 1)
        known = codes < classes
        true = np.where(known, p[np.arange(len(p)), np.where(known, codes, 0)], 0.0)
        self.logs = (self.logs or 0.0) - float(np.log(np.clip(true, LEAST_PROBABILITY, None)).sum())
        given = p[:, 1] if classes == 2 else p[np.arange(len(p)), predicted]
        observed = codes == (1 if classes == 2 else predicted)
        groups = np.minimum((given * BINS).astype(np.intp), BINS - 1)
        self.groups += [np.bincount(groups, weights, BINS) for weights in (None, given, observed)]

    def result(self) -> Scores:
        """Return the scores of all rows so far."""
        counts, rows = self.counts, int(self.counts.sum())
        right, totals, predicted = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
        with np.errstate(invalid="ignore"):
            precision, recall, f1 = right / predicted, right / totals, 2 * right / (totals + predicted)
        labels = [*self.known.tolist(), *self.strange]
        columns = zip(labels, totals.tolist(), predicted.tolist(), precision, recall, f1, strict=True)
        classes = [ClassScores(*row[:3], *map(float, row[3:])) for row in columns]
        there = totals + predicted > 0
        groups = None if self.squares is None else self._groups()
        gap = (
            None
            if groups is None
            else sum(g.rows * abs(g.mean_probability - g.observed) for g in groups) / max(rows, 1)
        )
        return Scores(
            rows, rows - int(right.sum()), self.unlabelled, classes, counts.copy(),
            float(f1[there].mean()) if there.any() else float("nan"),
            None if self.squares is None else self.squares / max(rows, 1), groups, gap, self.margins.quantiles(),
            None if self.logs is None else self.logs / max(rows, 1),
            _mean(ranking.roc_auc for ranking in self.rankings),
            _mean(ranking.average_precision for ranking in self.rankings),
            self.rankings[0] if len(self.rankings) == 1 else None, self._at_threshold(),
        )  # fmt: skip

    def _at_threshold(self) -> AtThreshold | None:
        if self.threshold is None:
            return None
        (true_negatives, false_positives), (false_negatives, true_positives) = self.found.tolist()
        counts = (true_positives, false_positives, false_negatives, true_negatives)
        return AtThreshold(self.threshold, self.threshold_of, *counts)

    def _groups(self) -> list[Group]:
        rows, given, observed = self.groups
        return [
            Group(k / BINS, (k + 1) / BINS, int(rows[k]), float(given[k] / rows[k]), float(observed[k] / rows[k]))
            for k in np.flatnonzero(rows).tolist()
        ]


class Margins:
    """Margins as they come; beyond a million, of every second, fourth, ... row.

    >>> margins = Margins()
    >>> margins.add(np.arange(101.0))
    >>> margins.quantiles()[0.25]
    25.0
    """

    def __init__(self, most: int = MOST_MARGINS) -> None:
        self.most, self.step, self.skip = most, 1, 0
        self.kept: list[Array] = []
        self.low, self.high = np.inf, -np.inf

    def add(self, margins: Array) -> None:
        """Keep some, and track the least and the largest."""
        if not len(margins):
            return
        self.low, self.high = min(self.low, margins.min()), max(self.high, margins.max())
        self.kept.append(margins[self.skip :: self.step])
        self.skip = (self.skip - len(margins)) % self.step
        if sum(map(len, self.kept)) > self.most:
            self._thin()

    def _thin(self) -> None:
        together = np.concatenate(self.kept) if self.kept else np.empty(0)
        self.skip += self.step * (len(together) % 2)
        self.kept, self.step = [together[::2].copy()], 2 * self.step

    def plus(self, later: "Margins") -> None:
        """Keep those of later rows too, as many as of these."""
        while later.step < self.step:
            later._thin()
        while self.step < later.step or sum(map(len, self.kept + later.kept)) > self.most:
            self._thin()
            if later.step < self.step:
                later._thin()
        self.low, self.high = min(self.low, later.low), max(self.high, later.high)
        self.kept, self.skip = self.kept + later.kept, later.skip

    def quantiles(self) -> dict[float, float] | None:
        """Return quantiles by their shares; the first and the last are those of all rows."""
        if not self.kept:
            return None
        found = np.quantile(np.concatenate(self.kept), SHARES)
        found[[0, -1]] = self.low, self.high
        return dict(zip(SHARES, found.tolist(), strict=True))


def scoring_of(model: Any, threshold: float | None = None) -> Scoring:
    """Return a scoring for the predictions of a model."""
    return Scoring(model.classes_, threshold, is_calibrated(model))


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None, if there are any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def shown(labels: Any, most: int = 4) -> str:
    """Return a few labels for a message.

    >>> shown(np.arange(10))
    '0, 1, 2, 3, ...'
    """
    return ", ".join([*map(repr, np.asarray(labels)[:most].tolist()), *(["..."] if len(labels) > most else [])])
