"""Writes rows to a file in binary form, block by block, in bounded memory."""

import json
import math
import os
import struct
import tempfile
import zipfile
from collections import defaultdict
from functools import partial
from typing import IO, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from linsep.data.dataset import Dataset
from linsep.data.errors import DataError
from linsep.data.npz.file import CHUNK, VERSION, Named, flaw_of
from linsep.data.rows import as_csr
from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.validation.errors import InvalidDataError
from linsep.validation.labels import refuse_mixed

ALIGN = 64
"""Arrays begin at a multiple of this many bytes: a line of the processor's cache."""
LONGEST_LABEL = 1000
"""Characters of a word that is a label: all labels take as much room as the longest."""
PADDING = 0xD935
"""The zip format's name for a field that only fills up room."""


class UniformRows(NamedTuple):
    """Rows that were written one after the other, alike in type and width."""

    dtype: np.dtype[Any]
    columns: int
    rows: int


class Section:
    """An array whose size and type are known only at the end; until then it is in a temporary file without a name."""

    def __init__(self, folder: str) -> None:
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed by pour or by the writer)
        self.runs: list[UniformRows] = []
        self.rows = 0

    def add(self, array: Array) -> None:
        """Append rows, or numbers."""
        self.file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        new = UniformRows(array.dtype, math.prod(array.shape[1:]), len(array))
        if self.runs and self.runs[-1][:2] == new[:2]:
            new = new._replace(rows=new.rows + self.runs.pop().rows)
        self.runs.append(new)
        self.rows += len(array)

    def dtype(self, default: Any) -> np.dtype[Any]:
        """Return the type that holds all of them."""
        kinds = [run.dtype for run in self.runs if run.rows] or [run.dtype for run in self.runs] or [np.dtype(default)]
        return np.result_type(*kinds)

    def pour(self, out: IO[bytes], dtype: np.dtype[Any], columns: int) -> None:
        """Write all of it, in one type and width, and throw it away here."""
        self.file.seek(0)
        for kind, width, rows in self.runs:
            step = max(1, CHUNK // max(1, kind.itemsize * width))
            for begin in range(0, rows, step):
                count = min(step, rows - begin)
                chunk = np.frombuffer(self.file.read(count * width * kind.itemsize), kind).reshape(count, width)
                if width < columns:
                    chunk = np.pad(chunk, ((0, 0), (0, columns - width)))
                out.write(chunk.astype(dtype, copy=False).reshape(-1).view(np.uint8).data)
        self.file.close()


class Writer:
    """Writes rows to a file in binary form, block by block, in bounded memory.

    The file appears, whole, when the `with` block ends; if it ends in an error, what was there before stays. Until
    then the rows are in temporary files without names, in the same folder.

    Parameters
    ----------
    path : path
        The file. One that exists is replaced; those who have it open keep the old one.
    about : dict, optional
        Anything that can be JSON, to be kept with the data (see :func:`linsep.data.npz.file.about`).
    private : bool, default=False
        Let only the user read the file.

    Attributes
    ----------
    feature_names : sequence of str, or None
        Can be set until the end.
    rejected : int
        The number of rows that were left out as malformed; can be set until the end.
    rows : int
        Rows so far.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Writer(f"{folder}/rows.npz") as file:
    ...         file.write(sp.csr_array([[0.0, 2.0]]), np.array([1]))
    ...         file.write(sp.csr_array([[0.0, 0.0, 3.0]]), np.array([0.5]))
    ...     with np.load(f"{folder}/rows.npz") as saved:
    ...         saved["data"], saved["indices"], saved["y"]
    (array([2., 3.]), array([1, 2], dtype=int32), array([1. , 0.5]))
    """

    def __init__(self, path: Named, about: dict[str, Any] | None = None, *, private: bool = False) -> None:
        self.path = os.path.realpath(path)
        if os.path.isdir(self.path) or not os.path.isdir(os.path.dirname(self.path)):
            raise DataError(os.fspath(path), "it can't be written: it is a folder, or in a folder that does not exist")
        self.about = json.loads(json.dumps(about or {}))
        self.private = private
        self.feature_names: Any = None
        self.rejected = 0
        self.rows = self.width = 0
        self._sparse: bool | None = None
        self._labels: set[str] = set()
        self._whole = True
        self._sections = defaultdict[str, Section](partial(Section, os.path.dirname(self.path)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for section in self._sections.values():
                section.file.close()

    def write(self, X: Any, y: Any, weights: Any = None) -> None:
        """Append rows.

        Parameters
        ----------
        X : csr_array or array of float32 or float64, (rows, features)
            All blocks are sparse, or all are tables. Later ones may be wider: the rows before have zeros there.
        y : array, (rows,)
            Numbers, or words. Whole numbers and fractions together become fractions.
        weights : array, (rows,), optional
            Rows without have weight 1, if any have some.
        """
        X, y = _table(X), _labels(y)
        weights = None if weights is None else np.asarray(weights, np.float64)
        rows, sparse = X.shape[0], sp.issparse(X)
        if y.shape != (rows,) or (weights is not None and weights.shape != (rows,)):
            raise InvalidDataError(
                f"X has {rows} rows, y has shape {y.shape}, weights {np.shape(weights)}: one each a row"
            )
        if self._sparse not in (None, sparse):
            raise InvalidDataError("a file holds sparse rows, or rows of a table, not both")
        kinds = self._kinds(y)
        flaw = flaw_of(Dataset(X, y, weights=weights), self.rows)
        if flaw is not None:
            raise InvalidDataError(f"{flaw}; nothing of this block is written")
        self._whole = False
        parts = {"y": y, "X": X}
        if sparse:
            indptr = X.indptr[1:].astype(np.int64) + self._sections["data"].rows
            parts = {"y": y, "data": X.data, "indices": X.indices, "indptr": indptr}
        for name, part in parts.items():
            self._sections[name].add(part)
        if weights is not None and "weights" not in self._sections:
            for begin in range(0, self.rows, CHUNK):
                self._sections["weights"].add(np.ones(min(CHUNK, self.rows - begin)))
        if weights is not None or "weights" in self._sections:
            self._sections["weights"].add(np.ones(rows) if weights is None else weights)
        self._sparse, self._labels = sparse, kinds
        self.rows, self.width = self.rows + rows, max(self.width, X.shape[1])
        self._whole = True

    def _kinds(self, y: Array) -> set[str]:
        """Return the kinds of labels with those of a block, if one type can hold all of them as they are."""
        if not len(y):
            return self._labels
        large = y.dtype.kind == "i" and (int(y.min()) < -(2**53) or int(y.max()) > 2**53)
        kinds = self._labels | {y.dtype.kind} | ({"large"} if large else set())
        if "U" in kinds and len(kinds) > 1:
            raise InvalidDataError("y mixes words and numbers: give all labels one type")
        if {"large", "f"} <= kinds:
            raise InvalidDataError("y mixes fractions and whole numbers beyond 2**53, which no one type holds exactly")
        return kinds

    def _finish(self) -> None:
        """Put the sections together, and the file in its place."""
        if not self._whole:
            raise ValueError(f"{self.path}: a block was written in part, so that the file can't be whole")
        names = None if self.feature_names is None else list(self.feature_names)
        if names is not None and len(names) != self.width:
            raise ValueError(f"there are {len(names)} feature_names for {self.width} columns")
        meta = {"version": VERSION, "feature_names": names, "rejected": int(self.rejected), "about": self.about}
        with atomic_write(self.path, private=self.private) as draft, zipfile.ZipFile(draft, "w") as archive:
            self._pour(archive)
            with _member(archive, "meta.json") as out:
                out.write(json.dumps(meta).encode())

    def _pour(self, archive: zipfile.ZipFile) -> None:
        """Write all arrays."""
        parts: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        if self._sparse is False:
            parts["X"] = self._sections["X"].dtype(np.float64), (self.rows, self.width)
        else:
            for name, what in (("format", b"csr"), ("shape", [self.rows, self.width]), ("_is_array", True)):
                with _member(archive, f"{name}.npy") as out:
                    np.lib.format.write_array(out, np.array(what))
            values, indices = self._sections["data"], self._sections["indices"]
            large = values.rows >= 2**31 or self.width > 2**31
            index = np.dtype(np.int64) if large else indices.dtype(np.int32)
            parts["data"] = values.dtype(np.float64), (values.rows,)
            parts |= {"indices": (index, (values.rows,)), "indptr": (index, (self.rows + 1,))}
        parts["y"] = self._sections["y"].dtype(np.int64), (self.rows,)
        if "weights" in self._sections:
            parts["weights"] = np.dtype(np.float64), (self.rows,)
        for name, (dtype, shape) in parts.items():
            with _member(archive, f"{name}.npy") as out:
                np.lib.format.write_array_header_1_0(out, {"descr": dtype.str, "fortran_order": False, "shape": shape})
                if name == "indptr":
                    out.write(bytes(dtype.itemsize))
                self._sections[name].pour(out, dtype, math.prod(shape[1:]))


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Begin a member whose contents lie at a multiple of ALIGN; the header of an array has such a length, too."""
    info = zipfile.ZipInfo(name)
    assert archive.fp is not None
    begin = archive.fp.tell() + 30 + len(name) + 4 + 20  # the member's header, its name, this field, that of sizes
    info.extra = struct.pack("<2H", PADDING, -begin % ALIGN) + bytes(-begin % ALIGN)
    return archive.open(info, "w", force_zip64=True)


def _table(X: Any) -> Any:
    """Return rows that a file can hold, or raise an error that names the fault."""
    sparse = sp.issparse(X)
    if not (sparse or isinstance(X, np.ndarray)) or X.ndim != 2:
        raise TypeError(f"X is a {type(X).__name__}: rows are a csr_array, or a numpy array of two dimensions")
    if X.dtype not in (np.float32, np.float64):
        raise TypeError(f"X is of type {X.dtype}: values are float32 or float64")
    if not sparse:
        return np.ascontiguousarray(X)
    if X.format != "csr":
        raise TypeError(f"X is a sparse matrix in {X.format} format: write X.tocsr()")
    indptr, end = X.indptr, int(X.indptr[-1])
    ends = (len(indptr) == X.shape[0] + 1, indptr[0] == 0, end <= min(len(X.indices), len(X.data)))
    if not all(ends) or np.any(indptr[1:] < indptr[:-1]):
        raise InvalidDataError("X.indptr does not describe rows of X.indices and X.data: check X with X.check_format()")
    return as_csr(X.data[:end], X.indices[:end], indptr, X.shape[1])


def _labels(y: Any) -> Array:
    """Return labels as bool, int64, float64 or words."""
    if isinstance(y, (list, tuple)):
        refuse_mixed(y)
    y = np.asarray(y)
    if y.dtype.kind == "u" and y.size and int(y.max()) > np.iinfo(np.int64).max:
        raise InvalidDataError(f"y holds {y.max()}, which is too large for int64")
    if y.dtype.kind == "b":
        return y
    if y.dtype.kind in "iuf":
        return y.astype(np.float64 if y.dtype.kind == "f" else np.int64, copy=False)
    if y.dtype.kind != "U":
        raise TypeError(f"y is of type {y.dtype}: labels are numbers, or words (an array of str, not of objects)")
    if 0 < y.dtype.itemsize <= 4 * LONGEST_LABEL:
        return y
    longest = int(np.strings.str_len(y).max(initial=1))
    if longest > LONGEST_LABEL:
        raise InvalidDataError(f"y has a label of {longest} characters, the most are {LONGEST_LABEL}: is it a label?")
    return y.astype(f"U{longest}")
