"""Perceptron against Winnow: the majority of a few relevant features among many that mean nothing.

A row x is drawn from {-1, +1}^N and labelled y = sign(x_1 + ... + x_k), k odd. The target u, 1/k at each of those, has
the margin delta = 1/k in Winnow's sense, and 1/sqrt(k) for rows of length sqrt(N) in the perceptron's:

    perceptron: at most (R / gamma)² = k N mistakes,    Winnow at its best rate: at most ln N / L* <= 2 k² ln N,

and 2 k² ln N is the smaller of the two if and only if k < N / (2 ln N).

Both learners see the same rows, which are drawn as they are needed and never kept. Row t is made of the words of
SplitMix64 (Steele, Lea and Flood, 2014), 64 signs a word, the lowest bit first: 1 is +1, 0 is -1.
"""

from math import log
from operator import index
from typing import NamedTuple

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.multimethods import inlined
from linsep.engine.tiers import tiered
from linsep.theory.bounds import fall

WORD = 64
STEP, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Increment and multipliers of SplitMix64."""
MOST_ROUNDS = 2**31 - 1


class Versus(NamedTuple):
    """Mistakes of both learners on the same rows, and the bounds of their theorems."""

    features: int
    relevant: int
    rounds: int
    perceptron_rounds: Array
    """The rounds, from 1, in which the perceptron erred."""
    winnow_rounds: Array
    perceptron_bound: float
    """k N."""
    winnow_bound: float
    """ln N / L*, which is at most 2 k² ln N."""

    @property
    def perceptron(self) -> int:
        """The perceptron's mistakes."""
        return len(self.perceptron_rounds)

    @property
    def winnow(self) -> int:
        """Winnow's mistakes."""
        return len(self.winnow_rounds)


def versus(features: int, relevant: int = 5, rounds: int = 20_000, seed: int = 0) -> Versus:
    """Let the perceptron and Winnow learn the majority of a few features, on the same random rows.

    Neither has a bias. A mistake is y (w·x) <= 0. Winnow has its best rate for the margin 1/k, which makes
    e^{2 eta} = (k + 1) / (k - 1); with k = 1 it drops every feature that has ever disagreed, which is halving.

    Parameters
    ----------
    features : int
        N, the number of features.
    relevant : int, default=5
        k, how many of them the label is the majority of: an odd number up to N.
    rounds : int, default=20_000
        Number of rows.
    seed : int, default=0
        Seed of the rows, from 0 to 2^64 - 1. The same seed gives the same rows everywhere.

    Returns
    -------
    Versus

    Examples
    --------
    >>> race = versus(1000, relevant=3, rounds=4000)
    >>> race.perceptron, race.perceptron_bound
    (940, 3000.0)
    >>> race.winnow, round(race.winnow_bound, 1)
    (52, 122.0)
    """
    features, relevant, rounds, seed = index(features), index(relevant), index(rounds), index(seed)
    if not 1 <= relevant <= features or relevant % 2 == 0:
        raise ValueError(f"relevant={relevant} has no majority: give an odd number from 1 to features={features}")
    if not 1 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"rounds={rounds}: give a number from 1 to {MOST_ROUNDS}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed={seed}: give a number from 0 to 2^64 - 1")
    image = ((relevant - 1) / (relevant + 1)) ** np.arange(rounds + 1.0)
    image.flags.writeable = False
    wrong = np.zeros((2, rounds), np.bool_)
    agree = np.empty(-(-features // WORD), np.uint64)
    v, counts = np.zeros((2, WORD * len(agree)), np.int32)
    w = np.zeros(WORD * len(agree))
    w[:features] = 1.0
    sums, masses = np.zeros(WORD, np.int64), np.zeros(WORD)
    _race(features, relevant, np.uint64(seed), image, agree, v, counts, w, sums, masses, wrong)
    perceptron, winnow = (np.flatnonzero(row) + 1 for row in wrong)
    bound = log(features) / fall(1 / relevant)
    return Versus(features, relevant, rounds, perceptron, winnow, float(relevant * features), bound)


@tiered(None)
def _race(
    features: int, relevant: int, seed: np.uint64, image: Array, agree: Array, v: Array, counts: Array, w: Array,
    sums: Array, masses: Array, wrong: Array,
) -> None:  # fmt: skip
    """Mark the rounds in which the perceptron (row 0) and Winnow (row 1) err.

    `agree` holds y x of the round. Winnow's weight of a feature that agreed in c of its mistakes is e^{2 eta c}; with
    the highest such count, `top`, that is image[top - c] up to a factor. What is beyond the last feature weighs 0.
    `sums` and `masses` are scratch arrays of :func:`_scores`.
    """
    for t in range(wrong.shape[1]):
        _draw(seed + np.uint64(t) * np.uint64(agree.shape[0]) * STEP, relevant, agree)
        score, weighed = _scores(agree, v, w, sums, masses)
        if score <= 0:
            wrong[0, t] = True
            for j in range(features):
                v[j] += 2 * _bit(agree, j) - 1
        if weighed <= 0:
            wrong[1, t] = True
            for j in range(features):
                counts[j] += _bit(agree, j)
            top = 0
            for j in range(features):
                top = max(top, counts[j])
            for j in range(features):
                w[j] = image[top - counts[j]]


@inlined
def _bit(words: Array, j: int) -> np.int32:
    return np.int32((words[j // WORD] >> np.uint64(j % WORD)) & np.uint64(1))


@inlined
def _draw(state: np.uint64, relevant: int, agree: Array) -> None:
    """Fill in y x of a new row, the words of SplitMix64 that follow this state, turned round where y is -1."""
    for i in range(agree.shape[0]):
        z = state + np.uint64(i + 1) * STEP
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        agree[i] = z ^ (z >> np.uint64(31))
    ones = 0
    for j in range(relevant):
        ones += _bit(agree, j)
    if 2 * ones < relevant:
        for i in range(agree.shape[0]):
            agree[i] = ~agree[i]


@inlined
def _scores(agree: Array, v: Array, w: Array, sums: Array, masses: Array) -> tuple[int, float]:
    """Return y (v·x) and y (w·x), each summed in as many lanes as a word has bits: the same on every processor."""
    for b in range(WORD):
        sums[b], masses[b] = 0, 0.0
    for i in range(agree.shape[0]):
        word = agree[i]
        for b in range(WORD):
            up = (word >> np.uint64(b)) & np.uint64(1) != 0
            j = i * WORD + b
            sums[b] += v[j] if up else -v[j]
            masses[b] += w[j] if up else -w[j]
    score, weighed = 0, 0.0
    for b in range(WORD):
        score += sums[b]
        weighed += masses[b]
    return score, weighed
