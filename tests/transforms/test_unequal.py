"""Columns whose sizes differ much are found, in dense and in sparse rows."""

import numpy as np
import pytest
from scipy import sparse

from linsep.transforms.scaling import UNEQUAL, unequal_columns


def reference(X):
    columns = [[x for x in column if x != 0] for column in X.T if len(set(column)) > 1]
    sizes = [np.sqrt(np.mean(np.square(column))) for column in columns]
    return (max(sizes), float(np.median(sizes))) if len(sizes) > 1 else (0.0, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_sizes_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 5)) * 10.0 ** rng.integers(-2, 3, 5) * (rng.random((12, 5)) < 0.6)
    X[:, 2] = 1e6 if seed % 2 else 0.0
    largest, median = reference(X)
    found = unequal_columns(X)
    assert (found is not None) == (largest > UNEQUAL * median)
    if found is not None:
        assert found[1:] == pytest.approx((largest, median))
    if not seed % 2:
        assert unequal_columns(sparse.csr_array(X)) == pytest.approx(found)


@pytest.mark.parametrize("X", [np.ones((3, 2)), np.zeros((4, 3)), np.zeros((0, 2)), np.ones((3, 1)), np.eye(3)])
def test_nothing_to_compare(X):
    assert unequal_columns(X) is None
    assert unequal_columns(sparse.csr_array(X)) is None
