"""The demo's own pictures: the perceptron's boundary on its way between two kinds of iris, and digits."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris

from linsep.engine.arrays import Array
from linsep.estimators.perceptron import Perceptron
from linsep.plots import style
from linsep.plots.boundary import boundary_path, figure_size

FEATURES = ["sepal width (cm)", "petal width (cm)"]
ORDER = 15
"""The seed of an order of the rows in which the boundary swings for a while; with others it may settle at once."""
ACROSS, UP = 9, 10
"""Pixels from one digit to the next: 8 of its own, and room between, above for a title."""
HEADING = 0.3
"""Inches of the heading."""


def two_irises() -> tuple[Array, Array]:
    """Return two widths of setosa and versicolor, and their names."""
    iris = load_iris()
    chosen = iris.target < 2
    columns = [iris.feature_names.index(name) for name in FEATURES]
    return iris.data[chosen][:, columns], iris.target_names[iris.target[chosen]]


def boundary() -> Figure:
    """Train a perceptron and draw its boundary's way."""
    X, y = two_irises()
    clf = Perceptron(random_state=ORDER, max_iter=100).fit(X, y)
    figure = Figure(figsize=figure_size(X), layout="constrained")
    boundary_path(clf, X, y, feature_names=FEATURES, ax=figure.add_subplot())
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it is laid out once, though saved several times
    return figure


def save_boundary(figure: Figure, out: Path) -> list[Path]:
    """Save the picture of the boundary, and return the files written."""
    files = [out / "boundary.png", out / "boundary.svg"]
    with matplotlib.rc_context({"svg.hashsalt": "linsep"}):
        figure.savefig(files[0], dpi=160)
        figure.savefig(files[1], metadata={"Date": None})
    return files


def digits(rows: Array, titles: Sequence[str], heading: str) -> Figure:
    """Draw rows of 64 shades from 0, paper, to 1, ink."""
    return _grid(rows, titles, heading, 4, _colours([(0, style.INK, 0), (1, style.INK, 1)]), (0.0, 1.0))


def digit_weights(weights: Array, titles: Sequence[str], heading: str) -> Figure:
    """Draw rows of 64 weights: those above 0 in the colour of right answers, those below in that of wrong ones."""
    shades = [(0, style.WRONG, 1), (0.5, style.WRONG, 0), (0.5, style.RIGHT, 0), (1, style.RIGHT, 1)]
    reach = float(np.abs(weights).max()) or 1.0
    return _grid(weights, titles, heading, 5, _colours(shades), (-reach, reach))


def _colours(shades: Sequence[tuple[float, str, float]]) -> LinearSegmentedColormap:
    """Return colours by place, colour and opacity: where there is none the page is seen, light or dark."""
    return LinearSegmentedColormap.from_list("shades", [(place, to_rgba(c, opacity)) for place, c, opacity in shades])


def _grid(
    rows: Array,
    titles: Sequence[str],
    heading: str,
    across: int,
    colours: LinearSegmentedColormap,
    span: tuple[float, float],
) -> Figure:
    """Draw pictures of 8 x 8 pixels as one image, titles above each: many axes would take long."""
    lines = -(-len(rows) // across)
    image = np.full((UP * lines, ACROSS * across - 1), np.nan)
    pixel = 5.1 / image.shape[1]
    height = HEADING + pixel * len(image)
    figure = Figure(figsize=(5.2, height))
    figure.text(0.01, 1.0, heading, va="top", fontsize=12, color=style.ink())
    ax = figure.add_axes((0.01, 0.0, 0.98, 1 - HEADING / height))
    ax.set_axis_off()
    for k, (row, title) in enumerate(zip(rows, titles, strict=True)):
        top, left = UP * (k // across) + UP - 8, ACROSS * (k % across)
        image[top : top + 8, left : left + 8] = row.reshape(8, 8)
        ax.add_patch(Rectangle((left, top), 8, 8, fill=False, color=style.ink(), alpha=0.15, linewidth=0.8))
        ax.text(left + 4, top - 0.4, title, ha="center", fontsize=style.SMALL, color=style.ink())
    extent = (0, image.shape[1], len(image), 0)
    ax.imshow(image, cmap=colours, vmin=span[0], vmax=span[1], interpolation="none", extent=extent)
    return figure
