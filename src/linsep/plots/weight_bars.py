"""The strongest weights of a learner, by name."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import classes_of, codes_of
from linsep.transforms.base import is_sparse

MOST_BARS = 60
"""Bars of all classes together."""


class Strongest(NamedTuple):
    """The strongest weights of a class, or of two against each other: the features' numbers, and the weights."""

    code: int
    features: Array
    values: Array


def weights(
    clf: Any,
    *,
    names: Sequence[str] | None = None,
    top: int = 10,
    label: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the weights that are largest in size, as bars with names; weights of 0 are left out.

    With two classes, positive weights favour the second. With more, each class has bars of its own, one class below
    the other, at most 60 bars in all, or those of the class `label` alone; positive weights favour that class.

    Parameters
    ----------
    clf : a fitted linear classifier
        With `coef_`, dense or sparse.
    names : sequence of str, optional
        The features' names, of which only those drawn are looked up; by default `feature_names_in_`, where the learner
        has them.
    top : int, default=10
        Number of weights shown for each class.
    label : label of a class, optional
        The class to draw, of three or more.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure of the size that :func:`figure_size` returns.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], ["low", "high", "high", "low"])
    >>> ax = weights(clf, names=["width", "height"])
    >>> [text.get_text() for text in ax.get_yticklabels()], [float(bar.get_width()) for bar in ax.patches]
    (['height', 'width'], [1.0, -1.0])
    """
    classes, coef = classes_of(clf), _coef_of(clf)
    names = _names_of(clf, names, coef.shape[1])
    groups = _groups(classes, coef, top, label)
    several = len(groups) > 1
    ax = style.axes(ax, _size(groups))
    place, ticks, texts = 0.0, [], []
    for group in groups:
        if several:
            _head_group(ax, place, classes[group.code])
            place += 1.15
        for j, value in zip(group.features, group.values, strict=True):
            _draw_bar(ax, place, value, colour=_colour(group.code, value, several or label is not None))
            ticks.append(place)
            texts.append(style.shorten(f"feature {j}" if names is None else names[int(j)]))
            place += 1.0
        place += 0.35 if several else 0.0
    ax.set_yticks(ticks, labels=texts, parse_math=False, color=style.ink(), fontsize=style.SMALL)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(max(place, 1.0) - 0.4, -0.7)
    _widen(ax, groups)
    shown = sum(len(group.values) for group in groups)
    of = f"{shown:,} strongest of {coef.shape[1]:,} weights"
    if several:
        of = f"{style.count_of(max(len(group.values) for group in groups), 'strongest weight')} of each class"
    style.head(ax, of, "" if shown else "All weights are 0.")
    style.name_axes(ax, _direction(classes, label), "")
    return ax


def figure_size(clf: Any, *, top: int = 10, label: Any = None) -> tuple[float, float]:
    """Return the width and height in inches of a figure in which these bars are easy to read."""
    return _size(_groups(classes_of(clf), _coef_of(clf), top, label))


def _size(groups: list[Strongest]) -> tuple[float, float]:
    bars = sum(len(group.values) for group in groups)
    headings = 1.5 * len(groups) if len(groups) > 1 else 0.0
    return 7.2, 1.2 + 0.21 * max(bars + headings, 4)


def _coef_of(clf: Any) -> Any:
    coef = getattr(clf, "coef_", None)
    if coef is None:
        raise TypeError(f"{type(clf).__name__} has no coef_: pass the linear learner itself, not a pipeline around it")
    return coef.tocsr() if is_sparse(coef) else np.asarray(coef)


def _names_of(clf: Any, names: Sequence[str] | None, width: int) -> Sequence[str] | None:
    names = getattr(clf, "feature_names_in_", None) if names is None else names
    if names is not None and len(names) != width:
        raise ValueError(f"there are {len(names):,} names for {width:,} features")
    return names


def _groups(classes: Array, coef: Any, top: int, label: Any) -> list[Strongest]:
    if top < 1:
        raise ValueError(f"top={top}: draw one weight at least")
    if len(classes) == 2:
        if label is not None:
            raise ValueError("two classes share their weights: omit label; positive weights favour the second")
        return [_strongest(coef, 0, 1, top)]
    if label is not None:
        code = int(codes_of(np.array([label]), classes)[0])
        return [_strongest(coef, code, code, top)]
    if len(classes) > MOST_BARS:
        raise ValueError(f"{len(classes)} classes are too many for one picture: choose one with label=")
    each = min(top, MOST_BARS // len(classes))
    return [_strongest(coef, k, k, each) for k in range(len(classes))]


def _strongest(coef: Any, row: int, code: int, top: int) -> Strongest:
    """Return the weights of a row that are largest in size, without zeros, from the highest to the lowest."""
    if is_sparse(coef):
        part = slice(coef.indptr[row], coef.indptr[row + 1])
        features, values = coef.indices[part], coef.data[part]
    else:
        features, values = np.arange(coef.shape[1]), coef[row]
    some = np.flatnonzero(values)  # partitioning is slow where most are equal
    features, values = features[some], values[some]
    sizes = np.abs(values)
    chosen = np.argpartition(sizes, len(sizes) - top)[-top:] if len(sizes) > top else np.arange(len(sizes))
    chosen = chosen[np.lexsort((chosen, -values[chosen]))]
    return Strongest(code, features[chosen], values[chosen])


def _colour(code: int, value: float, one_class: bool) -> str:
    """Return the class's own colour, or of two classes the colour of the class that the weight favours."""
    return style.colour_of(code) if one_class else style.colour_of(int(value > 0))


def _draw_bar(ax: Axes, place: float, value: float, colour: str) -> None:
    ax.barh(place, value, 0.72, color=colour, zorder=2)
    up = value > 0
    ax.annotate(f"{value:.3g}".replace("-", "−"), (value, place), (4 if up else -4, 0), textcoords="offset points",
                ha="left" if up else "right", va="center", fontsize=style.SMALL - 1, color=style.ink(),
                annotation_clip=False)  # fmt: skip


def _head_group(ax: Axes, place: float, label: Any) -> None:
    ax.annotate(style.shorten(label), (0, place), (-3.5, 0), xycoords=("axes fraction", "data"), ha="right",
                textcoords="offset points", va="center", fontsize=style.SMALL + 0.5, weight="bold",
                color=style.ink(), parse_math=False, annotation_clip=False)  # fmt: skip


def _widen(ax: Axes, groups: list[Strongest]) -> None:
    """Leave room for the numbers beside the bars; draw the line from which they start."""
    values = np.concatenate([[0.0], *(group.values for group in groups)])
    low, high = values.min(), values.max()
    room = 0.14 * (high - low) or 1.0
    ax.set_xlim(low - room * (low < 0 or not high), high + room * (high > 0 or not low))
    ax.axvline(0, color=style.ink(), linewidth=1.0, zorder=3)
    ticks.numbers(ax.xaxis)


def _direction(classes: Array, label: Any) -> str:
    if len(classes) > 2:
        return "weight: above 0 for the class, below against it" if label is None else f"weight: above 0 for {label}"
    return f"weight: ← for {style.shorten(classes[0], 24)} | for {style.shorten(classes[1], 24)} →"
