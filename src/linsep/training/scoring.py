"""The weights that predict, dense or sparse, and the scores of rows under them."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense, room_for
from linsep.engine.links import Additive
from linsep.engine.passes import score_classes, score_rows
from linsep.engine.runtime import share, split
from linsep.training.weights import for_reading, mapped

AT_ONCE = 1 << 16
"""Indices that are looked up in one go, so that what is computed on the way stays in the cache."""
LARGE, SPARSE = 1 << 26, 64
"""Of more columns than this, and more than so many times those kept, there is no bitmap: it would be mostly empty."""


@dataclass
class KeptFeatures:
    """The features whose weights are kept, and the place of a column among them.

    Columns are looked up in a bitmap with the number of bits before each word: 3/16 of a byte a column, as fast as a
    table of all columns, and eight times as fast as a binary search among 50,000. The search is binary where so few of
    so many columns are kept that the bitmap would take far more memory than the kept columns.

    >>> KeptFeatures(np.array([2, 70, 71]), 100).places(np.array([71, 0, 2, 100, -1])).tolist()
    [2, 3, 0, 4, 4]
    """

    numbers: Array
    features: int

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """The bitmap, and the number of bits before each of its words."""
        bits = np.zeros(max(1, -(-self.features // 64)), np.uint64)
        np.bitwise_or.at(bits, self.numbers >> 6, np.uint64(1) << (self.numbers & 63).astype(np.uint64))
        counts = np.bitwise_count(bits).astype(np.int32)
        return bits, np.cumsum(counts, dtype=np.int32) - counts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.numbers, self.features)

    def places(self, indices: Array) -> Array:
        """Return the place of each column: n for a column that is not among the n kept, n + 1 for a wrong one."""
        places = np.empty_like(indices)
        none, search = len(self.numbers), self._searched if self._sparse else self._looked_up
        for start in range(0, len(indices), AT_ONCE):
            piece = indices[start : start + AT_ONCE]
            known = (piece >= 0) & (piece < self.features)
            places[start : start + AT_ONCE] = np.where(known, search(piece), none + 1)
        return places

    @property
    def _sparse(self) -> bool:
        return self.features > max(LARGE, SPARSE * len(self.numbers))

    def _looked_up(self, piece: Array) -> Array:
        one, (table, before) = np.uint64(1), self.table
        word = np.minimum(piece.view(f"u{piece.itemsize}") >> 6, len(table) - 1)
        bits, bit = table[word], (piece & 63).astype(np.uint64)
        place = before[word] + np.bitwise_count(bits & ((one << bit) - one))
        return np.where((bits >> bit) & one, place, len(self.numbers))

    def _searched(self, piece: Array) -> Array:
        if not len(self.numbers):
            return np.zeros(len(piece), np.intp)
        place = np.searchsorted(self.numbers, piece)
        found = self.numbers[np.minimum(place, len(self.numbers) - 1)] == piece
        return np.where(found, place, len(self.numbers))


@dataclass(frozen=True)
class Scorer:
    """The weights that predict, and the divisor of each column's scores."""

    link: Any
    divisor: Array
    pair: bool

    def weights(self) -> Array:
        """Return the normalised weights, (features + 1, columns)."""
        weights: Array = (self.link.s if isinstance(self.link, Additive) else self.link.image) / self.divisor
        return weights

    def scores(self, data: Dense | Csr, jobs: int) -> Array:
        """Return the normalised scores of all rows, (rows, columns); a score other than 0 keeps its sign."""
        n, columns = data.n_rows, self.link.s.shape[1]
        kinds: Any = type(self.link), type(data)
        out = np.empty((n, columns))
        kernel = score_rows(*kinds) if columns == 1 else score_classes(*kinds)
        how = (out.reshape(n),) if columns == 1 else (out, self.pair)
        cuts = split(n, jobs) if n else []
        weights = tuple(for_reading(self.link))
        share([partial(kernel, weights, tuple(data), room_for(data), a, b, *how) for a, b in cuts], jobs)
        if isinstance(self.link, Additive):
            return out
        whole = out / self.divisor
        lost = (whole == 0) & (out != 0)
        return np.where(lost, np.copysign(5e-324, out), whole)


@dataclass(frozen=True)
class SparseScorer(Scorer):
    """The weights of some features: rows of the features kept, a row of zeros for all others, then the bias.

    Scores are those of the dense weights to the bit: entries of a row stay in order, and those of features that are not
    kept are multiplied with zeros.
    """

    kept: KeptFeatures

    def weights(self) -> Array:
        """Return the normalised weights of the features kept, and of the bias."""
        return np.delete(super().weights(), len(self.kept.numbers), axis=0)

    def scores(self, data: Dense | Csr, jobs: int) -> Array:
        """Return the normalised scores of all rows, (rows, columns)."""
        if isinstance(data, Csr):
            indices = frozen(self.kept.places(data.indices))
            return super().scores(data._replace(indices=indices, features=len(self.kept.numbers) + 1), jobs)
        # One dense row takes as much memory as a column of the dense weights.
        link = mapped(self.link, lambda a: np.delete(a, len(a) - 2, axis=0), "rows")
        return Scorer(restore_features(link, self.kept), self.divisor, self.pair).scores(data, jobs)


def restore_features(part: Any, kept: KeptFeatures) -> Any:
    """Return a link or readout of the features kept with rows for all features: the others are zeros."""

    def change(few: Array) -> Array:
        whole = np.zeros((kept.features + 1, few.shape[1]))
        whole[kept.numbers], whole[-1] = few[:-1], few[-1]
        return whole

    return mapped(part, change, "rows")


def keep_features(part: Any, kept: Array) -> Any:
    """Return a link or readout with the rows of the features kept, and of the bias."""
    return mapped(part, lambda a: a[np.append(kept, len(a) - 1)], "rows")


def with_zero_row(part: Any) -> Any:
    """Return a link or readout with a row of zeros before the bias."""
    return mapped(part, lambda a: np.insert(a, len(a) - 1, 0.0, axis=0), "rows")


def any_bit_set(table: Array) -> Array:
    """Return for each row whether any bit of its numbers is set: of -0.0 one is."""
    return np.any(np.ascontiguousarray(table).view(np.int64), axis=1)
