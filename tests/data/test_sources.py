"""Where bytes come from, and what is said when they do not."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import linsep
from linsep.data.errors import DataError
from linsep.data.lines import blocks
from linsep.data.sources import sources_of

TEXT = b"".join(b"%d %d:%d.5 7:1\n" % (k % 2, k % 5 + 1, k) for k in range(3000))
PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
each_packing = pytest.mark.parametrize("kind", PACKED)
each_compression = pytest.mark.parametrize("kind", sorted(set(PACKED) - {"plain"}))


def same(data):
    X, y = data
    assert len(y) == 3000
    assert y.tolist() == [k % 2 for k in range(3000)]
    assert X[1234, 1234 % 5] == 1234.5


@each_packing
def test_compression_is_found_by_content(kind, tmp_path):
    path = tmp_path / "no-extension"
    path.write_bytes(PACKED[kind](TEXT))
    same(linsep.read(path))
    same(linsep.read(io.BytesIO(PACKED[kind](TEXT))))
    with path.open("rb") as file:
        same(linsep.read(file))


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz", "zstd"])
def test_compressed_parts_one_after_the_other(kind, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(
        PACKED[kind](TEXT[: TEXT.index(b"\n", 20000) + 1]) + PACKED[kind](TEXT[TEXT.index(b"\n", 20000) + 1 :])
    )
    same(linsep.read(path))


@each_compression
@pytest.mark.parametrize("cut", [1, 9, 500])
def test_a_cut_off_file_is_an_error(kind, cut, tmp_path):
    path = tmp_path / "rows.gz"
    path.write_bytes(PACKED[kind](TEXT)[:-cut])
    with pytest.raises(DataError, match=rf"rows\.gz: the {kind} data are cut off or broken"):
        linsep.read(path)


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz"])
def test_a_broken_file_is_an_error(kind, tmp_path):
    """Those that carry a checksum; Arrow writes zstd without one."""
    path = tmp_path / "rows"
    data = bytearray(PACKED[kind](TEXT))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError):
        linsep.read(path)


def test_many_files(tmp_path):
    lines = TEXT.splitlines(keepends=True)
    for k in range(3):
        (tmp_path / f"part-{k}.svm").write_bytes(b"".join(lines[1000 * k : 1000 * (k + 1)]))
    (tmp_path / "_SUCCESS").write_bytes(b"")
    parts = [tmp_path / f"part-{k}.svm" for k in range(3)]
    for source in (tmp_path, str(tmp_path / "part-*.svm"), parts, [str(parts[0]), tmp_path / "part-[12].svm"]):
        same(linsep.read(source))
        assert sum(len(y) for _, y in linsep.stream(source, block_rows=700)) == 3000


def test_where_indices_begin_is_one_for_all_files(tmp_path):
    (tmp_path / "a").write_text("1 1:1\n")
    (tmp_path / "b").write_text("1 0:1\n")
    assert linsep.read(tmp_path).X.toarray().tolist() == [[0, 1], [1, 0]]
    streamed = [X.toarray().tolist() for X, _ in linsep.stream(tmp_path, block_rows=1)]
    assert streamed == [[[0, 1]], [[1, 0]]]


def test_a_line_is_counted_in_its_own_file(tmp_path):
    (tmp_path / "a").write_text("1 1:1\n" * 5)
    (tmp_path / "b").write_text("1 1:1\n1 x\n")
    with pytest.raises(DataError, match=r"b, line 2, column 3: 'x' is not index:value"):
        linsep.read(tmp_path)


def test_standard_input():
    program = "import linsep; X, y = linsep.read('-'); print(X.shape, len(y))"
    done = subprocess.run([sys.executable, "-c", program], input=TEXT, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[0] == "(3000, 7) 3000"


MISSING = {
    "no file": ("nothing.svm", "no such file"),
    "no match": ("*.nothing", "no file matches the pattern"),
    "an empty folder": ("empty", "the folder holds no files"),
}


@pytest.mark.parametrize("case", MISSING)
def test_nothing_to_read(case, tmp_path):
    (tmp_path / "empty").mkdir()
    name, reason = MISSING[case]
    with pytest.raises(DataError, match=reason) as caught:
        linsep.read(tmp_path / name)
    assert name in str(caught.value)


@pytest.mark.parametrize("source", [None, 3, [None]])
def test_what_is_no_source(source):
    with pytest.raises(TypeError, match="a path, a list of them, an open file"):
        linsep.read(source)
    with pytest.raises(DataError, match="no file in the list"):
        linsep.read([])


def test_a_file_open_as_text():
    with pytest.raises(TypeError, match="binary mode"):
        linsep.read(io.StringIO("1 1:1\n"))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(DataError, match="permission denied"):
        linsep.read(path)


def test_a_file_that_changes_under_the_reader(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(TEXT)
    walk = iter(linsep.stream(path, block_rows=10, block_bytes=1000, n_jobs=1, n_features=7, zero_based=False))
    next(walk)
    with path.open("ab") as file:
        file.write(b"1 1:1\n")
    with pytest.raises(DataError, match="the file changed while it was read"):
        list(walk)


@pytest.mark.parametrize("size", [1, 2, 7, 20, 100_000])
def test_blocks_are_whole_lines(size, tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(TEXT[:5000])
    found = list(blocks(sources_of(path), size))
    assert b"".join(block.text.tobytes() for block in found) == TEXT[:5000] + (
        b"" if TEXT[4999:5000] == b"\n" else b"\n"
    )
    assert all(block.text[-1] == 10 for block in found)
    assert [block.first for block in found] == [True] + [False] * (len(found) - 1)


def test_a_very_long_line(tmp_path):
    """100 MB in one row, read in blocks of 4 MB: time and memory in proportion to the line."""
    path = tmp_path / "long"
    entry = b" ".join(b"%d:1" % j for j in range(1, 100_001))
    with path.open("wb") as file:
        file.write(b"1 " + entry + b" # " + b"x" * 100_000_000 + b"\n-1 3:1\n")
    data = linsep.read(path)
    assert data.X.shape == (2, 100_000)
    assert data.X.nnz == 100_001


def test_progress(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(TEXT)
    seen = []
    linsep.read(path, progress=seen.append, block_bytes=10_000)
    assert len(seen) > 3
    assert seen[-1].done == seen[-1].total == len(TEXT)
    assert seen[-1].rows == 3000
    assert [p.rows for p in seen] == sorted(p.rows for p in seen)
    assert seen[-1].seconds_left == 0
    assert seen[-1].rows_per_second > 0


def test_policies():
    for options in ({"on_error": "ignore"}, {"on_error": "quarantine"}, {"quarantine": "x"}):
        with pytest.raises(ValueError, match="on_error"):
            linsep.read(io.BytesIO(TEXT), **options)
    with pytest.raises(ValueError, match="float32 or float64"):
        linsep.read(io.BytesIO(TEXT), dtype=np.int32)
