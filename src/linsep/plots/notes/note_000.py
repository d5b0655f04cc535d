"""The figures of note 000: separable labellings, Winnow's bound by its rate, and two simulations."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.optimize import brentq

from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import Dense
from linsep.plots import style, ticks
from linsep.plots.experiment_curves import noise, noisy_runs, versus
from linsep.plots.notes.drawing import axes_of, figure_of, label
from linsep.solvers.margin.delta import delta_bound
from linsep.solvers.programs.linear_program import separate
from linsep.theory import majority
from linsep.theory.vc import cover_fraction

LOADS = (1.2, 1.5, 1.8, 2.0, 2.2, 2.5, 3.0)
"""Points a dimension at which it is measured."""
WIDEST = 3.4
"""Points a dimension that the picture ends at."""


def measure(n: int, p: int, draws: int, seed: int = 0) -> float:
    """Return the share of random labellings of random points that linear programs separate."""
    rng = np.random.default_rng([seed, n, p])
    points = Dense(rng.normal(size=(n, p)), bias=0.0)
    signs = rng.choice([-1.0, 1.0], size=(draws, n))
    found = [separate(points, row, np.empty(0)).separable for row in signs]
    return sum(map(bool, found)) / draws


def dichotomies(dimensions: Sequence[int] = (5, 20), draws: int = 40, *, ax: Axes | None = None) -> Axes:
    """Draw the share of labellings that are separable against points a dimension: Cover's and measured (note 000).

    Parameters
    ----------
    dimensions : sequence of int, default=(5, 20)
        A curve for each, 6 at most.
    draws : int, default=40
        Random labellings of each measurement; bars are two standard deviations of their share.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = dichotomies([2], draws=5, ax=Figure().add_subplot())
    >>> ax.lines[0].get_xydata()[:4].tolist()
    [[0.5, 1.0], [1.0, 1.0], [1.5, 0.75], [2.0, 0.5]]
    """
    if not dimensions or len(dimensions) > len(style.COLOURS) or min(dimensions) < 1:
        raise ValueError(f"dimensions={list(dimensions)}: name 1 to {len(style.COLOURS)} numbers, each 1 or more")
    if draws < 1:
        raise ValueError(f"draws={draws!r}: a measurement takes 1 labelling or more")
    ax = axes_of(ax, "dichotomies")
    handles = [_draw(ax, k, p, draws) for k, p in enumerate(dimensions)]
    names = [style.count_of(p, "dimension") for p in dimensions]
    ax.axvline(2, color=style.ink(), alpha=0.4, linewidth=1, linestyle="--", zorder=1)
    label(ax, "2 points a dimension: ½", (2, 0.04), (-5, 0), ha="right")
    ax.set(xlim=(0, WIDEST), ylim=(-0.02, 1.05))
    ticks.percents(ax.yaxis)
    style.legend(ax, handles, names, loc="upper right", bbox_to_anchor=(1.0, 1.0), labelspacing=0.4)
    style.name_axes(ax, f"points a dimension, n/p; {draws} labellings a dot", "labellings that are separable")
    return ax


def _draw(ax: Axes, k: int, p: int, draws: int) -> Line2D:
    """Draw the line and the dots of p dimensions; return their mark for the legend."""
    look: dict[str, Any] = {"color": style.colour_of(k), "markeredgecolor": style.paper(), "markersize": 6}
    counts = range(1, int(WIDEST * p) + 1)
    ax.plot(
        np.array(counts) / p,
        [float(cover_fraction(n, p)) for n in counts],
        color=style.colour_of(k),
        linewidth=1.8,
        zorder=2,
    )
    tried = sorted({round(load * p) for load in LOADS})
    exact = np.array([float(cover_fraction(n, p)) for n in tried])
    found = np.array([measure(n, p, draws) for n in tried])
    spread = 2 * np.sqrt(exact * (1 - exact) / draws)
    reach = np.minimum([found, 1 - found], spread)
    ax.errorbar(
        np.array(tried) / p, found, yerr=reach, fmt=style.marker_of(k), elinewidth=1, capsize=2, zorder=3, **look
    )
    return Line2D([], [], marker=style.marker_of(k), **look)


TALL = 4.0
"""The height of the picture as a multiple of the least bound."""


def winnow_bound(delta: float = 0.2, features: int = 1000, *, ax: Axes | None = None) -> Axes:
    """Draw ln p / L(eta), L = eta delta - ln cosh eta, with its least value; without bound where L <= 0 (note 000).

    Parameters
    ----------
    delta : float, default=0.2
        The margin, between 0 and 1, of a target of sum 1 on entries up to 1.
    features : int, default=1000
        p.

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
    ticks.numbers(ax.yaxis)
    style.name_axes(ax, f"rate η, for the margin δ = {delta:g}", f"ln p / L(η) mistakes, p = {features:,}")
    return ax


def feature_race(
    sizes: Sequence[int] = (32, 100, 316, 1_000, 3_162, 10_000, 31_623), relevant: int = 5, rounds: int = 4_000,
    *, figure: Figure | None = None,
) -> tuple[Axes]:  # fmt: skip
    """Draw the mistakes of the perceptron and of Winnow on random rows, as features are added.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of features, rising.
    relevant : int, default=5
        The features whose majority is the label.
    rounds : int, default=4000
        Rows.
    """
    races = [majority.versus(features, relevant, rounds) for features in sizes]
    made = [race.perceptron for race in races], [race.winnow for race in races]
    ax = figure_of(figure, "feature_race").add_subplot()
    return (versus(sizes, *made, relevant=relevant, rounds=rounds, ax=ax),)


def turned_labels(rows: int = 600, *, figure: Figure | None = None) -> tuple[Axes]:
    """Draw the perceptron's mistakes on random rows under the Delta-trick bound, as more labels are wrong.

    Parameters
    ----------
    rows : int, default=600
        Rows of each run.
    """
    runs = noisy_runs(_tightest, rows=rows)
    ax = figure_of(figure, "turned_labels").add_subplot()
    return (noise(runs.shares, runs.mistakes, runs.bounds, rows=runs.rows, ax=ax),)


def _tightest(X: Array, signs: Array) -> float:
    """Return the tightest bound of the Delta trick for one pass."""
    radius = float(np.linalg.norm(X, axis=1).max())
    return delta_bound(Dense(frozen(X), 0.0), signs, radius=radius, tol=0.01).upper ** 2


def _gain(eta: float | Array, delta: float) -> Any:
    """Return L(eta); ln cosh eta as eta + ln((1 + e^(-2 eta)) / 2), which never overflows."""
    return eta * delta - (eta + np.log1p(np.exp(-2 * eta)) - math.log(2))
