"""Validate user input and convert it to the engine's array types.

Canonical data are read in place: C-ordered arrays and CSR matrices of float32 or float64, with int32 or int64
indices. Small integers and booleans become float32, other numbers float64, exactly; other orders and sparse formats
are converted once. Little data always become float64 with int32 indices: a copy costs less than to compile for one
more type, and the answers are the same to the bit.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from linsep.engine.arrays import frozen
from linsep.engine.data_kinds import ColumnIndexError, Csr, Dense, first_beyond, highest_index, rises
from linsep.validation.errors import InvalidDataError

FITS_FLOAT32 = ("b1", "i1", "u1", "i2", "u2")
LITTLE = 1 << 20
"""Bytes up to which data are copied to the most common types."""
LARGEST = float(np.finfo(np.float64).max)


def validated(estimator: Any, X: Any, **how: Any) -> Any:
    """Return X as a dense array or CSR rows of float64 or float32; set or check feature count and names.

    If `estimator` is None, the rows belong to no estimator, and any number of features will do.
    """
    _refuse_dates(X)
    how |= {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
    try:
        if estimator is None:
            return check_array(X, **how)
        return validate_data(estimator, X, **how)
    except OverflowError:  # of an integer in an array of objects
        text = "Input X contains an integer too large for float64: divide all of X by one factor"
        raise InvalidDataError(text) from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else InvalidDataError
        raise kind(f"{error}{_place_of_bad_cell(X)}") from error


def _columns_of(X: Any) -> list[tuple[Any, Any]]:
    """Return the names and columns of a table of pandas, polars or pyarrow; nothing for other data."""
    if not hasattr(X, "columns"):
        return []
    if hasattr(X, "column_names"):  # of pyarrow, whose `columns` are no names
        return list(zip(X.column_names, X.columns, strict=True))
    return list(X.items()) if hasattr(X, "items") else [(name, X[name]) for name in X.columns]


def _refuse_dates(X: Any) -> None:
    """Raise a ValueError for dates and durations, which NumPy would convert to counts of some unit of time."""
    columns = [(f"the column {name!r} of X", np.asarray(column[:1])) for name, column in _columns_of(X)]
    for where, values in columns or [("X", X)]:
        kind: Any = getattr(values, "dtype", None)
        if getattr(kind, "kind", "") in ("m", "M"):
            raise InvalidDataError(
                f"{where} has dates or durations ({kind}), whose numbers depend on a unit of time: choose the unit, as "
                "in (dates - dates.min()) / np.timedelta64(1, 'D'), or drop the column"
            )


def _place_of_bad_cell(X: Any) -> str:
    """Return the place of the first entry that is not a number, and the fix; "" if there is none."""
    if sp.issparse(X):
        return ""
    try:
        columns = _columns_of(X) or list(enumerate(np.asarray(X, object).T))
    except ValueError:  # rows of different lengths
        return ""
    for name, column in columns:
        for row, value in enumerate(np.asarray(column, object).ravel().tolist()):
            try:
                float(0.0 if value is None else value)
            except (TypeError, ValueError):
                return f" (row {row}, column {name!r}): convert the column to numbers, or drop it"
    return ""


def canonical(learner: Any, X: Any, *, bias: float, reset: bool) -> Dense | Csr:
    """Return X as data the engine reads; set or check the learner's feature count and names, if there is a learner."""
    own = {} if learner is None else {"reset": reset}
    checked = validated(learner, _narrow(X), order="C", **own)
    if not sp.issparse(checked):
        return Dense(frozen(_common(checked, np.float64)), bias)
    return _csr(checked, bias)


def _common(array: Any, kind: Any) -> Any:
    """Return an array in the most common type if it is little, and as it is if not."""
    return array.astype(kind, copy=False) if array.nbytes <= LITTLE else array


def _narrow(X: Any) -> Any:
    kind = getattr(X, "dtype", None)
    if not isinstance(kind, np.dtype) or kind.str[1:] not in FITS_FLOAT32:
        return X
    if getattr(X, "format", None) == "csr":  # scipy's astype would copy the indices, too
        return type(X)((X.data.astype(np.float32), X.indices, X.indptr), shape=X.shape, copy=False)
    return X.astype(np.float32)


def refuse_bad_indptr(X: Any) -> None:
    """Raise a ValueError if the ends of CSR rows do not rise from 0 to within the entries."""
    ends = len(X.indptr) == X.shape[0] + 1, X.indptr[0] == 0, X.indptr[-1] <= min(len(X.indices), len(X.data))
    if not all(ends) or np.any(X.indptr[1:] < X.indptr[:-1]):
        raise InvalidDataError("X.indptr does not describe rows of X.indices and X.data: check X with X.check_format()")


def _csr(X: Any, bias: float) -> Csr:
    refuse_bad_indptr(X)
    indices, indptr = X.indices, X.indptr
    if indptr.dtype != indices.dtype and len(indices) <= np.iinfo(indices.dtype).max:
        indptr = indptr.astype(indices.dtype)
    values = _common(X.data, np.float64)
    if max(indices.nbytes, indptr.nbytes) <= LITTLE and np.all(indices.astype(np.int32) == indices):
        indices, indptr = indices.astype(np.int32, copy=False), indptr.astype(np.int32, copy=False)
    values, indices, indptr = (frozen(np.ascontiguousarray(part)) for part in (values, indices, indptr))
    return Csr(values, indices, indptr, X.shape[1], bias)


def single_row(indices: Any, values: Any, width: int, bias: float) -> Csr:
    """Return one sparse row as data of that many features, in the most common types."""
    kind = np.int32 if width <= np.iinfo(np.int32).max else np.int64
    ends = np.array([0, len(indices)], kind)
    values, indices = frozen(values.astype(np.float64, copy=False)), frozen(indices.astype(kind, copy=False))
    return Csr(values, indices, frozen(ends), width, bias)


def without_duplicates(data: Dense | Csr) -> Dense | Csr:
    """Return data in which no row stores a column twice: rules that read ||x||² depend on it."""
    if isinstance(data, Dense) or rises(data.indices, data.indptr):
        return data
    X = data.to_scipy().copy()
    X.sum_duplicates()
    indptr = X.indptr.astype(X.indices.dtype, copy=False)
    return data._replace(values=frozen(X.data), indices=frozen(X.indices), indptr=frozen(indptr))


def refuse_bad_entries(data: Dense | Csr, limit: float = LARGEST) -> None:
    """Raise a ValueError that names the first entry that is not a finite number within `limit`, or has no column.

    The passes find such entries by themselves, as scores that are not finite; only then is it worth a look which.
    """
    if isinstance(data, Csr) and len(data.indices) and highest_index(data.indices) >= data.features:
        k = int(np.flatnonzero((data.indices < 0) | (data.indices >= data.features))[0])
        row, column = data.place(k)
        raise ColumnIndexError(f"X has a column index {column} in row {row}, but only {data.features} columns")
    flat = np.ravel(data.values)
    limit = min(float(limit), float(np.finfo(flat.dtype).max))
    k = first_beyond(flat, limit)
    if k < 0:
        return
    row, column = data.place(k)
    value = float(flat[k])
    where = f"row {row}, column {column}"
    if np.isnan(value):
        raise InvalidDataError(f"Input X contains NaN ({where}): fill missing values in, or drop the row")
    if np.isinf(value):
        raise InvalidDataError(f"Input X contains infinity or a value too large for {flat.dtype} ({where})")
    raise InvalidDataError(
        f"X has the entry {value:g} ({where}), beyond x_max={limit:g}: divide all of X by one factor "
        f"(its largest |entry|), or state the true x_max"
    )
