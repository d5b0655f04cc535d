"""All monomials up to a degree: how many there are, which column each has, and their values.

Columns are numbered as scikit-learn's PolynomialFeatures numbers them: by degree, then in the order of the factors,
(0,) (1,) ... (0, 0) (0, 1) ... (1, 1) ...
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from linsep.core.arrays import Array
from linsep.maps.expansion import expand
from linsep.maps.rows import csr_like, index_type, is_sparse
from linsep.maps.terms import Term

AT_ONCE = 1 << 16
"""Products that are written in one go, to memory that is still at hand when they are copied to their place."""

MOST = np.iinfo(np.int64).max
BYTES = 16
"""What an entry takes, at most."""
MOST_OF_A_ROW = 1 << 31
"""Products of one row: 16 GB as float64."""


@dataclass(frozen=True)
class Monomials:
    """The monomials of `width` columns, of degree `low` to `high`; `repeats` allows a factor more than once.

    >>> list(Monomials(3, 2, 2, constant=True, repeats=False))
    [(), (0, 1), (0, 2), (1, 2)]
    """

    width: int
    low: int
    high: int
    constant: bool
    repeats: bool

    def count(self, symbols: int, degree: int) -> int:
        """Return the number of monomials of a degree that have some columns only."""
        return math.comb(symbols + degree - 1, degree) if self.repeats and symbols else math.comb(symbols, degree)

    @cached_property
    def ends(self) -> list[int]:
        """For each degree the column after its last one, -1 where there are none."""
        ends = [1 if self.constant else -1] + [-1] * self.high
        end = int(self.constant)
        for degree in range(max(1, self.low), self.high + 1):
            end += self.count(self.width, degree)
            ends[degree] = end
            if end > MOST:
                cure = "lower the degree, or hash X to fewer columns"
                raise ValueError(f"{self.width:,} columns have 2^63 products up to degree {degree}, too many: {cure}")
        return ends

    @property
    def columns(self) -> int:
        """The columns of the result."""
        return max(self.ends)

    def __iter__(self) -> Iterator[Term]:
        choose = combinations_with_replacement if self.repeats else combinations
        for degree, end in enumerate(self.ends):
            if end >= 0:
                yield from choose(range(self.width), degree)

    def term(self, column: int) -> Term:
        """Return the monomial of one column."""
        degree, end = next((m, end) for m, end in enumerate(self.ends) if column < end)
        found: list[int] = []
        lowest, beyond = 0, end - column
        for left in range(degree, 0, -1):
            low, high = lowest, self.width - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if self.count(self.width - middle, left) >= beyond else (low, middle - 1)
            found.append(low)
            lowest = low if self.repeats else low + 1
            beyond -= self.count(self.width - low, left) - self.count(self.width - lowest, left - 1)
        return tuple(found)

    def of(self, X: Any) -> Any:
        """Return the monomials of each row."""
        return self._of_sparse(X) if is_sparse(X) else self._of_dense(X)

    def _of_dense(self, X: Array) -> Array:
        n, width = X.shape
        if self.columns > MOST_OF_A_ROW:
            raise ValueError(
                f"degree={self.high} makes {self.columns:,} columns of {width:,}, too many for a dense row "
                f"({MOST_OF_A_ROW:,} at most): lower the degree, or give sparse rows with few entries"
            )
        result = np.empty((n, self.columns), X.dtype)
        step = max(1, AT_ONCE // self.columns)
        columns, bounds = np.tile(np.arange(width), step), np.arange(step + 1) * width
        no_room = np.empty(0, np.int64)
        for start in range(0, n, step):
            rows, new = X[start : start + step], result[start : start + step]
            self._expand(rows.ravel(), columns, bounds[: len(rows) + 1], new.reshape(-1), no_room)
        return result

    def _of_sparse(self, X: Any) -> Any:
        indptr = self._row_ends(np.diff(X.indptr))
        values = np.empty(indptr[-1], X.dtype)
        indices = np.empty(indptr[-1], index_type(self.columns, len(values)))
        start = 0
        while start < X.shape[0]:
            stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + AT_ONCE, side="right")) - 1)
            old, new = slice(X.indptr[start], X.indptr[stop]), slice(indptr[start], indptr[stop])
            bounds = X.indptr[start : stop + 1] - old.start
            self._expand(X.data[old], X.indices[old], bounds, values[new], indices[new])
            start = stop
        return csr_like(X, values, indices, indptr, self.columns)

    def _row_ends(self, lengths: Array) -> Array:
        """Return where rows with so many entries begin and end in the result."""
        distinct, place = np.unique(lengths, return_inverse=True)
        made = [sum(self.count(k, m) for m, end in enumerate(self.ends) if end >= 0) for k in distinct.tolist()]
        if made and made[-1] > min(MOST_OF_A_ROW, MOST // BYTES // len(lengths)):
            row = int(np.argmax(lengths))
            raise ValueError(f"row {row} has {lengths[row]:,} entries, {made[-1]:,} products: lower the degree")
        return np.append(0, np.cumsum(np.array(made, np.int64)[place]))

    def _expand(self, values: Array, columns: Array, indptr: Array, products: Array, numbers: Array) -> None:
        """Write the products of some rows, computed in float64, and their columns unless there is no room for them."""
        whole = [part.astype(np.int64, copy=False) for part in (columns, indptr, np.array(self.ends))]
        columns, indptr, ends = map(_frozen, whole)
        values = _frozen(values.astype(np.float64, copy=False))
        wide = _room_like(products, np.float64), _room_like(numbers, np.int64)
        expand(values, columns, indptr, self.width, ends, self.repeats, *wide)
        for narrow, result in zip((products, numbers), wide, strict=True):
            if result is not narrow:
                narrow[:] = result


def _room_like(array: Array, dtype: Any) -> Array:
    """Return the array itself if it has this type, else room for as many numbers of it."""
    return array if array.dtype == dtype else np.empty(array.shape, dtype)


def _frozen(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
