"""Kernels of every kind, their values from the formula, and the rows that they are tried on."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from linsep.kernels.functions import Linear, OfUser, Polynomial, RadialBasis


def product(A, B):
    return A @ B.T


def histogram(A, B):
    A, B = (X.toarray() if issparse(X) else X for X in (A, B))
    return np.minimum(A[:, None], B[None]).sum(axis=2)


ALL = [
    Linear(),
    Linear(bias=3.0),
    Polynomial(1),
    Polynomial(2, bias=2.0),
    Polynomial(3, gamma=0.5, coef0=-2.0),
    Polynomial(7, coef0=0.0),
    RadialBasis(0.25),
    RadialBasis(2.0, bias=1.5),
    OfUser(product),
    OfUser(histogram, bias=1.0),
]
every = pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: type(kernel).__name__)
forms = list(itertools.product([np.ascontiguousarray, csr_array], repeat=2))
both = pytest.mark.parametrize(("left", "right"), forms, ids=["dense", "dense-csr", "csr-dense", "csr"])


def whole(rows, columns, seed=0, largest=4):
    """Return rows of whole numbers, many of them 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(-largest, largest + 1, (rows, columns)) * (rng.random((rows, columns)) < 0.6) * 1.0


def exact(kernel, x, y):
    """Return K(x, y) from the formula, in fractions where it has a rational value."""
    x, y = ([Fraction(v) for v in row.tolist()] for row in (x, y))
    constant = Fraction(kernel.bias) ** 2
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if isinstance(kernel, Linear):
        return dot + constant
    if isinstance(kernel, Polynomial):
        return (Fraction(kernel.coef0) + Fraction(kernel.gamma) * dot) ** kernel.degree + constant
    if isinstance(kernel, RadialBasis):
        distance = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
        return Fraction(math.exp(-float(Fraction(kernel.gamma) * distance))) + constant
    if kernel.function is product:
        return dot + constant
    return sum(map(min, x, y)) + constant


def table(kernel, A, B):
    values = [[float(exact(kernel, x, y)) for y in B] for x in A]
    return np.array(values).reshape(len(A), len(B))
