"""Least squares: every way against numpy and scipy, on data that are easy and on data that are not."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers import least_squares as sums
from linsep.solvers import least_squares as ways
from linsep.solvers.least_squares import (
    OneHot,
    absorb,
    choose_solver,
    least_squares,
    refuse_too_wide,
    solve_triangle,
    start_triangle,
    with_targets,
)

some = settings(max_examples=12)
FINE = {"tol": 1e-13, "max_iter": 2000}


def dense(X, bias=0.0):
    return Dense(np.ascontiguousarray(X), bias)


def sparse(X, bias=0.0):
    S = csr_array(X)
    return Csr(S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32), X.shape[1], bias)


WAYS = {
    "dense": (dense, "exact"),
    "csr": (sparse, "exact"),
    "dense-iterative": (dense, "iterative"),
    "csr-iterative": (sparse, "iterative"),
}
each_way = pytest.mark.parametrize("way", WAYS)
each_bias = pytest.mark.parametrize("bias", [0.0, 1.0, -8.0])


def found(way, X, y, c=None, bias=0.0):
    kind, solver = WAYS[way]
    return least_squares(kind(X, bias), y, c, solver=solver, **FINE)


def expected(X, y, bias):
    """Coefficients and intercepts by numpy, from centred rows; what rounding leaves of a constant column is 0."""
    means = (X.mean(axis=0), y.mean(axis=0)) if bias else (np.zeros(X.shape[1]), np.zeros(y.shape[1]))
    centred = X - means[0]
    centred[np.abs(centred) < 1e-12 * np.abs(X).max(initial=0)] = 0
    w = np.linalg.lstsq(centred, y - means[1], rcond=1e-12)[0]
    return np.vstack([w, means[1] - means[0] @ w])


def as_line(answer, bias):
    return np.vstack([answer.weights[:-1], answer.weights[-1:] * bias])


@st.composite
def problems(draw):
    """Small integers with repeated, zero and dependent columns, wide or tall, and two targets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    X = rng.integers(-3, 4, (n, p)).astype(float)
    if draw(st.booleans()):
        X[:, 0] = X[:, 1] - 2 * X[:, -1]
    if draw(st.booleans()):
        X[:, -1] = draw(st.sampled_from([0.0, 0.1, 7.0]))
    return X, rng.normal(size=(n, 2))


@each_way
@each_bias
@some
@given(problem=problems())
def test_the_weights_are_the_shortest_of_the_best(way, bias, problem):
    X, y = problem
    answer = found(way, X, y, bias=bias)
    line = as_line(answer, bias)
    size = 1 + np.abs(line).max()
    np.testing.assert_allclose(line, expected(X, y, bias), rtol=0, atol=1e-8 * size)
    off = X @ line[:-1] + line[-1] - y
    np.testing.assert_allclose(answer.residuals, np.linalg.norm(off, axis=0), atol=1e-10)
    assert answer.converged
    assert answer.optimality < 1e-12
    if answer.rank is not None:
        assert answer.rank == np.linalg.matrix_rank(X - X.mean(axis=0) * (bias != 0), tol=1e-9)


@each_way
@each_bias
def test_the_gradient_is_zero_and_nothing_near_is_better(way, bias):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=(60, 1))
    line = as_line(found(way, X, y, bias=bias), bias)[:, 0]
    rows = np.hstack([X, np.full((60, 1), float(bias != 0))])
    np.testing.assert_allclose(rows.T @ (rows @ line - y[:, 0]), 0, atol=1e-10)
    least = np.sum((rows @ line - y[:, 0]) ** 2)
    for step in rng.normal(0, 1e-3, (20, 6)):
        assert np.sum((rows @ (line + step) - y[:, 0]) ** 2) >= least


@each_way
@some
@given(problem=problems(), seed=st.integers(0, 1000))
def test_a_weight_is_repetition_and_0_is_absence(way, problem, seed):
    X, y = problem
    c = np.random.default_rng(seed).integers(0, 4, len(X))
    c[0] = 2
    weighted, repeated = found(way, X, y, c.astype(float), 1.0), found(way, X.repeat(c, 0), y.repeat(c, 0), bias=1.0)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8 * (1 + np.abs(repeated.weights).max()))
    np.testing.assert_allclose(weighted.residuals, repeated.residuals, atol=1e-10)


@pytest.mark.parametrize("kind", [dense, sparse])
@each_bias
@some
@given(seed=st.integers(0, 2**32), size=st.sampled_from([1e-200, 1.0, 1e200]))
def test_one_feature_has_a_formula(kind, bias, seed, size):
    rng = np.random.default_rng(seed)
    x, y, c = rng.normal(size=8) + 3, rng.normal(size=(8, 2)), rng.integers(0, 3, 8).astype(float)
    c[:2] = 1
    answer = least_squares(kind(x[:, None] * size, bias), y, c)
    assert answer.solver == "formula"
    line = as_line(answer, bias)
    if bias == 0:
        plain = (c * x) @ y / ((c * x) @ x)
    else:
        X = x - (c @ x) / c.sum()
        plain = (c * X) @ y / ((c * X) @ X)
    np.testing.assert_allclose(line[0] * size, plain, rtol=1e-11)
    np.testing.assert_allclose(line[1], (bias != 0) * c @ (y - np.outer(x, plain)) / c.sum(), atol=1e-11)
    exact = least_squares(kind(x[:, None] * size, bias), y, c, solver="exact")
    np.testing.assert_allclose(exact.weights, answer.weights, rtol=1e-9)
    np.testing.assert_allclose(exact.residuals, answer.residuals, rtol=1e-12, atol=1e-13)
    assert answer.optimality < 1e-14


@pytest.mark.parametrize("solver", ["formula", "exact", "iterative"])
def test_a_column_that_never_changes_has_no_weight_beside_an_intercept(solver):
    y = np.random.default_rng(0).normal(size=(1000, 1))
    answer = least_squares(dense(np.full((1000, 1), 0.1), 1.0), y, solver=solver)
    np.testing.assert_allclose(answer.weights, [[0.0], [y.mean()]], atol=1e-12)
    assert answer.rank in (0, None)
    nothing = least_squares(dense(np.zeros((1000, 1))), y, solver=solver)
    assert not nothing.weights.any()
    assert nothing.residuals[0] == pytest.approx(np.linalg.norm(y))


@each_way
def test_targets_that_never_change_are_the_intercept(way):
    rng = np.random.default_rng(0)
    answer = found(way, rng.normal(size=(50, 3)), np.full((50, 1), 1e9 + 0.1), bias=1.0)
    np.testing.assert_allclose(answer.weights, [[0], [0], [0], [1e9 + 0.1]], atol=1e-5)
    assert answer.optimality < 1e-8


@pytest.mark.parametrize("kind", [dense, sparse])
@pytest.mark.parametrize("scales", [(1e-150, 1e150, 1.0), (1e-8, 1e8, 1e3), (1e200, 1e200, 1e200)])
def test_scales_of_columns_change_nothing_but_the_scales(kind, scales):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    plain = least_squares(kind(X, 1.0), y, solver="exact")
    answer = least_squares(kind(X * scales, 1.0), y, solver="exact")
    np.testing.assert_allclose(answer.weights[:-1] * np.array(scales)[:, None], plain.weights[:-1], rtol=1e-12)
    assert answer.rank == 3
    assert answer.condition == pytest.approx(plain.condition, rel=0.5)


def test_huge_numbers_do_not_stop_the_iterations():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 1))
    plain, huge = (least_squares(dense(X * size), y, solver="iterative", **FINE) for size in (1.0, 1e200))
    np.testing.assert_allclose(huge.weights * 1e200, plain.weights, rtol=1e-9)


def test_reflections_keep_the_digits_that_sums_of_squares_lose():
    """Läuchli's columns, dependent but for 1e-9: their squares are lost beside 1 in XᵀX, which is singular."""
    e = 1e-9
    X = np.array([[1.0, 1.0], [e, 0.0], [0.0, e]])
    assert np.linalg.matrix_rank(X.T @ X) == 1
    answer = least_squares(dense(X), X @ [[1.0], [2.0]], solver="exact")
    np.testing.assert_allclose(answer.weights[:-1], [[1.0], [2.0]], atol=1e-6)
    assert answer.rank == 2
    assert answer.condition > 1e8


def test_rows_may_store_a_column_twice_and_in_any_order():
    data = Csr(
        np.array([1.0, 2.0, 4.0, 1.0, 1.0]), np.array([1, 0, 1, 2, 2], np.int32), np.array([0, 3, 5, 5], np.int32), 3,
        1.0,
    )  # fmt: skip
    X, y = np.array([[2.0, 5.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]), np.array([[1.0], [2.0], [5.0]])
    for solver in ("exact", "iterative"):
        answer = least_squares(data, y, solver=solver, **FINE)
        np.testing.assert_allclose(answer.weights, expected(X, y, 1.0), atol=1e-12)


def test_the_iterations_are_those_of_scipy():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 30)) * (rng.random((80, 30)) < 0.3), rng.normal(size=(80, 3))
    for steps in (1, 2, 7):
        answer = least_squares(sparse(X), y, solver="iterative", tol=1e-300, max_iter=steps)
        assert answer.iterations == steps
        assert not answer.converged
        for k in range(3):
            plain = lsmr(X, y[:, k], atol=0, btol=0, conlim=0, maxiter=steps)
            np.testing.assert_allclose(answer.weights[:-1, k], plain[0], rtol=1e-9, atol=1e-12)
        gradient = np.linalg.norm(X.T @ (X @ answer.weights[:-1] - y), axis=0)
        below = (gradient / np.linalg.norm(X) / np.linalg.norm(y, axis=0)).max()
        assert below <= answer.optimality <= below * np.sqrt(30)


def test_targets_leave_the_iterations_one_by_one(monkeypatch):
    monkeypatch.setattr(ways, "TOGETHER", 3)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 10)) * np.logspace(0, -3, 10)
    y = np.column_stack([np.zeros(80), np.ones(80), X[:, 0], *rng.normal(size=(4, 80))])
    answer = least_squares(dense(X, 1.0), y, solver="iterative", **FINE)
    np.testing.assert_allclose(answer.weights, expected(X, y, 1.0), atol=1e-7)
    assert answer.converged
    loose = least_squares(dense(X, 1.0), y, solver="iterative", tol=1e-3)
    assert loose.iterations < answer.iterations
    assert 1e-9 < loose.optimality <= 1e-3


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_change_no_bit(jobs):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3000, 40)), rng.normal(size=(3000, 2))
    one, many = (least_squares(dense(X, 1.0), y, solver="iterative", jobs=j) for j in (1, jobs))
    assert np.array_equal(one.weights, many.weights)


@pytest.mark.parametrize(("n", "p", "cuts"), [(90, 4, [1, 2, 3, 50, 89]), (20, 30, [5, 19]), (9, 4, [4, 5, 6, 7, 8])])
@pytest.mark.parametrize("kind", [dense, sparse])
def test_pieces_are_the_whole(n, p, cuts, kind, monkeypatch):
    rng = np.random.default_rng(3)
    X, y, c = rng.normal(size=(n, p)), rng.normal(size=(n, 2)), rng.random(n)
    whole = solve_triangle(absorb(start_triangle(p, 2, 2.0), kind(X, 2.0), y, c))
    pieces = start_triangle(p, 2, 2.0)
    for part in np.split(np.arange(n), cuts):
        before = pieces.table.copy()
        after = absorb(pieces, kind(X[part], 2.0), y[part], c[part])
        assert np.array_equal(pieces.table, before)
        pieces = after
    assert pieces.rows == n
    answer = solve_triangle(pieces)
    np.testing.assert_allclose(answer.weights, whole.weights, atol=1e-11)
    np.testing.assert_allclose(answer.residuals, whole.residuals, atol=1e-11)
    rows = np.hstack([np.ones((n, 1)), X, y]) * np.sqrt(c)[:, None]
    np.testing.assert_allclose(pieces.table.T @ pieces.table, rows.T @ rows, atol=1e-11)
    monkeypatch.setattr(sums, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(sums, "TALL", 2)
    blocks = solve_triangle(absorb(start_triangle(p, 2, 2.0), kind(X, 2.0), y, c))
    np.testing.assert_allclose(blocks.weights, whole.weights, atol=1e-11)


@given(seed=st.integers(0, 2**32), n=st.integers(1, 12))
def test_targets_that_come_late_were_zero_before(seed, n):
    rng = np.random.default_rng(seed)
    X, y, more = rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.normal(size=(4, 5))
    late = with_targets(absorb(start_triangle(3, 2, 1.0), dense(X, 1.0), y), np.array([0, 1, 2]))
    late = solve_triangle(absorb(late, dense(X[:4], 1.0), more[: len(X[:4])]))
    early = np.insert(y, [0, 1, 2], 0.0, axis=1)
    whole = np.vstack([X, X[:4]]), np.vstack([early, more[: len(X[:4])]])
    np.testing.assert_allclose(late.weights, expected(*whole, 1.0), atol=1e-8)


def test_targets_may_be_mixed_after_the_sums():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, 30)
    for n in (2, 5, 30):
        X = rng.normal(size=(n, 3))
        triangle = absorb(start_triangle(3, 2, 1.0), dense(X, 1.0), OneHot(codes[:n], 2))
        mixed, signs = solve_triangle(triangle, np.array([[-1.0], [1.0]])), 2.0 * codes[:n, None] - 1
        direct = least_squares(dense(X, 1.0), signs, solver="exact")
        np.testing.assert_allclose(mixed.weights, direct.weights, atol=1e-12)
        np.testing.assert_allclose(mixed.residuals, direct.residuals, atol=1e-12)


def test_labels_are_made_into_targets_a_few_at_a_time():
    codes = np.array([2, 0, 1, 2])
    whole = np.eye(3)[codes]
    targets = OneHot(codes, 3)
    assert targets.shape == (4, 3)
    assert np.array_equal(targets[1:3, :], whole[1:3])
    assert np.array_equal(targets[:, 1:], whole[:, 1:])


def test_single_precision_is_read_as_it_is():
    X = np.random.default_rng(5).normal(size=(50, 4)).astype(np.float32)
    y = np.random.default_rng(6).normal(size=(50, 1))
    for kind in (dense, sparse):
        answer = least_squares(kind(X, 1.0), y, solver="exact")
        np.testing.assert_allclose(answer.weights, expected(X.astype(float), y, 1.0), atol=1e-14)


def test_the_solver_suits_the_data():
    wide, tall = np.broadcast_to(0.0, (3000, 3000)), np.broadcast_to(0.0, (10**6, 300))
    assert choose_solver(Dense(tall[:, :1], 0.0), 1) == "formula"
    assert choose_solver(Dense(tall, 0.0), 1) == "exact"
    assert choose_solver(Dense(wide, 0.0), 1) == "iterative"
    assert choose_solver(Dense(wide[:10], 0.0), 1) == "exact"
    row = (np.empty(0), np.empty(0, np.int32))
    assert choose_solver(Csr(*row, np.zeros(10**6 + 1, np.int32), 300, 0.0), 1) == "iterative"
    assert choose_solver(Csr(*row, np.zeros(10**4 + 1, np.int32), 300, 0.0), 1) == "exact"


def test_too_wide_is_refused_with_the_memory_it_would_take():
    with pytest.raises(ValueError, match=r"20,003 columns .* 3\.2 GB, more than the 0\.8 GB .* solver='iterative'"):
        refuse_too_wide(None, 20_003)
    refuse_too_wide(None, 10_000)
    refuse_too_wide(100, 20_003)
    with pytest.raises(ValueError, match="one feature, and X has 2"):
        least_squares(dense(np.ones((2, 2))), np.ones((2, 1)), solver="formula")
