"""Calibrate the scores of a classifier as probabilities."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted, indexable

from linsep.engine.arrays import Array
from linsep.solvers.calibration import Isotonic, Platt, Temperature, fit_isotonic, fit_platt, fit_temperature
from linsep.validation.errors import ParameterError
from linsep.validation.labels import clean, codes_among, encode, predicted_codes

FIRST_BLOCK, BLOCK_SHARE, LONGEST_BLOCK = 16, 8, 1024
"""Rows are scored in blocks: of 16 at first, then of an eighth of the rows before, of 1,024 at most."""
Method = Literal["sigmoid", "isotonic", "temperature"]
Map = Platt | Isotonic | Temperature
CERTAIN = 2.0**-52
"""Least distance of a probability from 0 and 1 in its log-odds."""
METHODS: dict[str, Callable[..., Platt | Isotonic]] = {"sigmoid": fit_platt, "isotonic": fit_isotonic}
"""The methods with a map for each class."""


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
        """Return at most `window` rows, evenly from all: rows are not stored in the order of their arrival."""
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

    Their ends do not depend on the chunks in which rows arrive, except for the last.

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


def plain_scores(learner: Any, X: Any) -> Array:
    """Return the scores of a learner, (rows,) or (rows, classes); log-odds if it has only probabilities."""
    if hasattr(learner, "decision_function"):
        return np.asarray(learner.decision_function(X))
    chances = np.clip(np.asarray(learner.predict_proba(X), np.float64), CERTAIN, 1 - CERTAIN)
    if chances.shape[1] > 2:
        return logit(chances)
    return logit(chances[:, -1])


def scores_of(learner: Any, X: Any) -> Array:
    """Return the scores that the maps of each class take, (rows,) or (rows, classes)."""
    return set_apart(learner, plain_scores(learner, X))


def set_apart(learner: Any, scores: Array) -> Array:
    """Return scores that are informative for each class alone.

    Those of classes that were trained against each other (pairs, a softmax, naive Bayes) are known up to a number for
    each row: what counts is by how much a class's is above the best of the others.
    """
    if scores.ndim == 1 or not has_relative_scores(learner):
        return scores
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    best = scores == first[:, None]
    return scores - np.where(best, second[:, None], first[:, None])


def has_relative_scores(learner: Any) -> bool:
    """Return whether the scores of a learner's classes are known up to a number for each row."""
    return getattr(getattr(learner, "_state", None), "pair", False)


def _learns_rows(model: Any) -> bool:
    return hasattr(model.estimator, "partial_fit") and not model.ensemble


def _learns_one(model: Any) -> bool:
    return hasattr(model.estimator, "learn_one") and not model.ensemble


def _predicts_one(model: Any) -> bool:
    return hasattr(model.estimator, "_score_one")


def _is_one_learner(model: Any) -> bool:
    if model.ensemble:
        raise AttributeError("an ensemble has several learners, members_; set ensemble=False for one")
    return True


class CalibratedClassifier(ClassifierMixin, BaseEstimator):
    """A learner whose scores are turned into probabilities, learned on scores of rows that it had not seen.

    Any learner with a `decision_function` or `predict_proba` will do; of probabilities, the log-odds are the scores.
    Two classes have one map, from the score to the probability of the
    second; more have one each, class against rest, and what the maps state is divided by its sum (all of them 0: each
    class is as probable). `predict` returns the most probable class, which need not be the class of the highest score;
    ties go to the learner's own prediction, which is available as `estimator_.predict`.

    Parameters
    ----------
    estimator : learner
        The learner to train; with `on="prefit"`, a learner that is trained already.
    method : "sigmoid", "isotonic" or "temperature", default="sigmoid"
        The map. Platt's sigmoid, 1 / (1 + e^-(a s + b)), has two numbers and so needs few rows. The best map that never
        falls has no form of its own, and is better from some thousand rows on; it may state 0 and 1. A temperature is
        one number for all classes, by which scores are divided before their softmax: it never changes the label.
    on : "held-out", "progressive" or "prefit", default="held-out"
        Source of the scores that `fit` learns the map from. "held-out": each row is scored by a learner trained on the
        other folds; the learner that predicts is trained on all rows, and its scores should be like theirs: those of an
        average are, those of weights that the last mistakes have moved may not be. "progressive": the rows are learned
        in one pass, in the order given, each scored before it is learned (see Notes); for learners that go row by row,
        and the quickest way. "prefit": the rows given to `fit` are held out, and only the map is learned from them.
    cv : int, splitter or iterable of (train, test) rows, default=5
        Folds of "held-out". With a number, every class is spread evenly over them. Rows that no fold holds out train
        the learner alone; rows that several hold out count several times in the map. Model files keep a number only.
    ensemble : bool, default=False
        With "held-out": if True, the learners of all folds predict, each with a map of its own, and their probabilities
        are averaged; no learner sees all rows. An ensemble can't be saved, nor trained further.
    window : int, default=4096
        The rows that the map goes by while labels come: the last ones scored before they were learned. They are kept
        with the model, at 20 bytes a row for two classes. Raise it where a class is rare.

    Attributes
    ----------
    estimator_ : learner
        The trained learner.
    members_ : list of CalibratedClassifier
        The learners of an ensemble, each with its map.
    calibration_ : list of Platt or Isotonic, or of one Temperature
        The maps: one for two classes, else one a class; a temperature is one for all. `slope` and `offset` are a and b
        of Platt's; `x` and `y` the corners of the isotonic map.

    Notes
    -----
    `partial_fit` is the online form. Rows are scored block by block, each block before any of it is learned, and the
    map is the one for the last `window` rows: exactly that of `method`, not an approximation that depends on the path.
    It is computed when it is first used, so that learning costs a score more a row. A block has an eighth of the rows
    before it, 16 at least and 1,024 at most, so that the learner who scores a row had seen almost as much as at its
    turn. How rows are cut into calls changes nothing in the learner; nor in the map, if calls end where blocks end
    (:func:`linsep.estimators.calibration.blocks`), else some rows are scored a little later than they would have been.

    A new label restarts the window where there were two at most, as their single score is no score of three classes.
    Later ones leave it, and the new class's own map goes by the rows since it is known.

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
        "estimator": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
        "method": [StrOptions({*METHODS, "temperature"})],
        "on": [StrOptions({"held-out", "progressive", "prefit"})],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            HasMethods("__iter__"),
        ],
        "ensemble": ["boolean"],
        "window": [Interval(Integral, 1, None, closed="left")],
    }
    estimator_: Any
    _recent = Recent.none()
    _rows = 0
    _maps: list[Map] | None = None
    _in_place = False

    def __init__(
        self,
        estimator: Any,
        *,
        method: Method = "sigmoid",
        on: Literal["held-out", "progressive", "prefit"] = "held-out",
        cv: Any = 5,
        window: int = 4096,
        ensemble: bool = False,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.on = on
        self.cv = cv
        self.window = window
        self.ensemble = ensemble

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
        if self.ensemble:
            return self._fit_ensemble(X, y, sample_weight)
        if self.on == "progressive":
            self._refuse_no_partial_fit()
            classes = encode(clean(y, _num_samples(X)))[0]
            learner = clone(self.estimator)
            recent, rows = self._learned(learner, Recent.none(), 0, X, y, classes, sample_weight)
        else:
            found = self._held_out if self.on == "held-out" else self._prefit
            learner, scores, codes, weights = found(X, y, sample_weight)
            rows = len(codes)
            recent = Recent.none().followed_by(Recent(scores, codes, weights), rows)
        maps = self._maps_of(recent, len(learner.classes_))
        self.__dict__.pop("form_", None)  # how other data were read, that a loaded model was trained on
        self.__dict__.pop("members_", None)
        self.estimator_, self._recent, self._rows, self._maps = learner, recent.spread(self.window), rows, maps
        return self

    def _fit_ensemble(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Train a calibrated learner on each fold."""
        if self.on != "held-out":
            raise ParameterError(f'ensemble=True needs on="held-out"; got on={self.on!r}')
        labels = clean(y, _num_samples(X))
        members = []
        for part, held in self._folds(X, labels, sample_weight):
            given = _given(None if sample_weight is None else _weights_of(sample_weight, len(labels))[held])
            member = CalibratedClassifier(part, method=self.method, on="prefit", window=self.window)
            members.append(member.fit(_safe_indexing(X, held), labels[held], **given))
        for name in ("form_", "_recent", "_rows", "_maps"):
            self.__dict__.pop(name, None)
        self.members_, self.estimator_ = members, members[0].estimator_
        return self

    def _folds(self, X: Any, labels: Array, sample_weight: Any) -> Iterator[tuple[Any, Array]]:
        """Yield a learner for each fold, trained on its rows, and the rows that the fold holds out."""
        from sklearn.model_selection import check_cv  # takes long to import

        classes, codes = encode(labels)
        few = np.bincount(codes)
        if isinstance(self.cv, Integral) and few.min() < self.cv:
            raise ParameterError(
                f"the class {classes.tolist()[few.argmin()]!r} has {few.min()} rows, fewer than there are folds, "
                f'cv={self.cv}: lower cv, or use on="progressive" or "prefit"'
            )
        weights = _weights_of(sample_weight, len(codes))
        for number, (train, held) in enumerate(check_cv(self.cv, codes, classifier=True).split(codes, codes)):
            missing = np.flatnonzero(np.bincount(codes[train], minlength=len(classes)) == 0)
            if len(missing):
                raise ParameterError(
                    f"fold {number} of cv= trains on no row of the class {classes.tolist()[missing[0]]!r}: use folds "
                    "that have all classes"
                )
            given = _given(None if sample_weight is None else weights[train])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the learner of all rows has warned once
                part = clone(self.estimator).fit(_safe_indexing(X, train), labels[train], **given)
            yield part, np.asarray(held)

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
        if self.ensemble:
            self._fitted()
            return np.asarray(np.mean([member.predict_proba(X) for member in self.members_], axis=0))
        return self._probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln Pr(class | score), (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of each row; ties go to the learner's own prediction."""
        if self.ensemble:
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return self.classes_[self._codes(self._scores(X))]

    def _codes(self, scores: Array) -> Array:
        """Return the number of the most probable class of each row."""
        probabilities = self._probabilities(scores)
        codes = np.argmax(probabilities, axis=1)
        if len(self.classes_) > 1:
            own = predicted_codes(scores)
            rows = np.arange(len(codes))
            codes = np.where(probabilities[rows, own] == probabilities[rows, codes], own, codes)
        return codes

    @available_if(_learns_one)
    def learn_one(self, x: Any, y: Any) -> Self:
        """Score one row, learn it, and let the map follow: `partial_fit` of it.

        Parameters
        ----------
        x, y
            As in the learner's `learn_one`.
        """
        if "estimator_" not in vars(self):
            self._validate_params()
            self.estimator_ = self._own()
        elif self.estimator_ is self.estimator:
            self.estimator_ = copy.deepcopy(self.estimator)
        learner = self.estimator_
        known = learner.classes_ if is_fitted(learner) else np.empty(0)
        scores = self._one(x) if len(known) > 1 else None
        learner.learn_one(x, y)  # refuses a row without a change
        recent, now = self._recent, learner.classes_
        if len(known) != len(now):
            recent = recent.renumbered(known, now)
            scores = None if scores is None else widened(scores, known, now)
        if scores is not None:
            recent = recent.followed_by(Recent(scores, codes_among(clean([y], 1), now), np.ones(1)), self.window)
        self._recent, self._rows, self._maps = recent, self._rows + 1, None
        return self

    @available_if(_predicts_one)
    def predict_one(self, x: Any) -> Any:
        """Return the most probable label of one row; features never seen count as 0."""
        if self.ensemble:
            chances = self.predict_proba_one(x)
            return max(chances, key=chances.__getitem__)
        self._fitted()
        return self.classes_[self._codes(self._one(x))].tolist()[0]

    @available_if(_predicts_one)
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each label for one row; features never seen count as 0."""
        labels = self.classes_.tolist()
        if self.ensemble:
            each = [member.predict_proba_one(x) for member in self.members_]
            return {label: float(np.mean([chances[label] for chances in each])) for label in labels}
        return dict(zip(labels, self._probabilities(self._one(x))[0].tolist(), strict=True))

    def _one(self, x: Any) -> Array:
        """Return the scores of one row that the map takes."""
        scores: Array = self._fitted()._score_one(x)
        return scores if self._has_temperature else set_apart(self.estimator_, scores)

    @property
    def _has_temperature(self) -> bool:
        """Return whether the fitted map is a temperature, even if `method` has changed since."""
        maps = self._maps
        return isinstance(maps[0], Temperature) if maps else self.method == "temperature"

    @available_if(_is_one_learner)
    def decision_function(self, X: Any) -> Array:
        """Return the learner's own scores; log-odds if it has only probabilities."""
        return plain_scores(self._fitted(), X)

    @property
    def classes_(self) -> Array:
        """The labels, in order."""
        return self._fitted().classes_

    @property
    def coef_(self) -> Any:
        """The learner's weights."""
        _is_one_learner(self)
        return self._fitted().coef_

    @property
    def intercept_(self) -> Array:
        """The learner's biases."""
        _is_one_learner(self)
        return self._fitted().intercept_

    @property
    def n_features_in_(self) -> int:
        """The number of features that the learner takes."""
        return self._fitted().n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if the learner has names."""
        return self._fitted().feature_names_in_

    @property
    def calibration_(self) -> list[Map]:
        """The maps from scores to probabilities: one for two classes, else one a class; a temperature is for all."""
        self._fitted()
        _is_one_learner(self)
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
        learned yet. If a call raises here, the model is unusable.
        """
        self.estimator_, self._in_place = self._own(), True
        try:
            with self.estimator_._training_in_place():
                yield
        finally:
            del self._in_place

    def __copy__(self) -> Self:
        """Return an independent model: training one does not change the other."""
        twin = type(self).__new__(type(self))
        own = {name: value for name, value in vars(self).items() if name in ("estimator_", "members_")}
        if own.get("estimator_") is self.estimator:  # a prefit learner: it is copied before it is trained
            del own["estimator_"]
        twin.__dict__.update(vars(self) | copy.deepcopy(own))
        return twin

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

    def _held_out(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array, Array]:
        """Return a learner trained on all rows, and the scores of rows by learners that were not trained on them.

        The codes and the weights of these rows come last.
        """
        learner = clone(self.estimator).fit(X, y, **_given(sample_weight))
        labels = clean(y, _num_samples(X))
        codes, weights = encode(labels)[1], _weights_of(sample_weight, len(labels))
        (X,) = indexable(X)
        rows, scores = [], []
        for part, held in self._folds(X, labels, sample_weight):
            rows.append(held)
            scores.append(self._scores_by(part, _safe_indexing(X, held)))
        where = np.concatenate(rows)
        order = np.argsort(where, kind="stable")
        return learner, np.concatenate(scores)[order], codes[where[order]], weights[where[order]]

    def _prefit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array, Array]:
        """Return the learner that was given, and its scores of these rows."""
        learner = self._trained()
        codes = codes_among(clean(y, _num_samples(X)), learner.classes_)
        return learner, self._scores_by(learner, X), codes, _weights_of(sample_weight, len(codes))

    def _scores_by(self, learner: Any, X: Any) -> Array:
        """Return the scores to learn a map from: a temperature compares classes, others take each class alone."""
        return plain_scores(learner, X) if self.method == "temperature" else scores_of(learner, X)

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
                scores = self._scores_by(learner, block) if len(known) > 1 else None
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

    def _maps_of(self, seen: Recent, classes: int) -> list[Map]:
        if self.method == "temperature":
            return [fit_temperature(*seen)] if classes > 1 else []
        maps: list[Map] = [METHODS[self.method](*problem) for problem in seen.problems(classes)]
        if any(isinstance(of, Platt) and not of.converged for of in maps):
            warnings.warn("a sigmoid's slope was not found to the last digit", ConvergenceWarning, stacklevel=4)
        return maps

    def _scores(self, X: Any) -> Array:
        scores = plain_scores(self._fitted(), X)
        return scores if self._has_temperature else set_apart(self.estimator_, scores)

    def _probabilities(self, scores: Array) -> Array:
        classes, maps = len(self.classes_), self.calibration_
        if classes == 1:
            return np.ones((len(scores), 1))
        if classes == 2:
            second = maps[0].probabilities(scores)
            return np.column_stack([1 - second, second])
        if isinstance(maps[0], Temperature):
            return maps[0].probabilities(scores)
        each = np.column_stack([of.probabilities(column) for of, column in zip(maps, scores.T, strict=True)])
        total = each.sum(axis=1, keepdims=True)
        each[total[:, 0] == 0] = 1.0
        return each / np.where(total == 0, classes, total)


def _rows(X: Any, start: int, stop: int) -> Any:
    """Return consecutive rows; those of a CSR matrix are not copied, which takes longer than to learn."""
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
