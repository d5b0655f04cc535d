"""Sharing work: every part once, results in order."""

import os
import threading
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given

from linsep.engine.runtime import share, split, threads


@given(st.integers(0, 200), st.integers(1, 20))
def test_split_covers_the_range_in_nearly_equal_parts(n, parts):
    cuts = split(n, parts)
    assert [i for a, b in cuts for i in range(a, b)] == list(range(n))
    assert len(cuts) <= parts
    if n:
        sizes = [b - a for a, b in cuts]
        assert len(cuts) == min(n, parts)
        assert 1 <= min(sizes) <= max(sizes) <= min(sizes) + 1


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_share_returns_results_in_order(jobs):
    """The first tasks take longest."""

    def task(k):
        time.sleep(0.002 * (6 - k))
        return k

    assert share([lambda k=k: task(k) for k in range(6)], jobs) == list(range(6))


def test_share_uses_threads_only_for_more_than_one():
    def name():
        time.sleep(0.01)
        return threading.current_thread().name

    here = threading.current_thread().name
    assert share([name, name], 1) == [here, here]
    assert share([name], 4) == [here]
    there = share([name] * 4, 2)
    assert here not in there
    assert len(set(there)) == 2
    assert share([], 3) == []


@pytest.mark.parametrize("jobs", [1, 3])
def test_share_passes_errors_on(jobs):
    def fail():
        raise ValueError("from a task")

    with pytest.raises(ValueError, match="from a task"):
        share([int, fail, int], jobs)


def test_n_jobs_means_what_it_means_elsewhere():
    cores = len(os.sched_getaffinity(0))
    assert [threads(jobs) for jobs in (None, 1, 3)] == [1, 1, 3]
    assert threads(-1) == cores
    assert threads(-2) == max(1, cores - 1)
    assert threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs == 0 has no meaning"):
        threads(0)
