"""Replays: floats decide no round wrongly, forgers are refused, and files of version 1 are still read."""

import copy
import hashlib
import json
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from scipy.sparse import csr_array

from linsep import Certificate, CertificateError, Perceptron, verify
from linsep.certificates import checker, replay
from linsep.certificates.schema import FormError, check_form
from tests.certificates import forger, plain

GOLDEN = Path(__file__).parent / "golden"
some = settings(max_examples=40, phases=[Phase.explicit, Phase.reuse, Phase.generate])


@pytest.mark.slow
@pytest.mark.parametrize("name", forger.LEARNERS)
def test_no_forgery_is_believed(name):
    rng = np.random.default_rng(list(forger.LEARNERS).index(name))
    found = [each for _ in range(4) for each in forger.attacked(name, rng)]
    assert [(attack, wrong) for attack, _, wrong in found if wrong] == []
    assert all(believed for attack, believed, _ in found if attack == "none")
    never = {"repeated", "steps stated", "rows listed", "phantom class", "permuted classes", "dropped problem"}
    never |= {"renamed witness", "unknown key", "huge bias", "negated rows"}
    assert not [attack for attack, believed, _ in found if believed and attack in never]


entries = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from(
        [5e-324, -5e-324, 2.0**-500, -(2.0**-500), 1 - 2.0**-53, 1.0, -1.0, 1 + 2.0**-52, 1e16, -1e16, 0.1]
    ),
)


def ideal(X, y, epochs):
    """The rounds of the updates of a perceptron that computes in fractions, from 1, in the order of the file."""
    Z = plain.signed(X, y, "b", 1.0)
    v, rounds = [0] * len(Z[0]), []
    for t, z in enumerate(Z * epochs, 1):
        if plain.dot(v, z) <= 0:
            v = [a + b for a, b in zip(v, z, strict=True)]
            rounds.append(t)
    return rounds


def facts_of(X, updates, epochs):
    """A certificate of a run, without claims."""
    n, p = X.shape
    name = f"delta {epochs}"
    problem = {"positive": "b", "bias": 1.0, "games": False, "epsilon": "0.1", "delta": "0.1"}
    problem |= {"w": {name: {"exponent": 0, "values": [1] * (p + 1)}}}
    problem |= {"lambda": {name: {"exponent": 0, "values": [1] * n}}}
    run = {"theorem": "perceptron", "p": 2.0, "witness": name, "problem": "bias 1", "passes": epochs}
    run |= {"rounds": n * epochs, "order": "rows", "updates": np.diff(updates, prepend=0).tolist()}
    return {"version": 2, "data": {"classes": ["a", "b"]}, "problems": {"bias 1": problem}, "runs": {"run": run}}


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 3, 256])
@some
@given(data=st.data())
def test_floats_decide_no_round_wrongly(block, data):
    """Rows with ties, twins, zeros and entries of all sizes: the exact run is believed, and no other."""
    p, n = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 7))
    X = np.array(data.draw(st.lists(st.lists(entries, min_size=p, max_size=p), min_size=n, max_size=n)))
    y = data.draw(st.lists(st.sampled_from("ab"), min_size=n - 2, max_size=n - 2))
    y = [*y, "a", "b"]
    epochs = data.draw(st.integers(1, 3))
    updates = ideal(X, y, epochs)
    form = data.draw(st.sampled_from([np.asarray, csr_array]))
    with patch.object(replay, "MOST_ROUNDS", block):
        rows = checker.CheckedRows(form(X), y, ["a", "b"])
        found = checker.claims(facts_of(X, updates, epochs), rows)
        assert found["run: mistakes"] == len(updates)
        assert found["run: rounds decided by rounding"] == 0
        other = sorted({*updates} ^ {data.draw(st.integers(1, n * epochs))})
        if other:
            try:
                claims = checker.claims(facts_of(X, other, epochs), rows)
            except ValueError:
                return
            assert claims["run: rounds decided by rounding"] > 0


def a_run(name, wanted):
    """An honest certificate that is as wanted."""
    made = (forger.honest(name, np.random.default_rng(seed)) for seed in range(40))
    return next(found for found in made if wanted(found[0]))


def test_an_order_that_is_given_is_held_to_its_digest():
    facts, X, y = a_run("perceptron", lambda facts: facts["runs"]["run"]["order"] != "rows")
    run = facts["runs"]["run"]
    orders = [replay.permutation(run["order"], epoch, len(X)) for epoch in range(run["passes"])]
    assert verify(facts, X, y, orders=orders)
    with patch.object(replay, "permutation", lambda order, epoch, n: np.roll(orders[epoch], 1)):
        assert not verify(facts, X, y)
        assert verify(facts, X, y, orders=orders)
    for wrong in (
        [np.roll(order, 1) for order in orders],
        [order * 0 for order in orders],
        [],
        [order[:-1] for order in orders],
    ):
        assert not verify(facts, X, y, orders=wrong)


def test_the_final_sums_are_those_of_the_model():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=60) > 0, 1, 0)
    clf = Perceptron(max_iter=4, random_state=3, tol=None).fit(X, y)
    sums = np.append(clf.coef_[0], clf.intercept_)
    cert = clf.certificate(X, y)
    assert cert.claims["run: final sums, sha256"] == hashlib.sha256(sums.astype("<f8").tobytes()).hexdigest()


def _first(facts):
    return next(iter(facts["problems"].values()))


REFUSED = {
    "true as version": lambda facts: facts.update(version=True),
    "a float as version": lambda facts: facts.update(version=2.0),
    "a class that no row has": lambda facts: facts["data"]["classes"].append("c"),
    "an escape in a class": lambda facts: facts["data"].update(classes=["a", "b\x1b[2J"]),
    "an escape in a remark": lambda facts: facts["data"]["remarks"].append("\u202egood"),
    "an escape in a claim": lambda facts: facts["claims"].update({"run: \x07": "1"}),
    "a long integer": lambda facts: _first(facts)["w"]["margin"].update(values=[hex(1 << 10**6)] * 4),
    "many problems": lambda facts: facts["problems"].update({f"bias {k}": _first(facts) for k in range(2, 50)}),
    "a witness without a meaning": lambda facts: _first(facts)["w"].update(best={"exponent": 0, "values": [1] * 4}),
    "a further class that is known": lambda facts: facts["data"].update(known=["a"]),
    "an unknown key": lambda facts: _first(facts).update(verdict="separable"),
    "a seed that is no number": lambda facts: facts["runs"]["run"].update(
        order={"seed": "0", "shuffle": "epoch", "epochs": 1}
    ),
    "rounds that are no integers": lambda facts: facts["runs"]["run"].update(updates=[1.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", REFUSED)
def test_what_could_mislead_is_refused(what):
    facts, X, y = forger.honest("perceptron", np.random.default_rng(1))
    other = copy.deepcopy(facts)
    REFUSED[what](other)
    assert not verify(other, X, y)
    if what not in ("a long integer", "an escape in a claim"):
        forged = forger.recomputed(other, X, y)
        assert forged is None or not verify(forged, X, y)
    if what != "a class that no row has":
        with pytest.raises(FormError):
            check_form(other)


def test_a_key_that_occurs_twice_is_refused():
    facts, _, _ = forger.honest("perceptron", np.random.default_rng(1))
    text = json.dumps(facts).replace('"claims":', '"claims": {}, "claims":')
    with pytest.raises(CertificateError, match="the key 'claims' occurs twice"):
        Certificate.parse(text.encode(), "forged.cert")


def test_the_cost_of_a_file_is_bounded_before_it_is_checked():
    """Small files whose arithmetic would take hours: each is refused, and quickly."""
    facts, X, y = a_run("winnow", lambda facts: facts["runs"])
    costly = copy.deepcopy(facts)
    costly["runs"]["run"]["rate"] = 1e9
    assert "too many orders of magnitude" in str(verify(costly, X, y))
    rows = checker.CheckedRows(X, y, ["a", "b"])
    with patch.object(checker, "MOST_WORK", 1000), pytest.raises(FormError, match="operations to check"):
        checker.refuse_costly(facts, rows)
    long = copy.deepcopy(facts)
    for problem in long["problems"].values():
        for vector in (*problem["w"].values(), *problem["lambda"].values()):
            vector["values"] = [hex(1 << 200_000)] * len(vector["values"])
    wide = np.tile(X, (1500, 40))
    big = checker.CheckedRows(wide, np.tile(y, 1500), ["a", "b"])
    with pytest.raises(FormError, match="operations to check"):
        checker.refuse_costly(long, big)


def test_a_run_without_a_replay_is_not_said_to_be_checked():
    """Steps and shares of mixed shards are taken from the log: the result says so."""
    facts, X, y = forger.honest("perceptron", np.random.default_rng(2))
    clf = Perceptron(shards=2, max_iter=2, random_state=0).fit(X, y)
    status = {claim: status for claim, status, _ in verify(clf.certificate(X, y), X, y).checks}
    assert status["run: no other round was a mistake"] == "not checked"
    assert status["run: its shards, and their shares in each mix"] == "not checked"
    whole = {claim: status for claim, status, _ in verify(facts, X, y).checks}
    assert whole["run: no other round was an update"] == "holds"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("format-1-*.json")), ids=lambda path: path.stem)
def test_certificates_of_version_1_are_read(path):
    """They hold as they did, and what they do not prove is said."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    facts, X, y = stored["certificate"], np.array(stored["X"]), stored["y"]
    result = verify(facts, X, y)
    assert result, result.failures
    checks = {claim: status for claim, status, _ in result.checks}
    for name, run in facts["runs"].items():
        assert checks[f"{name}: no other round was a mistake"] == "not checked"
        assert ("steps" in run) == (f"{name}: its steps are the rule's" in checks)
    assert str(Certificate(facts))
    claim = next(claim for claim in facts["claims"] if "at most" in claim)
    assert not verify({**facts, "claims": {**facts["claims"], claim: "0.001"}}, X, y)
    assert not verify(facts, -X, y)


def test_there_are_certificates_of_version_1():
    assert len([*GOLDEN.glob("format-1-*.json")]) >= 8


def test_the_rounds_of_a_file_rise():
    facts, _, _ = forger.honest("perceptron", np.random.default_rng(0))
    rounds = np.cumsum(facts["runs"]["run"]["updates"]).tolist()
    assert all(a < b for a, b in pairwise(rounds))
