"""What holds for every format: found by itself, read like other data, rows at fault with their place, options named."""

import gzip
import io
import json
import os
import re
import subprocess
import threading
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import linsep
from linsep.data.errors import DataError
from linsep.data.parts import PartReader, Plan
from linsep.data.registry import COMMON, FORMATS, STREAMS, NoOptionError, detected_format, format_class, options_of
from linsep.data.sources import Source
from linsep.data.tables.format import OF_TEXT
from linsep.validation.errors import ParameterError
from tests.docs.pages import ROOT
from tests.processes import forked


class Once(io.BytesIO):
    """A pipe: it can be read, not wound back."""

    def seekable(self):
        return False


def from_text(text, **options):
    return linsep.read(io.BytesIO(text), **options)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_outside_of_what_was_stated_go_the_way_of_the_policy(tmp_path, n_jobs):
    text = b"# head\n1 1:1\n\n0 1:1 9:1 # far\n1 0:2\n0 5:1\n"
    kept = tmp_path / "kept"
    how = {"n_features": 5, "zero_based": False, "block_bytes": 16, "n_jobs": n_jobs}
    data = from_text(text, on_error="quarantine", quarantine=kept, **how)
    assert data.X.toarray().tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert data.y.tolist() == [1, 0]
    assert data.rejected == 2
    assert kept.read_bytes() == b"0 1:1 9:1 # far\n1 0:2\n"
    with pytest.raises(DataError, match="line 4, column 7: index 9 is beyond the 5 features") as caught:
        from_text(text, **how)
    assert (caught.value.line, caught.value.column) == (4, 7)


def test_too_wide_whichever_way_indices_are_counted():
    with pytest.raises(DataError, match="the indices go from 0 to 5, which is one feature more than the 5"):
        from_text(b"1 5:1\n1 0:1\n", n_features=5)
    assert from_text(b"1 5:1\n1 1:1\n", n_features=5).X.shape == (2, 5)
    with pytest.raises(DataError, match="line 1, column 3: index 6 is beyond"):
        from_text(b"1 6:1\n", n_features=5)


def test_a_skipped_row_does_not_widen():
    assert from_text(b"1 2:1\n1 0:1 9:1\n", zero_based=False, on_error="skip").X.shape == (1, 2)


NUMBER_IN = {
    "svmlight": (b"1 1:%b\n", {}),
    "vw": (b"1 |a x:%b\n", {"vocabulary": True}),
    "csv": (b"x,label\n%b,1\n", {"format": "csv"}),
    "csv with words": (b"x,c,label\n%b,w,1\n", {"format": "csv"}),
    "tsv": (b"x\tlabel\n%b\t1\n", {"format": "tsv"}),
}
LONG_NUMBERS = {
    b"1e-20000000": 0, b"1e-99999999999999999999": 0, b"1" * 5_000 + b"e-5000": 1 / 9,
    b"0." + b"0" * 5_000 + b"1e5001": 1,
    b"1e20000000": None, b"-1e99999999999999999999": None, b"1" * 5_000: None,
    b"0." + b"0" * 100_001 + b"1e1000010": None,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", NUMBER_IN)
def test_numbers_with_any_exponent_and_any_digits(kind, dtype):
    """None stands for a number that is too large."""
    line, options = NUMBER_IN[kind]
    for text, value in LONG_NUMBERS.items():
        if value is None:
            with pytest.raises(DataError, match=r"too large|not a finite number"):
                from_text(line % text, dtype=dtype, **options)
        else:
            X = from_text(line % text, dtype=dtype, **options).X
            assert (X[0, 0] if X.shape[1] else 0) == dtype(value)


BAD_ROWS = {
    "svmlight": (b"1 1:1\n", b"1 1:1e999 2:1e999 3:1e999\n", {}),
    "svmlight, with a label": (b"1 1:1\n", b"1e999 1:1e999 2:x\n", {}),
    "svmlight, outside": (b"1 1:1\n", b"1 0:1e999 9:1e999\n1 7:1 8:1 9:1\n", {"n_features": 5, "zero_based": False}),
    "svmlight, not seen": (b"1 1:1\n", b"1 7:1 8:1 9:1\n", {"strict": True}),
    "vw": (b"1 |a x:1\n", b"y |a :3 x:1e999 y:1e999 z:1:2\n", {}),
    "vw, not seen": (b"1 |a x:1\n", b"1 |a p q r s\n", {"strict": True, "vocabulary": True}),
    "text": (b"spam\tfree\n", b"\xff\xff\0\t\xff\xff \0 \xff\n", {}),
    "text, not seen": (b"spam\tfree\n", b"spam\tcheap free pills now\n", {"strict": True, "vocabulary": True}),
    "csv": (b"1,2,3,1\n", b"x,y,z,1\n,,,\n1e999,inf,x,no\n1,2,3,4,5\n\0,\0,\0,\0,\0\n", {"format": "csv"}),
    "csv, not seen": (b"1,a,b,1\n", b"1,c,d,1\nx,c,d,1\n", {"format": "csv", "strict": True}),
    "tsv": (b"1\t2\t3\t1\n", b"x\ty\tz\t1\n\t\t\t\n", {"format": "tsv"}),
}


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_row_is_counted_and_quarantined_once(kind, block_bytes, tmp_path):
    """However many values of the row are at fault."""
    good, bad, options = BAD_ROWS[kind]
    tabbed = options.get("format") == "tsv"
    head = b"" if "format" not in options else b"a\tb\tc\tlabel\n" if tabbed else b"a,b,c,label\n"
    if "strict" in options:
        options = {name: value for name, value in options.items() if name not in ("strict", "vocabulary", "format")}
        options |= {"like": from_text(head + 3 * good, **{"vocabulary": True} if kind[:2] in ("vw", "te") else {})}
        options |= {"strict": True}
    text, kept = head + good + bad + good + bad + good, tmp_path / "kept"
    for read in (linsep.read, lambda *what, **how: list(linsep.stream(*what, **how))[-1]):
        skipped = read(io.BytesIO(text), on_error="skip", block_bytes=block_bytes, **options)
        assert skipped.rejected == 2 * bad.count(b"\n")
        kept_rows = read(io.BytesIO(text), on_error="quarantine", quarantine=kept, block_bytes=block_bytes, **options)
        assert kept_rows.rejected == skipped.rejected
        assert kept.read_bytes() == 2 * bad


def test_a_row_of_a_table_is_counted_once(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.0, np.inf, 2], "b": [1.0, np.nan, 2], "c": ["x", None, "y"], "label": [1.0, np.nan, 0]}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.arrow")
    kept = tmp_path / "kept"
    for source in (frame, tmp_path / "rows.parquet", tmp_path / "rows.arrow"):
        assert linsep.read(source, on_error="skip").rejected == 1
        assert linsep.read(source, on_error="quarantine", quarantine=kept).rejected == 1
        assert kept.read_bytes().count(b"\n") == 1


def test_a_skipped_row_tells_nothing_of_the_indices():
    """Neither where they begin nor how many there are."""
    data = from_text(b"1 1:1 2:1\n1 0:1e999 9:1\n", on_error="skip")
    assert data.X.toarray().tolist() == [[1, 1]]


def test_a_byte_order_mark_is_no_label():
    assert from_text(b"\xef\xbb\xbf1 1:1\n\xef\xbb\xbf0 1:1\n", on_error="skip").y.tolist() == [1]
    with pytest.raises(DataError, match="the file is in UTF-16: save it as UTF-8"):
        from_text("1 1:1\n".encode("utf-16"), format="svmlight")


@pytest.mark.parametrize("name", FORMATS)
def test_options_of_a_format_are_checked(name):
    with pytest.raises(ValueError, match=f"zzz= is no option of {name} data: these have .*on_error"):
        from_text(b"1 1:1\n", format=name, zzz="red")


def test_options_are_checked():
    for bad in ["5", 0, -1, 2.5, True]:
        with pytest.raises(ValueError, match=r"n_features=.*: it is a whole number, 1 at least"):
            from_text(b"1 1:1\n", n_features=bad)
    with pytest.raises(ValueError, match="zero_based='no': it is True, False or None"):
        from_text(b"1 1:1\n", zero_based="no")
    with pytest.raises(ValueError, match=r"format='exel': it is one of svmlight"):
        from_text(b"1 1:1\n", format="exel")
    with pytest.raises(
        DataError, match=r"it begins with '<html>', like no known format: pass format=, one of svmlight"
    ):
        from_text(b"<html>\n")
    with pytest.raises(ValueError, match="pass the earlier data as like="):
        from_text(b"1 1:1\n", strict=True)


VALUES = [
    None, True, False, 0, 1, -1, 5, 2.5, float("nan"), 10**30, "", "a", "nonsense", "1", b"x", [], [1], ["x"],
    [True], [2.5], [1, 2], (1, 2), (2, 1), [1, 2, 3], {}, {"x": 1}, np.array([1, 2]), np.array(["x"]), np.float64(2),
    object(), print, Path("x"),
]  # fmt: skip
TABLES = ("csv", "tsv", "parquet", "arrow", "table")
FLAGS = (
    "vocabulary",
    "named_labels",
    "keep_names",
    "idf",
    "binary",
    "alternate_sign",
    "lowercase",
    "verify",
    "strict",
    "once",
)
WHOLE = ("text_features", "block_bytes", "block_rows", "n_features", "n_jobs")
NAMED = ("categories", "missing", "analyzer", "norm", "on_error", "format", "delimiter", "text")
NONE = ("n_features", "n_jobs", "norm", "format", "delimiter", "text", "dtype", "zero_based", "header", "label",
        "weight", "columns", "ignore", "words", "quarantine", "cache", "progress", "like")  # fmt: skip
"""Options by the kind of their values, and those that may be None."""


def fits(option, value):
    """Whether a value is of the kind that an option takes, though it may be none that is possible."""
    if value is None:
        return option in NONE
    if option in (*FLAGS, "zero_based", "header"):
        return isinstance(value, bool)
    if option in WHOLE:
        return type(value) is int
    if option in NAMED:
        return isinstance(value, str)
    one = isinstance(value, str) or type(value) is int
    if option in ("label", "weight"):
        return one
    if option in ("columns", "ignore", "words"):
        listed = isinstance(value, (list, tuple, np.ndarray)) and all(
            isinstance(v, str) or "int" in type(v).__name__ for v in value
        )
        return one or listed
    if option == "ngram_range":
        return isinstance(value, (list, tuple, np.ndarray)) and len(value) == 2
    if option in ("quarantine", "cache"):
        return isinstance(value, (str, Path)) or (option == "cache" and isinstance(value, bool))
    return option == "progress" and callable(value)


@pytest.fixture(scope="module")
def small_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    frame = pd.DataFrame({"x": [1.0, 2.0], "a": ["b c", "d"], "label": [0, 1]})
    frame.to_csv(folder / "csv", index=False)
    frame.to_csv(folder / "tsv", index=False, sep="\t")
    frame.to_parquet(folder / "parquet")
    frame.to_feather(folder / "arrow")
    (folder / "svmlight").write_bytes(b"1 1:1\n0 2:1\n")
    (folder / "vw").write_bytes(b"1 |a x\n0 |a y\n")
    (folder / "text").write_bytes(b"spam\tx y\nham\tz\n")
    linsep.convert(folder / "svmlight", folder / "binary")
    return {name: frame if name == "table" else folder / name for name in FORMATS}


OPTIONS = [
    (name, option) for name in FORMATS for option in (*options_of(format_class(name)), *COMMON, *STREAMS, "self")
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Data type alias 'a':DeprecationWarning")
@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_every_value_of_every_option_is_taken_or_refused(name, option, small_files, tmp_path, monkeypatch):
    """With one error, which names the option; a value of the wrong kind is never taken."""
    monkeypatch.chdir(tmp_path)
    needs = {"text": "a"} if option in OF_TEXT and option != "text" and name in TABLES else {}
    needs |= {"categories": "hashed"} if option in ("n_features", "keep_names") and name in TABLES else {}
    needs |= {"on_error": "quarantine"} if option == "quarantine" else {}
    once = option in ("block_rows", "once", "cache", "self")
    for value in VALUES:
        how = {"format": name} | needs | {option: value}
        error = outcome(small_files[name], how, once)
        if isinstance(error, (ValueError, TypeError)) and not isinstance(error, DataError):
            assert re.search(rf"\b{option} ?=", str(error)), (value, error)
            assert type(error) in ({TypeError} if option == "like" else {ParameterError, NoOptionError}), (value, error)
            assert "linsep" in last_frame(error), (value, error)
        else:  # these data may have no such column, or be of another format
            assert option == "dtype" or fits(option, value), value


def outcome(source, how, once):
    """The error that reading ends in, or None."""
    try:
        assert sum(len(block) for block in linsep.stream(source, **how)) <= 2
        assert once or len(linsep.read(source, **how)) <= 2
    except (ValueError, TypeError) as error:
        return error
    return None


def last_frame(error):
    """The module that raises an error."""
    place = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_globals["__name__"]


TRAIN = b"1 1:1 2:2\n0 2:1 5:1\n"
TEST = b"1 1:3 3:1\n0 5:1 9:1\n1 2:1\n1 4:1\n"


@pytest.mark.parametrize("kind", ["data set", "stream"])
def test_features_never_seen_count_for_nothing_and_are_reported(kind):
    train = from_text(TRAIN) if kind == "data set" else linsep.stream(io.BytesIO(TRAIN), block_rows=1)
    test = from_text(TEST, like=train)
    assert test.X.toarray().tolist() == [[3, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert test.unseen == 3
    blocks = linsep.stream(io.BytesIO(TEST), like=train, block_rows=2)
    assert np.array_equal(np.vstack([X.toarray() for X, _ in blocks]), test.X.toarray())
    assert blocks.unseen == 3


def test_like_a_pipe_that_has_been_read():
    """Which of its columns had entries is not known any more: all count."""
    train = linsep.stream(Once(TRAIN))
    assert sum(map(len, train)) == 2
    assert from_text(TEST, like=train).unseen == 1


def test_strict_refuses_them():
    train = from_text(TRAIN)
    with pytest.raises(DataError, match=r"line 1, column 7: index 3 is one that the data it is read like did not have"):
        from_text(TEST, like=train, strict=True)
    data = from_text(TEST, like=train, strict=True, on_error="skip")
    assert data.X.toarray().tolist() == [[0, 1, 0, 0, 0]]
    assert (data.rejected, data.unseen) == (3, 0)


def test_like_takes_data_that_were_read_and_no_other_options():
    train = from_text(TRAIN)
    with pytest.raises(TypeError, match="like= takes data that were read here"):
        from_text(TEST, like=train.X)
    with pytest.raises(ValueError, match="n_features= is that of the data these are read like"):
        from_text(TEST, like=train, n_features=3)
    with pytest.raises(ValueError, match="idf= is that of the data these are read like"):
        from_text(TEST, like=train, idf=None)  # svmlight has no such option


def test_options_of_earlier_data_may_be_said_again():
    train = from_text(b"1 0:1 2:1\n", zero_based=True)
    assert from_text(b"0 2:1\n", like=train, zero_based=True).X.toarray().tolist() == [[0, 0, 1]]
    assert len(from_text(b"0 2:1\n", like=train, zero_based=True, n_features=None)) == 1
    with pytest.raises(ValueError, match="leave out zero_based=False here"):
        from_text(b"0 2:1\n", like=train, zero_based=False)


SAID = [
    {"columns": ("a", "b")}, {"columns": ["a", "b"]}, {"columns": np.array(["a", "b"])},
    {"ignore": "c"}, {"ignore": ["c"]}, {"label": "label", "ignore": []}, {"text": "c", "ngram_range": [1, 2]},
]  # fmt: skip


@pytest.mark.parametrize("options", SAID, ids=str)
def test_options_are_said_again_in_the_same_words(options, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,label\n1,2,x,yes\n3,4,y,no\n")
    train = linsep.read(path, **options)
    np.testing.assert_array_equal(toarray(linsep.read(path, like=train, **options).X), toarray(train.X))


def toarray(X):
    return X.toarray() if hasattr(X, "toarray") else X


def test_like_keeps_where_indices_begin():
    """Alone, the second file would begin at 1."""
    train = from_text(b"1 0:1 2:1\n")
    assert from_text(b"0 2:1\n", like=train).X.toarray().tolist() == [[0, 0, 1]]


def test_a_winnow_learner_gives_unseen_features_no_weight():
    """Its weights start above 0, so that an entry must be left out to count for nothing."""
    train = from_text(b"1 1:1\n0 4:1\n1 1:1\n0 4:1\n")
    clf = linsep.Winnow().fit(*train)
    test = from_text(b"1 1:1 2:9 3:9\n", like=train)
    assert clf.decision_function(test.X) == clf.decision_function(train.X[:1])


def test_the_docs_tell_every_format_and_option():
    page = (ROOT / "docs" / "data.md").read_text()
    for name, format in FORMATS.items():
        assert f'"{name}"' in page
        assert all(f"`{suffix}`" in page for suffix in format.suffixes)
        assert all(re.search(rf"`[^`\n]*\b{field.name}\b", page) for field in fields(format_class(name)) if field.init)


LINES_OF = {
    "svmlight": b"1 3:0.5\n", "vw": b"1 |a x y:2\n", "text": b"spam\tfree money, 3: now\n", "csv": b"a,label\n1,2\n",
    "tsv": b"a\tb\tlabel\n1\t2\t3\n",
}  # fmt: skip


PIPED = """
import os, sys, linsep
for lines in sys.argv[1:]:
    reader, writer = os.pipe()
    os.write(writer, bytes.fromhex(lines))
    os.close(writer)
    os.dup2(reader, 0)
    print(linsep.read("-").form.name)
"""
"""Reads each of its arguments, bytes in hexadecimal, through a pipe that is its standard input."""


@pytest.fixture(scope="module")
def piped():
    """The formats that one process finds in pipes of compressed lines, by the format that they are of."""
    lines = [gzip.compress(lines).hex() for lines in LINES_OF.values()]
    done = subprocess.run(forked("-c", PIPED, *lines), stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return dict(zip(LINES_OF, done.stdout.decode().split(), strict=True))


@pytest.mark.parametrize("name", LINES_OF)
def test_formats_are_found_by_their_lines(name, tmp_path, piped):
    assert from_text(LINES_OF[name]).form.name == name
    assert from_text(b"\n\n" + LINES_OF[name]).form.name == name
    path = tmp_path / f"odd{FORMATS[name].suffixes[0]}.gz"
    path.write_bytes(gzip.compress(LINES_OF[name]))
    assert linsep.read(path).form.name == name
    assert piped[name] == name


@pytest.mark.parametrize("name", LINES_OF)
def test_states_of_forms_are_json(name):
    first = from_text(LINES_OF[name])
    form = format_class(name).restored(json.loads(json.dumps(first.form.state())))
    again = from_text(LINES_OF[name], like=replace(first, form=form))
    assert again.X.shape == first.X.shape
    assert again.unseen == 0


@pytest.mark.parametrize("kind", ["a named pipe", "/dev/fd"])
def test_pipes_that_are_given_by_a_path_lose_nothing(kind, tmp_path):
    """The format is told by a look at what can't be read twice."""
    text = b"".join(b"%d %d:1\n" % (k % 2, k % 9 + 1) for k in range(30_000))
    if kind == "a named pipe":
        path = str(tmp_path / "pipe")
        os.mkfifo(path)
        writer = threading.Thread(target=lambda: Path(path).write_bytes(text))
    else:
        out, into = os.pipe()
        path = f"/dev/fd/{out}"
        writer = threading.Thread(target=lambda: [os.write(into, text), os.close(into)])
    writer.start()
    X, y = linsep.read(path)
    writer.join()
    assert (X.shape, y.sum()) == ((30_000, 9), 15_000)


def test_a_source_is_never_written_to(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\nbad\n")
    with pytest.raises(ValueError, match=r"rows of .*rows.svm can't be written there"):
        linsep.read(path, on_error="quarantine", quarantine=tmp_path / "." / "rows.svm")
    with pytest.raises(ValueError, match="is the source itself"):
        linsep.convert(path, path, on_error="skip")
    assert path.read_text() == "1 1:1\nbad\n"
    with pytest.raises(DataError, match="rows can't be quarantined there: no such file or directory"):
        linsep.read(path, on_error="quarantine", quarantine=tmp_path / "none" / "q")


def test_a_folder_holds_parts_of_one_whole(tmp_path):
    for name in ("part.0", "part.1.gz", "_SUCCESS", ".part.0.crc"):
        (tmp_path / name).write_bytes(gzip.compress(b"1 1:1\n") if name.endswith("gz") else b"1 1:1\n")
    assert len(linsep.read(tmp_path)) == 2
    (tmp_path / "part.0.bak").write_text("1 1:1\n")
    with pytest.raises(DataError, match=r"end in several ways \('', '.bak'\): choose them with a pattern"):
        linsep.read(tmp_path)
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match="there is a folder in it, 'more': choose the files with a pattern"):
        linsep.read(tmp_path)


def test_like_takes_a_stream_and_not_one_of_its_blocks():
    for block in linsep.stream(io.BytesIO(TRAIN), block_rows=1):
        with pytest.raises(ValueError, match="give the stream, not one of its blocks"):
            from_text(TEST, like=block)


def test_like_a_stream_looks_at_it_once():
    told = []
    train = linsep.stream(io.BytesIO(TRAIN), progress=told.append)
    for _ in range(3):
        assert from_text(TEST, like=train).unseen == 3
    assert told == []


@pytest.mark.parametrize("trained", ["csv", "tsv", "parquet", "arrow", "pandas", "polars", "binary"])
@pytest.mark.parametrize("asked", ["csv", "parquet", "pandas", "binary"])
def test_tables_like_tables_of_another_kind(trained, asked, tmp_path):
    frame = pd.DataFrame({"age": [1.0, 2, 3], "city": ["Oslo", "Rome", "Oslo"], "label": [0, 1, 0]})
    other = frame.assign(city=["Rome", "Paris", "Oslo"])[["city", "age", "label"]]

    def saved(table, kind):
        path = tmp_path / f"{id(table)}.{kind}"
        if kind in ("csv", "tsv"):
            table.to_csv(path, index=False, sep="," if kind == "csv" else "\t")
        elif kind == "parquet":
            table.to_parquet(path)
        elif kind == "arrow":
            table.to_feather(path)
        return path if path.exists() else table if kind == "pandas" else pl.DataFrame(table)

    train = linsep.read(saved(frame, "csv" if trained == "binary" else trained))
    if trained == "binary":
        train = linsep.convert(saved(frame, "csv"), tmp_path / "train.npz")
    if asked == "binary":
        linsep.convert(saved(other, "csv"), tmp_path / "test.npz", like=train)
        test = linsep.read(tmp_path / "test.npz", like=train)
    else:
        test = linsep.read(saved(other, asked), like=train)
        assert test.unseen == 1
    assert test.X.toarray().tolist() == [[1, 0, 1], [2, 0, 0], [3, 1, 0]]
    assert list(test.feature_names) == ["age", "city=Oslo", "city=Rome"]


def test_like_data_of_another_format():
    with pytest.raises(
        DataError, match="it looks like csv, but the data it is to be read like are svmlight: pass format="
    ):
        from_text(b"a,label\n1,2\n", like=from_text(TRAIN))


def test_binary_data_keep_their_type_unless_another_is_stated(tmp_path):
    (tmp_path / "rows.svm").write_bytes(TRAIN)
    narrow = linsep.convert(tmp_path / "rows.svm", tmp_path / "rows.npz", dtype="float32")
    assert narrow.X.dtype == np.float32
    assert linsep.read(tmp_path / "rows.npz", dtype="float64").X.dtype == np.float64
    assert {X.dtype for X, _ in linsep.stream(tmp_path / "rows.npz", dtype="float64")} == {np.dtype("float64")}
    again = linsep.convert(tmp_path / "rows.npz", tmp_path / "again.npz")
    assert again.X.dtype == np.float32
    assert from_text(TEST, like=again).unseen == 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linsep.read(np.eye(3)), TypeError, "got ndarray: arrays need not be read"),
        (lambda: linsep.read(b"1 1:1"), TypeError, r"got bytes: io.BytesIO\(...\) makes a file"),
        (lambda: linsep.read({"a": [1]}), TypeError, "got dict"),
        (lambda: linsep.read(pl.LazyFrame({"a": [1]})), TypeError, r"collect\(\) it first"),
        (lambda: linsep.read("https://example.org/rows.svm"), DataError, "an address: download it first"),
        (lambda: from_text(TRAIN, onerror="skip"), ValueError, "is no option of svmlight data; did you mean on_error="),
        (lambda: from_text(TRAIN, block_rows=3), ValueError, "block_rows= is an option of linsep.stream"),
        (lambda: from_text(TRAIN, progress=True), ValueError, "progress=True: it is a function"),
        (lambda: linsep.stream(io.BytesIO(TRAIN), block_rows="2"), ValueError, "block_rows='2': it is a whole number"),
        (lambda: linsep.stream(io.BytesIO(TRAIN), block_rows=2.0), ValueError, "block_rows=2.0: it is a whole number"),
        (lambda: linsep.Perceptron().fit(from_text(TRAIN), [1, 0]), TypeError, "which unpacks as X, y: give its X"),
        (lambda: linsep.TextCounter().fit(pd.DataFrame({"a": ["b"]})), ValueError, "give one column, a document each"),
        (lambda: linsep.TextHasher(ngram_range=2).fit(["a"]), ValueError, r"ngram_range=2 is not .*as in \(1, 2\)"),
        (lambda: linsep.TextHasher(analyzer="chars").fit(["a"]), ValueError, "it is 'word' or 'char'"),
    ],
)  # fmt: skip
def test_mistakes_get_one_clear_line(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_stream_shows_what_it_is(tmp_path):
    (tmp_path / "rows.svm").write_bytes(TRAIN)
    assert repr(linsep.stream(tmp_path / "rows.svm")).endswith("rows.svm', block_rows=10000)")
    assert linsep.stream(tmp_path / "rows.svm").feature_names is None
    assert linsep.DataError is DataError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.svm", b""),
        ("a.svm", b"# a comment\n\n"),
        ("a.vw", b"\n"),
        ("a.txt", b""),
        ("a.csv", b"a,label\n"),
        ("a.tsv", b"a\tlabel\n\n"),
    ],
)
def test_data_without_rows_are_an_error_in_every_format(name, text, tmp_path):
    path = tmp_path / name
    path.write_bytes(text)
    loads = (linsep.read, lambda path: list(linsep.stream(path)), lambda path: linsep.convert(path, tmp_path / "b.npz"))
    for load in loads:
        with pytest.raises(DataError, match="there are no rows"):
            load(path)


def test_rows_that_are_all_rejected_are_no_error(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"one 1:1\n")
    data = linsep.read(path, on_error="skip")
    assert (len(data), data.rejected) == (0, 1)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (b"1 1:1\n-1 2:1\n", "svmlight"),
        (b"1 |a x\n-1 |a y\n", "vw"),
        (b"spam\tfree | money\n", "text"),
        (b"1\t10:30 meeting\n0\tat noon\n", "text"),
        (b"1 1:1\n" + b"1 " + b"1:1" * (1 << 16), "svmlight"),
    ],
)
def test_a_file_named_txt_is_known_by_its_lines(text, format, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(text)
    assert detected_format(Source(str(path))) == format


ALIGNED = {
    "rows.svm": (b"1 1:1\n\n0 2:one\n1 2:1\n", {"n_features": 3, "zero_based": False}, ([0, 3], 4), ([0], 2, 3)),
    "rows.csv": (b"a,label\n1,1\r2,0\n\nx,1\n3,1\n", {}, ([0, 1, 3], 4), ([0, 1], 2, 4)),
}


@pytest.mark.parametrize("name", ALIGNED)
def test_parts_are_aligned_with_the_lines_of_text_and_the_rows_of_tables(name, tmp_path):
    """A blank line of text has a place, one of a table has none; a malformed row has one in both."""
    text, options, skipped, raised = ALIGNED[name]
    (tmp_path / name).write_bytes(text)
    [part] = linsep.stream(tmp_path / name, on_error="skip", **options).aligned_parts()
    assert (part.places.tolist(), part.n_lines, part.error) == (*skipped, None)
    assert part.X.shape[0] == len(part.places)
    [part] = linsep.stream(tmp_path / name, **options).aligned_parts()
    assert (part.places.tolist(), part.n_lines, part.error.line) == raised
    assert part.X.shape[0] == len(part.places)


@pytest.mark.parametrize("name", ALIGNED)
def test_parts_of_files_are_aligned_as_the_whole_is(name, tmp_path):
    text, options, (places, n_lines), (_, before, line) = ALIGNED[name]
    (tmp_path / name).write_bytes(text)
    for on_error in ("skip", "raise"):
        plan = Plan(tmp_path / name, on_error=on_error, **options)
        total, found = 0, []
        for part in (part for one in plan.parts(9) for part in PartReader(one, plan.reading).aligned_parts()):
            found += (part.places + total).tolist()
            total += part.n_lines
            if part.error is not None:
                assert (total, part.error.line) == (before, line)
                break
        else:
            assert (found, total) == (places, n_lines)
