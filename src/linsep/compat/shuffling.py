"""The order of rows that scikit-learn's stochastic estimators visit, for the same random_state."""

from collections.abc import Iterator

import numpy as np

from linsep.engine.arrays import Array
from linsep.engine.tiers import tiered
from linsep.training.state import IN_ORDER


@tiered(lambda order, seed: 8 * len(order))
def swap(order: Array, seed: int) -> None:
    """Shuffle an order in place: Fisher and Yates's swaps, by Marsaglia's xorshift numbers of 32 bits."""
    n = order.shape[0]
    for i in range(n - 1):
        seed ^= (seed << 13) & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= (seed << 5) & 0xFFFFFFFF
        j = i + (seed & 0x7FFFFFFF) % (n - i)
        other = order[j]
        order[j] = order[i]
        order[i] = other


def orders(n: int, seed: int, shuffle: bool, held: Array) -> Iterator[Array]:
    """Yield the order of each epoch over n rows without those that are held out.

    >>> epochs = orders(5, seed=1, shuffle=True, held=np.array([4]))
    >>> next(epochs), next(epochs)
    (array([2, 3, 0, 1]), array([1, 3, 0, 2]))
    """
    learned = np.ones(n, bool)
    learned[held] = False
    order = np.arange(n)
    change = order.copy()
    if shuffle:
        swap(change, max(seed, 1))
    while True:
        order = order[change] if shuffle else order
        yield order[learned[order]] if len(held) else order if shuffle else IN_ORDER
