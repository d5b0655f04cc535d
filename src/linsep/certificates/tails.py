"""Bounds on the risk, the probability of an error on a new row, that are true to the last digit stated.

Sums and powers are computed with 50 digits, rounded so that each bound can only become larger. A bound is a multiple
of 1e-9. This file imports nothing of linsep.
"""

import math
from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

UP, DOWN = (Context(50, way, MIN_EMIN, MAX_EMAX) for way in (ROUND_CEILING, ROUND_FLOOR))
PARTS = 10**9
"""Risks are multiples of 1 / PARTS."""
GRID = 1024
"""Margins are rounded down to multiples of 1 / GRID."""
SCALES = range(-4, 25)
"""The k of the lengths 2^(k/2) of a mean of normal weights; each has an equal share of the doubt."""
PI = Decimal("3.14159265358979323846264338327950288419716939937510")
MARGIN = Decimal("1e-20")
"""Addition to a probability of the normal distribution, much larger than its rounding."""
MOST_EXACT = 1 << 13
"""Binomial coefficients of n and k are computed as integers up to this k."""
FAR = Decimal(7)
"""Beyond this, erfc is below 1e-20."""


def real(q: Fraction | int, way: Context) -> Decimal:
    """Return a number of 50 digits, rounded up or down."""
    return way.divide(*(way.plus(Decimal(part)) for part in Fraction(q).as_integer_ratio()))


def share(parts: int) -> Decimal:
    """Return a multiple of 1 / PARTS, exactly."""
    return UP.divide(Decimal(parts), Decimal(PARTS))


def factorial_log(n: int, way: Context) -> Decimal:
    """Return ln n! from above or below, by Stirling's series: off by at most 1 / (360 n³)."""
    least, most = Fraction(1, 12 * n) - Fraction(1, 360 * n**3), Fraction(1, 12 * n)
    log = [
        way.next_plus(v) if way is UP else way.next_minus(v)
        for v in (way.ln(Decimal(n)), way.ln(way.multiply(Decimal(2), PI)))
    ]
    parts = way.multiply(Decimal(n), log[0]), way.divide(way.add(*log), Decimal(2)), Decimal(-n)
    return way.add(way.add(parts[0], parts[1]), way.add(parts[2], real(most if way is UP else least, way)))


def choices_log(n: int, k: int) -> Decimal:
    """Return ln C(n, k), rounded up: exactly, or by Stirling's series where the number would be too long."""
    if min(k, n - k) > MOST_EXACT:
        return UP.subtract(factorial_log(n, UP), DOWN.add(factorial_log(k, DOWN), factorial_log(n - k, DOWN)))
    count = math.comb(n, k)
    beyond = max(count.bit_length() - 200, 0)
    rest = UP.multiply(Decimal(beyond), UP.next_plus(UP.ln(Decimal(2))))
    return UP.add(UP.next_plus(UP.ln(Decimal((count >> beyond) + bool(beyond)))), rest)


def least(holds: Callable[[int], bool], start: int) -> Fraction:
    """Return the least multiple of 1 / PARTS, from start on, from which something holds that holds at 1 at least."""
    fails, found = start, PARTS
    while found - fails > 1:
        middle = (fails + found) // 2
        fails, found = (fails, middle) if holds(middle) else (middle, found)
    return Fraction(found, PARTS)


def binomial_limit(errors: int, rows: int, doubt_log: Decimal) -> Fraction:
    """Return a risk r with Pr[Bin(rows, r) <= errors] < e^doubt_log: no larger one explains so few errors.

    Examples
    --------
    >>> float(binomial_limit(0, 100, Decimal("0.05").ln())), float(binomial_limit(5, 100, Decimal("0.05").ln()))
    (0.02951305, 0.102253378)
    """
    if errors >= rows:
        return Fraction(1)
    count_log = choices_log(rows, errors)

    def rare(parts: int) -> bool:
        r, s = share(parts), share(PARTS - parts)
        logs = [UP.multiply(Decimal(k), UP.next_plus(UP.ln(q))) for k, q in ((errors, r), (rows - errors, s))]
        rest = DOWN.subtract(doubt_log, UP.add(count_log, UP.add(*logs)))
        most = DOWN.next_minus(DOWN.exp(rest))  # the sum of terms, divided by the first, is to be less
        total = term = Decimal(1)
        for k in range(errors, 0, -1):
            ratio = UP.divide(UP.multiply(Decimal(k), s), DOWN.multiply(Decimal(rows - k + 1), r))
            if ratio >= 1:
                return False
            term = UP.multiply(term, ratio)
            total = UP.add(total, term)
            if total >= most:
                return False
            if term < UP.scaleb(total, -45):
                total = UP.add(total, UP.divide(term, DOWN.subtract(Decimal(1), ratio)))
                break
        return total < most

    return least(rare, errors * PARTS // rows)


def price_of(bias: float) -> int:
    """Return the inverse of the share of the doubt that a constant feature has, as it may be chosen by the rows.

    0 and 1 have a quarter each, and the floats of 64 bits have half of it together.
    """
    return 4 if bias in (0.0, 1.0) else 1 << 65


def doubt_of_compression(confidence: float, rows: int, kept: int, passes: int, bias: float) -> Decimal:
    """Return the logarithm of (1 - confidence) / (n C(n, d) T (T + 1) price), rounded down."""
    parts = rows * passes * (passes + 1) * price_of(bias)
    shares = UP.add(choices_log(rows, kept), UP.next_plus(UP.ln(Decimal(parts))))
    return DOWN.subtract(DOWN.next_minus(DOWN.ln(real(1 - Fraction(confidence), DOWN))), shares)


def doubt_of(confidence: float) -> Decimal:
    """Return the logarithm of 1 - confidence, rounded down."""
    return DOWN.next_minus(DOWN.ln(real(1 - Fraction(confidence), DOWN)))


def normal_tail(x: Decimal) -> Decimal:
    """Return Pr[N(0, 1) > x], rounded up.

    Examples
    --------
    >>> float(normal_tail(Decimal(0))), round(float(normal_tail(Decimal("1.6448536"))), 6)
    (0.5, 0.05)
    """
    z = UP.divide(x.copy_abs(), UP.sqrt(Decimal(2)))
    if z >= FAR:
        return MARGIN if x > 0 else Decimal(1)
    term = total = z
    for n in range(1, 1000):
        term = UP.divide(UP.multiply(term, UP.multiply(Decimal(2), UP.multiply(z, z))), Decimal(2 * n + 1))
        total = UP.add(total, term)
        if term < Decimal("1e-45"):
            break
    inside = UP.divide(
        UP.multiply(total, UP.exp(UP.multiply(z.copy_negate(), z))), UP.sqrt(PI)
    )  # half of erf, to 1e-40
    return UP.add(Decimal("0.5"), UP.add(inside.copy_negate() if x > 0 else inside, MARGIN))


def pac_bayes_limit(
    counts: Iterable[tuple[int, int]], wrong: int, confidence: float, scale: int, bias: float
) -> Fraction:
    """Return twice the largest r with kl(e, r) <= (mu²/2 + ln(29 (n + 1) price / delta)) / n, mu = 2^(scale/2).

    Parameters
    ----------
    counts : pairs of integers
        Margins, in units of 1 / GRID, and how many rows have them: e is the mean of Phi(-mu margin).
    wrong : int
        Rows of length 0: any weights err on them.
    confidence : float
        1 - delta.
    scale : int
        Of `SCALES`.
    bias : float
        The constant feature's value, which has a price.

    Examples
    --------
    >>> float(pac_bayes_limit([(512, 10_000)], 0, 0.95, 6, 1.0))
    0.010...
    """
    mu, n, total = UP.sqrt(real(Fraction(2) ** scale, UP)), wrong, Decimal(wrong)
    for margin, rows in counts:
        x = (DOWN if margin > 0 else UP).multiply(mu, UP.divide(Decimal(margin), Decimal(GRID)))
        total, n = UP.add(total, UP.multiply(Decimal(rows), normal_tail(x))), n + rows
    e = min(UP.divide(total, Decimal(n)), Decimal(1))
    cost = UP.add(
        real(Fraction(2) ** scale / 2, UP), UP.next_plus(UP.ln(Decimal(len(SCALES) * (n + 1) * price_of(bias))))
    )
    most = UP.divide(UP.subtract(cost, doubt_of(confidence)), Decimal(n))

    def far(parts: int) -> bool:
        r, kl = share(parts), Decimal(0)
        for q, of in (e, r), (DOWN.subtract(Decimal(1), e), share(PARTS - parts)):
            kl = DOWN.add(kl, DOWN.multiply(q, DOWN.subtract(q.ln(DOWN), of.ln(UP))) if q else Decimal(0))
        return r > e and kl > UP.add(most, MARGIN)

    start = min(int(UP.multiply(e, Decimal(PARTS))), PARTS - 1)
    return min(2 * least(far, start), Fraction(1))
