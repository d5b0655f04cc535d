"""The identity of the compiled readers: all files that they may inline."""

from pathlib import Path

from linsep.engine.digest import engine_digest

FOLDER = Path(__file__).parent


def data_digest() -> str:
    """Return a digest of the engine's source files and of all files here."""
    return engine_digest(FOLDER, *sorted(folder for folder in FOLDER.iterdir() if folder.is_dir()))
