"""Hostile data: certify always ends, its certificate holds, and no verdict is wrong; "open" is allowed, and counted."""

from decimal import Decimal

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import Perceptron, certify, verify
from tests.certificates import plain

TINY, HUGE, ULP = 5e-324, 1.7976931348623157e308, 2.0**-53
OPEN = {True: "separable, left open", False: "not separable, left open"}


def judged(X, y, **how):
    """The certificate of data, after it was held against the truth, and the names of what it leaves open."""
    X = np.asarray(X, dtype=np.float64)
    cert = certify(X, y, passes=2, **how)
    assert verify(cert, X, y), verify(cert, X, y).failures
    left = []
    for name, problem in cert.facts["problems"].items():
        truth = plain.separable(plain.rows_of(problem, X, [str(label) for label in y], cert.facts["data"]["classes"]))
        verdict = cert.claims[f"{name}: verdict"]
        assert verdict in ("open", "separable" if truth else "not separable"), (name, X.tolist(), y)
        left += [OPEN[truth]] * (verdict == "open")
    return cert, left


def sound(cert):
    """No claim of a problem says what cannot be: brackets are the right way round, bounds are not below 0."""
    numbers = {claim: Decimal(value) for claim, value in cert.claims.items() if " at " in claim}
    for claim, value in numbers.items():
        assert value >= 0 or claim.endswith("Winnow's margin at most"), claim
        if claim.endswith("margin at least"):
            assert 0 < value <= numbers[claim.removesuffix("least") + "most"]
        if "the least such bound" in claim:
            bound = claim.replace("the least such bound", "perceptron's mistakes").replace("at least", "at most")
            assert value <= numbers[bound]


CASES = {
    "the least numbers": ([[TINY], [-TINY]], [1, 0]),
    "the least numbers, not separable": ([[TINY], [2 * TINY], [3 * TINY]], [1, 0, 1]),
    "two columns of the least": ([[TINY, 2 * TINY], [2 * TINY, TINY], [3 * TINY, 3 * TINY]], [1, 0, 1]),
    "the least beside the largest": ([[TINY, HUGE], [HUGE, TINY], [-HUGE, -HUGE]], [1, 1, 0]),
    "the largest numbers": ([[HUGE, HUGE], [-HUGE, HUGE], [HUGE, -HUGE]], [1, 0, 1]),
    "the largest, one column": ([[HUGE], [-HUGE]], [1, 0]),
    "the largest, torn": ([[HUGE, 0], [HUGE, 0], [0, 1]], [1, 0, 1]),
    "1e-300 decides beside 1e300": ([[1e-300, 1e300], [-1e-300, 1e300], [1e-300, -1e300]], [1, 0, 1]),
    "rows that nearly cancel": ([[1, 1 - ULP], [1 - ULP, 1]], [1, 0]),
    "three rows that nearly cancel": ([[1, 1 - ULP], [1 - ULP, 1 - ULP], [1, 1]], [1, 0, 0]),
    "neighbours": ([[1], [1 - ULP], [1 + 2 * ULP]], [1, 0, 1]),
    "neighbours between neighbours": ([[1], [1 - ULP], [1 + 2 * ULP]], [1, 0, 0]),
    "0.1 + 0.2 against 0.3": ([[0.1 + 0.2, 1.0], [0.3, 1.0]], [1, 0]),
    "a relative margin of 1e-16": ([[1, 1e-16], [1, -1e-16]], [1, 0]),
    "the same row, both labels": ([[1.1, 2.3], [1.1, 2.3], [5, 5]], [1, 0, 1]),
    "only the same row": ([[1.1], [1.1]], [1, 0]),
    "all rows equal": ([[2.0, 3.0]] * 5, [1, 0, 1, 0, 1]),
    "all rows equal, one class": ([[2.0, 3.0]] * 3, [1, 1, 1]),
    "opposite rows, one class": ([[1.0], [-1.0]], [1, 1]),
    "a zero row": ([[0, 0], [1, 2]], [1, 0]),
    "only zeros": ([[0.0, 0.0], [0.0, 0.0]], [1, 0]),
    "only zeros, one class": ([[0.0], [0.0]], [1, 1]),
    "one row": ([[3.0, -4.0]], [1]),
    "one row of zeros": ([[0.0]], [1]),
    "exclusive or": ([[0, 0], [1, 1], [1, 0], [0, 1]], [0, 0, 1, 1]),
    "squares beyond 2^53": ([[2**26 + 1, 2**26 - 1], [2**26 - 1, 2**26 + 1], [-(2**26), 2**26]], [1, 0, 1]),
    "constant columns": ([[1.0, 3], [1, 4], [1, 5]], [1, 0, 1]),
    "constant columns, separable": ([[1.0, 3], [1, 4], [1, 5]], [1, 0, 0]),
    "a column of zeros": ([[0.0, 1.0], [0.0, -1.0]], [1, 0]),
    "Hilbert's matrix": ([[1 / (i + j + 1) for j in range(3)] for i in range(8)], [1, 0] * 4),
    "Vandermonde's": ([[float(t) ** e for e in (1, 9, 27)] for t in range(1, 9)], [1, 0] * 4),
    "scales from 1e-150 to 1e150": ([[1e150, 1e-150, 1], [1e150, -1e-150, 1], [-1e150, 1e-150, -1]], [1, 0, 1]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("bias", [1.0, 0.0])
@pytest.mark.parametrize("case", CASES)
def test_no_verdict_is_wrong(case, bias):
    cert, _ = judged(*CASES[case], bias=bias)
    sound(cert)
    assert "nan" not in str(cert)
    assert cert.max_mistakes() >= 0
    for name, problem in cert.facts["problems"].items():
        for witness in problem["w"]:
            assert not np.isnan(cert.weights(witness, name)).any()


@pytest.mark.parametrize("size", [TINY, 1e-200, 1.0, 1e200, HUGE])
def test_the_same_row_with_both_labels_is_found_at_once(size):
    rng = np.random.default_rng(7)
    X = np.clip(rng.normal(size=(40, 6)), -1, 1) * size
    X[31] = X[4]
    y = rng.integers(0, 2, 40)
    y[4], y[31] = 0, 1
    for data in (X, csr_array(X)):
        cert = certify(data, y, passes=1)
        assert {cert.claims[f"{name}: verdict"] for name in cert.problems} == {"not separable"}
        assert verify(cert, X, y)


def test_a_zero_row_alone_is_the_witness_without_a_bias():
    cert = certify([[1.0, 2.0], [0.0, 0.0], [2.0, 1.0]], [1, 1, 1], bias=0)
    assert cert.verdict == "not separable"
    assert certify([[1.0, 2.0], [0.0, 0.0], [2.0, 1.0]], [1, 1, 1]).verdict == "separable"


def test_integers_that_floats_cannot_tell_apart_are_refused():
    with pytest.raises(ValueError, match="float"):
        certify(np.array([[2**53], [2**53 + 1], [2**53 + 2]]), [0, 1, 1])


def test_a_tiny_margin_gives_no_bound_below_0():
    for least in (1e-20, 1e-24, 1e-25, 1e-26, 1e-30, 1e-200, TINY):
        X, y = np.array([[1.0, 0.5], [-least, 0.0]]), [1, 0]
        cert = certify(X, y, bias=0)
        assert verify(cert, X, y)
        sound(cert)


def test_integers_with_k_times_r_squared_near_2_to_53():
    rng = np.random.default_rng(3)
    X = rng.integers(-(2**25), 2**25, (30, 3)).astype(float)
    y = (X @ [1.0, -2.0, 1.0] > 0).astype(int)
    cert = Perceptron(max_iter=400, shuffle=False, fit_intercept=False).fit(X, y).certificate(X, y)
    R2 = float((X**2).sum(axis=1).max())
    assert cert.claims["run: mistakes"] * R2 > 2**53
    assert verify(cert, X, y)
    assert cert.claims["run: mistakes within the bound"] is True


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_much_wider_than_there_are_rows(form):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6, 4000)) * (rng.random((6, 4000)) < 0.05)
    cert = certify(form(X), [0, 1, 0, 1, 0, 1], passes=1)
    assert cert.verdict == "separable"
    assert verify(cert, X, [0, 1, 0, 1, 0, 1])


NUMBERS = {
    "neighbours": [0.0, 1.0, 1 - ULP, 1 + 2 * ULP, 2.0, 3.0, 0.1, 0.3, 0.1 + 0.2],
    "all scales": [0.0, TINY, 2.2e-308, 1e-300, 1e-160, 1e-16, 1e-8, 1.0, 1e8, 1e16, 1e160, 1e300, HUGE],
    "small": [0.0, 1.0, 2.0],
    "the least": [0.0, TINY, 2 * TINY],
    "the largest": [0.0, HUGE, HUGE / 2],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
def test_no_verdict_is_wrong_on_random_data(kind, record_property):
    rng, left, problems = np.random.default_rng(11), [], 0
    for _ in range(60):
        n, p = rng.integers(1, 10), rng.integers(1, 4)
        X = rng.choice(NUMBERS[kind], (n, p)) * rng.choice([1, -1], (n, p))
        cert, some = judged(X, rng.integers(0, 2, n).tolist(), bias=float(rng.choice([1.0, 0.0, 1e-3, 1e3])))
        sound(cert)
        left, problems = left + some, problems + len(cert.problems)
    print(f"{kind}: of {problems} problems", {what: left.count(what) for what in set(left)})
    record_property("open", f"{len(left)} of {problems}")


@pytest.mark.slow
def test_no_verdict_is_wrong_for_pairs_of_classes():
    rng = np.random.default_rng(13)
    for _ in range(12):
        n, p = rng.integers(3, 6), rng.integers(1, 3)
        X = rng.integers(-2, 3, (n, p)) * rng.choice([1.0, TINY, 1e300])
        judged(X, [*"abc", *rng.choice(list("abc"), n - 3)])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_runs_that_rounding_has_bent_have_certificates():
    for seed in range(10, 20):
        rng = np.random.default_rng(seed)
        X = rng.choice([1e16, 1.0, 3.0, 0.1, 1e8, 1e-8, 0.0], (8, 3)) * rng.choice([1, -1], (8, 3))
        y = np.array([0, 1, *rng.integers(0, 2, 8)[2:]])
        cert = Perceptron(max_iter=5, random_state=0).fit(X, y).certificate(X, y)
        assert verify(cert, X, y)
        assert cert.runs or cert.remarks


@pytest.mark.parametrize("nothing", [None, "", {}, [], b"", "0", (), float("nan")], ids=repr)
def test_an_entry_that_is_no_number_is_not_taken_for_zero(nothing):
    X, y = np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 1, 1]
    cert = certify(X, y)
    rows = X.astype(object)
    assert verify(cert, rows, y)
    rows[0, 0] = nothing
    result = verify(cert, rows, y)
    assert not result
    assert [name for name, _ in result.failures] == ["data"]
