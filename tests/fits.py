"""Fitting a learner for a comparison: full log, no talk about convergence, and how its weights compare."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning


def fit(learner, X, y, **more):
    """Fit; a run that max_iter ends early, or that only ever says +1, compares as well as any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Winnow without a bias")
        return learner.fit(X, y, **more)


def weights(learner):
    """Coefficients and, if there is one, the bias feature's weight, last; beyond two classes a row each."""
    W = learner.coef_
    if learner.fit_intercept:
        W = np.column_stack([W, np.ravel(learner.intercept_) / learner._bias])
    return W[0] if len(W) == 1 else W


def logged(learner):
    """The (round, row) of each update."""
    return list(zip(learner.log_.rounds.tolist(), learner.log_.rows.tolist(), strict=True))


def steps(learner, y):
    """The (keep, amount) of each update; a rule whose step is +-1 logs neither."""
    log = learner.log_
    amounts = y[log.rows] if log.amounts is None else log.amounts
    keeps = np.ones(len(log.rows)) if log.keeps is None else log.keeps
    return list(zip(keeps.tolist(), amounts.tolist(), strict=True))


def replay(learner, X, y):
    """Yield (w, x, label) at each round of the run: w the weights before it, rebuilt from the log alone.

    The last thing yielded is the final w with None, None.
    """
    done = dict(zip(learner.log_.rounds.tolist(), zip(learner.log_.rows, steps(learner, y), strict=True), strict=True))
    w = np.zeros(X.shape[1])
    for t, i in enumerate(learner_order(learner, len(X)), start=1):
        yield w, X[i], y[i]
        if t in done:
            row, (keep, amount) = done[t]
            assert row == i
            w = keep * w + amount * X[i]
    yield w, None, None


def learner_order(learner, n):
    """The rows of a fit in order: the file's, or a permutation for each epoch."""
    if learner.shuffle is False:
        return np.tile(np.arange(n), learner.n_iter_)
    return np.concatenate([np.random.default_rng([learner.seed_, e]).permutation(n) for e in range(learner.n_iter_)])


def close(actual, expected, tolerance=1e-12):
    """Equal to `tolerance`, relative to the largest weight."""
    scale = max(float(np.max(np.abs(expected), initial=0.0)), 1e-300)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def squares(v):
    """||v||²."""
    return float(np.sum(np.square(v)))


def radius2(X):
    """R², R being the length of the longest row."""
    return max(map(squares, X))


def norm(v, p):
    """||v||_p."""
    return float(np.linalg.norm(v, p))
