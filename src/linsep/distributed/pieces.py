"""Shards as those see them that work on them: ranges of files, rows of arrays, frames of a table."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from linsep.data.dataset import Dataset
from linsep.data.parts import Part, Profile, Reading, blocks_of, profile_of, read_part

PARSED = 4
"""Bytes that rows may take for each byte of the file they are in."""


class Held(Protocol):
    """All rows of a shard in memory."""

    @property
    def survey(self) -> Profile:
        """What they hold."""

    @property
    def nbytes(self) -> int:
        """The memory that they take."""

    def finished(self, form: Any) -> Dataset:
        """Return the rows as learners see them, in a form that is settled."""


class Piece(Protocol):
    """Some rows, one after the other."""

    @property
    def room(self) -> int:
        """The memory that they may take; 0 if nobody knows."""

    def surveyed(self, reading: Any) -> Profile:
        """Return what they hold."""

    def parsed(self, reading: Any) -> Held:
        """Return all of them, to be finished when what all shards decide is settled."""

    def blocks(self, reading: Any, rows: int) -> Iterator[Dataset]:
        """Yield them in blocks."""


class InFiles(NamedTuple):
    """A part of files."""

    part: Any

    @property
    def room(self) -> int:
        """The memory that the rows may take."""
        return PARSED * self.part.size

    def surveyed(self, reading: Reading) -> Profile:
        """Return what the rows hold."""
        return profile_of(self.part, reading)

    def parsed(self, reading: Reading) -> Held:
        """Return all rows."""
        return read_part(self.part, reading)

    def blocks(self, reading: Reading, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        return blocks_of(self.part, reading, rows)


def piece_of(part: Any) -> Piece:
    """Return what reads a part."""
    return InFiles(part) if isinstance(part, Part) else part


class Later:
    """Partitions that are computed in this process when they are asked for.

    Parameters
    ----------
    partitions : list of Delayed
        Each gives an ArrayRows or FrameRows.
    kind : ArrayRows or FrameRows
    name : str
    room : int
        The memory that the rows may take, or 0 if nobody knows.
    """

    def __init__(self, partitions: list[Any], kind: Any, name: str, room: int) -> None:
        self.partitions, self.kind, self.name, self.room = partitions, kind, name, room

    def __str__(self) -> str:
        return self.name

    def _each(self, ask: Callable[[Any], Any]) -> Iterator[Any]:
        return (ask(partition.compute(scheduler="synchronous")) for partition in self.partitions)

    def surveyed(self, reading: Any) -> Profile:
        """Return what the rows hold; one partition is in memory at a time."""
        found: Profile = self.kind.merged(self._each(lambda piece: piece.surveyed(reading)))
        return found

    def parsed(self, reading: Any) -> Held:
        """Return all rows."""
        rows: Held = self.kind.joined(list(self._each(lambda piece: piece))).parsed(reading)
        return rows

    def blocks(self, reading: Any, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks; one partition is in memory at a time."""
        for blocks in self._each(lambda piece: piece.blocks(reading, rows)):
            yield from blocks

    def columns(self) -> Any:
        """Return the types of the columns."""
        return self.kind.unified(self._each(lambda piece: piece.columns()))

    def words(self, reading: Any) -> Any:
        """Return the state of a form that has seen these rows."""
        return self.kind.together(self._each(lambda piece: piece.words(reading)))


class Placed(NamedTuple):
    """Rows that a worker of a cluster has; those that do not work on them have the promise of them alone."""

    rows: Any
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def room(self) -> int:
        """The memory that the rows may take."""
        return self.rows.room

    def surveyed(self, reading: Any) -> Profile:
        """Return what the rows hold."""
        return self.rows.surveyed(reading)

    def parsed(self, reading: Any) -> Held:
        """Return all rows."""
        return self.rows.parsed(reading)

    def blocks(self, reading: Any, rows: int) -> Iterator[Dataset]:
        """Yield the rows in blocks."""
        return self.rows.blocks(reading, rows)

    def columns(self) -> Any:
        """Return the types of the columns."""
        return self.rows.columns()

    def words(self, reading: Any) -> Any:
        """Return the state of a form that has seen these rows."""
        return self.rows.words(reading)
