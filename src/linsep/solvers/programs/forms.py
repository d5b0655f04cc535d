"""Forms of one question, whether rows z_i are separable, that differ in what rounding does to them.

Rows may be multiplied by numbers above 0, and columns be mixed by any invertible matrix: the answer stays. A solver
with tolerances sees margins in one form that are lost in another.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from linsep.core.arrays import Array
from linsep.solvers.programs.signed_rows import EPS, exponents, scaled

ROUNDS = 8
"""How often rows and columns are brought nearer to 1."""
FAR = 2.0**20
"""How far the weights of balanced rows may reach, beside a margin of 1: HiGHS's tolerance is 2^-23."""
NEAR = 2.0**10
"""The same for orthogonal columns, which need no far weights."""
SMALL = 1 << 22
"""Entries of the largest table that is made orthogonal."""


class Form(NamedTuple):
    """Rows that are separable where z_i are."""

    matrix: Any
    """csr_array (rows, columns)."""
    rows: Array
    """Row i was multiplied by 2^rows[i]."""
    back: Callable[[Array], Array]
    """Turns weights of the columns into weights of the data, up to a factor."""
    reach: float
    """The largest weight; with 1, the margin has no limit, and else 1 is its limit."""


def plain(Z: Any) -> Form:
    """Return the rows as they are."""
    return Form(Z, np.zeros(Z.shape[0], np.int64), lambda w: w, 1.0)


def balanced(Z: Any) -> Form:
    """Return the rows with the largest |entry| of each row and column near 1 (Ruiz, 2001), by powers of two."""
    sizes = abs(Z)
    rows, columns = (np.zeros(n, np.int64) for n in Z.shape)
    for _ in range(ROUNDS):
        now = scaled(sizes, rows, columns)
        rows = rows - exponents(now.max(axis=1).toarray()) // 2
        columns = columns - exponents(now.max(axis=0).toarray()) // 2
    return Form(scaled(Z, rows, columns), rows, lambda w: np.ldexp(w, columns - columns.max()), FAR)


def orthogonal(Z: Any) -> Form:
    """Return balanced rows with orthogonal columns: those far from 0 and nearly alike become as good as any others."""
    form = balanced(Z)
    Q, R, order = linalg.qr(form.matrix.toarray(), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > sizes[0] * max(Z.shape) * EPS))
    further = -exponents(np.abs(Q[:, :rank]).max(axis=1))

    def back(w: Array) -> Array:
        mixed = np.zeros(Z.shape[1])
        mixed[order[:rank]] = linalg.solve_triangular(R[:rank, :rank], w)
        return form.back(mixed)

    return Form(sp.csr_array(np.ldexp(Q[:, :rank], further[:, None])), form.rows + further, back, NEAR)
