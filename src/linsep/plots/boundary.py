"""The way of a boundary over the updates of a run, in two dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from linsep.core.examples import Array
from linsep.learners.base import OnlineLearner

COLOURS = ("#0072B2", "#D55E00")
"""Blue and vermilion of Okabe and Ito: told apart by everyone, in print too; the markers differ besides."""
MARKERS = ("o", "^")
INK = "#1b1f24"
HALO = [patheffects.withStroke(linewidth=2.5, foreground="white")]


def replay(clf: OnlineLearner, X: Any, y: Any) -> Array:
    """Return the weights before the first update and after each one, (updates + 1, features + 1), the bias last.

    They are summed up from `log_` alone: s = keep * s + amount * x, update by update.

    Parameters
    ----------
    clf : a fitted learner of two classes
        With additive weights that answer as they stand at the end, and a full log from the start of its training.
    X : array, (rows, features)
        The rows that it was fitted on.
    y : array, (rows,)
        Their labels.

    Returns
    -------
    array, (updates + 1, features + 1)
        The last row is `coef_` and `intercept_`.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1]
    >>> replay(Perceptron(shuffle=False).fit(X, y), X, y)
    array([[ 0.,  0.,  0.],
           [ 0., -1., -1.],
           [ 1., -1.,  0.]])
    """
    X, y = np.asarray(X, np.float64), np.asarray(y)
    if len(clf.classes_) != 2:
        raise ValueError(f"a boundary's way is drawn for two classes; this {type(clf).__name__} has {len(clf.classes_)}")
    log, beta = clf.log_, float(clf.intercept_scaling) if clf.fit_intercept else 0.0
    if len(log) and log.rows.max() >= len(X):
        raise ValueError(f"the log names row {log.rows.max()}, but X has {len(X)} rows: pass the X of fit")
    signs = np.where(y[log.rows] == clf.classes_[1], 1.0, -1.0)
    amounts = signs if log.amounts is None else log.amounts
    keeps = np.ones(len(log)) if log.keeps is None else log.keeps
    rows = np.column_stack([X[log.rows], np.full(len(log), beta)])
    path = np.zeros((len(log) + 1, X.shape[1] + 1))
    for k in range(len(log)):
        path[k + 1] = keeps[k] * path[k] + amounts[k] * rows[k]
    path[:, -1] *= beta
    if not np.allclose(path[-1], [*clf.coef_[0], *clf.intercept_], rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"the log of this {type(clf).__name__} does not lead to its coef_: X and y are not those of fit, or the "
            "weights that answer are not the sum of the updates (an average, or exponential, sinh or p-norm weights)"
        )
    return path


def boundary_path(
    clf: OnlineLearner,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the boundary of a learner moved: after each update a line, light to dark, the last one bold.

    Rows that caused an update are ringed and numbered in order; the arrow is the normal vector of the last boundary,
    which points to the side of the second class.

    Parameters
    ----------
    clf : a fitted learner of two classes and two features
        As for :func:`replay`.
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
    """
    path = replay(clf, X, y)
    X, y = np.asarray(X, np.float64), np.asarray(y)
    if X.shape[1] != 2:
        raise ValueError(f"a boundary's way is drawn in two dimensions; X has {X.shape[1]} features")
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.subplots(figsize=(7.2, 4.4), layout="constrained")[1]
    _frame(ax, X, path[-1])
    _draw_lines(ax, path)
    _draw_points(ax, clf, X, y)
    _draw_normal(ax, path[-1])
    _number(ax, X, clf.log_.rows)
    names = feature_names if feature_names is not None else getattr(clf, "feature_names_in_", ("feature 0", "feature 1"))
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    return ax


def _frame(ax: Axes, X: Array, last: Array) -> None:
    """Set the limits, with equal units on both axes so that the normal vector is seen to be normal; tint the sides."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * (high - low).max()
    (x0, y0), (x1, y1) = low - pad, high + pad
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal", adjustable="box")
    corners = np.meshgrid([x0, x1], [y0, y1])
    side = last[0] * corners[0] + last[1] * corners[1] + last[2]
    ax.contourf(*corners, side, levels=[-np.inf, 0, np.inf], colors=COLOURS, alpha=0.07, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_lines(ax: Axes, path: Array) -> None:
    centre = np.array([np.mean(ax.get_xlim()), np.mean(ax.get_ylim())])
    shades = colormaps["Greys"](np.linspace(0.25, 0.7, len(path)))
    for k, (w, b) in enumerate(zip(path[:, :2], path[:, 2], strict=True)):
        if not w.any():
            continue
        near = centre - (w @ centre + b) / (w @ w) * w
        last = k == len(path) - 1
        ax.axline(
            near, near + [-w[1], w[0]], color=INK if last else shades[k], linewidth=2.6 if last else 1.1, zorder=3 if last else 2,
            label="final boundary" if last else "after each update, light to dark" if k == len(path)//2 else None,
        )


def _draw_points(ax: Axes, clf: OnlineLearner, X: Array, y: Array) -> None:
    for label, colour, marker in zip(clf.classes_, COLOURS, MARKERS, strict=True):
        ax.scatter(*X[y == label].T, s=34, color=colour, marker=marker, edgecolor="white", linewidth=0.6, zorder=4, label=label)


def _draw_normal(ax: Axes, last: Array) -> None:
    centre = np.array([np.mean(ax.get_xlim()), np.mean(ax.get_ylim())])
    w, b = last[:2], last[2]
    near = centre - (w @ centre + b) / (w @ w) * w
    tip = near + 0.16 * np.ptp(ax.get_xlim()) * w / np.linalg.norm(w)
    ax.annotate("", tip, near, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}, zorder=5)
    ax.annotate("w", tip, (4, 4), textcoords="offset points", color=INK, fontsize=12, fontstyle="italic", weight="bold", path_effects=HALO, zorder=6)


def _number(ax: Axes, X: Array, rows: Array) -> None:
    places: dict[tuple[float, ...], list[int]] = {}
    for k, row in enumerate(rows, 1):
        places.setdefault(tuple(X[row]), []).append(k)
    ax.scatter(*np.array(list(places)).T, s=110, facecolor="none", edgecolor=INK, linewidth=1.2, zorder=5, label="mistake, numbered")
    for place, numbers in places.items():
        ax.annotate(", ".join(map(str, numbers)), place, (6, 6), textcoords="offset points", color=INK, fontsize=8.5, path_effects=HALO, zorder=6)
