"""How rare an n-gram is among documents, as a weight."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linsep.data.text.grams import to_unit

Array = NDArray[Any]


class Frequencies:
    """In how many documents each column was seen: what is rare weighs more, ln((1 + n) / (1 + its documents)) + 1.

    >>> frequencies = Frequencies(3)
    >>> frequencies.see(documents=2, columns=np.array([0, 1, 0]))
    >>> frequencies.weights(np.array([0, 1, 2]), np.float64).round(3)
    array([1.   , 1.405, 2.099])
    """

    def __init__(self, width: int = 0) -> None:
        self.documents = 0
        self.counts = np.zeros(width, np.int64)

    def widen(self, width: int) -> None:
        """Make room for this many columns, or more."""
        if width > len(self.counts):
            more = max(width, 2 * len(self.counts)) - len(self.counts)
            self.counts = np.concatenate([self.counts, np.zeros(more, np.int64)])

    def see(self, documents: int, columns: Array, times: Any = 1) -> None:
        """Count documents: each of the columns was in one of them, or in as many as `times` says."""
        self.documents += documents
        np.add.at(self.counts, columns, times)

    def state(self) -> dict[str, Any]:
        """Return what was counted, ready for JSON."""
        columns = np.flatnonzero(self.counts)
        return {"documents": self.documents, "columns": columns.tolist(), "in": self.counts[columns].tolist()}

    @classmethod
    def restored(cls, state: dict[str, Any], width: int) -> Self:
        """Return what a state was taken from, with room for this many columns.

        >>> Frequencies.restored({"documents": 5, "columns": [1], "in": [3]}, 2).counts
        array([0, 3])
        """
        frequencies = cls(width)
        frequencies.see(state["documents"], np.array(state["columns"], np.int64), state["in"])
        return frequencies

    def weights(self, columns: Array, dtype: Any) -> Array:
        """Return the weights of columns."""
        seen = self.counts[columns].astype(dtype) + np.ones(1, dtype)
        return np.log(np.dtype(dtype).type(1 + self.documents) / seen) + np.ones(1, dtype)

    def weigh(self, indptr: Array, indices: Array, values: Array, unit: bool) -> None:
        """Multiply the values of rows by the weights of their columns; those of unit rows have length 1 then."""
        values *= self.weights(indices, values.dtype)
        if unit:
            to_unit(indptr, values)
