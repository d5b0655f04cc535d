"""Engines: results in order, what is lost is sent again, and nothing is left behind."""

import threading
import time
from collections.abc import Sequence
from contextlib import closing

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from linsep.distributed import ClusterError
from linsep.distributed import cluster as cluster_module
from linsep.distributed.cluster import Cluster, assigned_workers
from linsep.distributed.engine import Threads
from linsep.distributed.shard import Task

pytestmark = pytest.mark.slow

threads_of = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1)
shards = st.lists(st.integers(0, 30), unique=True, min_size=1)


@pytest.fixture(scope="module")
def here():
    """A cluster within this process: it is there at once, and its work can be watched."""
    dask_distributed = pytest.importorskip("distributed", reason="the extra linsep[dask] is not installed")
    how = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}, "silence_logs": 50}
    with (
        dask_distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **how) as found,
        dask_distributed.Client(found, set_as_default=False) as client,
    ):
        yield client


def tasks_of(count):
    return [Task(None, k, name=f"part {k}") for k in range(count)]


BEGAN, RELEASE = [], threading.Event()
"""What the work below shares with the tests: its workers are threads of this process."""


def times(task, shared):
    return task[1] * shared["by"]


def slow_at_first(task, shared):
    time.sleep(0.05 if task[1] == 0 else 0)
    return task[1] * shared["by"]


def itself(task, shared):
    return shared


def noted(task, shared):
    BEGAN.append(task[1])
    return np.zeros(1000)


def held(task, shared):
    return task[1] if task[1] == 0 else RELEASE.wait(10)


def failing(task, shared):
    if task[1] in (3, 5):
        time.sleep(0.1 if task[1] == 3 else 0)
        raise ZeroDivisionError(task[1])
    return task[1]


def refused(task, shared):
    BEGAN.append(task[1])
    raise PermissionError("no")


@given(shards, threads_of, st.dictionaries(st.integers(0, 30), st.sampled_from("abcxyz")))
def test_homes(numbers, threads, before):
    found = assigned_workers(numbers, threads, before)
    total = sum(threads.values())
    for worker, count in threads.items():
        share = -(-len(numbers) * count // total)
        assert found.count(worker) <= share
        had = [number for number in numbers if before.get(number) == worker]
        kept = [number for number, home in zip(numbers, found, strict=True) if home == worker and number in had]
        assert kept == had[:share]
    assert len(found) == len(numbers)
    assert set(found) <= set(threads)


def test_homes_stay(here):
    cluster = Cluster(here)
    for _ in range(3):
        assert list(cluster.each(times, tasks_of(8), {"by": 3})) == list(range(0, 24, 3))
    homes = list(cluster.last_workers.values())
    assert sorted(map(homes.count, here.nthreads())) == [4, 4]


@pytest.mark.parametrize("count", [0, 1, 40])
def test_results_come_in_order(here, count):
    for engine in (Cluster(here), Threads(1), Threads(3)):
        assert list(engine.each(slow_at_first, tasks_of(count), {"by": 2})) == [2 * k for k in range(count)]


def test_a_tuple_is_shared_as_it_is(here):
    assert list(Cluster(here).each(itself, tasks_of(1), (1, [2]))) == [(1, [2])]


def test_at_most_so_many_are_ahead_and_none_is_left(here, monkeypatch):
    monkeypatch.setattr(cluster_module, "AHEAD", 2)
    BEGAN.clear()
    with closing(Cluster(here).each(noted, tasks_of(20), None)) as each:
        for taken in range(1, 6):
            next(each)
            assert max(BEGAN) < taken + 2 * 2
    settle(here)
    assert len(BEGAN) < 12


def settle(client):
    """Wait until the scheduler knows of no task."""
    end = time.monotonic() + 10
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < end, "tasks are left behind"
        time.sleep(0.02)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_goes_wrong_at_the_client_gives_up_the_rest(here, error):
    caught = None
    RELEASE.clear()
    try:
        with closing(Cluster(here).each(held, tasks_of(10), None)) as each:
            for _ in each:
                raise error
    except error as found:
        caught = found  # its traceback refers to all that was in use
    RELEASE.set()
    settle(here)
    assert caught is not None


def test_what_goes_wrong_at_a_worker_is_raised_for_the_first_task(here):
    for engine in (Cluster(here), Threads(2)):
        found = []
        with pytest.raises(ZeroDivisionError, match="3"):
            found.extend(engine.each(failing, tasks_of(8), None))
        assert found in ([], [0, 1, 2])
    settle(here)


def test_the_next_result_is_on_its_way_while_one_is_worked_on(here):
    gathered, gather = [], here.gather
    cluster = Cluster(Losing(here, "", 0, None))

    def noted_gather(future, **how):
        found = gather(future, **how)
        gathered.append(found[1])
        return found

    cluster.client.gather = noted_gather
    with closing(cluster.each(times, tasks_of(6), {"by": 2})) as each:
        assert next(each) == 0
        end = time.monotonic() + 10
        while len(gathered) < 2:
            assert time.monotonic() < end, "nothing comes while nobody asks"
            time.sleep(0.01)
        time.sleep(0.1)
        assert sorted(gathered) == [0, 2]  # and no more than one


def test_an_os_error_of_the_work_is_no_loss(here):
    BEGAN.clear()
    with pytest.raises(PermissionError, match="no"):
        list(Cluster(here).each(refused, tasks_of(1), None))
    assert BEGAN == [0]


class Made(Sequence):
    """Tasks that exist while they are used."""

    def __len__(self):
        return 5

    def __getitem__(self, which):
        assert isinstance(which, slice)
        assert which.stop == which.start + 1
        return [Task(None, which.start, name="made")]


def test_tasks_that_are_made_when_they_are_asked_for(here):
    assert list(Cluster(here).each(times, Made(), {"by": 1})) == [0, 1, 2, 3, 4]


class Losing:
    """A client some of whose calls are lost."""

    def __init__(self, client, name, times, error):
        self._client, self._name, self._left, self._error = client, name, times, error

    def __getattr__(self, name):
        if name == self._name and self._left:
            self._left -= 1
            return self._lost
        return getattr(self._client, name)

    def _lost(self, *args, **kwargs):
        raise self._error


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("scatter", OSError("connection reset\nby peer")),
        ("scatter", KeyError("tcp://127.0.0.1:1")),  # as the scheduler has it of a worker that has just gone
        ("gather", OSError("connection reset\nby peer")),
        ("nthreads", OSError("connection reset\nby peer")),
    ],
)
def test_calls_that_are_lost_are_made_again(here, name, error):
    cluster = Cluster(Losing(here, name, 3, error))
    assert list(cluster.each(times, tasks_of(4), {"by": 2})) == [0, 2, 4, 6]


def test_workers_that_come_and_go_are_not_waited_for_without_end(here):
    cluster = Cluster(Losing(here, "nthreads", 10**9, OSError("connection reset")))
    with pytest.raises(ClusterError, match=r"^workers come and go before anything can be sent to them"):
        list(cluster.each(times, tasks_of(4), {"by": 2}))


def test_no_end_of_losses_is_an_error_of_one_line(here):
    cluster = Cluster(Losing(here, "gather", 100, OSError("connection reset\nby peer")), losses=2)
    with pytest.raises(ClusterError, match=r"workers were lost 3 times while .* was waited for \(connection reset\)"):
        list(cluster.each(times, tasks_of(4), {"by": 2}))


def test_losses_count_in_a_row(here):
    """Each task is lost once before it is taken: more losses than allowed, but never two in a row."""
    cluster, lost = Cluster(Losing(here, "", 0, None), losses=1), set()

    def gather(future, **how):
        where, result = here.gather(future, **how)
        if result not in lost:
            lost.add(result)
            raise OSError("lost")
        return where, result

    cluster.client.gather = gather
    assert list(cluster.each(times, tasks_of(6), {"by": 2})) == [0, 2, 4, 6, 8, 10]
    assert lost == {0, 2, 4, 6, 8, 10}


def test_what_is_shared_is_sent_again_if_it_is_lost(here):
    cluster, sent = Cluster(here), []
    scatter = here.scatter
    cluster.client = Losing(here, "", 0, None)

    def first_lost(data, **how):
        sent.append(scatter(data, **how))
        if len(sent) == 1:
            here.cancel(sent[0], force=True)
        return sent[-1]

    cluster.client.scatter = first_lost
    assert list(cluster.each(times, tasks_of(4), {"by": 2})) == [0, 2, 4, 6]
    assert len(sent) == 2


def test_workers_that_stay_away(monkeypatch):
    dask_distributed = pytest.importorskip("distributed", reason="the extra linsep[dask] is not installed")
    monkeypatch.setattr(cluster_module, "PATIENCE", 0.2)
    how = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}, "silence_logs": 50}
    with (
        dask_distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **how) as found,
        dask_distributed.Client(found, set_as_default=False) as client,
    ):
        cluster, noticed = Cluster(client), []
        cluster.notice = lambda: noticed.append(cluster.gone)
        each = cluster.each(times, tasks_of(30), {"by": 1})
        assert next(each) == 0
        assert not noticed
        found.scale(0)
        with pytest.raises(ClusterError, match=r"^no worker has been there for 0.2 s: start one with dask worker$"):
            list(each)
    assert noticed == [1]  # told before it is waited for


def test_a_scheduler_that_goes_while_a_worker_is_waited_for(here):
    """What its connection says is no error of its own: the next look tells that there is none."""
    client = Losing(here, "nthreads", 1, OSError("connection reset"))
    client.status = "running"

    def closed(*args, **how):
        client.status = "closed"
        raise OSError("ConnectionPool closing.")

    client.wait_for_workers = closed
    with pytest.raises(ClusterError, match=r"^the connection to the scheduler is lost"):
        list(Cluster(client).each(times, tasks_of(4), {"by": 2}))
