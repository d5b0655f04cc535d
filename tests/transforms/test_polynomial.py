"""Products of features: scikit-learn's PolynomialFeatures, and products written out in Python, are the references."""

import math
import tracemalloc
from itertools import combinations, combinations_with_replacement
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from linsep import Perceptron
from linsep.transforms import Polynomial
from linsep.transforms.polynomial import Monomials
from tests.transforms.forms import dense, rows

degrees = st.one_of(st.integers(1, 5), st.tuples(st.integers(0, 3), st.integers(3, 5)))


def written_out(X, terms):
    return np.array([[math.prod(row[j] for j in term) for term in terms] for row in X.tolist()])


@pytest.mark.slow
@given(X=rows(), degree=degrees, interaction_only=st.booleans(), include_bias=st.booleans())
def test_as_scikit_learn_does_it(X, degree, interaction_only, include_bias):
    theirs = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=include_bias).fit(X)
    assume(theirs.n_output_features_ > 0)  # else an error, as below
    ours = Polynomial(degree, interaction_only, include_bias).fit(X)
    assert ours.n_features_out_ == theirs.n_output_features_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    expected = theirs.transform(X)
    for kind in (np.array, csr_array, csr_matrix):
        np.testing.assert_allclose(dense(ours.transform(kind(X))), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("degree", [(3, 3), (3, 5), (4, 4)])
def test_products_of_more_columns_than_there_are(degree):
    with pytest.raises(ValueError, match="makes no product"):
        Polynomial(degree, interaction_only=True).fit([[1.0, 2.0]])


@given(X=rows(), degree=degrees, interaction_only=st.booleans())
def test_dense_and_sparse_agree_to_the_bit(X, degree, interaction_only):
    form = Polynomial(degree, interaction_only, include_bias=True).fit(X)
    terms = list(form._products())
    for result in (form.transform(X), form.transform(csr_array(X)).toarray()):
        assert np.array_equal(result, written_out(X, terms))


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize(("width", "low", "high"), [(1, 1, 6), (2, 1, 5), (5, 2, 4), (7, 1, 3), (4, 4, 4)])
def test_every_column_has_its_term(width, low, high, repeats):
    products = Monomials(width, low, high, True, repeats)
    choose = combinations_with_replacement if repeats else combinations
    expected = [(), *(term for m in range(low, high + 1) for term in choose(range(width), m))]
    assert list(products) == expected
    assert [products.term(k) for k in range(products.columns)] == expected


@pytest.mark.parametrize(("degree", "interaction_only"), [(2, False), (2, True), (3, False), (3, True), (4, False)])
def test_wide_sparse_rows(degree, interaction_only):
    """100,000 columns: the numbers of their products need 64 bits, and no memory is taken for those that are 0."""
    width, rng = 100_000, np.random.default_rng(degree)
    stored = [np.sort(rng.choice(width, k, replace=False)) for k in (4, 0, 1, 6, 3)]
    stored[0][[0, -1]] = 0, width - 1
    indptr = np.cumsum([0, *map(len, stored)])
    X = csr_array((rng.integers(1, 9, indptr[-1]).astype(float), np.concatenate(stored), indptr), shape=(5, width))
    form = Polynomial(degree, interaction_only).fit(X)
    tracemalloc.start()
    result = form.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
    assert result.indices.dtype == result.indptr.dtype == np.int64
    theirs = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False)
    assert result.shape == (5, theirs.fit(X).n_output_features_)
    assert np.all(np.diff(result.indices)[np.diff(np.repeat(np.arange(5), np.diff(result.indptr))) == 0] > 0)
    if degree < 4:
        expected = csr_array(theirs.transform(X))
        expected.sort_indices()
        assert np.array_equal(result.indices, expected.indices)
        assert np.array_equal(result.data, expected.data)
    values = X.tolil()
    for i, a in enumerate(result.indptr[:-1]):
        choose = combinations if interaction_only else combinations_with_replacement
        terms = [term for m in range(1, degree + 1) for term in choose(stored[i].tolist(), m)]
        stop = result.indptr[i + 1]
        assert [form._products().term(k) for k in result.indices[a:stop].tolist()] == terms
        assert result.data[a:stop].tolist() == [math.prod(values[i, j] for j in term) for term in terms]
    with pytest.raises(ValueError, match=r"too many: ask name_of"):
        form.get_feature_names_out()
    last = " ".join(f"x{j}" for j in range(width - degree, width)) if interaction_only else f"x{width - 1}^{degree}"
    assert form.name_of(form.n_features_out_ - 1) == last


def test_products_of_nearly_all_columns_take_time_by_their_number():
    """40 columns have 40 products of 39 and 780 of 38, but 2^40 beginnings that nothing can complete."""
    width = 40
    X = np.ones((2, width))
    X[0] = np.arange(width) % 2 + 1
    form = Polynomial((width - 2, width - 1), interaction_only=True).fit(X)
    warm = Polynomial((1, 2), interaction_only=True).fit(X[:, :3])
    for kind in (np.array, csr_array):
        warm.transform(kind(X[:, :3]))
        begin = perf_counter()
        result = form.transform(kind(X))
        assert perf_counter() - begin < 5
        assert np.array_equal(dense(result), written_out(X, list(form._products())))
    assert result.indices.tolist() == 2 * list(range(820))


def test_numbers_near_the_end_of_64_bits():
    """As many columns as have no more than 2^63 - 1 products up to degree 3; and one more."""
    width = next(d for d in range(3_811_000, 0, -1) if math.comb(d + 3, 3) <= 2**63)
    X = csr_array(([2.0, 3.0, 5.0], [0, width - 2, width - 1], [0, 3]), shape=(1, width))
    form = Polynomial(3).fit(X)
    result = form.transform(X)
    assert result.indices[-1] == form.n_features_out_ - 1 < 2**63 - 1
    assert result.data[-1] == 125.0
    assert [form.name_of(k) for k in result.indices.tolist()[-2:]] == [
        f"x{width - 2} x{width - 1}^2",
        f"x{width - 1}^3",
    ]
    with pytest.raises(ValueError, match="too many: lower the degree"):
        Polynomial(3).fit(csr_array((1, width + 1)))
    with pytest.raises(ValueError, match=r"row 1 has 100,000 entries, .* products: lower the degree"):
        Polynomial((4, 4)).fit(csr_array((1, 100_000))).transform(csr_array(np.ones((2, 100_000)) * [[0], [1]]))


def test_more_products_than_memory_holds_are_refused_before_they_are_computed():
    form = Polynomial(1000).fit(np.ones((1, 4)))
    columns = f"{form.n_features_out_:,}"
    with pytest.raises(ValueError, match=f"degree=1000 makes {columns} columns of 4, .*: lower the degree") as caught:
        form.transform(np.ones((2, 4)))
    assert "too many for a dense row" in str(caught.value)
    with pytest.raises(ValueError, match=r"row 1 has 4 entries, .* products: lower the degree"):
        form.transform(csr_array(np.array([[1.0, 0, 0, 0], [1, 1, 1, 1]])))
    assert form.transform(csr_array([[1.0, 0, 0, 0]])).nnz == 1000


def test_blocks_that_are_multiplied_out_in_one_go(monkeypatch):
    X = np.random.default_rng(0).integers(-3, 4, (50, 4)).astype(float)
    form = Polynomial(3, include_bias=True).fit(X)
    expected = form.transform(X)
    for size in (1, 34, 35, 36, 100, 10**6):
        monkeypatch.setattr("linsep.transforms.polynomial.AT_ONCE", size)
        assert np.array_equal(form.transform(X), expected)
        assert np.array_equal(form.transform(csr_array(X)).toarray(), expected)
        assert np.array_equal(form.transform(csr_array(X.astype(np.float32))).toarray(), expected)


TERMS = [
    (["x0", "x1", "x0^5"], [(0,), (1,), (0, 0, 0, 0, 0)]),
    ([(0,), (1,), (0, 0, 0, 0, 0)], [(0,), (1,), (0, 0, 0, 0, 0)]),
    (["1"], [()]),
    ([(), "x2 x0", (2, 1, 2), " x1^1  x1^02 "], [(), (0, 2), (1, 2, 2), (1, 1, 1)]),
    (["x0", "x0"], [(0,), (0,)]),
    ([np.array([2, 0]), [1]], [(0, 2), (1,)]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("terms", "meaning"), TERMS, ids=str)
@settings(max_examples=20)
@given(X=rows(), more=st.integers(0, 3))
def test_terms_by_name(terms, meaning, X, more):
    X = np.hstack([X, X[:, :1] + 1, X[:, ::-1], np.zeros((len(X), more))])[:, : 3 + more]
    form = Polynomial(terms=terms).fit(X)
    expected = written_out(X, meaning)
    assert np.array_equal(form.transform(X), expected)
    for kind in (csr_array, csr_matrix):
        result = form.transform(kind(X))
        assert np.array_equal(result.toarray(), expected)
        assert csr_array((result.data, result.indices, result.indptr), shape=result.shape).has_canonical_format


def test_terms_of_many_rows():
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, (2000, 6)) * (rng.random((2000, 6)) < 0.5).astype(float)
    terms = [(0,), (1, 1, 3), (), (0, 1, 2), (5, 5), (4,)]
    result = Polynomial(terms=terms).fit_transform(csr_array(X))
    assert np.array_equal(result.toarray(), written_out(X, terms))
    assert result.nnz == np.count_nonzero(result.toarray())


def test_names_and_terms_are_one_language():
    X = pd.DataFrame(np.arange(6.0).reshape(2, 3) + 1, columns=["age", "x^2", "height"])
    names = Polynomial(2, include_bias=True).fit(X).get_feature_names_out()
    assert names[:4].tolist() == ["1", "age", "x^2", "height"]
    again = Polynomial(terms=list(names)).fit(X)
    assert again.get_feature_names_out().tolist() == names.tolist() == [again.name_of(k) for k in range(10)]
    assert np.array_equal(again.transform(X), Polynomial(2, include_bias=True).fit_transform(X))
    assert again.name_of(5) == "age x^2"
    assert Polynomial().fit([[1.0, 2.0]]).get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "a^2", "a b", "b^2"]
    with pytest.raises(ValueError, match="column 10 is not one of the 10 columns"):
        again.name_of(10)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([], r"terms=\[\] makes no product"),
        (["x0", "x3"], "'x3' has the factor 'x3', neither a column"),
        (["x0 y"], "'x0 y' has the factor 'y'"),
        (["x0^0"], r"factor 'x0\^0'"),
        (["x0^-1"], r"factor 'x0\^-1'"),
        (["x0^1.5"], "factor"),
        (["x0^"], "factor"),
        (["^2"], "factor"),
        (["x²"], "factor"),
        ([" "], "no factor: write '1'"),
        ([(0, 3)], r"\(0, 3\) is neither a text"),
        ([(-1,)], r"\(-1,\) is neither"),
        ([(0.0,)], "is neither"),
        ([3], "3 is neither"),
        ([None], "None is neither"),
    ],
)
def test_terms_that_mean_nothing(terms, message):
    for X in (np.ones((2, 3)), csr_array(np.ones((2, 3)))):
        with pytest.raises(ValueError, match=message):
            Polynomial(terms=terms).fit(X)


@pytest.mark.parametrize("degree", [(1, 2, 3), (3, 2), (-1, 2), (0, 0), (1.0, 2.0), (1,), "2"])
def test_degrees_that_mean_nothing(degree):
    with pytest.raises(ValueError, match="degree"):
        Polynomial(degree).fit([[1.0, 2.0]])


@pytest.mark.parametrize("more", [{"degree": 3}, {"interaction_only": True}, {"include_bias": True}])
def test_terms_say_it_all(more):
    with pytest.raises(ValueError, match="terms name all products"):
        Polynomial(terms=["x0"], **more).fit([[1.0, 2.0]])


def test_the_feature_map_of_the_lecture():
    """[x1, x2, x1^5] separates what no line does: the points above and below the curve x2 = x1^5 - 2 x1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (400, 2))
    away = X[:, 1] - X[:, 0] ** 5 + 2 * X[:, 0]
    X, y = X[np.abs(away) > 0.3], np.sign(away[np.abs(away) > 0.3])
    mapped = make_pipeline(Polynomial(terms=["x0", "x1", "x0^5"]), Perceptron(max_iter=1000, random_state=0)).fit(X, y)
    assert mapped.score(X, y) == 1.0
    assert Perceptron(max_iter=100, random_state=0).fit(X, y).score(X, y) < 0.95
