"""Replay a run from its log."""

from typing import Any

import numpy as np

from linsep.engine.arrays import Array
from linsep.estimators.base.online import OnlineLearner
from linsep.transforms.base import is_sparse


def dense(X: Any) -> Array:
    """Return rows as a dense array of float64."""
    return np.asarray(X.toarray() if is_sparse(X) else X, np.float64)


def replay(clf: OnlineLearner, X: Any, y: Any) -> Array:
    """Return the weights before the first update and after each one, (updates + 1, features + 1), the bias last.

    They are summed up from `log_` alone: s = keep * s + amount * x, update by update.

    Parameters
    ----------
    clf : a fitted learner of two classes
        With additive weights, the last of which predict, and a full log from the start of its training; not one that
        has mixed shards.
    X : array or sparse matrix, (rows, features)
        The rows that it was fitted on.
    y : array, (rows,)
        Their labels.

    Returns
    -------
    array, (updates + 1, features + 1)
        The last row is `coef_` and `intercept_`.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [1, 2]], [-1, 1, 1, -1]
    >>> replay(Perceptron(shuffle=False).fit(X, y), X, y)
    array([[ 0.,  0.,  0.],
           [ 0., -1., -1.],
           [ 1., -1.,  0.]])
    """
    X, y = dense(X), np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)} labels")
    if len(clf.classes_) != 2:
        raise ValueError(f"only a run on two classes is played again; this one had {len(clf.classes_)}")
    mixed = clf._fitted().mixed
    if mixed is not None and (mixed.numbers[:, 1] > 0).any():
        raise ValueError(
            f"this {type(clf).__name__} has mixed shards (shards={clf.shards}): its weights went no single way that "
            "could be played again; fit it with shards=None"
        )
    log, beta = clf.log_, clf._bias
    if len(log) and log.rows.max() >= len(X):
        raise ValueError(f"the log names row {log.rows.max()}, but X has {len(X)} rows: pass the X of fit")
    signs = np.where(y[log.rows] == clf.classes_[1], 1.0, -1.0)
    amounts = signs if log.amounts is None else log.amounts
    keeps = np.ones(len(log)) if log.keeps is None else log.keeps
    rows = np.column_stack([X[log.rows], np.full(len(log), beta)])
    path = np.zeros((len(log) + 1, X.shape[1] + 1))
    for k in range(len(log)):
        path[k + 1] = keeps[k] * path[k] + amounts[k] * rows[k]
    path[:, -1] *= beta
    if not np.allclose(path[-1], [*dense(clf.coef_)[0], *clf.intercept_], rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"the log of this {type(clf).__name__} does not lead to its coef_: X and y are not those of fit, or the "
            "weights that answer are not the sum of the updates (an average, or exponential, sinh or p-norm weights)"
        )
    return path
