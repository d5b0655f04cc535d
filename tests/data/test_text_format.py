"""`label<TAB>text` through read and stream: what scikit-learn's vectorizers give for the same documents."""

import io
import json
from copy import deepcopy

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer

import linsep
from linsep.data.errors import DataError
from linsep.data.text.format import LabelledText

DOCUMENTS = [
    "Free money, free!", "lunch at noon?", "noon is fine", "MONEY for nothing", "x", "Straße café naïve café",
    *(f"word{k % 17} word{k % 5} noon" for k in range(60)),
]  # fmt: skip
LABELS = ["spam", "ham", "ham", "spam", "ham", "été", *(("spam", "ham")[k % 2] for k in range(60))]
TEXT = "".join(f"{label}\t{document}\n" for label, document in zip(LABELS, DOCUMENTS, strict=True)).encode()
SMALL = {"block_bytes": 200}


class Once(io.BytesIO):
    """Bytes that can be read only once, as those of a pipe."""

    def seekable(self):
        return False


def from_text(text, **options):
    return linsep.read(io.BytesIO(text), **options)


def by_name(data, names):
    """Return a dense matrix with the columns in the order of these names."""
    order = {name: column for column, name in enumerate(data.feature_names)}
    return data.X.toarray()[:, [order[name] for name in names]]


def test_hashed_text_is_found_by_itself():
    data = from_text(TEXT, n_features=64, **SMALL)
    assert data.y.tolist() == LABELS
    assert data.label_names == ["ham", "spam", "été"]
    assert np.array_equal(data.X.toarray(), HashingVectorizer(n_features=64).transform(DOCUMENTS).toarray())


@pytest.mark.parametrize("how", [{}, {"binary": True}, {"norm": None}, {"ngram_range": (1, 2)}, {"analyzer": "char"}])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_vocabulary(how, jobs):
    data = from_text(TEXT, vocabulary=True, n_jobs=jobs, **how, **SMALL)
    theirs = TfidfVectorizer(use_idf=False, **how)
    expected = theirs.fit_transform(DOCUMENTS).toarray()
    names = theirs.get_feature_names_out()
    assert len(data.feature_names) == len(names)
    np.testing.assert_allclose(by_name(data, names), expected, rtol=1e-14)
    assert data.feature_names[0] == ("f" if how.get("analyzer") else "free")


@pytest.mark.parametrize("vocabulary", [False, True])
def test_idf(vocabulary):
    options = {"vocabulary": True} if vocabulary else {"n_features": 64}
    data = from_text(TEXT, idf=True, **options, **SMALL)
    if vocabulary:
        theirs = TfidfVectorizer()
        np.testing.assert_allclose(
            by_name(data, theirs.fit(DOCUMENTS).get_feature_names_out()),
            theirs.transform(DOCUMENTS).toarray(),
            rtol=1e-12,
        )
    else:
        counts = HashingVectorizer(n_features=64, norm=None).transform(DOCUMENTS)
        np.testing.assert_allclose(data.X.toarray(), TfidfTransformer().fit_transform(counts).toarray(), rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"n_features": 64}, {"vocabulary": True}, {"vocabulary": True, "idf": True}, {"idf": True, "n_features": 64},
        {"keep_names": True, "n_features": 64},
    ],
)  # fmt: skip
def test_a_stream_gives_the_same_rows(tmp_path, options):
    path = tmp_path / "mail.txt"
    path.write_bytes(TEXT)
    whole = linsep.read(path, **options)
    for cache in (False, tmp_path / "kept", tmp_path / "kept"):
        source = linsep.stream(path, block_rows=7, cache=cache, **options, **SMALL)
        for _ in range(3):
            blocks = list(source)
            assert np.array_equal(np.vstack([X.toarray() for X, _ in blocks]), whole.X.toarray())
            assert np.concatenate([y for _, y in blocks]).tolist() == LABELS
            if "n_features" not in options or "keep_names" in options:
                assert list(blocks[-1].feature_names) == list(whole.feature_names)


def test_names_are_kept_in_spite_of_hashing():
    kept = from_text(TEXT, n_features=32, keep_names=True, **SMALL)
    plain = from_text(TEXT, n_features=32)
    np.testing.assert_allclose(kept.X.toarray(), plain.X.toarray(), rtol=1e-14)
    hasher = linsep.TextHasher(n_features=32, keep_names=True)
    hasher.transform(DOCUMENTS)
    for column in range(32):
        assert kept.feature_names[column] == (" / ".join(hasher.names_of(column)) or f"#{column}")
    assert kept.feature_names.collisions == hasher.collisions_ > 0


def test_text_like_other_text():
    train = from_text(TEXT, vocabulary=True, idf=True)
    test = from_text(b"ham\tfree lunch tomorrow, free\n", like=train)
    theirs = TfidfVectorizer().fit(DOCUMENTS)
    expected = theirs.transform(["free lunch tomorrow, free"]).toarray()
    np.testing.assert_allclose(by_name(test, theirs.get_feature_names_out()), expected, rtol=1e-12)
    assert test.unseen == 1
    assert from_text(b"ham\ttomorrow never comes\n", like=train).unseen == 3
    with pytest.raises(DataError, match="line 1: the row has a feature"):
        from_text(b"ham\tfree lunch tomorrow\n", like=train, strict=True)
    hashed = from_text(TEXT, n_features=2**20)
    assert from_text(b"ham\tfree lunch tomorrow\n", like=hashed).unseen == 1


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("how", ["hashed", "keep_names", "vocabulary"])
def test_text_like_other_text_from_a_pipe(how, idf):
    train = from_text(TEXT, format="text", idf=idf, **({how: True} if how != "hashed" else {}))
    later = b"ham\tfree lunch tomorrow, free\nspam\tnever before\n"
    ours, theirs = linsep.read(Once(later), like=train), from_text(later, like=train)
    assert ours.X.shape == (2, train.X.shape[1])
    assert (ours.X != theirs.X).nnz == 0
    assert ours.X.nnz == 2
    (block,) = linsep.stream(Once(later), like=train)
    assert (block.X != theirs.X).nnz == 0
    assert block.X.shape == theirs.X.shape


def test_a_pipe_like_a_pipe():
    train = linsep.read(Once(TEXT), vocabulary=True)
    test = linsep.read(Once(b"ham\tbefore noon\n"), like=train)
    assert test.X.shape == (1, train.X.shape[1])
    assert [test.feature_names[column] for column in test.X.indices] == ["noon"]


@pytest.mark.parametrize("norm", ["l2", None])
@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_like_those_of_other_text_do_not_depend_on_names(idf, norm, dtype):
    rows = ["cheap pills now", "meet noon", "cheap noon"]
    text = "".join(f"x\t{row}\n" for row in rows).encode()
    later = ["cheap thing", "cheap thing now now", "nothing known"]
    theirs = TfidfVectorizer(use_idf=idf, norm=norm, dtype=dtype).fit(rows)
    expected = theirs.transform(later).toarray()
    words = "".join(f"x\t{word}\n" for word in theirs.get_feature_names_out()).encode()
    for how in ({}, {"keep_names": True}, {"vocabulary": True}):
        train = from_text(text, idf=idf, norm=norm, dtype=dtype, alternate_sign=False, **how)
        test = from_text("".join(f"x\t{row}\n" for row in later).encode(), like=train, dtype=dtype)
        columns = from_text(words, like=train).X.indices
        np.testing.assert_allclose(test.X.toarray()[:, columns], expected, rtol=1e-6)
        assert (test.X.nnz, test.unseen, test.X.dtype) == (3, 4, dtype)


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"binary": True}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hashed_text_like_itself_is_itself(options, dtype):
    train = from_text(TEXT, n_features=32, dtype=dtype, **options)
    again = from_text(TEXT, like=train, dtype=dtype)
    assert np.array_equal(again.X.toarray(), train.X.toarray())
    assert again.unseen == 0


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_names_that_are_kept_do_not_change_binary_values(signed, idf):
    options = {"n_features": 8, "binary": True, "alternate_sign": signed, "idf": idf}
    kept, plain = (from_text(TEXT, keep_names=names, **options) for names in (True, False))
    assert np.array_equal(kept.X.toarray(), plain.X.toarray())


def test_names_are_those_of_the_data_that_were_learned_from():
    train = from_text(TEXT, n_features=64, keep_names=True)
    names = list(train.feature_names)
    assert list(from_text(b"ham\tunheard of\n", like=train).feature_names) == names


@pytest.mark.parametrize("idf", [False, True])
def test_text_that_changes_between_epochs(tmp_path, idf):
    path = tmp_path / "mail.txt"
    path.write_bytes(b"ham\tlunch noon\n")
    source = linsep.stream(path, vocabulary=True, idf=idf, cache=False)
    assert [block.X.shape for block in source] == [(1, 2)]
    path.write_bytes(b"ham\tnoon lunch\nham\tlunch is on me\n")
    with pytest.raises(DataError, match="line 2: the row has a new name: the data have changed"):
        list(source)
    assert list(source.feature_names) == ["lunch", "noon"]
    skipping = linsep.stream(path, vocabulary=True, idf=idf, cache=False, on_error="skip")
    assert [block.X.shape for block in skipping] == [(2, 5)]
    path.write_bytes(b"ham\tnoon lunch\nham\tnews\n")
    assert [(block.X.shape, block.rejected) for block in skipping] == [((1, 5), 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"n_features": 64}, {"vocabulary": True}, {"vocabulary": True, "idf": True}, {"keep_names": True}]
)
def test_the_state_is_json(options):
    train = from_text(TEXT, **options)
    again = LabelledText.restored(json.loads(json.dumps(train.form.state())))
    ours, theirs = (from_text(TEXT, like=like) for like in (train, type(train)(train.X, train.y, form=again)))
    assert np.array_equal(ours.X.toarray(), theirs.X.toarray())
    assert ours.X.shape == train.X.shape
    assert again.state() == train.form.state()


@pytest.mark.parametrize("options", [{"n_features": 64, "keep_names": True}, {"vocabulary": True, "idf": True}])
def test_a_copy_of_a_form_stands_alone(options):
    form = from_text(TEXT, **options).form
    before, copy = form.state(), deepcopy(form)
    copy.looked = False
    copy.take(copy.parse(np.frombuffer(b"ham\ta name anew\n", np.uint8), np.float64))
    assert form.state() == before != copy.state()


def test_a_vocabulary_that_grows():
    learner, widths = linsep.Perceptron(), []
    for X, y in linsep.stream(Once(TEXT), vocabulary=True, block_rows=3, **SMALL):
        learner.grow(X.shape[1]).partial_fit(X, y)
        widths.append(X.shape[1])
    assert widths[0] < widths[-1] == len(CountVectorizer().fit(DOCUMENTS).vocabulary_)
    with pytest.raises(ValueError, match="idf=True takes two passes"):
        linsep.stream(Once(TEXT), idf=True)


def test_a_vocabulary_grows_by_the_rows_of_blocks():
    blocks = list(linsep.stream(Once(b"a\tone two\nb\ttwo\na\tthree\n"), vocabulary=True, block_rows=1))
    assert [block.X.shape[1] for block in blocks] == [2, 2, 3]


def test_options_that_do_not_go_together():
    with pytest.raises(ValueError, match="leave out n_features and keep_names"):
        from_text(TEXT, vocabulary=True, n_features=5)
    with pytest.raises(ValueError, match="keep_names='no': it is True or False"):
        LabelledText(keep_names="no")
    for bad in ({"ngram_range": (2, 1)}, {"analyzer": "line"}, {"norm": "l1"}):
        with pytest.raises(ValueError, match="is not possible"):
            from_text(TEXT, **bad)


def test_rows_at_fault():
    text = TEXT + b"no tab here\nham\t\xff\n"
    with pytest.raises(
        DataError,
        match=r"line 67, column 1: 'no tab here' has no TAB: a row is label<TAB>text; format= names another format",
    ):
        from_text(text, **SMALL)
    data = from_text(text, on_error="skip", **SMALL)
    assert (len(data), data.rejected) == (66, 2)
