"""Scratch memory: entries that are kept are never handed out again, dropped ones are reused."""

import numpy as np

from linsep.data.rows import CHUNK_ENTRIES, MOST_CHUNKS, ScratchArena


def test_what_is_held_stays_as_it_is():
    arena, held = ScratchArena(), []
    for k in range(20):
        indices, values = arena.reserve(CHUNK_ENTRIES // 3, np.int32, np.float64)
        indices[:1000], values[:1000] = k, k + 0.5
        held.append(arena.keep(1000 + k * 10_000))
    for k, (indices, values) in enumerate(held):
        assert len(indices) == len(values) == 1000 + k * 10_000
        assert np.all(indices[:1000] == k)
        assert np.all(values[:1000] == k + 0.5)


def test_what_is_dropped_is_used_again():
    arena = ScratchArena()
    first = arena.reserve(CHUNK_ENTRIES, np.int32, np.float64)[1].ctypes.data
    for _ in range(10):
        arena.reserve(CHUNK_ENTRIES, np.int32, np.float64)
        assert arena.keep(CHUNK_ENTRIES)[1].ctypes.data == first
    held = []
    for _ in range(2 * MOST_CHUNKS):
        arena.reserve(CHUNK_ENTRIES, np.int32, np.float64)
        held.append(arena.keep(CHUNK_ENTRIES))
    assert len({values.ctypes.data for _, values in held}) == 2 * MOST_CHUNKS
    assert len(arena.chunks) == MOST_CHUNKS


def test_a_view_of_a_view_counts():
    arena = ScratchArena()
    arena.reserve(CHUNK_ENTRIES, np.int32, np.float64)
    held = arena.keep(CHUNK_ENTRIES)[1][5:10].reshape(5, 1)
    held[:] = 7
    arena.reserve(CHUNK_ENTRIES, np.int32, np.float64)[1][:] = 0
    assert np.all(held == 7)


def test_other_types_and_large_rooms():
    arena = ScratchArena()
    indices, values = arena.reserve(10, np.int64, np.float32)
    assert (indices.dtype, values.dtype) == (np.int64, np.float32)
    arena.keep(10)
    indices, values = arena.reserve(CHUNK_ENTRIES + 1, np.int32, np.float64)
    assert len(values) == CHUNK_ENTRIES + 1
    arena.keep(1)
    assert all(len(chunk.values) == CHUNK_ENTRIES for chunk in arena.chunks)
