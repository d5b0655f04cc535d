"""Dask arrays and dataframes as sources of rows: each shard is some partitions, in order.

On a cluster each shard is assembled once, on one worker, which keeps it: its rows never pass the client or the
scheduler, and Dask recomputes it if that worker is lost. Without a cluster threads compute a shard when they need it.
Partitions that are only predicted are released as soon as they have been.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linsep.data.format import Format
from linsep.data.parts import NOT_HERE, Profile, Reading
from linsep.data.reading import Reader
from linsep.data.tables.format import Table
from linsep.distributed import work
from linsep.distributed.cluster import Cluster
from linsep.distributed.engine import Engine
from linsep.distributed.shard import (
    ArrayReading,
    ArrayShard,
    FrameShard,
    LazyShard,
    Task,
    array_shard,
    frame_shard,
    merge_states,
    schema_of,
    unify,
)
from linsep.engine.runtime import split
from linsep.validation.errors import InvalidDataError, ParameterError

AFTERWARDS = -10
"""The priority of partitions to predict: those that are computed are predicted before others are computed."""


class Partitions:
    """The partitions of a collection, and the engine that computes them.

    Parameters
    ----------
    pieces : list of Delayed
        Each gives a shard of the kind.
    kind : ArrayShard or FrameShard
    engine : Engine
    memory : list of int, optional
        The memory that each partition may take, if it is known.
    """

    def __init__(self, pieces: list[Any], kind: Any, engine: Engine, memory: list[int] | None = None) -> None:
        self.pieces, self.kind, self.engine = pieces, kind, engine
        self.memory = [0] * len(pieces) if memory is None else memory
        self.kept: list[Task] = []
        """The shards that workers keep."""
        self.spans: list[tuple[int, int]] = []
        """The range of partitions of each shard."""

    def __len__(self) -> int:
        return len(self.pieces)

    def shards(self, count: int) -> list[Task]:
        """Return at most `count` shards, which workers keep until they are released."""
        self.spans = split(len(self), count)
        if isinstance(self.engine, Cluster):
            self.kept = [self.place(self.engine, number) for number in range(len(self.spans))]
            return self.kept
        return [
            Task(LazyShard(self.pieces[b:e], self.kind, sum(self.memory[b:e])), number, name=_name(b, e))
            for number, (b, e) in enumerate(self.spans)
        ]

    def release(self) -> None:
        """Release the shards that workers keep."""
        for task in self.kept:
            task.shard.release()

    def tasks(self) -> Sequence[Task]:
        """Return a task for each partition; on a cluster nothing is kept."""
        if not isinstance(self.engine, Cluster):
            return self.shards(len(self))
        self.spans = split(len(self), len(self))
        return PassingTasks(self, self.engine)

    def place(self, cluster: Cluster, number: int, priority: int = 0) -> Task:
        """Let any worker compute a shard, and another one if that worker is lost."""
        from dask import delayed

        begin, end = self.spans[number]
        rows = delayed(self.kind.join, pure=False, traverse=False)(self.pieces[begin:end])
        return Task(cluster.client.compute(rows, priority=priority), number, name=_name(begin, end))


class PassingTasks(Sequence[Task]):
    """Tasks of partitions on a cluster: a partition is computed when its task is read, and released with it."""

    def __init__(self, partitions: Partitions, cluster: Cluster) -> None:
        self.partitions, self.cluster = partitions, cluster

    def __len__(self) -> int:
        return len(self.partitions.spans)

    def __getitem__(self, which: Any) -> Any:
        numbers = range(len(self))[which]
        if isinstance(numbers, int):
            return self.partitions.place(self.cluster, numbers, AFTERWARDS)
        return [self[number] for number in numbers]


def _name(begin: int, end: int) -> str:
    return f"partition {begin}" if end == begin + 1 else f"partitions {begin} to {end - 1}"


class Collection:
    """A Dask collection; subclasses state how its partitions are read.

    Parameters
    ----------
    partitions : Partitions
    name : str
    token : str
        Dask's digest of the collection.
    """

    def __init__(self, partitions: Partitions, name: str, token: str) -> None:
        self._partitions, self.name, self._token = partitions, name, token
        self._profiles: list[Profile] = []

    @property
    def pieces(self) -> int:
        """The number of shards in which NaiveBayes counts."""
        return len(self._partitions)

    def shards(self, count: int) -> list[Task]:
        """Return at most `count` shards."""
        return self._partitions.shards(count)

    def tasks(self) -> Sequence[Task]:
        """Return the partitions, to be predicted."""
        return self._partitions.tasks()

    def settle(self, profiles: list[Profile]) -> Profile:
        """Merge the profiles of all shards."""
        self._profiles = profiles
        merged: Profile = self._partitions.kind.merge(profiles)
        return merged

    def release(self) -> None:
        """Release the shards that workers keep."""
        self._partitions.release()

    def identity(self, tasks: list[Task]) -> list[Any]:
        """Return Dask's digest of the collection, and the partitions and rows of each shard."""
        shards = [[*span, found.rows] for span, found in zip(self._partitions.spans, self._profiles, strict=True)]
        return [self._token, len(self._partitions), *shards]


class ArrayInput(Collection):
    """A Dask array with its rows in chunks, and its labels."""

    form: None = None
    settled = True
    reading = ArrayReading()

    def __init__(self, X: Any, y: Any, engine: Engine) -> None:
        from dask import delayed
        from dask.base import tokenize

        _check_array(X)
        labels = [None] * X.numblocks[0] if y is None else _labels(X, y)
        refuse_lost([X, *([y] if hasattr(y, "__dask_graph__") else [])], engine)
        rows = delayed(array_shard, pure=False, traverse=False)
        blocks = X.to_delayed().ravel().tolist()
        pieces = [rows(block, label, k) for k, (block, label) in enumerate(zip(blocks, labels, strict=True))]
        memory = [0 if np.isnan(c * X.shape[1]) else int(c * X.shape[1] * X.dtype.itemsize) for c in X.chunks[0]]
        super().__init__(Partitions(pieces, ArrayShard, engine, memory), "the Dask array", str(tokenize(X, y)))
        self.labelled = y is not None
        self.width = 0 if np.isnan(X.shape[1]) else int(X.shape[1])

    def settle(self, profiles: list[Profile]) -> Profile:
        """Merge the profiles of all shards."""
        merged = super().settle(profiles)
        self.width = merged.high + 1
        return merged


class FrameInput(Collection):
    """A Dask dataframe; its partitions are read as a table in memory is, all in one form."""

    labelled = True

    def __init__(self, frame: Any, options: dict[str, Any], engine: Engine) -> None:
        from dask.base import tokenize

        for name, reason in NOT_HERE.items():
            if name in options or options.get("on_error") == name:
                raise ParameterError(reason)
        refuse_lost([frame], engine)
        name = "the dataframe"
        self._engine, self._reader = engine, Reader(_schema(frame, name, engine).empty_table(), **options)
        self._reader.sources[0].name = name
        form = self.form
        if not isinstance(form, Table):
            raise ParameterError(f"format={form.name!r}: a dataframe is a table, leave it out")
        form.sniff(self._reader.sources)
        used = _columns_of(form)
        partitions = _cut(frame[[column for column in frame.columns if str(column) in used]], engine)
        super().__init__(partitions, name, str(tokenize(frame)))

    @property
    def form(self) -> Format:
        """The form of the data, as far as it is settled."""
        return self._reader.form

    @property
    def reading(self) -> Reading:
        """The reading of partitions, which is sent to the workers."""
        return Reading(self.form, self._reader.dtype, self._reader.policy.on_error)

    @property
    def width(self) -> int:
        """The number of features."""
        return self.form.width

    @property
    def settled(self) -> bool:
        """True once partitions can be read: `shards` and `tasks` see to it."""
        return self.form.settled

    def shards(self, count: int) -> list[Task]:
        """Return at most `count` shards, once the words of all rows are numbered."""
        tasks = super().shards(count)
        self._number(tasks)
        return tasks

    def tasks(self) -> Sequence[Task]:
        """Return the partitions, to be predicted, once the words of all rows are numbered."""
        tasks = super().tasks()
        self._number(tasks)
        return tasks

    def _number(self, tasks: Sequence[Task]) -> None:
        """Scan all rows for the words and n-grams to number, and how rare each is, if the form needs that."""
        form = self.form
        named = getattr(form, "keep_names", False) and form.known is None
        if not form.settled or named:
            states = self._engine.each(work.words, tasks, self.reading)
            self._reader.settle(type(form).restored(merge_states(states)))


def _cut(frame: Any, engine: Engine) -> Partitions:
    from dask import delayed

    rows = delayed(frame_shard, pure=False, traverse=False)
    return Partitions([rows(part, k) for k, part in enumerate(frame.to_delayed())], FrameShard, engine)


def _schema(frame: Any, name: str, engine: Engine) -> Any:
    """Return the schema of a dataframe; columns of Python objects are scanned, since they may hold anything."""
    import pyarrow as pa

    objects = [column for column, kind in frame.dtypes.items() if str(kind) == "object"]
    declared = schema_of(frame._meta_nonempty.drop(columns=objects), name)
    if not objects:
        return declared
    scanned = unify(engine.each(work.columns, _cut(frame[objects], engine).tasks(), None))
    names = list(map(str, frame.columns))
    return pa.schema([(scanned if column in scanned.names else declared).field(column) for column in names])


def _columns_of(form: Table) -> set[str]:
    """Return the columns that are read."""
    if form.found is None:
        return set()
    numbers, words, label, _, weight = form.found
    return {name for name in (*numbers, *words, label, weight, form.text) if name is not None}


def refuse_lost(collections: list[Any], engine: Engine) -> None:
    """Raise a ParameterError if partitions are held by a cluster that client= does not name."""
    if isinstance(engine, Cluster):
        return
    try:
        from distributed import futures_of
    except ImportError:  # then there are none
        return
    if futures_of(collections):
        raise ParameterError(
            "its partitions are kept by the workers of a cluster: give client=, whose workers they are"
        )


def _check_array(X: Any) -> None:
    """Raise an InvalidDataError unless a Dask array is a table of numbers, cut between rows."""
    if X.ndim != 2:
        cure = "X[:, None] has one feature" if X.ndim == 1 else "reshape it to (rows, features)"
        raise InvalidDataError(f"X has {X.ndim} dimension{'s' * (X.ndim != 1)}, and must have 2: {cure}")
    if X.numblocks[1] > 1:
        raise InvalidDataError(
            f"X is cut between its columns, into {X.numblocks[1]} chunks: X.rechunk({{1: -1}}) keeps rows in one"
        )
    if X.dtype is None or X.dtype.kind not in "biuf":
        raise InvalidDataError(
            f"X holds {X.dtype}, and no numbers: X.astype(float) if it can be; words are read from tables"
        )


def _labels(X: Any, y: Any) -> list[Any]:
    """Cut the labels as the rows are; return those of each partition."""
    import dask.array as da

    chunks = X.chunks[0]
    if type(y).__name__ == "Series" and hasattr(y, "to_delayed"):  # a column of a Dask dataframe
        if y.npartitions != len(chunks):
            raise InvalidDataError(
                f"X has {len(chunks)} partitions and y has {y.npartitions}: cut both at the same rows"
            )
        return y.to_delayed()
    if not isinstance(y, da.Array):
        if hasattr(y, "__dask_graph__"):
            raise TypeError(f"y is a {type(y).__name__}: it is a Dask array, a column of a dataframe, or an array")
        y = np.asarray(y)
    if y.ndim != 1:
        raise InvalidDataError(f"y has {y.ndim} dimensions, and must have 1: a label for each row; y[:, 0] is a column")
    unknown = bool(np.isnan([sum(chunks), y.shape[0]]).any())
    if unknown and (not isinstance(y, da.Array) or y.numblocks[0] != len(chunks)):
        raise InvalidDataError(
            "how many rows the chunks of X or y have is not known, so that y can't be cut as X is: "
            "X.compute_chunk_sizes() and y.compute_chunk_sizes() find out"
        )
    if not unknown and y.shape[0] != X.shape[0]:
        raise InvalidDataError(
            f"X has {X.shape[0]} rows and y has {y.shape[0]} labels: inconsistent numbers of samples"
        )
    if isinstance(y, da.Array):
        return (y if unknown else y.rechunk((chunks,))).to_delayed().ravel().tolist()
    return np.split(y, np.cumsum(chunks)[:-1])
