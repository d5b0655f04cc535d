"""Whether workers are fit for the work: they can load linsep, and it is the same as here."""

from typing import Any

import linsep

WORKERS = 10
"""Seconds that a cluster without workers has to get one."""


class ClusterError(RuntimeError):
    """What keeps a cluster from doing its work, in one line."""


def version_there() -> str:
    """Return the version of linsep in the process that this is run in.

    >>> version_there() == linsep.__version__
    True
    """
    return linsep.__version__


def refuse_other(worker: str, there: Any, here: str) -> None:
    """Raise a ClusterError unless the version that a worker has is that of the client.

    >>> refuse_other("tcp://10.0.0.7:4000", "0.0.1", "0.1.0")
    Traceback (most recent call last):
    ...
    linsep.distributed.versions.ClusterError: the worker tcp://10.0.0.7:4000 has linsep 0.0.1, and the client 0.1.0: ...
    """
    if isinstance(there, BaseException):
        why = str(there).partition("\n")[0][:100] or type(there).__name__
        raise ClusterError(f"the worker {worker} can't load linsep ({why}): install linsep=={here} there")
    if there != here:
        raise ClusterError(f"the worker {worker} has linsep {there}, and the client {here}: install the same on both")


def check_workers(client: Any) -> None:
    """Raise a ClusterError unless there are workers, all with this version of linsep; a dying worker is not asked."""
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
