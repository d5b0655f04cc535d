"""The exact simplex method: each answer is multiplied out in fractions, and the verdict is that of another method."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from linsep.solvers.exact import simplex
from linsep.solvers.exact.simplex import decide_exactly
from tests.certificates import plain


def decided(Z, **how):
    """Whether rows are separable, after the proof was checked."""
    found, rows = decide_exactly(Z, **how), plain.dense(Z)
    if found.weights:
        assert not found.dual
        assert all(sum(z * v for z, v in zip(row, found.weights, strict=True)) > 0 for row in rows)
        return True
    assert min(found.dual) >= 0 < max(found.dual)
    assert not any(sum(a * z for a, z in zip(found.dual, column, strict=True)) for column in zip(*rows, strict=True))
    return False


def signed(Z, rng):
    """Rows on one side of a hyperplane, but for one now and then."""
    return (
        Z * np.where(Z @ rng.normal(size=Z.shape[1]) > 0, 1.0, -1.0)[:, None] * rng.choice([1, 1, 1, -1], (len(Z), 1))
    )


SCALES = {
    "none": lambda Z, rng: Z,
    "rows": lambda Z, rng: np.ldexp(Z, rng.integers(-900, 900, (len(Z), 1))),
    "columns": lambda Z, rng: np.ldexp(Z, rng.integers(-900, 900, Z.shape[1])),
    "entries": lambda Z, rng: np.ldexp(Z, rng.integers(-900, 900, Z.shape)),
    "subnormal": lambda Z, rng: np.round(Z) * 5e-324,
}  # fmt: skip


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("whole", [True, False])
def test_verdicts_are_those_of_another_method(scale, whole):
    rng, seen = np.random.default_rng(1), set()
    for _ in range(40):
        Z = rng.normal(size=rng.integers(1, [12, 6]))
        Z = SCALES[scale](signed(np.round(Z) if whole else Z, rng), rng)
        verdict = decided(Z if rng.integers(2) else csr_array(Z), first=rng.permutation(len(Z)))
        assert verdict == plain.separable(plain.dense(Z))
        seen.add(verdict)
    assert len(seen) == 2


@pytest.mark.parametrize("few", [0, 12, 100])
def test_both_ways_of_solving_give_the_same_verdict(few, monkeypatch):
    monkeypatch.setattr(simplex, "FEW", few)
    rng = np.random.default_rng(2)
    for n, p in ((30, 14), (22, 14), (12, 4), (9, 3)):
        Z = signed(rng.normal(size=(n, p)), rng)
        assert decided(Z) == plain.separable(plain.dense(np.round(Z * 2**10)))


def test_rows_and_columns_are_added_until_the_answer_holds_for_all(monkeypatch):
    monkeypatch.setattr(simplex, "FIRST", 2)
    rng, seen = np.random.default_rng(3), set()
    for n, p in ((40, 3), (60, 2), (8, 30), (12, 11), (20, 9), (9, 40)):
        for Z in (signed(rng.integers(-3, 4, (n, p)).astype(float), rng), np.abs(rng.normal(size=(n, p)))):
            seen.add(verdict := decided(Z))
            assert verdict == plain.separable(plain.dense(Z))
    assert len(seen) == 2


def test_dependent_columns_and_a_constant_score():
    Z = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, 1.0, 1.5]])
    assert decided(Z)
    assert not decided(np.vstack([Z, -Z[:1]]))
    assert decided(np.array([[1.0, 1.0, 2.0], [3.0, -2.0, 1.0]]))
    assert not decided(np.array([[0.0, 0.0], [1.0, 1.0]]))


def test_bad_primes_cost_time_only(monkeypatch):
    monkeypatch.setattr(simplex, "PRIMES", (3, 5, 2097143, 2097133))
    rng = np.random.default_rng(4)
    for _ in range(30):
        Z = signed(rng.integers(-4, 5, (rng.integers(2, 9), rng.integers(1, 4))).astype(float), rng) * 3.0
        assert decided(Z) == plain.separable(plain.dense(Z))


def test_rows_of_the_right_basis_need_no_pivot(monkeypatch):
    solved = []
    solve = simplex._Table._solution
    monkeypatch.setattr(simplex._Table, "_solution", lambda *given: solved.append(1) or solve(*given))
    rng = np.random.default_rng(5)
    Z = signed(rng.normal(size=(60, 4)), rng)
    dual = np.array(decide_exactly(Z).dual, object)
    before, order = len(solved), np.argsort(dual == 0, kind="stable")
    assert decide_exactly(Z, order).dual == dual.tolist()
    assert len(solved) == before + 1


def test_weights_have_no_more_bits_than_they_need():
    assert max(map(abs, decide_exactly(np.random.default_rng(6).random((50, 5))).weights)) < 2**12


def test_the_deadline_ends_the_search():
    rng = np.random.default_rng(7)
    Z = signed(rng.normal(size=(300, 120)), rng)
    began = time.monotonic()
    assert decide_exactly(Z, deadline=began + 0.2) is None
    assert time.monotonic() - began < 5
    assert decide_exactly([[1.0]], deadline=began) is None
