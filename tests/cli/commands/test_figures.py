"""`linsep figures`: files, a page, and names that are told."""

import subprocess
import sys

import pytest
import typer
from matplotlib.figure import Figure
from typer.testing import CliRunner

from linsep.cli.app import CommandGroup, epilog
from linsep.cli.commands import figures
from linsep.cli.options.command import Command
from linsep.plots.notes import gallery
from linsep.plots.notes.catalogue import FIGURES

NAMES = [name.replace("_", "-") for name in FIGURES]
program = typer.Typer(name="linsep", cls=CommandGroup, pretty_exceptions_enable=False)
program.command("figures", cls=Command, epilog=epilog(figures.EXAMPLES))(figures.run)


@program.callback()
def _options() -> None: ...


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sketches(monkeypatch):
    """Draw empty figures; return the names asked for."""
    asked = []
    monkeypatch.setattr(gallery, "draw_figure", lambda name: asked.append(name) or Figure(figsize=(1, 1)))
    return asked


def run(*args):
    return CliRunner().invoke(program, ["figures", *args])


def test_figures_and_their_page_are_written(here):
    result = run("-o", "new/folder", "--only", "line-fit", "--only", "chord", "--only", "line_fit")
    assert result.exit_code == 0, result.output
    folder = here / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == ["chord.png", "index.html", "line-fit.png"]
    assert (folder / "chord.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "index.html").read_text()
    assert page.index("The chord above the exponential") < page.index("A line fitted by least squares")
    assert "prefers-color-scheme: dark" in page
    assert result.stdout == f"new/folder{'/'}index.html: 2 figures, each of them also a .png file beside it\n"
    assert result.stderr == ""


def test_all_figures_are_drawn_in_the_order_of_the_notes(here, sketches):
    assert run().exit_code == 0
    assert sketches == list(FIGURES)
    folder = here / "linsep-figures"
    assert {path.name for path in folder.iterdir()} == {"index.html", *(f"{name}.png" for name in NAMES)}
    page = (folder / "index.html").read_text()
    assert all(f"linsep.plots.notes.{name}()" in page for name in FIGURES)


def test_svg_files_are_the_same_each_time(here):
    files = []
    for _ in range(2):
        assert run("--only", "losses", "--format", "svg", "-o", "a").exit_code == 0
        files.append((here / "a" / "losses.svg").read_bytes())
    assert files[0] == files[1]
    assert b"<svg" in files[0]


def test_the_list_has_every_name_and_draws_nothing(here, sketches):
    result = run("--list")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == NAMES
    assert [line.split()[1] for line in lines] == [entry.note for entry in FIGURES.values()]
    assert not sketches
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--only", "chrod"], "there is no figure 'chrod'; did you mean chord?"),
        (["--only", "zzz"], f"there is no figure 'zzz'; there are {', '.join(NAMES)}"),
        (["--format", "bmp"], "--format bmp: a file is png or svg"),
        (["-o", "taken"], "can't write to the folder taken: file exists"),
    ],
)
def test_what_cant_be_done_is_usage_and_nothing_is_written(args, words, here, sketches):
    (here / "taken").write_text("a file")
    result = run(*args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert [path.name for path in here.iterdir()] == ["taken"]
    assert not sketches


def test_an_interruption_tells_what_is_there(here, monkeypatch):
    def draw(name):
        if name == "losses":
            raise KeyboardInterrupt
        return Figure(figsize=(1, 1))

    monkeypatch.setattr(gallery, "draw_figure", draw)
    result = run("-o", "a")
    assert result.exit_code == 130
    assert "interrupted; 4 of 15 figures are in a, but no new index.html" in result.stderr
    assert sorted(path.name for path in (here / "a").iterdir()) == [
        "dichotomies.png",
        "feature-race.png",
        "turned-labels.png",
        "winnow-bound.png",
    ]


def test_an_older_file_stays_whole_when_a_figure_cant_be_saved(here, sketches, monkeypatch):
    assert run("-o", "a", "--only", "chord").exit_code == 0
    before = (here / "a" / "chord.png").read_bytes()

    def fail(figure, path, kind):
        with open(path, "wb") as file:
            file.write(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(gallery, "save", fail)
    result = run("-o", "a", "--only", "chord")
    assert result.exit_code == 2
    assert "no space left on device" in result.stderr
    assert (here / "a" / "chord.png").read_bytes() == before


def test_help_has_examples_and_loads_nothing_heavy():
    result = run("--help")
    assert "linsep figures -o figures" in result.stdout
    code = """if True:
        import sys
        import linsep.cli.commands.figures as figures
        figures._names()
        heavy = {"numba", "sklearn", "scipy", "matplotlib", "numpy", "rich"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_line_says_what_to_install(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("--only", "chord")
    assert result.exit_code == 2
    assert "pip install 'linsep[plot]'" in result.stderr
    assert not list(here.iterdir())
