"""The bound that stands when labels are wrong: the Delta trick, as noise grows."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_where, same_length
from linsep.plots.curves import key

SHARES = tuple(k / 100 for k in (0, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20))
STEEP = 30
"""If the number of rows is more than this multiple of the fewest mistakes, the axis is logarithmic."""

Tightest = Callable[[Array, Array], float]


class NoisyRuns(NamedTuple):
    """The results of one pass over the same rows, as more and more labels are flipped."""

    shares: Array
    mistakes: Array
    """The perceptron's, in one pass."""
    bounds: Array
    """The tightest bound that the Delta trick gives."""
    rows: int


def noise(shares: Any, mistakes: Any, bounds: Any, *, rows: int, ax: Axes | None = None) -> Axes:
    """Draw the mistakes of one pass, and the tightest Delta-trick bound on them, against the share of wrong labels.

    With R the length of the longest row and Y the rows y x, the bound is the least of (R‖w‖ + ‖(1 - Yw)₊‖)² over w.
    On separable rows it is at most (R/γ)²; w = 0 gives the number of rows, which says nothing.

    Parameters
    ----------
    shares : array
        The shares of labels that were turned round, between 0 and 1, rising.
    mistakes : array
        The perceptron's mistakes in one pass.
    bounds : array
        The bounds on them.
    rows : int
        How many rows a pass has.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> noise([0, 0.05, 0.1], [12, 90, 160], [60, 480, 700], rows=1000).get_title(loc="left")
    'One pass over 1,000 rows, some labels wrong'
    """
    x, made, bound = finite("shares", shares), finite("mistakes", mistakes), finite("bounds", bounds)
    same_length(shares=x, mistakes=made, bounds=bound)
    wrong = (np.diff(x, prepend=-1.0) <= 0) | (x < 0) | (x > 1)
    refuse_where(wrong, "shares", x, "shares are between 0 and 1 and rise")
    for name, values in (("mistakes", made), ("bounds", bound)):
        refuse_where(values < 0, name, values, "numbers of mistakes are not below 0")
    if not rows >= 1:
        raise ValueError(f"rows={rows}: a pass has one row at least")
    ax = style.axes(ax, (8.4, 4.0))
    shared: dict[str, Any] = {"markersize": 5.0, "markeredgecolor": style.paper(), "zorder": 3}
    most = ax.axhline(rows, color=style.ink(), linewidth=1.3, linestyle="dotted", zorder=1)
    (above,) = ax.plot(x, bound, color=style.colour_of(0), marker="s", linewidth=1.6, linestyle="dashed", **shared)
    (run,) = ax.plot(x, made, color=style.WRONG, marker="o", linewidth=1.8, **shared)
    lowest = min(made[made > 0].min(initial=rows), bound[bound > 0].min(initial=rows))
    if rows > STEEP * lowest:
        ax.set_yscale("log")
        ax.set_ylim(0.7 * lowest, 1.6 * max(rows, bound.max()))
    else:
        ax.set_ylim(0, 1.06 * max(rows, bound.max()))
    room = 0.02 * (x[-1] - x[0]) or 0.01
    ax.set_xlim(x[0] - room, x[-1] + room)
    ticks.percents(ax.xaxis)
    ticks.numbers(ax.yaxis)
    ticks.grid(ax)
    names = [f"all rows: {rows:,}", "tightest Delta-trick bound", "mistakes"]
    key(ax, [most, above, run], names)
    style.head(ax, f"One pass over {style.counted(rows, 'row')}, some labels wrong")
    style.name_axes(ax, "labels turned round", "mistakes in one pass")
    return ax


def noisy_runs(
    tightest: Tightest,
    shares: Sequence[float] = SHARES,
    *,
    rows: int = 1000,
    features: int = 5,
    gap: float = 0.2,
    seed: int = 0,
) -> NoisyRuns:
    """Run the perceptron once over rows with a margin, with more and more of their labels turned round.

    The rows are of length 1 and at least `gap` away from a plane through 0. As the share grows, labels that were
    turned round stay so.

    Parameters
    ----------
    tightest : callable
        tightest(X, signs) returns the tightest bound for one pass over rows X with labels -1 and 1.
    shares : sequence of floats
        The shares of labels to turn round.
    rows, features : int
        The size of the data.
    gap : float, default=0.2
        The margin before any label is turned round.
    seed : int, default=0
        Which rows are drawn.

    Returns
    -------
    NoisyRuns

    Examples
    --------
    >>> runs = noisy_runs(lambda X, signs: float(len(X)), [0, 0.2], rows=200)
    >>> runs.bounds, bool(runs.mistakes[0] <= (1 / 0.2) ** 2 < runs.mistakes[1])
    (array([200., 200.]), True)
    """
    if rows < 1 or features < 2 or not 0 < gap < 1:
        raise ValueError(f"rows={rows}, features={features}, gap={gap}: give a row, two features, and a gap below 1")
    rng = np.random.default_rng(seed)
    sides = rng.choice([-1.0, 1.0], rows)
    heights = rng.uniform(gap, 1.0, rows)
    flat = rng.normal(size=(rows, features - 1))
    flat *= np.sqrt(1 - heights**2)[:, None] / np.linalg.norm(flat, axis=1, keepdims=True)
    X, order = np.column_stack([sides * heights, flat]), rng.permutation(rows)
    made, bounds = [], []
    for share in shares:
        signs = sides.copy()
        signs[order[: round(share * rows)]] *= -1
        clf = Perceptron(fit_intercept=False).partial_fit(X, signs, classes=[-1.0, 1.0])
        made.append(int(np.sum(clf.mistakes_)))
        bounds.append(tightest(X, signs))
    return NoisyRuns(np.asarray(shares, np.float64), np.array(made), np.array(bounds, np.float64), rows)
