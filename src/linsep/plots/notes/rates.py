"""Winnow's bound as a function of its rate."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import brentq

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label

TALL = 4.0
"""How many times the least bound the picture is high."""


def winnow_bound(delta: float = 0.2, features: int = 1000, *, ax: Axes | None = None) -> Axes:
    """Draw ln p / L(eta), L = eta delta - ln cosh eta, with its least value; without bound where L <= 0 (note 000).

    Parameters
    ----------
    delta : float, default=0.2
        The margin, between 0 and 1, of a target of sum 1 on entries up to 1.
    features : int, default=1000
        p.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> least = winnow_bound(0.5, 100, ax=Figure().add_subplot()).lines[1]
    >>> least.get_xydata().round(3).tolist()
    [[0.549, 35.203]]
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r}: the margin is between 0 and 1, both left out")
    if features < 2:
        raise ValueError(f"features={features!r}: with fewer than 2 there is nothing to choose from")
    ax = axes_of(ax, "winnow_bound")
    best = 0.5 * math.log((1 + delta) / (1 - delta))
    least = math.log(features) / float(_gain(best, delta))
    # Beyond ln 2 / (1 - delta) ln cosh has won, as it is at least eta - ln 2.
    end = float(brentq(_gain, best, math.log(2) / (1 - delta) * 1.01, args=(delta,)))
    eta = np.linspace(0, end, 801)[1:-1]
    ax.plot(eta, math.log(features) / _gain(eta, delta), color=style.colour_of(0), linewidth=2.2, zorder=3)
    ax.plot([best], [least], "o", color=style.colour_of(1), markersize=7, zorder=4)
    ax.plot([best, best], [0, least], color=style.colour_of(1), linewidth=1, linestyle="--", zorder=2)
    simple = 2 * math.log(features) / delta**2
    ax.axhline(simple, color=style.ink(), alpha=0.5, linewidth=1, linestyle=":", zorder=2)
    right = 1.3 * end
    ax.axvspan(end, right, color=style.ink(), alpha=0.07, linewidth=0)
    label(ax, "L(η) ≤ 0:\nno bound", ((end + right) / 2, least * TALL * 0.5))
    label(ax, f"η* = {best:.3f}: at most\n{least:,.1f} mistakes", (best, least * 0.5), (6, 0), ha="left")
    label(ax, f"2 ln p / δ² = {simple:,.1f}", (right, simple), (-3, 8), ha="right")
    ax.set(xlim=(0, right), ylim=(0, TALL * least))
    ax.yaxis.set_major_formatter(style.thousands())
    style.name_axes(ax, f"rate η, for the margin δ = {delta:g}", f"ln p / L(η) mistakes, p = {features:,}")
    return ax


def _gain(eta: float | Array, delta: float) -> Any:
    """Return L(eta); ln cosh eta as eta + ln((1 + e^(-2 eta)) / 2), which never overflows."""
    return eta * delta - (eta + np.log1p(np.exp(-2 * eta)) - math.log(2))
