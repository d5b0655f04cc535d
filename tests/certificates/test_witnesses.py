"""The search for witnesses: rows of pairs, the best bias, and what is written down is as good as what was found."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep.certificates import checker
from linsep.certificates.witnesses import Search, best_bias, find, pair_rows, radius_of, retry_with_program, signed_rows
from linsep.engine.arrays import frozen
from linsep.engine.data_kinds import Csr, Dense
from linsep.solvers.margin.hard import separator
from tests.certificates import plain

X = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 0.5], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 4.0]])


def forms(rows, bias):
    """The rows, dense and sparse."""
    sparse = csr_array(rows)
    arrays = [frozen(a) for a in (sparse.data, sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32))]
    return Dense(frozen(np.array(rows)), bias), Csr(*arrays, rows.shape[1], bias)


@pytest.mark.parametrize("bias", [1.0, 0.0, 2.5])
@pytest.mark.parametrize("classes", [3, 4])
def test_rows_of_pairs_are_those_of_the_definition(bias, classes):
    codes = np.array([2, 0, 1, classes - 1, 0])
    names = [str(c) for c in range(classes)]
    expected = plain.pairs(X, [str(c) for c in codes], names, bias)
    for form in forms(X, bias):
        rows = pair_rows(form, codes, classes)
        found = csr_array((rows.values, rows.indices, rows.indptr), shape=(len(expected), rows.features)).toarray()
        assert plain.dense(found) == expected
        assert rows.bias == 0


@pytest.mark.parametrize("bias", [1.0, 0.0])
def test_signed_rows(bias):
    signs = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    chosen = np.array([4, 0, 3])
    expected = plain.signed(X[chosen], ["b" if s > 0 else "a" for s in signs[chosen]], "b", bias)
    for form in forms(X, bias):
        assert plain.dense(signed_rows(form, signs, chosen)) == expected
        assert radius_of(form) == pytest.approx(math.sqrt(17 + bias**2), rel=1e-15)


def test_scores_and_points_are_products():
    signs = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    Z = np.column_stack([X, np.ones(5)]) * signs[:, None]
    for form in forms(X, 1.0):
        search = Search(form, signs)
        assert np.allclose(search.scores(np.array([1.0, 2.0, 3.0, 4.0])), Z @ [1, 2, 3, 4], rtol=1e-14)
        assert np.allclose(search.point(np.arange(5.0)), np.arange(5.0) @ Z, rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bias", [1.0, 0.0])
def test_what_is_written_is_within_one_per_cent_of_the_best(seed, bias):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3))
    y = np.where(rows @ [1.0, -1.0, 0.25] + 0.1 * seed * rng.normal(size=40) > 0, 1.0, -1.0)
    found = find(Search(forms(rows, bias)[seed % 2], y, passes=5)).witnesses
    known = {"positive": "1", "bias": bias, "games": True, "epsilon": "0.1", "delta": "0.1", **found}
    names = ["1" if label > 0 else "0" for label in y]
    claims = checker.SignedProblem(checker.CheckedRows(rows, names, ["0", "1"]), known, ["0", "1"]).claims()
    for T in (1, 5):
        most = float(claims[f"perceptron's mistakes (T = {T}) at most"])
        assert 0.99 * most <= float(claims[f"the least such bound (T = {T}) at least"]) <= most
    assert claims["verdict"] in ("separable", "not separable")
    truth = plain.separable(plain.signed(rows, names, "1", bias))
    assert (claims["verdict"] == "separable") == truth
    if truth:
        ends = [float(claims[f"perceptron's margin at {end}"]) for end in ("least", "most")]
        assert 0.995 * ends[1] <= ends[0] <= ends[1]


def test_the_witness_of_what_is_not_separable_is_small_and_exact():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(200, 4))
    y = rng.choice([-1.0, 1.0], 200)
    found = find(Search(forms(rows, 1.0)[0], y, passes=1), games=False).witnesses["lambda"]["margin"]
    mixture = plain.whole(found, 200)
    assert sum(v != 0 for v in mixture) <= 6
    assert min(mixture) == 0
    assert not any(plain.mixed(mixture, plain.signed(rows, ["b" if s > 0 else "a" for s in y], "b", 1.0)))


def test_a_deadline_that_has_passed_ends_the_search():
    rng = np.random.default_rng(10)
    rows = rng.normal(size=(2000, 20))
    y = rng.choice([-1.0, 1.0], 2000)
    began = time.monotonic()
    found = find(Search(forms(rows, 1.0)[0], y, deadline=began - 1)).witnesses
    assert time.monotonic() - began < 5
    assert set(found["w"]) >= {"delta 1", "delta 10"}
    assert set(found["lambda"]) >= {"delta 1", "delta 10", "margin"}


def test_the_best_bias_is_that_of_the_formula():
    rows = np.array([[101.0], [102.0], [98.0], [99.0]])
    search = Search(forms(rows, 1.0)[0], np.array([1.0, 1.0, -1.0, -1.0]))
    found = find(search, games=False).witnesses
    w = search.read(found["w"]["margin"])
    best, ratio = best_bias(search, found)
    assert best == pytest.approx(math.sqrt(102 * abs(w[1] / w[0])), rel=1 / 32)
    bounds = {b: (102**2 + b**2) * (1 + (w[1] / w[0] / b) ** 2) for b in (best / 2, best, best * 2, 1.0)}
    assert min(bounds, key=bounds.get) == best
    assert ratio == pytest.approx(math.sqrt(bounds[best] / bounds[1.0]), rel=1e-3)


def test_no_weights_want_no_bias():
    rows = np.array([[1.0], [-1.0]])
    search = Search(forms(rows, 1.0)[0], np.array([1.0, -1.0]))
    found = {"w": {"delta 1": {"exponent": 0, "at": [], "values": []}}, "lambda": {}}
    assert best_bias(search, found) == (0, 1)
    for values in itertools.product([0, 3], [0, -5]):
        found["w"]["delta 1"] = {"exponent": -4, "values": list(values)}
        assert best_bias(search, found)[0] >= 0


@pytest.mark.parametrize("shape", [(2, 3_000_000), (3_000_000, 1)])
def test_data_too_large_for_a_linear_program_stay_open(shape):
    n, p = shape
    indptr = np.zeros(n + 1, np.int32)
    indptr[1:], indptr[2:] = 1, 2
    data = Csr(*(frozen(a) for a in (np.array([1.0, 2.0]), np.array([0, p - 1], np.int32), indptr)), p, 1.0)
    search = Search(data, np.where(np.arange(n) % 2, 1.0, -1.0))
    hard = separator(Dense(np.eye(2), 1.0), np.array([1.0, -1.0]))._replace(separable=None)
    assert retry_with_program(search, hard) is hard
