"""Predict the class of a single row in compiled code.

An average is put together for the row's own features alone, so that asking between two rows of a stream costs
O(nonzeros), as learning does. Sums and products are those of scoring many rows, in the same order.
"""

from functools import cache
from math import isfinite
from typing import Any

from linsep.engine.data_kinds import Single, inside, row, together
from linsep.engine.dots import sum_columns, to_scores
from linsep.engine.links import Additive, Imaged, Scaled
from linsep.engine.multimethods import inlined, multimethod
from linsep.engine.native import Bound, opened
from linsep.engine.passes import BAD_SCORE, DONE, FLAW
from linsep.engine.readouts import Average, Last, RecentAverage
from linsep.engine.tiers import Tiered

weight_of = multimethod(0, 1)
"""weight_of(w, readout, j, c): the weight of row j, column c that predicts, up to the link's positive factor."""


@weight_of.when(Additive, Last)
def _(w: Additive, readout: Last, j: int, c: int) -> float:
    return w.s[j, c]


@weight_of.when(Scaled, Last)
def _(w: Scaled, readout: Last, j: int, c: int) -> float:
    return w.s[j, c] * w.scale[c]


@weight_of.when(Imaged, Last)
def _(w: Imaged, readout: Last, j: int, c: int) -> float:
    return w.image[j, c]


@weight_of.when(Additive, Average)
@weight_of.when(Scaled, Average)
@weight_of.when(Additive, RecentAverage)
@weight_of.when(Scaled, RecentAverage)
def _(w: Any, readout: Average, j: int, c: int) -> float:
    total = readout.mass[c] * w.s[j, c] - readout.u[j, c]
    return total / readout.clock[0] if readout.clock[0] > 0 else total


@inlined
def choice(z: Any, known: int, pair: bool) -> int:
    """Return the class that scores z choose: a score of 0 is the negative class, ties go to the lower one."""
    if known == 1:
        return 0
    if z.shape[0] == 1:
        return 1 if z[0] > 0 else 0
    if known == 2:
        return 1 if (z[1] - z[0] if pair else z[1]) > 0 else 0
    best = 0
    for c in range(1, known):
        best = c if z[c] > z[best] else best
    return best


def _work(bound: Bound, row: Any) -> int:
    """Return the work of a single row."""
    return (len(row[0]) + 8) * int(bound.args[0][0].shape[1])


@cache
def predict_row(Link: type, Readout: type) -> Tiered:
    """Return the kernel that predicts one row; called with (Bound(w, readout, numbers, known, pair, room), row).

    `row` (values, indices) and `numbers` together are a :class:`Single`, `known` is the number of classes. The kernel
    returns (class, status).
    With imaged weights, columns of different binary classifiers can't be compared here: they are not normalised.
    """
    imaged = Link is Imaged

    def kernel(bound: Any, row_: Any) -> tuple[int, int]:
        w_, readout_, numbers_, known, pair, z = opened(bound)
        w, readout, X = Link(*w_), Readout(*readout_), Single(*(row_ + numbers_))
        x = row(X, 0)
        if X.values.shape[0] != X.indices.shape[0] or not (together(X.values) and together(X.indices)):
            return 0, FLAW
        if not inside(X, x):
            return 0, FLAW
        K = w.s.shape[1]
        sum_columns(weight_of, w, readout, X, x, z)
        if imaged:
            width = K if pair else 1
            for c in range(0, K, width):
                to_scores(w, z, X, x, c, c + width)
        for c in range(K):
            if not isfinite(z[c]):
                return 0, BAD_SCORE
        return choice(z, known, pair), DONE

    return Tiered(kernel, _work, name=f"predict_row_{Link.__name__}_{Readout.__name__}", nogil=False)
