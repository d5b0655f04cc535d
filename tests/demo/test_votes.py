"""What the demo shows of votes: the study's numbers, on the screen and on the page."""

import re

import numpy as np
import pytest
from rich.console import Console

from linsep.demo.data_sets import data_sets
from linsep.demo.digits_study import DEGREES, METHODS, QUICK, Split, StudyRun, read_digits, study
from linsep.demo.report import vote_parts
from linsep.demo.screen import vote_table
from linsep.plots.report import Picture, Table
from linsep.training.votes import reading_name

ERRORS = {method: np.array([0.5, 0.01 * k]) for k, method in enumerate(METHODS, start=3)}
RUNS = [
    StudyRun(1, 0, (0.1, 10.0), ERRORS, np.array([40, 1234]), np.array([30, 777]), 1.0, 1.0),
    StudyRun(2, 0, (0.1, 4.0), {method: shares[::-1] for method, shares in ERRORS.items()}, np.array([9, 12]),
        np.array([8, 11]), 1.0, 1.0),
]  # fmt: skip
"""Of the first the vote is best in the end; of the second all are alike."""


def shown(runs, **how):
    console = Console(width=80, **how)
    with console.capture() as caught:
        console.print(vote_table(runs))
    return caught.get()


def cells(text):
    """Return the rows of a table by their names."""
    rows = (re.split(r" {2,}", line.strip()) for line in text.splitlines())
    return {first: rest for first, *rest in rows if rest}


def test_the_screen_has_the_last_error_of_every_method_and_the_counts():
    found = cells(shown(RUNS))
    assert found["readout"] == ["d = 1, T = 10", "d = 2, T = 4"]
    for method, shares in ERRORS.items():
        assert found[reading_name(*method)] == [f"{100 * shares[-1]:.1f} %", "50.0 %"]
    assert found["mistakes while learning"] == ["1,234", "12"]
    assert found["distinct rows among them"] == ["777", "11"]


def test_the_best_answers_are_marked():
    marked = re.findall(r"\x1b\[1;32m *([\d.]+ %)", shown(RUNS, force_terminal=True, color_system="standard"))
    assert sorted(marked) == sorted(["3.0 %", *["50.0 %"] * len(METHODS)])


def test_the_page_has_the_curves_and_the_same_numbers():
    _, picture, table = vote_parts(RUNS)
    assert isinstance(picture, Picture)
    assert [axes.get_title(loc="left") for axes in picture.figure.axes[:2]] == ["degree 1", "degree 2"]
    assert isinstance(table, Table)
    assert table.rows == [[reading_name(*method), shares[-1], 0.5] for method, shares in ERRORS.items()]


def test_digits_are_read_with_their_own_pixels():
    data = list(data_sets(0, quick=True))[2]
    pixels = np.rint(data.factor * data.X)
    assert pixels.max() == 16
    expected = study(Split(pixels, data.y, np.rint(data.factor * data.X_test), data.y_test), DEGREES, QUICK, [3])
    for run, own in zip(read_digits(data, 3, quick=True), expected, strict=True):
        assert (run.degree, run.epochs, run.mistakes.tolist()) == (own.degree, QUICK, own.mistakes.tolist())
        assert run.errors["vote", False] == pytest.approx(own.errors["vote", False])
