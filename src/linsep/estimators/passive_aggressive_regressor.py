"""Passive-aggressive regression: online, with a bound on the losses."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.readouts import UPDATES
from linsep.engine.runtime import uninterrupted
from linsep.estimators.base.batch import BatchSolution, solved_state
from linsep.estimators.base.regressor import Regressor, targets_of
from linsep.rules.passive_aggressive_regression import PassiveAggressiveRegression
from linsep.training.by_loss import Columns, LossStopping, OverflowAtEpochError
from linsep.training.epochs import order_of
from linsep.training.single_rows import RowLearner
from linsep.training.state import NO_WEIGHTS, StoppedError, TrainingState, as_floats
from linsep.training.state import TOO_LARGE as SCORE_TOO_LARGE
from linsep.training.transaction import all_or_nothing
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import (
    NO_NAMES,
    canonical,
    entries_of_pair,
    known_dict,
    known_entries,
    names_among,
    refuse_bad_entries,
    refuse_other_columns,
    without_duplicates,
)

ONE = np.array([0])
TOO_LARGE = "the weights have left the range of float64: divide all of X, or all of y, by one factor"


class PassiveAggressiveRegressor(Regressor):
    """Move as little as brings the prediction within epsilon of y: w += sign(y - w.x) tau x.

    The loss is l = (|y - w.x| - epsilon)+. PA: tau = l / ||x||²; PA-I: min(C, l / ||x||²); PA-II:
    l / (||x||² + 1/(2C)). With ||x|| <= R and any u of losses l*, PA-II has sum of l² <= (R² + 1/(2C)) (||u||² +
    2 C sum of l*²); for all bounds see :mod:`linsep.rules.passive_aggressive_regression` (Crammer et al., 2006).

    Parameters
    ----------
    C : float, default=1.0
        Limit of the step of one row (PA-I, PA-II).
    variant : "PA-I", "PA" or "PA-II", default="PA-I"
        The rule.
    epsilon : float, default=0.1
        The largest error that is no loss.
    readout : "last" or "average", default="last"
        The weights that predict.
    max_iter : int, default=10
        Maximum number of epochs.
    tol : float or None, default=1e-3
        Training stops when the mean loss of an epoch was not below the best by more than `tol`, `n_iter_no_change`
        times in a row. None: after `max_iter` epochs.
    n_iter_no_change : int, default=5
        Number of epochs for `tol`.
    early_stopping : bool, default=False
        If True, a share of the rows is set aside, and the mean loss of their predictions decides when to stop.
    validation_fraction : float, default=0.1
        The share to set aside.
    shuffle : bool, "blocks" or "once", default=True
        The order of the rows, as for the online classifiers.
    random_state : int, RandomState or None, default=None
        The seed of the order and of the rows set aside, or where to draw it from.
    fit_intercept : bool, default=True
        If True, rows get a constant feature.
    intercept_scaling : float, default=1.0
        The constant feature's value.
    warm_start : bool, default=False
        If True, `fit` resumes where the last one stopped.

    Examples
    --------
    >>> from linsep import PassiveAggressiveRegressor
    >>> line = PassiveAggressiveRegressor(C=10, epsilon=0.01, max_iter=100, tol=None, random_state=0)
    >>> line.fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0]).predict([[4.0]]).round(1)
    array([9.])
    """

    n_iter_: int
    _lost = 0.0
    _columns: Columns
    _row_learner: RowLearner | None = None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions({"PA", "PA-I", "PA-II"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "readout": [StrOptions({"last", "average"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [None, Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "shuffle": ["boolean", StrOptions({"blocks", "once"})],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
    }

    def __init__(
        self, *, C: float = 1.0, variant: Literal["PA", "PA-I", "PA-II"] = "PA-I", epsilon: float = 0.1,
        readout: Literal["last", "average"] = "last",
        max_iter: int = 10, tol: float | None = 1e-3, n_iter_no_change: int = 5, early_stopping: bool = False,
        validation_fraction: float = 0.1, shuffle: bool | Literal["blocks", "once"] = True, random_state: Any = None,
        fit_intercept: bool = True, intercept_scaling: float = 1.0, warm_start: bool = False,
    ) -> None:  # fmt: skip
        self.C = C
        self.variant = variant
        self.epsilon = epsilon
        self.readout = readout
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.shuffle = shuffle
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.warm_start = warm_start

    @property
    def t_(self) -> int:
        """Rounds so far."""
        return int(self._trained().state.tally.rounds[0])

    @property
    def updates_(self) -> int:
        """Return the number of updates."""
        return int(self._trained().state.tally.counts[UPDATES, 0])

    @property
    def loss_(self) -> float:
        """The mean loss of all rounds so far, each by the weights before its update."""
        return float((self._lost + self._trained().state.readout.losses[0]) / self.t_)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all rows, epoch after epoch.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their targets.
        sample_weight : array, (rows,), optional
            Multiplies each row's step; 0 leaves the row out.

        Returns
        -------
        self
        """
        resumes = self.warm_start and hasattr(self, "_columns")
        data, targets, weights = self._checked(X, y, sample_weight, reset=not resumes)
        if not resumes:
            self.seed_ = self._draw_seed()
        columns = self._resumed() if resumes else self._begun(data.n_features)
        held = self._set_aside(data.n_rows)

        def orders(columns: Columns) -> Iterator[Array]:
            for epoch in count(columns.state.epochs):
                order = order_of(self, epoch, data.n_rows)
                if len(held):
                    order = (
                        np.setdiff1d(np.arange(data.n_rows), held) if not len(order) else order[~np.isin(order, held)]
                    )
                yield order

        rows, aside = data.take(held), targets[held]
        rule = columns.state.rule

        def held_out(of: Columns) -> Array:
            miss = np.abs(of.scores(rows)[:, 0] - aside) - rule.epsilon
            return -np.mean(np.maximum(miss, 0.0), keepdims=True)

        how = LossStopping(
            self.max_iter, self.tol, self.n_iter_no_change, orders, held_out if len(held) else None,
            seen=self._count_losses,
        )  # fmt: skip
        if not resumes:
            self._lost = 0.0
        with refusing_overflow():
            (columns,) = how.train(columns, data, targets, weights)
        columns.state.epochs += columns.epochs
        self._columns, self.n_iter_ = columns, columns.epochs
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over these rows, in the order given, from where the last one stopped.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "n_features_in_")
        data, targets, weights = self._checked(X, y, sample_weight, reset=first)
        columns = self._resumed() if hasattr(self, "_columns") else self._begun(data.n_features)
        with refusing_overflow():
            columns.learn(data, targets, weights, np.empty(0, np.intp))
        self._count_losses(columns)
        self._columns, self.n_iter_ = columns, 1
        return self

    def learn_one(self, x: Any, y: float) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : dict, (indices, values) or 1-d array
            A dict maps feature names or column numbers to values; names not seen before become new features.
        y : float
            Its target.

        Returns
        -------
        self
        """
        target = float(y)
        if not isfinite(target):
            raise InvalidDataError(f"y is {y!r}: a target is a finite number; drop the row")
        entries = None if self._row_learner is None else self._entries(x)
        if self._row_learner is None or entries is None:
            with uninterrupted():  # between the update of the weights and the publication of new names
                return self._learn_new(x, target, self._row_learner)
        self._learn(self._row_learner, *entries, target)
        return self

    @all_or_nothing
    def _learn_new(self, x: Any, target: float, row_learner: RowLearner | None) -> Self:
        """Learn from one row that may add features, or follows other training."""
        self._row_learner = row_learner
        self._add_features(x)
        entries = self._entries(x)
        assert entries is not None
        if not hasattr(self, "n_features_in_"):
            raise InvalidDataError(
                "the number of features is not known yet: call partial_fit first, or use named features"
            )
        self._learn(self._row_learner or self._prepare_learn_one(), *entries, target)
        return self

    def _learn(self, row_learner: RowLearner, indices: Array, values: Array, target: float) -> None:
        refuse_other_columns(indices, self.n_features_in_)
        row_learner.learn(indices, values, False, target)

    def _prepare_learn_one(self) -> RowLearner:
        """Cache what stays constant between single rows."""
        self._validate_params()
        columns = self._resumed() if hasattr(self, "_columns") else self._begun(self.n_features_in_)
        self._count_losses(columns)
        if self.readout == "average" and not columns.averages:
            columns.begin_average()
        self._columns, self.n_iter_ = columns, 1
        self._row_learner = RowLearner(columns.state, columns.state.bias, self.n_features_in_, {})
        return self._row_learner

    def predict_one(self, x: Any) -> float:
        """Return the value of one row; features never seen count as 0."""
        columns = self._trained()
        if self._names is not None and hasattr(x, "items"):
            indices, values = known_entries(dict(x.items()), self._names)
            refuse_infinite(values)
        else:
            entries = self._entries(x)
            assert entries is not None
            indices, values = entries
        known = (indices >= 0) & (indices < self.n_features_in_)
        with np.errstate(over="ignore", invalid="ignore"):
            value = columns.value(indices[known], values[known])
        if not isfinite(value):
            raise InvalidDataError(SCORE_TOO_LARGE)
        return value

    def _entries(self, x: Any) -> tuple[Array, Array] | None:
        """Return the column numbers and the values of a row, or None if the row names a new feature."""
        if type(x) is tuple and len(x) == 2:
            indices, values, _ = entries_of_pair(*x)
        elif hasattr(x, "items"):
            entries = known_dict(dict(x.items()), self._names)
            if entries is None:
                return None
            indices, values, _ = entries
        else:
            row = np.asarray(x, np.float64)
            if row.ndim != 1:
                raise InvalidDataError(
                    f"x is one row: a dict, (indices, values) or a 1-d array; got {row.ndim} dimensions"
                )
            if len(row) != self.n_features_in_:
                raise InvalidDataError(f"x has {len(row)} features, but the regressor has {self.n_features_in_}")
            indices, values = np.flatnonzero(row), row[row != 0]
        refuse_infinite(values)
        return indices, values

    def _add_features(self, x: Any) -> None:
        """Make a feature of each new name in x; the weights are widened by doubling."""
        if not hasattr(x, "items"):
            if not hasattr(self, "n_features_in_") and not isinstance(x, tuple):
                self.n_features_in_ = np.size(x)
            return
        x = dict(x.items())
        named = names_among(x)
        if not named:
            if x and self._names is not None:
                raise InvalidDataError("x numbers its columns, but the regressor's features have names")
            return
        if self._names is None:
            if getattr(self, "n_features_in_", 0) > 0:
                raise InvalidDataError(NO_NAMES)
            self._names = {}
        for name in named:
            self._names.setdefault(name, len(self._names))
        self.n_features_in_ = len(self._names)
        if hasattr(self, "_columns") and self.n_features_in_ > self._columns.state.features:
            self._columns = self._columns.select(ONE)  # a row that is refused leaves the arrays as they were
            self._columns.state.resize(2 * self.n_features_in_)
            self._row_learner = None

    def _checked(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Dense | Csr, Array, Array]:
        """Return the rows, their targets and their weights, if they are sound."""
        self._row_learner = None
        bias = self._columns.state.bias if hasattr(self, "_columns") and not reset else self._wanted_bias
        data = canonical(self, X, bias=bias, reset=reset)
        targets = targets_of(y, data.n_rows)
        refuse_bad_entries(data)
        weights = NO_WEIGHTS
        if sample_weight is not None:
            weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
            if weights.shape != (data.n_rows,) or (weights < 0).any():
                raise InvalidDataError(f"sample_weight: pass {data.n_rows} weights of 0 or more, one for each row")
            if not weights.any():
                raise InvalidDataError("every row has weight zero: pass a sample_weight above 0 for some rows")
        return without_duplicates(data), targets, weights

    @property
    def _wanted_bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _rule(self) -> PassiveAggressiveRegression:
        cap, soft = {"PA": (inf, 0.0), "PA-I": (self.C, 0.0), "PA-II": (inf, 0.5 / self.C)}[self.variant]
        return PassiveAggressiveRegression(cap, soft, self.epsilon)

    def _begun(self, features: int) -> Columns:
        """Return the columns before the first round."""
        onset = 1 if self.readout == "average" else None
        if not hasattr(self, "seed_"):
            self.seed_ = self._draw_seed()
        return Columns.start(self._rule(), np.zeros((features + 1, 1)), self._wanted_bias, ONE, onset, 0)

    def _resumed(self) -> Columns:
        """Return a copy of the columns that follows the parameters as they are now."""
        columns = self._columns.select(ONE)
        if (columns.onset is None) != (self.readout == "last"):
            raise ParameterError(
                f"training can't resume with readout={self.readout!r}: it began with another; call fit"
            )
        if columns.state.bias != self._wanted_bias:
            raise ParameterError(
                "training can't resume with another constant feature: call fit, or reset the parameters"
            )
        columns.epochs, columns.state.rule = 0, as_floats(self._rule())
        if columns.state.features != self.n_features_in_:
            columns.state.resize(self.n_features_in_)
        return columns

    def _count_losses(self, columns: Columns) -> None:
        """Add the losses of a pass to those before."""
        self._lost += float(columns.state.readout.losses[0])
        columns.state.readout.losses[:] = 0.0

    def _set_aside(self, rows: int) -> Array:
        if not self.early_stopping:
            return np.empty(0, np.intp)
        from sklearn.model_selection import ShuffleSplit  # takes long to import

        cut = ShuffleSplit(n_splits=1, test_size=self.validation_fraction, random_state=self.seed_)
        return np.sort(next(cut.split(np.zeros((rows, 1))))[1])

    def _check_facts(self) -> None:
        """Raise a ValueError if a model file's record of the training is impossible."""
        state = self._columns.state
        arrays = [state.link.s, *state.readout, np.array([self._lost])]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("its weights, or the losses of its rows, are not finite numbers")
        if self._averaged_rounds > self.t_ or self.updates_ > self.t_ or self._lost < 0:
            raise ValueError("its counts of rounds and of updates, or the sum of its losses, can't be those of one run")

    @property
    def _averaged_rounds(self) -> float:
        """Return the number of rounds in the average; 0 without an average."""
        columns = self._trained()
        return float(columns.state.readout.clock[0]) if columns.averages else 0.0

    def _trained(self) -> Columns:
        if not hasattr(self, "_columns"):
            self._fitted()  # raises the error
        return self._columns

    def _fitted(self) -> TrainingState:
        if not hasattr(self, "_columns"):
            return super()._fitted()
        columns = self._columns
        weights = columns.predicting()
        if columns.state.features != self.n_features_in_:
            weights = np.vstack([weights[: self.n_features_in_], weights[-1:]])
        return solved_state(BatchSolution(weights), self.n_features_in_, columns.state.bias)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_columns")

    def set_params(self, **params: Any) -> Self:
        """Set parameters; resumed training uses them, or refuses those that the weights so far do not allow."""
        self._row_learner = None
        return super().set_params(**params)

    def __copy__(self) -> Self:
        """Return an independent regressor: training one does not change the other."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        if self._names is not None:
            twin._names = self._names.copy()
        if hasattr(self, "_columns"):
            twin._columns = self._columns.select(ONE)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Omit the cache of single rows: it is not part of the model."""
        return {name: value for name, value in super().__getstate__().items() if name != "_row_learner"}


def refuse_infinite(values: Array) -> None:
    """Raise an InvalidDataError if a value of a row is not finite."""
    if not np.isfinite(values).all():
        raise InvalidDataError("x contains NaN or infinity: fill it in, or drop the row")


@contextmanager
def refusing_overflow() -> Iterator[None]:
    """Turn an overflow in training into a ValueError that names the fix."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (OverflowAtEpochError, StoppedError):
        raise InvalidDataError(TOO_LARGE) from None
