"""Linear programs: verdicts as exact arithmetic has them, and values that both sides agree on."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.programs import linear_program
from linsep.solvers.programs.linear_program import l1_game, least_error, separate
from linsep.solvers.programs.program_rows import Budget, mistakes, separates
from tests.problems import integer_rows
from tests.solvers.gordan import separable

NONE = np.zeros(0)
some = settings(max_examples=30)
problems = integer_rows(max_rows=8, max_features=3)
biases = st.sampled_from([0.0, 1.0])


def sparse(X, bias=0.0):
    X = csr_array(X)
    return Csr(X.data.astype(float), X.indices.astype(np.int32), X.indptr.astype(np.int32), X.shape[1], bias)


KINDS = {"dense": Dense, "csr": sparse}
kinds = pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))


def signed(X, y, bias):
    return np.hstack([X, np.full((len(X), 1), bias)]) * y[:, None]


def exact_scores(Z, w):
    return [sum(Fraction(z) * Fraction(v) for z, v in zip(row, w, strict=True)) for row in Z.tolist()]


def check(Z, found, expected):
    """The verdict, and that what is returned proves it."""
    assert found.separable is expected
    assert found.converged
    assert np.all(found.dual >= 0)
    assert found.dual.sum() == pytest.approx(1, rel=1e-14)
    assert found.upper == pytest.approx(np.abs(Z.T @ found.dual).sum(), rel=1e-12, abs=1e-13 * np.abs(Z).max())
    if expected:
        assert min(exact_scores(Z, found.weights.tolist())) > 0
        assert found.lower == pytest.approx((Z @ found.weights).min(), rel=1e-12)
        assert np.abs(found.weights).max() <= 1
    else:
        support = Z[found.dual > 0]
        assert np.all(np.abs(Z.T @ found.dual) <= 1e-13 * np.abs(Z).T @ found.dual)
        assert (
            len(support)
            <= np.linalg.matrix_rank(support / np.where(support.any(axis=0), np.abs(support).max(axis=0), 1)) + 1
        )
        assert found.lower == 0


@pytest.mark.slow
@kinds
@some
@given(problem=problems, bias=biases)
def test_the_verdict_is_exact_on_integers(kind, problem, bias):
    X, y = problem
    Z = signed(X, y, bias)
    found = separate(kind(X, bias), y.astype(float), NONE)
    check(Z, found, separable(Z))
    assert found.upper - found.lower <= 1e-9


@some
@given(problem=problems, data=st.data())
def test_scaling_rows_and_columns_changes_no_verdict(problem, data):
    X, y = problem
    n, p = X.shape
    powers = st.integers(-25, 25)
    rows, columns = (data.draw(st.lists(powers, min_size=k, max_size=k)) for k in (n, p))
    scaled = np.ldexp(X, np.add.outer(rows, columns) + data.draw(st.sampled_from([-900, -50, 0, 50, 900])))
    assert separate(Dense(scaled, 0.0), y.astype(float), NONE).separable is separable(signed(X, y, 0.0))


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0, 1e8, 1e15])
@pytest.mark.parametrize("flips", [0, 3])
def test_scales_beside_a_bias(size, flips):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.sign(X @ [1.0, -2.0, 0.5, 1.0] + 0.3)
    y[:flips] *= -1
    check(signed(X * size, y, 1.0), separate(Dense(X * size, 1.0), y, NONE), not flips)


@pytest.mark.parametrize("flips", [0, 3])
def test_columns_far_from_0_and_nearly_alike(flips):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5)) + 1e6
    y = np.sign((X - 1e6) @ [1.0, -2.0, 0.5, 1.0, 1.0])
    y[:flips] *= -1
    found = separate(Dense(X, 1.0), y, NONE)
    assert found.separable is (flips == 0)
    assert (found.upper < 1e-6) == (flips > 0)


@kinds
def test_a_row_of_zeros_is_the_witness(kind):
    X, y = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    found = separate(kind(X, 0.0), y, NONE)
    assert (found.separable, found.dual.tolist(), found.upper) == (False, [0, 1, 0], 0)
    assert separate(kind(X, 1.0), y, NONE).separable
    assert separate(kind(X, 0.0), y, np.array([1.0, 0.0, 1.0])).separable


def test_contradictory_rows_are_the_witness():
    X = np.array([[1.0, 2.0], [5.0, 1.0], [1.0, 2.0], [5.0, 1.0]])
    found = separate(Dense(X, 1.0), np.array([1.0, 1.0, -1.0, 1.0]), NONE)
    assert (found.separable, found.dual.tolist()) == (False, [0.5, 0, 0.5, 0])


def test_the_value_is_that_of_the_stated_program():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 6))
    y = np.sign(X @ rng.normal(size=6) + 0.2)
    Z = signed(X, y, 2.0)
    eye, ones = np.eye(7), np.ones((1, 40))
    dual = linprog(
        np.r_[np.zeros(40), np.ones(14)], A_eq=np.block([[Z.T, eye, -eye], [ones, np.zeros((1, 14))]]),
        b_eq=np.eye(8)[7],
    )  # fmt: skip
    found = separate(Dense(X, 2.0), y, NONE)
    assert found.lower == pytest.approx(dual.fun, rel=1e-9)
    assert found.upper == pytest.approx(dual.fun, rel=1e-9)


def test_sparse_rows_with_repeated_unsorted_columns_and_stored_zeros():
    parts = np.array([1.0, 2.0, 1.0, 0.0, 4.0]), np.array([1, 0, 1, 1, 0]), np.array([0, 3, 4, 5])
    data = Csr(parts[0], parts[1].astype(np.int32), parts[2].astype(np.int32), 2, 0.0)
    y = np.array([1.0, 1.0, -1.0])
    found = separate(data, y, NONE)
    assert (found.separable, found.dual.tolist()) == (False, [0, 1, 0])
    kept = np.array([1.0, 0.0, 1.0])
    expected = separate(Dense(np.array([[2.0, 2.0], [4.0, 0.0]]), 0.0), y[[0, 2]], NONE)
    assert np.array_equal(separate(data, y, kept).weights, expected.weights)


def test_float32_tables_are_read_as_they_are():
    X = np.array([[0.1, 0.2], [0.3, 0.1]], np.float32)
    y = np.array([1.0, -1.0])
    assert np.array_equal(
        separate(Dense(X, 1.0), y, NONE).weights, separate(Dense(X.astype(float), 1.0), y, NONE).weights
    )


@pytest.mark.parametrize(("last", "expected"), [(2.0**-60, True), (-(2.0**-60), False), (0.0, False)])
def test_scores_that_rounding_hides_are_decided(last, expected):
    Z, w = csr_array([[1.0, last, 1.0], [1.0, 1.0, -1.0]]), np.array([1.0, 1.0, -1.0])
    assert (Z @ w)[0] == 0
    assert separates(Z, w) is expected
    assert mistakes(Z, w).tolist() == ([] if expected else [0])
    assert mistakes(csr_array([[-1.0, 0.0, 0.0], [1.0, last, 1.0]]), w).tolist() == ([0] if expected else [0, 1])


@pytest.mark.parametrize("budget", [Budget(max_iter=1), Budget(time_limit=1e-9)])
def test_a_budget_ends_with_what_holds(budget):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 20))
    y = np.sign(X @ rng.normal(size=20) + 3 * rng.normal(size=300))
    data, value = Dense(X, 1.0), 0.0
    found = separate(data, y, NONE, budget)
    assert (found.converged, found.separable) == (False, None)
    assert found.lower <= value <= found.upper
    best = l1_game(data, y, NONE, signed=True)
    game = l1_game(data, y, NONE, signed=True, budget=budget)
    assert not game.converged
    assert game.lower <= best.lower <= best.upper <= game.upper
    least = least_error(data, y, NONE)
    stopped = least_error(data, y, NONE, budget=budget)
    assert not stopped.converged
    assert stopped.bound <= least.bound <= least.error + 1e-9 <= stopped.error
    assert stopped.error == pytest.approx(np.maximum(1 - signed(X, y, 1.0) @ stopped.weights, 0).sum())


@kinds
def test_a_program_too_large_is_refused_before_it_is_built(kind):
    X, y = np.ones((1000, 10)), np.ones(1000)
    message = (
        r"1,000 rows and 11 columns with 11,000 nonzero entries takes about 0\.00\d+ GiB, more than max_memory=1e\+06"
    )
    for solver in (separate, least_error, l1_game):
        with pytest.raises(ValueError, match=message):
            solver(kind(X, 1.0), y, NONE, budget=Budget(max_memory=1e6))


@pytest.mark.slow
@kinds
@some
@given(problem=problems, bias=biases, game=st.booleans())
def test_winnows_game_has_one_value(kind, problem, bias, game):
    X, y = problem
    Z = signed(X, y, bias)
    found = l1_game(kind(X, bias), y.astype(float), NONE, signed=game)
    u, payoff = found.weights, Z.T @ found.dual
    assert found.upper - found.lower == pytest.approx(0, abs=1e-9)
    assert found.lower == pytest.approx((Z @ u).min(), abs=1e-12)
    largest = np.abs(payoff).max() if game else max(payoff[:-1].max(), abs(payoff[-1]) if bias else -np.inf)
    assert found.upper == pytest.approx(largest, abs=1e-12)
    assert np.abs(u).sum() <= 1 + 1e-12
    assert game or np.all(u[:-1] >= 0)
    if game:
        assert (found.separable is True) == separable(Z)
        assert found.lower >= -1e-12


def test_a_game_with_a_known_value():
    sizes = np.array([1.0, 2.0, 4.0])
    found = l1_game(Dense(np.diag(sizes) * [[1.0], [-1.0], [1.0]], 0.0), np.array([1.0, -1.0, 1.0]), NONE)
    assert found.lower == pytest.approx(1 / 1.75)
    assert np.allclose(found.weights, [4 / 7, 2 / 7, 1 / 7, 0])
    assert np.allclose(found.dual, [4 / 7, 2 / 7, 1 / 7])
    majority = np.sign(np.array([[(k >> j & 1) - 0.5 for j in range(3)] for k in range(8)]))
    found = l1_game(Dense(np.hstack([majority, -majority]), 0.0), np.sign(majority.sum(axis=1)), NONE)
    assert found.upper == pytest.approx(1 / 3)


@pytest.mark.parametrize("middle", [-4.0, 4.0])
def test_winnows_bias_has_either_sign(middle):
    found = l1_game(Dense(np.array([[middle - 1], [middle + 1]]), 1.0), np.array([-1.0, 1.0]), NONE)
    assert found.separable
    assert np.allclose(found.weights, [0.2, -0.2 * middle])
    assert found.lower == pytest.approx(0.2)


@kinds
@pytest.mark.parametrize("both_sides", [False, True])
def test_least_errors_are_those_of_the_plain_program(kind, both_sides):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3)) * [1e-6, 1.0, 1e6]
    y = np.sign(X[:, 1] + rng.normal(size=30))
    costs = rng.integers(0, 4, 30).astype(float)
    Z, eye = signed(X * [1e6, 1.0, 1e-6], y, 1.0), np.eye(30)
    slack = np.hstack([eye, -eye]) if both_sides else eye
    program = linprog(
        np.r_[np.zeros(4), np.tile(costs, 1 + both_sides)], method="highs-ipm",
        bounds=[(None, None)] * 4 + [(0, None)] * slack.shape[1],
        **({"A_eq": np.hstack([Z, slack]), "b_eq": np.ones(30)} if both_sides
           else {"A_ub": -np.hstack([Z, slack]), "b_ub": -np.ones(30)}),
    )  # fmt: skip
    found = least_error(kind(X, 1.0), y, costs, both_sides=both_sides)
    assert found.error == pytest.approx(program.fun, rel=1e-6)
    assert found.bound == pytest.approx(found.error, rel=1e-12)
    misses = 1 - signed(X, y, 1.0) @ found.weights
    assert costs @ (np.abs(misses) if both_sides else np.maximum(misses, 0)) == pytest.approx(found.error, rel=1e-12)
    assert np.abs(Z.T @ found.dual).max() < 1e-12
    assert np.all(found.dual <= costs)
    assert np.all(found.dual >= (-costs if both_sides else 0))


def test_the_least_absolute_error_of_one_feature_is_a_weighted_median():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=21), rng.choice([-1.0, 1.0], 21)
    error = min(np.abs(y - w * x).sum() for w in y / x)
    assert least_error(Dense(x[:, None], 0.0), y, NONE, both_sides=True).error == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize("both_sides", [False, True])
def test_a_weight_is_a_repetition_and_0_is_absence(both_sides):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], 20)
    counts = rng.integers(0, 3, 20)
    repeated = np.repeat(np.arange(20), counts)
    weighted = least_error(Dense(X, 1.0), y, counts.astype(float), both_sides=both_sides)
    plain = least_error(Dense(X[repeated], 1.0), y[repeated], NONE, both_sides=both_sides)
    assert weighted.error == pytest.approx(plain.error, rel=1e-12)
    assert not weighted.dual[counts == 0].any()
    for solver in (separate, l1_game):
        a, b = solver(Dense(X, 1.0), y, counts.astype(float)), solver(Dense(X[repeated], 1.0), y[repeated], NONE)
        assert (a.upper, a.separable) == (pytest.approx(b.upper, abs=1e-12), b.separable)
        assert not a.dual[counts == 0].any()


@some
@given(problem=problems, bias=biases)
def test_the_hinge_loss_is_0_where_rows_are_separable_and_1_at_least_elsewhere(problem, bias):
    X, y = problem
    found = least_error(Dense(X, bias), y.astype(float), NONE)
    assert found.separable is separable(signed(X, y, bias))
    assert found.error < 1e-9 if found.separable else found.bound >= 1 - 1e-9


def test_all_forms_of_a_program_together_keep_the_time_limit(monkeypatch):
    clock, limits = [0.0], []

    def three_seconds(Z, form, budget):
        clock[0] += 3.0
        limits.append(budget.time_limit)
        return linear_program.guess_bracket(Z, 0, converged=True)._replace(separable=None)

    monkeypatch.setattr(linear_program, "attempt", three_seconds)
    monkeypatch.setattr(linear_program, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    linear_program.decide(csr_array([[1e-200, 1.0], [1e200, -1.0], [1.0, 1e150]]), Budget(time_limit=5.0))
    assert len(limits) > 1
    assert limits[:2] == [5.0, 2.0]
    assert all(limit == 0.0 for limit in limits[2:])
