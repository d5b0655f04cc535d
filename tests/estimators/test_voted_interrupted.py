"""What stops a voter, or goes on beside it, leaves nothing half done: Ctrl-C, copies, numbers beyond float64."""

import copy
import signal
import threading

import numpy as np
import pytest

from linsep import KernelPerceptron, Perceptron, VotedPerceptron, load, save
from linsep.engine.runtime import uninterrupted
from linsep.training.single_rows import RowLearner
from tests.contracts.table import problem
from tests.estimators.readouts import portrait, same_answers
from tests.fits import fit

BOTH = pytest.mark.parametrize("kind", [VotedPerceptron, KernelPerceptron])


def test_ctrl_c_is_heard_after_the_block():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_never_hear_it():
    found = []

    def work():
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


@BOTH
def test_ctrl_c_in_a_stream_leaves_a_learner_that_is_saved_and_goes_on(kind, tmp_path):
    """In place, with the interrupt in the midst of a pass: whatever was learned is kept with its rows."""
    X, y = problem(3, n=1300, reals=True, noise=0.3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    clf = kind(random_state=0, multi_class="ovr").partial_fit(
        X[:100], y[:100], classes=range(3), sample_weight=weights[:100]
    )
    looks = []

    def watch(state):
        looks.append(state)
        if len(looks) == 3:
            signal.raise_signal(signal.SIGINT)
        return 50

    with pytest.raises(KeyboardInterrupt), clf._training_in_place(), clf._watched(watch):
        clf.partial_fit(X[100:], y[100:], sample_weight=weights[100:])
    assert clf.t_ > 100
    save(clf, tmp_path / "m.linsep")
    twin = load(tmp_path / "m.linsep")
    for learner in (clf, twin):
        learner.partial_fit(X[:50], y[:50], sample_weight=weights[:50])
    same_answers(portrait(clf, X[:40]), portrait(twin, X[:40]))
    seen = clf.survival_
    assert all(np.isclose(counts.sum(), seen[0].sum()) for counts in seen)


@BOTH
def test_ctrl_c_while_single_rows_are_learned(kind, tmp_path):
    X, y = problem(n=60, reals=True, noise=0.4)
    clf = kind(random_state=0).partial_fit(X[:2], [0, 1], classes=[0, 1])

    def learn_and_stop(x, label):
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            clf.learn_one(x, label)

    for x, label in zip(X, y, strict=True):
        clf.learn_one(x, label)
        with pytest.raises(KeyboardInterrupt):
            learn_and_stop(-x, label)
    save(clf, tmp_path / "m.linsep")
    assert clf.t_ == 122
    assert load(tmp_path / "m.linsep").predict(X).tolist() == clf.predict(X).tolist()


@pytest.mark.parametrize("kind", [Perceptron, VotedPerceptron, KernelPerceptron])
def test_a_shallow_copy_goes_on_by_itself(kind):
    X, y = problem(n=90, reals=True, noise=0.4)
    first = kind(random_state=0, log=True).partial_fit(X[:30], y[:30], classes=[0, 1])
    second = copy.copy(first)
    alone = [copy.deepcopy(first).partial_fit(X[lo : lo + 30], y[lo : lo + 30]) for lo in (30, 60)]
    first.partial_fit(X[30:60], y[30:60])
    second.partial_fit(X[60:], y[60:])
    for learner, expected in zip((first, second), alone, strict=True):
        assert learner.log_.rows.tolist() == expected.log_.rows.tolist()
        assert learner.decision_function(X).tolist() == expected.decision_function(X).tolist()


@pytest.mark.parametrize("readout", ["vote", "plurality", "random", "average", "last"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_score_beyond_float64_is_refused_and_never_votes(readout, classes):
    """Rows that have nothing in common are learned; each has a finite product with the point, and two have not."""
    made = {"fit_intercept": False, "shuffle": False, "max_iter": 1, "readout": readout}
    clf = fit(VotedPerceptron(**made), 1e154 * np.eye(4), [1, 1, 0, classes - 1 if classes > 2 else 0])
    before = clf.draws_
    with pytest.raises(ValueError, match="a score is too large for float64"):
        clf.decision_function(np.full((1, 4), 1.7e154))
    with pytest.raises(ValueError, match="a score is too large for float64"):
        clf.predict_one(np.full(4, 1.7e154))
    assert clf.draws_ == before


def test_one_feature_is_forgotten_alike_in_any_blocks():
    X, y = problem(n=400, p=1, reals=True, noise=0.5)
    whole = VotedPerceptron(max_support=5, when_full="forget").partial_fit(X, y, classes=[0, 1])
    blocks = VotedPerceptron(max_support=5, when_full="forget")
    for lo in range(0, 400, 37):
        blocks.partial_fit(X[lo : lo + 37], y[lo : lo + 37], classes=[0, 1])
    same_answers(portrait(whole, X[:50]), portrait(blocks, X[:50]))
    assert whole.readings(X[:3]).mistakes == whole.mistakes_


def test_single_rows_at_the_cap_are_those_of_blocks():
    X, y = problem(n=120, noise=0.5)
    rows = VotedPerceptron(max_support=7, when_full="forget").partial_fit(X[:1], y[:1], classes=[0, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        rows.learn_one(x, label)
    blocks = VotedPerceptron(max_support=7, when_full="forget").partial_fit(X, y, classes=[0, 1])
    same_answers(portrait(rows, X), portrait(blocks, X))


def test_weights_of_single_rows_beyond_float64_change_nothing():
    clf = VotedPerceptron(class_weight={0: 1e308, 1: 1e308}, fit_intercept=False)
    clf.partial_fit([[1e-300]], [1], classes=[0, 1])
    before = portrait(clf, [[1.0], [-2.0]])
    with pytest.raises(ValueError, match="add up to more than float64 holds"):
        clf.learn_one([-1e-300], 0)
    same_answers(portrait(clf, [[1.0], [-2.0]]), before)


def test_a_kernel_that_is_none_is_refused():
    X, y = problem(n=20)
    with pytest.raises(ValueError, match=r"row \d+ with itself is -\d+, and no feature space"):
        KernelPerceptron(kernel=lambda A, B: -(A @ B.T)).fit(X, y)
    with pytest.raises(ValueError, match="it must be symmetric"):
        KernelPerceptron(kernel=lambda A, B: (A @ B.T) ** 2 + A[:, :1] * 9 + 99).fit(X, y)


def test_another_matrix_is_no_warm_start():
    X, y = problem(n=30)
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    clf = fit(KernelPerceptron(kernel="precomputed", warm_start=True, random_state=0), near, y)
    with pytest.raises(ValueError, match="warm_start resumes with the matrix of the first fit"):
        clf.fit(near**2, y)
    fit(clf, near, y)


def test_ctrl_c_after_an_update_waits_until_new_names_are_published(monkeypatch):
    learn = RowLearner.learn

    def interrupted(self, *args):
        learn(self, *args)
        signal.raise_signal(signal.SIGINT)

    clf = Perceptron().learn_one({"a": 1.0}, 0)
    monkeypatch.setattr(RowLearner, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.learn_one({"a": 1.0, "b": 2.0}, 1)
    monkeypatch.undo()
    whole = Perceptron().learn_one({"a": 1.0}, 0).learn_one({"a": 1.0, "b": 2.0}, 1)
    assert clf.coef_.tolist() == whole.coef_.tolist()
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert (clf.mistakes_, clf.updates_) == (whole.mistakes_, whole.updates_)
