"""Vowpal Wabbit text: `[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |other ...`, by rows.

Everything before the first bar may be missing: a row without a label is there to be predicted. A tag is a word that
begins with a quote or touches the bar (so `1|a x` has the tag 1 and no label, as in Vowpal Wabbit). Tags are left out,
a base is checked and left out. A blank after a bar means the default namespace. Values are 1 where none is written, and
are multiplied with the scale of their namespace; those of one column are added up, those of 0 left out. Columns are
those of Vowpal Wabbit, but that no constant is added: learners have an intercept.

Features without a name (`:0.5`) are numbered in their namespace, and a word as a value (`colour:red`) is a part of the
name: columns and values are Vowpal Wabbit's. Labels are words with `named_labels`, as with its `--named_labels`.

Rows that Vowpal Wabbit makes something of, though hardly what was meant, are malformed here: a tab before the first bar
(it passes over all up to the tab), no bar (it takes the last word for a tag), words before the bar that are not numbers
(it takes 0), a value that begins as a number and is none, or is not finite (it takes what it can read), an empty value,
a second colon, an importance below 0, and control bytes other than tabs. Blank lines are no rows.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linsep.data.compiled.names import hash_of, table_for
from linsep.data.compiled.numbers import exactly, fives
from linsep.data.compiled.vw import (
    ENOUGH,
    ENTRIES,
    FAULTS,
    HARDS,
    HASHED,
    MORE_NAMES,
    MOST_BITS,
    MOST_DIGITS,
    MOST_FAULTS,
    MOST_HARD,
    NAMED,
    NAMES,
    NO_BAR,
    NUMBERED,
    REASONS,
    ROOM,
    ROWS,
    SLOTTED,
    TOO_MANY,
    most_in,
    read_rows,
)
from linsep.data.errors import RowError, quote
from linsep.data.format import flag
from linsep.data.names import HashedNames, NamedFormat, VocabularyNames
from linsep.data.rows import Rows, ScratchArena, Spelling
from linsep.engine.arrays import Array
from linsep.validation.errors import ParameterError

arena = ScratchArena()
LABEL_WORD = re.compile(rb" *(?!')([^\x00-\x20|]+)(?=[ \t][^|]*\|)")
"""The label of a row with named labels: the first word before the bar, unless it touches the bar or has a quote."""
NO_LABEL = "there is no label before the first |, and named_labels=True reads words as labels: write one"


def _caret_name(name: str) -> str:
    """Return `namespace^feature`, as Vowpal Wabbit prints it, for `namespace|feature`."""
    return name.replace("|", "^")


class _Hashed(HashedNames):
    """The names of hashed features."""

    def of(self, column: int) -> list[str]:
        """Return the names of a column, in the order in which they were seen."""
        return [_caret_name(name) for name in super().of(column)]


class _Numbered(VocabularyNames):
    """The names of numbered features."""

    def name(self, column: int) -> str:
        """Return the name of a feature."""
        return _caret_name(super().name(column))


@dataclass
class Vw(NamedFormat):
    """Vowpal Wabbit text.

    Parameters
    ----------
    n_features : int, default=2**18
        The number of columns that names are hashed to, a power of two: 2 ** b, for the b of Vowpal Wabbit's `-b`.
    vocabulary : bool, default=False
        If True, names get columns of their own instead, numbered in the order in which they first occur.
    keep_names : bool, default=False
        If True, keep the hashed names, so that `feature_names` can name each column.
    named_labels : bool, default=False
        If True, labels are words: the first of a row that is not its tag, as it is written. They need no list.
    """

    named_labels: bool = False
    labels_optional: ClassVar[bool] = False
    """Set to True on a format that reads rows to predict: a row may then have no word as its label."""
    name: ClassVar[str] = "vw"
    default_features: ClassVar[int] = 1 << 18
    least_features: ClassVar[int] = 2
    hashed_names: ClassVar[type[HashedNames]] = _Hashed
    numbered_names: ClassVar[type[VocabularyNames]] = _Numbered

    def __post_init__(self) -> None:
        super().__post_init__()
        self.named_labels = flag("named_labels", self.named_labels)
        n = self.n_features
        if n is not None and (n & (n - 1) or n > 1 << MOST_BITS):
            raise ParameterError(f"n_features={n}: names are hashed to a power of two columns, 2**{MOST_BITS} at most")

    def parse(self, text: Array, dtype: Any) -> Rows:
        """Read a block of whole lines."""
        words = _label_words(text) if self.named_labels else None
        if self.n_features is None:
            rows = parse(text, dtype, mode=NUMBERED, words=words)
        else:
            rows = parse(text, dtype, self.n_features.bit_length() - 1, NAMED if self.keeps else HASHED, words)
        return rows if words is None or self.labels_optional else _without_unlabelled(rows, text)


class _LabelWords(NamedTuple):
    """The words of the labels, and the text with zeros in their place."""

    words: list[str]
    """One for each line; empty where there is none."""
    text: Array


def _label_words(text: Array) -> _LabelWords:
    r"""Return the label of each line as a word.

    >>> words, masked = _label_words(np.frombuffer(b"ham 2 |a x\n'tag|a x\nham|a x\n", np.uint8))
    >>> words, masked.tobytes()
    (['ham', '', ''], b"000 2 |a x\n'tag|a x\nham|a x\n")
    """
    masked, words, begin = text.copy(), [], 0
    for line in text.tobytes().split(b"\n")[:-1]:
        found = LABEL_WORD.match(line)
        words.append("")
        if found is not None:
            with suppress(UnicodeDecodeError):  # other bytes stay in the text, where they are no label
                words[-1] = found[1].decode()
                masked[begin + found.start(1) : begin + found.end(1)] = ord("0")
        begin += len(line) + 1
    return _LabelWords(words, masked)


def _without_unlabelled(rows: Rows, text: Array) -> Rows:
    """Return the rows that have a word as their label; the others are at fault."""
    missing = np.flatnonzero(rows.labels == "")
    if not len(missing):
        return rows
    lines = text.tobytes().split(b"\n")
    faults = [RowError(int(k), 1, NO_LABEL, lines[k]) for k in rows.places[missing].tolist()]
    return replace(rows.without(missing), faults=sorted([*rows.faults, *faults], key=lambda fault: fault.line))


def parse(
    text: Array, dtype: Any = np.float64, bits: int = 18, mode: int = HASHED, words: _LabelWords | None = None
) -> Rows:  # fmt: skip
    r"""Read a block of whole lines, the last of which ends with a newline.

    Each value is the number of type `dtype` nearest to the text, then multiplied with the scale of its namespace and
    added to others of its column. Values of 0 are left out.

    >>> rows = parse(np.frombuffer(b"1 2.5 'first| 7:0.5 3 3\n|a:2 x\n", np.uint8))
    >>> rows.labels, rows.weights, rows.indptr
    (array([ 1., nan]), array([2.5, 1. ]), array([0, 2, 3]))
    >>> rows.indices.tolist(), rows.values.tolist()
    ([3, 7, 55432], [2.0, 0.5, 2.0])
    """
    written, text = text, text.view() if words is None else words.text
    text.flags.writeable = False  # the reader is compiled once, for texts that can't be written to
    most_rows, most_entries = most_in(text)
    labels, importances, places = np.empty(most_rows + 1), np.empty(most_rows + 1), np.empty(most_rows, np.int64)
    indptr = np.zeros(most_rows + 1, np.int64)
    indices, values = arena.reserve(most_entries, np.int32, dtype)
    rows = (labels, importances, places, indptr, indices, values)
    faulty, hard = np.empty((MOST_FAULTS, 5), np.int64), np.empty((MOST_HARD, 3), np.int64)
    known, counts = np.empty((0, 2)), np.zeros(MORE_NAMES + 1, np.int64)
    counts[ROOM] = ENOUGH
    names = table_for(1, 1) if mode == HASHED else table_for(len(text) // 32 + 1, len(text) // 4 + 1)
    faults: list[RowError] = []
    begin = 0
    while begin < len(text):
        room = counts[ROOM]
        scratch = np.empty(2 * room, np.uint64), np.empty(room, dtype), np.empty(MOST_DIGITS, np.uint64)
        if counts[MORE_NAMES]:
            names = table_for(4 * len(names.hashes), 4 * len(names.letters), names)
            counts[MORE_NAMES] = counts[SLOTTED] = 0
        begin = int(read_rows(text, begin, bits, mode, *rows, faulty, fives(), known, hard, counts, *scratch, *names))
        faults += [_fault(written, *line) for line in faulty[: counts[FAULTS]].tolist()]
        counts[FAULTS] = 0
        read = [
            (at, exactly(bytes(text.data[at:end]), np.float64 if size == 8 else np.float32))
            for at, end, size in hard[: counts[HARDS]].tolist()
        ]
        known = np.concatenate([known[known[:, 0] >= begin], np.array(read).reshape(-1, 2)])
    n, m, named = int(counts[ROWS]), int(counts[ENTRIES]), int(counts[NAMES])
    weights = None if np.all(importances[:n] == 1) else importances[:n]
    spelling = Spelling(names.letters[: names.marks[named]].copy(), names.marks[: named + 1].copy())
    if words is not None:
        labels = np.array(words.words, str)[places[:n]]
    return Rows(
        labels[:n], indptr[: n + 1], *arena.keep(m), places[:n], most_rows, faults, weights,
        names=None if mode == HASHED else spelling,
        name_columns=names.hashes[:named].astype(np.int64) & ((1 << bits) - 1) if mode == NAMED else None,
    )  # fmt: skip


def _fault(text: Array, number: int, row: int, end: int, at: int, reason: int) -> RowError:
    """Return the error of a fault at text[at], in the line text[row:end] of this number."""
    line = text[row : end - 1].tobytes()
    if reason <= TOO_MANY and b"|" not in line:
        reason = NO_BAR
    rest = line[at - row :]
    word = b"" if rest[:1].isspace() else rest.replace(b"|", b" ").strip().split(b" ")[0]
    return RowError(number, at - row + 1, REASONS[reason].format(quote(word)), line)


def _hash_of(name: bytes, seed: int) -> int:
    """Return the hash of a name, of which the last 32 bits count."""
    return int(name[-32:]) + seed if name.isdigit() else hash_of(name, seed & 0xFFFFFFFF)


def column_of(feature: str, namespace: str = "", n_features: int = 1 << 18) -> int:
    """Return the column of a feature; no namespace means the default one.

    >>> column_of("7"), column_of("x", "a")
    (7, 55432)
    """
    seed = _hash_of(namespace.encode(), 0) if namespace else 0
    return _hash_of(feature.encode(), seed) & (n_features - 1)
