"""The rows that a run has stumbled over: each kept once, with its number."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.core.arrays import Array, frozen
from linsep.core.examples import Csr, Dense
from linsep.data.inputs import bytes_of, rows_of, without_duplicates


@dataclass
class Support:
    """Distinct rows in the order of their first mistake; more can be added.

    Arrays have room for more than is there, and a copy shares them: rows that are added to one after the other was
    given up change nothing that was there before.
    """

    data: Dense | Csr
    """All rows, where there is room for more; the last of them may be no rows yet."""
    numbers: Array
    count: int = 0

    @classmethod
    def of(cls, rows: Dense | Csr, numbers: Array) -> "Support":
        """Return these rows."""
        return cls(rows, np.asarray(numbers, np.int64), len(numbers))

    def __len__(self) -> int:
        return self.count

    def copy(self) -> "Support":
        """Return the same rows, to which others may be added."""
        return replace(self)

    def rows(self) -> Dense | Csr:
        """Return the rows as data."""
        n = self.count
        if isinstance(self.data, Dense):
            return self.data._replace(values=frozen(self.data.values[:n]))
        ends = self.data.indptr[: n + 1]
        stored = int(ends[-1])
        values, indices = frozen(self.data.values[:stored]), frozen(self.data.indices[:stored])
        return self.data._replace(values=values, indices=indices, indptr=frozen(ends))

    @property
    def known(self) -> Array:
        """The number of each row."""
        return self.numbers[: self.count]

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        return bytes_of(self.rows()) + self.known.nbytes

    def places(self, numbers: Array) -> Array:
        """Return which row has each of these numbers; -1 where none has."""
        if not self.count or not len(numbers):
            return np.full(len(numbers), -1)
        order = np.argsort(self.known, kind="stable")
        found = np.minimum(np.searchsorted(self.known, numbers, sorter=order), self.count - 1)
        place = order[found]
        return np.where(self.known[place] == numbers, place, -1)

    def add(self, data: Dense | Csr, rows: Array, numbers: Array) -> None:
        """Add some rows of the data, with numbers that are new."""
        more = taken(data, rows)
        if isinstance(self.data, Dense):
            self._add_dense(more)
        else:
            self._add_sparse(more)
        self.numbers = _with_room(self.numbers, self.count, len(numbers))
        self.numbers[self.count : self.count + len(numbers)] = numbers
        self.count += len(numbers)

    def _add_dense(self, more: Dense | Csr) -> None:
        values = more.values if isinstance(more, Dense) else as_matrix(more).toarray()
        buffer = _with_room(self.data.values, self.count, len(values), values.dtype)
        buffer[self.count : self.count + len(values)] = values
        self.data = self.data._replace(values=buffer)

    def _add_sparse(self, more: Dense | Csr) -> None:
        assert isinstance(self.data, Csr)
        if isinstance(more, Dense):
            matrix = sp.csr_array(more.values)
            more = Csr(matrix.data, matrix.indices, matrix.indptr, matrix.shape[1], more.bias)
        begin, stored, n = int(self.data.indptr[self.count]), len(more.values), rows_of(more)
        index = np.result_type(self.data.indices, more.indices)
        values = _with_room(self.data.values, begin, stored, more.values.dtype)
        indices = _with_room(self.data.indices, begin, stored, index)
        indptr = _with_room(self.data.indptr, self.count + 1, n, np.int64)
        values[begin : begin + stored], indices[begin : begin + stored] = more.values, more.indices
        indptr[self.count + 1 : self.count + 1 + n] = more.indptr[1:].astype(np.int64) + begin
        self.data = self.data._replace(values=values, indices=indices, indptr=indptr)

    def keep(self, places: Array) -> None:
        """Forget all rows but these."""
        kept = taken(self.rows(), places)
        self.data, self.numbers, self.count = kept, self.known[places], len(places)

    def widen(self, features: int) -> None:
        """Give the rows more features, which are 0 in all of them."""
        if isinstance(self.data, Csr):
            self.data = self.data._replace(features=features)
        else:
            rows = self.rows().values
            wide = np.zeros((len(rows), features), rows.dtype)
            wide[:, : rows.shape[1]] = rows[:, :features]
            self.data = self.data._replace(values=wide)

    def same_as(self, data: Dense | Csr) -> bool:
        """Tell whether the rows of these numbers in the data are the ones that were kept."""
        inside = np.flatnonzero(self.known < rows_of(data))
        if len(inside) < self.count:
            return False
        mine, theirs = as_matrix(self.rows()), as_matrix(taken(data, self.known))
        return mine.shape == theirs.shape and not (mine != theirs).nnz


def no_rows(like: Dense | Csr) -> Dense | Csr:
    """Return no rows of this kind of data."""
    if isinstance(like, Dense):
        return like._replace(values=np.empty((0, like.values.shape[1]), like.values.dtype))
    values, indices = np.empty(0, like.values.dtype), np.empty(0, like.indices.dtype)
    return like._replace(values=values, indices=indices, indptr=np.zeros(1, np.int64))


def taken(data: Dense | Csr, rows: Array) -> Dense | Csr:
    """Return a copy of some rows, in which no column is stored twice."""
    if isinstance(data, Dense):
        return data._replace(values=data.values[rows])
    part = as_matrix(data)[rows]
    parts = frozen(part.data), frozen(part.indices), frozen(part.indptr.astype(part.indices.dtype, copy=False))
    return without_duplicates(Csr(*parts, data.features, data.bias))


def as_matrix(data: Dense | Csr) -> Any:
    """Return the data as scipy knows sparse ones."""
    if isinstance(data, Dense):
        return sp.csr_array(data.values)
    return sp.csr_array((data.values, data.indices, data.indptr), shape=(rows_of(data), data.features))


def _with_room(array: Array, used: int, more: int, kind: Any = None) -> Array:
    """Return an array with room for `more` lines after those used: the same one, or one of twice the size."""
    kind = np.result_type(array, kind or array)
    if used + more <= len(array) and kind == array.dtype and array.flags.writeable:
        return array
    grown = np.empty((max(used + more, 2 * used), *array.shape[1:]), kind)
    grown[:used] = array[:used]
    return grown
