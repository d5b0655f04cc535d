"""Test errors of the ways to read a run's many hypotheses, as epochs go by."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import finite, refuse_unless_shares, refuse_where, same_length
from linsep.plots.curves import key
from linsep.training.votes import reading_name

READOUTS = ("vote", "last", "average", "random", "longest", "plurality")
"""The readouts; the place of each gives its colour and marker."""
STEEP = 4
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
        What the title begins with.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> errors = {("vote", False): [0.1, 0.08], ("last", False): [0.16, 0.14], ("last", True): [0.15, 0.13]}
    >>> votes([0.1, 1], errors).get_title(loc="left")
    'vote: 8.0 % of predictions wrong after 1 epoch'
    """
    numbers, curves = _checked(epochs, errors)
    ax = style.axes(ax, (8.4, 4.4))
    handles = _draw(ax, numbers, curves)
    _scale(ax, [numbers], [curves])
    key(ax, handles, [name_of(method) for method in curves])
    first = next(iter(curves))
    result = f"{name_of(first)}: {style.percent(curves[first][-1])} of predictions wrong after {_counted(numbers[-1])}"
    style.head(ax, f"{heading}, {result}" if heading else result)
    style.name_axes(ax, "epochs", "test error")
    return ax


def vote_panels(panels: Mapping[str, Curves], *, across: int | None = None, figure: Figure | None = None) -> Figure:
    """Draw a panel for each entry, all of one scale, with one legend for the methods of all.

    Parameters
    ----------
    panels : mapping of titles to (epochs, errors)
        What :func:`votes` takes.
    across : int, optional
        Panels side by side; by default 2, or 3 where that leaves no gap.
    figure : matplotlib.figure.Figure, optional
        An empty figure; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure

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
    known = {title: _checked(*given) for title, given in panels.items()}
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


def _checked(epochs: Any, errors: Mapping[Any, Any]) -> tuple[Array, dict[Method, Array]]:
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
    if y.max() > STEEP * y.min() > 0:
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


def _counted(epochs: float) -> str:
    return f"{epochs:g} {'epoch' if epochs == 1 else 'epochs'}"
