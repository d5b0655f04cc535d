"""Logistic regression."""

import math
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.runtime import threads
from linsep.estimators.base.batch import POSITIVE, BatchLearner, BatchProblem, BatchSolution, solved_state
from linsep.estimators.base.facts import Fact
from linsep.estimators.base.online import READOUTS, OnlineLearner, Shared
from linsep.estimators.base.traits import Traits
from linsep.rules import Logistic
from linsep.solvers.logistic import objective as solvers
from linsep.solvers.logistic.gradient_ascent import gradient_ascent
from linsep.solvers.logistic.newton import newton
from linsep.training.state import Parts, TrainingState
from linsep.training.transaction import on_snapshot
from linsep.validation.errors import ParameterError

SOLVERS: dict[str, Callable[..., solvers.LogisticSolution]] = {"batch": gradient_ascent, "newton": newton}
MOST = {"sgd": 10, "batch": 1000, "newton": 100}
"""The default of max_iter for each solver."""
TOL = {"batch": 1e-6, "newton": 1e-10}
"""The default of tol for each solver that sees all rows at once."""

FAR = 0.01
"""A certified gap, as a share of f, above which a solver that has stopped is not near the optimum for certain."""
NOT_ROW_BY_ROW = 'solver={!r} sees all rows at once: only solver="sgd" goes row by row'


def goes_row_by_row(learner: Any) -> bool:
    """Return whether rows may come one by one, or raise an AttributeError that names the way to do it."""
    if learner.solver in SOLVERS:
        raise AttributeError(NOT_ROW_BY_ROW.format(learner.solver))
    return True


class LogisticRegression(OnlineLearner, BatchLearner):
    """Pr(y = 1 | x) = 1 / (1 + e^{-w.x}): the optimum for all rows in `fit`, w += rate_t (1 - p(y|x)) y x row by row.

    `fit` minimises f(w) = -log-likelihood + ||w||² / (2 variance), which is the maximum a posteriori under a Gaussian
    prior N(0, variance). By default the variance is 1, the prior leaves the intercept free, and more than two classes
    share a softmax: the objective of scikit-learn's LogisticRegression with C=1. A row's weight is repetition. "newton"
    reaches the optimum in a few passes and proves how near it is; "batch" is gradient ascent,
    w += rate (sum of x (y - p) - w / variance), with the rate 1 / L of the curvature's bound L.

    Row by row this is stochastic gradient ascent: in `partial_fit` and `learn_one`, which continue from the weights of
    `fit`, and in `fit` with shards or solver="sgd". There is no prior unless `prior_variance` is a number. Each of the
    n rows then also shrinks w, the bias included, by rate_t / (n prior_variance). Without a prior, separable data have
    their optimum at infinity.

    A fit that sees all rows at once has no use for the parameters marked "sgd", nor for `shuffle`, `n_iter_no_change`,
    `mixing` and `log`: with solver="auto" they count when rows come later.

    Parameters
    ----------
    solver : {"auto", "newton", "batch", "sgd"}, default="auto"
        "auto": "newton" in `fit`, "sgd" with shards and in `partial_fit` and `learn_one`. "newton" and "batch" see all
        rows at once and refuse `partial_fit`; "sgd" goes row by row in `fit` too. For "newton", `tol` is the relative
        gap (f - min f) / f to prove (without a prior: to expect), None is 1e-10. For "batch", `tol` is the relative
        gain of a step at which training stops; None is 1e-6.
    eta0 : float, default=0.1
        "sgd": the rate of round t is eta0 / t**power_t.
    power_t : float, default=0.0
        "sgd": see `eta0`.
    prior_variance : float, None or "auto", default="auto"
        The prior's variance; None for no prior. "auto": 1.0 where all rows are seen at once, no prior row by row.
    prior_rows : int or None, default=None
        "sgd": n, the rows that share the prior; None: the rows given to `fit`. A stream has to state it.
    penalize_intercept : bool or "auto", default="auto"
        If True, the prior holds the bias too. "auto": not where all rows are seen at once; "sgd" has no other way.
    readout : "last" or "average", default="last"
        "sgd": which weights predict.
    max_iter : int or None, default=None
        Maximum number of epochs of "sgd", or of steps of the other solvers. None: 10 epochs of "sgd", 1000 steps of
        "batch", 100 of "newton".
    multi_class : {"auto", "multinomial", "ovr", "joint"}, default="auto"
        Of more than two classes: "multinomial" is a softmax over all, for "newton" and "batch"; "ovr" is one binary
        classifier a class against the rest; "joint", for "sgd", is the true class against its best rival. "auto":
        "multinomial" where all rows are seen at once, else as for every online learner. After a softmax, "auto"
        continues as "joint".
    **shared
        Those of every online learner: see :class:`linsep.estimators.base.online.OnlineLearner`.

    Attributes
    ----------
    optimality_ : float or None
        Of "newton" and "batch", as all that follow: f - min f is at most this; None without a prior: no proof.
    value_ : float
        f, summed over the columns of one-vs-rest.
    history_ : list of float
        -f, the log-likelihood with the prior's share, at the start and after each step ("newton": after each look).
    gradient_norm_ : float
        ||gradient of f||, 0 at the optimum.
    converged_ : bool
        True if `tol` was reached.
    infinite_ : bool
        True if f has no minimum, as some weight without a prior grows forever.
    cause_ : int or None
        The column of that weight, n_features_in_ for the bias.

    Examples
    --------
    >>> from linsep import LogisticRegression
    >>> clf = LogisticRegression().fit([[0], [1], [2], [3]], [0, 1, 0, 1])
    >>> clf.coef_.round(2), clf.optimality_ <= 1e-10 * clf.value_
    (array([[0.45]]), True)
    >>> clf = LogisticRegression(solver="sgd", random_state=0, max_iter=100).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> clf.predict_proba([[0], [3]]).argmax(axis=1)
    array([0, 1])
    """

    max_iter: int | None  # type: ignore[assignment]
    _traits = Traits(
        rules=(Logistic,),
        mixes="convex loss: a mix is no worse than its shards on average",
        exports_probabilities=True,
    )
    optimality_: float | None
    value_: float
    history_: list[float]
    gradient_norm_: float
    converged_: bool
    infinite_: bool
    cause_: int | None
    _facts: ClassVar[dict[str, Fact]] = {
        "optimality_": Fact(float, least=0, none=True),
        "value_": Fact(float),
        "history_": Fact(float, "list"),
        "gradient_norm_": Fact(float, least=0),
        "converged_": Fact(bool),
        "infinite_": Fact(bool),
        "cause_": Fact(int, least=0, none=True),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineLearner._parameter_constraints,
        "solver": [StrOptions({"auto", "sgd", *SOLVERS})],
        "eta0": [POSITIVE],
        "power_t": [Interval(Real, 0, None, closed="left")],
        "prior_variance": [None, POSITIVE, StrOptions({"auto"})],
        "prior_rows": [None, Interval(Integral, 1, None, closed="left")],
        "penalize_intercept": ["boolean", StrOptions({"auto"})],
        "readout": [StrOptions(set(READOUTS))],
        "multi_class": [StrOptions({"auto", "ovr", "joint", "multinomial"})],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(  # type: ignore[misc]
        self,
        *,
        solver: Literal["auto", "sgd", "batch", "newton"] = "auto",
        eta0: float = 0.1,
        power_t: float = 0.0,
        prior_variance: float | Literal["auto"] | None = "auto",
        prior_rows: int | None = None,
        penalize_intercept: bool | Literal["auto"] = "auto",
        readout: Literal["last", "average"] = "last",
        max_iter: int | None = None,
        multi_class: Literal["auto", "ovr", "joint", "multinomial"] = "auto",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(**shared)
        self.multi_class = multi_class
        self.solver = solver
        self.eta0 = eta0
        self.power_t = power_t
        self.prior_variance = prior_variance
        self.prior_rows = prior_rows
        self.penalize_intercept = penalize_intercept
        self.readout = readout
        self.max_iter = max_iter

    @property
    def _no_mixing(self) -> str:
        return f"solver={self.solver!r} sees all rows at once (solver='sgd' does not)" if self.solver in SOLVERS else ""

    @property
    def _sees_all_rows(self) -> bool:  # type: ignore[override]
        return self.solver in SOLVERS or (self.solver == "auto" and self.shards is None)

    @property
    def _most_epochs(self) -> int:
        return self._most("sgd" if self.solver == "auto" else self.solver)

    @property
    def _own_solver(self) -> str:
        """The solver that sees all rows at once."""
        return "newton" if self.solver == "auto" else self.solver

    def _most(self, solver: str) -> int:
        return MOST[solver] if self.max_iter is None else self.max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the optimum for all rows, or go row by row with shards or solver="sgd".

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
        if self._sees_all_rows:
            self._check_shards()
            BatchLearner.fit(self, X, y, sample_weight)
            trouble = self._trouble()
            if trouble is not None:
                warnings.warn(f"{type(self).__name__} {trouble}", ConvergenceWarning, stacklevel=2)
            return self
        super().fit(X, y, sample_weight)
        self._forget_facts()
        return self

    @available_if(goes_row_by_row)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over these rows: see :meth:`OnlineLearner.partial_fit`. For solver="auto" or "sgd"."""
        return super().partial_fit(X, y, classes, sample_weight)

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> BatchProblem:
        resumes, before = self.warm_start and hasattr(self, "_state"), getattr(self, "n_features_in_", 0)
        problem = super()._problem(X, y, sample_weight)
        if resumes and (problem.data.n_features != before or not np.array_equal(problem.classes, self.classes_)):
            raise ParameterError("warm_start: other features or classes than those of the last fit; set it to False")
        return problem

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        if self.multi_class == "joint":
            raise ParameterError(
                f'multi_class="joint" needs solver="sgd": solver={self.solver!r} takes "ovr" or "multinomial"'
            )
        classes = len(problem.classes)
        joint = self.multi_class == "multinomial" or (self.multi_class == "auto" and classes > 2)
        start = self._weights_of(problem, joint) if self.warm_start else None
        if joint or classes == 2 or self.prior_variance is not None:
            found = self._solved(problem, problem.codes, classes, joint, start)
        else:  # one by one: without a prior, a class that can be separated would stop the others at its own end
            own = [None if start is None else start[:, k : k + 1] for k in range(classes)]
            codes = [(problem.codes == k).astype(np.int32) for k in range(classes)]
            found = solvers.join_solutions(
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
        return BatchSolution(found.weights, found.iterations, facts, joint=joint)

    def _solved(
        self, problem: BatchProblem, codes: Array, classes: int, joint: bool, start: Array | None
    ) -> solvers.LogisticSolution:
        variance: Any = 1.0 if self.prior_variance == "auto" else self.prior_variance
        penalize = self.penalize_intercept != "auto" and bool(self.penalize_intercept)
        likelihood = solvers.problem_of(
            problem.data, codes, problem.row_weights, classes=classes, multinomial=joint,
            prior_variance=variance, penalize_bias=penalize, jobs=threads(self.n_jobs),
        )  # fmt: skip
        solver = self._own_solver
        tol = TOL[solver] if self.tol is None else self.tol
        return SOLVERS[solver](likelihood, tol=tol, max_iter=self._most(solver), start=start)

    def _take(self, solution: BatchSolution, classes: Array, data: Dense | Csr) -> None:
        super()._take(solution, classes, data)
        rule = Logistic(self.eta0, self.power_t, 0.0)  # its weights are of a kind from which "sgd" can resume
        self._state = solved_state(solution, data.n_features, data.bias, Parts(rule, readout=READOUTS[self.readout]))

    def _weights_of(self, problem: BatchProblem, joint: bool) -> Array | None:
        """Return the weights of the last fit for a solver to begin with."""
        if not hasattr(self, "_state"):
            return None
        weights = self._of_classes(self._readable().whole().scorer().weights(), flat=False)
        if joint and len(problem.classes) == 2:
            return np.hstack([-weights / 2, weights / 2])
        return weights

    def _trouble(self) -> str | None:
        """Return what to warn of after a fit by a solver that sees all rows, if anything."""
        if self.infinite_:
            who = "the bias" if self.cause_ == self.n_features_in_ else f"the weight of {self._named(self.cause_)}"
            return (
                "has no optimum on these data, as a line separates some class, wholly or but for rows on it: weights "
                f"can grow forever, {who} above all; it stopped where steps gain next to nothing. Set a "
                "prior, such as prior_variance=1.0, for an optimum"
            )
        if self.converged_ and self.optimality_ is not None and self.optimality_ > FAR * self.value_:
            return (
                f"stopped where steps gain next to nothing, and may be {self.optimality_:.2g} above the least f (now "
                f"{self.value_:.4g}): bring the columns to one scale, lower tol, or use solver='newton'"
            )
        if self.converged_:
            return None
        most = self._most(self._own_solver)
        return f"stopped after {self.n_iter_} steps without reaching tol: raise max_iter={most}, or tol"

    def _named(self, feature: int | None) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"column {feature}" if names is None else repr(names[feature])

    def _follow(self, state: TrainingState, rows: int | None) -> None:
        super()._follow(state, rows)
        self._forget_facts()

    def _check_facts(self) -> None:
        super()._check_facts()
        infinite, cause = getattr(self, "infinite_", False), getattr(self, "cause_", None)
        if (cause is not None and cause > self.n_features_in_) or (not infinite and cause is not None):
            raise ValueError(f"its cause_ is {cause!r:.20}, the column of no weight that grows forever")

    def _parts(self, features: int, rows: int | None) -> Parts:
        if self.solver in SOLVERS:
            raise ParameterError(NOT_ROW_BY_ROW.format(self.solver))
        if self.multi_class == "multinomial":
            raise ParameterError(
                'multi_class="multinomial" needs solver="batch" or "newton": "sgd" takes "ovr" or "joint"'
            )
        variance: Any = None if self.prior_variance == "auto" else self.prior_variance
        if not self.penalize_intercept and variance is not None:
            raise ParameterError('penalize_intercept=False needs solver="batch" or "newton": "sgd" holds the bias too')
        shrink = 0.0
        if variance is not None:
            n = self.prior_rows if self.prior_rows is not None else rows
            if n is None:
                raise ParameterError(
                    "a prior is shared among all rows, and a stream has no known number of rows: set prior_rows"
                )
            shrink = 1 / (n * variance)
            if self.eta0 * shrink > 1:
                raise ParameterError(
                    f"eta0={self.eta0:g} is too large for prior_variance={variance:g} on {n} rows: one "
                    f"row would shrink the weights below 0; use at most {1 / shrink:g}"
                )
        return Parts(Logistic(self.eta0, self.power_t, shrink), readout=READOUTS[self.readout])

    @on_snapshot
    def predict_proba(self, X: Any) -> Array:
        """Return Pr(class | x), (rows, classes).

        One-vs-rest: each class's probability against the rest, divided by their sum. Else the softmax of the scores.
        """
        return self._probabilities(self.decision_function(X))

    predict_proba_one = OnlineLearner._predict_proba_one

    def _probabilities(self, scores: Array) -> Array:
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
