"""Kernels whose values are given: by a function of the user's, or as a matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.maps.blocks import Block, frozen, quiet, some_rows
from linsep.maps.kernel_errors import KernelError, finite, refuse_bias, refuse_columns
from linsep.maps.rows import is_sparse

ALONE = 32
"""Rows that a user's kernel is asked for at once where only K(a, a) is wanted."""


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
