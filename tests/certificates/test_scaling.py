"""Scaled columns in a certificate: a problem of its own, with the claims of rows that are scaled by hand."""

import copy
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import Perceptron, certify, verify
from linsep.certificates import words
from linsep.certificates.schema import FormError, check_form
from tests.certificates import plain
from tests.certificates.test_forgery import recomputed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3)) * [1.0, 64.0, 0.125]
Y = np.where(X @ [1.0, 0.02, 4.0] > 0.3, "b", "a").tolist()
CERT = certify(X, Y, passes=2, scaling=True)
SCALED = CERT.problems[-1]


def test_its_claims_are_those_of_rows_scaled_by_hand():
    assert verify(CERT, X, Y)
    assert SCALED.startswith("scaled, bias ")
    facts = json.loads(CERT.text())
    wrong = {k: v for k, v in plain.claims(facts, X, Y).items() if not plain.true(k, facts["claims"][k], v)}
    assert not wrong
    by_hand = certify(X * CERT.scaling, Y, passes=2, bias=CERT.keys[-1].bias)
    for claim in ("perceptron's mistakes (T = 1) at most", "perceptron's mistakes (T = 2) at most", "R at most"):
        assert CERT.number(claim, SCALED) == pytest.approx(by_hand.number(claim), rel=0.02)


def test_the_bound_is_smaller_and_the_verdict_is_the_same():
    for passes in (1, 2):
        claim = f"perceptron's mistakes (T = {passes}) at most"
        assert CERT.number(claim, SCALED) < 0.8 * CERT.number(claim)
    assert CERT.claims[f"{SCALED}: verdict"] == CERT.verdict == "separable"
    assert CERT.witness.shape == (4,)


def test_a_perceptron_on_the_scaled_rows_keeps_to_the_bound():
    bias = CERT.keys[-1].bias
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        clf = Perceptron(intercept_scaling=bias).partial_fit((X * CERT.scaling)[order], np.array(Y)[order])
        assert clf.mistakes_ <= CERT.number("perceptron's mistakes (T = 1) at most", SCALED)


def test_other_forms_of_data_and_no_bias():
    cert = certify(csr_array(X), Y, passes=1, scaling=True)
    assert verify(cert, X, Y)
    plain_cert = certify(X, Y, passes=1, bias=0, scaling=True)
    assert plain_cert.problems == ["no bias", "scaled, no bias"]
    assert verify(plain_cert, X, Y)
    wide = csr_array((np.ones(40), (np.arange(40), np.arange(40) % 20 * 5000)), shape=(40, 100_000))
    labels = ["a" if k % 20 < 10 else "b" for k in range(40)]
    found = certify(wide, labels, passes=1, scaling=True)
    assert verify(found, wide, labels)
    assert found.scaling.shape == (100_000,)


def test_without_it_nothing_is_scaled_and_more_classes_say_why():
    assert certify(X, Y, passes=1).scaling is None
    more = certify(X[:3], list("abc"), passes=1, scaling=True)
    assert more.scaling is None
    assert "no scaling was sought: the columns of two classes alone are scaled" in more.remarks


def test_it_is_said_in_words():
    line = next(line for line in words.table(CERT)[SCALED] if line.label == "scaling")
    assert line.value.startswith("2^")
    assert line.note.endswith(f"the constant feature is {CERT.keys[-1].bias:g}")


FORGED = {
    "another scale": (lambda of: of["values"].__setitem__(0, of["values"][0] + 1), ""),
    "too few": (lambda of: of["values"].pop(), "values for 3 places"),
    "a fraction": (lambda of: of["values"].__setitem__(0, 0.5), "which is no integer"),
    "a text": (lambda of: of["values"].__setitem__(0, "0x1"), "has an exponent beyond 1000"),
    "too far": (lambda of: of["values"].__setitem__(0, 1001), "has an exponent beyond 1000"),
    "an unknown key": (lambda of: of.update(exponent=0), "which is unknown"),
    "a place beyond": (lambda of: of.update(at=[0, 1, 3]), "has no such places"),
}


@pytest.mark.parametrize("what", FORGED)
def test_scales_that_are_none_are_refused(what):
    change, why = FORGED[what]
    facts = json.loads(CERT.text())
    change(facts["problems"][SCALED]["scale"])
    assert not verify(facts, X, Y)
    if why:
        with pytest.raises(FormError, match=why):
            check_form(facts)


def test_a_scale_belongs_to_a_scaled_problem_and_to_one():
    facts = json.loads(CERT.text())
    missing, moved, two, old, run = (copy.deepcopy(facts) for _ in range(5))
    scale = missing["problems"][SCALED].pop("scale")
    moved["problems"]["bias 1"]["scale"] = scale
    two["problems"]["scaled, no bias"] = two["problems"]["no bias"] | {"scale": scale}
    old["version"] = 1
    run["runs"]["run of scaled"] = {
        "problem": SCALED, "theorem": "perceptron", "p": 2.0, "witness": "delta 1", "passes": 1, "rounds": 30,
        "order": "rows", "updates": [1],
    }  # fmt: skip
    for forged, why in (
        (missing, "is a problem that is called"), (moved, "is a problem that is called"),
        (two, "it has more than one scaling of columns"), (old, "scale, which certificates of version 1 have not"),
        (run, "is a run on scaled columns"),
    ):  # fmt: skip
        with pytest.raises(FormError, match=why):
            check_form(forged)
        assert not verify(forged, X, Y)


def test_problems_of_more_classes_have_no_scale():
    """Without this, a run on rows as they are could be replayed on scaled ones."""
    labels = [*"abc" * 10]
    facts = json.loads(Perceptron(multi_class="joint").partial_fit(X, labels).certificate(X, labels).text())
    for name in facts["problems"]:
        forged = copy.deepcopy(facts)
        forged["problems"][name]["scale"] = {"values": [0, 0, 0]}
        with pytest.raises(FormError, match="which problems of two classes alone may have"):
            check_form(forged)
        assert not verify(recomputed(forged, X, labels) or forged, X, labels)


def test_entries_that_a_scale_rounds_are_refused():
    rows = np.array([[1.0 + 2.0**-52, 1.0], [-(2.0**-100), 2.0]])
    facts = json.loads(certify(rows, ["a", "b"], passes=1, scaling=True).text())
    name = next(name for name in facts["problems"] if name.startswith("scaled"))
    facts["problems"][name]["scale"] = {"values": [-1000, 0]}
    assert recomputed(facts, rows, ["a", "b"]) is None
    assert "an entry that is scaled is no float" in str(verify(facts, rows, ["a", "b"]))


def test_rows_of_one_class():
    cert = certify(X, ["a"] * 30, passes=1, scaling=True, least_error=True)
    assert verify(cert, X, ["a"] * 30)


def test_columns_scaled_by_the_data_have_no_bound_of_risk():
    facts = json.loads(CERT.text())
    problem = facts["problems"][SCALED]
    problem["w"]["model"] = problem["w"]["margin"]
    problem["PAC-Bayes"] = {"confidence": 0.95, "scale": 0}
    with pytest.raises(FormError, match="columns scaled by the data"):
        check_form(facts)


def test_stored_zeros_are_no_entries():
    sparse = csr_array(np.column_stack([X, np.zeros(len(X))]))
    stored = csr_array((np.append(sparse.data, 0.0), np.append(sparse.indices, X.shape[1]),
                        np.append(sparse.indptr[:-1], sparse.nnz + 1)), shape=sparse.shape)  # fmt: skip
    assert (stored.toarray() == sparse.toarray()).all()
    assert stored.nnz == sparse.nnz + 1
    found, expected = (certify(rows, Y, passes=1, scaling=True).scaling[:-1].tolist() for rows in (stored, sparse))
    assert found == expected
    assert len({*found}) > 1
