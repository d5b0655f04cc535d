"""Cache the rows of shards in a process, so that they are parsed once and not in every epoch."""

import os
from collections import deque
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

SHARE = 0.4
"""The share of the memory of a worker, or of this machine, that cached rows may take."""
OVER = 100
"""How many finished runs are remembered."""


def room() -> float:
    """Return how many bytes may be cached in this process."""
    try:
        from distributed import get_worker

        limit = get_worker().memory_manager.memory_limit
    except (ImportError, ValueError):  # there is no Dask, or this is no worker of it
        limit = None
    return SHARE * (limit or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


class RowCache:
    """Objects of several runs, cached while there is room.

    Objects of one run do not evict each other: each is used once an epoch, so the last one used is needed last.
    Objects of other runs are evicted.

    Examples
    --------
    >>> cache = RowCache(lambda: 100)
    >>> cache.keep("run", 1, "rows", 60), cache.keep("run", 2, "more", 60), cache.find("run", 1), cache.find("run", 2)
    (True, False, 'rows', None)
    """

    def __init__(self, limit: Callable[[], float] = room) -> None:
        self.limit, self._lock = limit, Lock()
        self._over: deque[Hashable] = deque(maxlen=OVER)
        self._kept: dict[tuple[Hashable, Hashable], tuple[Any, int]] = {}

    def find(self, run: Hashable, key: Hashable) -> Any:
        """Return a cached object, or None."""
        with self._lock:
            return self._kept.get((run, key), (None, 0))[0]

    def keep(self, run: Hashable, key: Hashable, thing: Any, size: int) -> bool:
        """Cache an object in place of the old one of that key; return whether there is room."""
        with self._lock:
            self._kept.pop((run, key), None)
            limit = self.limit()
            if run in self._over or self._used(run) + size > limit:
                return False
            while self._used() + size > limit:
                del self._kept[next(of for of in self._kept if of[0] != run)]
            self._kept[run, key] = thing, size
            return True

    def has_room(self, run: Hashable, size: int) -> bool:
        """Return whether an object of a run could be cached; objects of other runs would be evicted."""
        with self._lock:
            return self._used(run) + size <= self.limit()

    def drop(self, run: Hashable) -> None:
        """Drop all objects of a run that is over; work that still runs for it caches nothing."""
        with self._lock:
            self._over.append(run)
            self._kept = {of: thing for of, thing in self._kept.items() if of[0] != run}

    def _used(self, run: Hashable = None) -> int:
        """Return the bytes of a run's objects, or of all."""
        return sum(size for of, (_, size) in self._kept.items() if run is None or of[0] == run)


ROW_CACHE = RowCache()
"""The cache of this process."""
