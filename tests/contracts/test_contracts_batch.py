"""Contracts of every learner that sees all rows at once."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from linsep import LEARNERS, load, save
from linsep.models.onnx import export_onnx
from tests.contracts.table import bits, mapped, quiet, state

BATCH = {name: (entry, {}) for name, entry in LEARNERS.items() if not entry.online} | {
    f"logistic-regression, {solver}": (
        LEARNERS["logistic-regression"],
        {"solver": solver, "prior_variance": 1.0, "penalize_intercept": True} | more,
    )
    for solver, more in {
        "newton": {"multi_class": "multinomial", "tol": 1e-13},
        "batch": {"multi_class": "ovr", "tol": 1e-13},
    }.items()
}
"""The learners, and what makes them see all rows at once if they need to be told."""
each = pytest.mark.parametrize("name", BATCH)


def build(name, **more):
    """A learner of the table that is exact to many digits, where it can be told so."""
    entry, own = BATCH[name]
    return entry.make(**{"random_state": 0, "tol": 1e-9, "max_iter": 10_000} | own | more)


def classes_of(name):
    """Three classes, for a learner that takes more than two."""
    return 3 if build(name).__sklearn_tags__().classifier_tags.multi_class else 2


def problem(classes, n=60, p=5, seed=3):
    """Counts, some of them 0, and labels that a linear rule explains but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.2, (n, p)).astype(float)
    y = np.argmax(X @ rng.normal(size=(p, classes)) + rng.normal(size=(n, classes)), axis=1)
    y[:classes] = range(classes)
    return X, y


def trained(name, classes=None, **more):
    """A learner, and what it was trained on."""
    X, y = problem(classes or classes_of(name))
    return quiet(build(name, **more).fit, X, y), X, y


def same(one, other, X, tolerance=1e-6):
    """The same scores but for rounding, and for where a solver stops."""
    a, b = one.decision_function(X), other.decision_function(X)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


def answers(learner, X):
    """All that it answers, to the last bit."""
    return (
        bits(learner.decision_function(X)),
        bits(learner.coef_),
        bits(learner.intercept_),
        learner.predict(X).tolist(),
    )


@each
def test_weights_are_one_row_for_two_classes_and_one_for_each_of_more(name):
    learner, X, y = trained(name, 2)
    assert learner.coef_.shape == (1, 5)
    assert learner.decision_function(X).shape == (60,)
    assert learner.predict(X).tolist() == (learner.decision_function(X) > 0).astype(int).tolist()
    if classes_of(name) == 3:
        learner, X, y = trained(name)
        assert learner.coef_.shape == (3, 5)
        assert learner.predict(X).tolist() == np.argmax(X @ learner.coef_.T + learner.intercept_, axis=1).tolist()
    assert np.mean(learner.predict(X) == y) > 0.6


@each
def test_sparse_rows_are_dense_rows(name):
    learner, X, y = trained(name)
    same(quiet(build(name).fit, csr_array(X), y), learner, X)


@each
def test_float32_rows_with_large_indices_are_the_same_rows(name, types_as_they_are):
    X, y = problem(classes_of(name))
    expected = quiet(build(name).fit, X, y)
    narrow = csr_array(X.astype(np.float32))
    narrow.indices, narrow.indptr = narrow.indices.astype(np.int64), narrow.indptr.astype(np.int64)
    same(quiet(build(name).fit, narrow, y), expected, X)


@each
def test_a_weight_is_repetition_and_zero_is_absence(name):
    X, y = problem(classes_of(name))
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = quiet(build(name).fit, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    same(quiet(build(name).fit, X, y, sample_weight=counts), repeated, X, 1e-4)


@each
def test_the_same_seed_gives_the_same_bits(name):
    learner, X, y = trained(name)
    again = quiet(clone(learner).fit, X, y)
    assert answers(again, X) == answers(learner, X)
    assert answers(quiet(learner.fit, X, y), X) == answers(again, X)


@pytest.mark.parametrize("name", [name for name in BATCH if "n_jobs" in build(name).get_params()])
def test_threads_change_no_bit(name):
    learner, X, _ = trained(name)
    assert answers(trained(name, n_jobs=2)[0], X) == answers(learner, X)


@each
def test_copies_and_files_are_the_learner(name, tmp_path):
    learner, X, _ = trained(name)
    save(learner, tmp_path / "model.linsep")
    for twin in (load(tmp_path / "model.linsep"), pickle.loads(pickle.dumps(learner)), mapped(learner)):
        assert answers(twin, X) == answers(learner, X)
        assert state(twin) == state(learner)


@pytest.mark.parametrize(("name", "more"), [("naive-bayes", {}), ("least-squares", {"solver": "stream"})])
def test_a_memory_mapped_learner_is_trained(name, more):
    learner, X, y = trained(name, **more)
    twin = mapped(learner)
    assert answers(twin.partial_fit(X, y), X) == answers(learner.partial_fit(X, y), X)
    assert twin.predict_one(X[0]) == learner.predict_one(X[0])


@each
def test_single_rows_get_the_same_label(name):
    learner, X, _ = trained(name)
    assert [learner.predict_one(x) for x in X] == learner.predict(X).tolist()
    assert [learner.predict_one(dict(enumerate(x))) for x in X[:5]] == learner.predict(X[:5]).tolist()


@each
def test_without_zeros_it_answers_the_same(name):
    X, y = problem(classes_of(name))
    wide = np.hstack([X, np.zeros((len(X), 3))])
    learner = quiet(build(name).fit, wide, y)
    before = learner.decision_function(wide)
    assert bits(learner.sparsify().decision_function(wide)) == bits(before)
    assert bits(learner.densify().decision_function(wide)) == bits(before)


@each
def test_onnx_gives_the_same_labels(name):
    runtime = pytest.importorskip("onnxruntime")
    learner, X, _ = trained(name)
    session = runtime.InferenceSession(export_onnx(learner).SerializeToString())
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": X}), strict=True))
    assert outputs["label"].tolist() == learner.predict(X).tolist()
    if "probabilities" in outputs:
        np.testing.assert_allclose(outputs["probabilities"], learner.predict_proba(X), atol=1e-9)


@each
def test_labels_may_be_words(name):
    learner, X, y = trained(name)
    words = np.array(["low", "middle", "top"])
    named = quiet(build(name).fit, X, words[y])
    assert named.predict(X).tolist() == words[learner.predict(X)].tolist()


@pytest.mark.parametrize("name", [name for name in BATCH if hasattr(build(name), "predict_proba")])
def test_probabilities_are_such(name):
    learner, X, _ = trained(name)
    p = learner.predict_proba(X)
    assert p.shape == (60, len(learner.classes_))
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


BAD = {
    "NaN": (lambda X: X * np.where(np.arange(len(X)) == 3, np.nan, 1.0)[:, None], r"NaN \(row 3, column 0\)"),
    "infinity": (lambda X: X + np.where(np.arange(len(X)) == 3, np.inf, 0.0)[:, None], "infinity"),
}


@each
@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_named_and_change_nothing(name, case):
    learner, X, y = trained(name)
    before = state(learner)
    spoil, reason = BAD[case]
    with pytest.raises(ValueError, match=reason):
        learner.fit(spoil(X), y)
    with pytest.raises(ValueError, match=reason):
        learner.predict(spoil(X))
    assert state(learner) == before


@each
def test_classes_that_are_missing_are_named(name):
    X, y = problem(classes_of(name))
    with pytest.raises(ValueError, match="y has only one class, 1"):
        build(name).fit(X, np.ones(len(y), int))
    with pytest.raises(ValueError, match="at least one non-zero number"):
        build(name).fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="all rows of the class 0 have weight zero"):
        build(name).fit(X, y, sample_weight=np.where(y == 0, 0.0, 1.0))
