"""The perceptron's two lemmas, between which its mistakes run out."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from linsep.plots import style
from linsep.plots.bound_curve import amount, key
from linsep.plots.checks import finite, same_length
from linsep.plots.mistake_curve import FAR
from linsep.plots.mix_curve import steps_of, summed

MOST = 1e100
"""The highest (R/γ)² that is drawn."""


def squeeze(
    dots: Any, squares: Any, *, radius: float, margin: float, counts: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw a perceptron's v_k·u and ||v_k|| over its mistakes, between what the two lemmas allow.

    v_k·u is at least kγ and ||v_k|| at most R√k, and since v_k·u <= ||v_k||, no mistake is left where the two meet:
    at k = (R/γ)². Where that is far beyond the run, both axes are logarithmic. Of a run whose shards were mixed, the
    lemmas hold at every mix, and k is the sum of its mistakes so far, each times the weight of its shard.

    Parameters
    ----------
    dots : array
        v_k·u for a u of length 1, k = 0, 1, ..., as :func:`linsep.theory.paths.perceptron_path` returns them.
    squares : array
        ||v_k||², as it returns them too.
    radius : float
        R, the length of the longest row.
    margin : float
        γ, what y x·u is at least.
    counts : array, optional
        Of a mixed run, the weighted mistakes at the start and after each mix, from 0 and rising; by default 0, 1, ...
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.5)
    >>> ax.get_title(loc="left")
    '2 mistakes, squeezed below (R/γ)² = 9'
    >>> squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.5, counts=[0, 0.75, 1.5]).get_xlabel()
    'weighted mistakes k'
    """
    heights, lengths = finite("dots", dots), _lengths(squares)
    steps = steps_of(heights, counts)
    same_length(dots=heights, squares=lengths, counts=steps)
    for name, value in (("radius", radius), ("margin", margin)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value}: the lemmas speak of a number above 0")
    last, meeting = float(steps[-1]), float(radius) / float(margin) * (float(radius) / float(margin))
    if meeting > MOST:
        raise ValueError(f"(R/γ)² = {meeting:.3g} is too much to be drawn: the margin {margin:g} is as good as none")
    far, left = meeting > FAR * max(last, 1), float(steps[1:2].min(initial=1))
    right = max(meeting * (1.6 if far else 1.06), last)
    ax = style.axes(ax, (8.4, 4.4))
    k = np.geomspace(left, right, 300) if far else np.linspace(0, right, 400)
    upper, lower = radius * np.sqrt(k), margin * k
    ax.fill_between(k, lower, upper, where=lower <= upper, color=style.ink(), alpha=0.07, linewidth=0, zorder=0)
    (high,) = ax.plot(k, upper, color=style.ink(), linewidth=1.4, linestyle="dashed", zorder=2)
    (low,) = ax.plot(k, lower, color=style.ink(), linewidth=1.4, linestyle="dotted", zorder=2)
    mark, when = (None, "after k mistakes") if counts is None else (".", "at each mix")
    (length,) = ax.plot(steps, lengths, color=style.colour_of(0), linewidth=2.0, marker=mark, zorder=3)
    (height,) = ax.plot(steps, heights, color=style.colour_of(2), linewidth=2.0, marker=mark, zorder=3)
    ax.plot(meeting, radius * radius / margin, marker="o", color=style.WRONG, markersize=7, zorder=4, linestyle="none")
    _frame(ax, far, (left, right), max(upper[-1], lower[-1]), min(left * margin, heights[1:2].min(initial=margin)))
    key(ax, [high, length, height, low], ["R√k", f"‖v‖ {when}", f"v·u {when}", "kγ"])
    ax.annotate(f"k = {amount(meeting)}", (meeting, radius * radius / margin), (-9, 5), textcoords="offset points",
                ha="right", va="bottom", fontsize=style.SMALL, color=style.ink(), path_effects=style.halo(),
                zorder=5)  # fmt: skip
    style.head(ax, f"{summed(last, counts)}, {'squeezed ' * (counts is None)}below (R/γ)² = {amount(meeting)}")
    style.name_axes(ax, "mistakes k" if counts is None else "weighted mistakes k", "length")
    return ax


def _lengths(squares: Any) -> Any:
    numbers = finite("squares", squares)
    below = np.flatnonzero(numbers < 0)
    if len(below):
        raise ValueError(f"squares has {numbers[below[0]]:g} at place {below[0]}: a square is not below 0")
    return np.sqrt(numbers)


def _frame(ax: Axes, far: bool, ends: tuple[float, float], top: float, least: float) -> None:
    """Set the scales: of logarithmic ones, the first mistake, or mix, is at the left."""
    left, right = ends
    if far:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(left, right)
        ax.set_ylim(0.7 * least if least > 0 else None, 1.3 * top)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(numticks=7))
            axis.set_minor_formatter(NullFormatter())
    else:
        ax.set_xlim(0, right)
        ax.set_ylim(0, 1.06 * top)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(6))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(style.short_numbers())
