"""Predicting one row at a time, in any form: dicts, (indices, values), arrays."""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import fromiter

from linsep.core.arrays import Array
from linsep.learners.compact import asking_of
from linsep.learners.desk import Asking, refuse_unequal
from linsep.learners.intact import AT_THE_DESK, at_once

NO_NAMES = "x names its features, but the learner has features without names, from grow or from training"
INDEX, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
INT = {int}


def plain(a: Any, types: str) -> bool:
    """Tell whether a is a 1-d array of one of these types, by numpy's one-letter codes, in native byte order."""
    return type(a) is np.ndarray and a.ndim == 1 and a.dtype.char in types and a.dtype.isnative


def _row_of(x: Any) -> Array:
    """Return a sparse matrix of one row as an array; one of more rows stays a table, which is refused."""
    table: Array = x.toarray()
    return table[0] if len(table) == 1 else table


def names_among(x: dict[Any, Any]) -> list[str]:
    """Return the keys of a row if they are names, and no keys if they are column numbers; refuse all other rows."""
    for key in x:
        if not isinstance(key, (str, Integral)) or isinstance(key, bool):
            raise ValueError(f"x has the key {key!r}: features go by names (str), or by column numbers (int)")
    named = [key for key in x if isinstance(key, str)]
    if named and len(named) < len(x):
        raise ValueError(f"x mixes names such as {named[0]!r} with column numbers")
    return named


def known_dict(x: dict[Any, float], names: dict[str, int] | None) -> Any:
    """Return the entries of a row, as `_entries_of` does, given the columns of named features."""
    values = fromiter(x.values(), FLOAT, len(x))
    if names is None:
        if not INT.issuperset(map(type, x)) and names_among(x):
            raise ValueError(NO_NAMES)
        try:
            return fromiter(x, INDEX, len(x)), values, True
        except OverflowError:
            beyond = next(j for j in x if not -(1 << 63) <= j < 1 << 63)
            raise ValueError(f"x has the column number {beyond}, beyond int64") from None
    try:
        return fromiter(map(names.__getitem__, x), INDEX, len(x)), values, True
    except KeyError:
        return None


def known_entries(x: dict[Any, float], names: dict[str, int]) -> tuple[Array, Array]:
    """Return the indices and values of those features of a row that are known; each name is looked up once.

    Another thread may add names meanwhile, or take back those of a row that it refused.
    """
    for name in x:
        if not isinstance(name, str):
            raise ValueError(f"x has the key {name!r}, but the learner's features have names (str)")
    found = [(j, value) for name, value in x.items() if (j := names.get(name)) is not None]
    return fromiter((j for j, _ in found), INDEX, len(found)), fromiter((v for _, v in found), FLOAT, len(found))


class PredictOne:
    """`predict_one`, for a learner."""

    _names: dict[str, int] | None = None
    _asking: Asking | None = None
    """Open between single rows; closed by all that moves the weights to other arrays, or changes the parameters."""

    def predict_one(self: Any, x: Any) -> Any:
        """Return the label of one row; features never seen count as 0."""
        asking = self._asking
        if asking is None:
            asking = self._open_asking()
        if type(x) is tuple and asking.fits(x):
            return asking.answer(*x)
        if type(x) is not dict and hasattr(x, "items"):
            x = dict(x.items())
        entries = known_dict(x, asking.names) if type(x) is dict else self._entries_of(x)
        return asking.answer(*(known_entries(x, asking.names) if entries is None else entries[:2]))

    @at_once
    def _open_asking(self: Any) -> Asking:
        """Prepare for single rows; what is prepared is kept with the state that it is made of."""
        self._asking = asking_of(self._fitted(), self._bias, self.classes_, self._names)
        asking: Asking = self._asking
        return asking

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have any."""
        names = self._names
        if names is None:
            raise AttributeError("the features have no names")
        return np.array(list(names), dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        self._names = {name: j for j, name in enumerate(names)}

    @feature_names_in_.deleter
    def feature_names_in_(self) -> None:
        self.__dict__.pop("_names", None)

    def _entries_of(self: Any, x: Any) -> Any:
        """Return the indices and values of a row in any form, and whether the indices are known to be distinct.

        None where it names a feature that is new.
        """
        if type(x) is tuple and len(x) == 2:
            return self._entries_of_pair(*x)
        if hasattr(x, "items"):
            return known_dict(dict(x.items()), self._names)
        row = np.asarray(_row_of(x) if sp.issparse(x) else x, np.float64)
        if row.ndim != 1:
            raise ValueError(f"x is one row: a dict, (indices, values) or a 1-d array; got {row.ndim} dimensions")
        if len(row) != self.n_features_in_:
            raise ValueError(f"x has {len(row)} features, but the learner has {self.n_features_in_}")
        indices = np.flatnonzero(row)
        return indices, row[indices], True

    def _entries_of_pair(self: Any, indices: Any, values: Any) -> Any:
        if not (plain(indices, "ilq") and plain(values, "fd")):
            indices, values = np.asarray(indices), np.asarray(values, np.float64)
            if (indices.dtype.kind not in "iu" and indices.size) or indices.ndim != 1 or values.ndim != 1:
                raise ValueError("x is (indices, values): two 1-d arrays, the first of integers")
            indices = indices.astype(np.int64)
        refuse_unequal(indices, values)
        return indices, values, False

    def _close_desk(self) -> None:
        for name in AT_THE_DESK:
            self.__dict__.pop(name, None)
