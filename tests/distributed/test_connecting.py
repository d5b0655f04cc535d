"""Clients and addresses: what can't be used is refused in one line, within seconds."""

import socket
import sys
import threading
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import linsep
from linsep import Perceptron, distributed
from linsep.distributed import ClusterError, cluster, local_workers
from linsep.distributed.cluster import Cluster, engine_of
from linsep.distributed.engine import Threads
from tests.distributed.rows import bits, fit, problem, write

pytestmark = pytest.mark.slow

dask_distributed = pytest.importorskip("distributed", reason="the extra linsep[dask] is not installed")


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.svm", *problem())


@contextmanager
def cluster_here(workers):
    """A cluster within this process."""
    how = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}, "silence_logs": 50}
    with dask_distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=False, **how) as found:
        yield found


def free_port():
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def silent():
    """The address of something that takes connections and says nothing."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield f"tcp://127.0.0.1:{found.getsockname()[1]}"


def refused(rows, client):
    """The one line that refuses a client, and how long it took."""
    began, mine = time.monotonic(), Perceptron(shards=2)
    with pytest.raises(ClusterError) as told:
        fit(mine, rows, client=client)
    assert not hasattr(mine, "coef_")
    line = str(told.value)
    assert "\n" not in line
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__ or told.value.__context__ is None
    return line, time.monotonic() - began


def test_nobody_listens(rows, monkeypatch, capfd):
    monkeypatch.setattr(cluster, "REPLY", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    line, seconds = refused(rows, address)
    assert line.startswith(f"no scheduler responds at {address} (not in 1 s): start one with dask scheduler")
    assert seconds < 5
    assert capfd.readouterr() == ("", "")


def test_somebody_listens_who_says_nothing(rows, silent, monkeypatch):
    monkeypatch.setattr(cluster, "REPLY", 1)
    line, seconds = refused(rows, silent)
    assert line.startswith(f"no scheduler responds at {silent} (not in 1 s)")
    assert seconds < 5


def test_somebody_else_listens(rows, monkeypatch):
    """A web server, as that of a scheduler's own pages is: the port that is given by mistake."""
    monkeypatch.setattr(cluster, "REPLY", 2)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    monkeypatch.setattr(BaseHTTPRequestHandler, "log_message", lambda *said: None)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        address = f"tcp://127.0.0.1:{server.server_port}"
        line, seconds = refused(rows, address)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert line.startswith(f"no scheduler responds at {address} (")
    assert seconds < 6


def test_a_worker_is_no_scheduler(rows, client):
    address = next(iter(client.nthreads()))
    line, _ = refused(rows, address)
    assert line.startswith(f"no scheduler responds at {address} (a Worker does): ")


def test_seconds():
    assert cluster.REPLY <= 5
    assert cluster.WORKERS <= 10


@pytest.mark.parametrize("address", ["gopher://127.0.0.1:1", "tcp://127.0.0.1:port", ""])
def test_no_address(rows, address, monkeypatch):
    monkeypatch.setattr(cluster, "REPLY", 1)
    line, _ = refused(rows, address)
    assert line.startswith(f"no scheduler responds at {address} (")


def test_no_workers(rows, monkeypatch):
    monkeypatch.setattr(cluster, "WORKERS", 0.2)
    with cluster_here(0) as found, dask_distributed.Client(found, set_as_default=False) as client:
        line, seconds = refused(rows, client)
        address = client.scheduler.address
    assert line == f"the scheduler at {address} has no workers: start some with dask worker {address}"
    assert seconds < 5


def test_a_scheduler_that_goes(rows):
    """The connection is lost in the second epoch."""
    mine = Perceptron(shards=2, random_state=0)
    with cluster_here(1) as found, dask_distributed.Client(found, set_as_default=False) as client:

        def close(told):
            if (told.epoch, told.shards) == (2, 1):
                found.close()

        with pytest.raises(ClusterError, match=r"^the connection to the scheduler is lost: [^\n]+$"):
            fit(mine, rows, client=client, progress=close)
    assert not hasattr(mine, "coef_")


def test_a_client_that_is_closed(rows):
    with cluster_here(1) as found:
        client = dask_distributed.Client(found, set_as_default=False)
        client.close()
    line, _ = refused(rows, client)
    assert line == "the client is closed: make a new one"


def test_what_is_no_client(rows):
    with (
        cluster_here(1) as found,
        pytest.raises(TypeError, match=r"client= is a distributed.Client.* not LocalCluster"),
    ):
        fit(Perceptron(shards=2), rows, client=found)


def test_without_the_extra(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for client in ("tcp://127.0.0.1:1", object()):
        with pytest.raises(ImportError, match=r"pip install 'linsep\[dask\]'"):
            fit(Perceptron(shards=2), rows, client=client)
    with pytest.raises(ImportError, match=r"pip install 'linsep\[dask\]'"), local_workers(1):
        pass
    fit(Perceptron(shards=2), rows)


class Asked:
    """A client whose workers answer one thing each."""

    def __init__(self, *answers):
        self.answers = dict(enumerate(answers))

    def wait_for_workers(self, count, timeout):
        """Say that they are there."""

    def run(self, function, on_error):
        return self.answers


def test_a_worker_that_dies_when_it_is_asked_is_not_refused():
    cluster.check_workers(Asked(OSError("connection reset"), linsep.__version__))
    with pytest.raises(ClusterError, match="1 can't load linsep"):
        cluster.check_workers(Asked(OSError("connection reset"), ImportError("no numba")))


def test_who_works(client):
    with engine_of(None, 3) as engine:
        assert isinstance(engine, Threads)
        assert engine.workers == 3
    for who in (client, client.scheduler.address):
        with engine_of(who, 3) as engine:
            assert isinstance(engine, Cluster)
            assert engine.workers == 2
            assert engine.direct is (True if who is client else None)


def test_an_address_is_as_good_as_a_client(client, rows):
    def learned(who):
        return bits(fit(Perceptron(shards=4, random_state=0, max_iter=2), rows, client=who))

    assert learned(client.scheduler.address) == learned(client) == learned(None)
    assert client.status == "running"


def test_local_workers_are_out_of_the_reach_of_others(client):
    info = client.scheduler_info(n_workers=-1)
    assert all(address.startswith("tcp://127.0.0.1:") for address in [info["address"], *info["workers"]])
    scheduler = client.cluster.scheduler
    listening = [name.getsockname()[0] for name in scheduler.http_server._sockets.values()]
    assert set(listening) == {"127.0.0.1"}


def test_two_clusters_side_by_side_warn_of_nothing(client):
    """Warnings are errors here: ports that are taken would be told."""
    with cluster_here(1):
        pass
    assert distributed.ClusterError is ClusterError
