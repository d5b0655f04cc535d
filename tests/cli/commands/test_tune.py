"""`linsep tune`: the best third of the candidates goes on, and the command at the end fits the winner."""

import json
import shlex
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.comparing import Candidate, Contest
from linsep.cli.jobs.tuning import draw_candidates, halve, leaders, round_sizes, rows_of_rounds
from linsep.cli.options.common import learner_from
from linsep.cli.terminal.progress import LearnerReport
from linsep.validation.errors import InvalidDataError

SILENT = LearnerReport(lambda name: None, lambda: None)
QUICK = ["perceptron", "averaged-perceptron", "passive-aggressive", "naive-bayes"]


def run(*args):
    return CliRunner().invoke(app, list(map(str, args)))


def tune(*args):
    result = run("tune", *args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1800)
    X = np.c_[rng.normal(size=1800) + 2 * y, 1e4 * rng.random(1800), rng.normal(size=1800) - 2 * y]
    lines = [",".join(map(str, (*row, label))) for row, label in zip(X.round(4), y, strict=True)]
    for name, some in (("table.csv", lines[:1600]), ("new.csv", lines[1600:])):
        (folder / name).write_text("\n".join(["a,b,c,label", *some]) + "\n")
    return folder / "table.csv"


def drawn(contest, count, seed=0):
    classes = len(contest.classes)
    return draw_candidates(QUICK, {"random_state": seed}, (), contest.train.X, classes, count, seed)


def test_each_round_keeps_the_best_third(table):
    contest = Contest.of(linsep.read(table, label="label"), None, 0.05, 0)
    results = list(halve(contest, drawn(contest, 9), 0, SILENT))
    sizes = round_sizes(len(contest.train.y), 9)
    assert len(sizes) == 2
    first, second = ([of for of in results if of.round == k] for k in (1, 2))
    assert (len(first), len(second)) == (9, 3)
    assert {of.rows for of in first} == {sizes[0][1]}
    assert {of.rows for of in second} == {len(contest.train.y)}
    able = sorted((of for of in first if of.attempt.error is not None), key=lambda of: of.attempt.error)
    worst = max(of.attempt.error for of in first if any(of.candidate is on.candidate for on in second))
    assert worst <= able[3].attempt.error
    best = leaders(results)[0]
    assert best.round == 2
    assert best.attempt.error == min(of.attempt.error for of in second)


def test_rows_of_a_round_are_among_those_of_the_next():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [700, 500, 300]))
    one, two, three = rows_of_rounds(y, [150, 500, 1500], 4)
    assert set(one) < set(two) < set(three) == set(range(1500))
    assert abs(len(one) - 150) <= 1
    for label, count in ((0, 700), (1, 500), (2, 300)):
        assert abs(np.sum(y[one] == label) - count / 10) <= 1.5
        assert abs(np.sum(y[two] == label) - count / 3) <= 1


def test_the_error_is_that_of_the_learner_in_python(table):
    found = tune(
        "table.csv", "--label", "label", "--learner", "perceptron", "--candidates", "1", "--map", "standardize"
    )
    [only] = found["candidates"]
    contest = Contest.of(linsep.read(table, label="label"), None, 0.25, 0)
    step = linsep.transforms.Standardize().fit(contest.train.X)
    learner = learner_from("perceptron", {}).fit(step.transform(contest.train.X), contest.train.y)
    assert only["error"] == pytest.approx(1 - learner.score(step.transform(contest.test.X), contest.test.y))
    assert only["rows"] == 1200


def test_the_command_fits_the_winner(table):
    learners = [word for name in QUICK for word in ("--learner", name)]
    found = tune("table.csv", "--label", "label", *learners, "--candidates", "8", "--test", "new.csv")
    words = shlex.split(found["command"])
    assert words[:3] == ["linsep", "fit", "table.csv"]
    assert found["candidates"][0]["options"] == words[5:-2]
    result = run(*words[1:], "--test", "new.csv", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["test"]["error"] == pytest.approx(found["test_error"])
    assert found["candidates"][0]["error"] < 0.3
    assert "standardize" in found["command"]


def test_the_same_seed_gives_the_same_result(table):
    how = ["table.csv", "--label", "label", "--learner", "passive-aggressive", "--epochs", "1", "--candidates", "4"]
    one, two, other = (tune(*how, "--seed", seed)["candidates"] for seed in (3, 3, 4))
    assert [(of["options"], of["error"]) for of in one] == [(of["options"], of["error"]) for of in two]
    assert [of["options"] for of in one] != [of["options"] for of in other]


def test_what_is_given_is_not_varied(folder):
    how = ["train.svm", "--learner", "perceptron", "--epochs", "2", "--map", "scale", "--candidates", "4"]
    for candidate in tune(*how)["candidates"]:
        words = candidate["options"]
        assert words[words.index("--epochs") + 1] == "2"
        assert [b for a, b in pairwise(words) if a == "--map"] == ["scale"]


def test_candidates_differ():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = draw_candidates([*QUICK, "romma", "winnow"], {"random_state": 0}, (), X, 3, 60, 0)
    assert len({str(of.words) for of in found}) == len(found) == 60
    assert [of.learner for of in found[:6]] == [*QUICK, "romma", "winnow"]
    few = draw_candidates(["romma"], {"random_state": 0, "max_iter": 1}, ("scale",), X, 2, 60, 0)
    assert len(few) == 4  # aggressive or not, last or average


def test_a_failure_that_names_the_time_limit_is_no_lack_of_time(folder, monkeypatch):
    def fail(learner, X, y, weights=None):
        raise InvalidDataError("--time-limit is too low for this")

    monkeypatch.setattr("linsep.cli.jobs.comparing.fit_quietly", fail)
    contest = Contest.of(linsep.read("train.svm"), None, 0.5, 0)
    results = list(halve(contest, [Candidate("romma")], 0, SILENT))
    assert ["--time-limit" in result.attempt.why for result in results] == [True]


def test_exit_codes(folder):
    (folder / "large.svm").write_text((folder / "train.svm").read_text().replace(":1.0", ":5"))
    refused = run("tune", "large.svm", "--learner", "winnow", "--x-max", "1", "--candidates", "2")
    assert refused.exit_code == 1
    assert "X has the entry 5" in refused.stdout
    assert run("tune", "train.svm", "--time-limit", "1e-9").exit_code == 1
    assert run("tune", "train.svm", "--holdout", "1").exit_code == 2
    assert run("tune", "train.svm", "--candidates", "0").exit_code == 2
    assert run("tune", "train.svm", "--learner", "romma", "--eta", "0.1").exit_code == 2
    (folder / "empty.svm").write_text("")
    assert run("tune", "empty.svm").exit_code == 3


def test_what_is_shown(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = run("tune", "train.svm", "--candidates", "14", "--epochs", "1").stdout
    assert "…" not in out
    assert max(map(len, out.rpartition("\nlinsep fit")[0].splitlines())) <= 80
    assert out.splitlines()[-1].startswith("linsep fit train.svm --learner ")
    brief = run("tune", "train.svm", "--candidates", "2", "--brief").stdout
    assert brief.startswith("linsep fit train.svm")
    assert brief.count("\n") == 1
    assert run("tune", "train.svm", "--candidates", "2", "--quiet").output == ""
