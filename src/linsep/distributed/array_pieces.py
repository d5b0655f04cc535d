"""Rows of arrays, as those see them that work on them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.data.dataset import Dataset
from linsep.data.parts import Profile
from linsep.data.rows import NO_INDEX
from linsep.engine.arrays import Array
from linsep.validation.labels import clean


class AsTheyAre(NamedTuple):
    """How arrays are read."""

    form: None = None


class ArrayRows(NamedTuple):
    """Rows of an array, and their labels, if any.

    >>> rows = array_rows(np.eye(2), np.array(["yes", "no"]), 3)
    >>> rows.survey.labels, ArrayRows.joined([rows, rows]).X.shape
    (array(['no', 'yes'], dtype='<U3'), (4, 2))
    """

    X: Any
    y: Array | None
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        X = self.X
        stored = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        return sum(array.nbytes for array in (*stored, self.y) if array is not None)

    @property
    def room(self) -> int:
        """The memory that the rows take."""
        return self.nbytes

    @property
    def survey(self) -> Profile:
        """What the rows hold."""
        rows, width = self.X.shape
        try:
            labels = np.unique(clean(self.y, rows)) if rows else np.empty(0)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        return Profile(rows, labels, None, NO_INDEX, width - 1, False, 0, 0)

    def surveyed(self, reading: AsTheyAre) -> Profile:
        """Return what the rows hold."""
        return self.survey

    def parsed(self, reading: AsTheyAre) -> "ArrayRows":
        """Return all rows."""
        return self

    def finished(self, form: None) -> Dataset:
        """Return the rows as they are."""
        return Dataset(self.X, np.full(self.X.shape[0], np.nan) if self.y is None else self.y)

    def blocks(self, reading: AsTheyAre, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        whole = self.finished(None)
        for begin in range(0, len(whole.y), rows):
            yield Dataset(whole.X[begin : begin + rows], whole.y[begin : begin + rows], block=True)

    @staticmethod
    def joined(some: Sequence["ArrayRows"]) -> "ArrayRows":
        """Return all rows of several, one after the other."""
        if len(some) == 1:
            return some[0]
        sparse = {sp.issparse(one.X) for one in some}
        widths = {one.X.shape[1] for one in some}
        name = f"{some[0].name} to {some[-1].name.removeprefix('partition ')}"
        if len(sparse) > 1 or len(widths) > 1:
            raise ValueError(f"{name}: X is " + ("sparse in some of them" if len(sparse) > 1 else f"{widths} wide"))
        X = sp.vstack([one.X for one in some], "csr") if sparse == {True} else np.concatenate([one.X for one in some])
        labels = [one.y for one in some if one.y is not None]
        return ArrayRows(X, np.concatenate(labels) if labels else None, name)

    @staticmethod
    def merged(surveys: Iterable[Profile]) -> Profile:
        """Return what all rows hold; labels are as they were given."""
        found = [one for one in surveys if one.rows]
        if not found:
            return Profile(0, np.empty(0), None, NO_INDEX, -1, False, 0, 0)
        if len({one.labels.dtype.kind in "biuf" for one in found}) > 1:
            raise ValueError("y mixes labels of different types, numbers and words: give all of them one type")
        labels = np.unique(np.concatenate([one.labels for one in found]))
        rows, high = sum(one.rows for one in found), max(one.high for one in found)
        return Profile(rows, labels, None, NO_INDEX, high, False, 0, 0)


def array_rows(X: Any, y: Any, number: int) -> ArrayRows:
    """Return the rows of a partition, or say what is wrong with it."""
    name = f"partition {number}"
    X = X.tocsr() if hasattr(X, "tocsr") else X
    if not (isinstance(X, np.ndarray) or hasattr(X, "indptr")):
        raise TypeError(f"{name} is a {type(X).__name__}: the blocks of X are arrays, or sparse matrices of scipy")
    labels = None if y is None else np.asarray(y)
    if labels is not None and len(labels) != X.shape[0]:
        raise ValueError(f"{name}: X has {X.shape[0]} rows and y has {len(labels)} labels: cut both at the same rows")
    return ArrayRows(X, labels, name)
