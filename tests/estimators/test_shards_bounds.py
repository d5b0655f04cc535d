"""Bounds of the other learners for mixed shards: each has a potential that is convex in what is mixed."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from linsep import ROMMA, BalancedWinnow, LogisticRegression, PassiveAggressive, Pegasos, PNormPerceptron, Winnow
from linsep.theory import bounds
from linsep.training.mixing import MIXINGS
from tests.fits import fit, norm, radius2, squares, weights
from tests.mixing_references import mixed, replay
from tests.problems import integer_rows, separable
from tests.references import online, romma, softmax

some = settings(max_examples=8)
mixings = pytest.mark.parametrize("mixing", MIXINGS)
counts = st.integers(2, 9)
ROUNDING = 1 + 1e-12
X_MAX = 3.0  # of the integer rows drawn here
FORMS = {"winnow": Winnow, "balanced": BalancedWinnow}


def sharded(kind, X, y, shards, mixing, **more):
    """Train without a bias, with a full log."""
    shared = {"fit_intercept": False, "random_state": 0, "log": True, "max_iter": 30}
    return fit(kind(**{**shared, **more, "shards": shards, "mixing": mixing}), X, y)


def potential(form, u, eta, s):
    """KL(u || w) for w = softmax(eta s), or in the balanced form for both signs of u and of s."""
    if form == "balanced":
        u, s = np.append(np.maximum(u, 0), np.maximum(-u, 0)), np.append(s, -s)
    kept = u > 0
    return float(np.sum(u[kept] * np.log(u[kept] / softmax(eta * s)[kept])))


@pytest.mark.slow
@mixings
@pytest.mark.parametrize("form", FORMS)
@some
@given(data=st.data(), shards=counts, share=st.sampled_from([0.3, 1.0, 1.5]))
def test_winnow(form, mixing, data, shards, share):
    """From ln p at most, KL(u || w) falls by L mu k or more at every mix: the sum of mu k is ln p / L at most.

    In its shards too it falls by L at each mistake; the mix is not above their mean, as it is convex in s.
    """
    X, y, u, _ = data.draw(separable(nonnegative=form == "winnow"))
    u = u / np.abs(u).sum()
    delta = min(y * (X @ u))
    eta = min(share * bounds.best_rate(min(delta, 0.99 * X_MAX), X_MAX), 3.0)
    L = bounds.fall(delta, X_MAX, eta)
    assume(L > 0)
    learner = sharded(FORMS[form], X, y, shards, mixing, eta=eta, x_max=X_MAX)
    now = potential(form, u, eta, np.zeros(len(u)))
    most = math.log(len(u) * (1 if form == "winnow" else 2))
    assert now <= most + 1e-15
    total = 0.0
    for start, parts, after in replay(learner, X, y):
        for part in parts:
            ends = [w for w, *_ in part.rounds[1:]] + [part.end]
            for (w, _, _, moved), end in zip(part.rounds, ends, strict=True):
                fall = potential(form, u, eta, w) - potential(form, u, eta, end)
                assert fall + 1e-12 >= L if moved else fall == 0
        mean = sum(part.mu * potential(form, u, eta, part.end) for part in parts)
        then, made = potential(form, u, eta, after), sum(part.mu * part.mistakes for part in parts)
        assert then >= -1e-15
        assert then <= mean + 1e-12
        assert now - then + 1e-12 >= L * made
        assert potential(form, u, eta, start) == pytest.approx(now, abs=1e-12)
        now, total = then, total + made
    np.testing.assert_allclose(learner.mixes_.mixed_mistakes[-1], total, rtol=1e-12)
    assert total * L <= most * ROUNDING


@mixings
@pytest.mark.parametrize("form", FORMS)
def test_halving_is_tight_where_shards_are_alike(form, mixing):
    """Row i has the sign of bit i of j at feature j: each halves what is left. In three shards alike, mu k = log2 p."""
    m = 6
    X = np.where((np.arange(2**m) >> np.arange(m)[:, None]) & 1, 1.0, -1.0)
    y = X[:, 2**m // 3]
    how = {"eta": 1e6, "fit_intercept": False, "shuffle": False, "max_iter": 4}
    learner = fit(FORMS[form](shards=3, mixing=mixing, **how), np.tile(X, (3, 1)), np.tile(y, 3))
    found = learner.mixes_.mixed_mistakes[-1]
    assert found == pytest.approx(m) if form == "winnow" else m <= found <= (m + 1) * ROUNDING
    assert learner.mistakes_ == pytest.approx(3 * found)
    assert learner.score(X, y) == 1.0


@pytest.mark.slow
@mixings
@pytest.mark.parametrize("form", FORMS)
@some
@given(problem=separable(), b=st.integers(-2, 2), shards=counts)
def test_winnow_with_a_bias(form, mixing, problem, b, shards):
    """The bias is two features, +-1: ln(p+2) for Winnow, ln(2p+2) for the balanced form; and training ends."""
    X, _, u, _ = problem
    u = np.abs(u) if form == "winnow" else u
    f = X @ u + b
    X, y = X[f != 0], np.sign(f[f != 0])
    assume(len(set(y)) == 2)
    delta = min(np.abs(f[f != 0])) / (np.abs(u).sum() + abs(b))
    features = X.shape[1] * (1 if form == "winnow" else 2) + 2
    bound = math.log(features) / bounds.fall(delta, X_MAX, bounds.best_rate(delta, X_MAX))
    epochs = int(bound * max(len(X), 2)) + 2
    learner = FORMS[form](delta=delta, x_max=X_MAX, max_iter=epochs, random_state=0, shards=shards, mixing=mixing)
    learner.fit(X, y)  # no convergence would be an error
    assert learner.mixes_.mixed_mistakes[-1] <= bound * ROUNDING
    assert learner.score(X, y) == 1.0


@pytest.mark.slow
@mixings
@pytest.mark.parametrize("p", [2.0, 3.0, 7.5])
@some
@given(problem=separable(), shards=counts)
def test_p_norm(mixing, p, problem, shards):
    """With K the sum of mu k: u·s >= K margin, ||s||_p² <= (p-1) K X_p², K <= (p-1) ||u||_q² X_p² / margin²."""
    X, y, u, margin = problem
    size = max(norm(x, p) for x in X)
    learner = sharded(PNormPerceptron, X, y, shards, mixing, p=p)
    K = 0.0
    for _, parts, after in replay(learner, X, y):
        K += sum(part.mu * part.mistakes for part in parts)
        assert after @ u >= K * margin / ROUNDING
        assert norm(after, p) ** 2 <= (p - 1) * K * size**2 * ROUNDING
    assert 0 < K <= (p - 1) * norm(u, p / (p - 1)) ** 2 * size**2 / margin**2 * ROUNDING


def weighted_sums(learner, X, y, *of):
    """Sums of functions of (w, x, label) over all rounds, each round times the weight of its shard."""
    totals = np.zeros(len(of))
    for _, parts, after in replay(learner, X, y):  # noqa: B007  (the last is looked at)
        for part in parts:
            totals += [part.mu * sum(f(w, x, label) for w, x, label, _ in part.rounds) for f in of]
    np.testing.assert_allclose(after, weights(learner), rtol=0, atol=1e-12)
    return totals


def hinge(w, x, label):
    return max(0.0, 1 - label * (w @ x))


@mixings
@some
@given(problem=separable(), shards=counts, epochs=st.integers(1, 4))
def test_passive_aggressive(mixing, problem, shards, epochs):
    """Rows with y u·x >= 1: the squared losses, each times mu, sum to R²||u||² at most."""
    X, y, u, margin = problem
    learner = sharded(PassiveAggressive, X, y, shards, mixing, variant="PA", max_iter=epochs)
    (total,) = weighted_sums(learner, X, y, lambda *at: hinge(*at) ** 2)
    assert learner.mixes_.mixed_mistakes[-1] <= total * ROUNDING
    assert total <= radius2(X) * squares(u / margin) * ROUNDING


@mixings
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@some
@given(problem=integer_rows(), shards=counts, epochs=st.integers(1, 3), data=st.data())
def test_passive_aggressive_i(mixing, C, problem, shards, epochs, data):
    """Any data, any u with losses l*: mistakes times mu <= max(R², 1/C)(||u||² + 2C sum of mu l*)."""
    X, y = problem
    u = data.draw(arrays(float, X.shape[1], elements=st.integers(-8, 8))) / 4
    learner = sharded(PassiveAggressive, X, y, shards, mixing, variant="PA-I", C=C, max_iter=epochs)
    (lost,) = weighted_sums(learner, X, y, lambda w, x, label: hinge(u, x, label))
    assert learner.mixes_.mixed_mistakes[-1] <= max(radius2(X), 1 / C) * (squares(u) + 2 * C * lost) * ROUNDING


@pytest.mark.slow
@mixings
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@some
@given(problem=integer_rows(), shards=counts, epochs=st.integers(1, 3), data=st.data())
def test_passive_aggressive_ii(mixing, C, problem, shards, epochs, data):
    """The squared losses times mu sum to (R² + 1/(2C))(||u||² + 2C sum of mu l*²) at most."""
    X, y = problem
    u = data.draw(arrays(float, X.shape[1], elements=st.integers(-8, 8))) / 4
    learner = sharded(PassiveAggressive, X, y, shards, mixing, variant="PA-II", C=C, max_iter=epochs)
    total, lost = weighted_sums(learner, X, y, lambda *at: hinge(*at) ** 2, lambda w, x, label: hinge(u, x, label) ** 2)
    assert total <= (radius2(X) + 1 / (2 * C)) * (squares(u) + 2 * C * lost) * ROUNDING


@mixings
@some
@given(problem=separable(), shards=counts)
def test_romma(mixing, problem, shards):
    """Rows with y u·x >= 1: ||w - u||² falls by 1/R² or more at a mistake as long as u·w >= ||w||², which a mix keeps.

    It is convex, so that it falls by mu k / R² at a mix: the sum of mu k is R²||u||² at most.
    """
    X, y, u, margin = problem
    u, R2 = u / margin, radius2(X)
    learner = sharded(ROMMA, X, y, shards, mixing, max_iter=20)
    K, slack = 0.0, 1e-9 * squares(u)
    for start, parts, after in replay(learner, X, y):
        for part in parts:
            ends = [w for w, *_ in part.rounds[1:]] + [part.end]
            for (w, _, _, moved), end in zip(part.rounds, ends, strict=True):
                assert u @ end >= squares(end) - slack
                assert squares(w - u) - squares(end - u) >= (1 / R2 - slack if moved else 0)
        made = sum(part.mu * part.mistakes for part in parts)
        assert squares(start - u) - squares(after - u) >= made / R2 - slack
        assert u @ after >= squares(after) - slack
        K += made
    assert 0 < K <= R2 * squares(u) * ROUNDING


def test_aggressive_romma_has_no_bound_when_mixed():
    """Steps on rows with margins in (0, 1) may move away from u: ||w - u||² does not fall, and a mix has a fixed point.

    Of three rows, a shard each, one stays misclassified for good, where one machine makes two mistakes in all.
    """
    Z, u = np.array([[-1, 5, -3], [5, -5, 1], [1, 4, -2]], float), np.array([5.0, 3.0, 0.0])
    bound = radius2(Z) * squares(u) / min(Z @ u) ** 2
    y, orders = np.ones(3), [np.arange(3)] * 100
    aggressive, plain = (mixed(romma(aggressive=a), Z, y, orders, shards=3) for a in (True, False))
    assert len(aggressive.mistakes) / 3 > 1.9 * bound
    assert np.array_equal(aggressive.states[-1], aggressive.states[-2])
    assert min(Z @ aggressive.w) < -0.09
    assert len(plain.mistakes) / 3 <= bound
    assert min(Z @ plain.w) > 0
    assert len(online(romma(aggressive=True), Z, y, np.concatenate(orders)).mistakes) == 2


LOSSES = {
    "logistic": (LogisticRegression(solver="sgd", eta0=0.3), lambda w, X, y: np.logaddexp(0, -y * (X @ w)).sum()),
    "pegasos": (
        Pegasos(alpha=0.1, readout="last"),
        lambda w, X, y: 0.05 * squares(w) + np.maximum(0, 1 - y * (X @ w)).mean(),
    ),
}


@mixings
@pytest.mark.parametrize("name", LOSSES)
def test_a_mix_loses_no_more_than_its_shards_on_average(name, mixing):
    """The loss over all rows is convex; and as the shards differ, it is less."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60)
    learner, loss = LOSSES[name]
    one_pass = {"fit_intercept": False, "shuffle": False, "max_iter": 1}
    whole = clone(learner).set_params(shards=5, mixing=mixing, **one_pass).fit(X, y)
    parts = [clone(learner).set_params(**one_pass).fit(X[k : k + 12], y[k : k + 12]) for k in range(0, 60, 12)]
    mu = whole.mixes_.weights
    mean = sum(m * part.coef_[0] for m, part in zip(mu, parts, strict=True))
    np.testing.assert_allclose(whole.coef_[0], mean, rtol=0, atol=1e-12)
    assert loss(mean, X, y) < sum(m * loss(part.coef_[0], X, y) for m, part in zip(mu, parts, strict=True))
