"""Perceptron, PassiveAggressiveClassifier, PassiveAggressiveRegressor, SGDClassifier and SGDRegressor of scikit-learn.

| parameter                                   | part of linsep                                                        |
|---------------------------------------------|-----------------------------------------------------------------------|
| `loss`, `epsilon`                           | the rule: a row of `LOSSES`                                            |
| `learning_rate` pa1, pa2 (`eta0`)           | the rule: passive-aggressive, `C` = eta0                               |
| `learning_rate`, `eta0`, `power_t`          | the rule's schedule rate / (offset + t)^power: :func:`schedule`        |
| `penalty`, `alpha`, `l1_ratio`              | the rule's `shrink` and `lasso`; the link `FreeBias`, or `Clipped`     |
| `average`                                   | the readout `AverageWithLosses`, else `LastWithLosses`                 |
| `fit_intercept`                             | the constant feature: 1, or 0.1 on sparse rows (a rate of 0.1²)        |
| `tol`, `n_iter_no_change`, `early_stopping` | the driver: :class:`linsep.training.by_loss.LossStopping`              |
| `class_weight`, `sample_weight`             | the weight of a row in the pass                                        |
| `coef_init`, `warm_start`                   | the weights that the state begins with                                 |
"""

import inspect
import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array

from linsep.compat.shuffling import orders
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import split, threads
from linsep.engine.step import reads_norm
from linsep.estimators.base.batch import BatchSolution, solved_state
from linsep.estimators.base.learner import Learner, refuse_one_class
from linsep.estimators.base.regressor import Regressor, targets_of
from linsep.estimators.base.traits import Traits
from linsep.rules import descent
from linsep.rules.passive_aggressive_regression import ShrinkingPassiveAggressive, ShrinkingRegression
from linsep.training.by_loss import Columns, LossStopping, OverflowAtEpochError
from linsep.training.state import NO_WEIGHTS, SparseState, StoppedError, as_floats
from linsep.training.transaction import all_or_nothing, on_snapshot
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import canonical, refuse_bad_entries, without_duplicates
from linsep.validation.labels import clean, codes_among, encode

LOSSES: dict[str, tuple[type, dict[str, float]]] = {
    "hinge": (descent.HingeDescent, {"margin": 1.0}),
    "perceptron": (descent.HingeDescent, {"margin": 0.0}),
    "squared_hinge": (descent.SquaredHingeDescent, {}),
    "log_loss": (descent.LogLossDescent, {}),
    "modified_huber": (descent.ModifiedHuberDescent, {}),
    "squared_error": (descent.SquaredErrorDescent, {}),
    "huber": (descent.HuberDescent, {}),
    "epsilon_insensitive": (descent.EpsilonInsensitiveDescent, {}),
    "squared_epsilon_insensitive": (descent.SquaredEpsilonInsensitiveDescent, {}),
}
"""The rule of each loss, and the numbers of it that the loss fixes."""
OF_TARGETS = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
"""The losses of regressors."""
SPARSE_BIAS = 0.1
"""The constant feature's value on sparse rows: its weight and its value both count, so that the rate is 0.01."""
NO_ROWS = np.empty(0, np.intp)


class Schedule(NamedTuple):
    """The rate of round t is rate / (offset + t)^power."""

    rate: float
    offset: float = 0.0
    power: float = 0.0


def schedule(learning_rate: str, eta0: float, power_t: float, alpha: float) -> Schedule:
    """Return the numbers of a learning rate's schedule.

    >>> schedule("optimal", eta0=0.0, power_t=0.5, alpha=0.0001)
    Schedule(rate=10000.0, offset=999.0, power=1.0)
    """
    if learning_rate == "optimal":
        return Schedule(1.0 / alpha, 1.0 / (alpha**-0.25 * alpha) - 1.0, 1.0)
    return Schedule(eta0, 0.0, power_t if learning_rate == "invscaling" else 0.0)


class Stochastic(BaseEstimator):
    """Base of the classifiers and the regressors: parameters, the rule, training."""

    loss: str
    learning_rate: str
    penalty: str | None
    alpha: float
    l1_ratio: float | None
    eta0: float
    power_t: float
    epsilon: float
    average: bool | int
    tol: float | None
    fit_intercept: bool
    verbose: int
    n_jobs: int | None = None
    t_: float
    n_features_in_: int
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "learning_rate": [StrOptions({"constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"})],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "power_t": [Interval(Real, None, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
        "C": [Interval(Real, 0, None, closed="right")],
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give a subclass the constraints of the parameters that it has."""
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls) and "_parameter_constraints" not in vars(cls):
            names = list(inspect.signature(cls.__init__).parameters)[1:]
            cls._parameter_constraints = {n: Stochastic._parameter_constraints[n] for n in names if n != "loss"}
            if "loss" in names:
                cls._parameter_constraints["loss"] = [StrOptions(set(cls._losses()))]

    @classmethod
    def _losses(cls) -> list[str]:
        return list(cls.loss_functions)

    def _rule(self, bias: float) -> Any:
        """Return the rule that the parameters describe; `bias` is the constant feature's value."""
        shrink, lasso = self._penalties()
        if self.learning_rate in ("pa1", "pa2"):
            keep, pull = max(0.0, 1.0 - self.eta0 * shrink), self.eta0 * lasso
            hardness = _hardness(self.eta0, self.learning_rate == "pa1")
            if self.loss == "hinge":
                return ShrinkingPassiveAggressive(*hardness, bias, keep, pull)
            return ShrinkingRegression(*hardness, self.epsilon, bias, keep, pull)
        kind, fixed = LOSSES[self.loss]
        if "epsilon" in kind._fields:  # type: ignore[attr-defined]
            fixed = fixed | {"epsilon": self.epsilon}
        rate = schedule(self.learning_rate, self.eta0, self.power_t, self.alpha)
        return kind(**rate._asdict(), shrink=shrink, lasso=lasso, **fixed)

    def _penalties(self) -> tuple[float, float]:
        """Return the factors of ||w||²/2 and of ||w||_1."""
        if self.penalty is None:
            return 0.0, 0.0
        l1 = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio}[self.penalty]
        return self.alpha * (1.0 - l1), self.alpha * l1  # type: ignore[operator]

    def _check_parameters(self, partial: bool = False) -> None:
        """Raise a ValueError for parameters that do not go together, or that linsep does not have."""
        if partial and self.early_stopping:
            raise ParameterError("early_stopping should be False with partial_fit: it sets rows of all the data aside")
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ParameterError('alpha=0: it must be above 0 for learning_rate="optimal", whose rates it determines')
        own = "hinge" if "hinge" in self.loss_functions else "epsilon_insensitive"
        if self.learning_rate in ("pa1", "pa2") and self.loss != own:
            raise ParameterError(
                f"loss={self.loss!r}: learning_rate={self.learning_rate!r} is for the loss {own!r} alone; choose that "
                "loss, or another learning rate"
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ParameterError("l1_ratio must be set when penalty is 'elasticnet'")

    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    max_iter: int
    shuffle: bool
    random_state: Any
    warm_start: bool
    _averages: list[Columns]
    """The columns in training, with an average that has begun; empty if the weights that predict are all of them."""
    _dtype: Any = np.float64
    _fitted: Callable[[], Any]

    def _bias_of(self, data: Any) -> float:
        return 0.0 if not self.fit_intercept else SPARSE_BIAS if sp.issparse(data) else 1.0

    def _validated(self, X: Any, reset: bool) -> Dense | Csr:
        data = canonical(self, X, bias=self._bias_of(X), reset=reset)
        refuse_bad_entries(data)
        if reads_norm(type(self._rule(data.bias))):
            data = without_duplicates(data)
        if reset:
            self._dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return data

    def _weights_of(self, sample_weight: Any, rows: int) -> Array:
        """Return the weight of each row, or an empty array if all are 1."""
        if sample_weight is None:
            return NO_WEIGHTS
        if isinstance(sample_weight, Real):
            return np.full(rows, float(sample_weight))
        weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
        if weights.shape != (rows,):
            raise InvalidDataError(
                f"sample_weight has the shape {weights.shape}: pass one weight for each of {rows} rows"
            )
        return np.ascontiguousarray(weights)

    def _start(self, data: Dense | Csr, number: int, coef_init: Any, intercept_init: Any) -> Array:
        """Return the weights to begin with, (features + 1, columns), as the constant feature's value scales them."""
        weights = np.zeros((data.n_features + 1, number))
        if self.warm_start and hasattr(self, "_state"):
            coef_init = self._warm("coef_") if coef_init is None else coef_init
            intercept_init = self._warm("intercept_") if intercept_init is None else intercept_init
        for name, value, shape, rows in (
            ("coef_init", coef_init, (number, data.n_features), slice(0, -1)),
            ("intercept_init", intercept_init, (number, 1), slice(-1, None)),
        ):
            if value is None:
                continue
            given = np.asarray(value, np.float64)
            flat = (shape[0],) if name == "intercept_init" else (shape[1],) if number == 1 else shape
            if given.shape not in (shape, flat) and not (name == "intercept_init" and number == 1 and given.size == 1):
                raise ParameterError(
                    f"Provided {name} does not match dataset: it has the shape {given.shape}; pass {flat}"
                )
            weights[rows] = given.reshape(shape).T
        return self._as_sums(weights, data.bias)

    def _warm(self, name: str) -> Any:
        weights: Any = self._state.whole().link.s
        return weights[:-1].T if name == "coef_" else weights[-1]

    def _train(
        self, data: Dense | Csr, y: Array, weights: list[Array], groups: list[Columns], epochs: int, held: Array,
        seeds: list[int],
    ) -> None:  # fmt: skip
        """Train the groups of columns, and publish the weights that predict."""
        how = LossStopping(
            epochs,
            self.tol,
            self.n_iter_no_change,
            lambda columns: orders(data.n_rows, seeds[columns.classes[0] % len(seeds)], self.shuffle, held),
            self._judge(data, y, weights, held) if len(held) else None,
            self.learning_rate == "adaptive" and epochs > 1,
            print if self.verbose else None,
        )
        try:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                groups = how.train_all(groups, data, y, weights, threads(self.n_jobs))
        except (OverflowAtEpochError, StoppedError):
            epoch = max(group.epochs for group in groups) + 1
            raise InvalidDataError(
                f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data with StandardScaler or "
                "MinMaxScaler might help."
            ) from None
        self.n_iter_ = max(group.epochs for group in groups)
        self.t_ += self.n_iter_ * data.n_rows
        self._publish(groups, data)

    def _publish(self, groups: list[Columns], data: Dense | Csr) -> None:
        """Make the weights that predict those of the groups, with a constant feature of 1."""
        number = sum(len(group.classes) for group in groups)
        weights = np.empty((data.n_features + 1, number))
        for group in groups:
            weights[:, group.classes if number > 1 else [0]] = group.predicting()
        weights[-1] *= data.bias
        self._state = solved_state(BatchSolution(weights), data.n_features, 1.0)
        self._averages = groups if any(group.averages for group in groups) else []
        getattr(self, "_drop_prepared", lambda: None)()

    def _resumed(self, data: Dense | Csr, cuts: list[Array]) -> list[Columns]:
        """Return the columns of the last call; those without an average begin with the weights that predict."""
        if self._averages:
            groups = [group.select(np.arange(len(group.classes))) for group in self._averages]
            for group in groups:
                group.epochs, group.state.rule = 0, as_floats(self._rule(data.bias))
                group.state.tally.rounds[0] = int(self.t_) - 1
                move_bias(group, data.bias)
            return groups
        weights = self._state.whole().link.s.copy()
        return self._columns_from(data, self._as_sums(weights, data.bias), cuts)

    def _columns_from(self, data: Dense | Csr, start: Array, cuts: list[Array]) -> list[Columns]:
        """Return groups of columns, of the classes in each cut, that begin with these weights."""
        rule, onset, t = self._rule(data.bias), int(self.average) or None, int(self.t_) - 1
        where = [cut if start.shape[1] > 1 else [0] for cut in cuts]
        return [
            Columns.start(rule, start[:, own], data.bias, cut, onset, t) for own, cut in zip(where, cuts, strict=True)
        ]

    def _as_sums(self, weights: Array, bias: float) -> Array:
        """Return weights whose last row is intercepts with the constant feature's weights in their place."""
        if bias:
            weights[-1] /= bias
        elif weights[-1].any():
            raise ParameterError("fit_intercept=False, but there is an intercept to begin with: set fit_intercept=True")
        return weights

    @property
    @on_snapshot
    def intercept_(self) -> Array:
        """The bias of each row of `coef_`, to write to as to that."""
        return live(self._fitted().link.s[-1], self._dtype)

    @intercept_.setter
    def intercept_(self, biases: Any) -> None:
        self._set_published(slice(-1, None), biases)

    def _set_published(self, rows: slice, values: Any) -> None:
        state = self._state.whole()
        state.link.s[rows] = np.reshape(np.asarray(values, np.float64), (state.columns, -1)).T
        self._state, self._averages = state, []
        getattr(self, "_drop_prepared", lambda: None)()

    def _seeds(self, classes: int, alone: bool = False) -> list[int]:
        """Return the seed of the order of rows that scikit-learn draws for each class that trains alone.

        Columns that train together visit the rows in the order of the first class.
        """
        most, generator = np.iinfo(np.int32).max, check_random_state(self.random_state)
        generators = [generator]
        if classes > 2:
            seeds = generator.randint(most, size=classes)
            generators = [np.random.RandomState(seed) for seed in (seeds if alone else seeds[:1])]
        if classes >= 2:
            for each in generators:
                each.randint(1, most)
        return [int(each.randint(most)) for each in generators]

    def _judge(self, data: Dense | Csr, y: Array, weights: list[Array], held: Array) -> Any:
        """Return the function that scores columns on the rows set aside."""
        rows, own = data.take(held), weights[0][held] if len(weights[0]) else None

        def judge(columns: Columns) -> Array:
            return self._score_columns(columns, columns.scores(rows), y[held], own)

        return judge

    def _score_columns(self, columns: Columns, scores: Array, y: Array, weights: Array | None) -> Array:
        raise TypeError(f"{type(self).__name__} has no method _score_columns")

    def _held_out(self, y: Array, weights: Array, stratify: bool) -> Array:
        """Return the rows to set aside for early stopping."""
        if not self.early_stopping:
            return NO_ROWS
        splitter = StratifiedShuffleSplit if stratify else ShuffleSplit
        cut = splitter(test_size=self.validation_fraction, random_state=self.random_state)
        _, held = next(cut.split(np.zeros((len(y), 1)), y))
        if len(weights) and not (weights[held] > 0).any():
            raise InvalidDataError(
                "The sample weights for validation set are all zero, consider using a different random state."
            )
        return np.asarray(held)

    def _warn(self) -> None:
        """Warn if training ended before it converged, and of a deprecated parameter."""
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated: rates rise with the rounds. Use 0 or more.",
                FutureWarning,
                stacklevel=4,
            )

    n_iter_: int


def move_bias(group: Columns, bias: float) -> None:
    """Express the bias's sums for another value of the constant feature: rows are sparse now, or were before."""
    state = group.state
    if bias and state.bias:
        for sums in (state.link.s, getattr(state.readout, "u", None)):
            if sums is not None:
                sums[-1] *= state.bias / bias
    state.bias = bias


def live(weights: Array, kind: Any) -> Array:
    """Return weights of the model, or a read-only copy if they are asked for in another type."""
    return weights if weights.dtype == kind else frozen(weights.astype(kind))


class Classifier(Stochastic, Learner):
    """Training of the classifiers: one class against the rest."""

    class_weight: Any
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = {
        name: (kind, *fixed.values()) if fixed or "epsilon" not in kind._fields else (kind, 0.1)  # type: ignore[attr-defined]
        for name, (kind, fixed) in LOSSES.items()
    }
    _traits = Traits(never_mixes="its training is scikit-learn's")

    @property
    @on_snapshot
    def coef_(self) -> Any:
        """The weights, (1, features) for two classes, else (classes, features).

        Writing to the array changes the model. It is a read-only copy for float32 rows, and CSR after `sparsify`.
        """
        state = self._fitted()
        return super().coef_ if isinstance(state, SparseState) else live(state.link.s[:-1].T, self._dtype)

    @coef_.setter
    def coef_(self, weights: Any) -> None:
        self._set_published(slice(0, -1), weights)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Train on all rows, epoch after epoch.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels.
        coef_init, intercept_init : array, optional
            The weights to begin with, of the shapes of `coef_` and `intercept_`.
        sample_weight : array, (rows,), optional
            Multiplies each row's step; 0 leaves the row out.

        Returns
        -------
        self
        """
        self._check_parameters()
        warm = self.warm_start and hasattr(self, "_state")
        data = self._validated(X, reset=True)
        labels = clean(y, data.n_rows)
        classes, codes = encode(labels)
        if not warm or not np.array_equal(classes, self.classes_):
            refuse_one_class(classes)
        weights = self._weights_of(sample_weight, data.n_rows)
        binary = len(classes) == 2
        held = self._held_out(codes, weights, stratify=True)
        if len(weights) and not weights.any():
            raise InvalidDataError("every row has weight zero: pass a sample_weight above 0 for some rows")
        start = self._start(data, 1 if binary else len(classes), coef_init, intercept_init)
        self.classes_, self.t_ = classes, 1.0
        of_class = compute_class_weight(self.class_weight, classes=classes, y=labels)
        groups = self._columns_from(data, start, self._cuts(of_class))
        each = [self._row_weights_of(group, codes, weights, of_class) for group in groups]
        self._train(data, codes, each, groups, self.max_iter, held, self._seeds(len(classes), self._alone(of_class)))
        self._warn()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over these rows.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels.
        classes : array, optional
            All labels that will ever come; required in the first call.
        sample_weight : array, (rows,), optional
            Multiplies each row's step; 0 leaves the row out.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_state")
        if first:
            self._check_parameters(partial=True)
            if self.class_weight == "balanced":
                raise ParameterError(
                    "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                    "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough "
                    "sample of the full training set target to properly estimate the class frequency distributions. "
                    "Pass the resulting weights as the class_weight parameter."
                )
            if classes is None:
                raise ParameterError("classes must be passed on the first call to partial_fit.")
        known = np.unique(np.asarray(classes)) if classes is not None else self.classes_
        if not first and not np.array_equal(known, self.classes_):
            raise ParameterError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        data = self._validated(X, reset=first)
        labels = clean(y, data.n_rows)
        codes = codes_among(labels, known, "name all labels in the first call to partial_fit")
        weights = self._weights_of(sample_weight, data.n_rows)
        of_class = compute_class_weight(self.class_weight, classes=known, y=labels)
        if first:
            refuse_one_class(known)
            self.classes_, self.t_ = known, 1.0
        if first:
            start = self._start(data, 1 if len(known) == 2 else len(known), None, None)
            groups = self._columns_from(data, start, self._cuts(of_class))
        else:
            groups = self._resumed(data, self._cuts(of_class))
        each = [self._row_weights_of(group, codes, weights, of_class) for group in groups]
        self._train(data, codes, each, groups, 1, NO_ROWS, self._seeds(len(known), self._alone(of_class)))
        return self

    def _alone(self, of_class: Array) -> bool:
        """Return whether each class trains alone: the weights of rows, the rates or the ends of training differ."""
        return bool((of_class != 1.0).any()) or self.early_stopping or self.learning_rate == "adaptive"

    def _cuts(self, of_class: Array) -> list[Array]:
        """Return the classes of each group of columns that train together."""
        if len(of_class) == 2:
            return [np.array([1])]
        number = len(of_class)
        return [np.arange(a, b) for a, b in split(number, number if self._alone(of_class) else threads(self.n_jobs))]

    def _row_weights_of(self, group: Columns, codes: Array, weights: Array, of_class: Array) -> Array:
        """Return the rows' weights for a group: a class's own weight counts for its rows, against the rest or not."""
        if (of_class == 1.0).all():
            return weights
        if len(of_class) == 2:
            factors = of_class[codes]
        else:
            factors = np.where(codes == group.classes[0], of_class[group.classes[0]], 1.0)
        return factors * weights if len(weights) else factors

    def _score_columns(self, columns: Columns, scores: Array, y: Array, weights: Array | None) -> Array:
        """Return the share of rows that each column classifies correctly."""
        right = (scores > 0) == (y[:, None] == columns.classes)
        return np.average(right, axis=0, weights=weights)


class RegressorBase(Stochastic, Regressor):
    """Training of the regressors."""

    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = {
        name: Classifier.loss_functions[name] for name in OF_TARGETS
    }

    @property
    @on_snapshot
    def coef_(self) -> Any:
        """The weights, (features,), to write to as for the classifiers."""
        state = self._fitted()
        if isinstance(state, SparseState):
            return state.of_all_features(state.scorer().weights()[:-1].T)
        return live(state.link.s[:-1, 0], self._dtype)

    @coef_.setter
    def coef_(self, weights: Any) -> None:
        self._set_published(slice(0, -1), weights)

    @all_or_nothing
    def sparsify(self) -> Self:
        """Drop the features whose weights are zero; predictions stay the same to the bit. Return the regressor."""
        self._state = self._fitted().sparsified()
        return self

    @all_or_nothing
    def densify(self) -> Self:
        """Restore the features that `sparsify` dropped; return the regressor."""
        self._state = self._fitted().whole()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None) -> Self:
        """Train on all rows, epoch after epoch.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their targets.
        coef_init, intercept_init : array, optional
            The weights to begin with, of the shapes of `coef_` and `intercept_`.
        sample_weight : array, (rows,), optional
            Multiplies each row's step; 0 leaves the row out.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._validated(X, reset=True)
        targets = targets_of(y, data.n_rows)
        weights = self._weights_of(sample_weight, data.n_rows)
        held = self._held_out(targets, weights, stratify=False)
        start = self._start(data, 1, coef_init, intercept_init)
        self.t_ = 1.0
        groups = self._columns_from(data, start, [np.array([0])])
        self._train(data, targets, [weights], groups, self.max_iter, held, self._seeds(1))
        self._warn()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over these rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_state")
        if first:
            self._check_parameters(partial=True)
        data = self._validated(X, reset=first)
        targets = targets_of(y, data.n_rows)
        weights = self._weights_of(sample_weight, data.n_rows)
        if first:
            self.t_ = 1.0
            groups = self._columns_from(data, self._start(data, 1, None, None), [np.array([0])])
        else:
            groups = self._resumed(data, [np.array([0])])
        self._train(data, targets, [weights], groups, 1, NO_ROWS, self._seeds(1))
        return self

    def _score_columns(self, columns: Columns, scores: Array, y: Array, weights: Array | None) -> Array:
        return np.array([r2_score(y, scores[:, 0], sample_weight=weights)])


def _has_probabilities(learner: Any) -> bool:
    if learner.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(f"probability estimates are not available for loss={learner.loss!r}")
    return True


class SGDClassifier(Classifier):
    """Linear classifiers by stochastic gradient descent, as scikit-learn's SGDClassifier.

    Every parameter has its meaning and default there; see the table at the top of this module for the parts that it
    becomes.

    Examples
    --------
    >>> from linsep.compat import SGDClassifier
    >>> clf = SGDClassifier(loss="log_loss", random_state=0).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [0, 1, 1, 0])
    >>> clf.predict_proba([[3.0, 0.0]]).round(2)
    array([[0., 1.]])
    """

    def __init__(
        self, loss: str = "hinge", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float | None = 0.15,
        fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool = True,
        verbose: int = 0, epsilon: float = 0.1, n_jobs: int | None = None, random_state: Any = None,
        learning_rate: str = "optimal", eta0: float = 0.01, power_t: float = 0.5, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5, class_weight: Any = None,
        warm_start: bool = False, average: bool | int = False,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average

    @available_if(_has_probabilities)
    @on_snapshot
    def predict_proba(self, X: Any) -> Array:
        """Return the estimated probability of each class, (rows, classes); of the losses log_loss, modified_huber.

        The second of two classes: 1 / (1 + e^-score), or (1 + score cut off at ±1) / 2. More classes: the same of each
        class against the rest, divided by their sum.
        """
        scores = self.decision_function(X)
        if self.loss == "log_loss":
            positive = 0.5 * (1.0 + np.tanh(0.5 * scores))
        else:
            positive = 0.5 * (1.0 + np.clip(scores, -1.0, 1.0))
        if scores.ndim == 1:
            return np.column_stack([1.0 - positive, positive])
        positive[positive.sum(axis=1) == 0] = 1.0
        return np.asarray(positive / positive.sum(axis=1, keepdims=True))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))


class Perceptron(Classifier):
    """The perceptron, as scikit-learn's Perceptron: SGDClassifier with loss="perceptron" and a constant rate.

    :class:`linsep.Perceptron` is the learner with the bound and the certificate.

    Examples
    --------
    >>> from linsep.compat import Perceptron
    >>> Perceptron().fit([[0, 1], [1, 0], [2, 1], [1, 2]], [0, 1, 1, 0]).predict([[3, 0], [0, 3]])
    array([1, 0])
    """

    loss, learning_rate, power_t, average, epsilon = "perceptron", "constant", 0.5, False, 0.1

    def __init__(
        self, *, penalty: str | None = None, alpha: float = 0.0001, l1_ratio: float = 0.15, fit_intercept: bool = True,
        max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool = True, verbose: int = 0, eta0: float = 1.0,
        n_jobs: int | None = None, random_state: Any = 0, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5, class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:  # fmt: skip
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start


class PassiveAggressiveClassifier(Classifier):
    """Passive-aggressive classification, as scikit-learn's PassiveAggressiveClassifier, which its 1.10 removes.

    `loss="hinge"` is PA-I, `"squared_hinge"` PA-II. :class:`linsep.PassiveAggressive` is the learner with the bound and
    the certificate: it counts the bias in ||x||², as the theorem does.

    Examples
    --------
    >>> from linsep.compat import PassiveAggressiveClassifier
    >>> clf = PassiveAggressiveClassifier(random_state=0).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [0, 1, 1, 0])
    >>> clf.predict([[3, 0], [0, 3]])
    array([1, 0])
    """

    learning_rate, penalty, power_t = "pa1", None, 0.5

    @classmethod
    def _losses(cls) -> list[str]:
        return ["hinge", "squared_hinge"]

    def __init__(
        self, *, C: float = 1.0, fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3,
        early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        shuffle: bool = True, verbose: int = 0, loss: str = "hinge", n_jobs: int | None = None,
        random_state: Any = None, warm_start: bool = False, class_weight: Any = None, average: bool | int = False,
    ) -> None:  # fmt: skip
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average

    def _check_parameters(self, partial: bool = False) -> None:
        if partial and self.early_stopping:
            super()._check_parameters(partial)

    def _rule(self, bias: float) -> Any:
        return ShrinkingPassiveAggressive(*_hardness(self.C, self.loss == "hinge"), bias)


class SGDRegressor(RegressorBase):
    """Linear regression by stochastic gradient descent, as scikit-learn's SGDRegressor.

    Every parameter has its meaning and default there.

    Examples
    --------
    >>> from linsep.compat import SGDRegressor
    >>> line = SGDRegressor(random_state=0, penalty=None).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    >>> line.predict([[4.0]]).round()
    array([4.])
    """

    def __init__(
        self, loss: str = "squared_error", *, penalty: str | None = "l2", alpha: float = 0.0001,
        l1_ratio: float | None = 0.15, fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3,
        shuffle: bool = True, verbose: int = 0, epsilon: float = 0.1, random_state: Any = None,
        learning_rate: str = "invscaling", eta0: float = 0.01, power_t: float = 0.25, early_stopping: bool = False,
        validation_fraction: float = 0.1, n_iter_no_change: int = 5, warm_start: bool = False,
        average: bool | int = False,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average


class PassiveAggressiveRegressor(RegressorBase):
    """Passive-aggressive regression, as scikit-learn's PassiveAggressiveRegressor, which its 1.10 removes.

    `loss="epsilon_insensitive"` is PA-I, `"squared_epsilon_insensitive"` PA-II.
    :class:`linsep.PassiveAggressiveRegressor` is the learner with the bound and `learn_one`.

    Examples
    --------
    >>> from linsep.compat import PassiveAggressiveRegressor
    >>> line = PassiveAggressiveRegressor(random_state=0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> line.predict([[3.0]]).round(1)
    array([4.])
    """

    learning_rate, penalty, power_t = "pa1", None, 0.5

    @classmethod
    def _losses(cls) -> list[str]:
        return ["epsilon_insensitive", "squared_epsilon_insensitive"]

    def __init__(
        self, *, C: float = 1.0, fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3,
        early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        shuffle: bool = True, verbose: int = 0, loss: str = "epsilon_insensitive", epsilon: float = 0.1,
        random_state: Any = None, warm_start: bool = False, average: bool | int = False,
    ) -> None:  # fmt: skip
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.epsilon = epsilon
        self.random_state = random_state
        self.warm_start = warm_start
        self.average = average

    def _check_parameters(self, partial: bool = False) -> None:
        if partial and self.early_stopping:
            super()._check_parameters(partial)

    def _rule(self, bias: float) -> Any:
        hardness = _hardness(self.C, self.loss == "epsilon_insensitive")
        return ShrinkingRegression(*hardness, self.epsilon, bias)


def _hardness(C: float, first: bool) -> tuple[float, float]:
    """Return the cap on tau and the softness of PA-I, or of PA-II.

    >>> _hardness(0.5, True), _hardness(0.5, False)
    ((0.5, 0.0), (inf, 1.0))
    """
    return (C, 0.0) if first else (math.inf, 0.5 / C)
