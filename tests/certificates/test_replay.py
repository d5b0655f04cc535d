"""Replays: floats decide no round wrongly, forgers are refused, and files of version 1 are still read."""

import copy
import hashlib
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from scipy.sparse import csr_array

from linsep import ROMMA, Certificate, CertificateError, Perceptron, verify
from linsep.certificates import checker, replay
from linsep.certificates.schema import FormError, check_form
from tests.certificates import forger, plain
from tests.fits import fit

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
    never |= {"shares stated", "phantom rows", "cancelling invented"}
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


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_is_replayed(aggressive):
    """Rows at margin 1/2 make the aggressive rule start again; ties at margin 1 are no updates."""
    X = np.array([[2.0, 0.0], [1.0, 0.5], [-1.0, 0.25], [2.0, 0.0], [3.0, -1.0], [1.0, 0.5], [-0.5, -2.0]])
    y = np.array(["b", "b", "a", "b", "b", "b", "a"])
    clf = ROMMA(aggressive=aggressive, fit_intercept=False, shuffle=False, max_iter=5, log=True).fit(X, y)
    cert = clf.certificate(X, y)
    assert aggressive == bool((clf.log_.keeps[1:] == 0).any())
    assert cert.claims["run: mistakes"] == clf.mistakes_ <= cert.number("mistakes at most", "run")
    assert verify(cert, X, y)
    assert forger.untrue(json.loads(cert.text()), X, y) == []


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


def test_runs_with_shards_are_replayed():
    """Shards and shares follow from the order, the rule and the data: nothing of the run is left unchecked."""
    _, X, y = forger.honest("perceptron", np.random.default_rng(2))
    clf = fit(Perceptron(shards=2, mixing="mistakes", max_iter=2, random_state=0, tol=None), X, y)
    cert = clf.certificate(X, y)
    assert {"rows", "mixes", "steps"}.isdisjoint(cert.facts["runs"]["run"])
    assert cert.facts["runs"]["run"]["shards"] == [[2, 2]]
    status = {claim: status for claim, status, _ in verify(cert, X, y).checks}
    assert status["run: no other round was an update"] == "holds"
    assert set(status.values()) == {"holds"}
    sums = np.append(clf.coef_[0], clf.intercept_)
    assert cert.claims["run: final sums, sha256"] == hashlib.sha256(sums.astype("<f8").tobytes()).hexdigest()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", [1, 3])
def test_sums_are_those_of_integers(form, classes):
    """Digits carry into new ones, of either sign, for amounts of any length; so do sums that are set at once."""
    rng = np.random.default_rng(classes)
    X = rng.integers(-1000, 1000, (40, 6)) / 4 * (rng.random((40, 6)) < 0.7)
    y = np.array(["a", "b", "c", "d"])[np.append(np.arange(classes + 1), rng.integers(0, classes + 1, 39 - classes))]
    names = sorted(set(y.tolist()))
    facts = facts_of(X, [1], 1)
    if classes > 1:
        names = names[:classes]
        y = np.array(names)[rng.integers(0, classes, 40)]
        facts["problems"]["bias 1"] |= {"positive": None, "w": {}, "lambda": {}}
    rows = checker.CheckedRows(form(X), y, names)
    problem = checker.SignedProblem(rows, facts["problems"]["bias 1"], names)
    run = replay.Replay(problem, facts["runs"]["run"])
    exact = np.zeros((7, run.classes), object)
    for bits in (1, 3, 40, 90, 200, 5):
        which = rng.permutation(40)[:20]
        amounts = np.array([[int(rng.integers(-9, 10)) << bits for _ in range(run.classes)] for _ in which], object)
        Z = run.block(which)
        dense = Z.toarray() if run.sparse else Z
        run.add(Z, run.split(Z), amounts)
        exact += (dense.T * 4).astype(np.int64).astype(object) @ amounts
        assert (run.fraction(run.v) == exact).all()
        assert (run.scores(run.split(Z), 20) == (dense * 4).astype(np.int64).astype(object) @ exact).all()
        near = np.array([float(Fraction(v, 4)) for v in exact.ravel()]).reshape(exact.shape)
        np.testing.assert_allclose(run.near, near, rtol=1e-15)
    run.set_fraction(exact * 3 + 1, 3)
    assert (run.fraction(run.v) == exact * 3 + 1).all()
    np.testing.assert_allclose(run.near, near + 1 / 12, rtol=1e-15)


def test_a_long_run_is_replayed_exactly():
    """Sums grow by far more than a digit, and updates go on and on: the rounds are those of fractions."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(200, 256, 60), rng.integers(0, 256, (60, 2))]).astype(float)
    y = np.array(["a", "b"])[rng.integers(0, 2, 60)].tolist()
    updates = ideal(X, y, 40)
    for form in (np.asarray, csr_array):
        rows = checker.CheckedRows(form(X), y, ["a", "b"])
        with patch.object(replay, "MOST_ROUNDS", 7):
            found = checker.claims(facts_of(X, updates, 40), rows)
            assert found["run: mistakes"] == len(updates) > 500
            assert found["run: rounds decided by rounding"] == 0
            with pytest.raises(ValueError, match="update"):
                checker.claims(facts_of(X, updates[:-1], 40), rows)


def test_what_the_time_limit_leaves_is_named():
    facts, X, y = forger.honest("perceptron", np.random.default_rng(2))
    with patch.object(checker.time, "monotonic", iter(range(10**6)).__next__):
        for seconds in (0.5, 3, 20, 50):  # the clock is read 60 times
            result = verify(facts, X, y, time_limit=seconds)
            assert not result
            assert result.failures == []
            left = [claim for claim, status, _ in result.checks if status == "not in time"]
            assert result.unchecked == left != []
            assert {claim for claim, *_ in result.checks} == {*facts["claims"]}
            alone = checker.check(facts, X, y, time_limit=seconds)
            assert {claim for claim, status, _ in alone if status == "not in time"} >= {*left} - {*facts["claims"]}
    assert verify(facts, X, y, time_limit=600)
    with pytest.raises(ValueError, match="time_limit=0 leaves no time"):
        verify(facts, X, y, time_limit=0)


def test_wide_rows_cost_what_their_entries_cost():
    """Columns without an entry or a weight add nothing: claims are those of the full width, and arrays are short."""
    rng = np.random.default_rng(1)
    X = np.zeros((30, 5000))
    X[:, rng.permutation(5000)[:8]] = rng.integers(-3, 4, (30, 8))
    y = np.where(X.sum(axis=1) + rng.integers(-1, 2, 30) > 0, "a", "b")
    for multi in ("ovr", "joint"):
        labels = y if multi == "ovr" else np.where(X.max(axis=1) > 2, "c", y)
        clf = fit(Perceptron(max_iter=3, random_state=0, multi_class=multi), csr_array(X), labels)
        cert = clf.certificate(csr_array(X), labels)
        assert cert.runs
        assert verify(cert, csr_array(X), labels)
        with patch.object(checker, "WIDE", 10**6):
            assert verify(cert, csr_array(X), labels)
        assert verify(cert, X, labels)  # dense rows are of full width
        rows = checker.CheckedRows(csr_array(X), labels, sorted(set(labels.tolist())))
        for known in cert.facts["problems"].values():
            problem = checker.SignedProblem(rows, known, cert.facts["data"]["classes"])
            assert problem.columns < 100
            if not problem.pairs:
                assert {k: v for k, v in cert.claims.items() if "VC" in k} | {} == {
                    k: 5000 + ("no bias" not in k) for k in cert.claims if "VC" in k
                }


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


def replayed(facts, X, y, classes, exactly, block):
    """What a replay states, and in how many blocks floats left rounds open; None if it refuses the run."""
    left, undecided = [], replay.Replay.undecided

    def watched(self, *given):
        found = undecided(self, *given)
        left.append(found.any())
        return np.ones_like(found) if exactly else found

    with patch.object(replay.Replay, "undecided", watched), patch.object(replay, "MOST_ROUNDS", block):
        rows = checker.CheckedRows(X, y, classes)
        (known,) = facts["problems"].values()
        try:
            found = replay.Replay(checker.SignedProblem(rows, known, classes), facts["runs"]["run"]).all(None)
        except ValueError:
            return None, left
    events = [(event.row, event.listed, event.step) for event in found.events if event.listed]
    return found._replace(events=events), left


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**600])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("classes", ["ab", "abc"])
def test_floats_and_exact_numbers_replay_a_run_alike(classes, form, scale):
    """Where floats decide whole blocks, sums, squares and refusals are those of exact numbers."""
    rng = np.random.default_rng(len(classes))
    X = rng.normal(size=(90, 4)) * np.repeat([1, 3, 0.1], 30)[:, None]
    labels = np.array([*classes])[np.argmax(X @ rng.normal(size=(4, len(classes))) + rng.normal(size=(90, 1)), axis=1)]
    clf = fit(Perceptron(max_iter=6, tol=None, random_state=0, multi_class="joint", log=True), X, labels)
    cert = json.loads(clf.certificate(X, labels).text())
    (name,) = cert["runs"]
    run, known = cert["runs"][name], cert["problems"][cert["runs"][name]["problem"]]
    known = known | {"bias": known["bias"] * scale, "w": {}, "lambda": {}}
    rows, decided = form(X * scale), 0
    for change in (None, *rng.integers(0, len(run["updates"]) - 1, 12).tolist()):
        other = copy.deepcopy(run)
        if change is not None:  # an update a round later, or with another rival
            other["updates"][change] += 1
            other["updates"][change + 1] -= 1
            if "rivals" in run and change % 2:
                other["updates"] = run["updates"]
                other["rivals"][change] = (run["rivals"][change] + 1) % 3
        if min(other["updates"]) < 1:
            continue
        facts = {"problems": {"": known}, "runs": {"run": other}}
        fast, left = replayed(facts, rows, labels, [*classes], False, 16)
        exact, _ = replayed(facts, rows, labels, [*classes], True, 16)
        assert fast == exact
        assert (fast is None) == (change is not None)
        decided += sum(not each for each in left)
    assert (decided > 20) == (scale == 1.0)
