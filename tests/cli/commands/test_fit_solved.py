"""`linsep fit` with learners that see all rows at once, and with calibration."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.options.learners import in_options
from linsep.models.save_load import opened
from tests.cli.files import write_mail, write_svmlight
from tests.contracts.table import bits

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train", "more")):
        write_svmlight(tmp_path / f"{name}.svm", 60, seed)
    rows = [f"{1 if i % 3 else -1} {1 + i % 5}:1 {6 + i % 3}:0.5" for i in range(60)]
    (tmp_path / "two.svm").write_text("\n".join(rows) + "\n")
    return tmp_path


def run(*args, code=0):
    result = CliRunner().invoke(app, list(map(str, args)))
    assert result.exit_code == code, result.output
    return result


def test_what_a_solver_found_is_told_and_kept():
    page = run("fit", "two.svm", "-o", "m.linsep", "--learner", "linear-program").stdout
    model = linsep.load("m.linsep")
    assert f"separable     {'yes' if model.separable_ else 'no'}" in page
    assert "all rows at once" in page
    assert "mistakes" not in page
    found = json.loads(run("inspect", "m.linsep", "--json").stdout)["found"]
    assert found["verdict"] == model.verdict_
    assert model.verdict_.split(":")[0] in run("inspect", "m.linsep").stdout


CUT_SHORT = {
    "a budget": (["--learner", "max-margin", "--epochs", "1", "--tol", "1e-9"], "raise --epochs"),
    "a witness": (["--learner", "max-margin", "--C", "none", "--no-fit-intercept"], "not separable"),
}


@pytest.mark.parametrize("case", CUT_SHORT)
def test_what_a_solver_warns_of_is_one_line_on_stderr(case):
    Path("cancel.svm").write_text("1 1:1 2:1\n-1 1:1 2:1\n1 1:2\n-1 2:1\n")
    options, words = CUT_SHORT[case]
    data = "cancel.svm" if case == "a witness" else "two.svm"
    told = run("fit", data, "-o", "m.linsep", *options, "--brief")
    assert [line for line in told.stderr.splitlines() if words in line] == told.stderr.splitlines()
    assert [in_options(remark) for remark in opened("m.linsep").about["remarks"]] == [
        line.removeprefix("linsep fit: ") for line in told.stderr.splitlines()
    ]


@pytest.mark.parametrize("name", ["naive-bayes", "least-squares"])
def test_streams_add_up(name):
    run("fit", "train.svm", "-o", "part.linsep", "--learner", name, "--stream", "-O", "block_rows=7", "--open-labels")
    run("fit", "more.svm", "--resume", "part.linsep", "-o", "m.linsep", "--stream")
    X, y = linsep.read(["train.svm", "more.svm"], zero_based=True)
    solver = {"solver": "stream"} if name == "least-squares" else {}
    expected = linsep.LEARNERS[name].learner(**solver).fit(X, y)
    np.testing.assert_allclose(linsep.load("m.linsep").coef_, expected.coef_, atol=1e-9 * np.abs(expected.coef_).max())


REFUSED = {
    "all rows": (["--learner", "max-margin", "--stream"], "max-margin sees all rows at once: leave out --stream"),
    "a solver": (["-l", "logistic-regression", "--solver", "newton", "--stream"], "by --solver newton sees all rows"),
    "epochs": (["-l", "least-squares", "--stream", "--epochs", "3"], "adds each row to the sums once"),
    "an option": (["-l", "naive-bayes", "--epochs", "3"], "naive-bayes has no --epochs"),
    "a map": (["--calibrate", "platt"], "--calibrate platt: choose sigmoid, isotonic or temperature"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_is_one_line(case):
    options, words = REFUSED[case]
    told = run("fit", "two.svm", "-o", "m.linsep", *options, code=2)
    assert words in told.stderr
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize("how", [[], ["--stream"]], ids=["in memory", "stream"])
@pytest.mark.parametrize("learner", ["perceptron", "naive-bayes"])
def test_calibrated_models_have_probabilities(how, learner):
    run("fit", "train.svm", "-o", "m.linsep", "--learner", learner, "--calibrate", "sigmoid", *how)
    model = linsep.load("m.linsep")
    assert isinstance(model, linsep.CalibratedClassifier)
    X = linsep.read("train.svm", like=model).X
    said = run("predict", "m.linsep", "train.svm", "--probabilities", "--no-header").stdout.splitlines()
    assert bits(np.array([line.split("\t") for line in said], float)) == bits(model.predict_proba(X))
    labels = run("predict", "m.linsep", "train.svm").stdout.split()
    assert labels == [f"{label:g}" for label in model.predict(X)]
    assert "sigmoid" in run("inspect", "m.linsep").stdout


def test_a_calibrated_stream_goes_on():
    run("fit", "train.svm", "-o", "m.linsep", "--calibrate", "isotonic", "--stream", "--learner", "perceptron")
    refused = run("fit", "more.svm", "--resume", "m.linsep", "-o", "m.linsep", code=2)
    assert "add --stream" in refused.stderr
    run("fit", "more.svm", "--resume", "m.linsep", "-o", "on.linsep", "--stream")
    before, now = linsep.load("m.linsep"), linsep.load("on.linsep")
    assert now._rows > before._rows
    assert now.estimator_.t_ == now._rows


def test_text_is_counted_for_naive_bayes(folder):
    write_mail(folder / "mail.txt", 80, 0)
    run("fit", "mail.txt", "-o", "m.linsep", "--learner", "naive-bayes")
    data = linsep.read("mail.txt", vocabulary=True, norm=None)
    expected = linsep.NaiveBayes().fit(data.X, data.y)
    assert bits(linsep.load("m.linsep").coef_) == bits(expected.coef_)
    assert "Favours" not in run("inspect", "m.linsep").stdout
    run("fit", "mail.txt", "-o", "h.linsep", "--learner", "naive-bayes", "-O", "n_features=64")
    assert linsep.load("h.linsep").n_features_in_ == 64


def test_the_features_of_three_classes_of_counts():
    run("fit", "train.svm", "-o", "m.linsep", "--learner", "naive-bayes")
    page = run("inspect", "m.linsep").stdout
    assert "nothing" not in page
    strongest = json.loads(run("inspect", "m.linsep", "--json", "--top", "2").stdout)["strongest"]
    columns = [[int(of["name"]) for of in part["features"]] for part in strongest]
    assert [set(part) for part in columns] == [{1, 2}, {3, 4}, {5, 6}]


def test_a_resumed_solver_would_forget():
    run("fit", "two.svm", "-o", "m.linsep", "-l", "logistic-regression", "--solver", "newton", "--prior-variance", "1")
    refused = run("fit", "two.svm", "--resume", "m.linsep", "-o", "m.linsep", code=2)
    assert "sees all rows at once: fit a new model" in refused.stderr


def test_logistic_regression_is_solved_in_memory_and_learned_row_by_row_elsewhere():
    data, learner = linsep.read("two.svm", zero_based=True), ("-l", "logistic-regression", "-O", "zero_based=true")
    ways = {
        (): linsep.LogisticRegression().fit(data.X, data.y),
        ("--stream",): linsep.LogisticRegression().partial_fit(data.X, data.y, np.unique(data.y)),
        ("--shards", "2"): linsep.LogisticRegression(shards=2, random_state=0).fit(data.X, data.y),
    }
    for how, expected in ways.items():
        run("fit", "two.svm", "-o", "m.linsep", *learner, *how)
        model = linsep.load("m.linsep")
        assert bits(model.coef_) == bits(expected.coef_)
        assert hasattr(model, "optimality_") == (how == ())
        assert (model.t_ > 0) == (how != ())


def test_a_solved_model_goes_on_row_by_row_on_request():
    run("fit", "two.svm", "-o", "m.linsep", "-l", "logistic-regression")
    refused = run("fit", "two.svm", "--resume", "m.linsep", "-o", "on.linsep", code=2)
    assert "add --stream, or --solver sgd, to continue row by row" in refused.stderr
    data = linsep.read("two.svm")
    for how in (["--stream"], ["--solver", "sgd", "--epochs", "1", "--shuffle", "false"]):
        run("fit", "two.svm", "--resume", "m.linsep", "-o", "on.linsep", *how)
        expected = linsep.load("m.linsep").partial_fit(data.X, data.y)
        assert bits(linsep.load("on.linsep").coef_) == bits(expected.coef_)


def test_the_report_of_a_calibrated_perceptron_speaks_of_no_solver():
    run("fit", "two.svm", "-o", "m.linsep", "--calibrate", "sigmoid", "--report", "page.html")
    page = Path("page.html").read_text()
    assert "A solver saw all rows" not in page
    assert "trained once for each fold" in page
