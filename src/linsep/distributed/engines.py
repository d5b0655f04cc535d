"""Who works on shards: threads of this process, or the workers of a cluster; the same work gives the same bits."""

import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Any, NamedTuple, Protocol

from linsep.data.errors import DataError
from linsep.distributed.pieces import Placed
from linsep.distributed.versions import ClusterError, check_workers, refuse_other, version_there
from linsep.engine.runtime import in_order

__all__ = ["Cluster", "ClusterError", "Engine", "Threads"]

Work = Callable[[Any, Any], Any]

PATIENCE = 60
"""Seconds to wait for a worker where none is left: those that die are started again."""
STILL = 5
"""Seconds after which it is asked whether anybody works on what is waited for."""
AHEAD = 4
"""Tasks for each thread that are sent ahead of the one that is waited for; what is done early waits at the workers."""


class Engine(Protocol):
    """Does the same work for every task, and gives the results in the order of the tasks."""

    @property
    def workers(self) -> int:
        """How many tasks are worked on at the same time."""

    @property
    def gone(self) -> int:
        """Workers that were there once, and are no longer."""

    notice: Callable[[], None]
    """Is called when nobody is left, before somebody is waited for."""

    def each(self, work: Work, tasks: Sequence[Any], shared: Any) -> Generator[Any, None, None]:
        """Yield work(task, shared) for every task; all of them get the same `shared`."""

    def everywhere(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Call a function once in every process that works, as far as it can be reached."""


class Threads:
    """Threads of this process.

    >>> list(Threads(2).each(lambda task, shared: task * shared, [1, 2, 3], 10))
    [10, 20, 30]
    """

    gone = 0

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.notice: Callable[[], None] = lambda: None

    def each(self, work: Work, tasks: Sequence[Any], shared: Any) -> Generator[Any, None, None]:
        """Yield work(task, shared) for every task, in order."""
        yield from in_order(lambda task: work(task, shared), tasks, self.workers)

    def everywhere(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Call a function here."""
        function(argument)


class _LostError(Exception):
    """What was sent, or done, is lost, with the workers that had it."""


class _Sent(NamedTuple):
    """A task that was sent: what it is about, and what its result will be."""

    name: str
    number: int
    future: Any


class Cluster:
    """The workers of a Dask cluster.

    A task is a pure function of what it is sent, and so is done again, elsewhere, if its worker is lost. What all tasks
    share is sent to one worker, from which the others fetch it, once each; should it be lost with all of them that had
    it, it is sent again. A result is let go of when it has been taken, and those that nobody waits for any longer are
    given up.

    Parameters
    ----------
    client : distributed.Client
        Through which tasks are sent.
    losses : int, default=5
        How often in a row what was sent, or done, may be lost before this gives up.
    """

    def __init__(self, client: Any, losses: int = 5) -> None:
        from distributed import LocalCluster

        self.client, self.losses = client, losses
        self.homes: dict[int, str] = {}
        """Which worker has had a shard's rows before, and is likely to have them still."""
        self.gone, self._seen = 0, set[str]()
        self.notice: Callable[[], None] = lambda: None
        self.direct = True if isinstance(client.cluster, LocalCluster) else None
        """Whether arrays take the short way, past the scheduler; workers elsewhere may be out of this one's reach."""

    @property
    def workers(self) -> int:
        """How many tasks are worked on at the same time."""
        return sum(self.client.nthreads().values()) or 1

    def each(self, work: Work, tasks: Sequence[Any], shared: Any) -> Generator[Any, None, None]:
        """Yield work(task, shared) for every task, in order."""
        done = lost = 0
        while done < len(tasks):
            try:
                for result in self._tried(work, tasks, done, shared):
                    done, lost = done + 1, 0
                    yield result
            except _LostError as error:
                lost += 1
                if lost > self.losses:
                    part = tasks[done : done + 1][0][0]
                    scattered = "; what was scattered to workers that are gone, nobody can make again"
                    raise ClusterError(
                        f"workers were lost {lost} times while the work on {part} was waited for ({error}): is there "
                        "too little memory? more shards are smaller" + scattered * isinstance(part, Placed)
                    ) from None

    def _see_to_workers(self) -> None:
        """Wait until there is a worker."""
        for _ in range(self.losses):
            try:
                self._threads()
            except _LostError:
                self._wait_for_one()
            else:
                return
        raise ClusterError("workers come and go before anything can be sent to them: see what their logs say")

    def _wait_for_one(self) -> None:
        self.notice()
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise ClusterError(f"no worker has been there for {PATIENCE} s: start one with dask worker") from None
        except OSError as error:  # with the scheduler, which is seen to next
            raise _LostError(str(error)) from None

    def everywhere(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Call a function on every worker that is there."""
        if self.client.status == "running":
            with suppress(OSError):  # of a scheduler that is gone, too
                self.client.run(function, argument, on_error="ignore")

    def _tried(self, work: Work, tasks: Sequence[Any], done: int, shared: Any) -> Iterator[Any]:
        """Yield the results of all tasks but those that are done, as far as that goes without a loss.

        Tasks that are not in a list are made when they are sent, and done where what they are about is; nobody keeps
        them here, as they may refer to rows that lie on a worker.
        """
        self._see_to_workers()
        at_all = self._handed_out(shared)
        sent: deque[_Sent] = deque()
        coming: deque[Future[tuple[str, Any]]] = deque()
        """The first two results: one is on its way while somebody works on the other."""
        try:
            threads = self._threads()  # asked for now: should all of these be lost later, so is what they share
            homes = self._housed(tasks[done:], threads) if isinstance(tasks, list) else {}
            ahead = AHEAD * sum(threads.values())
            for k in range(done, len(tasks)):
                for later in range(k + len(sent), min(k + ahead, len(tasks))):
                    sent.append(self._sent(work, tasks[later : later + 1][0], homes, at_all))
                coming.extend(begun(self._taken, one) for one in islice(sent, len(coming), 2))
                where, result = coming.popleft().result()
                one = sent.popleft()
                one.future.release()  # now, and not when somebody collects garbage
                self.homes[one.number] = where
                yield result
        finally:
            for future in (at_all, *(one.future for one in sent)):
                future.release()  # what nobody refers to is given up; the traceback of an error would do so for long

    def _threads(self) -> dict[str, int]:
        """Return the threads of each worker that the scheduler knows of now."""
        if self.client.status != "running":
            raise ClusterError("the connection to the scheduler is lost: once there is one again, start the same again")
        threads: dict[str, int] = self._kept(self.client.nthreads)
        self._look_who_is_gone(threads)
        if not threads:
            raise _LostError("they came and went")
        return threads

    def _look_who_is_gone(self, there: Mapping[str, Any]) -> None:
        self._seen.update(there)
        self.gone = len(self._seen.difference(there))

    def _housed(self, tasks: Sequence[Any], threads: Mapping[str, int]) -> dict[int, str]:
        """Return a worker for each shard, by its number; none where Dask knows who has the rows, and tasks go there.

        Only tasks are sent to a worker by name: they are lost with what they share, and so sent again, if nobody is
        left. Rows of a collection are not: Dask would let them wait for the worker that was named.
        """
        numbers = [number for part, number, _ in tasks if not isinstance(part, Placed)]
        return dict(zip(numbers, homes_of(numbers, threads, self.homes), strict=True))

    def _handed_out(self, shared: Any) -> Any:
        """Return what all tasks share, as it is known where they are done.

        Workers fetch it from each other when their first task asks for it. The scheduler could copy it to all of them
        beforehand, but would try for ever if one of them died meanwhile.
        """
        in_one = [shared]  # a tuple would be scattered in pieces
        try:
            return self._kept(lambda: self.client.scatter(in_one, hash=False, direct=self.direct))[0]
        except KeyError as error:  # the scheduler's own, of a worker that it has just lost
            raise _LostError(f"the worker {error} is gone") from None

    def _sent(self, work: Work, task: Any, homes: Mapping[int, str], at_all: Any) -> _Sent:
        """Send a task to its worker, if it has one, or to any other if that is gone when its turn has come."""
        where = {"workers": [homes[task[1]]], "allow_other_workers": True} if task[1] in homes else {}
        future = self.client.submit(
            at_home, version_there(), work, task, at_all, **where,
            key=f"linsep-{work.__name__}-{uuid.uuid4().hex}", pure=False,
        )  # fmt: skip
        return _Sent(str(task[0]), task[1], future)

    def _taken(self, sent: _Sent) -> tuple[str, Any]:
        """Return where a task was done, and its result; raise what its work raised."""
        from distributed import KilledWorker

        future = sent.future
        error = self._kept(lambda: self._failure(future))
        if error is None:
            return self._kept(lambda: self.client.gather(future, direct=self.direct))
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"the work on {sent.name} ended the worker {error.last_worker.address}, and others before it: "
                "is there too little memory? more shards are smaller"
            ) from None
        if not isinstance(error, DataError | ClusterError):
            # One that came later may have another linsep, and so fail in any way.
            self._kept(lambda: check_workers(self.client))
        return future.result()

    def _failure(self, future: Any) -> Any:
        """Return what went wrong with a task, or None, once it is done; one that nobody works on is lost."""
        while True:
            try:
                return future.exception(timeout=STILL)
            except TimeoutError:
                busy = self.client.processing()
                self._look_who_is_gone(busy)
                if future.status == "pending" and not any(busy.values()):
                    raise _LostError("nobody works on it") from None

    def _kept(self, call: Callable[[], Any]) -> Any:
        """Return what a call to the cluster gives, unless that is lost."""
        try:
            return call()
        except (CancelledError, OSError) as error:
            raise _LostError(str(error).partition("\n")[0] or type(error).__name__) from None


def begun(call: Callable[[Any], Any], argument: Any) -> Future[Any]:
    """Return what a call is going to give, which a thread makes; nobody waits for that when Python ends.

    >>> begun(len, "abc").result()
    3
    """
    found: Future[Any] = Future()

    def made() -> None:
        try:
            found.set_result(call(argument))
        except BaseException as error:  # whoever asks for the result is told
            found.set_exception(error)

    Thread(target=made, daemon=True).start()
    return found


def homes_of(numbers: Sequence[int], threads: Mapping[str, int], before: Mapping[int, str]) -> list[str]:
    """Return a worker for each shard: the one it had before, unless that is gone, or has more than its share.

    Parameters
    ----------
    numbers : sequence of int
        Those of the shards.
    threads : mapping
        The threads of each worker.
    before : mapping
        Which worker has had a shard before.

    Examples
    --------
    >>> homes_of(range(4), {"a": 1, "b": 1}, {})
    ['a', 'b', 'a', 'b']
    >>> homes_of(range(4), {"a": 1, "c": 1}, {0: "b", 1: "a", 2: "a", 3: "a"})
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


def at_home(version: str, work: Work, task: Any, shared: Any) -> tuple[str, Any]:
    """Return the address of the worker that does a task, and the result."""
    from distributed import get_worker

    here = get_worker().address
    refuse_other(here, version_there(), version)
    return here, work(task, shared)
