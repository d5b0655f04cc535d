"""Text in blocks of whole lines, from any sources, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import NamedTuple

import numpy as np

from linsep.data.errors import DataError
from linsep.data.sources import Bytes, Source
from linsep.engine.arrays import Array

BLOCK_BYTES = 1 << 21
"""Text that is read and parsed at once: enough to share among threads, little enough to stay in the cache."""
NEWLINE = 10
MARK = b"\xef\xbb\xbf"
"""Byte order mark of UTF-8, which is no part of the first line."""
WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16."""


class Block(NamedTuple):
    """Whole lines of a source, the last ended by a newline; `first` is True at the beginning of the source."""

    text: Array
    file: str
    first: bool
    done: int


class Progress(NamedTuple):
    """Progress of a pass over the data: stored bytes read, bytes in all (None: unknown), rows, seconds."""

    done: int
    total: int | None
    rows: int
    seconds: float

    @property
    def rows_per_second(self) -> float:
        """Rows a second so far."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds still to go at the speed so far, where the size is known."""
        if self.total is None or not self.done:
            return None
        return self.seconds * max(self.total - self.done, 0) / self.done


class Clock:
    """Reports the progress of a pass to a callback."""

    def __init__(self, sources: list[Source], report: Callable[[Progress], None] | None) -> None:
        sizes = [source.size for source in sources]
        self.total = None if None in sizes else sum(size or 0 for size in sizes)
        self.report, self.rows, self.began = report, 0, monotonic()

    def tick(self, done: int, rows: int) -> None:
        """Count more rows, and report the progress."""
        self.rows += rows
        if self.report is not None:
            self.report(Progress(done, self.total, self.rows, monotonic() - self.began))


def blocks(sources: Iterable[Source], size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the lines of all sources in order, in blocks of about `size` bytes; a longer line is a block of its own."""
    before = 0
    for source in sources:
        stamp = source.stamp() if source.handle is None else None
        first, begin = True, 0 if source.span is None else source.span[0]
        with source.open() as file:
            for text in _whole_lines(file, size, source.live):
                done = before + file.position
                yield Block(
                    strip_byte_order_mark(text, source.name) if first and not begin else text, source.name, first, done
                )
                first = False
            before += file.position
        if stamp is not None and source.stamp() != stamp:
            raise DataError(source.name, "the file changed while it was read")


def _whole_lines(file: Bytes, size: int, live: bool) -> Iterator[Array]:
    """Yield the lines of a file, read `size` bytes at a time; a long line is gathered in room that grows with it.

    Lines of a live source are yielded as soon as they arrive.
    """
    rest, long, last = b"", bytearray(), False
    while not last:
        text = np.empty(len(rest) + size, np.uint8)
        text[: len(rest)] = np.frombuffer(rest, np.uint8)
        got = file.read_into(text[len(rest) :].data, live)
        text, last = text[: len(rest) + got], got == 0 if live else got < size
        end = len(text) if last else _last_line(text)
        if not (end or last):
            long += text.data
            rest = b""
            continue
        lines, rest = text[:end], text[end:].tobytes()
        if long or (end and lines[-1] != NEWLINE):
            long += lines.data
            long += b"" if long.endswith(b"\n") else b"\n"
            lines, long = np.frombuffer(long, np.uint8), bytearray()
        if len(lines):
            yield lines


def strip_byte_order_mark(text: Array, file: str) -> Array:
    """Return the text of a file's beginning without the byte-order mark."""
    head = text[:3].tobytes()
    if head.startswith(WIDE):
        raise DataError(file, "the file is in UTF-16: save it as UTF-8")
    return text[3:] if head == MARK else text


def _last_line(text: Array) -> int:
    """Return where the last whole line of a text ends, or 0."""
    for begin in range(len(text), 0, -(1 << 16)):
        found = text[max(0, begin - (1 << 16)) : begin].tobytes().rfind(b"\n")
        if found >= 0:
            return max(0, begin - (1 << 16)) + found + 1
    return 0
