"""scikit-learn's stochastic estimators on linsep's engine: the same weights, parameters and errors."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep import compat
from linsep.engine.tiers import compiling

CASES = [
    ("Perceptron", {}),
    ("Perceptron", {"penalty": "l2", "eta0": 0.3}),
    ("SGDClassifier", {}),
    ("SGDClassifier", {"average": True}),
    ("SGDClassifier", {"average": 150, "max_iter": 3}),
    ("SGDClassifier", {"loss": "log_loss", "learning_rate": "invscaling", "eta0": 0.1, "class_weight": {1: 2.5}}),
    ("SGDClassifier", {"loss": "squared_hinge", "learning_rate": "adaptive", "eta0": 0.001}),
    ("SGDClassifier", {"loss": "modified_huber", "learning_rate": "constant"}),
    ("SGDClassifier", {"learning_rate": "pa1", "eta0": 0.5}),
    ("SGDClassifier", {"early_stopping": True, "random_state": 1, "penalty": None}),
    ("PassiveAggressiveClassifier", {"C": 0.1}),
    ("PassiveAggressiveClassifier", {"loss": "squared_hinge", "average": True}),
    ("SGDRegressor", {}),
    ("SGDRegressor", {"loss": "huber", "average": True}),
    ("SGDRegressor", {"loss": "epsilon_insensitive", "learning_rate": "pa2"}),
    ("SGDRegressor", {"loss": "huber", "early_stopping": True, "random_state": 2, "penalty": None}),
    ("PassiveAggressiveRegressor", {}),
    ("PassiveAggressiveRegressor", {"loss": "squared_epsilon_insensitive", "fit_intercept": False}),
]


def problem(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 6)) * (rng.random((90, 6)) < 0.7)
    return X, np.argmax(X[:, :classes] + 0.5 * rng.normal(size=(90, classes)), axis=1)


def both(name, parameters, X, y, **fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(linear_model, name)(**parameters).fit(X, y, **copy.deepcopy(fit))  # it writes to coef_init
        return theirs, getattr(compat, name)(**parameters).fit(X, y, **fit)


def assert_same(theirs, ours):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)
    assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)
    assert ours.coef_.shape == theirs.coef_.shape


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_two_classes_and_targets_have_the_weights_of_scikit_learn(name, parameters, kind):
    X, y = problem()
    assert_same(*both(name, {"random_state": 3, **parameters}, kind(X), y))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if "Regressor" not in case[0]])
def test_several_classes_have_the_weights_of_scikit_learn_in_the_same_order(name, parameters, kind):
    X, y = problem(classes=4)
    parameters = {key: value for key, value in parameters.items() if key != "class_weight"}
    assert_same(*both(name, {"shuffle": False, **parameters}, kind(X), y))


@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if not case[1].get("early_stopping")])
def test_blocks_of_a_stream_have_the_weights_of_scikit_learn(name, parameters):
    X, y = problem(classes=3 if "Regressor" not in name else 2)
    how = {} if "Regressor" in name else {"classes": np.unique(y)}
    # Averages of scikit-learn's classifiers lose the intercept between two calls: one call is the reference.
    whole = how and parameters.get("average")
    theirs = getattr(compat if whole else linear_model, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = theirs(shuffle=False, **parameters), getattr(compat, name)(shuffle=False, **parameters)
        for k in range(3):
            rows = slice(30 * k, 30 * k + 30)
            ours.partial_fit(X[rows], y[rows], **how)
            if not whole:
                theirs.partial_fit(X[rows], y[rows], **how)
        if whole:
            theirs.partial_fit(X, y, **how)
    assert_same(theirs, ours)


CLIPPED = [
    {"penalty": "l1", "alpha": 0.01},
    {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.6, "loss": "log_loss", "learning_rate": "constant"},
    {"penalty": "l1", "alpha": 0.02, "learning_rate": "pa1", "eta0": 0.5},
]


@pytest.mark.parametrize("parameters", CLIPPED)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_l1_penalties_give_the_weights_of_scikit_learn(parameters, classes, kind):
    X, y = problem(classes)
    theirs, ours = both("SGDClassifier", {"shuffle": False, "max_iter": 60, **parameters}, kind(X), y)
    assert_same(theirs, ours)
    assert np.array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    assert (ours.coef_ == 0).any() or parameters.get("learning_rate") == "pa1"


def clipped_by_hand(X, y, alpha, ratio, epochs):
    """Squared error at the rate 0.05, with a cumulative penalty: the last weights, and the mean of those of each round.

    The weights that a round pulls are those of the row's features; a dense row has all of them. Sparse rows move the
    intercept at a hundredth of the rate.
    """
    dense, slow = not sp.issparse(X), 0.01 if sp.issparse(X) else 1.0
    X = X if dense else X.toarray()
    w, moved, pull, b, rounds = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0, 0.0, []

    def pulled(w, moved, pull, where):
        new = np.where(w > 0, np.maximum(0, w - (pull + moved)), np.minimum(0, w + (pull - moved)))
        return np.where(where & (w != 0), new, w)

    for row, target in zip(np.tile(X, (epochs, 1)), np.tile(y, epochs), strict=True):
        miss = w @ row + b - target
        w = w * (1 - 0.05 * alpha * (1 - ratio)) - 0.05 * miss * row
        b -= 0.05 * slow * miss
        pull += 0.05 * alpha * ratio
        new = pulled(w, moved, pull, dense | (row != 0))
        moved += new - w
        w = new
        rounds.append([*w, b])
    return np.array(rounds[-1]), np.mean(rounds, axis=0)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("penalty", "ratio"), [("l1", 1.0), ("elasticnet", 0.4)])
def test_weights_under_an_l1_penalty_are_those_by_hand(penalty, ratio, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) * (rng.random((60, 9)) < 0.3) * 10.0 ** rng.integers(-2, 2, 9)
    X[7] = 0.0
    X[:, 4] = 0.0
    X[10:, 5] = 0.0
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=60)
    how = {"penalty": penalty, "alpha": 0.3, "l1_ratio": ratio, "tol": None, "shuffle": False}
    how |= {"learning_rate": "constant", "eta0": 0.05}
    last, mean = clipped_by_hand(kind(X), y, 0.3, ratio, 5)
    assert (last == 0).any()
    for average, expected in ((False, last), (True, mean)):
        model = compat.SGDRegressor(max_iter=5, average=average, **how).fit(kind(X), y)
        np.testing.assert_allclose([*model.coef_, *model.intercept_], expected, rtol=1e-9, atol=1e-12)
        assert average or np.array_equal(model.coef_ == 0, expected[:-1] == 0)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_l1_penalties_have_the_same_bits_in_compiled_code(kind):
    X, y = problem(classes=3)
    model = compat.SGDClassifier(**CLIPPED[0], random_state=0)
    found = []
    for tier in ("always", "never"):
        with compiling(tier):
            found.append([*model.fit(kind(X), y).coef_.ravel(), model.n_iter_])
    assert found[0] == found[1]


@pytest.mark.parametrize("how", [{"early_stopping": True}, {"class_weight": {0: 2.0}}, {"learning_rate": "adaptive"}])
def test_classes_that_train_alone_have_the_weights_of_scikit_learn(how):
    X, y = problem(classes=4)
    assert_same(*both("SGDClassifier", {"random_state": 2, "eta0": 0.1, "penalty": None, **how}, X, y))


@pytest.mark.parametrize("name", compat.__all__)
def test_parameters_and_defaults_are_those_of_scikit_learn(name):
    ours, theirs = (inspect.signature(getattr(home, name).__init__) for home in (compat, linear_model))
    assert {p.name: p.default for p in ours.parameters.values()} == {
        p.name: p.default for p in theirs.parameters.values()
    }
    X, y = problem()
    model = getattr(compat, name)(random_state=0).fit(X, y)
    again = clone(model).fit(X, y)
    assert np.array_equal(model.coef_, again.coef_)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("name", compat.__all__)
def test_weights_can_be_set_and_given_and_made_sparse(name):
    X, y = problem()
    theirs, ours = both(name, {"random_state": 0, "max_iter": 2, "tol": None}, X, y)
    start = {"coef_init": 0.5 * theirs.coef_, "intercept_init": theirs.intercept_ + 1}
    assert_same(*both(name, {"random_state": 0, "max_iter": 2, "tol": None}, X, y, **start))
    ours.warm_start = theirs.warm_start = True
    assert_same(theirs.fit(X, y), ours.fit(X, y))
    ours.coef_[..., 0] = 0.0
    ours.intercept_ = ours.intercept_ + 1
    scores = X @ ours.coef_.ravel() + ours.intercept_
    predicted = ours.predict(X) if "Regressor" in name else ours.decision_function(X)
    np.testing.assert_allclose(predicted, scores)
    assert sp.issparse(ours.sparsify().coef_)
    np.testing.assert_allclose(ours.predict(X), scores if "Regressor" in name else scores > 0)
    assert isinstance(ours.densify().coef_, np.ndarray)


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(loss, classes):
    X, y = problem(classes)
    theirs, ours = both("SGDClassifier", {"loss": loss, "shuffle": False, "learning_rate": "constant"}, X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert not hasattr(compat.SGDClassifier(), "predict_proba")


def test_threads_change_no_bit():
    X, y = problem(classes=5)
    for penalty in ("l2", "l1"):
        one, two = (compat.SGDClassifier(penalty=penalty, random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
        assert np.array_equal(one.coef_, two.coef_)


def test_what_is_missing_is_refused_by_name():
    X, y = problem()
    for parameters, words in (
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
        ({"loss": "squared_hinge", "learning_rate": "pa1"}, "is for the loss 'hinge' alone"),
        ({"alpha": 0.0}, "alpha=0"),
        ({"loss": "hinges"}, "loss"),
    ):
        with pytest.raises(ValueError, match=words):
            compat.SGDClassifier(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="classes must be passed"):
        compat.SGDClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="early_stopping should be False"):
        compat.SGDClassifier(early_stopping=True).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="coef_init does not match dataset"):
        compat.SGDClassifier().fit(X, y, coef_init=np.zeros(5))
    with pytest.raises(ValueError, match="occurred at epoch #1"):
        compat.SGDRegressor(learning_rate="constant", eta0=1e200).fit(1e100 * X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        compat.SGDClassifier().partial_fit(X, y, classes=[0, 1]).partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="SGDClassifier is none of these: pickle it, use export_onnx"):
        linsep.save(compat.SGDClassifier().fit(X, y), "model.linsep")
    with pytest.warns(ConvergenceWarning):
        compat.SGDClassifier(max_iter=1).fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_c_may_be_infinite(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y, how = X[:, 0] > 0, {"C": np.inf, "loss": loss, "shuffle": False, "max_iter": 2, "tol": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = linear_model.PassiveAggressiveClassifier(**how).fit(X, y)
    np.testing.assert_allclose(compat.PassiveAggressiveClassifier(**how).fit(X, y).coef_, theirs.coef_)
