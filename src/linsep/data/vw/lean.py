"""How compiled code calls the plain functions that read Vowpal Wabbit text."""

from collections.abc import Callable
from typing import Any

from numba.extending import register_jitable

Function = Callable[..., Any]

LEAN = {"_nrt": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Arrays that are passed on are not counted: they are many, and counting takes longer than what is done with them."""


def called(function: Function) -> Function:
    """Let compiled code call this plain function: for what is done once a row, or rarely."""
    return register_jitable(**LEAN)(function)


def written_out(function: Function) -> Function:
    """Let compiled code call this plain function, inlined: for what is done for every feature."""
    return register_jitable(**LEAN, forceinline=True)(function)
