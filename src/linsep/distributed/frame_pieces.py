"""Frames of a table, as those see them that work on them."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, NamedTuple

from linsep.data.blocks import BLOCK_BYTES, Clock
from linsep.data.dataset import Dataset
from linsep.data.errors import DataError, ErrorPolicy
from linsep.data.format import ReadPass
from linsep.data.parts import PartRows, Profile, Reading, blocks_of, merged, profile_of, read_part
from linsep.data.sources import Source
from linsep.data.tables.format import Table

FRAMED = 2
"""Bytes that rows may take for each byte of the frame they are in."""


class FrameSpan(NamedTuple):
    """A frame that is read as a file is."""

    frame: Any
    file: str
    path: str = ""

    def source(self) -> Source:
        """Return what reads it."""
        return Source(self.file, self.frame, table=True)

    def check(self) -> None:
        """Do nothing: it does not change."""


class FrameRows(NamedTuple):
    """Frames of a table."""

    spans: tuple[FrameSpan, ...]

    def __str__(self) -> str:
        first, last = self.spans[0].file, self.spans[-1].file
        return first if len(self.spans) == 1 else f"{first} to {last.removeprefix('partition ')}"

    @property
    def size(self) -> int:
        """The memory that the frames take."""
        return sum(int(span.frame.memory_usage(index=False).sum()) for span in self.spans)

    @property
    def room(self) -> int:
        """The memory that the rows may take."""
        return FRAMED * self.size

    @property
    def _part(self) -> Any:
        """These frames, which are read as parts of files are."""
        return self

    def surveyed(self, reading: Reading) -> Profile:
        """Return what the rows hold."""
        return profile_of(self._part, reading)

    def parsed(self, reading: Reading) -> PartRows:
        """Return all rows."""
        return read_part(self._part, reading)

    def blocks(self, reading: Reading, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        return blocks_of(self._part, reading, rows)

    def columns(self) -> Any:
        """Return the types of the columns."""
        return unified([schema_of(span.frame, span.file) for span in self.spans])

    def words(self, reading: Reading) -> dict[str, Any]:
        """Return the state of a form that has seen these rows."""
        form, sources = deepcopy(reading.form), [span.source() for span in self.spans]
        job = ReadPass(sources, reading.dtype, ErrorPolicy(reading.on_error), Clock(sources, None), 1, BLOCK_BYTES)
        for _ in form.parts(job):
            pass
        return form.state()

    @staticmethod
    def joined(some: Sequence["FrameRows"]) -> "FrameRows":
        """Return all rows of several, one after the other."""
        return FrameRows(tuple(span for one in some for span in one.spans))

    @staticmethod
    def merged(surveys: Iterable[Profile]) -> Profile:
        """Return what all rows hold."""
        return merged(surveys)

    @staticmethod
    def unified(schemas: Iterable[Any]) -> Any:
        """Return the types of columns of all frames."""
        return unified(schemas)

    @staticmethod
    def together(states: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Return the state of a form that has seen all rows."""
        return together(states)


def frame_rows(frame: Any, number: int) -> FrameRows:
    """Return the rows of a partition."""
    return FrameRows((FrameSpan(frame, f"partition {number}"),))


def schema_of(frame: Any, name: str) -> Any:
    """Return the types of a frame's columns."""
    import pyarrow as pa

    try:
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError) as error:
        raise DataError(name, f"the table can't be read: {str(error).splitlines()[0]}") from None


def unified(schemas: Iterable[Any]) -> Any:
    """Return the types of columns that are of one kind in all frames, or of none in some."""
    import pyarrow as pa

    try:
        return pa.unify_schemas([schema.remove_metadata() for schema in schemas], promote_options="permissive")
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise DataError("the dataframe", f"its partitions differ: {reason}; convert the column with astype") from None


def columns_of(form: Table) -> set[str]:
    """Return the columns that are read."""
    if form.found is None:
        return set()
    numbers, words, label, _, weight = form.found
    return {name for name in (*numbers, *words, label, weight, form.text) if name is not None}


def together(states: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the state of a form that has seen the rows of several, one after the other.

    What is numbered as it is first seen is numbered as if one had seen all.

    >>> counted = {"documents": 1, "columns": [1], "in": [1]}
    >>> seen = {"names": [], "columns": []}
    >>> one, other = ({"names": [*names], "frequencies": counted, "seen": seen} for names in ("ab", "cb"))
    >>> together([one, other])["names"], together([one, other])["frequencies"]
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
