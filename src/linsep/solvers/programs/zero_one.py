"""The least number of errors that any halfspace makes: exact, and hard.

The rows on which a halfspace is right are a separable set, so the least number of errors is the least number of rows to
leave out until the others are separable. Rows that, weighted, cancel out (Gordan's witness) are never separable: each
such set must lose a row. So two programs take turns. An integer program (HiGHS, through `scipy.optimize.milp`) leaves
out the fewest rows that hit all sets found so far; a linear program separates the others, which ends the search, or
finds more sets, and weights of few errors. No constant for "large" or "strictly" enters, as it would where all is put
in one program, and the sets are a proof of the bound that anyone can check. Their number can grow exponentially: this
is for small data.

The integer program's costs are in units of the smallest, and HiGHS leaves open what is within TOLERANCE of its
solution. So the bound is lower than HiGHS has it by as much, unless all costs are whole numbers (of units, or of ones),
which it is rounded up to. Costs that differ by more than WIDEST would drown in its tolerances, and are refused.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import optimize

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.programs.linear_program import decide, guess_bracket
from linsep.solvers.programs.program_rows import USUAL, Budget, mistakes, program_rows
from linsep.validation.errors import InvalidDataError

TOLERANCE = 5e-6
"""Error of HiGHS, in units of the smallest cost; its absolute tolerances are 1e-6."""
WIDEST = 1e5
"""The largest cost, in units of the smallest."""


class ZeroOne(NamedTuple):
    """The halfspace of fewest errors."""

    weights: Array
    """(features + 1,)."""
    errors: float
    """The sum of c_i over its mistakes, y_i w·x_i <= 0, decided without rounding."""
    bound: float
    """No halfspace has less."""
    mistaken: Array
    """The rows of its mistakes."""
    witnesses: list[Array]
    """Sets of rows, none of them separable: any halfspace is wrong on a row of each."""
    iterations: int
    """Turns of the two programs."""
    converged: bool
    """True if errors = bound within the budget; to 1e-5 of the smallest cost if they are no integers."""

    @property
    def separable(self) -> bool:
        """Return whether there are no mistakes."""
        return not len(self.mistaken)


class SeparablePart(NamedTuple):
    """A separable part of the rows."""

    weights: Array
    """They separate it."""
    witnesses: list[Array]
    """Sets of rows that are not separable, found on the way."""
    open: bool
    """True if rounding, or the budget, left a question open."""


def fewest_errors(
    data: Dense | Csr, signs: Array, row_weights: Array, *, max_rows: int = 200, budget: Budget = USUAL,
) -> ZeroOne:  # fmt: skip
    """Find the halfspace with the least sum of c_i over the rows with y_i w·x_i <= 0.

    The row weights are c; those above 0 lie within a factor of 1e5. More than `max_rows` rows that count are refused.
    The time of the budget is that of the whole search. See :mod:`linsep.solvers` for the other arguments.

    >>> X = Dense(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), bias=1.0)
    >>> found = fewest_errors(X, np.array([-1.0, 1.0, -1.0, 1.0, 1.0]), np.zeros(0))
    >>> found.errors, found.bound, len(found.mistaken)
    (1.0, 1.0, 1)
    """
    rows = program_rows(data, signs, row_weights, budget)
    if len(rows.present) > max_rows:
        raise ValueError(
            f"the least number of errors is searched for among {max_rows} rows at most, and here are "
            f"{len(rows.present):,}: its time can grow exponentially; take a sample, raise max_rows, or use "
            'objective="hinge", which is solved at any size'
        )
    costs = row_weights[rows.present] if len(row_weights) else np.ones(len(rows.present))
    _refuse_wide(costs)
    found = _search(rows.matrix, costs, budget)
    return found._replace(
        weights=rows.weights(found.weights), mistaken=rows.present[found.mistaken],
        witnesses=[rows.present[witness] for witness in found.witnesses],
    )  # fmt: skip


def _search(Z: Any, costs: Array, budget: Budget) -> ZeroOne:
    """Let the two programs take turns."""
    end = time.monotonic() + budget.time_limit
    n, p = Z.shape
    slack = 2 * TOLERANCE * float(costs.min(initial=np.inf))
    best = ZeroOne(np.zeros(p), float(costs.sum()), 0.0, np.arange(n), [], 0, False)
    left_out: Array | None = np.zeros(n, bool)
    while left_out is not None and not best.converged and time.monotonic() < end:
        part = _parted(Z, ~left_out, end, budget)
        whole = not part.witnesses
        part = part if whole or part.open else _grown(Z, part, end, budget)
        best = best._replace(iterations=best.iterations + 1, witnesses=best.witnesses + part.witnesses)
        if not part.open:
            best = _better(best, part.weights, mistakes(Z, part.weights), costs)
        if not whole:
            left_out, bound = _cheapest_cover(best.witnesses, costs, end - time.monotonic())
            best = best._replace(bound=min(max(bound, best.bound), best.errors))
        best = best._replace(converged=best.errors - best.bound <= slack)
        if whole or part.open:
            break
    if not best.weights.any():  # cut off before the first separable part: the mean of the rows is better than nothing
        mean = guess_bracket(Z, 0, converged=False).weights
        best = _better(best, mean, mistakes(Z, mean), costs)
    return best


def _parted(Z: Any, rows: Array, end: float, budget: Budget) -> SeparablePart:
    """Take sets that are not separable away from the rows, until the others are, or the time is over."""
    rows = rows.copy()
    witnesses: list[Array] = []
    while rows.any():
        seconds = end - time.monotonic()
        if seconds <= 0:
            return SeparablePart(np.zeros(Z.shape[1]), witnesses, True)
        numbers = np.flatnonzero(rows)
        found = decide(Z[numbers], budget._replace(time_limit=seconds))
        if found.separable is not False:
            return SeparablePart(found.weights, witnesses, found.separable is None)
        witnesses.append(numbers[found.dual > 0])
        rows[witnesses[-1]] = False
    return SeparablePart(np.zeros(Z.shape[1]), witnesses, False)


def _grown(Z: Any, part: SeparablePart, end: float, budget: Budget) -> SeparablePart:
    """Add each row with which the part stays separable; a row with which it does not is in one more witness."""
    w, witnesses = part.weights, list(part.witnesses)
    rows = np.ones(Z.shape[0], bool)
    rows[mistakes(Z, w)] = False
    for i in np.flatnonzero(~rows):
        seconds = end - time.monotonic()
        if seconds <= 0:
            break
        numbers = np.union1d(np.flatnonzero(rows), [i])
        found = decide(Z[numbers], budget._replace(time_limit=seconds))
        if found.separable:
            rows[i], w = True, found.weights
        elif found.separable is False:
            witnesses.append(numbers[found.dual > 0])
    return SeparablePart(w, witnesses, False)


def _better(best: ZeroOne, w: Array, mistaken: Array, costs: Array) -> ZeroOne:
    errors = float(costs[mistaken].sum())
    return best._replace(weights=w, errors=errors, mistaken=mistaken) if errors < best.errors else best


def _cheapest_cover(witnesses: list[Array], costs: Array, seconds: float) -> tuple[Array | None, float]:
    """Return the cheapest rows that hit each set (None: not found in time), and a bound on what such rows cost."""
    n, unit = len(costs), float(costs.min())
    lengths = [len(witness) for witness in witnesses]
    places = np.concatenate(witnesses), np.concatenate([[0], np.cumsum(lengths)])
    A = sp.csr_array((np.ones(sum(lengths)), *places), shape=(len(witnesses), n))
    result = optimize.milp(
        costs / unit, integrality=np.ones(n, np.int64), bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(A, lb=1),
        options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0},
    )  # fmt: skip
    bound = max(float(result.mip_dual_bound or 0.0) - TOLERANCE, 0.0)
    if _whole(costs / unit):
        bound = math.ceil(bound)
    bound = math.ceil(unit * bound) if _whole(costs) else unit * bound
    return (result.x > 0.5 if result.status == 0 else None), float(bound)


def _whole(costs: Array) -> bool:
    return bool(np.all(costs == np.round(costs)))


def _refuse_wide(costs: Array) -> None:
    """Raise a ValueError when costs are too far apart for one program."""
    least, most = float(costs.min(initial=np.inf)), float(costs.max(initial=0.0))
    if most / least > WIDEST:
        raise InvalidDataError(
            f"the weights of rows reach from {least:g} to {most:g}: the least weight of errors is found for weights "
            f'within a factor of {WIDEST:g}; set the smallest to 0 (absent), lower the largest, or use "hinge"'
        )
