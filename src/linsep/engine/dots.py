"""Compute the scores of an example from the weights."""

from math import inf, isfinite
from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import FOUR, ONE, THREE, TWO, Csr, Dual, RowPlace, Single, entries, inside
from linsep.engine.links import (
    SMALLEST,
    TINY,
    Additive,
    Clipped,
    FreeBias,
    Imaged,
    Scaled,
    image_of,
    peak,
    ratio,
    trusted,
)
from linsep.engine.multimethods import cold, inlined, multimethod
from linsep.engine.native import unsigned

to_score = multimethod(0)
"""to_score(w, z, data, x, room): the score of column 0, from the sum z of its products with x."""
to_scores = multimethod(0)
"""to_scores(w, z, S, x, lo, hi): the scores of a binary classifier's columns, in place of the sums z[lo:hi]."""
gather_all = multimethod(0)
"""gather_all(S, x, weights, z): write the sum of weights[j, c] * x_j to z[c] for every column c, in one walk.

NaN for an index out of range. The order of the sum is :data:`gather`'s on such rows: a column of many gives the bits
that it gives alone."""


@inlined
def sum_columns(weight: Any, w: Any, readout: Any, S: Any, x: RowPlace, z: Array) -> None:
    """Write the sum of weight(w, readout, j, c) * x_j to z[c] for every column c, four rows of weights at a time."""
    columns = z.shape[0]
    for c in range(columns):
        z[c] = 0.0
    k = x.start
    while k + FOUR <= x.stop:
        i0, v0 = unsigned(S.indices[k]), np.float64(S.values[k])
        i1, v1 = unsigned(S.indices[k + ONE]), np.float64(S.values[k + ONE])
        i2, v2 = unsigned(S.indices[k + TWO]), np.float64(S.values[k + TWO])
        i3, v3 = unsigned(S.indices[k + THREE]), np.float64(S.values[k + THREE])
        for c in range(columns):
            a, b = weight(w, readout, i0, c) * v0, weight(w, readout, i1, c) * v1
            z[c] += (a + b) + (weight(w, readout, i2, c) * v2 + weight(w, readout, i3, c) * v3)
        k += FOUR
    while k < x.stop:
        i0, v0 = unsigned(S.indices[k]), np.float64(S.values[k])
        for c in range(columns):
            z[c] += weight(w, readout, i0, c) * v0
        k += ONE
    for c in range(columns):
        z[c] += weight(w, readout, S.features, c) * S.bias


@inlined
def in_table(table: Array, readout: Any, j: int, c: int) -> float:
    """Return an entry of a table of weights."""
    return table[j, c]


@gather_all.when(Csr)
@gather_all.when(Single)
def _(S: Csr | Single, x: RowPlace, weights: Array, z: Array) -> None:
    if inside(S, x):
        sum_columns(in_table, weights, None, S, x, z)
    else:
        for c in range(z.shape[0]):
            z[c] = np.nan


@gather_all.when(Dual)
def _(X: Dual, x: RowPlace, weights: Array, z: Array) -> None:
    columns, width = z.shape[0], X.kernels.shape[1]
    for c in range(columns):
        z[c] = 0.0
    j = 0
    while j + 4 <= width:  # four terms at a time, one after the other: fewer walks over z
        k0, k1, k2, k3 = X.kernels[x.i, j], X.kernels[x.i, j + 1], X.kernels[x.i, j + 2], X.kernels[x.i, j + 3]
        for c in range(columns):
            two = (z[c] + weights[j, c] * k0) + weights[j + 1, c] * k1
            z[c] = (two + weights[j + 2, c] * k2) + weights[j + 3, c] * k3
        j += 4
    while j < width:
        for c in range(columns):
            z[c] += weights[j, c] * X.kernels[x.i, j]
        j += 1


@to_score.when(Additive)
def _(w: Additive, z: float, X: Any, x: RowPlace, room: Any) -> float:
    return z


@to_score.when(Scaled)
@to_score.when(FreeBias)
@to_score.when(Clipped)
def _(w: Scaled, z: float, X: Any, x: RowPlace, room: Any) -> float:
    return w.scale[0] * z


@to_scores.when(Additive)
def _(w: Additive, z: Array, S: Any, x: RowPlace, lo: int, hi: int) -> None:
    pass


@to_scores.when(Scaled)
@to_scores.when(FreeBias)
@to_scores.when(Clipped)
def _(w: Scaled, z: Array, S: Any, x: RowPlace, lo: int, hi: int) -> None:
    for c in range(lo, hi):
        z[c] *= w.scale[c]


@to_score.when(Imaged)
def _(w: Imaged, z: float, X: Any, x: RowPlace, room: Any) -> float:
    if trusted(z):
        return z
    nonzeros = entries(X, x, room)
    if not inside(room, nonzeros):
        return np.nan
    own = highest(w, room, nonzeros, 0, 1)
    score = rescored(w, room, nonzeros, 0, own)
    score *= back(w, own, 0, abs(score))
    if isfinite(score):  # a row that will be refused leaves no debt
        w.debt[0] += np.intp(nonzeros.stop - nonzeros.start)
    return score


@to_scores.when(Imaged)
def _(w: Imaged, z: Array, S: Any, x: RowPlace, lo: int, hi: int) -> None:
    fine = True
    for c in range(lo, hi):
        fine = fine and trusted(z[c])
    if fine or not inside(S, x):
        return
    own = highest(w, S, x, lo, hi)
    top = 0.0
    for c in range(lo, hi):
        z[c] = rescored(w, S, x, c, own)
        top = max(top, abs(z[c]))
        fine = fine or isfinite(z[c])
    scale = back(w, own, lo, top)
    for c in range(lo, hi):
        z[c] *= scale
    if fine:
        w.debt[lo] += np.intp(x.stop - x.start) * (hi - lo)


@inlined
def all_trusted(z: Array) -> bool:
    """Return whether all sums are far from overflow and underflow."""
    fine = True
    for c in range(z.shape[0]):
        fine = fine and trusted(z[c])
    return fine


@cold
def highest(w: Imaged, S: Any, x: RowPlace, lo: int, hi: int) -> float:
    """Return the highest peak of the binary classifier's sums where x is not zero."""
    top = -inf
    for c in range(lo, hi):
        if S.bias != 0.0:
            top = max(top, peak(w, S.features, w.s[S.features, c]))
        for k in range(x.start, x.stop):
            if S.values[k] != 0:
                j = unsigned(S.indices[k])
                top = max(top, peak(w, j, w.s[j, c]))
    return top


@cold
def rescored(w: Imaged, S: Any, x: RowPlace, c: int, origin: float) -> float:
    """Return the score of x under column c with the image computed again, relative to `origin`."""
    z = image_of(w, S.features, w.s[S.features, c], origin) * S.bias if S.bias != 0.0 else 0.0
    for k in range(x.start, x.stop):
        if S.values[k] != 0:
            j = unsigned(S.indices[k])
            z += image_of(w, j, w.s[j, c], origin) * S.values[k]
    return z


@inlined
def best_rival(scores: Array, true: int) -> int:
    """Return the first column of the highest score, `true` left out; -1 where there is no other."""
    rival = -1
    for c in range(scores.shape[0]):
        if c != true and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    return rival


@inlined
def back(w: Imaged, own: float, c: int, top: float) -> float:
    """Return the factor from images relative to `own` to the binary classifier's own images, for scores up to `top`.

    It is held where it keeps every sign and the order of the classes: no more than 1, and 1 where a score would vanish.
    """
    if own == -inf:
        return 1.0
    factor = min(max(ratio(w, own, w.origin[c]), SMALLEST), 1.0)
    return factor if top * factor > TINY else 1.0
