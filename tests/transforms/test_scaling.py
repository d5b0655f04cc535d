"""Scaling: norms and entries exact to the last bit, columns as scikit-learn's scalers have them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from linsep import Perceptron, Winnow
from linsep.transforms import Scale, ScaleColumns, Standardize
from linsep.validation.errors import InvalidDataError
from tests.fits import fit, logged
from tests.transforms.forms import dense, rows

some = settings(max_examples=30)
kinds = pytest.mark.parametrize("kind", [np.array, np.asfortranarray, csr_array])
sizes = st.sampled_from([2.0**-1060, 1e-200, 1e-30, 1.0, 1e30, 1e200, 2.0**1015])


@kinds
@some
@given(X=rows(), size=sizes.filter(lambda size: size > 1e-310))
def test_the_largest_norm_becomes_1(kind, X, size):
    form = Scale().fit(kind(X * size))
    exact = max(sum(Fraction(v) ** 2 for v in row) for row in (X * size).tolist())
    assert abs(Fraction(form.largest_) ** 2 - exact) <= exact * Fraction(1, 10**14)
    result = dense(form.transform(kind(X * size)))
    if np.any(X * size):
        assert np.linalg.norm(result, axis=1).max() == pytest.approx(1.0, rel=1e-14)
    else:
        assert form.divisor_ == 1.0
        assert not np.any(result)


@kinds
@some
@given(X=rows(), size=sizes)
def test_the_largest_entry_becomes_exactly_1(kind, X, size):
    X = X * size
    form = Scale("entry").fit(kind(X))
    assert form.largest_ == np.abs(X).max()
    result = dense(form.transform(kind(X)))
    assert np.abs(result).max() == (1.0 if np.any(X) else 0.0)
    assert np.array_equal(result, X / form.divisor_)


@pytest.mark.parametrize("largest", ["norm", "entry"])
@some
@given(X=rows(), size=sizes)
def test_powers_of_two_round_nothing(largest, X, size):
    X = X * size
    plain, form = Scale(largest).fit(X), Scale(largest, power_of_two=True).fit(csr_array(X))
    assert form.largest_ == pytest.approx(plain.largest_, rel=1e-15)
    assert math.frexp(form.divisor_)[0] == 0.5
    if np.any(X):
        assert form.divisor_ / 2 < form.largest_ <= form.divisor_
    if size > 1e-300:
        assert np.array_equal(form.transform(X) * form.divisor_, X)


@pytest.mark.parametrize(
    ("largest", "divisor"), [(4.0, 4.0), (4.5, 8.0), (3.5, 4.0), (1.0, 1.0), (0.25, 0.25), (0.0, 1.0)]
)
def test_a_power_of_two_is_its_own(largest, divisor):
    assert Scale("entry", power_of_two=True).fit([[0.0, -largest]]).divisor_ == divisor


def test_powers_of_two_change_no_mistake():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * 77.7
    y = np.sign(X @ [1.0, 2.0, -1.0] + rng.normal(size=200) * 50)
    runs = [fit(Perceptron(fit_intercept=False, shuffle=False, max_iter=3, log=True), Z, y) for Z in
            (X, Scale(power_of_two=True).fit_transform(X))]  # fmt: skip
    assert logged(runs[0]) == logged(runs[1])


@kinds
def test_a_stated_number_is_taken(kind):
    form = Scale(divisor=4).fit(kind([[3.0, 4.0]]))
    assert (form.largest_, form.divisor_) == (5.0, 4.0)
    assert dense(form.transform(kind([[3.0, 4.0]]))).tolist() == [[0.75, 1.0]]


def test_norms_beyond_all_floats():
    for power_of_two, size in ((False, 1.7e308), (True, 1.2e308)):
        with pytest.raises(ValueError, match="a row's norm is too large for float64"):
            Scale(power_of_two=power_of_two).fit([[size, size]])
    assert Scale("entry").fit_transform([[1.7e308, -1.7e308]]).tolist() == [[1.0, -1.0]]
    with pytest.raises(ValueError, match="a row's entry is too large"):
        Scale("entry", power_of_two=True).fit([[1.7e308, 1.0]])


@kinds
def test_float32_norms_are_summed_in_float64(kind):
    X = np.full((2, 100_001), 0.1, np.float32)
    X[0] = 3e38
    for rows_ in (X, X[1:]):
        expected = np.linalg.norm(rows_.astype(float), axis=1).max()
        form = Scale().fit(kind(rows_))
        assert form.largest_ == pytest.approx(expected, rel=1e-14)
        result = form.transform(kind(rows_))
        assert result.dtype == np.float32
        assert np.linalg.norm(dense(result).astype(float), axis=1).max() == pytest.approx(1.0, rel=1e-7)


@kinds
@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
def test_pieces_change_nothing(kind, size, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 9)) * (rng.random((200, 9)) < 0.4) * 10.0 ** rng.integers(-300, 300, (200, 1))
    expected = [form.fit(kind(X)).largest_ for form in (Scale(), Scale("entry"), ScaleColumns())]
    moderate = np.abs(X).clip(1e-3, 1e3) * np.sign(X)
    std = StandardScaler(with_mean=False).fit(moderate).scale_
    monkeypatch.setattr("linsep.transforms.base.AT_ONCE", size)
    found = [form.fit(kind(X)).largest_ for form in (Scale(), Scale("entry"), ScaleColumns())]
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    np.testing.assert_allclose(ScaleColumns("std").fit(kind(moderate)).scale_, std, rtol=1e-12)


@kinds
@some
@given(X=rows())
def test_columns_as_scikit_learn_scales_them(kind, X):
    X = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X))])
    for ours, theirs in ((ScaleColumns(), MaxAbsScaler()), (ScaleColumns("std"), StandardScaler(with_mean=False))):
        expected = theirs.fit_transform(X)
        np.testing.assert_allclose(dense(ours.fit(kind(X)).transform(kind(X))), expected, rtol=1e-12, atol=1e-300)
        assert np.array_equal(ours.scale_[-1:], [1.0])
    assert np.abs(ScaleColumns().fit_transform(X)).max(axis=0).tolist() == [float(np.any(c)) for c in X.T]


@kinds
def test_deviations_survive_a_large_mean(kind):
    X = np.random.default_rng(2).normal(size=(1000, 1)) + 1e8
    form = ScaleColumns("std")
    for block in np.split(X, 10):
        form.partial_fit(kind(block))
    assert form.scale_[0] == pytest.approx(X.std(), rel=1e-6)
    constant = ScaleColumns("std")
    for block in np.split(np.full((1000, 1), 0.1), 10):
        constant.partial_fit(kind(block))
    assert constant.scale_.tolist() == [1.0]


@kinds
def test_entries_too_large_to_be_squared(kind):
    with pytest.raises(ValueError, match="column 1 has entries too large to be squared: use by='max'"):
        ScaleColumns("std").fit(kind([[1.0, 1e200], [2.0, -1e200]]))


def test_winnow_takes_what_is_scaled():
    """Its rows have entries up to 1: the largest, divided by itself, is 1 and not a bit more."""
    rng = np.random.default_rng(3)
    X = rng.random((50, 4)) * 3.7
    y = np.sign(X @ [2.0, 1.0, 0.0, 0.0] - 5.0)
    with pytest.raises(ValueError, match="x_max"):
        Winnow().fit(X, y)
    for form in (Scale("entry"), ScaleColumns()):
        fit(Winnow(), form.fit_transform(X), y)


def test_another_measure_needs_another_fit():
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    for one, other in (("max", "std"), ("std", "max")):
        scale = ScaleColumns(by=one).fit(X).set_params(by=other)
        with pytest.raises(ValueError, match=f"by='{other}' differs .*: call fit"):
            scale.partial_fit(X)
        assert scale.fit(X).scale_.tolist() == ScaleColumns(by=other).fit(X).scale_.tolist()


def test_a_fit_that_fails_leaves_the_fit_before():
    scale = ScaleColumns().fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        scale.fit([[np.nan, 1.0]])
    assert scale.scale_.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_standardized_as_scikit_learn_does(dtype):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(60, 4)) * [1, 1000, 0.01, 1] + [0, 5, 40, 0]).astype(dtype)
    X[:, 3] = 7
    expected = StandardScaler().fit_transform(X.astype(float))
    whole, blocks = Standardize().fit(X), Standardize()
    for block in np.split(X, [1, 20]):
        blocks.partial_fit(block)
    result = whole.transform(X)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, atol=1e-12 if dtype is np.float64 else 1e-3)
    np.testing.assert_allclose(blocks.transform(X), result, rtol=1e-6, atol=1e-6)
    plain = Standardize(center=False).fit(X).transform(X)
    np.testing.assert_allclose(plain, StandardScaler(with_mean=False).fit_transform(X.astype(float)), rtol=1e-5)


def test_centring_is_for_dense_rows_only():
    X = np.array([[1.0, 0.0], [3.0, 2.0]])
    scaled, centred = Standardize().fit(csr_array(X)), Standardize().fit(X)
    assert (scaled.center_, centred.center_) == (False, True)
    assert scaled.transform(csr_array(X)).nnz == 3
    assert np.array_equal(
        scaled.transform(X), X / X.std(axis=0)
    )  # as of sparse rows, whatever the kind of the new ones
    for refused in (lambda: centred.transform(csr_array(X)), lambda: Standardize(center=True).fit(csr_array(X))):
        with pytest.raises(InvalidDataError, match=r"centred sparse rows have no zeros: .*center=False"):
            refused()
