"""The perceptron's theorem for mixed shards (McDonald, Hall and Mann, 2010), held against runs, without rounding."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from linsep import AveragedPerceptron, Perceptron
from linsep.training.mixing import MIXINGS
from tests.exact import fractions
from tests.fits import close, fit, weights
from tests.mixing_references import replay
from tests.problems import separable

some = settings(max_examples=12)
mixings = pytest.mark.parametrize("mixing", MIXINGS)


def squares(v):
    return np.sum(v * v)


def radius2(X):
    return max(map(squares, X))


def run(X, y, max_iter, **more):
    shared = {"fit_intercept": False, "random_state": 0, "log": True, "max_iter": max_iter}
    return Perceptron(**{**shared, **more}).fit(X, y)


def most_epochs(bound, n, shards, mixing):
    """Each epoch but the last has a mistake: that many weigh more than the bound, whichever shards made them."""
    shards = min(n, shards)
    least = {"uniform": Fraction(1, shards), "rows": Fraction(n // shards, n), "mistakes": Fraction(1)}[mixing]
    return int(bound / least) + 1


@mixings
@some
@given(
    problem=separable(),
    shards=st.integers(2, 16),
    shuffle=st.sampled_from([True, "once", "blocks", False]),
    seed=st.integers(0, 99),
)
def test_weighted_mistakes_are_within_the_bound(mixing, problem, shards, shuffle, seed):
    """The sum of mu k is (R/gamma)² at most, R²||u||²/margin²; so training comes to an end, and separates the rows."""
    X, y, u, margin = problem
    bound = Fraction(radius2(X) * squares(u)) / Fraction(margin) ** 2
    epochs = most_epochs(bound, len(X), shards, mixing)
    learner = run(X, y, epochs, shards=shards, mixing=mixing, shuffle=shuffle, random_state=seed)
    told = learner.mixes_
    exact = sum(shard.mu * shard.mistakes for _, parts, _ in replay(learner, fractions(X), y) for shard in parts)
    assert 0 < exact <= bound
    assert told.mixed_mistakes[-1] == pytest.approx(float(exact), rel=1e-12)
    assert told.mistakes.sum() == learner.mistakes_ == len(learner.log_)
    assert learner.score(X, y) == 1.0


@mixings
@some
@given(problem=separable(), shards=st.integers(2, 9), seed=st.integers(0, 99))
def test_both_lemmas_at_every_mix(mixing, problem, shards, seed):
    """With K the sum of mu k so far, v·u >= K gamma and ||v||² <= K R²; also in each shard, with its own mistakes.

    Lemma 1 has no rounding. Lemma 2 asks for y v·x <= 0 where v was rounded: in thirds a tie may be seen as a mistake.
    """
    X, y, u, margin = problem
    epochs = most_epochs(Fraction(radius2(X) * squares(u)) / Fraction(margin) ** 2, len(X), shards, mixing)
    learner = run(X, y, epochs, shards=shards, mixing=mixing, random_state=seed)
    exact, target, margin, R2 = fractions(X), fractions([u])[0], Fraction(margin), Fraction(radius2(X))
    K = before = Fraction(0)
    for mix, (_, parts, after) in enumerate(replay(learner, exact, y), start=1):
        slack = 0 if dyadic(parts) and 4 * mix < 40 else Fraction(1, 10**12)
        for part in parts:
            assert sum(moved for *_, moved in part.rounds) == part.mistakes
            assert all(label * (w @ x) <= slack for w, x, label, moved in part.rounds if moved)
            assert all(label * (w @ x) >= -slack for w, x, label, moved in part.rounds if not moved)
            assert part.end @ target >= (K + part.mistakes) * margin
            assert squares(part.end) <= (K + part.mistakes) * R2 * (1 + slack)
        assert sum(part.mu for part in parts) == 1
        before, K = K, K + sum(part.mu * part.mistakes for part in parts)
        assert after @ target >= K * margin
        assert squares(after) <= K * R2 * (1 + slack)
        assert squares(after) <= sum(part.mu * squares(part.end) for part in parts)
    assert K == before > 0  # the last epoch was without a mistake
    close(weights(learner), after.astype(float))


def dyadic(parts):
    """Whether a mix divides by powers of two alone, so that floats are exact for a while."""
    return all(part.mu.denominator & (part.mu.denominator - 1) == 0 for part in parts)


@mixings
@pytest.mark.parametrize("p", [2, 5, 16])
def test_the_bound_is_tight_where_shards_are_alike(mixing, p):
    """The rows e_i, all positive, in each of four shards: 4 p mistakes, which weigh p = (R/gamma)² in the mix.

    So it is the weighted sum that is bounded, and not the sum.
    """
    X, y = np.vstack([np.eye(p), -np.eye(p)[:1]]), np.append(np.ones(p), -1.0)
    learner = run(np.tile(X, (4, 1)), np.tile(y, 4), 5, shards=4, mixing=mixing, shuffle=False)
    assert learner.mixes_.mixed_mistakes.tolist() == [p, p]
    assert learner.mistakes_ == 4 * p > p
    assert np.array_equal(learner.coef_, np.ones((1, p)))


@mixings
def test_shards_of_one_row_are_a_step_each(mixing):
    """The other extreme: all rows look at the same weights, as in batch gradient descent; the bound holds there too."""
    p = 6
    X, y = np.vstack([np.eye(p), -np.eye(p)[:1]]), np.append(np.ones(p), -1.0)
    learner = run(X, y, 3, shards=100, mixing=mixing, shuffle=False)
    assert learner.mixes_.rows.tolist() == [1] * 7 * 2
    assert learner.mixes_.mixed_mistakes[-1] == pytest.approx(1.0)
    assert np.allclose(learner.coef_, np.append(2, np.ones(p - 1)) / 7)


HOSTILE = {
    "a needle's eye": (np.array([[1000, 1], [-1000, 1], [1000, 1], [-1000, 1], [0, -1]]), [1, 1, 1, 1, -1], [0, 1]),
    "one class a shard": (np.repeat([[3, 1], [-2, 1], [1, -1], [-1, -2]], 2, axis=0), [1] * 4 + [-1] * 4, [0, 1]),
    "a lone row": (np.vstack([np.tile([[1, 0], [-1, 0]], (6, 1)), [[-5, 9]]]), [1, -1] * 6 + [1], [1, 1]),
    "far lengths": (np.array([[2**20, 1], [-(2**20), 1], [1, 1], [-1, -1]]), [1, 1, 1, -1], [0, 1]),
}


@pytest.mark.slow
@mixings
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("shards", [2, 3, 4])
def test_hostile_rows(case, mixing, shards):
    """Bounds of up to 10^12 that are never reached: the sum is within, whenever training stops."""
    X, y, u = (np.array(a, float) for a in HOSTILE[case])
    assert min(y * (X @ u)) > 0
    bound = radius2(X) * squares(u) / min(y * (X @ u)) ** 2
    how = {"fit_intercept": False, "shuffle": False, "log": True, "max_iter": 100}
    learner = fit(Perceptron(shards=shards, mixing=mixing, **how), X, y)
    K, R2, exact = Fraction(0), Fraction(radius2(X)), fractions(X)
    for _, parts, after in replay(learner, exact, y):
        K += sum(part.mu * part.mistakes for part in parts)
        assert after @ fractions([u])[0] >= K * Fraction(min(y * (X @ u)))
        assert squares(after) <= K * R2 * (1 + Fraction(1, 10**9))
    assert 0 < K <= bound


@some
@given(classes=st.integers(3, 5), seed=st.integers(0, 9999), shards=st.integers(2, 8), mixing=st.sampled_from(MIXINGS))
def test_pairs_of_classes(classes, seed, shards, mixing):
    """(U_y - U_r)·x >= margin for every rival r: the sum of mu k is 2R²||U||²/margin² at most."""
    rng = np.random.default_rng(seed)
    U, X = rng.integers(-2, 3, (classes, 4)).astype(float), rng.integers(-3, 4, (20, 4)).astype(float)
    scores = np.sort(X @ U.T, axis=1)
    clear = scores[:, -1] > scores[:, -2]
    X, codes, gaps = X[clear], np.argmax(X @ U.T, axis=1)[clear], (scores[:, -1] - scores[:, -2])[clear]
    assume(len(np.unique(codes)) >= 3)
    bound = 2 * radius2(X) * squares(U) / gaps.min() ** 2
    epochs = most_epochs(Fraction(bound), len(X), shards, mixing)
    learner = run(X, codes, epochs, shards=shards, mixing=mixing, multi_class="joint")
    assert 0 < learner.mixes_.mixed_mistakes[-1] <= bound * (1 + 1e-12)
    assert learner.score(X, codes) == 1.0


SHARDS = np.array([[0, 0, 1], [0, 0, -1], [-1, -2, -1], [0, -1, 1]], float), np.array([1, -1, 1, -1])
"""Two rows a shard, separated by (-6, 2, 1)."""


def test_one_mix_of_separating_weights_may_not_separate():
    """What one-shot mixing can't promise: here both shards are separated, and no mix of the two separates all rows.

    The first ends with (0, 0, 1), the second with (-1, -1, -2). Row 0 wants mu > 2/3 for the first, row 3 mu < 1/2.
    """
    X, y = SHARDS
    parts = [run(X[k : k + 2], y[k : k + 2], 20, shuffle=False) for k in (0, 2)]
    assert [part.coef_.tolist() for part in parts] == [[[0, 0, 1]], [[-1, -1, -2]]]
    assert [part.score(X[k : k + 2], y[k : k + 2]) for part, k in zip(parts, (0, 2), strict=True)] == [1.0, 1.0]
    for mu in np.linspace(0, 1, 101):
        w = mu * parts[0].coef_[0] + (1 - mu) * parts[1].coef_[0]
        assert min(y * (X @ w)) <= 0
    assert min(y * (X @ [-6, 2, 1])) == 1


@mixings
def test_iterative_mixing_separates_them(mixing):
    X, y = SHARDS
    bound = radius2(X) * 41
    learner = run(X, y, most_epochs(Fraction(bound), 4, 2, mixing), shuffle=False, shards=2, mixing=mixing)
    assert min(y * (X @ learner.coef_[0])) > 0
    assert 0 < learner.mixes_.mixed_mistakes[-1] <= bound


@some
@given(problem=separable(), shards=st.integers(2, 9), b=st.integers(-3, 3), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_a_bias_is_one_more_feature(problem, shards, b, beta):
    X, _, u, _ = problem
    f = X @ u + b
    X, y = X[f != 0], np.sign(f[f != 0])
    X, y = np.vstack([X, 9 * u, -9 * u]), np.append(y, [1, -1])
    bound = (radius2(X) + beta**2) * (squares(u) + b**2 / beta**2) / min(y * (X @ u + b)) ** 2
    epochs = most_epochs(Fraction(bound), len(X), shards, "uniform")
    learner = run(X, y, epochs, fit_intercept=True, intercept_scaling=beta, shards=shards)
    assert 0 < learner.mixes_.mixed_mistakes[-1] <= bound * (1 + 1e-12)
    plain = run(np.column_stack([X, np.full(len(X), beta)]), y, epochs, shards=shards)
    assert learner.log_.rounds.tolist() == plain.log_.rounds.tolist()
    assert np.array_equal(weights(learner), weights(plain))


def test_an_average_is_of_the_same_run():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, (60, 4)).astype(float), np.append(rng.choice([-1, 1], 59), 1)
    how = {"fit_intercept": False, "random_state": 0, "shards": 4, "max_iter": 4, "mixing": "mistakes"}
    plain, averaged = (fit(kind(**how), X, y).mixes_ for kind in (Perceptron, AveragedPerceptron))
    assert plain.mistakes.tolist() == averaged.mistakes.tolist()
    assert plain.weights.tolist() == averaged.weights.tolist()
