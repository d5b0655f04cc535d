"""Kernels of solvers: the same bits in Python and compiled, and nothing is compiled for small data."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from linsep import MaxMargin, certify
from linsep.engine.arrays import frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.engine.tiers import COMPILE, Tiered, compiling
from linsep.solvers.logistic.dual_ascent import LARGEST, Ascent
from linsep.solvers.margin.coordinate_descent import one_pass, squared_norms
from linsep.solvers.margin.hard import hard_margin
from linsep.solvers.margin.hull import Corral
from linsep.solvers.margin.soft import soft_margin
from linsep.solvers.naive_bayes.counts import count
from linsep.solvers.products import times, times_transposed

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(60, 9)) * (RNG.random((60, 9)) < 0.6)
SIGNS = np.where(TABLE @ np.arange(1, 10) + RNG.normal(size=60) > 0, 1.0, -1.0)
WEIGHTS = RNG.integers(0, 3, 60).astype(np.float64)
CODES = RNG.integers(0, 3, 60).astype(np.int32)
COLUMNS = RNG.normal(size=(10, 3))
NONE = np.zeros(0)


def as_csr(X, indices=np.int32):
    X = sp.csr_array(X)
    ends, columns = X.indptr.astype(indices), X.indices.astype(indices)
    return Csr(frozen(X.data), frozen(columns), frozen(ends), X.shape[1], 2.0)


DATA = {
    "dense": Dense(frozen(TABLE), 1.0),
    "float32": Dense(frozen(TABLE.astype(np.float32)), 1.0),
    "csr": as_csr(TABLE),
    "csr of float32 and int64": as_csr(TABLE.astype(np.float32), np.int64),
    "a row of zeros": Dense(frozen(np.vstack([TABLE[1:], np.zeros(9)])), 0.0),
}


def ascents(data):
    if not isinstance(data, Csr):
        return
    for columns, multinomial, variance in ((1, False, 1.0), (1, False, 1e9), (3, True, 1e6), (3, False, 50.0)):
        for free in (True, False):
            codes = CODES if columns > 1 else (CODES > 0).astype(np.int32)
            ascent = Ascent(data, codes, WEIGHTS, columns, multinomial, variance, free)
            for _ in range(4):
                ascent.epoch()
            yield from (ascent.weights, ascent.wrong)


def repeated(data):
    if isinstance(data, Csr):
        data = data._replace(indices=frozen(data.indices // 2))
    return [squared_norms(data)]


SOLVERS = {
    "squared norms": repeated,
    "products": lambda data: [times(data, COLUMNS[:, :k]) for k in (1, 3)],
    "transposed products": lambda data: [
        times_transposed(data, R, squares=squares) for R in (TABLE[:, :1], TABLE[:, :3]) for squares in (False, True)
    ],
    "soft margin": lambda data: [
        part
        for loss in ("l1", "l2")
        for bias in (True, False)
        for part in soft_margin(data, SIGNS, WEIGHTS, C=3.0, loss=loss, tol=1e-4, penalize_bias=bias)[:5]
    ],
    "hard margin": lambda data: [
        part
        for signs in (SIGNS, np.where(TABLE @ np.arange(1, 10) > 0, 1.0, -1.0))
        for bias in (True, False)
        for part in hard_margin(data, signs, NONE, penalize_bias=bias)[:5]
    ],
    "counts": lambda data: [
        count(data, CODES, weights, 3, power=power, center=center)
        for weights in (WEIGHTS, NONE)
        for power in (0, 1, 2)
        for center in (np.empty((0, 0)), TABLE[:3])
    ],
    "dual ascent": lambda data: list(ascents(data)),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", DATA)
def test_python_gives_the_bits_of_compiled_code(kind, solver):
    results = []
    for choice in ("always", "never"):
        with compiling(choice):
            results.append([np.asarray(part).tobytes() for part in SOLVERS[solver](DATA[kind])])
    assert results[0] == results[1]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_a_row_without_length_steps_to_its_bound(bias, soft):
    """The step divides by ||x||² + the constant feature's share, which is 0: Python raises there."""
    arrays = []
    for choice in ("always", "never"):
        dual, weights, rows = np.zeros(1), np.zeros(2), np.zeros(1, np.int64)
        of_row = frozen(np.ones(1)), frozen(np.full(1, 2.0)), frozen(np.full(1, 0.0))
        with compiling(choice):
            one_pass(Dense)(
                (frozen(np.zeros((1, 1))), bias), *of_row, dual, weights, rows, np.zeros(1, np.int64), soft, bias,
                -np.inf, np.inf,
            )  # fmt: skip
        arrays.append((dual[0], *weights))
    assert arrays[0] == arrays[1]
    assert arrays[0][0] == (4.0 if soft else 2.0)


def test_scores_beyond_the_range_of_exp():
    """Python raises where exp overflows; compiled code computes infinity."""
    data = as_csr(np.array([[800.0], [LARGEST / 2], [-900.0]]))
    weights = []
    for choice in ("always", "never"):
        ascent = Ascent(data, np.array([0, 1, 1], np.int32), NONE, 1, False, 1e-6)
        ascent.weights[0] = 2.0
        with compiling(choice):
            ascent.epoch()
        weights.append(ascent.weights.tobytes())
    assert weights[0] == weights[1]


@pytest.mark.parametrize("groups", [1, 2])
def test_a_corral_that_rows_enter_and_leave(groups):
    """The factor stays that of the corral's products, whatever rows leave it."""
    Z = RNG.normal(size=(40, 8)) + 0.3
    lift = float(np.square(Z).sum(axis=1).max())
    results = []
    for choice in ("always", "never"):
        corral = Corral(groups, lift, 64)
        group = np.arange(40) % groups
        corral.take(np.arange(20), group[:20], lambda a, b: Z[a] @ Z[b].T)
        weights = np.zeros(20)
        weights[:groups] = 1.0
        with compiling(choice):
            weights, _ = corral.descend(weights, Z[:20] @ (weights @ Z[:20]), 1e-9, 500)
            corral.take(np.arange(20, 40), group[20:], lambda a, b: Z[a] @ Z[b].T)
            weights = np.append(weights, np.zeros(20))
            weights, _ = corral.descend(weights, Z @ (weights @ Z), 1e-9, 500)
        members = corral._members[: corral.size]
        factor = corral._factor[: corral.size, : corral.size]
        same = group[members, None] == group[members]
        np.testing.assert_allclose(
            np.tril(factor) @ np.tril(factor).T, (Z @ Z.T)[np.ix_(members, members)] + lift * same
        )
        np.testing.assert_array_equal(factor, factor.T)
        results.append((weights.tobytes(), members.tobytes(), factor.tobytes()))
    assert results[0] == results[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_first_use_on_small_data_is_not_worth_compiling(monkeypatch):
    X, y = load_iris(return_X_y=True)
    work = Counter()

    def counted(kernel, *args):
        work[id(kernel)] += kernel.work(*args)
        return kernel.run_in_python(*args)

    monkeypatch.setattr(Tiered, "__call__", counted)
    for first_use in (lambda: MaxMargin().fit(X, y), lambda: certify(X, y), lambda: certify(X[:100], y[:100])):
        work.clear()
        first_use()
        assert 0 < max(work.values()) < COMPILE
