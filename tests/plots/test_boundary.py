"""The boundary's way: replayed from the log, it ends in the weights that answer."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from linsep import ROMMA, AveragedPerceptron, BalancedWinnow, PassiveAggressive, Perceptron
from linsep.demo.report import FEATURES, ORDER, boundary, save_boundary, two_irises
from linsep.plots import boundary_path
from linsep.plots.boundary import replay
from tests.fits import fit

X, y = two_irises()


@pytest.fixture(scope="module")
def demo_run():
    return Perceptron(intercept_scaling=1.0, random_state=ORDER, max_iter=100).fit(X, y)


def test_the_replay_ends_in_the_weights_that_answer(demo_run):
    path = replay(demo_run, X, y)
    assert len(path) == demo_run.mistakes_ + 1
    assert not path[0].any()
    np.testing.assert_array_equal(path[-1], [*demo_run.coef_[0], *demo_run.intercept_])


def test_each_update_was_a_mistake_of_the_weights_before_it(demo_run):
    path, rows = replay(demo_run, X, y), demo_run.log_.rows
    signs = np.where(y[rows] == demo_run.classes_[1], 1, -1)
    scores = np.sum(path[:-1] * np.column_stack([X[rows], np.ones(len(rows))]), axis=1)
    assert (signs * scores <= 0).all()


@pytest.mark.parametrize(
    "more", [{"intercept_scaling": 3.0}, {"fit_intercept": False}, {"class_weight": {"setosa": 2}}]
)
def test_replay_knows_the_bias_and_the_weights_of_rows(more):
    clf = Perceptron(random_state=0, max_iter=1000, **more).fit(X, y)
    np.testing.assert_allclose(replay(clf, X, y)[-1], [*clf.coef_[0], *clf.intercept_], rtol=1e-12)


@pytest.mark.parametrize("kind", [PassiveAggressive, ROMMA])
def test_replay_takes_any_additive_learner(kind):
    clf = kind(random_state=0, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(replay(clf, X, y)[-1], [*clf.coef_[0], *clf.intercept_], rtol=1e-9)


@pytest.mark.parametrize("clf", [AveragedPerceptron(max_iter=100), BalancedWinnow(x_max=None, max_iter=1000)])
def test_weights_that_are_no_sum_of_updates_are_refused(clf):
    with pytest.raises(ValueError, match="does not lead to its coef_"):
        replay(clf.set_params(random_state=0).fit(X, y), X, y)


def test_other_data_are_refused(demo_run):
    with pytest.raises(ValueError, match="pass the X of fit"):
        replay(demo_run, X[:3], y[:3])
    with pytest.raises(ValueError, match="does not lead to its coef_"):
        replay(demo_run, X[::-1], y)


def test_the_picture_shows_every_boundary_that_crosses_it_and_every_mistake(demo_run):
    ax = boundary_path(demo_run, X, y, feature_names=FEATURES, ax=Figure().add_subplot())
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    corners = np.array([(a, b, 1.0) for a in (x0, x1) for b in (y0, y1)])
    sides = corners @ replay(demo_run, X, y).T > 0
    assert len(ax.lines) == np.count_nonzero(sides.any(axis=0) & ~sides.all(axis=0))
    written = {number for text in ax.texts for number in text.get_text().split(", ")}
    assert {str(k) for k in range(1, demo_run.mistakes_ + 1)} <= written
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(FEATURES)
    assert [text.get_text() for text in ax.get_legend().get_texts()][:3] == ["setosa", "versicolor", "mistake"]


def test_the_last_boundary_has_the_classes_on_their_sides(demo_run):
    ax = boundary_path(demo_run, X, y, ax=Figure().add_subplot())
    (xa, xb), (ya, yb) = ax.lines[-1].get_data()
    above = (X[:, 1] - ya) * (xb - xa) > (yb - ya) * (X[:, 0] - xa)
    np.testing.assert_array_equal(above, y == "versicolor")


def test_the_last_boundary_alone_is_drawn_when_it_runs_straight_up():
    rows, labels = [[1.0, 0.0], [-1.0, 0.0]], [1, 0]
    clf = Perceptron(shuffle=False, fit_intercept=False).fit(rows, labels)
    ax = boundary_path(clf, rows, labels, ax=Figure().add_subplot())
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), [0, 0])


def test_names_come_from_the_learner_where_it_has_them():
    frame = pd.DataFrame(X, columns=FEATURES)
    clf = Perceptron(random_state=ORDER, max_iter=100).fit(frame, y)
    assert boundary_path(clf, frame, y, ax=Figure().add_subplot()).get_xlabel() == FEATURES[0]


def test_more_features_or_classes_are_refused():
    wide, corners, names = np.column_stack([X, X[:, 0]]), [[1.0, 0], [0, 1], [-1, -1]], ["a", "b", "c"]
    clf = Perceptron(random_state=0, max_iter=1000)
    clf.fit(wide, y)
    with pytest.raises(ValueError, match="two dimensions; X has 3"):
        boundary_path(clf, wide, y)
    clf.fit(corners, names)
    with pytest.raises(ValueError, match="this one had 3"):
        boundary_path(clf, corners, names)


def test_the_demo_writes_the_same_files_again(tmp_path):
    first = [file.read_bytes() for file in save_boundary(boundary(), tmp_path)]
    assert first == [file.read_bytes() for file in save_boundary(boundary(), tmp_path)]
    assert {file.name for file in tmp_path.iterdir()} == {"boundary.png", "boundary.svg"}


def test_sparse_rows_are_played_again(demo_run):
    np.testing.assert_array_equal(replay(demo_run, csr_array(X), y), replay(demo_run, X, y))
    ax = boundary_path(demo_run, csr_array(X), y, ax=Figure().add_subplot())
    assert len(ax.lines) == len(boundary_path(demo_run, X, y, ax=Figure().add_subplot()).lines)


def test_a_sparsified_learner_is_played_again(demo_run):
    clf = Perceptron(intercept_scaling=1.0, random_state=ORDER, max_iter=100).fit(X, y).sparsify()
    np.testing.assert_array_equal(replay(clf, X, y), replay(demo_run, X, y))


def test_rows_at_one_place_have_a_frame():
    rows, labels = [[1.0, 2.0], [1.0, 2.0]], [0, 1]
    clf = fit(Perceptron(shuffle=False, max_iter=1), rows, labels)
    with pytest.raises(ValueError, match="the last weights are 0"):
        boundary_path(clf, rows, labels)
    clf = Perceptron(shuffle=False).partial_fit(rows[:1], labels[:1], classes=[0, 1])
    ax = boundary_path(clf, rows[:1], labels[:1], ax=Figure().add_subplot())
    assert ax.get_xlim()[0] < 1 < ax.get_xlim()[1]


def test_bad_input_is_refused(demo_run):
    with pytest.raises(NotFittedError):
        boundary_path(Perceptron(), X, y)
    with pytest.raises(ValueError, match="X has 100 rows and y has 99 labels"):
        boundary_path(demo_run, X, y[1:])
    with pytest.raises(ValueError, match="has 3 names"):
        boundary_path(demo_run, X, y, feature_names="abc")
