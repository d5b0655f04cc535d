"""The disk cache of compiled kernels: a fault of the disk costs time, never a fit."""

import errno
import gc
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numba
import pytest
from numba.core.caching import IndexDataCacheFile, NullCache

import linsep.models.save_load
import linsep.theory.majority
from linsep.engine import kernel_cache
from linsep.engine.kernel_cache import KernelCache, private_folder
from linsep.engine.tiers import Tiered

SOURCE = """
from linsep.engine.tiers import tiered


@tiered(None, flat=False)
def plus_one(x):
    return x + 1
"""
NOBODY = 65534
CHILD = f"""
import os, sys
import numpy as np
import numba
import linsep.models.save_load  # all that it imports may be in a folder for root alone
numba.njit(lambda x: x + 1)(1)  # and so may be what numba imports when it first compiles
for name in [name for name in sys.modules if name.partition(".")[0] == "linsep"]:
    del sys.modules[name]
sys.path.insert(0, os.getcwd())
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
for run in range(2):
    if os.fork() == 0:
        import linsep.models.save_load
        from linsep.engine.data_kinds import first_beyond
        assert linsep.__file__.startswith(os.getcwd())
        assert first_beyond(np.array([1.0, 3.0]), 2.0) == 1
        print(first_beyond.compiled.stats.cache_hits.total())
        sys.exit()
    assert os.wait()[1] == 0
"""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Load a module with one kernel, each time as a new process would, with its cache in tmp_path / "cache"."""
    (tmp_path / "module.py").write_text(SOURCE)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "_reported", set())

    def load():
        spec = importlib.util.spec_from_file_location("module", tmp_path / "module.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.plus_one.compiled

    return load


def called(kernel):
    """Call a kernel; return its answer, and how often it was loaded and compiled."""
    answer = kernel(2)
    return answer, kernel.stats.cache_hits.total(), kernel.stats.cache_misses.total()


def test_a_kernel_is_compiled_once_and_then_loaded(fresh, capfd):
    assert called(fresh()) == (3, 0, 1)
    assert called(fresh()) == (3, 1, 0)
    assert capfd.readouterr() == ("", "")


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "one byte short": lambda content: content[:-1],
    "noise": lambda content: bytes(range(256)) * (len(content) // 256 + 1),
    "zeros": lambda content: bytes(len(content)),
    "one bit": flipped,
    "without a checksum": lambda content: content[: -kernel_cache.CHECKSUM],
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_replaced_in_silence(fresh, tmp_path, damage, suffix, capfd):
    called(fresh())
    (file,) = (tmp_path / "cache").rglob(f"*{suffix}")
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert called(fresh()) == (3, 0, 1)
    assert called(fresh()) == (3, 1, 0)
    assert capfd.readouterr() == ("", "")


def test_a_file_that_cannot_be_unpickled_is_compiled_again(fresh, monkeypatch):
    called(fresh())
    monkeypatch.setattr(pickle, "loads", lambda content: {}["a module that was renamed"])
    assert called(fresh()) == (3, 0, 1)


def test_code_of_another_signature_is_never_loaded(fresh, tmp_path):
    """As two processes leave it that save at once, and number their first file the same."""
    called(fresh())
    (file,) = (tmp_path / "cache").rglob("*.nbc")
    of_integers = file.read_bytes()
    shutil.rmtree(tmp_path / "cache")
    assert fresh()(2.5) == 3.5
    file.write_bytes(of_integers)
    kernel = fresh()
    assert kernel(2.5) == 3.5
    assert kernel.stats.cache_misses.total() == 1


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_is_reported_once(fresh, monkeypatch, code, capfd):
    def full(*args):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    assert called(fresh()) == (3, 0, 1)
    assert called(fresh()) == (3, 0, 1)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert os.strerror(code) in err
    assert err.endswith("Set NUMBA_CACHE_DIR to a writable folder.\n")


def test_a_folder_that_becomes_unwritable_is_reported_once(fresh, monkeypatch, capfd):
    kernel = fresh()
    locator = kernel._cache.disk._impl.locator

    def refused():
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(locator, "ensure_cache_path", refused)
    assert called(kernel) == (3, 0, 1)
    assert kernel(2.5) == 3.5
    err = capfd.readouterr().err
    assert err.count("\n") == 1
    assert "Permission denied" in err


def test_without_any_folder_each_process_compiles(fresh, monkeypatch, capfd):
    monkeypatch.setattr(kernel_cache.Places, "_locator_classes", ())
    assert called(fresh()) == (3, 0, 1)
    assert called(fresh()) == (3, 0, 1)
    assert capfd.readouterr().err == (
        "linsep: no folder is writable to cache compiled code, so that each process compiles its own. "
        "Set NUMBA_CACHE_DIR to a writable folder.\n"
    )


def test_a_folder_that_the_user_set_is_named_where_it_is_unusable(fresh, tmp_path, monkeypatch, capfd):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(file / "cache"))
    monkeypatch.setattr(kernel_cache.Places, "_locator_classes", ())
    assert called(fresh()) == (3, 0, 1)
    assert f"NUMBA_CACHE_DIR={file / 'cache'} can't be used (Not a directory): set it" in capfd.readouterr().err


def test_a_user_without_a_home_folder_has_no_folder_named_tilde(fresh, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache.InTreeCacheLocator, "ensure_cache_path", lambda self: os.mkdir("/proc/none"))
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert called(fresh()) == (3, 0, 1)
    assert not (tmp_path / "~").exists()
    assert "each process compiles its own" in capfd.readouterr().err


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_a_cache_folder_that_everybody_may_write_to_is_not_used(fresh, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(kernel_cache.InTreeCacheLocator, "ensure_cache_path", lambda self: os.mkdir("/proc/none"))
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared))
    assert called(fresh()) == (3, 0, 1)
    assert not list(shared.iterdir())
    assert "each process compiles its own" in capfd.readouterr().err
    shared.chmod(0o775)
    assert called(fresh()) == (3, 0, 1)
    assert called(fresh()) == (3, 1, 0)
    assert list(shared.iterdir())


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder of the system's kind."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_the_private_folder_is_for_its_user_alone(temporary):
    folder = Path(private_folder())
    assert folder == temporary / f"linsep-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(private_folder()) == folder
    folder.chmod(0o770)
    with pytest.raises(PermissionError, match="this user's alone"):
        private_folder()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_a_folder_that_another_user_prepared_is_refused(temporary, tmp_path, monkeypatch):
    folder = temporary / f"linsep-{os.geteuid()}"
    folder.symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="this user's alone"):
        private_folder()
    folder.unlink()
    folder.touch(mode=0o700)
    with pytest.raises(PermissionError, match="this user's alone"):
        private_folder()
    user = os.geteuid() + 1
    (temporary / f"linsep-{user}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(PermissionError):
        private_folder()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders have no owners here")
def test_a_temporary_folder_in_which_others_may_rename_is_refused(temporary):
    temporary.chmod(0o777)
    with pytest.raises(PermissionError, match="others may replace"):
        private_folder()
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_every_cached_kernel_of_the_package_survives_a_faulty_disk():
    tiered = [o for o in gc.get_objects() if type(o) is Tiered and o.template.__module__.startswith("linsep.")]
    kinds = Counter(type(function.compiled._cache) for function in tiered)
    assert set(kinds) <= {KernelCache, NullCache}
    assert kinds[KernelCache] > 10


@pytest.fixture
def read_only():
    """A copy of the package without caches, and folders that an ordinary user may read but not write."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        package = Path(linsep.__file__).parent
        shutil.copytree(package, top / "linsep", ignore=shutil.ignore_patterns("__pycache__"))
        (top / "home").mkdir()
        (top / "tmp").mkdir()
        (top / "tmp").chmod(0o1777)
        yield top


@pytest.mark.slow
def test_a_user_who_may_write_to_the_temporary_folder_alone(read_only):
    """Two processes use a kernel of the copy: the first compiles, the second loads."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    where = {"HOME": str(read_only / "home"), "TMPDIR": str(read_only / "tmp"), "LINSEP_COMPILE": "always"}
    child = [sys.executable, "-B", "-c", CHILD]
    done = subprocess.run(child, cwd=read_only, env={**kept, **where}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "0\n1\n"), done.stderr
    own = read_only / "tmp" / f"linsep-{NOBODY}"
    line = (
        "linsep: neither the package's folder nor the user's cache folder is writable; compiled code is cached in "
        f"{own}. Set NUMBA_CACHE_DIR to a writable folder.\n"
    )
    assert done.stderr == 2 * line
    assert os.listdir(read_only / "home") == []
