"""Formulas of the theory: mistake bounds, risk, VC dimension, Brier score; plain numbers in and out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.theory.vc import cover, radon, shatter

__all__ = ["cover", "radon", "shatter"]


def __getattr__(name: str) -> Any:  # imported when first used: the solvers of linsep.theory.vc take long to import
    if name not in __all__:
        raise AttributeError(f"module 'linsep.theory' has no attribute {name!r}")
    return getattr(import_module("linsep.theory.vc"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
