"""Halfspaces by linear programming, by HiGHS through scipy, each solution with the other side's proof.

With z_i = y_i x_i, the always feasible form of separation, and its dual, are

    max t  s.t.  z_i·w >= t for all i, |w_j| <= 1   =   min ||sum of lambda_i z_i||_1,  lambda >= 0, sum 1.

Data are separable where this is above 0, and else lambda is Gordan's witness: rows that, weighted, cancel out. Any w
and any lambda bracket the value, so what HiGHS returns is weighed by the rows themselves: its tolerances prove nothing.
Winnow's matrix game is the same with u >= 0 of sum 1. Weights of least error come from the dual program, which has one
constraint a feature and one bounded unknown a row: on tall data that is over ten times faster than the other way round.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import optimize

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.programs.program_rows import (
    EPS,
    USUAL,
    Budget,
    ProgramForm,
    beside,
    column,
    exponents,
    program_forms,
    program_rows,
    scaled,
    separates,
)

OUT_OF_BUDGET = 1
"""The status of a program that was stopped."""


class Bracket(NamedTuple):
    """The value of a game between weights and rows, from both sides."""

    weights: Array
    """(features + 1,): min_i y_i w·x_i = lower; all 0 where no separator was found by :func:`separate`."""
    dual: Array
    """(rows,): lambda, which proves `upper`; at most rank + 1 of them are not 0."""
    lower: float
    """The value that `weights` reach."""
    upper: float
    """The value that no weights exceed."""
    separable: bool | None
    """True: `weights` separates, without rounding. False: `dual` is the witness, to rounding. None: open."""
    iterations: int
    """Steps of the simplex method."""
    converged: bool
    """True if the budget sufficed; if not, the bracket is that of the initial weights."""


class LeastError(NamedTuple):
    """The weights of least error."""

    weights: Array
    """(features + 1,)."""
    dual: Array
    """(rows,): a, with sum of a_i y_i x_i = 0 to rounding, within [0, c_i] (hinge) or [-c_i, c_i] (absolute)."""
    error: float
    """The error of `weights`."""
    bound: float
    """The sum of a_i, or 0 if that is more: to rounding, no weights have less error."""
    separable: bool
    """True if `weights` separates the rows, without rounding."""
    iterations: int
    """Steps of the simplex method."""
    converged: bool
    """True if HiGHS converged; if not, the weights are initial weights, and the bound is 0."""


def separate(data: Dense | Csr, signs: Array, row_weights: Array, budget: Budget = USUAL) -> Bracket:
    """Find weights that separate the rows, or rows that prove there are none: max t, y_i w·x_i >= t, |w_j| <= 1.

    Weights of rows above 0 change nothing. See :mod:`linsep.solvers` for the arguments.

    >>> X = Dense(np.array([[0.0], [2.0], [1.0]]), bias=1.0)
    >>> found = separate(X, np.array([-1.0, 1.0, 1.0]), np.zeros(0))
    >>> found.separable, found.weights, found.lower
    (True, array([ 1. , -0.5]), 0.5)
    >>> found = separate(X, np.array([-1.0, -1.0, 1.0]), np.zeros(0))
    >>> found.separable, found.dual
    (False, array([0.25, 0.25, 0.5 ]))
    """
    rows = program_rows(data, signs, row_weights, budget)
    found = decide(rows.matrix, budget)
    return found._replace(
        weights=rows.weights(found.weights), dual=rows.dual(found.dual),
        lower=rows.size(found.lower), upper=rows.size(found.upper),
    )  # fmt: skip


def decide(Z: Any, budget: Budget) -> Bracket:
    """Return what :func:`separate` does, for rows z_i = y_i x_i in a csr_array."""
    empty = np.flatnonzero(np.diff(Z.indptr) == 0)
    if len(empty):
        return Bracket(np.zeros(Z.shape[1]), np.eye(1, Z.shape[0], empty[0])[0], 0.0, 0.0, False, 0, True)
    end = time.monotonic() + budget.time_limit
    forms = program_forms(Z)
    best = attempt(Z, next(forms), budget)
    while best.separable is None and best.converged and (form := next(forms, None)) is not None:
        left = max(end - time.monotonic(), 0.0)
        best = join_brackets(best, attempt(Z, form, budget._replace(time_limit=left)))
    return best


def join_brackets(one: Bracket, other: Bracket) -> Bracket:
    """Combine an open bracket with another bracket of the same rows."""
    lower, upper = max(one, other, key=lambda b: b.lower), min(one, other, key=lambda b: b.upper)
    if other.separable is not None:
        lower, upper = other, upper if other.separable else other
    return Bracket(
        lower.weights, upper.dual, lower.lower, upper.upper, other.separable,
        one.iterations + other.iterations, other.converged,
    )  # fmt: skip


def attempt(Z: Any, form: ProgramForm, budget: Budget) -> Bracket:
    """Solve the program in that form, and evaluate its solution on the rows.

    Where weights may reach far, t <= 1: the value is another, but above 0 for the same rows.
    """
    n, k = form.matrix.shape
    bounds = np.tile([-form.reach, form.reach], (k + 1, 1))
    bounds[k] = -np.inf, np.inf if form.reach == 1 else 1.0
    A = beside(-form.matrix, column(n))
    result = highs(np.append(np.zeros(k), -1.0), budget, A_ub=A, b_ub=np.zeros(n), bounds=bounds)
    if result.x is None:
        return guess_bracket(Z, result.nit, converged=result.status != OUT_OF_BUDGET)
    w = form.back(np.clip(result.x[:k], -form.reach, form.reach))
    w = w if form.reach == 1 else np.ldexp(w, -exponents(np.abs(w).max()))
    dual = mixture(np.ldexp(-result.ineqlin.marginals, form.rows - form.rows.max()))
    return weigh(Z, w, dual, result.nit, True)


def highs(c: Array, budget: Budget, **program: Any) -> Any:
    """Minimise c·x; `x` is None where the budget, or the arithmetic, did not last."""
    options: Any = {"maxiter": budget.max_iter, "time_limit": budget.time_limit}
    return optimize.linprog(c, method="highs", options=options, **program)


def mixture(coefficients: Array) -> Array:
    """Return what is above 0, with sum 1."""
    above = np.maximum(coefficients, 0.0)
    return above / above.sum() if above.any() else np.full(len(above), 1 / len(above))


def guess_bracket(Z: Any, iterations: int, converged: bool) -> Bracket:
    """Return the bracket that costs no program: all rows alike, and weights along their sum."""
    dual = np.full(Z.shape[0], 1 / Z.shape[0])
    total = Z.T @ dual
    return weigh(Z, total / (np.abs(total).max() or 1.0), dual, iterations, converged)


def weigh(Z: Any, w: Array, dual: Array, iterations: int, converged: bool) -> Bracket:
    """Return what these weights and this mixture prove."""
    lower, total = float((Z @ w).min()), np.abs(Z.T @ dual)
    if separates(Z, w):
        return Bracket(w, dual, lower, float(total.sum()), True, iterations, converged)
    terms = abs(Z).T @ dual
    vanishes = np.all(total <= 4 * (np.count_nonzero(dual) + 2) * EPS * terms)
    verdict = False if vanishes else None
    w, lower = (w, lower) if lower > 0 or not converged else (np.zeros_like(w), 0.0)
    return Bracket(w, dual, lower, float(total.sum()), verdict, iterations, converged)


def l1_game(
    data: Dense | Csr, signs: Array, row_weights: Array, *, signed: bool = False, budget: Budget = USUAL,
) -> Bracket:  # fmt: skip
    """Solve Winnow's matrix game: max delta, y_i u·x_i >= delta for all i, u >= 0, ||u||_1 = 1.

    The dual is lambda with max_j of the sum of lambda_i y_i x_ij as small as can be: it has the same value. The bias is
    two features, +beta and -beta. With `signed`, u may have any sign, as in balanced Winnow: the value is then never
    below 0. The other arguments are those of :func:`separate`.

    >>> X = Dense(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), bias=1.0)
    >>> found = l1_game(X, np.array([1.0, 1.0, -1.0, -1.0]), np.zeros(0))
    >>> found.weights, found.lower, found.upper
    (array([ 0.667, 0. , 0. , -0.333]), 0.333, 0.333)
    """
    rows = program_rows(data, signs, row_weights, budget, 1 + signed)
    Z, bias = rows.matrix, data.bias != 0.0
    mirrored = np.arange(0 if signed else Z.shape[1] - bias, Z.shape[1])
    w, dual, result = matrix_game(Z, mirrored, partial(highs, budget=budget))
    sums = Z.T @ dual
    lower, upper = float((Z @ w).min()), float(np.append(sums, 0.0 - sums[mirrored]).max())
    verdict = True if separates(Z, w) else False if upper <= 4 * (np.count_nonzero(dual) + 2) * EPS else None
    found = rows.size(lower), rows.size(upper), verdict, result.nit, result.x is not None
    return Bracket(rows.weights(w), rows.dual(dual), *found)


def matrix_game(Z: Any, mirrored: Array, solve: Callable[..., Any]) -> tuple[Array, Array, Any]:
    """Solve max t with Z u >= t, sum |u_j| = 1, u_j >= 0 but for mirrored columns; return u, lambda and the result.

    `solve` minimises c·x; where it returns no x, u and lambda are those of all features, and all rows, alike.
    """
    n, p = Z.shape
    payoff = beside(Z, -Z[:, mirrored])
    k = payoff.shape[1]
    bounds = np.tile([0.0, np.inf], (k + 1, 1))
    bounds[k, 0] = -np.inf
    result = solve(
        c=np.append(np.zeros(k), -1.0), bounds=bounds, A_ub=beside(-payoff, column(n)), b_ub=np.zeros(n),
        A_eq=sp.csc_array(np.append(np.ones(k), 0.0)[None]), b_eq=np.ones(1),
    )  # fmt: skip
    both = mixture(np.zeros(k) if result.x is None else result.x[:k])
    u = both[:p].copy()
    u[mirrored] -= both[p:]
    return u, mixture(np.zeros(n) if result.x is None else -result.ineqlin.marginals), result


@np.errstate(over="ignore", invalid="ignore")
def least_error(
    data: Dense | Csr, signs: Array, row_weights: Array, *, both_sides: bool = False, budget: Budget = USUAL,
) -> LeastError:  # fmt: skip
    """Find the weights of least hinge loss, sum of c_i (1 - y_i w·x_i)+, or of least sum of c_i |y_i - w·x_i|.

    With `both_sides`, scores beyond the label are errors as well: the absolute error in place of the hinge loss. The
    row weights are c. The other arguments are those of :func:`separate`.

    >>> X = Dense(np.array([[0.0], [2.0], [1.0], [3.0]]), bias=1.0)
    >>> found = least_error(X, np.array([-1.0, -1.0, 1.0, 1.0]), np.zeros(0))
    >>> found.weights, found.error, found.bound
    (array([ 0.667, -1. ]), 2.667, 2.667)
    """
    rows = program_rows(data, signs, row_weights, budget)
    costs = row_weights[rows.present] if len(row_weights) else np.ones(len(rows.present))
    n, p = rows.matrix.shape
    columns = -exponents(abs(rows.matrix).max(axis=0).toarray())
    Z = scaled(rows.matrix, np.zeros(n, np.int64), columns)
    unit = float(np.ldexp(1.0, exponents(costs.max())))
    bounds = np.column_stack([-costs if both_sides else np.zeros(n), costs]) / unit
    result = highs(-np.ones(n), budget, A_eq=sp.csc_array(Z.T), b_eq=np.zeros(p), bounds=bounds)
    converged = result.x is not None
    w = -result.eqlin.marginals if converged else guess_bracket(Z, 0, False).weights
    dual = np.clip(result.x, *bounds.T) * unit if converged else np.zeros(n)
    misses = 1.0 - Z @ w
    error = float(costs @ (np.abs(misses) if both_sides else np.maximum(misses, 0.0)))
    return LeastError(
        rows.weights(np.ldexp(w, columns - rows.exponent)), rows.dual(dual), error, max(float(dual.sum()), 0.0),
        separates(Z, w), result.nit, converged,
    )  # fmt: skip
