"""The demo's picture: the perceptron's boundary on its way between two kinds of iris."""

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from linsep.core.examples import Array
from linsep.learners.perceptron import Perceptron
from linsep.plots.boundary import boundary_path, figure_size

FEATURES = ["sepal width (cm)", "petal width (cm)"]
ORDER = 15
"""The seed of an order of the rows in which the boundary swings for a while; with others it may settle at once."""


def two_irises() -> tuple[Array, Array]:
    """Return two widths of setosa and versicolor, and their names."""
    iris = load_iris()
    chosen = iris.target < 2
    columns = [iris.feature_names.index(name) for name in FEATURES]
    return iris.data[chosen][:, columns], iris.target_names[iris.target[chosen]]


def draw_boundary(out: Path) -> list[Path]:
    """Train a perceptron, draw its boundary's way, and return the files written."""
    X, y = two_irises()
    clf = Perceptron(random_state=ORDER, max_iter=100).fit(X, y)
    figure = Figure(figsize=figure_size(X), layout="constrained")
    boundary_path(clf, X, y, feature_names=FEATURES, ax=figure.add_subplot())
    files = [out / "boundary.png", out / "boundary.svg"]
    with matplotlib.rc_context({"svg.hashsalt": "linsep"}):
        figure.savefig(files[0], dpi=160)
        figure.savefig(files[1], metadata={"Date": None})
    return files
