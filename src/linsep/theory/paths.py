"""Compute the quantities of the proofs after each mistake: the perceptron's two lengths and Winnow's potential.

Rows are z = y x, the bias as a column of its own, one for each mistake and in their order. Dense rows are summed up
a block at a time. Of sparse rows only the entries are touched: sorted by column, their running sums are the weights
just before and just after each of them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp, xlogy

from linsep.engine.arrays import Array
from linsep.transforms.base import is_sparse, refuse_not_finite, sorted_rows

AT_ONCE = 1 << 18
"""Entries of weights that are kept at a time."""
FEWEST = 1 << 12
"""The fewest sparse entries of one block."""
TRUST = 1e-3
"""Winnow's normaliser is summed again where it has fallen below this share of all that was added to it."""


class PerceptronPath(NamedTuple):
    """v_0 = 0 and v_k after each of the mistakes, k = 1, 2, ..."""

    dots: Array
    """v_k·u for a u of length 1: at least k gamma (the first lemma)."""
    squares: Array
    """||v_k||²: at most k R² (the second lemma)."""


def perceptron_path(rows: Any, u: Any) -> PerceptronPath:
    """Return v_k·u / ||u|| and ||v_k||² before the first mistake of a perceptron and after each one.

    Parameters
    ----------
    rows : array or sparse matrix, (mistakes, features)
        y x of each mistake, in their order.
    u : array, (features,)
        The target; its length does not matter.

    Returns
    -------
    PerceptronPath

    Examples
    --------
    >>> path = perceptron_path([[0, -1, -1], [2, 1, 1]], [1, -1, 0])
    >>> path.dots.round(3), path.squares
    (array([0.   , 0.707, 1.414]), array([0., 2., 4.]))
    """
    rows, u = _check_arguments(rows, u)
    u = u / np.linalg.norm(u)
    dots = np.append(0.0, np.cumsum(rows @ u))
    if is_sparse(rows):
        entries = _entries(rows)
        gains = (entries.after - entries.before) * (entries.after + entries.before)
        squares = np.cumsum(np.bincount(entries.steps, gains, minlength=rows.shape[0]), dtype=np.longdouble)
    else:
        squares = np.concatenate([np.empty(0), *(np.einsum("ij,ij->i", v, v) for v in _weights(rows))])
    return PerceptronPath(dots, np.append(0.0, squares).astype(np.float64))


def winnow_path(rows: Any, u: Any, eta: float, *, balanced: bool = False) -> Array:
    """Return Winnow's potential KL(u‖w) before its first mistake and after each one, w = softmax(eta s).

    It starts at most at the logarithm of the number of weights, and each mistake lowers it by at least
    L = eta delta - ln cosh(eta X), where u has margin delta on rows with entries up to X. Winnow's bias is two
    features: append y beta and -y beta to the rows. In the balanced form, where every feature is two, append y beta.

    Parameters
    ----------
    rows : array or sparse matrix, (mistakes, features)
        y x of each mistake, in their order.
    u : array, (features,)
        The target, divided by its sum. None below 0, unless balanced.
    eta : float
        The rate, above 0.
    balanced : bool, default=False
        If True, each feature has two weights, for x and -x: balanced Winnow.

    Returns
    -------
    array, (mistakes + 1,)

    Examples
    --------
    >>> winnow_path([[1, -1], [1, 1], [1, -1]], [1, 0], eta=0.5).round(4)
    array([0.6931, 0.3133, 0.3133, 0.1269])
    >>> winnow_path([[1, -1]], [0.5, -0.5], eta=0.5, balanced=True).round(4)
    array([0.6931, 0.3133])
    """
    rows, u = _check_arguments(rows, u)
    if not 0 < eta < np.inf:
        raise ValueError(f"eta={eta} is no rate: give a number above 0")
    if not balanced and np.any(u < 0):
        j = int(np.flatnonzero(u < 0)[0])
        raise ValueError(f"u has {u[j]:g} at place {j}: Winnow's targets are not below 0; set balanced=True")
    u = u / np.abs(u).sum()
    pulled = eta * np.append(0.0, np.cumsum(rows @ u))
    logs = _sparse_logs(rows, eta, balanced) if is_sparse(rows) else _dense_logs(rows, eta, balanced)
    return xlogy(np.abs(u), np.abs(u)).sum() - pulled + logs


def _check_arguments(rows: Any, u: Any) -> tuple[Any, Array]:
    rows = sorted_rows(sp.csr_array(rows, dtype=np.float64)) if is_sparse(rows) else np.asarray(rows, np.float64)
    u = np.asarray(u, np.float64)
    if rows.ndim != 2 or u.shape != rows.shape[1:]:
        raise ValueError(f"rows have the shape {rows.shape} and u has {u.shape}: u has an entry for each column")
    refuse_not_finite(rows)
    if not np.isfinite(u).all() or not u.any():
        raise ValueError("u is no target: its entries are finite and not all 0")
    return rows, u / np.abs(u).max()


def _weights(rows: Array) -> Iterator[Array]:
    """Yield the sums of the first 1, 2, ... rows, some of them at a time."""
    v = np.zeros(rows.shape[1])
    at_once = max(1, AT_ONCE // rows.shape[1])
    for start in range(0, len(rows), at_once):
        block = rows[start : start + at_once].copy()
        block[0] += v
        np.cumsum(block, axis=0, out=block)
        v = block[-1]
        yield block


class Entries(NamedTuple):
    """The entries of sparse rows, row after row, each with the weight of its column just before and after it."""

    steps: Array
    columns: Array
    before: Array
    after: Array


def _entries(rows: Any) -> Entries:
    counts = np.diff(rows.indptr)
    numbers = sp.csr_array((np.arange(rows.nnz), rows.indices, rows.indptr), shape=rows.shape).tocsc()
    sums = np.cumsum(rows.data[numbers.data], dtype=np.longdouble)  # of all columns at once, which costs digits
    ahead = np.append(np.longdouble(0), sums)[numbers.indptr[:-1]]
    own = (sums - np.repeat(ahead, np.diff(numbers.indptr))).astype(np.float64)
    after, before = np.empty(rows.nnz), np.empty(rows.nnz)
    after[numbers.data] = own
    own[1:] = own[:-1]
    own[numbers.indptr[:-1][np.diff(numbers.indptr) > 0]] = 0.0
    before[numbers.data] = own
    return Entries(np.repeat(np.arange(rows.shape[0]), counts), rows.indices, before, after)


def _log_sum(s: Array, balanced: bool, others: int = 0) -> Array:
    """Return ln of the sum of e^s over the last axis, with e^-s where balanced, and `others` more weights of e^0."""
    s = np.logaddexp(s, -s) if balanced else s
    with np.errstate(divide="ignore"):
        known = logsumexp(s, axis=-1) if s.shape[-1] else np.full(s.shape[:-1], -np.inf)
        return np.logaddexp(known, np.log(others))


def _dense_logs(rows: Array, eta: float, balanced: bool) -> Array:
    start = _log_sum(np.zeros((1, rows.shape[1])), balanced)
    return np.concatenate([start, *(_log_sum(eta * s, balanced) for s in _weights(rows))])


def _sparse_logs(rows: Any, eta: float, balanced: bool) -> Array:
    """Return ln Z before the first row and after each: Z grows by e^{eta s} - e^{eta s'} of the row's own columns.

    From time to time, and wherever so much was taken away again that digits are lost, Z is summed up again.
    """
    seen, places = np.unique(rows.indices, return_inverse=True)
    others = (rows.shape[1] - len(seen)) * (2 if balanced else 1)
    narrow = sp.csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], len(seen)))
    entries = _entries(narrow)
    out, s = np.empty(rows.shape[0] + 1), np.zeros(len(seen))
    ends = np.searchsorted(rows.indptr, rows.indptr + max(FEWEST, len(seen)))  # as much work as a new sum
    out[0], k = _log_sum(eta * s, balanced, others), 0
    while k < rows.shape[0]:
        stop = max(k + 1, min(rows.shape[0], int(ends[k])))
        span = slice(rows.indptr[k], rows.indptr[stop])
        steps, before, after = entries.steps[span] - k, eta * entries.before[span], eta * entries.after[span]
        good = _follow(out[k : stop + 1], steps, before, after, balanced)
        done = slice(rows.indptr[k], rows.indptr[k + good])
        s[entries.columns[done]] = entries.after[done]  # of several in one column the last
        k += good
        out[k] = _log_sum(eta * s, balanced, others)
    return out


def _follow(out: Array, steps: Array, before: Array, after: Array, balanced: bool) -> int:
    """Write ln Z after some rows behind the one before them; return how many rows on Z is to be summed up again."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        change = np.exp(after - out[0]) - np.exp(before - out[0])
        if balanced:
            change += np.exp(-after - out[0]) - np.exp(-before - out[0])
        z = 1 + np.cumsum(np.bincount(steps, change, minlength=len(out) - 1))
        added = 1 + np.cumsum(np.bincount(steps, np.abs(change), minlength=len(out) - 1))
        lost = np.flatnonzero(~(z > TRUST * added))
        out[1:] = out[0] + np.log(z)
    return max(1, int(lost[0])) if len(lost) else len(z)
