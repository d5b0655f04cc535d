"""Rows that are in binary form already, as a format like the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from linsep.data.dataset import Dataset, as_labels
from linsep.data.errors import NO_ROWS, DataError, RowError
from linsep.data.format import Format, ReadPass, flag
from linsep.data.npz.file import about, blocks, open_binary, rows_between
from linsep.data.registry import format_class
from linsep.data.rows import Rows
from linsep.data.sources import Source
from linsep.data.splitting import MarkSplitter, Splitter
from linsep.engine.arrays import Array

PART_ROWS = 1 << 16


@dataclass
class NpzFormat(Format):
    """Files in binary form.

    Parameters
    ----------
    verify : bool
        If True, check the contents of the arrays too, by a scan of all of them: for files from elsewhere.
    """

    name = "binary"
    verify: bool = False
    cast: Any = field(default=None, init=False, repr=False)
    """The type of the values, if it need not be that of the file."""
    columns: int | None = field(default=None, init=False, repr=False)
    names: Any = field(default=None, init=False, repr=False)
    before: Format | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.verify = flag("verify", self.verify)

    @property
    def settled(self) -> bool:
        """Return whether the number of features is known."""
        return self.columns is not None

    @property
    def width(self) -> int:
        """The number of features."""
        return self.columns or 0

    @property
    def feature_names(self) -> Any:
        """The names of the features, if the file has them."""
        return self.names

    def sniff(self, sources: list[Source]) -> None:
        """Take the number of features, and their names, from the headers of all files."""
        if self.columns is None:
            for source in sources:
                data = self._open_source(source)
                if data.X.shape[1] > self.width or self.columns is None:
                    self.columns, self.names = data.X.shape[1], data.feature_names
            self.before = _form_before(sources[0].name)

    def parts(self, job: ReadPass) -> Iterator[Rows]:
        """Yield the rows of all files in parts."""
        self.sniff(job.sources)
        self.unseen = before = 0
        for source in job.sources:
            size, data = source.size or 0, self._open_source(source)
            job.policy.rejected += data.rejected
            first = 0
            for block in blocks(data, PART_ROWS, verify=self.verify and source.span is None):
                rows = self._rows(block)
                wrong: dict[int, tuple[bytes, str]] = {}
                if self.known is not None and rows.indices is not None:
                    rows = self._known_entries(rows, self.known, wrong)
                job.policy.take(
                    [RowError(row, None, why, b"") for row, (_, why) in wrong.items()], source.name, first + 1
                )
                rows = rows.without(list(wrong)) if wrong else rows
                first += len(block)
                job.clock.tick(before + size * first // len(data), len(block))
                yield rows
            before += size

    def none(self, dtype: Any) -> Rows:
        """Return no rows."""
        return Rows(np.empty(0), None, None, np.empty((0, self.width), dtype), np.empty(0, np.int64), 0)

    def open(self, sources: list[Source]) -> Dataset | None:
        """Return a single file in place; None if there are several, only some columns count, or numbers must change."""
        self.sniff(sources)
        data = self._open_source(sources[0])
        same = self.cast is None or self.cast == data.X.dtype
        if len(sources) > 1 or self.known is not None or not same:
            return None
        if not len(data) + data.rejected:
            raise DataError(sources[0].name, NO_ROWS)
        return replace(data, y=as_labels(data.y))

    def splitter(self, source: Source) -> Splitter:
        """Return where a file can be cut: between rows."""
        data, size = open_binary(source.name), source.size or 0
        X, rows = data.X, len(data)
        if not hasattr(X, "indptr"):
            return MarkSplitter("rows", range(rows + 1), lambda row: size * row // max(rows, 1))
        entry, row_bytes = X.data.itemsize + X.indices.itemsize, X.indptr.itemsize + data.y.itemsize
        return MarkSplitter("rows", range(rows + 1), lambda row: int(X.indptr[row]) * entry + row * row_bytes)

    def lines_before(self, source: Source) -> int:
        """Return how many rows a file has before the part of it that is read."""
        return 0 if source.span is None else source.span[0]

    @classmethod
    def with_columns_of(cls, form: Format, seen: Callable[[], Array], strict: bool) -> Self:
        """Return how to read files in binary form into the columns that other data have."""
        stored, like = cls(), form._like(seen, strict)
        stored.known, stored.strict = like.known, strict
        stored.columns, stored.names = form.width, form.feature_names
        return stored

    def like(self, seen: Callable[[], Array], strict: bool) -> Format:
        """Return how to read rows, in the form that these had before, into the columns that these have."""
        return self._like(seen, strict) if self.before is None else self.before.like(seen, strict)

    def _open_source(self, source: Source) -> Dataset:
        if source.handle is not None:
            raise DataError(source.name, "data in binary form are mapped into memory: give the file by its name")
        if source.span is None:
            return open_binary(source.name, verify=self.verify)
        data, (begin, end) = open_binary(source.name), source.span
        rows = rows_between(data, begin, end, source.name)
        return replace(rows, rejected=0 if begin else data.rejected)  # those of the file count with its first rows

    def _rows(self, block: Dataset) -> Rows:
        X, places = block.X, np.arange(len(block))
        indptr, indices, values = (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (None, None, X)
        values = values if self.cast is None else values.astype(self.cast, copy=False)
        return Rows(block.y, indptr, indices, values, places, len(block), weights=block.weights)


def _form_before(path: str) -> Format | None:
    """Return the form in which rows were read before they were written to a file, if the file records it."""
    stored = about(path).get("form")
    if stored is None:
        return None
    try:
        return format_class(stored["format"]).restored(stored["state"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(path, f"its record of how its rows were read is damaged ({error!r})") from None
