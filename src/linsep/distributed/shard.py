"""Shards: the rows that one task works on, from files, Dask arrays or Dask dataframes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from linsep.data.blocks import BLOCK_BYTES, Clock
from linsep.data.dataset import Dataset
from linsep.data.errors import DataError, ErrorPolicy
from linsep.data.format import ReadPass
from linsep.data.parts import Part, PartRows, Profile, Reading, blocks_of, merge_profiles, profile_of
from linsep.data.rows import NO_INDEX
from linsep.data.sources import Source
from linsep.engine.arrays import Array
from linsep.validation.errors import InvalidDataError
from linsep.validation.labels import clean

PARSED, FRAMED = 4, 2
"""Bytes of memory that rows may take for each byte of their file, and of their dataframe."""


class Shard(Protocol):
    """The rows that one task works on, in order; every shard of a run is read in the same way (`reading`)."""

    @property
    def memory(self) -> int:
        """The memory that the rows may take, in bytes; 0 if it is unknown."""

    def scan(self, reading: Any) -> Profile:
        """Return the number of rows, the labels and the columns."""

    def load(self, reading: Any) -> "LoadedRows":
        """Read all rows; they are finished once all shards have been scanned."""

    def blocks(self, reading: Any, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks of `rows`."""


class Task(NamedTuple):
    """A shard to work on."""

    shard: Any
    """A :class:`Shard`; on the client of a cluster, the future of one that a worker keeps."""
    number: int
    first: int = 0
    """The number of its first row among all rows."""
    name: str = ""
    """Its name in messages."""


class FileShard(NamedTuple):
    """A part of files: ranges of bytes, row groups or rows."""

    part: Part

    @property
    def memory(self) -> int:
        """The memory that the rows may take."""
        return PARSED * self.part.size

    def scan(self, reading: Reading) -> Profile:
        """Return the number of rows, the labels and the columns."""
        return profile_of(self.part, reading)

    def load(self, reading: Reading) -> PartRows:
        """Read all rows."""
        return PartRows(self.part, reading)

    def blocks(self, reading: Reading, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        return blocks_of(self.part, reading, rows)

    @property
    def identity(self) -> str:
        """The ranges with the sizes and times of their files: another file, or a changed one, has another identity."""
        stamps = "; ".join(f"{s.path}, {s.stamp[0]:,} bytes, written at {s.stamp[1]} ns" for s in self.part.spans)
        return f"{self.part} ({stamps})"


class ArrayReading(NamedTuple):
    """Arrays need no form: they are numbers already."""

    form: None = None


class ArrayShard(NamedTuple):
    """Rows of an array and their labels, if any; they are both a shard and its loaded rows.

    >>> rows = array_shard(np.eye(2), np.array(["yes", "no"]), 3)
    >>> rows.profile.labels, ArrayShard.join([rows, rows]).X.shape
    (array(['no', 'yes'], dtype='<U3'), (4, 2))
    """

    X: Any
    y: Array | None
    name: str

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
        X = self.X
        stored = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        return sum(array.nbytes for array in (*stored, self.y) if array is not None)

    @property
    def memory(self) -> int:
        """The memory that the rows take."""
        return self.nbytes

    @property
    def profile(self) -> Profile:
        """The number of rows, the labels and the columns."""
        rows, width = self.X.shape
        try:
            labels = np.unique(clean(self.y, rows)) if rows else np.empty(0)
        except InvalidDataError as error:
            raise InvalidDataError(f"{self.name}: {error}") from None
        return Profile(rows, labels, None, NO_INDEX, width - 1, False, 0, 0)

    def scan(self, reading: ArrayReading) -> Profile:
        """Return the number of rows, the labels and the columns."""
        return self.profile

    def load(self, reading: ArrayReading) -> "ArrayShard":
        """Return all rows, which are in memory."""
        return self

    def finish(self, form: None) -> Dataset:
        """Return the rows as a dataset; labels that are not given are NaN."""
        return Dataset(self.X, np.full(self.X.shape[0], np.nan) if self.y is None else self.y)

    def blocks(self, reading: ArrayReading, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        whole = self.finish(None)
        for begin in range(0, len(whole.y), rows):
            yield Dataset(whole.X[begin : begin + rows], whole.y[begin : begin + rows], block=True)

    @staticmethod
    def join(some: Sequence["ArrayShard"]) -> "ArrayShard":
        """Concatenate the rows of several shards."""
        if len(some) == 1:
            return some[0]
        sparse = {sp.issparse(one.X) for one in some}
        widths = {one.X.shape[1] for one in some}
        name = f"{some[0].name} to {some[-1].name.removeprefix('partition ')}"
        if len(sparse) > 1 or len(widths) > 1:
            raise InvalidDataError(
                f"{name}: X is " + ("sparse in some of them" if len(sparse) > 1 else f"{widths} wide")
            )
        X = sp.vstack([one.X for one in some], "csr") if sparse == {True} else np.concatenate([one.X for one in some])
        labels = [one.y for one in some if one.y is not None]
        return ArrayShard(X, np.concatenate(labels) if labels else None, name)

    @staticmethod
    def merge(profiles: Iterable[Profile]) -> Profile:
        """Merge the profiles of several shards; labels keep their type."""
        found = [one for one in profiles if one.rows]
        if not found:
            return Profile(0, np.empty(0), None, NO_INDEX, -1, False, 0, 0)
        if len({one.labels.dtype.kind in "biuf" for one in found}) > 1:
            raise InvalidDataError("y mixes labels of different types, numbers and words: give all of them one type")
        labels = np.unique(np.concatenate([one.labels for one in found]))
        rows, high = sum(one.rows for one in found), max(one.high for one in found)
        return Profile(rows, labels, None, NO_INDEX, high, False, 0, 0)


LoadedRows = PartRows | ArrayShard
"""All rows of a shard in memory."""


def array_shard(X: Any, y: Any, number: int) -> ArrayShard:
    """Validate a partition of an array and its labels."""
    name = f"partition {number}"
    X = X.tocsr() if hasattr(X, "tocsr") else X
    if not (isinstance(X, np.ndarray) or hasattr(X, "indptr")):
        raise TypeError(f"{name} is a {type(X).__name__}: the blocks of X are arrays, or sparse matrices of scipy")
    labels = None if y is None else np.asarray(y)
    if labels is not None and len(labels) != X.shape[0]:
        raise InvalidDataError(
            f"{name}: X has {X.shape[0]} rows and y has {len(labels)} labels: cut both at the same rows"
        )
    return ArrayShard(X, labels, name)


class FrameSpan(NamedTuple):
    """A dataframe in memory that is read as a range of a file is."""

    frame: Any
    file: str
    path: str = ""

    def source(self) -> Source:
        """Return the source that reads the dataframe."""
        return Source(self.file, self.frame, table=True)

    def check(self) -> None:
        """Do nothing: a dataframe in memory does not change."""


class FrameShard(NamedTuple):
    """Partitions of a dataframe."""

    spans: tuple[FrameSpan, ...]

    def __str__(self) -> str:
        first, last = self.spans[0].file, self.spans[-1].file
        return first if len(self.spans) == 1 else f"{first} to {last.removeprefix('partition ')}"

    @property
    def memory(self) -> int:
        """The memory that the rows may take."""
        return FRAMED * sum(int(span.frame.memory_usage(index=False).sum()) for span in self.spans)

    def scan(self, reading: Reading) -> Profile:
        """Return the number of rows, the labels and the columns."""
        return profile_of(self, reading)

    def load(self, reading: Reading) -> PartRows:
        """Read all rows."""
        return PartRows(self, reading)

    def blocks(self, reading: Reading, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        return blocks_of(self, reading, rows)

    def columns(self) -> Any:
        """Return the schema of the columns."""
        return unify(schema_of(span.frame, span.file) for span in self.spans)

    def words(self, reading: Reading) -> dict[str, Any]:
        """Return the state of a form that has read these rows."""
        form, sources = deepcopy(reading.form), [span.source() for span in self.spans]
        job = ReadPass(sources, reading.dtype, ErrorPolicy(reading.on_error), Clock(sources, None), 1, BLOCK_BYTES)
        for _ in form.parts(job):
            pass
        return form.state()

    @staticmethod
    def join(some: Sequence["FrameShard"]) -> "FrameShard":
        """Concatenate the rows of several shards."""
        return FrameShard(tuple(span for one in some for span in one.spans))

    @staticmethod
    def merge(profiles: Iterable[Profile]) -> Profile:
        """Merge the profiles of several shards."""
        return merge_profiles(profiles)


def frame_shard(frame: Any, number: int) -> FrameShard:
    """Return the shard of one partition of a dataframe."""
    return FrameShard((FrameSpan(frame, f"partition {number}"),))


class LazyShard:
    """Partitions of a Dask collection that are computed in this process when they are needed.

    Parameters
    ----------
    partitions : list of Delayed
        Each gives a shard of the kind.
    kind : ArrayShard or FrameShard
    memory : int
        The memory that the rows may take, or 0 if it is unknown.
    """

    def __init__(self, partitions: list[Any], kind: Any, memory: int) -> None:
        self.partitions, self.kind, self.memory = partitions, kind, memory

    def _each(self, ask: Callable[[Any], Any]) -> Iterator[Any]:
        return (ask(partition.compute(scheduler="synchronous")) for partition in self.partitions)

    def scan(self, reading: Any) -> Profile:
        """Return the number of rows, the labels and the columns; one partition is in memory at a time."""
        found: Profile = self.kind.merge(self._each(lambda shard: shard.scan(reading)))
        return found

    def load(self, reading: Any) -> "LoadedRows":
        """Compute all rows."""
        rows: LoadedRows = self.kind.join(list(self._each(lambda shard: shard))).load(reading)
        return rows

    def blocks(self, reading: Any, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks; one partition is in memory at a time."""
        for blocks in self._each(lambda shard: shard.blocks(reading, rows)):
            yield from blocks

    def columns(self) -> Any:
        """Return the schema of the columns of a dataframe."""
        return unify(self._each(lambda shard: shard.columns()))

    def words(self, reading: Any) -> dict[str, Any]:
        """Return the state of a form that has read these rows of a dataframe."""
        return merge_states(self._each(lambda shard: shard.words(reading)))


def schema_of(frame: Any, name: str) -> Any:
    """Return the schema of a dataframe's columns."""
    import pyarrow as pa

    try:
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError) as error:
        raise DataError(name, f"the table can't be read: {str(error).splitlines()[0]}") from None


def unify(schemas: Iterable[Any]) -> Any:
    """Merge the schemas of dataframes whose columns have the same types, or are empty in some."""
    import pyarrow as pa

    try:
        return pa.unify_schemas([schema.remove_metadata() for schema in schemas], promote_options="permissive")
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise DataError("the dataframe", f"its partitions differ: {reason}; convert the column with astype") from None


def merge_states(states: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Merge the states of forms that have each read some of the rows, in order.

    Names are numbered as if one form had read all rows.

    >>> counted = {"documents": 1, "columns": [1], "in": [1]}
    >>> seen = {"names": [], "columns": []}
    >>> one, other = ({"names": [*names], "frequencies": counted, "seen": seen} for names in ("ab", "cb"))
    >>> merge_states([one, other])["names"], merge_states([one, other])["frequencies"]
    (['a', 'b', 'c'], {'documents': 2, 'columns': [1], 'in': [2]})
    """
    all_states = list(states)
    names = {name: k for k, name in enumerate(dict.fromkeys(chain(*(state["names"] for state in all_states))))}
    hashed: dict[str, int] = {}
    counts: dict[int, int] = {}
    for state in all_states:
        for name, column in zip(state["seen"]["names"], state["seen"]["columns"], strict=True):
            hashed.setdefault(name, column)
        found, own = state["frequencies"], state["names"]
        columns = [names[own[column]] for column in found["columns"]] if state.get("vocabulary") else found["columns"]
        for column, count in zip(columns, found["in"], strict=True):
            counts[column] = counts.get(column, 0) + count
    columns = sorted(counts)
    documents = sum(state["frequencies"]["documents"] for state in all_states)
    return all_states[0] | {
        "names": list(names), "seen": {"names": list(hashed), "columns": list(hashed.values())},
        "frequencies": {"documents": documents, "columns": columns, "in": [counts[column] for column in columns]},
        "complete": True, "unseen": 0,
    }  # fmt: skip
