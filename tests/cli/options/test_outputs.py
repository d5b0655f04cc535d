"""Files that can't be written are refused before any work, and left as they were."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.errors import Interrupted, UsageError
from linsep.cli.jobs import models, sharded
from linsep.cli.options.outputs import check_targets, interruptible
from linsep.models import save_load
from tests.cli.files import write_files

UNWRITABLE = {
    "a folder": ("folder", "it is a folder"),
    "no folder": ("nowhere/x", "there is no folder nowhere"),
    "below a file": ("train.svm/x", "there is no folder train.svm"),
    "a link to nowhere": ("dangling", "there is no folder"),
    "a link to itself": ("loop", "symbolic links"),
    "a folder of the system": ("/proc/x", "can't write to the folder /proc"),
    "a long name": ("x" * 300, "file name too long"),
    "no name": ("", "it is a folder"),
    "the standard output": ("-", "give a file"),
}
WRITES = {
    "fit -o": ["fit", "train.svm", "-o", "X"],
    "fit --report": ["fit", "train.svm", "-o", "m.linsep", "--report", "X"],
    "fit --quarantine": ["fit", "train.svm", "-o", "m.linsep", "--quarantine", "X"],
    "fit --workers": ["fit", "train.svm", "--workers", "2", "-o", "X"],
    "predict -o": ["predict", "model.linsep", "test.svm", "-o", "X"],
    "predict --quarantine": ["predict", "model.linsep", "test.svm", "--quarantine", "X"],
    "evaluate --report": ["evaluate", "model.linsep", "test.svm", "--report", "X"],
    "evaluate --quarantine": ["evaluate", "model.linsep", "test.svm", "--quarantine", "X"],
    "compare --report": ["compare", "train.svm", "--report", "X"],
    "compare --quarantine": ["compare", "train.svm", "--quarantine", "X"],
    "certify -o": ["certify", "train.svm", "-o", "X"],
    "certify --report": ["certify", "train.svm", "--report", "X"],
    "certify --quarantine": ["certify", "train.svm", "--quarantine", "X"],
    "verify --quarantine": ["verify", "train.cert", "train.svm", "--quarantine", "X"],
    "convert": ["convert", "train.svm", "-o", "X.npz"],
    "convert of a model": ["convert", "model.linsep", "-o", "X.csv"],
    "convert --quarantine": ["convert", "train.svm", "-o", "out.npz", "--quarantine", "X"],
    "bench --quarantine": ["bench", "train.svm", "--quarantine", "X"],
    "demo --report": ["demo", "--report", "X"],
}
TO_STDOUT = ("predict -o", "certify -o")
"""Options that take - for the standard output."""
NAMED = ("no folder", "below a file", "a folder of the system")
"""Names that may end in anything."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    write_files(folder)
    (folder / "folder").mkdir()
    (folder / "dangling").symlink_to("nowhere/x")
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.fixture
def no_work(files, monkeypatch):
    """Stand in the folder of the files, where nothing may be read, trained, drawn or written."""

    def refuse(*args, **more):
        raise AssertionError("the work has begun")

    monkeypatch.chdir(files)
    for name in ("read", "stream", "convert", "load", "certify"):
        monkeypatch.setattr(linsep, name, refuse)
    for module in (save_load, models, sharded):
        monkeypatch.setattr(module, "opened", refuse)
    monkeypatch.setattr("linsep.certificates.certificate.Certificate.load", refuse)
    monkeypatch.setattr("linsep.distributed.fit", refuse)
    monkeypatch.setattr("linsep.demo.data_sets.data_sets", refuse)
    before = state()
    yield
    assert state() == before


def state():
    """Return what a folder has in it, and when it was changed."""
    return {path: (path.lstat().st_mtime_ns, path.lstat().st_ino) for path in Path().rglob("*")}


@pytest.mark.slow
@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("case", WRITES)
def test_a_file_that_can_t_be_written_is_refused_before_any_work(case):
    """The target of convert ends in the name of its format."""
    for how, (name, words) in UNWRITABLE.items():
        if how not in NAMED and (case in ("convert", "convert of a model") or (name == "-" and case in TO_STDOUT)):
            continue
        result = CliRunner().invoke(app, [word.replace("X", name) for word in WRITES[case]])
        assert result.exit_code == 2, (how, result.output)
        assert result.stderr.count("\n") == 1, how
        assert words in result.stderr.lower(), how
        assert name in result.stderr, how


CHECK = """
import os, sys
from pathlib import Path
import linsep.data.sources  # while the package can be read
from linsep.cli.errors import UsageError
from linsep.cli.options.outputs import check_targets
os.setgid(65534)
os.setuid(65534)
os.chdir(sys.argv[1])
for option, name in [("-o", "shut/new"), ("-o", "shut/old"), ("-o", "hidden/x"), ("-o", "sticky/theirs"),
                     ("--quarantine", "shut/new"), ("--quarantine", "shut/old"), ("--quarantine", "shut/mine"),
                     ("-o", "shut/pipe"), ("-o", "open/read-only")]:
    try:
        if option == "-o":
            check_targets({option: Path(name)}, [])
        else:
            check_targets({}, [], Path(name))
        print(option, name, "yes")
    except UsageError as error:
        print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_the_rights_of_folders_and_files_are_kept():
    with TemporaryDirectory() as folder:
        base = Path(folder)
        for name in ("shut", "hidden", "sticky", "open"):
            (base / name).mkdir()
        (base / "shut" / "old").write_text("old")
        (base / "shut" / "mine").write_text("mine")
        (base / "sticky" / "theirs").write_text("theirs")
        (base / "open" / "read-only").write_text("old")
        os.mkfifo(base / "shut" / "pipe")
        for name, rights in {"shut/old": 0o444, "shut/mine": 0o666, "sticky/theirs": 0o666, "open/read-only": 0o444,
                             "shut/pipe": 0o444, "shut": 0o555, "hidden": 0o000, "sticky": 0o1777, "open": 0o777,
                             ".": 0o755}.items():  # fmt: skip
            (base / name).chmod(rights)
        done = subprocess.run([sys.executable, "-c", CHECK, folder], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.stdout.splitlines() == [
            "-o shut/new: can't write to the folder shut: permission denied",
            "-o shut/old: can't write to the folder shut: permission denied",
            "-o hidden/x: permission denied",
            "-o sticky/theirs: it belongs to another user; give another name",
            "--quarantine shut/new: can't write to the folder shut: permission denied",
            "--quarantine shut/old: permission denied",
            "--quarantine shut/mine yes",
            "-o shut/pipe: permission denied",
            "-o open/read-only yes",
        ]
        assert (base / "shut" / "mine").read_text() == "mine"


def test_what_can_be_written_is_not_touched(tmp_path):
    old = tmp_path / "old"
    old.write_text("old")
    before = old.stat()
    check_targets({"-o": old, "--report": tmp_path / "new", "-": None}, [], tmp_path / "rows")
    check_targets({}, [], old)
    check_targets({"-o": Path("/dev/null")}, [])
    assert (old.stat(), os.listdir(tmp_path)) == (before, ["old"])


def test_a_quarantine_is_no_other_result(tmp_path):
    with pytest.raises(UsageError, match="null"):
        check_targets({}, [], "a\0")
    with pytest.raises(UsageError, match="name the same file"):
        check_targets({"-o": tmp_path / "a"}, [], str(tmp_path / "a"))


def kept(work, *outputs, **more):
    """Return what is reported of the files if Ctrl-C comes right after some work."""

    @interruptible(*outputs, **more)
    def run():
        work()
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as found:
        run()
    return found.value.kept


def test_an_interruption_reports_what_was_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, report, rows = Path("out"), Path("report"), Path("rows")

    def replace():
        Path("draft").write_text("new")
        os.replace("draft", out)

    assert kept(lambda: None, out, report, None) == "nothing was written"
    assert kept(lambda: None, out, otherwise=lambda: "two epochs are kept") == "two epochs are kept"
    assert kept(replace, out) == "out was written"
    assert kept(lambda: None, out, report) == "out is as it was before"
    assert (
        kept(replace, out, report, otherwise=lambda: "two epochs are kept") == "out was written, report was not written"
    )
    assert (
        kept(lambda: rows.write_text("x"), report, in_place=["rows"])
        == "rows may be incomplete, report was not written"
    )
    assert kept(lambda: None, in_place=["rows", None]) == "nothing was written"


LATE = {
    "fit": (["fit", "train.svm", "-o", "out"], "out was written"),
    "fit --report": (["fit", "train.svm", "-o", "out", "--report", "page"], "out was written, page was not written"),
    "fit --shards": (["fit", "train.svm", "-o", "out", "--stream", "--shards", "2"], "out was written"),
    "predict": (["predict", "model.linsep", "test.svm", "-o", "out"], "out was written"),
    "evaluate": (["evaluate", "model.linsep", "test.svm", "--report", "out"], "out was written"),
    "compare": (["compare", "train.svm", "-l", "perceptron", "--report", "out"], "out was written"),
    "certify": (["certify", "train.svm", "-o", "out", "--time-limit", "1"], "out was written"),
    "convert": (["convert", "train.svm", "-o", "out.npz"], "out.npz was written"),
    "convert of a model": (["convert", "model.linsep", "-o", "out.csv"], "out.csv was written"),
}


@pytest.mark.slow
@pytest.mark.parametrize("old", [True, False], ids=["over an old file", "to a new file"])
@pytest.mark.parametrize("case", LATE)
def test_an_interruption_right_after_a_result_is_in_place_says_so(case, old, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    args, words = LATE[case]
    target = Path(words.split(" ")[0])
    if old:
        target.write_text("old")
    replace = os.replace

    def replace_and_interrupt(source, end, **more):
        replace(source, end, **more)
        if os.path.realpath(end) == os.path.realpath(target):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_and_interrupt)
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 130, result.output
    assert result.stderr.splitlines()[-1] == f"linsep {args[0]}: interrupted; {words}"
    assert target.read_bytes() != b"old"
