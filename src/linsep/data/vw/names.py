"""Names in Vowpal Wabbit text and their hashes, compiled; eight bytes are looked at in one go.

As in Vowpal Wabbit with its default, `--hash strings`: a name of digits only is that number plus the seed, any other is
its MurmurHash3 with the seed. The seed of a namespace is 0, that of a feature is the hash of its namespace; the default
namespace has the hash 0. The last bits of a feature's hash are its column.
"""

from typing import Any

import numpy as np

from linsep.data.numbers import EIGHT, TEN, ZERO, ZEROS, digit, eight_bytes, trailing_zeros
from linsep.data.text.hashing import C1, C2, C3, C4, C5, FIVE, hashed
from linsep.data.vw.lean import called, written_out

HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
ALL_ONES, ONES, HIGH_BITS = (np.uint64(int(byte * 8, 16)) for byte in ("ff", "01", "80"))
BLANKS, COLONS, BARS, ABOVE_NINE = (np.uint64(int(byte * 8, 16)) for byte in ("21", "3a", "7c", "76"))


@written_out
def _eight(text: Any, k: Any) -> Any:
    """Return the eight bytes from text[k] on as a word, the first one lowest; bytes beyond the text are 0."""
    if k + EIGHT <= np.uint64(text.shape[0]):
        return eight_bytes(text, k)
    word = ZERO
    for j in range(np.uint64(text.shape[0]) - k):
        word |= np.uint64(text[k + np.uint64(j)]) << np.uint64(8 * j)
    return word


@written_out
def _stops(word: Any) -> Any:
    """Return a word whose lowest bit is in the first byte that is no part of a name: a control, a blank, `:` or `|`."""
    colons, bars = word ^ COLONS, word ^ BARS
    return (((word - BLANKS) & ~word) | ((colons - ONES) & ~colons) | ((bars - ONES) & ~bars)) & HIGH_BITS


@written_out
def _stirred(word: Any) -> Any:
    """Return four bytes as MurmurHash3 takes them in."""
    turned = np.uint32(np.uint32(word) * C1)
    return np.uint32((np.uint32(turned << np.uint32(15)) | (turned >> np.uint32(17))) * C2)


@written_out
def _taken_in(h: Any, word: Any) -> Any:
    """Return the state of MurmurHash3 after four more bytes."""
    h = np.uint32(h ^ _stirred(word))
    return np.uint32((np.uint32(h << np.uint32(13)) | (h >> np.uint32(19))) * FIVE + C3)


@written_out
def _finished(h: Any, rest: Any, length: Any) -> Any:
    """Return the MurmurHash3 of `length` bytes, the last three at most of which are still to be taken in."""
    h = np.uint32(h ^ _stirred(rest) ^ np.uint32(length))
    h = np.uint32((h ^ (h >> np.uint32(16))) * C4)
    h = np.uint32((h ^ (h >> np.uint32(13))) * C5)
    return np.uint32(h ^ (h >> np.uint32(16)))


@written_out
def name_at(text: Any, k: Any, seed: Any) -> tuple[Any, Any]:
    """Return where the name that begins at text[k] ends, and its hash."""
    begin, h, other = k, np.uint32(seed), ZERO
    word = _eight(text, k)
    stops = _stops(word)
    while stops == ZERO:
        digits = word - ZEROS
        other |= (digits | (digits + ABOVE_NINE)) & HIGH_BITS
        h = _taken_in(_taken_in(h, word & LOW_HALF), word >> HALF)
        k += EIGHT
        word = _eight(text, k)
        stops = _stops(word)
    length = trailing_zeros(stops) >> np.uint64(3)
    k += length
    if length > ZERO:
        unused = np.uint64(64) - EIGHT * length
        digits = (word << unused) - (ZEROS << unused)
        other |= (digits | (digits + ABOVE_NINE)) & HIGH_BITS
        word &= ALL_ONES >> unused
    else:
        word = digits = ZERO
    if other == ZERO:
        return k, np.uint32(seed + (whole(digits) if k - begin < EIGHT else _long_whole(text, begin, k)))
    if length >= np.uint64(4):
        h = _taken_in(h, word & LOW_HALF)
        word >>= HALF
    return k, _finished(h, word, k - begin)


@written_out
def whole(digits: Any) -> Any:
    """Return the number of eight digits, a byte each, the first one lowest: neighbours are joined three times."""
    digits = digits * TEN + (digits >> EIGHT)
    pairs = np.uint64(0x000000FF000000FF)
    upper = (digits & pairs) * np.uint64(100 + (1_000_000 << 32))
    lower = ((digits >> np.uint64(16)) & pairs) * np.uint64(1 + (10_000 << 32))
    return np.uint32((upper + lower) >> HALF)


@called
def _long_whole(text: Any, begin: Any, end: Any) -> Any:
    """Return the last 32 bits of the number whose digits are text[begin:end]."""
    whole = ZERO
    for k in range(begin, end):
        whole = whole * TEN + digit(text[k])
    return np.uint32(whole & LOW_HALF)


def _hash_of(name: bytes, seed: int) -> int:
    """Return the hash of a name, of which the last 32 bits count."""
    return int(name[-32:]) + seed if name.isdigit() else hashed(name, seed & 0xFFFFFFFF)


def column_of(feature: str, namespace: str = "", n_features: int = 1 << 18) -> int:
    """Return the column of a feature; no namespace means the default one.

    >>> column_of("7"), column_of("x", "a")
    (7, 55432)
    """
    seed = _hash_of(namespace.encode(), 0) if namespace else 0
    return _hash_of(feature.encode(), seed) & (n_features - 1)
