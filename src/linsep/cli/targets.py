"""Where results go: never over what they are made of."""

import os
from pathlib import Path
from typing import Any

from linsep.cli.failures import Usage


def check_targets(outputs: dict[str, Path | None], inputs: list[Any]) -> None:
    """Refuse, before any work, files that can't be written, that are read, or that are two results at once.

    Parameters
    ----------
    outputs : dict
        The files by the options that name them; None if an option was not said.
    inputs : list of paths and patterns
        What is read; "-" is no file.
    """
    read = _files(inputs)
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        if path.is_dir():
            raise Usage(f"{option} {path}: it is a folder; give a file")
        if not path.absolute().parent.is_dir():
            raise Usage(f"{option} {path}: there is no folder {path.parent}")
        real = os.path.realpath(path)
        if real in read:
            raise Usage(f"{option} {path}: it is what is read, and would be lost; give another name")
        if real in written:
            raise Usage(f"{option} and {written[real]} name the same file, {path}")
        written[real] = option


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
            continue  # whoever reads it says what is wrong
    return found
