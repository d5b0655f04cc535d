"""`linsep compare`: every learner on the same rows, ranked; those that can't say why."""

import json
import shlex

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.comparing import Attempt, Contest, candidates_of, choose_learners, rank, set_aside
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.pages.evaluation import _ranking
from linsep.cli.terminal.output import print_table, stdout, table
from linsep.cli.terminal.progress import LearnerReport
from linsep.evaluation.scoring import Scoring
from linsep.plots.report import Report, Section
from linsep.validation.errors import InvalidDataError
from tests.plots import browser

SILENT = LearnerReport(lambda name: None, lambda: None)


def run(*args):
    return CliRunner().invoke(app, ["compare", *map(str, args)])


def told(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_all_learners_are_ranked_by_error(folder):
    found = told("train.svm", "--test", "test.svm")
    errors = [learner["error"] for learner in found["learners"]]
    assert {learner["name"].split(",")[0] for learner in found["learners"]} == set(choose_learners(()))
    assert {"perceptron, ovr", "logistic-regression, sgd"} <= {learner["name"] for learner in found["learners"]}
    assert errors == sorted(errors)
    assert (found["rows"], found["test_rows"], found["features"], found["classes"]) == (120, 40, 12, [0, 1, 2])


def test_a_learner_does_what_it_does_in_python(folder):
    how = ["-l", "pegasos", "--epochs", "3", "--seed", "5", "--no-fit-intercept"]
    found = told("train.svm", "--test", "test.svm", *how)
    train = linsep.read("train.svm")
    test = linsep.read("test.svm", like=train)
    learner = linsep.Pegasos(max_iter=3, random_state=5, fit_intercept=False)
    fit_quietly(learner, train.X, train.y)
    [only] = found["learners"]
    assert only["error"] == pytest.approx(1 - learner.score(test.X, test.y))
    assert only["mistakes"] == np.sum(learner.mistakes_)
    assert only["updates"] == np.sum(learner.updates_)


def test_the_same_seed_gives_the_same_split(folder):
    one, two, other = (
        [
            (learner["name"], learner["error"], learner["mistakes"])
            for learner in told("train.svm", "--seed", s)["learners"]
        ]
        for s in (3, 3, 4)
    )
    assert sorted(one) == sorted(two)
    assert sorted(one) != sorted(other)


def test_a_learner_that_cant_is_listed_with_the_reason(folder):
    (folder / "large.svm").write_text((folder / "train.svm").read_text().replace(":1.0", ":5"))
    result = run("large.svm", "-l", "winnow", "-l", "perceptron")
    assert result.exit_code == 0
    assert "X has the entry 5" in result.stdout
    assert [learner["name"] for learner in told("large.svm", "-l", "winnow", "-l", "perceptron")["learners"]] == [
        "perceptron",
        "winnow",
    ]
    assert told("large.svm", "-l", "winnow", "--x-max", "5")["learners"][0]["why"] is None


@pytest.mark.parametrize("command", ["compare", "tune", "fit"])
def test_a_share_of_test_rows_is_checked_before_the_work(command):
    out = ["-o", "m.linsep"] if command == "fit" else []
    for share in ("0", "1", "1.5", "nan"):
        result = CliRunner().invoke(app, [command, "absent.svm", "--holdout", share, *out])
        assert result.exit_code == 2
        assert f"--holdout {share}: it is a share of the rows, between 0 and 1" in result.stderr
    if command != "tune":
        both = CliRunner().invoke(app, [command, "absent.svm", "--holdout", "0.5", "--test", "absent.svm", *out])
        assert both.exit_code == 2
        assert "--test and --holdout both choose the test rows" in both.stderr


@pytest.mark.parametrize("command", ["compare", "tune", "fit"])
def test_test_rows_have_the_format_of_the_training_rows(folder, command):
    for name in ("train", "test"):
        (folder / f"{name}.svm").rename(f"{name}.csv")
    how = ["-l", "romma", "--format", "svmlight", "--test", "test.csv", "--json"]
    result = CliRunner().invoke(app, [command, "train.csv", *how, *(["-o", "m.linsep"] if command == "fit" else [])])
    assert result.exit_code == 0, result.output


def test_none_that_can_is_a_no(folder):
    (folder / "large.svm").write_text((folder / "train.svm").read_text().replace(":1.0", ":5"))
    assert run("large.svm", "-l", "winnow").exit_code == 1


def test_options_go_to_those_that_have_them(folder):
    assert len(told("train.svm", "-l", "winnow", "-l", "romma", "--eta", "0.1")["learners"]) == 2
    result = run("train.svm", "-l", "romma", "--eta", "0.1")
    assert result.exit_code == 2
    assert "none of these learners has --eta; it is an option of winnow, balanced-winnow" in result.stderr


@given(st.lists(st.integers(0, 4), min_size=8, max_size=200), st.floats(0.2, 0.8), st.integers(0, 9))
def test_the_part_set_aside_has_its_share_of_each_class(labels, share, seed):
    y = np.array(labels)
    aside = set_aside(y, share, seed)
    assert abs(aside.sum() - share * len(y)) <= 1
    for label in np.unique(y):
        assert abs(aside[y == label].sum() - share * (y == label).sum()) <= 1
    assert np.array_equal(aside, set_aside(y, share, seed))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_split_needs_two_parts(share):
    with pytest.raises(InvalidDataError, match="too few"):
        set_aside(np.arange(5), share, 0)


def test_rows_are_judged_or_learned_from(folder):
    data = linsep.read("train.svm")
    contest = Contest.of(data, None, 0.25, 0)
    both = np.vstack([contest.train.X.toarray(), contest.test.X.toarray()])
    assert sorted(map(tuple, both)) == sorted(map(tuple, data.X.toarray()))
    assert len(contest.test.y) == 30


def test_rows_without_a_label_are_left_out(folder):
    (folder / "some.vw").write_text((folder / "train.vw").read_text() + "|a up\n")
    assert told("some.vw", "-l", "perceptron")["rows"] + told("some.vw", "-l", "perceptron")["test_rows"] == 120


def test_failures_come_last():
    attempts = [Attempt("a", why="so"), Attempt("b", 0.5, seconds=1.0), Attempt("c", 0.0, seconds=2.0)]
    assert [attempt.name for attempt in rank(attempts)] == ["c", "b", "a"]


@pytest.mark.parametrize("fails", ["first fit", "timed fit", "never"])
def test_each_learner_is_counted_once(folder, monkeypatch, fails):
    def fail(learner, X, y, weights=None):
        fitted.append(learner)
        if fails != "never" and len(y) > (0 if fails == "first fit" else 3):
            raise InvalidDataError("X is wrong")
        return fit_quietly(learner, X, y, weights)

    fitted, counted = [], []
    monkeypatch.setattr("linsep.cli.jobs.comparing.fit_quietly", fail)
    contest = Contest.of(linsep.read("train.svm"), None, 0.5, 0)
    report = LearnerReport(lambda name: None, lambda: counted.append(len(fitted)))
    attempts = list(contest.attempts(candidates_of(["romma"], {}, ()), report))
    assert (attempts[0].why is None) == (fails == "never")
    assert counted == [1]
    assert len(fitted) == 2


def test_a_bug_is_not_a_reason(folder, monkeypatch):
    def broken(*args):
        return int("x")

    monkeypatch.setattr("linsep.cli.jobs.comparing.fit_quietly", broken)
    contest = Contest.of(linsep.read("train.svm"), None, 0.25, 0)
    with pytest.raises(ValueError, match="invalid literal"):
        list(contest.attempts(candidates_of(["perceptron"], {}, ()), SILENT))


def test_one_line_if_quiet(folder):
    out = run("train.svm", "-l", "perceptron", "--brief").stdout
    assert out.startswith("perceptron: error ")
    assert out.count("\n") == 1


@pytest.mark.parametrize("columns", ["80", "120"])
def test_lines_fit_the_terminal(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    out = run("train.svm", "--epochs", "1").stdout
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "…" not in out


def test_the_report_has_the_ranking(folder):
    assert run("train.svm", "--report", "page.html").exit_code == 0
    page = (folder / "page.html").read_text()
    assert all(name in page for name in choose_learners(()))
    assert "<svg" in page


@pytest.mark.slow
def test_the_ranking_fits_a_page_of_1000_pixels(tmp_path):
    if browser.find() is None:
        pytest.skip(f"no browser: none of {', '.join(browser.NAMES)} is installed")
    scores = Scoring([0, 1]).add([0, 1] * 500, [0, 1] * 450 + [1, 0] * 50).result()
    row = {"mistakes": 1_234_567, "epochs": 100, "seconds": 123.0, "rows_per_second": 1.2e6, "scores": scores}
    able = [Attempt(name, 0.1, **row) for name in ("romma", "logistic-regression, standardize")]
    Report("a", "b", [], [Section("Ranking", [_ranking(able)])]).write(tmp_path / "page.html")
    with browser.browser(browser.find()) as wire:
        tab = browser.Tab(wire, tmp_path / "page.html", width=1000)
        assert tab.value("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.scroll'))") == 0
        assert len(set(tab.value("[...document.querySelectorAll('td.right bdi')].map(e => e.offsetHeight)"))) == 1


def test_learners_that_have_no_time_left_are_listed_with_the_reason(folder):
    result = run("train.svm", "--learner", "perceptron", "--learner", "winnow", "--time-limit", "1e-9", "--json")
    assert result.exit_code == 1
    reasons = {found["name"]: found["why"] for found in json.loads(result.stdout)["learners"]}
    assert reasons == dict.fromkeys(("perceptron", "winnow"), "--time-limit 1e-09 was over before it began")
    assert run("train.svm", "--learner", "perceptron", "--time-limit", "-1").exit_code == 2


def test_the_page_has_the_command_that_makes_it_again(folder):
    options = ["--learner", "perceptron", "--learner", "winnow", "--holdout", "0.5", "--epochs", "2", "--eta", "0.1"]
    assert run("train.svm", *options, "--seed", "3", "--map", "scale", "--report", "page.html").exit_code == 0
    page = (folder / "page.html").read_text()
    own = "--learner perceptron --learner winnow --holdout 0.5"
    assert f"linsep compare train.svm --map scale {own}" in page
    code = page.partition("linsep compare")[2].partition("</code>")[0]
    assert all(word in code for word in ("--epochs 2", "--eta 0.1", "--seed 3"))


def test_variants_are_the_other_form_of_classes_and_standardised_columns(folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = np.c_[rng.normal(size=90) + y, 1e4 * rng.random(90), rng.normal(size=90) - y]
    lines = [",".join(map(str, (*row, label))) for row, label in zip(X, y, strict=True)]
    (folder / "uneven.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    found = {learner["name"]: learner for learner in told("uneven.csv", "--label", "label")["learners"]}
    assert found["perceptron, ovr"]["options"][-2:] == ["--multi-class", "ovr"]
    assert found["perceptron, standardize"]["error"] < found["perceptron"]["error"]
    data = linsep.read("uneven.csv", label="label")
    contest = Contest.of(data, None, 0.25, 0)
    maps = linsep.transforms.Standardize().fit(contest.train.X)
    learner = linsep.Perceptron(random_state=0)
    fit_quietly(learner, maps.transform(contest.train.X), contest.train.y)
    wrong = 1 - learner.score(maps.transform(contest.test.X), contest.test.y)
    assert found["perceptron, standardize"]["error"] == pytest.approx(wrong)
    given = told("uneven.csv", "--label", "label", "--multi-class", "ovr", "--map", "scale")["learners"]
    assert not [learner["name"] for learner in given if "ovr" in learner["name"] or "standardize" in learner["name"]]


def test_cells_are_whole(folder, monkeypatch):
    names = ["-l", "p-norm-perceptron", "-l", "passive-aggressive", "--map", "polynomial:degree=2"]
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = run("train.svm", *names).stdout
    assert "rows/s" in piped
    monkeypatch.setenv("COLUMNS", "40")
    narrow = run("train.svm", *names).stdout
    assert "…" not in piped + narrow
    assert "rows/s" not in narrow
    assert all(" %" in line for line in narrow.splitlines() if "perceptron  " in line)


def test_a_table_in_a_pipe_is_as_wide_as_its_cells(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    made = table("learner", ">error", ">rows/s")
    made.add_row("x" * 90, "2.27 %", "16 k")
    print_table(stdout(), made, "rows/s")
    assert capsys.readouterr().out.splitlines()[-1].split() == ["x" * 90, "2.27", "%", "16", "k"]


def test_the_last_line_fits_the_winner(folder):
    shown = run("train.svm", "-l", "perceptron", "--seed", "3", "--epochs", "2").stdout.splitlines()
    assert shown[-1] == "linsep fit train.svm --learner perceptron --epochs 2 --seed 3 -o model.linsep"
    assert told("train.svm", "-l", "perceptron", "--seed", "3", "--epochs", "2")["command"] == shown[-1]
    result = CliRunner().invoke(app, shlex.split(shown[-1])[1:])
    assert result.exit_code == 0, result.output


def test_learners_that_cant_are_told_apart_and_helped(folder):
    (folder / "large.svm").write_text((folder / "train.svm").read_text().replace(":1.0", ":5"))
    result = " ".join(run("large.svm", "-l", "winnow", "-l", "balanced-winnow").stdout.split())
    assert "winnow; balanced-winnow: X has the entry 5" in result
    assert "map X by --map scale:largest=entry, or state the true --x-max" in result
    assert told("large.svm", "-l", "winnow", "--map", "scale:largest=entry")["learners"][0]["why"] is None


@pytest.mark.parametrize("command", ["compare", "tune"])
def test_the_command_of_the_winner_leaves_out_malformed_rows_too(folder, command):
    (folder / "bad.svm").write_text((folder / "train.svm").read_text() + "no row\n")
    few = ["--candidates", "2"] if command == "tune" else []
    result = CliRunner().invoke(app, [command, "bad.svm", "-l", "perceptron", "--on-error", "skip", "--json", *few])
    assert "--on-error skip" in json.loads(result.stdout)["command"]
