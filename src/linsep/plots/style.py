"""The style of all pictures: colours, markers, the frame, headings and legends.

Text, frames and lines that are no data have one colour, `INK`. Gaps between data have another, `PAPER`, and no picture
fills its background: a page can replace both colours in an SVG file by its own. If matplotlib's style changes the
colour of text or of figures, that colour is used instead.
"""

from collections.abc import Sequence
from typing import Any
from unicodedata import category

import numpy as np
from matplotlib import patheffects, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from linsep.engine.arrays import Array

INK = "#1b1f24"
PAPER = "#ffffff"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours without yellow and black: distinguishable by everyone, on white and on black."""
RIGHT, WRONG = COLOURS[:2]
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
"""One more than the colours: 42 classes differ in colour or marker; markers distinguish them in grey print."""
SMALL = 9.0
"""The size in points of notes, legends and numbers within a picture."""


def ink() -> str:
    """Return the colour of text and frames."""
    chosen = rcParams["text.color"]
    return INK if chosen == rcParamsDefault["text.color"] else to_hex(chosen)


def paper() -> str:
    """Return the colour behind all."""
    chosen = rcParams["figure.facecolor"]
    return PAPER if chosen in (rcParamsDefault["figure.facecolor"], "none") else to_hex(chosen)


def colour_of(k: int) -> str:
    """Return the colour of class number k."""
    return COLOURS[k % len(COLOURS)]


def marker_of(k: int) -> str:
    """Return the marker of class number k."""
    return MARKERS[k % len(MARKERS)]


def halo(width: float = 2.5) -> list[Any]:
    """Return the effect that keeps text readable on top of data."""
    return [patheffects.withStroke(linewidth=width, foreground=paper())]


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure of that width and height in inches, ready to be drawn on."""
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.patch.set_visible(False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(ink())
    ax.tick_params(colors=ink(), which="both")
    return ax


def name_axes(ax: Axes, across: str, up: str) -> None:
    """Write what the axes show."""
    ax.set_xlabel(shorten(across, 80), color=ink(), parse_math=False)
    ax.set_ylabel(shorten(up, 60), color=ink(), parse_math=False)


def head(ax: Axes, title: str, *notes: str) -> None:
    """Write a title above the frame, and under it notes in small letters, each on lines of its own."""
    room = max(30, int(ax.get_window_extent().width / ax.figure.dpi * 72 / (0.52 * SMALL)))
    lines = [line for note in notes if note for line in _wrap(note, room)]
    ax.set_title(shorten(title, 90), loc="left", fontsize=12, color=ink(), pad=8 + 1.3 * SMALL * len(lines),
                 parse_math=False)  # fmt: skip
    if lines:
        ax.annotate("\n".join(lines), (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points",
                    fontsize=SMALL, color=ink(), alpha=0.8, va="bottom", parse_math=False, annotation_clip=False,
                    linespacing=1.25)  # fmt: skip


def _wrap(note: str, room: int) -> list[str]:
    lines = [""]
    for word in note.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **more: Any) -> Legend:
    """Put a legend beside the frame, where it hides nothing."""
    many = len(handles) > 12
    options: dict[str, Any] = {
        "loc": "upper left", "bbox_to_anchor": (1.03, 1.0), "frameon": False, "borderaxespad": 0,
        "fontsize": SMALL - 1 if many else SMALL + 0.5, "labelspacing": 0.35 if many else 0.8, "handletextpad": 0.7,
        "labelcolor": ink(),
    }  # fmt: skip
    drawn = ax.legend(handles, labels, **options | more)
    for text in drawn.get_texts():
        text.set_parse_math(False)
    return drawn


def dot(k: int, **more: Any) -> Line2D:
    """Return the mark of class number k for a legend."""
    options = {"color": colour_of(k), "marker": marker_of(k), "linestyle": "none", "markeredgecolor": paper()}
    return Line2D([], [], **{"markersize": 7, **options, **more})


def shorten(text: Any, most: int = 40) -> str:
    """Return text on one line and of at most that many letters, the middle left out where it must be.

    >>> shorten("a very long name of a feature", 15)
    'a very lo…ature'
    """
    whole = "".join(c if category(c)[0] != "C" else " " for c in str(text))
    if len(whole) <= most:
        return whole
    tail = 2 * (most - 1) // 5
    return f"{whole[: most - 1 - tail]}…{whole[len(whole) - tail :]}"


def count_of(n: float, one: str, many: str | None = None) -> str:
    """Return a number with what it counts.

    >>> count_of(1, "row"), count_of(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Return a share as a percentage; what is nearly all or nearly nothing is never written as if it were.

    >>> percent(0.125), percent(0.99999), percent(1), percent(1e-6), percent(0.05)
    ('12.5 %', '> 99.9 %', '100 %', '< 0.1 %', '5.0 %')
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    return f"{100 * share:.1f} %"


def limits(points: Array, pad: float = 0.07) -> tuple[Array, Array]:
    """Return the lowest and highest value of each column with some room, which points that do not differ have too."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, pad * (high - low), np.maximum(1.0, 0.1 * np.abs(high)))
    return low - room, high + room
