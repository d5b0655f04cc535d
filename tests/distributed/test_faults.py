"""Workers and clients that are killed, rows that are malformed: the same bits, or nothing of that epoch."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import pytest

import linsep
from linsep import AveragedPerceptron, Perceptron, distributed
from linsep.data.errors import DataError
from linsep.distributed import ClusterError, work
from tests.distributed import faulty
from tests.distributed.rows import bits, fit, lines_of, problem, write

pytestmark = pytest.mark.slow

SHARDS = 8


@pytest.fixture
def rows(tmp_path):
    """A file of rows that no line separates."""
    return write(tmp_path / "rows.svm", *problem())


def learner(**more):
    return AveragedPerceptron(**{"shards": SHARDS, "random_state": 0, "max_iter": 4, "log": True, "n_jobs": 2} | more)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run comes to that nothing happens to."""
    return bits(fit(learner(), write(tmp_path_factory.mktemp("undisturbed") / "rows.svm", *problem())))


def pid_in(path):
    """Wait for a process to be told in a file."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, f"nothing was held: {path.name}"
        time.sleep(0.01)
    return int(path.read_text())


@pytest.mark.parametrize("count", [1, 2])
def test_workers_killed_in_mid_epoch(client, rows, undisturbed, monkeypatch, count):
    """One of two, or both at once, and with them all that they were sent and had kept."""
    client.wait_for_workers(2, timeout=60)
    monkeypatch.setattr(work, "learn", faulty.held_once)
    if count == 1:
        (rows.parent / f"held {faulty.HELD[1]}").touch()
    all_told = []
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(fit, learner(), rows, client=client, progress=all_told.append)
        pids = {pid_in(rows.parent / f"held {shard}") for shard in faulty.HELD[:count]}
        assert len(pids) == count
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert bits(run.result(60)) == undisturbed
    all_told = [told for told in all_told if not told.waiting]
    epochs = [told.epoch for told in all_told]
    assert epochs == sorted(epochs)  # none began again
    assert epochs.count(2) == SHARDS + 1
    assert [told.gone for told in all_told if told.epoch in (0, 1, 4)] == [0] * (2 * SHARDS + 1) + [count] * (
        SHARDS + 1
    )
    assert not pids & set(client.run(os.getpid).values())


def test_work_that_ends_every_worker(client, rows, monkeypatch):
    client.wait_for_workers(2, timeout=60)
    monkeypatch.setattr(work, "learn", faulty.deadly)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    mine = learner()
    with pytest.raises(ClusterError) as told:
        fit(mine, rows, client=client)
    assert str(told.value).startswith(f"the work on {rows}, bytes ")
    assert "ended the worker tcp://127.0.0.1:" in str(told.value)
    assert str(told.value).endswith("is there too little memory? more shards are smaller")
    assert "\n" not in str(told.value)
    assert (rows.parent / "deaths").read_text() == "x"
    assert not hasattr(mine, "coef_")


SCRIPT = """
import os, signal, sys, warnings
from linsep import AveragedPerceptron, distributed
warnings.simplefilter("ignore")

def progress(told):
    if told.epoch == 3 and told.shards == 4:
        os.kill(os.getpid(), signal.SIGKILL)

clf = AveragedPerceptron(shards=8, random_state=0, max_iter=4, log=True, n_jobs=2)
distributed.fit(clf, sys.argv[1], checkpoint=sys.argv[2], progress=progress, client=sys.argv[3])
"""


def test_a_client_that_is_killed(client, rows, undisturbed, tmp_path):
    """In its third epoch: what is there are two whole ones, from which others go on."""
    client.wait_for_workers(2, timeout=60)
    kept = tmp_path / "kept.linsep"
    dead = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(rows), str(kept), client.scheduler.address],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (dead.returncode, dead.stdout, dead.stderr) == (-signal.SIGKILL, "", "")
    assert linsep.load(kept).n_iter_ == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.linsep", "rows.svm"]
    again, copy = [], tmp_path / "copy.linsep"
    copy.write_bytes(kept.read_bytes())
    assert bits(fit(learner(), rows, client=client, checkpoint=kept, progress=again.append)) == undisturbed
    assert {told.epoch for told in again} == {0, 3, 4}
    assert bits(fit(learner(), rows, checkpoint=copy)) == undisturbed


def spoiled(tmp_path, line, text):
    """A file with a line that is no row, among others and after a comment."""
    lines = ["# rows\n", *lines_of(*problem())]
    lines[line - 1] = text + "\n"
    path = tmp_path / "rows.svm"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("at", ["threads", "cluster"])
def test_a_malformed_row(client, tmp_path, at, shuffle):
    path, kept = spoiled(tmp_path, 101, "+1 1:2 3:four"), tmp_path / "kept.linsep"
    mine = learner(shuffle=shuffle)
    with pytest.raises(DataError) as told:
        fit(mine, path, client=client if at == "cluster" else None, checkpoint=kept)
    assert (told.value.file, told.value.line) == (str(path), 101)
    assert str(told.value).startswith(f"{path}, line 101, column ")
    assert not hasattr(mine, "coef_")
    assert not kept.exists()


def test_the_first_of_several_malformed_rows(client, tmp_path):
    path = spoiled(tmp_path, 101, "+1 1:2 3:four")
    lines = path.read_text().splitlines(keepends=True)
    lines[30] = "+1 0:1 x\n"
    path.write_text("".join(lines))
    with pytest.raises(DataError, match="line 31, column"):
        fit(learner(), path, client=client)


@pytest.mark.parametrize("at", ["threads", "cluster"])
def test_an_epoch_that_fails_is_not_kept(client, rows, undisturbed, tmp_path, monkeypatch, at):
    """A learner that has learned before stays as it was, and the file has the last whole epoch."""
    who, kept = client if at == "cluster" else None, tmp_path / "kept.linsep"
    mine = fit(learner(random_state=7, max_iter=1), rows)
    before = bits(mine)
    mine.set_params(random_state=0, max_iter=4)
    with monkeypatch.context() as patch:
        patch.setattr(work, "learn", faulty.stopped)
        with pytest.raises(ValueError, match=r"^enough"):
            fit(mine, rows, client=who, checkpoint=kept)
    assert bits(mine) == before
    assert linsep.load(kept).n_iter_ == 2
    assert bits(fit(mine, rows, client=who, checkpoint=kept)) == undisturbed


def test_a_file_that_changes_on_the_way(tmp_path, monkeypatch):
    """Rows that are not kept are read in every epoch, and then a change is noticed."""
    monkeypatch.setattr(work.ROW_CACHE, "limit", lambda: 0)
    path, kept = write(tmp_path / "rows.svm", *problem()), tmp_path / "kept.linsep"
    mine = learner(shuffle=False)

    def change(told):
        if told.epoch == 2 and told.shards == 2:
            path.write_text(path.read_text().replace("\n+1 ", "\n-1 ", 1))

    with pytest.raises(DataError, match=r"rows\.svm: the file changed"):
        fit(mine, path, checkpoint=kept, progress=change)
    assert not hasattr(mine, "coef_")
    assert linsep.load(kept).n_iter_ == 1
    with pytest.raises(ValueError, match="of another run: its shards were"):
        fit(mine, path, checkpoint=kept)


def test_a_progress_that_raises_stops_the_run(client, rows):
    def stop(told):
        if (told.epoch, told.shards) == (2, 3):
            raise KeyboardInterrupt

    mine = learner()
    with pytest.raises(KeyboardInterrupt):
        fit(mine, rows, client=client, progress=stop)
    assert not hasattr(mine, "coef_")
    end = time.monotonic() + 10
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < end, "tasks are left behind"
        time.sleep(0.02)


def kept_rows():
    """How many things the cache of this process holds."""
    from linsep.distributed.work import ROW_CACHE

    return len(ROW_CACHE._kept)


def test_no_worker_keeps_rows_of_a_run_that_is_over(client, rows):
    before = client.run(kept_rows)
    fit(learner(), rows, client=client)
    assert client.run(kept_rows) == before


def test_nothing_is_printed(client, rows, capfd, recwarn):
    fit(learner(), rows, client=client)
    with pytest.raises(DataError):
        fit(learner(), spoiled(rows.parent, 50, "+1 1:x"), client=client)
    assert capfd.readouterr() == ("", "")
    assert [str(found.message) for found in recwarn] == []


def test_a_worker_with_another_version(client, rows):
    """Before the run, or one that comes later: a line that names it."""
    client.wait_for_workers(2, timeout=60)
    other = sorted(client.nthreads())[0]
    line = f"the worker {other} has linsep 0.0.1, and the client {linsep.__version__}: install the same on both"
    mine = learner()

    def later(told):
        if (told.epoch, told.shards) == (2, 1):
            client.run(faulty.set_version, "0.0.1", workers=[other])

    try:
        with pytest.raises(ClusterError) as told:
            fit(mine, rows, client=client, progress=later)
        assert str(told.value) == line
        assert not hasattr(mine, "coef_")
        for call in (distributed.predict, distributed.evaluate):
            with pytest.raises(ClusterError) as told:
                call(Perceptron().fit([[0.0], [1.0]], [0, 1]), rows, client=client)
            assert str(told.value) == line
    finally:
        client.run(faulty.set_version, linsep.__version__, workers=[other])


def test_a_worker_without_linsep(client, rows):
    client.wait_for_workers(2, timeout=60)
    other = sorted(client.nthreads())[1]
    hide, show = (cloudpickle.loads(by_value(function)) for function in (faulty.hide, faulty.show))
    client.run(hide, workers=[other])
    try:
        with pytest.raises(ClusterError) as told:
            fit(learner(), rows, client=client)
        assert str(told.value).startswith(f"the worker {other} can't load linsep (")
        assert str(told.value).endswith(f"): install linsep=={linsep.__version__} there")
        assert "\n" not in str(told.value)
    finally:
        client.run(show, workers=[other])


def by_value(function):
    """A function as bytes that tell all of it, so that no module is needed to read them."""
    module = sys.modules[function.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(function)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
