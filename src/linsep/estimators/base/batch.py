"""Base class of learners that solve for all rows at once.

A subclass lists its parameters in `__init__` and `_parameter_constraints`, as scikit-learn's estimators do, and says in
`_solve` how rows become weights:

    class Nearest(BatchLearner):
        \"\"\"... the docstring, with the parameters; the command line shows them.\"\"\"

        _facts = ("gap_",)                          # what fit finds beside the weights; saved with the model

        def _solve(self, problem):
            found = solver(problem.data, problem.signs(1), problem.row_weights)
            return Solution(found.weights, found.iterations, {"gap_": found.gap}, warning=...)

`Problem.signs` is for solvers of two classes. The answers, the file format, `predict_one`,
`sparsify` and all plots then work as for every other learner.
"""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.estimators.base.learner import Learner, refuse_one_class
from linsep.rules import Solved
from linsep.training.state import Parts, TrainingState
from linsep.training.transaction import all_or_nothing
from linsep.validation.inputs import canonical, refuse_bad_entries
from linsep.validation.labels import clean, encode


class Problem(NamedTuple):
    """All rows, checked: what a solver is given."""

    data: Dense | Csr
    """The rows; `data.bias` is the constant feature's value, 0.0 where there is none."""
    codes: Array
    """The number of each row's class."""
    row_weights: Array
    """What each row counts; an empty array where all count 1."""
    classes: Array
    """The labels, in order."""

    def signs(self, code: int) -> Array:
        """Return +1.0 for the rows of one class and -1.0 for all others."""
        return np.where(self.codes == code, 1.0, -1.0)


class Solution(NamedTuple):
    """What a solver found."""

    weights: Array
    """(features + 1, columns): one column for two classes, else one for each; the last row is the constant feature."""
    n_iter: int = 1
    facts: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    """Attributes of the learner: numbers, words, arrays and lists of these."""
    warning: str | None = None
    """What to tell where the solver stopped before it was done."""
    joint: bool = False
    """Whether the columns were found together, so that their scores are on one scale (as those of a softmax)."""


class BatchLearner(Learner):
    """A solver, as a scikit-learn classifier."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    n_jobs: int | None = None

    def _solve(self, problem: Problem) -> Solution:
        """Return the weights for these rows."""
        raise TypeError(f"{type(self).__name__} does not say how it solves")

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights for all rows at once.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels, of any type; two classes at least.
        sample_weight : array, (rows,), optional
            How many rows each row counts as; 0 leaves it out.

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

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        """Return the rows, if they are sound."""
        data = canonical(self, X, bias=self._wanted_bias, reset=True)
        classes, codes = encode(clean(y, data.n_rows))
        refuse_one_class(classes)
        weights = self._row_weights(codes, classes, sample_weight, data)
        if len(weights):
            refuse_empty_class(codes, classes, weights)
        refuse_bad_entries(data)
        self._check_entries(data)
        return Problem(data, codes, weights, classes)

    def _take(self, solution: Solution, classes: Array, data: Dense | Csr) -> None:
        """Answer by these weights from now on."""
        if not np.isfinite(solution.weights).all():
            raise ValueError("a weight is too large for float64: divide all of X by one factor")
        for name in (*self._facts, "form_"):  # form_: how other data were read, that a loaded model was trained on
            self.__dict__.pop(name, None)
        self._drop_prepared()
        self._state = solved_state(solution, data.n_features, data.bias)
        self.classes_, self.n_iter_, self._open = classes, solution.n_iter, False
        for name, fact in solution.facts.items():
            setattr(self, name, fact)
        if solution.warning is not None:
            warnings.warn(f"{type(self).__name__} {solution.warning}", ConvergenceWarning, stacklevel=5)


def solved_state(solution: Solution, features: int, bias: float, parts: Parts | None = None) -> TrainingState:
    """Return a state that answers by the weights found."""
    weights = solution.weights
    parts = Parts(Solved()) if parts is None else parts
    state = TrainingState.start(parts, 0, weights.shape[1], solution.joint, bias)
    state.link = state.link._replace(s=np.ascontiguousarray(weights, np.float64))
    state.first_features = features
    state.log = state.log.closed("a solver saw all rows at once")
    return state


def refuse_empty_class(codes: Array, classes: Array, weights: Array) -> None:
    """Raise a ValueError that names a class of which no row counts."""
    empty = np.flatnonzero(np.bincount(codes, weights, len(classes)) == 0)
    if len(empty):
        raise ValueError(
            f"all rows of the class {classes.tolist()[empty[0]]!r} have weight zero: leave them out, or raise it"
        )
