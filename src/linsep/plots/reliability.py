"""The reliability diagram: predictions with probability 0.7 should come true in 7 of 10 cases."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import column_or_1d

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import codes_of, labels_of, same_length
from linsep.theory.risk import wilson

STRIP = 0.2
"""The height below 0 of the strip that shows the number of rows of each point."""
MOST_NUMBERS = 12


class Claims(NamedTuple):
    """Predicted probabilities, whether each prediction came true, and the Brier score."""

    said: Array
    came_true: Array
    brier: float
    across: str
    up: str


def calibration(y: Any, probability: Any, *, labels: Any = None, bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw how often predictions came true against the probability that they were given, on the diagonal if rightly.

    Rows are grouped by probability in equal steps; a point is the mean of a group, the bar through it Wilson's interval
    of 95 %, the strip below shows its number of rows. The Brier score of two classes is the mean of
    (p - y)², y being 1 or 0; of more, the mean of the sum of that over all classes.

    Parameters
    ----------
    y : array, (rows,)
        The true labels.
    probability : array, (rows,) or (rows, classes)
        Of the second class, in sorted order; or of each class, as `predict_proba` returns them. With three classes or
        more, what is drawn is the probability of the class that was predicted, and how often it was the true one.
    labels : array, optional
        The classes in order, as in `classes_`; by default those that occur in y, or 0 and 1 where nothing else does.
    bins : int, default=10
        How many groups.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = calibration([0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], bins=2)
    >>> ax.get_title(loc="left"), ax.lines[-1].get_ydata().round(2).tolist()
    ('Calibration: Brier score 0.277', [0.33, 0.67])
    """
    if bins < 1:
        raise ValueError(f"bins={bins}: there is one group at least")
    claims = _claims(y, probability, labels)
    groups = np.minimum((claims.said * bins).astype(np.intp), bins - 1)
    counts = np.bincount(groups, minlength=bins)
    there = np.flatnonzero(counts)
    said = np.bincount(groups, claims.said, bins)[there] / counts[there]
    true = np.bincount(groups, claims.came_true, bins)[there] / counts[there]
    ax = style.axes(ax, (5.6, 5.4))
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=1.2, linestyle="dashed", alpha=0.7, zorder=1)
    low, high = wilson(true, counts[there])
    ax.vlines(said, low, high, color=style.RIGHT, linewidth=2.2, alpha=0.4, zorder=2)
    _draw_strip(ax, counts)
    ax.plot(said, true, color=style.RIGHT, marker="o", markersize=6, linewidth=1.6, markeredgecolor=style.paper(),
            zorder=3)  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-STRIP - 0.1, 1.02))
    ax.set_yticks(np.linspace(0, 1, 6))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticks.percent_format())
    ax.spines["left"].set_bounds(0, 1)
    style.head(ax, f"Calibration: Brier score {claims.brier:.3g}",
               f"{style.counted(len(groups), 'row')}; bars: 95 % interval; strip: rows of each point.")  # fmt: skip
    style.name_axes(ax, claims.across, claims.up)
    return ax


def _claims(y: Any, probability: Any, labels: Any) -> Claims:
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim not in (1, 2) or not p.size:
        raise ValueError(f"probability has the shape {p.shape}: it is (rows,) or (rows, classes), one row at least")
    if not ((p >= 0) & (p <= 1)).all():
        place = tuple(np.argwhere(~((p >= 0) & (p <= 1)))[0].tolist())
        raise ValueError(f"probability has {p[place]} at {place}: probabilities are between 0 and 1")
    truth = labels_of("y", y)
    same_length(y=truth, probability=p)
    width = 2 if p.ndim == 1 else p.shape[1]
    classes = _classes(truth, labels, width)
    codes = codes_of(truth, classes)
    if width == 2:
        said, event = p if p.ndim == 1 else p[:, 1], (codes == 1).astype(np.float64)
        name = style.shortened(classes[1], 24)
        brier = float(np.mean((said - event) ** 2))
        return Claims(said, event, brier, f"probability given to {name}", f"share of rows that are {name}")
    best = np.argmax(p, axis=1)
    brier = float(np.mean(np.square(p - (np.arange(width) == codes[:, None])).sum(axis=1)))
    said, event = p[np.arange(len(p)), best], (best == codes).astype(np.float64)
    return Claims(said, event, brier, "probability given to the predicted class", "share of predictions that are right")


def _classes(truth: Array, labels: Any, width: int) -> Array:
    """Return the sorted classes that the columns stand for."""
    if labels is not None:
        classes = column_or_1d(labels)
        if (np.unique(classes) != classes).any() if len(np.unique(classes)) == len(classes) else True:
            raise ValueError("labels are the classes in sorted order, each once, as in classes_")
    else:
        classes = np.unique(truth)
        if width == 2 and len(classes) < 2 and classes[0] in (0, 1):
            classes = np.array([0, 1])
    if len(classes) != width:
        raise ValueError(
            f"probability is that of {width} classes, and y has {len(classes)}: {classes.tolist()}; pass labels=, all "
            "classes in order"
        )
    return classes


def _draw_strip(ax: Axes, counts: Array) -> None:
    """Draw how many rows each group has, upwards from the bottom of the frame."""
    bins, bottom = len(counts), -STRIP - 0.08
    middles = (np.arange(bins) + 0.5) / bins
    heights = (STRIP - 0.06) * counts / counts.max()
    ax.bar(middles, heights, 0.9 / bins, bottom, color=style.RIGHT, alpha=0.35, zorder=1)
    for k in np.flatnonzero(counts) if bins <= MOST_NUMBERS else ():
        ax.annotate(f"{counts[k]:,}", (middles[k], bottom + heights[k]), (0, 2), textcoords="offset points",
                    ha="center", fontsize=style.SMALL - 1.5, color=style.ink(), alpha=0.9)  # fmt: skip
