"""Model files whose sums are right and whose content is not: refused, or harmless."""

import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import warnings
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import linsep
from linsep import CalibratedClassifier, LeastSquares, LogisticRegression, ModelError, NaiveBayes, load, save
from linsep.models import archive
from linsep.models.save_load import opened
from tests.contracts.table import build, problem, quiet
from tests.models.forger import (
    ARRAYS,
    GOLDEN,
    HONEST,
    VALUES,
    at,
    changed,
    forged,
    honest,
    inspect,
    leaves,
    spelled,
    without,
)

X, Y = problem(3, n=8, p=3)
MISSING = object()


def words():
    """A learner whose features and labels have names."""
    clf = build("perceptron")
    for row, label in (({"a": 1.0, "b": 2.0}, "x"), ({"b": -1.0, "c": 1.0}, "y"), ({"c": 3.0}, "z")):
        clf.learn_one(row, label)
    return clf


MODELS = {
    "averaged": lambda: build("averaged-perceptron").fit(X, Y),
    "scaled": lambda: build("pegasos", random_state=np.random.RandomState(3), shuffle=True).fit(X, Y),
    "imaged": lambda: build("balanced-winnow", multi_class="joint").fit(X, Y),
    "words": words,
    "counts": lambda: NaiveBayes("gaussian").fit(X, Y),
    "sums": lambda: LeastSquares(solver="stream").fit(X, Y),
    "proof": lambda: LogisticRegression(solver="newton", prior_variance=1.0).fit(X, Y),
    "calibrated": lambda: CalibratedClassifier(build("perceptron"), on="progressive", window=20).fit(X, Y),
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


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_anything_else_in_a_description_is_refused_or_harmless(files, data):
    path, held = files
    about, arrays = held[data.draw(st.sampled_from(list(MODELS)))]
    way = data.draw(st.sampled_from([way for way in leaves(about) if way[0] not in ("tensors", "format")]))
    use(forged(path, changed(about, way, data.draw(st.sampled_from(VALUES))), arrays))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
RULE = (*MACHINE, "rule")
REFUSED = [
    ("averaged", (*MACHINE, "bias"), True), ("averaged", (*MACHINE, "bias"), "1"),
    ("averaged", (*MACHINE, "bias"), 1 << 63), ("averaged", ("model", "parameters", "n_jobs"), 1 << 31),
    ("averaged", ("model", "parameters", "n_jobs"), 0), ("averaged", ("model", "parameters", "n_jobs"), False),
    ("averaged", (*MACHINE, "rows"), 1 << 63), ("averaged", (*MACHINE, "epochs"), True),
    ("averaged", (*MACHINE, "log_limit"), "much"), ("averaged", (*MACHINE, "log_limit"), {"float": "nan"}),
    ("averaged", (*MACHINE, "rule"), {"tuple": []}), ("averaged", (*MACHINE, "no_log_because"), 3),
    ("averaged", ("model", "seed"), 1 << 70), ("averaged", ("model", "n_iter"), True),
    ("averaged", ("model", "named"), 1),
    ("averaged", ("version",), {"a": 1}), ("averaged", ("about",), [1]),
    ("averaged", RULE, {"rule": "PassiveAggressive", "numbers": {}}),
    ("averaged", RULE, {"rule": "PassiveAggressiveI", "numbers": {"C": 1.0}}),
    ("scaled", RULE, {"rule": "Romma", "numbers": {}}), ("scaled", (*RULE, "numbers", "alpha"), -0.1),
    ("scaled", (*RULE, "numbers", "alpha"), 0.0), ("scaled", (*RULE, "numbers", "alpha"), {"float": "nan"}),
    ("imaged", (*MACHINE, "link", "form"), 2),
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
    with pytest.raises(ModelError, match="though its checksums match"):
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


@pytest.mark.parametrize(
    ("name", "of", "value"),
    [
        ("pegasos", "link.scale", 0.0), ("pegasos", "link.scale", -1e-200), ("romma", "link.scale", 1e100),
        ("averaged-perceptron", "readout.clock", -1.0), ("passive-aggressive", "log.sizes", np.nan),
        ("passive-aggressive", "log.sizes", np.inf),
    ],
)  # fmt: skip
def test_floats_that_no_training_makes_are_refused(tmp_path, name, of, value):
    about, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    other = arrays[f"model.{of}"].copy()
    other.flat[0] = value
    with pytest.raises(ModelError, match=r"though its checksums match: .*(below 0|folded|not finite)"):
        load(forged(tmp_path / "model.linsep", about, {**arrays, f"model.{of}": other}))


def test_a_negative_scale_is_loaded(tmp_path):
    """A rule of the user's own may multiply the weights with a number below 0."""
    about, arrays = archive.read(GOLDEN / "format-1-romma.linsep")
    load(forged(tmp_path / "model.linsep", about, {**arrays, "model.link.scale": -arrays["model.link.scale"]}))


@pytest.mark.parametrize(
    ("name", "way", "value"),
    [
        ("p-norm-perceptron", ("link", "number"), 0.5), ("p-norm-perceptron", ("link", "form"), 1),
        ("winnow", ("link", "form"), 1), ("passive-aggressive", ("rule", "numbers", "C"), -1.0),
        ("passive-aggressive", ("rule",), {"rule": "Perceptron", "numbers": {}}),
        ("perceptron", ("rule",), {"rule": "PassiveAggressive", "numbers": {}}),
        ("perceptron", ("rule",), {"rule": "Solved", "numbers": {}}),
        ("voted-perceptron", ("rule",), {"rule": "PassiveAggressive", "numbers": {}}),
        ("max-margin", ("rule",), {"rule": "Perceptron", "numbers": {}}),
        ("logistic-regression", ("rule",), {"rule": "Hinge", "numbers": {"alpha": 1.0}}),
    ],
)  # fmt: skip
def test_rules_and_links_that_no_parameters_make_are_refused(tmp_path, name, way, value):
    about, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    with pytest.raises(ModelError, match=r"though its checksums match: .*(?:with which no|not of the kind|is none)"):
        load(forged(tmp_path / "model.linsep", changed(about, (*MACHINE, *way), value), arrays))


@pytest.mark.parametrize(("name", "readout"), [("perceptron", "average"), ("averaged-perceptron", "last")])
def test_a_readout_that_no_parameters_make_is_refused(tmp_path, name, readout):
    about, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    shape, columns = arrays["model.link.s"].shape, arrays["model.link.s"].shape[1]
    own = {"u": np.zeros(shape), "mass": np.zeros(columns), "clock": np.ones(1)}
    arrays = {**arrays, **{f"model.readout.{of}": array for of, array in own.items()}}
    about = changed(about, (*MACHINE, "kinds"), ["additive", readout])
    with pytest.raises(ModelError, match=r"though its checksums match: its readout is .* with which no"):
        load(forged(tmp_path / "model.linsep", about, arrays))


def test_a_norm_that_is_not_that_of_the_weights_is_refused(tmp_path):
    """A norm that was measured and not updated since is checked; rounding, of either sign, is allowed."""
    about, arrays = archive.read(GOLDEN / "format-1-romma.linsep")
    norm = np.sum((arrays["model.link.s"] * arrays["model.link.scale"]) ** 2, axis=0)
    measured = {**arrays, "model.link.age": np.zeros_like(arrays["model.link.age"]), "model.link.norm2": norm}
    load(forged(tmp_path / "model.linsep", about, measured))
    load(forged(tmp_path / "model.linsep", about, {**measured, "model.link.norm2": norm * (1 + 1e-9)}))
    none = {**measured, "model.link.s": 0 * arrays["model.link.s"]}
    load(forged(tmp_path / "model.linsep", about, {**none, "model.link.norm2": np.full_like(norm, -1e-310)}))
    for wrong in (2 * norm + 1, -norm - 1, norm + np.nan, norm + np.inf):
        with pytest.raises(ModelError, match=r"link\.norm2 has a number that is not the squared norm of its weights"):
            load(forged(tmp_path / "model.linsep", about, {**measured, "model.link.norm2": wrong}))


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_a_parameter_that_was_set_after_training_leaves_the_rule_that_trained(tmp_path, variant):
    learner = load(GOLDEN / "format-1-passive-aggressive.linsep")
    save(learner.set_params(variant=variant, C=0.125), tmp_path / "model.linsep")
    again = load(tmp_path / "model.linsep")
    assert again._state.rule == learner._state.rule
    assert again.variant == variant


FACTS = [
    ("linear-program", "separable_", True, "its verdict_ is"), ("linear-program", "separable_", None, "separable_"),
    ("linear-program", "separable_", 1, "separable_"), ("linear-program", "verdict_", "separable: all", "verdict_"),
    ("linear-program", "verdict_", 3, "verdict_"), ("linear-program", "verdict_", "\x1b[2J", "verdict_"),
    ("linear-program", "margin_", "x", "margin_"), ("linear-program", "margin_", True, "margin_"),
    ("linear-program", "error_", -1.0, "error_"), ("linear-program", "support_", {"list": [3, 7]}, "support_"),
    ("linear-program", "support_", MISSING, "not of the same rows"),
    ("linear-program", "mistaken_", {"array": "model.facts.dual_"}, "mistaken_"),
    ("linear-program", "witnesses_", {"array": "model.facts.support_"}, "witnesses_"),
    ("max-margin", "margin_", 0.5, "margin_"), ("max-margin", "margin_", {"array": "model.classes"}, "margin_"),
    ("max-margin", "separable_", {"list": [True, None, None]}, "have the margin -"),
    ("max-margin", "separable_", {"list": [None, None]}, "separable_"),
    ("max-margin", "dual_", {"array": "model.facts.dual_.0"}, "dual_"),
    ("max-margin", "support_", {"list": [{"array": f"model.facts.support_.{k}"} for k in (1, 1, 2)]}, "the same rows"),
    ("naive-bayes", "rounding_", "x", "rounding_"), ("naive-bayes", "open_labels_", 1, "open_labels_"),
    ("least-squares", "solver_", "magic", "solver_"), ("least-squares", "solver_", {"list": []}, "solver_"),
    ("least-squares", "optimality_", -1.0, "optimality_"), ("least-squares", "residual_", 3, "residual_"),
    ("least-squares", "residual_", {"list": [1.0, "x", 2.0]}, "residual_"), ("least-squares", "rank_", 4, "rank_"),
    ("least-squares", "condition_", "x", "condition_"), ("least-squares", "open_labels_", "x", "open_labels_"),
    ("voted-perceptron", "draws_", -1, "draws_"), ("voted-perceptron", "draws_", 1 << 62, "draws_"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "of", "value", "reason"), FACTS)
def test_facts_that_no_solver_finds_are_refused(tmp_path, name, of, value, reason):
    about, arrays = archive.read(GOLDEN / f"format-1-{name}.linsep")
    way = ("model", "facts", of)
    other = without(about, way) if value is MISSING else changed(about, way, value)
    with pytest.raises(ModelError, match=f"though its checksums match: .*{reason}") as caught:
        load(forged(tmp_path / "model.linsep", other, arrays))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("optimality_", "x"), ("optimality_", -1.0), ("value_", None), ("history_", 1.0),
        ("history_", {"list": [None]}), ("gradient_norm_", -1.0), ("converged_", "yes"), ("infinite_", 1),
        ("cause_", 0), ("cause_", -1),
    ],
)  # fmt: skip
def test_a_proof_of_logistic_regression_that_is_none_is_refused(files, of, value):
    path, held = files
    about, arrays = held["proof"]
    with pytest.raises(ModelError, match=f"though its checksums match: .*{of}"):
        load(forged(path, changed(about, ("model", "facts", of), value), arrays))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_rounding_that_is_none_is_refused(files, value):
    path, held = files
    about, arrays = held["counts"]
    other = np.full_like(arrays["model.facts.rounding_"], value)
    with pytest.raises(ModelError, match="round"):
        load(forged(path, about, {**arrays, "model.facts.rounding_": other}))


def test_images_may_be_infinite(files):
    path, held = files
    about, arrays = held["imaged"]
    load(forged(path, about, {**arrays, "model.link.image": np.full_like(arrays["model.link.image"], np.inf)}))


@pytest.mark.parametrize("name", ["winnow", "balanced-winnow", "p-norm-perceptron"])
def test_a_stale_image_is_replaced(name, tmp_path):
    """As a file has it whose learner was given another rate, and learned nothing with it."""
    draw = np.random.default_rng(0)
    rows, labels = draw.random((60, 5)), draw.integers(0, 2, 60)
    learner = quiet(build(name, max_iter=3).fit, rows, labels)
    save(learner, tmp_path / "model.linsep")
    about, arrays = archive.read(tmp_path / "model.linsep")
    image = arrays["model.link.image"]
    assert load(tmp_path / "model.linsep")._state.link.image.tolist() == image.tolist()
    for stale in (image**5, image[::-1].copy(), -image, np.zeros_like(image), np.full_like(image, np.inf)):
        loaded = load(forged(tmp_path / "stale.linsep", about, {**arrays, "model.link.image": stale}))
        assert loaded.predict(rows).tolist() == learner.predict(rows).tolist()
        assert [loaded.predict_one(row) for row in rows] == learner.predict(rows).tolist()
        assert quiet(loaded.partial_fit, rows, labels).coef_ == pytest.approx(
            quiet(load(tmp_path / "model.linsep").partial_fit, rows, labels).coef_
        )


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
    with pytest.raises(ModelError, match=r"linsep never writes|not a linsep model, or truncated"):
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
        with pytest.raises(ModelError, match="though its checksums match"):
            load(forged(path, about, {**arrays, name: other}))


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """What files of honest pipelines hold, by name, and a path to forge one at."""
    names = [name for name in HONEST if not name.startswith("data-")][:11]
    return tmp_path_factory.mktemp("forged") / "model.linsep", honest([*names, "data-wide"])


def step(number, *way):
    return "model", "pipeline", number, 1, *way


def parameter(name, number=0):
    return step(number, "parameters", name)


def learned(name, number=0):
    return step(number, "learned", name)


WRONG_MAPS = [
    ("polynomial", parameter("degree"), 100, "makes .* columns of 3, not 10"),
    ("polynomial", parameter("degree"), 1000, "makes .* columns of 3, not 10"),
    ("polynomial", parameter("degree"), 1 << 40, "the highest degree is 65,536"),
    ("polynomial", parameter("degree"), {"tuple": [1, 1 << 62]}, "the highest degree is 65,536"),
    ("polynomial", parameter("degree"), {"tuple": [1 << 15, 1 << 16]}, "makes .* columns of 3, not 10"),
    ("polynomial", parameter("degree"), {"list": [2, 1]}, "must be a number from 1 on"),
    ("polynomial", parameter("degree"), "2", "degree"),
    ("polynomial", parameter("degree"), True, "makes 4 columns of 3, not 10"),
    ("polynomial", parameter("include_bias"), False, "makes 9 columns of 3, not 10"),
    ("polynomial", parameter("interaction_only"), True, "makes 7 columns of 3, not 10"),
    ("polynomial", parameter("terms"), {"list": ["x0"]}, "term_lengths_ of its Polynomial is not an array"),
    ("polynomial", learned("n_features_in_"), 1 << 40, "too many: lower the degree|makes .* not 10"),
    ("polynomial", learned("n_features_in_"), 4, "makes 15 columns of 4, not 10"),
    ("polynomial", learned("n_features_in_"), 0, "n_features_in_ of its Polynomial is 0, not a count"),
    ("polynomial", learned("n_features_in_"), 3.0, r"n_features_in_ of its Polynomial is 3\.0, not a count"),
    ("polynomial", learned("n_features_out_"), 11, "makes 10 columns of 3, not 11"),
    ("polynomial", learned("n_features_out_"), MISSING, "n_features_out_ of its Polynomial is None"),
    ("polynomial", learned("feature_names_in_"), {"list": ["a", "b", "c"]}, "feature_names_in_ of its Polynomial"),
    ("polynomial", learned("_columns"), 3, "'_columns' is nothing that a map learns"),
    ("terms", parameter("terms"), {"list": ["x0", "x1 x2^1000000000", "1"]}, "more than 65,536 factors"),
    ("terms", parameter("terms"), {"list": ["x0", "x1 x2^3", "1"]}, "not those that it was fitted with"),
    ("terms", parameter("terms"), {"list": ["x0", "x1 x2^2"]}, "not those that it was fitted with"),
    ("terms", parameter("terms"), {"list": ["x0", "x1 x2^2", "1", "x0"]}, "not those that it was fitted with"),
    ("terms", parameter("terms"), {"list": ["x0", "x1 x3^2", "1"]}, "neither a column of X nor a power of one"),
    ("terms", parameter("terms"), None, "makes 9 columns of 3, not 3"),
    ("bias-scale", parameter("value"), 0.0, "value"),
    ("bias-scale", parameter("value"), {"float": "inf"}, "value"),
    ("bias-scale", parameter("value"), 1 << 2000, "OverflowError"),
    ("bias-scale", learned("n_features_out_"), 1 << 40, "makes 4 columns of 3, not"),
    ("bias-scale", learned("n_features_in_", 1), 5, "makes 5 columns of 5, not 4"),
    ("bias-scale", learned("divisor_", 1), 0.0, r"its Scale divides by 0\.0"),
    ("bias-scale", learned("divisor_", 1), {"float": "nan"}, "its Scale divides by nan"),
    ("bias-scale", learned("divisor_", 1), "2", "divisor_ of its Scale is not a number"),
    ("bias-scale", learned("largest_", 1), -1.0, "its Scale divides by"),
    ("bias-scale", learned("largest_", 1), MISSING, "largest_ of its Scale is not a number"),
    ("bias-scale", parameter("power_of_two", 1), False, "its Scale divides by"),
    ("columns", parameter("by"), "std", "mean_ of its ScaleColumns is not an array"),
    ("columns", parameter("by", 1), "max", "largest_ of its ScaleColumns is not an array"),
    ("columns", learned("n_rows_", 1), 0, "n_rows_ of its ScaleColumns is 0"),
    ("columns", learned("scale_"), {"list": [1.0, 1.0, 1.0]}, "scale_ of its ScaleColumns is not an array"),
    ("delta", parameter("delta"), 1 << 2000, "OverflowError"),
    ("delta", parameter("n_rows"), 5, "has columns for 12 rows, not for n_rows=5"),
    ("delta", learned("n_rows_"), 1 << 40, "columns of 3, not 15"),
    ("delta", learned("next_row_"), 13, "has extended more"),
    ("delta", learned("next_row_"), -1, "next_row_ of its DeltaTrick is -1"),
    ("delta", learned("next_counted_"), "x", "next_counted_ of its DeltaTrick is 'x'"),
    ("hasher", parameter("n_features"), 1 << 7, "takes 64 columns, and the step before makes 128"),
    ("hasher", parameter("n_features"), 0, "n_features=0 is not possible"),
    ("hasher", parameter("ngram_range"), {"tuple": [1, 10**9]}, "the most is 1,000"),
    ("hasher", parameter("ngram_range"), {"tuple": [2, 1]}, "ngram_range="),
    ("hasher", parameter("analyzer"), {"list": []}, "analyzer="),
    ("hasher", parameter("dtype"), -1, "TypeError"),
    ("hasher", parameter("idf"), True, "fit documents first"),
    ("hasher", parameter("norm"), {"dtype": "float32"}, "its norm is the type float32"),
    ("hasher", learned("_names"), 3, "_names of its TextHasher are not names"),
    ("weighted-hasher", learned("_frequencies"), 3, "_frequencies are not counts of documents"),
    ("weighted-hasher", learned("_frequencies"), MISSING, "fit documents first"),
    ("weighted-hasher", (*learned("_frequencies"), "width"), 1 << 40, "another number of columns"),
    ("weighted-hasher", (*learned("_frequencies"), "width"), "x", "counted for 'x' columns"),
    ("counter", learned("vocabulary_"), MISSING, "there is no vocabulary yet"),
    ("counter", learned("vocabulary_"), {"list": ["a"]}, "vocabulary_ of its TextCounter is not a vocabulary"),
    ("counter", (*learned("_frequencies"), "width"), 1 << 60, "another number of columns"),
    ("counter", learned("unseen_"), -1, "unseen_ of its TextCounter is -1"),
    ("counter", parameter("vocabulary"), {"list": ["rose"]}, "another vocabulary than the one given"),
    ("weighted-counter", parameter("vocabulary"), {"list": ["rose", "it"]}, "another vocabulary"),
    ("bias-scale", ("model", "pipeline", 0, 0), "scale", "do not have names of their own"),
    ("bias-scale", ("model", "pipeline", 0, 0), 3, "do not have names of their own"),
    ("terms", parameter("terms"), [["x0"]], "is nothing that linsep writes"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "way", "value", "reason"), WRONG_MAPS)
def test_maps_that_can_not_be_are_refused(pipelines, name, way, value, reason):
    path, held = pipelines
    about, arrays = held[name]
    other = without(about, way) if value is MISSING else changed(about, way, value)
    with pytest.raises(ModelError, match=f"though its checksums match: .*(?:{reason})") as caught:
        load(forged(path, other, arrays))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_a_map_that_passes_rows_through_is_read(pipelines):
    path, held = pipelines
    about, arrays = held["bias-scale"]
    load(forged(path, changed(about, step(0), {"map": "passthrough"}), arrays))


WRONG_MAP_ARRAYS = [
    ("terms", "polynomial.term_factors_", lambda a: a + 1, "not those that it was fitted with"),
    ("terms", "polynomial.term_factors_", lambda a: a[:-1], "another number of factors"),
    ("terms", "polynomial.term_lengths_", lambda a: a - 1, "another number of factors"),
    ("terms", "polynomial.term_lengths_", lambda a: np.full_like(a, 1 << 62), "another number of factors"),
    ("columns", "scalecolumns-1.scale_", np.zeros_like, "divides by other numbers"),
    ("columns", "scalecolumns-1.largest_", lambda a: -a, "largest_ of its ScaleColumns has a number that can't be"),
    ("columns", "scalecolumns-2.mean_", lambda a: a * np.nan, "mean_ of its ScaleColumns has a number"),
    ("columns", "scalecolumns-2.squares_", lambda a: a[:-1], "has 2 numbers, not 3"),
    ("weighted-counter", "textcounter._frequencies", lambda a: more_documents(a), "not counted as they should be"),
    ("counter", "textcounter.vocabulary_", lambda a: spelled(["rose"]), "another number of columns|the step before"),
    ("polynomial", "perceptron.tally.counts", lambda a: a + (1 << 62), "a count too large to resume from"),
]


def more_documents(array):
    state = json.loads(array.tobytes())
    return spelled(state | {"in": [state["documents"] + 1] * len(state["in"])})


@pytest.mark.parametrize(("name", "of", "change", "reason"), WRONG_MAP_ARRAYS)
def test_arrays_of_maps_that_can_not_be_are_refused(pipelines, name, of, change, reason):
    path, held = pipelines
    about, arrays = held[name]
    with pytest.raises(ModelError, match=f"though its checksums match: .*(?:{reason})"):
        load(forged(path, about, {**arrays, f"steps.{of}": change(arrays[f"steps.{of}"])}))


def test_honest_pipelines_are_loaded_as_they_were(pipelines, tmp_path):
    path, held = pipelines
    for about, arrays in held.values():
        model = opened(forged(path, about, arrays))
        save(model.model, tmp_path / "again.linsep", about=model.about)
        assert archive.read(tmp_path / "again.linsep")[0] == about


def test_what_load_refuses_save_refuses(tmp_path):
    from sklearn.pipeline import make_pipeline

    from linsep.transforms import Polynomial, Scale

    clf = quiet(build("perceptron").fit, X, Y)
    for maps, reason in [
        ([Polynomial(1)], "n_features_in_ of its Polynomial is None"),
        ([Scale().fit(X), Polynomial(2).fit(X)], "takes 3 columns, and the step before makes 9"),
        ([Polynomial(1).fit(X).set_params(degree=2)], "makes 9 columns of 3, not 3"),
    ]:
        with pytest.raises(ValueError, match=reason):
            save(make_pipeline(*maps, clf), tmp_path / "model.linsep")


class Perceptron(NamedTuple):
    """A rule of the user's own by the name of linsep's."""

    def step(self, score, y, xx):
        return 2 * y if y * score <= 0 else 0.0


SET_AFTER = {
    "threads": ({"n_jobs": 0}, "it asks for 0 threads"),
    "epochs": ({"max_iter": -1}, "'max_iter' parameter of Perceptron"),
    "seed": ({"random_state": "q"}, "'random_state' parameter of Perceptron"),
}


@pytest.mark.parametrize("case", SET_AFTER)
def test_parameters_that_load_refuses_are_not_saved(tmp_path, case):
    parameters, reason = SET_AFTER[case]
    clf = quiet(build("perceptron").fit, X, Y).set_params(**parameters)
    with pytest.raises(ValueError, match=f"can't be saved as it is, since load would refuse it: .*{reason}"):
        save(clf, tmp_path / "model.linsep")
    calibrated = quiet(CalibratedClassifier(build("perceptron"), cv=2).fit, X, Y)
    calibrated.estimator.set_params(**parameters)
    with pytest.raises(ValueError, match=reason):
        save(calibrated, tmp_path / "model.linsep")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_descriptions_that_load_refuses_are_not_saved(tmp_path):
    """Names that are no Unicode, headers longer than safetensors reads, and values nested too deeply."""
    from sklearn.pipeline import Pipeline

    from linsep.transforms import ScaleColumns

    clf, path = quiet(build("perceptron").fit, X, Y), tmp_path / "model.linsep"
    nested = []
    for _ in range(3000):
        nested = [nested]
    for about, reason in (
        ({"\ud800": np.arange(3)}, "can't be part of a name"), ({"a": "x" * 100_000_000}, "shorten about="),
        ({"a": nested}, "nested too deeply"), ({"a": np.longdouble(1)}, "which a file can't hold"),
        ([1], "not a version and a dict"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=reason):
            save(clf, path, about=about)
    steps = quiet(Pipeline([("\ud800", ScaleColumns()), ("learner", build("perceptron"))]).fit, X, Y)
    with pytest.raises(ValueError, match="can't be part of a name"):
        save(steps, path)
    own = quiet(linsep.OnlineClassifier(Perceptron(), random_state=0).fit, X, Y)
    with pytest.raises(ValueError, match=r"name of linsep's own rule Perceptron: rename the class"):
        save(own, path)
    assert not list(tmp_path.iterdir())


def test_known_columns_take_memory_as_the_file_does(pipelines):
    """A list of some known among billions of columns is kept as a list."""
    path, held = pipelines
    about, arrays = held["data-wide"]
    width = 3 << 30
    state = json.loads(arrays["form"].tobytes())
    told = changed(about, ("model", "features"), width)
    assert at(about, ("form", "known")) == "list"
    listed = np.arange(0, width, 4096, dtype=np.uint32)
    more = {"form": spelled(state | {"n_features": width}), "form.known": listed}
    forged(path, told, {**arrays, **more})
    size = path.stat().st_size
    tracemalloc.start()
    model = load(path)
    most = tracemalloc.get_traced_memory()[1]
    data = linsep.read(io.BytesIO(b"1 5:1 4097:1 8193:2\n"), like=model)
    tracemalloc.stop()
    assert most < 5 * size
    assert data.X.indices.tolist() == [4096, 8192]
    save(model, path)
    assert np.array_equal(archive.read(path)[1]["form.known"], listed)
    for wrong, reason in ((listed[::-1].copy(), "not in order"), (listed + np.uint32(4096), "one beyond")):
        with pytest.raises(ModelError, match=reason):
            load(forged(path, told, {**arrays, **more, "form.known": wrong}))


WRONG_FORMS = [
    ("grows", [[[]]]), ("grows", 1), ("n_features", "5"), ("n_features", True), ("zero_based", 0), ("low", None),
    ("high", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), WRONG_FORMS)
def test_ways_to_read_data_that_can_not_be_are_refused(pipelines, option, value):
    path, held = pipelines
    about, arrays = held["data-wide"]
    state = json.loads(arrays["form"].tobytes())
    assert option in state
    with pytest.raises(ModelError, match=f"how its data were read: {option} is"):
        load(forged(path, about, {**arrays, "form": spelled(state | {option: value})}))


@pytest.mark.parametrize("name", ["data-wide", "delta"])
def test_inspect_takes_memory_as_the_file_does(pipelines, name):
    """Only the features that are shown are named, and weights that are not stored stay so."""
    path, held = pipelines
    about, arrays = held["data-wide"]
    width = 1 << 30
    told = changed(changed(about, ("model", "features"), width), ("form",), None)
    if name == "delta":  # most columns are those of rows that were never there
        maps = changed(at(held["delta"][0], step(0)), ("learned",), {
            "n_features_in_": 3, "n_features_out_": width, "n_rows_": width - 3, "next_row_": 0, "next_counted_": 0,
        })  # fmt: skip
        arrays = {of.replace("model.", "steps.perceptron."): array for of, array in arrays.items()}
        classes = {"array": "steps.perceptron.classes"}
        told["model"] = {"pipeline": [["delta", maps], ["perceptron", {**told["model"], "classes": classes}]]}
    forged(path, told, arrays)
    tracemalloc.start()
    inspect(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 23


def test_weights_that_no_memory_could_hold_are_refused(pipelines):
    path, held = pipelines
    about, arrays = held["data-wide"]
    with pytest.raises(ModelError, match="too many to have been trained"):
        load(forged(path, changed(changed(about, ("model", "features"), 1 << 40), ("form",), None), arrays))


@pytest.mark.slow
def test_a_sample_of_forged_files_is_refused_or_behaves():
    """Each in a process of its own, with little memory and time; `benchmarks/forged_models.py` tries more."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.models.forger", "1", "40"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
