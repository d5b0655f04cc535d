"""Weights of a trained model that are mostly zero: store and score the nonzero rows only."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.links import EXPONENTIAL, Additive, Imaged
from linsep.engine.readouts import Average
from linsep.training.single_rows import RowPredictor, refuse_unequal
from linsep.training.state import TrainingState, scored

AT_ONCE = 1 << 16
"""Indices that are looked up in one go, so that what is computed on the way stays in the cache."""
LARGE, SPARSE = 1 << 26, 64
"""Of more columns than this, and more than so many times those kept, there is no table: it would be mostly empty."""
BY_FEATURE = ("s", "image", "u")
"""Arrays that have a row for each feature, and one more for the bias."""
READ = {f.name for f in fields(TrainingState)} - {"link", "readout", "_answer"} | {"columns", "errors", "record"}
"""What of a state is told as it stands: all that has nothing to do with features."""


@dataclass
class Columns:
    """Some of many columns: which they are, and where among them a column is.

    A bit for each column, and for each 64 the number of bits before: 3/16 of a byte a column. Looking columns up is
    as fast as in a table of them all, and eight times as fast as a binary search among 50,000: which it is where so few
    of so many are kept that the bits would take far more memory than these.

    >>> Columns(np.array([2, 70, 71]), 100).places(np.array([71, 0, 2, 100, -1])).tolist()  # 3 kept: 3 is none, 4 wrong
    [2, 3, 0, 4, 4]
    """

    kept: Array
    features: int

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """The bits, and how many are set before those of each word; made when first asked for."""
        bits = np.zeros(max(1, -(-self.features // 64)), np.uint64)
        np.bitwise_or.at(bits, self.kept >> 6, np.uint64(1) << (self.kept & 63).astype(np.uint64))
        counts = np.bitwise_count(bits).astype(np.int32)
        return bits, np.cumsum(counts, dtype=np.int32) - counts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kept, self.features)

    def places(self, indices: Array) -> Array:
        """Return where among those kept each column is; after the last if it is not, one more if there is no such."""
        places = np.empty_like(indices)
        none, search = len(self.kept), self._searched if self._sparse else self._looked_up
        for start in range(0, len(indices), AT_ONCE):
            piece = indices[start : start + AT_ONCE]
            known = (piece >= 0) & (piece < self.features)
            places[start : start + AT_ONCE] = np.where(known, search(piece), none + 1)
        return places

    @property
    def _sparse(self) -> bool:
        return self.features > max(LARGE, SPARSE * len(self.kept))

    def _looked_up(self, piece: Array) -> Array:
        one, (table, before) = np.uint64(1), self.table
        word = np.minimum(piece.view(f"u{piece.itemsize}") >> 6, len(table) - 1)
        bits, bit = table[word], (piece & 63).astype(np.uint64)
        place = before[word] + np.bitwise_count(bits & ((one << bit) - one))
        return np.where((bits >> bit) & one, place, len(self.kept))

    def _searched(self, piece: Array) -> Array:
        if not len(self.kept):
            return np.zeros(len(piece), np.intp)
        place = np.searchsorted(self.kept, piece)
        found = self.kept[np.minimum(place, len(self.kept) - 1)] == piece
        return np.where(found, place, len(self.kept))


@dataclass
class SparseState:
    """A state that is asked only: with the weights of some features, all others being zero.

    Its answers are those of the whole state to the bit: entries of a row stay in order, and those of other features
    meet a row of zeros. Its `link` and `readout` are the whole ones, made anew each time.
    """

    part: TrainingState
    where: Columns
    answering: Any
    divisor: Array
    wanted: bool = True
    """Whether it was asked for, by `sparsify`; else nobody sees it, but in the time and memory that it takes."""

    @classmethod
    def of(cls, state: TrainingState) -> "SparseState":
        """Return the state without the rows of zeros."""
        link = state.link
        if isinstance(link, Imaged) and link.form == EXPONENTIAL:
            raise ValueError("the weights are exponentials, of which none is 0: there is nothing to leave out")
        answer, divisor = state.answer()
        kept = rows_that_matter(state)
        rows = np.append(kept, len(link.s) - 1)
        part = replace(
            state, link=_rows(link, rows), readout=_rows(state.readout, rows), watch=None, _answer=None
        )  # fmt: skip
        return cls(part, Columns(kept, state.features), _with_zeros(_rows(answer, rows)), divisor)

    @classmethod
    def stored(cls, part: TrainingState, kept: Array, features: int, wanted: bool) -> "SparseState":
        """Return what was stored of a state of additive or scaled weights, each of which answers on its own."""
        answer, divisor = part.answer()
        return cls(replace(part, _answer=None), Columns(kept, features), _with_zeros(answer), divisor, wanted)

    def __getattr__(self, name: str) -> Any:
        if name in READ and "part" in vars(self):
            return getattr(self.part, name)
        raise AttributeError(f"a machine without its zeros has no {name!r}: densify first")

    @property
    def features(self) -> int:
        """The number of features, those left out included."""
        return self.where.features

    @property
    def link(self) -> Any:
        """The whole weights."""
        return self._whole(self.part.link)

    @property
    def readout(self) -> Any:
        """What the whole weights' readout keeps."""
        return self._whole(self.part.readout)

    def copy(self) -> TrainingState:
        """Return the whole state, sharing no memory with this one."""
        part = self.part.copy()
        return replace(part, link=self._whole(part.link), readout=self._whole(part.readout))

    def weights(self) -> Array:
        """Return the weights that answer, normalised: of the features kept, and of the bias."""
        link = self.answering
        weights: Array = (link.s if isinstance(link, Additive) else link.image) / self.divisor
        return np.delete(weights, len(self.where.kept), axis=0)

    def scores(self, data: Dense | Csr, jobs: int) -> Array:
        """Return the normalised scores of all rows, (rows, columns)."""
        link = self.answering
        if isinstance(data, Csr):
            indices = frozen(self.where.places(data.indices))
            data = data._replace(indices=indices, features=len(self.where.kept) + 1)
        else:  # one of these rows takes as much memory as a column of the whole weights
            link = self._whole(_rows(link, np.delete(np.arange(len(link.s)), len(self.where.kept))))
        return scored(link, self.divisor, data, self.part.pair, jobs)

    def reading(self, features: int) -> "SparseState":
        """Return this state: it has all features of the learner."""
        return self

    def asked(self) -> TrainingState:
        """Return the state of the features kept and one of zeros, with the answers of the whole."""
        parts = {"link": _with_zeros(self.part.link), "readout": _with_zeros(self.part.readout)}
        state = replace(self.part, **parts, _answer=None)
        key = int(state.tally.rounds[0]), state.rows, state.features
        return replace(state, _answer=(key, (self.answering, self.divisor)))

    def _whole(self, part: Any) -> Any:
        """Return a link or readout with rows for all features."""

        def spread(few: Array) -> Array:
            whole = np.zeros((self.features + 1, few.shape[1]))
            whole[self.where.kept], whole[-1] = few[:-1], few[-1]
            return whole

        return _by_feature(part, spread)


class SparseRowPredictor(RowPredictor):
    """The answer to a single row, by the weights of the features kept."""

    def __init__(self, state: SparseState, bias: float, labels: Array, names: dict[str, int] | None) -> None:
        super().__init__(state.asked(), bias, labels, names)
        self.where = state.where

    def fits(self, x: tuple[Any, ...]) -> bool:
        """Tell that no row is taken as it is: its columns have to be looked up."""
        return False

    def answer(self, indices: Array, values: Array) -> Any:
        """Return the label of the row; features outside of the learner's count as 0."""
        refuse_unequal(indices, values)
        return super().answer(self.where.places(indices.astype(np.int64)), values)


def whole(state: Any) -> TrainingState:
    """Return a state with the weights of all features, the one given if it has them."""
    return state.copy() if isinstance(state, SparseState) else state


def compacted(state: Any) -> Any:
    """Return a state without its rows of zeros, in which nothing else looks different."""
    return replace(state, wanted=True) if isinstance(state, SparseState) else SparseState.of(state)


def is_compact(state: Any) -> bool:
    """Tell whether a state was asked to do without its rows of zeros."""
    return isinstance(state, SparseState) and state.wanted


def rows_that_matter(state: TrainingState) -> Array:
    """Return the features of which any weight, or what its average is made of, is not zero."""
    matter = _any_bit(state.link.s)
    if isinstance(state.readout, Average):
        matter |= _any_bit(state.readout.u)
    return np.flatnonzero(matter[:-1])


def kept_of(state: Any) -> int:
    """Return how many features a state keeps weights of."""
    return len(state.where.kept) if is_compact(state) else int(state.features)


def rows_of_coef(state: Any, weights: Array) -> Any:
    """Return weights of the features that a state has, (classes, features), as users see them."""
    if not isinstance(state, SparseState):
        return weights
    if not state.wanted:
        dense = np.zeros((len(weights), state.features))
        dense[:, state.where.kept] = weights
        return dense
    row, place = np.nonzero(weights)
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=len(weights))))
    parts = weights[row, place], state.where.kept[place], ends
    return csr_array(parts, shape=(len(weights), state.features))


def row_predictor(
    state: TrainingState | SparseState, bias: float, labels: Array, names: dict[str, int] | None
) -> RowPredictor:
    """Return what answers single rows."""
    kind: Any = SparseRowPredictor if isinstance(state, SparseState) else RowPredictor
    predictor: RowPredictor = kind(state, bias, labels, names)
    return predictor


def _any_bit(table: Array) -> Array:
    """Tell of each row whether it has any bit set: -0.0 has."""
    return np.any(np.ascontiguousarray(table).view(np.int64), axis=1)


def _by_feature(part: Any, change: Any) -> Any:
    """Return a link or readout with `change` made to each array that has a row for each feature."""
    return part._replace(**{name: change(a) for name, a in part._asdict().items() if name in BY_FEATURE})


def _rows(part: Any, rows: Array) -> Any:
    return _by_feature(part, lambda a: a[rows])


def _with_zeros(part: Any) -> Any:
    """Return a link or readout with a row of zeros before the bias."""
    return _by_feature(part, lambda a: np.insert(a, len(a) - 1, 0.0, axis=0))
