"""Every map of the table, in all of its forms, and the rows that they are tried on."""

import hypothesis.strategies as st
import numpy as np
from scipy.sparse import csr_array, csr_matrix

from linsep.transforms import MAPS, DeltaTrick, Polynomial, Scale, ScaleColumns, Standardize

FORMS = [
    *(kind() for kind in MAPS.values() if kind is not Standardize),
    Standardize(center=False),
    Polynomial(degree=3, interaction_only=True, include_bias=True),
    Polynomial(degree=(2, 4)),
    Polynomial(terms=["x0", "1", "x0^5"]),
    Scale("entry", power_of_two=True),
    Scale(divisor=3.0),
    ScaleColumns("std"),
    DeltaTrick(n_rows=10_000),
]


def int64(X):
    """The same CSR rows with 64-bit indices, which the constructor would narrow."""
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


KINDS = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "csr_array": csr_array,
    "csr_matrix": csr_matrix,
    "int64": lambda X: int64(csr_array(X)),
}


@st.composite
def rows(draw, span=4):
    """Small integers or reals, many of them 0, zero rows and zero columns among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    X = rng.integers(-span, span + 1, shape) * (rng.random(shape) < draw(st.sampled_from([0.2, 0.7, 1.0])))
    return X.astype(float) if draw(st.booleans()) else X * rng.normal(size=shape)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()
