"""Find exact dependencies of rows, and round vectors to short integers.

Floats are integers times powers of two, and powers of two are put aside by row and by column, which changes no sign.
The rank, and which rows and columns carry it, is found modulo a prime so small that float64 products are exact. The
square system that is left is solved modulo the prime, then modulo its powers (Dixon, 1982), until the fractions that it
represents can be computed. The result is multiplied out against every column before it is returned, so that a prime of
bad luck costs time, never truth.
"""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import optimize

from linsep.engine.arrays import Array
from linsep.solvers.exact.linear_systems import (
    MOST_ROWS,
    PRIMES,
    WIDTH,
    BadPrimeError,
    DyadicMatrix,
    Echelon,
    Limits,
    System,
    TooMuchError,
    centred,
    eliminate_by_pieces,
    form_of,
    inverse,
    lift,
)

LENGTHS = (6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 52)
"""Bits of the largest entry that are tried, one after the other."""
LONGEST = 1 << 60
"""Integers from here on are written in base 16: readers of decimal ones may refuse them."""
SPARSE = 0.6
"""The share of entries that are not 0 up to which their places are listed."""
CELLS = 1 << 22
"""Numbers held at once where columns are multiplied out."""


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def short(vector: Array, good: Callable[[Array], bool]) -> dict[str, Any]:
    """Return the shortest form of a vector that is still good enough; all its bits where none is.

    `good` returns whether a rounded vector still serves.

    >>> short(np.array([0.3, 0.0, 0.0, -1.0]), lambda v: abs(v[0] - 0.3) < 0.01)
    {'exponent': -7, 'at': [0, 3], 'values': [38, -128]}
    """
    largest = float(np.abs(vector).max(initial=0.0))
    top = int(np.frexp(largest)[1])
    for length in LENGTHS if largest else ():
        integers = np.rint(np.ldexp(vector, length - top))
        if good(np.ldexp(integers, top - length)):
            return written(integers.astype(np.int64).tolist(), top - length)
    return exact(vector)


def exact(vector: Array) -> dict[str, Any]:
    """Return all bits of a vector.

    >>> exact(np.array([0.75, 2.0]))
    {'exponent': -2, 'values': [3, 8]}
    """
    ratios = [float(v).as_integer_ratio() for v in vector]
    unit = max((d for _, d in ratios), default=1)
    return written([n * (unit // d) for n, d in ratios], 1 - unit.bit_length())


def written(integers: list[int], exponent: int = 0) -> dict[str, Any]:
    """Return integers times 2**exponent as a certificate holds them: {exponent, at, values}, zeros left out if many.

    >>> written([0, 0, 5])
    {'exponent': 0, 'at': [2], 'values': [5]}
    """
    places = [i for i, v in enumerate(integers) if v]
    whole = len(places) > SPARSE * len(integers)
    values = integers if whole else [integers[i] for i in places]
    form: dict[str, Any] = {"exponent": exponent} if whole else {"exponent": exponent, "at": places}
    return form | {"values": [v if abs(v) < LONGEST else hex(v) for v in values]}


def witness(
    rows: Any, guess: Any = None, *, deadline: float | None = None, most_bits: int = 8_000_000
) -> list[int] | None:
    """Return integers lambda_i >= 0, not all 0, with sum lambda_i z_i = 0 exactly; None where none was found.

    By Gordan's theorem they prove that no w has w·z_i > 0 for all rows z_i = y_i x_i: the data are not separable. Rows
    are best those with lambda_i > 0 in the basic solution of a linear program, since these have, but for rounding, one
    dependency only. Where there are more, rows of small guesses are dropped; if that gives mixed signs, a linear
    program looks for a vertex; then the guess itself is moved to the exact solution that shares its smallest entries.

    `rows` are dense or sparse, times their signs, floats of any exponent. More than 4,096 are too many to try. A
    column that a sparse row stores twice counts as its float64 sum. `guess` is what lambda is about, up to a factor.
    The search ends at the deadline, and where the bit lengths of lambda add up to more than `most_bits`. The
    integers, one for each row, have no common factor.

    >>> witness([[0.5, 1.0], [-0.75, 0.0], [0.0, -3.0]])
    [3, 2, 1]
    >>> witness([[1.0, 0.1], [1.0, -0.1]]) is None
    True
    """
    form = form_of(rows)
    weight = None if guess is None else _log2(_checked_guess(form, guess)) + form.sizes
    return _first(form, weight, True, Limits(math.inf if deadline is None else deadline, most_bits))


def dependency(rows: Any, *, deadline: float | None = None, most_bits: int = 8_000_000) -> list[int] | None:
    """Return integers c_i of any sign, not all 0, with sum c_i z_i = 0 exactly; None where the rows are independent.

    None also where the search ends, as in `witness`, whose arguments these are.

    >>> dependency([[1.0, 0.0], [0.0, 0.5], [3.0, 4.0]])
    [-3, -8, 1]
    """
    return _first(form_of(rows), None, False, Limits(math.inf if deadline is None else deadline, most_bits))


def _log2(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log2(values)


def _checked_guess(form: DyadicMatrix, guess: Any) -> Array:
    guess = np.asarray(guess, dtype=np.float64)
    if guess.shape != (form.shape[0],) or not np.isfinite(guess).all():
        raise ValueError(f"a guess is a finite number for each of {form.shape[0]} rows, not an array of {guess.shape}")
    return np.maximum(guess, 0.0)


def _first(form: DyadicMatrix, weight: Array | None, positive: bool, limits: Limits) -> list[int] | None:
    """Return the first dependency, of one sign if it must be, that a prime leads to."""
    if np.isneginf(form.sizes).any():
        i = int(np.argmin(form.sizes))
        return [int(k == i) for k in range(form.shape[0])]
    if form.shape[0] > MOST_ROWS:
        return None
    for prime in PRIMES:
        try:
            return _modulo(form, weight, positive, prime, limits)
        except TooMuchError:
            return None
        except BadPrimeError:
            continue
    return None


def _modulo(form: DyadicMatrix, weight: Array | None, positive: bool, prime: int, limits: Limits) -> list[int] | None:
    residues = form.residues(prime)
    seen = eliminate_by_pieces(residues, prime, limits.check)
    for system in _systems(form, residues, seen, weight, positive, prime, limits):
        found = _solution(form, residues, system, prime, positive, limits)
        if found is not None:
            return found
    return None


def _systems(
    form: DyadicMatrix, residues: Any, seen: Echelon, weight: Array | None, positive: bool, prime: int, limits: Limits
) -> Iterator[System]:
    """Yield what to solve, the most promising first."""
    basis = seen.null_space()
    if not len(basis):
        return
    if len(basis) == 1 or not positive:
        yield _circuit(residues, seen, basis[0], prime, limits)
        return
    if weight is not None:
        yield _vertex(residues, seen, basis, weight, prime, limits)
    vertex = _by_program(form, seen, limits)
    if vertex is not None:
        yield _vertex(residues, seen, basis, vertex, prime, limits)
    if weight is not None:
        free = _free(basis, weight, prime, limits)
        logs = weight[free] - form.sizes[free] + form.shifts[free]
        if np.isfinite(logs).any():
            given = np.rint(np.exp2(20 + logs - logs.max()))
            yield System(np.delete(np.arange(form.shape[0]), free), seen.columns, free, given)


def _free(basis: Array, weight: Array, prime: int, limits: Limits) -> Array:
    """Return rows of least weight on which a dependency can be chosen at will."""
    order = np.argsort(weight, kind="stable")
    return order[eliminate_by_pieces(basis[:, order], prime, limits.check).columns]


def _vertex(residues: Any, seen: Echelon, basis: Array, weight: Array, prime: int, limits: Limits) -> System:
    """Return the system of the dependency that is 0 on as many rows of least weight as can be."""
    free = _free(basis, weight, prime, limits)
    vector = centred(inverse(basis[:, free], prime, limits.check)[-1] @ basis, prime)
    return _circuit(residues, seen, vector, prime, limits)


def _circuit(residues: Any, seen: Echelon, vector: Array, prime: int, limits: Limits) -> System:
    """Return the system of the rows on which a dependency is not 0 modulo the prime."""
    rows = np.flatnonzero(vector)
    found = eliminate_by_pieces(residues[rows][:, seen.columns].toarray(), prime, limits.check)
    return System(rows[found.rows], seen.columns[found.columns], rows[found.others], np.ones(len(found.others)))


def _by_program(form: DyadicMatrix, seen: Echelon, limits: Limits) -> Array | None:
    """Return log2 of a vertex of {lambda >= 0, sum 1, sums over the columns 0}, rows and columns scaled near 1."""
    part = form.part(np.arange(form.shape[0]), seen.columns)
    sizes = np.floor(form.sizes - form.shifts).astype(np.int64)[part.row]
    powers = part.exponent - sizes
    largest = np.full(part.shape[1], np.iinfo(np.int64).min)
    np.maximum.at(largest, part.column, powers + np.frexp(np.abs(part.mantissa).astype(np.float64))[1])
    values = np.ldexp(part.mantissa.astype(np.float64), powers - largest[part.column])
    sums: Any = sp.csr_array((values, (part.column, part.row)), shape=part.shape[::-1])
    A = sp.vstack([sums, sp.csr_array(np.ones((1, form.shape[0])))])
    b = np.append(np.zeros(part.shape[1]), 1.0)
    seconds = min(limits.deadline - time.monotonic(), 1e9)
    if seconds <= 0:
        raise TooMuchError
    result = optimize.linprog(
        np.zeros(form.shape[0]), A_eq=A, b_eq=b, method="highs-ds", options={"time_limit": seconds}
    )
    return None if result.x is None else _log2(np.maximum(result.x, 0.0))


def _solution(
    form: DyadicMatrix, residues: Any, system: System, prime: int, positive: bool, limits: Limits
) -> list[int] | None:
    """Return the dependency that a system represents, without a common factor; None where signs are mixed."""
    support = np.append(system.rows, system.free)
    numerators, denominator = lift(form, residues, system, prime, limits)
    values = numerators + [int(g) * denominator for g in system.given.tolist()]
    if positive and min(values) < 0:
        return None
    if not _vanishes(form, support, values, limits):
        raise BadPrimeError
    shifts = form.shifts[support]
    values = [v << int(k) for v, k in zip(values, shifts.max() - shifts, strict=True)]
    common = math.gcd(*values)
    result = [0] * form.shape[0]
    for i, v in zip(support.tolist(), values, strict=True):
        result[i] = v // common
    if sum(v.bit_length() for v in result) > limits.bits:
        raise TooMuchError
    return result


def _vanishes(form: DyadicMatrix, rows: Array, values: list[int], limits: Limits) -> bool:
    """Return whether the sum of value_i z_i is 0 in every column."""
    size = max(v.bit_length() for v in values) // WIDTH + 1
    digits = np.array([np.frombuffer(abs(v).to_bytes(size * WIDTH // 8, "little"), "<u2") for v in values])
    digits = digits * np.array([-1.0 if v < 0 else 1.0 for v in values])[:, None]
    length = form.length()
    step = max(1, CELLS // (length * (size + length)))
    for begin in range(0, form.shape[1], step):
        limits.check()
        part = form.part(rows, np.arange(begin, min(begin + step, form.shape[1])))
        products = (part.digits(length) @ digits).reshape(length, part.shape[1], size)
        sums = np.zeros((size + length, part.shape[1]))
        for k in range(length):
            sums[k : k + size] += products[k].T
        carry = np.zeros(part.shape[1])
        for row in sums:
            carry = (row + carry) / 2.0**WIDTH
            if np.any(carry != np.rint(carry)):
                return False
        if carry.any():
            return False
    return True
