"""Room for entries whose number is not known beforehand, taken from large pieces of memory.

To ask the system for memory page by page, and to copy what was used of it, takes as long as a third of the reading.
"""

from sys import getrefcount
from threading import local
from typing import Any

import numpy as np

from linsep.engine.arrays import Array

SLAB, MOST = 1 << 20, 3
"""Entries that are asked for in one go, and pieces of that size that a thread keeps."""


class Slab:
    """A piece of memory for indices and values, handed out from its beginning to its end."""

    def __init__(self, size: int, index: Any, dtype: Any) -> None:
        self.indices, self.values, self.used = np.empty(size, index), np.empty(size, dtype), 0
        self.unshared = self._shares()

    def _shares(self) -> int:
        return getrefcount(self.indices) + getrefcount(self.values)

    def fits(self, entries: int, index: Any, dtype: Any) -> bool:
        """Tell whether there is room for so many entries, after a new start if nobody holds any of it."""
        if (self.indices.dtype, self.values.dtype) != (index, dtype):
            return False
        if self._shares() == self.unshared:
            self.used = 0
        return len(self.values) - self.used >= entries


class Slabs(local):
    """Each thread's own pieces of memory; those whose entries have all been dropped are used again."""

    def __init__(self) -> None:
        self.slabs: list[Slab] = []

    def room(self, entries: int, index: Any, dtype: Any) -> tuple[Array, Array]:
        """Return arrays for so many entries, of which those that are kept must be taken before the next call."""
        found = next((slab for slab in self.slabs if slab.fits(entries, index, dtype)), None)
        if found is None:
            found = Slab(max(SLAB, entries), index, dtype)
        self.slabs = [found, *(slab for slab in self.slabs if slab is not found)][:MOST]
        return found.indices[found.used :], found.values[found.used :]

    def take(self, entries: int) -> tuple[Array, Array]:
        """Return the first entries of the room given last, which nobody else will be given."""
        slab = self.slabs[0]
        if len(slab.values) > SLAB:
            self.slabs.pop(0)
        begin, slab.used = slab.used, slab.used + entries
        return slab.indices[begin : slab.used], slab.values[begin : slab.used]
