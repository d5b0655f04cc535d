"""The cache of rows: what is kept is found, what does not fit is not, and threads do not break it."""

from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
from hypothesis import given

from linsep.distributed.work import SHARE, RowCache, room

steps = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 60)), max_size=30)


@given(steps)
def test_the_limit_holds_and_what_is_said_to_be_kept_is_found(steps):
    cache, kept = RowCache(lambda: 100), {}
    for run, key, size in steps:
        kept.pop((run, key), None)
        own = sum(size for of, size in kept.items() if of[0] == run)
        assert cache.keep(run, key, (run, key, size), size) == (own + size <= 100)
        if own + size <= 100:
            kept[run, key] = size
        for of in list(kept):
            if cache.find(*of) is None:
                assert of[0] != run  # only things of other runs make room
                del kept[of]
        assert sum(kept.values()) <= 100
        assert all(cache.find(*of) == (*of, size) for of, size in kept.items())


def test_other_runs_make_room_the_oldest_first():
    cache = RowCache(lambda: 100)
    assert cache.keep("old", 1, "x", 60)
    assert cache.keep("older", 1, "y", 40)
    assert cache.has_room("new", 100)
    assert cache.keep("new", 1, "z", 50)
    assert [cache.find(run, 1) for run in ("old", "older", "new")] == [None, "y", "z"]
    assert not cache.has_room("new", 51)
    assert not cache.keep("new", 2, "too much", 51)
    assert [cache.find(run, 1) for run in ("older", "new")] == ["y", "z"]  # nothing made room for what does not fit


def test_a_run_that_is_over_keeps_nothing():
    cache = RowCache(lambda: 100)
    cache.keep("run", 1, "x", 10)
    cache.keep("other", 1, "y", 10)
    cache.drop("run")
    assert cache.find("run", 1) is None
    assert cache.find("other", 1) == "y"
    assert not cache.keep("run", 1, "too late", 10)  # work that nobody waits for any longer
    assert cache.find("run", 1) is None


def test_many_threads():
    cache = RowCache(lambda: 50)

    def use(k):
        run = f"run {k % 3}"
        cache.keep(run, k % 7, k % 7, 10)
        found = cache.find(run, k % 7)
        if k % 50 == 0:
            cache.drop(f"gone {k}")
        return found in (None, k % 7)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(3000)))
    assert cache._used() <= 50


def test_room_is_a_share_of_the_memory_of_this_machine():
    assert 2**28 < room() < SHARE * 2**50
