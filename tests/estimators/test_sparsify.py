"""Weights without their zeros: the same bits in every answer, and training goes on as if nothing had been."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from linsep import BalancedWinnow, OnlineClassifier, Perceptron, PNormPerceptron, Winnow
from linsep.models.merge import merge
from linsep.models.named_weights import export_json
from linsep.models.onnx import export_onnx
from linsep.models.save_load import load, save
from linsep.rules import Perceptron as Rule
from linsep.training.scoring import KeptFeatures
from tests.contracts.table import ONLINE, answers, bits, build, quiet, state, trace

WIDTH = 200
every_learner = pytest.mark.parametrize("name", [name for name in ONLINE if name not in ("winnow", "voted-perceptron")])
machines = pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (2, "joint"), (3, "ovr"), (3, "joint")])


def problem(classes=3, n=40, seed=0, first=0, last=WIDTH):
    """Sparse rows of which the columns before `first` and from `last` on are empty, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, WIDTH)) * (rng.random((n, WIDTH)) < 0.03)
    X[:, :first] = X[:, last:] = 0
    X[rng.integers(0, n, 2)] = 0
    y = rng.integers(0, classes, n)
    y[:classes] = range(classes)
    return csr_array(X), y


def trained(name, classes=3, multi_class="ovr", **more):
    """A learner that has never seen most columns."""
    X, y = problem(classes, n=20, first=20, last=150)
    return build(name, multi_class=multi_class, **more).partial_fit(X, y, classes=range(classes))


def rows():
    """Rows in all their forms, with columns that were never seen."""
    X, _ = problem(n=60, seed=1)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    twice = csr_array((np.ones(6), [3, 30, 3, 140, 30, 199], [0, 5, 6]), shape=(2, WIDTH))
    back = csr_array((np.ones(6), [199, 140, 30, 29, 28, 0], [0, 6]), shape=(1, WIDTH))
    return {
        "csr": X,
        "float32": X.astype(np.float32),
        "int64": wide,
        "dense": X.toarray(),
        "twice": twice,
        "back": back,
    }


@pytest.mark.slow
@every_learner
@machines
@pytest.mark.parametrize("more", [{}, {"fit_intercept": False}, {"n_jobs": 2}])
def test_answers_are_the_same_bits(name, classes, multi_class, more):
    learner = trained(name, classes, multi_class, **more)
    before = {kind: bits(learner.decision_function(X)) for kind, X in rows().items()}
    labels = {kind: learner.predict(X).tolist() for kind, X in rows().items()}
    coef, counts = learner.coef_, answers(learner)
    assert learner.kept_ == WIDTH
    assert learner.sparsify() is learner
    assert 20 < learner.kept_ < 100
    assert {kind: bits(learner.decision_function(X)) for kind, X in rows().items()} == before
    assert {kind: learner.predict(X).tolist() for kind, X in rows().items()} == labels
    assert issparse(learner.coef_)
    assert isinstance(learner.coef_, csr_array)
    assert learner.coef_.nnz == np.count_nonzero(coef)
    assert bits(learner.coef_.toarray() + 0.0) == bits(coef + 0.0)
    assert {k: v for k, v in answers(learner.densify()).items() if k != "coef_"} == {
        k: v for k, v in counts.items() if k != "coef_"
    }


@every_learner
@machines
def test_there_and_back_is_nothing(name, classes, multi_class):
    learner = trained(name, classes, multi_class)
    before = state(learner)
    learner.sparsify()
    assert state(learner) != before
    assert state(learner.densify()) == before
    assert state(learner.densify()) == before


@every_learner
@machines
def test_training_goes_on_from_the_whole_weights(name, classes, multi_class):
    X, y = problem(classes, seed=2)
    ways = {
        "partial_fit": lambda m: m.partial_fit(X, y),
        "warm start": lambda m: quiet(m.set_params(warm_start=True, max_iter=2).fit, X, y),
        "grow": lambda m: m.grow(WIDTH + 5),
        "grow by nothing": lambda m: m.grow(WIDTH),
        "learn_one": lambda m: m.learn_one(X.toarray()[0], int(y[0])),
        "learn_one, a pair": lambda m: m.learn_one((X.indices[:3].astype(np.int64), X.data[:3]), 1),
    }
    for way, go_on in ways.items():
        plain, sparse = trained(name, classes, multi_class), trained(name, classes, multi_class).sparsify()
        go_on(plain)
        go_on(sparse)
        assert trace(sparse) == trace(plain), way
        assert not issparse(sparse.coef_)


@every_learner
@machines
def test_single_rows_are_answered_alike_and_change_nothing(name, classes, multi_class):
    learner = trained(name, classes, multi_class)
    X = rows()["csr"]
    forms = [*X.toarray(), *((X[[k]].indices.astype(np.int64), X[[k]].data) for k in range(20))]
    forms += [{0: 1.0, 31: -2.0, 45: 1.0}, (np.array([500, 33, -1, 199]), np.array([9.0, 1.0, 9.0, 1.0]))]
    before = [learner.predict_one(x) for x in forms]
    learner.sparsify()
    compact = state(learner)
    assert [learner.predict_one(x) for x in forms] == before
    assert state(learner) == compact
    with pytest.raises(ValueError, match="2 indices and 1 values"):
        learner.predict_one((np.array([1, 2]), np.array([1.0])))
    with pytest.raises(ValueError, match="not a finite number"):
        learner.predict_one({0: np.nan})


@every_learner
@pytest.mark.parametrize("carry", [lambda a: pickle.loads(pickle.dumps(a)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_a_carried_learner_answers_and_goes_on(name, carry):
    learner = trained(name).sparsify()
    twin = carry(learner)
    assert state(twin) == state(learner)
    X, y = problem(seed=4)
    assert bits(twin.decision_function(X)) == bits(learner.decision_function(X))
    assert trace(twin.partial_fit(X, y)) == trace(trained(name).partial_fit(X, y))
    assert issparse(learner.coef_)
    assert not hasattr(clone(learner), "classes_")


@every_learner
def test_a_refused_batch_leaves_it_as_it_was(name):
    learner = trained(name).sparsify()
    before = state(learner)
    X, y = problem(seed=4)
    bad = X.copy()
    bad.data[7] = np.nan
    ways = (lambda: learner.partial_fit(bad, y), lambda: learner.learn_one({0: np.inf}, 0), lambda: learner.grow(9))
    for refused in ways:
        with pytest.raises(ValueError, match=r"NaN|inf|grow\(9\)"):
            refused()
        assert state(learner) == before
    assert issparse(learner.coef_)


@pytest.mark.parametrize("index", [-1, WIDTH, 2**31 - 1, -(2**31)])
def test_columns_that_are_not_there_are_refused(index):
    learner = trained("perceptron").sparsify()
    X = problem()[0]
    X.indices[5] = index
    with pytest.raises(ValueError, match=f"column index {index} in row"):
        learner.decision_function(X)


@pytest.mark.parametrize("form", [csr_array, np.asarray])
def test_entries_that_are_not_finite_are_found_where_there_is_no_weight(form):
    learner = trained("perceptron").sparsify()
    X = np.zeros((2, WIDTH))
    X[1, 0] = np.nan
    assert learner.coef_[:, [0]].nnz == 0
    with pytest.raises(ValueError, match=r"NaN \(row 1, column 0\)"):
        learner.predict(form(X))


def test_no_weight_at_all():
    learner = Perceptron().partial_fit(np.zeros((2, 3)), [0, 0], classes=[0, 1]).sparsify()
    assert learner.kept_ == 0
    assert learner.coef_.nnz == 0
    assert learner.predict(csr_array(np.eye(3))).tolist() == [0, 0, 0]
    assert learner.predict_one({0: 1.0}) == 0


def test_names_and_labels_that_arrive():
    learner = Perceptron()
    for x, y in (({"a": 1.0, "b": 1.0}, "no"), ({"b": 2.0}, "yes"), ({"c": 1.0}, "no")):
        learner.learn_one(x, y)
    asked = [{"b": 5.0, "new": 7.0}, {"c": 1.0}, {"new": 1.0}, {}]
    before = [learner.predict_one(x) for x in asked]
    learner.sparsify()
    assert [learner.predict_one(x) for x in asked] == before == ["yes", "no", "no", "no"]
    assert issparse(learner.coef_)
    learner.learn_one({"new": 1.0}, "perhaps")
    assert learner.feature_names_in_.tolist() == ["a", "b", "c", "new"]
    assert learner.classes_.tolist() == ["no", "perhaps", "yes"]


def test_exponentials_are_refused_with_the_reason():
    X, y = problem(2)
    for learner in (Winnow(x_max=None), OnlineClassifier(Rule(), link="exponential")):
        quiet(learner.fit, X, y)
        assert not hasattr(learner, "sparsify")
        with pytest.raises(AttributeError, match="exponentials, of which none is 0"):
            learner.sparsify()
        assert learner.densify() is learner


@pytest.mark.parametrize(
    "learner", [BalancedWinnow(eta=40.0, x_max=None), PNormPerceptron(p=300.0)], ids=["sinh", "p-norm"]
)
@machines
def test_scores_beyond_the_range_of_images(learner, classes, multi_class):
    """Rows far below the highest sum are scored by the sums themselves."""
    X, y = problem(classes, n=60, first=20)
    X.data *= 9
    learner = quiet(clone(learner).set_params(multi_class=multi_class, shuffle=False).fit, X, y)
    rows = problem(seed=8)[0]
    before = bits(learner.decision_function(rows)), [learner.predict_one(x) for x in rows.toarray()]
    learner.sparsify()
    assert (bits(learner.decision_function(rows)), [learner.predict_one(x) for x in rows.toarray()]) == before


def test_sums_are_told_whole():
    learner = trained("balanced-winnow")
    before = learner.exponents_, learner.log_weights_
    learner.sparsify()
    assert all(map(np.array_equal, (learner.exponents_, learner.log_weights_), before))


def test_models_without_zeros_are_merged():
    models = [trained("averaged-perceptron"), trained("averaged-perceptron").partial_fit(*problem(seed=5))]
    whole = answers(merge(models))
    assert answers(merge([model.sparsify() for model in models])) == whole


@every_learner
def test_files_are_the_same(name, tmp_path):
    learner = trained(name)
    save(learner, tmp_path / "whole")
    export_json(learner, tmp_path / "whole.json")
    learner.sparsify()
    save(learner, tmp_path / "sparse")
    export_json(learner, tmp_path / "sparse.json")
    assert state(load(tmp_path / "sparse")) == state(learner) == state(load(tmp_path / "whole").sparsify())
    assert (tmp_path / "sparse.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


@every_learner
def test_onnx_is_the_same(name):
    pytest.importorskip("onnx")
    learner = trained(name)
    whole = export_onnx(learner).SerializeToString(deterministic=True)
    assert export_onnx(learner.sparsify()).SerializeToString(deterministic=True) == whole


def test_untrained_learners_are_refused():
    with pytest.raises(NotFittedError):
        Perceptron().sparsify()
    with pytest.raises(NotFittedError):
        _ = Perceptron().kept_
    assert isinstance(Perceptron().densify(), Perceptron)


@settings(max_examples=60)
@given(st.data())
def test_places_are_those_of_a_plain_table(data):
    features = data.draw(st.sampled_from([1, 2, 63, 64, 65, 128, 1000]))
    kept = data.draw(st.lists(st.integers(0, features - 1), unique=True, max_size=40).map(sorted))
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    far = np.iinfo(dtype)
    index = st.one_of(st.integers(-3, features + 70), st.integers(far.min, far.max))
    indices = np.array(data.draw(st.lists(index, max_size=60)), dtype)
    table = {j: k for k, j in enumerate(kept)}
    expected = [table.get(j, len(kept)) if 0 <= j < features else len(kept) + 1 for j in indices.tolist()]
    places = KeptFeatures(np.array(kept, np.intp), features).places(indices)
    assert places.tolist() == expected
    assert places.dtype == dtype


def test_memory_is_that_of_what_is_kept():
    width = 1 << 20
    X = csr_array((np.ones(4), [5, 70_000, 900_000, 5], [0, 2, 4]), shape=(2, width))
    learner = Perceptron(log=False).partial_fit(X, [0, 1], classes=[0, 1])
    whole = len(pickle.dumps(learner))
    kept = learner.sparsify()._state.sparse.kept
    assert sum(part.nbytes for part in kept.table) < width / 5
    assert len(pickle.dumps(learner)) < 5000 < whole
