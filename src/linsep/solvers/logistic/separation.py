"""Detect data for which logistic regression has no finite optimum.

A step found by a search is such a direction nearly: rows that it should leave alone move a little the wrong way. It is
turned until these stand still, by least squares; then no row may move the wrong way by more than its own rounding.

Three kinds of such directions are tried: a feature alone (such as one that occurs with one class only), weights that
separate all rows, and a step of the search itself.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from linsep.engine.arrays import Array
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.logistic.objective import LogisticProblem, LossTerms
from linsep.solvers.products import pieces, times, times_transposed

NEARLY = 1e-6
"""Largest move of a row to the wrong side for which a step is examined, relative to the farthest move."""
ROUNDING = 1e-12
"""Largest move of a row to the wrong side after turning the step, relative to |x|.|step|."""
CLEARLY = 1e-9
"""Least move of some row to the right side, relative to |x|.|step|."""
TURNS, PRODUCTS = 3, 200
"""Number of turns of the step, and the products with the data that one turn may take."""
ENTRIES = 1 << 18
"""Entries per block."""


def runs_off(problem: LogisticProblem, step: Array, moves: Array) -> Array:
    """Return for each group whether a step, whose scores are `moves`, shows a direction that never ends.

    >>> from linsep.solvers.logistic.objective import problem_of
    >>> table = Dense(np.array([[1e8], [1.0], [-1.0]]), bias=0.0)
    >>> for codes in ([1, 1, 0], [1, 1, 1]):
    ...     problem = problem_of(table, np.array(codes), np.empty(0), classes=2, prior_variance=None)
    ...     print(runs_off(problem, np.array([[1.0], [0.0]]), table.values))
    [ True]
    [False]
    """
    ahead = _leads(problem, moves)
    best = _most(problem, ahead)
    maybe = (best > 0) & (_most(problem, -ahead) <= NEARLY * best)
    if not maybe.any():
        return maybe
    way = np.where(maybe, step, 0.0)
    reach = _reach(problem, way)
    wrong = worse = maybe & (ahead < -ROUNDING * reach)
    for _ in range(TURNS):
        if not worse.any():
            break
        way = _turned(problem, way, wrong, reach)
        ahead = _leads(problem, times(problem.data, way, problem.jobs))
        worse = ahead < -ROUNDING * reach
        wrong = wrong | worse
    better = ahead > CLEARLY * reach
    return maybe & (_most(problem, better) > 0) & (_most(problem, worse) == 0)


def _leads(problem: LogisticProblem, moves: Array) -> Array:
    """Return how far each row moves the right way in each column, or ahead of each rival; 0 where it does not count."""
    targets = problem.targets()
    leads = moves[targets][:, None] - moves if problem.multinomial else np.where(targets, moves, -moves)
    return np.where(problem.row_weights[:, None] > 0, leads, 0.0) if len(problem.row_weights) else leads


def _most(problem: LogisticProblem, table: Array) -> Array:
    """Return the largest entry of each group, 0 at least."""
    most = table.max(axis=0, initial=0)
    return most.max(keepdims=True) if problem.multinomial else most


def _turned(problem: LogisticProblem, way: Array, wrong: Array, reach: Array) -> Array:
    """Return the direction with the least change, each weight relative to itself, that moves no `wrong` row."""
    scale = np.where(wrong, 1.0 / np.where(wrong, reach, 1.0), 0.0)
    targets = problem.targets()

    def ahead(shares: Array) -> Array:
        scores = times(problem.data, shares.reshape(way.shape) * way, problem.jobs)
        return (scale * _leads(problem, scores)).ravel()

    def back(sizes: Array) -> Array:
        pulls = scale * sizes.reshape(scale.shape)
        own = pulls.sum(axis=1, keepdims=True) if problem.multinomial else pulls
        return (times_transposed(problem.data, np.where(targets, own, -pulls), problem.jobs) * way).ravel()

    products = LinearOperator((wrong.size, way.size), matvec=ahead, rmatvec=back, dtype=np.float64)
    change = lsmr(products, ahead(np.ones(way.shape)), atol=1e-15, btol=1e-12, conlim=0, maxiter=PRODUCTS)[0]
    return way * (1.0 - change.reshape(way.shape))


def _reach(problem: LogisticProblem, way: Array) -> Array:
    """Return |x|.|way| for each row and column (multinomial: both columns of a lead): the scale of their rounding."""
    size = np.abs(way)
    parts = (part._replace(values=np.abs(part.values), bias=abs(part.bias)) for _, part in _pieces(problem.data))
    reach = np.concatenate([times(part, size) for part in parts])
    return reach[problem.targets()][:, None] + reach if problem.multinomial else reach


def endless(problem: LogisticProblem) -> int | None:
    """Return a feature whose weight grows forever in some column, as no entry speaks against it, or None.

    `features` represents the constant feature, as for one column whose rows are all of one side.
    """
    features = problem.data.n_features
    for positive in problem.positives:
        signs = np.where(problem.codes == positive, 1, -1)
        if len(problem.row_weights):
            signs = np.where(problem.row_weights > 0, signs, 0)
        if _unheld(problem, -1) and problem.data.bias != 0.0 and (signs > 0).any() != (signs < 0).any():
            return features
        if features and _unheld(problem, 0):
            one_sided = _one_sided(problem.data, signs)
            if one_sided.any():
                return int(np.argmax(one_sided))
    return None


def separated(problem: LogisticProblem, seen: LossTerms, scores: Array) -> Array:
    """Return for each group whether these weights, which no prior holds, separate its rows: they grow forever then."""
    if problem.penalty.any():
        return np.zeros_like(seen.margin, bool)
    return seen.margin > 1e-12 * np.abs(scores).max(initial=0.0)


def heaviest(weights: Array) -> int:
    """Return the feature of the largest weight, in any column; the constant one only if no other has a weight."""
    sizes = np.abs(weights).max(axis=1)
    return int(np.argmax(sizes[:-1])) if sizes[:-1].any() else len(sizes) - 1


def _unheld(problem: LogisticProblem, weight: int) -> bool:
    return bool(problem.penalty[weight, 0] == 0.0)


def _one_sided(data: Dense | Csr, signs: Array) -> Array:
    """Count each feature's entries if all, or none, have the sign of their row; else the feature has 0."""
    net, total = np.zeros((2, data.n_features))
    for rows, piece in _pieces(data):
        part, y = piece._replace(values=np.sign(piece.values), bias=0.0), signs[rows, None]
        net += times_transposed(part, y)[:-1, 0]
        total += times_transposed(part._replace(values=np.abs(part.values)), np.abs(y))[:-1, 0]
    return np.where(np.abs(net) == total, total, 0.0)


def _pieces(data: Dense | Csr) -> Iterator[tuple[slice, Dense | Csr]]:
    """Yield the rows, about `ENTRIES` entries at a time, with their places."""
    return pieces(data, ENTRIES * data.n_rows // max(1, data.values.size))
