"""Share work among threads without changing a bit of the result."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Integral
from typing import TypeVar

T = TypeVar("T")

MOST = 1 << 16
"""Threads that may be asked for."""


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` asks for: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs > MOST:
        raise ValueError(f"n_jobs={n_jobs!r}: it is a whole number, {MOST:,} at most, or None; -1 is one per core")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use 1 for one thread, -1 for one per core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def split(n: int, parts: int) -> list[tuple[int, int]]:
    """Cut range(n) into at most `parts` ranges of nearly equal length, none of them empty."""
    parts = max(1, min(parts, n))
    cuts = [n * k // parts for k in range(parts + 1)]
    return list(pairwise(cuts))


def share(tasks: Sequence[Callable[[], T]], n_threads: int) -> list[T]:
    """Run the tasks on up to `n_threads` threads and return their results in order."""
    if n_threads == 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(n_threads, len(tasks))) as pool:
        return list(pool.map(lambda task: task(), tasks))
