"""Does logistic regression have an optimum? Not if a direction that no prior holds makes some row better, none worse.

Three kinds of such directions are looked for: a feature alone (one that is seen with one class only, say), weights that
separate all rows, and, in :mod:`linsep.solvers.logistic.directions`, a step of the search itself.
"""

import numpy as np

from linsep.core.arrays import Array
from linsep.core.examples import Csr, Dense
from linsep.solvers.logistic.objective import Logistic, Look
from linsep.solvers.products import features_of, rows_of

ENTRIES = 1 << 18
"""Entries that are looked at in one go."""


def endless(problem: Logistic) -> int | None:
    """Return a feature whose weight grows forever in some column, as no entry speaks against it, or None.

    `features` stands for the constant feature, as for one column whose rows are all of one side.
    """
    features = features_of(problem.data)
    for positive in problem.positives:
        signs = np.where(problem.codes == positive, 1, -1)
        if len(problem.row_weights):
            signs = np.where(problem.row_weights > 0, signs, 0)
        if _unheld(problem, -1) and problem.data.bias != 0.0 and (signs > 0).any() != (signs < 0).any():
            return features
        if features and _unheld(problem, 0):
            pro, contra = _votes(problem.data, signs)
            found = np.flatnonzero((pro > 0) != (contra > 0))
            if len(found):
                return int(found[np.argmax((pro + contra)[found])])
    return None


def separated(problem: Logistic, seen: Look, scores: Array) -> Array:
    """Tell for each group whether these weights, which no prior holds, separate its rows: they grow forever then."""
    if problem.penalty.any():
        return np.zeros_like(seen.margin, bool)
    return seen.margin > 1e-12 * np.abs(scores).max(initial=0.0)


def heaviest(weights: Array) -> int:
    """Return the feature of the largest weight, in any column; the constant one only if no other has a weight."""
    sizes = np.abs(weights).max(axis=1)
    return int(np.argmax(sizes[:-1])) if sizes[:-1].any() else len(sizes) - 1


def _unheld(problem: Logistic, weight: int) -> bool:
    return bool(problem.penalty[weight, 0] == 0.0)


def _votes(data: Dense | Csr, signs: Array) -> tuple[Array, Array]:
    """Count for each feature the entries with the sign of their row, and those with the other."""
    features, rows = features_of(data), rows_of(data)
    pro, contra = np.zeros(features, np.int64), np.zeros(features, np.int64)
    if isinstance(data, Dense):
        height = max(1, ENTRIES // features)
        for lo in range(0, rows, height):
            votes = np.sign(data.values[lo : lo + height]) * signs[lo : lo + height, None]
            pro += (votes > 0).sum(axis=0)
            contra += (votes < 0).sum(axis=0)
        return pro, contra
    for lo in range(0, len(data.values), ENTRIES):
        hi = min(lo + ENTRIES, len(data.values))
        first = int(np.searchsorted(data.indptr, lo, side="right")) - 1
        last = int(np.searchsorted(data.indptr, hi, side="left"))
        lengths = np.diff(np.clip(data.indptr[first : last + 1], lo, hi))
        votes = np.sign(data.values[lo:hi]) * np.repeat(signs[first:last], lengths)
        pro += np.bincount(data.indices[lo:hi][votes > 0], minlength=features)
        contra += np.bincount(data.indices[lo:hi][votes < 0], minlength=features)
    return pro, contra
