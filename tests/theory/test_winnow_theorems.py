"""Winnow's theorems, held against runs of the learners."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given

from linsep import BalancedWinnow, Perceptron, Winnow
from tests.exact import exact_winnow
from tests.fits import fit, learner_order, logged, replay
from tests.problems import integer_rows, scattered_rows, separable
from tests.references import softmax

X_MAX = 3.0  # of the integer rows drawn here


def log_cosh(a):
    return abs(a) + math.log1p(math.exp(-2 * abs(a))) - math.log(2)


def progress(eta, delta, x_max=1.0):
    """L = eta·delta - ln cosh(eta X): what each mistake takes off the potential."""
    return eta * delta - log_cosh(eta * x_max)


def best_rate(delta, x_max=1.0):
    return math.log((x_max + delta) / (x_max - delta)) / (2 * x_max)


def until_clean(learner, X, y, bound):
    """Train for as many epochs as the bound allows and one more: no convergence would be an error."""
    return learner.set_params(max_iter=int(bound) + 1, log=True, random_state=0).fit(X, y)


@pytest.mark.parametrize("delta", [0.01, 0.3, 0.9, 0.999])
def test_best_rate(delta):
    """eta* = ½ ln((1+d)/(1-d)) has the largest L, ½[(1+d)ln(1+d) + (1-d)ln(1-d)] >= d²/2."""
    eta, up, down = best_rate(delta), 1 + delta, 1 - delta
    L = progress(eta, delta)
    assert pytest.approx((up * math.log(up) + down * math.log(down)) / 2, rel=1e-12) == L
    assert delta**2 / 2 <= L
    assert all(progress(eta * factor, delta) < L for factor in (0.5, 0.99, 1.01, 2.0))


def test_the_bound_is_void_where_nothing_is_gained():
    """Past a certain eta, L <= 0 and the theorem says nothing: eta and delta that promise so are refused."""
    assert progress(1.0, 0.1) < 0 < progress(0.1, 0.1)
    rows, labels = np.array([[1.0, -1.0], [-1.0, 1.0]]), [1, -1]
    with pytest.raises(ValueError, match="delta"):
        Winnow(eta=1.0, delta=0.1, fit_intercept=False).fit(rows, labels)
    Winnow(eta=0.1, delta=0.1, fit_intercept=False).fit(rows, labels)


@given(problem=separable(nonnegative=True), share=st.sampled_from([0.2, 1.0, 1.7]))
def test_mistake_bound(problem, share):
    """u >= 0, ||u||_1 = 1, margin delta, entries up to X: k <= ln p / L wherever L > 0."""
    X, y, u, margin = problem
    delta = margin / u.sum()
    eta = min(share * best_rate(min(delta, 0.99 * X_MAX), X_MAX), 3.0)
    L = progress(eta, delta, X_MAX)
    assume(L > 0)
    bound = math.log(X.shape[1]) / L
    learner = until_clean(Winnow(eta=eta, x_max=X_MAX, fit_intercept=False), X, y, max(bound, 1) + 1)
    # With one feature the bound is 0: its one weight is 1 from the start.
    assert learner.mistakes_ <= bound * (1 + 1e-12)
    assert learner.score(X, y) == 1.0


@given(problem=separable(nonnegative=True))
def test_delta_alone_means_the_best_rate(problem):
    X, y, u, margin = problem
    delta = min(margin / u.sum(), 0.99 * X_MAX)
    bound = math.log(X.shape[1]) / progress(best_rate(delta, X_MAX), delta, X_MAX)
    shared = {"x_max": X_MAX, "fit_intercept": False}
    asked = until_clean(Winnow(delta=delta, **shared), X, y, bound + 1)
    given_rate = until_clean(Winnow(eta=best_rate(delta, X_MAX), **shared), X, y, bound + 1)
    assert asked.mistakes_ <= bound * (1 + 1e-12)
    assert bound <= 2 * X_MAX**2 * math.log(X.shape[1]) / delta**2 + 1e-12
    assert logged(asked) == logged(given_rate)
    np.testing.assert_allclose(asked.coef_, given_rate.coef_, rtol=1e-12)


@given(problem=separable(), b=st.integers(-2, 2), form=st.sampled_from([Winnow, BalancedWinnow]))
def test_mistake_bound_with_a_bias(problem, b, form):
    """The bias is two features, +-beta: ln(p+2) for Winnow, ln(2p+2) for the balanced form; b of any sign."""
    X, _, u, _ = problem
    u = np.abs(u) if form is Winnow else u
    f = X @ u + b
    X, y = X[f != 0], np.sign(f[f != 0])
    assume(len(set(y)) == 2)
    delta = min(np.abs(f[f != 0])) / (np.abs(u).sum() + abs(b))
    features = X.shape[1] * (1 if form is Winnow else 2) + 2
    bound = math.log(features) / progress(best_rate(delta, X_MAX), delta, X_MAX)
    learner = until_clean(form(delta=delta, x_max=X_MAX), X, y, bound)
    assert learner.mistakes_ <= bound
    assert learner.score(X, y) == 1.0


@given(problem=separable(nonnegative=True), share=st.sampled_from([0.3, 1.0]))
def test_potential_falls_at_every_mistake(problem, share):
    """KL(u‖w), w = softmax(eta s) from the log, starts at ln p at most and falls by L or more each time."""
    X, y, u, margin = problem
    u = u / u.sum()
    delta = min(margin / X_MAX, 0.9 * X_MAX) if len(u) == 1 else min(y * (X @ u))
    eta = share * best_rate(min(delta, 0.9 * X_MAX), X_MAX)
    L = progress(eta, delta, X_MAX)
    learner = until_clean(Winnow(eta=eta, x_max=X_MAX, fit_intercept=False), X, y, math.log(len(u)) / L + 1)
    support = u > 0

    def potential(s):
        return np.sum(u[support] * np.log(u[support] / softmax(eta * s)[support]))

    before = potential(np.zeros(len(u)))
    assert before <= math.log(len(u)) + 1e-15
    mistaken = {t for t, _ in logged(learner)}
    for t, (s, x, label) in enumerate(replay(learner, X, y), start=1):
        w = softmax(eta * s)
        after = potential(s)
        if t - 1 in mistaken:
            assert before - after >= L - 1e-12
        assert after >= -1e-15
        if t in mistaken:
            assert label * (w @ x) <= 1e-15 * np.abs(w * x).sum()
        before = after


@pytest.mark.parametrize("N", [2, 64, 1000])
def test_a_margin_of_one_is_halving(N):
    """One feature tells all, entries +-1, so delta = 1; at a large eta, L = ln 2 and k <= log2 p."""
    rng = np.random.default_rng(N)
    X = rng.choice([-1.0, 1.0], size=(400, N))
    learner = until_clean(Winnow(eta=1e6, fit_intercept=False), X, X[:, N // 2], 20)
    assert learner.mistakes_ <= math.log2(N)


@pytest.mark.parametrize("m", [2, 6, 10])
def test_halving_is_tight(m):
    """Row i has the sign of bit i of j at feature j: each row halves what is left, k = log2 p, L = ln 2 each time."""
    N, eta = 2**m, 1e6
    X = np.where((np.arange(N) >> np.arange(m)[:, None]) & 1, 1.0, -1.0)
    target = N // 3  # a number of both bits, and so of both labels
    learner = Winnow(eta=eta, fit_intercept=False, shuffle=False, max_iter=2, log=True).fit(X, X[:, target])
    assert learner.mistakes_ == m
    potential = [-np.log(softmax(eta * s)[target]) for s, _, _ in replay(learner, X, X[:, target])]
    np.testing.assert_allclose(potential[: m + 1], math.log(2) * np.arange(m, -1, -1), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [1e6, 1e-12])
@given(problem=integer_rows(span=2) | scattered_rows())
def test_no_eta_overflows_or_loses_a_sign(eta, problem):
    """Signs are right wherever floats can hold them: beyond 1e-14 of the sum of absolute terms."""
    X, y = problem
    assume((X < 0).any())
    learner = fit(Winnow(eta=eta, x_max=None, fit_intercept=False, log=True, random_state=0), X, y)
    exact = exact_winnow(eta, X, y, learner_order(learner, len(X)))
    early = [found for found in exact.mistakes if found[0] < exact.tie]
    assert [found for found in logged(learner) if found[0] < exact.tie] == early
    assert np.isfinite(learner.coef_).all()
    assert np.isfinite(learner.decision_function(X)).all()


@pytest.mark.slow
@given(problem=integer_rows())
def test_balanced_winnow_at_a_tiny_rate_is_the_perceptron(problem):
    """sinh(eta s) is eta s to the last bit when eta is a small power of two: the same run, ties included."""
    X, y = problem
    shared = {"log": True, "random_state": 0}
    slow = fit(BalancedWinnow(eta=2.0**-40, x_max=None, **shared), X, y)
    assert logged(slow) == logged(fit(Perceptron(**shared), X, y))


@given(problem=scattered_rows(), eta=st.sampled_from([1e-2, 0.4, 30.0]))
def test_balanced_winnow_is_winnow_on_both_signs(problem, eta):
    """The sinh form errs where Winnow on [x, -x] does, up to the first score under 1e-12 of its terms."""
    X, y = problem
    shared = {"eta": eta, "x_max": None, "fit_intercept": False, "log": True, "random_state": 0}
    half = fit(BalancedWinnow(**shared), X, y)
    doubled = fit(Winnow(**shared), np.hstack([X, -X]), y)
    tie = np.inf
    for t, (s, x, _) in enumerate(replay(half, X, y), start=1):
        if x is None or t == 1:
            continue
        c = np.abs(eta * s).max()
        up, down = np.exp(eta * s - c), np.exp(-eta * s - c)
        if abs((up - down) @ x) <= 1e-12 * ((up + down) @ np.abs(x)):
            tie = min(tie, t)
    assert [found for found in logged(half) if found[0] < tie] == [found for found in logged(doubled) if found[0] < tie]


@pytest.mark.parametrize("k", [1, 3])
def test_few_relevant_features_favour_winnow(k):
    """Majority of k among N: 2k² ln N is under kN iff k < N/(2 ln N); and so are the mistakes made."""
    N = 400
    assert 2 * k**2 * math.log(N) < k * N
    X = np.random.default_rng(k).choice([-1.0, 1.0], size=(4000, N))
    y = np.sign(X[:, :k].sum(axis=1))
    one_pass = {"max_iter": 1, "shuffle": False, "fit_intercept": False}
    perceptron = fit(Perceptron(**one_pass), X, y).mistakes_
    winnow = fit(Winnow(eta=best_rate(1 / k, 1.0) if k > 1 else 3.0, **one_pass), X, y).mistakes_
    assert winnow <= 2 * k**2 * math.log(N)
    assert 4 * winnow < perceptron <= k * N


FORMS = {"winnow": Winnow, "balanced": BalancedWinnow}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bias", [True, False])
def test_the_learner_tells_its_potential(form, bias):
    """KL(u || w) starts at ln of the number of weights for a corner u, and each mistake takes off L at least."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 5))
    y = (X[:, 2] > 0).astype(int)
    learner = FORMS[form](eta=0.3, fit_intercept=bias, log=True).partial_fit(-np.ones((1, 5)), [0], classes=[0, 1])
    u = np.zeros(learner.exponents_.shape[1])
    u[2] = 1.0
    L, drops = progress(0.3, 1.0), []
    before = learner.potential(u)
    for x, label in zip(X, y, strict=True):
        mistakes = learner.mistakes_
        after = learner.learn_one(x, label).potential(u)
        assert learner.mistakes_ > mistakes or after == before
        drops += (before - after).tolist() if learner.mistakes_ > mistakes else []
        before = after
    assert min(drops) >= L - 1e-12
    weights = np.exp(learner.log_weights_)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    signed = weights[:, :5] - weights[:, 5:10] if form == "balanced" else weights[:, :5]
    np.testing.assert_allclose(signed, learner.coef_, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_machines_have_one_potential_each(form):
    """One-vs-rest: a machine a class, late labels or not; pairs: one machine of all weights."""
    X, y = np.eye(3), [0, 1, 2]
    size = (6 if form == "balanced" else 3) + 2
    for learner, shape in (
        (FORMS[form]().partial_fit(X, y), (3, size)),
        (FORMS[form]().partial_fit(X[:2], y[:2]), (1, size)),
        (FORMS[form](multi_class="joint").partial_fit(X, y), (1, 3 * size)),
    ):
        assert learner.exponents_.shape == learner.log_weights_.shape == shape
        np.testing.assert_allclose(np.exp(learner.log_weights_).sum(axis=1), 1.0, rtol=1e-12)
        assert learner.potential(np.full(shape[1], 1 / shape[1])).shape == shape[:1]
