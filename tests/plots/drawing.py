"""A place to draw on that nobody has to close, and what was drawn there."""

import io
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure


def place(width=7.2, height=4.0):
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def title(ax):
    return ax.get_title(loc="left")


def written(ax):
    """Every text of a picture."""
    texts = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]
    texts += [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    texts += in_legend(ax) if ax.get_legend() else []
    return [text.replace("\n", " ") for text in texts]


def in_legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def svg(ax):
    file = io.StringIO()
    ax.figure.savefig(file, format="svg", transparent=True)
    return file.getvalue()


def overlapping_ticks(ax):
    """Pairs of labels along the x axis that touch each other."""
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    labels = [(tick.label1.get_window_extent(), tick.label1.get_text()) for tick in ax.xaxis.get_major_ticks()
              if low <= tick.get_loc() <= high and tick.label1.get_text()]  # fmt: skip
    labels.sort(key=lambda label: label[0].x0)
    return [(one[1], other[1]) for one, other in pairwise(labels) if one[0].x1 >= other[0].x0]


def overhang(ax):
    """By how many inches the picture, once laid out, is larger than its figure."""
    ax.figure.draw_without_rendering()
    box, size = ax.get_tightbbox(), ax.figure.get_size_inches() * ax.figure.dpi
    return np.max([-box.x0, -box.y0, box.x1 - size[0], box.y1 - size[1]]) / ax.figure.dpi
