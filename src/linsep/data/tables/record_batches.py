"""Parquet and Arrow files, and tables in memory, to record batches of some thousand rows, and these to cells."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet

from linsep.data.errors import DataError, RowError
from linsep.data.sources import Bytes, Source
from linsep.data.splitting import MarkSplitter, Splitter
from linsep.data.tables.cells import CellError, Cells, as_bytes, cells_of
from linsep.data.tables.plan import FIRST, ColumnPlan, kind_of
from linsep.engine.arrays import Array

BATCH_ROWS, BATCH_VALUES = 1 << 16, 1 << 18
"""Rows that are read from a file at once, and numbers of a part, few enough to stay in the cache."""
READ_BYTES, BATCH_BYTES, BUFFER_BYTES = 1 << 23, 1 << 21, 1 << 16
"""Bytes that are read from a file at once and those of a part, where rows are long; and those of a column's buffer."""
IPC_FILE = b"ARROW1\0\0"


@dataclass
class Records:
    """Rows of a record batch, that has only the columns that are read."""

    batch: Any
    file: str
    first: bool
    done: int

    @property
    def lines(self) -> int:
        """Return the number of rows."""
        return self.batch.num_rows

    def cells(self, plan: ColumnPlan, dtype: Any) -> Cells:
        """Return the cells of the rows; malformed rows are left out and reported."""
        with _arrow_errors(self.file, "a table"):
            columns = dict(zip(self.batch.schema.names, self.batch.columns, strict=True))
            return cells_of(columns, self.batch.num_rows, plan, dtype)

    def places(self, cells: Cells) -> Array:
        """Return the number of each row, from 0."""
        return cells.origin

    def faults(self, troubles: list[CellError]) -> list[RowError]:
        """Return the errors of malformed rows, which are written as CSV."""
        found = []
        for row, _, reason in troubles:
            line = io.StringIO(newline="")
            csv.writer(line, lineterminator="").writerow(
                [_as_text(column[row].as_py()) for column in self.batch.columns]
            )
            found.append(RowError(row, 0, reason, line.getvalue().encode("utf-8", "surrogateescape")))
        return found


def _as_text(cell: Any) -> Any:
    """Return a cell as it is written: the bytes of a document as text that gives the same bytes again."""
    return cell.decode("utf-8", "surrogateescape") if isinstance(cell, bytes) else cell


@contextmanager
def _arrow_errors(file: str, what: str) -> Iterator[None]:
    """Raise errors of Arrow as a DataError that names the file."""
    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, MemoryError, ValueError) as error:  # a ValueError: names that are not UTF-8
        lines = str(error).splitlines() or [
            "it asks for more memory than there is, so that a length in it may be wrong"
        ]
        raise DataError(file, f"it can't be read as {what}: {lines[0]}") from None


@contextmanager
def _check_unchanged(source: Source) -> Iterator[None]:
    """Raise an error if a file changes while it is read, in place of any other error."""
    stamp = source.stamp() if source.handle is None else None
    try:
        yield
    except DataError:
        _check_stamp(source, stamp)
        raise
    _check_stamp(source, stamp)


def _check_stamp(source: Source, stamp: tuple[int, ...] | None) -> None:
    if stamp is not None and source.stamp() != stamp:
        raise DataError(source.name, "the file changed while it was read") from None


class Raw(io.RawIOBase):
    """Decompressed bytes as a file that Arrow can read; `ended` is True once a read has met their end."""

    def __init__(self, data: Bytes) -> None:
        self.data, self.ended = data, False

    def readable(self) -> bool:
        """Return True: the bytes can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return so many bytes, fewer only at the end; room is made as they come, as a damaged size may be any."""
        parts, left = list[bytes](), size
        while left and not self.ended:
            room = memoryview(bytearray(READ_BYTES if left < 0 else min(left, READ_BYTES)))
            got = self.data.read_into(room)
            parts.append(bytes(room[:got]))
            self.ended, left = got < len(room), left - got if left > 0 else left
        return b"".join(parts)


class ArrowSchema(NamedTuple):
    """The columns of a table with types; what pandas keeps as an index is no column."""

    arrow: Any

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        pandas = self.arrow.pandas_metadata
        index = pandas.get("index_columns") if isinstance(pandas, dict) else None
        return [name for name in self.arrow.names if not (isinstance(index, list) and name in index)]

    def kinds(self, names: list[str]) -> dict[str, str | None]:
        """Return what columns hold."""
        return {name: kind_of(self.arrow.field(name).type) for name in names}


class OpenRecords(NamedTuple):
    """An open table: its schema, and a function that yields batches of the columns of a plan and the bytes read."""

    file: str
    schema: ArrowSchema
    batches: Callable[[ColumnPlan], Iterator[tuple[Any, int]]]

    def parts(self, plan: ColumnPlan, before: int) -> Iterator[Records]:
        """Yield the rows in parts; `before` is the size of the files before this one."""
        for name, kind in self.schema.kinds(plan.columns).items():
            if kind is None:
                reason = f"column {name!r} holds {self.schema.arrow.field(name).type}, neither numbers nor words"
                cure = f"{FIRST if plan.fixed else 'leave it out with '}ignore=[{name!r}]"
                raise DataError(self.file, f"{reason}: convert it, or {cure}")
        first = True
        for batch, done in self.batches(plan):
            rows = _rows_of_part(batch)
            for begin in range(0, batch.num_rows, rows):
                yield Records(batch.slice(begin, rows), self.file, first, before + done)
                first = False


@contextmanager
def open_records(source: Source, format: str) -> Iterator[OpenRecords]:
    """Open a Parquet or Arrow file, or a table in memory."""
    opener = {"parquet": _parquet, "arrow": _arrow, "table": _table}[format]
    with _check_unchanged(source), _arrow_errors(source.name, OPENED[format]), opener(source) as (schema, batches):
        yield OpenRecords(source.name, ArrowSchema(schema), batches)


def _rows_of_part(batch: Any) -> int:
    """Return how many rows of a batch a part has; of dictionaries, all parts have the whole."""
    plain = sum(column.nbytes for column in batch.columns if not pa.types.is_dictionary(column.type))
    by_bytes = BATCH_BYTES * batch.num_rows // max(1, plain)
    return max(1, min(BATCH_ROWS, BATCH_VALUES // max(1, batch.num_columns), by_bytes))


OPENED = {"parquet": "Parquet", "arrow": "Arrow IPC or Feather", "table": "a table"}
Opened = Iterator[tuple[Any, Callable[[ColumnPlan], Iterator[tuple[Any, int]]]]]


@contextmanager
def _parquet(source: Source) -> Opened:
    if source.handle is not None and not source.rereadable:
        raise DataError(source.name, "Parquet is not read in order: save it as a file first")
    if source.handle is not None:
        source.handle.seek(0)
    opened = source.name if source.handle is None else source.handle
    with parquet.ParquetFile(opened, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:

        def batches(plan: ColumnPlan) -> Iterator[tuple[Any, int]]:
            rows, size, meta = 0, source.size or 0, file.metadata
            all_bytes = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
            at_once = max(1, min(BATCH_ROWS, READ_BYTES * meta.num_rows // max(1, all_bytes)))
            groups = list(range(*(source.span or (0, meta.num_row_groups))))
            for batch in file.iter_batches(at_once, row_groups=groups, columns=plan.columns):
                rows += batch.num_rows
                yield _validate(_select(batch, plan)), size * rows // meta.num_rows

        yield file.schema_arrow, batches


@contextmanager
def _arrow(source: Source) -> Opened:
    whole = replace(source, span=None)
    head = whole.head()
    if head.startswith(b"FEA1"):
        raise DataError(source.name, "it is Feather of version 1: write it again as version 2")
    with whole.open() as data:
        if source.handle is None and data.compression is None and head.startswith(IPC_FILE):
            with pa.OSFile(source.name) as file:  # a map of a file that is cut off ends the process
                schema = pa.ipc.open_file(file).schema

                def batches_of_file(plan: ColumnPlan) -> Iterator[tuple[Any, int]]:
                    read = pa.ipc.IpcReadOptions(included_fields=sorted(map(schema.get_field_index, plan.columns)))
                    reader, size = pa.ipc.open_file(file, options=read), source.size or 0
                    for i in range(*(source.span or (0, reader.num_record_batches))):
                        batch = _select(reader.get_batch(i), plan)
                        yield _validate(batch), size * (i + 1) // reader.num_record_batches

                yield schema, batches_of_file
            return
        if head.startswith(IPC_FILE):  # a file is a stream between two marks
            data.read_into(memoryview(bytearray(len(IPC_FILE))))
        raw = Raw(data)
        stream = pa.ipc.open_stream(pa.PythonFile(raw, mode="r"))

        def batches_of_stream(plan: ColumnPlan) -> Iterator[tuple[Any, int]]:
            for batch in stream:
                yield _validate(_select(batch, plan)), data.position
            _check_end(source.name, raw, head.startswith(IPC_FILE))

        yield stream.schema, batches_of_stream


def _check_end(name: str, raw: Raw, within_file: bool) -> None:
    """Raise an error if a stream that was read ends without its marker, which is 8 bytes, or something follows.

    Arrow takes the end of the bytes between two batches for the end of the stream, too, and looks no further than that.
    """
    if raw.ended:
        reason = "the Arrow stream is cut off, as it has no end-of-stream marker: close its writer, or write it again"
        raise DataError(name, reason)
    rest = raw.read(-1 if within_file else 1)
    if within_file and not rest.endswith(IPC_FILE[:6]):
        raise DataError(name, "the Arrow file is cut off, as its footer is incomplete: write it again")
    if rest and not within_file:
        raise DataError(
            name, "there are bytes after the end of the Arrow stream: write each stream to a file of its own"
        )


def record_splitter(source: Source, format: str) -> Splitter:
    """Return where a file can be cut: between row groups, or between record batches of an Arrow file."""
    size = source.size or 0
    with _arrow_errors(source.name, OPENED[format]):
        if format == "parquet":
            with parquet.ParquetFile(source.name) as file:
                meta = file.metadata
                sizes = [0, *accumulate(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))]
            return MarkSplitter("row groups", range(len(sizes)), lambda group: size * sizes[group] // max(1, sizes[-1]))
        if source.packed or not source.head().startswith(IPC_FILE):
            return MarkSplitter("file", range(2), lambda place: size * place)
        with pa.OSFile(source.name) as file:
            count = pa.ipc.open_file(file).num_record_batches
        return MarkSplitter("record batches", range(count + 1), lambda batch: size * batch // max(1, count))


def records_before(source: Source, format: str) -> int:
    """Return how many rows a file has before the row groups, or the record batches, of it that are read."""
    before = range((source.span or (0, 0))[0])
    if format == "parquet":
        with parquet.ParquetFile(source.name) as file:
            return sum(file.metadata.row_group(i).num_rows for i in before)
    with pa.OSFile(source.name) as file:
        reader = pa.ipc.open_file(file)
        return sum(reader.get_batch(i).num_rows for i in before)


@contextmanager
def _table(source: Source) -> Opened:
    reader = _reader(source)

    def batches(plan: ColumnPlan) -> Iterator[tuple[Any, int]]:
        for batch in reader:
            yield _select(batch, plan), 0

    yield reader.schema, batches


def _reader(source: Source) -> Any:
    """Return what yields the record batches of a table in memory."""
    table, got = source.handle, "a file" if source.handle is None else type(source.handle).__name__
    cure = ": to_frame() makes one of it" if hasattr(table, "to_frame") else ""
    no_table = TypeError(f"a table is a data frame of pandas or polars, or a table of pyarrow; got {got}{cure}")
    if type(table).__module__.split(".")[0] == "pandas" and hasattr(table, "columns"):
        try:
            table = pa.Table.from_pandas(table, preserve_index=False)
        except (TypeError, ValueError) as error:
            raise DataError(source.name, f"the table can't be read: {error}") from None
    elif isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    elif not hasattr(table, "__arrow_c_stream__"):
        raise no_table
    try:
        return pa.RecordBatchReader.from_stream(table)
    except pa.ArrowInvalid:  # a single column, or what can't be given as columns
        raise no_table from None


def _select(batch: Any, plan: ColumnPlan) -> Any:
    """Return the columns of a batch that are read."""
    batch = batch.select(plan.columns)
    return batch if plan.documents is None else as_bytes(batch, plan.documents.column)


def _validate(batch: Any) -> Any:
    """Return a batch of a file, of which nothing lies outside of the file."""
    batch.validate(full=True)
    return batch
