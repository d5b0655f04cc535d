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

from dataclasses import dataclass
from typing import Any, ClassVar

from linsep.data.text.hashed_names import HashedNames, HashedRows, VocabularyNames
from linsep.data.text.named_form import NamedForm
from linsep.data.vw.rows import HASHED, MOST_BITS, NAMED, NUMBERED, parse
from linsep.engine.arrays import Array


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
class Vw(NamedForm):
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
    default_features: ClassVar[int] = 1 << 18
    least_features: ClassVar[int] = 2
    hashed_names: ClassVar[type[HashedNames]] = _Hashed
    numbered_names: ClassVar[type[VocabularyNames]] = _Numbered

    def __post_init__(self) -> None:
        super().__post_init__()
        n = self.n_features
        if n is not None and (n & (n - 1) or n > 1 << MOST_BITS):
            raise ValueError(f"n_features={n}: names are hashed to a power of two columns, 2**{MOST_BITS} at most")

    def parse(self, text: Array, dtype: Any) -> HashedRows:
        """Read a block of whole lines."""
        if self.n_features is None:
            return parse(text, dtype, mode=NUMBERED)
        return parse(text, dtype, self.n_features.bit_length() - 1, NAMED if self.keeps else HASHED)
