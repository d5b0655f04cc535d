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

from linsep import compat

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


def comparable(parameters, kind):
    """On sparse rows scikit-learn stops by the norm of the last row's weights alone: compare the same epochs."""
    penalized = parameters.get("penalty", "l2")
    return parameters | {"tol": None, "max_iter": 12} if kind is sp.csr_array and penalized else parameters


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
    assert_same(*both(name, {"random_state": 3, **comparable(parameters, kind)}, kind(X), y))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("name", "parameters"), [case for case in CASES if "Regressor" not in case[0]])
def test_several_classes_have_the_weights_of_scikit_learn_in_the_same_order(name, parameters, kind):
    X, y = problem(classes=4)
    parameters = {key: value for key, value in parameters.items() if key != "class_weight"}
    assert_same(*both(name, {"shuffle": False, **comparable(parameters, kind)}, kind(X), y))


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
    one, two = (compat.SGDClassifier(random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_what_is_missing_is_refused_by_name():
    X, y = problem()
    for parameters, words in (
        ({"penalty": "l1"}, "penalty='l1' is not in linsep: use penalty='l2' or None"),
        ({"penalty": "elasticnet"}, "penalty='elasticnet' is not in linsep"),
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
    with pytest.warns(ConvergenceWarning):
        compat.SGDClassifier(max_iter=1).fit(X, y)
