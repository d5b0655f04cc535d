"""The mistakes of a run under all of its bounds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from linsep.plots import style
from linsep.plots.checks import finite
from linsep.plots.mistake_curve import FAR, stepped

LINES = ("dashed", "dashdot", "dotted", (0, (7, 1.5)), (0, (4, 1, 1, 1, 1, 1)))
"""How the bounds are drawn, so that they differ in grey print too."""

WIDE, BELOW = 6.5, 0.52
"""Inches: figures narrower than this have their legend below the frame, so far below."""


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
    for name, value in allowed.items():
        if not value >= 0:
            raise ValueError(f"the bound {name!r} is {value}: it is a number that is not below 0")
    drawn = {name: float(value) for name, value in allowed.items() if value < np.inf}
    ax = style.axes(ax, (8.4, 4.0))
    x, y = stepped(places, total)
    (run,) = ax.plot(x, y, drawstyle="steps-post", color=style.WRONG, linewidth=2.0, zorder=3)
    lines = [(run, f"mistakes: {len(places):,}", float(len(places)))]
    for k, (name, value) in enumerate(allowed.items()):
        line = _level(ax, k, drawn.get(name))
        told = amount(value) if name in drawn else "none"
        lines.append((line, f"{style.shortened(name, 36)}: {told}", float(value)))
    lines.sort(key=lambda line: -line[2])
    key(ax, [line for line, *_ in lines], [text for _, text, _ in lines])
    _scale(ax, max(drawn.values(), default=0.0), len(places))
    ax.set_xlim(0, total)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(style.thousands())
    least = f", {amount(min(drawn.values()))} allowed" if drawn else ""
    style.head(ax, f"{style.counted(len(places), 'mistake')} in {style.counted(total, 'round')}{least}")
    style.name_axes(ax, "round", "mistakes so far")
    return ax


def amount(value: float) -> str:
    """Return a bound as it is written: no more digits than tell something.

    >>> amount(331.6584), amount(3143.66), amount(2.5e9), amount(0)
    ('331.7', '3,144', '2.5e+09', '0')
    """
    if value >= 1e8:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def key(ax: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend beside the frame, or below it where the figure is narrow."""
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_figwidth() >= WIDE:
        style.legend(ax, handles, names, handlelength=2.6)
        return
    columns = 2 if len(names) > 2 and max(map(len, names)) <= 24 else 1
    under = ax.transAxes + ScaledTranslation(0, -BELOW, figure.dpi_scale_trans)
    style.legend(ax, handles, names, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=under, handlelength=2.6,
                 labelspacing=0.4, ncols=columns, fontsize=style.SMALL)  # fmt: skip


def _rounds(rounds: Any, total: int) -> Any:
    if not total >= 1:
        raise ValueError(f"total={total}: a run has one round at least")
    places = finite("rounds", rounds) if len(rounds) else np.empty(0)
    wrong = np.flatnonzero((np.diff(places, prepend=0.0) < 0) | (places < 1) | (places > total))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"rounds has {places[k]:g} at place {k}: rounds are from 1 to total={total:,}, in order")
    return places


def _level(ax: Axes, k: int, value: float | None) -> Line2D:
    """Draw bound number k; without a value only its entry in a legend is made, an empty one."""
    if value is None:
        return Line2D([], [], linestyle="none")
    others = [colour for colour in style.COLOURS if colour != style.WRONG]
    return ax.axhline(value, color=others[k % len(others)], linewidth=1.6, linestyle=LINES[k % len(LINES)], zorder=2)


def _scale(ax: Axes, highest: float, count: int) -> None:
    if highest > FAR * count > 0:
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_ylim(0.9, 2 * highest)
    else:
        ax.set_ylim(0, 1.08 * max(highest, count, 1))
        ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(axis="y", color=style.ink(), alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)
