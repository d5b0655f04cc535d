"""Atomic writes: whole files, no drafts left behind, nothing of a user's removed."""

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from linsep.engine import atomic_write as module
from linsep.engine.atomic_write import atomic_write, remove_dead_drafts

SLOW = """
import sys, time
from linsep.engine.atomic_write import atomic_write
with atomic_write(sys.argv[1]) as draft, open(draft, "wb") as file:
    file.write(b"half")
    file.flush()
    print(draft, flush=True)
    time.sleep(60)
"""


def write(path, text, **how):
    with atomic_write(path, **how) as draft:
        Path(draft).write_text(text)


def names(folder):
    return sorted(os.listdir(folder))


@pytest.fixture
def slow():
    """Begin writes in processes of their own, which stay in the middle; end them all afterwards."""
    children = []

    def begin(path):
        child = subprocess.Popen([sys.executable, "-c", SLOW, path], stdout=subprocess.PIPE, text=True)
        children.append(child)
        return child, child.stdout.readline().strip()

    yield begin
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()


def killed(child):
    child.send_signal(signal.SIGKILL)
    child.wait()


def test_the_next_write_removes_the_drafts_of_killed_processes_alone(tmp_path, slow):
    path = tmp_path / "model"
    write(path, "old")
    (dead, lost), (_, live) = slow(path), slow(path)
    _, another = slow(tmp_path / "model.2")
    killed(dead)
    assert names(tmp_path) == sorted(["model", *(os.path.basename(draft) for draft in (lost, live, another))])
    assert path.read_text() == "old"
    write(path, "new")
    assert names(tmp_path) == sorted(["model", os.path.basename(live), os.path.basename(another)])
    assert path.read_text() == "new"


def test_the_draft_of_another_target_stays_until_that_one_is_written(tmp_path, slow):
    child, lost = slow(tmp_path / "model.2")
    killed(child)
    write(tmp_path / "model", "new")
    assert os.path.exists(lost)
    write(tmp_path / "model.2", "new")
    assert names(tmp_path) == ["model", "model.2"]


def test_drafts_of_all_targets_are_removed_from_a_folder_of_our_own(tmp_path, slow):
    child, _ = slow(tmp_path / "one")
    killed(child)
    _, live = slow(tmp_path / "two")
    remove_dead_drafts(tmp_path)
    assert names(tmp_path) == [os.path.basename(live)]
    remove_dead_drafts(tmp_path / "none")


def test_files_of_the_user_stay(tmp_path):
    own = [
        "model.part", ".model.tmp", ".model.0123456789abcdef.tmp", ".model.12-0123456789abcde.tmp",
        ".model.12-0123456789ABCDEF.tmp", "model.12-0123456789abcdef.tmp", ".model.12-0123456789abcdef.tmp.bak",
        ".model.x.12-0123456789abcdef.tmp", ".other.12-0123456789abcdef.tmp",
    ]  # fmt: skip
    for name in own:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".model.12-00000000000000ff.tmp").mkdir()
    (tmp_path / ".model.12-00000000000000fe.tmp").symlink_to(tmp_path / "model.part")
    os.mkfifo(tmp_path / ".model.12-00000000000000fd.tmp")
    before = names(tmp_path)
    write(tmp_path / "model", "new")
    assert names(tmp_path) == sorted([*before, "model"])
    assert all((tmp_path / name).read_text() == "mine" for name in own)


def test_two_threads_write_one_file(tmp_path):
    path, inside = tmp_path / "model", threading.Barrier(2, timeout=10)

    def write_together(text):
        with atomic_write(path) as draft:
            Path(draft).write_text(text)
            inside.wait()

    threads = [threading.Thread(target=write_together, args=(text * 1000,)) for text in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in ("a" * 1000, "b" * 1000)
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "about to be removed"])
def test_a_draft_that_is_taken_for_a_dead_one_is_made_again(tmp_path, monkeypatch, removed):
    """Another process may find a draft between its creation and its lock."""
    lock, taken = module._lock, []

    def meddling(file):
        if not taken:
            draft = next(tmp_path.iterdir())
            taken.append(os.open(draft, os.O_RDONLY))
            fcntl.flock(taken[0], fcntl.LOCK_EX)
            if removed:
                os.unlink(draft)
                os.close(taken[0])
        return lock(file)

    monkeypatch.setattr(module, "_lock", meddling)
    write(tmp_path / "model", "new")
    assert (tmp_path / "model").read_text() == "new"
    assert len(taken) == 1


def test_a_file_system_without_locks_is_written_to_and_nothing_is_removed(tmp_path, monkeypatch):
    lost = tmp_path / ".model.12-0123456789abcdef.tmp"
    lost.write_text("half")

    def refuses(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuses)
    write(tmp_path / "model", "new")
    assert names(tmp_path) == [lost.name, "model"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_error_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch, call):
    path = tmp_path / "model"
    write(path, "old")

    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(OSError, match="No space") as caught:
        write(path, "new")
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_a_full_disk_is_an_error_that_names_the_target(tmp_path):
    with pytest.raises(OSError, match="No space") as caught, atomic_write(tmp_path / "model"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "model"))
    with pytest.raises(OSError, match="No space") as caught, atomic_write(tmp_path / "model") as draft:
        raise OSError(errno.ENOSPC, "No space left on device", draft)
    assert caught.value.filename == str(tmp_path / "model")
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "model"):
        raise FileNotFoundError(errno.ENOENT, "No such file", "rows.svm")
    assert caught.value.filename == "rows.svm"
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space") as caught:
            write("/dev/full", "new")
        assert caught.value.filename == "/dev/full"


def test_the_file_and_its_folder_are_flushed(tmp_path, monkeypatch):
    flushed, fsync = [], os.fsync

    def noted(file):
        flushed.append(stat.S_ISDIR(os.fstat(file).st_mode))
        fsync(file)

    monkeypatch.setattr(os, "fsync", noted)
    write(tmp_path / "model", "new")
    assert flushed == [False, True]


def test_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "new", "a")
        write(tmp_path / "private", "a", private=True)
        (tmp_path / "new").chmod(0o604)
        with atomic_write(tmp_path / "new") as draft:
            during = os.stat(draft).st_mode & 0o777
    finally:
        os.umask(before)
    assert during & 0o070 == 0
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "private")] == [0o604, 0o600]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "model")
    for text in ("one", "two"):
        write(tmp_path / "link", text)
        assert (tmp_path / "folder" / "model").read_text() == text
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "folder") == ["model"]


def test_a_long_name_has_a_draft_too(tmp_path):
    for name in ("é" * 127, "m" * 255):
        write(tmp_path / name, "a")
        assert (tmp_path / name).read_text() == "a"


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write(tmp_path / "none" / "model", "a")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.geteuid():
        with pytest.raises(PermissionError) as caught:
            write(closed / "model", "a")
        assert caught.value.filename == str(closed / "model")
    with pytest.raises(IsADirectoryError, match="closed is a folder: name a file"):
        write(closed, "a")
    assert names(tmp_path) == ["closed"]


def test_a_folder_that_cannot_be_flushed_is_no_fault(tmp_path, monkeypatch):
    """Some file systems refuse to flush folders; by then the file is in place."""
    flush = os.fsync

    def refuse(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(file)

    monkeypatch.setattr(os, "fsync", refuse)
    write(tmp_path / "model", "a")
    assert (tmp_path / "model").read_text() == "a"
    assert names(tmp_path) == ["model"]
