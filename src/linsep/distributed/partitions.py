"""Shards of Dask collections: some partitions each, one after the other.

On a cluster each shard is put together once, on one worker, which keeps it: the client and the scheduler see nothing of
it, and Dask makes it again from the graph if that worker is lost. Without a cluster threads compute it when they need
it. Partitions that are only passed by, to be answered, are let go as soon as they have been.
"""

from collections.abc import Sequence
from typing import Any

from linsep.data.parts import Profile
from linsep.distributed import work
from linsep.distributed.engines import Cluster, Engine
from linsep.distributed.pieces import Later, Placed
from linsep.engine.runtime import split

AFTERWARDS = -10
"""The priority of partitions that are passed by: those that are there are answered before there are more."""


class Partitions:
    """The partitions of a collection, and who makes them.

    Parameters
    ----------
    pieces : list of Delayed
        Each gives some rows.
    kind : ArrayRows or FrameRows
        What they are.
    engine : Engine
        Who makes them.
    rooms : list of int, optional
        The memory that each may take, where that is known.
    """

    def __init__(self, pieces: list[Any], kind: Any, engine: Engine, rooms: list[int] | None = None) -> None:
        self.pieces, self.kind, self.engine = pieces, kind, engine
        self.rooms = [0] * len(pieces) if rooms is None else rooms
        self.kept: list[Placed] = []
        """The shards that workers keep."""
        self.spans: list[tuple[int, int]] = []
        """The partitions of each shard, from one to before another."""

    def __len__(self) -> int:
        return len(self.pieces)

    def parts(self, count: int) -> list[Any]:
        """Return at most so many shards, which workers keep until they are released."""
        self.spans = split(len(self), count)
        if not isinstance(self.engine, Cluster):
            return [Later(self.pieces[b:e], self.kind, _name(b, e), sum(self.rooms[b:e])) for b, e in self.spans]
        self.kept = [self.placed(self.engine, number) for number in range(len(self.spans))]
        return self.kept

    def release(self) -> None:
        """Let workers forget the shards that they keep."""
        for part in self.kept:
            part.rows.release()

    def tasks(self) -> Sequence[work.Task]:
        """Return a task for each partition, which nobody keeps."""
        if not isinstance(self.engine, Cluster):
            return [(part, number, 0) for number, part in enumerate(self.parts(len(self)))]
        self.spans = split(len(self), len(self))
        return Passing(self, self.engine)

    def placed(self, cluster: Cluster, number: int, priority: int = 0) -> Placed:
        """Let a worker make a shard: any, and another if that is lost."""
        from dask import delayed

        begin, end = self.spans[number]
        rows = delayed(self.kind.joined, pure=False, traverse=False)(self.pieces[begin:end])
        return Placed(cluster.client.compute(rows, priority=priority), _name(begin, end))

    def identity(self, token: str, surveys: list[Profile]) -> list[Any]:
        """Return what tells the shards of a collection from others, as plain values."""
        shards = [[*span, found.rows] for span, found in zip(self.spans, surveys, strict=True)]
        return [token, len(self), *shards]


class Passing(Sequence[work.Task]):
    """Tasks of partitions on a cluster: a partition is asked for when its task is, and let go with it."""

    def __init__(self, partitions: Partitions, cluster: Cluster) -> None:
        self.partitions, self.cluster = partitions, cluster

    def __len__(self) -> int:
        return len(self.partitions.spans)

    def __getitem__(self, which: Any) -> Any:
        numbers = range(len(self))[which]
        if isinstance(numbers, int):
            return self.partitions.placed(self.cluster, numbers, AFTERWARDS), numbers, 0
        return [self[number] for number in numbers]


def _name(begin: int, end: int) -> str:
    return f"partition {begin}" if end == begin + 1 else f"partitions {begin} to {end - 1}"


def refuse_lost(collections: list[Any], engine: Engine) -> None:
    """Raise a ValueError if partitions lie on a cluster that nobody has named."""
    if isinstance(engine, Cluster):
        return
    try:
        from distributed import futures_of
    except ImportError:  # then there are none
        return
    if futures_of(collections):
        raise ValueError("its partitions are kept by the workers of a cluster: give client=, whose workers they are")
