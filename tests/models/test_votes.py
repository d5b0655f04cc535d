"""Voted and kernel perceptrons in files: every readout is there to the bit, and training goes on as in one run."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline

from linsep import CalibratedClassifier, KernelPerceptron, ModelError, VotedPerceptron, load, rules, save
from linsep.engine.step import takes_weights
from linsep.training import state
from linsep.transforms import Scale
from tests.contracts.table import log, problem, quiet
from tests.estimators.readouts import FORMS, portrait, same_answers

KINDS = {"voted": VotedPerceptron, "kernel": KernelPerceptron}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_form = pytest.mark.parametrize(
    ("classes", "multi_class"), FORMS.values(), ids=[name.replace(" ", "-") for name in FORMS]
)
every_table = pytest.mark.parametrize("table", [np.array, csr_array], ids=["dense", "sparse"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.linsep"


def again(model, path, **more):
    save(model, path)
    return load(path, **more)


def file_of(model, path):
    """All that a model is, as the bytes of its file."""
    save(model, path)
    return path.read_bytes()


def same(a, b, path):
    """All that two models are, to the last bit of their files."""
    assert file_of(a, path) == file_of(b, path)


def squared(A, B):
    return (A @ B.T) ** 2


@pytest.mark.slow
@every_kind
@every_form
@every_table
@pytest.mark.parametrize("weighted", [False, True], ids=["once", "weighted"])
def test_streams_go_on_as_in_one_run(kind, classes, multi_class, table, weighted, path):
    X, y = problem(classes, reals=True)
    how = {"sample_weight": np.resize([0.5, 2.0, 0.0, 1.5], 40)} if weighted else {}
    first = kind(multi_class=multi_class, random_state=0)

    def learn(model, part):
        own = {name: of[part] for name, of in how.items()}
        return model.partial_fit(table(X[part]), y[part], classes=range(classes), **own)

    second = again(learn(first, slice(25)), path)
    same(first, second, path)
    same_answers(portrait(second, table(X)), portrait(first, table(X)))
    for model in (first, second):
        learn(model, slice(25, None))
    same(first, second, path)
    same_answers(portrait(second, table(X)), portrait(first, table(X)))
    assert log(second) == log(first)


@every_kind
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("weighted", [False, True], ids=["once", "weighted"])
def test_labels_that_come_late_come_after_loading_too(kind, multi_class, weighted, path):
    X, y = problem(4)
    known = np.array(["b", "d", "c", "a"])
    y[:20] = np.minimum(y[:20], 1)
    weights = np.arange(40) % 3 + 0.5 if weighted else np.ones(40)
    first = kind(multi_class=multi_class, random_state=0)
    first.partial_fit(X[:20], known[y[:20]], sample_weight=weights[:20] if weighted else None)
    second = again(first, path)
    for model in (first, second):
        model.partial_fit(X[20:], known[y[20:]], sample_weight=weights[20:])
    same(first, second, path)
    same_answers(portrait(second, X), portrait(first, X))


@pytest.mark.slow
@every_kind
@every_table
@pytest.mark.parametrize("shuffle", [True, "once", "blocks", False])
@pytest.mark.parametrize("weighted", [False, True], ids=["once", "weighted"])
def test_epochs_go_on_as_in_one_run(kind, table, shuffle, weighted, path):
    X, y = problem(3, reals=True, noise=0.4)
    own = {"sample_weight": np.arange(40) % 3} if weighted else {}
    how = {"shuffle": shuffle, "random_state": 4}
    first = quiet(kind(max_iter=2, warm_start=True, **how).fit, table(X), y, **own)
    second = again(first, path)
    assert second.get_params() == first.get_params()
    for model in (first, second):
        quiet(model.fit, table(X), y, **own)
    same(first, second, path)
    at_once = quiet(kind(max_iter=4, **how).fit, table(X), y, **own)
    same_answers(portrait(second, table(X)), portrait(at_once, table(X)))
    assert log(second) == log(at_once)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_epochs_of_many_rows_and_features_go_on_as_in_one_run(kernel, path):
    """More rows than are learned in one block, and a rule whose every step tells the last bit of the score."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(600, 90)), rng.integers(0, 2, 600)
    how = {"kernel": kernel, "random_state": 0, "rule": rules.PassiveAggressiveI(0.1), "cache_size": 0.0}
    first = quiet(KernelPerceptron(max_iter=1, warm_start=True, **how).fit, X, y)
    second = quiet(again(first, path).fit, X, y)
    same(quiet(first.fit, X, y), second, path)
    at_once = quiet(KernelPerceptron(max_iter=2, **how).fit, X, y)
    assert at_once.n_support_ > 512
    assert log(second) == log(at_once)


@every_kind
def test_single_rows_go_on_with_their_names(kind, path):
    first = kind(random_state=0)
    for row in [({"a": 1.0}, "x"), ({"b": 2.0, "a": -1.0}, "y"), ({"c": 0.5}, "z"), ({"a": 1.0, "d": 1.0}, "x")]:
        first.learn_one(*row)
    second = again(first, path)
    for model in (first, second):
        model.learn_one({"e": 1.0, "b": 1.0}, "w").learn_one({"e": -1.0}, "x")
    same(first, second, path)
    assert second.feature_names_in_.tolist() == list("abcde")
    assert second.predict_one({"b": 3.0}) == first.predict_one({"b": 3.0})


def test_a_row_that_weighs_nothing_is_all_there_was(path):
    """Nothing was kept yet."""
    first = VotedPerceptron(class_weight={"x": 0.0}, random_state=0).learn_one({"a": 1.0}, "x")
    second = again(first, path)
    for model in (first, second):
        model.learn_one({"a": 1.0}, "y").learn_one({"b": 1.0}, "z")
    same(first, second, path)
    assert second.t_ == 2


@pytest.mark.parametrize("weighted", [False, True], ids=["once", "weighted"])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@every_table
def test_what_was_forgotten_stays_so(table, multi_class, weighted, path):
    X, y = problem(3, n=80, reals=True, noise=0.4)
    y[:50] = np.minimum(y[:50], 1)
    weights = np.arange(80) % 3 + 0.5 if weighted else None
    first = VotedPerceptron(max_support=7, when_full="forget", multi_class=multi_class, random_state=0)
    first.partial_fit(table(X[:50]), y[:50], sample_weight=None if weights is None else weights[:50])
    assert first._state.history.begin > 0
    second = again(first, path)
    same_answers(portrait(second, X), portrait(first, X))
    for model in (first, second):
        model.partial_fit(table(X[50:]), y[50:], sample_weight=None if weights is None else weights[50:])
        assert model.n_support_ <= 7
        with pytest.raises(AttributeError, match="rows were forgotten"):
            _ = model.log_
    same(first, second, path)
    same_answers(portrait(second, X), portrait(first, X))


@every_kind
def test_a_cap_holds_after_loading(kind, path):
    X, y = problem(n=80, noise=0.4)
    model = again(kind(max_support=15).partial_fit(X[:10], y[:10], classes=[0, 1]), path)
    whole = file_of(model, path)
    with pytest.raises(ValueError, match="max_support=15"):
        model.partial_fit(X[10:], y[10:])
    assert file_of(model, path) == whole


@every_kind
def test_random_answers_are_drawn_on_from_where_they_were(kind, path):
    X, y = problem(3, n=60, noise=0.4)
    first = quiet(kind(readout="random", random_state=3, max_iter=2).fit, X, y)
    first.predict(X[:11])
    second = again(first, path)
    assert second.draws_ == first.draws_ == 11
    drawn = [model.decision_function(X) for model in (first, second)]
    assert np.array_equal(*drawn)
    assert not np.array_equal(first.decision_function(X), drawn[0])
    assert not np.array_equal(load(path).decision_function(X[:20]), drawn[0][20:40])
    readings = [model.readings(X, [20, 70]).scores for model in (first, again(first, path))]
    same_answers(*readings)


@every_kind
def test_a_readout_is_chosen_after_loading(kind, path):
    X, y = problem(3, noise=0.3)
    first = quiet(kind(readout="longest", normalize=True, random_state=0).fit, X, y)
    second = again(first, path)
    assert (second.readout, second.normalize) == ("longest", True)
    for readout in ("vote", "plurality", "average", "last"):
        expected = first.set_params(readout=readout, normalize=False).decision_function(X)
        assert np.array_equal(second.set_params(readout=readout, normalize=False).decision_function(X), expected)
    third = again(second.set_params(readout="average"), path)
    assert np.array_equal(third.decision_function(X), first.set_params(readout="average").decision_function(X))


MATRIX = {
    "linear": {"kernel": "linear"}, "poly": {"degree": 3, "gamma": 0.5, "coef0": 2.0}, "rbf": {"kernel": "rbf"},
    "with a bias": {"kernel": "rbf", "gamma": 0.1, "fit_intercept": True, "intercept_scaling": 0.3},
    "numpy's numbers": {"degree": np.int64(3), "gamma": np.float32(0.1), "coef0": np.float64(0.1)},
    "a function": {"kernel": squared},
}  # fmt: skip


@pytest.mark.parametrize("name", MATRIX)
@every_table
def test_every_kernel(name, table, path):
    X, y = problem(3, reals=True, noise=0.3)
    first = quiet(KernelPerceptron(max_iter=2, warm_start=True, random_state=0, **MATRIX[name]).fit, table(X), y)
    second = again(first, path, kernels=[squared])
    assert second.get_params() == first.get_params()
    for model in (first, second):
        quiet(model.fit, table(X), y).partial_fit(table(-X), y)
    same(first, second, path)
    same_answers(portrait(second, table(X)), portrait(first, table(X)))


def test_a_matrix_of_kernel_values(path):
    X, y = problem(3, n=50, reals=True, noise=0.3)
    gram, asked = squared(X, X), squared(X[:7] / 2, X)
    first = quiet(KernelPerceptron(kernel="precomputed", max_iter=2, warm_start=True, random_state=0).fit, gram, y)
    second = again(first, path)
    same_answers(portrait(second, asked), portrait(first, asked))
    for model in (first, second):
        quiet(model.fit, gram, y)
    same(first, second, path)
    with pytest.raises(ValueError, match="covers all rows"):
        second.partial_fit(gram, y)


@pytest.mark.parametrize("kernel", ["poly", "rbf", "precomputed", squared])
def test_a_kernel_that_was_changed_after_training_answers_as_it_did(kernel, path):
    """Parameters say how to train; the kernel that answers is the run's own."""
    X, y = problem(n=6)
    first = quiet(KernelPerceptron(random_state=0).fit, X, y).set_params(kernel=kernel, gamma=0.7, degree=3)
    second = again(first, path, kernels=[squared])
    assert second.get_params() == first.get_params()
    assert np.array_equal(second.decision_function(X), first.decision_function(X))
    if kernel != "precomputed":
        with pytest.raises(ValueError, match="another kernel"):
            second.partial_fit(X, y)


def test_a_function_is_saved_by_its_name(path):
    X, y = problem()
    save(quiet(KernelPerceptron(kernel=squared, random_state=0).fit, X, y), path)
    with pytest.raises(ModelError, match=r"its kernel squared is a function of your own: .* kernels=\[squared\]"):
        load(path)
    assert load(path, kernels=[squared]).kernel is squared
    path.unlink()
    for nameless in (lambda A, B: A @ B.T, partial(squared)):
        model = quiet(KernelPerceptron(kernel=nameless, random_state=0).fit, X, y)
        with pytest.raises(ValueError, match=r"its kernel is a function without a name .* with def to save it"):
            save(model, path)
    assert not path.exists()


class Margin(NamedTuple):
    want: float = 1.0

    def step(self, score, y, xx):
        return y if y * score <= self.want else 0.0


RULES = {
    "PA-I": rules.PassiveAggressiveI(0.1),
    "logistic": rules.Logistic(0.2, 0.5, 0.01),
    "ROMMA": rules.Romma(),
    "own": Margin(0.5),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_kind_of_rule(rule, classes, path, monkeypatch):
    if isinstance(rule, Margin):  # as plain Python, as one more rule is one more kernel
        for name in ("learn_rows", "learn_classes", "learn_pairs"):
            make = getattr(state, name)
            monkeypatch.setattr(state, name, lambda *kinds, make=make: make(*kinds).run_in_python)
    X, y = problem(classes, reals=True)
    first = quiet(KernelPerceptron(rule=rule, random_state=0).partial_fit, X[:20], y[:20], classes=range(classes))
    if isinstance(rule, Margin):
        save(first, path)
        with pytest.raises(ModelError, match=r"load it with rules=\[Margin\]"):
            load(path)
    second = again(first, path, rules=[Margin])
    assert second.rule == rule
    same_answers(portrait(second, X), portrait(first, X))
    for model in (first, second):
        weights = np.linspace(0.5, 2.0, 20) if takes_weights(type(rule)) else np.arange(20) % 2
        model.partial_fit(X[20:], y[20:], sample_weight=weights)
    same(first, second, path)
    same_answers(portrait(second, X), portrait(first, X))


@every_kind
def test_after_maps_and_under_probabilities(kind, path):
    X, y = problem(3, n=60)
    first = quiet(make_pipeline(Scale(), kind(random_state=0)).fit, X, y)
    second = again(first, path)
    assert np.array_equal(second.decision_function(X), first.decision_function(X))
    for how in ({"on": "progressive"}, {"on": "held-out", "cv": 3}, {"on": "progressive", "method": "isotonic"}):
        first = quiet(CalibratedClassifier(kind(random_state=0), **how).fit, X, y)
        second = again(first, path)
        for model in (first, second):
            model.partial_fit(X[:20], y[:20])
        assert np.array_equal(second.predict_proba(X), first.predict_proba(X))
        assert second.score(X, y) > 0.6
    ready = quiet(CalibratedClassifier(first.estimator_.set_params(readout="average"), on="prefit").fit, X, y)
    assert np.array_equal(again(ready, path).predict_proba(X), ready.predict_proba(X))


def test_a_function_under_probabilities(path):
    X, y = problem(n=60)
    first = quiet(CalibratedClassifier(KernelPerceptron(kernel=squared, random_state=0), cv=3).fit, X, y)
    second = again(first, path, kernels=[squared])
    assert second.estimator.kernel is second.estimator_.kernel is squared
    assert np.array_equal(second.predict_proba(X), first.predict_proba(X))


def test_weights_of_rounds_beyond_float64_are_not_learned():
    model = VotedPerceptron(random_state=0).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="sample weights add up to more than float64 holds: divide all by one factor"):
        model.partial_fit(np.zeros((3, 1)), [0, 0, 0], sample_weight=np.full(3, 1e308))
    assert model.t_ == 2
