"""The likelihood as a solver climbs."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep.plots import style
from linsep.plots.checks import finite


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
    if not len(values):
        raise ValueError("history is empty: it begins with the likelihood of the first weights")
    steps = np.arange(len(values))
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(steps, values, color=style.colour_of(0), linewidth=1.8, zorder=2)
    ax.plot(steps[-1:], values[-1:], color=style.colour_of(0), marker="o", zorder=3, clip_on=False)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.grid(axis="y", color=style.ink(), alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)
    style.head(ax, f"Log-likelihood: {values[-1]:.4g} after {style.counted(len(values) - 1, 'step')}")
    style.name_axes(ax, "steps", "log-likelihood, with the prior's share")
    return ax
