"""An uncompressed `.npz` archive that is mapped into memory: its members, and its arrays as views of the file."""

import io
import math
import mmap
import os
import struct
import zipfile
import zlib
from typing import IO, Any, NamedTuple, cast

import numpy as np

from linsep.data.errors import DataError
from linsep.engine.arrays import Array

Named = str | os.PathLike[str]

CHUNK = 1 << 22
"""Bytes that are summed up at once."""
MOST_DIRECTORY, MOST_HEADER, MOST = 1 << 16, 1 << 10, 2**62
"""A directory or a header of an array with more bytes than this, or more rows or columns, are no data of ours."""
START, END = b"PK\x03\x04", b"PK\x05\x06"
"""How a member begins, and the last 22 bytes of an archive."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Map(mmap.mmap):
    """A file in memory, which knows its name."""

    name: str

    def read(self, n: int | None = None) -> bytes:
        """Read on. That is for `zipfile`, which would take any size that a file claims for its directory."""
        if n is not None and n > MOST_DIRECTORY:
            raise zipfile.BadZipFile
        return super().read(n)


def mapped(path: Named) -> Map:
    """Return a file in memory.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     _ = file.write(b"1 3:0.5")
    ...     file.flush()
    ...     mapped(file.name)[:]
    b'1 3:0.5'
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise DataError(name, "the file is empty")
            map_ = Map(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise DataError(name, (error.strerror or str(error)).lower()) from None
    map_.name = name
    return map_


class Member(NamedTuple):
    """Where a member lies in the file, and its checksum."""

    begin: int
    end: int
    checksum: int


class Archive:
    """What an archive holds, by name: that all of it lies within the file is checked, what it is not.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/rows.npz", y=np.array([1, -1]))
    ...     archive = Archive(mapped(f"{folder}/rows.npz"))
    >>> "y.npy" in archive.members, archive.array("y.npy")
    (True, array([ 1, -1]))
    """

    def __init__(self, map_: Map) -> None:
        self.map = map_
        self.members: dict[str, Member] = {}
        if map_[-22:-18] != END:
            raise self.error("the file is cut off, or something was appended to it: write it again")
        broken = self.error("the archive's directory is broken: write the file again")
        try:
            with zipfile.ZipFile(cast(IO[bytes], map_)) as directory:
                infos = directory.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, struct.error):
            raise broken from None
        count = int.from_bytes(map_[-12:-10], "little")
        if count not in (len(infos), 0xFFFF):  # a length that lies makes zipfile pass over what comes after it
            raise broken
        for info in infos:
            name, at = info.orig_filename, info.header_offset
            if at not in range(len(map_) - 30) or name in self.members:
                raise broken
            mark, *lengths = struct.unpack_from("<4s22x2H", map_, at)
            begin = at + 30 + sum(lengths)
            if mark != START or map_[at + 30 : at + 30 + lengths[0]] != name.encode():
                raise broken
            if info.compress_type or info.flag_bits & 1 or info.compress_size != info.file_size:
                raise self.error(f"{name} is compressed or encrypted: save it with compressed=False, or numpy.savez")
            if begin + info.file_size > len(map_):
                raise broken
            self.members[name] = Member(begin, begin + info.file_size, info.CRC)

    def error(self, reason: str) -> DataError:
        """Return an error that names the file."""
        return DataError(self.map.name, reason)

    def text(self, name: str) -> bytes:
        """Return a member as it is."""
        return self.map[self.members[name].begin : self.members[name].end]

    def array(self, name: str) -> Array:
        """Return an array of up to two dimensions as a view."""
        begin, end, _ = self.members[name]
        head = io.BytesIO(self.map[begin : min(begin + MOST_HEADER, end)])
        try:
            shape, fortran, dtype = HEADERS[np.lib.format.read_magic(head)](head)
        except Exception as error:  # it is read as a Python literal, and there is hardly an error that can't cause
            raise self.error(f"{name} is not an array") from error
        start = begin + head.tell()
        if dtype.kind not in "biufSU" or len(shape) > 2:
            raise self.error(f"{name} is no array of plain numbers or words")
        if not dtype.isnative or fortran:
            raise self.error(f"{name} is in the byte order of another machine, or in Fortran order")
        sizes = all(0 <= size <= MOST for size in shape)
        if not sizes or not dtype.itemsize or math.prod(shape) * dtype.itemsize != end - start:
            raise self.error(f"{name} has {end - start} bytes, which is not what its shape {shape} takes")
        return np.frombuffer(self.map, np.uint8)[start:end].view(dtype).reshape(shape)

    def verify(self) -> None:
        """Read all of it, and refuse what does not have its checksum."""
        pages = Pages(np.frombuffer(self.map, np.uint8))
        for name, member in self.members.items():
            checksum = 0
            for begin in range(member.begin, member.end, CHUNK):
                checksum = zlib.crc32(memoryview(self.map)[begin : min(begin + CHUNK, member.end)], checksum)
                pages.release(begin)
            if checksum != member.checksum:
                raise self.error(f"the checksum of {name} is wrong: the file was damaged, or changed")


class Pages:
    """The memory pages behind an array that is part of a mapped file; those of other arrays are left alone."""

    def __init__(self, array: Array) -> None:
        self.row_bytes = array.itemsize * math.prod(array.shape[1:])
        whole: Any = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        below = whole.base.obj if isinstance(whole.base, memoryview) else whole.base
        self.map: Map | None = below if isinstance(below, Map) and array.size else None
        self.begin = array.ctypes.data - whole.ctypes.data
        self.held = self.begin // mmap.PAGESIZE * mmap.PAGESIZE

    def release(self, rows: int) -> None:
        """Release the pages before a row; they are read from the file again when they are used."""
        stop = (self.begin + rows * self.row_bytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if self.map is not None and stop > self.held and hasattr(mmap, "MADV_DONTNEED"):
            self.map.madvise(mmap.MADV_DONTNEED, self.held, stop - self.held)
            self.held = stop


def frozen(array: Array) -> Array:
    """Return a read-only view, for which alone checks are compiled."""
    view = array.view()
    view.flags.writeable = False
    return view


def aligned(array: Array) -> Array:
    """Return the array if it lies where compiled code can read it, else a copy."""
    return array if array.flags.aligned else frozen(array.copy())
