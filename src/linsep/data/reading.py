"""`read` and `stream`: from any sources, in any format, to rows and labels."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linsep.core.threads import threads
from linsep.data.dataset import Dataset, as_csr, as_labels
from linsep.data.errors import DataError, Policy
from linsep.data.lines import BLOCK_BYTES, Block, Clock, Progress, blocks, in_order
from linsep.data.sources import sources_of
from linsep.data.svmlight import NO_INDEX, Rows, parse

Array = NDArray[Any]
Tell = Callable[[Progress], None]


class Reader:
    """One source of rows with all that was said about it, or found out by a look at all of it."""

    def __init__(
        self, source: Any, *, dtype: Any = np.float64, n_features: int | None = None, zero_based: bool | None = None,
        on_error: str = "raise", quarantine: str | Path | None = None, n_jobs: int | None = -1,
        progress: Tell | None = None, block_bytes: int = BLOCK_BYTES,
    ) -> None:  # fmt: skip
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype={dtype!r}: values are read as float32 or float64")
        if block_bytes < 1:
            raise ValueError(f"block_bytes={block_bytes}: a block has one byte at least")
        self.sources = sources_of(source)
        self.dtype, self.n_features, self.zero_based = np.dtype(dtype).type, n_features, zero_based
        self.stated = n_features
        self.policy = Policy(on_error, quarantine)
        self.jobs, self.progress, self.block_bytes = threads(n_jobs), progress, block_bytes
        if not self.again and zero_based is None:
            self.zero_based = False

    @property
    def again(self) -> bool:
        """Whether the sources can be read more than once."""
        return all(source.again for source in self.sources)

    def parts(self) -> Iterator[Rows]:
        """Yield the rows block by block, indices as they are written; malformed rows go the way of the policy."""
        self.policy.restart()
        clock = Clock(self.sources, self.progress)

        def work(block: Block) -> tuple[Block, Rows]:
            return block, parse(block.text, self.dtype)

        line = 1
        try:
            for block, rows in in_order(work, blocks(self.sources, self.block_bytes), self.jobs):
                line = 1 if block.first else line
                self.policy.take(rows.faults, block.file, line)
                line += rows.lines
                self._check_indices(rows, block.file)
                clock.tick(block.done, len(rows.labels))
                yield rows
        finally:
            self.policy.close()

    def _check_indices(self, rows: Rows, file: str) -> None:
        """Refuse a block with an index outside of what was stated."""
        if self.zero_based is False and rows.low < 1:
            raise DataError(file, "there is an index 0, but indices are said to begin at 1: pass zero_based=True")
        first = 0 if self.zero_based else 1
        if self.zero_based is not None and self.stated is not None and rows.high - first >= self.stated:
            raise DataError(file, f"there is an index {rows.high}, beyond the {self.stated} features that were stated")

    def settle(self, low: int, high: int) -> None:
        """Fix where indices begin and how many features there are, by the lowest and the highest index of all."""
        if self.zero_based is None:
            self.zero_based = low == 0
        first = 0 if self.zero_based else 1
        if self.stated is not None and high - first >= self.stated:
            name = self.sources[0].name
            raise DataError(name, f"there is an index {high}, beyond the {self.stated} features that were stated")
        if self.n_features is None:
            self.n_features = max(high + 1 - first, 0)

    def scan(self) -> None:
        """Look at all rows, if need be, to settle what was not said."""
        if self.again and (self.zero_based is None or self.n_features is None):
            told, self.progress = self.progress, None
            low, high = NO_INDEX, -1
            for rows in self.parts():
                low, high = min(low, rows.low), max(high, rows.high)
            self.settle(low, high)
            self.progress = told


def read(source: Any, **options: Any) -> Dataset:
    """Read all rows into memory.

    Parameters
    ----------
    source : path, list of paths, glob, folder, binary file, or "-" for the standard input
        Text in svmlight form, plain or compressed (gzip, bz2, xz, zstd).
    dtype : float64 or float32, default=float64
        The type of the values; each is the number of that type nearest to the text.
    n_features : int, optional
        The number of features; by default the highest index of all rows decides.
    zero_based : bool, optional
        Whether indices begin at 0; by default they do if an index 0 occurs anywhere in the sources.
    on_error : "raise", "skip" or "quarantine", default="raise"
        What happens at a malformed row.
    quarantine : path, optional
        Where quarantined rows are written, as they were.
    n_jobs : int, default=-1
        Threads that parse.
    progress : callable, optional
        Is called with a :class:`linsep.data.lines.Progress` now and then.

    Returns
    -------
    Dataset
    """
    reader = Reader(source, **options)
    parts = list(reader.parts())
    reader.settle(min((p.low for p in parts), default=NO_INDEX), max((p.high for p in parts), default=-1))
    return _joined(parts or [parse(np.empty(0, np.uint8), reader.dtype)], reader)


def _joined(parts: list[Rows], reader: Reader) -> Dataset:
    """Return the rows of all parts, columns counted from 0."""
    ends = np.cumsum([0, *(len(p.values) for p in parts)])
    indptr = np.concatenate([[0], *(p.indptr[1:] + end for p, end in zip(parts, ends, strict=False))])
    wide = max((p.indices.dtype for p in parts), key=lambda kind: kind.itemsize)
    indices = np.concatenate([p.indices for p in parts], dtype=wide)
    indices -= 0 if reader.zero_based else 1
    if not reader.again and reader.stated is None:  # it could not be looked at beforehand: as wide as has been seen
        reader.n_features = max(reader.n_features or 0, int(indices.max(initial=-1)) + 1)
    X = as_csr(np.concatenate([p.values for p in parts]), indices, indptr, int(reader.n_features or 0))
    return Dataset(X, as_labels(np.concatenate([p.labels for p in parts])), rejected=reader.policy.rejected)


class Stream:
    """Blocks of rows, read as they are asked for, in bounded memory; can be walked again, epoch after epoch."""

    def __init__(self, source: Any, *, block_rows: int = 10_000, **options: Any) -> None:
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows}: a block has one row at least")
        self.block_rows, self.reader = block_rows, Reader(source, **options)
        self._walked = False

    @property
    def rejected(self) -> int:
        """Malformed rows of the last pass so far."""
        return self.reader.policy.rejected

    def __iter__(self) -> Iterator[Dataset]:
        if self._walked and not self.reader.again:
            raise DataError(self.reader.sources[0].name, "it can be read only once; write it to a file for more epochs")
        self.reader.scan()
        self._walked = True
        waiting: list[Rows] = []
        for rows in self.reader.parts():
            waiting.append(rows)
            while sum(len(r.labels) for r in waiting) >= self.block_rows:
                yield self._block(waiting, self.block_rows)
        while any(len(r.labels) for r in waiting):
            yield self._block(waiting, self.block_rows)

    def _block(self, waiting: list[Rows], count: int) -> Dataset:
        """Take the first rows out of those that wait, as a block."""
        taken: list[Rows] = []
        while count and waiting:
            rows = waiting.pop(0)
            first, rest = _cut(rows, min(count, len(rows.labels)))
            taken.append(first)
            count -= len(first.labels)
            if len(rest.labels):
                waiting.insert(0, rest)
        return _joined(taken, self.reader)


def _cut(rows: Rows, count: int) -> tuple[Rows, Rows]:
    """Return the first rows of a block, and the rest."""
    end = int(rows.indptr[count])
    first = replace_rows(rows, slice(None, count), slice(None, end), rows.indptr[: count + 1])
    return first, replace_rows(rows, slice(count, None), slice(end, None), rows.indptr[count:] - end)


def replace_rows(rows: Rows, labels: slice, entries: slice, indptr: Array) -> Rows:
    """Return a part of some rows."""
    return rows._replace(
        labels=rows.labels[labels], indices=rows.indices[entries], values=rows.values[entries], indptr=indptr, faults=[]
    )


def stream(source: Any, *, block_rows: int = 10_000, **options: Any) -> Stream:
    """Read rows in blocks, in bounded memory; the options are those of :func:`read`."""
    return Stream(source, block_rows=block_rows, **options)
