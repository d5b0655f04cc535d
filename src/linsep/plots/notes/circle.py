"""The setting of the perceptron's theorem: points within the unit sphere, a unit vector, and a margin."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from linsep.engine.arrays import Array
from linsep.estimators.max_margin import MaxMargin
from linsep.plots import style
from linsep.plots.notes.drawing import arrow, axes_of, boundary, key, label, plane, points

REACH = 1.25
"""How far the picture shows."""


def unit_sphere(*, ax: Axes | None = None) -> Axes:
    """Draw points within the unit sphere, w* on it, its hyperplane and the margin γ (note 003).

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> unit_sphere(ax=Figure().add_subplot()).get_aspect()
    1.0
    """
    X, y, u, gamma = setting()
    ax = axes_of(ax, "unit_sphere")
    plane(ax, REACH)
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.ink(), linewidth=1.4, zorder=2))
    corners = np.meshgrid([-REACH, REACH], [-REACH, REACH])
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
    label(ax, f"γ = {gamma:.3f}, 1/γ² = {1 / gamma**2:.1f}", (-REACH, REACH), (6, -9), ha="left")
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
