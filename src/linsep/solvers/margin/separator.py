"""Is there a w that separates? As good an answer as is of use, for data of any size."""

from collections.abc import Callable

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.margin.hard import HardMargin, hard_margin
from linsep.solvers.margin.hull_points import Points
from linsep.solvers.margin.opposed import opposed_rows
from linsep.solvers.products import features_of, rows_of

NONE = np.zeros(0)


def separator(
    data: Dense | Csr, signs: Array, *, enough: float = 0.0, tol: float = 0.005, max_iter: int = 2000,
    start: Array | None = None, deadline: float | None = None,
    watch: Callable[[float, float], None] | None = None, seed: int = 0, jobs: int = 1,
) -> HardMargin:  # fmt: skip
    """Find a w that separates and the margin to `tol`; or rows that rule it out; or that the margin is of no use.

    The search ends where

    - a w separates, and the bracket is as narrow as `tol` or the margin no larger than `enough`;
    - a point of the hull is 0 but for rounding: `separable` is False and `dual` the witness, of few rows. A row that is
      0, and two rows that are each other's opposites, are found at once;
    - the margin is no larger than `enough`, no w separates, and for long none has come nearer to it (the rows on the
      wrong side did not become half as many in 32 passes): `separable` is None. Where either the rows or the features
      are up to some 1500, the search is finite and does not end like that;
    - the deadline or the budget is reached.

    Parameters
    ----------
    data, signs, tol, max_iter, enough, start, deadline, watch, seed, jobs
        As in :func:`linsep.solvers.margin.hard.hard_margin`. The constant feature is one like all others.

    Examples
    --------
    >>> X = Dense(np.array([[2.0, 0.0], [3.0, 1.0], [2.0, 0.0]]), bias=1.0)
    >>> found = separator(X, np.array([1.0, 1.0, -1.0]))
    >>> found.separable, found.support
    (False, array([0, 2]))
    """
    rows = opposed_rows(data, signs)
    if len(rows):
        found = _ruled_out(data, signs, rows, jobs)
        if watch is not None:
            watch(found.lower, found.upper)
        return found
    return hard_margin(
        data, signs, NONE, tol=tol, max_iter=max_iter, seed=seed, jobs=jobs, enough=enough, start=start,
        deadline=deadline, watch=watch,
    )  # fmt: skip


def _ruled_out(data: Dense | Csr, signs: Array, rows: Array, jobs: int) -> HardMargin:
    """Return the answer that these rows, whose mean is 0, are all the proof that is needed."""
    points = Points(data, signs, NONE, False, jobs)
    radius = points.radius / points.scale
    dual = np.zeros(rows_of(data))
    dual[rows] = 1.0 / len(rows)
    return HardMargin(
        np.zeros(features_of(data) + 1), dual, -radius, 0.0, 1, False, True, radius, np.array([[-radius, 0.0]])
    )
