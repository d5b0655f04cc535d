"""`read` and `stream`: from any sources, in any format, to rows and labels."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linsep.data.blocks import BLOCK_BYTES, Clock, Progress
from linsep.data.dataset import AlignedPart, Dataset, align, assemble
from linsep.data.errors import NO_ROWS, DataError, ErrorPolicy, OnError
from linsep.data.format import Format, ReadPass, flag, whole
from linsep.data.npz.format import NpzFormat
from linsep.data.pass_cache import PassCache
from linsep.data.registry import FormatName, format_for, format_of, options_of
from linsep.data.rows import Rows
from linsep.data.sources import Source, sources_of
from linsep.engine.runtime import threads
from linsep.validation.errors import ParameterError

Report = Callable[[Progress], None]
MOST_BYTES = 1 << 32
"""Bytes of text that may be read at once."""


def _float(dtype: Any) -> Any:
    """Return the type of the values: float64 or float32."""
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"dtype={dtype!r}: values are read as float32 or float64")
    return kind.type


class Reader:
    """A source of rows, its options, and the results of its scan."""

    def __init__(
        self, source: Any, /, *, format: str | None = None, dtype: Any = None, like: Any = None,
        strict: bool = False, on_error: str = "raise", quarantine: str | Path | None = None, n_jobs: int | None = -1,
        progress: Report | None = None, block_bytes: int = BLOCK_BYTES, **options: Any,
    ) -> None:  # fmt: skip
        self.dtype = _float(dtype)
        if progress is not None and not callable(progress):
            raise ParameterError(f"progress={progress!r}: it is a function that takes the progress")
        if flag("strict", strict) and like is None:
            raise ParameterError(
                "strict=True refuses features that earlier data did not have: pass the earlier data as like="
            )
        self.sources = sources_of(source)
        self.policy = ErrorPolicy(on_error, quarantine)
        self.jobs, self.progress, self.block_bytes = (
            _threads(n_jobs),
            progress,
            whole("block_bytes", block_bytes, most=MOST_BYTES),
        )
        if like is None:
            self.form = format_for(self.sources, format, options)
        else:
            self.form = _format_like(like, self.sources, format, options, strict)
        if isinstance(self.form, NpzFormat):
            self.form.cast = None if dtype is None else np.dtype(dtype)
        for source in self.sources:
            if quarantine is not None and (source.is_at(quarantine) or isinstance(self.form, NpzFormat)):
                raise ParameterError(f"quarantine={str(quarantine)!r}: rows of {source.name} can't be written there")
        if not self.rereadable:
            self.form.read_once()

    def clock(self) -> Clock:
        """Return a clock for a pass, which reports its progress."""
        return Clock(self.sources, self.progress)

    @property
    def rereadable(self) -> bool:
        """Return whether the sources can be read more than once."""
        return all(source.rereadable for source in self.sources)

    def parts(self, form: Format, clock: Clock, *, deferred: bool = False) -> Iterator[Rows]:
        """Yield the rows in parts; the policy handles malformed rows."""
        policy = self.policy = self.policy.restart(deferred=deferred)
        n_rows = 0
        try:
            for rows in form.parts(ReadPass(self.sources, self.dtype, policy, clock, self.jobs, self.block_bytes)):
                n_rows += len(rows)
                yield rows
        finally:
            policy.close()
        if not n_rows + policy.rejected and policy.error is None:
            raise DataError(self.sources[0].name, NO_ROWS)

    def settle(self, form: Format) -> None:
        """Decide what the options left open, after the format has seen all rows."""
        contradiction = form.settle()
        if contradiction is not None:
            raise DataError(self.sources[0].name, contradiction)
        self.form = form

    def scan(self, cache: PassCache) -> None:
        """Scan all rows, if need be, to decide what the options leave open; the cache may keep the rows."""
        self.form.sniff(self.sources)
        if self.form.settled:
            return
        form, record = deepcopy(self.form), cache.begin()
        try:
            for rows in self.parts(form, Clock(self.sources, None)):
                record.add(form, rows)
            self.settle(form)
            record.end(form, self.policy.rejected)
        finally:
            record.drop()

    def aligned_parts(self) -> Iterator[AlignedPart]:
        """Yield the rows in parts with their places; a part with an error, which is not raised, is the last."""
        for rows in self.parts(self.form, self.clock(), deferred=True):
            part = align(rows, self.form, self.policy)
            yield part
            if part.error is not None:
                return
            self.policy.lines = []

    def dataset(self, parts: list[Rows], block: bool = False) -> Dataset:
        """Return the rows of some parts, finished."""
        return assemble(
            parts, self.form, self.dtype, jobs=self.jobs, rejected=self.policy.rejected, unseen=self.form.unseen,
            block=block,
        )  # fmt: skip


def _threads(n_jobs: Any) -> int:
    try:
        return threads(n_jobs)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _format_like(
    like: Any, sources: list[Source], format: str | None, options: dict[str, Any], strict: bool
) -> Format:  # fmt: skip
    """Return the format of earlier data, which reads rows into the columns of those."""
    form = getattr(like, "form", None) or getattr(like, "form_", None)
    seen = getattr(like, "seen_columns", None)
    if form is None or (seen is None and form.known is None):
        raise TypeError(
            "like= takes data that were read here, a data set or a stream, or a model that was saved with data=; "
            f"got {type(like).__name__}"
        )
    if getattr(like, "block", False):
        raise ParameterError(
            "like= takes all of the data that were learned from: give the stream, not one of its blocks"
        )
    _refuse_changed_options(form, options)
    name = format_of(sources, format)
    if seen is None:
        return _for_more_rows(form, name, strict).for_format(name, sources[0].name)
    if name == "binary":
        return NpzFormat.with_columns_of(form, seen, strict)
    return form.like(seen, strict).for_format(name, sources[0].name)


def _refuse_changed_options(form: Format, options: dict[str, Any]) -> None:
    """Raise a ValueError if an option differs from that of the earlier data."""
    for name, value in options.items():
        if name not in options_of(type(form)) or not (value is None or _repeats(form, name, value)):
            raise ParameterError(
                f"{name}= is that of the data these are read like: state it where those are read, and leave out "
                f"{name}={value!r} here"
            )


def _repeats(form: Format, name: str, value: Any) -> bool:
    """Return whether an option, once validated, is that of the format, or what the format has detected."""
    own, meant = getattr(form, name), getattr(replace(form, **{name: value}), name)
    return meant in (own, getattr(getattr(form, "found", None), name, own))


def _for_more_rows(form: Format, name: str, strict: bool) -> Format:
    """Return a format with known columns for more rows, or for the rows of npz files; the known columns are shared."""
    other: Format
    if name == "binary":
        other = NpzFormat()
        other.columns, other.names = form.width, form.feature_names
    else:
        other = form.for_part()
    other.known, other.strict, other.unseen = form.known, strict, 0
    return other


def read(
    source: Any, *, format: FormatName | None = None, on_error: OnError = "raise", **options: Any
) -> Dataset:  # fmt: skip
    """Read all rows into memory.

    Parameters
    ----------
    source : path, list of paths, glob, folder, binary file, or "-" for the standard input
        Plain or compressed (gzip, bz2, xz, zstd).
    format : str, optional
        The format's name. Detected if omitted.
    dtype : float64 or float32, default=float64
        The type of the values; each is the number of that type nearest to the text.
    like : Dataset, Stream, or model that was saved with its data, optional
        Read the rows as those were, into the same columns. Entries of features that those did not have are left out,
        and counted in `unseen`.
    strict : bool, default=False
        If True, a row with such a feature is malformed.
    on_error : "raise", "skip" or "quarantine", default="raise"
        Policy for malformed rows.
    quarantine : path, optional
        File of quarantined rows, written unchanged.
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
    reader = Reader(source, format=format, on_error=on_error, **options)
    if isinstance(reader.form, NpzFormat):
        opened = reader.form.open(reader.sources)
        if opened is not None:
            return replace(opened, form=reader.form)
    parts = list(reader.parts(reader.form, reader.clock()))
    reader.settle(reader.form)
    return reader.dataset(parts)
