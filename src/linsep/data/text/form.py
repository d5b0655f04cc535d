"""`label<TAB>text` as a format: n-grams hashed or numbered, and weighed by how rare they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from linsep.data.form import Form, Wrong, whole
from linsep.data.rows import Rows, renumbered
from linsep.data.text.frequencies import Frequencies
from linsep.data.text.grams import Grams, to_unit
from linsep.data.text.hashed_names import HashedNames, VocabularyNames
from linsep.data.text.hasher import grams_of
from linsep.data.text.labelled import parse
from linsep.data.text.vocabulary import Vocabulary

Array = NDArray[Any]


@dataclass
class LabelledText(Form):
    """Lines of `label<TAB>text`.

    Parameters
    ----------
    n_features : int, default=2**20
        The columns that n-grams are hashed to.
    vocabulary : bool, default=False
        Whether n-grams get columns of their own instead, in the order in which they are first seen.
    keep_names : bool, default=False
        Whether the n-grams that are hashed are kept, so that `feature_names` can tell what a column means.
    idf : bool, default=False
        Whether counts are multiplied with ln((1 + rows) / (1 + rows with the n-gram)) + 1.
    ngram_range, analyzer, binary, norm, alternate_sign, lowercase
        As in TextHasher.
    """

    name: ClassVar[str] = "text"
    n_features: int | None = None
    vocabulary: bool = False
    keep_names: bool = False
    idf: bool = False
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: str = "word"
    binary: bool = False
    norm: str | None = "l2"
    alternate_sign: bool = True
    lowercase: bool = True
    looked: bool = field(default=False, init=False, repr=False)
    grows: bool = field(default=False, init=False, repr=False)
    high: int = field(default=-1, init=False, repr=False)
    numbers: Vocabulary = field(default_factory=Vocabulary, init=False, repr=False)
    seen: HashedNames | None = field(default=None, init=False, repr=False)
    frequencies: Frequencies = field(default_factory=Frequencies, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.vocabulary and (self.n_features is not None or self.keep_names):
            raise ValueError("with vocabulary=True every n-gram has a column: leave out n_features and keep_names")
        if not self.vocabulary:
            self.n_features = 1 << 20 if self.n_features is None else whole("n_features", self.n_features)
            self.seen = HashedNames(self.n_features) if self.keep_names else None
            self.frequencies.widen(self.n_features if self.idf else 0)
        grams = self._grams()
        self.ngram_range = (grams.low, grams.high)

    @property
    def settled(self) -> bool:
        """Whether columns and weights are known."""
        return self.looked or not (self.idf or self.vocabulary)

    def read_once(self) -> None:
        """Let a vocabulary grow; weights that need all rows can't be had."""
        if self.idf:
            raise ValueError("idf=True takes two passes: write the text to a file first")
        self.looked = self.grows = self.vocabulary

    @property
    def width(self) -> int:
        """The number of features, as far as is known."""
        if self.n_features is not None:
            return self.n_features
        return self.high + 1 if self.grows else len(self.numbers)

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The n-grams, each spelled out when it is asked for."""
        return VocabularyNames(self.numbers, self.width) if self.vocabulary else self.seen

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        return parse(text, self._grams(), dtype, named=self._named)

    def take(self, rows: Rows) -> tuple[Rows, Wrong]:
        """Number the n-grams, or keep their names; count the rows that each is in."""
        if rows.names is not None:
            if self.vocabulary:
                numbers = self.numbers.take(rows.names, grow=self.known is None)
                new = np.flatnonzero(numbers < 0)
                numbers[new] = len(self.numbers) + np.arange(len(new))
                rows = renumbered(rows, numbers)
            else:
                rows = self._hashed(rows)
        if self.idf and not self.looked:
            self.frequencies.widen(self.width)
            self.frequencies.see(len(rows), _indices(rows))
        return rows, {}

    def settle(self) -> str | None:
        """Let columns and weights be those of all rows."""
        self.looked = True
        return None

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows as `finish` gives them, if all weights are known."""
        return self.finish(replace(rows, values=rows.values.copy())) if self.looked or not self.idf else None

    def finish(self, rows: Rows) -> Rows:
        """Weigh the counts, and give rows the length 1."""
        assert rows.indptr is not None
        if self.grows:
            self.high = max(self.high, int(_indices(rows).max(initial=-1)))
        if self.idf:
            self.frequencies.weigh(rows.indptr, _indices(rows), rows.values, self.norm is not None)
        elif self._named and self.norm is not None:
            to_unit(rows.indptr, rows.values)
        return rows

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other text to the same columns, ready for JSON."""
        counts = self.frequencies.counts
        columns = np.flatnonzero(counts)
        rows = {"documents": self.frequencies.documents, "columns": columns.tolist(), "in": counts[columns].tolist()}
        seen = None if self.seen is None else self.seen.state()
        return super().state() | {"numbers": self.numbers.names(), "seen": seen, "frequencies": rows}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        kept = {name: value for name, value in state.items() if name not in ("numbers", "seen", "frequencies")}
        form = super().restored(kept)
        form.numbers = Vocabulary.of(state["numbers"])
        if form.seen is not None:
            form.seen.restore(state["seen"])
        frequencies = state["frequencies"]
        form.frequencies.widen(form.width if form.idf else 0)
        form.frequencies.see(frequencies["documents"], np.array(frequencies["columns"], np.int64), frequencies["in"])
        return form

    @property
    def _named(self) -> bool:
        """Whether n-grams are numbered for each part, by name."""
        return self.vocabulary or self.keep_names

    def _grams(self) -> Grams:
        """Return which n-grams count, and how; the length of rows is set later if their entries change until then."""
        grams = grams_of(self, self.n_features or 1, self.alternate_sign and not self.vocabulary)
        return grams._replace(unit=grams.unit and not (self.idf or self._named))

    def _hashed(self, rows: Rows) -> Rows:
        """Hash n-grams that have names, and keep these."""
        assert self.seen is not None
        assert self.n_features is not None
        assert rows.names is not None
        own = Vocabulary()
        own.take(rows.names)
        hashes = own.hashes.view(np.int32).astype(np.int64)
        columns = (np.abs(hashes) % self.n_features).astype(np.int32)
        self.seen.see(rows.names, columns)
        signs = np.where(hashes < 0, -1.0, 1.0).astype(rows.values.dtype) if self.alternate_sign else None
        return renumbered(rows, columns, signs)


def _indices(rows: Rows) -> Array:
    assert rows.indices is not None
    return rows.indices
