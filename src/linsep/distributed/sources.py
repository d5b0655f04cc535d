"""Sources of rows: files cut into shards that workers read, or Dask collections whose partitions are shards."""

from collections.abc import Sequence
from typing import Any, Protocol

from linsep.data.dataset import Dataset
from linsep.data.format import Format
from linsep.data.parts import Plan, Profile, Reading
from linsep.distributed.engine import Engine, Threads
from linsep.distributed.shard import FileShard, Task

FEWEST, PREDICTED, COUNTED = 16, 1 << 25, 1 << 28
"""The least number of shards to predict or count, if there are as many, and the most bytes of each."""
IN_MEMORY = ("numpy", "pandas", "polars", "pyarrow", "scipy")
"""Libraries whose tables and arrays are in memory."""


class ShardSource(Protocol):
    """Rows, cut into shards."""

    name: str
    """The name in messages."""
    labelled: bool
    """True if the rows have labels."""

    @property
    def pieces(self) -> int:
        """The number of shards in which NaiveBayes counts; sums depend on it, so it does not depend on the workers."""

    @property
    def width(self) -> int:
        """The number of features, once it is settled."""

    @property
    def form(self) -> Format | None:
        """The form of the data, or None if they have none."""

    @property
    def reading(self) -> Any:
        """The reading of shards, which is sent to the workers."""

    @property
    def settled(self) -> bool:
        """True if shards can be read before all of them have been scanned."""

    def shards(self, count: int) -> list[Task]:
        """Cut the rows into at most `count` shards."""

    def tasks(self) -> Sequence[Task]:
        """Return shards to predict."""

    def settle(self, profiles: list[Profile]) -> Profile:
        """Merge the profiles of all shards, and settle how they are read."""

    def release(self) -> None:
        """Release the shards that workers keep."""

    def identity(self, tasks: list[Task]) -> list[Any]:
        """Return plain values that differ if the shards differ."""


class Files:
    """Files, cut into shards that workers read for themselves."""

    labelled = True

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        self._plan = Plan(source, **options)
        self.name = ", ".join(found.name for found in self._plan.sources)

    def shards(self, count: int) -> list[Task]:
        """Cut the files into at most `count` shards."""
        parts = self._plan.parts(count)
        return [Task(FileShard(part), number, name=str(part)) for number, part in enumerate(parts)]

    def settle(self, profiles: list[Profile]) -> Profile:
        """Merge the profiles of all shards, and settle how they are read."""
        return self._plan.settle(profiles)

    @property
    def reading(self) -> Reading:
        """The reading of shards, as far as it is settled."""
        return self._plan.reading

    @property
    def form(self) -> Format:
        """The form of the data."""
        return self._plan.form

    @property
    def width(self) -> int:
        """The number of features."""
        return self._plan.form.width

    @property
    def settled(self) -> bool:
        """True if shards can be read before all of them have been scanned."""
        return self._plan.form.settled

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(found.size or 0 for found in self._plan.sources)

    @property
    def pieces(self) -> int:
        """The number of shards in which NaiveBayes counts."""
        return max(FEWEST, -(-self.size // COUNTED))

    def tasks(self) -> list[Task]:
        """Return shards to predict."""
        return self.shards(max(FEWEST, -(-self.size // PREDICTED)))

    def release(self) -> None:
        """Do nothing: rows of files that workers cache are dropped by the name of the run."""

    def identity(self, tasks: list[Task]) -> list[Any]:
        """Return the ranges of the shards, with the sizes and times of their files."""
        return [task.shard.identity for task in tasks]


def source_of(source: Any, y: Any, options: dict[str, Any], engine: Engine | None = None) -> ShardSource:
    """Return the source of files or of a Dask collection, whose partitions an engine computes."""
    library = type(source).__module__.partition(".")[0]
    if library == "dask":
        return _collection(source, y, options, engine or Threads(1))
    if library in IN_MEMORY or isinstance(source, Dataset):
        raise TypeError(
            f"a {type(source).__name__} is in memory already: learners take these as they are, learner.fit(X, y) with "
            "shards=; linsep.distributed is for files and Dask collections"
        )
    if y is not None:
        raise TypeError("y= goes with a Dask array; files have their labels in them")
    return Files(source, options)


def _collection(source: Any, y: Any, options: dict[str, Any], engine: Engine) -> ShardSource:
    """Return the source of a Dask array or dataframe; other collections are refused."""
    from linsep.distributed.dask_input import ArrayInput, FrameInput

    kind = type(source).__name__
    if kind == "Array":
        options = {name: value for name, value in options.items() if name != "like"}
        if options:
            raise TypeError(f"{', '.join(options)}= is an option of files and tables; a Dask array has none")
        return ArrayInput(source, y, engine)
    if kind != "DataFrame":
        cure = {"Series": ": to_frame() makes one of it", "Bag": ": to_dataframe() makes one of it"}.get(kind, "")
        raise TypeError(f"of Dask collections, arrays and dataframes are read, and not {kind}{cure}")
    if y is not None:
        raise TypeError("y= is for Dask arrays; a dataframe has its labels in a column: name it with label=")
    return FrameInput(source, options, engine)
