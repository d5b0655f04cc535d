"""Names to numbers, in the order in which they are first seen."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from linsep.data.compiled.hashing import SPARE
from linsep.data.compiled.name_table import NAMES, SLOTTED, numbering_kernel, table_for
from linsep.data.rows import Spelling
from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError

MOST_NAMES = (1 << 31) - 1


def frozen(array: Array, dtype: Any) -> Array:
    """Return an array that can't be written to: numba compiles again for those that can."""
    view = np.ascontiguousarray(array, dtype).view()
    view.flags.writeable = False
    return view


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
            first = numbering_kernel()(text, begins, ends, first, bool(grow), *self._table, self._counts, ids)
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
