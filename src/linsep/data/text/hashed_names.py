"""Names of columns that are spelled out when asked for: by number, or by hash, where several may share a column."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.data.rows import Rows, Spelling
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array


@dataclass(frozen=True)
class HashedRows(Rows):
    """Rows with hashed columns, whose `names` are those that occur in this part; `columns` tells the column of each."""

    columns: Array | None = None


class LazyNames(Sequence[str]):
    """Names, of which each is made when it is asked for; a subclass tells how many there are, and what each is."""

    hashed = False
    """Whether there are as many as a hash has values, most of them never seen."""

    @abstractmethod
    def name(self, column: int) -> str:
        """Return the name of a column."""

    def __getitem__(self, column: Any) -> Any:
        if isinstance(column, slice):
            return [self.name(k) for k in range(len(self))[column]]
        if not -len(self) <= column < len(self):
            raise IndexError(f"there is no column {column:,}: there are {len(self):,}")
        return self.name(column % len(self))

    def __repr__(self) -> str:
        return f"<names of {len(self):,} columns>"


class VocabularyNames(LazyNames):
    """The first names of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, count: int) -> None:
        self.vocabulary, self.length = vocabulary, count

    def __len__(self) -> int:
        return self.length

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return self.vocabulary.name(column)


class HashedNames(LazyNames):
    """The names of hashed columns: of each its own, those that collide joined, or `#` and its number if none was seen.

    >>> names = HashedNames(4)
    >>> names.see(Spelling(np.frombuffer(b"aroseis", np.uint8), np.array([0, 1, 5, 7])), np.array([3, 0, 3]))
    >>> list(names)
    ['rose', '#1', '#2', 'a / is']
    >>> names.of(3), names.collisions
    (['a', 'is'], 1)
    """

    hashed = True

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self._seen = Vocabulary()
        self._columns: list[Array] = []
        self._sorted: tuple[Array, Array] | None = None

    def __len__(self) -> int:
        return self.n_features

    def see(self, spelling: Spelling, columns: Array) -> None:
        """Keep names, which may have been seen before, and the column of each."""
        before = len(self._seen)
        ids = self._seen.take(spelling)
        news = np.flatnonzero(ids >= before)
        if len(news):
            _, firsts = np.unique(ids[news], return_index=True)
            self._columns.append(columns[news[firsts]])
            self._sorted = None

    def _by_column(self) -> tuple[Array, Array]:
        """Return the columns of all names in order, and which name each is of."""
        if self._sorted is None:
            columns = np.concatenate([np.empty(0, np.int64), *self._columns])
            names = np.argsort(columns, kind="stable")
            self._columns, self._sorted = [columns], (columns[names], names)
        return self._sorted

    def columns(self) -> frozenset[int]:
        """Return the columns that have names."""
        return frozenset(self._by_column()[0].tolist())

    def of(self, column: int) -> list[str]:
        """Return the names of a column, in the order in which they were seen."""
        columns, names = self._by_column()
        found = names[slice(*np.searchsorted(columns, [column, column + 1]))]
        return [self._seen.name(name) for name in found.tolist()]

    def __iter__(self) -> Iterator[str]:
        seen = self.columns()
        return (self.name(column) if column in seen else f"#{column}" for column in range(len(self)))

    def name(self, column: int) -> str:
        """Return the names of a column as one."""
        return " / ".join(self.of(column)) or f"#{column}"

    def state(self) -> dict[str, Any]:
        """Return the names and their columns, ready for JSON."""
        columns = np.concatenate([np.empty(0, np.int64), *self._columns])
        return {"names": self._seen.names(), "columns": columns.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Let the names be those of a state, and no others."""
        self._seen, self._sorted = Vocabulary.of(state["names"]), None
        columns = np.array(state["columns"], np.int64)
        if columns.shape != (len(self._seen),) or np.any(columns < 0):
            raise ValueError("the names of hashed columns have other columns than names")
        self._columns = [columns]

    @property
    def collisions(self) -> int:
        """How many columns have more than one name."""
        columns, _ = self._by_column()
        return int(np.count_nonzero(np.unique(columns, return_counts=True)[1] > 1))
