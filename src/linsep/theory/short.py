"""Vectors as short integers times a power of two: small in a file, exact in arithmetic."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linsep.core.arrays import Array

LENGTHS = (6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 52)
"""Bits of the largest entry that are tried, one after the other."""
LONGEST = 1 << 60
"""Integers from here on are written in base 16: readers of decimal ones may refuse them."""
SPARSE = 0.6
"""The share of entries that are not 0 up to which their places are listed."""


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def short(vector: Array, good: Callable[[Array], bool]) -> dict[str, Any]:
    """Return the shortest form of a vector that is still good enough; all its bits where none is.

    Parameters
    ----------
    vector : array of float64
        What is to be written down.
    good : callable
        Tells of a rounded vector whether it still serves.

    Examples
    --------
    >>> import numpy as np
    >>> short(np.array([0.3, 0.0, 0.0, -1.0]), lambda v: abs(v[0] - 0.3) < 0.01)
    {'exponent': -7, 'at': [0, 3], 'values': [38, -128]}
    """
    largest = float(np.abs(vector).max(initial=0.0))
    top = int(np.frexp(largest)[1])
    for length in LENGTHS if largest else ():
        integers = np.rint(np.ldexp(vector, length - top))
        if good(np.ldexp(integers, top - length)):
            return written(integers.astype(np.int64).tolist(), top - length)
    return exact(vector)


def exact(vector: Array) -> dict[str, Any]:
    """Return all bits of a vector.

    Examples
    --------
    >>> import numpy as np
    >>> exact(np.array([0.75, 2.0]))
    {'exponent': -2, 'values': [3, 8]}
    """
    ratios = [float(v).as_integer_ratio() for v in vector]
    unit = max((d for _, d in ratios), default=1)
    return written([n * (unit // d) for n, d in ratios], 1 - unit.bit_length())


def written(integers: list[int], exponent: int = 0) -> dict[str, Any]:
    """Return integers times 2**exponent as a certificate holds them: {exponent, at, values}, zeros left out if many.

    Examples
    --------
    >>> written([0, 0, 5])
    {'exponent': 0, 'at': [2], 'values': [5]}
    """
    places = [i for i, v in enumerate(integers) if v]
    whole = len(places) > SPARSE * len(integers)
    values = integers if whole else [integers[i] for i in places]
    form: dict[str, Any] = {"exponent": exponent} if whole else {"exponent": exponent, "at": places}
    return form | {"values": [v if abs(v) < LONGEST else hex(v) for v in values]}
