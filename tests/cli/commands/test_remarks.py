"""Warnings on rows of which a model knows little: their labels, their columns, their features."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from linsep.cli.app import app
from tests.cli.files import let_threads_work


def run(*args):
    return CliRunner().invoke(app, list(map(str, args)))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    let_threads_work(monkeypatch)
    contents = {
        "train.csv": "a,b,kind\n1,2,x\n3,1,y\n2,2,x\n4,1,y\n",
        "more.csv": "a,b,extra,kind\n1,2,5,x\n3,1,7,z\n",
        "train.svm": "1 1:1 2:3\n-1 1:-1 2:-1\n",
        "other.svm": "1 10:1 12:3\n-1 11:-1\n",
        "some.svm": "1 1:1 12:3\n-1 11:-1\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    assert run("fit", "train.csv", "--label", "kind", "-o", "table.linsep").exit_code == 0
    assert run("fit", "train.svm", "-o", "rows.linsep").exit_code == 0


UNKNOWN = "1 row has a label that the model does not know, each an error: z"
DROPPED = "left out, as the model has no such column: extra"
NONE = "the model knows none of the features (3 entries are left out)"


@pytest.mark.parametrize(
    ("args", "remarks"),
    [
        (["evaluate", "table.linsep", "more.csv"], [DROPPED, UNKNOWN]),
        (["evaluate", "table.linsep", "more.csv", "--brief"], [DROPPED, UNKNOWN]),
        (["evaluate", "table.linsep", "train.csv"], []),
        (["evaluate", "rows.linsep", "other.svm"], [NONE]),
        (["evaluate", "rows.linsep", "some.svm"], []),
        (["predict", "table.linsep", "more.csv"], [DROPPED]),
        (["predict", "table.linsep", "train.csv"], []),
        (["predict", "rows.linsep", "other.svm"], [NONE]),
        (["predict", "rows.linsep", "some.svm"], []),
        (["fit", "train.csv", "--label", "kind", "-o", "m.linsep", "--test", "more.csv"], [UNKNOWN, DROPPED]),
    ],
)
def test_what_is_left_out_is_remarked_on(files, args, remarks):
    result = run(*args)
    assert result.exit_code == 0
    found = [line for line in result.stderr.splitlines() if line.startswith(f"linsep {args[0]}: ")]
    assert len(found) == len(remarks), result.stderr
    for line, remark in zip(found, remarks, strict=True):
        assert remark in line
    if args[0] != "fit":
        shared = run(*args, "--workers", "2")
        assert (shared.exit_code, shared.stderr) == (0, result.stderr)


@pytest.mark.parametrize("args", [["predict", "--scores", "--header"], ["evaluate"]])
@pytest.mark.parametrize("text", ["", "\n# nothing\n"])
def test_files_without_rows_are_refused(files, args, text):
    Path("empty.svm").write_text(text)
    one, shared = (run(args[0], "rows.linsep", "empty.svm", *args[1:], *more) for more in ([], ["--workers", "2"]))
    assert one.exit_code == 3
    assert (shared.exit_code, shared.stderr, shared.stdout) == (one.exit_code, one.stderr, one.stdout)


def test_quiet_says_nothing(files):
    assert run("evaluate", "table.linsep", "more.csv", "--quiet").output == ""
