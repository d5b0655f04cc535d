"""The mistakes of a run under all of its bounds, round by round or mix by mix."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_where
from linsep.plots.curves import amount, draw_levels, scale_height, steps_of, summed
from linsep.plots.mistake_curve import stepped


def bounds(rounds: Any, total: int, allowed: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """Draw how many mistakes had been made after each round, and the bounds that they stay under.

    Where the highest bound is far above the count, the axis is logarithmic.

    Parameters
    ----------
    rounds : array
        The rounds, from 1 and in order, of the mistakes, as in `log_.rounds`.
    total : int
        How many rounds there were.
    allowed : mapping of names to numbers
        The bounds. One that is infinite says nothing: it is named, not drawn.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> bounds([1, 2, 5], 12, {"(R/γ)²": 8.25, "Winnow": 6.5}).get_title(loc="left")
    '3 mistakes in 12 rounds, 6.5 allowed'
    """
    places = _rounds(rounds, total)
    ax = style.axes(ax, (8.4, 4.0))
    x, y = stepped(places, total)
    (run,) = ax.plot(x, y, drawstyle="steps-post", color=style.WRONG, linewidth=2.0, zorder=3)
    drawn = draw_levels(ax, run, "mistakes", len(places), allowed)
    scale_height(ax, max(drawn.values(), default=0.0), y, integer=True)
    ax.set_xlim(0, total)
    ticks.numbers(ax.xaxis, 5, integer=True)
    style.head(ax, f"{style.counted(len(places), 'mistake')} in {style.counted(total, 'round')}{_least(drawn)}")
    style.name_axes(ax, "round", "mistakes so far")
    return ax


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
    ax, last = style.axes(ax, (8.4, 4.0)), float(sums[-1])
    (run,) = ax.plot(np.arange(len(sums)), sums, color=style.WRONG, linewidth=2.0, marker=".", zorder=3)
    drawn = draw_levels(ax, run, "weighted mistakes", last, allowed)
    scale_height(ax, max(drawn.values(), default=0.0), sums)
    if ax.get_yscale() == "log":  # which has no place for 0
        run.set_data(np.flatnonzero(sums), sums[sums > 0])
    ax.set_xlim(0, max(len(sums) - 1, 1))
    ticks.numbers(ax.xaxis, 5, integer=True)
    style.head(ax, f"{summed(last, counts)} in {style.counted(len(sums) - 1, 'mix', 'mixes')}{_least(drawn)}")
    style.name_axes(ax, "mix", "weighted mistakes so far")
    return ax


def _least(drawn: Mapping[str, float]) -> str:
    return f", {amount(min(drawn.values()))} allowed" if drawn else ""


def _rounds(rounds: Any, total: int) -> Array:
    if not total >= 1:
        raise ValueError(f"total={total}: a run has one round at least")
    places = finite("rounds", rounds) if len(rounds) else np.empty(0)
    wrong = (np.diff(places, prepend=0.0) < 0) | (places < 1) | (places > total)
    refuse_where(wrong, "rounds", places, f"rounds are from 1 to total={total:,}, in order")
    return places
