"""svmlight text as a format: where indices begin, and how many features there are."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linsep.data.form import Wrong, flag, row_of, whole
from linsep.data.line_form import LineForm
from linsep.data.rows import NO_INDEX, Rows, without
from linsep.data.svmlight.rows import parse
from linsep.engine.arrays import Array


@dataclass
class Svmlight(LineForm):
    """svmlight text.

    Parameters
    ----------
    n_features : int, optional
        The number of features; by default the highest index of all rows decides.
    zero_based : bool, optional
        Whether indices begin at 0; by default they do if an index 0 occurs anywhere in the sources.
    """

    name: ClassVar[str] = "svmlight"
    n_features: int | None = None
    zero_based: bool | None = None
    low: int = field(default=NO_INDEX, init=False, repr=False)
    high: int = field(default=-1, init=False, repr=False)
    grows: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_features is not None:
            self.n_features = whole("n_features", self.n_features)
        self.zero_based = flag("zero_based", self.zero_based, none=True)

    @property
    def first(self) -> int:
        """The lowest index there can be."""
        return 0 if self.zero_based else 1

    @property
    def settled(self) -> bool:
        """Whether the beginning of the indices and the number of features are known."""
        return self.zero_based is not None and (self.n_features is not None or self.grows)

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        return max(self.high + 1 - self.first, 0) if self.n_features is None else self.n_features

    def read_once(self) -> None:
        """Settle what can't be looked for in a source that can be read only once."""
        self.zero_based, self.grows = bool(self.zero_based), self.n_features is None

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        return parse(text, dtype)

    def note(self, low: int, high: int) -> None:
        """Keep the lowest and the highest index of rows that were seen, here or elsewhere."""
        self.low, self.high = min(self.low, low), max(self.high, high)

    def take(self, rows: Rows) -> tuple[Rows, Wrong]:
        """Keep the lowest and the highest index; tell the rows with one outside of what was stated."""
        least = 1 if self.zero_based is False else 0
        most = NO_INDEX
        if self.n_features is not None and self.known is None:
            most = self.n_features - (1 if self.zero_based else 0)
        if rows.low >= least and rows.high <= most:
            if not self.grows:
                self.note(rows.low, rows.high)
            return rows, {}
        assert rows.indices is not None
        outside = np.flatnonzero((rows.indices < least) | (rows.indices > most))
        wrong: Wrong = {}
        for entry, row in zip(outside.tolist(), row_of(rows, outside).tolist(), strict=True):
            index = int(rows.indices[entry])
            low = "index 0: indices are said to begin at 1; pass zero_based=True if they begin at 0"
            high = f"index {index} is beyond the {self.n_features} features that were stated"
            wrong.setdefault(row, (b"%d:" % index, low if index < least else high))
        kept = without(rows, list(wrong)).indices
        if kept is not None and len(kept):
            self.note(int(kept.min()), int(kept.max()))
        return rows, wrong

    def told(self, index: int) -> tuple[bytes, str]:
        """Return an index as it is written, and what to call it."""
        return b"%d:" % index, f"index {index} is one that"

    def settle(self) -> str | None:
        """Fix where indices begin and how many features there are."""
        if self.zero_based is None:
            self.zero_based = self.low == 0
            if self.zero_based and self.high == self.n_features:
                return (
                    f"the indices go from 0 to {self.high}, which is one feature more than the {self.n_features} "
                    "that were stated"
                )
        if not self.grows:
            self.n_features = self.width
        return None

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows with columns counted from 0; None if an index 0 shows that they may have been so before."""
        if self.zero_based is None and self.low == 0:
            return None
        return rows if rows.indices is None else replace(rows, indices=rows.indices - self.first)

    def finish(self, rows: Rows) -> Rows:
        """Count columns from 0; as many as have been seen, if they grow."""
        assert rows.indices is not None
        if self.grows and len(rows.indices):
            self.note(NO_INDEX, int(rows.indices.max()))
        np.subtract(rows.indices, self.first, out=rows.indices)
        return rows
