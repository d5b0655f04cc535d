"""The perceptron's theorems, held against its runs: on integers, so that no bound needs slack."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis.extra.numpy import arrays

from linsep import AveragedPerceptron, Perceptron
from linsep.theory import locate_and_correct
from linsep.theory.bounds import regret, shifting, shifting_delta_trick
from tests.fits import fit, logged, radius2, replay, squares, weights
from tests.problems import integer_rows, separable

shuffles = st.sampled_from([True, "once", "blocks", False])


def run(X, y, max_iter, **more):
    settings = {"fit_intercept": False, "random_state": 0, "log": True, "max_iter": max_iter}
    return Perceptron(**{**settings, **more}).fit(X, y)


@given(problem=separable(), shuffle=shuffles, seed=st.integers(0, 99))
def test_novikoff_for_any_order(problem, shuffle, seed):
    """k <= (R/gamma)² = R²||u||²/margin². As many epochs suffice, since each but the last makes a mistake."""
    X, y, u, margin = problem
    bound = radius2(X) * squares(u) / margin**2
    learner = run(X, y, int(bound) + 1, shuffle=shuffle, random_state=seed)
    assert 0 < learner.mistakes_ <= bound
    assert learner.score(X, y) == 1.0


@pytest.mark.parametrize("select", ["first", "worst", "random"])
@given(problem=separable())
def test_novikoff_for_located_rows(select, problem):
    """The batch loop of the notes, "locate any misclassified row", is bound by the same number of updates."""
    X, y, u, margin = problem
    bound = radius2(X) * squares(u) / margin**2
    found = locate_and_correct(X, y, select=select, bias=0.0, max_iter=int(bound) + 1)
    assert 0 < len(found.rows) <= bound
    assert found.separates
    assert (y * (X @ found.coef) > 0).all()


@given(problem=separable(), seed=st.integers(0, 99))
def test_both_lemmas_at_every_mistake(problem, seed):
    """Lemma 1: v_k·u >= k gamma. Lemma 2: ||v_k||² <= k R². Rows with y v·x <= 0 are added, no others."""
    X, y, u, margin = problem
    learner = run(X, y, 5000, random_state=seed)
    mistaken, k = {t for t, _ in logged(learner)}, 0
    for t, (v, x, label) in enumerate(replay(learner, X, y), start=1):
        assert v @ u >= k * margin
        assert squares(v) <= k * radius2(X)
        if x is not None:
            assert (t in mistaken) == (label * (v @ x) <= 0)
            k += t in mistaken
    assert k == learner.mistakes_
    assert np.array_equal(v, weights(learner))


@given(problem=separable(), b=st.integers(-3, 3), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_novikoff_with_a_bias(problem, b, beta):
    """k <= (R²+beta²)(||u||²+b²/beta²)/margin², for rows that u and b separate: the bias is one more feature."""
    X, _, u, _ = problem
    f = X @ u + b
    X, y = X[f != 0], np.sign(f[f != 0])
    X, y = np.vstack([X, 9 * u, -9 * u]), np.append(y, [1, -1])
    margin = min(y * (X @ u + b))
    bound = (radius2(X) + beta**2) * (squares(u) + b**2 / beta**2) / margin**2
    learner = run(X, y, int(bound) + 1, fit_intercept=True, intercept_scaling=beta)
    assert 0 < learner.mistakes_ <= bound
    assert learner.score(X, y) == 1.0
    plain = run(np.column_stack([X, np.full(len(X), beta)]), y, int(bound) + 1)
    assert logged(learner) == logged(plain)
    assert np.array_equal(weights(learner), weights(plain))


@pytest.mark.parametrize("p", [2, 3, 17])
def test_tight_example(p):
    """The rows e_i, all positive: k = p = (R/gamma)². (Two classes are needed: -e_1 comes last.)"""
    X, y = np.vstack([np.eye(p), -np.eye(p)[:1]]), np.append(np.ones(p), -1.0)
    for order in (np.arange(p + 1), np.append(np.arange(p)[::-1], p)):
        learner = run(X[order], y[order], 5, shuffle=False)
        assert learner.mistakes_ == p
        assert np.array_equal(learner.coef_, np.ones((1, p)))


@given(problem=integer_rows())
def test_zero_counts_as_a_mistake(problem):
    """The first round is always a mistake: from w = 0 the test "y·score < 0" would never update at all."""
    X, y = problem
    learner = fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=1, log=True), X, y)
    assert logged(learner)[0] == (1, 0)
    assert learner.mistakes_ >= 1


@given(problem=integer_rows(), epochs=st.integers(1, 4), data=st.data())
def test_regret_against_any_fixed_weights(problem, epochs, data):
    """L = the hinge of w over the mistakes: sqrt(k) <= (R||w|| + sqrt(R²||w||² + 4L))/2."""
    X, y = problem
    w = data.draw(arrays(float, X.shape[1], elements=st.integers(-8, 8))) / 4
    learner = fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=epochs, log=True), X, y)
    rows = learner.log_.rows
    L = np.maximum(0, 1 - y[rows] * (X[rows] @ w)).sum()
    size = math.sqrt(radius2(X) * squares(w))
    assert math.sqrt(learner.mistakes_) <= (size + math.sqrt(size**2 + 4 * L)) / 2 * (1 + 1e-15)


@given(problem=integer_rows(), epochs=st.integers(1, 3), data=st.data())
def test_regret_against_weights_that_change(problem, epochs, data):
    """u_i in integers, one for each mistake: sqrt(k) <= (R B + sqrt(R² B² + 4L))/2, B = ||u_k|| + path."""
    X, y = problem
    learner = fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=epochs, log=True), X, y)
    rows = learner.log_.rows
    pieces = data.draw(arrays(float, (3, X.shape[1]), elements=st.integers(-8, 8))) / 4
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), min_size=2, max_size=2)))
    u = pieces[np.searchsorted(cuts, np.arange(len(rows)), side="right")]
    L = np.maximum(0, 1 - y[rows] * np.einsum("ij,ij->i", X[rows], u)).sum()
    path = np.linalg.norm(np.diff(u, axis=0), axis=1).sum()
    radius = math.sqrt(radius2(X)) or 1.0
    allowed = shifting(radius, np.linalg.norm(u[-1]), path, L)
    assert learner.mistakes_ <= allowed * (1 + 1e-14)
    assert shifting(radius, np.linalg.norm(u[-1]), 0.0, L) == regret(radius, np.linalg.norm(u[-1]), L) <= allowed


@given(problem=integer_rows(), epochs=st.integers(1, 3), data=st.data())
def test_delta_trick_against_weights_that_change(problem, epochs, data):
    """u_t in quarters, one for each round: sqrt(k) <= R B + D, B = ||u_n|| + path, D over all rounds."""
    X, y = problem
    learner = fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=epochs, log=True), X, y)
    rounds = np.tile(np.arange(len(X)), int(learner.n_iter_))
    pieces = data.draw(arrays(float, (3, X.shape[1]), elements=st.integers(-8, 8))) / 4
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rounds)), min_size=2, max_size=2)))
    u = pieces[np.searchsorted(cuts, np.arange(len(rounds)), side="right")]
    D = np.linalg.norm(np.maximum(0, 1 - y[rounds] * np.einsum("ij,ij->i", X[rounds], u)))
    path = np.linalg.norm(np.diff(u, axis=0), axis=1).sum()
    radius = math.sqrt(radius2(X)) or 1.0
    assert learner.mistakes_ <= shifting_delta_trick(radius, np.linalg.norm(u[-1]), path, D) * (1 + 1e-14)


@given(problem=integer_rows(), passes=st.integers(1, 3), gamma=st.sampled_from([0.25, 1.0, 3.0, 1e4]), data=st.data())
def test_delta_trick(problem, passes, gamma, data):
    """Any unit u and gamma > 0, D = ||(gamma - y u·x)+||: one pass makes k <= ((R+D)/gamma)².

    T passes: with sqrt(T)·D for D. As gamma grows this becomes k <= nT, which is met with equality.
    """
    X, y = problem
    u = data.draw(arrays(float, X.shape[1], elements=st.integers(-4, 4)).filter(np.any))
    u = u / math.sqrt(squares(u))
    D = math.sqrt(passes * squares(np.maximum(0, gamma - y * (X @ u))))
    learner = fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=passes), X, y)
    assert learner.mistakes_ <= ((math.sqrt(radius2(X)) + D) / gamma) ** 2 * (1 + 1e-15)


@given(problem=separable(), data=st.data())
def test_sample_weights_keep_a_bound(problem, data):
    """With c the weights of the mistaken rounds: (sum c)² / sum c² <= (R/gamma)²."""
    X, y, u, margin = problem
    c = data.draw(arrays(float, len(X), elements=st.integers(1, 8))) / 4
    bound = radius2(X) * squares(u) / margin**2
    # c_max/c_min <= 8, hence k <= 64 (R/gamma)² mistakes.
    learner = Perceptron(fit_intercept=False, shuffle=False, max_iter=64 * int(bound) + 2, log=True)
    learner.fit(X, y, sample_weight=c)
    paid = c[learner.log_.rows]
    assert paid.sum() ** 2 <= bound * squares(paid)
    assert learner.score(X, y) == 1.0


@given(classes=st.integers(3, 5), p=st.integers(2, 4), seed=st.integers(0, 9999))
def test_pairs_of_classes(classes, p, seed):
    """(U_y - U_r)·x >= gamma for every rival r, ||U||_F = 1: k <= 2R²/gamma²."""
    rng = np.random.default_rng(seed)
    U, X = rng.integers(-2, 3, (classes, p)).astype(float), rng.integers(-3, 4, (20, p)).astype(float)
    scores = np.sort(X @ U.T, axis=1)
    clear = scores[:, -1] > scores[:, -2]
    X, codes, gaps = X[clear], np.argmax(X @ U.T, axis=1)[clear], (scores[:, -1] - scores[:, -2])[clear]
    assume(len(np.unique(codes)) >= 3)
    bound = 2 * radius2(X) * squares(U) / gaps.min() ** 2
    learner = run(X, codes, int(bound) + 1, multi_class="joint", random_state=seed)
    assert 0 < learner.mistakes_ <= bound
    assert learner.score(X, codes) == 1.0


@pytest.mark.parametrize("K", [3, 4, 7])
def test_pairs_of_unit_rows(K):
    """A row e_k for each class k: k = K mistakes, where U = I - 1/K allows 2R²||U||² = 2(K-1)."""
    learner = run(np.eye(K), np.arange(K), 5, multi_class="joint", shuffle=False)
    assert learner.mistakes_ == K <= 2 * squares(np.eye(K) - 1 / K) + 1e-12


def test_survival_counts_of_the_ten_row_table():
    """Mistakes at rounds 1, 4, 8, 10 give c = (1, 3, 4, 2, 0): v counts for the row it failed on.

    With orthogonal rows, weight j of the average is the share of rounds after mistake j: (9, 6, 2, 0)/10.
    """
    e = np.eye(4)
    X = e[[0, 0, 0, 1, 0, 1, 0, 2, 0, 3]]
    y = np.ones(10)
    X[[4, 8]], y[[4, 8]] = -X[[4, 8]], -1
    learner = fit(AveragedPerceptron(fit_intercept=False, shuffle=False, max_iter=1, log=True), X, y)
    rounds = learner.log_.rounds
    assert rounds.tolist() == [1, 4, 8, 10]
    assert np.diff(rounds, prepend=0, append=10).tolist() == [1, 3, 4, 2, 0]
    assert learner.coef_[0] * 10 == pytest.approx([9, 6, 2, 0], abs=1e-15)
