"""Workers that share the work of a command: processes of its own, or those of a Dask scheduler."""

import logging
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread
from typing import Annotated, Any, NamedTuple

import typer

from linsep.cli.errors import SHOW, UsageError

Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="Share the work among N processes."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Share the work among the workers of a Dask scheduler.",
    ),
]


class WorkerPool(NamedTuple):
    """Processes that share the work."""

    workers: int | None = None
    """The number of processes to start on this machine."""
    scheduler: str | None = None
    """The address where others are found."""

    @property
    def option(self) -> str:
        """The option that names the pool.

        >>> WorkerPool(2).option, WorkerPool(scheduler="tcp://127.0.0.1:8786").option
        ('--workers 2', '--scheduler tcp://127.0.0.1:8786')
        """
        return f"--workers {self.workers}" if self.scheduler is None else f"--scheduler {self.scheduler}"

    def description(self, workers: int) -> str:
        """Return how many workers there were, and where.

        >>> WorkerPool(2).description(2), WorkerPool(scheduler="tcp://127.0.0.1:8786").description(16)
        ('2 processes on this machine', '16 of tcp://127.0.0.1:8786')
        """
        if self.scheduler is None:
            return f"{workers} process{'es' * (workers != 1)} on this machine"
        return f"{workers} of {self.scheduler}"


def pool_of(workers: int | None, scheduler: str | None) -> WorkerPool | None:
    """Return who shares the work; None if nobody does."""
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler both choose the workers: give one of them")
    return None if workers is None and scheduler is None else WorkerPool(workers, scheduler)


def refuse_unsplittable(option: str, data: list[str], options: dict[str, Any]) -> None:
    """Refuse what can't be read in parts, before any work."""
    from linsep.data.sources import sources_of

    for name in data:
        if name == "-" or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)):
            raise UsageError(
                f"{option}: files are read in parts, by their names, and {name} is a pipe; save it to a file"
            )
        sources_of(name)  # a missing file is an error before any worker is started
    if options.get("on_error") == "quarantine":
        raise UsageError(f"--quarantine takes rows in their order, from one reader: with {option}, use --on-error skip")


def refuse_threads(pool: WorkerPool, options: dict[str, Any]) -> None:
    """Refuse a number of threads if workers train."""
    if "n_jobs" in options:
        raise UsageError(f"--threads are those of this process, and with {pool.option} others work: leave it out")


@contextmanager
def start_workers(pool: WorkerPool | None) -> Iterator[Any]:
    """Give a client of those who share the work, or None where that is nobody; what they log is not shown."""
    with ExitStack() as stack:
        if pool is None:
            yield None
            return
        from linsep.distributed.cluster import connect, local_workers

        stack.enter_context(_without_log())
        if pool.scheduler is not None:
            yield stack.enter_context(connect(pool.scheduler))
            return
        with _ignoring_interrupts():
            client = stack.enter_context(local_workers(pool.workers or 1))
        yield client


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Let what is started meanwhile not hear Ctrl-C, which goes to all: workers are ended by who started them.

    Nor is it heard here, until that has been done.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def task_slots(client: Any) -> int:
    """Return how many tasks the workers of a client work on at the same time."""
    return sum(client.nthreads().values())


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep Dask's log, and its warnings, from the terminal: what matters to a user comes as an error."""
    if os.environ.get(SHOW, "0") != "0":
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(distributed|dask|tornado)(\..*)?")
            yield
    finally:
        logging.disable(before)
