"""The sigmoid as a surface over two features of iris."""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]
from sklearn.datasets import load_iris

from linsep.engine.arrays import Array
from linsep.estimators.logistic import LogisticRegression
from linsep.plots import style
from linsep.plots.notes.catalogue import FIGURES, words
from linsep.plots.notes.drawing import colour, key, points, solid

FEATURES = ("petal length (cm)", "petal width (cm)")
KINDS = ("versicolor", "virginica")
"""Those two of the three that no line separates: the likeliest weights are finite."""
LEVELS = np.array([0.002, 0.006, 0.015, 0.03, *np.linspace(0.05, 0.5, 11)])
"""Probabilities up to ½ along which the surface is cut into flat strips: it is constant along the boundary."""


def sigmoid_surface(*, ax: Any = None) -> Any:
    """Draw Pr(virginica | x) of :class:`~linsep.LogisticRegression` over two features of iris (note 002).

    Parameters
    ----------
    ax : mpl_toolkits.mplot3d.axes3d.Axes3D, optional
        Where to draw, of three dimensions; by default in a new figure.

    Returns
    -------
    mpl_toolkits.mplot3d.axes3d.Axes3D

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> sigmoid_surface(ax=Figure().add_subplot(projection="3d")).get_zlabel()
    'Pr(virginica)'
    """
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=FIGURES["sigmoid_surface"].size, layout="constrained")
        ax = figure.add_subplot(projection="3d")
    if not hasattr(ax, "plot_surface"):
        raise ValueError('ax has two dimensions, the surface three: make it by add_subplot(projection="3d")')
    X, y = flowers()
    clf = LogisticRegression(prior_variance=None).fit(X, y)
    low, high = style.limits(X, 0.04)
    _draw_surface(ax, clf.coef_[0], float(clf.intercept_[0]), low, high)
    points(ax, np.column_stack([X, y > 0]), y, size=20, depthshade=False)
    _frame(ax)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(0, 1), zticks=[0, 0.5, 1])
    style.legend(ax, [key(-1), key(1), ax.lines[-1]], [*KINDS, "Pr = ½"], loc="upper left", bbox_to_anchor=(0.0, 1.0),
                 labelspacing=0.4)  # fmt: skip
    return ax


def _draw_surface(ax: Any, w: Array, b: float, low: Array, high: Array) -> None:
    """Draw the sigmoid of w·x + b over a rectangle in strips, and the line where it is ½."""
    corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    scores = corners @ w + b
    within = np.log(LEVELS / (1 - LEVELS))
    within = np.unique([*within, *-within])
    edges = np.array([scores.min(), *within[(within > scores.min()) & (within < scores.max())], scores.max()])
    strips = [_cut(_cut(corners, w, b - under), -w, over - b) for under, over in pairwise(edges.tolist())]
    middles = chance((edges[1:] + edges[:-1]) / 2)
    faces = np.where(middles[:, None] > 0.5, to_rgba(colour(1)), to_rgba(colour(-1)))
    faces[:, 3] = 0.15 + 0.6 * np.abs(middles - 0.5)
    lifted = [np.column_stack([strip, chance(strip @ w + b)]) for strip in strips]
    seams = to_rgba(style.ink(), 0.16)
    ax.add_collection3d(Poly3DCollection(lifted, facecolors=faces, edgecolors=seams, linewidths=0.5))
    side = _cut(corners, w, b)
    half = side[np.abs(side @ w + b) < 1e-9 * np.abs(scores).max()]
    ax.plot(*half.T, np.full(len(half), 0.5), color=style.ink(), linewidth=2.0, zorder=5)


def chance(score: Array) -> Array:
    """Return the sigmoid of scores.

    >>> chance(np.array([0.0, 2.0]))
    array([0.5       , 0.88079708])
    """
    return np.asarray(0.5 * (1 + np.tanh(score / 2)))


def _cut(corners: Array, w: Array, b: float) -> Array:
    """Return the corners of that part of a convex polygon on which w·x + b >= 0."""
    scores = corners @ w + b
    kept = []
    previous = np.roll(corners, 1, axis=0), np.roll(scores, 1)
    for here, before, there, after in zip(*previous, corners, scores, strict=True):
        if (before < 0) != (after < 0):
            kept.append(here + before / (before - after) * (there - here))
        if after >= 0:
            kept.append(there)
    return np.array(kept).reshape(-1, 2)


def flowers() -> tuple[Array, Array]:
    """Return two features of two kinds of iris, and -1 or +1 by kind."""
    iris = load_iris()
    kinds = [list(iris.target_names).index(kind) for kind in KINDS]
    chosen = np.isin(iris.target, kinds)
    columns = [list(iris.feature_names).index(name) for name in FEATURES]
    return iris.data[chosen][:, columns], np.where(iris.target[chosen] == kinds[1], 1, -1)


def _frame(ax: Any) -> None:
    """Prepare axes of three dimensions, and write what they show."""
    solid(ax)
    for name, axis in zip([*FEATURES, f"Pr({KINDS[1]})"], (ax.xaxis, ax.yaxis, ax.zaxis), strict=True):
        axis.set_label_text(name, color=style.ink(), fontsize=style.SMALL + 0.5)
    ax.view_init(elev=24, azim=-128)
    ax.set_box_aspect((1.15, 1.15, 0.75), zoom=0.92)
    style.head(ax, FIGURES["sigmoid_surface"].title, words("sigmoid_surface"))
