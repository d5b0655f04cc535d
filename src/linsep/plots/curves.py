"""Shared code of the curves: the legend, bounds as levels, and a height that may be logarithmic."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import finite

LINES = ("dashed", "dashdot", "dotted", (0, (7, 1.5)), (0, (4, 1, 1, 1, 1, 1)))
"""The line styles of bounds, which differ in grey print too."""
WIDE, BELOW = 6.5, 0.52
"""Inches: a figure narrower than `WIDE` has its legend below the frame, `BELOW` inches down."""
FAR = 20
"""A bound that is more than this multiple of the count is drawn on a logarithmic axis."""


def amount(value: float) -> str:
    """Format a bound with few digits.

    >>> amount(331.6584), amount(3143.66), amount(2.5e9), amount(0)
    ('331.7', '3,144', '2.5e+09', '0')
    """
    if value >= 1e8:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def key(ax: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend beside the frame, or below it if the figure is narrow."""
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_figwidth() >= WIDE:
        style.legend(ax, handles, names, handlelength=2.6)
        return
    columns = 2 if len(names) > 2 and max(map(len, names)) <= 24 else 1
    under = ax.transAxes + ScaledTranslation(0, -BELOW, figure.dpi_scale_trans)
    style.legend(ax, handles, names, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=under, handlelength=2.6,
                 labelspacing=0.4, ncols=columns, fontsize=style.SMALL)  # fmt: skip


def draw_levels(ax: Axes, run: Line2D, name: str, count: float, allowed: Mapping[str, float]) -> dict[str, float]:
    """Draw bounds as levels and a legend of them and of the run; return the finite bounds.

    An infinite bound is named in the legend, and not drawn.
    """
    for bound, value in allowed.items():
        if not value >= 0:
            raise ValueError(f"the bound {bound!r} is {value}: pass a number of at least 0")
    colours = [colour for colour in style.COLOURS if colour != style.WRONG]
    entries = [(run, f"{name}: {amount(count)}", float(count))]
    for k, (bound, value) in enumerate(allowed.items()):
        line, text = Line2D([], [], linestyle="none"), "none"
        if value < np.inf:
            look: Any = {"color": colours[k % len(colours)], "linestyle": LINES[k % len(LINES)], "linewidth": 1.6}
            line, text = ax.axhline(value, zorder=2, **look), amount(value)
        entries.append((line, f"{style.shortened(bound, 36)}: {text}", float(value)))
    entries.sort(key=lambda entry: -entry[2])
    key(ax, [line for line, *_ in entries], [text for _, text, _ in entries])
    return {bound: float(value) for bound, value in allowed.items() if value < np.inf}


def scale_height(ax: Axes, highest: float, counts: Array, least: float = 1.0, *, integer: bool = False) -> None:
    """Set the range of the height to counts and a bound; it is logarithmic if the bound is far above the counts."""
    last = float(counts[-1])
    if highest > FAR * last > 0:
        ax.set_yscale("log")
        ax.set_ylim(0.9 * min(least, counts[counts > 0].min()), 2 * highest)
    else:
        ax.set_ylim(0, 1.08 * max(highest, last, 1.0))
    ticks.numbers(ax.yaxis, integer=integer)
    ticks.grid(ax)


def steps_of(values: Array, counts: Any) -> Array:
    """Return the mistakes at each value: 0, 1, ..., or the weighted ones given, which start at 0 and do not fall."""
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
    """Return the number of mistakes for a title, counted or weighted.

    >>> summed(2, None), summed(2.5, [0, 2.5]), summed(1, [0, 1])
    ('2 mistakes', '2.5 weighted mistakes', '1 weighted mistake')
    """
    if counts is None:
        return style.counted(int(last), "mistake")
    return f"{amount(last)} weighted mistake{'s' * (amount(last) != '1')}"
