"""The way of a boundary over the updates of a run, in two dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from linsep.core.examples import Array
from linsep.learners.base import OnlineLearner
from linsep.plots.replay import replay

COLOURS = ("#0072B2", "#D55E00")
"""Okabe and Ito's blue and vermilion: told apart by everyone; in grey print the markers tell."""
MARKERS = ("o", "^")
INK = "#1b1f24"
SHADES = colormaps["Greys"](np.linspace(0.25, 0.85, 256))
HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]
SPOTS = [(0, 11), (0, -11), (9, 7), (9, -7), (-9, 7), (-9, -7), (12, 0), (-12, 0)]
"""Where a ring's number may stand, in points from its centre."""
NUMBERED, DRAWN = 24, 80
"""Up to so many updates get numbers; of more than so many, some lines are left out."""


def boundary_path(
    clf: OnlineLearner,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the boundary of a learner moved: after each update a line, light to dark, the last one bold.

    Rows that caused an update are ringed. Up to 24 updates are numbered in order, and so are the lines where they leave
    the picture; a line without number passes it by. Of more than 80 lines, every second, third, ... is drawn. The arrow
    is the normal vector w of the last boundary: it points to the side of the second class.

    Parameters
    ----------
    clf : a fitted learner of two classes and two features
        As for :func:`linsep.plots.replay.replay`.
    X : array, (rows, 2)
        The rows that it was fitted on.
    y : array, (rows,)
        Their labels; they name the classes in the legend.
    feature_names : sequence of two str, optional
        What the axes are called, unit included; by default `feature_names_in_`, where the learner has them.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"]
    >>> ax = boundary_path(Perceptron(shuffle=False).fit(X, y), X, y, feature_names=["width (cm)", "height (cm)"])
    >>> ax.get_xlabel()
    'width (cm)'
    """
    path = replay(clf, X, y)
    X, y = np.asarray(X, np.float64), np.asarray(y)
    if X.shape[1] != 2:
        raise ValueError(f"a boundary's way is drawn in two dimensions; X has {X.shape[1]} features")
    if not path[-1, :2].any():
        raise ValueError("the last weights are 0: there is no boundary")
    if feature_names is None:
        feature_names = getattr(clf, "feature_names_in_", ("feature 0", "feature 1"))
    if ax is None:
        from matplotlib import pyplot as plt

        _, ax = plt.subplots(figsize=figure_size(X), layout="constrained")
    _frame(ax, X, path[-1])
    for label, colour, marker in zip(clf.classes_, COLOURS, MARKERS, strict=True):
        of_class = X[y == label]
        ax.scatter(
            of_class[:, 0],
            of_class[:, 1],
            s=38,
            color=colour,
            marker=marker,
            edgecolor="white",
            linewidth=0.7,
            zorder=4,
        )
    _draw_lines(ax, path)
    _ring(ax, X, clf.log_.rows, avoid=_draw_normal(ax, path[-1]))
    event = "mistake" if clf.log_.amounts is None else "update"
    _explain(ax, clf.classes_, event)
    ax.set_title(f"{type(clf).__name__}: the boundary after each of its {len(path) - 1} {event}s", loc="left", pad=18)
    ax.set(xlabel=feature_names[0], ylabel=feature_names[1])
    return ax


def figure_size(X: Array) -> tuple[float, float]:
    """Return the width and height in inches of a figure for these rows, the legend included."""
    across, up = np.ptp(X, axis=0) + 0.18 * np.ptp(X, axis=0).max()
    return 8.2, float(np.clip(1.0 + 5.2 * up / across, 3.0, 7.0))


def _frame(ax: Axes, X: Array, last: Array) -> None:
    """Set the limits, tint the two sides; equal units on both axes, so that the normal vector is seen to be normal."""
    pad = 0.09 * np.ptp(X, axis=0).max()
    (x0, y0), (x1, y1) = X.min(axis=0) - pad, X.max(axis=0) + pad
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal", anchor="W")
    ax.spines[["top", "right"]].set_visible(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    corners = np.meshgrid([x0, x1], [y0, y1])
    side = last[0] * corners[0] + last[1] * corners[1] + last[2]
    ax.contourf(*corners, side, levels=[-np.inf, 0, np.inf], colors=COLOURS, alpha=0.07, zorder=0)


def _draw_lines(ax: Axes, path: Array) -> None:
    ends: list[tuple[Array, int]] = []
    few, every = len(path) - 1 <= NUMBERED, -(-len(path) // DRAWN)
    for k, weights in enumerate(path):
        points = _crossing(ax, weights)
        if points is None or (len(path) - 1 - k) % every:
            continue
        if k == len(path) - 1:
            ax.plot(*points.T, color=INK, linewidth=2.8, zorder=3)
        else:
            ax.plot(*points.T, color=SHADES[255 * k // len(path)], linewidth=1.4 if few else 0.8, zorder=2)
        if few:
            ends.append((points[1], k))
    for place, text in _joined(ends, np.array([0.06, 0.03]) * np.ptp(ax.get_xlim())):
        right = place[0] >= ax.get_xlim()[1] - 1e-9
        ax.annotate(
            text, tuple(place), (3, 0) if right else (0, 3), textcoords="offset points", color="#57606a", fontsize=8,
            ha="left" if right else "center", va="center" if right else "bottom", annotation_clip=False,
        )  # fmt: skip


def _crossing(ax: Axes, weights: Array) -> Array | None:
    """Return where the line w.x + b = 0 enters and leaves the frame, the rightmost or else highest point last."""
    w, b = weights[:2], weights[2]
    found = []
    for axis, limits in enumerate((ax.get_xlim(), ax.get_ylim())):
        other = 1 - axis
        low, high = (ax.get_ylim(), ax.get_xlim())[axis]
        for value in limits if w[other] else ():
            across = -(w[axis] * value + b) / w[other]
            if low <= across <= high:
                found.append((value, across) if axis == 0 else (across, value))
    return np.array([min(found), max(found)]) if len(set(found)) > 1 else None


def _joined(ends: list[tuple[Array, int]], near: Array) -> list[tuple[Array, str]]:
    """Join the numbers of lines that end at nearly the same place."""
    groups: list[tuple[Array, list[int]]] = []
    for place, k in ends:
        close = next((numbers for other, numbers in groups if (np.abs(other - place) < near).all()), None)
        if close is None:
            groups.append((place, [k]))
        else:
            close.append(k)
    return [(place, ", ".join(map(str, numbers))) for place, numbers in groups]


def _draw_normal(ax: Axes, last: Array) -> Array:
    """Draw the arrow from the middle of the boundary's visible part; return points along both, to be left free."""
    ends = _crossing(ax, last)
    if ends is None:
        return np.empty((0, 2))
    start, w = ends.mean(axis=0), last[:2]
    tip = start + 0.13 * np.ptp(ax.get_xlim()) * w / np.linalg.norm(w)
    style = {"arrowstyle": "-|>", "color": INK, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    ax.annotate("", tip, start, arrowprops=style, zorder=5)
    ax.annotate(
        "w", tip, (7, 2), textcoords="offset points", color=INK, fontsize=13, fontstyle="italic", weight="bold",
        path_effects=HALO, zorder=6,
    )  # fmt: skip
    return np.vstack([np.linspace(ends[0], ends[1], 100), np.linspace(start, tip, 20)])


def _ring(ax: Axes, X: Array, rows: Array, avoid: Array) -> None:
    """Ring the rows of the updates, and write their numbers where there is most room."""
    places: dict[tuple[float, ...], list[int]] = {}
    for k, row in enumerate(rows, 1):
        places.setdefault(tuple(X[row]), []).append(k)
    rings = np.array(list(places))
    ax.scatter(rings[:, 0], rings[:, 1], s=120, facecolor="none", edgecolor=INK, linewidth=1.3, zorder=5)
    if len(rows) > NUMBERED:
        return
    taken = ax.transData.transform(np.vstack([np.unique(X, axis=0), avoid]))
    for place, numbers in zip(rings, places.values(), strict=True):
        spots = ax.transData.transform(place) + ax.figure.dpi / 72 * np.array(SPOTS)
        room = np.linalg.norm(spots[:, None] - taken, axis=2).min(axis=1)
        best = int(np.argmax(room))
        taken = np.vstack([taken, spots[best]])
        ax.annotate(
            ", ".join(map(str, numbers)), place, SPOTS[best], textcoords="offset points", ha="center", va="center",
            color=INK, fontsize=8.5, weight="bold", path_effects=HALO, zorder=6,
        )  # fmt: skip


def _explain(ax: Axes, classes: Array, event: str) -> None:
    """Put the legend beside the frame, where it hides nothing."""
    dots = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=7, markeredgecolor="white")
        for colour, marker in zip(COLOURS, MARKERS, strict=True)
    ]
    ring = Line2D([], [], color=INK, marker="o", markersize=10, fillstyle="none", linestyle="none")
    way = tuple(Line2D([], [], color=SHADES[shade], linewidth=1.8) for shade in (0, 85, 170, 255))
    final = Line2D([], [], color=INK, linewidth=2.8)
    ax.legend(
        [*dots, ring, way, final],
        [*map(str, classes), event, "boundary, first to last", "at the end, with its\nnormal vector w"],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)}, loc="upper left", bbox_to_anchor=(1.05, 1.0),
        frameon=False, fontsize=9.5, borderaxespad=0, labelspacing=1.0, handletextpad=0.7,
    )  # fmt: skip
