"""Formats whose features have names: hashed, hashed with the names kept, or numbered by a vocabulary that grows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from linsep.data.format import LineFormat, RowErrors, flag, whole
from linsep.data.rows import Rows
from linsep.data.text.names import HashedNames, VocabularyNames
from linsep.data.text.vocabulary import Vocabulary
from linsep.validation.errors import ParameterError

LATE = "the row has a name that was not there before: the data have changed since they were first looked at"


@dataclass
class NamedFormat(LineFormat):
    r"""A form whose columns have names.

    A subclass parses: to rows with `names` that are numbered for a block if there is a vocabulary, to rows with
    `names` and `name_columns` if it `keeps` those, and else to hashed rows.

    Parameters
    ----------
    n_features : int, optional
        The number of columns that names are hashed to.
    vocabulary : bool, default=False
        Whether names get columns of their own instead, numbered in the order in which they first occur.
    keep_names : bool, default=False
        Whether the names that are hashed are kept, so that `feature_names` can tell what a column means.

    >>> from linsep.data.vw.format import Vw
    >>> form = Vw(vocabulary=True)
    >>> rows, wrong = form.take(form.parse(np.frombuffer(b"1 |a x y\n1 |a z x\n", np.uint8), np.float64))
    >>> rows.indices, list(form.feature_names)
    (array([0, 1, 0, 2], dtype=int32), ['a^x', 'a^y', 'a^z'])
    """

    default_features: ClassVar[int]
    least_features: ClassVar[int] = 1
    hashed_names: ClassVar[type[HashedNames]] = HashedNames
    numbered_names: ClassVar[type[VocabularyNames]] = VocabularyNames

    shares_names: ClassVar[bool] = False
    """Whether the names are those of another format, which has seen all of them."""
    n_features: int | None = None
    vocabulary: bool = False
    keep_names: bool = False
    looked: bool = field(default=False, init=False, repr=False)
    """Whether all rows have been seen, so that there are no other names."""
    grows: bool = field(default=False, init=False, repr=False)
    """Whether there are as many features as the rows that were finished have."""
    high: int = field(default=-1, init=False, repr=False)
    numbers: Vocabulary = field(default_factory=Vocabulary, init=False, repr=False)
    seen: HashedNames | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("vocabulary", "keep_names"):
            setattr(self, name, flag(name, getattr(self, name)))
        if not self.vocabulary:
            n = self.default_features if self.n_features is None else self.n_features
            self.n_features = whole("n_features", n, self.least_features)
            self.seen = self.hashed_names(self.n_features) if self.keep_names else None
        elif self.n_features is not None or self.keep_names:
            raise ParameterError("with vocabulary=True every name has a column: leave out n_features and keep_names")

    @property
    def settled(self) -> bool:
        """Whether the number of features is known, or may grow."""
        return not self.vocabulary or self.looked or self.grows

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        if self.n_features is not None:
            return self.n_features
        return self.high + 1 if self.grows else len(self.numbers)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, each spelled out when it is asked for."""
        return self.numbered_names(self.numbers, self.width) if self.vocabulary else self.seen

    @property
    def keeps(self) -> bool:
        """Whether names that are hashed are kept: where rows are read like others, names are those of the others."""
        return self.keep_names and self.known is None

    def read_once(self) -> None:
        """Let the features grow in number, unless they are those of earlier data."""
        if self.known is None:
            self.grows = self.vocabulary

    def for_part(self) -> Self:
        """Return a copy that counts for itself; where all names are known, the copy adds none."""
        form = super().for_part()
        vars(form)["shares_names"] = self.looked
        return form

    def take(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Keep the names; number the columns by those of all rows so far, instead of this block's."""
        if rows.names is None:
            return rows, {}
        if self.vocabulary:
            return self._numbered(rows)
        assert self.seen is not None
        assert rows.name_columns is not None
        if not self.shares_names:
            self.seen.see(rows.names, rows.name_columns)
        return replace(rows, names=None, name_columns=None), {}

    def settle(self) -> str | None:
        """Fix how many features there are."""
        self.looked = not self.grows
        return None

    def finish(self, rows: Rows) -> Rows:
        """Count as many features as have been seen, if they grow."""
        assert rows.indices is not None
        if self.grows:
            self.high = max(self.high, int(rows.indices.max(initial=-1)))
        return rows

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other data to the same columns, ready for JSON."""
        seen = None if self.seen is None else self.seen.state()
        return super().state() | {"numbers": self.numbers.names(), "seen": seen}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        form = super().restored({name: value for name, value in state.items() if name not in ("numbers", "seen")})
        form.numbers = Vocabulary.of(state["numbers"])
        if form.seen is not None:
            form.seen.restore(state["seen"])
        return form

    def _numbered(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Number the columns; names that may not be new come after all others, and their rows are at fault."""
        assert rows.names is not None
        numbers = self.numbers.take(rows.names, grow=self.known is None and not self.looked)
        new, width = np.flatnonzero(numbers < 0), len(self.numbers)
        numbers[new] = width + np.arange(len(new))
        rows = rows.renumbered(numbers)
        if self.known is not None or not len(new):
            return rows, {}
        assert rows.indices is not None
        late = rows.rows_of_entries(np.flatnonzero(rows.indices >= width)).tolist()
        return rows, dict.fromkeys(late, (b"", LATE))
