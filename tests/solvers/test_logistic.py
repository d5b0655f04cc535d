"""Logistic regression: the optimum and its certificate against plain formulas and a second solver."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_expit, log_softmax, softmax

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.logistic import gradient_ascent as ascent
from linsep.solvers.logistic import newton as method
from linsep.solvers.logistic import newton as newton_step
from linsep.solvers.logistic.objective import problem_of

NONE = np.empty(0)
SEARCH = {"tol", "max_iter", "start"}


def solve(solver, data, codes, row_weights, options):
    problem = problem_of(data, codes, row_weights, **{k: v for k, v in options.items() if k not in SEARCH})
    return solver(problem, **{k: v for k, v in options.items() if k in SEARCH})


def newton(data, codes, row_weights, **options):
    return solve(method.newton, data, codes, row_weights, options)


def gradient_ascent(data, codes, row_weights, **options):
    return solve(ascent.gradient_ascent, data, codes, row_weights, options)


def frozen(array):
    array = np.array(array, order="C")
    array.flags.writeable = False
    return array


def as_data(X, bias=1.0, kind="dense"):
    if kind == "dense":
        return Dense(frozen(X), bias)
    X = sp.csr_matrix(X)
    return Csr(frozen(X.data), frozen(X.indices), frozen(X.indptr), X.shape[1], bias)


def with_bias(X, bias=1.0):
    return np.column_stack([np.asarray(X, np.float64), np.full(len(X), bias)])


def noisy(rows=80, features=4, classes=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7) * scale
    target = rng.normal(size=(features, classes)) / scale
    codes = np.argmax(X @ target + rng.gumbel(size=(rows, classes)), axis=1).astype(np.int32)
    codes[:classes] = np.arange(classes)
    return X, codes


def plain(W, X, codes, variance, multinomial, held=None, counts=None, bias=1.0):
    """The objective, as the formula says."""
    scores = with_bias(X, bias) @ W
    counts = np.ones(len(X)) if counts is None else counts
    held = np.ones((len(W), 1)) if held is None else held
    if multinomial:
        loss = -(counts * log_softmax(scores, axis=1)[np.arange(len(X)), codes]).sum()
    else:
        positives = np.arange(W.shape[1]) if W.shape[1] > 1 else [1]
        signs = np.where(codes[:, None] == positives, 1, -1)
        loss = -(counts[:, None] * log_expit(signs * scores)).sum()
    return loss + (held * W**2).sum() / (2 * variance)


def reference(X, codes, columns, variance, multinomial, held=None, counts=None):
    shape = (X.shape[1] + 1, columns)
    found = minimize(
        lambda w: plain(w.reshape(shape), X, codes, variance, multinomial, held, counts),
        np.zeros(np.prod(shape)),
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return found.fun, found.x.reshape(shape)


FORMS = [(2, False), (3, False), (3, True)]


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
@pytest.mark.parametrize("way", ["dense", "csr", "conjugate"])
def test_the_optimum_is_that_of_a_second_solver(way, classes, multinomial, free, monkeypatch):
    if way == "conjugate":
        monkeypatch.setattr(newton_step, "FEW", 0)
    X, codes = noisy(classes=classes)
    data = as_data(X, kind="csr" if way == "csr" else "dense")
    found = newton(
        data,
        codes,
        NONE,
        classes=classes,
        multinomial=multinomial,
        prior_variance=3.0,
        penalize_bias=not free,
        tol=1e-12,
    )
    held = np.ones((5, 1))
    held[-1] = 0.0 if free else 1.0
    least, W = reference(X, codes, found.weights.shape[1], 3.0, multinomial, held)
    assert found.converged
    assert not found.infinite
    assert found.value == pytest.approx(plain(found.weights, X, codes, 3.0, multinomial, held), rel=1e-12)
    assert found.value == pytest.approx(least, rel=1e-10)
    if multinomial and free:
        W[-1] -= W[-1].mean()
    np.testing.assert_allclose(found.weights, W, atol=1e-4)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_the_certified_gap_holds_at_every_stop(solver, classes, multinomial, free, kind):
    X, codes = noisy(classes=classes, seed=1)
    options = {"classes": classes, "multinomial": multinomial, "prior_variance": 5.0, "penalize_bias": not free}
    best = newton(as_data(X), codes, NONE, **options, tol=1e-14).value
    for budget in (0, 1, 2, 3, 5, 8):
        found = solver(as_data(X, kind=kind), codes, NONE, **options, tol=1e-14, max_iter=budget)
        assert found.iterations <= budget
        assert found.value - best <= found.optimality + 1e-9
    loose = solver(as_data(X, kind=kind), codes, NONE, **options, tol=1e-3)
    assert loose.converged
    if solver is newton:
        assert loose.optimality <= 1e-3 * loose.value


@pytest.mark.parametrize("seed", range(20))
def test_the_certified_gap_holds_on_sparse_rows_of_a_rare_class(seed):
    """The dual ascent's own gap is a bound only where all of it was looked at."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.2) * rng.choice([0.3, 1.0, 3.0])
    classes, multinomial = FORMS[seed % 3]
    codes = np.where(rng.random(200) < rng.choice([0.02, 0.1, 0.5]), rng.integers(1, classes, 200), 0).astype(np.int32)
    codes[:classes] = np.arange(classes)
    for counts in (NONE, frozen(rng.integers(0, 4, 200) + (np.arange(200) < classes) * 1.0)):
        for free in (True, False):
            options = {"classes": classes, "multinomial": multinomial, "prior_variance": 5.0, "penalize_bias": not free}
            best = newton(as_data(X), codes, counts, **options, tol=1e-12).value
            for budget in (2, 3, 5, 8):
                for tol in (1e-6, 1e-9):
                    found = newton(as_data(X, kind="csr"), codes, counts, **options, tol=tol, max_iter=budget)
                    assert found.value - best <= found.optimality + 1e-9 * best


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
@pytest.mark.parametrize("ratio", [1e6, 1e11, 1e13])
def test_the_certified_gap_holds_for_weights_far_apart(solver, classes, multinomial, ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    codes = np.where(X[:, 0] + rng.normal(size=150) > 1, rng.integers(1, classes, 150), 0).astype(np.int32)
    counts = frozen(np.where(codes == 0, ratio, 1.0))
    options = {"classes": classes, "multinomial": multinomial, "penalize_bias": False}
    best = newton(as_data(X), codes, counts, **options, tol=1e-10, max_iter=300)
    assert best.converged
    assert best.optimality <= 1e-9 * best.value
    for budget in (1, 4, 100):
        found = solver(as_data(X), codes, counts, **options, tol=1e-12, max_iter=budget)
        assert np.isfinite(found.optimality)
        assert found.value - best.value <= found.optimality + 1e-12 * found.value


@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
def test_feature_sums_of_labels_and_of_probabilities_match(classes, multinomial):
    X, codes = noisy(rows=200, classes=classes, seed=2)
    full = with_bias(X)
    labels = (codes[:, None] == (np.arange(classes) if classes > 2 else [1])).astype(float)
    for variance in (None, 2.0):
        found = newton(
            as_data(X), codes, NONE, classes=classes, multinomial=multinomial, prior_variance=variance, tol=1e-13
        )
        scores = full @ found.weights
        p = softmax(scores, axis=1) if multinomial else expit(scores)
        held = 0.0 if variance is None else found.weights / variance
        np.testing.assert_allclose(full.T @ labels - full.T @ p, held, atol=1e-4)
        assert found.converged
        assert np.isnan(found.optimality) == (variance is None)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
def test_the_log_likelihood_never_falls(solver, kind, classes, multinomial):
    X, codes = noisy(classes=classes, seed=3)
    found = solver(as_data(X, kind=kind), codes, NONE, classes=classes, multinomial=multinomial, prior_variance=50.0)
    assert len(found.history) > 1
    assert all(b >= a for a, b in pairwise(found.history))
    assert found.history[-1] == -found.value


def test_gradient_ascent_takes_the_step_of_the_notes():
    X, codes = noisy(seed=4)
    full = with_bias(X)
    one = gradient_ascent(as_data(X), codes, NONE, classes=2, prior_variance=None, max_iter=1)
    gradient = full.T @ (codes - 0.5)
    rate = one.weights[0, 0] / gradient[0]
    np.testing.assert_allclose(one.weights[:, 0], rate * gradient)
    largest = np.linalg.eigvalsh(full.T @ full)[-1]
    assert 0.9 <= rate * largest / 4 <= 1.0
    full_run = gradient_ascent(as_data(X), codes, NONE, classes=2, prior_variance=None, tol=1e-13, max_iter=10_000)
    best = newton(as_data(X), codes, NONE, classes=2, prior_variance=None, tol=1e-13)
    assert full_run.value == pytest.approx(best.value, rel=1e-9)
    assert full_run.converged


def test_a_step_that_is_too_long_is_halved(monkeypatch):
    X, codes = noisy(seed=4)
    monkeypatch.setattr("linsep.solvers.logistic.gradient_ascent.lipschitz", lambda problem: 1e-3)
    found = gradient_ascent(as_data(X), codes, NONE, classes=2, tol=1e-12, max_iter=10_000)
    assert all(b >= a for a, b in pairwise(found.history))
    assert found.value == pytest.approx(newton(as_data(X), codes, NONE, classes=2, tol=1e-12).value, rel=1e-9)


def test_two_classes_jointly_are_one_column_with_twice_the_variance():
    X, codes = noisy(seed=5)
    joint = newton(as_data(X), codes, NONE, classes=2, multinomial=True, prior_variance=1.5, tol=1e-13)
    single = newton(as_data(X), codes, NONE, classes=2, prior_variance=3.0, tol=1e-13)
    np.testing.assert_allclose(joint.weights[:, 1] - joint.weights[:, 0], single.weights[:, 0], atol=1e-6)
    assert joint.value == pytest.approx(single.value, rel=1e-10)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_rows_weight_is_its_repetition(solver, classes, multinomial, free, kind):
    X, codes = noisy(rows=40, classes=classes, seed=6)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    counts[:classes] = 1
    options = {"classes": classes, "multinomial": multinomial, "penalize_bias": not free, "tol": 1e-12}
    options["max_iter"] = 100 if solver is newton else 20_000
    weighted = solver(as_data(X, kind=kind), codes, frozen(counts.astype(float)), **options)
    repeated = solver(as_data(np.repeat(X, counts, axis=0), kind=kind), np.repeat(codes, counts), NONE, **options)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=2e-4)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
def test_float32_values_are_read_as_they_are(solver):
    X, codes = noisy(seed=7)
    X = X.astype(np.float32)
    narrow = solver(as_data(X), codes, NONE, classes=2, tol=1e-12)
    wide = solver(as_data(X.astype(np.float64)), codes, NONE, classes=2, tol=1e-12)
    assert narrow.value == pytest.approx(wide.value, rel=1e-12)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("rows", "features"), [(5, 30), (30, 1), (30, 0)])
def test_odd_shapes(rows, features, kind, monkeypatch):
    monkeypatch.setattr(newton_step, "FEW", 10)
    rng = np.random.default_rng(8)
    X, codes = rng.normal(size=(rows, features)), np.arange(rows, dtype=np.int32) % 2
    X[::3] = 0.0
    found = newton(as_data(X, kind=kind), codes, NONE, classes=2, tol=1e-10)
    least, _ = reference(X, codes, 1, 1.0, False)
    assert found.converged
    assert found.value == pytest.approx(least, rel=1e-8)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
def test_large_scales_do_not_overflow(kind, free, classes, multinomial):
    X, codes = noisy(classes=classes, seed=9)
    X[:, 0] *= 1e6
    found = newton(
        as_data(X, kind=kind),
        codes,
        NONE,
        classes=classes,
        multinomial=multinomial,
        prior_variance=1e3,
        penalize_bias=not free,
        max_iter=1000,
    )
    assert np.isfinite(found.weights).all()
    assert found.converged
    scaled = X / np.array([1e6, 1, 1, 1])
    near = newton(
        as_data(scaled), codes, NONE, classes=classes, multinomial=multinomial, prior_variance=None, tol=1e-10
    )
    assert found.value >= near.value - 1e-6


@pytest.mark.parametrize("multinomial", [False, True])
@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_separable_data_without_a_prior_have_no_optimum(multinomial, solver, kind):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(60, 3))
    X[:, 1] += 4 * np.where(np.arange(60) % 2, 1.0, -1.0)
    X[:2, 1] = [0.1, -0.1]
    X[:2, 0] = [5.0, -5.0]
    codes = (X[:, 0] + 2 * X[:, 1] + 0.05 * X[:, 2] > 0).astype(np.int32)
    found = solver(
        as_data(X, kind=kind), codes, NONE, classes=2, multinomial=multinomial, prior_variance=None, max_iter=5000
    )
    assert found.infinite
    assert not found.converged
    assert found.cause in (0, 1)
    assert np.isnan(found.optimality)
    predicted = with_bias(X) @ found.weights
    predicted = predicted.argmax(axis=1) if multinomial else predicted[:, 0] > 0
    np.testing.assert_array_equal(predicted, codes)
    assert found.iterations < 1000


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("classes", "multinomial"), FORMS)
def test_a_feature_seen_with_one_class_only_is_named(solver, kind, classes, multinomial):
    X, codes = noisy(rows=300, classes=classes, seed=11)
    X[:, 2] = np.where(codes == 1, X[:, 2] != 0, 0.0)
    X[0, 2] = 0.0
    options = {"classes": classes, "multinomial": multinomial, "prior_variance": None, "max_iter": 300}
    found = solver(as_data(X, kind=kind), codes, NONE, **options)
    assert found.infinite
    assert found.cause == 2
    assert not found.converged
    assert np.isfinite(found.weights).all()
    against = np.ones(len(X))
    X[np.flatnonzero(codes == 0)[0], 2] = 1.0
    if classes == 2:
        assert not solver(as_data(X, kind=kind), codes, NONE, **options).infinite
        against[np.flatnonzero(codes == 0)[0]] = 0.0
        assert solver(as_data(X, kind=kind), codes, against, **options).cause == 2


def test_a_direction_of_many_features_is_found_too():
    """Rows on a line through 0 overlap; those beside it are all on their own side: no single feature tells."""
    rng = np.random.default_rng(12)
    along = rng.normal(size=(100, 1)) * [[1.0, 1.0]]
    beside = rng.normal(size=(40, 1)) * [[1.0, 1.0]] + [[0.5, -0.5]]
    X = np.vstack([along, beside, -beside])
    codes = np.concatenate([rng.integers(0, 2, 100), np.ones(40), np.zeros(40)]).astype(np.int32)
    for multinomial in (False, True):
        found = newton(
            as_data(X, bias=0.0), codes, NONE, classes=2, multinomial=multinomial, prior_variance=None, tol=1e-9
        )
        assert found.infinite
        assert found.cause in (0, 1)
    assert not newton(as_data(X, bias=0.0), codes, NONE, classes=2, prior_variance=1e6, tol=1e-9).infinite


@pytest.mark.parametrize("multinomial", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("far", [1e7, 1e8, 1e12])
def test_a_row_far_away_hides_none_that_moves_the_wrong_way(multinomial, kind, far):
    X, codes = np.array([[far], [1.0], [1.0], [-1.0], [-1.0]]), np.array([1, 1, 0, 1, 0], np.int32)
    options = {"classes": 2, "multinomial": multinomial, "prior_variance": None, "tol": 1e-9}
    found = newton(as_data(X, bias=0.0, kind=kind), codes, NONE, **options)
    assert not found.infinite
    assert found.converged
    against = frozen([1.0, 1.0, 0.0, 0.0, 1.0])
    assert newton(as_data(X, bias=0.0, kind=kind), codes, against, **options).infinite


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("seed", range(12))
def test_an_optimum_is_denied_only_where_a_linear_program_finds_the_way_out(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (14, 3)) * np.array([1.0, 1.0, 1e5])
    X[0] *= 1e7
    codes = np.append([0, 1], rng.integers(0, 2, 12)).astype(np.int32)
    aside = X[:, 0] + X[:, 1] - X[:, 2] / 1e5
    if seed % 2:
        codes = np.where(aside != 0, aside > 0, codes).astype(np.int32)
    signed = np.where(codes == 1, 1.0, -1.0)[:, None] * X / np.abs(X).max(axis=1, initial=1e-300, keepdims=True)
    signed /= np.array([1.0, 1.0, 1e5])
    out = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(14), bounds=[(-1, 1)] * 3)
    found = newton(as_data(X, bias=0.0, kind=kind), codes, NONE, classes=2, prior_variance=None, tol=1e-9)
    assert found.infinite == (out.fun < -1e-9)


def test_with_a_prior_separable_data_have_an_optimum():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    codes = np.array([0, 0, 1, 1], np.int32)
    for free in (False, True):
        found = newton(as_data(X), codes, NONE, classes=2, penalize_bias=not free)
        assert found.converged
        assert not found.infinite


def test_a_free_bias_runs_off_where_all_rows_are_of_one_side():
    X, _ = noisy(seed=13)
    found = newton(as_data(X), np.ones(80, np.int32), NONE, classes=2, penalize_bias=False)
    assert found.infinite
    assert found.cause == 4
    assert not found.converged
    held = newton(as_data(X), np.ones(80, np.int32), NONE, classes=2)
    assert held.converged


def test_the_budget_is_kept_and_told():
    X, codes = noisy(seed=14)
    for kind in ("dense", "csr"):
        found = newton(as_data(X, kind=kind), codes, NONE, classes=2, tol=1e-12, max_iter=1)
        assert found.iterations == 1
        assert not found.converged


def test_a_warm_start_is_where_it_begins():
    X, codes = noisy(seed=15)
    for solver in (newton, gradient_ascent):
        cold = solver(as_data(X, kind="csr"), codes, NONE, classes=2, tol=1e-10, max_iter=10_000)
        given_weights = cold.weights.copy()
        warm = solver(as_data(X, kind="csr"), codes, NONE, classes=2, tol=1e-6, start=cold.weights)
        assert warm.iterations <= 1
        assert warm.history[0] == pytest.approx(-cold.value, rel=1e-12)
        np.testing.assert_array_equal(cold.weights, given_weights)


@pytest.mark.parametrize("multinomial", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_certified_gap_is_never_below_zero(multinomial, seed):
    X, codes = noisy(rows=40, seed=seed)
    data = as_data(X * 1e-300, kind="csr")
    found = newton(data, codes, NONE, classes=2, multinomial=multinomial, tol=1e-10, penalize_bias=False)
    assert found.optimality >= 0.0


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("multinomial", [False, True])
def test_threads_change_no_bit(solver, multinomial, monkeypatch):
    monkeypatch.setattr(newton_step, "FEW", 3)
    X, codes = noisy(rows=400, classes=3, seed=16)
    for kind in ("dense", "csr"):
        one, two = (
            solver(as_data(X, kind=kind), codes, NONE, classes=3, multinomial=multinomial, max_iter=20, jobs=jobs)
            for jobs in (1, 2)
        )
        np.testing.assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan])
def test_a_variance_is_above_zero(variance):
    X, codes = noisy()
    with pytest.raises(ValueError, match="a variance is above 0"):
        newton(as_data(X), codes, NONE, classes=2, prior_variance=variance)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(
    ("scale", "counts", "variance", "message"),
    [
        (1e200, 1.0, 1.0, r"X has an entry of the size .*e\+200.*divide all of X by one factor"),
        (1e200, 1.0, None, "divide all of X by one factor"),
        (1e-300, 1e308, 1.0, "the row weights add up to inf.*divide all of them by one factor"),
        (1.0, 1e200, None, r"the row weights add up to 8e\+201"),
        (1.0, 1.0, 1e-320, "prior_variance=1e-320: .*use a larger one"),
        (1.0, 1.0, 1e300, r"prior_variance=1e\+300 is too large.*None is no prior"),
    ],
)
def test_numbers_that_would_overflow_are_refused(solver, kind, scale, counts, variance, message):
    X, codes = noisy(seed=17)
    with pytest.raises(ValueError, match=message):
        solver(as_data(X * scale, kind=kind), codes, frozen(np.full(80, counts)), classes=2, prior_variance=variance)


@pytest.mark.parametrize("solver", [newton, gradient_ascent])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("scale", "counts"), [(1e140, 1.0), (1e-200, 1.0), (1.0, 1e140), (1.0, 1e-300), (1e100, 1e40)])
@pytest.mark.parametrize("few", [500, 0])
def test_extreme_numbers_that_fit_are_taken(solver, kind, scale, counts, few, monkeypatch):
    monkeypatch.setattr(newton_step, "FEW", few)
    X, codes = noisy(seed=18)
    for variance in (None, 1.0, 1e-100):
        options = {"classes": 2, "prior_variance": variance, "max_iter": 20}
        found = solver(as_data(X * scale, kind=kind), codes, frozen(np.full(80, counts)), **options)
        assert np.isfinite(found.weights).all()
        assert found.value <= -found.history[0]


@given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 100.0, 1e4]), st.sampled_from(FORMS), st.booleans())
def test_any_small_problem_is_solved_and_certified(seed, variance, form, free):
    classes, multinomial = form
    rng = np.random.default_rng(seed)
    X, codes = noisy(rows=int(rng.integers(3, 30)), features=int(rng.integers(1, 6)), classes=classes, seed=seed)
    options = {"classes": classes, "multinomial": multinomial, "prior_variance": variance, "penalize_bias": not free}
    options |= {"max_iter": 2000, "tol": 1e-8}
    dense, sparse = (newton(as_data(X, kind=kind), codes, NONE, **options) for kind in ("dense", "csr"))
    assert dense.converged
    assert sparse.converged
    assert dense.optimality <= 1e-8 * dense.value
    assert dense.value == pytest.approx(sparse.value, rel=3e-8)


def long_rows(classes, rows=300, features=700, seed=0):
    """Return sparse counts of which a few rows are hundreds of times as long as others, and codes."""
    rng = np.random.default_rng(seed)
    lengths = np.where(np.arange(rows) % 10 == 0, 300.0, 1.0) * rng.uniform(1, 2, rows)
    X = sp.random_array((rows, features), density=0.05, rng=rng, format="csr")
    X = sp.csr_array(np.ceil(X.toarray() * lengths[:, None] * 3))
    return X, rng.integers(0, classes, rows).astype(np.int32)


@pytest.mark.parametrize("weights", [NONE, np.linspace(0.5, 2.0, 300)], ids=["plain", "weighted"])
@pytest.mark.parametrize(("classes", "multinomial"), [(2, False), (3, False), (3, True)])
def test_the_preconditioner_is_the_diagonal_and_the_heavy_rows(classes, multinomial, weights, monkeypatch):
    monkeypatch.setattr(newton_step, "HEAVY", 1e4)
    X, codes = long_rows(classes, features=60)
    problem = problem_of(as_data(X, kind="csr"), codes, weights, classes=classes, multinomial=multinomial)
    scores = np.random.default_rng(1).normal(size=(300, 1 if classes == 2 else classes))
    spread = problem.evaluate(scores).spread
    found = newton_step.Preconditioner(problem, spread)
    table, counts = with_bias(X.toarray()), weights if len(weights) else np.ones(300)
    columns = spread.shape[1]
    if multinomial:
        bend = [c * (np.diag(p) - np.outer(p, p)) for c, p in zip(counts, spread, strict=True)]
    else:
        bend = [np.diag(row) for row in spread]
    heavy = [i for i in range(300) if np.diag(bend[i]).max() * (table[i] @ table[i]) > 1e4]
    assert 20 <= len(heavy) <= 30
    P = np.eye(61 * columns)
    for i in range(300):
        whole = np.kron(bend[i], np.outer(table[i], table[i]))
        P += whole if i in heavy else np.diag(np.diag(whole))
    left = np.random.default_rng(2).normal(size=(61, columns))
    wanted = np.linalg.solve(P, left.T.ravel()).reshape(columns, 61).T
    np.testing.assert_allclose(found.solve(left), wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("classes", "multinomial", "most"), [(2, False, 150), (3, False, 220), (3, True, 220)])
def test_a_few_long_rows_cost_few_products(classes, multinomial, most, monkeypatch):
    X, codes = long_rows(classes)
    products, sweep = [], newton_step.sweep
    monkeypatch.setattr(newton_step, "sweep", lambda *given: products.append(1) or sweep(*given))
    options = {"classes": classes, "multinomial": multinomial, "tol": 1e-10}
    found = newton(as_data(X, kind="csr"), codes, NONE, **options)
    assert found.converged
    assert len(products) < most
