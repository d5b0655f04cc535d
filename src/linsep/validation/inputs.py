"""Validate user input and convert it to the engine's array types.

Canonical data are read in place: C-ordered arrays and CSR matrices of float32 or float64, with int32 or int64
indices. Small integers and booleans become float32, other numbers float64, exactly; other orders and sparse formats
are converted once. Little data always become float64 with int32 indices: a copy costs less than compiling for one more
type, and the results are the same to the bit.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache
from numbers import Integral
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import empty, fromiter
from sklearn.utils.validation import check_array, validate_data

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import ColumnIndexError, Csr, Dense, first_beyond, highest_index, rises
from linsep.validation.errors import InvalidDataError, ParameterError

FITS_FLOAT32 = ("b1", "i1", "u1", "i2", "u2")
LITTLE = 1 << 20
"""Bytes up to which data are copied to the most common types."""
NO_WIDTH = "the number of features is not known yet: call grow(n_features) first, or use a dict of names"
NO_NAMES = "x names its features, but the learner has features without names, from grow or from training"
INDEX, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
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
    if not hasattr(type(X), "columns"):
        return []
    if hasattr(type(X), "column_names"):  # of pyarrow, whose `columns` are no names
        return list(zip(X.column_names, X.columns, strict=True))
    return list(X.items()) if hasattr(type(X), "items") else [(name, X[name]) for name in X.columns]


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

    The passes detect such entries as scores that are not finite; only then are the entries searched.
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
        f"X has the entry {value:g} ({where}), beyond x_max={limit:g}: map X by "
        f'Scale(largest="entry"), or state the true x_max'
    )


def is_plain(a: Any, types: str) -> bool:
    """Return whether a is a 1-d array in native byte order whose type is one of numpy's one-letter codes."""
    return type(a) is np.ndarray and a.ndim == 1 and a.dtype.char in types and a.dtype.isnative


def row_of(x: Any) -> Array:
    """Return a sparse matrix of one row as a 1-d array; a matrix of more rows as a table, which the caller refuses."""
    table: Array = x.toarray()
    return table[0] if len(table) == 1 else table


def names_among(x: dict[Any, Any]) -> list[str]:
    """Return the keys of a row if they are names, or an empty list if they are column numbers; refuse a mixture."""
    for key in x:
        if not isinstance(key, (str, Integral)) or isinstance(key, bool):
            raise InvalidDataError(f"x has the key {key!r}: features go by names (str), or by column numbers (int)")
    named = [key for key in x if isinstance(key, str)]
    if named and len(named) < len(x):
        raise InvalidDataError(f"x mixes names such as {named[0]!r} with column numbers")
    return named


@lru_cache(maxsize=1024)
def _writer(n: int) -> Callable[..., None]:
    """Return what writes n integers to a buffer; other numbers are an error, unlike those that NumPy converts."""
    return Struct(f"{n}q").pack_into


def known_dict(x: dict[Any, float], names: dict[str, int] | None) -> Any:
    """Return the entries of a row, as `Learner._entries_of` does, given the columns of named features."""
    n = len(x)
    values = fromiter(x.values(), FLOAT, n)
    if names is not None:
        try:
            return fromiter(map(names.__getitem__, x), INDEX, n), values, True
        except KeyError:
            return None
    keys, indices = [*x], empty(n, INDEX)
    try:
        _writer(n)(indices, 0, *keys)
    except StructError:
        if names_among(x):
            raise InvalidDataError(NO_NAMES) from None
        beyond = next(j for j in keys if not -(1 << 63) <= j < 1 << 63)
        raise InvalidDataError(f"x has the column number {beyond}, beyond int64") from None
    if (0 in x and keys[keys.index(0)] is False) or (1 in x and keys[keys.index(1)] is True):
        names_among(x)  # raises: False and True are integers for a buffer, too
    return indices, values, True


def known_entries(x: dict[Any, float], names: dict[str, int]) -> tuple[Array, Array]:
    """Return the indices and values of the known features of a row.

    Each name is looked up once: another thread may add names meanwhile, or remove those of a row that it refused.
    """
    for name in x:
        if not isinstance(name, str):
            raise InvalidDataError(f"x has the key {name!r}, but the learner's features have names (str)")
    found = [(j, value) for name, value in x.items() if (j := names.get(name)) is not None]
    return fromiter((j for j, _ in found), INDEX, len(found)), fromiter((v for _, v in found), FLOAT, len(found))


def entries_of_pair(indices: Any, values: Any) -> tuple[Array, Array, bool]:
    """Return the indices and values of a row, and that the indices are not known to be distinct."""
    if not (is_plain(indices, "ilq") and is_plain(values, "fd")):
        indices, values = np.asarray(indices), np.asarray(values, np.float64)
        if (indices.dtype.kind not in "iu" and indices.size) or indices.ndim != 1 or values.ndim != 1:
            raise InvalidDataError("x is (indices, values): two 1-d arrays, the first of integers")
        indices = indices.astype(np.int64)
    refuse_unequal(indices, values)
    return indices, values, False


def refuse_unequal(indices: Array, values: Array) -> None:
    """Raise a ValueError when a row has not one value for each index."""
    if len(indices) != len(values):
        raise InvalidDataError(f"x has {len(indices)} indices and {len(values)} values")


def refuse_other_columns(indices: Array, width: int, named: bool = False) -> None:
    """Raise a ValueError that names the first column that is none of so many, if there is one."""
    beyond = np.flatnonzero((indices < 0) | (indices >= width))
    if len(beyond):
        j = int(indices[beyond[0]])
        cure = ": use a dict to add names" if named else f": grow({j + 1}) makes room for it" if j >= 0 else ""
        raise InvalidDataError(f"x has column {j}, but the learner has {width} features (0 to {width - 1}){cure}")


def refuse_many_labels(y: Any) -> None:
    """Raise a ValueError when y is not one label."""
    if np.ndim(y) != 0 or not isinstance(y, Hashable):
        raise InvalidDataError(f"y is one label; got {y!r}")


def refuse_beyond(entries: tuple[Array, Array, bool], limit: float) -> None:
    """Raise a ValueError that names the first value beyond the limit, if there is one."""
    indices, values, _ = entries
    beyond = np.flatnonzero(np.abs(values) > limit)
    if len(beyond):
        k = int(beyond[0])
        raise InvalidDataError(f"x has the entry {values[k]:g} at column {indices[k]}, beyond x_max={limit:g}")


def finite_array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return a parameter as an array of float64 of that shape; raise a ParameterError unless it is one of numbers.

    >>> finite_array("coef_", [[1, 2]], (1, 2))
    array([[1., 2.]])
    """
    try:
        array = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} takes an array of numbers; got {value!r:.60}") from None
    if array.shape != shape:
        raise ParameterError(f"{name} has the shape {shape}; got an array of the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ParameterError(f"{name} contains NaN or infinity")
    return array
