"""Every failure is one line and its exit code; a bug keeps its traceback."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import linsep
from linsep.cli.app import CommandGroup, app
from linsep.cli.errors import EXTRAS, Interrupted, UsageError, explain
from linsep.data.registry import NoOptionError
from linsep.models.save_load import ModelError
from linsep.validation.errors import InvalidDataError, ParameterError
from tests.processes import forked

X, Y = np.array([[0.0, 1], [1, 0], [2, 1], [1, 2]]), [0, 1, 1, 0]


def running(work, **more):
    """Return what a command that does this work shows."""
    made = typer.Typer(cls=CommandGroup, pretty_exceptions_enable=False)
    made.command("work")(work)
    made.command("other")(lambda: None)
    return CliRunner().invoke(made, ["work"], **more)


def raising(error):
    def work() -> None:
        raise error

    return work


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("--a goes with --b"), 2, "--a goes with --b"),
        (InvalidDataError("no rows"), 3, "no rows"),
        (ParameterError("eta=-1 is no rate"), 2, "--eta -1 is no rate"),
        (NoOptionError("columms", "csv", ["columns"]), 2, "did you mean columns=?"),
        (linsep.DataError("a.svm", "'x' is no number", 3, 5), 3, "a.svm, line 3, column 5: 'x' is no number"),
        (ModelError("m.linsep", "it is cut off"), 4, "m.linsep: it is cut off"),
        (FileNotFoundError(2, "No such file or directory", "m.linsep"), 2, "m.linsep: no such file or directory"),
        (OSError(28, "No space left on device"), 2, "no space left on device"),
        (OSError("No such device (os error 19)"), 2, "No such device (os error 19)"),
        (MemoryError(), 2, "not enough memory"),
        (ModuleNotFoundError("No module named 'onnx'", name="onnx"), 2, "this needs onnx: pip install 'linsep[onnx]'"),
        (ImportError("tables are read with pyarrow: pip install 'linsep[arrow]'"), 2, "pip install 'linsep[arrow]'"),
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (Interrupted(kept="m.linsep has 3 epochs"), 130, "interrupted; m.linsep has 3 epochs"),
        (typer.BadParameter("it is odd"), 2, "it is odd"),
    ],
)  # fmt: skip
def test_a_failure_is_one_line_and_a_code(error, code, line):
    result = running(raising(error))
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("linsep work: ")
    assert result.stderr.count("\n") == 1
    assert line in result.stderr
    assert "Traceback" not in result.stderr


def said_by_linsep(error):
    """Raise an error from within a module of the package, as its own code does."""
    namespace = {"__name__": "linsep.somewhere", "error": error}
    exec("raise error", namespace)


@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_command_s_own_code_is_kept(code):
    assert running(raising(typer.Exit(code))).exit_code == code


@pytest.mark.parametrize(
    "work",
    [
        lambda: 1 / 0,
        lambda: np.ones(2) + np.ones(3),
        lambda: int("x"),
        lambda: __import__("no_such_module"),
        raising(ValueError("raised by a test, not by linsep")),
        lambda: said_by_linsep(ValueError("a bug within the package")),
        raising(io.UnsupportedOperation("fileno")),
    ],
)
def test_a_bug_keeps_its_traceback(work):
    result = running(lambda: work())
    assert not isinstance(result.exception, (SystemExit, type(None)))
    assert explain(result.exception) is None


def of_learner(learner, *args, **more):
    with pytest.raises(ValueError) as found:  # noqa: PT011  (the code is what is tested)
        learner.fit(*args, **more)
    return explain(found.value)


def test_what_learners_say_of_data_is_bad_data():
    for learner, rows, labels in (
        (linsep.Winnow(), X, Y),
        (linsep.Perceptron(), X, [1, 1, 1, 1]),
        (linsep.Perceptron(), X * np.nan, Y),
        (linsep.Perceptron(), X[:0], Y[:0]),
        (linsep.Perceptron(), X, [0, 1]),
        (linsep.Perceptron(), X, [0, 1, np.nan, 1]),
        (linsep.Perceptron(), X * 0.8e308, Y),
        (linsep.Perceptron(), X, [0.5, 1.5, 0.25, 3]),
    ):
        assert of_learner(learner, rows, labels)[0] == 3
    assert of_learner(linsep.Perceptron(), X, Y, sample_weight=[0, 0, 0, 0])[0] == 3
    with pytest.raises(ValueError) as found:  # noqa: PT011
        linsep.Perceptron().fit(X, Y).predict(X[:, :1])
    assert explain(found.value)[0] == 3


def test_what_learners_say_of_parameters_is_usage():
    for learner in (
        linsep.Winnow(delta=2.0),
        linsep.Winnow(delta=0.1, x_max=None),
        linsep.LogisticRegression(solver="sgd", prior_variance=1e-9),
        linsep.Perceptron(class_weight={7: 2.0}),
        linsep.Perceptron(max_iter=0),
    ):
        assert of_learner(learner, X / 2, Y)[0] == 2


def test_the_traceback_is_shown_on_request():
    result = running(raising(UsageError("so")), env={"LINSEP_TRACEBACK": "1"})
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("linsep work: so\n")


def test_a_warning_is_one_line():
    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("it may\nbe late", UserWarning, stacklevel=1)

    result = running(work)
    assert result.exit_code == 0
    assert result.stderr == "linsep work: warning: it may be late\n"


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense"], ["fitt"], ["evaluate"], ["evaluate", "m", "d", "--nonsense"],
        ["evaluate", "m", "d", "--threads", "99999999999999999999"],
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line(args):
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "--help" in result.stderr


def test_codes_of_real_files(folder):
    damaged = bytearray((folder / "model.linsep").read_bytes())
    damaged[-1] ^= 1
    (folder / "damaged.linsep").write_bytes(damaged)
    (folder / "bad.svm").write_text("1 1:0.5\n0 2:one\n")
    for args, code in (
        (["evaluate", "model.linsep", "test.svm"], 0),
        (["evaluate", "missing.linsep", "test.svm"], 2),
        (["evaluate", "model.linsep", "missing.svm"], 3),
        (["evaluate", "model.linsep", "bad.svm"], 3),
        (["evaluate", "model.linsep", "test.txt"], 3),
        (["evaluate", "damaged.linsep", "test.svm"], 4),
        (["evaluate", "test.svm", "test.svm"], 4),
        (["evaluate", "model.linsep", "test.svm", "-O", "n_features=3"], 2),
        (["evaluate", "model.linsep", "test.svm", "--on-error", "ignore"], 2),
        (["inspect", "damaged.linsep"], 4),
        (["convert", "bad.svm", "-o", "bad.npz"], 3),
    ):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == code, (args, result.output)
        assert result.stderr.count("\n") == (code > 0), args
    assert not (folder / "bad.npz").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_damaged_compressed_data_are_bad_data_for_every_command(kind, folder):
    lines, pack = (folder / "train.svm").read_bytes(), {"gz": gzip, "bz2": bz2, "xz": lzma}[kind].compress
    second = bytearray(pack(lines))
    second[len(second) // 2] ^= 0x55
    name = f"damaged.svm.{kind}"
    (folder / name).write_bytes(pack(lines) + second)
    for args in (
        ["fit", name, "-o", "made.linsep"],
        ["fit", name, "-o", "made.linsep", "--stream"],
        ["fit", name, "-o", "made.linsep", "--stream", "--shards", "2"],
        ["fit", "train.svm", "--test", name, "-o", "made.linsep"],
        ["predict", "model.linsep", name],
        ["evaluate", "model.linsep", name],
        ["compare", name, "--learner", "perceptron"],
        ["convert", name, "-o", "made.npz"],
        ["certify", name, "-o", "made.cert"],
        ["verify", "train.cert", name],
        ["bench", name],
    ):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 3, (args, result.output, result.exception)
        assert f"{name}: the" in result.stderr.splitlines()[-1]
    assert not list(folder.glob("made.*"))


def test_weights_that_a_learner_does_not_take_are_one_line(folder):
    for args, code, what in (
        (["fit", "train.svm", "-l", "romma", "--class-weight", "0=2", "-o", "m"], 2, "has weight 2, but Romma"),
        (["certify", "train.svm", "-l", "perceptron", "--class-weight", "0=0", "-o", "m"], 3, "rows of weight 0"),
    ):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == code, (args, result.output)
        assert result.stderr.count("\n") == 1
        assert what in result.stderr


PIPED = """
import sys, typer
from linsep.cli.app import CommandGroup
from linsep.cli.terminal.output import stdout, print_json
app = typer.Typer(cls=CommandGroup)
@app.command()
def rich(): [stdout().print("x" * 1000) for _ in range(1000)]
@app.command()
def plain(): [typer.echo("x" * 1000) for _ in range(1000)]
@app.command()
def little(): sys.stdin.read(); typer.echo("x")
app(prog_name="linsep")
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rich", "plain", "little"])
def test_a_closed_pipe_ends_it_quietly(command):
    args = [sys.executable, "-c", PIPED, command]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(args, **pipes) as process:
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
def test_a_full_disk_is_reported_with_the_file(folder):
    (folder / "bad.svm").write_text((folder / "train.svm").read_text() + "x\n")
    for args in (
        ["fit", "train.svm", "-o", "/dev/full"],
        ["predict", "model.linsep", "new.svm", "-o", "/dev/full"],
        ["convert", "bad.svm", "-o", "rows.npz", "--quarantine", "/dev/full"],
    ):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 2, result.output
        assert result.stderr.endswith(f"linsep {args[0]}: /dev/full: no space left on device\n")
    inspect = ["inspect", "model.linsep"]
    for command in (["predict", "model.linsep", "new.svm"], inspect, [*inspect, "--json"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(forked(*command), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == f"linsep {command[0]}: standard output: no space left on device\n"


def test_a_missing_package_is_in_the_extra_that_the_error_names():
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for package, extra in EXTRAS.items():
        assert any(needed.startswith(package) for needed in extras[extra]), package


def test_every_complaint_about_data_is_bad_data():
    big, words = X * 1e200, np.array([0, 1, 2, 0])
    for learner, rows, labels in (
        (linsep.NaiveBayes(kind="gaussian"), big, Y),
        (linsep.NaiveBayes(), -X, Y),
        (linsep.MaxMargin(), big, Y),
        (linsep.LogisticRegression(), big, Y),
        (linsep.LinearProgram(), X, words),
        (linsep.KernelPerceptron(), big, Y),
        (linsep.VotedPerceptron(), big * 1e10, Y),
    ):
        with pytest.raises(InvalidDataError) as found:
            learner.fit(rows, labels)
        assert explain(found.value)[0] == 3


def test_messages_name_options():
    code, line = of_learner(linsep.Winnow(), X, Y)
    assert code == 3
    assert "--x-max 1" in line
    assert "x_max" not in line


@pytest.mark.parametrize(
    ("table", "args", "words"),
    [
        ("a,b\n1,2\n", [], "none is called like one; pass --label COLUMN, or --label null if there are none"),
        ("a,y\n,2\n", [], "a value is missing; -O missing=zero if it is 0, or -O missing=indicator to mark it"),
        ("a,y\n1,2\nx,3\n", [], """'x' in column 'a' is not a number: -O 'words=["a"]' if the column"""),
        ("a,y\n1,2\n", ["--missing", "zero"], "no such option: --missing; write -O missing=VALUE, as it is an option"),
        ("a,y\n1,2\n", ["--stream", "--window", "0"], "invalid value for '--window': it is at least 1"),
        ("a,y\n1,2\n", ["-O", "keep_names=true"], "add -O categories=hashed or -O text=COLUMN"),
    ],
)
def test_errors_of_readers_speak_of_options(tmp_path, table, args, words):
    (tmp_path / "a.csv").write_bytes(table.encode("utf-8", "surrogateescape"))
    result = CliRunner().invoke(app, ["fit", str(tmp_path / "a.csv"), "-o", str(tmp_path / "m"), *args])
    assert result.exit_code in (2, 3)
    assert words in result.stderr


def test_a_model_cut_short_is_one_plain_sentence(tmp_path):
    (tmp_path / "cut.linsep").write_bytes((1000).to_bytes(8, "little") + b'{"a": 1')
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "cut.linsep")])
    assert result.exit_code == 4
    assert result.stderr.endswith("cut.linsep: not a linsep model, or truncated: copy or save it again\n")
