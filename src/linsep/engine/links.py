"""Links: what the accumulated sums s mean as weights, w = link(s).

| link        | kind                | weights of a column                        | learner                        |
|-------------|---------------------|--------------------------------------------|--------------------------------|
| additive    | `Additive`          | w = s                                      | perceptron, passive-aggressive |
| scaled      | `Scaled`            | w = scale * s, with ||w||² kept up to date | rules that shrink; ROMMA       |
| free bias   | `FreeBias`          | scaled, but for the bias                   | those of `linsep.compat`       |
| clipped     | `Clipped`           | free bias, and clipped towards 0           | the same with an L1 penalty    |
| exponential | `Imaged`, form 0    | w = softmax(number * s)                    | Winnow                         |
| sinh        | `Imaged`, form 1    | w ~ sinh(number * s)                       | balanced Winnow, in p weights  |
| p-norm      | `Imaged`, form 2    | w ~ sign(s) |s|^number, number = p - 1     | p-norm perceptron              |

Sums are arrays (features + 1, columns); the last row is the bias. A *binary classifier* is a range
`lo:hi` of columns that share one state: one column for two classes or a class against the rest, all for class pairs.

`Imaged` links keep, beside s, its image e^{number (s - origin)} (or its like), so that a row without a mistake costs
one sum of products, and one compiled pass serves all three. The image is a function of (s, origin) alone, unless it is
stale. It may overflow or vanish: then the row's score leaves the range :func:`trusted`, the row is scored again
relative to its own highest sum, and once such rows have cost as much as a new image of the whole column, the origin
moves to the highest sum (:data:`recenter`). Any rate is thus safe, at a cost that stays proportional to the nonzeros.
"""

from math import copysign, exp, expm1, frexp, inf, ldexp, log
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import RowPlace, squared
from linsep.engine.multimethods import cold, inlined, multimethod

SMALLEST, LARGEST, TINY = 2.0**-900, 2.0**1000, 2.0**-1000
STALE = 1 << 62
"""With this debt, the next pass computes the image of the sums before it reads the image."""
MOST = 709.0
"""The largest exponent of e that is not infinite."""
GENTLE = 64.0
"""Powers up to this are taken relative to a power of two, by which division is exact."""
SCALE_LIMIT = 1e100
REMEASURE = 1_000_000


class Additive(NamedTuple):
    """w = s."""

    s: Array


class Scaled(NamedTuple):
    """w = scale * s, folded into s when the scale leaves (floor, 1e100).

    `norm2` is ||w||² of each binary classifier and `age` its updates since that was last measured, if `normed`. In
    `dual` weights s has the coefficients of the rows, so that ||w||² can't be computed from it.
    """

    s: Array
    scale: Array
    norm2: Array
    age: Array
    floor: float
    normed: bool
    dual: bool


class FreeBias(Scaled):
    """Scaled weights of which the bias never shrinks, and has no part in `norm2`.

    Where they are not `normed`, `norm2` is that of the weights of the features of the row last added: what
    scikit-learn's stochastic estimators take for ||w||² on sparse rows when they look whether to stop.
    """

    __slots__ = ()


class Clipped(NamedTuple):
    """The weights of `FreeBias`, which every round also pulls towards 0, and not beyond: an L1 penalty.

    A weight is pulled when a row has its feature, by all that it has missed; a dense row has all features. `pull` is
    the sum of all rounds' pulls, `pulled` how far each weight was moved by them, and `norm1` the sum of |s| of the
    weights that `norm2` is of. Source: Tsuruoka, Tsujii and Ananiadou (2009), stochastic gradient descent with a
    cumulative penalty.
    """

    s: Array
    scale: Array
    norm2: Array
    age: Array
    floor: float
    normed: bool
    dual: bool
    pull: Array
    pulled: Array
    norm1: Array


EXPONENTIAL, SINH, P_NORM = range(3)


class Imaged(NamedTuple):
    """Weights known up to a positive factor, of one of three forms, each with its number (a rate, or p - 1).

    Exponential: w_j = e^{number s_j} / Z; the bias row represents two weights, of the features +bias and -bias.
    Sinh: w_j = (e^{number s_j} - e^{-number s_j}) / Z. P-norm: w_j = sign(s_j) |s_j|^number / Z.
    """

    s: Array
    image: Array
    origin: Array
    debt: Array
    number: float
    form: int


scoring_table = multimethod(0)
"""scoring_table(w): the array whose products with x are summed for a score."""
touch = multimethod(0)
"""touch(w, j, c, d): add d to s[j, c]."""
factor = multimethod(0)
"""factor(w, c): what the sums of column c are multiplied with."""
norm2 = multimethod(0)
"""norm2(w, lo): ||w||² of the binary classifier that begins at column lo, where the link keeps it; else 0."""
scale_by = multimethod(0)
"""scale_by(w, lo, hi, keep): multiply the binary classifier's weights with keep, which is neither 0 nor 1."""
needs_fold = multimethod(0)
"""needs_fold(w, lo): whether the binary classifier's scale has left the range in which it is accurate."""
fold = multimethod(0)
"""fold(w, lo, hi, factor): multiply s with factor, set the scale to 1 and compute ||w||² again if s determines it."""
measure = multimethod(0)
"""measure(w, lo, keep, amount, score, data, x, copies): bring ||w||² up to date before amount * x is added, copies
times in the binary classifier (+x to one class and -x to another are two). `score` is that before w shrank."""
norm1 = multimethod(0)
"""norm1(w, c): the sum of the |weights| of column c, where the link keeps it; else 0."""
recenter = multimethod(0)
"""recenter(w, lo, hi): move the origin to the highest sum, once rescored rows have cost as much as that does."""


@inlined
def trusted(score: float) -> bool:
    """Return whether a score computed from the image is far from overflow and underflow."""
    return SMALLEST < abs(score) < LARGEST


@scoring_table.when(Additive)
@scoring_table.when(Scaled)
@scoring_table.when(FreeBias)
@scoring_table.when(Clipped)
def _(w: Additive | Scaled) -> Array:
    return w.s


@touch.when(Additive)
@touch.when(Scaled)
def _(w: Additive | Scaled, j: int, c: int, d: float) -> None:
    w.s[j, c] += d


@touch.when(Clipped)
def _(w: Clipped, j: int, c: int, d: float) -> None:
    s = w.s[j, c]
    w.s[j, c] = s + d
    if not is_bias(w, j):
        w.norm1[c] += abs(s + d) - (abs(s) if w.normed else 0.0)
        if not w.normed:
            v = w.scale[c] * (s + d)
            w.norm2[c] += v * v


@touch.when(FreeBias)
def _(w: FreeBias, j: int, c: int, d: float) -> None:
    w.s[j, c] += d
    if not (w.normed or is_bias(w, j)):
        v = w.scale[c] * w.s[j, c]
        w.norm2[c] += v * v


@norm1.when(Clipped)
def _(w: Clipped, c: int) -> float:
    return w.scale[c] * w.norm1[c]


@factor.when(Scaled)
@factor.when(FreeBias)
@factor.when(Clipped)
def _(w: Scaled, c: int) -> float:
    return w.scale[c]


@norm2.when(Scaled)
@norm2.when(FreeBias)
@norm2.when(Clipped)
def _(w: Scaled, lo: int) -> float:
    return w.norm2[lo]


@scale_by.when(Scaled)
@scale_by.when(FreeBias)
@scale_by.when(Clipped)
def _(w: Scaled, lo: int, hi: int, keep: float) -> None:
    for c in range(lo, hi):
        w.scale[c] *= keep
    w.norm2[lo] *= keep * keep


@needs_fold.when(Scaled)
@needs_fold.when(FreeBias)
@needs_fold.when(Clipped)
def _(w: Scaled, lo: int) -> bool:
    return not w.floor < abs(w.scale[lo]) < SCALE_LIMIT or (w.age[lo] >= REMEASURE and not w.dual)


@fold.when(Scaled)
def _(w: Scaled, lo: int, hi: int, factor: float) -> None:
    z = 0.0
    for j in range(w.s.shape[0]):
        for c in range(lo, hi):
            w.s[j, c] *= factor
            z += w.s[j, c] * w.s[j, c]
    for c in range(lo, hi):
        w.scale[c] = 1.0
    if not w.dual or factor == 0.0:
        w.norm2[lo] = z
    w.age[lo] = 0


@measure.when(FreeBias)
def _(w: FreeBias, lo: int, keep: float, amount: float, score: float, X: Any, x: RowPlace, copies: float) -> None:
    w.norm2[lo] = norm2_after(w, lo, keep, amount, score, X, x) if w.normed else 0.0


@measure.when(Clipped)
def _(w: Clipped, lo: int, keep: float, amount: float, score: float, X: Any, x: RowPlace, copies: float) -> None:
    w.norm2[lo] = norm2_after(w, lo, keep, amount, score, X, x) if w.normed else 0.0
    if not w.normed:
        w.norm1[lo] = 0.0


@inlined
def norm2_after(w: Any, lo: int, keep: float, amount: float, score: float, X: Any, x: RowPlace) -> float:
    """Return ||w||², without the bias, after amount * x is added; `score` is that before w shrank."""
    bias = X.bias * w.s[w.s.shape[0] - 1, lo] * w.scale[lo]
    return w.norm2[lo] + amount * (2 * keep * (score - bias) + amount * (squared(X, x) - X.bias * X.bias))


@fold.when(FreeBias)
def _(w: FreeBias, lo: int, hi: int, factor: float) -> None:
    last = w.s.shape[0] - 1
    for c in range(lo, hi):
        if w.normed or factor == 0.0:
            w.norm2[c] = 0.0
    for j in range(last):
        for c in range(lo, hi):
            w.s[j, c] *= factor
            if w.normed:
                w.norm2[c] += w.s[j, c] * w.s[j, c]
    for c in range(lo, hi):
        w.s[last, c] *= w.scale[c]
        w.scale[c] = 1.0


@fold.when(Clipped)
def _(w: Clipped, lo: int, hi: int, factor: float) -> None:
    last = w.s.shape[0] - 1
    for c in range(lo, hi):
        w.norm1[c] *= factor
        if w.normed or factor == 0.0:
            w.norm2[c] = 0.0
    for j in range(last):
        for c in range(lo, hi):
            w.s[j, c] *= factor
            if w.normed:
                w.norm2[c] += w.s[j, c] * w.s[j, c]
    for c in range(lo, hi):
        w.s[last, c] *= w.scale[c]
        w.scale[c] = 1.0


@measure.when(Scaled)
def _(w: Scaled, lo: int, keep: float, amount: float, score: float, X: Any, x: RowPlace, copies: float) -> None:
    if w.normed:
        w.norm2[lo] += amount * (2 * (keep * score) + amount * squared(X, x) * copies)
        w.age[lo] += 1


@inlined
def image_of(w: Imaged, j: int, s: float, origin: float) -> float:
    """Return the weight of a sum s in row j, up to the positive factor that `origin` represents."""
    if w.form == EXPONENTIAL and not is_bias(w, j):
        return exp_or_inf(w.number * (s - origin))
    if s == 0:
        return 0.0
    if w.form == P_NORM:
        r = abs(s) / origin
        size = r**w.number if w.number * log(r) < MOST else inf
    else:  # e^{number s} - e^{-number s}, without cancellation near 0
        size = exp_or_inf(w.number * (abs(s) - origin)) * -expm1(-2 * w.number * abs(s))
    return copysign(
        size, s
    )  # not a choice by s > 0, which may be compiled to a branch that is mispredicted half the time


@inlined
def peak(w: Imaged, j: int, s: float) -> float:
    """Return the origin relative to which the image of s is at most 1."""
    if w.form == EXPONENTIAL and not is_bias(w, j):
        return s
    if w.form == EXPONENTIAL and s == 0:
        return -inf  # the bias weighs nothing yet, or there is none
    if w.form == P_NORM:
        return power_of_two(s) if w.number <= GENTLE else max(abs(s), SMALLEST)
    return abs(s)


@inlined
def ratio(w: Imaged, own: float, origin: float) -> float:
    """Return the factor from images relative to `own` to images relative to `origin`."""
    return exp_or_inf(w.number * (log(own / origin) if w.form == P_NORM else own - origin))


@inlined
def is_bias(w: Any, j: int) -> bool:
    """Return whether row j of the sums is the bias."""
    return np.intp(j) == w.s.shape[0] - 1


@inlined
def exp_or_inf(a: float) -> float:
    """Return e^a, infinity where Python's own would raise."""
    return exp(a) if a < MOST else inf


@inlined
def power_of_two(s: float) -> float:
    """Return the least power of two above |s|, by which division is exact."""
    return ldexp(1.0, frexp(max(abs(s), SMALLEST))[1])


@scoring_table.when(Imaged)
def _(w: Imaged) -> Array:
    return w.image


@touch.when(Imaged)
def _(w: Imaged, j: int, c: int, d: float) -> None:
    s = w.s[j, c] + d
    w.s[j, c] = s
    w.image[j, c] = image_of(w, j, s, w.origin[c])


@recenter.when(Imaged)
def _(w: Imaged, lo: int, hi: int) -> None:
    move_origin(w, lo, hi)


@cold
def move_origin(w: Imaged, lo: int, hi: int) -> None:
    """Put a binary classifier's origin at its highest sum and compute the image."""
    top = -inf
    for j in range(w.s.shape[0]):
        for c in range(lo, hi):
            top = max(top, peak(w, j, w.s[j, c]))
    for c in range(lo, hi):
        w.origin[c] = top
        for j in range(w.s.shape[0]):
            w.image[j, c] = image_of(w, j, w.s[j, c], top)
    w.debt[lo] = 0


def _one(w: Any, c: int) -> float:
    return 1.0


def _zero(w: Any, lo: int) -> float:
    return 0.0


def _no(w: Any, lo: int) -> bool:
    return False


def _nothing(w: Any, *args: Any) -> None:
    pass


_kind: type
for _kind in (Additive, Imaged):
    factor.when(_kind)(_one)
    norm2.when(_kind)(_zero)
    needs_fold.when(_kind)(_no)
    for _verb in (scale_by, fold, measure):
        _verb.when(_kind)(_nothing)
for _kind in (Additive, Scaled, FreeBias, Clipped):
    recenter.when(_kind)(_nothing)
for _kind in (Additive, Scaled, FreeBias, Imaged):
    norm1.when(_kind)(_zero)
