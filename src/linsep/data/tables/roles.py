"""What the columns of a table are for: numbers, words, documents, labels or weights."""

from typing import Any, NamedTuple

from linsep.data.errors import DataError
from linsep.data.tables.columns import NUMBER, TRUTH, WORDS, Schema

LABELS = ("label", "target", "y", "class")
"""What a column of labels is called, if nobody says."""
MOST_LISTED = 30
"""Columns that an error lists."""
SEPARATORS = (";", "\t", "|", ",")
"""What may separate the fields of a text, if nobody says."""


class Found(NamedTuple):
    """The columns of a table, by name: what each is for."""

    numbers: list[str]
    words: list[str]
    label: str | None
    label_kind: str
    weight: str | None


def roles(file: str, schema: Schema, said: Any) -> Found:
    """Return what the columns of a file are for, by the options of a table and by what the columns hold.

    >>> from types import SimpleNamespace
    >>> said = SimpleNamespace(label="", weight=None, columns=None, ignore=["id"], words=[], text=None)
    >>> kinds = {"age": "number", "city": "words", "y": "number"}
    >>> schema = SimpleNamespace(names=["id", "age", "city", "y"], kinds=lambda names: {k: kinds[k] for k in names})
    >>> roles("t.csv", schema, said)
    Found(numbers=['age'], words=['city'], label='y', label_kind='number', weight=None)
    """
    names = schema.names
    label = _named(said.label, file, names) if said.label != "" else _label_among(file, names)
    weight = _named(said.weight, file, names)
    if said.text is not None:
        _check_name(said.text, file, names)
        if said.text in (label, weight, *said.ignore, *said.words):
            raise DataError(
                file, f"text={said.text!r}: it is the column of labels, of weights, or one of ignore, words"
            )
    left_out = {label, weight, said.text, *said.ignore}
    chosen = [name for name in said.columns or names if name not in left_out]
    if not chosen and said.text is None:
        raise DataError(file, f"no column is left to learn from; {_told(names)}")
    if "" in chosen:
        number = names.index("") + 1
        raise DataError(file, f"column {number} has no name: give it one, or leave it out with ignore=['']")
    asked = [*chosen, label] if label is not None else chosen
    holds = schema.kinds(asked) if asked else {}
    plain = {name for name, kind in holds.items() if kind == NUMBER} - set(said.words)
    numbers, words = [name for name in chosen if name in plain], [name for name in chosen if name not in plain]
    truth = label is not None and holds[label] == TRUTH and label not in said.words
    kind = NUMBER if label is None or label in plain else TRUTH if truth else WORDS
    return Found(numbers, words, label, kind, weight)


def resolved(columns: list[Any], file: str, names: list[str]) -> list[str]:
    """Return the names of columns that are given by their names or numbers, each once.

    >>> resolved([-1, "age", 0], "t.csv", ["age", "city", "y"])
    ['y', 'age']
    """
    return list(dict.fromkeys(str(_named(column, file, names)) for column in columns))


def listed(names: list[str]) -> str:
    """Return which columns there are, for an error message."""
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    return f"the columns are {', '.join(map(repr, names[:MOST_LISTED]))}{more}"


def _told(names: list[str]) -> str:
    """Return which columns there are, and how there might be more."""
    separators = [mark for mark in SEPARATORS if len(names) == 1 and mark in names[0]]
    return listed(names) + (f": say delimiter={separators[0]!r} if that separates them" if separators else "")


def _check_name(name: str, file: str, names: list[str]) -> None:
    if name not in names:
        raise DataError(file, f"there is no column {name!r}; {_told(names)}")


def _named(column: str | int | None, file: str, names: list[str]) -> str | None:
    """Return the name of a column that is given by its name or number."""
    if column is None:
        return None
    if isinstance(column, int):
        if not -len(names) <= column < len(names):
            raise DataError(file, f"there is no column number {column}; {_told(names)}")
        return names[column]
    _check_name(column, file, names)
    return column


def _label_among(file: str, names: list[str]) -> str:
    """Return the one column that is called as labels are."""
    found = [name for name in names if name.lower() in LABELS]
    if len(found) != 1:
        many = f"{', '.join(map(repr, found))} might all be" if found else "none is called like"
        raise DataError(
            file, f"which column holds the labels? {many} one; say label=..., or label=None if there are none; "
            + _told(names)
        )  # fmt: skip
    return found[0]
