"""Characters in UTF-8 bytes: decoded, encoded, and what is known of each, compiled."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from linsep.data.errors import shown
from linsep.engine.arrays import Array

WORD, WHITE = np.uint8(1), np.uint8(2)
"""Kinds of characters."""
POINTS, CASED = 0x110000, 0x20000
"""Code points there are, and those of which some change when lower-cased."""
CONTEXTUAL = "Σ".encode(), "İ".encode()
"""Capitals whose small letter depends on their neighbours, or is more than one character: left to Python."""
ZERO, ONE, TWO, THREE = (np.uint64(k) for k in (0, 1, 2, 3))


class Tables(NamedTuple):
    """What is known of every character: the ASCII ones of words, small (0: in no word), the small ones, the kinds."""

    fold: Array
    small: Array
    kinds: Array


@cache
def tables(lowercase: bool = True) -> Tables:
    """Return the tables of characters."""
    points = np.arange(POINTS, dtype=np.uint32)
    text = points.view("U1")
    kinds = np.where(np.strings.isalnum(text), WORD, np.where(np.strings.isspace(text), WHITE, np.uint8(0)))
    kinds[ord("_")] = WORD
    small = points[:CASED].copy()
    if lowercase:
        lowered = [chr(point).lower() for point in range(CASED)]
        small[:] = [ord(c) if len(c) == 1 else point for point, c in enumerate(lowered)]
    fold = np.zeros(256, np.uint8)
    fold[:128] = np.where(kinds[:128] == WORD, small[:128], 0)
    for table in (fold, small, kinds):
        table.flags.writeable = False
    return Tables(fold, small, kinds)


@register_jitable
def _more(byte: Any) -> bool:
    """Tell whether a byte continues a character."""
    return byte & np.uint8(0xC0) == np.uint8(0x80)


@register_jitable
def decoded(text: Any, k: Any, stop: Any) -> tuple[Any, Any]:
    """Return the character at text[k] and its length in bytes, which is 0 where text[k:stop] is not UTF-8."""
    a = np.uint32(text[k])
    if a < 0x80:
        return a, ONE
    if a < 0xC2 or a > 0xF4 or k + ONE >= stop or not _more(text[k + ONE]):
        return np.uint32(0), np.uint64(0)
    b = np.uint32(text[k + ONE]) & np.uint32(0x3F)
    if a < 0xE0:
        return (a & np.uint32(0x1F)) << np.uint32(6) | b, TWO
    if k + TWO >= stop or not _more(text[k + TWO]):
        return np.uint32(0), np.uint64(0)
    c = np.uint32(text[k + TWO]) & np.uint32(0x3F)
    if a < 0xF0:
        point = (a & np.uint32(0x0F)) << np.uint32(12) | b << np.uint32(6) | c
        fine = point >= 0x800 and (point < 0xD800 or point > 0xDFFF)
        return point, THREE if fine else np.uint64(0)
    if k + THREE >= stop or not _more(text[k + THREE]):
        return np.uint32(0), np.uint64(0)
    d = np.uint32(text[k + THREE]) & np.uint32(0x3F)
    point = (a & np.uint32(0x07)) << np.uint32(18) | b << np.uint32(12) | c << np.uint32(6) | d
    return point, np.uint64(4) if 0x10000 <= point < POINTS else np.uint64(0)


@register_jitable
def encoded(point: Any, clean: Any, w: Any) -> Any:
    """Write a character to clean[w] and return where it ends."""
    if point < 0x80:
        clean[w] = point
        return w + ONE
    if point < 0x800:
        clean[w] = np.uint32(0xC0) | point >> np.uint32(6)
    else:
        if point < 0x10000:
            clean[w] = np.uint32(0xE0) | point >> np.uint32(12)
        else:
            clean[w] = np.uint32(0xF0) | point >> np.uint32(18)
            w += ONE
            clean[w] = np.uint32(0x80) | point >> np.uint32(12) & np.uint32(0x3F)
        w += ONE
        clean[w] = np.uint32(0x80) | point >> np.uint32(6) & np.uint32(0x3F)
    clean[w + ONE] = np.uint32(0x80) | point & np.uint32(0x3F)
    return w + TWO


def lowered(text: bytes) -> bytes:
    """Return a document in which the capitals that the compiled code leaves to Python are gone, if it is UTF-8."""
    if any(capital in text for capital in CONTEXTUAL):
        try:
            return text.decode().lower().encode()
        except UnicodeDecodeError:
            pass
    return text


def not_utf8(text: bytes, at: int) -> str:
    """Return what is wrong with a document whose byte `at` begins no character."""
    return f"byte {at + 1:,}, {shown(text[at : at + 4])}, is not UTF-8"
