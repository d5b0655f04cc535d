"""Mistakes over rounds: the steps of the log, and the bound above them."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from linsep import PassiveAggressive, Perceptron
from linsep.plots import mistakes
from linsep.plots.run_curves import CORNERS
from tests.fits import fit
from tests.plots.drawing import in_legend, place, title, written

iris = load_iris()


def counted(rounds, last):
    """The count after each round, from 0 on."""
    return np.searchsorted(np.sort(rounds), np.arange(last + 1), side="right")


def drawn(line, last):
    """The count that a line of steps shows after each round."""
    x, y = line.get_data()
    assert line.get_drawstyle() == "steps-post"
    return y[np.searchsorted(x, np.arange(last + 1), side="right") - 1]


def test_the_steps_are_those_of_the_log():
    clf = fit(Perceptron(random_state=0, max_iter=5, log=True, multi_class="ovr"), iris.data, iris.target == 1)
    ax = mistakes(clf, bound=1000, ax=place())
    np.testing.assert_array_equal(drawn(ax.lines[0], clf.t_), counted(clf.log_.rounds, clf.t_))
    assert title(ax) == f"Perceptron: {clf.mistakes_} mistakes in 750 rounds"
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), 1000)
    assert "bound 1,000" in written(ax)


def test_each_of_a_few_classes_has_a_line():
    clf = fit(
        Perceptron(random_state=0, max_iter=5, log=True, multi_class="ovr"), iris.data, iris.target_names[iris.target]
    )
    ax = mistakes(clf, ax=place())
    for k in range(3):
        rounds = clf.log_.rounds[clf.log_.classes == k]
        np.testing.assert_array_equal(drawn(ax.lines[k], clf.t_), counted(rounds, clf.t_))
    order = np.argsort(-clf.mistakes_, kind="stable")
    assert in_legend(ax) == [f"{clf.classes_[k]}: {clf.mistakes_[k]:,}" for k in order]


@pytest.mark.parametrize("how", ["ovr", "joint"])
def test_many_classes_are_added_up(how):
    X, y = load_digits(return_X_y=True)
    clf = fit(Perceptron(random_state=0, max_iter=2, log=True, multi_class=how), X, y)
    ax = mistakes(clf, ax=place())
    (line,) = ax.lines
    np.testing.assert_array_equal(drawn(line, clf.t_), counted(clf.log_.rounds, clf.t_))
    assert title(ax).startswith(f"Perceptron: {np.sum(clf.mistakes_):,} mistakes")


def test_of_many_steps_some_are_drawn():
    rounds = np.arange(1, 10 * CORNERS, 2)

    class Long(BaseEstimator):
        classes_, t_, mistakes_ = np.array([0, 1]), int(rounds[-1]) + 5, len(rounds)
        log_ = type("Log", (), {"rounds": rounds, "amounts": None, "classes": None, "__len__": lambda _: len(rounds)})()

        def fit(self):
            """Is what makes it an estimator."""

        def __sklearn_is_fitted__(self):
            return True

    (line,) = mistakes(Long(), ax=place()).lines
    assert len(line.get_xdata()) == CORNERS + 1
    assert line.get_xydata()[-1].tolist() == [Long.t_, len(rounds)]
    assert np.abs(drawn(line, Long.t_) - counted(rounds, Long.t_)).max() <= len(rounds) / CORNERS


def test_rules_whose_steps_differ_count_updates():
    clf = fit(PassiveAggressive(random_state=0, max_iter=2, log=True), iris.data, iris.target == 1)
    ax = mistakes(clf, ax=place())
    assert title(ax).startswith(f"PassiveAggressive: {clf.updates_} updates")
    assert ax.get_ylabel() == "updates so far"


def test_rows_of_zeros_are_mistakes_too():
    clf = fit(Perceptron(max_iter=1, fit_intercept=False), [[0.0], [0.0]], [0, 1])
    assert title(mistakes(clf, bound=3, ax=place())) == "Perceptron: 2 mistakes in 2 rounds"


def test_a_pair_of_arrays_is_a_curve():
    ax = mistakes(([1, 10, 100], [1, 4, 9]), bound=lambda t: 3 * np.sqrt(t), ax=place())
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1], [10, 4], [100, 9]])
    x, y = ax.lines[1].get_data()
    np.testing.assert_allclose(y, 3 * np.sqrt(x))
    assert title(ax) == "9 mistakes in 100 rounds"


def test_a_bound_far_above_has_a_logarithmic_axis():
    assert mistakes(([1, 10], [1, 4]), bound=79, ax=place()).get_yscale() == "linear"
    assert mistakes(([1, 10], [1, 4]), bound=81, ax=place()).get_yscale() == "log"


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (([], []), "rounds is empty"),
        (([1, 2], [1]), "rounds has 2 entries and counts has 1"),
        (([2, 1], [1, 2]), "rounds falls to 1 at place 1"),
        (([1, 2], [2, 1]), "counts falls to 1 at place 1"),
        (([1, np.nan], [1, 2]), "rounds has nan at place 1"),
        (([1], [1], [1]), "3 arrays"),
    ],
)
def test_bad_curves_are_refused(run, message):
    with pytest.raises(ValueError, match=message):
        mistakes(run)


def test_what_has_no_log_is_refused():
    with pytest.raises(NotFittedError):
        mistakes(Perceptron())
    with pytest.raises(ValueError, match=r"no log was kept.*fit with log=True, or pass a pair"):
        mistakes(fit(Perceptron(log=False, max_iter=2), iris.data, iris.target))
    for bound in (np.nan, -1, lambda t: 1.0):
        with pytest.raises(ValueError, match="bound is a number"):
            mistakes(([1, 2], [1, 2]), bound=bound, ax=place())
