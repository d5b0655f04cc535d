"""The Delta trick: what it promises, held against runs on data that nothing separates."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, eye_array, hstack, vstack
from sklearn.pipeline import make_pipeline

from linsep import AveragedPerceptron, Perceptron
from linsep.transforms import DeltaTrick
from tests.fits import fit, logged
from tests.problems import integer_rows, scattered_rows
from tests.transforms.forms import KINDS, rows

some = settings(max_examples=30)
deltas = st.sampled_from([0.125, 0.5, 1.0, 3.0, 64.0])


def squares(v):
    return float(np.sum(np.square(v)))


def perceptron(max_iter, **more):
    return Perceptron(**{"max_iter": max_iter, "shuffle": False, "fit_intercept": False, "log": True, **more})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@some
@given(X=rows(), delta=deltas)
def test_the_rows_are_extended_by_delta_times_the_identity(kind, X, delta):
    given_rows = KINDS[kind](X)
    trick = DeltaTrick(delta)
    assert np.array_equal(trick.fit_transform(given_rows).toarray(), np.hstack([X, delta * np.eye(len(X))]))
    assert np.array_equal(trick.transform(given_rows).toarray(), np.hstack([X, np.zeros((len(X), len(X)))]))
    assert trick.get_feature_names_out()[X.shape[1] :].tolist() == [f"row{i}" for i in range(len(X))]


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@some
@given(problem=st.one_of(integer_rows(), scattered_rows()), delta=deltas)
def test_the_first_pass_is_the_plain_one(intercept, problem, delta):
    X, y = problem
    how = {"fit_intercept": intercept, "intercept_scaling": 1.0}
    plain = fit(perceptron(1, **how), X, y)
    for kind in (np.array, csr_array):
        extended = fit(perceptron(1, **how), DeltaTrick(delta).fit_transform(kind(X)), y)
        assert extended.mistakes_ == plain.mistakes_
        assert logged(extended) == logged(plain)
        assert np.array_equal(extended.coef_[:, : X.shape[1]], plain.coef_)
        assert np.array_equal(extended.intercept_, plain.intercept_)


def test_the_first_pass_is_the_plain_one_on_reals():
    rng = np.random.default_rng(0)
    X = csr_array(rng.normal(size=(3000, 30)) * (rng.random((3000, 30)) < 0.5))
    y = np.sign(X @ rng.normal(size=30) + rng.normal(size=3000))
    plain, extended = (fit(perceptron(1), Z, y) for Z in (X, DeltaTrick(0.3).fit_transform(X)))
    assert 300 < plain.mistakes_ < 2000
    assert logged(extended) == logged(plain)
    assert np.array_equal(extended.coef_[:, :30], plain.coef_)


@some
@given(
    problem=st.one_of(integer_rows(), scattered_rows()), delta=deltas, gamma=st.sampled_from([0.25, 1.0, 3.0, 50.0]),
    seed=st.integers(0, 99), data=st.data(),
)  # fmt: skip
def test_margin_and_bound_over_all_epochs(problem, delta, gamma, seed, data):
    """u' = (u, y d/delta)/Z has margin gamma/Z: k <= (R²+delta²)(1+D²/delta²)/gamma²."""
    X, y = problem
    u = data.draw(arrays(float, X.shape[1], elements=st.integers(-4, 4)).filter(np.any))
    u = u / math.sqrt(squares(u))
    d = np.maximum(0, gamma - y * (X @ u))
    Z = math.sqrt(1 + squares(d) / delta**2)
    extended = DeltaTrick(delta).fit_transform(X)
    separator = np.append(u, y * d / delta) / Z
    assert squares(separator) == pytest.approx(1.0)
    margins = y * (extended @ separator)
    assert margins.min() >= gamma / Z * (1 - 1e-12) - 1e-12
    R2 = max(map(squares, X))
    bound = (R2 + delta**2) * Z**2 / gamma**2
    assert max(map(squares, extended.toarray())) == R2 + delta**2
    learner = perceptron(20_000, shuffle=True, random_state=seed).fit(extended, y)
    assert learner.n_iter_ < 20_000
    assert 0 < learner.mistakes_ <= bound * (1 + 1e-12)
    assert learner.score(extended, y) == 1.0


@some
@given(problem=integer_rows(), gamma=st.sampled_from([0.25, 1.0, 3.0]))
def test_the_best_delta(problem, gamma):
    """delta² = R D makes the bound ((R + D)/gamma)²."""
    X, y = problem
    d = np.maximum(0, gamma - y * X[:, 0])
    R, D = math.sqrt(max(map(squares, X))), math.sqrt(squares(d))
    if R * D > 0:
        learner = perceptron(100_000).fit(DeltaTrick(math.sqrt(R * D)).fit_transform(X), y)
        assert learner.mistakes_ <= ((R + D) / gamma) ** 2 * (1 + 1e-12)


def test_contradictions_are_learned_by_heart():
    X, y = [[1.0, 2.0]] * 4, [1, -1, -1, 1]
    assert perceptron(100).fit(X, y).score(X, y) == 0.5
    model = make_pipeline(DeltaTrick(), perceptron(100)).fit(X, y)
    assert model[-1].score(DeltaTrick().fit_transform(X), y) == 1.0
    assert len(set(model.predict(X))) == 1


@pytest.mark.parametrize("n_rows", [None, 10])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_a_stream_goes_on_counting_and_an_epoch_begins_again(n_rows, counted, kind):
    rng = np.random.default_rng(1)
    X, y = rng.integers(-3, 4, (10, 3)).astype(float), np.tile([1, -1], 5)
    X = KINDS[kind](X)
    blocks = [slice(0, 4), slice(4, 5), slice(5, 10)]
    trick = DeltaTrick(0.5, n_rows=n_rows)
    if counted:
        for block in blocks:
            trick.partial_fit(X[block])
    known = counted or n_rows is not None
    learner, whole = perceptron(1), DeltaTrick(0.5).fit_transform(X)
    for epoch in range(4):
        trick.restart()
        parts = []
        for block in blocks:
            parts.append(trick.extend(X[block]))
            assert trick.next_row_ == block.stop
            assert parts[-1].shape[1] == 3 + (10 if known or epoch else block.stop)
            learner.grow(parts[-1].shape[1]).partial_fit(parts[-1], y[block], classes=[-1, 1])
        for part in parts:
            part.resize(part.shape[0], 13)
        assert np.array_equal(vstack(parts).toarray(), whole.toarray())
    at_once = fit(perceptron(4), whole, y)
    assert learner.mistakes_ == at_once.mistakes_
    assert np.array_equal(learner.coef_, at_once.coef_)
    assert learner.decision_function(trick.transform(X)).shape == (10,)


def test_counting_and_extending_side_by_side():
    trick, X = DeltaTrick(), np.arange(12.0).reshape(6, 2)
    parts = [trick.partial_fit(block).extend(block) for block in np.split(X, 3)]
    assert [part.shape for part in parts] == [(2, 4), (2, 6), (2, 8)]
    assert [part.indices.max() for part in parts] == [3, 5, 7]
    assert (trick.n_rows_, trick.next_row_, trick.n_features_out_) == (6, 6, 8)
    assert trick.fit(X).next_row_ == 0


@pytest.mark.parametrize("order", ["count first", "extend first", "extend all first", "by turns"])
def test_rows_that_are_counted_and_extended_have_one_column(order):
    trick, X = DeltaTrick(), np.arange(12.0).reshape(6, 2)
    blocks = np.split(X, 3)
    steps = {
        "count first": [(DeltaTrick.partial_fit, b) for b in blocks] + [(DeltaTrick.extend, b) for b in blocks],
        "extend first": [(step, b) for b in blocks for step in (DeltaTrick.extend, DeltaTrick.partial_fit)],
        "extend all first": [(step, b) for step in (DeltaTrick.extend, DeltaTrick.partial_fit) for b in blocks],
        "by turns": [(step, b) for b in blocks for step in (DeltaTrick.partial_fit, DeltaTrick.extend)],
    }
    for _ in range(3):
        trick.restart()
        for step, block in steps[order]:
            step(trick, block)
        assert (trick.n_rows_, trick.next_row_, trick.n_features_out_) == (6, 6, 8)
    assert trick.transform(X).shape == (6, 8)
    assert trick.fit(X[:3]).n_rows_ == 3


def test_more_rows_than_stated():
    trick = DeltaTrick(n_rows=3)
    trick.extend(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"row 3 is beyond n_rows=3: call restart\(\) before the next epoch"):
        trick.extend(np.ones((2, 2)))
    assert trick.next_row_ == 2
    assert trick.extend(np.ones((1, 2))).shape == (1, 5)
    assert trick.restart().extend(np.ones((3, 2))).shape == (3, 5)
    with pytest.raises(ValueError, match="beyond n_rows=3"):
        trick.fit_transform(np.ones((4, 2)))


def test_row_columns_beyond_32_bits():
    X = csr_array(([1.0, 2.0], [5, 2**31 - 2], [0, 1, 2]), shape=(2, 2**31 - 1))
    result = DeltaTrick(0.5).fit_transform(X)
    assert result.indices.tolist() == [5, 2**31 - 1, 2**31 - 2, 2**31]
    assert result.data.tolist() == [1.0, 0.5, 2.0, 0.5]


def test_averages_and_large_sparse_data_take_memory_by_their_entries():
    n = 20_000
    X = hstack([csr_array(np.ones((n, 1))), eye_array(n)], format="csr")
    trick = DeltaTrick()
    extended = trick.fit_transform(X)
    assert (extended.shape, extended.nnz) == ((n, 2 * n + 1), 3 * n)
    assert fit(AveragedPerceptron(max_iter=1), extended, np.tile([0, 1], n // 2)).coef_.shape == (1, 2 * n + 1)
