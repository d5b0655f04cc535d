"""Mistakes over the rounds of a run, against their bound."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import classes_of, finite, same_length
from linsep.plots.curves import FAR, amount

FEW = 8
"""Classes up to which each has a line of its own."""
CORNERS = 2000
"""The most steps to draw; of more, an even selection is drawn."""

Curve = tuple[Array, Array]


def mistakes(run: Any, *, bound: float | Callable[[Array], Any] | None = None, ax: Axes | None = None) -> Axes:
    """Draw how many mistakes a learner had made after each round.

    A learner whose steps are not all ±1 logs its updates, not its mistakes, and so those are counted. One-vs-rest of up
    to 8 classes has a line for each binary classifier, otherwise all are added up. Rounds of shards count one shard
    after the other; below a bound, which is about weighted mistakes there, each counts as the weight of its shard in
    the mix.

    Parameters
    ----------
    run : a fitted learner with a log, or a pair of arrays
        The pair is (rounds, counts): the rounds, rising, and how many mistakes had been made after each.
    bound : float or callable, optional
        What the count can't pass: one number, or a function that returns it for an array of rounds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from linsep import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[0, 1], [1, 0], [2, 1], [1, 2]], [0, 1, 1, 0])
    >>> mistakes(clf, bound=12).get_title(loc="left")
    'Perceptron: 2 mistakes in 8 rounds'
    """
    if isinstance(run, tuple):
        curves, what, title, drawn = [_given(run)], "mistakes", "", "default"
    else:
        curves, what = _logged(run, weighted=bound is not None)
        title, drawn = f"{type(run).__name__}: ", "steps-post"
    rounds, counts = int(max(x[-1] for x, _ in curves)), [_whole(y[-1]) for _, y in curves]
    ax = style.axes(ax, (7.2, 4.0))
    for k, (x, y) in enumerate(curves):
        colour = style.colour_of(k) if len(curves) > 1 else style.WRONG
        ax.plot(x, y, drawstyle=drawn, color=colour, linewidth=1.8, linestyle=("-", "--")[k // len(style.COLOURS)],
                zorder=3)  # fmt: skip
    _draw_bound(ax, bound, rounds, max(counts))
    ax.set_xlim(0, rounds or 1)
    ticks.numbers(ax.xaxis, integer=True)
    ticks.numbers(ax.yaxis)
    if len(curves) > 1:
        order = sorted(range(len(curves)), key=lambda k: -counts[k])
        labels = [f"{style.shortened(run.classes_[k], 24)}: {_formatted(counts[k])}" for k in order]
        style.legend(ax, [ax.lines[k] for k in order], labels)
    total = f"{_formatted(sum(counts))} {what.removesuffix('s' * (sum(counts) == 1))}"
    style.head(ax, f"{title}{total} in {style.counted(rounds, 'round')}")
    style.name_axes(ax, "round", f"{what} so far{' of each class' if len(curves) > 1 else ''}")
    return ax


def _given(run: tuple[Any, ...]) -> Curve:
    if len(run) != 2:
        raise ValueError(f"a curve is a pair (rounds, counts); {len(run)} arrays were given")
    rounds, counts = finite("rounds", run[0]), finite("counts", run[1])
    same_length(rounds=rounds, counts=counts)
    for name, values in (("rounds", rounds), ("counts", counts)):
        falls = np.flatnonzero(np.diff(values, prepend=0.0) < 0)
        if len(falls):
            raise ValueError(f"{name} falls to {values[falls[0]]:g} at place {falls[0]}: counts go up, from 0")
    return rounds, counts


def _whole(count: Any) -> float:
    """Return a count as an integer, if it is one."""
    return int(count) if count == int(count) else float(count)


def _formatted(count: float) -> str:
    return f"{count:,}" if isinstance(count, int) else f"{count:,.4g}"


def _logged(clf: Any, weighted: bool) -> tuple[list[Curve], str]:
    """Return the curves of a learner's log, and what it counts; if it is to be weighted, shards by their weights."""
    classes = classes_of(clf)
    if not hasattr(clf, "t_"):
        raise TypeError(f"{type(clf).__name__} counts no rounds: pass an online learner, or a pair (rounds, counts)")
    try:
        log = clf.log_
    except AttributeError as error:
        raise ValueError(f"{error}; fit with log=True, or pass a pair (rounds, counts)") from error
    counts_mistakes = log.amounts is None and len(log) == np.sum(clf.mistakes_)
    if log.classes is not None and log.classes.ndim == 1 and len(classes) <= FEW:
        chosen = [log.classes == k for k in range(len(classes))]
    else:
        chosen = [np.ones(len(log), bool)]
    mixed, what = clf._fitted().mixed if weighted else None, "mistakes" if counts_mistakes else "updates"
    if mixed is None:
        return [stepped(log.rounds[of], clf.t_) for of in chosen], what
    if log.classes is not None and log.classes.ndim == 1 and len(chosen) == 1:
        weights = _weights(mixed, log.rounds, log.classes)
    else:
        weights = np.zeros(len(log))
        for k, of in enumerate(chosen):
            weights[of] = _weights(mixed, log.rounds[of], k)
    return [stepped(log.rounds[of], clf.t_, weights[of]) for of in chosen], f"weighted {what}"


def _weights(mixed: Any, rounds: Array, classifiers: Any) -> Array:
    """Return the weight of the shard that each round was in, for its binary classifier; 1 in passes without shards."""
    _, _, before, own = mixed.numbers.T
    place = np.maximum(np.searchsorted(before, rounds) - 1, 0)
    inside = (before[place] < rounds) & (rounds <= before[place] + own[place])
    return np.where(inside, (mixed.shares / mixed.totals())[place, classifiers], 1.0)


def stepped(rounds: Array, last: int, weights: Array | None = None) -> Curve:
    """Return the corners of a count that rises by 1, or a weight, at each of these rounds; at one round together."""
    x = np.append(0, rounds)
    y = np.arange(len(rounds) + 1) if weights is None else np.append(0.0, np.cumsum(weights))
    final = np.append(x[1:] != x[:-1], True)
    x, y = x[final], y[final]
    if len(x) > CORNERS:
        kept = np.linspace(0, len(x) - 1, CORNERS).round().astype(np.intp)
        x, y = x[kept], y[kept]
    return np.append(x, last), np.append(y, y[-1])


def _draw_bound(ax: Axes, bound: Any, rounds: int, count: float) -> None:
    if bound is None:
        ax.set_ylim(bottom=0)
        return
    x = np.linspace(0, rounds, 200)[1:] if callable(bound) else np.array([0.0, rounds])
    y = np.asarray(bound(x) if callable(bound) else np.full(2, float(bound)), dtype=np.float64)
    if y.shape != x.shape or not np.isfinite(y).all() or (y < 0).any():
        raise ValueError("bound is a number that is not below 0, or a function that returns one for each round")
    ax.plot(x, y, color=style.ink(), linewidth=1.4, linestyle="dashed", zorder=2)
    if y[-1] > FAR * count > 0:
        ax.set_yscale("log")
        ax.set_ylim(min(1.0, count), 2 * y.max())
    else:
        ax.set_ylim(0, 1.12 * max(y.max(), count, 1))
    ax.annotate(f"bound {amount(float(y[-1]))}", (x[-1], y[-1]), (-4, 4), textcoords="offset points", ha="right",
                va="bottom", color=style.ink(), fontsize=style.SMALL)  # fmt: skip
