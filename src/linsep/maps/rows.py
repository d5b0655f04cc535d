"""Rows as the maps read and write them: dense arrays, or CSR with rising columns in each row and no others."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array
from linsep.core.checks import place_of

AT_ONCE = 1 << 20
"""Entries that are looked at in one go, so that what is computed on the way stays small."""


def is_sparse(X: Any) -> bool:
    """Tell whether rows are sparse."""
    return bool(sp.issparse(X))


def canonical(X: Any) -> Any:
    """Return CSR rows in canonical form, a copy only where they are not; dense rows as they are."""
    if not is_sparse(X):
        return X
    n, width = X.shape
    indices, indptr = X.indices, X.indptr
    ends = (len(indptr) == n + 1, indptr[0] == 0, indptr[-1] <= min(len(indices), len(X.data)))
    if not all(ends) or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("X.indptr does not describe rows of X.indices and X.data: check X with X.check_format()")
    used = indices[: indptr[-1]]
    if len(used) and not 0 <= used.min() <= used.max() < width:
        k = int(np.flatnonzero((used < 0) | (used >= width))[0])
        row, column = place_of(k, width, indices, indptr)
        raise ValueError(f"X has a column index {column} in row {row}, but only {width} columns")
    if X.has_canonical_format and len(used) == len(X.data) == len(indices):
        return X
    X = X.copy()
    X.prune()
    X.sum_duplicates()
    return X


def _first_not_finite(X: Any) -> tuple[str, float] | None:
    """Return where the first entry is that is not a finite number, and that entry; None if there is none."""
    values = X.data if is_sparse(X) else X
    fine = np.isfinite(values)
    if fine.all():
        return None
    k = int(np.argmin(fine))
    row, column = place_of(k, X.shape[1], *((X.indices, X.indptr) if is_sparse(X) else ()))
    return f"row {row}, column {column}", float(values[k] if is_sparse(X) else values[row, column])


def refuse_not_finite(X: Any) -> None:
    """Raise where an entry of the input is NaN or infinite."""
    if (found := _first_not_finite(X)) is not None:
        where, value = found
        what = "NaN" if np.isnan(value) else f"infinity or a value too large for {X.dtype}"
        raise ValueError(f"Input X contains {what} ({where}): fill missing values in, or drop the row")


def refuse_overflow(result: Any) -> None:
    """Raise where an entry of a result is beyond what its type holds."""
    if (found := _first_not_finite(result)) is not None:
        raise ValueError(f"{found[0]} of the result is too large for {result.dtype}: scale X first (linsep.maps.Scale)")


def pieces(X: Any) -> Iterator[Any]:
    """Yield the rows of X some at a time, in order, none of them empty."""
    n, width = X.shape
    if is_sparse(X):
        marks = np.arange(0, X.nnz, max(AT_ONCE, width))
        cuts = np.unique(np.append(np.searchsorted(X.indptr, marks, side="right") - 1, [0, n]))
    else:
        cuts = np.append(np.arange(0, n, max(1, AT_ONCE // width)), n)
    for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield X[start:stop]


def index_type(*largest: int) -> type[np.int32 | np.int64]:
    """Return the type of indices that reach up to the largest of these numbers."""
    return np.int32 if max(largest) <= np.iinfo(np.int32).max else np.int64


def csr_like(X: Any, values: Array, indices: Array, indptr: Array, width: int) -> Any:
    """Return canonical CSR rows, a matrix or an array as X is (an array where X is dense); copies nothing that fits."""
    kind = index_type(width, len(values), len(indptr))
    make: Any = sp.csr_matrix if sp.isspmatrix(X) else sp.csr_array
    parts = (values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False))
    result = make(parts, shape=(len(indptr) - 1, width))
    result.has_canonical_format = True
    return result


def as_entry(value: float, dtype: Any) -> Any:
    """Return a positive number as an entry of this type; raises where it is too large or too small for it."""
    with np.errstate(over="ignore", under="ignore"):
        entry = np.asarray(value, dtype=dtype)
    if not 0 < entry < np.inf:
        raise ValueError(f"{value!r} is out of the range of {dtype}: give rows of float64")
    return entry


def with_last_entries(X: Any, columns: Any, value: float, width: int) -> Any:
    """Return CSR rows with one more entry at the end of each: `value`, in the columns given."""
    ends, entry = X.indptr[1:], as_entry(value, X.dtype)
    indices = np.insert(X.indices.astype(index_type(width, X.nnz + len(ends)), copy=False), ends, columns)
    return csr_like(X, np.insert(X.data, ends, entry), indices, X.indptr + np.arange(len(ends) + 1), width)
