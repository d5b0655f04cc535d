"""Bounds of the fewest errors: the true number lies between them, and a checker recomputes both."""

import copy
import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linsep import AveragedPerceptron, Certificate, Perceptron, VotedPerceptron, certify, verify
from linsep.certificates import words
from linsep.certificates.schema import FormError, check_form
from tests.certificates import plain
from tests.certificates.test_forgery import recomputed
from tests.solvers.gordan import separable

ROWS = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 3.0], [3.0, 4.0], [0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]
LABELS = list("abbabbab")


def fewest_left_out(Z, rivals=1):
    """The least number of rows of the data whose absence makes the others separable."""
    n = len(Z) // rivals
    kept = (np.delete(np.arange(n), out) for k in range(n + 1) for out in combinations(range(n), k))
    return n - next(len(rows) for rows in kept if separable(Z[np.isin(np.arange(len(Z)) // rivals, rows)]))


@settings(max_examples=12)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.sampled_from("ab")), min_size=2, max_size=7),
    st.booleans(),
)
def test_the_fewest_errors_are_between_the_bounds(table, sparse):
    X, y = np.array([row[:2] for row in table], float), [row[2] for row in table]
    cert = certify(csr_array(X) if sparse else X, y, passes=1, least_error=True)
    assert verify(cert, X, y)
    positive = cert.facts["data"]["classes"][-1]
    for key in cert.keys[:2]:
        Z = np.array(plain.signed(X, y, positive, key.bias), float)
        least, most = cert.fewest_errors(str(key))
        assert least <= fewest_left_out(Z) <= most
        assert (least == 0) == (cert.claims[f"{key}: verdict"] == "separable")


def test_pairs_of_one_row_are_one_error():
    X, y = np.array([[0.0], [0.0], [0.0], [2.0], [3.0]]), list("abcab")
    cert = certify(X, y, passes=1, least_error=True)
    assert verify(cert, X, y)
    pairs = np.array(plain.pairs(X, y, ["a", "b", "c"], 1), float)
    least, most = cert.fewest_errors("pairs, bias 1")
    assert 1 <= least <= fewest_left_out(pairs, rivals=2) <= most <= 3
    rows = [{i // 2 for i in of["at"]} for of in cert.facts["problems"]["pairs, bias 1"]["combinations"]]
    assert sum(map(len, rows)) == len(set().union(*rows))


def test_errors_of_a_model_are_those_of_its_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    for classes, how in ((2, "ovr"), (3, "ovr"), (3, "joint")):
        y = (np.argmax(X @ rng.normal(size=(2, classes)) + 0.7 * rng.normal(size=(60, classes)), axis=1)).tolist()
        clf = AveragedPerceptron(multi_class=how).partial_fit(X, y)
        cert = clf.certificate(X, y, least_error=True)
        assert verify(cert, X, y)
        assert cert.claims[f"{cert.problems[0]}: errors of the model"] == np.sum(clf.predict(X) != y)
        least, most = cert.fewest_errors()
        assert 0 < least <= most <= cert.claims[f"{cert.problems[0]}: errors of the model"]
    voted = VotedPerceptron().partial_fit(X, y).certificate(X, y, least_error=True)
    assert "the errors of the model are not stated: readout=" in " ".join(voted.remarks)
    assert not any("errors of the model" in claim for claim in voted.claims)


def test_a_certificate_has_them_only_if_asked():
    cert = certify(ROWS, LABELS, passes=1)
    assert "combinations" not in cert.facts["problems"]["bias 1"]
    with pytest.raises(KeyError, match=r"has no claim .*fewest errors at least"):
        cert.fewest_errors()


def test_it_is_said_in_words():
    cert = Perceptron(intercept_scaling=1.0).partial_fit(ROWS, LABELS).certificate(ROWS, LABELS, least_error=True)
    least, most = cert.fewest_errors()
    assert (least, most) == (2, 2)
    lines = {line.label: line for line in words.table(cert)["bias 1"]}
    assert lines["fewest errors"].value == "2"
    assert lines["fewest errors"].note == "rows with y w·x <= 0 for the best w; 2 disjoint sets of rows that cancel"
    assert int(lines["errors of the model"].value) >= 2
    assert "fewest errors" in str(cert)


def made():
    facts = json.loads(certify(ROWS, LABELS, passes=1, least_error=True).text())
    assert len(facts["problems"]["bias 1"]["combinations"]) == 2
    return facts


FORGED = {
    "one twice": (lambda of: of.append(of[0]), "has a row of another combination"),
    "a row in two": (lambda of: of[0].update(at=of[1]["at"], values=of[1]["values"]), "a row of another combination"),
    "no rows": (lambda of: of.append({"at": [], "values": []}), "has a factor that is not above 0"),
    "a factor of 0": (lambda of: of[0]["values"].__setitem__(0, 0), "has a factor that is not above 0"),
    "a factor below 0": (lambda of: of[0].update(values=[-v for v in of[0]["values"]]), "a factor that is not above"),
    "places missing": (lambda of: of[0].pop("at"), "combination 0"),
    "a row beyond": (lambda of: of[0]["at"].__setitem__(-1, 99), "has no such places"),
    "an unknown key": (lambda of: of[0].update(sum=0), "which is unknown"),
    "no mapping": (lambda of: of.append([0, 1]), "is no mapping"),
    "another text": (lambda of: of[0]["values"].__setitem__(0, "0xg"), "which is no integer"),
}


@pytest.mark.parametrize("what", FORGED)
def test_combinations_that_are_none_are_refused(what):
    change, why = FORGED[what]
    facts = made()
    change(facts["problems"]["bias 1"]["combinations"])
    with pytest.raises(FormError, match=why):
        check_form(facts)
    assert not verify(facts, ROWS, LABELS)
    other = recomputed(facts, np.array(ROWS), LABELS)
    assert other is None or not verify(other, ROWS, LABELS)


def test_rows_that_do_not_cancel_are_refused_by_the_checker():
    for change in (lambda of: of["values"].__setitem__(0, of["values"][0] + 1), lambda of: of["at"].pop()):
        facts = made()
        change(of := facts["problems"]["bias 1"]["combinations"][0])
        of["values"] = of["values"][: len(of["at"])]
        assert recomputed(facts, np.array(ROWS), LABELS) is None
        assert "rows of a combination do not cancel" in str(verify(facts, ROWS, LABELS))


def test_more_errors_than_are_proved_are_refused():
    facts = made()
    for claim in ("bias 1: fewest errors at least", "bias 1: fewest errors at most"):
        for value in (1, 3, "2", True, None):
            other = copy.deepcopy(facts)
            other["claims"][claim] = value
            assert not verify(other, ROWS, LABELS)
    del facts["problems"]["bias 1"]["combinations"][0]
    other = recomputed(facts, np.array(ROWS), LABELS)
    assert verify(other, ROWS, LABELS)
    assert Certificate(other).fewest_errors() == (1, 2)


def test_certificates_of_version_1_have_none():
    facts = made() | {"version": 1}
    with pytest.raises(FormError, match="combinations, which certificates of version 1 have not"):
        check_form(facts)


def test_the_time_limit_holds_and_leaves_bounds_that_are_true():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    cert = certify(X, y, passes=1, least_error=True, time_limit=0.2)
    assert verify(cert, X, y)
    least, most = cert.fewest_errors()
    assert 0 <= least <= most <= 300
