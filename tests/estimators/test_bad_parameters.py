"""Bad parameters and rules: what has no meaning is refused by name."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import LEARNERS, BalancedWinnow, LogisticRegression, OnlineClassifier, Perceptron, Winnow, rules
from linsep.engine.step import promises
from tests.contracts.table import every_learner, problem, quiet, state

X, y = np.sign(problem(n=12, p=3)[0]), problem(n=12, p=3)[1]

both_winnows = pytest.mark.parametrize("kind", [Winnow, BalancedWinnow])
each_link = pytest.mark.parametrize("link", ["exponential", "sinh", "p-norm"])


class Nothing(NamedTuple):
    """A step that is never a number."""

    def step(self, score, y, xx):
        return y * np.nan


class Stepless(NamedTuple):
    C: float = 1.0


class Short(NamedTuple):
    def step(self, score):
        return 1.0


class Undefined(NamedTuple):
    def step(self, score, y, xx):
        loss = 1 - y * score
        return y * no_such_function(loss)  # noqa: F821


class Mistyped(NamedTuple):
    def step(self, score, y, xx):
        loss = 1 - y * score
        return loss + "a"


class Sometimes(NamedTuple):
    def step(self, score, y, xx):
        if score > 0:
            return 1.0
        return None


class TwoForOne(NamedTuple):
    def step(self, score, y, xx):
        return 1.0, y


class OneForTwo(NamedTuple):
    def step(self, score, y, xx, ww, t):
        return y


class Worded(NamedTuple):
    how: str = "fast"

    def step(self, score, y, xx):
        return y


class Untupled:
    def step(self, score, y, xx):
        return y


@promises(reads="sign")
class SignShrinking(NamedTuple):
    def step(self, score, y, xx, ww, t):
        return 0.5, y if y * score <= 0 else 0.0


RULES = {
    "a class": (Nothing, TypeError, r"an instance, not a class: write Nothing\(\) instead of Nothing"),
    "no step": (Stepless(), (TypeError, ValueError), "step"),
    "a number": (3, (TypeError, ValueError), "step"),
    "too few arguments": (Short(), TypeError, r"Short.step takes \(self, score\).*takes \(self, score, y, xx\)"),
    "no tuple": (Untupled(), TypeError, "NamedTuple with a method `step`; got Untupled"),
    "a word for a parameter": (Worded(), TypeError, "Worded.how is 'fast'; a rule's parameters are numbers"),
    "an undefined name": (Undefined(), TypeError, "(?s)Undefined.step can't be compiled.*no_such_function"),
    "a type error": (Mistyped(), TypeError, r"(?s)Mistyped.step can't be compiled.*test_bad_parameters.py.*, line \d+"),
    "no number on some path": (
        Sometimes(),
        TypeError,
        "Sometimes.step returns .*must .*number.*on every path",
    ),
    "a pair for an amount": (TwoForOne(), TypeError, "TwoForOne.step returns .*must return .*a number"),
    "an amount for a pair": (OneForTwo(), TypeError, r"OneForTwo.step returns .*must return a pair \(keep, amount\)"),
}


@pytest.mark.parametrize("case", RULES)
def test_rules_that_are_none(case):
    rule, error, reason = RULES[case]
    for method in (OnlineClassifier(rule).fit, OnlineClassifier(rule).partial_fit):
        with pytest.raises(error, match=reason):
            method(X, y)
    with pytest.raises(error, match=reason):
        OnlineClassifier(rule).learn_one(X[0], 1)


@pytest.mark.parametrize(
    ("rule", "line"),
    [(Mistyped(), 'return loss + "a"'), (Undefined(), "return y * no_such_function(loss)")],
)
def test_a_rule_that_cannot_compile_shows_the_line_at_fault(rule, line):
    with pytest.raises(TypeError) as caught:
        OnlineClassifier(rule).fit(X, y)
    assert line in str(caught.value)
    assert __file__ in str(caught.value)


def test_a_step_that_is_no_number():
    """On many rows of a rule whose parameter is none: its passes are compiled anyway. A single row of a user's own."""
    rule, name = rules.PassiveAggressiveII(float("nan")), "rule PassiveAggressiveII"
    for data in (X, csr_array(X)):
        with pytest.raises(ValueError, match=f"{name} gave a step that is not a finite number at row 0"):
            OnlineClassifier(rule, shuffle=False).fit(data, y)
    learner = OnlineClassifier(Nothing())
    with pytest.raises(ValueError, match="rule Nothing gave a step that is not a finite number"):
        learner.learn_one(X[0], 1)


@each_link
@pytest.mark.parametrize("rule", [rules.PassiveAggressiveI(), rules.Romma(), rules.Logistic(), rules.Hinge()])
def test_value_rules_need_scores_that_have_a_value(link, rule):
    name = type(rule).__name__
    reason = f"rule {name} uses the score's value, and {link} scores are known only up to a positive factor: use link="
    for method in (OnlineClassifier(rule, link=link).fit, OnlineClassifier(rule, link=link).partial_fit):
        with pytest.raises(ValueError, match=reason):
            method(X, y)


@each_link
def test_a_rule_that_shrinks_needs_additive_weights(link):
    """Even one that reads nothing but the sign."""
    with pytest.raises(ValueError, match=r"SignShrinking.*shrink|shrink.*SignShrinking"):
        quiet(OnlineClassifier(SignShrinking(), link=link).fit, X, y)


@each_link
def test_averages_need_additive_weights(link):
    with pytest.raises(ValueError, match=f'readout="average" needs link="additive": {link} weights'):
        OnlineClassifier(rules.Perceptron(), link=link, readout="average").fit(X, y)


@both_winnows
def test_entries_beyond_x_max_are_named(kind):
    large = X.copy()
    large[5, 1] = -2.5
    for rows in (large, csr_array(large)):
        for method in (kind().fit, kind().partial_fit, kind(x_max=2.0).fit):
            with pytest.raises(ValueError, match=r"entry -2.5 \(row 5, column 1\), beyond x_max=\d: map X by Scale"):
                method(rows, y)
        quiet(kind(x_max=2.5).fit, rows, y)
        quiet(kind(x_max=None).fit, rows, y)


@both_winnows
def test_entries_beyond_x_max_are_refused_in_single_rows(kind):
    learner = kind().partial_fit(X, y)
    before = state(learner)
    with pytest.raises(ValueError, match=r"-2.5.*column 1.*x_max=1"):
        learner.learn_one([0.0, -2.5, 1.0], 1)
    assert state(learner) == before


@both_winnows
@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"delta": 0.0}, "'delta' parameter .* range .0.0, inf"),
        ({"delta": -0.5}, "'delta' parameter .* range .0.0, inf"),
        ({"delta": 1.0}, r"delta=1 is not a margin: it must lie in \(0, x_max\) = \(0, 1\)"),
        ({"delta": 3, "x_max": 2}, r"delta=3 is not a margin: it must lie in \(0, x_max\) = \(0, 2\)"),
        ({"delta": 0.5, "x_max": None}, "delta needs x_max"),
        ({"eta": 10.0, "delta": 0.5}, r"eta=10 with delta=0.5 gives no mistake bound: .*leave eta out .*0.549"),
        ({"eta": 0.0}, "'eta' parameter"),
        ({"eta": np.nan}, "'eta' parameter"),
        ({"x_max": 0.0}, "'x_max' parameter"),
    ],
)
def test_rates_without_a_bound(kind, own, reason):
    with pytest.raises(ValueError, match=reason):
        kind(**own).fit(X, y)
    with pytest.raises(ValueError, match=reason):
        kind(**own).partial_fit(X, y)


def test_winnow_without_a_bias_names_the_other_one():
    reason = "predicts .1 for all non-negative rows: set fit_intercept=True or BalancedWinnow"
    rows = np.abs(X)
    for data in (rows, csr_array(rows)):
        with pytest.warns(UserWarning, match=reason) as caught:
            quiet(Winnow(fit_intercept=False).fit, data, y)
        with pytest.warns(UserWarning, match=reason):
            Winnow(fit_intercept=False).partial_fit(data, y)
    assert any("BalancedWinnow" in str(w.message) for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(Winnow().fit, rows, y)
        quiet(Winnow(fit_intercept=False).fit, X, y)
        quiet(BalancedWinnow(fit_intercept=False).fit, rows, y)


SHARED = {
    "max_iter": 0,
    "tol": -1.0,
    "n_iter_no_change": 0,
    "shuffle": "twice",
    "random_state": "seed",
    "fit_intercept": "yes",
    "intercept_scaling": 0.0,
    "warm_start": "yes",
    "class_weight": "even",
    "multi_class": "ovo",
    "n_jobs": 1.5,
    "log": "never",
}


@every_learner
@pytest.mark.parametrize("parameter", SHARED)
def test_shared_parameters_out_of_range(name, parameter):
    learner = LEARNERS[name].learner(**{parameter: SHARED[parameter]})
    for method in (learner.fit, learner.partial_fit):
        with pytest.raises(ValueError, match=f"The '{parameter}' parameter of {type(learner).__name__} must be"):
            method(X, y)


def test_no_threads():
    with pytest.raises(ValueError, match="n_jobs == 0 has no meaning; use 1"):
        quiet(Perceptron(n_jobs=0).fit, X, y)


def test_a_prior_that_a_stream_cannot_share():
    with pytest.raises(ValueError, match="a stream has no known number of rows: set prior_rows"):
        LogisticRegression(prior_variance=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"eta0=0.1 is too large for prior_variance=1e-09 on 12 rows: .*use at most"):
        LogisticRegression(solver="sgd", prior_variance=1e-9).fit(X, y)
    LogisticRegression(prior_variance=1.0, prior_rows=100).partial_fit(X, y)


MOVED = {
    "a rule that shrinks": (rules.PassiveAggressiveI(1.0), {}, {"rule": rules.Romma()}),
    "a rule that needs the norm": (rules.Logistic(0.1, 0.0, 0.0), {}, {"rule": rules.Romma()}),
    "another link": (rules.Perceptron(), {"link": "exponential"}, {"link": "additive"}),
    "another form": (rules.Perceptron(), {"link": "exponential"}, {"link": "sinh"}),
    "another readout": (rules.Perceptron(), {}, {"readout": "average"}),
    "pairs": (rules.Perceptron(), {}, {"multi_class": "joint"}),
    "another bias": (rules.Perceptron(), {}, {"intercept_scaling": 2.0}),
    "no bias": (rules.Perceptron(), {}, {"fit_intercept": False}),
}


@pytest.mark.parametrize("case", MOVED)
def test_what_training_that_goes_on_can_not_follow(case):
    rule, first, then = MOVED[case]
    learner = OnlineClassifier(rule, **first).partial_fit(X, y)
    answers = learner.decision_function(X).tolist()
    learner.set_params(**then)
    before = state(learner)
    for go_on in (lambda: learner.partial_fit(X, y), lambda: learner.learn_one(X[0], 0)):
        with pytest.raises(ValueError, match="training can't resume with"):
            go_on()
        assert state(learner) | {"_changed": None} == before | {"_changed": None}
    assert learner.decision_function(X).tolist() == answers


def test_parameters_of_a_rule_may_be_numbers_of_numpy():
    for number in (np.float32(0.5), np.int64(1), np.float64(2.0)):
        quiet(OnlineClassifier(rules.PassiveAggressiveI(number)).fit, X, y)


def test_a_bias_beyond_x_max_voids_the_bound():
    with pytest.raises(ValueError, match=r"intercept_scaling=1 is beyond x_max=0.1.*set intercept_scaling=0.1"):
        Winnow(delta=0.05, x_max=0.1, intercept_scaling=1).fit(X / 10, y)


@pytest.mark.parametrize("kind", [Perceptron, Winnow, LogisticRegression])
def test_an_unknown_parameter_is_refused_by_the_learner_s_name(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__} has no parameter 'epochs'; its parameters are .*max_iter"):
        kind(epochs=3)
