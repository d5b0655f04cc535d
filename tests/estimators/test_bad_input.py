"""Bad data: each is refused with its place and its cure, in every method that meets it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep import PassiveAggressive, Perceptron
from linsep.validation.errors import ParameterError
from tests.contracts.table import build, every_learner, problem, quiet, state, trace

X, y = problem(n=12, p=3)


def trained(**more):
    return Perceptron(**more).partial_fit(X, y)


def spoiled(value, row=7, column=2):
    rows = X.copy()
    rows[row, column] = value
    return rows


def ways(rows, labels=y):
    """fit, partial_fit and predict on the same rows."""
    yield lambda: Perceptron().fit(rows, labels)
    yield lambda: Perceptron(multi_class="joint").fit(rows, labels)
    yield lambda: Perceptron().partial_fit(rows, labels)
    yield lambda: trained().partial_fit(rows, labels)
    yield lambda: trained().predict(rows)
    yield lambda: trained().decision_function(rows)
    yield lambda: trained().score(rows, labels)


def refused(rows, reason, labels=y, kind=ValueError):
    for use in ways(rows, labels):
        with pytest.raises(kind, match=reason):
            use()


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, csr_array])
def test_nan_and_infinity_are_named_by_row_and_column(form):
    refused(form(spoiled(np.nan)), r"NaN \(row 7, column 2\): fill missing values in, or drop the row")
    refused(form(spoiled(np.inf)), r"infinity .*\(row 7, column 2\)")
    refused(form(spoiled(-np.inf)), r"infinity .*\(row 7, column 2\)")


@every_learner
def test_nan_is_found_by_every_learner(name):
    for rows in (spoiled(np.nan), csr_array(spoiled(np.nan))):
        with pytest.raises(ValueError, match=r"NaN \(row 7, column 2\)"):
            build(name).fit(rows, y)
        with pytest.raises(ValueError, match=r"NaN \(row 7, column 2\)"):
            quiet(build(name).fit, X, y).predict(rows)


@every_learner
def test_overflow_says_to_divide_by_one_factor(name):
    """At 1e308 a score, a sum of rows or the square of a row is beyond float64."""
    huge = 1e308 * np.sign(X)
    with pytest.raises(ValueError, match="too large for float64: divide all of X by one factor"):
        quiet(build(name).fit, huge, y)


def test_overflow_in_answers():
    learner = Perceptron(fit_intercept=False).partial_fit([[2.0, 2.0], [-1.0, -1.0]], [1, 0])
    with pytest.raises(ValueError, match="too large for float64: divide all of X by one factor"):
        learner.predict([[1e308, 1e308]])


def test_empty_data():
    refused(X[:0], r"0 sample\(s\).*minimum of 1", y[:0])
    refused(X[:, :0], r"0 feature\(s\).*minimum of 1")
    refused(csr_array(X[:0]), r"0 sample\(s\).*minimum of 1", y[:0])
    refused([], "Expected 2D array|0 sample", [])


def test_wrong_shapes():
    refused(X[0], "Expected 2D array, got 1D")
    refused(X[None], "dim 3")
    refused(X + 1j, "Complex data not supported")
    refused([["a", "b", "c"]] * 12, "could not convert string to float")


def test_one_class_only():
    for labels, name in ((np.zeros(12, int), "0"), (["solo"] * 12, "solo")):
        with pytest.raises(ValueError, match=f"only one class, .*{name}.*needs two classes at least"):
            Perceptron().fit(X, labels)
    assert Perceptron().partial_fit(X, np.full(12, 5)).predict(X).tolist() == [5] * 12
    with pytest.raises(ParameterError, match=r"only one class, .*: name two at least, or leave it out"):
        Perceptron().partial_fit(X, y, classes=[1])


@pytest.mark.parametrize(
    "labels",
    [np.array([0, "one"] * 6, object), [0, "one"] * 6, np.array([0, None] * 6, object)],
    ids=["array", "list", "None"],
)
def test_labels_of_mixed_types(labels):
    """A list too: numpy would make words of its numbers without a word."""
    for method in (Perceptron().fit, Perceptron().partial_fit):
        with pytest.raises(ValueError, match=r"mixes labels of different types .*: give all of them one type"):
            quiet(method, X, labels)


@pytest.mark.parametrize("by_one", [False, True])
def test_labels_of_another_type_may_not_arrive_late(by_one):
    learner = trained()
    before = state(learner)
    with pytest.raises(ValueError, match="type"):
        learner.learn_one(X[0], "a") if by_one else learner.partial_fit(X[:2], ["a", "b"])
    assert state(learner) == before


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (y + 0.5, "Unknown label type: continuous"),
        (np.where(y == 1, np.nan, 0.0), "y contains NaN"),
        (np.where(y == 1, np.inf, 0.0), "y contains .*infinity"),
        (None, "requires y to be passed"),
        (np.column_stack([y, y]), "1d array"),
        (y[:5], "12 rows and y has 5 labels"),
    ],
    ids=["reals", "NaN", "infinity", "none", "two columns", "too few"],
)
def test_labels_that_are_no_classes(labels, reason):
    for method in (Perceptron().fit, Perceptron().partial_fit):
        with pytest.raises(ValueError, match=reason):
            method(X, labels)


def test_unknown_labels():
    named = Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"label .*7.* not among the classes .*name all classes in the first call"):
        named.partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match="label 7 is not among the classes"):
        named.learn_one(X[0], 7)
    with pytest.raises(ValueError, match=r"label .*7.* not among"):
        quiet(Perceptron().fit, X, y).partial_fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"label .*7.* not among"):
        quiet(Perceptron(warm_start=True).fit, X, y).fit(X[:2], [0, 7])
    with pytest.raises(ValueError, match=r"label .*1.* not among"):
        Perceptron().partial_fit(X, y, classes=[0, 2])


def test_classes_may_not_change():
    named = Perceptron().partial_fit(X, y, classes=[0, 1])
    named.partial_fit(X, y, classes=[1, 0])
    with pytest.raises(ParameterError, match=r"classes=.*2.* differ from those of the first call"):
        named.partial_fit(X, y, classes=[0, 1, 2])


def test_a_changed_feature_count():
    learner = trained()
    for use in (lambda: learner.partial_fit(X[:, :2], y), lambda: learner.predict(X[:, :2])):
        with pytest.raises(ValueError, match=r"2 features.*expecting 3 features"):
            use()


@pytest.mark.parametrize("index", [3, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_indices_out_of_range_are_named(index, wide):
    rows = csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(wide), rows.indptr.astype(wide)
    rows.indices[rows.indptr[7]] = index
    refused(rows, f"column index {index} in row 7, but only 3 columns")


@every_learner
def test_indices_out_of_range_are_found_by_every_learner(name):
    for index in (3, -1, 2**30):
        rows = csr_array(X)
        rows.indices[rows.indptr[7]] = index
        with pytest.raises(ValueError, match=f"column index {index} in row 7"):
            build(name).fit(rows, y)
        with pytest.raises(ValueError, match=f"column index {index} in row 7"):
            build(name).fit(rows, y, sample_weight=np.arange(12) != 7)
        with pytest.raises(ValueError, match=f"column index {index} in row 7"):
            quiet(build(name).fit, X, y).predict(rows)


@pytest.mark.parametrize("change", [{1: 90}, {0: 1}, {-1: 90}, {3: -1}, {2: 0}])
def test_indptr_that_describes_no_rows(change):
    rows = csr_array(np.abs(X) + 1)
    for place, end in change.items():
        rows.indptr[place] = end
    refused(rows, "X.indptr does not describe rows of X.indices and X.data: check X with X.check_format")


def test_data_shorter_than_indices():
    rows = csr_array(X)
    rows.data = rows.data[:-2]
    refused(rows, "X.indptr does not describe rows")


def test_bad_weights():
    for method in (Perceptron().fit, Perceptron().partial_fit, trained().partial_fit):
        for weights, reason in (
            (np.full(12, -1.0), "Negative values in data passed to `sample_weight`"),
            (np.full(12, np.nan), "sample_weight contains NaN"),
            (np.full(12, np.inf), "sample_weight contains infinity"),
            (np.zeros(12), "non-zero|nothing to learn from"),
            (np.ones(5), r"sample_weight.shape == \(5,\), expected \(12,\)"),
        ):
            with pytest.raises(ValueError, match=reason):
                method(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ({0: -1.0}, "[Nn]egative|below 0"),
        ({0: np.nan}, "NaN|class_weight"),
        ({0: 0.0, 1: 0.0}, "every row has weight zero: there is nothing to learn from"),
        ({0: 1.0, 5: 2.0}, "5|not in class_weight"),
    ],
)
def test_bad_class_weights(weights, reason):
    with pytest.raises(ValueError, match=reason):
        quiet(Perceptron(class_weight=weights).fit, X, y)


def test_a_weighted_batch_after_one_without_weights():
    """The log so far has no amounts: one that was asked for is not given up, an automatic one is, and says so."""
    learner = trained(log=True)
    before = trace(learner)
    with pytest.raises(ValueError, match='the log so far has no amounts; pass log="auto"'):
        learner.partial_fit(X, y, sample_weight=np.full(12, 2.0))
    assert trace(learner) == before
    learner = trained(log="auto").partial_fit(X, y, sample_weight=np.full(12, 2.0))
    with pytest.raises(AttributeError, match="sample weights after rows without them"):
        _ = learner.log_
    trained(log=False).partial_fit(X, y, sample_weight=np.full(12, 2.0))
    PassiveAggressive().partial_fit(X, y).partial_fit(X, y, sample_weight=np.full(12, 2.0))


@pytest.mark.parametrize("bad", [[[np.nan, 1.0]], [[np.inf, 1.0]]])
def test_pairs_look_at_rows_although_there_is_no_rival_yet(bad):
    learner = Perceptron(multi_class="joint")
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        learner.partial_fit(bad, [0])
    with pytest.raises(ValueError, match=r"nan|inf"):
        learner.learn_one(bad[0], 0)
    assert not hasattr(learner, "classes_")
