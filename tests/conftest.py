"""The whole run: hypothesis without a clock, and the count of compiled kernels, checked last."""

from hypothesis import settings

from tests.kernels import MOST, count

settings.register_profile("linsep", deadline=None)
settings.load_profile("linsep")


def pytest_collection_modifyitems(items):
    """Let the count of kernels be the last test, wherever the others come from."""
    items.sort(key=lambda item: item.path.name == "test_compilations.py")


def pytest_terminal_summary(terminalreporter):
    """Print how many kernels the run needed."""
    terminalreporter.write_line(f"{count()} kernels compiled or loaded, {MOST} allowed")
