"""Names, compiled: their MurmurHash3, and a table that numbers them in the order in which they first occur.

Hashes are MurmurHash3_x86_32 (Appleby, public domain; the constants are its own), as in scikit-learn's hashing
vectorisers and Vowpal Wabbit, so that columns agree with theirs.

Name i of a table is letters[marks[i]:marks[i + 1]]. The table has open addressing and is at most half full: the slot of
a name, at the place of its hash or later, holds the hash, then i + 1. A feature of Vowpal Wabbit text is spelled
`namespace|feature`, or `feature` in the default namespace: neither part can have a bar in it.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.data.compiled.intrinsics import called, four_bytes, text_kernel, written_out
from linsep.data.compiled.numbers import FOUR, ONE, THREE, ZERO
from linsep.engine.arrays import Array

C1, C2, C3, C4, C5 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE = np.uint32(5)
SPARE = 4
"""Bytes after a name that are read with the name."""

STIR, HALF, LOW_HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)
BAR = np.uint8(ord("|"))
NAMES, SLOTTED = 0, 1
"""Counts of a vocabulary: its names, and those of them that have a slot."""


@written_out
def _rotate(bits: Any, left: int) -> Any:
    """Return 32 bits rotated left."""
    return np.uint32(bits << np.uint32(left)) | np.uint32(bits >> np.uint32(32 - left))


@written_out
def _mix(bits: Any) -> Any:
    """Return four bytes as they enter the hash."""
    return np.uint32(_rotate(np.uint32(bits * C1), 15) * C2)


@written_out
def hash_four_bytes(h: Any, bits: Any) -> Any:
    """Return the state of the hash after four more bytes."""
    return np.uint32(_rotate(np.uint32(h ^ _mix(bits)), 13) * FIVE + C3)


@written_out
def finish_hash(h: Any, rest: Any, length: Any) -> Any:
    """Return the hash of `length` bytes, of which the last, at most three, are `rest`."""
    h = np.uint32(h ^ _mix(rest) ^ np.uint32(length))
    h = np.uint32((h ^ (h >> np.uint32(16))) * C4)
    h = np.uint32((h ^ (h >> np.uint32(13))) * C5)
    return np.uint32(h ^ (h >> np.uint32(16)))


@written_out
def murmur(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """Return the hash of text[begin:end], an unsigned number of 32 bits; SPARE bytes more must be readable.

    The last bytes are read as four, of which those beyond the end are set to 0: there is no branch to predict.
    """
    h, k, stop = np.uint32(seed), np.uint64(begin), np.uint64(end)
    while k + FOUR <= stop:
        h = hash_four_bytes(h, four_bytes(text, k))
        k += FOUR
    rest = np.uint32(np.uint64(four_bytes(text, k)) & ((ONE << ((stop - k) << THREE)) - ONE))
    return finish_hash(h, rest, stop - np.uint64(begin))


@text_kernel()
def _hash_name(text: Array, seed: int) -> Any:
    """Return the hash of a name that is followed by SPARE bytes."""
    return murmur(text, 0, text.shape[0] - SPARE, seed)


def hash_of(name: str | bytes, seed: int = 0) -> int:
    """Return the hash of a name, a number from 0 to 2³² - 1.

    >>> hash_of("perceptron") == hash_of(b"perceptron") != hash_of("perceptron", seed=1)
    True
    """
    data = name.encode() if isinstance(name, str) else name
    return int(_hash_name(np.frombuffer(data + bytes(SPARE), np.uint8), seed & 0xFFFFFFFF))


class NameTable(NamedTuple):
    """Memory for names."""

    slots: Array
    hashes: Array
    marks: Array
    letters: Array


def table_for(names: int, letters: int, before: NameTable | None = None) -> NameTable:
    """Return a table with memory for so many names and letters; the names of another table have no slots yet."""
    slots = np.zeros(2 << max(names - 1, 1).bit_length(), np.uint64)
    table = NameTable(slots, np.empty(names, np.uint32), np.zeros(names + 1, np.int64), np.empty(letters, np.uint8))
    for new, old in zip(table[1:], (before or table)[1:], strict=True):
        new[: len(old)] = old
    return table


@written_out
def _home(h: Any, mask: Any) -> Any:
    """Return the first slot that a hash may have."""
    return (np.uint64(h) * STIR >> HALF) & mask


@called
def _slot(h: Any, slots: Any, entry: Any) -> Any:
    """Return the first slot for a hash that holds this entry."""
    mask = np.uint64(slots.shape[0] - 1)
    place = _home(h, mask)
    while slots[place] != entry:
        place = (place + ONE) & mask
    return place


@written_out
def _entry(h: Any, i: Any) -> Any:
    return np.uint64(h) << HALF | np.uint64(i + 1)


@called
def rebuild_slots(slots: Any, hashes: Any, known: Any, count: Any) -> None:
    """Enter the names from number `known` on into a larger table of slots."""
    for i in range(known, count):
        slots[_slot(hashes[i], slots, ZERO)] = _entry(hashes[i], i)


@called
def forget_names(slots: Any, hashes: Any, kept: Any, count: Any) -> None:
    """Remove the names from number `kept` on, the last first, so that no chain of slots is broken."""
    for i in range(count - 1, kept - 1, -1):
        slots[_slot(hashes[i], slots, _entry(hashes[i], i))] = ZERO


@written_out
def _starts_with(text: Any, begin: Any, end: Any, letters: Any, at: Any) -> bool:
    """Return whether the letters from letters[at] on are those of text[begin:end]."""
    k, size = ZERO, end - begin
    while k < size and text[begin + k] == letters[at + k]:
        k += ONE
    return k == size


@written_out
def _copy(text: Any, begin: Any, end: Any, letters: Any, at: Any) -> None:
    """Write text[begin:end] to the letters from letters[at] on."""
    for k in range(end - begin):
        letters[at + k] = text[begin + k]


@called
def add_name(
    text: Any, begin: Any, end: Any, space: Any, space_end: Any, h: Any,
    slots: Any, hashes: Any, marks: Any, letters: Any, count: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the number of text[begin:end] in the namespace text[space:space_end], and how many names there are now.

    The number is -1 where there is no room for another name.
    """
    mask = np.uint64(slots.shape[0] - 1)
    head = space_end - space + ONE if space_end > space else ZERO
    size = head + end - begin
    place = _home(h, mask)
    found = np.int64(-1)
    while found < 0 and slots[place] != ZERO:
        if slots[place] >> HALF == np.uint64(h):
            i = (slots[place] & LOW_HALF) - ONE
            at = np.uint64(marks[i])
            if (
                np.uint64(marks[i + ONE]) - at == size
                and _starts_with(text, begin, end, letters, at + head)
                and _starts_with(text, space, space_end, letters, at)
                and (head == ZERO or letters[at + head - ONE] == BAR)
            ):
                found = np.int64(i)
        place = (place + ONE) & mask
    if found < 0 and count < hashes.shape[0]:
        at = np.uint64(marks[count])
        if at + size <= np.uint64(letters.shape[0]):
            _copy(text, space, space_end, letters, at)
            if head:
                letters[at + head - ONE] = BAR
            _copy(text, begin, end, letters, at + head)
            hashes[count], marks[count + 1] = h, at + size
            slots[place] = _entry(h, count)
            found = count
            count += 1
    return found, count


@written_out
def _same(text: Any, begin: Any, letters: Any, at: Any, size: Any) -> bool:
    """Return whether `size` bytes of a text and of the letters are the same; both have SPARE bytes more."""
    k = ZERO
    while k + FOUR <= size:
        if four_bytes(text, begin + k) != four_bytes(letters, at + k):
            return False
        k += FOUR
    differ = four_bytes(text, begin + k) ^ four_bytes(letters, at + k)
    return np.uint64(differ) & ((ONE << ((size - k) << THREE)) - ONE) == ZERO


@text_kernel()
def number_names(
    text: Any, begins: Any, ends: Any, first: Any, grow: bool,
    slots: Any, hashes: Any, marks: Any, letters: Any, counts: Any, ids: Any,
) -> Any:  # fmt: skip
    """Number the names text[begins[i]:ends[i]] from the first on until there is no room; return the next name.

    `ids[i]` becomes the number of name i; if `grow` is False, that of a name which is not in the table becomes -1.
    """
    mask = np.uint64(slots.shape[0] - 1)
    rebuild_slots(slots, hashes, counts[SLOTTED], counts[NAMES])
    counts[SLOTTED] = counts[NAMES]
    for i in range(first, begins.shape[0]):
        begin, size = np.uint64(begins[i]), np.uint64(ends[i] - begins[i])
        h = np.uint64(murmur(text, begin, begin + size, 0))
        place = _home(h, mask)
        entry = slots[place]
        while entry:
            if entry >> HALF == h:
                name = (entry & LOW_HALF) - ONE
                at = np.uint64(marks[name])
                if np.uint64(marks[name + ONE]) - at == size and _same(text, begin, letters, at, size):
                    break
            place = (place + ONE) & mask
            entry = slots[place]
        if entry == ZERO and grow:
            n = counts[NAMES]
            at = np.uint64(marks[n])
            if n == hashes.shape[0] or at + size + np.uint64(SPARE) > np.uint64(letters.shape[0]):
                return i
            for k in range(size):
                letters[at + k] = text[begin + k]
            hashes[n], marks[n + 1] = h, at + size
            entry = _entry(h, n)
            slots[place] = entry
            counts[:] = n + 1
        ids[i] = np.int64(entry & LOW_HALF) - 1
    return begins.shape[0]
