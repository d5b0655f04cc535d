"""The whole run: hypothesis without a clock, and the count of compiled kernels, checked last.

Hypothesis tries the same examples in every run, so that a change is judged by what it changed. To look for new ones:
`pytest --hypothesis-profile=explore`, which tries others each time.
"""

import pytest
from hypothesis import settings

from linsep.learners import inputs
from tests.kernels import MOST, count

settings.register_profile("explore", deadline=None)
settings.register_profile("linsep", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("linsep")


def pytest_collection_modifyitems(items):
    """Let the count of kernels be the last test, wherever the others come from."""
    items.sort(key=lambda item: item.path.name == "test_compilations.py")


def pytest_terminal_summary(terminalreporter):
    """Print how many kernels the run needed."""
    terminalreporter.write_line(f"{count()} kernels compiled or loaded, {MOST} allowed")


@pytest.fixture
def types_as_they_are(monkeypatch):
    """Little data are read in their own types, as much data are."""
    monkeypatch.setattr(inputs, "LITTLE", -1)
