"""Contracts about averages and about the weights of rows and classes."""

import numpy as np
import pytest

from tests.contracts.table import (
    ONLINE,
    WEIGHTED,
    agree,
    answers,
    bits,
    build,
    every_learner,
    log,
    problem,
    quiet,
    state,
    unweighted_learner,
    weighted_learner,
)

# The same learner with the average and with the last weights, for each row of the table that has both.
AVERAGES = {"averaged-perceptron": (("averaged-perceptron", {}), ("perceptron", {}))} | {
    name: ((name, {"readout": "average"}), (name, {"readout": "last"}))
    for name, entry in ONLINE.items()
    if "readout" in entry.learner().get_params()
}
CASES = {"binary": (2, "ovr"), "one-vs-rest": (3, "ovr"), "pairs": (3, "joint")}


def weights(learner):
    return np.column_stack([learner.coef_, learner.intercept_])


def test_the_table_has_averages():
    assert {"averaged-perceptron", "passive-aggressive", "romma", "logistic-regression", "pegasos"} <= set(AVERAGES)


@pytest.mark.slow
@pytest.mark.parametrize("name", AVERAGES)
@pytest.mark.parametrize(("classes", "multi_class"), CASES.values(), ids=CASES)
def test_the_average_is_the_naive_mean_and_not_the_last(name, classes, multi_class):
    """The mean of the weights before each round; one row's weights count as often as it weighs."""
    X, y = problem(classes, reals=True)
    c = np.random.default_rng(1).integers(0, 4 if name in WEIGHTED else 2, len(y)).astype(float)
    (averaged, own), (last, other) = AVERAGES[name]
    averaged = build(averaged, multi_class=multi_class, **own)
    last = build(last, multi_class=multi_class, **other)
    shape = (1, 7) if classes == 2 else (classes, 7)
    total = np.zeros(shape)
    for i in np.flatnonzero(c):
        total += c[i] * (weights(last) if i > 0 and hasattr(last, "classes_") else 0)
        last.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes), sample_weight=c[i : i + 1])
    averaged.partial_fit(X, y, classes=range(classes), sample_weight=c)
    np.testing.assert_allclose(weights(averaged), total / c.sum(), rtol=0, atol=1e-12 * np.abs(total / c.sum()).max())
    assert np.abs(weights(averaged) - weights(last)).max() > 1e-3 * np.abs(weights(last)).max()
    assert bits(averaged.mistakes_) == bits(last.mistakes_)


@every_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_weight_zero_is_an_absent_row(name, classes):
    X, y = problem(classes)
    keep = np.arange(len(y)) % 4 != 3
    weight = 0.5 if name in WEIGHTED else 1.0
    present = quiet(build(name).fit, X[keep], y[keep], sample_weight=np.full(keep.sum(), weight))
    weighted = quiet(build(name).fit, X, y, sample_weight=weight * keep)
    assert answers(weighted) == answers(present)
    assert bits(np.flatnonzero(keep)[present.log_.rows]) == bits(weighted.log_.rows)
    assert bits(present.log_.amounts) == bits(weighted.log_.amounts)


@every_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_of_one_are_none(name, classes):
    X, y = problem(classes)
    plain = quiet(build(name).fit, X, y)
    assert answers(quiet(build(name).fit, X, y, sample_weight=np.ones(len(y)))) == answers(plain)
    assert answers(quiet(build(name, class_weight={0: 1.0}).fit, X, y)) == answers(plain)
    if name in WEIGHTED:
        assert answers(quiet(build(name).fit, X, y, sample_weight=np.full(len(y), 3.0))) != answers(plain)


@unweighted_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_without_a_meaning_are_refused(name, classes):
    """A multiple of a projection overshoots: on overlapping rows the weights would grow without limit."""
    X, y = problem(classes)
    for weight in (0.5, 3.0, 1e-300):
        learner = build(name)
        c = np.where(np.arange(len(y)) == 7, weight, 1.0)
        for train in (learner.fit, learner.partial_fit):
            with pytest.raises(ValueError, match=f"weight {weight:g}, but .* has no meaning: omit sample_weight"):
                train(X, y, sample_weight=c)
        with pytest.raises(ValueError, match="has no meaning"):
            build(name, class_weight={0: weight}).fit(X, y)
        assert not hasattr(learner, "classes_")
    if classes == 3:
        with pytest.raises(ValueError, match="omit sample_weight and class_weight"):
            build(name, class_weight="balanced").fit(X, y)


@unweighted_learner
def test_class_weights_without_a_meaning_are_refused_for_single_rows(name):
    learner = build(name, class_weight={0: 1.0, 1: 0.0, 2: 3.0}).learn_one([1.0, 2.0], 0).learn_one([1.0, 2.0], 1)
    before = state(learner)
    with pytest.raises(ValueError, match="weight 3, but"):
        learner.learn_one([1.0, 2.0], 2)
    assert state(learner) == before


@weighted_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_class_weight_is_sample_weight(name, classes):
    X, y = problem(classes)
    by_class = quiet(build(name, class_weight={0: 2.0, 1: 0.25}).fit, X, y)
    by_row = quiet(build(name).fit, X, y, sample_weight=np.array([2.0, 0.25, 1.0])[y])
    assert answers(by_class) == answers(by_row)
    assert log(by_class) == log(by_row)
    double = {k: 2 * c for k, c in enumerate([2.0, 0.25, 1.0][:classes])}
    both = quiet(build(name, class_weight=double).fit, X, y, sample_weight=np.full(len(y), 0.5))
    assert answers(both) == answers(by_row)


@weighted_learner
def test_balanced_class_weight(name):
    X, y = problem(3)
    counts = np.bincount(y)
    balanced = quiet(build(name, class_weight="balanced").fit, X, y)
    assert answers(balanced) == answers(quiet(build(name).fit, X, y, sample_weight=(len(y) / (3 * counts))[y]))
    with pytest.raises(ValueError, match='"balanced" needs all labels at once: pass a dict'):
        build(name, class_weight="balanced").partial_fit(X, y)


@weighted_learner
def test_class_weight_holds_for_single_rows(name):
    X, y = problem(3)
    by_row, by_one = (build(name, class_weight={0: 2.0, 1: 0.25, 2: 1.0}) for _ in range(2))
    for x, label in zip(X, y, strict=True):
        by_row.partial_fit(x[None], [label])
        by_one.learn_one(x, label)
    assert answers(by_one) == answers(by_row)


@weighted_learner
def test_class_weight_may_name_a_label_still_to_come(name):
    X, y = problem(3)
    rows = np.argsort(y, kind="stable")
    late, known = (build(name, class_weight={1: 0.25, 2: 3.0}) for _ in range(2))
    for part in np.array_split(rows, 5):
        late.partial_fit(X[part], y[part])
        known.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert answers(late) == answers(known)
    assert log(late) == log(known)


@weighted_learner
def test_a_weight_multiplies_the_step(name):
    """From weights 0 the first row's step is the rule's, times the weight: half a row, half a step."""
    X, y = np.array([[1.0, 2.0]]), [1]
    whole, half = (build(name).partial_fit(X, y, classes=[0, 1], sample_weight=[c]) for c in (1.0, 0.5))
    assert bits(half._state.link.s * 2) == bits(whole._state.link.s)
    assert bits(half.log_.amounts * 2) == bits(whole.log_.amounts)


@every_learner
@pytest.mark.parametrize("classes", [2, 3])
def test_the_bias_is_a_feature_of_value_beta(name, classes):
    """Winnow's is two features, +beta and -beta, whose weights are subtracted."""
    X, y = problem(classes)
    beta = np.full((len(y), 1), 0.5)
    two = name == "winnow"
    wide = np.hstack([X, beta, -beta] if two else [X, beta])
    own = {"p": 3.0} if name == "p-norm-perceptron" else {}
    by_bias = quiet(build(name, intercept_scaling=0.5, **own).fit, X, y)
    by_hand = quiet(build(name, fit_intercept=False, **own).fit, wide, y)
    bias = 0.5 * (by_hand.coef_[:, 6] - by_hand.coef_[:, 7] if two else by_hand.coef_[:, 6])
    np.testing.assert_allclose(by_bias.coef_, by_hand.coef_[:, :6], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(by_bias.intercept_, bias, rtol=1e-12, atol=1e-15)
    assert bits(by_bias.mistakes_) == bits(by_hand.mistakes_)
    assert bits(by_bias.log_.rounds) == bits(by_hand.log_.rounds)


def test_agree_tells_learners_apart():
    """The comparison itself can fail."""
    X, y = problem()
    with pytest.raises(AssertionError):
        agree(quiet(build("perceptron").fit, X, y), quiet(build("averaged-perceptron").fit, X, y))


def far_rows(size, n=4000):
    """Three rows of one huge entry each, no two in the same column, and many small rows; no score is ever huge."""
    X, y = np.zeros((n, 6)), np.arange(n) % 3
    X[range(3), range(3)] = size
    X[3:, 5] = 1.0
    return X, y


def in_batches(learner, X, y):
    for lo in range(0, len(X), 1000):
        learner.partial_fit(X[lo : lo + 1000], y[lo : lo + 1000], classes=[0, 1, 2])


def in_single_rows(learner, X, y):
    if not hasattr(learner, "classes_"):
        learner.partial_fit(X[3:6], y[3:6], classes=[0, 1, 2])
    columns = np.arange(X.shape[1])
    for row, label in zip(X, y.tolist(), strict=True):
        learner.learn_one((columns, row), label)


every_driver = pytest.mark.parametrize("driver", [in_batches, in_single_rows])


def refused_after(driver, learner, X, y):
    """Learn the rows block by block; return the state before the block that was refused, None if none was."""
    for lo in range(0, len(X), 500):
        before = state(learner)
        try:
            driver(learner, X[lo : lo + 500], y[lo : lo + 500])
        except ValueError as error:
            return str(error), before
        finite = hasattr(learner, "classes_") and np.isfinite(weights(learner)).all()
        assert finite
    return None


@every_learner
@every_driver
@pytest.mark.parametrize("size", [1e160, 1e305])
def test_weights_stay_finite_whatever_is_learned(name, driver, size):
    learner = build(name, log="auto")
    refused = refused_after(driver, learner, *far_rows(size))
    if hasattr(learner, "classes_"):
        assert np.isfinite(weights(learner)).all()
    assert refused is None or "too large for float64" in refused[0]


@pytest.mark.parametrize("name", ["averaged-perceptron", "pegasos", "voted-perceptron"])
@every_driver
def test_sums_of_1e305_are_refused(name, driver):
    """Their product with the number of rounds, with Pegasos' first step, or with themselves, is beyond float64."""
    refused = refused_after(driver, build(name, log="auto"), *far_rows(1e305))
    assert refused is not None
    assert "too large for float64: divide all" in refused[0]


@every_learner
def test_a_single_row_beyond_float64_changes_nothing(name):
    """Its score is 0, or that of the bias: the row is refused for the weights that it would make."""
    learner = build(name, log="auto").partial_fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 2], classes=[0, 1, 2, 3])
    learner.learn_one([1.0, 0.0], 2).grow(3)
    before = state(learner)
    with pytest.raises(ValueError, match="too large for float64: divide all rows by one factor"):
        learner.learn_one(([2], [1e305]), 3)
    assert state(learner) == before
