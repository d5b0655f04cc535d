"""Names of columns, each spelled out when it is asked for: by number, or by hash, where several may share a column."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linsep.data.rows import Spelling
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array


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


class TableNames(LazyNames):
    """Names of numbers, then of the hashed n-grams of a column of documents, then of words.

    Words that are hashed are given by how many columns they have. What is hashed has the names that were seen, if these
    are kept, joined where they collide; an n-gram `text#` and its number else, and a word `#` and its column.

    >>> names = TableNames(["age"], "review", 1000, ["city=Oslo"])
    >>> names[0], names[1], names[1000], names[1001], len(names)
    ('age', 'review#0', 'review#999', 'city=Oslo', 1002)
    """

    def __init__(
        self, numbers: Sequence[str], text: str | None, text_features: int, words: Sequence[str] | int,
        seen: HashedNames | None = None,
    ) -> None:  # fmt: skip
        self.numbers, self.text, self.words, self.seen = numbers, text, words, seen
        self.first_word = len(numbers) + (0 if text is None else text_features)
        self.hashed = self.first_word > len(numbers) or isinstance(words, int)

    def __len__(self) -> int:
        return self.first_word + (self.words if isinstance(self.words, int) else len(self.words))

    def __iter__(self) -> Iterator[str]:
        kept = frozenset() if self.seen is None else self.seen.columns()
        return (self.name(column) if column in kept else self._plain(column) for column in range(len(self)))

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return " / ".join(self.of(column)) or self._plain(column)

    def of(self, column: int) -> list[str]:
        """Return the names of a hashed column that were seen, in the order in which they were."""
        return [] if self.seen is None else self.seen.of(column)

    @property
    def collisions(self) -> int:
        """How many columns have more than one name."""
        return 0 if self.seen is None else self.seen.collisions

    def _plain(self, column: int) -> str:
        """Return the name of a column, if it is hashed and none was seen."""
        if column < len(self.numbers):
            return self.numbers[column]
        if column < self.first_word:
            return f"{self.text}#{column - len(self.numbers)}"
        return f"#{column}" if isinstance(self.words, int) else self.words[column - self.first_word]


class Names:
    """The n-grams seen, each once, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._seen = Vocabulary()

    def __len__(self) -> int:
        return len(self._seen)

    def take(self, spelling: Spelling) -> None:
        """Keep n-grams."""
        self._seen.take(spelling)

    def columns(self, n_features: int) -> Array:
        """Return the column of every name."""
        return self._seen.hashed_columns(n_features)[0]

    def of(self, column: int, n_features: int) -> list[str]:
        """Return the names of a column."""
        return [self._seen.name(i) for i in np.flatnonzero(self.columns(n_features) == column).tolist()]

    def collisions(self, n_features: int) -> int:
        """Return how many columns have more than one name."""
        return int(np.count_nonzero(np.unique(self.columns(n_features), return_counts=True)[1] > 1))
