"""The study of digits in its small form: every number against machines that keep all their hypotheses."""

from typing import NamedTuple

import numpy as np
import pytest

from linsep.demo.digits_study import METHODS, Split, by_degree, epochs_of, mean_errors, rounds_of, small_digits, study

DEGREES = (1, 2, 3)
DIGITS = small_digits()
CORNERS = Split(
    np.array([[4.0, 0.0], [5.0, 1.0], [-3.0, 4.0], [-4.0, 4.0], [-3.0, -4.0], [-4.0, -4.0]]),
    np.array([0, 0, 1, 1, 2, 2]),
    np.array([[6.0, 0.0], [-5.0, 6.0], [-5.0, -6.0]]),
    np.array([0, 1, 2]),
)
"""Few rows, on which every machine soon makes no more mistakes."""


class Naive(NamedTuple):
    """Hypotheses of each class: the round after which each begins, (k + 1,); v.x of each, (k + 1, rows); lengths."""

    begins: list
    scores: list
    norms: list
    rows: list


def naive(data, degree, epochs, seed=0):
    """Train one machine a class by the kernel's whole matrix; integers below 2^53, so that all scores are exact."""
    gram, cross = ((1.0 + data.X @ other.T) ** degree for other in (data.X, data.X_test))
    order = np.random.default_rng([seed, 0]).permutation(len(data.y))
    runs = Naive([], [], [], [])
    for label in np.unique(data.y):
        signs = np.where(data.y == label, 1.0, -1.0)
        sums, begins, scores, squares, rows = np.zeros(len(signs)), [0], [np.zeros(cross.shape[1])], [0.0], []
        for t, i in enumerate(np.tile(order, epochs), start=1):
            if signs[i] * sums[i] <= 0:
                squares.append(squares[-1] + 2 * signs[i] * sums[i] + gram[i, i])
                sums = sums + signs[i] * gram[i]
                begins.append(t)
                scores.append(scores[-1] + signs[i] * cross[i])
                rows.append(i)
        for part, found in zip(runs, (begins, scores, np.sqrt(squares), rows), strict=True):
            part.append(np.array(found))
    return runs


def answers(runs, classes, rounds):
    """The labels that each method of no chance gives after so many rounds, and how often and where machines erred."""
    scores = {method: [] for method in METHODS if method[0] != "random"}
    for begins, raw, norms in zip(runs.begins, runs.scores, runs.norms, strict=True):
        used = np.append(begins[begins < rounds], rounds)
        counts = np.diff(used)[:, None]
        for normalize in (False, True):
            v = raw / np.where(norms > 0, norms, 1.0)[:, None] if normalize else raw
            scores["average", normalize].append((counts * v[: len(counts)]).sum(axis=0))
            scores["last", normalize].append(v[np.sum(begins <= rounds) - 1])
        scores["vote", False].append((counts * np.where(raw[: len(counts)] > 0, 1, -1)).sum(axis=0))
    made = [rows[: np.sum(begins <= rounds) - 1] for rows, begins in zip(runs.rows, runs.begins, strict=True)]
    labels = {method: classes[np.argmax(found, axis=0)] for method, found in scores.items()}
    return labels, sum(map(len, made)), len(np.unique(np.concatenate(made)))


def at_round(runs, t):
    """The scores of all classes, (rows, classes), of the hypotheses that round t uses."""
    places = [np.searchsorted(begins, t) - 1 for begins in runs.begins]
    return np.stack([raw[k] for raw, k in zip(runs.scores, places, strict=True)], axis=1)


def assert_as_naive(run, data, runs):
    for k, rounds in enumerate(rounds_of(run.epochs, len(data.y))):
        labels, mistakes, support = answers(runs, np.unique(data.y), rounds)
        assert (run.mistakes[k], run.support[k]) == (mistakes, support)
        for method, given in labels.items():
            assert run.errors[method][k] == np.mean(given != data.y_test), (run.degree, method, rounds)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def small(told):
    return {run.degree: run for run in study(DIGITS, DEGREES, tell=lambda *what: told.append(what))}


@pytest.fixture(scope="module")
def slow():
    return {degree: naive(DIGITS, degree, int(epochs_of(degree)[-1])) for degree in DEGREES}


@pytest.mark.parametrize("degree", DEGREES)
def test_every_number_is_that_of_machines_that_keep_all_hypotheses(small, slow, degree):
    assert small[degree].epochs == epochs_of(degree)
    assert set(small[degree].errors) == set(METHODS)
    assert_as_naive(small[degree], DIGITS, slow[degree])


@pytest.mark.parametrize("degree", DEGREES)
def test_random_hypotheses_err_as_often_as_all_do_on_average(small, slow, degree):
    rounds = np.arange(1, len(DIGITS.y) + 1)
    wrong = np.mean([np.argmax(at_round(slow[degree], t), axis=1) != DIGITS.y_test for t in rounds], axis=0)
    deviation = np.sqrt(np.sum(wrong * (1 - wrong))) / len(wrong)
    epoch = small[degree].epochs.index(1.0)
    assert abs(small[degree].errors["random", False][epoch] - wrong.mean()) <= 4 * deviation


@pytest.mark.parametrize("degree", DEGREES)
def test_a_vote_is_better_than_the_last_hypothesis_and_than_a_random_one(small, degree):
    after = {method: shares[1:].mean() for method, shares in small[degree].errors.items()}
    for normalize in (False, True):
        assert after["vote", False] < after["last", normalize] < after["random", normalize]
    assert small[degree].errors["vote", False][-1] < 0.05


def test_higher_degrees_make_fewer_mistakes(small):
    fourth = [small[degree].mistakes[4] for degree in DEGREES]
    assert fourth == sorted(fourth, reverse=True)
    assert len(set(fourth)) == 3


def test_what_goes_on_is_told(small, told):
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    said = list(dict.fromkeys(what for what, _ in told))
    assert said == [f"degree {d}: {what}" for d in DEGREES for what in ("learning", "reading", "done")]


@pytest.mark.parametrize("degree", DEGREES)
def test_a_run_goes_on_voting_when_nothing_is_left_to_learn(degree):
    (run,) = study(CORNERS, [degree], epochs=[1, 2.5, 50, 200])
    assert run.mistakes[2] == run.mistakes[3]
    assert_as_naive(run, CORNERS, naive(CORNERS, degree, 200))
    assert run.errors["vote", False][-1] == 0


def test_each_seed_is_an_order_of_its_own():
    runs = list(study(DIGITS, [1, 2], epochs=[0.1, 1], seeds=[0, 5], n_jobs=2))
    assert [(run.degree, run.seed) for run in runs] == [(1, 0), (1, 5), (2, 0), (2, 5)]
    for run in runs:
        assert_as_naive(run, DIGITS, naive(DIGITS, run.degree, 1, run.seed))
    found = by_degree(runs)
    assert list(found) == [1, 2]
    both = mean_errors(found[2], ("last", True))
    np.testing.assert_allclose(both, (runs[2].errors["last", True] + runs[3].errors["last", True]) / 2)
    assert not np.array_equal(runs[2].mistakes, runs[3].mistakes)


@pytest.mark.parametrize("epochs", [[0], [1, 1], [2, 1], [0.0001], [0.1, 0.10001]])
def test_epochs_that_are_no_rounds_are_refused(epochs):
    with pytest.raises(ValueError, match="give numbers that rise"):
        list(study(DIGITS, [1], epochs=epochs))
