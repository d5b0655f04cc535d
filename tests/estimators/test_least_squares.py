"""Least squares as learners: labels, probabilities, real values, rows in pieces; and Widrow and Hoff's rule."""

import pickle
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.linalg import LinAlgWarning
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from linsep import OnlineClassifier
from linsep.estimators.least_squares import (
    LeastSquares,
    LeastSquaresRegression,
    nearest_probabilities,
    refuse_bad_triangle,
)
from linsep.rules import WidrowHoff
from linsep.theory.brier import brier_score
from tests.sklearn_checks import cases, name_of

some = settings(max_examples=15)
solvers = pytest.mark.parametrize("solver", ["auto", "exact", "iterative", "stream"])
kinds = pytest.mark.parametrize("kind", [np.array, csr_array])


def problem(classes=2, n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7)
    y = np.argmax(X @ rng.normal(size=(p, classes)) + rng.normal(size=(n, classes)), axis=1)
    y[:classes] = range(classes)
    return X, y


def targets(y, classes):
    return 2.0 * y - 1 if classes == 2 else np.eye(classes)[y]


@solvers
@kinds
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_labels_are_targets(solver, kind, classes, intercept):
    X, y = problem(classes)
    clf = LeastSquares(solver=solver, tol=1e-12, fit_intercept=intercept).fit(kind(X), np.array(["a", "b", "c"])[y])
    plain = LinearRegression(fit_intercept=intercept).fit(X, targets(y, classes))
    np.testing.assert_allclose(clf.coef_, np.atleast_2d(plain.coef_), atol=1e-9)
    np.testing.assert_allclose(clf.intercept_, np.atleast_1d(plain.intercept_) * np.ones(len(clf.coef_)), atol=1e-9)
    np.testing.assert_allclose(clf.decision_function(kind(X)), plain.predict(X), atol=1e-9)
    assert clf.optimality_ < 1e-11
    off = np.linalg.norm(np.atleast_2d((plain.predict(X) - targets(y, classes)).T), axis=1)
    np.testing.assert_allclose(clf.residual_, off, rtol=1e-9)
    assert clf.solver_ == ("exact" if solver == "auto" else solver)
    assert clf.rank_ == (None if solver == "iterative" else 4)


@solvers
@kinds
@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 3)])
def test_real_values(solver, kind, shape):
    X, _ = problem()
    y = np.random.default_rng(1).normal(size=shape) * 100 + 7
    c = np.random.default_rng(2).random(60)
    model = LeastSquaresRegression(solver=solver, tol=1e-13).fit(kind(X), y, c)
    plain = LinearRegression().fit(X, y, c)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-8)
    np.testing.assert_allclose(model.predict(kind(X)), plain.predict(X), atol=1e-8)
    assert model.predict(kind(X)).shape == shape
    assert model.score(X, y) == pytest.approx(plain.score(X, y))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3, 4])
@some
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(1, 59), max_size=4).map(sorted))
def test_pieces_are_the_whole_and_labels_may_come_late(classes, seed, cuts):
    X, y = problem(classes, seed=seed)
    order = np.argsort(y, kind="stable") if seed % 2 else np.arange(60)
    words = np.array(["d", "b", "c", "a"])[y]
    whole = LeastSquares().fit(X, words)
    for names in (None, whole.classes_):
        stream = LeastSquares(solver="stream")
        for part in np.split(order, cuts):
            if len(part):
                stream.partial_fit(X[part], words[part], classes=names)
                assert len(stream.predict_proba(X).T) == len(stream.classes_)
        assert stream.classes_.tolist() == whole.classes_.tolist()
        np.testing.assert_allclose(stream.coef_, whole.coef_, atol=1e-9)
        np.testing.assert_allclose(stream.intercept_, whole.intercept_, atol=1e-9)
        np.testing.assert_allclose(stream.residual_, whole.residual_, atol=1e-9)
        assert stream.rows_ == 60


def test_real_values_in_pieces():
    X, _ = problem()
    y = np.random.default_rng(1).normal(size=(60, 2))
    whole = LeastSquaresRegression(solver="exact").fit(X, y)
    model = LeastSquaresRegression(solver="stream")
    for i in range(60):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-12)
    model.fit(X[:30], y[:30]).partial_fit(csr_array(X[30:]), y[30:])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-12)
    with pytest.raises(ValueError, match="had 2 targets in the first call"):
        model.partial_fit(X, y[:, 0])
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-12)


@pytest.mark.parametrize("model", [LeastSquares(), LeastSquaresRegression()])
def test_only_a_stream_takes_pieces(model):
    X, y = problem()
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError):
        model.partial_fit(X, y)
    fitted = clone(model).fit(X, y).set_params(solver="stream")
    with pytest.raises(ValueError, match="fit it again as a stream"):
        fitted.partial_fit(X, y)


def test_a_stream_that_names_its_classes_takes_no_others():
    X, y = problem()
    clf = LeastSquares(solver="stream").partial_fit(X, y, classes=[0, 1])
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match="label 7"):
        clf.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="of another type"):
        clf.partial_fit(X[:1], ["a"])
    with pytest.raises(ValueError, match='class_weight="balanced" needs all labels'):
        LeastSquares(solver="stream", class_weight="balanced").partial_fit(X, y)
    assert np.array_equal(clf.coef_, before)


def test_class_weights_are_sample_weights():
    X, y = problem(3)
    plain = LeastSquares().fit(X, y, sample_weight=np.array([1.0, 3.0, 0.5])[y])
    weighted = LeastSquares(class_weight={1: 3.0, 2: 0.5}).fit(X, y)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=1e-12)
    assert np.abs(LeastSquares().fit(X, y).coef_ - plain.coef_).max() > 0.01


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_cut_off_raises_no_brier_score(classes):
    X, y = problem(classes, n=300)
    clf = LeastSquares().fit(X, y)
    scores, p = clf.decision_function(3 * X), clf.predict_proba(3 * X)
    raw = np.column_stack([1 - scores, 1 + scores]) / 2 if classes == 2 else scores
    assert (raw < 0).any()
    truth = np.eye(classes)[y]
    assert (np.square(p - truth).sum(axis=1) <= np.square(raw - truth).sum(axis=1) + 1e-12).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert p.min() >= 0
    assert np.array_equal(clf.classes_[np.argmax(p, axis=1)], clf.predict(3 * X))
    assert brier_score(y, clf.predict_proba(X)).value < brier_score(y, np.full((300, classes), 1 / classes)).value


@some
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 6))
def test_no_probabilities_are_nearer(seed, classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(5, classes)) * rng.choice([0.1, 1, 10])
    nearest = nearest_probabilities(scores)
    assert (nearest >= 0).all()
    np.testing.assert_allclose(nearest.sum(axis=1), 1, atol=1e-12)
    others = rng.dirichlet(np.full(classes, 0.5), (200, 1))
    near = np.square(nearest - scores).sum(axis=-1)
    assert (near <= np.square(others - scores).sum(axis=-1) + 1e-12).all()
    assert (near <= np.square(np.eye(classes)[:, None] - scores).sum(axis=-1) + 1e-12).all()


def test_the_estimate_is_the_probability_where_that_is_linear():
    rng = np.random.default_rng(5)
    x = rng.random((40_000, 1))
    y = rng.random(40_000) < 0.2 + 0.5 * x[:, 0]
    p = LeastSquares().fit(x, y).predict_proba([[0.0], [1.0]])[:, 1]
    np.testing.assert_allclose(p, [0.2, 0.7], atol=0.02)


def test_dependent_columns_are_solved_and_nearly_dependent_ones_told():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 1))
    y = x[:, 0] * 3
    model = LeastSquaresRegression().fit(np.hstack([x, x]), y)
    np.testing.assert_allclose(model.coef_, [1.5, 1.5])
    assert model.rank_ == 1
    with pytest.warns(LinAlgWarning, match="nearly dependent") as told:
        model.fit(np.hstack([x, x + 1e-10 * rng.normal(size=(50, 1))]), y)
    assert told[0].filename == __file__
    assert model.condition_ > 1e9
    np.testing.assert_allclose(model.predict(np.hstack([x, x])), y, atol=1e-5)
    with pytest.warns(LinAlgWarning, match="LeastSquares: columns") as told:
        LeastSquares().fit(np.hstack([x, x + 1e-10 * rng.normal(size=(50, 1))]), y > 0)
    assert told[0].filename == __file__


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("model", [LeastSquares, LeastSquaresRegression])
def test_a_stream_tells_of_nearly_dependent_columns_where_it_is_called(model, method):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 1))
    with pytest.warns(LinAlgWarning, match="nearly dependent") as told:
        getattr(model(solver="stream"), method)(np.hstack([x, x + 1e-10 * rng.normal(size=(50, 1))]), x[:, 0] > 0)
    assert told[0].filename == __file__


@pytest.mark.parametrize("model", [LeastSquares, LeastSquaresRegression])
def test_a_budget_that_does_not_suffice_is_told(model):
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match=f"{model.__name__} stopped after max_iter=1 iterations") as told:
        model(solver="iterative", max_iter=1).fit(X, y)
    assert told[0].filename == __file__


def test_a_point_with_a_value_is_met():
    model = LeastSquaresRegression().fit([[2.0, 0.0]], [5.0])
    assert model.predict([[2.0, 0.0]]) == pytest.approx(5.0)
    flat = LeastSquaresRegression(fit_intercept=False).fit([[2.0, 0.0]], [5.0])
    np.testing.assert_allclose(flat.coef_, [2.5, 0.0])
    assert flat.intercept_ == 0.0
    zeros = LeastSquaresRegression().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert zeros.coef_.tolist() == [0.0, 0.0]
    assert zeros.intercept_ == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        ([[1.0], [np.nan]], [0.0, 1.0], "NaN .row 1, column 0."),
        ([[1.0], [2.0]], [0.0, np.inf], "y contains infinity"),
        ([[1.0], [2.0]], [0.0, 1.0, 2.0], "2 rows and y has the shape"),
        ([[1.0], [2.0]], None, "requires y"),
    ],
)
def test_bad_values_are_refused(X, y, told):
    model = LeastSquaresRegression(solver="stream").fit([[1.0], [2.0]], [1.0, 2.0])
    before = dict(vars(model))
    for train in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=told):
            train(X, y)
    assert vars(model) == before


def test_sums_too_wide_for_memory_are_refused_before_they_are_made():
    wide = csr_array((3, 20_000))
    with pytest.raises(ValueError, match="GB allowed"):
        LeastSquares(solver="stream").partial_fit(wide, [0, 1, 1])
    with pytest.raises(ValueError, match="GB allowed"):
        LeastSquaresRegression(solver="stream").fit(wide, [0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("triangle", "rows"),
    [
        (np.eye(3), 2), (np.ones((3, 3)), 9), (np.eye(4), 9), (np.diag([1.0, 1.0, np.inf]), 9), ([[1.0]], 9),
        (np.eye(3), None), (np.eye(3, dtype=np.float32), 9),
    ],
)  # fmt: skip
def test_forged_sums_are_refused(triangle, rows):
    refuse_bad_triangle(np.eye(3), 3, 3)
    refuse_bad_triangle(np.ones((2, 3)), 2, 3)
    with pytest.raises(ValueError, match="its sums"):
        refuse_bad_triangle(triangle, rows, 3)


def lms(X, y, rate, epochs):
    """The rule as it stands in books: w += rate (y - w.x) x, the constant feature last."""
    w = np.zeros(X.shape[1] + 1)
    errors = []
    for x, label in list(zip(X, y, strict=True)) * epochs:
        x = np.append(x, 1.0)
        errors.append(label - w @ x)
        w = w + rate * errors[-1] * x
    return w, np.array(errors)


@some
@given(seed=st.integers(0, 2**32))
def test_widrow_and_hoff_step_by_step(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), rng.permutation(np.arange(20) % 2) * 2 - 1
    clf = OnlineClassifier(WidrowHoff(0.02), shuffle=False, max_iter=3, intercept_scaling=1.0).fit(X, y)
    w, errors = lms(X, y, 0.02, 3)
    np.testing.assert_allclose(np.append(clf.coef_[0], clf.intercept_), w, atol=1e-12)
    assert clf.updates_ == 60
    rows = np.hstack([X, np.ones((20, 1))])
    R2 = np.square(rows).sum(axis=1).max()
    rate = 0.5 / R2
    best = np.linalg.lstsq(rows, y, rcond=None)[0]
    errors = lms(X, y, rate, 3)[1]
    for u in (best, np.zeros(4), best / 2):
        losses = 3 * np.sum((y - rows @ u) ** 2)
        assert np.sum(errors**2) <= u @ u / rate + losses / (1 - rate * R2) + 1e-9


def test_widrow_and_hoff_come_near_least_squares_below_the_rate_that_diverges():
    X, y = problem(n=200)
    y = 2 * y - 1
    exact = LeastSquares().fit(X, y)
    R2 = np.square(X).sum(axis=1).max() + 1
    near = OnlineClassifier(WidrowHoff(0.005 / R2), max_iter=400, random_state=0).fit(X, y)
    np.testing.assert_allclose(near.coef_, exact.coef_, atol=0.02)
    lone = np.array([[3.0, 4.0]]), [1]
    for factor, settles in ((1.9, True), (2.1, False)):
        row = OnlineClassifier(WidrowHoff(factor / 25), fit_intercept=False)
        for _ in range(200):
            row.partial_fit(*lone, classes=[-1, 1])
        assert (abs(row.decision_function(lone[0])[0] - 1) < 1e-6) == settles


def checks():
    """scikit-learn's own, for each learner by each solver."""
    for solver in ("auto", "iterative", "stream"):
        yield from cases(LeastSquaresRegression(solver=solver), {})
    for solver in ("iterative", "stream"):
        yield from cases(LeastSquares(solver=solver), {})


def name(value):
    return name_of(value) if hasattr(value, "func") else f"{type(value).__name__}-{value.solver}"


@pytest.mark.slow
@pytest.mark.parametrize(("model", "check"), list(checks()), ids=name)
def test_scikit_learn(model, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        check(model)


def test_new_features_are_as_if_they_had_been_0_from_the_start():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 3
    wide = np.hstack([X, np.zeros((40, 2))])
    wide[20:, 4:] = rng.normal(size=(20, 2))
    grown = LeastSquares(solver="stream").partial_fit(X[:20], y[:20]).grow(6)
    assert grown.predict(wide[:20]).shape == (20,)
    grown.partial_fit(wide[20:], y[20:])
    whole = LeastSquares(solver="stream").fit(wide, y)
    np.testing.assert_allclose(grown.coef_, whole.coef_, atol=1e-12)
    with pytest.raises(ValueError, match=r"grow\(3\): the learner has 6 features"):
        grown.grow(3)
    with pytest.raises(ValueError, match="kept no sums of its rows"):
        LeastSquares().fit(X, y).grow(6)


@pytest.mark.parametrize("kind", [LeastSquares, LeastSquaresRegression])
@pytest.mark.parametrize("solver", ["exact", "iterative", "stream"])
def test_weights_beyond_float64_are_one_clear_error(kind, solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.integers(0, 2, 40)
    with pytest.raises(ValueError, match="a weight is too large for float64"):
        kind(solver=solver).fit(X * 1e-320, y)
