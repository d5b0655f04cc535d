"""Connect to a Dask cluster, run tasks on its workers, and check that the workers have the same linsep."""

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Thread
from typing import Any, NamedTuple

import linsep
from linsep.data.errors import DataError
from linsep.distributed.engine import Engine, Threads, Work
from linsep.distributed.shard import Task
from linsep.engine.runtime import threads

WORKERS = 10
"""Seconds to wait for the first worker of a cluster."""
PATIENCE = 60
"""Seconds to wait for a worker if none is left: workers that die are usually restarted."""
STILL = 5
"""Seconds between two checks that some worker runs the task that is waited for."""
AHEAD = 4
"""Tasks per thread that are sent ahead of the one that is waited for; their results wait at the workers."""


class ClusterError(RuntimeError):
    """The reason, in one line, that a cluster can't do the work."""


def version_there() -> str:
    """Return the version of linsep in the process that calls this.

    >>> version_there() == linsep.__version__
    True
    """
    return linsep.__version__


def refuse_other(worker: str, there: Any, here: str) -> None:
    """Raise a ClusterError unless a worker has the client's version of linsep.

    >>> refuse_other("tcp://10.0.0.7:4000", "0.0.1", "0.1.0")
    Traceback (most recent call last):
    ...
    linsep.distributed.cluster.ClusterError: the worker tcp://10.0.0.7:4000 has linsep 0.0.1, and the client 0.1.0: ...
    """
    if isinstance(there, BaseException):
        why = str(there).partition("\n")[0][:100] or type(there).__name__
        raise ClusterError(f"the worker {worker} can't load linsep ({why}): install linsep=={here} there")
    if there != here:
        raise ClusterError(f"the worker {worker} has linsep {there}, and the client {here}: install the same on both")


def check_workers(client: Any) -> None:
    """Raise a ClusterError unless there are workers, all with this version of linsep; dying workers are ignored."""
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError:
        address = client.scheduler.address
        raise ClusterError(
            f"the scheduler at {address} has no workers: start some with dask worker {address}"
        ) from None
    for worker, there in client.run(version_there, on_error="return").items():
        if not isinstance(there, OSError):
            refuse_other(worker, there, version_there())


class _LostError(Exception):
    """Data that was sent, or a result, is lost together with the workers that had it."""


class _Sent(NamedTuple):
    """A task that was sent, and the future of its result."""

    name: str
    number: int
    future: Any


class Cluster:
    """The workers of a Dask cluster.

    A task is a pure function of what it is sent: it is run again on another worker if its worker is lost. The data that
    all tasks share are sent to one worker, from which the others fetch them once; if all copies are lost, they are sent
    again. A future is released as soon as its result is fetched.

    Parameters
    ----------
    client : distributed.Client
        The client to send tasks through.
    losses : int, default=5
        Number of consecutive losses that are retried.
    """

    def __init__(self, client: Any, losses: int = 5) -> None:
        from distributed import LocalCluster

        self.client, self.losses = client, losses
        self.last_workers: dict[int, str] = {}
        """The worker that last had a shard's rows, and may have cached them."""
        self.gone, self._seen = 0, set[str]()
        self.notice: Callable[[], None] = lambda: None
        self.direct = True if isinstance(client.cluster, LocalCluster) else None
        """If True, arrays bypass the scheduler; workers on other machines may not be reachable directly."""

    @property
    def workers(self) -> int:
        """The number of tasks that run at the same time."""
        return sum(self.client.nthreads().values()) or 1

    def each(self, work: Work, tasks: Sequence[Any], shared: Any) -> Generator[Any, None, None]:
        """Yield work(task, shared) for every task, in order."""
        done = lost = 0
        while done < len(tasks):
            try:
                for result in self._attempt(work, tasks, done, shared):
                    done, lost = done + 1, 0
                    yield result
            except _LostError as error:
                lost += 1
                if lost > self.losses:
                    task = tasks[done : done + 1][0]
                    scattered = "; what was scattered to workers that are gone, nobody can make again"
                    raise ClusterError(
                        f"workers were lost {lost} times while the work on {task.name} was waited for ({error}): is "
                        "there too little memory? more shards are smaller" + scattered * _is_future(task.shard)
                    ) from None

    def _wait_for_workers(self) -> None:
        """Wait until there is a worker."""
        for _ in range(self.losses):
            try:
                self._threads()
            except _LostError:
                self._wait_for_worker()
            else:
                return
        raise ClusterError("workers come and go before anything can be sent to them: see their logs")

    def _wait_for_worker(self) -> None:
        self.notice()
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError(f"no worker has been there for {PATIENCE} s: start one with dask worker") from None
        except OSError as error:  # the scheduler is lost, too; its status is checked next
            raise _LostError(str(error)) from None

    def everywhere(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Call a function on every worker that can be reached."""
        if self.client.status == "running":
            with suppress(OSError):  # also if the scheduler is gone
                self.client.run(function, argument, on_error="ignore")

    def _attempt(self, work: Work, tasks: Sequence[Any], done: int, shared: Any) -> Iterator[Any]:
        """Yield the results of the tasks from number `done` on; raise _LostError at the first loss.

        Tasks that are not in a list are made when they are sent and run where their rows are. They are not kept here,
        since they may refer to rows that a worker holds.
        """
        self._wait_for_workers()
        shared_future = self._scatter(shared)
        sent: deque[_Sent] = deque()
        coming: deque[Future[tuple[str, Any]]] = deque()
        """The first two results: one is fetched while a worker runs the other's task."""
        try:
            threads = self._threads()  # after scattering: if all these workers are lost, so is the shared data
            homes = self._assign(tasks[done:], threads) if isinstance(tasks, list) else {}
            ahead = AHEAD * sum(threads.values())
            for k in range(done, len(tasks)):
                for later in range(k + len(sent), min(k + ahead, len(tasks))):
                    sent.append(self._send(work, tasks[later : later + 1][0], homes, shared_future))
                coming.extend(start_thread(self._fetch, one) for one in islice(sent, len(coming), 2))
                where, result = coming.popleft().result()
                one = sent.popleft()
                one.future.release()  # at once, not at the next garbage collection
                self.last_workers[one.number] = where
                yield result
        finally:
            for future in (shared_future, *(one.future for one in sent)):
                future.release()  # cancels what still runs; the traceback of an error would keep the futures alive

    def _threads(self) -> dict[str, int]:
        """Return the number of threads of each worker of the scheduler."""
        if self.client.status != "running":
            raise ClusterError("the connection to the scheduler is lost: once there is one again, start the same again")
        threads: dict[str, int] = self._guard(self.client.nthreads)
        self._count_gone(threads)
        if not threads:
            raise _LostError("they came and went")
        return threads

    def _count_gone(self, there: Mapping[str, Any]) -> None:
        self._seen.update(there)
        self.gone = len(self._seen.difference(there))

    def _assign(self, tasks: Sequence[Any], threads: Mapping[str, int]) -> dict[int, str]:
        """Return a worker for each shard, by its number, except where Dask records which worker has the rows.

        Only tasks are sent to a named worker: if no worker is left they are lost together with the shared data, and
        sent again. Rows of a collection are not sent by name, since Dask would let them wait for that worker.
        """
        numbers = [task.number for task in tasks if not _is_future(task.shard)]
        return dict(zip(numbers, assigned_workers(numbers, threads, self.last_workers), strict=True))

    def _scatter(self, shared: Any) -> Any:
        """Scatter the data that all tasks share to one worker, and return the future of it.

        Workers fetch it from each other when their first task needs it. The scheduler could replicate it beforehand,
        but would retry for ever if a worker died meanwhile.
        """
        in_one = [shared]  # a tuple would be scattered in pieces
        try:
            return self._guard(lambda: self.client.scatter(in_one, hash=False, direct=self.direct))[0]
        except KeyError as error:  # the scheduler's own, of a worker that it has just lost
            raise _LostError(f"the worker {error} is gone") from None

    def _send(self, work: Work, task: Task, homes: Mapping[int, str], shared_future: Any) -> _Sent:
        """Submit a task to its worker, if it has one, or to any other if that worker is gone by then."""
        where = {"workers": [homes[task.number]], "allow_other_workers": True} if task.number in homes else {}
        future = self.client.submit(
            run_on_worker, version_there(), work, task, shared_future, **where,
            key=f"linsep-{work.__name__}-{uuid.uuid4().hex}", pure=False,
        )  # fmt: skip
        return _Sent(task.name, task.number, future)

    def _fetch(self, sent: _Sent) -> tuple[str, Any]:
        """Return the worker that ran a task, and the result; raise the exception that the work raised."""
        from distributed import KilledWorker

        future = sent.future
        error = self._guard(lambda: self._failure(future))
        if error is None:
            return self._guard(lambda: self.client.gather(future, direct=self.direct))
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"the work on {sent.name} ended the worker {error.last_worker.address}, and others before it: "
                "is there too little memory? more shards are smaller"
            ) from None
        if not isinstance(error, DataError | ClusterError):
            # A worker that joined later may have another linsep, and so fail in any way.
            self._guard(lambda: check_workers(self.client))
        return future.result()

    def _failure(self, future: Any) -> Any:
        """Wait for a task and return its exception, or None; a pending task while all workers are idle is lost."""
        while True:
            try:
                return future.exception(timeout=STILL)
            except TimeoutError:
                busy = self.client.processing()
                self._count_gone(busy)
                if future.status == "pending" and not any(busy.values()):
                    raise _LostError("nobody works on it") from None

    def _guard(self, call: Callable[[], Any]) -> Any:
        """Call a function of the client; raise _LostError if data or the connection is lost."""
        try:
            return call()
        except (CancelledError, OSError) as error:
            raise _LostError(str(error).partition("\n")[0] or type(error).__name__) from None


def start_thread(call: Callable[[Any], Any], argument: Any) -> Future[Any]:
    """Start a call in a daemon thread, which does not keep Python from exiting; return the future of its result.

    >>> start_thread(len, "abc").result()
    3
    """
    found: Future[Any] = Future()

    def made() -> None:
        try:
            found.set_result(call(argument))
        except BaseException as error:  # raised again where the result is read
            found.set_exception(error)

    Thread(target=made, daemon=True).start()
    return found


def assigned_workers(numbers: Sequence[int], threads: Mapping[str, int], before: Mapping[int, str]) -> list[str]:
    """Return a worker for each shard: its last one, unless that is gone or has more than its share.

    Parameters
    ----------
    numbers : sequence of int
        The numbers of the shards.
    threads : mapping
        The number of threads of each worker.
    before : mapping
        The last worker of each shard.

    Examples
    --------
    >>> assigned_workers(range(4), {"a": 1, "b": 1}, {})
    ['a', 'b', 'a', 'b']
    >>> assigned_workers(range(4), {"a": 1, "c": 1}, {0: "b", 1: "a", 2: "a", 3: "a"})
    ['c', 'a', 'a', 'c']
    """
    total = sum(threads.values())
    room = {worker: -(-len(numbers) * count // total) for worker, count in threads.items()}
    homes: dict[int, str] = {}
    for number in numbers:
        home = before.get(number, "")
        if room.get(home, 0):
            homes[number] = home
            room[home] -= 1
    for number in numbers:
        if number not in homes:
            homes[number] = max(room, key=room.__getitem__)
            room[homes[number]] -= 1
    return [homes[number] for number in numbers]


def run_on_worker(version: str, work: Work, task: Any, shared: Any) -> tuple[str, Any]:
    """Run a task on a worker; return the worker's address and the result."""
    from distributed import get_worker

    here = get_worker().address
    refuse_other(here, version_there(), version)
    return here, work(task, shared)


def _is_future(shard: Any) -> bool:
    """Return whether a shard is held by a worker, and only the future of it is here."""
    from distributed import Future as RemoteFuture

    return isinstance(shard, RemoteFuture)


REPLY = 5
"""Seconds to wait for a scheduler's reply."""
MISSING = "this needs dask and distributed: pip install 'linsep[dask]'"
HERE = "127.0.0.1"


@contextmanager
def engine_of(client: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Give an engine: threads of this process, or the workers of a client or of a scheduler's address."""
    if client is None:
        yield Threads(threads(n_jobs))
    elif isinstance(client, str):
        with connect(client) as found:
            yield Cluster(found)
    else:
        _refuse(client)
        check_workers(client)
        yield Cluster(client)


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Give a client of the scheduler at an address, once its workers are checked."""
    distributed = _distributed()
    _refuse_silent(address)
    with distributed.Client(address, timeout=REPLY, set_as_default=False) as client:
        check_workers(client)
        yield client


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """Give a client with new workers, one process each, which listen on this machine only."""
    distributed = _distributed()
    import dask

    settings = {
        "distributed.deploy.lost-worker-timeout": "1 hour",  # else a slow restart counts as a lost worker
        "distributed.comm.timeouts.connect": "10 s",  # else a dead worker is tried for half a minute
        "distributed.worker.profile.enabled": False,  # unused here, and slow
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, host=HERE, dashboard_address=None, silence_logs=50,
            scheduler_kwargs={"dashboard_address": f"{HERE}:0"},
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


def _refuse_silent(address: str) -> None:
    """Raise a ClusterError unless a scheduler replies at an address; a client would wait for ever for a silent one."""
    with ThreadPoolExecutor(1) as pool:  # an event loop that runs here already can't run another
        asked = pool.submit(lambda: asyncio.run(asyncio.wait_for(_kind(address), REPLY)))
    error = asked.exception()
    if error is None and asked.result() == "Scheduler":
        return
    if error is None:
        why = f"a {asked.result()} does"
    else:  # another program that listens there may send anything
        why = f"not in {REPLY} s" if isinstance(error, OSError) else str(error).partition("\n")[0][:100]
    raise ClusterError(
        f"no scheduler responds at {address} ({why}): start one with dask scheduler, and workers with dask worker"
    )


async def _kind(address: str) -> Any:
    """Return the type of server at an address, as it identifies itself."""
    from distributed.core import rpc
    from distributed.security import Security

    async with rpc(address, timeout=REPLY, connection_args=Security().get_connection_args("client")) as somebody:
        return (await somebody.identity())["type"]


def _refuse(client: Any) -> None:
    """Raise an error unless the client can be used."""
    if not isinstance(client, _distributed().Client):
        raise TypeError(
            f"client= is a distributed.Client, or the address of a scheduler, and not {type(client).__name__}"
        )
    if client.asynchronous:
        raise ClusterError("this client is asynchronous: make one without asynchronous=True")
    if client.status != "running":
        raise ClusterError(f"the client is {client.status}: make a new one")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError(MISSING) from None
    return distributed
