"""Batch and stochastic gradient ascent on the same likelihood."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Dense
from linsep.estimators.logistic import LogisticRegression
from linsep.plots import style
from linsep.plots.notes.drawing import axes_of, label
from linsep.plots.replay import replay
from linsep.solvers.logistic.gradient_ascent import gradient_ascent
from linsep.solvers.logistic.newton import newton
from linsep.solvers.logistic.objective import problem_of

ROWS, STEPS, EPOCHS, RATE = 40, 40, 3, 0.2
"""Rows; steps of the batch, passes of the other and its rate."""


class Climb(NamedTuple):
    """Two ways to the same place."""

    X: Array
    y: Array
    batch: Array
    """Weights at the start and after each step, (steps + 1, 2)."""
    stochastic: Array
    best: Array


def ascent_paths(*, ax: Axes | None = None) -> Axes:
    """Draw the weights of batch and of stochastic gradient ascent on the contours of the likelihood (note 002).

    Both are the library's own: :func:`linsep.solvers.logistic.gradient_ascent.gradient_ascent` step by step, and the
    updates in `log_` of :class:`~linsep.LogisticRegression`.

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
    >>> batch, stochastic = ascent_paths(ax=Figure().add_subplot()).lines[:2]
    >>> len(batch.get_xdata()), len(stochastic.get_xdata())
    (41, 121)
    """
    climb = climbed()
    ax = axes_of(ax, "ascent_paths")
    low, high = style.limits(np.vstack([climb.batch, climb.stochastic, 1.25 * climb.best]), 0.1)
    across, up = np.meshgrid(np.linspace(low[0], high[0], 121), np.linspace(low[1], high[1], 121))
    height = likelihood(climb, np.stack([across, up], axis=-1))
    top = float(likelihood(climb, climb.best))
    drops = (top - height.min()) * np.linspace(1, 0, 12)[:-1] ** 2
    ax.contour(across, up, height, levels=top - drops, colors=[style.ink()], linewidths=0.8, alpha=0.3, zorder=1,
               linestyles="solid")  # fmt: skip
    ax.plot(*climb.batch.T, color=style.colour_of(0), linewidth=2, marker="o", markersize=5, zorder=4)
    ax.plot(*climb.stochastic.T, color=style.colour_of(1), linewidth=1, marker=".", markersize=3, zorder=3)
    ax.plot(*climb.best, marker="*", color=style.ink(), markersize=13, linestyle="none", zorder=5)
    names = [f"batch: {STEPS} steps of {ROWS} rows", f"stochastic: {EPOCHS * ROWS} steps of 1 row", "likeliest weights"]
    style.legend(ax, ax.lines[:3], names, loc="lower right", bbox_to_anchor=(1.0, 0.0), labelspacing=0.4,
                 frameon=True, facecolor=style.paper(), edgecolor="none", framealpha=0.85)  # fmt: skip
    label(ax, "start", (0, 0), (0, -11))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    style.name_axes(ax, "weight w₁", "weight w₂")
    return ax


def climbed() -> Climb:
    """Draw rows of two overlapping classes, and climb twice."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(ROWS) % 2, 1, -1)
    X = rng.normal(size=(ROWS, 2)) * [1.0, 1.4] + y[:, None] * [0.9, 0.5]
    problem = problem_of(Dense(X, bias=0.0), (y > 0).astype(np.int32), np.empty(0), classes=2, prior_variance=None)
    batch = [np.zeros((3, 1))]
    for _ in range(STEPS):
        batch.append(gradient_ascent(problem, max_iter=1, start=batch[-1]).weights)
    best = newton(problem, tol=1e-12).weights[:2, 0]
    clf = LogisticRegression(
        solver="sgd", fit_intercept=False, eta0=RATE, max_iter=EPOCHS, random_state=0, log=True
    ).fit(X, y)
    return Climb(X, y, np.array(batch)[:, :2, 0], replay(clf, X, y)[:, :2], best)


def likelihood(climb: Climb, weights: Array) -> Array:
    """Return the log-likelihood of weights, whose two are the last dimension."""
    margins = weights @ (climb.y[:, None] * climb.X).T
    return -np.logaddexp(0, -margins).sum(axis=-1)
