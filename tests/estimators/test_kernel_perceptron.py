"""The kernel perceptron: the voted one in the kernel's space, and any rule on dual weights."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.sparse import csr_array

from linsep import KernelPerceptron, OnlineClassifier, VotedPerceptron, rules
from linsep.training import state as state
from linsep.transforms import Polynomial
from tests import voted_references as ref
from tests.estimators.readouts import (
    READOUTS,
    agree,
    all_answers,
    ask,
    codes_of,
    every_form,
    near_answers,
    portrait,
    same_answers,
    survival,
)
from tests.fits import fit, learner_order, logged
from tests.problems import integer_rows

few = settings(max_examples=20)
PERCEPTRON = rules.Perceptron()


def linear(A, B):
    return A @ B.T


def squares(A, B):
    return (1 + A @ B.T) ** 2


def gauss(A, B, gamma=0.25):
    return np.array([[np.exp(-gamma * np.sum((a - b) ** 2)) for b in B] for a in A])


KERNELS = {
    "linear": ({"kernel": "linear"}, linear),
    "poly": ({}, squares),
    "cubic": ({"degree": 3, "gamma": 0.5, "coef0": 2.0}, lambda A, B: (2 + A @ B.T / 2) ** 3),
    "rbf": ({"kernel": "rbf"}, gauss),
    "wide rbf": ({"kernel": "rbf", "gamma": 0.01}, lambda A, B: gauss(A, B, 0.01)),
    "callable": ({"kernel": lambda A, B: (A @ B.T) ** 3}, lambda A, B: (A @ B.T) ** 3),
}


def build(**more):
    return KernelPerceptron(**{"max_iter": 3, "random_state": 0, "log": True} | more)


def some(classes, n=50, p=4, reals=False):
    """Rows whose labels depend on squares; the default gamma of an RBF kernel is 1/4 for their four features."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, p)) if reals else rng.integers(-3, 4, (n, p)).astype(float)
    size = np.sum(X[:, :2] ** 2, axis=1)
    codes = np.digitize(size, np.quantile(size, np.arange(1, classes) / classes))
    codes[:classes] = range(classes)
    return X, codes


def naive(learner, gram, codes, rule=PERCEPTRON, weights=None):
    pair = learner.multi_class == "joint"
    run = ref.dual_pairs if pair else ref.dual
    order = learner_order(learner, len(gram))
    return ref.trained(run, gram, codes, order, rule, pair=pair, weights=weights)


@every_form
@few
@given(problem=integer_rows())
def test_integers_in_the_kernels_space_are_exact(classes, multi_class, problem):
    """Degree 2 on small integers: every kernel is an integer, and so is every score."""
    X, y = problem
    codes = codes_of(y, 2) if classes == 2 else np.resize([0, 1, 2], len(X))
    assume(len(set(codes)) == classes)
    learner = fit(build(multi_class=multi_class), X, codes)
    asked = np.vstack([X, -X, 0 * X[:1]])
    agree(learner, naive(learner, squares(X, X), codes), asked, squares(X, asked), squares(X, X), normalized=1e-11)


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_every_kernel_is_its_matrix(kernel, classes, multi_class, beta):
    """The bias is a constant in the kernel's space: it adds its square to the kernel."""
    X, codes = some(classes, reals=True)
    parameters, by_hand = KERNELS[kernel]
    own = {"multi_class": multi_class, "fit_intercept": beta > 0, "intercept_scaling": beta or 1.0} | parameters
    learner = fit(build(**own), X, codes)
    gram, asked = by_hand(X, X) + beta**2, np.vstack([X[:20] / 2, np.eye(4)])
    machines = naive(learner, gram, codes)
    agree(learner, machines, asked, by_hand(X, asked) + beta**2, gram, 1e-10, 1e-8)


@pytest.mark.slow
@every_form
@few
@given(problem=integer_rows())
def test_the_linear_kernel_is_the_voted_perceptron_to_the_last_bit(classes, multi_class, problem):
    X, y = problem
    codes = codes_of(y, 2) if classes == 2 else np.resize([0, 1, 2], len(X))
    assume(len(set(codes)) == classes)
    own = {"multi_class": multi_class, "fit_intercept": True, "intercept_scaling": 2.0, "max_iter": 3, "log": True}
    dual = fit(KernelPerceptron(kernel="linear", random_state=5, **own), X, codes)
    primal = fit(VotedPerceptron(random_state=5, **own), X, codes)
    assert logged(dual) == logged(primal)
    asked = np.vstack([X, 3 - X])
    for readout in ("vote", "last", "longest", "plurality", "random"):
        assert np.array_equal(ask(dual, asked, readout), ask(primal, asked, readout)), readout
    for readout, normalize in READOUTS:
        np.testing.assert_allclose(
            ask(dual, asked, readout, normalize), ask(primal, asked, readout, normalize), atol=1e-12
        )
    assert np.array_equal(dual.mistakes_, primal.mistakes_)
    assert np.array_equal(dual.support_, primal.support_)
    assert all(np.array_equal(a, b) for a, b in zip(survival(dual), survival(primal), strict=True))


@pytest.mark.parametrize("classes", [2, 3])
def test_degree_two_is_linear_in_the_products_of_features(classes):
    """(2 + x.y)² = 4 + 4 x.y + (x.y)²: a bias of 2, the features twice as large, and all products, x_i x_j twice."""
    X, codes = some(classes)
    products = Polynomial(2).fit(X)

    def mapped(rows):
        table, names = products.transform(rows), products.get_feature_names_out()
        mixed = [k for k, name in enumerate(names) if " " in name]
        assert len(mixed) == 6
        return np.hstack([2 * table[:, :4], table[:, 4:], table[:, mixed]])

    assert np.array_equal(mapped(X) @ mapped(X).T + 4, (2 + X @ X.T) ** 2)
    own = {"max_iter": 3, "random_state": 2, "log": True}
    dual = fit(KernelPerceptron(degree=2, coef0=2.0, **own), X, codes)
    primal = fit(VotedPerceptron(intercept_scaling=2.0, **own), mapped(X), codes)
    assert logged(dual) == logged(primal)
    assert np.array_equal(dual.support_, primal.support_)
    asked = some(classes, n=90)[0]
    for readout, normalize in READOUTS:
        own, other = ask(dual, asked, readout, normalize), ask(primal, mapped(asked), readout, normalize)
        np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)
    assert np.array_equal(ask(dual, asked, "vote"), ask(primal, mapped(asked), "vote"))


@every_form
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_named_callable_and_precomputed_kernels_are_one(kernel, classes, multi_class):
    X, codes = some(classes)
    parameters, by_hand = KERNELS[kernel]
    asked = some(classes, n=80)[0][50:]
    own = {"multi_class": multi_class, "fit_intercept": True}
    named = fit(build(**own, **parameters), X, codes)
    called = fit(build(**own, kernel=by_hand), X, codes)
    given = fit(build(**own, kernel="precomputed"), by_hand(X, X), codes)
    assert logged(named) == logged(called) == logged(given)
    for name, expected in all_answers(named, asked).items():
        tolerance = 1e-10 * max(1, np.abs(expected).max())
        np.testing.assert_allclose(ask(called, asked, *name), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(ask(given, by_hand(asked, X), *name), expected, rtol=0, atol=tolerance)


RULES = {
    "PA": rules.PassiveAggressive(),
    "PA-I": rules.PassiveAggressiveI(0.1),
    "PA-II": rules.PassiveAggressiveII(0.1),
    "logistic": rules.Logistic(0.2, 0.5, 0.01),
    "ROMMA": rules.Romma(),
    "aggressive ROMMA": rules.AggressiveRomma(),
    "Pegasos": rules.Hinge(0.1),
    "Widrow-Hoff": rules.WidrowHoff(0.01),
}
COMPILED = ["PA-I", "logistic", "ROMMA"]


@pytest.fixture(params=RULES)
def rule(request, monkeypatch):
    """A rule; all but a few are run as plain Python, as one more rule is one more kernel."""
    if request.param not in COMPILED:
        for name in ("learn_rows", "learn_classes", "learn_pairs"):
            make = getattr(state, name)
            monkeypatch.setattr(state, name, lambda *kinds, make=make: make(*kinds).run_in_python)
    return RULES[request.param]


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
@every_form
def test_every_rule_drives_dual_weights(rule, kernel, classes, multi_class):
    """In the order of this seed no margin is near 0 or 1, where a rule's formula jumps and rounding would decide."""
    X, codes = some(classes, n=30, reals=True)
    parameters, by_hand = KERNELS[kernel]
    learner = fit(build(rule=rule, max_iter=2, random_state=7, multi_class=multi_class, **parameters), X, codes)
    gram, asked = by_hand(X, X), X[:20] / 2
    agree(learner, naive(learner, gram, codes, rule), asked, by_hand(X, asked), gram, 1e-7, 1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", COMPILED)
def test_on_a_linear_kernel_a_rule_makes_the_primal_learners_mistakes(name, classes):
    """On rows that a plane through (almost) all of them separates: elsewhere ROMMA's weights grow without limit."""
    X = some(classes, n=40, reals=True)[0]
    codes = np.argmax(X[:, :classes], axis=1)
    own = {"max_iter": 3, "random_state": 1, "fit_intercept": True, "intercept_scaling": 1.0, "log": True}
    dual = fit(KernelPerceptron(kernel="linear", rule=RULES[name], **own), X, codes)
    primal = fit(OnlineClassifier(RULES[name], **own), X, codes)
    assert logged(dual) == logged(primal)
    assert np.array_equal(dual.mistakes_, primal.mistakes_)
    np.testing.assert_allclose(ask(dual, X, "last"), primal.decision_function(X), rtol=1e-8, atol=1e-8)


@every_form
@pytest.mark.parametrize("normalize", [False, True])
def test_dual_weights_of_linear_readouts(classes, multi_class, normalize):
    X, codes = some(classes)
    learner = fit(build(multi_class=multi_class, normalize=normalize), X, codes)
    for readout in ref.LINEAR:
        scores = ask(learner, X, readout, normalize)
        assert learner.dual_coef_.shape == (1 if classes == 2 else classes, learner.n_support_)
        by_weights = learner.dual_coef_ @ squares(X[learner.support_], X)
        np.testing.assert_allclose(
            by_weights.T.reshape(scores.shape), scores, rtol=0, atol=1e-11 * np.abs(scores).max()
        )
    for readout in ("vote", "random", "plurality"):
        learner.set_params(readout=readout)
        with pytest.raises(AttributeError, match=readout):
            _ = learner.dual_coef_
    assert not hasattr(learner, "coef_")


@every_form
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_dense_sparse_and_single_precision_are_one(kernel, classes, multi_class):
    X, codes = some(classes)
    own = {"multi_class": multi_class, **KERNELS[kernel][0]}
    dense, sparse, single = (build(**own) for _ in range(3))
    expected = all_answers(fit(dense, X, codes), X)
    found = [
        all_answers(fit(sparse, csr_array(X), codes), csr_array(X)),
        all_answers(dense, csr_array(X)),
        all_answers(sparse, X),
        all_answers(fit(single, X.astype(np.float32), codes), X.astype(np.float32)),
    ]
    assert np.array_equal(dense.mistakes_, sparse.mistakes_)
    for answers in found:
        if kernel == "rbf":
            assert all(np.allclose(answers[k], expected[k], rtol=0, atol=1e-10) for k in expected)
        else:
            near_answers(answers, expected)


@every_form
def test_threads_and_the_cache_change_no_bit(classes, multi_class):
    X, codes = some(classes, n=400, reals=True)
    one = fit(build(multi_class=multi_class, n_jobs=1), X[:200], codes[:200])
    expected = portrait(one, X)
    for other in ({"n_jobs": 2}, {"cache_size": 0.01}, {"cache_size": 0.0}, {"n_jobs": 2, "cache_size": 0.05}):
        same_answers(portrait(fit(build(multi_class=multi_class, **other), X[:200], codes[:200]), X), expected)


@pytest.mark.parametrize("shuffle", [True, False, "once"])
def test_the_order_of_the_rows(shuffle):
    X, codes = some(2)
    learner = fit(build(shuffle=shuffle, random_state=7), X, codes)
    epochs = [np.random.default_rng([7, 0 if shuffle == "once" else e]).permutation(50) for e in range(learner.n_iter_)]
    order = np.concatenate(epochs) if shuffle else np.tile(np.arange(50), learner.n_iter_)
    assert logged(learner) == ref.dual(squares(X, X), 2 * codes - 1, order, PERCEPTRON).mistakes


@every_form
@pytest.mark.parametrize("name", ["perceptron", "PA-I", "logistic"])
def test_sample_weights_multiply_steps_and_rounds(name, classes, multi_class):
    X, codes = some(classes, reals=True)
    rule, weights = RULES.get(name, PERCEPTRON), np.resize([0.0, 0.5, 2.0], 50)
    learner = fit(build(rule=rule, multi_class=multi_class), X, codes, sample_weight=weights)
    gram = squares(X, X)
    agree(learner, naive(learner, gram, codes, rule, weights), X, gram, gram, 1e-9, 1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_functions_of_sparse_rows_and_sparse_matrices(classes):
    """A function of sparse rows may return a sparse table; a matrix that was computed before may be sparse."""
    X, codes = some(classes)
    named = all_answers(fit(build(kernel="linear"), X, codes), X)
    near_answers(all_answers(fit(build(kernel=linear), csr_array(X), codes), csr_array(X)), named)
    gram = csr_array(linear(X, X))
    near_answers(all_answers(fit(build(kernel="precomputed"), gram, codes), gram), named)
