"""The confusion matrix: counts, shares, and who is left out."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from linsep.plots import confusion
from linsep.plots.evaluation import COUNTS, DEEPEST, SHARES, matrix_size
from linsep.plots.style import RIGHT, WRONG
from tests.plots.drawing import overhang, place, title, written

rng = np.random.default_rng(0)


def cells(ax, n):
    """The first line of the text in each cell."""
    found = np.full((n, n), "", dtype=object)
    for text in ax.texts:
        if text.get_transform() == ax.transData:
            x, y = text.get_position()
            found[y, x] = text.get_text()
    return found


def share_column(ax):
    return [text.get_text() for text in ax.texts if text.get_transform() != ax.transData and "\n" not in
            text.get_text() and (text.get_text().endswith("%") or text.get_text() == "–")]  # fmt: skip


@pytest.mark.parametrize("n", [2, 5, SHARES, SHARES + 1, 30])
def test_cells_hold_counts_and_shares(n):
    names = np.array([f"class {k:02d}" for k in range(n)])
    a, b = rng.integers(0, n, 400), rng.integers(0, n, 400)
    b = np.where(rng.random(400) < 0.7, a, b)
    counts = confusion_matrix(names[a], names[b], labels=names)
    ax = confusion(names[a], names[b], ax=place(9, 9))
    for (i, j), text in np.ndenumerate(cells(ax, n)):
        lines = text.split("\n")
        assert lines[0] == (str(counts[i, j]) if counts[i, j] else "")
        if counts[i, j] and n <= SHARES:
            assert lines[1] == f"{round(100 * counts[i, j] / counts[i].sum())} %"
    assert share_column(ax) == [f"{round(100 * counts[k, k] / counts[k].sum())} %" for k in range(n)]
    assert title(ax) == f"{np.trace(counts)} of 400 rows right ({100 * np.mean(a == b):.1f} %)"
    assert [text.get_text() for text in ax.get_yticklabels()] == names.tolist()


def test_colours_tell_right_from_wrong_and_how_much():
    ax = confusion(["a"] * 4 + ["b"], ["a", "a", "a", "b", "b"], ax=place())
    look = {(round(r.get_x() + r.get_width() / 2), round(r.get_y() + r.get_height() / 2)): r.get_facecolor()
            for r in ax.patches}  # fmt: skip
    assert set(look) == {(0, 0), (1, 0), (1, 1)}
    for place_, colour in (((0, 0), RIGHT), ((1, 1), RIGHT), ((1, 0), WRONG)):
        np.testing.assert_allclose(look[place_][:3], [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    assert look[1, 0][3] < look[0, 0][3] < look[1, 1][3] == pytest.approx(DEEPEST)


def test_a_class_that_is_never_predicted_and_one_that_never_occurs():
    ax = confusion(["a", "b", "b"], ["a", "a", "c"], ax=place())
    assert share_column(ax) == ["100 %", "0 %", "–"]
    assert not any(cells(ax, 3)[:, 1])


def test_nearly_all_is_not_written_as_all():
    ax = confusion(np.repeat([0, 1], [1000, 5]), np.repeat([0, 1], [999, 6]), ax=place())
    assert share_column(ax) == ["> 99 %", "100 %"]
    assert cells(ax, 2)[0, 1] == "1\n< 1 %"


def test_labels_choose_and_order():
    a, b = np.array(["x", "y", "z", "x"]), np.array(["y", "y", "z", "z"])
    ax = confusion(a, b, labels=["y", "x"], ax=place())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["y", "x"]
    assert cells(ax, 2).tolist() == [["1\n100 %", ""], ["1\n100 %", ""]]
    assert "2 rows with other labels left out." in written(ax)


@pytest.mark.parametrize("n", [2, 10, 25])
def test_long_names_stay_within_the_figure(n):
    names = np.array([f"{k:02d} {'a long name of a class' * 2}"[:40] for k in range(n)])
    ax = confusion(names, names[::-1], ax=place(*matrix_size(names)))
    assert overhang(ax) < 0.02


def test_very_many_classes_are_drawn_without_numbers():
    y = np.arange(COUNTS + 1)
    assert not any(text.get_transform() == ax.transData for ax in [confusion(y, y, ax=place())] for text in ax.texts)


@pytest.mark.parametrize(
    ("a", "b", "more", "message"),
    [
        ([], [], {}, "y_true is empty"),
        ([1, 2], [1], {}, "y_true has 2 entries and y_pred has 1"),
        ([1.0, np.nan], [1, 2], {}, "y_true has the label nan at place 1"),
        ([1, 2], ["a", "b"], {}, "of another type"),
        ([1, 2], [1, 2], {"labels": [3, 4]}, "none of the labels occurs"),
        ([1, 2], [1, 2], {"labels": [1, 1]}, "a class twice"),
        (range(101), range(101), {}, "101 classes are too many.*labels="),
    ],
)
def test_bad_labels_are_refused(a, b, more, message):
    with pytest.raises(ValueError, match=message):
        confusion(np.array(a), np.array(b), **more)
