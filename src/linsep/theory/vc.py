"""The VC dimension of halfspaces with its witnesses: points that are shattered, and why more points never are.

w·x > 0 in R^p shatters p points and no p+1; w·x + b > 0 shatters p+1 and no p+2. Cover's count states how many of the
2^n labellings of n points remain. All numbers are integers or Fractions.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.solvers.exact.dependencies import dependency
from linsep.solvers.exact.linear_systems import MOST_ROWS
from linsep.theory.bounds import check_counts

MOST_POINTS = 16
"""All labellings are listed of so many points at most: 65,536."""


def vc_dimension(p: int, affine: bool = False) -> int:
    """Return the VC dimension of halfspaces in R^p: p through the origin, p+1 with a bias.

    >>> vc_dimension(3), vc_dimension(3, affine=True)
    (3, 4)
    """
    check_counts(p=p)
    return p + bool(affine)


class Shattered(NamedTuple):
    """Points of which every labelling is realised."""

    points: Array
    """(points, features), integers."""
    affine: bool

    def labellings(self) -> Array:
        """Return all 2^n labellings of the points, -1 or +1, one a row: n is 16 at most."""
        n = len(self.points)
        if n > MOST_POINTS:
            raise ValueError(f"{n} points have 2^{n} labellings, too many to list: pass some of them to `separators`")
        return 2 * (np.arange(1 << n)[:, None] >> np.arange(n) & 1) - 1

    def separators(self, labels: Any = None) -> tuple[Array, Array]:
        """Return integers w (labellings, features) and b (labellings,) with y_i (w·x_i + b) >= 1 at each point i.

        On e_1..e_p, w = y and b = 0. On 0, e_1..e_p, w_i = 2 y_i and b = y_0: then b has the sign of y_0, and
        2 y_i + y_0 that of y_i.

        Parameters
        ----------
        labels : array, (labellings, points), optional
            Labels -1 or +1, one labelling a row; by default all there are.
        """
        labels = np.asarray(self.labellings() if labels is None else labels)
        if labels.ndim != 2 or labels.shape[1] != len(self.points) or not np.isin(labels, (-1, 1)).all():
            n = len(self.points)
            raise ValueError(f"a labelling has a -1 or +1 for each of {n} points: give one a row, as 2-D")
        labels = labels.astype(np.int64)
        if self.affine:
            return 2 * labels[:, 1:], labels[:, 0]
        return labels, np.zeros(len(labels), np.int64)


def shatter(p: int, affine: bool = False) -> Shattered:
    """Return points of R^p that halfspaces shatter: e_1..e_p; with a bias, 0 as well.

    Examples
    --------
    >>> shattered = shatter(2, affine=True)
    >>> shattered.points.tolist()
    [[0, 0], [1, 0], [0, 1]]
    >>> w, b = shattered.separators([[-1, 1, 1]])
    >>> w.tolist(), b.tolist()
    ([[2, 2]], [-1])
    """
    check_counts(p=p)
    points = np.eye(p, dtype=np.int64)
    return Shattered(np.vstack([np.zeros_like(points[:1]), points]) if affine else points, bool(affine))


class Radon(NamedTuple):
    """Two sets of points that no halfspace separates, by coefficients c_i > 0.

    The sum of c_i x_i is the same over both; with a bias, that of c_i too. A halfspace that has `labelling` right would
    make the difference of the two sums of c_i (w·x_i + b) positive, which is 0.
    """

    positive: list[int]
    """Indices of the one set."""
    negative: list[int]
    """Indices of the other; without a bias it may be empty."""
    coefficients: list[int]
    """c_i of each point, without a common factor; 0 for points in neither set."""
    labelling: list[int]
    """+1 on the one set, -1 on all other points: it is not realised."""

    def point(self, points: Any) -> list[Fraction]:
        """Return what both hulls share, as Fractions: the sum of c_i x_i over the one set, divided by that of c_i."""
        total = sum(self.coefficients[i] for i in self.positive)
        chosen = [(self.coefficients[i], np.asarray(points[i]).tolist()) for i in self.positive]
        columns = zip(*[[c * Fraction(x) for x in row] for c, row in chosen], strict=True)
        return [sum(column, Fraction(0)) / total for column in columns]


def radon(points: Any, affine: bool = True) -> Radon:
    """Return a partition which shows that points are not shattered: any p+2 have one, p+1 without a bias (Radon, 1921).

    Of more points, the first p+2 (p+1) are used. Fewer have a partition only if they are dependent.

    Parameters
    ----------
    points : array, (points, features)
        Floats of any exponent, or integers up to 2^53.
    affine : bool, default=True
        If True, halfspaces have a bias.

    Examples
    --------
    >>> square = [[0, 0], [2, 0], [0, 2], [1, 1]]
    >>> found = radon(square)
    >>> found.positive, found.negative, found.coefficients
    ([1, 2], [3], [0, 1, 1, 2])
    >>> [str(x) for x in found.point(square)]
    ['1', '1']
    """
    X = np.asarray(points)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"points are numbers in a table, not {X.dtype} in {X.ndim} dimensions: give a 2-D float array")
    kind = "affinely" if affine else "linearly"
    enough = X.shape[1] + 1 + bool(affine)
    if min(enough, len(X)) > MOST_ROWS:
        raise ValueError(f"{X.shape[1]} features: a dependency of more than {MOST_ROWS} points is out of reach")
    looked_at = X[:enough]
    rows = np.hstack([looked_at, np.ones((len(looked_at), 1), X.dtype)]) if affine else looked_at
    found = dependency(rows, most_bits=1 << 40)
    if found is None:
        raise ValueError(
            f"{len(X)} points of {X.shape[1]} features are {kind} independent, so that halfspaces shatter them: "
            f"give {enough} points or more"
        )
    signed = found if next(c for c in found if c) > 0 else [-c for c in found]
    signed += [0] * (len(X) - len(signed))
    positive = [i for i, c in enumerate(signed) if c > 0]
    negative = [i for i, c in enumerate(signed) if c < 0]
    return Radon(positive, negative, [abs(c) for c in signed], [1 if c > 0 else -1 for c in signed])


def cover(n: int, p: int) -> int:
    """Return how many labellings of n points in general position halfspaces through the origin of R^p realise.

    2 times the sum of C(n-1, i) over i < p (Cover, 1965): all 2^n while n <= p, and half of them at n = 2p. With a
    bias, p counts one more.

    Examples
    --------
    >>> [cover(n, 3) for n in (1, 2, 3, 4, 5, 6)]
    [2, 4, 8, 14, 22, 32]
    """
    check_counts(n=n, p=p)
    term, total = 1, 0
    for i in range(min(n, p)):
        total += term
        term = term * (n - 1 - i) // (i + 1)
    return 2 * total


def cover_fraction(n: int, p: int) -> Fraction:
    """Return the share of all 2^n labellings that `cover` counts.

    >>> [str(cover_fraction(n, 50)) for n in (50, 100)]
    ['1', '1/2']
    """
    return Fraction(cover(n, p), 1 << n)
