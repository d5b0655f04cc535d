"""A cluster of two worker processes on this machine, for all tests that want one."""

import pytest

from linsep.scale import local_workers


@pytest.fixture(scope="package")
def client():
    """A client of two processes; those that are killed are started again."""
    pytest.importorskip("distributed", reason="the extra linsep[scale] is not installed")
    with local_workers(2) as found:
        yield found
