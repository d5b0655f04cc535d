"""Kernels: inner products of rows in a feature space that nobody writes out, computed block against block.

A block is a float64 table in C order or a `scipy.sparse.csr_array` without repeated columns, as :func:`block_of` makes
them. A kernel answers for two blocks at once and is meant for little ones: :func:`kernel_matrix` cuts larger blocks
into tiles of a fixed size, whose elementwise work stays in the cache and whose bits depend on no number of threads.
Every kernel adds bias² to its values: a constant feature of value `bias` in the feature space. Nothing that a kernel
returns is NaN or infinite.
"""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from linsep.core.blas import one_blas_thread
from linsep.core.examples import Csr, Dense
from linsep.core.threads import share
from linsep.maps.rows import Array, is_sparse

Block = Any
"""A table, CSR rows, or (for :class:`Precomputed`, on the right) the numbers of columns."""

NAMES = ("linear", "poly", "rbf", "precomputed")

TILE = 512
"""Rows of a tile on either side: large enough for BLAS to run at its full speed, and 2 MB of values."""

ALONE = 32
"""Rows that a user's kernel is asked for at once where only K(a, a) is wanted."""

SPARE = 8
"""How often more features than entries two sparse blocks have before columns that they do not share are left out."""

SMALLER = "divide X by one factor (linsep.maps.Scale)"

quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
"""For arithmetic whose result is checked afterwards."""


class KernelError(ValueError):
    """A value of the kernel that is not a finite number.

    `rows` are the two rows, counted in the blocks at hand (twice the same in a diagonal); `text` is the message without
    them. Who knows where the blocks come from catches this error and says `text` with numbers of its own.

    Examples
    --------
    >>> try:
    ...     Polynomial(degree=9)(np.ones((1, 1)), np.array([[1.0], [1e40]]))
    ... except KernelError as error:
    ...     error.rows, error.text[:40]
    ((0, 1), '(coef0 + gamma x.y)^degree = (1e+40)^9 i')
    """

    def __init__(self, rows: tuple[int, int], text: str) -> None:
        super().__init__(rows, text)
        self.rows = rows
        self.text = text

    def __str__(self) -> str:
        return f"row {self.rows[0]} of A, row {self.rows[1]} of B: {self.text}"


class Kernel(Protocol):
    """K(a, b) of rows; also a frozen value, so that it can be compared, copied and saved."""

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B: a fresh float64 array (len A, len B) in C order."""

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row; `numbers`, which :class:`Precomputed` alone reads, are the rows' own columns."""


@dataclass(frozen=True)
class Linear:
    """K(x, y) = x.y + bias².

    Examples
    --------
    >>> Linear(bias=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[12.,  1.]])
    """

    bias: float = 0.0

    def __post_init__(self) -> None:
        _refuse_bias(self.bias)

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        return self._finished(dots(A, B), A, B)

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row."""
        return self._finished(squares(A), A, A)

    @quiet
    def _finished(self, K: Array, A: Block, B: Block) -> Array:
        K += float(self.bias) ** 2
        return _finite(K, lambda i, j: f"x.y = {_dot(A, B, i, j):.6g} is beyond float64: {SMALLER}")


@dataclass(frozen=True)
class Polynomial:
    """K(x, y) = (coef0 + gamma x.y)^degree + bias².

    Powers are products, so that whole numbers stay exact as long as float64 holds them.

    Examples
    --------
    >>> Polynomial(degree=3)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])) == 12.0**3
    array([[ True]])
    """

    degree: int
    gamma: float = 1.0
    coef0: float = 1.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.degree, bool) or not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"degree is {self.degree!r}: it must be a whole number from 1")
        _refuse_gamma(self.gamma)
        if not math.isfinite(_real(self.coef0)):
            raise ValueError(f"coef0 is {self.coef0!r}: it must be a finite number")
        _refuse_bias(self.bias)

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        return self._finished(dots(A, B), A, B)

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row."""
        return self._finished(squares(A), A, A)

    @quiet
    def _finished(self, K: Array, A: Block, B: Block) -> Array:
        K *= float(self.gamma)
        K += float(self.coef0)
        _raise_to(K, operator.index(self.degree))
        K += float(self.bias) ** 2
        return _finite(K, lambda i, j: self._too_large(_dot(A, B, i, j)))

    @quiet
    def _too_large(self, dot: float) -> str:
        z = float(np.float64(self.coef0) + float(self.gamma) * dot)
        if not math.isfinite(z):
            return f"coef0 + gamma x.y = {z} for x.y = {dot:.6g}: {SMALLER}"
        return f"(coef0 + gamma x.y)^degree = ({z:.6g})^{self.degree} is beyond float64: {SMALLER}, or lower the degree"


@dataclass(frozen=True)
class RadialBasis:
    """K(x, y) = exp(-gamma ||x - y||²) + bias².

    ||x - y||² is ||x||² + ||y||² - 2 x.y, except where rounding could be all that this leaves: there the differences
    are squared and summed. So equal rows have K = 1 + bias² to the last bit, and K is never more than that.

    Examples
    --------
    >>> RadialBasis(gamma=0.5)(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([[1.        , 0.13533528]])
    """

    gamma: float
    bias: float = 0.0

    def __post_init__(self) -> None:
        _refuse_gamma(self.gamma)
        _refuse_bias(self.bias)

    @quiet
    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        K = half_distances(A, B)
        K *= -2.0
        K *= float(self.gamma)
        np.exp(K, out=K)
        K += float(self.bias) ** 2
        return K

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row."""
        return np.full(A.shape[0], 1.0 + float(self.bias) ** 2)


@dataclass(frozen=True)
class OfUser:
    """K(x, y) = function(A, B)[i, j] + bias² for row i of A and row j of B.

    The function is given read-only blocks of some rows each, never empty ones, and returns their table of values
    (sparse or dense, of any numeric type). It is called from as many threads as :func:`kernel_matrix` has jobs.

    Examples
    --------
    >>> OfUser(lambda A, B: np.minimum(A, B.T))(np.array([[1.0], [3.0]]), np.array([[2.0]]))
    array([[1.],
           [2.]])
    """

    function: Callable[[Any, Any], Any]
    bias: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"a kernel must be a function (A, B) -> (len(A), len(B)), not {self.function!r}")
        _refuse_bias(self.bias)

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        shape = A.shape[0], B.shape[0]
        if 0 in shape:
            return np.empty(shape)
        K = self._values(self.function(_frozen(A), _frozen(B)), shape)
        return _finite(K, lambda i, j: f"the kernel function {self._name} returned {K[i, j]}: it must be finite")

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row, from K of a few rows with each other."""
        K = np.empty(A.shape[0])
        for i in range(0, len(K), ALONE):
            rows = some_rows(A, i, i + ALONE)
            try:
                K[i : i + ALONE] = self(rows, rows).diagonal()
            except KernelError as error:
                raise _moved(error, i, i) from None
        return K

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @quiet
    def _values(self, returned: Any, shape: tuple[int, int]) -> Array:
        try:
            values = returned.toarray() if is_sparse(returned) else np.asarray(returned)
        except ValueError:
            raise ValueError(f"the kernel function {self._name} returned rows of different lengths") from None
        if values.dtype.kind not in "buif":
            raise TypeError(f"the kernel function {self._name} returned {_kind(returned)}: it must return real numbers")
        if values.shape != shape:
            raise ValueError(
                f"the kernel function {self._name} returned shape {values.shape} for {shape[0]} and {shape[1]} rows: "
                f"it must return shape {shape}, the value of A[i] and B[j] at [i, j]"
            )
        return np.add(values, float(self.bias) ** 2, dtype=np.float64, order="C")


@dataclass(frozen=True)
class Precomputed:
    """Values of a kernel matrix that the user computed, plus bias².

    On the left are rows of the matrix itself, one for each example and one column for each training row; on the right
    the numbers of some training rows, which are columns. A training row meets itself in the column of its own number,
    so that the diagonal asks for these: `diagonal(A, numbers)`.

    Examples
    --------
    >>> A = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0]])
    >>> Precomputed()(A, np.array([2, 0]))
    array([[0., 4.],
           [2., 1.]])
    >>> Precomputed(bias=1.0).diagonal(A, np.array([0, 1]))
    array([5., 6.])
    """

    bias: float = 0.0

    def __post_init__(self) -> None:
        _refuse_bias(self.bias)

    def __call__(self, A: Block, B: Array) -> Array:
        """Return the columns B of the rows A."""
        _refuse_columns(B, A.shape[1])
        return self._finished(A[:, B])

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return the entry of each row in the column of its own number."""
        if numbers is None:
            raise TypeError("the diagonal of a precomputed kernel needs the rows' numbers: diagonal(A, numbers)")
        if len(numbers) != A.shape[0]:
            raise ValueError(f"{A.shape[0]} rows have {len(numbers)} numbers: give each row one")
        _refuse_columns(numbers, A.shape[1])
        return self._finished(A[np.arange(A.shape[0]), numbers])

    @quiet
    def _finished(self, found: Any) -> Array:
        values = found.toarray() if is_sparse(found) else found
        K = np.add(values, float(self.bias) ** 2, dtype=np.float64, order="C")
        return _finite(K, lambda i, j: "the kernel matrix holds NaN or infinity: check the kernel it comes from")


def kernel_named(
    kernel: str | Callable[[Any, Any], Any],
    features: int,
    degree: int,
    gamma: float | None,
    coef0: float,
    bias: float,
) -> Kernel:
    """Return the kernel of a name, or of a user's function.

    gamma None is 1 for "poly" and 1 / features for "rbf"; what a kernel has no use for is not looked at.

    Examples
    --------
    >>> kernel_named("rbf", features=4, degree=2, gamma=None, coef0=1.0, bias=0.0)
    RadialBasis(gamma=0.25, bias=0.0)
    """
    if not isinstance(kernel, str):
        return OfUser(kernel, bias)
    if kernel == "linear":
        return Linear(bias)
    if kernel == "poly":
        return Polynomial(degree, 1.0 if gamma is None else gamma, coef0, bias)
    if kernel == "rbf":
        return RadialBasis(1.0 / max(features, 1) if gamma is None else gamma, bias)
    if kernel == "precomputed":
        return Precomputed(bias)
    raise ValueError(f"no kernel is named {kernel!r}: use one of {', '.join(NAMES)}, or a function")


@one_blas_thread()
def kernel_matrix(kernel: Kernel, A: Block, B: Block, jobs: int = 1) -> Array:
    """Return K(a, b) of each row of A with each row of B, tile by tile on `jobs` threads; the same bits for any number.

    Examples
    --------
    >>> kernel_matrix(Polynomial(degree=2), np.array([[1.0], [2.0]]), np.array([[3.0]]), jobs=2)
    array([[16.],
           [49.]])
    """
    K = np.empty((A.shape[0], B.shape[0]))

    def fill(i: int, j: int) -> None:
        try:
            K[i : i + TILE, j : j + TILE] = kernel(some_rows(A, i, i + TILE), some_rows(B, j, j + TILE))
        except KernelError as error:
            raise _moved(error, i, j) from None

    rows, columns = (range(0, size, TILE) for size in K.shape)
    share([partial(fill, i, j) for i in rows for j in columns], jobs)
    return K


def block_of(data: Dense | Csr, rows: Array | slice) -> Block:
    """Return some rows of canonical data, given by their numbers, as a block; repeated columns are summed.

    Examples
    --------
    >>> block_of(Dense(np.array([[1, 2], [3, 4], [5, 6]], np.float32), 0.0), np.array([2, 0]))
    array([[5., 6.],
           [1., 2.]])
    """
    if isinstance(data, Dense):
        return np.ascontiguousarray(data.values[rows], dtype=np.float64)
    starts, stops = data.indptr[:-1][rows], data.indptr[1:][rows]
    indptr = np.append(0, np.cumsum(stops - starts))
    entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], stops - starts)
    parts = (data.values[entries].astype(np.float64, copy=False), data.indices[entries], indptr)
    block = sp.csr_array(parts, shape=(len(starts), data.features))
    block.sum_duplicates()
    return block


def some_rows(X: Block, start: int, stop: int) -> Block:
    """Return consecutive rows, their entries not copied."""
    if not is_sparse(X):
        return X[start:stop]
    indptr = X.indptr[start : stop + 1]
    inside = slice(indptr[0], indptr[-1])
    rows = sp.csr_array((X.data[inside], X.indices[inside], indptr - indptr[0]), shape=(len(indptr) - 1, X.shape[1]))
    rows.has_canonical_format = X.has_canonical_format
    return rows


@quiet
def dots(A: Block, B: Block) -> Array:
    """Return x.y of each row of A with each row of B: a fresh table in C order."""
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"rows of {A.shape[1]} and of {B.shape[1]} features have no kernel: give both the same")
    if is_sparse(A) and is_sparse(B):
        if A.shape[1] > SPARE * (A.nnz + B.nnz):
            A, B = _narrowed(A, B)
        return (A @ B.T).toarray()
    return np.ascontiguousarray(A @ B.T)


@quiet
def squares(A: Block) -> Array:
    """Return ||x||² of each row."""
    if is_sparse(A):
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        return np.bincount(rows, A.data**2, A.shape[0]).astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", A, A)


@quiet
def half_distances(A: Block, B: Block) -> Array:
    """Return ||x - y||² / 2 of each row of A with each row of B: never negative, and 0 where they are equal."""
    a, b = 0.5 * squares(A), 0.5 * squares(B)
    D = dots(A, B)
    np.subtract(a[:, None], D, out=D)
    D += b
    _finite(D, lambda i, j: f"||x - y||² is beyond float64: {SMALLER}, and multiply gamma by its square")
    for i, j in _doubtful(D, a, b, A.shape[1]):
        D[i, j] = 0.5 * squares(A[i] - B[j])
    return D


def _doubtful(D: Array, a: Array, b: Array, features: int) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of rows, some at a time, whose distance is no larger than what rounding may have made of 0."""
    blur = np.finfo(np.float64).eps * (features + 4)
    tiny = np.finfo(np.float64).tiny
    rows = np.flatnonzero(D.min(axis=1, initial=np.inf) <= blur * (a + b.max(initial=0.0)) + tiny)
    sizes = a[rows, None] + b
    i, j = np.nonzero((D[rows] <= blur * sizes + tiny) & (sizes > 0.0))
    for k in range(0, len(i), TILE):
        yield rows[i[k : k + TILE]], j[k : k + TILE]


def _narrowed(A: Block, B: Block) -> tuple[Block, Block]:
    """Return two sparse blocks without the columns that B does not use."""
    used, places = np.unique(B.indices, return_inverse=True)
    nearest = np.searchsorted(used, A.indices).clip(max=max(len(used) - 1, 0))
    met = used[nearest] == A.indices if len(used) else np.zeros(A.nnz, np.bool_)
    indptr = np.append(0, np.cumsum(met))[A.indptr]
    return (
        sp.csr_array((A.data[met], nearest[met], indptr), shape=(A.shape[0], len(used))),
        sp.csr_array((B.data, places, B.indptr), shape=(B.shape[0], len(used))),
    )


def _raise_to(K: Array, degree: int) -> None:
    """Replace each entry by its power, in place."""
    base = K.copy() if degree & (degree - 1) else K
    for bit in bin(degree)[3:]:
        K *= K
        if bit == "1":
            K *= base


def _finite(K: Array, why: Callable[[int, int], str]) -> Array:
    """Return values as they are; raises at the first that is not finite, with the reason that `why` gives."""
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(K.sum())
    if not fine and not (finite := np.isfinite(K)).all():
        place = np.argwhere(~finite)[0].tolist()
        raise KernelError((place[0], place[-1]), why(place[0], place[-1]))
    return K


def _moved(error: KernelError, i: int, j: int) -> KernelError:
    """Return the error with the rows' numbers in the blocks whose parts begin at rows i and j."""
    return KernelError((error.rows[0] + i, error.rows[1] + j), error.text)


def _dot(A: Block, B: Block, i: int, j: int) -> float:
    return float(dots(A[i : i + 1], B[j : j + 1])[0, 0])


def _frozen(X: Block) -> Block:
    """Return the same rows, such that a user's function cannot change them."""
    if is_sparse(X):
        rows = sp.csr_array(tuple(map(_frozen, (X.data, X.indices, X.indptr))), shape=X.shape)
        rows.has_canonical_format = X.has_canonical_format
        return rows
    view = X.view()
    view.flags.writeable = False
    return view


def _kind(value: Any) -> str:
    """Return what something is that should have been an array of numbers."""
    is_array = is_sparse(value) or isinstance(value, np.ndarray)
    return f"an array of {value.dtype}" if is_array else type(value).__name__


def _real(value: Any) -> float:
    """Return a parameter as a float; what is no real number is NaN, and what is too large infinite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _refuse_gamma(gamma: Any) -> None:
    if not 0 < _real(gamma) < math.inf:
        raise ValueError(f"gamma is {gamma!r}: it must be a finite number above 0")


def _refuse_bias(bias: Any) -> None:
    value = _real(bias)
    if not math.isfinite(value * value):
        raise ValueError(f"bias is {bias!r}: it must be a number with a finite square")


def _refuse_columns(numbers: Array, columns: int) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(f"columns of a kernel matrix are whole numbers, not {numbers.dtype} of shape {numbers.shape}")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < columns:
        raise ValueError(f"columns {numbers.min()} to {numbers.max()} of a kernel matrix that has {columns}")
