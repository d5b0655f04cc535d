"""The error of a stream as it goes on."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from linsep.plots import style
from linsep.plots.checks import finite, same_length


def progress(rows: Any, errors: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the progressive error: the share of wrong answers so far, each row predicted before it was learned.

    Parameters
    ----------
    rows : array
        Numbers of rows learned, rising.
    errors : array
        The share of them, between 0 and 1, that had been answered wrongly before they were learned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> progress([1, 2, 4, 8], [1, 0.5, 0.5, 0.25]).get_title(loc="left")
    'Progressive error: 25.0 % after 8 rows'
    """
    counts, shares = finite("rows", rows), finite("errors", errors)
    same_length(rows=counts, errors=shares)
    wrong = np.flatnonzero(np.diff(counts, prepend=0.0) <= 0)
    if len(wrong):
        raise ValueError(f"rows has {counts[wrong[0]]:g} at place {wrong[0]}: numbers of rows are above 0 and rise")
    wrong = np.flatnonzero((shares < 0) | (shares > 1))
    if len(wrong):
        raise ValueError(f"errors has {shares[wrong[0]]:g} at place {wrong[0]}: they are shares, between 0 and 1")
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(counts, shares, color=style.WRONG, linewidth=1.8, zorder=2)
    ax.plot(counts[-1:], shares[-1:], color=style.WRONG, marker="o", zorder=3, clip_on=False)
    ax.set_xscale("log")
    beside = 2 if len(counts) == 1 else 1
    ax.set_xlim(counts[0] / beside, counts[-1] * beside)
    few = counts[-1] < 300 * counts[0]
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.set_ylim(0, min(1.05, 1.1 * shares.max()) or 0.01)
    ax.xaxis.set_major_formatter(style.thousands())
    ax.yaxis.set_major_formatter(style.percents())
    ax.grid(axis="y", color=style.ink(), alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)
    last = f"{int(counts[-1]):,} {'row' if counts[-1] == 1 else 'rows'}"
    style.head(ax, f"Progressive error: {style.percent(shares[-1])} after {last}")
    style.name_axes(ax, "rows learned", "wrong answers so far")
    return ax
