"""Checkpoints: a run goes on from the file of its own, to the same bits, and from no other."""

import os
import warnings

import numpy as np
import pytest

import linsep
from linsep import AveragedPerceptron, Perceptron, Winnow
from linsep.distributed.checkpoint import identity_of
from linsep.models.archive import ModelError
from tests.distributed.rows import bits, fit, problem, write

pytestmark = pytest.mark.slow


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.svm", *problem())


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "kept.linsep"


def learner(kind=AveragedPerceptron, **more):
    return kind(**{"shards": 4, "random_state": 0, "max_iter": 3, "log": True} | more)


@pytest.mark.parametrize("kind", [AveragedPerceptron, Perceptron, Winnow])
@pytest.mark.parametrize("shuffle", [True, False, "once", "blocks"])
@pytest.mark.parametrize("random_state", [0, None])
def test_more_epochs(rows, kept, kind, shuffle, random_state):
    how = {"shuffle": shuffle, "random_state": random_state} | ({"x_max": None} if kind is Winnow else {})
    for epochs in (1, 2, 5):
        found = fit(learner(kind, **how, max_iter=epochs), rows, checkpoint=kept)
        assert bits(linsep.load(kept)) == bits(found)
    assert found.n_iter_ == 5
    how["random_state"] = found.seed_ if random_state is None else random_state
    if random_state is not None:
        assert bits(fit(learner(kind, **how, max_iter=5), rows)) == bits(found)


def test_epochs_of_the_call(rows, kept):
    fit(learner(max_iter=100), rows, checkpoint=kept, epochs=2)
    found = fit(learner(max_iter=100, n_jobs=2), rows, checkpoint=kept, epochs=4)
    assert bits(found) == bits(fit(learner(max_iter=4), rows))


def test_a_run_that_is_over_is_over(rows, kept):
    found = bits(fit(learner(), rows, checkpoint=kept))
    before, told = kept.stat().st_mtime_ns, []
    assert bits(fit(learner(), rows, checkpoint=kept, progress=told.append)) == found
    assert kept.stat().st_mtime_ns == before
    assert {progress.epoch for progress in told} == {0}


def test_separable_data_and_tol(tmp_path, kept):
    """What a run has seen of its epochs goes on, too."""
    X, y = problem()
    path = write(tmp_path / "rows.svm", X, [1 if x > 0 else -1 for x in X[:, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = fit(learner(max_iter=1000), path)
    fit(learner(max_iter=2), path, checkpoint=kept)
    assert bits(fit(learner(max_iter=1000), path, checkpoint=kept)) == bits(done)
    path, other = write(tmp_path / "others.svm", X, y), tmp_path / "tol.linsep"
    how = {"tol": 0.05, "n_iter_no_change": 3}
    stopped = fit(learner(max_iter=100, **how), path)
    assert 3 < stopped.n_iter_ < 100
    for epochs in (2, stopped.n_iter_ - 1, 100, 200):
        found = fit(learner(max_iter=epochs, **how), path, checkpoint=other)
    assert bits(found) == bits(stopped)


def refused(rows, kept, mine, match, error=ValueError, **options):
    """A file that is not that of this run, which stays as it is, as does the learner."""
    before = kept.read_bytes()
    with pytest.raises(error, match=match):
        fit(mine, rows, checkpoint=kept, **options)
    assert kept.read_bytes() == before
    assert not hasattr(mine, "coef_")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shards": 5}, "parameter shards was 4, and is 5"),
        ({"random_state": 1}, "parameter random_state was 0, and is 1"),
        ({"mixing": "rows"}, "parameter mixing was 'uniform', and is 'rows'"),
        ({"shuffle": False}, "parameter shuffle was True, and is False"),
        ({"log": False}, "parameter log was True, and is False"),
        ({"tol": 0.1}, "parameter tol was None, and is 0.1"),
        ({"class_weight": {-1: 2.0}}, r"parameter class_weight was None, and is \{-1: 2.0\}"),
    ],
)
def test_another_learner(rows, kept, change, words):
    fit(learner(), rows, checkpoint=kept)
    refused(rows, kept, learner(**change), f"kept.linsep is of another run: its {words}; delete it if that run")


def test_two_runs_on_one_file(rows, kept):
    """The second goes on from what it finds; the first notices, and writes nothing more."""
    mine, other = learner(), learner()

    def meanwhile(told):
        if (told.epoch, told.shards) == (2, 1):
            fit(other, rows, checkpoint=kept)

    with pytest.raises(ValueError, match=r"kept\.linsep has changed since the last epoch: does another run keep its"):
        fit(mine, rows, checkpoint=kept, progress=meanwhile)
    assert not hasattr(mine, "coef_")
    assert bits(linsep.load(kept)) == bits(other) == bits(fit(learner(), rows))


def test_another_kind_of_learner(rows, kept):
    fit(learner(), rows, checkpoint=kept)
    refused(rows, kept, learner(Perceptron), "its learner was AveragedPerceptron, and is Perceptron")


def test_other_options(rows, kept):
    fit(learner(), rows, checkpoint=kept)
    refused(rows, kept, learner(), "its option n_features was None, and is 9", n_features=9)


def test_other_data(rows, kept, tmp_path):
    fit(learner(), rows, checkpoint=kept)
    X, y = problem(seed=4)
    refused(write(tmp_path / "others.svm", X, y), kept, learner(), "of another run: its shards were")
    os.utime(rows, ns=(1, 1))
    refused(rows, kept, learner(), "of another run: its shards were")


def test_another_version(rows, kept, monkeypatch):
    fit(learner(), rows, checkpoint=kept)
    monkeypatch.setattr("linsep.distributed.checkpoint.__version__", "9.9")
    refused(rows, kept, learner(), f"its linsep was {linsep.__version__}, and is 9.9")


def test_fewer_epochs_than_there_are(rows, kept):
    fit(learner(), rows, checkpoint=kept)
    refused(rows, kept, learner(max_iter=2), r"kept\.linsep has 3 epochs already, and 2 are wanted")


def test_a_model_that_is_no_checkpoint(rows, kept):
    linsep.save(fit(learner(), rows), kept)
    refused(rows, kept, learner(), "is a model, but not of a run that was cut off")


@pytest.mark.parametrize("spoil", ["short", "empty", "bit", "text"])
def test_a_file_that_is_damaged(rows, kept, spoil):
    fit(learner(), rows, checkpoint=kept)
    whole = bytearray(kept.read_bytes())
    if spoil == "bit":
        whole[-9] ^= 1
    kept.write_bytes({"short": whole[: len(whole) // 2], "empty": b"", "bit": whole, "text": b"hello" * 9}[spoil])
    refused(rows, kept, learner(), "kept.linsep: .*; without the file training starts again", ModelError)


def test_nothing_is_left_beside_the_file(rows, kept):
    fit(learner(), rows, checkpoint=kept)
    assert sorted(path.name for path in kept.parent.iterdir()) == ["kept.linsep", "rows.svm"]


def test_a_folder_that_is_not_there(rows, tmp_path):
    mine = learner()
    with pytest.raises(OSError, match="nowhere"):
        fit(mine, rows, checkpoint=tmp_path / "nowhere" / "kept.linsep")
    assert not hasattr(mine, "coef_")


def test_an_identity_is_the_same_in_every_process():
    """It tells no addresses in memory, and long arrays as a whole."""
    long = np.arange(5000) / 7
    one = identity_of(learner(), [], {"words": object(), "known": long})
    other = identity_of(learner(), [], {"words": object(), "known": long.copy()})
    assert one == other
    long[2500] = np.nextafter(long[2500], 9e9)
    assert identity_of(learner(), [], {"words": object(), "known": long}) != other
