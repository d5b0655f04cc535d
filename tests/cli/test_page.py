"""What the pages show of commands is what happens."""

import re
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker

import pytest

from linsep.cli.app import app
from tests.cli.files import run_line
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "command-line.md"
COMMANDS = [command.name for command in app.registered_commands]


def shown(page):
    """Yield commands, and what a page says they print."""
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.mark.slow
@pytest.mark.parametrize("page", [PAGE, ROOT / "README.md"], ids=["command-line", "readme"])
def test_the_page_is_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(shown(page))
    for command, expected in shown(page):
        _, found = run_line(command)
        assert OutputChecker().check_output(expected, found, ELLIPSIS | NORMALIZE_WHITESPACE), f"$ {command}\n{found}"


def test_the_page_has_every_command():
    assert re.findall(r"^\| `linsep (\w+)", PAGE.read_text(), flags=re.MULTILINE) == COMMANDS
