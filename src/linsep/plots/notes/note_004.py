"""The figures of note 004: the exponential and its chord, and a line by least squares."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.estimators.least_squares import LeastSquaresRegression
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label

BEYOND = 1.35
"""The largest A of the picture; the chord ends at 1."""


def chord(eta: float = 1.0, *, ax: Axes | None = None) -> Axes:
    """Draw e^{eta A} and its chord (1+A)/2 e^eta + (1-A)/2 e^-eta (note 004, figure 1).

    Parameters
    ----------
    eta : float, default=1.0
        The rate, above 0.

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


def data() -> tuple[Array, Array]:
    """Return the points: y is 0.8 x and noise."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0.3, 5, 14))
    return x, 0.8 * x + rng.normal(scale=0.6, size=len(x))


def line_fit(*, ax: Axes | None = None) -> Axes:
    """Draw points, the line of the least sum of (w x - y)², and the distances that are squared (note 004, figure 2).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> line_fit(ax=Figure().add_subplot()).get_xlabel()
    'x'
    """
    x, y = data()
    w = float(LeastSquaresRegression(fit_intercept=False).fit(x[:, None], y).coef_[0])
    ax = axes_of(ax, "line_fit")
    ends = np.array([0.0, 1.08 * x.max()])
    ax.plot(ends, w * ends, color=style.colour_of(1), linewidth=2.2, zorder=3)
    ax.vlines(x, np.minimum(y, w * x), np.maximum(y, w * x), color=style.ink(), alpha=0.5, linewidth=1, zorder=2)
    ax.scatter(x, y, s=38, color=style.colour_of(0), edgecolor=style.paper(), linewidth=0.7, zorder=4)
    rest = float(((w * x - y) ** 2).sum())
    top = ax.get_ylim()[1]
    label(ax, f"h(x) = w x, w = {w:.3f}", (0, top), (10, -8), ha="left", color=style.colour_of(1))
    label(ax, f"Σ(w x − y)² = {rest:.2f}", (0, top), (10, -23), ha="left")
    ax.set(xlim=(0, ends[1]), ylim=(min(0.0, float(y.min()) - 0.2), top))
    style.name_axes(ax, "x", "y")
    return ax
