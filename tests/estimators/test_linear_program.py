"""Linear programs as classifiers: what is said of the data, and what is answered."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from linsep.estimators import linear_program
from linsep.estimators.linear_program import LinearProgram
from linsep.solvers.programs.linear_program import Bracket

KINDS = {"dense": np.asarray, "csr": csr_array, "float32": lambda X: np.asarray(X, np.float32)}
kinds = pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
OBJECTIVES = ["separate", "hinge", "absolute-error", "l1-margin", "zero-one"]


def noisy(rows=60, flips=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)).round(2)
    y = np.sign(X @ [1.0, -1.0, 2.0] + 0.3)
    y[:flips] *= -1
    return X, np.where(y > 0, "yes", "no")


def signs(y):
    return np.where(y == "yes", 1.0, -1.0)


@kinds
def test_separable_rows_are_separated(kind):
    X, y = noisy(flips=0)
    clf = LinearProgram(intercept_scaling=2.0).fit(kind(X), y)
    margins = signs(y) * clf.decision_function(kind(X))
    assert clf.separable_ is True
    assert clf.score(kind(X), y) == 1
    assert clf.margin_ == pytest.approx(margins.min(), rel=1e-6)
    assert 0 < clf.margin_ <= clf.margin_bound_ * (1 + 1e-12) <= clf.margin_ * (1 + 1e-9)
    assert np.abs(clf.coef_).max() <= 1
    assert np.abs(clf.intercept_).max() <= 2
    assert clf.verdict_.startswith("separable: every row has y w·x of ")
    assert not hasattr(clf, "error_")


@kinds
def test_rows_that_are_not_separable_have_a_witness_and_answers(kind):
    X, y = noisy()
    clf = LinearProgram().fit(kind(X), y)
    rows = np.hstack([kind(X).toarray() if kind is csr_array else kind(X), np.ones((60, 1))]) * signs(y)[:, None]
    assert clf.separable_ is False
    assert len(clf.support_) == len(clf.dual_) <= 5
    assert clf.dual_.min() > 0
    assert np.abs(clf.dual_ @ rows[clf.support_]).sum() <= clf.margin_bound_ + 1e-15 <= 1e-13
    assert clf.margin_ == 0
    named = ", ".join(map(str, clf.support_))
    assert clf.verdict_.startswith(f"not separable: {len(clf.support_)} rows, weighted, cancel out (rows {named}; ")
    hinge = LinearProgram(objective="hinge").fit(kind(X), y)
    assert np.array_equal(clf.coef_, hinge.coef_)
    assert clf.error_ == hinge.error_ == pytest.approx(hinge.error_bound_)
    assert clf.score(kind(X), y) > 0.85


def test_a_zero_row_is_named():
    clf = LinearProgram(fit_intercept=False).fit([[1.0], [0.0], [-1.0]], [1, 1, 0])
    assert clf.verdict_.startswith("not separable: row 1 is all 0, so that its score is 0")
    assert (clf.support_.tolist(), clf.dual_.tolist()) == ([1], [1.0])


@pytest.mark.parametrize("converged", [True, False])
def test_what_is_open_is_called_open(monkeypatch, converged):
    def undecided(data, *_, **__):
        return Bracket(np.zeros(3), np.full(4, 0.25), 0.0, 1e-9, None, 7, converged)

    monkeypatch.setattr(linear_program, "separate", undecided)
    clf = LinearProgram()
    if converged:
        clf.fit(XOR, [0, 1, 1, 0])
    else:
        with pytest.warns(ConvergenceWarning, match="LinearProgram did not finish within max_iter=1000000 and"):
            clf.fit(XOR, [0, 1, 1, 0])
    why = "rounding hides whether there is one" if converged else "the program was stopped"
    assert clf.verdict_.startswith(f"open: no separator was found, and {why}; no weights between -1 and 1 give every")
    assert "above 1e-09; predictions are those of the least hinge loss, 4" in clf.verdict_
    assert clf.separable_ is False
    if converged:
        clf.fit(XOR, [0, 1, 1, 1])
        assert clf.separable_ is True
        assert clf.verdict_ == "separable: every row is on its side of the weights of the least hinge loss"


def test_a_budget_that_is_too_small_warns():
    X, y = noisy(300, 60)
    for objective in ("separate", "hinge", "absolute-error", "l1-margin"):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=1 and time_limit=120: raise them, or give fewer rows"):
            clf = LinearProgram(objective=objective, max_iter=1).fit(X, y)
        assert set(clf.predict(X)) <= {"yes", "no"}
    with pytest.warns(ConvergenceWarning, match="time_limit=0.2"):
        clf = LinearProgram(objective="zero-one", max_rows=300, time_limit=0.2).fit(X, y)
    assert clf.errors_bound_ < clf.errors_ == (clf.decision_function(X) * signs(y) <= 0).sum()
    assert f"wrong on {clf.errors_:g} of 300 rows" in clf.verdict_
    assert clf.verdict_.endswith(f"and none on less than {clf.errors_bound_:g}")


def test_the_fewest_errors():
    X, y = noisy()
    clf = LinearProgram(objective="zero-one").fit(X, y)
    assert clf.errors_ == clf.errors_bound_ == np.sum(clf.predict(X) != y) == len(clf.mistaken_) == 3
    assert clf.mistaken_.tolist() == [0, 1, 3]
    assert clf.verdict_ == "not separable: this halfspace is wrong on 3 of 60 rows (rows 0, 1, 3), and none on less"
    assert all(len(witness) <= 5 for witness in clf.witnesses_)
    clf.fit(X, y, sample_weight=np.where(np.arange(60) < 4, 0.5, 1))
    assert clf.verdict_.startswith("not separable: this halfspace is wrong on rows that count 1.5 (")
    clf.fit(*noisy(flips=0))
    assert (clf.separable_, clf.verdict_) == (True, "separable: none of 60 rows is an error")
    with pytest.raises(ValueError, match="among 50 rows at most, and here are 60"):
        LinearProgram(objective="zero-one", max_rows=50).fit(X, y)


def test_winnows_margin():
    X = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    clf = LinearProgram(objective="l1-margin").fit(X, [1, 1, 0, 0])
    assert clf.margin_ == pytest.approx(1 / 3)
    assert clf.margin_bound_ == pytest.approx(1 / 3)
    assert np.allclose([*clf.coef_[0], *clf.intercept_], [2 / 3, 0, 0, -1 / 3])
    assert clf.verdict_.startswith("separable: the least y u·x is 0.3333, and no weights u >= 0 with ||u||_1 = 1 reach")
    clf.fit(X, [0, 0, 1, 1])
    assert clf.separable_ is False
    assert clf.verdict_.startswith("not separable by weights u >= 0: the least y u·x is ")
    clf.set_params(signed=True).fit(X, [0, 0, 1, 1])
    assert clf.separable_ is True
    assert np.allclose([*clf.coef_[0], *clf.intercept_], [-2 / 3, 0, 0, 1 / 3])


def test_the_least_absolute_error():
    X, y = noisy()
    clf = LinearProgram(objective="absolute-error").fit(X, y)
    errors = np.abs(signs(y) - clf.decision_function(X))
    assert clf.error_ == pytest.approx(errors.sum(), rel=1e-12)
    assert clf.error_bound_ == pytest.approx(clf.error_, rel=1e-12)
    assert np.count_nonzero(errors < 1e-9) >= 4
    assert clf.verdict_.startswith("the absolute errors sum up to ")
    assert clf.verdict_.endswith("; these weights do not separate the rows")


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_facts_of_another_objective_do_not_stay(objective):
    X, y = noisy(30, 2)
    clf = LinearProgram().fit(X, y)
    clf.set_params(objective=objective).fit(X, y)
    fresh = LinearProgram(objective=objective).fit(X, y)
    assert {name for name in vars(clf) if name.endswith("_")} == {name for name in vars(fresh) if name.endswith("_")}
    assert clf.verdict_ == fresh.verdict_
    assert isinstance(clf.separable_, bool)


@pytest.mark.parametrize("objective", ["hinge", "absolute-error", "zero-one"])
def test_class_weights_are_row_weights(objective):
    X, y = noisy(30, 4)
    by_class = LinearProgram(objective=objective, class_weight={"no": 3}).fit(X, y)
    by_row = LinearProgram(objective=objective).fit(X, y, sample_weight=np.where(y == "no", 3, 1))
    assert np.array_equal(by_class.coef_, by_row.coef_)


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match=r"y has the classes \['a', 'b', 'c'\].*OneVsRestClassifier"):
        LinearProgram().fit(XOR, ["a", "b", "c", "a"])


@pytest.mark.parametrize("objective", ["separate", "hinge", "absolute-error"])
def test_weights_beyond_float64_are_one_clear_error(objective):
    X, y = noisy()
    with pytest.raises(ValueError, match="a weight is too large for float64"):
        LinearProgram(objective=objective).fit(X * 1e-320, y)


def test_a_program_too_large_is_refused():
    with pytest.raises(ValueError, match=r"4 rows and 3 columns with 8 nonzero entries .* more than max_memory=1000 "):
        LinearProgram(max_memory=1000).fit(XOR, [0, 1, 1, 0])


def test_numbers_that_are_none_are_named():
    X = XOR.copy()
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(row 2, column 1\)"):
        LinearProgram().fit(X, [0, 1, 1, 0])
    with pytest.raises(ValueError, match="only one class"):
        LinearProgram().fit(XOR, [1, 1, 1, 1])


def test_weights_too_far_apart_for_the_fewest_errors():
    clf = LinearProgram(objective="zero-one", class_weight={0: 1.0, 1: 1e6})
    with pytest.raises(ValueError, match=r"the weights of rows reach from 1 to 1e\+06: .* or use \"hinge\""):
        clf.fit([[0.0], [1.0], [2.0]], [0, 1, 0])
