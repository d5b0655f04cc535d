"""Kinds of data and of example: where the numbers of a row lie, and the loops that walk them.

Data are a table (:class:`Dense`) or compressed sparse rows (:class:`Csr`). An example is a row of either; what a
dense row is asked beyond its score, it answers as the sparse row of its nonzeros (:data:`entries`). The bias is a
constant feature of value `bias` after the last one, never stored with the data: weights have features + 1 rows,
and `bias = 0.0` leaves the last of them unused. All sums run in a fixed order, so that the same data give the
same bits on every machine.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.memory import prefetch, unsigned
from linsep.core.verbs import verb

Array = NDArray[Any]

FINE, OUT_OF_RANGE, NOT_RISING = range(3)

NONE, ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(5))
"""Small unsigned numbers: arithmetic that mixes signs leaves the integers in compiled code."""


class Dense(NamedTuple):
    """A table in C order, one example a row."""

    values: Array
    bias: float


class Csr(NamedTuple):
    """Compressed sparse rows, as scipy keeps them."""

    values: Array
    indices: Array
    indptr: Array
    features: int
    bias: float


class Single(NamedTuple):
    """One sparse row as a user gave it, not yet checked; `distinct` says that no index occurs twice."""

    values: Array
    indices: Array
    features: int
    bias: float
    distinct: bool


class DenseRow(NamedTuple):
    """Row `i` of a table."""

    values: Array
    i: int
    bias: float


class SparseRow(NamedTuple):
    """Entries `start` to `stop` of parallel arrays of indices and values."""

    indices: Array
    values: Array
    start: np.uint64
    stop: np.uint64
    features: int
    bias: float


flaw = verb(0)
"""flaw(data): what makes the data unreadable, for kinds that are not checked before; else FINE."""
row = verb(0)
"""row(data, i): the i-th example."""
fetch = verb(0)
"""fetch(data, i): prefetch the i-th example."""
fetch_weights = verb(0)
"""fetch_weights(data, i, weights): prefetch the weights that the i-th example will read."""
room = verb(0)
"""room(data): place for one row's nonzeros, for :data:`entries`."""
entries = verb(0)
"""entries(x, place): the example as a sparse row."""
squared = verb(0)
"""squared(x): ||x||², the bias feature included."""
gather = verb(0)
"""gather(x, weights): the sum of weights[j] * x_j, for one column of weights given as a flat array."""


@flaw.when(Dense)
@flaw.when(Csr)
def _(X: Dense | Csr) -> int:
    return FINE


@flaw.when(Single)
def _(X: Single) -> int:
    last = np.int64(-1)
    for k in range(X.indices.shape[0]):
        j = np.int64(X.indices[k])
        if j < 0 or j >= X.features:
            return OUT_OF_RANGE
        if j <= last and not X.distinct:
            return NOT_RISING
        last = j
    return FINE


@row.when(Dense)
def _(X: Dense, i: int) -> DenseRow:
    return DenseRow(X.values, i, X.bias)


@row.when(Csr)
def _(X: Csr, i: int) -> SparseRow:
    start, stop = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
    return SparseRow(X.indices, X.values, start, stop, X.features, X.bias)


@row.when(Single)
def _(X: Single, i: int) -> SparseRow:
    return SparseRow(X.indices, X.values, NONE, np.uint64(X.indices.shape[0]), X.features, X.bias)


@fetch.when(Dense)
def _(X: Dense, i: int) -> None:
    """Fetch the first lines only: the processor itself follows a walk once it has begun."""
    width = X.values.shape[1]
    for j in range(0, min(width, 128), 16):
        prefetch(X.values, i * width + j)


@fetch.when(Single)
def _(X: Single, i: int) -> None:
    pass


@fetch.when(Csr)
def _(X: Csr, i: int) -> None:
    k, stop = np.intp(X.indptr[i]), np.intp(X.indptr[i + 1])
    while k < stop:
        prefetch(X.values, k)
        prefetch(X.indices, k)
        k += 16


@fetch_weights.when(Dense)
@fetch_weights.when(Single)
def _(X: Dense | Single, i: int, weights: Array) -> None:
    """Do nothing: a dense row reads the weights in order, and a single one has no next."""


@fetch_weights.when(Csr)
def _(X: Csr, i: int, weights: Array) -> None:
    columns = weights.shape[1]
    for k in range(np.intp(X.indptr[i]), np.intp(X.indptr[i + 1])):
        j = np.intp(X.indices[k]) * columns
        for c in range(0, columns, 8):
            prefetch(weights, j + c)


@room.when(Dense)
def _(X: Dense) -> tuple[Array, Array]:
    return np.empty(X.values.shape[1] + 1, np.int32), np.empty(X.values.shape[1] + 1, X.values.dtype)


@room.when(Csr)
@room.when(Single)
def _(X: Csr | Single) -> tuple[Array, Array]:
    return np.empty(0, np.int32), np.empty(0, X.values.dtype)


@entries.when(DenseRow)
def _(x: DenseRow, place: tuple[Array, Array]) -> SparseRow:
    """Write every entry where the next overwrites it if it was a zero: no branch to mispredict."""
    indices, values = place
    width = x.values.shape[1]
    n = 0
    for j in range(width):
        v = x.values[x.i, j]
        indices[n] = j
        values[n] = v
        n += 1 if v != 0 else 0
    return SparseRow(indices, values, NONE, np.uint64(n), width, x.bias)


@entries.when(SparseRow)
def _(x: SparseRow, place: tuple[Array, Array]) -> SparseRow:
    return x


@squared.when(DenseRow)
def _(x: DenseRow) -> float:
    z = x.bias * x.bias
    for j in range(x.values.shape[1]):
        v = np.float64(x.values[x.i, j])
        z += v * v
    return z


@squared.when(SparseRow)
def _(x: SparseRow) -> float:
    z = x.bias * x.bias
    for k in range(x.start, x.stop):
        v = np.float64(x.values[k])
        z += v * v
    return z


@gather.when(DenseRow)
def _(x: DenseRow, weights: Array) -> Any:
    """Four running sums hide the latency of addition."""
    width = x.values.shape[1]
    a = b = c = d = 0.0
    j = 0
    while j + 4 <= width:
        a += weights[j] * x.values[x.i, j]
        b += weights[j + 1] * x.values[x.i, j + 1]
        c += weights[j + 2] * x.values[x.i, j + 2]
        d += weights[j + 3] * x.values[x.i, j + 3]
        j += 4
    while j < width:
        a += weights[j] * x.values[x.i, j]
        j += 1
    return (a + b) + (c + d) + weights[width] * x.bias


@gather.when(SparseRow)
def _(x: SparseRow, weights: Array) -> Any:
    a = b = c = d = 0.0
    k = x.start
    while k + FOUR <= x.stop:
        a += weights[unsigned(x.indices[k])] * x.values[k]
        b += weights[unsigned(x.indices[k + ONE])] * x.values[k + ONE]
        c += weights[unsigned(x.indices[k + TWO])] * x.values[k + TWO]
        d += weights[unsigned(x.indices[k + THREE])] * x.values[k + THREE]
        k += FOUR
    while k < x.stop:
        a += weights[unsigned(x.indices[k])] * x.values[k]
        k += ONE
    return (a + b) + (c + d) + weights[x.features] * x.bias
