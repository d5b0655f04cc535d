"""The weighted mistakes of a mixed run, mix by mix, under all of their bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.bound_curve import LINES, amount, key
from linsep.plots.checks import finite
from linsep.plots.mistake_curve import FAR


def mixes(counts: Any, allowed: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """Draw the weighted mistakes of a run whose shards were mixed after each mix, and the bounds that they stay under.

    Each mistake counts as the weight mu of its shard in the mix: that sum is what the theorems bound, at every mix. The
    mistakes of all shards together may be more.

    Parameters
    ----------
    counts : array
        The weighted mistakes at the start, 0, and after each mix, as in `mixes_.mixed_mistakes`.
    allowed : mapping of names to numbers
        The bounds. One that is infinite says nothing: it is named, not drawn.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> mixes([0, 2.25, 3.5, 3.5], {"(R/γ)²": 8.25}).get_title(loc="left")
    '3.5 weighted mistakes in 3 mixes, 8.25 allowed'
    """
    sums = steps_of(finite("counts", counts), counts)
    for name, value in allowed.items():
        if not value >= 0:
            raise ValueError(f"the bound {name!r} is {value}: it is a number that is not below 0")
    drawn = {name: float(value) for name, value in allowed.items() if value < np.inf}
    ax, last = style.axes(ax, (8.4, 4.0)), float(sums[-1])
    (run,) = ax.plot(np.arange(len(sums)), sums, color=style.WRONG, linewidth=2.0, marker=".", zorder=3)
    lines = [(run, f"weighted mistakes: {amount(last)}", last)]
    colours = [colour for colour in style.COLOURS if colour != style.WRONG]
    for k, (name, value) in enumerate(allowed.items()):
        line, told = Line2D([], [], linestyle="none"), "none"
        if name in drawn:
            look: Any = {"color": colours[k % len(colours)], "linestyle": LINES[k % len(LINES)], "linewidth": 1.6}
            line, told = ax.axhline(value, zorder=2, **look), amount(value)
        lines.append((line, f"{style.shortened(name, 36)}: {told}", float(value)))
    lines.sort(key=lambda line: -line[2])
    key(ax, [line for line, *_ in lines], [text for _, text, _ in lines])
    _scale(ax, max(drawn.values(), default=0.0), sums)
    if ax.get_yscale() == "log":  # which has no place for 0
        run.set_data(np.flatnonzero(sums), sums[sums > 0])
    ax.set_xlim(0, max(len(sums) - 1, 1))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(style.thousands())
    least = f", {amount(min(drawn.values()))} allowed" if drawn else ""
    style.head(ax, f"{summed(last, counts)} in {style.counted(len(sums) - 1, 'mix', 'mixes')}{least}")
    style.name_axes(ax, "mix", "weighted mistakes so far")
    return ax


def _scale(ax: Axes, highest: float, sums: Array) -> None:
    """Set the height; where a bound is far above the sums, on a logarithmic scale."""
    if highest > FAR * sums[-1] > 0:
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(0.9 * min(1.0, sums[sums > 0].min()), 2 * highest)
    else:
        ax.set_ylim(0, 1.08 * max(highest, sums[-1], 1.0))
        ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.grid(axis="y", color=style.ink(), alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)


def steps_of(values: Array, counts: Any) -> Array:
    """Return the mistakes at each value: counted 0, 1, ..., or weighted as they are given, from 0 and not falling."""
    if counts is None:
        return np.arange(len(values))
    found = finite("counts", counts)
    if found[0] != 0:
        raise ValueError(f"counts has {found[0]:g} at place 0: before the first mix there are no mistakes")
    falls = np.flatnonzero(np.diff(found) < 0)
    if len(falls):
        raise ValueError(f"counts falls to {found[falls[0] + 1]:g} at place {falls[0] + 1}: sums of mistakes rise")
    return found


def summed(last: float, counts: Any) -> str:
    """Return how many mistakes there were, for a title: counted, or weighted.

    >>> summed(2, None), summed(2.5, [0, 2.5]), summed(1, [0, 1])
    ('2 mistakes', '2.5 weighted mistakes', '1 weighted mistake')
    """
    if counts is None:
        return style.counted(int(last), "mistake")
    return f"{amount(last)} weighted mistake{'s' * (amount(last) != '1')}"
