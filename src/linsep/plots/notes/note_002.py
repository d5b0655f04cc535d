"""The figures of note 002: logistic regression, and the perceptron's mistakes."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]
from sklearn.datasets import load_iris

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Dense
from linsep.estimators.logistic import LogisticRegression
from linsep.estimators.max_margin import MaxMargin
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style
from linsep.plots.boundary import replay
from linsep.plots.notes.catalogue import FIGURES, words
from linsep.plots.notes.drawing import (
    arrow,
    axes_of,
    boundary,
    colour,
    figure_of,
    key,
    label,
    panel,
    plane,
    points,
    solid,
)
from linsep.solvers.logistic.gradient_ascent import gradient_ascent
from linsep.solvers.logistic.newton import newton
from linsep.solvers.logistic.objective import problem_of

FEATURES = ("petal length (cm)", "petal width (cm)")
KINDS = ("versicolor", "virginica")
"""The two kinds that no line separates, so that the likeliest weights are finite."""
LEVELS = np.array([0.002, 0.006, 0.015, 0.03, *np.linspace(0.05, 0.5, 11)])
"""Probabilities up to ½ along which the surface is cut into flat strips: it is constant along the boundary."""


def sigmoid_surface(*, ax: Any = None) -> Any:
    """Draw Pr(virginica | x) of :class:`~linsep.LogisticRegression` over two features of iris (note 002).

    `ax` has three dimensions.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> sigmoid_surface(ax=Figure().add_subplot(projection="3d")).get_zlabel()
    'Pr(virginica)'
    """
    if ax is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=FIGURES["sigmoid_surface"].size, layout="constrained")
        ax = figure.add_subplot(projection="3d")
    if not hasattr(ax, "plot_surface"):
        raise ValueError('ax has two dimensions, the surface three: make it by add_subplot(projection="3d")')
    X, y = flowers()
    clf = LogisticRegression(prior_variance=None).fit(X, y)
    low, high = style.limits(X, 0.04)
    _draw_surface(ax, clf.coef_[0], float(clf.intercept_[0]), low, high)
    points(ax, np.column_stack([X, y > 0]), y, size=20, depthshade=False)
    _frame(ax)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(0, 1), zticks=[0, 0.5, 1])
    style.legend(ax, [key(-1), key(1), ax.lines[-1]], [*KINDS, "Pr = ½"], loc="upper left", bbox_to_anchor=(0.0, 1.0),
                 labelspacing=0.4)  # fmt: skip
    return ax


def _draw_surface(ax: Any, w: Array, b: float, low: Array, high: Array) -> None:
    """Draw the sigmoid of w·x + b over a rectangle in strips, and the line where it is ½."""
    corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    scores = corners @ w + b
    within = np.log(LEVELS / (1 - LEVELS))
    within = np.unique([*within, *-within])
    edges = np.array([scores.min(), *within[(within > scores.min()) & (within < scores.max())], scores.max()])
    strips = [_cut(_cut(corners, w, b - under), -w, over - b) for under, over in pairwise(edges.tolist())]
    middles = chance((edges[1:] + edges[:-1]) / 2)
    faces = np.where(middles[:, None] > 0.5, to_rgba(colour(1)), to_rgba(colour(-1)))
    faces[:, 3] = 0.15 + 0.6 * np.abs(middles - 0.5)
    lifted = [np.column_stack([strip, chance(strip @ w + b)]) for strip in strips]
    seams = to_rgba(style.ink(), 0.16)
    ax.add_collection3d(Poly3DCollection(lifted, facecolors=faces, edgecolors=seams, linewidths=0.5))
    side = _cut(corners, w, b)
    half = side[np.abs(side @ w + b) < 1e-9 * np.abs(scores).max()]
    ax.plot(*half.T, np.full(len(half), 0.5), color=style.ink(), linewidth=2.0, zorder=5)


def chance(score: Array) -> Array:
    """Return the sigmoid of scores.

    >>> chance(np.array([0.0, 2.0]))
    array([0.5       , 0.88079708])
    """
    return np.asarray(0.5 * (1 + np.tanh(score / 2)))


def _cut(corners: Array, w: Array, b: float) -> Array:
    """Return the corners of that part of a convex polygon on which w·x + b >= 0."""
    scores = corners @ w + b
    kept = []
    previous = np.roll(corners, 1, axis=0), np.roll(scores, 1)
    for here, before, there, after in zip(*previous, corners, scores, strict=True):
        if (before < 0) != (after < 0):
            kept.append(here + before / (before - after) * (there - here))
        if after >= 0:
            kept.append(there)
    return np.array(kept).reshape(-1, 2)


def flowers() -> tuple[Array, Array]:
    """Return two features of two kinds of iris, and -1 or +1 by kind."""
    iris = load_iris()
    kinds = [list(iris.target_names).index(kind) for kind in KINDS]
    chosen = np.isin(iris.target, kinds)
    columns = [list(iris.feature_names).index(name) for name in FEATURES]
    return iris.data[chosen][:, columns], np.where(iris.target[chosen] == kinds[1], 1, -1)


def _frame(ax: Any) -> None:
    """Prepare axes of three dimensions, and write what they show."""
    solid(ax)
    for name, axis in zip([*FEATURES, f"Pr({KINDS[1]})"], (ax.xaxis, ax.yaxis, ax.zaxis), strict=True):
        axis.set_label_text(name, color=style.ink(), fontsize=style.SMALL + 0.5)
    ax.view_init(elev=24, azim=-128)
    ax.set_box_aspect((1.15, 1.15, 0.75), zoom=0.92)
    style.head(ax, FIGURES["sigmoid_surface"].title, words("sigmoid_surface"))


CLIMB_ROWS, STEPS, EPOCHS, RATE = 40, 40, 3, 0.2
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

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> batch, stochastic = ascent_paths(ax=Figure().add_subplot()).lines[:2]
    >>> len(batch.get_xdata()), len(stochastic.get_xdata())
    (41, 121)
    """
    climb = run_both()
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
    names = [
        f"batch: {STEPS} steps of {CLIMB_ROWS} rows",
        f"stochastic: {EPOCHS * CLIMB_ROWS} steps of 1 row",
        "likeliest weights",
    ]
    style.legend(ax, ax.lines[:3], names, loc="lower right", bbox_to_anchor=(1.0, 0.0), labelspacing=0.4,
                 frameon=True, facecolor=style.paper(), edgecolor="none", framealpha=0.85)  # fmt: skip
    label(ax, "start", (0, 0), (0, -11))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    style.name_axes(ax, "weight w₁", "weight w₂")
    return ax


def run_both() -> Climb:
    """Draw rows of two overlapping classes, and climb twice."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(CLIMB_ROWS) % 2, 1, -1)
    X = rng.normal(size=(CLIMB_ROWS, 2)) * [1.0, 1.4] + y[:, None] * [0.9, 0.5]
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


GAMMA = 0.25
"""The margin; the radius R is 1."""
LEAN = 25.0
"""Degrees by which u leans to the left in the first two columns."""
FIRST, SECOND = (0.8, 0.36), {1: (-0.72, 0.36), -1: (0.42, -0.62)}
"""The first example, a positive one, and by sign the second: (beside u, along u), with u "up"."""
REACH = 1.25
"""The largest coordinate that the panels show."""


class Case(NamedTuple):
    """A hypothesis, the example of its mistake, and the next hypothesis."""

    u: Array
    v1: Array
    x2: Array
    sign: int

    @property
    def v2(self) -> Array:
        """The weights after the second mistake."""
        return self.v1 + self.sign * self.x2


def case(sign: int, lean: float = 0.0) -> Case:
    """Return the case whose second example has that label, everything turned to the left by so many degrees.

    >>> case(1).v2
    array([0.08, 0.72])
    """
    turn = np.deg2rad(lean)
    frame = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return Case(np.array([0.0, 1.0]) @ frame, np.array(FIRST) @ frame, np.array(SECOND[sign]) @ frame, sign)


def mistake_regions(*, figure: Figure | None = None) -> tuple[Axes, ...]:
    """Draw where v1 = x1 is wrong about examples, v2 = v1 ± x2, and both with u "up" (note 002).

    The first row is of a second example that is positive, the second of a negative one.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> panels = mistake_regions(figure=Figure(figsize=(10.6, 8)))
    >>> panels[1].get_title(loc="left")
    'the guess after: v₂ = v₁ + x₂'
    """
    figure = figure_of(figure, "mistake_regions")
    panels = figure.subplots(2, 3)
    for row, sign in zip(panels, (1, -1), strict=True):
        leaning, upright = case(sign, LEAN), case(sign)
        kind, mark = ("positive", "+") if sign > 0 else ("negative", "−")
        panel(row[0], f"mistakes on a {kind} example")
        panel(row[1], f"the guess after: v₂ = v₁ {mark} x₂")
        panel(row[2], "with u “up”: v rises by γ or more")
        _draw_region(row[0], leaning)
        _draw_sum(row[1], leaning)
        _draw_up(row[2], upright)
    return tuple(panels.ravel())


def _draw_region(ax: Axes, given: Case) -> None:
    """Shade the examples of that label that follow the rules and are mistakes: v·x on the wrong side, or 0."""
    plane(ax, REACH)
    _draw_rules(ax, given)
    grid = np.linspace(-REACH, REACH, 401)
    x = np.stack(np.meshgrid(grid, grid), axis=-1)
    inside = np.minimum(given.sign * (x @ given.u) - GAMMA, -given.sign * (x @ given.v1))
    inside = np.minimum(inside, 1 - np.linalg.norm(x, axis=-1))
    ax.contourf(grid, grid, inside, levels=[0, np.inf], colors=[colour(given.sign)], alpha=0.3, zorder=1)
    boundary(ax, given.v1, linewidth=1.1, linestyle="--")
    _draw_vectors(ax, given, second=False)
    label(ax, "mistakes", 0.98 * _middle(x, inside))


def _middle(x: Array, inside: Array) -> Array:
    """Return the mean of the points where something is above 0."""
    return np.asarray(x[inside > 0].mean(axis=0))


def _draw_sum(ax: Axes, given: Case) -> None:
    """Draw the update: the second example is added to the weights, or subtracted."""
    plane(ax, REACH)
    _draw_rules(ax, given)
    _draw_vectors(ax, given, second=True)


def _draw_up(ax: Axes, given: Case) -> None:
    """Draw the weights with u upright, and the heights that they must reach."""
    plane(ax, REACH, "beside u", "along u")
    for k in (1, 2):
        ax.axhline(k * GAMMA, color=style.colour_of(2), linewidth=1.2, linestyle=":", zorder=2)
        label(ax, f"{'' if k == 1 else k}γ", (-REACH, k * GAMMA), (8, 6), color=style.colour_of(2))
    ax.axhspan(-GAMMA, GAMMA, color=style.ink(), alpha=0.07, linewidth=0, zorder=0)
    _draw_vectors(ax, given, second=True)


def _draw_rules(ax: Axes, given: Case) -> None:
    """Draw the two rules: examples lie within the circle, and out of the band of the margin."""
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=style.ink(), alpha=0.5, linewidth=1, zorder=1))
    corners = np.meshgrid([-REACH, REACH], [-REACH, REACH])
    along = corners[0] * given.u[0] + corners[1] * given.u[1]
    ax.contourf(*corners, along, levels=[-GAMMA, GAMMA], colors=[style.ink()], alpha=0.07, zorder=0)


def _draw_vectors(ax: Axes, given: Case, second: bool) -> None:
    arrow(ax, given.u, hue=style.colour_of(2), width=1.6)
    label(ax, "u", given.u, (-8, 4), color=style.colour_of(2), weight="bold")
    arrow(ax, given.v1)
    label(ax, "v₁ = x₁", given.v1, (13, 9), weight="bold")
    if not second:
        return
    hue = colour(given.sign)
    arrow(ax, given.x2, hue=hue, width=1.4)
    label(ax, "x₂", given.x2, (0, 9 * given.sign), color=hue, weight="bold")
    arrow(ax, given.v2, given.v1, hue=hue, width=1.2, dashed=True)
    arrow(ax, given.v2, width=2.6)
    label(ax, "v₂", given.v2, (9, 6), weight="bold")


IRIS_COLUMNS, RUN_SEED = [1, 3], 15
"""Two widths of iris, and the seed of an order of rows with many mistakes."""


class PerceptronRun(NamedTuple):
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


def run() -> PerceptronRun:
    """Train a perceptron on setosa and versicolor, and find the margin that its theorem is about."""
    iris = load_iris()
    two = iris.target < 2
    X, y = iris.data[two][:, IRIS_COLUMNS], iris.target[two]
    clf = Perceptron(intercept_scaling=1.0, random_state=RUN_SEED, max_iter=100, log=True).fit(X, y)
    best = MaxMargin(C=None, tol=1e-6, random_state=0).fit(X, y)
    u = np.append(best.coef_[0], best.intercept_)
    u = u / np.linalg.norm(u)
    rows = np.column_stack([X, np.ones(len(X))])
    gamma = float((np.where(y == 1, 1, -1) * (rows @ u)).min())
    return PerceptronRun(replay(clf, X, y)[1:], u, gamma, float(np.linalg.norm(rows, axis=1).max()))


def cosines(*, figure: Figure | None = None) -> tuple[Axes, Axes]:
    """Draw v_k·u and cos(v_k, u) over the mistakes of a perceptron on iris, and the bounds of the lemmas (note 002).

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
    panel(nearer, f"cos(v, u) falls at {len(fell)} of {style.count_of(len(k), 'mistake')}")
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


ROWS = np.array([[-1, -2], [-3, 3], [3, -3], [3, -1], [2, -3], [-2, 1], [-1, -3], [3, 2], [0, 1], [-2, -3]], float)
LABELS = np.array([1, -1, 1, 1, 1, -1, 1, 1, -1, 1])
"""Rows on which the perceptron, in this order, has the note's guesses and results."""
HEADINGS = {"i": 0.4, "guess": 2.1, "row xᵢ": 4.35, "yᵢ": 5.75, "yᵢ v·xᵢ": 7.1, "result": 8.8}
"""Headings, and the middle of each column."""
EDGE = 9.6
"""The right edge of the table; the counts are beyond it."""


class Table(NamedTuple):
    """Ten rounds."""

    guesses: Array
    """v_0 to v_4."""
    used: Array
    """The number of the guess used in each round."""
    margins: Array
    """y v·x in each round."""
    survival: Array
    """Rounds that each guess was used in."""


def play() -> Table:
    """Run the perceptron over the ten rows once, and read off its log.

    >>> play().survival
    array([1, 3, 4, 2, 0])
    """
    clf = Perceptron(fit_intercept=False, log=True).partial_fit(ROWS, LABELS)
    guesses = replay(clf, ROWS, LABELS)[:, :2]
    used = np.searchsorted(clf.log_.rounds, np.arange(1, len(ROWS) + 1))
    margins = LABELS * np.einsum("ij,ij->i", guesses[used], ROWS)
    return Table(guesses, used, margins, np.bincount(used, minlength=len(guesses)))


def guess_table(*, ax: Axes | None = None) -> Axes:
    """Draw ten rounds of the perceptron as a table, and the survival count of each hypothesis (note 002).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = guess_table(ax=Figure().add_subplot())
    >>> sum(text.get_text().endswith("✗") for text in ax.texts)
    4
    """
    table = play()
    ax = axes_of(ax, "guess_table")
    ax.spines[:].set_visible(False)
    ax.set(xlim=(0, 13.2), ylim=(len(ROWS) + 1.9, -0.9), xticks=[], yticks=[])
    for name, place in HEADINGS.items():
        _write(ax, place, -0.15, name, alpha=0.75)
    ax.plot([0, EDGE], [0.35, 0.35], color=style.ink(), linewidth=1)
    for i, k in enumerate(table.used.tolist()):
        right = table.margins[i] > 0
        _cell(ax, (0, i + 0.5), 8.0, style.colour_of(k), 0.14)
        _cell(ax, (8.0, i + 0.5), EDGE - 8.0, style.RIGHT if right else style.WRONG, 0.35)
        texts = [
            str(i + 1),
            _guess(k, table.guesses[k]),
            _vector(ROWS[i]),
            _signed(LABELS[i]),
            _signed(table.margins[i]),
        ]
        for place, text in zip(HEADINGS.values(), [*texts, "✓" if right else "✗"], strict=True):
            _write(ax, place, i + 1, text)
    _draw_counts(ax, table)
    return ax


def _draw_counts(ax: Axes, table: Table) -> None:
    """Write the number of rounds beside those of each hypothesis."""
    _write(ax, 11.4, -0.15, "survived", alpha=0.75)
    ends = np.cumsum(table.survival)
    for k, (count, end) in enumerate(zip(table.survival.tolist(), ends.tolist(), strict=True)):
        top, tall = end - count + 0.5, max(count, 1)
        _cell(ax, (EDGE + 0.25, top), 3.1, style.colour_of(k), 0.28 if count else 0.1, tall)
        name = f"v{_low(k)}: {style.count_of(count, 'row')}"
        _write(ax, 11.4, top + tall / 2, name, weight="bold")
    m, k = len(table.used), int((table.margins <= 0).sum())
    last = _guess(len(table.guesses) - 1, table.guesses[-1])
    _write(ax, 0.15, m + 1.05, f"The last guess, {last}, was never tried.", ha="left")
    _write(ax, 0.15, m + 1.7, f"A guess drawn by its count errs with k/m = {k}/{m}.", ha="left")


def _cell(ax: Axes, corner: tuple[float, float], wide: float, hue: str, alpha: float, tall: int = 1) -> None:
    ax.add_patch(Rectangle(corner, wide, tall, facecolor=hue, alpha=alpha, edgecolor="none", zorder=1))


def _write(ax: Axes, x: float, y: float, text: str, **more: Any) -> None:
    options: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL + 0.5, "color": style.ink()}
    ax.text(x, y, text, parse_math=False, zorder=3, **{**options, **more})


def _guess(k: int, v: Array) -> str:
    return f"v{_low(k)} = {_vector(v)}"


def _low(k: int) -> str:
    return "₀₁₂₃₄₅₆₇₈₉"[k]


def _vector(values: Array) -> str:
    return f"({', '.join(f'{value:g}'.replace('-', '−') for value in values)})"


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"
