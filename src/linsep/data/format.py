"""Formats: their options, how sources become rows, and what a scan of all rows decides."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, ClassVar, NamedTuple, Self, get_args, get_origin, get_type_hints

import numpy as np

from linsep.data.blocks import NEWLINE, Block, Clock, blocks, strip_byte_order_mark
from linsep.data.errors import DataError, ErrorPolicy, RowError
from linsep.data.rows import Rows
from linsep.data.sources import Source
from linsep.data.splitting import LineSplitter, MarkSplitter, Splitter, newlines
from linsep.engine.arrays import Array
from linsep.engine.runtime import in_order
from linsep.validation.errors import ParameterError

RowErrors = dict[int, tuple[bytes, str]]
MOST_COLUMNS = 1 << 62
"""Columns that data may have."""
MOST_KNOWN = 1 << 32
"""Columns of data that others can be read like."""


class ReadPass(NamedTuple):
    """Settings of a pass over some sources."""

    sources: list[Source]
    dtype: Any
    policy: ErrorPolicy
    clock: Clock
    jobs: int
    block_bytes: int


class FewColumns:
    """A mask of few among many columns, stored as their numbers in order; it takes no memory for the others.

    >>> mask = FewColumns(np.array([2, 7]), 1 << 32)
    >>> len(mask), mask.all(), mask[np.array([0, 2, 7, 9])].tolist()
    (4294967296, False, [False, True, True, False])
    """

    def __init__(self, listed: Array, width: int) -> None:
        self.listed, self._width = listed, width

    def __len__(self) -> int:
        return self._width

    def __getitem__(self, columns: Array) -> Array:
        if not len(self.listed):
            return np.zeros(len(columns), bool)
        places = np.minimum(np.searchsorted(self.listed, columns), len(self.listed) - 1)
        return self.listed[places] == columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        mask = np.zeros(self._width, bool)
        mask[self.listed] = True
        return mask if dtype is None else mask.astype(dtype)

    def all(self) -> bool:
        """Return whether the mask has all columns."""
        return len(self.listed) == self._width


@dataclass
class Format(ABC):
    """A format: it turns sources into rows. The fields are its options, with detected values filled in.

    Rows come in parts, and are finished once all is settled.
    """

    name: ClassVar[str]
    known: Array | FewColumns | None = field(default=None, init=False, repr=False)
    """The columns that earlier data had, where rows are read like those: entries of others count for nothing."""
    strict: bool = field(default=False, init=False, repr=False)
    """True if a row with such an entry is malformed."""
    unseen: int = field(default=0, init=False, repr=False)
    """Such entries in the last pass so far."""

    @property
    def first(self) -> int:
        """The index of the first column, in rows that are not finished."""
        return 0

    @property
    def settled(self) -> bool:
        """Return whether rows can be finished before all rows have been read."""
        return True

    def read_once(self) -> None:  # noqa: B027  (most need not)
        """Settle, or let grow, what only a scan could decide, as the source can be read only once."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features, as far as is known."""

    @abstractmethod
    def parts(self, job: ReadPass) -> Iterator[Rows]:
        """Yield the rows of all sources in parts; the policy handles malformed rows."""

    @abstractmethod
    def none(self, dtype: Any) -> Rows:
        """Return no rows."""

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, if they have any."""
        return None

    def settle(self) -> str | None:
        """Fix what was left open, after a scan of all rows; return what contradicts itself, if anything does."""
        return None

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows that were taken as `finish` will give them; None if that is open until all is settled."""
        return rows

    def finish(self, rows: Rows) -> Rows:
        """Return the rows, which may be changed in place, with columns and values as learners see them."""
        return rows

    def sniff(self, sources: list[Source]) -> None:  # noqa: B027  (most need not)
        """Decide what the first rows determine."""

    def splitter(self, source: Source) -> Splitter:
        """Return where a file can be cut: by default nowhere."""
        size = source.size or 0
        return MarkSplitter("file", range(2), lambda place: size * place)

    def lines_before(self, source: Source) -> int:
        """Return how many lines, or rows, a file has before the part of it that is read."""
        return 0

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other data to the same columns, ready for JSON."""
        return {option.name: deepcopy(getattr(self, option.name)) for option in fields(self) if option.name != "known"}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        own = {option.name: option for option in fields(cls) if option.name in state}
        refuse_other_types(state, cls)
        form = cls(**{name: state[name] for name, option in own.items() if option.init})
        for name, option in own.items():
            if not option.init:
                setattr(form, name, state[name])
        return form

    def like(self, seen: Callable[[], Array], strict: bool) -> "Format":
        """Return a format that reads rows into the columns of these data; `seen` returns a mask of those columns."""
        return self._like(seen, strict)

    def _like(self, seen: Callable[[], Array], strict: bool) -> Self:
        if self.width > MOST_KNOWN:
            raise ParameterError(f"like= remembers which of the columns were seen, and can't do so for {self.width:,}")
        columns = seen()[: self.width]
        form = deepcopy(self)
        form.known, form.strict = np.zeros(self.width, bool), strict
        form.known[: len(columns)] = columns
        return form

    def for_part(self) -> Self:
        """Return a copy that counts for itself; vocabularies, which no longer grow once all is decided, are shared."""
        return copy(self) if self.settled else deepcopy(self)

    def for_format(self, name: str, file: str) -> "Format":
        """Return this form for data of another format, if that is possible."""
        if name != self.name:
            raise DataError(
                file, f"it looks like {name}, but the data it is to be read like are {self.name}: "
                f"pass format={self.name!r} if it is that, too",
            )  # fmt: skip
        return self

    def describe_index(self, index: int) -> tuple[bytes, str]:
        """Return the word of a row that an index comes from, if that is known, and what to call it."""
        return b"", "the row has a feature that"

    def _knows_all(self, known: Array | FewColumns) -> bool:
        """Return whether earlier data had every column; computed once."""
        looked: tuple[Any, bool] | None = vars(self).get("_all_known")
        if looked is None or looked[0] is not known:
            looked = vars(self)["_all_known"] = known, bool(known.all())
        return looked[1]

    def _known_entries(self, rows: Rows, known: Array | FewColumns, wrong: RowErrors) -> Rows:
        """Leave out the entries of features that earlier data did not have; or refuse their rows."""
        assert rows.indices is not None
        if self._knows_all(known):
            low, high = (rows.low, rows.high) if rows.high >= 0 else (self.first, rows.indices.max(initial=-1))
            if low >= self.first and high - self.first < len(known):
                return rows
        columns = rows.indices - self.first
        inside = (columns >= 0) & (columns < len(known))
        unknown = ~inside
        unknown[inside] = ~known[columns[inside]]
        if not unknown.any():
            return rows
        if self.strict:
            entries = np.flatnonzero(unknown)
            for row, entry in zip(rows.rows_of_entries(entries).tolist(), entries.tolist(), strict=True):
                word, what = self.describe_index(int(rows.indices[entry]))
                wrong.setdefault(row, (word, f"{what} the data it is read like did not have"))
            return rows
        self.unseen += int(np.count_nonzero(unknown))
        return rows.without_entries(unknown)


def refuse_other_types(state: dict[str, Any], of: type) -> None:
    """Raise a ValueError where a value of a state, which may come from a file, is not of its field's type."""
    for name, hint in get_type_hints(of).items():
        if name in state and not _fits(state[name], hint):
            raise ValueError(f"how its data were read: {name} is {state[name]!r:.20}, which it can't be")


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value of JSON is of a type; what is no type of JSON is checked where it is restored."""
    of, parts = get_origin(hint), get_args(hint)
    if of is UnionType:
        return any(_fits(value, part) for part in parts)
    if of is list:
        part = str | int if parts == (Any,) else parts[0]
        return isinstance(value, list) and all(_fits(item, part) for item in value)
    if of is tuple:
        return isinstance(value, (list, tuple)) and len(value) == len(parts) and all(map(_fits, value, parts))
    return type(value) is hint if hint in (bool, int, str, NoneType) else True


def whole(name: str, value: Any, least: int = 1, most: int = MOST_COLUMNS) -> int:
    """Return an option that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name}={value!r}: it is a whole number, {least} at least")
    if value > most:
        raise ParameterError(f"{name}={value!r}: it is a whole number, {most} at most")
    return int(value)


def flag(name: str, value: Any, *, none: bool = False) -> Any:
    """Return an option that must be True or False, or None where None is allowed."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if value is None and none:
        return None
    raise ParameterError(f"{name}={value!r}: it is {'True, False or None' if none else 'True or False'}")


class LineFormat(Format):
    """A format of lines: it turns lines into rows."""

    @abstractmethod
    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""

    def take(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Note what all rows together settle; return the malformed rows: the word at fault, and the reason."""
        return rows, {}

    def parts(self, job: ReadPass) -> Iterator[Rows]:
        """Yield the rows of all sources block by block; the policy handles malformed rows."""
        self.unseen = 0
        line = 1

        def parse_block(block: Block) -> tuple[Block, Rows]:
            return block, self.parse(block.text, job.dtype)

        for block, rows in in_order(parse_block, blocks(job.sources, job.block_bytes), job.jobs):
            line = 1 if block.first else line
            rows = self._handle(rows, block, job.policy, line)
            line += rows.lines
            job.clock.tick(block.done, len(rows))
            yield rows

    def splitter(self, source: Source) -> Splitter:
        """Return where a file can be cut: where a line begins, unless it is compressed."""
        if source.packed:
            return super().splitter(source)
        strip_byte_order_mark(np.frombuffer(source.head(), np.uint8), source.name)
        return LineSplitter(source.name, 0, source.size or 0)

    def lines_before(self, source: Source) -> int:
        """Return how many lines a file has before the part of it that is read."""
        return 0 if source.span is None else newlines(source.name, source.span[0])

    def none(self, dtype: Any) -> Rows:
        """Return no rows."""
        return self.parse(np.empty(0, np.uint8), dtype)

    def _handle(self, rows: Rows, block: Block, policy: ErrorPolicy, line: int) -> Rows:
        """Return the rows of a block that are sound, after the policy has handled the others."""
        rows, wrong = self.take(rows)
        if self.known is not None:
            rows = self._known_entries(rows, self.known, wrong)
        faults = rows.faults
        if wrong:
            ends = np.flatnonzero(block.text == NEWLINE)
            found = (_fault(block, ends, int(rows.places[i]), *why) for i, why in wrong.items())
            faults = sorted([*faults, *found])
        policy.take(faults, block.file, line)
        return rows.without(list(wrong)) if wrong else rows


def _fault(block: Block, ends: Array, place: int, word: bytes, reason: str) -> RowError:
    """Return the error of a word in the line of a block, counted from 0; lines end at `ends`."""
    line = block.text[0 if place == 0 else ends[place - 1] + 1 : ends[place]].tobytes()
    found = re.search(rb"(?<!\S)" + re.escape(word), line) if word else None
    return RowError(place, found.start() + 1 if found else None, reason, line)
