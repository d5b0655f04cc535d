"""Winnow's margins: the value of the whole program from a few rows and columns, and brackets that always hold."""

import time
import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.programs import l1_margin as l1_search
from linsep.solvers.programs.l1_margin import l1_margin
from linsep.solvers.programs.linear_program import l1_game
from tests.problems import integer_rows

forms = pytest.mark.parametrize("signed", [False, True], ids=["simplex", "ball"])
biases = pytest.mark.parametrize("bias", [0.0, 0.5], ids=["through the origin", "with a bias"])


def sparse(X, bias=0.0):
    X = csr_array(X)
    return Csr(X.data.astype(float), X.indices.astype(np.int32), X.indptr.astype(np.int32), X.shape[1], bias)


KINDS = {"dense": Dense, "csr": sparse}
kinds = pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))


@pytest.fixture(params=["whole", "some rows", "some columns"])
def piecewise(request, monkeypatch):
    """Little data, taken whole or as large data are."""
    pieces(monkeypatch, request.param)
    return request.param


def pieces(monkeypatch, kind):
    if kind != "whole":
        monkeypatch.setattr(l1_search, "WHOLE", 0)
        monkeypatch.setattr(l1_search, "FIRST", 4)
        monkeypatch.setattr(l1_search, "MORE", 2)
        monkeypatch.setattr(l1_search, "ENTRIES", 0 if kind == "some columns" else 1 << 20)


def payoffs(X, y, bias, signed):
    """The game's table: rows against all features that have weights >= 0."""
    Z = np.hstack([X, np.full((len(X), 1), bias)]) * y[:, None] if bias else X * y[:, None]
    mirrored = Z if signed else Z[:, X.shape[1] :]
    return np.hstack([Z, -mirrored])


def value(table):
    """The least s with tableᵀ lambda <= s: the game from the rows' side."""
    rows, columns = table.shape
    found = linprog(
        np.append(np.zeros(rows), 1.0),
        A_ub=np.column_stack([table.T, -np.ones(columns)]), b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None], b_eq=[1.0], bounds=[(0, None)] * rows + [(None, None)],
    )  # fmt: skip
    return found.fun


def check(found, X, y, bias, signed):
    """Weights and lambda are allowed, and prove what is said."""
    size = max(np.abs(X).max(initial=0.0), bias)
    w = found.weights
    table = payoffs(X, y, bias, signed)
    close = {"rel": 1e-12, "abs": 1e-13 * size}
    assert np.all(found.dual >= 0)
    assert found.dual.sum() == pytest.approx(1, rel=1e-12)
    assert found.upper == pytest.approx((table.T @ found.dual).max(), **close)
    assert found.lower == pytest.approx((y * (X @ w[:-1] + bias * w[-1])).min(), **close)
    assert found.lower <= found.upper + 1e-12 * size
    assert signed or np.all(w[:-1] >= 0)
    if signed or bias:
        assert np.abs(w).sum() <= 1 + 1e-12
        assert found.lower >= 0
    else:
        assert np.abs(w).sum() == pytest.approx(1, rel=1e-12)
    assert bias or w[-1] == 0


def random_rows(seed, rows=60, features=9):
    """Rows, half of them separable by weights >= 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.7)
    y = rng.choice([-1.0, 1.0], size=rows)
    if seed % 2:
        y = np.where(X @ rng.random(features) + 0.1 > 0, 1.0, -1.0)
    return X, y


@pytest.mark.slow
@kinds
@forms
@biases
@pytest.mark.parametrize("seed", range(2))
def test_the_value_is_that_of_the_whole_program(piecewise, kind, signed, bias, seed):
    X, y = random_rows(seed)
    found = l1_margin(kind(X, bias), y, signed=signed, enough=0.0, tol=1e-6)
    check(found, X, y, bias, signed)
    exact = value(payoffs(X, y, bias, signed))
    assert found.converged
    assert found.lower <= exact + 1e-9
    if exact > 1e-9 or piecewise == "whole":
        assert found.upper == pytest.approx(exact, rel=1e-6, abs=1e-9)
        assert found.lower == pytest.approx(exact, rel=1e-6, abs=1e-9)
    elif exact < -1e-9:
        assert exact - 1e-9 <= found.upper
        assert found.upper < 0 or (found.upper == 0 and np.count_nonzero(found.dual) == 1)
    else:
        assert abs(found.upper) <= 1e-12


@forms
@biases
def test_little_data_are_solved_as_one_program(signed, bias):
    X, y = random_rows(5)
    found = l1_margin(Dense(X, bias), y, signed=signed, enough=1e9)
    whole = l1_game(Dense(X, bias), y, np.zeros(0), signed=signed)
    assert found.lower == pytest.approx(whole.lower, rel=1e-9, abs=1e-12)
    assert found.upper == pytest.approx(whole.upper, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@given(problem=integer_rows(max_rows=8, max_features=3), signed=st.booleans(), bias=st.sampled_from([0.0, 1.0]))
def test_integer_rows(problem, signed, bias):
    X, y = problem
    exact = value(payoffs(X, y, bias, signed))
    for kind in ("whole", "some rows", "some columns"):
        with pytest.MonkeyPatch.context() as patch:
            pieces(patch, kind)
            found = l1_margin(Dense(X, bias), y, signed=signed, enough=0.0)
        check(found, X, y, bias, signed)
        assert found.converged
        assert found.lower <= exact + 1e-9
        assert found.upper >= exact - 1e-9
        if exact > 1e-9:
            assert found.upper - found.lower <= 0.003 * found.upper
        else:
            assert found.upper <= 1e-12


@pytest.mark.slow
@forms
@biases
@pytest.mark.parametrize("seed", range(3))
def test_no_weights_beat_the_upper_bound_and_no_lambda_the_lower(piecewise, signed, bias, seed):
    X, y = random_rows(seed)
    found = l1_margin(Dense(X, bias), y, signed=signed, enough=0.0)
    table = payoffs(X, y, bias, signed)
    rng = np.random.default_rng(seed)
    for _ in range(200):
        u, dual = (rng.dirichlet(np.full(n, 0.2)) for n in table.shape[::-1])
        assert (table @ u).min() <= found.upper + 1e-12
        assert (table.T @ dual).max() >= found.lower - 1e-12


@forms
@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_majority_of_k_features_has_margin_1_over_k(piecewise, signed, k):
    X = np.array(list(product([-1.0, 1.0], repeat=7)))
    y = np.sign(X[:, :k].sum(axis=1))
    found = l1_margin(Dense(X, 0.0), y, signed=signed, enough=0.0, tol=1e-9)
    assert (found.lower, found.upper) == pytest.approx((1 / k, 1 / k), rel=1e-9)
    assert found.weights == pytest.approx([1 / k] * k + [0.0] * (8 - k), abs=1e-9)


@forms
def test_the_majority_among_many_features_and_rows(signed):
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(6000, 60))
    y = np.sign(X[:, :5].sum(axis=1))
    found = l1_margin(Dense(X, 0.0), y, signed=signed, enough=0.0)
    check(found, X, y, 0.0, signed)
    assert found.lower <= 0.2 <= found.upper * (1 + 1e-12)
    assert found.upper - found.lower <= 0.003 * found.upper
    assert np.count_nonzero(found.dual) <= 2 * 60 + 2
    assert np.count_nonzero(found.weights) <= 60


@pytest.mark.slow
@forms
def test_wide_rows_are_played_on_some_columns(signed, monkeypatch):
    monkeypatch.setattr(l1_search, "ENTRIES", 1 << 14)
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(500, 500))
    y = np.sign(X[:, :3].sum(axis=1))
    seen = []
    solve = l1_search.corners
    monkeypatch.setattr(l1_search, "corners", lambda Z, *rest: seen.append(Z.shape[1]) or solve(Z, *rest))
    found = l1_margin(Dense(X, 0.0), y, signed=signed, enough=0.0, tol=0.01)
    check(found, X, y, 0.0, signed)
    assert found.converged
    assert found.upper == pytest.approx(1 / 3, rel=0.011)
    assert max(seen) < 500


@forms
def test_the_search_ends_where_the_value_is_of_no_use(signed):
    X, y = random_rows(1, rows=3000, features=60)
    full = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0)
    assert full.lower > 0
    found = l1_margin(Dense(X, 1.0), y, signed=signed, enough=2 * full.upper)
    check(found, X, y, 1.0, signed)
    assert full.upper < found.upper <= 2 * full.upper
    assert found.converged
    assert found.programs < full.programs


@forms
def test_the_deadline_leaves_what_is_proved_so_far(piecewise, signed):
    X, y = random_rows(1)
    found = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0, deadline=time.monotonic() - 1.0)
    check(found, X, y, 1.0, signed)
    assert found.programs == 0
    assert not found.converged
    assert found.lower < found.upper < np.inf


@forms
def test_a_program_that_runs_out_of_time_leaves_the_bracket(piecewise, signed, monkeypatch):
    monkeypatch.setattr(l1_search, "corners", lambda *_: None)
    X, y = random_rows(1)
    found = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0)
    check(found, X, y, 1.0, signed)
    assert found.programs == 1
    assert not found.converged


def test_where_one_method_fails_the_other_is_asked(monkeypatch):
    asked = []

    def failing(**program):
        asked.append(program["method"])
        found = linprog(**program)
        return found if len(asked) > 1 else OptimizeResult(x=None)

    monkeypatch.setattr(l1_search.optimize, "linprog", failing)
    X, y = random_rows(1)
    found = l1_margin(Dense(X, 1.0), y, signed=True, enough=0.0)
    check(found, X, y, 1.0, True)
    assert found.converged
    assert asked == ["highs-ipm", "highs-ds"]


@forms
@biases
def test_what_is_known_is_used_at_once(piecewise, signed, bias):
    X, y = random_rows(1)
    full = l1_margin(Dense(X, bias), y, signed=signed, enough=0.0, tol=1e-6)
    again = l1_margin(
        Dense(X, bias), y, signed=signed, enough=0.0, starts=[(1e300 * full.weights, None), (None, 7 * full.dual)]
    )
    assert again.programs == 0
    assert (again.lower, again.upper) == pytest.approx((full.lower, full.upper), rel=1e-12)


@pytest.mark.slow
@forms
@pytest.mark.parametrize("size", [0.0, -1.0, 1e300, np.nan])
def test_any_start_will_do(piecewise, signed, size):
    X, y = random_rows(1)
    full = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0)
    start = (np.full(X.shape[1] + 1, size), np.full(len(X), size))
    found = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0, starts=[start])
    check(found, X, y, 1.0, signed)
    assert found.upper == pytest.approx(full.upper, rel=0.007)


@forms
def test_the_bracket_is_watched_as_it_closes(piecewise, signed):
    X, y = random_rows(1)
    seen = []
    found = l1_margin(Dense(X, 1.0), y, signed=signed, enough=0.0, watch=lambda *bracket: seen.append(bracket))
    assert len(seen) > 2
    assert seen[-1] == (found.lower, found.upper)
    assert len(set(seen)) == len(seen)
    for (low, high), (lower, upper) in pairwise(seen):
        assert low <= lower
        assert upper <= high


def test_one_row_of_the_second_class_forbids_weights_above_0_exactly():
    X = np.random.default_rng(0).random((4000, 50)) * (np.arange(50) > 0)
    y = np.where(np.arange(4000) % 3 == 0, 1.0, -1.0)
    found = l1_margin(sparse(X), y, signed=False, enough=0.1)
    assert found.upper == 0.0
    assert np.count_nonzero(found.dual) == 1
    assert found.converged


def test_below_0_the_bound_is_below_0_where_it_can_be(piecewise):
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = np.ones(300)
    found = l1_margin(Dense(X, 0.0), y, signed=False, enough=0.1)
    check(found, X, y, 0.0, False)
    assert found.converged
    assert found.upper < -1e-6


@kinds
@forms
@biases
def test_rows_that_contradict_each_other(piecewise, kind, signed, bias):
    X = np.array([[1.0, -2.0], [3.0, 0.5], [1.0, -2.0]])
    found = l1_margin(kind(X, bias), np.array([1.0, 1.0, -1.0]), signed=signed, enough=0.0)
    assert found.converged
    assert found.upper <= 1e-15


HOSTILE = {
    "huge": [[1e300, -1e300], [1e300, 1e300], [-1e308, 1.0]],
    "tiny": [[1e-310, 0.0], [5e-324, 1e-310], [-1e-310, 1e-310]],
    "huge and tiny": [[1e300, 1e-310], [1e-310, 1e-310], [1.0, -1e300]],
    "zero row": [[1.0, 2.0], [0.0, 0.0], [1.0, 1.0]],
    "zero columns": [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 2.0, 0.0]],
    "nothing but zeros": [[0.0, 0.0]] * 3,
    "one row": [[1.0, -3.0]],
    "no features": [[], [], []],
    "alike": [[1.0, 2.0]] * 3,
}


@pytest.mark.slow
@forms
@pytest.mark.parametrize("bias", [0.0, 1e300])
@pytest.mark.parametrize("labels", [[1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]], ids=["both classes", "one class"])
@pytest.mark.parametrize(("kind", "taken"), [(Dense, "whole"), (sparse, "whole"), (sparse, "some columns")])
def test_hostile_rows(labels, bias, signed, kind, taken, monkeypatch):
    pieces(monkeypatch, taken)
    for case, rows in HOSTILE.items():
        X = np.array(rows)
        y = np.array(labels[: len(X)])
        found = l1_margin(kind(X, bias), y, signed=signed, enough=0.0)
        table = payoffs(X, y, bias, signed)
        size = max(np.abs(table).max(initial=0.0), 5e-324)
        assert np.isfinite([found.lower, found.upper, *found.weights, *found.dual]).all(), case
        assert found.lower <= found.upper + 1e-12 * size, case
        if table.shape[1]:
            assert found.upper / size == pytest.approx(((table.T / size) @ found.dual).max(), abs=1e-13), case
            u = np.append(found.weights[: X.shape[1]], found.weights[-1:] if bias else [])
            assert found.lower / size == pytest.approx((table[:, : len(u)] / size @ u).min(), abs=1e-13), case
            exact = value(table / size)
            assert found.lower / size <= exact + 1e-9, case
            assert found.upper / size >= exact - 1e-9, case


@forms
def test_repeated_and_unsorted_columns_add_up(piecewise, signed):
    X, y = random_rows(1)
    half = csr_array(X)
    values, indices = (np.repeat(part, 2)[::-1] for part in (half.data / 2, half.indices))
    ends = 2 * (half.nnz - half.indptr)[::-1]
    doubled = Csr(values.copy(), indices.astype(np.int32), ends.astype(np.int32), X.shape[1], 1.0)
    whole = l1_margin(Dense(X[::-1].copy(), 1.0), y[::-1].copy(), signed=signed, enough=0.0, tol=1e-9)
    found = l1_margin(doubled, y[::-1].copy(), signed=signed, enough=0.0, tol=1e-9)
    assert found.upper == pytest.approx(whole.upper, rel=1e-8)
    check(found, X[::-1], y[::-1], 1.0, signed)


def test_single_precision():
    X, y = random_rows(1)
    X = X.astype(np.float32)
    found = l1_margin(Dense(X, 1.0), y, signed=True, enough=0.0)
    check(found, X.astype(float), y, 1.0, True)


@pytest.mark.slow
def test_the_data_are_not_copied():
    rng = np.random.default_rng(0)
    X, y = (
        sparse(np.where(rng.random((20_000, 60)) < 0.5, rng.random((20_000, 60)), 0.0), 1.0),
        rng.choice([-1.0, 1.0], 20_000),
    )
    l1_margin(X, y, signed=True, enough=0.0)
    tracemalloc.start()
    found = l1_margin(X, y, signed=True, enough=0.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.upper <= 1e-12
    assert peak < X.values.nbytes
