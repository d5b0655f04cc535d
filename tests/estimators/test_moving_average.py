"""The moving average: its recurrence, what forgetting is good for, and that every driver and file agrees on it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import linsep
from linsep.engine.readouts import LATEST_LIMIT
from tests.contracts.table import problem, quiet


def learner(**more):
    return linsep.MovingAveragePerceptron(
        **{"shuffle": False, "max_iter": 1, "intercept_scaling": 1.0, "multi_class": "ovr"} | more
    )


def reference(X, y, horizon, weights=None, epochs=1):
    """The weights before each round, each of which counts 1 - 1/N times as much as the next; in fractions."""
    keep, w = 1 - 1 / Fraction(horizon), [Fraction(0)] * (X.shape[1] + 1)
    total, counted, weights = [Fraction(0)] * len(w), Fraction(0), np.ones(len(X)) if weights is None else weights
    for _ in range(epochs):
        for row, label, weight in zip(X, y, weights, strict=True):
            x, c = [*map(Fraction, row.tolist()), Fraction(1)], Fraction(float(weight))
            total = [keep * t + c * part for t, part in zip(total, w, strict=True)]
            counted = keep * counted + c
            if (2 * int(label) - 1) * sum(a * b for a, b in zip(w, x, strict=True)) <= 0:
                w = [a + c * (2 * int(label) - 1) * b for a, b in zip(w, x, strict=True)]
    return np.array([float(t / counted) for t in total])


@pytest.mark.parametrize("horizon", [1.25, 2, 7.5, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_average_is_that_of_the_definition(horizon, weighted):
    X, y = problem(n=60, noise=0.2)
    weights = np.random.default_rng(0).integers(1, 4, 60) / 2 if weighted else None
    clf = quiet(learner(horizon=horizon, max_iter=2).fit, X, y, sample_weight=weights)
    expected = reference(X, y, horizon, weights, epochs=2)
    np.testing.assert_allclose([*clf.coef_[0], clf.intercept_[0]], expected, rtol=1e-12, atol=1e-12)


def test_one_round_after_the_other_follows_the_recurrence():
    X, y = problem(n=80, noise=0.2)
    clf, last, average = learner(horizon=5.0), linsep.Perceptron(intercept_scaling=1.0), np.zeros(6)
    for k, (x, label) in enumerate(zip(X, y, strict=True)):
        before = last.coef_[0] if k else np.zeros(6)
        share = 0.2 / (1 - 0.8 ** (k + 1))
        average = (1 - share) * average + share * before
        for of in (clf, last):
            of.partial_fit(x[None], [label], classes=[0, 1])
        np.testing.assert_allclose(clf.coef_[0], average, rtol=1e-10, atol=1e-12)


def test_weights_of_rounds_shrink_before_they_overflow():
    X, y = problem(n=40, noise=0.2)
    clf = quiet(learner(horizon=1.25, max_iter=30).fit, X, y)
    readout = clf._state.readout
    assert readout.latest[0] <= 5 * LATEST_LIMIT  # 5^1200 without shrinking
    np.testing.assert_allclose([*clf.coef_[0], clf.intercept_[0]], reference(X, y, 1.25, epochs=30), rtol=1e-12)


def test_every_driver_gives_the_same_bits(tmp_path):
    X, y = problem(classes=3, n=90, noise=0.2)
    whole = quiet(learner(horizon=2.0).fit, X, y)
    rows = learner(horizon=2.0)
    for k in range(90):
        rows.learn_one(X[k], y[k])
    blocks = learner(horizon=2.0)
    for lo in range(0, 90, 30):
        blocks.partial_fit(sparse.csr_array(X[lo : lo + 30]), y[lo : lo + 30], classes=[0, 1, 2])
        linsep.save(blocks, tmp_path / "m.linsep")
        blocks = linsep.load(tmp_path / "m.linsep")
    threads = quiet(learner(horizon=2.0, n_jobs=2).fit, X, y)
    for other in (rows, blocks, threads):
        np.testing.assert_array_equal(other.coef_, whole.coef_)
        np.testing.assert_array_equal(other.intercept_, whole.intercept_)
    assert [whole.predict_one(x) for x in X] == whole.predict(X).tolist()


def test_a_change_is_forgotten():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(4000, 5)), rng.normal(size=5)
    y = (X @ w * np.where(np.arange(4000) < 2000, 1, -1) > 0).astype(int)
    errors = {}
    for clf in (learner(horizon=200), linsep.AveragedPerceptron(intercept_scaling=1.0)):
        clf.partial_fit(X[:3000], y[:3000], classes=[0, 1])
        errors[type(clf).__name__] = 1 - clf.score(X[3000:], y[3000:])
    assert errors["MovingAveragePerceptron"] < 0.1 < 0.4 < errors["AveragedPerceptron"]


def test_a_long_horizon_is_the_average():
    X, y = problem(n=60, noise=0.2)
    clf = quiet(learner(horizon=1e12).fit, X, y)
    average = quiet(linsep.AveragedPerceptron(shuffle=False, max_iter=1, intercept_scaling=1.0).fit, X, y)
    np.testing.assert_allclose(clf.coef_, average.coef_, rtol=1e-9)


def test_models_are_not_merged():
    X, y = problem(n=90, noise=0.2)
    models = [quiet(learner(horizon=3.0).fit, X[lo : lo + 45], y[lo : lo + 45]) for lo in (0, 45)]
    with pytest.raises(ValueError, match="MovingAveragePerceptron is not merged, as its average weighs rounds by"):
        linsep.merge(models)


@pytest.mark.parametrize("horizon", [1.0, 0.5, -1, np.nan, "long"])
def test_horizons_that_are_none(horizon):
    with pytest.raises(ValueError, match="horizon"):
        learner(horizon=horizon).fit([[0], [1]], [0, 1])


def test_shards_are_refused():
    with pytest.raises(ValueError, match="its average weighs rounds by their order"):
        learner(shards=2).fit([[0], [1]], [0, 1])
