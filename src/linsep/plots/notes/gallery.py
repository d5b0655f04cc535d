"""All figures of the notes on one page, and each as a file."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from linsep.plots import notes
from linsep.plots.notes.catalogue import FIGURES, NOTES
from linsep.plots.report import Code, Picture, Report, Section

DPI = 160
FIRST_STEPS = """\
from linsep.plots import notes

ax = notes.winnow_bound(delta=0.1, features=10_000)
ax.figure.savefig("winnow-bound.svg")
"""
"""An example of drawing a figure in Python."""


def draw_figure(name: str) -> Figure:
    """Draw a figure, in the size it is meant for, without opening a window.

    >>> draw_figure("chord").get_size_inches().tolist()
    [5.2, 4.2]
    """
    entry = FIGURES[name]
    draw: Any = getattr(notes, name)
    if entry.panels:
        figure = Figure(figsize=entry.size)
        draw(figure=figure)
    else:
        figure = Figure(figsize=entry.size, layout="constrained")
        draw(ax=figure.add_subplot(projection="3d") if entry.solid else figure.add_subplot())
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it is laid out once, though saved several times
    return figure


def save(figure: Figure, path: Path | str, kind: str) -> None:
    """Save a figure as "png" or "svg", the same bytes each time."""
    with matplotlib.rc_context({"svg.hashsalt": "linsep"}):
        figure.savefig(path, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)


def page(figures: Mapping[str, Figure]) -> Report:
    """Return the page of some figures, in the notes' order, a section for each note.

    >>> page({"chord": draw_figure("chord")}).sections[0].heading
    'Note 004: Winnow, and estimating probabilities'
    """
    sections = [
        Section(f"Note {note}: {about}", list(_pictures(note, figures)))
        for note, about in NOTES.items()
        if any(FIGURES[name].note == note for name in figures)
    ]
    return Report(
        "The figures of the notes",
        "The figures of the lecture notes, redrawn. Curves and numbers are computed; where a figure needs points as an "
        "example, they were chosen for it.",
        sections=[*sections, Section("In Python", [Code(FIRST_STEPS)])],
    )


def _pictures(note: str, figures: Mapping[str, Figure]) -> Iterable[Picture]:
    for name, entry in FIGURES.items():
        if name in figures and entry.note == note:
            yield Picture(figures[name], f"{entry.title}. {entry.caption}", f"linsep.plots.notes.{name}()")
