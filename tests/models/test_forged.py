"""Model files whose sums are right and whose content is not: refused, or harmless."""

import hashlib
import json
import os
import struct
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linsep
from linsep import Calibrated, LeastSquares, LogisticRegression, ModelError, NaiveBayes, load, save
from linsep.models import archive
from linsep.models.file import opened
from tests.contracts.table import build, problem, quiet

X, Y = problem(3, n=8, p=3)


def words():
    """A learner whose features and labels have names."""
    clf = build("perceptron")
    for row, label in (({"a": 1.0, "b": 2.0}, "x"), ({"b": -1.0, "c": 1.0}, "y"), ({"c": 3.0}, "z")):
        clf.learn_one(row, label)
    return clf


MODELS = {
    "averaged": lambda: build("averaged-perceptron").fit(X, Y),
    "scaled": lambda: build("pegasos", random_state=np.random.RandomState(3), shuffle=True).fit(X, Y),
    "imaged": lambda: build("balanced-winnow", multi_class="pair").fit(X, Y),
    "words": words,
    "counts": lambda: NaiveBayes("gaussian").fit(X, Y),
    "sums": lambda: LeastSquares(solver="stream").fit(X, Y),
    "proof": lambda: LogisticRegression(solver="newton", prior_variance=1.0).fit(X, Y),
    "calibrated": lambda: Calibrated(build("perceptron"), on="progressive", window=20).fit(X, Y),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What files of small models hold, by name, and a path to forge one at."""
    path = tmp_path_factory.mktemp("forged") / "model.linsep"
    held = {}
    for name, make in MODELS.items():
        save(quiet(make), path, about={"note": [1, "two"]})
        held[name] = archive.read(path)
    return path, held


def forged(path, about, arrays):
    """Write a file whose sums are right, whatever it holds."""
    archive.write(path, {name: of for name, of in about.items() if name not in ("tensors", "format")}, arrays)
    return path


def leaves(told, way=()):
    """Yield the way to each value of a description, those that hold others included."""
    items = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    for name, value in items:
        yield (*way, name)
        yield from leaves(value, (*way, name))


def changed(about, way, value):
    """Return a description with another value at one place."""
    about = json.loads(json.dumps(about))
    place = about
    for name in way[:-1]:
        place = place[name]
    place[way[-1]] = value
    return about


DEEP = json.loads("[" * 500 + "]" * 500)
VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 7, 625, 1 << 31, 1 << 62, 1 << 63, 1 << 70, -(1 << 70), 0.5, -1e308, 1e-320, "",
    "x", "inf", "1", "perceptron", "Pegasos", "\x1b[2J", [], {}, [1], {"list": [1]}, {"tuple": ["a", None]},
    {"float": "nan"}, {"float": "inf"}, {"dict": [[0, 2.0]]}, {"array": "model.classes"}, {"dtype": "float32"},
    {"words": "model.classes", "width": 1, "shape": [1]}, {"rule": "Perceptron", "numbers": {}}, DEEP,
]  # fmt: skip
ARRAYS = {
    "cut": lambda a: a[:-1], "twice": lambda a: np.concatenate([a, a]), "empty": lambda a: a[:0],
    "deeper": lambda a: a[..., None], "backwards": lambda a: a[::-1].copy(), "zeros": np.zeros_like,
    "ones": np.ones_like, "floats": lambda a: a.astype(np.float32), "as floats": lambda a: a.astype(np.float64),
    "ints": lambda a: a.astype(np.int32), "highest": lambda a: np.full_like(a, highest(a)),
    "lowest": lambda a: np.full_like(a, lowest(a)), "nan": lambda a: np.full(a.shape, np.nan),
    "infinite": lambda a: np.full(a.shape, -np.inf), "bools": lambda a: a.astype(bool),
    "nested": lambda a: np.frombuffer(b"[" * 200_000, np.uint8),
}  # fmt: skip


def highest(a):
    return np.finfo(a.dtype).max if a.dtype.kind == "f" else np.iinfo(a.dtype).max


def lowest(a):
    return np.finfo(a.dtype).min if a.dtype.kind == "f" else np.iinfo(a.dtype).min


def use(path):
    """Load, ask and train; only ModelErrors of one line, ValueErrors and TypeErrors may come of it."""
    try:
        model = load(path)
    except ModelError as error:
        assert str(error).isprintable()  # noqa: PT017
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asks = [lambda: model.predict(X)]
        if hasattr(model, "partial_fit"):
            asks.append(lambda: model.partial_fit(X, model.classes_[Y]))
        for ask in asks:
            with suppress(ValueError, TypeError):
                ask()
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_anything_else_in_a_description_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    way = data.draw(st.sampled_from([way for way in leaves(about) if way[0] not in ("tensors", "format")]))
    use(forged(path, changed(about, way, data.draw(st.sampled_from(VALUES))), arrays))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_other_array_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    name = data.draw(st.sampled_from(list(arrays)))
    with np.errstate(all="ignore"):
        other = ARRAYS[data.draw(st.sampled_from(list(ARRAYS)))](arrays[name])
    use(forged(path, about, {**arrays, name: other}))


def test_a_file_that_is_not_forged_is_used(files):
    path, held = files
    for about, arrays in held.values():
        assert use(forged(path, about, arrays))


MACHINE = ("model", "machine")
REFUSED = [
    ("averaged", (*MACHINE, "bias"), True), ("averaged", (*MACHINE, "bias"), "1"),
    ("averaged", (*MACHINE, "bias"), 1 << 63), ("averaged", ("model", "parameters", "n_jobs"), 1 << 31),
    ("averaged", (*MACHINE, "rows"), 1 << 63), ("averaged", (*MACHINE, "epochs"), True),
    ("averaged", (*MACHINE, "log_limit"), "much"), ("averaged", (*MACHINE, "log_limit"), {"float": "nan"}),
    ("averaged", (*MACHINE, "rule"), {"tuple": []}), ("averaged", (*MACHINE, "no_log_because"), 3),
    ("averaged", ("model", "seed"), 1 << 70), ("averaged", ("model", "n_iter"), True),
    ("averaged", ("model", "named"), 1),
    ("averaged", ("version",), {"a": 1}), ("averaged", ("about",), [1]),
    ("imaged", (*MACHINE, "link", "number"), {"float": "nan"}), ("imaged", (*MACHINE, "link", "number"), "0.1"),
    ("scaled", (*MACHINE, "link", "floor"), 2.0),
    ("scaled", ("model", "parameters", "random_state", "place"), 625),
    ("scaled", ("model", "parameters", "random_state", "place"), -1),
    ("scaled", ("model", "parameters", "random_state", "place"), 1 << 31),
    ("scaled", ("model", "parameters", "random_state", "place"), True),
    ("scaled", ("model", "parameters", "random_state", "normal"), [2, 0.0]),
    ("scaled", ("model", "parameters", "random_state", "normal"), [0, "0"]),
    ("scaled", ("model", "parameters", "random_state", "normal"), [0, {"float": "nan"}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "way", "value"), REFUSED)
def test_numbers_that_are_none_are_refused(files, name, way, value):
    path, held = files
    about, arrays = held[name]
    with pytest.raises(ModelError, match="though its sums are right"):
        load(forged(path, changed(about, way, value), arrays))


@pytest.mark.parametrize("of", ["s", "u", "mass", "clock"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(files, of, value):
    path, held = files
    about, arrays = held["averaged"]
    name = f"model.{'link' if of == 's' else 'readout'}.{of}"
    other = arrays[name].copy()
    other.flat[0] = value
    with pytest.raises(ModelError, match=f"{of} has a number that is not finite"):
        load(forged(path, about, {**arrays, name: other}))


def test_images_may_be_infinite(files):
    path, held = files
    about, arrays = held["imaged"]
    load(forged(path, about, {**arrays, "model.link.image": np.full_like(arrays["model.link.image"], np.inf)}))


def test_names_that_are_there_twice_are_refused(files):
    path, held = files
    about, arrays = held["words"]
    twice = np.frombuffer(json.dumps(["a", "b", "c", "c"]).encode(), np.uint8)
    with pytest.raises(ModelError, match="4 names for 3 features"):
        load(forged(path, about, {**arrays, "model.feature_names": twice}))


def test_what_is_nested_too_deep_is_refused(files):
    path, held = files
    about, arrays = held["words"]
    nested = np.frombuffer(b"[" * 200_000, np.uint8)
    with pytest.raises(ModelError, match="RecursionError"):
        load(forged(path, about, {**arrays, "model.feature_names": nested}))
    told = {"list": []}
    for _ in range(320):
        told = {"list": [told]}
    with pytest.raises(ModelError):
        opened(forged(path, {**about, "about": told}, arrays))


def raw(path, tensors, about, body=b""):
    """Write a safetensors file by hand."""
    text = json.dumps({**about, "format": 1, "tensors": {name: {} for name in tensors}})
    digest = hashlib.sha256(text.encode()).hexdigest()
    header = json.dumps({"__metadata__": {"linsep": f"{digest} {text}"}, **tensors}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)
    return path


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2", "C64"])
def test_arrays_of_types_that_are_never_written_are_refused(files, dtype):
    sizes = {"BF16": 2, "C64": 8}
    size = sizes.get(dtype, 1)
    told = {"model.link.s": {"dtype": dtype, "shape": [2], "data_offsets": [0, 2 * size]}}
    with pytest.raises(ModelError, match=r"linsep never writes|no whole linsep model"):
        load(raw(files[0], told, files[1]["averaged"][0], bytes(2 * size)))


@pytest.mark.parametrize("shape", [[0, 1 << 60], [1 << 62, 0], [0] + [2] * 70])
def test_arrays_of_impossible_shapes_are_refused(files, shape):
    told = {"model.link.s": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}}
    with pytest.raises(ModelError):
        load(raw(files[0], told, files[1]["averaged"][0]))


def test_what_a_newer_file_says_can_not_move_the_cursor(files, monkeypatch):
    path, held = files
    about, arrays = held["averaged"]
    monkeypatch.setattr(archive, "FORMAT", 7)
    forged(path, {**about, "version": "\x1b[2J\r\nall is well"}, arrays)
    monkeypatch.undo()
    with pytest.raises(ModelError, match=r"of linsep \\x1b\[2J\\r\\nall") as caught:
        load(path)
    assert str(caught.value).isprintable()


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_counts_of_documents_are_checked(tmp_path):
    path = tmp_path / "model.linsep"
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(linsep.TextHasher(1 << 10, idf=True), build("perceptron"))
    save(quiet(model.fit, ["a rose is a rose", "is it"], [0, 1]), path)
    about, arrays = archive.read(path)
    name = next(name for name in arrays if name.endswith("_frequencies"))
    state = json.loads(arrays[name].tobytes())
    wrong = {"documents": [-1, "2"], "columns": [[-1, 2, 3], [1 << 10] * 3], "in": [[1], [-1] * 3]}
    for key, value in [(key, value) for key, values in wrong.items() for value in values]:
        other = np.frombuffer(json.dumps(state | {key: value}).encode(), np.uint8)
        with pytest.raises(ModelError, match="though its sums are right"):
            load(forged(path, about, {**arrays, name: other}))
