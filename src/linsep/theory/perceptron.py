"""The perceptron of the lecture: locate a misclassified row, correct the weights, repeat."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr
from linsep.validation.inputs import canonical, refuse_bad_entries
from linsep.validation.labels import clean, encode

SELECT = ("first", "worst", "random")


class Corrections(NamedTuple):
    """A run of :func:`locate_and_correct`."""

    coef: Array
    """The weights of the features, w."""
    intercept: float
    """The score of the row 0, b; 0.0 without a bias."""
    rows: Array
    """The row of each correction, in order."""
    separates: bool
    """True if y (w·x + b) > 0 for every row."""


def locate_and_correct(
    X: Any, y: Any, *, select: str = "first", bias: float = 1.0, max_iter: int = 1000, seed: int = 0
) -> Corrections:
    """Locate a row with y (w·x + b) <= 0 and add it, w += y x and b += y bias²; repeat until no row is left.

    At most (R / gamma)² corrections on rows that a unit vector separates with margin gamma, whichever misclassified row
    is located (Novikoff). Each correction scans all rows, so the function is for small data and for teaching;
    :class:`linsep.Perceptron` corrects in one pass after the other.

    Parameters
    ----------
    X : array, sparse matrix or dataframe, (rows, features)
        The rows.
    y : array, (rows,)
        Their labels: two classes, of any type. The larger label is +1.
    select : {"first", "worst", "random"}, default="first"
        The misclassified row to correct: the first, the one of least y (w·x + b), or a random one.
    bias : float, default=1.0
        The constant feature's value; 0 for none.
    max_iter : int, default=1000
        The most corrections.
    seed : int, default=0
        "random": the row of correction k = 0, 1, ... is `default_rng([seed, k]).choice(misclassified)`.

    Returns
    -------
    Corrections

    Examples
    --------
    >>> from linsep.theory import locate_and_correct
    >>> run = locate_and_correct([[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1], bias=0)
    >>> run.coef, run.rows, run.separates
    (array([ 1., -1.]), array([0, 1]), True)
    """
    if select not in SELECT:
        raise ValueError(f"select={select!r} names no row: use 'first', 'worst' or 'random'")
    if not 0 <= bias < np.inf:
        raise ValueError(f"bias={bias} is no value for a constant feature: it must be 0 (none) or more")
    if int(max_iter) != max_iter or max_iter < 1:
        raise ValueError(f"max_iter={max_iter} is no number of corrections: it must be 1 or more")
    data = canonical(BaseEstimator(), X, bias=float(bias), reset=True)
    refuse_bad_entries(data)
    classes, codes = encode(clean(y, data.n_rows))
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes: locate_and_correct takes two; use Perceptron for more")
    signs = np.where(codes == 1, 1.0, -1.0)
    rows: Any = data.to_scipy() if isinstance(data, Csr) else data.values
    weights, constant, located = np.zeros(data.n_features), 0.0, list[int]()
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            margins = signs * (rows @ weights + bias * constant)
        if not np.isfinite(margins).all():
            row = int(np.flatnonzero(~np.isfinite(margins))[0])
            raise ValueError(f"the score of row {row} is too large for float64: divide all of X by one factor")
        wrong = np.flatnonzero(margins <= 0)
        if not len(wrong) or len(located) == max_iter:
            break
        row = _pick(select, margins, wrong, [seed, len(located)])
        x = rows[[row]]
        weights += signs[row] * (x.toarray() if isinstance(data, Csr) else x)[0]
        constant += signs[row] * bias
        located.append(row)
    return Corrections(weights, bias * constant, np.array(located, np.intp), not len(wrong))


def _pick(select: str, margins: Array, wrong: Array, seed: list[int]) -> int:
    """Return the misclassified row to correct."""
    if select == "random":
        return int(np.random.default_rng(seed).choice(wrong))
    return int(wrong[0] if select == "first" else np.argmin(margins))
