"""Bound arguments reach compiled code as what they were."""

import sys

import numpy as np
import pytest
from numba import njit, typeof

from linsep.engine.native import Bound, opened

NESTED = (
    (0.5, -0.0, 1e308),
    (np.arange(6.0).reshape(2, 3), np.array([3, 1], np.int32), 7, True),
    (),
    (np.arange(24, dtype=np.int64).reshape(2, 3, 4), np.empty((0, 2)), np.float32([1.5])),
    False,
    -(2**62),
)


@njit
def given(bound):
    return opened(bound)


def test_compiled_code_sees_what_was_bound():
    (floats, (table, small, number, truth), nothing, (cube, empty, single), untruth, low) = given(Bound(*NESTED))
    assert floats == NESTED[0]
    assert np.signbit(floats[1])
    assert (number, truth, untruth, low, nothing) == (7, True, False, -(2**62), ())
    for got, was in zip((table, small, cube, empty, single), (*NESTED[1][:2], *NESTED[3]), strict=True):
        assert got.dtype == was.dtype
        np.testing.assert_array_equal(got, was)


def test_in_python_it_is_the_tuple_with_views_of_the_arrays():
    bound = Bound(*NESTED)
    (floats, (table, small, number, truth), nothing, (cube, empty, single), untruth, low) = opened(bound)
    assert floats == NESTED[0]
    assert np.signbit(floats[1])
    assert (number, truth, untruth, low, nothing) == (7, True, False, -(2**62), ())
    for got, was in zip((table, small, cube, empty, single), (*NESTED[1][:2], *NESTED[3]), strict=True):
        assert got.obj is was


@njit
def filled(bound):
    table, value = opened(bound)
    table[:] = value


def test_compiled_code_writes_to_the_arrays_that_were_bound():
    table = np.zeros((3, 2))
    filled(Bound(table, 2.5))
    assert (table == 2.5).all()


def test_a_call_leaves_nothing_behind():
    bound = Bound(np.zeros((3, 2)), 2.5)
    filled(bound)
    before = sys.getrefcount(bound.words)
    for _ in range(100):
        filled(bound)
    after = sys.getrefcount(bound.words)
    assert after == before


def test_only_c_order_can_be_bound():
    for array in (np.zeros((4, 4)).T[1:], np.zeros(6)[::2]):
        with pytest.raises(TypeError, match="C-ordered"):
            Bound(array)


def test_equal_shapes_of_arguments_share_a_type_and_others_do_not():
    one, two = Bound(np.zeros(2), 1.0), Bound(np.ones(5), 2.0)
    assert one.type is two.type
    assert typeof(one) is one.type
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    others = [
        Bound(np.zeros(2), 1),
        Bound(np.zeros((2, 1)), 1.0),
        Bound(np.zeros(2, np.float32), 1.0),
        Bound(frozen, 1.0),
    ]
    assert len({str(b.type) for b in (one, *others)}) == 5
