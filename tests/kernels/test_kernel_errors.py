"""What kernels refuse: which rows, which value and what to do about it is said; nothing is NaN in silence."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep.kernels import functions as given_kernels
from linsep.kernels import functions as kernels
from linsep.kernels.blocks import KernelError
from linsep.kernels.functions import Linear, OfUser, Polynomial, Precomputed, RadialBasis, kernel_matrix, kernel_named
from tests.kernels.kernel_forms import both, product


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
        "(coef0 + gamma x.y)^degree = (1e+80)^4 is beyond float64: divide X by one factor (linsep.transforms.Scale), "
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
    monkeypatch.setattr(given_kernels, "ALONE", 2)

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


def test_a_users_own_error_is_left_as_it_is():
    def broken(A, B):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        kernel_matrix(OfUser(broken), np.ones((1, 1)), np.ones((1, 1)))


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
    usual = {"kernel": "poly", "features": 4, "degree": 2, "gamma": None, "coef0": 1.0, "bias": 0.0}
    with pytest.raises(error, match=says):
        kernel_named(**usual | parameters)


@pytest.mark.parametrize("out", [np.empty((3, 3)), np.empty((3, 2), np.float32), np.empty(6)])
def test_room_of_another_shape_or_type(out):
    with pytest.raises(ValueError, match=r"out is float.* of shape .*float64 of shape \(3, 2\)"):
        kernel_matrix(Linear(), np.ones((3, 1)), np.ones((2, 1)), out=out)
