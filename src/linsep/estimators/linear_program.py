"""Halfspaces by linear programming."""

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from linsep.engine.arrays import Array
from linsep.estimators.base.batch import POSITIVE, BatchLearner, BatchProblem, BatchSolution, name_rows, not_separable
from linsep.estimators.base.facts import Fact, refuse_other_dual, refuse_other_verdict
from linsep.solvers.programs.linear_program import Bracket, LeastError, l1_game, least_error, separate
from linsep.solvers.programs.program_rows import Budget
from linsep.solvers.programs.zero_one import ZeroOne, fewest_errors
from linsep.validation.errors import InvalidDataError


class LinearProgram(BatchLearner):
    """The halfspace that makes no error, or the proof that there is none, by a linear program (HiGHS).

    max t such that y_i w·x_i >= t for all rows and |w_j| <= 1. It is above 0 where a halfspace separates the rows, and
    the weights found are then checked on the rows without any rounding. Else its dual is a witness (Gordan): weights of
    at most rank + 1 rows, with which the y_i x_i cancel out. The time grows faster than the data, and the memory is
    some 200 bytes for each nonzero entry. Two classes only.

    Parameters
    ----------
    objective : {"separate", "hinge", "absolute-error", "l1-margin", "zero-one"}, default="separate"
        "separate": the program above; if it finds no separator, a second program computes the weights that predict,
        those of "hinge". "hinge": the least sum of (1 - y_i w·x_i)+, the total by which rows miss the margin 1.
        "absolute-error": the least sum of |y_i - w·x_i|, with y_i = +-1. "l1-margin": Winnow's matrix game, max delta
        such that y_i u·x_i >= delta, u >= 0, ||u||_1 = 1; the bias is two features, +beta and -beta. "zero-one": the
        fewest errors that any halfspace makes, exactly, a score of 0 counted as an error: for small sets.
    signed : bool, default=False
        If True, "l1-margin" allows weights below 0, as balanced Winnow does. Weights are then 0 where delta is.
    fit_intercept : bool, default=True
        If True, rows get a constant feature.
    intercept_scaling : float, default=1.0
        The constant feature's value, beta in the theorems.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, by class. Weights count for "hinge", "absolute-error" and "zero-one",
        for which they must lie within a factor of 1e5; for the others rows of weight 0 are absent, and all others are
        alike.
    max_rows : int, default=200
        The most rows for "zero-one", whose time can grow exponentially with the number of errors.
    max_iter : int, default=1_000_000
        The most steps of the simplex method, for each program.
    time_limit : float, default=120.0
        The most seconds, for each program; for "zero-one" those of the whole search.
    max_memory : float, default=2.0**31
        The most bytes of a program, estimated before it is built: a larger one is refused.

    Attributes
    ----------
    separable_ : bool
        True if the weights separate the rows, y_i w·x_i > 0 for all: exact if True.
    verdict_ : str
        The result in a sentence, with the meaning of False.
    margin_, margin_bound_ : float
        The t ("separate") or delta ("l1-margin") reached, and one that no weights exceed, as the dual proves. Where
        rows cancel out, margin_bound_ is what rounding leaves of their sum, ||sum of lambda_i y_i x_i||_1.
    error_, error_bound_ : float
        The sum that "hinge" or "absolute-error" reached, and the dual's, the least there can be (to rounding).
    errors_, errors_bound_ : float
        The errors of the weights, as sample weights count them, and the fewest there can be ("zero-one"): the same
        number, if the search came to its end; with sample weights that are no integers, to 1e-5 of the smallest.
    mistaken_ : int64 array
        The rows of those errors.
    witnesses_ : list of int64 arrays
        Sets of rows that are not separable, which prove errors_bound_: each costs any halfspace an error.
    support_, dual_ : int64 array, float64 array
        The rows that the dual uses, and their weights in it: lambda >= 0 with sum 1 ("separate", "l1-margin"), or the
        coefficients a_i whose sum is error_bound_.
    n_iter_ : int
        Steps of the simplex method, or turns of the two programs of "zero-one".

    Examples
    --------
    >>> from linsep import LinearProgram
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> clf = LinearProgram().fit(X, [0, 1, 1, 1])
    >>> clf.separable_, clf.margin_, clf.coef_, clf.intercept_
    (True, 0.5, array([[1., 1.]]), array([-0.5]))
    >>> clf = LinearProgram().fit(X, [0, 1, 1, 0])
    >>> print(clf.verdict_)
    not separable: 4 rows, weighted, cancel out (rows 0, 1, 2, 3; what is left of their sum is 0);
    predictions are those of the least hinge loss, 4
    """

    _facts: ClassVar[dict[str, Fact]] = {
        "separable_": Fact(bool),
        "verdict_": Fact(str),
        "margin_": Fact(float),
        "margin_bound_": Fact(float),
        "error_": Fact(float, least=0),
        "error_bound_": Fact(float, least=0),
        "errors_": Fact(float, least=0),
        "errors_bound_": Fact(float, least=0),
        "mistaken_": Fact(np.int64, least=0),
        "witnesses_": Fact(np.int64, "list", least=0),
        "support_": Fact(np.int64, least=0),
        "dual_": Fact(np.float64),
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "objective": [StrOptions({"separate", "hinge", "absolute-error", "l1-margin", "zero-one"})],
        "signed": ["boolean"],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [POSITIVE],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [POSITIVE],
        "max_memory": [POSITIVE],
    }

    def __init__(
        self,
        *,
        objective: Literal["separate", "hinge", "absolute-error", "l1-margin", "zero-one"] = "separate",
        signed: bool = False,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        max_rows: int = 200,
        max_iter: int = 1_000_000,
        time_limit: float = 120.0,
        max_memory: float = 2.0**31,
    ) -> None:
        self.objective = objective
        self.signed = signed
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_rows = max_rows
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.max_memory = max_memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _check_facts(self) -> None:
        super()._check_facts()
        separable, errors = getattr(self, "separable_", None), len(getattr(self, "mistaken_", ()))
        if separable and errors:
            raise ValueError(f"its weights separate the rows, and are wrong on {errors}")
        refuse_other_dual(getattr(self, "support_", None), getattr(self, "dual_", None))
        refuse_other_verdict(getattr(self, "verdict_", ""), separable)

    def _solve(self, problem: BatchProblem) -> BatchSolution:
        if len(problem.classes) > 2:
            raise InvalidDataError(
                f"Only binary classification is supported. y has the classes {problem.classes.tolist()}, and a linear "
                "program separates two: keep the rows of two of them, or use OneVsRestClassifier(LinearProgram()) of "
                "scikit-learn"
            )
        budget = Budget(int(self.max_iter), float(self.time_limit), float(self.max_memory))
        rows = problem.data, problem.signs(1), problem.row_weights
        if self.objective == "separate":
            return self._separation(rows, budget)
        if self.objective == "l1-margin":
            game = l1_game(*rows, signed=self.signed, budget=budget)
            return self._solution(game, verdict_=_game_verdict(game, self.signed), **_bracket(game))
        if self.objective == "zero-one":
            return self._counted(fewest_errors(*rows, max_rows=self.max_rows, budget=budget), len(rows[1]))
        both_sides = self.objective == "absolute-error"
        found = least_error(*rows, both_sides=both_sides, budget=budget)
        kind = "absolute errors" if both_sides else "hinge losses"
        return self._solution(found, verdict_=_error_verdict(found, kind), **_sums(found), **_dual(found))

    def _separation(self, rows: tuple[Any, Array, Array], budget: Budget) -> BatchSolution:
        """Return the separator, or the proof that there is none with the weights of least hinge loss."""
        found = separate(*rows, budget=budget)
        if found.separable:
            return self._solution(found, verdict_=_separator_verdict(found), **_bracket(found))
        hinge = least_error(*rows, budget=budget)
        solution = found._replace(
            weights=hinge.weights, separable=hinge.separable, iterations=found.iterations + hinge.iterations,
            converged=found.converged and hinge.converged,
        )  # fmt: skip
        facts = _bracket(found) | _sums(hinge)
        return self._solution(solution, verdict_=_witness_verdict(found, hinge), **facts)

    def _counted(self, found: ZeroOne, rows: int) -> BatchSolution:
        facts = {"errors_": found.errors, "errors_bound_": found.bound, "mistaken_": found.mistaken}
        verdict = _count_verdict(found, rows)
        return self._solution(found, verdict_=verdict, witnesses_=found.witnesses, **facts)

    def _solution(self, found: Any, **facts: Any) -> BatchSolution:
        stopped = (
            f"did not finish within max_iter={self.max_iter} and time_limit={self.time_limit:g}: raise them, "
            "or give fewer rows; verdict_ states the result so far"
        )
        facts["separable_"] = bool(found.separable)
        return BatchSolution(found.weights[:, None], found.iterations, facts, None if found.converged else stopped)


def _bracket(found: Bracket) -> dict[str, Any]:
    return {"margin_": found.lower, "margin_bound_": found.upper, **_dual(found)}


def _sums(found: LeastError) -> dict[str, Any]:
    return {"error_": found.error, "error_bound_": found.bound}


def _dual(found: Bracket | LeastError) -> dict[str, Any]:
    support = np.flatnonzero(found.dual)
    return {"support_": support, "dual_": found.dual[support]}


def _separator_verdict(found: Bracket) -> str:
    return (
        f"separable: every row has y w·x of {found.lower:.4g} or more, and no weights between -1 and 1 reach more than "
        f"{found.upper:.4g}"
    )


def _witness_verdict(found: Bracket, hinge: LeastError) -> str:
    """Return the verdict if the program has no separator."""
    if hinge.separable:
        return "separable: every row is on its side of the weights of the least hinge loss"
    if found.separable is False:
        proof = not_separable(np.flatnonzero(found.dual), found.upper)
    else:
        why = "rounding hides whether there is one" if found.converged else "the program was stopped"
        proof = (
            f"open: no separator was found, and {why}; no weights between -1 and 1 give every row y w·x above "
            f"{found.upper:.3g}"
        )
    return f"{proof}; predictions are those of the least hinge loss, {hinge.error:.6g}"


def _game_verdict(game: Bracket, signed: bool) -> str:
    weights = "weights with ||u||_1 = 1" if signed else "weights u >= 0 with ||u||_1 = 1"
    reached = f"the least y u·x is {game.lower:.4g}, and no {weights} reach more than {game.upper:.4g}"
    if game.separable:
        return f"separable: {reached}"
    if game.separable is False:
        return f"not separable{'' if signed else ' by weights u >= 0'}: {reached}"
    return f"open: {reached}"


def _error_verdict(found: LeastError, kind: str) -> str:
    sums = f"the {kind} sum up to {found.error:.6g}, and no weights have less than {found.bound:.6g}"
    return f"separable: {sums}" if found.separable else f"{sums}; these weights do not separate the rows"


def _count_verdict(found: ZeroOne, rows: int) -> str:
    if not len(found.mistaken):
        return f"separable: none of {rows:,} rows is an error"
    plain = found.errors == len(found.mistaken)
    amount = f"{found.errors:g} of {rows:,} rows" if plain else f"rows that count {found.errors:g}"
    wrong = f"this halfspace is wrong on {amount} ({name_rows(found.mistaken)})"
    if found.converged:
        return f"not separable: {wrong}, and none on less"
    return f"{'not separable' if found.bound > 0 else 'open'}: {wrong}, and none on less than {found.bound:g}"
