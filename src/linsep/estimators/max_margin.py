"""The maximum margin, hard or soft: the support vector machine without a kernel."""

from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.engine.arrays import Array
from linsep.engine.runtime import share, threads
from linsep.estimators.base.batch import POSITIVE, BatchLearner, BatchProblem, BatchSolution, not_separable
from linsep.estimators.base.facts import Fact, refuse_other_dual, refuse_other_verdict
from linsep.solvers.margin.hard import HardMargin, hard_margin
from linsep.solvers.margin.soft import SoftMargin, soft_margin
from linsep.solvers.products import times

NUMBERS = ("margin_", "margin_bound_", "gap_")
LOSSES: dict[str, Literal["l1", "l2"]] = {"hinge": "l1", "squared_hinge": "l2"}
"""The solver's names of the losses."""


class MarginSolution(NamedTuple):
    """The solution of one binary problem."""

    weights: Array
    iterations: int
    margin: tuple[float, float]
    gap: float
    dual: Array
    separable: bool | None
    verdict: str
    warning: str | None


class MaxMargin(BatchLearner):
    """The halfspace of the largest margin; with `C`, of the best bargain between margin and errors.

    Hard margin (`C=None`): min ||w|| such that y_i w·x_i >= 1 for all rows, so that the margin is 1 / ||w||. It is
    bracketed from both sides until the bracket is as narrow as `tol`. On rows that no halfspace separates it ends with
    a witness: weights of rows with which the y_i x_i cancel out.

    Soft margin: min ½ ||w||² + C · sum of loss(1 - y_i w·x_i), with loss(t) = max(0, t)² ("squared_hinge") or max(0, t)
    ("hinge"), by dual coordinate descent until the duality gap is as small as `tol`.

    More than two classes: each against the rest.

    Parameters
    ----------
    C : float or None, default=1.0
        The cost of a unit of loss, times each row's weight. None: the hard margin, for which rows have no weights but
        0, which leaves them out.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss of the soft margin: the hinge squared, or the hinge.
    tol : float, default=1e-3
        The relative gap at which to stop, between the bounds of the margin, or between the two objectives.
    max_iter : int, default=1000
        The most passes over the rows.
    fit_intercept : bool, default=True
        If True, there is a bias.
    intercept_scaling : float, default=1.0
        The constant feature's value, beta in the theorems, which matters while the bias is penalised.
    penalize_intercept : bool, default=True
        If True, the bias is the weight of a constant feature and thus a part of ||w||, as in the theorems; else it is
        free, and the margin is the distance to the boundary: half the distance between the hulls of the two classes.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class.
    random_state : int, RandomState or None, default=None
        The seed of the order of rows, or where to draw it from.
    n_jobs : int or None, default=None
        Threads, for classes, proofs and prediction; never changes a bit.

    Attributes
    ----------
    margin_, margin_bound_ : float
        The margin of the weights found (below 0 where a row is on the wrong side), and one that no halfspace exceeds on
        these rows, as `dual_` proves.
    gap_ : float
        The relative gap reached: (upper - lower) / upper of the bracket (0 with a witness), or (P - D) / P.
    support_, dual_ : int64 array, float64 array
        The rows that bear weight in the dual, and their weights: lambda >= 0 with sum 1, the witness if there is none
        to separate; or with `C` the dual variables a_i.
    separable_ : bool or None
        True: the weights separate the rows, by more than rounding can do. False: no weights do, as the witness proves,
        to rounding: its sum is 0 or no more than 1e-10 of the longest row, as it is for columns that vanish beside a
        penalised bias (of size 1e-200, for example: bring them to its scale). None: not known, as ever with `C` where a
        row is on the wrong side.
    verdict_ : str
        The result in a sentence (with more than two classes, a line for each).
    n_iter_ : int
        Passes over the rows, the most of any class.

    With more than two classes, `margin_`, `margin_bound_` and `gap_` are arrays, (classes,), and `support_`, `dual_`
    and `separable_` are lists.

    Examples
    --------
    >>> from linsep import MaxMargin
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    >>> clf = MaxMargin(C=None, penalize_intercept=False).fit(X, y)
    >>> clf.coef_, clf.intercept_, clf.margin_
    (array([[1., 0.]]), array([-1.]), 1.0)
    >>> print(clf.verdict_)
    separable: the margin is 1, and no halfspace has more than 1
    """

    _facts: ClassVar[dict[str, Fact]] = {
        "margin_": Fact(float, "classes"),
        "margin_bound_": Fact(float, "classes", least=0),
        "gap_": Fact(float, "classes"),
        "support_": Fact(np.int64, "classes", least=0),
        "dual_": Fact(np.float64, "classes"),
        "separable_": Fact(bool, "classes", none=True),
        "verdict_": Fact(str),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [None, POSITIVE],
        "loss": [StrOptions(set(LOSSES))],
        "tol": [POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE],
        "penalize_intercept": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        C: float | None = 1.0,
        *,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        penalize_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_facts(self) -> None:
        super()._check_facts()
        found = [getattr(self, name, None) for name in ("margin_", "separable_", "support_", "dual_")]
        for margin, separable, support, dual in zip(*found, strict=True) if len(self.classes_) > 2 else [found]:
            if separable and margin is not None and margin < 0:
                raise ValueError(f"its weights separate the rows, and have the margin {margin:.3g}")
            refuse_other_dual(support, dual)
        if len(self.classes_) == 2:
            refuse_other_verdict(getattr(self, "verdict_", ""), found[1])

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        labels, jobs = problem.classes.tolist(), threads(self.n_jobs)
        codes = range(len(labels)) if len(labels) > 2 else [1]
        solve = self._soft if self.C is not None else self._hard
        found = share([partial(solve, problem, code, jobs if len(codes) == 1 else 1) for code in codes], jobs)
        supports = [np.flatnonzero(of.dual) for of in found]
        facts: dict[str, Any] = {
            "margin_": np.array([of.margin[0] for of in found]),
            "margin_bound_": np.array([of.margin[1] for of in found]),
            "gap_": np.array([of.gap for of in found]),
            "support_": supports,
            "dual_": [of.dual[support] for of, support in zip(found, supports, strict=True)],
            "separable_": [of.separable for of in found],
            "verdict_": [of.verdict for of in found],
        }
        warning = found[0].warning
        if len(codes) == 1:
            facts = {name: values.item() if name in NUMBERS else values[0] for name, values in facts.items()}
        else:
            lines = [f"{label!r} against the rest: " for label in labels]
            facts["verdict_"] = "\n".join(line + of.verdict for line, of in zip(lines, found, strict=True))
            warnings = [line + of.warning for line, of in zip(lines, found, strict=True) if of.warning]
            more = f" (and {len(warnings) - 1} more classes)" if len(warnings) > 1 else ""
            warning = f"for {warnings[0]}{more}" if warnings else None
        weights = np.column_stack([of.weights for of in found])
        return BatchSolution(weights, max(of.iterations for of in found), facts, warning)

    def _hard(self, problem: BatchProblem, code: int, jobs: int) -> MarginSolution:
        """Return the hard margin of a class against the others."""
        found = hard_margin(
            problem.data, problem.signs(code), problem.row_weights, tol=float(self.tol), max_iter=int(self.max_iter),
            penalize_bias=self.penalize_intercept, seed=self.seed_, jobs=jobs,
        )  # fmt: skip
        verdict, warning = _hard_verdict(found), None
        if found.separable is False:
            warning = f"{verdict}; predictions are unreliable: set C=1.0 to allow errors"
        elif found.separable is None or not found.converged:
            cause = f"max_iter={self.max_iter}" if found.iterations >= self.max_iter else "rounding"
            warning = f"stopped short of tol={self.tol:g}, by {cause}: {verdict}"
        bounds = found.lower, found.upper
        how = found.weights, found.iterations, bounds, found.gap, found.dual
        return MarginSolution(*how, found.separable, verdict, warning)

    def _soft(self, problem: BatchProblem, code: int, jobs: int) -> MarginSolution:
        """Return the soft margin of a class against the others."""
        assert self.C is not None
        signs = problem.signs(code)
        found = soft_margin(
            problem.data, signs, problem.row_weights, C=float(self.C), loss=LOSSES[self.loss], tol=float(self.tol),
            max_iter=int(self.max_iter), seed=self.seed_, penalize_bias=self.penalize_intercept, jobs=jobs,
        )  # fmt: skip
        scores = signs * times(problem.data, found.weights[:, None], jobs)[:, 0]
        scores = scores[problem.row_weights > 0] if len(problem.row_weights) else scores
        counted = found.weights if self.penalize_intercept else found.weights[:-1]
        bounds = _bounds(found, scores, float(np.linalg.norm(counted)))
        wrong = int(np.count_nonzero(scores <= 0.0))
        separable = True if np.all(scores > found.rounding) else None
        verdict, warning = _soft_verdict(found, wrong, len(scores), bounds, separable), None
        if not found.converged:
            warning = (
                f"reached a relative gap of {found.gap:.2g} in {found.iterations} passes, tol={self.tol:g}: raise "
                "max_iter, lower C, or bring the columns to one scale"
            )
        how = found.weights, found.iterations, bounds, found.gap, found.dual
        return MarginSolution(*how, separable, verdict, warning)


def _bounds(found: SoftMargin, scores: Array, length: float) -> tuple[float, float]:
    """Return what soft weights and their dual prove of the hard margin: any w bounds it, and so does any a >= 0."""
    total = float(np.sum(found.dual))
    return (float(np.min(scores)) / length if length else 0.0, length / total if total else np.inf)


def _hard_verdict(found: HardMargin) -> str:
    if found.separable:
        return f"separable: the margin is {found.lower:.6g}, and no halfspace has more than {found.upper:.6g}"
    if found.separable is None:
        return f"open: no halfspace is known to separate the rows, and none has a margin above {found.upper:.6g}"
    return not_separable(found.support, found.upper)


def _soft_verdict(found: SoftMargin, wrong: int, rows: int, bounds: tuple[float, float], separable: bool | None) -> str:
    proof = f"the objective is {found.primal:.6g}, and none is below {found.dual_objective:.6g}"
    if wrong:
        return f"{proof}; {wrong:,} of {rows:,} rows are on the wrong side"
    if not separable:
        return f"{proof}; no row is on the wrong side, but some are as near to the boundary as rounding"
    return f"{proof}; the weights separate the rows with margin {bounds[0]:.6g}"
