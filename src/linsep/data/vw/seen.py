"""The distinct names of a block of Vowpal Wabbit text, found while it is parsed, compiled; bytes decide, not hashes.

A name is spelled `namespace|feature`, or `feature` in the default namespace: neither part can have a bar in it. Names
are numbered in the order in which they first occur: name i is letters[marks[i]:marks[i + 1]]. Its slot, at the place of
its hash or later, holds the hash, then i + 1. Names are forgotten from the last one back, so that no chain of slots is
broken.
"""

from typing import Any, NamedTuple

import numpy as np

from linsep.data.numbers import ONE, ZERO
from linsep.data.vw.lean import called, written_out
from linsep.engine.arrays import Array

STIR, HALF, LOW_HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(0xFFFFFFFF)
BAR = np.uint8(ord("|"))


class Room(NamedTuple):
    """Room for names."""

    slots: Array
    hashes: Array
    marks: Array
    letters: Array


def room_for(names: int, letters: int, before: Room | None = None) -> Room:
    """Return room for so many names and letters; the names from before are there, but have no slots yet."""
    slots = np.zeros(2 << max(names - 1, 1).bit_length(), np.uint64)
    room = Room(slots, np.empty(names, np.uint32), np.zeros(names + 1, np.int64), np.empty(letters, np.uint8))
    for new, old in zip(room[1:], (before or room)[1:], strict=True):
        new[: len(old)] = old
    return room


@called
def _slot(h: Any, slots: Any, entry: Any) -> Any:
    """Return the first slot for a hash that holds this entry."""
    mask = np.uint64(slots.shape[0] - 1)
    place = (np.uint64(h) * STIR >> HALF) & mask
    while slots[place] != entry:
        place = (place + ONE) & mask
    return place


@written_out
def _entry(h: Any, i: Any) -> Any:
    return np.uint64(h) << HALF | np.uint64(i + 1)


@called
def find_slots(slots: Any, hashes: Any, known: Any, count: Any) -> None:
    """Give a slot to the names from number `known` on, where there is more room now."""
    for i in range(known, count):
        slots[_slot(hashes[i], slots, ZERO)] = _entry(hashes[i], i)


@called
def forget(slots: Any, hashes: Any, kept: Any, count: Any) -> None:
    """Forget the names from number `kept` on."""
    for i in range(count - 1, kept - 1, -1):
        slots[_slot(hashes[i], slots, _entry(hashes[i], i))] = ZERO


@written_out
def _same(text: Any, begin: Any, end: Any, letters: Any, at: Any) -> bool:
    """Tell whether the letters from letters[at] on are those of text[begin:end]."""
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
def seen(
    text: Any, begin: Any, end: Any, space: Any, space_end: Any, h: Any,
    slots: Any, hashes: Any, marks: Any, letters: Any, count: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the number of text[begin:end] in the namespace text[space:space_end], and how many names there are now.

    The number is -1 where there is no room for another name.
    """
    mask = np.uint64(slots.shape[0] - 1)
    head = space_end - space + ONE if space_end > space else ZERO
    size = head + end - begin
    place = (np.uint64(h) * STIR >> HALF) & mask
    found = np.int64(-1)
    while found < 0 and slots[place] != ZERO:
        if slots[place] >> HALF == np.uint64(h):
            i = (slots[place] & LOW_HALF) - ONE
            at = np.uint64(marks[i])
            if (
                np.uint64(marks[i + ONE]) - at == size
                and _same(text, begin, end, letters, at + head)
                and _same(text, space, space_end, letters, at)
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
