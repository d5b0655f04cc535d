"""Least squares on real values."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.core.threads import threads
from linsep.data.inputs import canonical, refuse_bad_entries, rows_of, width_of
from linsep.learners.intact import all_or_nothing, at_once
from linsep.learners.least_squares import (
    CONSTRAINTS,
    FACTS,
    NOTHING_TO_GO_ON,
    facts_of,
    is_stream,
    trouble,
    warn_of_condition,
)
from linsep.learners.machine import NO_WEIGHTS
from linsep.solvers import least_squares as solvers
from linsep.solvers.normal_equations import Triangle, absorb, begin, refuse_too_wide, solve_triangle
from linsep.solvers.products import times


class LeastSquaresRegression(RegressorMixin, BaseEstimator):
    """Least squares on real values: the w with the least sum of (w.x - y)², the shortest where several are best.

    Parameters
    ----------
    solver : {"auto", "exact", "iterative", "stream"}, default="auto"
        As for :class:`linsep.learners.least_squares.LeastSquares`.
    tol : float, default=1e-8
        Where the iterative solver stops: at `optimality_` <= tol.
    max_iter : int, default=1000
        The most iterations; it warns if they do not suffice.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    n_jobs : int or None, default=None
        Threads of the iterative solver and of prediction.

    Attributes
    ----------
    coef_, intercept_ : array, float or array
        The weights, (features,), or (targets, features) if y is a table.
    optimality_, residual_, rank_, condition_, solver_, triangle_, rows_
        As for :class:`linsep.learners.least_squares.LeastSquares`.

    Examples
    --------
    >>> from linsep import LeastSquaresRegression
    >>> line = LeastSquaresRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> line.coef_.round(9), round(line.intercept_, 9)
    (array([2.]), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    n_features_in_: int

    def __init__(
        self,
        *,
        solver: str = "auto",
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
            How many rows each row counts as; 0 leaves it out.

        Returns
        -------
        self
        """
        data, targets, weights = self._checked(X, y, sample_weight, reset=True)
        for name in FACTS:
            self.__dict__.pop(name, None)
        if self.solver == "stream":
            return self._stream(begin(width_of(data), targets.shape[1], data.bias), data, targets, weights)
        found = solvers.least_squares(
            data, targets, weights, solver=self.solver, tol=self.tol, max_iter=self.max_iter, jobs=threads(self.n_jobs)
        )
        if (said := trouble(self, found)) is not None:
            warnings.warn(f"{type(self).__name__} {said}", ConvergenceWarning, stacklevel=4)
        return self._take(found.weights, data.bias, found.iterations, found.condition, facts_of(found))

    @available_if(is_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add these rows to all before; as for :class:`linsep.learners.least_squares.LeastSquares`.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,) or (rows, targets)
            Their values.
        sample_weight : array, (rows,), optional
            As in `fit`.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_weights")
        if not first and not hasattr(self, "triangle_"):
            raise ValueError(NOTHING_TO_GO_ON)
        flat = getattr(self, "_flat", None)
        data, targets, weights = self._checked(X, y, sample_weight, reset=first)
        triangle = begin(width_of(data), targets.shape[1], data.bias)
        if not first:
            before = self._weights.shape[1]
            if targets.shape[1] != before or self._flat != flat:
                raise ValueError(f"y has the shape {np.shape(y)}, but had {before} targets in the first call")
            triangle = triangle._replace(table=self.triangle_, rows=self.rows_)
        return self._stream(triangle, data, targets, weights)

    @at_once
    def predict(self, X: Any) -> Array:
        """Return the value of each row: (rows,), or (rows, targets) if y was a table."""
        check_is_fitted(self)
        data = canonical(self, X, bias=self._bias, reset=False)
        refuse_bad_entries(data)
        values = times(data, self._weights, threads(self.n_jobs))
        return values[:, 0] if self._flat else values

    @property
    def coef_(self) -> Array:
        """The weights, (features,), or (targets, features) if y was a table."""
        check_is_fitted(self)
        return self._weights[:-1, 0] if self._flat else self._weights[:-1].T

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
            raise ValueError("this learner requires y to be passed, but the target y is None")
        values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if values.ndim not in (1, 2) or len(values) != rows_of(data):
            raise ValueError(
                f"X has {rows_of(data)} rows and y has the shape {values.shape}: inconsistent numbers of samples"
            )
        refuse_bad_entries(data)
        weights = NO_WEIGHTS
        if sample_weight is not None:
            rows = np.empty((rows_of(data), 1))
            weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        self._flat = values.ndim == 1
        return data, values.reshape(len(values), -1), weights

    def _stream(self, triangle: Triangle, data: Dense | Csr, targets: Array, weights: Array) -> Self:
        refuse_too_wide(None, triangle.table.shape[1])
        triangle = absorb(triangle, data, targets, weights)
        found = solve_triangle(triangle)
        return self._take(found.weights, data.bias, 1, found.condition, facts_of(found, triangle))

    def _take(self, weights: Array, bias: float, n_iter: int, condition: float | None, facts: dict[str, Any]) -> Self:
        if not np.isfinite(weights).all():
            raise ValueError("a weight is too large for float64: divide all of X by one factor")
        warn_of_condition(self, condition)
        self._weights, self._bias, self.n_iter_ = weights, bias, n_iter
        for name, fact in facts.items():
            setattr(self, name, fact)
        return self
