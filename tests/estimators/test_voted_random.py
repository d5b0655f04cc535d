"""The random readout: the hypothesis of one round, drawn anew for each row of each call."""

import numpy as np
import pytest

from linsep import VotedPerceptron
from tests import voted_references as ref
from tests.estimators.readouts import columns, every_form, naive
from tests.fits import fit


def build(classes=2, multi_class="ovr", n=50, seed=0, **more):
    """A trained learner, its rows and its reference."""
    rng = np.random.default_rng(6)
    X = rng.integers(-4, 5, (n, 4)).astype(float)
    codes = rng.permutation(np.arange(n) % classes)
    own = {"readout": "random", "random_state": seed, "max_iter": 2, "multi_class": multi_class} | more
    learner = fit(VotedPerceptron(**own), X, codes)
    return learner, X, naive(learner, X, codes)


def among(found, rounds, tolerance=1e-12):
    """Whether each row's answer is that of one round, all classes at once."""
    found = found.reshape(len(found), -1)
    return np.any(np.all(np.abs(rounds - found) <= tolerance * np.abs(rounds).max(), axis=2), axis=0)


@every_form
@pytest.mark.parametrize("normalize", [False, True])
def test_every_answer_is_that_of_one_round_for_all_classes(classes, multi_class, normalize):
    learner, X, machines = build(classes, multi_class, normalize=normalize)
    rounds, _ = ref.drawable(machines, columns(learner, X), normalize)
    answers = [learner.decision_function(X) for _ in range(20)]
    for scores in answers:
        assert among(scores, rounds).all()
    if classes == 3:
        # Classes that were drawn each for itself would not pass.
        mixed = np.column_stack([answers[c][:, c] for c in range(3)])
        assert not among(mixed, rounds).all()


def test_normalised_answers_are_others():
    plain, X, machines = build(3)
    divided = build(3, normalize=True)[0]
    rounds, _ = ref.drawable(machines, columns(plain, X))
    assert not among(divided.decision_function(X), rounds).all()


def test_draws_are_new_in_each_call_and_the_seed_repeats_them():
    (one, X, _), (two, _, _), (other, _, _) = build(seed=1), build(seed=1), build(seed=1)
    other.seed_ = 2  # the same run, other draws
    calls, again, others = ([learner.decision_function(X) for _ in range(3)] for learner in (one, two, other))
    assert np.array_equal(calls, again)
    assert not np.array_equal(calls, others)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        assert not np.array_equal(calls[a], calls[b])


def test_labels_are_drawn_too():
    learner, X, _ = build()
    labels = np.array([learner.predict(X) for _ in range(8)])
    assert np.any(labels != labels[0])
    assert set(np.unique(labels)) == {0, 1}


def test_asking_for_random_answers_is_not_training():
    learner, X, _ = build()
    vote = learner.set_params(readout="vote").decision_function(X)
    learner.set_params(readout="random").predict(X)
    assert np.array_equal(learner.set_params(readout="vote").decision_function(X), vote)


@pytest.mark.parametrize("calls", [1, 500])
def test_frequencies_are_the_shares_of_the_rounds(calls):
    """On (1, -1) the ten rows' hypotheses score 0, 1, -3, -5 and, never used, -5: chi-square at 1 in 1000."""
    learner = VotedPerceptron(readout="random", fit_intercept=False, random_state=3)
    learner.partial_fit(ref.TEN, ref.TEN_SIGNS, classes=[-1, 1])
    asked = np.tile([[1.0, -1.0]], (5000 // calls, 1))
    found = np.concatenate([learner.decision_function(asked) for _ in range(calls)])
    seen = np.array([np.sum(found == score) for score in (0, 1, -3, -5)])
    expected = np.array([0.1, 0.3, 0.4, 0.2]) * 5000
    assert seen.sum() == 5000
    assert np.sum((seen - expected) ** 2 / expected) < 16.27


def test_rows_are_drawn_independently():
    """Of neighbours in one call, the share of equal hypotheses is the sum of the squared shares, within 4.5 sigma."""
    learner = VotedPerceptron(readout="random", fit_intercept=False, random_state=3)
    learner.partial_fit(ref.TEN, ref.TEN_SIGNS, classes=[-1, 1])
    found = learner.decision_function(np.tile([[1.0, -1.0]], (6000, 1)))
    for lag in (1, 2, 64, 128, 1024):
        assert np.mean(found[lag:] == found[:-lag]) == pytest.approx(0.3, abs=4.5 * np.sqrt(0.21 / 3000))


def test_weighted_rounds_are_drawn_as_often_as_they_weigh():
    learner = VotedPerceptron(readout="random", fit_intercept=False, random_state=3)
    weights = np.array([1, 2, 0, 1, 1, 1, 1, 1, 9, 1.0])
    state = ref.voted(ref.TEN, ref.TEN_SIGNS, range(10), weights)
    learner.partial_fit(ref.TEN, ref.TEN_SIGNS, classes=[-1, 1], sample_weight=weights)
    scores = ref.margins(state, np.array([[1.0], [-1.0]]))[:, 0]
    assert state.c.sum() == 18
    assert learner.survival_.tolist() == state.c.tolist()
    found = learner.decision_function(np.tile([[1.0, -1.0]], (5000, 1)))
    kinds = np.unique(scores[state.c > 0])
    seen = np.array([np.sum(found == kind) for kind in kinds])
    expected = np.array([state.c[scores == kind].sum() for kind in kinds]) / 18 * 5000
    assert seen.sum() == 5000
    assert np.sum((seen - expected) ** 2 / expected) < 16.27
