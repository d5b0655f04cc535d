"""`read` and `stream`: from any sources, in any format, to rows and labels."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.threads import threads
from linsep.data.dataset import Dataset, as_csr, as_labels
from linsep.data.errors import DataError, Fault, Policy
from linsep.data.form import Form, Wrong, row_of
from linsep.data.formats import form_of
from linsep.data.lines import BLOCK_BYTES, NEWLINE, Block, Clock, Progress, blocks, in_order
from linsep.data.rows import Rows, cut, joined, without, without_entries
from linsep.data.sources import sources_of

Array = NDArray[Any]
Tell = Callable[[Progress], None]


class Reader:
    """One source of rows with all that was said about it, or found out by a look at all of it."""

    def __init__(
        self, source: Any, *, format: str | None = None, dtype: Any = np.float64, like: Any = None,
        strict: bool = False, on_error: str = "raise", quarantine: str | Path | None = None, n_jobs: int | None = -1,
        progress: Tell | None = None, block_bytes: int = BLOCK_BYTES, **options: Any,
    ) -> None:  # fmt: skip
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype={dtype!r}: values are read as float32 or float64")
        if block_bytes < 1:
            raise ValueError(f"block_bytes={block_bytes}: a block has one byte at least")
        if strict and like is None:
            raise ValueError("strict=True refuses features that earlier data did not have: say which with like=")
        self.sources = sources_of(source)
        self.dtype, self.strict = np.dtype(dtype).type, strict
        self.policy = Policy(on_error, quarantine)
        self.jobs, self.progress, self.block_bytes = threads(n_jobs), progress, block_bytes
        self.form = form_of(self.sources, format, options) if like is None else _form_like(like, format, options)
        self.unseen = 0
        if not self.again:
            self.form.read_once()

    @property
    def again(self) -> bool:
        """Whether the sources can be read more than once."""
        return all(source.again for source in self.sources)

    def parts(self) -> Iterator[Rows]:
        """Yield the rows block by block; malformed rows go the way of the policy."""
        self.policy.restart()
        self.unseen = 0
        clock = Clock(self.sources, self.progress)
        line = 1
        try:
            for block, rows in in_order(self._parsed, blocks(self.sources, self.block_bytes), self.jobs):
                line = 1 if block.first else line
                rows = self._taken(rows, block, line)
                line += rows.lines
                clock.tick(block.done, len(rows))
                yield rows
        finally:
            self.policy.close()

    def _parsed(self, block: Block) -> tuple[Block, Rows]:
        return block, self.form.parse(block.text, self.dtype)

    def _taken(self, rows: Rows, block: Block, line: int) -> Rows:
        """Return the rows of a block that are sound, after the others have gone the way of the policy."""
        rows, wrong = self.form.take(rows)
        if self.form.known is not None:
            rows = self._known(rows, wrong)
        faults = sorted([*rows.faults, *(_fault(block, int(rows.places[i]), *why) for i, why in wrong.items())])
        self.policy.take(faults, block.file, line)
        return without(rows, list(wrong)) if wrong else rows

    def _known(self, rows: Rows, wrong: Wrong) -> Rows:
        """Leave out the entries of features that earlier data did not have; or refuse their rows."""
        unknown = self.form.unknown(rows)
        if not unknown.any():
            return rows
        if self.strict:
            for row in np.unique(row_of(rows, np.flatnonzero(unknown))).tolist():
                wrong.setdefault(row, (b"", "the row has a feature that the data it is read like did not have"))
            return rows
        self.unseen += int(np.count_nonzero(unknown))
        return without_entries(rows, unknown)

    def settle(self) -> None:
        """Fix what all rows together decide."""
        contradiction = self.form.settle()
        if contradiction is not None:
            raise DataError(self.sources[0].name, contradiction)

    def scan(self) -> None:
        """Look at all rows, if need be, to settle what was not said."""
        if not self.form.settled:
            told, self.progress = self.progress, None
            for _ in self.parts():
                pass
            self.settle()
            self.progress = told

    def joined(self, parts: list[Rows]) -> Dataset:
        """Return the rows of all parts, finished."""
        parts = parts or [self.form.parse(np.empty(0, np.uint8), self.dtype)]
        rows = self.form.finish(joined(parts, self.jobs))
        X: Any = rows.values
        if rows.indptr is not None and rows.indices is not None:
            X = as_csr(rows.values, rows.indices, rows.indptr, self.form.width)
        return Dataset(
            X, as_labels(rows.labels), feature_names=self.form.feature_names, weights=rows.weights,
            rejected=self.policy.rejected, unseen=self.unseen, form=self.form,
        )  # fmt: skip


def _fault(block: Block, place: int, word: bytes, reason: str) -> Fault:
    """Return what is told of a word in the line of a block, counted from 0."""
    ends = np.flatnonzero(block.text == NEWLINE)
    line = block.text[0 if place == 0 else ends[place - 1] + 1 : ends[place]].tobytes()
    found = re.search(rb"(?<!\S)" + re.escape(word), line) if word else None
    return Fault(place, found.start() + 1 if found else None, reason, line)


def _form_like(like: Any, format: str | None, options: dict[str, Any]) -> Form:
    """Return the form of earlier data, which knows the columns that those had."""
    form = getattr(like, "form", None)
    if form is None:
        raise TypeError(f"like= takes data that were read here, a data set or a stream; got {type(like).__name__}")
    if options or format not in (None, form.name):
        extra = ", ".join(options) or "format"
        raise ValueError(f"the data are read as {form.name}, like the others: leave out {extra}")
    form = deepcopy(form)
    form.known = np.zeros(form.width, bool)
    for data in [like] if isinstance(like, Dataset) else like:
        if hasattr(data.X, "indices"):
            form.known[data.X.indices] = True
    return form


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
    like : Dataset or Stream, optional
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
        Is called with a :class:`linsep.data.lines.Progress` now and then.
    **options
        Those of the format, such as `n_features` and `zero_based` of svmlight.

    Returns
    -------
    Dataset
    """
    reader = Reader(source, **options)
    parts = list(reader.parts())
    reader.settle()
    return reader.joined(parts)


class Stream:
    """Blocks of rows, read as they are asked for, in bounded memory; can be walked again, epoch after epoch."""

    def __init__(self, source: Any, *, block_rows: int = 10_000, **options: Any) -> None:
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows}: a block has one row at least")
        self.block_rows, self.reader = block_rows, Reader(source, **options)
        self._walked = False

    @property
    def form(self) -> Form:
        """How the data are read."""
        self.reader.scan()
        return self.reader.form

    @property
    def rejected(self) -> int:
        """Malformed rows of the last pass so far."""
        return self.reader.policy.rejected

    @property
    def unseen(self) -> int:
        """Entries of the last pass so far whose features are not in the data these are read like."""
        return self.reader.unseen

    def __iter__(self) -> Iterator[Dataset]:
        if self._walked and not self.reader.again:
            raise DataError(self.reader.sources[0].name, "it can be read only once; write it to a file for more epochs")
        self.reader.scan()
        self._walked = True
        waiting: list[Rows] = []
        for rows in self.reader.parts():
            waiting.append(rows)
            while sum(map(len, waiting)) >= self.block_rows:
                yield self._block(waiting, self.block_rows)
        while any(map(len, waiting)):
            yield self._block(waiting, self.block_rows)

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


def stream(source: Any, *, block_rows: int = 10_000, **options: Any) -> Stream:
    """Read rows in blocks, in bounded memory; the options are those of :func:`read`."""
    return Stream(source, block_rows=block_rows, **options)
