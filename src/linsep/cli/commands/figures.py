"""`linsep figures`: the figures of the lecture notes, as files and on a page."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linsep.cli.errors import Interrupted, UsageError
from linsep.cli.options.outputs import make_folder, version
from linsep.cli.terminal.text import word

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

EXAMPLES = """
linsep figures --list
linsep figures -o figures
linsep figures --only chord --only winnow-bound --format svg
"""
FORMATS = ("png", "svg")
PAGE = "index.html"


def _names() -> list[tuple[str, str]]:
    """Return the figures and what each shows, for shells that complete names."""
    from linsep.plots.notes.catalogue import FIGURES

    return [(_outside(name), entry.title) for name, entry in FIGURES.items()]


def run(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder of the output.")] = Path(
        "linsep-figures"
    ),
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", autocompletion=_names, help="A figure to draw; repeatable. Default: all."
        ),
    ] = None,
    format: Annotated[str, typer.Option(metavar="NAME", help="The format of the files: png or svg.")] = "png",
    list_: Annotated[bool, typer.Option("--list", help="Print the names of the figures.")] = False,
) -> None:
    """Draw the figures of the lecture notes.

    Each figure is a file, and index.html shows all of them. Curves and numbers in them are computed. Files of the same
    names are replaced. It needs matplotlib.
    """
    names = _choose(only or [])
    if list_:
        _list_names(names)
        return
    if format not in FORMATS:
        raise UsageError(f"--format {format}: a file is {' or '.join(FORMATS)}")
    import matplotlib  # noqa: F401

    from linsep.cli.terminal.progress import items_bar

    make_folder(out)
    files = [out / f"{_outside(name)}.{format}" for name in names]
    before = {path: version(path) for path in [*files, out / PAGE]}
    try:
        with items_bar("drawing", len(names)) as tell:
            _write(names, files, out / PAGE, format, tell)
    except KeyboardInterrupt:
        drawn = sum(version(path) != before[path] for path in files)
        kept = f"{drawn} of {len(names)} figures are in {out}" if drawn else "nothing was written"
        new = version(out / PAGE) != before[out / PAGE]
        raise Interrupted(kept=f"{kept}, but no new {PAGE}" if drawn and not new else kept) from None
    from linsep.cli.terminal.output import stdout

    many = f"{len(names)} figures, each of them" if len(names) > 1 else "1 figure, which is"
    stdout().print(f"{word(out / PAGE)}: {many} also a .{format} file beside it", soft_wrap=True)


def _outside(name: str) -> str:
    """Return what a figure of Python's name is called in commands and files."""
    return name.replace("_", "-")


def _choose(only: list[str]) -> list[str]:
    """Return the Python names of the figures that were named, each once and in the notes' order; all if none was."""
    from linsep.plots.notes.catalogue import FIGURES

    known = {_outside(name): name for name in FIGURES}
    for name in only:
        if _outside(name) not in known:
            close = get_close_matches(_outside(name), known, 1)
            cure = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise UsageError(f"there is no figure {name!r}; {cure}")
    wanted = {known[_outside(name)] for name in only} or set(FIGURES)
    return [name for name in FIGURES if name in wanted]


def _list_names(names: list[str]) -> None:
    """Print the figures, one a line."""
    from linsep.cli.terminal.output import stdout, table
    from linsep.plots.notes.catalogue import FIGURES

    made = table("name", "note", "title")
    made.columns[2].no_wrap = False
    for name in names:
        made.add_row(_outside(name), FIGURES[name].note, FIGURES[name].title)
    stdout().print(made)


def _write(names: list[str], files: list[Path], index: Path, format: str, tell: "Callable[[str], None]") -> None:
    """Draw and save the figures one by one, and then the page."""
    from linsep.engine.atomic_write import atomic_write
    from linsep.plots.notes.gallery import draw_figure, page, save

    figures: dict[str, Figure] = {}
    for name, file in zip(names, files, strict=True):
        tell(_outside(name))
        figures[name] = draw_figure(name)
        with atomic_write(file) as draft:
            save(figures[name], draft, format)
    tell(PAGE)
    page(figures).write(index)
