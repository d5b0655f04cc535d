"""The references against each other: two ways to the same numbers, before any learner is judged by them."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from tests import references as ref
from tests.exact import exact_winnow, fractions
from tests.problems import epochs, float_rows, integer_rows

few = settings(max_examples=25)
seeds = st.integers(0, 1000)


def close(a, b, tolerance=1e-12):
    assert np.max(np.abs(a - b), initial=0.0) <= tolerance * np.max(np.abs(b), initial=1e-300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ref.winnow(0.3), ref.winnow_inside(0.3)),
        (ref.p_norm(2), ref.perceptron),
        (ref.passive_aggressive(C=1e30), ref.passive_aggressive()),
        (ref.passive_aggressive(C=1e30, squared=True), ref.passive_aggressive()),
        (ref.logistic(n=5, variance=1e30), ref.logistic()),
    ],
    ids=["winnow", "p-norm", "PA-I", "PA-II", "prior"],
)
@few
@given(problem=float_rows(), seed=seeds, beta=st.sampled_from([0.0, 0.5]))
def test_two_forms_of_one_learner(one, other, problem, seed, beta):
    X, y = problem
    X, order = X / max(1.0, np.abs(X).max()), epochs(seed, len(X), 3)
    a, b = (ref.online(learner, X, y, order, beta) for learner in (one, other))
    assume(a.tie == b.tie == np.inf)
    assert a.mistakes == b.mistakes
    close(a.w, b.w)


@few
@given(problem=float_rows(), seed=seeds, eta=st.sampled_from([1e-3, 0.3, 10.0]))
def test_sinh_form_has_the_signs_of_the_doubled_form(problem, seed, eta):
    """In step, wherever |score| exceeds 1e-12 of the sum of absolute terms; sinh decides ties."""
    X, y = problem
    X = X / max(1.0, np.abs(X).max())  # products of weights leave the range of floats sooner than sums do
    doubled, half = ref.balanced_doubled(eta), ref.balanced(eta)
    both, s = doubled.start(X.shape[1], float), half.start(X.shape[1], float)
    for i in epochs(seed, len(X), 3):
        plain, sinh = doubled.read(both) @ X[i], half.read(s) @ X[i]
        if abs(plain) > 1e-12 * (both @ np.abs(np.append(X[i], X[i]))):
            assert np.sign(plain) == np.sign(sinh)
        both, s = (k.step(state, X[i], y[i], sinh, 1, 1) for k, state in ((doubled, both), (half, s)))
    assert np.max(np.abs(doubled.read(both) - half.read(s))) <= 1e-12


@pytest.mark.parametrize(
    ("rounded", "exact"),
    [
        (ref.perceptron, ref.perceptron),
        (ref.passive_aggressive(), ref.passive_aggressive()),
        (ref.passive_aggressive(C=0.125), ref.passive_aggressive(C=Fraction(1, 8))),
        (ref.passive_aggressive(0.125, True), ref.passive_aggressive(Fraction(1, 8), True)),
        (ref.romma(), ref.romma()),
        (ref.romma(aggressive=True), ref.romma(aggressive=True)),
    ],
    ids=["perceptron", "PA", "PA-I", "PA-II", "ROMMA", "aggressive ROMMA"],
)
@few
@given(problem=float_rows(), seed=seeds)
def test_floats_follow_fractions(rounded, exact, problem, seed):
    X, y = problem
    assume(X.shape[1] > 1)
    order = epochs(seed, len(X), 1)[:8]
    a, b = ref.online(rounded, X, y, order), ref.online(exact, fractions(X), y, order)
    assume(a.tie == b.tie == np.inf)
    assert a.mistakes == b.mistakes
    close(a.w, b.w.astype(float))


@few
@given(problem=integer_rows(), seed=seeds)
def test_exact_winnow_is_winnow(problem, seed):
    X, y = problem
    order = epochs(seed, len(X), 2)
    a, b = ref.online(ref.winnow(0.5), X, y, order), exact_winnow(0.5, X, y, order)
    assume(a.tie == np.inf)
    assert a.mistakes == b.mistakes
    close(a.w, ref.softmax(0.5 * b.w))


@few
@given(problem=integer_rows(), seed=seeds)
def test_two_classes_in_pair_form_are_the_binary_perceptron(problem, seed):
    X, y = problem
    order = epochs(seed, len(X), 2)
    two, one = ref.pair(ref.perceptron, X, (y + 1) // 2, order), ref.online(ref.perceptron, X, y, order)
    assert two.mistakes == one.mistakes
    assert np.array_equal(two.w, [-one.w, one.w])


@few
@given(problem=integer_rows(), weights=st.lists(st.integers(0, 3), min_size=10, max_size=10), seed=seeds)
def test_a_row_of_weight_zero_is_absent(problem, weights, seed):
    X, y = problem
    weights = np.array(weights[: len(X)])
    assume(weights.any())
    order = epochs(seed, len(X), 2)
    a = ref.online(ref.perceptron, X, y, order, 1.0, weights)
    b = ref.online(ref.perceptron, X, y, order[weights[order] > 0], 1.0, weights)
    assert a.mistakes == b.mistakes
    assert np.array_equal(a.average(), b.average())


@few
@given(problem=integer_rows(), seed=seeds)
def test_batch_first_is_online_with_the_row_it_found(problem, seed):
    X, y = problem
    found = ref.batch(ref.perceptron, X, y, "first", 20, beta=1.0)
    again = ref.online(ref.perceptron, X, y, [row for _, row in found.mistakes], beta=1.0)
    assert np.array_equal(found.w, again.w)
    assert again.mistakes == found.mistakes
