"""Bad single rows: learn_one and predict_one refuse them, and are as they were."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from linsep import (
    LEARNERS,
    ROMMA,
    BalancedWinnow,
    KernelPerceptron,
    LogisticRegression,
    NaiveBayes,
    PassiveAggressive,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    Winnow,
)
from linsep.training.transaction import PREPARED
from linsep.validation.errors import InvalidDataError, ParameterError
from tests.contracts.table import every_learner, problem, quiet, state

X, y = problem(n=12, p=3)
NO_ROW = r"1-d|one row|indices|values|integer|number|float"

# x, and the reason that learn_one gives.
ROWS = {
    "NaN": ([0.0, np.nan, 1.0], "x contains nan at column 1: fill it in, or drop the row"),
    "infinity": (([0, 2], [1.0, np.inf]), "x contains inf at column 2"),
    "overflow": ([1e308, 1e308, 1e308], "too large for float64: divide all rows by one factor"),
    "too few features": (X[0, :2], "2 features, but the learner has 3"),
    "two rows": (X[:2], "1-d array; got 2 dimensions"),
    "index too high": (([0, 3], [1.0, 1.0]), r"x has column 3, but the learner has 3 features .*grow\(4\)"),
    "negative index": ({-1: 1.0}, r"column -1, but the learner has 3 features \(0 to 2\)"),
    "names": ({"a": 1.0}, "names its features, but the learner has features without names"),
    "values too few": (([0, 1], [1.0]), "2 indices and 1 values"),
    "two dimensions": ((np.array([[0, 1]]), np.array([[1.0, 1.0]])), NO_ROW),
    "broken indices": ((np.array([0.5]), np.array([1.0])), NO_ROW),
    "words for values": ((np.array([0]), np.array(["a"], object)), NO_ROW),
    "a word": ("abc", NO_ROW),
    "nothing": (None, NO_ROW),
    "a word in a dict": ({0: "a"}, NO_ROW),
}
# A row may miss what it needs to be learned from, and still be asked about: features never seen count as 0.
ANSWERED = {"index too high", "negative index"}


def trained():
    """Weights 0 have no score that could overflow, so that some are learned."""
    return Perceptron().partial_fit(4 * X, y)


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_learn_one_refuses(case):
    x, reason = ROWS[case]
    learner = trained()
    before = state(learner)
    with pytest.raises((ValueError, TypeError) if reason == NO_ROW else InvalidDataError, match=reason):
        learner.learn_one(x, 1)
    assert state(learner) == before


@pytest.mark.parametrize("case", sorted(set(ROWS) - ANSWERED))
def test_rows_that_predict_one_refuses(case):
    x, _ = ROWS[case]
    learner = trained()
    before = state(learner)
    with pytest.raises((ValueError, TypeError), match=rf"{NO_ROW}|finite|features|dimensions"):
        learner.predict_one(x)
    assert state(learner) == before


def test_a_row_that_brings_names_and_is_refused_leaves_none():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    fixed = quiet(Perceptron().fit, frame, y)
    limited = Winnow().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    for learner, row, label in (
        (fixed, {"new": 1.0}, "unknown"),
        (limited, {"z": 2.0}, "x"),
        (Winnow(), {"a": 5.0}, 1),
    ):
        before = state(learner)
        with pytest.raises(InvalidDataError, match=r"beyond x_max|not among the classes|another type"):
            learner.learn_one(row, label)
        assert state(learner) == before
    assert fixed.predict(frame).tolist() == quiet(Perceptron().fit, frame, y).predict(frame).tolist()


@pytest.mark.parametrize("kind", [Winnow, BalancedWinnow])
def test_rows_of_weight_0_follow_parameters(kind):
    """The image of the sums is that of the new rate, also where no row is learned."""
    rows = np.abs(X)
    learner = quiet(kind(x_max=None, random_state=0).fit, rows, y).set_params(eta=4.0, class_weight={y[0]: 0.0})
    learner.partial_fit(rows[:1], y[:1])
    pairs = [(np.arange(rows.shape[1]), row) for row in rows]
    assert [learner.predict_one(pair) for pair in pairs] == learner.predict(rows).tolist()


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_refuses_weights_that_multiply_a_step(aggressive):
    learner = ROMMA(aggressive=aggressive)
    weights = np.where(np.arange(len(y)) == 3, 2.0, 1.0)
    for fit in (learner.fit, learner.partial_fit):
        with pytest.raises(ParameterError, match=r"weight 2, but (Aggressive)?Romma projects .*: omit sample_weight"):
            fit(X, y, sample_weight=weights)
    with pytest.raises(ParameterError, match=r"weight 0\.5, but (Aggressive)?Romma projects"):
        learner.set_params(class_weight={y[0]: 0.5}).fit(X, y)
    quiet(learner.set_params(class_weight=None).fit, X, y, sample_weight=np.minimum(np.arange(len(y)), 1))


def test_a_refused_row_does_not_follow_parameters():
    learner = BalancedWinnow(x_max=None).learn_one([1.0, 0.0], 0).learn_one([0.0, 1.0], 1).set_params(eta=5.0)
    before = learner.coef_
    with pytest.raises(InvalidDataError, match="nan"):
        learner.learn_one([np.nan, 1.0], 0)
    assert np.array_equal(learner.coef_, before)


@pytest.mark.parametrize("label", [float("nan"), None, [1], np.zeros(2)], ids=["nan", "None", "list", "array"])
def test_first_labels_that_learn_one_refuses(label):
    learner = Perceptron()
    before = state(learner)
    with pytest.raises((ValueError, TypeError)):
        learner.learn_one(X[0], label)
    assert state(learner) == before


@pytest.mark.parametrize(
    "learner", [PassiveAggressive(C=-1), Perceptron(multi_class="foo"), Winnow(eta=-1.0), LogisticRegression(eta0=-5)]
)
def test_learn_one_checks_parameters(learner):
    with pytest.raises(ValueError, match="parameter"):
        learner.learn_one({"a": 1.0}, 0)


def test_parameters_set_in_mid_stream_are_checked():
    learner = PassiveAggressive().partial_fit(X, y)
    for go_on in (lambda: learner.partial_fit(X, y), lambda: learner.learn_one(X[0], 0)):
        with pytest.raises(ValueError, match="parameter"):
            learner.set_params(C=-1.0) and go_on()


KEYS = {
    "a broken number": ({1.7: 1.0}, "the key 1.7: features go by names"),
    "numbers and names": ({0: 1.0, "a": 1.0}, "mixes names such as 'a' with column numbers"),
    "names and numbers": ({"a": 1.0, 0: 1.0}, "mixes names such as 'a' with column numbers"),
}


@pytest.mark.parametrize("case", KEYS)
def test_keys_that_learn_one_refuses(case):
    x, reason = KEYS[case]
    for learner in (Perceptron(), Perceptron().learn_one({"a": 1.0}, 0)):
        before = state(learner)
        with pytest.raises(InvalidDataError, match=reason):
            learner.learn_one(x, 0)
        assert state(learner) == before


NO_COLUMN = {
    "float": 1.7,
    "whole float": 1.0,
    "numpy float": np.float64(1.7),
    "bool": True,
    "numpy bool": np.True_,
    "None": None,
    "tuple": (1,),
}


@pytest.mark.parametrize("key", NO_COLUMN.values(), ids=NO_COLUMN)
@pytest.mark.parametrize("kind", [Perceptron, VotedPerceptron, KernelPerceptron, NaiveBayes])
def test_keys_that_are_no_column_numbers(kind, key):
    """Refused anywhere in the dict, by learners that are ready for single rows too."""
    learner = kind().partial_fit(np.abs(X), y)
    if hasattr(learner, "learn_one"):
        learner.learn_one(np.abs(X[0]), 1)
    learner.predict(np.abs(X))
    before = state(learner)
    for x in ({0: 1.0, key: 2.0}, {key: 2.0}):
        with pytest.raises(InvalidDataError, match=r"x has the key .*: features go by names"):
            learner.predict_one(x)
        if hasattr(learner, "learn_one"):
            with pytest.raises(InvalidDataError, match=r"x has the key .*: features go by names"):
                learner.learn_one(x, 1)
    assert state(learner) == before
    assert learner.predict_one({np.int32(0): 1.0, 1: 2.0}) == learner.predict_one({0: 1.0, np.uint8(1): 2.0})


def test_names_among_column_numbers_are_refused_by_predict_one():
    for x in ({0: 1.0, "a": 2.0}, {"a": 2.0, 0: 1.0}):
        with pytest.raises(InvalidDataError, match="mixes names such as 'a' with column numbers"):
            trained().predict_one(x)


def test_column_numbers_beyond_int64():
    for ask in (trained().predict_one, lambda x: trained().learn_one(x, 1)):
        with pytest.raises(InvalidDataError, match=f"x has the column number {1 << 70}, beyond int64"):
            ask({0: 1.0, 1 << 70: 1.0})


@pytest.mark.parametrize("kind", [Perceptron, VotedPerceptron, KernelPerceptron])
@pytest.mark.parametrize("key", [0, 1.7, None])
def test_predict_one_refuses_other_keys_than_names_where_features_have_names(kind, key):
    learner = kind().learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, 1)
    with pytest.raises(InvalidDataError, match=f"x has the key {key}, but the learner's features have names"):
        learner.predict_one({"a": 1.0, key: 1.0})
    assert learner.predict_one({"b": 1.0, "never seen": 1.0}) == learner.predict_one({"b": 1.0})


def test_column_numbers_where_features_have_names():
    with pytest.raises(InvalidDataError, match="numbers its columns, but the learner's features have names"):
        Perceptron().learn_one({"a": 1.0}, 0).learn_one({0: 1.0}, 0)


def test_a_series_is_read_by_its_names():
    learner = Perceptron().learn_one({"age": 1.0, "pay": 0.0}, "x").learn_one({"age": 0.0, "pay": 1.0}, "y")
    other_way_round = pd.Series({"pay": 1.0, "age": 0.0})
    assert learner.predict_one(other_way_round) == learner.predict_one(dict(other_way_round)) == "y"
    assert learner.learn_one(other_way_round, "y").t_ == 3


def test_a_default_that_needs_the_number_of_features():
    with pytest.raises(ParameterError, match="a stream of names has no known N: set p"):
        PNormPerceptron().learn_one({"a": 1.0}, 0)


def test_names_and_grow_do_not_mix():
    with pytest.raises(ParameterError, match="Cannot grow a learner with named features"):
        Perceptron().learn_one({"a": 1.0}, 0).grow(4)


def test_questions_of_unequal_length_after_good_ones():
    learner = trained()
    learner.predict_one((np.array([0, 1]), np.ones(2)))
    with pytest.raises(InvalidDataError, match="2 indices and 1 values"):
        learner.predict_one((np.array([0, 1]), np.ones(1)))


def test_a_negative_index_is_not_told_to_grow():
    with pytest.raises(InvalidDataError, match="column -1") as caught:
        trained().learn_one(([-1], [1.0]), 1)
    assert "grow" not in str(caught.value)


def test_the_number_of_features_must_be_known():
    learner = Perceptron()
    before = state(learner)
    for x in ({0: 1.0}, ([0], [1.0])):
        with pytest.raises(InvalidDataError, match=r"not known yet: call grow\(n_features\) first"):
            learner.learn_one(x, 0)
        assert state(learner) == before


@pytest.mark.parametrize("label", [float("nan"), None, [1], "word"])
def test_labels_that_learn_one_refuses(label):
    learner = trained()
    before = state(learner)
    with pytest.raises((ValueError, TypeError)):
        learner.learn_one(X[0], label)
    assert state(learner) == before


@pytest.mark.parametrize("label", [[1], (1,), {1: 2}, {1}, np.array([1]), np.array(1)], ids=str)
@pytest.mark.parametrize("kind", [Perceptron, VotedPerceptron, KernelPerceptron])
@pytest.mark.parametrize("ready", [False, True])
def test_labels_that_are_not_one_label(kind, label, ready):
    learner = kind()
    if ready:
        learner.learn_one(X[0], 0).learn_one(X[1], 1)
    before = state(learner)
    with pytest.raises(InvalidDataError, match="y is one label; got "):
        learner.learn_one(X[0], label)
    assert state(learner) == before


@pytest.mark.parametrize("x", [X[0], ([0], [1.0]), {0: 1.0}, {"a": 1.0}], ids=["array", "entries", "dict", "names"])
def test_predict_one_before_training(x):
    learner = Perceptron()
    before = state(learner)
    with pytest.raises(AttributeError, match="fitted"):
        learner.predict_one(x)
    assert state(learner) == before


@every_learner
def test_questions_before_training(name):
    learner = LEARNERS[name].learner()
    before = state(learner)
    for ask in (learner.predict, learner.decision_function, lambda rows: learner.score(rows, y)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(X)
    for attribute in ("coef_", "intercept_", "mistakes_", "updates_", "skipped_", "log_", "t_"):
        with pytest.raises(AttributeError, match="fitted"):
            getattr(learner, attribute)
    assert state(learner) == before


def test_a_copy_leaves_the_compiled_pass_behind_and_goes_on_alike():
    """Pickles hold the model alone; a copy that learns does not touch the original."""
    learner = trained().learn_one(X[0], 1)
    before = state(learner)
    twin = pickle.loads(pickle.dumps(learner))
    assert not set(PREPARED) & set(vars(twin))
    twin.learn_one(-X[0], 1)
    assert state(learner) == before
    learner.learn_one(-X[0], 1)
    assert np.array_equal(learner.coef_, twin.coef_)


@pytest.mark.parametrize("kind", [Perceptron, VotedPerceptron, Winnow, KernelPerceptron])
def test_a_shallow_copy_has_feature_names_of_its_own(kind):
    """Names that one learner adds are no features of the other, whose weights would have no room for them."""
    first = kind().learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, 1)
    second = copy.copy(first)
    alone = copy.deepcopy(first), copy.deepcopy(first)
    for learner, new in ((first, "c"), (second, "d"), (alone[0], "c"), (alone[1], "d")):
        for _ in range(3):
            learner.learn_one({new: 1.0}, 1).learn_one({"a": 1.0, new: -1.0}, 0)
    for learner, expected in zip((first, second), alone, strict=True):
        assert learner.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
        rows = pd.DataFrame(np.eye(3), columns=expected.feature_names_in_)
        assert learner.decision_function(rows).tolist() == expected.decision_function(rows).tolist()


def test_columns_without_a_name_are_refused():
    """The weights have room for names to come: no row may write there, and none is read there."""
    learner = Perceptron().learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1).learn_one({"d": 1.0}, 0)
    for _ in range(2):  # the second row takes the fast path
        with pytest.raises(
            InvalidDataError, match=r"x has column 6, but the learner has 4 features \(0 to 3\): use a dict"
        ):
            learner.learn_one((np.array([6]), np.array([1.0])), 1)
        learner.learn_one((np.array([3]), np.array([1.0])), 0)
    winnow = Winnow(x_max=1.0).learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1).learn_one({"d": 1.0}, 0)
    for clf in (learner, winnow):
        known = clf.predict_one((np.array([0]), np.array([-1.0])))
        assert clf.predict_one((np.array([0, 7]), np.array([-1.0, 100.0]))) == known


def test_a_first_row_may_be_sparse_or_empty():
    assert Perceptron().learn_one(csr_array([[1.0, 0.0, 2.0]]), 1).n_features_in_ == 3
    learner = Perceptron().learn_one({}, 1).learn_one({"a": 1.0}, 0)
    same = Perceptron().learn_one({"a": 0.0}, 1).learn_one({"a": 1.0}, 0)
    assert learner.coef_.tolist() == same.coef_.tolist()
    assert learner.feature_names_in_.tolist() == ["a"]
