"""The ROC curve and the curve of precision and recall: their points are scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from linsep.plots import precision_recall, roc
from tests.plots.drawing import place, title

rng = np.random.default_rng(0)
Y = rng.random(200) < 0.3
SCORE = np.round(rng.normal(size=200) + Y, 1)


def test_the_roc_curve():
    ax = roc(Y, SCORE, ax=place())
    false, true, _ = roc_curve(Y, SCORE, drop_intermediate=False)
    np.testing.assert_allclose(ax.lines[1].get_data(), [false, true])
    assert title(ax) == f"ROC curve: area {roc_auc_score(Y, SCORE):.3f}"


def test_the_curve_of_precision_and_recall():
    ax = precision_recall(np.where(Y, "spam", "ham"), SCORE, ax=place())
    precision, recall, _ = precision_recall_curve(Y, SCORE)
    np.testing.assert_allclose(ax.lines[1].get_data(), [recall[-2::-1], precision[-2::-1]])
    assert title(ax) == f"Precision and recall: average precision {average_precision_score(Y, SCORE):.3f}"
    assert ax.lines[0].get_ydata()[0] == pytest.approx(Y.mean())


def test_a_threshold_is_marked_where_its_rows_are():
    above = SCORE >= 0.5
    across, up = roc(Y, SCORE, threshold=0.5, ax=place()).lines[2].get_data()
    assert (across[0], up[0]) == (above[~Y].mean(), above[Y].mean())
    across, up = precision_recall(Y, SCORE, threshold=0.5, ax=place()).lines[2].get_data()
    assert (across[0], up[0]) == (above[Y].mean(), Y[above].mean())
    assert len(precision_recall(Y, SCORE, threshold=99, ax=place()).lines) == 2


def test_of_many_points_some_are_drawn_and_both_ends():
    score = rng.normal(size=5000)
    y = rng.random(5000) < 0.5
    ax = roc(y, score, ax=place())
    across, up = ax.lines[1].get_data()
    assert len(across) <= 402
    assert (across[0], up[0], across[-1], up[-1]) == (0, 0, 1, 1)


def test_one_class_has_no_curve():
    with pytest.raises(ValueError, match="all rows are of one class"):
        roc([0, 0], [0.1, 0.2], labels=[0, 1])
    with pytest.raises(ValueError, match="y has 3 entries and score has 2"):
        roc([0, 0, 1], [0.1, 0.2])
