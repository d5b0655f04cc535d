"""Where rows that were read from text are kept in binary form, and whether they still are what the text says."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linsep.data.binary.file import VERSION, about
from linsep.data.binary.writer import Writer
from linsep.data.errors import DataError
from linsep.data.sources import Source
from linsep.engine.digest import engine_digest

Where = bool | str | os.PathLike[str] | None


def cache_folder() -> Path:
    """Return the folder of all caches: LINSEP_CACHE where it is set, else that of the user, as XDG_CACHE_HOME says."""
    stated, shared = os.environ.get("LINSEP_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    if stated:
        return Path(stated).expanduser()
    if os.path.isabs(shared):
        return Path(shared) / "linsep"
    try:
        return Path.home() / ".cache" / "linsep"
    except RuntimeError:
        raise FileNotFoundError("this user has no home folder") from None


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
        raise ValueError("where=False: it is True (next to the source), a folder, or None (the folder of all caches)")
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


def code_digest() -> str:
    """Return a digest of the engine's source files and of all files of linsep.data."""
    folder = Path(__file__).parents[1]
    return engine_digest(folder, *sorted(inner for inner in folder.iterdir() if inner.is_dir()))


def fresh(path: str | os.PathLike[str], key: str) -> bool:
    """Tell whether a file is there, whole, and was written for exactly this key.

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
        raise ValueError(f"only files that are given by name have a cache, not {opened}")
    return [os.path.abspath(source.name) for source in sources]


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
