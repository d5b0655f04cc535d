"""Pictures of how well a model predicts: confusion, ROC, precision and recall, calibration, margins, a ranking."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import column_or_1d

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import codes_of, finite, labels_of, same_length, score_rows
from linsep.theory.ranking import Ranking
from linsep.theory.risk import wilson
from linsep.validation.labels import margins_of, refuse_another_type

MOST = 100
"""Classes that a picture can hold."""
SHARES, COUNTS = 12, 40
"""Cells have shares and counts up to `SHARES` classes, counts up to `COUNTS` classes, and colour only beyond."""
LETTER = 0.08
"""The width in inches of a letter in the classes' names."""
DEEPEST = 0.6
"""The opacity of a whole class in one cell: text stays readable on it."""


def confusion(y_true: Any, y_pred: Any, *, labels: Any = None, ax: Axes | None = None) -> Axes:
    r"""Draw how many rows of each class were predicted as each; right predictions are blue, mistakes vermilion.

    The opacity of a cell is its share of the true class, a row. Beside each row is the share that is right.

    Parameters
    ----------
    y_true, y_pred : arrays, (rows,)
        The true labels, and those predicted.
    labels : array, optional
        The classes to draw, in order; by default all that occur, sorted. Rows with another true or predicted label are
        left out, and counted in the heading.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure of the size that :func:`matrix_size` returns.

    Examples
    --------
    >>> ax = confusion(["ham", "ham", "spam", "spam"], ["ham", "spam", "spam", "spam"])
    >>> ax.get_title(loc="left"), [text.get_text() for text in ax.texts]
    ('3 of 4 rows right (75.0 %)', ['1\n50 %', '1\n50 %', '2\n100 %', '50 %', '100 %', 'right'])
    """
    y_true, y_pred = (labels_of(name, y) for name, y in (("y_true", y_true), ("y_pred", y_pred)))
    same_length(y_true=y_true, y_pred=y_pred)
    classes = np.union1d(y_true, y_pred) if labels is None else column_or_1d(labels)
    refuse_another_type(y_pred, y_true)
    refuse_another_type(classes, y_true)
    if len(classes) > MOST:
        raise ValueError(f"{len(classes)} classes are too many for one picture: choose some with labels=")
    counts = _counts(y_true, y_pred, classes)
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    ax = style.axes(ax, matrix_size(classes))
    _draw_cells(ax, shares)
    names = [_short(label) for label in classes]
    _write_cells(ax, counts, shares, names)
    _name_classes(ax, names, totals, np.diag(shares))
    right, rows = int(np.trace(counts)), int(counts.sum())
    others = len(y_true) - rows
    note = "Colour: share of the true class." if len(classes) > SHARES else ""
    style.head(ax, f"{right:,} of {style.count_of(rows, 'row')} right ({style.percent(right / max(rows, 1))})", note,
               f"{style.count_of(others, 'row')} with other labels left out." if others else "")  # fmt: skip
    style.name_axes(ax, "predicted", "true")
    return ax


def matrix_size(classes: Any) -> tuple[float, float]:
    """Return the width and height in inches of a figure in which the matrix of these classes is easy to read."""
    n, longest = len(classes), max(len(_short(label)) for label in classes)
    side = float(np.clip(0.75 * n, 2.2, 5.0) + 0.24 * max(0, n - 12))
    return max(4.8, side + 1.8 + LETTER * longest), side + 1.1 + (LETTER * longest if longest > 3 else 0.0)


def _short(label: Any) -> str:
    return style.shorten(label, 28)


def _counts(y_true: Array, y_pred: Array, classes: Array) -> Array:
    """Return how many rows of each class, a row, were taken for each, a column."""
    order, n = np.argsort(classes), len(classes)
    if (classes[order][1:] == classes[order][:-1]).any():
        raise ValueError("labels names a class twice")
    codes = []
    for y in (y_true, y_pred):
        places = order[np.searchsorted(classes, y, sorter=order).clip(0, n - 1)]
        codes.append(np.where(classes[places] == y, places, n))
    counts = np.bincount(codes[0] * (n + 1) + codes[1], minlength=(n + 1) ** 2).reshape(n + 1, n + 1)
    if not counts[:n].any():
        raise ValueError("none of the labels occurs in y_true")
    return counts[:n, :n]


def _draw_cells(ax: Axes, shares: Array) -> None:
    n = len(shares)
    rows, columns = np.nonzero(shares)
    colours = np.zeros((len(rows), 4))
    colours[:, :3] = np.where((rows == columns)[:, None], _rgb(style.RIGHT), _rgb(style.WRONG))
    colours[:, 3] = 0.06 + (DEEPEST - 0.06) * shares[rows, columns]
    gap = 0.03 if n <= COUNTS else 0.0
    ax.bar(columns, np.full(len(rows), 1 - 2 * gap), 1 - 2 * gap, rows - 0.5 + gap, color=colours, linewidth=0)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    ax.spines[["left", "bottom"]].set_visible(False)


def _rgb(colour: str) -> Array:
    return np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def _write_cells(ax: Axes, counts: Array, shares: Array, names: list[str]) -> None:
    n, cell = len(counts), _cell_points(ax, names)
    if n > COUNTS:
        return
    size = float(np.clip(cell / (3.2 if n <= SHARES else 2.2), 3.0, 11.0))
    for i, j in np.argwhere(counts):
        text = f"{counts[i, j]:,}\n{_whole(shares[i, j])}" if n <= SHARES else f"{counts[i, j]:,}"
        fitting = min(size, 1.5 * cell / max(map(len, text.split("\n"))))
        ax.text(j, i, text, ha="center", va="center", fontsize=fitting, color=style.ink(), linespacing=1.15)


def _cell_points(ax: Axes, texts: list[str]) -> float:
    """Return about how wide a cell will be, in points, with these names beside."""
    box, names = ax.get_window_extent(), LETTER * 72 * max(map(len, texts))
    scale = 72 / ax.figure.dpi
    return max(1.15 * min(box.width, box.height) * scale - names, 0.4 * box.height * scale) / len(texts)


def _name_classes(ax: Axes, texts: list[str], totals: Array, right: Array) -> None:
    n, cell = len(texts), _cell_points(ax, texts)
    size = float(np.clip(0.7 * cell, 4.0, 10.0))
    upright = max(map(len, texts)) * 0.62 * size > 0.95 * cell
    ax.set_xticks(range(n), labels=texts, rotation=90 if upright else 0, fontsize=size, parse_math=False)
    ax.set_yticks(range(n), labels=texts, fontsize=size, parse_math=False)
    ax.tick_params(length=0, pad=4)
    shares = [_whole(right[k]) if totals[k] else "–" for k in range(n)]
    for place, text in zip([*range(n), n - 0.5], [*shares, "right"], strict=True):
        below = text == "right"
        ax.annotate(text, (1, place), (5, -6 if below else 0), xycoords=("axes fraction", "data"), alpha=0.8,
                    textcoords="offset points", va="top" if below else "center", fontsize=min(size, style.SMALL),
                    color=style.ink(), annotation_clip=False)  # fmt: skip


def _whole(share: float) -> str:
    """Return a share in whole percent; only all is 100 %, and only nothing 0 %."""
    whole = round(100 * share)
    return "> 99 %" if whole == 100 and share < 1 else "< 1 %" if whole == 0 and share > 0 else f"{whole} %"


STRIP = 0.2
"""The height below 0 of the strip that shows the number of rows of each point."""
MOST_NUMBERS = 12


class Claims(NamedTuple):
    """Predicted probabilities, whether each prediction came true, and the Brier score."""

    given: Array
    observed: Array
    brier: float
    across: str
    up: str


def calibration(y: Any, probability: Any, *, labels: Any = None, bins: int = 10, ax: Axes | None = None) -> Axes:
    """Draw how often predictions came true against the probability that they were given, on the diagonal if rightly.

    Rows are grouped by probability in equal steps; a point is the mean of a group, the bar through it Wilson's interval
    of 95 %, the strip below shows its number of rows. The Brier score of two classes is the mean of
    (p - y)², y being 1 or 0; of more, the mean of the sum of that over all classes.

    Parameters
    ----------
    y : array, (rows,)
        The true labels.
    probability : array, (rows,) or (rows, classes)
        Of the second class, in sorted order; or of each class, as `predict_proba` returns them. With three classes or
        more, what is drawn is the probability of the class that was predicted, and how often it was the true one.
    labels : array, optional
        The classes in order, as in `classes_`; by default those that occur in y, or 0 and 1 where nothing else does.
    bins : int, default=10
        Number of groups.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> ax = calibration([0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], bins=2)
    >>> ax.get_title(loc="left"), ax.lines[-1].get_ydata().round(2).tolist()
    ('Calibration: Brier score 0.277', [0.33, 0.67])
    """
    if bins < 1:
        raise ValueError(f"bins={bins}: there is one group at least")
    claims = _claims(y, probability, labels)
    groups = np.minimum((claims.given * bins).astype(np.intp), bins - 1)
    counts = np.bincount(groups, minlength=bins)
    there = np.flatnonzero(counts)
    given = np.bincount(groups, claims.given, bins)[there] / counts[there]
    true = np.bincount(groups, claims.observed, bins)[there] / counts[there]
    ax = style.axes(ax, (5.6, 5.4))
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=1.2, linestyle="dashed", alpha=0.7, zorder=1)
    low, high = wilson(true, counts[there])
    ax.vlines(given, low, high, color=style.RIGHT, linewidth=2.2, alpha=0.4, zorder=2)
    _draw_strip(ax, counts)
    ax.plot(given, true, color=style.RIGHT, marker="o", markersize=6, linewidth=1.6, markeredgecolor=style.paper(),
            zorder=3)  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-STRIP - 0.1, 1.02))
    ax.set_yticks(np.linspace(0, 1, 6))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ticks.percent_format())
    ax.spines["left"].set_bounds(0, 1)
    style.head(ax, f"Calibration: Brier score {claims.brier:.3g}",
               f"{style.count_of(len(groups), 'row')}; bars: 95 % interval; strip: rows of each point.")  # fmt: skip
    style.name_axes(ax, claims.across, claims.up)
    return ax


def _claims(y: Any, probability: Any, labels: Any) -> Claims:
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim not in (1, 2) or not p.size:
        raise ValueError(f"probability has the shape {p.shape}: it is (rows,) or (rows, classes), one row at least")
    if not ((p >= 0) & (p <= 1)).all():
        place = tuple(np.argwhere(~((p >= 0) & (p <= 1)))[0].tolist())
        raise ValueError(f"probability has {p[place]} at {place}: probabilities are between 0 and 1")
    truth = labels_of("y", y)
    same_length(y=truth, probability=p)
    width = 2 if p.ndim == 1 else p.shape[1]
    classes = _classes(truth, labels, width)
    codes = codes_of(truth, classes)
    if width == 2:
        given, event = p if p.ndim == 1 else p[:, 1], (codes == 1).astype(np.float64)
        name = style.shorten(classes[1], 24)
        brier = float(np.mean((given - event) ** 2))
        return Claims(given, event, brier, f"probability given to {name}", f"share of rows that are {name}")
    best = np.argmax(p, axis=1)
    brier = float(np.mean(np.square(p - (np.arange(width) == codes[:, None])).sum(axis=1)))
    given, event = p[np.arange(len(p)), best], (best == codes).astype(np.float64)
    return Claims(
        given, event, brier, "probability given to the predicted class", "share of predictions that are right"
    )


def _classes(truth: Array, labels: Any, width: int) -> Array:
    """Return the sorted classes that the columns represent."""
    if labels is not None:
        classes = column_or_1d(labels)
        if (np.unique(classes) != classes).any() if len(np.unique(classes)) == len(classes) else True:
            raise ValueError("labels are the classes in sorted order, each once, as in classes_")
    else:
        classes = np.unique(truth)
        if width == 2 and len(classes) < 2 and classes[0] in (0, 1):
            classes = np.array([0, 1])
    if len(classes) != width:
        raise ValueError(
            f"probability is that of {width} classes, and y has {len(classes)}: {classes.tolist()}; pass labels=, all "
            "classes in order"
        )
    return classes


def _draw_strip(ax: Axes, counts: Array) -> None:
    """Draw how many rows each group has, upwards from the bottom of the frame."""
    bins, bottom = len(counts), -STRIP - 0.08
    middles = (np.arange(bins) + 0.5) / bins
    heights = (STRIP - 0.06) * counts / counts.max()
    ax.bar(middles, heights, 0.9 / bins, bottom, color=style.RIGHT, alpha=0.35, zorder=1)
    for k in np.flatnonzero(counts) if bins <= MOST_NUMBERS else ():
        ax.annotate(f"{counts[k]:,}", (middles[k], bottom + heights[k]), (0, 2), textcoords="offset points",
                    ha="center", fontsize=style.SMALL - 1.5, color=style.ink(), alpha=0.9)  # fmt: skip


CURVE_POINTS = 400
"""The most points of a curve: more can't be distinguished."""


def roc(y: Any, score: Any, *, labels: Any = None, threshold: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of two classes: the share of each class that is found, as the threshold falls.

    The area under the curve is the share of pairs of rows, one of each class, in which the row of the second class has
    the higher score; equal scores count half.

    Parameters
    ----------
    y : array, (rows,)
        The true labels.
    score : array, (rows,)
        Scores or probabilities of the second class, in sorted order.
    labels : array, optional
        The two classes in order, as in `classes_`; by default those that occur in y.
    threshold : float, optional
        A threshold to mark.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).get_title(loc="left")
    'ROC curve: area 0.750'
    """
    ranking, name = _ranking(y, score, labels)
    return draw_roc(ranking, name, mark=_mark_of(ranking, threshold), ax=ax)


def precision_recall(
    y: Any, score: Any, *, labels: Any = None, threshold: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw precision against recall of the second of two classes, as the threshold falls.

    The dashed line is the precision of random predictions: the share of that class. Parameters are those of
    :func:`roc`.

    Examples
    --------
    >>> precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).get_title(loc="left")
    'Precision and recall: average precision 0.833'
    """
    ranking, name = _ranking(y, score, labels)
    return draw_precision_recall(ranking, name, mark=_mark_of(ranking, threshold), ax=ax)


def _ranking(y: Any, score: Any, labels: Any) -> tuple[Ranking, str]:
    """Return the counted scores of rows, and the name of the second class."""
    truth, numbers = labels_of("y", y), finite("score", score)
    same_length(y=truth, score=numbers)
    classes = _classes(truth, labels, 2)
    return Ranking().add(numbers, codes_of(truth, classes) == 1), str(classes[1])


class Mark(NamedTuple):
    """A threshold on a curve: its name, and the negative and positive rows that it finds."""

    text: str
    false: int
    true: int


def _mark_of(ranking: Ranking, threshold: float | None) -> Mark | None:
    if threshold is None:
        return None
    steps = ranking.steps
    found = int(np.count_nonzero(steps.scores >= threshold))
    counts = (int(steps.false[found - 1]), int(steps.true[found - 1])) if found else (0, 0)
    return Mark(f"at least {threshold:g}", *counts)


def draw_roc(ranking: Ranking, name: Any, *, mark: Mark | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of counted scores; `name` is the positive class."""
    negative, positive = _both(ranking)
    steps, area = ranking.steps, ranking.roc_auc
    across, up = np.append(0, steps.false / negative), np.append(0, steps.true / positive)
    ax = style.axes(ax, (5.6, 5.4))
    ax.plot([0, 1], [0, 1], color=style.ink(), linewidth=1.2, linestyle="dashed", alpha=0.7, zorder=1)
    shown = _some(across + up)
    ax.plot(across[shown], up[shown], color=style.RIGHT, linewidth=1.8, zorder=2)
    if mark is not None:
        _draw_mark(ax, mark.text, mark.false / negative, mark.true / positive)
    _shares(ax)
    style.head(ax, f"ROC curve: area {area:.3f}", _of_rows(positive, negative, name))
    style.name_axes(ax, "share of the other class above the threshold", f"share of {style.shorten(name, 24)} above it")
    return ax


def draw_precision_recall(ranking: Ranking, name: Any, *, mark: Mark | None = None, ax: Axes | None = None) -> Axes:
    """Draw precision against recall of counted scores; `name` is the positive class."""
    negative, positive = _both(ranking)
    steps, mean = ranking.steps, ranking.average_precision
    recall, precision = steps.true / positive, steps.true / (steps.true + steps.false)
    ax = style.axes(ax, (5.6, 5.4))
    chance = positive / (positive + negative)
    ax.plot([0, 1], [chance, chance], color=style.ink(), linewidth=1.2, linestyle="dashed", alpha=0.7, zorder=1)
    shown = _some(recall + np.cumsum(np.abs(np.diff(precision, prepend=precision[0]))))
    ax.plot(recall[shown], precision[shown], color=style.RIGHT, linewidth=1.8, zorder=2)
    if mark is not None and mark.true + mark.false:
        _draw_mark(ax, mark.text, mark.true / positive, mark.true / (mark.true + mark.false))
    _shares(ax)
    style.head(ax, f"Precision and recall: average precision {mean:.3f}", _of_rows(positive, negative, name))
    style.name_axes(ax, f"recall: share of {style.shorten(name, 24)} found", "precision: share of those found that are")
    return ax


def _both(ranking: Ranking) -> tuple[int, int]:
    negative, positive = ranking.counts
    if not negative or not positive:
        raise ValueError("all rows are of one class: a curve needs rows of both")
    return negative, positive


def _some(along: Array) -> Array:
    """Return the places of the points that are drawn, evenly spread over a length that grows."""
    if len(along) <= CURVE_POINTS:
        return np.arange(len(along))
    places = np.searchsorted(along, np.linspace(along[0], along[-1], CURVE_POINTS))
    return np.unique(np.append(places, [0, len(along) - 1]))


def _draw_mark(ax: Axes, text: str, across: float, up: float) -> None:
    ax.plot(across, up, "o", color=style.WRONG, markersize=8, markeredgecolor=style.paper(), zorder=3)
    offset, side = ((-8, -14), "right") if across > 0.7 else ((8, -14), "left")
    ax.annotate(text, (across, up), offset, textcoords="offset points", ha=side, fontsize=style.SMALL,
                color=style.ink(), path_effects=style.halo())  # fmt: skip


def _shares(ax: Axes) -> None:
    """Let both axes show shares."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(np.linspace(0, 1, 6))
        axis.set_major_formatter(ticks.percent_format())
    ax.set_aspect("equal")


def _of_rows(positive: int, negative: int, name: Any) -> str:
    return (
        f"{positive:,} rows of {style.shorten(name, 24)}, {negative:,} of the other class; dashed: random predictions."
    )


BARS = 40


def margins(clf: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the margins y * score; rows at or below 0 are mistakes, and shaded.

    Of more than two classes, a row's margin is the score of its true class less that of the best rival.

    Parameters
    ----------
    clf : a fitted classifier with a `decision_function`
        Any learner, or a pipeline.
    X : array, sparse matrix or dataframe, (rows, features)
        The rows.
    y : array, (rows,)
        Their labels, of the learner's classes.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"]
    >>> margins(Perceptron(shuffle=False).fit(X, y), X, y).get_title(loc="left")
    'Margins: 0 mistakes on 4 rows (0 %)'
    """
    codes, scores = score_rows(clf, X, y)
    values = margins_of(codes, scores)
    edges = _edges(float(values.min()), float(values.max()))
    # A bar holds what is above its left edge up to its right one, so that 0 counts among the mistakes.
    counts = np.histogram(-values, bins=-edges[::-1])[0][::-1]
    wrong = int(np.count_nonzero(values <= 0))
    ax = style.axes(ax, (7.2, 4.0))
    if edges[0] < 0:
        ax.axvspan(edges[0], min(0.0, edges[-1]), color=style.WRONG, alpha=0.08, linewidth=0, zorder=0)
    ax.bar(
        edges[:-1],
        counts,
        np.diff(edges) * 0.92,
        align="edge",
        color=np.where(edges[1:] <= 0, style.WRONG, style.RIGHT),
        zorder=2,
    )
    ax.axvline(0, color=style.ink(), linewidth=1.4, zorder=3)
    ax.set_xlim(min(edges[0], 0.0), max(edges[-1], 0.0))
    ax.margins(y=0.08)
    ticks.numbers(ax.xaxis, 8)
    ticks.numbers(ax.yaxis, 5, integer=True)
    share = style.percent(wrong / len(values))
    title = f"Margins: {style.count_of(wrong, 'mistake')} on {style.count_of(len(values), 'row')} ({share})"
    style.head(ax, title)
    two = scores.ndim == 1
    style.name_axes(ax, "margin: y × score" if two else "margin: score of the true class − best rival's", "rows")
    return ax


def _edges(low: float, high: float) -> Array:
    """Return about 40 equal bars' edges from the lowest margin to the highest, one edge at 0 if it lies between."""
    first, last = low, high
    if high - low <= 1e-9 * max(-low, high):
        first, last = min(low, 0.0), max(high, 0.0)
    if last - first < 1e-290:
        first, last = -1.0, 1.0
    width = (last - first) / BARS
    edges = (np.floor(first / width) + np.arange(BARS + 2)) * width
    edges = edges[: int(np.searchsorted(edges, last)) + 1]
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    return np.asarray(edges)


ERROR, TIME, COUNT = 58, 118, 186
"""The right edges of the columns beside the frame, in points."""


class Result(NamedTuple):
    """The results of a learner: its share of wrong test rows, its training time, and its mistakes in training."""

    name: str
    error: float
    seconds: float | None = None
    mistakes: int | None = None


def comparison(results: Iterable[Any], *, ax: Axes | None = None) -> Axes:
    """Draw learners ranked by test error, with the time and the mistakes of their training beside.

    Parameters
    ----------
    results : sequence of :class:`Result`, of mappings, or of other objects
        Each with `name` and `error`, and with `seconds` and `mistakes` where known.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure of the size that :func:`ranking_size` returns.

    Examples
    --------
    >>> ax = comparison([Result("perceptron", 0.12, 0.5, 310), {"name": "averaged-perceptron", "error": 0.08}])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['averaged-perceptron', 'perceptron']
    """
    ranked = sorted(map(_result, results), key=lambda r: (r.error, np.inf if r.seconds is None else r.seconds))
    if not ranked:
        raise ValueError("results is empty: there is nothing to compare")
    ax = style.axes(ax, ranking_size(len(ranked)))
    places, errors = np.arange(len(ranked)), np.array([result.error for result in ranked])
    best = errors == errors[0]
    colours = np.where(best, style.COLOURS[2], style.RIGHT)
    ax.hlines(places, 0, errors, color=colours, linewidth=1.6, alpha=0.55, zorder=1)
    ax.scatter(errors, places, s=46, c=colours, zorder=2, clip_on=False)
    ax.set_yticks(places, labels=[style.shorten(r.name, 32) for r in ranked], parse_math=False, color=style.ink())
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(0, 1.06 * errors[-1] or 0.01), ylim=(len(ranked) - 0.4, -0.9))
    ticks.percents(ax.xaxis, 8)
    ticks.grid(ax, "x")
    ax.spines["left"].set_visible(False)
    _write_columns(ax, ranked, best)
    first = style.shorten(ranked[0].name, 32) if best.sum() == 1 else f"{best.sum()} learners alike"
    style.head(ax, f"Lowest test error: {first}")
    style.name_axes(ax, "test error", "")
    return ax


def ranking_size(learners: int) -> tuple[float, float]:
    """Return the width and height in inches of a figure for so many learners."""
    return 8.2, 1.3 + 0.27 * max(learners, 3)


def _result(given: Any) -> Result:
    """Return what was given as a result, checked."""

    def part(name: str) -> Any:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)

    name, error, seconds, mistakes = (part(field) for field in Result._fields)
    if name is None or error is None:
        raise ValueError(f"a result has a name and an error at least; this one has not: {given!r}")
    if not 0 <= error <= 1:
        raise ValueError(f"the error of {name} is {error}: it is a share, between 0 and 1")
    known = seconds is not None and np.isfinite(seconds)
    total = None if mistakes is None else int(np.sum(mistakes))
    return Result(str(name), float(error), float(seconds) if known else None, total)


def _write_columns(ax: Axes, ranked: list[Result], best: Any) -> None:
    """Write error, time and mistakes beside the frame, under their headings."""
    heads = [("error", ERROR, [style.percent(r.error) for r in ranked])]
    if any(r.seconds is not None for r in ranked):
        heads.append(("time", TIME, [_time(r.seconds) for r in ranked]))
    if any(r.mistakes is not None for r in ranked):
        heads.append(("mistakes", COUNT, ["–" if r.mistakes is None else f"{r.mistakes:,}" for r in ranked]))
    for title, column, texts in heads:
        for place, text in enumerate([title, *texts], start=-1):
            ax.annotate(
                text, (1, max(place, -0.75)), (column, 0), xycoords=("axes fraction", "data"), ha="right",
                textcoords="offset points", va="center", fontsize=style.SMALL, color=style.ink(),
                alpha=0.7 if place < 0 else 1.0, weight="bold" if place >= 0 and best[place] else "normal",
                annotation_clip=False,
            )  # fmt: skip


def _time(seconds: float | None) -> str:
    """Return a time with its unit, to two or three digits."""
    if seconds is None:
        return "–"
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:,.0f} s"
