"""The figure of note 001: the 0-1 loss and losses that can be minimised."""

import numpy as np
from matplotlib.axes import Axes

from linsep.plots import style
from linsep.plots.notes.drawing import axes_of

REACH = 3.0
"""The largest margin that is drawn."""


def losses(*, ax: Axes | None = None) -> Axes:
    """Draw the 0-1 loss, the logistic loss ln(1 + e^-z), the same by ln 2, and the hinge, of the margin z (note 001).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> [line.get_label() for line in losses(ax=Figure().add_subplot()).lines]
    ['0-1', 'logistic', 'logistic / ln 2', 'hinge']
    """
    ax = axes_of(ax, "losses")
    z = np.linspace(-REACH, REACH, 601)
    logistic = np.logaddexp(0, -z)
    wrong, right = np.array([-REACH, 0.0]), np.array([0.0, REACH])
    ax.plot([*wrong, np.nan, *right], [1, 1, np.nan, 0, 0], color=style.ink(), linewidth=2.4, zorder=4, label="0-1",
            solid_capstyle="butt")  # fmt: skip
    ax.plot(z, logistic, color=style.colour_of(0), linewidth=2.2, zorder=3, label="logistic")
    ax.plot(z, logistic / np.log(2), color=style.colour_of(0), linewidth=1.4, linestyle="--", zorder=3,
            label="logistic / ln 2")  # fmt: skip
    ax.plot(z, np.maximum(0, 1 - z), color=style.colour_of(1), linewidth=1.2, alpha=0.7, zorder=2, label="hinge")
    ax.scatter([0], [1], s=34, color=style.ink(), zorder=5)
    ax.scatter([0], [0], s=34, facecolor=style.paper(), edgecolor=style.ink(), zorder=5, clip_on=False)
    names = ["0-1: 1 where z ≤ 0", "logistic: ln(1 + e^(−z))", "logistic / ln 2", "hinge: (1 − z)₊"]
    style.legend(ax, ax.lines[:4], names, loc="upper right", bbox_to_anchor=(1.0, 1.0), labelspacing=0.5)
    ax.set(xlim=(-REACH, REACH), ylim=(-0.08, 4))
    style.name_axes(ax, "margin z = y w·x", "loss")
    return ax
