"""Live sources: lines are there as soon as they are written, however the bytes are cut; others are read as before."""

import gzip
import io
import os
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linsep
from linsep.cli.jobs.reading import Waiting, pipe_input
from linsep.data.blocks import blocks
from linsep.data.sources import HEAD, Source


class Teller(io.RawIOBase):
    """Bytes that come piece by piece; counts the pieces that were asked for."""

    def __init__(self, pieces):
        self.pieces, self.asked, self.rest = list(pieces), 0, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.rest and self.pieces:
            self.rest, self.asked = self.pieces.pop(0), self.asked + 1
        got = min(len(buffer), len(self.rest))
        buffer[:got], self.rest = self.rest[:got], self.rest[got:]
        return got


def live(pieces):
    return Source("pieces", Teller(pieces), live=True)


def text_of(block):
    return block.text.tobytes()


def pieces_of(text, cuts):
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[begin:end] for begin, end in pairwise(edges)]


def test_lines_are_there_before_more_is_asked_for():
    source = live([b"one 1:1\n", b"two", b" 2:1\nthree 3:1\nfo", b"ur\n"])
    seen = [(text_of(block), source.handle.asked) for block in blocks([source])]
    assert seen == [(b"one 1:1\n", 1), (b"two 2:1\nthree 3:1\n", 3), (b"four\n", 4)]


def test_a_source_that_is_not_live_is_read_in_whole_blocks():
    source = Source("pieces", Teller([b"one\n", b"two\n", b"three\n"]))
    assert [text_of(block) for block in blocks([source])] == [b"one\ntwo\nthree\n"]


@given(st.lists(st.sampled_from([b"", b"a", b"bb\r", b"c" * 40]), max_size=8), st.booleans(), st.data())
def test_any_pieces_are_the_same_lines(some, ended, data):
    text = b"\n".join(some) + b"\n" * ended
    cuts = data.draw(st.lists(st.integers(0, max(len(text), 1)), max_size=10))
    size = data.draw(st.sampled_from([1, 7, 100]))
    found = list(blocks([live(pieces_of(text, cuts))], size))
    whole = text if text.endswith(b"\n") or not text else text + b"\n"
    assert b"".join(map(text_of, found)) == whole
    assert all(text_of(block).endswith(b"\n") for block in found)
    assert [block.first for block in found] == [k == 0 for k in range(len(found))]


def test_a_long_line_is_one_block():
    line = b"x" * 1000
    source = live([line[:300], line[300:] + b"\nshort\n"])
    assert b"".join(map(text_of, blocks([source], 64))) == line + b"\nshort\n"


def test_a_mark_at_the_beginning_is_left_out():
    assert [text_of(block) for block in blocks([live([b"\xef", b"\xbb\xbf1 1:1\n", b"2\n"])])] == [b"1 1:1\n", b"2\n"]


def test_packed_bytes_in_pieces():
    packed = gzip.compress(b"1 1:1\n2 2:1\n")
    source = live(packed[k : k + 1] for k in range(len(packed)))
    assert b"".join(map(text_of, blocks([source]))) == b"1 1:1\n2 2:1\n"


def test_a_look_at_a_pipe_takes_a_line_and_loses_nothing():
    source = Source("pieces", Teller([b"1 1", b":1\n2 2:1\n", b"3 3:1\n"]))
    assert source.head() == b"1 1:1\n2 2:1\n"
    assert source.handle.asked == 2
    assert source.head() == b"1 1:1\n2 2:1\n"
    assert b"".join(map(text_of, blocks([source]))) == b"1 1:1\n2 2:1\n3 3:1\n"


def test_a_look_at_a_pipe_ends_somewhere():
    source = Source("pieces", Teller([b"x" * 1000] * 100 + [b"\n"]))
    assert len(source.head()) == HEAD
    assert sum(len(block.text) for block in blocks([source])) == 100_001


def test_rows_of_a_live_stream_come_one_by_one():
    teller = Teller([b"1 1:1\n", b"-1 2:1\n1 3:1\n", b"1 1:2"])
    rows = linsep.stream(teller, format="svmlight", n_features=3, n_jobs=1)
    for source in rows.reader.sources:
        source.live = True
    seen = [(len(block), teller.asked) for block in rows]
    assert [count for count, _ in seen] == [1, 2, 1]
    assert [asked for _, asked in seen][:2] == [1, 2]


def test_rows_of_a_live_table_come_one_by_one():
    teller = Teller([b"a,label\n", b"1,x\n", b"2,y\n3,x\n", b"4,y\n"])
    rows = linsep.stream(teller, format="csv", n_jobs=1)
    for source in rows.reader.sources:
        source.live = True
    seen = [(block.X.ravel().tolist(), teller.asked) for block in rows]
    assert seen == [([1.0], 2), ([2.0, 3.0], 3), ([4.0], 4)]


@given(st.data())
def test_any_pieces_are_the_same_rows(data):
    text = b"1 1:1 3:0.5\n\n# nothing\n-1 2:2\n1 1:3 2:4 # more\n"
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    rows = linsep.stream(Teller(pieces_of(text, cuts)), format="svmlight", n_features=3, n_jobs=1, block_rows=2)
    for source in rows.reader.sources:
        source.live = True
    X = np.concatenate([block.X.toarray() for block in rows])
    assert np.array_equal(X, [[1, 0, 0.5], [0, 2, 0], [3, 4, 0]])


def written(ends, pieces):
    with open(ends, "wb", buffering=0) as file:
        for piece in pieces:
            file.write(piece)


def test_waiting_takes_all_that_is_there():
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as raw:
        waiting, buffer = Waiting(raw, "pipe"), bytearray(100)
        for piece in (b"one\n", b"two\n"):
            os.write(writing, piece)
        assert waiting.readinto(buffer) == 8
        os.write(writing, b"three\n")
        os.close(writing)
        assert waiting.readinto(memoryview(buffer)[:2]) == 2
        assert waiting.readinto(buffer) == 4
        assert (waiting.readinto(buffer), waiting.readinto(buffer)) == (0, 0)


def test_waiting_waits_for_the_first_byte():
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as raw:
        late = threading.Timer(0.1, written, (writing, [b"late\n"]))
        late.start()
        assert Waiting(raw, "pipe").read(100) == b"late\n"
        late.join()


def test_a_pipe_that_does_not_block_says_so():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading, "rb", buffering=0) as raw, open(writing, "wb"):
        lines = blocks([Source("pipe", Waiting(raw, "pipe"), live=True)])
        with pytest.raises(linsep.DataError, match="pipe: there is nothing to read yet: open it in blocking mode"):
            next(lines)


def test_what_is_live(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    os.mkfifo(tmp_path / "pipe")
    for data in ([str(tmp_path / "a.svm")], [str(tmp_path)], ["no such file"], ["-", "-"], [str(tmp_path / "*")]):
        assert pipe_input(data) is None
    writer = threading.Thread(target=written, args=(tmp_path / "pipe", [b"1 1:1\n"]))
    writer.start()
    with pipe_input([str(tmp_path / "pipe")]) as found:
        assert found.name == str(tmp_path / "pipe")
        assert found.read(100) == b"1 1:1\n"
    writer.join()
