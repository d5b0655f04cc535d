"""Weights that shift: the bound is that of fractions and holds on drifting rows; forged pieces are refused."""

import copy
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import Perceptron, certify, verify
from linsep.certificates import words
from linsep.certificates.schema import FormError, check_form
from linsep.theory.bounds import regret, shifting_delta_trick
from tests.certificates import plain
from tests.certificates.test_forgery import recomputed

CLAIM = "mistakes at most, by weights that shift"


def drifting(rows=600, seed=0):
    """Rows whose labels turn round halfway."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    scores = X[:, 0] * np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return X[np.abs(scores) > 0.4], np.where(scores > 0, "b", "a")[np.abs(scores) > 0.4]


X, Y = drifting()
CLF = Perceptron(intercept_scaling=1.0).partial_fit(X, Y)
CERT = CLF.certificate(X, Y, shifting=True)


def by_definition(facts, X, y, order):
    """The bound in fractions, but for roots and the last rounding."""
    run = facts["runs"]["run"]
    Z = plain.signed(X, list(y), facts["data"]["classes"][-1], facts["problems"][run["problem"]]["bias"])
    u = [[Fraction(2) ** of["exponent"] * v for v in plain.whole(of, len(Z[0]))] for of in run["pieces"]]
    cuts = np.cumsum([of["rounds"] for of in run["pieces"]])
    losses = [max(1 - plain.dot(Z[i], u[np.searchsorted(cuts, t, side="right")]), 0) for t, i in enumerate(order)]

    def norm(v):
        return math.sqrt(plain.dot(v, v))

    path = sum(norm([b - a for a, b in zip(*of, strict=True)]) for of in itertools.pairwise(u))
    radius = math.sqrt(max(plain.dot(z, z) for z in Z))
    D = math.sqrt(plain.dot(losses, losses))
    length = norm(u[-1]) + path
    return min(shifting_delta_trick(radius, norm(u[-1]), path, D), regret(radius, length, float(sum(losses))))


def test_the_bound_is_that_of_its_definition():
    assert verify(CERT, X, Y)
    assert CERT.number(CLAIM, "run") == pytest.approx(by_definition(CERT.facts, X, Y, range(len(X))), rel=1e-8)
    assert CERT.claims["run: pieces"] == len(CERT.facts["runs"]["run"]["pieces"]) > 1


def test_it_is_far_below_the_bound_of_fixed_weights_and_above_the_mistakes():
    assert CLF.mistakes_ <= CERT.number(CLAIM, "run") < 0.8 * CERT.number("perceptron's mistakes (T = 1) at most")


@pytest.mark.parametrize("shuffle", [True, False, "blocks"])
def test_orders_and_passes(shuffle):
    rows, labels = drifting(60)
    clf = Perceptron(intercept_scaling=1.0, max_iter=3, tol=1e9, n_iter_no_change=3, shuffle=shuffle, random_state=3)
    clf.fit(csr_array(rows), labels)
    cert = clf.certificate(rows, labels, shifting=True)
    assert verify(cert, csr_array(rows), labels)
    order = np.arange(len(rows))
    epochs = [order] * 3
    if shuffle is True:
        epochs = [np.random.default_rng([3, epoch]).permutation(len(rows)) for epoch in range(3)]
    if shuffle != "blocks":
        rounds = np.concatenate(epochs)[: cert.facts["runs"]["run"]["rounds"]]
        assert cert.number(CLAIM, "run") == pytest.approx(by_definition(cert.facts, rows, labels, rounds), rel=1e-8)
    assert cert.number("mistakes", "run") <= cert.number(CLAIM, "run")


def test_any_pieces_give_a_bound_that_holds():
    rng = np.random.default_rng(0)
    facts = json.loads(CERT.text())
    for _ in range(5):
        cuts = np.sort(rng.choice(np.arange(1, len(X)), 2, replace=False))
        rounds = np.diff([0, *cuts, len(X)]).tolist()
        facts["runs"]["run"]["pieces"] = [
            {"rounds": k, "exponent": int(rng.integers(-70, 3)), "values": rng.integers(-9, 9, 3).tolist()}
            for k in rounds
        ]
        other = recomputed(facts, X, list(Y))
        assert verify(other, X, Y)
        found = float(other["claims"][f"run: {CLAIM}"])
        assert CLF.mistakes_ <= found == pytest.approx(by_definition(other, X, Y, range(len(X))), rel=1e-8)


def test_weights_of_0_prove_the_number_of_rounds():
    facts = json.loads(CERT.text())
    facts["runs"]["run"]["pieces"] = [{"rounds": len(X), "exponent": 0, "at": [], "values": []}]
    assert recomputed(facts, X, list(Y))["claims"][f"run: {CLAIM}"] == str(len(X))


def _of(facts):
    return facts["runs"]["run"]["pieces"]


FORGED = {
    "fewer rounds": lambda facts: _of(facts)[0].update(rounds=1),
    "no rounds": lambda facts: _of(facts)[0].update(rounds=0),
    "no number": lambda facts: _of(facts)[0].update(rounds="9"),
    "too many": lambda facts: _of(facts).extend([_of(facts)[0]] * 99),
    "none": lambda facts: _of(facts).clear(),
    "no list": lambda facts: facts["runs"]["run"].update(pieces={}),
    "an unknown key": lambda facts: _of(facts)[0].update(loss=0),
    "too short": lambda facts: _of(facts)[0]["values"].pop(),
    "another theorem": lambda facts: facts["runs"]["run"].update(p=3.0),
    "shards": lambda facts: facts["runs"]["run"].update(shards=[[2, 1]], mixing="rows"),
}


@pytest.mark.parametrize("what", FORGED)
def test_pieces_that_are_none_are_refused(what):
    facts = json.loads(CERT.text())
    facts["runs"]["run"].pop("confidence", None)
    FORGED[what](facts)
    with pytest.raises(FormError):
        check_form(facts)
    assert not verify(facts, X, Y)


def test_other_numbers_are_refused():
    facts = json.loads(CERT.text())
    for claim, value in ((CLAIM, "100"), ("pieces", 1)):
        forged = copy.deepcopy(facts)
        forged["claims"][f"run: {claim}"] = value
        assert [name for name, _ in verify(forged, X, Y).failures] == [f"run: {claim}"]


def test_wide_rows_and_weights_on_their_empty_columns():
    wide = csr_array((X.ravel(), (np.repeat(np.arange(len(X)), 2), np.tile([7, 60_000], len(X)))), (len(X), 70_000))
    cert = Perceptron(intercept_scaling=1.0).partial_fit(wide, Y).certificate(wide, Y, shifting=True)
    assert verify(cert, wide, Y)
    facts = json.loads(cert.text())
    piece = facts["runs"]["run"]["pieces"][0]
    piece["at"], piece["values"] = [7, 8], [1, 1]
    assert "a piece has weights on columns without an entry" in str(verify(facts, wide, Y))


def test_it_is_said_in_words_and_where_it_is_not_known():
    line = next(line for line in words.table(CERT)["run"] if line.label == "  by shifting")
    assert line.note == f"weights for {CERT.claims['run: pieces']} pieces of the rounds"
    assert CERT.allowed()["by weights that shift"] == CERT.number(CLAIM, "run")
    joint = Perceptron(multi_class="joint").partial_fit(X[:9], [*"abcabcabc"])
    remarks = " ".join(joint.certificate(X[:9], [*"abcabcabc"], shifting=True).remarks)
    assert "no weights that shift are stated: they are known for the perceptron of two classes" in remarks
    assert "pieces" not in str(CLF.certificate(X, Y).facts["runs"])
    assert certify(X, Y, passes=1).runs == []


def test_runs_of_version_1_have_no_pieces():
    """Their rounds are not compared with those of the pieces: one round would bound any number of mistakes."""
    golden = json.loads((Path(__file__).parent / "golden" / "format-1-perceptron.json").read_text())
    facts = golden["certificate"]
    assert verify(facts, golden["X"], golden["y"])
    facts["runs"]["run"] |= {"order": "rows", "pieces": [{"rounds": 1, "exponent": 0, "values": [0, 0, 0]}]}
    with pytest.raises(FormError, match="parts that runs of version 1 have not"):
        check_form(facts)
    assert not verify(facts, golden["X"], golden["y"])
