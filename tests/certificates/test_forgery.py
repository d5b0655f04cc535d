"""Forged certificates: each field is changed in many ways, with the seal as it was and with a new one."""

import copy
import hashlib
import json
import math
import re
import subprocess
import sys
import weakref
from decimal import Decimal
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from linsep import BalancedWinnow, PassiveAggressive, Perceptron, PNormPerceptron, Winnow, certify, verify
from linsep.certificates import checker, schema
from linsep.certificates.certificate import Certificate, CertificateError, risks_of
from linsep.certificates.schema import FormError, check_form
from tests.certificates import plain

X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, 0.5], [0.0, -3.0]])
Y = ["b", "b", "a", "a"]
THREE = np.array([[3.0, 1.0], [1.0, 0.0], [-2.0, 1.0], [-1.0, 2.0], [0.0, -2.0]])
SEAL, SEALED = "witnesses: sha256", ("data", "problems", "runs")
TORN = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 3.0], [3.0, 4.0]])


def seal(facts):
    """Put a new seal on witnesses; the claims stay as they are."""
    text = json.dumps([facts[k] for k in SEALED], sort_keys=True)
    facts["claims"]["witnesses: sha256"] = hashlib.sha256(text.encode()).hexdigest()


def kept(cert, X, y):
    """The certificate without the best bias, the one problem that may be left out."""
    problems = {k: v for k, v in cert.facts["problems"].items() if not k.startswith("best bias, ")}
    facts = {**cert.facts, "problems": problems}
    rows = checker.CheckedRows(X, y, facts["data"]["classes"])
    return json.loads(json.dumps(facts | {"claims": checker.claims(facts, rows)}))


def undecided():
    """A certificate that leaves all open: its weights are 0."""
    facts = copy.deepcopy(made("separable")[0])
    problem = facts["problems"]["bias 1"]
    problem["w"] = {k: {"exponent": 0, "at": [], "values": []} for k in ("margin", "delta 1")}
    problem["lambda"] = {k: {"exponent": 0, "values": [1, 1, 1, 1]} for k in ("margin", "delta 1")}
    return facts | {"claims": checker.claims(facts, checker.CheckedRows(X, Y, ["a", "b"]))}, X, Y


def run(learner, X, y):
    """The certificate of one pass."""
    learner.set_params(
        shuffle=False, max_iter=1, intercept_scaling=1.0, **({"log": True} if "C" in learner.get_params() else {})
    )
    clf = learner.partial_fit(X, y, classes=sorted(set(y)))
    return kept(clf.certificate(X, y), X, y), X, y


def of_data(X, y):
    """The certificate of data."""
    return kept(certify(X, y, passes=1), X, y), X, y


def of_errors(X, y):
    """The certificate of data that bounds the fewest errors."""
    return kept(certify(X, y, passes=1, least_error=True), X, y), X, y


def of_scaled(X, y):
    """The certificate of data, and of the same data with scaled columns."""
    return kept(certify(X, y, passes=1, scaling=True), X, y), X, y


OF_DATA = {
    "separable": lambda: of_data(X, Y),
    "not separable": lambda: of_data(TORN, list("aabbb")),
    "pairs": lambda: of_data(THREE, list("aabbc")),
    "scaled": lambda: of_scaled(X * [1.0, 0.03125], Y),
    "fewest errors": lambda: of_errors(TORN, list("abbab")),
    "open": undecided,
}
OF_RUNS = {
    "perceptron": lambda: run(Perceptron(), X, Y),
    "p-norm": lambda: run(PNormPerceptron(p=3.0), X, Y),
    "winnow": lambda: run(Winnow(eta=0.125), abs(X) / 4, ["b", "b", "a", "b"]),
    "balanced winnow": lambda: run(BalancedWinnow(eta=0.25), X / 4, Y),
    "pa": lambda: run(PassiveAggressive(C=0.5), X, Y),
}
MAKE = OF_DATA | OF_RUNS


@cache
def made(name):
    """A certificate, and its rows and labels: made when a test first asks for it, and changed by none."""
    return MAKE[name]()


def test_they_are_what_they_are_called_and_true():
    for name in ("separable", "not separable", "open"):
        assert made(name)[0]["claims"]["bias 1: verdict"] == name
    for name in MAKE:
        facts, X, y = made(name)
        assert bool(facts["risk"]) == (name in OF_RUNS), name
        assert verify(facts, X, y), name
        wrong = {k: v for k, v in plain.claims(facts, X, y).items() if not plain.true(k, facts["claims"][k], v)}
        assert not wrong, name
        resealed = copy.deepcopy(facts)
        seal(resealed)
        assert resealed == facts


def others(value):
    """What a forger may write for a value: other numbers, other types, other orders."""
    if isinstance(value, bool) or value is None:
        return [not value, "x", 2, [value], {}]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value, -value, 0, str(value), "x", None, [value], value + 0.5, 10**4, True]
    if isinstance(value, float):
        near = [math.nextafter(value, way) for way in (-math.inf, math.inf)]
        return [*near, 2 * value, -value, 0.0, 1e4, "x", None, [value], math.inf, math.nan, -1]
    if isinstance(value, str):
        return [*_texts(value), value + "x", "", "NaN", "Infinity", None, 0, [value], True]
    if isinstance(value, list):
        ends = [value[1:], value[:-1], value[::-1], value[1:] + value[:1]] if value else [[1]]
        more = [value + value[-1:], value + value, [*value, -1], [*value, 10**9], [[*value]]]
        return [*ends, *more, [], None, "x", {}, 7]
    return [None, [], "x", 0, {}, {**value, "more": 1}, {**value, "more": None}, dict([*value.items()][1:])]


def _texts(value):
    """Other texts of about the same number, or of about the same letters."""
    try:
        number = float(value)
    except ValueError:
        return [value[::-1], value.upper(), value[:-1]]
    mantissa, e, exponent = value.partition("E")
    digit = str((int(mantissa[-1]) + 1) % 10)
    return [mantissa[:-1] + digit + e + exponent, repr(2 * number), repr(-number), repr(number / 2), "0", number]


def places(facts, path=()):
    """All places of a certificate."""
    yield path
    items = facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def at(facts, path):
    """What stands at a place."""
    for key in path:
        facts = facts[key]
    return facts


def opened(facts, path):
    """A copy, and the part of it that has a place; what is not on the way to the place, nor a claim, is shared."""
    found = part = {**facts, "claims": {**facts["claims"]}}
    for key in path[:-1]:
        part[key] = copy.copy(part[key])
        part = part[key]
    return found, part


def changes(facts, path):
    """The certificate with one place changed, in every way: other values, and its key gone or called otherwise."""
    key, found = path[-1], []
    for other in others(at(facts, path)):
        changed, part = opened(facts, path)
        part[key] = other
        found.append(changed)
    changed, part = opened(facts, path)
    value = part.pop(key)
    found.append(changed)
    if isinstance(key, str):
        changed, part = opened(facts, path)
        del part[key]
        part[key + " "] = value
        found.append(changed)
    return [other for other in found if other != facts]


def in_turn(facts):
    """(path, one of its changes) for each place under the seal, another kind of change at each."""
    for number, path in enumerate(places(facts)):
        if path and path[0] in SEALED and (found := changes(facts, path)):
            yield path, found[number % len(found)]


def parameters(facts):
    """The places that are neither witnesses nor parts of a list: what a claim is about."""
    paths = [p for p in places(facts) if p and p[0] in SEALED and not isinstance(p[-1], int)]
    return [p for p in paths if 1 < len(p) <= (2 if p[0] == "data" else 3) and p[-1] not in ("w", "lambda")]


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
def test_any_change_breaks_the_seal(name):
    facts, X, y = made(name)
    believed = [path for path, other in in_turn(facts) if verify(other, X, y)]
    assert not believed


@pytest.mark.parametrize("name", MAKE)
def test_any_change_of_what_it_calls_itself_is_seen(name):
    facts, X, y = made(name)
    for path in (("format",), ("version",), ("data",), ("problems",), ("runs",)):
        assert not any(verify(other, X, y) for other in changes(facts, path)), path


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_RUNS)
def test_any_change_of_the_risk_is_seen(name):
    facts, X, y = made(name)
    paths = [path for path in places(facts) if path and path[0] == "risk"]
    assert [path for path in paths for other in changes(facts, path) if verify(other, X, y)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
def test_each_claim_fails_that_is_changed(name):
    facts, X, y = made(name)
    every = {claim: [v for v in others(value) if v != value] for claim, value in facts["claims"].items()}
    for turn in range(max(map(len, every.values()))):
        claims = {claim: values[turn % len(values)] for claim, values in every.items()}
        result = verify({**facts, "claims": claims}, X, y)
        assert {claim for claim, _ in result.failures} >= set(claims)
    for claims in ({}, {f"{k} ": v for k, v in facts["claims"].items()}, facts["claims"] | {"all: well": True}):
        assert not verify({**facts, "claims": claims}, X, y)


def test_each_claim_must_be_stated():
    facts, X, y = made("perceptron")
    for claim in facts["claims"]:
        assert not verify({**facts, "claims": {k: v for k, v in facts["claims"].items() if k != claim}}, X, y)


def test_nothing_can_be_added():
    facts, X, y = made("separable")
    assert not verify({**facts, "more": 1}, X, y)
    assert not verify({**facts, "claims": facts["claims"] | {"all: well": None}}, X, y)


def sealable(facts):
    """Whether a new seal can be put on it."""
    try:
        seal(facts)
    except (KeyError, TypeError):
        return False
    return True


def untrue(facts, X, y):
    """The claims that do not follow from the witnesses, or why the certificate makes no sense."""
    try:
        proved = plain.claims(facts, X, y)
    except plain.UnreadableError:
        return []
    except (plain.NonsenseError, KeyError, TypeError) as error:
        return [repr(error)]
    return [k for k in {**proved, **facts["claims"]} if k != SEAL and not _follows(k, facts["claims"], proved)]


def _follows(claim, stated, proved):
    return claim in stated and claim in proved and plain.true(claim, stated[claim], proved[claim])


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
def test_under_a_new_seal_what_is_believed_is_true(name):
    facts, X, y = made(name)
    forged = [*in_turn(facts), *((path, other) for path in parameters(facts) for other in changes(facts, path))]
    wrong = []
    for path, other in forged:
        if len(path) > 1 and sealable(other) and verify(other, X, y):
            wrong += [(path, why) for why in untrue(other, X, y)]
    assert not wrong


def recomputed(facts, X, y):
    """What a forger makes of it who lets the checker compute all claims; None where that refuses."""
    facts = copy.deepcopy(facts)
    try:
        rows = checker.CheckedRows(X, y, facts["data"]["classes"])
        facts["data"]["sha256"] = rows.sha256
        facts["claims"] = checker.claims(facts, rows)
        facts["risk"] = risks_of(facts["runs"], facts["claims"])
        seal(facts)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RuntimeWarning):
        return None
    return facts


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
@settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(data=st.data())
def test_whoever_recomputes_all_claims_states_true_ones(name, data):
    facts, X, y = made(name)
    other = copy.deepcopy(facts)
    for problem in other["problems"].values():
        for side in ("w", "lambda"):
            witness = problem[side][data.draw(st.sampled_from(sorted(problem[side])))]
            numbers = st.integers(-9 * (side == "w"), 2 ** data.draw(st.sampled_from([3, 53, 200])))
            size = [3, len(y)][side == "lambda"] if problem["positive"] else [9, 2 * len(y)][side == "lambda"]
            values = data.draw(st.lists(numbers, min_size=size, max_size=size))
            witness["values"] = [v if abs(v) < 1 << 60 else hex(v) for v in values]
            witness["exponent"] = data.draw(st.integers(-70, 9))
            witness.pop("at", None)
    for one in other["runs"].values():
        rounds = sorted(data.draw(st.permutations(range(1, len(y) + 1)))[: data.draw(st.integers(1, len(y)))])
        one |= {"updates": np.diff(rounds, prepend=0).tolist()}
    if (other := recomputed(other, X, y)) is not None and verify(other, X, y):
        assert untrue(other, X, y) == []


def _run(facts, **changed):
    facts["runs"]["run"].update(changed)


ORDER = {"seed": 0, "shuffle": "epoch", "epochs": 1}


def _updates(facts):
    return facts["runs"]["run"]["updates"]


def _problem(facts, **changed):
    facts["problems"]["bias 1"].update(changed)


def _called(facts, name):
    facts["problems"][name] = facts["problems"]["bias 1"]


def _turned(facts):
    witness = facts["problems"]["bias 1"]["w"][facts["runs"]["run"]["witness"]]
    witness["values"] = [-v for v in witness["values"]]


ATTACKS = {
    "a name that is not the bias's": ("separable", lambda facts: _called(facts, "no bias")),
    "a name that is not the class's": ("separable", lambda facts: _called(facts, "class a, bias 1")),
    "a class that is none": ("separable", lambda facts: _problem(facts, positive="")),
    "more rows than there are": ("separable", lambda facts: facts["data"].update(rows=10**6)),
    "fewer features": ("separable", lambda facts: facts["data"].update(features=1)),
    "an infinite bias": ("separable", lambda facts: _problem(facts, bias=math.inf)),
    "a bias that is no number": ("separable", lambda facts: _problem(facts, bias=math.nan)),
    "mistakes that are none": ("perceptron", lambda facts: _run(facts, updates=[1, 1, 1, 1])),
    "truths for round numbers": ("perceptron", lambda facts: _run(facts, updates=[True] * len(_updates(facts)))),
    "rows that are listed": ("perceptron", lambda facts: _run(facts, rows=[0, 1])),
    "an order of no epochs": ("perceptron", lambda facts: _run(facts, order=ORDER | {"epochs": 0})),
    "an order of more epochs": ("perceptron", lambda facts: _run(facts, order=ORDER | {"epochs": 2})),
    "a norm without a theorem": ("perceptron", lambda facts: _run(facts, p=1.01)),
    "a run of a million rounds": ("perceptron", lambda facts: _run(facts, rounds=10**6)),
    "fewer rounds than mistakes": ("perceptron", lambda facts: _run(facts, rounds=1)),
    "mistakes of Winnow that are none": ("winnow", lambda facts: _run(facts, updates=[1] * 4)),
    "a round twice": ("pa", lambda facts: _run(facts, updates=[1, 0])),
    "a round after the last": ("pa", lambda facts: _run(facts, updates=[1, 1, 1, 1, 1])),
    "steps that are stated": ("pa", lambda facts: _run(facts, steps=[1, 1], exponent=-8)),
    "no passes": ("pa", lambda facts: _run(facts, passes=0)),
    "a negative C": ("pa", lambda facts: _run(facts, C=-100.0)),
}  # fmt: skip


def test_a_target_of_winnow_that_separates_nothing_proves_nothing():
    facts, X, y = made("winnow")
    other = copy.deepcopy(facts)
    _turned(other)
    other = recomputed(other, X, y)
    counted = {"mistakes", "rounds", "updates", "rounds decided by rounding", "no other round was an update"}
    counted |= {"order, sha256", "final sums, sha256", "confidence"}
    assert {claim.removeprefix("run: ") for claim in other["claims"] if claim.startswith("run: ")} == counted


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_no_theorem_is_about_is_refused(attack):
    name, change = ATTACKS[attack]
    facts, X, y = made(name)
    other = copy.deepcopy(facts)
    change(other)
    other = recomputed(other, X, y)
    assert other is None or not verify(other, X, y)
    if "name that is not" in attack:
        assert "is a problem that is called 'bias 1'" in str(verify(other, X, y))


def test_classes_that_are_no_list_do_not_merge_labels():
    facts, X, _ = made("separable")
    other = copy.deepcopy(facts)
    other["data"]["classes"] = "ab"
    other["problems"]["bias 1"]["positive"] = "a"
    y = ["a", "ab", "a", "ab"]
    other = recomputed(other, X, y)
    assert other is None or not verify(other, X, y)


@pytest.mark.parametrize("name", MAKE)
def test_other_data_are_told_from_these(name):
    facts, X, y = made(name)
    for i, j in np.ndindex(X.shape):
        near = X.copy()
        near[i, j] = np.nextafter(near[i, j], np.inf)
        result = verify(facts, near, y)
        assert not result
        assert "other rows or labels" in result.failures[0][1]
    for i in range(len(y)):
        flipped = [*y[:i], "a" if y[i] == "b" else "b", *y[i + 1 :]]
        assert not verify(facts, X, flipped)
    assert not verify(facts, X[::-1], y[::-1])
    assert not verify(facts, X[:-1], y[:-1])
    assert not verify(facts, X, y[:-1])
    assert not verify(facts, X[:, :1], y)
    assert not verify(facts, np.hstack([X, 0 * X]), y)
    assert not verify(facts, X * 2, y)


@pytest.mark.parametrize(
    "X", [None, "x", 7, [], [[]], [["x"]], [[math.nan]], np.zeros((4, 2, 2)), np.zeros(4), {}, [[1.0, 2.0], [3.0]]]
)
@pytest.mark.parametrize("y", [Y, None, [], [[1]], 7])
def test_whatever_the_data_are_it_answers(X, y):
    for name in ("separable", "perceptron", "winnow"):
        assert not verify(made(name)[0], X, y)


UNKNOWN = "Unknown label type: unknown. Maybe you are trying to fit a classifier"
FINITE = [[1.0, 2.0], [0.0, 1.0]]
BAD = {
    "row 0, column 1 holds None, not a number": ([[1.0, None], [0.0, 1.0]], [0, 1]),
    "row 1, column 0 holds 'x', not a number": ([[1.0, 2.0], ["x", 1.0]], [0, 1]),
    "Input X contains NaN (row 0, column 0): fill missing values in, or drop the row": (
        [[math.nan, 2.0], [0.0, 1.0]],
        [0, 1],
    ),
    "Input X contains infinity or a value too large for float64 (row 1, column 1)": (
        csr_array([[1.0, 2.0], [0.0, math.inf]]),
        [0, 1],
    ),
    "row 0, column 1 holds 100000000000000000..., too large for a float": ([[1.0, 10**400], [0.0, 1.0]], [0, 1]),
    "y mixes labels of different types (NoneType, str): give all of them one type": (
        [[1.0, 2.0], [0.0, 1.0]],
        ["a", None],
    ),
    "row 1, column 0 holds 0x1000000000000000..., too large for a float": ([[1.0, 2.0], [1 << 20_000, 1.0]], [0, 1]),
    "label 'ccccccccccccccccc... of row 0 is not among the certificate's labels": ([[1.0]], ["c" * 40]),
    f"{UNKNOWN}, which expects discrete classes on a regression target with continuous values.": (
        [[1.0]],
        [1 << 20_000],
    ),
    "label 'c' of row 0 is not among the certificate's labels": (FINITE, ["c", "a"]),
    "X has 1 dimension: it must have 2, rows and columns": ([1.0, 2.0], ["a", "b"]),
    "X has 3 dimensions: it must have 2, rows and columns": (np.zeros((2, 2, 2)), ["a", "b"]),
    "y should be a 1d array, got an array of shape (2, 2) instead.": (FINITE, [["a", "b"]] * 2),
    "row 0, column 0 holds Decimal('0.1'), which no float of 64 bits equals": ([[Decimal("0.1"), 1.0]], ["a"]),
    "the rows of X are not all of one length": ([[1.0, 2.0], [0.0]], ["a", "b"]),
    "X has 2 rows and y has 1 labels: inconsistent numbers of samples": (FINITE, ["a"]),
}


@pytest.mark.parametrize("reason", BAD)
@pytest.mark.parametrize("name", ["separable", "winnow"])
def test_bad_data_are_named_by_their_place(name, reason):
    assert verify(made(name)[0], *BAD[reason]).failures == [("data", reason)]


def test_a_name_of_no_file_is_refused_as_other_unreadable_files_are(tmp_path):
    for path in ("", tmp_path, "a\0b"):
        with pytest.raises(CertificateError, match="is not a certificate"):
            verify(path, X, Y)
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none.cert", X, Y)


@pytest.mark.parametrize("what", [None, [], 7, {}, {"data": None}, {"data": {"classes": None}}])
def test_whatever_the_certificate_is_it_answers(what):
    result = verify(what, X, Y)
    assert not result
    assert str(result).startswith("fails")


def _swapped(facts, side, problem, name="margin"):
    """Call the witness of a name "hinge", and put another one in its place: negative weights, or one row."""
    witnesses = facts["problems"][problem][side]
    witnesses["hinge"] = copy.deepcopy(witnesses[name])
    values = [-v for v in witnesses["hinge"]["values"]] if side == "w" else [1] + [0] * (facts["data"]["rows"] - 1)
    witnesses[name] = {"exponent": 0, "values": values}


@pytest.mark.parametrize(
    ("made_of", "side", "problem", "name"),
    [
        ("separable", "w", "bias 1", "margin"), ("separable", "w", "no bias", "margin"),
        ("separable", "w", "bias 1", "balanced Winnow's margin"), ("not separable", "lambda", "bias 1", "margin"),
        ("pairs", "w", "pairs, bias 1", "margin"), ("pairs", "w", "class a, bias 1", "margin"),
    ],
)  # fmt: skip
def test_witnesses_that_reports_are_taken_from_prove_what_they_are_called(made_of, side, problem, name):
    facts, X, y = made(made_of)
    other = copy.deepcopy(facts)
    other["problems"][problem][side].setdefault(name, other["problems"][problem][side]["margin"])
    honest = recomputed(other, X, y)
    assert verify(honest, X, y)
    _swapped(other, side, problem, name)
    other = recomputed(other, X, y)
    assert {k: v for k, v in other["claims"].items() if k != SEAL} == {
        k: v for k, v in honest["claims"].items() if k != SEAL
    }
    assert f"{side} {name!r} does not prove it, but " in str(verify(other, X, y))


def test_without_a_witness_of_that_name_nothing_is_read_from_another():
    facts, X, y = made("separable")
    other = copy.deepcopy(facts)
    w = other["problems"]["bias 1"]["w"]
    w["hinge"] = w.pop("margin")
    cert = Certificate(recomputed(other, X, y))
    assert verify(cert, X, y)
    with pytest.raises(KeyError, match="no weights are called"):
        _ = cert.witness
    assert str(cert).startswith("Separable: ")


def test_rows_that_cancel_are_counted_only_where_the_count_is_checked():
    facts, X, y = made("not separable")
    assert re.match("Not separable: [2-5] rows, weighed", str(Certificate(facts)))
    other = copy.deepcopy(facts)
    mixtures = other["problems"]["bias 1"]["lambda"]
    mixtures["Winnow's margin"] = mixtures["margin"]
    mixtures["margin"] = {"exponent": 0, "values": [1, 0, 0, 0, 0]}
    cert = Certificate(recomputed(other, X, y))
    assert verify(cert, X, y)
    assert "Not separable: some rows, weighed" in str(cert)


LONG = 10**5000
"""Python refuses to write integers of so many digits out."""
UNWRITABLE = {
    "values": lambda facts: facts["problems"]["bias 1"]["w"]["margin"].update(values=[LONG] * 3),
    "problem": lambda facts: facts["problems"].update({LONG: {}}),
    "claim": lambda facts: facts["claims"].update(more=LONG),
    "risk": lambda facts: facts["risk"].update(run=LONG),
    "array": lambda facts: facts.update(format=np.zeros(2)),
    "norm": lambda facts: _run(facts, theorem="winnow", norm=np.zeros(2), rate=0.1),
}


@pytest.mark.parametrize("what", UNWRITABLE)
def test_values_that_no_file_can_hold_are_answered(what):
    facts, X, y = made("perceptron")
    other = copy.deepcopy(facts)
    UNWRITABLE[what](other)
    result = verify(other, X, y)
    assert not result
    assert str(result).startswith(("fails", "holds"))


def test_winnows_theorem_says_nothing_of_pairs():
    """A problem of pairs has more weights than Winnow's bound counts: with N = 1 it would be at most 0 mistakes."""
    X, y = np.array([[1.0], [-1.0], [1.0], [1.0]]), ["a", "b", "a", "c"]
    clf = Perceptron(multi_class="joint", shuffle=False, fit_intercept=False).partial_fit(X, y, classes=["a", "b", "c"])
    facts = json.loads(clf.certificate(X, y).text())
    assert verify(facts, X, y)
    facts["problems"]["pairs, no bias"]["w"]["margin"] = {"exponent": 0, "values": [5, 0, 0, 0, 4, 0]}
    run = {"theorem": "winnow", "norm": "simplex", "rate": 0.125, "witness": "margin"}
    del facts["runs"]["run of pairs"]["p"]
    facts["runs"]["run of pairs"] |= run
    assert recomputed(facts, X, y) is None  # "mistakes" 1, "mistakes at most" 0
    assert "'run of pairs' is of pairs, and not of the perceptron" in str(verify(facts, X, y))


def without(cert, *names):
    """A certificate without some of its problems."""
    facts = copy.deepcopy(cert.facts)
    for name in names:
        del facts["problems"][name]
    return facts


def test_no_problem_can_be_left_out():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), list("aabb")
    cert = certify(X, y, passes=1)
    assert cert.verdict == "separable"
    assert cert.problems[2].startswith("best bias, ")
    for name, why in (("no bias", "it has no problem 'no bias'"), ("bias 1", "which is none of these data")):
        assert why in str(verify(recomputed(without(cert, name), X, y), X, y))
    cert = certify(THREE, list("aabbc"), passes=1)
    for name in cert.problems:
        if name.startswith("class "):
            other = recomputed(without(cert, name), THREE, list("aabbc"))
            assert f"it has no problem {name!r}" in str(verify(other, THREE, list("aabbc")))
    other = recomputed(without(cert, "pairs, bias 1"), THREE, list("aabbc"))
    assert verify(other, THREE, list("aabbc"))
    assert Certificate(other).verdict == "open"


def test_a_verdict_on_rows_without_a_bias_says_so():
    """All that is left of a separable certificate may be what is proved of hyperplanes through the origin."""
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), list("aabb")
    cert = certify(X, y, passes=1)
    names = [name for name in cert.problems if name != "no bias"]
    kept = Certificate(recomputed(without(cert, *names), X, y))
    for one in (kept, certify(X, y, passes=1, bias=0)):
        assert verify(one, X, y)
        assert "not separable without a bias" in repr(one)
        assert "every hyperplane through the origin has one of them on its wrong side" in str(one)
        assert "no training without a bias ends without mistakes" in str(one)
        assert "no hyperplane through the origin separates" in str(one)
        assert "every hyperplane has" not in str(one)


def test_control_characters_do_not_reach_the_terminal():
    red = "\x1b[31mred\n"
    facts, X, y = made("separable")
    other = {**copy.deepcopy(facts), "claims": {**facts["claims"], red: red}}
    other["data"]["remarks"] = [red]
    cert = certify(X, [red if label == "b" else label for label in y], passes=1)
    for text in (str(verify(other, X, y)), str(Certificate(other)), str(cert)):
        assert all(c.isprintable() for c in text.replace("\n", ""))
    assert "\\x1b[31mred\\n" in str(verify(other, X, y))
    assert "\\x1b[31mred\\n" in str(Certificate(other))


def test_one_problem_at_a_time_is_in_memory():
    """Classes without a row cost a forger a few bytes each, and the checker as much memory as there are rows."""

    class Counted(checker.SignedProblem):
        alive, most = weakref.WeakSet(), 0

        def __init__(self, *args):
            super().__init__(*args)
            self.alive.add(self)
            Counted.most = max(Counted.most, len(self.alive))

    facts, X, y = made("pairs")
    assert checker.claims(facts, checker.CheckedRows(X, y, ["a", "b", "c"]), Counted) == facts["claims"]
    assert Counted.most <= 2 < len(facts["problems"])


def test_too_many_mixes_are_refused():
    facts, X, y = made("perceptron")
    other = copy.deepcopy(facts) | {"version": 1}
    count = len(other["runs"]["run"].pop("updates"))
    del other["runs"]["run"]["order"], other["runs"]["run"]["confidence"]
    _run(other, rows=list(range(count)), mixes=[[[0, 1]]] * 100_000 + [[[count, 1]]])
    assert "more shards in its mixes than 100,000" in str(verify(other, X, y))
    other = copy.deepcopy(facts)
    del other["runs"]["run"]["confidence"]
    _run(other, shards=[[2, 1]], mixing="rows")
    assert "than can be checked" not in str(verify(other, X, y))
    for limit in ("MOST_MIXES", "MOST_BITS"):
        with patch.object(schema, limit, 1):
            assert "'run' has more mixes, or finer ones, than can be checked" in str(verify(other, X, y))


@pytest.mark.parametrize(
    "changed",
    [
        {"shards": []}, {"shards": [[0, 1]]}, {"shards": [[2, 0]]}, {"shards": [[2, 2]]}, {"shards": [[5, 1]]},
        {"shards": [[2, True]]}, {"shards": [[2.0, 1]]}, {"shards": [2, 1]}, {"shards": None}, {"shards": "2"},
        {"mixing": "by size"}, {"mixing": None}, {"mixing": ["rows"]}, {"rows": [0]}, {"mixes": [[[1, 1]]]},
        {"steps": [1]},
    ],
)  # fmt: skip
def test_shards_that_are_none_are_refused(changed):
    facts, X, y = made("perceptron")
    other = copy.deepcopy(facts)
    del other["runs"]["run"]["confidence"]
    _run(other, **({"shards": [[2, 1]], "mixing": "rows"} | changed))
    with pytest.raises(FormError):
        check_form(other)
    assert not verify(other, X, y)


def test_pairs_of_too_many_classes_are_refused():
    """The sums of a run would fill the memory; weights of 0 that are not written take none."""
    facts, X, y = made("pairs")
    other = copy.deepcopy(facts)
    other["data"]["features"] = 10**8
    for problem in other["problems"].values():
        for vector in problem["w"].values():
            vector.setdefault("at", list(range(len(vector["values"]))))
    seal(other)
    assert "these are other rows or labels" in str(verify(other, X, y))
    name = next(name for name, problem in other["problems"].items() if problem["positive"] is None)
    run = {"theorem": "perceptron", "p": 2.0, "witness": "margin", "problem": name, "passes": 1, "rounds": len(y)}
    other["runs"] = {"run of pairs": run | {"order": "rows", "updates": [1], "rivals": [1]}}
    assert "'run of pairs' has sums of more than 100,000,000 numbers" in str(verify(other, X, y))


def _delta(facts, **changed):
    facts["problems"]["bias 1"]["w"]["delta 1"].update(changed)


def _far_bias(facts):
    """Let the run be one of Winnow, whose rate times the bias is far beyond its rate times the entries."""
    facts["problems"]["bias 100000000"] = facts["problems"].pop("bias 1") | {"bias": 1e8}
    _run(facts, problem="bias 100000000", theorem="winnow", norm="l1", rate=1.0, witness="margin")


def _witnesses(facts, count):
    w = facts["problems"]["bias 1"]["w"]
    w |= {f"more {k}": {"exponent": 0, "values": [hex(1 << 10**5)] * 3} for k in range(count)}


def _problems(facts, count):
    """Add problems of other biases, with long witnesses."""
    _witnesses(facts, 9)
    for k in range(2, count):
        facts["problems"][f"bias {k}"] = facts["problems"]["bias 1"] | {"bias": float(k)}


HUGE = {
    "bias": _far_bias,
    "integer": lambda facts: facts["problems"]["bias 1"]["w"]["margin"].update(values=[hex(1 << 3 * 10**7)] * 3),
    "witnesses": lambda facts: _witnesses(facts, 400),
    "problems": lambda facts: _problems(facts, 100),
    "exponent": lambda facts: _delta(facts, exponent=10**30),
    "small exponent": lambda facts: _delta(facts, exponent=-(10**11)),
    "value": lambda facts: facts["problems"]["bias 1"]["w"]["margin"].update(values=[hex(1 << 4000)] * 3),
    "epsilon": lambda facts: _problem(facts, epsilon="1e-1000000000"),
    "passes": lambda facts: _run(facts, passes=10**300),
    "p": lambda facts: _run(facts, p=1e300),
    "large p": lambda facts: _run(facts, p=9999.5),
    "rate": lambda facts: _run(facts, theorem="winnow", norm="l1", rate=1e7, witness="margin"),
    "steps": lambda facts: _run(facts, theorem="passive_aggressive", steps=[1, 1], exponent=10**30, C=1.0, first=True),
}


@pytest.mark.slow
def test_huge_numbers_are_refused_in_no_time(tmp_path):
    facts, X, y = made("perceptron")
    forged = {what: copy.deepcopy(facts) for what in HUGE}
    for what, other in forged.items():
        HUGE[what](other)
        seal(other)
    (tmp_path / "forged.json").write_text(json.dumps([forged, X.tolist(), y]))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "forged.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{what}: False" for what in HUGE]
    assert done.stderr == ""


LIMITED = """
import json, resource, sys
from linsep import verify
forged, X, y = json.load(open(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_CPU, (12, 12))
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
for what, other in forged.items():
    print(f"{what}: {bool(verify(other, X, y))}", flush=True)
"""
