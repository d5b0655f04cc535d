"""Pipes and terminals, where somebody waits at the other end."""

import io
import os
import stat
import sys
from contextlib import suppress
from typing import Any

from linsep.cli.errors import UsageError

STDIN = "-"
PIPE_BYTES = 1 << 20
"""What a pipe is asked to hold, so that a program that writes much need not wait for each row to be answered."""


class Waiting(io.RawIOBase):
    """Bytes of a pipe or a terminal: a read waits for the first of them, and takes all that are there by then."""

    def __init__(self, raw: Any, name: str) -> None:
        self.name, self._raw, self._ended = name, raw, False
        self._there = _poll_of(raw.fileno())

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill the buffer with what is there; wait if that is nothing."""
        got: int | None = 0 if self._ended else self._raw.readinto(buffer)
        while got and got < len(buffer) and self._there is not None and self._there.poll(0):
            more = self._raw.readinto(memoryview(buffer)[got:])
            if not more:
                self._ended = more == 0
                break
            got += more
        return got

    def close(self) -> None:
        """Close it, unless it is the standard input."""
        if self.name != STDIN:
            self._raw.close()
        super().close()


def pipe_input(data: list[Any]) -> Waiting | None:
    """Return what the data are read from, if they are a pipe, a terminal or a device; else None."""
    if data == [STDIN]:
        if sys.stdin is None:
            raise UsageError("there is no standard input: name a file")
        raw = getattr(getattr(sys.stdin, "buffer", None), "raw", None)
        return None if raw is None or stat.S_ISREG(os.fstat(raw.fileno()).st_mode) else Waiting(raw, STDIN)
    if len(data) != 1 or not os.path.exists(data[0]) or os.path.isfile(data[0]) or os.path.isdir(data[0]):
        return None
    return Waiting(open(data[0], "rb", buffering=0), data[0])


def _poll_of(descriptor: int) -> Any:
    """Return what tells whether more is there, on systems that have it; make room in the pipe, if it is one."""
    with suppress(ImportError):
        import fcntl

        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # it is no pipe, or others have had all the room
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with suppress(ImportError, AttributeError):
        import select

        there = select.poll()
        there.register(descriptor, select.POLLIN)
        return there
    return None
