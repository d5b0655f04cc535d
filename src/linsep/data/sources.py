"""Open sources of bytes: files, globs, folders of parts, open files, the standard input; compressed or not."""

import bz2
import glob
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from linsep.data.errors import DataError

MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""First bytes of compressed files."""
LONGEST_MAGIC = max(map(len, MAGIC))
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")
"""Suffixes of compressed files."""
CURES = {
    "bytes": ": io.BytesIO(...) makes a file of them",
    "ndarray": ": arrays need not be read, learners take them",
    "LazyFrame": ": collect() it first",
}
"""Fixes for objects that are no source of data."""
HEAD = 1 << 16
"""Bytes that are read to detect a format."""
CHUNK = 1 << 16
"""Compressed bytes that are read at once."""
XZ_PADDING = 4
"""Streams of xz may be followed by zero bytes, a multiple of so many."""
HIDDEN = (".", "_")
"""Files of a folder whose names begin so are no parts of the data: checksums, markers of success."""


@dataclass
class Source:
    """A stream of bytes: a file by name, or an open file."""

    name: str
    handle: Any = None
    table: bool = False
    """True if the source is a table in memory, which has no bytes."""
    once: bool = False
    """True if the source is read once even if it could be read again."""
    live: bool = False
    """True if lines are needed as soon as they arrive."""
    span: tuple[int, int] | None = None
    """Half-open range of the bytes, row groups, record batches or rows to read; None: all."""
    start: int = 0
    """The position of an open file when it was given: its rows begin there in every pass."""
    _begun: "Bytes | None" = None

    @property
    def rereadable(self) -> bool:
        """Return whether the source can be read more than once."""
        if self.once:
            return False
        if self.handle is None:
            return True
        if self.table:
            return not hasattr(self.handle, "read_next_batch")
        return hasattr(self.handle, "seekable") and bool(self.handle.seekable())

    @property
    def size(self) -> int | None:
        """Its bytes as they are stored, if known."""
        return self._stat().st_size if self.handle is None else None

    def stamp(self) -> tuple[int, int, int, int]:
        """Return what changes when the file does, even if its time of modification is put back."""
        found = self._stat()
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _stat(self) -> os.stat_result:
        try:
            return os.stat(self.name)
        except OSError as error:
            raise DataError(self.name, (error.strerror or str(error)).lower()) from None

    @property
    def packed(self) -> bool:
        """Return whether the source is compressed."""
        with self.open() as file:
            return file.compression is not None

    def is_at(self, path: Any) -> bool:
        """Return whether it is the file at this path."""
        return self.handle is None and os.path.exists(path) and os.path.samefile(self.name, path)

    def head(self) -> bytes:
        """Return how its decompressed bytes begin; they are not lost to what opens it next."""
        if self.rereadable:
            with self.open() as file:
                return file.peek()
        self._begun = self._begun or self.open()
        return self._begun.peek(a_line=True)

    def open(self) -> "Bytes":
        """Open it at its beginning, decompressed."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            return begun
        if self.handle is None:
            try:
                raw: Any = open(self.name, "rb", buffering=0)  # noqa: SIM115  (closed by Bytes)
            except OSError as error:
                raise DataError(self.name, (error.strerror or str(error)).lower()) from None
            return Bytes(self.name, raw if self.span is None else Range(raw, *self.span), own=True)
        if self.rereadable:
            self.handle.seek(self.start)
        return Bytes(self.name, getattr(self.handle, "buffer", self.handle), own=False)


class Pipe(io.RawIOBase):
    """A named pipe, or another file that is no regular one: opened when it is read, and read once."""

    def __init__(self, path: str) -> None:
        self.name, self._file = path, io.BytesIO()
        self._opened = False

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill the buffer as far as one read goes."""
        if not self._opened:
            self._file, self._opened = open(self.name, "rb", buffering=0), True  # type: ignore[assignment]  # noqa: SIM115
        got = self._file.readinto(buffer)
        if got == 0:
            self._file.close()
            self._file = io.BytesIO()
        return got

    def close(self) -> None:
        """Close it."""
        self._file.close()
        super().close()


class Range(io.RawIOBase):
    """The bytes of an open file from one place to before another, as they are."""

    def __init__(self, raw: Any, begin: int, end: int) -> None:
        self.raw, self.left = raw, end - begin
        raw.seek(begin)

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one read goes."""
        got = int(self.raw.readinto(memoryview(buffer)[: self.left]))
        self.left -= got
        return got

    def close(self) -> None:
        """Close the file."""
        self.raw.close()
        super().close()


class Counted(io.RawIOBase):
    """A raw reader that counts the bytes it returns, and returns peeked bytes again."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.count = raw, 0
        self.head = b""
        while any(len(magic) > len(self.head) and magic.startswith(self.head) for magic in MAGIC):
            more = _refuse_nonblocking(raw.read(1 if self.head else LONGEST_MAGIC))
            if not isinstance(more, bytes):
                raise TypeError("the file is open as text: open it in binary mode ('rb')")
            if not more:
                break
            self.head += more

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one read goes."""
        if not self.head and hasattr(self.raw, "readinto"):
            got = int(_refuse_nonblocking(self.raw.readinto(buffer)))
        else:
            data = self.head[: len(buffer)] if self.head else _refuse_nonblocking(self.raw.read(len(buffer)))
            got, self.head = len(data), self.head[len(data) :]
            buffer[:got] = data
        self.count += got
        return got


AFTER_END = "bytes after the end of the compressed data"


class GzipMembers(gzip.GzipFile):
    """Decompress members one after the other; what follows the last one is reported as such."""

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one step of decompression goes; 0 at the end."""
        try:
            return super().readinto(buffer)
        except gzip.BadGzipFile as error:
            if str(error).startswith("Not a gzipped file"):  # the first member's header was read when it was opened
                raise ValueError(AFTER_END) from None
            raise


class Members(io.RawIOBase):
    """Decompress members one after the other; a member is followed by another member, by padding, or by the end.

    The readers of `bz2` and `lzma` ignore everything after a member that is not a member, and so drop rows.

    >>> Members(io.BytesIO(bz2.compress(b"1 1:1 ") + bz2.compress(b"2:1")), bz2.BZ2Decompressor).readall()
    b'1 1:1 2:1'
    """

    def __init__(self, raw: Any, decompressor: Callable[[], Any], padding: int = 0) -> None:
        self._raw, self._decompressor, self._padding = raw, decompressor, padding
        self._member, self._ended = decompressor(), False

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one step of decompression goes; 0 at the end."""
        got = b""
        while not got and not self._ended:
            data = b""
            if self._member.eof:
                data = self._after_member()
                if not data:
                    self._ended = True
                    break
                self._member = self._decompressor()
                try:
                    got = self._member.decompress(data, len(buffer))
                except (OSError, lzma.LZMAError):
                    raise ValueError(AFTER_END) from None
                continue
            elif self._member.needs_input:
                data = self._raw.read(CHUNK)
                if not data:
                    raise EOFError("the file ends within a compressed member")
            got = self._member.decompress(data, len(buffer))
        buffer[: len(got)] = got
        return len(got)

    def _after_member(self) -> bytes:
        """Return the first bytes after a member and its padding; none at the end of the file."""
        data = self._member.unused_data or self._raw.read(CHUNK)
        zeros = 0
        while self._padding and data.startswith(b"\0"):
            rest = data.lstrip(b"\0")
            zeros += len(data) - len(rest)
            data = rest or self._raw.read(CHUNK)
        if self._padding and zeros % self._padding:
            raise ValueError(f"{zeros:,} zero bytes after a stream, not a multiple of {self._padding}")
        return bytes(data)


def _refuse_nonblocking(read: Any) -> Any:
    """Return what a read gave, unless the file had nothing to give yet, which is not its end."""
    if read is None:
        raise BlockingIOError("there is nothing to read yet: open it in blocking mode (os.set_blocking)")
    return read


class Bytes:
    """The decompressed bytes of a source, read in order; `position` counts bytes as they are stored."""

    def __init__(self, name: str, raw: Any, own: bool) -> None:
        self.name, self._raw, self._own = name, raw, own
        try:
            self._counted = Counted(raw)
        except OSError as error:
            raise DataError(name, (error.strerror or str(error)).lower()) from None
        begins = b"" if isinstance(raw, Range) else self._counted.head
        self.compression = next((kind for magic, kind in MAGIC.items() if begins.startswith(magic)), None)
        self._file = _decompressor(self._counted, self.compression, name)
        self._ahead = b""

    @property
    def position(self) -> int:
        """Return the number of bytes read."""
        return self._counted.count

    def read_into(self, view: memoryview, live: bool = False) -> int:
        """Fill the view as far as there are bytes, or are so far; 0 at the end. Broken compressed data are an error."""
        filled = min(len(self._ahead), len(view))
        view[:filled], self._ahead = self._ahead[:filled], self._ahead[filled:]
        try:
            while filled < len(view) and not (live and filled):
                got = self._file.readinto(view[filled:])
                if not got:
                    break
                filled += got
        except BlockingIOError as error:
            raise DataError(self.name, str(error)) from None
        except MemoryError:
            raise DataError(self.name, "there is not enough memory to read it") from None
        except (EOFError, OSError, lzma.LZMAError, zlib.error, ValueError) as error:
            if self.compression is None:
                raise DataError(self.name, str(error)) from None
            reason = f"the {self.compression} data are cut off or broken ({error}): compress the file again"
            raise DataError(self.name, reason) from None
        return filled

    def peek(self, a_line: bool = False) -> bytes:
        """Return the bytes that come next, enough to detect a format, or one line; they are not lost."""
        if not self._ahead:
            ahead, filled, got = bytearray(HEAD), 0, 1
            while got and filled < HEAD and not (a_line and b"\n" in ahead[:filled]):
                got = self.read_into(memoryview(ahead)[filled:], a_line)
                filled += got
            self._ahead = bytes(ahead[:filled])
        return self._ahead

    def close(self) -> None:
        """Close what was opened here."""
        if self._own:
            self._raw.close()

    def __enter__(self) -> "Bytes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _decompressor(raw: Any, kind: str | None, name: str) -> Any:
    if kind is None:
        return raw
    if kind == "gzip":
        return GzipMembers(fileobj=raw)
    if kind == "bz2":
        return Members(raw, bz2.BZ2Decompressor)
    if kind == "xz":
        return Members(raw, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), XZ_PADDING)
    return _zstd(raw, name)


def _zstd(raw: Any, name: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(name, "it is compressed with zstd: pip install 'linsep[arrow]' to read it") from None
    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")


def sources_of(what: Any) -> list[Source]:
    """Return the sources of a path, paths, a glob, a folder, an open file or "-", in a fixed order."""
    kind = type(what).__name__
    if hasattr(what, "__arrow_c_stream__") or kind == "DataFrame":
        return [Source(f"<{kind}>", what, table=True)]
    if isinstance(what, str) and what == "-":
        if sys.stdin is None:
            raise DataError("-", "there is no standard input: name a file")
        return [Source("-", sys.stdin.buffer, once=True)]
    if isinstance(what, (str, os.PathLike)):
        return _sources_at(os.path.expanduser(os.fspath(what)))
    if hasattr(what, "read"):
        seekable = hasattr(what, "seekable") and what.seekable()
        return [Source(str(getattr(what, "name", "<file>")), what, start=what.tell() if seekable else 0)]
    if isinstance(what, (list, tuple, set, frozenset, Iterator)):
        found = [source for part in what for source in sources_of(part)]
        if not found:
            raise DataError("[]", "there is no file in the list")
        return found
    raise TypeError(
        f"data come from a path, a list of them, an open file, a table or '-'; got {kind}{CURES.get(kind, '')}"
    )


def _sources_at(path: str) -> list[Source]:
    if os.path.isdir(path):
        return _parts(path)
    if glob.has_magic(path) and not os.path.exists(path):
        found = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not found:
            raise DataError(path, "no file matches the pattern")
        return [Source(p) for p in found]
    if not os.path.exists(path):
        raise DataError(path, "it is no file, but an address: download it first" if "://" in path else "no such file")
    return [Source(path) if os.path.isfile(path) else Source(path, Pipe(path))]


def _parts(folder: str) -> list[Source]:
    """Return the files of a folder, which must be parts of one whole by the ends of their names."""
    seen = sorted(p for p in Path(folder).iterdir() if not p.name.startswith(HIDDEN))
    parts = [p for p in seen if p.is_file()]
    kinds = sorted({suffix_of(p.name) for p in parts})
    inner = [p.name for p in seen if p.is_dir()]
    if inner:
        raise DataError(
            folder, f"there is a folder in it, {inner[0]!r}: choose the files with a pattern such as **/*.svm"
        )

    if len(kinds) > 1:
        several = ", ".join(repr(kind) for kind in kinds)
        raise DataError(folder, f"the names of its files end in several ways ({several}): choose them with a pattern")
    if not parts:
        raise DataError(folder, "the folder holds no files")
    return [Source(str(part)) for part in parts]


def suffix_of(name: str) -> str:
    """Return the suffix that names a file's format: without that of a compression, or a number.

    >>> suffix_of("rows.svm.gz"), suffix_of("part-0.csv"), suffix_of("part.0017")
    ('.svm', '.csv', '')
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    while suffixes and (suffixes[-1] in PACKED or suffixes[-1][1:].isdigit()):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
