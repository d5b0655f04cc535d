"""Cache of the rows of text files in npz form, which later passes read as long as the text does not change."""

import hashlib
import json
import os
import re
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np

from linsep.data.blocks import Clock
from linsep.data.dataset import Dataset, as_labels
from linsep.data.errors import DataError, ErrorPolicy
from linsep.data.format import Format
from linsep.data.npz.file import VERSION, about, blocks, open_binary
from linsep.data.npz.format import NpzFormat
from linsep.data.npz.writer import Writer
from linsep.data.rows import Rows, as_csr
from linsep.data.sources import Source
from linsep.engine.atomic_write import remove_dead_drafts
from linsep.engine.digest import engine_digest
from linsep.validation.errors import ParameterError

Where = bool | str | os.PathLike[str] | None
DISABLED = ("off", "0", "false", "no")
"""Values of LINSEP_CACHE that disable the cache of streams that do not ask for one."""
MOST_CACHED = 16 << 30
"""Bytes of all files in the user's folder of caches; beyond, the oldest files are removed."""


def cache_folder() -> Path:
    """Return the folder of all caches: LINSEP_CACHE, or by default the user's, below XDG_CACHE_HOME if that is set."""
    stated, shared = os.environ.get("LINSEP_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    if stated:
        return Path(stated).expanduser()
    if os.path.isabs(shared):
        return Path(shared) / "linsep"
    try:
        return Path.home() / ".cache" / "linsep"
    except RuntimeError:
        raise FileNotFoundError("this user has no home folder") from None


def cache_disabled() -> bool:
    """Return whether LINSEP_CACHE disables the cache of streams that do not ask for one."""
    return os.environ.get("LINSEP_CACHE", "").lower() in DISABLED


def cache_file(sources: Sequence[Source], options: dict[str, Any], where: Where = None) -> Path:
    """Return the file for the rows of some sources, read with some options; its folder is made.

    The name depends on where the sources are and on the options, not on what the sources hold: when they change, the
    new rows take the place of the old.

    Parameters
    ----------
    sources : sequence of Source
        Files by name.
    options : dict
        All that decides which rows are read from them; anything that can be JSON.
    where : True, path or None
        True: next to the first source, under a name that begins with a dot, so that it is no part of a folder of
        parts. A path: in that folder. None: in :func:`cache_folder`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = cache_file([Source("rows.svm")], {"dtype": "float32"}, folder)
    >>> file.name.startswith(".rows.svm."), file.suffix
    (True, '.npz')
    """
    if where is False:
        raise ParameterError(
            "where=False: it is True (next to the source), a folder, or None (the folder of all caches)"
        )
    paths = _paths(sources)
    name = f".{os.path.basename(paths[0])[:100]}.{_digest([paths, options])[:32]}.npz"
    if where is True:
        return Path(paths[0]).parent / name
    folder = cache_folder() if where is None else Path(where)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / name


def cache_key(sources: Sequence[Source], options: dict[str, Any]) -> str:
    """Return what a cache is valid for: these files as they are now, these options, and this very code.

    Take it before the sources are read: what changes meanwhile then makes the cache stale.
    """
    return _digest([VERSION, code_digest(), _paths(sources), [source.stamp() for source in sources], options])


@cache
def code_digest() -> str:
    """Return a digest of the engine's source files and of all files of linsep.data."""
    return engine_digest(*sorted({file.parent for file in Path(__file__).parent.rglob("*.py")}))


def fresh(path: str | os.PathLike[str], key: str) -> bool:
    """Return whether a file is there, whole, and was written for exactly this key.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> with TemporaryDirectory() as folder:
    ...     with cache_writer(f"{folder}/rows.npz", "key") as file:
    ...         file.write(np.eye(2), np.array([1, -1]))
    ...     fresh(f"{folder}/rows.npz", "key"), fresh(f"{folder}/rows.npz", "another"), fresh(f"{folder}/none", "key")
    (True, False, False)
    """
    try:
        return about(path).get("key") == key
    except DataError:
        return False


def cache_writer(path: str | os.PathLike[str], key: str) -> Writer:
    """Return a writer of the cache for this key; only the user may read the file, as the sources may be private.

    Several processes may write at once: each writes a file of its own, and the last one stays.
    """
    return Writer(path, about={"key": key}, private=True)


def _paths(sources: Sequence[Source]) -> list[str]:
    opened = [source.name for source in sources if source.handle is not None]
    if opened or not sources:
        raise ParameterError(f"only files that are given by name have a cache, not {opened}")
    return [os.path.abspath(source.name) for source in sources]


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


MUCH = 1 << 24
"""Bytes of text that are kept without being asked for."""


class PassCache:
    """Keeps the rows of some sources.

    `where` is the place: True, next to the first of them; a folder; None, in the user's folder of caches, only if there
    is much text, and only until its owner is deleted; False, nowhere.
    """

    def __init__(self, sources: list[Source], form: Format, dtype: Any, policy: ErrorPolicy, where: Any) -> None:
        named = all(source.handle is None for source in sources)
        self.stated = where is not None
        self.path: Path | None = None
        if (
            not named
            or isinstance(form, NpzFormat)
            or where is False
            or form.known is not None
            or policy.path is not None
        ):
            if self.stated and where is not False:
                raise ParameterError(
                    f"cache={where!r}: only rows of text files that are given by name, without quarantine= or like=, "
                    "are kept"
                )
            return
        options = {"form": form.name, "options": form.state(), "dtype": np.dtype(dtype).name, "skip": policy.on_error}
        if self.stated:
            self.path = cache_file(sources, options, where)
        elif not cache_disabled() and sum(source.size or 0 for source in sources) >= MUCH:
            try:
                self.path = cache_folder() / f".{os.getpid()}-{secrets.token_hex(8)}.npz"
                finalize(self, _remove, self.path)
            except OSError as error:
                warn_no_cache(error, depth=5)
        self.sources, self.options = sources, options

    def ready(self) -> bool:
        """Return whether the rows are kept, and are still those of the text."""
        return self.path is not None and fresh(self.path, cache_key(self.sources, self.options))

    def stored_format(self, form: Format) -> Format:
        """Return the form as it was when all rows had been seen."""
        assert self.path is not None
        return form.restored(about(self.path)["form"])

    def open(self) -> Dataset:
        """Return the rows that are kept."""
        assert self.path is not None
        return open_binary(self.path)

    def begin(self) -> "PassRecord":
        """Begin to keep the rows of a pass over the text."""
        record = PassRecord(self)
        if self.path is not None and not self.stated:
            record.attempt(lambda: _make_room(cache_folder()))
        if self.path is not None:
            record.writer = cache_writer(self.path, cache_key(self.sources, self.options))
        return record


class PassRecord:
    """The rows of one pass over the text, as far as they are kept."""

    def __init__(self, cache: PassCache) -> None:
        self.cache = cache
        self.writer: Writer | None = None

    def add(self, form: Format, part: Rows) -> None:
        """Keep rows as learners will see them; if weights or columns are still open, nothing is kept of this pass."""
        writer = self.writer
        if writer is None:
            return
        rows = form.draft(part)
        if rows is None:
            return self.drop()
        X = rows.matrix(0 if rows.indices is None else int(rows.indices.max(initial=-1)) + 1)
        self.attempt(lambda: writer.write(X, as_labels(rows.labels), rows.weights))

    def end(self, form: Format, rejected: int) -> None:
        """Put the file in its place, after a whole pass, with what the form found out."""
        writer = self.writer
        if writer is not None:
            self.attempt(lambda: widen(writer, form.width))
            writer.about["form"], writer.rejected = form.state(), rejected
            self.attempt(lambda: writer.__exit__(None, None, None))
            self.writer = None

    def drop(self) -> None:
        """Throw away what was kept of a pass that did not come to its end."""
        if self.writer is not None:
            self.writer.__exit__(GeneratorExit, None, None)
            self.writer = None

    def attempt(self, write: Callable[[], object]) -> None:
        """Write; where that is not possible and no cache was asked for, continue without one."""
        try:
            if self.cache.path is not None:
                write()
        except (OSError, ValueError) as error:
            self.drop()
            self.cache.path = None
            if self.cache.stated:
                raise
            warn_no_cache(error, depth=6)


def warn_no_cache(error: Exception, depth: int) -> None:
    """Warn that there is no cache."""
    warnings.warn(
        f"later passes will read the text again, as its rows can't be kept: {error}; set LINSEP_CACHE to a writable "
        "folder",
        stacklevel=depth,
    )


def cached_blocks(data: Dataset, form: Format, policy: ErrorPolicy, clock: Clock, block_rows: int) -> Iterator[Dataset]:
    """Yield rows in binary form in blocks, in place, as the text would give them."""
    policy.rejected = data.rejected
    done = 0
    for block in blocks(data, block_rows):
        done += len(block)
        clock.tick(done * (clock.total or 0) // len(data), len(block))
        plain = block.weights is None or bool(np.all(block.weights == 1))
        weights = None if plain else block.weights
        yield replace(block, y=as_labels(block.y), weights=weights, feature_names=form.feature_names, form=form)


def widen(writer: Writer, width: int) -> None:
    """Let the rows of a file have this many columns."""
    if writer.width < width:
        writer.write(as_csr(np.empty(0), np.empty(0, np.int32), np.zeros(1, np.int64), width), np.empty(0, np.int64))


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _make_room(folder: Path) -> None:
    """Create the folder of caches; remove files of dead processes and, beyond MOST_CACHED bytes, the oldest files.

    A process whose file is removed reads the text again.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        owner = re.fullmatch(r"\.(\d+)-[0-9a-f]{16}\.npz", path.name)
        if owner and not _lives(int(owner[1])):
            _remove(path)
        elif owner:
            with suppress(FileNotFoundError):
                found = path.stat()
                files.append((found.st_mtime, found.st_size, path))
    remove_dead_drafts(folder)
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MOST_CACHED:
            break
        _remove(path)
        total -= size


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
