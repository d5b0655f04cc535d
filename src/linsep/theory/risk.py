"""What one pass says about new rows: from mistakes online to risk (002), if the rows are independent draws.

Each row is predicted before it is learned from, so that M mistakes in n rounds tell of the average risk rbar of the
hypotheses used, whatever the learner. E[M/n] = E[rbar], but M/n is only an estimate. For a fixed s > 0,
E[e^(-s·mistake)] = 1 - r(1 - e^-s) for a hypothesis of risk r, so that the product over the rounds of
e^(-s·mistake) / (1 - r_t(1 - e^-s)) is a martingale that starts at 1: by Ville's inequality it ever reaches
1/(pi_s delta) with probability pi_s delta at most. A union over a grid of s with priors pi_s that add up to 1, and the
concavity of the logarithm, give for all n at once, with probability 1 - delta at least,

    rbar_n <= [1 - exp(-(s M_n + ln(1/(pi_s delta)))/n)] / (1 - e^-s)    for every s of the grid.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

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
