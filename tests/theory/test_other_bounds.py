"""Bounds of the p-norm perceptron, passive-aggressive and ROMMA, held against runs of the learners."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from linsep import ROMMA, PassiveAggressive, Perceptron, PNormPerceptron
from tests.fits import close, fit, logged, norm, radius2, replay, squares, weights
from tests.problems import integer_rows, separable

ROUNDING = 1 + 1e-12


def rebuilt(learner, X, y):
    """The (w, x, label) of each round, after seeing that the log leads to the learner's own weights."""
    *rounds, (w, _, _) = replay(learner, X, y)
    close(w, weights(learner))
    return rounds


def losses(learner, X, y):
    return np.array([max(0.0, 1 - label * (w @ x)) for w, x, label in rebuilt(learner, X, y)])


def any_weights(data, p):
    return data.draw(arrays(float, p, elements=st.integers(-8, 8))) / 4


@pytest.mark.slow
@pytest.mark.parametrize("p", [2.0, 3.0, 7.5])
@given(problem=separable())
def test_p_norm_bound(p, problem):
    """1/p + 1/q = 1: k <= (p-1) ||u||_q² X_p² / margin², X_p the largest ||x||_p."""
    X, y, u, margin = problem
    size = max(norm(x, p) for x in X)
    bound = (p - 1) * norm(u, p / (p - 1)) ** 2 * size**2 / margin**2
    learner = PNormPerceptron(p=p, fit_intercept=False, max_iter=int(bound) + 1, random_state=0).fit(X, y)
    assert 0 < learner.mistakes_ <= bound * ROUNDING
    assert np.all(y * learner.decision_function(X) >= -1e-12 * (np.abs(X) @ np.abs(learner.coef_[0])))


@pytest.mark.slow
@pytest.mark.parametrize("p", [2.0, 3.0, 7.5])
@given(problem=integer_rows())
def test_p_norm_lemma_at_every_mistake(p, problem):
    """On any data, s = the sum of y x over the mistakes: ||s||_p² <= (p-1) k X_p²."""
    X, y = problem
    learner = fit(PNormPerceptron(p=p, fit_intercept=False, random_state=0, log=True), X, y)
    size, k, mistaken = max(norm(x, p) for x in X), 0, {t for t, _ in logged(learner)}
    for t, (s, x, label) in enumerate(replay(learner, X, y), start=1):
        assert norm(s, p) ** 2 <= (p - 1) * k * size**2 * ROUNDING
        terms = 0 if x is None else np.sign(s) * np.abs(s) ** (p - 1) * x
        if t in mistaken:
            k += 1
            assert label * np.sum(terms) <= 1e-12 * np.sum(np.abs(terms))
        else:
            assert x is None or label * np.sum(terms) >= -1e-12 * np.sum(np.abs(terms))
    assert k == learner.mistakes_


@given(problem=integer_rows())
def test_p_norm_at_two_is_the_perceptron(problem):
    """w = s at p = 2: the same run, ties included."""
    X, y = problem
    shared = {"random_state": 0, "log": True}
    learner, perceptron = (fit(kind, X, y) for kind in (PNormPerceptron(p=2, **shared), Perceptron(**shared)))
    assert logged(learner) == logged(perceptron)
    close(weights(learner), weights(perceptron))


@given(problem=separable(), epochs=st.integers(1, 4))
def test_passive_aggressive_bound(problem, epochs):
    """Rows with y u·x >= 1: the squared losses, over any number of rounds, sum to R²||u||² at most."""
    X, y, u, margin = problem
    learner = PassiveAggressive(variant="PA", fit_intercept=False, random_state=0, log=True, max_iter=epochs)
    total = squares(losses(fit(learner, X, y), X, y))
    assert learner.mistakes_ <= total * ROUNDING
    assert total <= radius2(X) * squares(u / margin) * ROUNDING


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@given(problem=integer_rows(), epochs=st.integers(1, 3), data=st.data())
def test_passive_aggressive_i_bound(C, problem, epochs, data):
    """l* = the hinge of any u, on any data: mistakes <= max(R², 1/C)(||u||² + 2C sum l*)."""
    X, y = problem
    u = any_weights(data, X.shape[1])
    learner = PassiveAggressive(variant="PA-I", C=C, fit_intercept=False, random_state=0, max_iter=epochs)
    fit(learner, X, y)
    hinge = learner.n_iter_ * np.maximum(0, 1 - y * (X @ u)).sum()
    assert learner.mistakes_ <= max(radius2(X), 1 / C) * (squares(u) + 2 * C * hinge) * ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@given(problem=integer_rows(), epochs=st.integers(1, 3), data=st.data())
def test_passive_aggressive_ii_bound(C, problem, epochs, data):
    """The squared losses sum to (R² + 1/(2C))(||u||² + 2C sum l*²) at most."""
    X, y = problem
    u = any_weights(data, X.shape[1])
    learner = PassiveAggressive(variant="PA-II", C=C, fit_intercept=False, random_state=0, log=True, max_iter=epochs)
    total = squares(losses(fit(learner, X, y), X, y))
    hinge2 = learner.n_iter_ * squares(np.maximum(0, 1 - y * (X @ u)))
    assert total <= (radius2(X) + 1 / (2 * C)) * (squares(u) + 2 * C * hinge2) * ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.05, 0.5])
@given(problem=integer_rows())
def test_no_step_of_pa_i_exceeds_c(C, problem):
    """tau = min(C, l/||x||²), at every logged round."""
    X, y = problem
    learner = fit(PassiveAggressive(C=C, fit_intercept=False, random_state=0, log=True), X, y)
    amounts = dict(zip(learner.log_.rounds.tolist(), learner.log_.amounts.tolist(), strict=True))
    for t, (w, x, label) in enumerate(rebuilt(learner, X, y), start=1):
        if x.any():
            expected = min(C, max(0.0, 1 - label * (w @ x)) / squares(x))
            assert label * amounts.get(t, 0.0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("p", [2, 5, 16])
@pytest.mark.parametrize(
    "learner",
    [PassiveAggressive(variant="PA"), PassiveAggressive(C=1.0), ROMMA(), ROMMA(aggressive=True), PNormPerceptron(p=2)],
    ids=repr,
)
def test_bounds_are_tight(learner, p):
    """The rows e_i, all positive (and -e_1 last): k = p = R²||u||², u = (1, ..., 1), for all of them."""
    X, y = np.vstack([np.eye(p), -np.eye(p)[:1]]), np.append(np.ones(p), -1.0)
    learner.set_params(fit_intercept=False, shuffle=False).fit(X, y)
    assert learner.mistakes_ == p
    assert learner.score(X, y) == 1.0


@pytest.mark.parametrize("aggressive", [False, True])
@given(problem=separable())
def test_romma_bound(aggressive, problem):
    """Rows with y u·x >= 1: k <= R²||u||², as the perceptron; ||w|| grows and stays under ||u||."""
    X, y, u, margin = problem
    bound = radius2(X) * squares(u / margin)
    learner = ROMMA(aggressive=aggressive, fit_intercept=False, random_state=0, log=True, max_iter=20)
    fit(learner, X, y)
    assert 0 < learner.mistakes_ <= bound * ROUNDING
    length = 0.0
    for w, x, label in rebuilt(learner, X, y):
        gain = 1 / radius2(X) if label * (w @ x) < -1e-12 else 0.0
        assert length <= math.sqrt(squares(w)) * ROUNDING
        assert squares(w) + gain <= squares(u / margin) * (1 + 1e-9)
        length = math.sqrt(squares(w))


@given(problem=separable())
def test_romma_converges_to_what_it_was_asked(problem):
    """As many epochs as the bound allows end with one that has no mistake, up to rounding, and no warning."""
    X, y, u, margin = problem
    epochs = int(radius2(X) * squares(u / margin) * ROUNDING) + 1
    learner = ROMMA(fit_intercept=False, random_state=0, max_iter=epochs).fit(X, y)
    assert np.all(y * learner.decision_function(X) > -1e-12)
