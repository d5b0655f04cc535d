"""`linsep demo`: every learner in every table, the pictures on disk, and nothing loaded before it is needed."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from linsep import LEARNERS
from linsep.cli import app
from linsep.cli.demo import _draw
from linsep.cli.screen import Screen

HEAVY = ("numba", "sklearn", "scipy", "matplotlib", "numpy")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)]), out


def test_it_succeeds_and_says_nothing_on_stderr(demo):
    result, _ = demo
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


def test_every_data_set_has_a_row_for_every_learner(demo):
    for data in ("iris", "breast cancer", "digits", "text"):
        part = re.split(rf"^{data}, ", demo[0].stdout, flags=re.MULTILINE)[1].split("\n\n")[0]
        for name in LEARNERS:
            assert re.search(rf"^ {name}[ *°]+[\d,]+ +[\d.]+ % +[\d.]+ [kM] ", part, flags=re.MULTILINE), (data, name)


def test_every_bound_is_shown(demo):
    shown = re.sub(r"\s+", " ", demo[0].stdout)
    folded = re.sub(r"\s+", "", demo[0].stdout)
    for entry in LEARNERS.values():
        assert entry.bound in shown or all(word in folded for word in entry.bound.split())


def test_pictures_are_written_and_named(demo):
    result, out = demo
    assert (out / "boundary.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "boundary.svg").read_text()
    assert str(out / "boundary.png") in result.stdout


def test_lines_fit_a_terminal_of_80_columns(demo):
    lines = [line for line in demo[0].stdout.splitlines() if "boundary." not in line]
    assert max(map(len, lines)) <= 80


def test_runs_that_did_not_settle_are_marked_and_do_not_warn(demo):
    assert " perceptron *" in demo[0].stdout
    assert re.search(r"^\*  ", demo[0].stdout, flags=re.MULTILINE)
    assert "Warning" not in demo[0].output


def test_a_folder_that_cant_be_made_is_one_line_and_status_2(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "can't write to the folder" in result.stderr


def run(*args, **more):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True, **more)


@pytest.mark.parametrize("args", [["--help"], ["demo", "--help"], ["--version"]])
def test_help_loads_no_compiler(args):
    code = f"""
import sys, linsep.cli
sys.argv = ["linsep", *{args}]
try:
    linsep.cli.main()
except SystemExit as stop:
    assert not stop.code
print("loaded:", [name for name in {HEAVY} if name in sys.modules])
"""
    assert run("-c", code).stdout.endswith("loaded: []\n")


def test_python_m_linsep_is_the_command():
    assert run("-m", "linsep", "--version").stdout.startswith("linsep 0.")
    assert "linsep demo --out" in run("-m", "linsep", "demo", "--help").stdout


def test_a_closed_pipe_ends_it_quietly(tmp_path):
    command = [sys.executable, "-m", "linsep", "demo", "--quick", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_without_matplotlib_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "linsep.cli.picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    Screen().pictures(_draw(tmp_path))
    assert "pip install 'linsep[plot]'" in capsys.readouterr().out
