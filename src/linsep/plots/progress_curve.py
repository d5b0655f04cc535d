"""The progress of a training: the error of a stream, and the likelihood after each step of a solver."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_unless_shares, refuse_where, same_length


def progress(rows: Any, errors: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the progressive error: the share of wrong predictions so far, each row predicted before it was learned.

    Parameters
    ----------
    rows : array
        Numbers of rows learned, rising.
    errors : array
        The share of them, between 0 and 1, that had been predicted wrongly before they were learned.
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
    refuse_where(np.diff(counts, prepend=0.0) <= 0, "rows", counts, "numbers of rows are above 0 and rise")
    refuse_unless_shares("errors", shares)
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(counts, shares, color=style.WRONG, linewidth=1.8, zorder=2)
    ax.plot(counts[-1:], shares[-1:], color=style.WRONG, marker="o", zorder=3, clip_on=False)
    ax.set_xscale("log")
    beside = 2 if len(counts) == 1 else 1
    ax.set_xlim(counts[0] / beside, counts[-1] * beside)
    ax.set_ylim(0, min(1.05, 1.1 * shares.max()) or 0.01)
    ticks.numbers(ax.xaxis)
    ticks.percents(ax.yaxis, 5)
    ticks.grid(ax)
    last = f"{int(counts[-1]):,} {'row' if counts[-1] == 1 else 'rows'}"
    style.head(ax, f"Progressive error: {style.percent(shares[-1])} after {last}")
    style.name_axes(ax, "rows learned", "wrong predictions so far")
    return ax


def ascent(history: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood at the start and after each step.

    Parameters
    ----------
    history : array
        As in `history_` of LogisticRegression, by solver="newton" or "batch".
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ascent([-2.8, -2.1, -1.96, -1.95]).get_title(loc="left")
    'Log-likelihood: -1.95 after 3 steps'
    """
    values = finite("history", history)
    steps = np.arange(len(values))
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(steps, values, color=style.colour_of(0), linewidth=1.8, zorder=2)
    ax.plot(steps[-1:], values[-1:], color=style.colour_of(0), marker="o", zorder=3, clip_on=False)
    ticks.numbers(ax.xaxis, integer=True)
    ax.yaxis.set_major_locator(MaxNLocator(5))  # with matplotlib's offset: steps may differ in the last digits only
    ticks.grid(ax)
    style.head(ax, f"Log-likelihood: {values[-1]:.4g} after {style.counted(len(values) - 1, 'step')}")
    style.name_axes(ax, "steps", "log-likelihood, with the prior's share")
    return ax
