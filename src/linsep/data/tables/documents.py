"""A column of documents to rows of hashed n-grams, straight from Arrow's buffers."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.data.rows import Spelling, added_up, entries_of_rows, indptr_without
from linsep.data.text.ngrams import Counts, Grams, count_text, hash_text, to_unit
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array

BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
"""The types of text, and those of the same bytes that need not be UTF-8."""


class Documents(NamedTuple):
    """Which column holds documents, which n-grams of these count, and whether names of hashed ones are kept."""

    column: str
    grams: Grams
    kept: bool = False
    numbered: bool = False
    """Whether n-grams are not hashed, but numbered in the order in which they are first seen."""


class Named(NamedTuple):
    """The n-grams of some documents, each once: how they are spelled, and the column of each, if they are hashed."""

    spelling: Spelling
    columns: Array | None


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


def counted(text: Array, begins: Array, ends: Array, how: Documents, dtype: Any) -> tuple[Counts, Named | None]:
    """Return the n-grams of the documents text[begins[i]:ends[i]] as rows, and their names, if these are wanted.

    >>> how = Documents("review", Grams(n_features=4, unit=False), kept=True)
    >>> rows, names = counted(np.frombuffer(b"no no yes", np.uint8), np.array([0]), np.array([9]), how, np.float64)
    >>> rows.indices, rows.values, names.columns, names.spelling.letters.tobytes()
    (array([2], dtype=int32), array([1.]), array([2, 2]), b'review:noreview:yes')
    """
    if not how.kept and not how.numbered:
        return hash_text(text, begins, ends, how.grams, dtype), None
    seen = Vocabulary()
    counts, _ = count_text(text, begins, ends, how.grams._replace(unit=False), seen, dtype=dtype)
    names = spelled(told(f"{how.column}:", as_text(seen.spelling)))
    if how.numbered:
        return counts, Named(names, None)
    columns, signs = seen.hashed_columns(how.grams.n_features)
    counts = Counts(*added_up(*counts[:3], columns.astype(np.int32), signs.astype(dtype)), counts.faults)
    if how.grams.binary:
        counts.values[:] = 1
    if how.grams.unit:
        to_unit(counts.indptr, counts.values)
    return counts, Named(names, columns)


def as_text(spelling: Spelling) -> Any:
    """Return names as an array of Arrow.

    >>> as_text(Spelling(np.frombuffer(b"noyes", np.uint8), np.array([0, 2, 5]))).to_pylist()
    ['no', 'yes']
    """
    letters, marks = (pa.py_buffer(np.ascontiguousarray(part)) for part in spelling)
    return pa.LargeStringArray.from_buffers(len(spelling.marks) - 1, marks, letters)


def told(begin: str, names: Any) -> Any:
    """Return names that all begin in the same way.

    >>> told("city=", pa.array(["Oslo", "Rome"])).to_pylist()
    ['city=Oslo', 'city=Rome']
    """
    first = pa.scalar(begin, pa.large_string())
    return pc.binary_join_element_wise(first, names.cast(first.type), pa.scalar("", first.type))


def spelled(names: Any) -> Spelling:
    """Return the names that an array of Arrow, of large strings, has."""
    _, marks, letters = names.buffers()
    places = np.frombuffer(marks, np.int64)[names.offset : names.offset + len(names) + 1]
    return Spelling(np.frombuffer(letters or b"", np.uint8), places)


def chosen(counts: Counts, keep: Array) -> Counts:
    """Return the rows that a mask tells.

    >>> counts = Counts(np.array([0, 2, 3]), np.array([4, 7, 5]), np.ones(3), np.array([-1, -1]))
    >>> chosen(counts, np.array([False, True])).indices
    array([5])
    """
    indptr, entries = entries_of_rows(counts.indptr, keep)
    return Counts(indptr, counts.indices[entries], counts.values[entries], counts.faults[keep])


def without(counts: Counts, lost: Array) -> Counts:
    """Return the rows but for the entries that a mask tells.

    >>> counts = Counts(np.array([0, 2, 3]), np.array([4, 7, 5]), np.ones(3), np.array([-1, -1]))
    >>> without(counts, np.array([True, False, False])).indptr
    array([0, 1, 2])
    """
    if not lost.any():
        return counts
    return Counts(indptr_without(counts.indptr, lost), counts.indices[~lost], counts.values[~lost], counts.faults)
