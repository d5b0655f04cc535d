r"""Text for a terminal: control characters are escaped, and a terminal that is gone is no error.

Every text for people passes :func:`escape`: lines on stderr by :func:`say`, all others by the consoles and the `Text`
of :mod:`linsep.cli.terminal.output`, before they are laid out.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable

import typer

LEAST = 20
"""Columns that text is laid out for at least; a narrower terminal breaks the lines itself."""
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tabs and ends of lines, marks that change the direction of text, and lone surrogates."""


def columns() -> int:
    """Return the width of the terminal, or LEAST if it is narrower."""
    return max(shutil.get_terminal_size().columns, LEAST)


def escape(text: str) -> str:
    r"""Escape what a terminal would obey instead of showing it; keep tabs and ends of lines.

    >>> print(escape("\x1b[31mred\x9b \u202edrow\nbyte \udcff"))
    \x1b[31mred\x9b \u202edrow
    byte \xff
    """
    return UNPRINTABLE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def word(value: object) -> str:
    r"""Return a label, the name of a feature or a path in one line, with tabs and ends of lines escaped, too.

    >>> print(word("two\nlines"), word(-1))
    two\nlines -1
    """
    return escape(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def words(values: Iterable[object]) -> str:
    """Return labels, names or paths with commas between them."""
    return ", ".join(map(word, values))


def say(line: str) -> None:
    """Print a line on stderr."""
    typer.echo(" ".join(escape(line).split()), err=True)


class Unread(io.TextIOWrapper):
    """A stream for remarks: what can't be written, as its reader is gone or its disk is full, is dropped."""

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            return super().write(text)
        except OSError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Flush what was written, or drop it."""
        try:
            super().flush()
        except OSError:
            self._drop()

    def _drop(self) -> None:
        silence(self.fileno())


def silence(descriptor: int) -> None:
    """Let what is still to be written to an open file go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def guard_streams() -> None:
    """Let the standard streams of this process take any text, and stderr fail no work.

    An ASCII terminal gets a mark in the place of other characters. Where a stream is closed, no file that a command
    opens may take its number: what libraries print would go into that file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if isinstance(sys.stderr, io.TextIOWrapper):
        below = io.BufferedWriter(io.FileIO(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = Unread(below, sys.stderr.encoding, "replace", line_buffering=True)
