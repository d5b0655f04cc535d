"""Perceptron against Winnow, as features that mean nothing are added."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import lambertw

from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_where, same_length
from linsep.plots.curves import key


def versus(
    features: Any, perceptron: Any, winnow: Any, *, relevant: int, rounds: int | None = None, ax: Axes | None = None
) -> Axes:  # fmt: skip
    """Draw the mistakes of both on the majority of k among N features against N, with their bounds kN and 2k² ln N.

    The bounds cross where k = N / (2 ln N); with more features, Winnow's is the smaller.

    Parameters
    ----------
    features : array
        N, the numbers of features, rising.
    perceptron, winnow : arrays
        The mistakes of each learner, as :func:`linsep.theory.majority.versus` counts them.
    relevant : int
        k, the number of features that the label depends on.
    rounds : int, optional
        How many rounds were run: nobody can err more often.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = versus([32, 100, 1000], [60, 200, 1000], [70, 90, 120], relevant=5, rounds=20_000)
    >>> ax.get_title(loc="left")
    'Perceptron and Winnow: majority of 5 of N'
    """
    sizes, counts = finite("features", features), [finite("perceptron", perceptron), finite("winnow", winnow)]
    same_length(features=sizes, perceptron=counts[0], winnow=counts[1])
    refuse_where(np.diff(sizes, prepend=1.0) <= 0, "features", sizes, "numbers of features are above 1 and rise")
    if not 1 <= relevant <= sizes[0]:
        raise ValueError(f"relevant={relevant}: give a number from 1 to the fewest features, {sizes[0]:g}")
    ax = style.axes(ax, (8.4, 4.6))
    left, right = sizes[0] / 1.12, sizes[-1] * 1.12
    N = np.geomspace(left, right, 300)
    looks: Sequence[tuple[str, str]] = ((style.WRONG, "o"), (style.colour_of(0), "s"))
    handles = []
    for (colour, marker), bound, made in zip(looks, (relevant * N, 2 * relevant**2 * np.log(N)), counts, strict=True):
        handles += ax.plot(N, bound, color=colour, linewidth=1.5, linestyle="dashed", zorder=2)
        handles += ax.plot(sizes, np.where(made > 0, made, np.nan), color=colour, marker=marker, markersize=5.5,
                           markeredgecolor=style.paper(), linewidth=1.8, zorder=3)  # fmt: skip
    names = ["perceptron, bound kN", "perceptron, measured", "Winnow, bound 2k² ln N", "Winnow, measured"]
    if rounds is not None:
        handles.append(ax.axhline(rounds, color=style.ink(), linewidth=1.2, linestyle="dotted", zorder=1))
        names.append(f"rounds: {rounds:,}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(left, right)
    for axis in (ax.xaxis, ax.yaxis):
        ticks.numbers(axis)
    place = crossing(relevant)
    if place is not None and left <= place <= right:
        ax.axvline(place, color=style.ink(), linewidth=1.0, alpha=0.4, zorder=1)
        handles += ax.plot(
            place, relevant * place, marker="D", color=style.ink(), markersize=6, linestyle="none", zorder=4
        )
        names.append(f"k = N / (2 ln N): N = {place:,.4g}")
    key(ax, handles, names)
    style.head(ax, f"Perceptron and Winnow: majority of {relevant} of N")
    style.name_axes(ax, "features N", "mistakes")
    return ax


def crossing(relevant: int) -> float | None:
    """Return the N at which kN = 2k² ln N, and above which Winnow's bound is the smaller; None if it always is.

    >>> round(crossing(5), 2), crossing(1)
    (35.77, None)
    """
    if relevant < 2:  # N > 2 ln N everywhere
        return None
    return float(-2 * relevant * lambertw(-1 / (2 * relevant), -1).real)
