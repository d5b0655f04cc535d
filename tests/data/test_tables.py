"""Tables: text, Parquet, Arrow and tables in memory give the same rows; what is wrong is told row by row."""

import csv
import gzip
import io
import json
import math
import re
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer

import linsep
from linsep.data.blocks import BLOCK_BYTES, Clock
from linsep.data.compiled.csv import mark_rows
from linsep.data.compiled.names import hash_of
from linsep.data.compiled.numbers import exactly
from linsep.data.errors import DataError, ErrorPolicy
from linsep.data.format import ReadPass
from linsep.data.sources import Source
from linsep.data.tables import csv as csv_text
from linsep.data.tables.csv import Text
from linsep.data.tables.format import Arrow, Csv, InMemory, Parquet, Tsv
from linsep.data.tables.plan import NUMBER, WORDS, ColumnPlan
from tests.processes import forked

FORMS = {form.name: form for form in (Arrow, Csv, InMemory, Parquet, Tsv)}
DATE = pa.array([1], pa.date32())


def sources(data, name="t"):
    data = data if isinstance(data, list) else [data]
    named = [Source(str(d)) if hasattr(d, "exists") else Source(name, d) for d in data]
    return [Source(name, io.BytesIO(s.handle)) if isinstance(s.handle, bytes) else s for s in named]


class FirstError(ErrorPolicy):
    """Remember the error of the first malformed row."""

    first = None

    def take(self, faults, file, first_line):
        for fault in faults[:1]:
            self.first = self.first or DataError(file, fault.reason, first_line + fault.line, fault.column)
        super().take(faults, file, first_line)


def read(
    data, format="csv", table=None, dtype=np.float64, jobs=1, on_error="raise", quarantine=None,
    block_bytes=BLOCK_BYTES, **options,
):  # fmt: skip
    """All rows of some sources, as one matrix, and how they were read."""
    table = FORMS[format](**options) if table is None else table
    policy, where = FirstError(on_error, quarantine), sources(data)
    parts = list(table.parts(ReadPass(where, dtype, policy, Clock(where, None), jobs, block_bytes)))
    policy.close()
    if table.sparse:
        shapes = [(len(rows), table.width) for rows in parts]
        stacked = [sp.csr_array((r.values, r.indices, r.indptr), shape=s) for r, s in zip(parts, shapes, strict=True)]
        assert all(matrix.has_canonical_format for matrix in stacked)
        X = sp.vstack(stacked).toarray()
    else:
        assert all(rows.values.flags.c_contiguous and rows.indptr is None for rows in parts)
        X = np.concatenate([rows.values for rows in parts])
    assert X.dtype == dtype
    weights = None if parts[0].weights is None else np.concatenate([rows.weights for rows in parts])
    return SimpleNamespace(
        X=X, y=np.concatenate([rows.labels for rows in parts]), weights=weights, parts=parts, table=table,
        names=table.feature_names, rejected=policy.rejected, first=policy.first,
    )  # fmt: skip


def no_scan():
    """Where columns are known by their names, nobody asks which of them have entries."""
    raise AssertionError


def fails(reason, data, format="csv", **options):
    with pytest.raises(DataError, match=re.escape(reason)) as caught:
        read(data, format, **options)
    return caught.value


CITIES = b"age,city,label,fair\n3,Oslo,1,True\n40,Paris,0,False\n5.5,Oslo,1,True\n"


def test_numbers_come_first_then_words_as_they_are_seen():
    got = read(CITIES)
    assert got.names == ["age", "city=Oslo", "fair=true", "city=Paris", "fair=false"]
    assert got.X.tolist() == [[3, 1, 1, 0, 0], [40, 0, 0, 1, 1], [5.5, 1, 1, 0, 0]]
    assert got.y.tolist() == [1, 0, 1]
    assert got.parts[0].places.tolist() == [1, 2, 3]
    assert got.parts[0].lines == 4
    assert got.table.column_of("city=Paris") == 3
    assert got.table.column_of("age") == 0
    assert got.table.column_of("city=Rome") is None


def test_only_numbers_are_a_matrix():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 7)) * 10.0 ** rng.integers(-9, 9, 7), columns=list("abcdefg"))
    frame.insert(2, "target", rng.integers(0, 3, 3000))
    text = frame.to_csv(index=False).encode()
    for jobs in (1, 2):
        got = read(text, jobs=jobs, block_bytes=10_000)
        assert len(got.parts) > 10
        assert np.array_equal(got.X, frame.drop(columns="target").to_numpy())
        assert np.array_equal(got.y, frame.target)
    lines = np.concatenate([rows.places + k for k, rows in zip(_starts(got.parts), got.parts, strict=True)])
    assert np.array_equal(lines, np.arange(1, 3001))


def _starts(parts):
    return np.cumsum([0, *(rows.lines for rows in parts)])[:-1]


MARKED = "\ufeff"


def whole_and_cut(text, **options):
    """What a text gives in one part, which must be what it gives in many: rows, names, rows at fault, or an error."""
    found = []
    for size in (1 << 20, 1, 7, 40):
        try:
            got = read(text.encode(), block_bytes=size, **options)
        except DataError as error:
            found.append(str(error))
        else:
            found.append((got.X.tolist(), list(map(str, got.y)), got.names, got.rejected, str(got.first)))
    assert found[1:] == found[:1] * 3
    return found[0]


def test_a_mark_of_the_encoding_is_left_out_only_where_a_file_begins():
    X, _, names, *_ = whole_and_cut(f"{MARKED}c,y\nOslo,1\n{MARKED}Oslo,0\n")
    assert names == ["c=Oslo", f"c={MARKED}Oslo"]
    assert X == [[1, 0], [0, 1]]
    quoted = f'a,y\n{MARKED}"x,1"\n'
    assert whole_and_cut(quoted, words=["a"], label=None, ignore=["y"])[2] == [f'a={MARKED}"x']
    assert whole_and_cut(quoted, missing="zero")[1] == ['1"']
    assert "'\\ufeff1' in column 'a' is not a number" in whole_and_cut(f"a,y\n1,1\n2,1\n{MARKED}1,1\n")
    assert read(b"c\n\xef\n\xef\xbb\nx\n", label=None, on_error="skip", block_bytes=1).rejected == 2


pieces = st.sampled_from([MARKED, '"', ",", "x", "1", " ", "\n", "\r\n", "\r", "\ufefe", "é", ",1\n", ",2\n"])


@settings(max_examples=60)
@given(st.lists(pieces, max_size=15).map("".join))
def test_rows_of_words_do_not_depend_on_how_the_file_is_cut(text):
    whole_and_cut(f"a,y\nx,1\n{text}", words=["a", "y"], on_error="skip")


def test_what_arrow_can_not_read_is_an_error_of_the_data(monkeypatch):
    def refuse(*_, **__):
        raise pa.ArrowInvalid("CSV parse error: no\nmore")

    monkeypatch.setattr(csv_text.csv, "read_csv", refuse)
    for options in ({"words": ["a"]}, {}):
        fails("t: it can't be read as CSV: CSV parse error: no", b'a,y\n"1",1\n', **options)


HARD = [
    "2.2250738585072011e-308", "9007199254740993", "9007199254740992.99999999999999999", "1e23", "8.5e-324", "1.", ".5",
    "+7", "-0", "0.000000000000000000000000000000000000000000000000001", "179769313486231570000e288", "1E+5",
    "12e-0007", "1.00000005960464477539", "1.00000005960464477540", "1.00000017881393432617187500001", "1e-46", "8e-46",
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("blank", ["", " "], ids=["compiled", "by Arrow"])
def test_numbers_are_rounded_once(dtype, blank):
    hard = [text for text in HARD if dtype is np.float64 or float(text) < 1e38]
    text = "x,y\n" + "".join(f"{blank}{number},1\n" for number in hard)
    expected = [exactly(number.encode(), dtype) for number in hard]
    for extra in ("", "bad,1\n"):
        got = read((text + extra).encode(), dtype=dtype, on_error="skip")
        assert got.X[:, 0].tolist() == expected
        assert got.rejected == bool(extra)


def way(name, text, plan, dtype=np.float64):
    part = Text(["a", "b", "y"], np.frombuffer(text, np.uint8), "t", True, 0, 0, ",")
    return getattr(part, name)(plan, dtype)


cell = st.one_of(
    st.integers(-(10**6), 10**20).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["", "NA", "nan", "-NaN", "inf", "1e999", "x", " 1", "1 ", '"2"', '"a,b"', '"q""q"', "+3", "0x1"]),
    st.text('0123456789.eE+-naNinf"x \t', max_size=6),
)  # fmt: skip
row = st.lists(cell, min_size=2, max_size=4).map(",".join)


@settings(max_examples=150)
@given(st.lists(row, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_the_three_ways_to_read_text_agree(lines, end, words):
    """Where a fast way takes the text at all, it finds what the slow and careful one does."""
    text = "".join(line + end for line in lines).encode()
    assume(mark_rows(np.frombuffer(text, np.uint8), ord(",")).stop == len(text))
    plan = ColumnPlan(("a", "b"), (), "y", WORDS if words else NUMBER, None, "zero")
    slow = way("_read_strictly", text, plan)
    for fast in (way("_read_numbers", text, plan), way("_read_plainly", text, plan)):
        if fast is not None:
            assert not slow.troubles
            assert np.array_equal(fast.values, slow.values)
            assert np.array_equal(fast.labels, slow.labels)


NOTHING = {"", "na", "n/a", "#n/a", "#na", "nan", "-nan", "+nan", "null", "none", "#n/a n/a", "<na>"}


def plainly(text):
    """The rows, and the lines of those at fault, by Python's own csv module and floats."""
    reader, X, faults = csv.reader(io.StringIO(text, newline="")), [], []
    end, at = 0, 0
    for fields in reader:
        at, end = end, reader.line_num
        if not fields:
            continue
        try:
            if len(fields) != 3:
                raise ValueError
            fields = [field.strip(" \t") for field in fields]
            decimal = [re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", field, re.A) for field in fields]
            nothing = [field.lower() in NOTHING for field in fields]
            if not all(map(any, zip(decimal, nothing, strict=True))) or nothing[2]:
                raise ValueError
            values = [0.0 if none else float(field) for none, field in zip(nothing, fields, strict=True)]
            if not all(map(math.isfinite, values)) or abs(values[2]) >= 2**53:
                raise ValueError
            X.append(values)
        except ValueError:
            faults.append(at + 1)
    return X, faults


@settings(max_examples=150)
@given(st.lists(row, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n", "\n\n"]), st.integers(1, 200))
def test_rows_and_faults_are_those_that_python_finds(lines, end, size):
    body = "".join(line + end for line in lines)
    head = "a,b,y\n" + "1,1,1\n" * 30  # all columns are numbers
    text = (head + body).encode()
    assume(mark_rows(np.frombuffer(text, np.uint8), ord(",")).stop == len(text))
    got = read(text, on_error="skip", missing="zero", block_bytes=len(head) + size)
    X, faults = plainly(head.split("\n", 1)[1] + body)
    assert np.column_stack([got.X, got.y]).tolist() == X
    assert got.rejected == len(faults)
    if faults:
        assert got.first.line == faults[0] + 1


@pytest.mark.parametrize("size", [1, 40, 10_000])
@pytest.mark.parametrize("jobs", [1, 2])
def test_numbers_of_words_do_not_depend_on_how_the_file_is_cut(size, jobs):
    rng = np.random.default_rng(1)
    table = rng.integers(0, 40, (300, 2))
    text = "u,v,y\n" + "".join(f"a{u},{'b' * v},1\n" for u, v in table + 1)
    names = dict.fromkeys(name for u, v in table + 1 for name in (f"u=a{u}", f"v={'b' * v}"))
    got = read(text.encode(), block_bytes=size + 20, jobs=jobs)
    assert got.names == list(names)
    assert [np.flatnonzero(x).tolist() for x in got.X] == [
        sorted([got.names.index(f"u=a{u}"), got.names.index(f"v={'b' * v}")]) for u, v in table + 1
    ]
    again = read(text.encode(), table=got.table)
    assert np.array_equal(again.X, got.X)


@pytest.mark.parametrize("n_features", [1, 3, 1 << 20])
def test_hashed_words_come_after_the_numbers(n_features):
    got = read(CITIES, categories="hashed", n_features=n_features).parts[0]
    X = sp.csr_array((got.values, got.indices, got.indptr), shape=(3, 1 + n_features))
    for i, names in enumerate([("city=Oslo", "fair=true"), ("city=Paris", "fair=false"), ("city=Oslo", "fair=true")]):
        expected = np.zeros(n_features)
        for name in names:
            h = hash_of(name)
            expected[abs(h - (1 << 32) if h >> 31 else h) % n_features] += 1
        assert np.array_equal(X[[i], 1:].toarray()[0], expected)
    assert X[:, [0]].toarray().ravel().tolist() == [3, 40, 5.5]
    table = Csv(categories="hashed", n_features=n_features)
    table.sniff(sources(CITIES))
    assert table.settled
    assert table.width == 1 + n_features
    assert table.feature_names is None
    assert X[0, table.column_of("city=Oslo")] >= 1


MISSING = b"age,city,y\n1,,a\nNA,Oslo,b\n2,Rome,a\n"


def test_missing_values_by_a_stated_rule():
    error = fails("'' in column 'city': a value is missing; missing='zero'", MISSING)
    assert (error.line, error.column) == (2, 3)
    zero = read(MISSING, missing="zero")
    assert zero.names == ["age", "city=Oslo", "city=Rome"]
    assert zero.X.tolist() == [[1, 0, 0], [0, 1, 0], [2, 0, 1]]
    told = read(MISSING, missing="indicator")
    assert told.names == ["age", "city=", "city=Oslo", "age=", "city=Rome"]
    assert told.X.tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [2, 0, 0, 0, 1]]
    left = read(MISSING, on_error="skip")
    assert left.X.tolist() == [[2, 1]]
    assert left.names == ["age", "city=Rome"], "words of rows at fault get no number"
    assert left.rejected == 2


def test_missing_labels_and_weights_are_faults_under_any_rule():
    error = fails("there is no label in column 'y'", b"a,y\n1,x\n2,\n", missing="zero")
    assert error.line == 3
    fails("there is no label in column 'y'", b"a,y\n1,1\n2,NA\n", missing="zero")
    fails("there is no weight in column 'w'", b"a,w,y\n1,,1\n2,1,1\n", missing="zero", weight="w")
    fails("weight '-1' in column 'w' is negative", b"a,w,y\n1,-1,1\n", weight="w")
    got = read(b"a,w,y\n1,0.5,x\n2,1,x\n", weight="w")
    assert got.weights.tolist() == [0.5, 1]
    assert got.X.tolist() == [[1], [2]]


LARGE = "label '{}' in column 'y' is too large for an exact number: words=['y'] takes it as a word"


@pytest.mark.parametrize("row", ["{},1", '"{}",1', "{},x", " {},1"])
@pytest.mark.parametrize("label", ["9007199254740993", "-9007199254740992", "18446744073709551616", "+9.1e15"])
def test_labels_that_text_would_blur_are_faults(row, label):
    rows = [row.format(y) for y in ("9007199254740991", label, "3")]
    text = ("y,w\n" + "\n".join(rows) + "\n").encode()
    error = fails(LARGE.format(label if row[0] != " " else " " + label), text)
    assert (error.line, error.column) == (3, 1)
    got = read(text, on_error="skip")
    assert got.y.tolist() == [9007199254740991, 3]
    assert got.rejected == 1
    assert [y.strip() for y in read(text, words=["y"]).y] == ["9007199254740991", label, "3"]
    like = read(b"y,w\n1,1\n").table.like(no_scan, strict=False)
    if "x" not in row:
        fails("exact number: read the first data with words=['y'] takes", text, table=like)


def test_labels_of_typed_columns_are_exact_or_faults():
    large = pa.table({"a": [1, 2, 3], "y": pa.array([2**63 + 5, 2**63 - 1, None], pa.uint64())})
    assert fails(LARGE.format(2**63 + 5), large, "table").line == 1
    got = read(large, "table", on_error="skip")
    assert got.y.tolist() == [2**63 - 1]
    assert got.rejected == 2
    assert read(large[:2], "table", words=["y"]).y.tolist() == [str(2**63 + 5), str(2**63 - 1)]
    exact = pa.table({"a": [1, 2, 3], "y": pa.array([2**53 + 1, None, -(2**63)], pa.int64())})
    assert fails("there is no label in column 'y'", exact, "table").line == 2
    assert read(exact, "table", on_error="skip").y.tolist() == [2**53 + 1, -(2**63)]
    decimals = pa.table({"a": [1, 2], "y": [Decimal(2**53 + 1), Decimal("2.5")]})
    assert fails(LARGE.format(Decimal("9007199254740993.0")), decimals, "table").line == 1
    assert read(decimals[1:], "table").y.tolist() == [2.5]
    assert read(pa.table({"a": [1, 2], "y": [1e300, 2.0**53]}), "table").y.tolist() == [1e300, 2.0**53]


def test_a_word_among_numbers_is_a_fault_wherever_it_is():
    text = b"age,y\n" + b"1,1\n" * 1000 + b"abc,1\n" + b"2,1\n" * 1000
    for size in (100, 1 << 20):
        reason = "'abc' in column 'age' is not a number: words=['age'] if the column holds words"
        error = fails(reason, text, block_bytes=size)
        assert (error.line, error.column) == (1002, 1)
        assert len(read(text, block_bytes=size, on_error="skip").X) == 2000
    assert read(text, words=["age"]).names == ["age=1", "age=abc", "age=2"]
    early = b"age,y\nabc,1\n2,1\n3,1\n"
    assert fails("'abc' in column 'age' is not a number", early).line == 2
    assert read(b"code,y\nA1,1\n12,1\nB,1\n").names == ["code=A1", "code=12", "code=B"]


def test_quarantine_keeps_rows_as_they_were(tmp_path):
    text = b'a,w,y\r\n1,x,1\r\n2,"\nq""",1,\r\n\r\nz,x,1\r\n3,\xff,1\r\n4,\0,1\r\n5,inf\r\n6,x,1\r\n'
    kept = tmp_path / "kept"
    got = read(text, on_error="quarantine", quarantine=kept)
    assert got.X.tolist() == [[1, 1], [6, 1]]
    assert got.parts[0].places.tolist() == [1, 9]
    assert got.parts[0].lines == 10
    assert kept.read_bytes() == b'2,"\nq""",1,\nz,x,1\n3,\xff,1\n4,\0,1\n5,inf\n'
    assert got.rejected == 5
    assert (got.first.line, got.first.reason) == (3, "4 fields, but 3 columns")


def test_the_place_of_a_fault_is_that_of_its_field():
    error = fails("'x' in column 'c'", b'a,b,c,y\n1,"u, ""v""\n",x,1\n2,b,2,1\n3,b,3,1\n')
    assert (error.line, error.column) == (2, 15)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"a,a,y\n1,2,3\n", "there are two columns called 'a'"),
        (b"a,b\n1,2\n", "is called like one; pass label=..., or label=None if there are none; the columns are 'a'"),
        (b"a,y,Class\n1,2,1\n", "'y', 'Class' might all be one"),
        (b",a,y\n0,2,1\n", "column 1 has no name"),
        (b"y\n1\n", "no column is left to learn from"),
        (b"\xff,y\n1,1\n", "byte 1, '\\\\xff,y', is not UTF-8"),
        (b"a\0,y\n1,1\n", "column 2: there is a NUL byte in the header"),
        (b"a" * 200_000 + b",y\n1,1\n", "line 1: the header can't be read: field larger than"),
        (b"\xff\xfea\0,\0y\0", "UTF-16"),
        (b'a,y\n1,1\n2,"1\n3,1\n', "line 3: a quote that is opened in this row is not closed"),
        (gzip.compress(b"a,y\n" + b"1,1\n" * 99, mtime=0)[:-9], "the gzip data are cut off or broken"),
    ],
)  # fmt: skip
def test_files_that_are_no_tables(text, reason):
    fails(reason, text)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfa,y\n1,2\n3,4\n", b"a,y\r\n1,2\r\n3,4\r\n", b"a,y\n1,2\n3,4", b"\n\na,y\n\n1,2\n\n\n3,4\n\n",
        b'"a","y"\n"1","2"\n"3","4"\n', gzip.compress(b"a,y\n1,2\n3,4\n", mtime=0), b"a,y\r1,2\r3,4\r",
    ],
    ids=["mark", "CRLF", "no last newline", "blank lines", "quoted", "gzip", "CR"],
)  # fmt: skip
def test_ways_to_write_the_same_table(text):
    got = read(text)
    assert got.names == ["a"]
    assert np.column_stack([got.X, got.y]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.slow
def test_wide_tables():
    names = [f"x{j}" for j in range(20_000)]
    got = read((",".join(names) + ",y\n" + "1.5," * 20_000 + "2\n").encode(), on_error="skip")
    assert got.X.tolist() == [[1.5] * 20_000]
    assert got.names == names
    error = fails("there is no column 'z'; the columns are 'x0', ", ",".join(names).encode() + b"\n1\n" * 9, label="z")
    assert error.reason.endswith("'x29' and 19,970 more")


def test_sources_are_read_again(tmp_path):
    for kind in ("csv", "parquet", "feather", "stream"):
        path, format = written(kind, tmp_path)
        handle = io.BytesIO(path.read_bytes())
        for _ in range(2):
            check_frame(read(handle, format))


def test_quoted_fields_hold_anything():
    text = 'w,y\n"a\n""b"",\n",1\n' * 1
    text += '"a\n""b"",\n",2\nc"d,3\n"e"f,4\n' * 50
    for size in (3, 11, 1000):
        got = read(text.encode(), block_bytes=size)
        assert got.names == ['w=a\n"b",\n', 'w=c"d', "w=ef"]
        assert len(got.X) == 151


def test_a_quote_that_is_not_closed_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(csv_text, "MOST_QUOTED", 1000)

    class Endless:
        served = 0

        def read(self, size):
            begin, self.served = self.served, self.served + size
            return (b'a,y\n1,"x\n' + b"2,x\n" * self.served)[begin : self.served]

        def seekable(self):
            return False

    endless = Endless()
    assert fails("a quote that is opened in this row is not closed", endless, block_bytes=256).line == 2
    assert endless.served < 10_000


def test_tables_without_a_header_and_with_other_delimiters():
    got = read(b"1;x;2\n3;y;4\n", header=False, delimiter=";", label=-1)
    assert got.names == ["0", "1=x", "1=y"]
    assert got.y.tolist() == [2, 4]
    tabs = read(b"a\tb\ty\n1\t,\t2\n", "tsv")
    assert tabs.names == ["a", "b=,"]
    fails("there is no column number 3", b"1,2,3\n", header=False, label=3)


@pytest.mark.parametrize(
    "text", ["5,1.5,1\n6,2,0\n", "-1e3, .5,+7\r\n1,2,3\r\n", "5,,NA\n1,2,3\n", '"5","1"\n2,3\n', "\n\n1\t2\n3\t4\n"]
)
def test_a_first_line_of_numbers_is_no_header(text):
    format = "tsv" if "\t" in text else "csv"
    reason = "the first line holds numbers: header=False is for files without names, header=True if these are names"
    error = fails(reason, text.encode(), format, label=-1)
    assert error.line == 1 + len(text) - len(text.lstrip("\n"))
    assert len(read(text.encode(), format, label=-1, header=False, missing="zero", on_error="skip").X) >= 1
    fails(reason, [b"a,y\n1,2\n", b"3,4\n"])


def test_names_that_are_numbers():
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3))
    text = frame.to_csv(index=False).encode()
    got = linsep.read(io.BytesIO(text), format="csv", label=-1, header=True)
    assert got.feature_names == ["0", "1"]
    assert got.y.tolist() == [2, 5]
    assert linsep.read(io.BytesIO(text), format="csv", like=got).X.tolist() == [[0, 1], [3, 4]]
    assert read(text.replace(b"2\n", b"label\n")).names == ["0", "1"], "one name is enough"


def test_other_data_without_names():
    named = linsep.read(io.BytesIO(b"a,b,y\n1,2,0\n3,4,1\n"), format="csv")
    with pytest.raises(DataError, match=r"no column 'a', .* its first line holds numbers, and no names$"):
        linsep.read(io.BytesIO(b"5,6,1\n7,8,0\n"), format="csv", like=named)
    nameless = linsep.read(io.BytesIO(b"1,2,0\n3,4,1\n"), format="csv", header=False, label=-1)
    assert linsep.read(io.BytesIO(b"5,6,1\n"), format="csv", like=nameless).X.tolist() == [[5, 6]]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("lost", [b"3,x,1\n", b"a,y\n", b"a,b,c,y\n\n\n", b"a,a,b,y\n"])
def test_files_without_rows_have_the_same_columns_too(lost, order, tmp_path):
    """A file of one row and no names is no file of names and no rows."""
    with pytest.raises(DataError, match=r"which the other data have|the other data have no|two columns called 'a'"):
        read([b"a,b,y\n1,z,1\n", lost][::order])
    got = read([b"b,y,a\n", b"a,b,y\n1,z,1\n", b"y,b,a\n"][::order])
    assert got.X.tolist() == [[1, 1]]
    for k, text in enumerate([b"a,b,y\n1,z,1\n", lost][::order]):
        (tmp_path / f"{k}.csv").write_bytes(text)
    with pytest.raises(DataError):
        list(linsep.stream(tmp_path))


class Pipe(io.BytesIO):
    def seekable(self):
        return False


def streamed(data, **options):
    return linsep.stream(Pipe(data), format="csv", block_rows=2, block_bytes=64, **options)


LATE = b"n,w,y\n" + b"".join(b"%d,%s,%d\n" % (i, b"abcdefgh"[i // 6 : i // 6 + 1] * 9, i % 2) for i in range(48))


@pytest.mark.parametrize("text", [None, "w"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_comes_through_a_pipe_grows(text, packed):
    options = {} if text is None else {"text": text, "text_features": 16, "words": ["n"]}
    expected = linsep.read(io.BytesIO(LATE), format="csv", **options)
    blocks = list(streamed(gzip.compress(LATE) if packed else LATE, **options))
    widths = [block.X.shape[1] for block in blocks]
    assert widths == sorted(widths)
    assert widths[0] < widths[len(widths) // 2] < widths[-1] == expected.X.shape[1]
    learner, whole = linsep.Perceptron(shuffle=False), linsep.Perceptron(shuffle=False)
    for k, block in enumerate(blocks):
        width = block.X.shape[1]
        assert list(block.feature_names) == list(expected.feature_names[:width])
        rows = expected.X[2 * k : 2 * k + 2]
        assert rows[:, width:].nnz == 0
        assert np.array_equal(block.X.toarray(), rows.toarray()[:, :width])
        assert np.array_equal(block.y, expected.y[2 * k : 2 * k + 2])
        learner.grow(width).partial_fit(block.X, block.y, classes=[0, 1])
    whole.partial_fit(expected.X, expected.y, classes=[0, 1])
    assert np.array_equal(learner.coef_, whole.coef_)
    assert len(blocks) == 24


def test_numbers_and_hashed_words_through_a_pipe():
    for options in ({"ignore": ["w"]}, {"categories": "hashed", "n_features": 8}, {"missing": "indicator"}):
        expected = linsep.read(io.BytesIO(LATE), format="csv", **options)
        X = [block.X for block in streamed(LATE, **options)]
        wide = [sp.csr_array((x.data, x.indices, x.indptr), (2, expected.X.shape[1])) for x in X if sp.issparse(x)]
        got = sp.vstack(wide).toarray() if wide else np.concatenate(X)
        assert np.array_equal(got, expected.X.toarray() if wide else expected.X)


def test_data_that_came_through_a_pipe_tell_how_to_read_others(tmp_path):
    pipe = streamed(LATE)
    with pytest.raises(ValueError, match="nothing has been read yet"):
        linsep.read(io.BytesIO(LATE), format="csv", like=pipe)
    list(pipe)
    test = linsep.read(io.BytesIO(b"w,n\nhhhhhhhhh,3\nunheard,4\n"), format="csv", like=pipe)
    assert test.X.toarray().tolist() == [[3, *[0] * 7, 1], [4, *[0] * 8]]
    assert test.unseen == 1
    with pytest.raises(DataError, match="it can be read only once"):
        list(pipe)
    linsep.convert(Pipe(LATE), tmp_path / "t.npz", format="csv", block_rows=5, block_bytes=64)
    assert np.array_equal(
        linsep.read(tmp_path / "t.npz").X.toarray(), linsep.read(Pipe(LATE), format="csv").X.toarray()
    )


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_single_column_may_be_several(mark):
    text = mark.join("aby").encode() + b"\n" + mark.join("123").encode() + b"\n"
    cure = f": pass delimiter={mark!r} if that separates them"
    for options in ({}, {"label": "y"}, {"label": 0}, {"label": 1}, {"label": None, "ignore": "a"}):
        assert fails(f"the columns are {mark.join('aby')!r}{cure}", text, **options).reason.endswith(cure)
    assert read(text, delimiter=mark).names == ["a", "b"]
    assert fails("pass delimiter=','", b"a,y\n1,2\n", "tsv").reason.startswith("which column")
    assert "delimiter" not in fails("which column", b"a|b,c\n1,2\n").reason
    assert read(b"a;b\n1\n", label=None).names == ["a;b"]


def test_data_that_are_read_like_others_are_told_other_cures():
    first = read(b"age,city,y\n1,Oslo,0\n2,Rome,1\n").table
    cures = {
        b"x,Oslo,1": "'x' in column 'age' is not a number: read the first data with words=['age'] if the column holds",
        b",Oslo,1": "column 'age': a value is missing; read the first data with missing='zero' if it is 0, or missing=",
        b"1,,1": "column 'city': a value is missing; read the first data with missing='zero' if it is 0, or missing=",
        b"1,Oslo,x": "'x' in column 'y' is not a number: read the first data with words=['y']",
    }
    for row, reason in cures.items():
        text = b"age,city,y\n3,Oslo,1\n3,Oslo,1\n" + row + b"\n"
        assert fails(reason, text, table=first.like(no_scan, strict=False)).line == 4
        assert "the first data" not in fails(reason.split(":")[0], text).reason
    dates = read(pa.table({"a": [1.0], "y": [1]}), "table").table.like(no_scan, strict=False)
    fails("neither numbers nor words: convert it, or read the first data with ignore=['a']", pa.table({"a": DATE}),
          "table", table=dates)  # fmt: skip


TRUTH = pd.DataFrame({"a": [3.0, -2.0, 1.0], "label": [True, False, True]})


@pytest.mark.parametrize("kind", ["pandas", "category", "nullable", "polars", "Table", "parquet", "arrow"])
def test_labels_that_are_true_or_false_by_their_type(kind, tmp_path):
    tables = {
        "pandas": TRUTH, "category": TRUTH.astype({"label": "category"}), "nullable": TRUTH.convert_dtypes(),
        "polars": pl.from_pandas(TRUTH), "Table": pa.Table.from_pandas(TRUTH),
    }  # fmt: skip
    path = tmp_path / "t"
    if kind in WAYS:
        WAYS[kind](TRUTH, path)
    data, format = (path, kind) if kind in WAYS else (tables[kind], "table")
    got = linsep.read(data, format=format)
    assert got.y.dtype == bool
    assert np.array_equal(got.y, TRUTH.label)
    assert [y for block in linsep.stream(data, format=format, block_rows=1) for y in block.y] == [True, False, True]
    assert linsep.read(data, format=format, words="label").y.tolist() == ["true", "false", "true"]
    assert linsep.read(data, format=format, label=None).feature_names == ["a", "label=true", "label=false"]
    assert linsep.Perceptron().fit(*got).predict(got.X).dtype == bool
    stored = type(got.form).restored(json.loads(json.dumps(got.form.state())))
    assert stored == got.form
    assert linsep.read(data, format=format, like=replace(got, form=stored)).y.tolist() == [True, False, True]


def test_labels_that_are_true_or_false_are_so_in_all_data():
    missing = pa.table({"a": [1, 2], "label": [True, None]})
    assert fails("there is no label in column 'label'", missing, "table", missing="zero").line == 2
    assert read(missing, "table", on_error="skip").y.tolist() == [True]
    words = pa.table({"a": [1, 2, 3], "label": ["TRUE", "false", "maybe"]})
    reason = "label 'maybe' in column 'label' is neither true nor false, as the labels before it are"
    assert fails(reason, [TRUTH, words], "table").line == 3
    got = read([TRUTH, words], "table", on_error="skip")
    assert got.y.dtype == bool
    assert got.y.tolist() == [True, False, True, True, False]
    assert read([words, TRUTH], "table").y.tolist() == ["true", "false", "maybe", "true", "false", "true"]
    text = b"a,label\n1,true\n2,False\n"
    assert read(text).y.tolist() == ["true", "false"]
    like = linsep.read(TRUTH)
    for rows in (text, b'a,label\n"1",true\n2,False\n'):
        y = linsep.read(io.BytesIO(rows), format="csv", like=like).y
        assert (y.dtype, y.tolist()) == (bool, [True, False])
    with pytest.raises(DataError, match="line 2, column 3: label '1' in column 'label' is neither true nor false"):
        linsep.read(io.BytesIO(b"a,label\n1,1\n2,0\n"), format="csv", like=like)


def test_columns_are_chosen_by_number():
    text = b"id,a,b,day,y\n7,1,2,3,1\n8,3,4,5,0\n"
    named = {"columns": ["b", "a"], "ignore": ["id", "day"], "words": ["day", "a"]}
    numbered = {"columns": [2, -4], "ignore": (np.int64(0), 3), "words": [3, "a"]}
    for option, columns in numbered.items():
        for others in ([text, b"y,day,id,a,b\n1,2,3,4,5\n"], text):
            got, expected = read(others, **{option: columns}), read(others, **{option: named[option]})
            assert np.array_equal(got.X, expected.X)
            assert got.names == expected.names
            assert json.loads(json.dumps(got.table.state())) == json.loads(json.dumps(expected.table.state()))
        fails("there is no column number 5; the columns are 'id',", text, **{option: [5]})
        with pytest.raises(ValueError, match=rf"{option}=\[1\.5\]: it is a list of names or numbers of columns"):
            Csv(**{option: [1.5]})
    assert read(text, ignore=0).names == ["a", "b", "day"]
    assert read(text, columns=[1, "a", -4]).names == ["a"]
    assert read(b"1,2,3\n", header=False, label=0, columns=range(1, 3)).X.tolist() == [[2, 3]]
    like = read(text, ignore=[0]).table.like(no_scan, strict=False)
    assert read(b"day,y,b,a\n3,1,2,1\n", table=like).X.tolist() == [[1, 2, 3]]


def test_columns_are_chosen_by_name():
    text = b"id,a,b,day,y\n7,1,2,monday,1\n8,3,4,friday,0\n"
    assert read(text, ignore=["id", "day"]).names == ["a", "b"]
    assert read(text, columns=["b", "day"]).names == ["b", "day=monday", "day=friday"]
    unlabelled = read(text, ignore=["day"], label=None)
    assert unlabelled.names == ["id", "a", "b", "y"]
    assert np.isnan(unlabelled.y).all()
    assert read(text, label="day", columns=["a"]).y.tolist() == ["monday", "friday"]
    for options in ({"ignore": ["z"]}, {"columns": ["z"]}, {"words": ["z"]}, {"label": "z"}, {"weight": "z"}):
        fails("there is no column 'z'; the columns are 'id', 'a', 'b', 'day', 'y'", text, **options)


def test_an_empty_list_of_columns_is_refused():
    for none in ([], (), np.array([], str)):
        with pytest.raises(ValueError, match=r"columns=\[\]: name at least one column, or omit columns"):
            Csv(columns=none)
    state = read(b"a,y\n1,0\n").table.state()
    assert Csv.restored({**state, "columns": []}).columns is None


def test_several_files_have_the_same_columns_in_any_order():
    got = read([b"a,b,y\n1,x,0\n", b"a,b,y\n", b"b,y,a\nz,1,2\n"])
    assert got.X.tolist() == [[1, 1, 0], [2, 0, 1]]
    assert got.y.tolist() == [0, 1]
    fails("there is no column 'b', which the other data have", [b"a,b,y\n1,2,0\n", b"a,y\n1,0\n"])
    more = [b"a,y\n1,2\n", b"a,c,y\n3,4,0\n"]
    fails("the other data have no column 'c': choose the columns with columns=[...]", more)
    assert read(more, columns=["a"]).X.tolist() == [[1], [3]]
    error = fails("'x' in column 'a'", [b"a,y\n1,0\n", b"a,y\n1,0\nx,0\n"])
    assert error.line == 3


@pytest.mark.parametrize("categories", ["indexed", "hashed"])
def test_other_data_are_read_like_the_first(categories):
    got = read(CITIES, categories=categories, n_features=50 if categories == "hashed" else None)
    first, X = got.table, got.X

    def seen():
        return np.any(X != 0, axis=0)

    stored = Csv.restored(json.loads(json.dumps(first.state())))
    assert stored == first
    assert stored.feature_names == first.feature_names
    like = stored.like(seen, strict=False)
    text = b"fair,more,city,age\ntrue,1,Rome,1\nTRUE,2,Paris,2\n"
    got = read(text, table=like)
    assert got.X.shape[1] == first.width
    assert like.extra == ["more"]
    assert np.isnan(got.y).all()
    assert got.X[1, first.column_of("city=Paris")] == 1
    assert got.X[0, first.column_of("fair=true")] == 1
    assert like.unseen == 1
    fails("there is no column 'age'", b"fair,city,label\ntrue,Oslo,1\n", table=first.like(seen, strict=False))


def test_words_that_were_not_seen_are_refused_if_asked():
    first = read(CITIES).table
    text = b"age,city,fair,label\nx,Oslo,True,1\n1,Rome,True,1\n2,Oslo,True,1\n3,Oslo,maybe,1\n"
    rome = text.replace(b"x,Oslo,True,1\n", b"")
    error = fails("'Rome' in column 'city' does not occur in the data", rome, table=first.like(no_scan, strict=True))
    assert (error.line, error.column) == (2, 3)
    got = read(text, table=first.like(no_scan, strict=True), on_error="skip")
    assert got.X.tolist() == [[2, 1, 1, 0, 0]]
    assert got.rejected == 3
    assert got.first.line == 2
    with pytest.raises(ValueError, match="nothing has been read"):
        Csv().like(no_scan, strict=False)


FRAME = pd.DataFrame(
    {
        "n": [1.5, -2.0, 1e300, 4.0],
        "city": ["Oslo", "Paris", "Oslo", "Łódź"],
        "k": np.array([1, 2, 3, 4], np.int16),
        "fair": [True, False, True, True],
        "y": [1, 0, 1, 0],
    },
    index=[7, 3, 9, 1],
)


def written(kind, tmp_path):
    table, path = pa.Table.from_pandas(FRAME), tmp_path / "data"
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif kind in ("feather", "feather-lz4"):
        feather.write_feather(table, str(path), "lz4" if "lz4" in kind else "uncompressed", chunksize=2)
    elif kind == "stream":
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    elif kind == "arrow.gz":
        feather.write_feather(table, str(tmp_path / "plain"), "uncompressed")
        path.write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    return path, {"csv": "csv", "parquet": "parquet"}.get(kind, "arrow")


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "feather-lz4", "stream", "arrow.gz"])
@pytest.mark.parametrize("opened", [False, True])
def test_all_files_give_the_same_rows(kind, opened, tmp_path):
    path, format = written(kind, tmp_path)
    got = read(io.BytesIO(path.read_bytes()) if opened else path, format)
    check_frame(got)
    assert got.table.state() == read(path, format, table=FORMS[format].restored(got.table.state())).table.state()


def ipc(kind, table=None):
    """A table of two record batches as bytes of an Arrow stream or file."""
    table, file = pa.Table.from_pandas(FRAME) if table is None else table, io.BytesIO()
    with (pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file)(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return file.getvalue()


class Piped(io.BytesIO):
    def seekable(self):
        return False


@pytest.mark.parametrize("kind", ["stream", "file"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_arrow_bytes_that_are_cut_anywhere_are_an_error(kind, pack):
    """Between two record batches, too, where Arrow itself sees nothing wrong; a file that is piped is a stream."""
    data = ipc(kind)
    check_frame(read(Piped(pack(data)), "arrow"))
    ends = [at for at in range(8, len(data), 8) if data[at : at + 4] == b"\xff" * 4]
    for cut in {*ends, *(end + 4 for end in ends), len(data) - 1, len(data) - 8, *range(1, len(data), 97)}:
        with pytest.raises(DataError, match="t: "):
            read(Piped(pack(data[:cut])), "arrow")


def test_an_arrow_stream_without_its_end_is_an_error_by_name(tmp_path):
    for rest, reason in ((ipc("stream")[:-8], "no end-of-stream marker"), (2 * ipc("stream"), "bytes after the end")):
        (tmp_path / "rows.arrow").write_bytes(rest)
        with pytest.raises(DataError, match=rf"rows\.arrow: .*{reason}"):
            linsep.read(tmp_path / "rows.arrow")
        with pytest.raises(DataError, match=rf"rows\.arrow: .*{reason}"):
            list(linsep.stream(tmp_path / "rows.arrow"))
    legacy = ipc("stream")[:-8] + bytes(4)  # as versions before 0.15 wrote it
    assert len(read(legacy, "arrow").y) == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "file", "parquet"])
@pytest.mark.parametrize("length", [2**31 - 1, 2**40])
def test_forged_lengths_are_an_error_by_name(kind, length, tmp_path):
    """No more memory is asked for than the bytes that are there take, and some."""
    if kind == "parquet":
        pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "rows", row_group_size=2)
    data, format = (
        (tmp_path / "rows").read_bytes() if kind == "parquet" else ipc(kind),
        "arrow" if kind != "parquet" else kind,
    )
    forged = length.to_bytes(4 if length < 2**31 else 8, "little")
    tracemalloc.start()
    for at in range(4, len(data) - 8, 40):
        damaged = data[:at] + forged + data[at + len(forged) :]
        (tmp_path / "rows").write_bytes(damaged)
        for source in (tmp_path / "rows", io.BytesIO(damaged) if kind == "parquet" else Piped(damaged)):
            with suppress(DataError):  # or the length counts for nothing
                linsep.read(source, format=format, on_error="skip", label="label", missing="zero")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26


def test_more_memory_than_there_is_is_an_error_by_name(tmp_path, monkeypatch):
    (tmp_path / "rows.arrow").write_bytes(ipc("file"))

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr("linsep.data.tables.record_batches._validate", no_memory)
    with pytest.raises(
        DataError, match=r"rows\.arrow: it can't be read as Arrow IPC or Feather: it asks for more memory"
    ):
        linsep.read(tmp_path / "rows.arrow")


@pytest.mark.parametrize("kind", ["str", "category"])
def test_a_label_that_ends_with_nul_is_not_another_label(kind, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "label": pd.Series(["a", "a\0", "b\0c"], dtype=kind)})
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.feather")
    with pa.ipc.new_stream(str(tmp_path / "rows.arrow"), pa.Schema.from_pandas(frame)) as writer:
        writer.write_table(pa.Table.from_pandas(frame))
    for source in (frame, *(tmp_path / f"rows.{end}" for end in ("parquet", "feather", "arrow"))):
        with pytest.raises(DataError, match=r"label 'a\\x00' in column 'label' ends with a NUL character.*: remove it"):
            linsep.read(source)
        got = linsep.read(source, on_error="skip")
        assert (got.rejected, got.y.tolist()) == (1, ["a", "b\0c"])


def check_frame(got):
    assert got.names == ["n", "k", "city=Oslo", "fair=true", "city=Paris", "fair=false", "city=Łódź"]
    assert got.X.tolist() == [
        [1.5, 1, 1, 1, 0, 0, 0], [-2, 2, 0, 0, 1, 1, 0], [1e300, 3, 1, 1, 0, 0, 0], [4, 4, 0, 1, 0, 0, 1]
    ]  # fmt: skip
    assert got.y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "table",
    [
        FRAME, FRAME.astype({"city": "category", "fair": "category"}), pl.from_pandas(FRAME),
        pl.from_pandas(FRAME).with_columns(pl.col("city").cast(pl.Categorical)), pa.Table.from_pandas(FRAME),
        pa.RecordBatch.from_pandas(FRAME, preserve_index=False),
    ],
    ids=["pandas", "pandas categories", "polars", "polars categories", "Table", "RecordBatch"],
)  # fmt: skip
def test_tables_in_memory_give_the_same_rows(table):
    got = read(table, "table")
    check_frame(got)
    assert got.y.dtype == np.int64


def test_types_of_numbers():
    columns = {
        "half": pa.array(np.array([1.5, 2], np.float16)), "large": pa.array([2**64 - 1, None], pa.uint64()),
        "exact": pa.array([Decimal("1.25"), Decimal("-3")]), "nothing": pa.nulls(2), "nan": pa.array([np.nan, 1.0]),
        "codes": pa.array([7, 8]).dictionary_encode(), "y": pa.array([True, False]),
    }  # fmt: skip
    got = read(pa.table(columns), "table", missing="zero")
    assert got.names == ["half", "large", "exact", "nothing", "nan", "codes=7", "codes=8"]
    assert got.X.tolist() == [[1.5, 2.0**64, 1.25, 0, 0, 1, 0], [2, 0, -3, 0, 1, 0, 1]]
    assert got.y.tolist() == [True, False]
    assert fails("column 'large': a value is missing", pa.table(columns), "table", ignore=["nothing", "nan"]).line == 2
    words = read(pa.table({"zip": [123, 45], "y": [1, 2]}), "table", words=["zip", "y"])
    assert words.names == ["zip=123", "zip=45"]
    assert words.y.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (DATE, "date32"), (DATE.cast(pa.timestamp("s")), "timestamp"), (pa.array([[1]]), "list"),
        (pa.array([{"a": 1}]), "struct"), (pa.array([b"x"]), "binary"), (pa.array([1], pa.duration("s")), "duration"),
        (pa.array([b"x"]).dictionary_encode(), "dictionary"),
    ],
)  # fmt: skip
def test_columns_that_are_neither_numbers_nor_words(values, type):
    table = pa.table({"a": [1.0], "when": values, "y": [1]})
    error = fails("convert it, or leave it out with ignore=['when']", table, "table")
    assert f"column 'when' holds {type}" in error.reason
    assert read(table, "table", ignore=["when"]).X.tolist() == [[1]]


def test_faults_of_tables_that_are_no_text(tmp_path):
    table = pa.table({"a": [1.0, np.inf, 3, None, 5e38], "w": ["x", "y, ü", "", "x", "x"], "y": [1, 2, 3, 4, 5]})
    for format in ("table", "parquet"):
        path = tmp_path / "t.parquet"
        pq.write_table(table, path)
        data = table if format == "table" else path
        assert fails("'inf' in column 'a' is not a finite number", data, format).line == 2
        kept = tmp_path / "kept"
        got = read(data, format, on_error="quarantine", quarantine=kept)
        assert got.X.tolist() == [[1, 1], [5e38, 1]]
        assert kept.read_text() == 'inf,"y, ü",2\n3.0,,3\n,x,4\n'
        small = read(data, format, on_error="skip", missing="zero", dtype=np.float32)
        assert small.y.tolist() == [1, 3, 4], "5e38 is no float32"


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
def test_broken_files(kind, tmp_path):
    path, format = written(kind, tmp_path)
    data = path.read_bytes()
    name = "Parquet" if format == "parquet" else "Arrow IPC or Feather"
    for broken in (b"", b"a,b\n1,2\n" * 99, data[: len(data) // 2], data[:10], data[-20:], bytes(len(data))):
        path.write_bytes(broken)
        fails(f"it can't be read as {name}: ", path, format)
    path.write_bytes(gzip.compress(data)[:-20])
    fails("Parquet" if format == "parquet" else "the gzip data are cut off or broken", path, format)


def test_old_feather_and_pipes(tmp_path):
    path = tmp_path / "old"
    path.write_bytes(b"FEA1" + bytes(100))
    fails("Feather of version 1", path, "arrow")
    pipe = io.BytesIO(written("parquet", tmp_path)[0].read_bytes())
    pipe.seekable = lambda: False
    fails("Parquet is not read in order", SimpleNamespace(read=pipe.read), "parquet")


def test_damaged_bytes_do_no_harm(tmp_path):
    """Any error is one of the data; nothing outside of the file is read."""
    rng = np.random.default_rng(0)
    for kind in ("parquet", "feather"):
        path, format = written(kind, tmp_path)
        data = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(60):
            broken = data.copy()
            broken[rng.integers(0, len(data), 3)] = rng.integers(0, 256, 3)
            path.write_bytes(broken.tobytes())
            with suppress(DataError):
                read(path, format, on_error="skip", missing="zero", label="y", words=["y"])


def test_invalid_text_in_parquet_is_told(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    path = tmp_path / "t"
    pq.write_table(pa.table({"w": bad, "y": [1]}), path)
    fails("UTF8", path, "parquet")


def test_tables_that_can_not_be_read():
    for data, got in ((pl.from_pandas(FRAME).lazy(), "LazyFrame"), (FRAME.n, "Series: to_frame()"), (b"a,y", "Bytes")):
        with pytest.raises(TypeError, match=f"of pandas or polars, or a table of pyarrow; got {re.escape(got)}"):
            read(data, "table")
    for data in (pl.Series([1]), pa.chunked_array([[1, 2]]), pd.Series([1, 2])):
        with pytest.raises(TypeError, match="a table is a data frame"):
            linsep.read(data, format="table")
    with pytest.raises(TypeError, match=r"a table is a data frame .*; got a file"):
        linsep.read(__file__, format="table")
    with pytest.raises(TypeError, match=r"LazyFrame: collect\(\) it first"):
        linsep.read(pl.from_pandas(FRAME).lazy())
    for kind in ("csv", "parquet", "arrow"):
        with pytest.raises(DataError, match=f"it is a table in memory, and not {kind}: leave out format="):
            linsep.read(FRAME, format=kind)
    fails("two columns called 'a'", pa.table([[1], [2], [3]], names=["a", "a", "y"]), "table")
    fails("Duplicate column names", pd.DataFrame([[1, 2]], columns=["a", "a"]), "table")
    fails("the table can't be read", pd.DataFrame({"a": [1, "x", {}], "y": 1}), "table")
    for nothing in (FRAME[:0], io.BytesIO(b"a,y\n"), io.BytesIO(b"a,y\n\n\n")):
        with pytest.raises(DataError, match="there are no rows"):
            linsep.read(nothing)


def test_parts_are_small_whatever_the_batches_of_a_file(tmp_path):
    table = pa.table({f"x{j}": np.arange(40_000.0) + j for j in range(20)} | {"y": np.arange(40_000)})
    pq.write_table(table, tmp_path / "p", row_group_size=40_000)
    feather.write_feather(table, str(tmp_path / "a"), chunksize=40_000)
    for data, format in ((tmp_path / "p", "parquet"), (tmp_path / "a", "arrow"), (table, "table")):
        got = read(data, format, jobs=2)
        assert max(rows.values.size for rows in got.parts) <= 1 << 18
        assert np.array_equal(got.X, np.arange(40_000.0)[:, None] + np.arange(20))
        assert np.array_equal(got.y, np.arange(40_000))


def test_many_values_in_a_dictionary_and_few_in_a_part():
    words = np.array([f"w{i}" for i in range(30_000)])
    column = pa.DictionaryArray.from_arrays(pa.array([29_999, None, 5, 29_999]), pa.array(words))
    got = read(pa.table({"w": column, "y": [1, 2, 3, 4]}), "table", missing="zero")
    assert got.names == ["w=w29999", "w=w5"]
    assert got.X.tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]


def test_progress_and_looks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n" + b"1,1\n" * 5000)
    for kind in ("csv", "parquet", "arrow"):
        if kind == "parquet":
            pq.write_table(pa.table({"a": np.ones(5000), "y": np.ones(5000)}), path)
        elif kind == "arrow":
            feather.write_feather(pa.table({"a": np.ones(5000), "y": np.ones(5000)}), str(path))
        told, table = [], FORMS[kind]()
        where = [Source(str(path)), Source(str(path))]
        assert not table.settled
        assert table.width == 0
        table.sniff(where)
        assert table.settled
        assert table.feature_names == ["a"]
        for _ in table.parts(ReadPass(where, np.float64, ErrorPolicy(), Clock(where, told.append), 2, 1000)):
            pass
        assert told[-1].done == told[-1].total == 2 * path.stat().st_size
        assert told[-1].rows == 10_000


def test_a_file_that_changes_is_refused(tmp_path):
    path, _ = written("parquet", tmp_path)
    where = [Source(str(path))]
    walk = Parquet().parts(ReadPass(where, np.float64, ErrorPolicy(), Clock(where, None), 1, 1000))
    next(walk)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DataError, match="changed while it was read"):
        list(walk)


CUT_OFF = """
import os, sys
import linsep
path = sys.argv[1]
walk = iter(linsep.stream(path, format="arrow", block_rows=1000, n_jobs=1))
next(walk)
os.truncate(path, 4096)
try:
    for _ in walk:
        pass
except linsep.DataError as error:
    print(error.reason)
"""


def test_a_file_that_is_cut_off_while_it_is_read_does_not_end_the_process(tmp_path):
    path = tmp_path / "t.arrow"
    table = pa.table({"a": np.random.default_rng(0).normal(size=200_000), "y": np.arange(200_000) % 2})
    feather.write_feather(table, str(path), "uncompressed", chunksize=50_000)
    done = subprocess.run(forked("-c", CUT_OFF, str(path)), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the file changed while it was read\n", "")


def test_only_the_columns_that_are_chosen_are_read_from_arrow(tmp_path):
    path = tmp_path / "t"
    columns = {"b": ["x", "y"], "day": DATE.take(pa.array([0, 0])), "c": ["u", "v"], "y": [1, 0], "a": [1.0, 2.0]}
    table = pa.table(columns | {"b": pa.array(columns["b"]).dictionary_encode()})
    feather.write_feather(table, str(path), chunksize=1)
    got = read(path, "arrow", columns=["a", "c", "b"])
    assert got.names == ["a", "c=u", "b=x", "c=v", "b=y"]
    assert got.X.tolist() == [[1, 1, 1, 0, 0], [2, 0, 0, 1, 1]]


def changed(tmp_path, kind, frame):
    path = tmp_path / f"t.{kind}"
    WAYS[kind](frame, path)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow"])
def test_words_that_are_new_in_a_later_pass_are_faults(kind, tmp_path):
    frame = pd.DataFrame({"w": ["Oslo", "Rome"], "a": [1.0, 2.0], "y": [1, 0]})
    stream = linsep.stream(changed(tmp_path, kind, frame), format=kind, on_error="skip")
    strict = linsep.stream(changed(tmp_path, kind, frame), format=kind)
    for walk in (stream, strict):
        assert [block.X.toarray().tolist() for block in walk] == [[[1, 1, 0], [2, 0, 1]]]
    changed(tmp_path, kind, pd.DataFrame({"w": ["Rome", "Bern", "Oslo"], "a": [3.0, 4.0, 5.0], "y": [1, 0, 1]}))
    for _ in range(2):
        assert [block.X.toarray().tolist() for block in stream] == [[[3, 0, 1], [5, 1, 0]]]
        assert stream.rejected == 1
    reason = "'Bern' in column 'w' is new: the data have changed since the first scan"
    with pytest.raises(DataError, match=reason) as caught:
        list(strict)
    assert caught.value.line == (3 if kind in ("csv", "tsv") else 2)
    assert list(stream.feature_names) == ["a", "w=Oslo", "w=Rome"]


def test_values_that_are_missing_only_in_a_later_pass(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan], "y": [1, 0]})
    stream = linsep.stream(changed(tmp_path, "csv", frame), missing="indicator")
    assert [block.X.toarray().tolist() for block in stream] == [[[1, 1, 0], [2, 0, 1]]]
    changed(tmp_path, "csv", frame.assign(a=[1.0, np.nan]))
    with pytest.raises(DataError, match="'' in column 'a' is new: the data have changed"):
        list(stream)


def test_data_that_are_read_like_those_of_a_pipe_do_not_grow():
    pipe = streamed(LATE)
    list(pipe)
    again = linsep.stream(Pipe(b"n,w,y\n1,new,1\n2,bbbbbbbbb,0\n"), format="csv", like=pipe)
    assert [block.X.shape for block in again] == [(2, pipe.form.width)]
    assert again.unseen == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"categories": "both"}, "it is one of 'indexed', 'hashed'"), ({"missing": "mean"}, "'zero', 'indicator'"),
        ({"n_features": 9}, "add categories='hashed'"), ({"n_features": 1 << 20}, "add categories='hashed'"),
        ({"categories": "hashed", "n_features": 0}, "1 at least"), ({"delimiter": '"'}, "one ASCII"),
        ({"delimiter": ""}, "one ASCII"), ({"header": 0}, "header=0: it is True, False or None"),
        ({"header": "no"}, "header='no': it is True, False or None"),
    ],
)  # fmt: skip
def test_options_that_are_not_possible(options, reason):
    with pytest.raises(ValueError, match=reason):
        Csv(**options)


REVIEWS = pd.DataFrame(
    {
        "stars": [5, 1, 4, 1, 3],
        "review": ["So GOOD, so good!", "Łódź: très bad\nbad, \"bad\"", "ΟΔΟΣ İstanbul good", "x 1", "日本語 good d_1"],
        "price": [1.5, 0.0, -2.0, 4.0, 0.0],
        "city": ["Oslo", "Rome", "Oslo", "Bern", "Rome"],
    }
)  # fmt: skip
WAYS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", lineterminator="\r\n"),
    "parquet": lambda frame, path: pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=2),
    "arrow": lambda frame, path: feather.write_feather(pa.Table.from_pandas(frame), str(path), chunksize=2),
}


def counted(documents, text_features=1 << 20, **options):
    return HashingVectorizer(n_features=text_features, **options).transform(documents)


def beside(frame, documents, categories=()):
    """Numbers, then the documents' rows, then a column for each word as it is first seen."""
    names = list(dict.fromkeys(value for row in frame[list(categories)].to_numpy().tolist() for value in row))
    words = [[float(name in row) for name in names] for row in frame[list(categories)].to_numpy().tolist()]
    X = sp.hstack([sp.csr_array(frame[["price"]].to_numpy()), documents, sp.csr_array(words)], format="csr")
    X.eliminate_zeros()
    return X


def same(X, expected):
    assert X.shape == expected.shape
    assert X.has_canonical_format
    assert np.array_equal(X.indptr, expected.indptr)
    assert np.array_equal(X.indices, expected.indices)
    np.testing.assert_allclose(X.data, expected.data, rtol=1e-6 if X.dtype == np.float32 else 1e-15)


@pytest.mark.parametrize("kind", [*WAYS, "pandas", "polars", "views", "categories"])
def test_documents_stand_between_numbers_and_words(kind, tmp_path):
    if kind in WAYS:
        data, format = tmp_path / f"r.{kind}", kind
        WAYS[kind](REVIEWS, data)
    else:
        table = pa.Table.from_pandas(REVIEWS)
        views = table.set_column(1, "review", table["review"].combine_chunks().cast(pa.string_view()))
        tables = {"pandas": REVIEWS, "polars": pl.from_pandas(REVIEWS), "views": views[1:]}
        data, format = tables.get(kind, REVIEWS.astype({"review": "category"})), "table"
    frame = REVIEWS[1:] if kind == "views" else REVIEWS
    got = linsep.read(data, format=format, text="review", label="stars")
    same(got.X, beside(frame, counted(frame.review), ["city"]))
    assert got.y.tolist() == frame.stars.tolist()
    assert len(got.feature_names) == 1 + 2**20 + 3
    last = ["Rome", "Oslo", "Bern"] if kind == "views" else ["Oslo", "Rome", "Bern"]
    assert got.feature_names[2**20 :] == ["review#1048575", *(f"city={name}" for name in last)]
    assert got.feature_names[:2] == ["price", "review#0"]
    assert [got.form.column_of(got.feature_names[column]) for column in (0, 1, 2**20, 2**20 + 2)] == [
        0, 1, 2**20, 2**20 + 2
    ]  # fmt: skip
    assert got.form.column_of("review#1048576") is None


@pytest.mark.parametrize(
    "options",
    [
        {"ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (2, 3)}, {"binary": True}, {"lowercase": False},
        {"text_features": 7}, {"text_features": 1},
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ways_to_count_n_grams(options, dtype):
    got = linsep.read(REVIEWS, text="review", label="stars", ignore="city", dtype=dtype, **options)
    assert got.X.dtype == dtype
    assert got.X.indices.dtype == np.int32
    expected = beside(REVIEWS, counted(REVIEWS.review, **options))
    got.X.eliminate_zeros()  # n-grams that cancel
    same(got.X, expected)
    assert got.form.settled


words = st.sampled_from(
    ["good", "Bad", "ÉTÉ", "x", "1", ",", '"', "\n", "\r\n", " ", "\t", "'", "Σ", "été,", "a_b", "日"]
)
document = st.lists(words, max_size=8).map("".join)


def grams_of(review):
    return re.findall(r"\b\w\w+\b", review.lower())


@settings(max_examples=60)
@given(st.lists(st.tuples(document, document), min_size=1, max_size=8), st.integers(1, 300), st.sampled_from([1, 2]))
def test_documents_are_those_that_python_reads(rows, size, jobs):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("city", "review", "y"), *((city, review, 1) for city, review in rows)])
    got = read(
        text.getvalue().encode(), text="review", missing="zero", words=["city"], block_bytes=size + 20, jobs=jobs,
        text_features=64,
    )  # fmt: skip
    expected = counted([review for _, review in rows], 64).toarray()
    np.testing.assert_allclose(got.X[:, :64], expected, rtol=1e-14)
    cities = list(dict.fromkeys(city for city, _ in rows if city))
    assert got.names[64:] == [f"city={city}" for city in cities]
    assert got.X[:, 64:].tolist() == [[float(city == name) for name in cities] for city, _ in rows]
    names = {}
    for city, review in rows:
        grams = [f"review:{gram}" for gram in grams_of(review)]
        names |= dict.fromkeys([*([f"city={city}"] if city else []), *grams])
    numbered = read(
        text.getvalue().encode(), text="review", missing="zero", words=["city"], block_bytes=size + 20, jobs=jobs,
        vocabulary=True,
    )  # fmt: skip
    assert list(numbered.names) == list(names)
    assert np.array_equal(
        numbered.X != 0,
        [
            [name in (f"city={city}", *(f"review:{gram}" for gram in grams_of(review))) for name in names]
            if names
            else []
            for city, review in rows
        ],
    )


MISSING_TEXT = b"a,review,y\n1,good,1\n2,,0\n3,NA,1\n"


@pytest.mark.parametrize("format", ["csv", "table"])
def test_documents_that_are_missing(format):
    table = pa.table({"a": [1, 2, 3], "review": ["good", None, "NA"], "y": [1, 0, 1]})
    data = MISSING_TEXT if format == "csv" else table
    error = fails("'' in column 'review': a value is missing", data, format, text="review")
    assert error.line == (3 if format == "csv" else 2)
    zero = read(data, format, text="review", missing="zero", text_features=8)
    expected = counted(["good", "", "NA"], 8).toarray()
    assert np.array_equal(zero.X, np.column_stack([[1, 2, 3], expected]))
    told = read(data, format, text="review", missing="indicator", text_features=8)
    assert np.array_equal(told.X, np.column_stack([zero.X, [0, 1, 0]]))
    assert list(told.names)[-1] == "review="
    left = read(data, format, text="review", on_error="skip", text_features=8)
    assert np.array_equal(left.X, zero.X[[0, 2]])


def test_what_lies_under_null_is_no_document():
    text = pa.array(["good", "bad", "day"])
    masked = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *text.buffers()[1:]])
    got = read(pa.table({"t": masked, "y": [1, 1, 1]}), "table", text="t", missing="zero", text_features=16)
    assert np.array_equal(got.X, counted(["good", "", "day"], 16).toarray())
    empty = read(pa.table({"t": pa.nulls(2), "a": [1, 2], "y": [1, 1]}), "table", text="t", missing="zero")
    assert empty.parts[0].values.tolist() == [1, 2]


def invalid(kind):
    texts = pa.array([b"good", b"ba\xffd", b"day"], pa.large_binary() if "large" in kind else pa.binary())
    return texts.cast(pa.binary_view()).view(pa.string_view()) if "view" in kind else texts.view(kind)


@pytest.mark.parametrize("format", ["csv", "table", "parquet", "arrow"])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_a_document_that_is_not_utf8_is_a_fault_of_its_row(format, kind, tmp_path):
    data, path = b"t,a,y\ngood,1,1\nba\xffd,2,1\nday,3,1\n", tmp_path / "t"
    if format != "csv":
        data = pa.table({"t": invalid(kind), "a": [1, 2, 3], "y": [1, 1, 1]})
    if format == "parquet":
        pq.write_table(data, path)
    if format == "arrow":
        feather.write_feather(data, str(path), "uncompressed")
    data = path if format in ("parquet", "arrow") else data
    error = fails("column 't': byte 3, '\\\\xffd', is not UTF-8", data, format, text="t")
    assert error.line == (3 if format == "csv" else 2)
    kept = tmp_path / "kept"
    got = read(data, format, text="t", on_error="quarantine", quarantine=kept, text_features=16)
    assert np.array_equal(got.X, np.column_stack([[1, 3], counted(["good", "day"], 16).toarray()]))
    assert kept.read_bytes().strip() in (b"ba\xffd,2,1", b"2,ba\xffd,1")


@pytest.mark.parametrize("categories", ["indexed", "hashed"])
def test_other_documents_are_read_like_the_first(categories, tmp_path):
    options = {"n_features": 50} if categories == "hashed" else {}
    got = linsep.read(REVIEWS, text="review", label="stars", categories=categories, **options)
    stored = type(got.form).restored(json.loads(json.dumps(got.form.state())))
    assert stored == got.form
    assert stored.ngram_range == (1, 1)
    other = pd.DataFrame({"city": ["Bern", "Paris"], "review": ["good", "good unheard things"], "price": [1.0, 2.0]})
    like = replace(got, form=stored)
    test = linsep.read(other, like=like)
    assert test.X.shape[1] == got.X.shape[1]
    assert test.unseen == 3
    rows = counted(other.review)
    known = np.isin(rows.indices, got.X.indices - 1)
    rows.data[~known] = 0
    rows.eliminate_zeros()
    assert known.tolist().count(False) == 2
    same(test.X[:, 1 : 1 + 2**20], rows)
    assert test.X[0, stored.column_of("city=Bern")] == 1
    assert test.X[:, [0]].toarray().ravel().tolist() == [1, 2]
    with pytest.raises(DataError, match="line 2: 'Paris' in column 'city' does not occur"):
        linsep.read(other, like=like, strict=True)
    unheard = other.assign(city="Bern")
    with pytest.raises(DataError, match="an n-gram in column 'review' does not occur in the data"):
        linsep.read(unheard, like=like, strict=True)
    assert len(linsep.read(unheard, like=like, strict=True, on_error="skip")) == 1
    with pytest.raises(DataError, match="there is no column 'review'"):
        linsep.read(other.drop(columns="review"), like=like)
    linsep.convert(REVIEWS, tmp_path / "r.npz", text="review", label="stars", text_features=99)
    again = linsep.read(other, like=linsep.read(tmp_path / "r.npz"))
    assert again.X.shape[1] == 1 + 99 + 3


def test_streams_of_documents(tmp_path):
    path = tmp_path / "r.csv"
    pd.concat([REVIEWS] * 200).to_csv(path, index=False)
    whole = linsep.read(path, text="review", label="stars", block_bytes=1000)
    blocks = list(linsep.stream(path, text="review", label="stars", block_rows=77, block_bytes=3000))
    same(sp.vstack([block.X for block in blocks], format="csr"), whole.X)
    same(whole.X, beside(pd.concat([REVIEWS] * 200), counted([*REVIEWS.review] * 200), ["city"]))


@pytest.mark.parametrize("format", ["parquet", "arrow", "table"])
def test_parts_of_long_documents_are_small(format, tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(["spam ", "egg ", "été "], 1000)) for _ in range(20)] * 150
    table = pa.table({"t": texts, "y": np.arange(3000)})
    path = tmp_path / "t"
    if format == "parquet":
        pq.write_table(table, path, use_dictionary=False)
    elif format == "arrow":
        feather.write_feather(table, str(path))
    got = read(table if format == "table" else path, format, text="t", jobs=2, text_features=32)
    assert max(map(len, got.parts)) < 600
    assert got.y.tolist() == list(range(3000))
    np.testing.assert_allclose(got.X, np.tile(counted(texts[:20], 32).toarray(), (150, 1)), rtol=1e-14)


def test_damaged_documents_do_no_harm(tmp_path):
    rng = np.random.default_rng(1)
    for format in ("parquet", "arrow"):
        path = tmp_path / format
        WAYS[format](REVIEWS, path)
        data = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(100):
            broken = data.copy()
            broken[rng.integers(0, len(data), 3)] = rng.integers(0, 256, 3)
            path.write_bytes(broken.tobytes())
            with suppress(DataError):
                read(path, format, text="review", label="stars", on_error="skip", missing="zero", text_features=9)


def test_documents_alone_and_columns_for_two_uses():
    assert read(b"t\ngood\nbad\n", text="t", label=None, text_features=3).X.shape == (2, 3)
    assert read(b"t,y\n5,1\n77,0\n", text="t").parts[0].indptr.tolist() == [0, 0, 1]
    chosen = read(b"a,b,t,y\n1,2,good,1\n", text="t", columns=["b"], text_features=4)
    assert list(chosen.names) == ["b", "t#0", "t#1", "t#2", "t#3"]
    for options in ({"label": "t"}, {"weight": "t"}, {"ignore": ["t"]}, {"words": ["t"]}):
        fails("text='t': it is the column of labels, of weights, or one of", b"t,y\ngood,1\n", text="t", **options)
    fails("there is no column 'u'; the columns are 't', 'y'", b"t,y\ngood,1\n", text="u")
    fails("column 't' holds date32", pa.table({"t": DATE, "y": [1]}), "table", text="t")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"text": "t", "text_features": 0}, "1 at least"), ({"text": "t", "analyzer": "lines"}, "analyzer='lines'"),
        ({"text": "t", "ngram_range": (2, 1)}, "ngram_range="), ({"binary": True}, "with text="),
        ({"text_features": 99}, "with text="),
        ({"text": "t", "text_features": 1 << 31}, "text_features=2147483648: it is a whole number, 2147483647 at most"),
    ],
)  # fmt: skip
def test_options_of_documents_that_are_not_possible(options, reason):
    with pytest.raises(ValueError, match=reason):
        Csv(**options)


def names_seen(frame, width):
    """Each column's n-grams and words by hash, in the order in which the rows have them."""
    grams, first = {}, 1 + width
    analyze = HashingVectorizer().build_analyzer()
    for review, city in zip(frame.review, frame.city, strict=True):
        for gram in analyze(review):
            column = 1 + abs(np.int32(np.uint32(hash_of(gram)))) % width
            grams.setdefault(int(column), {})[f"review:{gram}"] = None
        word = first + abs(np.int32(np.uint32(hash_of(f"city={city}")))) % 5
        grams.setdefault(int(word), {})[f"city={city}"] = None
    return {column: list(names) for column, names in grams.items()}


@pytest.mark.parametrize("width", [7, 1 << 20])
@pytest.mark.parametrize("more", [{}, {"binary": True}, {"dtype": np.float32}])
def test_names_of_what_is_hashed_are_kept(width, more, tmp_path):
    path = tmp_path / "r.csv"
    REVIEWS.to_csv(path, index=False)
    options = {
        "text": "review",
        "label": "stars",
        "text_features": width,
        "categories": "hashed",
        "n_features": 5,
    } | more
    plain = linsep.read(path, **options)
    expected = names_seen(REVIEWS, width)
    for jobs, size in ((1, 1), (2, 60), (2, 1 << 20)):
        got = linsep.read(path, keep_names=True, n_jobs=jobs, block_bytes=size, **options)
        assert np.array_equal(got.X.indptr, plain.X.indptr)
        assert np.array_equal(got.X.indices, plain.X.indices)
        assert np.array_equal(got.X.data, plain.X.data)
        names = got.feature_names
        assert {column: names.of(column) for column in expected} == expected
        assert {column: names[column] for column in expected} == {c: " / ".join(n) for c, n in expected.items()}
        assert names.collisions == sum(len(some) > 1 for some in expected.values())
        assert len(names) == got.X.shape[1] == 1 + width + 5
        if width == 7:
            unseen = {column: f"review#{column - 1}" if column < 8 else f"#{column}" for column in range(1, 13)}
            told = unseen | {column: " / ".join(some) for column, some in expected.items()} | {0: "price"}
            assert list(names) == [told[column] for column in range(13)] == [names[k] for k in range(13)]
    assert plain.feature_names is None
    assert got.form.column_of("review:good") in expected
    assert "review:good" in expected[got.form.column_of("review:good")]


def test_names_that_are_kept_stay_those_of_the_first_data(tmp_path):
    options = {"text": "review", "label": "stars", "keep_names": True, "text_features": 1000}
    got = linsep.read(REVIEWS, **options)
    stored = type(got.form).restored(json.loads(json.dumps(got.form.state())))
    assert stored == got.form
    assert list(stored.feature_names) == list(got.feature_names)
    assert [*got.feature_names][-3:] == ["city=Oslo", "city=Rome", "city=Bern"]
    other = pd.DataFrame({"city": ["Bern"], "review": ["good unheard things"], "price": [1.0]})
    test = linsep.read(other, like=replace(got, form=stored))
    assert list(test.feature_names) == list(got.feature_names)
    assert test.unseen == 2
    plain = linsep.read(other, like=linsep.read(REVIEWS, **options | {"keep_names": False}))
    same(test.X, plain.X)
    path = tmp_path / "r.csv"
    REVIEWS.to_csv(path, index=False)
    stream = linsep.stream(path, block_rows=2, block_bytes=50, cache=tmp_path, **options)
    for _ in range(3):
        assert list(list(stream)[-1].feature_names) == list(got.feature_names)


def test_names_of_rows_at_fault_are_not_kept():
    data = b"t,w,y\nbad day,q,\ngood bad,p,1\nill \xff,p,1\nbad,p\n"
    for jobs, size in ((1, 1), (2, 1 << 20)):
        got = read(
            data, text="t", on_error="skip", keep_names=True, categories="hashed", text_features=1 << 20,
            jobs=jobs, block_bytes=size,
        )  # fmt: skip
        assert {name for name in got.names if "#" not in name} == {"t:good", "t:bad", "w=p"}
        assert got.rejected == 3


def test_names_are_kept_only_where_some_are_hashed():
    with pytest.raises(ValueError, match="keep_names= keeps the names of hashed columns: add categories='hashed' or"):
        Csv(keep_names=True)
    with pytest.raises(ValueError, match="keep_names='yes': it is True or False"):
        Csv(text="t", keep_names="yes")
    words = read(CITIES, categories="hashed", n_features=4, keep_names=True)
    assert sorted(" / ".join(words.names[1:]).split(" / "))[-4:] == sorted(
        ["city=Oslo", "city=Paris", "fair=false", "fair=true"]
    )


def weighed(documents, fitted=None, text_features=1 << 20, **options):
    fitted = documents if fitted is None else fitted
    transformer = TfidfTransformer().fit(counted(fitted, text_features, norm=None, **options))
    return transformer.transform(counted(documents, text_features, norm=None, **options))


@pytest.mark.parametrize("more", [{}, {"ngram_range": (1, 2)}, {"binary": True}, {"keep_names": True}])
@pytest.mark.parametrize("categories", ["indexed", "hashed"])
def test_rare_n_grams_weigh_more(more, categories, tmp_path):
    path, frame = tmp_path / "r.csv", pd.concat([REVIEWS, REVIEWS[1:3]])
    frame.to_csv(path, index=False)
    how = {name: value for name, value in more.items() if name != "keep_names"}
    expected = beside(frame, weighed(frame.review, **how))
    options = {"text": "review", "label": "stars", "idf": True, "categories": categories} | more
    X = linsep.read(path, ignore="city", **options).X
    same(X[:, : expected.shape[1]], expected)
    plain = linsep.read(path, **options | {"idf": False}).X
    for jobs, size in ((1, 1), (2, 100), (2, 1 << 20)):
        got = linsep.read(path, n_jobs=jobs, block_bytes=size, **options)
        same(got.X[:, : expected.shape[1]], expected)
        assert (got.X[:, expected.shape[1] :] != plain[:, expected.shape[1] :]).nnz == 0
    for cache in (False, tmp_path):
        stream = linsep.stream(path, block_rows=2, block_bytes=90, cache=cache, **options)
        for _ in range(3):
            same(sp.vstack([block.X for block in stream], format="csr"), got.X)


def test_weights_of_n_grams_are_those_of_the_first_data(tmp_path):
    got = linsep.read(REVIEWS, text="review", label="stars", idf=True, dtype=np.float32)
    assert got.X.dtype == np.float32
    stored = type(got.form).restored(json.loads(json.dumps(got.form.state())))
    assert stored == got.form
    other = pd.DataFrame({"city": ["Bern", "Rome"], "review": ["good bad bad unheard", "new"], "price": [1.0, 2.0]})
    known = other.assign(review=["good bad bad", ""])
    expected = weighed(known.review, REVIEWS.review)
    linsep.convert(REVIEWS, tmp_path / "r.npz", text="review", label="stars", idf=True)
    for like in (got, replace(got, form=stored), linsep.read(tmp_path / "r.npz")):
        test = linsep.read(other, like=like)
        assert test.unseen == 2
        np.testing.assert_allclose(test.X[:, 1 : 1 + 2**20].toarray(), expected.toarray(), rtol=1e-6)
        csv_text = Pipe(other.to_csv(index=False).encode())
        assert (linsep.read(csv_text, format="csv", like=like).X != test.X).nnz == 0


def test_weights_count_sound_rows_and_need_them_all():
    text = b"t,y\ngood bad,1\nbad,\nbad \xff,1\n,0\ngood,1\n"
    got = linsep.read(io.BytesIO(text), format="csv", text="t", idf=True, missing="zero", on_error="skip")
    same(got.X, sp.csr_array(weighed(["good bad", "", "good"])))
    assert got.rejected == 2
    with pytest.raises(ValueError, match="idf=True takes two passes: write the table to a file first"):
        linsep.read(Pipe(text), format="csv", text="t", idf=True)
    with pytest.raises(ValueError, match="idf= is an option of documents: name their column with text="):
        Csv(idf=True)
    table = Csv(text="t", idf=True)
    table.sniff([Source("t", io.BytesIO(text))])
    assert not table.settled


def in_order_of_sight(frame, fitted=None, idf=False, **options):
    """Numbers, then words and n-grams as rows have them, each row's words first; and the names of all columns."""
    fitted = frame if fitted is None else fitted
    analyze = TfidfVectorizer(**options).build_analyzer()
    names = {}
    for city, review in zip(fitted.city, fitted.review, strict=True):
        names |= dict.fromkeys([f"city={city}", *(f"review:{gram}" for gram in analyze(review))])
    grams = [name.removeprefix("review:") for name in names if name.startswith("review:")]
    theirs = TfidfVectorizer(use_idf=idf, vocabulary=grams, **options).fit(fitted.review)
    rows = dict(zip(grams, theirs.transform(frame.review).toarray().T, strict=True))
    columns = [
        rows[name.removeprefix("review:")] if name.startswith("review:") else (frame.city == name[5:]).astype(float)
        for name in names
    ]
    return np.column_stack([frame.price, *columns]), ["price", *names]


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize(
    "more", [{}, {"ngram_range": (1, 2)}, {"binary": True}, {"analyzer": "char", "ngram_range": (1, 3)}]
)  # fmt: skip
def test_n_grams_may_have_columns_of_their_own(idf, more, tmp_path):
    path, frame = tmp_path / "r.csv", pd.concat([REVIEWS, REVIEWS[1:3]])
    frame.to_csv(path, index=False)
    expected, names = in_order_of_sight(frame, idf=idf, **more)
    options = {"text": "review", "label": "stars", "vocabulary": True, "idf": idf} | more
    whole = linsep.read(path, **options)
    np.testing.assert_allclose(whole.X.toarray(), expected, rtol=1e-14)
    for jobs, size in ((1, 1), (2, 100), (2, 1 << 20)):
        got = linsep.read(path, n_jobs=jobs, block_bytes=size, **options)
        assert list(got.feature_names) == names == [got.feature_names[k] for k in range(len(names))]
        assert [got.form.column_of(name) for name in names] == list(range(len(names)))
        assert np.array_equal(got.X.indices, whole.X.indices)
        assert np.array_equal(got.X.data, whole.X.data)
        assert got.X.has_canonical_format
    assert got.form.column_of("review:unheard") is None
    for cache in (False, tmp_path):
        stream = linsep.stream(path, block_rows=2, block_bytes=90, cache=cache, **options)
        for _ in range(3):
            blocks = list(stream)
            same(sp.vstack([block.X for block in blocks], format="csr"), whole.X)
            assert list(blocks[0].feature_names) == names
    stored = linsep.convert(path, tmp_path / "r.npz", **options)
    assert list(stored.feature_names) == names
    same(sp.csr_array(stored.X), whole.X)


@pytest.mark.parametrize("idf", [False, True])
def test_other_documents_have_the_n_grams_of_the_first(idf, tmp_path):
    options = {"text": "review", "label": "stars", "vocabulary": True, "idf": idf}
    got = linsep.read(REVIEWS, **options)
    stored = type(got.form).restored(json.loads(json.dumps(got.form.state())))
    assert stored == got.form
    other = pd.DataFrame(
        {"city": ["Bern", "Paris"], "review": ["bad good unheard bad", "new things"], "price": [1.0, 2.0]}
    )
    expected, names = in_order_of_sight(other, REVIEWS, idf)
    linsep.convert(REVIEWS, tmp_path / "r.npz", **options)
    for like in (got, replace(got, form=stored), linsep.read(tmp_path / "r.npz")):
        test = linsep.read(other, like=like)
        np.testing.assert_allclose(test.X.toarray(), expected, rtol=1e-14)
        assert list(test.feature_names) == names
        assert test.unseen == 4
        with pytest.raises(DataError, match="line 1: an n-gram in column 'review' does not occur in the data that"):
            linsep.read(other, like=like, strict=True)
    assert len(linsep.read(REVIEWS, like=got, strict=True)) == len(REVIEWS)
    text = Pipe(other.to_csv(index=False).encode())
    assert (linsep.read(text, format="csv", like=got).X != test.X).nnz == 0


def test_n_grams_with_columns_of_their_own_grow_through_a_pipe():
    options = {"text": "w", "vocabulary": True, "words": ["n"]}
    expected = linsep.read(io.BytesIO(LATE), format="csv", **options)
    blocks = list(streamed(LATE, **options))
    widths = [block.X.shape[1] for block in blocks]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] == expected.X.shape[1]
    for k, block in enumerate(blocks):
        assert list(block.feature_names) == expected.feature_names[: widths[k]]
        assert np.array_equal(block.X.toarray(), expected.X[2 * k : 2 * k + 2].toarray()[:, : widths[k]])


def test_rows_at_fault_have_no_n_grams():
    data = b"t,w,y\nbad day,q,\ngood bad,p,1\nill \xff,p,1\nbad,p\n,p,2\nday,,3\n"
    for jobs, size in ((1, 1), (2, 1 << 20)):
        got = read(
            data, text="t", on_error="skip", vocabulary=True, jobs=jobs, block_bytes=size, missing="indicator",
        )  # fmt: skip
        assert list(got.names) == ["w=p", "t:good", "t:bad", "t=", "w=", "t:day"]
        root = math.sqrt(0.5)
        np.testing.assert_allclose(got.X, [[1, root, root, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1]])
        assert got.rejected == 3


def test_documents_that_change_after_the_first_look(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("t,y\ngood,1\nbad,0\n")
    stream = linsep.stream(path, text="t", vocabulary=True, cache=False)
    assert list(stream.feature_names) == ["t:good", "t:bad"]
    path.write_text("t,y\ngood,1\nnew,0\n")
    with pytest.raises(DataError, match="line 3, column 1: an n-gram in column 't' is new"):
        list(stream)
    assert list(stream.feature_names) == ["t:good", "t:bad"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"vocabulary": True}, "vocabulary= is an option of documents"), ({"text": "t", "vocabulary": 1}, "True or"),
        ({"text": "t", "vocabulary": True, "keep_names": True}, "leave out categories='hashed', text_features and"),
        ({"text": "t", "vocabulary": True, "categories": "hashed"}, "leave out categories='hashed', text_features and"),
        ({"text": "t", "vocabulary": True, "text_features": 9}, "leave out categories='hashed', text_features and"),
    ],
)  # fmt: skip
def test_vocabularies_that_are_not_possible(options, reason):
    with pytest.raises(ValueError, match=reason):
        Csv(**options)


def test_columns_that_are_called_like_n_grams():
    data = b"t,t:x,y\ngood,p,1\nbad,q,0\n"
    fails(
        "column 't:x' is called as n-grams of column 't' are: give it another name, or", data, text="t", vocabulary=True
    )
    got = read(data, text="t", text_features=4)
    assert got.table.column_of("t:x=q") == 5
    assert read(data, text="t", vocabulary=True, ignore=["t:x"]).names[:] == ["t:good", "t:bad"]


@pytest.mark.parametrize("labels", [("1", "0"), ("yes", "no")], ids=["numbers", "words"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_table_of_plain_numbers_is_read_by_the_compiled_loop(labels, dtype, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the slow path was taken")

    monkeypatch.setattr(Text, "_read_plainly", refuse)
    monkeypatch.setattr(Text, "_read_strictly", refuse)
    monkeypatch.setattr(csv_text, "parse_numbers", refuse if labels[0] == "1" else csv_text.parse_numbers)
    text = "a,b,label\n" + "".join(f"{k / 8},-{k}e-3,{labels[k % 2]}\r\n" for k in range(1000))
    data = linsep.read(io.BytesIO(text.encode()), format="csv", dtype=dtype)
    assert data.X.dtype == dtype
    assert np.array_equal(data.X[:, 0], np.arange(1000) / 8)
    assert data.y.tolist() == [type(data.y.tolist()[0])(labels[k % 2]) for k in range(1000)]


def test_the_first_part_of_a_table_of_numbers_is_parsed_once(monkeypatch):
    """What the columns hold is decided by the pass that reads the numbers."""
    filled, fill = [], Text._fill

    def counted(part, *args):
        filled.append(len(part.text))
        return fill(part, *args)

    def refuse(*_, **__):
        raise AssertionError("Arrow read the text, too")

    monkeypatch.setattr(Text, "_fill", counted)
    monkeypatch.setattr(csv_text.csv, "read_csv", refuse)
    text = "b,label,a,w\n" + "".join(f"{k},{k % 2},-{k}.5,{k / 4}\n" for k in range(1000))
    data = linsep.read(io.BytesIO(text.encode()), format="csv", columns=["a", "b"], weight="w", block_bytes=4000)
    assert sum(filled) == len(text) - len("b,label,a,w\n")
    assert data.feature_names == ["a", "b"]
    assert data.X.tolist() == [[-k - 0.5, k] for k in range(1000)]
    assert (data.y.tolist(), data.weights.tolist()) == ([k % 2 for k in range(1000)], [k / 4 for k in range(1000)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrow_parses_the_first_part_of_a_table_of_words_once(dtype, monkeypatch):
    """The columns by which it is decided what they hold are those that the cells are made of."""
    parsed, parse = [], csv_text.csv.read_csv

    def counted(*args):
        parsed.append(args[0].size())
        return parse(*args)

    monkeypatch.setattr(csv_text.csv, "read_csv", counted)
    body = "".join(f"{k}.1,{'NA' if k % 9 == 0 else k},city {k % 3},{k % 2},{k / 4}\n" for k in range(1000))
    text = "a,b,c,label,w\n" + body
    options = {"weight": "w", "missing": "zero", "dtype": dtype, "format": "csv", "n_jobs": 1}
    X, y = data = linsep.read(io.BytesIO(text.encode()), block_bytes=4000, **options)
    assert sum(parsed) == len(body)
    assert X[:, 0].toarray().ravel().tolist() == [float(dtype(f"{k}.1")) for k in range(1000)]
    assert X[:, 1].toarray().ravel().tolist() == [0 if k % 9 == 0 else k for k in range(1000)]
    assert (y.tolist(), data.weights.tolist()) == ([k % 2 for k in range(1000)], [k / 4 for k in range(1000)])
    with pytest.raises(DataError, match=r"line 3, column 9: weight '-0\.50' in column 'w' is negative"):
        linsep.read(io.BytesIO(b"a,b,c,label,w\n1,2,x,0,1\n3,4,y,1,-0.50\n"), **options)


@pytest.mark.slow
def test_a_table_is_read_without_pandas(tmp_path):
    """Arrow imports pandas, if it is installed, to convert values of Python and numpy: that takes most of a second."""
    (tmp_path / "rows.csv").write_text('a,w,label\n1,x,no\n,TRUE,yes\n12345678901234567890123,"é",no\n')
    table = pa.table({"a": [1.0, None], "b": [None, True], "w": ["x", None], "label": [False, True]})
    pq.write_table(table, tmp_path / "rows.parquet")
    feather.write_feather(table, tmp_path / "rows.feather")
    code = f"""
import sys
sys.modules["pandas"] = None
import sklearn.base
del sys.modules["pandas"]
import linsep
for end, rows in (("csv", 3), ("parquet", 2), ("feather", 2)):
    assert len(linsep.read({str(tmp_path)!r} + "/rows." + end, missing="indicator")) == rows
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kind", ["csv", "table", "stream", "hashed"])
def test_documents_do_not_become_a_category_for_each_row(tmp_path, kind):
    texts = [f"dear reader, offer {i} ends {'today' if i % 2 else 'later'}" for i in range(40)]
    path, labels = tmp_path / "mail.csv", [i % 2 for i in range(40)]
    path.write_text("body,label\n" + "".join(f'"{t}",{y}\n' for t, y in zip(texts, labels, strict=True)))
    source = pa.table({"body": texts, "label": labels}) if kind == "table" else path
    options = {"categories": "hashed"} if kind == "hashed" else {}
    reader = (lambda *a, **k: list(linsep.stream(*a, **k))) if kind == "stream" else linsep.read
    with pytest.raises(DataError, match=r"column 'body' has another long text in nearly every row.*text='body' reads"):
        reader(source, **options)
    assert linsep.read(source, text="body").X.shape == (40, 1 << 20)
    assert linsep.read(source, words=["body"]).X.shape == (40, 40)
    few = tmp_path / "few.csv"
    few.write_text("city,label\n" + "".join(f"a city with a long name {i % 5},{i % 2}\n" for i in range(40)))
    assert linsep.read(few).X.shape == (40, 5)
