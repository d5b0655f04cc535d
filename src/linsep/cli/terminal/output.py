"""Output of the commands: results on stdout, progress on stderr and only on a terminal."""

import os
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import rich.text
from rich.console import Console, ConsoleDimensions
from rich.measure import Measurement
from rich.style import Style
from rich.table import Table

from linsep.cli.errors import leave_quietly
from linsep.cli.terminal.text import LEAST, UNPRINTABLE, escape, word
from linsep.engine.atomic_write import naming

USUAL, LINE = 80, 10_000
"""Columns, if the terminal does not report them; and more than any table has."""


class Text(rich.text.Text):
    r"""Text with a style, its control characters escaped before it is measured and laid out.

    >>> Text.assemble(("a\x1bb", "bold"), "\x07").plain
    'a\\x1bb\\x07'
    """

    def __init__(self, text: str = "", style: str | Style = "", **more: Any) -> None:
        super().__init__(escape(text), style, **more)

    def append(self, text: "rich.text.Text | str", style: str | Style | None = None) -> Self:
        """Add a text."""
        super().append(escape(text) if isinstance(text, str) else text, style)
        return self


class Terminal(Console):
    """A console that shows text as it is, control characters escaped, laid out for LEAST columns or more."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, emoji=False, markup=False)

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, and name the output where it can't be written; what stderr can't take is dropped before."""
        with naming("standard output"):
            super().print(*objects, **how)

    @property  # type: ignore[misc]
    def size(self) -> ConsoleDimensions:
        """The columns and lines of the terminal; NO_COLOR and COLUMNS are kept."""
        width, height = super().size
        return ConsoleDimensions(max(width or USUAL, LEAST), height)

    def render_str(self, text: str, **how: Any) -> rich.text.Text:
        """Return what is shown of a string."""
        return super().render_str(escape(text), **how)

    def on_broken_pipe(self) -> NoReturn:
        """End without a word, as the reader of the results is gone; stderr itself drops what nobody reads."""
        leave_quietly()


def stdout() -> Console:
    """Return the console for results."""
    return Terminal()


def stderr() -> Console:
    """Return the console for progress and remarks."""
    return Terminal(stderr=True)


def print_json(result: Any) -> None:
    r"""Print one JSON object, numbers of numpy among them; what is not a finite number is null.

    >>> import numpy as np
    >>> print_json({"error": np.float64(0.25), "counts": np.arange(3), "brier": float("nan")})
    {"error": 0.25, "counts": [0, 1, 2], "brier": null}
    >>> print_json("\x9b")
    "\u009b"
    """
    import json

    import typer

    text = json.dumps(plain(result), allow_nan=False, ensure_ascii=False)
    with naming("standard output"):
        typer.echo(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # they only occur within strings


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    >>> plain({1: (float("inf"), "a"), "b": None})
    {'1': [None, 'a'], 'b': None}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(item) for name, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def table(*columns: str | Text, pad: bool = False) -> Table:
    """Return a table of the usual style; a column whose name is a string that begins with `>` is aligned to the right.

    >>> [column.justify for column in table("learner", ">error").columns]
    ['left', 'right']
    """
    from rich import box

    room = (0, 1) if pad else (0, 1, 0, 0)
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="bold", pad_edge=pad, padding=room)
    for name in columns:
        right = isinstance(name, str) and name.startswith(">")
        made.add_column(name[1:] if right else name, justify="right" if right else "left", no_wrap=True)
    return made


def is_unlimited(console: Console) -> bool:
    """Return whether lines may have any width: in a pipe or a file, unless COLUMNS is set."""
    return not console.is_terminal and "COLUMNS" not in os.environ


def print_table(console: Console, made: Table, *spare: str) -> None:
    """Print a table with whole cells: in a pipe as wide as they are, unless COLUMNS is set.

    On a terminal, the spare columns are left out, the first first, until the rest fits; then the first column wraps.
    """
    wide = console.options.update(max_width=LINE)
    if is_unlimited(console):
        console = Terminal()
        console.width = max(console.width, Measurement.get(console, wide, made).maximum)
    for name in spare:
        if Measurement.get(console, wide, made).maximum > console.width:
            made.columns = [column for column in made.columns if column.header != name]
    for column in made.columns[1:]:
        column.min_width = max(rich.text.Text(str(cell)).cell_len for cell in [column.header, *column.cells])
    made.columns[0].no_wrap = False
    console.print(made)


def facts(console: Console, known: Mapping[str, Any]) -> None:
    """Print names and what is known of them, aligned; what is None is left out."""
    shown = {word(name): escape(str(value)) for name, value in known.items() if value is not None}
    edge = max(map(len, shown), default=0) + 2
    for name, value in shown.items():
        lines = [line for part in value.split("\n") for line in wrap(part, max(console.width - edge, 20))]
        for first, line in zip([name] + [""] * len(lines), lines, strict=False):
            console.print(Text.assemble((f"{first:{edge}}", "dim"), line), soft_wrap=True)


def wrap(text: str, width: int, whole: bool = True) -> list[str]:
    """Return a text in lines, a number and its % on the same one; words longer than a line are broken unless whole.

    >>> wrap("about 95 % of them", 9)
    ['about', '95 % of', 'them']
    """
    import textwrap

    joined = escape(text).replace(" %", "\xa0%")
    lines = textwrap.wrap(joined, width, break_long_words=not whole, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines] or [""]


def title(console: Console, *parts: str) -> None:
    """Print what follows, in bold."""
    console.print(Text(" · ".join(parts), style="bold"), soft_wrap=True)


def note(console: Console, sentence: str) -> None:
    """Print a remark, dim, in lines that fit."""
    console.print(Text("\n".join(wrap(sentence, console.width - 1)), style="dim"))


def short(number: float) -> str:
    """Write a large number with two or three digits.

    >>> short(2_435_070), short(679_253), short(31.2), short(3.2e9)
    ('2.4 M', '679 k', '31', '3.2 G')
    """
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= unit:
            return f"{number / unit:.{1 if number < 10 * unit else 0}f}{letter}"
    return f"{number:.0f}"


def percent(share: float) -> str:
    """Write a share; small ones keep two digits.

    >>> percent(0.0312), percent(0.5), percent(0.00041), percent(0), percent(1)
    ('3.12 %', '50.0 %', '0.041 %', '0 %', '100 %')
    """
    hundredths = 100 * share
    digits = 1 if hundredths >= 10 else 2 if hundredths >= 0.1 else 3
    return f"{hundredths:.0f} %" if share in (0, 1) else f"{hundredths:.{digits}f} %"


def seconds(time: float) -> str:
    """Write a time.

    >>> seconds(0.00123), seconds(0.25), seconds(12.3), seconds(754)
    ('1.2 ms', '0.25 s', '12.3 s', '12 min 34 s')
    """
    if time < 0.1:
        return f"{1000 * time:.1f} ms"
    if time < 100:
        return f"{time:.{2 if time < 10 else 1}f} s"
    return f"{time // 60:.0f} min {time % 60:02.0f} s"


def size(bytes: float) -> str:
    """Write a number of bytes.

    >>> size(812), size(41_300), size(1_340_000_000)
    ('812 B', '41 kB', '1.3 GB')
    """
    text = short(bytes)
    return text + "B" if " " in text else f"{text} B"
