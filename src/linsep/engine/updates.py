"""Apply an update to the weights, w = keep * w + amount * x, and log it.

Data named S are sparse, or the nonzeros of a dense row.
"""

from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import RowPlace
from linsep.engine.links import (
    SCALE_LIMIT,
    Additive,
    Clipped,
    FreeBias,
    Imaged,
    Scaled,
    factor,
    fold,
    needs_fold,
    scale_by,
    touch,
)
from linsep.engine.multimethods import cold, inlined, multimethod
from linsep.engine.native import unsigned
from linsep.engine.readouts import Log, bank, has_room, note

SUM_LIMIT = 2.0**511
"""Single rows are learned while no |sum| is above: its square, and its product with any scale or mass, is finite."""


restore_bias = multimethod(0)
"""restore_bias(w, readout, lo, hi, keep): give the bias back what it lost as the scale was multiplied with keep."""


@restore_bias.when(Additive)
@restore_bias.when(Scaled)
@restore_bias.when(Imaged)
def _(w: Any, readout: Any, lo: int, hi: int, keep: float) -> None:
    pass


@restore_bias.when(FreeBias)
@restore_bias.when(Clipped)
def _(w: FreeBias | Clipped, readout: Any, lo: int, hi: int, keep: float) -> None:
    last = w.s.shape[0] - 1
    for c in range(lo, hi):
        d = w.s[last, c] / keep - w.s[last, c]
        w.s[last, c] += d
        note(readout, last, c, d)


@inlined
def shrink(w: Any, readout: Any, lo: int, hi: int, keep: float) -> None:
    """Multiply a binary classifier's weights with `keep`; 0 forgets them."""
    if keep == 0.0:
        bank(readout, w, lo, hi)
        fold(w, lo, hi, 0.0)
    elif keep != 1.0:
        scale_by(w, lo, hi, keep)
        restore_bias(w, readout, lo, hi, keep)
        if needs_fold(w, lo):
            bank(readout, w, lo, hi)
            fold(w, lo, hi, factor(w, lo))


@inlined
def fits(w: Any, readout: Any, S: Any, x: RowPlace, lo: int, hi: int, keep: float, amount: float) -> bool:
    """Return whether w = keep * w + amount * x leaves all sums of columns lo to hi, and their average, in range.

    The sums before must be in range. If only some of the columns are updated, the result may be False without need.
    """
    fine = True
    scale = abs(factor(w, lo) * keep)
    if scale >= SCALE_LIMIT:  # about to be folded into the sums
        for j in range(w.s.shape[0]):
            for c in range(lo, hi):
                fine = fine and abs(w.s[j, c]) * scale <= SUM_LIMIT
    if amount != 0.0:
        size = abs(amount) / scale if 1 / SCALE_LIMIT < scale < SCALE_LIMIT else abs(amount)
        for k in range(x.start, x.stop):
            j = unsigned(S.indices[k])
            d = size * abs(np.float64(S.values[k]))
            for c in range(lo, hi):
                fine = fine and abs(w.s[j, c]) + d <= SUM_LIMIT and has_room(readout, j, c, d)
        if S.bias != 0.0:
            d = size * abs(S.bias)
            for c in range(lo, hi):
                fine = fine and abs(w.s[S.features, c]) + d <= SUM_LIMIT and has_room(readout, S.features, c, d)
    return fine


@inlined
def spread(w: Any, readout: Any, S: Any, x: RowPlace, amount: float) -> None:
    """Add amount * x to the sums of column 0."""
    for k in range(x.start, x.stop):
        j = unsigned(S.indices[k])
        d = amount * S.values[k]
        touch(w, j, 0, d)
        note(readout, j, 0, d)
    if S.bias != 0.0:
        touch(w, S.features, 0, amount * S.bias)
        note(readout, S.features, 0, amount * S.bias)


@inlined
def spread_all(w: Any, readout: Any, S: Any, x: RowPlace, columns: Array, amounts: Array, n: int) -> None:
    """Add amounts[q] * x to the sums of column columns[q] for every q < n, in one walk over the row."""
    for k in range(x.start, x.stop):
        j = unsigned(S.indices[k])
        v = np.float64(S.values[k])
        if n == w.s.shape[1] and columns[0] == 0:  # all columns, in order: the compiler makes vectors of them
            for c in range(n):
                d = amounts[c] * v
                touch(w, j, c, d)
                note(readout, j, c, d)
        else:
            for q in range(n):
                c = columns[q]
                d = amounts[q] * v
                touch(w, j, c, d)
                note(readout, j, c, d)
    if S.bias != 0.0:
        for q in range(n):
            c = columns[q]
            d = amounts[q] * S.bias
            touch(w, S.features, c, d)
            note(readout, S.features, c, d)


@inlined
def clip(w: Clipped, readout: Any, S: Any, x: RowPlace, dense: bool, pull: float) -> None:
    """Pull the weights of a row's features towards 0 by what they have missed of all pulls, this round's included.

    A weight that would change its sign is 0; the bias is never pulled. A dense row has all features.
    """
    for c in range(w.s.shape[1]):
        w.pull[c] += pull
    if dense:
        for j in range(w.s.shape[0] - 1):
            clip_feature(w, readout, j)
    else:
        for k in range(x.start, x.stop):
            clip_feature(w, readout, unsigned(S.indices[k]))


@inlined
def clip_feature(w: Clipped, readout: Any, j: int) -> None:
    """Pull the weights of one feature."""
    for c in range(w.s.shape[1]):
        s, scale = w.s[j, c], w.scale[c]
        left = s
        if s > 0.0:
            left = max(0.0, s - (w.pull[c] + w.pulled[j, c]) / scale)
        elif s < 0.0:
            left = min(0.0, s + (w.pull[c] - w.pulled[j, c]) / scale)
        if left != s:
            w.s[j, c] = left
            w.pulled[j, c] += scale * (left - s)
            note(readout, j, c, left - s)
            if w.normed:
                w.norm1[c] += abs(left) - abs(s)
                w.norm2[c] += scale * scale * (left * left - s * s)


@cold
def spread_apart(w: Any, readout: Any, S: Any, x: RowPlace, amount: float) -> None:
    """Do what :func:`spread` does in a function of its own.

    Images take calls of exp and its like, which overwrite most registers: a short function has less to restore.
    """
    spread(w, readout, S, x, amount)


@cold
def spread_all_apart(w: Any, readout: Any, S: Any, x: RowPlace, columns: Array, amounts: Array, n: int) -> None:
    """Do what :func:`spread_all` does in a function of its own, for the same reason."""
    spread_all(w, readout, S, x, columns, amounts, n)


@inlined
def record(log: Log, i: int, t: int, c: int, rival: int, score: float, keep: float, amount: float) -> None:
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
    if log.scores.shape[0] > 0:
        log.scores[n] = score
    log.filled[0] = n + 1
