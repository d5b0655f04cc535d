"""How rare an n-gram is among documents, as a weight."""

from typing import Any, Self

import numpy as np

from linsep.data.text.ngrams import to_unit
from linsep.engine.arrays import Array


class Frequencies:
    """In how many documents each column was seen: what is rare weighs more, ln((1 + n) / (1 + its documents)) + 1.

    >>> frequencies = Frequencies(3)
    >>> frequencies.see(documents=2, columns=np.array([0, 1, 0]))
    >>> frequencies.weights(np.array([0, 1, 2]), np.float64).round(3)
    array([1.   , 1.405, 2.099])
    """

    def __init__(self, width: int = 0) -> None:
        self.documents = 0
        self._width = width
        self._counts: Array | None = None
        self._few: tuple[Array, Array] = np.empty(0, np.int64), np.empty(0, np.int64)
        """Columns in order and their counts, all others being 0, until a count for each column is asked for."""

    @property
    def counts(self) -> Array:
        """The documents of each column."""
        if self._counts is None:
            self._counts = np.zeros(self._width, np.int64)
            self._counts[self._few[0]] = self._few[1]
        return self._counts

    @counts.setter
    def counts(self, counts: Array) -> None:
        self._counts = counts

    @property
    def width(self) -> int:
        """The number of columns."""
        return self._width if self._counts is None else len(self._counts)

    def widen(self, width: int) -> None:
        """Make room for this many columns, or more."""
        if width > self.width:
            more = max(width, 2 * self.width) - self.width
            self.counts = np.concatenate([self.counts, np.zeros(more, np.int64)])

    def see(self, documents: int, columns: Array, times: Any = 1) -> None:
        """Count documents: each of the columns was in one of them, or in as many as `times` says."""
        self.documents += documents
        np.add.at(self.counts, columns, times)

    def state(self) -> dict[str, Any]:
        """Return what was counted, ready for JSON."""
        columns, counts = self._few
        if self._counts is not None:
            columns = np.flatnonzero(self._counts)
            counts = self._counts[columns]
        return {"documents": self.documents, "columns": columns.tolist(), "in": counts.tolist()}

    @classmethod
    def restored(cls, state: dict[str, Any], width: int) -> Self:
        """Return what a state was taken from, with room for this many columns; it takes memory for those counted alone.

        >>> Frequencies.restored({"documents": 5, "columns": [1], "in": [3]}, 2).counts
        array([0, 3])
        """
        columns, counts = (np.array(state[name], np.int64) for name in ("columns", "in"))
        documents = state["documents"]
        sound = (
            type(documents) is int and 0 <= documents < 1 << 62 and columns.ndim == 1 and columns.shape == counts.shape
        )
        outside = (columns < 0) | (columns >= width) | (counts < 0) | (counts > documents) if sound else True
        if np.any(outside) or np.any(columns[1:] <= columns[:-1]):
            raise ValueError("the documents that columns were seen in are not counted as they should be")
        frequencies = cls(width)
        frequencies.documents, frequencies._few = documents, (columns, counts)
        return frequencies

    def weights(self, columns: Array, dtype: Any) -> Array:
        """Return the weights of columns."""
        seen = self._of(columns).astype(dtype) + np.ones(1, dtype)
        return np.log(np.dtype(dtype).type(1 + self.documents) / seen) + np.ones(1, dtype)

    def _of(self, columns: Array) -> Array:
        """Return the documents of some columns."""
        few, counts = self._few
        if self._counts is not None:
            return np.asarray(self._counts[columns])
        if not len(few):
            return np.zeros(len(columns), np.int64)
        place = np.minimum(np.searchsorted(few, columns), len(few) - 1)
        return np.where(few[place] == columns, counts[place], 0)

    def weigh(self, indptr: Array, indices: Array, values: Array, unit: bool) -> None:
        """Multiply the values of rows by the weights of their columns; those of unit rows have length 1 then."""
        values *= self.weights(indices, values.dtype)
        if unit:
            to_unit(indptr, values)
