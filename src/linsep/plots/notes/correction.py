"""One update of the perceptron: before, the mistaken point, after."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.notes.drawing import (
    arrow,
    below,
    boundary,
    colour,
    figure_of,
    key,
    label,
    panel,
    plane,
    points,
    sides,
)

POINTS = np.array([
    [2.1, 1.5], [-0.2, 2.3], [-1.5, 1.8], [-1.9, 0.5], [1.3, 2.2],
    [1.6, -0.2], [0.4, -1.3], [-0.7, -1.7], [1.1, -1.6], [1.6, -2.2],
])  # fmt: skip
LABELS = np.array([1, 1, 1, 1, 1, -1, -1, -1, -1, -1])
BEFORE = np.array([1.2, 1.4])
"""The points, their labels, and the weights before the update."""
REACH = 2.7
"""How far the panels show."""


def chosen() -> Array:
    """Return the negative point that the weights are wrong about.

    >>> chosen()
    array([ 1.6, -0.2])
    """
    return POINTS[np.flatnonzero((POINTS @ BEFORE >= 0) & (LABELS < 0))[0]]


def update(*, figure: Figure | None = None) -> tuple[Axes, ...]:
    """Draw a hyperplane that is wrong about two points, one of them taken off w, and the hyperplane after (note 003).

    Parameters
    ----------
    figure : matplotlib.figure.Figure, optional
        Where to draw the three panels; by default a new one.

    Returns
    -------
    tuple of three axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> [ax.get_title(loc="left") for ax in update(figure=Figure(figsize=(10.6, 4.3)))]
    ['1. before: 2 mistakes', '2. x, of label −1, is subtracted', '3. after: 0 mistakes']
    """
    figure = figure_of(figure, "update")
    before, step, after = panels = tuple(figure.subplots(1, 3))
    x = chosen()
    new = BEFORE - x
    for ax, w, title in (
        (before, BEFORE, f"1. before: {style.counted(len(wrong(BEFORE)), 'mistake')}"),
        (step, BEFORE, "2. x, of label −1, is subtracted"),
        (after, new, f"3. after: {style.counted(len(wrong(new)), 'mistake')}"),
    ):
        panel(ax, title)
        plane(ax, REACH)
        sides(ax, w)
        boundary(ax, w, alpha=0.4 if ax is step else 1.0)
        points(ax, POINTS, LABELS)
        missed = POINTS[wrong(w)]
        ax.scatter(*missed.T, s=150, facecolor="none", edgecolor=style.ink(), linewidth=1.4, zorder=5)
    arrow(before, BEFORE)
    label(before, "w", BEFORE, (9, 4), weight="bold", fontsize=11)
    arrow(step, BEFORE)
    label(step, "w", BEFORE, (9, 4), weight="bold", fontsize=11)
    arrow(step, x, hue=colour(-1), width=1.4)
    label(step, "x", x, (12, -8), weight="bold", fontsize=11, color=colour(-1))
    arrow(step, new, BEFORE, hue=colour(-1), width=1.4, dashed=True)
    label(step, "−x", (BEFORE + new) / 2, (-2, 11), color=colour(-1), weight="bold")
    arrow(step, new, width=2.6)
    label(step, "w − x", new, (-16, 8), weight="bold")
    arrow(after, new, width=2.6)
    label(after, "w − x", new, (-16, 8), weight="bold")
    ring = before.scatter([], [], s=100, facecolor="none", edgecolor=style.ink(), linewidth=1.4)
    below(figure, [key(-1), key(1), ring, before.lines[-1]], ["y = −1", "y = +1", "mistake", "hyperplane w·x = 0"])
    return panels


def wrong(w: Array) -> Array:
    """Return the numbers of the points that weights are wrong about."""
    return np.flatnonzero(LABELS * (POINTS @ w) <= 0)
