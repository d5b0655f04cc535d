"""The hard margin: that of other methods, bracketed at every step, with verdicts that exact arithmetic confirms."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls
from scipy.sparse import csr_array
from threadpoolctl import threadpool_info, threadpool_limits

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin import hard as home
from linsep.solvers.margin import search as margin_search
from linsep.solvers.margin.hard import hard_margin
from tests.exact import fractions
from tests.problems import integer_rows

NONE = np.zeros(0)
biases = pytest.mark.parametrize(("bias", "penalize"), [(0.0, True), (2.0, True), (2.0, False)])


def frozen(array):
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def dense(X, bias=0.0):
    return Dense(frozen(np.asarray(X)), bias)


def sparse(X, bias=0.0, index=np.int32):
    X = csr_array(X)
    return Csr(frozen(X.data), frozen(X.indices.astype(index)), frozen(X.indptr.astype(index)), X.shape[1], bias)


def solve(X, y, bias=0.0, row_weights=NONE, **more):
    data = X if isinstance(X, Dense | Csr) else dense(np.asarray(X, float), bias)
    return hard_margin(data, np.asarray(y, float), row_weights, **{"tol": 1e-9} | more)


def signed(X, y, bias):
    return np.asarray(y)[:, None] * np.column_stack([X, np.full(len(X), bias)])


def nearest(Z):
    """The distance from 0 to the hull of the rows, by non-negative least squares: 1 = sum of a, 0 = sum of a z."""
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0), maxiter=10_000)
    return np.linalg.norm(Z.T @ a) / a.sum()


def reference(X, y, bias, penalize):
    """The largest margin; with a free bias, half the distance from 0 to all differences between the classes."""
    if penalize:
        return nearest(signed(X, y, bias))
    positive, negative = X[y > 0], X[y < 0]
    return nearest((positive[:, None] - negative[None]).reshape(-1, X.shape[1])) / 2


def problem(seed, n=30, p=5, apart=0.2):
    """Rows in general position, none of them near the boundary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5
    scores = X @ rng.normal(size=p) - 0.3
    far = np.abs(scores) > apart
    return X[far], np.sign(scores[far])


def scores(found, X, y, bias):
    return np.asarray(y) * (X @ found.weights[:-1] + found.weights[-1] * bias)


def solved(A, b):
    """The one solution of A x = b in Fractions, or None where there is none or more than one."""
    rows = [[*map(Fraction, a), Fraction(c)] for a, c in zip(A, b, strict=True)]
    width, done = len(A[0]), 0
    for j in range(width):
        pivot = next((i for i in range(done, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [v / rows[done][j] for v in rows[done]]
        rows = [
            [v - row[j] * w for v, w in zip(row, rows[done], strict=True)] if i != done else row
            for i, row in enumerate(rows)
        ]
        done += 1
    return None if any(row[-1] for row in rows[done:]) else [row[-1] for row in rows[:done]]


def proves(found, X, y, bias, penalize):
    """Whether exact arithmetic confirms the verdict: w separates, or the rows of the witness cancel out."""
    if found.separable:
        w = fractions(found.weights[None])[0]
        return all(int(s) * (x @ w[:-1] + w[-1] * Fraction(bias)) > 0 for s, x in zip(y, fractions(X), strict=True))
    support = found.support
    A = signed(X, y, bias if penalize else 0.0)[support].T.tolist()
    sums = [[1] * len(support)] if penalize else [(y[support] > 0).astype(int), (y[support] < 0).astype(int)]
    weights = solved([*A, *(list(map(int, row)) for row in sums)], [0] * len(A) + [1] * len(sums))
    return weights is not None and all(weight > 0 for weight in weights)


@biases
@pytest.mark.parametrize("seed", range(4))
def test_the_margin_is_that_of_another_method(seed, bias, penalize):
    X, y = problem(seed)
    expected = reference(X, y, bias, penalize)
    found = solve(X, y, bias, penalize_bias=penalize)
    assert found.separable is True
    assert found.converged
    assert found.lower == pytest.approx(expected, rel=1e-9)
    assert found.upper == pytest.approx(expected, rel=1e-9)
    counted = found.weights if penalize else found.weights[:-1]
    assert 1 / np.linalg.norm(counted) == pytest.approx(expected, rel=1e-9)
    assert scores(found, X, y, bias).min() == pytest.approx(1.0, rel=1e-9)


def test_the_margin_is_that_of_the_primal():
    X, y = problem(7)
    Z = signed(X, y, 1.0)
    best = minimize(
        lambda w: w @ w, 10 * np.linalg.lstsq(Z, np.ones(len(Z)))[0], jac=lambda w: 2 * w, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: Z @ w - 1, "jac": lambda w: Z},
        options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    assert solve(X, y, 1.0).upper == pytest.approx(1 / np.linalg.norm(best.x), rel=1e-7)


@biases
@pytest.mark.parametrize("first", [0, home.SMALL])
def test_both_bounds_hold_at_every_step(first, bias, penalize, monkeypatch):
    """Whichever search has the first turn."""
    monkeypatch.setattr(home, "SMALL", first)
    X, y = problem(11, n=120, p=30, apart=0.01)
    expected = reference(X, y, bias, penalize)
    found = solve(X, y, bias, penalize_bias=penalize)
    lower, upper = found.history.T
    assert (lower <= expected * (1 + 1e-12)).all()
    assert (upper >= expected * (1 - 1e-12)).all()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert len(lower) > 2
    assert (found.lower, found.upper) == (lower[-1], upper[-1])
    assert found.gap <= 1e-9


@biases
def test_weights_and_dual_prove_the_bounds(bias, penalize):
    X, y = problem(5, n=60, p=12)
    found = solve(X, y, bias, penalize_bias=penalize, tol=0.1)
    assert found.gap <= 0.1
    assert (found.dual >= 0).all()
    assert found.dual.sum() == pytest.approx(1.0, rel=1e-12)
    if not penalize:
        assert found.dual[y > 0].sum() == pytest.approx(0.5, rel=1e-12)
    point = found.dual @ signed(X, y, bias if penalize else 0.0)
    assert np.linalg.norm(point) == pytest.approx(found.upper, rel=1e-12)
    counted = found.weights if penalize else found.weights[:-1]
    assert scores(found, X, y, bias).min() / np.linalg.norm(counted) == pytest.approx(found.lower, rel=1e-12)
    assert found.radius == pytest.approx(np.linalg.norm(signed(X, y, bias if penalize else 0.0), axis=1).max())


@pytest.mark.parametrize("p", [1, 2, 16, 300])
def test_the_perceptrons_worst_case(p):
    """x_i = e_i: the margin is 1 / sqrt(p), and every row bears the same weight."""
    found = solve(sparse(np.eye(p)), np.ones(p))
    assert found.upper == pytest.approx(p**-0.5, rel=1e-12)
    assert found.lower == pytest.approx(p**-0.5, rel=1e-12)
    np.testing.assert_allclose(found.weights[:-1], 1.0, rtol=1e-9)
    np.testing.assert_allclose(found.dual, 1 / p, rtol=1e-9)


def test_margins_by_hand():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    found = solve(square, [-1, -1, 1, 1], 1.0, penalize_bias=False)
    assert (found.lower, found.upper) == pytest.approx((1.5, 1.5))
    np.testing.assert_allclose(found.weights, [2 / 3, 0.0, -1.0], atol=1e-12)
    found = solve([[4.0], [1.0]], [1, -1], 1.0)
    assert found.upper == pytest.approx(3 / np.hypot(2.0, 5.0), rel=1e-12), "w = (2, -5) / 3"
    np.testing.assert_allclose(found.weights, [2 / 3, -5 / 3], rtol=1e-12)


def test_one_row_of_each_class():
    x, z = np.array([1.0, 2.0, 2.0]), np.array([-1.0, 0.0, 3.0])
    found = solve([x, z], [1, -1], 5.0, penalize_bias=False)
    assert found.upper == pytest.approx(np.linalg.norm(x - z) / 2, rel=1e-14)
    assert found.dual.tolist() == [0.5, 0.5]
    lonely = solve([x], [1])
    assert (lonely.lower, lonely.upper) == pytest.approx((3.0, 3.0))
    np.testing.assert_allclose(lonely.weights, [*(x / 9), 0.0])


@biases
@given(rows=integer_rows(max_rows=9, max_features=4))
def test_verdicts_on_integers_are_exact(bias, penalize, rows):
    X, y = rows
    found = solve(X, y, bias, penalize_bias=penalize)
    assert found.separable is not None
    assert found.converged
    assert proves(found, X, y, bias, penalize)


@biases
def test_a_witness_has_few_rows(bias, penalize):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    y = rng.permutation(np.arange(400) % 2) * 2.0 - 1.0
    found = solve(X, y, bias, penalize_bias=penalize)
    assert found.separable is False
    assert found.converged
    assert found.lower <= 0
    assert 2 <= len(found.support) <= 6 + 2
    assert found.dual.sum() == pytest.approx(1.0, rel=1e-12)
    point = found.dual @ signed(X, y, bias if penalize else 0.0)
    assert np.linalg.norm(point) <= 1e-14 * found.radius
    assert found.upper == pytest.approx(np.linalg.norm(point), abs=1e-15)
    assert found.gap == 0.0
    assert np.linalg.norm(found.weights if penalize else found.weights[:-1]) == pytest.approx(1.0)


def test_rows_that_contradict_each_other():
    for penalize in (True, False):
        found = solve([[1.0, 2.0], [5.0, 1.0], [1.0, 2.0]], [1, 1, -1], 1.0, penalize_bias=penalize)
        assert found.separable is False
        assert found.dual.tolist() == [0.5, 0.0, 0.5]
        assert found.upper == 0.0


def test_a_zero_row_is_the_witness_by_itself():
    X, y = problem(2)
    X = np.vstack([X, np.zeros(X.shape[1]), X[0]])
    y = np.append(y, [1, y[0]])
    found = solve(X, y)
    assert (found.separable, found.converged, found.upper, found.lower) == (False, True, 0.0, 0.0)
    assert found.support.tolist() == [len(y) - 2]
    assert (scores(found, X, y, 0.0)[: len(y) - 2] > 0).all(), "the other rows are separated"
    absent = (np.arange(len(y)) != len(y) - 2).astype(float)
    assert solve(X, y, row_weights=absent).separable is True
    assert solve(X, y, 1.0).support.tolist() != [len(y) - 2], "with a bias it is a row like all others"
    nothing = solve(np.zeros((3, 2)), [1, -1, 1])
    assert (nothing.separable, nothing.upper, nothing.weights.tolist()) == (False, 0.0, [0.0, 0.0, 0.0])
    assert solve(np.zeros((3, 2)), [1, -1, 1], 1.0, penalize_bias=False).separable is False
    cancelled = Csr(
        *map(frozen, (np.array([1.0, -1.0, 2.0]), np.array([0, 0, 1], np.int32), np.array([0, 2, 3], np.int32))), 2, 0.0
    )
    assert solve(cancelled, [1, 1]).support.tolist() == [0], "columns stored twice add up to 0"


def test_a_zero_row_leaves_the_search_for_the_other_rows_as_it_is():
    X, y = problem(2)
    plain, more = solve(X, y), (np.vstack([X, np.zeros(X.shape[1])]), np.append(y, 1))
    seen = []
    found = solve(*more, watch=lambda lower, upper: seen.append((lower, upper)))
    assert seen, "the bracket is reported"
    assert all(lower <= upper == 0.0 for lower, upper in seen), "no margin is above 0"
    assert np.array_equal(found.weights, plain.weights)
    again = solve(X, y, start=plain.dual)
    assert again.iterations != plain.iterations
    for start in (0.0, 1.0):  # the zero row's own share says nothing of the others
        assert solve(*more, start=np.append(plain.dual, start)).iterations == again.iterations
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 40))
    y, enough = np.sign(X @ draw.normal(size=40)), 10.0
    more = np.vstack([X, np.zeros(40)]), np.append(y, 1.0)
    assert solve(*more, enough=enough).iterations == solve(X, y, enough=enough).iterations < solve(X, y).iterations


@biases
def test_repetition_changes_nothing_and_weight_0_is_absence(bias, penalize):
    X, y = problem(4, n=40)
    counts = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    present = counts > 0
    expected = reference(X[present], y[present], bias, penalize)
    weighted = solve(X, y, bias, row_weights=counts, penalize_bias=penalize)
    times = counts.astype(int)
    repeated = solve(np.repeat(X, times, axis=0), np.repeat(y, times), bias, penalize_bias=penalize)
    assert weighted.upper == pytest.approx(expected, rel=1e-9)
    assert repeated.upper == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=0, atol=1e-6 * np.abs(repeated.weights).max())
    assert not weighted.dual[~present].any()
    assert reference(X, y, bias, penalize) < expected, "the rows left out would matter"


@biases
@pytest.mark.parametrize("power", [-400, -40, 7, 300])
def test_powers_of_two_change_no_bit(power, bias, penalize):
    X, y = problem(6)
    plain = solve(X, y, bias, penalize_bias=penalize)
    scaled = solve(np.ldexp(X, power), y, np.ldexp(bias, power), penalize_bias=penalize)
    assert scaled.dual.tolist() == plain.dual.tolist()
    assert scaled.lower == np.ldexp(plain.lower, power)
    assert scaled.upper == np.ldexp(plain.upper, power)
    assert scaled.weights.tolist() == np.ldexp(plain.weights, -power).tolist()


@biases
def test_sparse_rows_are_dense_rows(bias, penalize):
    X, y = problem(8, n=80, p=20)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.5, X, 0.0)
    y = np.sign(X @ np.linspace(-1, 1, 20) + 0.1)
    expected = solve(X, y, bias, penalize_bias=penalize)
    assert expected.separable
    whole = csr_array(X)
    halves = csr_array((np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), X.shape)
    for rows in (sparse(X, bias), sparse(halves, bias)):
        found = solve(rows, y, penalize_bias=penalize)
        assert found.upper == pytest.approx(expected.upper, rel=1e-9)
        assert found.radius == pytest.approx(expected.radius, rel=1e-12)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-6 * np.abs(expected.weights).max())


def test_float32_rows_are_taken_for_what_they_are():
    X, y = problem(9)
    narrow = X.astype(np.float32)
    expected = solve(narrow.astype(float), y, 1.0)
    for rows in (dense(narrow, 1.0), sparse(narrow, 1.0, np.int64)):
        found = solve(rows, y)
        assert found.upper == pytest.approx(expected.upper, rel=1e-12)
        assert found.lower == pytest.approx(expected.lower, rel=1e-9)


@pytest.mark.parametrize("margin", [1e-4, 1e-8, 1e-11, 1e-13])
def test_a_tiny_margin_is_a_margin(margin):
    """Two rows apart by a hair, among many that are not."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(50, 3)), [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    y = np.append(np.where(rng.random(50) < 0.5, 1.0, -1.0), [1.0, -1.0])
    X[:, 2] = 3.0 * y
    X[-2:, 2] = margin * y[-2:]
    found = solve(X, y, tol=1e-3)
    assert found.separable is True
    assert found.gap <= 1e-3
    assert found.upper == pytest.approx(margin, rel=1e-3)


def test_margins_below_rounding_are_none():
    X = np.array([[1.0, 1.0, 3.0], [1.0, 1.0, 3.0]])
    y = np.array([1.0, -1.0])
    X[:, 2] = 1e-17 * y
    found = solve(X, y)
    assert found.separable is False
    assert found.upper <= 2e-17
    tenths = np.array([[0.1, 0.2], [0.3, 0.6], [-0.4, -0.8]])
    assert solve(tenths, [1, 1, 1]).separable is False, "collinear but for the last bit"


def test_a_spent_budget_leaves_it_open():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(200, 20)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    found = solve(X, y, 1.0, max_iter=1)
    assert (found.separable, found.converged, found.iterations) == (None, False, 1)
    assert found.lower <= 0 < found.upper
    assert solve(X, y, 1.0).separable is False
    X, y = problem(11, n=120, p=30, apart=0.01)
    found = solve(X, y, max_iter=4)
    assert not found.converged
    assert found.iterations == 4
    assert len(found.history) == 4


def test_what_rounding_forbids_is_not_waited_for():
    X, y = problem(1)
    found = solve(X, y, 1.0, tol=1e-300, max_iter=10**6)
    assert found.iterations < 100
    assert found.separable is True
    assert found.gap < 1e-12


@biases
@pytest.mark.parametrize(("most", "full"), [(24, 12), (40, 30)])
def test_small_working_sets_come_to_the_same_margin(most, full, bias, penalize, monkeypatch):
    """More rows bear weight than it can hold: those let go keep theirs, and come back in turns."""
    X, y = problem(11, n=150, p=60, apart=0.01)
    expected = solve(X, y, bias, penalize_bias=penalize)
    assert len(expected.support) > most
    for name, value in (("MOST", most), ("FULL", full), ("FEWEST", 4)):
        monkeypatch.setattr(margin_search, name, value)
    monkeypatch.setattr(margin_search.HardDescent, "take_turn", lambda self, passes: None)
    found = solve(X, y, bias, penalize_bias=penalize, tol=1e-5)
    assert found.converged
    assert found.upper == pytest.approx(expected.upper, rel=1e-5)


@biases
def test_coordinate_descent_alone_comes_to_the_same_margin(bias, penalize, monkeypatch):
    X, y = problem(11, n=150, p=60, apart=0.01)
    expected = solve(X, y, bias, penalize_bias=penalize)
    monkeypatch.setattr(home, "SMALL", 0)
    monkeypatch.setattr(home, "FULL", 0)
    found = solve(X, y, bias, penalize_bias=penalize, tol=1e-4, max_iter=5000)
    assert found.converged
    assert found.upper == pytest.approx(expected.upper, rel=1e-4)
    assert found.lower <= expected.upper * (1 + 1e-12)


def test_threads_change_no_bit():
    X, y = problem(12, n=100, p=1500, apart=0.0)
    one, two = (solve(X, y, 1.0, jobs=jobs) for jobs in (1, 2))
    assert one.weights.tolist() == two.weights.tolist()
    assert one.history.tolist() == two.history.tolist()


def test_the_data_are_not_copied():
    rng = np.random.default_rng(8)
    n, width, per_row = 20_000, 500, 60
    X = csr_array(
        (
            rng.random(n * per_row),
            rng.integers(0, width, n * per_row),
            np.arange(0, n * per_row + 1, per_row),
        ),
        (n, width),
    )
    y = np.where(X @ rng.normal(size=width) > 0, 1.0, -1.0)
    rows = sparse(X, 1.0)
    solve(rows, y, max_iter=2)
    tracemalloc.start()
    solve(rows, y, max_iter=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * (rows.values.nbytes + rows.indices.nbytes)


@given(seed=st.integers(0, 2**32))
def test_many_rows_few_features(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (60, 2)).astype(float)
    u = rng.normal(size=2)
    X = X[np.abs(X @ u) > 0.05]
    y = np.sign(X @ u)
    expected = nearest(signed(X, y, 0.0))
    found = solve(X, y)
    assert found.upper == pytest.approx(expected, rel=1e-9)
    assert proves(found, X, y, 0.0, True)


def test_rows_of_one_sign_only():
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="rows of both signs"):
        solve(X, [1, 1], 1.0, penalize_bias=False)
    with pytest.raises(ValueError, match="a margin needs rows"):
        solve(X, [1, -1], row_weights=np.zeros(2))
    assert solve(X, [1, 1]).upper == pytest.approx(np.sqrt(4.5))
    assert solve(X, [1, 1], 0.0, penalize_bias=False).upper == pytest.approx(np.sqrt(4.5)), "there is no bias"


@pytest.mark.parametrize("before", [1, 2])
def test_threads_of_blas_change_no_bit(before):
    """Also for the dense products of Wolfe's algorithm; what was set before is set after."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(1500, 400)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 1] += 5 * y
    expected = hard_margin(dense(X), y, NONE, max_iter=60)
    with threadpool_limits(before, user_api="blas"):
        found = hard_margin(dense(X), y, NONE, max_iter=60)
        counts = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_array_equal(found.dual, expected.dual)
    assert max(counts) == before
