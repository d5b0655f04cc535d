"""Digest of the compiled readers' source, which identifies their machine code on disk."""

from pathlib import Path

from linsep.engine.digest import engine_digest


def data_digest() -> str:
    """Return a digest of the engine's source files and of all files of this folder, which kernels inline."""
    return engine_digest(Path(__file__).parent)
