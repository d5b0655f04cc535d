"""Logistic regression's solvers that see all rows, as a learner."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import scale

import linsep
from linsep import LogisticRegression

SOLVERS = ["newton", "batch"]


def problem(classes=2, rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    return X, np.argmax(X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(rows, classes)), axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (3, "multinomial")])
def test_the_weights_and_probabilities_are_a_peers(solver, kind, classes, multi_class):
    X, y = problem(classes)
    ours = LogisticRegression(
        solver=solver, prior_variance=2.0, penalize_intercept=False, multi_class=multi_class, tol=1e-12, max_iter=20_000
    ).fit(kind(X), y)
    peer = Peer(C=2.0, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(kind(X)), peer.predict_proba(X), atol=1e-4)
    assert ours.optimality_ <= 1e-8 * ours.value_
    assert ours.converged_
    assert not ours.infinite_
    assert ours.cause_ is None
    assert len(ours.history_) > 1
    assert ours.history_[-1] == -ours.value_


def data_of(name):
    """Rows, labels and weights that the defaults are held against a peer on."""
    rng = np.random.default_rng(0)
    if name == "sparse":
        X, y = sp.random_array((300, 40), density=0.2, rng=rng, format="csr"), rng.integers(0, 3, 300)
        return X, y, rng.integers(0, 4, 300) / 2
    X, y = {"iris": load_iris, "digits": load_digits, "cancer": load_breast_cancer}[name](return_X_y=True)
    return scale(X) if name == "cancer" else X[::3] / X.max(), y[::3] if name != "cancer" else y, None


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["iris", "digits", "cancer", "sparse"])
def test_fit_without_parameters_is_a_peers_optimum(name, intercept):
    X, y, weights = data_of(name)
    ours = LogisticRegression(fit_intercept=intercept).fit(X, y, weights)
    peer = Peer(C=1, tol=1e-10, max_iter=10_000, solver="newton-cg", fit_intercept=intercept).fit(X, y, weights)
    for attribute in ("coef_", "intercept_"):
        expected = getattr(peer, attribute)
        near = 1e-4 * np.abs(expected).max()
        np.testing.assert_allclose(np.broadcast_to(getattr(ours, attribute), expected.shape), expected, atol=near)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert ours.optimality_ <= 1e-10 * ours.value_


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_a_stream_are_learned_one_by_one_by_default(classes):
    X, y = problem(classes)
    default = LogisticRegression().partial_fit(X, y)
    said = LogisticRegression(
        solver="sgd", prior_variance=None, penalize_intercept=True, multi_class="ovr"
    ).partial_fit(X, y)
    np.testing.assert_array_equal(default.coef_, said.coef_)
    np.testing.assert_array_equal(default.intercept_, said.intercept_)
    assert not hasattr(default, "optimality_")
    single = LogisticRegression()
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    np.testing.assert_allclose(single.coef_, default.coef_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mixing", ["uniform", "rows"])
def test_shards_go_row_by_row_by_default(mixing):
    X, y = problem(3)
    default, said = (
        LogisticRegression(shards=3, mixing=mixing, random_state=0, **more).fit(X, y)
        for more in ({}, {"solver": "sgd", "multi_class": "joint"})
    )
    np.testing.assert_array_equal(default.coef_, said.coef_)
    assert default.t_ == 10 * len(y)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_after_fit_continue_from_its_weights(classes):
    """More than two classes stay one softmax: each row moves its class against the best rival."""
    X, y = problem(classes)
    for way in (lambda clf: clf.partial_fit(X, y), lambda clf: clf.learn_one(X[0], y[0])):
        clf = LogisticRegression(eta0=1e-6).fit(X, y)
        best, chances = clf.coef_.copy(), clf.predict_proba(X)
        assert clf.optimality_ is not None
        way(clf)
        assert 0 < np.abs(clf.coef_ - best).max() < 1e-3
        np.testing.assert_allclose(clf.predict_proba(X), chances, atol=1e-3)
        assert not hasattr(clf, "optimality_")


def test_fit_after_rows_of_a_stream_is_the_optimum_again():
    X, y = problem(3)
    fresh = LogisticRegression().fit(X, y)
    for warm in (False, True):
        clf = LogisticRegression(warm_start=warm).partial_fit(X, y).fit(X, y)
        np.testing.assert_allclose(clf.coef_, fresh.coef_, atol=1e-4)
        assert clf.optimality_ <= 1e-10 * clf.value_


def test_the_newton_answer_is_better_than_any_of_sgd_and_batch():
    X, y = problem()
    values = {}
    for solver in ("newton", "batch"):
        values[solver] = LogisticRegression(solver=solver, penalize_intercept=True).fit(X, y).value_
    sgd = LogisticRegression(solver="sgd", prior_variance=1.0, max_iter=200, eta0=0.01, random_state=0).fit(X, y)
    log_likelihood = np.log(sgd.predict_proba(X)[np.arange(len(y)), y]).sum()
    of_sgd = -log_likelihood + (np.sum(sgd.coef_**2) + np.sum(sgd.intercept_**2)) / 2
    assert values["newton"] <= min(values["batch"], of_sgd)
    assert of_sgd == pytest.approx(values["newton"], rel=1e-2)
    assert not hasattr(sgd, "optimality_")


def test_two_classes_jointly_answer_as_one_column():
    X, y = problem()
    joint = LogisticRegression(multi_class="multinomial", tol=1e-12).fit(X, y)
    single = LogisticRegression(prior_variance=2.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(joint.predict_proba(X), single.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(joint.coef_, single.coef_, atol=1e-5)
    assert joint.predict(X).tolist() == single.predict(X).tolist()


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_a_prior_there_is_no_proof_and_perhaps_no_optimum(solver):
    X, y = problem()
    assert LogisticRegression(solver=solver, prior_variance=None).fit(X, y).optimality_ is None
    table = pd.DataFrame({"noise": [0.0, 1.0, 1.0, 0.0], "seen": [0.0, 0.0, 0.0, 2.0]})
    with pytest.warns(ConvergenceWarning, match="no optimum.*the weight of 'seen'.*prior_variance") as told:
        clf = LogisticRegression(solver=solver, prior_variance=None).fit(table, [0, 1, 0, 1])
    assert told[0].filename == __file__
    assert clf.infinite_
    assert clf.cause_ == 1
    with pytest.warns(ConvergenceWarning, match="the weight of column 1"):
        LogisticRegression(solver=solver, prior_variance=None).fit(table.to_numpy(), [0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not LogisticRegression(solver=solver).fit(table, [0, 1, 0, 1]).infinite_


def test_a_budget_that_is_too_small_is_told():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps.*max_iter=1"):
        clf = LogisticRegression(solver="newton", prior_variance=1.0, tol=1e-12, max_iter=1).fit(X, y)
    assert clf.n_iter_ == 1
    assert not clf.converged_
    assert clf.optimality_ > 1e-12 * clf.value_


@pytest.mark.parametrize(("solver", "most"), [("sgd", 10), ("batch", 1000), ("newton", 100)])
def test_max_iter_is_kept_by_every_solver(solver, most):
    X, y = problem()
    clf = LogisticRegression(solver=solver, prior_variance=None)
    assert clf.get_params()["max_iter"] is None
    assert clf._most_epochs == most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert clf.set_params(max_iter=3, tol=0.0, n_iter_no_change=100).fit(X, y).n_iter_ == 3
        assert clf.set_params(max_iter=None, tol=None, random_state=0).fit(X, y).n_iter_ <= most
    if solver == "sgd":
        assert clf.n_iter_ == most


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("scale", "weight", "variance", "message"),
    [
        (1e200, 1.0, None, "divide all of X by one factor"),
        (1.0, 1e308, 1.0, "row weights.*divide all of them by one factor"),
        (1.0, 1.0, 1e-320, "prior_variance=1e-320"),
    ],
)
def test_numbers_too_large_are_told_with_the_cure(solver, scale, weight, variance, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        LogisticRegression(solver=solver, prior_variance=variance).fit(X * scale, y, np.full(len(y), weight))


def test_a_row_of_weight_two_is_two_rows():
    X, y = problem(3)
    counts = np.arange(len(y)) % 3
    options = {"solver": "newton", "prior_variance": 1.0, "tol": 1e-12}
    weighted = LogisticRegression(**options).fit(X, y, sample_weight=counts)
    repeated = LogisticRegression(**options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("multi_class", ["auto", "ovr", "multinomial"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_warm_start_needs_no_more_steps(multi_class, classes):
    X, y = problem(classes)
    clf = LogisticRegression(multi_class=multi_class, warm_start=True).fit(X, y)
    first = clf.coef_
    assert clf.n_iter_ > 0
    clf.fit(X, y)
    assert clf.n_iter_ == 0
    np.testing.assert_allclose(clf.coef_, first, atol=1e-12)
    with pytest.raises(ValueError, match="warm_start: other features or classes"):
        clf.fit(X[:, :3], y)
    assert clf.n_features_in_ == 4
    with pytest.raises(ValueError, match="warm_start: other features or classes"):
        clf.fit(X, y + 1)


def test_sgd_goes_on_from_the_optimum_and_the_proof_is_gone():
    X, y = problem()
    clf = LogisticRegression(solver="newton", prior_variance=1.0, prior_rows=len(y), eta0=1e-6).fit(X, y)
    best = clf.coef_.copy()
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(ValueError, match='only solver="sgd" goes row by row'):
        clf.learn_one(X[0], y[0])
    assert clf.optimality_ is not None
    clf.set_params(solver="sgd").partial_fit(X, y)
    assert 0 < np.abs(clf.coef_ - best).max() < 1e-3
    assert not hasattr(clf, "optimality_")
    clf = LogisticRegression(solver="newton", prior_variance=1.0, prior_rows=len(y), eta0=1e-6).fit(X, y)
    clf.set_params(solver="sgd").learn_one(X[0], y[0])
    assert not hasattr(clf, "optimality_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "newton", "multi_class": "joint"}, 'takes "ovr" or "multinomial"'),
        ({"multi_class": "joint"}, "needs solver=\"sgd\": solver='auto' takes"),
        ({"solver": "sgd", "multi_class": "multinomial"}, '"sgd" takes "ovr" or "joint"'),
        ({"solver": "sgd", "penalize_intercept": False, "prior_variance": 1.0}, "holds the bias too"),
        ({"solver": "newton", "prior_variance": 0.0}, "prior_variance"),
        ({"solver": "newton", "max_iter": 0}, "max_iter"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**parameters).fit(X, y)


def test_a_model_keeps_its_proof(tmp_path):
    X, y = problem(3)
    clf = LogisticRegression(solver="newton", prior_variance=1.0, multi_class="multinomial").fit(X, y)
    linsep.save(clf, tmp_path / "model.linsep")
    for again in (linsep.load(tmp_path / "model.linsep"), pickle.loads(pickle.dumps(clf))):
        assert again.optimality_ == clf.optimality_
        assert again.history_ == clf.history_
        assert again.infinite_ is False
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize("solver", ["newton", "batch"])
def test_a_class_that_can_be_separated_does_not_stop_the_others(solver):
    """Each class of one-vs-rest is what it is alone."""
    X, y = load_iris(return_X_y=True)
    options = {"solver": solver, "multi_class": "ovr", "prior_variance": None, "max_iter": 200}
    clf = LogisticRegression(**options)
    with pytest.warns(ConvergenceWarning, match="a line separates some class"):
        clf.fit(X, y)
    for k in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            alone = LogisticRegression(**options).fit(X, y == k)
        np.testing.assert_array_equal(clf.coef_[k], alone.coef_[0])
    assert clf.score(X, y) > 0.8


def test_a_stop_far_from_the_optimum_is_told():
    X, y = [[1e8, 1], [2e8, 3], [3e8, 1], [1.5e8, 0]], [0, 1, 0, 1]
    with pytest.warns(ConvergenceWarning, match="bring the columns to one scale"):
        LogisticRegression(solver="batch", prior_variance=1.0).fit(X, y)


def test_row_by_row_continues_from_the_optimum_also_with_an_average():
    """The optimum counts as one round of the average."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    last, average = (LogisticRegression(readout=readout).fit(X, y) for readout in ("last", "average"))
    assert average.coef_.tolist() == last.coef_.tolist()
    at_start, start = average.coef_, np.append(last.coef_, last.intercept_[:, None], axis=1)
    weights = [start]
    for x, label in zip(X[:3], y[:3], strict=True):
        weights.append(np.append(last.coef_, last.intercept_[:, None], axis=1))
        last.partial_fit(x[None], [label])
    average.partial_fit(X[:3], y[:3])
    found = np.append(average.coef_, average.intercept_[:, None], axis=1)
    np.testing.assert_allclose(found, np.mean(weights, axis=0), rtol=1e-12)
    assert average.coef_.tolist() != at_start.tolist()


def test_warm_start_after_sparsify():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 3, 40)
    X[:, 2] = 0
    learner = LogisticRegression(warm_start=True).fit(X, y)
    weights = learner.coef_
    again = learner.sparsify().fit(X, y)
    np.testing.assert_allclose(again.coef_, weights, rtol=1e-6, atol=1e-9)
    assert again.n_iter_ <= 1


def rare_classes(kind):
    """Return rows of rare classes, nearly separable, on which f is flat in some directions."""
    rng = np.random.default_rng(0)
    if kind == "one-hot":  # three weights of four are needed for each group of columns
        X = np.eye(4)[rng.integers(0, 4, (600, 60))].reshape(600, 240)
        return X, rng.choice(12, 600, p=2.0 ** -np.arange(12) / np.sum(2.0 ** -np.arange(12)))
    if kind == "separable":
        y = rng.choice(26, 2000, p=np.arange(1, 27) ** -1.5 / np.sum(np.arange(1, 27) ** -1.5))
        return rng.integers(0, 16, (26, 16))[y] + 1.5 * rng.normal(size=(2000, 16)), y
    groups, numbers = rng.choice(40, 3000, p=np.arange(1, 41) ** -1.3 / np.sum(np.arange(1, 41) ** -1.3)), np.eye(40)
    Z = rng.gamma(2, 1, size=(3000, 10))
    scores = (Z - 2) @ rng.normal(size=(10, 7)) + 4 * rng.normal(size=(40, 7))[groups] + rng.gumbel(size=(3000, 7))
    y = np.argmax(scores + np.log([0.37, 0.485, 0.06, 0.005, 0.016, 0.03, 0.034]), axis=1)
    return np.hstack([100 * Z, numbers[groups]]), y


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one-hot", "separable", "groups"])
def test_without_a_prior_newton_comes_near_the_infimum_on_rare_classes(kind):
    X, y = rare_classes(kind)
    clf = LogisticRegression(solver="newton", multi_class="multinomial", prior_variance=None)
    with pytest.warns(ConvergenceWarning, match="no optimum on these data.*where steps gain next to nothing"):
        clf.fit(X, y)
    wide = LogisticRegression(solver="newton", prior_variance=1e4, tol=1e-3).fit(X / X.max(axis=0), y)
    assert clf.value_ <= 1.001 * wide.value_ + 1e-4 * len(y) * np.log(len(clf.classes_))
    assert clf.score(X, y) >= wide.score(X, y) - 0.002
    assert clf.n_iter_ <= 60
