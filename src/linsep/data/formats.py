"""The one table of formats: how each is called, how it looks, and who reads it."""

import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import PurePath
from typing import Any, NamedTuple

from linsep.data.errors import DataError, shown
from linsep.data.form import Form
from linsep.data.sources import Source

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SVMLIGHT = re.compile(rb"[ \t]*" + NUMBER + rb"(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:" + NUMBER + rb")*[ \t\r]*(?:#.*)?")
LIKE_SVMLIGHT = re.compile(rb"[ \t]*" + NUMBER + rb"(?:\s|$)|\S+[ \t]+\d+:")
LINES = 20
"""Lines that are looked at to tell a format."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zstd")


class Format(NamedTuple):
    """A format: the form that reads it, and how its files are called."""

    form: str
    suffixes: tuple[str, ...]


FORMATS = {
    "svmlight": Format("svmlight:Svmlight", (".svm", ".svmlight", ".libsvm")),
}
LOOKS: list[tuple[str, Callable[[bytes], Any]]] = [
    ("svmlight", SVMLIGHT.fullmatch),
    ("svmlight", LIKE_SVMLIGHT.match),
]
"""How a line of each format looks, from the strictest to the vaguest."""


def _form(path: str) -> type[Form]:
    module, name = path.split(":")
    return getattr(import_module(f"linsep.data.{module}"), name)


def found(source: Source) -> str:
    """Return the format of a source, by its name or else by its first lines."""
    suffixes = [suffix.lower() for suffix in PurePath(source.name).suffixes]
    while suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    for name, format in FORMATS.items():
        if suffixes and suffixes[-1] in format.suffixes:
            return name
    lines = [line for line in source.head().splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines:
        return "svmlight"
    for name, looks in LOOKS:
        if any(map(looks, lines[:LINES])):
            return name
    names = ", ".join(FORMATS)
    raise DataError(source.name, f"it begins with {shown(lines[0])}, like no known format: say format=, one of {names}")


def form_of(sources: list[Source], format: str | None, options: dict[str, Any]) -> Form:
    """Return the form that reads these sources, with the options it was given."""
    name = format or found(sources[0])
    if name not in FORMATS:
        raise ValueError(f"format={name!r}: it is one of {', '.join(FORMATS)}")
    form = _form(FORMATS[name].form)
    known = [field.name for field in fields(form) if field.init]
    for option in options:
        if option not in known:
            raise ValueError(f"{option}= is no option of {name} data; these have {', '.join(known)}")
    return form(**options)
