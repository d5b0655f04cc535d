"""`linsep fit --stream`: the error in windows, and where it rises."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.terminal.progress import FIRST_WINDOW, MOST_WINDOWS, LearningCurve


def fit(*args):
    return CliRunner().invoke(app, ["fit", *map(str, args)])


@pytest.fixture
def drift(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(1200, 6)), rng.normal(size=6)
    y = np.where(X @ w * np.where(np.arange(1200) < 600, 1, -1) > 0, 1, -1)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row)) for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "drift.svm").write_text("\n".join(lines) + "\n")
    return linsep.read("drift.svm")


def test_windows_count_rows_that_were_wrong_before_they_were_learned(drift):
    result = fit("drift.svm", "-l", "perceptron", "--stream", "-o", "m.linsep", "--window", "200", "--json")
    found = json.loads(result.stdout)
    clf, wrong = linsep.Perceptron(intercept_scaling="auto"), []
    for x, label in zip(drift.X.toarray(), drift.y, strict=True):
        score = float((x @ clf.coef_.T + clf.intercept_)[0]) if hasattr(clf, "classes_") else 0.0
        wrong.append(score * label <= 0)
        clf.partial_fit(x[None], [label], classes=[-1, 1])
    expected = [[k, int(np.sum(wrong[:k]))] for k in range(200, 1201, 200)]
    assert found["windows"] == expected
    assert [rise["row"] for rise in found["rises"]] == [600]


def test_an_average_is_judged_in_blocks(drift):
    result = fit("drift.svm", "--stream", "-o", "m.linsep", "--window", "100", "--json")
    found = json.loads(result.stdout)
    rows = [row for row, _ in found["windows"]]
    assert rows == [128, 256, 512, 1024, 1200]  # until blocks have 1,024 rows, they end at powers of two
    assert found["windows"][-1][1] == pytest.approx(1200 * found["progressive_error"])


def test_the_rise_is_stated_and_drawn(drift):
    how = ["drift.svm", "-l", "perceptron", "--stream", "-o", "m.linsep", "--window", "200"]
    shown = fit(*how, "--report", "page.html").stdout
    assert "error rises        between rows 600 and 800, from " in shown
    assert " in the last window" in " ".join(shown.split())
    assert "moving-average" not in shown  # the last weights predict
    page = Path("page.html").read_text()
    assert "The error in windows" in page
    assert "last between rows 600 and 800" in page
    assert "moving-average" not in page
    assert "error rises" not in fit(*how[:-1], "1200").stdout


def test_an_average_is_advised_to_forget_and_the_moving_average_is_not(drift):
    how = ["drift.svm", "--stream", "-o", "m.linsep", "--window", "100"]
    shown = fit(*how, "--report", "page.html").stdout
    assert "try --learner moving-average" in shown
    assert "Try --learner moving-average" in Path("page.html").read_text()
    shown = fit(*how, "-l", "moving-average", "--report", "page.html").stdout
    page = Path("page.html").read_text()
    assert "try --learner" not in shown
    assert "Try --learner" not in page
    assert "horizon=1000.0" in page


def test_windows_are_of_streams(drift):
    result = fit("drift.svm", "-o", "m.linsep", "--window", "100")
    assert result.exit_code == 2
    assert "--window goes with --stream" in result.stderr
    assert json.loads(fit("drift.svm", "-o", "m.linsep", "--json").stdout)["windows"] == []


def test_windows_are_joined_when_there_are_many():
    curve, most = LearningCurve(), FIRST_WINDOW * MOST_WINDOWS
    for rows in range(FIRST_WINDOW, 10 * most, FIRST_WINDOW):
        curve._add_window(rows, rows // 10)
        assert len(curve.windows) <= MOST_WINDOWS
        assert all(errors == row // 10 for row, errors in curve.windows)
    assert curve.window == 16 * FIRST_WINDOW
    assert np.ptp(np.diff([row for row, _ in curve.windows])) == 0
