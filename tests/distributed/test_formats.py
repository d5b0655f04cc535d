"""Every format of files in shards: the rows that `linsep.read` gives, learned as a plain reference learns them."""

import bz2
import gzip
import io
import lzma
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import linsep
from linsep import Perceptron, distributed

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
ROWS, SHARDS, EPOCHS = 90, 4, 3
HOW = {"shards": SHARDS, "shuffle": False, "random_state": 0, "max_iter": EPOCHS, "intercept_scaling": 1.0}


@cache
def table():
    """Rows of small whole numbers, words and documents, that no line separates."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(-4, 5, (ROWS, 3))
    city = rng.choice(["Oslo", "Rome", "Bern"], ROWS)
    said = [" ".join(rng.choice(["free", "money", "lunch", "noon", f"w{k // 8}"], 3)) for k in range(ROWS)]
    margin = numbers @ [2, -1, 1] + 3 * (city == "Rome") + rng.normal(size=ROWS)
    return pd.DataFrame(numbers, columns=list("abc")).assign(
        city=city, said=said, worth=rng.integers(0, 3, ROWS), label=np.where(margin > 0, "spam", "ham")
    )


def svmlight(frame):
    """Lines of svmlight text, with comments between them."""
    X, y = frame[list("abc")].to_numpy(), np.where(frame["label"] == "spam", 1, -1)
    lines = [
        f"{label:+d} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x)
        for row, label in zip(X, y, strict=True)
    ]
    return "# rows\n\n" + "\n".join(lines) + "\n"


def vw(frame):
    """Lines of Vowpal Wabbit, with weights."""
    told = zip(
        np.where(frame["label"] == "spam", 1, -1), frame["worth"], frame["a"], frame["city"], frame["said"], strict=True
    )
    return "".join(f"{y} {c} |n a:{a} |t {city} {said}\n" for y, c, a, city, said in told)


def labelled_text(frame):
    """Lines of a label and a document."""
    return "".join(
        f"{y}\t{said} {city}\n" for y, said, city in zip(frame["label"], frame["said"], frame["city"], strict=True)
    )


def written(folder, frame, kind):
    """Write a frame to a file, of which the end of the name tells the format."""
    name = folder / kind
    text = {"svm": svmlight, "vw": vw, "txt": labelled_text}
    end = kind.split(".")[1]
    if end in text:
        packed = {"gz": gzip.compress, "bz2": bz2.compress}.get(kind.split(".")[-1], bytes)
        name.write_bytes(packed(text[end](frame).encode()))
    elif end in ("csv", "tsv"):
        frame.to_csv(name, index=False, sep="," if end == "csv" else "\t")
    elif end == "parquet":
        frame.to_parquet(name, row_group_size=7)
    elif end == "arrow":
        frame.to_feather(name, chunksize=7)
    elif kind.startswith("sparse"):
        linsep.convert(io.BytesIO(svmlight(frame).encode()), name)
    else:
        linsep.convert(frame[[*"abc", "label"]], name)
    return name


FORMATS = {
    "svmlight": ("rows.svm", {}),
    "svmlight, told": ("rows.svm", {"zero_based": False, "n_features": 6}),
    "svmlight, float32": ("rows.svm", {"dtype": np.float32}),
    "gzip": ("rows.svm.gz", {}),
    "bz2": ("rows.vw.bz2", {"n_features": 64}),
    "vw": ("rows.vw", {"n_features": 64}),
    "vw, vocabulary": ("rows.vw", {"vocabulary": True}),
    "csv": ("rows.csv", {}),
    "csv, weights": ("rows.csv", {"weight": "worth", "ignore": ["said"]}),
    "csv, hashed": ("rows.csv", {"categories": "hashed", "n_features": 32, "ignore": ["said"]}),
    "csv, text": ("rows.csv", {"text": "said", "text_features": 32, "words": ["worth"]}),
    "csv, vocabulary": ("rows.csv", {"text": "said", "vocabulary": True, "idf": True}),
    "tsv": ("rows.tsv", {"columns": ["a", "b", "city"]}),
    "text": ("rows.txt", {"n_features": 64}),
    "text, idf": ("rows.txt", {"n_features": 64, "idf": True}),
    "text, vocabulary": ("rows.txt", {"vocabulary": True}),
    "parquet": ("rows.parquet", {"ignore": ["said"]}),
    "parquet, text": ("rows.parquet", {"text": "said", "vocabulary": True, "weight": "worth"}),
    "arrow": ("rows.arrow", {"ignore": ["said"]}),
    "binary, dense": ("dense.npz", {}),
    "binary, sparse": ("sparse.npz", {}),
}


def mixed(X, y, cuts, weights):
    """The weights and the mistakes of a perceptron on shards that end at these rows, the constant feature last."""
    rows = np.hstack([X.toarray() if sp.issparse(X) else X, np.ones((len(y), 1))]).astype(float)
    w, mistakes = np.zeros(rows.shape[1]), []
    for _ in range(EPOCHS):
        ends = []
        for begin, end in zip([0, *cuts], [*cuts, len(y)], strict=True):
            v = w.copy()
            made = 0
            for i in range(begin, end):
                if weights[i] and y[i] * (rows[i] @ v) <= 0:
                    v += weights[i] * y[i] * rows[i]
                    made += 1
            ends.append(v)
            mistakes.append(made)
        w = w + sum(v - w for v in ends) / len(ends)
    return w, mistakes


def check(source, options):
    """Compare what is learned from files in shards, and answered, with the reference on the rows as read."""
    data = linsep.read(source, **options)
    learner = distributed.fit(Perceptron(**HOW, n_jobs=2), source, **options)
    sizes = learner.mixes_.rows[: learner.mixes_.shards.max() + 1]
    weights = np.ones(len(data)) if data.weights is None else data.weights
    there = weights > 0  # rows that count for nothing are in no round
    assert sizes.sum() == np.count_nonzero(there)
    cuts = np.searchsorted(np.cumsum(there), np.cumsum(sizes)[:-1]) + 1
    w, mistakes = mixed(data.X, np.where(data.y == learner.classes_[1], 1, -1), cuts.tolist(), weights)
    assert_array_equal(learner.mixes_.mistakes, mistakes)
    assert_allclose(learner.coef_[0], w[:-1], rtol=1e-6 if "dtype" in options else 1e-12, atol=1e-12)
    assert_allclose(learner.intercept_, w[-1:], rtol=1e-12, atol=1e-12)
    assert_array_equal(distributed.predict(learner, source, what="scores"), learner.decision_function(data.X))
    assert_array_equal(distributed.predict(learner, source, n_jobs=1), learner.predict(data.X))
    scores = distributed.evaluate(learner, source)
    assert (scores.rows, scores.wrong) == (ROWS, np.count_nonzero(learner.predict(data.X) != data.y))
    return sizes


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_learned_as_read(tmp_path, name):
    kind, options = FORMATS[name]
    sizes = check(written(tmp_path, table(), kind), options)
    assert len(sizes) == (1 if kind.endswith(("gz", "bz2")) else SHARDS)


@pytest.mark.parametrize("kind", ["svm", "csv", "parquet", "npz", "svm.gz"])
@pytest.mark.parametrize("way", ["list", "glob", "folder"])
def test_several_files(tmp_path, kind, way):
    frame, cuts = table(), [0, 11, 50, ROWS]
    for k, (begin, end) in enumerate(pairwise(cuts)):
        written(tmp_path, frame[begin:end], f"dense{k}.{kind}" if kind == "npz" else f"part{k}.{kind}")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    source = {"list": files, "glob": f"{tmp_path}/*{kind}", "folder": tmp_path}[way]
    options = {"ignore": ["said"]} if kind in ("csv", "parquet") else {}
    assert len(check(source, options)) == (3 if kind == "svm.gz" else SHARDS)


@pytest.mark.parametrize("kind", ["rows.svm", "rows.csv", "rows.parquet", "rows.txt"])
def test_naive_bayes_counts_files(tmp_path, kind):
    path = written(tmp_path, table().assign(a=1, b=2, c=3), kind)
    data = linsep.read(path)
    expected = linsep.NaiveBayes(kind="bernoulli").fit(data.X, data.y)
    assert_array_equal(distributed.fit(linsep.NaiveBayes(kind="bernoulli"), path).coef_, expected.coef_)


def test_probabilities_of_files(tmp_path):
    path = written(tmp_path, table(), "rows.svm")
    data = linsep.read(path)
    model = linsep.NaiveBayes(kind="gaussian").fit(data.X, data.y)
    assert_array_equal(distributed.predict(model, path, what="probabilities"), model.predict_proba(data.X))


@pytest.mark.parametrize("kind", ["rows.svm", "rows.vw", "rows.csv", "rows.txt"])
def test_malformed_rows_are_told_or_left_out(tmp_path, kind):
    path = written(tmp_path, table(), kind)
    lines = path.read_bytes().split(b"\n")
    lines[71] = b"\xff\xfe no row"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(linsep.DataError, match="line 72"):
        distributed.fit(Perceptron(**HOW), path)
    learner = distributed.fit(Perceptron(**HOW), path, on_error="skip")
    assert learner.n_features_in_ == linsep.read(path, on_error="skip").X.shape[1]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_damage_in_a_later_compressed_member_is_an_error(tmp_path, pack):
    text = written(tmp_path, table(), "rows.svm").read_bytes()
    path = tmp_path / "packed.svm"
    for rest in (b"junk", pack(text)[:-9], pack(text)[:40] + b"\x55\x55" + pack(text)[42:]):
        path.write_bytes(pack(text) + rest)
        with pytest.raises(linsep.DataError, match=r"packed\.svm: the .* data are cut off or broken"):
            distributed.fit(Perceptron(**HOW), [path, tmp_path / "rows.svm"])
