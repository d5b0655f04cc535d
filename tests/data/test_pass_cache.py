"""Rows that are kept in binary form: converted, or for the later passes of a stream."""

import gc
import io
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from linsep.data import pass_cache
from linsep.data.errors import DataError
from tests.processes import forked

TEXT = "".join(f"{k % 3} {k % 7 + 1}:{k}.25 {k % 5 + 8}:1\n" for k in range(1000))


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "data" / "rows.svm"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's folder of caches; any text is much."""
    monkeypatch.setenv("LINSEP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pass_cache, "MUCH", 1)
    return tmp_path / "cache"


def stacked(blocks):
    """Return all there is in the blocks of a pass, for comparison."""
    blocks = list(blocks)
    assert len({X.shape[1] for X, _ in blocks}) == 1
    return sp.vstack([X for X, _ in blocks]).toarray().tolist(), np.concatenate([y for _, y in blocks]).tolist()


def in_place(block):
    """Tell whether a block is a part of a mapped file."""
    return not block.X.data.flags.writeable


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"n_features": 20}, {"n_features": 20, "zero_based": False}, {"zero_based": True}]
)
def test_every_pass_is_the_same(rows, folder, options):
    expected = stacked(linsep.stream(rows, cache=False, block_rows=300, **options))
    source = linsep.stream(rows, block_rows=300, block_bytes=2000, **options)
    for _ in range(3):
        assert stacked(source) == expected
    assert all(map(in_place, source))
    assert [len(block) for block in source] == [300, 300, 300, 100]
    [kept] = folder.iterdir()
    del source
    gc.collect()
    assert not kept.exists()


def test_a_pass_that_is_the_only_one_writes_nothing(rows, folder):
    stacked(linsep.stream(rows, n_features=20, zero_based=False))
    assert not folder.exists()


def test_an_index_0_that_comes_late(rows, folder):
    """Columns were counted from 1 until then: what was kept is thrown away, and kept anew in the next pass."""
    rows.write_text(TEXT + "1 0:5\n")
    source = linsep.stream(rows, block_bytes=2000)
    X, _ = stacked(source)
    assert X[-1][0] == 5
    assert X[0][1] == 0.25
    assert X[1][2] == 1.25
    assert stacked(source)[0] == stacked(source)[0] == X
    assert all(map(in_place, source))


@pytest.mark.parametrize("where", ["next to it", "a folder"])
def test_a_cache_is_for_later_runs_until_the_text_changes(rows, tmp_path, where):
    cache = True if where == "next to it" else tmp_path / "kept"
    first = stacked(linsep.stream(rows, cache=cache))
    [kept] = [p for p in (rows.parent if cache is True else cache).iterdir() if p != rows]
    assert kept.name.startswith(".")
    later = linsep.stream(rows, cache=cache)
    assert all(map(in_place, later))
    assert stacked(later) == first
    assert later.form.zero_based is False
    rows.write_text(TEXT.replace("0.25", "0.5"))
    changed = linsep.stream(rows, cache=cache)
    assert stacked(changed) == stacked(linsep.stream(rows, cache=False)) != first
    assert [p for p in kept.parent.iterdir() if p != rows] == [kept]
    assert stacked(linsep.stream(rows, cache=cache, dtype="float32"))[1] == first[1]
    assert linsep.read(rows.parent).X.shape == (1000, 12)


def test_options_have_caches_of_their_own(rows, tmp_path):
    wide, narrow = (linsep.stream(rows, cache=tmp_path / "kept", n_features=n) for n in (30, 12))
    assert {X.shape[1] for X, _ in wide} == {30}
    assert {X.shape[1] for X, _ in narrow} == {12}
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_rejected_rows_are_counted_in_every_pass(rows, folder):
    rows.write_text(TEXT + "bad\n")
    source = linsep.stream(rows, on_error="skip")
    for _ in range(3):
        assert sum(map(len, source)) == 1000
        assert source.rejected == 1


@pytest.mark.slow
def test_a_pass_that_ends_early_leaves_nothing_behind(rows, folder):
    source = linsep.stream(rows, cache=folder, block_rows=10, n_features=20, zero_based=False)
    next(iter(source))
    gc.collect()
    assert not list(folder.iterdir())
    rows.write_text(TEXT + "bad\n")
    with pytest.raises(DataError, match="line 1,001"):
        list(source)
    assert not list(folder.iterdir())


def test_progress_of_every_pass(rows, folder):
    told = []
    source = linsep.stream(rows, progress=told.append, block_rows=100)
    for _ in range(3):
        told.clear()
        list(source)
        assert told[-1].done == told[-1].total == os.path.getsize(rows)
        assert told[-1].rows == 1000


def test_a_full_disk(rows, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pass_cache.Writer, "write", full)
    source = linsep.stream(rows)
    with pytest.warns(UserWarning, match="later passes will read the text again.*No space left"):
        assert len(list(source)) == 1
    assert sum(map(len, source)) == 1000
    with pytest.raises(OSError, match="No space left"):
        list(linsep.stream(rows, cache=folder))


def test_what_has_no_cache(rows, tmp_path):
    with pytest.raises(ValueError, match="only rows of text files that are given by name"), rows.open("rb") as file:
        linsep.stream(file, cache=True)
    with pytest.raises(ValueError, match="without quarantine="):
        linsep.stream(rows, cache=True, on_error="quarantine", quarantine=tmp_path / "q")


def test_convert(rows, tmp_path):
    target = tmp_path / "rows.npz"
    linsep.convert(rows, target, block_rows=70)
    X, y = linsep.read(rows)
    kept = linsep.read(target)
    assert (kept.X != X).nnz == 0
    assert kept.X.shape == X.shape
    assert np.array_equal(kept.y, y)
    assert in_place(kept)
    blocks = list(linsep.stream(target, block_rows=300))
    assert [len(block) for block in blocks] == [300, 300, 300, 100]
    assert all(map(in_place, blocks))
    assert (sp.load_npz(target) != X).nnz == 0
    clf, same = (linsep.Perceptron().partial_fit(*data) for data in ((X, y), kept))
    assert np.array_equal(clf.coef_, same.coef_)


def test_several_files_in_binary_form(rows, tmp_path):
    for k, n in enumerate((15, 12)):
        linsep.convert(rows, tmp_path / f"part{k}.npz", n_features=n)
    X, y = linsep.read(tmp_path / "part*.npz")
    assert X.shape == (2000, 15)
    assert stacked(linsep.stream(tmp_path / "part*.npz", block_rows=300)) == (X.toarray().tolist(), y.tolist())


def test_binary_data_can_be_read_like_others(rows, tmp_path):
    linsep.convert(rows, tmp_path / "rows.npz")
    train = linsep.read(tmp_path / "rows.npz")
    (tmp_path / "test.svm").write_text("1 1:1 13:1 99:1\n0 9:1\n")
    test = linsep.read(tmp_path / "test.svm", like=train)
    assert test.X.toarray().tolist() == [[1, *[0] * 11], [*[0] * 8, 1, 0, 0, 0]]
    assert test.unseen == 2


def test_tables_are_kept_with_their_names(tmp_path):
    (tmp_path / "t.csv").write_text("age,city,label\n1,Oslo,x\n2,Rome,y\n")
    linsep.convert(tmp_path / "t.csv", tmp_path / "t.npz")
    kept = linsep.read(tmp_path / "t.npz")
    assert kept.feature_names == ["age", "city=Oslo", "city=Rome"]
    assert kept.y.tolist() == kept.label_names == ["x", "y"]
    (tmp_path / "test.csv").write_text("city,age\nRome,3\nParis,4\n")
    test = linsep.read(tmp_path / "test.csv", like=kept)
    assert test.X.toarray().tolist() == [[3, 0, 1], [4, 0, 0]]
    source = linsep.stream(tmp_path / "t.csv", cache=tmp_path / "kept")
    for _ in range(2):
        [block] = source
        assert block.feature_names == kept.feature_names
    assert in_place(block)


def test_two_walks_at_a_time(rows, tmp_path):
    """Each keeps its own rows."""
    how = {"n_features": 20, "zero_based": False, "block_rows": 100, "block_bytes": 2000}
    source = linsep.stream(rows, cache=tmp_path / "kept", **how)
    assert [(len(a), len(b)) for a, b in zip(source, source, strict=True)] == [(100, 100)] * 10
    assert sum(map(len, source)) == sum(map(len, linsep.stream(rows, cache=tmp_path / "kept", **how))) == 1000


def test_two_walks_at_a_time_of_what_can_be_walked_once(rows, tmp_path):
    opened = linsep.stream(io.BytesIO(TEXT.encode()), block_rows=100)
    rows.write_text(TEXT + "bad\n")
    quarantined = linsep.stream(rows, on_error="quarantine", quarantine=tmp_path / "q", block_rows=100)
    for source in (opened, quarantined):
        with pytest.raises(DataError, match="it is being read already: end that pass, or make another stream"):
            list(zip(source, source, strict=True))
        assert sum(map(len, source)) == 1000
        next(iter(source))
        assert sum(map(len, source)) == 1000
    assert (tmp_path / "q").read_text() == "bad\n"
    rows.write_text(TEXT)
    assert sum(map(len, quarantined)) == 1000
    assert (tmp_path / "q").read_text() == ""


@pytest.mark.parametrize("options", [{"idf": True, "format": "text"}, {}])
def test_a_first_look_that_fails_leaves_nothing_behind(rows, options):
    good = "a\tone two\nb\ttwo three\n" if options else "1 1:1\n0 3:1\n"
    rows.write_text(good + ("bad\n" if options else "1 9:1\nbad\n"))
    source = linsep.stream(rows, **options)
    with pytest.raises(DataError):
        list(source)
    rows.write_text(good)
    assert stacked(source) == stacked(linsep.stream(rows, **options))


def test_a_folder_of_caches_that_can_not_be_made(rows, monkeypatch):
    monkeypatch.setenv("LINSEP_CACHE", "/proc/nowhere/cache")
    monkeypatch.setattr(pass_cache, "MUCH", 1)
    source = linsep.stream(rows)
    with pytest.warns(UserWarning, match="later passes will read the text again"):
        assert len(list(source)) == 1
    assert sum(map(len, source)) == 1000


def test_a_user_without_a_home_folder_has_no_cache(rows, monkeypatch):
    monkeypatch.delenv("LINSEP_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(pass_cache, "MUCH", 1)
    with pytest.warns(UserWarning, match=r"no home folder; set LINSEP_CACHE to a writable folder") as told:
        source = linsep.stream(rows)
    assert told[0].filename == __file__
    assert [sum(map(len, source)) for _ in range(2)] == [1000, 1000]


def test_what_a_dead_process_left_is_removed(rows, folder):
    folder.mkdir()
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    dead, alive, other = (
        folder / f".{name}.npz" for name in (f"{done.pid}-{'a' * 16}", f"{os.getpid()}-{'b' * 16}", "x")
    )
    for path in (dead, alive, other):
        path.touch()
    list(linsep.stream(rows))
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


@pytest.mark.slow
def test_what_a_process_killed_in_a_write_left_is_removed(rows, folder):
    code = (
        "import os, sys, linsep\nfrom linsep.data import pass_cache\npass_cache.MUCH = 1\n"
        "os.fsync = lambda _: os.kill(os.getpid(), 9)\nfor _ in range(2):\n    list(linsep.stream(sys.argv[1]))"
    )
    assert subprocess.run(forked("-c", code, rows), check=False).returncode == -9
    [draft] = folder.iterdir()
    assert draft.suffix == ".tmp"
    source = linsep.stream(rows)
    list(source)
    [kept] = folder.iterdir()
    assert kept.suffix == ".npz"


def test_progress_and_counts_of_binary_data(rows, tmp_path):
    rows.write_text(TEXT + "bad\n")
    linsep.convert(rows, tmp_path / "rows.npz", on_error="skip")
    told = []
    source = linsep.stream(tmp_path / "rows.npz", progress=told.append, block_rows=300)
    assert sum(map(len, source)) == 1000
    assert source.rejected == 1
    assert [step.rows for step in told] == [300, 600, 900, 1000]
    assert told[-1].done == told[-1].total


def test_no_rows_keep_their_width(rows, tmp_path):
    rows.write_text("one 1:1\n")
    assert linsep.convert(rows, tmp_path / "rows.npz", n_features=5, on_error="skip").X.shape == (0, 5)


def test_like_no_rows_at_all(rows):
    nothing = linsep.read(io.BytesIO(b"one 1:1\n"), format="svmlight", on_error="skip")
    assert linsep.read(rows, like=nothing).X.shape == (1000, 0)
    wide = linsep.read(io.BytesIO(b"1 99999999999999999:1\n"))
    with pytest.raises(ValueError, match="which of the columns were seen, and can't do so for 99,999,999,999,999,999"):
        linsep.read(rows, like=wide)


def test_many_rows_outside_of_what_was_stated(rows):
    rows.write_text("1 9:1\n" * 50_000)
    began = time.perf_counter()
    assert linsep.read(rows, n_features=5, zero_based=False, on_error="skip").rejected == 50_000
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_the_cache_can_be_disabled(value, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINSEP_CACHE", value)
    monkeypatch.setattr(pass_cache, "MUCH", 1)
    source = linsep.stream(rows)
    for _ in range(3):
        assert sum(len(block) for block in source) > 0
    assert not (tmp_path / value).exists()


def test_the_oldest_files_make_room_for_new_ones(rows, folder, monkeypatch):
    monkeypatch.setattr(pass_cache, "MOST_CACHED", 2500)
    folder.mkdir()
    kept = [folder / f".{os.getpid()}-{k:016x}.npz" for k in range(4)]
    for k, path in enumerate(kept):
        path.write_bytes(bytes(1000))
        os.utime(path, (k, k))
    (folder / "notes.txt").write_bytes(bytes(10_000))
    source = linsep.stream(rows)
    for _ in range(3):
        assert sum(len(block) for block in source) > 0
    assert [path.exists() for path in kept] == [False, False, True, True]
    assert (folder / "notes.txt").exists()
