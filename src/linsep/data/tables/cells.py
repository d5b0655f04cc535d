"""Columns of a table become numbers, words, n-grams, labels and weights, with no Python object for a cell.

A cell is missing if it is null, NaN, an empty word or, in a column of numbers, one of the usual signs for
nothing, such as NA. True, TRUE and true are one word, `true`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from linsep.data.compiled.text import not_utf8
from linsep.data.errors import quote
from linsep.data.names import Vocabulary
from linsep.data.rows import Spelling, sum_duplicates
from linsep.data.tables.plan import FIRST, TRUTH, WORDS, ColumnPlan, Documents, is_text
from linsep.data.text.ngrams import Counts, count_text, hash_text, to_unit
from linsep.engine.arrays import Array

DECIMAL = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
ENDLESS = r"^[+-]?inf(?:inity)?$"
NOTHING = r"^(?:|#?n/?a|<na>|#n/a n/a|-?1\.#(?:ind|qnan)|[+-]?nan(?:\([0-9a-z_]*\))?|null|none)$"
"""Text for a number, for one that is not finite, and for none at all, the latter two in small letters."""
NULLS = [*("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN", "N/A", "n/a", "NA", "<NA>"),
         *("NULL", "Null", "null", "NaN", "NAN", "nan", "-NaN", "-nan", "None", "none")]  # fmt: skip
"""The usual ones of the latter: text with others is read with more care, and less speed."""
FIRST_CELLS = 16
"""Cells that are tried first to find out whether a column holds numbers."""
EXACT = 2.0**53
"""First whole number whose successor is no float: two labels beyond it may become one."""
FINE, MISSING, NO_NUMBER, INFINITE = range(4)
"""Faults of the number of a cell."""
FEWEST_DOCUMENTS, DISTINCT, LONG = 10, 0.9, 16
"""A column of words looks like documents if it has so many, such a share of them is distinct, and their mean length is
so many bytes."""
NO_NUMBER_REASON = "{} in column {name!r} is not a number: {first}words=[{name!r}] if the column holds words"
INFINITE_REASON = "{} in column {name!r} is not a finite number of its type"
MISSING_REASON = (
    "{} in column {name!r}: a value is missing; {first}missing='zero' if it is 0, "
    "or missing='indicator' to mark it in a column of its own"
)
INEXACT_REASON = (
    "label {} in column {name!r} is too large for an exact number: {first}words=[{name!r}] takes it as a word"
)
NUL_REASON = "label {} in column {name!r} ends with a NUL character, which arrays of text drop: remove it"

BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
"""The types of text, and those of the same bytes that need not be UTF-8."""


class CellError(NamedTuple):
    """A fault of a row, and its column, if it has one."""

    row: int
    column: str | None
    reason: str


class Coded(NamedTuple):
    """A column of words: the word of row i is values[codes[i]], and none where codes[i] is -1."""

    column: str
    codes: Array
    values: Any

    def looks_like_documents(self) -> bool:
        """Return whether nearly all words are distinct and long: documents, or numbers of rows such as UUIDs.

        >>> texts = [f"the message number {i}" for i in range(10)]
        >>> Coded("body", np.arange(10), pa.array(texts)).looks_like_documents()
        True
        >>> Coded("city", np.zeros(10, int), pa.array(["Llanfairpwllgwyngyll"])).looks_like_documents()
        False
        """
        rows, distinct = int(np.count_nonzero(self.codes >= 0)), len(self.values)
        if rows < FEWEST_DOCUMENTS or distinct < DISTINCT * rows:
            return False
        return bool(pc.mean(pc.binary_length(self.values)).as_py() >= LONG)


class GramNames(NamedTuple):
    """The n-grams of some documents, each once: how they are spelled, and the column of each, if they are hashed."""

    spelling: Spelling
    columns: Array | None


@dataclass(frozen=True)
class Cells:
    """Rows of a table: numbers, words, labels (NaN: none), weights, rows at fault, and the n-grams of documents.

    `origin` numbers them among the rows of the part of the file.
    """

    values: Array
    words: list[Coded]
    labels: Array
    weights: Array | None
    origin: Array
    troubles: list[CellError] = field(default_factory=list)
    documents: Counts | None = None
    grams: GramNames | None = None
    """The names of the n-grams, if they are kept or numbered."""

    def __len__(self) -> int:
        return len(self.values)

    def take(self, keep: Array) -> Self:
        """Return the rows of a mask."""
        words = [Coded(name, codes[keep], values) for name, codes, values in self.words]
        weights = None if self.weights is None else self.weights[keep]
        return replace(
            self, values=self.values[keep], words=words, labels=self.labels[keep], weights=weights,
            origin=self.origin[keep], documents=None if self.documents is None else self.documents.take(keep),
        )  # fmt: skip


def numbers(column: Any, dtype: Any) -> tuple[Array, Array | None]:
    """Return the numbers of a column, 0 where there is none, and what is the matter with each, if with any.

    >>> numbers(pa.array(["1e3", "NA", "many"]), np.float64)
    (array([1000.,    0.,    0.]), array([0, 1, 2], dtype=uint8))
    """
    if pa.types.is_dictionary(column.type):
        column = _decode_dictionary(column)
    kind = column.type
    if is_text(kind) or pa.types.is_binary(kind):
        return parse_numbers(column, dtype)
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype), np.full(len(column), MISSING, np.uint8)
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.uint8() if pa.types.is_boolean(kind) else pa.float64())
    state = None
    if column.null_count:
        state = np.where(as_numpy(column.is_null()), MISSING, FINE).astype(np.uint8)
    with np.errstate(over="ignore", invalid="ignore"):
        raw = as_numpy(column)
        values = raw.astype(dtype, copy=False)
        if np.isfinite(values.sum()):  # then all of them are
            return values, state
    finite, state = np.isfinite(values), np.zeros(len(values), np.uint8) if state is None else state
    if finite.all():
        return values, state if state.any() else None
    state[~finite] = np.where(np.isnan(values[~finite]), MISSING, INFINITE)
    return np.where(finite, values, dtype(0)), state


def as_numbers(column: Any) -> Any:
    """Return a column of bytes as Arrow's numbers; None if a cell is none to Arrow, or too large to be exact.

    Much faster than `parse_numbers`, with the same values. The first cells are cast first: Arrow spends more time on a
    cell that is no number than on one that is.
    """
    try:
        for cells in (column[:FIRST_CELLS], column):
            numbers = _text(cells, check=False).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if inexact(as_numpy(numbers)).any() else numbers


def parse_numbers(column: Any, dtype: Any) -> tuple[Array, Array | None]:
    """Return the numbers of a column of text or of bytes, each rounded once, and their states, None if all are fine."""
    cells = pc.ascii_trim(_text(column, check=False), " \t")
    fine = pc.match_substring_regex(cells, DECIMAL)
    plain = pc.ascii_ltrim(pc.if_else(fine, cells, pa.nulls(1, cells.type)[0]), "+")
    values = as_numpy(plain.cast(pa.from_numpy_dtype(dtype)))
    small = pc.ascii_lower(cells)
    nothing = as_numpy(pc.match_substring_regex(small, NOTHING), null=True)
    endless = as_numpy(pc.match_substring_regex(small, ENDLESS)) | ~np.isfinite(values)
    state = np.where(nothing, MISSING, np.where(endless, INFINITE, NO_NUMBER)).astype(np.uint8)
    state[as_numpy(fine) & np.isfinite(values)] = FINE
    return np.where(state == FINE, values, dtype(0)), state if state.any() else None


def inexact(labels: Array) -> Array:
    """Return which labels are so large that text for another number might have given the same.

    >>> inexact(np.array([-1.5, 9007199254740991, 9007199254740992, np.nan]))
    array([False, False,  True, False])
    """
    return np.abs(labels) >= EXACT


def as_numpy(column: Any, null: Any = 0) -> Array:
    """Return a column of numbers or truth, with `null` where there is no value.

    Arrow's own conversions, and scalars made of Python's values, import pandas if it is installed.

    >>> as_numpy(pa.array([3, None, 5])[1:]), as_numpy(pa.array([True, None]))
    (array([0, 5]), array([ True, False]))
    """
    valid, data = column.buffers()
    here, dtype = slice(column.offset, column.offset + len(column)), column.type.to_pandas_dtype()
    if not len(column):
        return np.empty(0, dtype)
    values = _bits(data)[here] if dtype is np.bool_ else np.frombuffer(data, dtype)[here]
    return values if not column.null_count else np.where(_bits(valid)[here], values, dtype(null))


def _bits(buffer: Any) -> Array:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little").view(bool)


def as_arrow(array: Array) -> Any:
    """Return numbers as an array of Arrow, without a copy.

    >>> as_arrow(np.array([1, 2])).to_pylist()
    [1, 2]
    """
    buffers = [None, pa.py_buffer(np.ascontiguousarray(array))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), buffers)


def as_binary(values: Iterable[bytes]) -> Any:
    """Return bytes as an array of Arrow.

    >>> as_binary([b"no", b"yes"]).to_pylist()
    [b'no', b'yes']
    """
    values = list(values)
    marks = np.cumsum([0, *map(len, values)], dtype=np.int64)
    buffers = [None, pa.py_buffer(marks), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def _words(*words: str) -> Any:
    """Return words as an array of Arrow."""
    return as_binary(word.encode() for word in words).cast(pa.large_string())


def _text(column: Any, check: bool = True) -> Any:
    """Return a column as strings; bytes become strings as they are, if they are not to be checked."""
    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        return column
    return pc.cast(column, options=pc.CastOptions(pa.large_string(), allow_invalid_utf8=not check))


def _decode_dictionary(column: Any) -> Any:
    values = column.dictionary
    return (_text(values) if pa.types.is_string_view(values.type) else values).take(column.indices)


def encode_words(name: str, column: Any) -> Coded:
    """Return a column of words; empty ones, like null, are none.

    >>> encode_words("city", pa.array(["Oslo", "", "Paris", "Oslo"])).codes
    array([ 0, -1,  2,  0])
    """
    if pa.types.is_dictionary(column.type):
        values, codes = column.dictionary, column.indices
    else:
        encoded = _text(column).dictionary_encode()
        values, codes = encoded.dictionary, encoded.indices
    numbered = as_numpy(codes.cast(pa.int64()), null=-1)
    if len(values) > len(numbered):
        used, short = np.unique(numbered, return_inverse=True)
        none = int(len(used) > 0 and used[0] < 0)
        values, numbered = values.take(as_arrow(used[none:])), short - none
    values = _text(values)
    for word in ("true", "false"):
        other = pc.is_in(values, value_set=_words(word.title(), word.upper()).cast(values.type))
        values = pc.if_else(other, _words(word).cast(values.type)[0], values)
    empty = as_numpy(pc.binary_length(values)) == 0
    if empty.any():
        numbered = np.where(np.append(empty, True)[numbered], -1, numbered)
    return Coded(name, numbered, values)


def words_of_rows(words: Coded) -> Array:
    """Return the words of all rows as an array of text."""
    return np.array(["", *(value or "" for value in words.values.to_pylist())])[words.codes + 1]


def names_in_order(words: list[Coded], grams: Spelling | None, used: list[Array], order: Array) -> Spelling:
    """Return `column=value` for the values of each column that are used, and the n-grams that are, in this order."""
    names = [
        add_prefix(f"{column}=", values.take(as_arrow(some)))
        for (column, _, values), some in zip(words, used, strict=False)
    ]
    if grams is not None:
        names.append(as_text(grams).take(as_arrow(used[-1])))
    return as_spelling(pa.concat_arrays(names).take(as_arrow(order)))


def _not_utf8(column: Any, first: int = 0) -> dict[int, str]:
    """Return what is wrong with the cells, numbered from `first` on, that are not UTF-8; they are found by halving."""
    try:
        _text(column)
        return {}
    except pa.ArrowInvalid:
        if len(column) > 1:
            middle = len(column) // 2
            return _not_utf8(column[:middle], first) | _not_utf8(column[middle:], first + middle)
    cell = column[0].as_py()
    try:
        cell.decode()
    except UnicodeDecodeError as error:
        return {first: not_utf8(cell, error.start)}
    raise AssertionError("Arrow and Python agree on what is UTF-8")


class _Reader:
    """Turns the columns of one part of a table into cells, and notes what is wrong with its rows."""

    def __init__(self, columns: dict[str, Any], rows: int, plan: ColumnPlan) -> None:
        self.columns, self.rows, self.plan = columns, rows, plan
        self.troubles: dict[int, CellError] = {}

    def note(self, rows: Array, name: str, reason: str) -> None:
        """Note the rows in which a column is at fault; {} in the reason is the text of the cell."""
        for row in rows.tolist():
            cell = self.columns[name][row].as_py()
            text = cell if isinstance(cell, bytes) else b"" if cell is None else str(cell).encode()
            message = reason.format(quote(text), name=name, first=FIRST if self.plan.fixed else "")
            self.troubles.setdefault(row, CellError(row, name, message))

    def number(self, name: str, dtype: Any, missing: str | None) -> tuple[Array, Array | None]:
        """Return the numbers of a column, and a mask of those that are missing, if they may be."""
        values, state = numbers(self.columns[name], dtype)
        if state is None:
            return values, None
        self.note(np.flatnonzero(state == NO_NUMBER), name, NO_NUMBER_REASON)
        self.note(np.flatnonzero(state == INFINITE), name, INFINITE_REASON)
        if missing is not None:
            self.note(np.flatnonzero(state == MISSING), name, missing)
        return values, state == MISSING

    def word(self, name: str, missing: str | None) -> Coded:
        """Return the words of a column."""
        column = self.columns[name]
        if pa.types.is_binary(column.type):
            wrong = _not_utf8(column)
            for row, reason in wrong.items():
                self.troubles.setdefault(row, CellError(row, name, f"column {name!r}: {reason}"))
            bad = np.isin(np.arange(self.rows), list(wrong))
            no_word = as_arrow(bad.view(np.uint8)).cast(pa.bool_())
            column = _text(pc.if_else(no_word, pa.nulls(1, column.type)[0], column))
        words = encode_words(name, column)
        if missing is not None:
            self.note(np.flatnonzero(words.codes < 0), name, missing)
        return words

    def documents(self, how: Documents, dtype: Any, missing: str | None) -> tuple[Counts, GramNames | None, Array]:
        """Return the n-grams of the documents in rows without a fault, and a mask of those that are missing."""
        name, column = how.column, self.columns[how.column]
        if pa.types.is_dictionary(column.type):
            column = _decode_dictionary(column)
        plain = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        text, begins, ends = document_bytes(column if plain or pa.types.is_binary_view(column.type) else _text(column))
        absent = begins == ends
        ends = np.where(np.isin(np.arange(self.rows), list(self.troubles)), begins, ends)
        counts, named = gram_counts(text, begins, ends, how, dtype)
        for row in np.flatnonzero(counts.faults >= 0).tolist():
            reason = not_utf8(text[begins[row] : ends[row]].tobytes(), int(counts.faults[row]))
            self.troubles.setdefault(row, CellError(row, name, f"column {name!r}: {reason}"))
        if missing is not None:
            self.note(np.flatnonzero(absent), name, missing)
        return counts, named, absent

    def labels(self) -> Array:
        """Return the labels: whole numbers as such, other numbers as floats, truth as such, or words."""
        name = self.plan.label
        if name is None:
            return np.full(self.rows, np.nan)
        missing = "there is no label in column {name!r}"
        if self.plan.label_kind == WORDS:
            words = self.word(name, missing)
            ends = np.append(as_numpy(pc.ends_with(words.values, "\0")), False)
            self.note(np.flatnonzero(ends[words.codes]), name, NUL_REASON)
            return words_of_rows(words)
        if self.plan.label_kind == TRUTH:
            return self.truth(name, missing)
        kind = self.columns[name].type
        if pa.types.is_integer(kind):
            return self.whole(name, missing)
        labels, _ = self.number(name, np.float64, missing)
        if not pa.types.is_floating(kind):
            self.note(np.flatnonzero(inexact(labels)), name, INEXACT_REASON)
        return labels

    def whole(self, name: str, missing: str) -> Array:
        """Return the whole numbers of a column; those that are too large for int64 are at fault."""
        column = self.columns[name]
        if column.null_count:
            self.note(np.flatnonzero(as_numpy(column.is_null())), name, missing)
        raw = as_numpy(column)
        labels = raw.astype(np.int64, copy=False)
        if raw.dtype == np.uint64:
            self.note(np.flatnonzero(labels < 0), name, INEXACT_REASON)
        return labels

    def truth(self, name: str, missing: str) -> Array:
        """Return which cells of a column are true; others than true and false are at fault."""
        words = self.word(name, missing)
        true, false = (
            np.append(as_numpy(pc.equal(words.values, _words(word).cast(words.values.type)[0])), False)[words.codes]
            for word in ("true", "false")
        )
        wrong = np.flatnonzero(~(true | false | (words.codes < 0)))
        self.note(wrong, name, "label {} in column {name!r} is neither true nor false, as the labels before it are")
        return true

    def weights(self) -> Array | None:
        """Return the weights, none of them negative."""
        name = self.plan.weight
        if name is None:
            return None
        weights, _ = self.number(name, np.float64, "there is no weight in column {name!r}")
        self.note(np.flatnonzero(weights < 0), name, "weight {} in column {name!r} is negative")
        return weights


def cells_of(columns: dict[str, Any], rows: int, plan: ColumnPlan, dtype: Any) -> Cells:
    """Return the cells of a part of a table, given as its columns, with the rows that are at fault left out.

    >>> plan = ColumnPlan(("age",), ("city",), None, "number", None, "zero")
    >>> cells = cells_of({"age": pa.array([3, None]), "city": pa.array(["Oslo", "Paris"])}, 2, plan, np.float64)
    >>> cells.values.ravel(), cells.words[0].codes
    (array([3., 0.]), array([0, 1]))
    """
    reader = _Reader(columns, rows, plan)
    missing = MISSING_REASON if plan.missing == "error" else None
    values = np.empty((rows, len(plan.numbers)), dtype)
    words = [reader.word(name, missing) for name in plan.words]
    if plan.missing == "indicator":
        words = [_indicate_missing(word) for word in words]
    for j, name in enumerate(plan.numbers):
        values[:, j], absent = reader.number(name, dtype, missing)
        if absent is not None and plan.missing == "indicator":
            words.append(_missing_as_word(name, absent))
    labels, weights = reader.labels(), reader.weights()
    counts = grams = None
    if plan.documents is not None:
        counts, grams, absent = reader.documents(plan.documents, dtype, missing)
        if plan.missing == "indicator":
            words.append(_missing_as_word(plan.documents.column, absent))
    troubles = [reader.troubles[row] for row in sorted(reader.troubles)]
    cells = Cells(values, words, labels, weights, np.arange(rows), troubles, counts, grams)
    if not troubles:
        return cells
    keep = np.ones(rows, bool)
    keep[[trouble.row for trouble in troubles]] = False
    return cells.take(keep)


def _missing_as_word(name: str, absent: Array) -> Coded:
    """Return a column of words that has an empty one where another column lacks a value."""
    return Coded(name, absent.astype(np.int64) - 1, _words(""))


def _indicate_missing(words: Coded) -> Coded:
    """Return words with an empty one wherever there is none."""
    none = words.codes < 0
    if not none.any():
        return words
    values = pa.concat_arrays([words.values, _words("").cast(words.values.type)])
    return Coded(words.column, np.where(none, len(words.values), words.codes), values)


def as_bytes(batch: Any, name: str) -> Any:
    """Return a record batch in which a column of text is one of bytes, so that each row can be malformed on its own.

    >>> as_bytes(pa.record_batch({"review": ["good"]}), "review").schema.types
    [DataType(binary)]
    """
    place = batch.schema.get_field_index(name)
    kind = BYTES.get(batch.schema.types[place])
    return batch if kind is None else batch.set_column(place, name, batch.column(place).view(kind))


def document_bytes(column: Any) -> tuple[Array, Array, Array]:
    """Return the text of a column of strings or bytes, and where each document begins and ends; null is an empty one.

    >>> text, begins, ends = document_bytes(pa.array(["no", None, "yes"])[1:])
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
        ends = np.where(as_numpy(column.is_null()), begins, ends)
    return text, begins, ends


def gram_counts(text: Array, begins: Array, ends: Array, how: Documents, dtype: Any) -> tuple[Counts, GramNames | None]:
    """Return the n-grams of the documents text[begins[i]:ends[i]] as rows, and their names, if these are wanted.

    >>> from linsep.data.text.ngrams import Grams
    >>> how = Documents("review", Grams(n_features=4, unit=False), kept=True)
    >>> rows, names = gram_counts(np.frombuffer(b"no no yes", np.uint8), np.array([0]), np.array([9]), how, np.float64)
    >>> rows.indices, rows.values, names.columns, names.spelling.letters.tobytes()
    (array([2], dtype=int32), array([1.]), array([2, 2]), b'review:noreview:yes')
    """
    if not how.kept and not how.numbered:
        return hash_text(text, begins, ends, how.grams, dtype), None
    seen = Vocabulary()
    counts, _ = count_text(text, begins, ends, how.grams._replace(unit=False), seen, dtype=dtype)
    names = as_spelling(add_prefix(f"{how.column}:", as_text(seen.spelling)))
    if how.numbered:
        return counts, GramNames(names, None)
    columns, signs = seen.hashed_columns(how.grams.n_features)
    counts = Counts(*sum_duplicates(*counts[:3], columns.astype(np.int32), signs.astype(dtype)), counts.faults)
    if how.grams.binary:
        counts.values[:] = 1
    if how.grams.unit:
        to_unit(counts.indptr, counts.values)
    return counts, GramNames(names, columns)


def as_text(spelling: Spelling) -> Any:
    """Return names as an array of Arrow.

    >>> as_text(Spelling(np.frombuffer(b"noyes", np.uint8), np.array([0, 2, 5]))).to_pylist()
    ['no', 'yes']
    """
    letters, marks = (pa.py_buffer(np.ascontiguousarray(part)) for part in spelling)
    return pa.LargeStringArray.from_buffers(len(spelling.marks) - 1, marks, letters)


def add_prefix(begin: str, names: Any) -> Any:
    """Return names that all begin in the same way.

    >>> add_prefix("city=", pa.array(["Oslo", "Rome"])).to_pylist()
    ['city=Oslo', 'city=Rome']
    """
    first, between = _words(begin, "")
    return pc.binary_join_element_wise(first, names.cast(first.type), between)


def as_spelling(names: Any) -> Spelling:
    """Return the names that an array of Arrow, of large strings, has."""
    _, marks, letters = names.buffers()
    places = np.frombuffer(marks, np.int64)[names.offset : names.offset + len(names) + 1]
    return Spelling(np.frombuffer(letters or b"", np.uint8), places)


def numbers_and_words(values: Array, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, without those that are 0, then of words; words in the same column add up.

    Each array of words has the column of every row's word, counted from the first one of words, or a negative number.

    >>> numbers_and_words(np.array([[7.0], [0.0]]), [np.array([1, 0]), np.array([-1, 0])])
    (array([0, 2, 3]), array([0, 2, 1], dtype=int32), array([7., 1., 2.]))
    """
    rows, width = values.shape
    columns = np.sort(np.stack(words, axis=1), axis=1) if words else np.empty((rows, 0), np.int64)
    counts = (columns >= 0).astype(values.dtype)
    for j in range(1, len(words)):
        same = columns[:, j] == columns[:, j - 1]
        counts[same, j] += counts[same, j - 1]
        counts[same, j - 1] = 0
    indices = np.concatenate([np.broadcast_to(np.arange(width), (rows, width)), columns + width], axis=1)
    entries = np.concatenate([values, counts], axis=1)
    keep = entries != 0
    kind = np.int32 if indices.max(initial=0) < 2**31 else np.int64
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(keep, axis=1))])
    return indptr, indices[keep].astype(kind), entries[keep]


def with_numbered(values: Array, documents: Counts, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, then of words and of n-grams, whose columns are counted from the same one.

    >>> documents = Counts(np.array([0, 2, 2]), np.array([2, 0]), np.array([0.5, 2.0]), np.array([-1, -1]))
    >>> with_numbered(np.array([[7.0], [0.0]]), documents, [np.array([1, 1])])
    (array([0, 4, 5]), array([0, 1, 2, 3, 2], dtype=int32), array([7. , 2. , 1. , 0.5, 1. ]))
    """
    left, right = numbers_and_words(values, []), numbers_and_words(values[:, :0], words)
    width = 1 + int(max(right[1].max(initial=-1), documents.indices.max(initial=-1)))
    grams = sp.csr_array(documents[2::-1], (len(values), width))
    grams.sort_indices()
    numbers = sp.csr_array(left[::-1], values.shape)
    return _beside([numbers, sp.csr_array(right[::-1], (len(values), width)) + grams])


def with_documents(values: Array, documents: Counts, width: int, words: list[Array]) -> tuple[Array, Array, Array]:
    """Return sparse rows of numbers, then of n-grams in `width` columns, then of words.

    >>> documents = Counts(np.array([0, 1, 2]), np.array([3, 0]), np.array([0.5, 1.0]), np.array([-1, -1]))
    >>> with_documents(np.array([[7.0], [0.0]]), documents, 10, [np.array([1, 0])])
    (array([0, 3, 5]), array([ 0,  4, 12,  1, 11], dtype=int32), array([7. , 0.5, 1. , 1. , 1. ]))
    """
    left, right = numbers_and_words(values, []), numbers_and_words(values[:, :0], words)
    blocks = [(*left, values.shape[1]), (*documents[:3], width), (*right, int(right[1].max(initial=-1)) + 1)]
    parts = [sp.csr_array(block[2::-1], (len(values), block[3])) for block in blocks]
    return _beside(parts)


def _beside(parts: list[Any]) -> tuple[Array, Array, Array]:
    """Return sparse rows of parts side by side."""
    X: Any = sp.hstack(parts, format="csr")
    kind = np.int32 if X.shape[1] <= 2**31 else np.int64
    return X.indptr.astype(np.int64), X.indices.astype(kind, copy=False), X.data
