"""Writes sparse rows as svmlight text, block by block; Arrow spells the numbers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import data
from benchmarks.data import Array

BLOCK = 20_000
"""Rows that are spelled at a time."""
ROWS = 200_000
"""Rows of each seed."""


def write(path: Path, seeds: int, rows: int = ROWS) -> int:
    """Write the benchmarks' sparse rows, others for each seed, and return how many they are; 0.33 GB a seed."""
    written = 0
    with path.open("wb") as file:
        for seed in range(seeds):
            X, y = data.zipf(n=rows, seed=seed)
            for begin in range(0, len(y), BLOCK):
                file.write(spelled(X[begin : begin + BLOCK], y[begin : begin + BLOCK]))
            written += len(y)
    return written


def spelled(X: Any, y: Array) -> memoryview:
    r"""Return rows (CSR) as lines: indices count from 1, labels are whole, values have all the digits of float64.

    >>> import numpy as np, scipy.sparse as sp
    >>> bytes(spelled(sp.csr_matrix([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]]), np.array([1, -1])))
    b'1 1:0.5 3:2\n-1 \n'
    """
    columns = pa.array(X.indices + 1).cast(pa.string())
    values = pa.array(X.data.astype("float64")).cast(pa.string())
    entries = pc.binary_join_element_wise(columns, values, ":")
    rows = pc.binary_join(pa.ListArray.from_arrays(pa.array(X.indptr.astype("int32")), entries), " ")
    lines = pc.binary_join_element_wise(pa.array(y).cast(pa.string()), rows, " ")
    whole = pc.binary_join_element_wise(lines, "", "\n")
    return memoryview(whole.buffers()[2])[: pc.sum(pc.binary_length(whole)).as_py()]
