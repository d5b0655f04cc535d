"""Names of columns: vocabularies, names spelled when asked for, and formats whose columns have names."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from linsep.data.compiled.names import NAMES, SLOTTED, SPARE, number_names, table_for
from linsep.data.format import LineFormat, RowErrors, flag, whole
from linsep.data.rows import Rows, Spelling
from linsep.engine import arrays
from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError, ParameterError

MOST_NAMES = (1 << 31) - 1

LATE = "the row has a new name: the data have changed since the first scan"


def frozen(array: Array, dtype: Any) -> Array:
    """Return an array that can't be written to: numba compiles again for those that can."""
    return arrays.frozen(np.ascontiguousarray(array, dtype))


class Vocabulary:
    """Names, as bytes, and their numbers in the order in which they were first seen.

    Threads may ask for numbers at the same time as long as none lets it grow.

    >>> vocabulary = Vocabulary.of(["rose", "is"])
    >>> text = np.frombuffer(b"is a rose", np.uint8)
    >>> vocabulary.number(text, np.array([0, 3, 5]), np.array([2, 4, 9]))
    array([1, 2, 0], dtype=int32)
    >>> vocabulary.names()
    ['rose', 'is', 'a']
    """

    def __init__(self) -> None:
        self._table = table_for(1 << 10, 1 << 14)
        self._counts = np.zeros(2, np.int64)

    @classmethod
    def of(cls, names: Sequence[str]) -> Self:
        """Return a vocabulary of these names; none may be there twice."""
        encoded = [name.encode("utf-8", "surrogateescape") for name in names]
        marks = np.cumsum([0, *map(len, encoded)])
        new = cls()
        ids = new.take(Spelling(np.frombuffer(b"".join(encoded), np.uint8), marks))
        if len(new) < len(names):
            twice = int(np.argmax(ids != np.arange(len(ids))))
            raise ValueError(f"name {twice:,}, {names[twice]!a}, is the same as name {ids[twice]:,}")
        return new

    def __len__(self) -> int:
        return int(self._counts[NAMES])

    def number(self, text: Array, begins: Array, ends: Array, grow: bool = True) -> Array:
        """Return the numbers of the names text[begins[i]:ends[i]]; new ones are added or, unless it may grow, -1."""
        if ends.max(initial=0) + SPARE > len(text):
            text = np.concatenate([text, np.zeros(SPARE, np.uint8)])
        text, begins, ends = frozen(text, np.uint8), frozen(begins, np.int64), frozen(ends, np.int64)
        ids = np.empty(len(begins), np.int32)
        first = 0
        while first < len(begins):
            first = number_names(text, begins, ends, first, bool(grow), *self._table, self._counts, ids)
            if first < len(begins):
                self._make_room(int(ends[first] - begins[first]))
        return ids

    def take(self, spelling: Spelling, grow: bool = True) -> Array:
        """Return the numbers of names that another vocabulary spells, or that stand one after the other."""
        return self.number(spelling.letters, spelling.marks[:-1], spelling.marks[1:], grow)

    def _make_room(self, size: int) -> None:
        """Make room for another name of this size, and many more; the kernel enters all names into the slots again."""
        names, letters = len(self._table.hashes), len(self._table.letters)
        needed = int(self._table.marks[len(self)]) + size + SPARE
        if needed > letters:
            letters = max(2 * letters, needed)
        if len(self) == names:
            names = min(2 * names, MOST_NAMES)
            if names == len(self):
                raise InvalidDataError("there are 2³¹ names or more: hash them instead")
        self._table, self._counts[SLOTTED] = table_for(names, letters, self._table), 0

    @property
    def spelling(self) -> Spelling:
        """The names, one after the other."""
        marks = self._table.marks[: len(self) + 1]
        return Spelling(frozen(self._table.letters[: marks[-1]], np.uint8), frozen(marks, np.int64))

    @property
    def hashes(self) -> Array:
        """The 32-bit hash of every name."""
        return frozen(self._table.hashes[: len(self)], np.uint32)

    def hashed_columns(self, n_features: int) -> tuple[Array, Array]:
        """Return the columns that names are hashed to, and their signs.

        >>> Vocabulary.of(["no", "yes"]).hashed_columns(1 << 20)
        (array([992878, 369542]), array([ 1, -1]))
        """
        hashes = self.hashes.view(np.int32).astype(np.int64)
        return np.abs(hashes) % n_features, np.where(hashes < 0, -1, 1)

    def name(self, number: int) -> str:
        """Return the name of a number."""
        if not 0 <= number < len(self):
            raise IndexError(f"there is no name {number:,}: there are {len(self):,}")
        letters = self._table.letters[self._table.marks[number] : self._table.marks[number + 1]]
        return letters.tobytes().decode("utf-8", "surrogateescape")

    def names(self) -> list[str]:
        """Return all names in order."""
        letters, marks = self.spelling
        whole = letters.tobytes()
        return [whole[begin:end].decode("utf-8", "surrogateescape") for begin, end in pairwise(marks.tolist())]

    def __getstate__(self) -> tuple[Array, Array]:
        letters, marks = self.spelling
        return letters.copy(), marks.copy()

    def __setstate__(self, state: tuple[Array, Array]) -> None:
        self.__init__()  # type: ignore[misc]
        self.take(Spelling(*state))


class LazyNames(Sequence[str]):
    """Names that are spelled when asked for; a subclass has their number and spells each."""

    hashed = False
    """True if there are as many columns as hash values, most of them never seen."""

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
        """Return the number of columns with more than one name."""
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
        """Return the number of columns with more than one name."""
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


@dataclass
class NamedFormat(LineFormat):
    r"""A form whose columns have names.

    A subclass parses: to rows with `names` that are numbered for a block if there is a vocabulary, to rows with
    `names` and `name_columns` if it `keeps` those, and else to hashed rows.

    Parameters
    ----------
    n_features : int, optional
        The number of columns that names are hashed to.
    vocabulary : bool, default=False
        If True, names get columns of their own instead, numbered in the order in which they first occur.
    keep_names : bool, default=False
        If True, keep the hashed names, so that `feature_names` can name each column.

    >>> from linsep.data.vw import Vw
    >>> form = Vw(vocabulary=True)
    >>> rows, wrong = form.take(form.parse(np.frombuffer(b"1 |a x y\n1 |a z x\n", np.uint8), np.float64))
    >>> rows.indices, list(form.feature_names)
    (array([0, 1, 0, 2], dtype=int32), ['a^x', 'a^y', 'a^z'])
    """

    default_features: ClassVar[int]
    least_features: ClassVar[int] = 1
    hashed_names: ClassVar[type[HashedNames]] = HashedNames
    numbered_names: ClassVar[type[VocabularyNames]] = VocabularyNames

    shares_names: ClassVar[bool] = False
    """True if the names are those of another format, which has seen all of them."""
    n_features: int | None = None
    vocabulary: bool = False
    keep_names: bool = False
    looked: bool = field(default=False, init=False, repr=False)
    """True if all rows have been seen, so that there are no other names."""
    grows: bool = field(default=False, init=False, repr=False)
    """True if the number of features is that of the finished rows."""
    high: int = field(default=-1, init=False, repr=False)
    numbers: Vocabulary = field(default_factory=Vocabulary, init=False, repr=False)
    seen: HashedNames | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("vocabulary", "keep_names"):
            setattr(self, name, flag(name, getattr(self, name)))
        if not self.vocabulary:
            n = self.default_features if self.n_features is None else self.n_features
            self.n_features = whole("n_features", n, self.least_features)
            self.seen = self.hashed_names(self.n_features) if self.keep_names else None
        elif self.n_features is not None or self.keep_names:
            raise ParameterError("with vocabulary=True every name has a column: leave out n_features and keep_names")

    @property
    def settled(self) -> bool:
        """Return whether the number of features is known, or may grow."""
        return not self.vocabulary or self.looked or self.grows

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        if self.n_features is not None:
            return self.n_features
        return self.high + 1 if self.grows else len(self.numbers)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, each spelled out when it is asked for."""
        return self.numbered_names(self.numbers, self.width) if self.vocabulary else self.seen

    @property
    def keeps(self) -> bool:
        """Return whether the names of hashed columns are kept; with `like=`, the names of the other data hold."""
        return self.keep_names and self.known is None

    def read_once(self) -> None:
        """Let the features grow in number, unless they are those of earlier data."""
        if self.known is None:
            self.grows = self.vocabulary

    def for_part(self) -> Self:
        """Return a copy that counts for itself; where all names are known, the copy adds none."""
        form = super().for_part()
        vars(form)["shares_names"] = self.looked
        return form

    def take(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Keep the names; number the columns by those of all rows so far, instead of this block's."""
        if rows.names is None:
            return rows, {}
        if self.vocabulary:
            return self._number(rows)
        assert self.seen is not None
        assert rows.name_columns is not None
        if not self.shares_names:
            self.seen.see(rows.names, rows.name_columns)
        return replace(rows, names=None, name_columns=None), {}

    def settle(self) -> str | None:
        """Fix how many features there are."""
        self.looked = not self.grows
        return None

    def finish(self, rows: Rows) -> Rows:
        """Count as many features as have been seen, if they grow."""
        assert rows.indices is not None
        if self.grows:
            self.high = max(self.high, int(rows.indices.max(initial=-1)))
        return rows

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other data to the same columns, ready for JSON."""
        seen = None if self.seen is None else self.seen.state()
        return super().state() | {"numbers": self.numbers.names(), "seen": seen}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        form = super().restored({name: value for name, value in state.items() if name not in ("numbers", "seen")})
        form.numbers = Vocabulary.of(state["numbers"])
        if form.seen is not None:
            form.seen.restore(state["seen"])
        return form

    def _number(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Number the columns; names that may not be new come after all others, and their rows are at fault."""
        assert rows.names is not None
        numbers = self.numbers.take(rows.names, grow=self.known is None and not self.looked)
        new, width = np.flatnonzero(numbers < 0), len(self.numbers)
        numbers[new] = width + np.arange(len(new))
        rows = rows.renumber(numbers)
        if self.known is not None or not len(new):
            return rows, {}
        assert rows.indices is not None
        late = rows.rows_of_entries(np.flatnonzero(rows.indices >= width)).tolist()
        return rows, dict.fromkeys(late, (b"", LATE))
