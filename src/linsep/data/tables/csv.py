"""CSV text to parts of whole rows, and these to cells.

A part is read in one of three ways, the fastest that can: numbers alone by a compiled loop straight into the matrix,
plain text by Arrow, and text with something wrong in it as bytes, row by row, so that each fault is found. All three
give the same cells.
"""

import csv as python_csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from linsep.data.blocks import BLOCK_BYTES, MARK, NEWLINE, Block, blocks
from linsep.data.compiled.csv import LETTERS, RETURN, SKIP, RowMarks, fill_numbers, mark_rows
from linsep.data.compiled.numbers import fives
from linsep.data.compiled.text import not_utf8
from linsep.data.errors import DataError, RowError
from linsep.data.sources import HEAD, Source
from linsep.data.splitting import LineSplitter, MarkSplitter, Splitter, chunks
from linsep.data.tables.cells import (
    DECIMAL,
    MISSING,
    NOTHING,
    NULLS,
    CellError,
    Cells,
    as_binary,
    as_numbers,
    as_numpy,
    cells_of,
    encode_words,
    inexact,
    parse_numbers,
    words_of_rows,
)
from linsep.data.tables.cells import NO_NUMBER as NO_NUMBER_HERE
from linsep.data.tables.plan import NUMBER, TRUTH, WORDS, ColumnPlan
from linsep.engine.arrays import Array

MOST_QUOTED = 1 << 26
"""Bytes after which a quote that is not closed is taken for an error."""
MOST_MARKS = 1 << 20
"""Beginnings of rows that are kept to cut a file."""
WORD = pa.dictionary(pa.int32(), pa.string())


@dataclass
class Text:
    """Whole rows of CSV text, below `above` lines of a header that came with them."""

    names: list[str]
    text: Array
    file: str
    first: bool
    done: int
    above: int
    delimiter: str

    @cached_property
    def body(self) -> int:
        """Return the number of lines of the text."""
        return int(np.count_nonzero(self.text == NEWLINE))

    @property
    def lines(self) -> int:
        """Return the number of lines, including the header."""
        return self.above + self.body

    @property
    def has_rows(self) -> bool:
        """Return whether any line is not blank: cheaper than to find all rows."""
        return not (_is_blank(self.text[:HEAD]) and _is_blank(self.text))

    @cached_property
    def rows(self) -> RowMarks:
        """Return the positions of the rows."""
        return mark_rows(self.text, ord(self.delimiter))

    def kinds(self, names: list[str]) -> dict[str, str | None]:
        """Return what columns hold: words, where fewer than half of the cells that are not missing are numbers."""
        if self._is_plain and self._matrix is not None:
            return dict.fromkeys(names, NUMBER)
        kinds: dict[str, str | None] = dict.fromkeys(names, NUMBER)
        with _arrow_errors(self.file):
            origin, _, columns = self._columns
            for name in names:
                numbers = as_numbers(columns[name])
                if numbers is not None:
                    self._numbers[name] = numbers
                    continue
                state = parse_numbers(columns[name], np.float64)[1]
                counts = np.bincount(np.zeros(len(origin), np.uint8) if state is None else state, minlength=4)
                if 2 * counts[NO_NUMBER_HERE] > counts.sum() - counts[MISSING]:
                    kinds[name] = WORDS
        return kinds

    def cells(self, plan: ColumnPlan, dtype: Any) -> Cells:
        """Return the cells of the rows; malformed rows are left out and reported."""
        if not len(self.text):
            return cells_of({name: pa.nulls(0, pa.string()) for name in plan.columns}, 0, plan, dtype)
        cells = self._read_numbers(plan, dtype) if self._is_plain and _only_numbers(plan) else None
        if cells is None and self._has_no_nul and "_columns" not in vars(self):
            cells = self._read_plainly(plan, dtype)
        with _arrow_errors(self.file):
            return self._read_strictly(plan, dtype) if cells is None else cells

    def places(self, cells: Cells) -> Array:
        """Return the line of each row, from 0."""
        if not cells.troubles and len(cells) == self.body:
            return cells.origin + self.above
        return self.rows.lines[cells.origin] + self.above

    def faults(self, troubles: list[CellError]) -> list[RowError]:
        """Return the errors of malformed rows."""
        if not troubles:
            return []
        raw, rows = self.text.tobytes(), self.rows
        found = []
        for row, column, reason in troubles:
            line = raw[rows.begins[row] : rows.ends[row]]
            field = 0 if column is None else _begin_of(line, self.names.index(column), self.delimiter) + 1
            found.append(RowError(int(rows.lines[row]) + self.above, field, reason, line))
        return found

    @cached_property
    def _columns(self) -> tuple[Array, list[CellError], dict[str, Any]]:
        """All columns of the first part as bytes, as `_bytes` returns them: read once, for the kinds and the cells."""
        return self._bytes(self.names)

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        """The columns of these that hold numbers, as Arrow reads them."""
        return {}

    @cached_property
    def _has_no_nul(self) -> bool:
        return bool(self.text.min() > 0)

    @property
    def _is_plain(self) -> bool:
        """Return whether the compiled loop may try the text."""
        return len(self.text) > 0 and self._has_no_nul and bool(self.text[-1] == NEWLINE)

    @cached_property
    def _matrix(self) -> Array | None:
        """All cells, if every one of them is a plain number; that of the first part decides what columns hold."""
        found = self._fill({name: j for j, name in enumerate(self.names)}, len(self.names), np.float64)
        return None if found is None else found[0]

    def _read_numbers(self, plan: ColumnPlan, dtype: Any) -> Cells | None:
        """Return the cells of rows that are plain numbers, but for words as labels; None if there is anything else."""
        width, worded, matrix = len(plan.numbers), plan.label_kind == WORDS, vars(self).get("_matrix")
        if matrix is not None and dtype is np.float64 and not worded:
            place = self.names.index
            values, words = np.take(matrix, [place(name) for name in plan.numbers], axis=1), None
            numbers = None if plan.label is None else matrix[:, place(plan.label)]
            weights = None if plan.weight is None else matrix[:, place(plan.weight)]
        else:
            places = {name: j for j, name in enumerate(plan.numbers)}
            if plan.weight is not None:
                places[plan.weight] = width + 1
            if plan.label is not None:
                places[plan.label] = LETTERS if worded else width
            found = self._fill(places, width, dtype)
            if found is None:
                return None
            values, aside, words = found
            numbers = None if plan.label is None else aside[:, 0]
            weights = None if plan.weight is None else aside[:, 1]
        labels = words if words is not None else np.full(len(values), np.nan) if numbers is None else numbers
        if (words is None and inexact(labels).any()) or (weights is not None and (weights < 0).any()):
            return None
        return Cells(values, [], labels, weights, np.arange(len(values)))

    def _fill(self, places: dict[str, int], width: int, dtype: Any) -> tuple[Array, Array, Array | None] | None:
        """Read plain numbers: those of the columns at `places` below `width`, of the two after them, and words.

        Return None where a cell is anything else, or not finite.
        """
        most, worded = self.body, LETTERS in places.values()
        values, aside = np.empty((most, width)), np.zeros((most, 2))
        letters = np.empty(len(self.text) if worded else 0, np.uint8)
        marks, hard = np.zeros(most + 1, np.int64), np.empty((len(self.text) // 20 + 1, 4), np.int64)
        text, spots = self.text.view(), np.array([places.get(name, SKIP) for name in self.names])
        text.flags.writeable = spots.flags.writeable = False
        n, doubts = fill_numbers(
            text, ord(self.delimiter), spots, values, aside, letters, marks, hard, fives(), dtype is np.float32
        )  # fmt: skip
        if n != most:
            return None
        with np.errstate(over="ignore"):
            values = values.astype(dtype, copy=False)
        if doubts and not _exactly(self.text, hard[:doubts], values, aside):
            return None
        words = _words(letters, marks) if worded else None
        return None if worded and words is None else (values, aside, words)

    def _read_plainly(self, plan: ColumnPlan, dtype: Any) -> Cells | None:
        """Return the cells of rows none of which is at fault; None if one is."""
        types = dict.fromkeys(plan.columns, pa.float64()) | dict.fromkeys(plan.words, WORD)
        types |= dict.fromkeys(plan.numbers, pa.from_numpy_dtype(dtype))
        if plan.label is not None and plan.label_kind != NUMBER:
            types[plan.label] = WORD
        if plan.documents is not None:
            types[plan.documents.column] = pa.binary()
        try:
            columns, rows = self._arrow(self.text, types)
        except pa.ArrowInvalid:
            return None
        cells = cells_of(columns, rows, plan, dtype)
        blurred = plan.label_kind == NUMBER and inexact(cells.labels).any()
        return None if cells.troubles or blurred else cells

    def _read_strictly(self, plan: ColumnPlan, dtype: Any) -> Cells:
        """Return the cells of the rows that are sound, and what is wrong with the others."""
        origin, troubles, columns = self._columns if "_columns" in vars(self) else self._bytes(plan.columns)
        typed = columns | self._numbers if dtype is np.float64 else columns  # other types are rounded from the text
        cells = cells_of(typed, len(origin), plan, dtype)
        if cells.troubles and self._numbers:  # errors show the text of a cell
            cells = cells_of(columns, len(origin), plan, dtype)
        troubles = [*troubles, *(trouble._replace(row=int(origin[trouble.row])) for trouble in cells.troubles)]
        return replace(cells, origin=origin[cells.origin], troubles=sorted(troubles, key=lambda trouble: trouble.row))

    def _bytes(self, names: list[str]) -> tuple[Array, list[CellError], dict[str, Any]]:
        """Return the rows that have all fields, the errors of the others, and the columns of the former as bytes."""
        rows, many = self.rows, len(self.names)
        counts = {row: f"{rows.fields[row]} fields, but {many} columns" for row in _where(rows.fields != many)}
        null = np.searchsorted(rows.begins, np.flatnonzero(self.text == 0), "right") - 1
        wrong = dict.fromkeys(null.tolist(), "there is a NUL byte") | counts
        good = np.ones(len(rows.begins), bool)
        good[list(wrong)] = False
        lengths = np.diff(rows.begins, append=len(self.text))
        text = self.text if good.all() else self.text[len(self.text) - lengths.sum() :][np.repeat(good, lengths)]
        columns, count = self._arrow(text, dict.fromkeys(names, pa.binary()))
        if count != np.count_nonzero(good):
            raise DataError(self.file, "the rows can't be separated: quotes or ends of lines are mixed up")
        return np.flatnonzero(good), [CellError(row, None, reason) for row, reason in wrong.items()], columns

    def _arrow(self, text: Array, types: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Let Arrow read columns of these types; return them, and how many rows there are."""
        if not len(text):
            return {name: pa.nulls(0, kind) for name, kind in types.items()}, 0
        if text[0] == MARK[0]:  # which Arrow leaves out where a text begins, though it is part of a row here
            text = np.insert(text, 0, NEWLINE)
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            csv.ReadOptions(column_names=self.names, use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=NULLS),
        )
        return {name: table[name].combine_chunks() for name in types}, table.num_rows


@contextmanager
def _arrow_errors(file: str) -> Iterator[None]:
    """Raise errors of Arrow as a DataError that names the file."""
    try:
        yield
    except pa.ArrowException as error:
        raise DataError(file, f"it can't be read as CSV: {str(error).splitlines()[0]}") from None


def _only_numbers(plan: ColumnPlan) -> bool:
    return not plan.words and plan.documents is None and plan.label_kind != TRUTH


def _where(mask: Array) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _exactly(text: Array, hard: Array, values: Array, aside: Array) -> bool:
    """Read numbers that the compiled loop could not; return whether all are finite."""
    whole, width = text.tobytes(), values.shape[1]
    for table, here, first in ((values, hard[hard[:, 1] < width], 0), (aside, hard[hard[:, 1] >= width], width)):
        cells = as_binary(whole[begin:end].lstrip(b"+") for begin, end in here[:, 2:].tolist())
        exact = as_numpy(cells.cast(pa.large_string()).cast(pa.from_numpy_dtype(table.dtype)))
        if not np.isfinite(exact).all():
            return False
        table[here[:, 0], here[:, 1] - first] = exact
    return True


def _words(letters: Array, marks: Array) -> Array | None:
    """Return words that were kept as letters; None if one is empty or not UTF-8."""
    buffers = [None, pa.py_buffer(marks), pa.py_buffer(letters)]
    try:
        words = encode_words(
            "", pa.Array.from_buffers(pa.large_binary(), len(marks) - 1, buffers).cast(pa.large_string())
        )
    except pa.ArrowInvalid:
        return None
    return None if (words.codes < 0).any() else words_of_rows(words)


def _is_blank(text: Array) -> bool:
    return bool(((text == NEWLINE) | (text == RETURN)).all())


def _begin_of(row: bytes, field: int, delimiter: str) -> int:
    """Return where a field of a row begins."""
    one = re.compile(rb'(?:"(?:[^"]|"")*+"?)?[^%b]*+' % re.escape(delimiter.encode()))
    at = 0
    for _ in range(field):
        found = one.match(row, at)
        at = found.end() + 1 if found else at
    return at


def text_parts(
    sources: list[Source], delimiter: str, header: bool | None, size: int = BLOCK_BYTES
) -> Iterator[Text]:  # fmt: skip
    """Yield the rows of CSV files in parts."""
    before = 0
    for source in sources:
        part: Text | None = None
        for block in _whole_rows(source, ord(delimiter), size):
            if part is None:
                if source.span is None:
                    names, begin, above = _header(block, delimiter, header)
                else:  # another part of the file has the header
                    names, begin, above = beginning(source, delimiter, header)[0], 0, 0
                part = Text(names, block.text[begin:], block.file, True, before + block.done, above, delimiter)
            else:
                part = Text(part.names, block.text, block.file, False, before + block.done, 0, delimiter)
            yield part
        if part is None:
            raise DataError(source.name, "the file is empty")
        before = part.done


def _whole_rows(source: Source, delimiter: int, size: int) -> Iterator[Block]:
    """Yield the text of a source in blocks of whole rows, though a quoted field may hold many lines."""
    rest, lines, first = np.empty(0, np.uint8), 0, True
    for block in blocks([source], size):
        text = np.concatenate([rest, block.text]) if len(rest) else block.text
        stop = mark_rows(text, delimiter).stop if b'"' in text.tobytes() else len(text)
        text, rest = text[:stop], text[stop:]
        lines += int(np.count_nonzero(text == NEWLINE))
        if len(rest) > MOST_QUOTED:
            break
        if len(text):
            yield block._replace(text=text, first=first)
            first = False
    if len(rest):
        raise DataError(source.name, "a quote that is opened in this row is not closed", line=lines + 1)


def beginning(source: Source, delimiter: str, header: bool | None) -> tuple[list[str], int]:
    """Return the names of a file's columns, and the byte where its rows begin."""
    source = replace(source, span=None)
    block = next(_whole_rows(source, ord(delimiter), BLOCK_BYTES), None)
    if block is None:
        raise DataError(source.name, "the file is empty")
    names, begin, _ = _header(block, delimiter, header)
    return names, begin + _mark_of(source) if begin else 0


def _mark_of(source: Source) -> int:
    """Return how many bytes a file has before its first line."""
    return len(MARK) if source.head().startswith(MARK) else 0


def text_splitter(source: Source, delimiter: str, begin: int) -> Splitter:
    """Return where a file can be cut from a byte on: where a line begins, but for those within quotes.

    Of a file with quotes, a sample of the beginnings of rows is kept that is large enough for any number of parts.
    """
    last = source.size or 0
    if begin >= last or not any(b'"' in chunk for chunk in chunks(source.name, begin)):
        return LineSplitter(source.name, min(begin, last), last)
    at = _mark_of(source)
    found, first, seen, step = [np.array([begin])], max(begin, at), 0, 1
    for block in _whole_rows(source, ord(delimiter), BLOCK_BYTES):
        begins = at + mark_rows(block.text, ord(delimiter)).begins
        begins = begins[begins > first]
        found.append(begins[-seen % step :: step])
        seen, at = seen + len(begins), at + len(block.text)
        if sum(map(len, found)) > MOST_MARKS:
            found, step = [found[0], np.concatenate(found[1:])[::2]], 2 * step
    return MarkSplitter("bytes", np.concatenate([*found, [last]]), lambda place: place - begin)


def _header(block: Block, delimiter: str, header: bool | None) -> tuple[list[str], int, int]:
    """Return the names of the columns, and where the rows begin: the byte, and the line."""
    rows = mark_rows(block.text[:HEAD], ord(delimiter))
    if len(rows.begins) < 2:
        rows = mark_rows(block.text, ord(delimiter))
    if not len(rows.begins):
        raise DataError(block.file, "the file is empty")
    if header is False:
        return [str(j) for j in range(rows.fields[0])], 0, 0
    row = block.text[rows.begins[0] : rows.ends[0]].tobytes()
    line = int(rows.lines[0]) + 1
    if b"\0" in row:
        raise DataError(block.file, "there is a NUL byte in the header", line, row.index(b"\0") + 1)
    try:
        names = next(python_csv.reader(io.StringIO(row.decode(), newline=""), delimiter=delimiter))
    except UnicodeDecodeError as error:
        raise DataError(block.file, not_utf8(row, error.start), line, error.start + 1) from None
    except python_csv.Error as error:
        raise DataError(block.file, f"the header can't be read: {error}", line) from None
    if header is None and no_names(names):
        reason = "the first line holds numbers: header=False is for files without names, header=True if these are names"
        raise DataError(block.file, reason, line)
    if len(rows.begins) == 1:
        return names, len(block.text), int(np.count_nonzero(block.text == NEWLINE))
    return names, int(rows.begins[1]), int(rows.lines[1])


def no_names(names: list[str]) -> bool:
    """Return whether what should be names are numbers, though some may be missing.

    >>> no_names(["5.1", "", "-3e2"]), no_names(["0", "1", "label"])
    (True, False)
    """
    cells = [name.strip(" \t").lower() for name in names]
    numbers = [re.match(DECIMAL, cell) is not None for cell in cells]
    return any(numbers) and all(number or re.match(NOTHING, cell) for number, cell in zip(numbers, cells, strict=True))
