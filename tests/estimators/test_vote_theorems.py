"""From online to batch: what one pass over i.i.d. rows promises of the random readout and of the vote.

Each of the rounds predicts a fresh row, so that the mean risk of the hypotheses of a run of m rounds, each counted as
long as it was used, is k/m in expectation; v_0 = 0 alone is different: its round is a mistake whatever the label,
while as a classifier it is right about all negatives. The vote errs only where half of the hypotheses do. Means are
over RUNS seeded runs; a bound may be passed by 4 standard errors of their mean (1 in 30,000).
"""

import numpy as np
import pytest

from linsep import KernelPerceptron, VotedPerceptron
from tests import voted_references as ref

RUNS, ROUNDS, FRESH = 300, 40, 2000


def draw(rng, n):
    """Rows about a direction that 85 % of the labels follow."""
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.random(n) < 0.85, 1, -1) * np.where(X @ [2.0, -1.0, 0.5] + 0.3 > 0, 1, -1)


def within(values, sigmas=4.0):
    """How far the mean of the values may be from its expectation."""
    return sigmas * np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.fixture(scope="module")
def runs():
    """Of each run: k/m, the mean risk of its hypotheses, the error of random answers, of the vote, of no classifier."""
    found = []
    for seed in range(RUNS):
        rng = np.random.default_rng([12, seed])
        (X, y), (fresh, truth) = draw(rng, ROUNDS), draw(rng, FRESH)
        learner = VotedPerceptron(random_state=seed, intercept_scaling=1.0).partial_fit(X, y, classes=[-1, 1])
        state = ref.voted(ref.with_bias(X, 1.0), y, range(ROUNDS))
        risks = np.mean(np.where(state.v @ ref.with_bias(fresh, 1.0).T > 0, 1, -1) != truth, axis=1)
        wrong = {r: np.mean(learner.set_params(readout=r).predict(fresh) != truth) for r in ("random", "vote")}
        assert learner.mistakes_ == len(state.mistakes)
        found.append(
            (learner.mistakes_ / ROUNDS, state.c @ risks / ROUNDS, wrong["random"], wrong["vote"], np.mean(truth < 0))
        )
    return dict(zip(("share", "risk", "random", "vote", "negative"), np.array(found).T, strict=True))


@pytest.mark.slow
def test_the_mean_risk_of_the_hypotheses_is_the_share_of_mistakes(runs):
    excess = runs["risk"] - runs["share"]
    assert excess.mean() <= within(excess)
    # Exactly: less what v_0 gets right.
    exact = excess + runs["negative"] / ROUNDS
    assert abs(exact.mean()) <= within(exact)
    assert within(exact) < 0.025


def test_random_answers_err_as_often_as_the_run_made_mistakes(runs):
    excess = runs["random"] - runs["share"]
    assert excess.mean() <= within(excess)
    drawn = runs["random"] - runs["risk"]
    assert abs(drawn.mean()) <= within(drawn) < 0.003


def test_the_vote_errs_at_most_twice_as_often(runs):
    """In every run by the share of the hypotheses that err, and so in the mean by that of the mistakes."""
    assert np.all(runs["vote"] <= 2 * runs["risk"])
    excess = runs["vote"] - 2 * runs["share"]
    assert excess.mean() <= within(excess)
    assert runs["vote"].mean() < runs["random"].mean()


def test_the_factor_two_is_needed():
    """Hypotheses that err in turn, each on its own rows: where just half of them are right, the vote is wrong."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    learner = VotedPerceptron(fit_intercept=False).partial_fit(X, [1, 1], classes=[-1, 1])
    # v_0 and v_1 have one round each; v_1 = (1, 0) is right about (1, 0), and v_0 is not.
    assert learner.survival_.tolist() == [1, 1, 0]
    assert learner.decision_function([[1.0, 0.0]]) == [0]
    assert learner.predict([[1.0, 0.0]]) == [-1]


def test_the_theorem_holds_in_the_kernels_space():
    """Two rings, which no line tells apart, in polynomials of degree 2."""
    risks, shares, votes = [], [], []
    for seed in range(60):
        rng = np.random.default_rng([13, seed])
        X = rng.normal(size=(ROUNDS + 500, 2))
        y = np.where(np.sum(X**2, axis=1) > 1.4, 1, -1)
        learner = KernelPerceptron(random_state=seed, readout="random")
        learner.partial_fit(X[:ROUNDS], y[:ROUNDS], classes=[-1, 1])
        shares.append(learner.mistakes_ / ROUNDS)
        risks.append(np.mean(learner.predict(X[ROUNDS:]) != y[ROUNDS:]))
        votes.append(np.mean(learner.set_params(readout="vote").predict(X[ROUNDS:]) != y[ROUNDS:]))
    excess = np.subtract(risks, shares)
    assert excess.mean() <= within(excess) < 0.05
    assert abs(excess.mean()) < 0.05
    assert np.mean(votes) <= 2 * np.mean(shares)
