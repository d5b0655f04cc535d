"""Risks in certificates: counted again here, refused for chosen seeds and for labels in no random order."""

import copy
import json
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron as SklearnPerceptron

from linsep import (
    ROMMA,
    AveragedPerceptron,
    BalancedWinnow,
    KernelPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    certify,
    verify,
)
from linsep.certificates import replay, words
from linsep.certificates.certificate import data_seed
from linsep.certificates.schema import FormError, check_form
from linsep.theory.risk import compression, pac_bayes
from tests.certificates.test_forgery import recomputed

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 3))
ROWS = ROWS[np.abs(ROWS @ [2.0, -1.0, 0.5]) > 0.5]
LABELS = np.where(ROWS @ [2.0, -1.0, 0.5] > 0, "b", "a")
X, Y, NEW, TRUTH = ROWS[:200], LABELS[:200], ROWS[200:], LABELS[200:]


def trained(learner, X=X, Y=Y):
    learner.set_params(shuffle=False, max_iter=60, tol=None, intercept_scaling=1.0)
    return learner.fit(X, Y)


CLASSIFIERS = {
    "perceptron": lambda: Perceptron(log=True), "p-norm": lambda: PNormPerceptron(p=3.0, log=True),
    "winnow": lambda: BalancedWinnow(eta=0.005, x_max=8.0, log=True), "PA": lambda: PassiveAggressive(log=True),
    "ROMMA": lambda: ROMMA(log=True),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_compression_counts_rows_and_errors(name):
    clf = trained(CLASSIFIERS[name]())
    cert = clf.certificate(X, Y, risk=True)
    assert verify(cert, X, Y)
    if name == "winnow" and "run" not in cert.runs:
        pytest.skip("no guarantee at this rate")
    kept = np.unique(clf.log_.rows)
    others = np.setdiff1d(np.arange(len(X)), kept)
    errors = int(np.sum(clf.predict(X[others]) != Y[others]))
    assert cert.claims["run: rows updated"] == len(kept)
    assert cert.claims["run: errors on the other rows"] == errors
    passes = -(-int(clf.log_.rounds.max()) // len(X))
    bound = compression(errors, len(X), len(kept), 1 - 0.05 / (4 * passes * (passes + 1)))
    assert cert.number("risk of the last weights at most", "run") == pytest.approx(bound, abs=1e-8)


def test_compression_of_runs_that_still_err():
    rng = np.random.default_rng(1)
    noisy = np.where(X @ [2.0, -1.0, 0.5] + rng.normal(size=len(X)) > 0, "b", "a")
    for classes, how in ((noisy, "ovr"), (np.where(X[:, 2] > 0.8, "c", noisy), "joint")):
        clf = Perceptron(multi_class=how, log=True, shuffle=False, intercept_scaling=1.0)
        clf.partial_fit(X, classes, classes=sorted(set(classes)))
        cert = clf.certificate(X, classes, risk=True)
        assert verify(cert, X, classes)
        (run,) = cert.runs
        others = np.setdiff1d(np.arange(len(X)), clf.log_.rows)
        assert cert.claims[f"{run}: errors on the other rows"] == np.sum(clf.predict(X[others]) != classes[others]) > 0


def test_weights_that_predict_have_a_bound_by_their_margins():
    clf = trained(AveragedPerceptron())
    cert = clf.certificate(X, Y, risk=True, delta=0.1)
    assert verify(cert, X, Y)
    assert cert.claims["bias 1: errors of the model"] == np.sum(clf.predict(X) != Y)
    w, rows = np.append(clf.coef_[0], clf.intercept_), np.column_stack([X, np.ones(len(X))])
    margins = np.where(Y == "b", 1, -1) * (rows @ w) / np.linalg.norm(w) / np.linalg.norm(rows, axis=1)
    known = pac_bayes(margins, 1 - 0.1 / 4).bound
    assert known <= cert.number("risk of the model by PAC-Bayes at most") <= known + 0.01
    voted = trained(VotedPerceptron()).certificate(X, Y, risk=True)
    assert "the errors of the model are not stated: readout=" in " ".join(voted.remarks)


def test_held_out_rows():
    clf = trained(Perceptron())
    cert = certify(NEW, TRUTH, model=clf, passes=1)
    result = verify(cert, NEW, TRUTH)
    assert result
    errors = int(np.sum(clf.predict(NEW) != TRUTH))
    assert cert.claims["bias 1: errors of the model"] == errors
    exact = beta.ppf(0.95, errors + 1, len(NEW) - errors)
    assert cert.number("risk of the model on held-out rows at most") == pytest.approx(exact, abs=2e-9)
    statuses = {claim: status for claim, status, _ in result.checks}
    assert statuses["bias 1: the model never saw these rows"] == "not checked"
    assert statuses["bias 1: rows are independent draws"] == "not checked"
    lines = {line.label: line for line in words.table(cert)["bias 1"]}
    assert lines["errors of the model"].value == str(errors)
    assert "assuming i.i.d. rows, not checked" in lines["risk on held-out rows"].note
    other = certify(NEW, np.where(NEW[:, 0] > 1, "c", TRUTH), model=clf, passes=1)
    assert "the errors of the model are not stated: its classes are not those of the rows" in other.remarks


@pytest.mark.parametrize("model", [object(), "perceptron", SklearnPerceptron(), PassiveAggressiveRegressor()])
def test_models_that_are_none_are_named(model):
    with pytest.raises(ValueError, match="is not a classifier of linsep: give a trained one"):
        certify(NEW, TRUTH, model=model)


def test_a_model_must_be_trained_and_have_weights():
    with pytest.raises(NotFittedError):
        certify(NEW, TRUTH, model=Perceptron())
    kernel = KernelPerceptron(max_iter=1).partial_fit(X, Y)
    assert "the errors of the model are not stated: " in " ".join(certify(NEW, TRUTH, model=kernel, passes=1).remarks)


def test_a_seed_is_that_of_the_data_or_there_is_no_risk():
    clf = Perceptron(random_state=data_seed(X, Y), intercept_scaling=1.0).fit(X, Y)
    cert = clf.certificate(X, Y, risk=True)
    assert verify(cert, X, Y)
    assert cert.number("risk of the last weights at most", "run") < 1
    chosen = Perceptron(random_state=7, intercept_scaling=1.0).fit(X, Y).certificate(X, Y, risk=True)
    assert not any("risk of the last weights" in claim for claim in chosen.claims)
    assert "a seed can be chosen for a small risk" in " ".join(chosen.remarks)
    facts = json.loads(chosen.text())
    facts["runs"]["run"]["compression"] = 0.95
    with pytest.raises(FormError, match="its seed may have been chosen for its risk"):
        check_form(facts)
    assert not verify(recomputed(facts, X, Y), X, Y)


def test_orders_that_are_given_are_not_drawn_again():
    clf = Perceptron(random_state=data_seed(X, Y), intercept_scaling=1.0).fit(X, Y)
    cert = clf.certificate(X, Y, risk=True)
    run = cert.facts["runs"]["run"]
    assert "compression" in run
    orders = [replay.permutation(run["order"], epoch, len(X)) for epoch in range(run["passes"])]
    with patch.object(replay, "permutation", lambda order, epoch, n: np.argsort(Y, kind="stable")):
        assert not verify(cert, X, Y)
        assert verify(cert, X, Y, orders=orders)


def test_labels_in_no_random_order_have_no_risk():
    order = np.argsort(Y, kind="stable")
    rows, labels = X[order], Y[order]
    cert = trained(Perceptron(), rows, labels).certificate(rows, labels, risk=True)
    assert not any("risk" in claim for claim in cert.claims)
    assert sum("independent draws, and the class " in remark for remark in cert.remarks) == 1
    assert sum("random order, and the class " in remark for remark in cert.remarks) == 1
    forged = json.loads(cert.text())
    forged["runs"]["run"]["compression"] = 0.95
    forged["problems"]["bias 1"]["held out"] = 0.95
    forged = recomputed(forged, rows, labels)
    assert "risk of the last weights at most" in str(forged["claims"])
    failures = [claim for claim, _ in verify(forged, rows, labels).failures]
    assert failures == ["run: rows are independent draws", "bias 1: rows are independent draws"]
    seeded = Perceptron(random_state=data_seed(rows, labels), intercept_scaling=1.0).fit(rows, labels)
    found = seeded.certificate(rows, labels, risk=True)
    assert found.number("risk of the last weights at most", "run") < 1
    assert not any("PAC-Bayes" in claim for claim in found.claims)


def made():
    facts = json.loads(trained(Perceptron()).certificate(X, Y, risk=True).text())
    facts["problems"]["bias 1"]["held out"] = 0.95
    return recomputed(facts, X, Y)


def _problem(facts, **changed):
    facts["problems"]["bias 1"] |= changed


def _run(facts, **changed):
    facts["runs"]["run"] |= changed


FORGED = {
    "sure": lambda facts: _run(facts, compression=1.0),
    "a text": lambda facts: _run(facts, compression="0.95"),
    "true": lambda facts: _run(facts, compression=True),
    "part of a pass": lambda facts: _run(facts, rounds=facts["runs"]["run"]["rounds"] - 1),
    "shards": lambda facts: _run(facts, shards=[[2, 1]], mixing="rows"),
    "rows of choice": lambda facts: _run(facts, order=[0] * facts["runs"]["run"]["rounds"]),
    "sure held out": lambda facts: _problem(facts, **{"held out": 1}),
    "no model": lambda facts: facts["problems"]["bias 1"]["w"].pop("model"),
    "unknown": lambda facts: facts["problems"]["bias 1"]["PAC-Bayes"].update(prior=1),
    "no scale": lambda facts: facts["problems"]["bias 1"]["PAC-Bayes"].pop("scale"),
    "a far scale": lambda facts: facts["problems"]["bias 1"]["PAC-Bayes"].update(scale=25),
    "half a scale": lambda facts: facts["problems"]["bias 1"]["PAC-Bayes"].update(scale=0.5),
    "no confidence": lambda facts: facts["problems"]["bias 1"]["PAC-Bayes"].pop("confidence"),
    "version 1": lambda facts: facts.update(version=1),
}


@pytest.mark.parametrize("what", FORGED)
def test_risks_that_are_none_are_refused(what):
    facts = made()
    assert verify(facts, X, Y)
    FORGED[what](facts)
    with pytest.raises(FormError):
        check_form(facts)
    assert not verify(facts, X, Y)


def test_a_risk_is_that_of_the_rows():
    facts = made()
    about = [claim for claim in facts["claims"] if "risk" in claim or "errors" in claim or "updated" in claim]
    assert len(about) == 9
    forged = copy.deepcopy(facts)
    forged["claims"] |= dict.fromkeys(about, "0.01")
    assert [claim for claim, _ in verify(forged, X, Y).failures] == about
    more = copy.deepcopy(facts)
    more["runs"]["run"]["compression"] = 0.5
    assert not verify(more, X, Y)
    assert verify(recomputed(more, X, Y), X, Y)
