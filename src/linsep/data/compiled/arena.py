"""Scratch memory for entries whose number is not known in advance, cut from large chunks.

Asking the system for memory page by page, and copying what was used of it, takes a third of the time of reading.
"""

from sys import getrefcount
from threading import local
from typing import Any

import numpy as np

from linsep.engine.arrays import Array

CHUNK_ENTRIES, MOST_CHUNKS = 1 << 20, 3
"""Entries of a chunk, and chunks of that size that a thread keeps."""


class Chunk:
    """A chunk of memory for indices and values, handed out from its beginning to its end."""

    def __init__(self, size: int, index: Any, dtype: Any) -> None:
        self.indices, self.values, self.used = np.empty(size, index), np.empty(size, dtype), 0
        self.unshared = self._references()

    def _references(self) -> int:
        return getrefcount(self.indices) + getrefcount(self.values)

    def fits(self, entries: int, index: Any, dtype: Any) -> bool:
        """Return whether there is room for so many entries; reuse the chunk if nobody refers to any of it."""
        if (self.indices.dtype, self.values.dtype) != (index, dtype):
            return False
        if self._references() == self.unshared:
            self.used = 0
        return len(self.values) - self.used >= entries


class ScratchArena(local):
    """Each thread's own chunks of memory; a chunk is reused when all of its entries have been dropped."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def reserve(self, entries: int, index: Any, dtype: Any) -> tuple[Array, Array]:
        """Return arrays for so many entries; call `keep` before the next call."""
        found = next((chunk for chunk in self.chunks if chunk.fits(entries, index, dtype)), None)
        if found is None:
            found = Chunk(max(CHUNK_ENTRIES, entries), index, dtype)
        self.chunks = [found, *(chunk for chunk in self.chunks if chunk is not found)][:MOST_CHUNKS]
        return found.indices[found.used :], found.values[found.used :]

    def keep(self, entries: int) -> tuple[Array, Array]:
        """Return the first entries of the arrays that were reserved last; they are handed out only once."""
        chunk = self.chunks[0]
        if len(chunk.values) > CHUNK_ENTRIES:
            self.chunks.pop(0)
        begin, chunk.used = chunk.used, chunk.used + entries
        return chunk.indices[begin : chunk.used], chunk.values[begin : chunk.used]
