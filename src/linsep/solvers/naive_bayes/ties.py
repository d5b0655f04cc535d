"""Ties of naive Bayes: scores that are equal but for rounding are made equal."""

import numpy as np
import scipy.sparse as sp

from linsep.core.examples import Array, Csr, Dense

AT_ONCE = 1 << 20
"""Entries of a table whose rounding is looked at in one go."""
EPS = float(np.finfo(float).eps)
NEAR = 1e-6
"""Scores that are further apart are not looked at."""


def leveled(scores: Array, data: Dense | Csr, weights: Array, size: Array, unit: float) -> Array:
    """Return the scores, (rows, columns), with those made equal that differ by no more than rounding explains.

    ln 2 + ln 3 and ln 6 are the same number, and two floats: a tie of products would go to the one or the other class.
    Scores nearer to the highest than their rounding become the highest; with one column, scores nearer to 0 become 0.
    The rounding of a score is at most eps (entries + 8) (sum of |x_j| (unit + |w_j|) + size).

    Parameters
    ----------
    scores : array, (rows, columns)
        X W; changed in place.
    data : Dense or Csr
        The rows.
    weights : array, (features + 1, columns)
        W.
    size : array, (columns,)
        The sizes of the terms of each intercept, summed.
    unit : float
        1.0 for weights that are logarithms, which are off by a few eps however small they are; else 0.0.

    Examples
    --------
    >>> row, weights = Dense(np.array([[1.0, 1.0, -1.0]]), 0.0), np.log([[2.0], [3.0], [6.0], [1.0]])
    >>> leveled(np.array([[-2.2e-16]]), row, weights, np.zeros(1), 1.0)
    array([[0.]])
    """
    rows = np.flatnonzero(_lead(scores) <= NEAR)
    if not len(rows):
        return scores
    sizes = unit + np.abs(weights[:-1])
    step = AT_ONCE // max(1, len(sizes)) + 1
    for some in (rows[lo : lo + step] for lo in range(0, len(rows), step)):
        part, entries = _absolute(data, some)
        off = EPS * (entries[:, None] + 8) * (part @ sizes + size)
        own, top = scores[some], np.zeros((len(some), 1))
        if scores.shape[1] > 1:
            best = own.argmax(axis=1)[:, None]
            top = np.take_along_axis(own, best, 1)
            off = off + np.take_along_axis(off, best, 1)
        scores[some] = np.where(np.abs(own - top) <= off, top, own)
    return scores


def _lead(scores: Array) -> Array:
    """Return how far the highest score of each row is above the next; of one column, above or below 0."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    highest = np.partition(scores, -2, axis=1)
    return highest[:, -1] - highest[:, -2]


def _absolute(data: Dense | Csr, some: Array) -> tuple[Array | sp.csr_array, Array]:
    """Return |x| of some rows, and how many entries each has."""
    if isinstance(data, Dense):
        part = np.abs(data.values[some], dtype=np.float64)
        return part, np.count_nonzero(part, axis=1)
    rows = sp.csr_array((data.values, data.indices, data.indptr), shape=(len(data.indptr) - 1, data.features))[some]
    return sp.csr_array((np.abs(rows.data, dtype=np.float64), rows.indices, rows.indptr), rows.shape), np.diff(
        rows.indptr
    )
