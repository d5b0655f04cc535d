"""Winnow and balanced Winnow: a pass over rows without a mistake, against our perceptron's pass likewise.

Each side learns one pass of the 200,000 x 47,000 rows (labels from a non-negative target with a bias, which
all three can learn) and is then given the labels it would predict itself, so that no row is a mistake. What
is timed is one pass of the engine over these rows in order: no checks of the input, which would make the
sides look more alike than they are. A row holds only if no timed pass made a mistake. "within 1.5 x" is a
ratio of at least 1 / 1.5.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import linsep
from benchmarks import data
from benchmarks.data import Array
from benchmarks.passes import rows_for_engine, run
from benchmarks.timing import Line, Row, race


def target_labels() -> Array:
    """Return 1 for the half of the rows that a random non-negative target scores highest, 0 for the rest."""
    X, _ = data.sparse()
    score = X @ (np.random.default_rng(1).random(X.shape[1]) < 0.2).astype(np.float64)
    return np.asarray(score > np.median(score), np.int32)


def trained(learner: Any) -> tuple[Any, Array]:
    """Return a learner after one epoch and the labels it then predicts."""
    X, _ = data.sparse()
    learner.set_params(max_iter=1, shuffle=False).fit(X, target_labels())
    return learner, learner.predict(X)


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    rows = rows_for_engine(data.sparse()[0])
    perceptron, predicted = trained(linsep.Perceptron())
    for name, winnow in (("Winnow", linsep.Winnow()), ("balanced Winnow", linsep.BalancedWinnow())):
        _, codes = trained(winnow)
        before = winnow.mistakes_, perceptron.mistakes_
        result = race(
            partial(run, winnow._state, rows, codes),
            partial(run, perceptron._state, rows, predicted),
            repeats,
        )
        made = winnow.mistakes_ - before[0], perceptron.mistakes_ - before[1]
        note = f"{made[0]} and {made[1]} mistakes while timed; {before[0]:,} in training"
        yield Row(f"{name}, a pass", "our perceptron's pass", result.ours, result.peer, 1 / 1.5, note, not any(made))
