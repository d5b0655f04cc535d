"""Check the files that results are written to: each can be written, and none is read."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from linsep.cli.errors import Interrupted, UsageError


def check_targets(outputs: dict[str, Path | None], inputs: list[Any], quarantine: str | Path | None = None) -> None:
    """Refuse, before any work, files that can't be written, that are read, or that are two results at once.

    Nothing is created or changed.

    Parameters
    ----------
    outputs : dict
        The files by the options that name them; None if an option was not given. Each is replaced as a whole.
    inputs : list of paths and patterns
        Input paths; "-" is no file.
    quarantine : path, optional
        The file of malformed rows, which is written in place.
    """
    read = _files(inputs)
    written: dict[str, str] = {}
    given = {option: path for option, path in outputs.items() if path is not None}
    if isinstance(quarantine, (str, Path)):
        given["--quarantine"] = Path(quarantine)
    for option, path in given.items():
        check_writable(option, path, in_place=option not in outputs)
        real = os.path.realpath(path)
        if real in read:
            raise UsageError(f"{option} {path}: it is what is read, and would be lost; give another name")
        if real in written:
            raise UsageError(f"{option} and {written[real]} name the same file, {path}")
        written[real] = option


def check_writable(option: str, path: Path, in_place: bool = False) -> None:
    """Refuse a file that can't be written, without creating or changing it.

    Parameters
    ----------
    option : str
        The option that names the file.
    path : Path
        The file. A symbolic link is followed.
    in_place : bool, default=False
        If True, a file that exists is overwritten. Otherwise another file takes its place, which needs the rights of
        its folder alone.
    """
    if str(path) == "-":
        raise UsageError(f"{option} -: it can't go to the standard output; give a file")
    try:
        there: os.stat_result | None = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        there = None
    except OSError as error:
        raise UsageError(f"{option} {path}: {_reason(error)}") from None
    except ValueError as error:  # the path has a null character in it
        raise UsageError(f"{option} {path}: {error}") from None
    if there is not None and stat.S_ISDIR(there.st_mode):
        raise UsageError(f"{option} {path}: it is a folder; give a file")
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {folder}")
    if there is None:
        _check_folder(folder, f"{option} {path}: ")
    elif not stat.S_ISREG(there.st_mode):
        if not os.access(path, os.W_OK):  # the other end of a pipe would notice if it were opened
            raise UsageError(f"{option} {path}: permission denied")
    elif in_place:
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError as error:
            raise UsageError(f"{option} {path}: {_reason(error)}") from None
    else:
        _check_folder(folder, f"{option} {path}: ")
        about = folder.stat()
        if about.st_mode & stat.S_ISVTX and os.geteuid() not in (0, about.st_uid, there.st_uid):
            raise UsageError(f"{option} {path}: it belongs to another user; give another name")


def _check_folder(folder: Path, prefix: str = "") -> None:
    """Refuse a folder that takes no new files."""
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(f"{prefix}can't write to the folder {folder}: {_reason(error)}") from None


def make_folder(folder: Path) -> None:
    """Make a folder for results, if it is not there; refuse one that takes no files."""
    if str(folder) == "-":
        raise UsageError("-o -: the results are several files; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"can't write to the folder {folder}: {_reason(error)}") from None
    _check_folder(folder)


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


@contextmanager
def interruptible(
    *outputs: Path | None, in_place: Iterable[Any] = (), otherwise: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Report, when Ctrl-C ends the work, which files were written.

    Parameters
    ----------
    *outputs : Path or None
        The results. Each is replaced as a whole, so it was written if another file is in its place.
    in_place : iterable of paths
        Files that are written piece by piece, such as that of malformed rows; None is left out.
    otherwise : function
        Returns what is kept if none of the files was written; None if that is nothing.
    """
    pieces = [Path(path) for path in in_place if isinstance(path, (str, Path))]
    before = {path: version(path) for path in [*outputs, *pieces] if path is not None}
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        written = [path for path in before if version(path) != before[path]]
        whole = [path for path in written if path.is_file() and path not in pieces]
        kept = None if written else otherwise()
        if kept is not None:
            raise Interrupted(kept) from None
        others = [path for path in before if path not in [*written, *pieces] and (written or path.is_file())]
        parts = [f"{path} {'was written' if path in whole else 'may be incomplete'}" for path in written]
        parts += [f"{path} {'is as it was before' if path.is_file() else 'was not written'}" for path in others]
        raise Interrupted(", ".join(parts) or "nothing was written") from None


def version(path: Path) -> tuple[int, ...] | None:
    """Return what differs between a file and one that takes its place; None if there is no file."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size


def _files(inputs: list[Any]) -> set[str]:
    from linsep.data.errors import DataError
    from linsep.data.sources import sources_of

    found: set[str] = set()
    for name in inputs:
        if name is None or str(name) == "-":
            continue
        try:
            found |= {os.path.realpath(source.name) for source in sources_of(str(name))}
        except DataError:
            continue  # the reader of the file reports the fault
    return found
