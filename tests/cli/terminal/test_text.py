"""A terminal shows every text as it is, at any width, and is not obeyed by; one that is gone fails no work."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.progress import Task, TaskID
from typer.testing import CliRunner

import linsep.cli
from linsep.cli.app import app
from linsep.cli.jobs.predicting import _output
from linsep.cli.terminal.output import Text, facts, note, stderr, stdout, table, title
from linsep.cli.terminal.progress import PlainColumn
from linsep.cli.terminal.text import UNPRINTABLE, escape
from tests.cli.files import write_files
from tests.cli.test_app import COMMANDS
from tests.processes import forked

RED, MARKUP, ABOVE = "\x1b[31mred\x07\x9b1m\x7f", "[red]x[/red][/]\u202e\u2066", ">50K\nor more"
LABELS = [RED, MARKUP, ABOVE]
FEATURE = "\x1b]0;age\x85[/]"
FOLDER = "a\x1b[31m\u202e[b]"
WIDTHS = ["0", "1", "2", "5", "10", "20", "31", "32", "80", "abc", "-5", ""]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal") / FOLDER
    folder.mkdir()
    write_files(folder)
    rng = np.random.default_rng(0)
    for name, labels in (("odd", LABELS), ("two", [MARKUP, ABOVE])):
        kinds = rng.integers(len(labels), size=60)
        lines = [f'{kind / 4 + rng.integers(9) / 64},{rng.integers(9) / 8},"{labels[kind]}"' for kind in kinds]
        (folder / f"{name}.csv").write_text("\n".join([f"{FEATURE},size,kind", *lines]) + "\n")
        made = ["fit", f"{folder}/{name}.csv", "--label", "kind", "-o", f"{folder}/{name}.linsep"]
        assert CliRunner().invoke(app, made).exit_code == 0
    return folder


def run(*args, code=0, **env):
    result = CliRunner().invoke(app, list(map(str, args)), env=env)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    "text", [*"\0\x01\x07\x08\x0b\x0c\r\x1b\x1f\x7f\x80\x9b\x9f", *"\u202a\u202e\u2066\u2069\u200f\udc80"]
)
def test_control_characters_are_escaped(text, capsys):
    assert escape(f"a{text}b").startswith("a\\")
    for console in (stdout(), stderr()):
        made = table(f"h{text}", Text(f"h{text}"))
        made.add_row(f"c{text}", Text.assemble(f"a{text}", (text, "bold")))
        for shown in (f"s{text}", Text(text), made):
            console.print(shown)
        title(console, f"t{text}")
        note(console, f"n{text}")
        facts(console, {f"f{text}": f"v{text}"})
    found = capsys.readouterr()
    assert UNPRINTABLE.search(found.out + found.err) is None
    assert (found.out + found.err).count(escape(text)) == 22


def test_bars_show_text_and_do_not_obey_it():
    shown = PlainColumn("{task.description}").render(Task(TaskID(0), "[red]a\x1b[/red]", 1, 0, lambda: 0.0))
    assert shown.plain == "[red]a\\x1b[/red]"


def test_only_the_output_module_makes_texts_and_consoles_of_rich():
    for path in Path(linsep.cli.__file__).parent.glob("*.py"):
        if path.name != "output.py":
            assert "TextColumn(" not in path.read_text(), path
            assert "rich.text" not in path.read_text(), path
            assert " Console(" not in path.read_text(), path


SHOWN = {
    "fit": ["fit", "D/odd.csv", "--label", "kind", "-o", "D/m.linsep", "--holdout", "0.2"],
    "fit --brief": ["fit", "D/odd.csv", "--label", "kind", "-o", "D/m.linsep", "--brief"],
    "evaluate": ["evaluate", "D/odd.linsep", "D/odd.csv"],
    "inspect": ["inspect", "D/odd.linsep"],
    "inspect two": ["inspect", "D/two.linsep"],
    "inspect --class": ["inspect", "D/odd.linsep", "--class", RED],
    "compare": ["compare", "D/odd.csv", "--label", "kind", "-l", "perceptron", "--test", "D/odd.csv"],
    "certify": ["certify", "D/odd.csv", "--label", "kind", "-l", "perceptron", "--time-limit", "1", "-o", "D/odd.cert"],
    "certify --brief": [
        "certify",
        "D/odd.csv",
        "--label",
        "kind",
        "-l",
        "perceptron",
        "--multi-class",
        "ovr",
        "--brief",
    ],
    "verify": ["verify", "D/odd.cert", "D/odd.csv", "--label", "kind"],
    "convert": ["convert", "D/odd.linsep", "-o", "D/odd.json"],
}
WITH_LABELS = {"fit", "evaluate", "inspect", "certify", "certify --brief", "verify", "inspect two"}


@pytest.mark.parametrize("case", SHOWN)
def test_labels_names_and_paths_are_shown_and_not_obeyed(case, files):
    result = run(*(word.replace("D", str(files), 1) if word.startswith("D/") else word for word in SHOWN[case]))
    assert UNPRINTABLE.search(result.output) is None
    flat = "".join(result.stdout.split())
    assert "".join(escape(FOLDER).split()) in flat or case in ("certify --brief",)
    if case in WITH_LABELS:
        assert r"[red]x[/red][/]\u202e" in flat
        assert r">50K\nor" in flat
        assert r"\x1b[31m" in flat


@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "D/no\x1b[31m"], ["fit", "D/no\x1b", "-o", "m"], ["fit", "D/odd.csv", "-o", "D/\x1b/m"],
        ["fit", "D/odd.csv", "--label", "\x1b\x9b", "-o", "m"], ["fit", "--\x1b"], ["fi\u202et"],
        ["inspect", "D/odd.linsep", "--class", "\x9b"], ["convert", "D/odd.csv", "-o", "\x1b"],
        ["demo", "-o", "D/odd.csv/x"],
        ["predict", "D/odd.linsep", "D/odd.csv", "-o", "D/no\udcff/x"],
    ],
)  # fmt: skip
def test_an_error_is_shown_and_not_obeyed(args, files):
    args = [word.replace("D", str(files), 1) if word.startswith("D/") else word for word in args]
    result = CliRunner().invoke(app, args)
    assert result.exit_code in (2, 3)
    assert UNPRINTABLE.search(result.stderr) is None
    assert result.stderr.count("\n") == 1
    assert "\\" in result.stderr


def test_json_and_predictions_are_faithful(files, monkeypatch):
    found = run("inspect", files / "odd.linsep", "--json").stdout
    assert UNPRINTABLE.search(found) is None
    assert sorted(json.loads(found)["classes"]) == sorted(LABELS)
    assert json.loads(found)["file"] == str(files / "odd.linsep")
    line = RED.encode() + b"\n"
    for terminal, shown in ((False, line), (True, escape(RED).encode() + b"\n")):
        screen = SimpleNamespace(buffer=io.BytesIO(), isatty=lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stdout", screen)
        with _output(None) as file:
            file.write(line)
            file.flush()
        assert screen.buffer.getvalue() == shown


@pytest.mark.slow
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_any_width(command):
    for width in WIDTHS:
        lines = run(*command.split(), "--help", COLUMNS=width).stdout.splitlines()
        assert lines[-1].strip(), width
        if width in ("31", "32", "80"):
            texts = [line for line in lines if line.startswith("    ") and not line.strip().startswith("-")]
            assert all(len(line) < int(width) or len(line.split()) <= 2 for line in texts), width


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_results_fit_any_width(width, files):
    for args in (
        ["evaluate", files / "odd.linsep", files / "odd.csv"],
        ["inspect", files / "odd.linsep"],
        ["verify", files / "income.cert", files / "train.csv", "--label", "income"],
        ["figures", "--list"],
    ):
        assert run(*args, COLUMNS=width, LINES=width).stdout


WORK = """
import sys, typer
from pathlib import Path
from linsep.cli.terminal.text import guard_streams
guard_streams()
from linsep.cli.terminal.output import stderr
from linsep.cli.terminal.text import say
from rich.progress import Progress
for place in range(100):
    stderr().print("x" * 1000)
    say("x" * 1000)
    typer.echo("x", err=True)
with Progress(console=stderr()) as bar:
    bar.add_task("x")
made = open(sys.argv[1], "x")
assert made.fileno() > 2
made.write("done")
"""


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full", "2>&1 >/dev/null | true", "<&- >&- 2>&-"])
def test_progress_that_nobody_can_see_fails_no_work(how, tmp_path):
    line = f'"$@" {how}' if "|" not in how else f'set -o pipefail; sleep 0 | {{ "$@"; }} {how}'
    done = subprocess.run(["bash", "-c", line, "bash", sys.executable, "-c", WORK, tmp_path / "made"], check=False)
    assert done.returncode == 0
    assert (tmp_path / "made").read_text() == "done"


@pytest.mark.slow
def test_a_model_is_written_though_nobody_reads_the_progress(files, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = forked("fit", files / "train.svm", "-o", tmp_path / "m.linsep")
    done = subprocess.run(command, stderr=writer, stdout=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.returncode == 0
    assert b"progressive error" in done.stdout
    assert linsep.load(tmp_path / "m.linsep").predict(np.ones((1, 12))).shape == (1,)


@pytest.mark.slow
@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["--version"]])
def test_a_standard_output_that_takes_nothing_is_one_line_or_none(args):
    command = [sys.executable, "-m", "linsep", *args]
    for end, code, said in ((">/dev/full", 2, ": no space left on device\n"), (">&-", 0, "")):
        done = subprocess.run(
            ["bash", "-c", f'PYTHONUNBUFFERED= "$@" {end}', "bash", *command], stderr=-1, text=True, check=False
        )
        assert done.returncode == code
        assert done.stderr.endswith(said)
        assert done.stderr.count("\n") == (code > 0)


@pytest.mark.parametrize("args", [["--help"], ["figures", "--list"]])
def test_a_broken_pipe_ends_it_quietly(args):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "linsep", *args], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
