"""Passive-aggressive regression against a plain reference, its bounds, streams and model files."""

import pickle
from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import linsep
from linsep import PassiveAggressiveRegressor, load, save
from linsep.validation.errors import InvalidDataError
from tests.sklearn_checks import cases, name_of

NOT_REPETITION = "a weight multiplies the step, which is not to repeat the row"
FAILS = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
}
VARIANTS = ("PA", "PA-I", "PA-II")


def problem(rows=300, features=8, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.6)
    u = rng.normal(size=features)
    return X, X @ u + 0.5 + noise * rng.normal(size=rows), u


def reference(X, y, variant, C, epsilon, bias=1.0):
    """Return the last weights, their average after each round, and (loss, tau, xx) of each round."""
    Z = np.column_stack([X, np.full(len(X), bias)])
    w, total, rounds = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), []
    for z, target in zip(Z, y, strict=True):
        score, xx = z @ w, z @ z
        loss = max(0.0, abs(target - score) - epsilon)
        room = xx + (0.5 / C if variant == "PA-II" else 0.0)
        tau = 0.0 if room == 0 else loss / room
        tau = min(C, tau) if variant == "PA-I" else tau
        w = w + np.sign(target - score) * tau * z
        total += w
        rounds.append((loss, tau, xx))
    return w, total / len(Z), np.array(rounds)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("readout", ["last", "average"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_pass_has_the_weights_of_the_reference(variant, readout, kind):
    X, y, _ = problem()
    last, average, rounds = reference(X, y, variant, 0.05, 0.1)
    model = PassiveAggressiveRegressor(variant=variant, C=0.05, readout=readout)
    for rows in (slice(0, 100), slice(100, None)):
        model.partial_fit(kind(X[rows]), y[rows])
    w = last if readout == "last" else average
    np.testing.assert_allclose(model.coef_, w[:-1], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, w[-1:], atol=1e-12)
    np.testing.assert_allclose(model.loss_, rounds[:, 0].mean())
    assert (model.t_, model.updates_) == (len(X), np.count_nonzero(rounds[:, 1]))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("readout", ["last", "average"])
def test_single_rows_have_the_bits_of_blocks(variant, readout):
    X, y, _ = problem()
    how = {"variant": variant, "readout": readout, "C": 0.1}
    whole = PassiveAggressiveRegressor(**how).partial_fit(sp.csr_array(X), y)
    rows, named = PassiveAggressiveRegressor(**how), PassiveAggressiveRegressor(**how)
    for x, target in zip(X, y, strict=True):
        rows.learn_one(x, target)
        named.learn_one({f"f{j}": x[j] for j in range(len(x))}, target)
    assert np.array_equal(rows.coef_, whole.coef_)
    assert np.array_equal(rows.intercept_, whole.intercept_)
    for other in (rows, named):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9, atol=1e-12)  # zeros of a dict are summed, too
        assert (other.t_, other.updates_) == (whole.t_, whole.updates_)
        assert other.loss_ == pytest.approx(whole.loss_)
    assert whole.predict_one(X[0]) == pytest.approx(whole.predict(X[:1])[0])
    assert named.predict_one({"f0": 1.0, "new": 5.0}) == named.predict_one({"f0": 1.0})
    assert list(named.feature_names_in_) == [f"f{j}" for j in range(X.shape[1])]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("variant", VARIANTS)
def test_losses_keep_the_bounds(variant, seed):
    X, y, u = problem(noise=0.0 if variant == "PA" else 1.0, seed=seed)
    C, epsilon, best = 0.2, 0.1, np.append(u, 0.5)
    loss, tau, xx = reference(X, y, variant, C, epsilon)[2].T
    model = PassiveAggressiveRegressor(variant=variant, C=C, epsilon=epsilon).partial_fit(X, y)
    assert model.loss_ == pytest.approx(loss.mean())
    star = np.maximum(0.0, np.abs(y - np.column_stack([X, np.ones(len(X))]) @ best) - epsilon)
    R2, U2 = xx.max(), best @ best
    if variant == "PA":
        assert (loss**2).sum() <= R2 * U2
    elif variant == "PA-I":
        assert (tau * (2 * loss - tau * xx)).sum() <= U2 + 2 * C * star.sum()
    else:
        assert (loss**2).sum() <= (R2 + 0.5 / C) * (U2 + 2 * C * (star**2).sum())


def test_fit_follows_its_parameters():
    X, y, _ = problem(rows=500, noise=0.05)
    early = PassiveAggressiveRegressor(early_stopping=True, max_iter=100, random_state=0).fit(X, y)
    assert early.n_iter_ < 100
    assert early.t_ == 450 * early.n_iter_
    assert early.score(X, y) > 0.95
    whole = PassiveAggressiveRegressor(max_iter=3, tol=None, random_state=0).fit(X, y)
    parts = PassiveAggressiveRegressor(max_iter=2, tol=None, random_state=0, warm_start=True).fit(X, y)
    parts.set_params(max_iter=1).fit(X, y)
    assert np.array_equal(parts.coef_, whole.coef_)
    assert parts.loss_ == pytest.approx(whole.loss_)
    twice = PassiveAggressiveRegressor(max_iter=1, shuffle=False, tol=None).fit(
        X, y, np.where(np.arange(500) < 9, 0, 1)
    )
    assert np.array_equal(twice.coef_, PassiveAggressiveRegressor().partial_fit(X[9:], y[9:]).coef_)


def test_the_order_follows_from_random_state():
    X, y, _ = problem(rows=50)
    model, by_hand = PassiveAggressiveRegressor(max_iter=3, tol=None, random_state=7).fit(X, y), None
    for epoch in range(3):
        order = np.random.default_rng([7, epoch]).permutation(len(X))
        by_hand = (by_hand or PassiveAggressiveRegressor()).partial_fit(X[order], y[order])
    assert model.seed_ == 7
    assert np.array_equal(model.coef_, by_hand.coef_)


@pytest.mark.parametrize("readout", ["last", "average"])
@pytest.mark.parametrize("named", [False, True])
def test_model_files_resume(tmp_path, readout, named):
    X, y, _ = problem()
    model, path = PassiveAggressiveRegressor(readout=readout, random_state=1), tmp_path / "m.linsep"
    rows = [{f"f{j}": v for j, v in enumerate(x)} if named else x for x in X]
    for x, target in zip(rows[:100], y[:100], strict=True):
        model.learn_one(x, target)
    save(model, path)
    for other in (load(path), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(
            other.predict(X) if not named else other.coef_, model.predict(X) if not named else model.coef_
        )
        assert (other.t_, other.updates_, other.loss_) == (model.t_, model.updates_, model.loss_)
        for x, target in zip(rows[100:], y[100:], strict=True):
            other.learn_one(x, target)
        straight = PassiveAggressiveRegressor(readout=readout, random_state=1)
        for x, target in zip(rows, y, strict=True):
            straight.learn_one(x, target)
        assert np.array_equal(other.coef_, straight.coef_)


def test_bad_input_is_named():
    X, y, _ = problem()
    model = PassiveAggressiveRegressor()
    with pytest.raises(NotFittedError):
        model.predict(X)
    for bad, words in (
        (lambda: model.fit(X, y[:-1]), "inconsistent numbers"),
        (lambda: model.fit(X, None), "requires y"),
        (lambda: model.fit(np.where(X[0, 0] == X, np.nan, X), y), "NaN"),
        (lambda: model.fit(X, np.where(y == y[0], np.inf, y)), "infinity"),
        (lambda: model.learn_one((np.array([0]), np.array([1.0])), 1.0), "number of features is not known"),
        (lambda: model.learn_one({"a": 1.0}, np.nan), "a target is a finite number"),
        (lambda: model.learn_one({"a": np.nan}, 1.0), "NaN"),
        (lambda: PassiveAggressiveRegressor(C=0).fit(X, y), "C"),
        (lambda: PassiveAggressiveRegressor(variant="PA").partial_fit(1e200 * X, y), "float64"),
    ):
        with pytest.raises(ValueError, match=words):
            bad()
    model = PassiveAggressiveRegressor().partial_fit(X, y)
    with pytest.raises(ValueError, match="column 99"):
        model.learn_one((np.array([99]), np.array([1.0])), 1.0)
    with pytest.raises(ValueError, match="call fit"):
        model.set_params(readout="average").partial_fit(X, y)


def test_single_rows_follow_parameters_that_are_set():
    X, y, _ = problem(rows=4)
    model, other = (PassiveAggressiveRegressor(variant="PA").partial_fit(X[:2], y[:2]) for _ in range(2))
    model.learn_one(X[2], y[2]).set_params(variant="PA-I", C=1e-6)
    assert not np.array_equal(model.learn_one(X[3], y[3]).coef_, other.partial_fit(X[2:], y[2:]).coef_)
    assert np.array_equal(
        pickle.loads(pickle.dumps(model)).learn_one(X[0], y[0]).coef_, model.learn_one(X[0], y[0]).coef_
    )
    with pytest.raises(ValueError, match="C"):
        model.set_params(C=-1.0).learn_one(X[0], y[0])


@pytest.mark.parametrize("readout", ["last", "average"])
def test_a_copy_is_independent(readout):
    model = PassiveAggressiveRegressor(readout=readout).learn_one({"a": 1.0}, 3.0).learn_one({"a": 1.0}, 4.0)
    twin, before = copy(model), model.coef_.copy()
    assert np.array_equal(twin.coef_, before)
    assert (twin.t_, twin.updates_, twin.loss_) == (model.t_, model.updates_, model.loss_)
    twin.learn_one({"a": 2.0}, -9.0).learn_one({"b": 1.0}, 5.0)
    assert (model.feature_names_in_.tolist(), model.t_) == (["a"], 2)
    assert np.array_equal(model.coef_, before)
    straight = PassiveAggressiveRegressor(readout=readout).learn_one({"a": 1.0}, 3.0).learn_one({"a": 1.0}, 4.0)
    assert np.array_equal(twin.coef_, straight.learn_one({"a": 2.0}, -9.0).learn_one({"b": 1.0}, 5.0).coef_)


def test_a_row_that_is_refused_changes_nothing():
    fresh, big = PassiveAggressiveRegressor(), 1e200
    for bad in ({"a": np.nan}, {"a": 1.0, "b": "x"}, [1.0, np.inf], [[1.0]], {"a": big, "b": -big}):
        with pytest.raises(ValueError):  # noqa: PT011  (what they state is tested below)
            fresh.learn_one(bad, 1.0)
        assert vars(fresh) == vars(PassiveAggressiveRegressor())
    model = PassiveAggressiveRegressor().learn_one({"a": 1.0}, 3.0)
    for row, words in (
        ({0: 1.0}, "x numbers its columns, but the regressor's features have names"),
        ({"a": 1.0, **{f"n{j}": np.inf for j in range(9)}}, "NaN or infinity"),
        ({"a": 1.0, **{f"n{j}": big for j in range(9)}}, "too large"),
    ):
        with pytest.raises(InvalidDataError, match=words):
            model.learn_one(row, 1.0)
        assert (model.feature_names_in_.tolist(), model.n_features_in_, model.t_) == (["a"], 1, 1)
        model.predict_one({"a": 1.0, "n0": 1.0})
    model.learn_one({"a": 2.0, "b": 1.0}, 3.0).learn_one({"c": 1.0}, 1.0)
    never = PassiveAggressiveRegressor().learn_one({"a": 1.0}, 3.0)
    never.learn_one({"a": 2.0, "b": 1.0}, 3.0).learn_one({"c": 1.0}, 1.0)
    assert np.array_equal(model.coef_, never.coef_)


def test_a_prediction_too_large_for_a_number_is_refused_for_one_row_as_for_many():
    model = PassiveAggressiveRegressor(variant="PA").partial_fit([[1.0], [2.0]], [10.0, 20.0])
    for predict in (model.predict_one, lambda x: model.predict([x])):
        with pytest.raises(InvalidDataError, match="a score is too large"):
            predict([1e308])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(cases(PassiveAggressiveRegressor(), FAILS)),
    ids=lambda of: name_of(of) if hasattr(of, "func") else "PA",
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_is_public():
    assert linsep.PassiveAggressiveRegressor is PassiveAggressiveRegressor
