"""Calibration: the points are the means of their groups, and the Brier score is the mean square."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from linsep.plots import calibration
from tests.plots.drawing import place, title, written

rng = np.random.default_rng(0)
P = rng.random(500)
HAPPENED = rng.random(500) < P**2


def curve(ax):
    return ax.lines[-1].get_data()


def strip(ax):
    return [int(text.get_text().replace(",", "")) for text in ax.texts if text.get_text().replace(",", "").isdigit()]


@pytest.mark.parametrize("bins", [1, 5, 10, 40])
def test_points_are_the_means_of_their_groups(bins):
    ax = calibration(HAPPENED, P, bins=bins, ax=place())
    share, mean = calibration_curve(HAPPENED, P, n_bins=bins)
    np.testing.assert_allclose(curve(ax), [mean, share], atol=1e-12)
    assert title(ax) == f"Calibration: Brier score {brier_score_loss(HAPPENED, P):.3g}"
    counts = np.histogram(P, bins, (0, 1))[0]
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights / np.max(heights), counts / counts.max())
    if bins <= 12:
        assert strip(ax) == counts[counts > 0].tolist()


def test_columns_of_two_classes_are_those_of_the_second():
    y = np.where(HAPPENED, "spam", "ham")
    ax = calibration(y, np.column_stack([1 - P, P]), ax=place())
    np.testing.assert_allclose(curve(ax), curve(calibration(HAPPENED, P, ax=place())))
    assert ax.get_xlabel() == "probability given to spam"


def test_of_three_classes_the_predicted_one_is_judged():
    p = rng.dirichlet([1, 1, 1], 300)
    y = rng.integers(0, 3, 300)
    ax = calibration(y, p, bins=4, ax=place())
    said, right = p.max(axis=1), p.argmax(axis=1) == y
    share, mean = calibration_curve(right, said, n_bins=4)
    np.testing.assert_allclose(curve(ax), [mean, share])
    brier = np.mean([sum((p[i, k] - (y[i] == k)) ** 2 for k in range(3)) for i in range(300)])
    assert title(ax) == f"Calibration: Brier score {brier:.3g}"
    assert "probability given to the predicted class" in written(ax)


def test_intervals_are_those_of_wilson():
    ax = calibration([1] * 8 + [0] * 2, [0.5] * 10, bins=1, ax=place())
    (segment,) = ax.collections[0].get_segments()
    np.testing.assert_allclose(segment[:, 1], [0.4901625, 0.9433178], atol=1e-6)


def test_probabilities_of_0_and_1_and_one_row():
    x, y = curve(calibration([0, 1], [0.0, 1.0], ax=place()))
    assert (x.tolist(), y.tolist()) == ([0, 1], [0, 1])
    assert title(calibration([1], [0.3], ax=place())) == "Calibration: Brier score 0.49"
    assert title(calibration(["b"], [0.3], labels=["a", "b"], ax=place())) == "Calibration: Brier score 0.49"


@pytest.mark.parametrize(
    ("y", "p", "more", "message"),
    [
        ([], [], {}, "one row at least"),
        ([0, 1], [0.5], {}, "y has 2 entries and probability has 1"),
        ([0, 1], [0.5, 1.5], {}, r"1.5 at \(1,\)"),
        ([0, 1], [0.5, np.nan], {}, r"nan at \(1,\)"),
        ([0, 1], [0.5, 0.5], {"bins": 0}, "bins=0"),
        (["a", "a"], [0.5, 0.5], {}, "that of 2 classes, and y has 1"),
        ([0, 1, 2], [0.5, 0.5, 0.5], {}, "that of 2 classes, and y has 3"),
        ([0, 1], np.full((2, 3), 0.3), {}, "that of 3 classes, and y has 2.*pass labels="),
        ([0, 1], [0.5, 0.5], {"labels": [1, 0]}, "in sorted order"),
        ([0, 1], [0.5, 0.5], {"labels": [1, 1]}, "in sorted order"),
        ([0, 7], [0.5, 0.5], {"labels": [0, 1]}, "label 7, which is not among"),
    ],
)
def test_bad_claims_are_refused(y, p, more, message):
    with pytest.raises(ValueError, match=message):
        calibration(y, p, **more)
