"""Count the rows of each class for naive Bayes: sums, or means and squares, of each feature; chunks add up."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.native import prefetch, unsigned
from linsep.engine.tiers import tiered
from linsep.validation.errors import InvalidDataError

TALL, WIDE = 256, 1024
"""Rows and columns of a table that are counted at a time."""
NO_CENTER = np.empty((0, 0))


class Moments(NamedTuple):
    """Of each class: the weight of its rows, the mean of each feature, and the sum of squares of deviations from it."""

    weight: Array
    mean: Array
    squares: Array


def weight_of(codes: Array, row_weights: Array, classes: int) -> Array:
    """Return the number of rows of each class, or the sum of their weights."""
    return np.bincount(codes, row_weights if len(row_weights) else None, classes).astype(np.float64)


def empty_table(classes: int, features: int) -> Array:
    """Return zeros for each class and feature, those of a feature side by side, as weights are."""
    return np.zeros((classes, features), order="F")


def count(
    data: Dense | Csr, codes: Array, row_weights: Array, classes: int, *, power: int = 1, center: Array = NO_CENTER,
    table: Array | None = None,
) -> Array:  # fmt: skip
    """Return the sum of weight * (x_j - center_cj)^power over the rows of each class, (classes, features).

    Sparse rows add nothing for what they do not store (nor for a stored 0); with power 0 this counts their nonzeros.

    `codes` are the classes of the rows (int32). `power` is 0, 1 or 2: 1 of each nonzero, the deviation from `center`
    (classes, features; by default 0), or its square. The sums are added to `table` in place, if one is given: see
    :func:`empty_table`.

    >>> rows = Dense(np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 5.0]]), bias=1.0)
    >>> count(rows, np.array([0, 0, 1], np.int32), np.empty(0), 2)
    array([[3., 1.],
           [0., 5.]])
    """
    features = data.n_features
    table = empty_table(classes, features) if table is None else table
    if isinstance(data, Csr):
        of_rows = (frozen(a) for a in (codes, row_weights, np.ascontiguousarray(center.T)))
        add_entries(data.values, data.indices, data.indptr, *of_rows, power, table.T)
        return table
    for left in range(0, features, WIDE):
        columns = slice(left, left + WIDE)
        for lo in range(0, len(data.values), TALL):
            rows = slice(lo, lo + TALL)
            of = codes[rows]
            block = data.values[rows, columns].astype(np.float64, copy=False)
            if power == 0:
                block = (block != 0).astype(np.float64)
            elif len(center):
                block = (block - center[of, columns]) ** power
            elif power == 2:
                block = block**2
            weights = row_weights[rows] if len(row_weights) else np.ones(len(of))
            table[:, columns] += sp.csc_array((weights, of, np.arange(len(of) + 1)), (classes, len(of))) @ block
    return table


def _work(values: Array, indices: Array, indptr: Array, *others: Any) -> int:
    return 2 * len(values) + 4 * len(indptr)


@tiered(_work)
def add_entries(
    values: Array, indices: Array, indptr: Array, codes: Array, row_weights: Array, center: Array, power: int,
    table: Array,
) -> None:  # fmt: skip
    """Add each entry to its sum; those of the next row are prefetched: half the time.

    `center` and `table` are (features, classes).
    """
    weighted, centered, plain = row_weights.shape[0] > 0, center.shape[0] > 0, power == 1 and center.shape[0] == 0
    rows, classes = indptr.shape[0] - 1, table.shape[1]
    for i in range(rows):
        if i + 1 < rows:
            c = np.intp(codes[i + 1])
            for k in range(np.intp(indptr[i + 1]), np.intp(indptr[i + 2])):
                prefetch(table, np.intp(indices[k]) * classes + c)
        weight = row_weights[i] if weighted else 1.0
        if weight == 0.0:
            continue
        own = unsigned(codes[i])
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, v = unsigned(indices[k]), np.float64(values[k])
            if plain:
                table[j, own] += weight * v
            elif v != 0.0:
                v -= center[j, own] if centered else 0.0
                table[j, own] += weight * (1.0 if power == 0 else v if power == 1 else v * v)


def moments(data: Dense | Csr, codes: Array, row_weights: Array, classes: int) -> Moments:
    """Return mean and squares of each class, in passes that subtract the mean before they square.

    The mean is found in two steps, so that a constant feature has its constant as the mean, and no deviation. No row
    may store a column twice.
    """
    given = (data, codes, row_weights, classes)
    weight = weight_of(codes, row_weights, classes)
    rows = np.where(weight > 0, weight, 1.0)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        center = count(*given) / rows
        off, squares = (count(*given, power=power, center=center) for power in (1, 2))
        if isinstance(data, Csr):
            absent = weight[:, None] - count(*given, power=0)
            off -= absent * center
            squares += absent * center**2
        squares = np.maximum(squares - off**2 / rows, 0.0)
    return _finite(Moments(weight, center + off / rows, squares))


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Return the moments of two blocks of rows as one (Chan, Golub and LeVeque).

    >>> parts = [moments(Dense(np.array([[x]]), 1.0), np.zeros(1, np.int32), np.empty(0), 1) for x in (1.0, 2.0, 6.0)]
    >>> merge_moments(merge_moments(parts[0], parts[1]), parts[2])
    Moments(weight=array([3.]), mean=array([[3.]]), squares=array([[14.]]))
    """
    weight = a.weight + b.weight
    share = (b.weight / np.where(weight > 0, weight, 1.0))[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        apart = b.mean - a.mean
        squares = a.squares + b.squares + apart**2 * (share * a.weight[:, None])
        return _finite(Moments(weight, a.mean + apart * share, squares))


def _finite(found: Moments) -> Moments:
    if not np.isfinite(found.squares).all():
        j = int(np.argmin(np.isfinite(found.squares).all(axis=0)))
        raise InvalidDataError(
            f"feature {j} has entries too large to be squared: divide the column by its largest entry"
        )
    return found
