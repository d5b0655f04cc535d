"""The proofs of two mistake bounds, as curves: the perceptron's two lemmas, and Winnow's potential."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_where, same_length
from linsep.plots.curves import FAR, amount, key, steps_of, summed

MOST = 1e100
"""The highest (R/γ)² that is drawn."""
POTENTIAL_WIDE = 8
"""The axis of the potential ends at the bound, or at this multiple of the mistakes."""


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
    refuse_where(numbers < 0, "squares", numbers, "a square is not below 0")
    return np.sqrt(numbers)


def _frame(ax: Axes, far: bool, ends: tuple[float, float], top: float, least: float) -> None:
    """Set the scales: of logarithmic ones, the first mistake, or mix, is at the left."""
    left, right = ends
    if far:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(left, right)
        ax.set_ylim(0.7 * least if least > 0 else None, 1.3 * top)
    else:
        ax.set_xlim(0, right)
        ax.set_ylim(0, 1.06 * top)
    ticks.numbers(ax.xaxis, integer=True)
    ticks.numbers(ax.yaxis)


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
    right = max(last, min(bound, POTENTIAL_WIDE * max(last, 1)))
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
    ticks.numbers(ax.xaxis, integer=True)
    ticks.numbers(ax.yaxis)
    when = "after k mistakes" if counts is None else "at each mix"
    names = [f"start at most: {start:.4g}", f"KL(u‖w) {when}", f"{start:.4g} − k L, L = {progress:.4g}"]
    key(ax, [top, stairs, line], names)
    style.head(ax, f"Winnow: {summed(last, counts)}, {amount(bound)} allowed")
    across = "mistakes k" if counts is None else "weighted mistakes k"
    style.name_axes(ax, across, "potential KL(u‖w), in nats")
    return ax
