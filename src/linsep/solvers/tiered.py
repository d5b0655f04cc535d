"""Declare a solver's kernel: it runs in Python while it has done little work, and is compiled then."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from linsep.engine.digest import engine_digest
from linsep.engine.tiers import Kernel


def tiered(work: Callable[..., int]) -> Callable[[Any], Any]:
    """Make a kernel of the decorated loops, with the same bits in Python and in compiled code.

    The loops use verbs and index arrays entry by entry; they make no arrays. They never raise, as Python does for a
    division by 0 or a power that overflows. `work` returns the work of a call in products, given its arguments.
    """

    def declare(template: Any) -> Any:
        @cache
        def kernel() -> Kernel:
            return Kernel(template, template.__name__.strip("_"), engine_digest(), work)

        @wraps(template)
        def call(*args: Any) -> Any:
            return kernel()(*args)

        return call

    return declare
