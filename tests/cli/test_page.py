"""What the pages show of commands is what happens."""

import os
import re
import shlex
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker

import pytest
from typer.testing import CliRunner

from linsep.cli.app import app
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "command-line.md"
COMMANDS = [command.name for command in app.registered_commands]


def shown(page):
    """Yield commands, and what a page says they print."""
    for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), flags=re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def run(command):
    if command.startswith("linsep "):
        return CliRunner().invoke(app, shlex.split(command)[1:]).output
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", [PAGE, ROOT / "README.md"], ids=["command-line", "readme"])
def test_the_page_is_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(shown(page))
    for command, expected in shown(page):
        found = run(command)
        assert OutputChecker().check_output(expected, found, ELLIPSIS | NORMALIZE_WHITESPACE), f"$ {command}\n{found}"


def test_the_page_has_every_command():
    assert re.findall(r"^\| `linsep (\w+)", PAGE.read_text(), flags=re.MULTILINE) == COMMANDS
