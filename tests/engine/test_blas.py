"""BLAS on one thread, for as long as anybody needs it."""

import numpy as np
from threadpoolctl import threadpool_info

from linsep.engine.runtime import one_blas_thread


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_the_limit_lasts_until_the_last_block_is_left():
    np.ones((2, 2)) @ np.ones((2, 2))
    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert threads() == {1}
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == before
