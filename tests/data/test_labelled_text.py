"""The format `label<TAB>text`: a line by line reader in plain Python is the reference."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from linsep.data.names import Vocabulary
from linsep.data.text.format import LONGEST_LABEL, parse
from linsep.data.text.ngrams import Grams

COUNTS = Grams(unit=False)


def read_part(data, how=COUNTS, **options):
    return parse(np.frombuffer(data, np.uint8), how, **options)


def plainly(data):
    """The rows (place, label, text) of a part, and the lines at fault with their columns."""
    rows, faults = [], []
    for place, line in enumerate(data.split(b"\n")[:-1]):
        row = line.removesuffix(b"\r")
        label, tab, _ = row.partition(b"\t")
        try:
            if not row or (not tab and row.isspace() and b"\0" not in row):
                continue
            if b"\0" in line:
                faults.append((place, line.index(b"\0") + 1))
            elif not tab or not label or len(label) > LONGEST_LABEL or label.decode().isspace():
                faults.append((place, 1))
            else:
                rows.append((place, label.decode(), row.decode()[len(label.decode()) + 1 :]))
        except UnicodeDecodeError as error:
            faults.append((place, error.start + 1))
    return rows, faults


def check(data, how=COUNTS, **options):
    """Compare with the plain reader; return the rows of the text as scikit-learn counts them, and ours."""
    rows, (expected, faults) = read_part(data, how, **options), plainly(data)
    assert rows.labels.tolist() == [label for _, label, _ in expected]
    assert rows.labels.dtype.kind == "U"
    assert rows.places.tolist() == [place for place, _, _ in expected]
    assert rows.lines == data.count(b"\n")
    assert [(fault.line, fault.column) for fault in rows.faults] == faults
    lines = data.split(b"\n")
    assert all(fault.row == lines[fault.line] for fault in rows.faults)
    return rows, [text for _, _, text in expected]


PIECES = st.sampled_from(
    [
        b"\n", b"\r\n", b"\t", b"\t", b"spam", b"ham", "é".encode(), b"\xc3", b"\xff", b"\0", b" ", b"free money",
        b"\nham\tfree ham\n", b"\nspam\tFREE\r\n", b"\r", "Σ İ".encode(), "\u2003".encode(), b"x" * 257,
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400)
@given(data=st.one_of(st.lists(PIECES, max_size=25).map(b"".join), st.binary(max_size=40)), named=st.booleans())
def test_any_bytes_are_read_as_plain_python_reads_them(data, named):
    rows, texts = check(data + b"\n", named=named)
    if named:
        check_named(rows, texts, {})
    else:
        X = HashingVectorizer(norm=None).transform(texts or [""])
        np.testing.assert_array_equal(rows.indices, X.indices)
        np.testing.assert_array_equal(rows.values, X.data)
        np.testing.assert_array_equal(rows.indptr, X.indptr[: len(texts) + 1])


def check_named(rows, texts, options):
    """Compare with what scikit-learn counts, its columns in the order of first sight."""
    analyse = CountVectorizer(**options).build_analyzer()
    order = list(dict.fromkeys(gram for text in texts for gram in analyse(text)))
    vocabulary = Vocabulary()
    vocabulary.take(rows.names)
    assert vocabulary.names() == order
    X = csr_array((rows.values, rows.indices, rows.indptr), shape=(len(texts), len(order)))
    assert all((np.diff(rows.indices[i:k]) > 0).all() for i, k in zip(rows.indptr, rows.indptr[1:], strict=False))
    if order:
        theirs = CountVectorizer(vocabulary=order, **options).transform(texts)
        np.testing.assert_array_equal(X.toarray(), theirs.toarray())


@pytest.mark.parametrize(
    ("how", "options"),
    [
        (COUNTS._replace(low=1, high=2), {"ngram_range": (1, 2)}),
        (COUNTS._replace(chars=True, low=2, high=3), {"analyzer": "char", "ngram_range": (2, 3)}),
        (COUNTS._replace(binary=True, lowercase=False), {"binary": True, "lowercase": False}),
    ],
)
def test_n_grams_are_numbered_as_they_are_seen(how, options):
    data = "a\tno No yes\nb\t\nc\tyes  yes\tNo maybe\nd\tΣίσυφος naïve\n".encode()
    rows, texts = check(data, how, named=True)
    check_named(rows, texts, options)


def test_columns_and_values_are_those_of_the_hasher():
    texts = ["No no yes", "", "tab\ttab and more"]
    rows = read_part("".join(f"{k}\t{text}\n" for k, text in enumerate(texts)).encode(), Grams(), dtype=np.float32)
    X = HashingVectorizer(dtype=np.float32).transform(texts)
    assert rows.values.dtype == np.float32
    np.testing.assert_array_equal(rows.indices, X.indices)
    np.testing.assert_array_equal(rows.values, X.data)
    assert rows.labels.tolist() == ["0", "1", "2"]
    assert rows.names is None


def test_unit_rows_by_name():
    rows = read_part(b"a\tno no no no yes yes yes\n", Grams(), named=True)
    np.testing.assert_allclose(rows.values, [0.8, 0.6])


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (b"no tab here", 1, "'no tab here' has no TAB: a row is label<TAB>text; format= names another format"),
        (b"\ttext", 1, "the label before the TAB is empty"),
        (b" \ttext", 1, "the label before the TAB is empty"),
        (b"spam\tcaf\xe9 au lait\r", 9, r"'\\xe9 au' is not UTF-8: convert the file"),
        (b"sp\xffam\ttext\xff", 3, r"'\\xffam' is not UTF-8: convert the file"),
        (b"spam\tte\0xt\xff\0", 8, "there is a NUL byte: this is no text"),
        (b"a" * 257 + b"\ttext", 1, f"the label '{'a' * 60}'... has more than 256 bytes"),
        (b"x" * 100_000, 1, f"'{'x' * 60}'... has no TAB: a row is label<TAB>text; format= names another format"),
    ],
)
def test_a_row_at_fault_is_told(line, column, reason):
    rows = read_part(b"ham\tfine\n\n" + line + b"\nham\talso fine\n", named=True)
    assert [tuple(fault) for fault in rows.faults] == [(2, column, reason, line)]
    assert rows.places.tolist() == [0, 3]
    assert rows.lines == 4
    assert rows.names.letters.tobytes() == b"finealso"


def test_many_lines_at_fault():
    lines = [b"%d\xff\ttext" % k if k % 2 else b"%d" % k for k in range(20_000)]
    rows = read_part(b"\n".join(lines) + b"\n")
    assert len(rows) == 0
    assert [fault.row for fault in rows.faults] == lines


@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n\n  \n"])
def test_no_rows(data):
    for named in (False, True):
        rows = read_part(data, named=named)
        assert len(rows) == len(rows.faults) == len(rows.indices) == 0
        assert rows.lines == data.count(b"\n")
        assert rows.labels.dtype.kind == "U"
        assert rows.indptr.tolist() == [0]


def test_a_label_of_the_longest_kind_and_one_long_line():
    data = b"a" * 256 + b"\t" + b"word " * 100_000 + b"\nb\tword\n"
    rows = read_part(data)
    assert rows.labels.tolist() == ["a" * 256, "b"]
    assert rows.values.tolist() == [100_000, 1] or rows.values.tolist() == [-100_000, -1]
