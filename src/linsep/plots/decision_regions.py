"""The regions of a learner's predictions: on two features, or on a plane through rows of many features."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from sklearn.decomposition import PCA

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.checks import classes_of, score_rows
from linsep.plots.style import percent
from linsep.transforms.base import is_sparse
from linsep.validation.labels import margins_of, predicted_codes

FEW = 500
"""Dense rows or columns up to which all directions are worked out; of more, only the first two."""


class Plane(NamedTuple):
    """The points centre + a * directions[0] + b * directions[1], for all (a, b); the directions are orthonormal."""

    centre: Array
    directions: Array
    names: tuple[str, str]

    def places(self, X: Any) -> Array:
        """Return the coordinates (a, b) of the point of the plane that is nearest to each row."""
        return np.asarray(X @ self.directions.T) - self.directions @ self.centre

    def points(self, places: Array) -> Array:
        """Return the points of the plane at these coordinates, as rows."""
        return self.centre + places @ self.directions

    def scores(self, coef: Any, intercept: Array, places: Array) -> Array:
        """Return the scores of linear weights there, a column for each row of `coef`."""
        return places @ np.asarray(coef @ self.directions.T).T + (np.asarray(coef @ self.centre) + intercept)


def two_features(names: tuple[str, str]) -> Plane:
    """Return the plane of two features as they are."""
    return Plane(np.zeros(2), np.eye(2), names)


def principal(X: Any) -> Plane:
    """Return the plane through the mean row on which the rows differ most; sparse rows stay sparse."""
    centre, total = _moments(X)
    directions, spread = _directions(X, centre, total)
    shares = [percent(part / total) if total else "0 %" for part in spread]
    names = f"principal direction 1: {shares[0]} of variance", f"direction 2: {shares[1]} of variance"
    return Plane(centre, directions, names)


def along(X: Any, w: Array, b: float) -> Plane:
    """Return a plane of the direction w and of one in which the rows differ most beside it.

    Its centre is the point of the boundary w.x + b = 0 that is nearest to the mean row, so that the first coordinate
    of a row is its distance from the boundary, below 0 on the negative side.
    """
    size = float(np.linalg.norm(w))
    w = w / size
    centre, total = _moments(X)
    directions, _ = _directions(X, centre, total)
    beside = directions - np.outer(directions @ w, w)
    second = beside[np.argmax(np.linalg.norm(beside, axis=1))]
    names = "distance from the boundary", "direction of most variance along it"
    nearest = centre - (w @ centre + b / size) * w
    return Plane(nearest, np.array([w, second / np.linalg.norm(second)]), names)


def _moments(X: Any) -> tuple[Array, float]:
    """Return the mean row, and the sum of the variances of all columns; 0 if rows differ by rounding only."""
    centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    size = float(centre @ centre)
    if is_sparse(X):
        total, doubt = float(np.square(X.data, dtype=np.float64).sum()) / X.shape[0] - size, 1e-12
    else:
        total, doubt = float(np.square(X - centre).sum()) / X.shape[0], 1e-26
    return centre, total if total > doubt * (size + total) else 0.0


def _directions(X: Any, centre: Array, total: float) -> tuple[Array, Array]:
    """Return the first two principal directions and the variance along each."""
    rows, width = X.shape
    if not total:
        return np.eye(2, width), np.zeros(2)
    if is_sparse(X) and min(rows, width) > 3:
        used = np.union1d(X.indices, [0, 1])
        directions, spread = _first_two(X[:, used]) if len(used) > 3 else _all(X[:, used].toarray(), centre[used])
        wide = np.zeros((2, width))
        wide[:, used] = directions
        return wide, spread
    X = X.toarray() if is_sparse(X) else X
    return _all(X, centre) if min(rows, width) <= FEW else _first_two(X)


def _all(X: Array, centre: Array) -> tuple[Array, Array]:
    off = np.vstack([X - centre, np.zeros((2, X.shape[1]))])
    _, sizes, directions = np.linalg.svd(off, full_matrices=False)
    return directions[:2], sizes[:2] ** 2 / len(X)


def _first_two(X: Any) -> tuple[Array, Array]:
    found = PCA(2, svd_solver="arpack", random_state=0).fit(X)
    return found.components_, found.explained_variance_ * (X.shape[0] - 1) / X.shape[0]


DRAWN = 2000
"""The most rows to draw; of more, a sample is drawn, and determines the plane."""
GRID, BEYOND = 200, 3
"""Points of the grid on each axis, and the factor of its extension on either side."""
MANY = 60
"""The rings of more mistakes than this are smaller."""
HONEST = 0.9
"""The least share of rows on the side of their prediction for which lines are drawn through many features."""
WIDEST = 4096
"""Features up to which the points of a plane are put to a learner that has no `coef_`."""


Linear = tuple[Any, Array]
"""Weights and biases, a row and a number for each column of scores."""


class Shown(NamedTuple):
    """The rows of a picture: their places, classes, predictions, and which are mistakes."""

    places: Array
    codes: Array
    predictions: Array
    wrong: Array


def decision_boundary(
    clf: Any,
    X: Any,
    y: Any,
    *,
    view: str = "principal",
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows, the regions of the learner's predictions, and its margin; mistakes are ringed.

    Two features are drawn as they are. Rows of more features, dense or sparse, are seen on a plane through their mean,
    each at the point of the plane that is nearest to it. What is drawn of the boundary is then the line in which it
    cuts that plane, and a row may lie on one side of the line and have the prediction of the other: the picture states
    how many rows lie on the side of their prediction. If fewer than 90 % do, no line is drawn: it would mislead.

    The margin, two dashed lines, is the least distance of a row from the boundary, where a linear learner of two
    classes makes no mistake on any row. Of more than 2,000 rows a sample is drawn.

    Parameters
    ----------
    clf : a fitted classifier
        With `coef_` and `intercept_`; or any with a `decision_function`, such as a pipeline, of up to 4,096 features.
    X : array, sparse matrix or dataframe, (rows, features)
        Two features at least.
    y : array, (rows,)
        Their labels, of the learner's classes.
    view : {"principal", "score"}, default="principal"
        The plane for more than two features: that of the first two principal directions; or, of two classes and linear
        weights, that of the weights' direction and the one in which rows differ most beside it. There every row is
        on the side of its prediction, at its true distance from the boundary.
    feature_names : sequence of two str, optional
        Names of the axes, with units; by default `feature_names_in_`, where the
        learner has them.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"]
    >>> ax = decision_boundary(Perceptron(shuffle=False).fit(X, y), X, y, feature_names=["width (cm)", "height (cm)"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['high', 'low', 'boundary', 'margin 0.707']
    """
    if view not in ("principal", "score"):
        raise ValueError(f'view={view!r}: it is "principal" or "score"')
    codes, scores = score_rows(clf, X, y)
    classes, margins = classes_of(clf), margins_of(codes, scores)
    chosen = _sample(len(codes))
    rows = _rows(X, chosen)
    if rows.shape[1] < 2:
        raise ValueError("X has 1 feature, and a plane needs two: draw the margins instead (linsep.plots.margins)")
    linear = _linear(clf)
    plane = _plane_of(clf, linear, rows, view, feature_names)
    shown = Shown(plane.places(rows), codes[chosen], predicted_codes(scores)[chosen], margins[chosen] <= 0)
    cut = rows.shape[1] > 2
    ax = style.axes(ax, _size(shown.places))
    grid = _grid(shown.places)
    heights = _scores_on(clf, linear, plane, grid)
    agreed = float(np.mean(predicted_codes(_scores_on(clf, linear, plane, shown.places)) == shown.predictions))
    drawn = _tint(ax, grid, heights, lines=not cut or agreed >= HONEST)
    reach = _reach(linear, margins) if drawn and len(classes) == 2 and (not cut or view == "score") else 0.0
    if reach:
        _draw_margin(ax, grid, heights, float(margins.min()))
    for k in np.unique(codes):
        _scatter(ax, shown.places[shown.codes == k], int(k))
    wrong = shown.places[shown.wrong]
    size = 80 if len(wrong) <= MANY else 40
    ax.scatter(wrong[:, 0], wrong[:, 1], s=size, facecolor="none", edgecolor=style.ink(), linewidth=0.8, zorder=5)
    _explain(ax, classes, np.unique(codes), bool(len(wrong)), drawn, reach)
    sampled = f"{style.count_of(len(chosen), 'row')} of {len(codes):,} are drawn." if len(chosen) < len(codes) else ""
    faults = style.count_of(int(np.count_nonzero(margins <= 0)), "mistake")
    title = f"{_name_of(clf)}: {faults} on {style.count_of(len(codes), 'row')}"
    style.head(ax, title, _meaning(classes, cut, view, drawn, agreed), sampled)
    style.name_axes(ax, *plane.names)
    _frame(ax, shown.places)
    return ax


def _sample(rows: int) -> Array:
    if rows <= DRAWN:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, DRAWN, replace=False))


def _rows(X: Any, chosen: Array) -> Any:
    """Return the rows chosen in float64, CSR where they are sparse."""
    rows: Any = (X.tocsr() if is_sparse(X) else np.asarray(X))[chosen].astype(np.float64)
    if is_sparse(rows):
        rows.sum_duplicates()
    return rows


def _plane_of(clf: Any, linear: Linear | None, X: Any, view: str, names: Sequence[str] | None) -> Plane:
    if X.shape[1] == 2:
        names = getattr(clf, "feature_names_in_", ("feature 0", "feature 1")) if names is None else names
        if len(names) != 2:
            raise ValueError(f"feature_names has {len(names)} names, and X two features")
        return two_features((names[0], names[1]))
    if view == "principal":
        return principal(X)
    if len(clf.classes_) > 2:
        raise ValueError(f'view="score" is for two classes, and there are {len(clf.classes_)}: use view="principal"')
    if linear is None or not _steepness(linear):
        raise ValueError('view="score" needs linear weights (coef_) that are not all 0: use view="principal"')
    return along(X, _dense(linear[0])[0], float(linear[1][0]))


def _linear(clf: Any) -> Linear | None:
    """Return the weights and biases whose scores are those of the learner, or None where it has none."""
    coef, intercept = getattr(clf, "coef_", None), getattr(clf, "intercept_", None)
    columns = 1 if len(clf.classes_) == 2 else len(clf.classes_)
    if coef is None or intercept is None or coef.shape[0] != columns:
        return None
    return coef, np.asarray(intercept, np.float64)


def _dense(coef: Any) -> Array:
    return coef.toarray() if is_sparse(coef) else np.asarray(coef)


def _steepness(linear: Linear) -> float:
    """Return ||w||: by how much the score of a learner of two classes grows in its direction."""
    return float(np.linalg.norm(_dense(linear[0])))


def _scores_on(clf: Any, linear: Linear | None, plane: Plane, places: Array) -> Array:
    """Return the scores at places of the plane, as `decision_function` would."""
    flat, width = places.reshape(-1, 2), len(plane.centre)
    if linear is not None:
        scores = plane.scores(*linear, flat)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
    elif width > WIDEST:
        raise ValueError(f"{type(clf).__name__} has no coef_, and with {width} features its plane is too large to ask")
    else:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            blocks = np.array_split(flat, 1 + len(flat) * width // (1 << 22))
            scores = np.concatenate([clf.decision_function(plane.points(block)) for block in blocks])
    return scores.reshape(*places.shape[:-1], *scores.shape[1:])


def _size(places: Array) -> tuple[float, float]:
    (x0, y0), (x1, y1) = style.limits(places)
    return 8.2, float(np.clip(1.2 + 5.2 * (y1 - y0) / (x1 - x0), 4.0, 5.6))


def _grid(places: Array) -> Array:
    """Return a grid over the places; it extends beyond them, coarsely, since equal units may widen the limits."""
    low, high = style.limits(places)
    before, within = np.linspace(-BEYOND, 0, GRID // 3, endpoint=False), np.linspace(0, 1, GRID)
    steps = np.concatenate([before, within, 1 - before[::-1]])
    across, up = (low[k] + steps * (high[k] - low[k]) for k in (0, 1))
    return np.stack(np.meshgrid(across, up), axis=-1)


def _frame(ax: Axes, places: Array) -> None:
    """Set the limits to the places, with equal units on both axes unless one of them would be a strip.

    Called last: limits that equal units may widen are those that follow the data, which are the places, not the grid.
    """
    low, high = style.limits(places)
    ax.dataLim.set_points(np.array([low, high]))
    ax.set_xlim(low[0], high[0], auto=True)
    ax.set_ylim(low[1], high[1], auto=True)
    if 0.4 <= (high[0] - low[0]) / (high[1] - low[1]) <= 2.5:
        ax.set_aspect("equal", adjustable="datalim")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _tint(ax: Axes, grid: Array, heights: Array, lines: bool) -> bool:
    """Tint the region of each class and draw the boundaries; return whether any boundary crosses the frame."""
    X, Y = grid[..., 0], grid[..., 1]
    layers = np.stack([-heights, heights], axis=-1) if heights.ndim == 2 else heights
    crossed = False
    for k in range(layers.shape[-1]) if lines else ():
        ahead = layers[..., k] - np.delete(layers, k, axis=-1).max(axis=-1)
        if ahead.max() > 0:
            ax.contourf(X, Y, ahead, levels=[0, np.inf], colors=[style.colour_of(k)], alpha=0.10, zorder=0)
        if ahead.min() < 0 < ahead.max():
            crossed = True
            if k or layers.shape[-1] > 2:
                width = 2.4 if layers.shape[-1] == 2 else 1.1
                ax.contour(X, Y, ahead, levels=[0], colors=[style.ink()], linewidths=width, zorder=3)
    return crossed


def _reach(linear: Linear | None, margins: Array) -> float:
    """Return the least distance of a row from the boundary of two classes; 0 if one is on the wrong side."""
    steepness = 0.0 if linear is None else _steepness(linear)
    return max(0.0, float(margins.min()) / steepness) if steepness else 0.0


def _draw_margin(ax: Axes, grid: Array, heights: Array, height: float) -> None:
    for level in (-height, height):
        if heights.min() < level < heights.max():
            ax.contour(grid[..., 0], grid[..., 1], heights, levels=[level], colors=[style.ink()], linewidths=1.2,
                       linestyles="dashed", zorder=3)  # fmt: skip


def _scatter(ax: Axes, places: Array, k: int) -> None:
    ax.scatter(places[:, 0], places[:, 1], s=30 if len(places) < 300 else 18, color=style.colour_of(k),
               marker=style.marker_of(k), edgecolor=style.paper(), linewidth=0.5, zorder=4)  # fmt: skip


def _explain(ax: Axes, classes: Array, there: Array, wrong: bool, drawn: bool, reach: float) -> None:
    handles = [style.dot(int(k)) for k in there]
    labels = [style.shorten(classes[k], 28) for k in there]
    if wrong:
        handles.append(Line2D([], [], color=style.ink(), marker="o", markersize=9, fillstyle="none", linestyle="none"))
        labels.append("mistake")
    if drawn:
        handles.append(Line2D([], [], color=style.ink(), linewidth=2.4 if len(classes) == 2 else 1.1))
        labels.append("boundary")
    if reach:
        handles.append(Line2D([], [], color=style.ink(), linewidth=1.2, linestyle="dashed"))
        labels.append(f"margin {reach:.3g}")
    style.legend(ax, handles, labels)


def _meaning(classes: Array, cut: bool, view: str, drawn: bool, agreed: float) -> str:
    """Return what the picture shows of the boundary, and what it does not."""
    if not cut:
        return "" if drawn else "No boundary crosses this part of the plane."
    if view == "score":
        return "Seen along the boundary: each row is at its true distance from it."
    if not drawn and agreed >= HONEST:
        return "The boundary does not cross this part of the plane of the mean row."
    share = style.percent(agreed)
    if not drawn:
        return f"No boundary is drawn: only {share} of rows would be on the side of their prediction."
    what = "Line: the boundary" if len(classes) == 2 else "Regions: predictions"
    return f"{what} on the plane of the mean row; {share} of rows are on the side of their prediction."


def _name_of(clf: Any) -> str:
    steps = getattr(clf, "steps", None)
    return type(steps[-1][1] if steps else clf).__name__
