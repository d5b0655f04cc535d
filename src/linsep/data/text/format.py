"""`label<TAB>text` as a format: n-grams hashed or numbered, and weighed by how rare they are."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from linsep.data.format import RowErrors, flag
from linsep.data.rows import Rows, renumbered
from linsep.data.text.frequencies import Frequencies
from linsep.data.text.grams import Grams, to_unit
from linsep.data.text.hashed_names import HashedRows
from linsep.data.text.hasher import grams_of
from linsep.data.text.labelled import parse
from linsep.data.text.named_format import NamedFormat
from linsep.data.text.vocabulary import Vocabulary
from linsep.engine.arrays import Array


@dataclass
class LabelledText(NamedFormat):
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
        As in TextHasher. Where rows are read like others, their length is that of what those had, too.
    """

    name: ClassVar[str] = "text"
    default_features: ClassVar[int] = 1 << 20

    idf: bool = False
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: str = "word"
    binary: bool = False
    norm: str | None = "l2"
    alternate_sign: bool = True
    lowercase: bool = True
    frequencies: Frequencies = field(default_factory=Frequencies, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("idf", "binary", "alternate_sign", "lowercase"):
            setattr(self, name, flag(name, getattr(self, name)))
        grams = self._grams()
        self.ngram_range = (grams.low, grams.high)

    @property
    def settled(self) -> bool:
        """Whether columns and weights are known."""
        return super().settled and (self.looked or not self.idf)

    def read_once(self) -> None:
        """Let a vocabulary grow; weights that need all rows can't be had."""
        if self.idf and self.known is None:
            raise ValueError("idf=True takes two passes: write the text to a file first")
        super().read_once()

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        rows = parse(text, self._grams(), dtype, named=self.vocabulary or self.keeps)
        return self._hashed(rows) if self.keeps else rows

    def take(self, rows: Rows) -> tuple[Rows, RowErrors]:
        """Number the n-grams, or keep their names; count the rows that each is in."""
        rows, wrong = super().take(rows)
        if self.idf and not self.looked:
            assert rows.indices is not None
            self.frequencies.widen(self.width)
            self.frequencies.see(len(rows), rows.indices)
        return rows, wrong

    def draft(self, rows: Rows) -> Rows | None:
        """Return rows as `finish` gives them, if all weights are known."""
        return self._weighed(replace(rows, values=rows.values.copy())) if self.looked or not self.idf else None

    def finish(self, rows: Rows) -> Rows:
        """Weigh the counts, and give rows the length 1."""
        return self._weighed(super().finish(rows))

    def state(self) -> dict[str, Any]:
        """Return all that is needed to read other text to the same columns, ready for JSON."""
        return super().state() | {"frequencies": self.frequencies.state()}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Return what a state was taken from."""
        form = super().restored({name: value for name, value in state.items() if name != "frequencies"})
        form.frequencies = Frequencies.restored(state["frequencies"], form.width if form.idf else 0)
        return form

    @property
    def _changing(self) -> bool:
        """Whether the entries of rows change after they were parsed, so that the length of rows is set at the end."""
        return self.idf or self.vocabulary or self.keep_names or self.known is not None

    def _grams(self) -> Grams:
        """Return which n-grams count, and how."""
        grams = grams_of(self, self.n_features or 1, self.alternate_sign and not self.vocabulary)
        return grams._replace(unit=grams.unit and not self._changing)

    def _weighed(self, rows: Rows) -> Rows:
        """Weigh the counts in place, and give rows the length 1."""
        assert rows.indptr is not None
        assert rows.indices is not None
        if self.idf:
            self.frequencies.weigh(rows.indptr, rows.indices, rows.values, self.norm is not None)
        elif self._changing and self.norm is not None:
            to_unit(rows.indptr, rows.values)
        return rows

    def _hashed(self, rows: Rows) -> HashedRows:
        """Hash n-grams that have names to the columns and values that they have without."""
        assert self.n_features is not None
        assert rows.names is not None
        own = Vocabulary()
        own.take(rows.names)
        hashes = own.hashes.view(np.int32).astype(np.int64)
        columns = (np.abs(hashes) % self.n_features).astype(np.int32)
        signs = np.where(hashes < 0, -1.0, 1.0).astype(rows.values.dtype) if self.alternate_sign else None
        hashed = renumbered(rows, columns, signs)
        if self.binary:
            hashed.values[:] = 1
        return HashedRows(**vars(replace(hashed, names=rows.names)), columns=columns)
