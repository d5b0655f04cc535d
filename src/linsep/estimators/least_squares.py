"""Least squares: a classifier on class indicators, and a regression."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.batch import BatchLearner, BatchProblem, BatchSolution, refuse_infinite
from linsep.estimators.base.facts import Fact
from linsep.solvers import least_squares as solvers
from linsep.solvers.least_squares import (
    SHAKY,
    OneHot,
    Targets,
    Triangle,
    absorb,
    refuse_too_wide,
    solve_triangle,
    start_triangle,
    with_features,
    with_targets,
)
from linsep.solvers.products import times
from linsep.training.state import NO_WEIGHTS
from linsep.training.transaction import all_or_nothing, on_snapshot
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import canonical, refuse_bad_entries

SOLVERS = {"auto", "exact", "iterative", "stream"}


def is_stream(learner: Any) -> bool:
    """Return whether rows may come in pieces, or raise an AttributeError that names the way to do it."""
    if learner.solver != "stream":
        raise AttributeError(
            f"solver={learner.solver!r} keeps no sums of the rows: use solver='stream' for partial_fit"
        )
    return True


class LeastSquaresSolver(BaseEstimator):
    """The parameters and the solver that the classifier and the regression share."""

    triangle_: Array
    rows_: int
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions(SOLVERS)],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "n_jobs": [None, Integral],
    }
    _facts: ClassVar[dict[str, Fact]] = {
        "solver_": Fact(str),
        "optimality_": Fact(float, least=0),
        "residual_": Fact(float, "list", least=0),
        "rank_": Fact(int, least=0, none=True),
        "condition_": Fact(float, least=0, none=True),
        "triangle_": Fact(object),
        "rows_": Fact(int, least=0),
    }

    def __init__(
        self,
        *,
        solver: Literal["auto", "exact", "iterative", "stream"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs

    def _least_squares(
        self, data: Dense | Csr, targets: Targets, weights: Array, triangle: Triangle | None = None,
        mix: Array | None = None,
    ) -> BatchSolution:  # fmt: skip
        """Return the weights, with a warning if the solver's budget stopped it.

        A stream adds the rows to the sums so far (`triangle`), and keeps them; `mix` is as in :func:`solve_triangle`.
        """
        if self.solver == "stream":
            triangle = start_triangle(data.n_features, targets.shape[1], data.bias) if triangle is None else triangle
            refuse_too_wide(None, triangle.table.shape[1])
            triangle = absorb(triangle, data, targets, weights)
            found = solve_triangle(triangle, mix)._replace(solver="stream")
            sums = {"triangle_": np.ascontiguousarray(triangle.table), "rows_": triangle.rows}
            return BatchSolution(found.weights, 1, facts_of(found) | sums)
        found = solvers.least_squares(
            data, targets, weights, solver=self.solver, tol=self.tol, max_iter=self.max_iter, jobs=threads(self.n_jobs)
        )
        trouble = (
            f"stopped after max_iter={self.max_iter} iterations with optimality_={found.optimality:.1e}, above "
            f"tol={self.tol:g}: raise max_iter or tol, or bring the columns to one scale "
            "(linsep.transforms.ScaleColumns)"
        )
        return BatchSolution(found.weights, found.iterations, facts_of(found), None if found.converged else trouble)

    def _sums_so_far(self, features: int, bias: float) -> Triangle:
        """Return the sums of a stream, to which rows of so many features may be added."""
        if not hasattr(self, "triangle_"):
            raise ParameterError(
                "the learner was fitted by another solver, which kept no sums of its rows: fit it again as a stream"
            )
        return Triangle(self.triangle_, self.rows_, features, bias)

    def _warn_of_condition(self, found: BatchSolution, stacklevel: int = 6) -> None:
        """Warn if rounding may change the weights by as much as they are."""
        condition = found.facts["condition_"]
        if condition is not None and condition * SHAKY > 1:
            warnings.warn(
                f"{type(self).__name__}: columns are nearly dependent (condition about {condition:.0e}), so that few "
                "digits of the weights can be trusted, though their predictions on such rows can: leave columns out, "
                "or measure them from a nearer origin",
                LinAlgWarning,
                stacklevel=stacklevel,
            )

    def _check_solver_facts(self, features: int, targets: int, bias: float) -> None:
        """Raise a ValueError if facts that came from a file can't be those of a fit."""
        if getattr(self, "solver_", "formula") not in (*SOLVERS - {"auto"}, "formula"):
            raise ValueError(f"its solver_ is {vars(self)['solver_']!r:.40}, which does not exist")
        rank = getattr(self, "rank_", None) or 0
        if rank > features:
            raise ValueError(f"its rank_ is {rank}, and it has {features} features")
        if hasattr(self, "triangle_"):
            refuse_bad_triangle(self.triangle_, getattr(self, "rows_", None), int(bias != 0) + features + targets)


def facts_of(found: solvers.LeastSquaresFit) -> dict[str, Any]:
    """Return the attributes that a solver sets on a learner."""
    return {
        "solver_": found.solver,
        "optimality_": float(found.optimality),
        "residual_": found.residuals.tolist(),
        "rank_": found.rank,
        "condition_": found.condition,
    }


def refuse_bad_triangle(triangle: Any, rows: Any, width: int) -> None:
    """Raise a ValueError when sums that came from a file can't be those of a stream."""
    if not isinstance(triangle, np.ndarray) or triangle.dtype != np.float64 or triangle.ndim != 2:
        raise ValueError("its sums of rows are not a table of float64")
    if triangle.shape[1] != width or len(triangle) > width or not np.isfinite(triangle).all():
        raise ValueError(f"its sums of rows have the shape {triangle.shape}, or a number that is not finite")
    if len(triangle) == width and np.tril(triangle, -1).any():
        raise ValueError("its sums of rows are not a triangle")
    if type(rows) is not int or rows < len(triangle):
        raise ValueError(f"its sums stand for {rows!r:.20} rows, which they can't")


class LeastSquares(LeastSquaresSolver, BatchLearner):
    """Least squares on labels: the w with the least sum of (w.x - y)², an estimate of Pr[y = 1 | x] that is linear.

    Two classes are y = -1 and +1, and (1 + w.x) / 2 estimates the probability of the second. Three or more have a
    column each, 1 for the rows of the class and 0 for others, and its score estimates the class's probability. Where
    several w are best, the shortest is found. The intercept is free: no value of the constant feature changes it.

    Parameters
    ----------
    solver : {"auto", "exact", "iterative", "stream"}, default="auto"
        "exact": orthogonal reflections, block of rows by block, in memory for (features + classes)² numbers, 0.8 GB at
        most. "iterative": LSMR, for wide data, in memory for 16 (rows + features). "stream": "exact", and the sums of
        the rows are kept, so that `partial_fit` continues from them. "auto": the formula for one feature, "iterative"
        where the sums would take more than 32 MB or, on sparse rows, more than a second or so, else "exact".
    tol : float, default=1e-8
        Tolerance of the iterative solver: it stops at `optimality_` <= tol.
    max_iter : int, default=1000
        The most iterations; it warns if they do not suffice.
    fit_intercept : bool, default=True
        If True, there is an intercept.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class.
    n_jobs : int or None, default=None
        Threads of the iterative solver and of prediction.

    Attributes
    ----------
    optimality_ : float
        The normal equations' residual ||Xᵀ(Xw - y)|| / (||X|| ||y||), means taken away where there is an intercept; the
        largest of the columns. 0 at the optimum.
    residual_ : list of float
        ||Xw - y|| of each column.
    rank_ : int or None
        That of the features, means taken away where there is an intercept; None where the solver does not find it.
    condition_ : float or None
        About the condition of the features, each divided by its length; it warns above 7e7, where rounding may change
        the weights by as much as they are.
    solver_ : str
        The solver used: "formula", "exact", "iterative" or "stream".
    triangle_, rows_ : array, int
        The sums of a stream, as a triangle, and the rows they represent.

    Examples
    --------
    >>> from linsep import LeastSquares
    >>> clf = LeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> clf.coef_.round(3), clf.predict_proba([[1.0], [9.0]]).round(3)
    (array([[0.8]]), array([[0.7, 0.3],
       [0. , 1. ]]))
    """

    _facts: ClassVar[dict[str, Fact]] = {**LeastSquaresSolver._facts, "open_labels_": Fact(bool)}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LeastSquaresSolver._parameter_constraints,
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        *,
        solver: Literal["auto", "exact", "iterative", "stream"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(solver=solver, tol=tol, max_iter=max_iter, fit_intercept=fit_intercept, n_jobs=n_jobs)
        self.class_weight = class_weight

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        if self.solver == "stream":
            found = self._streamed(problem, open_labels=False)
        else:
            classes = len(problem.classes)
            targets = OneHot(problem.codes, classes) if classes > 2 else problem.signs(1)[:, None]
            found = self._least_squares(problem.data, targets, problem.row_weights)
        self._warn_of_condition(found)
        return found

    @available_if(is_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add these rows to all before: the weights are then those of `fit` on all of them, but for rounding.

        What is kept of the rows are sums of (features + classes)² numbers, and a call takes time for about as many.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            In the first call: all labels that will ever come; others are then an error. Without it labels may arrive
            at any time.
        """
        first = not hasattr(self, "_state")
        triangle = None if first else self._sums_so_far(self.n_features_in_, self._bias)
        if isinstance(self.class_weight, str):
            raise ParameterError(
                'class_weight="balanced" needs all labels at once: pass a dict of weights to partial_fit'
            )
        problem, places, is_open = self._next_problem(X, y, classes, sample_weight, first)
        if triangle is not None and len(places):
            triangle = with_targets(triangle, places)
        if first:
            self.seed_ = self._draw_seed()
        found = self._streamed(problem, is_open, triangle)
        self._warn_of_condition(found, stacklevel=5)
        self._take(found, problem.classes, problem.data)
        return self

    @all_or_nothing
    def grow(self, n_features: int) -> Self:
        """Make room for `n_features`, as if the new ones had been there, always 0, from the start."""
        more = self._more_features(n_features)
        if hasattr(self, "_state"):
            self.triangle_ = with_features(self._sums_so_far(self.n_features_in_, self._bias), more).table
            self.densify()._drop_prepared()
        self.n_features_in_ = int(n_features)
        return self

    @on_snapshot
    def predict_proba(self, X: Any) -> Array:
        """Return the estimate of Pr(class | x), (rows, classes).

        Two classes: (1 + score) / 2, cut off at 0 and 1. More: the nearest probabilities to the scores (one number is
        taken from all of them, and what falls below 0 is 0). Neither can raise the Brier score of any row.
        """
        return self._probabilities(self.decision_function(X))

    predict_proba_one = BatchLearner._predict_proba_one

    def _probabilities(self, scores: Array) -> Array:
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if scores.ndim == 1:
            second = np.clip((1 + scores) / 2, 0, 1)
            return np.column_stack([1 - second, second])
        return nearest_probabilities(scores)

    def _streamed(self, problem: BatchProblem, open_labels: bool, triangle: Triangle | None = None) -> BatchSolution:
        """Return the weights of the sums with these rows added."""
        classes = len(problem.classes)
        mix = np.array([[-1.0], [1.0]]) if classes == 2 else None
        targets = OneHot(problem.codes, classes)
        found = self._least_squares(problem.data, targets, problem.row_weights, triangle, mix)
        return found._replace(facts=found.facts | {"open_labels_": open_labels})

    def _check_facts(self) -> None:
        super()._check_facts()
        self._check_solver_facts(self.n_features_in_, len(self.classes_), self._bias)


def nearest_probabilities(scores: Array) -> Array:
    """Return the point of the simplex that is nearest to each row.

    It is max(score - t, 0) with the t that makes the sum 1, found from the scores in falling order. No probabilities,
    the true ones among them, are farther from it than from the row itself.

    >>> nearest_probabilities(np.array([[1.25, 0.25, -0.5], [0.2, 0.2, 0.2]])).round(3)
    array([[1.   , 0.   , 0.   ],
           [0.333, 0.333, 0.333]])
    """
    falling = -np.sort(-scores, axis=1)
    thresholds = (np.cumsum(falling, axis=1) - 1) / np.arange(1, scores.shape[1] + 1)
    last = np.count_nonzero(falling > thresholds, axis=1) - 1
    return np.maximum(scores - thresholds[np.arange(len(scores)), last][:, None], 0.0)


class LeastSquaresRegression(RegressorMixin, LeastSquaresSolver):
    """Least squares on real values: the w with the least sum of (w.x - y)², the shortest where several are best.

    Parameters
    ----------
    solver, tol, max_iter, fit_intercept, n_jobs
        As for :class:`linsep.estimators.least_squares.LeastSquares`.

    Attributes
    ----------
    coef_, intercept_ : array, float or array
        The weights, (features,), or (targets, features) if y is a table.
    optimality_, residual_, rank_, condition_, solver_, triangle_, rows_
        As for :class:`linsep.estimators.least_squares.LeastSquares`.

    Examples
    --------
    >>> from linsep import LeastSquaresRegression
    >>> line = LeastSquaresRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> line.coef_.round(9), round(line.intercept_, 9)
    (array([2.]), 1.0)
    """

    n_features_in_: int

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights for all rows at once.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,) or (rows, targets)
            Their values.
        sample_weight : array, (rows,), optional
            The weight of each row; 0 omits the row.

        Returns
        -------
        self
        """
        data, targets, weights = self._checked(X, y, sample_weight, reset=True)
        return self._take(self._least_squares(data, targets, weights), data.bias)

    @available_if(is_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add these rows to all before; as for :class:`linsep.estimators.least_squares.LeastSquares`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        """
        first = not hasattr(self, "_weights")
        flat = getattr(self, "_flat", None)
        data, targets, weights = self._checked(X, y, sample_weight, reset=first)
        triangle = None if first else self._sums_so_far(data.n_features, data.bias)
        if not first and (targets.shape[1] != self._weights.shape[1] or self._flat != flat):
            had = self._weights.shape[1]
            raise InvalidDataError(f"y has the shape {np.shape(y)}, but had {had} targets in the first call")
        return self._take(self._least_squares(data, targets, weights, triangle), data.bias)

    @on_snapshot
    def predict(self, X: Any) -> Array:
        """Return the value of each row: (rows,), or (rows, targets) if y was a table."""
        check_is_fitted(self)
        data = canonical(self, X, bias=self._bias, reset=False)
        refuse_bad_entries(data)
        values = times(data, self._weights, threads(self.n_jobs))
        return values[:, 0] if self._flat else values

    @property
    def coef_(self) -> Array:
        """The weights, (features,), or (targets, features) if y was a table; a read-only array."""
        check_is_fitted(self)
        weights: Array = frozen(self._weights[:-1, 0] if self._flat else self._weights[:-1].T)
        return weights

    @property
    def intercept_(self) -> Any:
        """The intercept of each target."""
        check_is_fitted(self)
        constants = self._weights[-1] * self._bias
        return float(constants[0]) if self._flat else constants

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_weights")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Dense | Csr, Array, Array]:
        """Return the rows, their targets as a table and what each row counts, if they are sound."""
        bias = float(self.fit_intercept) if reset else self._bias
        data = canonical(self, X, bias=bias, reset=reset)
        if y is None:
            raise InvalidDataError("this learner requires y to be passed, but the target y is None")
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if values.ndim not in (1, 2) or len(values) != data.n_rows:
            raise InvalidDataError(
                f"X has {data.n_rows} rows and y has the shape {values.shape}: inconsistent numbers of samples"
            )
        refuse_bad_entries(data)
        weights = NO_WEIGHTS
        if sample_weight is not None:
            rows = np.empty((data.n_rows, 1))
            weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        self._flat = values.ndim == 1
        return data, values.reshape(len(values), -1), weights

    def _check_facts(self) -> None:
        """Raise a ValueError when weights or sums that came from a file can't be those of a regression."""
        for name in self._facts.keys() & vars(self).keys():
            self._facts[name].check(name, getattr(self, name), 0)
        weights: Any = self._weights
        if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.ndim != 2:
            raise ValueError("its weights are not a table of float64")
        if len(weights) != self.n_features_in_ + 1 or not weights.shape[1] or not np.isfinite(weights).all():
            raise ValueError(f"its weights have the shape {weights.shape}, or a number that is not finite")
        if type(self._flat) is not bool or (self._flat and weights.shape[1] != 1):
            raise ValueError(f"its predictions are of {weights.shape[1]} targets, and flat={self._flat!r:.20}")
        if type(self._bias) is not float or self._bias not in (0.0, 1.0):
            raise ValueError(f"its constant feature is {self._bias!r:.20}, and not 0.0 or 1.0")
        self._check_solver_facts(self.n_features_in_, weights.shape[1], self._bias)

    def _take(self, found: BatchSolution, bias: float) -> Self:
        refuse_infinite(found.weights)
        if found.warning is not None:
            warnings.warn(f"{type(self).__name__} {found.warning}", ConvergenceWarning, stacklevel=5)
        self._warn_of_condition(found)
        self._weights, self._bias, self.n_iter_ = found.weights, bias, found.n_iter
        for name in self._facts:
            self.__dict__.pop(name, None)
        for name, fact in found.facts.items():
            setattr(self, name, fact)
        return self
