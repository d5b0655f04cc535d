"""`linsep fit`: a model equal to the library's, progress for people and machines, files that are whole or not there."""

import gzip
import io
import itertools
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.streaming import train_on_stream
from linsep.cli.jobs.training import TrainingTask
from linsep.cli.terminal.progress import TrainingProgress
from linsep.models.save_load import opened
from linsep.transforms import Polynomial, Scale
from tests.cli.files import write_files
from tests.contracts.table import bits, problem, quiet
from tests.processes import forked

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 0), ("more", 1), ("test", 2)):
        X, y = problem(3, n=200, p=12, seed=seed)
        dump_svmlight_file(X, y, f"{name}.svm", zero_based=False)
    (tmp_path / "two.svm").write_text(
        "".join(f"{1 if i % 3 else -1} {1 + i % 5}:1 {6 + i % 3}:0.5\n" for i in range(60))
    )
    return tmp_path


def run(*args, code=0, **more):
    result = CliRunner().invoke(app, ["fit", *args], **more)
    assert result.exit_code == code, result.output
    return result


def told(*args, **more):
    return json.loads(run(*args, "--json", **more).stdout)


@pytest.mark.parametrize("name", linsep.LEARNERS)
def test_a_model_is_the_librarys(name):
    entry = linsep.LEARNERS[name]
    epochs = ("--epochs", "3") if entry.online else ()
    run("two.svm", "-o", "m.linsep", "--learner", name, *epochs, "--seed", "4")
    data = linsep.read("two.svm")
    expected = quiet(entry.make(random_state=4, **({"max_iter": 3} if epochs else {})).fit, data.X, data.y)
    model = linsep.load("m.linsep")
    assert bits(model.decision_function(data.X)) == bits(expected.decision_function(data.X))
    if hasattr(expected, "coef_"):
        assert bits(model.coef_) == bits(expected.coef_)
    assert model.get_params() == expected.get_params()


def test_a_stream_is_learned_in_order_and_once():
    run("train.svm", "more.svm", "-o", "m.linsep", "--stream", "--learner", "perceptron")
    expected = linsep.Perceptron(random_state=0)
    X, y = linsep.read(["train.svm", "more.svm"], zero_based=True)
    expected.partial_fit(X, y, classes=np.unique(y))
    assert bits(linsep.load("m.linsep").coef_) == bits(expected.coef_)
    assert opened("m.linsep").about["epochs"] == 1


def test_epochs_of_a_stream_and_its_growth():
    Path("wide.svm").write_text("1 40:1\n0 41:2 900:1\n")
    run("train.svm", "wide.svm", "-o", "m.linsep", "--stream", "--epochs", "2", "-O", "block_rows=7")
    X, y = linsep.read(["train.svm", "wide.svm"], zero_based=True)
    expected = linsep.AveragedPerceptron(random_state=0).partial_fit(X, y, classes=np.unique(y)).partial_fit(X, y)
    assert bits(linsep.load("m.linsep").coef_) == bits(expected.coef_)


@pytest.mark.parametrize("how", [[], ["--stream"]])
def test_resume_goes_on(how):
    first, second, both = (["-o", f"{name}.linsep", *how] for name in ("first", "second", "both"))
    if how:
        Path("more.svm").write_text(Path("more.svm").read_text() + "1 40:1\n0 41:2 900:1\n")
        run("train.svm", *first)
        run("more.svm", *second, "--resume", "first.linsep")
        run("train.svm", "more.svm", *both)
    else:
        run("train.svm", *first, "--epochs", "2")
        run("train.svm", *second, "--epochs", "3", "--resume", "first.linsep")
        run("train.svm", *both, "--epochs", "5")
    a, b = linsep.load("second.linsep"), linsep.load("both.linsep")
    assert bits(a.coef_) == bits(b.coef_)
    assert a.t_ == b.t_


def test_resume_says_what_it_can_not():
    run("train.svm", "-o", "m.linsep")
    assert (
        "leave out --learner winnow"
        in run("more.svm", "-o", "n.linsep", "--resume", "m.linsep", "--learner", "winnow", code=2).stderr
    )
    run("more.svm", "-o", "n.linsep", "--resume", "train.svm", code=4)
    assert not os.path.exists("n.linsep")


def test_a_summary_a_line_or_json():
    text = run("train.svm", "-o", "m.linsep", "--test", "test.svm").stdout
    for word in ("averaged-perceptron", "progressive error", "200", "test error", "m.linsep"):
        assert word in text
    line = run("train.svm", "-o", "m.linsep", "--brief").stdout
    assert re.fullmatch(r"m\.linsep: 200 rows, progressive error [\d.]+ %, [\d.]+ m?s\n", line)
    result = told("train.svm", "-o", "m.linsep", "--test", "test.svm")
    X, y = linsep.read("test.svm", like=linsep.load("m.linsep"))
    assert result["test"]["error"] == 1 - linsep.load("m.linsep").score(X, y)
    assert result["rows"] == 200
    assert opened("m.linsep").about["progressive_error"] == result["progressive_error"]


@pytest.mark.parametrize("how", [[], ["--stream"]])
def test_lines_at_powers_of_two(how):
    result = run("train.svm", "-o", "m.linsep", "--epochs", "1", *how)
    rows = [int(line.split()[0].replace(",", "")) for line in result.stderr.splitlines()[1:]]
    assert rows == [1, 2, 4, 8, 16, 32, 64, 128, 200]
    assert result.stderr.splitlines()[-1].split()[1] == f"{100 * opened('m.linsep').about['progressive_error']:.1f}"
    assert run("train.svm", "-o", "m.linsep", "--brief", *how).stderr == ""


@pytest.mark.parametrize("learner", ["perceptron", "averaged-perceptron", "voted-perceptron"])
@pytest.mark.parametrize("epochs", ["1", "3"])
def test_the_progressive_error_of_a_stream_is_that_of_what_predicts_or_names_the_other(learner, epochs):
    result = told("train.svm", "-o", "m.linsep", "--stream", "--learner", learner, "--epochs", epochs)
    X, y = linsep.read("train.svm", zero_based=True)
    clf, classes = linsep.LEARNERS[learner].make(), np.unique(y)
    error = 1.0 if learner == "averaged-perceptron" else 0.0
    for lo, hi in ((0, 1), (1, 2), (2, 4), (4, 8), (8, 16), (16, 32), (32, 64), (64, 128), (128, 200)):
        if lo and learner == "averaged-perceptron":
            error += np.sum(clf.predict(X[lo:hi]) != y[lo:hi])
        clf.partial_fit(X[lo:hi], y[lo:hi], classes=classes)
    assert result["progressive_error"] == (error or clf.errors_) / 200
    other = "the last weights, not the vote" if learner == "voted-perceptron" else None
    assert result["progressive_of"] == other
    shown = run("train.svm", "-o", "m.linsep", "--brief", "--stream", "--learner", learner).stdout
    assert ("not the vote" in shown) == (other is not None)


@pytest.mark.parametrize("epochs", ["1", "3"])
@pytest.mark.parametrize("how", [["--shuffle", "false"], ["--stream"]])
def test_the_progressive_error_of_an_average_is_the_same_in_memory_and_on_a_stream(how, epochs):
    first = told("train.svm", "-o", "m.linsep", "--epochs", "1", "--stream")["progressive_error"]
    assert told("train.svm", "-o", "m.linsep", "--epochs", epochs, *how)["progressive_error"] == first
    assert first != linsep.load("m.linsep").errors_ / linsep.load("m.linsep").t_


def test_on_a_stream_that_drifts_the_error_is_that_of_the_average():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    y = np.where(np.arange(1200) < 600, X[:, 0] > 0, X[:, 0] < 0).astype(int)
    dump_svmlight_file(X, y, "drift.svm", zero_based=False)
    average, last = (
        told("drift.svm", "-o", "m.linsep", "--stream", "--learner", of) for of in ("averaged-perceptron", "perceptron")
    )
    assert last["progressive_error"] < 0.15
    assert average["progressive_error"] > 0.25


def test_a_stream_that_is_sorted_by_label_is_warned_of():
    rows = [f"{label} {1 + i % 7}:1 {8 + i % 3}:0.5\n" for label in (1, -1) for i in range(100)]
    Path("sorted.svm").write_text("".join(rows))
    Path("mixed.svm").write_text("".join(rows[i] for i in np.random.default_rng(0).permutation(200)))
    warned = told("sorted.svm", "-o", "m.linsep", "--stream", "-O", "block_rows=30")["remarks"]
    assert len(warned) == 1
    assert "not in random order (label 1: 1 run, where a random order has about 50.5)" in warned[0]
    assert "shuffle the files, or omit --stream" in run("sorted.svm", "-o", "m.linsep", "--stream").stderr
    assert told("mixed.svm", "-o", "m.linsep", "--stream")["remarks"] == []
    assert told("sorted.svm", "-o", "m.linsep")["remarks"] == []


def test_rows_held_out_are_not_learned_from():
    result = told("train.svm", "-o", "m.linsep", "--holdout", "0.25")
    assert (result["rows"], result["test"]["rows"]) == (150, 50)
    again = told("train.svm", "-o", "n.linsep", "--holdout", "0.25")
    assert again["test"] == result["test"]
    streamed = told("train.svm", "-o", "m.linsep", "--holdout", "0.25", "--stream", "--learner", "perceptron")
    assert (streamed["rows"], streamed["test"]["rows"]) == (150, 50)
    X, y = linsep.read("train.svm", zero_based=True)
    held = np.arange(200) % 4 == 3
    expected = linsep.Perceptron().partial_fit(X[~held], y[~held], classes=np.unique(y))
    assert streamed["test"]["error"] == pytest.approx(1 - expected.score(X[held], y[held]))


def test_the_standard_input_is_read():
    text = Path("train.svm").read_bytes()
    for how in ([], ["--stream", "--multi-class", "ovr"]):  # a pipe can't be read again when a label turns up late
        run("-", "-o", "m.linsep", *how, input=text)
        run("train.svm", "-o", "n.linsep", *how)
        assert bits(linsep.load("m.linsep").coef_) == bits(linsep.load("n.linsep").coef_)
    assert "read only once" in run("-", "-o", "m.linsep", "--stream", "--epochs", "2", input=text, code=2).stderr
    assert "read only once" in run("-", "-o", "m.linsep", "--stream", "--holdout", "0.5", input=text, code=2).stderr


def test_words_text_and_weights(folder):
    (folder / "mail.txt").write_text("spam\tcheap pills\nham\tmeet at noon\n" * 5)
    (folder / "people.csv").write_text("age,city,w,label\n31,Oslo,1,yes\n27,Rome,2,no\n44,Oslo,1,yes\n")
    for how in ([], ["--stream"]):
        run("mail.txt", "-o", "m.linsep", *how)
        assert linsep.load("m.linsep").classes_.tolist() == ["ham", "spam"]
        run("people.csv", "-o", "m.linsep", "--weight", "w", *how)
        assert list(opened("m.linsep").form.feature_names) == ["age", "city=Oslo", "city=Rome"]


WRONG = {
    "no file": (["nothing.svm"], 3, "nothing.svm: no such file"),
    "no test": (["train.svm", "--test", "nothing.svm"], 3, "nothing.svm: no such file"),
    "a malformed row": (["bad.svm"], 3, "bad.svm, line 2, column 3"),
    "one label": (["same.svm"], 3, "one class"),
    "one label streamed": (["same.svm", "--stream"], 3, "all rows have the label"),
    "no rows": (["empty.svm"], 3, "no rows"),
    "a share": (["train.svm", "--holdout", "1.5"], 2, "between 0 and 1"),
    "open labels in memory": (["train.svm", "--open-labels"], 2, "--open-labels: only a stream is learned before"),
    "two tests": (["train.svm", "--holdout", "0.5", "--test", "test.svm"], 2, "give one of them"),
    "another's option": (["train.svm", "--eta", "0.1"], 2, "averaged-perceptron has no --eta"),
    "a wrong value": (["train.svm", "--learner", "winnow", "--eta", "-1"], 2, "eta"),
    "a learner that is not": (["train.svm", "--learner", "perceptorn"], 2, "did you mean perceptron?"),
    "entries that it can't take": (["train.svm", "--learner", "winnow"], 3, "--x-max"),
    "an order": (["train.svm", "--stream", "--shuffle", "once"], 2, "leave out --shuffle"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line_and_a_code(case, folder):
    (folder / "bad.svm").write_text("1 1:1\n1 x:1\n")
    (folder / "same.svm").write_text("1 1:1\n1 2:1\n")
    (folder / "empty.svm").touch()
    args, code, words = WRONG[case]
    result = run(*args, "-o", "m.linsep", "--brief", code=code)
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert not os.path.exists("m.linsep")


def test_malformed_rows_can_be_left_out(folder):
    (folder / "bad.svm").write_text("1 1:1\n1 x:1\n0 2:1\n")
    assert told("bad.svm", "-o", "m.linsep", "--on-error", "skip")["rejected"] == 1
    run("bad.svm", "-o", "m.linsep", "--quarantine", "out.svm", "--stream")
    assert (folder / "out.svm").read_text() == "1 x:1\n"


def test_labels_that_the_first_rows_do_not_have(folder):
    (folder / "late.svm").write_text(
        "1 1:1\n2 2:1\n" * 30 + "3 3:1 1:1\n".replace("3:1 1:1", "1:1 3:1") * 5 + "1 1:1\n" * 9
    )
    for more in ([], ["--multi-class", "joint"]):
        run("late.svm", "-o", "m.linsep", "--stream", "--learner", "perceptron", "-O", "block_rows=16", *more)
        X, y = linsep.read("late.svm", zero_based=True)
        expected = linsep.Perceptron(multi_class=more[-1] if more else "ovr")
        for lo in range(0, len(y), 16):
            expected.partial_fit(X[lo : lo + 16], y[lo : lo + 16])
        model = linsep.load("m.linsep")
        assert model.classes_.tolist() == [1, 2, 3]
        assert bits(model.coef_) == bits(expected.coef_)
        assert model.errors_ == expected.errors_


def test_the_model_must_have_a_place(folder):
    assert "no folder" in run("train.svm", "-o", "nowhere/m.linsep", code=2).stderr
    assert "is a folder" in run("train.svm", "-o", str(folder), code=2).stderr


OVER = {
    "the data": ["-o", "train.svm"],
    "the test": ["-o", "test.svm", "--test", "test.svm"],
    "a report over the data": ["-o", "m.linsep", "--report", "train.svm"],
    "a report over the model": ["-o", "m.linsep", "--report", "./m.linsep"],
    "quarantine": ["-o", "m.linsep", "--quarantine", "train.svm"],
}


@pytest.mark.parametrize("case", OVER)
def test_nothing_is_written_over_what_it_is_made_of(case):
    before = {name: Path(name).read_bytes() for name in ("train.svm", "test.svm")}
    assert re.search("would be lost|name the same file", run("train.svm", *OVER[case], code=2).stderr)
    assert before == {name: Path(name).read_bytes() for name in before}
    assert not os.path.exists("m.linsep")


def interrupted(folder, *args, rows, until):
    """Run fit on rows from a pipe until it says something, then interrupt it; return what it said in the end."""
    command = forked("fit", "-", "-o", "m.linsep", *args)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, cwd=folder) as child:
        child.stdin.write(rows)
        child.stdin.flush()
        while until not in child.stderr.readline():
            pass
        child.send_signal(signal.SIGINT)
        said = child.stderr.read().decode()
        assert child.wait() == 130
    assert "Traceback" not in said
    assert [name for name in os.listdir(folder) if name.endswith(".tmp")] == []
    return said


@pytest.mark.slow
def test_a_stream_that_is_interrupted_is_a_model(folder):
    said = interrupted(folder, "--stream", rows=b"1 1:1\n0 2:1\n" * 50_000, until=b"65,536")
    model = linsep.load("m.linsep")
    assert f"interrupted; m.linsep has what was learned from {model.t_:,} rows" in said
    assert model.t_ >= 65_536
    assert model.predict(linsep.read(io.BytesIO(b"1 1:1\n0 2:1\n"), like=model).X).tolist() == [1, 0]


@pytest.mark.slow
def test_an_interruption_before_there_is_a_model_leaves_the_old_one(folder):
    run("train.svm", "-o", "m.linsep")
    old = (folder / "m.linsep").read_bytes()
    said = interrupted(folder, "--stream", rows=b"1 1:1\n" * 100_000, until=b"65,536")
    assert "interrupted; m.linsep is as it was before" in said
    assert (folder / "m.linsep").read_bytes() == old


@pytest.mark.slow
def test_a_bar_on_a_terminal(folder):
    run("train.svm", "-o", "m.linsep")  # compiled
    parent, child = pty.openpty()
    command = forked("fit", "train.svm", "-o", "m.linsep", "--epochs", "300")
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}
    process = subprocess.Popen(command, stderr=child, stdout=subprocess.PIPE, cwd=folder, env=environment)
    os.close(child)
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        try:
            part = os.read(parent, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert process.wait() == 0
    process.stdout.close()
    os.close(parent)
    assert b"learning" in shown
    assert b"rows/s" in shown
    assert b"error" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [["--test", "test.svm"], ["--holdout", "0.2"], [], ["--stream"], ["--stream", "--test", "test.svm"]]
)
def test_a_report_tells_what_was_trained_on_what(how):
    pytest.importorskip("matplotlib")
    run("train.svm", "-o", "m.linsep", "--report", "page.html", "--learner", "perceptron", *how)
    page = Path("page.html").read_text()
    for heading in ("What was trained on what", "How it learned", "Strongest features", "What next"):
        assert heading in page
    assert ("Largest errors" in page) == ("--stream" not in how or "--test" in how)
    assert ("flatters it" in page) == (how == [])
    assert page.count("<svg") >= (2 if how == ["--stream"] else 3)
    assert "Progressive error" in page


def test_a_report_of_a_learner_that_counts_no_errors():
    pytest.importorskip("matplotlib")
    X, y = problem(3, n=60, p=5)
    dump_svmlight_file(abs(X) / 3, y, "small.svm", zero_based=False)
    run("small.svm", "-o", "m.linsep", "--report", "page.html", "--learner", "winnow", "--multi-class", "ovr")
    assert "Progressive error" not in Path("page.html").read_text()


def test_maps_stand_before_the_learner():
    run(
        "train.svm",
        "-o",
        "m.linsep",
        "--map",
        "scale",
        "--map",
        "polynomial:degree=2",
        "--test",
        "test.svm",
        "--seed",
        "1",
    )
    X, y = linsep.read("train.svm")
    expected = quiet(make_pipeline(Scale(), Polynomial(2), linsep.AveragedPerceptron(random_state=1)).fit, X, y)
    saved = opened("m.linsep")
    assert bits(saved.model.decision_function(X)) == bits(expected.decision_function(X))
    test = linsep.read("test.svm", like=saved)
    assert saved.about["test"]["error"] == pytest.approx(1 - expected.score(test.X, test.y))
    assert [name for name, _ in saved.model.steps] == ["scale", "polynomial", "learner"]
    assert saved.about["features"] == 12


NO_MAPS = {
    "another name": (["--map", "scael"], "did you mean scale?"),
    "another parameter": (["--map", "polynomial:power=2"], "its parameters are degree"),
    "a stream": (["--map", "scale", "--stream"], "leave out --stream"),
    "a model": (["--map", "scale", "--resume", "m.linsep"], "continues with the features that it has"),
}


@pytest.mark.parametrize("case", NO_MAPS)
def test_maps_that_can_not_be(case):
    args, words = NO_MAPS[case]
    run("train.svm", "-o", "m.linsep")
    assert words in run("train.svm", "-o", "n.linsep", *args, code=2).stderr


def test_resume_keeps_the_rows_held_out():
    run("train.svm", "-o", "m.linsep", "--seed", "7", "--holdout", "0.25", "--epochs", "1")
    first = opened("m.linsep").about["test"]
    run("train.svm", "-o", "n.linsep", "--resume", "m.linsep", "--holdout", "0.25", "--epochs", "1")
    X, y = linsep.read("train.svm")
    held = np.sort(np.random.default_rng([7, 0x484F4C44]).permutation(200)[:50])
    assert first["rows"] == 50
    assert opened("n.linsep").about["test"]["error"] == pytest.approx(
        1 - linsep.load("n.linsep").score(X[held], y[held])
    )
    assert (
        "leave out --seed" in run("train.svm", "-o", "n.linsep", "--resume", "m.linsep", "--seed", "1", code=2).stderr
    )


@pytest.mark.parametrize("open_labels", [True, False])
def test_new_labels_when_a_stream_is_resumed(open_labels, folder):
    (folder / "new.svm").write_text("9 1:1\n0 2:1\n")
    run("train.svm", "-o", "m.linsep", "--stream", *(["--open-labels"] if open_labels else []))
    result = run("new.svm", "-o", "m.linsep", "--stream", "--resume", "m.linsep", code=0 if open_labels else 3)
    assert ("--open-labels" in result.stderr) != open_labels
    assert (9 in linsep.load("m.linsep").classes_) == open_labels


def test_a_stream_keeps_no_log_unless_it_is_said():
    run("train.svm", "-o", "m.linsep", "--stream")
    assert not hasattr(linsep.load("m.linsep"), "log_")
    run("train.svm", "-o", "m.linsep", "--stream", "--log", "true")
    assert len(linsep.load("m.linsep").log_) > 0


@pytest.mark.parametrize("share", ["0.1", "0.4", "0.6", "0.9"])
def test_as_many_rows_are_held_out_as_were_said(share):
    for how in ([], ["--stream"]):
        result = told("train.svm", "-o", "m.linsep", "--holdout", share, *how)
        assert result["test"]["rows"] == pytest.approx(200 * float(share))
        assert result["rows"] + result["test"]["rows"] == 200


def test_malformed_rows_of_a_test_are_left_out_too(folder):
    (folder / "bad.svm").write_text("1 1:1\n1 x:1\n0 2:1\n")
    result = told("train.svm", "-o", "m.linsep", "--test", "bad.svm", "--quarantine", "out.svm")
    assert result["test"]["rows"] == 2


def failed(*args):
    result = CliRunner().invoke(app, [*map(str, args), "-o", "new.linsep"])
    assert result.exit_code in (2, 3), result.output
    return result.output


def test_options_that_the_command_sets_are_refused(folder):
    assert "-O once=foo: once is no option of the reader" in failed("fit", "train.svm", "--stream", "-O", "once=foo")
    line = failed("fit", "train.svm", "-O", "nope=5")
    assert "nope= is no option of svmlight data: these have" in line
    assert "on_error" in line
    assert "like" not in line
    assert "progress" not in line


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--threads", "0"], "--threads 0: there would be no thread to run on"),
        (["--on-error", "quarantine"], "--on-error quarantine needs a file for the rows: add --quarantine FILE"),
        (["--on-error", "skip", "--quarantine", "bad"], "remove --on-error skip"),
        (["--epochs", str(10**19)], "are more rounds than int64 counts"),
        (["--epochs", str(1 << 62)], "are more rounds than int64 counts"),
        (["--epochs", str(1 << 62), "--stream"], "are more rounds than int64 counts"),
    ],
)
def test_errors_speak_of_options(folder, args, reason):
    assert reason in failed("fit", "train.svm", *args)


def test_an_empty_file_is_named(folder):
    Path("empty.svm.gz").write_bytes(gzip.compress(b""))
    for more in ([], ["--stream"]):
        assert "empty.svm.gz: there are no rows to learn from" in failed("fit", "empty.svm.gz", *more)


def test_a_damaged_index_names_the_file_and_the_option_that_finds_it(folder):
    linsep.convert("train.svm", "train.npz")
    with np.load("train.npz") as stored:
        arrays = dict(stored)
    whole = Path("train.npz").read_bytes()
    indices = arrays["indices"]
    place = whole.index(indices.tobytes())
    last = place + indices.nbytes - indices.itemsize
    Path("train.npz").write_bytes(whole[:last] + b"\xff" + whole[last + 1 :])
    for more in ([], ["--stream"], ["--map", "scale"]):
        line = failed("fit", "train.npz", *more)
        assert "train.npz: " in line
        assert "column index 255" in line
        assert "-O verify=true" in line


@pytest.mark.slow
def test_the_title_of_a_report_has_no_folders(folder):
    run(str(folder / "train.svm"), "-o", str(folder / "m.linsep"), "--report", "page.html")
    head = Path("page.html").read_text().partition("</h1>")[0]
    assert "on train.svm" in head
    assert str(folder) not in head


def test_rows_before_a_new_label_are_counted_once():
    Path("late.svm").write_text("0 1:1\n1 2:1\n" * 4 + "2 3:1\n" * 2)
    learner = linsep.Perceptron()
    task = TrainingTask(["late.svm"], {"block_rows": 2, "n_jobs": 1}, learner, 1, 0, TrainingProgress(shown=False))
    assert train_on_stream(task).rows == 10
    assert task.learned == 10


def test_a_time_limit_ends_a_stream_and_is_refused_where_nothing_would_be_kept(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("linsep.cli.jobs.streaming.BLOCK_ROWS", 10)
    fit = ["fit", "train.svm", "-o", "m.linsep", "-l", "perceptron", "--epochs", "3", "--time-limit"]
    result = CliRunner().invoke(app, [*fit, "1e-9", "--stream", "--json"])
    assert result.exit_code == 0, result.output
    assert result.stderr == "linsep fit: --time-limit 1e-09: ended after 10 rows\n"
    ended = json.loads(result.stdout)
    assert [ended[name] for name in ("rows", "epochs", "learned")] == [10, 1, 10]
    assert ended["progressive_error"] == ended["mistakes"] / 10
    assert len(linsep.load("m.linsep").predict(linsep.read("train.svm", n_features=13).X)) == 120
    whole = CliRunner().invoke(app, [*fit, "1000", "--stream", "--json"])
    assert [json.loads(whole.stdout)[name] for name in ("rows", "epochs", "learned")] == [120, 3, 360]
    for more in ([], ["--stream", "--shards", "2"], ["--learner", "max-margin"]):
        result = CliRunner().invoke(app, [*fit, "5", *more])
        assert result.exit_code == 2
        assert "has a model only after all rows; limit its work by --epochs, or add --stream" in result.stderr
    assert CliRunner().invoke(app, [*fit, "0"]).exit_code == 2
    solved = CliRunner().invoke(app, ["fit", "train.svm", "-o", "m", "-l", "linear-program", "--time-limit", "9"])
    assert solved.exit_code in (0, 3), solved.output


def test_a_stream_that_starts_again_at_a_new_label_has_the_time_that_is_left(folder, monkeypatch):
    Path("late.svm").write_text("0 1:1\n1 2:1\n" * 4 + "2 3:1\n" * 2)
    seconds = itertools.count()
    monkeypatch.setattr("linsep.cli.jobs.streaming.perf_counter", lambda: next(seconds))
    progress = TrainingProgress(shown=False)
    task = TrainingTask(
        ["late.svm"], {"block_rows": 2, "n_jobs": 1}, linsep.Perceptron(), 1, 0, progress, time_limit=6.5
    )
    assert train_on_stream(task).rows == 6
    assert task.out_of_time


def test_few_rows_have_mistakes_instead_of_a_rate(folder):
    (folder / "few.svm").write_text("".join((folder / "train.svm").read_text().splitlines(keepends=True)[:20]))
    line = run("few.svm", "-o", "m.linsep", "--brief").stdout
    assert re.fullmatch(r"m\.linsep: 20 rows, \d+ mistakes?, [\d.]+ m?s\n", line)
