"""A cluster of two worker processes on this machine, for all tests that want one."""

import pytest

from linsep.distributed import local_workers
from tests.processes import fork_workers


@pytest.fixture(scope="package")
def client():
    """A client of two processes; those that are killed are started again."""
    pytest.importorskip("distributed", reason="the extra linsep[dask] is not installed")
    fork_workers()
    with local_workers(2) as found:
        yield found
