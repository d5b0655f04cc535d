"""The soft margin: its proof is checked from its parts, its answer against other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.svm import SVC, LinearSVC

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin.coordinate_descent import squared_norms
from linsep.solvers.margin.soft import SoftDescent, best_bias, relative, soft_margin
from tests.problems import float_rows, integer_rows

ALL = np.zeros(0)
losses = pytest.mark.parametrize("loss", ["l1", "l2"])
kinds = pytest.mark.parametrize("kind", ["dense", "csr"])
forms = pytest.mark.parametrize(("bias", "penalize_bias"), [(0.0, True), (2.0, True), (2.0, False)])


def frozen(array):
    array = np.ascontiguousarray(array).view()
    array.flags.writeable = False
    return array


def made(X, bias=0.0, kind="dense"):
    X = np.asarray(X, float)
    if kind == "dense":
        return Dense(frozen(X), bias)
    S = csr_array(X)
    return Csr(frozen(S.data), frozen(S.indices.astype(np.int32)), frozen(S.indptr.astype(np.int32)), X.shape[1], bias)


def noisy(seed, n=60, p=5, scale=1.0):
    """Two clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return scale * (rng.normal(size=(n, p)) + 0.5 * y[:, None]), y


def check(found, X, y, C, loss, bias=0.0, penalize_bias=True, weights=ALL, tol=None):
    """Compute the two objectives from the answer's parts in long doubles; w = sum of a y x; what the dual must obey."""
    costs = C * (weights if len(weights) else np.ones(len(y)))
    a, w = found.dual.astype(np.longdouble), found.weights.astype(np.longdouble)
    free = bias != 0.0 and not penalize_bias
    Z = np.column_stack([X, np.full(len(y), bias)]).astype(np.longdouble)
    total = (a * y) @ Z
    part = slice(None, -1) if free else slice(None)
    assert np.all(a >= 0.0)
    assert np.all(a[costs == 0.0] == 0.0)
    assert loss == "l2" or np.all(found.dual <= costs)
    size = np.abs(a) @ np.abs(Z)
    assert np.all(np.abs(total - w)[part] <= 1e-13 * size[part] + 1e-300)
    if free:
        assert abs(a @ y) <= 1e-13 * a.sum()
    present = costs > 0.0
    dual = a.sum() - total[part] @ total[part] / 2
    dual -= np.sum(a[present] ** 2 / (4 * costs[present])) if loss == "l2" else 0
    slack = np.maximum(0, 1 - y * (Z @ w))
    primal = w[part] @ w[part] / 2 + costs @ (slack if loss == "l1" else slack**2)
    assert found.primal == pytest.approx(float(primal), rel=1e-9, abs=1e-15 * costs.sum())
    assert found.dual_objective == pytest.approx(float(dual), rel=1e-9, abs=1e-9 * float(primal))
    gap = max(primal - dual, 0) / primal if primal > 0 else 0.0
    assert found.gap == pytest.approx(float(gap), abs=1e-9 + 1e-15 * costs.sum() / max(float(primal), 1e-300))
    if tol is not None:
        assert found.converged
        assert gap <= tol * (1 + 1e-6) + 1e-12
    return found


def solved(X, y, C=1.0, loss="l1", bias=0.0, penalize_bias=True, weights=ALL, tol=1e-8, kind="dense", **more):
    more = {"max_iter": 10_000, **more}
    found = soft_margin(made(X, bias, kind), y, weights, C=C, loss=loss, tol=tol, penalize_bias=penalize_bias, **more)
    return check(found, np.asarray(X, float), np.asarray(y, float), C, loss, bias, penalize_bias, weights, tol)


def by_quadratic_program(X, y, C, loss, bias, penalize_bias):
    """The primal as a smooth program with slacks, by another algorithm."""
    n, p = X.shape
    free = bias != 0.0 and not penalize_bias
    Z = np.column_stack([X, np.full(n, bias)])
    penalty = np.append(np.ones(p), 0.0 if free else 1.0)

    def value(u):
        w, s = u[: p + 1], u[p + 1 :]
        cost, slope = (s.sum(), np.ones(n)) if loss == "l1" else (s @ s, 2 * s)
        return penalty @ w**2 / 2 + C * cost, np.concatenate([penalty * w, C * slope])

    rows = np.column_stack([y[:, None] * Z, np.eye(n)])
    start = np.concatenate([np.zeros(p + 1), np.ones(n)])
    return minimize(
        value, start, jac=True, method="SLSQP", bounds=[(None, None)] * (p + 1) + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda u: rows @ u - 1, "jac": lambda u: rows},
        options={"maxiter": 1000, "ftol": 1e-14},
    ).fun  # fmt: skip


@losses
@forms
@pytest.mark.parametrize("C", [0.03, 3.0])
def test_another_algorithm_finds_the_same_objective(loss, bias, penalize_bias, C):
    X, y = noisy(1, n=15, p=3)
    found = solved(X, y, C, loss, bias, penalize_bias, tol=1e-9)
    assert found.primal == pytest.approx(by_quadratic_program(X, y, C, loss, bias, penalize_bias), rel=1e-7)


@losses
@kinds
def test_liblinear_finds_the_same_weights(loss, kind):
    X, y = noisy(2, n=200, p=8)
    name = {"l1": "hinge", "l2": "squared_hinge"}[loss]
    peer = LinearSVC(loss=name, dual=True, tol=1e-10, max_iter=10**6, intercept_scaling=3.0, random_state=0).fit(X, y)
    found = solved(X, y, 1.0, loss, 3.0, kind=kind, tol=1e-11)
    np.testing.assert_allclose(found.weights[:-1], peer.coef_[0], atol=1e-5)
    assert found.weights[-1] * 3.0 == pytest.approx(peer.intercept_[0], abs=1e-5)


@kinds
def test_libsvm_finds_the_same_free_bias(kind):
    X, y = noisy(3, n=120, p=4)
    peer = SVC(kernel="linear", C=0.7, tol=1e-9).fit(X, y)
    found = solved(X, y, 0.7, "l1", 1.0, penalize_bias=False, kind=kind, tol=1e-10)
    np.testing.assert_allclose(found.weights[:-1], peer.coef_[0], atol=1e-5)
    assert found.weights[-1] == pytest.approx(peer.intercept_[0], abs=1e-5)


@losses
@forms
@settings(max_examples=15)
@given(
    problem=st.one_of(integer_rows(), float_rows()), exponent=st.integers(-6, 1), kind=st.sampled_from(["dense", "csr"])
)
def test_conditions_at_the_best_point(loss, bias, penalize_bias, problem, exponent, kind):
    """Rows beyond the margin have no variable, rows within it the largest (the hinge) or 2 C loss (its square).

    Zero rows, duplicates, single features and contradictions are among these rows.
    """
    X, y = problem
    C = 10.0**exponent / max(1.0, np.mean(X**2))
    found = solved(X, y, C, loss, bias, penalize_bias, kind=kind, tol=1e-9)
    slack = 1 - y * (X @ found.weights[:-1] + bias * found.weights[-1])
    allowed = 1e-9 * found.primal + 1e-12 * C
    assert np.all(found.dual * np.maximum(-slack, 0) <= allowed)
    if loss == "l1":
        assert np.all((C - found.dual) * np.maximum(slack, 0) <= allowed)
    else:
        assert np.all(C * (np.maximum(slack, 0) - found.dual / (2 * C)) ** 2 <= allowed)


@losses
@forms
def test_dense_and_sparse_agree(loss, bias, penalize_bias):
    X, y = noisy(4, n=150, p=9)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    dense, sparse = (solved(X, y, 2.0, loss, bias, penalize_bias, kind=k, tol=1e-10) for k in ("dense", "csr"))
    assert dense.primal == pytest.approx(sparse.primal, rel=1e-9)
    assert dense.dual_objective == pytest.approx(sparse.dual_objective, rel=1e-9)


@losses
@forms
def test_weights_are_repetitions(loss, bias, penalize_bias):
    X, y = noisy(5, n=50)
    counts = np.random.default_rng(1).integers(0, 4, 50)
    weighted = solved(X, y, 0.5, loss, bias, penalize_bias, weights=counts.astype(float), tol=1e-10)
    repeated = solved(np.repeat(X, counts, axis=0), np.repeat(y, counts), 0.5, loss, bias, penalize_bias, tol=1e-10)
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-4)


@losses
@forms
def test_a_row_of_weight_0_is_absent(loss, bias, penalize_bias):
    X, y = noisy(6)
    weights = np.ones(60)
    weights[::4] = 0.0
    X[::4] *= 1e6
    y[::4] *= -1
    found = solved(X, y, 1.0, loss, bias, penalize_bias, weights=weights, tol=1e-10)
    without = solved(X[weights > 0], y[weights > 0], 1.0, loss, bias, penalize_bias, tol=1e-10)
    assert found.primal == pytest.approx(without.primal, rel=1e-9)


@losses
@forms
def test_nothing_but_rows_of_weight_0(loss, bias, penalize_bias):
    X, y = noisy(7)
    found = solved(X, y, 1.0, loss, bias, penalize_bias, weights=np.zeros(60))
    assert (found.primal, found.gap) == (0.0, 0.0)
    assert not found.weights.any()


@losses
def test_zero_rows_cost_what_they_must(loss):
    found = solved(np.zeros((3, 2)), [1, -1, 1], 2.5, loss)
    assert found.primal == pytest.approx(7.5)
    np.testing.assert_allclose(found.dual, 2.5 if loss == "l1" else 5.0)


@losses
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_class_needs_only_a_free_bias(loss, sign):
    X, _ = noisy(8, n=20)
    found = solved(X, np.full(20, sign), 1.0, loss, 4.0, penalize_bias=False)
    assert found.primal == 0.0
    assert not found.weights[:-1].any()
    assert found.weights[-1] * 4.0 * sign >= 1.0


@losses
@kinds
@forms
def test_scaling_by_a_power_of_two_changes_nothing(loss, kind, bias, penalize_bias):
    """Rows times s and C over s² is the same problem, step by step."""
    X, y = noisy(9)
    plain = solved(X, y, 0.5, loss, bias, penalize_bias, tol=1e-6, kind=kind)
    for s in (2.0**-30, 2.0**20):
        scaled = solved(s * X, y, 0.5 / s**2, loss, s * bias, penalize_bias, tol=1e-6, kind=kind)
        assert np.array_equal(scaled.weights * s, plain.weights)
        assert np.array_equal(scaled.dual * s**2, plain.dual)
        assert scaled.iterations == plain.iterations


@losses
@pytest.mark.parametrize("penalize_bias", [True, False])
def test_a_cost_near_nothing_and_a_cost_near_infinity(loss, penalize_bias):
    X, y = noisy(10)
    found = solved(X, y, 1e-12, loss, 1.0, penalize_bias)
    assert np.abs(found.weights[:-1]).max() < 1e-9
    separable = X + 10 * y[:, None]
    found = solved(separable, y, 1e6, loss, 1.0, penalize_bias, tol=1e-6)
    assert np.all(y * (separable @ found.weights[:-1] + found.weights[-1]) > 0.999)


def test_the_hinge_alone_is_a_linear_program():
    """With a cost so large that ||w||² hardly counts, the sum of losses is the least possible."""
    X, y = noisy(11, n=25, p=2)
    found = solved(X, y, 1e4, "l1", 1.0, penalize_bias=False, tol=1e-4)
    rows = -np.column_stack([y[:, None] * X, y, np.eye(25)])
    cost = np.append(np.zeros(3), np.ones(25))
    least = linprog(cost, rows, -np.ones(25), bounds=[(None, None)] * 3 + [(0, None)] * 25).fun
    slack = np.maximum(0, 1 - y * (X @ found.weights[:-1] + found.weights[-1]))
    assert least - 1e-9 <= slack.sum() <= least * (1 + 2e-4) + found.weights @ found.weights / 2e4


def test_columns_stored_twice_add_up():
    X, y = noisy(12, n=40, p=3)
    doubled = np.concatenate([X - 1, np.ones_like(X)], axis=1).ravel()
    indices = np.tile(np.array([0, 1, 2, 0, 1, 2], np.int32), 40)
    data = Csr(frozen(doubled), frozen(indices), frozen(np.arange(0, 241, 6, dtype=np.int32)), 3, 1.0)
    np.testing.assert_allclose(squared_norms(data), np.sum(X**2, axis=1), rtol=1e-12)
    for loss in ("l1", "l2"):
        found = soft_margin(data, y, ALL, C=1.0, loss=loss, tol=1e-9, max_iter=10_000)
        assert found.primal == pytest.approx(solved(X, y, 1.0, loss, 1.0, tol=1e-9).primal, rel=1e-8)


@losses
@forms
def test_labels_in_runs(loss, bias, penalize_bias):
    """All negative rows first: blocks of neighbours are of one label."""
    X, y = noisy(13, n=3000, p=20)
    order = np.argsort(y, kind="stable")
    found = solved(X[order], y[order], 0.1, loss, bias, penalize_bias, tol=1e-3)
    assert found.iterations < 200


@losses
@forms
def test_many_rows_need_few_passes(loss, bias, penalize_bias):
    """The bias costs no passes."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(4000, 50)) / np.sqrt(50)
    y = np.where(X @ rng.normal(size=50) + rng.normal(size=4000) > 0.5, 1.0, -1.0)
    found = solved(X, y, 0.5, loss, bias, penalize_bias, tol=1e-3, max_iter=200)
    assert found.iterations <= 40


@losses
@kinds
def test_the_seed_decides(loss, kind):
    X, y = noisy(15, n=200)
    one, two, other = (solved(X, y, 1.0, loss, 1.0, tol=1e-4, kind=kind, seed=s) for s in (3, 3, 4))
    assert np.array_equal(one.weights, two.weights)
    assert np.array_equal(one.dual, two.dual)
    assert not np.array_equal(one.weights, other.weights)
    assert one.primal == pytest.approx(other.primal, rel=1e-3)


@losses
@kinds
@forms
def test_a_spent_budget_is_told(loss, kind, bias, penalize_bias):
    X, y = noisy(16, n=200, scale=30.0)
    for budget in (1, 2, 20):
        found = soft_margin(
            made(X, bias, kind), y, ALL, C=10.0, loss=loss, tol=1e-12, max_iter=budget, penalize_bias=penalize_bias
        )
        check(found, X, y, 10.0, loss, bias, penalize_bias)
        assert (found.converged, found.iterations) == (False, budget)
        assert found.gap > 1e-12


@losses
@pytest.mark.parametrize("C", [1e3, 1e6])
def test_large_costs_are_reached_by_way_of_smaller_ones(loss, C):
    """A step is no larger than 1 / ||x||², and the variables of rows within the margin are C."""
    rng = np.random.default_rng(19)
    X, y = rng.normal(size=(80, 3)), rng.choice([-1.0, 1.0], 80)
    found = soft_margin(made(X), y, ALL, C=C, loss=loss, tol=1e-2, max_iter=3000)
    check(found, X, y, C, loss)
    assert found.gap < 0.2


@losses
def test_variables_that_are_all_at_their_bounds_still_balance(loss):
    """Twice as many negative rows, so cheap that each variable is as large as it may be: D must not count them all."""
    X, y = noisy(20)
    found = soft_margin(made(X, 1.0), y, ALL, C=1e-9, loss=loss, max_iter=1, penalize_bias=False)
    check(found, X, y, 1e-9, loss, 1.0, penalize_bias=False)
    solved(X, y, 1e-9, loss, 1.0, penalize_bias=False, tol=1e-6)


def test_rows_that_rest_are_not_forgotten():
    """After a failed proof all variables between their bounds move again, not only those that want to."""
    passes = []
    for seed in range(4):
        X, y = noisy(seed)
        passes.append(solved(X, y, 1.0, "l1", 2.0, tol=1e-10).iterations)
    assert sum(passes) < 1500


def test_threads_change_nothing():
    X, y = noisy(17, n=500, p=3)
    one, two = (solved(X, y, 1.0, "l1", 1.0, tol=1e-4, kind="csr", jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.weights, two.weights)


def test_no_tolerance_ends_where_nothing_moves():
    found = soft_margin(made([[1.0], [-1.0]]), np.array([1, -1]), ALL, C=1.0, loss="l1", tol=0.0, max_iter=10**6)
    assert (found.primal, found.gap, found.converged) == (0.5, 0.0, True)


@losses
@pytest.mark.parametrize("weights", [[1e300, 1.0], [1e298, 1e298]])
def test_costs_beyond_all_floats(loss, weights):
    with pytest.raises(
        ValueError, match=r"too large for float64, with C=1e\+10 and sample weights up to 1e.*: lower C"
    ):
        soft_margin(made([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.array(weights), C=1e10, loss=loss)


@pytest.mark.parametrize("primal", [np.nan, np.inf])
def test_objectives_beyond_all_floats(monkeypatch, primal):
    """The costs are finite; what they are multiplied by is not always."""
    proof = SoftDescent.proof
    monkeypatch.setattr(SoftDescent, "proof", lambda descent: proof(descent)._replace(primal=primal))
    with pytest.raises(ValueError, match="the objective is too large for float64, with C=2: lower C"):
        soft_margin(made([[1.0], [-1.0]]), np.array([1.0, -1.0]), ALL, C=2.0, loss="l1")


def test_no_number_is_no_small_gap():
    assert relative(np.nan, 1.0) == relative(np.inf, 1.0) == relative(1.0, np.nan) == np.inf
    assert relative(0.0, 0.0) == 0.0


@losses
def test_the_best_bias(loss):
    rng = np.random.default_rng(18)
    for n in (1, 2, 3, 8, 40):
        for signs in (rng.choice([-1.0, 1.0], n), np.ones(n), -np.ones(n)):
            scores, costs = 2 * rng.normal(size=n), rng.choice([0.5, 1.0, 3.0], n)

            def total(b, scores=scores, signs=signs, costs=costs):
                slack = np.maximum(0, 1 - signs * (scores + b))
                return costs @ (slack if loss == "l1" else slack**2)

            b = best_bias(scores, signs, costs, loss == "l2")
            grid = np.concatenate([signs - scores, np.linspace(-8, 8, 2001)])
            assert total(b) <= min(map(total, grid)) + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "C is 0.0: the cost of a unit of loss is a number above 0"),
        ({"C": np.inf}, "use the hard margin"),
        ({"C": np.nan}, "C is nan"),
        ({"loss": "hinge"}, "loss is 'hinge': use 'l1' for the hinge"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        soft_margin(made([[1.0]]), np.ones(1), ALL, **{"C": 1.0, "loss": "l1", **options})


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@kinds
def test_rows_that_cannot_be_squared(bad, kind):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="row 1 has an entry that is not a number, or too"):
        soft_margin(made([[1.0, 2.0], [bad, 1.0]], kind=kind), np.ones(2), ALL, C=1.0, loss="l1")
