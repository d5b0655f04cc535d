"""The fewest errors: as many as are found by going through all halfspaces, or through all sets of rows."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.engine.data_kinds import Dense
from linsep.solvers.programs import linear_program, zero_one
from linsep.solvers.programs.program_rows import Budget
from linsep.solvers.programs.zero_one import fewest_errors
from tests.problems import integer_rows
from tests.solvers.gordan import separable
from tests.solvers.test_linear_program import exact_scores, kinds, signed

NONE = np.zeros(0)
some = settings(max_examples=15)


def sweep(Z, costs):
    """The least cost of rows with z·w <= 0, over all w in the plane: one for each angle between turns of a sign."""
    angles = np.arctan2(Z[:, 1], Z[:, 0])[np.any(Z, axis=1)]
    turns = np.unique(np.round(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]) % (2 * np.pi), 12))
    if not len(turns):
        return costs.sum()
    between = (turns + np.append(turns[1:], turns[0] + 2 * np.pi)) / 2
    return min(costs[Z @ [np.cos(a), np.sin(a)] <= 1e-9].sum() for a in between)


def fewest_left_out(Z):
    """The least number of rows whose absence makes the others separable."""
    rows = range(len(Z))
    return next(k for k in range(len(Z) + 1) for out in combinations(rows, k) if separable(np.delete(Z, out, axis=0)))


def check(Z, costs, found):
    assert found.converged
    assert found.errors == found.bound
    wrong = np.array([score <= 0 for score in exact_scores(Z, found.weights.tolist())])
    wrong &= costs > 0
    assert found.mistaken.tolist() == np.flatnonzero(wrong).tolist()
    assert found.errors == costs[wrong].sum()
    assert not any(separable(Z[witness]) for witness in found.witnesses)
    assert found.separable is (not wrong.any())


@pytest.mark.slow
@kinds
@some
@given(problem=integer_rows(max_rows=12, max_features=1), data=st.data())
def test_one_feature_and_a_bias(kind, problem, data):
    X, y = problem
    costs = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X)).filter(any)), float)
    found = fewest_errors(kind(X, 1.0), y.astype(float), costs)
    check(signed(X, y, 1.0), costs, found)
    assert found.errors == sweep(signed(X, y, 1.0), costs)


@pytest.mark.slow
@some
@given(problem=integer_rows(max_rows=12, max_features=2).filter(lambda p: p[0].shape[1] == 2))
def test_two_features_without_a_bias(problem):
    X, y = problem
    costs = np.ones(len(X))
    found = fewest_errors(Dense(X, 0.0), y.astype(float), NONE)
    check(signed(X, y, 0.0), costs, found)
    assert found.errors == sweep(signed(X, y, 0.0)[:, :2], costs)


@settings(some, max_examples=8)
@given(problem=integer_rows(max_rows=7, max_features=2))
def test_two_features_and_a_bias(problem):
    X, y = problem
    found = fewest_errors(Dense(X, 1.0), y.astype(float), NONE)
    assert found.errors == fewest_left_out(signed(X, y, 1.0))


def test_flipped_labels_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    score = X @ [1.0, -1.0, 2.0, 0.5] + 0.3
    flipped = np.argsort(-np.abs(score))[:4]
    y = np.sign(score)
    y[flipped] *= -1
    found = fewest_errors(Dense(X, 1.0), y, NONE)
    assert (found.converged, found.errors, found.mistaken.tolist()) == (True, 4, sorted(flipped))


def test_weights_that_are_no_integers():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    found = fewest_errors(Dense(X, 1.0), y, np.array([1.0, 0.25, 0.3, 1.0]))
    assert (found.errors, found.mistaken.tolist()) == (0.25, [1])
    assert found.converged
    assert found.bound <= 0.25
    assert found.bound == pytest.approx(0.25, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["integers", "nearly equal", "floats"])
def test_weights_far_apart_against_all_thresholds(kind, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, 14).astype(float), rng.choice([-1.0, 1.0], 14)
    costs = {"integers": np.floor(10 ** rng.uniform(0, 5, 14)), "nearly equal": 1 + 1e-4 * rng.random(14)}.get(
        kind, 10 ** rng.uniform(0, 5, 14) * 1e-7
    )
    cuts = np.arange(-0.5, 6)
    least = min(costs[side * y * (x - cut) <= 0].sum() for cut in cuts for side in (-1, 1))
    found = fewest_errors(Dense(x[:, None], 1.0), y, costs)
    assert found.converged
    assert found.bound <= least * (1 + 1e-15)
    assert least * (1 - 1e-15) <= found.errors <= least + 1e-5 * costs.min()
    assert found.errors - found.bound <= 1.1e-5 * costs.min()


def test_weights_too_far_apart_are_refused():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, 1.0, -1.0])
    with pytest.raises(
        ValueError, match=r"reach from 1 to 1e\+07: .* within a factor of 100000; set the smallest to 0"
    ):
        fewest_errors(Dense(X, 1.0), y, np.array([1.0, 1e7, 3.0]))
    assert fewest_errors(Dense(X, 1.0), y, np.array([0.0, 1e7, 3e7])).errors == 0


def test_too_many_rows_are_refused():
    X, y = np.ones((201, 1)), np.ones(201)
    with pytest.raises(ValueError, match=r"among 200 rows at most, and here are 201: .* take a sample, raise max_rows"):
        fewest_errors(Dense(X, 1.0), y, NONE)
    weights = np.ones(201)
    weights[0] = 0
    assert fewest_errors(Dense(X, 1.0), y, weights).errors == 0


def test_a_budget_ends_with_a_bound():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 5)), rng.choice([-1.0, 1.0], 150)
    found = fewest_errors(Dense(X, 1.0), y, NONE, budget=Budget(time_limit=3.0))  # enough for a bound on a busy machine
    assert not found.converged
    assert 0 < found.bound < found.errors < 75
    assert (signed(X, y, 1.0) @ found.weights <= 0).sum() == found.errors
    cut_off = fewest_errors(Dense(X, 1.0), y, NONE, budget=Budget(time_limit=1e-9))
    assert cut_off.bound == 0
    assert cut_off.errors == len(cut_off.mistaken) < len(y)  # those of the rows' mean, not of no weights at all


def test_all_programs_together_keep_the_time_limit(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.choice([-1.0, 1.0], 120)
    clock, limits = [0.0], []

    def second_by_second(Z, budget):
        clock[0] += 1.0
        limits.append(budget.time_limit)
        return linear_program.decide(Z, Budget())

    monkeypatch.setattr(zero_one, "decide", second_by_second)
    monkeypatch.setattr(zero_one, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    found = fewest_errors(Dense(X, 1.0), y, NONE, budget=Budget(time_limit=5.0))
    assert limits == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert not found.converged
    assert found.bound == 5
    assert found.errors == len(found.mistaken) < 120
