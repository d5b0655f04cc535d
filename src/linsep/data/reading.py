"""`read` and `stream`: from any sources, in any format, to rows and labels."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.data.blocks import BLOCK_BYTES, Clock, Progress
from linsep.data.dataset import Dataset, as_csr, as_labels
from linsep.data.errors import NO_ROWS, DataError, ErrorPolicy
from linsep.data.format import Format, ReadPass, flag, whole
from linsep.data.npz.format import NpzFormat
from linsep.data.npz.writer import Writer
from linsep.data.pass_cache import PassCache, PassRecord, kept_blocks, widen
from linsep.data.registry import format_for, format_of, options_of
from linsep.data.rows import Rows, cut, joined
from linsep.data.sources import Source, sources_of
from linsep.engine.arrays import Array
from linsep.engine.runtime import threads

Tell = Callable[[Progress], None]
MOST_BYTES = 1 << 32
"""Bytes of text that may be read in one go."""


def _float(dtype: Any) -> Any:
    """Return the type of values that was stated: float64 unless it is float32."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r}: values are read as float32 or float64")
    return kind.type


class Reader:
    """One source of rows with all that was said about it, or found out by a look at all of it."""

    def __init__(
        self, source: Any, /, *, format: str | None = None, dtype: Any = None, like: Any = None,
        strict: bool = False, on_error: str = "raise", quarantine: str | Path | None = None, n_jobs: int | None = -1,
        progress: Tell | None = None, block_bytes: int = BLOCK_BYTES, **options: Any,
    ) -> None:  # fmt: skip
        self.dtype = _float(dtype)
        if progress is not None and not callable(progress):
            raise ValueError(f"progress={progress!r}: it is a function, which is told how far the reading has come")
        if flag("strict", strict) and like is None:
            raise ValueError("strict=True refuses features that earlier data did not have: say which with like=")
        self.sources = sources_of(source)
        self.policy = ErrorPolicy(on_error, quarantine)
        self.jobs, self.progress, self.block_bytes = (
            threads(n_jobs),
            progress,
            whole("block_bytes", block_bytes, most=MOST_BYTES),
        )
        if like is None:
            self.form = format_for(self.sources, format, options)
        else:
            self.form = _form_like(like, self.sources, format, options, strict)
        if isinstance(self.form, NpzFormat):
            self.form.cast = None if dtype is None else np.dtype(dtype)
        for source in self.sources:
            if quarantine is not None and (source.is_at(quarantine) or isinstance(self.form, NpzFormat)):
                raise ValueError(f"quarantine={str(quarantine)!r}: rows of {source.name} can't be written there")
        if not self.again:
            self.form.read_once()

    def clock(self) -> Clock:
        """Return a clock for a pass, which tells how far it has come."""
        return Clock(self.sources, self.progress)

    @property
    def again(self) -> bool:
        """Whether the sources can be read more than once."""
        return all(source.again for source in self.sources)

    def parts(self, form: Format, clock: Clock) -> Iterator[Rows]:
        """Yield the rows in parts; malformed rows go the way of the policy."""
        policy = self.policy = self.policy.anew()
        n_rows = 0
        try:
            for rows in form.parts(ReadPass(self.sources, self.dtype, policy, clock, self.jobs, self.block_bytes)):
                n_rows += len(rows)
                yield rows
        finally:
            policy.close()
        if not n_rows + policy.rejected:
            raise DataError(self.sources[0].name, NO_ROWS)

    def settle(self, form: Format) -> None:
        """Let the form be settled, after it has seen all rows."""
        contradiction = form.settle()
        if contradiction is not None:
            raise DataError(self.sources[0].name, contradiction)
        self.form = form

    def scan(self, keeper: PassCache) -> None:
        """Look at all rows, if need be, to settle what was not said; the keeper may keep them."""
        self.form.look(self.sources)
        if self.form.settled:
            return
        form, record = deepcopy(self.form), keeper.begin()
        try:
            for rows in self.parts(form, Clock(self.sources, None)):
                record.add(form, rows)
            self.settle(form)
            record.end(form, self.policy.rejected)
        finally:
            record.drop()

    def joined(self, parts: list[Rows]) -> Dataset:
        """Return the rows of all parts, finished."""
        rows = self.form.finish(joined(parts or [self.form.none(self.dtype)], self.jobs))
        X: Any = rows.values
        if rows.indptr is not None and rows.indices is not None:
            X = as_csr(rows.values, rows.indices, rows.indptr, self.form.width)
        return Dataset(
            X, as_labels(rows.labels), feature_names=self.form.feature_names, weights=rows.weights,
            rejected=self.policy.rejected, unseen=self.form.unseen, form=self.form,
        )  # fmt: skip


def _form_like(
    like: Any, sources: list[Source], format: str | None, options: dict[str, Any], strict: bool
) -> Format:  # fmt: skip
    """Return the form of earlier data, which knows the columns that those had."""
    form = getattr(like, "form", None) or getattr(like, "form_", None)
    of_rows = isinstance(like, (Dataset, Stream))
    if form is None or not (of_rows or form.known is not None):
        raise TypeError(
            "like= takes data that were read here, a data set or a stream, or a model that was saved with data=; "
            f"got {type(like).__name__}"
        )
    if getattr(like, "block", False):
        raise ValueError("like= takes all of the data that were learned from: give the stream, not one of its blocks")
    _refuse_otherwise(form, options)
    name = format_of(sources, format)
    if not of_rows:
        return _again(form, name, strict).for_format(name, sources[0].name)
    seen = [like] if isinstance(like, Dataset) else like.columns()
    if name == "binary":
        return NpzFormat.with_columns_of(form, seen, strict)
    return form.like(seen, strict).for_format(name, sources[0].name)


def _refuse_otherwise(form: Format, options: dict[str, Any]) -> None:
    """Raise a ValueError unless options say again how earlier data were read."""
    for name, said in options.items():
        if name not in options_of(type(form)) or not (said is None or _says_again(form, name, said)):
            raise ValueError(
                f"{name}= is that of the data these are read like: state it where those are read, and leave out "
                f"{name}={said!r} here"
            )


def _says_again(form: Format, name: str, said: Any) -> bool:
    """Tell whether an option, as a form understands it, is what the form has, or what it has found."""
    own, meant = getattr(form, name), getattr(replace(form, **{name: said}), name)
    return meant in (own, getattr(getattr(form, "found", None), name, own))


def _again(form: Format, name: str, strict: bool) -> Format:
    """Return a form that knows its columns for more rows, or for rows in binary form; what it knows is not copied."""
    again: Format
    if name == "binary":
        again = NpzFormat()
        again.columns, again.names = form.width, form.feature_names
    else:
        again = deepcopy(form, {id(form.known): form.known})
    again.known, again.strict, again.unseen = form.known, strict, 0
    return again


def read(source: Any, **options: Any) -> Dataset:
    """Read all rows into memory.

    Parameters
    ----------
    source : path, list of paths, glob, folder, binary file, or "-" for the standard input
        Plain or compressed (gzip, bz2, xz, zstd).
    format : str, optional
        The format's name; by default it is found by itself.
    dtype : float64 or float32, default=float64
        The type of the values; each is the number of that type nearest to the text.
    like : Dataset, Stream, or model that was saved with its data, optional
        Read the rows as those were, into the same columns. Entries of features that those did not have are left out,
        and counted in `unseen`.
    strict : bool, default=False
        Whether a row with such a feature is malformed.
    on_error : "raise", "skip" or "quarantine", default="raise"
        What happens at a malformed row.
    quarantine : path, optional
        Where quarantined rows are written, as they were.
    n_jobs : int, default=-1
        Threads that parse.
    progress : callable, optional
        Is called with a :class:`linsep.data.blocks.Progress` now and then.
    **options
        Those of the format, such as `n_features` and `zero_based` of svmlight.

    Returns
    -------
    Dataset
    """
    reader = Reader(source, **options)
    if isinstance(reader.form, NpzFormat):
        opened = reader.form.opened(reader.sources)
        if opened is not None:
            return replace(opened, form=reader.form)
    parts = list(reader.parts(reader.form, reader.clock()))
    reader.settle(reader.form)
    return reader.joined(parts)


class Stream:
    """Blocks of rows, read as they are asked for, in bounded memory; can be walked again, epoch after epoch."""

    def __init__(
        self, source: Any, /, *, block_rows: int = 10_000, cache: Any = None, once: bool = False, **options: Any
    ) -> None:
        once = flag("once", once)
        if not isinstance(cache, (bool, str, PathLike, NoneType)):
            raise ValueError(f"cache={cache!r}: it is True, False, the path of a folder, or None")
        self.block_rows, self.reader = whole("block_rows", block_rows), Reader(source, **options)
        reader = self.reader
        if once and reader.again:
            reader.form.read_once()
        self.keeper = PassCache(reader.sources, reader.form, reader.dtype, reader.policy, cache)
        self._walks, self._walking, self._as_kept = 0, 0, False
        self._columns: Array | None = None

    @property
    def form(self) -> Format:
        """How the data are read, all settled."""
        self._settle()
        return self.reader.form

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, where the data tell."""
        return self.form.feature_names

    def columns(self) -> list[Any]:
        """Return a row, and no label, that has an entry in every column that the data have; looked for once.

        These are all columns, if the data can't be read again to see.
        """
        if self._columns is None:
            progress, self.reader.progress = self.reader.progress, None
            try:
                seen = np.full(self.form.width, not self.reader.again)
                for X, _ in self if self.reader.again else []:
                    seen[X.indices if hasattr(X, "indices") else slice(None)] = True
            finally:
                self.reader.progress = progress
            self._columns = seen
        return [(sp.csr_array(self._columns[None]), None)]

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
        reader, keeper = self.reader, self.keeper
        if self._walks and not reader.again:
            raise DataError(reader.sources[0].name, "it can be read only once; write it to a file for more epochs")
        alone = reader.policy.path is not None or any(source.handle is not None for source in reader.sources)
        if self._walking and alone:
            raise DataError(reader.sources[0].name, "it is being read already: end that pass, or make another stream")
        self._walks, self._walking = self._walks + 1, self._walking + 1
        try:
            data = keeper.opened() if self._settle() else None
            if isinstance(reader.form, NpzFormat):
                data = reader.form.opened(reader.sources)
            if data is None:
                blocks = self._read()
            else:
                blocks = kept_blocks(data, reader.form, reader.policy, reader.clock(), self.block_rows)
            for block in blocks:
                yield replace(block, block=True)
        finally:
            self._walking -= 1

    def _settle(self) -> bool:
        """See that all is known that all rows together decide; tell whether the rows are kept."""
        if not self.keeper.ready():
            self.reader.scan(self.keeper)
        kept = self.keeper.ready()
        if kept and not self._as_kept:
            self.reader.form, self._as_kept = self.keeper.form_as_kept(self.reader.form), True
        return kept

    def _read(self) -> Iterator[Dataset]:
        """Yield blocks from the sources themselves; they are kept if others will want them."""
        reader, keeper = self.reader, self.keeper
        record = keeper.begin() if keeper.stated or self._walks > 1 else PassRecord(keeper)
        waiting: list[Rows] = []
        least = 1 if any(source.live for source in reader.sources) else self.block_rows
        try:
            for rows in reader.parts(reader.form, reader.clock()):
                record.add(reader.form, rows)
                waiting.append(rows)
                while sum(map(len, waiting)) >= least:
                    yield self._block(waiting, self.block_rows)
            while any(map(len, waiting)):
                yield self._block(waiting, self.block_rows)
            record.end(reader.form, reader.policy.rejected)
        finally:
            record.drop()

    def _block(self, waiting: list[Rows], count: int) -> Dataset:
        """Take the first rows out of those that wait, as a block."""
        taken: list[Rows] = []
        while count and waiting:
            rows = waiting.pop(0)
            first, rest = cut(rows, min(count, len(rows)))
            taken.append(first)
            count -= len(first)
            if len(rest):
                waiting.insert(0, rest)
        return self.reader.joined(taken)


def stream(
    source: Any, *, block_rows: int = 10_000, cache: Any = None, once: bool = False, **options: Any
) -> Stream:  # fmt: skip
    """Read rows in blocks, in bounded memory; the options are those of :func:`read`.

    Parameters
    ----------
    source : path, list of paths, glob, folder, binary file, table, or "-" for the standard input
        As in :func:`read`.
    block_rows : int, default=10_000
        Rows of a block; the last one may have fewer.
    cache : bool, path or None, default=None
        Where the rows of text files are kept in binary form, to be read from there in later passes as long as the files
        do not change. True, next to the first of them, and a path, in that folder, are for later runs too. None is the
        user's folder of caches, if there is much text and it is read more than once, until the stream is gone. False
        is nowhere.
    once : bool, default=False
        Whether files are read as pipes are, without a look at all rows first: blocks then grow wider as higher
        indices, or new names, come, so that `clf.grow(X.shape[1])` belongs before each `partial_fit`.
    **options
        Those of :func:`read`.
    """
    return Stream(source, block_rows=block_rows, cache=cache, once=once, **options)


def convert(source: Any, target: str | Path, *, block_rows: int = 10_000, **options: Any) -> Dataset:
    """Write rows to a file in binary form, which opens at once, is read in place, and is replaced only as a whole.

    Parameters
    ----------
    source, **options
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
    rows = Stream(source, block_rows=block_rows, cache=False, **options)
    if any(part.is_at(target) for part in rows.reader.sources):
        raise ValueError(f"target={str(target)!r} is the source itself: give another name")
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
