"""A column of documents to rows of hashed n-grams, straight from Arrow's buffers."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linsep.data.text.grams import Counts, Grams

Array = NDArray[Any]

BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
"""The types of text, and those of the same bytes that need not be UTF-8."""


class Documents(NamedTuple):
    """Which column holds documents, and which n-grams of these count."""

    column: str
    grams: Grams


def as_bytes(batch: Any, name: str) -> Any:
    """Return a record batch in which a column of text is one of bytes, so that each row can be at fault by itself.

    >>> as_bytes(pa.record_batch({"review": ["good"]}), "review").schema.types
    [DataType(binary)]
    """
    place = batch.schema.get_field_index(name)
    kind = BYTES.get(batch.schema.types[place])
    return batch if kind is None else batch.set_column(place, name, batch.column(place).view(kind))


def placed(column: Any) -> tuple[Array, Array, Array]:
    """Return the text of a column of strings or bytes, and where each document begins and ends; null is an empty one.

    >>> text, begins, ends = placed(pa.array(["no", None, "yes"])[1:])
    >>> text.tobytes(), begins, ends
    (b'yes', array([0, 0]), array([0, 3]))
    """
    if pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    wide = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
    _, marks, letters = column.buffers()
    if not len(column) or letters is None:
        none = np.zeros(len(column), np.int64)
        return np.empty(0, np.uint8), none, none
    here = slice(column.offset, column.offset + len(column) + 1)
    places = np.frombuffer(marks, np.int64 if wide else np.int32)[here].astype(np.int64)
    text = np.frombuffer(letters, np.uint8)[places[0] : places[-1]]
    begins, ends = places[:-1] - places[0], places[1:] - places[0]
    if column.null_count:
        ends = np.where(column.is_null().to_numpy(zero_copy_only=False), begins, ends)
    return text, begins, ends


def chosen(counts: Counts, keep: Array) -> Counts:
    """Return the rows that a mask tells.

    >>> counts = Counts(np.array([0, 2, 3]), np.array([4, 7, 5]), np.ones(3), np.array([-1, -1]))
    >>> chosen(counts, np.array([False, True])).indices
    array([5])
    """
    lengths = np.diff(counts.indptr)
    entries = np.repeat(keep, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths[keep])])
    return Counts(indptr, counts.indices[entries], counts.values[entries], counts.faults[keep])


def without(counts: Counts, lost: Array) -> Counts:
    """Return the rows but for the entries that a mask tells.

    >>> counts = Counts(np.array([0, 2, 3]), np.array([4, 7, 5]), np.ones(3), np.array([-1, -1]))
    >>> without(counts, np.array([True, False, False])).indptr
    array([0, 1, 2])
    """
    if not lost.any():
        return counts
    indptr = counts.indptr - np.concatenate([[0], np.cumsum(lost)])[counts.indptr]
    return Counts(indptr, counts.indices[~lost], counts.values[~lost], counts.faults)
