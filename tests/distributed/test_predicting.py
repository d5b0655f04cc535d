"""Answers and scores by threads and workers: those that one process gives to all rows."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import AveragedPerceptron, LogisticRegression, NaiveBayes, distributed
from linsep.distributed import sources
from linsep.distributed.work import METHODS, no_predictions
from linsep.evaluation.scoring import Scoring
from linsep.evaluation.scoring import predictions as asked
from tests.distributed.rows import fit, problem, write

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[2, 3])
def rows(request, tmp_path_factory):
    """Three files, one without rows."""
    X, y = problem(classes=request.param)
    folder = tmp_path_factory.mktemp("rows")
    write(folder / "a.svm", X[:50], y[:50])
    (folder / "b.svm").write_text("# nothing here\n")
    write(folder / "c.svm", X[50:], y[50:])
    return folder


@pytest.fixture(params=["threads", "cluster"])
def who(request):
    return request.getfixturevalue("client") if request.param == "cluster" else None


MODELS = {
    "averaged": AveragedPerceptron(shards=3, random_state=0, max_iter=3),
    "logistic": LogisticRegression(solver="sgd", random_state=0, max_iter=3),
    "bayes": NaiveBayes(kind="gaussian"),
}


@pytest.mark.parametrize("name", MODELS)
def test_predict(rows, who, name, monkeypatch):
    monkeypatch.setattr(sources, "PREDICTED", 300)
    model, data = fit(MODELS[name], rows), linsep.read(rows)
    expected = {"labels": model.predict(data.X), "scores": model.decision_function(data.X)}
    if name != "averaged":
        expected["probabilities"] = model.predict_proba(data.X)
    for what, wanted in expected.items():
        found = distributed.predict(model, rows, client=who, what=what)
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()
    assert sum(map(len, distributed.predictions(model, rows, client=who))) == len(data.y)


@pytest.mark.parametrize("name", MODELS)
def test_evaluate(rows, who, name, monkeypatch):
    monkeypatch.setattr(sources, "PREDICTED", 300)
    model, data = fit(MODELS[name], rows), linsep.read(rows)
    said = asked(model, data.X)
    same_scores(
        distributed.evaluate(model, rows, client=who),
        Scoring(model.classes_).add(data.y, said.labels, said.scores, said.probabilities).result(),
    )


def same_scores(found, expected):
    """All that is counted is the same; sums of floats are, but for the order in which they were added."""
    for name in (field.name for field in fields(expected)):
        one, other = getattr(found, name), getattr(expected, name)
        if sp.issparse(other):
            assert (one != other).nnz == 0
        elif name in ("calibration", "brier", "calibration_error", "log_loss") and other is not None:
            np.testing.assert_allclose(np.ravel(one).astype(float), np.ravel(other).astype(float), rtol=1e-12)
        else:
            assert one == other


def test_rows_without_labels(tmp_path, who):
    X, y = problem()
    told = ["| " + " ".join(f"f{j}:{x}" for j, x in enumerate(row)) for row in X]
    all_told, some = tmp_path / "all.vw", tmp_path / "some.vw"
    all_told.write_text("".join(f"{label} {row}\n" for label, row in zip(y, told, strict=True)))
    some.write_text("".join(f"{'' if k % 3 == 0 else y[k]} {row}\n" for k, row in enumerate(told)))
    model = fit(AveragedPerceptron(shards=2, random_state=0, max_iter=2), all_told, n_features=64)
    found = model.predict(linsep.read(all_told, like=model).X)
    assert np.array_equal(distributed.predict(model, some, client=who), found)
    scores = distributed.evaluate(model, some, client=who)
    assert (scores.rows, scores.unlabelled) == (80, 40)
    assert scores.wrong == np.count_nonzero((found != y)[np.arange(len(y)) % 3 > 0])


class Recorder:
    """A model of more columns than a dense row could have."""

    n_features_in_ = 2**40

    def predict(self, X):
        self.entries, self.width = X.nnz, X.shape[1]
        return np.array([1])


def test_an_empty_shard_needs_no_memory_for_its_columns():
    model = Recorder()
    assert no_predictions(model, "labels").shape == (0,)
    assert (model.entries, model.width) == (0, 2**40)


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_for_no_rows_have_the_type_and_shape_of_others(classes):
    X, y = problem(classes=classes)
    X, y = X.astype(float), np.array(["a", "b", "c"])[y if classes == 3 else (y + 1) // 2]
    bayes = NaiveBayes(kind="gaussian").fit(X, y)
    scaled = make_pipeline(StandardScaler(), NaiveBayes(kind="gaussian")).fit(X, y)  # can't scale sparse rows
    for model in (AveragedPerceptron().partial_fit(X, y), bayes, scaled):
        for what, method in METHODS.items():
            if hasattr(model, method):
                found, expected = no_predictions(model, what), getattr(model, method)(X)[:0]
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


def test_what_can_not_be_asked(tmp_path):
    path = write(tmp_path / "rows.svm", *problem())
    model = fit(AveragedPerceptron(shards=2, max_iter=1), path)
    with pytest.raises(ValueError, match="what='votes': it is one of labels, scores, probabilities"):
        distributed.predict(model, path, what="votes")
    with pytest.raises(ValueError, match="AveragedPerceptron has no probabilities"):
        distributed.predict(model, path, what="probabilities")


def test_a_malformed_row_is_named(tmp_path, who):
    path = write(tmp_path / "rows.svm", *problem())
    model = fit(AveragedPerceptron(shards=2, max_iter=1), path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:76], "+1 1:2 3:four", *lines[77:]]) + "\n")
    for call in (distributed.predict, distributed.evaluate):
        with pytest.raises(linsep.DataError, match=r"rows\.svm, line 77, column"):
            call(model, path, client=who)


def test_progress_is_called_after_every_shard_that_is_counted(tmp_path):
    path, reports = write(tmp_path / "rows.svm", *problem()), []
    fit(NaiveBayes(kind="gaussian"), path, progress=reports.append)
    for epoch in (0, 1):
        assert [one.shards for one in reports if one.epoch == epoch] == list(range(1, reports[0].of + 1))
