"""Column scalings: the bound is that of the scaled rows; neither a grid nor a general solver finds far better ones."""

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin.column_scaling import column_scaling, scaled_columns
from linsep.solvers.margin.delta import delta_bound


def bound(data, signs, exponents, bias, passes=1):
    rows = scaled_columns(data, np.asarray(exponents), bias)
    radius = math.sqrt((rows.values**2).sum(axis=1).max() + bias**2)
    return delta_bound(rows, signs, radius=radius, passes=passes, tol=1e-3).upper ** 2


def problem(seed, features=2, rows=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * 2.0 ** rng.integers(-6, 7, features)
    signs = np.where(X @ (1 / np.abs(X).max(axis=0)) + 0.1 * rng.normal(size=rows) > 0, 1.0, -1.0)
    return Dense(X, bias=0.0), signs


@pytest.mark.parametrize("seed", range(3))
def test_no_power_of_two_is_far_better(seed):
    data, signs = problem(seed)
    found = column_scaling(data, signs)
    assert found.bound == pytest.approx(bound(data, signs, found.exponents, 0.0), rel=0.01)
    others = [bound(data, signs, [0, e], 0.0) for e in range(-14, 15)]
    assert found.bound <= 1.03 * min(others)
    assert found.bound <= bound(data, signs, [0, 0], 0.0)


def test_no_real_factors_are_far_better():
    """Rounding to powers of two costs little beside what a general solver finds for real factors and weights."""
    data, signs = problem(7, features=3)
    Z = signs[:, None] * data.values

    def value(x):
        s, w = np.exp(x[:3]), x[3:]
        lengths = np.sqrt(((data.values * s) ** 2).sum(axis=1))
        return lengths.max() * np.linalg.norm(w / s) + np.linalg.norm(np.maximum(1 - Z @ w, 0))

    found = column_scaling(data, signs)
    start = np.append(-np.log(np.abs(data.values).max(axis=0)), 1 / np.abs(data.values).max(axis=0))
    best = min(
        minimize(value, start * [1.0, 1.0, 1.0, *[t] * 3], method="Powell", options={"maxiter": 30_000}).fun ** 2
        for t in (1.0, 3.0)
    )
    assert found.bound <= 1.15 * best


def test_sparse_rows_and_dense_ones_are_alike():
    data, signs = problem(3)
    X = sp.csr_array(data.values)
    rows = Csr(X.data, X.indices, X.indptr, 2, 0.0)
    dense, sparse = column_scaling(data, signs), column_scaling(rows, signs)
    assert dense.exponents.tolist() == sparse.exponents.tolist()
    assert dense.bound == pytest.approx(sparse.bound, rel=1e-2)


def test_breast_cancer():
    """Raw columns, which allow 569 mistakes of 569 rows in one pass: columns of a common deviation are not as good."""
    X, y = load_breast_cancer(return_X_y=True)
    data, signs = Dense(np.ascontiguousarray(X), bias=1.0), np.where(y == 1, 1.0, -1.0)
    found = column_scaling(data, signs)
    alike = -np.rint(np.log2(X.std(axis=0))).astype(int)
    assert found.bound < 325 < bound(data, signs, alike, 1.0) < 569


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e200])
def test_sizes_that_floats_hardly_hold(size):
    X = np.array([[1.0, 5.0], [2.0, -5.0], [-1.0, 7.0], [-2.0, -7.0]]) * [size, 1.0]
    found = column_scaling(Dense(X, bias=1.0), np.array([1.0, 1.0, -1.0, -1.0]))
    scaled = scaled_columns(Dense(X, bias=1.0), found.exponents, found.bias)
    assert np.isfinite(scaled.values).all()
    assert (np.ldexp(scaled.values, -found.exponents) == X).all()
    assert found.bound <= 4


def test_columns_of_zeros_and_the_time_limit():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 2.0]])
    signs = np.array([1.0, -1.0, 1.0])
    assert column_scaling(Dense(X, bias=1.0), signs).exponents[0] == 0
    assert column_scaling(Dense(np.zeros((3, 2)), bias=1.0), signs).bound <= 3
    assert column_scaling(Dense(X, bias=0.0), signs, deadline=time.monotonic() - 1).bound <= 3
    assert column_scaling(Dense(np.zeros((3, 2)), bias=0.0), signs).exponents.tolist() == [0, 0]
