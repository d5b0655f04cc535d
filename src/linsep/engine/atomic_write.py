"""Write files atomically: the new content appears as a whole, or the old file stays."""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

DRAFT = re.compile(r"\.(?P<name>.+)\.\d+-[0-9a-f]{16}\.tmp", re.DOTALL)
"""The name of a draft: that of its target, the process that writes it, and a random number."""
LONGEST = 200
"""Bytes of a target's name that the name of a draft repeats; a longer name is replaced by its digest."""


FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Errors of a write to a file, which Python raises without the file's name."""


@contextmanager
def naming(path: str | os.PathLike[str], draft: str | None = None) -> Iterator[None]:
    """Name `path` in the errors of writes to it, or to its draft.

    >>> with naming("model"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'model'
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL if error.filename is None else error.filename == draft:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[str]:
    """Yield the path of an empty draft; when the block ends without an error, flush the draft and rename it to `path`.

    If the block raises, the draft is removed and the file at `path` stays as it was. The draft is in the folder of its
    target, and locked while it is written. The kernel drops the lock of a killed process: the next write to the same
    path removes drafts that nobody has locked. Symbolic links are followed. A pipe or a device is never replaced: the
    draft is copied into it.

    Parameters
    ----------
    path : path
        The target.
    private : bool, default=False
        If True, only the user may read the file. Otherwise the file keeps its permissions; a new file gets the default
        ones.

    Examples
    --------
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/a.txt") as draft:
    ...         _ = Path(draft).write_text("whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with TemporaryDirectory() as folder:
            draft = os.path.join(folder, "draft")
            Path(draft).touch()
            yield draft
            with open(draft, "rb") as written, naming(path), open(path, "wb") as file:
                shutil.copyfileobj(written, file)
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder: name a file")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{os.fspath(path)}: there is no folder {folder}")
    remove_dead_drafts(folder, name)
    rights = 0o600 if private else _rights(target)
    try:
        draft, lock = _locked_draft(folder, name, rights)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with naming(path, draft):
            yield draft
            if rights is not None:
                os.chmod(draft, rights)
            _flush(draft)
            os.replace(draft, target)
        with suppress(OSError):  # some file systems can't flush a folder; the file is in place
            _flush(folder)
    finally:
        Path(draft).unlink(missing_ok=True)
        os.close(lock)


def remove_dead_drafts(folder: str | os.PathLike[str], name: str | None = None) -> None:
    """Remove the drafts in a folder that no process writes any more: those of one target, or of all.

    Only the user's own regular files whose name has the exact form of a draft are removed, and only while their lock
    is held. Where files can't be locked, nothing is removed.
    """
    stem = None if name is None else _stem(name)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = DRAFT.fullmatch(entry.name)
            if match and stem in (None, match["name"]):
                with suppress(OSError):
                    _remove_if_dead(entry.path)


def _remove_if_dead(draft: str) -> None:
    file = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        about = os.fstat(file)
        if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and _lock(file):
            os.unlink(draft)
    finally:
        os.close(file)


def _locked_draft(folder: str, name: str, rights: int | None) -> tuple[str, int]:
    """Create a draft; return its path, and the open file that keeps it locked."""
    while True:
        draft = os.path.join(folder, f".{_stem(name)}.{os.getpid()}-{secrets.token_hex(8)}.tmp")
        mode = 0o666 if rights is None else rights & 0o666 | 0o600
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        try:
            locked = _lock(file)
        except OSError:  # the file system has no locks
            locked = True
        if locked and os.path.exists(draft):
            return draft, file
        os.close(file)  # another process found the draft before it was locked, and removes it as a dead one


def _lock(file: int) -> bool:
    """Return whether this process has the lock of an open file now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stem(name: str) -> str:
    encoded = os.fsencode(name)
    return name if len(encoded) <= LONGEST else hashlib.sha256(encoded).hexdigest()


def _rights(path: str) -> int | None:
    """Return the permissions of a file, None if it does not exist."""
    return os.stat(path).st_mode & 0o777 if os.path.exists(path) else None


def _flush(path: str) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
