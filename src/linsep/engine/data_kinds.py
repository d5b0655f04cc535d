"""Data kinds of the engine: dense tables, sparse rows, single rows, kernel rows; and scans of their arrays.

Data are a table (:class:`Dense`), compressed sparse rows (:class:`Csr`), one sparse row (:class:`Single`) or rows of
a kernel matrix (:class:`Dual`). A row is a :class:`RowPlace`, which has the place of its numbers and holds no array, so
that compiled loops count no references. Updates and scores of several classes read a dense row through its nonzeros:
:data:`sparse` makes room for them, :data:`entries` writes them there. The bias is a constant feature of value `bias`
after the last one, never stored with the data: weights have features + 1 rows, and `bias = 0.0` leaves the last of them
unused. All sums run in a fixed order, so that the same data give the same bits on every machine.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array, frozen
from linsep.engine.multimethods import inlined, multimethod
from linsep.engine.native import LANES, pack, prefetch, unsigned
from linsep.engine.tiers import tiered

FINE, OUT_OF_RANGE, NOT_RISING, NOT_TOGETHER, NOT_EQUAL = range(5)

NONE, ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(5))
"""Small unsigned numbers: arithmetic that mixes signs leaves the integers in compiled code."""


class Dense(NamedTuple):
    """A table in C order, one example a row."""

    values: Array
    bias: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def n_features(self) -> int:
        """The number of features, the bias not counted."""
        return int(self.values.shape[1])

    @property
    def nbytes(self) -> int:
        """The memory that the data take."""
        return self.values.nbytes

    def slice(self, lo: int, hi: int) -> "Dense":
        """Return rows lo to hi, which share the memory of these.

        >>> Dense(np.array([[1.0], [2.0], [3.0]]), bias=1.0).slice(1, 3)
        Dense(values=array([[2.],
               [3.]]), bias=1.0)
        """
        return self._replace(values=frozen(self.values[lo:hi]))

    def take(self, rows: Any) -> "Dense":
        """Return a copy of some rows."""
        return self._replace(values=self.values[rows])

    def place(self, k: int) -> tuple[int, int]:
        """Return the row and column of the k-th value."""
        return place_of(k, self.n_features)

    def to_scipy(self) -> Any:
        """Return the rows as a sparse array of scipy."""
        return sp.csr_array(self.values)


class Csr(NamedTuple):
    """Compressed sparse rows, as scipy keeps them."""

    values: Array
    indices: Array
    indptr: Array
    features: int
    bias: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    @property
    def n_features(self) -> int:
        """The number of features, the bias not counted."""
        return self.features

    @property
    def nbytes(self) -> int:
        """The memory that the data take."""
        return self.values.nbytes + self.indices.nbytes + self.indptr.nbytes

    def slice(self, lo: int, hi: int) -> "Csr":
        """Return rows lo to hi, whose values and indices share the memory of these."""
        ends = self.indptr[lo : hi + 1]
        values, indices = self.values[ends[0] : ends[-1]], self.indices[ends[0] : ends[-1]]
        ends = ends - ends[0] if ends[0] else ends
        return self._replace(values=frozen(values), indices=frozen(indices), indptr=frozen(ends))

    def take(self, rows: Any) -> "Csr":
        """Return a copy of some rows, in read-only arrays.

        >>> Csr(np.array([5.0, 6.0, 7.0]), np.array([0, 2, 1]), np.array([0, 2, 3]), 3, 1.0).take([1, 0]).indices
        array([1, 0, 2])
        """
        entries, ends = self.entries(rows)
        values, indices = frozen(self.values[entries]), frozen(self.indices[entries])
        if ends[-1] <= np.iinfo(indices.dtype).max:
            ends = ends.astype(indices.dtype, copy=False)
        return self._replace(values=values, indices=indices, indptr=frozen(ends))

    def entries(self, rows: Any) -> tuple[Array, Array]:
        """Return the positions of the entries of some rows, in any order, and the `indptr` of these rows."""
        starts, stops = self.indptr[:-1][rows].astype(np.int64), self.indptr[1:][rows]
        ends = np.append(0, np.cumsum(stops - starts))
        return np.arange(ends[-1]) + np.repeat(starts - ends[:-1], stops - starts), ends

    def place(self, k: int) -> tuple[int, int]:
        """Return the row and column of the k-th value."""
        return place_of(k, self.features, self.indices, self.indptr)

    def to_scipy(self) -> Any:
        """Return the rows as a sparse array of scipy, which shares their memory."""
        return sp.csr_array((self.values, self.indices, self.indptr), shape=(self.n_rows, self.features))


class Single(NamedTuple):
    """A sparse row as the user gave it, not yet checked, and the code of its class or its target.

    `distinct` is True if no index occurs twice.
    """

    values: Array
    indices: Array
    label: float
    features: int
    bias: float
    distinct: bool


class Dual(NamedTuple):
    """Kernel rows: what each example makes with every row that has a weight, or may get one.

    Weights are those of rows, w = sum of a_j phi(x_j), so that a score is the sum of a_j K(x_j, x), and to add
    amount * x is to add the amount to the example's own weight. `kernels` has a column for each weight, `norms` are the
    K(x, x); `indices` are the weights of the examples themselves, and `values` are all 1. There is no bias beside the
    kernel's: the last row of weights, as other examples have it, is not used.
    """

    kernels: Array
    norms: Array
    values: Array
    indices: Array
    features: int
    bias: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values)


class Room(NamedTuple):
    """Arrays that a pass over dense rows writes the nonzeros of one row to."""

    values: Array
    indices: Array


class NoRoom(NamedTuple):
    """Empty scratch memory, for a pass over other kinds of rows."""


def room_for(data: Any) -> tuple[Array, ...]:
    """Return new arrays for a pass over these rows, as the fields of :class:`Room` or :class:`NoRoom`."""
    if not isinstance(data, Dense):
        return tuple(NoRoom())
    width = data.n_features + LANES
    return tuple(Room(np.empty(width, data.values.dtype), np.empty(width, np.int32)))


class RowPlace(NamedTuple):
    """Row `i` of the data; in sparse data, entries `start` to `stop`."""

    i: int
    start: np.uint64
    stop: np.uint64


flaw = multimethod(0)
"""flaw(data): what makes the data unreadable, for kinds that are not checked before; else FINE."""
row = multimethod(0)
"""row(data, i): where the i-th example is."""
label_of = multimethod(0)
"""label_of(data, codes, i): the i-th number of `codes`, the code of a class or a target; of a single row, its own."""
row_weight = multimethod(0)
"""row_weight(data, weights, i): the i-th example's weight; of a single row, the weight of its class."""
announce = multimethod(0, omitted=True)
"""announce(data, i): prefetch where the i-th example lies, so that `fetch` need not wait for it."""
fetch = multimethod(0, omitted=True)
"""fetch(data, i): prefetch the i-th example."""
fetch_weights = multimethod(0, omitted=True)
"""fetch_weights(data, i, weights): prefetch the weights that the i-th example will read."""
sparse = multimethod(0)
"""sparse(data, room): the data themselves or, of dense data, room for one row's nonzeros, for :data:`entries`."""
entries = multimethod(0)
"""entries(data, x, room): where the example's nonzeros are in sparse(data)."""
squared = multimethod(0)
"""squared(data, x): ||x||², the bias feature included."""
gather = multimethod(0)
"""gather(data, x, weights): the sum of weights[j] * x_j, for one column of weights given as a flat array; NaN where an
index lies outside of them."""


@flaw.when(Dense)
@flaw.when(Csr)
@flaw.when(Dual)
def _(X: Dense | Csr | Dual) -> int:
    return FINE


@flaw.when(Single)
def _(X: Single) -> int:
    if X.values.shape[0] != X.indices.shape[0]:
        return NOT_EQUAL
    if not (together(X.values) and together(X.indices)):
        return NOT_TOGETHER
    found = FINE
    last = np.int64(-1)
    for k in range(X.indices.shape[0]):
        j = np.int64(X.indices[k])
        if j < 0 or j >= X.features:
            found = OUT_OF_RANGE
            break
        if j <= last and not X.distinct:
            found = NOT_RISING
            break
        last = j
    return found


@row.when(Dense)
def _(X: Dense, i: int) -> RowPlace:
    return RowPlace(i, NONE, NONE)


@row.when(Csr)
def _(X: Csr, i: int) -> RowPlace:
    return RowPlace(i, np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1]))


@row.when(Single)
def _(X: Single, i: int) -> RowPlace:
    return RowPlace(i, NONE, np.uint64(X.indices.shape[0]))


@row.when(Dual)
def _(X: Dual, i: int) -> RowPlace:
    return RowPlace(i, np.uint64(i), np.uint64(i + 1))


@label_of.when(Dense)
@label_of.when(Csr)
@label_of.when(Dual)
def _(X: Dense | Csr | Dual, codes: Array, i: int) -> Any:
    return codes[i]


@label_of.when(Single)
def _(X: Single, codes: Array, i: int) -> Any:
    return X.label


@row_weight.when(Dense)
@row_weight.when(Csr)
@row_weight.when(Dual)
def _(X: Dense | Csr | Dual, weights: Array, i: int) -> Any:
    return weights[i]


@row_weight.when(Single)
def _(X: Single, weights: Array, i: int) -> Any:
    return weights[np.intp(X.label)]


@announce.when(Csr)
def _(X: Csr, i: int) -> None:
    prefetch(X.indptr, i)


@announce.when(Dense)
@announce.when(Single)
@announce.when(Dual)
def _(X: Dense | Single | Dual, i: int) -> None:
    """Do nothing: the place of a row is its number."""


@fetch.when(Dense)
def _(X: Dense, i: int) -> None:
    """Fetch the first lines of a very long row only: the processor itself follows a walk once it has begun."""
    width = X.values.shape[1]
    for j in range(0, min(width, 1024), 64 // X.values.itemsize):
        prefetch(X.values, i * width + j)


@fetch.when(Csr)
def _(X: Csr, i: int) -> None:
    k, stop = np.intp(X.indptr[i]), np.intp(X.indptr[i + 1])
    while k < stop:
        prefetch(X.values, k)
        prefetch(X.indices, k)
        k += 16


@fetch.when(Single)
@fetch.when(Dual)
def _(X: Single | Dual, i: int) -> None:
    """Do nothing: a single row has no next, and kernel rows are walked in order."""


@fetch_weights.when(Dense)
@fetch_weights.when(Single)
@fetch_weights.when(Dual)
def _(X: Dense | Single | Dual, i: int, weights: Array) -> None:
    """Do nothing: a dense row reads the weights in order, and a single one has no next."""


@fetch_weights.when(Csr)
def _(X: Csr, i: int, weights: Array) -> None:
    columns = weights.shape[1]
    for k in range(np.intp(X.indptr[i]), np.intp(X.indptr[i + 1])):
        j = np.intp(X.indices[k]) * columns
        for c in range(0, columns, 8):
            prefetch(weights, j + c)


@sparse.when(Dense)
def _(X: Dense, room: "Room") -> Single:
    return Single(room.values, room.indices, 0, X.values.shape[1], X.bias, True)


@sparse.when(Csr)
@sparse.when(Single)
@sparse.when(Dual)
def _(X: Csr | Single | Dual, room: "NoRoom") -> Csr | Single | Dual:
    return X


@entries.when(Dense)
def _(X: Dense, x: RowPlace, room: Single) -> RowPlace:
    width = X.values.shape[1]
    n = 0
    j = 0
    while j + LANES <= width:
        n += pack(X.values, x.i, j, room.indices, room.values, n)
        j += LANES
    while j < width:
        v = X.values[x.i, j]
        room.indices[n] = j
        room.values[n] = v
        n += 1 if v != 0 else 0
        j += 1
    return RowPlace(x.i, NONE, np.uint64(n))


@entries.when(Csr)
@entries.when(Single)
@entries.when(Dual)
def _(X: Csr | Single | Dual, x: RowPlace, room: Any) -> RowPlace:
    return x


@squared.when(Dense)
def _(X: Dense, x: RowPlace) -> float:
    z = X.bias * X.bias
    for j in range(X.values.shape[1]):
        v = np.float64(X.values[x.i, j])
        z += v * v
    return z


@squared.when(Csr)
@squared.when(Single)
def _(X: Csr | Single, x: RowPlace) -> float:
    z = X.bias * X.bias
    for k in range(x.start, x.stop):
        v = np.float64(X.values[k])
        z += v * v
    return z


@squared.when(Dual)
def _(X: Dual, x: RowPlace) -> float:
    return X.norms[x.i]


@gather.when(Dense)
def _(X: Dense, x: RowPlace, weights: Array) -> Any:
    """Products are summed four by four: fewer additions have to wait for the one before."""
    width = X.values.shape[1]
    z = 0.0
    j = 0
    while j + 4 <= width:
        a, b = weights[j] * X.values[x.i, j], weights[j + 1] * X.values[x.i, j + 1]
        c, d = weights[j + 2] * X.values[x.i, j + 2], weights[j + 3] * X.values[x.i, j + 3]
        z += (a + b) + (c + d)
        j += 4
    while j < width:
        z += weights[j] * X.values[x.i, j]
        j += 1
    return z + weights[width] * X.bias


@gather.when(Csr)
@gather.when(Single)
def _(X: Csr | Single, x: RowPlace, weights: Array) -> Any:
    """After an index out of range, the second loop stops at the same index."""
    z = 0.0
    end = np.uint64(X.features)
    k = x.start
    while k + FOUR <= x.stop:
        i0, i1 = unsigned(X.indices[k]), unsigned(X.indices[k + ONE])
        i2, i3 = unsigned(X.indices[k + TWO]), unsigned(X.indices[k + THREE])
        if i0 >= end or i1 >= end or i2 >= end or i3 >= end:
            z = np.nan
            break
        a, b = weights[i0] * X.values[k], weights[i1] * X.values[k + ONE]
        c, d = weights[i2] * X.values[k + TWO], weights[i3] * X.values[k + THREE]
        z += (a + b) + (c + d)
        k += FOUR
    while k < x.stop:
        i0 = unsigned(X.indices[k])
        if i0 >= end:
            z = np.nan
            break
        z += weights[i0] * X.values[k]
        k += ONE
    return z + weights[X.features] * X.bias


@gather.when(Dual)
def _(X: Dual, x: RowPlace, weights: Array) -> Any:
    """Products are summed one by one: then weights of 0 in between, of rows that never got one, change no bit."""
    z = 0.0
    for j in range(X.kernels.shape[1]):
        z += weights[j] * X.kernels[x.i, j]
    return z


@inlined
def together(array: Array) -> bool:
    """Return whether no memory lies between the entries of a 1-d array."""
    return array.shape[0] < 2 or array.strides[0] == array.itemsize


@inlined
def inside(S: Any, x: RowPlace) -> bool:
    """Return whether every index of a sparse row is one of a feature."""
    end = np.uint64(S.features)
    fine = True
    for k in range(x.start, x.stop):
        fine = fine and unsigned(S.indices[k]) < end
    return fine


@tiered(lambda values, limit: len(values) // 4)
def first_beyond(values: Array, limit: float) -> int:
    """Return the position of the first entry of a flat array that is not a number within [-limit, limit], or -1."""
    for k in range(values.shape[0]):
        if not abs(values[k]) <= limit:
            return k
    return -1


@tiered(lambda indices: len(indices) // 4)
def highest_index(indices: Array) -> int:
    """Return the highest index, read as an unsigned number: a negative one is higher than any."""
    top = unsigned(indices[0])
    for k in range(indices.shape[0]):
        j = unsigned(indices[k])
        top = j if j > top else top
    return top


@tiered(lambda indices, indptr: (len(indices) + len(indptr)) // 4)
def rises(indices: Array, indptr: Array) -> bool:
    """Return whether in every row each index is above the one before it."""
    falls = 0
    for k in range(1, indices.shape[0]):
        falls += 1 if indices[k] <= indices[k - 1] else 0
    for i in range(1, indptr.shape[0] - 1):
        k = indptr[i]
        if indptr[i - 1] < k < indices.shape[0] and indices[k] <= indices[k - 1]:
            falls -= 1
    return falls == 0


class ColumnIndexError(ValueError):
    """A column index that is negative or beyond the last column."""


def place_of(position: int, width: int, indices: Any = None, indptr: Any = None) -> tuple[int, int]:
    """Return the row and column of an entry, given its position in the flat values."""
    if indices is None:
        return divmod(position, width)
    return int(np.searchsorted(indptr, position, side="right")) - 1, int(indices[position])
