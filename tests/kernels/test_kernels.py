"""Kernels: equal to their formulas row by row, exact on whole numbers, the same bits for any form and any threads."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.metrics import pairwise
from threadpoolctl import threadpool_info

from linsep.kernels import functions as given_kernels
from linsep.kernels import functions as kernels
from linsep.kernels.functions import Linear, OfUser, Polynomial, Precomputed, RadialBasis, kernel_matrix, kernel_named
from tests.kernels.kernel_forms import both, every, exact, product, table, whole


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
    monkeypatch.setattr(given_kernels, "ALONE", 3)
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
@pytest.mark.parametrize("jobs", [1, 2])
def test_values_are_written_where_there_is_room(kernel, jobs, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", 4)
    A, B = whole(9, 3), whole(6, 3, seed=1)
    room = np.full((9, 8), -99.0)
    view = room[:, 1:7]
    assert kernel_matrix(kernel, A, B, jobs, out=view) is view
    assert np.array_equal(view, kernel_matrix(kernel, A, B))
    assert np.array_equal(room[:, [0, 7]], np.full((9, 2), -99.0))
    assert kernel_matrix(kernel, A, B[:0], out=room[:, :0]).shape == (9, 0)


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


@every
def test_kernels_are_values(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(pickle.loads(pickle.dumps(kernel))) == hash(kernel)


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
