"""svmlight text: what is read, and what is refused with its place."""

import io
from time import perf_counter

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from linsep.data.errors import DataError
from linsep.data.reading import read
from linsep.data.streaming import stream
from linsep.data.svmlight import parse
from linsep.engine.tiers import compiling


def rows_of(text, **options):
    return parse(np.frombuffer(text.encode(), np.uint8), **options)


def from_text(text, **options):
    return read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


GOOD = {
    "plain": "1 1:0.5 3:2\n-1 2:1\n",
    "no newline at the end": "1 1:0.5 3:2\n-1 2:1",
    "returns": "1 1:0.5 3:2\r\n-1 2:1\r\n",
    "comments": "# made by hand\n1 1:0.5 3:2 # first\n\n-1 2:1# second\n#\n",
    "blanks": "  1\t1:0.5   3:2  \n \n-1 2:1\t\n",
    "qid": "1 qid:7 1:0.5 3:2\n-1 qid:12 2:1\n",
    "forms of numbers": "+1 1:5e-1 3:2.\n-1.0 2:+.1e1\n",
}


@pytest.mark.parametrize("case", GOOD)
def test_forms_of_the_same_rows(case):
    X, y = from_text(GOOD[case], zero_based=False)
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert y.tolist() == [1, -1]
    assert y.dtype == np.int64


BAD = {
    "no label": ("1 1:1\nx 2:1\n", 2, 1, "'x' is not a label"),
    "two labels": ("1,2 1:1\n", 1, 1, "'1,2' is not a label"),
    "label not finite": ("nan 1:1\n", 1, 1, "'nan' is not a label"),
    "endless label": ("1e999 1:1\n", 1, 1, "'1e999' is not a label"),
    "no colon": ("1 1:1 2\n", 1, 7, "'2' is not index:value"),
    "a word": ("1 a:1\n", 1, 3, "'a:1' is not index:value"),
    "negative index": ("1 -1:1\n", 1, 3, "'-1:1' is not index:value"),
    "value not finite": ("1 1:1 2:inf\n", 1, 9, "'inf' is not a finite number"),
    "value too large": ("1 1:1 2:1e309\n", 1, 9, "'1e309' is too large"),
    "value cut off": ("1 1:\n", 1, 5, "'' is not a finite number"),
    "value with a tail": ("1 1:2x\n", 1, 5, "'2x' is not a finite number"),
    "indices fall": ("1 2:1 1:1\n", 1, 7, "index '1' is not above"),
    "index twice": ("1 2:1 2:1\n", 1, 7, "index '2' is not above"),
    "index too large": ("1 9999999999999999999:1\n", 1, 3, "'9999999999999999999:1' is too large"),
    "NUL": ("1 1:1\n1 2:\x001\n", 2, 5, "is not a finite number"),
    "not UTF-8": (b"1 1:1\n1 \xff\xfe:1\n", 2, 3, r"xff.*xfe:1' is not index:value"),
    "qid": ("1 qid:x 1:1\n", 1, 3, "'qid:x' is not qid:number"),
    "two qids": ("1 qid:1 qid:2 1:1\n", 1, 9, "'qid:2' is the second qid"),
    "two qids and no entry": ("1 qid:1 qid:1\n", 1, 9, "'qid:1' is the second qid"),
    "qid after an entry": ("1 1:1 qid:2\n", 1, 7, "'qid:2' is not index:value"),
    "a return inside": ("1 1:1 \r2:1\n", 1, 7, "is not index:value"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_a_malformed_row_is_an_error_with_its_place(case):
    text, line, column, reason = BAD[case]
    with pytest.raises(DataError, match=reason) as caught:
        from_text(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"line {line}, column {column}" in str(caught.value)


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_row_leaves_the_others(case, tmp_path):
    text = BAD[case][0]
    bad = (text if isinstance(text, bytes) else text.encode()).splitlines(keepends=True)[-1]
    both = b"1 1:1\n" + bad + b"-1 3:2\n"
    skipped = from_text(both, on_error="skip")
    assert skipped.X.toarray().tolist() == [[1, 0, 0], [0, 0, 2]]
    assert skipped.y.tolist() == [1, -1]
    assert skipped.rejected == 1
    kept = tmp_path / "bad.txt"
    assert from_text(both, on_error="quarantine", quarantine=kept).rejected == 1
    assert kept.read_bytes().rstrip(b"\n") == bad.rstrip(b"\n")


def test_many_faults_and_many_hard_numbers():
    """More than the compiled reader hands over at once, in rows and in one row."""
    lines = [f"{k % 2} 1:{k}.{'1' * 30} 2:{'x' if k % 3 == 0 else 1}" for k in range(2000)]
    long = "1 " + " ".join(f"{j}:0.{'1' * 25}{j}" for j in range(1, 1500))
    data = from_text("\n".join([*lines, long]) + "\n", on_error="skip")
    assert data.rejected == 667
    assert len(data) == 2000 - 667 + 1
    assert data.X[0, 0] == float(f"1.{'1' * 30}")
    assert data.X[len(data) - 1, 1400] == float(f"0.{'1' * 25}1401")


@pytest.mark.parametrize("bad", [b"x", b"1e999 1:1", b"1 1:1e999"])
def test_faults_take_no_look_at_the_whole_block_each(bad):
    """They take 0.1 s; with a look at the 10 MB before each of them it would be 10 s."""
    lines = [b"1 1:1", b"#" * 10_000_000, *[bad] * 5000, b"-1 2:1"]
    block = np.frombuffer(b"\n".join(lines) + b"\n", np.uint8)
    with compiling("always"):
        parse(np.frombuffer(bad + b"\n", np.uint8))
        begin = perf_counter()
        rows = parse(block)
    assert perf_counter() - begin < 2
    assert [fault.line for fault in rows.faults] == list(range(2, 5002))
    assert {fault.row for fault in rows.faults} == {bad}
    assert rows.labels.tolist() == [1, -1]
    assert rows.places.tolist() == [0, 5002]


def test_where_indices_begin():
    ones, zeros = "1 1:1 3:1\n", "1 0:1 3:1\n"
    assert from_text(ones).X.toarray().tolist() == [[1, 0, 1]]
    assert from_text(zeros).X.toarray().tolist() == [[1, 0, 0, 1]]
    assert from_text(ones, zero_based=True).X.toarray().tolist() == [[0, 1, 0, 1]]
    with pytest.raises(DataError, match="line 1, column 3: index 0, but indices begin at 1 here"):
        from_text(zeros, zero_based=False)


def test_the_number_of_features():
    assert from_text("1 2:1\n", n_features=5).X.shape == (1, 5)
    with pytest.raises(DataError, match="line 1, column 3: index 7 is beyond the 5 features that were stated"):
        from_text("1 7:1\n", n_features=5)


def test_wide_indices():
    data = from_text("1 1:1 5000000000:2\n-1 3:1\n")
    assert data.X.shape == (2, 5_000_000_000)
    assert data.X.indices.dtype == np.int64
    assert data.X.indices.tolist() == [0, 4_999_999_999, 2]


def test_labels():
    assert from_text("0.5 1:1\n2 1:1\n").y.tolist() == [0.5, 2.0]
    assert from_text("-3 1:1\n7 1:1\n").y.dtype == np.int64


def test_no_rows():
    for text in ("", "\n\n", "# nothing\n"):
        with pytest.raises(DataError, match="there are no rows"):
            from_text(text)
    data = from_text("one\n", format="svmlight", on_error="skip")
    assert data.X.shape == (0, 0)
    assert len(data.y) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [64, 1000, 1 << 22])
def test_as_scikit_learn_reads_it(dtype, size, tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 50), density=0.2, rng=rng, format="csr") * 100
    y = rng.integers(0, 5, 300)
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    theirs, labels = load_svmlight_file(str(path), dtype=np.float64, n_features=50)
    ours = read(path, dtype=dtype, n_features=50, block_bytes=size)
    assert ours.y.tolist() == labels.tolist()
    assert np.array_equal(ours.X.toarray(), theirs.toarray().astype(dtype))
    whole = sp.vstack([block.X for block in stream(path, dtype=dtype, n_features=50, block_bytes=size, block_rows=37)])
    assert np.array_equal(whole.toarray(), ours.X.toarray())


numbers = st.floats(allow_nan=False, allow_infinity=False)
entries = st.dictionaries(st.integers(1, 10**6), numbers, max_size=8)


@pytest.mark.slow
@settings(max_examples=200)
@given(rows=st.lists(st.tuples(st.integers(-5, 5), entries), min_size=1, max_size=8), size=st.integers(1, 200))
def test_what_is_written_is_read(rows, size):
    text = "".join(f"{label} {' '.join(f'{j}:{v!r}' for j, v in sorted(row.items()))}\n" for label, row in rows)
    data = from_text(text, zero_based=False, n_features=10**6, block_bytes=size)
    assert data.y.tolist() == [label for label, _ in rows]
    for i, (_, row) in enumerate(rows):
        span = slice(data.X.indptr[i], data.X.indptr[i + 1])
        assert dict(zip((data.X.indices[span] + 1).tolist(), data.X.data[span].tolist(), strict=True)) == row


@pytest.mark.slow
@settings(max_examples=500)
@given(text=st.binary(max_size=300) | st.text("0123456789:. -+e#\n\rqid", max_size=300).map(str.encode))
def test_any_bytes(text):
    """Every line is a row, a fault or nothing; memory stays that of the input."""
    block = np.frombuffer(text + b"\n", np.uint8)
    rows = parse(block)
    meaning = [line for line in (text + b"\n").split(b"\n")[:-1] if line.split(b"#")[0].strip(b" \t\r")]
    assert len(rows.labels) + len(rows.faults) <= len(meaning) + text.count(b"\r")
    assert rows.indptr[-1] == len(rows.values) == len(rows.indices) <= len(text)
    assert np.isfinite(rows.values).all()
    assert np.isfinite(rows.labels).all()
