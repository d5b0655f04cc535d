"""Connect to Dask clusters: at an address, or with workers started on this machine."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from linsep.distributed.cluster import Cluster, ClusterError, check_workers
from linsep.distributed.engine import Engine, Threads
from linsep.engine.runtime import threads

SECONDS = 5
"""How long to wait for a scheduler's reply."""
MISSING = "this needs dask and distributed: pip install 'linsep[dask]'"
HERE = "127.0.0.1"


@contextmanager
def engine_of(client: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Give an engine: threads of this process, or the workers of a client or of a scheduler's address."""
    if client is None:
        yield Threads(threads(n_jobs))
    elif isinstance(client, str):
        with connected(client) as found:
            yield Cluster(found)
    else:
        _refuse(client)
        check_workers(client)
        yield Cluster(client)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the scheduler at an address, once its workers are checked."""
    distributed = _distributed()
    _refuse_silent(address)
    with distributed.Client(address, timeout=SECONDS, set_as_default=False) as client:
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
        asked = pool.submit(lambda: asyncio.run(asyncio.wait_for(_kind(address), SECONDS)))
    error = asked.exception()
    if error is None and asked.result() == "Scheduler":
        return
    if error is None:
        why = f"a {asked.result()} does"
    else:  # another program that listens there may send anything
        why = f"not in {SECONDS} s" if isinstance(error, OSError) else str(error).partition("\n")[0][:100]
    raise ClusterError(
        f"no scheduler answers at {address} ({why}): start one with dask scheduler, and workers with dask worker"
    )


async def _kind(address: str) -> Any:
    """Return the type of server at an address, as it identifies itself."""
    from distributed.core import rpc
    from distributed.security import Security

    async with rpc(address, timeout=SECONDS, connection_args=Security().get_connection_args("client")) as somebody:
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
