"""Shared drawing helpers of the notes' figures: captions, points of two classes, arrows, lines through the origin."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.notes.catalogue import FIGURES, words

MARKERS = {-1: "s", 1: "o"}
"""Squares are negative and circles positive, as in note 003."""
TITLE = 12.0
"""The size of a figure's title in points."""


def colour(sign: int) -> str:
    """Return the colour of a class."""
    return style.colour_of(0 if sign < 0 else 1)


def axes_of(ax: Axes | None, name: str) -> Axes:
    """Return where to draw a figure of one panel, with its title and caption."""
    ax = style.axes(ax, FIGURES[name].size)
    style.head(ax, FIGURES[name].title, words(name))
    return ax


def figure_of(figure: Figure | None, name: str) -> Figure:
    """Return where to draw a figure of several panels, with its title and caption above the room for them."""
    entry = FIGURES[name]
    if figure is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=entry.size)
    width, height = figure.get_size_inches()
    lines = wrap(words(name), max(30, int(width * 72 / (0.58 * style.SMALL))))
    title, text = 1.55 * TITLE / 72, 1.3 * style.SMALL * len(lines) / 72
    figure.set_layout_engine("constrained", rect=(0, 0, 1, 1 - (title + text + 0.16) / height), h_pad=0.07,
                             w_pad=0.07, hspace=0.05)  # fmt: skip
    left = 0.06 / width
    figure.text(left, 1 - 0.06 / height, entry.title, fontsize=TITLE, color=style.ink(), va="top", parse_math=False)
    figure.text(left, 1 - (0.04 + title) / height, "\n".join(lines), fontsize=style.SMALL, color=style.ink(), alpha=0.8,
                va="top", parse_math=False, linespacing=1.25)  # fmt: skip
    return figure


def panel(ax: Axes, title: str) -> Axes:
    """Prepare a panel and write its title."""
    style.axes(ax, (1, 1))
    ax.set_title(title, loc="left", fontsize=style.SMALL + 1, color=style.ink(), parse_math=False)
    return ax


def plane(ax: Axes, reach: float | Sequence[float], across: str = "x₁", up: str = "x₂") -> None:
    """Let a panel show a part of a plane, its units equal, the axes through the origin faint."""
    x0, x1, y0, y1 = (-reach, reach, -reach, reach) if isinstance(reach, (int, float)) else reach
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal")
    ax.axhline(0, color=style.ink(), alpha=0.15, linewidth=0.8, zorder=0)
    ax.axvline(0, color=style.ink(), alpha=0.15, linewidth=0.8, zorder=0)
    style.name_axes(ax, across, up)


def points(ax: Any, X: Array, y: Array, size: float = 46, **more: Any) -> None:
    """Draw points of two classes, in two dimensions or three."""
    for sign, marker in MARKERS.items():
        of_class = X[y == sign]
        ax.scatter(*of_class.T, s=size, color=colour(sign), marker=marker, edgecolor=style.paper(), linewidth=0.7,
                   **{"zorder": 4, **more})  # fmt: skip


def key(sign: int, **more: Any) -> Line2D:
    """Return the mark of a class for a legend."""
    options: dict[str, Any] = {"color": colour(sign), "marker": MARKERS[sign], "linestyle": "none", "markersize": 7}
    return Line2D([], [], **{"markeredgecolor": style.paper(), **options, **more})


def arrow(ax: Axes, tip: Array, start: Any = (0.0, 0.0), *, hue: str | None = None, width: float = 1.8,
          dashed: bool = False) -> None:  # fmt: skip
    """Draw a vector from its start to its tip."""
    look = {"arrowstyle": "-|>", "color": hue or style.ink(), "linewidth": width, "shrinkA": 0, "shrinkB": 0,
            "mutation_scale": 13, "linestyle": "--" if dashed else "-"}  # fmt: skip
    ax.annotate("", tuple(tip), tuple(start), arrowprops=look, zorder=5, annotation_clip=False)


def label(ax: Axes, text: str, at: Any, off: tuple[float, float] = (0, 0), **more: Any) -> None:
    """Write some words at a place, so many points away from it, readable on top of data."""
    options: dict[str, Any] = {"color": style.ink(), "fontsize": style.SMALL, "ha": "center", "va": "center"}
    ax.annotate(text, tuple(at), off, textcoords="offset points", path_effects=style.halo(), zorder=6, parse_math=False,
                annotation_clip=False, **{**options, **more})  # fmt: skip


def boundary(ax: Axes, w: Array, **more: Any) -> Line2D:
    """Draw the line w·x = 0."""
    return ax.axline((0, 0), (-w[1], w[0]), **{"color": style.ink(), "linewidth": 2.0, "zorder": 3, **more})


def sides(ax: Axes, w: Array, alpha: float = 0.08) -> None:
    """Tint the two sides of w·x = 0 within the frame."""
    corners = np.meshgrid(ax.get_xlim(), ax.get_ylim())
    score = w[0] * corners[0] + w[1] * corners[1]
    ax.contourf(*corners, score, levels=[-np.inf, 0, np.inf], colors=[colour(-1), colour(1)], alpha=alpha, zorder=0)


def below(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend of all panels under them."""
    figure.legend(handles, names, ncols=len(names), loc="outside lower center", frameon=False,
                  fontsize=style.SMALL + 0.5, labelcolor=style.ink())  # fmt: skip


def solid(ax: Any) -> None:
    """Give axes of three dimensions the package's colours: no background, a faint grid, ticks in ink."""
    ax.patch.set_visible(False)
    ax.tick_params(colors=style.ink(), labelsize=style.SMALL - 1, pad=1)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.pane.set_visible(False)
        axis.line.set_color(style.ink())
        axis._axinfo["grid"].update(color=(*to_rgba(style.ink())[:3], 0.12), linewidth=0.6)
