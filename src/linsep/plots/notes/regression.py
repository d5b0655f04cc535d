"""A line through the origin, by least squares."""

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.estimators.least_squares import LeastSquaresRegression
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label


def data() -> tuple[Array, Array]:
    """Return the points: y is 0.8 x and noise."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(0.3, 5, 14))
    return x, 0.8 * x + rng.normal(scale=0.6, size=len(x))


def line_fit(*, ax: Axes | None = None) -> Axes:
    """Draw points, the line of the least sum of (w x - y)², and the distances that are squared (note 004, figure 2).

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
