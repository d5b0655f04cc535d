"""Certificates of rows that are read in passes agree with those of rows in memory."""

import json
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from linsep import Perceptron, certify, read, save, stream, verify
from linsep.certificates import passes
from linsep.certificates.certificate import Certificate
from linsep.cli.app import app
from linsep.validation.errors import InvalidDataError, ParameterError

SIZES = (1, 7, 1000)


@pytest.fixture(scope="module", params=["separable", "noisy", "three"])
def data(request, tmp_path_factory):
    """Return a file, its rows in memory, and a model of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3)).round(2)
    scores = X @ [1.0, -2.0, 0.5]
    y = {"separable": scores > 0, "noisy": scores + 2 * rng.normal(size=24) > 0, "three": np.digitize(scores, [-1, 1])}
    path = tmp_path_factory.mktemp("passes") / "rows.svm"
    dump_svmlight_file(X, y[request.param].astype(int), str(path), zero_based=False)
    rows = read(path)
    return path, rows, Perceptron(max_iter=20).fit(rows.X, rows.y)


def test_the_certificate_and_its_checks_do_not_depend_on_the_blocks(data):
    path, rows, model = data
    texts = set()
    for size in SIZES:
        cert = certify(stream(path, block_rows=size), model=model, least_error=True)
        texts.add(cert.text())
        assert verify(cert, stream(path, block_rows=size)).checks == verify(cert, rows.X, rows.y).checks
        assert verify(cert, rows.X, rows.y)
    assert len(texts) == 1
    assert cert.number("errors of the model") == (model.predict(rows.X) != rows.y).sum()


def test_certificates_made_in_memory_are_checked_in_passes(data):
    path, rows, model = data
    scaled = {"scaling": True} if len(model.classes_) == 2 else {}
    for cert in (certify(rows.X, rows.y, least_error=True, **scaled), certify(rows.X, rows.y, model=model)):
        whole = verify(cert, rows.X, rows.y)
        for size in SIZES:
            assert verify(cert, stream(path, block_rows=size)).checks == whole.checks


def test_forged_weights_and_other_rows_are_refused(data, tmp_path):
    path, rows, model = data
    cert = certify(stream(path, block_rows=7), model=model)
    facts = json.loads(cert.text())
    w = facts["problems"][cert.problems[0]]["w"]["model"]
    w["values"][0] = -w["values"][0] - 5 if isinstance(w["values"][0], int) else "0x1"
    forged = verify(Certificate(facts), stream(path, block_rows=7))
    assert not forged
    assert forged.checks == verify(Certificate(facts), rows.X, rows.y).checks
    lines = path.read_text().splitlines(keepends=True)
    for k, other in enumerate([lines[1:], [*lines, lines[0]], lines[::-1]]):
        more = tmp_path / f"{k}.svm"
        more.write_text("".join(other))
        assert [claim for claim, _ in verify(cert, stream(more, block_rows=7)).failures] == ["data"]


def test_claims_of_runs_need_the_rows(data):
    path, rows, model = data
    cert = model.certificate(rows.X, rows.y)
    for claims in (cert.claims, {k: v for k, v in cert.claims.items() if not k.startswith("run")}):
        result = verify(Certificate(cert.facts | {"claims": claims}), stream(path))
        assert not result
        assert not result.failures
        assert result.unchecked
        assert all(claim.startswith("run") for claim in result.unchecked)


def test_arguments_that_a_stream_does_not_take(data):
    path, rows, model = data
    with pytest.raises(ParameterError, match="model= is missing"):
        certify(stream(path))
    with pytest.raises(ParameterError, match="y= is given"):
        certify(stream(path), rows.y, model=model)
    with pytest.raises(ParameterError, match="remove y"):
        verify(certify(rows.X, rows.y), stream(path), rows.y)
    with pytest.raises(InvalidDataError, match=r"4 features, and the model 3: .*zero_based=true"):
        certify(stream(path, zero_based=True), model=model)


def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "CORE_ROWS", 20)
    X, peaks = np.random.default_rng(0).integers(-3, 4, size=(20_000, 2)).astype(float), []
    y = (X.sum(axis=1) > 1).astype(int)
    model = Perceptron(random_state=0).fit(X[:1000], y[:1000])
    for n in (1_000, 2_000, 20_000):
        np.savez(tmp_path / f"{n}.npz", X=X[:n], y=y[:n])
        blocks = stream(tmp_path / f"{n}.npz", block_rows=500)
        for work in (
            lambda rows: list(map(len, rows)),
            lambda rows: verify(certify(rows, model=model, passes=1), rows),
        ):
            tracemalloc.start()
            assert work(blocks)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    read_few, few, read_many, many = peaks[2:]  # the first run also makes what later ones share
    assert many - read_many < 1.5 * (few - read_few), peaks  # reading alone takes room for the labels of the file


def test_the_command_line(data, tmp_path, monkeypatch):
    path, _, model = data
    monkeypatch.chdir(tmp_path)
    save(model, "m.linsep")
    for words, code in {
        f"certify {path} --stream --model m.linsep -o s.cert --brief": 0,
        f"verify s.cert {path} --stream --brief": 0,
        f"verify s.cert {path} --brief": 0,
        f"certify {path} --stream": 2,
        f"certify {path} --stream --model m.linsep --scaling": 2,
    }.items():
        result = CliRunner().invoke(app, words.split())
        assert result.exit_code == code, result.output


@pytest.mark.parametrize("change", [lambda text: text + text.splitlines()[0] + "\n", lambda text: "1" + text[1:]])
def test_a_file_that_changes_between_passes_is_named(tmp_path, change):
    """A row more, and as many rows with other labels."""
    path = tmp_path / "rows.svm"
    path.write_text("0 1:1\n1 1:2\n0 1:3\n")
    rows = passes.StreamedRows(stream(path, cache=False), (3, 1), ["0", "1"])
    path.write_text(change(path.read_text()))
    with pytest.raises(passes.ReadingError) as found:
        list(rows.parts())
    assert "changed" in str(found.value.__cause__)
