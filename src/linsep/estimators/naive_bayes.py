"""Naive Bayes as a linear separator that counts."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import special
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.batch import BatchLearner, BatchProblem, BatchSolution, solved_state
from linsep.estimators.base.facts import Fact
from linsep.solvers.naive_bayes.precision import level_ties
from linsep.solvers.naive_bayes.rows import groups_of, present, refuse_negative, refuse_not_one_hot
from linsep.solvers.naive_bayes.weights import KINDS, NO_GROUPS, BayesWeights, ClassCounts, priors_of
from linsep.training.state import TrainingState
from linsep.training.transaction import all_or_nothing, on_snapshot
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import (
    NO_WIDTH,
    refuse_bad_entries,
    refuse_many_labels,
    refuse_other_columns,
    single_row,
    without_duplicates,
)
from linsep.validation.labels import clean

SHARE = Interval(Real, 0, None, closed="left")


class NaiveBayes(BatchLearner):
    """Naive Bayes: features independent given the class, whose log-odds are weights.

    The prediction is the class with the largest product of its prior and its features' probabilities. Its logarithm is
    linear, so that `coef_` and `intercept_` are all it takes: log-odds, one row, for two classes, else log
    probabilities, a row for each class. Training counts, in one pass; `partial_fit` in chunks gives the same counts.

    Products that are equal go to the lower class. Rows whose classes are nearly equal are summed again without
    rounding; what is left is that of the weights, eps (2 · sum of |x_j w_j| + that of the intercept) for two classes:
    classes nearer than that have the same score in `decision_function`. So log-odds above 1e-12 decide as they are
    while the sum of |x_j w_j| is below two thousand, and above 1e-11 below twenty thousand. Of more classes, weights
    are log probabilities, larger and compared in pairs: it is eps · sum of |x_j| (2 |w_j| + 4) for each of both, so
    that a row of some hundred counts is decided down to 1e-12, and one of a thousand to 1e-11.

    Parameters
    ----------
    kind : "multinomial", "complement", "bernoulli", "categorical" or "gaussian", default="multinomial"
        Kind of the features. A count (words of a text): entries of 0 and above; "complement" judges a class by the
        counts of all other classes, which helps where some classes have few rows, and has no priors. Present or absent:
        entries above `binarize` are present, in training and in predictions; `coef_` is for entries of 0 and 1. A
        category: one-hot columns, of 0 and 1, which `groups` sorts into variables; no one among a variable's columns is
        a missing value, which counts for nothing. A number, of a normal distribution in each class, with the same
        variance in all.
    alpha : float, default=1.0
        Number added to each count, so that nothing is impossible: 1 is Laplace's. With 0, a feature that a class never
        has (or, present or absent, always has) is an error. Not used by "gaussian".
    priors : None, "uniform" or array, (classes,), default=None
        The probability of each class: its share of the rows, all the same, or as given, in the order of `classes_`.
    groups : array of integers, (features,), default=None
        For "categorical": the variable that each column belongs to.
    binarize : float, default=0.0
        For "bernoulli": what an entry must exceed to be present.
    variance : "pooled", default="pooled"
        For "gaussian": the variance around the class means, over all rows. One "per-class" would not be linear, and is
        refused.
    variance_floor : float, default=0.0
        For "gaussian": the least variance of a feature, as a share of the largest. A feature that is constant gets
        weight 0; one that varies between classes and within none is an error unless this is above 0.
    n_jobs : int or None, default=None
        Threads for prediction; never changes a bit.

    Attributes
    ----------
    class_log_prior_ : array, (classes,)
        The logarithm of each class's prior.
    feature_log_prob_ : array, (classes, features)
        The logarithm of each feature's probability in each class, as scikit-learn's classes of this name have it; of
        "complement", minus that in all other classes. Not for "gaussian".
    class_count_ : array, (classes,)
        Rows of each class, or the sum of their weights.
    feature_count_ : array, (classes, features)
        The sum of each feature in each class (rows where it is present); not for "gaussian".
    mean_, squares_ : arrays, (classes, features)
        For "gaussian": the mean, and the sum of squares of deviations from it.

    Examples
    --------
    >>> from linsep import NaiveBayes
    >>> clf = NaiveBayes().fit([[3, 0, 1], [2, 0, 0], [0, 2, 1], [0, 4, 0]], ["ham", "ham", "spam", "spam"])
    >>> clf.predict([[1, 0, 0], [0, 1, 1]])
    array(['ham', 'spam'], dtype='<U4')
    >>> clf.coef_.round(3), clf.intercept_
    (array([[-1.897,  1.841, -0.105]]), array([0.]))
    """

    class_count_: Array
    feature_count_: Array
    mean_: Array
    squares_: Array
    rounding_: Array
    _facts: ClassVar[dict[str, Fact]] = {
        **{f"{name}_": Fact(object) for name in ClassCounts._fields},
        "open_labels_": Fact(bool),
        "rounding_": Fact(np.float64, least=0),
    }
    _traits = replace(
        BatchLearner._traits,
        never_mixes="",
        mixes="has no `shards`: `distributed.fit` adds up the counts of all parts, or merges gaussian moments",
        counts_rows=True,
        exports_probabilities=True,
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions(set(KINDS))],
        "alpha": [SHARE],
        "priors": [None, StrOptions({"uniform"}), "array-like"],
        "groups": [None, "array-like"],
        "binarize": [SHARE],
        "variance": [StrOptions({"pooled", "per-class"})],
        "variance_floor": [SHARE],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        kind: Literal["multinomial", "complement", "bernoulli", "categorical", "gaussian"] = "multinomial",
        *,
        alpha: float = 1.0,
        priors: Any = None,
        groups: Any = None,
        binarize: float = 0.0,
        variance: Literal["pooled", "per-class"] = "pooled",
        variance_floor: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.kind = kind
        self.alpha = alpha
        self.priors = priors
        self.groups = groups
        self.binarize = binarize
        self.variance = variance
        self.variance_floor = variance_floor
        self.n_jobs = n_jobs

    @property
    def _takes_counts(self) -> bool:
        return bool(self.kind != "gaussian")

    @property
    def _binarizes_at(self) -> float | None:
        tally = self._tally
        return float(tally.binarize) if tally.kind == "bernoulli" else None

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count these rows too; the weights are computed from the counts when they are first used.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array, optional
            In the first call: all labels that will ever come; other labels are then an error, and so is a prediction
            while one of the classes has had no row (unless `priors` are given). Without it labels may arrive at any
            time.
        sample_weight : array, (rows,), optional
            The weight of each row; 0 omits the row.
        """
        first = not hasattr(self, "class_count_")
        return self._count_rows(self._next_problem(X, y, classes, sample_weight, first), first)

    @all_or_nothing
    def learn_one(self, x: Any, y: Any) -> Self:
        """Count one row too: `partial_fit` of it, with features and a label that may be new.

        Each call copies the table of counts; blocks of rows are counted faster by `partial_fit`.

        Parameters
        ----------
        x : dict, (indices, values) or 1-d array
            A dict maps feature names or column numbers to values; names not seen before become new features. Column
            numbers and indices must be below the number of features: see `grow`.
        y : label
            A label not seen before becomes a new class, unless classes were fixed by `fit` or
            `partial_fit(classes=...)`.

        Returns
        -------
        self
        """
        refuse_many_labels(y)
        first = not hasattr(self, "class_count_")
        if first:
            self._validate_params()
        self._add_names(x)
        if not hasattr(self, "n_features_in_"):
            raise InvalidDataError(NO_WIDTH)
        indices, values, _ = self._entries_of(x)
        refuse_other_columns(indices, self.n_features_in_, named=self._names is not None)
        row = single_row(indices, values, self.n_features_in_, self._bias)
        return self._count_rows(self._continued(row, clean([y], 1), None, None, first), first)

    def _make_room(self) -> None:
        more = self.n_features_in_ - self._tally.features if hasattr(self, "class_count_") else 0
        if more:
            self._widen_counts(more)

    def _widen_counts(self, more: int) -> None:
        if self._tally.kind == "categorical":
            raise ParameterError("the variables of new columns are not known: name them in groups=, and fit again")
        self._replace_counts(self._tally.widened(more))

    def _count_rows(self, problem: tuple[BatchProblem, Array, bool], first: bool) -> Self:
        (data, codes, weights, known), places, is_open = problem
        tally = self._started(len(known), data.n_features) if first else self._resumed(data.n_features)
        tally = tally.admitted(places) if len(places) else tally
        return self._resume_with(tally.plus(self._distinct(data), codes, weights), known, is_open)

    def _resume_with(self, tally: ClassCounts, classes: Array, open_labels: bool) -> Self:
        """Replace the classes and the counts; the weights are computed from them when they are first used."""
        self.classes_, self.n_iter_, self.seed_, self._open = classes, 1, self._draw_seed(), False
        self.open_labels_ = open_labels
        self._replace_counts(tally)
        return self

    def _replace_counts(self, tally: ClassCounts) -> None:
        """Replace the counts, and drop the weights that were made of the old ones."""
        self._drop_prepared()
        for name in ("_state", "rounding_"):
            self.__dict__.pop(name, None)
        for name, fact in _facts_of(tally).items():
            setattr(self, name, fact)

    @all_or_nothing
    def grow(self, n_features: int) -> Self:
        """Make room for `n_features`, as if the new ones had been there, always 0, from the start."""
        more = self._more_features(n_features)
        if hasattr(self, "class_count_") and more:
            self._widen_counts(more)
        self.n_features_in_ = int(n_features)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return Pr(class | x), (rows, classes), if features are independent as the model has it."""
        return np.exp(self.predict_log_proba(X))

    @on_snapshot
    def predict_log_proba(self, X: Any) -> Array:
        """Return ln Pr(class | x), (rows, classes)."""
        return self._log_probabilities(self.decision_function(X))

    predict_proba_one = BatchLearner._predict_proba_one

    def _probabilities(self, scores: Array) -> Array:
        return np.exp(self._log_probabilities(scores))

    def _log_probabilities(self, scores: Array) -> Array:
        if scores.ndim > 1:
            return special.log_softmax(scores, axis=1)
        if len(self.classes_) == 1:
            return np.zeros((len(scores), 1))
        return np.column_stack([special.log_expit(-scores), special.log_expit(scores)])

    predict_one = BatchLearner._predict_one_by_scores

    @property
    @on_snapshot
    def class_log_prior_(self) -> Array:
        """The logarithm of each class's prior, (classes,)."""
        self._fitted()
        counts = self.class_count_
        return np.log(priors_of(self.priors, counts, self.classes_.tolist()))

    @property
    @on_snapshot
    def feature_log_prob_(self) -> Array:
        """The logarithm of each feature's probability in each class, (classes, features)."""
        self._fitted()
        if self._tally.kind == "gaussian":
            raise AttributeError("gaussian naive Bayes has densities, and no probabilities of features: see mean_")
        return self._tally.log_probabilities(float(self.alpha))

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        data, codes, row_weights, classes = problem
        tally = self._started(len(classes), data.n_features).plus(self._distinct(data), codes, row_weights)
        found = self._found(tally, classes)
        facts = {**_facts_of(tally), "open_labels_": False, "rounding_": found.size}
        return BatchSolution(found.weights, facts=facts, joint=len(classes) > 2)

    def _fitted(self) -> TrainingState:
        """Return the state, made of the counts if it has not been since the last of them came."""
        if not hasattr(self, "_state") and hasattr(self, "class_count_"):
            found = self._found(self._tally, self.classes_)
            solution = BatchSolution(found.weights, joint=len(self.classes_) > 2)
            self.rounding_ = found.size
            self._state = solved_state(solution, self.n_features_in_, self._bias)  # last: then all is there
        return super()._fitted()

    def _scores(self, data: Dense | Csr) -> Array:
        """Return the scores of rows as their kind has them, with ties made equal."""
        state, kind = self._fitted(), self._tally.kind
        if kind == "bernoulli":
            refuse_bad_entries(data)
            parts = present(without_duplicates(data), self._tally.binarize)
            return self._of_classes(np.concatenate([self._leveled(state, part) for _, part in parts]))
        if kind == "categorical":
            refuse_bad_entries(data)
            refuse_not_one_hot(data, self._tally.groups)
        return self._of_classes(self._leveled(state, data))

    def _finite_scores(self, data: Dense | Csr) -> Array:
        return self._scores(data)

    def _leveled(self, state: TrainingState, data: Dense | Csr) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = state.scorer(data.n_features).scores(data, threads(self.n_jobs))
        if not np.isfinite(scores).all():
            refuse_bad_entries(data)
            raise InvalidDataError("a score is too large for float64: divide all of X by one factor, in training too")
        if len(self.classes_) == 1:
            return scores
        weights = state.whole().link.s
        return level_ties(scores, data, weights, self.rounding_, 0.0 if self._tally.kind == "gaussian" else 1.0)

    def _check_entries(self, data: Dense | Csr) -> None:
        if self.variance == "per-class":
            raise ParameterError(
                "variance='per-class' makes the boundary quadratic, and a separator is linear: use 'pooled', or "
                "scikit-learn's GaussianNB"
            )
        if self.kind in ("multinomial", "complement"):
            refuse_negative(data)
        if self.kind == "categorical":
            refuse_not_one_hot(data, groups_of(self.groups, data.n_features))

    def _distinct(self, data: Dense | Csr) -> Dense | Csr:
        """Return data that store no column of a row twice, if it matters: what is added up may come in parts."""
        return without_duplicates(data) if self.kind in ("bernoulli", "gaussian") else data

    def _started(self, classes: int, features: int) -> ClassCounts:
        groups = groups_of(self.groups, features) if self.kind == "categorical" else NO_GROUPS
        return ClassCounts.start(self.kind, classes, features, groups, float(self.binarize))

    def _resumed(self, features: int) -> ClassCounts:
        """Return the counts so far, if the parameters that they depend on are still the same."""
        now, tally = self._started(0, features), self._tally
        for name in ("kind", "groups", "binarize"):
            if not np.array_equal(getattr(now, name), getattr(tally, name)):
                raise ParameterError(
                    f"training can't resume with {name}={getattr(self, name)!s:.60}: it began otherwise"
                )
        return tally

    @property
    def _tally(self) -> ClassCounts:
        kept = ((name, getattr(self, f"{name}_", None)) for name in ClassCounts._fields)
        return ClassCounts(**{name: value for name, value in kept if value is not None})

    def _found(self, tally: ClassCounts, classes: Array) -> BayesWeights:
        labels = classes.tolist()
        priors = self._priors(tally, labels)
        return tally.found(priors, float(self.alpha), float(self.variance_floor), labels)

    def _priors(self, tally: ClassCounts, labels: list[Any]) -> Array:
        """Return the probability of each class; all 1 for a kind without priors."""
        if tally.kind != "complement":
            return priors_of(self.priors, tally.class_count, labels)
        if self.priors is not None:
            raise ParameterError(f"priors={self.priors!s:.60}: kind='complement' has no priors; remove priors=")
        if len(empty := np.flatnonzero(tally.class_count == 0)):
            raise InvalidDataError(
                f"the class {labels[empty[0]]!r} has had no rows: start without `classes` to let it join when its "
                "first row comes"
            )
        return np.ones(len(labels))

    def _check_facts(self) -> None:
        super()._check_facts()
        columns = len(self.classes_) if len(self.classes_) > 2 else 1
        self._tally.refuse_unsound(len(self.classes_), self.n_features_in_)
        self._priors(self._tally, self.classes_.tolist())
        rounded = self.rounding_.shape == (columns,) and np.isfinite(self.rounding_).all()
        if not rounded or "open_labels_" not in vars(self):
            raise ValueError("it does not state how its weights were rounded, or whether more labels may come")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "class_count_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.kind in ("multinomial", "complement", "categorical")
        tags.classifier_tags.poor_score = self.kind in ("multinomial", "complement")  # on features that are no counts
        return tags


def _facts_of(tally: ClassCounts) -> dict[str, Any]:
    """Return what is kept of the rows as attributes of the learner, without the tables that its kind does not have."""
    return {f"{name}_": value for name, value in tally._asdict().items() if np.size(value)}
