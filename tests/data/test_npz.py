"""The binary form: what goes in comes out to the bit, in place; what is broken is refused; caches go stale."""

import io
import json
import os
import re
import struct
import subprocess
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import linsep
from linsep import PassiveAggressive, Perceptron
from linsep.data.dataset import Dataset
from linsep.data.errors import DataError
from linsep.data.npz.file import about, blocks, is_binary, open_binary
from linsep.data.npz.writer import Section, Writer
from linsep.data.pass_cache import cache_file, cache_folder, cache_key, cache_writer, code_digest, fresh
from linsep.data.sources import sources_of
from tests.processes import forked

many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def written(path, *parts, **said):
    """Write blocks (X, y) or (X, y, weights) to a file, and return its name."""
    with Writer(path, said.pop("about", None)) as file:
        for part in parts:
            file.write(*part)
        for name, value in said.items():
            setattr(file, name, value)
    return path


def same(a, b):
    """Tell whether two arrays have the same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def alike(data, X, y, weights=None):
    """Assert that data are these, to the bit."""
    if sp.issparse(X):
        assert data.X.shape == X.shape
        assert all(same(getattr(data.X, part), getattr(X, part)) for part in ("data", "indices", "indptr"))
    else:
        assert same(data.X, X)
    assert same(data.y, y)
    assert (data.weights is None) == (weights is None)
    assert weights is None or same(data.weights, weights)


def some_rows(rows=200, width=50, seed=0, dtype=np.float64, index=np.int32):
    """Sparse rows, some of them empty, and labels that a separator explains."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, width), density=0.1, rng=rng, format="csr", dtype=dtype)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X, np.where(X @ rng.normal(size=width) > 0, 1, -1)


@st.composite
def tables(draw):
    """Blocks of rows of one kind and type, with labels of one sort, and weights or none."""
    dtype, index = draw(st.sampled_from([np.float32, np.float64])), draw(st.sampled_from([np.int32, np.int64]))
    sparse, width, weighted = draw(st.booleans()), draw(st.integers(0, 5)), draw(st.booleans())
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
    labels = draw(st.sampled_from([np.int64, np.float64, "<U3"]))
    blocks = []
    for rows in draw(st.lists(st.integers(0, 4), max_size=4)):
        X = draw(hnp.arrays(dtype, (rows, width), elements=numbers, fill=st.just(0.0)))
        y = draw(hnp.arrays(labels, rows))
        if sparse:
            X = sp.csr_array(X)
            X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        blocks.append((X, y, draw(hnp.arrays(np.float64, rows, elements=st.floats(0, 9))) if weighted else None))
    return blocks


@many
@given(parts=tables(), block_rows=st.integers(1, 5))
def test_a_round_trip_changes_no_bit(tmp_path, parts, block_rows):
    path = written(tmp_path / "rows.npz", *parts)
    data = open_binary(path, verify=True)
    assume(parts)  # none: as below
    columns = list(zip(*parts, strict=True))
    stack = sp.vstack if sp.issparse(parts[0][0]) else np.vstack
    X = stack(columns[0])
    if sp.issparse(X):
        index = parts[0][0].indices.dtype
        X = sp.csr_array(X)
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    y, weights = np.concatenate(columns[1]), None if parts[0][2] is None else np.concatenate(columns[2])
    alike(data, X, y, weights)
    for k, block in enumerate(blocks(path, block_rows)):
        here = slice(k * block_rows, (k + 1) * block_rows)
        part = X[here]
        if sp.issparse(part):
            part.indices, part.indptr = part.indices.astype(index), part.indptr.astype(index)
        alike(block, part, y[here], None if weights is None else weights[here])


def test_a_file_of_no_blocks_is_that_of_no_rows(tmp_path):
    assert open_binary(written(tmp_path / "rows.npz"), verify=True).X.shape == (0, 0)


@pytest.mark.parametrize("dense", [False, True])
def test_numpy_and_scipy_read_it(tmp_path, dense):
    X, y = some_rows()
    X = X.toarray() if dense else X
    path = written(tmp_path / "rows.npz", (X, y, np.arange(200.0)))
    with np.load(path, allow_pickle=False) as loaded:
        assert same(loaded["y"], y)
        assert same(loaded["weights"], np.arange(200.0))
        assert json.loads(loaded["meta.json"])["version"] == 1
        assert not dense or same(loaded["X"], X)
    if not dense:
        back = sp.load_npz(path)
        assert isinstance(back, sp.csr_array)
        alike(Dataset(back, y), X, y)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_every_array_begins_at_a_line_of_the_cache(tmp_path):
    X, y = some_rows(width=3)
    for path in (written(tmp_path / "a.npz", (X, y, np.ones(200))), written(tmp_path / "b.npz", (X.toarray(), y))):
        text = path.read_bytes()
        data = open_binary(path)
        X_ = data.X
        for array in (*((X_.data, X_.indices, X_.indptr) if sp.issparse(X_) else (X_,)), data.y):
            assert text.index(array.tobytes()) % 64 == 0
            assert array.ctypes.data % 64 == 0
            assert type(array) is np.ndarray
            assert not array.flags.writeable
            assert not array.flags.owndata


def test_the_same_rows_give_the_same_bytes(tmp_path):
    X, y = some_rows()
    whole = written(tmp_path / "a.npz", (X, y)).read_bytes()
    assert written(tmp_path / "b.npz", (X[:7], y[:7]), (X[7:], y[7:])).read_bytes() == whole


def test_large_files(tmp_path, monkeypatch):
    """Sizes and places that take more than 32 bits have fields of their own: let all be as large as that."""
    X, y = some_rows()
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    path = written(tmp_path / "rows.npz", (X, y))
    text = path.read_bytes()
    assert b"PK\x06\x07" in text
    assert struct.pack("<3L", *[0xFFFFFFFF] * 2, 8)[:8] in text[text.index(b"PK\x01\x02") :]
    alike(open_binary(path, verify=True), X, y)


def test_what_a_later_block_needs_holds_for_all(tmp_path):
    a, b = sp.csr_array(np.eye(2, dtype=np.float32)), sp.csr_array(np.eye(3))
    b.indices, b.indptr = b.indices.astype(np.int64), b.indptr.astype(np.int64)
    path = written(tmp_path / "rows.npz", (a, [1, 2]), (b, [0.5, 1, 2], [1, 2, 3]), (a, [7, 8]))
    data = open_binary(path, verify=True)
    assert data.X.dtype == np.float64
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int64
    assert np.array_equal(
        data.X.toarray(), [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    )
    assert same(data.y, np.array([1, 2, 0.5, 1, 2, 7, 8]))
    assert same(data.weights, np.array([1, 1, 1, 2, 3, 1, 1.0]))


def test_wider_tables_and_longer_words(tmp_path):
    path = written(tmp_path / "rows.npz", (np.ones((1, 1)), ["a"]), (np.ones((1, 2), np.float32), ["bcd"]))
    X, y = open_binary(path, verify=True)
    assert same(X, np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert same(y, np.array(["a", "bcd"]))


def test_more_than_32_bits_of_columns(tmp_path):
    X = sp.csr_array((np.ones(2), np.array([3, 2**33]), np.array([0, 1, 2])), shape=(2, 2**33 + 1))
    path = written(tmp_path / "rows.npz", (sp.csr_array(np.eye(2)), [0, 1]), (X, [0, 1]))
    back = open_binary(path, verify=True).X
    assert back.shape == (4, 2**33 + 1)
    assert back.indices.tolist() == [0, 1, 3, 2**33]


def test_names_counts_and_remarks(tmp_path):
    names = ["größe", "a\nb"]
    path = written(tmp_path / "rows.npz", (np.eye(2), ["x", "y"]), feature_names=names, rejected=3, about={"k": [1]})
    data = open_binary(path)
    assert data.feature_names == names
    assert data.rejected == 3
    assert about(path) == {"k": [1]}
    with pytest.raises(ValueError, match="1 feature_names for 2 columns"):
        written(tmp_path / "other.npz", (np.eye(2), [0, 1]), feature_names=["one"])
    assert os.listdir(tmp_path) == ["rows.npz"]


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([(sp.csr_array(np.eye(2)), [0, 1]), (np.eye(2), [0, 1])], "not both"),
        ([(np.eye(2), [0, 1]), (np.eye(2), ["a", "b"])], "mixes words and numbers"),
        ([(np.eye(2), [2**53 + 1, 1]), (np.eye(2), [0.5, 1])], r"beyond 2\*\*53"),
        ([(np.eye(2), [1])], "one each a row"),
        ([(np.eye(2), [1, 2], [1])], "one each a row"),
        ([(np.eye(2), [1, 2], [1, -1])], "row 1 has the weight -1.0"),
        ([(np.eye(2), [1, 2]), (np.array([[0, np.nan]]), [1])], "row 2, column 1 is nan"),
        ([(np.eye(2, dtype=int), [1, 2])], "float32 or float64"),
        ([(np.eye(2), np.array([1, "a"], object))], "labels are numbers, or words"),
        ([(np.eye(2), ["a", "a\0"])], "ends with a NUL character"),
        ([(np.eye(2), ["a", 1])], "y mixes labels of different types"),
        ([(np.eye(2), ["a", "b" * 2000])], "a label of 2000 characters"),
        ([(np.eye(2), np.array([1, 2**64 - 1], np.uint64))], "too large for int64"),
        ([([[1.0]], [1])], "X is a list"),
        ([(sp.csc_array(np.eye(2)), [1, 2])], "in csc format"),
        ([(sp.csr_array(([1.0, 1.0], [1, 0], [0, 2]), shape=(1, 2)), [1])], "column 0 twice, or out of order"),
        ([(sp.csr_array(([1.0, 1.0], [1, 1], [0, 2]), shape=(1, 2)), [1])], "row 0 has column 1 twice"),
    ],
)  # fmt: skip
def test_what_a_file_does_not_hold(tmp_path, parts, what):
    with pytest.raises((ValueError, TypeError), match=what):
        written(tmp_path / "rows.npz", *parts)
    assert not os.listdir(tmp_path)


def test_a_refused_block_leaves_no_trace(tmp_path):
    X, y = some_rows()
    with Writer(tmp_path / "rows.npz") as file:
        file.write(X[:5], y[:5])
        with pytest.raises(ValueError, match="not a finite number"):
            file.write(X[5:30] * np.nan, y[5:30] / 2, np.ones(25))
        file.write(X[5:], y[5:])
    alike(open_binary(tmp_path / "rows.npz", verify=True), X, y)


class Broken(Exception):
    """Stands for whatever may go wrong."""


@pytest.mark.parametrize("where", ["block", "write", "together", "fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch, where):
    X, y = some_rows()
    path = written(tmp_path / "rows.npz", (X, y))
    before = path.read_bytes()

    def fail(*_):
        raise Broken

    place = {"write": (Section, "add"), "together": (Section, "pour")}.get(where, (os, where))

    def write():
        with Writer(path) as file:
            file.write(X[:50], y[:50])
            if where == "block":
                raise Broken
            monkeypatch.setattr(*place, fail)
            file.write(X[50:], y[50:])

    with pytest.raises(Broken):
        write()
    assert os.listdir(tmp_path) == ["rows.npz"]
    assert path.read_bytes() == before


def test_a_block_written_in_part_is_not_passed_over(tmp_path, monkeypatch):
    X, y = some_rows()
    add = Section.add

    def add_floats(self, array):
        if array.dtype.kind != "f":
            raise Broken
        add(self, array)

    def write():
        with Writer(tmp_path / "rows.npz") as file:
            file.write(X, y)
            monkeypatch.setattr(Section, "add", add_floats)
            with pytest.raises(Broken):
                file.write(X, y)

    with pytest.raises(ValueError, match="written in part"):
        write()
    assert not os.listdir(tmp_path)


def test_a_killed_writer_leaves_the_old_file_and_no_litter(tmp_path):
    path = written(tmp_path / "rows.npz", some_rows())
    before = path.read_bytes()
    code = (
        "import os, sys, numpy as np\nfrom linsep.data.npz.writer import Writer\n"
        "with Writer(sys.argv[1]) as file:\n    file.write(np.eye(300), np.arange(300))\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run(forked("-c", code, path), check=False).returncode == -9
    assert os.listdir(tmp_path) == ["rows.npz"]
    assert path.read_bytes() == before


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    path = tmp_path / "rows.npz"
    code = (
        "import os, sys, numpy as np\nfrom linsep.data.npz.writer import Writer\n"
        "with Writer(sys.argv[1]) as file:\n    file.write(np.eye(300), np.arange(300))\n"
        "    os.fsync = lambda _: os.kill(os.getpid(), 9)"
    )
    assert subprocess.run(forked("-c", code, path), check=False).returncode == -9
    assert [name.startswith(".rows.npz.") for name in os.listdir(tmp_path)] == [True]
    written(path, some_rows())
    assert os.listdir(tmp_path) == ["rows.npz"]


def test_where_it_can_not_be_written(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "rows.npz"):
        with pytest.raises(DataError, match="it is a folder, or in a folder that does not exist"):
            Writer(path)


def test_those_who_have_it_open_keep_the_old_file(tmp_path):
    X, y = some_rows()
    path = written(tmp_path / "rows.npz", (X, y))
    data = open_binary(path)
    written(path, (X[:1], y[:1]))
    alike(data, X, y)


def test_a_link_stays_a_link(tmp_path):
    path = written(tmp_path / "rows.npz", some_rows())
    (tmp_path / "link.npz").symlink_to(path)
    written(tmp_path / "link.npz", some_rows(3))
    assert (tmp_path / "link.npz").is_symlink()
    assert len(open_binary(path)) == 3


@pytest.mark.filterwarnings("ignore:.*still made mistakes")
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("make", [Perceptron, PassiveAggressive])
def test_learning_in_place(tmp_path, make, dense):
    X, y = some_rows(*((2000, 300) if dense else (10_000, 500)))
    X = X.toarray() if dense else X
    path = written(tmp_path / "rows.npz", (X, y))
    stamp, before = path.stat().st_mtime_ns, path.read_bytes()
    from_arrays = make(max_iter=1, shuffle=False).fit(X, y)
    data = open_binary(path)
    tracemalloc.start()
    in_place = make(max_iter=1, shuffle=False).fit(*data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (data.X.nbytes if dense else data.X.data.nbytes) / 2
    streamed = make()
    for block in blocks(data, 170):
        assert np.shares_memory(block.y, data.y)
        assert np.shares_memory(*((block.X, data.X) if dense else (block.X.data, data.X.data)))
        streamed.partial_fit(*block, classes=[-1, 1])
    assert np.array_equal(in_place.coef_, from_arrays.coef_)
    assert np.array_equal(streamed.coef_, from_arrays.coef_)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == (stamp, before)


def resident():
    """Bytes of files that are in this process's memory."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssFile:")) * 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="tells what is resident on Linux only")
@pytest.mark.parametrize("dense", [False, True])
def test_blocks_that_were_used_are_release(tmp_path, dense):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20_000, 100))
    X = table if dense else sp.csr_array(table)
    path = written(tmp_path / "rows.npz", *[(X, np.arange(20_000))] * 3)
    kept, before, most = [], resident(), 0
    for k, block in enumerate(blocks(path, 2_000)):
        values = block.X if dense else block.X.data + 0 * block.X.indices
        assert np.array_equal(values.ravel(), table[k % 10 * 2_000 :][:2_000].ravel())
        kept.append(block)
        most = max(most, resident() - before)
    assert path.stat().st_size > 48e6
    assert most < 8e6
    for k, block in enumerate(kept):
        assert np.array_equal(block.X if dense else block.X.toarray(), table[k % 10 * 2_000 :][:2_000])


def test_blocks_of_arrays_in_memory():
    X, y = some_rows()
    parts = list(blocks(Dataset(X, y, weights=np.arange(200.0)), 64))
    assert [len(part) for part in parts] == [64, 64, 64, 8]
    assert np.array_equal(sp.vstack([part.X for part in parts]).toarray(), X.toarray())
    assert parts[3].weights.tolist() == list(range(192, 200))
    with pytest.raises(ValueError, match="one row at least"):
        blocks(Dataset(X, y), 0)


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path):
    path = written(tmp_path / "rows.npz", some_rows(20_000))
    walk = blocks(path, 5_000)
    next(walk)
    with path.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(DataError, match=r"rows.npz: the file was cut off while it was read"):
        next(walk)


def opened(path):
    """Open a file that may be broken: the data, verified, or None when it was refused with its name."""
    try:
        open_binary(path)
        return open_binary(path, verify=True)
    except DataError as error:
        named = str(error).startswith(f"{path}: ")
    assert named
    return None


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Three files that are sound: sparse, dense, of words and with names."""
    folder = tmp_path_factory.mktemp("sound")
    X, y = some_rows(30, 8)
    words = (np.eye(4), np.array(["aa", "b", "c", "dd"]), np.ones(4))
    return (
        written(folder / "sparse.npz", (X, y)),
        written(folder / "dense.npz", (X.toarray(), y)),
        written(folder / "words.npz", words, feature_names=list("abcd"), rejected=1),
    )


def test_a_truncated_file(tmp_path, sound):
    for path in sound:
        text = path.read_bytes()
        for size in [*range(0, len(text), 37), len(text) - 1]:
            (tmp_path / "cut.npz").write_bytes(text[:size])
            with pytest.raises(DataError, match=r"cut.npz: "):
                open_binary(tmp_path / "cut.npz")


@settings(many, max_examples=200)
@given(data=st.data())
def test_flipped_bytes(tmp_path, sound, data):
    """A damaged file is refused, or the damage is where nothing of the data lies."""
    path = data.draw(st.sampled_from(sound))
    text = bytearray(path.read_bytes())
    tail = len(text) - 900
    places = st.one_of(st.integers(0, 900), st.integers(tail, len(text) - 1), st.integers(0, len(text) - 1))
    for at, value in data.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=4)).items():
        text[at] = value
    (tmp_path / "flipped.npz").write_bytes(text)
    found = opened(tmp_path / "flipped.npz")
    if found is not None:
        whole = open_binary(path)
        alike(found, whole.X, whole.y, whole.weights)


def test_no_member_gets_lost(tmp_path, sound):
    """A name that was damaged in the directory is one: else weights, or names, would go missing unseen."""
    text = sound[2].read_bytes()
    for name in (b"weights.npy", b"meta.json"):
        at = text.rindex(name)
        (tmp_path / "lost.npz").write_bytes(text[:at] + b"X" + text[at + 1 :])
        with pytest.raises(DataError, match="directory is broken"):
            open_binary(tmp_path / "lost.npz")
    comment = text.rindex(b"y.npy") - 46 + 32
    (tmp_path / "lost.npz").write_bytes(text[:comment] + b"\xff\x01" + text[comment + 2 :])
    with zipfile.ZipFile(tmp_path / "lost.npz") as archive:
        assert "weights.npy" not in archive.namelist()
    with pytest.raises(DataError, match="directory is broken"):
        open_binary(tmp_path / "lost.npz")


@pytest.mark.parametrize("members", [3_000, 0])
def test_a_directory_that_claims_too_much(tmp_path, sound, members):
    """Many members, or as many bytes as there are: neither costs memory."""
    path = tmp_path / "large.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", bytes(10_000_000 if not members else 1))
        for k in range(members):
            archive.writestr(f"{k}.npy", b"")
    if not members:
        text = path.read_bytes()
        path.write_bytes(text[:-10] + struct.pack("<2LH", len(text) - 22, 0, 0))
    tracemalloc.start()
    with pytest.raises(DataError, match="directory is broken"):
        open_binary(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000


def test_members_outside_of_the_file(tmp_path, sound):
    """Places and sizes in the directory that lead elsewhere, before the file's beginning among them."""
    text = sound[0].read_bytes()
    entry = text.index(b"PK\x01\x02")
    for at, kind, values in (
        (entry + 42, "<L", (1, len(text) - 30, len(text) - 1, len(text), 2**32 - 1)),
        (entry + 24, "<L", (len(text), 2**32 - 1)),
        (len(text) - 6, "<L", (0, 1, 2**31)),
        (len(text) - 10, "<L", (0, 45, 2**31)),
        (entry + 6, "<H", (99,)),
        (26, "<2H", ((2**16 - 1, 2**16 - 1), (10, 2**16 - 1))),
    ):
        for value in values:
            new = struct.pack(kind, *(value if isinstance(value, tuple) else (value,)))
            (tmp_path / "lies.npz").write_bytes(text[:at] + new + text[at + len(new) :])
            with pytest.raises(DataError, match=r"lies.npz: (the archive|format.npy)"):
                open_binary(tmp_path / "lies.npz")


WORDS = st.sampled_from([
    b"", b"{", b"\n", b"\xff", b"9" * 19, b"True", b"'|O'", b"'<U999999999'", b"'<f3'", b"'>f8'", b"'<f2'", b"'<f16'",
    b"'|V8'", b"'<i8'", b"'<i4'", b"[('a', '<f8')]", b"()", b"(0,)", b"(-1,)", b"(1, 0)", b"(4611686018427387904, 0)",
    b"(9223372036854775807, 0)", b"(3, 3, 3)", b"(" + b"1" * 60, b"(" * 60, b"-" * 60, b"()[0]", b"('<f8',)",
    b"{[]: 1}", b"{1: 2, 'a': 3}", b"'<f8", b"(200L,)", b"(True,)", b"'f8, f8'", b"('<f8', (2,))",
    b"(" + b"1, " * 20 + b")",
])  # fmt: skip


def with_member(path, target, name, change):
    """Write an archive in which a member has other bytes, with the checksum that belongs to them."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, change(old.read(info)) if info.filename == name else old.read(info))


@many
@given(data=st.data())
def test_hostile_headers(tmp_path, sound, data):
    """Headers that lie, under checksums that are right: refused, or what they say is what there is."""
    path, target = data.draw(st.sampled_from(sound)), tmp_path / "hostile.npz"
    with zipfile.ZipFile(path) as archive:
        name = data.draw(st.sampled_from([n for n in archive.namelist() if n.endswith(".npy")]))
    old = data.draw(st.sampled_from([rb"'[<|]\w+'", rb"False", rb"\([\d, ]*\)", rb"\}", rb"NUMPY."]))

    def change(text):
        head = re.sub(old, lambda _: data.draw(WORDS), text[:128], count=1)
        return head.ljust(128)[:127] + b"\n" + text[128:]

    with_member(path, target, name, change)
    found = opened(target)
    if found is not None:
        assert found.X.shape[0] == len(found.y) <= target.stat().st_size


@many
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path, text):
    for head in (b"", b"PK\x03\x04", b"PK\x05\x06"):
        (tmp_path / "any.npz").write_bytes(head + text)
        assert opened(tmp_path / "any.npz") is None


@pytest.mark.parametrize(
    ("meta", "what"),
    [
        (b"{", "not JSON"), (b"[" * 100_000, "not JSON"), (b"\xff", "not JSON"), (b"[]", "is incomplete"),
        (b'{"version": 2}', "version 2 of the form, this is 1: update linsep"), (b'{"version": 0}', "is incomplete"),
        (b'{"version": 1, "rejected": -1}', "is incomplete"), (b'{"version": 1, "about": 3}', "is incomplete"),
        (b'{"version": 1, "feature_names": [1, 2]}', "is incomplete"),
        (b'{"version": 1, "feature_names": ["a"]}', "8 columns, but 1 names"),
    ],
)  # fmt: skip
def test_hostile_meta(tmp_path, sound, meta, what):
    with_member(sound[0], tmp_path / "meta.npz", "meta.json", lambda _: meta)
    with pytest.raises(DataError, match=what):
        open_binary(tmp_path / "meta.npz")


def saved(path, X, **arrays):
    """Write a file with numpy, as scipy does."""
    parts = {"format": b"csr", "shape": X.shape, "data": X.data, "indices": X.indices, "indptr": X.indptr}
    np.savez(path, **(parts | arrays))
    return path


def test_what_scipy_saved(tmp_path):
    X, y = some_rows()
    path = saved(tmp_path / "rows.npz", X, y=y)
    alike(open_binary(path, verify=True), X, y)
    assert all(block.X.data.flags.aligned and block.y.flags.aligned for block in blocks(path, 9))
    assert open_binary(path).X.indices.flags.aligned
    sp.save_npz(path, X, compressed=False)
    with pytest.raises(DataError, match=r"no labels \(y.npy\)"):
        open_binary(path)
    for compressible in (X, sp.csr_array(np.ones((300, 300)))):
        sp.save_npz(path, compressible)
        with pytest.raises(DataError, match="compressed=False"):
            open_binary(path)
    sp.save_npz(path, X.tocoo(), compressed=False)
    with pytest.raises(DataError, match=r"no sparse matrix \(csr\), and no table X"):
        open_binary(path)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"format": b"csc"}, "not in csr format"), ({"shape": [200]}, "no shape"), ({"shape": [200, -1]}, "no shape"),
        ({"shape": [200.0, 50.0]}, "no shape"), ({"shape": [199, 50]}, "indptr does not describe 199 rows"),
        ({"shape": [200, 2**40]}, "int64 where it takes that"), ({"indices": np.zeros(3, np.int32)}, "do not agree"),
        ({"indptr": np.zeros(201, np.int64)}, "both are int32"), ({"indptr": np.zeros(201, np.int32)}, "not describe"),
        ({"indptr": np.zeros(0, np.int32)}, "does not describe"), ({"data": np.zeros((2, 2))}, "do not agree"),
        ({"y": np.zeros(199)}, "y is an array of shape"), ({"y": np.zeros(200, "S3")}, "y is an array of shape"),
        ({"y": np.zeros((200, 1))}, "y is an array of shape"), ({"weights": np.zeros(3)}, "weights is an array of"),
        ({"y": np.array([None] * 200)}, "no array of plain numbers"), ({"y": np.zeros(200, ">f8")}, "byte order"),
        ({"weights": np.zeros(200, int)}, "weights is an array of"),
    ],
)  # fmt: skip
def test_headers_that_do_not_agree(tmp_path, wrong, what):
    X, y = some_rows()
    path = saved(tmp_path / "rows.npz", X, **({"y": y} | wrong))
    with pytest.raises(DataError, match=what):
        open_binary(path)


def test_no_file(tmp_path):
    (tmp_path / "empty.npz").touch()
    for path, what in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "directory"),
        (tmp_path / "empty.npz", "is empty"),
    ):
        with pytest.raises(DataError, match=what):
            open_binary(path)


BAD = {
    "column beyond": ("indices", 7, 50), "column below": ("indices", 7, -1), "not a number": ("data", 7, np.nan),
    "infinite": ("data", 7, np.inf), "twice": ("indices", 8, None), "indptr falls": ("indptr", 100, 5),
    "indptr far": ("indptr", 100, 2**31 - 1), "indptr below": ("indptr", 100, -(2**31)),
}  # fmt: skip


def learn_in_blocks(learner, path):
    for block in blocks(path, 30):
        learner.partial_fit(*block, classes=[-1, 1])


def damaged(tmp_path, wrong):
    """Write a file with an entry that no row may have."""
    part, place, value = BAD[wrong]
    X, y = some_rows()
    X.data, X.indices, X.indptr = X.data.copy(), X.indices.copy(), X.indptr.copy()
    array = getattr(X, part)
    first = int(np.flatnonzero(np.diff(X.indptr) > 2)[0])
    if wrong == "twice":
        place = X.indptr[first] + 1
        value = X.indices[place - 1]
    array[place] = value
    return saved(tmp_path / "rows.npz", X, y=y)


@pytest.mark.parametrize("wrong", BAD)
def test_bad_entries_are_found_before_anything_else(tmp_path, wrong):
    path = damaged(tmp_path, wrong)
    for look in (lambda: open_binary(path, verify=True), lambda: list(blocks(path, 30, verify=True))):
        with pytest.raises(DataError, match=r"rows.npz: rows? \d+"):
            look()


@pytest.mark.parametrize("wrong", sorted(set(BAD) - {"twice"}))
def test_learners_refuse_bad_entries_that_were_not_looked_for(tmp_path, wrong):
    """Nothing out of bounds is touched. A column that a row has twice is no danger: its entries are added."""
    path = damaged(tmp_path, wrong)
    for learner in (Perceptron(), PassiveAggressive(), Perceptron(multi_class="joint")):
        with pytest.raises(ValueError, match=r"column index|NaN|infinity|X.indptr"):
            learner.fit(*open_binary(path))
        with pytest.raises(ValueError, match=r"column index|NaN|infinity|indptr"):
            learn_in_blocks(learner, path)


def test_checksums(tmp_path):
    """A number that was damaged, and is a number still, only the checksum finds."""
    X, y = some_rows()
    path = written(tmp_path / "rows.npz", (X, y))
    text = bytearray(path.read_bytes())
    text[text.index(X.data.tobytes())] ^= 1
    path.write_bytes(text)
    assert not same(open_binary(path).X.data, X.data)
    with pytest.raises(DataError, match=r"the checksum of data.npy is wrong"):
        open_binary(path, verify=True)


def test_is_binary(tmp_path, sound):
    for path in (*sound, saved(tmp_path / "rows.npz", some_rows()[0])):
        head = path.read_bytes()[:64]
        assert all(is_binary(head[:size]) for size in range(4, 65))
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "x" * 99)
    for text in ((tmp_path / "book.xlsx").read_bytes(), b"", b"PK", b"1 1:1\n", b"\x1f\x8b\x08"):
        assert not is_binary(text)


def cached(path, key):
    with cache_writer(path, key) as file:
        file.write(*some_rows(3))


def test_a_cache_is_fresh_until_anything_changes(tmp_path):
    source = tmp_path / "rows.svm"
    source.write_text("1 1:1\n")
    options = {"format": "svmlight", "n_features": None}
    sources = sources_of(source)
    path, key = cache_file(sources, options, True), cache_key(sources, options)
    assert not fresh(path, key)
    cached(path, key)
    assert fresh(path, key)
    assert fresh(
        cache_file(sources_of(os.path.relpath(source)), options, True), cache_key(sources_of(str(source)), options)
    )
    assert cache_key(sources, options | {"n_features": 5}) != key
    assert cache_file(sources, options | {"n_features": 5}, True) != path
    os.utime(source, ns=(1, 1))
    assert not fresh(path, cache_key(sources, options))
    source.write_text("1 1:2\n1 2:2\n")
    new = cache_key(sources, options)
    assert cache_file(sources, options, True) == path
    assert not fresh(path, new)
    cached(path, new)
    assert fresh(path, new)
    assert not fresh(path, key)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(path.read_bytes()[:-1])
    assert not fresh(path, new)


def test_another_version_of_the_code_makes_caches_stale(tmp_path, monkeypatch):
    source = tmp_path / "rows.svm"
    source.touch()
    key = cache_key(sources_of(source), {})
    monkeypatch.setattr("linsep.data.pass_cache.code_digest", lambda *_: "another")
    assert cache_key(sources_of(source), {}) != key


def test_the_digest_of_the_code_covers_every_file_that_reads_data(monkeypatch):
    covered = []
    monkeypatch.setattr("linsep.data.pass_cache.engine_digest", lambda *folders: covered.extend(folders))
    code_digest.__wrapped__()
    files = list(Path(linsep.__file__).parent.glob("data/**/*.py"))
    assert {file.parent.name for file in files} >= {"data", "compiled", "tables", "text", "npz"}
    assert {file.parent for file in files} <= set(covered)


def test_where_caches_are(tmp_path, monkeypatch):
    source = tmp_path / "parts" / "a.svm"
    source.parent.mkdir()
    source.write_text("1 1:1\n")
    sources = sources_of(source)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LINSEP_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / "home" / ".cache" / "linsep"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home" / ".cache" / "linsep"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "linsep"
    monkeypatch.setenv("LINSEP_CACHE", str(tmp_path / "mine"))
    assert cache_file(sources, {}).parent == tmp_path / "mine"
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    assert cache_file(sources, {}, tmp_path / "deep" / "er").parent == tmp_path / "deep" / "er"
    beside = cache_file(sources, {}, True)
    cached(beside, "key")
    assert beside.parent == source.parent
    assert [part.name for part in sources_of(source.parent)] == [str(source)]
    assert [part.name for part in sources_of(str(source.parent / "*"))] == [str(source)]


def test_what_has_no_cache(tmp_path):
    for sources in ([], sources_of(io.BytesIO(b"1 1:1\n"))):
        with pytest.raises(ValueError, match="files that are given by name"):
            cache_file(sources, {}, tmp_path)
    (tmp_path / "a").touch()
    with pytest.raises(ValueError, match="where=False"):
        cache_file(sources_of(tmp_path / "a"), {}, False)


@pytest.mark.slow
def test_two_processes_write_the_same_cache(tmp_path):
    path = tmp_path / "rows.npz"
    code = (
        "import sys, numpy as np\nfrom linsep.data.pass_cache import cache_writer, fresh\n"
        "for i in range(5):\n    with cache_writer(sys.argv[1], 'key') as file:\n"
        "        file.write(np.full((500, 9), float(i)), np.full(500, i))\n    assert fresh(sys.argv[1], 'key')"
    )
    writers = [subprocess.Popen(forked("-c", code, path)) for _ in range(2)]
    looks = 0
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            X, y = open_binary(path, verify=True)
            assert len(np.unique(X)) == len(np.unique(y)) == 1
            looks += 1
        time.sleep(0.005)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert looks
    assert os.listdir(tmp_path) == ["rows.npz"]


def test_whole_labels_are_integers_however_a_file_is_read(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(2), y=[0.0, 1.0])
    [block] = linsep.stream(path)
    for y in (linsep.read(path).y, block.y, linsep.read([path, path]).y[:2]):
        assert y.dtype == np.int64
        assert y.tolist() == [0, 1]


def test_labels_that_are_no_unicode_are_an_error(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.eye(2), y=np.array(["a", "b"]))
    saved = path.read_bytes()
    at = saved.rindex(b"b\0\0\0")
    path.write_bytes(saved[:at] + b"\xff\xff\xff\xff" + saved[at + 4 :])
    for load in (linsep.read, lambda path: list(linsep.stream(path))):
        with pytest.raises(DataError, match=r"rows\.npz: y holds text that is not Unicode"):
            load(path)
