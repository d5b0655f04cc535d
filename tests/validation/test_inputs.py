"""Inputs of every kind: the same numbers are the same data, and canonical ones are not copied."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from linsep import PassiveAggressive, Perceptron, certify
from linsep.engine.data_kinds import Csr, Dense
from linsep.evaluation.scoring import Scoring
from linsep.transforms import ScaleColumns
from linsep.validation.errors import InvalidDataError
from linsep.validation.inputs import canonical
from tests.contracts.table import answers, bits, log, problem, quiet, trace

X, y = problem(n=30, p=5)
NAMES = ["ape", "bee", "cat", "dog", "elk"]


def fitted(data, labels=y):
    return quiet(Perceptron(max_iter=4, random_state=0).fit, data, labels)


@cache
def plain():
    """What every other form of the rows is compared with."""
    return fitted(X)


def int64_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def scattered(matrix):
    """The same rows with each entry split into two halves, stored in falling order."""
    halves = [(2 * i, j, v / 2) for i, j, v in zip(*sp.find(matrix), strict=True) for _ in range(2)]
    rows = [sorted(((j, v) for i, j, v in halves if i == 2 * r), reverse=True) for r in range(matrix.shape[0])]
    indices, values = (np.array([e[k] for row in rows for e in row]) for k in (0, 1))
    indptr = np.cumsum([0, *map(len, rows)])
    return sp.csr_array((values, indices.astype(np.int32), indptr.astype(np.int32)), shape=matrix.shape)


ARRAYS = {
    "Fortran order": np.asfortranarray(X),
    "every other column": np.repeat(X, 2, axis=1)[:, ::2],
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "int64": X.astype(np.int64),
    "int8": X.astype(np.int8),
    "object": X.astype(object),
    "big endian": X.astype(">f8"),
    "a list": X.tolist(),
    "a list of rows": list(X),
    "csr": sp.csr_array(X),
    "csr_matrix": sp.csr_matrix(X),
    "csr, int64 indices": int64_indices(sp.csr_array(X)),
    "csr float32": sp.csr_array(X.astype(np.float32)),
    "csr float32, int64 indices": int64_indices(sp.csr_array(X.astype(np.float32))),
    "csr of integers": sp.csr_array(X.astype(np.int64)),
    "csr, duplicates in falling order": scattered(sp.csr_array(X)),
    "csr, stored zeros": sp.csr_array((X.ravel(), np.tile(np.arange(5), 30), np.arange(0, 151, 5)), shape=X.shape),
    "csc": sp.csc_array(X),
    "coo": sp.coo_array(X),
    "lil": sp.lil_array(X),
    "dok": sp.dok_array(X),
    "pandas": pd.DataFrame(X, columns=NAMES),
    "pandas integers": pd.DataFrame(X.astype(int), columns=NAMES),
    "polars": pl.DataFrame(X, schema=NAMES),
    "pyarrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
}
TABLES = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("kind", ARRAYS)
def test_the_same_numbers_are_the_same_data(kind):
    learner = fitted(ARRAYS[kind])
    assert trace(learner) == trace(plain())
    assert bits(learner.decision_function(ARRAYS[kind])) == bits(plain().decision_function(X))


def test_booleans():
    learner = fitted(X > 0)
    assert trace(learner) == trace(fitted((X > 0).astype(float)))
    assert trace(learner) == trace(fitted(sp.csr_array(X > 0)))


def test_read_only_memory_map(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert not mapped.flags.writeable
    assert trace(fitted(mapped)) == trace(plain())


def test_read_only_sparse_memory_map(tmp_path):
    parts = sp.csr_array(X)
    mapped = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / name, getattr(parts, name))
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    assert trace(fitted(sp.csr_array(tuple(mapped), shape=X.shape))) == trace(plain())


def test_duplicates_are_summed_for_a_rule_that_reads_the_norm():
    """||x||² of split entries is not the sum of their squares."""
    whole, split = sp.csr_array(X), scattered(sp.csr_array(X))
    learners = [PassiveAggressive(shuffle=False, C=10).partial_fit(d, y, classes=[0, 1]) for d in (whole, split)]
    np.testing.assert_allclose(learners[1].coef_, learners[0].coef_, rtol=1e-12)
    assert split.nnz == 2 * whole.nnz
    once = PassiveAggressive().grow(5).learn_one(([2, 0, 2], [1.0, 1.0, 3.0]), 1)
    same = PassiveAggressive().grow(5).learn_one(([0, 2], [1.0, 4.0]), 1)
    assert answers(once) == answers(same)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64])
@pytest.mark.usefixtures("types_as_they_are")
def test_canonical_data_are_not_copied(index, value):
    dense = X.astype(value)
    seen = canonical(Perceptron(), dense, bias=1.0, reset=True)
    assert isinstance(seen, Dense)
    assert np.shares_memory(seen.values, dense)
    sparse = sp.csr_array(dense)
    sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
    seen = canonical(Perceptron(), sparse, bias=1.0, reset=True)
    assert isinstance(seen, Csr)
    for part, name in ((seen.values, "data"), (seen.indices, "indices"), (seen.indptr, "indptr")):
        assert np.shares_memory(part, getattr(sparse, name))


def test_little_data_become_what_is_compiled_already():
    """Indices that int32 does not hold stay as they are, for the error that names them."""
    far = int64_indices(sp.csr_array(X.astype(np.float32)))
    seen = canonical(Perceptron(), far, bias=1.0, reset=True)
    assert (seen.values.dtype, seen.indices.dtype, seen.indptr.dtype) == (np.float64, np.int32, np.int32)
    assert canonical(Perceptron(), X.astype(np.float32), bias=1.0, reset=True).values.dtype == np.float64
    far.indices[3] = 2**32 + 1
    assert canonical(Perceptron(), far, bias=1.0, reset=True).indices.dtype == np.int64
    much = np.zeros((200_000, 2), np.float32)
    assert np.shares_memory(canonical(Perceptron(), much, bias=1.0, reset=True).values, much)


@pytest.mark.slow
@pytest.mark.usefixtures("types_as_they_are")
@pytest.mark.parametrize("kind", ["float32", "csr float32, int64 indices"])
def test_types_that_are_read_as_they_are(kind):
    """Two classes and three, learned and scored: to the bit what float64 and int32 give."""
    for labels in (y, y + (X[:, 0] > 1)):
        learner, wide = fitted(ARRAYS[kind], labels), fitted(X if kind == "float32" else sp.csr_array(X), labels)
        assert trace(learner) == trace(wide)
        assert bits(learner.decision_function(ARRAYS[kind])) == bits(wide.decision_function(X))


def test_training_writes_to_nothing_it_was_given():
    data, labels, weights = X.copy(), y.copy(), np.full(len(y), 2.0)
    sparse = scattered(sp.csr_array(X))
    before = [a.tobytes() for a in (data, labels, weights, sparse.data, sparse.indices, sparse.indptr)]
    for rows in (data, sparse):
        quiet(Perceptron(random_state=0, class_weight={0: 2.0}).fit, rows, labels, sample_weight=weights)
        PassiveAggressive().partial_fit(rows, labels, sample_weight=weights)
    assert [a.tobytes() for a in (data, labels, weights, sparse.data, sparse.indices, sparse.indptr)] == before
    assert data.flags.writeable


@pytest.mark.parametrize("kind", TABLES)
def test_names_of_features_are_kept(kind):
    table = ARRAYS[kind]
    learner = fitted(table)
    assert learner.feature_names_in_.tolist() == NAMES
    assert learner.predict(table).tolist() == plain().predict(X).tolist()
    assert learner.predict_one(dict(zip(NAMES, X[0], strict=True))) == plain().predict(X[:1])[0]
    assert learner.predict_one({"elk": X[0, 4], "unheard": 1.0}) == plain().predict(X[:1] * [0, 0, 0, 0, 1])[0]
    assert Perceptron().partial_fit(table, y).feature_names_in_.tolist() == NAMES


def columns(kind, names):
    """The table with its columns under other names, or in another order."""
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](
        {name: X[:, j] for j, name in enumerate(names)}
    )


@pytest.mark.parametrize("kind", TABLES)
def test_wrong_names_are_refused(kind):
    learner = Perceptron().partial_fit(ARRAYS[kind], y)
    before = trace(learner)
    for use in (learner.predict, lambda table: learner.partial_fit(table, y)):
        with pytest.raises(ValueError, match=r"(?s)names should match.*must be in the same order"):
            use(columns(kind, NAMES[::-1]))
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*fox"):
            use(columns(kind, [*NAMES[:4], "fox"]))
    assert trace(learner) == before


TEXT = {"ape": [1.0, 2.0], "bee": [3.0, 4.0], "cat": ["5", "six"]}
DATES = {"ape": [1.0, 2.0], "bee": np.array(["2020-01-01", "2020-01-02"], "datetime64[ms]")}


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_text_among_numbers_is_refused_with_its_place(table):
    with pytest.raises(
        InvalidDataError, match=r"'six' \(row 1, column 'cat'\): convert the column to numbers, or drop it"
    ):
        Perceptron().fit(table(TEXT), [0, 1])
    with pytest.raises(InvalidDataError, match=r"'six'\)? \(row 1, column 2\)"):
        Perceptron().fit([[1.0, 3.0, "5"], [2.0, 4.0, "six"]], [0, 1])
    with pytest.raises(TypeError, match=r"argument must be .* 'dict' \(row 0, column 1\)"):
        Perceptron().fit(np.array([[1.0, {}], [2.0, 3.0]], object), [0, 1])


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("names", [["ape", "bee"], ["bee"]])
def test_dates_are_not_learned_as_numbers(table, names):
    rows = table({name: DATES[name] for name in names})
    with pytest.raises(InvalidDataError, match=r"the column 'bee' of X has dates or durations .* drop the column"):
        Perceptron().fit(rows, [0, 1])
    with pytest.raises(InvalidDataError, match=r"X has dates or durations"):
        ScaleColumns().fit(DATES["bee"][:, None])
    with pytest.raises(InvalidDataError, match="dates or durations"):
        Perceptron().fit(pd.DataFrame({"bee": pd.to_timedelta([1, 2])}), [0, 1])


def test_rows_of_no_learner_are_refused_without_a_learner_s_name():
    for rows in (np.empty((0, 2)), np.empty((2, 0))):
        with pytest.raises(InvalidDataError, match=r"0 (sample|feature)\(s\) .* minimum of 1 is required\.$"):
            certify(rows, np.zeros(len(rows)))


def test_names_and_no_names_do_not_mix_silently():
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted(ARRAYS["pandas"]).predict(X)
    with pytest.warns(UserWarning, match="X has feature names"):
        fitted(X).predict(ARRAYS["pandas"])
    assert not hasattr(plain(), "feature_names_in_")


LABELS = {
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], object),
    "booleans": np.array([False, True]),
    "negative integers": np.array([-7, -3]),
    "large integers": np.array([2**62, 2**62 + 1]),
    "unsigned integers": np.array([200, 255], np.uint8),
    "whole floats": np.array([-1.0, 2.0]),
    "Python integers": np.array([-(10**6), 10**6], object),
    "far apart": np.array([-(2**62), 2**62]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind):
    """The numbering is the order of the labels; the answers have their type."""
    names = LABELS[kind]
    learner = fitted(X, names[y])
    assert learner.classes_.tolist() == names.tolist()
    assert learner.predict(X).tolist() == names[plain().predict(X)].tolist()
    assert learner.predict(X).dtype == names.dtype
    assert bits(learner.coef_) == bits(plain().coef_)
    chunk = Perceptron().partial_fit(X, names[y])
    assert log(chunk) == log(Perceptron().partial_fit(X, y))
    assert fitted(X, names[y].tolist()).predict(X).tolist() == names[plain().predict(X)].tolist()


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_may_arrive_late(kind):
    names = LABELS[kind]
    first, second = names.tolist()
    learner, by_one = Perceptron().partial_fit(X[:1], names[:1]), Perceptron().learn_one(X[0], first)
    learner.partial_fit(X[1:3], names[[1, 0]])
    by_one.learn_one(X[1], second).learn_one(X[2], first)
    assert learner.classes_.tolist() == by_one.classes_.tolist() == names.tolist()
    assert bits(by_one.coef_) == bits(learner.coef_)
    assert by_one.predict_one(X[0]) == learner.predict(X[:1])[0]


ROW_FORMS = {
    "as before": lambda a: a,
    "read-only": lambda a: np.broadcast_to(a.copy(), a.shape),
    "with gaps": lambda a: np.repeat(a, 3)[::3],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "the other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "a type of its own": lambda a: np.frombuffer(a.tobytes(), np.dtype(a.dtype.str, metadata={"unit": "m"})),
    "wider": lambda a: a.astype(np.int64 if a.dtype.kind == "i" else np.float64),
    "a list": lambda a: a.tolist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ROW_FORMS)
def test_single_rows_in_any_form(form):
    """The compiled pass is called without a look at its arguments' types once it is known: every other form is seen."""
    change = ROW_FORMS[form]
    learner, same = Perceptron().partial_fit(X, y), Perceptron().partial_fit(X, y)
    for x, label in zip(X[::-1], y, strict=True):
        indices = np.flatnonzero(x).astype(np.int32)
        row = indices, x[indices].astype(np.float32)
        same.learn_one(row, label)
        learner.learn_one(row, label) if label else learner.learn_one((change(row[0]), change(row[1])), label)
    assert trace(learner) == trace(same)


@pytest.mark.parametrize("x", [(np.eye(3, dtype=int), np.eye(3)), (np.array([0, 1]), np.ones((2, 1))), ((), ())])
def test_single_rows_of_other_shapes_after_good_ones(x):
    learner = Perceptron().partial_fit(X, y).learn_one((np.array([0]), np.ones(1)), 0)
    if len(x[0]):
        with pytest.raises(ValueError, match="1-d"):
            learner.learn_one(x, 0)
    else:
        assert learner.learn_one(x, 0).t_ == len(X) + 2


def test_questions_between_single_rows_change_nothing():
    """A question trims the room that names have been given; what is learned after it is not lost."""
    asked, silent = Perceptron(), Perceptron()
    for k, (x, label) in enumerate(zip(X, y, strict=True)):
        row = {f"feature {j % (k + 1)}": value for j, value in enumerate(x)}
        asked.learn_one(row, label).coef_.sum()
        silent.learn_one(row, label)
    assert bits(asked.coef_) == bits(silent.coef_)
    assert asked.mistakes_ == silent.mistakes_


def test_labels_as_a_column_or_a_series():
    for labels in (pd.Series(y), pl.Series(y), y.tolist(), tuple(y)):
        assert trace(fitted(X, labels)) == trace(plain())
    with pytest.warns(Warning, match="column-vector y was passed"):
        assert trace(fitted(X, y[:, None])) == trace(plain())


def test_rows_of_one_learner_may_come_in_any_form():
    """learn_one: a dict of columns, indices and values, or an array."""
    learners = [Perceptron(log=True).grow(5) for _ in range(4)]
    for x, label in zip(X, y, strict=True):
        at = np.flatnonzero(x)
        learners[0].learn_one(x, label)
        learners[1].learn_one((at, x[at]), label)
        learners[2].learn_one((at[::-1].tolist(), x[at][::-1].tolist()), label)
        learners[3].learn_one(dict(zip(at.tolist(), x[at].tolist(), strict=True)), label)
    assert all(trace(learner) == trace(learners[0]) for learner in learners[1:])
    named = Perceptron(log=True)
    for x, label in zip(X, y, strict=True):
        named.learn_one({NAMES[j]: x[j] for j in np.flatnonzero(x)}, label)
    order = [NAMES.index(name) for name in named.feature_names_in_]
    assert bits(named.coef_[:, np.argsort(order)]) == bits(learners[0].coef_)
    assert bits(named.mistakes_) == bits(learners[0].mistakes_)


def test_strings_of_numpy_and_of_python_are_one_type():
    names = ["a", np.str_("b")]
    assert fitted(X, [names[label] for label in y]).classes_.tolist() == ["a", "b"]


def test_sparse_parts_with_gaps():
    rows = sp.csr_array(X)
    rows.data, rows.indices = np.repeat(rows.data, 2)[::2], np.repeat(rows.indices, 2)[::2]
    assert trace(fitted(rows)) == trace(fitted(sp.csr_array(X)))


def test_a_sparse_row():
    learner = Perceptron().partial_fit(X, y)
    assert [learner.predict_one(sp.csr_array(x[None])) for x in X] == learner.predict(X).tolist()


def test_a_label_that_ends_with_nul_is_not_another_label():
    """In an array of text it would be."""
    names = np.array(["a", "a\0"], object)[y]
    for labels in (names, names.tolist(), tuple(names.tolist()), pd.Series(names)):
        for learn in (Perceptron().fit, Perceptron().partial_fit):
            with pytest.raises(ValueError, match=r"y has the label 'a\\x00', which ends with a NUL .*: remove it"):
                learn(X, labels)
    known = Perceptron().partial_fit(X, np.array(["a", "b"])[y])
    with pytest.raises(ValueError, match="ends with a NUL"):
        known.learn_one(X[0], "a\0")
    assert fitted(X, np.array(["a", "a\0b"], object)[y]).classes_.tolist() == ["a", "a\0b"]


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_sparse_format_is_read_everywhere(form):
    for kind in ("array", "matrix"):
        rows = getattr(sp, f"{form}_{kind}")(X)
        learner = fitted(rows)
        assert bits(learner.coef_) == bits(plain().coef_)
        assert learner.predict(rows).tolist() == plain().predict(X).tolist()
        assert bits(Perceptron().partial_fit(rows, y).coef_) == bits(Perceptron().partial_fit(X, y).coef_)
        assert certify(rows, y).verdict == certify(X, y).verdict
        assert (ScaleColumns().fit(rows).transform(rows) != sp.csr_array(ScaleColumns().fit_transform(X))).nnz == 0


@pytest.mark.parametrize("form", ["csr", "dok", "lil"])
def test_a_certificate_of_any_sparse_format_is_of_the_rows_themselves(form):
    with pytest.raises(ValueError, match=r"9007199254740993, which no float of 64 bits equals"):
        certify(getattr(sp, f"{form}_array")(np.array([[2**53 + 1, 0], [0, 1]])), [0, 1])


def test_an_integer_among_objects_that_no_float_holds_is_an_error():
    huge = np.array([[10**400, 1], [0, 1]], object)
    for use in (lambda: fitted(huge, [0, 1]), lambda: ScaleColumns().fit(huge)):
        with pytest.raises(ValueError, match="an integer too large for float64"):
            use()
    with pytest.raises(ValueError, match=r"row 0, column 0 holds 1000.*, too large for a float"):
        certify(huge, [0, 1])


def test_labels_among_objects_are_the_same_labels():
    """An array of dtype object that holds numbers is an array of numbers to a learner that knows numbers."""
    names = np.array([-1, 1])
    learner = Perceptron().partial_fit(X, names[y])
    learner.partial_fit(X, names[y].astype(object))
    assert bits(learner.coef_) == bits(Perceptron().partial_fit(X, y).partial_fit(X, y).coef_)
    scores = Scoring(names).add(names.astype(object), names).result()
    assert (scores.rows, scores.wrong) == (2, 0)
    with pytest.raises(ValueError, match="of another type"):
        learner.partial_fit(X, np.array(["no", "yes"], object)[y])


def test_labels_that_are_sequences_are_refused():
    pairs = np.empty(len(y), object)
    pairs[:] = [(label,) for label in y.tolist()]
    with pytest.raises(ValueError, match=r"y has the label \(\d,\): give strings or numbers"):
        fitted(X, pairs)


def test_columns_may_have_the_names_of_attributes():
    names = ["column_names", "items", "columns", "dtype", "format"]
    assert fitted(pd.DataFrame(X, columns=names)).coef_.tolist() == plain().coef_.tolist()
