"""Assign the columns of a table to numbers, words, documents, labels or weights."""

from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from linsep.data.errors import DataError
from linsep.data.text.ngrams import Grams

NUMBER, WORDS, TRUTH = "number", "words", "truth"
"""Kinds of columns. TRUTH is a boolean type: words, except for labels."""
FIRST = "read the first data with "
"""The cure for data that are read like others, which have no options of their own."""
LABELS = ("label", "target", "y", "class")
"""Default names of a column of labels."""
MOST_LISTED = 30
"""Columns that an error lists."""
SEPARATORS = (";", "\t", "|", ",")
"""Separators that an error message proposes."""


class Documents(NamedTuple):
    """The column of documents, its n-grams, and whether the names of hashed n-grams are kept."""

    column: str
    grams: Grams
    kept: bool = False
    numbered: bool = False
    """True if n-grams are not hashed, but numbered in the order in which they are first seen."""


class ColumnPlan(NamedTuple):
    """The columns of numbers, words, labels, weights and documents, and the treatment of missing cells."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    label: str | None
    label_kind: str
    weight: str | None
    missing: str
    documents: Documents | None = None
    fixed: bool = False
    """True if n-grams are read into the columns of earlier data."""

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        text = None if self.documents is None else self.documents.column
        more = [name for name in (text, self.label, self.weight) if name is not None]
        return list(dict.fromkeys([*self.numbers, *self.words, *more]))


class Schema(Protocol):
    """Properties of a file's columns that are known before its rows are read."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def kinds(self, names: list[str]) -> dict[str, str | None]:
        """Return what columns hold: numbers, words, truth, or None for any other type."""


class Roles(NamedTuple):
    """The columns of a table, by name: what each is for."""

    numbers: list[str]
    words: list[str]
    label: str | None
    label_kind: str
    weight: str | None


def choose_roles(file: str, schema: Schema, options: Any) -> Roles:
    """Return what the columns of a file are for, by the options of a table and by what the columns hold.

    >>> from types import SimpleNamespace
    >>> options = SimpleNamespace(label="", weight=None, columns=None, ignore=["id"], words=[], text=None)
    >>> kinds = {"age": "number", "city": "words", "y": "number"}
    >>> schema = SimpleNamespace(names=["id", "age", "city", "y"], kinds=lambda names: {k: kinds[k] for k in names})
    >>> choose_roles("t.csv", schema, options)
    Roles(numbers=['age'], words=['city'], label='y', label_kind='number', weight=None)
    """
    names = schema.names
    label = _column_name(options.label, file, names) if options.label != "" else _label_among(file, names)
    weight = _column_name(options.weight, file, names)
    if options.text is not None:
        _check_name(options.text, file, names)
        if options.text in (label, weight, *options.ignore, *options.words):
            raise DataError(
                file, f"text={options.text!r}: it is the column of labels, of weights, or one of ignore, words"
            )
    left_out = {label, weight, options.text, *options.ignore}
    chosen = [name for name in options.columns or names if name not in left_out]
    if not chosen and options.text is None:
        raise DataError(file, f"no column is left to learn from; {_columns_and_cure(names)}")
    if "" in chosen:
        number = names.index("") + 1
        raise DataError(file, f"column {number} has no name: give it one, or leave it out with ignore=['']")
    asked = [*chosen, label] if label is not None else chosen
    holds = schema.kinds(asked) if asked else {}
    plain = {name for name, kind in holds.items() if kind == NUMBER} - set(options.words)
    numbers, words = [name for name in chosen if name in plain], [name for name in chosen if name not in plain]
    truth = label is not None and holds[label] == TRUTH and label not in options.words
    kind = NUMBER if label is None or label in plain else TRUTH if truth else WORDS
    return Roles(numbers, words, label, kind, weight)


def resolve_columns(columns: list[Any], file: str, names: list[str]) -> list[str]:
    """Return the names of columns that are given by their names or numbers, each once.

    >>> resolve_columns([-1, "age", 0], "t.csv", ["age", "city", "y"])
    ['y', 'age']
    """
    return list(dict.fromkeys(str(_column_name(column, file, names)) for column in columns))


def list_columns(names: list[str]) -> str:
    """Return which columns there are, for an error message."""
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    return f"the columns are {', '.join(map(repr, names[:MOST_LISTED]))}{more}"


def _columns_and_cure(names: list[str]) -> str:
    """Return which columns there are, and how there might be more."""
    separators = [mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]]
    return list_columns(names) + (f": pass delimiter={separators[0]!r} if that separates them" if separators else "")


def _check_name(name: str, file: str, names: list[str]) -> None:
    if name not in names:
        raise DataError(file, f"there is no column {name!r}; {_columns_and_cure(names)}")


def _column_name(column: str | int | None, file: str, names: list[str]) -> str | None:
    """Return the name of a column that is given by its name or number."""
    if column is None:
        return None
    if isinstance(column, int):
        if not -len(names) <= column < len(names):
            raise DataError(file, f"there is no column number {column}; {_columns_and_cure(names)}")
        return names[column]
    _check_name(column, file, names)
    return column


def _label_among(file: str, names: list[str]) -> str:
    """Return the one column that is called as labels are."""
    found = [name for name in names if name.lower() in LABELS]
    if len(found) != 1:
        many = f"{', '.join(map(repr, found))} might all be" if found else "none is called like"
        raise DataError(
            file, f"which column holds the labels? {many} one; pass label=..., or label=None if there are none; "
            + _columns_and_cure(names)
        )  # fmt: skip
    return found[0]


def kind_of(kind: Any) -> str | None:
    """Return what a column of an Arrow type holds; None for types that are neither numbers nor words.

    >>> kind_of(pa.int8()), kind_of(pa.string()), kind_of(pa.bool_()), kind_of(pa.date32())
    ('number', 'words', 'truth', None)
    """
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_dictionary(kind):
        within = kind_of(kind.value_type)
        return WORDS if within == NUMBER else within
    return WORDS if is_text(kind) else None


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
