"""The site's sources: every public name and every command has a page, and every page is in a table of contents."""

import re
from importlib import import_module

import pytest

import linsep
from linsep.cli.app import app
from tests.docs.pages import PAGES, ROOT

api = import_module("api")
commands = import_module("commands")
check_links = import_module("check_links")
DOCS = ROOT / "docs"


def test_every_public_name_has_a_page():
    names = {f"linsep.{name}" for name in linsep.__all__}
    for module in ("plots", "plots.notes", "transforms", "theory", "distributed"):
        loaded = import_module(f"linsep.{module}")
        names |= {f"linsep.{module}.{name}" for name in loaded.__all__}
    names |= {"linsep.data.dataset.Dataset", "linsep.data.streaming.Stream"}
    pages = api.pages()
    assert {f"{name}.rst" for name in names} <= set(pages)
    assert all(f"<{name}>" in pages["index.rst"] for name in names)


def test_topics_name_what_exists():
    for names in api.topics().values():
        for name in names:
            assert api.found(name) is not None


def test_every_command_and_every_option_of_a_learner_has_a_page():
    pages = commands.pages()
    for command in app.registered_commands:
        assert f"# linsep {command.name}\n" in pages[f"{command.name}.md"]
    assert all(f"## {entry.name}\n" in pages["learners.md"] for entry in linsep.LEARNERS.values())
    assert "`--holdout" in pages["fit.md"]
    assert "`--aggressive`" in pages["learners.md"]


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert {page for page in PAGES if page.parent != ROOT} - {DOCS / "index.md"} <= listed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (["||u||² * x"], [r"\|\|u\|\|² \* x"]),
        (["`a * b` and coef_"], [r"`a * b` and coef\_"]),
        (["`beta`² is", "x_j : float"], [r"`beta`\ ² is", "x_j : float"]),
        ([">>> a * b_", "c_", "", "d_"], [">>> a * b_", "c_", "", r"d\_"]),
    ],
)
def test_plain_text_of_docstrings_is_escaped(text, expected):
    assert api.escaped(text) == expected


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">', None),
        ('<a href="b.html#there">', None),
        ('<a href="https://example.org">', None),
        ('<a href="c.html">', "c.html does not exist"),
        ('<a href="b.html#gone">', "b.html#gone has no such anchor"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
    ],
)
def test_broken_links_are_found(body, fault, tmp_path):
    (tmp_path / "a.html").write_text(body)
    (tmp_path / "b.html").write_text('<h1 id="there">')
    check_links.page.cache_clear()
    faults = list(check_links.faults(tmp_path))
    assert faults == ([] if fault is None else [f"a.html: {fault}"])


def tables(text):
    """Yield the number of cells of each row, table by table."""
    for table in re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE):
        yield [len(re.findall(r"(?<!\\)\|", row)) - 1 for row in table.splitlines()]


def test_all_rows_of_a_table_have_as_many_cells():
    texts = {str(page): page.read_text(encoding="utf-8") for page in PAGES} | commands.pages()
    uneven = {name: cells for name, text in texts.items() for cells in tables(text) if len(set(cells)) > 1}
    assert not uneven
    assert list(tables("| a | b |\n|---|---|\n| `x|y` | 1 |\n")) == [[2, 2, 3]]
