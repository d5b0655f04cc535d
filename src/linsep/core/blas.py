"""Linear algebra on one thread: the same bits on every machine, and no waiting where others use the cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def _controller() -> Any:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS from starting threads inside of the block."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
