"""Command lines with random options: every failure is one line and its exit code, and none is a traceback.

A longer run: `python -m tests.cli.test_random_options 2000`.
"""

import os
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from linsep.cli.app import app
from linsep.data.registry import FORMATS, format_class, options_of
from linsep.estimators.registry import LEARNERS
from tests.cli.files import write_files

COMMANDS = ("fit", "fit", "fit", "predict", "evaluate", "compare", "certify", "verify", "inspect", "convert", "figures")
NEVER = {"help", "workers", "scheduler", "install_completion", "show_completion"}
"""Options that show help, or take seconds to start processes."""
WORDS = (
    "", "-1", "0", "1", "2", "3", "0.5", "1e-9", "1e9", "1e400", "nan", "inf", "-inf", "none", "null", "true", "false",
    "word", "é", "[1,2]", "{}", '{"a":1}', "a=1", "1=2,0=1", "a=,=", "1e", "99999999999999999999", "0x10", "1_0", "a,b",
    "balanced", "income", "no/such/file",
)  # fmt: skip
DATA = ("train.svm", "test.svm", "train.csv", "train.txt", "train.vw", "empty", "missing.svm", "bad.svm")
MAPS = ("scale", "bias", "polynomial:degree=2", "polynomial:degree=x", "scale-columns:by=std", "delta-trick", "no:a=1")
WRITTEN = ("-o", "--out", "--report", "--quarantine")
"""Options that name a file to be written."""
CODES = {0, 1, 2, 3, 4}


def option_table(command):
    """Return the options of a command: names, choices, and whether they are flags."""
    group = typer.main.get_command(app)
    found = group.commands[command]
    context = found.make_context(command, [], resilient_parsing=True)
    params = [param for param in found.get_params(context) if param.param_type_name == "option"]
    return [param for param in params if param.name not in NEVER]


def random_line(rng, tables):
    """Return a random command line."""
    command = str(rng.choice(COMMANDS))
    words = [command]
    if command in ("predict", "evaluate", "inspect"):
        words.append(str(rng.choice(["model.linsep", "model.linsep", "model.linsep", "train.svm"])))
    if command == "verify":
        words.append(str(rng.choice(["train.cert", "train.svm"])))
    if command not in ("inspect", "figures"):
        words += [str(name) for name in rng.choice(DATA, rng.choice([1, 1, 1, 2]), replace=False)]
    if command in ("fit", "convert") and rng.random() < 0.95:
        words += ["-o", str(rng.choice(["out.linsep", "out.npz", "out.json"], p=[0.6, 0.3, 0.1]))]
    if command == "figures":
        words += ["--only", "chord"]
    if command in ("fit", "certify", "compare") and rng.random() < 0.9:
        words += ["--learner", str(rng.choice([*LEARNERS]))]
        if rng.random() < 0.8:
            words += ["--epochs", "2"]
    table = tables[command]
    for k in rng.integers(len(table), size=rng.choice([0, 1, 1, 2, 3])):
        words += random_option(rng, table[k])
    return words


def random_option(rng, param):
    """Return an option with a random value."""
    name = str(rng.choice([*param.opts, *param.secondary_opts]))
    if getattr(param, "is_flag", False):
        return [name]
    if param.name == "option":
        own = {of for form in map(format_class, FORMATS) for of in options_of(form)}
        return [name, f"{rng.choice(sorted(own | {'dtype', 'cache', 'verify'}))}={rng.choice(WORDS)}"]
    choices = list(WORDS)
    choices += {"map": [*MAPS] * 6, "learner": [*LEARNERS] * 4, "format": [*FORMATS] * 4}.get(param.name, [])
    if param.name in ("test", "resume"):
        choices += [*DATA] * 4
    if param.name in ("out", "report", "quarantine"):
        choices = ["-", "out.file", "out.npz", "out.json", "no/folder", ".", "train.svm", ""]
    if param.metavar and "|" in param.metavar:
        choices += [*param.metavar.split("|")] * 5
    return [name, str(rng.choice(choices))]


def refused(words):
    """Run a command line; return what is wrong with how it ended, or None."""
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{result.exception!r}"
    if result.exit_code not in CODES or "Traceback" in result.output:
        return f"exit code {result.exit_code}: {result.output}"
    if result.exit_code > 1 and not result.stderr.splitlines()[-1].startswith("linsep"):
        return f"the last line of stderr is no message: {result.stderr}"
    return None


def is_output(name, words):
    """Return whether a command writes to a file and does not read it."""
    named = [word for word, before in zip(words[1:], words, strict=False) if before in WRITTEN]
    named += [word.partition("=")[2] for word in words if word.startswith("quarantine=")]
    return name in named and words.count(name) == 1


def run_lines(count, seed, out=None):
    """Run random command lines in a folder of their own; return those that ended in a wrong way."""
    rng, wrong = np.random.default_rng(seed), []
    tables = {command: option_table(command) for command in dict.fromkeys(COMMANDS)}
    with TemporaryDirectory() as folder, chdir(folder):
        write_files(Path())
        Path("empty").write_text("")
        Path("bad.svm").write_text("1 1:0.5\n0 2:one\n")
        kept = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
        for k in range(count):
            words = random_line(rng, tables)
            if out is not None:
                print(k, *map(repr, words), file=out, flush=True)
            flaws = [refused(words)]
            for name, content in kept.items():
                if not Path(name).is_file() or Path(name).read_bytes() != content:
                    Path(name).write_bytes(content)
                    if not is_output(name, words):
                        flaws.append(f"{name} was changed")
            for flaw in filter(None, flaws):
                wrong.append((words, flaw))
                if out is not None:
                    print("  WRONG", *map(repr, words), flaw, file=out, flush=True)
            for path in Path().iterdir():
                if path.is_file() and path.name not in kept:
                    path.unlink()
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_random_options_end_in_a_line_and_a_code(seed):
    assert run_lines(30, seed) == []


if __name__ == "__main__":
    os.environ.setdefault("LINSEP_COMPILE", "auto")
    found = run_lines(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, sys.stdout)
    print(f"{len(found)} of {sys.argv[1]} ended in a wrong way")
    sys.exit(bool(found))
