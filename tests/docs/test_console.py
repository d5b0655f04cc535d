"""Commands of the tutorials print what the pages show."""

import re
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker

import pytest

from tests.cli.files import run_line
from tests.docs.pages import PAGES

CONSOLE = [page for page in PAGES if "```console" in page.read_text() and page.parent.name != "docs"]
CONSOLE = [page for page in CONSOLE if page.name != "README.md"]
"""Pages with commands; `tests/cli` runs those of the command line's page and of README."""


def sessions(text):
    """Yield the commands of a page with their output; lines after a backslash are marked by `> `."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            more = sum(1 for line in lines[1:] if line.startswith("> "))
            yield "\n".join([lines[0], *(line[2:] for line in lines[1 : more + 1])]), "\n".join(lines[more + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLE, ids=lambda page: page.stem)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command, expected in sessions(page.read_text()):
        _, output = run_line(command)
        same = OutputChecker().check_output(f"{expected}\n", output, ELLIPSIS | NORMALIZE_WHITESPACE)
        assert same or not (expected or output.strip()), f"$ {command}\n{output}"


def test_the_tutorials_have_commands():
    assert {"spam", "certify-csv"} <= {page.stem for page in CONSOLE}
