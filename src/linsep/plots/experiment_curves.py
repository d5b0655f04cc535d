"""Curves of many runs: perceptron against Winnow, label noise, and the ways to predict of a voted perceptron."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from scipy.special import lambertw

from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_unless_shares, refuse_where, same_length
from linsep.plots.run_curves import key
from linsep.training.votes import reading_name


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
        Number of rounds, an upper limit of the mistakes.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

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


SHARES = tuple(k / 100 for k in (0, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20))
STEEP_ROWS = 30
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
    On separable rows it is at most (R/γ)²; w = 0 gives the number of rows, which is vacuous.

    Parameters
    ----------
    shares : array
        The shares of labels that were turned round, between 0 and 1, rising.
    mistakes : array
        The perceptron's mistakes in one pass.
    bounds : array
        The bounds on them.
    rows : int
        Number of rows of a pass.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

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
    if rows > STEEP_ROWS * lowest:
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
    style.head(ax, f"One pass over {style.count_of(rows, 'row')}, some labels wrong")
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
        Seed of the rows.

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


READOUTS = ("vote", "last", "average", "random", "longest", "plurality")
"""The readouts; the place of each gives its colour and marker."""
STEEP_ERRORS = 4
"""If the largest error is more than this multiple of the least, the axis is logarithmic."""
ROOM = 1.15
"""The factor by which the axis extends beyond the first and the last number of epochs."""
TICK = 0.05
"""The least distance of two ticks, as a share of the axis."""

Method = tuple[str, bool]
Curves = tuple[Any, Mapping[Any, Any]]


def votes(epochs: Any, errors: Mapping[Any, Any], *, heading: str = "", ax: Axes | None = None) -> Axes:
    """Draw the test error against the epochs trained, a line for each readout.

    Parameters
    ----------
    epochs : array
        Numbers of epochs, above 0 and rising; a part of an epoch counts as such.
    errors : mapping of (readout, normalize) to arrays
        The share of wrong predictions after each of them, by method, as `readings` of a voted learner names them.
        Methods that divide each hypothesis by its norm are dashed.
    heading : str, default=""
        Beginning of the title.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> errors = {("vote", False): [0.1, 0.08], ("last", False): [0.16, 0.14], ("last", True): [0.15, 0.13]}
    >>> votes([0.1, 1], errors).get_title(loc="left")
    'vote: 8.0 % of predictions wrong after 1 epoch'
    """
    numbers, curves = _check_curves(epochs, errors)
    ax = style.axes(ax, (8.4, 4.4))
    handles = _draw(ax, numbers, curves)
    _scale(ax, [numbers], [curves])
    key(ax, handles, [name_of(method) for method in curves])
    first = next(iter(curves))
    result = f"{name_of(first)}: {style.percent(curves[first][-1])} of predictions wrong after {_epochs(numbers[-1])}"
    style.head(ax, f"{heading}, {result}" if heading else result)
    style.name_axes(ax, "epochs", "test error")
    return ax


def vote_panels(panels: Mapping[str, Curves], *, across: int | None = None, figure: Figure | None = None) -> Figure:
    """Draw a panel for each entry, all of one scale, with one legend for the methods of all.

    Parameters
    ----------
    panels : mapping of titles to (epochs, errors)
        Arguments of :func:`votes`.
    across : int, optional
        Panels side by side; by default 2, or 3 where that leaves no gap.
    figure : matplotlib.figure.Figure, optional
        An empty figure; by default a new one.

    Examples
    --------
    >>> figure = vote_panels({f"degree {d}": ([0.1, 1], {("vote", False): [0.2 / d, 0.1 / d]}) for d in (1, 2)})
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['degree 1', 'degree 2']
    """
    if not panels:
        raise ValueError("panels is empty: there is nothing to draw")
    across = min(across or (3 if len(panels) % 3 == 0 else 2), len(panels))
    down = -(-len(panels) // across)
    figure = figure or Figure(figsize=(4.0 * across + 1.9, 3.0 * down + 0.3), layout="constrained")
    known = {title: _check_curves(*given) for title, given in panels.items()}
    numbers, curves = [one[0] for one in known.values()], [one[1] for one in known.values()]
    drawn: dict[Method, Line2D] = {}
    places = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for k, (title, (x, methods)) in enumerate(known.items()):
        ax = style.axes(places[k // across, k % across], (1.0, 1.0))
        drawn |= dict(zip(methods, _draw(ax, x, methods), strict=True))
        style.head(ax, title)
        below = k + across >= len(known)
        style.name_axes(ax, "epochs" if below else "", "" if k % across else "test error")
        ax.tick_params(labelbottom=below)
    for ax in places.flat[len(known) :]:
        ax.remove()
    _scale(places[0, 0], numbers, curves)
    for ax in places.flat[1 : len(known)]:
        ticks.grid(ax)
    legend = figure.legend(list(drawn.values()), [name_of(method) for method in drawn], loc="outside right upper",
                           frameon=False, fontsize=style.SMALL + 0.5, labelcolor=style.ink(), handlelength=2.6,
                           labelspacing=0.8)  # fmt: skip
    legend.set_in_layout(True)
    return figure


def name_of(method: Method) -> str:
    """Return what a method is called.

    >>> name_of(("average", True)), name_of(("vote", False))
    ('average, normalised', 'vote')
    """
    return reading_name(*method)


def _check_curves(epochs: Any, errors: Mapping[Any, Any]) -> tuple[Array, dict[Method, Array]]:
    numbers = finite("epochs", epochs)
    refuse_where(np.diff(numbers, prepend=0.0) <= 0, "epochs", numbers, "numbers of epochs are above 0 and rise")
    if not errors:
        raise ValueError("errors is empty: there is nothing to draw")
    curves = {}
    for method, given in errors.items():
        if not isinstance(method, tuple) or len(method) != 2 or method[0] not in READOUTS:
            raise ValueError(f"there is no method {method!r}: give (readout, normalize), one of {', '.join(READOUTS)}")
        name = f"errors of {name_of(method)}"
        curves[method] = finite(name, given)
        same_length(epochs=numbers, **{name: curves[method]})
        refuse_unless_shares(name, curves[method])
    return numbers, curves


def _draw(ax: Axes, epochs: Array, curves: Mapping[Method, Array]) -> list[Line2D]:
    lines = []
    for method, shares in curves.items():
        readout, normalize = method
        k = READOUTS.index(readout)
        lines += ax.plot(epochs, shares, color=style.colour_of(k), marker=style.marker_of(k), markersize=5.0,
                         markeredgecolor=style.paper(), linewidth=1.5 if normalize else 1.9,
                         linestyle="dashed" if normalize else "solid", zorder=4 if readout == "vote" else 3,
                         clip_on=False)  # fmt: skip
    return lines


def _scale(ax: Axes, epochs: Sequence[Array], curves: Sequence[Mapping[Method, Array]]) -> None:
    """Give the axes a scale that all these curves fit on."""
    x = np.unique(np.concatenate(epochs))
    y = np.concatenate([shares for methods in curves for shares in methods.values()])
    ax.set_xscale("log")
    ax.set_xlim(x[0] / ROOM, x[-1] * ROOM)
    ax.xaxis.set_major_locator(FixedLocator(_apart(x).tolist()))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ticks.Numbers())
    if y.max() > STEEP_ERRORS * y.min() > 0:
        ax.set_yscale("log")
        ax.set_ylim(y.min() / 1.15, min(1.0, 1.15 * y.max()))
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.set_ylim(0, min(1.05, 1.1 * y.max()) or 0.01)
    ticks.percents(ax.yaxis)
    ticks.grid(ax)


def _apart(x: Array) -> Array:
    """Return those numbers whose labels have room on a logarithmic axis, the first and the last among them."""
    length = np.log(x[-1] / x[0]) + 2 * np.log(ROOM)
    kept = [x[0]]
    for number in x[1:]:
        if np.log(number / kept[-1]) >= TICK * length:
            kept.append(number)
    if kept[-1] != x[-1]:
        kept[-1] = x[-1]
    return np.array(kept)


def _epochs(epochs: float) -> str:
    return f"{epochs:g} {'epoch' if epochs == 1 else 'epochs'}"
