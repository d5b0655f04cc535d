"""A report as one HTML page that needs nothing else: no network, no scripts, no files beside it."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from linsep.engine.atomic_write import atomic_write
from linsep.plots.report.parts import FactLike, Part
from linsep.plots.report.rendering import dark_colours, environment, plain, variables_in


@dataclass(frozen=True)
class Section:
    """A heading and parts under it; successive pictures and tables are placed side by side where there is room."""

    heading: str
    parts: Sequence[Part]


class Line(NamedTuple):
    """Rendered parts, side by side if they share a line."""

    shared: bool
    html: Markup


class Rendered(NamedTuple):
    """A section as the template reads it."""

    heading: str
    anchor: str
    lines: list[Line]


@dataclass(frozen=True)
class Report:
    """A page: a title, the most important numbers, and sections.

    Every text is escaped. The same contents give the same page, byte for byte.

    Parameters
    ----------
    title, subtitle : str
    facts : sequence of Fact, or of tuples like it
        The most important numbers, shown in tiles at the top.
    sections : sequence of Section
    made : datetime.date
        Default: today.

    Examples
    --------
    >>> from linsep.plots.report import Code
    >>> report = Report("Digits", "a perceptron", [("error", "7.1 %")], [Section("What next", [Code("linsep --help")])])
    >>> report.html().startswith("<!doctype html>")
    True
    """

    title: str
    subtitle: str = ""
    facts: Sequence[FactLike] = ()
    sections: Sequence[Section] = ()
    made: date = field(default_factory=date.today)

    def html(self) -> str:
        """Return the page."""
        names = (f"part{number}" for number in count(1))
        sections = [
            Rendered(section.heading, anchor, list(_lines(section.parts, names)))
            for anchor, section in zip(_anchors([s.heading for s in self.sections]), self.sections, strict=True)
        ]
        variables = variables_in(line.html for section in sections for line in section.lines)
        return environment().get_template("page.html").render(
            report=self, sections=sections, colours=dark_colours(variables), day=self.made.strftime("%Y-%m-%d"),
            generator=f"linsep {version('linsep')}",
        )  # fmt: skip

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically: if writing fails, an existing file is kept unchanged.

        Parameters
        ----------
        path : path-like
            A symbolic link is followed; a pipe or a device is written to directly.
        """
        page = self.html().encode()
        with atomic_write(path) as draft:
            Path(draft).write_bytes(page)


def _lines(parts: Sequence[Part], names: Iterator[str]) -> Iterator[Line]:
    """Render parts, each with a name of its own, and join those that share a line."""
    for shared, group in groupby(parts, lambda part: part.shares_line):
        yield Line(shared, Markup("\n").join(part.html(next(names)) for part in group))


def _anchors(headings: Sequence[str]) -> list[str]:
    """Return a unique id for each heading, made of its words."""
    found: dict[str, None] = {}
    for heading in headings:
        words = re.sub(r"\W+", "-", plain(heading)[:40].lower()).strip("-") or "section"
        tries = (f"{words}-{number}" if number > 1 else words for number in range(1, len(found) + 2))
        found[next(anchor for anchor in tries if anchor not in found)] = None
    return list(found)
