"""The tightest Delta-trick bound: that of a plain search, with both bounds checked by their definitions."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from linsep.solvers.margin.delta import best_scale, delta_bound
from linsep.solvers.margin.hard import hard_margin
from linsep.solvers.margin.soft import minimise, tame
from tests.problems import float_rows, integer_rows
from tests.solvers.rows import dense, signed, sparse

some = settings(max_examples=30)
passes = pytest.mark.parametrize("T", [1, 10])


def norm_of(X, bias):
    with np.errstate(over="ignore"):
        return float(np.max(np.hypot.reduce(np.column_stack([X, np.full(len(X), bias)]), axis=1)))


def solve(X, y, bias=0.0, T=1, kind=dense, **more):
    options = {"radius": norm_of(X, bias), "tol": 1e-6} | more
    return delta_bound(kind(X, bias), np.asarray(y, float), passes=T, **options)


def F(w, Z, R, T):
    return R * np.linalg.norm(w) + math.sqrt(T) * np.linalg.norm(np.maximum(1 - Z @ w, 0))


def least(Z, R, T):
    """min F by a search that knows nothing but F, from several starts."""
    starts = [np.zeros(Z.shape[1]), Z.mean(axis=0) / R**2, np.linalg.lstsq(Z, np.ones(len(Z)))[0]]
    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    found = [minimize(F, w, (Z, R, T), method="Nelder-Mead", options=options) for w in starts]
    again = min(found, key=lambda f: f.fun)
    return min(minimize(F, again.x, (Z, R, T), method="Nelder-Mead", options=options).fun, math.sqrt(len(Z) * T))


def check(found, X, y, bias, T, R=None):
    """Both bounds by their definitions, but for rounding."""
    Z, R = signed(X, y, bias), norm_of(X, bias) if R is None else R
    assert F(found.weights * 2.0**found.exponent, Z, R, T) == pytest.approx(found.upper, rel=1e-9)
    assert found.dual.min() >= 0
    assert np.linalg.norm(found.dual) <= math.sqrt(T) * (1 + 1e-9)
    assert np.linalg.norm(Z.T @ found.dual) <= R * (1 + 1e-9)
    assert found.dual.sum() == pytest.approx(found.lower, rel=1e-9)
    assert found.lower <= found.upper <= math.sqrt(len(X) * T) * (1 + 1e-12)


def problem(seed, n=40, p=2, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5
    y = np.sign(X @ rng.normal(size=p) - 0.3)
    return X, np.where(rng.random(n) < noise, -y, y)


@passes
@pytest.mark.parametrize("bias", [0.0, 1.5])
@pytest.mark.parametrize(("seed", "noise"), [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.4)])
def test_the_bound_is_that_of_a_plain_search(seed, noise, bias, T):
    X, y = problem(seed, noise=noise)
    found = solve(X, y, bias, T)
    assert found.converged
    assert found.gap <= 1e-6
    check(found, X, y, bias, T)
    Z = signed(X, y, bias)
    expected = least(Z if bias else Z[:, :-1], norm_of(X, bias), T)
    assert found.upper == pytest.approx(expected, rel=1e-5)


@some
@given(float_rows(), st.sampled_from([0.0, 0.7]), st.sampled_from([1, 3, 100]))
def test_both_bounds_hold(rows, bias, T):
    X, y = rows
    X = X + 0.01
    found = solve(X, y, bias, T, tol=0.005)
    assert found.converged
    check(found, X, y, bias, T)


@some
@given(integer_rows(), st.sampled_from([0.0, 1.0]), st.integers(0, 100))
def test_no_weights_have_less_and_no_variables_more(rows, bias, seed):
    X, y = rows
    Z, R = signed(X, y, bias), norm_of(X, bias) or 1.0
    found = solve(X, y, bias, 2, tol=0.005, radius=R)
    check(found, X, y, bias, 2, R)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert F(found.weights + 0.1 * rng.normal(size=len(found.weights)), Z, R, 2) >= found.lower * (1 - 1e-9)
        a = np.maximum(found.dual + 0.1 * rng.normal(size=len(Z)), 0)
        a *= min(math.sqrt(2) / np.linalg.norm(a), R / max(np.linalg.norm(Z.T @ a), 1e-9)) if a.any() else 0
        assert a.sum() <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_sparse_rows_are_like_a_table(bias):
    X, y = problem(5, n=60, p=6)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.5, X, 0.0)
    assert solve(X, y, bias, kind=sparse).upper == pytest.approx(solve(X, y, bias).upper, rel=1e-6)
    check(solve(X, y, bias, kind=sparse), X, y, bias, 1)


def test_many_passes_over_separable_rows_end_at_the_hard_margin():
    X, y = problem(1, n=30, noise=0.0)
    margin = hard_margin(dense(X, 1.0), y, np.zeros(0), tol=1e-9)
    found = solve(X, y, 1.0, T=10**6, tol=1e-4)
    assert found.converged
    assert found.upper == pytest.approx(norm_of(X, 1.0) / margin.upper, rel=1e-4)
    check(found, X, y, 1.0, 10**6)
    at_once = solve(X, y, 1.0, T=10**6, start=margin)
    assert at_once.converged
    assert at_once.iterations == 0


@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_many_scales(seed, kind):
    """Coordinate descent alone would need thousands of passes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 13)) * np.exp(3 * rng.normal(size=13)) + rng.normal(size=13)
    y = np.sign((X - X.mean(axis=0)) @ (rng.normal(size=13) / X.std(axis=0)))
    found = solve(X, y, 1.0, 1000, kind=kind, tol=0.001)
    assert found.converged
    assert found.iterations < 500
    check(found, X, y, 1.0, 1000)


@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_newton_finds_the_soft_margin(kind, C):
    X, y = problem(9, n=80, p=4, noise=0.2)
    Z = signed(X, y, 1.5)

    def objective(w):
        slacks = np.maximum(1 - Z @ w, 0)
        return w @ w / 2 + C * slacks @ slacks, w - 2 * C * Z.T @ slacks

    expected = minimize(objective, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-9})
    w, steps = minimise(kind(X, 1.5), y, C, np.zeros(5))
    assert 1 <= steps < 20
    assert objective(w)[0] == pytest.approx(expected.fun, rel=1e-9)
    np.testing.assert_allclose(objective(w)[1], 0.0, atol=1e-9 * C * len(Z))


def test_opposites_leave_the_trivial_bound():
    X = [[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [3.0, 1.0]]
    found = solve(X, [1, -1, 1, -1], 1.0, T=7)
    assert found.upper == found.lower == pytest.approx(math.sqrt(28))
    assert not found.weights.any()
    assert found.iterations == 0


@passes
def test_a_larger_radius_is_obeyed(T):
    X, y = problem(2)
    R = 3 * norm_of(X, 1.0)
    found = solve(X, y, 1.0, T, radius=R)
    check(found, X, y, 1.0, T, R)
    assert found.upper == pytest.approx(least(signed(X, y, 1.0), R, T), rel=1e-5)


def test_a_like_problem_is_a_start():
    X, y = problem(4, n=400, p=20)
    once = solve(X, y, 1.0, 1, tol=1e-4)
    again = solve(X, y, 1.0, 1, tol=1e-4, start=once)
    assert again.iterations == 0
    assert (again.upper, again.lower) == pytest.approx((once.upper, once.lower))
    for bias, T in [(1.0, 10), (0.0, 1), (0.0, 10)]:
        warm, cold = solve(X, y, bias, T, tol=1e-4, start=once), solve(X, y, bias, T, tol=1e-4)
        assert warm.converged
        check(warm, X, y, bias, T)
        assert warm.upper == pytest.approx(cold.upper, rel=1e-4)
    warm = solve(X, y, 0.0, 1, tol=1e-4, start=once)
    assert warm.iterations < solve(X, y, 0.0, 1, tol=1e-4).iterations
    with pytest.raises(ValueError, match="the start has 400 rows, the data 399"):
        solve(X[1:], y[1:], start=once)


def test_the_deadline_ends_the_search_with_what_is_proved():
    X, y = problem(6, n=2000, p=30)
    found = solve(X, y, 1.0, 10, tol=0.0, deadline=time.monotonic() - 1.0)
    assert found.iterations == 0
    assert not found.converged
    check(found, X, y, 1.0, 10)
    begin = time.monotonic()
    found = solve(X, y, 1.0, 10, tol=-1.0, max_iter=10**9, deadline=begin + 0.2)
    assert 0.2 <= time.monotonic() - begin < 2.0
    assert found.iterations > 0
    check(found, X, y, 1.0, 10)


def test_the_budget_of_passes():
    X, y = problem(6, n=500, p=30)
    found = solve(X, y, 1.0, 10, tol=0.0, max_iter=3)
    assert (found.iterations, found.converged) == (3, False)
    assert found.lower > 0.5 * found.upper


def test_whoever_watches_sees_the_bracket_close():
    X, y = problem(7, n=300, p=10)
    seen = []
    found = solve(X, y, 1.0, 10, watch=lambda lower, upper: seen.append((lower, upper)))
    lower, upper = np.array(seen).T
    assert len(seen) > 2
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert (lower[-1], upper[-1]) == (found.lower, found.upper)
    assert len(set(seen)) == len(seen)


def test_the_answer_is_repeated_and_the_data_are_left_alone():
    X, y = problem(8, n=100, p=5)
    one, two = solve(X.copy(), y, 1.0), solve(X, y, 1.0)
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.dual, two.dual)
    assert solve(X, y, 1.0, seed=1).upper == pytest.approx(one.upper, rel=1e-6)


@pytest.mark.parametrize("power", [-1060, -300, 300, 1015])
@pytest.mark.parametrize("kind", [dense, sparse])
def test_the_unit_of_the_data_changes_nothing(kind, power):
    """Integers up to 15 times 2^-1060 are subnormal numbers, and times 2^1015 nearly the largest."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(-15, 16, (30, 3)).astype(float), rng.choice([-1.0, 1.0], 30)
    here = solve(X, y, 1.0, 10, kind=kind, tol=1e-4)
    data = kind(np.ldexp(X, power), math.ldexp(1.0, power))
    there = delta_bound(data, y, radius=float(np.ldexp(norm_of(X, 1.0), power)), passes=10, tol=1e-4)
    assert there.converged
    assert there.upper == pytest.approx(here.upper, rel=1e-4)
    assert there.exponent != 0
    w = np.ldexp(there.weights, there.exponent + power)
    assert F(w, signed(X, y, 1.0), norm_of(X, 1.0), 10) == pytest.approx(there.upper, rel=1e-3)


HOSTILE = {
    "huge": ([[1e300, 1.0], [-1e300, 2.0], [1e299, -3.0]], [1, -1, 1]),
    "tiny": ([[1e-310, 0.0], [-2e-310, 3e-310], [1e-312, 1e-310]], [1, -1, -1]),
    "both": ([[1e300, 1e-310], [1e-310, 1.0], [0.0, 1e150]], [1, -1, 1]),
    "one row": ([[1.0, 2.0]], [-1]),
    "one class": ([[1.0, 2.0], [1.5, 2.0], [3.0, 0.0]], [1, 1, 1]),
    "all zero": ([[0.0, 0.0], [0.0, 0.0]], [1, -1]),
    "a zero row": ([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.5]], [1, 1, -1]),
    "nearly cancelling": ([[1.0, 1.0], [1.0, 1.0 + 2.0**-52], [1.0, 1.0 - 2.0**-53]], [1, -1, 1]),
    "no feature": (np.zeros((3, 0)), [1, -1, 1]),
    "the largest": ([[1.7e308, 1.7e308], [1.7e308, -1.7e308]], [1, -1]),
}


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("error")
def test_hostile_rows(name, kind, bias):
    X, y = HOSTILE[name]
    found = solve(np.asarray(X), y, bias, 10, kind=kind, tol=0.005, max_iter=500)
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.dual).all()
    assert (found.dual >= 0).all()
    assert 0 < found.lower <= found.upper <= math.sqrt(10 * len(y)) * (1 + 1e-12)
    assert found.converged


@pytest.mark.parametrize(("margins", "length", "root"), [([1.0, 2.0], 0.5, 1.0), ([-1.0, 3.0, 0.1], 0.3, 2.0)])
def test_the_best_scale_is_the_best_of_many(margins, length, root):
    margins = np.array(margins)
    many = [t * length + root * np.linalg.norm(np.maximum(1 - t * margins, 0)) for t in np.linspace(0, 4, 4001)]
    assert best_scale(margins, length, root)[1] == pytest.approx(min(many), rel=1e-6)


def test_common_data_are_not_copied():
    data = dense([[1.0, 2.0]], 1.0)
    assert tame(data) == (data, 0)
