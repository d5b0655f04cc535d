"""Cover's count: how many of the labellings of points in general position a hyperplane through the origin separates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from linsep.engine.data_kinds import Dense
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label
from linsep.solvers.programs.linear_program import separate
from linsep.theory.vc import cover_fraction

LOADS = (1.2, 1.5, 1.8, 2.0, 2.2, 2.5, 3.0)
"""Points a dimension at which it is measured."""
WIDEST = 3.4
"""Points a dimension that the picture ends at."""


def measured(n: int, p: int, draws: int, seed: int = 0) -> float:
    """Return the share of random labellings of random points that linear programs separate."""
    rng = np.random.default_rng([seed, n, p])
    points = Dense(rng.normal(size=(n, p)), bias=0.0)
    signs = rng.choice([-1.0, 1.0], size=(draws, n))
    found = [separate(points, row, np.empty(0)).separable for row in signs]
    return sum(map(bool, found)) / draws


def dichotomies(dimensions: Sequence[int] = (5, 20), draws: int = 40, *, ax: Axes | None = None) -> Axes:
    """Draw the share of labellings that are separable against points a dimension: Cover's and measured (note 000).

    Parameters
    ----------
    dimensions : sequence of int, default=(5, 20)
        A curve for each, 6 at most.
    draws : int, default=40
        Random labellings of each measurement; bars are two standard deviations of their share.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = dichotomies([2], draws=5, ax=Figure().add_subplot())
    >>> ax.lines[0].get_xydata()[:4].tolist()
    [[0.5, 1.0], [1.0, 1.0], [1.5, 0.75], [2.0, 0.5]]
    """
    if not dimensions or len(dimensions) > len(style.COLOURS) or min(dimensions) < 1:
        raise ValueError(f"dimensions={list(dimensions)}: name 1 to {len(style.COLOURS)} numbers, each 1 or more")
    if draws < 1:
        raise ValueError(f"draws={draws!r}: a measurement takes 1 labelling or more")
    ax = axes_of(ax, "dichotomies")
    handles = [_draw(ax, k, p, draws) for k, p in enumerate(dimensions)]
    names = [style.counted(p, "dimension") for p in dimensions]
    ax.axvline(2, color=style.ink(), alpha=0.4, linewidth=1, linestyle="--", zorder=1)
    label(ax, "2 points a dimension: ½", (2, 0.04), (-5, 0), ha="right")
    ax.set(xlim=(0, WIDEST), ylim=(-0.02, 1.05))
    ax.yaxis.set_major_formatter(style.percents())
    style.legend(ax, handles, names, loc="upper right", bbox_to_anchor=(1.0, 1.0), labelspacing=0.4)
    style.name_axes(ax, f"points a dimension, n/p; {draws} labellings a dot", "labellings that are separable")
    return ax


def _draw(ax: Axes, k: int, p: int, draws: int) -> Line2D:
    """Draw the line and the dots of p dimensions; return their mark for the legend."""
    look: dict[str, Any] = {"color": style.colour_of(k), "markeredgecolor": style.paper(), "markersize": 6}
    counts = range(1, int(WIDEST * p) + 1)
    ax.plot(
        np.array(counts) / p,
        [float(cover_fraction(n, p)) for n in counts],
        color=style.colour_of(k),
        linewidth=1.8,
        zorder=2,
    )
    tried = sorted({round(load * p) for load in LOADS})
    exact = np.array([float(cover_fraction(n, p)) for n in tried])
    found = np.array([measured(n, p, draws) for n in tried])
    spread = 2 * np.sqrt(exact * (1 - exact) / draws)
    reach = np.minimum([found, 1 - found], spread)
    ax.errorbar(
        np.array(tried) / p, found, yerr=reach, fmt=style.marker_of(k), elinewidth=1, capsize=2, zorder=3, **look
    )
    return Line2D([], [], marker=style.marker_of(k), **look)
