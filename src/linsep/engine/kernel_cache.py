"""Cache compiled kernels on disk.

Numba raises where it finds no writable folder, where a file can't be written, and where a file is damaged. Here such a
kernel is compiled again. One line on stderr reports the first fault that compiling again costs time for in later runs.

Cached code is unpickled and run, so a user who writes to the folder runs code as the reader. The user's cache folder
and a folder below the system's temporary folder are used only if they can't be written to by everybody, and are not
another user's.
"""

import hashlib
import io
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
    UserWideCacheLocator,
)

from linsep.engine.digest import engine_digest

FIX = "Set NUMBA_CACHE_DIR to a writable folder."
CHECKSUM = hashlib.sha256().digest_size
PATIENCE = 2.0
"""Seconds of compiling without a word."""
_reported: set[str] = set()


def fix() -> str:
    """Return how to have compiled code cached; if NUMBA_CACHE_DIR is set and can't be used, name it and the reason."""
    folder = numba.config.CACHE_DIR
    if not folder:
        return FIX
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return FIX
    except OSError as error:
        return f"NUMBA_CACHE_DIR={folder} can't be used ({error.strerror or error}): set it to a writable folder."


def report(fault: str) -> None:
    """Print the first fault of this process, and how to avoid it, in one line on stderr."""
    if not _reported:
        print(f"linsep: {fault}. {fix()}", file=sys.stderr)
    _reported.add(fault)


def notice(function: Any) -> threading.Timer | None:
    """Name a function on stderr if it is still being compiled after :data:`PATIENCE` seconds and a person may read it.

    Cancel the timer that is returned when the function is compiled.
    """
    if not (sys.stderr and sys.stderr.isatty()) and "ipykernel" not in sys.modules:
        return None
    line = f"linsep: compiling {function.__name__}; later runs load it from a cache on disk"
    timer = threading.Timer(PATIENCE, print, (line,), {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    return timer


class KernelCache(NullCache):
    """The cache of one kernel, opened when the kernel is first compiled: an import never touches the disk.

    The key of its code has a digest of the engine's files and of those in `folders`, which the kernel may inline.
    """

    def __init__(self, function: Any, *folders: Path) -> None:
        self.function, self.folders = function, folders
        self.timer: threading.Timer | None = None

    @cached_property
    def disk(self) -> Any:
        """The cache on disk; one that holds nothing where no folder is safe and writable."""
        try:
            return DiskCache(self.function, engine_digest(*self.folders))
        except (OSError, RuntimeError):  # numba raises a RuntimeError where all folders are refused
            report("no folder is writable to cache compiled code, so that each process compiles its own")
            return NullCache()

    @property
    def cache_path(self) -> str | None:
        """The folder of the files."""
        return self.disk.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None where there is none, or it can't be read: compiling begins."""
        try:
            code = self.disk.load_overload(sig, target_context)
        except Exception:  # a pickle may fail in any way
            code = None
        self.timer = notice(self.function) if code is None else None
        return code

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the disk has code for a signature, without loading it."""
        try:
            return bool(self.disk.holds(sig, target_context))
        except Exception:  # a pickle may fail in any way
            return False

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code; without it, the next process compiles again."""
        if self.timer is not None:
            self.timer.cancel()
        try:
            self.disk.save_overload(sig, data)
        except OSError as error:
            report(f"compiled code can't be saved in {self.cache_path} ({error.strerror or error})")

    def flush(self) -> None:
        """Forget what is saved."""
        self.disk.flush()


class PrivateLocator(InTreeCacheLocator):
    """Locates the files of a kernel in :func:`private_folder`."""

    def get_cache_path(self) -> str:
        """Return the folder; raise an OSError if it is not safe."""
        return os.path.join(private_folder(), self.get_suitable_cache_subpath(self._py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return the locator of a function; None if the folder is not safe, or not writable."""
        locator = super().from_function(py_func, py_file)
        if locator is not None:
            report(
                "neither the package's folder nor the user's cache folder is writable; compiled code is cached in "
                f"{private_folder()}"
            )
        return locator


def private_folder() -> str:
    """Return this user's folder below the system's temporary folder; raise an OSError if others could write to it."""
    if not hasattr(os, "geteuid"):
        raise PermissionError("the owner of a folder is not known on this system")
    parent, user = tempfile.gettempdir(), os.geteuid()
    refuse_shared(parent, stat.S_IWGRP | stat.S_IWOTH)
    folder = os.path.join(parent, f"linsep-{user}")
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder


def refuse_shared(path: str, writers: int) -> None:
    """Raise a PermissionError if a folder is another user's, or if `writers` could replace it or a folder above it.

    Of a path that does not exist yet, the folder is the one in which it would be created.
    """
    places = [place for place in (Path(path), *Path(path).parents) if place.exists()]
    if places[0].stat().st_uid not in (0, os.geteuid()):
        raise PermissionError(f"{places[0]} is another user's")
    for place in places:
        if place.stat().st_mode & writers and not place.stat().st_mode & stat.S_ISVTX:
            raise PermissionError(f"others may replace the files in {place}")


class HomeLocator(UserWideCacheLocator):
    """Locates the files of a kernel in the user's cache folder, if the user has a home folder."""

    def get_cache_path(self) -> str:
        """Return the folder; without a home folder, numba's is "~" below the current one."""
        if not os.path.isabs(self._cache_path):
            raise FileNotFoundError("this user has no home folder")
        if hasattr(os, "geteuid"):
            refuse_shared(self._cache_path, stat.S_IWOTH)  # a user's own group may well write to the user's files
        return str(self._cache_path)


class Places(CompileResultCacheImpl):
    """Numba's folders in numba's order, then the private one."""

    _locator_classes = (
        *(HomeLocator if kind is UserWideCacheLocator else kind for kind in CompileResultCacheImpl._locator_classes),
        PrivateLocator,
    )


class CheckedFile(IndexDataCacheFile):
    """An index and its data files, each with a checksum at its end; a damaged file counts as absent.

    A data file also holds its key: of two processes that save at once, either may write the index that stays.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path, filename_base, source_stamp)
        self._version = f"{numba.__version__} checked"

    def save(self, key: Any, data: Any) -> None:
        """Save compiled code."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return compiled code, or None."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index() if intact(self._index_path) else {}
        except Exception:  # a pickle may fail in any way
            return {}

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if intact(self._data_path(name)) else None

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


def intact(path: str) -> bool:
    """Return whether a file is there and ends with the checksum of what is before."""
    try:
        with open(path, "rb") as file:
            content = memoryview(file.read())
    except FileNotFoundError:
        return False
    return hashlib.sha256(content[:-CHECKSUM]).digest() == content[-CHECKSUM:]


class DiskCache(FunctionCache):
    """Numba's cache, with the private folder and checksums."""

    _impl_class = Places

    def __init__(self, function: Any, digest: str) -> None:
        super().__init__(function)
        self.digest = digest
        locator = self._impl.locator
        self._cache_file = CheckedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return *super()._index_key(sig, codegen), self.digest

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the index has a signature."""
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()
