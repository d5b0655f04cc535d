"""Files in parts: together they are what the whole is, wherever they are cut and whoever reads them."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import linsep
from linsep.data.errors import DataError
from linsep.data.parts import PartRows, Plan, blocks_of, profile_of, rows_of
from linsep.data.tables import csv as csv_text
from linsep.engine.runtime import share

SVM = [
    b"1 1:0.5 3:2",
    b"-1 2:1 7:3.25",
    b"# a comment",
    b"",
    b"1 7:1",
    b"-1 1:1 2:2 3:3 # more",
    b"1",
    b"-1 12:1e-3",
] * 3
VW = [b"1 |a x y:2 |b z", b"-1 2.5 |a x:-1", b"", b"1 |c:3 w q", b"-1 'tag |a y"] * 4
TEXT = [b"spam\tfree money, free", b"ham\thi there", b"", b"ham\tmoney\tis not all", b"eggs\t\xc3\xa9t\xc3\xa9"] * 4
CSV = [b"age,city,label", b"31,Oslo,1", b"27,Rome,0", b"", b"40,Oslo,1", b"1e2,Bern,0", b"-3,Rome,1"] + [
    b"5,Nice,0"
] * 9
NUMBERS = [b"a,b,label"] + [b"%d,%d.5,%d" % (k, -k, k % 3) for k in range(25)]
QUOTED = [
    b'name,"the\nnote",label', b'x,"two\nlines, and ""more""",1', b'y"z,plain,0', b'"",a,1', b'"p","q\r\nr\n\ns",0',
] + [b'w,"\n\n\n",1'] * 5 + [b"v,u,0"] * 5  # fmt: skip
TEXTS = {
    "rows.svm": (SVM, {}),
    "named.svm": (SVM, {"n_features": 15, "zero_based": False}),
    "zero.svm": ([*SVM, b"1 0:1"], {}),
    "rows.vw": (VW, {}),
    "numbered.vw": (VW, {"vocabulary": True}),
    "kept.vw": (VW, {"keep_names": True, "n_features": 64}),
    "rows.txt": (TEXT, {"n_features": 32}),
    "numbered.txt": (TEXT, {"vocabulary": True}),
    "rare.txt": (TEXT, {"idf": True, "n_features": 32}),
    "words.csv": (CSV, {}),
    "hashed.csv": (CSV, {"categories": "hashed", "n_features": 16, "keep_names": True}),
    "numbers.csv": (NUMBERS, {}),
    "weighed.csv": (NUMBERS, {"weight": "a"}),
    "nameless.csv": (NUMBERS[1:], {"header": False, "label": 2}),
    "quoted.csv": (QUOTED, {"text": "the\nnote", "text_features": 32, "missing": "zero"}),
    "worded.csv": (QUOTED, {"label": "the\nnote", "words": ["name"], "missing": "zero"}),
    "words.tsv": ([row.replace(b",", b"\t") for row in CSV], {}),
    "noted.tsv": (
        [row.replace(b",", b"\t") for row in QUOTED],
        {"text": "the\nnote", "text_features": 32, "idf": True, "missing": "zero"},
    ),
}
TOO_MANY = 1000


def put(folder, name, lines, end=b"\n", last=b"\n", first=b""):
    path = folder / name
    path.write_bytes(first + end.join(lines) + last)
    return path


def read_parts(source, count, how=rows_of, **options):
    """The rows of all parts, each read from what a pickle brings."""
    plan = Plan(source, **options)
    parts = pickle.loads(pickle.dumps(plan.parts(count)))
    found = plan.settle([profile_of(part, pickle.loads(pickle.dumps(plan.reading))) for part in parts])
    reading = pickle.loads(pickle.dumps(plan.reading))
    data = [how(part, reading) for part in parts]
    return plan, parts, found, [block for one in data for block in (one if isinstance(one, Iterator) else [one])]


def together(data, like):
    """X, y and weights of data sets, one below the other."""
    assert {one.X.shape[1] for one in data} <= {like.X.shape[1]}
    assert all(type(one.X) is type(like.X) and one.X.dtype == like.X.dtype for one in data)
    stack = sp.vstack if sp.issparse(like.X) else np.vstack
    weights = [one.weights for one in data]
    if any(some is not None for some in weights):
        weights = [np.ones(len(one)) if one.weights is None else one.weights for one in data]
        return stack([one.X for one in data]), np.concatenate([one.y for one in data]), np.concatenate(weights)
    return stack([one.X for one in data]), np.concatenate([one.y for one in data]), None


def assert_same(data, like):
    X, y, weights = together(data, like)
    for got, wanted in [(X, like.X)] if isinstance(X, np.ndarray) else [
        (getattr(X, name), getattr(like.X, name)) for name in ("indptr", "indices", "data")
    ]:  # fmt: skip
        assert np.array_equal(got, wanted)
    assert np.array_equal(y, like.y, equal_nan=y.dtype.kind == "f")
    assert (weights is None) == (like.weights is None)
    assert weights is None or np.array_equal(weights, like.weights)


def assert_parts(source, count, **options):
    """Check the parts of a source against all of it; return how many there are."""
    whole = linsep.read(source, **options)
    plan, parts, found, data = read_parts(source, count, **options)
    assert len(parts) <= count
    assert all(part.size > 0 for part in parts)
    if parts:
        assert_same(data, whole)
    assert (found.rows, found.rejected) == (len(whole), whole.rejected)
    assert sum(one.rejected for one in data) == whole.rejected
    assert np.array_equal(found.labels, np.unique(whole.y))
    assert found.weighted == (whole.weights is not None)
    assert plan.form.width == whole.X.shape[1]
    if sp.issparse(whole.X) and parts:
        seen = np.zeros(whole.X.shape[1], bool)
        seen[whole.X.indices] = True
        assert np.array_equal(found.columns[: len(seen)], seen)
        assert not found.columns[len(seen) :].any()
    names = whole.feature_names
    assert (None if names is None else list(names)) == (
        None if plan.form.feature_names is None else list(plan.form.feature_names)
    )
    return len(parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_parts_together_are_the_whole(tmp_path, name):
    lines, options = TEXTS[name]
    path = put(tmp_path, name, lines)
    for count in (1, 2, 3, 7, 20):
        assert_parts(path, count, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("shape", [{"end": b"\r\n", "last": b"\r\n"}, {"last": b""}, {"first": b"\xef\xbb\xbf"}])
def test_ends_of_lines_and_marks(tmp_path, name, shape):
    lines, options = TEXTS[name]
    for count in (3, TOO_MANY):
        assert_parts(put(tmp_path, name, lines, **shape), count, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_several_files_of_any_size(tmp_path, name):
    lines, options = TEXTS[name]
    head = lines[:1] if name.endswith("sv") and options.get("header") is not False else []
    body = lines[len(head) :]
    cuts = [body[:1], body[1:9], body[9:], body[2:4]]
    paths = [put(tmp_path, f"{k}-{name}", [*head, *some]) for k, some in enumerate(cuts)]
    paths[2:2] = [] if name.endswith("sv") else [put(tmp_path, "empty-" + name, [], last=b"")]
    paths[2:2] = [put(tmp_path, "bare-" + name, head)] if head else []
    packed = tmp_path / f"5-{name}.gz"
    packed.write_bytes(gzip.compress(b"\n".join([*head, *body[:6]])))
    for count in (1, 3, 4, TOO_MANY):
        assert_parts([*paths[:3], packed, *paths[3:]], count, **options)


@pytest.mark.parametrize("name", ["rows.svm", "words.csv", "quoted.csv", "numbered.txt", "weighed.csv"])
def test_blocks_are_the_rows_in_order(tmp_path, name):
    lines, options = TEXTS[name]
    path = put(tmp_path, name, lines)
    whole = linsep.read(path, **options)
    for block_rows in (1, 3, 1000):
        for count in (1, 4):
            _, parts, _, data = read_parts(
                path, count, lambda part, reading, n=block_rows: blocks_of(part, reading, n), block_bytes=32, **options
            )
            assert_same(data, whole)
            assert all(block.block and 1 <= len(block) <= block_rows for block in data)
            assert len(data) <= len(whole) // block_rows + len(parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.svm", "numbers.csv", "worded.csv"])
def test_any_number_of_parts(tmp_path, name):
    lines, options = TEXTS[name]
    path = put(tmp_path, name, lines)
    counts = [assert_parts(path, count, **options) for count in range(1, 21)]
    rows_or_lines = {"rows.svm": 24, "numbers.csv": 25, "worded.csv": 14}[name]
    assert counts == [min(count, rows_or_lines) for count in range(1, 21)]


def test_every_line_may_be_a_part(tmp_path):
    assert assert_parts(put(tmp_path, "rows.svm", [b"1 1:1"] * 9), 9) == 9
    assert assert_parts(put(tmp_path, "rows.svm", [b"1 1:1"] * 9), 10) == 9
    long = [b"1 1:1"] * 9 + [b"1 " + b" ".join(b"%d:1" % k for k in range(1, 40_000))] + [b"0 1:1"] * 9
    for lines in (long, long[:10], long[9:]):
        for count in (2, 5, len(lines), TOO_MANY):
            assert assert_parts(put(tmp_path, "rows.svm", lines), count) == min(count, len(lines))


def test_parts_are_about_equal(tmp_path):
    lines = [b"1 %d:1" % (10 + k % 90) for k in range(1000)]
    paths = [put(tmp_path, f"{k}.svm", lines[:n]) for k, n in enumerate((3, 700, 10, 287))]
    parts = Plan(paths).parts(7)
    assert len(parts) == 7
    assert sum(part.size for part in parts) == 7 * 1000
    assert all(abs(part.size - 1000) <= 7 for part in parts)
    assert parts == Plan(paths).parts(7)
    assert [span.file for part in parts for span in part.spans] == sorted(
        span.file for part in parts for span in part.spans
    )


def test_few_large_files_are_parts_each(tmp_path):
    for k, size in enumerate((10, 1000, 10)):
        (tmp_path / f"{k}.svm.gz").write_bytes(gzip.compress(b"1 1:%d\n" % k * size))
    assert assert_parts(tmp_path, 3) == 3
    assert assert_parts(tmp_path, 2) == 2
    assert {span.unit for part in Plan(tmp_path).parts(2) for span in part.spans} == {"file"}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_is_compressed_is_whole(tmp_path, pack):
    path = tmp_path / "rows.svm.packed"
    path.write_bytes(pack(b"\n".join(SVM)))
    assert assert_parts(path, 5, format="svmlight") == 1


def test_a_line_that_begins_like_something_compressed(tmp_path):
    path = put(tmp_path, "rows.txt", [b"ham\thi"] + [b"BZh\tfree money"] * 5)
    assert assert_parts(path, 6, n_features=8) == 6


def test_nothing_at_all(tmp_path):
    for lines in ([], [b"# only", b"", b"# comments"]):
        path = put(tmp_path, "rows.svm", lines, last=b"")
        with pytest.raises(DataError) as wanted:
            linsep.read(path)
        with pytest.raises(DataError, match=f"^{re.escape(str(wanted.value))}$"):
            read_parts(path, 3)
    for text in (b"", b"\n\n", b"a,label\n", b"a,label\n\n\n"):
        (tmp_path / "rows.csv").write_bytes(text)
        with pytest.raises(DataError) as wanted:
            linsep.read(tmp_path / "rows.csv")
        with pytest.raises(DataError) as found:
            Plan(tmp_path / "rows.csv").parts(3)
        assert str(found.value) == str(wanted.value)


@given(
    st.lists(st.sampled_from([b"1 1:2", b"-1 3:0.5 4:1", b"", b"# x", b"2", b"0.5 2:1\r", b"1 " + b"9:1 "])),
    st.integers(1, 20), st.sampled_from([b"", b"\n", b"\n\n"]),
)  # fmt: skip
def test_any_lines_in_any_parts(tmp_path_factory, lines, count, last):
    assert_parts(put(tmp_path_factory.getbasetemp(), "any.svm", [*lines, b"1 1:2"], last=last), count)


FIELDS = st.sampled_from([b"a", b"", b'"q"', b'"\n"', b'"a""b\r\n,"', b'a"b', b'"x"y', b"7"])


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1), st.integers(1, 20), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
@example([(b'a"b', b'"\n"')] * 3, 20, b"\n")
def test_any_fields_in_any_parts(tmp_path_factory, table, count, end):
    lines = [b"one,two,label", *(b",".join([*row, b"%d" % k]) for k, row in enumerate(table))]
    path = put(tmp_path_factory.getbasetemp(), "any.csv", lines, end=end, last=end)
    options = {"words": ["one", "two"], "missing": "zero"}
    wanted = told(linsep.read, path, **options)
    if wanted is None:
        assert_parts(path, count, **options)
    else:
        assert told(read_parts, path, count, **options) == wanted


def told(use, *args, **options):
    """What is told of data that are not sound; None if they are."""
    try:
        use(*args, **options)
    except DataError as error:
        return str(error)
    return None


def test_a_sample_of_rows_is_enough_to_cut_at(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "MOST_MARKS", 8)
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 64)
    path = put(tmp_path, "rows.csv", [b"a,label"] + [b'"%d\n",%d' % (k, k % 2) for k in range(100)])
    for count in (2, 4, 5, TOO_MANY):
        assert assert_parts(path, count, words=["a"]) >= min(count, 4)


FAULTS = {
    "rows.svm": (b"1 1:1", b"1 1:1 2:x", {}),
    "stated.svm": (b"1 1:1", b"1 1:1 9:1", {"n_features": 8, "zero_based": False}),
    "rows.vw": (b"1 |a x y", b"1 |a x y:nan", {}),
    "rows.txt": (b"ham\tmoney", b"no tab", {}),
    "rows.csv": (b"3,1", b"3,x", {"header": True}),
    "rows.tsv": (b"3\t1", b"3", {"header": True}),
    "words.csv": (b"w,1", b"w,1,2", {"categories": "hashed"}),
    "noted.csv": (b'"\n\n",1', b'"\n",x', {"words": ["a"], "categories": "hashed"}),
    "open.csv": (b'"\n\n",1', b'"\n,x\n', {"words": ["a"], "categories": "hashed"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("place", [0, 14, 29])
def test_faults_are_told_as_of_the_whole(tmp_path, monkeypatch, name, place):
    good, bad, options = FAULTS[name]
    lines = [good] * 30
    lines[place] = bad
    head = {".csv": [b"a,label"], ".tsv": [b"a\tlabel"]}.get(name[-4:], [])
    monkeypatch.chdir(tmp_path)
    put(tmp_path, name, [*head, *lines])
    with pytest.raises(DataError) as wanted:
        linsep.read(name, **options)
    assert wanted.value.line
    for count in (1, 4):
        for how in (rows_of, lambda part, reading: list(blocks_of(part, reading, 2))):
            with pytest.raises(DataError) as found:
                read_parts(name, count, how, **options)
            assert str(found.value) == str(wanted.value)
            assert found.value.file == name
    if name != "open.csv":
        for count in (2, 30):
            assert_parts(name, count, on_error="skip", **options)


def test_faults_in_tables_tell_their_row(tmp_path):
    frame = pd.DataFrame({"a": [1.0] * 20, "label": [1] * 20})
    frame.loc[13, "a"] = np.nan
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=3)
    feather.write_feather(frame, tmp_path / "rows.arrow", chunksize=4)
    for name in ("rows.parquet", "rows.arrow"):
        with pytest.raises(DataError, match="line 14") as wanted:
            linsep.read(tmp_path / name)
        with pytest.raises(DataError) as found:
            read_parts(tmp_path / name, 5)
        assert str(found.value) == str(wanted.value)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [["a", "label"], ["a", "b", "label", "w"]])
def test_tables_are_cut_between_row_groups_and_batches(tmp_path, columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "a": rng.normal(size=100), "b": rng.choice(["x", "y", "z"], 100), "label": rng.integers(0, 2, 100) == 1,
        "w": rng.random(100),
    })[columns]  # fmt: skip
    weight = {"weight": "w"} if "w" in columns else {}
    for k, rows_of_group in enumerate((7, 40, 1000)):
        frame.to_parquet(tmp_path / f"{k}.parquet", row_group_size=rows_of_group)
        feather.write_feather(frame, tmp_path / f"{k}.arrow", chunksize=rows_of_group, compression="uncompressed")
    with pa.OSFile(str(tmp_path / "3.arrow"), "wb") as file, pa.ipc.new_stream(file, pa.table(frame).schema) as stream:
        stream.write_table(pa.table(frame))
    groups = {"0.parquet": 15, "1.parquet": 3, "2.parquet": 1, "0.arrow": 15, "1.arrow": 3, "2.arrow": 1, "3.arrow": 1}
    for name, most in groups.items():
        for count in (1, 2, 3, 20):
            assert assert_parts(tmp_path / name, count, **weight) == min(count, most)
    for kind in ("parquet", "arrow"):
        for count in (1, 4, 20):
            assert assert_parts(str(tmp_path / f"*.{kind}"), count, **weight) == min(
                count, 19 if kind == "parquet" else 20
            )


def test_row_groups_without_rows(tmp_path):
    table = pa.table({"a": ["x", "y"], "label": [True, False]})
    with pq.ParquetWriter(tmp_path / "rows.parquet", table.schema) as file:
        for some in (table[:0], table, table[:0], table[:0]):
            file.write_table(some)
    for count in (1, 2, 4):
        assert_parts(tmp_path / "rows.parquet", count)


def stored(path, sparse, n=50, width=6, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, width), density=0.3, rng=rng, format="csr") if sparse else rng.normal(size=(n, width))
    y, weights = rng.integers(0, 3, n), rng.random(n)
    with linsep.data.npz.writer.Writer(path) as file:
        file.write(X, y, weights)
        file.rejected = 3
    return path


@pytest.mark.parametrize("sparse", [True, False])
def test_binary_files_are_read_in_place(tmp_path, sparse):
    path = stored(tmp_path / "rows.npz", sparse)
    for count in (1, 2, 7, 20):
        assert assert_parts(path, count) == count
    assert assert_parts(path, TOO_MANY) == 50
    plan = Plan(path)
    for part in plan.parts(3):
        for data in (rows_of(part, plan.reading), PartRows(part, plan.reading).finish(plan.form)):
            values = data.X.data if sparse else data.X
            assert not values.flags.owndata
            assert not values.flags.writeable
            assert not data.y.flags.owndata
        sizes = [len(block) for block in blocks_of(part, plan.reading, 4)]
        assert sum(sizes) == len(data)
        assert max(sizes) == 4
    whole = linsep.read(path, dtype=np.float32)
    assert_same(read_parts(path, 3, dtype=np.float32)[3], whole)
    assert_parts([path, stored(tmp_path / "more.npz", sparse, 9, seed=1)], 5)
    assert_parts(path, 4, verify=True)


def test_binary_files_of_other_widths(tmp_path):
    wide, narrow = stored(tmp_path / "a.npz", True), stored(tmp_path / "b.npz", True, width=3)
    assert assert_parts([narrow, wide], 4) == 4
    wide, narrow = stored(tmp_path / "a.npz", False), stored(tmp_path / "b.npz", False, width=3)
    with pytest.raises(DataError, match="its table has 3 columns, that of another file 6"):
        read_parts([narrow, wide], 4)


@pytest.mark.parametrize("name", ["rows.svm", "rows.vw", "numbered.vw", "rare.txt", "words.csv", "hashed.csv"])
@pytest.mark.parametrize("strict", [False, True])
def test_parts_like_other_data(tmp_path, name, strict):
    lines, options = TEXTS[name]
    path = put(tmp_path, name, lines)
    few = linsep.read(put(tmp_path, "few-" + name, lines[:3]), **options)
    whole = linsep.read(path, like=few, strict=strict, on_error="skip")
    for count in (1, 3, 9):
        _, _, found, data = read_parts(path, count, like=few, strict=strict, on_error="skip")
        assert_same(data, whole)
        assert sum(one.unseen for one in data) == found.unseen == whole.unseen
        assert sum(one.rejected for one in data) == found.rejected == whole.rejected
    assert (whole.rejected if strict else whole.unseen) > 0


def test_binary_parts_like_other_data(tmp_path):
    few = linsep.read(put(tmp_path, "few.svm", [b"1 1:1 3:1"]))
    path = stored(tmp_path / "rows.npz", True, width=3)
    whole = linsep.read(path, like=few)
    data = read_parts(path, 4, like=few)[3]
    assert_same(data, whole)
    assert sum(one.unseen for one in data) == whole.unseen > 0
    with pytest.raises(DataError) as wanted:
        linsep.read(path, like=few, strict=True)
    with pytest.raises(DataError) as found:
        read_parts(path, 4, like=few, strict=True)
    assert str(found.value) == str(wanted.value)


def test_rows_are_parsed_once_and_finished_later(tmp_path):
    for name in ("rows.svm", "zero.svm", "words.csv", "rare.txt"):
        lines, options = TEXTS[name]
        path = put(tmp_path, name, lines)
        plan = Plan(path, **options)
        some = [PartRows(part, plan.reading) for part in plan.parts(4)]
        plan.settle(one.profile for one in some)
        for _ in range(2):
            assert_same([one.finish(plan.form) for one in some], linsep.read(path, **options))


def test_what_is_not_settled_is_told(tmp_path):
    plan = Plan(put(tmp_path, "rows.svm", SVM))
    [part] = plan.parts(1)
    for use in (rows_of, blocks_of, lambda part, reading: PartRows(part, reading).finish(reading.form)):
        with pytest.raises(ValueError, match=r"plan\.settle"):
            use(part, plan.reading)
    plan = Plan(put(tmp_path, "rows.svm", [*SVM, b"1 0:1"]), n_features=12)
    with pytest.raises(DataError, match="one feature more than the 12 that were stated"):
        plan.settle(profile_of(part, plan.reading) for part in plan.parts(3))


def test_a_file_that_changes_is_told(tmp_path):
    path = put(tmp_path, "rows.svm", [b"1 1:1"] * 10)
    plan = Plan(path, n_features=1, zero_based=False)
    parts = plan.parts(2)
    walk = blocks_of(parts[0], plan.reading, 1)
    next(walk)
    path.write_bytes(b"1 1:x\n" * 10)
    os.utime(path, ns=(0, 1))
    for use in (lambda: list(walk), lambda: rows_of(parts[1], plan.reading), lambda: plan.parts(2)):
        with pytest.raises(DataError, match=r"rows.svm: the file changed since it was cut into parts: cut it again"):
            use()
    path.unlink()
    with pytest.raises(DataError, match=r"no such file or directory: a machine that reads a part needs the file at '/"):
        rows_of(parts[1], plan.reading)


def test_a_copy_is_as_good_as_the_file(tmp_path):
    path = put(tmp_path, "rows.svm", SVM)
    plan = Plan(path)
    parts, when = plan.parts(3), path.stat().st_mtime_ns
    text = path.read_bytes()
    path.unlink()
    path.write_bytes(text)
    os.utime(path, ns=(when, when))
    assert plan.settle(profile_of(part, plan.reading) for part in parts).rows == len(linsep.read(path))


def test_columns_of_all_files_are_checked(tmp_path):
    paths = [
        put(tmp_path, "a.csv", [b"a,b,label", b"1,2,0", b"3,4,1"]),
        put(tmp_path, "b.csv", [b"label,a,b", b"0,5,6"]),
    ]
    assert assert_parts(paths, 3) == 3
    for lines in ([b"a,label"], [b"a,b,c,label"], [b"a,label", b"1,2"]):
        other = put(tmp_path, "c.csv", lines)
        with pytest.raises(DataError) as wanted:
            linsep.read([*paths, other])
        with pytest.raises(DataError) as found:
            read_parts([*paths, other], 3)
        assert str(found.value) == str(wanted.value)


def test_what_has_no_parts(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1.0], "label": [1]})
    for source in (io.BytesIO(b"1 1:1\n"), frame, pa.table(frame), "-", "/dev/null"):
        with pytest.raises(DataError, match="it has no parts: other readers need files by their names"):
            Plan(source)
    path = put(tmp_path, "rows.svm", SVM)
    with pytest.raises(ValueError, match="on_error='skip'"):
        Plan(path, on_error="quarantine", quarantine=tmp_path / "kept")
    with pytest.raises(ValueError, match="progress="):
        Plan(path, progress=print)
    with pytest.raises(ValueError, match="count=0: it is a whole number, 1 at least"):
        Plan(path).parts(0)
    with pytest.raises(DataError, match="UTF-16"):
        Plan(put(tmp_path, "wide.svm", [], last="1 1:1\n".encode("utf-16"))).parts(2)


def test_workers_may_stand_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "rows.svm", SVM)
    plan = Plan("rows.svm")
    parts = plan.parts(2)
    monkeypatch.chdir("/")
    assert plan.settle(profile_of(part, plan.reading) for part in parts).rows == 18
    assert str(parts[0]).startswith("rows.svm, bytes 0 to ")


def test_what_travels_is_small(tmp_path):
    path = put(tmp_path, "rows.svm", [b"1 %d:1" % k for k in range(1, 50_000)])
    plan = Plan(path)
    assert len(pickle.dumps(plan.parts(1))) < 1000
    assert len(pickle.dumps(plan.reading)) < 1000
    [part] = plan.parts(1)
    assert len(pickle.dumps(profile_of(part, plan.reading))) < 10_000


def test_threads_share_a_reading(tmp_path):
    for name in ("rows.svm", "words.csv", "numbered.txt"):
        lines, options = TEXTS[name]
        path = put(tmp_path, name, lines)
        few = linsep.read(put(tmp_path, "few-" + name, lines[:3]), **options)
        plan = Plan(path, like=few)
        tasks = [partial(rows_of, part, plan.reading) for part in plan.parts(20)]
        data, whole = share(tasks, 8), linsep.read(path, like=few)
        assert_same(data, whole)
        assert sum(one.unseen for one in data) == whole.unseen


def test_passes_over_parts_count_each_for_itself(tmp_path):
    few = linsep.read(put(tmp_path, "few.svm", [b"1 1:1"]))
    plan = Plan(put(tmp_path, "rows.svm", [b"1 1:1 2:1"] * 10), like=few, block_bytes=10)
    one, other = (blocks_of(part, plan.reading, 1) for part in plan.parts(2))
    assert next(one).unseen == 1
    assert [block.unseen for block in other] == [1, 2, 3, 4, 5]
    assert [block.unseen for block in one] == [2, 3, 4, 5]
