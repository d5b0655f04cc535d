"""Read and write checksummed model files: named arrays and a description.

The file is a safetensors file: arrays side by side, and before them a header in JSON. Its metadata hold a SHA-256 and
then the description that it is of, JSON too, with the SHA-256 of every array: every bit is checked.
Nothing in a file is executed, and the arrays take no more memory than the file has bytes.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from linsep.engine.arrays import Array
from linsep.engine.atomic_write import atomic_write
from linsep.validation.errors import ParameterError

FORMAT = 1
"""The version of the format: raised when files written now could not be read by earlier releases."""
ABOUT = "linsep"
"""Key of the description in the metadata, after its digest: one entry, as several have no fixed order."""
DTYPES = {
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32", "int32": "I32",
    "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
"""The types of arrays, as numpy and as safetensors call them, in the order in which safetensors files hold them."""

MOST_HEADER = 100_000_000
"""Bytes of the header of a safetensors file, all that its readers accept."""


class ModelError(ValueError):
    """A model file that can't be read, and why.

    Attributes
    ----------
    path : str
        The file.
    reason : str
        The fault and the fix; what can't be printed is spelled out.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        reason = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in reason)
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path, self.reason = os.fspath(path), reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason)


def write(path: str | os.PathLike[str], about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file atomically; the bytes are those that `safetensors.numpy.save` returns.

    The functions of safetensors itself hold a copy of all arrays, or write to a temporary file of their own, which a
    killed process leaves behind.
    """
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    whole = {**about, "format": FORMAT, "tensors": {name: _entry(array) for name, array in solid.items()}}
    text = json.dumps(whole, allow_nan=False)
    kinds = list(DTYPES)
    names = sorted(solid, key=lambda name: (kinds.index(solid[name].dtype.name), name))
    header: dict[str, Any] = {"__metadata__": {ABOUT: f"{hashlib.sha256(text.encode()).hexdigest()} {text}"}}
    end = 0
    for name in names:
        begin, end = end, end + solid[name].nbytes
        kind, shape = DTYPES[solid[name].dtype.name], list(solid[name].shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    try:
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise ParameterError(
            f"{error.object[error.start]!r} can't be part of a name in a file: rename the step or key"
        ) from None
    head += b" " * (-len(head) % 8)
    if len(head) > MOST_HEADER:
        raise ParameterError(
            f"the description takes {len(head):,} bytes, and a file holds {MOST_HEADER:,}: shorten about="
        )
    with atomic_write(path) as draft, open(draft, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in names:
            file.write(_bytes_of(solid[name]))


def _entry(array: Array) -> dict[str, Any]:
    """Return what vouches for an array."""
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": _digest(array)}


def _digest(array: Array) -> str:
    return hashlib.sha256(_bytes_of(array)).hexdigest()


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the arrays of a file, all of them checked."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise ModelError(path, "it is a folder: give the file of a model")
    if not stat.S_ISREG(mode):
        raise ModelError(path, "it is not a regular file: a model is read from a file, not from a pipe")
    try:
        with open(path, "rb") as file:
            head = file.read(8)
        with safe_open(path, framework="numpy") as file:
            about = _about(path, file.metadata() or {})
            return about, {name: _checked(path, name, file, entry) for name, entry in _entries(path, about, file)}
    except SafetensorError:
        empty = " (it is empty)" if not head else ""
        cure = "copy or save it again" if _looks_cut(path, head) else "load takes files that save wrote"
        raise ModelError(path, f"not a linsep model, or truncated{empty}: {cure}") from None


def _looks_cut(path: str | os.PathLike[str], head: bytes) -> bool:
    """Return whether a file could be the beginning of a model."""
    size = int.from_bytes(head, "little")
    with open(path, "rb") as file:
        file.seek(8)
        return len(head) == 8 and size < 1 << 40 and file.read(1) in (b"", b"{")


def _about(path: str | os.PathLike[str], metadata: dict[str, str]) -> dict[str, Any]:
    if ABOUT not in metadata:
        raise ModelError(path, "it is a safetensors file, but not a model that linsep saved")
    digest, _, text = metadata[ABOUT].partition(" ")
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
        raise ModelError(path, "its description is damaged (the SHA-256 differs): copy or save it again")
    try:
        about = json.loads(text)
    except (ValueError, RecursionError):
        about = None
    if not isinstance(about, dict) or type(about.get("format")) is not int or about["format"] < 1:
        raise ModelError(path, "its description is not one that linsep writes")
    if about["format"] > FORMAT:
        raise ModelError(
            path, f"it has format {about['format']!s:.20}, of linsep {about.get('version')!s:.20}; this one reads "
            f"formats up to {FORMAT}: install a newer linsep",
        )  # fmt: skip
    return about


def _entries(path: str | os.PathLike[str], about: dict[str, Any], file: Any) -> list[tuple[str, Any]]:
    entries = about.get("tensors")
    if not isinstance(entries, dict) or sorted(entries) != sorted(file.keys()):
        raise ModelError(path, "its arrays are not those that its description lists: copy it again")
    return list(entries.items())


def _checked(path: str | os.PathLike[str], name: str, file: Any, entry: Any) -> Array:
    """Return an array, if it is the one that was written."""
    kind = file.get_slice(name).get_dtype()
    if kind not in DTYPES.values():
        raise ModelError(path, f"its array {name!r:.60} is of {kind}, which linsep never writes")
    try:
        array: Array = file.get_tensor(name)
    except (ValueError, OverflowError, MemoryError):
        raise ModelError(path, f"its array {name!r:.60} has a shape that no array has") from None
    if not isinstance(entry, dict) or _entry(array) != entry:
        raise ModelError(path, f"its array {name!r:.60} is damaged (the SHA-256 differs): copy or save it again")
    return array
