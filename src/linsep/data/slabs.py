"""Room for entries whose number is not known beforehand, taken from large pieces of memory.

To ask the system for memory page by page, and to copy what was used of it, takes as long as a third of the reading.
"""

from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SLAB = 1 << 21
"""Entries that are asked for in one go."""


class Slab(local):
    """Each thread's own piece of memory for indices and values, handed out from its beginning to its end."""

    def __init__(self) -> None:
        self.indices, self.values, self.used = np.empty(0, np.int32), np.empty(0), 0

    def room(self, entries: int, index: Any, dtype: Any) -> tuple[Array, Array]:
        """Return arrays for so many entries, of which those that are kept must be taken before the next call."""
        other = (self.indices.dtype, self.values.dtype) != (index, dtype)
        if other or len(self.values) - self.used < entries:
            size = max(SLAB, entries)
            self.indices, self.values, self.used = np.empty(size, index), np.empty(size, dtype), 0
        end = self.used + entries
        return self.indices[self.used : end], self.values[self.used : end]

    def take(self, entries: int) -> tuple[Array, Array]:
        """Return the first entries of the room given last, which nobody else will be given; a large room is let go."""
        kept = slice(self.used, self.used + entries)
        taken = self.indices[kept], self.values[kept]
        self.used += entries
        if len(self.values) > SLAB:
            taken = taken[0].copy(), taken[1].copy()
            self.__init__()  # type: ignore[misc]
        return taken
