"""MaxMargin: the margin and its proof, hard and soft, and what it says where there is none."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from linsep.estimators.max_margin import MaxMargin
from linsep.solvers.margin.hard import hard_margin

DATA = os.environ.get("LINSEP_DATA")
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
penalties = pytest.mark.parametrize("penalize", [True, False])
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


def problem(noise=0.0, n=80, p=6, classes=2, seed=0):
    """Blobs that a halfspace separates, unless there is noise."""
    X, y = make_blobs(n, p, centers=classes, cluster_std=1.0 + noise, random_state=seed)
    return X, y


def signed_scores(clf, X, y):
    return np.where(y == clf.classes_[1], 1.0, -1.0) * clf.decision_function(X)


@penalties
def test_the_hard_margin_is_that_of_libsvm(penalize):
    X, y = problem()
    clf = MaxMargin(C=None, penalize_intercept=penalize, tol=1e-9).fit(X, y)
    if penalize:
        other = LinearSVC(C=1e10, loss="hinge", tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
        expected = 1 / np.hypot(np.linalg.norm(other.coef_), other.intercept_[0])
    else:
        expected = 1 / np.linalg.norm(SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y).coef_)
    np.testing.assert_allclose(clf.margin_, expected, rtol=1e-6)
    assert clf.gap_ <= 1e-9
    assert clf.separable_ is True
    assert clf.verdict_.startswith("separable: the margin is ")
    scores = signed_scores(clf, X, y)
    assert scores.min() == pytest.approx(1.0)
    np.testing.assert_allclose(scores[clf.support_], 1.0, rtol=1e-6)
    assert (clf.dual_ > 0).all()
    assert clf.dual_.sum() == pytest.approx(1.0)


@losses
@penalties
def test_the_soft_margin_brackets_the_hard_one(loss, penalize):
    """Any weights bound the largest margin from below, any dual variables from above."""
    X, y = problem()
    hard = MaxMargin(C=None, penalize_intercept=penalize, tol=1e-9).fit(X, y)
    for C in (0.01, 1.0):
        soft = MaxMargin(C=C, loss=loss, penalize_intercept=penalize, random_state=0).fit(X, y)
        lower, upper = soft.margin_, soft.margin_bound_
        assert lower <= hard.margin_bound_ * (1 + 1e-12)
        assert upper >= hard.margin_ * (1 - 1e-12)
        assert soft.gap_ <= 1e-3
        length = (
            np.linalg.norm(soft.coef_)
            if not penalize
            else np.hypot(*map(np.linalg.norm, (soft.coef_, soft.intercept_)))
        )
        assert lower == pytest.approx(signed_scores(soft, X, y).min() / length)
    assert soft.separable_ is True
    assert "the weights separate the rows with margin" in soft.verdict_


@penalties
def test_a_high_cost_is_the_hard_margin(penalize):
    X, y = problem()
    hard = MaxMargin(C=None, penalize_intercept=penalize, tol=1e-9).fit(X, y)
    soft = MaxMargin(C=1e4, loss="hinge", penalize_intercept=penalize, tol=1e-9, max_iter=10**5, random_state=0)
    soft.fit(X, y)
    np.testing.assert_allclose(soft.margin_, hard.margin_, rtol=1e-4)
    np.testing.assert_allclose(soft.coef_, hard.coef_, atol=1e-3 * np.abs(hard.coef_).max())


@losses
def test_noise_leaves_rows_on_the_wrong_side(loss):
    X, y = problem(noise=6.0)
    clf = MaxMargin(loss=loss, random_state=0).fit(X, y)
    wrong = np.count_nonzero(signed_scores(clf, X, y) <= 0)
    assert wrong > 0
    assert f"{wrong} of 80 rows are on the wrong side" in clf.verdict_
    assert clf.separable_ is None
    assert clf.margin_ < 0 < clf.margin_bound_
    assert clf.score(X, y) > 0.7


@pytest.mark.parametrize("kind", [np.array, csr_array])
@penalties
def test_rows_that_no_halfspace_separates(kind, penalize):
    X, y = kind(XOR[0]), XOR[1]
    with pytest.warns(ConvergenceWarning, match=r"MaxMargin not separable: 4 rows, .* set C=1.0 to allow errors"):
        clf = MaxMargin(C=None, penalize_intercept=penalize).fit(X, y)
    assert clf.separable_ is False
    assert clf.gap_ == 0.0
    assert clf.verdict_.startswith("not separable: 4 rows, weighted, cancel out (rows 0, 1, 2, 3; what is left")
    assert clf.support_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(clf.dual_, 0.25)
    assert clf.margin_ <= 0
    assert clf.margin_bound_ < 1e-15
    assert set(clf.predict(X)) <= {0, 1}


def test_a_zero_row_without_bias():
    X, y = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 2.0]]), ["a", "a", "b"]
    with pytest.warns(ConvergenceWarning, match="row 1 is all 0, so that its score is 0 for any weights"):
        clf = MaxMargin(C=None, fit_intercept=False).fit(X, y)
    assert (clf.separable_, clf.support_.tolist()) == (False, [1])
    assert clf.predict(X[[0, 2]]).tolist() == ["a", "b"]
    assert MaxMargin(C=None).fit(X, y).separable_ is True


def test_scores_as_small_as_rounding_do_not_separate():
    """A row so near to the others' boundary that its score may be of either sign."""
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [1e-17, 0.0]])
    clf = MaxMargin(C=1.0, fit_intercept=False, random_state=0).fit(X[:, :1], [1, 0, 1])
    assert (signed_scores(clf, X[:, :1], np.array([1, 0, 1])) > 0).all()
    assert clf.separable_ is None
    assert "no row is on the wrong side, but some are as near to the boundary as rounding" in clf.verdict_
    assert MaxMargin(C=1.0, fit_intercept=False, random_state=0).fit([[1.0], [-1.0], [1e-9]], [1, 0, 1]).separable_


def test_costs_beyond_all_floats_are_refused():
    X, y = problem(n=4)
    with pytest.raises(
        ValueError, match=r"with C=1e\+10 and sample weights up to 1e\+300: lower C, divide the weights"
    ):
        MaxMargin(C=1e10).fit(X, y, [1e300, 1.0, 1.0, 1.0])


def test_a_spent_budget_is_told():
    X, y = problem(n=200, p=30, seed=3)
    X[:, 0] *= 0.01
    with pytest.warns(ConvergenceWarning, match=r"stopped short of tol=0.001, by max_iter=2: "):
        clf = MaxMargin(C=None, max_iter=2).fit(X, y)
    assert clf.n_iter_ == 2
    assert clf.gap_ > 1e-3
    with pytest.warns(
        ConvergenceWarning, match="open: no halfspace is known to separate the rows, and none has a margin"
    ):
        assert MaxMargin(C=None, max_iter=1).fit(*problem(noise=9.0)).separable_ is None
    with pytest.warns(ConvergenceWarning, match=r"reached a relative gap of .* in 1 passes, tol=0.001: raise max_iter"):
        MaxMargin(max_iter=1, random_state=0).fit(*problem(noise=6.0))


def test_rounding_is_told(monkeypatch):
    def in_the_way(*args, **more):
        return hard_margin(*args, **more)._replace(converged=False)

    monkeypatch.setattr("linsep.estimators.max_margin.hard_margin", in_the_way)
    with pytest.warns(ConvergenceWarning, match="stopped short of tol=0.001, by rounding: separable: the margin is"):
        MaxMargin(C=None).fit(*problem())


@pytest.mark.parametrize("C", [None, 1.0])
def test_each_class_against_the_rest(C):
    X, y = problem(classes=3)
    words = np.array(["low", "middle", "top"])
    clf = MaxMargin(C=C, tol=1e-8, max_iter=10**5, random_state=0).fit(X, words[y])
    for k in range(3):
        one = MaxMargin(C=C, tol=1e-8, max_iter=10**5, random_state=0).fit(X, y == k)
        np.testing.assert_array_equal(clf.coef_[k], one.coef_[0])
        np.testing.assert_array_equal(clf.margin_[k], one.margin_)
        assert clf.gap_[k] == one.gap_
        assert clf.support_[k].tolist() == one.support_.tolist()
        assert clf.dual_[k].tolist() == one.dual_.tolist()
        assert clf.separable_[k] is one.separable_
        assert clf.verdict_.splitlines()[k] == f"'{words[k]}' against the rest: {one.verdict_}"
    assert clf.score(X, words[y]) == 1.0
    again = MaxMargin(C=C, tol=1e-8, max_iter=10**5, random_state=0, n_jobs=2).fit(X, words[y])
    np.testing.assert_array_equal(again.coef_, clf.coef_)


def test_classes_that_are_not_separable_are_counted():
    X = np.array([[0.0], [1.0], [2.0]])
    words = r"for 1 against the rest: not separable: 3 rows.* set C=1\.0 to allow errors$"
    with pytest.warns(ConvergenceWarning, match=words):
        clf = MaxMargin(C=None).fit(X, [0, 1, 2])
    assert clf.separable_ == [True, False, True]
    X = np.arange(4.0)[:, None]
    with pytest.warns(ConvergenceWarning, match=r"\(and 1 more classes\)$"):
        MaxMargin(C=None).fit(X, [0, 1, 2, 3])


def test_rows_of_weight_0_are_absent():
    X, y = problem()
    X, y = np.vstack([X, X[:3]]), np.append(y, 1 - y[:3])
    weights = np.repeat([1.0, 0.0], [80, 3])
    expected = MaxMargin(C=None, tol=1e-9).fit(X[:80], y[:80])
    clf = MaxMargin(C=None, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-6)
    soft = MaxMargin(tol=1e-9, max_iter=10**5, random_state=0)
    clf, expected = soft.fit(X, y, sample_weight=weights).margin_, soft.fit(X[:80], y[:80]).margin_
    np.testing.assert_allclose(clf, expected, rtol=1e-4)


def test_the_constant_features_value_matters_while_the_bias_is_penalised():
    X, y = problem()
    margins = {
        (beta, penalize): MaxMargin(C=None, intercept_scaling=beta, penalize_intercept=penalize, tol=1e-6).fit(X, y)
        for beta in (0.1, 1000.0)
        for penalize in (True, False)
    }
    free = margins[0.1, False].margin_
    assert margins[1000.0, False].margin_ == pytest.approx(free, rel=1e-6)
    np.testing.assert_allclose(margins[1000.0, False].intercept_, margins[0.1, False].intercept_, rtol=1e-4)
    assert margins[0.1, True].margin_ < 0.99 * free
    assert margins[1000.0, True].margin_ == pytest.approx(free, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "bad"), [("C", 0.0), ("C", -1.0), ("C", "hard"), ("loss", "l2"), ("tol", 0.0), ("max_iter", 0)]
)
def test_bad_parameters_are_named(name, bad):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of MaxMargin must be"):
        MaxMargin(**{name: bad}).fit(*problem())


@pytest.mark.skipif(DATA is None, reason="LINSEP_DATA does not name the folder with the data")
@pytest.mark.parametrize("name", ["agaricus", "rcv1_small_vw"])
@penalties
def test_real_rows(name, penalize):
    file = Path(DATA or "", name, "train.npz")
    X, y = sp.load_npz(file).tocsr(), np.load(file)["y"]
    clf = MaxMargin(C=None, penalize_intercept=penalize, tol=1e-7, random_state=0).fit(X, y)
    if penalize:
        other = LinearSVC(C=1e10, loss="hinge", tol=1e-10, max_iter=10**5, random_state=0).fit(X, y)
        expected = 1 / np.hypot(np.linalg.norm(other.coef_), other.intercept_[0])
    else:
        expected = 1 / np.linalg.norm(SVC(kernel="linear", C=1e10, tol=1e-8).fit(X, y).coef_.toarray())
    np.testing.assert_allclose(clf.margin_, expected, rtol=1e-6)
    quick = MaxMargin(C=None, penalize_intercept=penalize, random_state=0).fit(X, y)
    assert quick.gap_ <= 1e-3
    assert quick.margin_ <= expected * (1 + 1e-6)
    assert quick.margin_bound_ >= expected * (1 - 1e-6)
