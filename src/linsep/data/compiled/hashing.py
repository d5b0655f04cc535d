"""MurmurHash3 of bytes, compiled.

The 32-bit hash that scikit-learn's hashing vectorisers and Vowpal Wabbit use, so that columns agree with theirs.
Source: Appleby, MurmurHash3_x86_32 (public domain); the constants are its own.
"""

from functools import cache
from typing import Any

import numpy as np

from linsep.data.compiled.digest import data_digest
from linsep.data.compiled.intrinsics import four_bytes
from linsep.data.compiled.numbers import FOUR, ONE, THREE
from linsep.engine.arrays import Array
from linsep.engine.kernel_cache import CompiledKernel, compiled
from linsep.engine.multimethods import inlined

C1, C2, C3, C4, C5 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE = np.uint32(5)
SPARE = 4
"""Bytes after a name that are read with the name."""


@inlined
def _rotated(bits: Any, left: int) -> Any:
    """Return 32 bits rotated left."""
    return np.uint32(bits << np.uint32(left)) | np.uint32(bits >> np.uint32(32 - left))


@inlined
def _mixed(bits: Any) -> Any:
    """Return four bytes as they enter the hash."""
    return np.uint32(_rotated(np.uint32(bits * C1), 15) * C2)


@inlined
def with_four_bytes(h: Any, bits: Any) -> Any:
    """Return the state of the hash after four more bytes."""
    return np.uint32(_rotated(np.uint32(h ^ _mixed(bits)), 13) * FIVE + C3)


@inlined
def finished(h: Any, rest: Any, length: Any) -> Any:
    """Return the hash of `length` bytes, of which the last, at most three, are `rest`."""
    h = np.uint32(h ^ _mixed(rest) ^ np.uint32(length))
    h = np.uint32((h ^ (h >> np.uint32(16))) * C4)
    h = np.uint32((h ^ (h >> np.uint32(13))) * C5)
    return np.uint32(h ^ (h >> np.uint32(16)))


@inlined
def murmur(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """Return the hash of text[begin:end], an unsigned number of 32 bits; SPARE bytes more must be readable.

    The last bytes are read as four, of which those beyond the end are set to 0: there is no branch to predict.
    """
    h, k, stop = np.uint32(seed), np.uint64(begin), np.uint64(end)
    while k + FOUR <= stop:
        h = with_four_bytes(h, four_bytes(text, k))
        k += FOUR
    rest = np.uint32(np.uint64(four_bytes(text, k)) & ((ONE << ((stop - k) << THREE)) - ONE))
    return finished(h, rest, stop - np.uint64(begin))


@cache
def _hasher() -> CompiledKernel:
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
