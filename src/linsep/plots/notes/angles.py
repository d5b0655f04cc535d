"""The guess against the best direction, mistake by mistake: higher each time, and not always nearer."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_iris

from linsep.engine.arrays import Array
from linsep.estimators.max_margin import MaxMargin
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style
from linsep.plots.notes.drawing import figure_of, label, panel
from linsep.plots.replay import replay

COLUMNS, SEED = [1, 3], 15
"""Two widths of iris, and the seed of an order of rows with many mistakes."""


class Run(NamedTuple):
    """A perceptron's run, seen from u."""

    guesses: Array
    """v_1 to v_k, the constant's weight last."""
    u: Array
    """The unit vector of the largest margin."""
    gamma: float
    radius: float

    @property
    def heights(self) -> Array:
        """v·u after each mistake."""
        return np.asarray(self.guesses @ self.u)

    @property
    def cosines(self) -> Array:
        """The cosine between v and u after each mistake."""
        return np.asarray(self.heights / np.linalg.norm(self.guesses, axis=1))


def run() -> Run:
    """Train a perceptron on setosa and versicolor, and find the margin that its theorem is about."""
    iris = load_iris()
    two = iris.target < 2
    X, y = iris.data[two][:, COLUMNS], iris.target[two]
    clf = Perceptron(random_state=SEED, max_iter=100, log=True).fit(X, y)
    best = MaxMargin(C=None, tol=1e-6, random_state=0).fit(X, y)
    u = np.append(best.coef_[0], best.intercept_)
    u = u / np.linalg.norm(u)
    rows = np.column_stack([X, np.ones(len(X))])
    gamma = float((np.where(y == 1, 1, -1) * (rows @ u)).min())
    return Run(replay(clf, X, y)[1:], u, gamma, float(np.linalg.norm(rows, axis=1).max()))


def cosines(*, figure: Figure | None = None) -> tuple[Axes, Axes]:
    """Draw v_k·u and cos(v_k, u) over the mistakes of a perceptron on iris, and what the lemmas say (note 002).

    Parameters
    ----------
    figure : matplotlib.figure.Figure, optional
        Where to draw the two panels; by default a new one.

    Returns
    -------
    tuple of two axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> up, nearer = cosines(figure=Figure(figsize=(5.2, 5)))
    >>> bool((up.lines[0].get_ydata() >= up.lines[1].get_ydata()).all())
    True
    """
    found = run()
    figure = figure_of(figure, "cosines")
    up, nearer = figure.subplots(2, 1, sharex=True, height_ratios=[1, 1.25])
    k = np.arange(1, len(found.guesses) + 1)
    panel(up, "v·u rises with every mistake")
    up.plot(k, found.heights, color=style.colour_of(0), linewidth=1.8, marker="o", markersize=4, zorder=3)
    up.plot(k, k * found.gamma, color=style.ink(), linewidth=1.1, linestyle="--", zorder=2)
    label(up, "kγ (lemma 1)", (k[-1], k[-1] * found.gamma), (-2, 9), ha="right")
    fell = np.flatnonzero(np.diff(found.cosines) < 0) + 1
    panel(nearer, f"cos(v, u) falls at {len(fell)} of {style.counted(len(k), 'mistake')}")
    nearer.plot(k, found.cosines, color=style.colour_of(0), linewidth=1.8, marker="o", markersize=4, zorder=3)
    nearer.plot(k[fell], found.cosines[fell], "v", color=style.WRONG, markersize=8, zorder=4)
    nearer.plot(k, np.sqrt(k) * found.gamma / found.radius, color=style.ink(), linewidth=1.1, linestyle="--", zorder=2)
    label(nearer, "√k γ/R (both lemmas)", (k[-1], np.sqrt(k[-1]) * found.gamma / found.radius), (-2, 9), ha="right")
    nearer.set(ylim=(0, 1.05))
    up.set_ylim(bottom=0)
    nearer.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    style.name_axes(up, "", "v·u")
    style.name_axes(nearer, "mistakes k", "cos(v, u)")
    return up, nearer
