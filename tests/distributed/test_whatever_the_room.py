"""No bit depends on how much of the data a process can keep, nor on a guess from a few rows."""

import numpy as np
import pytest

from linsep import ROMMA, AveragedPerceptron, NaiveBayes, OnlineClassifier, distributed
from linsep.distributed import work
from linsep.distributed.work import ROW_CACHE
from linsep.rules import AggressiveRomma
from tests.distributed.rows import bits, fit, problem, write

pytestmark = pytest.mark.slow


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.svm", *problem(classes=3))


@pytest.fixture
def blocks_of_five(monkeypatch):
    monkeypatch.setattr(work, "STREAMED", 5)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "gaussian"])
def test_naive_bayes(kind, rows, tmp_path, monkeypatch, blocks_of_five):
    X, y = problem(classes=3)
    path = write(tmp_path / "floats.svm", np.abs(X), y)
    path.write_text(path.read_text().replace(":1 ", ":0.1 "))  # sums of tenths are not exact
    with_room = fit(NaiveBayes(kind=kind), path)
    monkeypatch.setattr(ROW_CACHE, "limit", lambda: 0)
    without = fit(NaiveBayes(kind=kind), path)
    assert with_room.coef_.tobytes() == without.coef_.tobytes()


def test_rows_as_they_stand(rows, monkeypatch, blocks_of_five):
    def trained():
        return fit(AveragedPerceptron(shards=3, shuffle=False, random_state=0, log=True), rows)

    with_room = trained()
    monkeypatch.setattr(ROW_CACHE, "limit", lambda: 0)
    assert bits(trained()) == bits(with_room)


def test_balanced_classes_are_refused(rows):
    with pytest.raises(ValueError, match='class_weight="balanced" needs all labels at once'):
        distributed.fit(AveragedPerceptron(class_weight="balanced"), rows)


@pytest.mark.parametrize("learner", [ROMMA(aggressive=True), OnlineClassifier(AggressiveRomma())])
def test_aggressive_romma_is_not_mixed(learner, rows):
    with pytest.raises(ValueError, match="may lead away from every separator"):
        distributed.fit(learner, rows)


def test_a_file_without_rows_has_no_answers(rows, tmp_path):
    model = fit(AveragedPerceptron(random_state=0), rows)
    empty = tmp_path / "empty.svm"
    empty.write_text("")
    assert distributed.predict(model, empty).shape == (0,)
    assert distributed.predict(model, empty, what="scores").shape == (0, 3)
