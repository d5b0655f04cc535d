"""`linsep certify`: what is proved is told, kept in a file, and shown on a page."""

import html
import json
import math
import os
import re
import shlex
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.certificates import words as lines
from linsep.certificates.schema import ProblemKey
from linsep.cli.app import app
from linsep.cli.jobs.training import fit_quietly
from linsep.cli.pages import certificate as certify_report
from linsep.cli.pages import certificate as pictured
from linsep.cli.terminal import certificate as certificate_screen
from linsep.cli.terminal import certificate as screen
from linsep.cli.terminal.progress import bracket_bar
from linsep.theory.paths import perceptron_path
from tests.certificates import plain_replay
from tests.cli.files import write_svmlight
from tests.plots import browser
from tests.processes import forked

APART = "x,y,kind\n0,1,no\n2,0,yes\n3,1,yes\n0.5,2,no\n"
MIXED = "x,kind\n1,a\n2,b\n3,a\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apart.csv").write_text(APART)
    (tmp_path / "mixed.csv").write_text(MIXED)
    write_svmlight(tmp_path / "three.svm", 40, seed=0)
    return tmp_path


def run(*args, **more):
    return CliRunner().invoke(app, ["certify", *map(str, args)], **more)


def told(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_what_is_told_is_what_certify_proves():
    rows = linsep.read("apart.csv", label="kind")
    cert = linsep.certify(rows.X, rows.y)
    found = told("apart.csv", "--label", "kind")
    assert found["claims"] == cert.claims
    assert found["data"]["sha256"] == cert.facts["data"]["sha256"]
    assert (found["verdict"], found["problems"], found["runs"]) == ("separable", cert.problems, [])
    assert found["sentence"].startswith("Separable: ")


def test_the_screen_begins_with_the_verdict_and_has_every_problem():
    result = run("apart.csv", "--label", "kind")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "What is proved of apart.csv"
    assert lines[3].startswith("Separable: ")
    assert "The data favour " in result.stdout
    assert all(name in result.stdout for name in ("bias 1", "no bias", "balanced Winnow's mistakes", "sample size"))
    assert "\x1b" not in result.stdout


def test_rows_that_cant_be_separated():
    result = run("mixed.csv", "--label", "kind")
    assert result.exit_code == 0
    assert "Not separable: 3 rows, weighed, cancel exactly" in " ".join(result.stdout.split())
    assert "Neither the perceptron nor Winnow has a bound" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["44", "60", "80", "140"])
@pytest.mark.parametrize(
    "data", [["three.svm", "-l", "perceptron"], ["apart.csv", "--label", "kind", "-l", "perceptron"]]
)
def test_lines_fit_the_terminal(data, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    out = run(*data).stdout
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "…" not in out


def test_three_classes_have_a_row_each():
    out = run("three.svm").stdout
    assert [line.split()[0] for line in out.splitlines() if line.startswith(("pairs", "class "))] == ["pairs"] + [
        "class"
    ] * 3
    assert "against the rest, classes 0, 1 and 2 are separable" in " ".join(out.split()).lower()


def test_a_certificate_that_is_written_holds_and_is_the_same_each_time(here):
    result = run("apart.csv", "--label", "kind", "-o", "a.cert")
    assert result.exit_code == 0
    assert "certificate  a.cert, " in result.stdout
    rows, first = linsep.read("apart.csv", label="kind"), (here / "a.cert").read_bytes()
    assert linsep.verify(linsep.Certificate.load("a.cert"), rows.X, rows.y)
    run("apart.csv", "--label", "kind", "-o", "a.cert")
    assert (here / "a.cert").read_bytes() == first
    assert [file.name for file in here.iterdir() if file.suffix == ".tmp"] == []


def test_a_run_is_one_pass_in_the_order_of_the_file():
    rows = linsep.read("apart.csv", label="kind")
    clf = linsep.Perceptron(max_iter=1, shuffle=False, random_state=0)
    fit_quietly(clf, rows.X, rows.y)
    found = told("apart.csv", "--label", "kind", "--learner", "perceptron")
    assert found["runs"] == ["run"]
    assert found["claims"]["run: mistakes"] == int(clf.mistakes_)
    assert found["risk"]["run"]["rounds"] == 4
    more = told("apart.csv", "--label", "kind", "--learner", "perceptron", "--epochs", "20")
    clf.set_params(max_iter=20).fit(rows.X, rows.y)
    assert 1 < clf.n_iter_ < 20
    assert f"bias 1: perceptron's mistakes (T = {clf.n_iter_}) at most" in more["claims"]
    assert more["claims"]["run: mistakes"] == int(clf.mistakes_)
    assert "run" not in more["risk"]


def test_a_learner_without_a_theorem_says_so():
    result = run("apart.csv", "--label", "kind", "-l", "naive-bayes", "--kind", "gaussian")
    assert result.exit_code == 0, result.output
    assert "no guarantee: no theorem bounds the mistakes of NaiveBayes" in " ".join(result.stdout.split())


@pytest.mark.parametrize("more", ["a: b", "a: no guarantee"])
def test_mistakes_are_told_beside_the_run_that_made_them_whatever_labels_hold(more):
    classes = ["a", more, "c"]
    problems = {str(ProblemKey(1.0, "class", name)): {} for name in classes}
    remarks = [f"{ProblemKey(1.0, 'class', name).run}: no guarantee: no separator" for name in classes]
    facts = {"data": {"classes": classes, "remarks": remarks}, "problems": problems, "runs": {}, "claims": {}}
    learner = SimpleNamespace(t_=9, mistakes_=np.array([5, 7, 2]))
    assert certificate_screen.remarks_of(linsep.Certificate(facts), learner) == [
        f"run of class {name}: {count} mistakes were made; no guarantee: no separator"
        for name, count in zip(classes, (5, 7, 2), strict=True)
    ]


def test_options_reach_the_proof():
    found = told(
        "apart.csv", "--label", "kind", "--bias", "2", "--passes", "3", "--epsilon", "0.1", "--confidence", "0.9"
    )
    expected = linsep.certify(*linsep.read("apart.csv", label="kind"), bias=2, passes=3, epsilon=0.1, delta=0.1)
    assert found["claims"] == expected.claims
    assert told("apart.csv", "--label", "kind", "--bias", "0")["problems"] == ["no bias"]


def test_maps_come_first():
    found = told("apart.csv", "--label", "kind", "--map", "scale")
    assert float(found["claims"]["no bias: R at most"]) <= 1.0000001


def test_a_tiny_budget_ends_with_what_is_proved():
    found = told("three.svm", "--time-limit", "0.000001")
    assert found["verdict"] in ("separable", "open")
    assert "pairs, bias 1: perceptron's mistakes (T = 1) at most" in found["claims"]


def test_weights_of_rows_are_left_out_and_that_is_said(here):
    (here / "w.csv").write_text("x,kind,w\n1,a,2\n2,b,1\n")
    result = run("w.csv", "--label", "kind", "--weight", "w")
    assert result.exit_code == 0
    assert "weights of rows are left out" in result.stderr


def test_one_line_if_quiet():
    result = run("apart.csv", "--label", "kind", "-l", "perceptron", "--brief")
    assert result.stdout.startswith("separable; margin ")
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["apart.csv", "--epsilon", "1"], 2, "--epsilon 1: it is a share, between 0 and 1"),
        (["apart.csv", "--confidence", "nan"], 2, "--confidence nan"),
        (["apart.csv", "--time-limit", "0"], 2, "--time-limit 0: give a number of seconds above 0"),
        (["apart.csv", "--bias", "-1"], 2, "--bias -1: give a number of at least 0"),
        (["apart.csv", "--passes", "0"], 2, "--passes"),
        (["apart.csv", "--epochs", "3"], 2, "--epochs is an option of learners"),
        (["apart.csv", "-l", "perceptron", "--passes", "3"], 2, "its own passes, --epochs"),
        (["apart.csv", "-l", "perceptron", "--bias", "3"], 2, "--intercept-scaling"),
        (["apart.csv", "-l", "percetron"], 2, "did you mean perceptron?"),
        (["apart.csv", "-o", "nowhere/a.cert"], 2, "there is no folder nowhere"),
        (["apart.csv", "-o", "apart.csv"], 2, "it is what is read"),
        (["missing.csv"], 3, "missing.csv"),
        (["broken.svm"], 3, "broken.svm"),
        (["empty.svm"], 3, "there are no rows"),
    ],
)
def test_what_cant_be_done_is_one_line_and_a_code(args, code, words, here):
    (here / "broken.svm").write_text("1 1:x\n")
    (here / "empty.svm").write_text("")
    result = run(*args, *(["--label", "kind"] if args[0] == "apart.csv" else []))
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_page_has_the_verdict_the_tables_and_the_pictures(here):
    result = run("three.svm", "-l", "perceptron", "--multi-class", "ovr", "--report", "page.html")
    assert result.exit_code == 0, result.output
    page = (here / "page.html").read_text()
    for words in ("Separable: ", "Of the runs", "squeeze", "linsep verify"):
        assert words in page, words
    assert page.count('class="plot"') >= 2
    assert "drawn at random" not in page
    assert "majority of" not in page


@pytest.mark.slow
@pytest.mark.parametrize("args", [["mixed.csv"], ["apart.csv", "-l", "winnow", "--x-max", "3", "--eta", "0.01"]])
def test_pages_of_other_data_are_shown_without_complaints(args, here):
    assert run(*args, "--label", "kind", "--report", "page.html").exit_code == 0
    program = browser.find()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(browser.NAMES)} is installed")
    with browser.browser(program) as wire:
        for dark, width in ((False, 1280), (True, 390)):
            tab = browser.Tab(wire, here / "page.html", width=width, dark=dark)
            assert tab.complaints == []
            assert len(tab.requests) == 1
            assert tab.value("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["1 1:1\n1 2:1\n", "1 1:1e300\n0 1:1e300\n1 2:5e-324\n", "1 1:0\n0 1:0\n"])
def test_rows_that_no_learner_takes_have_a_page_all_the_same(here, rows):
    (here / "odd.svm").write_text(rows)
    result = run("odd.svm", "-o", "odd.cert", "--report", "page.html")
    assert result.exit_code == 0, result.output
    assert "What is proved of odd.svm" in (here / "page.html").read_text()
    assert CliRunner().invoke(app, ["verify", "odd.cert", "odd.svm"]).exit_code == 0


@pytest.mark.parametrize("y", [["1.0", "2.0", "2.0"], [1.0, 2.0, 2.0], [-0.0, 1.0, 1.0]])
def test_pictures_know_the_labels_of_the_certificate(y):
    X = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    problem = pictured.problem_of(linsep.certify(X, y, passes=1), X, y)
    assert problem.signs.tolist() == [-1, 1, 1]


def test_the_run_in_the_picture_obeys_both_lemmas():
    rows = linsep.read("three.svm")
    cert = linsep.certify(rows.X, rows.y)
    problem = pictured.problem_of(cert, rows.X, rows.y)
    found = pictured.perceptron_run(cert, problem, None)
    assert (problem.name, problem.about, found.total, found.passes) == (
        "class 0, bias 1",
        "class 0 against the rest",
        40,
        1,
    )
    u = problem.witness("margin")
    path = perceptron_path(problem.mistaken(found.rows, problem.bias), u)
    k, gamma = np.arange(len(path.dots)), cert.number("perceptron's margin at least", problem.name)
    assert len(k) == len(found.rounds) + 1
    assert (path.dots >= k * gamma - 1e-9).all()
    assert (path.squares <= k * cert.number("R at most", problem.name) ** 2 + 1e-9).all()


def written_commands(page):
    """Return the words of the commands that a page ends with."""
    code = re.findall(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[-1]
    return [shlex.split(line)[1:] for line in html.unescape(re.sub("<[^>]+>", "", code)).strip().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        [
            "-l",
            "perceptron",
            "--epochs",
            "3",
            "--shuffle",
            "true",
            "--seed",
            "7",
            "--no-fit-intercept",
            "--confidence",
            "0.9",
        ],
        ["-l", "winnow", "--eta", "0.01", "--x-max", "none", "--class-weight", "1=2,0=1"],
        ["--passes", "4", "--bias", "2.5", "--epsilon", "0.1", "--map", "scale", "--time-limit", "1000"],
        ["-l", "perceptron", "--epochs", "4", "--shards", "3", "--mixing", "mistakes"],
    ],
)
def test_the_commands_on_the_page_make_the_same_certificate_again(here, options):
    good = (here / "three.svm").read_text()
    (here / "holes.svm").write_text(good.replace("\n", "\nno row\n", 1))
    result = run("holes.svm", "--on-error", "skip", *options, "-o", "a.cert", "--report", "page.html")
    assert result.exit_code == 0, result.output
    assert "certify: 1 malformed row left out" in result.stderr
    again, check = written_commands((here / "page.html").read_text())
    first = (here / "a.cert").read_bytes()
    (here / "a.cert").unlink()
    done = CliRunner().invoke(app, again)
    assert done.exit_code == 0, done.output
    assert (here / "a.cert").read_bytes() == first
    assert CliRunner().invoke(app, check).exit_code == 0


def trained(learner, file="three.svm"):
    rows = linsep.read(file, **({"label": "kind"} if file.endswith(".csv") else {}))
    fit_quietly(learner, rows.X, rows.y)
    return rows, learner, learner.certificate(rows.X, rows.y)


def tile(cert, rows, learner):
    page = certify_report.certify_report(cert, rows, learner, ["three.svm"], [])
    return next(fact for fact in page.facts if fact.name == "mistakes made")


@pytest.mark.parametrize("kind", ["ovr", "joint"])
def test_the_run_on_the_page_is_the_one_that_is_certified(kind):
    rows, clf, cert = trained(linsep.Perceptron(max_iter=3, shuffle=False, log=True, multi_class=kind))
    problem = pictured.problem_of(cert, rows.X, rows.y)
    found = pictured.certified_run(cert, problem, clf)
    assert found.certified == ("run of pairs" if kind == "joint" else "run of class 0")
    facts = cert.facts["runs"][found.certified]
    assert found.rows.tolist() == plain_replay.listed(facts, len(rows), problem.codes, 1 + problem.rivals)
    assert (found.total, found.passes) == (facts["rounds"], facts["passes"])
    assert len(found.rounds) == len(found.rows) == tile(cert, rows, clf).value
    assert (found.rows // max(problem.rivals, 1) == (found.rounds - 1) % len(rows)).all()
    path = perceptron_path(problem.mistaken(found.rows, problem.bias), problem.witness("margin"))
    k, gamma = np.arange(len(path.dots)), cert.number("perceptron's margin at least", problem.name)
    assert (path.dots >= k * gamma - 1e-9).all()
    assert (path.squares <= k * cert.number("R at most", problem.name) ** 2 + 1e-9).all()
    allowed = certify_report.allowed(cert, problem, found)
    assert list(allowed) == ["(R/γ)²", f"Delta trick, {certify_report.counted(facts['passes'], 'pass')}", "regret"]
    assert facts["passes"] > 1
    assert all(len(found.rows) <= bound == math.floor(bound) for bound in allowed.values())


def test_winnow_is_held_to_its_own_bound_alone():
    rows, clf, cert = trained(linsep.Winnow(eta=0.01, x_max=3.0, max_iter=1, shuffle=False, log=True), "apart.csv")
    problem = pictured.problem_of(cert, rows.X, rows.y)
    found = pictured.certified_run(cert, problem, clf)
    assert found.norm == "simplex"
    bound = math.floor(cert.number("mistakes at most", "run"))
    assert certify_report.allowed(cert, problem, found) == {"its theorem's bound": bound}
    fact = tile(cert, rows, clf)
    assert (fact.value, fact.note.split(",")[0]) == (clf.mistakes_, "winnow")


def test_a_winnow_without_a_guarantee_is_shown_all_the_same():
    args = ["apart.csv", "--label", "kind", "-l", "winnow", "--eta", "5", "--x-max", "none"]
    rows, clf, cert = trained(linsep.Winnow(eta=5, x_max=None, max_iter=1, shuffle=False, log=True), "apart.csv")
    assert cert.runs == []
    count = f"{clf.mistakes_} mistake{'s' * (clf.mistakes_ != 1)}"
    out = " ".join(run(*args).stdout.split())
    assert re.search(rf"run: {count} (was|were) made; no guarantee: ", out)
    assert run(*args, "--brief").stdout.endswith(f"; run: {count}, no guarantee\n")
    assert told(*args)["mistakes"] == {"run": clf.mistakes_}
    fact = tile(cert, rows, clf)
    assert (fact.value, fact.note) == (clf.mistakes_, "winnow, 1 pass; no guarantee")


def test_tiles_without_bounds_say_so_once():
    rows = linsep.read("mixed.csv", label="kind")
    cert = linsep.certify(rows.X, rows.y)
    fact = certify_report.tiles(cert, pictured.problem_of(cert, rows.X, rows.y), None)[2]
    assert fact == ("perceptron's mistakes", "no bound", "for every order and length; nor of Winnow's")


def test_the_tiles_have_the_strongest_bound_and_one_problem():
    rows = linsep.read("apart.csv", label="kind")
    learner = linsep.Perceptron(max_iter=20, random_state=0).fit(rows.X, rows.y)
    cert = learner.certificate(rows.X, rows.y)
    problem = pictured.problem_of(cert, rows.X, rows.y)
    run = pictured.certified_run(cert, problem, learner)
    limits = pictured.allowed(cert, problem, run)
    assert len(limits) > 1
    verdict, margin, bound = certify_report.tiles(cert, problem, run)
    assert bound.value == f"{min(limits.values()):,.0f}"
    assert learner.mistakes_ <= min(limits.values())
    assert verdict.value == cert.claims[f"{problem.name}: verdict"]
    assert problem.about in margin.note


def test_a_dash_is_the_standard_output(here):
    result = run("apart.csv", "--label", "kind", "-o", "-")
    rows = linsep.read("apart.csv", label="kind")
    assert linsep.verify(linsep.Certificate.parse(result.stdout, "-"), rows.X, rows.y)
    assert "What is proved of apart.csv" in result.stderr
    assert not (here / "-").exists()
    assert run("apart.csv", "--label", "kind", "-o", "-", "--json").exit_code == 2


def test_without_a_terminal_there_is_no_bar(capsys):
    with bracket_bar(None) as watch:
        assert watch is None
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_the_bracket_is_shown(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("TERM", raising=False)
    with bracket_bar(10.0) as watch:
        watch("margin", 0.25, 0.5)
    shown = capsys.readouterr().err
    assert "perceptron's margin 0.25 to 0.5, gap 50.0 %" in shown
    assert "of 10.0 s" in shown


@pytest.mark.slow
def test_a_closed_pipe_ends_it_quietly(here):
    command = forked("certify", "apart.csv", "--label", "kind")
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=env, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_colours_are_left_out_if_they_are_not_wanted(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("apart.csv", "--label", "kind").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("apart.csv", "--label", "kind").stdout


SHARDS = ["three.svm", "-l", "perceptron", "--multi-class", "ovr", "--epochs", "3", "--shards", "3"]
SHARDS += ["--mixing", "mistakes"]


def test_a_mixed_run_is_told_by_its_weighted_mistakes():
    """The sum of mu times mistakes stands against the bound, at every mix; the mistakes of all shards stand apart."""
    clf = linsep.Perceptron(max_iter=3, shuffle=False, multi_class="ovr", log=True, shards=3, mixing="mistakes")
    _, clf, cert = trained(clf)
    out = run(*SHARDS).stdout
    flat = " ".join(out.split())
    K, count = lines.rounded(cert, "run of class 0", "mixed mistakes"), clf.mistakes_[0]
    assert re.search(
        rf"mistakes {count} of all shards, in 120 rounds, 3 passes weighted mistakes {re.escape(K)} ", flat
    )
    assert "at every mix n; 1 would do" in flat
    assert "s_n·u >= " in flat
    assert "s_k" not in flat
    assert "at every mistake" not in flat
    for c in range(3):
        total = screen.in_full(clf.mixes_, c).rows[-1][-1]
        assert total == lines.rounded(cert, f"run of class {c}", "mixed mistakes")
    cells = screen.in_full(clf.mixes_, 0)
    assert cells.columns == ["epoch", "shard 0", "shard 1", "shard 2", "weighted", "so far"]
    mu, made = clf.mixes_.weights[:3, 0], clf.mixes_.mistakes[:3, 0]
    assert cells.rows[0][1:4] == [f"{k} × {m:.4g}" for k, m in zip(made, mu, strict=True)]
    assert all(cell in out for cell in cells.rows[0])
    assert f"{count} mistakes, {K} weighted" in run(*SHARDS, "--brief").stdout


def test_machines_are_told_of_every_shard():
    clf = linsep.Perceptron(max_iter=3, shuffle=False, multi_class="ovr", log=True, shards=3, mixing="mistakes")
    _, clf, cert = trained(clf)
    found = told(*SHARDS)
    assert found["claims"] == cert.claims
    for name in ("epochs", "shards", "rows", "mistakes", "weights"):
        assert found["mixes"][name] == getattr(clf.mixes_, name).tolist()
    assert "mixes" not in told("three.svm", "-l", "perceptron")


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["44", "60", "80", "140"])
@pytest.mark.parametrize("count", ["2", "6", "20"])
def test_shards_fit_the_terminal(count, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    out = run("apart.csv", "--label", "kind", "-l", "perceptron", "--epochs", "2", "--shards", count).stdout
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "weighted" in out


def test_many_shards_and_epochs_are_told_in_short():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    clf = linsep.Perceptron(max_iter=20, shards=9, random_state=0, tol=None)
    fit_quietly(clf, X, y)
    mixes = clf.mixes_
    assert not screen.few(mixes)
    found = screen.in_short(mixes)
    assert [row[0] for row in found.rows] == [*map(str, range(1, 9)), "…", "17", "18", "19", "20"]
    first = dict(zip(found.columns, found.rows[0], strict=True))
    made = mixes.mistakes[:9]
    assert (first["shards"], first["mistakes"]) == ("9", str(made.sum()))
    assert first["of a shard"] == f"{made.min()}–{made.max()}"
    assert (first["weight mu"], first["weighted"]) == ("0.1111", f"{made.sum() / 9:.4g}")
    assert len(screen.in_full(mixes).rows) == 13


@pytest.mark.slow
@pytest.mark.parametrize("mixing", ["uniform", "rows", "mistakes"])
@pytest.mark.parametrize("kind", ["ovr", "joint"])
def test_a_mixed_run_on_the_page_is_weighted(kind, mixing):
    """Both lemmas hold at each mix that is drawn, and the curve ends at the sum that the certificate claims."""
    clf = linsep.Perceptron(max_iter=3, shuffle=False, log=True, multi_class=kind, shards=4, mixing=mixing)
    rows, clf, cert = trained(clf)
    problem = pictured.problem_of(cert, rows.X, rows.y)
    found = pictured.certified_run(cert, problem, clf)
    counts = found.counts
    assert len(counts) == 1 + clf.n_iter_
    assert counts[-1] == pytest.approx(cert.number("mixed mistakes", found.certified), rel=1e-8)
    assert counts[-1] < len(found.rows) == cert.claims[f"{found.certified}: mistakes"]
    if kind == "ovr":
        assert counts[1:] == pytest.approx(clf.mixes_.mixed_mistakes[:, 0])
    path = perceptron_path(found.weighed(problem.mistaken(found.rows, problem.bias)), problem.witness("margin"))
    dots, squares = found.at_mixes(path.dots), found.at_mixes(path.squares)
    gamma = cert.number("perceptron's margin at least", problem.name)
    assert (dots >= counts * gamma - 1e-9).all()
    assert (squares <= counts * cert.number("R at most", problem.name) ** 2 + 1e-9).all()
    if kind == "ovr":
        s = np.append(clf.coef_[0], clf.intercept_[0] / clf.intercept_scaling_)
        assert squares[-1] == pytest.approx(s @ s)
    allowed = certify_report.allowed(cert, problem, found)
    assert allowed["(R/γ)²"] == cert.number("perceptron's mistakes at most", problem.name)
    assert all(counts[-1] <= bound for bound in allowed.values())
    fact = tile(cert, rows, clf)
    assert fact.value == len(found.rows)
    assert f"{lines.rounded(cert, found.certified, 'mixed mistakes')} weighted, which is what bounds" in fact.note


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ["three.svm", "-l", "perceptron"],
            ["Weighted mistakes, mix by mix", "v·u at each mix", "mistakes × weight mu"],
        ),
        (["wide.csv", "-l", "winnow", "--x-max", "3", "--eta", "0.01"], ["KL(u‖w) at each mix", "falls at each mix"]),
        (["wide.csv", "-l", "passive-aggressive"], ["sum of mu * losses²", "mistakes × weight mu"]),
        (["wide.csv", "-l", "romma"], ["mistakes × weight mu", "No bound is proved"]),
    ],
)
def test_pages_of_mixed_runs(here, args, words):
    (here / "wide.csv").write_text(APART)
    label = ["--label", "kind"] if args[0] == "wide.csv" else []
    result = run(*args, *label, "--epochs", "3", "--shards", "2", "--report", "page.html", "-o", "a.cert")
    assert result.exit_code == 0, result.output
    page = (here / "page.html").read_text()
    for said in words:
        assert said in page, said
    assert "after k mistakes" not in page or "winnow" not in args
    check = CliRunner().invoke(app, ["verify", "a.cert", args[0], *label])
    assert check.exit_code == 0, check.output
    if "romma" not in args:
        assert "no other round was an update True" in " ".join(check.stdout.split())


def test_the_fewest_errors_are_shown_if_asked(here):
    args = ["mixed.csv", "--label", "kind"]
    result = run(*args, "--least-error", "-l", "perceptron", "--report", "page.html")
    assert result.exit_code == 0, result.output
    rows = {line[:26].strip(): line[26:].split() for line in result.stdout.splitlines()}
    assert rows["fewest errors"] == ["1", "1"]
    assert rows["errors of the model"] == ["1", "–"]
    again, _ = written_commands((here / "page.html").read_text())
    assert "--least-error" in again
    assert "fewest errors" not in run(*args).stdout


def test_a_scaling_has_a_problem_of_its_own(here):
    result = run("apart.csv", "--label", "kind", "--scaling", "--report", "page.html", "-o", "apart.cert")
    assert result.exit_code == 0, result.output
    assert "2^" in next(line for line in result.stdout.splitlines() if line.startswith("scaling"))
    assert "--scaling" in written_commands((here / "page.html").read_text())[0]
    assert CliRunner().invoke(app, ["verify", "apart.cert", "apart.csv", "--label", "kind"]).exit_code == 0


def test_risks_of_a_run_and_of_a_model_on_other_rows(here):
    run_of = ["three.svm", "-l", "averaged-perceptron", "--intercept-scaling", "1", "--multi-class", "ovr"]
    result = run(*run_of, "--risk", "--json")
    assert result.exit_code == 0, result.output
    assert any("risk of the last weights at most" in claim for claim in json.loads(result.stdout)["claims"])
    fitted = CliRunner().invoke(app, ["fit", *run_of, "-o", "three.linsep", "--quiet"])
    assert fitted.exit_code == 0, fitted.output
    found = told("three.svm", "--model", "three.linsep", "-o", "held.cert")["claims"]
    model = linsep.load("three.linsep")
    rows = linsep.read("three.svm")
    pairs = next(claim for claim in found if claim.startswith("pairs") and claim.endswith("errors of the model"))
    assert found[pairs] == np.sum(model.predict(rows.X) != rows.y)
    assert any(claim.endswith("risk of the model on held-out rows at most") for claim in found)
    assert CliRunner().invoke(app, ["verify", "held.cert", "three.svm"]).exit_code == 0
    for args, word in (
        (["--risk"], "--risk is about a run"),
        ([*run_of[1:3], "--model", "m"], "--model: the model has"),
    ):
        refused = run("three.svm", *args)
        assert refused.exit_code == 2
        assert word in refused.stderr


@pytest.mark.parametrize(
    ("suffix", "train", "held", "read", "errors"),
    [
        ("csv", "kind,city\nyes,Oslo\nno,Rome\n", "kind,city\nno,Rome\nyes,Oslo\nyes,Oslo\n", ["--label", "kind"], 0),
        ("svm", "1 1:1\n-1 2:1\n1 1:1 9:1\n", "1 1:1\n-1 2:1\n1 2:1 50:1\n", [], 1),
    ],
)
def test_held_out_rows_are_read_into_the_columns_of_the_model(here, suffix, train, held, read, errors):
    (here / f"train.{suffix}").write_text(train)
    (here / f"held.{suffix}").write_text(held)
    fitted = CliRunner().invoke(app, ["fit", f"train.{suffix}", *read, "-l", "perceptron", "-o", "m.linsep", "--quiet"])
    assert fitted.exit_code == 0, fitted.output
    result = run(f"held.{suffix}", *read, "--model", "m.linsep", "-o", "held.cert", "--report", "held.html")
    assert result.exit_code == 0, result.output
    assert ("entries of features that the model does not know, left out: 1\n" in result.stderr) == (suffix == "svm")
    claims = json.loads((here / "held.cert").read_text())["claims"]
    assert [value for claim, value in claims.items() if claim.endswith("errors of the model")] == [errors]
    for command in written_commands((here / "held.html").read_text()):
        again = CliRunner().invoke(app, command)
        assert again.exit_code == 0, again.output


def test_a_wrong_model_is_refused_before_rows_are_read(here):
    refused = run("absent.csv", "--model", "apart.csv")
    assert refused.exit_code == 4
    assert "apart.csv: not a linsep model" in refused.stderr
    assert "absent" not in refused.stderr


def test_weights_that_shift_are_shown_if_asked():
    result = run("apart.csv", "--label", "kind", "-l", "perceptron", "--shifting", "-o", "run.cert")
    assert result.exit_code == 0, result.output
    assert "by shifting" in result.stdout
    assert CliRunner().invoke(app, ["verify", "run.cert", "apart.csv", "--label", "kind"]).exit_code == 0
    refused = run("apart.csv", "--label", "kind", "--shifting")
    assert refused.exit_code == 2
    assert "--shifting is about a run" in refused.stderr
