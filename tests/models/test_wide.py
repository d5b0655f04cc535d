"""What a model of very many features needs in memory: as much as what it keeps."""

import copy
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep.data.text.ngrams import Frequencies
from linsep.training import scoring as compact
from linsep.training.scoring import KeptFeatures

HUGE = 1 << 47


@given(kept=st.sets(st.integers(0, 99), max_size=20), indices=st.lists(st.integers(-3, 110), max_size=50))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_search_finds_what_a_table_does(kept, indices, dtype):
    columns, indices = KeptFeatures(np.array(sorted(kept), np.int64), 100), np.array(indices, dtype)
    known = (indices >= 0) & (indices < 100)
    found = np.where(known, columns._searched(indices), len(kept) + 1)
    assert found.tolist() == columns.places(indices).tolist()


def test_a_few_of_very_many_columns_need_no_table():
    indices = np.array([HUGE - 1, 0, 5, HUGE, -1, 1 << 40])
    tracemalloc.start()
    assert KeptFeatures(np.array([5, 1 << 40, HUGE - 1]), HUGE).places(indices).tolist() == [2, 3, 0, 4, 4, 1]
    assert KeptFeatures(np.empty(0, np.int64), HUGE).places(indices).tolist() == [0, 0, 0, 1, 1, 0]
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_many_columns_of_many_are_looked_up(monkeypatch):
    monkeypatch.setattr(compact, "LARGE", 10)
    assert KeptFeatures(np.arange(0, 640, 2), 640)._sparse is False
    assert KeptFeatures(np.arange(0, 640, 2), 640 * 64)._sparse is True


def test_counts_of_documents_take_the_memory_of_those_counted():
    state = {"documents": 5, "columns": [1, 7, 1 << 40], "in": [3, 5, 1]}
    tracemalloc.start()
    few = copy.deepcopy(Frequencies.restored(state, HUGE))
    weights = few.weights(np.array([7, 2, 1 << 40, 1]), np.float64)
    none = Frequencies.restored({"documents": 5, "columns": [], "in": []}, HUGE).weights(np.array([7]), np.float64)
    assert few.state() == state
    assert few.width == HUGE
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    np.testing.assert_array_equal(weights, np.log(6 / (1 + np.array([5, 0, 1, 3]))) + 1)
    np.testing.assert_array_equal(none, np.log([6]) + 1)


def test_restored_counts_go_on_counting():
    counts = Frequencies.restored({"documents": 5, "columns": [1], "in": [3]}, 3)
    counts.see(2, np.array([0, 1]))
    assert counts.counts.tolist() == [1, 4, 0]
    np.testing.assert_array_equal(counts.weights(np.arange(3), np.float64), np.log(8 / np.array([2.0, 5, 1])) + 1)
    counts.widen(4)
    assert counts.width == len(counts.counts) == 6
    assert counts.state() == {"documents": 7, "columns": [0, 1], "in": [1, 4]}
