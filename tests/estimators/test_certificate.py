"""Certificates of runs, theorem by theorem: what they claim is what a plain replay finds."""

import math
import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from linsep import (
    LEARNERS,
    ROMMA,
    AveragedPerceptron,
    BalancedWinnow,
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    Winnow,
    verify,
)
from linsep.theory import risk
from tests.certified import (
    CASES,
    HELD,
    TARGET,
    agrees_with_a_replay,
    contradicted,
    exact_vector,
    numbers,
    paired,
    plain,
    signed,
    squares,
    three_classes,
    trained,
    two_classes,
)
from tests.fits import fit
from tests.problems import integer_rows, scattered_rows

VARIANTS = ("PA", "PA-I", "PA-II")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_certifies(name, case):
    """The certificate holds; its mistakes are the learner's; where there is no theorem, it says so."""
    entry = LEARNERS[name]
    if (entry.small and case != "two") or (case == "pairs" and not entry.online):
        pytest.skip("the learner has no such form")
    X, y = CASES[case][0]()
    clf = trained(name, case)
    cert = clf.certificate(X, y)
    result = verify(cert, X, y)
    assert result, str(result)
    assert {
        f"{cert.problems[0]}: {claim}" for claim in ("verdict", "R at most", "perceptron's mistakes at most")
    } <= set(cert.claims)
    names = {"two": ["run"], "rest": [f"run of class {c}" for c in "abc"], "pairs": ["run of pairs"]}[case]
    held = name in (
        HELD if case != "pairs" else {name for name in HELD if LEARNERS[name].bound == LEARNERS["perceptron"].bound}
    )
    assert cert.runs == (names if held else [])
    if held:
        assert [cert.claims[f"{run}: mistakes"] for run in names] == np.atleast_1d(clf.mistakes_).tolist()
        for run in names:
            found = numbers(cert, run)
            assert found["mistakes"] <= found.get("mistakes at most", found.get("bound at most"))
            assert all(v is not False for v in found.values())
    assert any("no guarantee: no theorem" in remark or "ROMMA" in remark for remark in cert.remarks) != held


@pytest.mark.parametrize("mixing", ["uniform", "rows", "mistakes"])
@pytest.mark.parametrize("rows", [two_classes, three_classes])
def test_mixed_runs_of_a_rule_that_shrinks_are_those_of_their_rows_alone(rows, mixing):
    """Later updates shrink the steps of their own shard; a mix averages what they leave of earlier epochs."""
    X, y = rows()
    how = {"multi_class": "ovr", "log": True, "max_iter": 3, "random_state": 0}
    clf = fit(ROMMA(shards=3, mixing=mixing, **how), X, y)
    assert any("ROMMA's theorem for one run" in remark for remark in clf.certificate(X, y).remarks)
    with pytest.raises(ValueError, match="other weights"):
        clf.certificate(2 * X, y)


@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron"])
def test_the_perceptron_by_class_and_in_pairs(name):
    X, y = three_classes()
    clf = trained(name, "rest", intercept_scaling=1.0)
    cert = clf.certificate(X, y)
    for c in "abc":
        agrees_with_a_replay(cert, f"run of class {c}", signed(clf, X, y, c))
    clf = trained(name, "pairs", intercept_scaling=1.0)
    agrees_with_a_replay(clf.certificate(X, y), "run of pairs", paired(clf, X, y))


@settings(max_examples=12)
@given(
    problem=integer_rows() | scattered_rows(), shuffle=st.sampled_from([True, "once", False]),
    beta=st.sampled_from([0.0, 1.0, 3.0]), epochs=st.integers(1, 4),
)  # fmt: skip
def test_any_run_of_the_perceptron(problem, shuffle, beta, epochs):
    """Separable or not, with rows of zeros, duplicates and contradictions, shuffled or not."""
    X, y = problem
    bias = {"fit_intercept": beta > 0, "intercept_scaling": beta or 1.0}
    clf = fit(Perceptron(shuffle=shuffle, max_iter=epochs, random_state=0, **bias), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y), str(verify(cert, X, y))
    assert cert.runs == (["run"] if X.any() or beta else [])
    assume(cert.runs)  # a run on zeros without a bias has no claims
    agrees_with_a_replay(cert, "run", signed(clf, X, y))
    assert clf.mistakes_ <= cert.number(f"perceptron's mistakes (T = {clf.n_iter_}) at most")
    assert bool(cert.facts["risk"]) == (clf.n_iter_ == 1 and shuffle is False)  # seeds of a random order can be ground


@pytest.mark.parametrize("p", [2.0, 3.0, 5.5, None])
def test_the_p_norm_perceptron(p):
    """||s_k||_p² <= (p - 1) k X_p², and k <= (p - 1) ||u||_q² X_p² / margin²."""
    X, y = two_classes()
    clf = fit(PNormPerceptron(p=p, random_state=0, intercept_scaling=1.0), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    facts, found = cert.facts["runs"]["run"], numbers(cert, "run")
    p = facts["p"]
    q = p / (p - 1)
    Z, mistaken = (a.astype(float) for a in signed(clf, X, y))
    size = max(np.linalg.norm(z, p) for z in Z)
    norms = [np.linalg.norm(s, p) for s in np.cumsum(mistaken, axis=0)]
    worst = max(s**2 / j for j, s in enumerate(norms, 1)) / (p - 1) / size**2
    assert found["lemma 2, ratio at most"] == pytest.approx(worst, rel=1e-7)
    assert found["lemma 2, ratio at most"] <= 1 + 1e-8
    assert found["margin at most"] == pytest.approx(norms[-1] / len(norms), rel=1e-7)
    u = exact_vector(cert.facts["problems"]["bias 1"]["w"][facts["witness"]], Z.shape[1]).astype(float)
    bound = (p - 1) * (np.linalg.norm(u, q) * size / min(Z @ u)) ** 2
    assert found["mistakes at most"] == pytest.approx(bound, rel=1e-7)
    assert found["mistakes"] == clf.mistakes_ <= bound
    assert found["margin at most"] >= min(Z @ u) / np.linalg.norm(u, q)
    assert ("mistakes at most, by the regret" in found) == (p == 2)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [Winnow, BalancedWinnow])
def test_winnows_potential(kind, bias):
    """KL(u || w), w = softmax(eta s), falls by L = eta delta - ln cosh(eta X) or more at each mistake."""
    X, y = two_classes()
    eta = 0.125
    clf = fit(kind(eta=eta, fit_intercept=bias, random_state=0), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    facts, found = cert.facts["runs"]["run"], numbers(cert, "run")
    Z, mistaken = (a.astype(float) for a in signed(clf, X, y))
    u = exact_vector(cert.facts["problems"][facts["problem"]]["w"][facts["witness"]], 5).astype(float)
    signs = [1, -1] if kind is BalancedWinnow else [1]
    wide = [np.column_stack([*(s * A[:, :4] for s in signs), *(s * A[:, 4:] for s in (1, -1) if bias)]) for A in
            (Z, mistaken, u[None] / np.abs(u).sum())]  # fmt: skip
    Z, mistaken, u = wide[0], wide[1], np.maximum(wide[2][0], 0)
    assert u.sum() == pytest.approx(1)
    delta, entry = min(Z @ u), np.abs(Z).max()
    L = eta * delta - math.log(math.cosh(eta * entry))
    potentials = []
    for s in np.vstack([np.zeros(len(u)), np.cumsum(mistaken, axis=0)]):
        w = np.exp(eta * s) / np.exp(eta * s).sum()
        potentials.append(sum(u[u > 0] * np.log(u[u > 0] / w[u > 0])))
    falls = -np.diff(potentials)
    assert found["L at least"] == pytest.approx(L, rel=1e-7)
    assert found["each fall of the potential at least"] == pytest.approx(min(falls), rel=1e-7)
    assert found["each fall is at least L"] is True
    assert min(falls) >= L > 0
    assert found["mistakes at most"] == pytest.approx(math.log(len(u)) / L, rel=1e-7)
    assert 0 < found["mistakes"] == clf.mistakes_ == len(mistaken) <= math.log(len(u)) / L


@pytest.mark.parametrize("kind", [Winnow, BalancedWinnow])
def test_winnow_without_a_guarantee(kind):
    """A rate that is too high, or rows that nothing separates: it says so, and claims nothing of the run."""
    X, y = two_classes()
    cert = fit(kind(eta=5.0, random_state=0), X, y).certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert "no guarantee: at the rate 5" in cert.remarks[0]
    both = contradicted()
    cert = fit(kind(eta=0.1, random_state=0), *both).certificate(*both)
    assert verify(cert, *both)
    assert cert.verdict == "not separable"
    assert cert.runs == []
    assert "no guarantee: no u" in cert.remarks[0]


def test_passive_aggressive_without_slack_claims_nothing_of_rows_that_contradict_each_other():
    X, y = contradicted()
    cert = fit(PassiveAggressive(variant="PA", C=0.25, max_iter=3, random_state=0), X, y).certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert "no guarantee: PA has a bound only for rows that can be separated" in cert.remarks[0]


@pytest.mark.parametrize(
    ("variant", "noise"), [("PA", False), *((variant, noise) for variant in VARIANTS[1:] for noise in (False, True))]
)
def test_passive_aggressive(variant, noise):
    """PA-I's mistakes, PA-II's and PA's squared losses, against their bounds for the witness u."""
    X, y = contradicted() if noise else two_classes()
    C = 0.25
    own = {"intercept_scaling": 1.0, "max_iter": 3, "random_state": 0, "log": True}
    clf = fit(PassiveAggressive(variant=variant, C=C, **own), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    Z, mistaken = (a.astype(float) for a in signed(clf, X, y))
    w, losses = np.zeros(5), []
    for z, step in zip(mistaken, np.abs(clf.log_.amounts), strict=True):
        losses.append(1 - z @ w)
        w = w + step * z
    found, u = numbers(cert, "run"), exact_vector(cert.facts["problems"]["bias 1"]["w"]["hinge"], 5).astype(float)
    hinge, R2 = np.maximum(1 - Z @ u, 0), max(map(squares, Z))
    bound = {
        "PA": R2 * squares(u),
        "PA-I": max(R2, 1 / C) * (squares(u) + 2 * C * 3 * hinge.sum()),
        "PA-II": (R2 + 1 / (2 * C)) * (squares(u) + 2 * C * 3 * squares(hinge)),
    }[variant]
    assert found["mistakes"] == clf.mistakes_
    assert found["losses² at most"] == pytest.approx(squares(np.array(losses)), rel=1e-7)
    assert found["bound at most"] == pytest.approx(bound, rel=1e-7)
    assert found["within the bound"] is True
    assert clf.mistakes_ <= bound


@pytest.mark.parametrize("variant", VARIANTS[1:])
def test_rows_of_zeros_are_mistakes_too(variant):
    """Passive-aggressive learns nothing from them and does not log them; the theorem counts them."""
    X, y = np.vstack([two_classes()[0], np.zeros((2, 4))]), np.append(two_classes()[1], ["yes", "no"])
    clf = fit(PassiveAggressive(variant=variant, fit_intercept=False, max_iter=3, random_state=0), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert clf.skipped_ == 6
    assert cert.claims["run: mistakes"] == clf.mistakes_


def test_the_run_is_a_dual_point():
    """||s_k|| / k is no less than the margin of any unit vector."""
    X, y = two_classes()
    margin = min(np.where(y == "yes", 1, -1) * (X @ TARGET)) / np.linalg.norm(TARGET)
    cert = fit(Perceptron(fit_intercept=False, random_state=0), X, y).certificate(X, y)
    most = cert.number("margin at most", "run")
    assert margin <= cert.number("perceptron's margin at most") <= most * (1 + 1e-8)
    assert cert.number("perceptron's margin at least") <= most


def in_random_order():
    """Rows whose labels are in no order: no risk is stated of others."""
    X, y = two_classes()
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def test_risk_after_one_pass_and_only_then():
    X, y = in_random_order()
    clf = fit(plain(max_iter=1, shuffle=False), X, y)
    cert = clf.certificate(X, y, delta=0.1)
    k, m = clf.mistakes_, len(X)
    bound, found = risk.anytime(k, m, 0.9), dict(cert.facts["risk"]["run"])
    for name, exact in (("at most", bound.bound), ("of the vote at most", bound.vote)):
        assert exact <= found.pop(name) <= min(exact * (1 + 1.1e-8), 1)
    assumption = "i.i.d. rows, one pass; not checked"
    assert found == {"mistakes": k, "rounds": m, "confidence": 0.9, "estimate": k / m, "assuming": assumption}
    checks = {claim: status for claim, status, _ in verify(cert, X, y).checks}
    assert checks["run: risk"] == "not checked"
    for more in ({"max_iter": 2, "shuffle": False}, {"max_iter": 50}):
        cert = fit(plain(**more), X, y).certificate(X, y)
        assert verify(cert, X, y)
        assert cert.facts["risk"] == {}


def test_a_stretched_risk_fails():
    X, y = in_random_order()
    facts = fit(plain(max_iter=1, shuffle=False), X, y).certificate(X, y).facts
    facts["risk"]["run"]["at most"] /= 2
    assert not verify(facts, X, y)


@pytest.mark.parametrize("kind", [AveragedPerceptron(), PassiveAggressive(readout="average", log=True)], ids=repr)
def test_the_average_inherits_nothing(kind):
    X, y = two_classes()
    cert = fit(kind, X, y).certificate(X, y)
    assert "its average, which predicts, inherits no guarantee" in cert.remarks[0]


def test_scores_that_floats_lose():
    """Beside a bias of 1, entries of 1e-300 are lost: passive-aggressive errs where its exact score is above 0."""
    X, y = two_classes()
    X = X * 1e-300
    clf = fit(PassiveAggressive(shuffle=False, log=True, intercept_scaling=1.0), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.claims["run: mistakes"] < clf.mistakes_
    assert f"run: mistakes_ is {clf.mistakes_}, as floats rounded" in cert.remarks[-1]


def test_updates_that_were_no_mistakes():
    """Products of 1e-300 vanish in floats: all rows are taken for mistakes, of which the exact scores know nothing."""
    X, y = two_classes()
    X = X * 1e-300
    cert = fit(plain(), X, y).certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert re.search(r"no run is certified, for row \d+ was no update of the rule", cert.remarks[-1])
    assert cert.verdict == "separable"


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", sorted(HELD))
def test_nothing_but_zeros(name, bias):
    """No row says anything: not separable, and no bound but for passive-aggressive's."""
    X, y = np.zeros((4, 2)), np.array([0, 1, 1, 0])
    clf = fit(LEARNERS[name].make_online(random_state=0, fit_intercept=bias, x_max=None, max_iter=3), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.verdict == "not separable"
    assert [cert.claims[f"{run}: mistakes"] for run in cert.runs] in ([], [clf.mistakes_])
    assert cert.runs or re.search("no guarantee|no updates were made", cert.remarks[-1])


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)])
def test_mistakes_by_rounding_alone(order):
    """2^60 + 1 - 2^60 is 0 in floats, and 1: an update too many breaks Lemma 2, and the measured norm stands in."""
    big = 2.0**30
    X = np.array([[big, 1, big], [big, 1, -big], [-big, -1, 0.0]])[:, order]
    y = [1, 1, 0]
    clf = fit(Perceptron(fit_intercept=False, shuffle=False), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y), str(verify(cert, X, y))
    agrees_with_a_replay(cert, "run", signed(clf, X, np.array(y)))
    if order == (0, 1, 2):
        assert cert.number("lemma 2, ratio at most", "run") > 1
        assert cert.claims["run: mistakes within the bound"] is True


@pytest.mark.parametrize("size", [2**24, 2**26, 2**27])
def test_sums_near_2_to_the_53(size):
    """k R² on both sides of 2^53: what the floats did is certified as it was."""
    rng = np.random.default_rng(7)
    X = rng.integers(-size, size, (12, 3)).astype(float)
    y = np.where(X @ [3.0, -2.0, 1.0] > 0, 1, 0)
    clf = fit(Perceptron(max_iter=60, random_state=0), X, y)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    agrees_with_a_replay(cert, "run", signed(clf, X, y))
