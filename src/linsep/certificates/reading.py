"""Read the rows and labels of a certificate: `certify` and `verify` accept the same data, and read them alike.

A certificate is about the floats that the checker reads. So a number that no float of 64 bits equals is refused, and so
is an entry that is not a number, even if NumPy would convert it.
"""

import math
from numbers import Number
from typing import Any

import numpy as np

from linsep.certificates.schema import is_plain
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense, place_of
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import canonical, refuse_bad_entries, without_duplicates
from linsep.validation.labels import clean, encode

LONGEST_VALUE = 21
"""Characters of a value that an error message shows in full."""


def read_rows(X: Any, bias: float = 0.0, learner: Any = None) -> Dense | Csr:
    """Return validated rows, with entries of the same column added up in float64, as the checker adds them.

    Parameters
    ----------
    X : array, sparse matrix or table, (rows, features)
        The rows; a table is a data frame of pandas or polars, or a table of pyarrow.
    bias : float, default=0.0
        The constant feature's value.
    learner : estimator, optional
        If given, X must have the features that the learner was trained on.
    """
    parts = _arrays(X)
    if any(part.dtype.kind not in "biuf" for part in parts):
        _refuse_objects(X)
    for part in parts:
        if part.dtype.kind in "biuf":
            _refuse_rounding(part)
    if learner is None and len(parts) > 1:  # a certificate is about numbers: columns may share a name
        X = np.column_stack(parts)
    data = canonical(learner, X, bias=bias, reset=learner is None)
    refuse_bad_entries(data)
    once = without_duplicates(data)
    return once if once is data else without_duplicates(data._replace(values=frozen(data.values.astype(np.float64))))


def read_labels(y: Any, rows: int) -> tuple[list[str], Array]:
    """Return the names of the classes, and the number of each row's class among them.

    Examples
    --------
    >>> names, codes = read_labels([2.0, -1.0, 2.0], 3)
    >>> names, codes.tolist()
    (['-1', '2'], [1, 0, 1])
    """
    if y is None:
        raise InvalidDataError("y is None: give a label for each row")
    classes, codes = encode(clean(y, rows))
    names = [class_name(label) for label in classes.tolist()]
    twin = (
        next((name for k, name in enumerate(names) if name in names[:k]), None) if len({*names}) < len(names) else None
    )
    if twin is not None:
        raise InvalidDataError(f"two labels have the name {shorten(twin)} in a certificate: rename one of them")
    return names, codes


def matrix_of(data: Dense | Csr) -> Any:
    """Return rows as the checker takes them: a NumPy array or a sparse array of scipy."""
    return data.to_scipy() if isinstance(data, Csr) else data.values


def class_name(label: Any) -> str:
    r"""Return the name of a class in certificates; 1.0 and 1 are one, and so are 0.0 and -0.0.

    Control characters are escaped, as a certificate may not hold any.

    Examples
    --------
    >>> [class_name(label) for label in (-1.0, 1, -0.0, "1.0", "two\nlines")]
    ['-1', '1', '0', '1.0', 'two\\nlines']
    """
    name = str(label + 0.0).removesuffix(".0") if isinstance(label, float) else str(label)
    return "".join(c if is_plain(c) else ascii(c)[1:-1] for c in name)


def shorten(value: Any) -> str:
    """Return a value for an error message, in full if it is short.

    Examples
    --------
    >>> shorten("x"), shorten(10**30)
    ("'x'", '100000000000000000...')
    """
    huge = isinstance(value, int) and value.bit_length() > 4096  # Python refuses to write it out in base 10
    text = hex(value) if huge else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _arrays(X: Any) -> list[Array]:
    """Return the entries of X as arrays: one of each type, that is the columns of a table."""
    if hasattr(X, "tocsr"):
        return [X.tocsr().data]
    if hasattr(type(X), "column_names"):  # pyarrow's `columns` are arrays, those of pandas and polars are names
        return [np.asarray(column) for column in X.columns]
    if hasattr(X, "items"):  # of pandas: columns may share a name
        return [np.asarray(column) for _, column in X.items()]
    if hasattr(X, "columns"):
        return [np.asarray(X[name]) for name in X.columns]
    try:
        rows = np.asarray(X)
    except (TypeError, ValueError):
        raise InvalidDataError("the rows of X are not all of one length") from None
    if rows.ndim != 2:
        plural = "" if rows.ndim == 1 else "s"
        raise InvalidDataError(f"X has {rows.ndim} dimension{plural}: it must have 2, rows and columns")
    return [rows]


def _refuse_objects(X: Any) -> None:
    """Raise a ValueError that names the first entry that is not a number, or not one that a float equals."""
    sparse = hasattr(X, "tocsr")
    rows: Any = X.tocsr() if sparse else np.array(X, object)
    values, stored = (rows.data, (rows.indices, rows.indptr)) if sparse else (rows, ())
    for k, value in enumerate(values.ravel().tolist()):
        if (fault := _fault(value)) is not None:
            row, column = place_of(k, rows.shape[1], *stored)
            raise InvalidDataError(f"row {row}, column {column} holds {shorten(value)}, {fault}")


def _fault(value: Any) -> str | None:
    """Return why an entry can't be used; None if it can."""
    if isinstance(value, complex) or not isinstance(value, (Number, np.bool_)):
        return "not a number"
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return "too large for a float"
    except (TypeError, ValueError):
        return "not a number"
    if not math.isfinite(number):
        return "not a finite number"
    return None if number == value else "which no float of 64 bits equals"


def _refuse_rounding(values: Array) -> None:
    """Raise a ValueError for a number that no float64 equals: the proof would be about other rows."""
    if values.dtype.itemsize < 8 or values.dtype == np.float64:
        return
    with np.errstate(invalid="ignore"):
        rounded = np.argwhere(values.astype(np.float64).astype(values.dtype) != values)
    if len(rounded):
        value = values[tuple(rounded[0])]
        reason = "which no float of 64 bits equals: a certificate would be of other rows"
        raise InvalidDataError(f"X holds {value}, {reason}")
