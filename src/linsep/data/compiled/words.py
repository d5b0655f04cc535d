r"""Text to words or characters, compiled, over UTF-8 bytes.

A word is a longest run of at least two word characters: letters, digits and the underscore, of any script, what `\w`
means to Python. Text is lower-cased as Python does it. A document becomes clean text in which every n-gram is one
slice: words stand one space apart; in characters, two or more white spaces have become one space.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from linsep.data.compiled.intrinsics import BLOCK, STEP, copy_step, scan_block, trailing_zeros
from linsep.data.compiled.utf8 import CASED, ONE, TWO, WHITE, WORD, ZERO, decoded, encoded

SPACE = np.uint8(32)


@register_jitable
def _put(low: Any, begin: Any, end: Any, clean: Any, begins: Any, w: Any, n: Any) -> tuple[Any, Any]:
    """Append the word low[begin:end] to clean, unless it is one letter; return where to go on, and the words so far."""
    length = end - begin
    copy_step(low, begin, clean, w)
    k = STEP
    while k < length:
        copy_step(low, begin + k, clean, w + k)
        k += STEP
    clean[w + length] = SPACE
    begins[n] = w
    kept = length >= TWO
    return w + (length + ONE if kept else ZERO), n + (ONE if kept else ZERO)


@register_jitable
def _ascii_words(text: Any, k: Any, stop: Any, fold: Any, low: Any, clean: Any, begins: Any) -> tuple[Any, bool]:
    """Do what `_words` does, a block at a time, as long as all is ASCII; return the words, and whether all was."""
    bit = fold[65] ^ np.uint8(65)
    w = n = base = begin = before = ZERO
    size = stop - k
    while base < size:
        if k + base + BLOCK <= np.uint64(text.shape[0]):
            within, beyond = scan_block(text, k + base, low, base, bit)
        else:
            for j in range(base, size):
                low[j] = text[k + np.uint64(j)]
            within, beyond = scan_block(low, base, low, base, bit)
        if size - base < BLOCK:
            valid = (ONE << (size - base)) - ONE
            within &= valid
            beyond &= valid
        if beyond:
            return n, False
        edges = within ^ (within << ONE | before)
        if before and edges:
            w, n = _put(low, begin, base + trailing_zeros(edges), clean, begins, w, n)
            edges &= edges - ONE
            before = ZERO
        while edges:
            begin = base + trailing_zeros(edges)
            edges &= edges - ONE
            if edges == ZERO:
                break
            w, n = _put(low, begin, base + trailing_zeros(edges), clean, begins, w, n)
            edges &= edges - ONE
        before = within >> np.uint64(63)
        base += BLOCK
    if before:
        w, n = _put(low, begin, size, clean, begins, w, n)
    begins[n] = w
    return n, True


@register_jitable
def _words(text: Any, k: Any, stop: Any, fold: Any, small: Any, kinds: Any, clean: Any, begins: Any) -> tuple[Any, Any]:
    """Write the words of text[k:stop] to clean, one space apart, and where they begin; see `pieces`."""
    w = begin = n = length = np.uint64(0)
    while k < stop:
        c = text[k]
        f = fold[c]
        if f:
            clean[w] = f
            w += ONE
            length += ONE
            k += ONE
            continue
        if c >= 0x80:
            point, size = decoded(text, k, stop)
            if size == 0:
                return n, np.int64(k)
            point = small[point] if point < CASED else point
            if kinds[point] == WORD:
                w = encoded(point, clean, w)
                length += ONE
                k += size
                continue
            k += size
        else:
            k += ONE
        begins[n] = begin
        clean[w] = SPACE
        kept = length >= TWO
        begin = w + ONE if kept else begin
        n += ONE if kept else np.uint64(0)
        w = begin
        length = np.uint64(0)
    begins[n] = begin
    if length >= TWO:
        n += ONE
        begins[n] = w + ONE
    return n, np.int64(-1)


@register_jitable
def _characters(text: Any, k: Any, stop: Any, small: Any, kinds: Any, clean: Any, begins: Any) -> tuple[Any, Any]:
    """Write the characters of text[k:stop] to clean, white space run together, and where they begin; see `pieces`."""
    w = n = white = np.uint64(0)
    while k < stop:
        point, size = decoded(text, k, stop)
        if size == 0:
            return n, np.int64(k)
        k += size
        point = small[point] if point < CASED else point
        white = white + ONE if kinds[point] == WHITE else np.uint64(0)
        if white >= TWO:
            n -= ONE
            w = np.uint64(begins[n])
            point = np.uint32(SPACE)
        begins[n] = w
        n += ONE
        w = encoded(point, clean, w)
    begins[n] = w
    return n, np.int64(-1)


@register_jitable
def pieces(
    text: Any, begin: Any, end: Any, chars: bool, fold: Any, small: Any, kinds: Any, low: Any, clean: Any, begins: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Cut text[begin:end] to words or characters; return how many, and where the first byte is that is not UTF-8 or -1.

    Piece i begins at clean[begins[i]]; an n-gram of words from there ends one byte before clean[begins[i + n]], one of
    characters right there. `low` is room for the document lower-cased.
    """
    if chars:
        return _characters(text, np.uint64(begin), np.uint64(end), small, kinds, clean, begins)
    n, fine = _ascii_words(text, np.uint64(begin), np.uint64(end), fold, low, clean, begins)
    if fine:
        return n, np.int64(-1)
    return _words(text, np.uint64(begin), np.uint64(end), fold, small, kinds, clean, begins)


@register_jitable
def room(size: Any) -> Any:
    """Return the bytes that a document of this size may fill when lower-cased, and more than it has pieces.

    Two bytes may become three, as those of Ⱥ do; and a block may be written at the end.
    """
    return size + (size >> 1) + 80
