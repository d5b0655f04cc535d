"""Runs of kernel perceptrons: claims agree with monomials in fractions, forgeries are refused, costs are bounded."""

import copy
import json
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import KernelPerceptron, Perceptron, certify, verify
from linsep.certificates import checker, kernel_replay
from linsep.certificates.schema import FormError, check_form
from tests.certificates import forger, plain
from tests.fits import fit

XOR, OTHER = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), ["a", "a", "b", "b"]
VERDICT = "verdict in the feature space"


def made(X=XOR, y=OTHER, **how):
    """The facts of a certificate."""
    how = {"log": True, "shuffle": False, "max_iter": 20} | how
    return json.loads(fit(KernelPerceptron(**how), X, y).certificate(X, y).text())


def wrong(facts, X, y):
    """The claims that fractions do not find."""
    proved = plain.claims(facts, np.asarray(X.todense()) if hasattr(X, "todense") else X, list(y))
    stated = {k: v for k, v in facts["claims"].items() if k != "witnesses: sha256"}
    return [k for k in proved.keys() | stated.keys() if k not in stated or not plain.true(k, stated[k], proved[k])]


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ({"degree": 2}, "separable"),
        ({"degree": 3, "gamma": 0.3, "coef0": 0.7, "shuffle": True, "random_state": 3}, "separable"),
        ({"degree": 2, "fit_intercept": True, "intercept_scaling": 0.1}, "separable"),
        ({"degree": 1}, "not separable"),
        ({"degree": 1, "gamma": 0.3, "coef0": 0.7}, "not separable"),
        ({"kernel": "linear", "fit_intercept": True}, "not separable"),
    ],
)
def test_claims_are_those_of_fractions(how, verdict):
    facts = made(**how)
    assert facts["claims"][f"run: {VERDICT}"] == verdict
    assert verify(facts, XOR, OTHER)
    assert not wrong(facts, XOR, OTHER)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_each_class_against_the_rest(form):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2)) * [1.0, 1e-3]
    X[:, 1] *= rng.random(40) < 0.7
    y = np.array(["in", "mid", "out"])[np.digitize(np.hypot(X[:, 0], X[:, 1] * 1e3), [0.8, 1.6])]
    facts = made(form(X), y, degree=2, gamma=0.1, multi_class="ovr", max_iter=3)
    assert [*facts["runs"]] == ["run of class in", "run of class mid", "run of class out"]
    assert verify(facts, X, y)
    assert not wrong(facts, X, y)
    assert facts["claims"] == made(X, y, degree=2, gamma=0.1, multi_class="ovr", max_iter=3)["claims"]


@pytest.mark.parametrize("seed", range(6))
def test_random_integers_are_decided(seed):
    """Rows with twins, zeros and ties: an independent simplex on the monomials gives the same verdict."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (int(rng.integers(4, 16)), 2)).astype(float)
    y = np.where(rng.random(len(X)) < 0.5, "a", "b")
    y[:2] = ["a", "b"]
    facts = made(X, y, degree=int(rng.integers(1, 4)), coef0=float(rng.integers(2)), max_iter=4)
    if not facts["runs"]:
        assert not X.any()
        return
    run = facts["runs"]["run"]
    assert verify(facts, X, y)
    assert not wrong(facts, X, y)
    space = [
        powers
        for powers in np.ndindex(run["degree"] + 1, run["degree"] + 1)
        if sum(powers) == run["degree"] or (run["coef0"] and sum(powers) < run["degree"])
    ]
    F = [[math.prod(int(v) ** k for v, k in zip(x, of, strict=True)) for of in space] for x in X]
    Z = [[v if label == "b" else -v for v in f] for f, label in zip(F, y, strict=True)]
    assert facts["claims"][f"run: {VERDICT}"] == ("separable" if plain.separable(Z) else "not separable")


def test_the_linear_kernel_is_the_perceptron():
    X = np.random.default_rng(5).normal(size=(30, 3))
    y = np.where(X @ [1, -1, 0.5] > 0, "u", "v")
    kernel = made(X, y, kernel="linear", max_iter=50)
    clf = fit(Perceptron(shuffle=False, max_iter=50, fit_intercept=False), X, y)
    cert = clf.certificate(X, y)
    same = ("mistakes", "rounds", "lemma 2, ratio at most", "margin at most", "order, sha256")
    assert [kernel["claims"][f"run: {of}"] for of in same] == [cert.claims[f"run: {of}"] for of in same]
    bounds = float(kernel["claims"]["run: mistakes at most"]), cert.number("mistakes at most", "run")
    assert bounds[0] == pytest.approx(bounds[1], rel=0.02)


def test_the_certificate_is_told_in_words():
    text = str(fit(KernelPerceptron(log=True, shuffle=False, max_iter=20), XOR, OTHER).certificate(XOR, OTHER))
    assert "(R/gamma)² in the feature space" in text
    assert "weights of 4 rows separate" in text
    assert "K(x, z) = (1 + 1 x·z)^2" in text
    assert "those about the run are about the kernel's feature space" in text


@pytest.mark.parametrize(
    ("how", "remark"),
    [
        ({"kernel": "rbf"}, "the run is not replayed: the exact check covers polynomial and linear kernels"),
        ({"degree": 65, "max_iter": 1}, "degree = 65 is beyond 64"),
        ({"coef0": -0.5, "max_iter": 1}, "coef0 = -0.5 is below 0, and the kernel may be no inner product"),
    ],
)
def test_what_is_not_replayed_is_remarked(how, remark):
    facts = made(**how)
    assert not facts["runs"]
    assert remark in " ".join(facts["data"]["remarks"])
    assert verify(facts, XOR, OTHER)


def test_too_many_values_are_remarked_and_refused(monkeypatch):
    facts = made()
    monkeypatch.setattr(kernel_replay, "MOST_VALUES", 50)
    assert "it would take 4 x 4 kernel values" in " ".join(made()["data"]["remarks"])
    assert not made()["runs"]
    assert "4 x 4 kernel values" in verify(facts, XOR, OTHER).failures[0][1]


def test_other_rows_are_refused():
    clf = fit(KernelPerceptron(log=True, shuffle=False, max_iter=20), XOR, OTHER)
    with pytest.raises(ValueError, match="leads to other weights"):
        clf.certificate(XOR[::-1] * 3, OTHER)


def changed(facts, **of):
    """A forgery whose claims are computed by the checker, or the error with which it is refused."""
    facts = copy.deepcopy(facts)
    facts["runs"]["run"] |= of
    check_form(facts)
    rows = checker.CheckedRows(XOR, OTHER, facts["data"]["classes"])
    checker.refuse_costly(facts, rows)
    return checker.claims(facts, rows)


FORGED = {
    "other updates": ({"updates": [1, 1]}, "an update of a run was"),
    "other degree": ({"degree": 3}, "an update of a run was"),
    "other gamma": ({"gamma": 4.0}, "an update of a run was"),
    "other coef0": ({"coef0": 30.0}, "an update of a run was"),
    "coef0 below 0": ({"coef0": -1.0}, "no coef0 of its kernel of 0 or more"),
    "coef0 of another type": ({"coef0": False}, "no coef0 of its kernel of 0 or more"),
    "gamma of 0": ({"gamma": 0.0}, "no gamma of its kernel above 0"),
    "no degree": ({"degree": 2.0}, "no degree of its kernel"),
    "huge degree": ({"degree": 10**6}, "no degree of its kernel"),
    "phantom rows": ({"separator": {"at": [0, 4], "values": [1, 1]}}, "has no such places"),
    "rows below 0": ({"separator": {"at": [-1, 1], "values": [1, 1]}}, "has no such places"),
    "rows twice": ({"separator": {"at": [1, 1], "values": [1, 1]}}, "has no such places"),
    "no rows": ({"separator": {"at": [], "values": []}}, "has no rows"),
    "no separator": ({"separator": {"at": [0, 1], "values": [1, 1]}}, "do not separate in the feature space"),
    "long integers": ({"separator": {"at": [0], "values": ["0x" + "f" * (1 << 16 | 1)]}}, "which is no integer"),
    "a key more": ({"separator": {"at": [0], "values": [1], "exponent": 0}}, "which is unknown"),
    "both": ({"cancelling": {"at": [0], "values": [1]}}, "has a separator and cancelling rows"),
    "not cancelling": (
        {"separator": None, "cancelling": {"at": [0, 2], "values": [1, 1]}},
        "do not cancel in the feature space",
    ),
    "factors below 0": (
        {"separator": None, "cancelling": {"at": [0, 2], "values": [1, -1]}},
        "a factor that is not above 0",
    ),
    "long values": ({"gamma": 1e-300, "degree": 64, "coef0": 1e300}, "kernel values have .* bits, more than"),
    "shards": ({"shards": [[2, 1]], "mixing": "uniform"}, "shards"),
    "compression": ({"compression": 0.5}, "a risk by compression"),
    "witness": ({"witness": "margin"}, "which is unknown"),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forgery_is_refused(forgery):
    of, reason = FORGED[forgery]
    with pytest.raises((FormError, ValueError), match=reason):
        changed(made(), **of)


def test_a_key_that_is_missing_is_refused():
    for key in ("degree", "gamma", "coef0", "separator", "cancelling"):
        facts = made()
        del facts["runs"]["run"][key]
        with pytest.raises(FormError):
            check_form(facts)


def test_forgers_state_what_is_true():
    rng = np.random.default_rng(11)
    found = [each for _ in range(3) for each in forger.attacked("kernel", rng)]
    assert [(attack, untrue) for attack, _, untrue in found if untrue] == []
    assert all(believed for attack, believed, _ in found if attack == "none")
    assert {"other kernel", "other separator", "phantom rows", "cancelling invented"} <= {of for of, _, _ in found}


def test_long_integers_and_small_entries_are_exact():
    X, y = XOR * [1 + 2.0**-40, 3e-20], OTHER
    facts = made(X, y, degree=2, gamma=1e10, coef0=0.0, max_iter=3)
    assert verify(facts, X, y)
    assert facts["runs"] == {} or not wrong(facts, X, y)


def test_the_time_limit_holds_for_the_search_and_the_check():
    clf = fit(KernelPerceptron(log=True, shuffle=False, max_iter=20), XOR, OTHER)
    facts = made()
    assert "not in time" in {status for _, status, _ in verify(facts, XOR, OTHER, time_limit=1e-9).checks}
    assert clf.certificate(XOR, OTHER, time_limit=60).runs


def test_the_data_alone_are_certified_as_before():
    problems = made()["problems"]
    assert problems.keys() == certify(XOR, OTHER, bias=0).facts["problems"].keys()
