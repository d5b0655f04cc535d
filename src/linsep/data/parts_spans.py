"""Parts of files: where they are, and how they are read; what is sent to those that read them."""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

from linsep.data.errors import DataError
from linsep.data.form import Form
from linsep.data.lines import BLOCK_BYTES
from linsep.data.sources import Source

CHANGED = "the file changed since it was cut into parts: cut it again"


class Span(NamedTuple):
    """Some bytes, row groups, record batches or rows of a file, or all of it.

    Attributes
    ----------
    file, path : str
        The file as it was called, for messages, and where it is.
    begin, end : int
        From which to before which of its units.
    unit : str
        "bytes", "row groups", "record batches", "rows", or "file", which is one.
    size : int
        The stored bytes that it stands for.
    stamp : tuple of int
        The file's size and time of modification when it was cut.
    """

    file: str
    path: str
    begin: int
    end: int
    unit: str
    size: int
    stamp: tuple[int, int]

    def source(self) -> Source:
        """Return what reads it."""
        return Source(self.path, span=None if self.unit == "file" else (self.begin, self.end))

    def check(self) -> None:
        """Raise an error if the file is not there, or not as it was."""
        try:
            stamp = stamp_of(self.path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            reason = f"{why}: a machine that reads a part needs the file at {self.path!r}"
            raise DataError(self.file, reason) from None
        if stamp != self.stamp:
            raise DataError(self.file, CHANGED)


class Part(NamedTuple):
    """Rows that stand one after the other, in one file or several: where they are, and nothing of what they hold."""

    spans: tuple[Span, ...]

    @property
    def size(self) -> int:
        """The stored bytes that it stands for."""
        return sum(span.size for span in self.spans)

    def __str__(self) -> str:
        return "; ".join(f"{span.file}, {span.unit} {span.begin:,} to {span.end:,}" for span in self.spans)


@dataclass(frozen=True)
class Reading:
    """How parts are read: all that their readers need to know, and small, unless the names of the columns are many."""

    form: Form
    dtype: Any
    on_error: str = "raise"
    block_bytes: int = BLOCK_BYTES
    files: int = 1
    """How many files there are in all."""


def stamp_of(path: str) -> tuple[int, int]:
    """Return what changes when a file does, on every machine that sees it."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns
