"""What a format is to the reader: options, text to rows, and what a look at all rows settles."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linsep.data.rows import Rows

Array = NDArray[Any]
Wrong = dict[int, tuple[bytes, str]]


@dataclass
class Form:
    """How the lines of a format become rows. The fields are its options, with what was found out filled in.

    Blocks of text are parsed side by side, then taken in order, and finished once all is settled.
    """

    name: ClassVar[str]
    known: Array | None = field(default=None, init=False, repr=False)
    """The columns that earlier data had, where rows are read like those: entries of others count for nothing."""

    @property
    def first(self) -> int:
        """The index of the first column, in rows that are not finished."""
        return 0

    @property
    def settled(self) -> bool:
        """Whether rows can be finished before all of them have been seen."""
        return True

    def read_once(self) -> None:
        """Settle, or let grow, what can't be looked for in a source that can be read only once."""

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        raise NotImplementedError

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, if they have any."""
        return None

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        raise NotImplementedError

    def take(self, rows: Rows) -> tuple[Rows, Wrong]:
        """Note what all rows together settle; tell the rows that can't be: the word at fault, and why."""
        return rows, {}

    def unknown(self, rows: Rows) -> Array:
        """Tell which entries are of columns that earlier data did not have."""
        assert self.known is not None
        assert rows.indices is not None
        columns = rows.indices - self.first
        inside = (columns >= 0) & (columns < len(self.known))
        return ~(inside & self.known[np.where(inside, columns, 0)])

    def settle(self) -> str | None:
        """Fix what was left open, after a look at all rows; return what contradicts itself, if anything does."""
        return None

    def finish(self, rows: Rows) -> Rows:
        """Return the rows, which may be changed in place, with columns and values as learners see them."""
        return rows


def row_of(rows: Rows, entry: Any) -> Any:
    """Return the rows that entries are in."""
    assert rows.indptr is not None
    return np.searchsorted(rows.indptr, entry, "right") - 1


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return an option that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r}: it is a whole number, {least} at least")
    return int(value)
