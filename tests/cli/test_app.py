"""The program around the commands: help is quick and true, completion completes, examples run."""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from linsep.cli.app import app
from tests.cli.files import let_threads_work, run_line, write_files

COMMANDS = [
    "demo", "fit", "predict", "evaluate", "compare", "tune", "certify", "verify", "inspect", "convert", "figures",
    "bench",
]  # fmt: skip
HEAVY = ("numba", "sklearn", "scipy", "matplotlib", "numpy", "pandas", "pydantic", "rich")
SHORTER = {"figures": ["--only", "chord"], "bench": ["--rows", "200"]}
"""What makes an example short enough for a test."""


def run(*args):
    return CliRunner().invoke(app, list(args))


def examples():
    """Return the lines of all --help pages that are commands; those of demo are tested in tests/demo."""
    found = []
    for name in (command for command in COMMANDS if command != "demo"):
        lines = [line.strip() for line in run(name, "--help").stdout.splitlines()]
        found += [(name, line) for line in lines if re.match(r"(Example: )?linsep |.* \| linsep ", line)]
    return found


def test_help_lists_the_commands_in_order():
    part = run("--help").stdout.split("Commands\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\w+)", part, flags=re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_says_what_it_does_and_shows_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"linsep {command}" in result.stdout.split("\n", 1)[1]
    assert "{" not in result.stdout
    assert all(len(line) < 80 for line in result.stdout.splitlines() if not line.strip().startswith("linsep "))


def test_help_answers_before_anything_heavy_is_loaded():
    code = f"""
import sys, linsep.cli
sys.argv = ["linsep", "--help"]
try:
    linsep.cli.main()
except SystemExit as stop:
    assert not stop.code
print("loaded:", [name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("loaded: []\n")


@pytest.mark.slow
def test_help_is_quick():
    def seconds(*args):
        """Of the processor, as others may work beside."""
        times = []
        for _ in range(5):
            began = spent()
            subprocess.run([sys.executable, *args], capture_output=True, check=True)
            times.append(spent() - began)
        return min(times)

    def spent():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    assert seconds("-m", "linsep", "--help") - seconds("-c", "pass") < 0.3


@pytest.mark.slow
def test_help_works_without_docstrings():
    code = """
from typer.testing import CliRunner
from linsep.cli.app import app
if run.__doc__ is None:
    for command in ("fit", "certify"):
        result = CliRunner().invoke(app, [command, "--help"])
        print(result.exit_code, "--epochs" in result.stdout, repr(result.stderr))
"""
    code = 'def run(): "text"\n' + code
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 True ''\n" * 2


def test_colour_is_for_terminals_alone():
    assert "\x1b" not in run("fit", "--help").stdout


def test_without_a_command_the_help_is_shown_and_the_status_is_2():
    result = run()
    assert result.exit_code == 2
    assert "Commands" in result.stderr


def asking(*words):
    """Return the environment in which a shell asks for words to complete the last one with."""
    line = shlex.join(["linsep", *words])
    return {"_LINSEP_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}


def completed(*words):
    """Return what a shell is told to complete the last word with."""
    return CliRunner().invoke(app, [], env=asking(*words), prog_name="linsep").stdout.split()


def test_a_process_completes_commands():
    code = "import sys; sys.argv[0] = 'linsep'; from linsep.cli.app import app; app(prog_name='linsep')"
    env = os.environ | asking("co")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.split() == completed("co")


def test_the_shell_completes_commands_learners_and_options():
    assert completed("co") == ["compare", "convert"]
    assert completed("fit", "--learner", "p") == ["perceptron", "p-norm-perceptron", "passive-aggressive", "pegasos"]
    assert completed("compare", "--x-") == ["--x-max"]


def test_completion_can_be_shown(monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))  # the process may have no shell
    result = CliRunner().invoke(app, ["--show-completion"])
    assert "_LINSEP_COMPLETE" in result.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    write_files(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("command", "line"), examples(), ids=lambda value: value if "linsep " in value else "")
def test_every_example_of_every_help_works(command, line, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    let_threads_work(monkeypatch)
    code, shown = run_line(" ".join([line.removeprefix("Example: "), *SHORTER.get(command, [])]))
    assert code == 0, shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("command", ["fit", "compare", "tune", "certify"])
def test_help_fits_on_a_screen_and_names_where_the_rest_is(command):
    page = run(command, "--help").stdout
    assert len(page.splitlines()) <= 40
    assert "--learner NAME --help" in page
    assert "--epochs" in page
    assert "--x-max" not in page
    assert "--x-max" in run(command, "--learner", "winnow", "--help").stdout


QUIET = {
    "fit": ["fit", "train.svm", "-o", "m.linsep"],
    "fit on shards": ["fit", "train.svm", "-o", "m.linsep", "--stream", "--shards", "2"],
    "evaluate": ["evaluate", "model.linsep", "test.svm"],
    "compare": ["compare", "train.svm", "--learner", "perceptron"],
    "certify": ["certify", "train.svm", "-o", "new.cert"],
    "verify": ["verify", "train.cert", "train.svm"],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", QUIET)
def test_quiet_prints_nothing_but_errors(case, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    result = run(*QUIET[case], "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert "contradict each other" in run(*QUIET[case], "--quiet", "--json").stderr
    wrong = run(*QUIET[case], "--quiet", "--on-error", "laugh")
    assert wrong.exit_code == 2
    assert wrong.stderr.count("\n") == 1


def test_several_files_do_not_go_to_the_standard_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in ("figures", "demo"):
        result = run(command, "-o", "-")
        assert result.exit_code == 2
        assert "give a folder" in result.stderr
    assert list(tmp_path.iterdir()) == []
