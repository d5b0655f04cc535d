"""`linsep convert`: data to the binary form, models to other programs' forms; and `linsep bench`."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import linsep
from linsep.cli.app import app
from linsep.cli.jobs.comparing import choose_learners
from tests.cli.files import write_model


def run(*args):
    return CliRunner().invoke(app, list(map(str, args)))


def test_data_are_the_same_in_binary_form(folder):
    result = run("convert", "train.svm", "test.svm", "-o", "all.npz")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("all.npz: 160 rows, 12 features, ")
    expected, found = linsep.read(["train.svm", "test.svm"]), linsep.read("all.npz")
    assert (expected.X != found.X).nnz == 0
    assert np.array_equal(expected.y, found.y)


def test_options_reach_the_reader(folder):
    (folder / "bad.svm").write_text("1 1:1\n0 x\n2 5:1\n")
    result = run("convert", "bad.svm", "-o", "bad.npz", "--on-error", "skip", "-O", "n_features=20")
    assert "2 rows, 20 features, 1 malformed rows left out" in result.stdout


def test_weights_by_name(folder):
    model = write_model(folder / "mail.linsep", "train.txt", vocabulary=True)
    assert run("convert", "mail.linsep", "-o", "weights.json").exit_code == 0
    assert run("convert", "mail.linsep", "-o", "weights.csv").exit_code == 0
    [weights] = json.loads((folder / "weights.json").read_text())["weights"]
    rows = list(csv.DictReader((folder / "weights.csv").read_text().splitlines()))
    assert {row["name"]: float(row["weight"]) for row in rows if row["part"] == "feature"} == weights["weights"]
    assert sorted(weights["weights"].values()) == sorted(model.coef_[model.coef_ != 0].tolist())
    assert "lunch" in weights["weights"]


def test_numbers_of_columns_are_those_of_the_file(folder):
    run("convert", "model.linsep", "-o", "weights.json")
    parts = json.loads((folder / "weights.json").read_text())["weights"]
    coef = linsep.load("model.linsep").coef_
    assert [part["weights"]["1"] for part in parts if "1" in part["weights"]] == coef[coef[:, 0] != 0, 0].tolist()


def test_onnx_of_float32_and_of_text(folder):
    onnx = pytest.importorskip("onnx")
    assert run("convert", "model.linsep", "-o", "model.onnx", "--float32").exit_code == 0
    [table] = onnx.load("model.onnx").graph.input
    assert table.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert run("convert", "model.linsep", "-o", "model.json", "--float32").exit_code == 2
    assert run("convert", "train.svm", "-o", "train.npz", "--float32").exit_code == 2
    assert run("fit", "train.csv", "--label", "income", "-o", "named.linsep", "--calibrate", "sigmoid").exit_code == 0
    assert run("convert", "named.linsep", "-o", "named.onnx").exit_code == 0
    told = {of.key: of.value for of in onnx.load("named.onnx").metadata_props}
    names = json.loads(told["feature_names"])
    assert len(names) == onnx.load("named.onnx").graph.input[0].type.tensor_type.shape.dim[1].dim_value
    assert run("fit", "train.txt", "-o", "text.linsep", "--format", "text").exit_code == 0
    refused = run("convert", "text.linsep", "-o", "text.onnx")
    assert refused.exit_code == 2
    assert "the model reads text" in refused.stderr


def test_onnx(folder):
    onnx = pytest.importorskip("onnx")
    assert run("convert", "model.linsep", "-o", "model.onnx").exit_code == 0
    assert [output.name for output in onnx.load("model.onnx").graph.output] == ["label", "scores"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["train.svm"], "missing option '--out'"),
        (["train.svm", "-o", "out.svm"], "ends in .npz, .json, .csv, .onnx"),
        (["model.linsep", "model.linsep", "-o", "a.csv"], "takes one model"),
        (["train.npz", "-o", "train.npz"], "is the source itself"),
        (["train.svm", "-o", "-"], "can't go to the standard output"),
    ],
)
def test_what_cant_be_converted_is_usage(folder, args, words):
    linsep.convert("train.svm", "train.npz")
    result = run("convert", *args)
    assert result.exit_code == 2
    assert words in result.stderr


def test_what_is_no_model_is_refused_and_nothing_is_written(folder):
    result = run("convert", "train.svm", "-o", "weights.csv")
    assert result.exit_code == 4
    assert not (folder / "weights.csv").exists()


def test_bench_times_reading_learners_and_prediction(folder):
    found = json.loads(run("bench", "train.svm", "--json").stdout)
    assert [part["work"] for part in found["runs"]] == ["reading", *choose_learners(()), "prediction"]
    assert all(part["seconds"] > 0 and part["runs"] >= 3 and part["rows"] == 120 for part in found["runs"])
    assert found["runs"][0]["bytes"] == (folder / "train.svm").stat().st_size


def test_bench_leaves_out_who_cant_and_says_why_if_nobody_can(folder):
    (folder / "large.svm").write_text("1 1:5\n0 2:1\n")
    found = json.loads(run("bench", "large.svm", "--json").stdout)
    assert "winnow" not in [part["work"] for part in found["runs"]]
    (folder / "one.svm").write_text("1 1:1\n1 2:1\n")
    result = run("bench", "one.svm")
    assert result.exit_code == 3
    assert "only one class" in result.stderr


def test_models_and_data_go_to_files_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    runner = CliRunner()
    assert runner.invoke(app, ["fit", "a.svm", "-o", "m.linsep", "--brief"]).exit_code == 0
    for args, code, words in (
        (["m.linsep", "-o", "m.npz"], 2, "m.linsep is a model"),
        (["a.svm", "-o", "a.csv"], 4, "it is no linsep model; data go to"),
    ):
        result = runner.invoke(app, ["convert", *args])
        assert (result.exit_code, words in result.stderr) == (code, True)
