"""Dask arrays and dataframes as shards: the bits of learners that are given the same rows, and nothing held twice."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import linsep
from linsep import AveragedPerceptron, NaiveBayes, Perceptron, Winnow, distributed
from linsep.data.errors import DataError
from linsep.distributed import work
from linsep.distributed.sources import source_of
from linsep.validation.errors import InvalidDataError, ParameterError
from tests.processes import fork_workers

dask = pytest.importorskip("dask", reason="the extra linsep[dask] is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]
ROWS, WIDTH, SHARDS = 120, 5, 4
HOW = {"shards": SHARDS, "shuffle": False, "random_state": 0, "max_iter": 4, "log": True, "intercept_scaling": 1.0}


def table(rows=ROWS):
    """Rows that no line separates, as a frame with words, documents and weights."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, WIDTH))
    y = np.where(X @ rng.normal(size=WIDTH) + 0.3 * rng.normal(size=rows) > 0, "yes", "no")
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["city"] = [f"city {n}" for n in (np.arange(rows) // 7 * 5) % 23]
    frame["kind"] = pd.Categorical(rng.choice(["x", "y", "z"], rows))
    frame["said"] = [" ".join(rng.choice(["alpha", "beta", "gamma", f"word{k // 9}"], 2)) for k in range(rows)]
    frame["worth"] = rng.integers(0, 4, rows)
    return frame.assign(label=y)


FRAME = table()
X, Y = FRAME[list("abcde")].to_numpy(), FRAME["label"].to_numpy(dtype="U")
NUMBERS = {"ignore": ["city", "kind", "said", "worth"]}


@pytest.fixture(scope="module")
def client():
    """Two processes of one thread on this machine."""
    dask_distributed = pytest.importorskip("distributed", reason="the extra linsep[dask] is not installed")
    fork_workers()
    with (
        dask_distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        dask_distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def same(one, other):
    """Check that two learners are equal to the bit, in all that shards tell."""
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert one.intercept_.tobytes() == other.intercept_.tobytes()
    assert_array_equal(one.classes_, other.classes_)
    for name in ("epochs", "shards", "rows", "mistakes", "weights"):
        assert_array_equal(getattr(one.mixes_, name), getattr(other.mixes_, name))
    if one.log_ is not None and other.log_ is not None:
        assert_array_equal(one.log_.rows, other.log_.rows)
        assert_array_equal(one.log_.rounds, other.log_.rounds)


def in_memory(X=X, y=Y, **more):
    """A learner that has cut the same rows into the same shards."""
    return AveragedPerceptron(**{**HOW, **more}).fit(X, y)


@pytest.mark.parametrize(
    ("chunks", "y"),
    [
        (30, Y),
        (15, Y.tolist()),
        (10, pd.Series(Y)),
        (30, da.from_array(Y, chunks=30)),
        (6, da.from_array(Y, chunks=17)),
    ],
    ids=["array", "list", "series", "same chunks", "other chunks"],
)
def test_arrays_are_learned_as_in_memory(chunks, y):
    learner = distributed.fit(AveragedPerceptron(**HOW), da.from_array(X, chunks=(chunks, WIDTH)), y)
    same(learner, in_memory())
    assert learner.log_.rows.max() > ROWS - 30  # counted from the first partition on


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix])
def test_sparse_blocks(form):
    thin = np.where(np.abs(X) < 0.7, 0, X)
    blocks = da.from_array(thin, chunks=(10, WIDTH)).map_blocks(form)
    same(distributed.fit(AveragedPerceptron(**HOW), blocks, Y), in_memory(sp.csr_array(thin)))


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.int64, bool])
def test_numbers_of_any_type(kind):
    values = (4 * X).astype(kind)
    same(distributed.fit(AveragedPerceptron(**HOW), da.from_array(values, chunks=(30, -1)), Y), in_memory(values))


@pytest.mark.parametrize(
    "labels", [np.arange(ROWS) % 3, (np.arange(ROWS) % 2).astype(float), Y.astype(object), X[:, 0] > 0]
)
def test_labels_stay_as_they_are(labels):
    learner = distributed.fit(Perceptron(**HOW), da.from_array(X, chunks=(30, -1)), da.from_array(labels, chunks=30))
    assert learner.classes_.dtype == np.unique(labels).dtype
    same(learner, Perceptron(**HOW).fit(X, labels))


def unknown(array, chunks):
    """A Dask array whose chunks have sizes that nobody knows, and the rows that are left."""
    whole = da.from_array(array, chunks=(chunks, *array.shape[1:]))
    keep = np.arange(len(array)) % 5 != 4
    return whole[da.from_array(keep, chunks=chunks)], array[keep]


def test_chunks_of_unknown_sizes():
    (rows, left), (labels, told) = unknown(X, 15), unknown(Y, 15)
    assert np.isnan(rows.shape[0])
    same(distributed.fit(AveragedPerceptron(**HOW), rows, labels), in_memory(left, told))
    frame = dd.from_pandas(FRAME, npartitions=8)
    same(distributed.fit(AveragedPerceptron(**HOW), frame[list("abcde")].to_dask_array(), frame["label"]), in_memory())


@pytest.mark.parametrize("shuffle", [True, "once", "blocks", False])
def test_a_file_with_the_same_cuts_is_learned_alike(tmp_path, shuffle):
    digits = np.random.default_rng(1).integers(1, 10, (ROWS, 3))
    y = np.where(digits @ [1, -1, 0.3] + np.random.default_rng(2).normal(size=ROWS) > 1, "1", "0")
    path = tmp_path / "rows.csv"
    path.write_text(
        "\n".join(f"{a},{b},{c},{label}" for (a, b, c), label in zip(digits.tolist(), y, strict=True)) + "\n"
    )
    how = {**HOW, "shuffle": shuffle, "mixing": "mistakes"}
    by_file = distributed.fit(Perceptron(**how), path, label=-1, header=False)
    assert by_file.mixes_.rows[:SHARDS].tolist() == [30] * SHARDS
    same(distributed.fit(Perceptron(**how), da.from_array(digits, chunks=(15, 3)), y.astype(int)), by_file)
    frame = dd.from_pandas(pd.DataFrame(digits, columns=list("012")).assign(y=y.astype(int)), npartitions=8)
    same(distributed.fit(Perceptron(**how), frame), by_file)


def test_there_are_no_more_shards_than_partitions():
    learner = distributed.fit(AveragedPerceptron(**{**HOW, "shards": 9}), da.from_array(X, chunks=(40, -1)), Y)
    same(learner, in_memory(shards=3))


def test_partitions_without_rows():
    blocks = da.from_array(X, chunks=((0, 30, 30, 0, 60, 0), WIDTH))
    got = distributed.fit(AveragedPerceptron(**{**HOW, "shards": 6}), blocks, Y)
    assert got.mixes_.rows[:3].tolist() == [30, 30, 60]
    frame = dd.from_pandas(FRAME, npartitions=8)
    some = frame[frame["worth"] == 3].partitions[:2]
    empty = dd.concat([frame[frame["worth"] > 9], some])
    assert distributed.fit(Perceptron(), empty).n_features_in_ > WIDTH
    with pytest.raises(DataError, match="the dataframe: there are no rows"):
        distributed.fit(Perceptron(), frame[frame["worth"] > 9], label="label")


@pytest.mark.parametrize("shuffle", [True, False])
def test_nothing_depends_on_room_to_keep_rows(monkeypatch, shuffle):
    frame, blocks = dd.from_pandas(FRAME[["a", "b", "city", "label"]], npartitions=6), da.from_array(X, chunks=(10, -1))
    how = {**HOW, "shuffle": shuffle}
    kept = [distributed.fit(Perceptron(**how), blocks, Y), distributed.fit(Perceptron(**how), frame)]
    monkeypatch.setattr(work.ROW_CACHE, "limit", lambda: 0)
    made = [distributed.fit(Perceptron(**how), blocks, Y), distributed.fit(Perceptron(**how), frame)]
    for one, other in zip(kept, made, strict=True):
        same(one, other)


def counted(path, blocks):
    """The same array; each time that one of its blocks is made a letter is written."""

    def made(block):
        if block.size:
            with path.open("a") as file:
                file.write("x")
        return block

    return blocks.map_blocks(made, meta=np.empty((0, 0)))


def test_a_partition_is_computed_once(tmp_path):
    times = tmp_path / "times"
    distributed.fit(AveragedPerceptron(**HOW), counted(times, da.from_array(X, chunks=(15, -1))), Y)
    assert len(times.read_text()) == 8


OPTIONS = [
    {},
    NUMBERS,
    {"weight": "worth", "columns": ["a", "city"]},
    {"words": ["worth"], "missing": "indicator"},
    {"categories": "hashed", "n_features": 64, "keep_names": True},
    {"text": "said", "text_features": 32, "keep_names": True, "ngram_range": (1, 2)},
    {"text": "said", "text_features": 32, "idf": True},
    {"text": "said", "vocabulary": True, "idf": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "all")
def test_dataframes_are_read_as_tables_are(options):
    whole = linsep.read(FRAME, label="label", **options)
    frame = dd.from_pandas(FRAME, npartitions=8, sort=False)
    learner = distributed.fit(AveragedPerceptron(**HOW), frame, label="label", **options)
    expected = AveragedPerceptron(**HOW).fit(whole.X, whole.y, sample_weight=whole.weights)
    same(learner, expected)
    names, told = learner.form_.feature_names, whole.feature_names
    assert (names is None) == (told is None)
    assert names is None or list(names) == list(told)
    unlabelled = frame.drop(columns=["label", "worth"] if "weight" in options else ["label"])
    assert_array_equal(distributed.predict(learner, unlabelled, what="scores"), expected.decision_function(whole.X))


@pytest.mark.parametrize("convert", [True, False])
def test_columns_of_python_objects(convert):
    cells = [None] * 30 + ["red", "blue"] * 15 + [None] * 30 + ["green"] * 30
    frame = FRAME[["a", "label"]].assign(
        shade=pd.Series(cells, dtype=object), truth=pd.Series([True, False] * 60, dtype=object)
    )
    with dask.config.set({"dataframe.convert-string": convert}):
        parts = dd.from_pandas(frame, npartitions=4, sort=False)
        assert (str(parts.dtypes["shade"]) == "object") is not convert
        learner = distributed.fit(Perceptron(**HOW), parts, missing="zero")
    whole = linsep.read(frame, missing="zero")
    if not convert:
        same(learner, Perceptron(**HOW).fit(whole.X, whole.y))
    assert list(learner.form_.feature_names)[-1] == "shade=green"


def test_naive_bayes_counts_partitions():
    counts = (10 * np.abs(X)).astype(int)
    blocks = da.from_array(counts, chunks=(10, -1))
    alone = NaiveBayes(kind="multinomial").fit(counts, Y)
    assert_array_equal(distributed.fit(NaiveBayes(kind="multinomial"), blocks, Y).coef_, alone.coef_)
    frame = dd.from_pandas(FRAME, npartitions=7)
    whole = linsep.read(FRAME, **NUMBERS)
    learned = distributed.fit(NaiveBayes(kind="gaussian"), frame, **NUMBERS)
    np.testing.assert_allclose(learned.coef_, NaiveBayes(kind="gaussian").fit(whole.X, whole.y).coef_, rtol=1e-12)


@pytest.mark.parametrize("what", ["labels", "scores", "probabilities"])
def test_answers_come_in_the_order_of_the_rows(what):
    model = NaiveBayes(kind="gaussian").fit(X, Y)
    asked = {"labels": model.predict, "scores": model.decision_function, "probabilities": model.predict_proba}[what]
    blocks = da.from_array(X, chunks=((7, 0, 50, 63), WIDTH))
    assert_array_equal(distributed.predict(model, blocks, what=what), asked(X))
    assert [len(part) for part in distributed.predictions(model, blocks, what=what)] == [7, 0, 50, 63]
    assert_array_equal(distributed.predict(model, unknown(X, 15)[0], what=what), asked(unknown(X, 15)[1]))


def test_evaluation():
    model = in_memory()
    scores = distributed.evaluate(model, da.from_array(X, chunks=(25, -1)), da.from_array(Y, chunks=11))
    assert (scores.rows, scores.wrong) == (ROWS, np.count_nonzero(model.predict(X) != Y))
    frame = dd.from_pandas(FRAME, npartitions=6)
    assert distributed.evaluate(model, frame, **NUMBERS).wrong == scores.wrong
    learned = distributed.fit(Perceptron(**HOW), frame, label="label", **NUMBERS)
    again = distributed.evaluate(learned, frame, label="label", **NUMBERS)  # as it knows already
    assert again.wrong == distributed.evaluate(learned, frame).wrong
    numbered = Perceptron(**HOW).fit(X, Y == "yes")
    lacking = np.where(np.arange(ROWS) < 20, np.nan, Y == "yes")
    assert distributed.evaluate(numbered, da.from_array(X, chunks=(25, -1)), lacking).unlabelled == 20


def test_a_model_of_a_dataframe_reads_others_like_it(tmp_path):
    learner = distributed.fit(Perceptron(**HOW), dd.from_pandas(FRAME, npartitions=4))
    linsep.save(learner, tmp_path / "model")
    model = linsep.load(tmp_path / "model")
    others = FRAME.assign(city="elsewhere", more=1.0)[["label", "more", *FRAME.columns.drop("label")]]
    expected = model.predict(linsep.read(others, like=model).X)
    assert_array_equal(distributed.predict(model, dd.from_pandas(others, npartitions=3)), expected)
    others.drop(columns="label").to_csv(tmp_path / "others.csv", index=False)
    assert_array_equal(distributed.predict(model, tmp_path / "others.csv"), expected)


@pytest.mark.parametrize("source", ["array", "frame"])
def test_checkpoints_know_a_collection(tmp_path, source):
    def given(values):
        frame = FRAME.assign(a=values)
        if source == "frame":
            return (dd.from_pandas(frame, npartitions=8), None), NUMBERS
        return (da.from_array(frame[list("abcde")].to_numpy(), chunks=(15, -1)), Y), {}

    (data, y), options = given(FRAME["a"])
    path = tmp_path / "epochs"
    distributed.fit(AveragedPerceptron(**{**HOW, "max_iter": 2}), data, y, checkpoint=path, **options)
    (again, y), _ = given(FRAME["a"])
    same(
        distributed.fit(AveragedPerceptron(**HOW), again, y, checkpoint=path, **options),
        distributed.fit(AveragedPerceptron(**HOW), data, y, **options),
    )
    (other, y), _ = given(FRAME["b"])
    with pytest.raises(ValueError, match="of another run: its shards were"):
        distributed.fit(AveragedPerceptron(**HOW), other, y, checkpoint=path, **options)
    cut = data.repartition(npartitions=4) if source == "frame" else data.rechunk((30, -1))
    with pytest.raises(ValueError, match="of another run"):
        distributed.fit(AveragedPerceptron(**HOW), cut, y, checkpoint=path, **options)


BLOCKS = da.from_array(X, chunks=(30, -1))
PARTS = dd.from_pandas(FRAME, npartitions=2)
NOT_KNOWN = r"is not known.*X.compute_chunk_sizes\(\)"
WRONG = [
    (BLOCKS, None, InvalidDataError, "y to be passed"),
    (BLOCKS, Y[:-1], InvalidDataError, "X has 120 rows and y has 119 labels"),
    (BLOCKS, da.from_array(Y[:-1], chunks=10), InvalidDataError, "X has 120 rows and y has 119 labels"),
    (BLOCKS, X, InvalidDataError, "y has 2 dimensions"),
    (BLOCKS, dask.delayed(Y), TypeError, "y is a Delayed"),
    (BLOCKS[:, 0], Y, InvalidDataError, r"X has 1 dimension, and must have 2: X\[:, None\]"),
    (BLOCKS[None], Y, InvalidDataError, r"X has 3 dimensions, .*: reshape it"),
    (BLOCKS.rechunk((30, 2)), Y, InvalidDataError, r"its columns, into 3 chunks: X.rechunk\(\{1: -1\}\)"),
    (da.from_array(X.astype(str), chunks=(30, -1)), Y, InvalidDataError, r"X holds <U\d+, and no numbers: X.astype"),
    (unknown(X, 15)[0], Y[:96], InvalidDataError, NOT_KNOWN),
    (unknown(X, 15)[0], unknown(Y, 30)[0], InvalidDataError, NOT_KNOWN),
    (
        unknown(X, 15)[0],
        da.from_array(Y, chunks=15),
        InvalidDataError,
        "partition 0: X has 12 rows and y has 15 labels",
    ),
    (BLOCKS, np.where(np.arange(ROWS) == 77, np.nan, 1.0), InvalidDataError, "partition 2: .* label of row 17 is nan"),
    (BLOCKS, np.ones(ROWS), InvalidDataError, "one class"),
    (X, Y, TypeError, r"a ndarray is in memory already.*learners take these as they are, learner.fit\(X, y\)"),
    (FRAME, None, TypeError, "a DataFrame is in memory already"),
    (sp.csr_array(X), Y, TypeError, "a csr_array is in memory already"),
    (linsep.read(FRAME), None, TypeError, "a Dataset is in memory already"),
    (PARTS, Y, TypeError, "a dataframe has its labels in a column: name it with label="),
    (PARTS["a"], None, TypeError, "and not Series: to_frame"),
    (dask.delayed(1), None, TypeError, "arrays and dataframes are read, and not Delayed"),
    (PARTS.drop(columns="label"), None, DataError, "the dataframe: which column holds the labels"),
    (PARTS.assign(a=pd.Timestamp(0)), None, DataError, "column 'a' holds timestamp"),
]


@pytest.mark.parametrize(("source", "y", "kind", "told"), WRONG, ids=[told[:30] for *_, told in WRONG])
def test_what_is_wrong_is_told(source, y, kind, told):
    with pytest.raises(kind, match=told):
        distributed.fit(Perceptron(**HOW), source, y)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"on_error": "quarantine"}, "rows can't be quarantined"),
        ({"progress": print}, "omit progress="),
    ],
)
def test_options_that_a_dataframe_does_not_have(options, told):
    with pytest.raises(ParameterError, match=told):
        distributed.predict(in_memory(), PARTS, **options)


def test_files_have_their_labels_in_them(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(TypeError, match="y= goes with a Dask array; files have their labels in them"):
        distributed.fit(Perceptron(), tmp_path / "rows.svm", Y)


def test_an_array_has_no_options():
    with pytest.raises(TypeError, match="label= is an option of files and tables"):
        distributed.fit(Perceptron(), BLOCKS, Y, label="label")
    with pytest.raises(TypeError, match="no labels in it: give them as y"):
        distributed.evaluate(in_memory(), BLOCKS)


@pytest.mark.parametrize(
    "learner", [Perceptron(**HOW), Winnow(x_max=9, **HOW), NaiveBayes(kind="gaussian")], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "-inf")])
def test_an_entry_that_is_no_number_is_told_by_its_place_among_all(learner, form, value, word):
    bad = X.copy()
    bad[77, 3] = value
    with pytest.raises(ValueError, match=rf"Input X contains {word} \(row 77, column 3\)"):
        distributed.fit(learner, da.from_array(bad, chunks=(10, -1)).map_blocks(form), Y)
    assert not hasattr(learner, "classes_")


def test_a_row_of_a_dataframe_is_told_by_its_partition():
    frame = dd.from_pandas(FRAME.assign(a=np.where(np.arange(ROWS) == 77, np.nan, X[:, 0])), npartitions=4)
    with pytest.raises(DataError, match="partition 2, line 18: '' in column 'a': a value is missing"):
        distributed.fit(Perceptron(**HOW), frame)
    assert distributed.fit(Perceptron(**HOW), frame, on_error="skip").mixes_.rows[:SHARDS].tolist() == [30, 30, 29, 30]


def test_partitions_that_differ():
    def mixed(frame, number):
        return frame.assign(city=pd.Series(range(len(frame)), frame.index, dtype=object)) if number else frame

    with dask.config.set({"dataframe.convert-string": False}):
        parts = [dask.delayed(mixed)(FRAME[["a", "city", "label"]].astype({"city": object}), k) for k in range(2)]
        frame = dd.from_delayed(
            parts, meta=FRAME[["a", "city", "label"]].astype({"city": object}).head(0), verify_meta=False
        )
        with pytest.raises(DataError, match=r"the dataframe: its partitions differ: .*city"):
            distributed.fit(Perceptron(**HOW), frame)


def test_without_dask_all_but_clusters_is_there():
    program = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = sys.modules['pyarrow'] = None\n"
        "from linsep import Perceptron, distributed\n"
        "try: distributed.fit(Perceptron(), 'rows.svm', client='tcp://127.0.0.1:1')\n"
        "except ImportError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'linsep[dask]'" in told


class TestCluster:
    """The same on worker processes."""

    def test_arrays(self, client, tmp_path):
        times = tmp_path / "times"
        blocks = counted(times, da.from_array(X, chunks=(10, -1)))
        how = {**HOW, "shuffle": True}
        learner = distributed.fit(AveragedPerceptron(**how), blocks, da.from_array(Y, chunks=17), client=client)
        assert len(times.read_text()) == 12
        same(learner, distributed.fit(AveragedPerceptron(**how), da.from_array(X, chunks=(10, -1)), Y))
        assert not client.who_has()  # nothing is left on the workers
        scores = distributed.predict(learner, blocks, client=client, what="scores")
        assert_array_equal(scores, learner.decision_function(X))
        assert distributed.evaluate(learner, blocks, Y, client=client).rows == ROWS

    def test_shards_are_kept_by_workers_alone(self, client):
        from linsep.distributed.cluster import Cluster

        source = source_of(da.from_array(X, chunks=(10, -1)), Y, {}, Cluster(client))
        tasks = source.shards(SHARDS)
        assert [task.name for task in tasks] == [f"partitions {k} to {k + 2}" for k in range(0, 12, 3)]
        futures = [task.shard for task in tasks]
        client.gather(client.map(lambda rows: rows.nbytes, futures))
        held = client.who_has(futures)
        assert all(len(workers) == 1 for workers in held.values())
        assert len(set(held.values())) == 2

    def test_collections_that_workers_have_already(self, client):
        kept = client.persist(da.from_array(X, chunks=(30, -1)))
        same(distributed.fit(AveragedPerceptron(**HOW), kept, Y, client=client), in_memory())
        with pytest.raises(ValueError, match="kept by the workers of a cluster: give client="):
            distributed.fit(AveragedPerceptron(**HOW), kept, Y)
        frame = client.persist(dd.from_pandas(FRAME, npartitions=4))
        expected = distributed.fit(Perceptron(**HOW), dd.from_pandas(FRAME, npartitions=4))
        assert_array_equal(distributed.predict(expected, frame, client=client), expected.predict(linsep.read(FRAME).X))

    def test_dataframes(self, client):
        options = {"text": "said", "vocabulary": True, "idf": True}
        frame = dd.from_pandas(FRAME, npartitions=8)
        learner = distributed.fit(Perceptron(**HOW), frame, client=client, **options)
        same(learner, distributed.fit(Perceptron(**HOW), frame, **options))
        assert_array_equal(distributed.predict(learner, frame, client=client), distributed.predict(learner, frame))

    def test_faults_are_told(self, client):
        bad = X.copy()
        bad[77, 3] = np.nan
        with pytest.raises(ValueError, match=r"contains NaN \(row 77, column 3\)"):
            distributed.fit(Perceptron(**HOW), da.from_array(bad, chunks=(10, -1)), Y, client=client)
        frame = dd.from_pandas(FRAME.assign(a=bad[:, 3]), npartitions=4)
        with pytest.raises(DataError, match="partition 2, line 18: '' in column 'a'"):
            distributed.fit(Perceptron(**HOW), frame, client=client)

    @pytest.mark.parametrize("count", [1, 2])
    def test_workers_are_lost_with_their_shards(self, client, count):
        """One of two, or both at once: then nobody is left for whom the scheduler could make shards again."""
        client.wait_for_workers(2, timeout=60)
        killed = []

        def kill(progress):
            if progress.epoch == 2 and not killed:
                killed.extend(list(client.run(os.getpid).values())[:count])
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        blocks = da.from_array(X, chunks=(10, -1))
        learner = distributed.fit(AveragedPerceptron(**HOW), blocks, Y, client=client, progress=kill)
        assert len(killed) == count
        same(learner, in_memory())
