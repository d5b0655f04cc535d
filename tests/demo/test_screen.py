"""What the screen shows on a terminal, in colour and without."""

import re
import sys
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

from linsep import Perceptron
from linsep.cli.terminal.progress import PATIENCE, LearnerColumn
from linsep.demo.data_sets import split, text
from linsep.demo.next_steps import NextSteps
from linsep.demo.screen import Screen
from linsep.demo.trials import Trial

TRIALS = [
    Trial("perceptron", "(R / gamma)²", 1234, 0.25, 2.5e6, True, False),
    Trial("winnow", "ln p / L", 99, 0.125, 3.1e4, False, True),
    Trial("passive-aggressive", "max(R², 1/C) (||u||² + 2 C sum of hinge)", 2_345_678, 0.5, 679_253, False, False),
]
COLOUR = re.compile(r"\x1b\[[\d;]*3[0-7][\d;]*m")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return split("dots", "made up", 7, (rng.normal(size=(40, 3)), np.arange(40) % 3), seed=0)


def shown(data, capsys):
    screen = Screen()
    screen.results(data, TRIALS)
    screen.notes(TRIALS)
    screen.summary([(data, TRIALS), (data._replace(name="more dots"), TRIALS)])
    return capsys.readouterr().out


def test_a_row_says_it_all(data, capsys):
    lines = shown(data, capsys).splitlines()
    assert any(line.split()[:7] == ["perceptron", "1,234", "25.0", "%", "2.5", "M"] for line in lines)
    assert any(line.split()[:7] == ["winnow", "*", "°", "99", "12.5", "%", "31"] for line in lines)


def test_the_last_table_has_errors_side_by_side(data, capsys):
    last = shown(data, capsys).split("Test errors\n")[1].splitlines()
    assert [line.split() for line in last[:2]] == [["more"], ["learner", "dots", "dots", "bound", "on", "mistakes"]]
    assert last[3].split() == ["perceptron", "25.0", "%", "25.0", "%", "(R", "/", "gamma)²"]


def test_places_are_links_on_a_terminal_and_plain_in_a_pipe(tmp_path, capsys, monkeypatch):
    page = tmp_path / "report.html"
    Screen().files(page, [])
    assert capsys.readouterr().out == f"\nReport   {page}\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    Screen().files(page, [])
    assert page.as_uri() in capsys.readouterr().out


def test_tables_without_pyarrow_are_told_how_to_get_it(capsys, monkeypatch):
    steps = NextSteps(Path("t.csv"), Path("n.csv"), Path("m.linsep"), None)
    Screen().next_steps(steps)
    assert "pyarrow" not in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    Screen().next_steps(steps)
    assert "pip install 'linsep[arrow]'" in capsys.readouterr().out


def test_marks_are_explained_only_where_they_occur(data, capsys):
    assert "\n*  " in shown(data, capsys)
    Screen().notes(TRIALS[:1])
    assert "\n*  " not in capsys.readouterr().out


def test_no_escape_codes_in_a_pipe(data, capsys):
    assert "\x1b" not in shown(data, capsys)


def test_colour_on_a_terminal_unless_no_color(data, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert COLOUR.search(shown(data, capsys))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOUR.search(shown(data, capsys))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_names_and_numbers_are_whole_at_any_width(data, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    out = shown(data, capsys)
    assert max(map(len, out.splitlines())) <= columns
    assert "…" not in out
    assert all(re.sub(r"\s", "", trial.bound)[:12] in re.sub(r"\s", "", out) for trial in TRIALS)


def test_a_first_fit_that_drags_on_is_said_to_compile():
    now = perf_counter()
    said = [
        LearnerColumn().render(SimpleNamespace(fields={"learner": "winnow", "since": s})).plain for s in (None, now)
    ]
    assert said == ["winnow", "winnow"]
    task = SimpleNamespace(fields={"learner": "winnow", "since": now - 2 * PATIENCE})
    assert LearnerColumn().render(task).plain == "compiling winnow ... (once; kept on disk)"


def test_no_progress_where_there_is_no_terminal(capsys):
    with Screen().progress("dots") as tell:
        tell.begin("perceptron")
        tell.ready()
    assert capsys.readouterr().err == ""


def test_data_are_divided_by_one_factor(data):
    assert max(abs(data.X).max(), abs(data.X_test).max()) == 1
    assert len(data.y) == 30
    assert data.classes == 3


def test_generated_text_is_sparse_small_and_separable():
    X, y, topic = text(2000, 1000, seed=1)
    assert X.shape == (2000, 1000)
    assert (X.indices.dtype, X.dtype) == (np.int32, np.float64)
    assert (text(2000, 1000, seed=1)[0] != X).nnz == 0
    assert np.array_equal(X @ topic[:-1] + topic[-1] > 0, y)
    assert Perceptron(max_iter=100, random_state=0).fit(X, y).score(X, y) == 1


def test_generated_text_has_both_classes_and_a_separator_whatever_the_seed():
    for seed in range(40):
        X, y, topic = text(2000, 1000, seed)
        assert 200 < y.sum() < 1800, seed
        assert np.array_equal(X @ topic[:-1] + topic[-1] > 0, y), seed
