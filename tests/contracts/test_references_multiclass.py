"""Several classes against the references: one-vs-rest is binary runs, a pair is one long row (Kesler)."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

from tests import references as ref
from tests.contracts.test_references import AVERAGED, TABLE, answer, build, few, reference, seeds
from tests.fits import close, fit, weights
from tests.problems import KINDS, epochs, float_rows, integer_rows

NAMES = np.array(["ant", "bee", "cat"])


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
@few
@given(problem=float_rows(classes=3), seed=seeds, beta=st.sampled_from([0.0, 0.5]))
def test_one_vs_rest_is_a_binary_run_for_each_class(name, problem, seed, beta):
    X, codes = problem
    learner = fit(build(name, beta, random_state=seed, multi_class="ovr"), X, NAMES[codes])
    order = epochs(seed, len(X), learner.n_iter_)
    runs = ref.one_vs_rest(reference(name, len(X)), X, codes, order, beta)
    assume(all(run.tie == np.inf for run in runs))
    assert learner.mistakes_.tolist() == [len(run.mistakes) for run in runs]
    for w, run in zip(weights(learner), runs, strict=True):
        close(w, answer(name, run))


@pytest.mark.parametrize("name", ["perceptron", "averaged"])
@few
@given(problem=integer_rows(classes=3), seed=seeds)
def test_one_vs_rest_in_sparse_integers(name, problem, seed):
    X, codes = problem
    learner = fit(build(name, 1.0, random_state=seed, multi_class="ovr"), KINDS["csr"](X), NAMES[codes])
    runs = ref.one_vs_rest(ref.perceptron, X, codes, epochs(seed, len(X), learner.n_iter_), 1.0)
    log = learner.log_
    for k, run in enumerate(runs):
        own = log.classes == k
        found = list(zip(log.rounds[own].tolist(), log.rows[own].tolist(), strict=True))
        assert found == run.mistakes
        close(weights(learner)[k], answer(name, run), 1e-14)
    assert np.all(np.diff(log.rounds) >= 0)


@pytest.mark.parametrize("name", ["perceptron", "averaged", "winnow", "PA-I", "ROMMA", "Pegasos"])
@few
@given(problem=float_rows(classes=3), seed=seeds, beta=st.sampled_from([0.0, 0.5]))
def test_pairs(name, problem, seed, beta):
    """The true class against its best rival: the step sees the margin, label +1 and 2||x||²."""
    X, codes = problem
    learner = fit(build(name, beta, random_state=seed, multi_class="joint"), X, NAMES[codes])
    run = ref.pair(reference(name, len(X)), X, codes, epochs(seed, len(X), learner.n_iter_), beta)
    assume(run.tie == np.inf)
    assert learner.mistakes_ == len(run.mistakes)
    close(weights(learner), answer(name, run))


@pytest.mark.parametrize("kind", KINDS)
@few
@given(problem=integer_rows(classes=3), seed=seeds, beta=st.sampled_from([0.0, 1.0]))
def test_pairs_of_integers_to_the_last_bit(kind, problem, seed, beta):
    """Equal rivals are common here: the lowest class is the one that pays."""
    X, codes = problem
    learner = fit(build("perceptron", beta, random_state=seed, multi_class="joint"), KINDS[kind](X), NAMES[codes])
    run = ref.pair(ref.perceptron, X, codes, epochs(seed, len(X), learner.n_iter_), beta)
    log = learner.log_
    found = np.column_stack([log.rounds, log.rows, log.classes.reshape(-1, 2)])
    assert list(map(tuple, found.tolist())) == run.updates
    assert np.array_equal(weights(learner), run.w)


@pytest.mark.parametrize("form", ["ovr", "joint"])
@few
@given(
    problem=integer_rows(classes=3),
    seed=seeds,
    draws=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    class_weight=st.fixed_dictionaries({name: st.integers(1, 3) for name in NAMES.tolist()}),
)
def test_sample_and_class_weights_multiply(form, problem, seed, draws, class_weight):
    X, codes = problem
    c = np.array(draws[: len(X)], dtype=float)
    assume(len(np.unique(codes[c > 0])) == 3)
    learner = build("averaged", 1.0, random_state=seed, multi_class=form, class_weight=class_weight)
    fit(learner, X, NAMES[codes], sample_weight=c)
    both = c * np.array([class_weight[name] for name in NAMES[codes].tolist()])
    drive = ref.one_vs_rest if form == "ovr" else ref.pair
    runs = drive(ref.perceptron, X, codes, epochs(seed, len(X), learner.n_iter_), 1.0, both)
    expected = [run.average() for run in runs] if form == "ovr" else runs.average()
    close(weights(learner), np.array(expected), 1e-14)
    total = [len(run.mistakes) for run in runs] if form == "ovr" else len(runs.mistakes)
    assert np.array_equal(learner.mistakes_, total)


def test_the_averages_are_not_the_last_weights():
    """Otherwise the comparisons above would say nothing about averaging."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.choice([-1, 1], 20)
    for name in AVERAGED:
        learner = fit(build(name, 1.0, random_state=0), X, y)
        run = ref.online(reference(name, 20), X, y, epochs(0, 20, learner.n_iter_), 1.0)
        assert np.max(np.abs(weights(learner) - run.w)) > 1e-3 * np.max(np.abs(run.w))
