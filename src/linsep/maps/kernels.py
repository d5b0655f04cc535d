"""Kernels: inner products of rows in a feature space that nobody writes out, computed block against block.

A kernel answers for two blocks (:mod:`linsep.maps.blocks`) at once and is meant for little ones: :func:`kernel_matrix`
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

from linsep.core.arrays import Array
from linsep.core.blas import one_blas_thread
from linsep.core.threads import share
from linsep.maps.blocks import Block, dots, half_distances, quiet, some_rows, squares
from linsep.maps.given_kernels import OfUser, Precomputed
from linsep.maps.kernel_errors import (
    SMALLER,
    KernelError,
    finite,
    refuse_bias,
    refuse_coef0,
    refuse_degree,
    refuse_gamma,
)

NAMES = ("linear", "poly", "rbf", "precomputed")

TILE = 512
"""Rows of a tile on either side: large enough for BLAS to run at its full speed, and 2 MB of values."""


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
