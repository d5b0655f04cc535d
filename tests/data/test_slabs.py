"""Pieces of memory: what was taken is never given to another, what was dropped is used again."""

import numpy as np

from linsep.data.slabs import MOST, SLAB, Slabs


def test_what_is_held_stays_as_it_is():
    slabs, held = Slabs(), []
    for k in range(20):
        indices, values = slabs.room(SLAB // 3, np.int32, np.float64)
        indices[:1000], values[:1000] = k, k + 0.5
        held.append(slabs.take(1000 + k * 10_000))
    for k, (indices, values) in enumerate(held):
        assert len(indices) == len(values) == 1000 + k * 10_000
        assert np.all(indices[:1000] == k)
        assert np.all(values[:1000] == k + 0.5)


def test_what_is_dropped_is_used_again():
    slabs = Slabs()
    first = slabs.room(SLAB, np.int32, np.float64)[1].ctypes.data
    for _ in range(10):
        slabs.room(SLAB, np.int32, np.float64)
        assert slabs.take(SLAB)[1].ctypes.data == first
    held = [slabs.room(SLAB, np.int32, np.float64) and slabs.take(SLAB) for _ in range(2 * MOST)]
    assert len({values.ctypes.data for _, values in held}) == 2 * MOST
    assert len(slabs.slabs) == MOST


def test_a_view_of_a_view_counts():
    slabs = Slabs()
    slabs.room(SLAB, np.int32, np.float64)
    held = slabs.take(SLAB)[1][5:10].reshape(5, 1)
    held[:] = 7
    slabs.room(SLAB, np.int32, np.float64)[1][:] = 0
    assert np.all(held == 7)


def test_other_types_and_large_rooms():
    slabs = Slabs()
    indices, values = slabs.room(10, np.int64, np.float32)
    assert (indices.dtype, values.dtype) == (np.int64, np.float32)
    slabs.take(10)
    indices, values = slabs.room(SLAB + 1, np.int32, np.float64)
    assert len(values) == SLAB + 1
    slabs.take(1)
    assert all(len(slab.values) == SLAB for slab in slabs.slabs)
