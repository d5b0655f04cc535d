"""Linear algebra on one thread: the same bits on every machine, and no waiting where others use the cores."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_lock = Lock()
_inside: list[ExitStack] = []
"""The limit, once for each block that is entered: the last one that is left lifts it."""


@cache
def _controller() -> Any:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from starting threads inside of the block, in whatever thread of ours it is."""
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
