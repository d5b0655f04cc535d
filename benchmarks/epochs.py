"""One epoch over 200,000 x 47,000 sparse rows: in order, shuffled, shuffled by blocks, averaged.

Each row times `fit` on both sides, checks of the input and of the labels included, on the same CSR arrays
of float32 with int32 indices and integer labels ±1, one epoch, an intercept, no penalty. linsep keeps its
log of updates, as it does unless told otherwise. The peer is scikit-learn's Perceptron (SGDClassifier with
the perceptron loss for the average), seeded, with tol=None so that it neither computes nor compares a loss
to stop by.

A row holds only if our mistakes and weights are those of a plain numpy loop over all rows in the same
order (that of blocks is held by a test). scikit-learn does not count mistakes, and on sparse data learns its
intercept at a hundredth of the rate: the same amount of work a row, though not the same number of updates.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as PeerPerceptron
from sklearn.linear_model import SGDClassifier

import linsep
from benchmarks import data
from benchmarks.data import Array
from benchmarks.reference import Epoch, perceptron_epoch
from benchmarks.timing import Line, Race, Row, race

SEED = 0


def order_of(n: int, shuffle: bool) -> Array:
    """Return the documented order of the first epoch."""
    return np.random.default_rng([SEED, 0]).permutation(n) if shuffle else np.arange(n)


def agrees(model: Any, weights: Array, mistakes: int) -> bool:
    """Tell whether a model made these mistakes and ended with these weights."""
    ours = np.append(model.coef_.ravel(), model.intercept_)
    return int(model.mistakes_) == mistakes and np.allclose(ours, weights, rtol=1e-9, atol=1e-9)


def against(peer: Any, ours: Any, repeats: int) -> Race[Any, Any]:
    """Race `fit` of our learner against the peer's."""
    X, y = data.sparse()
    return race(partial(ours.fit, X, y), partial(peer.fit, X, y), repeats)


def peer_of(shuffle: bool) -> Any:
    """Return scikit-learn's perceptron for one epoch."""
    return PeerPerceptron(max_iter=1, tol=None, shuffle=shuffle, random_state=SEED)


def in_order_and_shuffled(repeats: int, epochs: dict[bool, Epoch]) -> Iterator[Row]:
    """Time the perceptron in file order and in a uniformly random one."""
    for shuffle, goal in ((False, 2.0), (True, 2.8)):
        result = against(
            peer_of(shuffle),
            linsep.Perceptron(max_iter=1, shuffle=shuffle, random_state=SEED, intercept_scaling=1.0),
            repeats,
        )
        plain = epochs[shuffle]
        yield Row(
            f"one epoch, {'random order' if shuffle else 'in order'}",
            f"scikit-learn Perceptron, shuffle={shuffle}",
            result.ours,
            result.peer,
            goal,
            note=f"{result.our_result.mistakes_:,} mistakes, reference {plain.mistakes:,}",
            holds=agrees(result.our_result, plain.last, plain.mistakes),
        )


def by_blocks(repeats: int) -> Row:
    """Time an order that is random by blocks of 64 rows."""
    ours = linsep.Perceptron(max_iter=1, shuffle="blocks", random_state=SEED, intercept_scaling=1.0)
    result = against(peer_of(True), ours, repeats)
    note = f"{result.our_result.mistakes_:,} mistakes"
    peer = "scikit-learn Perceptron, shuffle=True"
    return Row("one epoch, random by blocks", peer, result.ours, result.peer, 5.0, note)


def averaged(repeats: int, plain: Epoch) -> Row:
    """Time the averaged perceptron in file order."""
    peer = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=1.0, average=True,
        max_iter=1, tol=None, shuffle=False, random_state=SEED,
    )  # fmt: skip
    result = against(peer, linsep.AveragedPerceptron(max_iter=1, shuffle=False, intercept_scaling=1.0), repeats)
    return Row(
        "one epoch, averaged, in order",
        "SGDClassifier(perceptron, average=True)",
        result.ours,
        result.peer,
        2.0,
        note=f"{result.our_result.mistakes_:,} mistakes, reference {plain.mistakes:,}",
        holds=agrees(result.our_result, plain.average, plain.mistakes),
    )


def lines(repeats: int) -> Iterator[Line]:
    """Yield the rows of this group."""
    X, y = data.sparse()
    epochs = {shuffle: perceptron_epoch(X, y, order_of(X.shape[0], shuffle)) for shuffle in (False, True)}
    yield from in_order_and_shuffled(repeats, epochs)
    yield by_blocks(repeats)
    yield averaged(repeats, epochs[False])
