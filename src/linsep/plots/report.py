"""A report as one HTML page that needs nothing else: no network, no scripts, no files beside it."""

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape
from importlib.metadata import version
from itertools import count, groupby
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep.engine.atomic_write import atomic_write
from linsep.plots.page import frame, harmless, inline_svg, plain, tag

MOST_FEATURES = 16
"""Features of an example that are shown; the others are counted."""
MOST_OF_TILE, MOST_OF_LABEL, MOST_OF_NAME, MOST_OF_TEXT, MOST_OF_ROW = 30, 60, 120, 300, 600
"""Characters of an important number, a label, a feature's name, most other texts and an example's; more are cut."""


def shown(value: object) -> str:
    """Return a value as it is written in a report: four digits of a fraction, thousands apart, a dash for nothing.

    Examples
    --------
    >>> [shown(value) for value in (12345, 0.123456, -2, True, None, "as it is")]
    ['12,345', '0.1235', '−2', 'yes', '–', 'as it is']
    """
    match value:
        case None:
            return "–"
        case bool() | np.bool_():
            return "yes" if value else "no"
        case Integral():
            return f"{int(value):,}".replace("-", "−")
        case Real():
            number = float(value)
            return (f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}").replace("-", "−")
        case _:
            return str(value)


class Part(ABC):
    """What a section is made of."""

    @abstractmethod
    def html(self) -> str:
        """Return the part as HTML, all text in it escaped."""


@dataclass(frozen=True)
class Text(Part):
    """Paragraphs, an empty line between them.

    Examples
    --------
    >>> Text("It learned 1 < 2.").html()
    '<p><bdi>It learned 1 &lt; 2.</bdi></p>'
    """

    words: str

    def html(self) -> str:
        """Return the paragraphs."""
        paragraphs = re.split(r"\n\s*\n", self.words.strip())
        return "\n".join(tag("p", harmless(paragraph, 5000)) for paragraph in paragraphs)


class Fact(NamedTuple):
    """A name and its value, with a few words on it where they are needed."""

    name: str
    value: object
    note: str = ""


@dataclass(frozen=True)
class Facts(Part):
    """Names and values, in a grid.

    Parameters
    ----------
    facts : sequence of Fact, or of tuples like it

    Examples
    --------
    >>> Facts([("rows", 1797), ("seed", 0, "of the order")]).html().count("<dt>")
    2
    """

    facts: Sequence[Fact | tuple[str, object] | tuple[str, object, str]]

    def html(self) -> str:
        """Return a list of descriptions."""
        return _described("facts", MOST_OF_TEXT, self.facts)


@dataclass(frozen=True)
class Column:
    """How a column of a table stands.

    Parameters
    ----------
    name : str
    align : {"left", "right"}
    bars : bool
        Whether a bar beside each number shows its share of the largest one.
    write : callable
        From a cell to what is written in it.
    """

    name: str
    align: Literal["left", "right"] = "left"
    bars: bool = False
    write: Callable[[Any], str] = shown


@dataclass(frozen=True)
class Table(Part):
    """Rows under named columns.

    Parameters
    ----------
    columns : sequence of Column or str
        A str is the name of a column to the left.
    rows : sequence of sequences
        A cell for each column.
    best : int, optional
        The row that is marked.
    caption : str

    Examples
    --------
    >>> table = Table(["learner", Column("error", bars=True)], [["perceptron", 0.07], ["romma", 0.05]], best=1)
    >>> table.html().count('<tr class="best">')
    1
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[object]]
    best: int | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} of the table has {len(row)} cells for {len(self.columns)} columns")
        if self.best is not None and not 0 <= self.best < len(self.rows):
            raise ValueError(f"best={self.best} is none of the table's {len(self.rows)} rows")

    def html(self) -> str:
        """Return the table, in a frame that scrolls where it is too wide for the page."""
        columns = [Column(column) if isinstance(column, str) else column for column in self.columns]
        heads = (tag("th", harmless(c.name, MOST_OF_NAME), class_=_class(c), scope="col") for c in columns)
        ranges = [_range(row[place] for row in self.rows) for place in range(len(columns))]
        lines = [
            tag("tr", "".join(map(_cell, columns, row, ranges)), class_="best" if number == self.best else None)
            for number, row in enumerate(self.rows)
        ] or [tag("tr", tag("td", "None.", class_="none", colspan=len(columns)))]
        head, body = tag("thead", tag("tr", "".join(heads))), tag("tbody", "\n".join(lines))
        return _scroll(self.caption or "table", tag("table", _if_any("caption", self.caption) + head + body))


@dataclass(frozen=True)
class Picture(Part):
    """A matplotlib figure, as inline SVG. In a dark page its colours keep their hues, and light and dark change places.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or matplotlib.axes.Axes
        One that is 5.2 inches wide can be read on a phone, and two of them fill a line.
    alt : str
        What it shows, for those who can't see it.
    caption : str
    """

    figure: Figure | Axes
    alt: str
    caption: str = ""

    def html(self, name: str = "picture") -> str:
        """Return the figure; `name` begins its ids, and differs between the figures of a page."""
        figure = self.figure.get_figure(root=True) if isinstance(self.figure, Axes) else self.figure
        if not isinstance(figure, Figure):
            raise ValueError(f"a picture needs a matplotlib Figure or Axes, not {type(self.figure).__name__}")
        drawing = tag("div", inline_svg(figure, name, self.alt), class_="scroll")
        wide = f"--wide:{96 * figure.get_figwidth():.0f}px"
        return tag("figure", drawing + _if_any("figcaption", self.caption), class_="picture", style=wide)


class Example(NamedTuple):
    """A row and what was made of it.

    Parameters
    ----------
    row : str or mapping
        Its text, or its features by name, those first that say most; of many features, the first are shown.
    true, predicted : object
        The labels.
    score : float, optional
        How wrong it is, as `measure` in :class:`Examples` names it.
    place : str
        Where it is found: "row 17", or a file and line.
    """

    row: str | Mapping[str, object]
    true: object
    predicted: object
    score: float | None = None
    place: str = ""


@dataclass(frozen=True)
class Examples(Part):
    """Rows with their true and predicted labels.

    Parameters
    ----------
    examples : sequence of Example
    measure : str
        What the score is.
    otherwise : str
        What is said where there are none.

    Examples
    --------
    >>> "taken for" in Examples([Example("cheap pills", "spam", "ham", -1.5)]).html()
    True
    """

    examples: Sequence[Example]
    measure: str = "margin"
    otherwise: str = "None."

    def html(self) -> str:
        """Return a list."""
        if not self.examples:
            return tag("p", harmless(self.otherwise), class_="none")
        return tag("ol", "\n".join(map(self._item, self.examples)), class_="examples")

    def _item(self, example: Example) -> str:
        true, predicted = (harmless(label, MOST_OF_LABEL) for label in (example.true, example.predicted))
        verdict = [tag("span", true, class_="label")]
        if true == predicted:
            verdict += [tag("span", "found", class_="between")]
        else:
            verdict += [tag("span", "taken for", class_="between"), tag("span", predicted, class_="label wrong")]
        if example.score is not None:
            verdict += [tag("span", f"{harmless(self.measure)} {escape(shown(example.score))}", class_="score")]
        place = _if_any("div", example.place, class_="place")
        return tag("li", tag("div", " ".join(verdict), class_="verdict") + place + _row(example.row))


@dataclass(frozen=True)
class Code(Part):
    """Lines to be copied: commands, or a program.

    Examples
    --------
    >>> "linsep inspect" in Code("linsep inspect digits.linsep").html()
    True
    """

    lines: str
    caption: str = ""

    def html(self) -> str:
        """Return the lines as they are."""
        lines = tag("pre", tag("code", harmless(self.lines, 20_000)))
        caption = _if_any("figcaption", self.caption)
        return tag("figure", caption + _scroll(self.caption or "commands", lines), class_="code")


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; pictures and tables in a row stand side by side where there is room."""

    heading: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Report:
    """A page: what was done, the most important numbers, and sections.

    Every text is escaped, whatever is in it. The same contents give the same page, byte for byte.

    Parameters
    ----------
    title, subtitle : str
    facts : sequence of Fact, or of tuples like it
        The numbers that stand out, at the top.
    sections : sequence of Section
    made : datetime.date
        By default today.

    Examples
    --------
    >>> report = Report("Digits", "a perceptron", [("error", "7.1 %")], [Section("What next", [Code("linsep --help")])])
    >>> report.html().startswith("<!doctype html>")
    True
    """

    title: str
    subtitle: str = ""
    facts: Sequence[Fact | tuple[str, object] | tuple[str, object, str]] = ()
    sections: Sequence[Section] = ()
    made: date = field(default_factory=date.today)

    def html(self) -> str:
        """Return the page."""
        maker, day = f"linsep {version('linsep')}", self.made.strftime("%Y-%m-%d")
        header = [
            tag("p", f"{maker} · {tag('time', day, datetime=day)}", class_="made"),
            tag("h1", harmless(self.title)),
            _if_any("p", self.subtitle, class_="subtitle"),
            _described("tiles", MOST_OF_TILE, self.facts) if self.facts else "",
        ]
        sections, links, numbers = [], [], count(1)
        for anchor, section in zip(_anchors([s.heading for s in self.sections]), self.sections, strict=True):
            heading = tag("h2", tag("a", harmless(section.heading), href=f"#{anchor}"), id=anchor)
            inside = [heading, *_grouped(section.parts, numbers)]
            sections.append(tag("section", "\n".join(inside), aria_labelledby=anchor))
            links.append(tag("li", tag("a", harmless(section.heading, MOST_OF_LABEL), href=f"#{anchor}")))
        if len(links) > 2:
            header.append(tag("nav", tag("ul", "".join(links)), aria_label="Contents"))
        footer = f"Written by {maker}. This page is one file: it loads nothing and runs nothing."
        body = [tag("header", "\n".join(header)), tag("main", "\n".join(sections)), tag("footer", footer)]
        return frame(self.title, maker, "\n".join(body))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; where that fails, an older file is still whole.

        Parameters
        ----------
        path : path-like
            A link is followed; a pipe or a device is written to as it is.
        """
        page = self.html().encode()
        with atomic_write(path) as draft:
            Path(draft).write_bytes(page)


def _grouped(parts: Sequence[Part], numbers: Iterator[int]) -> Iterator[str]:
    """Return the parts as HTML, pictures numbered, those that may share a line together."""
    for narrow, some in groupby(parts, lambda part: isinstance(part, Picture | Table)):
        written = [part.html(f"picture{next(numbers)}") if isinstance(part, Picture) else part.html() for part in some]
        yield tag("div", "\n".join(written), class_="line") if narrow else "\n".join(written)


def _anchors(headings: Sequence[str]) -> list[str]:
    """Return ids made of the headings' words, each one once."""
    found: dict[str, None] = {}
    for heading in headings:
        words = re.sub(r"\W+", "-", plain(heading)[:40].lower()).strip("-") or "section"
        tries = (f"{words}-{number}" if number > 1 else words for number in range(1, len(found) + 2))
        found[next(anchor for anchor in tries if anchor not in found)] = None
    return list(found)


def _described(kind: str, most: int, facts: Sequence[Fact | tuple[str, object] | tuple[str, object, str]]) -> str:
    items = (
        tag("dt", harmless(fact.name, MOST_OF_LABEL))
        + tag("dd", harmless(shown(fact.value), most), class_="value")
        + _if_any("dd", fact.note, class_="note")
        for fact in (Fact(*pair) for pair in facts)
    )
    return tag("dl", "\n".join(tag("div", item) for item in items), class_=kind)


def _if_any(name: str, text: str, **attributes: object) -> str:
    return tag(name, harmless(text, MOST_OF_TEXT), **attributes) if text else ""


def _scroll(name: str, inside: str) -> str:
    """Return a frame that scrolls by itself, and by the keyboard, where its contents are too wide."""
    return tag("div", inside, class_="scroll", role="region", tabindex=0, aria_label=plain(name, 200))


def _class(column: Column) -> str | None:
    return "barred" if column.bars else "right" if column.align == "right" else None


def _cell(column: Column, value: object, limits: tuple[float, float]) -> str:
    number = _number(value)
    if not column.bars or number is None:
        return tag("td", harmless(column.write(value)), class_=_class(column))
    low, high = limits
    begin, end = sorted((0.0, number))
    span = (high - low) or 1.0
    place = f"--from:{abs(100 * (begin - low) / span):.1f}%;--long:{abs(100 * (end - begin) / span):.1f}%"  # never -0.0
    bar = tag("i", class_="below" if number < 0 else None, style=place)
    return tag(
        "td",
        tag("span", harmless(column.write(value), MOST_OF_LABEL), class_="number") + tag("span", bar, class_="bar"),
        class_="barred",
    )


def _number(value: object) -> float | None:
    """Return what a bar can show: a finite number."""
    match value:
        case bool():
            return None
        case Real() if math.isfinite(value):
            return float(value)
        case _:
            return None


def _range(values: Iterable[object]) -> tuple[float, float]:
    """Return the least and the largest number, 0 among them."""
    numbers = [0.0, *(number for value in values if (number := _number(value)) is not None)]
    return min(numbers), max(numbers)


def _row(row: str | Mapping[str, object]) -> str:
    if isinstance(row, str):
        return tag("div", harmless(row, MOST_OF_ROW), class_="words")
    chips = [
        tag("li", f"{harmless(name, MOST_OF_NAME)} {tag('b', harmless(shown(value), MOST_OF_LABEL))}")
        for name, value in list(row.items())[:MOST_FEATURES]
    ]
    if len(row) > MOST_FEATURES:
        chips.append(tag("li", f"and {len(row) - MOST_FEATURES:,} more", class_="more"))
    return tag("ul", "".join(chips), class_="chips")
