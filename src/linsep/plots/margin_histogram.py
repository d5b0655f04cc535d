"""The histogram of the margins of rows."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import scored
from linsep.validation.labels import margins_of

BARS = 40


def margins(clf: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the margins y * score; rows at or below 0 are mistakes, and shaded.

    Of more than two classes, a row's margin is the score of its true class less that of the best rival.

    Parameters
    ----------
    clf : a fitted classifier with a `decision_function`
        Any learner, or a pipeline.
    X : array, sparse matrix or dataframe, (rows, features)
        The rows.
    y : array, (rows,)
        Their labels, of the classes that the learner knows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"]
    >>> margins(Perceptron(shuffle=False).fit(X, y), X, y).get_title(loc="left")
    'Margins: 0 mistakes on 4 rows (0 %)'
    """
    codes, scores = scored(clf, X, y)
    values = margins_of(codes, scores)
    edges = _edges(float(values.min()), float(values.max()))
    # A bar holds what is above its left edge up to its right one, so that 0 counts among the mistakes.
    counts = np.histogram(-values, bins=-edges[::-1])[0][::-1]
    wrong = int(np.count_nonzero(values <= 0))
    ax = style.axes(ax, (7.2, 4.0))
    if edges[0] < 0:
        ax.axvspan(edges[0], min(0.0, edges[-1]), color=style.WRONG, alpha=0.08, linewidth=0, zorder=0)
    ax.bar(
        edges[:-1],
        counts,
        np.diff(edges) * 0.92,
        align="edge",
        color=np.where(edges[1:] <= 0, style.WRONG, style.RIGHT),
        zorder=2,
    )
    ax.axvline(0, color=style.ink(), linewidth=1.4, zorder=3)
    ax.set_xlim(min(edges[0], 0.0), max(edges[-1], 0.0))
    ax.margins(y=0.08)
    ticks.numbers(ax.xaxis, 8)
    ticks.numbers(ax.yaxis, 5, integer=True)
    share = style.percent(wrong / len(values))
    title = f"Margins: {style.counted(wrong, 'mistake')} on {style.counted(len(values), 'row')} ({share})"
    style.head(ax, title)
    two = scores.ndim == 1
    style.name_axes(ax, "margin: y × score" if two else "margin: score of the true class − best rival's", "rows")
    return ax


def _edges(low: float, high: float) -> Array:
    """Return about 40 equal bars' edges from the lowest margin to the highest, one edge at 0 if it lies between."""
    first, last = low, high
    if high - low <= 1e-9 * max(-low, high):
        first, last = min(low, 0.0), max(high, 0.0)
    if last - first < 1e-290:
        first, last = -1.0, 1.0
    width = (last - first) / BARS
    edges = (np.floor(first / width) + np.arange(BARS + 2)) * width
    edges = edges[: int(np.searchsorted(edges, last)) + 1]
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    return np.asarray(edges)
