"""Links: what the accumulated sums s mean as weights, w = link(s).

| link          | weights of a column                        | learner                          |
|---------------|--------------------------------------------|----------------------------------|
| `Additive`    | w = s                                      | perceptron, passive-aggressive   |
| `Scaled`      | w = scale * s, with ||w||² kept up to date | rules that shrink; ROMMA         |
| `Exponential` | w = softmax(rate * s)                      | Winnow                           |
| `Sinh`        | w ~ sinh(rate * s)                         | balanced Winnow, in p weights    |
| `PNorm`       | w ~ sign(s) |s|^power, power = p - 1       | p-norm perceptron                |

Sums are arrays (features + 1, columns); the last row is the bias. A *machine* is a range `lo:hi` of columns that
share one state: one column for a binary machine or a class against the rest, all of them for class pairs.

The last three links keep, beside s, its image e^{rate (s - origin)} (or its like) so that a row without a mistake costs
one sum of products. The image is a function of (s, origin) alone. It may overflow or vanish: then the row's score
leaves the range :func:`trusted`, the row is scored again relative to its own highest sum, and once such rows have
cost as much as a new image of the whole column, the origin moves to the highest sum (:data:`tend`). Any rate is thus
safe, at a cost that stays proportional to the nonzeros.
"""

from math import exp, expm1, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linsep.core.examples import Span, squared
from linsep.core.verbs import cold, verb, word

Array = NDArray[Any]

SMALLEST, LARGEST = 2.0**-900, 2.0**1000
SCALE_LIMIT = 1e100
REMEASURE = 1_000_000


class Additive(NamedTuple):
    """w = s."""

    s: Array


class Scaled(NamedTuple):
    """w = scale * s, folded into s when the scale leaves (floor, 1e100).

    `norm2` is ||w||² of each machine and `age` its updates since that was last measured, if `normed`.
    """

    s: Array
    scale: Array
    norm2: Array
    age: Array
    floor: float
    normed: bool


class Exponential(NamedTuple):
    """Winnow: w_j = e^{rate s_j} / Z. The bias row stands for two weights, of the features +bias and -bias."""

    s: Array
    image: Array
    origin: Array
    debt: Array
    rate: float


class Sinh(NamedTuple):
    """Balanced Winnow: w_j = (e^{rate s_j} - e^{-rate s_j}) / Z."""

    s: Array
    image: Array
    origin: Array
    debt: Array
    rate: float


class PNorm(NamedTuple):
    """The p-norm perceptron: w_j = sign(s_j) |s_j|^power / Z with power = p - 1."""

    s: Array
    image: Array
    origin: Array
    debt: Array
    power: float


IMAGED = (Exponential, Sinh, PNorm)

read = verb(0)
"""read(w): the array whose products with x are summed for a score."""
touch = verb(0)
"""touch(w, j, c, d): add d to s[j, c]."""
factor = verb(0)
"""factor(w, c): what the sums of column c are multiplied with."""
norm2 = verb(0)
"""norm2(w, lo): ||w||² of the machine that begins at column lo, where the link keeps it; else 0."""
scale_by = verb(0)
"""scale_by(w, lo, hi, keep): multiply the machine's weights with keep, which is neither 0 nor 1."""
needs_fold = verb(0)
"""needs_fold(w, lo): whether the machine's scale has left the range in which it is accurate."""
fold = verb(0)
"""fold(w, lo, hi, factor): multiply s with factor, set the scale to 1 and measure ||w||² again."""
measure = verb(0)
"""measure(w, lo, amount, score, data, x, copies): bring ||w||² up to date before amount * x is added, copies times in
the machine (+x to one class and -x to another are two); score is what the weights give x."""
image_of = verb(0)
"""image_of(w, j, s, origin): the weight of a sum s in row j, up to the positive factor that origin stands for."""
ratio = verb(0)
"""ratio(w, own, origin): the factor from images relative to `own` to images relative to `origin`."""
peak = verb(0)
"""peak(w, j, s): the origin relative to which the image of s is at most 1."""
tend = verb(0)
"""tend(w, lo, hi): move the machine's origin once its rescored rows have cost as much as that does."""


@word
def trusted(score: float) -> bool:
    """Tell whether a score computed from the image is far from overflow and underflow."""
    return SMALLEST < abs(score) < LARGEST


@read.when(Additive)
@read.when(Scaled)
def _(w: Additive | Scaled) -> Array:
    return w.s


@touch.when(Additive)
@touch.when(Scaled)
def _(w: Additive | Scaled, j: int, c: int, d: float) -> None:
    w.s[j, c] += d


@factor.when(Scaled)
def _(w: Scaled, c: int) -> float:
    return w.scale[c]


@norm2.when(Scaled)
def _(w: Scaled, lo: int) -> float:
    return w.norm2[lo]


@scale_by.when(Scaled)
def _(w: Scaled, lo: int, hi: int, keep: float) -> None:
    for c in range(lo, hi):
        w.scale[c] *= keep
    w.norm2[lo] *= keep * keep


@needs_fold.when(Scaled)
def _(w: Scaled, lo: int) -> bool:
    return not w.floor < abs(w.scale[lo]) < SCALE_LIMIT or w.age[lo] >= REMEASURE


@fold.when(Scaled)
def _(w: Scaled, lo: int, hi: int, factor: float) -> None:
    z = 0.0
    for j in range(w.s.shape[0]):
        for c in range(lo, hi):
            w.s[j, c] *= factor
            z += w.s[j, c] * w.s[j, c]
    for c in range(lo, hi):
        w.scale[c] = 1.0
    w.norm2[lo] = z
    w.age[lo] = 0


@measure.when(Scaled)
def _(w: Scaled, lo: int, amount: float, score: float, X: Any, x: Span, copies: float) -> None:
    if w.normed:
        w.norm2[lo] += 2 * amount * score + amount * amount * copies * squared(X, x)
        w.age[lo] += 1


@image_of.when(Exponential)
def _(w: Exponential, j: int, s: float, origin: float) -> float:
    if is_bias(w, j):
        return two_sided(w.rate, s, origin)
    return exp_or_inf(w.rate * (s - origin))


@image_of.when(Sinh)
def _(w: Sinh, j: int, s: float, origin: float) -> float:
    return two_sided(w.rate, s, origin)


@image_of.when(PNorm)
def _(w: PNorm, j: int, s: float, origin: float) -> float:
    if s == 0:
        return 0.0
    size = exp_or_inf(w.power * np.log(abs(s) / origin))
    return size if s > 0 else -size


@ratio.when(Exponential)
@ratio.when(Sinh)
def _(w: Exponential | Sinh, own: float, origin: float) -> float:
    return exp_or_inf(w.rate * (own - origin))


@ratio.when(PNorm)
def _(w: PNorm, own: float, origin: float) -> float:
    return exp_or_inf(w.power * np.log(own / origin))


@peak.when(Exponential)
def _(w: Exponential, j: int, s: float) -> float:
    return abs(s) if is_bias(w, j) else s


@peak.when(Sinh)
def _(w: Sinh, j: int, s: float) -> float:
    return abs(s)


@peak.when(PNorm)
def _(w: PNorm, j: int, s: float) -> float:
    return max(abs(s), SMALLEST)


@word
def is_bias(w: Any, j: int) -> bool:
    """Tell whether row j of the sums is the bias."""
    return np.intp(j) == w.s.shape[0] - 1


@word
def exp_or_inf(a: float) -> float:
    """Return e^a, infinity where Python's own would raise."""
    return exp(a) if a < 709.0 else inf


@word
def two_sided(rate: float, s: float, origin: float) -> float:
    """Return e^{rate (s - origin)} - e^{rate (-s - origin)} without cancellation near s = 0."""
    size = exp_or_inf(rate * (abs(s) - origin)) * -expm1(-2 * rate * abs(s))
    return size if s >= 0 else -size


def _imaged_read(w: Any) -> Array:
    return w.image


def _imaged_touch(w: Any, j: int, c: int, d: float) -> None:
    s = w.s[j, c] + d
    w.s[j, c] = s
    w.image[j, c] = image_of(w, j, s, w.origin[c])


def _imaged_tend(w: Any, lo: int, hi: int) -> None:
    if w.debt[lo] >= w.s.shape[0] * (hi - lo):
        move_origin(w, lo, hi)


@cold
def move_origin(w: Any, lo: int, hi: int) -> None:
    """Put a machine's origin at its highest sum and take the image anew."""
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
for _kind in (Additive, *IMAGED):
    factor.when(_kind)(_one)
    norm2.when(_kind)(_zero)
    needs_fold.when(_kind)(_no)
    for _verb in (scale_by, fold, measure):
        _verb.when(_kind)(_nothing)
for _kind in IMAGED:
    read.when(_kind)(_imaged_read)
    touch.when(_kind)(_imaged_touch)
    tend.when(_kind)(_imaged_tend)
for _kind in (Additive, Scaled):
    tend.when(_kind)(_nothing)
