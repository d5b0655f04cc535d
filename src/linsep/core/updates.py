"""From a step to new weights, w = keep * w + amount * x, and to its line in the log."""

from typing import Any

import numpy as np

from linsep.core.examples import Array, SparseRow
from linsep.core.links import factor, fold, needs_fold, scale_by, touch
from linsep.core.memory import unsigned
from linsep.core.readouts import Log, bank, note
from linsep.core.verbs import word


@word
def shrink(w: Any, readout: Any, lo: int, hi: int, keep: float) -> None:
    """Multiply a machine's weights with `keep`; 0 forgets them."""
    if keep == 0.0:
        bank(readout, w, lo, hi)
        fold(w, lo, hi, 0.0)
    elif keep != 1.0:
        scale_by(w, lo, hi, keep)
        if needs_fold(w, lo):
            bank(readout, w, lo, hi)
            fold(w, lo, hi, factor(w, lo))


@word
def spread(w: Any, readout: Any, x: SparseRow, amount: float) -> None:
    """Add amount * x to the sums of column 0."""
    for k in range(x.start, x.stop):
        j = unsigned(x.indices[k])
        d = amount * x.values[k]
        touch(w, j, 0, d)
        note(readout, j, 0, d)
    if x.bias != 0.0:
        touch(w, x.features, 0, amount * x.bias)
        note(readout, x.features, 0, amount * x.bias)


@word
def spread_all(w: Any, readout: Any, x: SparseRow, columns: Array, amounts: Array, n: int) -> None:
    """Add amounts[q] * x to the sums of column columns[q] for every q < n, in one walk over the row."""
    for k in range(x.start, x.stop):
        j = unsigned(x.indices[k])
        v = np.float64(x.values[k])
        for q in range(n):
            c = columns[q]
            d = amounts[q] * v
            touch(w, j, c, d)
            note(readout, j, c, d)
    if x.bias != 0.0:
        for q in range(n):
            c = columns[q]
            d = amounts[q] * x.bias
            touch(w, x.features, c, d)
            note(readout, x.features, c, d)


@word
def record(log: Log, i: int, t: int, c: int, rival: int, keep: float, amount: float) -> None:
    """Write an update to the log, if one is kept; there is room for it."""
    if log.numbers.shape[0] == 0:
        return
    n = log.filled[0]
    log.numbers[n, 0] = i
    log.numbers[n, 1] = t
    if log.numbers.shape[1] > 2:
        log.numbers[n, 2] = c
    if log.numbers.shape[1] > 3:
        log.numbers[n, 3] = rival
    if log.sizes.shape[1] > 0:
        log.sizes[n, 0] = amount
    if log.sizes.shape[1] > 1:
        log.sizes[n, 1] = keep
    log.filled[0] = n + 1
