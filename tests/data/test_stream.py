"""Streams: blocks in bounded memory, epoch after epoch, as one fit in order."""

import io
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import linsep
from linsep import Perceptron
from linsep.data.errors import DataError


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 30), density=0.3, rng=rng, format="csr")
    y = (X @ rng.normal(size=30) > 0).astype(int)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.mark.parametrize("block_rows", [1, 37, 500, 10_000])
def test_blocks_have_the_size_asked_for(rows, block_rows):
    sizes = [len(y) for _, y in linsep.stream(rows, block_rows=block_rows, block_bytes=2000)]
    full, rest = divmod(500, block_rows)
    assert sizes == [block_rows] * full + [rest] * (rest > 0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stream_is_one_fit_in_order(rows, jobs):
    X, y = linsep.read(rows)
    whole, streamed = Perceptron(max_iter=3, shuffle=False), Perceptron()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole.fit(X, y)
    source = linsep.stream(rows, block_rows=64, block_bytes=3000, n_jobs=jobs)
    for _ in range(3):
        for block in source:
            streamed.partial_fit(*block, classes=[0, 1])
    assert streamed.mistakes_ == whole.mistakes_
    assert np.array_equal(streamed.coef_, whole.coef_)


def test_every_block_has_the_width_of_all(rows):
    assert {X.shape[1] for X, _ in linsep.stream(rows, block_rows=10)} == {30}


def test_a_malformed_block_does_not_reach_the_learner(rows):
    text = rows.read_text() + "1 5:x\n" + "1 1:1\n" * 10
    rows.write_text(text)
    walk = iter(linsep.stream(rows, block_rows=505, n_features=30, zero_based=False))
    with pytest.raises(DataError, match="line 501, column 5: 'x' is not a finite number"):
        next(walk)
    skipping = linsep.stream(rows, on_error="skip")
    assert [len(y) for _, y in skipping] == [510]
    assert skipping.rejected == 1


def test_quarantine_is_written_anew_in_each_pass(rows, tmp_path):
    rows.write_text("1 1:1\nbad\n1 x\n0 2:1\n")
    kept = tmp_path / "kept"
    source = linsep.stream(rows, on_error="quarantine", quarantine=kept)
    for _ in range(2):
        assert sum(len(y) for _, y in source) == 2
        assert kept.read_text() == "bad\n1 x\n"
        assert source.rejected == 2


class Once(io.RawIOBase):
    """A pipe: it can be read, not wound back."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, size=-1):
        return self.data.read(size)

    def readinto(self, buffer):
        return self.data.readinto(buffer)

    def readable(self):
        return True

    def seekable(self):
        return False


def test_a_pipe_grows_and_is_read_once():
    source = linsep.stream(Once(b"1 1:1 2:1\n0 2:1\n1 9:1\n"), block_rows=2, block_bytes=12)
    learner = Perceptron()
    widths = []
    for X, y in source:
        learner.grow(X.shape[1]).partial_fit(X, y)
        widths.append(X.shape[1])
    assert widths == [2, 9]
    assert learner.n_features_in_ == 9
    with pytest.raises(DataError, match="it can be read only once"):
        list(source)


@pytest.mark.parametrize("text", [b"1 1:1\n1 7:1\n", b"1 1:1\n1 0:1\n"], ids=["beyond", "index 0"])
@pytest.mark.parametrize("kind", [io.BytesIO, Once])
def test_indices_outside_of_what_was_stated(text, kind):
    """All was said, so that nobody looks beforehand: the row that breaks the word is refused, with its place."""
    walk = iter(linsep.stream(kind(text), n_features=5, zero_based=False))
    with pytest.raises(DataError, match=r"line 2, column 3: index (7 is beyond the 5 features|0, but)"):
        next(walk)


def test_block_rows():
    with pytest.raises(ValueError, match="block_rows=0: it is a whole number, 1 at least"):
        linsep.stream(io.BytesIO(b"1 1:1\n"), block_rows=0)
    with pytest.raises(ValueError, match="block_bytes=0: it is a whole number, 1 at least"):
        linsep.stream(io.BytesIO(b"1 1:1\n"), block_bytes=0)


def test_progress_is_reported_after_a_failed_scan_of_the_columns(tmp_path):
    path, seen = tmp_path / "rows.svm", []
    path.write_bytes(b"1 1:1\n0 2:one\n")
    rows = linsep.stream(path, n_features=2, zero_based=False, progress=seen.append)
    with pytest.raises(linsep.DataError):
        rows.seen_columns()
    path.write_bytes(b"1 1:1\n0 2:1\n")
    assert len(list(rows)) == len(seen) == 1
