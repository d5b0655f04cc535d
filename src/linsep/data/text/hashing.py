"""MurmurHash3 of bytes, compiled: names become columns without a list of names.

The 32-bit hash that scikit-learn's hashing vectorisers and Vowpal Wabbit use, so that their columns can be had again.
Source: Appleby, MurmurHash3_x86_32 (public domain); the constants are its own.
"""

from functools import cache
from typing import Any

import numpy as np

from linsep.data.digest import data_digest
from linsep.data.text.utf8 import ONE, THREE
from linsep.data.text.vectors import four_bytes
from linsep.engine.arrays import Array
from linsep.engine.multimethods import inlined
from linsep.engine.passes import Kernel, compiled

C1, C2, C3, C4, C5 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE, FOUR = np.uint32(5), np.uint64(4)
SPARE = 4
"""Bytes behind a name that may be read with it."""


@inlined
def _turned(bits: Any, left: int) -> Any:
    """Return 32 bits turned left."""
    return np.uint32(bits << np.uint32(left)) | np.uint32(bits >> np.uint32(32 - left))


@inlined
def _mixed(bits: Any) -> Any:
    """Return four bytes as they enter the hash."""
    return np.uint32(_turned(np.uint32(bits * C1), 15) * C2)


@inlined
def murmur(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """Return the hash of text[begin:end], a number of 32 bits without sign; SPARE bytes more must be there to read.

    The last bytes are read as four, of which those that are too many become 0: there is no branch to guess.
    """
    h, k, stop = np.uint32(seed), np.uint64(begin), np.uint64(end)
    while k + FOUR <= stop:
        h = np.uint32(_turned(np.uint32(h ^ _mixed(four_bytes(text, k))), 13) * FIVE + C3)
        k += FOUR
    bits = np.uint32(np.uint64(four_bytes(text, k)) & ((ONE << ((stop - k) << THREE)) - ONE))
    h ^= _mixed(bits)
    h ^= np.uint32(stop - np.uint64(begin))
    h ^= h >> np.uint32(16)
    h = np.uint32(h * C4)
    h ^= h >> np.uint32(13)
    h = np.uint32(h * C5)
    return np.uint32(h ^ (h >> np.uint32(16)))


@cache
def _hasher() -> Kernel:
    digest = data_digest()

    def kernel(text: Array, seed: int) -> Any:
        digest  # noqa: B018  (part of the compiled code's identity on disk)
        return murmur(text, 0, text.shape[0] - SPARE, seed)

    return compiled(kernel, digest)


def hashed(name: str | bytes, seed: int = 0) -> int:
    """Return the hash of a name, a number from 0 to 2³² - 1.

    >>> hashed("perceptron") == hashed(b"perceptron") != hashed("perceptron", seed=1)
    True
    """
    data = name.encode() if isinstance(name, str) else name
    return int(_hasher()(np.frombuffer(data + bytes(SPARE), np.uint8), seed))
