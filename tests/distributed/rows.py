"""Small files of rows that no line separates, and what is the same of two learners."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linsep import distributed

ROWS, FEATURES = 120, 6


def problem(classes=2, seed=3):
    """Rows of small whole numbers, none of them 0 everywhere, and labels -1 and +1, or from 0 on."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (ROWS, FEATURES))
    X[:, 0] += X[:, 0] == 0
    scores = X @ rng.normal(size=(FEATURES, classes)) + 2 * rng.normal(size=(ROWS, classes))
    codes = scores.argmax(axis=1)
    return X, 2 * codes - 1 if classes == 2 else codes


def lines_of(X, y):
    """Lines of svmlight text."""
    entries = [" ".join(f"{j}:{x}" for j, x in enumerate(row, 1) if x) for row in X]
    return [f"{label:+d} {entry}\n" for label, entry in zip(y, entries, strict=True)]


def write(path, X, y):
    """Write rows as svmlight text, and return the path."""
    path.write_text("".join(lines_of(X, y)))
    return path


def fit(learner, source, **more):
    """Fit by threads or workers; a run that ends early is as good as any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Winnow without a bias")
        return distributed.fit(learner, source, **more)


def bits(learner):
    """All that a learner has become, to the last bit."""
    told = learner.mixes_
    arrays = [learner.coef_, learner.intercept_, learner.mistakes_, learner.updates_, learner.classes_, learner.seed_]
    arrays += [told.epochs, told.shards, told.rows, told.mistakes, told.weights, learner.n_iter_, learner.t_]
    if learner.log is True:
        arrays += [learner.log_.rounds, learner.log_.rows]
    return [np.asarray(array).tobytes() for array in arrays]
