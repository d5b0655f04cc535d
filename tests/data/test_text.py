"""Text to features: scikit-learn's vectorizers and Python's own `re` and `str.lower` are the references."""

import copy
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
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline

from linsep.data.compiled.names import hash_of
from linsep.data.compiled.text import (
    CASED,
    CONTEXTUAL,
    POINTS,
    WHITE,
    WORD,
    hash_documents,
    list_grams,
    room,
    tables,
)
from linsep.data.text.ngrams import Grams, hash_text, tokens
from linsep.data.text.transformers import TextCounter, TextHasher, chunks
from linsep.engine.tiers import compiling

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


def same(ours, theirs, rtol=0):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.indices.dtype == np.int32
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=rtol, atol=0)


def regular(text, lowercase=True):
    return re.findall(r"(?u)\b\w\w+\b", text.lower() if lowercase else text)


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_tables_are_those_of_python(lowercase):
    _, small, kinds = tables(lowercase)
    points = [chr(point) for point in range(POINTS)]
    for kind, pattern in ((WORD, r"\w"), (WHITE, r"\s")):
        found = [match.start() for match in re.finditer(pattern, "".join(points))]
        assert np.flatnonzero(kinds[:POINTS] == kind).tolist() == found
    contextual = {letter.decode("utf-8", "surrogatepass") for letter in CONTEXTUAL}
    lowered = [c.lower() if lowercase and c not in contextual else c for c in points]
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


@settings(max_examples=300)
@given(text=TEXT)
def test_any_document_has_the_same_words(text):
    assert tokens(text) == regular(text)
    assert tokens(text, "char") == list(re.sub(r"\s\s+", " ", text.lower()))


@settings(max_examples=200)
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


@settings(max_examples=150)
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
        monkeypatch.setattr("linsep.data.text.transformers.CHUNK_BYTES", 100)
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


@pytest.mark.slow
@settings(max_examples=500)
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
    signed = [h - (h >> 31 << 32) for h in map(hash_of, grams)]
    columns = [abs(h) % 512 for h in signed]
    for column in range(512):
        assert sorted(hasher.names_of(column)) == sorted(g for g, c in zip(grams, columns, strict=True) if c == column)
    assert hasher.collisions_ == sum(columns.count(column) > 1 for column in range(512))
    copy = pickle.loads(pickle.dumps(hasher))
    assert copy.names_of(7) == hasher.names_of(7)
    assert hasher.fit().names_of(7) == []
    with pytest.raises(AttributeError, match="keep_names=True"):
        TextHasher().names_of(0)


IDF = [
    {}, {"binary": True}, {"norm": None}, {"ngram_range": (1, 2), "n_features": 50}, {"dtype": np.float32},
    {"analyzer": "char", "ngram_range": (2, 3)}, {"alternate_sign": False, "n_features": 7},
]  # fmt: skip


def weighed(options, fitted, documents):
    """What scikit-learn makes of documents: hashed, then multiplied by the idf of others, then unit rows."""
    hasher = HashingVectorizer(**{**options, "norm": None})
    return (
        TfidfTransformer(norm=options.get("norm", "l2"))
        .fit(hasher.transform(fitted))
        .transform(hasher.transform(documents))
    )


@pytest.mark.parametrize("options", IDF, ids=str)
def test_rare_columns_weigh_more_as_in_scikit_learn(options):
    fitted = [text for text in HARD if len(text) < 1000] * 2 + ["ok ok and", "and no"]
    documents = [*HARD[:-2], "ok and no never seen"]
    hasher = TextHasher(idf=True, **options).fit(fitted)
    same(hasher.transform(documents), weighed(options, fitted, documents), rtol=1e-6 if "dtype" in options else 1e-14)
    seen = HashingVectorizer(**{**options, "norm": None}).transform(fitted)
    np.testing.assert_allclose(hasher.idf_, TfidfTransformer().fit(seen).idf_, rtol=1e-6)


def test_documents_may_be_counted_part_by_part(monkeypatch):
    documents = [text for text in HARD if len(text) < 1000]
    whole = TextHasher(idf=True).fit(documents)
    parts = TextHasher(idf=True, n_jobs=2).partial_fit(documents[:7]).partial_fit([]).partial_fit(documents[7:])
    monkeypatch.setattr("linsep.data.text.transformers.CHUNK_BYTES", 50)
    small = TextHasher(idf=True, n_jobs=2).fit(iter(documents))
    X = whole.transform(HARD)
    for hasher in (parts, small, pickle.loads(pickle.dumps(whole))):
        same(hasher.transform(HARD), X)
    with pytest.raises(ValueError, match="document 3: byte 1"):
        whole.partial_fit([*documents[:3], b"\xff"])
    same(whole.transform(HARD), X)


def test_weights_need_documents():
    for transformer in (TextHasher(idf=True), TextHasher(idf=True).fit([]), TextCounter(idf=True, vocabulary=["ab"])):
        with pytest.raises(NotFittedError, match="fit documents first"):
            transformer.transform(["ab"])
        with pytest.raises(NotFittedError, match="fit documents first"):
            _ = transformer.idf_
    with pytest.raises(ValueError, match="X is None"):
        TextHasher(idf=True).fit()
    for transformer in (TextHasher(), TextCounter().fit(["ab"])):
        with pytest.raises(AttributeError, match="idf=True"):
            _ = transformer.idf_
    assert TextHasher().fit().partial_fit().transform(["ab"]).nnz == 1
    with pytest.raises(NotFittedError, match="no vocabulary yet"):
        TextCounter().transform(["ab"])


COUNTED = [
    {}, {"binary": True, "norm": None}, {"norm": None}, {"ngram_range": (1, 3)}, {"ngram_range": (2, 2)},
    {"analyzer": "char", "ngram_range": (1, 3)}, {"lowercase": False, "dtype": np.float32},
]  # fmt: skip


def same_but_for_order(counter, theirs, documents):
    """Compare with a fitted vectorizer of scikit-learn, whose columns are in another order."""
    names, ours, X = counter.get_feature_names_out(), counter.transform(documents), theirs.transform(documents)
    assert sorted(names) == sorted(theirs.get_feature_names_out())
    assert ours.shape == X.shape
    assert ours.dtype == X.dtype
    assert ours.has_sorted_indices
    assert ours.nnz == X.nnz
    assert all((np.diff(ours.indices[i:k]) > 0).all() for i, k in pairwise(ours.indptr))
    reordered = X[:, [theirs.vocabulary_[name] for name in names]]
    reordered.sort_indices()
    np.testing.assert_array_equal(ours.indices, reordered.indices)
    np.testing.assert_allclose(ours.data, reordered.data, rtol=1e-6 if ours.dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("options", COUNTED, ids=str)
def test_hard_documents_as_scikit_learn_counts_them(options, idf):
    theirs = TfidfVectorizer(use_idf=idf, **options).fit(HARD[:-5])
    same_but_for_order(TextCounter(idf=idf, **options).fit(HARD[:-5]), theirs, HARD)


@settings(max_examples=80)
@given(
    fitted=st.lists(TEXT, max_size=5), documents=st.lists(TEXT, min_size=1, max_size=5),
    options=st.sampled_from(COUNTED), idf=st.booleans(),
)  # fmt: skip
def test_any_documents_as_scikit_learn_counts_them(fitted, documents, options, idf):
    fitted = [*fitted, "ab cd ef"]
    theirs = TfidfVectorizer(use_idf=idf, **options).fit(fitted)
    counter = TextCounter(idf=idf, **options).fit(fitted)
    same_but_for_order(counter, theirs, documents)
    analyse = theirs.build_analyzer()
    seen = [gram for text in fitted for gram in analyse(text)]
    assert counter.get_feature_names_out().tolist() == list(dict.fromkeys(seen))
    assert counter.unseen_ == sum(gram not in theirs.vocabulary_ for text in documents for gram in analyse(text))


def test_real_documents_as_scikit_learn_counts_them(newsgroups):
    counter = TextCounter(idf=True, n_jobs=2).fit(newsgroups[:1000])
    same_but_for_order(counter, TfidfVectorizer().fit(newsgroups[:1000]), newsgroups[1000:1500])


def test_a_vocabulary_grows_part_by_part_the_same_with_any_threads(monkeypatch):
    documents = [f"{a} {b}" for a in HARD for b in HARD if len(a) + len(b) < 1000]
    options = {"ngram_range": (1, 2), "idf": True}
    whole = TextCounter(**options).fit(documents)
    X = whole.transform(documents)
    assert whole.unseen_ == 0
    monkeypatch.setattr("linsep.data.text.transformers.CHUNK_BYTES", 100)
    many = TextCounter(n_jobs=3, **options).fit(iter(documents))
    parts = TextCounter(n_jobs=2, **options)
    for i in range(0, len(documents), 200):
        parts.partial_fit(documents[i : i + 200])
    for counter in (many, parts, pickle.loads(pickle.dumps(parts)), clone(many).fit(documents)):
        assert counter.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
        same(counter.transform(documents), X)
    names = parts.get_feature_names_out().tolist()
    with pytest.raises(ValueError, match="document 1: byte 1"):
        parts.partial_fit(["new names", b"\xff"])
    assert parts.get_feature_names_out().tolist() == names
    same(parts.transform(documents), X)


def test_a_vocabulary_that_is_given():
    words = ["rose", "red", "is it", "never"]
    options = {"vocabulary": words, "ngram_range": (1, 2)}
    documents = ["A rose is a rose is red", "is it? is it", ""]
    counter = TextCounter(norm=None, dtype=np.float64, **options)
    theirs = CountVectorizer(dtype=np.float64, **options)
    for _ in range(2):
        same(counter.transform(documents), theirs.transform(documents))
        counter.fit(documents)
    assert counter.unseen_ == 11
    assert counter.get_feature_names_out().tolist() == words
    same_but_for_order(
        TextCounter(idf=True, **options).fit(documents), TfidfVectorizer(**options).fit(documents), words
    )
    assert counter.partial_fit(["new words"]).transform(["new rose"]).toarray().tolist() == [[1, 0, 0, 0]]
    for wrong, message in ((["a", "b", "a"], "name 2, 'a', is the same as name 0"), ("rose", "is one word")):
        with pytest.raises(ValueError, match=message):
            TextCounter(vocabulary=wrong).transform(documents)


def test_in_a_pipeline():
    documents, y = ["good fine", "bad awful", "fine day", "awful day"] * 5, [1, 0, 1, 0] * 5
    model = clone(make_pipeline(TextHasher(n_features=2**10), Perceptron())).fit(documents, y)
    assert model.score(documents, y) == 1
    assert make_pipeline(TextCounter(idf=True), Perceptron()).fit(documents, y).score(documents, y) == 1
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
    with compiling("always"):
        for dtype in (np.float32, np.float64):
            hash_text(text, np.array([0]), np.array([15]), Grams(), dtype)
    assert [chunk.first for chunk in chunks(["ab", b"cd", "ef"], 3)] == [0, 2]
    assert len(hash_documents.compiled.signatures) == 2
    assert len(list_grams.compiled.signatures) <= 1


@pytest.mark.parametrize("make", [lambda: TextCounter(idf=True), lambda: TextHasher(64, idf=True, keep_names=True)])
def test_a_shallow_copy_learns_for_itself(make):
    first = make().partial_fit(["a rose is", "a b"])
    before = first.transform(["a rose b"]).toarray()
    known = pickle.dumps([getattr(first, name, None) for name in sorted(first._facts)])
    second = copy.copy(first).partial_fit(["a rose", "some other words"])
    second.transform(["new words"])
    assert pickle.dumps([getattr(first, name, None) for name in sorted(first._facts)]) == known
    assert first.transform(["a rose b"]).toarray().tolist() == before.tolist()
