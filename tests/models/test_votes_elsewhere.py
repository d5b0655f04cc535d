"""Voted and kernel perceptrons for other programs, merged and made sparse: what has weights goes, the rest says why."""

import csv
import json

import numpy as np
import pytest

from linsep import KernelPerceptron, Perceptron, VotedPerceptron, export_csv, export_json, export_onnx, merge
from linsep.estimators.base.voter import LINEAR, VOTER_READOUTS
from linsep.models.named_weights import named_weights
from tests.contracts.table import problem, quiet

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

every_kind = pytest.mark.parametrize("kind", [VotedPerceptron, KernelPerceptron])
WRITERS = {"onnx": export_onnx, "json": export_json, "csv": export_csv}


def trained(kind, classes=3, multi_class="ovr", **more):
    X, y = problem(classes, reals=True, noise=0.3)
    return quiet(kind(random_state=0, multi_class=multi_class, **more).fit, X, y), X


@pytest.mark.slow
@pytest.mark.parametrize("readout", LINEAR)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovr"), (3, "ovr"), (3, "joint")])
def test_readouts_with_weights_are_exported(readout, normalize, classes, multi_class, tmp_path):
    model, X = trained(VotedPerceptron, classes, multi_class, readout=readout, normalize=normalize)
    scores = model.decision_function(X)
    session = runtime.InferenceSession(export_onnx(model).SerializeToString())
    label, found = session.run(["label", "scores"], {"X": X})
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12 * np.abs(scores).max())
    assert np.array_equal(label, model.predict(X))
    export_json(model, tmp_path / "weights.json")
    told = json.loads((tmp_path / "weights.json").read_text())["weights"]
    by_hand = [[of["weights"].get(f"x{j}", 0.0) for j in range(6)] for of in told]
    assert np.array_equal(by_hand, model.coef_)
    export_csv(model, tmp_path / "weights.csv")
    with open(tmp_path / "weights.csv", newline="") as file:
        biases = [float(row[3]) for row in csv.reader(file) if row[1] == "bias"]
    assert biases == model.intercept_.tolist()


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("readout", sorted(set(VOTER_READOUTS) - set(LINEAR)))
def test_readouts_without_weights_name_one_that_has(form, readout, tmp_path):
    model, _ = trained(VotedPerceptron, readout=readout)
    path = tmp_path / "weights"
    expected = rf'readout="{readout}" asks all weights of the run, .*: set_params\(readout="average"\) has'
    with pytest.raises(TypeError, match=expected):
        WRITERS[form](model, path)
    assert not path.exists()
    WRITERS[form](model.set_params(readout="average"), path)
    assert path.exists()


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("readout", ["vote", "average"])
def test_kernels_have_no_weights_to_export(form, readout, tmp_path):
    model, _ = trained(KernelPerceptron, readout=readout)
    with pytest.raises(TypeError, match=r"weights of rows, .* VotedPerceptron on .*Polynomial .* with save"):
        WRITERS[form](model, tmp_path / "weights")
    assert not (tmp_path / "weights").exists()
    with pytest.raises(TypeError, match="weights of rows"):
        named_weights(model)


@every_kind
@pytest.mark.parametrize("readout", ["vote", "last"])
@pytest.mark.parametrize("how", ["average", "sum"])
def test_runs_are_not_merged(kind, readout, how):
    model, X = trained(kind, readout=readout)
    with pytest.raises(ValueError, match=rf"{kind.__name__} is not merged, as .* one run, .* AveragedPerceptron"):
        merge([model, model], how=how)
    with pytest.raises(ValueError, match="they can't be merged"):
        merge([model, trained(Perceptron)[0]], how=how)
    alone = merge([model], how=how)
    assert np.array_equal(alone.decision_function(X), model.decision_function(X))


@every_kind
def test_there_are_no_weights_to_leave_out(kind):
    model, _ = trained(kind)
    assert not hasattr(model, "sparsify")
    with pytest.raises(AttributeError, match="keeps the rows of its mistakes"):
        _ = model.sparsify
    assert model.densify() is model
