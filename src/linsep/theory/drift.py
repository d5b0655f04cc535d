"""Find where the error of a stream rises: windows of rows that are worse than those before, by more than chance.

A window of m rows with error b is compared with the n rows before it, of error a, back to the last rise. If all of
these rows were wrong independently, with one probability, then the statistic

    G = n KL(a || p) + m KL(b || p),    p = (n a + m b) / (n + m),

would exceed t with a probability of about e^(-t) (a likelihood ratio test). With one test a window, a rise is a window
with b > a and G >= ln(windows / LEVEL). The first window, and that of a rise, are left out of what follows is compared
with: there the learner still learns.
"""

from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.theory.exchangeability import LEVEL, divergence


class Rise(NamedTuple):
    """A window whose error is above that of the rows before it."""

    window: int
    """The number of the window, from 0."""
    row: int
    """The rows before the window."""
    before: float
    """The error of the rows that the window is compared with."""
    error: float
    """The error of the window."""


def rises(rows: Array, errors: Array) -> list[Rise]:
    """Return the windows in which the error rises.

    Parameters
    ----------
    rows, errors : array
        The rows of each window, and the number of them that were predicted wrongly before they were learned.

    Examples
    --------
    >>> rises([100] * 6, [40, 10, 12, 11, 60, 55])
    [Rise(window=4, row=400, before=0.11, error=0.6)]
    >>> rises([100] * 6, [40, 10, 12, 11, 13, 12])
    []
    """
    rows, errors = np.asarray(rows, float), np.asarray(errors, float)
    found, start = [], 1
    for k in range(2, len(rows)):
        n, m = float(rows[start:k].sum()), float(rows[k])
        if n == 0 or m == 0:
            continue
        a, b = float(errors[start:k].sum()) / n, float(errors[k]) / m
        p = np.array((n * a + m * b) / (n + m))
        if b > a and n * divergence(np.array(a), p) + m * divergence(np.array(b), p) >= np.log(len(rows) / LEVEL):
            found.append(Rise(k, int(rows[:k].sum()), a, b))
            start = k + 1
    return found
