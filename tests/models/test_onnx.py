"""ONNX models against ours: the same labels and scores in onnxruntime, to the bit where sums are exact."""

import builtins
import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from linsep import (
    BalancedWinnow,
    CalibratedClassifier,
    KernelPerceptron,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    PNormPerceptron,
    Winnow,
    __version__,
)
from linsep.models import onnx as module
from linsep.models.merge import merge
from linsep.models.onnx import export_onnx
from linsep.transforms import Bias, DeltaTrick, Polynomial, Scale, ScaleColumns
from tests.contracts.table import ONLINE, build, every_learner, is_exact, problem, quiet

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

some = settings(max_examples=25)
machines = pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (2, "joint"), (4, "ovr"), (4, "joint")])
LABELS = {
    "integers": np.array([-7, 0, 3, 2**40]),
    "small integers": np.array([-1, 0, 1, 2], np.int8),
    "unsigned": np.array([0, 1, 2, 2**64 - 1], np.uint64),
    "words": np.array(["", "a", "b,\n\"c\"", "naïve ☃ 𝄞"]),
    "objects": np.array(["a", "bb", "ccc", "dddd"], object),
    "whole floats": np.array([0.0, 1.0, 2.0, 3.0]),
}  # fmt: skip


def run(model, X, path=None):
    """What onnxruntime makes of an exported model."""
    proto = export_onnx(model, path)
    onnx.checker.check_model(proto, full_check=True)
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    results = session.run(names, {"X": np.ascontiguousarray(X, np.float64)})
    for told, result in zip(session.get_outputs(), results, strict=True):
        assert len(told.shape) == result.ndim
        assert told.shape[0] == "rows"
        assert told.shape[1:] == list(result.shape[1:])
    return dict(zip(names, results, strict=True))


def agree(model, X, exact=False):
    """The same scores to the bit, or to the rounding of a sum; the same labels, but for ties that rounding decides."""
    theirs = run(model, X)
    ours, labels = model.decision_function(X), model.predict(X)
    assert theirs["scores"].shape == ours.shape
    if exact:
        assert np.array_equal(theirs["scores"], ours)
        assert theirs["label"].tolist() == labels.tolist()
    rounding = 1e-12 * max(1e-300, np.abs(ours).max())
    np.testing.assert_allclose(theirs["scores"], ours, rtol=0, atol=rounding)
    gap = np.abs(ours) if ours.ndim == 1 else np.diff(np.sort(ours, axis=1)[:, -2:])[:, 0]
    clear = (gap > 2 * rounding) | (theirs["scores"] == ours).reshape(len(ours), -1).all(axis=1)
    assert clear.mean() > 0.9
    assert theirs["label"][clear].tolist() == labels[clear].tolist()
    return theirs


@every_learner
@machines
@pytest.mark.parametrize("reals", [False, True])
def test_labels_and_scores_are_ours(name, classes, multi_class, reals):
    X, y = problem(classes, reals, n=60)
    learner = quiet(build(name, multi_class=multi_class).fit, X, y)
    rows = np.vstack([X, np.zeros(6), problem(classes, reals, n=500, seed=5)[0]])
    agree(learner, rows, exact=is_exact(learner) and name == "perceptron" and not reals)


@every_learner
@pytest.mark.parametrize("more", [{"fit_intercept": False}, {"intercept_scaling": 0.5}])
def test_the_bias_is_ours(name, more):
    X, y = problem(3, reals=True)
    agree(quiet(build(name, **more).fit, X if name != "winnow" else X - 0.1, y), X)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("classes", [2, 4])
def test_labels_of_every_type(kind, classes):
    X, y = problem(classes)
    labels = LABELS[kind][:classes] if kind != "unsigned" else LABELS[kind][-classes:]
    learner = quiet(Perceptron(max_iter=2).fit, X, labels[y])
    theirs = agree(learner, X)
    if labels.dtype != object and labels.dtype.kind != "U":
        assert theirs["label"].dtype == labels.dtype


def test_labels_that_are_truths():
    X, y = problem()
    theirs = agree(quiet(Perceptron(max_iter=2).fit, X, y == 1), X)
    assert theirs["label"].dtype == bool


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("known", [1, 2, 3])
def test_labels_that_arrive(multi_class, known):
    X, y = problem(3)
    learner = LogisticRegression(multi_class=multi_class).partial_fit(X[y < known], y[y < known])
    agree(learner, X)
    np.testing.assert_allclose(run(learner, X)["probabilities"], learner.predict_proba(X), rtol=1e-12)


@machines
@pytest.mark.parametrize("size", [0.01, 1.0, 300.0])
def test_probabilities_are_ours(classes, multi_class, size):
    X, y = problem(classes, reals=True)
    learner = LogisticRegression(eta0=1.0, multi_class=multi_class).partial_fit(X, y)
    theirs = run(learner, size * X)["probabilities"]
    np.testing.assert_allclose(theirs, learner.predict_proba(size * X), rtol=1e-11, atol=1e-300)
    assert np.isfinite(theirs).all()


def test_only_logistic_regression_has_probabilities():
    X, y = problem()
    assert set(run(quiet(Perceptron().fit, X, y), X)) == {"label", "scores"}


@pytest.mark.parametrize("classes", [2, 3])
def test_ties_go_to_the_lower_class(classes):
    X, y = problem(classes)
    learner = quiet(Perceptron(max_iter=1, fit_intercept=False).fit, X, y)
    theirs = agree(learner, np.zeros((2, 6)), exact=True)
    assert theirs["label"].tolist() == [0, 0]


MAPS = {
    "bias": [Bias(0.5)],
    "scale": [Scale()],
    "scale to a power of two": [Scale("entry", power_of_two=True)],
    "columns": [ScaleColumns("std")],
    "delta": [DeltaTrick(0.5)],
    "delta, then scaled": [DeltaTrick(0.5), Scale(), ScaleColumns()],
    "delta twice": [DeltaTrick(), DeltaTrick(2.0)],
    "delta, then a bias": [DeltaTrick(), Bias(2.0)],
    "squares": [Polynomial()],
    "interactions": [Polynomial((2, 3), interaction_only=True)],
    "with constants": [Polynomial(3, include_bias=True)],
    "terms": [Polynomial(terms=["x3", "1", "x0^5", "x1 x2", "x1", "1", (5, 5, 0)])],
    "bias, squares, scaled": [Bias(), Polynomial((1, 2)), ScaleColumns()],
    "delta, then squares": [Scale(), DeltaTrick(), Polynomial((2, 2), interaction_only=True), Scale("entry")],
    "nothing": ["passthrough"],
}


@pytest.mark.parametrize("maps", MAPS)
@pytest.mark.parametrize("classes", [2, 3])
def test_pipelines_of_maps(maps, classes):
    X, y = problem(classes, reals=True, n=20)
    steps = [(f"step{k}", step) for k, step in enumerate(MAPS[maps])]
    model = Pipeline([*steps, ("learner", Perceptron(max_iter=3, shuffle=False))])
    quiet(model.fit, X, y)
    agree(model, problem(classes, reals=True, n=50, seed=1)[0])


def test_products_are_exact():
    X, y = problem()
    model = make_pipeline(Polynomial(terms=["x1", "x0^3", "x0 x2"]), Perceptron(max_iter=2))
    agree(quiet(model.fit, X, y), X, exact=True)


@pytest.mark.parametrize("maps", [[Scale()], [ScaleColumns()]], ids=["scale", "columns"])
def test_one_column_is_divided_in_float64(maps):
    """Runtimes like to merge a division by one number into the product that follows."""
    X, y = problem(reals=True, p=1)
    agree(quiet(make_pipeline(*maps, Perceptron(max_iter=2)).fit, X, y), X)


@every_learner
def test_every_learner_after_a_map(name):
    X, y = problem(3)
    agree(quiet(make_pipeline(ScaleColumns(), Polynomial(), build(name)).fit, X, y), X)


@some
@given(st.data())
def test_random_weights_and_rows(data):
    """Any integers whose products and sums float64 holds."""
    classes = data.draw(st.integers(2, 5))
    width, n = data.draw(st.integers(1, 9)), data.draw(st.integers(classes, 12))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-(2**20), 2**20, (n, width)).astype(float)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    learner = Perceptron(max_iter=2, multi_class=data.draw(st.sampled_from(["ovr", "joint"])))
    agree(quiet(learner.fit, X, y), X, exact=True)


@pytest.mark.parametrize(
    "learner",
    [Winnow(eta=30.0, x_max=None), BalancedWinnow(eta=30.0, x_max=None), PNormPerceptron(p=600.0)],
    ids=lambda learner: type(learner).__name__,
)
def test_weights_too_small_for_float64_are_refused(learner):
    """Here such rows are scored by the sums; in ONNX they would all score 0."""
    X, y = [[60.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]], [0, 0, 1]
    quiet(learner.set_params(shuffle=False, fit_intercept=False).fit, X, y)
    assert learner.decision_function(np.eye(3)).all()
    assert not learner.coef_.all()
    with pytest.raises(ValueError, match=r"less than 2\^-1000 .* smaller (rate eta|power p)"):
        export_onnx(learner)


def test_merged_models_are_exported():
    X, y = problem(3, reals=True)
    for name, entry in ONLINE.items():
        if entry.no_mixing:
            continue
        models = [build(name, intercept_scaling=1.0).partial_fit(X[k::2], y[k::2], classes=range(3)) for k in range(2)]
        agree(merge(models), X)


def test_files_are_whole_and_tell_where_they_come_from(tmp_path):
    X, y = problem()
    learner = quiet(Perceptron().fit, X, y)
    path = tmp_path / "model.onnx"
    path.write_text("old")
    proto = export_onnx(learner, path)
    assert onnx.load(path) == proto
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert (proto.producer_name, proto.producer_version) == ("linsep", __version__)
    assert {p.key: p.value for p in proto.metadata_props} == {"learner": "Perceptron"}
    assert {node.domain for node in proto.graph.node} == {""}
    with pytest.raises(FileNotFoundError, match="no folder"):
        export_onnx(learner, tmp_path / "none" / "model.onnx")
    with pytest.raises(IsADirectoryError):
        export_onnx(learner, tmp_path)


def test_a_refused_export_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("old")
    with pytest.raises(NotFittedError):
        export_onnx(Perceptron(), path)
    assert path.read_text() == "old"


def test_exporting_is_repeatable_and_changes_nothing():
    X, y = problem(3)
    model = quiet(make_pipeline(Polynomial(), Perceptron(max_iter=2, random_state=0)).fit, X, y)
    before = model.decision_function(X)
    texts = {export_onnx(model).SerializeToString(deterministic=True) for _ in range(3)}
    assert len(texts) == 1
    assert np.array_equal(model.decision_function(csr_array(X)), before)


def test_what_has_no_form_is_refused():
    X, y = problem()
    with pytest.raises(TypeError, match=r"'standardscaler' is a StandardScaler.*export Perceptron alone"):
        export_onnx(quiet(make_pipeline(StandardScaler(), Perceptron()).fit, X, y))
    with pytest.raises(TypeError, match="a pipeline that ends in one; got StandardScaler"):
        export_onnx(make_pipeline(Scale(), StandardScaler()))
    with pytest.raises(TypeError, match="got 7"):
        export_onnx(7)
    with pytest.raises(ValueError, match=r"'\\ud800'.*UTF-8"):
        export_onnx(quiet(Perceptron().fit, X, np.array(["a", "\ud800"])[y]))
    with pytest.raises(ValueError, match="labels of type datetime64"):
        export_onnx(quiet(Perceptron().fit, X, np.array(["2020-01-01", "2021-01-01"], "M8[D]")[y]))


def test_models_beyond_2_gib_are_refused(monkeypatch):
    X, y = problem()
    monkeypatch.setattr(module, "LARGEST", 40)
    with pytest.raises(ValueError, match=r"ONNX files end at 2 GiB: .*export_json"):
        export_onnx(quiet(Perceptron().fit, X, y))
    with pytest.raises(ValueError, match="2 GiB"):
        export_onnx(quiet(make_pipeline(Polynomial(), Perceptron()).fit, X, y))


def test_without_onnx_the_cure_is_named(monkeypatch):
    real = builtins.__import__

    def none(name, *args, **kwargs):
        if name == "onnx":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    X, y = problem()
    learner = quiet(Perceptron().fit, X, y)
    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(ImportError, match=r"pip install 'linsep\[onnx\]'"):
        export_onnx(learner)


@pytest.mark.slow
def test_onnx_is_loaded_only_when_it_is_needed():
    code = "import sys, linsep.models.onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_batches_of_every_size():
    X, y = problem(3)
    learner = quiet(Perceptron().fit, X, y)
    whole = run(learner, X)["label"]
    cuts = [0, 1, 3, 3, len(X)]
    parts = [run(learner, X[a:b])["label"] for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_constant_is_used(classes):
    X, y = problem(classes)
    graph = export_onnx(quiet(build("perceptron").fit, X, y)).graph
    used = {name for node in graph.node for name in node.input}
    assert {constant.name for constant in graph.initializer} <= used


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "gaussian"])
def test_naive_bayes_of_every_kind(kind):
    X = np.abs(problem(3)[0])
    model = NaiveBayes(kind, binarize=1.0).fit(X, problem(3)[1])
    agree(model, X)
    np.testing.assert_allclose(run(model, X)["probabilities"], model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(("kind", "other"), [("bernoulli", "multinomial"), ("multinomial", "bernoulli")])
def test_naive_bayes_is_exported_as_it_was_trained(kind, other):
    X, y = np.abs(problem(3)[0]), problem(3)[1]
    model = NaiveBayes(kind, binarize=1.0).fit(X, y)
    agree(model.set_params(binarize=2.5), X)
    agree(model.set_params(kind=other), X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@machines
def test_a_calibration_is_ours(method, classes, multi_class):
    X, y = problem(classes, reals=True, n=120)
    learner = build("perceptron", multi_class=multi_class)
    model = quiet(CalibratedClassifier(learner, method=method, cv=3).fit, X, y)
    rows = np.vstack([X, np.zeros(6), problem(classes, reals=True, n=400, seed=5)[0], 1e3 * X])
    theirs = run(model, rows)
    np.testing.assert_allclose(theirs["scores"], model.decision_function(rows), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(theirs["probabilities"], model.predict_proba(rows), rtol=0, atol=1e-9)
    chances = np.sort(model.predict_proba(rows), axis=1)
    clear = (chances[:, -1] - chances[:, -2] > 1e-8) | (chances[:, -1] == chances[:, -2])
    assert clear.mean() > 0.9
    assert theirs["label"][clear].tolist() == model.predict(rows)[clear].tolist()


def test_a_calibration_of_one_score_and_of_an_ensemble():
    X, y = np.zeros((12, 2)), np.arange(12) % 2
    model = quiet(CalibratedClassifier(build("perceptron"), method="isotonic", cv=2).fit, X, y)
    np.testing.assert_allclose(run(model, X)["probabilities"], model.predict_proba(X), atol=1e-12)
    X, y = problem(2, n=60)
    model = quiet(CalibratedClassifier(build("perceptron"), cv=3, ensemble=True).fit, X, y)
    with pytest.raises(TypeError, match="an ensemble"):
        export_onnx(model)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize(("readout", "sparse"), [("last", False), ("average", True)])
@machines
def test_kernels_are_ours(kernel, readout, sparse, classes, multi_class):
    X, y = problem(classes, reals=True, n=60)
    how = {"kernel": kernel, "degree": 3, "gamma": 0.3, "coef0": 0.5, "fit_intercept": True, "intercept_scaling": 0.7}
    learner = KernelPerceptron(readout=readout, max_iter=3, random_state=0, multi_class=multi_class, **how)
    rows = csr_array(X) if sparse else X
    model = quiet(learner.fit, rows, y)
    agree(model, np.vstack([X, np.zeros(6), problem(classes, reals=True, n=100, seed=5)[0]]))


def test_kernels_that_have_no_operators_are_refused():
    X, y = problem(2, n=30)
    for how, why in (
        ({}, "asks every hypothesis"),
        ({"kernel": lambda A, B: A @ B.T, "readout": "last"}, "no operator"),
    ):
        with pytest.raises(TypeError, match=why):
            export_onnx(quiet(KernelPerceptron(max_iter=1, **how).fit, X, y))


@pytest.mark.parametrize("map", [None, Polynomial(degree=2), Scale()])
def test_rows_of_float32(map):
    X, y = problem(3, reals=True, n=60)
    X = X.astype(np.float32)
    learner = build("averaged-perceptron")
    model = quiet((learner if map is None else make_pipeline(map, learner)).fit, X.astype(float), y)
    proto = export_onnx(model, dtype="float32")
    onnx.checker.check_model(proto, full_check=True)
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    label, scores = session.run(["label", "scores"], {"X": X})
    np.testing.assert_allclose(scores, model.decision_function(X.astype(float)), rtol=1e-12, atol=1e-10)
    assert scores.dtype == np.float64
    assert np.mean(label == model.predict(X.astype(float))) > 0.98
    with pytest.raises(ValueError, match="dtype='float16'"):
        export_onnx(model, dtype="float16")


def test_names_of_features_are_in_the_file():
    X, y = problem(2, n=30)
    model = quiet(build("perceptron").fit, X, y)

    def names(proto):
        return {of.key: of.value for of in proto.metadata_props}.get("feature_names")

    assert names(export_onnx(model)) is None
    assert json.loads(names(export_onnx(model, names=["a", "b,c", "☃", "d", 5, "f"]))) == [
        "a",
        "b,c",
        "☃",
        "d",
        "5",
        "f",
    ]
    framed = quiet(build("perceptron").fit, pd.DataFrame(X, columns=list("uvwxyz")), y)
    assert json.loads(names(export_onnx(framed))) == list("uvwxyz")
    with pytest.raises(ValueError, match="names has 1 names, and the model takes 6 features"):
        export_onnx(model, names=["a"])
