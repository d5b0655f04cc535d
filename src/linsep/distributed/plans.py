"""Where the rows of shards come from: files in parts, or the partitions of a Dask collection."""

from typing import Any

from linsep.data.dataset import Dataset
from linsep.data.format import Format
from linsep.data.parts import Part, Plan, Profile, Reading, Span
from linsep.distributed.engines import Engine, Threads
from linsep.distributed.work import Task

FEWEST, ANSWERED, COUNTED = 16, 1 << 25, 1 << 28
"""Parts that rows are answered or counted in, if there are as many; and the bytes of a part at most."""
TAKEN = ("numpy", "pandas", "polars", "pyarrow", "scipy")
"""Libraries whose tables and arrays are in memory."""


class Files:
    """Files, each cut into parts that workers read for themselves."""

    labelled = True

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        self._plan = Plan(source, **options)
        self.name = ", ".join(found.name for found in self._plan.sources)

    def parts(self, count: int) -> list[Part]:
        """Return at most so many parts."""
        return self._plan.parts(count)

    def settle(self, surveys: list[Profile]) -> Profile:
        """Settle what all parts together tell."""
        return self._plan.settle(surveys)

    @property
    def reading(self) -> Reading:
        """How parts are read, as far as that is settled."""
        return self._plan.reading

    @property
    def form(self) -> Format:
        """How the data are read."""
        return self._plan.form

    @property
    def width(self) -> int:
        """The number of features."""
        return self._plan.form.width

    @property
    def settled(self) -> bool:
        """Whether parts can be read before all of them have been looked at."""
        return self._plan.form.settled

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(found.size or 0 for found in self._plan.sources)

    @property
    def pieces(self) -> int:
        """The number of parts in which rows are counted; sums depend on it, and so it does not on the workers."""
        return max(FEWEST, -(-self.size // COUNTED))

    def tasks(self) -> list[Task]:
        """Return the parts, to be answered."""
        count = max(FEWEST, -(-self.size // ANSWERED))
        return [(part, number, 0) for number, part in enumerate(self.parts(count))]

    def release(self) -> None:
        """Do nothing: what workers keep of files is known by the name of the run."""

    def identity(self, tasks: list[Task]) -> list[Any]:
        """Return what tells these shards from others, as plain values."""
        return [f"{part} ({'; '.join(map(_stamped, part.spans))})" for part, _, _ in tasks]


def _stamped(span: Span) -> str:
    """Return what tells a file from others, and from what it was before."""
    size, written = span.stamp
    return f"{span.path}, {size:,} bytes, written at {written} ns"


def plan_of(source: Any, y: Any, options: dict[str, Any], engine: Engine | None = None) -> Any:
    """Return where the rows come from; the partitions of a Dask collection are made by an engine."""
    kind = type(source).__name__
    library = type(source).__module__.partition(".")[0]
    if library == "dask":
        return _collection(source, y, options, engine or Threads(1))
    if library in TAKEN or isinstance(source, Dataset):
        raise TypeError(
            f"a {kind} is in memory already: learners take these as they are, learner.fit(X, y) with shards=; "
            "scale is for files and Dask collections"
        )
    if y is not None:
        raise TypeError("y= goes with a Dask array; files have their labels in them")
    return Files(source, options)


def _collection(source: Any, y: Any, options: dict[str, Any], engine: Engine) -> Any:
    """Return the plan of a Dask collection; what is no array or dataframe is refused."""
    from linsep.distributed.arrays import Arrays

    kind = type(source).__name__
    if kind == "Array":
        options = {name: value for name, value in options.items() if name != "like"}
        if options:
            raise TypeError(f"{', '.join(options)}= is an option of files and tables; a Dask array has none")
        return Arrays(source, y, engine)
    if kind != "DataFrame":
        cure = {"Series": ": to_frame() makes one of it", "Bag": ": to_dataframe() makes one of it"}.get(kind, "")
        raise TypeError(f"of Dask collections, arrays and dataframes are read, and not {kind}{cure}")
    if y is not None:
        raise TypeError("y= goes with a Dask array; a dataframe has its labels in a column: say which with label=")
    from linsep.distributed.frames import Frames

    return Frames(source, options, engine)
