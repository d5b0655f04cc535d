"""What kernels refuse: values that are not finite, and parameters that make no sense."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from linsep.core.arrays import Array

SMALLER = "divide X by one factor (linsep.maps.Scale)"


class KernelError(ValueError):
    """A value of the kernel that is not a finite number.

    `rows` are the two rows, counted in the blocks at hand (twice the same in a diagonal); `text` is the message without
    them. Who knows where the blocks come from catches this error and says `text` with numbers of its own.

    Examples
    --------
    >>> from linsep.maps.kernels import Polynomial
    >>> try:
    ...     Polynomial(degree=9)(np.ones((1, 1)), np.array([[1.0], [1e40]]))
    ... except KernelError as error:
    ...     error.rows, error.text[:40]
    ((0, 1), '(coef0 + gamma x.y)^degree = (1e+40)^9 i')
    """

    def __init__(self, rows: tuple[int, int], text: str) -> None:
        super().__init__(rows, text)
        self.rows = rows
        self.text = text

    def __str__(self) -> str:
        return f"row {self.rows[0]} of A, row {self.rows[1]} of B: {self.text}"

    def moved(self, i: int, j: int) -> "KernelError":
        """Return the error with the rows' numbers in the blocks whose parts begin at rows i and j."""
        return KernelError((self.rows[0] + i, self.rows[1] + j), self.text)


def finite(K: Array, why: Callable[[int, int], str]) -> Array:
    """Return values as they are; raises at the first that is not finite, with the reason that `why` gives."""
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(K.sum())
    if not fine and not (finite := np.isfinite(K)).all():
        place = np.argwhere(~finite)[0].tolist()
        raise KernelError((place[0], place[-1]), why(place[0], place[-1]))
    return K


def real(value: Any) -> float:
    """Return a parameter as a float; what is no real number is NaN, and what is too large infinite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def refuse_degree(degree: Any) -> None:
    """Raise a ValueError for a degree that is no whole number from 1."""
    if isinstance(degree, bool) or not isinstance(degree, Integral) or degree < 1:
        raise ValueError(f"degree is {degree!r}: it must be a whole number from 1")


def refuse_coef0(coef0: Any) -> None:
    """Raise a ValueError for what is no finite number."""
    if not math.isfinite(real(coef0)):
        raise ValueError(f"coef0 is {coef0!r}: it must be a finite number")


def refuse_gamma(gamma: Any) -> None:
    """Raise a ValueError for what is no finite number above 0."""
    if not 0 < real(gamma) < math.inf:
        raise ValueError(f"gamma is {gamma!r}: it must be a finite number above 0")


def refuse_bias(bias: Any) -> None:
    """Raise a ValueError for what has no finite square."""
    value = real(bias)
    if not math.isfinite(value * value):
        raise ValueError(f"bias is {bias!r}: it must be a number with a finite square")


def refuse_columns(numbers: Array, columns: int) -> None:
    """Raise for numbers of columns that are not there."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(f"columns of a kernel matrix are whole numbers, not {numbers.dtype} of shape {numbers.shape}")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < columns:
        raise ValueError(f"columns {numbers.min()} to {numbers.max()} of a kernel matrix that has {columns}")
