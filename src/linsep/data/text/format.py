"""Labelled text: `label<TAB>text`, one row a line, in UTF-8; n-grams are hashed or numbered, and weighed by rarity.

A label is a word as it is written; all that follows the first TAB is the text, further TABs too. Blank lines are no
rows, and a line may end with CR LF.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from linsep.data.errors import RowError, quote
from linsep.data.format import RowErrors, flag
from linsep.data.names import NamedFormat, Vocabulary
from linsep.data.rows import Rows
from linsep.data.text.ngrams import Frequencies, Grams, count_text, hash_text, to_unit
from linsep.data.text.transformers import grams_of
from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError

NEWLINE, RETURN, TAB = 10, 13, 9
LONGEST_LABEL = 256
"""Bytes that a label may have: labels are kept in an array in which each takes as much room as the longest."""

EMPTY = "the label before the TAB is empty"
NOT_UTF8 = "{} is not UTF-8: convert the file"


def add_labels(text: Array) -> Array:
    r"""Return lines with a label in front of those that have none.

    >>> add_labels(np.frombuffer(b"cheap pills\nspam\twin\n\n", np.uint8)).tobytes()
    b'?\tcheap pills\nspam\twin\n\n'
    """
    lines = text.tobytes().split(b"\n")
    whole = [line if b"\t" in line or not line.strip() else b"?\t" + line for line in lines]
    return np.frombuffer(b"\n".join(whole), np.uint8)


class _Lines:
    """The lines of a part: where each begins, where it ends, where its first TAB is; what is wrong with some."""

    def __init__(self, text: Array) -> None:
        self.text, self.newlines = text, np.flatnonzero(text == NEWLINE)
        self.begins = np.concatenate([[0], self.newlines + 1])[:-1]
        returns = (self.newlines > self.begins) & (text[self.newlines - 1] == RETURN)
        self.ends = self.newlines - returns
        tabs = np.append(np.flatnonzero(text == TAB), len(text))
        self.tabs = np.minimum(tabs[np.searchsorted(tabs, self.begins)], self.ends)
        self.fine = self.ends > self.begins
        self.faults: list[RowError] = []

    def blame(self, line: int, at: int, reason: str) -> None:
        """Return the fault of a line at text[at]."""
        begin = int(self.begins[line])
        row = self.text[begin : self.newlines[line]].tobytes()
        self.faults.append(RowError(line, at - begin + 1, reason, row))
        self.fine[line] = False

    def quote(self, begin: int, end: int) -> str:
        """Return a part of the text for an error message."""
        return quote(self.text[begin:end].tobytes())

    def check(self) -> None:
        """Find lines with a NUL byte, without a TAB, or with a label that is empty or too long."""
        zeros = np.flatnonzero(self.text == 0)
        lines, first = np.unique(np.searchsorted(self.newlines, zeros), return_index=True)
        for line, at in zip(lines.tolist(), zeros[first].tolist(), strict=True):
            self.blame(line, at, "there is a NUL byte: this is no text")
        sizes = self.tabs - self.begins
        odd = self.fine & ((self.tabs == self.ends) | (sizes == 0) | (sizes > LONGEST_LABEL))
        for line in np.flatnonzero(odd).tolist():
            begin, tab, end = (int(where[line]) for where in (self.begins, self.tabs, self.ends))
            if tab < end:
                long = f"the label {self.quote(begin, tab)} has more than {LONGEST_LABEL} bytes"
                self.blame(line, begin, EMPTY if tab == begin else long)
            elif self.text[begin:end].tobytes().isspace():
                self.fine[line] = False
            else:
                self.blame(
                    line,
                    begin,
                    f"{self.quote(begin, end)} has no TAB: a row is label<TAB>text; format= names another format",
                )

    def labels(self) -> Array:
        """Return the labels of the lines that are fine; finds those that are not UTF-8 or only white space."""
        seen, rows = Vocabulary(), np.flatnonzero(self.fine)
        numbers = seen.number(self.text, self.begins[rows], self.tabs[rows])
        letters, marks = seen.spelling
        whole, words = letters.tobytes(), []
        wrong: dict[int, tuple[int, str]] = {}
        for number, (begin, end) in enumerate(pairwise(marks.tolist())):
            try:
                words.append(whole[begin:end].decode())
                if words[-1].isspace():
                    wrong[number] = 0, EMPTY
            except UnicodeDecodeError as error:
                words.append("")
                wrong[number] = error.start, NOT_UTF8.format(quote(whole[begin + error.start : end][:4]))
        lost = np.isin(numbers, list(wrong))
        for line, number in zip(rows[lost].tolist(), numbers[lost].tolist(), strict=True):
            place, reason = wrong[number]
            self.blame(line, int(self.begins[line]) + place, reason)
        return np.array(words, np.str_)[numbers[~lost]]


def parse(text: Array, how: Grams, dtype: Any = np.float64, *, named: bool = False) -> Rows:
    r"""Read a block of whole lines, the last of which ends with a newline.

    Parameters
    ----------
    text : array of bytes
    how : Grams
        The n-grams of a text that count, and their values.
    dtype : float64 or float32
        The type of the values.
    named : bool, default=False
        If True, n-grams are not hashed but numbered in the order in which they are first seen in this block; `names`
        spells them.

    >>> rows = parse(np.frombuffer(b"spam\tfree, free money\nham\tfree\n", np.uint8), Grams(unit=False), named=True)
    >>> rows.labels, rows.indices, rows.values, rows.indptr
    (array(['spam', 'ham'], dtype='<U4'), array([0, 1, 0], dtype=int32), array([2., 1., 1.]), array([0, 2, 3]))
    """
    lines = _Lines(text)
    lines.check()
    labels = lines.labels()
    places = np.flatnonzero(lines.fine)
    begins, ends = lines.tabs[places] + 1, lines.ends[places]
    seen = Vocabulary() if named else None
    if seen is not None:
        counts, _ = count_text(text, begins, ends, how, seen, dtype=dtype)
    else:
        counts = hash_text(text, begins, ends, how, dtype)
    lost = np.flatnonzero(counts.faults >= 0)
    for row in lost.tolist():
        at = int(begins[row] + counts.faults[row])
        lines.blame(int(places[row]), at, NOT_UTF8.format(lines.quote(at, min(at + 4, int(ends[row])))))
    names = None if seen is None else seen.spelling
    rows = Rows(
        labels, counts.indptr, counts.indices, counts.values, places, len(lines.newlines), sorted(lines.faults),
        names=names,
    )  # fmt: skip
    return rows.without(lost) if len(lost) else rows


@dataclass
class LabelledText(NamedFormat):
    """Lines of `label<TAB>text`.

    Parameters
    ----------
    n_features : int, default=2**20
        The columns that n-grams are hashed to.
    vocabulary : bool, default=False
        If True, n-grams get columns of their own instead, in the order in which they are first seen.
    keep_names : bool, default=False
        If True, keep the hashed n-grams, so that `feature_names` can name each column.
    idf : bool, default=False
        If True, counts are multiplied with ln((1 + rows) / (1 + rows with the n-gram)) + 1.
    ngram_range, analyzer, binary, norm, alternate_sign, lowercase
        As in TextHasher. Where rows are read like others, their length is that of what those had, too.
    """

    name: ClassVar[str] = "text"
    default_features: ClassVar[int] = 1 << 20
    labels_optional: ClassVar[bool] = False
    """Set to True on a format that reads rows to predict: a line without a TAB is then a text without a label."""

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
        """Return whether columns and weights are known."""
        return super().settled and (self.looked or not self.idf)

    def read_once(self) -> None:
        """Let a vocabulary grow; weights that need all rows can't be had."""
        if self.idf and self.known is None:
            raise ParameterError("idf=True takes two passes: write the text to a file first")
        super().read_once()

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        text = add_labels(text) if self.labels_optional else text
        rows = parse(text, self._grams(), dtype, named=self.vocabulary or self.keeps)
        return self._hash(rows) if self.keeps else rows

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
        return self._weigh(replace(rows, values=rows.values.copy())) if self.looked or not self.idf else None

    def finish(self, rows: Rows) -> Rows:
        """Weigh the counts, and give rows the length 1."""
        return self._weigh(super().finish(rows))

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
        """Return whether entries change after parsing, so that rows are normalised at the end."""
        return self.idf or self.vocabulary or self.keep_names or self.known is not None

    def _grams(self) -> Grams:
        """Return which n-grams count, and how."""
        grams = grams_of(self, self.n_features or 1, self.alternate_sign and not self.vocabulary)
        return grams._replace(unit=grams.unit and not self._changing)

    def _weigh(self, rows: Rows) -> Rows:
        """Weigh the counts in place, and give rows the length 1."""
        assert rows.indptr is not None
        assert rows.indices is not None
        if self.idf:
            self.frequencies.weigh(rows.indptr, rows.indices, rows.values, self.norm is not None)
        elif self._changing and self.norm is not None:
            to_unit(rows.indptr, rows.values)
        return rows

    def _hash(self, rows: Rows) -> Rows:
        """Hash n-grams that have names to the columns and values that they have without."""
        assert self.n_features is not None
        assert rows.names is not None
        own = Vocabulary()
        own.take(rows.names)
        numbers, signs = own.hashed_columns(self.n_features)
        columns = numbers.astype(np.int32)
        hashed = rows.renumber(columns, signs.astype(rows.values.dtype) if self.alternate_sign else None)
        if self.binary:
            hashed.values[:] = 1
        return replace(hashed, names=rows.names, name_columns=columns)
