"""Logistic regression."""

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.batch import BatchLearner, Problem, Solution, solved_machine
from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.rules import Logistic
from linsep.solvers.logistic import objective as solvers
from linsep.solvers.logistic.gradient_ascent import gradient_ascent
from linsep.solvers.logistic.newton import newton
from linsep.training.state import Parts, TrainingState
from linsep.training.transaction import at_once

POSITIVE = Interval(Real, 0, None, closed="neither")
SOLVERS: dict[str, Callable[..., solvers.Solution]] = {"batch": gradient_ascent, "newton": newton}
MOST = {"sgd": 10, "batch": 1000, "newton": 100}
"""Epochs or steps at most, unless told."""
TOL = 1e-6
"""Where the solvers that see all rows stop, unless told."""

FAR = 0.01
"""A certified gap, as a share of f, above which a solver that has stopped is not near the optimum for certain."""
NOT_ROW_BY_ROW = 'solver={!r} sees all rows at once: only solver="sgd" goes row by row'


def goes_row_by_row(learner: Any) -> bool:
    """Tell whether rows may come one by one, or raise an AttributeError that says how they may."""
    if learner.solver in SOLVERS:
        raise AttributeError(NOT_ROW_BY_ROW.format(learner.solver))
    return True


class LogisticRegression(OnlineLearner, BatchLearner):
    """Pr(y = 1 | x) = 1 / (1 + e^{-w.x}), by the likeliest weights: w += rate_t (1 - p(y|x)) y x, or all rows at once.

    Row by row this is stochastic gradient ascent. With a Gaussian prior N(0, `prior_variance`) on every weight, the
    bias included, it climbs to the maximum a posteriori: each of the n rows also shrinks w by rate_t / (n
    prior_variance). Without a prior, separable data have their optimum at infinity.

    The other solvers see all rows at once: "batch" is gradient ascent, w += rate (sum of x (y - p) - w / variance) with
    the rate 1 / L of the curvature's bound L; "newton" comes to the optimum in a few passes, and proves how near. They
    minimise f(w) = -log-likelihood + ||w||² / (2 variance); a row's weight there is repetition.

    Parameters
    ----------
    solver : {"sgd", "batch", "newton"}, default="sgd"
        The way to the optimum. `partial_fit` and `learn_one` need "sgd", which may be set later, to go on from the
        weights that another found. For "newton", `tol` is the relative gap (f - min f) / f to prove (without a prior:
        to expect), for "batch" the relative gain of a step that is too little to go on; None is 1e-6. Of more than two
        classes both take `multi_class="multinomial"`, a softmax over all classes, or "ovr".
    eta0 : float, default=0.1
        "sgd": the rate of round t is eta0 / t**power_t.
    power_t : float, default=0.0
        See `eta0`.
    prior_variance : float or None, default=None
        The prior's variance; None for no prior.
    prior_rows : int or None, default=None
        "sgd": n, the rows that share the prior; None: the rows given to `fit`. A stream has to state it.
    penalize_intercept : bool, default=True
        Whether the prior holds the bias too; "sgd" knows no other way.
    readout : "last" or "average", default="last"
        "sgd": which weights answer.
    max_iter : int or None, default=None
        The most epochs of "sgd", or steps of the others. None: 10 epochs of "sgd", 1000 steps
        of "batch", 100 of "newton".
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Attributes
    ----------
    optimality_ : float or None
        Of "batch" and "newton", as all that follow: f - min f is at most this; None without a prior: no proof.
    value_ : float
        f, summed over the columns of one-vs-rest.
    history_ : list of float
        -f, the log-likelihood with the prior's share, at the start and after each step ("newton": after each look).
    gradient_norm_ : float
        ||gradient of f||, 0 at the optimum.
    converged_ : bool
        Whether `tol` was reached.
    infinite_ : bool
        Whether f has no least value, as some weight that no prior holds grows forever.
    cause_ : int or None
        The column of that weight, n_features_in_ for the bias.

    Examples
    --------
    >>> from linsep import LogisticRegression
    >>> clf = LogisticRegression(random_state=0, max_iter=100).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> clf.predict_proba([[0], [3]]).argmax(axis=1)
    array([0, 1])
    >>> clf = LogisticRegression(solver="newton", prior_variance=1.0).fit([[0], [1], [2], [3]], [0, 1, 0, 1])
    >>> clf.coef_.round(2), clf.optimality_ <= 1e-6 * clf.value_
    (array([[0.3]]), True)
    """

    max_iter: int | None  # type: ignore[assignment]
    _exports_probabilities = True
    _mixes = "convex loss: a mix is no worse than its shards on average"
    optimality_: float | None
    value_: float
    history_: list[float]
    gradient_norm_: float
    converged_: bool
    infinite_: bool
    cause_: int | None
    _facts = ("optimality_", "value_", "history_", "gradient_norm_", "converged_", "infinite_", "cause_")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "solver": [StrOptions({"sgd", *SOLVERS})],
        "eta0": [POSITIVE],
        "power_t": [Interval(Real, 0, None, closed="left")],
        "prior_variance": [None, POSITIVE],
        "prior_rows": [None, Interval(Integral, 1, None, closed="left")],
        "penalize_intercept": ["boolean"],
        "readout": [StrOptions(set(READOUTS))],
        "multi_class": [StrOptions({"ovr", "joint", "multinomial"})],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(  # type: ignore[misc]
        self,
        *,
        solver: str = "sgd",
        eta0: float = 0.1,
        power_t: float = 0.0,
        prior_variance: float | None = None,
        prior_rows: int | None = None,
        penalize_intercept: bool = True,
        readout: str = "last",
        max_iter: int | None = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.solver = solver
        self.eta0 = eta0
        self.power_t = power_t
        self.prior_variance = prior_variance
        self.prior_rows = prior_rows
        self.penalize_intercept = penalize_intercept
        self.readout = readout
        self.max_iter = max_iter

    @property
    def _no_mixing(self) -> str:  # type: ignore[override]
        return f"solver={self.solver!r} sees all rows at once (solver='sgd' does not)" if self.solver in SOLVERS else ""

    @property
    def _most_epochs(self) -> int:
        return MOST[self.solver] if self.max_iter is None else self.max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on all rows, by the solver chosen.

        Parameters
        ----------
        X : array, sparse matrix or dataframe, (rows, features)
            The examples.
        y : array, (rows,)
            Their labels, of any type; two classes at least.
        sample_weight : array, (rows,), optional
            "sgd": multiplies each row's update; else how many rows each row counts as. 0 leaves the row out.

        Returns
        -------
        self
        """
        if self.solver in SOLVERS:
            self._check_shards()
            BatchLearner.fit(self, X, y, sample_weight)
            trouble = self._trouble()
            if trouble is not None:
                warnings.warn(f"{type(self).__name__} {trouble}", ConvergenceWarning, stacklevel=2)
            return self
        super().fit(X, y, sample_weight)
        self._forget_proof()
        return self

    @available_if(goes_row_by_row)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over these rows: see :meth:`OnlineLearner.partial_fit`. For solver="sgd" only."""
        return super().partial_fit(X, y, classes, sample_weight)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> Problem:
        goes_on, before = self.warm_start and hasattr(self, "_state"), getattr(self, "n_features_in_", 0)
        problem = super()._problem(X, y, sample_weight)
        if goes_on and (problem.data.n_features != before or not np.array_equal(problem.classes, self.classes_)):
            raise ValueError("warm_start: other features or classes than those of the last fit; set it to False")
        return problem

    def _solve(self, problem: Problem) -> Solution:
        if self.multi_class == "joint":
            raise ValueError(
                f'multi_class="joint" is a way of "sgd": solver={self.solver!r} takes "ovr" or "multinomial"'
            )
        joint, classes = self.multi_class == "multinomial", len(problem.classes)
        start = self._weights_of(problem) if self.warm_start else None
        if joint or classes == 2 or self.prior_variance is not None:
            found = self._solved(problem, problem.codes, classes, joint, start)
        else:  # one by one: without a prior, a class that can be separated would stop the others at its own end
            own = [None if start is None else start[:, k : k + 1] for k in range(classes)]
            codes = [(problem.codes == k).astype(np.int32) for k in range(classes)]
            found = solvers.together(
                [self._solved(problem, of, 2, False, at) for of, at in zip(codes, own, strict=True)]
            )
        facts = {
            "optimality_": None if math.isnan(found.optimality) else found.optimality,
            "value_": found.value,
            "history_": found.history,
            "gradient_norm_": found.gradient_norm,
            "converged_": found.converged,
            "infinite_": found.infinite,
            "cause_": found.cause,
        }
        return Solution(found.weights, found.iterations, facts, joint=joint)

    def _solved(
        self, problem: Problem, codes: Array, classes: int, joint: bool, start: Array | None
    ) -> solvers.Solution:
        likelihood = solvers.problem_of(
            problem.data, codes, problem.row_weights, classes=classes, multinomial=joint,
            prior_variance=self.prior_variance, penalize_bias=self.penalize_intercept, jobs=threads(self.n_jobs),
        )  # fmt: skip
        tol = TOL if self.tol is None else self.tol
        return SOLVERS[self.solver](likelihood, tol=tol, max_iter=self._most_epochs, start=start)

    def _take(self, solution: Solution, classes: Array, data: Dense | Csr) -> None:
        super()._take(solution, classes, data)
        rule = Logistic(self.eta0, self.power_t, 0.0)  # its weights are of the kind that "sgd" can go on with
        self._state = solved_machine(solution, data.n_features, data.bias, Parts(rule))

    def _weights_of(self, problem: Problem) -> Array | None:
        """Return the weights of the last fit for a solver to begin with."""
        if not hasattr(self, "_state"):
            return None
        bias = problem.data.bias
        intercept = self.intercept_ / bias if bias else np.zeros_like(self.intercept_)
        weights = np.vstack([self.coef_.T, intercept])
        if self.multi_class == "multinomial" and len(problem.classes) == 2:
            return np.hstack([-weights / 2, weights / 2])
        return weights

    def _trouble(self) -> str | None:
        """Return what to warn of after a fit by a solver that sees all rows, if anything."""
        if self.infinite_:
            who = "the bias" if self.cause_ == self.n_features_in_ else f"the weight of {self._named(self.cause_)}"
            return (
                "has no optimum on these data, as a line separates some class, wholly or but for rows on it: weights "
                f"can grow forever, {who} above all; it was stopped. A prior (prior_variance=1.0, say) gives an optimum"
            )
        if self.converged_ and self.optimality_ is not None and self.optimality_ > FAR * self.value_:
            return (
                f"stopped where steps gain next to nothing, and may be {self.optimality_:.2g} above the least f (now "
                f"{self.value_:.4g}): bring the columns to one scale, lower tol, or use solver='newton'"
            )
        if self.converged_:
            return None
        return f"stopped after {self.n_iter_} steps without reaching tol: raise max_iter={self._most_epochs}, or tol"

    def _named(self, feature: int | None) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"column {feature}" if names is None else repr(names[feature])

    def _follow(self, state: TrainingState, rows: int | None) -> None:
        super()._follow(state, rows)
        self._forget_proof()

    def _forget_proof(self) -> None:
        for name in self._facts:
            self.__dict__.pop(name, None)

    def _parts(self, features: int, rows: int | None) -> Parts:
        if self.solver in SOLVERS:
            raise ValueError(NOT_ROW_BY_ROW.format(self.solver))
        if self.multi_class == "multinomial":
            raise ValueError('multi_class="multinomial" needs solver="batch" or "newton": "sgd" takes "ovr" or "joint"')
        if not self.penalize_intercept and self.prior_variance is not None:
            raise ValueError('penalize_intercept=False needs solver="batch" or "newton": "sgd" holds the bias too')
        shrink = 0.0
        if self.prior_variance is not None:
            n = self.prior_rows if self.prior_rows is not None else rows
            if n is None:
                raise ValueError(
                    "a prior is shared among all rows, and a stream does not tell how many: state prior_rows"
                )
            shrink = 1 / (n * self.prior_variance)
            if self.eta0 * shrink > 1:
                raise ValueError(
                    f"eta0={self.eta0:g} is too large for prior_variance={self.prior_variance:g} on {n} rows: one "
                    f"row would shrink the weights below 0; use at most {1 / shrink:g}"
                )
        return Parts(Logistic(self.eta0, self.power_t, shrink), readout=READOUTS[self.readout])

    @at_once
    def predict_proba(self, X: Any) -> Array:
        """Return Pr(class | x), (rows, classes).

        One-vs-rest: each class's probability against the rest, divided by their sum. Else the softmax of the scores.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            if len(self.classes_) == 1:
                return np.ones((len(scores), 1))
            return np.column_stack([special.expit(-scores), special.expit(scores)])
        if self._state.pair:
            return special.softmax(scores, axis=1)
        # The logs keep the sum above 0 however certain every binary classifier is of "no".
        return special.softmax(-np.logaddexp(0.0, -scores), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln Pr(class | x), (rows, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
