"""The binary form of data: a file that opens at once and is read in place.

It is an uncompressed `.npz` archive, whose arrays lie in the file as they do in memory, each at a multiple of 64 bytes.
`numpy.load` reads it, and so does `scipy.sparse.load_npz`: sparse rows are the members that scipy writes, a table is
`X`. There are also `y`, `weights` where rows have them, and `meta.json`. Nothing in it is ever executed.
"""

import io
import json
import math
import mmap
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from linsep.data.dataset import Dataset
from linsep.data.errors import DataError
from linsep.data.rows import as_csr
from linsep.engine.arrays import Array, frozen
from linsep.engine.data_kinds import first_beyond, highest_index, place_of, rises
from linsep.validation.errors import ParameterError

VERSION = 1
"""Of the form: files of a later one are refused."""
NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")

Named = str | os.PathLike[str]

CHUNK = 1 << 22
"""Bytes that are summed up at once."""
MOST_DIRECTORY, MOST_HEADER, MOST = 1 << 16, 1 << 10, 2**62
"""A directory or a header of an array with more bytes than this, or more rows or columns, are no data of ours."""
START, END = b"PK\x03\x04", b"PK\x05\x06"
"""Signatures of a member's head, and of the last 22 bytes of an archive."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Map(mmap.mmap):
    """A file in memory with a name."""

    name: str

    def read(self, n: int | None = None) -> bytes:
        """Read on. That is for `zipfile`, which would take any size that a file claims for its directory."""
        if n is not None and n > MOST_DIRECTORY:
            raise zipfile.BadZipFile
        return super().read(n)


def map_file(path: Named) -> Map:
    """Return a file in memory.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     _ = file.write(b"1 3:0.5")
    ...     file.flush()
    ...     map_file(file.name)[:]
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
    """The place of a member in the file, and its checksum."""

    begin: int
    end: int
    checksum: int


class Archive:
    """Members of an archive by name. Their places are checked to lie within the file; their contents are not.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/rows.npz", y=np.array([1, -1]))
    ...     archive = Archive(map_file(f"{folder}/rows.npz"))
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


def align_memory(array: Array) -> Array:
    """Return the array if it lies where compiled code can read it, else a copy."""
    return array if array.flags.aligned else frozen(array.copy())


def is_binary(head: bytes) -> bool:
    r"""Return whether a file that begins so is in binary form; the first 64 bytes suffice to decide.

    >>> is_binary(b"PK\x03\x04"), is_binary(b"1 3:0.5")
    (True, False)
    """
    end = 30 + int.from_bytes(head[26:28], "little")
    return head.startswith(START) and (len(head) < max(end, 30) or head[30:end].endswith(b".npy"))


def open_binary(path: Named, *, verify: bool = False) -> Dataset:
    """Open a file in binary form: only its headers are read.

    The arrays are read-only views of the file, paged in as they are used. (Those of a file that was not written here,
    and do not lie where they can be used, are copied.) What the headers state is checked; what the arrays hold only if
    asked for. Learners refuse bad entries, but scipy trusts the indices of sparse rows: verify files
    from elsewhere.

    Parameters
    ----------
    path : path
        A file that :class:`~linsep.data.npz.writer.Writer` wrote; or scipy's `save_npz(..., compressed=False)`,
        with `y` added.
    verify : bool, default=False
        Read it all once: checksums, columns within the width and rising in each row, finite values.

    Raises
    ------
    DataError
        If the file is cut off, broken, or holds no data in this form.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from linsep.data.npz.writer import Writer
    >>> with TemporaryDirectory() as folder:
    ...     with Writer(f"{folder}/rows.npz") as file:
    ...         file.write(np.eye(2), np.array([1, -1]))
    ...     X, y = open_binary(f"{folder}/rows.npz")
    >>> X, y
    (array([[1., 0.], [0., 1.]]), array([ 1, -1]))
    """
    archive = _open(path)
    data = _dataset(archive)[0]
    if data.y.dtype.kind == "U" and align_memory(data.y).view(np.uint32).max(initial=0) > sys.maxunicode:
        raise archive.error("y holds text that is not Unicode: the file was damaged, or is not what it claims to be")
    if verify:
        archive.verify()
        for _ in blocks(data, 1 << 16, verify=True):
            pass
    return _usable(data, data.X, slice(None))


def about(path: Named) -> dict[str, Any]:
    """Return the notes that the writer of a file added.

    >>> from tempfile import TemporaryDirectory
    >>> from linsep.data.npz.writer import Writer
    >>> with TemporaryDirectory() as folder:
    ...     with Writer(f"{folder}/rows.npz", about={"source": "rows.svm"}) as file:
    ...         file.write(np.eye(2), np.array([1, -1]))
    ...     about(f"{folder}/rows.npz")
    {'source': 'rows.svm'}
    """
    return _dataset(_open(path))[1]


def blocks(data: Named | Dataset, block_rows: int = 10_000, *, verify: bool = False) -> Iterator[Dataset]:
    """Yield the rows in blocks, in place; memory does not grow with the file.

    Once the next block is asked for, the pages of the file before it are released. Blocks that are kept stay valid:
    their pages come back when they are used.

    Parameters
    ----------
    data : path, or Dataset
        A file in binary form, or what :func:`open_binary` returned.
    block_rows : int, default=10_000
        Rows of a block.
    verify : bool, default=False
        Refuse a block with columns outside of the width or not rising, or with values that are not finite, before
        it is handed out. (That entries lie within the file is always checked.)

    Examples
    --------
    >>> X, y = np.eye(3), np.array([1, -1, 1])
    >>> [len(block) for block in blocks(Dataset(X, y), 2)]
    [2, 1]
    """
    if block_rows < 1:
        raise ParameterError(f"block_rows={block_rows}: a block has one row at least")
    return _walk(data if isinstance(data, Dataset) else _dataset(_open(data))[0], block_rows, verify)


def _walk(data: Dataset, block_rows: int, verify: bool) -> Iterator[Dataset]:
    X, sparse = data.X, sp.issparse(data.X)
    by_entry = [Pages(X.data), Pages(X.indices)] if sparse else []
    by_row = [Pages(a) for a in (X.indptr if sparse else X, data.y, data.weights) if a is not None]
    maps = {held.map for held in by_entry + by_row if held.map is not None}
    name = next((found.name for found in maps), "<data>")
    for begin in range(0, len(data), block_rows):
        end = min(begin + block_rows, len(data))
        if any(found.size() < len(found) for found in maps):
            raise DataError(name, "the file was cut off while it was read")
        block = rows_between(data, begin, end, name)
        flaw = flaw_of(block, begin) if verify else None
        if flaw is not None:
            raise DataError(name, flaw)
        entries = int(X.indptr[end]) if sparse else 0
        yield block
        del block
        for held in by_entry:
            held.release(entries)
        for held in by_row:
            held.release(end)


def rows_between(data: Dataset, begin: int, end: int, name: str) -> Dataset:
    """Return some of the rows, as views."""
    X = data.X
    if isinstance(X, np.ndarray):
        return _usable(data, X[begin:end], slice(begin, end))
    indptr = X.indptr[begin : end + 1]
    first, last = int(indptr[0]), int(indptr[-1])
    if not 0 <= first <= last <= len(X.data) or np.any(indptr[1:] < indptr[:-1]):
        raise DataError(name, f"rows {begin} to {end - 1} do not lie one after the other (indptr is broken)")
    part = as_csr(X.data[first:last], X.indices[first:last], indptr - indptr[0], X.shape[1])
    return _usable(data, part, slice(begin, end))


def _usable(data: Dataset, X: Any, here: slice) -> Dataset:
    """Return some of the rows, X, with their labels: in place, but for what lies where compiled code can't read it."""
    if isinstance(X, np.ndarray):
        X = align_memory(X)
    else:
        X.data, X.indices, X.indptr = map(align_memory, (X.data, X.indices, X.indptr))
    weights = None if data.weights is None else align_memory(data.weights[here])
    return replace(data, X=X, y=align_memory(data.y[here]), weights=weights)


def flaw_of(data: Dataset, first: int = 0) -> str | None:
    """Return what is wrong with the entries of some rows, of which the first has this number; None if nothing is."""
    X, sparse = data.X, sp.issparse(data.X)
    stored: tuple[Array, ...] = ()
    if sparse:
        stored = indices, indptr = frozen(X.indices), frozen(X.indptr.astype(X.indices.dtype, copy=False))
        if len(indices) and highest_index(indices) >= X.shape[1]:
            k = int(np.flatnonzero((indices < 0) | (indices >= X.shape[1]))[0])
            row, column = place_of(k, X.shape[1], *stored)
            return f"row {first + row} has an entry in column {column}, but there are {X.shape[1]} columns"
        if not rises(indices, indptr):
            falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
            row, column = place_of(int(np.setdiff1d(falls, indptr)[0]), X.shape[1], *stored)
            return f"row {first + row} has column {column} twice, or out of order: X.sum_duplicates() puts that right"
    values = frozen(X.data if sparse else X.reshape(-1))
    if values.dtype.kind == "f":
        k = first_beyond(values, float(np.finfo(values.dtype).max))
        if k >= 0:
            row, column = place_of(k, X.shape[1], *stored)
            return f"row {first + row}, column {column} is {values[k]}, which is not a finite number"
    weights = data.weights if data.weights is not None else np.empty(0)
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        return f"row {first + bad[0]} has the weight {weights[bad[0]]}: weights are finite and not negative"
    if data.y.dtype.kind == "U" and data.y.size and data.y.view(np.uint32).max() > 0x10FFFF:
        return f"the labels from row {first} on hold characters that do not exist"
    return None


def _open(path: Named) -> Archive:
    map_ = map_file(path)
    if not is_binary(map_[:64]):
        raise DataError(map_.name, "the file is not in binary form (an uncompressed .npz archive)")
    return Archive(map_)


def _meta(archive: Archive) -> dict[str, Any]:
    """Return the description of the data in `meta.json`."""
    meta: dict[str, Any] = {"version": VERSION, "feature_names": None, "rejected": 0, "about": {}}
    if "meta.json" in archive.members:
        try:
            read = json.loads(archive.text("meta.json"))
        except (ValueError, RecursionError):
            raise archive.error("meta.json is not JSON") from None
        meta |= read if isinstance(read, dict) else {"version": None}
    names, version = meta["feature_names"], meta["version"]
    if isinstance(version, int) and version > VERSION:
        raise archive.error(f"the file has version {version} of the form, this is {VERSION}: update linsep")
    listed = names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names))
    counted = isinstance(meta["rejected"], int) and meta["rejected"] >= 0
    if version != VERSION or not (listed and counted and isinstance(meta["about"], dict)):
        raise archive.error("meta.json is incomplete: write the file again")
    return meta


def _dataset(archive: Archive) -> tuple[Dataset, dict[str, Any]]:
    """Return the data as views, after checking that all headers agree, and their description."""
    sparse = "indptr.npy" in archive.members
    needed = ("format", "shape", "data", "indices", "indptr", "y") if sparse else ("X", "y")
    missing = [name for name in needed if f"{name}.npy" not in archive.members]
    if missing == ["y"]:
        raise archive.error("the archive holds no labels (y.npy): linsep.convert writes files that do")
    if missing:
        raise archive.error(f"the archive holds no {missing[0]}.npy: it is no sparse matrix (csr), and no table X")
    meta, (*parts, y) = _meta(archive), [archive.array(f"{name}.npy") for name in needed]
    weights = archive.array("weights.npy") if "weights.npy" in archive.members else None
    X: Any = _rows(archive, *parts) if sparse else parts[0]
    if X.ndim != 2 or X.dtype.str[1:] not in NUMBERS:
        raise archive.error(f"X is an array of shape {X.shape} and type {X.dtype}, not a table of numbers")
    if y.shape != X.shape[:1] or (y.dtype.str[1:] not in NUMBERS and y.dtype.kind != "U"):
        raise archive.error(f"X has {X.shape[0]} rows, but y is an array of shape {y.shape} and type {y.dtype}")
    if weights is not None and (weights.shape != X.shape[:1] or weights.dtype != np.float64):
        raise archive.error(
            f"weights is an array of shape {weights.shape} and type {weights.dtype}, X has {X.shape[0]} rows"
        )
    names = meta["feature_names"]
    if names is not None and len(names) != X.shape[1]:
        raise archive.error(f"X has {X.shape[1]} columns, but {len(names)} names")
    return Dataset(X, y, feature_names=names, weights=weights, rejected=meta["rejected"]), meta["about"]


def _rows(archive: Archive, kind: Array, shape: Array, values: Array, indices: Array, indptr: Array) -> sp.csr_array:
    """Return sparse rows as views, if the headers agree."""
    if kind.tobytes().replace(b"\0", b"") != b"csr":
        raise archive.error("the matrix is not in csr format: save X.tocsr()")
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or not all(0 <= int(n) <= MOST for n in shape):
        raise archive.error("the matrix has no shape (shape.npy is broken)")
    if any(array.ndim != 1 for array in (values, indices, indptr)) or len(values) != len(indices):
        raise archive.error(f"data {values.shape}, indices {indices.shape} and indptr {indptr.shape} do not agree")
    rows, width = map(int, shape)
    index, large = indices.dtype, len(values) >= 2**31 or width > 2**31
    if index != indptr.dtype or index not in ((np.int64,) if large else (np.int32, np.int64)):
        raise archive.error(f"indices are {index}, indptr {indptr.dtype}: both are int32, or int64 where it takes that")
    if len(indptr) - 1 != rows or int(indptr[0]) != 0 or int(indptr[-1]) != len(values):
        raise archive.error(f"indptr does not describe {rows} rows with {len(values)} entries")
    return as_csr(values, indices, indptr, width)
