"""Where a process keeps the rows of its shards, so that they are parsed once and not in every epoch."""

import os
from collections import deque
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

SHARE = 0.4
"""Of the memory of a worker, or of this machine, what the rows of shards may take."""
OVER = 100
"""Runs that are known to be over."""


def room() -> float:
    """Return how many bytes may be kept in this process."""
    try:
        from distributed import get_worker

        limit = get_worker().memory_manager.memory_limit
    except (ImportError, ValueError):  # there is no Dask, or this is no worker of it
        limit = None
    return SHARE * (limit or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


class Shelf:
    """Things of several runs, kept as long as there is room.

    What does not fit is made again each time. Things of the same run are not given up for one another: each is needed
    once in an epoch, so that the last one used is the next to be needed least.

    Examples
    --------
    >>> shelf = Shelf(lambda: 100)
    >>> shelf.keep("run", 1, "rows", 60), shelf.keep("run", 2, "more", 60), shelf.find("run", 1), shelf.find("run", 2)
    (True, False, 'rows', None)
    """

    def __init__(self, limit: Callable[[], float] = room) -> None:
        self.limit, self._lock = limit, Lock()
        self._over: deque[Hashable] = deque(maxlen=OVER)
        self._kept: dict[tuple[Hashable, Hashable], tuple[Any, int]] = {}

    def find(self, run: Hashable, key: Hashable) -> Any:
        """Return what was kept, or None."""
        with self._lock:
            return self._kept.get((run, key), (None, 0))[0]

    def keep(self, run: Hashable, key: Hashable, thing: Any, size: int) -> bool:
        """Keep something in the place of what was kept under that key, if there is room; tell whether there is."""
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
        """Tell whether something of a run could be kept; what is kept of other runs would make room."""
        with self._lock:
            return self._used(run) + size <= self.limit()

    def drop(self, run: Hashable) -> None:
        """Forget all things of a run, which is over: work that is still done for it has nothing kept."""
        with self._lock:
            self._over.append(run)
            self._kept = {of: thing for of, thing in self._kept.items() if of[0] != run}

    def _used(self, run: Hashable = None) -> int:
        """Return the bytes of a run's things, or of all."""
        return sum(size for of, (_, size) in self._kept.items() if run is None or of[0] == run)


SHELF = Shelf()
"""That of this process."""
