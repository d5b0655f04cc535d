"""Where the second mistake can lie, and what it does to the guess."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from linsep.engine.arrays import Array
from linsep.plots import style
from linsep.plots.notes.drawing import arrow, boundary, colour, figure_of, label, panel, plane

GAMMA = 0.25
"""The margin; the radius R is 1."""
LEAN = 25.0
"""Degrees by which u leans to the left in the first two columns."""
FIRST, SECOND = (0.8, 0.36), {1: (-0.72, 0.36), -1: (0.42, -0.62)}
"""The first example, a positive one, and by sign the second: (beside u, along u), with u "up"."""
REACH = 1.25
"""How far the panels show."""


class Case(NamedTuple):
    """A guess, the example that it is wrong about, and the guess after."""

    u: Array
    v1: Array
    x2: Array
    sign: int

    @property
    def v2(self) -> Array:
        """The guess after the second mistake."""
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

    Parameters
    ----------
    figure : matplotlib.figure.Figure, optional
        Where to draw the six panels; by default a new one.

    Returns
    -------
    tuple of six axes
        By row.

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
    """Draw how the second example is added to the guess, or subtracted."""
    plane(ax, REACH)
    _draw_rules(ax, given)
    _draw_vectors(ax, given, second=True)


def _draw_up(ax: Axes, given: Case) -> None:
    """Draw the guesses with u upright, and the heights that they have to reach."""
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
