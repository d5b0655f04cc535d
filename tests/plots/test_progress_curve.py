"""The progressive error over the rows learned, and the likelihood after each step of a solver."""

import numpy as np
import pytest

from linsep import LogisticRegression
from linsep.plots import ascent, progress, windows
from tests.contracts.table import problem
from tests.plots.drawing import place, title


def test_the_curve_is_what_was_given():
    rows, errors = 2.0 ** np.arange(11), 1 / np.sqrt(2.0 ** np.arange(11))
    ax = progress(rows, errors, ax=place())
    np.testing.assert_array_equal(ax.lines[0].get_data(), [rows, errors])
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[0] == 0
    assert title(ax) == "Progressive error: 3.1 % after 1,024 rows"


def test_one_point_and_no_error_at_all():
    assert title(progress([1], [1], ax=place())) == "Progressive error: 100 % after 1 row"
    assert title(progress([1, 2], [0, 0], ax=place())) == "Progressive error: 0 % after 2 rows"


@pytest.mark.parametrize(
    ("rows", "errors", "message"),
    [
        ([], [], "rows is empty"),
        ([1, 2], [0.5], "rows has 2 entries and errors has 1"),
        ([0, 1], [0.5, 0.5], "rows has 0 at place 0"),
        ([1, 3, 3], [0.5, 0.5, 0.5], "rows has 3 at place 2"),
        ([1, 2], [0.5, 5.0], "errors has 5 at place 1"),
        ([1, 2], [0.5, np.nan], "errors has nan at place 1"),
    ],
)
def test_bad_numbers_are_refused(rows, errors, message):
    with pytest.raises(ValueError, match=message):
        progress(rows, errors)


@pytest.mark.parametrize("solver", ["batch", "newton"])
def test_the_line_is_the_history(solver):
    X, y = problem()
    clf = LogisticRegression(solver=solver, prior_variance=1.0).fit(X, y)
    ax = ascent(clf.history_)
    x, drawn = ax.lines[0].get_data()
    assert x.tolist() == list(range(len(clf.history_)))
    assert drawn.tolist() == clf.history_
    assert (np.diff(drawn) >= -1e-9).all()
    assert f"{clf.history_[-1]:.4g}" in ax.get_title(loc="left")
    assert ax.get_xlabel() == "steps"


def test_what_is_no_history():
    with pytest.raises(ValueError, match="history is empty"):
        ascent([])
    with pytest.raises(ValueError, match="history"):
        ascent([0.0, np.nan])
    assert ascent([-1.0]).get_title(loc="left") == "Log-likelihood: -1 after 0 steps"


def test_windows_are_differences():
    ax = windows([100, 300, 400], [20, 40, 90], rises=[300], ax=place())
    dashed, window, so_far = ax.lines
    assert dashed.get_xdata()[0] == 300
    np.testing.assert_allclose(window.get_data(), [[0, 100, 300, 400], [0.2, 0.2, 0.1, 0.5]])
    np.testing.assert_allclose(so_far.get_data(), [[100, 300, 400], [0.2, 40 / 300, 90 / 400]])
    assert title(ax) == "Error: 50.0 % in the last window, 22.5 % of all rows"
    for rows, errors in (([1, 1], [0, 0]), ([2, 4], [2, 1]), ([2, 4], [1, 4]), ([2], [1, 2])):
        with pytest.raises(ValueError, match=r"rows has|errors has"):
            windows(rows, errors)
