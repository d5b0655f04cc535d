"""What every map keeps: dense equals sparse, blocks equal the whole, the input stays, bad rows are refused by place."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse, isspmatrix
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from linsep import AveragedPerceptron
from linsep.engine.tiers import compiling
from linsep.transforms import MAPS, Bias, DeltaTrick, Polynomial, Scale, ScaleColumns
from linsep.transforms.polynomial import expand
from tests.fits import fit
from tests.transforms.forms import FORMS, KINDS, dense, rows

some = settings(max_examples=20)
each = pytest.mark.parametrize("form", FORMS, ids=repr)


def learned(form):
    return {name: value for name, value in vars(form).items() if name.endswith("_")}


def canonical(X):
    """Checked from scratch: the flag that a result carries proves nothing."""
    fresh = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    return fresh.has_canonical_format and X.has_canonical_format


@each
@some
@given(X=rows())
def test_all_kinds_of_rows_give_the_same(form, X):
    expected = dense(clone(form).fit(X).transform(X))
    for name, kind in KINDS.items():
        for dtype in (np.float64, np.float32):
            given_rows = kind(X.astype(dtype))
            result = clone(form).fit(given_rows).transform(given_rows)
            assert result.dtype == dtype
            assert issparse(result) == (issparse(given_rows) or isinstance(form, DeltaTrick))
            assert isspmatrix(result) == isspmatrix(given_rows)
            if issparse(result):
                assert canonical(result)
                assert result.indices.dtype == np.int32
            tolerance = 1e-13 if dtype == np.float64 else 1e-5
            scale = max(1.0, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(dense(result), expected, rtol=tolerance, atol=tolerance * scale, err_msg=name)


@each
@some
@given(X=rows(), data=st.data())
def test_blocks_equal_the_whole(form, X, data):
    cuts = sorted(data.draw(st.lists(st.integers(1, len(X)), max_size=4)))
    bounds = list(zip([0, *cuts], [*cuts, len(X)], strict=True))
    for kind in (np.array, csr_array):
        whole, streamed = clone(form).fit(kind(X)), clone(form)
        for a, b in bounds:
            streamed.partial_fit(kind(X)[a:b])
        assert learned(whole).keys() == learned(streamed).keys()
        exact = getattr(form, "by", "") != "std"
        for name, value in learned(whole).items():
            near = 0 if exact else 1e-13 * (1 + np.max(np.abs(X)) ** 2) * len(X)
            np.testing.assert_allclose(getattr(streamed, name), value, rtol=0, atol=near)
        stacked = np.vstack([dense(whole.transform(kind(X)[a:b])) for a, b in bounds])
        assert np.array_equal(stacked, dense(whole.transform(kind(X))))


@each
def test_what_is_learned_is_plain_and_travels(form):
    X = np.random.default_rng(0).normal(size=(9, 3))
    fitted = clone(form).fit(X)
    for name, value in learned(fitted).items():
        assert isinstance(value, int | float | np.ndarray), name
        assert not isinstance(value, np.ndarray) or value.dtype in (np.float64, np.int64)
    blank = clone(form)
    for name, value in learned(fitted).items():
        setattr(blank, name, value)
    for copy in (blank, pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(dense(copy.transform(X)), dense(fitted.transform(X)))


@each
@pytest.mark.parametrize("kind", KINDS)
def test_the_input_is_neither_changed_nor_shared(form, kind):
    X = KINDS[kind](np.random.default_rng(1).integers(-3, 4, (9, 3)).astype(float))
    parts = [X.data, X.indices, X.indptr] if issparse(X) else [X]
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    fitted = clone(form).fit(X)
    results = [fitted.transform(X), clone(form).fit_transform(X)]
    for part, old in zip(parts, before, strict=True):
        assert np.array_equal(part, old)
        assert part.dtype == old.dtype
    for result in results:
        for own in [result.data, result.indices, result.indptr] if issparse(result) else [result]:
            assert not any(np.shares_memory(own, part) for part in parts)
            assert own.flags.writeable


@each
def test_rows_that_are_not_canonical_are_put_right_in_a_copy(form):
    messy = csr_matrix(([1.0, 2.0, 4.0, 8.0], [2, 0, 2, 1], [0, 3, 3, 4]), shape=(3, 3))
    messy.data, messy.indices = np.append(messy.data, 99.0), np.append(messy.indices, 77)  # beyond the last row's end
    tidy = csr_matrix([[2.0, 0, 5], [0, 0, 0], [0, 8, 0]])
    fitted = clone(form).fit(messy)
    for X in (messy, csc_array(tidy), csr_array(tidy).astype(np.int8), tidy.toarray().astype(int)):
        result = fitted.transform(X)
        assert np.array_equal(dense(result), dense(clone(form).fit(tidy).transform(tidy)))
        assert not issparse(result) or canonical(result)
    assert messy.indices.tolist() == [2, 0, 2, 1, 77]


@each
def test_bad_rows_are_refused_by_place(form):
    X = np.ones((4, 3))
    fitted = clone(form).fit(X)
    for value, what in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        X[2, 1] = value
        for kind in ("dense", "fortran", "csr_array"):
            for attempt in (clone(form).fit, clone(form).partial_fit, fitted.transform, fitted.partial_fit):
                with pytest.raises(ValueError, match=rf"{what}.*\(row 2, column 1\)"):
                    attempt(KINDS[kind](X))
    with pytest.raises(ValueError, match=r"2 features, but .* expecting 3"):
        fitted.transform(np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"2 features, but .* expecting 3"):
        fitted.partial_fit(csr_array(np.ones((4, 2))))


@each
def test_sparse_rows_that_lie_about_themselves_are_refused(form):
    X = csr_array(np.eye(3))
    X.indices = np.array([0, 3, 2], np.int32)
    with pytest.raises(ValueError, match="column index 3 in row 1, but only 3 columns"):
        clone(form).fit(X)
    X.indices = np.array([0, -1, 2], np.int32)
    with pytest.raises(ValueError, match="column index -1 in row 1"):
        clone(form).fit(X)
    X = csr_array(np.eye(3))
    for indptr in ([0, 1, 2, 9], [0, 2, 1, 3], [1, 1, 2, 3], [0, 1, 3]):
        X.indptr = np.array(indptr, np.int32)
        with pytest.raises(ValueError, match="indptr"):
            clone(form).fit(X)


@each
def test_a_bad_block_leaves_what_was_learned(form):
    X = np.random.default_rng(2).normal(size=(9, 3))
    fitted = clone(form).fit(X)
    before = {name: np.copy(value) for name, value in learned(fitted).items()}
    with pytest.raises(ValueError, match="NaN"):
        fitted.partial_fit([[1.0, 2.0, np.nan]])
    assert all(np.array_equal(getattr(fitted, name), value) for name, value in before.items())
    fresh = clone(form)
    with pytest.raises(ValueError, match="NaN"):
        fresh.partial_fit([[np.nan, 1.0]])
    assert fresh.partial_fit(X).n_features_in_ == 3


@each
def test_no_rows_and_zero_rows(form):
    fitted = clone(form).fit(np.zeros((2, 3)))
    for kind in (np.array, csr_array):
        assert fitted.transform(kind(np.empty((0, 3)))).shape == (0, fitted.n_features_out_)
        fitted.partial_fit(kind(np.empty((0, 3))))
        result = fitted.transform(kind(np.zeros((5, 3))))
        assert result.shape == (5, fitted.n_features_out_)
        assert np.isin(dense(result), [0.0, 1.0]).all()
    with pytest.raises(ValueError, match="0 sample"):
        clone(form).fit(np.empty((0, 3)))


@each
def test_names_are_as_many_as_columns(form):
    X = pd.DataFrame({"x0": [1.0, 2.0], "age": [3.0, 4.0]})
    fitted = clone(form).fit(X)
    names = fitted.get_feature_names_out()
    assert len(names) == fitted.n_features_out_ == fitted.transform(X).shape[1]
    assert len(set(names)) == len(names)
    assert names.dtype == object
    with pytest.raises(ValueError, match="input_features"):
        fitted.get_feature_names_out(["a", "b"])


@each
def test_before_a_learner(form):
    X = np.random.default_rng(3).normal(size=(80, 2))
    y = np.where(X @ [1.0, -2.0] > 0, "yes", "no")
    for kind in (np.array, csr_array):
        model, alone, learner = clone(form), clone(form), AveragedPerceptron(random_state=0)
        model = fit(make_pipeline(model, clone(learner)), kind(X), y)
        fit(learner, alone.fit_transform(kind(X)), y)
        expected = learner.decision_function(alone.transform(kind(X)))
        assert np.array_equal(model.decision_function(kind(X)), expected)


def test_parameters_out_of_range():
    bad = [
        Bias(0.0), Bias(-1.0), Bias("1"), Scale("l2"), Scale(divisor=0.0), Scale(divisor=-1), Scale(power_of_two=2),
        ScaleColumns("mean"), DeltaTrick(0.0), DeltaTrick(-1), DeltaTrick(n_rows=0), Polynomial(0), Polynomial(2.5),
        Polynomial(interaction_only="no"), Polynomial(terms=3), Bias(np.inf), Bias(np.nan), DeltaTrick(np.inf),
    ]  # fmt: skip
    for form in bad:
        with pytest.raises(ValueError, match="parameter of"):
            form.fit([[1.0, 2.0]])


def test_results_too_large_for_their_type():
    X = np.array([[1.0, 1.0], [1.0, 1e30]])
    for kind in (np.array, csr_array):
        narrow = kind(X.astype(np.float32))
        with pytest.raises(ValueError, match=r"^row 1, column 4 of the result is too large for float32: scale X"):
            Polynomial().fit_transform(narrow)
        with pytest.raises(ValueError, match="row 1, column 2 of the result"):
            Polynomial(terms=["x0", "x1", "x1^2"]).fit_transform(narrow)
        with pytest.raises(ValueError, match="row 1, column 1 of the result is too large for float32"):
            Scale(divisor=1e-20).fit_transform(narrow)
        with pytest.raises(ValueError, match="row 0, column 0 of the result is too large for float64"):
            ScaleColumns().fit(kind([[1e-300]])).transform(kind([[1e300]]))


@pytest.mark.parametrize("kind", [Bias, DeltaTrick])
@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_constants_that_float32_does_not_hold(kind, value):
    for X in (np.ones((2, 3)), csr_array(np.ones((2, 3)))):
        assert kind(value).fit_transform(X).max() == max(value, 1.0)
        with pytest.raises(ValueError, match=rf"{value!r} is out of the range of float32".replace("+", r"\+")):
            kind(value).fit_transform(X.astype(np.float32))


def test_the_table():
    assert list(MAPS) == ["polynomial", "bias", "scale", "scale-columns", "standardize", "delta-trick"]
    for name, kind in MAPS.items():
        assert re.sub("(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower() == name
        assert kind.__doc__
    assert {type(form) for form in FORMS} == set(MAPS.values())


def test_memory_maps_are_read_in_place(tmp_path):
    X = np.random.default_rng(4).normal(size=(6, 3))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for form in FORMS:
        assert np.array_equal(dense(clone(form).fit(mapped).transform(mapped)), dense(clone(form).fit(X).transform(X)))


def test_one_kernel_serves_all():
    with compiling("always"):
        for kind in KINDS.values():
            for dtype in (np.float32, np.float64):
                Polynomial().fit_transform(kind(np.eye(3, dtype=dtype)))
    assert len(expand.compiled.signatures) == 1
