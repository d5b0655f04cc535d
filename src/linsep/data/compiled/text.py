r"""Text to n-grams, compiled: UTF-8 characters, words, n-grams that are counted by hash or listed.

A word is a longest run of at least two word characters: letters, digits and the underscore, of any script, what `\w`
means to Python. Text is lower-cased as Python does it. A document becomes clean text in which every n-gram is one
slice: words stand one space apart; in characters, two or more white spaces have become one space.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from linsep.data.compiled.intrinsics import BLOCK, STEP, copy_step, scan_block, text_kernel, trailing_zeros
from linsep.data.compiled.names import HALF, LOW_HALF, murmur
from linsep.data.compiled.numbers import ONE, THREE, TWO, ZERO
from linsep.data.errors import quote
from linsep.engine.arrays import Array

WORD, WHITE = np.uint8(1), np.uint8(2)
"""Kinds of characters."""
POINTS, CASED = 0x110000, 0x20000
"""Code points there are, and those of which some change when lower-cased."""
CONTEXTUAL = "Σ".encode(), "İ".encode()
"""Capitals whose small letter depends on their neighbours, or is more than one character: left to Python."""

SPACE = np.uint8(32)

MIDDLE = np.uint64(1 << 31)
"""Placeholder for a count of 0."""


class Tables(NamedTuple):
    """Tables of characters: ASCII ones of words in lower case (0: in no word), lower cases, kinds."""

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
    """Return whether a byte continues a character."""
    return byte & np.uint8(0xC0) == np.uint8(0x80)


@register_jitable
def decode(text: Any, k: Any, stop: Any) -> tuple[Any, Any]:
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
def encode(point: Any, clean: Any, w: Any) -> Any:
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


def lower_contextual(text: bytes) -> bytes:
    """Return a document in which the capitals that the compiled code leaves to Python are gone, if it is UTF-8."""
    if any(capital in text for capital in CONTEXTUAL):
        try:
            return text.decode().lower().encode()
        except UnicodeDecodeError:
            pass
    return text


def not_utf8(text: bytes, at: int) -> str:
    """Return what is wrong with a document whose byte `at` begins no character."""
    return f"byte {at + 1:,}, {quote(text[at : at + 4])}, is not UTF-8"


@register_jitable
def _append_word(low: Any, begin: Any, end: Any, clean: Any, begins: Any, w: Any, n: Any) -> tuple[Any, Any]:
    """Append the word low[begin:end] to clean, unless it is one letter; return the next place, and the words so far."""
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
            w, n = _append_word(low, begin, base + trailing_zeros(edges), clean, begins, w, n)
            edges &= edges - ONE
            before = ZERO
        while edges:
            begin = base + trailing_zeros(edges)
            edges &= edges - ONE
            if edges == ZERO:
                break
            w, n = _append_word(low, begin, base + trailing_zeros(edges), clean, begins, w, n)
            edges &= edges - ONE
        before = within >> np.uint64(63)
        base += BLOCK
    if before:
        w, n = _append_word(low, begin, size, clean, begins, w, n)
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
            point, size = decode(text, k, stop)
            if size == 0:
                return n, np.int64(k)
            point = small[point] if point < CASED else point
            if kinds[point] == WORD:
                w = encode(point, clean, w)
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
        point, size = decode(text, k, stop)
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
        w = encode(point, clean, w)
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


@register_jitable
def gram_count(n: int, low: int, high: int) -> int:
    """Return how many n-grams n pieces have."""
    top = min(high, n)
    return (top - low + 1) * (2 * n - low - top + 2) // 2 if top >= low else 0


@register_jitable
def _count(
    clean: Any, begins: Any, n: Any, chars: bool, low: int, high: int, n_features: int, signed: bool,
    table: Any, size: Any,
) -> Any:  # fmt: skip
    """Count the n-grams in a table that is nearly in order of columns; return where it ends.

    A column's place is its share of the table, or the next free one. An entry is the column, then 2³¹ + its count.
    """
    scale = (np.uint64(size) << HALF) // np.uint64(n_features)
    mask = np.uint64(n_features - 1) if n_features & (n_features - 1) == 0 else np.uint64(0)
    gap = np.uint64(0) if chars else ONE
    end = np.uint64(0)
    for length in range(low, np.int64(min(high, n)) + 1):
        for i in range(np.uint64(n) - np.uint64(length) + ONE):
            h = murmur(clean, np.uint64(begins[i]), np.uint64(begins[i + np.uint64(length)]) - gap, 0)
            negative = h >= np.uint32(1 << 31)
            column = np.uint64(np.uint32(0 - h) if negative else h)
            column = column & mask if mask else column % np.uint64(n_features)
            place = column * scale >> HALF
            while table[place] and table[place] >> HALF != column:
                place += ONE
            entry = table[place] if table[place] else column << HALF | MIDDLE
            table[place] = entry - ONE if negative and signed else entry + ONE
            end = max(end, place + ONE)
    return end


@register_jitable
def _sorted_row(table: Any, end: Any, row: Any) -> Any:
    """Move the entries of a table, nearly in order, to a row that is in order, and return how many there are."""
    n = np.uint64(0)
    for place in range(end):
        row[n] = table[place]
        n += ONE if table[place] else np.uint64(0)
        table[place] = 0
    for i in range(ONE, n):
        entry = row[i]
        k = np.uint64(i)
        while k and row[k - ONE] > entry:
            row[k] = row[k - ONE]
            k -= ONE
        row[k] = entry
    return n


@register_jitable
def _write(row: Any, n: Any, binary: bool, unit: bool, indices: Any, values: Any, m: Any) -> None:
    """Write a row's columns and values from m on; those of a unit row have length 1.

    Squares are of the values' type, as scikit-learn's are: in float32 those of large counts are rounded.
    """
    squares = np.float64(0.0)  # a float in Python takes on the type of what is added
    for i in range(n):
        indices[m + i] = row[i] >> HALF
        values[m + i] = 1 if binary else np.int64(row[i] & LOW_HALF) - np.int64(MIDDLE)
        squares += values[m + i] * values[m + i]
    if unit and squares > 0.0:
        norm = np.sqrt(squares)
        for i in range(n):
            values[m + i] = values[m + i] / norm


@text_kernel()
def hash_documents(
    text: Any, begins: Any, ends: Any, first: Any,
    chars: bool, low: Any, high: Any, n_features: Any, signed: bool, binary: bool, unit: bool,
    fold: Any, small: Any, kinds: Any, lengths: Any, indices: Any, values: Any, faults: Any,
) -> Any:  # fmt: skip
    """Hash the documents from the first on until there is no room; return the next one and the room that it needs."""
    longest = 0
    for i in range(first, begins.shape[0]):
        longest = max(longest, ends[i] - begins[i])
    low_text, clean = np.empty(room(longest), np.uint8), np.empty(room(longest), np.uint8)
    starts = np.empty(room(longest), np.uint32)
    table, row = np.zeros(1, np.uint64), np.empty(1, np.uint64)
    m = np.uint64(0)
    for i in range(first, begins.shape[0]):
        n, fault = pieces(text, begins[i], ends[i], chars, fold, small, kinds, low_text, clean, starts)
        faults[i] = fault - begins[i] if fault >= 0 else -1
        total = gram_count(np.int64(n), low, high) if fault < 0 else 0
        most = min(total, n_features)
        if np.int64(m) + most > indices.shape[0]:
            return i, most
        size = 16
        while size < 2 * total and size < n_features:
            size *= 2
        if size + most > table.shape[0]:
            table, row = np.zeros(size + most, np.uint64), np.empty(size + most, np.uint64)
        lengths[i] = 0
        if total:
            end = _count(clean, starts, n, chars, low, high, n_features, signed, table, size)
            entries = _sorted_row(table, end, row)
            _write(row, entries, binary, unit, indices, values, m)
            m += entries
            lengths[i] = entries
    return begins.shape[0], 0


@text_kernel()
def list_grams(
    text: Any, begins: Any, ends: Any, chars: bool, low: Any, high: Any, fold: Any, small: Any, kinds: Any,
) -> Any:  # fmt: skip
    """Return what `Listed` of linsep.data.text.ngrams holds."""
    documents = begins.shape[0]
    lengths, faults = np.empty(documents, np.int64), np.empty(documents, np.int64)
    counts = np.empty(documents, np.int64)
    longest = size = 0
    for i in range(documents):
        longest = max(longest, ends[i] - begins[i])
        size += ends[i] - begins[i] + 1
    small_text, clean = np.empty(room(longest), np.uint8), np.empty(room(size), np.uint8)
    starts = np.empty(size + 1, np.int64)
    w = s = total = 0
    for i in range(documents):
        n, fault = pieces(text, begins[i], ends[i], chars, fold, small, kinds, small_text, clean[w:], starts[s:])
        n = np.int64(n) if fault < 0 else np.int64(0)
        faults[i] = fault - begins[i] if fault >= 0 else -1
        counts[i], lengths[i] = n, gram_count(n, low, high)
        total += lengths[i]
        if n:
            for k in range(s, s + n + 1):
                starts[k] += w
            s += int(n) + 1
            w = int(starts[s - 1])
    firsts, lasts = np.empty(total, np.int64), np.empty(total, np.int64)
    gap = 0 if chars else 1
    m = s = 0
    for i in range(documents):
        for length in range(low, min(high, counts[i]) + 1):
            for k in range(s, s + counts[i] - length + 1):
                firsts[m], lasts[m] = starts[k], starts[k + length] - gap
                m += 1
        s += counts[i] + 1 if counts[i] else 0
    return clean, firsts, lasts, lengths, faults
