"""The lemmas' lengths and Winnow's potential along a run, against sums in fractions and long decimals."""

from decimal import Decimal, localcontext
from fractions import Fraction

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from linsep import BalancedWinnow, Perceptron, Winnow
from linsep.theory import paths
from linsep.theory.paths import perceptron_path, winnow_path
from tests.fits import fit

ENTRIES = st.integers(-24, 24).map(lambda k: k / 8)
ROWS = hnp.arrays(float, st.tuples(st.integers(0, 12), st.integers(1, 6)), elements=ENTRIES)
FORMS = {"dense": np.asarray, "csr": sp.csr_array, "matrix": sp.csr_matrix, "coo": sp.coo_array}


def lengths(rows, u):
    """v_k·u and ||v_k||², exactly, for k = 0, 1, ..."""
    v, u = [Fraction(0)] * len(u), [Fraction(a) for a in u]
    yield 0, 0
    for row in rows.tolist():
        v = [a + Fraction(b) for a, b in zip(v, row, strict=True)]
        yield sum(a * b for a, b in zip(u, v, strict=True)), sum(a * a for a in v)


def potentials(rows, u, eta, balanced):
    """KL(u || w) by its definition, in 60 digits, over all weights."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**9, -(10**9)
        rows = np.hstack([rows, -rows]) if balanced else rows
        u = np.hstack([np.maximum(u, 0), np.maximum(-u, 0)]) if balanced else u
        u = [Decimal(a) for a in u.tolist()]
        u = [a / sum(u) for a in u]
        s = [Decimal(0)] * len(u)
        found = []
        for row in [[0.0] * len(u), *rows.tolist()]:
            s = [a + Decimal(b) for a, b in zip(s, row, strict=True)]
            raised = [(Decimal(eta) * a).exp() for a in s]
            total = sum(raised)
            found.append(sum(a * (a * total / e).ln() for a, e in zip(u, raised, strict=True) if a))
    return np.array(found, float)


def runs_of(rng, mistakes, features, share=0.2):
    return rng.choice([-1.0, 1.0, 2.0], (mistakes, features)) * (rng.random((mistakes, features)) < share)


@given(rows=ROWS, data=st.data())
def test_lengths_are_those_of_fractions(rows, data):
    u = data.draw(hnp.arrays(float, rows.shape[1], elements=ENTRIES).filter(np.any))
    dots, squares = zip(*lengths(rows, u), strict=True)
    expected = np.array(dots, float) / np.linalg.norm(u)
    for form, make in FORMS.items():
        path = perceptron_path(make(rows), u)
        np.testing.assert_array_equal(path.squares, np.array(squares, float), form)
        np.testing.assert_allclose(path.dots, expected, rtol=1e-12, atol=1e-12, err_msg=form)


@pytest.mark.parametrize("balanced", [False, True])
@given(rows=ROWS, eta=st.sampled_from([1e-9, 0.1, 1.0, 50.0, 1e6]), data=st.data())
def test_the_potential_is_that_of_decimals(balanced, rows, eta, data):
    u = data.draw(hnp.arrays(float, rows.shape[1], elements=ENTRIES).filter(np.any))
    u = u if balanced else np.abs(u)
    expected = potentials(rows, u, eta, balanced)
    scale = eta * np.abs(rows).sum() + 1
    for form, make in FORMS.items():
        found = winnow_path(make(rows), u, eta, balanced=balanced)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * scale, err_msg=form)


@pytest.mark.parametrize("balanced", [False, True])
def test_a_long_sparse_run_is_the_dense_one(balanced, monkeypatch):
    """Also where only a few entries are looked at in one go, and where the normaliser rises and falls by far."""
    rng = np.random.default_rng(0)
    rows = runs_of(rng, 900, 60)
    rows[300:600] *= -1
    u = rng.random(60)
    dense = winnow_path(rows, u, 0.7, balanced=balanced)
    lengths_of = perceptron_path(rows, u)
    for fewest in (1, 64, 1 << 12):
        monkeypatch.setattr(paths, "FEWEST", fewest)
        np.testing.assert_allclose(winnow_path(sp.csr_array(rows), u, 0.7, balanced=balanced), dense, rtol=1e-11)
    monkeypatch.setattr(paths, "AT_ONCE", 60 * 7)
    np.testing.assert_allclose(winnow_path(rows, u, 0.7, balanced=balanced), dense, rtol=1e-12)
    for form in (np.asarray, sp.csr_array):
        for a, b in zip(perceptron_path(form(rows), u), lengths_of, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10)


def test_entries_of_a_column_add_up_in_any_order():
    twice = sp.csr_array((np.array([1.0, 2.0, 3.0, 1.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 4))
    u = np.array([1.0, 2.0, 3.0, 4.0])
    before = twice.copy()
    np.testing.assert_array_equal(perceptron_path(twice, u).squares, [0, 20, 21])
    np.testing.assert_allclose(winnow_path(twice, u, 0.3), winnow_path(twice.toarray(), u, 0.3), rtol=1e-14)
    assert (twice.data.tolist(), twice.indices.tolist()) == (before.data.tolist(), before.indices.tolist())


def test_features_that_never_occur_count_as_weights():
    rows = sp.csr_array(([1.0], ([0], [3])), shape=(1, 10**6))
    u = np.zeros(10**6)
    u[3] = 1.0
    for balanced, weights in ((False, 10**6), (True, 2 * 10**6)):
        start, end = winnow_path(rows, u, 1.0, balanced=balanced)
        assert start == pytest.approx(np.log(weights))
        rest = weights - 2 + np.exp(-1) if balanced else weights - 1
        assert end == pytest.approx(np.log(1 + rest / np.e))


def test_runs_of_learners_obey_their_lemmas():
    rng = np.random.default_rng(1)
    X, u = rng.choice([-1.0, 1.0], (400, 30)), np.append([0.4, 0.35, 0.25], np.zeros(27))
    y = np.sign(X @ u)
    shared = {"max_iter": 1, "shuffle": False, "fit_intercept": False, "log": True}
    rows = (y[:, None] * X)[fit(Perceptron(**shared), X, y).log_.rows]
    path = perceptron_path(rows, u)
    k = np.arange(len(rows) + 1)
    assert len(rows) > 5
    assert (path.dots >= k * min(y * (X @ u)) / np.linalg.norm(u) - 1e-12).all()
    assert (path.squares <= 30 * k).all()
    assert (path.dots**2 <= path.squares + 1e-12).all()
    delta = min(y * (X @ u))
    for form, balanced in ((Winnow, False), (BalancedWinnow, True)):
        run = fit(form(eta=0.2, **shared), X, y)
        target = np.append(u, np.zeros(30)) if balanced else u
        found = winnow_path((y[:, None] * X)[run.log_.rows], u, 0.2, balanced=balanced)
        assert found[-1] == pytest.approx(run.potential(target)[0], rel=1e-12)
        assert (np.diff(found) <= -(0.2 * delta - np.log(np.cosh(0.2))) + 1e-12).all()


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_length_of_the_target_does_not_matter(scale):
    rows, u = np.array([[1.0, -2.0], [0.5, 1.0]]), np.array([3.0, 1.0])
    np.testing.assert_allclose(perceptron_path(rows, scale * u).dots, perceptron_path(rows, u).dots, rtol=1e-14)
    np.testing.assert_allclose(winnow_path(rows, scale * u, 0.5), winnow_path(rows, u, 0.5), rtol=1e-14)


@pytest.mark.parametrize(
    ("rows", "u", "message"),
    [
        ([[1.0, 2.0]], [1.0], r"\(1, 2\) and u has \(1,\)"),
        ([1.0, 2.0], [1.0, 1.0], r"rows have the shape \(2,\)"),
        ([[1.0, np.nan]], [1.0, 1.0], "contains NaN .row 0, column 1."),
        (sp.csr_array([[1.0, np.inf]]), [1.0, 1.0], "contains infinity"),
        ([[1.0, 2.0]], [0.0, 0.0], "u is no target"),
        ([[1.0, 2.0]], [np.nan, 0.0], "u is no target"),
    ],
)
def test_what_is_no_run_is_refused(rows, u, message):
    for path in (perceptron_path, lambda rows, u: winnow_path(rows, u, 0.5)):
        with pytest.raises(ValueError, match=message):
            path(rows, u)


def test_what_is_no_rate_or_no_target_of_winnow_is_refused():
    for eta in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="is no rate"):
            winnow_path([[1.0]], [1.0], eta)
    with pytest.raises(ValueError, match=r"u has -1 at place 1.*balanced=True"):
        winnow_path([[1.0, 1.0]], [0.5, -0.5], 0.5)
