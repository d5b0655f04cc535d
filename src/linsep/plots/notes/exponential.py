"""The chord above the exponential: how Winnow's normaliser is bounded."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label

BEYOND = 1.35
"""How far to both sides the picture reaches; the chord ends at 1."""


def chord(eta: float = 1.0, *, ax: Axes | None = None) -> Axes:
    """Draw e^{eta A} and its chord (1+A)/2 e^eta + (1-A)/2 e^-eta (note 004, figure 1).

    Parameters
    ----------
    eta : float, default=1.0
        The rate, above 0.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> curve, line = chord(0.5, ax=Figure().add_subplot()).lines[:2]
    >>> bool((curve.get_ydata()[abs(curve.get_xdata()) <= 1] <= line.get_ydata() + 1e-12).all())
    True
    """
    if not (np.isfinite(eta) and eta > 0):
        raise ValueError(f"eta={eta!r}: the rate is a number above 0")
    ax = axes_of(ax, "chord")
    inside, wide = np.linspace(-1, 1, 201), np.linspace(-BEYOND, BEYOND, 271)
    curve, line = np.exp(eta * wide), _chord(eta, inside)
    ax.plot(wide, curve, color=style.colour_of(0), linewidth=2.2, zorder=3)
    ax.plot(inside, line, color=style.colour_of(1), linewidth=2.2, zorder=3)
    ax.plot(wide, _chord(eta, wide), color=style.colour_of(1), linewidth=1.2, linestyle=":", zorder=2)
    ax.fill_between(inside, np.exp(eta * inside), line, color=style.colour_of(1), alpha=0.12, linewidth=0)
    ends = np.array([-1.0, 1.0])
    ax.plot(ends, np.exp(eta * ends), "o", color=style.ink(), markersize=6, zorder=4)
    ax.vlines(ends, 0, np.exp(eta * ends), color=style.ink(), alpha=0.35, linewidth=0.9, linestyle="--", zorder=1)
    label(ax, "(1+A)/2·e^η + (1−A)/2·e^(−η)", (0.1, _chord(eta, 0.1)), (-6, 10), ha="right", color=style.colour_of(1))
    label(ax, "e^(ηA)", (0.35, np.exp(0.35 * eta)), (10, -11), ha="left", color=style.colour_of(0))
    ax.set(xlim=(-BEYOND, BEYOND), ylim=(min(0.0, float(_chord(eta, -BEYOND))), float(np.exp(BEYOND * eta)) * 1.02))
    ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    style.name_axes(ax, f"A = y·xⱼ, at the rate η = {eta:g}", "value")
    return ax


def _chord(eta: float, A: float | Array) -> Any:
    return (1 + A) / 2 * np.exp(eta) + (1 - A) / 2 * np.exp(-eta)
