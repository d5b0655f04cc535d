"""Boundaries and margins: at the places that the weights tell, and no line where it would mislead."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array, random_array
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from linsep import AveragedPerceptron, LogisticRegression, Perceptron
from linsep.plots import decision_boundary
from linsep.plots.decision_regions import DRAWN
from linsep.transforms import Polynomial
from tests.fits import fit
from tests.plots.drawing import in_legend, place, title, written

iris = load_iris()
NAMES = iris.target_names[iris.target]
TWO = iris.target < 2


def lines(ax):
    """The vertices of every line that was contoured."""
    return [
        np.asarray(path.vertices) for c in ax.collections if not getattr(c, "filled", True) for path in c.get_paths()
    ]


def dots(ax):
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections if c.get_zorder() == 4])


def test_line_and_margin_lie_where_the_weights_say():
    X, y = iris.data[TWO][:, [1, 3]], NAMES[TWO]
    clf = Perceptron(random_state=0, max_iter=100).fit(X, y)
    ax = decision_boundary(clf, X, y, feature_names=["a", "b"], ax=place())
    size = np.linalg.norm(clf.coef_)
    margin = np.min(np.where(y == clf.classes_[1], 1, -1) * (X @ clf.coef_[0] + clf.intercept_)) / size
    assert margin > 0
    distances = [(path @ clf.coef_[0] + clf.intercept_[0]) / size for path in lines(ax)]
    for found, expected in zip(distances, [0, -margin, margin], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert in_legend(ax) == ["setosa", "versicolor", "boundary", f"margin {margin:.3g}"]
    assert (title(ax), ax.get_xlabel(), ax.get_ylabel()) == ("Perceptron: 0 mistakes on 100 rows", "a", "b")
    np.testing.assert_array_equal(np.sort(dots(ax), axis=0), np.sort(X, axis=0))


def test_mistakes_are_ringed_and_leave_no_margin():
    X, y = iris.data[:, [1, 3]], NAMES == "versicolor"
    clf = fit(Perceptron(random_state=0, max_iter=3), X, y)
    ax = decision_boundary(clf, X, y, ax=place())
    wrong = np.where(y, 1, -1) * clf.decision_function(X) <= 0
    rings = ax.collections[-1].get_offsets()
    np.testing.assert_array_equal(rings, X[wrong])
    assert title(ax) == f"Perceptron: {wrong.sum()} mistakes on 150 rows"
    assert in_legend(ax) == ["False", "True", "mistake", "boundary"]


def test_regions_of_three_classes_are_those_of_predict():
    X = iris.data[:, [1, 3]]
    clf = fit(LogisticRegression(random_state=0, max_iter=20), X, NAMES)
    ax = decision_boundary(clf, X, NAMES, ax=place())
    fills = [c for c in ax.collections if getattr(c, "filled", False)]
    points = np.random.default_rng(0).uniform(*np.transpose([ax.get_xlim(), ax.get_ylim()]), (300, 2))
    scores = np.sort(clf.decision_function(points), axis=1)
    points = points[scores[:, -1] - scores[:, -2] > 0.05 * np.ptp(scores)]
    inside = np.array([np.any([p.contains_points(points) for p in c.get_paths()], axis=0) for c in fills])
    np.testing.assert_array_equal(inside.sum(axis=0), 1)
    np.testing.assert_array_equal(clf.classes_[inside.argmax(axis=0)], clf.predict(points))


@pytest.mark.parametrize("form", [np.asarray, csr_array, coo_array, pd.DataFrame, np.ndarray.tolist])
def test_many_features_are_seen_on_the_principal_plane(form):
    X, y = iris.data[TWO], NAMES[TWO]
    clf = Perceptron(random_state=0, max_iter=100).fit(X, y)
    ax = decision_boundary(clf, form(X), y, ax=place())
    off = X - X.mean(axis=0)
    _, sizes, directions = np.linalg.svd(off, full_matrices=False)
    expected, found = off @ directions[:2].T, dots(ax)
    order = np.argsort(y, kind="stable")
    np.testing.assert_allclose(np.abs(found), np.abs(expected[order]), atol=1e-9)
    directions = directions[:2] * np.sign(np.sum(found * expected[order], axis=0))[:, None]
    share = 100 * sizes[0] ** 2 / np.sum(sizes**2)
    assert ax.get_xlabel() == f"principal direction 1: {share:.1f} % of variance"
    (line,) = lines(ax)
    np.testing.assert_allclose((X.mean(axis=0) + line @ directions) @ clf.coef_[0] + clf.intercept_, 0, atol=1e-9)
    assert any("100 % of rows are on the side of their prediction" in text for text in written(ax))


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_seen_along_the_boundary_rows_are_at_their_distance(form):
    X, y = iris.data[TWO], NAMES[TWO]
    clf = Perceptron(random_state=0, max_iter=100).fit(X, y)
    ax = decision_boundary(clf, form(X), y, view="score", ax=place())
    distances = (X @ clf.coef_[0] + clf.intercept_[0]) / np.linalg.norm(clf.coef_)
    np.testing.assert_allclose(dots(ax)[:, 0], distances[np.argsort(y, kind="stable")], atol=1e-9)
    at = [path[:, 0] for path in lines(ax)]
    for found, expected in zip(at, [0, -abs(distances).min(), abs(distances).min()], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_line_that_would_mislead_is_left_out():
    X, y = load_digits(return_X_y=True)
    clf = fit(Perceptron(random_state=0, max_iter=3), X, y)
    ax = decision_boundary(clf, X, y, ax=place())
    assert not lines(ax)
    assert "boundary" not in in_legend(ax)
    off = X - X.mean(axis=0)
    directions = np.linalg.svd(off, full_matrices=False)[2]
    flat = X.mean(axis=0) + off @ directions[:2].T @ directions[:2]
    share = 100 * np.mean(clf.predict(flat) == clf.predict(X))
    assert share < 90
    assert f"No boundary is drawn: only {share:.1f} % of rows would be on the side of their prediction." in written(ax)


def test_of_many_wide_rows_a_sample_is_drawn():
    rng = np.random.default_rng(0)
    X = random_array((DRAWN + 500, 1 << 20), density=20 / (1 << 20), format="csr", rng=rng)
    y = np.asarray(X[:, : 1 << 19].sum(axis=1)) > np.asarray(X[:, 1 << 19 :].sum(axis=1))
    clf = fit(AveragedPerceptron(random_state=0, max_iter=2), X, y)
    ax = decision_boundary(clf, X, y, view="score", ax=place())
    assert len(dots(ax)) == DRAWN
    assert any("2,000 rows of 2,500 are drawn." in text for text in written(ax))


def test_a_pipeline_is_asked_point_by_point():
    X, y = iris.data[:, [1, 3]], NAMES == "versicolor"
    clf = make_pipeline(Polynomial(2), AveragedPerceptron(max_iter=300, random_state=0))
    frame = pd.DataFrame(X, columns=["a", "b"])
    ax = decision_boundary(fit(clf, frame, y), frame, y, ax=place())
    (line,) = lines(ax)
    line = line[((line > X.min(axis=0)) & (line < X.max(axis=0))).all(axis=1)]
    assert len(line) > 50
    reach = np.abs(clf.decision_function(frame)).max()
    heights = clf.decision_function(pd.DataFrame(line, columns=["a", "b"]))
    np.testing.assert_allclose(heights / reach, 0, atol=1e-3)
    assert (ax.get_xlabel(), title(ax)[:19]) == ("a", "AveragedPerceptron:")
    with pytest.raises(ValueError, match="needs linear weights"):
        decision_boundary(fit(clf, iris.data, y), iris.data, y, view="score", ax=place())


def test_scores_that_are_all_equal_have_no_boundary():
    clf = fit(Perceptron(max_iter=1, shuffle=False, fit_intercept=False), [[0.0, 0], [0, 0]], [0, 1])
    ax = decision_boundary(clf, [[0.0, 1], [2, 1]], [0, 1], ax=place())
    assert not lines(ax)
    assert "No boundary crosses this part of the plane." in written(ax)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, 2), [0, 0, 0, 0, 0]])
def test_few_or_equal_rows(form, rows):
    clf = Perceptron(random_state=0, max_iter=100).fit(iris.data[TWO], NAMES[TWO])
    X, y = iris.data[rows], NAMES[rows]
    for view in ("principal", "score"):
        assert len(dots(decision_boundary(clf, form(X), y, view=view, ax=place()))) == len(X)


def test_what_can_not_be_drawn_is_refused():
    X, y = iris.data[TWO][:, :2], NAMES[TWO]
    clf = fit(Perceptron(random_state=0, max_iter=3), X, y)
    with pytest.raises(NotFittedError):
        decision_boundary(Perceptron(), X, y)
    with pytest.raises(ValueError, match="X has 100 rows and y has 99 labels"):
        decision_boundary(clf, X, y[1:])
    with pytest.raises(ValueError, match="NaN"):
        decision_boundary(clf, np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match="0 sample"):
        decision_boundary(clf, X[:0], y[:0])
    with pytest.raises(ValueError, match="label 'rose', which is not among"):
        decision_boundary(clf, X[:2], ["setosa", "rose"])
    with pytest.raises(ValueError, match="of another type"):
        decision_boundary(clf, X[:2], [0, 1])
    with pytest.raises(ValueError, match='it is "principal" or "score"'):
        decision_boundary(clf, X, y, view="side")
    with pytest.raises(ValueError, match="has 3 names"):
        decision_boundary(clf, X, y, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="1 feature, and a plane needs two"):
        decision_boundary(fit(Perceptron(max_iter=2), X[:, :1], y), X[:, :1], y)
    with pytest.raises(ValueError, match="for two classes, and there are 3"):
        decision_boundary(fit(Perceptron(max_iter=2), iris.data, NAMES), iris.data, NAMES, view="score")
    with pytest.raises(ValueError, match="seen only one class, 'setosa'"):
        decision_boundary(Perceptron().partial_fit(X[:2], y[:2]), X[:2], y[:2])
