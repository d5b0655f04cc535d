"""The weights are read-only, and set as a whole: by the setter and by `coef_init`."""

import numpy as np
import pytest
import scipy.sparse as sp

from linsep import (
    AveragedPerceptron,
    LeastSquaresRegression,
    LogisticRegression,
    NaiveBayes,
    PassiveAggressive,
    Pegasos,
    Perceptron,
    VotedPerceptron,
    Winnow,
)
from linsep.validation.errors import ParameterError
from tests.contracts.table import problem, quiet

LEARNERS = [Perceptron, AveragedPerceptron, PassiveAggressive, Pegasos]


def trained(learner, K, how="fit", **parameters):
    X, y = problem(K)
    clf = learner(random_state=0, **parameters)
    return quiet(clf.fit, X, y) if how == "fit" else clf.partial_fit(X, y, classes=None if how == "open" else range(K))


@pytest.mark.parametrize("learner", [*LEARNERS, Winnow, NaiveBayes, VotedPerceptron])
def test_arrays_of_weights_are_read_only(learner):
    X, y = problem(3)
    clf = quiet(learner().fit, abs(X) / abs(X).max(), y)
    clf.set_params(readout="last") if learner is VotedPerceptron else None
    for weights in (clf.coef_, clf.intercept_):
        with pytest.raises(ValueError, match="read-only"):
            weights[:] = 0


@pytest.mark.parametrize("y", [[1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]])
def test_arrays_of_a_regression_are_read_only(y):
    model = LeastSquaresRegression().fit([[1.0], [2.0]], y)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[:] = 0


@pytest.mark.parametrize("how", ["fit", "closed", "open"])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_that_are_set_predict_and_are_trained_further(learner, K, multi_class, how):
    (X, y), clf = problem(K), trained(learner, K, how, multi_class=multi_class)
    rng = np.random.default_rng(0)
    coef, biases = rng.normal(size=clf.coef_.shape), rng.normal(size=clf.intercept_.shape)
    before = clf.intercept_
    clf.coef_ = coef
    np.testing.assert_allclose(clf.coef_, coef)
    np.testing.assert_allclose(clf.intercept_, before)
    clf.intercept_ = biases
    np.testing.assert_allclose(clf.coef_, coef)
    np.testing.assert_allclose(clf.intercept_, biases)
    np.testing.assert_allclose(clf.decision_function(X), (X @ coef.T + biases).reshape(clf.decision_function(X).shape))
    assert clf.predict_one(X[0]) == clf.predict(X[:1])[0]
    clf.partial_fit(X, y)
    assert not np.allclose(clf.coef_, coef)
    with pytest.raises(AttributeError, match="the weights were set"):
        _ = clf.log_


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_fit_begins_with_given_weights(learner, K):
    X, y = problem(K)
    parameters = {"max_iter": 1, "shuffle": False}
    done, clf = trained(learner, K, **parameters), learner(**parameters)
    if learner in (Perceptron, PassiveAggressive):  # weights alone are where training stands
        quiet(clf.fit, X, y, coef_init=done.coef_, intercept_init=done.intercept_)
        np.testing.assert_allclose(clf.coef_, done.partial_fit(X, y).coef_)
    elif learner is AveragedPerceptron:
        quiet(clf.fit, X, y, coef_init=done.coef_ * 100)
        assert np.abs(clf.coef_).max() > np.abs(done.coef_).max()
    else:  # its first step forgets all weights
        quiet(clf.fit, X, y, coef_init=done.coef_)
    assert clf.t_ == len(X)


def test_two_steps_by_hand():
    clf = Perceptron(fit_intercept=False, max_iter=1, shuffle=False)
    quiet(clf.fit, [[1.0, 0.0], [0.0, 1.0]], [0, 1], coef_init=[[3.0, 5.0]])
    assert clf.coef_.tolist() == [[2.0, 5.0]]
    clf.coef_ = sp.csr_array([[1.0, -1.0]])
    assert clf.predict([[1.0, 0.0], [0.0, 1.0]]).tolist() == [1, 0]


def test_what_can_not_be_set_is_refused():
    X, y = problem(3)
    clf = trained(Perceptron, 3)
    before = clf.coef_.copy()
    for wrong in (before[:2], before[:, 1:], before * np.nan, "x"):
        with pytest.raises(ParameterError, match="coef_"):
            clf.coef_ = wrong
    with pytest.raises(ParameterError, match="warm_start"):
        clf.set_params(warm_start=True).fit(X, y, coef_init=before)
    with pytest.raises(ParameterError, match="has no bias"):
        trained(Perceptron, 3, fit_intercept=False).intercept_ = np.ones(3)
    with pytest.raises(AttributeError, match="functions of sums"):
        quiet(Winnow().fit, abs(X) / abs(X).max(), y).coef_ = before
    with pytest.raises(AttributeError, match="rows that are stored"):
        quiet(VotedPerceptron(readout="last").fit, X, y).coef_ = before
    with pytest.raises(AttributeError):
        NaiveBayes().fit(abs(X), y).coef_ = before
    assert clf.coef_.tolist() == before.tolist()
    newton = LogisticRegression(warm_start=True).fit(X, y)
    newton.coef_ = newton.coef_ * 2
    assert newton.fit(X, y).converged_


def test_weights_that_are_set_have_no_proof():
    X, y = problem(2)
    clf = quiet(LogisticRegression().fit, X, y)
    assert clf._facts.keys() <= vars(clf).keys()
    with pytest.raises(ParameterError):
        clf.coef_ = np.zeros((1, 99))
    assert clf._facts.keys() <= vars(clf).keys()
    clf.coef_ = np.zeros_like(clf.coef_)
    assert not clf._facts.keys() & vars(clf).keys()
    clf = quiet(LogisticRegression().fit, X, y)
    clf.intercept_ = [0.0]
    assert not hasattr(clf, "optimality_")
