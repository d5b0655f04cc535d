"""VC dimension: every labelling of the points realised, none of Radon's, and Cover's count by trying all labellings."""

from fractions import Fraction
from itertools import product
from math import comb, gcd

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

from linsep.theory import cover, radon, shatter
from linsep.theory.vc import cover_fraction, vc_dimension

seeds = st.integers(0, 10**6)
both = pytest.mark.parametrize("affine", [False, True])


def separable(points, labels):
    """Whether some w has y w·x >= 1 on all points, by a linear program."""
    signed = points * np.asarray(labels)[:, None]
    return linprog(
        np.zeros(points.shape[1]), A_ub=-signed, b_ub=-np.ones(len(points)), bounds=(None, None), method="highs"
    ).success


@both
@pytest.mark.parametrize("p", [1, 2, 3, 7, 10])
def test_every_labelling_is_realised(p, affine):
    shattered = shatter(p, affine)
    n = vc_dimension(p, affine)
    assert shattered.points.shape == (n, p)
    labels = shattered.labellings()
    assert {tuple(row) for row in labels.tolist()} == set(product([-1, 1], repeat=n))
    w, b = shattered.separators()
    assert w.dtype.kind == b.dtype.kind == "i"
    assert w.shape == (2**n, p)
    assert np.all(labels * (w @ shattered.points.T + b[:, None]) >= 1)
    assert affine or not b.any()


def test_many_points_are_realised_by_request():
    shattered = shatter(1000, affine=True)
    labels = np.random.default_rng(0).choice([-1, 1], (5, 1001))
    w, b = shattered.separators(labels)
    assert np.all(labels * (w @ shattered.points.T + b[:, None]) >= 1)
    with pytest.raises(ValueError, match=r"1001 points have 2\^1001 labellings"):
        shattered.labellings()
    for wrong in (labels[0], labels[:, 1:], 0 * labels):
        with pytest.raises(ValueError, match="each of 1001 points"):
            shattered.separators(wrong)


def refutes(points, found, affine):
    """Whether the coefficients prove, in Fractions, that the labelling is not realised."""
    rows = [[Fraction(v) for v in row] + [Fraction(1)] * affine for row in points.tolist()]
    sums = [
        [sum(found.coefficients[i] * rows[i][j] for i in indices) for j in range(len(rows[0]))]
        for indices in (found.positive, found.negative)
    ]
    chosen = {*found.positive, *found.negative}
    return (
        sums[0] == sums[1]
        and bool(found.positive)
        and len(chosen) == len(found.positive) + len(found.negative)
        and all((found.coefficients[i] > 0) == (i in chosen) for i in range(len(rows)))
        and gcd(*found.coefficients) == 1
        and found.labelling == [1 if i in found.positive else -1 for i in range(len(rows))]
        and (bool(found.negative) or not affine)
    )


@pytest.mark.slow
@both
@given(seed=seeds, p=st.integers(1, 7), more=st.integers(0, 3), kind=st.sampled_from(["integer", "float", "wild"]))
def test_radon(affine, seed, p, more, kind):
    rng = np.random.default_rng(seed)
    shape = p + 1 + affine + more, p
    points = rng.integers(-9, 10, shape)
    if kind != "integer":
        points = rng.normal(size=shape)
    if kind == "wild":
        points = np.ldexp(points, rng.integers(-150, 150, shape))
    found = radon(points, affine=affine)
    assert refutes(points, found, affine)
    if affine:
        hulls = found.point(points), found._replace(positive=found.negative).point(points)
        assert hulls[0] == hulls[1]
    if kind != "wild":
        rows = np.hstack([points, np.ones((shape[0], 1))]) if affine else points
        assert not separable(rows, found.labelling)


def test_radon_in_many_dimensions():
    points = np.random.default_rng(0).integers(0, 256, (102, 100))
    found = radon(points)
    assert refutes(points, found, True)
    assert len(found.positive) + len(found.negative) == 102


@both
def test_points_in_special_positions(affine):
    twice = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 2.0, 3.0]])
    found = radon(twice, affine=affine)
    assert (found.positive, found.negative, found.coefficients) == ([0], [2], [1, 0, 1])
    line = np.array([[1, 0], [2, 0], [3, 0], [9, 9]])
    assert refutes(line, radon(line, affine=affine), affine)


def test_all_on_one_side_is_not_realised_around_the_origin():
    found = radon([[1, 0], [0, 1], [-1, -1]], affine=False)
    assert found == ([0, 1, 2], [], [1, 1, 1], [1, 1, 1])


def test_points_that_tell_nothing():
    with pytest.raises(ValueError, match=r"3 points of 2 features are affinely independent.* give 4 points"):
        radon([[0, 0], [1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"2 points of 2 features are linearly independent.* give 3 points"):
        radon([[1, 0], [0, 1]], affine=False)
    with pytest.raises(ValueError, match="row 1, column 0 is nan"):
        radon([[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match="2-D"):
        radon([1.0, 2.0])
    with pytest.raises(ValueError, match="out of reach"):
        radon(np.zeros((5002, 5000)))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(1, 1), (4, 1), (3, 2), (5, 2), (4, 3), (6, 3), (6, 4), (4, 6)])
def test_cover_counts_what_can_be_separated(n, p):
    points = np.random.default_rng(10 * n + p).normal(size=(n, p))
    assert sum(separable(points, labels) for labels in product([-1, 1], repeat=n)) == cover(n, p)


def test_cover_with_a_bias():
    points = np.hstack([np.random.default_rng(1).normal(size=(5, 2)), np.ones((5, 1))])
    assert sum(separable(points, labels) for labels in product([-1, 1], repeat=5)) == cover(5, 3) == 22


@given(n=st.integers(1, 300), p=st.integers(1, 300))
def test_cover_is_its_sum(n, p):
    assert cover(n, p) == 2 * sum(comb(n - 1, i) for i in range(p))
    assert cover(n + 1, p + 1) == cover(n, p + 1) + cover(n, p)
    assert cover_fraction(n, p) == Fraction(cover(n, p), 2**n)
    assert (cover_fraction(n, p) == 1) == (n <= p)
    assert cover_fraction(2 * p, p) == Fraction(1, 2)


def test_impossible_numbers_are_named():
    for call in (lambda: cover(0, 3), lambda: cover_fraction(3, 0), lambda: shatter(0), lambda: vc_dimension(-1)):
        with pytest.raises(ValueError, match="a whole number, 1 or more, is needed"):
            call()
