"""Dask dataframes as where rows come from."""

from collections.abc import Sequence
from typing import Any

from linsep.data.format import Format
from linsep.data.parts import NOT_HERE, Profile, Reading
from linsep.data.reading import Reader
from linsep.data.tables.format import Table
from linsep.distributed import work
from linsep.distributed.engines import Engine
from linsep.distributed.frame_pieces import FrameRows, columns_of, frame_rows, schema_of, together, unified
from linsep.distributed.partitions import Partitions, refuse_lost


class Frames:
    """A Dask dataframe, each partition of which is read as a table in memory is, all in one form."""

    labelled = True

    def __init__(self, frame: Any, options: dict[str, Any], engine: Engine) -> None:
        from dask.base import tokenize

        for name, reason in NOT_HERE.items():
            if name in options or options.get("on_error") == name:
                raise ValueError(reason)
        refuse_lost([frame], engine)
        self.name, self.token = "the dataframe", str(tokenize(frame))
        self._engine, self._surveys = engine, list[Profile]()
        self._reader = Reader(self._schema(frame).empty_table(), **options)
        self._reader.sources[0].name = self.name
        form = self.form
        if not isinstance(form, Table):
            raise ValueError(f"format={form.name!r}: a dataframe is a table, leave it out")
        form.sniff(self._reader.sources)
        used = columns_of(form)
        self._partitions = self._cut(frame[[name for name in frame.columns if str(name) in used]])

    def _cut(self, frame: Any) -> Partitions:
        from dask import delayed

        rows = delayed(frame_rows, pure=False, traverse=False)
        pieces = [rows(partition, k) for k, partition in enumerate(frame.to_delayed())]
        return Partitions(pieces, FrameRows, self._engine)

    def _schema(self, frame: Any) -> Any:
        """Return the types of the columns, by a look at all rows where Python objects may be anything."""
        import pyarrow as pa

        objects = [name for name, kind in frame.dtypes.items() if str(kind) == "object"]
        told = schema_of(frame._meta_nonempty.drop(columns=objects), self.name)
        if not objects:
            return told
        looked = unified(self._engine.each(work.columns, self._cut(frame[objects]).tasks(), None))
        names = list(map(str, frame.columns))
        return pa.schema([(looked if name in looked.names else told).field(name) for name in names])

    @property
    def form(self) -> Format:
        """How the data are read, as far as that is settled."""
        return self._reader.form

    @property
    def reading(self) -> Reading:
        """How partitions are read, for those that read them."""
        return Reading(self.form, self._reader.dtype, self._reader.policy.on_error)

    @property
    def width(self) -> int:
        """The number of features."""
        return self.form.width

    @property
    def settled(self) -> bool:
        """Whether partitions can be read: that is seen to before they are given away."""
        return self.form.settled

    def parts(self, count: int) -> list[Any]:
        """Return at most so many shards."""
        parts = self._partitions.parts(count)
        self._number([(part, number, 0) for number, part in enumerate(parts)])
        return parts

    @property
    def pieces(self) -> int:
        """The number of parts in which rows are counted."""
        return len(self._partitions)

    def tasks(self) -> Sequence[work.Task]:
        """Return the partitions, to be answered."""
        tasks = self._partitions.tasks()
        self._number(tasks)
        return tasks

    def _number(self, tasks: Sequence[work.Task]) -> None:
        """Settle what only a look at all rows decides: words and n-grams that are numbered, and how rare those are."""
        form = self.form
        named = getattr(form, "keep_names", False) and form.known is None
        if not form.settled or named:
            states = self._engine.each(work.words, tasks, self.reading)
            self._reader.settle(type(form).restored(together(states)))

    def settle(self, surveys: list[Profile]) -> Profile:
        """Settle what all shards together tell."""
        self._surveys = surveys
        return FrameRows.merged(surveys)

    def release(self) -> None:
        """Let workers forget the shards that they keep."""
        self._partitions.release()

    def identity(self, tasks: list[work.Task]) -> list[Any]:
        """Return what tells these shards from others, as plain values."""
        return self._partitions.identity(self.token, self._surveys)
