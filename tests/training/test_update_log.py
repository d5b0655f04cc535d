"""The log of updates: it grows, merges and makes room for labels without losing a line."""

import pickle

import numpy as np
import pytest

from linsep import AveragedPerceptron, OnlineClassifier, Perceptron
from linsep.engine.step import reads_sign_only, steps_by_one
from linsep.training.update_log import FIRST_ROOM, UpdateLog
from tests.contracts.table import bits, log, quiet
from tests.rules import Keep


def filled(lines, names, sizes):
    """A log of (row, round, classes..., sizes...)."""
    whole = UpdateLog().opened(names, sizes, scored=False)
    for k, line in enumerate(lines):
        whole.lines.numbers[k], whole.lines.sizes[k] = line[: 2 + names], line[2 + names :]
    whole.lines.filled[0] = len(lines)
    return whole


def lines(whole):
    """What a log holds, line by line."""
    record = whole.record()
    columns = [record.rows, record.rounds, record.classes, record.amounts, record.keeps]
    return [list(line) for line in zip(*(c.tolist() for c in columns if c is not None), strict=True)]


@pytest.mark.parametrize(("names", "sizes"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)])
def test_a_record_is_what_was_written(names, sizes):
    rng = np.random.default_rng(0)
    written = rng.integers(0, 9, (5, 2 + names + sizes)).tolist()
    whole = filled(written, names, sizes)
    assert lines(whole) == written
    assert lines(whole.enlarged(3)) == written
    room = len(whole.enlarged(3).lines.numbers)
    assert room >= 2 * FIRST_ROOM
    record = whole.record()
    assert len(record) == 5
    assert (record.classes is None, record.amounts is None, record.keeps is None) == (
        names == 0,
        sizes == 0,
        sizes < 2,
    )


def test_pairs_have_two_classes_a_line():
    record = filled([(0, 1, 2, 0), (3, 4, 1, 2)], 2, 0).record()
    assert record.classes.tolist() == [[2, 0], [1, 2]]


def test_merged_is_ordered_by_round_and_class():
    one = filled([(0, 1, 0, 0.5), (4, 5, 0, 0.25)], 1, 1)
    two = filled([(0, 1, 2, -1.0), (1, 2, 1, 2.0), (4, 5, 1, 3.0)], 1, 1)
    assert lines(two.merged([one])) == [
        [0, 1, 0, 0.5],
        [0, 1, 2, -1.0],
        [1, 2, 1, 2.0],
        [4, 5, 0, 0.25],
        [4, 5, 1, 3.0],
    ]
    assert len(one.merged([two]).lines.numbers) > 5


def test_a_late_label_gets_the_background_lines():
    """Classes a (0) and c (1), background 2; b arrives between them."""
    whole = filled([(0, 1, 0), (0, 1, 2), (1, 2, 1), (2, 3, 2)], 1, 0)
    assert lines(whole.with_new_class(1, 2)) == [[0, 1, 0], [0, 1, 1], [0, 1, 3], [1, 2, 2], [2, 3, 1], [2, 3, 3]]
    assert lines(whole)[0] == [0, 1, 0]
    pairs = filled([(0, 1, 1, 0)], 2, 0)
    assert pairs.with_new_class(1, None).record().classes.tolist() == [[2, 0]]


def test_classes_of_an_open_learner():
    record = filled([(0, 1, 0), (0, 1, 1), (0, 1, 2), (3, 4, 1)], 1, 0).record()
    assert record.of_classes(2).rows.tolist() == [0, 3]
    assert record.of_classes(2).classes is None
    assert record.of_classes(3).classes.tolist() == [0, 1, 2, 1]
    assert record.of_classes(1).rounds.tolist() == [1]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_log_longer_than_its_first_room(classes, jobs):
    """A contradiction is a mistake in every round; pass by pass, row by row and at once, the log is the same."""
    n = 2 * FIRST_ROOM + 3
    X, y = np.ones((n, 1)), np.arange(n) % classes
    whole = quiet(Perceptron(max_iter=1, shuffle=False, log=True, n_jobs=jobs, multi_class="ovr").fit, X, y)
    assert len(whole.log_) == np.sum(whole.updates_) > FIRST_ROOM
    chunks = Perceptron(log=True, n_jobs=jobs, multi_class="ovr")
    for a in range(0, n, 700):
        chunks.partial_fit(X[a : a + 700], y[a : a + 700], classes=range(classes))
    assert log(chunks) == log(whole)
    by_one = Perceptron(log=True)
    for x, label in zip(X, y, strict=True):
        by_one.learn_one(x, label)
    assert log(by_one) == log(whole)


def test_a_log_can_be_followed():
    """The weights are the sum of what the log says, at any of its lines."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (30, 3)).astype(float), rng.integers(0, 3, 30)
    how = {"log": True, "max_iter": 5, "random_state": 3, "multi_class": "ovr", "intercept_scaling": 1.0}
    learner = quiet(AveragedPerceptron(**how).fit, X, y)
    last = quiet(Perceptron(**how).fit, X, y)
    assert log(learner) == log(last)
    w = np.zeros((3, 4))
    for row, k in zip(learner.log_.rows, learner.log_.classes, strict=True):
        w[k] += (1 if y[row] == k else -1) * np.append(X[row], 1.0)
    assert bits(w[:, :3]) == bits(last.coef_ + 0.0)
    assert bits(w[:, 3]) == bits(last.intercept_ + 0.0)
    orders = [np.random.default_rng([3, e]).permutation(30) for e in range(5)]
    assert learner.log_.rows.tolist() == np.concatenate(orders)[learner.log_.rounds - 1].tolist()


def test_steps_that_are_not_one_are_logged():
    """The weights can be put together again from the log, also of a rule that reads the sign alone and shrinks."""
    assert reads_sign_only(Keep)
    assert not steps_by_one(Keep)
    X, y = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 3.0]]), np.array([1, 0, 1])
    learner = OnlineClassifier(Keep(0.5, 1.0, 2.0, 2.0), shuffle=False, fit_intercept=False)
    learner.partial_fit(X, y, classes=[0, 1])
    w = np.zeros(2)
    for row, amount, keep in zip(learner.log_.rows, learner.log_.amounts, learner.log_.keeps, strict=True):
        w = keep * w + amount * X[row]
    assert w.tolist() == learner.coef_[0].tolist() != [0.0, 0.0]


def test_a_pickle_holds_no_free_room_and_no_answer():
    X, y = np.eye(4), [0, 1, 0, 1]
    learner = Perceptron().partial_fit(X, y)
    size = len(pickle.dumps(learner))
    learner.predict(X)
    assert len(pickle.dumps(learner)) == size < 5000
    twin = pickle.loads(pickle.dumps(learner))
    assert log(twin.partial_fit(-X, y)) == log(learner.partial_fit(-X, y))
