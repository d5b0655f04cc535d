"""Mistake bounds, each the formula of its theorem: plain numbers in, a plain number out.

R is the largest norm of a row, a margin the least y u·x over the rows for the u that the theorem speaks of, k the
number of mistakes. A vacuous bound is inf. These are floats, to be read and drawn: what a certificate claims
is recomputed from the data in exact arithmetic.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple


def perceptron(radius: float, margin: float) -> float:
    """Return (R/gamma)², gamma being the margin of a unit u (Novikoff, 1962).

    Tight: on x_i = e_i, all of label +1, the perceptron makes p mistakes; R = 1 and gamma = 1/sqrt(p).

    >>> perceptron(2.0, 0.5)
    16.0
    """
    _check_positive(radius=radius, margin=margin)
    return _square(radius / margin)


def weighted_mistakes(weights: Iterable[float]) -> float:
    """Return (sum of c)² / (sum of c²), which is at most (R/gamma)² for the weights c of the rows mistaken.

    It is the number of mistakes where all weigh the same, and less otherwise: no stronger bound holds for the
    perceptron that multiplies each update by its row's weight.

    >>> weighted_mistakes([2.0, 2.0, 2.0]), weighted_mistakes([3.0, 1.0])
    (3.0, 1.6)
    """
    weights = [float(c) for c in weights]
    for c in weights:
        _check_at_least_0(weights=c)
    largest = max(weights, default=0.0)
    if not largest:
        return 0.0
    shares = [c / largest for c in weights]
    return _square(math.fsum(shares)) / math.fsum(share * share for share in shares)


def with_bias(radius: float, margin: float, bias: float, value: float | None = None) -> float:
    """Return (R²+beta²)(1+b²/beta²)/gamma²: the perceptron's bound with a constant feature of value beta.

    gamma is the margin of u·x + b for a unit u. By default beta is the best, `best_bias`, which makes the bound
    ((R+|b|)/gamma)².

    >>> with_bias(3.0, 0.5, bias=-1.0), with_bias(3.0, 0.5, bias=-1.0, value=1.0)
    (64.0, 80.0)
    """
    _check_positive(radius=radius, margin=margin)
    _check_finite(bias=bias)
    if value is None:
        return _square((radius + abs(bias)) / margin)
    _check_positive(value=value)
    return _square(math.hypot(radius, value) / margin * math.hypot(1.0, bias / value))


def best_bias(radius: float, bias: float) -> float:
    """Return the beta of the least bound `with_bias`: beta² = R|b|; 0, no constant feature, where b = 0.

    >>> best_bias(4.0, bias=-1.0)
    2.0
    """
    _check_positive(radius=radius)
    _check_finite(bias=bias)
    return math.sqrt(radius) * math.sqrt(abs(bias))


def delta_trick(radius: float, margin: float, shortfall: float, passes: int = 1) -> float:
    """Return ((R + sqrt(T) D)/gamma)² for T passes over any data (Freund and Schapire, 1999, Theorem 2).

    u is any unit vector, gamma > 0 any number, and D the norm of the shortfalls d_i = (gamma - y_i u·x_i)+, one for
    each row. D = 0 is Novikoff's bound.

    >>> delta_trick(3.0, 0.5, shortfall=1.0), delta_trick(3.0, 0.5, shortfall=1.0, passes=4)
    (64.0, 100.0)
    """
    _check_positive(radius=radius, margin=margin)
    _check_at_least_0(shortfall=shortfall)
    check_counts(passes=passes)
    return _square((radius + math.sqrt(passes) * shortfall) / margin)


def regret(radius: float, norm: float, losses: float) -> float:
    """Return the perceptron's most mistakes against any fixed w: sqrt(k) <= (R||w|| + sqrt(R²||w||² + 4L))/2.

    L is the sum of w's hinge losses (1 - y w·x)+ over the rounds with a mistake. L = 0 is Novikoff's bound.

    >>> regret(1.0, 3.0, losses=0.0), regret(1.0, 3.0, losses=4.0)
    (9.0, 16.0)
    """
    _check_positive(radius=radius)
    _check_at_least_0(norm=norm, losses=losses)
    return _square((radius * norm + math.hypot(radius * norm, 2 * math.sqrt(losses))) / 2)


def shifting(radius: float, norm: float, path: float, losses: float) -> float:
    """Return the perceptron's most mistakes against weights u_1, ..., u_k that change from mistake to mistake.

    sqrt(k) <= (R B + sqrt(R² B² + 4L))/2 for B = ||u_k|| + sum of ||u_i - u_{i-1}||, and L the sum of the hinge losses
    (1 - y u_i·x)+ over the mistakes. The sum v of the first i mistakes has v_i·u_i = v_{i-1}·u_{i-1} + y u_i·x +
    v_{i-1}·(u_i - u_{i-1}); add them up, with ||v_i|| <= R sqrt(k). A path of length 0 is :func:`regret`.

    Parameters
    ----------
    radius : float
        R.
    norm : float
        ||u_k||, of the last of the weights.
    path : float
        The sum of ||u_i - u_{i-1}||.
    losses : float
        L.

    Examples
    --------
    >>> shifting(1.0, 2.0, path=1.0, losses=4.0) == regret(1.0, 3.0, losses=4.0)
    True
    """
    _check_at_least_0(norm=norm, path=path)
    return regret(radius, norm + path, losses)


def shifting_delta_trick(radius: float, norm: float, path: float, shortfall: float) -> float:
    """Return (R B + D)², the perceptron's most mistakes against weights u_1, u_2, ... that change from round to round.

    B = ||u_n|| + sum of ||u_t - u_{t-1}||, and D is the norm of the losses (1 - y u_t·x)+ of all rounds. By the proof
    of :func:`shifting`, k <= R sqrt(k) B + L; and by the inequality of Cauchy and Schwarz, the losses of the mistakes
    add up to L <= sqrt(k) D. A path of length 0 is :func:`delta_trick` for one pass.

    >>> shifting_delta_trick(3.0, 2.0, path=0.0, shortfall=2.0) == delta_trick(3.0, 0.5, shortfall=1.0)
    True
    """
    _check_at_least_0(norm=norm, path=path, shortfall=shortfall)
    _check_positive(radius=radius)
    return _square(radius * (norm + path) + shortfall)


def winnow(features: int, margin: float, entries: float = 1.0, rate: float | None = None) -> float:
    """Return ln p / L(eta), u >= 0 being of sum 1 with margin delta, and |x_j| up to `entries` (Littlestone, 1988).

    L is `fall`, by default at the best rate; where it is not above 0 the theorem is vacuous: inf. A constant feature
    is two, +beta and -beta, among the p. Where delta = entries, the bound is log2 p.

    >>> round(winnow(1000, 0.5), 1), round(winnow(1000, 0.5, rate=0.5), 1), winnow(1000, 0.5, rate=2.0)
    (52.8, 53.2, inf)
    >>> winnow(1024, 1.0)
    10.0
    """
    return winnow_with_noise(features, margin, 0.0, entries, rate)


def balanced_winnow(
    features: int, margin: float, entries: float = 1.0, rate: float | None = None, bias: bool = False
) -> float:
    """Return ln 2p / L(eta), or ln(2p + 2) / L(eta) with a constant feature: u of any signs, ||u||_1 = 1.

    >>> balanced_winnow(512, 1.0) == winnow(1024, 1.0), balanced_winnow(511, 0.5, bias=True) == winnow(1024, 0.5)
    (True, True)
    """
    check_counts(features=features)
    return winnow(2 * features + 2 * bool(bias), margin, entries, rate)


def winnow_with_noise(
    features: int, margin: float, shortfall: float, entries: float = 1.0, rate: float | None = None
) -> float:
    """Return (ln p + eta S) / L(eta), S being the sum of (delta - y u·x)+ over the mistakes; delta may be any.

    By default at the rate that is the best without noise.

    >>> round(winnow_with_noise(1000, 0.5, shortfall=4.0), 1)
    69.6
    """
    check_counts(features=features)
    _check_at_least_0(shortfall=shortfall)
    falling = fall(margin, entries, rate)
    if falling <= 0:
        return math.inf
    eta = best_rate(margin, entries) if rate is None else rate
    return (math.log(features) + (eta * shortfall if shortfall else 0.0)) / falling


def best_rate(margin: float, entries: float = 1.0) -> float:
    """Return eta* = ln((X + delta)/(X - delta)) / (2X), X being `entries`: of the least bound `winnow`.

    >>> round(best_rate(0.6), 6)  # half of ln 4
    0.693147
    """
    _check_within(margin, entries)
    return math.log((entries + margin) / (entries - margin)) / (2 * entries) if margin < entries else math.inf


def fall(margin: float, entries: float = 1.0, rate: float | None = None) -> float:
    """Return L = eta delta - ln cosh(eta X), X being `entries`: what each mistake takes from Winnow's potential.

    By default at the best rate: with d = delta/X, L* = ((1+d) ln(1+d) + (1-d) ln(1-d))/2, which is at least d²/2.

    >>> fall(0.5) > 0.5**2 / 2, fall(0.5, rate=10.0) > 0
    (True, False)
    """
    _check_within(margin, entries)
    d = margin / entries
    if rate is None:
        return (math.log1p(-d * d) + 2 * d * math.atanh(d)) / 2 if d < 1 else math.log(2)
    _check_positive(rate=rate)
    z = rate * entries
    log_cosh = math.log1p(math.sinh(z) ** 2) / 2 if z < 1 else z + math.log1p(math.exp(-2 * z)) - math.log(2)
    return z * d - log_cosh


def p_norm(p: float, radius: float, margin: float, norm: float = 1.0) -> float:
    """Return (p-1) ||u||_q² X_p² / margin², 1/p + 1/q = 1 (Grove, Littlestone and Schuurmans, 2001; Gentile, 2003).

    `radius` is X_p, the largest ||x||_p, and `norm` is ||u||_q. p = 2 is the perceptron; p near 2 ln N acts as Winnow.

    >>> p_norm(2.0, 2.0, 0.5) == perceptron(2.0, 0.5), p_norm(3.0, 2.0, 0.5)
    (True, 32.0)
    """
    if not 2 <= p < math.inf:
        raise ValueError(f"p={p}: the p-norm perceptron has a finite p of 2 or more")
    _check_positive(radius=radius, margin=margin, norm=norm)
    return (p - 1) * _square(norm * radius / margin)


def passive_aggressive(radius: float, norm: float) -> float:
    """Return R²||u||², the most that squared losses (1 - y w·x)+² add up to, if y u·x >= 1 for all rows.

    A mistake's loss is 1 at least, so that it bounds mistakes, too (Crammer et al., 2006, Theorem 2).

    >>> passive_aggressive(2.0, 3.0)
    36.0
    """
    _check_positive(radius=radius)
    _check_at_least_0(norm=norm)
    return _square(radius * norm)


def passive_aggressive_1(radius: float, norm: float, aggressiveness: float, losses: float) -> float:
    """Return max(R², 1/C)(||u||² + 2C sum of l*): mistakes of PA-I against any u (Crammer et al., 2006, Theorem 4).

    `losses` is the sum of u's hinge losses l* over all rounds.

    >>> passive_aggressive_1(2.0, 3.0, aggressiveness=1.0, losses=0.5)
    40.0
    """
    _check_positive(radius=radius, aggressiveness=aggressiveness)
    _check_at_least_0(norm=norm, losses=losses)
    return max(_square(radius), 1 / aggressiveness) * (_square(norm) + 2 * aggressiveness * losses)


def passive_aggressive_2(radius: float, norm: float, aggressiveness: float, squared_losses: float) -> float:
    """Return (R² + 1/(2C))(||u||² + 2C sum of l*²): squared losses of PA-II (Crammer et al., 2006, Theorem 5).

    `squared_losses` is the sum of the squares of u's hinge losses over all rounds; what is bounded bounds mistakes.

    >>> passive_aggressive_2(2.0, 3.0, aggressiveness=0.5, squared_losses=1.0)
    50.0
    """
    _check_positive(radius=radius, aggressiveness=aggressiveness)
    _check_at_least_0(norm=norm, squared_losses=squared_losses)
    return (_square(radius) + 1 / (2 * aggressiveness)) * (_square(norm) + 2 * aggressiveness * squared_losses)


def romma(radius: float, norm: float) -> float:
    """Return R²||u||², the most mistakes of ROMMA if y u·x >= 1 for all rows (Li and Long, 2002): the perceptron's.

    >>> romma(2.0, 3.0)
    36.0
    """
    return passive_aggressive(radius, norm)


def multiclass_pairs(radius: float, margin: float) -> float:
    """Return 2R²/gamma²: (U_y - U_r)·x >= gamma for every wrong class r, ||U||_F = 1 (Crammer and Singer, 2003).

    >>> multiclass_pairs(2.0, 0.5)
    32.0
    """
    return 2 * perceptron(radius, margin)


class Comparison(NamedTuple):
    """Two bounds for the same target."""

    perceptron: float
    winnow: float


def majority(k: int, features: int) -> Comparison:
    """Return kN and 2k² ln N: both bounds for a majority of k among N features of values -1 and +1, k odd.

    Winnow's is the smaller iff k < N/(2 ln N).

    >>> few, many = majority(3, 1000), majority(201, 1000)
    >>> few.perceptron, round(few.winnow), many.winnow < many.perceptron
    (3000.0, 124, False)
    """
    check_counts(k=k, features=features)
    if k % 2 == 0 or k > features:
        raise ValueError(f"k={k} of features={features}: a majority is of an odd number of them")
    return Comparison(float(k * features), 2.0 * k * k * math.log(features))


def sample_size(epsilon: float, delta: float, dimension: int) -> int:
    """Return rows that suffice for any consistent learner: error above epsilon has probability delta at most.

    m >= max((4/epsilon) log2(2/delta), (8V/epsilon) log2(13/epsilon)), V the VC dimension (Blumer, Ehrenfeucht,
    Haussler and Warmuth, 1989). The rows are drawn independently, and some member of the class makes no error.

    Examples
    --------
    >>> sample_size(0.1, 0.05, dimension=3)
    1686
    """
    check_probability(epsilon=epsilon, delta=delta)
    check_counts(dimension=dimension)
    return math.ceil(max(4 / epsilon * math.log2(2 / delta), 8 * dimension / epsilon * math.log2(13 / epsilon)))


def _square(value: float) -> float:
    return value * value


def _check_within(margin: float, entries: float) -> None:
    _check_positive(margin=margin, entries=entries)
    if margin > entries:
        raise ValueError(
            f"margin={margin} with entries={entries}: no u of ||u||_1 = 1 has a margin above the largest entry; "
            "divide the margin by ||u||_1, or state the entries' size"
        )


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name}={value}: a finite number above 0 is needed")


def _check_at_least_0(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name}={value}: a finite number, 0 or more, is needed")


def _check_finite(**values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{name}={value}: a finite number is needed")


def check_counts(**values: int) -> None:
    """Raise a ValueError where a number is not a whole one, 1 or more."""
    for name, value in values.items():
        if value != int(value) or value < 1:
            raise ValueError(f"{name}={value}: a whole number, 1 or more, is needed")


def check_probability(**values: float) -> None:
    """Raise a ValueError where a number is not between 0 and 1."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name}={value}: it is a probability between 0 and 1, as 0.95 or 0.05")
