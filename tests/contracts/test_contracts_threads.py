"""Contracts about threads: one trains while others predict."""

import sys
import threading
import time
from collections import UserDict
from pathlib import Path

import numpy as np
import pytest

import linsep
from linsep import LEARNERS
from linsep.validation.inputs import known_entries
from tests.contracts.table import bits, quiet
from tests.contracts.table import problem as rows_with_labels

SECONDS = 0.1
"""How long a learner is trained while others predict."""
TRAINED = [name for name in LEARNERS if hasattr(LEARNERS[name].learner, "partial_fit")]
ONE_BY_ONE = [name for name in LEARNERS if hasattr(LEARNERS[name].learner, "learn_one")]
READS = ("predict", "decision_function", "predict_proba")
OWN = {
    "voted-perceptron": {"max_support": 12, "when_full": "forget"},
    "p-norm-perceptron": {"p": 3.0},
    "least-squares": {"solver": "stream"},
}

X, y = rows_with_labels(3)
X = np.abs(X)
PAIRS = [(np.flatnonzero(x), x[x != 0]) for x in X]
NAMED = [{f"f{j}": v for j, v in zip(*pair, strict=True)} for pair in PAIRS]


def build(name):
    return LEARNERS[name].make_online(**{"shuffle": False, "random_state": 0, "x_max": None} | OWN.get(name, {}))


def together(train, *reads):
    """Train in this thread, over and over, while each of the others reads; raise what one of them raised."""
    done, raised, counts = threading.Event(), [], [0] * len(reads)

    def loop(k, read):
        try:
            while not done.is_set():
                read()
                counts[k] += 1
        except BaseException as error:
            raised.append(error)
            done.set()

    threads = [threading.Thread(target=loop, args=task) for task in enumerate(reads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end, k = time.monotonic() + SECONDS, 0
        while not done.is_set() and (time.monotonic() < end or not all(counts)):
            train(k)
            k += 1
    finally:
        sys.setswitchinterval(interval)
        done.set()
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]
    return k


def predictions(learner):
    """All that it predicts, to the last bit."""
    if learner._names is not None:
        return [learner.predict_one(row) for row in NAMED], bits(weights_of(learner))
    found = [bits(getattr(learner, read)(X)) for read in reads_of(learner)]
    return [*found, [learner.predict_one(row) for row in PAIRS]]


def reads_of(learner):
    """The methods that it has of those that predict many rows."""
    return [read for read in READS if hasattr(learner, read)]


def weights_of(learner):
    """The weights, of a learner that has any."""
    return learner.coef_ if hasattr(learner, "coef_") else learner.support_


LABELS = {0, 1, 2, 3, 4}
AGAIN = 60
"""Calls after which a new learner takes the place of the old."""


def label(k):
    """Labels, of which a new one arrives now and then until there are five."""
    return np.minimum(y[k % len(y)] + k // 8, 4)


def newest(k):
    """Labels of which every call brings a new one."""
    return np.asarray(k)


def stressed(make, learn, *reads):
    """Train learners one after the other while others predict; return the last, and one that was trained alone."""
    box = []

    def train(learners, k):
        if k % AGAIN == 0:
            learner = make()
            learn(learner, k)
            learners[:] = [learner]
        else:
            learn(learners[0], k)

    quiet(train, box, 0)
    many = quiet(together, lambda k: train(box, k), *([lambda read=read: read(box[0]) for read in reads]))
    alone = []
    for k in range((many - 1) // AGAIN * AGAIN, many):
        quiet(train, alone, k)
    return box[0], alone[0]


def predict_many(learner):
    """Predict many rows; labels are known, and there is a number for each row."""
    assert set(learner.predict(X)) <= LABELS
    for read in reads_of(learner)[1:]:
        assert len(getattr(learner, read)(X)) == len(X)


def predict_each(learner):
    """Predict single rows."""
    assert learner.predict_one(PAIRS[0]) in LABELS
    assert learner.predict_one(X[1]) in LABELS


def predict_named(learner):
    """Predict single rows whose features have names."""
    assert learner.predict_one(NAMED[0]) in LABELS
    assert learner.predict_one(NAMED[-1]) in LABELS


def learn_batch(learner, k, label=label):
    rows = np.arange(k % AGAIN, k % AGAIN + 8)
    learner.partial_fit(X[rows % len(X)], label(rows))


def learn_pair(learner, k, label=label):
    learner.learn_one(PAIRS[k % len(X)], label(k % AGAIN).item())


def learn_named(learner, k, label=label):
    learner.learn_one(NAMED[k % len(X)] | {f"more {k % AGAIN}": 1.0}, label(k % AGAIN).item())


def wide(name):
    return build(name).grow(X.shape[1])


WAYS = {"batches": (build, learn_batch), "pairs": (wide, learn_pair), "names": (build, learn_named)}
CASES = [(name, "batches") for name in TRAINED] + [(name, way) for name in ONE_BY_ONE for way in ("pairs", "names")]
each = pytest.mark.parametrize(("name", "way"), CASES)


@pytest.mark.slow
@each
def test_predicting_while_another_thread_trains(name, way):
    """New classes arrive, and new features where they have names; nothing raises, and no prediction stays behind."""
    make, learn = WAYS[way]
    reads = [predict_named] if way == "names" else [predict_many, predict_each]
    learner, alone = stressed(lambda: make(name), learn, *reads)
    assert predictions(learner) == predictions(alone)


def at_every_line(call, other):
    """Make a call; before each line of the learners' code, when it is first run, do something else."""
    package, seen = Path(linsep.__file__).parent, set()
    folders = str(package / "estimators"), str(package / "training")

    def trace(frame, event, arg):
        if not frame.f_code.co_filename.startswith(folders):
            return None
        line = frame.f_code, frame.f_lineno
        if event == "line" and line not in seen:
            seen.add(line)
            other()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


STEPS = 7, 8
"""Calls of training: of known labels, and of one that is new."""


def glance(learner):
    """Some of what it predicts, to the last bit."""
    if learner._names is not None:
        return [learner.predict_one(row) for row in (NAMED[0], *({f"more {k}": 1.0} for k in STEPS))]
    return [learner.predict_one(PAIRS[0]), *(bits(getattr(learner, read)(X[:6])) for read in reads_of(learner)[1:])]


@pytest.mark.slow
@each
def test_training_is_published_as_a_whole(name, way):
    """Before every line of a call that trains, predictions are those before the call or those after it."""
    make, learn = WAYS[way]
    learner, found = make(name), []
    for k in range(max(STEPS) + 1):
        if k not in STEPS:
            (learn_batch if way == "pairs" and k == 6 else learn)(learner, k)  # single rows begin anew after a batch
            continue
        before = glance(learner)
        at_every_line(lambda k=k: learn(learner, k), lambda: found.append(glance(learner)))
        after = glance(learner)
        assert len(found) > 2
        assert [seen for seen in found if seen not in (before, after)] == []
        found.clear()


@pytest.mark.slow
@each
def test_a_prediction_is_of_one_state(name, way):
    """Training before every line of a prediction: it is that of some state between its beginning and its end."""
    make, learn = WAYS[way]
    row = (NAMED if way == "names" else PAIRS)[0]
    assert interrupted(make(name), learn, lambda learner: learner.predict_one(row))
    for read in reads_of(make(name)) if way == "batches" else ():
        assert interrupted(make(name), learn, lambda learner, read=read: bits(getattr(learner, read)(X[:2])))


def interrupted(learner, learn, read):
    """Tell whether a prediction during which the learner is trained is one of those between the calls."""
    states, calls = [], iter(range(3, AGAIN))
    for k in range(3):
        learn(learner, k, newest)

    def train():
        k = next(calls, None)
        if k is not None:
            learn(learner, k, newest)
            states.append(read(learner))

    states.append(read(learner))
    vars(learner).pop("_row_predictor", None)
    return at_every_line(lambda: read(learner), train) in states


def test_a_name_that_is_taken_back_while_a_row_is_predicted_counts_for_nothing():
    """Another thread refuses a row whose name it had added, just after the name was found."""

    class Fickle(dict):
        def __contains__(self, name):
            return super().__contains__(name) or name == "gone"

    indices, values = known_entries({"gone": 1.0, "here": 2.0, "never": 3.0}, Fickle(here=5))
    assert (indices.tolist(), values.tolist()) == ([5], [2.0])


@pytest.mark.parametrize("name", ["perceptron", "naive-bayes"])
def test_a_mapping_is_predicted_as_a_dict(name):
    learner = build(name)
    if name == "perceptron":
        learner.learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, 1)
        row = {"b": 1.0, "never": 2.0}
    else:
        learner.partial_fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        row = {1: 1.0}
    assert learner.predict_one(UserDict(row)) == learner.predict_one(row) == 1
