"""No verdict is wrong or open on hostile data of 20 kinds; `python -m benchmarks.separability` tries more."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.separability import KINDS, hunt, separable, signed_rows
from linsep import PassiveAggressive, certify, verify
from tests.certificates import plain

HOUR = 3600.0
NOW = 1.7e9
SETS = {
    "neighbouring integers": ([[1e8], [1e8 + 1]], [0, 1], "separable"),
    "zero and 1e16": ([[0.0], [-1e16]], [0, 1], "separable"),
    "timestamps": ([[NOW], [NOW + HOUR], [NOW + 2 * HOUR], [NOW + 3 * HOUR]], [0, 0, 1, 1], "separable"),
    "timestamps in turns": ([[NOW], [NOW + HOUR], [NOW + 2 * HOUR], [NOW + 3 * HOUR]], [0, 1, 0, 1], "not separable"),
}


@pytest.mark.parametrize("name", SETS)
def test_data_far_from_the_origin_are_decided(name):
    X, y, verdict = SETS[name]
    cert = certify(X, y)
    assert cert.verdict == verdict
    assert verify(cert, X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_no_verdict_is_wrong_or_open(kind):
    counts = hunt(kind, 3, 5)
    assert counts["cases"] == 3 <= counts["problems"]
    assert not [counts[what] for what in ("wrong", "open", "rejected", "crashes") if counts[what]]


@pytest.mark.parametrize("kind", ["integers", "several classes", "CSR with duplicates"])
def test_two_oracles_agree(kind):
    for case in range(5):
        X, y = KINDS[kind](np.random.default_rng(case))
        classes = sorted({str(label) for label in y})
        for positive in (classes[-1], None)[: 1 + (len(classes) > 2)]:
            problem = {"positive": positive, "bias": 1.0}
            rows = signed_rows(problem, X, y, classes)
            assert rows == plain.rows_of(problem, X, [str(label) for label in y], classes)
            assert separable(rows) == plain.separable(rows)


@pytest.mark.parametrize("kind", ["1-ulp ties", "one feature", "subnormals"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_of_pa_has_a_witness_where_floats_cannot_hold_the_margin(kind):
    proved = 0
    for case in range(8):
        X, y = KINDS[kind](np.random.default_rng([3, case]))
        if len(set(y)) == 2:
            learner = PassiveAggressive(variant="PA", max_iter=2, intercept_scaling=1.0).fit(X, y)
            cert = learner.certificate(X, y)
            assert verify(cert, X, y)
            proved += "hinge" in next(iter(cert.facts["problems"].values()))["w"]
    assert proved


def test_the_time_limit_bounds_the_exact_work_too():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 150))
    y = (X @ rng.normal(size=150) > 0).astype(int)
    X[0] = rng.random(399) / 200 @ X[1:]
    certify(X[:9], y[:9])
    began = time.monotonic()
    certify(X, y, time_limit=1.0)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_empty_columns_change_no_claim(classes, bias):
    rng = np.random.default_rng(9)
    X = rng.integers(-2, 3, (8, 4)).astype(float)
    X[:, 0] = -1.0  # with an empty column beside it, Winnow's margin is 0 and not below
    y = [*range(classes), *rng.integers(0, classes, 8 - classes).tolist()]
    narrow = csr_array(np.hstack([X, np.zeros((8, 1))]))
    places = np.array([7, 5000, 5001, 9998])
    wide = csr_array((narrow.data, places[narrow.indices], narrow.indptr), shape=(8, 10_000))
    one, other = certify(narrow, y, bias=bias), certify(wide, y, bias=bias)
    assert verify(other, wide, y)
    assert {claim for claim in one.claims if "margin" in claim} == {
        claim for claim in other.claims if "margin" in claim
    }
    for claim, value in one.claims.items():
        if "verdict" in claim or "perceptron's margin" in claim:
            assert other.claims[claim] == value
