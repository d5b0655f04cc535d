"""Learners side by side, the best one first."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from linsep.plots import style, ticks

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
        Where to draw; by default in a new figure, of the size that :func:`figure_size` returns.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = comparison([Result("perceptron", 0.12, 0.5, 310), {"name": "averaged-perceptron", "error": 0.08}])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['averaged-perceptron', 'perceptron']
    """
    ranked = sorted(map(_result, results), key=lambda r: (r.error, np.inf if r.seconds is None else r.seconds))
    if not ranked:
        raise ValueError("results is empty: there is nothing to compare")
    ax = style.axes(ax, figure_size(len(ranked)))
    places, errors = np.arange(len(ranked)), np.array([result.error for result in ranked])
    best = errors == errors[0]
    colours = np.where(best, style.COLOURS[2], style.RIGHT)
    ax.hlines(places, 0, errors, color=colours, linewidth=1.6, alpha=0.55, zorder=1)
    ax.scatter(errors, places, s=46, c=colours, zorder=2, clip_on=False)
    ax.set_yticks(places, labels=[style.shortened(r.name, 32) for r in ranked], parse_math=False, color=style.ink())
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(0, 1.06 * errors[-1] or 0.01), ylim=(len(ranked) - 0.4, -0.9))
    ticks.percents(ax.xaxis, 8)
    ticks.grid(ax, "x")
    ax.spines["left"].set_visible(False)
    _write_columns(ax, ranked, best)
    first = style.shortened(ranked[0].name, 32) if best.sum() == 1 else f"{best.sum()} learners alike"
    style.head(ax, f"Lowest test error: {first}")
    style.name_axes(ax, "test error", "")
    return ax


def figure_size(learners: int) -> tuple[float, float]:
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
