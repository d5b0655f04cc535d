"""Model files: what is saved is what is loaded, training goes on as if nothing had been, and no file is trusted."""

import hashlib
import itertools
import json
import os
import pickle
import signal
import stat
import subprocess
import threading
import tracemalloc
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors import numpy as safetensors
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import linsep
from linsep import ModelError, OnlineClassifier, Perceptron, TextCounter, TextHasher, load, save
from linsep.cli.app import app
from linsep.models import archive
from linsep.models.save_load import opened
from linsep.transforms import Bias, DeltaTrick, Polynomial, Scale, ScaleColumns
from tests.contracts.table import ONLINE, WEIGHTED, bits, build, every_learner, problem, quiet, state, trace
from tests.models.golden.make import EARLIER, MODELS, readouts
from tests.processes import forked
from tests.rules import Keep

GOLDEN = Path(__file__).parent / "golden"
WAYS = {
    "binary": {},
    "classes": {"classes": 3},
    "pairs": {"classes": 3, "multi_class": "joint"},
    "no bias": {"fit_intercept": False},
    "no log": {"log": False},
    "weighted": {"class_weight": {0: 2.0, 1: 0.5}},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.linsep"


def again(model, path, **more):
    save(model, path)
    return load(path, **more)


LOGGED = ("voted-perceptron", "no log")
"""A learner whose predictions need the log."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [pair for pair in itertools.product(ONLINE, WAYS) if pair != LOGGED])
def test_training_goes_on_as_in_one_run(name, way, path):
    how = dict(WAYS[way])
    if way == "weighted" and name not in WEIGHTED:
        how = {"class_weight": {0: 1.0, 1: 1.0}}
    X, y = problem(how.pop("classes", 2))
    for shuffle in (True, "once", False):
        first = quiet(build(name, shuffle=shuffle, max_iter=2, warm_start=True, **how).fit, X, y)
        before = state(first)
        second = again(first, path)
        assert state(first) == before == state(second), shuffle
        assert bits(second.decision_function(X)) == bits(first.decision_function(X)), shuffle
        quiet(second.fit, X, y)
        at_once = quiet(build(name, shuffle=shuffle, max_iter=4, **how).fit, X, y)
        left = trace if how.get("log", True) else lambda learner: bits(learner.coef_)
        assert left(second) == left(at_once), shuffle


@every_learner
@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_streams_go_on_as_in_one_run(name, classes, multi_class, path):
    X, y = problem(3)
    first = build(name, multi_class=multi_class).partial_fit(X[:10], np.minimum(y[:10], 1), classes=classes)
    second = again(first, path)
    for clf in (first, second):
        clf.partial_fit(X[10:], y[10:])  # a label may be new
    assert trace(second) == trace(first)
    assert state(second) == state(first)


@every_learner
def test_single_rows_go_on_with_their_names(name, path):
    """The default p depends on the number of features, which names leave open."""
    first = build(name, **({"p": 3.0} if name == "p-norm-perceptron" else {}))
    rows = [({"a": 1.0}, "x"), ({"b": 2.0, "a": -1.0}, "y"), ({"c": 0.5}, "z"), ({"a": 1.0, "d": 1.0}, "x")]
    for row in rows:
        first.learn_one(*row)
    second = again(first, path)
    for clf in (first, second):
        clf.learn_one({"e": 1.0, "b": 1.0}, "w")
    assert trace(second) == trace(first)
    assert second.feature_names_in_.tolist() == list("abcde")


LABELS = {
    "words": np.array(["no", "yes"]), "wide words": np.array(["no", "yes"], "<U500"),
    "objects": np.array(["b", "a"], object),
    "bool": np.array([False, True]), "floats": np.array([-1.0, 2.0]), "int8": np.array([-1, 1], np.int8),
    "surrogates": np.array(["a\ud800", "\x00b"]), "integers as objects": np.array([3, -7], object),
}  # fmt: skip


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_keep_their_type(labels, path):
    X, y = problem()
    first = quiet(Perceptron().fit, X, labels[y])
    second = again(first, path)
    assert second.predict(X).tolist() == first.predict(X).tolist()
    assert second.classes_.dtype.kind == first.classes_.dtype.kind
    second.partial_fit(X, labels[y])


def test_labels_that_no_file_holds_name_the_cure(path):
    X, y = problem()
    clf = Perceptron().partial_fit(X, np.array([0.0, 1.0], object)[y])
    with pytest.raises(ValueError, match=r"model\.classes is an array of object.*convert it to numbers or words"):
        save(clf, path)


PARAMETERS = {
    "random_state": np.random.RandomState(5), "class_weight": {0: 1.5, np.int64(1): 2}, "tol": np.float64(0.1),
    "max_iter": np.int32(3), "intercept_scaling": 0.1,
}  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_kept(name, path):
    X, y = problem()
    clf = quiet(Perceptron(**{name: PARAMETERS[name]}).fit, X, y)
    other = again(clf, path)
    if name == "random_state":
        assert clf.random_state.randint(1 << 30) == other.random_state.randint(1 << 30)
    else:
        assert other.get_params() == clf.get_params()


def test_more_names_than_a_header_holds(path):
    n = 30_000
    clf = Perceptron(shuffle=False)
    clf.learn_one({f"a name that is rather long, and is one of many: {j}": 1.0 for j in range(n)}, 1)
    other = again(clf, path)
    assert other.feature_names_in_[-1].endswith(f": {n - 1}")


class Other(NamedTuple):
    wish: float = 1.0

    def step(self, score, y, xx):
        return 0.0


@pytest.mark.slow
def test_a_rule_of_ones_own_is_saved_by_name(path):
    X, y = problem()
    rule = Keep(0.5, 1.0, 2.0)
    clf = quiet(OnlineClassifier(rule, readout="average", random_state=0).fit, X, y)
    save(clf, path)
    with pytest.raises(ModelError, match=r"rule Keep is not one of linsep's own: load it with rules=\[Keep\]"):
        load(path)
    other = load(path, rules=[Keep])
    assert other.rule == rule
    assert bits(other.coef_) == bits(clf.coef_)
    Other.__name__ = "Keep"
    with pytest.raises(
        ModelError, match=r"saved with the numbers \['keep', 'other', 'period', 'amount', 'pause', 'told'\]"
    ):
        load(path, rules=[Other])
    faulty = type("Keep", (NamedTuple("Fields", [(name, float) for name in Keep._fields]),), {})
    for given in ([], [Other], [faulty]):
        with pytest.raises(ModelError) as caught:
            load(path, rules=given)
        assert "invalid content" not in str(caught.value), "the file is whole"
    assert "the rule Keep has no method `step(self, score, y, xx)`" in str(caught.value)
    with pytest.raises(TypeError, match=r"rules=.* has no name: give the class"):
        load(path, rules=[rule])
    with_own = quiet(OnlineClassifier(linsep.rules.Perceptron(), link="sinh").fit, X, y)
    assert state(again(with_own, path)) == state(with_own)


@pytest.mark.parametrize("rule", [Keep(0.5, 1.0, 2.0), Other()])
def test_the_command_line_predicts_by_models_of_ones_own_rule(rule, path, tmp_path, monkeypatch):
    Other.__name__ = "Other"
    monkeypatch.chdir(tmp_path)
    X, y = problem()
    dump_svmlight_file(X, y, "rows.svm", zero_based=True)
    save(quiet(OnlineClassifier(rule, random_state=0).fit, X, y), path)
    for command in (["predict", str(path), "rows.svm"], ["evaluate", str(path), "rows.svm"], ["inspect", str(path)]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        if command[0] == "predict":
            labels = load(path, rules=[type(rule)]).predict(X)
            assert [float(line) for line in result.stdout.splitlines()] == labels.tolist()
    refused = CliRunner().invoke(app, ["fit", "rows.svm", "--resume", str(path), "-o", "m.linsep"])
    assert refused.exit_code == 4
    assert "is not one of linsep's own" in refused.output


PIPELINES = {
    "scaled": lambda: make_pipeline(Scale(), Polynomial(2), Bias(), Perceptron(random_state=0)),
    "columns": lambda: make_pipeline(ScaleColumns(), Perceptron(random_state=0)),
    "terms": lambda: make_pipeline("passthrough", Polynomial(terms=["x0", "x1^2", (0, 1)]), Perceptron(random_state=0)),
    "delta": lambda: make_pipeline(DeltaTrick(), Perceptron(random_state=0)),
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
def test_pipelines_of_maps(make, path):
    X, y = problem(3)
    first = quiet(make().fit, X, y)
    second = again(first, path)
    assert bits(second.decision_function(X)) == bits(first.decision_function(X))
    assert [name for name, _ in second.steps] == [name for name, _ in first.steps]
    assert quiet(second.fit, X, y).predict(X).tolist() == quiet(first.fit, X, y).predict(X).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        TextHasher(2**10), TextHasher(64, keep_names=True, idf=True, dtype=np.float32), TextCounter(idf=True),
        TextCounter(),
    ],
)  # fmt: skip
def test_pipelines_of_text(text, path):
    documents, y = ["a rose is a rose", "is it?", "roses are red", "it is, is it"], ["a", "b", "a", "b"]
    first = quiet(make_pipeline(text, linsep.AveragedPerceptron(random_state=0)).fit, documents, y)
    second = again(first, path)
    assert bits(second.decision_function(documents)) == bits(first.decision_function(documents))
    if isinstance(text, TextCounter):
        assert second[0].get_feature_names_out().tolist() == first[0].get_feature_names_out().tolist()
        first[0].partial_fit(["new words"])
        second[0].partial_fit(["new words"])
        assert (
            second[0].transform(["new rose"]).toarray().tolist() == first[0].transform(["new rose"]).toarray().tolist()
        )
    elif text.keep_names:
        assert [second[0].names_of(j) for j in range(64)] == [first[0].names_of(j) for j in range(64)]


class Mine(Perceptron):
    pass


def test_save_says_what_it_takes(path):
    X, y = problem()
    for model, what in (
        (make_pipeline(StandardScaler(), Perceptron()), "StandardScaler"),
        (make_pipeline(Scale(), StandardScaler()), "StandardScaler"),
        (StandardScaler(), "StandardScaler"),
        (Mine(), "Mine"),
        ({"a": 1}, "dict"),
    ):
        with pytest.raises(
            ValueError, match=f"save takes a learner of linsep, or a Pipeline .*{what} is none of these"
        ):
            save(model, path)
    with pytest.raises(NotFittedError):
        save(Perceptron(), path)
    with pytest.raises(ValueError, match=r"memory="):
        save(make_pipeline(Perceptron(), memory="folder"), path)
    with pytest.raises(ValueError, match=r"about.*can't hold"):
        save(quiet(Perceptron().fit, X, y), path, about={"when": object()})
    assert not path.exists()


def test_what_is_told_of_a_model(path):
    X, y = problem()
    about = {
        "data": ["a.svm"],
        "error": np.float64(0.25),
        "nothing": None,
        "curve": [[1, 2], (3, np.inf)],
        "n": np.int64(3),
    }
    save(quiet(Perceptron().fit, X, y), path, about=about)
    saved = opened(path)
    assert saved.about == about
    assert saved.version == linsep.__version__
    assert saved.form is None


# Weights that are mostly zero.

WIDE = 1 << 24


def wide(name, features=WIDE, classes=2, **more):
    """A learner of many features that has seen few of them."""
    X = sp.csr_array(problem(classes, reals=True)[0])
    X = sp.csr_array((X.data, 1000 * X.indices.astype(np.int32), X.indptr), shape=(X.shape[0], features))
    return build(name, **more).partial_fit(X, problem(classes)[1]), X


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perceptron", "averaged-perceptron", "passive-aggressive", "pegasos", "romma"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("asked", [False, True])
def test_weights_that_are_mostly_zero_make_a_small_file(name, classes, asked, path):
    first, X = wide(name, features=100_000, classes=classes)
    if asked:
        first.sparsify()
    second = again(first, path)
    assert path.stat().st_size < 20_000
    assert bits(second.decision_function(X)) == bits(first.decision_function(X))
    assert isinstance(second.coef_, np.ndarray) != asked
    assert second.kept_ == first.kept_ == (6 if asked else 100_000)
    assert second.predict_one((np.array([1000]), np.array([1.0]))) == first.predict_one(
        (np.array([1000]), np.array([1.0]))
    )
    third = again(second, path)
    for clf in (first, second, third):
        clf.partial_fit(X, problem(classes)[1])
    assert trace(second) == trace(first) == trace(third)
    assert state(second) == state(first)


@pytest.mark.slow
def test_a_hashed_model_of_16_million_features_is_a_small_file_and_takes_little_memory(path):
    clf, X = wide("averaged-perceptron")
    save(clf, path)
    assert path.stat().st_size < 20_000
    tracemalloc.start()
    model = load(path)
    loading = tracemalloc.get_traced_memory()[1]
    scores = model.decision_function(X)
    asking = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert loading < 1_000_000
    assert asking < WIDE / 2  # the weights alone would be 8 * WIDE
    assert bits(scores) == bits(clf.decision_function(X))


def test_forged_lists_of_features_are_refused(path):
    save(wide("perceptron", features=100_000)[0], path)
    about, arrays = parts(path)
    kept = arrays["model.kept"]
    for other in (kept[::-1], kept + 99_000, kept - 1, kept[:-1], kept.astype(np.float64), np.zeros_like(kept)):
        with pytest.raises(ModelError, match="though its checksums match"):
            load(forged(path, about, {**arrays, "model.kept": other}))


# Files that are not what they should be.


@pytest.fixture
def small(path):
    X, y = problem(n=8, p=3)
    save(quiet(build("averaged-perceptron").fit, X, y), path)
    return path


def test_a_flipped_bit_is_refused_wherever_it_is(small):
    whole = small.read_bytes()
    rng = np.random.default_rng(0)
    for place in (*range(100), *rng.choice(len(whole), 900, replace=False)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        small.write_bytes(damaged)
        with pytest.raises(ModelError) as caught:
            load(small)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(str(small))


def test_a_damaged_array_is_named(small):
    whole = bytearray(small.read_bytes())
    whole[-1] ^= 1
    small.write_bytes(whole)
    with pytest.raises(ModelError, match=r"its array 'model\.\w+\.\w+' is damaged"):
        load(small)


def test_a_cut_file_is_refused_wherever_it_ends(small):
    whole = small.read_bytes()
    for end in range(0, len(whole), 31):
        small.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"not a linsep model, or truncated|damaged|not"):
            load(small)
    small.write_bytes(whole + b"more")
    with pytest.raises(ModelError):
        load(small)


FOREIGN = {
    "empty": b"", "text": b"1 1:0.5\n" * 100, "pickle": pickle.dumps({"a": np.ones(100)}), "zeros": bytes(1000),
    "long header": (1 << 62).to_bytes(8, "little") + b"{}", "zip": b"PK\x03\x04" + bytes(100),
    "nested": (200_000).to_bytes(8, "little") + b"[" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_foreign_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelError):
        load(path)


def test_other_safetensors_and_folders_are_refused(path, tmp_path):
    save_file({"w": np.ones(3)}, path)
    with pytest.raises(ModelError, match="not a model that linsep saved"):
        load(path)
    with pytest.raises(ModelError, match="folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def parts(path):
    about, arrays = archive.read(path)
    return about, dict(arrays)


def forged(path, about, arrays, **more):
    """Write a file whose sums are right, whatever it holds, numbers of a type that is never written among them."""
    told = {name: value for name, value in (about | more).items() if name not in ("tensors", "format")}
    with patch.dict(archive.DTYPES, complex64="C64"):
        archive.write(path, told, arrays)
    return path


def test_a_newer_format_says_what_to_do(small, monkeypatch):
    about, arrays = parts(small)
    monkeypatch.setattr(archive, "FORMAT", 7)
    forged(small, about, arrays, version="9.9")
    monkeypatch.undo()
    with pytest.raises(ModelError, match=r"format 7, of linsep 9\.9; this one reads formats up to 1: install a newer"):
        load(small)


def test_arrays_of_other_shapes_or_types_are_refused(small):
    about, arrays = parts(small)
    for name, array in arrays.items():
        others = [
            array[:0],
            np.repeat(array, 2, axis=0),
            array[..., None],
            array.astype(np.complex64 if name.endswith("classes") else np.float32),
        ]
        for other in others:
            forged(small, about, {**arrays, name: other})
            with pytest.raises(ModelError, match=r"though its checksums match|linsep never writes"):
                load(small)
        rest = {of: value for of, value in arrays.items() if of != name}
        with pytest.raises(ModelError, match="though its checksums match"):
            load(forged(small, about, rest))


def change(path, **changes):
    """Forge a file with other values, named by where they are, such as model__machine__pair."""
    about, arrays = parts(path)
    about = json.loads(json.dumps(about))
    for where, value in changes.items():
        *way, last = where.split("__")
        place = about
        for name in way:
            place = place[name]
        place[last] = value
    return forged(path, about, arrays)


HOSTILE = {
    "model__learner": "os.system", "model__parameters": {"max_iter": 10, "__class__": "x"}, "model__features": 1 << 60,
    "model__classes": [0, 1], "model__seed": -1, "model__n_iter": "many", "model__machine__pair": 1,
    "model__machine__background": True, "model__machine__kinds": ["imaged", "average"], "model__named": True,
    "model__machine__rule": {"rule": "eval", "numbers": {}}, "model__machine__epochs": 0.5,
    "model__machine__bias": "x", "model__machine__logged": "yes", "model__open": True, "form": {"format": "pickle"},
    "about": {"code": "import os"}, "model": None, "model__machine": [],
    "model__parameters__max_iter": {"dict": [[[], 1]]},
    "model__parameters__shuffle": "sideways", "model__machine__rule__numbers": {"x": 1}, "model__pipeline": [],
}  # fmt: skip


@pytest.mark.parametrize("where", HOSTILE)
def test_hostile_descriptions_are_refused_in_one_line(where, small):
    change(small, **{where: HOSTILE[where]})
    lacking = "its rule eval is not one of linsep's own" if where == "model__machine__rule" else None
    with pytest.raises(ModelError, match=lacking or "though its checksums match") as caught:
        load(small)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_map_learns_only_what_maps_learn(path):
    X, y = problem()
    save(quiet(make_pipeline(Scale(), Perceptron()).fit, X, y), path)
    about, arrays = parts(path)
    for name in ("transform", "__class__", "n_features_in", "_validate_params"):
        told = json.loads(json.dumps(about))
        told["model"]["pipeline"][0][1]["learned"][name] = "x"
        with pytest.raises(ModelError, match="nothing that a map learns"):
            load(forged(path, told, arrays))


@pytest.mark.slow
def test_words_of_very_different_lengths(path):
    labels = np.array(["a" * 50_000, *map(str, range(500))])
    save(
        Perceptron().partial_fit(np.eye(len(labels))[:2].repeat(600, axis=0), labels[:2].repeat(600), classes=labels),
        path,
    )
    tracemalloc.start()
    model = load(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5 * path.stat().st_size
    assert model.classes_.tolist() == np.unique(labels).tolist()
    about, arrays = parts(path)
    about["model"]["classes"]["width"] = 50_000
    with pytest.raises(ModelError, match="something else"):
        load(forged(path, about, arrays))


@pytest.mark.slow
def test_a_small_file_that_claims_much_takes_little_memory(small):
    change(small, model__features=1 << 40)
    code = f"""
import resource, linsep
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    linsep.load({str(small)!r})
except linsep.ModelError as error:
    print("refused")
"""
    assert subprocess.run(forked("-c", code), capture_output=True, text=True, check=True).stdout == "refused\n"


# Writing.


def test_one_model_is_one_file_to_the_byte(small):
    files = set()
    for _ in range(5):
        save(load(small), small)
        files.add(small.read_bytes())
    assert len(files) == 1


def test_a_failed_write_leaves_the_old_file_whole(small, monkeypatch):
    old = small.read_bytes()

    def fails(*_):
        raise OSError(28, "No space left on device")

    X, y = problem()
    clf = quiet(Perceptron().fit, X, y)
    for name in ("replace", "fsync"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fails)
            with pytest.raises(OSError, match="No space"):
                save(clf, small)
        assert small.read_bytes() == old
        assert list(small.parent.iterdir()) == [small]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(clf, small.parent / "nowhere" / "model")


@pytest.mark.slow
def test_killed_at_any_moment_a_file_is_whole(tmp_path):
    path = tmp_path / "model"
    code = f"""
import numpy as np, linsep
clf = linsep.Perceptron(max_iter=1, tol=0, shuffle=False).partial_fit(np.eye(50_000, 4), np.arange(50_000) % 2)
clf.grow(200_000)
linsep.save(clf, {str(path)!r}); print("ready", flush=True)
while True: linsep.save(clf, {str(path)!r})
"""
    child = subprocess.Popen(forked("-c", code), stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    for _ in range(20):
        assert load(path).n_features_in_ == 200_000
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert load(path).n_features_in_ == 200_000


@pytest.mark.slow
def test_the_next_save_removes_what_a_killed_one_left(tmp_path):
    """The kernel kills a save in the middle of its write, where the file becomes too long."""
    path = tmp_path / "model"
    X, y = problem()
    clf = quiet(Perceptron().fit, X, y)
    code = f"""
import resource, signal, numpy as np, linsep
clf = linsep.Perceptron(max_iter=1, tol=0, shuffle=False).partial_fit(np.eye(4), [0, 1, 0, 1]).grow(200_000)
clf._state.link.s[:] = 1
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
linsep.save(clf, {str(path)!r})
"""
    for _ in range(2):
        assert subprocess.run(forked("-c", code), check=False).returncode == -signal.SIGXFSZ
    assert not path.exists()
    assert [file.stat().st_size for file in tmp_path.iterdir()] == [1 << 20]
    save(clf, path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_bytes_that_safetensors_writes(small):
    about, arrays = archive.read(small)
    arrays |= {"zero": np.empty((0, 3), np.float32), "é": np.array([True]), "b": np.ones((2, 3), np.uint16)}
    archive.write(small, about, arrays)
    with safe_open(small, framework="numpy") as file:
        assert small.read_bytes() == safetensors.save(arrays, file.metadata())


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    X, y = problem()
    clf = quiet(Perceptron().fit, X, y)
    pipe, link, got = tmp_path / "pipe", tmp_path / "link", []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for target in (pipe, link):
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        save(clf, target)
        reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [link, pipe]
    save(clf, tmp_path / "file")
    assert got == 2 * [(tmp_path / "file").read_bytes()]


def test_rights_and_links_are_kept(small, tmp_path):
    X, y = problem()
    clf = quiet(Perceptron().fit, X, y)
    small.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(small)
    save(clf, link)
    assert link.is_symlink()
    assert small.stat().st_mode & 0o777 == 0o640
    assert load(small).n_features_in_ == load(link).n_features_in_ == 6


# How the data were read.

TEXTS = {
    "rows.svm": ("1 1:0.5 3:2\n0 2:1\n1 3:0.25\n", "1 1:1 9:5\n", [{}, {"zero_based": True}]),
    "mail.txt": (
        "spam\tcheap pills now\nham\tmeet me at noon\nspam\tpills, cheap\nham\tnoon is fine\n",
        "?\tcheap lunch at noon\n",
        [{}, {"vocabulary": True}, {"idf": True, "n_features": 99}, {"keep_names": True, "n_features": 50}],
    ),
    "t.vw": ("1 |a x y:2\n-1 |b z\n", "|a x q\n", [{}, {"vocabulary": True}]),
    "people.csv": ("age,city,label\n31,Oslo,yes\n27,Rome,no\n44,Oslo,yes\n", "age,city\n31,Bern\n27,Rome\n", [{}]),
}  # fmt: skip
READINGS = [(name, options) for name, (_, _, many) in TEXTS.items() for options in many]


def dense(X):
    return (X.toarray() if hasattr(X, "toarray") else X).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), READINGS)
@pytest.mark.parametrize("how", ["read", "stream"])
@pytest.mark.parametrize("learner", ["perceptron", "winnow"])
def test_new_data_are_read_into_the_columns_of_a_model(name, options, how, learner, tmp_path, path):
    train, new, _ = TEXTS[name]
    (tmp_path / name).write_text(train)
    (tmp_path / f"new-{name}").write_text(new)
    data = linsep.read(tmp_path / name, **options)
    clf = quiet(build(learner).fit, data.X, data.y)
    save(clf, path, data=data if how == "read" else linsep.stream(tmp_path / name, **options))
    expected = linsep.read(tmp_path / f"new-{name}", like=data)
    for model in (load(path), opened(path), again(load(path), path)):
        got = linsep.read(tmp_path / f"new-{name}", like=model)
        assert dense(got.X) == dense(expected.X)
        assert got.unseen == expected.unseen > 0
    if data.feature_names is not None:
        assert list(opened(path).form.feature_names[:3]) == list(data.feature_names[:3])
    with pytest.raises(linsep.DataError, match=r"did not have|does not occur"):
        linsep.read(tmp_path / f"new-{name}", like=load(path), strict=True)


@pytest.mark.parametrize(("name", "options"), READINGS)
def test_a_model_reads_converted_data(name, options, tmp_path, path):
    (tmp_path / name).write_text(TEXTS[name][0])
    data = linsep.read(tmp_path / name, **options)
    save(quiet(build("perceptron").fit, data.X, data.y), path, data=data)
    linsep.convert(tmp_path / name, tmp_path / "data.npz", like=load(path))
    assert dense(linsep.read(tmp_path / "data.npz", like=load(path)).X) == dense(data.X)


def test_data_that_are_not_the_models_are_refused(path, tmp_path):
    X, y = problem()
    clf = quiet(Perceptron().fit, X, y)
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n")
    with pytest.raises(ValueError, match="data= has 2 columns, but the model takes 6 features"):
        save(clf, path, data=linsep.read(tmp_path / "rows.svm"))
    with pytest.raises(TypeError, match="data= takes a data set or a stream that linsep read"):
        save(clf, path, data=X)
    with pytest.raises(TypeError, match=r"data= takes .* all of it"):
        save(clf, path, data=next(iter(linsep.stream(tmp_path / "rows.svm"))))
    save(clf, path)
    with pytest.raises(TypeError, match="a model that was saved with data="):
        linsep.read(tmp_path / "rows.svm", like=load(path))


@pytest.mark.parametrize("file", ["mail.txt", "mail.npz"])
def test_a_model_of_a_file_that_claims_many_columns_reads_in_little_memory(file, tmp_path, path):
    width = 1 << 28
    (tmp_path / "mail.txt").write_text("spam\tcheap pills\nham\tat noon\n")
    linsep.convert(tmp_path / "mail.txt", tmp_path / "mail.npz", n_features=1000, idf=True)
    state = linsep.read(tmp_path / "mail.txt", n_features=1000, idf=True).form.state() | {"n_features": width}
    save(wide("perceptron", features=100_000)[0], path)
    about, arrays = parts(path)
    about["model"]["features"] = width
    arrays["form"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    forged(path, {**about, "form": {"format": "text", "known": "all"}}, arrays)
    tracemalloc.start()
    model = load(path)
    new = linsep.read(tmp_path / file, like=model)
    model.predict(new.X)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert new.X.shape == (2, width)
    assert new.X.nnz == 4
    assert most < width / 16


def test_how_data_were_read_is_forgotten_with_other_data(tmp_path, path):
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n")
    data = linsep.read(tmp_path / "rows.svm")
    save(quiet(Perceptron().fit, data.X, data.y), path, data=data)
    model = load(path)
    quiet(model.fit, *problem())
    assert again(model, path).n_features_in_ == 6
    assert opened(path).form is None


def test_a_model_trained_anew_forgets_how_other_data_were_read(path, tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n1 3:1\n")
    data = linsep.read(tmp_path / "rows.svm")
    save(quiet(Perceptron(random_state=0).fit, data.X, data.y), path, data=data)
    model = load(path)
    quiet(model.partial_fit, data.X, data.y)
    assert again(model, path).form_.width == 3
    quiet(model.fit, np.eye(3), [0, 1, 1])
    assert not hasattr(again(model, path), "form_")


# The promise: files of earlier versions are read.


def golden_rows(told):
    if isinstance(told, list):
        return np.array(told)
    X = np.zeros((len(told["rows"]), told["columns"]))
    for i, row in enumerate(told["rows"]):
        X[i, [int(j) for j in row]] = list(row.values())
    return X


def same(values, expected):
    """Bits are promised on one kind of processor alone: elsewhere sums may be rounded in another order."""
    np.testing.assert_allclose(np.ravel(values), [float.fromhex(value) for value in expected], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.linsep")), ids=lambda file: file.stem)
def test_golden_files(file, path):
    expected = json.loads(file.with_suffix(".json").read_text())
    model, X = load(file), golden_rows(expected["X"])
    save(model, path)
    was, now = archive.read(file)[1], archive.read(path)[1]
    assert {name: (a.dtype, a.shape, a.tobytes()) for name, a in now.items()} == {
        name: (a.dtype, a.shape, a.tobytes()) for name, a in was.items()
    }
    same(model.decision_function(X), expected["scores"])
    assert model.classes_.tolist() == expected["classes"]
    if "readouts" in expected:
        for when in ("readouts", "readouts after one more pass"):
            said = readouts(model, X)
            assert said.keys() == expected[when].keys()
            for of, values in said.items():
                same([float.fromhex(value) for value in values], expected[when][of])
            model.partial_fit(X, expected["y"])
    if "coef after one more pass" in expected:
        coef = model.partial_fit(X, expected["y"]).coef_
        same(coef[coef != 0] if coef.shape[1] >= 4096 else coef, expected["coef after one more pass"])
    if "next random number" in expected:
        assert model.random_state.randint(1 << 30) == expected["next random number"]


RENAMED = [
    ("open-pairs", "multi_class", "pair", {"multi_class": "joint"}),
    ("kernel-of-pairs", "multi_class", "pair", {"multi_class": "joint"}),
    ("max-margin", "hinge", "l1", {"loss": "hinge"}),
    ("max-margin", "hinge", "l2", {"loss": "squared_hinge"}),
    ("naive-bayes", "smoothing", 0.5, {"alpha": 0.5}),
    ("calibrated", "method", "platt", {"method": "sigmoid", "on": "progressive"}),
    ("perceptron", "multi_class", "ovr", {"multi_class": "ovr"}),
]


@pytest.mark.parametrize(("name", "parameter", "value", "expected"), RENAMED)
def test_earlier_names_of_parameters_and_values_are_replaced(name, parameter, value, expected, path):
    told, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    parameters = told["model"].get("calibrated", told["model"])["parameters"]
    assert parameter in parameters
    parameters[parameter] = value
    forged(path, told, arrays)
    found = load(path).get_params(deep=False)
    assert {of: found[of] for of in expected} == expected


@pytest.mark.parametrize(("name", "value"), [("perceptron", None), ("located", "worst"), ("kernel-perceptron", None)])
def test_a_parameter_that_learners_lost_is_dropped(name, value):
    told = archive.read(GOLDEN / f"format-1-{name}.linsep")[0]["model"]["parameters"]
    assert told["select"] == value
    assert "select" not in load(GOLDEN / f"format-1-{name}.linsep").get_params()


@pytest.mark.parametrize(("name", "value"), [("perceptron", "last"), ("perceptron", 3), ("naive-bayes", None)])
def test_a_parameter_that_no_learner_had_is_refused(name, value, path):
    told, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    told["model"]["parameters"]["select"] = value
    forged(path, told, arrays)
    with pytest.raises(ModelError, match="has no parameter 'select'"):
        load(path)


def test_the_golden_file_with_data_reads_more(tmp_path):
    (tmp_path / "new.svm").write_text("0 2:1 4:9 5:2 12:1\n")
    new = linsep.read(tmp_path / "new.svm", like=load(GOLDEN / "format-1-with-data.linsep"))
    assert dense(new.X) == [[0, 1, 0, 0, 2, 0, 0, 0, 0]]
    assert new.unseen == 2


def test_there_is_a_golden_file_of_every_format_and_learner():
    names = {file.stem for file in GOLDEN.glob("*.linsep")}
    assert names == {
        f"format-{format}-{name}" for format in range(1, archive.FORMAT + 1) for name in (*MODELS, *EARLIER)
    }


def test_the_header_is_plain_safetensors(small):
    with safe_open(small, framework="numpy") as file:
        digest, _, text = file.metadata()["linsep"].partition(" ")
        assert digest == hashlib.sha256(text.encode()).hexdigest()
        assert json.loads(text)["format"] == archive.FORMAT
        assert file.get_tensor("model.link.s").shape == (4, 1)


REGRESSIONS = {
    "exact": lambda: linsep.LeastSquaresRegression().fit([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0]], [1.0, 3.0, 4.0]),
    "table": lambda: linsep.LeastSquaresRegression(fit_intercept=False).fit([[1.0], [2.0]], [[1.0, 2.0], [3.0, 4.0]]),
    "stream": lambda: linsep.LeastSquaresRegression(solver="stream").fit([[1.0], [2.0]], [1.0, 4.0]),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_regression_is_kept_whole(name, path):
    model = REGRESSIONS[name]()
    other = again(model, path)
    assert state(other) == state(model)
    asked = np.arange(4.0 * model.n_features_in_).reshape(4, -1)
    assert bits(other.predict(asked)) == bits(model.predict(asked))
    if name == "stream":
        for one in (model, other):
            one.partial_fit([[5.0]], [2.0])
        assert state(other) == state(model)
    scaled = make_pipeline(Scale(), linsep.LeastSquaresRegression()).fit([[1.0], [3.0]], [1.0, 2.0])
    assert bits(again(scaled, path).predict([[2.0]])) == bits(scaled.predict([[2.0]]))


def test_a_regression_keeps_the_names_of_its_features(path):
    rows = pd.DataFrame({"age": [0.0, 1.0, 2.0], "size": [1.0, 0.5, 2.0]})
    model = linsep.LeastSquaresRegression(solver="stream").fit(rows, [1.0, 3.0, 4.0])
    other = again(model, path)
    assert state(other) == state(model)
    assert other.feature_names_in_.tolist() == ["age", "size"]
    with pytest.raises(ValueError, match="feature names"):
        other.predict(rows[["size", "age"]])
    about, arrays = archive.read(path)
    del about["model"]["regression"]["named"]  # as earlier versions wrote it
    archive.write(path, about, {of: np.array(values) for of, values in arrays.items()})
    assert not hasattr(load(path), "feature_names_in_")


def test_a_regression_that_is_not_fitted_is_not_saved(path):
    with pytest.raises(ValueError, match="not fitted"):
        save(linsep.LeastSquaresRegression(), path)
    assert not path.exists()


FORGED = {
    "features": (lambda told, arrays: told.update(features=2), "weights have the shape"),
    "negative": (lambda told, arrays: told.update(n_iter=-1), "not a count"),
    "named": (lambda told, arrays: told.update(named=1), "does not state whether its features have names"),
    "flat": (lambda told, arrays: told.update(flat="no"), "flat='no'"),
    "bias": (lambda told, arrays: told.update(bias=2.0), "constant feature is 2.0"),
    "parameter": (lambda told, arrays: told["parameters"].update(speed=1), "no parameter 'speed'"),
    "solver": (lambda told, arrays: told["parameters"].update(solver="magic"), "solver"),
    "fact": (lambda told, arrays: told["facts"].update(predict=1), "nothing that LeastSquaresRegression finds"),
    "weights": (lambda told, arrays: arrays["model.weights"].fill(np.nan), "not finite"),
    "kind": (lambda told, arrays: arrays.update({"model.weights": np.zeros((2, 1), np.int64)}), "table of float64"),
    "sums": (lambda told, arrays: arrays["model.facts.triangle_"].fill(np.inf), "sums of rows"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_regressions_are_refused(name, path):
    save(REGRESSIONS["stream"](), path)
    about, arrays = archive.read(path)
    arrays = {of: np.array(values) for of, values in arrays.items()}
    change, reason = FORGED[name]
    change(about["model"]["regression"], arrays)
    archive.write(path, about, arrays)
    with pytest.raises(ModelError, match=reason):
        load(path)


def test_exports_of_a_regression_are_refused_by_name(path):
    model = REGRESSIONS["exact"]()
    for export in (linsep.export_json, linsep.export_csv, linsep.export_onnx):
        with pytest.raises(TypeError, match="LeastSquaresRegression predicts numbers: keep it with save"):
            export(model, path)
    with pytest.raises(TypeError, match="LeastSquaresRegression"):
        linsep.merge([model, model])
