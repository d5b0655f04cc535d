"""Engines run the same work on every task and return the results in order; this one uses threads of this process."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from linsep.engine.runtime import in_order

Work = Callable[[Any, Any], Any]


class Engine(Protocol):
    """Runs the same work on every task, and yields the results in the order of the tasks.

    A result depends on the task and on what all tasks share, never on the engine.
    """

    @property
    def workers(self) -> int:
        """The number of tasks that run at the same time."""

    @property
    def gone(self) -> int:
        """The number of workers that have left or died."""

    notice: Callable[[], None]
    """Called when no worker is left, before waiting for one."""

    def each(self, work: Work, tasks: Sequence[Any], shared: Any) -> Generator[Any, None, None]:
        """Yield work(task, shared) for every task; all tasks get the same `shared`."""

    def everywhere(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Call a function once in every process that works, if it can be reached."""


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
        """Call a function in this process."""
        function(argument)
