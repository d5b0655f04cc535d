"""Packing nonzeros together: the processor's way, the plain way and Python's agree."""

import numpy as np
import pytest
from numba import njit

from linsep.engine import native as memory
from linsep.engine.native import LANES, pack

HARD = [0.0, -0.0, 1.0, -2.5, 5e-324, 1e-45, np.nan, np.inf, -np.inf]


def packed_by(pack):
    def packed(values, indices, nonzeros):
        n = 0
        for i in range(values.shape[0]):
            for j in range(0, values.shape[1], LANES):
                n += pack(values, i, j, indices, nonzeros, n)
        return n

    return packed


COMPILED, PYTHON, PLAIN = njit(packed_by(pack)), packed_by(pack), njit(packed_by(njit(memory._pack_one_by_one)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pass_", [COMPILED, PYTHON, PLAIN], ids=["compiled", "python", "plain"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9, 1.0])
def test_nonzeros_and_their_columns(pass_, dtype, share):
    rng = np.random.default_rng(0)
    with np.errstate(under="ignore"):
        values = np.where(rng.random((3, 5 * LANES)) < share, rng.choice(HARD, (3, 5 * LANES)), 0.0).astype(dtype)
    indices, nonzeros = np.empty(values.size + LANES, np.int32), np.empty(values.size + LANES, dtype)
    n = pass_(values, indices, nonzeros)
    rows, columns = np.nonzero(values)
    np.testing.assert_array_equal(indices[:n], columns)
    np.testing.assert_array_equal(nonzeros[:n], values[rows, columns])
