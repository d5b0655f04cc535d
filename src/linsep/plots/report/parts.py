"""The parts that a section of a report consists of."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep.plots.report.rendering import inline_svg, macro, shown


class Part:
    """A part of a section; a macro of templates/parts.html renders it."""

    macro: ClassVar[str]
    """The name of the macro."""
    shares_line: ClassVar[bool] = False
    """If True, successive parts of this kind are placed side by side where there is room."""

    def html(self, name: str = "part") -> Markup:
        """Return the part as HTML with all text escaped; ids in it begin with `name`, unique within the page."""
        return macro(self.macro, self)


@dataclass(frozen=True)
class Text(Part):
    """Paragraphs, separated by empty lines.

    Examples
    --------
    >>> print(Text("It learned 1 < 2.").html().strip())
    <p><bdi>It learned 1 &lt; 2.</bdi></p>
    """

    macro: ClassVar[str] = "text"
    words: str

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs."""
        return re.split(r"\n\s*\n", self.words.strip())


class Fact(NamedTuple):
    """A name and its value, with an optional note."""

    name: str
    value: object
    note: str = ""


FactLike = Fact | tuple[str, object] | tuple[str, object, str]


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

    macro: ClassVar[str] = "facts"
    facts: Sequence[FactLike]


@dataclass(frozen=True)
class Column:
    """The heading and the format of a column of a table.

    Parameters
    ----------
    name : str
    align : {"left", "right"}
    bars : bool
        If True, a bar beside each number shows its size relative to the others.
    write : callable
        Formats a cell's value.
    """

    name: str
    align: Literal["left", "right"] = "left"
    bars: bool = False
    write: Callable[[Any], str] = shown

    @property
    def look(self) -> str | None:
        """The CSS class of the column's cells, or None."""
        return "barred" if self.bars else "right" if self.align == "right" else None


class Bar(NamedTuple):
    """A bar beside a number: where it starts and how long it is, in percent of the room for it."""

    start: float
    length: float
    negative: bool


class Cell(NamedTuple):
    """A formatted cell of a table."""

    value: str
    look: str | None
    bar: Bar | None


@dataclass(frozen=True)
class Table(Part):
    """Rows under named columns.

    Parameters
    ----------
    columns : sequence of Column or str
        A str names a left-aligned column.
    rows : sequence of sequences
        A cell for each column.
    best : int, optional
        The row to highlight.
    caption : str

    Examples
    --------
    >>> table = Table(["learner", Column("error", bars=True)], [["perceptron", 0.07], ["romma", 0.05]], best=1)
    >>> table.html().count('<tr class="best">')
    1
    """

    macro: ClassVar[str] = "table"
    shares_line: ClassVar[bool] = True
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

    @property
    def heads(self) -> list[Column]:
        """The columns."""
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    @property
    def cells(self) -> Iterator[list[Cell]]:
        """The formatted cells of each row."""
        heads = self.heads
        ranges = [_range(row[place] for row in self.rows) for place in range(len(heads))]
        for row in self.rows:
            yield [_cell(*column) for column in zip(heads, row, ranges, strict=True)]


def _cell(column: Column, value: object, limits: tuple[float, float]) -> Cell:
    number = _number(value)
    if not column.bars or number is None:
        return Cell(column.write(value), column.look, None)
    low, high = limits
    begin, end = sorted((0.0, number))
    span = (high - low) or 1.0
    bar = Bar(abs(100 * (begin - low) / span), abs(100 * (end - begin) / span), number < 0)  # abs: never -0.0
    return Cell(column.write(value), column.look, bar)


def _number(value: object) -> float | None:
    """Return a value that a bar can show, a finite number, or None."""
    match value:
        case bool():
            return None
        case Real() if math.isfinite(value):
            return float(value)
        case _:
            return None


def _range(values: Iterable[object]) -> tuple[float, float]:
    """Return the least and the largest of 0 and the numbers among the values."""
    numbers = [0.0, *(number for value in values if (number := _number(value)) is not None)]
    return min(numbers), max(numbers)


@dataclass(frozen=True)
class Picture(Part):
    """A matplotlib figure as inline SVG. A dark page inverts the lightness of its colours and keeps their hues.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or matplotlib.axes.Axes
        A width of 5.2 inches is readable on a phone, and two such figures fill a line.
    alt : str
        A description of the picture for screen readers.
    caption : str
    """

    macro: ClassVar[str] = "picture"
    shares_line: ClassVar[bool] = True
    figure: Figure | Axes
    alt: str
    caption: str = ""

    def html(self, name: str = "picture") -> Markup:
        """Return the figure as HTML; its ids begin with `name`, unique within the page."""
        return macro(self.macro, self, inline_svg(self.whole, name, self.alt))

    @property
    def whole(self) -> Figure:
        """The figure, also where axes of it were given."""
        figure = self.figure.get_figure(root=True) if isinstance(self.figure, Axes) else self.figure
        if not isinstance(figure, Figure):
            raise ValueError(f"a picture needs a matplotlib Figure or Axes, not {type(self.figure).__name__}")
        return figure

    @property
    def pixels(self) -> int:
        """The width of the figure in CSS pixels."""
        return round(96 * self.whole.get_figwidth())


def axes(height: float, width: float = 5.2) -> Axes:
    """Return axes of a new figure of these inches, by default of half a page's width, without a window."""
    return Figure(figsize=(width, height), layout="constrained").add_subplot()


class Example(NamedTuple):
    """A row with its true and predicted label.

    Parameters
    ----------
    row : str or mapping
        Its text, or its features by name, the most important first; of many features only the first are shown.
    true, predicted : object
        The labels.
    score : float, optional
        The number that `measure` in :class:`Examples` names.
    place : str
        Place of the row: "row 17", or a file and line.
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
        The name of the score.
    otherwise : str
        The text to show if there are no examples.

    Examples
    --------
    >>> "taken for" in Examples([Example("cheap pills", "spam", "ham", -1.5)]).html()
    True
    """

    macro: ClassVar[str] = "examples"
    MOST_FEATURES: ClassVar[int] = 16
    """Features of an example that are shown; the others are counted."""
    examples: Sequence[Example]
    measure: str = "margin"
    otherwise: str = "None."


@dataclass(frozen=True)
class Code(Part):
    """Lines to copy: commands, or a program.

    Examples
    --------
    >>> "linsep inspect" in Code("linsep inspect digits.linsep").html()
    True
    """

    macro: ClassVar[str] = "code"
    lines: str
    caption: str = ""
