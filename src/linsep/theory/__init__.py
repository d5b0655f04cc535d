"""Formulas of the theory: mistake bounds, risk, VC dimension, Brier score, and the perceptron of the lecture."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.theory.perceptron import locate_and_correct as locate_and_correct
    from linsep.theory.vc import cover as cover
    from linsep.theory.vc import radon as radon
    from linsep.theory.vc import shatter as shatter

# Names are imported when first used: the solvers of linsep.theory.vc take long to import.
_HOMES = {
    "cover": "linsep.theory.vc",
    "locate_and_correct": "linsep.theory.perceptron",
    "radon": "linsep.theory.vc",
    "shatter": "linsep.theory.vc",
}

__all__ = list(_HOMES)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'linsep.theory' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
