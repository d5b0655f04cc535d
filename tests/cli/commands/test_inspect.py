"""`linsep inspect`: what a model is, its strongest features by name, and how it was trained."""

import json

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.commands.inspect import training_facts
from linsep.cli.jobs.models import strongest
from linsep.models.save_load import save
from linsep.transforms import Polynomial
from tests.cli.files import WORDS, write_model


def run(*args):
    result = CliRunner().invoke(app, ["inspect", *map(str, args)])
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*args):
    return json.loads(run(*args, "--json"))


def test_what_the_model_is(folder):
    model = write_model(folder / "m.linsep", "train.svm", linsep.Pegasos(alpha=0.01, random_state=3))
    found = told("m.linsep")
    assert found["learner"] == "pegasos"
    assert found["parameters"] == {"alpha": 0.01, "random_state": 3}
    assert (found["features"], found["classes"]) == (12, [0, 1, 2])
    assert found["nonzero"] == np.count_nonzero(model.coef_)
    assert found["size"] == (folder / "m.linsep").stat().st_size
    assert found["version"] == linsep.__version__


def test_columns_without_names_go_by_the_numbers_of_the_file(folder):
    found = told("model.linsep", "--top", "2")
    assert [{feature["name"] for feature in part["features"]} for part in found["strongest"]] == [
        {"1", "2"},
        {"3", "4"},
        {"5", "6"},
    ]


def test_words_have_names(folder):
    write_model(folder / "mail.linsep", "train.txt", vocabulary=True)
    out = run("mail.linsep", "--top", "3")
    assert "ham " in out
    ham, spam = told("mail.linsep", "--top", "3")["strongest"]
    assert {feature["name"] for feature in ham["features"]} <= set(WORDS["ham"].split())
    assert {feature["name"] for feature in spam["features"]} <= set(WORDS["spam"].split())
    assert all(feature["weight"] > 0 for part in (ham, spam) for feature in part["features"])


def test_hashed_words_have_the_names_that_were_kept(folder):
    write_model(folder / "hashed.linsep", "train.txt", keep_names=True, n_features=2**10)
    assert "lunch" in run("hashed.linsep")
    write_model(folder / "bare.linsep", "train.txt", n_features=2**10)
    assert "lunch" not in run("bare.linsep")


def test_columns_of_tables_have_names(folder):
    write_model(folder / "people.linsep", "train.csv", label="income")
    assert "city=Rome" in run("people.linsep")


def test_a_label_shows_both_sides(folder):
    pros, cons = told("model.linsep", "--class", "1")["strongest"]
    coef = linsep.load("model.linsep").coef_[1]
    assert [int(feature["name"]) - 1 for feature in pros["features"]] == [
        j for j in np.argsort(-coef, kind="stable") if coef[j] > 0
    ][:10]
    assert [feature["weight"] for feature in cons["features"]] == sorted((-coef[coef < 0]).tolist(), reverse=True)[:10]
    assert "for 1" in run("model.linsep", "--class", "1")


def test_an_unknown_label_is_usage(folder):
    result = CliRunner().invoke(app, ["inspect", "model.linsep", "--class", "9"])
    assert result.exit_code == 2
    assert "there is no class '9': the model knows 0, 1, 2" in result.stderr


def test_both_sides_of_two_classes_mirror_each_other(folder):
    write_model(folder / "mail.linsep", "train.txt", vocabulary=True)
    for_ham, against_ham = told("mail.linsep", "--class", "ham")["strongest"]
    for_spam, against_spam = told("mail.linsep", "--class", "spam")["strongest"]
    assert for_ham["features"] == against_spam["features"]
    assert for_spam["features"] == against_ham["features"]


def test_sparse_weights_are_the_same():
    clf = linsep.Perceptron(random_state=0).fit(np.eye(6)[:4], [0, 1, 2, 1])
    dense = strongest(clf, 2)

    class Sparse(linsep.Perceptron):
        @property
        def coef_(self):
            import scipy.sparse as sp

            return sp.csr_array(clf.coef_)

    sparse = Sparse(random_state=0).fit(np.eye(6)[:4], [0, 1, 2, 1])
    for one, other in zip(dense, strongest(sparse, 2), strict=True):
        assert (one.label, one.columns.tolist(), one.weights.tolist()) == (
            other.label,
            other.columns.tolist(),
            other.weights.tolist(),
        )


def test_a_pipeline_names_what_its_learner_sees(folder):
    data = linsep.read("train.csv", label="income")
    pipeline = make_pipeline(Polynomial(degree=2), linsep.AveragedPerceptron(random_state=0, max_iter=100, tol=0.1))
    save(pipeline.fit(data.X, data.y), "products.linsep", data=data)
    out = run("products.linsep")
    assert "Polynomial" in out
    assert "age" in out


def test_whatever_was_said_of_a_model_is_shown():
    assert training_facts({0: 2.0, "a": {1: 0.5, None: "x"}}) == {"0": "2", "a": "1 0.5, None x"}


def test_how_it_was_trained(folder):
    about = {"data": ["train.svm"], "rows": 12000, "seconds": {"learn": 0.5}, "curve": [[1, 2]], "resumed": False}
    write_model(folder / "m.linsep", "train.svm", about=about)
    part = run("m.linsep").split("Trained\n")[1]
    assert [line.split(None, 1) for line in part.strip().splitlines()] == [
        ["data", "train.svm"],
        ["rows", "12,000"],
        ["seconds", "learn 0.50 s"],
    ]
    assert told("m.linsep")["about"] == about


@pytest.mark.parametrize("columns", ["60", "100"])
def test_lines_fit_the_terminal(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert max(map(len, run("model.linsep").splitlines())) <= int(columns)


def test_pipelines_of_texts_are_shown_by_their_words(folder):
    texts, labels = ["red rose", "red", "blue sky", "sky"], [1, 1, 0, 0]
    for step in (linsep.TextCounter(), linsep.TextHasher(64, keep_names=True), linsep.TextHasher(64)):
        clf = make_pipeline(step, linsep.Perceptron(shuffle=False, random_state=0)).fit(texts, labels)
        save(clf, folder / "texts.linsep")
        names = {feature["name"] for part in told("texts.linsep")["strongest"] for feature in part["features"]}
        assert names
        assert names <= {"red", "rose", "blue", "sky"} or not getattr(step, "keep_names", True)


@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "line.linsep"],
        ["predict", "line.linsep", "train.svm"],
        ["evaluate", "line.linsep", "train.svm"],
        ["convert", "line.linsep", "-o", "line.json"],
        ["fit", "train.svm", "--resume", "line.linsep", "-o", "new.linsep"],
    ],
    ids=lambda args: args[0],
)
def test_commands_refuse_a_regression(folder, args):
    save(linsep.LeastSquaresRegression().fit([[0.0], [1.0]], [1.0, 3.0]), folder / "line.linsep")
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 2
    assert "line.linsep predicts numbers, and the commands take classifiers" in result.output.replace("\n", " ")


def test_a_step_that_passes_rows_through_is_not_listed(tmp_path):
    model = Pipeline([("nothing", "passthrough"), ("learner", linsep.Perceptron())])
    save(model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), tmp_path / "m.linsep")
    assert told(tmp_path / "m.linsep")["steps"] == []
