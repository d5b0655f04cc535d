"""Describe a malformed row: the fault, its place, and the action to take."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, Literal, NamedTuple

from linsep.engine.atomic_write import naming
from linsep.validation.errors import ParameterError

OnError = Literal["raise", "skip", "quarantine"]
"""Policy for malformed rows."""
POLICIES = ("raise", "skip", "quarantine")
"""Valid policies for malformed rows."""
NO_ROWS = "there are no rows to learn from or to predict"
"""The reason of an error where the sources hold no row, neither a sound nor a malformed one."""
SHOWN = 60
"""Characters of the text at fault that an error shows."""


class DataError(ValueError):
    """A malformed row, or a file that can't be read.

    Attributes
    ----------
    file : str
        The file's name; "-" is the standard input.
    line, column : int or None
        The place, both counted from 1; columns count bytes.
    reason : str
        The fault, with the text at fault.
    """

    def __init__(self, file: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = file + (f", line {line:,}" if line else "") + (f", column {column:,}" if column else "")
        super().__init__(f"{place}: {reason}")
        self.file, self.line, self.column, self.reason = file, line, column, reason

    def __reduce__(self) -> tuple[type, tuple[str, str, int | None, int | None]]:
        return type(self), (self.file, self.reason, self.line, self.column)


class RowError(NamedTuple):
    """A row that can't be used: its line in the block (from 0), the place and the text at fault, the row itself."""

    line: int
    column: int | None
    reason: str
    row: bytes


def quote(text: bytes) -> str:
    """Return text at fault for an error message: short, in quotes, with what can't be printed escaped."""
    cut = text[:SHOWN]
    return ascii(cut.decode("utf-8", "backslashreplace")) + ("..." if len(text) > SHOWN else "")


def is_one_of(value: Any, words: Iterable[str]) -> bool:
    """Return whether a value that may be of any type is one of some words."""
    return isinstance(value, str) and value in words


class ErrorPolicy:
    """Handle malformed rows: "raise", "skip" or "quarantine"; count them.

    Quarantined rows are written to a file as they were, one after the other. If `deferred` is True, the error of the
    first malformed row is kept in `error` instead of raised, for the caller to raise after the rows before it.
    """

    def __init__(
        self, on_error: str = "raise", quarantine: str | Path | None = None, *, deferred: bool = False
    ) -> None:  # fmt: skip
        if not is_one_of(on_error, POLICIES):
            raise ParameterError(f"on_error={on_error!r}: it is 'raise', 'skip' or 'quarantine'")
        if not isinstance(quarantine, (str, PathLike, NoneType)):
            raise ParameterError(f"quarantine={quarantine!r}: it is the path of a file, or None")
        if (on_error == "quarantine") != (quarantine is not None):
            raise ParameterError('on_error="quarantine" and quarantine=<file for the rows> go together')
        self.on_error = on_error
        self.path = None if quarantine is None else Path(quarantine)
        self.deferred = deferred
        self.rejected = 0
        self.error: DataError | None = None
        self.lines: list[int] = []
        """The lines of the malformed rows of the last part, from 0 at the part's first."""
        self._file: BinaryIO | None = None

    def restart(self, *, deferred: bool = False) -> "ErrorPolicy":
        """Return the policy for another pass over the data: counts, and the quarantine file, start again."""
        policy = ErrorPolicy(self.on_error, self.path, deferred=deferred)
        policy._file = None if self.path is None else self._open(self.path)
        return policy

    def take(self, faults: list[RowError], file: str, first_line: int) -> None:
        """Handle the malformed rows of a part whose first line has this number; raise at the first if asked to."""
        self.lines = [fault.line for fault in faults]
        for fault in faults:
            error = DataError(file, fault.reason, first_line + fault.line, fault.column)
            if self.on_error == "raise":
                self.error = error
                if self.deferred:
                    return
                raise error
            self.rejected += 1
            if self.path is not None:
                self._file = self._file or self._open(self.path)
                with naming(self.path):
                    self._file.write(fault.row.rstrip(b"\n") + b"\n")

    def _open(self, path: Path) -> BinaryIO:
        try:
            return path.open("wb")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise DataError(str(path), f"rows can't be quarantined there: {why}") from None

    def close(self) -> None:
        """Close the quarantine file."""
        if self._file is not None and self.path is not None:
            file, self._file = self._file, None
            with naming(self.path):
                file.close()
