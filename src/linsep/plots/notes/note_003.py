"""The figures of note 003: the perceptron's geometry."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Dense
from linsep.estimators.max_margin import MaxMargin
from linsep.plots import style
from linsep.plots.notes.drawing import (
    arrow,
    axes_of,
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
    solid,
)
from linsep.solvers.programs.linear_program import separate

LINE = np.array([[0.6], [1.1], [1.5], [2.4], [2.9], [3.3]])
OF_LINE = np.array([-1, -1, -1, 1, 1, 1])
FLAT = np.array([[0.5, 0.6], [1.2, 0.3], [0.4, 1.4], [1.0, 1.0], [1.9, 2.0], [2.6, 1.4], [1.5, 2.8], [2.6, 2.5]])
OF_FLAT = np.array([-1, -1, -1, -1, 1, 1, 1, 1])
"""Points of one and two dimensions, and their labels."""


def constant_dimension(*, figure: Figure | None = None) -> tuple[Any, ...]:
    """Draw points on a line and on a plane, and the same with a constant dimension and its hyperplane (note 003).

    The panels on the left show what a linear program proves, those on the right the maximum margin's hyperplane.

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


POINTS = np.array([
    [2.1, 1.5], [-0.2, 2.3], [-1.5, 1.8], [-1.9, 0.5], [1.3, 2.2],
    [1.6, -0.2], [0.4, -1.3], [-0.7, -1.7], [1.1, -1.6], [1.6, -2.2],
])  # fmt: skip
LABELS = np.array([1, 1, 1, 1, 1, -1, -1, -1, -1, -1])
BEFORE = np.array([1.2, 1.4])
"""The points, their labels, and the weights before the update."""
UPDATE_REACH = 2.7
"""The largest coordinate that the panels show."""


def choose() -> Array:
    """Return the negative point that the weights are wrong about.

    >>> choose()
    array([ 1.6, -0.2])
    """
    return POINTS[np.flatnonzero((POINTS @ BEFORE >= 0) & (LABELS < 0))[0]]


def update(*, figure: Figure | None = None) -> tuple[Axes, ...]:
    """Draw a hyperplane that is wrong about two points, one of them taken off w, and the hyperplane after (note 003).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> [ax.get_title(loc="left") for ax in update(figure=Figure(figsize=(10.6, 4.3)))]
    ['1. before: 2 mistakes', '2. x, of label −1, is subtracted', '3. after: 0 mistakes']
    """
    figure = figure_of(figure, "update")
    before, step, after = panels = tuple(figure.subplots(1, 3))
    x = choose()
    new = BEFORE - x
    for ax, w, title in (
        (before, BEFORE, f"1. before: {style.count_of(len(wrong(BEFORE)), 'mistake')}"),
        (step, BEFORE, "2. x, of label −1, is subtracted"),
        (after, new, f"3. after: {style.count_of(len(wrong(new)), 'mistake')}"),
    ):
        panel(ax, title)
        plane(ax, UPDATE_REACH)
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


SPHERE_REACH = 1.25
"""The largest coordinate that the picture shows."""


def unit_sphere(*, ax: Axes | None = None) -> Axes:
    """Draw points within the unit sphere, w* on it, its hyperplane and the margin γ (note 003).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> unit_sphere(ax=Figure().add_subplot()).get_aspect()
    1.0
    """
    X, y, u, gamma = setting()
    ax = axes_of(ax, "unit_sphere")
    plane(ax, SPHERE_REACH)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.ink(), linewidth=1.4, zorder=2))
    corners = np.meshgrid([-SPHERE_REACH, SPHERE_REACH], [-SPHERE_REACH, SPHERE_REACH])
    along = corners[0] * u[0] + corners[1] * u[1]
    ax.contourf(*corners, along, levels=[-gamma, gamma], colors=[style.ink()], alpha=0.08, zorder=0)
    points(ax, X, y)
    line = boundary(ax, u)
    ax.contour(*corners, along, levels=[-gamma, gamma], colors=[style.ink()], linewidths=1, linestyles="dashed")
    arrow(ax, u, hue=style.colour_of(2), width=2.2)
    label(ax, "w*", u, (9, 6), color=style.colour_of(2), weight="bold", fontsize=11)
    near = X[y * (X @ u) < gamma + 1e-4]
    nearest = near[np.argmax(near[:, 0])]  # of those at the margin, the one with most room for a letter
    foot = nearest - (nearest @ u) * u
    look = {"arrowstyle": "<->", "color": style.ink(), "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tuple(nearest), tuple(foot), arrowprops=look, zorder=3)
    label(ax, "γ", (nearest + foot) / 2, (11, -4), fontsize=12, weight="bold")
    label(ax, f"γ = {gamma:.3f}, 1/γ² = {1 / gamma**2:.1f}", (-SPHERE_REACH, SPHERE_REACH), (6, -9), ha="left")
    style.legend(ax, [key(-1), key(1), line], ["y = −1", "y = +1", "hyperplane of w*"], loc="upper center",
                 bbox_to_anchor=(0.5, -0.13), ncols=3, columnspacing=1.2, handletextpad=0.4)  # fmt: skip
    return ax


def setting() -> tuple[Array, Array, Array, float]:
    """Return points divided by the largest norm, their labels, the unit vector of the largest margin, and that."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(60, 2))
    toward = np.array([0.5, 0.87])
    X = X[(np.abs(X @ toward) > 0.25) & (np.linalg.norm(X, axis=1) < 1)][:24]
    X = X / np.linalg.norm(X, axis=1).max()
    y = np.where(X @ toward > 0, 1, -1)
    clf = MaxMargin(C=None, fit_intercept=False, tol=1e-6, random_state=0).fit(X, y)
    u = clf.coef_[0] / np.linalg.norm(clf.coef_[0])
    return X, y, u, float((y * (X @ u)).min())
