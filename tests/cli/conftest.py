"""What tests of commands share."""

import pytest

from tests.cli.files import write_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with all files that the examples of --help name."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
