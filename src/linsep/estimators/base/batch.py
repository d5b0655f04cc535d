"""Base class of learners that solve for all rows at once.

A subclass lists its parameters in `__init__` and `_parameter_constraints`, as scikit-learn's estimators do, and returns
the weights from `_solve`; CONTRIBUTING.md has an example. The class docstring describes the parameters: the command
line shows it. Prediction, model files, `predict_one`, `sparsify` and plots then work as for every other learner.
"""

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.readouts import Average
from linsep.estimators.base.learner import Learner, refuse_one_class
from linsep.rules import Solved
from linsep.training.state import Parts, TrainingState
from linsep.training.transaction import all_or_nothing
from linsep.validation.errors import InvalidDataError, ParameterError
from linsep.validation.inputs import canonical, refuse_bad_entries
from linsep.validation.labels import clean, codes_among, encode, first_classes, new_classes

NO_PLACES = np.empty(0, np.intp)
NAMED = 5
"""Rows that a verdict names, at most."""
POSITIVE = Interval(Real, 0, None, closed="neither")
"""The constraint of a parameter above 0."""


class BatchProblem(NamedTuple):
    """All rows, validated: the input of a solver."""

    data: Dense | Csr
    """The rows; `data.bias` is the constant feature's value, 0.0 where there is none."""
    codes: Array
    """The number of each row's class."""
    row_weights: Array
    """The weight of each row; an empty array if all weigh 1."""
    classes: Array
    """The labels, in order."""

    def signs(self, code: int) -> Array:
        """Return +1.0 for the rows of one class and -1.0 for all others."""
        return np.where(self.codes == code, 1.0, -1.0)


class BatchSolution(NamedTuple):
    """The output of a solver."""

    weights: Array
    """(features + 1, columns): one column for two classes, else one for each; the last row is the constant feature."""
    n_iter: int = 1
    facts: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    """Attributes to set on the learner: numbers, strings, arrays and lists of these; `_facts` lists their names."""
    warning: str | None = None
    """The text of a ConvergenceWarning if the solver stopped early."""
    joint: bool = False
    """If True, the columns were solved for together: their scores are on one scale, as those of a softmax."""


class BatchLearner(Learner):
    """A scikit-learn classifier around a solver."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    n_jobs: int | None = None
    open_labels_: bool
    _traits = replace(Learner._traits, rules=(Solved,))

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        """Return the weights for these rows."""
        raise TypeError(f"{type(self).__name__} has no method _solve: return the weights there")

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve for the weights of all rows at once.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels, of any type; two classes at least.
        sample_weight : array, (rows,), optional
            The number of times each row counts; 0 omits the row.

        Returns
        -------
        self
        """
        problem = self._problem(X, y, sample_weight)
        self.seed_ = self._draw_seed()
        self._take(self._solve(problem), problem.classes, problem.data)
        return self

    def _draw_seed(self) -> int:
        return super()._draw_seed() if "random_state" in self._get_param_names() else 0

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> BatchProblem:
        """Validate the rows and return them."""
        data = canonical(self, X, bias=self._wanted_bias, reset=True)
        classes, codes = encode(clean(y, data.n_rows))
        refuse_one_class(classes)
        weights = self._row_weights(codes, classes, sample_weight, data)
        if len(weights):
            refuse_empty_class(codes, classes, weights)
        refuse_bad_entries(data)
        self._check_entries(data)
        return BatchProblem(data, codes, weights, classes)

    def _next_problem(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool
    ) -> tuple[BatchProblem, Array, bool]:
        """Validate the next rows of a stream.

        Returns the rows with all classes known by now, the places of new classes among those known before, and whether
        more may come.
        """
        data = canonical(self, X, bias=self._bias, reset=first and not hasattr(self, "n_features_in_"))
        return self._continued(data, clean(y, data.n_rows), classes, sample_weight, first)

    def _continued(
        self, data: Dense | Csr, labels: Array, classes: Any, sample_weight: Any, first: bool
    ) -> tuple[BatchProblem, Array, bool]:
        refuse_bad_entries(data)
        self._check_entries(data)
        if first:
            known, new, is_open = first_classes(labels, classes), labels[:0], classes is None
        else:
            known, new, is_open = self.classes_, new_classes(labels, classes, self.classes_), self.open_labels_
        places = np.searchsorted(known, new) if is_open else NO_PLACES
        if len(places):
            known = np.union1d(known, new)
        codes = codes_among(labels, known)
        weights = self._row_weights(codes, known, sample_weight, data, whole=False)
        return BatchProblem(data, codes, weights, known), places, is_open

    def _more_features(self, n_features: int) -> int:
        """Return how many features `grow` adds; refuse to lose any."""
        width = getattr(self, "n_features_in_", 0)
        if n_features < width:
            raise ParameterError(f"grow({n_features}): the learner has {width} features already and can't lose any")
        return int(n_features) - width

    def _take(self, solution: BatchSolution, classes: Array, data: Dense | Csr) -> None:
        """Replace the weights and the facts of the last fit by those of this solution."""
        refuse_infinite(solution.weights)
        for name in (*self._facts, "form_"):  # form_: the reader of the data that a loaded model was trained on
            self.__dict__.pop(name, None)
        self._drop_prepared()
        self._state = solved_state(solution, data.n_features, data.bias)
        self.classes_, self.n_iter_, self._open = classes, solution.n_iter, False
        for name, fact in solution.facts.items():
            setattr(self, name, fact)
        if solution.warning is not None:
            warnings.warn(f"{type(self).__name__} {solution.warning}", ConvergenceWarning, stacklevel=5)


def solved_state(solution: BatchSolution, features: int, bias: float, parts: Parts | None = None) -> TrainingState:
    """Return a state that predicts with the weights of a solution."""
    weights = solution.weights
    parts = Parts(Solved()) if parts is None else parts
    state = TrainingState.start(parts, features, weights.shape[1], solution.joint, bias)
    state.link = state.link._replace(s=np.ascontiguousarray(weights, np.float64))
    if isinstance(state.readout, Average):  # the solution counts as one round
        state.readout.mass[:] = state.readout.clock[:] = 1.0
    state.log = state.log.closed("a solver saw all rows at once")
    return state


def refuse_infinite(weights: Array) -> None:
    """Raise a ValueError when a solver's weights are not finite."""
    if not np.isfinite(weights).all():
        raise InvalidDataError("a weight is too large for float64: divide all of X by one factor")


def name_rows(rows: Array) -> str:
    """Return the numbers of the first rows in words.

    >>> name_rows(np.array([3])), name_rows(np.arange(8))
    ('row 3', 'rows 0, 1, 2, 3, 4 and 3 more')
    """
    more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
    return ("rows " if len(rows) > 1 else "row ") + ", ".join(map(str, rows[:NAMED].tolist())) + more


def not_separable(support: Array, left: float) -> str:
    """Return the verdict of rows that, weighted, cancel out but for `left`.

    >>> not_separable(np.array([0, 4]), 0.0)
    'not separable: 2 rows, weighted, cancel out (rows 0, 4; what is left of their sum is 0)'
    """
    if len(support) == 1:
        return f"not separable: row {support[0]} is all 0, so that its score is 0 for any weights"
    return (
        f"not separable: {len(support):,} rows, weighted, cancel out ({name_rows(support)}; what is left of their sum "
        f"is {left:.2g})"
    )


def refuse_empty_class(codes: Array, classes: Array, weights: Array) -> None:
    """Raise a ValueError that names a class whose rows all have weight zero."""
    empty = np.flatnonzero(np.bincount(codes, weights, len(classes)) == 0)
    if len(empty):
        raise InvalidDataError(
            f"all rows of the class {classes.tolist()[empty[0]]!r} have weight zero: leave them out, or raise it"
        )
