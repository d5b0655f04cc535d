"""A constant dimension, which moves points off the origin so that hyperplanes through it suffice."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Dense
from linsep.estimators.max_margin import MaxMargin
from linsep.plots import style
from linsep.plots.notes.drawing import below, boundary, figure_of, key, label, panel, plane, points, sides, solid
from linsep.solvers.programs.linear_program import separate

LINE = np.array([[0.6], [1.1], [1.5], [2.4], [2.9], [3.3]])
OF_LINE = np.array([-1, -1, -1, 1, 1, 1])
FLAT = np.array([[0.5, 0.6], [1.2, 0.3], [0.4, 1.4], [1.0, 1.0], [1.9, 2.0], [2.6, 1.4], [1.5, 2.8], [2.6, 2.5]])
OF_FLAT = np.array([-1, -1, -1, -1, 1, 1, 1, 1])
"""Points of one and two dimensions, and their labels."""


def constant_dimension(*, figure: Figure | None = None) -> tuple[Any, ...]:
    """Draw points on a line and on a plane, and the same with a constant dimension and its hyperplane (note 003).

    The panels on the left say what a linear program proves, those on the right show the maximum margin's hyperplane.

    Parameters
    ----------
    figure : matplotlib.figure.Figure, optional
        Where to draw the four panels; by default a new one.

    Returns
    -------
    tuple of four axes
        By row; the last has three dimensions.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> constant_dimension(figure=Figure(figsize=(9, 7.6)))[0].get_title(loc="left")
    '1 dimension: not separable through the origin'
    """
    figure = figure_of(figure, "constant_dimension")
    places = figure.add_gridspec(2, 2, height_ratios=[1, 1.6])
    line, lifted, flat = (figure.add_subplot(places[at]) for at in ((0, 0), (0, 1), (1, 0)))
    deep = figure.add_subplot(places[1, 1], projection="3d")
    panel(line, f"1 dimension: {verdict(LINE, OF_LINE)} through the origin")
    points(line, np.column_stack([LINE, 0 * LINE]), OF_LINE)
    line.axhline(0, color=style.ink(), linewidth=1, zorder=1)
    line.plot([0], [0], marker="|", markersize=16, color=style.ink(), markeredgewidth=1.5, zorder=2)
    label(line, "origin", (0, 0), (0, 15))
    line.set(xlim=(-0.6, 3.8), ylim=(-1, 1), yticks=[])
    line.spines["left"].set_visible(False)
    style.name_axes(line, "x₁", "")
    panel(lifted, f"with a constant 1: {verdict(LINE, OF_LINE, 1.0)}")
    plane(lifted, (-0.6, 3.8, -0.45, 1.55), "x₁", "constant")
    points(lifted, np.column_stack([LINE, np.ones_like(LINE)]), OF_LINE)
    w = normal(LINE, OF_LINE)
    sides(lifted, w)
    boundary(lifted, w)
    lifted.set_yticks([0, 1])
    panel(flat, f"2 dimensions: {verdict(FLAT, OF_FLAT)} through the origin")
    plane(flat, (-0.4, 3.2, -0.4, 3.2))
    points(flat, FLAT, OF_FLAT)
    flat.plot([0], [0], marker="+", markersize=12, color=style.ink(), markeredgewidth=1.5, zorder=2)
    _draw_deep(deep, normal(FLAT, OF_FLAT))
    shown = [key(-1), key(1), lifted.lines[-1]]
    below(figure, shown, ["y = −1", "y = +1", "hyperplane through the origin"])
    return line, lifted, flat, deep


def verdict(X: Array, y: Array, bias: float = 0.0) -> str:
    """Return whether a hyperplane through the origin separates points, by linear programming."""
    found = separate(Dense(X, bias), y.astype(np.float64), np.empty(0)).separable
    return "separable" if found else "not separable"


def normal(X: Array, y: Array) -> Array:
    """Return the unit normal of the maximum margin's hyperplane through the origin, the constant's part last."""
    clf = MaxMargin(C=None, random_state=0).fit(X, y)
    w = np.append(clf.coef_[0], clf.intercept_)
    return np.asarray(w / np.linalg.norm(w))


def _draw_deep(ax: Any, w: Array) -> None:
    """Draw the lifted points, their hyperplane, and the origin that it passes through."""
    solid(ax)
    ax.set_title(f"with a constant 1: {verdict(FLAT, OF_FLAT, 1.0)}", loc="left", fontsize=style.SMALL + 1,
                 color=style.ink())  # fmt: skip
    points(ax, np.column_stack([FLAT, np.ones(len(FLAT))]), OF_FLAT, depthshade=False)
    for x, y in FLAT:
        ax.plot([x, x], [y, y], [0, 1], color=style.ink(), alpha=0.3, linewidth=0.8)
    # The hyperplane as a strip from its line at height 0, through the origin, to the one above the points.
    along, rise = np.array([-w[1], w[0]]), -w[2] / (w[0] ** 2 + w[1] ** 2) * w[:2]
    reach, height = np.meshgrid([-1.6, 1.6], [0.0, 1.25])
    places = reach[..., None] * along / np.linalg.norm(along) + height[..., None] * rise
    ax.plot_surface(places[..., 0], places[..., 1], height, color=style.ink(), alpha=0.14, shade=False)
    ax.plot([0], [0], [0], marker="+", markersize=12, color=style.ink(), markeredgewidth=1.5)
    for axis, name in ((ax.xaxis, "x₁"), (ax.yaxis, "x₂"), (ax.zaxis, "constant")):
        axis.set_label_text(name, color=style.ink())
    ax.set(zticks=[0, 1], zlim=(0, 1.25), xlim=(-1.2, 3.2), ylim=(-1.2, 3.2), xticks=range(-1, 4), yticks=range(-1, 4))
    ax.view_init(elev=16, azim=-58)
    ax.set_box_aspect((1, 1, 0.75), zoom=1.05)
