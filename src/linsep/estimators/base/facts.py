"""Describe the attributes that a solver sets beside the weights, and check those of a model file."""

from typing import Any, NamedTuple

import numpy as np


class Fact(NamedTuple):
    """An attribute that a solver sets: its type, its form, and which values are valid."""

    kind: type
    """bool, int, float or str; np.int64 or np.float64 for an array; object if checked elsewhere."""
    form: str = "one"
    """The form of the value:

    - "one": a value, or an array of one dimension;
    - "table": an array of two dimensions;
    - "list": a list of values;
    - "classes": a value, but one for each class of three or more; floats are then an array, all others a list.
    """
    least: float = -np.inf
    """No number is below. NaN, which overflow may cause, passes."""
    none: bool = False
    """True if None represents a value that is not known."""

    def check(self, name: str, value: Any, classes: int) -> None:
        """Raise a ValueError if no solver sets this value for so many classes."""
        if not self._has_form(value, classes):
            raise ValueError(f"its {name} is {value!r:.40}, which no solver finds")

    def _has_form(self, value: Any, classes: int) -> bool:
        each = self.form == "classes" and classes > 2
        if each and self.kind is float:
            return self._is_array(value, np.float64) and len(value) == classes
        if each or self.form == "list":
            sized = isinstance(value, list) and (not each or len(value) == classes)
            return sized and all(map(self._is_valid, value))
        return self._is_valid(value)

    def _is_valid(self, value: Any) -> bool:
        if self.kind is object or (value is None and self.none):
            return True
        if self.kind in (np.int64, np.float64):
            return self._is_array(value, self.kind)
        if self.kind is str:  # labels are spelled out in a verdict, so that a terminal can show it
            return isinstance(value, str) and all(line.isprintable() for line in value.split("\n"))
        numbers = (int, float) if self.kind is float else (self.kind,)
        return type(value) in numbers and not value < self.least

    def _is_array(self, value: Any, dtype: type) -> bool:
        fits = isinstance(value, np.ndarray) and value.ndim == 1 + (self.form == "table") and value.dtype == dtype
        return fits and not (value < self.least).any()


def refuse_other_dual(support: Any, dual: Any) -> None:
    """Raise a ValueError if the rows that bear weight in the dual are not as many as their weights."""
    if (support is None) != (dual is None) or (support is not None and len(support) != len(dual)):
        raise ValueError("its support_ and its dual_ are not of the same rows")


def refuse_other_verdict(verdict: str, separable: bool | None) -> None:
    """Raise a ValueError if a verdict on two classes contradicts `separable_`."""
    if (verdict.startswith("separable") and not separable) or (verdict.startswith("not separable") and separable):
        raise ValueError(f"its verdict_ is {verdict!r:.40}, and its separable_ is {separable}")
