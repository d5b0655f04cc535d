"""The Brier score of forecasts, what it is made of, and how far the empirical value may be from the expected one.

The square loss (h - y)², y being 1 or 0, is least in expectation where h is p = Pr[y = 1 | x], and what it has above
that is the distance of h from p: E(h - p)² = E(h - y)² - E(p - y)². On rows with equal forecasts the mean of y replaces
p, which decomposes the score (Murphy, 1973).
"""

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import rel_entr
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from linsep.engine.arrays import Array
from linsep.theory.bounds import check_probability

OFF = 1e-4
"""Tolerance of the sum 1 of a row's probabilities: in float32, sums over many classes are not exact."""
HALVINGS = 60


class Groups(NamedTuple):
    """Rows with the same forecast, or with forecasts of one bin, by rising forecast."""

    forecast: Array
    """The mean forecast of each group."""
    observed: Array
    """The share of its rows that came true."""
    weight: Array
    """Number of rows; with sample weights, their sum."""


class BrierParts(NamedTuple):
    """Parts of a Brier score from one class."""

    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float


class Brier(NamedTuple):
    """A Brier score: value = reliability - resolution + uncertainty + within_variance - within_covariance."""

    value: float
    """The mean of (h - y)²; of three classes or more, of its sum over the classes."""
    reliability: float
    """The mean of (h_g - ybar_g)² over rows, g being the row's group: 0 for forecasts that equal the frequencies."""
    resolution: float
    """The mean of (ybar_g - ybar)²: how well the groups separate rows."""
    uncertainty: float
    """ybar (1 - ybar): the score of saying ybar always."""
    within_variance: float
    """The mean variance of the forecasts within a bin; 0 in groups of equal forecasts."""
    within_covariance: float
    """Twice the mean covariance of forecast and outcome within a bin; 0 in groups of equal forecasts."""
    interval: tuple[float, float]
    """Interval of the expected value, with probability `confidence`."""
    confidence: float
    groups: tuple[Groups, ...]
    """One of the second class, if there are two; else one for each class."""


def brier_score(
    y: Any, p: Any, *, bins: int | None = None, labels: Any = None, sample_weight: Any = None, confidence: float = 0.95
) -> Brier:
    """Return the Brier score of probabilities, its decomposition and a confidence interval.

    On groups of equal forecasts h_g with weights n_g, of m in all, mean (h - y)² = sum of n_g/m [(h_g - ybar_g)² +
    ybar_g (1 - ybar_g)] = reliability - resolution + uncertainty. Forecasts that hardly repeat make groups of few rows,
    for which reliability and resolution are both too large; `bins` puts near forecasts together, by their mean, and two
    terms for what differs within a bin then make the sum exact (Stephenson, Coelho and Jolliffe, 2008). With three
    classes or more, each class is decomposed separately, and the terms are added.

    The interval holds the expected score of rows drawn independently, with at least the stated probability, for any
    number of rows and any distribution, if the forecasts were not learned from these rows. It is all v for which
    m kl(value, v) <= ln(2 / (1 - confidence)), kl being the relative entropy of two coins (Chernoff; Hoeffding, 1963),
    for losses divided by their largest, 1 for two classes and 2 for more. Weighted rows count as (sum of weights) /
    (largest weight), with which the proof goes through by convexity.

    Parameters
    ----------
    y : array, (rows,)
        The true labels.
    p : array, (rows,) or (rows, classes)
        The probability of the second class in sorted order; or of each class, as `predict_proba` returns them. Two
        columns are the same as the second alone.
    bins : int or None, default=None
        Groups of forecasts in equal steps from 0 to 1; None: rows with exactly the same forecast.
    labels : array, optional
        The classes in order, as in `classes_`; by default those that occur in y, or 0 and 1 (-1 and 1) where nothing
        else does.
    sample_weight : array, (rows,), optional
        Weights of the rows.
    confidence : float, default=0.95
        That of the interval.

    Returns
    -------
    Brier
        The value with its parts.

    Examples
    --------
    >>> score = brier_score([0, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8])
    >>> round(score.value, 4), [round(part, 4) for part in (score.reliability, score.resolution, score.uncertainty)]
    (0.24, [0.0178, 0.0278, 0.25])
    >>> score.groups[0].observed.round(2), [round(v, 2) for v in score.interval]
    (array([0.33, 0.67]), [0.01, 0.77])
    """
    check_probability(confidence=confidence)
    if bins is not None and bins < 1:
        raise ValueError(f"bins={bins}: there is one bin at least, or None for groups of equal forecasts")
    said, events = _forecasts(y, p, labels)
    weights = _check_sample_weight(sample_weight, said, dtype=np.float64, ensure_non_negative=True)
    total = float(weights.sum())
    if total == 0:
        raise ValueError("every row has weight zero: there is no score of nothing")
    present = weights > 0
    said, events, weights = said[present], events[present], weights[present] / total
    classes = said.shape[1]
    largest = 1.0 if classes == 1 else 2.0
    value = _at_most(largest, weights @ np.square(said - events).sum(axis=1))
    taken_apart = [_decompose(said[:, k], events[:, k], weights, bins) for k in range(classes)]
    parts = BrierParts(*(sum(terms) for terms in zip(*(each for each, _ in taken_apart), strict=True)))
    low, high = _coin_interval(value / largest, 1 / float(weights.max()), 1 - confidence)
    groups = tuple(of._replace(weight=of.weight * total) for _, of in taken_apart)
    return Brier(value, *parts, (largest * low, largest * high), confidence, groups)


def _decompose(said: Array, event: Array, weights: Array, bins: int | None) -> tuple[BrierParts, Groups]:
    """Return what one class adds to the score, and the groups; weights have the sum 1."""
    places = said if bins is None else np.minimum((said * bins).astype(np.intp), bins - 1)
    found, at = np.unique(places, return_inverse=True)
    share = np.bincount(at, weights)
    forecast = found if bins is None else np.bincount(at, weights * said) / share
    observed = np.bincount(at, weights * event) / share
    mean = _at_most(1.0, weights @ event)
    off = said - forecast[at]
    parts = BrierParts(
        reliability=_at_most(1.0, share @ np.square(forecast - observed)),
        resolution=float(share @ np.square(observed - mean)),
        uncertainty=mean * (1 - mean),
        within_variance=float(weights @ np.square(off)),
        within_covariance=2 * float(weights @ (off * (event - observed[at]))),
    )
    return parts, Groups(forecast, observed, share)


def _at_most(largest: float, mean: Any) -> float:
    """Return a mean of numbers up to the largest: the sum of rounded weights may be 1 + 2**-52."""
    return min(float(mean), largest)


def _coin_interval(mean: float, rows: float, doubt: float) -> tuple[float, float]:
    """Return the least and the largest v in [0, 1] with rows * kl(mean, v) <= ln(2 / doubt)."""
    most = log(2 / doubt) / rows

    def fits(v: float) -> bool:
        return bool(rel_entr(mean, v) + rel_entr(1 - mean, 1 - v) <= most)

    return _furthest(mean, 0.0, fits), _furthest(mean, 1.0, fits)


def _furthest(start: float, end: float, fits: Callable[[float], bool]) -> float:
    """Return the furthest point from start to end that fits, rounded towards the end."""
    if fits(end):
        return end
    inside, outside = start, end
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    return outside


def _forecasts(y: Any, p: Any, labels: Any) -> tuple[Array, Array]:
    """Return the forecasts of each class and the outcomes, (rows, 1) for two classes."""
    said = np.asarray(p, dtype=np.float64)
    if said.ndim not in (1, 2) or not said.size:
        raise ValueError(f"p has the shape {said.shape}: it is (rows,) or (rows, classes), one row at least")
    if not ((said >= 0) & (said <= 1)).all():
        place = tuple(np.argwhere(~((said >= 0) & (said <= 1)))[0].tolist())
        raise ValueError(f"p has {said[place]} at {place}: probabilities are between 0 and 1")
    truth = column_or_1d(y)
    if len(truth) != len(said):
        raise ValueError(f"y has {len(truth)} labels and p has {len(said)} rows: each row needs both")
    if said.ndim == 2 and said.shape[1] > 1 and (off := np.abs(said.sum(axis=1) - 1)).max() > OFF:
        row = int(np.argmax(off))
        raise ValueError(f"p of row {row} has the sum {said[row].sum():.6g}: the classes' probabilities have the sum 1")
    classes = _classes(truth, labels, 2 if said.ndim == 1 else said.shape[1])
    codes = np.searchsorted(classes, truth).clip(0, len(classes) - 1)
    if (strange := classes[codes] != truth).any():
        raise ValueError(f"y has the label {truth[strange].tolist()[0]!r}, which is not one of {classes.tolist()}")
    if len(classes) == 2:
        return (said if said.ndim == 1 else said[:, 1])[:, None], (codes == 1)[:, None].astype(np.float64)
    return said, (codes[:, None] == np.arange(len(classes))).astype(np.float64)


def _classes(truth: Array, labels: Any, width: int) -> Array:
    """Return the sorted classes that the columns represent."""
    if labels is not None:
        classes = column_or_1d(labels)
        if not np.array_equal(np.unique(classes), classes):
            raise ValueError("labels are the classes in sorted order, each once, as in classes_")
    else:
        classes = np.unique(truth)
        if width == 2 and len(classes) == 1 and classes[0] in (-1, 0, 1):
            classes = np.array([-1, 1]) if classes[0] == -1 else np.array([0, 1])
    if len(classes) != width:
        found = f"p is that of {width} classes, and y has {len(classes)}: {classes.tolist()}"
        raise ValueError(f"{found}; pass labels=, all classes in order")
    return classes
