"""The perceptron and its average in plain numpy, row by row: nothing compiled, nothing shared with linsep."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.data import Array


class Epoch(NamedTuple):
    """What one epoch from zero weights leaves behind; the last weight is the bias."""

    mistakes: int
    last: Array
    average: Array


def perceptron_epoch(X: sp.csr_matrix, y: Array, order: Array) -> Epoch:
    """Walk the rows in this order: y (w.x + b) <= 0 is a mistake and adds y [x, 1] to w.

    The average of the weights before each round is w - u / m, with u the sum over mistakes of round times
    step.
    """
    w, u = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)
    mistakes = 0
    for t, i in enumerate(order, start=1):
        span = slice(X.indptr[i], X.indptr[i + 1])
        features, values = X.indices[span], X.data[span].astype(np.float64)
        if y[i] * (w[features] @ values + w[-1]) <= 0:
            mistakes += 1
            w[features] += y[i] * values
            u[features] += t * y[i] * values
            w[-1] += y[i]
            u[-1] += t * y[i]
    return Epoch(mistakes, w, w - u / len(order))
