"""Columns of a table become numbers, words, labels and weights, with no Python object for a cell.

A cell is missing if it is null, NaN, an empty word or, where text stands for a number, one of the usual signs for
nothing, such as NA. True, TRUE and true are one word, `true`.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from linsep.data.compiled.utf8 import not_utf8
from linsep.data.errors import shown
from linsep.data.rows import Spelling
from linsep.data.tables.documents import Documents, Named, as_text, chosen, counted, placed, told
from linsep.data.tables.documents import spelled as spelling_of
from linsep.data.text.ngrams import Counts
from linsep.engine.arrays import Array

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ImportError as error:
    raise ImportError("tables are read with pyarrow: pip install 'linsep[arrow]'") from error

NUMBER, WORDS, TRUTH = "number", "words", "truth"
"""What a column holds: TRUTH is true and false by its type, which are words but for labels."""
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
"""Where floats begin to leave out whole numbers: two labels beyond may become one."""
FINE, MISSING, NO_NUMBER, INFINITE = range(4)
"""What is the matter with the number of a cell."""
NO_NUMBER_REASON = "{} in column {name!r} is not a number: {first}words=[{name!r}] if the column holds words"
INFINITE_REASON = "{} in column {name!r} is not a finite number of its type"
MISSING_REASON = (
    "{} in column {name!r}: a value is missing; {first}missing='zero' if it is 0, "
    "or missing='indicator' to tell so in a column of its own"
)
INEXACT_REASON = (
    "label {} in column {name!r} is too large for an exact number: {first}words=[{name!r}] takes it as a word"
)
NUL_REASON = "label {} in column {name!r} ends with a NUL character, which arrays of text drop: remove it"
FIRST = "read the first data with "
"""The cure for data that are read like others, which have no options of their own."""


class Plan(NamedTuple):
    """Which columns are numbers, words, labels, weights, documents; and what missing cells do."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    label: str | None
    label_kind: str
    weight: str | None
    missing: str
    documents: Documents | None = None
    fixed: bool = False
    """Whether they are read like those of earlier data."""

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        text = None if self.documents is None else self.documents.column
        more = [name for name in (text, self.label, self.weight) if name is not None]
        return list(dict.fromkeys([*self.numbers, *self.words, *more]))


class Schema(Protocol):
    """What is known of a file's columns before its rows are read."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def kinds(self, names: list[str]) -> dict[str, str | None]:
        """Return what columns hold: numbers, words, truth, or None for any other type."""


class CellError(NamedTuple):
    """What is wrong with a row, and in which column, if in one."""

    row: int
    column: str | None
    reason: str


class Coded(NamedTuple):
    """A column of words: the word of row i is values[codes[i]], and none where codes[i] is -1."""

    column: str
    codes: Array
    values: Any


@dataclass(frozen=True)
class Cells:
    """Rows of a table: numbers, words, labels (NaN: none), weights, rows at fault, and the n-grams of documents.

    `origin` tells which rows of the part of the file they are.
    """

    values: Array
    words: list[Coded]
    labels: Array
    weights: Array | None
    origin: Array
    troubles: list[CellError] = field(default_factory=list)
    documents: Counts | None = None
    grams: Named | None = None
    """The names of the n-grams, if they are kept or numbered."""

    def __len__(self) -> int:
        return len(self.values)


def kept(cells: Cells, keep: Array) -> Cells:
    """Return the rows that a mask tells."""
    words = [Coded(name, codes[keep], values) for name, codes, values in cells.words]
    weights = None if cells.weights is None else cells.weights[keep]
    return replace(
        cells, values=cells.values[keep], words=words, labels=cells.labels[keep], weights=weights,
        origin=cells.origin[keep], documents=None if cells.documents is None else chosen(cells.documents, keep),
    )  # fmt: skip


def kind_of(kind: Any) -> str | None:
    """Return what a column of an Arrow type holds; None for types that are neither numbers nor words.

    >>> kind_of(pa.int8()), kind_of(pa.string()), kind_of(pa.bool_()), kind_of(pa.date32())
    ('number', 'words', 'truth', None)
    """
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_dictionary(kind):
        within = kind_of(kind.value_type)
        return WORDS if within == NUMBER else within
    return WORDS if _textual(kind) else None


def _textual(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def numbers(column: Any, dtype: Any) -> tuple[Array, Array | None]:
    """Return the numbers of a column, 0 where there is none, and what is the matter with each, if with any.

    >>> numbers(pa.array(["1e3", "NA", "many"]), np.float64)
    (array([1000.,    0.,    0.]), array([0, 1, 2], dtype=uint8))
    """
    if pa.types.is_dictionary(column.type):
        column = _decoded(column)
    kind = column.type
    if _textual(kind) or pa.types.is_binary(kind):
        return parse_numbers(column, dtype)
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype), np.full(len(column), MISSING, np.uint8)
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.uint8() if pa.types.is_boolean(kind) else pa.float64())
    state = None
    if column.null_count:
        state = np.where(_array(column.is_null()), MISSING, FINE).astype(np.uint8)
        column = column.fill_null(pa.scalar(0).cast(column.type))
    with np.errstate(over="ignore", invalid="ignore"):
        raw = _array(column)
        values = raw.astype(dtype, copy=False)
        if np.isfinite(values.sum()):  # then all of them are
            return values, state
    finite, state = np.isfinite(values), np.zeros(len(values), np.uint8) if state is None else state
    if finite.all():
        return values, state if state.any() else None
    state[~finite] = np.where(np.isnan(values[~finite]), MISSING, INFINITE)
    return np.where(finite, values, dtype(0)), state


def all_numbers(column: Any) -> bool:
    """Return whether Arrow reads every cell of a column of bytes as a number; False does not exclude that all are.

    Much faster than `parse_numbers`, and enough to know that a column holds no words. The first cells are cast first:
    Arrow spends more time on a cell that is no number than on one that is.
    """
    try:
        for cells in (column[:FIRST_CELLS], column):
            _text(cells, check=False).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def parse_numbers(column: Any, dtype: Any) -> tuple[Array, Array | None]:
    """Return the numbers that a column of text, or of bytes, stands for, each rounded once; and what is the matter."""
    cells = pc.ascii_trim(_text(column, check=False), " \t")
    fine = pc.match_substring_regex(cells, DECIMAL)
    plain = pc.ascii_ltrim(pc.if_else(fine, cells, pa.scalar(None, cells.type)), "+")
    values = _array(plain.cast(pa.from_numpy_dtype(dtype)).fill_null(0))
    small = pc.ascii_lower(cells)
    nothing = _mask(pc.fill_null(pc.match_substring_regex(small, NOTHING), True))
    endless = _mask(pc.match_substring_regex(small, ENDLESS)) | ~np.isfinite(values)
    state = np.where(nothing, MISSING, np.where(endless, INFINITE, NO_NUMBER)).astype(np.uint8)
    state[_mask(fine) & np.isfinite(values)] = FINE
    return np.where(state == FINE, values, dtype(0)), state if state.any() else None


def inexact(labels: Array) -> Array:
    """Return which labels are so large that text for another number might have given the same.

    >>> inexact(np.array([-1.5, 9007199254740991, 9007199254740992, np.nan]))
    array([False, False,  True, False])
    """
    return np.abs(labels) >= EXACT


def _array(column: Any) -> Array:
    return column.to_numpy(zero_copy_only=False)


def _mask(column: Any) -> Array:
    return _array(pc.fill_null(column, False)).astype(bool, copy=False)


def _text(column: Any, check: bool = True) -> Any:
    """Return a column as strings; bytes become strings as they are, if they are not to be checked."""
    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        return column
    return pc.cast(column, options=pc.CastOptions(pa.large_string(), allow_invalid_utf8=not check))


def _decoded(column: Any) -> Any:
    values = column.dictionary
    return (_text(values) if pa.types.is_string_view(values.type) else values).take(column.indices)


def coded(name: str, column: Any) -> Coded:
    """Return a column of words; empty ones, like null, are none.

    >>> coded("city", pa.array(["Oslo", "", "Paris", "Oslo"])).codes
    array([ 0, -1,  2,  0])
    """
    if pa.types.is_dictionary(column.type):
        values, codes = column.dictionary, column.indices
    else:
        encoded = _text(column).dictionary_encode()
        values, codes = encoded.dictionary, encoded.indices
    numbered = _array(codes.cast(pa.int64()).fill_null(-1))
    if len(values) > len(numbered):
        used, short = np.unique(numbered, return_inverse=True)
        none = int(len(used) > 0 and used[0] < 0)
        values, numbered = values.take(pa.array(used[none:])), short - none
    values = _text(values)
    for word in ("true", "false"):
        other = pc.is_in(values, value_set=pa.array([word.title(), word.upper()], values.type))
        values = pc.if_else(other, pa.scalar(word, values.type), values)
    empty = _array(pc.fill_null(pc.equal(values, ""), True))
    if empty.any():
        numbered = np.where(np.append(empty, True)[numbered], -1, numbered)
    return Coded(name, numbered, values)


def spelled(words: Coded) -> Array:
    """Return the words of all rows as an array of text."""
    return np.array(["", *(value or "" for value in words.values.to_pylist())])[words.codes + 1]


def named(words: list[Coded], grams: Spelling | None, used: list[Array], order: Array) -> Spelling:
    """Return `column=value` for the values of each column that are used, and the n-grams that are, in this order."""
    names = [
        told(f"{column}=", values.take(pa.array(some))) for (column, _, values), some in zip(words, used, strict=False)
    ]
    if grams is not None:
        names.append(as_text(grams).take(pa.array(used[-1])))
    return spelling_of(pa.concat_arrays(names).take(pa.array(order)))


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

    def __init__(self, columns: dict[str, Any], rows: int, plan: Plan) -> None:
        self.columns, self.rows, self.plan = columns, rows, plan
        self.troubles: dict[int, CellError] = {}

    def note(self, rows: Array, name: str, reason: str) -> None:
        """Note the rows in which a column is at fault; {} in the reason is what stands there."""
        for row in rows.tolist():
            cell = self.columns[name][row].as_py()
            text = cell if isinstance(cell, bytes) else b"" if cell is None else str(cell).encode()
            told = reason.format(shown(text), name=name, first=FIRST if self.plan.fixed else "")
            self.troubles.setdefault(row, CellError(row, name, told))

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
            column = _text(pc.if_else(pa.array(bad), pa.scalar(None, column.type), column))
        words = coded(name, column)
        if missing is not None:
            self.note(np.flatnonzero(words.codes < 0), name, missing)
        return words

    def documents(self, how: Documents, dtype: Any, missing: str | None) -> tuple[Counts, Named | None, Array]:
        """Return the n-grams of the documents in rows without a fault, and a mask of those that are missing."""
        name, column = how.column, self.columns[how.column]
        if pa.types.is_dictionary(column.type):
            column = _decoded(column)
        plain = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        text, begins, ends = placed(column if plain or pa.types.is_binary_view(column.type) else _text(column))
        absent = begins == ends
        ends = np.where(np.isin(np.arange(self.rows), list(self.troubles)), begins, ends)
        counts, named = counted(text, begins, ends, how, dtype)
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
            ends = np.append(_mask(pc.ends_with(words.values, "\0")), False)
            self.note(np.flatnonzero(ends[words.codes]), name, NUL_REASON)
            return spelled(words)
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
            self.note(np.flatnonzero(_array(column.is_null())), name, missing)
            column = column.fill_null(pa.scalar(0, column.type))
        raw = _array(column)
        labels = raw.astype(np.int64, copy=False)
        if raw.dtype == np.uint64:
            self.note(np.flatnonzero(labels < 0), name, INEXACT_REASON)
        return labels

    def truth(self, name: str, missing: str) -> Array:
        """Return which cells of a column are true; others than true and false are at fault."""
        words = self.word(name, missing)
        true, false = (np.append(_mask(pc.equal(words.values, word)), False)[words.codes] for word in ("true", "false"))
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


def cells_of(columns: dict[str, Any], rows: int, plan: Plan, dtype: Any) -> Cells:
    """Return the cells of a part of a table, given as its columns, with the rows that are at fault left out.

    >>> plan = Plan(("age",), ("city",), None, NUMBER, None, "zero")
    >>> cells = cells_of({"age": pa.array([3, None]), "city": pa.array(["Oslo", "Paris"])}, 2, plan, np.float64)
    >>> cells.values.ravel(), cells.words[0].codes
    (array([3., 0.]), array([0, 1]))
    """
    reader = _Reader(columns, rows, plan)
    missing = MISSING_REASON if plan.missing == "error" else None
    values = np.empty((rows, len(plan.numbers)), dtype)
    words = [reader.word(name, missing) for name in plan.words]
    if plan.missing == "indicator":
        words = [_indicated(word) for word in words]
    for j, name in enumerate(plan.numbers):
        values[:, j], absent = reader.number(name, dtype, missing)
        if absent is not None and plan.missing == "indicator":
            words.append(_told_missing(name, absent))
    labels, weights = reader.labels(), reader.weights()
    counts = grams = None
    if plan.documents is not None:
        counts, grams, absent = reader.documents(plan.documents, dtype, missing)
        if plan.missing == "indicator":
            words.append(_told_missing(plan.documents.column, absent))
    troubles = [reader.troubles[row] for row in sorted(reader.troubles)]
    cells = Cells(values, words, labels, weights, np.arange(rows), troubles, counts, grams)
    if not troubles:
        return cells
    keep = np.ones(rows, bool)
    keep[[trouble.row for trouble in troubles]] = False
    return kept(cells, keep)


def _told_missing(name: str, absent: Array) -> Coded:
    """Return a column of words that has an empty one where another column lacks a value."""
    return Coded(name, absent.astype(np.int64) - 1, pa.array([""], pa.large_string()))


def _indicated(words: Coded) -> Coded:
    """Return words with an empty one wherever there is none."""
    none = words.codes < 0
    if not none.any():
        return words
    values = pa.concat_arrays([words.values, pa.array([""], words.values.type)])
    return Coded(words.column, np.where(none, len(words.values), words.codes), values)
