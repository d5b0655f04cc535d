"""Text to features: scikit-learn's HashingVectorizer and Python's own `re` and `str.lower` are the references."""

import gzip
import os
import pickle
import re
from itertools import pairwise
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline

from linsep.data.grams import Grams, _hash, hash_text
from linsep.data.hashing import hashed
from linsep.data.names import _see
from linsep.data.text import TextHasher, chunks
from linsep.data.utf8 import CASED, CONTEXTUAL, POINTS, WHITE, WORD, tables
from linsep.data.words import room, tokens

HARD = [
    "", "a", "B", "_", "__", "a_", "42", "3.14159 and 1e-5", "x²+y² ½ Ⅷ ٣٤ ௧௨", "e\u0301te\u0301 n\u0303an\u0303a",
    "👍🏽👍 ok👍ok", "感知机 学习 パーセプトロン", "İstanbul İİ iİ", "Straße ßß ẞẞ", "nul\0nul \0\0 a\0", "ab" * 99_999,
    "no\u00a0break\u00a0\u00a0space", "zero\u200dwidth\u200bjoiner \u200d", "ΟΔΥΣΣΕΥΣ ΣΣ Σ αΣ. ΑΣ'", "ȺȺȺ Ⱦⱥ K KK Å",
    "tab\t\ttab \n\r\n line\u2028\u2029sep\x1c\x1d\x1e\x1f\x85", "ends in a", "ends in ab", " ", "\n", "ＦＵＬＬ width",
    "𐐀𐐁 𝔘𝔫𝔦 \U0001e900\U0001e901", "don't can't I'm a-b c_d", "ǅ ǅǅ ŉŉ ﬁﬁ ΐΐ", "\U0010ffff\U0010fffd \ufeffbom",
]  # fmt: skip
OPTIONS = [
    {}, {"binary": True}, {"norm": None}, {"alternate_sign": False}, {"lowercase": False, "norm": None},
    {"ngram_range": (1, 3)}, {"ngram_range": (2, 2), "n_features": 10}, {"n_features": 1, "norm": None},
    {"n_features": 1000, "dtype": np.float32}, {"n_features": 2**31 - 1},
    {"analyzer": "char", "ngram_range": (1, 4)}, {"analyzer": "char", "ngram_range": (3, 3), "n_features": 77},
    {"analyzer": "char", "lowercase": False, "binary": True, "norm": None},
]  # fmt: skip
TEXT = st.text(
    st.one_of(st.sampled_from("aAbB _1.\n\t\u00a0ΣİßéÉȺ感👍"), st.characters(exclude_categories=["Cs"])), max_size=60
)


def same(ours, theirs):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.indices.dtype == np.int32
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_array_equal(ours.data, theirs.data)


def regular(text, lowercase=True):
    return re.findall(r"(?u)\b\w\w+\b", text.lower() if lowercase else text)


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_tables_are_those_of_python(lowercase):
    _, small, kinds = tables(lowercase)
    points = [chr(point) for point in range(POINTS)]
    word, white = re.compile(r"\w"), re.compile(r"\s")
    assert all((kinds[i] == WORD) == (word.match(c) is not None) for i, c in enumerate(points))
    assert all((kinds[i] == WHITE) == (white.match(c) is not None) for i, c in enumerate(points))
    lowered = [c.lower() if lowercase and c.encode("utf-8", "surrogatepass") not in CONTEXTUAL else c for c in points]
    assert all(chr(small[i]) == lowered[i] for i in range(CASED) if points[i] != "Σ" and points[i] != "İ")
    assert lowered[CASED:] == points[CASED:]
    for c, low in zip(points, lowered, strict=True):
        if low != c:
            assert low.lower() == low
            assert len(low.encode()) <= room(len(c.encode())) - 80


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_hard_documents_have_the_same_words(text):
    assert tokens(text) == tokens(text.encode()) == regular(text)
    assert tokens(text, lowercase=False) == regular(text, lowercase=False)
    assert tokens(text, "char") == list(re.sub(r"\s\s+", " ", text.lower()))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(text=TEXT)
def test_any_document_has_the_same_words(text):
    assert tokens(text) == regular(text)
    assert tokens(text, "char") == list(re.sub(r"\s\s+", " ", text.lower()))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents=st.lists(st.text(st.sampled_from("aaaaaaaBZ_09@[`{/: \n"), max_size=300), min_size=1, max_size=5))
def test_words_across_the_blocks_that_are_read_at_once(documents):
    assert [tokens(text) for text in documents] == [regular(text) for text in documents]
    options = {"norm": None, "ngram_range": (1, 2)}
    same(TextHasher(**options).transform(documents), HashingVectorizer(**options).transform(documents))


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129])
def test_words_that_end_with_a_block(length):
    for text in ("A" * length, " " + "B" * length, "c" * length + " ", "d" * length + " e", "é" + "f" * length):
        assert tokens(text) == regular(text)
        assert tokens(text, lowercase=False) == regular(text, lowercase=False)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_hard_documents_as_scikit_learn_hashes_them(options):
    same(TextHasher(**options).transform(HARD), HashingVectorizer(**options).transform(HARD))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(documents=st.lists(TEXT, min_size=1, max_size=6), options=st.sampled_from(OPTIONS))
def test_any_documents_as_scikit_learn_hashes_them(documents, options):
    same(TextHasher(**options).transform(documents), HashingVectorizer(**options).transform(documents))


@pytest.fixture(scope="module")
def newsgroups():
    path = Path(os.environ.get("LINSEP_DATA", "")) / "20newsgroups" / "train.txt.gz"
    if "LINSEP_DATA" not in os.environ or not path.exists():
        pytest.skip("set LINSEP_DATA to a folder with 20newsgroups/train.txt.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.split("\t", 1)[1].replace("\\n", "\n").replace("\\t", "\t") for line in file][:3000]


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char", "ngram_range": (3, 4)}], ids=str)
def test_real_documents_as_scikit_learn_hashes_them(newsgroups, options):
    documents = newsgroups if options == {} else newsgroups[:300]
    same(TextHasher(n_jobs=2, **options).transform(documents), HashingVectorizer(**options).transform(documents))


def test_threads_and_chunks_change_nothing(monkeypatch):
    documents = [f"{a} {b}" for a in HARD for b in HARD if len(a) + len(b) < 1000]
    for options in ({}, {"keep_names": True, "ngram_range": (1, 2)}):
        one = TextHasher(**options)
        X = one.transform(iter(documents))
        assert X.shape[0] == len(documents)
        monkeypatch.setattr("linsep.data.text.CHUNK_BYTES", 100)
        many = TextHasher(n_jobs=3, **options)
        same(many.transform([text.encode() for text in documents]), X)
        monkeypatch.undo()
        if options:
            assert [one.names_of(k) for k in X.indices] == [many.names_of(k) for k in X.indices]


SCRAPS = st.sampled_from(
    [
        b"ab ", b"\xc3\xa9", b"\xc3", b"\xa9", b"\xe2\x82\xac", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x91\x8d",
        b"\xf0\x9f", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xff", b"\xce\xa3",
    ]
)  # fmt: skip


@settings(max_examples=500, deadline=None, derandomize=True)
@given(data=st.one_of(st.binary(max_size=12), st.lists(SCRAPS, max_size=5).map(b"".join)), chars=st.booleans())
def test_what_is_not_utf8_is_found_where_python_finds_it(data, chars):
    try:
        data.decode()
        place = -1
    except UnicodeDecodeError as error:
        place = error.start
    text = np.frombuffer(b"ok " + data + b"\xa9 ok", np.uint8)
    rows = hash_text(text, np.array([0, 3, len(data) + 4]), np.array([2, 3 + len(data), len(text)]), Grams(chars))
    assert rows.faults.tolist() == [-1, place, -1]
    if place >= 0:
        assert rows.indptr[1] == rows.indptr[2]
        with pytest.raises(ValueError, match=f"^document 1: byte {place + 1}, .* is not UTF-8"):
            TextHasher(analyzer="char" if chars else "word").transform(["ok", data])
        with pytest.raises(ValueError, match=f"^byte {place + 1}, "):
            tokens(data)


def test_rows_with_more_entries_than_expected_find_room():
    text = " ".join(f"{k:02x}" for k in range(256))
    options = {"ngram_range": (1, 6), "norm": None}
    documents = ["a b", text, "", text.swapcase(), "ab"]
    same(TextHasher(**options).transform(documents), HashingVectorizer(**options).transform(documents))


def test_squares_of_large_counts_are_rounded_as_scikit_learn_rounds_them():
    options = {"dtype": np.float32}
    documents = [" ".join(["aa"] * 5001 + ["bb"] * 4999 + ["cc"] * 777)]
    same(TextHasher(**options).transform(documents), HashingVectorizer(**options).transform(documents))


def test_names_are_kept_and_collisions_counted():
    words = [f"word{k}" for k in range(5000)]
    hasher = TextHasher(n_features=512, keep_names=True, ngram_range=(1, 2))
    hasher.transform([" ".join(words[:3000])])
    hasher.transform([" ".join(words), "Σίσυφος ok", ""])
    grams = [*words, *(f"{a} {b}" for a, b in pairwise(words)), "σίσυφος", "ok", "σίσυφος ok"]
    signed = [h - (h >> 31 << 32) for h in map(hashed, grams)]
    columns = [abs(h) % 512 for h in signed]
    for column in range(512):
        assert sorted(hasher.names_of(column)) == sorted(g for g, c in zip(grams, columns, strict=True) if c == column)
    assert hasher.collisions_ == sum(columns.count(column) > 1 for column in range(512))
    copy = pickle.loads(pickle.dumps(hasher))
    assert copy.names_of(7) == hasher.names_of(7)
    assert hasher.fit().names_of(7) == []
    with pytest.raises(AttributeError, match="keep_names=True"):
        TextHasher().names_of(0)


def test_in_a_pipeline():
    documents, y = ["good fine", "bad awful", "fine day", "awful day"] * 5, [1, 0, 1, 0] * 5
    model = clone(make_pipeline(TextHasher(n_features=2**10), Perceptron())).fit(documents, y)
    assert model.score(documents, y) == 1
    assert TextHasher().transform([]).shape == (0, 2**20)


@pytest.mark.parametrize(
    ("options", "documents", "message"),
    [
        ({"n_features": 0}, ["a"], "n_features=0"),
        ({"n_features": 1e6}, ["a"], "n_features=1000000.0"),
        ({"n_features": 2**31}, ["a"], "n_features=2147483648"),
        ({"ngram_range": (2, 1)}, ["a"], r"ngram_range=\(2, 1\)"),
        ({"analyzer": "char_wb"}, ["a"], "analyzer='char_wb'"),
        ({"norm": "l1"}, ["a"], "norm='l1'"),
        ({"dtype": np.int32}, ["a"], "dtype="),
        ({}, "one document", "give a list of documents"),
        ({}, ["fine", 3], "document 1 is of type int"),
        ({}, ["fine", "a\ud800"], r"document 1: character 2, '\\ud800'"),
    ],
)
def test_what_is_not_possible_is_refused(options, documents, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TextHasher(**options).transform(documents)


def test_few_kernels_are_compiled():
    text = np.frombuffer(bytearray(b"a writable text"), np.uint8)
    for dtype in (np.float32, np.float64):
        hash_text(text, np.array([0]), np.array([15]), Grams(), dtype)
    assert [chunk.first for chunk in chunks(["ab", b"cd", "ef"], 3)] == [0, 2]
    assert len(_hash.signatures) <= 2
    assert len(_see.signatures) <= 1
