"""MurmurHash3 of bytes, compiled: names become columns without a list of names.

The 32-bit hash that scikit-learn's hashing vectorisers and Vowpal Wabbit use, so that their columns can be had again.
Source: Appleby, MurmurHash3_x86_32 (public domain); the constants are its own.
"""

from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

Array = NDArray[Any]

C1, C2, C3, C4, C5 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE = np.uint32(5)


@register_jitable
def turned(word: Any, left: int) -> Any:
    """Return a word of 32 bits turned left."""
    return np.uint32(word << np.uint32(left)) | np.uint32(word >> np.uint32(32 - left))


@register_jitable
def murmur(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """Return the hash of text[begin:end], a number of 32 bits without sign."""
    h = np.uint32(seed)
    k = np.int64(begin)
    stop = np.int64(end)
    while k + 4 <= stop:
        word = (
            np.uint32(text[k])
            | np.uint32(text[k + 1]) << np.uint32(8)
            | np.uint32(text[k + 2]) << np.uint32(16)
            | np.uint32(text[k + 3]) << np.uint32(24)
        )
        h ^= np.uint32(turned(np.uint32(np.uint32(word) * C1), 15) * C2)
        h = np.uint32(turned(h, 13) * FIVE + C3)
        k += 4
    word = np.uint32(0)
    for j in range(stop - k):
        word |= np.uint32(text[k + j]) << np.uint32(8 * j)
    if stop > k:
        h ^= np.uint32(turned(np.uint32(np.uint32(word) * C1), 15) * C2)
    h ^= np.uint32(stop - np.int64(begin))
    h ^= h >> np.uint32(16)
    h = np.uint32(h * C4)
    h ^= h >> np.uint32(13)
    h = np.uint32(h * C5)
    return np.uint32(h ^ (h >> np.uint32(16)))


@njit(cache=True)
def _hash(text: Array, seed: int) -> int:
    return murmur(text, 0, text.shape[0], np.uint32(seed))


def hashed(name: str | bytes, seed: int = 0) -> int:
    """Return the hash of a name, a number from 0 to 2³² - 1.

    >>> hashed("perceptron") == hashed(b"perceptron") != hashed("perceptron", seed=1)
    True
    """
    data = name.encode() if isinstance(name, str) else name
    return int(_hash(np.frombuffer(data, np.uint8), seed))
