"""How near a pass comes to the memory's speed: the perceptron's first pass in order against a bare read.

Ours is one pass of the engine from zero weights over the 200,000 x 47,000 rows, its updates and log
included, without the checks of the input. The limit is a compiled loop that adds up the same values and
indices and does nothing else; it may reorder its sums so that memory alone holds it back.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from benchmarks import data
from benchmarks.data import Array
from benchmarks.passes import new_machine, rows_for_engine, run
from benchmarks.timing import Line, Row, race


@njit(fastmath=True, nogil=True)
def bare_read(values: Array, indices: Array) -> Any:
    """Read both arrays from end to end; the sum is returned so that nothing is optimised away."""
    total = np.float32(0)
    places = np.int32(0)
    for k in range(len(values)):
        total += values[k]
        places ^= indices[k]
    return total + places


def lines(repeats: int) -> Iterator[Line]:
    """Yield the row of this group."""
    X, y = data.sparse()
    rows, codes = rows_for_engine(X), (y > 0).astype(np.int32)
    result = race(
        lambda: run(new_machine(rows), rows, codes),
        partial(bare_read, rows.values, rows.indices),
        repeats,
    )
    speed = X.nnz / result.ours / 1e6
    limit = (X.data.nbytes + X.indices.nbytes) / result.peer / 1e9
    note = f"{speed:,.0f} M nonzeros/s; the read: {limit:.1f} GB/s"
    yield Row("a pass in order", "a bare compiled read", result.ours, result.peer, 0.3, note)
