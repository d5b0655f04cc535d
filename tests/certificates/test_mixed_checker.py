"""The checker of mixed runs against the definitions in fractions, alone in a folder, and against forgers."""

import ast
import copy
import hashlib
import json
import math
import subprocess
import sys
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings

from linsep import (
    BalancedWinnow,
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    Winnow,
    verify,
)
from linsep.certificates import certify as certifying
from linsep.certificates import checker, kernel_replay, mixed_checker, replay, schema, tails
from linsep.certificates.mixed_checker import MixedProblem, checker_of
from linsep.certificates.schema import MOST_BITS, FormError, check_form, integers
from linsep.certificates.theorems import theorem_of
from linsep.estimators.base import run_certificate as learners_certified
from linsep.solvers.exact.dependencies import exact
from linsep.training.mixing import MIXINGS
from tests.certificates import plain, plain_mixes
from tests.certified import listed, three_classes, two_classes
from tests.fits import fit
from tests.problems import integer_rows, separable

SOURCE = Path(mixed_checker.__file__)
NAMES = np.array(["a", "b", "c"])
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
few = settings(max_examples=2, phases=PHASES)
shards, mixings, seeds = st.integers(2, 6), st.sampled_from(MIXINGS), st.integers(0, 99)
LEARNERS = {
    "perceptron": lambda **how: Perceptron(**how),
    "p-norm 3.5": lambda **how: PNormPerceptron(p=3.5, **how),
    "PA": lambda **how: PassiveAggressive(variant="PA", **how),
    "PA-I": lambda **how: PassiveAggressive(variant="PA-I", C=0.25, **how),
    "PA-II": lambda **how: PassiveAggressive(variant="PA-II", C=0.25, **how),
    "winnow": lambda **how: Winnow(eta=0.02, **how),
    "balanced winnow": lambda **how: BalancedWinnow(eta=0.02, **how),
}


def test_it_is_short_and_needs_the_checker_numpy_and_the_standard_library_alone():
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    nodes = [*ast.walk(ast.parse(text))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level} == {"checker", "replay"}
    assert {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "numpy",
        "checker",
        "replay",
    }
    assert not {"eval", "exec", "__import__", "open"} & {node.id for node in nodes if isinstance(node, ast.Name)}


def test_all_files_work_alone(tmp_path):
    facts, X, y = made("perceptron")
    (tmp_path / "alone").mkdir()
    for module in (checker, kernel_replay, mixed_checker, replay, schema, tails):
        (tmp_path / "alone" / Path(module.__file__).name).write_bytes(Path(module.__file__).read_bytes())
    (tmp_path / "cert.json").write_text(json.dumps([facts, X.tolist(), list(y)]))
    program = (
        "import json, sys; sys.path.insert(0, '.'); sys.modules['linsep'] = None\n"
        "from alone.checker import check\nfrom alone.mixed_checker import checker_of\n"
        "cert, X, y = json.load(open('cert.json'))\n"
        "for kind in ([checker_of(cert)], []):\n"
        "    print({s for _, s, _ in check(cert, X, y, *kind)}, {s for _, s, _ in check(cert, X[::-1], y, *kind)})\n"
        "print([m for m in sys.modules if m.partition('.')[0] in ('scipy', 'sklearn', 'numba')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["{'holds'} {'fails'}", "{'fails'} {'fails'}", "[]"]


def by_hand():
    """Three rows and u = (1, 1). Shards of shares 1 and 3 err on the first two, then one of two shards on the third."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [4.0, -2.0]]), ["b", "b", "b"]
    u = {"exponent": 0, "values": [1, 1, 0]}
    problem = {"positive": "b", "bias": 0.0, "games": False, "epsilon": "0.1", "delta": "0.1"}
    problem |= {"w": {"margin": u, "delta 2": u}}
    problem |= {"lambda": {k: {"exponent": 0, "values": [1, 1, 1]} for k in problem["w"]}}
    run = {"theorem": "perceptron", "problem": "no bias", "p": 2.0, "witness": "margin", "passes": 2, "rounds": 6}
    run |= {"rows": [0, 1, 2], "mixes": [[[1, 1], [1, 3]], [[0, 1], [1, 1]]]}
    data = {"rows": 3, "features": 2, "classes": ["b"], "remarks": []}
    facts = {"format": "linsep certificate", "version": 1, "data": data, "problems": {"no bias": problem}}
    return recomputed(facts | {"runs": {"run": run}, "claims": {}, "risk": {}}, X, y), X, y


def test_numbers_known_by_hand():
    """s_1 = (1/4, 3/4), K_1 = 1; s_2 = s_1 + (4, -2) / 2 = (9/4, -1/4), K_2 = 3/2; R² = 20, and (R/gamma)² = 40."""
    facts, X, y = by_hand()
    assert verify(facts, X, y), str(verify(facts, X, y))
    assert {k.removeprefix("run: "): v for k, v in facts["claims"].items() if k.startswith("run: ")} == {
        "mistakes": 3,
        "mixed mistakes": "1.5",
        "lemma 2, ratio at most": "0.170833334",  # 82/16 / (3/2 · 20)
        "margin at most": "1.50923086",  # sqrt(82)/4 / (3/2)
        "lemma 1, ratio at least": "1",  # s_1·u / (K_1 · 1); s_2·u = 2 is 4/3 of K_2
        "mistakes at most": "40",
        "mistakes within the bound": True,
        "mistakes at most, by the regret": "40.0000001",  # a root is rounded up
    }
    assert not plain_mixes.untrue(facts, X, y)


def recomputed(facts, X, y, kind=None):
    """What a forger makes of it who lets the checker of mixed runs compute all claims; None where that refuses."""
    facts = copy.deepcopy(facts)
    try:
        rows = checker.CheckedRows(X, y, facts["data"]["classes"])
        facts["data"]["sha256"] = rows.sha256
        facts["claims"] = checker.claims(facts, rows, kind or checker_of(facts))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        return None
    return facts


def seal(facts):
    """Put a new seal on witnesses; the claims stay as they are."""
    text = json.dumps([facts[k] for k in ("data", "problems", "runs")], sort_keys=True)
    facts["claims"]["witnesses: sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return facts


SEARCHED = {}
"""The problems of data that were looked at, as the search takes most of the time."""


def searched(rows, plan):
    """The problems of some rows, sought once."""
    key = rows.data.values.tobytes(), rows.data.bias, rows.codes.tobytes(), plan.passes
    if key not in SEARCHED:
        SEARCHED[key] = certifying.find_problems(rows, plan)
    return copy.deepcopy(SEARCHED[key])


def certified(clf, X, y):
    """The certificate of a run: it holds, and every claim is that of the definitions."""
    with patch.object(learners_certified, "find_problems", searched):
        cert = clf.certificate(X, y)
    result = verify(cert, X, y)
    assert result, str(result)
    assert json.loads(cert.text()) == cert.facts
    assert not plain_mixes.untrue(cert.facts, X, [str(label) for label in y])
    return cert


def ties_were_seen_otherwise(cert):
    """A score of 0 is a mistake, and floats may have rounded it away: then the certificate counts its own mistakes."""
    return any("mistakes_ is" in remark for remark in cert.remarks)


def same_counts(clf, cert):
    """The sums are those that the learner tells of its shards."""
    assert not ties_were_seen_otherwise(cert)
    told, counts = np.atleast_1d(clf.mixes_.mixed_mistakes[-1]), np.atleast_1d(clf.mistakes_)
    names = ["run"] if len(clf.classes_) == 2 else [f"run of class {c}" for c in clf.classes_]
    names = ["run of pairs"] if "run of pairs" in cert.runs else names
    for name, K, count in zip(names, told, counts, strict=True):
        if name in cert.runs:
            assert cert.number("mixed mistakes", name) == pytest.approx(K, rel=1e-8)
            assert cert.claims[f"{name}: mistakes"] == count >= K * (1 - 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize("name", LEARNERS)
@few
@given(problem=separable(nonnegative=True), count=shards, seed=seeds, epochs=st.integers(1, 4))
def test_any_run_on_rows_that_can_be_separated(name, mixing, problem, count, seed, epochs):
    X, y = problem.X / 3, np.where(problem.y > 0, "b", "a")
    how = {"shards": count, "mixing": mixing, "max_iter": epochs, "random_state": seed, "log": True}
    clf = fit(LEARNERS[name](fit_intercept=bool(seed % 2), **how), X, y)
    cert = certified(clf, X, y)
    assume(not ties_were_seen_otherwise(cert))
    same_counts(clf, cert)
    assume(cert.runs == ["run"])
    found = {told: bound for told, bound in cert.allowed().items() if bound < cert.number("mixed mistakes", "run")}
    assert not found or cert.number("lemma 2, ratio at most", "run") > 1


@pytest.mark.slow
@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize("name", ["perceptron", "p-norm 3.5", "PA-I", "PA-II"])
@few
@given(problem=integer_rows(max_rows=8), count=shards, seed=seeds, epochs=st.integers(1, 3))
def test_any_run_on_any_rows(name, mixing, problem, count, seed, epochs):
    """With rows of zeros, duplicates and contradictions."""
    X, y = problem[0], np.where(problem[1] > 0, "b", "a")
    how = {"shards": count, "mixing": mixing, "max_iter": epochs, "random_state": seed, "log": True}
    cert = certified(clf := fit(LEARNERS[name](**how), X, y), X, y)
    assume(not ties_were_seen_otherwise(cert))
    same_counts(clf, cert)


@pytest.mark.slow
@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("perceptron", "ovr"),
        ("perceptron", "joint"),
        ("p-norm 3.5", "ovr"),
        ("PA-II", "ovr"),
        ("balanced winnow", "ovr"),
    ],
)
@pytest.mark.parametrize("count", [2, 5])
def test_three_classes(name, form, mixing, count):
    X, y = three_classes()
    how = {"shards": count, "mixing": mixing, "max_iter": 3, "random_state": count, "log": True, "tol": None}
    clf = fit(LEARNERS[name](multi_class=form, **how), X, y)
    cert = certified(clf, X, y)
    same_counts(clf, cert)
    assert cert.runs == (["run of pairs"] if form == "joint" else [f"run of class {c}" for c in "abc"])


@pytest.mark.parametrize("name", ["perceptron", "p-norm 3.5", "PA-I", "balanced winnow"])
@pytest.mark.parametrize("stages", [(None, 3), (3, None), (None, 2, None, 4), (2, 5)])
def test_epochs_without_shards_are_mixes_of_one(name, stages):
    X, y = two_classes()
    how = {"max_iter": 1, "random_state": 0, "log": True, "warm_start": True, "fit_intercept": False}
    clf = LEARNERS[name](**how)
    for count in stages:
        fit(clf.set_params(shards=count), X, y)
    cert = certified(clf, X, y)
    run = cert.facts["runs"]["run"]
    busy = set((clf.log_.rounds - 1) // len(X))  # a pass without shards and updates is no mix
    assert [len(m) for m in cert.mixes()] == [count or 1 for k, count in enumerate(stages) if count or k in busy]
    assert 0 in busy
    assert run["rounds"] == len(X) * len(stages)
    assert cert.claims["run: mistakes"] == clf.mistakes_


def test_a_row_of_zeros_counts_too():
    """Passive-aggressive skips it, and does not log it: the weighted sum is no less than it was."""
    X, y = np.vstack([two_classes()[0], np.zeros((2, 4))]), np.append(two_classes()[1], ["yes", "no"])
    clf = fit(PassiveAggressive(fit_intercept=False, max_iter=3, random_state=0, shards=3, log=True), X, y)
    cert = certified(clf, X, y)
    assert clf.skipped_ == 6
    assert cert.claims["run: mistakes"] == clf.mistakes_
    assert cert.number("mixed mistakes", "run") >= clf.mixes_.mixed_mistakes[-1] * (1 - 1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_where_each_mix_is_one_update_both_checkers_agree(name):
    X, y = two_classes()
    clf = fit(LEARNERS[name](max_iter=3, random_state=0, log=True), X, y)
    facts = listed(clf.certificate(X, y).facts, clf, np.where(y == "yes", 1, 0))
    serial = {k: v for k, v in facts["claims"].items() if k.startswith("run: ")}
    facts["runs"]["run"]["mixes"] = [[[1, 5]] for _ in facts["runs"]["run"]["rows"]]
    facts["runs"]["run"].pop("confidence", None)
    other = recomputed(facts, X, y)
    found = {k: v for k, v in other["claims"].items() if k.startswith("run: ")}
    assert float(found.pop("run: mixed mistakes")) == found["run: mistakes"]
    if "run: bound at most" in found:  # of passes, only as many as the updates of a row weigh
        assert float(found.pop("run: bound at most")) <= float(serial.pop("run: bound at most"))
    assert found == serial
    one = recomputed(
        facts | {"runs": {"run": facts["runs"]["run"] | {"mixes": [[[len(other["runs"]["run"]["rows"]), 1]]]}}}, X, y
    )
    assert one["claims"]["run: mixed mistakes"] == other["claims"]["run: mixed mistakes"]


def test_a_serial_run_beside_a_mixed_one_is_checked_as_ever():
    X, y = three_classes()
    kept = {"max_iter": 2, "random_state": 0, "multi_class": "ovr", "intercept_scaling": 1.0}
    serial, mixed = (fit(Perceptron(shards=s, **kept), X, y).certificate(X, y) for s in (None, 2))
    facts = copy.deepcopy(serial.facts)
    facts["runs"]["run of class a"] = mixed.facts["runs"]["run of class a"]
    facts["problems"] = copy.deepcopy(mixed.facts["problems"]) | facts["problems"]
    both = recomputed(facts, X, y)
    assert verify(both, X, y)
    for name, source in (("run of class a", mixed), ("run of class b", serial)):
        told = {k: v for k, v in both["claims"].items() if k.startswith(f"{name}: mi")}
        assert told == {k: source.claims[k] for k in told}


MAKE = {
    "perceptron": lambda: of("perceptron", "mistakes"),
    "p-norm": lambda: of("p-norm 3.5", "rows"),
    "winnow": lambda: of("winnow", "mistakes"),
    "balanced winnow": lambda: of("balanced winnow", "uniform"),
    "pa": lambda: of("PA-I", "mistakes"),
    "by hand": by_hand,
}


def of(name, mixing):
    """The certificate of a run of four shards."""
    X, y = two_classes()
    how = {"shards": 4, "mixing": mixing, "max_iter": 3, "random_state": 0, "log": True, "fit_intercept": False}
    return stated(json.loads(fit(LEARNERS[name](**how), X, y).certificate(X, y).text()), X, y), X, y.tolist()


def stated(facts, X, y):
    """The certificate as one of version 1, which states the rows of the updates, their steps, the shards and shares."""
    facts["version"] = 1
    del facts["data"]["known"]
    for name, run in facts["runs"].items():
        problem, classes = facts["problems"][run["problem"]], facts["data"]["classes"]
        Z, codes = plain.rows_of(problem, X, y, classes), [classes.index(label) for label in y]
        found = plain_mixes.replayed(run, Z, codes, X.shape[1])[0]
        one = {k: run[k] for k in ("theorem", "problem", "passes", "rounds", *theorem_of(run).read(run).__dict__)}
        one |= {k: found[k] for k in ("rows", "mixes")} | ({"witness": run["witness"]} if "witness" in run else {})
        if "steps" in found:
            steps = exact(np.array([float(step) for step in found["steps"]]))
            one |= {"exponent": steps["exponent"], "steps": integers(steps)}
        facts["runs"][name] = one
    return json.loads(json.dumps(recomputed(facts, X, y)))


@cache
def made(name):
    """A certificate, and its rows and labels: made when a test first asks for it, and changed by none."""
    return MAKE[name]()


@pytest.mark.parametrize("name", MAKE)
def test_the_checker_alone_never_accepts_a_mixed_run(name):
    facts, X, y = made(name)
    assert verify(facts, X, y)
    assert any(status == "fails" for _, status, _ in checker.check(facts, X, y))
    assert recomputed(facts, X, y, checker.SignedProblem) is None
    for mixes in (None, [], [[[len(facts["runs"]["run"]["rows"]), 1]]]):
        other = copy.deepcopy(facts)
        other["runs"]["run"]["mixes"] = mixes
        assert recomputed(other, X, y, checker.SignedProblem) is None


BAD = {
    "nothing": [], "an empty mix": [[]], "no list": "x", "none": None, "a mapping": {"0": [[3, 1]]}, "flat": [[3, 1]],
    "a share missing": [[[3]]], "three numbers": [[[3, 1, 1]]], "no share": [[[3, 0]]], "no numbers": [[[]]],
    "too few": [[[2, 1]]], "too many": [[[4, 1]]], "a tuple's text": [["31"]],
    "negative": [[[-1, 1], [4, 1]]], "a negative share": [[[2, -1], [1, 3]]], "negative shares": [[[2, -1], [1, -1]]],
    "truths": [[[True, 1], [2, 1]]], "a true share": [[[3, True]]], "floats": [[[3.0, 1]]],
    "a float share": [[[3, 1.0]]],
    "not a number": [[[3, math.nan]]], "texts": [[["3", 1]]], "huge": [[[3, 1 << 63]]], "huge count": [[[10**30, 1]]],
    "null": [[[3, None]]],
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_mixes_that_make_no_sense_are_refused(what):
    facts, X, y = by_hand()
    facts["runs"]["run"]["mixes"] = BAD[what]
    with pytest.raises(FormError, match="run"):
        check_form(facts)
    for other in (seal(facts), recomputed(facts, X, y)):
        assert other is None or not verify(other, X, y)


def test_the_checker_itself_sees_updates_that_are_in_no_mix():
    facts, X, y = by_hand()
    facts["runs"]["run"]["mixes"][1][1][0] = 0
    assert recomputed(facts, X, y) is None
    assert checker.check(seal(facts), X, y, MixedProblem)[0][1] == "fails"


def test_a_mixed_run_says_nothing_of_new_rows():
    facts, _, _ = by_hand()
    facts["runs"]["run"] |= {"passes": 1, "rounds": 3, "confidence": 0.95, "mixes": [[[3, 1]]]}
    with pytest.raises(FormError, match="confidence, but is not one run"):
        check_form(facts)


def test_mistakes_that_weigh_nothing_prove_nothing():
    facts, X, y = by_hand()
    facts["runs"]["run"] |= {"rows": [0], "mixes": [[[1, 0], [0, 1]]]}
    assert recomputed(facts, X, y) is None
    assert not verify(seal(facts), X, y)


def moved(mixes, data):
    """The same mixes, changed somewhere: an update given to a neighbour, another share, a mix split or joined."""
    mixes = copy.deepcopy(mixes)
    n = data.draw(st.integers(0, len(mixes) - 1))
    mix = mixes[n]
    i, j = (data.draw(st.integers(0, len(mix) - 1)) for _ in range(2))
    how = data.draw(st.sampled_from(["move", "share", "zero", "split", "join", "drop", "swap"]))
    if how == "move" and mix[i][0]:
        mix[i][0] -= 1
        mix[j][0] += 1
    elif how in ("share", "zero"):
        mix[i][1] = 0 if how == "zero" else data.draw(st.integers(0, 9))
    elif how == "split":
        mixes[n : n + 1] = [mix[:i], mix[i:]] if i else [mix]
    elif how == "join" and n:
        mixes[n - 1 : n + 1] = [mixes[n - 1] + mix]
    elif how == "drop":
        del mixes[n]
    else:
        mix[i], mix[j] = mix[j], mix[i]
    return mixes


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
@settings(max_examples=12, phases=PHASES)
@given(data=st.data())
def test_forged_mixes(name, data):
    """Under the old seal none is believed, nor under a new one with the old claims; with claims of its own, if true."""
    facts, X, y = made(name)
    other = copy.deepcopy(facts)
    other["runs"]["run"]["mixes"] = moved(facts["runs"]["run"]["mixes"], data)
    assume(other["runs"] != facts["runs"])
    assert not verify(other, X, y)
    if verify(seal(copy.deepcopy(other)), X, y):
        assert not plain_mixes.untrue(other, X, y)
    again = recomputed(other, X, y)
    if again is not None and verify(again, X, y):
        assert not plain_mixes.untrue(again, X, y)


@pytest.mark.parametrize("name", MAKE)
def test_mixes_dropped(name):
    """Without its mixes, the run is a serial one: its old claims fail, and new ones are those of the serial run."""
    facts, X, y = made(name)
    other = copy.deepcopy(facts)
    del other["runs"]["run"]["mixes"]
    assert not verify(other, X, y)
    assert not verify(seal(copy.deepcopy(other)), X, y)
    again = recomputed(other, X, y)
    if again is not None:
        assert "run: mixed mistakes" not in again["claims"]
        assert not verify(again, X, y) or not plain_mixes.untrue(again, X, y)


def test_mixes_added_to_a_serial_run_hide_no_mistake():
    """Whoever cuts a serial run into shards to make it look better states mistakes that were none."""
    X, y = two_classes()
    clf = fit(Perceptron(max_iter=2, shuffle=False, fit_intercept=False), X, y)
    facts = listed(clf.certificate(X, y).facts, clf, np.where(y == "yes", 1, 0))
    run = facts["runs"]["run"]
    for cut in range(1, len(run["rows"])):
        other = copy.deepcopy(facts)
        other["runs"]["run"]["mixes"] = [[[cut, 1], [len(run["rows"]) - cut, 1]]]
        assert not verify(other, X, y)
        assert not verify(seal(copy.deepcopy(other)), X, y)
        again = recomputed(other, X, y)
        if again is not None and verify(again, X, y):
            assert not plain_mixes.untrue(again, X, y)
            assert again["claims"]["run: mistakes"] == len(run["rows"])


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKE)
def test_each_claim_of_a_mixed_run_must_be_stated_as_it_is(name):
    facts, X, y = made(name)
    for claim, value in facts["claims"].items():
        if claim.startswith("run: "):
            others = [None, "0", not value if isinstance(value, bool) else f"{float(value) * 1.001:.9g}"]
            for other in others:
                assert not verify({**facts, "claims": facts["claims"] | {claim: other}}, X, y)
            assert not verify({**facts, "claims": {k: v for k, v in facts["claims"].items() if k != claim}}, X, y)


def test_ever_finer_fractions_are_refused_in_no_time():
    facts, X, y = made("pa")
    run, count = facts["runs"]["run"], 3000
    other = copy.deepcopy(facts)
    other["runs"]["run"] |= {"rows": [i % len(y) for i in range(count)], "steps": [1] * count, "passes": count}
    other["runs"]["run"] |= {
        "rounds": count,
        "mixes": [[[1, (1 << 61) - 1], [0, (1 << 61) - 2 * i]] for i in range(count)],
    }
    began = time.perf_counter()
    assert verify(seal(other), X, y).failures == [
        ("certificate", "'run' has more mixes, or finer ones, than can be checked")
    ]
    assert time.perf_counter() - began < 5
    assert run["mixes"] != other["runs"]["run"]["mixes"]


def test_a_learner_of_too_many_mixes_says_so(monkeypatch):
    X, y = two_classes()
    clf = fit(Perceptron(max_iter=3, random_state=0, shards=3, mixing="rows"), X, y)
    monkeypatch.setattr(learners_certified, "MOST_BITS", 1)
    cert = clf.certificate(X, y)
    assert MOST_BITS > 1
    assert cert.runs == []
    assert "too long to be played again in exact arithmetic: 3 mixes" in cert.remarks[-1]


def test_a_learner_of_too_many_shards_in_all_mixes_says_so(monkeypatch):
    X, y = two_classes()
    clf = fit(Perceptron(max_iter=3, random_state=0, shards=3, mixing="rows"), X, y)
    monkeypatch.setattr(learners_certified, "MOST_MIXES", 8)
    cert = clf.certificate(X, y)
    assert cert.runs == []
    assert "too long to be played again in exact arithmetic: 3 mixes" in cert.remarks[-1]


def test_moves_are_weighed_as_fractions():
    """A third is a third: K of three shards with a mistake each is 1 exactly."""
    X, y = np.eye(3), ["b"] * 3
    facts, _, _ = by_hand()
    facts["data"] |= {"features": 3}
    u = {"exponent": 0, "values": [1, 1, 1, 0]}
    facts["problems"]["no bias"]["w"] = {"margin": u, "delta 2": u}
    facts["runs"]["run"] |= {"rows": [0, 1, 2], "mixes": [[[1, 7], [1, 7], [1, 7]]]}
    again = recomputed(facts, X, y)
    assert verify(again, X, y)
    assert again["claims"]["run: mixed mistakes"] == "1"
    assert again["claims"]["run: lemma 2, ratio at most"] == "0.333333334"
    moves = [move for mix in _mixes(again, X, y) for move in mix.moves]
    assert [move.weight for move in moves] == [Fraction(1, 3)] * 3


def _mixes(facts, X, y):
    problem = MixedProblem(checker.CheckedRows(X, y, facts["data"]["classes"]), facts["problems"]["no bias"], ["b"])
    return problem.mixes(facts["runs"]["run"], lambda s: (s * s, s * s))
