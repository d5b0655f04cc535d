"""The table of ten rounds: which guess was used on which row, and how long each survived."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of
from linsep.plots.replay import replay

ROWS = np.array([[-1, -2], [-3, 3], [3, -3], [3, -1], [2, -3], [-2, 1], [-1, -3], [3, 2], [0, 1], [-2, -3]], float)
LABELS = np.array([1, -1, 1, 1, 1, -1, 1, 1, -1, 1])
"""Rows on which the perceptron, in this order, has the note's guesses and results."""
COLUMNS = {"i": 0.4, "guess": 2.1, "row xᵢ": 4.35, "yᵢ": 5.75, "yᵢ v·xᵢ": 7.1, "result": 8.8}
"""Headings, and the middle of each column."""
EDGE = 9.6
"""Where the table ends; the counts come after it."""


class Table(NamedTuple):
    """Ten rounds."""

    guesses: Array
    """v_0 to v_4."""
    used: Array
    """The number of the guess used in each round."""
    margins: Array
    """y v·x in each round."""
    survival: Array
    """Rounds that each guess was used in."""


def played() -> Table:
    """Run the perceptron over the ten rows once, and read off its log.

    >>> played().survival
    array([1, 3, 4, 2, 0])
    """
    clf = Perceptron(fit_intercept=False, log=True).partial_fit(ROWS, LABELS)
    guesses = replay(clf, ROWS, LABELS)[:, :2]
    used = np.searchsorted(clf.log_.rounds, np.arange(1, len(ROWS) + 1))
    margins = LABELS * np.einsum("ij,ij->i", guesses[used], ROWS)
    return Table(guesses, used, margins, np.bincount(used, minlength=len(guesses)))


def guess_table(*, ax: Axes | None = None) -> Axes:
    """Draw ten rounds of the perceptron as a table, and the survival count of each guess (note 002).

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
    >>> ax = guess_table(ax=Figure().add_subplot())
    >>> sum(text.get_text().endswith("✗") for text in ax.texts)
    4
    """
    table = played()
    ax = axes_of(ax, "guess_table")
    ax.spines[:].set_visible(False)
    ax.set(xlim=(0, 13.2), ylim=(len(ROWS) + 1.9, -0.9), xticks=[], yticks=[])
    for name, place in COLUMNS.items():
        _write(ax, place, -0.15, name, alpha=0.75)
    ax.plot([0, EDGE], [0.35, 0.35], color=style.ink(), linewidth=1)
    for i, k in enumerate(table.used.tolist()):
        right = table.margins[i] > 0
        _cell(ax, (0, i + 0.5), 8.0, style.colour_of(k), 0.14)
        _cell(ax, (8.0, i + 0.5), EDGE - 8.0, style.RIGHT if right else style.WRONG, 0.35)
        texts = [
            str(i + 1),
            _guess(k, table.guesses[k]),
            _vector(ROWS[i]),
            _signed(LABELS[i]),
            _signed(table.margins[i]),
        ]
        for place, text in zip(COLUMNS.values(), [*texts, "✓" if right else "✗"], strict=True):
            _write(ax, place, i + 1, text)
    _draw_counts(ax, table)
    return ax


def _draw_counts(ax: Axes, table: Table) -> None:
    """Write beside the rounds of each guess how many there were."""
    _write(ax, 11.4, -0.15, "survived", alpha=0.75)
    ends = np.cumsum(table.survival)
    for k, (count, end) in enumerate(zip(table.survival.tolist(), ends.tolist(), strict=True)):
        top, tall = end - count + 0.5, max(count, 1)
        _cell(ax, (EDGE + 0.25, top), 3.1, style.colour_of(k), 0.28 if count else 0.1, tall)
        name = f"v{_low(k)}: {style.counted(count, 'row')}"
        _write(ax, 11.4, top + tall / 2, name, weight="bold")
    m, k = len(table.used), int((table.margins <= 0).sum())
    last = _guess(len(table.guesses) - 1, table.guesses[-1])
    _write(ax, 0.15, m + 1.05, f"The last guess, {last}, was never tried.", ha="left")
    _write(ax, 0.15, m + 1.7, f"A guess drawn by its count errs with k/m = {k}/{m}.", ha="left")


def _cell(ax: Axes, corner: tuple[float, float], wide: float, hue: str, alpha: float, tall: int = 1) -> None:
    ax.add_patch(Rectangle(corner, wide, tall, facecolor=hue, alpha=alpha, edgecolor="none", zorder=1))


def _write(ax: Axes, x: float, y: float, text: str, **more: Any) -> None:
    options: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL + 0.5, "color": style.ink()}
    ax.text(x, y, text, parse_math=False, zorder=3, **{**options, **more})


def _guess(k: int, v: Array) -> str:
    return f"v{_low(k)} = {_vector(v)}"


def _low(k: int) -> str:
    return "₀₁₂₃₄₅₆₇₈₉"[k]


def _vector(values: Array) -> str:
    return f"({', '.join(f'{value:g}'.replace('-', '−') for value in values)})"


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"
