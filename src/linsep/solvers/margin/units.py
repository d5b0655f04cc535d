"""Data whose squares, and those of their dual variables, floats can hold."""

import math

import numpy as np

from linsep.core.examples import Csr, Dense
from linsep.solvers.products import frozen

TAME = 200
"""Numbers between 2**-TAME and 2**TAME have squares of squares, and sums of them, that floats hold."""


def tamed(data: Dense | Csr) -> tuple[Dense | Csr, int]:
    """Return the data, or a copy of them times 2**-exponent where floats would lose their squares; and the exponent.

    Examples
    --------
    >>> import numpy as np
    >>> tamed(Dense(np.array([[2.0**1000]]), bias=0.0))
    (Dense(values=array([[0.5]]), bias=0.0), 1001)
    >>> tamed(Dense(np.array([[3.0]]), bias=0.0))
    (Dense(values=array([[3.]]), bias=0.0), 0)
    """
    largest = max(float(np.max(data.values, initial=0.0)), -float(np.min(data.values, initial=0.0)), abs(data.bias))
    exponent = math.frexp(largest)[1]
    if largest == 0.0 or abs(exponent) <= TAME:
        return data, 0
    values = np.ldexp(data.values.astype(np.float64), -exponent)
    return data._replace(values=frozen(values), bias=math.ldexp(data.bias, -exponent)), exponent
