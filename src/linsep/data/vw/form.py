"""Vowpal Wabbit text: `[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |other ...`, by rows.

What stands before the first bar may be missing: a row without a label is there to be predicted. A tag is a word that
begins with a quote or touches the bar (so `1|a x` has the tag 1 and no label, as in Vowpal Wabbit). Tags are left out,
a base is checked and left out. A blank after a bar means the default namespace. Values are 1 where none is written, and
are multiplied with the scale of their namespace; those of one column are added up, those of 0 left out. Columns are
those of Vowpal Wabbit, but that no constant is added: learners have an intercept.

Rows that Vowpal Wabbit makes something of, though hardly what was meant, are malformed here: a tab before the first bar
(it passes over all up to the tab), no bar (it takes the last word for a tag), words before the bar that are not numbers
(it takes 0), a colon without a name (it numbers such features), a value that is no finite number or has more behind it
(it makes NaN 0, a word a part of the name, and leaves out the rest of the line at a second colon), an importance below
0, and control bytes other than tabs. Blank lines are no rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linsep.data.form import Form, Wrong, row_of, whole
from linsep.data.rows import Rows, renumbered
from linsep.data.text.hashed_names import HashedNames, HashedRows, VocabularyNames
from linsep.data.text.vocabulary import Vocabulary
from linsep.data.vw.rows import HASHED, MOST_BITS, NAMED, NUMBERED, parse

Array = NDArray[Any]

DEFAULT_FEATURES = 1 << 18


def _shown(name: str) -> str:
    """Return `namespace^feature`, as Vowpal Wabbit prints it, for `namespace|feature`."""
    return name.replace("|", "^")


class _Hashed(HashedNames):
    """The names of hashed features."""

    def of(self, column: int) -> list[str]:
        """Return the names of a column, in the order in which they were seen."""
        return [_shown(name) for name in super().of(column)]


class _Numbered(VocabularyNames):
    """The names of numbered features."""

    def name(self, column: int) -> str:
        """Return the name of a feature."""
        return _shown(super().name(column))


@dataclass
class Vw(Form):
    """Vowpal Wabbit text.

    Parameters
    ----------
    n_features : int, default=2**18
        The number of columns that names are hashed to, a power of two: 2 ** b, for the b of Vowpal Wabbit's `-b`.
    vocabulary : bool, default=False
        Whether names get columns of their own instead, numbered in the order in which they first occur.
    keep_names : bool, default=False
        Whether the names that are hashed are kept, so that `feature_names` can tell what a column means.
    """

    name: ClassVar[str] = "vw"
    n_features: int | None = None
    vocabulary: bool = False
    keep_names: bool = False
    looked: bool = field(default=False, init=False, repr=False)
    high: int = field(default=-1, init=False, repr=False)
    grows: bool = field(default=False, init=False, repr=False)
    numbers: Vocabulary = field(default_factory=Vocabulary, init=False, repr=False)
    seen: HashedNames | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("vocabulary", "keep_names"):
            if getattr(self, name) not in (True, False):
                raise ValueError(f"{name}={getattr(self, name)!r}: it is True or False")
        if self.vocabulary:
            if self.n_features is not None or self.keep_names:
                raise ValueError("with vocabulary=True every name has a column: leave out n_features and keep_names")
            return
        n = self.n_features = DEFAULT_FEATURES if self.n_features is None else whole("n_features", self.n_features, 2)
        if n & (n - 1) or n > 1 << MOST_BITS:
            raise ValueError(f"n_features={n}: names are hashed to a power of two columns, 2**{MOST_BITS} at most")
        self.seen = _Hashed(n) if self.keep_names else None

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
        return _Numbered(self.numbers, self.width) if self.vocabulary else self.seen

    def read_once(self) -> None:
        """Let the features grow in number."""
        self.grows = self.vocabulary

    def parse(self, text: Array, dtype: Any) -> HashedRows:
        """Read a block of whole lines."""
        if self.vocabulary or self.n_features is None:
            return parse(text, dtype, mode=NUMBERED)
        named = self.keep_names and self.known is None
        return parse(text, dtype, self.n_features.bit_length() - 1, NAMED if named else HASHED)

    def take(self, rows: Rows) -> tuple[Rows, Wrong]:
        """Keep the names; number the columns by those of all rows so far, instead of this block's."""
        if rows.names is None:
            return rows, {}
        if not self.vocabulary:
            assert self.seen is not None
            assert isinstance(rows, HashedRows)
            assert rows.columns is not None
            self.seen.see(rows.names, rows.columns)
            return replace(rows, names=None, columns=None), {}
        numbers = self.numbers.take(rows.names, grow=self.known is None and not self.looked)
        new = np.flatnonzero(numbers < 0)
        width = len(self.numbers)
        numbers[new] = width + np.arange(len(new))
        rows = renumbered(rows, numbers)
        if self.known is not None or not len(new):
            return rows, {}
        assert rows.indices is not None
        late = row_of(rows, np.flatnonzero(rows.indices >= width)).tolist()
        why = "the row has a name that was not there before: the data have changed since they were first looked at"
        return rows, dict.fromkeys(late, (b"", why))

    def settle(self) -> str | None:
        """Fix how many features there are."""
        self.looked = not self.grows
        return None

    def finish(self, rows: Rows) -> Rows:
        """Count as many features as have been seen, if they grow."""
        assert rows.indices is not None
        if self.grows and len(rows.indices):
            self.high = max(self.high, int(rows.indices.max()))
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
