"""Files that are whole or not there."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def aside(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the path of a draft to write; when the block ends well, it is seen safely on the disk and takes its place.

    Until then, and if the block raises, what was at `path` stays as it was. A pipe or a device is never replaced: what
    was written is copied into it.

    >>> with TemporaryDirectory() as folder:
    ...     with aside(f"{folder}/a.txt") as draft:
    ...         _ = Path(draft).write_text("whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with TemporaryDirectory() as folder:
            draft = os.path.join(folder, "draft")
            yield draft
            with open(draft, "rb") as written, open(path, "wb") as file:
                shutil.copyfileobj(written, file)
        return
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{os.fspath(path)}: there is no folder {folder}")
    draft = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        yield draft
        os.chmod(draft, _rights(target))
        _settle(draft)
        os.replace(draft, target)
        _settle(folder)
    finally:
        Path(draft).unlink(missing_ok=True)


def _rights(path: str) -> int:
    """Return who may read and write a file: those who may already, or those who may a new file."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _settle(path: str) -> None:
    """See a file, or the names in a folder, safely on the disk."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
