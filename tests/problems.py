"""Hypothesis strategies for small problems: rows, labels, and what is known about them."""

from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

KINDS = {"dense": np.ascontiguousarray, "csr": csr_array}


class Separable(NamedTuple):
    """Integer rows with y·(u·x) >= margin > 0 for an integer u: bounds are compared without any rounding."""

    X: np.ndarray
    y: np.ndarray
    u: np.ndarray
    margin: float


def epochs(seed, n, count):
    """The order of `count` epochs: epoch e is default_rng([seed, e]).permutation(n)."""
    return np.concatenate([np.random.default_rng([seed, e]).permutation(n) for e in range(count)])


def labels(n, classes=2):
    """Codes 0, 1, ... for n rows, each of them present, in any order."""
    rest = st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes)
    return rest.flatmap(lambda more: st.permutations([*range(classes), *more])).map(np.array)


@st.composite
def integer_rows(draw, classes=2, span=3, max_rows=10, max_features=5):
    """Small integers: zero rows, duplicates and contradictions just occur. Two classes are -1 and +1."""
    shape = draw(st.integers(classes, max_rows)), draw(st.integers(1, max_features))
    X = draw(arrays(float, shape, elements=st.integers(-span, span)))
    codes = draw(labels(len(X), classes))
    return X, 2 * codes - 1 if classes == 2 else codes


@st.composite
def scattered_rows(draw):
    """Larger integers, at random: sums are exact, and yet ties are rare."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 20))
    return rng.integers(-9, 10, (n, draw(st.integers(1, 6)))).astype(float), rng.permutation(2 * (np.arange(n) % 2) - 1)


@st.composite
def float_rows(draw, classes=2):
    """Random reals, some of them 0, at several scales: ties have no chance, and shapes vary."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, p = draw(st.integers(classes, 16)), draw(st.integers(1, 6))
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.8) * draw(st.sampled_from([0.01, 0.4, 20.0]))
    codes = rng.permutation(np.arange(n) % classes)
    return X, 2 * codes - 1 if classes == 2 else codes


@st.composite
def separable(draw, nonnegative=False, span=3):
    """Integer rows that an integer u separates, both classes among them, in the order drawn."""
    p = draw(st.integers(1, 6))
    weights = st.integers(0 if nonnegative else -2, 2)
    u = draw(arrays(float, p, elements=weights).filter(np.any))
    X = draw(arrays(float, (draw(st.integers(0, 12)), p), elements=st.integers(-span, span)))
    axis = np.eye(p)[[int(np.argmax(np.abs(u)))]]
    X = np.vstack([X[X @ u != 0], axis, -axis])
    X = X[draw(st.permutations(range(len(X))))]
    return Separable(X, np.sign(X @ u), u, np.abs(X @ u).min())
