"""The n-grams that were seen, so that hashed columns can be read."""

from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from linsep.data.grams import Grams, murmur_in, ready
from linsep.data.utf8 import ONE, tables
from linsep.data.words import pieces, room

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def _see(
    text: Array, begins: Array, ends: Array, first: int, chars: bool, low: int, high: int,
    fold: Array, small: Array, kinds: Array, slots: Array, hashes: Array, marks: Array, letters: Array, counts: Array,
) -> int:  # fmt: skip
    """Keep the n-grams of the documents from the first on until there is no room; return the one to go on with.

    Name i is letters[marks[i]:marks[i + 1]], slots holds i + 1 from the place of its hash on. counts[0] is the names so
    far, counts[1] those of them that have a slot.
    """
    longest, mask = 0, np.uint64(slots.shape[0] - 1)
    for i in range(begins.shape[0]):
        longest = max(longest, ends[i] - begins[i])
    low_text, clean = np.empty(room(longest), np.uint8), np.empty(room(longest), np.uint8)
    starts = np.empty(room(longest), np.uint32)
    gap = np.uint64(0) if chars else ONE
    for i in range(counts[1], counts[0]):
        place = np.uint64(hashes[i]) & mask
        while slots[place]:
            place = (place + ONE) & mask
        slots[place] = i + 1
    counts[1] = counts[0]
    for i in range(first, begins.shape[0]):
        n, fault = pieces(text, begins[i], ends[i], chars, fold, small, kinds, low_text, clean, starts)
        n = n if fault < 0 else np.uint64(0)
        for length in range(low, np.int64(min(high, n)) + 1):
            for k in range(np.uint64(n) - np.uint64(length) + ONE):
                begin, end = np.uint64(starts[k]), np.uint64(starts[k + np.uint64(length)]) - gap
                h = murmur_in(clean, begin, end)
                place = np.uint64(h) & mask
                while slots[place] and not _same(clean, begin, end, h, slots[place] - 1, hashes, marks, letters):
                    place = (place + ONE) & mask
                if slots[place] == 0:
                    size, at = np.int64(end - begin), marks[counts[0]]
                    if counts[0] == hashes.shape[0] or at + size > letters.shape[0]:
                        return i
                    letters[at : at + size] = clean[begin:end]
                    hashes[counts[0]] = h
                    counts[0] += 1
                    counts[1] += 1
                    marks[counts[0]] = at + size
                    slots[place] = counts[0]
    return begins.shape[0]


@register_jitable
def _same(clean: Any, begin: Any, end: Any, h: Any, name: Any, hashes: Any, marks: Any, letters: Any) -> bool:
    """Tell whether clean[begin:end], of hash h, is a name that is kept."""
    at = marks[name]
    if hashes[name] != h or marks[name + 1] - at != np.int64(end - begin):
        return False
    return np.array_equal(clean[begin:end], letters[at : marks[name + 1]])


class Names:
    """The n-grams seen, each once, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._slots, self._hashes = np.zeros(1 << 11, np.int64), np.empty(1 << 10, np.uint32)
        self._marks, self._letters = np.zeros((1 << 10) + 1, np.int64), np.empty(1 << 14, np.uint8)
        self._counts = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self._counts[0])

    def see(self, text: Array, begins: Array, ends: Array, grams: Grams) -> None:
        """Keep the n-grams of those documents text[begins[i]:ends[i]] that are UTF-8."""
        text, begins, ends = ready(text, begins, ends, grams.lowercase)
        first = 0
        while True:
            first = _see(
                text, begins, ends, first, *grams[:3], *tables(grams.lowercase),
                self._slots, self._hashes, self._marks, self._letters, self._counts,
            )  # fmt: skip
            if first == len(begins):
                return
            self._grow()

    def _grow(self) -> None:
        """Make room for twice as many names; they find their slots again in the next pass."""
        self._slots, self._counts[1] = np.zeros(2 * len(self._slots), np.int64), 0
        self._hashes = np.concatenate([self._hashes, np.empty_like(self._hashes)])
        self._marks = np.concatenate([self._marks, np.empty_like(self._marks[1:])])
        self._letters = np.concatenate([self._letters, np.empty_like(self._letters)])

    def columns(self, n_features: int) -> Array:
        """Return the column of every name."""
        return np.abs(self._hashes[: len(self)].view(np.int32).astype(np.int64)) % n_features

    def of(self, column: int, n_features: int) -> list[str]:
        """Return the names of a column."""
        found = np.flatnonzero(self.columns(n_features) == column)
        return [self._letters[self._marks[i] : self._marks[i + 1]].tobytes().decode() for i in found]

    def collisions(self, n_features: int) -> int:
        """Return how many columns have more than one name."""
        return int(np.count_nonzero(np.unique(self.columns(n_features), return_counts=True)[1] > 1))
