"""Which runs have a certificate: fits, streams, located rows, saved learners; and which are refused."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import linsep
from linsep import (
    LEARNERS,
    BalancedWinnow,
    MaxMargin,
    OnlineClassifier,
    PassiveAggressive,
    Perceptron,
    certify,
    load,
    verify,
)
from linsep.certificates import certify as certifying
from linsep.estimators.base import run_certificate as certified
from linsep.rules import Perceptron as Rule
from tests.certified import (
    CASES,
    HELD,
    OWN,
    agrees_with_a_replay,
    contradicted,
    plain,
    signed,
    three_classes,
    trained,
    two_classes,
)
from tests.fits import fit

SEAL = "witnesses: sha256"
GOLDEN = Path(__file__).parents[1] / "models" / "golden"


def test_located_rows():
    """A run of an earlier file that located its rows may come back to a row: the bound is that for as many passes."""
    told = json.loads((GOLDEN / "format-1-located.json").read_text())
    clf, X, y = load(GOLDEN / "format-1-located.linsep"), np.array(told["X"]), np.array(told["y"])
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    again = [np.bincount(run["order"]).max() for run in cert.facts["runs"].values()]
    assert all(run["passes"] == max(again) for run in cert.facts["runs"].values())
    for name, c in zip(cert.runs, clf.classes_, strict=True):
        agrees_with_a_replay(cert, name, signed(clf, X, y, c))
        problem = cert.facts["runs"][name]["problem"]
        most = cert.number(f"perceptron's mistakes (T = {max(again)}) at most", problem)
        assert cert.claims[f"{name}: mistakes"] <= most


def test_several_epochs_have_the_bound_for_as_many():
    X, y = contradicted()
    clf = fit(Perceptron(max_iter=7, shuffle=False), X, y)
    cert = clf.certificate(X, y)
    assert cert.facts["runs"]["run"]["passes"] == 7
    assert clf.mistakes_ <= cert.number("perceptron's mistakes (T = 7) at most")
    assert "run: mistakes at most" not in cert.claims
    assert clf.mistakes_ <= cert.number("mistakes at most, by the regret", "run")


def test_warm_start_goes_on():
    """Two fits of an epoch are a fit of two; rows that changed in between are not the run's."""
    X, y = contradicted()
    once = fit(plain(max_iter=2), X, y).certificate(X, y)
    clf = plain(max_iter=1, warm_start=True)
    assert fit(fit(clf, X, y), X, y).certificate(X, y).facts == once.facts
    clf = fit(fit(plain(max_iter=1, warm_start=True), X, y), X[::-1], y[::-1])
    for rows in (slice(None), slice(None, None, -1)):
        with pytest.raises(ValueError, match="leads to other weights"):
            clf.certificate(X[rows], y[rows])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HELD))
def test_chunks_are_one_pass(name):
    """`partial_fit` in chunks, row by row, and one pass of `fit` in order: the same certificate."""
    X, y = two_classes()
    whole = trained(name, "two", max_iter=1, shuffle=False, fit_intercept=False)
    cert = whole.certificate(X, y)
    make = LEARNERS[name].make_online
    chunks = make(random_state=0, log=True, fit_intercept=False, **OWN.get(name, {}))
    for lo in range(0, len(X), 5):
        chunks.partial_fit(X[lo : lo + 5], y[lo : lo + 5], classes=["no", "yes"])
    assert chunks.certificate(X, y).facts == cert.facts
    single = make(random_state=0, log=True, fit_intercept=False, **OWN.get(name, {}))
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    again = single.certificate(X, y)
    assert again.claims | {SEAL: ""} == cert.claims | {
        SEAL: ""
    }  # a step of passive-aggressive may differ in its last bit


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_labels_that_arrive_late(multi_class):
    """As if they had been known; a learner that has seen one label, or two, has its certificate too."""
    X, y = three_classes()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    late, known = (Perceptron(multi_class=multi_class, random_state=0) for _ in range(2))
    for stop in (np.sum(y < "b"), np.sum(y < "c"), len(y)):
        start = getattr(late, "t_", 0) if hasattr(late, "classes_") else 0
        late.partial_fit(X[start:stop], y[start:stop])
        cert = late.certificate(X[:stop], y[:stop])
        assert verify(cert, X[:stop], y[:stop])
        claimed = [cert.claims[f"{run}: mistakes"] for run in cert.runs]
        assert sum(claimed) == np.sum(late.mistakes_)
    known.partial_fit(X, y, classes=["a", "b", "c"])
    if multi_class == "ovr":
        assert late.certificate(X, y).facts == known.certificate(X, y).facts


class Heir(Rule):
    """A rule that calls itself a perceptron and is none."""

    def step(self, score, y, xx):
        return y if y * score < 0 else 0.0


def test_a_rule_of_ones_own():
    """The perceptron's rule has its theorem under any name; others have none, even if they inherit from it."""
    X, y = two_classes()
    alike = {"random_state": 0, "fit_intercept": False}
    as_rule = fit(OnlineClassifier(Rule(), **alike), X, y).certificate(X, y)
    assert as_rule.facts == fit(plain(), X, y).certificate(X, y).facts
    linked, named = OnlineClassifier(Rule(), link="sinh", eta=0.1, **alike), BalancedWinnow(eta=0.1, **alike)
    assert fit(linked, X, y).certificate(X, y).facts == fit(named, X, y).certificate(X, y).facts
    clf = fit(OnlineClassifier(Rule(), **alike), X, y)
    clf._state = replace(clf._state, rule=Heir())  # compiling a rule for this would take as long as all else here
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert "no theorem bounds the mistakes of OnlineClassifier" in cert.remarks[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaged-perceptron", "winnow", "passive-aggressive", "max-margin"])
def test_saved_pickled_and_sparsified_learners(name, tmp_path):
    X, y = two_classes()
    clf = trained(name, "two", fit_intercept=False)
    facts = clf.certificate(X, y).facts
    linsep.save(clf, tmp_path / "model")
    loaded = linsep.load(tmp_path / "model")
    assert loaded.certificate(X, y).facts == facts
    assert pickle.loads(pickle.dumps(clf)).certificate(X, y).facts == facts
    if name != "winnow":
        assert clf.sparsify().certificate(X, y).facts == facts


def test_dense_and_sparse_rows_are_one_certificate():
    X, y = two_classes()
    dense, sparse = (fit(plain(), A, y).certificate(A, y) for A in (X, csr_array(X)))
    assert {k: v for k, v in dense.claims.items() if k.startswith("run: ") and "regret" not in k} == {
        k: v for k, v in sparse.claims.items() if k.startswith("run: ") and "regret" not in k
    }
    assert verify(dense, csr_array(X), y)
    assert verify(sparse, X, y)


def test_runs_that_can_not_be_known():
    X, y = two_classes()
    with pytest.raises(NotFittedError):
        Perceptron().certificate(X, y)
    with pytest.raises(ValueError, match=r"no log was kept: log=False; fit again with log=True"):
        fit(Perceptron(log=False), X, y).certificate(X, y)
    clf = fit(Perceptron(random_state=0), X, y)
    clf._state.log = replace(clf._state.log, limit=0).within_limit()
    with pytest.raises(ValueError, match="it outgrew"):
        clf.certificate(X, y)


@pytest.mark.parametrize("name", sorted(HELD))
def test_other_data_are_refused(name):
    X, y = two_classes()
    clf = trained(name, "two")
    other = np.where(y == "no", "yes", "no")
    for rows, labels, message in (
        (X[::-1], y[::-1], "leads to other weights"),
        (X, other, "leads to other weights"),
        (X * 1.125, y, "leads to other weights"),
        (np.vstack([X, X]), np.append(y, y), r"\d+ rounds, and these rows make"),
        (X[:1], y[:1], "the log names row|rounds, and these rows make"),
        (X[:, :2], y, "features"),
        (X, np.where(y == "no", "never", "yes"), "label 'never'"),
        (X, y[:-1], "labels|samples|rows"),
        (np.where(X > 0.9, np.nan, X), y, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.certificate(rows, labels)


@pytest.mark.parametrize("case", CASES)
def test_weighted_rows(case):
    """The theorems are about rows that weigh the same."""
    X, y = CASES[case][0]()
    weights = np.where(np.arange(len(X)) % 3, 1.0, 2.5)
    clf = fit(plain(multi_class=CASES[case][1]), X, y, sample_weight=weights)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert "no guarantee: rows were weighted" in cert.remarks[0]


def test_weights_of_one_and_of_zero():
    X, y = two_classes()
    even = fit(plain(class_weight={"no": 1, "yes": 1}), X, y)
    assert even.certificate(X, y).facts == fit(plain(), X, y).certificate(X, y).facts
    clf = fit(plain(), X, y, sample_weight=np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="rows of weight 0"):
        clf.certificate(X, y)


def test_a_bound_that_is_broken_is_told(monkeypatch):
    """PA with weights oversteps: no bound holds, the certificate claims none, and a remark says so."""
    X, y = two_classes()
    clf = PassiveAggressive(variant="PA", log=True, random_state=0, max_iter=30)
    fit(clf, X, y, sample_weight=np.where(np.arange(len(X)) % 2, 40.0, 0.5))
    monkeypatch.setattr(PassiveAggressive, "_trains_to_the_same_log", lambda *_: True)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert cert.facts["risk"] == {}
    assert "was an update of the rule" in cert.remarks[-1] or "was no update of the rule" in cert.remarks[-1]


OTHER_UPDATES = "no run is certified: trained again on these rows, the learner makes other updates"


def negated(clf, X):
    """Rows with those negated on which no update was made: another run would be needed for them."""
    never = np.setdiff1d(np.arange(len(X)), clf.log_.rows)
    assert len(never)
    other = X.copy()
    other[never] *= -1
    return other


def streamed(clf, X, y):
    """Train on the first rows at once, and on the others one by one."""
    clf.partial_fit(X[:4], y[:4], classes=None if clf.multi_class == "joint" else np.unique(y))
    for x, label in zip(X[4:], y[4:], strict=True):
        clf.learn_one(x, label)
    return clf


RUNS = {
    "epochs": lambda clf, X, y: fit(clf, X, y),
    "two fits": lambda clf, X, y: fit(fit(clf.set_params(warm_start=True, max_iter=1), X, y), X, y),
    "stream": streamed,
    "epochs and stream": lambda clf, X, y: fit(clf, X, y).partial_fit(X, y),
    "shards": lambda clf, X, y: fit(clf.set_params(shards=3, max_iter=3), X, y),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", RUNS)
def test_rows_that_made_no_update_are_part_of_the_run(how, case):
    """Nothing is claimed of a run on rows that it never saw, even rows without updates; its own rows are certified."""
    X, y = CASES[case][0]()
    clf = RUNS[how](plain(multi_class=CASES[case][1], max_iter=4), X, y)
    cert = clf.certificate(X, y)
    assert cert.runs
    assert verify(cert, X, y)
    other = negated(clf, X)
    cert = clf.certificate(other, y)
    assert verify(cert, other, y)
    assert (cert.runs, cert.risk) == ([], {})
    assert any(OTHER_UPDATES in remark for remark in cert.remarks)


def test_rows_that_a_stream_never_saw_are_refused():
    X, y = two_classes()
    clf = plain().partial_fit(X[:10], y[:10], classes=["no", "yes"])
    with pytest.raises(ValueError, match="the run had 10 rounds, and these rows make 18"):
        clf.certificate(X, y)


@pytest.mark.parametrize("weights", [{"class_weight": {"no": 2.0, "yes": 1.0}}, {}], ids=["classes", "rows"])
def test_weighted_runs_of_passive_aggressive_are_not_certified(weights):
    """Their steps are not those of the rule."""
    X, y = two_classes()
    clf = PassiveAggressive(log=True, random_state=0, fit_intercept=False, **weights)
    clf.partial_fit(X, y, ["no", "yes"], None if weights else np.linspace(0.5, 1, len(X)))
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert OTHER_UPDATES in cert.remarks[-1]


def test_a_run_of_other_updates_is_no_run():
    """A round left out, added, put elsewhere, or of another order: no claim holds."""
    X, y = two_classes()
    cert = fit(plain(), X, y).certificate(X, y)
    known = cert.facts["runs"]["run"]
    updates, order = known["updates"], known["order"]
    moved = [{"updates": forged} for forged in (updates[1:], [*updates, 1], [updates[0] + 1, *updates[1:]])]
    for forged in (*moved, {"order": "rows"}, {"order": order | {"seed": 1}}, {"order": order | {"shuffle": "once"}}):
        run = known | forged
        assert run == known or not verify(cert.facts | {"runs": {"run": run}}, X, y)


def test_a_time_limit_and_a_watch():
    X, y = two_classes()
    clf, seen = fit(plain(), X, y), []
    cert = clf.certificate(X, y, time_limit=1e-6, watch=lambda *told: seen.append(told))
    assert verify(cert, X, y)
    assert cert.claims["run: mistakes"] == clf.mistakes_
    clf.certificate(X, y, watch=lambda name, lower, upper: seen.append((name, lower, upper)))
    assert seen
    for bad in ({"epsilon": 0}, {"delta": 1.5}, {"time_limit": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            clf.certificate(X, y, **bad)


def test_a_learner_of_all_rows_carries_the_datas_certificate():
    X, y = two_classes()
    cert, data = fit(MaxMargin(), X, y).certificate(X, y), certify(X, y, passes=1)
    assert {k: v for k, v in cert.claims.items() if "sha256" not in k} == {
        k: v for k, v in data.claims.items() if "sha256" not in k
    }


def test_what_is_too_much_is_told(monkeypatch):
    """Runs with too many updates, and pairs of too many rows, are left out with a word."""
    X, y = three_classes()
    clf = fit(plain(multi_class="joint", fit_intercept=True), X, y)
    monkeypatch.setattr(certified, "MOST_REPLAYED", 3)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert any("run of pairs: too long to be played again" in remark for remark in cert.remarks)
    monkeypatch.setattr(certifying, "MOST_PAIRS", 0)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert any("run of pairs: not replayed, as its rows were not read" in remark for remark in cert.remarks)


def test_weights_in_one_class_leave_no_run_unchecked():
    """Weights that changed the updates of one class only: the other classes are not certified on faith."""
    X, y = three_classes()
    log = fit(plain(multi_class="ovr"), X, y).log_
    row = next(row for row in np.unique(log.rows) if len(np.unique(log.classes[log.rows == row])) == 1)
    clf = fit(plain(multi_class="ovr"), X, y, sample_weight=np.where(np.arange(len(X)) == row, 1.0 + 2.0**-30, 1.0))
    steps = [clf.log_.amounts[clf.log_.classes == c] for c in range(3)]
    assert sum(bool(np.any(np.abs(of) != 1)) for of in steps) == 1
    for rows in (X, negated(clf, X)):
        cert = clf.certificate(rows, y)
        assert verify(cert, rows, y)
        assert cert.runs == []
        assert "no guarantee: rows were weighted" in cert.remarks[0]


def located():
    """A learner of an earlier file that located its rows, and the rows."""
    told = json.loads((GOLDEN / "format-1-located.json").read_text())
    return load(GOLDEN / "format-1-located.linsep"), np.array(told["X"]), np.array(told["y"])


def without_update(clf, X, y, line):
    """Leave one update out of the log and of the weights."""
    row, _, c = clf._state.log.numbers[line]
    step = 1.0 if clf.classes_[c] == y[row] else -1.0
    clf._state.link.s[:, c] -= step * np.append(X[row], clf._state.bias)
    clf._state.log = clf._state.log.only(np.delete(np.arange(len(clf._state.log)), line))
    return clf


@pytest.mark.parametrize("lines", [[-1], [-1, -1]], ids=["one class", "the whole round"])
def test_located_rows_with_an_update_left_out_are_not_certified(lines):
    clf, X, y = located()
    for line in lines:
        clf = without_update(clf, X, y, line)
    cert = clf.certificate(X, y)
    assert verify(cert, X, y)
    assert cert.runs == []
    assert any(OTHER_UPDATES in remark for remark in cert.remarks)


def test_a_run_that_claims_to_have_located_its_rows_is_not_certified():
    """Its log has rounds without an update, which located rows have not."""
    X, y = two_classes()
    clf = fit(plain(), X, y)
    clf._state.epochs = 0
    cert = clf.certificate(X, y)
    assert cert.runs == []
    assert any(OTHER_UPDATES in remark for remark in cert.remarks)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [None, 3])
@pytest.mark.parametrize("case", CASES)
def test_epochs_without_number_take_no_time_and_no_memory(case, shards):
    """A run that no longer moves is not trained again epoch by epoch, however many a file states."""
    X, y = CASES[case][0]()
    clf = fit(plain(multi_class=CASES[case][1], shards=shards, max_iter=300, fit_intercept=True), X, y)
    facts, made = clf.certificate(X, y).facts["runs"], clf._state.epochs
    more = (1 << 33) - made
    clf._state.epochs += more
    clf._state.tally.rounds[:] += more * len(X)
    key = "updates"
    assert {name: run[key] for name, run in clf.certificate(X, y).facts["runs"].items()} == {
        name: run[key] for name, run in facts.items()
    }
    cert = clf.certificate(negated(clf, X), y)
    assert cert.runs == []


def test_a_run_of_rows_sorted_by_label_has_no_risk():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    X = rng.normal(size=(120, 3)) + (y == "b")[:, None]
    order = rng.permutation(120)
    by_label, mixed = Perceptron().partial_fit(X, y).certificate(X, y), Perceptron().partial_fit(X[order], y[order])
    assert by_label.facts["risk"] == {}
    assert by_label.remarks[-1] == (
        "no risk is stated: it assumes that rows come in random order, and the class a has 1 run, where a random order "
        "has about 30.5; shuffle the rows before training"
    )
    assert verify(by_label, X, y)
    tested = mixed.certificate(X[order], y[order])
    assert list(tested.facts["risk"]) == ["run"]
    assert any("nothing contradicts it" in remark for remark in tested.remarks)
    assert fit(Perceptron(max_iter=1, shuffle=False), X, y).certificate(X, y).facts["risk"] == {}
    shuffled = fit(Perceptron(max_iter=1, random_state=0), X, y).certificate(X, y)
    assert shuffled.facts["risk"] == {}
    assert "a seed can be chosen" in shuffled.remarks[-1]
