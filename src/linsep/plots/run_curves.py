"""Curves of one run: its mistakes, the bounds on them, the lemmas behind the bounds, and its progress."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from linsep.engine.arrays import Array
from linsep.plots import style, ticks
from linsep.plots.checks import classes_of, finite, refuse_unless_shares, refuse_where, same_length

LINES = ("dashed", "dashdot", "dotted", (0, (7, 1.5)), (0, (4, 1, 1, 1, 1, 1)))
"""The line styles of bounds, which differ in grey print too."""
WIDE, BELOW = 6.5, 0.52
"""Inches: a figure narrower than `WIDE` has its legend below the frame, `BELOW` inches down."""
FAR = 20
"""A bound that is more than this multiple of the count is drawn on a logarithmic axis."""


def amount(value: float) -> str:
    """Format a bound with few digits.

    >>> amount(331.6584), amount(3143.66), amount(2.5e9), amount(0)
    ('331.7', '3,144', '2.5e+09', '0')
    """
    if value >= 1e8:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def key(ax: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put a legend beside the frame, or below it if the figure is narrow."""
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_figwidth() >= WIDE:
        style.legend(ax, handles, names, handlelength=2.6)
        return
    columns = 2 if len(names) > 2 and max(map(len, names)) <= 24 else 1
    under = ax.transAxes + ScaledTranslation(0, -BELOW, figure.dpi_scale_trans)
    style.legend(ax, handles, names, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=under, handlelength=2.6,
                 labelspacing=0.4, ncols=columns, fontsize=style.SMALL)  # fmt: skip


def draw_levels(ax: Axes, run: Line2D, name: str, count: float, allowed: Mapping[str, float]) -> dict[str, float]:
    """Draw bounds as levels and a legend of them and of the run; return the finite bounds.

    An infinite bound is named in the legend, and not drawn.
    """
    for bound, value in allowed.items():
        if not value >= 0:
            raise ValueError(f"the bound {bound!r} is {value}: pass a number of at least 0")
    colours = [colour for colour in style.COLOURS if colour != style.WRONG]
    entries = [(run, f"{name}: {amount(count)}", float(count))]
    for k, (bound, value) in enumerate(allowed.items()):
        line, text = Line2D([], [], linestyle="none"), "none"
        if value < np.inf:
            look: Any = {"color": colours[k % len(colours)], "linestyle": LINES[k % len(LINES)], "linewidth": 1.6}
            line, text = ax.axhline(value, zorder=2, **look), amount(value)
        entries.append((line, f"{style.shorten(bound, 36)}: {text}", float(value)))
    entries.sort(key=lambda entry: -entry[2])
    key(ax, [line for line, *_ in entries], [text for _, text, _ in entries])
    return {bound: float(value) for bound, value in allowed.items() if value < np.inf}


def scale_height(ax: Axes, highest: float, counts: Array, least: float = 1.0, *, integer: bool = False) -> None:
    """Set the range of the height to counts and a bound; it is logarithmic if the bound is far above the counts."""
    last = float(counts[-1])
    if highest > FAR * last > 0:
        ax.set_yscale("log")
        ax.set_ylim(0.9 * min(least, counts[counts > 0].min()), 2 * highest)
    else:
        ax.set_ylim(0, 1.08 * max(highest, last, 1.0))
    ticks.numbers(ax.yaxis, integer=integer)
    ticks.grid(ax)


def steps_of(values: Array, counts: Any) -> Array:
    """Return the mistakes at each value: 0, 1, ..., or the weighted ones given, which start at 0 and do not fall."""
    if counts is None:
        return np.arange(len(values))
    found = finite("counts", counts)
    if found[0] != 0:
        raise ValueError(f"counts has {found[0]:g} at place 0: before the first mix there are no mistakes")
    falls = np.flatnonzero(np.diff(found) < 0)
    if len(falls):
        raise ValueError(f"counts falls to {found[falls[0] + 1]:g} at place {falls[0] + 1}: sums of mistakes rise")
    return found


def total_of(last: float, counts: Any) -> str:
    """Return the number of mistakes for a title, counted or weighted.

    >>> total_of(2, None), total_of(2.5, [0, 2.5]), total_of(1, [0, 1])
    ('2 mistakes', '2.5 weighted mistakes', '1 weighted mistake')
    """
    if counts is None:
        return style.count_of(int(last), "mistake")
    return f"{amount(last)} weighted mistake{'s' * (amount(last) != '1')}"


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
        Upper limit of the count: one number, or a function that returns it for an array of rounds.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

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
        labels = [f"{style.shorten(run.classes_[k], 24)}: {_format(counts[k])}" for k in order]
        style.legend(ax, [ax.lines[k] for k in order], labels)
    total = f"{_format(sum(counts))} {what.removesuffix('s' * (sum(counts) == 1))}"
    style.head(ax, f"{title}{total} in {style.count_of(rounds, 'round')}")
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


def _format(count: float) -> str:
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
        return [step_curve(log.rounds[of], clf.t_) for of in chosen], what
    if log.classes is not None and log.classes.ndim == 1 and len(chosen) == 1:
        weights = _weights(mixed, log.rounds, log.classes)
    else:
        weights = np.zeros(len(log))
        for k, of in enumerate(chosen):
            weights[of] = _weights(mixed, log.rounds[of], k)
    return [step_curve(log.rounds[of], clf.t_, weights[of]) for of in chosen], f"weighted {what}"


def _weights(mixed: Any, rounds: Array, classifiers: Any) -> Array:
    """Return the weight of the shard that each round was in, for its binary classifier; 1 in passes without shards."""
    _, _, before, own = mixed.numbers.T
    place = np.maximum(np.searchsorted(before, rounds) - 1, 0)
    inside = (before[place] < rounds) & (rounds <= before[place] + own[place])
    return np.where(inside, (mixed.shares / mixed.totals())[place, classifiers], 1.0)


def step_curve(rounds: Array, last: int, weights: Array | None = None) -> Curve:
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


def bounds(rounds: Any, total: int, allowed: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """Draw how many mistakes had been made after each round, and the bounds that they stay under.

    Where the highest bound is far above the count, the axis is logarithmic.

    Parameters
    ----------
    rounds : array
        The rounds, from 1 and in order, of the mistakes, as in `log_.rounds`.
    total : int
        Number of rounds.
    allowed : mapping of names to numbers
        The bounds. One that is infinite is vacuous: it is named, not drawn.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> bounds([1, 2, 5], 12, {"(R/γ)²": 8.25, "Winnow": 6.5}).get_title(loc="left")
    '3 mistakes in 12 rounds, 6.5 allowed'
    """
    places = _rounds(rounds, total)
    ax = style.axes(ax, (8.4, 4.0))
    x, y = step_curve(places, total)
    (run,) = ax.plot(x, y, drawstyle="steps-post", color=style.WRONG, linewidth=2.0, zorder=3)
    drawn = draw_levels(ax, run, "mistakes", len(places), allowed)
    scale_height(ax, max(drawn.values(), default=0.0), y, integer=True)
    ax.set_xlim(0, total)
    ticks.numbers(ax.xaxis, 5, integer=True)
    style.head(ax, f"{style.count_of(len(places), 'mistake')} in {style.count_of(total, 'round')}{_least(drawn)}")
    style.name_axes(ax, "round", "mistakes so far")
    return ax


def mixes(counts: Any, allowed: Mapping[str, float], *, ax: Axes | None = None) -> Axes:
    """Draw the weighted mistakes of a run whose shards were mixed after each mix, and the bounds that they stay under.

    Each mistake counts as the weight mu of its shard in the mix: that sum is what the theorems bound, at every mix. The
    mistakes of all shards together may be more.

    Parameters
    ----------
    counts : array
        The weighted mistakes at the start, 0, and after each mix, as in `mixes_.mixed_mistakes`.
    allowed : mapping of names to numbers
        The bounds. One that is infinite is vacuous: it is named, not drawn.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> mixes([0, 2.25, 3.5, 3.5], {"(R/γ)²": 8.25}).get_title(loc="left")
    '3.5 weighted mistakes in 3 mixes, 8.25 allowed'
    """
    sums = steps_of(finite("counts", counts), counts)
    ax, last = style.axes(ax, (8.4, 4.0)), float(sums[-1])
    (run,) = ax.plot(np.arange(len(sums)), sums, color=style.WRONG, linewidth=2.0, marker=".", zorder=3)
    drawn = draw_levels(ax, run, "weighted mistakes", last, allowed)
    scale_height(ax, max(drawn.values(), default=0.0), sums)
    if ax.get_yscale() == "log":  # which has no place for 0
        run.set_data(np.flatnonzero(sums), sums[sums > 0])
    ax.set_xlim(0, max(len(sums) - 1, 1))
    ticks.numbers(ax.xaxis, 5, integer=True)
    style.head(ax, f"{total_of(last, counts)} in {style.count_of(len(sums) - 1, 'mix', 'mixes')}{_least(drawn)}")
    style.name_axes(ax, "mix", "weighted mistakes so far")
    return ax


def _least(drawn: Mapping[str, float]) -> str:
    return f", {amount(min(drawn.values()))} allowed" if drawn else ""


def _rounds(rounds: Any, total: int) -> Array:
    if not total >= 1:
        raise ValueError(f"total={total}: a run has one round at least")
    places = finite("rounds", rounds) if len(rounds) else np.empty(0)
    wrong = (np.diff(places, prepend=0.0) < 0) | (places < 1) | (places > total)
    refuse_where(wrong, "rounds", places, f"rounds are from 1 to total={total:,}, in order")
    return places


MOST = 1e100
"""The highest (R/γ)² that is drawn."""
POTENTIAL_WIDE = 8
"""The axis of the potential ends at the bound, or at this multiple of the mistakes."""


def squeeze(
    dots: Any, squares: Any, *, radius: float, margin: float, counts: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw a perceptron's v_k·u and ||v_k|| over its mistakes, between what the two lemmas allow.

    v_k·u is at least kγ and ||v_k|| at most R√k, and since v_k·u <= ||v_k||, no mistake is left where the two meet:
    at k = (R/γ)². Where that is far beyond the run, both axes are logarithmic. Of a run whose shards were mixed, the
    lemmas hold at every mix, and k is the sum of its mistakes so far, each times the weight of its shard.

    Parameters
    ----------
    dots : array
        v_k·u for a u of length 1, k = 0, 1, ..., as :func:`linsep.theory.paths.perceptron_path` returns them.
    squares : array
        ||v_k||², as it returns them too.
    radius : float
        R, the length of the longest row.
    margin : float
        γ, what y x·u is at least.
    counts : array, optional
        Of a mixed run, the weighted mistakes at the start and after each mix, from 0 and rising; by default 0, 1, ...
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> ax = squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.5)
    >>> ax.get_title(loc="left")
    '2 mistakes, squeezed below (R/γ)² = 9'
    >>> squeeze([0, 1, 1.5], [0, 2, 4], radius=1.5, margin=0.5, counts=[0, 0.75, 1.5]).get_xlabel()
    'weighted mistakes k'
    """
    heights, lengths = finite("dots", dots), _lengths(squares)
    steps = steps_of(heights, counts)
    same_length(dots=heights, squares=lengths, counts=steps)
    for name, value in (("radius", radius), ("margin", margin)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value}: the lemmas speak of a number above 0")
    last, meeting = float(steps[-1]), float(radius) / float(margin) * (float(radius) / float(margin))
    if meeting > MOST:
        raise ValueError(f"(R/γ)² = {meeting:.3g} is too much to be drawn: the margin {margin:g} is as good as none")
    far, left = meeting > FAR * max(last, 1), float(steps[1:2].min(initial=1))
    right = max(meeting * (1.6 if far else 1.06), last)
    ax = style.axes(ax, (8.4, 4.4))
    k = np.geomspace(left, right, 300) if far else np.linspace(0, right, 400)
    upper, lower = radius * np.sqrt(k), margin * k
    ax.fill_between(k, lower, upper, where=lower <= upper, color=style.ink(), alpha=0.07, linewidth=0, zorder=0)
    (high,) = ax.plot(k, upper, color=style.ink(), linewidth=1.4, linestyle="dashed", zorder=2)
    (low,) = ax.plot(k, lower, color=style.ink(), linewidth=1.4, linestyle="dotted", zorder=2)
    mark, when = (None, "after k mistakes") if counts is None else (".", "at each mix")
    (length,) = ax.plot(steps, lengths, color=style.colour_of(0), linewidth=2.0, marker=mark, zorder=3)
    (height,) = ax.plot(steps, heights, color=style.colour_of(2), linewidth=2.0, marker=mark, zorder=3)
    ax.plot(meeting, radius * radius / margin, marker="o", color=style.WRONG, markersize=7, zorder=4, linestyle="none")
    _frame(ax, far, (left, right), max(upper[-1], lower[-1]), min(left * margin, heights[1:2].min(initial=margin)))
    key(ax, [high, length, height, low], ["R√k", f"‖v‖ {when}", f"v·u {when}", "kγ"])
    ax.annotate(f"k = {amount(meeting)}", (meeting, radius * radius / margin), (-9, 5), textcoords="offset points",
                ha="right", va="bottom", fontsize=style.SMALL, color=style.ink(), path_effects=style.halo(),
                zorder=5)  # fmt: skip
    style.head(ax, f"{total_of(last, counts)}, {'squeezed ' * (counts is None)}below (R/γ)² = {amount(meeting)}")
    style.name_axes(ax, "mistakes k" if counts is None else "weighted mistakes k", "length")
    return ax


def _lengths(squares: Any) -> Any:
    numbers = finite("squares", squares)
    refuse_where(numbers < 0, "squares", numbers, "a square is not below 0")
    return np.sqrt(numbers)


def _frame(ax: Axes, far: bool, ends: tuple[float, float], top: float, least: float) -> None:
    """Set the scales: of logarithmic ones, the first mistake, or mix, is at the left."""
    left, right = ends
    if far:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(left, right)
        ax.set_ylim(0.7 * least if least > 0 else None, 1.3 * top)
    else:
        ax.set_xlim(0, right)
        ax.set_ylim(0, 1.06 * top)
    ticks.numbers(ax.xaxis, integer=True)
    ticks.numbers(ax.yaxis)


def potential(values: Any, *, progress: float, start: float, counts: Any = None, ax: Axes | None = None) -> Axes:
    """Draw Winnow's potential KL(u‖w) over its mistakes, and the line that it stays under.

    It starts at most at the logarithm of the number of weights, each mistake takes off at least L, and it is never
    below 0: no mistake is left at k = start / L. Of a run whose shards were mixed, that holds at every mix, and k is
    the sum of its mistakes so far, each times the weight of its shard.

    Parameters
    ----------
    values : array
        KL(u‖w) before the first mistake and after each, as :func:`linsep.theory.paths.winnow_path` returns it.
    progress : float
        L = eta delta - ln cosh(eta X), above 0.
    start : float
        Start of the line: the logarithm of the number of weights, or the first value.
    counts : array, optional
        Of a mixed run, the weighted mistakes at the start and after each mix, from 0 and rising; by default 0, 1, ...
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> potential([0.69, 0.31, 0.13], progress=0.125, start=0.7).get_title(loc="left")
    'Winnow: 2 mistakes, 5.6 allowed'
    """
    numbers = finite("values", values)
    for name, value in (("progress", progress), ("start", start)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value}: without a number above 0 Winnow has no bound to be drawn")
    steps = steps_of(numbers, counts)
    same_length(values=numbers, counts=steps)
    last, bound = float(steps[-1]), start / progress
    right = max(last, min(bound, POTENTIAL_WIDE * max(last, 1)))
    ax = style.axes(ax, (8.4, 4.0))
    end = np.array([0.0, min(right, bound)])
    (line,) = ax.plot(end, start - progress * end, color=style.ink(), linewidth=1.4, linestyle="dashed", zorder=2)
    top = ax.axhline(start, color=style.ink(), linewidth=1.2, linestyle="dotted", zorder=1)
    x, y = np.append(steps, last), np.append(numbers, numbers[-1])
    look = {"drawstyle": "steps-post"} if counts is None else {"marker": "."}
    (stairs,) = ax.plot(x, y, color=style.colour_of(0), linewidth=2.0, zorder=3, **look)  # type: ignore[arg-type]
    ax.plot(last, numbers[-1], color=style.colour_of(0), marker="o", linestyle="none", zorder=4, clip_on=False)
    if bound <= right:
        ax.plot(bound, 0, color=style.WRONG, marker="o", markersize=7, linestyle="none", zorder=4, clip_on=False)
    ax.set_xlim(0, 1.02 * right or 1)
    ax.set_ylim(min(0.0, numbers.min()), 1.08 * max(start, numbers.max()))
    ticks.numbers(ax.xaxis, integer=True)
    ticks.numbers(ax.yaxis)
    when = "after k mistakes" if counts is None else "at each mix"
    names = [f"start at most: {start:.4g}", f"KL(u‖w) {when}", f"{start:.4g} − k L, L = {progress:.4g}"]
    key(ax, [top, stairs, line], names)
    style.head(ax, f"Winnow: {total_of(last, counts)}, {amount(bound)} allowed")
    across = "mistakes k" if counts is None else "weighted mistakes k"
    style.name_axes(ax, across, "potential KL(u‖w), in nats")
    return ax


def progress(rows: Any, errors: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the progressive error: the share of wrong predictions so far, each row predicted before it was learned.

    Parameters
    ----------
    rows : array
        Numbers of rows learned, rising.
    errors : array
        The share of them, between 0 and 1, that had been predicted wrongly before they were learned.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> progress([1, 2, 4, 8], [1, 0.5, 0.5, 0.25]).get_title(loc="left")
    'Progressive error: 25.0 % after 8 rows'
    """
    counts, shares = finite("rows", rows), finite("errors", errors)
    same_length(rows=counts, errors=shares)
    refuse_where(np.diff(counts, prepend=0.0) <= 0, "rows", counts, "numbers of rows are above 0 and rise")
    refuse_unless_shares("errors", shares)
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(counts, shares, color=style.WRONG, linewidth=1.8, zorder=2)
    ax.plot(counts[-1:], shares[-1:], color=style.WRONG, marker="o", zorder=3, clip_on=False)
    ax.set_xscale("log")
    beside = 2 if len(counts) == 1 else 1
    ax.set_xlim(counts[0] / beside, counts[-1] * beside)
    ax.set_ylim(0, min(1.05, 1.1 * shares.max()) or 0.01)
    ticks.numbers(ax.xaxis)
    ticks.percents(ax.yaxis, 5)
    ticks.grid(ax)
    last = f"{int(counts[-1]):,} {'row' if counts[-1] == 1 else 'rows'}"
    style.head(ax, f"Progressive error: {style.percent(shares[-1])} after {last}")
    style.name_axes(ax, "rows learned", "wrong predictions so far")
    return ax


def windows(rows: Any, errors: Any, *, rises: Sequence[int] = (), ax: Axes | None = None) -> Axes:
    """Draw the error of a stream in each window of rows, beside that of all rows so far.

    The error of all rows never forgets: after a change in the data it takes as many rows to show it as came before.

    Parameters
    ----------
    rows : array
        Rows learned at the end of each window, rising.
    errors : array
        Number of these rows that had been predicted wrongly before they were learned.
    rises : sequence of int
        Numbers of rows at which vertical lines are drawn: where the error rises.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default those of a new figure.

    Examples
    --------
    >>> windows([100, 200, 300], [30, 40, 80], rises=[200]).get_title(loc="left")
    'Error: 40.0 % in the last window, 26.7 % of all rows'
    """
    counts, wrong = finite("rows", rows), finite("errors", errors)
    same_length(rows=counts, errors=wrong)
    sizes, parts = np.diff(counts, prepend=0.0), np.diff(wrong, prepend=0.0)
    refuse_where(sizes <= 0, "rows", counts, "numbers of rows are above 0 and rise")
    refuse_where(
        (parts < 0) | (parts > sizes), "errors", wrong, "a window has 0 errors at least, and one a row at most"
    )
    shares = parts / sizes
    ax = style.axes(ax, (7.2, 3.8))
    top = min(1.05, 1.15 * shares.max()) or 0.01
    for row in rises:
        ax.axvline(row, color=style.ink(), linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    [window] = ax.plot(
        np.append(0.0, counts), np.append(shares[:1], shares), color=style.WRONG, linewidth=1.4, drawstyle="steps-pre",
        zorder=3,
    )  # fmt: skip
    [so_far] = ax.plot(counts, wrong / counts, color=style.colour_of(0), linewidth=1.4, zorder=2)
    ax.set_xlim(0, counts[-1])
    ax.set_ylim(0, top)
    ticks.numbers(ax.xaxis, integer=True)
    ticks.percents(ax.yaxis, 5)
    ticks.grid(ax)
    key(ax, [window, so_far], ["in each window", "of all rows so far"])
    last, total = style.percent(shares[-1]), style.percent(wrong[-1] / counts[-1])
    style.head(ax, f"Error: {last} in the last window, {total} of all rows")
    style.name_axes(ax, "rows learned", "wrong predictions")
    return ax


def ascent(history: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood at the start and after each step.

    Parameters
    ----------
    history : array
        As in `history_` of LogisticRegression, by solver="newton" or "batch".
    ax : matplotlib.axes.Axes, optional
        Axes to draw in. Default: a new figure.

    Examples
    --------
    >>> ascent([-2.8, -2.1, -1.96, -1.95]).get_title(loc="left")
    'Log-likelihood: -1.95 after 3 steps'
    """
    values = finite("history", history)
    steps = np.arange(len(values))
    ax = style.axes(ax, (7.2, 3.8))
    ax.plot(steps, values, color=style.colour_of(0), linewidth=1.8, zorder=2)
    ax.plot(steps[-1:], values[-1:], color=style.colour_of(0), marker="o", zorder=3, clip_on=False)
    ticks.numbers(ax.xaxis, integer=True)
    ax.yaxis.set_major_locator(MaxNLocator(5))  # with matplotlib's offset: steps may differ in the last digits only
    ticks.grid(ax)
    style.head(ax, f"Log-likelihood: {values[-1]:.4g} after {style.count_of(len(values) - 1, 'step')}")
    style.name_axes(ax, "steps", "log-likelihood, with the prior's share")
    return ax
