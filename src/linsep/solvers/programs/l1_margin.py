"""Winnow's margin on data of any size, from both sides.

With z_i = y_i [x_i, beta], lambda >= 0 of sum 1, and weights u >= 0 of sum 1 (the bias being two features, +beta and
-beta), or of any sign with ||u||_1 <= 1 for balanced Winnow,

    max over u of min_i z_i·u   =   min over lambda of max_j (sum of lambda_i z_i)_j    (of |...| for any sign).

Any u and any lambda bracket the value, whatever found them.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.programs.l1_rows import L1Rows
from linsep.solvers.programs.l1_search import Search, Start, Watch


class Game(NamedTuple):
    """The value of the game, from both sides."""

    weights: Array
    """(features + 1,): u, with min_i y_i u·x_i = lower; the last one is that of +beta less that of -beta. The sum of
    |u_j| is 1 without a bias and weights below 0, else at most 1, and 0 where nothing better than that was found."""
    dual: Array
    """(rows,): lambda, which proves `upper`."""
    lower: float
    """What `weights` reach, to rounding."""
    upper: float
    """What no weights can exceed, to rounding."""
    converged: bool
    """Whether the bracket is as narrow as was asked, or the value is known to be of no use."""
    programs: int
    """How many linear programs it took."""


def l1_margin(
    data: Dense | Csr, signs: Array, *, signed: bool, enough: float, tol: float = 0.003,
    starts: Iterable[Start] = (), deadline: float | None = None, watch: Watch | None = None,
) -> Game:  # fmt: skip
    """Find the largest margin that weights of L1 norm 1 have, and rows that prove there is none larger.

    Where no weights have a margin above 0, lambda proves it: max_j (sum of lambda_i z_i)_j is 0 to rounding, or below 0
    if it can be (weights >= 0, no bias); it is 0 exactly if one row does that alone.

    Parameters
    ----------
    data : Dense or Csr
        The rows; `data.bias` is the constant feature's value, 0.0 where there is none.
    signs : float64 array of shape (rows,)
        +1 or -1 for each row.
    signed : bool
        Whether weights below 0 are allowed, as in balanced Winnow; else only that of the constant feature is.
    enough : float
        A value that is of no use any more, and so is every smaller one: the search ends below it. Little data, which
        are one program, are solved to the end nevertheless.
    tol : float, default=0.003
        The search ends where upper - lower <= tol * upper.
    starts : pairs of weights (features + 1,) and lambda (rows,), or None for either
        What is known from elsewhere; any weights and any lambda will do, of any size.
    deadline : float, optional
        The time.monotonic() at which the search ends with what it has.
    watch : callable, optional
        Called with the lower and the upper bound whenever one of them has moved.

    Examples
    --------
    >>> import numpy as np
    >>> X = Dense(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), bias=1.0)
    >>> found = l1_margin(X, np.array([1.0, 1.0, -1.0, -1.0]), signed=False, enough=0.0)
    >>> found.weights, found.lower, found.upper
    (array([ 0.667, 0. , 0. , -0.333]), 0.333, 0.333)
    """
    rows = L1Rows(data, signs, signed)
    search = Search(rows, float(np.ldexp(enough, -rows.exponent)), tol, deadline, watch)
    search.begin(starts)
    search.run()
    w, dual = np.zeros(rows.features + 1), np.zeros(rows.count)
    w[: rows.width], dual[search.proof] = search.weights, search.dual
    converged = search.narrow() or search.useless()
    return Game(w, dual, search.size(search.lower), search.size(search.upper), converged, search.programs)
