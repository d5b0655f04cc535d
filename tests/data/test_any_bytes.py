"""Any bytes are rows or faults, in every format of lines; none is read beyond the end, and memory is that of the input.

`benchmarks/fuzz.py` compares many more inputs with plain references.
"""

import io
import subprocess

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import linsep
from linsep.data.errors import DataError
from linsep.data.format import LineFormat
from linsep.data.registry import FORMATS, format_class
from tests.data.wall import at_the_wall
from tests.processes import forked

FORMS = {name: format_class(name) for name in FORMATS}
LINES = [name for name, form in FORMS.items() if issubclass(form, LineFormat)]
PIECES = [
    *(bytes([byte]) for byte in b" \t\n\r#:|',.+-eE01\x00_"), b"1:", b"|a ", b"qid:3", b"12345678",
    b"0.1234567890123456789", b"1e-320", b"1e400", b"99999999999999999999", b"x:2", b"word", b"nan", b"inf", b"0x10",
    b"\xc3\xa9", b"\xff", b"\xe2\x82", b"\xf0\x9f\x98\x80", "İ".encode(),
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=60).map(b"".join)


def check(form, text):
    """Hold what must be true of the rows of any text."""
    rows = form().parse(at_the_wall(text + b"\n"), np.float64)
    written = (text + b"\n").split(b"\n")[:-1]
    assert rows.lines == len(written)
    places = [*rows.places.tolist(), *(fault.line for fault in rows.faults)]
    assert len(set(places)) == len(places) <= len(written)
    assert all(written[place].removesuffix(b"\r").strip(b" ") for place in places)
    for fault in rows.faults:
        assert fault.row.rstrip(b"\r\n") == written[fault.line].rstrip(b"\r")
        assert fault.column is None or 1 <= fault.column <= len(fault.row) + 1
        assert len(fault.reason) < 500
    assert rows.indptr[0] == 0
    assert rows.indptr[-1] == len(rows.values) == len(rows.indices) <= len(text) + len(rows)
    assert np.isfinite(rows.values).all()
    for begin, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        assert np.all(np.diff(rows.indices[begin:end]) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
@given(text=texts)
@example(text=b"")
@example(text=b"1 1")
@example(text=b"1 |a 1234567")
@example(text=b"1\t\xe2\x82")
@settings(max_examples=300)
def test_any_bytes_are_rows_or_faults(name, text):
    check(FORMS[name], text)


def test_the_wall_is_one():
    """What these tests rely on: a read beyond the end is not overlooked."""
    over = "import ctypes; from tests.data.wall import *; a = at_the_wall(b'abc'); ctypes.string_at(a.ctypes.data, {})"
    for length, fine in ((3, True), (4, False)):
        done = subprocess.run(forked("-c", over.format(length)), check=False)
        assert (done.returncode == 0) == fine


TABLES = sorted(set(FORMS) - set(LINES) - {"table", "binary"})
CELLS = [*PIECES, b'"', b";", b"a,b,label\n", b"a\tb\tlabel\n", b"true", b"NA", b"\xef\xbb\xbf", b"2024-01-01", b"\n\n"]
tables = st.lists(st.sampled_from(CELLS) | st.binary(max_size=4), max_size=40).map(b"".join)


def check_table(name, text, size):
    """Hold that bytes are rows, or one error of ours, wherever they are cut."""
    for block_bytes in (size, 1 << 20):
        try:
            data = linsep.read(
                io.BytesIO(text), format=name, label=None, missing="zero", on_error="skip", block_bytes=block_bytes
            )
        except DataError:
            continue
        dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        assert np.isfinite(dense).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
@given(text=tables, size=st.integers(1, 40))
@settings(max_examples=60)
def test_any_bytes_are_a_table_or_an_error(name, text, size):
    check_table(name, text, size)
