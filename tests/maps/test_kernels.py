"""Kernels: equal to their formulas row by row, exact on whole numbers, the same bits for any form and any threads."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.metrics import pairwise
from threadpoolctl import threadpool_info

from linsep.core.examples import Csr, Dense
from linsep.maps import kernels
from linsep.maps.kernels import (
    KernelError,
    Linear,
    OfUser,
    Polynomial,
    Precomputed,
    RadialBasis,
    block_of,
    kernel_matrix,
    kernel_named,
)


def product(A, B):
    return A @ B.T


def histogram(A, B):
    A, B = (X.toarray() if issparse(X) else X for X in (A, B))
    return np.minimum(A[:, None], B[None]).sum(axis=2)


ALL = [
    Linear(),
    Linear(bias=3.0),
    Polynomial(1),
    Polynomial(2, bias=2.0),
    Polynomial(3, gamma=0.5, coef0=-2.0),
    Polynomial(7, coef0=0.0),
    RadialBasis(0.25),
    RadialBasis(2.0, bias=1.5),
    OfUser(product),
    OfUser(histogram, bias=1.0),
]
every = pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: type(kernel).__name__)
forms = list(itertools.product([np.ascontiguousarray, csr_array], repeat=2))
both = pytest.mark.parametrize(("left", "right"), forms, ids=["dense", "dense-csr", "csr-dense", "csr"])


def whole(rows, columns, seed=0, largest=4):
    """Return rows of whole numbers, many of them 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(-largest, largest + 1, (rows, columns)) * (rng.random((rows, columns)) < 0.6) * 1.0


def exact(kernel, x, y):
    """Return K(x, y) from the formula, in fractions where it has a rational value."""
    x, y = ([Fraction(v) for v in row.tolist()] for row in (x, y))
    constant = Fraction(kernel.bias) ** 2
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if isinstance(kernel, Linear):
        return dot + constant
    if isinstance(kernel, Polynomial):
        return (Fraction(kernel.coef0) + Fraction(kernel.gamma) * dot) ** kernel.degree + constant
    if isinstance(kernel, RadialBasis):
        distance = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
        return Fraction(math.exp(-float(Fraction(kernel.gamma) * distance))) + constant
    if kernel.function is product:
        return dot + constant
    return sum(map(min, x, y)) + constant


def table(kernel, A, B):
    values = [[float(exact(kernel, x, y)) for y in B] for x in A]
    return np.array(values).reshape(len(A), len(B))


@every
@both
def test_whole_numbers_are_exact_in_every_form(kernel, left, right, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 4)
    A, B = whole(9, 6), whole(7, 6, seed=1)
    A[0] = B[2] = 0.0
    K = kernel_matrix(kernel, left(A), right(B))
    alone = kernel(left(A), right(B))
    assert K.dtype == alone.dtype == np.float64
    assert alone.flags.c_contiguous
    assert np.array_equal(K, alone)
    if isinstance(kernel, RadialBasis):
        np.testing.assert_allclose(K, table(kernel, A, B), rtol=1e-15)
        assert np.array_equal(K, kernel_matrix(kernel, A, B))
    else:
        assert np.array_equal(K, table(kernel, A, B))


@every
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_the_diagonal_is_that_of_the_matrix(kernel, form, monkeypatch):
    monkeypatch.setattr(kernels, "ALONE", 3)
    A = whole(8, 5)
    diagonal = kernel.diagonal(form(A))
    assert diagonal.dtype == np.float64
    assert np.array_equal(diagonal, np.diagonal(kernel_matrix(kernel, form(A), form(A))))
    assert np.array_equal(diagonal, [float(exact(kernel, x, x)) for x in A])


@pytest.mark.parametrize("degree", [*range(1, 18), 31, 32, 33])
def test_powers_are_exact_as_long_as_float64_is(degree):
    most = int(2 ** (53 / degree))
    values = np.unique([most, most - 1, 3, 2, 1, 0]).astype(float)[:, None]
    K = Polynomial(degree, coef0=0.0)(values, np.ones((1, 1)))
    assert K[:, 0].tolist() == [int(v) ** degree for v in values[:, 0]]


def test_degree_3_on_pixels_beyond_2_to_the_53_is_rounded_little():
    A = np.random.default_rng(0).integers(0, 256, (6, 784)) * 1.0
    expected = table(Polynomial(3), A, A)
    assert expected.max() > 2.0**60
    np.testing.assert_allclose(Polynomial(3)(A, A), expected, rtol=4e-16)


@both
def test_scikit_learn_agrees(left, right):
    rng = np.random.default_rng(3)
    A, B = (rng.normal(size=(n, 20)) * (rng.random((n, 20)) < 0.5) for n in (30, 40))
    ours = [Linear(), Polynomial(3, 0.7, 1.3), RadialBasis(0.3)]
    theirs = [
        pairwise.linear_kernel(A, B),
        pairwise.polynomial_kernel(A, B, degree=3, gamma=0.7, coef0=1.3),
        pairwise.rbf_kernel(A, B, gamma=0.3),
    ]
    for kernel, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(kernel_matrix(kernel, left(A), right(B)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_kernel_of_scikit_learn_serves_as_a_users(form):
    A, B = whole(5, 4), whole(6, 4, seed=1)
    K = kernel_matrix(OfUser(pairwise.polynomial_kernel), form(A), form(B))
    np.testing.assert_allclose(K, pairwise.polynomial_kernel(A, B), rtol=1e-14)


@every
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_threads_change_no_bit(kernel, form, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 16)
    rng = np.random.default_rng(0)
    A, B = (form(rng.normal(size=(n, 33)) * (rng.random((n, 33)) < 0.7)) for n in (50, 70))
    one, two, three = (kernel_matrix(kernel, A, B, jobs).tobytes() for jobs in (1, 2, 3))
    assert one == two == three


@every
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_tiles_meet_at_their_borders(kernel, form, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 4)
    A, B = whole(9, 3), whole(9, 3, seed=1)
    everything = kernel(form(A), form(B))
    for m, n in itertools.product([0, 1, 3, 4, 5, 8, 9], repeat=2):
        K = kernel_matrix(kernel, form(A[:m]), form(B[:n]), jobs=2)
        assert K.shape == (m, n)
        assert np.array_equal(K, everything[:m, :n])


@every
@both
def test_blocks_without_rows_or_columns(kernel, left, right):
    for m, n in [(0, 0), (0, 3), (3, 0)]:
        assert kernel(left(np.ones((m, 2))), right(np.ones((n, 2)))).shape == (m, n)
    assert kernel.diagonal(left(np.ones((0, 2)))).shape == (0,)
    none = np.ones((2, 0))
    assert np.array_equal(kernel(left(none), right(none)), table(kernel, none, none))


@every
def test_answers_are_fresh(kernel):
    A = whole(3, 3)
    before = A.copy()
    first, second = kernel(A, A), kernel(A, A)
    first[:] = 99.0
    assert not np.shares_memory(first, A)
    assert np.array_equal(second, kernel(A, A))
    assert np.array_equal(A, before)


def test_what_a_user_returns_is_copied():
    kept = np.ones((2, 2))
    K = OfUser(lambda A, B: kept)(np.ones((2, 1)), np.ones((2, 1)))
    K[:] = 5.0
    assert np.array_equal(kept, np.ones((2, 2)))


@pytest.mark.parametrize(
    "kind", [bool, np.int8, np.uint16, np.float32, np.longdouble, list, csr_array, np.asfortranarray]
)
def test_a_user_may_return_any_numbers(kind):
    def ones(A, B):
        values = np.eye(A.shape[0], B.shape[0])
        return values.astype(kind) if isinstance(kind, type) and issubclass(kind, (bool, np.generic)) else kind(values)

    K = OfUser(ones, bias=2.0)(np.ones((2, 1)), np.ones((3, 1)))
    assert K.dtype == np.float64
    assert K.flags.c_contiguous
    assert np.array_equal(K, np.eye(2, 3) + 4.0)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_user_cannot_change_the_rows(form):
    def spoil(A, B):
        values = A.data if issparse(A) else A
        values[:] = 0.0

    with pytest.raises(ValueError, match="read-only"):
        kernel_matrix(OfUser(spoil), form(whole(3, 3)), form(whole(3, 3)))


@pytest.mark.parametrize("wide", [10**6, 2**40])
def test_many_features_are_never_written_out(wide):
    rng = np.random.default_rng(0)
    used = np.sort(rng.choice(10**6, 12, replace=False)) + (wide - 10**6)
    A, B = whole(5, 12), whole(6, 12, seed=2)
    A[:, -1], B[:, -3:] = 1.0, 0.0

    def spread(X):
        small = csr_array(X)
        kind = np.int32 if wide < 2**31 else np.int64
        return csr_array((small.data, used[small.indices].astype(kind), small.indptr.astype(kind)), (len(X), wide))

    for kernel in (Linear(), Polynomial(3), RadialBasis(0.1)):
        K = kernel_matrix(kernel, spread(A), spread(B))
        np.testing.assert_allclose(K, table(kernel, A, B), rtol=1e-15)
        empty = spread(np.zeros((2, 12)))
        assert np.array_equal(kernel(empty, spread(B)), kernel(csr_array((2, 12)), csr_array(B)))
        assert np.array_equal(kernel(spread(B), empty), kernel(csr_array(B), csr_array((2, 12))))


@both
@pytest.mark.parametrize("size", [1e-170, 1e-30, 1.0, 1e30, 1e150])
def test_equal_rows_have_a_radial_kernel_of_exactly_1(left, right, size):
    X = np.random.default_rng(0).normal(size=(40, 97)) * size
    gamma = min(1 / size, 1e300) / size if size > 1e-150 else 1e300
    K = kernel_matrix(RadialBasis(gamma), left(X), right(np.vstack([X[3], X])))
    assert np.array_equal(np.diagonal(K, 1), np.ones(40))
    assert K[3, 0] == 1.0
    assert K.min() >= 0.0
    assert K.max() == 1.0


def test_many_equal_rows_are_all_found(monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 4)
    X = np.repeat(np.random.default_rng(0).normal(size=(1, 97)) * 1e6, 11, axis=0)
    X[5] = 0.0
    equal = np.equal.outer(np.arange(11) == 5, np.arange(11) == 5)
    assert np.array_equal(RadialBasis(1.0)(X, X), equal)


@both
@given(
    seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1.0, 1e4, 1e9]), step=st.sampled_from([1.0, 1e-3, 1e-9])
)
def test_near_rows_are_told_apart(left, right, seed, offset, step):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 6)) + offset
    B = A[[4, 2, 0]] + step * rng.normal(size=(3, 6))
    kernel = RadialBasis(1 / step**2)
    expected = table(kernel, A, B)
    distances = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    blur = 2.0**-52 * (A.shape[1] + 4) * ((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1))
    error = np.abs(kernel(left(A), right(B)) - expected)
    assert np.all(error <= kernel.gamma * blur + 1e-14)
    assert np.all(error[distances < blur / 4] <= 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [slice(None), slice(2, 5), slice(0, 0), slice(None, None, 2), [5, 0, 0, 3], []])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_blocks_are_rows_of_the_data(dtype, kind, rows):
    rows = rows if isinstance(rows, slice) else np.array(rows, np.int64)
    X = whole(7, 5).astype(dtype)
    X[4] = 0.0
    sparse = csr_array(X)
    block = block_of(Dense(frozen(X), 1.0), rows)
    assert block.dtype == np.float64
    assert block.flags.c_contiguous
    assert np.array_equal(block, X[rows])
    parts = frozen(sparse.data), frozen(sparse.indices.astype(kind)), frozen(sparse.indptr.astype(kind))
    block = block_of(Csr(*parts, 5, 1.0), rows)
    assert isinstance(block, csr_array)
    assert block.dtype == np.float64
    assert np.array_equal(block.toarray(), X[rows])


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def test_little_of_large_data_is_not_copied_and_repeated_columns_are_summed():
    X = frozen(whole(7, 5))
    assert np.shares_memory(block_of(Dense(X, 0.0), slice(1, 3)), X)
    values, indices = np.array([1.0, 2.0, 4.0, 8.0, 16.0], np.float32), np.array([3, 0, 3, 3, 1], np.int32)
    before = values.copy(), indices.copy()
    data = Csr(frozen(values), frozen(indices), frozen(np.array([0, 4, 4, 5], np.int32)), 4, 0.0)
    block = block_of(data, slice(None))
    assert np.array_equal(block.toarray(), [[2.0, 0, 0, 13], [0, 0, 0, 0], [0, 16, 0, 0]])
    assert block.has_canonical_format
    assert np.array_equal(data.values, before[0])
    assert np.array_equal(data.indices, before[1])
    for kernel in (Linear(), Polynomial(2), RadialBasis(0.01)):
        assert np.array_equal(kernel(block, block), kernel(block.toarray(), block.toarray()))
        assert np.array_equal(kernel.diagonal(block), kernel.diagonal(block.toarray()))


@pytest.mark.parametrize("rows", [np.array([7]), np.array([0, 99])])
def test_rows_that_are_not_there(rows):
    X = csr_array(whole(7, 5))
    with pytest.raises(IndexError):
        block_of(Csr(X.data, X.indices, X.indptr, 5, 0.0), rows)
    with pytest.raises(IndexError):
        block_of(Dense(X.toarray(), 0.0), rows)


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_precomputed_takes_columns(form, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 3)
    X = whole(8, 4)
    matrix, columns = X @ X.T, np.array([6, 0, 0, 3, 7])
    kernel = Precomputed(bias=2.0)
    K = kernel_matrix(kernel, form(matrix[2:7]), columns, jobs=2)
    assert K.flags.c_contiguous
    assert np.array_equal(K, kernel_matrix(Linear(bias=2.0), X[2:7], X[columns]))
    assert np.array_equal(kernel.diagonal(form(matrix[2:7]), np.arange(2, 7)), Linear(bias=2.0).diagonal(X[2:7]))
    assert kernel(form(matrix[:2]), columns[:0]).shape == (2, 0)
    assert kernel.diagonal(form(matrix[:0]), columns[:0]).shape == (0,)


def test_precomputed_leaves_the_matrix_alone():
    matrix = whole(3, 3)
    K = Precomputed()(matrix, np.arange(3))
    K[:] = 7.0
    assert np.array_equal(matrix, whole(3, 3))


@pytest.mark.parametrize(
    ("columns", "error", "says"),
    [
        ([-1], ValueError, "columns -1 to -1 of a kernel matrix that has 3"),
        ([0, 3], ValueError, "columns 0 to 3 of a kernel matrix that has 3"),
        ([0.0], TypeError, "whole numbers, not float64"),
        ([[0]], TypeError, "of shape"),
    ],
)
def test_columns_that_are_not_there(columns, error, says):
    with pytest.raises(error, match=says):
        Precomputed()(np.ones((2, 3)), np.array(columns))


def test_a_precomputed_diagonal_needs_a_number_for_each_row():
    with pytest.raises(TypeError, match="needs the rows' numbers"):
        Precomputed().diagonal(np.ones((2, 3)))
    with pytest.raises(ValueError, match="2 rows have 1 numbers"):
        Precomputed().diagonal(np.ones((2, 3)), np.array([0]))
    with pytest.raises(ValueError, match="columns 0 to 5"):
        Precomputed().diagonal(np.ones((2, 3)), np.array([0, 5]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_of_a_kernel_matrix_is_found(bad, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 2)
    matrix = np.ones((5, 6))
    matrix[3, 4] = bad
    with pytest.raises(KernelError, match="matrix holds NaN or infinity") as caught:
        kernel_matrix(Precomputed(), matrix, np.array([0, 1, 2, 4]))
    assert caught.value.rows == (3, 3)
    with pytest.raises(KernelError) as caught:
        Precomputed().diagonal(matrix[2:], np.array([0, 4, 1]))
    assert caught.value.rows == (1, 1)
    assert np.array_equal(Precomputed()(matrix, np.array([0, 5])), np.ones((5, 2)))


@both
@pytest.mark.parametrize("jobs", [1, 2])
def test_powers_beyond_float64_name_the_rows_the_value_and_the_cure(left, right, jobs, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 3)
    A, B = np.ones((8, 2)), np.ones((9, 2))
    A[4] = B[7] = 1e40
    with pytest.raises(KernelError) as caught:
        kernel_matrix(Polynomial(4, gamma=0.5), left(A), right(B), jobs)
    error = caught.value
    assert error.rows == (4, 7)
    assert str(error) == f"row 4 of A, row 7 of B: {error.text}"
    assert error.text == (
        "(coef0 + gamma x.y)^degree = (1e+80)^4 is beyond float64: divide X by one factor (linsep.maps.Scale), "
        "or lower the degree"
    )
    assert np.isfinite(kernel_matrix(Polynomial(3), left(A), right(B))).all()


def test_sums_that_overflow_are_no_error():
    K = Linear()(np.full((2, 1), 1e200), np.full((3, 1), 1.5e108))
    assert np.array_equal(K, np.full((2, 3), 1e200 * 1.5e108))


@both
def test_products_beyond_float64(left, right):
    A, B = np.full((2, 1), 1e200), np.array([[1.0], [-1e200]])
    with pytest.raises(KernelError, match=r"x\.y = -inf is beyond float64: divide X") as caught:
        Linear()(left(A), right(B))
    assert caught.value.rows == (0, 1)
    with pytest.raises(KernelError, match=r"coef0 \+ gamma x\.y = -inf for x\.y = -inf"):
        Polynomial(1)(left(A), right(B))
    with pytest.raises(KernelError, match=r"x - y.* is beyond float64: divide X .* multiply gamma") as caught:
        RadialBasis(1.0)(left(A), right(B))
    assert caught.value.rows == (0, 0)


def test_diagonals_beyond_float64_name_the_row():
    A = np.array([[1.0], [1e90], [1.0]])
    with pytest.raises(KernelError, match=r"\(1e\+180\)\^2 is beyond") as caught:
        Polynomial(2).diagonal(A)
    assert caught.value.rows == (1, 1)
    with pytest.raises(KernelError, match=r"x\.y = inf") as caught:
        Linear().diagonal(A * 1e100)
    assert caught.value.rows == (1, 1)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), RadialBasis(1.0)])
def test_no_warning_is_needed_where_numpy_raises_them(kernel):
    with np.errstate(all="raise"):
        assert np.isfinite(kernel(np.array([[1e-200, 3.0]]), np.array([[1e-200, 900.0]]))).all()
        with pytest.raises(KernelError):
            kernel(np.array([[1e200]]), np.array([[1e200]]))


def test_an_error_is_pickled_whole():
    error = pickle.loads(pickle.dumps(KernelError((2, 3), "too much")))
    assert error.rows == (2, 3)
    assert error.text == "too much"
    assert isinstance(error, ValueError)


@every
def test_kernels_are_values(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(pickle.loads(pickle.dumps(kernel))) == hash(kernel)


def test_rows_of_different_lengths():
    for kernel in (Linear(), Polynomial(2), RadialBasis(1.0)):
        for form in (np.array, csr_array):
            with pytest.raises(ValueError, match="rows of 3 and of 4 features"):
                kernel_matrix(kernel, form(np.ones((2, 3))), form(np.ones((2, 4))))


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda A, B: np.ones((len(B), len(A))), ValueError, r"returned shape \(3, 2\) for 2 and 3 rows: .* \(2, 3\)"),
        (lambda A, B: np.ones(len(A)), ValueError, r"returned shape \(2,\)"),
        (lambda A, B: 1.0, ValueError, r"returned shape \(\)"),
        (lambda A, B: csr_array((2, 4)), ValueError, r"returned shape \(2, 4\)"),
        (lambda A, B: None, TypeError, "returned NoneType: it must return real numbers"),
        (lambda A, B: np.ones((2, 3)) * 1j, TypeError, "returned an array of complex128"),
        (lambda A, B: np.full((2, 3), "1"), TypeError, "returned an array of <U1"),
        (lambda A, B: np.full((2, 3), Fraction(1)), TypeError, "returned an array of object"),
        (lambda A, B: [["a"] * 3] * 2, TypeError, "returned list"),
    ],
)
def test_a_users_kernel_that_returns_something_else(function, error, says):
    with pytest.raises(error, match=says) as caught:
        kernel_matrix(OfUser(function), np.ones((2, 1)), np.ones((3, 1)))
    assert "\n" not in str(caught.value)
    assert "<lambda>" in str(caught.value)


@pytest.mark.parametrize(("bad", "says"), [(np.nan, "returned nan"), (np.inf, "returned inf"), (-np.inf, "-inf")])
def test_a_users_kernel_that_returns_no_number(bad, says, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 2)
    monkeypatch.setattr(kernels, "ALONE", 2)

    def spoiled(A, B):
        return np.where((A == 5.0) & (B.T == 3.0), bad, 1.0)

    rows = np.arange(7.0)[:, None]
    with pytest.raises(KernelError, match=says) as caught:
        kernel_matrix(OfUser(spoiled), rows, rows)
    assert caught.value.rows == (5, 3)
    assert "spoiled" in caught.value.text
    with pytest.raises(KernelError, match=says) as caught:
        OfUser(lambda A, B: np.where((A == 5.0) & (B.T == 5.0), bad, 1.0)).diagonal(rows)
    assert caught.value.rows == (5, 5)


def test_a_user_is_never_asked_about_nothing():
    def needs_rows(A, B):
        raise AssertionError("asked")

    for m, n in [(0, 2), (2, 0), (0, 0)]:
        assert OfUser(needs_rows)(np.ones((m, 1)), np.ones((n, 1))).shape == (m, n)


def test_blas_runs_on_one_thread():
    seen = []

    def look(A, B):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return product(A, B)

    kernel_matrix(OfUser(look), np.ones((2, 1)), np.ones((2, 1)))
    assert seen
    assert set(seen) == {1}


def test_a_users_own_error_is_left_as_it_is():
    def broken(A, B):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        kernel_matrix(OfUser(broken), np.ones((1, 1)), np.ones((1, 1)))


def named(kernel="poly", features=4, degree=2, gamma=None, coef0=1.0, bias=0.0):
    return kernel_named(kernel, features, degree, gamma, coef0, bias)


def test_kernels_have_names():
    assert named("linear", bias=2.0) == Linear(2.0)
    assert named("poly", degree=3, coef0=0.5) == Polynomial(3, 1.0, 0.5, 0.0)
    assert named("poly", gamma=0.1) == Polynomial(2, 0.1, 1.0, 0.0)
    assert named("rbf") == RadialBasis(0.25)
    assert named("rbf", gamma=3, bias=1) == RadialBasis(3, 1)
    assert named("rbf", features=0) == RadialBasis(1.0)
    assert named("precomputed", bias=1.0) == Precomputed(1.0)
    assert named(product, bias=1.0) == OfUser(product, 1.0)
    assert set(kernels.NAMES) == {"linear", "poly", "rbf", "precomputed"}


@pytest.mark.parametrize("number", [np.int64(2), np.float32(2), 2, Fraction(2)])
def test_numbers_may_be_of_any_real_type(number):
    A = whole(3, 3)
    assert np.array_equal(named(gamma=number, coef0=number, bias=number)(A, A), Polynomial(2, 2.0, 2.0, 2.0)(A, A))
    assert np.array_equal(named("rbf", gamma=number, bias=number)(A, A), RadialBasis(2.0, 2.0)(A, A))


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        (
            {"kernel": "cosine"},
            ValueError,
            "no kernel is named 'cosine': use one of linear, poly, rbf, precomputed, or a",
        ),
        ({"kernel": 3}, TypeError, "a kernel must be a function"),
        ({"kernel": None}, TypeError, "a kernel must be a function"),
        ({"degree": 0}, ValueError, "degree is 0: it must be a whole number from 1"),
        ({"degree": -2}, ValueError, "degree is -2"),
        ({"degree": 2.0}, ValueError, r"degree is 2\.0"),
        ({"degree": True}, ValueError, "degree is True"),
        ({"degree": "2"}, ValueError, "degree is '2'"),
        ({"gamma": 0.0}, ValueError, r"gamma is 0\.0: it must be a finite number above 0"),
        ({"gamma": -1}, ValueError, "gamma is -1"),
        ({"gamma": math.nan}, ValueError, "gamma is nan"),
        ({"gamma": math.inf}, ValueError, "gamma is inf"),
        ({"gamma": "scale"}, ValueError, "gamma is 'scale'"),
        ({"gamma": Fraction(1, 10**400)}, ValueError, "gamma is Fraction"),
        ({"kernel": "rbf", "gamma": 0.0}, ValueError, r"gamma is 0\.0"),
        ({"kernel": "rbf", "gamma": 10**400}, ValueError, "gamma is 1000"),
        ({"coef0": math.nan}, ValueError, "coef0 is nan: it must be a finite number"),
        ({"coef0": "1"}, ValueError, "coef0 is '1'"),
        ({"coef0": 1j}, ValueError, "coef0 is 1j"),
        *(
            ({"kernel": kernel, "bias": bias}, ValueError, f"bias is {bias}: it must be a number with a finite square")
            for kernel in ("linear", "poly", "rbf", "precomputed", product)
            for bias in (math.nan, math.inf, 10**200, True)
        ),
        ({"bias": 1e200}, ValueError, "bias is 1e\\+200"),
    ],
)
def test_parameters_that_make_no_sense(parameters, error, says):
    with pytest.raises(error, match=says):
        named(**parameters)
