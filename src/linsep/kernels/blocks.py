"""Blocks of rows, as kernels read them, and the values that kernels refuse."""

import math
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.transforms.base import is_sparse
from linsep.validation.errors import ParameterError

SMALLER = "divide X by one factor (linsep.transforms.Scale)"
Block = Any
"""A table, a `scipy.sparse.csr_array`, or (for a precomputed kernel, on the right) the numbers of columns."""
PAIRS = 512
"""Pairs of rows whose differences are taken in one go."""
STRIPE = 64
"""Rows that BLAS takes at a time, or a multiple of them."""
SPARE = 8
"""Ratio of features to entries of two sparse blocks from which columns that they do not share are omitted."""
quiet = np.errstate(over="ignore", under="ignore", invalid="ignore")
"""For arithmetic whose result is checked afterwards."""


class KernelError(ValueError):
    """A value of the kernel that is not a finite number.

    `rows` are the two rows, counted in the current blocks (twice the same in a diagonal); `text` is the message without
    them. Callers that know the places of the blocks catch this error and report `text` with their own row numbers.

    Examples
    --------
    >>> from linsep.kernels.functions import Polynomial
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

    def moved(self, i: int, j: int) -> "KernelError":
        """Return the error with the rows' numbers in the blocks whose parts begin at rows i and j."""
        return KernelError((self.rows[0] + i, self.rows[1] + j), self.text)


def finite(K: Array, why: Callable[[int, int], str]) -> Array:
    """Return values as they are; raises at the first that is not finite, with the reason that `why` gives."""
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(K.sum())
    if not fine and not (finite := np.isfinite(K)).all():
        place = np.argwhere(~finite)[0].tolist()
        raise KernelError((place[0], place[-1]), why(place[0], place[-1]))
    return K


def real(value: Any) -> float:
    """Return a parameter as a float; what is no real number is NaN, and what is too large infinite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def refuse_degree(degree: Any) -> None:
    """Raise a ValueError for a degree that is no whole number from 1."""
    if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 1:
        raise ParameterError(f"degree is {degree!r}: it must be a whole number from 1")


def refuse_coef0(coef0: Any) -> None:
    """Raise a ValueError for what is no finite number."""
    if not math.isfinite(real(coef0)):
        raise ParameterError(f"coef0 is {coef0!r}: it must be a finite number")


def refuse_gamma(gamma: Any) -> None:
    """Raise a ValueError for what is no finite number above 0."""
    if not 0 < real(gamma) < math.inf:
        raise ParameterError(f"gamma is {gamma!r}: it must be a finite number above 0")


def refuse_bias(bias: Any) -> None:
    """Raise a ValueError for what has no finite square."""
    value = real(bias)
    if not math.isfinite(value * value):
        raise ParameterError(f"bias is {bias!r}: it must be a number with a finite square")


def refuse_columns(numbers: Array, columns: int) -> None:
    """Raise for numbers of columns that are not there."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(f"columns of a kernel matrix are whole numbers, not {numbers.dtype} of shape {numbers.shape}")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < columns:
        raise ValueError(f"columns {numbers.min()} to {numbers.max()} of a kernel matrix that has {columns}")


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
    entries, indptr = data.entries(rows)
    parts = (data.values[entries].astype(np.float64, copy=False), data.indices[entries], indptr)
    block = sp.csr_array(parts, shape=(len(indptr) - 1, data.features))
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


def frozen(X: Block) -> Block:
    """Return the same rows, such that a user's function cannot change them."""
    if is_sparse(X):
        rows = sp.csr_array(tuple(map(frozen, (X.data, X.indices, X.indptr))), shape=X.shape)
        rows.has_canonical_format = X.has_canonical_format
        return rows
    view = X.view()
    view.flags.writeable = False
    return view


@quiet
def dots(A: Block, B: Block) -> Array:
    """Return x.y of each row of A with each row of B: a fresh table in C order."""
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"rows of {A.shape[1]} and of {B.shape[1]} features have no kernel: give both the same")
    if is_sparse(A) and is_sparse(B):
        if A.shape[1] > SPARE * (A.nnz + B.nnz):
            A, B = _narrowed(A, B)
        return (A @ B.T).toarray()
    if is_sparse(A) or is_sparse(B):
        return np.ascontiguousarray(A @ B.T)
    left, right = _padded(A), _padded(B)
    if np.may_share_memory(left, right):
        right = right.copy()
    return np.ascontiguousarray((left @ right.T)[: len(A), : len(B)])


def _padded(A: Array) -> Array:
    """Return a table with rows of zeros up to a multiple of :data:`STRIPE`.

    BLAS has other ways, with other bits, for few rows, for what is left over, and for a table with itself. Here all
    sizes take one path, and a product of two rows has the same bits in every block.
    """
    missing = -len(A) % STRIPE
    return np.vstack([A, np.zeros((missing, A.shape[1]))]) if missing else A


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
    for k in range(0, len(i), PAIRS):
        yield rows[i[k : k + PAIRS]], j[k : k + PAIRS]


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
