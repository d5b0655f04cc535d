"""The plane that rows of many features are seen on: the first two principal directions, or the score and one more."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from linsep.engine.arrays import Array
from linsep.plots.style import percent
from linsep.transforms.base import is_sparse

FEW = 500
"""Dense rows or columns up to which all directions are worked out; of more, only the first two."""


class Plane(NamedTuple):
    """The points centre + a * directions[0] + b * directions[1], for all (a, b); the directions are orthonormal."""

    centre: Array
    directions: Array
    names: tuple[str, str]

    def places(self, X: Any) -> Array:
        """Return the coordinates (a, b) of the point of the plane that is nearest to each row."""
        return np.asarray(X @ self.directions.T) - self.directions @ self.centre

    def points(self, places: Array) -> Array:
        """Return the points of the plane at these coordinates, as rows."""
        return self.centre + places @ self.directions

    def scores(self, coef: Any, intercept: Array, places: Array) -> Array:
        """Return the scores of linear weights there, a column for each row of `coef`."""
        return places @ np.asarray(coef @ self.directions.T).T + (np.asarray(coef @ self.centre) + intercept)


def two_features(names: tuple[str, str]) -> Plane:
    """Return the plane of two features as they are."""
    return Plane(np.zeros(2), np.eye(2), names)


def principal(X: Any) -> Plane:
    """Return the plane through the mean row on which the rows differ most; sparse rows stay sparse."""
    centre, total = _moments(X)
    directions, spread = _directions(X, centre, total)
    shares = [percent(part / total) if total else "0 %" for part in spread]
    names = f"principal direction 1: {shares[0]} of variance", f"direction 2: {shares[1]} of variance"
    return Plane(centre, directions, names)


def along(X: Any, w: Array, b: float) -> Plane:
    """Return a plane of the direction w and of one in which the rows differ most beside it.

    Its centre is the point of the boundary w.x + b = 0 that is nearest to the mean row, so that the first coordinate
    of a row is its distance from the boundary, below 0 on the negative side.
    """
    size = float(np.linalg.norm(w))
    w = w / size
    centre, total = _moments(X)
    directions, _ = _directions(X, centre, total)
    beside = directions - np.outer(directions @ w, w)
    second = beside[np.argmax(np.linalg.norm(beside, axis=1))]
    names = "distance from the boundary", "direction of most variance along it"
    nearest = centre - (w @ centre + b / size) * w
    return Plane(nearest, np.array([w, second / np.linalg.norm(second)]), names)


def _moments(X: Any) -> tuple[Array, float]:
    """Return the mean row, and the sum of the variances of all columns; 0 if rows differ by rounding only."""
    centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    size = float(centre @ centre)
    if is_sparse(X):
        total, doubt = float(np.square(X.data, dtype=np.float64).sum()) / X.shape[0] - size, 1e-12
    else:
        total, doubt = float(np.square(X - centre).sum()) / X.shape[0], 1e-26
    return centre, total if total > doubt * (size + total) else 0.0


def _directions(X: Any, centre: Array, total: float) -> tuple[Array, Array]:
    """Return the first two principal directions and the variance along each."""
    rows, width = X.shape
    if not total:
        return np.eye(2, width), np.zeros(2)
    if is_sparse(X) and min(rows, width) > 3:
        used = np.union1d(X.indices, [0, 1])
        directions, spread = _first_two(X[:, used]) if len(used) > 3 else _all(X[:, used].toarray(), centre[used])
        wide = np.zeros((2, width))
        wide[:, used] = directions
        return wide, spread
    X = X.toarray() if is_sparse(X) else X
    return _all(X, centre) if min(rows, width) <= FEW else _first_two(X)


def _all(X: Array, centre: Array) -> tuple[Array, Array]:
    off = np.vstack([X - centre, np.zeros((2, X.shape[1]))])
    _, sizes, directions = np.linalg.svd(off, full_matrices=False)
    return directions[:2], sizes[:2] ** 2 / len(X)


def _first_two(X: Any) -> tuple[Array, Array]:
    found = PCA(2, svd_solver="arpack", random_state=0).fit(X)
    return found.components_, found.explained_variance_ * (X.shape[0] - 1) / X.shape[0]
