"""Bounds on the risk, the probability of an error on a new row, if the rows are independent draws.

- :func:`held_out`: errors on rows that training never saw.
- :func:`anytime`: mistakes of one online pass.
- :func:`compression`: errors of a run's last weights, which follow from the rows of its mistakes.
- :func:`pac_bayes`: margins of any weights on the rows that trained them.

**One pass** (002). Each row is predicted before it is learned, so that M mistakes in n rounds bound the average risk
rbar of the hypotheses used, for any learner. E[M/n] = E[rbar], but M/n is only an estimate. For a fixed s > 0,
E[e^(-s·mistake)] = 1 - r(1 - e^-s) for a hypothesis of risk r, so that the product over the rounds of
e^(-s·mistake) / (1 - r_t(1 - e^-s)) is a martingale that starts at 1: by Ville's inequality it ever reaches
1/(pi_s delta) with probability pi_s delta at most. A union over a grid of s with priors pi_s that add up to 1, and the
concavity of the logarithm, give for all n at once, with probability 1 - delta at least,

    rbar_n <= [1 - exp(-(s M_n + ln(1/(pi_s delta)))/n)] / (1 - e^-s)    for every s of the grid.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp, rel_entr

from linsep.engine.arrays import Array
from linsep.theory.bounds import check_probability


class GridPoint(NamedTuple):
    """A point of a grid, both numbers exact."""

    s: Fraction
    prior: Fraction


WEIGHTS = {3: 10, 2: 2, 1: 4, 0: 5, -1: 8, -2: 11, -3: 7, -4: 4, -5: 3, -6: 2, -7: 2}
WEIGHTS |= dict.fromkeys(range(-8, -14, -1), 1)
"""Exponents e of s = 2^e with 64 times their priors.

The best s is near sqrt(2 ln(1/(pi_s delta))/M): large for few mistakes, 2^-13 for a billion. Steps of 2 make the excess
of the bound over M/n 6 % larger than the best s would, at most, and 2 % in the mean; the priors favour no
mistake, and tens to hundreds.
"""
GRID = tuple(GridPoint(Fraction(2) ** e, Fraction(weight, 64)) for e, weight in WEIGHTS.items())
"""The grid that is used unless another is stated: 17 points, both s and prior short dyadic numbers."""
MOST_POINTS = 64


class Anytime(NamedTuple):
    """A bound on risk that holds at all rounds at once, with the stated confidence."""

    bound: Array
    """On the average risk of the hypotheses up to each round, and so on the risk of one drawn at random; at most 1."""
    vote: Array
    """On the risk of their vote: twice that, since a vote is wrong only where half of them are."""


def estimate(mistakes: Any, rounds: Any) -> Array:
    """Return k/m, the mean of which is the expected risk of a hypothesis drawn at random; an estimate, not a bound.

    >>> float(estimate(12, 400))
    0.03
    """
    k, m = _counts(mistakes, rounds)
    return k / m


def anytime(mistakes: Any, rounds: Any, confidence: float = 0.95, grid: Sequence[GridPoint] = GRID) -> Anytime:
    """Return bounds on the average risk of the hypotheses of one pass, valid at all rounds at once.

    They assume that rows are independent draws from one distribution, each seen once; nothing else, and nothing of the
    learner. The average of the weights inherits no guarantee.

    Parameters
    ----------
    mistakes : int or array
        Mistakes up to and with a round.
    rounds : int or array
        The round, from 1.
    confidence : float, default=0.95
        The probability, at least, that no bound fails at any round.
    grid : sequence of GridPoint, optional
        Numbers s > 0 with priors that add up to 1, chosen before the rows are seen; 64 at most.

    Returns
    -------
    Anytime
        The bounds, of the shape of the arguments.

    Examples
    --------
    >>> found = anytime([0, 12, 12], [400, 400, 4000])
    >>> found.bound.round(4), found.vote.round(4)
    (array([0.0121, 0.0679, 0.0069]), array([0.0241, 0.1358, 0.0138]))
    """
    k, m = _counts(mistakes, rounds)
    check_probability(confidence=confidence)
    _check_grid(grid)
    bound = np.ones(k.shape)
    for s, prior in grid:
        cost = float(s) * k - np.log(float(prior)) - np.log1p(-confidence)
        np.minimum(bound, np.expm1(-cost / m) / np.expm1(-float(s)), out=bound)
    return Anytime(bound, np.minimum(2 * bound, 1.0))


def described(grid: Sequence[GridPoint] = GRID) -> list[list[str]]:
    """Return a grid as pairs of texts that `Fraction` reads, for a file from which anyone can recompute the bound.

    >>> described()[:3]
    [['8', '5/32'], ['4', '1/32'], ['2', '1/16']]
    """
    return [[str(s), str(prior)] for s, prior in grid]


def held_out(errors: int, rows: int, confidence: float = 0.95) -> float:
    """Return the exact upper limit of the risk of fixed weights, given their errors on new rows.

    The largest r with Pr[Bin(n, r) <= k] >= 1 - confidence (Clopper and Pearson, 1934).

    >>> round(held_out(0, 100), 4), round(held_out(5, 100), 4)  # 0 errors: 1 - 0.05^(1/100)
    (0.0295, 0.1023)
    """
    _counts(errors, rows)
    check_probability(confidence=confidence)
    return _upper_limit(errors, rows, log(1 - confidence))


def compression(errors: int, rows: int, kept: int, confidence: float = 0.95) -> float:
    """Return a bound on the risk of weights that training on some of the rows alone would have given.

    The last weights of a perceptron follow from the d distinct rows that it mistook: a run over these rows, in the same
    order, makes the same mistakes. So do those of any rule in which a row without an update changes nothing. The other
    n - d rows are then new to these weights. With e errors on them, the bound is the largest r with

        Pr[Bin(n - d, r) <= e] >= (1 - confidence) / (n C(n, d)),

    a union over the n sizes below n and the C(n, d) choices of d rows (Littlestone and Warmuth, 1986; Floyd and
    Warmuth, 1995). The order of the rows must not depend on the rows.

    Parameters
    ----------
    errors : int
        e, errors on the rows that never caused an update.
    rows : int
        n, all rows of training.
    kept : int
        d, the distinct rows that caused an update.
    confidence : float, default=0.95
        The probability, at least, that the bound holds.

    Returns
    -------
    float
        The bound, at most 1.

    Examples
    --------
    >>> round(compression(0, 1000, kept=10), 4), compression(0, 10, kept=10)
    (0.0624, 1.0)
    """
    _counts(kept, rows)
    check_probability(confidence=confidence)
    if not 0 <= errors <= rows - kept:
        raise ValueError(f"errors={errors}: errors are counted on the {rows - kept} rows without an update")
    if kept == rows:
        return 1.0
    choices = gammaln(rows + 1) - gammaln(kept + 1) - gammaln(rows - kept + 1)
    return _upper_limit(errors, rows - kept, log(1 - confidence) - log(rows) - float(choices))


class PacBayes(NamedTuple):
    """A bound on the risk of given weights."""

    bound: float
    """On the risk of the weights; at most 1."""
    randomised: float
    """On the risk of weights drawn from the normal distribution around them, again for each row."""
    scale: float
    """The length mu of the weights, in units of the standard deviation."""


SCALES = tuple(sqrt(2.0) ** k for k in range(-4, 25))
"""The lengths mu of which the best is used, each with an equal share of the doubt: from 1/4 to 4096."""


def pac_bayes(margins: Any, confidence: float = 0.95) -> PacBayes:
    """Return a bound on the risk of any weights, the average of a run included, by their margins on the training rows.

    Let Q be the normal distribution with mean mu w / ||w|| and covariance I. Weights drawn from Q err on row i with
    probability Phi(-mu g_i), g_i = y w·x_i / (||w|| ||x_i||). With e the mean of that, KL(Q, N(0, I)) = mu²/2, and

        kl(e, r) <= (mu²/2 + ln((n + 1)/delta)) / n

    bounds the risk r of such draws with probability 1 - delta (Langford and Shawe-Taylor, 2002). The risk of w is at
    most 2 r, as more than half of the draws err where w does.

    Parameters
    ----------
    margins : array, (rows,)
        The g_i of the training rows, from -1 to 1. A row of length 0 has 0.
    confidence : float, default=0.95
        The probability, at least, that the bound holds.

    Returns
    -------
    PacBayes

    Examples
    --------
    >>> found = pac_bayes(np.full(10_000, 0.5))
    >>> round(found.bound, 4), round(found.scale, 1)
    (0.0099, 8.0)
    """
    g = np.asarray(margins, np.float64)
    check_probability(confidence=confidence)
    if g.ndim != 1 or not len(g) or not (np.abs(g) <= 1 + 1e-9).all():
        raise ValueError("margins is an array of y w·x / (||w|| ||x||), one for each row: numbers from -1 to 1")
    doubt = log(len(SCALES)) + log(len(g) + 1) - log(1 - confidence)
    best = PacBayes(1.0, 1.0, SCALES[0])
    for scale in SCALES:
        error, most = float(np.exp(log_ndtr(-scale * g)).mean()), (scale * scale / 2 + doubt) / len(g)
        risk = _most_risk(error, most)
        if risk < best.randomised:
            best = PacBayes(min(1.0, 2 * risk), risk, scale)
    return best


def _upper_limit(errors: int, rows: int, log_doubt: float) -> float:
    """Return the largest r with ln Pr[Bin(rows, r) <= errors] >= log_doubt."""
    if errors == rows:
        return 1.0
    k = np.arange(errors + 1.0)
    choices = gammaln(rows + 1) - gammaln(k + 1) - gammaln(rows - k + 1)
    return _last(
        errors / rows, 1.0, lambda r: bool(logsumexp(choices + k * log(r) + (rows - k) * np.log1p(-r)) >= log_doubt)
    )


def _most_risk(error: float, most: float) -> float:
    """Return the largest r with kl(error, r) <= most."""
    return _last(error, 1.0, lambda r: bool(rel_entr(error, r) + rel_entr(1 - error, 1 - r) <= most))


def _last(start: float, end: float, holds: Callable[[float], bool]) -> float:
    """Return the end of the interval from `start` in which something holds, rounded up; it fails at `end`."""
    inside, outside = start, end
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside


def wilson(share: Any, rows: Any) -> tuple[Any, Any]:
    """Return Wilson's interval of 95 % for the expectation of a share of so many rows (Wilson, 1927).

    scipy.stats.binomtest has the same interval, and takes about a second to import.

    >>> low, high = wilson(0.07, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.034, 0.137)
    """
    z = 1.959964
    middle, half = share + z * z / (2 * rows), z * np.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    return (middle - half) / (1 + z * z / rows), (middle + half) / (1 + z * z / rows)


def _counts(mistakes: Any, rounds: Any) -> tuple[Array, Array]:
    k, m = np.broadcast_arrays(np.asarray(mistakes, dtype=np.float64), np.asarray(rounds, dtype=np.float64))
    if not np.all((m >= 1) & np.isfinite(m) & (k >= 0) & (k <= m)):
        raise ValueError("mistakes are between 0 and rounds, and rounds are 1 or more: count both from the start")
    return k, m


def _check_grid(grid: Sequence[GridPoint]) -> None:
    if not 1 <= len(grid) <= MOST_POINTS:
        raise ValueError(f"a grid of {len(grid)} points: it has 1 to {MOST_POINTS}")
    if any(s <= 0 or prior <= 0 for s, prior in grid) or sum(prior for _, prior in grid) != 1:
        raise ValueError("a grid has s > 0 with priors above 0 that add up to 1 exactly: state them as Fractions")
