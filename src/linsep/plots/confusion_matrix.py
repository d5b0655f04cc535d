"""The confusion matrix: how often each class is predicted as each other."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import column_or_1d

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.checks import labels_of, same_length
from linsep.validation.labels import refuse_another_type

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
        Where to draw; by default in a new figure, of the size that :func:`figure_size` returns.

    Returns
    -------
    matplotlib.axes.Axes

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
    ax = style.axes(ax, figure_size(classes))
    _draw_cells(ax, shares)
    names = [_short(label) for label in classes]
    _write_cells(ax, counts, shares, names)
    _name_classes(ax, names, totals, np.diag(shares))
    right, rows = int(np.trace(counts)), int(counts.sum())
    others = len(y_true) - rows
    note = "Colour: share of the true class." if len(classes) > SHARES else ""
    style.head(ax, f"{right:,} of {style.counted(rows, 'row')} right ({style.percent(right / max(rows, 1))})", note,
               f"{style.counted(others, 'row')} with other labels left out." if others else "")  # fmt: skip
    style.name_axes(ax, "predicted", "true")
    return ax


def figure_size(classes: Any) -> tuple[float, float]:
    """Return the width and height in inches of a figure in which the matrix of these classes is easy to read."""
    n, longest = len(classes), max(len(_short(label)) for label in classes)
    side = float(np.clip(0.75 * n, 2.2, 5.0) + 0.24 * max(0, n - 12))
    return max(4.8, side + 1.8 + LETTER * longest), side + 1.1 + (LETTER * longest if longest > 3 else 0.0)


def _short(label: Any) -> str:
    return style.shortened(label, 28)


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
