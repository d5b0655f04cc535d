"""Compute with sums of two floats, and make tied scores of naive Bayes equal."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense

SPLITTER = 2.0**27 + 1
"""The factor that cuts a float into two halves of 26 bits (Veltkamp)."""
AT_ONCE = 1 << 20
"""Entries per block."""
EPS = float(np.finfo(float).eps)
NEAR = 1e-6
"""Scores that are further apart are not computed again."""


class Pair(NamedTuple):
    """high + low, the low part no larger than the rounding of the high one: some 106 bits."""

    high: Array
    low: Array

    def scaled(self, exponent: Array) -> "Pair":
        """Return this times 2^exponent."""
        return Pair(np.ldexp(self.high, exponent), np.ldexp(self.low, exponent))

    def columns(self, part: slice) -> "Pair":
        """Return some columns."""
        return Pair(self.high[:, part], self.low[:, part])


def plus(a: Array, b: Array | float) -> Pair:
    """Return a + b without rounding (Knuth).

    >>> plus(np.array([1.0]), 2.0**-60)
    Pair(high=array([1.]), low=array([8.67361738e-19]))
    """
    total = a + b
    back = total - a
    return Pair(total, (a - (total - back)) + (b - back))


def added(a: Pair, b: Pair) -> Pair:
    """Return a + b."""
    total = plus(a.high, b.high)
    return plus(total.high, total.low + (a.low + b.low))


def product(a: Pair, b: Pair) -> Pair:
    """Return a * b, for numbers that are neither as large nor as small as floats go (Dekker)."""
    high = a.high * b.high
    (a_top, a_rest), (b_top, b_rest) = _halves(a.high), _halves(b.high)
    low = a_rest * b_rest - (((high - a_top * b_top) - a_rest * b_top) - a_top * b_rest)
    return plus(high, low + (a.high * b.low + a.low * b.high))


def log_quotient(a: Pair, b: Pair) -> Array:
    """Return ln(a / b), as good as its logarithm is: 0 where they are equal, and the difference where they nearly are.

    >>> one = Pair(np.ones(1), np.zeros(1))
    >>> log_quotient(Pair(np.ones(1), np.full(1, 1e-20)), one), log_quotient(one, one)
    (array([1.e-20]), array([0.]))
    """
    quotient = a.high / b.high
    times_b = product(Pair(quotient, np.zeros_like(quotient)), b)
    left = added(a, Pair(-times_b.high, -times_b.low)).high / b.high
    return np.log(quotient) + left / quotient


def sums(terms: Array, starts: Array) -> Pair:
    """Return the sum of each stretch of terms, as if summed exactly and then rounded, for some million terms at most.

    The leading bits, cut off where the stretch's sum has its last, add up without rounding in any order; what is left
    is so small that its rounding does not matter (Rump). No stretch may be empty; stretches run along the first axis.

    >>> sums(np.array([1.0, 1e16, 1.0, -1e16, 0.1, 0.2]), np.array([0, 4])).high
    array([2. , 0.3])
    """
    lengths = np.diff(np.append(starts, len(terms)))
    largest = np.maximum.reduceat(np.abs(terms), starts, axis=0)
    spread = np.frexp(lengths.astype(np.float64))[1]
    exponents = np.frexp(largest)[1] + spread.reshape(-1, *[1] * (terms.ndim - 1))
    cut = np.repeat(np.ldexp(1.0, np.minimum(exponents, 1022)), lengths, axis=0)
    leading = (terms + cut) - cut
    return plus(np.add.reduceat(leading, starts, axis=0), np.add.reduceat(terms - leading, starts, axis=0))


def _halves(a: Array) -> tuple[Array, Array]:
    top = SPLITTER * a
    top = top - (top - a)
    return top, a - top


def level_ties(scores: Array, data: Dense | Csr, weights: Array, size: Array, unit: float) -> Array:
    """Return the scores, (rows, columns), with those made equal that differ by no more than rounding explains.

    ln 2 + ln 3 and ln 6 are the same number, and two floats: a tie of products would go to the one or the other class.
    Scores nearer to the highest than their rounding become the highest; with one column, scores nearer to 0 become 0.
    A score that is summed one by one is off by eps (entries + 8) (sum of |x_j| (unit + |w_j|) + size) at most. Those in
    doubt by that, which are few, are summed again without rounding: what is left is that of products and weights,
    eps (sum of |x_j| (2 |w_j| + few) + size), few being 4 for columns of log probabilities, and 0 for one of log-odds.

    The scores X W are changed in place. `weights` is W, (features + 1, columns), and `size` by how much each intercept
    may be off, in units of eps. `unit` is 1.0 for weights that are logarithms, and 0.0 for those of values, whose
    rounding is a few times as large.

    >>> row, weights = Dense(np.array([[1.0, 1.0, -1.0]]), 0.0), np.log([[2.0], [3.0], [6.0], [1.0]])
    >>> level_ties(np.array([[-2.2e-16]]), row, weights, np.zeros(1), 1.0)
    array([[0.]])
    """
    rows = np.flatnonzero(_lead(scores) <= NEAR)
    if not len(rows):
        return scores
    longest = data.values.shape[1] if isinstance(data, Dense) else int(np.diff(data.indptr)[rows].max())
    step = AT_ONCE // max(1, longest) + 1
    for some in (rows[lo : lo + step] for lo in range(0, len(rows), step)):
        _level(scores, some, _rows(data, some), data.bias, weights, size, unit)
    return scores


def _level(scores: Array, rows: Array, matrix: Any, bias: float, weights: Array, size: Array, unit: float) -> None:
    """Level the scores of some rows, in place."""
    own, columns = scores[rows], scores.shape[1]
    entries, sizes = np.diff(matrix.indptr)[:, None], abs(matrix)
    off = EPS * (entries + 8) * (sizes @ (unit + np.abs(weights[:-1])) + size)
    doubt = np.abs(own) <= off
    if columns > 1:
        best = own.argmax(axis=1)[:, None]
        doubt = np.abs(own - np.take_along_axis(own, best, 1)) <= off + np.take_along_axis(off, best, 1)
        doubt &= np.count_nonzero(doubt, axis=1)[:, None] > 1
    i, c = np.nonzero(doubt)
    if not len(i):
        return
    found = np.full(own.shape, -np.inf)
    found[i, c], off[i, c] = _again(matrix[i], c, bias, weights, size, unit)
    top = np.zeros((len(own), 1))
    if columns > 1:
        best = found.argmax(axis=1)[:, None]
        top = np.take_along_axis(found, best, 1)
        off += np.take_along_axis(off, best, 1)
    near = doubt & (np.abs(found - np.where(np.isfinite(top), top, 0.0)) <= off)
    scores[rows] = np.where(near, top, np.where(doubt, found, own))


def _again(matrix: Any, columns: Array, bias: float, weights: Array, size: Array, unit: float) -> tuple[Array, Array]:
    """Return the score of each row for its column, summed without rounding, and by how much it may be off."""
    rows = sp.hstack([sp.csr_array(np.ones((len(columns), 1))), matrix], format="csr")
    starts, of_entry = rows.indptr[:-1], np.repeat(columns, np.diff(rows.indptr))
    values, chosen = rows.data, weights[rows.indices - 1, of_entry]  # the constant feature's weight is the last
    values[starts] = bias
    terms = values * chosen
    few = 0.0 if weights.shape[1] == 1 else 4.0
    relative = 2.0 if unit else 8.0
    sizes = relative * np.abs(terms) + unit * few * np.abs(values)
    sizes[starts] = 0.0
    return sums(terms, starts).high, EPS * (np.add.reduceat(sizes, starts) + size[columns])


def _lead(scores: Array) -> Array:
    """Return how far the highest score of each row is above the next; of one column, above or below 0."""
    if scores.shape[1] == 1:
        return np.abs(scores[:, 0])
    highest = np.partition(scores, -2, axis=1)
    return highest[:, -1] - highest[:, -2]


def _rows(data: Dense | Csr, some: Array) -> Any:
    """Return some rows as float64, without their zeros."""
    if isinstance(data, Dense):
        return sp.csr_array(data.values[some].astype(np.float64, copy=False))
    every = data.to_scipy()
    return every[some].astype(np.float64)
