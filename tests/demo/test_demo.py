"""`linsep demo`: every learner in every table, a page and pictures on disk, and commands that work as shown."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from linsep import Perceptron
from linsep.cli.app import app
from linsep.cli.commands.demo import EXAMPLES
from linsep.cli.jobs.comparing import choose_learners
from linsep.demo import report as demo_report
from linsep.demo.data_sets import data_sets
from linsep.demo.digits_study import METHODS
from linsep.demo.next_steps import NextSteps, prepare
from linsep.demo.report import digit_weights, digits
from linsep.demo.trials import ONLINE
from linsep.training.votes import reading_name
from tests.plots import browser
from tests.processes import forked

pytestmark = pytest.mark.slow

HEAVY = ("numba", "sklearn", "scipy", "matplotlib", "numpy")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)]), out


@pytest.fixture(scope="module")
def page(demo):
    return (demo[1] / "report.html").read_text()


@pytest.fixture(scope="module")
def text():
    return list(data_sets(0, quick=True))[-1]


def test_it_succeeds_and_says_nothing_on_stderr(demo):
    result, _ = demo
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


def test_every_data_set_has_a_row_for_every_learner(demo):
    for data in ("iris", "breast cancer", "digits", "text"):
        part = re.split(rf"^{data}, ", demo[0].stdout, flags=re.MULTILINE)[1].split("\n\n")[0]
        for name in ONLINE:
            row = rf"^ {name}[ *°]+[\d,]+ +[\d.]+ % +[\d.]+( [kM])? *$"
            assert re.search(row, part, flags=re.MULTILINE), (data, name)


def test_the_last_table_has_every_learner_its_four_errors_and_its_bound(demo):
    last = demo[0].stdout.split("\nTest errors\n")[1].split("\n\n")[0]
    for name, entry in ONLINE.items():
        row = re.search(rf"^ {name} +((?:[\d.]+ % +){{4}})(.*(?:\n {{30}}.*)*)", last, flags=re.MULTILINE)
        assert row, name
        assert row[2].split() == entry.bound.split()


def test_the_screen_ends_with_the_table_the_page_and_three_commands(demo):
    result, out = demo
    table, where, steps = result.stdout.split("\nTest errors\n")[1].split("\n\n")
    assert "pegasos" in table
    assert re.findall(r"^\w+ +(.*)$", where, flags=re.MULTILINE)[0] == str(out / "report.html")
    assert [line.split()[1] for line in steps.splitlines() if line.startswith("  ") and line[2] != " "] == [
        "compare",
        "fit",
        "predict",
    ]
    lines = result.stdout.split("\nTest errors\n")[1].splitlines()
    assert len(lines) <= 26 + 2 * (len(ONLINE) - 10)  # a learner takes two lines at most


def test_the_commands_work_as_they_are_shown(demo):
    """The last is run by a shell, word for word; the digits of new.csv are 0 to 9, most of which are read rightly."""
    commands = demo[0].stdout.partition("\nNext, ")[2].split("\n", 1)[1]
    compare, fit, predict = commands.replace("\\\n", "").strip().splitlines()
    programs = {line.partition(f" {name} ")[0].strip() for name, line in
                {"compare": compare, "fit": fit, "predict": predict}.items()}  # fmt: skip
    assert len(programs) == 1
    compared, fitted = (
        CliRunner().invoke(app, shlex.split(line)[len(shlex.split(*programs)) :]) for line in (compare, fit)
    )
    assert (compared.exit_code, fitted.exit_code) == (0, 0), compared.output + fitted.output
    assert re.match(rf"{len(choose_learners(()))} learners and \d+ variants on .*digits\.csv$", compared.stdout, re.M)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path}
    done = subprocess.run(["sh", "-ec", predict], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == 10
    assert sum(answer == str(k) for k, answer in enumerate(answers)) >= 7
    assert (demo[1] / "digits.html").read_text().startswith("<!doctype html>")


def test_what_is_proved_was_checked(demo, page):
    part = " ".join(demo[0].stdout.split("\nA certificate\n")[1].split("\n\n")[0].split())
    made, allowed = re.search(r"In one pass it makes (\d+) mistakes; (\d+) are allowed\.", part).groups()
    assert 0 < int(made) <= int(allowed)
    assert part.startswith("Iris, setosa or not. Separable: ")
    assert re.search(r"Checked again, in exact arithmetic: True, \d\d claims\.$", part)
    assert "computed every claim again, and every claim holds" in " ".join(page.split())
    assert f"{made} mistakes, squeezed below" in page


def test_every_way_to_answer_is_on_the_screen_and_on_the_page(demo, page):
    part = demo[0].stdout.split("\nWhich hypothesis should predict?\n")[1].split("\n\n")[0]
    drawn = re.split(r">(?:<bdi>)?Which hypothesis should predict\?(?:</bdi>)?</a></h2>", page)[1].split("</section>")[
        0
    ]
    assert drawn.count('class="plot"') == 1
    for name in (reading_name(*method) for method in METHODS):
        errors = re.search(rf"^ {name} +([\d.]+) % +([\d.]+) % +([\d.]+) % *$", part, flags=re.MULTILINE).groups()
        row = drawn.split(f"<bdi>{name}</bdi>")[1].split("</tr>")[0]
        assert [*map(float, errors)] == [*map(float, re.findall(r"([\d.]+)\s%", row))]


def test_pictures_are_written_and_named(demo):
    result, out = demo
    assert (out / "boundary.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "boundary.svg").read_text()
    assert str(out / "boundary.png") in result.stdout


def test_lines_fit_a_terminal_of_80_columns(demo):
    result, out = demo
    assert max(len(line) for line in result.stdout.splitlines() if str(out) not in line) <= 80


def test_runs_that_did_not_settle_are_marked_and_do_not_warn(demo):
    assert " perceptron *" in demo[0].stdout
    assert re.search(r"^\*  ", demo[0].stdout, flags=re.MULTILINE)
    assert "Warning" not in demo[0].output


def test_the_page_has_every_learner_on_every_data_set(page):
    for heading in ("Iris", "Breast cancer", "Digits", "Text"):
        part = re.split(rf">(?:<bdi>)?{heading}(?:</bdi>)?</a></h2>", page)[1].split("</section>")[0]
        for name in ONLINE:
            assert re.search(rf"<td><bdi>{name}[ *°]*</bdi></td>", part), (heading, name)
        assert part.count('class="plot"') >= 3


def test_the_page_has_the_commands_and_a_program(page, demo):
    for part in (f"compare {demo[1]}", f"predict {demo[1]}", "clf = Perceptron("):
        assert part in page


def test_the_page_is_shown_without_complaints_or_requests(demo):
    program = browser.find()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(browser.NAMES)} is installed")
    with browser.browser(program) as wire:
        for dark, width in ((False, 1280), (True, 390)):
            tab = browser.Tab(wire, demo[1] / "report.html", width=width, dark=dark)
            assert tab.complaints == []
            assert len(tab.requests) == 1
            assert tab.value("document.documentElement.scrollWidth") <= width


def test_bounds_on_the_page_are_true(text):
    """Both are of separators, and the perceptron, in several orders, stays below the lower one."""
    promise = demo_report.make_promise(text, seed=0)
    assert [proof.by for proof in promise.proofs] == ["the topic itself", "passive-aggressive"]
    X = np.hstack([text.X.toarray(), np.ones((len(text.y), 1))])
    y = np.where(text.y, 1, -1)
    topic = text.separator / np.linalg.norm(text.separator)
    margin = min(sign * float(row @ topic) for row, sign in zip(X, y, strict=True))
    radius = max(np.linalg.norm(row) for row in X)
    assert promise.proofs[0].margin == pytest.approx(margin)
    assert promise.proofs[0].bound == pytest.approx((radius / margin) ** 2)
    for seed in range(3):
        assert 0 < Perceptron(max_iter=100, random_state=seed).fit(text.X, text.y).mistakes_ <= promise.bound


def test_what_does_not_separate_proves_nothing(text):
    wrong = text._replace(separator=-text.separator)
    assert [proof.by for proof in demo_report.make_promise(wrong, seed=0).proofs] == ["passive-aggressive"]


def test_digits_are_drawn_where_they_belong():
    """One image of cells of 8 x 8, and as many titles, the last line not full."""
    rows = np.arange(6 * 64).reshape(6, 64) / (6 * 64)
    figure = digits(rows, list("abcdef"), "some")
    image = figure.axes[0].images[0].get_array()
    assert [text.get_text() for text in figure.axes[0].texts] == list("abcdef")
    assert np.array_equal(image[2:10, 9:17], rows[1].reshape(8, 8))
    assert np.array_equal(image[12:20, :8], rows[4].reshape(8, 8))
    assert np.ma.count(image) == 6 * 64 or np.isfinite(image).sum() == 6 * 64


def test_weights_of_no_size_can_be_drawn():
    colours = digit_weights(np.zeros((2, 64)), ["0", "1"], "none").axes[0].images[0]
    assert np.allclose(colours.cmap(colours.norm(np.array([-1.0, 1.0])))[:, 3], 1)
    assert colours.cmap(colours.norm(0.0))[3] == pytest.approx(0, abs=0.01)


def test_tables_of_digits_hold_all_rows_and_one_of_each(tmp_path):
    data = list(data_sets(0, quick=True))[2]
    steps = prepare(data, tmp_path, drawn=True)
    table = np.loadtxt(steps.table, delimiter=",", skiprows=1)
    assert np.array_equal(table, np.column_stack([data.y, data.X]))
    assert np.loadtxt(steps.new, delimiter=",", skiprows=1).shape == (10, 64)
    assert steps.new.read_text().startswith("pixel_0_0,")


@pytest.mark.parametrize("page", [None, Path("a b/it.html")])
def test_commands_quote_names_and_leave_out_a_page_that_cant_be_drawn(page):
    steps = NextSteps(Path("a b/t.csv"), Path("n.csv"), Path("m.linsep"), page)
    compare, fit, predict = steps.commands(40)
    assert "'a b/t.csv'" in compare
    assert ("--report 'a b/it.html'" in fit) == (page is not None)
    assert "\\\n    -o m.linsep" in fit
    assert predict.endswith("predict m.linsep n.csv")


def test_a_page_may_go_elsewhere_as_in_the_second_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = EXAMPLES.strip().splitlines()
    assert (first, second) == ("linsep demo", "linsep demo --quick --out pictures --report demo.html")
    result = CliRunner().invoke(app, shlex.split(second)[1:])
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert (tmp_path / "demo.html").read_text().startswith("<!doctype html>")
    assert not (tmp_path / "pictures" / "report.html").exists()
    assert "\nReport   demo.html\n" in result.stdout
    assert "-o pictures/digits.linsep" in result.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--out", "file"], "can't write to the folder"),
        (["--report", "folder"], "is a folder"),
        (["--report", "nowhere/it.html"], "there is no folder nowhere"),
    ],
)
def test_what_cant_be_written_is_one_line_and_status_2_before_the_work(tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    result = CliRunner().invoke(app, ["demo", *args])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert result.stdout == ""


def run(*args, **more):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True, **more)


@pytest.mark.parametrize("args", [["--help"], ["demo", "--help"], ["--version"]])
def test_help_loads_no_compiler(args):
    code = f"""
import sys, linsep.cli
sys.argv = ["linsep", *{args}]
try:
    linsep.cli.main()
except SystemExit as stop:
    assert not stop.code
print("loaded:", [name for name in {HEAVY} if name in sys.modules])
"""
    assert run("-c", code).stdout.endswith("loaded: []\n")


def test_python_m_linsep_is_the_command():
    assert run("-m", "linsep", "--version").stdout.startswith("linsep 0.")
    shown = run("-m", "linsep", "demo", "--help").stdout
    assert all(example in shown for example in EXAMPLES.split("\n"))


def test_a_closed_pipe_ends_it_quietly(tmp_path):
    command = forked("demo", "--quick", "--out", tmp_path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("linsep.demo.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("linsep.demo.report")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)


def test_without_matplotlib_all_but_the_page_is_there_in_the_default_folder(tmp_path, monkeypatch, no_matplotlib):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--quick"])
    assert result.exit_code == 0, result.output
    assert "pip install 'linsep[plot]'" in result.stdout
    assert " predict " in result.stdout
    assert "--report" not in result.stdout
    assert sorted(file.name for file in Path("linsep-demo").iterdir()) == ["digits.csv", "new.csv"]
    assert "-o linsep-demo/digits.linsep" in result.stdout


def test_without_matplotlib_a_page_that_is_asked_for_is_refused_at_once(tmp_path, no_matplotlib):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new"), "--report", str(tmp_path / "it.html")])
    assert result.exit_code == 2
    assert "pip install 'linsep[plot]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_without_jinja2_a_page_that_is_asked_for_is_refused_at_once(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("linsep.demo.report", "linsep.plots.report"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("linsep.demo.report")
    monkeypatch.delattr("linsep.plots.report")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new"), "--report", str(tmp_path / "it.html")])
    assert result.exit_code == 2
    assert "pip install 'linsep[plot]'" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_page_may_go_into_the_new_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("linsep.cli.commands.demo._demo", lambda *_: None)
    page = tmp_path / "new" / "it.html"
    result = CliRunner().invoke(app, ["demo", "--out", str(page.parent), "--report", str(page)])
    assert result.exit_code == 0, result.output
