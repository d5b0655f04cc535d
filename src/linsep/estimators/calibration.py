"""Calibrate the scores of a classifier as probabilities."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, indexable

from linsep.engine.arrays import Array
from linsep.solvers.calibration import Isotonic, Platt, fit_isotonic, fit_platt
from linsep.validation.errors import ParameterError
from linsep.validation.labels import clean, codes_among, encode, predicted_codes

FIRST_BLOCK, BLOCK_SHARE, LONGEST_BLOCK = 16, 8, 1024
"""Rows are scored in blocks: of 16 at first, then of an eighth of the rows before, of 1,024 at most."""
METHODS: dict[str, Callable[..., Platt | Isotonic]] = {"sigmoid": fit_platt, "isotonic": fit_isotonic}


class Recent(NamedTuple):
    """Scores before learning, in the order in which they came."""

    scores: Array
    """(rows,) for two classes, else (rows, classes); NaN where a class was not known yet."""
    codes: Array
    weights: Array

    @classmethod
    def none(cls) -> "Recent":
        """Return no rows."""
        return cls(np.empty(0), np.empty(0, np.int32), np.empty(0))

    def followed_by(self, more: "Recent", window: int) -> "Recent":
        """Return the last `window` of these rows and those that came after them; rows of weight 0 are left out."""
        if not more.weights.all():
            more = more.at(np.flatnonzero(more.weights))
        if len(self.codes) and len(more.codes):
            more = Recent(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))
        elif not len(more.codes):
            return self
        return Recent(*(part[-window:] for part in more))

    def spread(self, window: int) -> "Recent":
        """Return at most `window` rows, evenly from all: where they stand is not when they came."""
        rows = len(self.codes)
        return self if rows <= window else self.at(np.arange(window) * rows // window)

    def at(self, rows: Array) -> "Recent":
        """Return some of the rows."""
        return Recent(*(part[rows] for part in self))

    def renumbered(self, known: Array, now: Array) -> "Recent":
        """Return the rows with a column for each class that is known now; none of them where :func:`widened` has none.

        They were of the classes known before.
        """
        scores = widened(self.scores, known, now) if len(self.codes) else None
        if scores is None:
            return Recent.none()
        return Recent(scores, np.searchsorted(now, known).astype(np.int32)[self.codes], self.weights)

    def problems(self, classes: int) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the scores, the members and the weights for each map: the second of two classes, else each class."""
        for code in [1] if classes == 2 else range(classes if classes > 2 else 0):
            scores = self.scores if self.scores.ndim == 1 else self.scores[:, code]
            there = ~np.isnan(scores)
            yield scores[there], (self.codes == code)[there], self.weights[there]


def widened(scores: Array, known: Array, now: Array) -> Array | None:
    """Return scores with a column for each class that is known now: NaN for those that were not.

    What two classes have is one score for both, of which no columns can be made: then there are none.
    """
    if len(known) == len(now):
        return scores
    if len(known) <= 2:
        return None
    wide = np.full((len(scores), len(now)), np.nan)
    wide[:, np.searchsorted(now, known)] = scores
    return wide


def _ramp() -> list[int]:
    """Return where blocks end until they are of full length."""
    ends = [FIRST_BLOCK]
    while ends[-1] // BLOCK_SHARE < LONGEST_BLOCK:
        ends.append(ends[-1] + max(FIRST_BLOCK, ends[-1] // BLOCK_SHARE))
    return ends


RAMP = _ramp()


def blocks(done: int, rows: int) -> list[tuple[int, int]]:
    """Return the spans of so many rows that are scored before any of them is learned, after `done` others.

    They end at places that do not depend on how the rows are handed over, and where the rows end.

    >>> blocks(0, 40), blocks(40, 30), blocks(100_000, 1500)
    ([(0, 16), (16, 32), (32, 40)], [(0, 8), (8, 24), (24, 30)], [(0, 839), (839, 1500)])
    """
    end, full = done + rows, RAMP[-1]
    first = full + LONGEST_BLOCK * max(1, (done - full) // LONGEST_BLOCK + 1)
    ends = [*(cut for cut in RAMP if done < cut < end), *range(first, end, LONGEST_BLOCK), end]
    return [(start - done, stop - done) for start, stop in zip([done, *ends], ends, strict=False)]


def is_fitted(learner: Any) -> bool:
    """Return whether a learner is fitted."""
    try:
        check_is_fitted(learner)
    except NotFittedError:
        return False
    return True


def scores_of(learner: Any, X: Any) -> Array:
    """Return the scores that the maps take, (rows,) or (rows, classes).

    Those of classes that were trained against each other (pairs, a softmax, naive Bayes) are known up to a number for
    each row: what counts is by how much a class's is above the best of the others.
    """
    scores: Array = learner.decision_function(X)
    if scores.ndim == 1 or not has_relative_scores(learner):
        return scores
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    best = scores == first[:, None]
    return scores - np.where(best, second[:, None], first[:, None])


def has_relative_scores(learner: Any) -> bool:
    """Return whether the scores of a learner's classes are known up to a number for each row."""
    return getattr(getattr(learner, "_state", None), "pair", False)


def _learns_rows(model: Any) -> bool:
    return hasattr(model.estimator, "partial_fit")


class CalibratedClassifier(ClassifierMixin, BaseEstimator):
    """A learner whose scores are turned into probabilities, learned on scores of rows that it had not seen.

    Any learner with a `decision_function` will do. Two classes have one map, from the score to the probability of the
    second; more have one each, class against rest, and what the maps say is divided by its sum (all of them 0: each
    class is as probable). `predict` answers the most probable class, which need not be the one of the highest score;
    ties go to the learner's own answer, which is available as `estimator_.predict`.

    Parameters
    ----------
    estimator : learner
        What to train; with `on="prefit"`, a learner that is trained already.
    method : "sigmoid" or "isotonic", default="sigmoid"
        The map. Platt's sigmoid, 1 / (1 + e^-(a s + b)), has two numbers and so needs few rows. The best map that never
        falls has no form of its own, and is better from some thousand rows on; it may say 0 and 1.
    on : "held-out", "progressive" or "prefit", default="held-out"
        What `fit` learns the map from. "held-out": each row is scored by a learner trained on the other folds; the
        learner that answers is trained on all rows, and its scores should be like theirs: those of an average are,
        those of weights that the last mistakes have moved may not be. "progressive": the rows are learned in one pass,
        in the order given, each scored before it is learned (see Notes); for learners that go row by row, and the
        quickest way. "prefit": the rows given to `fit` are held out, and only the map is learned from them.
    cv : int, default=5
        Folds of "held-out": every class is spread evenly over them.
    window : int, default=4096
        The rows that the map goes by while labels come: the last ones scored before they were learned. They are kept
        with the model, at 20 bytes a row for two classes. Raise it where a class is rare.

    Attributes
    ----------
    estimator_ : learner
        The trained learner.
    calibration_ : list of Platt or Isotonic
        The maps: one for two classes, else one a class. `slope` and `offset` are a and b of Platt's; `x` and `y` the
        corners of the other.

    Notes
    -----
    `partial_fit` is the online form. Rows are scored block by block, each block before any of it is learned, and the
    map is the one for the last `window` rows: exactly that of `method`, not an approximation that depends on the path.
    It is found when it is asked for, so that learning costs a score more a row. A block has an eighth of the rows
    before it, 16 at least and 1,024 at most, so that the learner who scores a row had seen almost as much as at its
    turn. How rows are cut into calls changes nothing in the learner; nor in the map, if calls end where blocks end
    (:func:`linsep.estimators.calibration.blocks`), else some rows are scored a little later than they would have been.

    A new label restarts the window where there were two at most, as their one score says nothing of three. Later
    ones leave it, and the new class's own map goes by the rows since it is known.

    Sample weights count in the learner and in the map; a learner's `class_weight` is no part of the map.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep import AveragedPerceptron
    >>> from linsep.estimators.calibration import CalibratedClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> clf = CalibratedClassifier(AveragedPerceptron(), on="progressive").fit(X, y)
    >>> clf.predict_proba([[-1], [0], [1]])[:, 1].round(1)  # in truth 0.12, 0.5, 0.88
    array([0.1, 0.5, 0.9])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "decision_function"])],
        "method": [StrOptions(set(METHODS))],
        "on": [StrOptions({"held-out", "progressive", "prefit"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "window": [Interval(Integral, 1, None, closed="left")],
    }
    estimator_: Any
    _recent = Recent.none()
    _rows = 0
    _maps: list[Platt | Isotonic] | None = None
    _in_place = False

    def __init__(
        self, estimator: Any, *, method: str = "sigmoid", on: str = "held-out", cv: int = 5, window: int = 4096
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.on = on
        self.cv = cv
        self.window = window

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the learner, and learn the map; see the parameter `on`.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels.
        sample_weight : array, (rows,), optional
            As the learner takes it; in the map, how many rows each row counts as.

        Returns
        -------
        self
        """
        if self.on == "progressive":
            self._refuse_no_partial_fit()
            classes = encode(clean(y, _num_samples(X)))[0]
            learner = clone(self.estimator)
            recent, rows = self._learned(learner, Recent.none(), 0, X, y, classes, sample_weight)
        else:
            learner, scores, codes = (self._held_out if self.on == "held-out" else self._prefit)(X, y, sample_weight)
            rows = len(codes)
            recent = Recent.none().followed_by(Recent(scores, codes, _weights_of(sample_weight, rows)), rows)
        maps = self._maps_of(recent, len(learner.classes_))
        self.__dict__.pop("form_", None)  # how other data were read, that a loaded model was trained on
        self.estimator_, self._recent, self._rows, self._maps = learner, recent.spread(self.window), rows, maps
        return self

    @available_if(_learns_rows)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Score these rows, learn them, and let the map follow: the online form; see Notes.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            As in the learner's `partial_fit`: all labels that will ever come, in the first call.
        """
        learner = self._begun()
        if not self._in_place:
            learner = copy.deepcopy(learner)  # so that a call that raises, even in a later block, changes nothing
        recent, rows = self._learned(learner, self._recent, self._rows, X, y, classes, sample_weight)
        self.estimator_, self._recent, self._rows, self._maps = learner, recent, rows, None
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return Pr(class | score), (rows, classes)."""
        return self._probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln Pr(class | score), (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row; ties go to the learner's own answer."""
        scores = self._scores(X)
        probabilities = self._probabilities(scores)
        codes = np.argmax(probabilities, axis=1)
        if len(self.classes_) > 1:
            own = predicted_codes(scores)
            rows = np.arange(len(codes))
            codes = np.where(probabilities[rows, own] == probabilities[rows, codes], own, codes)
        return self.classes_[codes]

    def decision_function(self, X: Any) -> Array:
        """Return the learner's own scores."""
        return self._fitted().decision_function(X)

    @property
    def classes_(self) -> Array:
        """The labels, in order."""
        return self._fitted().classes_

    @property
    def coef_(self) -> Any:
        """The learner's weights."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> Array:
        """The learner's biases."""
        return self._fitted().intercept_

    @property
    def n_features_in_(self) -> int:
        """The number of features that the learner takes."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where the learner knows them."""
        return self._fitted().feature_names_in_

    @property
    def calibration_(self) -> list[Platt | Isotonic]:
        """The maps from scores to probabilities: one for two classes, else one a class."""
        self._fitted()
        if self._maps is None:
            self._maps = self._maps_of(self._recent, len(self.classes_))
        return self._maps

    def grow(self, n_features: int) -> Self:
        """Widen the learner's weights to `n_features`."""
        self.estimator_ = self._own().grow(n_features)
        return self

    @contextmanager
    def _training_in_place(self) -> Iterator[None]:
        """Let `partial_fit` learn in place inside of the block, as the learner's own `_training_in_place` does.

        Otherwise it learns on a copy. `estimator_` is there from the block's beginning, even if nothing has been
        learned yet. If a call raises here, the model is of no use any more.
        """
        self.estimator_, self._in_place = self._own(), True
        try:
            with self.estimator_._training_in_place():
                yield
        finally:
            del self._in_place

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self) and is_fitted(self.estimator_)

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags = copy.deepcopy(own.input_tags)
        tags.classifier_tags = copy.deepcopy(own.classifier_tags)
        return tags

    def _fitted(self) -> Any:
        """Return the trained learner."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has not been fitted yet: call fit or partial_fit first")
        return self.estimator_

    def _begun(self) -> Any:
        """Return the learner that training continues, before it is copied."""
        self._refuse_no_partial_fit()
        if "estimator_" in vars(self):
            return self.estimator_
        return self._trained() if self.on == "prefit" else clone(self.estimator)

    def _own(self) -> Any:
        """Return the learner that training continues, as a copy if it is the given one."""
        learner = self._begun()
        return copy.deepcopy(learner) if learner is self.estimator else learner

    def _held_out(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Return a learner trained on all rows, and the scores of each by one that was not trained on it."""
        from sklearn.model_selection import StratifiedKFold  # takes long to import

        learner = clone(self.estimator).fit(X, y, **_given(sample_weight))
        labels = clean(y, _num_samples(X))
        classes, codes = encode(labels)
        few = np.bincount(codes)
        if few.min() < self.cv:
            raise ParameterError(
                f"the class {classes.tolist()[few.argmin()]!r} has {few.min()} rows, fewer than there are folds, "
                f'cv={self.cv}: lower cv, or use on="progressive" or "prefit"'
            )
        (X,), weights = indexable(X), _weights_of(sample_weight, len(codes))
        scores = np.empty((len(codes), len(classes)) if len(classes) > 2 else len(codes))
        for train, held in StratifiedKFold(self.cv).split(codes, codes):
            given = _given(None if sample_weight is None else weights[train])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the learner of all rows has warned once
                part = clone(self.estimator).fit(_safe_indexing(X, train), labels[train], **given)
            scores[held] = scores_of(part, _safe_indexing(X, held))
        return learner, scores, codes

    def _prefit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Return the learner that was given, and its scores of these rows."""
        learner = self._trained()
        codes = codes_among(clean(y, _num_samples(X)), learner.classes_)
        return learner, scores_of(learner, X), codes

    def _trained(self) -> Any:
        if not is_fitted(self.estimator):
            raise NotFittedError(
                'on="prefit" takes a learner that is trained already, and this one is not: train it first (a clone '
                'is never trained), or use on="held-out"'
            )
        return self.estimator

    def _learned(
        self, learner: Any, recent: Recent, done: int, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Recent, int]:
        """Score these rows and let the learner learn them, in place; return the last scores, and the rows by now."""
        rows = _num_samples(X)
        labels, weights = clean(y, rows), _weights_of(sample_weight, rows)
        (X,), spans = indexable(X), blocks(done, rows)
        in_place = hasattr(learner, "_training_in_place") and not self._in_place
        with learner._training_in_place() if in_place else nullcontext():
            for start, stop in spans:
                block = X if len(spans) == 1 else _rows(X, start, stop)
                known = learner.classes_ if is_fitted(learner) else np.empty(0)
                scores = scores_of(learner, block) if len(known) > 1 else None
                given = _given(None if sample_weight is None else weights[start:stop])
                learner.partial_fit(block, labels[start:stop], classes=classes, **given)
                if len(known) != len(learner.classes_):
                    recent = recent.renumbered(known, learner.classes_)
                    scores = None if scores is None else widened(scores, known, learner.classes_)
                if scores is not None:
                    codes = codes_among(labels[start:stop], learner.classes_)
                    recent = recent.followed_by(Recent(scores, codes, weights[start:stop]), self.window)
        return recent, done + rows

    def _refuse_no_partial_fit(self) -> None:
        if not _learns_rows(self):
            raise TypeError(
                f"{type(self.estimator).__name__} sees all rows at once and has no partial_fit: its calibration is "
                'learned with fit and on="held-out" or "prefit"'
            )

    def _maps_of(self, seen: Recent, classes: int) -> list[Platt | Isotonic]:
        maps = [METHODS[self.method](*problem) for problem in seen.problems(classes)]
        if any(isinstance(of, Platt) and not of.converged for of in maps):
            warnings.warn("a sigmoid's slope was not found to the last digit", ConvergenceWarning, stacklevel=4)
        return maps

    def _scores(self, X: Any) -> Array:
        return scores_of(self._fitted(), X)

    def _probabilities(self, scores: Array) -> Array:
        classes, maps = len(self.classes_), self.calibration_
        if classes == 1:
            return np.ones((len(scores), 1))
        if classes == 2:
            second = maps[0].probabilities(scores)
            return np.column_stack([1 - second, second])
        each = np.column_stack([of.probabilities(column) for of, column in zip(maps, scores.T, strict=True)])
        total = each.sum(axis=1, keepdims=True)
        each[total[:, 0] == 0] = 1.0
        return each / np.where(total == 0, classes, total)


def _rows(X: Any, start: int, stop: int) -> Any:
    """Return some rows that stand together; of a CSR matrix they are not copied, which takes longer than to learn."""
    if getattr(X, "format", None) != "csr":
        return _safe_indexing(X, slice(start, stop))
    first, last = X.indptr[start], X.indptr[stop]
    parts = X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first
    return type(X)(parts, shape=(stop - start, X.shape[1]), copy=False)


def _given(sample_weight: Any) -> dict[str, Any]:
    """Return the sample weights as a keyword, if there are any: some learners do not have the parameter."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def _weights_of(sample_weight: Any, rows: int) -> Array:
    """Return the weight of each row."""
    like = np.empty((rows, 1))
    return _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True, copy=True)
