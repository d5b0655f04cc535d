"""The one table of formats: how each is called, how it looks, and who reads it."""

import re
from collections.abc import Callable, Container
from dataclasses import fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Literal, NamedTuple

from linsep.data.errors import DataError, is_one_of, quote
from linsep.data.format import Format
from linsep.data.sources import HEAD, Source, suffix_of
from linsep.validation.errors import ParameterError

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SVMLIGHT = re.compile(rb"[ \t]*" + NUMBER + rb"(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:" + NUMBER + rb")*[ \t\r]*(?:#.*)?")
VW = re.compile(rb" *(?:" + NUMBER + rb" +){0,3}(?:'[^\s|]* *|[\w./-]+)?\|")
ENTRY, LABEL = re.compile(rb"\S+[ \t]+\d+:"), re.compile(rb"[ \t]*" + NUMBER + rb"(?:\s|$)")
COMMON = ("format", "dtype", "like", "strict", "on_error", "quarantine", "n_jobs", "progress", "block_bytes")
STREAMS = ("block_rows", "cache", "once")
"""Options of all formats, and those of streams."""
PLAIN_TEXT = ".txt"
"""The end of names that does not determine the format."""
LINES = 20
"""Lines that are read to detect a format."""


FormatName = Literal["svmlight", "vw", "text", "csv", "tsv", "parquet", "arrow", "table", "binary"]
"""The names of the formats, for type checkers."""


class FormatEntry(NamedTuple):
    """A format: the class that reads it, the ends of its files' names, and their first bytes if these identify it."""

    form: str
    suffixes: tuple[str, ...]
    begins: tuple[bytes, ...] = ()


FORMATS = {
    "svmlight": FormatEntry("svmlight:Svmlight", (".svm", ".svmlight", ".libsvm")),
    "vw": FormatEntry("vw:Vw", (".vw",)),
    "text": FormatEntry("text.format:LabelledText", (".txt",)),
    "csv": FormatEntry("tables.format:Csv", (".csv",)),
    "tsv": FormatEntry("tables.format:Tsv", (".tsv",)),
    "parquet": FormatEntry("tables.format:Parquet", (".parquet", ".pq"), (b"PAR1",)),
    "arrow": FormatEntry(
        "tables.format:Arrow", (".arrow", ".feather", ".ipc"), (b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
    ),
    "table": FormatEntry("tables.format:InMemory", ()),
    "binary": FormatEntry("npz.format:NpzFormat", (".npz",), (b"PK\x03\x04",)),
}
LOOKS: list[tuple[str, Callable[[bytes], Any]]] = [
    ("svmlight", SVMLIGHT.fullmatch),
    ("vw", VW.match),
    ("svmlight", ENTRY.match),
    ("tsv", lambda line: line.count(b"\t") > 1),
    ("text", lambda line: b"\t" in line),
    ("csv", lambda line: b"," in line),
    ("svmlight", LABEL.match),
]
"""Patterns of the lines of each format, from the strictest to the vaguest."""


def format_class(name: str) -> type[Format]:
    """Return the format that reads a format."""
    module, form = FORMATS[name].form.split(":")
    return getattr(import_module(f"linsep.data.{module}"), form)


def detected_format(source: Source) -> str:
    """Return the format of a source, by its first bytes, its name, or else its first lines."""
    if source.table:
        return "table"
    head = source.head()
    suffix = suffix_of(source.name)
    for name, format in FORMATS.items():
        if head.startswith(format.begins or (b"\0no",)):
            return name
    for name, format in FORMATS.items():
        if suffix in format.suffixes and suffix != PLAIN_TEXT:
            return name
    lines = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if len(head) == HEAD:
        lines = lines[:-1] or lines  # the last line is cut off
    if suffix == PLAIN_TEXT:
        return _format_of_text(lines[:LINES])
    if not lines:
        return "svmlight"
    for name, looks in LOOKS:
        if any(map(looks, lines[:LINES])):
            return name
    names = ", ".join(FORMATS)
    raise DataError(
        source.name, f"it begins with {quote(lines[0])}, like no known format: pass format=, one of {names}"
    )


def _format_of_text(lines: list[bytes]) -> str:
    r"""Return the format of a file whose name ends in .txt: svmlight or Vowpal Wabbit if all lines look so, else text.

    >>> _format_of_text([b"1 3:0.5", b"-1 2:1"]), _format_of_text([b"1 |a x"]), _format_of_text([b"1\t10:30 meeting"])
    ('svmlight', 'vw', 'text')
    """
    if not lines:
        return "text"
    return "svmlight" if all(map(SVMLIGHT.fullmatch, lines)) else "vw" if all(map(VW.match, lines)) else "text"


def format_of(sources: list[Source], format: str | None) -> str:
    """Return the format of some sources: the one that was stated, or that of the first."""
    name = detected_format(sources[0]) if format is None else format
    if not is_one_of(name, FORMATS):
        raise ParameterError(f"format={name!r}: it is one of {', '.join(FORMATS)}")
    return name


def format_for(sources: list[Source], format: str | None, options: dict[str, Any]) -> Format:
    """Return the format that reads these sources, with the options it was given."""
    name = format_of(sources, format)
    form = format_class(name)
    if sources[0].table and not FORMATS[name].form.startswith("tables"):
        raise DataError(sources[0].name, f"it is a table in memory, and not {name}: leave out format=")
    for option in options:
        if option not in options_of(form):
            raise NoOptionError(option, name, options_of(form))
    return form(**options)


def options_of(form: type[Format]) -> list[str]:
    """Return the options that a form takes."""
    return [field.name for field in fields(form) if field.init]


class NoOptionError(ParameterError):
    """An option that does not exist for data of some format."""

    def __init__(self, option: str, name: str, own: list[str]) -> None:
        self.option, self.name, self.own = option, name, own
        super().__init__(self.text())

    def text(self, without: Container[str] = ()) -> str:
        """Return the reason and the options that exist, but for some that can't be given here."""
        if self.option in STREAMS:
            return f"{self.option}= is an option of linsep.stream"
        common = [name for name in COMMON if name not in without]
        close = get_close_matches(self.option, [*self.own, *common], 1)
        others = f": these have {', '.join(self.own)}, and {', '.join(common)}"
        others = f"; did you mean {close[0]}=?" if close else others
        return f"{self.option}= is no option of {self.name} data{others}"
