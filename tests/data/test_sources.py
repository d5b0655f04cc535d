"""Where bytes come from, and what is said when they do not."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tracemalloc
from time import perf_counter

import numpy as np
import pyarrow as pa
import pytest

import linsep
from linsep.data import sources
from linsep.data.blocks import blocks
from linsep.data.errors import DataError
from linsep.data.parts import Plan, blocks_of, profile_of, rows_of
from linsep.data.sources import sources_of
from tests.processes import forked

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


MIDDLE = TEXT.index(b"\n", 20000) + 1
JUNK = {"a byte": b"x", "a line": b"1 1:1\n", "a NUL": b"\0", "half a head": b"B", "much": b"junk" * 50_000}


def members(kind, between=b"", after=b""):
    """Two compressed members, and what stands between and after them."""
    return PACKED[kind](TEXT[:MIDDLE]) + between + PACKED[kind](TEXT[MIDDLE:]) + after


def in_parts(path, reading):
    plan = Plan(path, n_features=7, zero_based=False, format="svmlight")
    return [reading(part, plan.reading) for part in plan.parts(2)]


READINGS = [
    linsep.read,
    lambda path: linsep.read(io.BytesIO(path.read_bytes())),
    lambda path: list(linsep.stream(path, block_rows=500)),
    lambda path: list(linsep.stream(path, once=True)),
    lambda path: linsep.convert(path, path.parent / "rows.npz"),
    lambda path: in_parts(path, profile_of),
    lambda path: in_parts(path, rows_of),
    lambda path: in_parts(path, lambda *how: list(blocks_of(*how))),
]


def refused(path, kind):
    """Hold that no way to read the file gives rows."""
    for reading in READINGS:
        with pytest.raises(DataError, match=rf"(<file>|{path.name}): the {kind} data are cut off or broken \(.+\)"):
            reading(path)
    assert not (path.parent / "rows.npz").exists()


@each_compression
@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("place", ["between", "after"])
def test_junk_next_to_a_compressed_member_is_an_error(kind, junk, place, tmp_path):
    if (kind, junk) == ("gzip", "a NUL"):
        pytest.skip("zeros may stand between and after members of gzip")
    path = tmp_path / "rows.packed"
    path.write_bytes(members(kind, **{place: JUNK[junk]}))
    refused(path, kind)


@each_compression
@pytest.mark.parametrize("cut", [1, 9, 500])
def test_a_cut_off_second_member_is_an_error(kind, cut, tmp_path):
    path = tmp_path / "rows.packed"
    path.write_bytes(members(kind)[:-cut])
    refused(path, kind)


@pytest.mark.parametrize("kind", ["gzip", "bz2", "xz"])
@pytest.mark.parametrize("first", [False, True])
def test_damage_anywhere_in_a_member_is_an_error(kind, first, tmp_path):
    """A head of gzip is left alone: it holds a time and a name, which tell nothing of the rows."""
    size = len(PACKED[kind](TEXT[:MIDDLE]))
    begin, end = (0, size) if first else (size, len(members(kind)))
    for at in range(begin + (10 if kind == "gzip" else 0), end, (end - begin) // 20):
        data = bytearray(members(kind))
        data[at] ^= 0x55
        with pytest.raises(DataError, match="<file>"):
            linsep.read(io.BytesIO(data), format="svmlight")


def test_padding_of_xz_is_zeros_in_fours(tmp_path):
    path = tmp_path / "rows.xz"
    for between, after in ((4, 0), (0, 4), (8, 12), (70_000, 200_000)):
        path.write_bytes(members("xz", bytes(between), bytes(after)))
        same(linsep.read(path))
    for between, after in ((1, 0), (0, 3), (5, 0), (0, 70_001), (4, 2)):
        path.write_bytes(members("xz", bytes(between), bytes(after)))
        refused(path, "xz")
    path.write_bytes(members("xz", bytes(8), bytes(8) + b"x"))
    refused(path, "xz")


def test_zeros_after_members_of_gzip_are_padding(tmp_path):
    path = tmp_path / "rows.gz"
    path.write_bytes(members("gzip", bytes(5), bytes(700)))
    same(linsep.read(path))


@each_compression
def test_members_without_bytes_and_many_members(kind, tmp_path):
    lines = TEXT.splitlines(keepends=True)
    parts = [b"".join(lines[k : k + 30]) for k in range(0, 3000, 30)]
    data = PACKED[kind](b"") + PACKED[kind](b"").join(map(PACKED[kind], parts)) + PACKED[kind](b"")
    (tmp_path / "rows").write_bytes(data)
    same(linsep.read(tmp_path / "rows"))
    same(linsep.read(Dribble(data[k : k + 1] for k in range(len(data)))))


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
    done = subprocess.run(forked("-c", program), input=TEXT, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[0] == "(3000, 7) 3000"


def test_standard_input_is_read_once_even_from_a_file(tmp_path):
    """A stream that could be sought would be scanned, and be found to begin at 0."""
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:1\n-1 2:1\n")
    program = """
import linsep
data = linsep.stream("-", block_rows=1)
print([X.shape for X, _ in data])
list(data)
"""
    with path.open("rb") as file:
        done = subprocess.run(forked("-c", program), stdin=file, capture_output=True)
    assert done.stdout.decode().split("\n")[0] == "[(1, 1), (1, 2)]"
    assert b"-: it can be read only once" in done.stderr
    path.write_bytes(b"1 1:1\n-1 0:1\n")
    with path.open("rb") as file:
        done = subprocess.run(forked("-c", program), stdin=file, capture_output=True)
    assert b"-, line 2, column 4: index 0, but indices begin at 1 here" in done.stderr


class Dribble(io.RawIOBase):
    """A raw file that gives a few bytes at a time; None stands for nothing to read yet."""

    def __init__(self, parts):
        self.parts = iter(parts)

    def readable(self):
        return True

    def readinto(self, buffer):
        part = next(self.parts, b"")
        if part is not None:
            buffer[: len(part)] = part
        return None if part is None else len(part)


class OnlyRead:
    def __init__(self, parts):
        self.read = Dribble(parts).read


@each_packing
@pytest.mark.parametrize("raw", [Dribble, OnlyRead])
def test_a_file_that_gives_one_byte_at_a_time(kind, raw):
    data = PACKED[kind](TEXT)
    same(linsep.read(raw(data[k : k + 1] for k in range(len(data)))))


@each_packing
@pytest.mark.parametrize("raw", [Dribble, OnlyRead])
@pytest.mark.parametrize("before", [0, 3, 500])
def test_nothing_to_read_yet_is_not_the_end(kind, raw, before):
    data = PACKED[kind](TEXT)
    parts = [*(data[k : k + 1] for k in range(before)), None, *(data[k : k + 1] for k in range(before, len(data)))]
    with pytest.raises(DataError, match="<file>: there is nothing to read yet: open it in blocking mode"):
        linsep.read(raw(parts), format="svmlight")


def test_a_pipe_that_does_not_wait():
    end, begin = os.pipe()
    os.set_blocking(end, False)
    os.write(begin, b"1 1:1\n")
    with open(end, "rb") as file, open(begin, "wb"), pytest.raises(DataError, match="there is nothing to read yet"):
        linsep.read(file)


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


def test_a_change_is_noticed_though_size_and_time_are_put_back(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(TEXT)
    (source,) = sources_of(path)
    before, told = source.stamp(), path.stat()
    assert source.stamp() == before
    while path.stat().st_ctime_ns == told.st_ctime_ns:  # the file system's clock may be coarse
        with path.open("r+b") as file:
            file.write(b"1")
        os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (told.st_ino, told.st_size, told.st_mtime_ns)
    assert source.stamp() != before
    assert all(type(part) is int for part in source.stamp())


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


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 9, 10, 1000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nx", b"\nx\n", b"\n\n", b"x" * 9])
def test_blocks_of_lines_longer_than_they_are(size, end):
    text = b"a\n" + b"b" * 9 + b"\n\n" + b"c" * 8 + end
    found = list(blocks(sources_of(io.BytesIO(text)), size))
    assert b"".join(block.text.tobytes() for block in found) == text + (b"" if text.endswith(b"\n") else b"\n")
    assert all(block.text[-1] == 10 for block in found)
    assert [block.first for block in found] == [True] + [False] * (len(found) - 1)
    assert not list(blocks(sources_of(io.BytesIO(b"")), size))


def seconds_of_a_line(length):
    """The least of three runs, in blocks so small that copying the line anew for each would take most of the time."""
    text, times = b"x" * length + b"\n", []
    for _ in range(3):
        begin = perf_counter()
        (block,) = blocks(sources_of(io.BytesIO(text)), 1 << 14)
        times.append(perf_counter() - begin)
        assert len(block.text) == length + 1
    return min(times)


def test_a_long_line_takes_time_in_proportion():
    short, long = seconds_of_a_line(2_000_000), seconds_of_a_line(32_000_000)
    assert long < 5 * 16 * short


@pytest.mark.parametrize("end", [b"", b"\n", b"\n-1 3:1\n"])
def test_a_long_line_takes_memory_in_proportion(end):
    sources = sources_of(io.BytesIO(b"1 # " + b"x" * 32_000_000 + end))
    tracemalloc.start()
    found = [len(block.text) for block in blocks(sources)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(found) >= 32_000_005
    assert peak < 1.6 * 32_000_000


def test_a_very_long_line(tmp_path):
    """One row of 100 MB, most of it a comment, read in blocks of 2 MB."""
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


@pytest.mark.parametrize("kind", ["plain", "xz"])
def test_too_little_memory_is_not_called_damage(kind, tmp_path, monkeypatch):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:1\n-1 2:1\n" if kind == "plain" else lzma.compress(b"1 1:1\n-1 2:1\n"))

    def scarce(self, buffer):
        raise MemoryError

    monkeypatch.setattr(sources.Members if kind == "xz" else sources.Counted, "readinto", scarce)
    with pytest.raises(DataError, match=r"rows\.svm.*not enough memory"):
        linsep.read(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_bytes_after_the_compressed_data_are_named(pack, tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(pack(b"1 1:1\n-1 2:1\n") + b"junk that is no member")
    with pytest.raises(DataError, match="bytes after the end of the compressed data"):
        linsep.read(path)


def test_an_open_file_is_read_from_where_it_stands():
    file = io.BytesIO(b"label,a\n1,5\n0,7\n1,9\n")
    file.readline()
    rows = linsep.stream(file, format="csv", header=False, label=0)
    assert [block.y.tolist() for block in rows] == [block.y.tolist() for block in rows] == [[1, 0, 1]]
    file.seek(len(b"label,a\n1,5\n"))
    assert linsep.read(file, format="csv", header=False, label=0).y.tolist() == [0, 1]
