"""Vowpal Wabbit text as a format: hashed, with a vocabulary, with names that are kept; read like other data."""

import io
import json
from copy import deepcopy
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import linsep
from linsep.data.errors import DataError
from linsep.data.vw import Vw, column_of


def from_text(text, **options):
    format = None if "like" in options else "vw"
    return linsep.read(io.BytesIO(text.encode()), format=format, **options)


def blocks_of(text, once=False, **options):
    handle = io.BytesIO(text.encode())
    if once:
        handle.seekable = lambda: False
    return linsep.stream(handle, format="vw", **options)


def rows_of(data):
    """Return the rows as dictionaries from names to values."""
    assert data.X.has_canonical_format
    rows = [data.X.indices[i:k] for i, k in pairwise(data.X.indptr)]
    values = iter(data.X.data.tolist())
    return [{data.feature_names[j]: next(values) for j in row.tolist()} for row in rows]


TEXT = "1 2 'one |a x:0.5 y |b x\n-1 |a x y:2 x:3\n'two | z:4\n"
ROWS = [{"a^x": 0.5, "a^y": 1, "b^x": 1}, {"a^x": 4, "a^y": 2}, {"z": 4}]


def test_hashed():
    data = from_text(TEXT)
    assert data.X.shape == (3, 2**18)
    np.testing.assert_array_equal(data.y, [1, -1, np.nan])
    assert data.weights.tolist() == [2, 1, 1]
    assert data.feature_names is None
    assert data.X[0, column_of("x", "b")] == 1
    assert data.X[1, column_of("x", "a")] == 4
    assert from_text(TEXT, n_features=2).X.toarray().sum(axis=1).tolist() == [2.5, 6, 4]
    assert from_text("1 |a x\n").weights is None
    assert from_text("1 |a x\n").y.dtype == np.int64


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block_bytes", [1, 30, 1 << 20])
@pytest.mark.parametrize("how", ["vocabulary", "keep_names"])
def test_names(how, block_bytes, n_jobs):
    data = from_text(TEXT, **{how: True}, block_bytes=block_bytes, n_jobs=n_jobs)
    assert rows_of(data) == ROWS
    if how == "vocabulary":
        assert list(data.feature_names) == ["a^x", "a^y", "b^x", "z"]
        assert data.X.shape == (3, 4)


def test_names_of_hashed_columns_are_sequences():
    names = from_text(TEXT, keep_names=True).feature_names
    assert len(names) == 2**18
    assert names[column_of("z")] == names[column_of("z") - 2**18] == "z"
    assert names[:2] == ["#0", "#1"]
    assert names.collisions == 0
    with pytest.raises(IndexError, match="there is no column 262,144: there are 262,144"):
        names[2**18]
    few = from_text(TEXT, keep_names=True, n_features=2).feature_names
    assert sorted(" / ".join(few).split(" / ")) == ["a^x", "a^y", "b^x", "z"]
    assert few.collisions == sum(" / " in name for name in few) > 0


def test_every_name_is_where_its_column_is():
    text = "".join(f"1 |n{k % 7} w{k % 997} {k}\n" for k in range(3000))
    names = from_text(text, keep_names=True, n_features=1024, block_bytes=500).feature_names
    expected = {}
    for k in range(3000):
        for feature in (f"w{k % 997}", f"{k}"):
            column = column_of(feature, f"n{k % 7}", 1024)
            expected.setdefault(column, {})[f"n{k % 7}^{feature}"] = None
    assert {j: names.of(j) for j in range(1024) if names.of(j)} == {j: list(found) for j, found in expected.items()}
    assert names.collisions == sum(len(found) > 1 for found in expected.values()) > 500


def test_options():
    for bad in (3, 2**18 - 1, 2**32):
        with pytest.raises(ValueError, match=rf"n_features={bad}: names are hashed to a power of two columns, 2\*\*31"):
            Vw(n_features=bad)
    for bad in (0, 1, -4, 2.0, "8", True):
        with pytest.raises(ValueError, match=r"n_features=.*: it is a whole number, 2 at least"):
            Vw(n_features=bad)
    for more in ({"n_features": 8}, {"keep_names": True}):
        with pytest.raises(ValueError, match="every name has a column: leave out n_features and keep_names"):
            Vw(vocabulary=True, **more)
    for name in ("vocabulary", "keep_names"):
        with pytest.raises(ValueError, match=f"{name}='no': it is True or False"):
            Vw(**{name: "no"})
    assert Vw(n_features=2**31).width == 2**31


@pytest.mark.parametrize("how", [{}, {"vocabulary": True}, {"keep_names": True}])
def test_a_stream_is_what_read_gives(how):
    whole = from_text(TEXT, **how)
    blocks = blocks_of(TEXT, block_rows=1, block_bytes=20, **how)
    for _ in range(2):
        parts = list(blocks)
        assert {part.X.shape for part in parts} == {(1, whole.X.shape[1])}
        assert np.array_equal(sp.vstack([part.X for part in parts]).toarray(), whole.X.toarray())
    if how:
        assert rows_of(parts[2]) == ROWS[2:]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_features_grow_where_a_source_is_read_only_once(block_bytes):
    parts = list(blocks_of(TEXT, once=True, vocabulary=True, block_rows=1, block_bytes=block_bytes))
    assert [part.X.shape[1] for part in parts] == [3, 3, 4]
    assert [row for part in parts for row in rows_of(part)] == ROWS
    assert [len(part.feature_names) for part in parts] == [3, 3, 4]


def test_names_of_malformed_rows_do_not_count():
    data = from_text("1 |a x\n1 |a new x:-bad\n1 |a y\n", vocabulary=True, on_error="skip")
    assert list(data.feature_names) == ["a^x", "a^y"]
    assert data.rejected == 1
    with pytest.raises(DataError, match="line 2, column 12: '-bad' is neither a finite number nor a word"):
        from_text("1 |a x\n1 |a new x:-bad\n")
    assert list(from_text("1 |a x:0 y\n", vocabulary=True).feature_names) == ["a^y"]


LATER = "1 |a y:7 x:2 new\n1 |b new:1 new2 new3:0 |c x\n1 | z\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["data set", "stream"])
@pytest.mark.parametrize("how", ["vocabulary", "keep_names"])
def test_read_like_other_data(how, kind):
    options = {how: True}
    train = from_text(TEXT, **options) if kind == "data set" else blocks_of(TEXT, block_rows=1, **options)
    assert len([row for block in ([train] if kind == "data set" else train) for row in rows_of(block)]) == 3
    names = list(train.form.feature_names)
    for block_bytes in (1, 1 << 20):
        test = from_text(LATER, like=train, block_bytes=block_bytes)
        assert rows_of(test) == [{"a^x": 2, "a^y": 7}, {}, {"z": 1}]
        assert test.unseen == 4
        assert list(test.feature_names) == names == list(train.form.feature_names)
    assert from_text(LATER, like=train, strict=True, on_error="skip").y.tolist() == [1]
    with pytest.raises(DataError, match="line 1: the row has a feature that the data it is read like did not have"):
        from_text(LATER, like=train, strict=True)


@pytest.mark.parametrize("how", [{}, {"vocabulary": True}, {"keep_names": True}])
def test_a_pipe_is_read_like_other_data(how):
    train = from_text(TEXT, **how)
    for later in (LATER, "1 |a x new\n"):
        expected = from_text(later, like=train)
        (test,) = blocks_of(later, once=True, like=train)
        assert test.X.shape == expected.X.shape == (later.count("\n"), train.X.shape[1])
        assert (test.X - expected.X).count_nonzero() == 0


def test_hashed_data_read_like_others():
    test = from_text(LATER, like=from_text(TEXT))
    assert test.unseen == 4
    assert test.X[0, column_of("y", "a")] == 7
    assert test.X.nnz == 3


def test_a_copy_of_a_form_stands_alone():
    form = from_text(TEXT, keep_names=True).form
    copy = deepcopy(form)
    copy.take(copy.parse(np.frombuffer(b"1 |new name\n", np.uint8), np.float64))
    column = column_of("name", "new")
    assert (form.feature_names[column], copy.feature_names[column]) == (f"#{column}", "new^name")


@pytest.mark.parametrize("how", [{}, {"vocabulary": True}, {"keep_names": True, "n_features": 4}])
def test_a_form_is_restored_from_its_state(how):
    form = from_text(TEXT, **how).form
    restored = Vw.restored(json.loads(json.dumps(form.state())))
    assert restored.state() == form.state()
    assert restored.width == form.width
    if how:
        assert list(restored.feature_names) == list(form.feature_names)
    text = np.frombuffer(b"1 |a y |b x\n", np.uint8)
    rows, again = (one.take(one.parse(text, np.float64))[0] for one in (form, restored))
    assert rows.indices.tolist() == again.indices.tolist()


@pytest.mark.parametrize("how", ["vocabulary", "keep_names"])
def test_rows_that_are_kept_have_their_names(how, tmp_path):
    (tmp_path / "rows.vw").write_text(TEXT)
    blocks = linsep.stream(tmp_path / "rows.vw", block_rows=2, cache=True, **{how: True})
    for _ in range(3):
        assert [row for block in blocks for row in rows_of(block)] == ROWS
    linsep.convert(tmp_path / "rows.vw", tmp_path / "rows.npz", **{how: True})
    like = linsep.read(tmp_path / "rows.npz")
    assert rows_of(from_text(LATER, like=like)) == [{"a^x": 2, "a^y": 7}, {}, {"z": 1}]


def test_data_that_changed_after_they_were_looked_at():
    form = Vw(vocabulary=True)
    before, after = (np.frombuffer(text, np.uint8) for text in (b"1 |a x\n1 |a y\n", b"1 |a y x\n1 |a z x\n"))
    form.take(form.parse(before, np.float64))
    assert form.settle() is None
    rows, wrong = form.take(form.parse(after, np.float64))
    assert list(wrong) == [1]
    assert "the row has a new name" in wrong[1][1]
    assert rows.indices[:2].tolist() == [0, 1]
    assert list(form.feature_names) == ["a^x", "a^y"]


def test_data_that_change_between_epochs(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 |a x\n1 |a y\n")
    blocks = linsep.stream(path, vocabulary=True, cache=False)
    assert [block.X.shape for block in blocks] == [(2, 2)]
    path.write_text("1 |a y x\n1 |a z x\n")
    with pytest.raises(DataError, match="line 2: the row has a new name: the data have changed"):
        list(blocks)
    assert list(blocks.feature_names) == ["a^x", "a^y"]


def test_no_rows():
    for how, width in (({}, 2**18), ({"vocabulary": True}, 0), ({"keep_names": True}, 2**18)):
        assert from_text("no bar\n", on_error="skip", **how).X.shape == (0, width)
        for load in (from_text, lambda text, **how: list(blocks_of(text, once=True, **how))):
            with pytest.raises(DataError, match="there are no rows"):
                load("\n", **how)


def test_names_that_are_not_utf_8():
    data = linsep.read(io.BytesIO(b"1 |a \xff:2\n"), format="vw", vocabulary=True)
    assert [name.encode("utf-8", "surrogateescape") for name in data.feature_names] == [b"a^\xff"]


some = st.sampled_from(["x", "y", "longer_name", "7", "07", "é"])
line = st.lists(st.tuples(st.sampled_from(["", "a", "b", "7"]), st.lists(some, max_size=4)), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=60)
@given(written=st.lists(line, min_size=1, max_size=8), size=st.integers(1, 100), n_jobs=st.sampled_from([1, 2]))
def test_any_names_in_any_blocks(written, size, n_jobs):
    text = "".join("1 " + "".join(f"|{space} {' '.join(names)} " for space, names in line) + "\n" for line in written)
    rows = []
    for line in written:
        rows.append({})
        for name in (f"{space}^{name}" if space else name for space, names in line for name in names):
            rows[-1][name] = rows[-1].get(name, 0) + 1
    data = from_text(text, vocabulary=True, block_bytes=size, n_jobs=n_jobs)
    assert rows_of(data) == rows
    assert list(data.feature_names) == list(dict.fromkeys(name for row in rows for name in row))


NAMED = "ham 2 'one |a x\nspam |a y\n"


def test_labels_may_be_words():
    data = from_text(NAMED, named_labels=True)
    assert data.y.tolist() == ["ham", "spam"]
    assert data.weights.tolist() == [2, 1]
    by_number = from_text("0 2 'one |a x\n1 |a y\n")
    assert (data.X != by_number.X).nnz == 0
    assert from_text("1 |a x\n2.5 |a x\n", named_labels=True).y.tolist() == ["1", "2.5"]
    assert [block.y.tolist() for block in blocks_of(NAMED, named_labels=True, block_rows=1)] == [["ham"], ["spam"]]
    assert linsep.read(io.BytesIO(b"spam |a z\n"), format="vw", like=data).y.tolist() == ["spam"]
    with pytest.raises(DataError, match="'ham' is not a label: it is a number, or missing"):
        from_text(NAMED)


@pytest.mark.parametrize("line", ["|a x", "'tag |a x", "ham|a x", " 'tag|a x"])
def test_a_row_without_a_word_as_label_is_malformed(line):
    text = f"{NAMED}{line}\n"
    with pytest.raises(DataError, match=r"line 3, column 1.*there is no label before the first"):
        from_text(text, named_labels=True)
    data = from_text(text, named_labels=True, on_error="skip")
    assert (data.y.tolist(), data.rejected) == (["ham", "spam"], 1)


def test_a_malformed_row_with_a_word_is_shown_as_written(tmp_path):
    kept = tmp_path / "rejected.vw"
    data = from_text(f"{NAMED}ham x |a x\n", named_labels=True, on_error="quarantine", quarantine=kept)
    assert (len(data.y), kept.read_bytes()) == (2, b"ham x |a x\n")
    with pytest.raises(DataError, match="'x' is not an importance"):
        from_text(f"{NAMED}ham x |a x\n", named_labels=True)
    with pytest.raises(DataError, match="is not a label"):
        linsep.read(io.BytesIO(b"ham\xff |a x\n"), format="vw", named_labels=True)
