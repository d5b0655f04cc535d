"""Winnow's potential, which each mistake lowers."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep.plots import style
from linsep.plots.bound_curve import amount, key
from linsep.plots.checks import finite, same_length
from linsep.plots.mix_curve import steps_of, summed

WIDE = 8
"""The axis ends at the bound, or at this many times the mistakes."""


def potential(values: Any, *, progress: float, start: float, counts: Any = None, ax: Axes | None = None) -> Axes:
    """Draw Winnow's potential KL(u‖w) over its mistakes, and the line that it stays under.

    It starts at most at the logarithm of the number of weights, each mistake takes off at least L, and it is never
    below 0: no mistake is left at k = start / L. Of a run whose shards were mixed, that holds at every mix, and k is
    the sum of its mistakes so far, each times the weight of its shard.

    Parameters
    ----------
    values : array
        KL(u‖w) before the first mistake and after each, as :func:`linsep.theory.paths.winnow_path` returns it.
    progress : float
        L = eta delta - ln cosh(eta X), above 0.
    start : float
        Where the line begins: the logarithm of the number of weights, or the first value.
    counts : array, optional
        Of a mixed run, the weighted mistakes at the start and after each mix, from 0 and rising; by default 0, 1, ...
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> potential([0.69, 0.31, 0.13], progress=0.125, start=0.7).get_title(loc="left")
    'Winnow: 2 mistakes, 5.6 allowed'
    """
    numbers = finite("values", values)
    for name, value in (("progress", progress), ("start", start)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value}: without a number above 0 Winnow has no bound to be drawn")
    steps = steps_of(numbers, counts)
    same_length(values=numbers, counts=steps)
    last, bound = float(steps[-1]), start / progress
    right = max(last, min(bound, WIDE * max(last, 1)))
    ax = style.axes(ax, (8.4, 4.0))
    end = np.array([0.0, min(right, bound)])
    (line,) = ax.plot(end, start - progress * end, color=style.ink(), linewidth=1.4, linestyle="dashed", zorder=2)
    top = ax.axhline(start, color=style.ink(), linewidth=1.2, linestyle="dotted", zorder=1)
    x, y = np.append(steps, last), np.append(numbers, numbers[-1])
    look = {"drawstyle": "steps-post"} if counts is None else {"marker": "."}
    (stairs,) = ax.plot(x, y, color=style.colour_of(0), linewidth=2.0, zorder=3, **look)  # type: ignore[arg-type]
    ax.plot(last, numbers[-1], color=style.colour_of(0), marker="o", linestyle="none", zorder=4, clip_on=False)
    if bound <= right:
        ax.plot(bound, 0, color=style.WRONG, marker="o", markersize=7, linestyle="none", zorder=4, clip_on=False)
    ax.set_xlim(0, 1.02 * right or 1)
    ax.set_ylim(min(0.0, numbers.min()), 1.08 * max(start, numbers.max()))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(style.thousands())
    ax.yaxis.set_major_locator(MaxNLocator(6))
    when = "after k mistakes" if counts is None else "at each mix"
    names = [f"start at most: {start:.4g}", f"KL(u‖w) {when}", f"{start:.4g} − k L, L = {progress:.4g}"]
    key(ax, [top, stairs, line], names)
    style.head(ax, f"Winnow: {summed(last, counts)}, {amount(bound)} allowed")
    across = "mistakes k" if counts is None else "weighted mistakes k"
    style.name_axes(ax, across, "potential KL(u‖w), in nats")
    return ax
