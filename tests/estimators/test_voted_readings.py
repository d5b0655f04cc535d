"""Readings: every readout at once, after any number of rounds, as if training had stopped there."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import KernelPerceptron, VotedPerceptron, rules
from tests import voted_references as ref
from tests.estimators.readouts import ask, columns, every_form, naive
from tests.fits import fit, learner_order

KEYS = [("vote", False)] + [(r, n) for r in ("average", "last", "random", "longest") for n in (False, True)]
LABELS = np.array(["ant", "bee", "cat"])


def some(classes, n=60):
    rng = np.random.default_rng(7)
    X = rng.integers(-4, 5, (n, 4)).astype(float)
    codes = rng.permutation(np.arange(n) % classes)
    return X, codes, rng.integers(-4, 5, (40, 4)).astype(float)


def stopped(learner, X, codes, rounds):
    """The reference of the same run, stopped after some rounds."""
    pair = learner.multi_class == "joint"
    run = ref.voted_pairs if pair else ref.voted
    rows = ref.with_bias(X, learner._bias)
    return ref.trained(run, rows, codes, learner_order(learner, len(X))[:rounds], pair=pair)


def hold(scores, key, machines, cross, gram=None):
    """Compare the scores at one checkpoint, (rows, columns)."""
    if key[0] == "random":
        rounds, _ = ref.drawable(machines, cross, key[1], gram)
        near = np.abs(rounds - scores) <= 1e-12 * max(1, np.abs(rounds).max())
        assert np.any(np.all(near, axis=2), axis=0).all(), key
    else:
        expected = ref.answers(machines, cross, *key, gram).reshape(scores.shape)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12 * max(1, np.abs(expected).max()))


@every_form
def test_a_checkpoint_is_the_run_stopped_there(classes, multi_class):
    X, codes, asked = some(classes)
    learner = fit(VotedPerceptron(max_iter=3, random_state=1, multi_class=multi_class), X, LABELS[codes])
    rounds = [1, 2, 17, 60, 61, 119, learner.t_]
    readings = learner.readings(asked, rounds)
    assert readings.rounds.tolist() == rounds
    assert set(readings.scores) == set(KEYS)
    for n, r in enumerate(rounds):
        machines = stopped(learner, X, codes, r)
        assert readings.mistakes[n] == sum(len(state.mistakes) for state in machines)
        assert readings.support[n] == len({i for state in machines for _, i in state.mistakes})
        for key in KEYS:
            assert readings.scores[key].shape == (len(rounds), 40, 1 if classes == 2 else 3)
            hold(readings.scores[key][n], key, machines, columns(learner, asked))
            of_checkpoint = readings.scores[key][n] if classes > 2 else readings.scores[key][n][:, 0]
            assert np.array_equal(readings.predict(*key)[n], LABELS[ref.labels(of_checkpoint)])
    assert readings.predict("vote").shape == (len(rounds), 40)


@every_form
def test_a_checkpoint_is_a_learner_that_stopped_there(classes, multi_class):
    """To the last bit for all that is no chance and, on integers, not divided."""
    X, codes, asked = some(classes)
    learner = VotedPerceptron(multi_class=multi_class).partial_fit(X, codes, classes=range(classes))
    readings = learner.readings(asked, [1, 30, 59])
    for n, r in enumerate(readings.rounds):
        short = VotedPerceptron(multi_class=multi_class).partial_fit(X[:r], codes[:r], classes=range(classes))
        for key in KEYS:
            if key[0] != "random":
                atol = 1e-12 if key[0] == "average" or key[1] else 0
                expected = ask(short, asked, *key).reshape(40, -1)
                np.testing.assert_allclose(readings.scores[key][n], expected, rtol=0, atol=atol, err_msg=str(key))
        assert readings.mistakes[n] == np.sum(short.mistakes_)
        assert readings.support[n] == short.n_support_


def test_without_checkpoints_it_is_the_end():
    X, codes, asked = some(3)
    learner = fit(VotedPerceptron(max_iter=2, random_state=1, multi_class="ovr", intercept_scaling=1.0), X, codes)
    readings = learner.readings(csr_array(asked))
    assert readings.rounds.tolist() == [learner.t_] == [120]
    assert readings.mistakes.tolist() == [np.sum(learner.mistakes_)]
    assert readings.support.tolist() == [learner.n_support_]
    for key in KEYS:
        if key[0] != "random":
            np.testing.assert_allclose(readings.scores[key][0], ask(learner, asked, *key), atol=1e-12)
    machines = naive(learner, X, codes)
    for key in (("random", False), ("random", True)):
        hold(readings.scores[key][0], key, machines, columns(learner, asked))


def test_reading_changes_nothing():
    X, codes, asked = some(3)
    learner = fit(VotedPerceptron(max_iter=2, random_state=1, readout="last"), X, codes)
    before = learner.decision_function(asked)
    learner.readings(asked, [5, 70])
    assert (learner.readout, learner.normalize, learner.t_) == ("last", False, 120)
    assert np.array_equal(learner.decision_function(asked), before)


@pytest.mark.parametrize("rounds", [[0, 5, 3], [5, 121], [-1, 5], [1.5, 3], [], [7, 7, 3], "5", [[1, 2]]])
def test_rounds_that_never_were_are_refused(rounds):
    X, codes, asked = some(3)
    learner = fit(VotedPerceptron(max_iter=2, random_state=1), X, codes)
    with pytest.raises((ValueError, TypeError), match="rounds"):
        learner.readings(asked, rounds)


def test_readings_of_a_kernel_and_of_a_rule_that_shrinks():
    X, codes, asked = some(2)
    X, asked, rule = X / 4, asked / 4, rules.Romma()
    learner = fit(KernelPerceptron(rule=rule, max_iter=2, random_state=1), X, codes)
    gram, cross = (1 + X @ X.T) ** 2, (1 + X @ asked.T) ** 2
    readings = learner.readings(asked, [1, 40, 97])
    for n, r in enumerate(readings.rounds):
        machines = ref.trained(ref.dual, gram, codes, learner_order(learner, len(X))[:r], rule)
        assert readings.mistakes[n] == len(machines[0].mistakes)
        assert readings.support[n] == len({i for _, i in machines[0].updates})
        for key in KEYS:
            scores = readings.scores[key][n]
            if key[0] == "random":
                all_rounds, _ = ref.drawable(machines, cross, key[1], gram)
                assert np.all(np.min(np.abs(all_rounds[:, :, 0] - scores[:, 0]), axis=0) < 1e-8)
            else:
                np.testing.assert_allclose(scores[:, 0], ref.answers(machines, cross, *key, gram), atol=1e-8)


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_readings_of_one_known_label_predict_it(multi_class):
    learner = VotedPerceptron(multi_class=multi_class).partial_fit([[0.0, 1.0], [1.0, 0.0]], ["ant", "ant"])
    readings = learner.readings([[0.0, 1.0], [0.0, -1.0], [2.0, 3.0]], [1, 2])
    for key in KEYS:
        assert readings.predict(*key).tolist() == [["ant"] * 3] * 2
