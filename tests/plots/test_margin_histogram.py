"""Margins: every row is in a bar, and those at or below 0 are in the shaded ones."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from linsep import Perceptron
from linsep.plots import margins
from linsep.plots.style import RIGHT, WRONG
from tests.fits import fit
from tests.plots.drawing import overlapping_ticks, place, title

iris = load_iris()


class Given(BaseEstimator):
    """A learner of two classes whose scores are the first column."""

    classes_ = np.array([0, 1])

    def fit(self):
        """Is what makes it an estimator."""

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        return np.asarray(X, float)[:, 0]


def bars(ax):
    return [(bar.get_x(), bar.get_height(), to_hex(bar.get_facecolor())) for bar in ax.patches if bar.get_zorder() == 2]


@pytest.mark.parametrize("classes", [2, 3])
def test_bars_hold_all_rows_and_the_shaded_ones_the_mistakes(classes):
    y = iris.target if classes == 3 else iris.target == 1
    clf = fit(Perceptron(random_state=0, max_iter=5), iris.data, y)
    scores = clf.decision_function(iris.data)
    if classes == 2:
        expected = np.where(y, 1, -1) * scores
    else:
        expected = np.array([s[k] - max(np.delete(s, k)) for s, k in zip(scores, y, strict=True)])
    ax = margins(clf, iris.data, y, ax=place())
    wrong = np.sum(expected <= 0)
    assert sum(height for _, height, _ in bars(ax)) == 150
    assert sum(height for _, height, colour in bars(ax) if colour == WRONG.lower()) == wrong
    assert title(ax) == f"Margins: {wrong} mistakes on 150 rows ({100 * wrong / 150:.1f} %)"
    edges = [x for x, _, _ in bars(ax)]
    heights = [np.sum((expected > a) & (expected <= b)) for a, b in zip(edges, [*edges[1:], np.inf], strict=True)]
    heights[0] += np.sum(expected <= edges[0])
    np.testing.assert_array_equal(heights, [height for _, height, _ in bars(ax)])


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30))
@example([0.0])
@example([-3.0])
@example([1e-3, 1e-3])
@example([5e-324, -5e-324])
@example([1e9, 1e9 + 1e-6])
@example([-0.3, 0.1, 3.7])
def test_no_row_is_lost(values):
    ax = margins(Given(), np.array(values)[:, None], np.ones(len(values), int), ax=place())
    assert sum(height for _, height, _ in bars(ax)) == len(values)
    wrong = sum(height for _, height, colour in bars(ax) if colour == WRONG.lower())
    assert wrong == np.sum(np.array(values) <= 0)
    assert {colour for _, _, colour in bars(ax)} <= {RIGHT.lower(), WRONG.lower()}


def test_bad_rows_are_refused():
    clf = fit(Perceptron(max_iter=2), iris.data, iris.target)
    with pytest.raises(NotFittedError):
        margins(Perceptron(), iris.data, iris.target)
    with pytest.raises(ValueError, match="NaN"):
        margins(clf, np.full((1, 4), np.nan), [0])
    with pytest.raises(ValueError, match="X has 150 rows and y has 149 labels"):
        margins(clf, iris.data, iris.target[1:])
    with pytest.raises(ValueError, match="label 7, which is not among"):
        margins(clf, iris.data[:1], [7])
    with pytest.raises(ValueError, match="0 sample"):
        margins(clf, iris.data[:0], [])
    with pytest.raises(TypeError, match="no decision_function"):
        margins(type("Other", (Given,), {"decision_function": property()})(), iris.data, iris.target)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-8, 3.3e-5, 1.0, 3.2e4, 1e9, 1e12, 1e30])
@pytest.mark.parametrize("middle", [0, 5, 100])
def test_ticks_do_not_overlap(unit, middle):
    scores = unit * (np.random.default_rng(0).normal(size=(500, 1)) + middle)
    ax = margins(Given(), scores, np.append(np.zeros(1, int), np.ones(499, int)), ax=place(5.2, 2.9))
    assert overlapping_ticks(ax) == []
