"""Ten epochs over dense narrow rows of many classes, averaged: generated rows of five shapes.

Each row times `fit` on both sides: the same float64 array, ten epochs, each in a new random order, an intercept, one
class against the rest, one thread. The peer is scikit-learn's SGDClassifier(loss="perceptron", average=True). Labels
are the highest of noisy linear scores. Notes show the errors on new rows, ours first. A row holds only if ours is at
most 0.3 points above the peer's.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import SGDClassifier

import linsep
from benchmarks.timing import Line, Row, race

EPOCHS, GOAL, TESTED = 10, 8.0, 5_000
SHAPES = ((16_000, 16, 26), (6_000, 36, 6), (50_000, 9, 7), (6_000, 64, 10), (200_000, 54, 7))
"""Rows, features and classes."""


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    rng = np.random.default_rng(0)
    for n, d, classes in SHAPES:
        X = rng.normal(size=(n + TESTED, d))
        scores = X @ rng.normal(size=(d, classes))
        y = np.argmax(scores + rng.normal(size=scores.shape), axis=1)
        ours = linsep.AveragedPerceptron(max_iter=EPOCHS, multi_class="ovr", random_state=0)
        peer = SGDClassifier(
            loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True,
            max_iter=EPOCHS, tol=None, random_state=0,
        )  # fmt: skip
        train, test = slice(n), slice(n, None)
        result = race(
            lambda X=X[train], y=y[train], clf=ours: clf.fit(X, y),
            lambda X=X[train], y=y[train], clf=peer: clf.fit(X, y),
            repeats,
        )
        our_error, peer_error = (
            100 * (1 - model.score(X[test], y[test])) for model in (result.our_result, result.peer_result)
        )
        yield Row(
            f"{n:,} x {d}, {classes} classes, averaged, {EPOCHS} epochs",
            "SGDClassifier(perceptron, average=True)",
            result.ours,
            result.peer,
            GOAL,
            note=f"test error {our_error:.2f} %, peer {peer_error:.2f} %",
            holds=our_error <= peer_error + 0.3,
        )
