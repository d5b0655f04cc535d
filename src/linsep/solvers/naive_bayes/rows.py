"""Rows as each kind of naive Bayes takes them: counts, presence, one-hot columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.products import pieces
from linsep.validation.errors import InvalidDataError

AT_ONCE = 1 << 20
"""Entries per block."""


def refuse_negative(data: Dense | Csr) -> None:
    """Raise a ValueError that names the first entry below 0.

    >>> refuse_negative(Dense(np.array([[0.0, 2.0], [1.0, -1.0]]), 1.0))
    Traceback (most recent call last):
    ...
    linsep.validation.errors.InvalidDataError: Negative values in data passed to NaiveBayes: X has -1 in row 1, ...
    """
    if not data.values.size or data.values.min() >= 0:
        return
    flat = np.ravel(data.values)
    k = int(np.argmax(flat < 0))
    row, column = data.place(k)
    raise InvalidDataError(
        f"Negative values in data passed to NaiveBayes: X has {flat[k]:g} in row {row}, column {column}, and counts "
        "are not below 0 (hashed text: read it with alternate_sign=False); kind='gaussian' takes values of any sign"
    )


def present(data: Dense | Csr, threshold: float) -> Iterator[tuple[slice, Dense | Csr]]:
    """Yield the rows, some at a time, with 1 for each entry above the threshold and 0 for the others.

    >>> [(rows, part.values) for rows, part in present(Dense(np.array([[3.0, -1.0], [0.0, 0.5]]), 1.0), 0.0)]
    [(slice(0, 2, None), array([[1., 0.],
           [0., 1.]]))]
    """
    for rows, part in pieces(data, AT_ONCE * data.n_rows // max(1, data.values.size)):
        yield rows, part._replace(values=frozen((part.values > threshold).astype(part.values.dtype)))


def groups_of(groups: Any, features: int) -> Array:
    """Return the number of each column's variable, 0 and up, from numbers of any size.

    >>> groups_of([7, 7, 3], 3)
    array([1, 1, 0])
    """
    if groups is None:
        raise ValueError("kind='categorical' needs groups=, an array with the number of each column's variable")
    given = np.asarray(groups)
    if given.shape != (features,) or given.dtype.kind not in "iu":
        what = f"groups is an array of {given.dtype}, of shape {given.shape}"
        raise ValueError(f"{what}: give one integer for each of the {features} columns")
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def refuse_not_one_hot(data: Dense | Csr, groups: Array) -> None:
    """Raise a ValueError that names the first row with an entry but 0 and 1, or two ones in a variable's columns.

    `groups` states to which variable each column belongs, 0 and up.

    >>> refuse_not_one_hot(Dense(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), 1.0), np.array([0, 0, 1]))
    Traceback (most recent call last):
    ...
    linsep.validation.errors.InvalidDataError: X has ones in columns 0 and 1 of row 1, which belong to one variable ...
    """
    variables = int(groups.max()) + 1
    for rows, part in pieces(data, AT_ONCE // max(variables, len(groups) if isinstance(data, Dense) else 1)):
        row, column, values = _entries(part)
        odd = np.flatnonzero(values != 1)
        if len(odd):
            k = int(odd[0])
            raise InvalidDataError(
                f"X has the entry {values[k]:g} in row {rows.start + row[k]}, column {column[k]}: kind='categorical' "
                "takes one-hot columns, of 0 and 1 (scikit-learn's OneHotEncoder makes them of categories)"
            )
        seen = np.bincount(row * variables + groups[column], minlength=0)
        if seen.max(initial=0) > 1:
            i, variable = divmod(int(np.argmax(seen > 1)), variables)
            first, second = column[(row == i) & (groups[column] == variable)][:2]
            raise InvalidDataError(
                f"X has ones in columns {first} and {second} of row {rows.start + i}, which belong to one variable "
                f"(groups={variable}): a row has one value of each variable, or none where it is missing"
            )


def _entries(data: Dense | Csr) -> tuple[Array, Array, Array]:
    """Return row, column and value of each entry that is not 0."""
    if isinstance(data, Dense):
        row, column = np.nonzero(data.values)
        return row, column, data.values[row, column]
    stored = data.values != 0
    row = np.repeat(np.arange(len(data.indptr) - 1), np.diff(data.indptr))
    return row[stored], data.indices[stored], data.values[stored]
