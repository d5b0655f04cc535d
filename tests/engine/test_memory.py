"""Packing nonzeros together: the processor's way, the plain way and numpy's agree."""

import numpy as np
import pytest
from numba import njit

from linsep.engine import native as memory
from linsep.engine.multimethods import inlined
from linsep.engine.native import LANES, pack

HARD = [0.0, -0.0, 1.0, -2.5, 5e-324, 1e-45, np.nan, np.inf, -np.inf]


@njit
def packed(values, indices, nonzeros):
    n = 0
    for k in range(0, values.size, LANES):
        n += pack(values, k, k, indices, nonzeros, n)
    return n


one_by_one = inlined(memory._pack_one_by_one)


@njit
def packed_plainly(values, indices, nonzeros):
    n = 0
    for k in range(0, values.size, LANES):
        n += one_by_one(values, k, k, indices, nonzeros, n)
    return n


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pass_", [packed, packed.py_func, packed_plainly], ids=["compiled", "numpy", "plain"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 1.0])
def test_nonzeros_and_their_columns(pass_, dtype, share):
    rng = np.random.default_rng(0)
    with np.errstate(under="ignore"):
        values = np.where(rng.random((3, 5 * LANES)) < share, rng.choice(HARD, (3, 5 * LANES)), 0.0).astype(dtype)
    indices, nonzeros = np.empty(values.size + LANES, np.int32), np.empty(values.size + LANES, dtype)
    n = pass_(values, indices, nonzeros)
    wanted = np.flatnonzero(values)
    np.testing.assert_array_equal(indices[:n], wanted)
    np.testing.assert_array_equal(nonzeros[:n], values.ravel()[wanted])
