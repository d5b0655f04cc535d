"""Kernels: inner products of rows in an implicit feature space, computed block by block.

A kernel is computed for two small blocks (:mod:`linsep.kernels.blocks`) at once: :func:`kernel_matrix`
cuts larger blocks into tiles of a fixed size, whose elementwise work stays in the cache and whose bits depend on no
number of threads. Every kernel adds bias² to its values: a constant feature of value `bias` in the feature space.
Nothing that a kernel returns is NaN or infinite.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.runtime import one_blas_thread, share
from linsep.kernels.blocks import (
    SMALLER,
    Block,
    KernelError,
    dots,
    finite,
    frozen,
    half_distances,
    quiet,
    refuse_bias,
    refuse_coef0,
    refuse_columns,
    refuse_degree,
    refuse_gamma,
    some_rows,
    squares,
)
from linsep.transforms.base import is_sparse
from linsep.validation.errors import ParameterError

ALONE = 32
"""Rows that a user's kernel is asked for at once where only K(a, a) is wanted."""
NAMES = ("linear", "poly", "rbf", "precomputed")
TILE = 512
"""Rows of a tile on either side: large enough for BLAS to run at its full speed, and 2 MB of values."""


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
        refuse_bias(self.bias)

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        shape = A.shape[0], B.shape[0]
        if 0 in shape:
            return np.empty(shape)
        K = self._values(self.function(frozen(A), frozen(B)), shape)
        return finite(K, lambda i, j: f"the kernel function {self._name} returned {K[i, j]}: it must be finite")

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row, from K of a few rows with each other."""
        K = np.empty(A.shape[0])
        for i in range(0, len(K), ALONE):
            rows = some_rows(A, i, i + ALONE)
            try:
                K[i : i + ALONE] = self(rows, rows).diagonal()
            except KernelError as error:
                raise error.moved(i, i) from None
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
        refuse_bias(self.bias)

    def __call__(self, A: Block, B: Array) -> Array:
        """Return the columns B of the rows A."""
        refuse_columns(B, A.shape[1])
        return self._finished(A[:, B])

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return the entry of each row in the column of its own number."""
        if numbers is None:
            raise TypeError("the diagonal of a precomputed kernel needs the rows' numbers: diagonal(A, numbers)")
        if len(numbers) != A.shape[0]:
            raise ValueError(f"{A.shape[0]} rows have {len(numbers)} numbers: give each row one")
        refuse_columns(numbers, A.shape[1])
        return self._finished(A[np.arange(A.shape[0]), numbers])

    @quiet
    def _finished(self, found: Any) -> Array:
        values = found.toarray() if is_sparse(found) else found
        K = np.add(values, float(self.bias) ** 2, dtype=np.float64, order="C")
        return finite(K, lambda i, j: "the kernel matrix holds NaN or infinity: check the kernel it comes from")


def _kind(value: Any) -> str:
    """Return what something is that should have been an array of numbers."""
    is_array = is_sparse(value) or isinstance(value, np.ndarray)
    return f"an array of {value.dtype}" if is_array else type(value).__name__


class Kernel(Protocol):
    """K(a, b) of rows; also a frozen value, so that it can be compared, copied and saved."""

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B: a fresh float64 array (len A, len B) in C order."""

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row; `numbers`, which :class:`Precomputed` alone reads, are the rows' own columns."""


class OfProducts(Protocol):
    """A kernel that is a function of x.y: what it makes of a table of them is :meth:`finished`."""

    def finished(self, K: Array, A: Block, B: Block) -> Array:
        """Return the values, in place of the x.y of rows of A and rows of B."""

    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        return self.finished(dots(A, B), A, B)

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row."""
        return self.finished(squares(A), A, A)


@dataclass(frozen=True)
class Linear(OfProducts):
    """K(x, y) = x.y + bias².

    Examples
    --------
    >>> Linear(bias=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[12.,  1.]])
    """

    bias: float = 0.0

    def __post_init__(self) -> None:
        refuse_bias(self.bias)

    @quiet
    def finished(self, K: Array, A: Block, B: Block) -> Array:
        """Return the values, in place of the x.y of rows of A and rows of B."""
        K += float(self.bias) ** 2
        return finite(K, lambda i, j: f"x.y = {_dot(A, B, i, j):.6g} is beyond float64: {SMALLER}")


@dataclass(frozen=True)
class Polynomial(OfProducts):
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
        refuse_degree(self.degree)
        refuse_gamma(self.gamma)
        refuse_coef0(self.coef0)
        refuse_bias(self.bias)

    @quiet
    def finished(self, K: Array, A: Block, B: Block) -> Array:
        """Return the values, in place of the x.y of rows of A and rows of B."""
        K *= float(self.gamma)
        K += float(self.coef0)
        _raise_to(K, operator.index(self.degree))
        K += float(self.bias) ** 2
        return finite(K, lambda i, j: self._too_large(_dot(A, B, i, j)))

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
        refuse_gamma(self.gamma)
        refuse_bias(self.bias)

    @quiet
    def __call__(self, A: Block, B: Block) -> Array:
        """Return K(a, b) of each row of A with each row of B."""
        K = half_distances(A, B)
        finite(K, lambda i, j: f"||x - y||² is beyond float64: {SMALLER}, and multiply gamma by its square")
        K *= -2.0
        K *= float(self.gamma)
        np.exp(K, out=K)
        K += float(self.bias) ** 2
        return K

    def diagonal(self, A: Block, numbers: Array | None = None) -> Array:
        """Return K(a, a) of each row."""
        return np.full(A.shape[0], 1.0 + float(self.bias) ** 2)


def kernel_named(
    kernel: str | Callable[[Any, Any], Any],
    features: int,
    degree: int,
    gamma: float | None,
    coef0: float,
    bias: float,
) -> Kernel:
    """Return the kernel of a name, or of a user's function.

    gamma None is 1 for "poly" and 1 / features for "rbf"; parameters of other kernels are ignored.

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
    raise ParameterError(f"no kernel is named {kernel!r}: use one of {', '.join(NAMES)}, or a function")


@one_blas_thread()
def kernel_matrix(kernel: Kernel, A: Block, B: Block, jobs: int = 1, out: Array | None = None) -> Array:
    """Return K(a, b) of each row of A with each row of B, tile by tile on `jobs` threads; the same bits for any number.

    Where there is `out`, a float64 array of that shape or a view of some columns of one, the values are written there.

    Examples
    --------
    >>> kernel_matrix(Polynomial(degree=2), np.array([[1.0], [2.0]]), np.array([[3.0]]), jobs=2)
    array([[16.],
           [49.]])
    """
    shape = A.shape[0], B.shape[0]
    K = np.empty(shape) if out is None else out
    if K.shape != shape or K.dtype != np.float64:
        raise ValueError(f"out is {K.dtype} of shape {K.shape}: values of these rows are float64 of shape {shape}")

    def fill(i: int, j: int) -> None:
        try:
            K[i : i + TILE, j : j + TILE] = kernel(some_rows(A, i, i + TILE), some_rows(B, j, j + TILE))
        except KernelError as error:
            raise error.moved(i, j) from None

    rows, columns = (range(0, size, TILE) for size in K.shape)
    share([partial(fill, i, j) for i in rows for j in columns], jobs)
    return K


def _raise_to(K: Array, degree: int) -> None:
    """Replace each entry by its power, in place."""
    base = K.copy() if degree & (degree - 1) else K
    for bit in bin(degree)[3:]:
        K *= K
        if bit == "1":
            K *= base


def _dot(A: Block, B: Block, i: int, j: int) -> float:
    return float(dots(A[i : i + 1], B[j : j + 1])[0, 0])
