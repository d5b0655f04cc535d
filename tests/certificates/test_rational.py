"""Exact dependencies: multiplied out in Fractions, planted ones found, independent rows refused."""

import math
import time
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog
from scipy.sparse import csr_array

from linsep.solvers.exact.dependencies import dependency, witness
from linsep.solvers.exact.linear_systems import PRIMES, centred, eliminate, inverse

seeds = st.integers(0, 10**6)


def sums(rows, values):
    """The sum of value_i z_i, exactly."""
    columns = zip(*[[Fraction(v) for v in row] for row in rows.tolist()], strict=True)
    return [sum(v * z for v, z in zip(values, column, strict=True)) for column in columns]


def proves(rows, values):
    return (
        values is not None
        and all(type(v) is int and v >= 0 for v in values)
        and any(values)
        and math.gcd(*values) == 1
        and not any(sums(rows, values))
    )


def planted(rng, count, p, most=9):
    """Integer rows of rank count - 1, and positive integers with which they add up to 0."""
    values = rng.integers(1, most, count)
    rows = rng.integers(-9, 10, (count, p))
    rows[0] *= values[-1]
    rows[1:-1] *= values[-1]
    rows[-1] = -(values[:-1] @ rows[:-1]) // values[-1]
    return rows.astype(float), values.tolist()


@given(seed=seeds, count=st.integers(2, 12), more=st.integers(0, 5), sparse=st.booleans())
def test_planted_ones_are_found(seed, count, more, sparse):
    rng = np.random.default_rng(seed)
    rows, values = planted(rng, count, count + more)
    found = witness(csr_array(rows) if sparse else rows)
    assert proves(rows, found)
    if np.linalg.matrix_rank(rows) == count - 1 and rows.any(axis=1).all():
        common = math.gcd(*values)
        assert found == [v // common for v in values]


@given(seed=seeds, count=st.integers(2, 9), width=st.sampled_from([1, 40, 400, 2000]))
def test_powers_of_two_of_rows_and_columns_hide_nothing(seed, count, width):
    rng = np.random.default_rng(seed)
    rows, _ = planted(rng, count, count + 2)
    row, column = rng.integers(-width // 4, width // 4 + 1, (2, count + 2))
    scaled = np.ldexp(rows, row[:count, None] + column)
    assert np.array_equal(np.ldexp(scaled, -(row[:count, None] + column)), rows)
    assert proves(scaled, witness(scaled))


@given(seed=seeds, p=st.integers(1, 6), copies=st.integers(1, 3))
def test_floats_of_any_exponent_cancel(seed, p, copies):
    """Pairs of opposite rows among others that no dependency can hold, all of them wild."""
    rng = np.random.default_rng(seed)
    wild = np.ldexp(rng.uniform(-1, 1, (copies, p)), rng.integers(-1070, 1020, (copies, p)))
    positive = np.hstack([np.zeros((2, p)), np.ldexp(rng.uniform(0.5, 1, (2, 1)), rng.integers(-1070, 1020, (2, 1)))])
    rows = np.vstack([np.pad(wild, ((0, 0), (0, 1))), positive, np.pad(-wild, ((0, 0), (0, 1)))])
    found = witness(rows)
    assert proves(rows, found)
    assert found[copies : copies + 2] == [0, 0]


def test_three_wild_rows():
    rows = np.array([[1e300, 5e-324], [-1e300, 0.0], [0.0, -1e-310], [1.0, 1.0]])
    found = witness(rows[:3])
    assert proves(rows[:3], found)
    assert found[0] == found[1]
    assert found[2] * Fraction(1e-310) == found[0] * Fraction(5e-324)
    nearly = np.array([[1.0, 0.1], [-1.0, -np.nextafter(0.1, 1)]])
    assert witness(nearly) is None


def test_opposite_rows():
    row = np.random.default_rng(0).normal(size=50_000)
    assert witness([row, -row]) == [1, 1]
    assert witness(csr_array([row, -2 * row])) == [2, 1]
    assert witness([row, row]) is None


def test_a_row_of_zeros_is_enough():
    assert witness([[1.0, 2.0], [0.0, -0.0], [3.0, 4.0]]) == [0, 1, 0]
    assert witness(csr_array((3, 4))) == [1, 0, 0]


@given(seed=seeds, count=st.integers(1, 8), more=st.integers(0, 4), guessed=st.booleans())
def test_separable_rows_have_none(seed, count, more, guessed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-5, 6, (count + more, count)).astype(float)
    rows[:, 0] = rng.integers(1, 9, count + more)
    assert witness(rows, rng.random(count + more) if guessed else None) is None


@given(seed=seeds, count=st.integers(1, 8), p=st.integers(1, 8))
def test_independent_rows_have_none(seed, count, p):
    rows = np.random.default_rng(seed).integers(-3, 4, (count, p)).astype(float)
    found = dependency(rows)
    assert (found is None) == (np.linalg.matrix_rank(rows) == count)
    assert found is None or (any(found) and not any(sums(rows, found)))


@given(seed=seeds, p=st.integers(1, 6), count=st.integers(8, 30), way=st.sampled_from(["none", "vertex", "inside"]))
def test_supports_with_rows_too_many(seed, p, count, way):
    """What a program says of many rows, exactly decided: each answer of the program is confirmed."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-4, 5, (count, p)).astype(float)
    A = np.vstack([rows.T, np.ones(count)])
    program = linprog(np.zeros(count), A_eq=A, b_eq=np.eye(p + 1)[-1], method="highs")
    guess = {"none": None, "vertex": program.x, "inside": program.x}[way]
    if way == "inside" and program.success:
        guess = sum(
            linprog(rng.normal(size=count), A_eq=A, b_eq=np.eye(p + 1)[-1], method="highs-ds").x for _ in range(5)
        )
    found = witness(rows, guess)
    assert proves(rows, found) if program.success else found is None


@given(seed=seeds, width=st.sampled_from([0, 40, 900]))
def test_columns_of_integers_beside_columns_of_long_floats(seed, width):
    """Rows in pairs that mirror each other in one column, so that there is a dependency; none of two rows."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.normal(size=20), rng.integers(1, 4, 20) * np.repeat([-1.0, 1.0], 10)], axis=1)
    rows[::2, 0] *= -1
    program = linprog(np.zeros(20), A_eq=np.vstack([rows.T, np.ones(20)]), b_eq=[0, 0, 1], method="highs")
    scaled = np.ldexp(rows, [width, -width])
    found = witness(scaled)
    assert proves(scaled, found) if program.success else found is None


def test_a_guess_inside_is_moved_to_the_exact_one(monkeypatch):
    """Without the program: the vertex of the smallest guesses has mixed signs, the guess itself is near a solution."""
    monkeypatch.setattr("linsep.solvers.exact.dependencies._by_program", lambda *_: None)
    rng = np.random.default_rng(3)
    solved = 0
    for _ in range(30):
        guess = rng.uniform(0.5, 1.5, 12)
        rows = rng.integers(-9, 10, (12, 4)).astype(float)
        rows[-1] = -(guess[:-1] @ rows[:-1]) / guess[-1]
        guess += 1e-12 * rng.normal(size=12)
        found = witness(rows, guess)
        assert proves(rows, found)
        solved += min(found) > 0
    assert solved > 10


def test_a_support_of_many_rows():
    """Rows like one-hot ones, 300 in rank 299: seconds would be too many."""
    rng = np.random.default_rng(1)
    rows = (rng.random((300, 299)) < 0.1).astype(float)
    signs = np.array(dependency(rows), dtype=object)
    rows *= np.where(signs < 0, -1.0, 1.0)[:, None]
    begin = time.perf_counter()
    found = witness(csr_array(rows))
    assert time.perf_counter() - begin < 5
    assert found == np.abs(signs).tolist()
    integers = rows.astype(int).astype(object)
    assert not (np.array(found, dtype=object) @ integers).any()


def test_limits_end_a_search():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 59))
    signs = np.array(dependency(rows), dtype=object)
    rows *= np.where(signs < 0, -1.0, 1.0)[:, None]
    bits = sum(int(v).bit_length() for v in signs)
    assert proves(rows, witness(rows, most_bits=bits))
    assert witness(rows, most_bits=bits - 1) is None
    assert witness(rows, most_bits=1000) is None
    assert witness(rows, deadline=time.monotonic() - 1) is None
    begin = time.monotonic()
    assert witness((rng.random((800, 799)) < 0.5) - 0.5, deadline=begin + 0.3) is None
    assert time.monotonic() - begin < 3
    assert witness(np.ones((5000, 1)) * np.where(np.arange(5000) % 2, 1.0, -1.0)[:, None]) is None


def test_a_prime_of_bad_luck_costs_nothing_but_time():
    first = float(PRIMES[0])
    rows = np.array([[first, 1.0], [0.0, 1.0], [-first, -2.0]])
    assert witness(rows) == [1, 1, 1]
    several = np.diag(np.array(PRIMES[:4], float))
    assert proves(np.vstack([several, -np.ones(4)]), witness(np.vstack([several, -np.ones(4)])))
    for count in (1, 2, len(PRIMES)):
        independent = np.diag(np.array(PRIMES[:count], float))
        assert witness(independent) is None
        assert dependency(independent) is None


@pytest.mark.parametrize("hostile", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(hostile):
    with pytest.raises(ValueError, match=r"row 1, column 0 is .*only finite numbers"):
        witness([[1.0, 2.0], [hostile, 0.0]])


def test_other_hostile_inputs():
    with pytest.raises(ValueError, match="2-D"):
        witness([1.0, 2.0])
    with pytest.raises(ValueError, match="not object"):
        witness(np.array([[Fraction(1, 3)]]))
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        witness(np.array([[2**53 + 1]]))
    with pytest.raises(ValueError, match="a finite number for each of 2 rows"):
        witness([[1.0], [-1.0]], [1.0])
    with pytest.raises(ValueError, match="a finite number for each of 2 rows"):
        witness([[1.0], [-1.0]], [1.0, np.nan])
    assert witness(np.zeros((0, 3))) is None
    assert witness(np.array([[2], [-1]])) == [1, 2]
    twice = csr_array(([1.0, 2.0, -3.0], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    assert witness(twice) == [1, 1]
    assert twice.nnz == 3


@given(seed=seeds, rows=st.integers(1, 12), columns=st.integers(1, 12), rank=st.integers(0, 12))
def test_elimination(seed, rows, columns, rank):
    """V[others] = ratios V[rows] modulo the prime, in as many pivots as the rank; an inverse is one."""
    rng, prime = np.random.default_rng(seed), PRIMES[0]
    V = centred(rng.integers(-9, 10, (rows, rank)) @ rng.integers(-9, 10, (rank, columns)) + 0.0, prime)
    found = eliminate(V, prime)
    assert len(found.rows) == len(found.columns) == np.linalg.matrix_rank(V)
    assert not centred(V[found.others] - found.ratios @ V[found.rows], prime).any()
    assert not centred(found.null_space() @ V, prime).any()
    square = V[found.rows][:, found.columns]
    assert np.array_equal(centred(square @ inverse(square, prime, lambda: None), prime), np.eye(len(square)))
