"""`stream`: blocks of rows in bounded memory; `convert`: rows to a file that is read in place."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from linsep.data.dataset import AlignedPart, Dataset
from linsep.data.errors import DataError, OnError
from linsep.data.format import Format, flag, whole
from linsep.data.npz.format import NpzFormat
from linsep.data.npz.writer import Writer
from linsep.data.pass_cache import PassCache, PassRecord, cached_blocks, widen
from linsep.data.reading import Reader, read
from linsep.data.registry import FormatName
from linsep.data.rows import Rows, in_blocks
from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError


class Stream:
    """Blocks of rows, read on demand in bounded memory; can be iterated again, epoch after epoch."""

    def __init__(
        self, source: Any, /, *, block_rows: int = 10_000, cache: Any = None, once: bool = False, **options: Any
    ) -> None:
        once = flag("once", once)
        if not isinstance(cache, (bool, str, PathLike, NoneType)):
            raise ParameterError(f"cache={cache!r}: it is True, False, the path of a folder, or None")
        self.block_rows, self.reader = whole("block_rows", block_rows), Reader(source, **options)
        reader = self.reader
        if once and reader.rereadable:
            reader.form.read_once()
        self.cache = PassCache(reader.sources, reader.form, reader.dtype, reader.policy, cache)
        self._walks, self._walking, self._as_kept = 0, 0, False
        self._columns: Array | None = None

    @property
    def form(self) -> Format:
        """Return the format of the data, with all columns decided."""
        self._settle()
        return self.reader.form

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, if the data have them."""
        return self.form.feature_names

    def seen_columns(self) -> Array:
        """Return a mask of the columns with an entry, found by one scan; all if the data can't be read again."""
        if self._columns is None:
            progress, self.reader.progress = self.reader.progress, None
            try:
                seen = np.full(self.form.width, not self.reader.rereadable)
                for X, _ in self if self.reader.rereadable else []:
                    seen[X.indices if hasattr(X, "indices") else slice(None)] = True
            finally:
                self.reader.progress = progress
            self._columns = seen
        return self._columns

    def aligned_parts(self) -> Iterator[AlignedPart]:
        """Yield the rows in parts with their places; a part with an error, which is not raised, is the last."""
        self._settle()
        return self.reader.aligned_parts()

    def __repr__(self) -> str:
        names = ", ".join(source.name for source in self.reader.sources)
        return f"stream({names!r}, block_rows={self.block_rows})"

    @property
    def rejected(self) -> int:
        """Malformed rows of the last pass so far."""
        return self.reader.policy.rejected

    @property
    def unseen(self) -> int:
        """Entries of the last pass so far whose features are not in the data these are read like."""
        return self.reader.form.unseen

    def __iter__(self) -> Iterator[Dataset]:
        reader, cache = self.reader, self.cache
        if self._walks and not reader.rereadable:
            raise DataError(reader.sources[0].name, "it can be read only once; write it to a file for more epochs")
        alone = reader.policy.path is not None or any(source.handle is not None for source in reader.sources)
        if self._walking and alone:
            raise DataError(reader.sources[0].name, "it is being read already: end that pass, or make another stream")
        self._walks, self._walking = self._walks + 1, self._walking + 1
        try:
            data = cache.open() if self._settle() else None
            if isinstance(reader.form, NpzFormat):
                data = reader.form.open(reader.sources)
            if data is None:
                blocks = self._read()
            else:
                blocks = cached_blocks(data, reader.form, reader.policy, reader.clock(), self.block_rows)
            for block in blocks:
                yield replace(block, block=True)
        finally:
            self._walking -= 1

    def _settle(self) -> bool:
        """Scan all rows, if only they decide the columns; return whether the rows are cached."""
        if not self.cache.ready():
            self.reader.scan(self.cache)
        kept = self.cache.ready()
        if kept and not self._as_kept:
            self.reader.form, self._as_kept = self.cache.stored_format(self.reader.form), True
        return kept

    def _read(self) -> Iterator[Dataset]:
        """Yield blocks from the sources; cache them if a later pass will need them."""
        reader, cache = self.reader, self.cache
        record = cache.begin() if cache.stated or self._walks > 1 else PassRecord(cache)
        least = 1 if any(source.live for source in reader.sources) else self.block_rows
        try:
            for group in in_blocks(self._record_parts(record), self.block_rows, least):
                yield reader.dataset(group)
            record.end(reader.form, reader.policy.rejected)
        finally:
            record.drop()

    def _record_parts(self, record: PassRecord) -> Iterator[Rows]:
        """Yield the rows in parts, after they were added to the record."""
        for rows in self.reader.parts(self.reader.form, self.reader.clock()):
            record.add(self.reader.form, rows)
            yield rows


def stream(
    source: Any, *, format: FormatName | None = None, on_error: OnError = "raise", block_rows: int = 10_000,
    cache: Any = None, once: bool = False, **options: Any,
) -> Stream:  # fmt: skip
    """Read rows in blocks, in bounded memory; the options are those of :func:`read`.

    Parameters
    ----------
    source : path, list of paths, glob, folder, binary file, table, or "-" for the standard input
        As in :func:`read`.
    format, on_error
        As in :func:`read`.
    block_rows : int, default=10_000
        Rows of a block; the last one may have fewer.
    cache : bool, path or None, default=None
        Folder that caches the rows of text files in binary form, to be read from there in later passes as long as the
        files do not change. True, next to the first of them, and a path, in that folder, are for later runs too. None
        is the user's folder of caches, if there is much text and it is read more than once, until the stream is gone.
        False is nowhere.
    once : bool, default=False
        If True, files are read as pipes are, without a scan of all rows first: blocks then grow wider as higher
        indices, or new names, come, so that `clf.grow(X.shape[1])` belongs before each `partial_fit`.
    **options
        The others of :func:`read`.
    """
    options |= {"format": format, "on_error": on_error}
    return Stream(source, block_rows=block_rows, cache=cache, once=once, **options)


def convert(
    source: Any, target: str | Path, *, format: FormatName | None = None, on_error: OnError = "raise",
    block_rows: int = 10_000, **options: Any,
) -> Dataset:  # fmt: skip
    """Write rows to a file in binary form, which opens at once, is read in place, and is replaced only as a whole.

    Parameters
    ----------
    source, format, on_error, **options
        As in :func:`read`.
    target : path
        The file, an uncompressed `.npz` archive, which `scipy.sparse.load_npz` and `numpy.load` read too.
    block_rows : int, default=10_000
        Rows that are in memory at a time.

    Returns
    -------
    Dataset
        The file, opened.
    """
    options |= {"format": format, "on_error": on_error}
    rows = Stream(source, block_rows=block_rows, cache=False, **options)
    if any(part.is_at(target) for part in rows.reader.sources):
        raise ParameterError(f"target={str(target)!r} is the source itself: give another name")
    with Writer(target) as writer:
        for block in rows:
            writer.write(block.X, block.y, block.weights)
        widen(writer, rows.form.width)
        form = rows.form.before if isinstance(rows.form, NpzFormat) else rows.form
        writer.rejected, names = rows.rejected, rows.form.feature_names
        writer.feature_names = None if getattr(names, "hashed", False) else names
        if form is not None:
            writer.about["form"] = {"format": form.name, "state": form.state()}
    return read(target)
