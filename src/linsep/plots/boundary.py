"""The way of a boundary over the updates of a run, in two dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.plots import style
from linsep.plots.checks import classes_of
from linsep.transforms.base import is_sparse

FAINTEST, FULLEST = 0.25, 0.8
"""The opacity of the first line, and of the last but one."""
SPOTS = [(0, 11), (0, -11), (9, 7), (9, -7), (-9, 7), (-9, -7), (12, 0), (-12, 0)]
"""Candidate places of a ring's number, in points from its centre."""
NUMBERED, DRAWN = 24, 80
"""The most updates that are numbered, and the most lines that are drawn."""


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
        As for :func:`linsep.plots.boundary.replay`.
    X : array, (rows, 2)
        The rows that it was fitted on.
    y : array, (rows,)
        Their labels; they name the classes in the legend.
    feature_names : sequence of two str, optional
        Names of the axes, with units; by default `feature_names_in_`, where the learner has them.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"]
    >>> ax = boundary_path(Perceptron(shuffle=False).fit(X, y), X, y, feature_names=["width (cm)", "height (cm)"])
    >>> ax.get_xlabel()
    'width (cm)'
    """
    classes = classes_of(clf)
    path = replay(clf, X, y)
    X, y = dense(X), np.asarray(y)
    if X.shape[1] != 2:
        raise ValueError(f"a boundary's way is drawn in two dimensions; X has {X.shape[1]} features")
    if not path[-1, :2].any():
        raise ValueError("the last weights are 0: there is no boundary")
    if feature_names is None:
        feature_names = getattr(clf, "feature_names_in_", ("feature 0", "feature 1"))
    if len(feature_names) != 2:
        raise ValueError(f"feature_names has {len(feature_names)} names, and X two features")
    ax = style.axes(ax, figure_size(X))
    _frame(ax, X, path[-1])
    for k, label in enumerate(classes):
        of_class = X[y == label]
        ax.scatter(
            of_class[:, 0],
            of_class[:, 1],
            s=38,
            color=style.colour_of(k),
            marker=style.marker_of(k),
            edgecolor=style.paper(),
            linewidth=0.7,
            zorder=4,
        )
    _draw_lines(ax, path)
    _ring(ax, X, clf.log_.rows, avoid=_draw_normal(ax, path[-1]))
    event = "mistake" if clf.log_.amounts is None else "update"
    _explain(ax, classes, event)
    count = style.count_of(len(path) - 1, event)
    ax.set_title(f"{type(clf).__name__}: the boundary after each of its {count}", loc="left", pad=18, color=style.ink())
    style.name_axes(ax, feature_names[0], feature_names[1])
    return ax


def figure_size(X: Array) -> tuple[float, float]:
    """Return the width and height in inches of a figure for these rows, the legend included."""
    low, high = _limits(X)
    across, up = high - low
    return 8.2, float(np.clip(1.0 + 5.2 * up / across, 3.0, 7.0))


def _limits(X: Array) -> tuple[Array, Array]:
    """Return the corners of the frame, with as much room beside the rows on both axes."""
    pad = 0.09 * np.ptp(X, axis=0).max() or 1.0
    return X.min(axis=0) - pad, X.max(axis=0) + pad


def _frame(ax: Axes, X: Array, last: Array) -> None:
    """Set the limits, tint the two sides; equal units on both axes, so that the normal vector is seen to be normal."""
    (x0, y0), (x1, y1) = _limits(X)
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    ax.set_aspect("equal", anchor="W")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    corners = np.meshgrid([x0, x1], [y0, y1])
    side = last[0] * corners[0] + last[1] * corners[1] + last[2]
    ax.contourf(*corners, side, levels=[-np.inf, 0, np.inf], colors=style.COLOURS[:2], alpha=0.07, zorder=0)


def _draw_lines(ax: Axes, path: Array) -> None:
    ends: list[tuple[Array, int]] = []
    few, every = len(path) - 1 <= NUMBERED, -(-len(path) // DRAWN)
    for k, weights in enumerate(path):
        points = _crossing(ax, weights)
        if points is None or (len(path) - 1 - k) % every:
            continue
        if k == len(path) - 1:
            ax.plot(*points.T, color=style.ink(), linewidth=2.8, zorder=3)
        else:
            shade, width = _shade(k / len(path)), 1.4 if few else 0.8
            ax.plot(*points.T, color=style.ink(), alpha=shade, linewidth=width, zorder=2)
        if few:
            ends.append((points[1], k))
    for place, text in _join_labels(ends, np.array([0.06, 0.03]) * np.ptp(ax.get_xlim())):
        right = place[0] >= ax.get_xlim()[1] - 1e-9
        ax.annotate(
            text, tuple(place), (3, 0) if right else (0, 3), textcoords="offset points", color=style.ink(),
            alpha=0.75, fontsize=8,
            ha="left" if right else "center", va="center" if right else "bottom", annotation_clip=False,
        )  # fmt: skip


def _shade(way: float) -> float:
    """Return how much of the ink a line has on its way from the first to the last."""
    return FAINTEST + (FULLEST - FAINTEST) * way


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


def _join_labels(ends: list[tuple[Array, int]], near: Array) -> list[tuple[Array, str]]:
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
    arrow = {
        "arrowstyle": "-|>",
        "color": style.ink(),
        "linewidth": 2.2,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 16,
    }
    ax.annotate("", tip, start, arrowprops=arrow, zorder=5)
    ax.annotate(
        "w", tip, (7, 2), textcoords="offset points", color=style.ink(), fontsize=13, fontstyle="italic", weight="bold",
        path_effects=style.halo(), zorder=6,
    )  # fmt: skip
    return np.vstack([np.linspace(ends[0], ends[1], 100), np.linspace(start, tip, 20)])


def _ring(ax: Axes, X: Array, rows: Array, avoid: Array) -> None:
    """Ring the rows of the updates, and write their numbers where there is most room."""
    places: dict[tuple[float, ...], list[int]] = {}
    for k, row in enumerate(rows, 1):
        places.setdefault(tuple(X[row]), []).append(k)
    rings = np.array(list(places))
    ax.scatter(rings[:, 0], rings[:, 1], s=120, facecolor="none", edgecolor=style.ink(), linewidth=1.3, zorder=5)
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
            color=style.ink(), fontsize=8.5, weight="bold", path_effects=style.halo(), zorder=6,
        )  # fmt: skip


def _explain(ax: Axes, classes: Array, event: str) -> None:
    """Put the legend beside the frame, where it hides nothing."""
    ring = Line2D([], [], color=style.ink(), marker="o", markersize=10, fillstyle="none", linestyle="none")
    way = tuple(Line2D([], [], color=style.ink(), alpha=_shade(k / 3), linewidth=1.8) for k in range(4))
    final = Line2D([], [], color=style.ink(), linewidth=2.8)
    names = [style.shorten(label, 20) for label in classes]
    style.legend(
        ax,
        [style.dot(0), style.dot(1), ring, way, final],
        [*names, event, "boundary, first to last", "at the end, with its\nnormal vector w"],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        bbox_to_anchor=(1.05, 1.0),
        labelspacing=1.0,
    )


def dense(X: Any) -> Array:
    """Return rows as a dense array of float64."""
    return np.asarray(X.toarray() if is_sparse(X) else X, np.float64)


def replay(clf: OnlineLearner, X: Any, y: Any) -> Array:
    """Return the weights before the first update and after each one, (updates + 1, features + 1), the bias last.

    They are summed up from `log_` alone: s = keep * s + amount * x, update by update.

    Parameters
    ----------
    clf : a fitted learner of two classes
        With additive weights, the last of which predict, and a full log from the start of its training; not one that
        has mixed shards.
    X : array or sparse matrix, (rows, features)
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
    X, y = dense(X), np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)} labels")
    if len(clf.classes_) != 2:
        raise ValueError(f"only a run on two classes is played again; this one had {len(clf.classes_)}")
    mixed = clf._fitted().mixed
    if mixed is not None and (mixed.numbers[:, 1] > 0).any():
        raise ValueError(
            f"this {type(clf).__name__} has mixed shards (shards={clf.shards}): its weights went no single way that "
            "could be played again; fit it with shards=None"
        )
    log, beta = clf.log_, clf._bias
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
    if not np.allclose(path[-1], [*dense(clf.coef_)[0], *clf.intercept_], rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"the log of this {type(clf).__name__} does not lead to its coef_: X and y are not those of fit, or the "
            "weights that predict are not the sum of the updates (an average, or exponential, sinh or p-norm weights)"
        )
    return path
