"""Threads in a fixed order, single-threaded BLAS, and blocks that Ctrl-C can't interrupt."""

import _signal  # type: ignore[import-not-found]  # without the enums of signal, which take longer than a row
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import islice, pairwise
from numbers import Integral
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

T = TypeVar("T")
U = TypeVar("U")

MOST = 1 << 16
"""The largest `n_jobs`."""
SIGNALS = tuple(sorted(map(int, signal.valid_signals())))


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means: None is 1, -1 all cores, -2 all but one."""
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


def in_order(work: Callable[[T], U], tasks: Iterable[T], n_threads: int) -> Iterator[U]:
    """Yield work(task) for every task in order, at most twice as many ahead as there are threads."""
    if n_threads == 1:
        yield from map(work, tasks)
        return
    todo = iter(tasks)
    with ThreadPoolExecutor(n_threads) as pool:
        ahead: list[Future[U]] = [pool.submit(work, task) for task in islice(todo, 2 * n_threads)]
        try:
            while ahead:
                result = ahead.pop(0).result()
                ahead += [pool.submit(work, task) for task in islice(todo, 1)]
                yield result
        finally:
            for future in ahead:
                future.cancel()


_lock = Lock()
_inside: list[ExitStack] = []
"""The limit, once for each block that is entered: the last one that is left lifts it."""


@cache
def _controller() -> Any:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from starting threads inside the block, in every thread of this process."""
    with _lock:
        limit = _inside[0] if _inside else ExitStack()
        if not _inside:
            limit.enter_context(_controller().limit(limits=1, user_api="blas"))
        _inside.append(limit)
    try:
        yield
    finally:
        with _lock:
            limit = _inside.pop()
            if not _inside:
                limit.close()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals with a handler in Python wait for the end of the block; only the main thread ever runs handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in SIGNALS if callable(handler := _signal.getsignal(number))}
    came: list[Any] = []
    for number in handlers:
        _signal.signal(number, lambda *arguments: came.append(arguments))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            _signal.signal(number, handler)
        for number, frame in came:
            handlers[number](number, frame)
