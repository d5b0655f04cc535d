"""Parts of files, which threads, processes and machines read independently."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from linsep.data.blocks import BLOCK_BYTES, Clock
from linsep.data.dataset import AlignedPart, Dataset, align, as_labels, assemble
from linsep.data.errors import NO_ROWS, DataError, ErrorPolicy
from linsep.data.format import Format, ReadPass, whole
from linsep.data.npz.file import blocks as stored_blocks
from linsep.data.npz.format import NpzFormat
from linsep.data.reading import Reader
from linsep.data.rows import NO_INDEX, Rows, as_csr, in_blocks
from linsep.data.sources import Source, sources_of
from linsep.data.splitting import cut
from linsep.data.svmlight import Svmlight
from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError

CHANGED = "the file changed since it was cut into parts: cut it again"


class Span(NamedTuple):
    """Some bytes, row groups, record batches or rows of a file, or all of it.

    Attributes
    ----------
    file, path : str
        The file as it was called, for messages, and where it is.
    begin, end : int
        From which to before which of its units.
    unit : str
        "bytes", "row groups", "record batches", "rows", or "file", which is one.
    size : int
        Its stored bytes.
    stamp : tuple of int
        The file's size and time of modification when it was cut.
    """

    file: str
    path: str
    begin: int
    end: int
    unit: str
    size: int
    stamp: tuple[int, int]

    def source(self) -> Source:
        """Return what reads it."""
        return Source(self.path, span=None if self.unit == "file" else (self.begin, self.end))

    def check(self) -> None:
        """Raise an error if the file is not there, or not as it was."""
        try:
            stamp = stamp_of(self.path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            reason = f"{why}: a machine that reads a part needs the file at {self.path!r}"
            raise DataError(self.file, reason) from None
        if stamp != self.stamp:
            raise DataError(self.file, CHANGED)


class Part(NamedTuple):
    """Rows that stand one after the other, in one file or several: where they are, and nothing of what they hold."""

    spans: tuple[Span, ...]

    @property
    def size(self) -> int:
        """Its stored bytes."""
        return sum(span.size for span in self.spans)

    def __str__(self) -> str:
        return "; ".join(f"{span.file}, {span.unit} {span.begin:,} to {span.end:,}" for span in self.spans)


class Spanned(Protocol):
    """A part of files, or of a dataframe in memory that is read as a file is."""

    @property
    def spans(self) -> Sequence[Any]:
        """The ranges: each is a :class:`Span`, or has its `file`, `path`, `source` and `check`."""


@dataclass(frozen=True)
class Reading:
    """Settings of the readers of parts; small, unless the columns have many names."""

    form: Format
    dtype: Any
    on_error: str = "raise"
    block_bytes: int = BLOCK_BYTES


def stamp_of(path: str) -> tuple[int, int]:
    """Return what changes when a file does, on every machine that sees it."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


class Profile(NamedTuple):
    """Counts of some rows.

    Attributes
    ----------
    rows : int
        Number of rows.
    labels : array
        The distinct ones, in order; NaN is that of rows without.
    seen : array of bytes, or None
        The columns with an entry, as bits; None where rows are dense, and have all.
    low, high : int
        The lowest and the highest index as written, where these settle something.
    weighted : bool
        True if some rows have a weight.
    rejected, unseen : int
        As in :class:`~linsep.data.dataset.Dataset`.
    """

    rows: int
    labels: Array
    seen: Array | None
    low: int
    high: int
    weighted: bool
    rejected: int
    unseen: int

    @property
    def columns(self) -> Any:
        """Return a mask of the columns with an entry, up to the last such column or a few more; None for all.

        Those of svmlight text that is not settled yet are numbered as they are written.
        """
        return None if self.seen is None else np.unpackbits(self.seen).astype(bool)

    def seen_columns(self, width: int) -> Array:
        """Return a mask of the columns with an entry, of so many columns; of dense rows, all columns."""
        return np.ones(width, bool) if self.seen is None else self.columns[:width]


class ProfileBuilder:
    """Count what rows hold, part after part.

    >>> builder = ProfileBuilder()
    >>> builder.add(Rows(np.array([1.0, -1.0]), np.array([0, 1, 2]), np.array([0, 2]), np.ones(2), np.arange(2), 2))
    >>> builder.columns, builder.labels
    (array([ True, False,  True]), array([-1.,  1.]))
    """

    def __init__(self) -> None:
        self.rows, self.weighted, self.labels = 0, False, np.empty(0)
        self.columns: Array | None = np.zeros(0, bool)

    def add(self, rows: Rows) -> None:
        """Count more rows."""
        if not len(rows):
            return
        self.rows += len(rows)
        self.weighted |= rows.weights is not None
        self.labels = _union(self.labels, np.unique(rows.labels))
        if rows.indices is None or self.columns is None:
            self.columns = None
            return
        lacking = int(rows.indices.max(initial=-1)) + 1 - len(self.columns)
        if lacking > 0:
            self.columns = np.concatenate([self.columns, np.zeros(max(lacking, len(self.columns)), bool)])
        self.columns[rows.indices] = True

    def profile(self, form: Format, rejected: int, unseen: int) -> Profile:
        """Return what was counted of rows that were read in a form."""
        low, high = (form.low, form.high) if isinstance(form, Svmlight) else (NO_INDEX, -1)
        seen = None if self.columns is None else np.packbits(self.columns)
        return Profile(self.rows, as_labels(self.labels), seen, low, high, self.weighted, rejected, unseen)


def merge_profiles(profiles: Iterable[Profile]) -> Profile:
    """Return what all rows hold.

    >>> one = Profile(2, np.array([1]), np.packbits([True, False]), 1, 1, False, 0, 0)
    >>> other = Profile(1, np.array([0.5]), np.packbits([False, True]), 2, 2, False, 1, 0)
    >>> all = merge_profiles([one, other])
    >>> all.rows, all.labels, all.columns[:3], all.rejected
    (3, array([0.5, 1. ]), array([ True,  True, False]), 1)
    """
    total = Profile(0, np.empty(0), np.empty(0, np.uint8), NO_INDEX, -1, False, 0, 0)
    for one in profiles:
        seen = None if one.seen is None or total.seen is None else _union_bits(one.seen, total.seen)
        labels = _union(total.labels, one.labels)
        low, high = min(total.low, one.low), max(total.high, one.high)
        counts = (total.rejected + one.rejected, total.unseen + one.unseen)
        total = Profile(total.rows + one.rows, labels, seen, low, high, total.weighted or one.weighted, *counts)
    return total._replace(labels=as_labels(total.labels))


def _union(some: Array, others: Array) -> Array:
    """Return the distinct labels of both, in order."""
    if not len(some) or not len(others):
        return some if len(some) else others
    return np.unique(np.concatenate([some, others]))


def _union_bits(some: Array, others: Array) -> Array:
    """Return the bits that are set in one of both."""
    short, long = sorted((some, others), key=len)
    both = long.copy()
    both[: len(short)] |= short
    return both


class PartReader:
    """One pass over a part, with a format of its own, as threads share a reading and each counts for itself."""

    def __init__(self, part: Spanned, reading: Reading) -> None:
        self.part, self.reading = part, reading
        self.form = reading.form.for_part()
        self.policy = ErrorPolicy(reading.on_error)
        self._unseen = 0

    @property
    def unseen(self) -> int:
        """Entries of unknown features so far."""
        return self._unseen + self.form.unseen

    def __iter__(self) -> Iterator[Rows]:
        return (rows for _, rows in self._by_span())

    def _by_span(self) -> Iterator[tuple[Span, Rows]]:
        for span in self.part.spans:
            with _check_unchanged(span, self.form):
                for rows in self.form.parts(self._job(span.source())):
                    yield span, rows
            self._unseen, self.form.unseen = self.unseen, 0

    def _job(self, source: Source) -> ReadPass:
        dtype, size = self.reading.dtype, self.reading.block_bytes
        return ReadPass([source], dtype, self.policy, Clock([source], None), 1, size)

    def dataset(self, rows: list[Rows], form: Format, block: bool = False) -> Dataset:
        """Return rows of this pass, finished in a format whose columns are decided."""
        return assemble(
            rows, form, self.reading.dtype, rejected=self.policy.rejected, unseen=self.unseen, block=block
        )  # fmt: skip

    def aligned_parts(self) -> Iterator[AlignedPart]:
        """Yield the rows with their places; a part with an error, which is not raised, is the last."""
        self.policy = policy = ErrorPolicy(self.reading.on_error, deferred=True)
        for span, rows in self._by_span():
            part = align(rows, self.reading.form, policy)
            if part.error is not None:
                yield part._replace(error=_in_whole_file(part.error, span, self.form))
                return
            yield part
            policy.lines = []


@contextmanager
def _check_unchanged(span: Span, form: Format) -> Iterator[None]:
    """Check that a file has not changed since it was cut; errors have their place in the whole file."""
    span.check()
    try:
        yield
    except DataError as error:
        span.check()
        if error.file != span.path:
            raise
        raise _in_whole_file(error, span, form) from None
    span.check()


def _in_whole_file(error: DataError, span: Span, form: Format) -> DataError:
    """Return an error in a part of a file as one that has its place in the whole file."""
    line = error.line if error.line is None else error.line + form.lines_before(span.source())
    return DataError(span.file, error.reason, line, error.column)


class PartRows:
    r"""All rows of a part, read with a reading that need not be settled; they are finished once the plan is settled.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/rows.svm", "w") as file:
    ...         _ = file.write("1 1:1\n-1 2:3\n")
    ...     plan = Plan(f"{folder}/rows.svm")
    ...     both = [PartRows(part, plan.reading) for part in plan.parts(2)]
    ...     _ = plan.settle(one.profile for one in both)
    >>> [one.finish(plan.form).X.toarray() for one in both]
    [array([[1., 0.]]), array([[0., 3.]])]
    """

    def __init__(self, part: Spanned, reading: Reading) -> None:
        self._pass = PartReader(part, reading)
        self._stored = _in_place(part, reading)
        self._rows = list(self._pass) if self._stored is None else []

    @property
    def profile(self) -> Profile:
        """Return the counts of the rows."""
        if self._stored is not None:
            return profile_of(self._pass.part, self._pass.reading)
        builder = ProfileBuilder()
        for rows in self._rows:
            builder.add(rows)
        return builder.profile(self._pass.form, self._pass.policy.rejected, self._pass.unseen)

    @property
    def nbytes(self) -> int:
        """The memory that the rows take: none where they are read in place."""
        return sum(array.nbytes for rows in self._rows for array in vars(rows).values() if hasattr(array, "nbytes"))

    def finish(self, form: Format) -> Dataset:
        """Return the rows as learners see them, in the plan's form once that is settled."""
        _check_settled(form)
        return self._pass.dataset(self._rows, form) if self._stored is None else self._stored


def profile_of(part: Spanned, reading: Reading) -> Profile:
    """Return what a part holds, after one pass over it in bounded memory; parameters as in :class:`PartRows`."""
    reader, builder = PartReader(part, reading), ProfileBuilder()
    for rows in reader:
        builder.add(rows)
    return builder.profile(reader.form, reader.policy.rejected, reader.unseen)


def rows_of(part: Part, reading: Reading) -> Dataset:
    """Return all rows of a part; those of a file in binary form in place.

    Parameters
    ----------
    part : Part
    reading : Reading
        That of the plan, settled.
    """
    _check_settled(reading.form)
    return PartRows(part, reading).finish(reading.form)


def blocks_of(part: Spanned, reading: Reading, block_rows: int = 10_000) -> Iterator[Dataset]:
    """Yield the rows of a part in blocks of `block_rows`, the last of which may have fewer, in bounded memory.

    Parameters
    ----------
    part : Part
    reading : Reading
        That of the plan, settled.
    block_rows : int, default=10_000
        Rows of a block.
    """
    _check_settled(reading.form)
    return _blocks(part, reading, whole("block_rows", block_rows))


def _blocks(part: Spanned, reading: Reading, block_rows: int) -> Iterator[Dataset]:
    stored, form = _in_place(part, reading), reading.form
    if stored is not None:
        with _check_unchanged(part.spans[0], form):
            for block in stored_blocks(stored, block_rows):
                yield replace(block, block=True)
        return
    reader = PartReader(part, reading)
    for group in in_blocks(reader, block_rows, block_rows):
        yield reader.dataset(group, form, block=True)


def _check_settled(form: Format) -> None:
    if not form.settled:
        raise ParameterError(
            "the first index and the number of features are not known yet: call plan.settle(profiles of all parts), "
            "or pass zero_based= and n_features="
        )


def _in_place(part: Spanned, reading: Reading) -> Dataset | None:
    """Return rows of one file in binary form as views of it; None where they must be read."""
    form = reading.form
    if not isinstance(form, NpzFormat) or len(part.spans) > 1:
        return None
    [span] = part.spans
    with _check_unchanged(span, form):
        data = form.open([span.source()])
    if data is None:
        return None
    X = data.X
    if X.shape[1] != form.width:
        if not hasattr(X, "indptr"):
            raise DataError(span.file, f"its table has {X.shape[1]} columns, that of another file {form.width}")
        X = as_csr(X.data, X.indices, X.indptr, form.width)
    return replace(data, X=X, feature_names=form.feature_names, form=form)


NOT_HERE = {
    "quarantine": "rows can't be quarantined by several readers at once: use on_error='skip', or 'raise'",
    "progress": "parts are read elsewhere, where progress= is not called: omit progress=",
}
"""Options of `read` that make no sense for parts."""


class Plan:
    r"""Files to be read in parts, with the options of their format.

    The first rows are read here, so that every part is read in the same way. All rows are read once where only all of
    them decide the columns: words that are numbered, weights of n-grams, names to be kept. Svmlight text is an
    exception; profiles of its parts decide: `plan.settle(profiles)`.

    Parameters
    ----------
    source : path, list of paths, glob or folder
        Plain files are cut; compressed ones, and Arrow streams, are parts as a whole.
    on_error : "raise" or "skip", default="raise"
        Policy for malformed rows.
    **options
        Those of :func:`linsep.read`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/rows.svm", "w") as file:
    ...         _ = file.write("1 1:1\n-1 2:3\n1 3:2\n")
    ...     plan = Plan(f"{folder}/rows.svm")
    ...     parts = plan.parts(2)
    ...     all = plan.settle([profile_of(part, plan.reading) for part in parts])
    ...     data = [rows_of(part, plan.reading) for part in parts]
    >>> [(span.begin, span.end) for part in parts for span in part.spans], all.rows, all.labels
    ([(0, 13), (13, 19)], 3, array([-1,  1]))
    >>> data
    [<Dataset of 2 rows, 3 features, svmlight>, <Dataset of 1 rows, 3 features, svmlight>]
    """

    def __init__(self, source: Any, /, *, on_error: str = "raise", **options: Any) -> None:
        for name, reason in NOT_HERE.items():
            if name in options or on_error == name:
                raise ParameterError(reason)
        named = sources_of(source)
        for found in named:
            if found.handle is not None:
                raise DataError(
                    found.name, "it has no parts: other readers need files by their names, so save it to a file first"
                )
        self._stamps = [stamp_of(found.name) for found in named]
        self._reader = Reader([found.name for found in named], on_error=on_error, **options)
        self._sniff()

    def _sniff(self) -> None:
        """Decide the columns, except what profiles of the parts decide."""
        form, sources = self.form, self.sources
        form.sniff(sources)
        named = getattr(form, "keep_names", False) and form.known is None
        if isinstance(form, Svmlight) or (form.settled and not named):
            return
        for _ in self._reader.parts(form, Clock(sources, None)):
            pass
        self._reader.settle(form)

    @property
    def form(self) -> Format:
        """Return the format of the data, as far as it is decided."""
        return self._reader.form

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._reader.dtype

    @property
    def on_error(self) -> str:
        """Return the policy for malformed rows."""
        return self._reader.policy.on_error

    @property
    def sources(self) -> list[Source]:
        """The files, in order."""
        return self._reader.sources

    @property
    def reading(self) -> Reading:
        """Return the settings of the readers of parts."""
        return Reading(self.form, self.dtype, self.on_error, self._reader.block_bytes)

    def parts(self, count: int) -> list[Part]:
        """Return at most `count` parts of about equal size, in the order of the files, none of them without bytes.

        There are fewer only where there are fewer lines, row groups, record batches or rows to cut between. A part
        that holds only comments or blank lines has no rows.
        """
        count = whole("count", count)
        splitters = [self.form.splitter(source) for source in self.sources]
        parts = []
        for stretches in cut(splitters, count):
            spans = []
            for k, begin, end in stretches:
                name, splitter = self.sources[k].name, splitters[k]
                size = splitter.size(end) - splitter.size(begin)
                spans.append(Span(name, os.path.abspath(name), begin, end, splitter.unit, size, self._stamps[k]))
                spans[-1].check()
            parts.append(Part(tuple(spans)))
        return parts

    def settle(self, profiles: Iterable[Profile]) -> Profile:
        """Settle what was left open by what was found in all parts; return the profile of all, by settled columns."""
        found = merge_profiles(profiles)
        if not found.rows + found.rejected:
            raise DataError(self.sources[0].name, NO_ROWS)
        form = deepcopy(self.form)
        if isinstance(form, Svmlight) and not form.settled:
            form.note(found.low, found.high)
            self._reader.settle(form)
        if found.seen is None:
            return found
        columns, width = found.columns[self.form.first :], self.form.width
        columns = np.concatenate([columns, np.zeros(max(0, width - len(columns)), bool)])[:width]
        return found._replace(seen=np.packbits(columns))


__all__ = ["Part", "PartRows", "Plan", "Profile", "Reading", "Span", "blocks_of", "profile_of", "rows_of"]
