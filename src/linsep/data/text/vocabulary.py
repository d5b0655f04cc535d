"""Names to numbers, in the order in which they are first seen, compiled.

A table of slots (open addressing, at most half full) holds the hash of a name and its number; where the hash is the
same, the bytes decide.
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Self

import numpy as np

from linsep.data.digest import data_digest
from linsep.data.rows import Spelling
from linsep.data.text.hashing import FOUR, SPARE, murmur
from linsep.data.text.utf8 import ONE, THREE, ZERO
from linsep.data.text.vectors import four_bytes
from linsep.engine.arrays import Array
from linsep.engine.multimethods import inlined
from linsep.engine.passes import Kernel, compiled

HALF, FULL = np.uint64(32), np.uint64((1 << 32) - 1)
MOST_NAMES = (1 << 31) - 1
NAMES, SLOTTED = 0, 1
"""What is counted: the names, and those of them that have a slot."""


@inlined
def _same(text: Any, begin: Any, letters: Any, at: Any, size: Any) -> bool:
    """Tell whether `size` bytes of a text and of the letters are the same; both have SPARE bytes more."""
    k = ZERO
    while k + FOUR <= size:
        if four_bytes(text, begin + k) != four_bytes(letters, at + k):
            return False
        k += FOUR
    differ = four_bytes(text, begin + k) ^ four_bytes(letters, at + k)
    return np.uint64(differ) & ((ONE << ((size - k) << THREE)) - ONE) == ZERO


@inlined
def _number(
    text: Any, begins: Any, ends: Any, first: Any, grow: bool,
    slots: Any, hashes: Any, marks: Any, letters: Any, counts: Any, ids: Any,
) -> Any:  # fmt: skip
    """Number the names text[begins[i]:ends[i]] from the first on until there is no room; return where to go on.

    Name i is letters[marks[i]:marks[i + 1]]; its slot, at the place of its hash or later, holds the hash, then i + 1.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(counts[SLOTTED], counts[NAMES]):
        place = np.uint64(hashes[i]) & mask
        while slots[place]:
            place = (place + ONE) & mask
        slots[place] = np.uint64(hashes[i]) << HALF | np.uint64(i + 1)
        counts[SLOTTED] += 1
    for i in range(first, begins.shape[0]):
        begin, size = np.uint64(begins[i]), np.uint64(ends[i] - begins[i])
        h = np.uint64(murmur(text, begin, begin + size, 0))
        place = h & mask
        entry = slots[place]
        while entry:
            if entry >> HALF == h:
                name = (entry & FULL) - ONE
                at = np.uint64(marks[name])
                if np.uint64(marks[name + ONE]) - at == size and _same(text, begin, letters, at, size):
                    break
            place = (place + ONE) & mask
            entry = slots[place]
        if entry == ZERO and grow:
            n = counts[NAMES]
            at = np.uint64(marks[n])
            if n == hashes.shape[0] or at + size + np.uint64(SPARE) > np.uint64(letters.shape[0]):
                return i
            for k in range(size):
                letters[at + k] = text[begin + k]
            hashes[n], marks[n + 1] = h, at + size
            entry = h << HALF | np.uint64(n + 1)
            slots[place] = entry
            counts[:] = n + 1
        ids[i] = np.int64(entry & FULL) - 1
    return begins.shape[0]


@cache
def _numberer() -> Kernel:
    digest = data_digest()

    def kernel(
        text: Array, begins: Array, ends: Array, first: int, grow: bool,
        slots: Array, hashes: Array, marks: Array, letters: Array, counts: Array, ids: Array,
    ) -> Any:  # fmt: skip
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return _number(text, begins, ends, first, grow, slots, hashes, marks, letters, counts, ids)

    return compiled(kernel, digest)


def frozen(array: Array, dtype: Any) -> Array:
    """Return an array that can't be written to: numba compiles anew for those that can."""
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
        self._slots, self._hashes = np.zeros(1 << 11, np.uint64), np.empty(1 << 10, np.uint32)
        self._marks, self._letters = np.zeros((1 << 10) + 1, np.int64), np.empty(1 << 14, np.uint8)
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
            first = _numberer()(
                text, begins, ends, first, bool(grow),
                self._slots, self._hashes, self._marks, self._letters, self._counts, ids,
            )  # fmt: skip
            if first < len(begins):
                self._make_room(int(ends[first] - begins[first]))
        return ids

    def take(self, spelling: Spelling, grow: bool = True) -> Array:
        """Return the numbers of names that another vocabulary spells, or that stand one after the other."""
        return self.number(spelling.letters, spelling.marks[:-1], spelling.marks[1:], grow)

    def _make_room(self, size: int) -> None:
        """Make room for another name of this size, and many more; the kernel gives all names their slots again."""
        needed = int(self._marks[len(self)]) + size + SPARE
        if needed > len(self._letters):
            self._letters = _longer(self._letters, max(2 * len(self._letters), needed))
        if len(self) == len(self._hashes):
            room = min(2 * len(self), MOST_NAMES)
            if room == len(self):
                raise ValueError("there are 2³¹ names or more: hash them instead")
            self._slots, self._counts[SLOTTED] = np.zeros(2 * len(self._slots), np.uint64), 0
            self._hashes, self._marks = _longer(self._hashes, room), _longer(self._marks, room + 1)

    @property
    def spelling(self) -> Spelling:
        """The names, one after the other."""
        marks = self._marks[: len(self) + 1]
        return Spelling(frozen(self._letters[: marks[-1]], np.uint8), frozen(marks, np.int64))

    @property
    def hashes(self) -> Array:
        """The 32-bit hash of every name."""
        return frozen(self._hashes[: len(self)], np.uint32)

    def name(self, number: int) -> str:
        """Return the name of a number."""
        if not 0 <= number < len(self):
            raise IndexError(f"there is no name {number:,}: there are {len(self):,}")
        letters = self._letters[self._marks[number] : self._marks[number + 1]]
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


def _longer(array: Array, size: int) -> Array:
    """Return a copy of an array with room for more."""
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
